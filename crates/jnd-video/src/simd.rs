//! Which vector instructions may be used.
//!
//! One body of code is compiled several times, each time with other instructions allowed ([`dispatch!`](crate::dispatch));
//! the compiler vectorises it, never reorders it and never fuses a multiply with an add, so that every level gives
//! the same bits. The level is detected once. The environment variable `JND_SIMD` (`scalar`, `neon`, `avx2`, `avx512`)
//! lowers it, for tests and comparisons; it never raises it above what the machine has.

use std::sync::OnceLock;

/// A set of vector instructions that this machine has. Only detection makes values above [`Level::SCALAR`], so that
/// holding one proves that its instructions may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(Isa);

/// The instruction sets told apart, from the least to the most capable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Isa {
    /// Nothing but what the compiler makes of plain code for every machine of the target (SSE2 on x86-64, NEON on
    /// AArch64).
    Scalar,
    /// Code written for NEON, which every AArch64 machine has.
    Neon,
    /// AVX2.
    Avx2,
    /// AVX-512 with the F, BW, DQ and VL parts.
    Avx512,
}

impl Isa {
    /// Name, as in `JND_SIMD`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// All of them, from the least to the most capable.
    const ALL: [Self; 4] = [Self::Scalar, Self::Neon, Self::Avx2, Self::Avx512];

    /// Whether machines of this target may have it.
    fn fits_target(self) -> bool {
        match self {
            Self::Scalar => true,
            Self::Neon => cfg!(target_arch = "aarch64"),
            Self::Avx2 | Self::Avx512 => cfg!(target_arch = "x86_64"),
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|i| i.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// A value of `JND_SIMD` that names no vector instructions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "JND_SIMD is {text:?}, which names no vector instructions; set it to scalar, neon, avx2 or avx512, or unset it"
)]
pub struct UnknownLevel {
    /// The value.
    pub text: String,
}

impl Level {
    /// The level every machine has.
    pub const SCALAR: Self = Self(Isa::Scalar);

    /// The level to use: the best this machine has, or the one `JND_SIMD` names if that is lower. An unknown name
    /// counts as unset; [`Level::asked`] tells it from one that is.
    pub fn get() -> Self {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(|| {
            let wanted = Self::asked().ok().flatten();
            wanted.map_or_else(Self::detected, |isa| Self::detected().lowered_to(isa))
        })
    }

    /// What `JND_SIMD` names; nothing where it is unset or empty.
    ///
    /// # Errors
    /// A value that is no name.
    pub fn asked() -> Result<Option<Isa>, UnknownLevel> {
        match std::env::var_os("JND_SIMD") {
            Some(text) => named(&text.to_string_lossy()),
            None => Ok(None),
        }
    }

    /// The best level this machine has.
    pub fn detected() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
            {
                return Self(Isa::Avx512);
            }
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
            {
                return Self(Isa::Avx2);
            }
        }
        if cfg!(target_arch = "aarch64") { Self(Isa::Neon) } else { Self::SCALAR }
    }

    /// All levels this machine has, from the lowest; tests run each.
    pub fn available() -> Vec<Self> {
        let best = Self::detected();
        Isa::ALL.into_iter().filter(|&i| i <= best.0 && i.fits_target()).map(Self).collect()
    }

    /// This level or `isa`, whichever is lower; scalar where `isa` belongs to another target.
    pub fn lowered_to(self, isa: Isa) -> Self {
        if isa > self.0 {
            self
        } else if isa.fits_target() {
            Self(isa)
        } else {
            Self::SCALAR
        }
    }

    /// The instruction set.
    pub fn isa(self) -> Isa {
        self.0
    }
}

fn named(text: &str) -> Result<Option<Isa>, UnknownLevel> {
    match Isa::parse(text) {
        None if !text.trim().is_empty() => Err(UnknownLevel { text: text.to_owned() }),
        isa => Ok(isa),
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

/// Defines a function that takes a [`Level`] first and runs a body compiled for that level.
///
/// The body is a function marked `#[inline(always)]` that takes the other arguments:
///
/// ```
/// #[inline(always)]
/// fn scale_body(v: &mut [f32], by: f32) {
///     for x in v {
///         *x *= by;
///     }
/// }
/// jnd_video::dispatch! {
///     /// Multiplies every element.
///     pub fn scale(v: &mut [f32], by: f32) = scale_body;
/// }
/// # fn main() {
/// let mut v = [1.0, 2.0];
/// scale(jnd_video::simd::Level::get(), &mut v, 0.5);
/// assert_eq!(v, [0.5, 1.0]);
/// # }
/// ```
#[macro_export]
macro_rules! dispatch {
    ($(#[$meta:meta])* $vis:vis fn $name:ident $(<$($g:ident: $bound:path),+>)? ($($arg:ident: $ty:ty),* $(,)?)
        $(-> $ret:ty)? = $body:path;) => {
        $(#[$meta])*
        $vis fn $name $(<$($g: $bound),+>)? (level: $crate::simd::Level, $($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                fn avx2 $(<$($g: $bound),+>)? ($($arg: $ty),*) $(-> $ret)? {
                    $body($($arg),*)
                }
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
                fn avx512 $(<$($g: $bound),+>)? ($($arg: $ty),*) $(-> $ret)? {
                    $body($($arg),*)
                }
                match level.isa() {
                    // SAFETY: a level above scalar exists only where detection found its instructions
                    // (BMI1 and POPCNT come with BMI2 and LZCNT).
                    $crate::simd::Isa::Avx2 => return unsafe { avx2($($arg),*) },
                    // SAFETY: as above.
                    $crate::simd::Isa::Avx512 => return unsafe { avx512($($arg),*) },
                    _ => {}
                }
            }
            let _ = level;
            $body($($arg),*)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_only_go_down() {
        let best = Level::detected();
        assert_eq!(best.lowered_to(Isa::Avx512), best);
        assert_eq!(best.lowered_to(Isa::Scalar), Level::SCALAR);
        assert!(Level::get() <= best);
        assert_eq!(Level::available().first(), Some(&Level::SCALAR));
        assert_eq!(Level::available().last(), Some(&best));
    }

    #[test]
    fn names_are_read_back() {
        for isa in Isa::ALL {
            assert_eq!(Isa::parse(isa.name()), Some(isa));
            assert!(Level::available().contains(&best_below(isa)), "{isa:?}");
        }
        assert_eq!((named("AVX2 "), named(" ")), (Ok(Some(Isa::Avx2)), Ok(None)));
        assert!(named("sse9").unwrap_err().to_string().contains("\"sse9\""));
    }

    fn best_below(isa: Isa) -> Level {
        Level::detected().lowered_to(isa)
    }

    #[inline(always)]
    fn sum_body<T: crate::Sample>(v: &[T]) -> u64 {
        v.iter().map(|&x| u64::from(Into::<u32>::into(x))).sum()
    }

    crate::dispatch! {
        /// Sum of samples.
        fn sum<T: crate::Sample>(v: &[T]) -> u64 = sum_body;
    }

    #[test]
    fn every_level_runs_the_same_body() {
        let v: Vec<u16> = (0..1000).collect();
        for level in Level::available() {
            assert_eq!(sum(level, &v), 499_500, "{level}");
        }
    }
}
