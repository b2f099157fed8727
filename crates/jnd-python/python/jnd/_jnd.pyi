from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from os import PathLike
from typing import Any, Literal, TypedDict, final, type_check_only

import numpy.typing as npt
from typing_extensions import Self, TypeAlias, Unpack

from ._scores import Score, Scores

__version__: str
__all__ = [
    "DeviceArray",
    "Magnifier",
    "Plan",
    "Preset",
    "Report",
    "Scorer",
    "Settings",
    "Stream",
    "__version__",
    "cli",
    "doctor",
    "magnify",
    "magnify_file",
    "presets",
    "score",
]

# Frames a second: a number, a fraction, "30000/1001" or (30000, 1001).
_Rate: TypeAlias = float | Fraction | str | tuple[int, int]
_Path: TypeAlias = str | PathLike[str]
# An array, or a DeviceArray for frames on a card.
_Result: TypeAlias = Any
_Progress: TypeAlias = bool | Callable[[int, int | None], object] | None
_Clip: TypeAlias = _Path | npt.NDArray[Any] | tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
_Frame: TypeAlias = npt.NDArray[Any] | tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
_Features: TypeAlias = str | Iterable[str | tuple[str, dict[str, Any]]] | dict[str, dict[str, Any] | None]

@type_check_only
class _Changes(TypedDict, total=False):
    pipeline: Literal["motion", "color"] | None
    filter: Literal["iir", "butterworth", "ideal"] | None
    alpha: float | None
    lambda_c: float | None
    r1: float | None
    r2: float | None
    band: tuple[float, float] | str | None
    level: int | None
    chroma: float | None
    exaggeration: float | None
    init: Literal["first", "zero"] | None
    capture_fps: _Rate | None

@final
class Settings:
    def __new__(cls, preset: str | Settings | None = None, **settings: Unpack[_Changes]) -> Self: ...
    def replace(self, **settings: Unpack[_Changes]) -> Settings: ...
    def plan(
        self, shape: Sequence[int], *, fps: _Rate, frames: int | None = None, depth: int = 8
    ) -> Plan: ...
    def as_dict(self) -> dict[str, Any]: ...
    @property
    def pipeline(self) -> Literal["motion", "color"]: ...
    @property
    def filter(self) -> Literal["iir", "butterworth", "ideal"]: ...
    @property
    def alpha(self) -> float: ...
    @property
    def lambda_c(self) -> float | None: ...
    @property
    def r1(self) -> float | None: ...
    @property
    def r2(self) -> float | None: ...
    @property
    def band(self) -> tuple[float, float] | None: ...
    @property
    def level(self) -> int | None: ...
    @property
    def chroma(self) -> float: ...
    @property
    def exaggeration(self) -> float | None: ...
    @property
    def init(self) -> Literal["first", "zero"] | None: ...
    @property
    def capture_fps(self) -> Fraction | None: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]: ...

@final
class Plan:
    @property
    def settings(self) -> Settings: ...
    @property
    def gains(self) -> tuple[float, ...]: ...
    @property
    def band_hz(self) -> tuple[float, float]: ...
    @property
    def band_bpm(self) -> tuple[float, float]: ...
    @property
    def bins_hz(self) -> tuple[float, ...]: ...
    @property
    def filter_fps(self) -> float: ...
    @property
    def precision(self) -> Literal["float32", "float64"]: ...
    @property
    def filter_bytes(self) -> int: ...
    @property
    def is_identity(self) -> bool: ...
    def __eq__(self, value: object, /) -> bool: ...

@final
class Preset:
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def settings(self) -> Settings: ...

@final
class DeviceArray:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Literal["uint8", "uint16"]: ...
    @property
    def device(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    def numpy(self) -> npt.NDArray[Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...

@final
class Magnifier:
    def __new__(
        cls,
        *,
        fps: _Rate,
        preset: str | Settings | None = None,
        shape: Sequence[int] | None = None,
        dtype: npt.DTypeLike | None = None,
        device: str = "auto",
        threads: int | None = None,
        channels: Literal["rgb", "bgr"] = "rgb",
        depth: int | None = None,
        **settings: Unpack[_Changes],
    ) -> Self: ...
    def push(self, frame: Any, out: _Result | None = None) -> _Result: ...
    def finish(self) -> list[_Result]: ...
    def reset(self) -> None: ...
    def stream(self, frames: Iterable[Any]) -> Stream: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def plan(self) -> Plan | None: ...
    @property
    def frames_seen(self) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...

@final
class Scorer:
    def __new__(
        cls,
        features: _Features,
        *,
        depth: int | None = None,
        subsample: int = 1,
        threads: int | None = None,
        device: str = "auto",
    ) -> Self: ...
    def push(self, ref: _Frame, dist: _Frame) -> list[Score]: ...
    def finish(self) -> list[Score]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...

@final
class Stream(Iterator[_Result]):
    def __iter__(self) -> Self: ...
    def __next__(self) -> _Result: ...

@final
class Report:
    @property
    def frames_in(self) -> int: ...
    @property
    def frames_out(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def decoder(self) -> str: ...
    @property
    def encoder(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def truncated(self) -> str | None: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def plan(self) -> Plan: ...

def magnify(
    frames: Any,
    *,
    fps: _Rate,
    preset: str | Settings | None = None,
    out: _Result | None = None,
    dtype: npt.DTypeLike | None = None,
    device: str = "auto",
    threads: int | None = None,
    channels: Literal["rgb", "bgr"] = "rgb",
    depth: int | None = None,
    memory: int | None = None,
    progress: _Progress = None,
    **settings: Unpack[_Changes],
) -> _Result: ...
def magnify_file(
    src: _Path,
    dst: _Path,
    *,
    preset: str | Settings | None = None,
    raw: str | None = None,
    start: float | None = None,
    end: float | None = None,
    drop_last: int = 0,
    overwrite: bool = False,
    codec: Literal["h264", "hevc", "ffv1", "vp9"] | None = None,
    crf: int | None = None,
    lossless: bool = False,
    pix_fmt: str | None = None,
    pad_even: bool = False,
    audio: bool = True,
    decoder: Literal["auto", "built-in", "ffmpeg"] = "auto",
    encoder: Literal["auto", "built-in", "ffmpeg"] = "auto",
    device: str = "auto",
    threads: int | None = None,
    memory: int | None = None,
    spool: _Path | None = None,
    progress: _Progress = None,
    **settings: Unpack[_Changes],
) -> Report: ...
def score(
    ref: _Clip,
    dist: _Clip,
    features: _Features,
    *,
    depth: int | None = None,
    subsample: int = 1,
    threads: int | None = None,
    device: str = "auto",
    progress: _Progress = None,
) -> Scores: ...
def presets() -> dict[str, Preset]: ...
def doctor() -> dict[str, str]: ...
def cli(args: Sequence[str]) -> int: ...
