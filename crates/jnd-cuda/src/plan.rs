//! Device memory, counted before it is taken.

use crate::{Context, DeviceBuffer, Error, Result};

/// Alignment of a part, so that wide loads and the copy engine work on every one.
const ALIGN: u64 = 256;

/// One buffer of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part(usize);

/// What an operation needs of the device's memory: named parts, added up. Allocation takes all of them at once.
#[derive(Debug, Clone, Default)]
pub struct MemoryPlan {
    parts: Vec<(&'static str, u64, u64)>,
    total: u64,
}

impl MemoryPlan {
    /// A plan that needs nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a buffer.
    pub fn add(&mut self, name: &'static str, bytes: u64) -> Part {
        self.parts.push((name, self.total, bytes));
        self.total = self.total.saturating_add(bytes.saturating_add(ALIGN - 1) / ALIGN * ALIGN);
        Part(self.parts.len() - 1)
    }

    /// Bytes needed in all.
    pub fn bytes(&self) -> u64 {
        self.total
    }

    /// Each part's name and bytes, in the order added.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.parts.iter().map(|p| (p.0, p.2))
    }

    fn detail(&self) -> String {
        let mut by_name: Vec<(&str, u64)> = Vec::new();
        for (name, bytes) in self.parts() {
            match by_name.iter_mut().find(|p| p.0 == name) {
                Some(p) => p.1 = p.1.saturating_add(bytes),
                None => by_name.push((name, bytes)),
            }
        }
        by_name.sort_by_key(|p| std::cmp::Reverse(p.1));
        by_name.iter().take(3).map(|(n, b)| format!("{n} {b}")).collect::<Vec<_>>().join(", ")
    }

    /// Checks the need against a limit and against what the device has free, without allocating.
    ///
    /// # Errors
    /// [`Error::Memory`], which names both figures.
    pub fn check(&self, context: &Context, limit: Option<u64>) -> Result<()> {
        let free = context.memory()?.0;
        let have = limit.unwrap_or(u64::MAX).min(free);
        if self.total > have {
            return Err(Error::Memory {
                device: context.info().device.to_string(),
                need: self.total,
                have,
                detail: self.detail(),
            });
        }
        Ok(())
    }

    /// Takes the memory.
    ///
    /// # Errors
    /// [`Error::Memory`] when it is more than the limit or than the device has free.
    pub fn allocate(self, context: &Context, limit: Option<u64>) -> Result<Arena> {
        self.check(context, limit)?;
        let bytes = usize::try_from(self.total).unwrap_or(usize::MAX);
        let buffer = DeviceBuffer::new(context, bytes)?;
        Ok(Arena { plan: self, buffer })
    }
}

/// The memory of a plan: one device buffer in which every part has its place.
#[derive(Debug)]
pub struct Arena {
    plan: MemoryPlan,
    buffer: DeviceBuffer,
}

impl Arena {
    /// Address of a part.
    pub fn ptr(&self, part: Part) -> u64 {
        self.buffer.ptr() + self.plan.parts[part.0].1
    }

    /// Bytes of a part.
    pub fn part_bytes(&self, part: Part) -> u64 {
        self.plan.parts[part.0].2
    }

    /// Bytes in all.
    pub fn bytes(&self) -> u64 {
        self.plan.total
    }

    /// The plan it was made from.
    pub fn plan(&self) -> &MemoryPlan {
        &self.plan
    }

    /// The whole buffer.
    pub fn buffer(&self) -> &DeviceBuffer {
        &self.buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_aligned_and_do_not_overlap() {
        let mut p = MemoryPlan::new();
        p.add("a", 1);
        p.add("b", 257);
        p.add("c", 256);
        assert_eq!(p.parts.iter().map(|p| p.1).collect::<Vec<_>>(), [0, 256, 768]);
        assert_eq!(p.bytes(), 1024);
    }

    #[test]
    fn an_absurd_need_saturates() {
        let mut p = MemoryPlan::new();
        p.add("a", u64::MAX);
        p.add("b", u64::MAX);
        assert_eq!(p.bytes(), u64::MAX);
        assert!(p.detail().starts_with("a 18446744073709551615, b"));
    }
}
