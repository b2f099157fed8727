"""Scores of a clip."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Score(NamedTuple):
    """A final score of one pair of frames."""

    #: Index of the pair, from 0.
    frame: int
    #: Name of the metric.
    metric: str
    #: The score.
    value: float


class Scores(dict[str, Any]):
    """Scores of a clip: a plain dict in the shape of the JSON report, with two ways to look at it.

    ``{"frames": [{"frameNum": 0, "metrics": {name: value, ...}}, ...], "pooled_metrics": {name: {"min": ..., "max": ...,
    "mean": ..., "harmonic_mean": ...}}}``
    """

    #: What should be known of the clips: tags that differ, a decoder that is not exact.
    notes: tuple[str, ...]

    def __init__(self, report: dict[str, Any], notes: list[str] | tuple[str, ...] = ()) -> None:
        super().__init__(report)
        self.notes = tuple(notes)

    def metric(self, name: str) -> npt.NDArray[np.float64]:
        """One metric's scores as an array, a reported frame each; NaN where a frame has none."""
        if name not in self["pooled_metrics"]:
            known = ", ".join(self["pooled_metrics"])
            raise KeyError(f"there is no metric {name!r}; there are {known}")
        return np.array([f["metrics"].get(name, np.nan) for f in self["frames"]], np.float64)

    def to_frame(self) -> Any:
        """The scores as a pandas frame: a row for each reported frame, a column for each metric."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_frame needs pandas (pip install pandas); metric(name) works without") from None
        index = pandas.Index([f["frameNum"] for f in self["frames"]], name="frame")
        return pandas.DataFrame({name: self.metric(name) for name in self["pooled_metrics"]}, index=index)
