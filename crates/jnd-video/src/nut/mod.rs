//! NUT, the container in which raw frames travel to and from `ffmpeg` with their timestamps.
//!
//! Only what that takes: one video stream of raw frames, no seeking, no index. The reader takes any such file; the
//! writer puts a sync point and a checksum before every frame, which for frames larger than a few kilobytes the format
//! asks for anyway.

mod bits;
mod reader;
mod writer;

pub use reader::{FrameHead, NutReader, NutStream};
pub use writer::NutWriter;

/// What a file starts with.
const FILE_ID: &[u8] = b"nut/multimedia container\0";

/// Start codes: `N`, a letter, then six bytes that occur nowhere else.
const fn startcode(letter: u8, rest: u64) -> u64 {
    rest + ((((b'N' as u64) << 8) + letter as u64) << 48)
}

const MAIN: u64 = startcode(b'M', 0x7A56_1F5F_04AD);
const STREAM: u64 = startcode(b'S', 0x1140_5BF2_F9DB);
const SYNCPOINT: u64 = startcode(b'K', 0xE4AD_EECA_4569);

/// Frame flags.
mod flag {
    pub(super) const KEY: u64 = 1;
    pub(super) const CODED_PTS: u64 = 8;
    pub(super) const STREAM_ID: u64 = 16;
    pub(super) const SIZE_MSB: u64 = 32;
    pub(super) const CHECKSUM: u64 = 64;
    pub(super) const RESERVED: u64 = 128;
    pub(super) const SIDE_DATA: u64 = 256;
    pub(super) const HEADER_IDX: u64 = 1024;
    pub(super) const MATCH_TIME: u64 = 2048;
    pub(super) const CODED: u64 = 4096;
    pub(super) const INVALID: u64 = 8192;
}

/// The tag by which raw frames of a format are known in NUT, as `ffmpeg` writes and reads them.
pub(crate) fn fourcc(format: crate::PixelFormat) -> Option<[u8; 4]> {
    use crate::Layout::{Bgr, Gbr, Gray, Nv12, Rgb, Yuv420, Yuv422, Yuv444};
    let depth = format.depth();
    Some(match (format.layout(), depth) {
        (Gray, 8) => *b"Y800",
        (Gray, d) => [b'Y', b'1', 0, d],
        (Rgb, 8) => [b'R', b'G', b'B', 24],
        (Rgb, 16) => [b'R', b'G', b'B', 48],
        (Bgr, 8) => [b'B', b'G', b'R', 24],
        (Bgr, 16) => [b'B', b'G', b'R', 48],
        (Gbr, d) => [b'G', b'3', 0, d],
        (Yuv420, 8) => *b"I420",
        (Yuv422, 8) => *b"Y42B",
        (Yuv444, 8) => *b"444P",
        (Yuv420, d) => [b'Y', b'3', 11, d],
        (Yuv422, d) => [b'Y', b'3', 10, d],
        (Yuv444, d) => [b'Y', b'3', 0, d],
        (Nv12, 8) => *b"NV12",
        (Rgb | Bgr | Nv12, _) => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;
    use crate::Rational;

    fn written(stream: &NutStream, frames: &[(i64, Vec<u8>)]) -> Vec<u8> {
        let mut w = NutWriter::new(Vec::new(), stream).unwrap();
        for (pts, data) in frames {
            w.write_frame(*pts, data).unwrap();
        }
        w.into_inner()
    }

    fn stream(width: usize, height: usize, num: u64, den: u64) -> NutStream {
        NutStream {
            fourcc: b"I420".to_vec(),
            width,
            height,
            time_base: Rational::new(num, den).unwrap(),
            sample_aspect: None,
        }
    }

    type Frames = Vec<(i64, Vec<u8>)>;

    fn read_all(bytes: &[u8]) -> crate::Result<(NutStream, Frames)> {
        let mut r = NutReader::new(Cursor::new(bytes), "t".into())?;
        let mut frames = Vec::new();
        while let Some(head) = r.next_frame()? {
            if head.size > 1 << 20 {
                return Err(crate::Error::broken("t", "large"));
            }
            let mut data = vec![0; head.size];
            r.read_data(&head, &mut data)?;
            frames.push((head.pts, data));
        }
        Ok((r.stream().clone(), frames))
    }

    proptest! {
        #[test]
        fn round_trip(
            width in 1usize..70000, height in 1usize..70000, num in 1u64..100_000, den in 1u64..1_000_000,
            frames in prop::collection::vec((0i64..1 << 50, prop::collection::vec(any::<u8>(), 0..300)), 0..6),
        ) {
            let mut s = stream(width, height, num, den);
            s.sample_aspect = Some((4, 3));
            let bytes = written(&s, &frames);
            let (got, read) = read_all(&bytes).unwrap();
            prop_assert_eq!(got, s);
            prop_assert_eq!(read, frames);
        }

        #[test]
        fn mutated_streams_never_panic(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut: prop::sample::Index) {
            let frames = [(0, vec![1; 40]), (1, vec![2; 40]), (5, vec![3; 40])];
            let mut bytes = written(&stream(6, 4, 1, 25), &frames);
            for (at, v) in edits {
                let i = at.index(bytes.len());
                bytes[i] = v;
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            let _ = read_all(&bytes);
        }
    }

    #[test]
    fn cuts_are_told_from_ends() {
        let bytes = written(&stream(6, 4, 1, 25), &[(0, vec![1; 40]), (1, vec![2; 40])]);
        for cut in 1..40 {
            let e = read_all(&bytes[..bytes.len() - cut]).unwrap_err();
            assert!(matches!(e, crate::Error::Truncated { .. }), "{cut}: {e}");
        }
    }
}
