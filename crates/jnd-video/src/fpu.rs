//! Floating point as IEEE 754 has it.
//!
//! Some programs that call libraries (Python hosts with certain extensions, audio software) run with subnormal numbers
//! flushed to zero. Results that are equal to the last bit everywhere need it off, and rounding to nearest on.

use std::marker::PhantomData;

/// While one lives, this thread keeps subnormal numbers and rounds to nearest; what was set before comes back when it is
/// dropped.
#[derive(Debug)]
pub struct Ieee {
    former: Control,
    /// The state belongs to the thread.
    not_send: PhantomData<*const ()>,
}

impl Ieee {
    /// Sets the state.
    pub fn enter() -> Self {
        let former = control();
        if former & !KEPT != 0 {
            set_control(former & KEPT);
        }
        Self { former, not_send: PhantomData }
    }
}

impl Drop for Ieee {
    fn drop(&mut self) {
        if self.former & !KEPT != 0 {
            set_control(self.former);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod state {
    /// MXCSR.
    pub(super) type Control = u32;
    /// All bits but flush-to-zero (15), rounding (13 and 14), and denormals-are-zero (6).
    pub(super) const KEPT: Control = !0xe040;

    pub(super) fn control() -> Control {
        let mut v: Control = 0;
        // SAFETY: stores the register into a variable of its size.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut v, options(nostack, preserves_flags)) };
        v
    }

    pub(super) fn set_control(v: Control) {
        // SAFETY: the value was read from the register, apart from bits that choose rounding and subnormals; `Ieee`
        // puts them back, and code in between gives what Rust promises of floats.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &v, options(nostack, preserves_flags, readonly)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod state {
    /// FPCR.
    pub(super) type Control = u64;
    /// All bits but flush-to-zero (24 and 19) and rounding (22 and 23).
    pub(super) const KEPT: Control = !((1 << 24) | (1 << 19) | (3 << 22));

    pub(super) fn control() -> Control {
        let v: Control;
        // SAFETY: reads a register that every program may read.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) v, options(nomem, nostack, preserves_flags)) };
        v
    }

    pub(super) fn set_control(v: Control) {
        // SAFETY: the value was read from the register, apart from bits that choose rounding and subnormals.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) v, options(nomem, nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod state {
    pub(super) type Control = u32;
    pub(super) const KEPT: Control = !0;

    pub(super) fn control() -> Control {
        0
    }

    pub(super) fn set_control(_: Control) {}
}

use state::{Control, KEPT, control, set_control};

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;
    use std::hint::black_box;

    fn half_of_the_smallest_normal() -> f32 {
        black_box(f32::MIN_POSITIVE) * black_box(0.5)
    }

    #[test]
    fn subnormals_are_kept_and_the_former_state_comes_back() {
        let former = control();
        set_control(former | !KEPT & FLUSH);
        assert_eq!(half_of_the_smallest_normal(), 0.0);
        {
            let _ieee = Ieee::enter();
            assert!(half_of_the_smallest_normal() > 0.0);
        }
        assert_eq!(half_of_the_smallest_normal(), 0.0);
        set_control(former);
        assert!(half_of_the_smallest_normal() > 0.0);
    }

    #[cfg(target_arch = "x86_64")]
    const FLUSH: Control = 1 << 15;
    #[cfg(target_arch = "aarch64")]
    const FLUSH: Control = 1 << 24;
}
