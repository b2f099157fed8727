//! Whether a file that `ffmpeg` has ended is whole.
//!
//! Where only its last writes fail, as they do on a disk that becomes full, `ffmpeg` says nothing and exits with 0 (5.1 and
//! others). After a write that fails it writes nothing more, so the sizes that it puts into the header at the very end
//! tell: they are there and they fit, or the file is cut off.

use std::fs::{File, OpenOptions};
use std::io::{Error as IoError, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::Container;
use crate::{Error, Result};

/// Checks a file that is to get its final name.
pub(super) fn check(path: &Path, name: &str, container: Container) -> Result<()> {
    let io = |e| Error::io(name, e);
    let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(io)?;
    let size = file.metadata().map_err(io)?.len();
    let whole = match container {
        Container::Mp4 | Container::Mov => crate::boxes::is_whole(&mut file),
        Container::Matroska | Container::WebM => segment_is_whole(&mut file, size),
    };
    if whole.map_err(io)? {
        return Ok(());
    }
    // What keeps this from being written has kept the rest of the file from it too.
    append_and_take_back(&mut file, size).map_err(io)?;
    Err(io(IoError::other(format!(
        "ffmpeg has written only a part of it ({size} bytes) and gave no reason; was the disk full for a while?"
    ))))
}

fn append_and_take_back(file: &mut File, size: u64) -> std::io::Result<()> {
    file.seek(SeekFrom::End(0))?;
    // More than a block of most file systems, so that the rest of the last block cannot take it.
    file.write_all(&[0; 1 << 16])?;
    file.set_len(size)
}

/// Whether the segment of a Matroska or WebM file says how long it is and is inside the file. Its length is written last.
fn segment_is_whole(file: &mut (impl Read + Seek), size: u64) -> std::io::Result<bool> {
    file.seek(SeekFrom::Start(0))?;
    // The header of all EBML files, then the segment: its kind, and its length in at most 8 bytes.
    let mut head = [0; 1024];
    let got = crate::source::read_up_to(file, &mut head)?;
    let head = &head[..got];
    let segment = element(head, 0, [0x1A, 0x45, 0xDF, 0xA3])
        .and_then(|(body, length)| usize::try_from(body.checked_add(length?)?).ok())
        .and_then(|at| element(head, at, [0x18, 0x53, 0x80, 0x67]));
    Ok(match segment {
        Some((body, Some(length))) => body.checked_add(length).is_some_and(|end| end <= size),
        _ => false,
    })
}

/// Where the contents of an element of this kind at `at` start, and their length, if it is known.
fn element(data: &[u8], at: usize, kind: [u8; 4]) -> Option<(u64, Option<u64>)> {
    let rest = data.get(at..)?.strip_prefix(&kind)?;
    let first = *rest.first()?;
    // As many bytes as there are zeros before the first one, and one.
    let bytes = first.leading_zeros() as usize + 1;
    let digits = rest.get(..bytes).filter(|_| bytes <= 8)?;
    let value = digits.iter().fold(0u64, |v, &b| v << 8 | u64::from(b));
    let mask = (1u64 << (7 * bytes)) - 1;
    let length = Some(value & mask).filter(|&v| v != mask);
    Some((at as u64 + 4 + bytes as u64, length))
}

/// What stopped a program that has said why, where it was the place to write to.
pub(super) fn no_room(lines: &[String]) -> Option<IoError> {
    let all = [
        ("No space left on device", ErrorKind::StorageFull),
        ("Disk quota exceeded", ErrorKind::QuotaExceeded),
        ("File too large", ErrorKind::FileTooLarge),
    ];
    let (words, kind) = all.into_iter().find(|(words, _)| lines.iter().any(|l| l.contains(words)))?;
    Some(IoError::new(kind, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webm(length: &[u8], body: usize) -> Vec<u8> {
        let mut data = vec![0x1A, 0x45, 0xDF, 0xA3, 0x82, 9, 9, 0x18, 0x53, 0x80, 0x67];
        data.extend(length);
        data.extend(vec![0; body]);
        data
    }

    fn whole(data: &[u8]) -> bool {
        segment_is_whole(&mut std::io::Cursor::new(data), data.len() as u64).unwrap()
    }

    #[test]
    fn a_segment_says_its_length_and_is_inside_the_file() {
        assert!(whole(&webm(&[0x85], 5)) && whole(&webm(&[0x01, 0, 0, 0, 0, 0, 0, 5], 5)));
        assert!(!whole(&webm(&[0x85], 4)) && !whole(&webm(&[0x01, 0, 0, 0, 0, 0, 0, 5], 4)));
        // Of unknown length, as before the end.
        assert!(!whole(&webm(&[0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 5)));
        assert!(!whole(&webm(&[0xFF], 5)) && !whole(&webm(&[0], 5)) && !whole(b"RIFF") && !whole(b""));
        let good = webm(&[0x85], 5);
        assert!((0..good.len()).all(|n| !whole(&good[..n])));
    }

    #[test]
    fn the_useful_words_are_found() {
        let lines = ["av_interleaved_write_frame(): No space left on device", "Error writing trailer of x"];
        let e = no_room(&lines.map(str::to_owned)).unwrap();
        assert_eq!((e.kind(), e.to_string().as_str()), (ErrorKind::StorageFull, "No space left on device"));
        assert!(no_room(&["Conversion failed!".to_owned()]).is_none());
    }
}
