//! The box structure of MP4 and MOV files: kind, extent, nesting. What is inside a box is for others to know.

use std::io::{Read, Seek, SeekFrom};

/// The largest header that is taken into memory.
const MAX_MOOV: u64 = 1 << 30;

/// A box inside a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// Four-letter kind.
    pub(crate) kind: [u8; 4],
    /// Where the box starts, its header counted.
    pub(crate) start: usize,
    /// Where its contents start.
    pub(crate) body: usize,
    /// Where it ends.
    pub(crate) end: usize,
}

/// The boxes in `data[from..to]`; ends at the first one that does not fit.
pub(crate) fn boxes(data: &[u8], from: usize, to: usize) -> impl Iterator<Item = Span> + '_ {
    let to = to.min(data.len());
    let mut at = from;
    std::iter::from_fn(move || {
        let head = data.get(at..to)?.first_chunk::<8>()?;
        let [a, b, c, d, kind @ ..] = *head;
        let mut size = u64::from(u32::from_be_bytes([a, b, c, d]));
        let mut header = 8;
        if size == 1 {
            size = u64::from_be_bytes(*data.get(at + 8..to)?.first_chunk()?);
            header = 16;
        } else if size == 0 {
            size = (to - at) as u64;
        }
        if size < header || size > (to - at) as u64 {
            return None;
        }
        let found = Span { kind, start: at, body: at + header as usize, end: at + size as usize };
        at = found.end;
        Some(found)
    })
}

/// The first box along a path of kinds below `data[from..to]`.
pub(crate) fn find(data: &[u8], (from, to): (usize, usize), path: &[&[u8; 4]]) -> Option<Span> {
    let (first, rest) = path.split_first()?;
    let found = boxes(data, from, to).find(|b| b.kind == **first)?;
    if rest.is_empty() { Some(found) } else { find(data, (found.body, found.end), rest) }
}

/// The header of a file: the contents of its moov box, and where in the file they start.
pub(crate) struct Moov {
    pub(crate) offset: u64,
    pub(crate) body: Vec<u8>,
    /// Whether movie fragments follow, whose samples are not listed in the header.
    pub(crate) fragmented: bool,
}

/// Finds and reads the moov box. `Ok(None)` where there is none, or one that ends beyond the file.
pub(crate) fn read_moov(file: &mut (impl Read + Seek)) -> std::io::Result<Option<Moov>> {
    let end = file.seek(SeekFrom::End(0))?;
    let mut at = 0;
    let mut moov: Option<Moov> = None;
    while at + 8 <= end {
        file.seek(SeekFrom::Start(at))?;
        let mut head = [0; 16];
        file.read_exact(&mut head[..8])?;
        let mut size = u64::from(u32::from_be_bytes([head[0], head[1], head[2], head[3]]));
        let mut header = 8;
        match size {
            0 => size = end - at,
            1 => {
                if at + 16 > end {
                    break;
                }
                file.read_exact(&mut head[8..])?;
                size = head[8..].iter().fold(0, |s, &b| s << 8 | u64::from(b));
                header = 16;
            }
            _ => {}
        }
        if size < header || size > end - at {
            break;
        }
        match &head[4..8] {
            b"moof" => {
                if let Some(m) = &mut moov {
                    m.fragmented = true;
                    break;
                }
            }
            b"moov" if moov.is_none() && size <= MAX_MOOV => {
                // The box is inside the file, so this much is really there.
                let mut body = vec![0; (size - header) as usize];
                file.seek(SeekFrom::Start(at + header))?;
                file.read_exact(&mut body)?;
                moov = Some(Moov { offset: at + header, body, fragmented: false });
            }
            _ => {}
        }
        at += size;
    }
    Ok(moov)
}

/// Whether a file is boxes from its start to its very end, one of them the header and one the samples.
pub(crate) fn is_whole(file: &mut (impl Read + Seek)) -> std::io::Result<bool> {
    let end = file.seek(SeekFrom::End(0))?;
    let (mut at, mut moov, mut mdat) = (0, false, false);
    while at < end {
        file.seek(SeekFrom::Start(at))?;
        let mut head = [0; 16];
        let got = crate::source::read_up_to(file, &mut head)?;
        let [a, b, c, d, kind @ ..] = head;
        let (size, header) = match u32::from_be_bytes([a, b, c, d]) {
            0 => (end - at, 8),
            1 => (kind[4..].iter().fold(0, |s, &b| s << 8 | u64::from(b)), 16),
            size => (u64::from(size), 8),
        };
        if got < header || size < header as u64 || size > end - at {
            return Ok(false);
        }
        moov |= kind.starts_with(b"moov");
        mdat |= kind.starts_with(b"mdat");
        at += size;
    }
    Ok(moov && mdat)
}

/// Appends a box.
#[cfg(any(feature = "h264", test))]
pub(crate) fn put_box(out: &mut Vec<u8>, kind: &[u8; 4], fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0; 4]);
    out.extend(kind);
    fill(out);
    // Headers are far below the 4 GiB that a box of this kind can hold.
    let size = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&size.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_file_ends_with_a_box() {
        let mut data = Vec::new();
        for (kind, bytes) in [(b"ftyp", 8), (b"moov", 20), (b"free", 0), (b"mdat", 30)] {
            put_box(&mut data, kind, |o| o.extend(vec![0; bytes]));
        }
        let whole = |data: &[u8]| is_whole(&mut std::io::Cursor::new(data)).unwrap();
        assert!(whole(&data));
        assert!((0..data.len()).all(|n| !whole(&data[..n])));
        // Without the header, and with samples that go on to the end, as before the file is ended.
        let mut open = Vec::new();
        put_box(&mut open, b"ftyp", |o| o.extend([0; 8]));
        open.extend(*b"\0\0\0\0mdat1234");
        assert!(!whole(&open));
    }

    #[test]
    fn boxes_that_claim_too_much_are_not_there() {
        let mut data = Vec::new();
        put_box(&mut data, b"aaaa", |o| put_box(o, b"bbbb", |o| o.extend([1, 2, 3])));
        let b = find(&data, (0, data.len()), &[b"aaaa", b"bbbb"]).unwrap();
        assert_eq!(&data[b.body..b.end], [1, 2, 3]);
        data[11] += 1;
        assert!(find(&data, (0, data.len()), &[b"aaaa", b"bbbb"]).is_none());
        data[0] = 0xFF;
        assert!(boxes(&data, 0, data.len()).next().is_none());
        assert!(boxes(&data, 5, 3).next().is_none());
    }
}
