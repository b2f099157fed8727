"""Video on both sides of the just-noticeable difference.

``jnd`` magnifies changes in video that are too small to see, and scores the ones that viewers notice.
"""

from ._errors import (
    ArrayError,
    ArrayTypeError,
    DeviceError,
    Error,
    MemoryLimitError,
    SettingsError,
    StateError,
    TruncatedError,
    UnknownSettingError,
    VideoError,
    VideoNotFoundError,
)
from ._jnd import (
    DeviceArray,
    Magnifier,
    Plan,
    Preset,
    Report,
    Scorer,
    Settings,
    Stream,
    __version__,
    doctor,
    magnify,
    magnify_file,
    presets,
    score,
)
from ._scores import Score, Scores

__all__ = [
    "ArrayError",
    "ArrayTypeError",
    "DeviceArray",
    "DeviceError",
    "Error",
    "Magnifier",
    "MemoryLimitError",
    "Plan",
    "Preset",
    "Report",
    "Score",
    "Scorer",
    "Scores",
    "Settings",
    "SettingsError",
    "StateError",
    "Stream",
    "TruncatedError",
    "UnknownSettingError",
    "VideoError",
    "VideoNotFoundError",
    "__version__",
    "doctor",
    "magnify",
    "magnify_file",
    "presets",
    "score",
]
