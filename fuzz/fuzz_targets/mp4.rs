//! MP4: the header and its sample tables.
#![no_main]

use jnd_video::mp4::Mp4;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(mp4) = Mp4::read(&mut std::io::Cursor::new(data), "fuzz") else { return };
    for sample in mp4.tracks.iter().flat_map(|t| &t.samples) {
        assert!(sample.offset + u64::from(sample.size) <= data.len() as u64);
    }
});
