//! NUT: headers and frames.
#![no_main]

use jnd_video::nut::NutReader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(mut reader) = NutReader::new(std::io::Cursor::new(data), "fuzz".into()) else { return };
    while let Ok(Some(head)) = reader.next_frame() {
        if head.size > 1 << 20 {
            return;
        }
        let mut frame = vec![0; head.size];
        if reader.read_data(&head, &mut frame).is_err() {
            return;
        }
    }
});
