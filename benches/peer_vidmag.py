#!/usr/bin/env python3
"""Times vidmag (from PyPI) and jnd on the same arrays in the same run.

Neither is installed by this script:  pip install numpy vidmag  and  jnd's wheel (crates/jnd-python).

    benches/peer_vidmag.py CLIP.bgr WIDTH HEIGHT [FRAMES]

CLIP.bgr holds raw frames:  ffmpeg -i CLIP.mp4 -pix_fmt bgr24 -f rawvideo CLIP.bgr
"""

import gc
import importlib
import statistics
import sys
import time

import numpy as np


def timed(name, run, repeats):
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    print(f"{name:<24} {statistics.median(seconds):9.4f} s  ({min(seconds):.4f} to {max(seconds):.4f}, {repeats} runs)")
    return statistics.median(seconds)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    path, width, height = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    clip = np.fromfile(path, dtype=np.uint8).reshape(-1, height, width, 3)
    frames = int(sys.argv[4]) if len(sys.argv) > 4 else min(len(clip), 291)
    clip = np.ascontiguousarray(clip[:frames])
    print(f"{frames} frames of {width}x{height}, motion preset")

    out = np.empty_like(clip)
    copy = timed("copying the array", lambda: np.copyto(out, clip), 7)
    for name, repeats in (("jnd", 7), ("vidmag", 1)):
        gc.collect()
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            print(f"{name:<24} not installed ({error})")
            continue
        arguments = {"backend": "cpu"} if name == "vidmag" else {}
        seconds = timed(name, lambda: module.magnify(clip, preset="motion", fps=30.0, **arguments), repeats)
        print(f"{'':<24} {seconds / copy:9.1f} x the copy")
        if name == "jnd":
            seconds = timed("jnd, out= given", lambda: module.magnify(clip, preset="motion", fps=30.0, out=out), repeats)
            print(f"{'':<24} {seconds / copy:9.1f} x the copy")


if __name__ == "__main__":
    main()
