//! The types that rows are made of.

use jnd_video::{Plane, PlaneMut, Planes, PlanesMut, Sample};

/// A frame's sample, and the integer that holds its first halving exactly.
pub(crate) trait Pixel: Sample + crate::mix::Luma + crate::render::Render {
    /// `u16` for 8-bit samples, `u32` for deeper ones.
    type Int: Int + crate::mix::Luma + crate::shrink::Halve;
    /// The planes of a frame of such samples.
    fn planes<'a>(planes: &Planes<'a>) -> Option<[Plane<'a, Self>; 3]>;
    /// The planes of a frame of such samples, to write to.
    fn planes_mut<'a>(planes: &'a mut PlanesMut<'_>) -> Option<[PlaneMut<'a, Self>; 3]>;
}

macro_rules! pixel {
    ($t:ty, $int:ty, $variant:ident) => {
        impl Pixel for $t {
            type Int = $int;
            fn planes<'a>(planes: &Planes<'a>) -> Option<[Plane<'a, Self>; 3]> {
                match planes {
                    Planes::$variant(p) => Some(*p),
                    _ => None,
                }
            }
            fn planes_mut<'a>(planes: &'a mut PlanesMut<'_>) -> Option<[PlaneMut<'a, Self>; 3]> {
                match planes {
                    PlanesMut::$variant(p) => Some(p.each_mut().map(PlaneMut::reborrow)),
                    _ => None,
                }
            }
        }
    };
}
pixel!(u8, u16, U8);
pixel!(u16, u32, U16);

/// Five-tap sums in integers; no sum of legal samples overflows.
pub(crate) trait Int: Value {
    /// A sample, shifted down where it is packed high.
    fn sample<S: Pixel>(x: S, shift: u32) -> Self;
    /// `(a + e) + 4 (b + d) + 6 c`.
    fn taps(a: Self, b: Self, c: Self, d: Self, e: Self) -> Self;
}

macro_rules! int {
    ($t:ty, |$x:ident, $shift:ident| $sample:expr) => {
        impl Int for $t {
            #[inline(always)]
            fn sample<S: Pixel>($x: S, $shift: u32) -> Self {
                $sample
            }
            #[inline(always)]
            fn taps(a: Self, b: Self, c: Self, d: Self, e: Self) -> Self {
                (a + e) + 4 * (b + d) + 6 * c
            }
        }
    };
}
// 8-bit samples are never packed high; a shift would make the compiler widen them to 32 bits.
int!(u16, |x, _shift| Into::<u32>::into(x) as u16);
int!(u32, |x, shift| Into::<u32>::into(x) >> shift);

/// A stored value of a level.
pub(crate) trait Value: Copy + Default + std::fmt::Debug + Send + Sync + 'static {
    /// As f32; exact for the integers that occur.
    fn single(self) -> f32;
    /// The change since `before`: exact for integers, one f32 subtraction for f32; then converted.
    fn change<P: Real>(self, before: Self) -> P;
}

macro_rules! integer_value {
    ($t:ty) => {
        impl Value for $t {
            #[inline(always)]
            fn single(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn change<P: Real>(self, before: Self) -> P {
                P::from_i32(self as i32 - before as i32)
            }
        }
    };
}
integer_value!(u8);
integer_value!(u16);

impl Value for u32 {
    #[inline(always)]
    fn single(self) -> f32 {
        // Below 2^24: the signed conversion is the same and cheaper.
        self as i32 as f32
    }
    #[inline(always)]
    fn change<P: Real>(self, before: Self) -> P {
        P::from_i32(self as i32 - before as i32)
    }
}

impl Value for f32 {
    #[inline(always)]
    fn single(self) -> f32 {
        self
    }
    #[inline(always)]
    fn change<P: Real>(self, before: Self) -> P {
        P::from_f32(self - before)
    }
}

/// Type of states and projections.
pub(crate) trait Real:
    Copy
    + Default
    + Send
    + Sync
    + 'static
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
{
    /// Converts exactly.
    fn from_i32(v: i32) -> Self;
    /// Converts exactly.
    fn from_f32(v: f32) -> Self;
    /// Rounds once.
    fn from_f64(v: f64) -> Self;
    /// Rounds once.
    fn to_f32(self) -> f32;
    /// The value, or 0 below 2^-64.
    fn flushed(self) -> Self;
}

macro_rules! real {
    ($t:ty) => {
        impl Real for $t {
            #[inline(always)]
            fn from_i32(v: i32) -> Self {
                v as $t
            }
            #[inline(always)]
            fn from_f32(v: f32) -> Self {
                v as $t
            }
            #[inline(always)]
            fn from_f64(v: f64) -> Self {
                v as $t
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn flushed(self) -> Self {
                // 2^-64
                if self.abs() < 1.0 / 18_446_744_073_709_551_616.0 { 0.0 } else { self }
            }
        }
    };
}
real!(f32);
real!(f64);

/// Reflects `j` about the end samples of `0..n` without repeating them.
pub(crate) fn mirror(j: isize, n: usize) -> usize {
    // Nearly always, and without a division.
    if (0..n as isize).contains(&j) {
        return j as usize;
    }
    if n == 1 {
        return 0;
    }
    let p = 2 * (n as isize - 1);
    let m = j.rem_euclid(p);
    (if m < n as isize { m } else { p - m }) as usize
}
