"""Progress of long calls."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ._errors import SettingsError

Report = Callable[[int, "int | None"], Any]


def reporter(argument: Any) -> tuple[Report, Callable[[], None] | None] | None:
    """What to call with the frames done and the frames in all, and what to call at the end."""
    if argument is None or argument is False:
        return None
    if argument is not True:
        if not callable(argument):
            raise SettingsError("progress must be True (a bar of tqdm) or a function of frames done and frames in all")
        return argument, None
    try:
        tqdm: Any = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        raise SettingsError("progress=True needs tqdm (pip install tqdm); a function of your own works without") from None
    bar = tqdm(unit="frame")

    def report(done: int, total: int | None) -> None:
        if bar.total != total:
            bar.total = total
        bar.update(done - bar.n)

    return report, bar.close
