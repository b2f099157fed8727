"""The exceptions of :mod:`jnd`.

All derive from :class:`Error`, and each also from the built-in exception that code without knowledge of ``jnd``
would expect, so that ``except ValueError`` keeps working. The text is the one that the ``jnd`` command prints: it
names the value, what is legal, and what to do.
"""


class Error(Exception):
    """Base of every exception that ``jnd`` raises on its own."""


class SettingsError(Error, ValueError):
    """A parameter that is unknown, out of range, or that does not go with the others."""


class UnknownSettingError(SettingsError, TypeError):
    """A setting of a name that does not exist."""


class ArrayError(Error, ValueError):
    """An array of a shape, layout or size that cannot be used."""


class ArrayTypeError(ArrayError, TypeError):
    """An array of samples that cannot be used: only ``uint8`` and ``uint16`` are video."""


class VideoError(Error, OSError):
    """A file that cannot be read, decoded, encoded or written."""


class VideoNotFoundError(VideoError, FileNotFoundError):
    """A file that is not there."""


class TruncatedError(VideoError):
    """A file that ends in the middle; what was finished before is kept."""


class DeviceError(Error, RuntimeError):
    """A device that is not there, not usable, or out of memory; the text says why."""


class MemoryLimitError(Error, MemoryError):
    """More memory needed than allowed; the text names both figures."""


class StateError(Error, RuntimeError):
    """A call at a time when it has no meaning, such as ``push`` after ``finish`` or after a fork."""


__all__ = [
    "ArrayError",
    "ArrayTypeError",
    "DeviceError",
    "Error",
    "MemoryLimitError",
    "SettingsError",
    "StateError",
    "TruncatedError",
    "UnknownSettingError",
    "VideoError",
    "VideoNotFoundError",
]
