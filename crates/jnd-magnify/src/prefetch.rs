//! Hints to the caches: rows that will be needed soon. Rows are short streams, and the hardware's own prefetching starts
//! anew with each of them.

/// Asks for a row to be brought into the caches.
#[inline(always)]
pub(crate) fn read<T>(row: &[T]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let bytes = std::mem::size_of_val(row);
        let p = row.as_ptr().cast::<i8>();
        // Four lines a turn; the last turn may ask for some lines behind the row.
        for at in (0..bytes).step_by(256) {
            for line in 0..4 {
                // SAFETY: a hint; it reads nothing, whatever the address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(p.wrapping_add(at + 64 * line)) };
            }
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = row;
}

/// Asks for a row that will be written to: other processors give up their copies at once, not at the first store.
#[inline(always)]
pub(crate) fn write<T>(row: &[T]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let bytes = std::mem::size_of_val(row);
        let p = row.as_ptr().cast::<u8>();
        for at in (0..bytes).step_by(256) {
            // SAFETY: hints; they change nothing, whatever the addresses. Processors without them do nothing.
            unsafe {
                std::arch::asm!(
                    "prefetchw [{p}]",
                    "prefetchw [{p} + 64]",
                    "prefetchw [{p} + 128]",
                    "prefetchw [{p} + 192]",
                    p = in(reg) p.wrapping_add(at),
                    options(nostack, preserves_flags, readonly)
                );
            }
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = row;
}
