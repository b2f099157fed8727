//! The rotation tag of MP4 and MOV files: the matrix in the track header.
//!
//! Versions of `ffmpeg` disagree on how a rotation is asked for, so the nine numbers are written into the finished file.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::{Error, Result};

/// The largest header that is taken into memory.
const MAX_MOOV: u64 = 1 << 30;

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
    let (offset, moov) =
        read_moov(&mut file).map_err(io)?.ok_or_else(|| Error::broken(name, "it has no moov box"))?;
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

/// The contents of the moov box and where in the file they start.
fn read_moov(file: &mut File) -> std::io::Result<Option<(u64, Vec<u8>)>> {
    let end = file.metadata()?.len();
    let mut at = 0;
    while at + 8 <= end {
        file.seek(SeekFrom::Start(at))?;
        let mut head = [0; 16];
        file.read_exact(&mut head[..8])?;
        let mut size = u64::from(u32::from_be_bytes([head[0], head[1], head[2], head[3]]));
        let mut header = 8;
        match size {
            0 => size = end - at,
            1 => {
                file.read_exact(&mut head[8..])?;
                size = head[8..].iter().fold(0, |s, &b| s << 8 | u64::from(b));
                header = 16;
            }
            _ => {}
        }
        if size < header || size > end - at {
            return Ok(None);
        }
        if &head[4..8] == b"moov" {
            if size > MAX_MOOV {
                return Ok(None);
            }
            let mut body = vec![0; (size - header) as usize];
            file.seek(SeekFrom::Start(at + header))?;
            file.read_exact(&mut body)?;
            return Ok(Some((at + header, body)));
        }
        at += size;
    }
    Ok(None)
}

/// The boxes in `data[from..to]`: kind, start and end of contents.
fn boxes(data: &[u8], from: usize, to: usize) -> impl Iterator<Item = ([u8; 4], usize, usize)> + '_ {
    let mut at = from;
    std::iter::from_fn(move || {
        let head = data.get(at..to)?.first_chunk::<8>()?;
        let size = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if size < 8 || size > to - at {
            return None;
        }
        let found = ([head[4], head[5], head[6], head[7]], at + 8, at + size);
        at += size;
        Some(found)
    })
}

/// Where the contents of the picture track's `tkhd` box start.
fn picture_header(moov: &[u8]) -> Option<usize> {
    let find = |kind: &[u8; 4], (_, a, b): ([u8; 4], usize, usize)| boxes(moov, a, b).find(|x| x.0 == *kind);
    boxes(moov, 0, moov.len()).filter(|b| b.0 == *b"trak").find_map(|trak| {
        let handler = find(b"hdlr", find(b"mdia", trak)?)?;
        (moov.get(handler.1 + 8..handler.1 + 12)? == b"vide").then_some(())?;
        find(b"tkhd", trak).map(|t| t.1)
    })
}
