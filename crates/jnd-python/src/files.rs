//! `magnify_file`: from file to file.

use std::path::PathBuf;
use std::sync::Arc;

use jnd::cuda::Device;
use jnd::video::{
    Codec, CreateOptions, DecoderChoice, EncoderChoice, Input, OpenOptions, Output, PixelFormat,
};
use jnd::{DeviceChoice, Event, MagnifyFile, Spool};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments;
use crate::card;
use crate::errors::{from_jnd, settings_error};
use crate::job::{self, Shared};
use crate::plan::PyPlan;
use crate::settings::resolve;
use crate::watch::{Progress, Watch};

/// What became of a job from file to file.
#[pyclass(frozen, module = "jnd", name = "Report")]
pub(crate) struct PyReport {
    /// Frames read.
    #[pyo3(get)]
    frames_in: u64,
    /// Frames written.
    #[pyo3(get)]
    frames_out: u64,
    /// How long it took.
    #[pyo3(get)]
    seconds: f64,
    /// What decoded.
    #[pyo3(get)]
    decoder: String,
    /// What encoded.
    #[pyo3(get)]
    encoder: String,
    /// Where it was computed, in words.
    #[pyo3(get)]
    device: String,
    /// Where the input was cut off: the message. The output holds all its whole frames. Else ``None``.
    #[pyo3(get)]
    truncated: Option<String>,
    notes: Vec<String>,
    plan: jnd::magnify::Plan,
}

#[pymethods]
impl PyReport {
    /// What the settings came to.
    #[getter]
    fn plan(&self) -> PyPlan {
        PyPlan { inner: self.plan.clone() }
    }

    /// What should be known of the clip, in sentences.
    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.notes)
    }

    fn __repr__(&self) -> String {
        format!(
            "Report({} frames in, {} out, {:.2} s, decoded by {}, encoded by {}{})",
            self.frames_in,
            self.frames_out,
            self.seconds,
            self.decoder,
            self.encoder,
            if self.truncated.is_some() { ", input cut off" } else { "" }
        )
    }
}

fn by_name<T>(
    py: Python<'_>,
    what: &str,
    name: Option<&str>,
    legal: &str,
    find: impl Fn(&str) -> Option<T>,
) -> PyResult<Option<T>> {
    name.map(|n| find(n).ok_or_else(|| settings_error(py, format!("{what} is {n:?}, but must be {legal}"))))
        .transpose()
}

/// Magnify a video file.
///
/// Frames are magnified in the format they have (Y, Cb and Cr as stored, at their own depth); reading, computing and
/// writing overlap, and memory does not depend on the length of the clip. Sound, tags and timestamps are carried over.
///
/// Parameters
/// ----------
/// src, dst : path
///     Video to read, and to write; the extension of ``dst`` says the format.
/// preset : str or Settings, optional
///     As in ``magnify``.
/// raw : str, optional
///     Take ``src`` as raw frames of this size, format and rate: ``"640x480:yuv420p:25"``.
/// start, end : float, optional
///     Seconds at which to start and to end (a frame at exactly ``end`` is left out).
/// drop_last : int
///     Leave out this many frames at the end of a clip that has more.
/// overwrite : bool
///     Replace ``dst`` if it exists.
/// codec : {"h264", "hevc", "ffv1", "vp9"}, optional
///     By default what the extension says.
/// crf : int, optional
///     Quality on the encoder's own scale, lower is better.
/// lossless : bool
///     Keep every sample as it is: FFV1, for .mkv.
/// pix_fmt : str, optional
///     Pixel format of the output, such as ``"yuv420p"``. By default the input's.
/// pad_even : bool
///     Repeat the last column or row where the codec needs even sides.
/// audio : bool
///     Carry the sound over.
/// decoder, encoder : {"auto", "built-in", "ffmpeg"}
///     What decodes and encodes: ffmpeg where it is there, else what is built in.
/// device, threads, progress
///     As in ``magnify``.
/// memory : int, optional
///     Most bytes for the ideal filter, above which the picture is worked on in strips (2 GiB by default).
/// spool : path, optional
///     Directory for frames that are needed twice and cannot be read twice.
/// **settings
///     Changes to the preset; see ``Settings``.
///
/// Returns
/// -------
/// Report
///     Frames in and out, what decoded and encoded, what the settings came to, and notes on the clip.
///
/// Raises
/// ------
/// VideoError, VideoNotFoundError, SettingsError, DeviceError, MemoryLimitError
///     Nothing is left at ``dst`` then; a file that was there before stays as it was.
/// KeyboardInterrupt
///     Within a second of Ctrl-C; nothing is left at ``dst``.
///
/// Warns
/// -----
/// RuntimeWarning
///     Where the input is cut off; the output holds its whole frames. Where the decoder had to patch up damaged pictures.
#[pyfunction]
#[pyo3(signature = (src, dst, *, preset=None, raw=None, start=None, end=None, drop_last=0, overwrite=false, codec=None, crf=None, lossless=false, pix_fmt=None, pad_even=false, audio=true, decoder="auto", encoder="auto", device="auto", threads=None, memory=None, spool=None, progress=None, **settings))]
pub(crate) fn magnify_file(
    py: Python<'_>,
    src: PathBuf,
    dst: PathBuf,
    preset: Option<&Bound<'_, PyAny>>,
    raw: Option<&str>,
    start: Option<f64>,
    end: Option<f64>,
    drop_last: usize,
    overwrite: bool,
    codec: Option<&str>,
    crf: Option<u8>,
    lossless: bool,
    pix_fmt: Option<&str>,
    pad_even: bool,
    audio: bool,
    decoder: &str,
    encoder: &str,
    device: &str,
    threads: Option<&Bound<'_, PyAny>>,
    memory: Option<u64>,
    spool: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyReport> {
    let settings = resolve(py, preset, settings)?;
    let device = arguments::device(py, device)?;
    let who = "\"auto\", \"built-in\" or \"ffmpeg\"";
    let mut job = MagnifyFile::new(Input::Path(src), Output::Path(dst), settings);
    let raw = raw.map(jnd_cli::raw_geometry).transpose().map_err(|e| settings_error(py, e))?;
    job.open = OpenOptions {
        raw,
        start,
        end,
        decoder: by_name(py, "decoder", Some(decoder), who, |n| match n {
            "auto" => Some(DecoderChoice::Auto),
            "built-in" => Some(DecoderChoice::BuiltIn),
            "ffmpeg" => Some(DecoderChoice::Ffmpeg),
            _ => None,
        })?
        .unwrap_or_default(),
    };
    let codecs = Codec::ALL.map(|c| format!("\"{}\"", c.name())).join(", ");
    job.create = CreateOptions {
        codec: by_name(py, "codec", codec, &format!("one of {codecs}"), Codec::from_name)?,
        crf,
        lossless,
        pix_fmt: by_name(
            py,
            "pix_fmt",
            pix_fmt,
            "a pixel format such as \"yuv420p\", \"yuv444p10le\" or \"gray\"",
            PixelFormat::from_name,
        )?,
        pad_even,
        overwrite,
        no_audio: !audio,
        encoder: by_name(py, "encoder", Some(encoder), who, |n| match n {
            "auto" => Some(EncoderChoice::Auto),
            "built-in" => Some(EncoderChoice::BuiltIn),
            "ffmpeg" => Some(EncoderChoice::Ffmpeg),
            _ => None,
        })?
        .unwrap_or_default(),
        ..CreateOptions::default()
    };
    job.drop_last = drop_last;
    job.device = device;
    // A card that this process has opened already; where it cannot be opened the job says why.
    job.context = match device {
        DeviceChoice::Cpu => None,
        DeviceChoice::Auto => py.detach(|| card::context(Device(0)).ok()),
        DeviceChoice::Cuda(n) => py.detach(|| card::context(Device(n)).ok()),
    };
    job.threads = arguments::threads(threads)?;
    job.memory = memory.unwrap_or(job.memory);
    if spool.is_some() {
        job.spool = Spool::Directory { path: spool, limit: jnd::SPOOL_LIMIT };
    }
    let shared = Arc::new(Shared::default());
    job.stop = Some(Arc::clone(&shared.stop));
    let watch = Watch::new(Progress::new(py, progress)?, None);
    let work = move |shared: &Shared| {
        jnd::magnify_file(&job, &mut |event| match event {
            Event::Note(note) => shared.note(note),
            // What has been seen is a better total than what was expected, once it is more.
            Event::Progress(p) => {
                let total = p.total.map(|n| n.max(p.done));
                let before = u64::from(p.pass - 1) * total.unwrap_or(0);
                shared.progress(before + p.done, total.map(|n| u64::from(p.passes) * n));
            }
            _ => {}
        })
    };
    let report = py.detach(|| job::run(&shared, watch, work))?.map_err(|e| from_jnd(py, e))?;
    let cut = report.truncated.as_ref().map(|cut| format!("{cut}; the output holds all of them"));
    for warning in report.warnings.into_iter().chain(cut) {
        let text = std::ffi::CString::new(warning)?;
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)?;
    }
    let notes = shared.notes();
    Ok(PyReport {
        frames_in: report.frames_in,
        frames_out: report.frames_out,
        seconds: report.elapsed.as_secs_f64(),
        decoder: report.applied.decoder,
        encoder: report.applied.encoder,
        device: report.applied.device,
        truncated: report.truncated,
        notes,
        plan: report.applied.plan,
    })
}
