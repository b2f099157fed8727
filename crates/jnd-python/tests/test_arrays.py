"""Arrays as they come: any strides, in place, without copies; and the ones that cannot be used."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import moving_clip

import jnd


def layouts(clip):
    """The same samples in every kind of memory layout, by name."""
    t, h, w = clip.shape[:3]
    pad = [(0, 0)] * clip.ndim
    pad[0], pad[1], pad[2] = (1, 2), (2, 3), (3, 1)
    yield "fortran", np.asfortranarray(clip)
    yield "cropped", np.pad(clip, pad)[1 : t + 1, 2 : h + 2, 3 : w + 3]
    yield "time reversed", np.ascontiguousarray(clip[::-1])[::-1]
    yield "flipped", np.ascontiguousarray(clip[:, ::-1])[:, ::-1]
    yield "mirrored", np.ascontiguousarray(clip[:, :, ::-1])[:, :, ::-1]
    yield "every second frame", np.repeat(clip, 2, 0)[::2]
    yield "every second row", np.repeat(clip, 2, 1)[:, ::2]
    yield "every second column", np.repeat(clip, 2, 2)[:, :, ::2]
    yield "time last", np.ascontiguousarray(np.moveaxis(clip, 0, -1)).transpose(-1, *range(clip.ndim - 1))
    if clip.ndim == 4:
        yield "channels first", np.ascontiguousarray(np.moveaxis(clip, 3, 1)).transpose(0, 2, 3, 1)
        yield "channels reversed", np.ascontiguousarray(clip[..., ::-1])[..., ::-1]
        yield "one of four channels", np.concatenate([clip, clip[..., :1]], 3)[..., :3]
    raw = np.zeros(clip.nbytes + 1, np.uint8)
    odd = raw[1:].view(clip.dtype) if clip.dtype == np.uint8 else np.ndarray(clip.shape, clip.dtype, raw.data, 1)
    odd = odd.reshape(clip.shape)
    odd[...] = clip
    yield "odd address", odd


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("filter", [{"filter": "iir"}, {"filter": "ideal", "band": (1, 9)}])
def test_layouts(channels, dtype, filter):
    clip = moving_clip(12, 21, 30, channels=channels, dtype=dtype)
    want = jnd.magnify(clip, fps=30, alpha=20, **filter)
    floats = jnd.magnify(clip, fps=30, alpha=20, dtype="float32", **filter)
    assert not np.array_equal(want, clip)
    for name, same in layouts(clip):
        assert np.array_equal(same, clip), name
        assert np.array_equal(jnd.magnify(same, fps=30, alpha=20, **filter), want), name
    for (name, out), (_, out32) in zip(layouts(np.zeros_like(clip)), layouts(np.zeros(clip.shape, np.float32)), strict=True):
        assert jnd.magnify(clip, fps=30, alpha=20, out=out, **filter) is out
        assert np.array_equal(out, want), name
        assert jnd.magnify(clip, fps=30, alpha=20, out=out32, **filter) is out32
        assert np.array_equal(out32, floats), name


def test_large_clips_are_their_frames_one_by_one():
    # So large that the arrays' frames are taken several at a time, where they lie; five of them, which is odd.
    clip = moving_clip(5, 1100, 1600)
    with jnd.Magnifier(fps=30, alpha=20) as m:
        want = np.stack([m.push(frame) for frame in clip])
    assert not np.array_equal(want, clip)
    assert np.array_equal(jnd.magnify(clip, fps=30, alpha=20), want)
    wide = np.full((5, 1110, 1610, 3), 77, np.uint8)
    out = wide[:, 3:1103, 4:1604]
    backwards = np.ascontiguousarray(clip[:, ::-1])[:, ::-1]
    assert jnd.magnify(backwards, fps=30, alpha=20, out=out) is out
    assert np.array_equal(out, want)
    assert (wide[:, :3] == 77).all() and (wide[:, :, 1604:] == 77).all()
    # Row by row in turn: the frames' ranges of addresses meet, so that they are taken one at a time.
    woven = np.zeros((1100, 5, 1600, 3), np.uint8).transpose(1, 0, 2, 3)
    assert jnd.magnify(clip, fps=30, alpha=20, out=woven) is woven
    assert np.array_equal(woven, want)


def test_what_surrounds_the_result_is_untouched():
    clip = moving_clip(5, 20, 30)
    big = np.full((9, 30, 40, 3), 77, np.uint8)
    out = big[2:7, 3:23, 4:34]
    jnd.magnify(clip, fps=30, out=out)
    assert np.array_equal(out, jnd.magnify(clip, fps=30))
    out[...] = 77
    assert (big == 77).all()


def test_other_things_than_arrays(clip):
    want = jnd.magnify(clip, fps=30)
    assert np.array_equal(jnd.magnify(list(clip), fps=30), want)
    assert np.array_equal(jnd.magnify(memoryview(clip), fps=30), want)

    class Lazy:
        def __array__(self, dtype=None, copy=None):
            return clip

    assert np.array_equal(jnd.magnify(Lazy(), fps=30), want)
    torch = pytest.importorskip("torch")
    assert np.array_equal(jnd.magnify(torch.from_numpy(clip), fps=30), want)


def test_gray_with_an_axis_of_one():
    clip = moving_clip(6, 20, 30, channels=1)
    out = jnd.magnify(clip[..., None], fps=30)
    assert out.shape == (6, 20, 30, 1)
    assert np.array_equal(out[..., 0], jnd.magnify(clip, fps=30))


def test_channel_order(clip):
    rgb = jnd.magnify(clip, fps=30, alpha=20)
    bgr = jnd.magnify(clip[..., ::-1], fps=30, alpha=20, channels="bgr")
    assert np.array_equal(bgr[..., ::-1], rgb)
    with pytest.raises(jnd.SettingsError, match="rgb.*bgr"):
        jnd.magnify(clip, fps=30, channels="gbr")


@pytest.mark.parametrize(
    ("frames", "error", "text"),
    [
        (np.zeros((4, 5), np.uint8), jnd.ArrayError, r"\(T, H, W, 3\)"),
        (np.zeros(4, np.uint8), jnd.ArrayError, r"\(4,\)"),
        (np.uint8(4), jnd.ArrayError, "axes"),
        (np.zeros((2, 4, 5, 2), np.uint8), jnd.ArrayError, "2 channels"),
        (np.zeros((2, 4, 5, 4), np.uint8), jnd.ArrayError, r"\[\.\.\., :3\]"),
        (np.zeros((2, 4, 5, 3, 1), np.uint8), jnd.ArrayError, "axes"),
        (np.zeros((0, 4, 5, 3), np.uint8), jnd.ArrayError, "without frames"),
        (np.zeros((2, 0, 5, 3), np.uint8), jnd.ArrayError, "without pixels"),
        (np.zeros((2, 4, 0), np.uint8), jnd.ArrayError, "without pixels"),
        (np.broadcast_to(np.uint8(0), (1, 70000, 2, 3)), jnd.ArrayError, "65536"),
        (np.zeros((2, 4, 5, 3), np.float32), jnd.ArrayTypeError, r"\* 255"),
        (np.zeros((2, 4, 5, 3)), jnd.ArrayTypeError, "float64"),
        (np.zeros((2, 4, 5, 3), np.int16), jnd.ArrayTypeError, "int16"),
        (np.zeros((2, 4, 5, 3), bool), jnd.ArrayTypeError, "bool"),
        (np.zeros((2, 4, 5, 3), ">u2"), jnd.ArrayTypeError, "bytes"),
        (np.zeros((2, 4, 5), object), jnd.ArrayTypeError, "object"),
        (np.zeros((2, 4, 5), "S1"), jnd.ArrayTypeError, "uint8"),
        ("clip.mp4", jnd.ArrayTypeError, "magnify_file"),
        (None, jnd.ArrayTypeError, "object|None"),
        ([[1, 2], [3]], jnd.ArrayTypeError, "list"),
    ],
)
def test_bad_frames(frames, error, text):
    with pytest.raises(error, match=text) as caught:
        jnd.magnify(frames, fps=30)
    assert isinstance(caught.value, TypeError if error is jnd.ArrayTypeError else ValueError)


def read_only(a):
    a.flags.writeable = False
    return a


@pytest.mark.parametrize(
    ("out", "error", "text"),
    [
        (np.zeros((24, 33, 46, 3), np.uint8), jnd.ArrayError, r"\(24, 33, 47, 3\)"),
        (np.zeros((23, 33, 47, 3), np.uint8), jnd.ArrayError, "shape"),
        (np.zeros((24, 33, 47), np.uint8), jnd.ArrayError, "shape"),
        (np.zeros((24, 33, 47, 3), np.uint16), jnd.ArrayTypeError, "uint8 or float32"),
        (np.zeros((24, 33, 47, 3)), jnd.ArrayTypeError, "float64"),
        (read_only(np.zeros((24, 33, 47, 3), np.uint8)), jnd.ArrayError, "read-only"),
        ([1, 2], jnd.ArrayTypeError, "NumPy array"),
        ("out.mp4", jnd.ArrayTypeError, "NumPy array"),
    ],
)
def test_bad_out(clip, out, error, text):
    with pytest.raises(error, match=text):
        jnd.magnify(clip, fps=30, out=out)


def test_out_must_not_repeat_or_overlap(clip):
    one = np.lib.stride_tricks.as_strided(np.zeros((33, 47, 3), np.uint8), clip.shape, (0, 141, 3, 1))
    with pytest.raises(jnd.ArrayError, match="same memory"):
        jnd.magnify(clip, fps=30, out=one)
    kept = clip.copy()
    with pytest.raises(jnd.ArrayError, match="overlap"):
        jnd.magnify(clip, fps=30, out=clip)
    both = np.zeros((25, *clip.shape[1:]), np.uint8)
    with pytest.raises(jnd.ArrayError, match="overlap"):
        jnd.magnify(both[1:], fps=30, out=both[:-1])
    assert np.array_equal(kept, clip)


def test_broadcast_frames_are_fine():
    still = np.broadcast_to(moving_clip(1, 20, 30), (8, 20, 30, 3))
    assert np.array_equal(jnd.magnify(still, fps=30, alpha=50), still)


def test_types_of_the_result(clip):
    assert jnd.magnify(clip, fps=30, dtype=np.uint8).dtype == np.uint8
    assert jnd.magnify(clip, fps=30, dtype="float32").dtype == np.float32
    with pytest.raises(jnd.ArrayTypeError, match="float64"):
        jnd.magnify(clip, fps=30, dtype=float)
    with pytest.raises(jnd.ArrayTypeError, match="uint16"):
        jnd.magnify(clip, fps=30, dtype=np.uint16)
    with pytest.raises(jnd.ArrayTypeError, match="out"):
        jnd.magnify(clip, fps=30, dtype="float32", out=np.zeros_like(clip))


@pytest.mark.parametrize("depth", [0, 7, 8, 17, -1, 300, 10.5])
def test_bad_depth(depth):
    with pytest.raises(jnd.SettingsError, match="depth"):
        jnd.magnify(np.zeros((2, 8, 8), np.uint16), fps=30, depth=depth)


def test_samples_above_the_depth_are_refused_or_clamped():
    clip = np.full((3, 16, 16), 4095, np.uint16)
    out = jnd.magnify(clip, fps=30, depth=12)
    assert np.array_equal(out, clip)


@pytest.mark.parametrize("fps", [0, -1, float("nan"), float("inf"), None, "x", (1, 2, 3), 1e-320])
def test_bad_fps(clip, fps):
    with pytest.raises(jnd.SettingsError, match="fps"):
        jnd.magnify(clip, fps=fps)


@pytest.mark.parametrize("threads", [-1, 1.5, "two"])
def test_bad_threads(clip, threads):
    with pytest.raises(jnd.SettingsError, match="threads"):
        jnd.magnify(clip, fps=30, threads=threads)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_a_byte(clip, threads):
    assert np.array_equal(jnd.magnify(clip, fps=30, threads=threads), jnd.magnify(clip, fps=30, threads=1))


PEAK = """
import resource, sys
import numpy as np
import jnd

frames, height, width = 120, 360, 480
clip = np.empty((frames, height, width, 3), np.uint8)
rng = np.random.default_rng(1)
for t in range(frames):
    clip[t] = rng.integers(100, 140, clip.shape[1:], np.uint8)
if sys.argv[1] == "cropped":
    clip = clip[:, 3:, 5:]
if sys.argv[1] == "mirrored":
    clip = clip[:, :, ::-1]
out = np.full(clip.shape, 1, np.uint8)
jnd.magnify(clip[:3], fps=30, out=out[:3])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
jnd.magnify(clip, fps=30, out=out)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, clip.nbytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read the Linux way")
@pytest.mark.parametrize("layout", ["whole", "cropped", "mirrored"])
def test_no_copy_of_the_clip(layout):
    """The peak of a second, longer call stays far below one more copy of the clip."""
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PEAK), layout], capture_output=True, text=True, check=True
    )
    grown, clip = map(int, run.stdout.split())
    assert grown < clip / 10
