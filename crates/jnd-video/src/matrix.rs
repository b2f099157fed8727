//! The rotation tag of MP4 and MOV files: the matrix in the track header.
//!
//! Versions of `ffmpeg` disagree on how a rotation is asked for, so the nine numbers are written into the finished file.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use crate::boxes::{boxes, find, read_moov};
use crate::{Error, Result};

/// The matrix of a clockwise quarter turn of a `width` x `height` picture, as the file holds it: 16.16 fixed point,
/// the last column 2.30.
pub(crate) fn rotation_matrix(rotation: u16, width: u32, height: u32) -> [i32; 9] {
    const ONE: i32 = 1 << 16;
    const W: i32 = 1 << 30;
    let (w, h) = ((width << 16) as i32, (height << 16) as i32);
    match rotation {
        90 => [0, ONE, 0, -ONE, 0, 0, h, 0, W],
        180 => [-ONE, 0, 0, 0, -ONE, 0, w, h, W],
        270 => [0, -ONE, 0, ONE, 0, 0, 0, w, W],
        _ => [ONE, 0, 0, 0, ONE, 0, 0, 0, W],
    }
}

/// Writes the rotation into the picture track of a complete MP4 or MOV file.
pub(crate) fn write_rotation(path: &Path, name: &str, rotation: u16) -> Result<()> {
    let io = |e| Error::io(name, e);
    let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(io)?;
    let found = read_moov(&mut file).map_err(io)?.ok_or_else(|| Error::broken(name, "it has no moov box"))?;
    let (offset, moov) = (found.offset, found.body);
    let at = picture_header(&moov).ok_or_else(|| Error::broken(name, "it has no picture track"))?;
    // Version 1 has 64-bit times and duration.
    let long = moov.get(at).copied() == Some(1);
    let matrix = at + if long { 52 } else { 40 };
    let side = |i: usize| {
        let b = moov.get(matrix + 36 + 4 * i..)?.first_chunk::<4>()?;
        Some(u32::from_be_bytes(*b) >> 16)
    };
    let (Some(width), Some(height)) = (side(0), side(1)) else {
        return Err(Error::broken(name, "its track header is too short"));
    };
    let bytes: Vec<u8> =
        rotation_matrix(rotation, width, height).iter().flat_map(|v| v.to_be_bytes()).collect();
    file.seek(SeekFrom::Start(offset + matrix as u64)).map_err(io)?;
    file.write_all(&bytes).map_err(io)
}

/// Where the contents of the picture track's `tkhd` box start.
fn picture_header(moov: &[u8]) -> Option<usize> {
    boxes(moov, 0, moov.len()).filter(|b| b.kind == *b"trak").find_map(|trak| {
        let inside = (trak.body, trak.end);
        let handler = find(moov, inside, &[b"mdia", b"hdlr"])?;
        (moov.get(handler.body + 8..handler.body + 12)? == b"vide").then_some(())?;
        find(moov, inside, &[b"tkhd"]).map(|t| t.body)
    })
}

/// Clockwise degrees of a matrix that is a plain quarter turn.
pub(crate) fn quarter_turn(m: &[i32; 9]) -> Option<u16> {
    match [m[0].signum(), m[1].signum(), m[3].signum(), m[4].signum()] {
        [1, 0, 0, 1] => Some(0),
        [0, 1, -1, 0] => Some(90),
        [-1, 0, 0, -1] => Some(180),
        [0, -1, 1, 0] => Some(270),
        _ => None,
    }
}
