"""What a new user does first, in an environment that holds NumPy and nothing else."""

import pathlib
import sys

import numpy as np

import jnd

print("jnd", jnd.__version__, "Python", sys.version.split()[0], "NumPy", np.__version__)
packages = sorted(p.name.split("-")[0] for p in pathlib.Path(np.__file__).parents[1].glob("*.dist-info"))
assert packages == ["jnd", "numpy", "pip", "setuptools"] or packages == ["jnd", "numpy", "pip"], packages

# A clip that flickers by one level.
t = np.arange(60)
clip = np.full((60, 120, 160, 3), 128, np.uint8)
clip[:, 30:90, 40:120] += (np.sin(2 * np.pi * t / 30) > 0).astype(np.uint8)[:, None, None, None]
out = jnd.magnify(clip, fps=30, preset="pulse", band=(0.5, 2))
assert out.shape == clip.shape and out.dtype == np.uint8
assert np.ptp(out[:, 60, 80].astype(int), 0).min() > 20
