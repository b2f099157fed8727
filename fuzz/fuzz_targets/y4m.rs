//! YUV4MPEG2: header and frames.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(mut source) = jnd_video::read_y4m(Box::new(std::io::Cursor::new(data.to_vec())), "fuzz") else {
        return;
    };
    // A header may claim a large picture; nobody has to believe it.
    if source.info().width * source.info().height > 1 << 20 {
        return;
    }
    let Ok(mut frame) = source.new_frame() else { return };
    while let Ok(true) = source.read(&mut frame) {}
});
