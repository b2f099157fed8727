"""Make a vibration of a few hundredths of a pixel visible, and say how far it grew.

    python vibration.py clip.npy --fps 600       high-speed footage as an array (T, H, W, 3) or (T, H, W)
    python vibration.py clip.mp4 out.mp4 --fps 600    the same as a file, tagged with its playback rate or not
    python vibration.py                          a made-up bar that vibrates at 82 Hz

Only rates above twice the vibration can show it: 82 Hz needs more than 164 frames a second. Slow-motion footage is
often tagged with the rate at which it plays (30); --fps is the rate at which it was captured.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import numpy.typing as npt

import jnd


def made_up_bar(hz: float, pixels: float, fps: float, frames: int) -> npt.NDArray[np.uint8]:
    """A dark vertical bar with soft edges on gray, moved sideways by ``pixels`` at ``hz``."""
    x = np.arange(160)[None, None, :]
    t = np.arange(frames)[:, None, None]
    centre = 80 + pixels * np.sin(2 * np.pi * hz * t / fps)
    bar = 170 - 90 * np.exp(-(((x - centre) / 9.0) ** 2))
    noise = np.random.default_rng(3).normal(0, 0.7, (frames, 96, 160))
    clip: npt.NDArray[np.uint8] = np.clip(np.rint(bar + noise), 0, 255).astype(np.uint8)
    return clip


def sway(clip: npt.NDArray[np.uint8], hz: float, fps: float) -> float:
    """Amplitude in pixels of the bar's movement at ``hz``: its edges' brightness over their slope."""
    rows = clip.reshape(len(clip), -1, clip.shape[2]).mean(1)
    slope = np.gradient(rows.mean(0))
    shift = -((rows - rows.mean(0)) @ slope) / (slope @ slope)
    t = np.arange(len(clip)) / fps
    return float(2 * np.abs(np.mean(shift * np.exp(-2j * np.pi * hz * t))))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", help="clip.npy or a video file; nothing for a made-up bar")
    parser.add_argument("result", nargs="?", help="where to put the magnified clip")
    parser.add_argument("--fps", default="600", help="rate at which it was captured")
    parser.add_argument("--band", nargs=2, type=float, default=(72, 92), metavar=("LOW", "HIGH"), help="Hz")
    parser.add_argument("--alpha", type=float, default=50.0, help="largest gain")
    args = parser.parse_args()
    settings = jnd.Settings("vibration", band=tuple(args.band), alpha=args.alpha)

    if args.source and not args.source.endswith(".npy"):
        report = jnd.magnify_file(
            args.source, args.result or "vibration.mp4", preset=settings, capture_fps=args.fps, overwrite=True
        )
        print(report)
        return 0
    if args.source:
        clip = np.load(args.source)
        out = jnd.magnify(clip, fps=args.fps, preset=settings)
        np.save(args.result or "vibration.npy", out)
        return 0

    hz, fps = 82.0, float(args.fps)
    # 300 frames at 600 frames a second: 82 Hz is the transform's bin 41, so that its gain of one half is exact.
    clip = made_up_bar(hz, 0.05, fps, 300)
    print(settings.plan(clip.shape, fps=fps))
    out = jnd.magnify(clip, fps=fps, preset=settings)
    before, after = sway(clip, hz, fps), sway(out, hz, fps)
    # The filter keeps one of a tone's two frequencies: half of it, times the gain, is added to what was there.
    want = 1 + args.alpha / 2
    print(f"the bar sways by {before:.3f} pixels before and {after:.3f} after: {after / before:.1f} times")
    print(f"predicted for detail of this size: up to {want:.0f} times")
    return 0 if 0.5 * want < after / before < 1.1 * want else 1


if __name__ == "__main__":
    sys.exit(main())
