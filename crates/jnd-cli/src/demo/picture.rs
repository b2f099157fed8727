//! Still pictures of the demo: before and after side by side.

use std::path::Path;

use jnd::video::{Frame, Output, OutputFile};

/// An RGB picture.
#[derive(Debug)]
pub(crate) struct Picture {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Picture {
    /// A white picture.
    pub(crate) fn new(width: usize, height: usize) -> Self {
        Self { width, height, rgb: vec![255; width * height * 3] }
    }

    fn put(&mut self, x: usize, y: usize, rgb: [u8; 3]) {
        let at = (y * self.width + x) * 3;
        self.rgb[at..at + 3].copy_from_slice(&rgb);
    }

    /// Draws a frame with its corner at `x`, `y`.
    pub(crate) fn draw(&mut self, frame: &Frame, x: usize, y: usize) {
        for row in 0..frame.height() {
            for column in 0..frame.width() {
                self.put(x + column, y + row, color(frame, column, row));
            }
        }
    }

    /// Draws one row of a frame, `thickness` times, so that the rows of many frames make a picture of their movement.
    pub(crate) fn draw_row(
        &mut self,
        frame: &Frame,
        row: usize,
        columns: std::ops::Range<usize>,
        x: usize,
        y: usize,
        thickness: usize,
    ) {
        for (i, column) in columns.enumerate() {
            let rgb = color(frame, column, row);
            for j in 0..thickness {
                self.put(x + i, y + j, rgb);
            }
        }
    }

    /// Writes a PNG file; one that is there is replaced.
    pub(crate) fn save(&self, path: &Path) -> jnd::video::Result<()> {
        let mut file = OutputFile::create(&Output::Path(path.to_path_buf()), true)?;
        file.with(|out| {
            let mut encoder = png::Encoder::new(out, self.width as u32, self.height as u32);
            encoder.set_color(png::ColorType::Rgb);
            encoder.set_depth(png::BitDepth::Eight);
            let mut writer = encoder.write_header()?;
            writer.write_image_data(&self.rgb)?;
            Ok(writer.finish()?)
        })?;
        file.finish()
    }
}

/// The colour of a pixel of an 8-bit 4:2:0 frame of limited range, by BT.601.
fn color(frame: &Frame, x: usize, y: usize) -> [u8; 3] {
    let (luma, chroma) = (frame.plane_size(0), frame.plane_size(1));
    let bytes = frame.bytes();
    let at = luma.samples() + (y / 2) * chroma.width + x / 2;
    let l = 1.164_383 * (f64::from(bytes[y * luma.width + x]) - 16.0);
    let cb = f64::from(bytes[at]) - 128.0;
    let cr = f64::from(bytes[at + chroma.samples()]) - 128.0;
    let rgb = [l + 1.596_027 * cr, l - 0.391_762 * cb - 0.812_968 * cr, l + 2.017_232 * cb];
    rgb.map(|v| v.round().clamp(0.0, 255.0) as u8)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use jnd::video::{Layout, PixelFormat};

    #[test]
    fn colors_are_those_of_the_standard() {
        let mut f = Frame::new(PixelFormat::new(Layout::Yuv420, 8).unwrap(), 2, 2).unwrap();
        f.bytes_mut().copy_from_slice(&[16, 235, 81, 126, 128, 128]);
        assert_eq!(color(&f, 0, 0), [0, 0, 0]);
        assert_eq!(color(&f, 1, 0), [255, 255, 255]);
        f.bytes_mut().copy_from_slice(&[81, 81, 81, 81, 90, 240]);
        assert_eq!(color(&f, 1, 1), [254, 0, 0]);
    }

    #[test]
    fn pictures_are_png_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.png");
        let mut p = Picture::new(3, 2);
        p.put(2, 1, [1, 2, 3]);
        p.save(&path).unwrap();
        let decoder = png::Decoder::new(std::io::BufReader::new(File::open(&path).unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut rgb).unwrap();
        assert_eq!(rgb, p.rgb);
    }
}
