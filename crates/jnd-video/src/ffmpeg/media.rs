//! What `ffprobe` says of a file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use serde_json::Value;

use super::child::Running;
use super::{Ffmpeg, file_argument, formats};
use crate::matrix::quarter_turn;
use crate::{
    ChromaSiting, ColorRange, Error, FieldOrder, MediaInfo, MediaStream, Rational, Result, StreamInfo,
    StreamKind,
};

/// One stream that is not the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OtherStream {
    pub(crate) index: u64,
    pub(crate) kind: StreamKind,
    pub(crate) codec: String,
}

/// A file as `ffprobe` sees it, and how its pictures will be delivered.
pub(crate) struct Media {
    pub(super) tools: Arc<Ffmpeg>,
    pub(super) name: String,
    pub(super) container: String,
    /// Seconds on the file's clock at which it starts.
    pub(super) start: f64,
    pub(super) duration: Option<f64>,
    pub(super) picture: Option<Picture>,
    pub(crate) others: Vec<OtherStream>,
    pub(super) streams: Vec<MediaStream>,
}

/// The picture stream.
pub(super) struct Picture {
    pub(super) index: u64,
    pub(super) codec: String,
    pub(super) profile: Option<String>,
    pub(super) info: StreamInfo,
    pub(super) asked: String,
    /// The display matrix is no plain quarter turn: `ffmpeg` applies it while decoding.
    pub(super) turned_by_ffmpeg: bool,
    pub(super) frames_hint: Option<u64>,
    pub(super) notes: Vec<String>,
}

/// Number in a JSON field that may be a number or a string.
fn int<T: std::str::FromStr>(v: &Value) -> Option<T> {
    match v {
        Value::String(s) => s.parse().ok(),
        Value::Number(n) => n.to_string().parse().ok(),
        _ => None,
    }
}

/// `30000/1001`; `0/0` and the like are nothing.
fn rational(v: &Value, separator: char) -> Option<Rational> {
    let (a, b) = v.as_str()?.split_once(separator)?;
    Rational::new(a.parse().ok()?, b.parse().ok()?).ok()
}

/// A state of a file: its name, its length, when it was last written to.
type State = (PathBuf, u64, SystemTime);

fn state(path: &Path) -> Option<State> {
    let meta = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some((path.to_path_buf(), meta.len(), meta.modified().ok()?))
}

/// What `ffprobe` has said.
pub(super) struct Said {
    /// Its own version.
    pub(super) version: Option<String>,
    /// What it says of the file, or why it says nothing.
    json: Result<Value>,
    /// The file as it was before.
    state: Option<State>,
}

/// Asks `ffprobe` what a file holds. The error is that it could not be started.
pub(super) fn ask(ffprobe: &OsStr, path: &Path) -> Result<Said> {
    let (name, state) = (path.display().to_string(), state(path));
    let mut command = Command::new(ffprobe);
    command
        .args(["-v", "error", "-of", "json", "-show_program_version", "-show_format", "-show_streams"])
        .arg(file_argument(path));
    let (text, failure) = run_ffprobe(command, &name)?;
    let json = serde_json::from_slice::<Value>(&text)
        .map_err(|e| Error::broken(&name, format!("ffprobe's answer is no JSON: {e}")));
    let version = json.as_ref().ok().and_then(|j| j["program_version"]["version"].as_str());
    Ok(Said { version: version.map(str::to_owned), json: failure.map_or(json, Err), state })
}

/// The file that was asked about last: a job that reads it wants to know again when it copies its sound.
static LAST: Mutex<Option<(State, Arc<Media>)>> = Mutex::new(None);

impl Media {
    /// Asks `ffprobe`, unless it was asked about this file before and the file has not changed since.
    pub(crate) fn probe(tools: Arc<Ffmpeg>, path: &Path) -> Result<Arc<Self>> {
        let now = state(path);
        {
            let last = LAST.lock().unwrap_or_else(|e| e.into_inner());
            if let (Some(now), Some((then, media))) = (&now, &*last)
                && now == then
                && media.tools == tools
            {
                return Ok(media.clone());
            }
        }
        let said = ask(&tools.ffprobe.command, path);
        Self::understand(tools, path, said)
    }

    /// Understands what `ffprobe` has said just now.
    pub(super) fn understand(tools: Arc<Ffmpeg>, path: &Path, said: Result<Said>) -> Result<Arc<Self>> {
        let Said { json, state, .. } = said?;
        let media = Arc::new(Self::new(tools, path, json?)?);
        if let Some(state) = state {
            *LAST.lock().unwrap_or_else(|e| e.into_inner()) = Some((state, media.clone()));
        }
        Ok(media)
    }

    fn new(tools: Arc<Ffmpeg>, path: &Path, json: Value) -> Result<Self> {
        let name = path.display().to_string();
        let empty = Vec::new();
        let listed = json["streams"].as_array().unwrap_or(&empty);
        let mut media = Self {
            tools,
            container: json["format"]["format_name"].as_str().unwrap_or("unknown").to_owned(),
            start: int(&json["format"]["start_time"]).unwrap_or(0.0),
            duration: int(&json["format"]["duration"]),
            picture: None,
            others: Vec::new(),
            streams: Vec::new(),
            name,
        };
        let is_picture = |s: &Value| s["codec_type"] == "video" && s["disposition"]["attached_pic"] != 1;
        let chosen = listed.iter().find(|s| is_picture(s));
        for s in listed {
            let codec = s["codec_name"].as_str().unwrap_or("unknown").to_owned();
            let kind = match s["codec_type"].as_str() {
                Some("video") => StreamKind::Video,
                Some("audio") => StreamKind::Audio,
                Some("subtitle") => StreamKind::Subtitle,
                _ => StreamKind::Other,
            };
            if chosen.is_none_or(|c| !std::ptr::eq(c, s)) {
                let index = int(&s["index"]).unwrap_or(0);
                media.others.push(OtherStream { index, kind, codec: codec.clone() });
            }
            media.streams.push(MediaStream { kind, codec });
        }
        if let Some(s) = chosen {
            media.picture = Some(media.picture(s, path)?);
            let second = listed.iter().filter(|s| is_picture(s)).count() > 1;
            if let Some(p) = media.picture.as_mut().filter(|_| second) {
                p.notes.push("it has several picture streams; the first is taken".into());
            }
        }
        Ok(media)
    }

    fn picture(&self, s: &Value, path: &Path) -> Result<Picture> {
        let name = &self.name;
        let text = |key: &str| s[key].as_str();
        let codec = text("codec_name").unwrap_or("unknown").to_owned();
        let Some(pix_fmt) = text("pix_fmt") else {
            return Err(Error::unsupported(
                name,
                format!("a {codec} stream whose pictures ffmpeg cannot make out"),
                "either the file is cut off before its first picture, or this build of ffmpeg lacks the decoder",
            ));
        };
        let delivery = formats::delivery(pix_fmt).ok_or_else(|| {
            Error::unsupported(
                name,
                format!("the pixel format {pix_fmt}"),
                "convert it first, for example with `ffmpeg -i IN -pix_fmt yuv444p16le -c:v ffv1 OUT.mkv`",
            )
        })?;
        let time_base = rational(&s["time_base"], '/').unwrap_or(Rational::new(1, 90000)?);
        let average = rational(&s["avg_frame_rate"], '/');
        let base = rational(&s["r_frame_rate"], '/');
        let rate = average.or(base).unwrap_or(Rational::new(25, 1)?);
        let side = |key| int::<usize>(&s[key]).unwrap_or(0);
        let mut info = StreamInfo::new(delivery.format, side("width"), side("height"), rate)?;
        info.time_base = time_base;
        info.color.primaries = formats::primaries(text("color_primaries"));
        info.color.transfer = formats::transfer(text("color_transfer"));
        info.color.matrix = formats::matrix(text("color_space"));
        info.color.range = match text("color_range") {
            Some("tv" | "limited" | "mpeg") => ColorRange::Limited,
            Some("pc" | "full" | "jpeg") => ColorRange::Full,
            _ if delivery.full_range => ColorRange::Full,
            _ => ColorRange::Unspecified,
        };
        info.siting = match text("chroma_location") {
            Some("left") => ChromaSiting::Left,
            Some("center") => ChromaSiting::Center,
            Some("topleft") => ChromaSiting::TopLeft,
            _ => ChromaSiting::Unspecified,
        };
        // The second letter says which field is shown first.
        info.fields = match text("field_order") {
            Some("progressive") => FieldOrder::Progressive,
            Some("tt" | "bt") => FieldOrder::TopFirst,
            Some("bb" | "tb") => FieldOrder::BottomFirst,
            _ => FieldOrder::Unspecified,
        };
        info.pixel_aspect = rational(&s["sample_aspect_ratio"], ':');
        let matrix = display_matrix(s);
        let turn = matrix.map_or(Some(0), |m| quarter_turn(&m));
        info.rotation = turn.unwrap_or(0);

        let mut notes: Vec<String> = delivery.note.iter().map(|n| (*n).to_owned()).collect();
        if turn.is_none() {
            notes.push("its display matrix mirrors or turns the picture by no quarter turn; ffmpeg applied it to the pixels".into());
        }
        let index = int(&s["index"]).unwrap_or(0);
        // Containers seldom repeat what the first picture of such a stream carries.
        let hdr =
            has_hdr_metadata(s) || (info.color.transfer == PQ && self.first_picture_has_hdr(index, path));
        if hdr {
            notes.push("its mastering display and light level metadata are not carried over".into());
        }
        notes.extend(crate::source::interlace_note(&info));
        let mut frames_hint = int(&s["nb_frames"]).or_else(|| int(&s["tags"]["NUMBER_OF_FRAMES"]));
        // Only where the two rates differ can frames come at irregular times.
        if average.is_none() || average != base {
            let times = self.packet_times(index, path)?;
            frames_hint = Some(times.len() as u64);
            crate::source::regularity(&times, base, &mut info);
        }
        let frames_hint = frames_hint.or_else(|| {
            let seconds = int::<f64>(&s["duration"]).or(self.duration)?;
            Some((seconds * info.rate.as_f64()).round() as u64)
        });
        Ok(Picture {
            index,
            codec,
            profile: text("profile").filter(|p| *p != "unknown").map(str::to_owned),
            info,
            asked: delivery.name,
            turned_by_ffmpeg: turn.is_none(),
            frames_hint,
            notes,
        })
    }

    /// Whether the first picture carries mastering or light level metadata. No answer is no.
    fn first_picture_has_hdr(&self, index: u64, path: &Path) -> bool {
        let mut command = Command::new(&self.tools.ffprobe.command);
        command
            .args(["-v", "error", "-select_streams", &index.to_string(), "-read_intervals", "%+#1"])
            .args(["-show_entries", "frame=pts:side_data=side_data_type", "-of", "csv=p=0"])
            .arg(file_argument(path));
        run_ffprobe(command, &self.name)
            .is_ok_and(|(text, _)| is_hdr_metadata(&String::from_utf8_lossy(&text)))
    }

    /// The sorted timestamps of a stream's packets.
    fn packet_times(&self, index: u64, path: &Path) -> Result<Vec<i64>> {
        let mut command = Command::new(&self.tools.ffprobe.command);
        command
            .args(["-v", "error", "-select_streams", &index.to_string()])
            .args(["-show_entries", "packet=pts,flags", "-of", "csv=p=0"])
            .arg(file_argument(path));
        let (text, failure) = run_ffprobe(command, &self.name)?;
        failure.map_or(Ok(()), Err)?;
        let mut times: Vec<i64> = String::from_utf8_lossy(&text)
            .lines()
            .filter_map(|l| {
                let (pts, flags) = l.split_once(',')?;
                // Packets flagged D are there for decoding only; an edit list cuts them off.
                if flags.contains('D') { None } else { pts.parse().ok() }
            })
            .collect();
        times.sort_unstable();
        times.dedup();
        Ok(times)
    }

    /// The error of a file without pictures.
    pub(crate) fn no_video(&self) -> Error {
        let found = self.others.iter().map(|s| s.codec.as_str()).collect::<Vec<_>>().join(", ");
        let found = if found.is_empty() { String::new() } else { format!(" (only {found})") };
        Error::NoVideo { path: self.name.clone(), found }
    }

    /// What [`crate::probe`] hands out.
    pub(crate) fn describe(&self) -> Result<MediaInfo> {
        let p = self.picture.as_ref().ok_or_else(|| self.no_video())?;
        Ok(MediaInfo {
            container: self.container.clone(),
            video: p.info.clone(),
            codec: p.codec.clone(),
            profile: p.profile.clone(),
            streams: self.streams.clone(),
            duration: self.duration,
            frames_hint: p.frames_hint,
            decoder: format!("ffmpeg {} ({})", self.tools.ffmpeg.short(), p.codec),
            notes: p.notes.clone(),
        })
    }
}

/// What `ffprobe` writes, and the error that it ends with, where it does.
fn run_ffprobe(mut command: Command, name: &str) -> Result<(Vec<u8>, Option<Error>)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut running = Running::start(command, "ffprobe", name)?;
    let mut text = Vec::new();
    if let Some(mut out) = running.child().stdout.take() {
        std::io::Read::read_to_end(&mut out, &mut text).map_err(|e| Error::io(name, e))?;
    }
    let ended = running.wait()?;
    let failure = (!ended.status.success()).then(|| {
        let prefix = format!("file:{name}: ");
        let said: Vec<&str> = ended.lines.iter().map(|l| l.strip_prefix(&prefix).unwrap_or(l)).collect();
        Error::broken(name, said.join("; "))
    });
    Ok((text, failure))
}

fn display_matrix(s: &Value) -> Option<[i32; 9]> {
    let list = s["side_data_list"].as_array()?;
    let text = list.iter().find_map(|d| d["displaymatrix"].as_str())?;
    let mut m = [0; 9];
    // Three lines `00000000:   a  b  c`.
    let numbers = text.lines().filter_map(|l| l.split_once(':')).flat_map(|(_, l)| l.split_whitespace());
    let mut count = 0;
    for (slot, n) in m.iter_mut().zip(numbers) {
        *slot = n.parse().ok()?;
        count += 1;
    }
    (count == 9).then_some(m)
}

/// Code point of the transfer characteristics that HDR10 uses (SMPTE ST 2084).
const PQ: u8 = 16;

/// Whether this names one of the two kinds of side data that HDR10 adds.
fn is_hdr_metadata(name: &str) -> bool {
    name.contains("Mastering") || name.contains("light level")
}

fn has_hdr_metadata(s: &Value) -> bool {
    s["side_data_list"]
        .as_array()
        .is_some_and(|l| l.iter().any(|d| d["side_data_type"].as_str().is_some_and(is_hdr_metadata)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_read() {
        let v: Value = serde_json::from_str(
            r#"{"side_data_list":[{"side_data_type":"Display Matrix","displaymatrix":
            "\n00000000:            0      -65536           0\n00000001:        65536           0           0\n00000002:            0           0  1073741824\n"}]}"#,
        )
        .unwrap();
        assert_eq!(display_matrix(&v).and_then(|m| quarter_turn(&m)), Some(270));
        // Mirrored.
        assert_eq!(quarter_turn(&[-65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30]), None);
    }
}
