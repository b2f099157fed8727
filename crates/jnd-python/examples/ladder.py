"""Score a ladder of encodes against their source, and plot it.

    python ladder.py source.y4m 500k.mp4 1M.mp4 2M.mp4      files
    python ladder.py                                        a made-up clip, coarser and coarser
    --plot ladder.png                                       a picture (pip install matplotlib)

What is shown is speed_temporal, SpEED on the differences of frames: how far the flow of information in a clip departs
from its source's. 0 is no departure. motion is a property of the source alone and says how much moves there.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import jnd

Clip = npt.NDArray[np.uint8]


def made_up_source(frames: int = 24, height: int = 240, width: int = 320) -> Clip:
    """Luma of a textured field that drifts."""
    rng = np.random.default_rng(5)
    field = rng.normal(0, 1, (height + 2 * frames, width + 2 * frames))
    # Smooth it a little, so that it has detail of every size.
    for axis in (0, 1):
        field = field + 0.7 * (np.roll(field, 1, axis) + np.roll(field, -1, axis)) + 0.4 * np.roll(field, 2, axis)
    field = 128 + 18 * field
    clip = np.stack([field[t : t + height, 2 * t : 2 * t + width] for t in range(frames)])
    return np.clip(np.rint(clip), 0, 255).astype(np.uint8)


def coarser(clip: Clip, step: int) -> Clip:
    """What a cheap encoder does: every 8 x 8 block keeps its mean, and its detail in steps."""
    t, h, w = clip.shape
    blocks = clip.reshape(t, h // 8, 8, w // 8, 8).astype(np.float64)
    mean = blocks.mean((2, 4), keepdims=True)
    kept = mean + step * np.trunc((blocks - mean) / step)
    out: Clip = np.clip(np.rint(kept), 0, 255).astype(np.uint8).reshape(t, h, w)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", help="the source; nothing for a made-up clip")
    parser.add_argument("encodes", nargs="*", help="its encodes")
    parser.add_argument("--plot", metavar="PNG", help="write a picture")
    args = parser.parse_args()

    ladder: dict[str, Any] = {}
    if args.source:
        source: Any = args.source
        ladder = {pathlib.Path(e).name: e for e in args.encodes}
        if not ladder:
            parser.error("give the encodes, too")
    else:
        source = made_up_source()
        ladder = {f"steps of {step}": coarser(source, step) for step in (4, 12, 24, 48)}

    motion = jnd.score(source, source, "motion")["pooled_metrics"]["integer_motion2"]["mean"]
    print(f"motion of the source: {motion:.2f}")
    curves = {}
    for name, encode in ladder.items():
        scores = jnd.score(source, encode, "speed_temporal")
        pooled = scores["pooled_metrics"]["speed_temporal"]
        curves[name] = scores.metric("speed_temporal")
        print(f"{name:>16}  speed_temporal {pooled['mean']:8.3f}  (worst frame {pooled['max']:.3f})")
        for note in scores.notes:
            print(f"{'':>16}  {note}")

    if args.plot:
        try:
            from matplotlib import pyplot
        except ImportError:
            sys.exit("--plot needs matplotlib: pip install matplotlib")
        figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
        for name, values in curves.items():
            axes.plot(values, label=name)
        axes.set(xlabel="frame", ylabel="speed_temporal", title="departure from the source")
        axes.legend()
        figure.savefig(args.plot)
        print(f"wrote {args.plot}")
    if args.source:
        return 0
    # The coarser the encode, the further from its source.
    means = [float(v.mean()) for v in curves.values()]
    return 0 if means == sorted(means) and means[0] < means[-1] else 1


if __name__ == "__main__":
    sys.exit(main())
