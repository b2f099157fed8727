//! What this card can do: the rates that everything else is measured against.

use crate::{Context, DeviceBuffer, Event, Module, PinnedBuffer, Priority, Result, Stream, Transfer, arg};

/// The kernels of this crate, which move memory and test a device; see `scripts/kernels`. Empty in a build without the
/// driver.
#[cfg(feature = "driver")]
pub static KERNELS: &[u8] = include_bytes!("kernels.fatbin");
/// The kernels of this crate: none in a build without the driver.
#[cfg(not(feature = "driver"))]
pub static KERNELS: &[u8] = &[];

/// Rates measured on a device, in GB/s (10^9 bytes a second).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceilings {
    /// Device memory, reading and writing: bytes read plus bytes written.
    pub copy: f64,
    /// Device memory, reading alone.
    pub read: f64,
    /// Device memory, writing alone.
    pub write: f64,
    /// The bus, host to device, pinned memory.
    pub up: f64,
    /// The bus, device to host, pinned memory.
    pub down: f64,
    /// The bus in both directions at once: the rate of each.
    pub both: f64,
}

/// Runs of each measurement; the median is reported.
const RUNS: usize = 7;

fn median(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v[v.len() / 2]
}

/// Measures the ceilings: about `bytes` of device memory and an eighth of it of pinned memory are used for a moment.
/// The buffers should be several times the level-2 cache; 1 GB takes about 0.1 s.
///
/// # Errors
/// Too little memory, or the device failed.
pub fn ceilings(context: &Context, bytes: usize) -> Result<Ceilings> {
    let module = Module::load(context, "jnd-cuda", KERNELS)?;
    let (copy, read, write) =
        (module.kernel("cuda_copy16")?, module.kernel("cuda_read16")?, module.kernel("cuda_write16")?);
    let half = (bytes / 2).max(4096) / 256 * 256;
    let (a, b) = (DeviceBuffer::new(context, half)?, DeviceBuffer::new(context, half)?);
    let sink = DeviceBuffer::new(context, 4)?;
    let (main, other) = (Stream::new(context, Priority::Normal)?, Stream::new(context, Priority::Normal)?);
    let (start, end) = (Event::timed(context)?, Event::timed(context)?);
    let n = (half / 16) as u64;
    let blocks = context.info().multiprocessors.max(1) * 4;
    let (pa, pb, ps, value) = (a.ptr(), b.ptr(), sink.ptr(), 0x1234_5678u32);
    // SAFETY (all three launches): the parameters are those of ceiling.cu, and both buffers hold n vectors of 16 bytes.
    let launch = |what: usize| -> Result<()> {
        let (grid, whole) = ((blocks, 1, 1), (n.div_ceil(1024) as u32, 1, 1));
        match what {
            // SAFETY: as above.
            0 => unsafe { copy.launch(&main, whole, (256, 1, 1), 0, &mut [arg(&pb), arg(&pa), arg(&n)]) },
            // SAFETY: as above; the sink holds one word.
            1 => unsafe { read.launch(&main, grid, (512, 1, 1), 0, &mut [arg(&ps), arg(&pa), arg(&n)]) },
            // SAFETY: as above.
            _ => unsafe { write.launch(&main, grid, (512, 1, 1), 0, &mut [arg(&pb), arg(&value), arg(&n)]) },
        }
    };
    // SAFETY: both buffers hold `half` bytes.
    unsafe {
        main.fill(a.ptr(), 0x5A, half)?;
        main.fill(b.ptr(), 0xA5, half)?;
    }
    let mut rates = [0.0; 3];
    for (what, rate) in rates.iter_mut().enumerate() {
        launch(what)?;
        let mut times = Vec::new();
        for _ in 0..RUNS {
            main.record(&start)?;
            launch(what)?;
            main.record(&end)?;
            end.synchronize()?;
            times.push(end.elapsed_ms(&start)?);
        }
        let moved = if what == 0 { 2 * half } else { half };
        *rate = moved as f64 / median(times).max(1e-6) / 1e6;
    }
    let host = half / 4;
    let up = PinnedBuffer::new(context, host, Transfer::Upload)?;
    let down = PinnedBuffer::new(context, host, Transfer::Download)?;
    let joined = Event::new(context)?;
    let mut bus = [0.0; 3];
    for (what, rate) in bus.iter_mut().enumerate() {
        let mut times = Vec::new();
        for run in 0..=RUNS {
            main.record(&start)?;
            // SAFETY: all four buffers hold `host` bytes and stay alive; the stream is waited for below.
            unsafe {
                match what {
                    0 => main.upload(a.ptr(), up.as_ptr(), host)?,
                    1 => main.download(down.as_ptr(), b.ptr(), host)?,
                    _ => {
                        other.wait(&start)?;
                        other.download(down.as_ptr(), b.ptr(), host)?;
                        main.upload(a.ptr(), up.as_ptr(), host)?;
                        other.record(&joined)?;
                        main.wait(&joined)?;
                    }
                }
            }
            main.record(&end)?;
            end.synchronize()?;
            if run > 0 {
                times.push(end.elapsed_ms(&start)?);
            }
        }
        *rate = host as f64 / median(times).max(1e-6) / 1e6;
    }
    Ok(Ceilings { copy: rates[0], read: rates[1], write: rates[2], up: bus[0], down: bus[1], both: bus[2] })
}
