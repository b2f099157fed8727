"""What a new user does first, in an environment that holds NumPy and nothing else."""

import os
import pathlib
import sys
import tempfile

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

# A real face, where the clip is at hand: file to file, then its luma as an array.
here = pathlib.Path(__file__).resolve()
shared = [pathlib.Path(os.environ["JND_SHARED"])] if "JND_SHARED" in os.environ else [p / "shared" for p in here.parents]
face = next((p / "clips/face.mp4" for p in shared if (p / "clips/face.mp4").is_file()), None)
if face is None:
    print("face.mp4 is not here: skipped")
else:
    with tempfile.TemporaryDirectory() as folder:
        still = pathlib.Path(folder) / "face.y4m"
        # Alpha 0 decodes without changing a sample.
        print(jnd.magnify_file(face, still, alpha=0))
        data = still.read_bytes()
    head, _, rest = data.partition(b"\n")
    width, height = (int(next(v[1:] for v in head.split() if v[:1] == k)) for k in (b"W", b"H"))
    frames = np.frombuffer(rest, np.uint8).reshape(-1, 6 + width * height * 3 // 2)
    luma = frames[:, 6 : 6 + width * height].reshape(-1, height, width)
    out = jnd.magnify(luma, fps=30, preset="pulse")
    change = np.abs(out.astype(np.int16) - luma).mean()
    print(f"{len(luma)} frames of {width}x{height}: changed by {change:.2f} levels on average")
    assert len(luma) == 301 and 0.5 < change < 20
