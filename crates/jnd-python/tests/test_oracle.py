"""Property tests against the Laplacian form in float64, and the reference arrays."""

import json
import pathlib

import numpy as np
import oracle
import pytest
from conftest import ROOT, moving_clip, shared_folder

import jnd

KINDS = {
    "motion_iir": ("motion", "iir", 0.1),
    "motion_butter": ("motion", "butterworth", 0.0),
    "motion_ideal": ("motion", "ideal", 0.0),
    "color_ideal": ("color", "ideal", 1.0),
}
NAMES = {
    "alpha": "alpha",
    "lambda_c": "lambda_c",
    "exaggeration_factor": "exaggeration",
    "level": "level",
    "r1": "r1",
    "r2": "r2",
    "sampling_rate": "capture_fps",
    "chrom_attenuation": "chroma",
}


def reference_runs():
    """Every stored run of the four pipelines: the synthetic ones always, those of real clips where they are."""
    folders = [ROOT / "crates/jnd-magnify/tests/data"]
    if shared_folder():
        folders.append(shared_folder() / "reference/magnify")
    for folder in folders:
        for path in sorted(folder.glob("*.npz")):
            kind = "_".join(path.stem.split("_")[:2])
            if kind in KINDS and path.stem != "stages":
                yield pytest.param(path, kind, id=f"{folder.name}-{path.stem}")
    if not shared_folder():
        skip = pytest.mark.skip(reason="no shared reference data (set JND_SHARED)")
        yield pytest.param(pathlib.Path(), "", marks=skip, id="real-clips")


def reference_settings(path, kind):
    with np.load(path) as run, np.load(path.with_name(f"input_{path.stem.rsplit('_', 1)[1]}.npz")) as clip:
        run = {k: run[k] for k in run.files}
        frames, fps = clip["frames"], float(clip["fps"])
    pipeline, filter, chroma = KINDS[kind]
    settings = {"pipeline": pipeline, "filter": filter, "chroma": chroma}
    params = json.loads(str(run["params"]))
    for theirs, ours in NAMES.items():
        if theirs in params:
            settings[ours] = params[theirs]
    if "fl" in params:
        settings["band"] = (params["fl"], params["fh"])
    if filter == "butterworth":
        settings["init"] = "zero"
    return run, frames, fps, settings


@pytest.mark.parametrize(("path", "kind"), list(reference_runs()))
def test_reference(path, kind):
    run, frames, fps, settings = reference_settings(path, kind)
    out = jnd.magnify(frames, fps=fps, channels="bgr", dtype="float32", **settings)
    assert out.dtype == np.float32 and out.shape == frames.shape
    bound = oracle.TOLERANCE * max(1.0, float(np.abs(run["out_f32"]).max()))
    assert np.abs(out[run["frame_index"]] - run["out_f32"]).max() <= bound
    if "trace_f32" in run:
        assert np.abs(out[:, ::8, ::8] - run["trace_f32"]).max() <= bound
    assert np.abs(out.mean((1, 2), dtype=np.float64) - run["mean_f64"]).max() <= bound
    # The integer result is the float one, clamped and rounded.
    whole = jnd.magnify(frames, fps=fps, channels="bgr", **settings)
    exact = np.rint(np.clip(out.astype(np.float64), 0, 1) * 255)
    assert np.abs(whole - exact).max() <= 1
    if "out_u8" in run:
        exact = oracle.magnify(frames, fps=fps, channels="bgr", **settings)
        assert_levels(whole, exact, 255)
        assert np.abs(whole.astype(int) - run["out_u8"]).max() <= 1


def assert_levels(levels, exact, top):
    """Integer samples are the exact value rounded, or one off where it lies near a tie."""
    scaled = np.clip(exact, 0, 1) * top
    off = levels != np.rint(scaled)
    slack = oracle.TOLERANCE * top * max(1.0, float(np.abs(exact).max()))
    near_tie = np.abs(np.abs(scaled - np.floor(scaled)) - 0.5) <= slack
    assert np.abs(levels.astype(np.int64) - np.rint(scaled).astype(np.int64)).max() <= max(1, round(2 * slack))
    assert not np.any(off & ~near_tie)


def random_case(seed):
    """A clip and settings, drawn from everything that is legal."""
    rng = np.random.default_rng(seed)
    height, width = (int(v) for v in rng.integers(1, 70, 2))
    if seed % 5 == 0:
        height, width = (int(v) for v in rng.integers(1, 9, 2))
    frames = int(rng.integers(1, 40))
    dtype = rng.choice([np.uint8, np.uint16])
    channels = int(rng.choice([1, 3]))
    clip = moving_clip(frames, height, width, channels=channels, dtype=dtype, seed=seed, swing=4.0)
    pipeline = str(rng.choice(["motion", "color"]))
    filter = str(rng.choice(["iir", "butterworth", "ideal"]))
    fps = float(rng.uniform(10, 120))
    settings = {"pipeline": pipeline, "filter": filter, "alpha": float(rng.choice([0.0, 1.0, 8.0, 60.0]))}
    settings["chroma"] = float(rng.choice([0.0, 0.1, 0.7, 1.0]))
    if pipeline == "motion":
        settings["lambda_c"] = float(rng.choice([4.0, 16.0, 90.0]))
        settings["exaggeration"] = float(rng.choice([0.5, 2.0]))
    else:
        settings["level"] = int(rng.integers(0, 6))
    if filter == "iir":
        r2 = float(rng.uniform(0.01, 0.5))
        settings.update(r1=float(rng.uniform(r2 + 0.05, 1)), r2=r2)
    else:
        low = float(rng.choice([0.0, rng.uniform(0, 0.2 * fps)]))
        settings["band"] = (low, float(rng.uniform(low + 0.1 * fps, 0.49 * fps)))
    if filter != "ideal":
        settings["init"] = str(rng.choice(["first", "zero"]))
        if filter == "iir":
            settings["init"] = "first"
    if filter == "ideal" and frames < 12:
        clip = np.concatenate([clip] * 12)[:12]
    order = str(rng.choice(["rgb", "bgr"]))
    return clip, fps, order, settings


@pytest.mark.parametrize("seed", range(80))
def test_random_clips(seed):
    clip, fps, order, settings = random_case(seed)
    exact = oracle.magnify(clip, fps=fps, channels=order, **settings)
    out = jnd.magnify(clip, fps=fps, channels=order, dtype=np.float32, **settings)
    bound = oracle.TOLERANCE * max(1.0, float(np.abs(exact).max()))
    assert np.abs(out - exact).max() <= bound
    whole = jnd.magnify(clip, fps=fps, channels=order, **settings)
    assert whole.dtype == clip.dtype
    assert_levels(whole, exact, np.iinfo(clip.dtype).max)
    if settings["alpha"] == 0:
        assert np.array_equal(whole, clip)


@pytest.mark.parametrize("depth", [9, 10, 12, 16])
def test_depths(depth):
    clip = moving_clip(10, 24, 33, dtype=np.uint16) >> (16 - depth)
    exact = oracle.magnify(clip, fps=30, pipeline="motion", filter="iir", alpha=20, chroma=0.1, depth=depth)
    out = jnd.magnify(clip, fps=30, alpha=20, depth=depth)
    assert out.max() <= 2**depth - 1
    assert_levels(out, exact, 2**depth - 1)
