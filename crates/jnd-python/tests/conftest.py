"""Where the reference arrays are, and made-up clips."""

import os
import pathlib

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def shared_folder():
    """The folder of reference data, by JND_SHARED or beside the checkout; None where there is none."""
    if os.environ.get("JND_SHARED"):
        return pathlib.Path(os.environ["JND_SHARED"])
    for parent in ROOT.parents:
        if (parent / "shared" / "reference").is_dir():
            return parent / "shared"
    return None


def moving_clip(frames, height, width, *, channels=3, dtype=np.uint8, seed=0, swing=3.0):
    """Smooth blobs that sway and flicker a little, in the middle of the range, with noise."""
    rng = np.random.default_rng(seed)
    top = np.iinfo(dtype).max
    y, x = np.mgrid[:height, :width].astype(np.float64)
    clip = np.empty((frames, height, width, channels))
    for c in range(channels):
        fx, fy, px, py = rng.uniform(0.05, 0.5, 2).tolist() + rng.uniform(0, 6, 2).tolist()
        rate, phase = rng.uniform(0.02, 0.2), rng.uniform(0, 6)
        for t in range(frames):
            shift = 0.3 * np.sin(2 * np.pi * rate * t + phase)
            clip[t, ..., c] = np.sin(fx * (x + shift) + px) + np.sin(fy * (y - shift) + py)
    clip = 0.5 + 0.2 * clip + rng.normal(0, swing / 255, clip.shape)
    clip = np.clip(np.rint(clip * top), 0, top).astype(dtype)
    return clip if channels == 3 else clip[..., 0]


@pytest.fixture
def clip():
    """24 colour frames of 33 x 47."""
    return moving_clip(24, 33, 47)
