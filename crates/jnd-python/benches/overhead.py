"""What the Python face costs: python overhead.py [FILE.bgr24 WIDTH HEIGHT]

`cargo bench -p jnd-magnify -- raw FILE WIDTH HEIGHT bgr24` times the Rust call on the same frames.
"""

import resource
import sys
import time

import numpy as np

import jnd


def median(run, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times[1:]))


def main():
    # Alpha 0 copies the frame and computes nothing: what is left is the face, and 12 KiB moved.
    frame = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    out = np.zeros_like(frame)
    for name, settings in [("alpha 0", {"alpha": 0}), ("motion", {})]:
        for threads in (1, 2):
            m = jnd.Magnifier(fps=30, threads=threads, **settings)

            def thousand(m=m):
                for _ in range(1000):
                    m.push(frame, out)

            print(f"push 64x64, {name}, {threads} threads: {median(thousand, 12) * 1000:.2f} us")
    if len(sys.argv) < 4:
        return
    width, height = int(sys.argv[2]), int(sys.argv[3])
    clip = np.fromfile(sys.argv[1], np.uint8).reshape(-1, height, width, 3)
    out = np.full(clip.shape, 1, np.uint8)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for threads in (1, 2):
        seconds = median(lambda: jnd.magnify(clip, fps=30, channels="bgr", out=out, threads=threads), 8)
        print(f"magnify {len(clip)} frames of {width}x{height}, {threads} threads: {seconds:.4f} s")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"peak memory grew by {grown:.1f} MiB; the clip takes {clip.nbytes / 2**20:.1f} MiB")
    # Alpha 0 again: per frame, the loop around the engine and a copy.
    small = clip[:, :16, :16]
    seconds = median(lambda: jnd.magnify(small, fps=30, alpha=0, threads=1), 12)
    print(f"the same number of frames of 16x16, alpha 0: {seconds * 1e6:.0f} us in all")


if __name__ == "__main__":
    main()
