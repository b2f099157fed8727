"""Scores: the reference's values through arrays and files, streaming, errors."""

import gzip
import json
import math
import re

import numpy as np
import pytest
from conftest import moving_clip, shared_folder
from test_files import write_y4m

import jnd

FOLDER = shared_folder() / "reference/score" if shared_folder() else None
CASES = sorted(p.stem for p in FOLDER.glob("[mns]*.json")) if FOLDER else []
ALL = ["motion", "float_motion", "speed_chroma", "speed_temporal"]


def planes_of(name, case):
    """A stored clip as (y, u, v) arrays."""
    data = gzip.decompress((FOLDER / name).read_bytes())
    depth = case["bitdepth"]
    dtype = np.dtype("<u2" if depth > 8 else "u1")
    if ".y4m" in name:
        head, data = data.split(b"\n", 1)
        w, h = (int(re.search(rb" %c(\d+)" % k, head)[1]) for k in b"WH")
        ceil, lead = True, 6
    else:
        w, h = map(int, re.search(r"\.(\d+)x(\d+)_", name).groups())
        ceil, lead = False, 0
    sx, sy = {"420": (2, 2), "422": (2, 1), "444": (1, 1)}[case["pixel_format"]]
    cw, ch = ((w + sx - 1) // sx, (h + sy - 1) // sy) if ceil else (w // sx, h // sy)
    size = (w * h + 2 * cw * ch) * dtype.itemsize
    rows = np.frombuffer(data, np.uint8).reshape(-1, lead + size)[:, lead:]
    samples = np.ascontiguousarray(rows).view(dtype)
    y, u, v = np.split(samples, [w * h, w * h + cw * ch], axis=1)
    return y.reshape(-1, h, w), u.reshape(-1, ch, cw), v.reshape(-1, ch, cw)


def assert_run(scores, run):
    """Every stored value, with ==."""
    assert [f["frameNum"] for f in scores["frames"]] == run["frames"]
    assert set(scores["pooled_metrics"]) == set(run["metrics"])
    for name, values in run["metrics"].items():
        assert list(scores.metric(name)) == values, name
        assert scores["pooled_metrics"][name] == run["pooled"][name], name


@pytest.mark.skipif(FOLDER is None, reason="no shared reference data (set JND_SHARED)")
@pytest.mark.parametrize("name", CASES)
def test_reference(name, tmp_path):
    case = json.loads((FOLDER / f"{name}.json").read_text())
    ref, dist = planes_of(case["ref"], case), planes_of(case["dis"], case)
    for run in case["runs"]:
        assert_run(jnd.score(ref, dist, run["feature"], depth=case["bitdepth"]), run)
    # The first run through files and through the stream, too.
    run = case["runs"][0]
    if ".y4m" in case["ref"]:
        paths = []
        for side in "ref", "dis":
            paths.append(tmp_path / f"{side}.y4m")
            paths[-1].write_bytes(gzip.decompress((FOLDER / case[side]).read_bytes()))
        assert_run(jnd.score(*paths, run["feature"]), run)
        assert_run(jnd.score(str(paths[0]), dist, run["feature"], depth=case["bitdepth"]), run)
    s = jnd.Scorer(run["feature"], depth=case["bitdepth"])
    got = {}
    for t in range(len(ref[0])):
        got.update({(m, f): v for f, m, v in s.push(tuple(p[t] for p in ref), tuple(p[t] for p in dist))})
    got.update({(m, f): v for f, m, v in s.finish()})
    assert got == {(m, f): v for m, values in run["metrics"].items() for f, v in zip(run["frames"], values, strict=True)}


def pair(frames=6, height=96, width=112, dtype=np.uint8, chroma=(48, 56)):
    def make(seed):
        y = moving_clip(frames, height, width, channels=1, dtype=dtype, seed=seed)
        if chroma is None:
            return y
        return (y, *(moving_clip(frames, *chroma, channels=1, dtype=dtype, seed=seed + k) for k in (50, 51)))

    return make(1), make(2)


def test_layouts_and_threads():
    ref, dist = pair(height=160, width=176, chroma=(160, 176))
    want = jnd.score(ref, dist, ALL, threads=1)
    assert not any(math.isnan(v) for f in want["frames"] for v in f["metrics"].values())
    for threads in (2, 5):
        assert jnd.score(ref, dist, ALL, threads=threads) == want
    views = tuple(np.ascontiguousarray(p[:, ::-1, ::-1])[:, ::-1, ::-1] for p in ref)
    wide = tuple(np.pad(p, ((0, 0), (3, 1), (2, 5)))[:, 3:-1, 2:-5] for p in dist)
    assert jnd.score(views, wide, ALL) == want
    luma = jnd.score(ref[0], dist[0], ["motion", "speed_temporal"])
    for name in luma["pooled_metrics"]:
        assert np.array_equal(luma.metric(name), want.metric(name), equal_nan=True)


@pytest.mark.parametrize("chroma", [(97, 113), (49, 57), (48, 56), (97, 57), (97, 56)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_chroma_formats(chroma, dtype):
    """Odd sides halved up or down give the same scores: the last column has none."""
    ref, dist = pair(4, 97, 113, dtype, chroma)
    features = {"float_motion": {"motion_add_uv": True}}
    scores = jnd.score(ref, dist, features)
    assert scores.metric("motion2_mau")[1:].min() > 0
    if chroma == (49, 57):
        down = tuple((c[0], c[1][:, :48, :56], c[2][:, :48, :56]) for c in (ref, dist))
        assert jnd.score(*down, features) == scores


def test_ways_to_name_features():
    ref, dist = pair(chroma=None)
    want = jnd.score(ref, dist, "motion=motion_max_val=3.5:motion_five_frame_window=true")
    options = {"motion_max_val": 3.5, "motion_five_frame_window": True}
    assert jnd.score(ref, dist, {"motion": options}) == want
    assert jnd.score(ref, dist, [("motion", options)]) == want
    both = jnd.score(ref, dist, {"motion": None, "float_motion": {"motion_filter_size": 3}})
    assert "integer_motion2" in both["pooled_metrics"] and len(both["pooled_metrics"]) > 3


def test_the_result():
    ref, dist = pair(7, chroma=None)
    scores = jnd.score(ref, dist, "motion")
    assert isinstance(scores, dict) and json.loads(json.dumps(scores)) == scores and scores.notes == ()
    assert [f["frameNum"] for f in scores["frames"]] == list(range(7))
    motion = scores.metric("integer_motion2")
    assert motion.dtype == np.float64 and motion.shape == (7,)
    pooled = scores["pooled_metrics"]["integer_motion2"]
    assert pooled["min"] == motion.min() and pooled["max"] == motion.max()
    assert pooled["mean"] == pytest.approx(motion.mean())
    with pytest.raises(KeyError, match="integer_motion2"):
        scores.metric("psnr")
    every_third = jnd.score(ref, dist, "motion", subsample=3)
    assert [f["frameNum"] for f in every_third["frames"]] == [0, 3, 6]
    assert np.array_equal(every_third.metric("integer_motion2"), motion[::3])
    pandas = pytest.importorskip("pandas")
    table = scores.to_frame()
    assert isinstance(table, pandas.DataFrame) and table.index.name == "frame" and len(table) == 7
    assert np.array_equal(table["integer_motion2"], motion)


def test_files(tmp_path):
    ref, dist = pair(9, chroma=None)
    a, b = tmp_path / "a.y4m", tmp_path / "b.y4m"
    write_y4m(a, ref)
    write_y4m(b, dist, fps="25:1")
    want = jnd.score(ref, dist, "motion")
    scores = jnd.score(a, b, "motion")
    assert scores == want and any("frame rate differs" in n for n in scores.notes)
    calls = []
    assert jnd.score(a, dist, "motion", progress=lambda *c: calls.append(c)) == want
    assert calls[-1] == (9, 9)
    write_y4m(b, dist[:6])
    with pytest.warns(RuntimeWarning, match="9.*6 pairs were scored"):
        assert len(jnd.score(a, b, "motion")["frames"]) == 6
    with pytest.warns(RuntimeWarning, match="9.*6 pairs were scored"):
        jnd.score(ref, dist[:6], "motion")
    write_y4m(b, dist, cut=10)
    with pytest.warns(RuntimeWarning, match="cut off.*8 whole pairs"):
        assert len(jnd.score(a, b, "motion")["frames"]) == 8
    with pytest.raises(jnd.VideoNotFoundError):
        jnd.score(a, tmp_path / "none.y4m", "motion")
    write_y4m(b, dist[:, :-2])
    with pytest.raises(jnd.VideoError, match="112x96 and 112x94"):
        jnd.score(a, b, "motion")
    with pytest.raises(jnd.VideoError, match="chroma"):
        jnd.score(a, a, "speed_chroma")


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"features": "moton"}, jnd.SettingsError, "did you mean motion"),
        ({"features": []}, jnd.SettingsError, "no feature"),
        ({"features": 3}, jnd.SettingsError, "features"),
        ({"features": [3]}, jnd.SettingsError, "features"),
        ({"features": {"motion": 3}}, jnd.SettingsError, "features"),
        ({"features": {"motion": {"motion_max": 1}}}, jnd.SettingsError, "motion_max"),
        ({"features": {"motion": {"motion_max_val": math.nan}}}, jnd.SettingsError, "motion_max_val"),
        ({"features": {"motion": {"motion_max_val": -1}}}, jnd.SettingsError, "0 to 10000"),
        ({"features": ["motion", "motion"]}, jnd.SettingsError, "two features"),
        ({"features": "speed_chroma"}, jnd.ArrayError, "chroma"),
        ({"subsample": 0}, jnd.SettingsError, "subsample"),
        ({"threads": -1}, jnd.SettingsError, "threads"),
        ({"threads": 10**6}, jnd.SettingsError, "threads"),
        ({"depth": 10}, jnd.SettingsError, "depth"),
        ({"device": "tpu"}, jnd.SettingsError, "device"),
        ({"dist": np.zeros((6, 90, 112), np.uint8)}, jnd.ArrayError, "112x96 and 112x90"),
        ({"dist": np.zeros((6, 96, 112), np.uint16)}, jnd.ArrayError, "8 and 16 bits"),
        ({"dist": np.zeros((6, 96, 112))}, jnd.ArrayTypeError, "float64"),
        ({"dist": np.zeros((6, 96, 112, 3), np.uint8)}, jnd.ArrayError, "RGB"),
        ({"dist": np.zeros((96, 112), np.uint8)}, jnd.ArrayError, "shape"),
        ({"dist": (np.zeros((6, 96, 112), np.uint8),) * 2}, jnd.ArrayError, "planes"),
        ({"dist": (np.zeros((6, 96, 112), np.uint8), *[np.zeros((6, 40, 56), np.uint8)] * 2)}, jnd.ArrayError, "go together"),
        ({"dist": (np.zeros((6, 96, 112), np.uint8), *[np.zeros((5, 48, 56), np.uint8)] * 2)}, jnd.ArrayError, "go together"),
        ({"ref": np.zeros((6, 2, 2), np.uint8), "dist": np.zeros((6, 2, 2), np.uint8)}, jnd.ArrayError, "3x3"),
        ({"ref": None}, jnd.ArrayTypeError, "ref"),
    ],
)
def test_what_cannot_be_scored(change, error, text):
    ref, dist = pair(chroma=None)
    arguments = {"ref": ref, "dist": dist, "features": "motion"} | change
    with pytest.raises(error, match=text):
        jnd.score(**arguments)


def test_the_stream():
    ref, dist = pair(12)
    want = jnd.score(ref, dist, ["motion", "float_motion"])
    with jnd.Scorer(["motion", "float_motion"], threads=2) as s:
        scores = []
        for t in range(12):
            scores += s.push(tuple(p[t] for p in ref), tuple(p[t] for p in dist))
        with pytest.raises(jnd.ArrayError, match="alike"):
            s.push(ref[0][0], dist[0][0])
        with pytest.raises(jnd.ArrayError):
            s.push(ref, dist)
        scores += s.finish()
    assert s.finish() == []
    with pytest.raises(jnd.StateError, match="finish"):
        s.push(ref[0][0], dist[0][0])
    first = scores[0]
    assert (first.frame, first.metric, first.value) == tuple(first)
    for name in want["pooled_metrics"]:
        assert [x.value for x in scores if x.metric == name] == list(want.metric(name))
    assert {x.frame for x in jnd.Scorer("motion", subsample=2).push(ref[0][0], dist[0][0])} <= {0}
