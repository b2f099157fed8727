"""Make a pulse visible, and read the heart rate from it.

    python pulse.py 0                     the first webcam
    python pulse.py face.mp4              a file
    python pulse.py                       a made-up face whose heart rate is known

Webcams and files are read with OpenCV (pip install opencv-python); the made-up face needs NumPy alone. The magnified
picture is shown in a window where OpenCV is there and --show is given, and kept as an array with --save clip.npy.

The person should sit still in steady light. Frames are magnified as they come: a causal band-pass on a coarse copy of
the picture, so that what is read is the average colour of patches of skin. This is a demonstration, not a medical device.
"""

from __future__ import annotations

import argparse
import collections
import sys
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

import jnd

Frame = Any


def made_up_face(bpm: float, seconds: float, fps: float) -> Iterator[Frame]:
    """A skin-coloured oval that flushes by a fifth of a level, under camera noise of one level."""
    rng = np.random.default_rng(7)
    y, x = np.mgrid[:120, :160]
    face = ((x - 80) / 45.0) ** 2 + ((y - 60) / 55.0) ** 2 < 1
    still = np.where(face[..., None], (190.0, 140.0, 120.0), (60.0, 70.0, 80.0))
    flush = face[..., None] * np.array((0.1, 0.2, 0.1))
    for t in range(round(seconds * fps)):
        beat = np.sin(2 * np.pi * bpm / 60 * t / fps)
        noisy = still + beat * flush + rng.normal(0, 1, still.shape)
        yield np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


def camera(source: str) -> tuple[float, Iterator[Frame]]:
    """Rate and frames (B, G, R) of a webcam or file."""
    try:
        import cv2
    except ImportError:
        sys.exit("reading a webcam or a file here needs OpenCV: pip install opencv-python")
    capture = cv2.VideoCapture(int(source) if source.isdigit() else source)
    if not capture.isOpened():
        sys.exit(f"{source}: cannot be opened")

    def frames() -> Iterator[Frame]:
        while True:
            ok, frame = capture.read()
            if not ok:
                return
            yield frame

    return capture.get(cv2.CAP_PROP_FPS) or 30.0, frames()


def heart_rate(signal: list[float], fps: float, low: float, high: float) -> tuple[float, float]:
    """The strongest frequency of a signal between two limits, in beats a minute, and its share of the band's power."""
    x = np.asarray(signal) - np.mean(signal)
    x = x * np.hanning(len(x))
    power = np.abs(np.fft.rfft(x, 16 * len(x))) ** 2
    bpm = np.fft.rfftfreq(16 * len(x), 1 / fps) * 60
    band = (bpm >= low) & (bpm <= high)
    at = int(np.argmax(np.where(band, power, 0)))
    near = band & (np.abs(bpm - bpm[at]) < 9)
    return float(bpm[at]), float(power[near].sum() / power[band].sum())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", help="webcam number or file; nothing for a made-up face")
    parser.add_argument("--band", nargs=2, type=float, default=(45, 180), metavar=("LOW", "HIGH"), help="beats a minute")
    parser.add_argument("--alpha", type=float, default=60.0, help="gain")
    parser.add_argument("--window", type=float, default=10.0, help="seconds that a reading looks back")
    parser.add_argument("--show", action="store_true", help="show the magnified picture")
    parser.add_argument("--save", metavar="NPY", help="keep the magnified clip")
    args = parser.parse_args()

    truth: float | None = None
    order: Literal["rgb", "bgr"]
    if args.source is None:
        truth, fps, order = 72.0, 30.0, "rgb"
        frames = made_up_face(truth, 20, fps)
    else:
        (fps, frames), order = camera(args.source), "bgr"

    low, high = args.band
    magnifier = jnd.Magnifier(
        fps=fps,
        pipeline="color",
        filter="butterworth",
        band=(low / 60, high / 60),
        alpha=args.alpha,
        level=4,
        chroma=1.0,
        channels=order,
    )
    signal: collections.deque[float] = collections.deque(maxlen=round(args.window * fps))
    kept = []
    bpm = share = 0.0
    for count, frame in enumerate(magnifier.stream(frames), 1):
        if count == 1:
            print(magnifier.plan)
        height, width = frame.shape[:2]
        middle = frame[height // 4 : 3 * height // 4, width // 3 : 2 * width // 3]
        # Green: blood absorbs it most.
        signal.append(float(middle[..., 1].mean()))
        if args.save:
            kept.append(frame)
        if args.show:
            import cv2

            cv2.imshow("jnd", frame if order == "bgr" else frame[..., ::-1])
            if cv2.waitKey(1) & 0xFF == ord("q"):
                break
        if count % round(fps) == 0 and len(signal) >= 4 * fps:
            bpm, share = heart_rate(list(signal), fps, low, high)
            print(f"{count / fps:6.0f} s   {bpm:5.1f} beats a minute   ({share:.0%} of the band's power)")
    if args.save:
        np.save(args.save, np.stack(kept))
    if truth is not None:
        print(f"the made-up face beats {truth:.0f} times a minute; read: {bpm:.1f}")
        return 0 if abs(bpm - truth) < 3 else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
