//! The sequence parameter set: size, cropping, profile, colour.

use crate::{ChromaSiting, ColorRange, ColorTags};

/// What a sequence parameter set says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sps {
    pub(crate) profile: u8,
    pub(crate) constraints: u8,
    pub(crate) chroma_format: u32,
    pub(crate) depth: u32,
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Columns and rows cut off on the left, right, top and bottom.
    pub(crate) crop: [usize; 4],
    /// Whether pictures may be fields.
    pub(crate) interlaced: bool,
    pub(crate) color: ColorTags,
    pub(crate) siting: ChromaSiting,
    pub(crate) aspect: Option<(u64, u64)>,
}

impl Sps {
    /// Name of the profile.
    pub(crate) fn profile_name(&self) -> String {
        match self.profile {
            66 if self.constraints & 0x40 != 0 => "Constrained Baseline".into(),
            66 => "Baseline".into(),
            77 => "Main".into(),
            88 => "Extended".into(),
            100 => "High".into(),
            110 => "High 10".into(),
            122 => "High 4:2:2".into(),
            244 => "High 4:4:4 Predictive".into(),
            44 => "CAVLC 4:4:4 Intra".into(),
            n => format!("profile {n}"),
        }
    }

    /// What OpenH264 cannot take in it, in words.
    pub(crate) fn obstacle(&self) -> Option<String> {
        if !matches!(self.profile, 66 | 77 | 88 | 100) || self.depth != 8 || self.chroma_format != 1 {
            let chroma = ["monochrome", "4:2:0", "4:2:2", "4:4:4"][self.chroma_format.min(3) as usize];
            return Some(format!("H.264 {} ({chroma}, {}-bit)", self.profile_name(), self.depth));
        }
        self.interlaced.then(|| format!("interlaced H.264 ({} profile)", self.profile_name()))
    }
}

/// A reader of bits that drops the emulation-prevention bytes. `None` when the data ends.
pub(crate) struct Bits<'a> {
    data: &'a [u8],
    at: usize,
    zeros: u32,
    byte: u8,
    left: u32,
}

impl<'a> Bits<'a> {
    /// Starts after the one-byte NAL header.
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0, zeros: 0, byte: 0, left: 0 }
    }

    fn bit(&mut self) -> Option<u32> {
        if self.left == 0 {
            let mut b = *self.data.get(self.at)?;
            if self.zeros >= 2 && b == 3 {
                self.at += 1;
                self.zeros = 0;
                b = *self.data.get(self.at)?;
            }
            self.at += 1;
            self.zeros = if b == 0 { self.zeros + 1 } else { 0 };
            (self.byte, self.left) = (b, 8);
        }
        self.left -= 1;
        Some(u32::from(self.byte >> self.left & 1))
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        self.bit().map(|b| b == 1)
    }

    pub(crate) fn u(&mut self, n: u32) -> Option<u32> {
        (0..n).try_fold(0u32, |v, _| Some(v << 1 | self.bit()?))
    }

    pub(crate) fn ue(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while self.bit()? == 0 {
            zeros += 1;
            if zeros > 31 {
                return None;
            }
        }
        Some((1u32 << zeros) - 1 + self.u(zeros)?)
    }

    pub(crate) fn se(&mut self) -> Option<i32> {
        let k = i64::from(self.ue()?);
        Some(if k & 1 == 1 { (k / 2 + 1) as i32 } else { -(k / 2) as i32 })
    }
}

/// Parses a sequence parameter set NAL, its header byte included. `None` where it makes no sense.
pub(crate) fn parse_sps(nal: &[u8]) -> Option<Sps> {
    let (header, rest) = nal.split_first()?;
    if header & 0x1F != 7 {
        return None;
    }
    let mut b = Bits::new(rest);
    let (profile, constraints) = (b.u(8)? as u8, b.u(8)? as u8);
    let _level = b.u(8)?;
    b.ue()?;
    let (mut chroma_format, mut depth) = (1, 8);
    if matches!(profile, 100 | 110 | 122 | 244 | 44 | 83 | 86 | 118 | 128 | 138 | 139 | 134 | 135) {
        chroma_format = b.ue()?;
        if chroma_format > 3 {
            return None;
        }
        if chroma_format == 3 {
            b.flag()?;
        }
        depth = 8 + b.ue()?.max(b.ue()?);
        b.flag()?;
        if b.flag()? {
            for i in 0..if chroma_format == 3 { 12 } else { 8 } {
                if b.flag()? {
                    scaling_list(&mut b, if i < 6 { 16 } else { 64 })?;
                }
            }
        }
    }
    b.ue()?;
    match b.ue()? {
        0 => _ = b.ue()?,
        1 => {
            b.flag()?;
            b.se()?;
            b.se()?;
            let n = b.ue()?;
            if n > 255 {
                return None;
            }
            for _ in 0..n {
                b.se()?;
            }
        }
        2 => {}
        _ => return None,
    }
    b.ue()?;
    b.flag()?;
    let (mbs_wide, map_units) = (b.ue()? + 1, b.ue()?.checked_add(1)?);
    let frames_only = b.flag()?;
    if !frames_only {
        b.flag()?;
    }
    b.flag()?;
    let rows = if frames_only { 1 } else { 2 };
    if mbs_wide > 8192 || map_units > 8192 {
        return None;
    }
    let coded = (mbs_wide as usize * 16, map_units as usize * 16 * rows);
    let mut crop = [0; 4];
    if b.flag()? {
        let x = if matches!(chroma_format, 1 | 2) { 2 } else { 1 };
        let y = if chroma_format == 1 { 2 } else { 1 } * rows;
        for (c, unit) in crop.iter_mut().zip([x, x, y, y]) {
            *c = (b.ue()? as usize).checked_mul(unit)?;
        }
    }
    let width = coded.0.checked_sub(crop[0].checked_add(crop[1])?)?;
    let height = coded.1.checked_sub(crop[2].checked_add(crop[3])?)?;
    if width == 0 || height == 0 {
        return None;
    }
    let mut sps = Sps {
        profile,
        constraints,
        chroma_format,
        depth,
        width,
        height,
        crop,
        interlaced: !frames_only,
        color: ColorTags::default(),
        // What the standard says where nothing is said.
        siting: if chroma_format == 1 { ChromaSiting::Left } else { ChromaSiting::Unspecified },
        aspect: None,
    };
    if b.flag()? {
        // A cut-off description leaves the defaults.
        _ = vui(&mut b, &mut sps);
    }
    Some(sps)
}

fn scaling_list(b: &mut Bits<'_>, size: usize) -> Option<()> {
    let (mut last, mut next) = (8i32, 8i32);
    for _ in 0..size {
        if next != 0 {
            next = (last + b.se()? + 256) & 255;
        }
        if next != 0 {
            last = next;
        }
    }
    Some(())
}

fn vui(b: &mut Bits<'_>, sps: &mut Sps) -> Option<()> {
    /// Pixel aspects by number, from 1.
    const ASPECTS: [(u64, u64); 16] = [
        (1, 1),
        (12, 11),
        (10, 11),
        (16, 11),
        (40, 33),
        (24, 11),
        (20, 11),
        (32, 11),
        (80, 33),
        (18, 11),
        (15, 11),
        (64, 33),
        (160, 99),
        (4, 3),
        (3, 2),
        (2, 1),
    ];
    if b.flag()? {
        sps.aspect = match b.u(8)? {
            255 => Some((u64::from(b.u(16)?), u64::from(b.u(16)?))),
            n => (n as usize).checked_sub(1).and_then(|i| ASPECTS.get(i)).copied(),
        };
    }
    if b.flag()? {
        b.flag()?;
    }
    if b.flag()? {
        b.u(3)?;
        sps.color.range = if b.flag()? { ColorRange::Full } else { ColorRange::Limited };
        if b.flag()? {
            sps.color.primaries = b.u(8)? as u8;
            sps.color.transfer = b.u(8)? as u8;
            sps.color.matrix = b.u(8)? as u8;
        }
    }
    if b.flag()? {
        sps.siting = match b.ue()? {
            0 => ChromaSiting::Left,
            1 => ChromaSiting::Center,
            2 => ChromaSiting::TopLeft,
            _ => ChromaSiting::Unspecified,
        };
        b.ue()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_high_profile_set_is_read() {
        // 320x240, High, level 1.3, from a file made by x264.
        let nal = [
            0x67, 0x64, 0x00, 0x0D, 0xAC, 0xD9, 0x41, 0x41, 0xFA, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00,
            0x00, 0x03, 0x03, 0x20, 0xF1, 0x42, 0x99, 0x60,
        ];
        let s = parse_sps(&nal).unwrap();
        assert_eq!((s.width, s.height, s.profile, s.depth), (320, 240, 100, 8));
        assert_eq!(s.obstacle(), None);
        assert_eq!(s.siting, ChromaSiting::Left);
    }

    #[test]
    fn exp_golomb_numbers() {
        // 1, 010, 011, 00100, 00101 are 0 to 4.
        let data = [0b1010_0110, 0b0100_0010, 0b1000_0000];
        let mut b = Bits::new(&data);
        assert_eq!([b.ue(), b.ue(), b.ue(), b.ue(), b.ue()], [Some(0), Some(1), Some(2), Some(3), Some(4)]);
        let mut b = Bits::new(&data);
        assert_eq!([b.se(), b.se(), b.se(), b.se()], [Some(0), Some(1), Some(-1), Some(2)]);
        assert_eq!(Bits::new(&[0, 0, 0, 0, 0]).ue(), None);
        // The third byte of 00 00 03 is not part of the data.
        let mut b = Bits::new(&[0, 0, 3, 0x80]);
        assert_eq!((b.u(16), b.u(8)), (Some(0), Some(0x80)));
    }

    proptest! {
        #[test]
        fn nonsense_never_panics(mut data in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(b) = data.first_mut() { *b = 0x67; }
            let _ = parse_sps(&data);
        }
    }
}
