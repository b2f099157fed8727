"""Cards: the reasons why there is none; and, where there is one (or the processor stands in for it, in a build with the
feature ``emulate``), the same bytes from it, from host memory and from arrays that are there already."""

import ctypes

import numpy as np
import pytest
from conftest import moving_clip

import jnd


def card():
    """Whether cuda:0 can be used, and why not."""
    try:
        jnd.magnify(np.zeros((2, 16, 16), np.uint8), fps=30, device="cuda")
    except jnd.DeviceError as e:
        return str(e)
    return ""


WHY_NOT = card()
needs_card = pytest.mark.skipif(bool(WHY_NOT), reason=f"no card: {WHY_NOT}")
without_card = pytest.mark.skipif(not WHY_NOT, reason="there is a card")

CASES = [
    {"preset": "motion", "alpha": 20},
    {"preset": "motion", "chroma": 0, "filter": "butterworth", "band": (0.5, 6), "init": "zero"},
    {"preset": "motion", "chroma": 1, "filter": "ideal", "band": (1, 9)},
    {"preset": "pulse", "level": 2, "band": (1, 9)},
]


class OnCard:
    """Memory as an array library on a card shows it. For the stand-in, whose memory is the processor's."""

    def __init__(self, array, stream=None, **changes):
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, False),
            "strides": array.strides,
            "version": 3,
            "stream": stream,
        } | changes


class Fake(OnCard):
    """Never followed: the address is none."""

    def __init__(self, shape=(4, 16, 16, 3), typestr="|u1", **changes):
        super().__init__(np.zeros(1, np.uint8), shape=shape, typestr=typestr, data=(256, False), strides=None, **changes)


@without_card
def test_a_card_that_is_not_there(clip):
    for call in [
        lambda: jnd.magnify(clip, fps=30, device="cuda"),
        lambda: jnd.magnify(clip, fps=30, device="cuda:0"),
        lambda: jnd.magnify(clip, fps=30, device="cuda:7"),
        lambda: jnd.magnify(Fake(), fps=30),
        lambda: jnd.Magnifier(fps=30, device="cuda").push(clip[0]),
        lambda: jnd.Magnifier(fps=30, device="cuda", shape=clip.shape[1:]),
        lambda: jnd.Magnifier(fps=30).push(Fake(shape=(16, 16, 3))),
        lambda: jnd.score(clip[..., 0], clip[..., 1], "motion", device="cuda"),
        lambda: jnd.Scorer("motion", device="cuda").push(clip[0, ..., 0], clip[0, ..., 1]),
    ]:
        with pytest.raises(jnd.DeviceError, match="CUDA|driver") as caught:
            call()
        assert isinstance(caught.value, RuntimeError)
    # Anything will do, and the processor does.
    assert jnd.magnify(clip, fps=30, device="auto") is not None


def test_auto_is_the_processor_where_there_is_no_card():
    """A clip for which a card is worth it gives the processor's bytes, wherever it is computed."""
    clip = np.broadcast_to(moving_clip(4, 96, 128)[:, None], (4, 500, 96, 128, 3)).reshape(2000, 96, 128, 3)
    assert clip.nbytes > 64 << 20
    assert np.array_equal(jnd.magnify(clip, fps=30), jnd.magnify(clip, fps=30, device="cpu"))


def test_auto_says_why_it_is_the_processor(caplog):
    clip = np.broadcast_to(moving_clip(2, 96, 128)[:, None], (2, 1000, 96, 128, 3)).reshape(2000, 96, 128, 3)
    out = np.zeros(clip.shape, np.float32)
    with caplog.at_level("INFO", "jnd"):
        jnd.magnify(clip, fps=30, out=out)
    assert [r.getMessage() for r in caplog.records] == [
        "on the processor: float32 results are computed on the processor alone"
    ]
    caplog.clear()
    if WHY_NOT:
        with caplog.at_level("INFO", "jnd"):
            jnd.magnify(clip, fps=30)
        assert len(caplog.records) == 1 and WHY_NOT in caplog.records[0].getMessage()


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:-1", "cuda:x", "", "CPU"])
def test_devices_that_do_not_exist(clip, device):
    for call in [
        lambda: jnd.magnify(clip, fps=30, device=device),
        lambda: jnd.Magnifier(fps=30, device=device),
        lambda: jnd.Scorer("motion", device=device),
        lambda: jnd.magnify_file("a.y4m", "b.y4m", device=device),
    ]:
        with pytest.raises(jnd.SettingsError, match="device"):
            call()


def test_floats_are_the_processors(clip):
    with pytest.raises(jnd.DeviceError, match="float32"):
        jnd.magnify(clip, fps=30, device="cuda", dtype="float32")
    with pytest.raises(jnd.DeviceError, match="float32"):
        jnd.Magnifier(fps=30, device="cuda", dtype="float32")
    with pytest.raises(jnd.DeviceError, match="float32"):
        jnd.magnify(Fake(), fps=30, dtype="float32")


@pytest.mark.parametrize(
    ("frames", "error", "text"),
    [
        (Fake(typestr="<f4"), jnd.ArrayTypeError, "f32"),
        (Fake(typestr=">u2"), jnd.ArrayTypeError, "swap"),
        (Fake(shape=(16,)), jnd.ArrayError, "frames"),
        (Fake(shape=(4, 16, 16, 4)), jnd.ArrayError, "frames"),
        (Fake(shape=(0, 16, 16, 3)), jnd.ArrayError, "empty"),
        (Fake(mask=Fake()), jnd.ArrayError, "mask"),
        (OnCard(np.zeros((4, 16, 32, 3), np.uint8)[:, :, ::2]), jnd.ArrayError, "contiguous"),
        (OnCard(np.zeros((4, 16, 16, 3), np.uint8)[:, ::-1]), jnd.ArrayError, "contiguous"),
    ],
)
def test_bad_arrays_on_a_card(frames, error, text):
    with pytest.raises(error, match=text):
        jnd.magnify(frames, fps=30)


def test_an_array_on_a_card_says_where_it_is():
    with pytest.raises(jnd.DeviceError, match="cuda:0"):
        jnd.magnify(Fake(), fps=30, device="cpu")
    with pytest.raises(jnd.DeviceError, match="cuda:0"):
        jnd.magnify(Fake(), fps=30, device="cuda:1")


@needs_card
@pytest.mark.parametrize("settings", CASES, ids=str)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_the_same_bytes_from_host_memory(settings, channels, dtype):
    clip = moving_clip(24, 37, 45, channels=channels, dtype=dtype)
    want = jnd.magnify(clip, fps=30, device="cpu", **settings)
    assert np.array_equal(jnd.magnify(clip, fps=30, device="cuda", **settings), want)
    views = np.ascontiguousarray(clip[:, ::-1])[:, ::-1]
    out = np.zeros((24, 37, 90, *clip.shape[3:]), dtype)[:, :, ::2]
    assert jnd.magnify(views, fps=30, device="cuda:0", out=out, **settings) is out
    assert np.array_equal(out, want)
    if jnd.Settings(**settings).filter != "ideal":
        m = jnd.Magnifier(fps=30, device="cuda", **settings)
        for _ in range(2):
            for t, frame in enumerate(clip):
                assert np.array_equal(m.push(frame), want[t])
            assert m.plan.settings == m.settings
            m.reset()
        work = clip.copy()
        for frame in work:
            m.push(frame, frame)
        assert np.array_equal(work, want)


@needs_card
@pytest.mark.parametrize("settings", CASES, ids=str)
def test_progress_and_memory_limits_on_a_card(settings):
    clip = moving_clip(24, 37, 45)
    want = jnd.magnify(clip, fps=30, device="cpu", **settings)
    passes = 2 if jnd.Settings(**settings).filter == "ideal" else 1
    seen = []
    for frames in [clip, clip[:, ::-1]]:
        jnd.magnify(frames, fps=30, device="cuda", progress=lambda done, total: seen.append((done, total)), **settings)
        assert seen[-1] == (24 * passes, 24 * passes)
        seen.clear()
    assert np.array_equal(jnd.magnify(clip, fps=30, device="cuda", memory=1_000_000, **settings), want)
    with pytest.raises(jnd.MemoryLimitError, match="device memory"):
        jnd.magnify(clip, fps=30, device="cuda", memory=1000, **settings)

    class Enough(Exception):
        pass

    def stop(done, total):
        raise Enough

    for frames in [clip, clip[:, ::-1]]:
        with pytest.raises(Enough):
            jnd.magnify(frames, fps=30, device="cuda", progress=stop, **settings)


@needs_card
@pytest.mark.parametrize("settings", CASES, ids=str)
def test_files_on_a_card(tmp_path, settings):
    header = b"YUV4MPEG2 W45 H37 F30:1 Ip A1:1 C444\n"
    frames = moving_clip(24, 37, 45).transpose(0, 3, 1, 2)
    (tmp_path / "in.y4m").write_bytes(header + b"".join(b"FRAME\n" + f.tobytes() for f in frames))
    reports = [
        jnd.magnify_file(tmp_path / "in.y4m", tmp_path / f"{device}.y4m", device=device, **settings)
        for device in ["cpu", "cuda"]
    ]
    assert "cuda:0" in reports[1].device
    assert (tmp_path / "cpu.y4m").read_bytes() == (tmp_path / "cuda.y4m").read_bytes()
    with pytest.raises(jnd.MemoryLimitError, match=r"in\.y4m.*cuda:0"):
        jnd.magnify_file(tmp_path / "in.y4m", tmp_path / "x.y4m", device="cuda", memory=1000, **settings)
    assert not (tmp_path / "x.y4m").exists()


@needs_card
def test_scores_from_a_card():
    luma = moving_clip(6, 96, 112, channels=1), moving_clip(6, 96, 112, channels=1, seed=3)
    features = ["motion", "float_motion", "speed_temporal"]
    want = jnd.score(*luma, features, device="cpu")
    assert jnd.score(*luma, features, device="cuda") == want
    s = jnd.Scorer(features, device="cuda")
    got = [x for t in range(6) for x in s.push(luma[0][t], luma[1][t])] + s.finish()
    for name in want["pooled_metrics"]:
        assert [x.value for x in got if x.metric == name] == list(want.metric(name))


emulated = pytest.mark.skipif(
    bool(WHY_NOT) or "emulat" not in jnd.doctor().get("python card", ""), reason="not a build with the feature emulate"
)


@emulated
@pytest.mark.parametrize("settings", CASES, ids=str)
@pytest.mark.parametrize("layout", ["gray", "interleaved", "planar", "cropped"])
@pytest.mark.parametrize("channels", ["rgb", "bgr"])
def test_arrays_on_a_card(settings, layout, channels):
    clip = moving_clip(24, 37, 45, channels=1 if layout == "gray" else 3)
    want = jnd.magnify(clip, fps=30, device="cpu", channels=channels, **settings)
    if layout == "planar":
        clip = np.ascontiguousarray(clip.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
    if layout == "cropped":
        clip = np.pad(clip, ((0, 0), (1, 2), (3, 5), (0, 0)))[:, 1:-2, 3:-5]
    kept = clip.copy()
    out = jnd.magnify(OnCard(clip), fps=30, channels=channels, **settings)
    assert isinstance(out, jnd.DeviceArray)
    assert (out.shape, out.dtype, out.device, out.nbytes) == (clip.shape, "uint8", "cuda:0", clip.size)
    assert "cuda:0" in repr(out)
    assert np.array_equal(out.numpy(), want)
    assert np.array_equal(clip, kept)
    # Into the caller's array, from ours, and in place.
    filled = np.zeros_like(clip)
    mine = OnCard(filled)
    assert jnd.magnify(OnCard(clip), fps=30, out=mine, channels=channels, device="cuda", **settings) is mine
    assert np.array_equal(filled, want)
    place = np.array(clip, order="K")
    jnd.magnify(OnCard(place), fps=30, out=OnCard(place), channels=channels, **settings)
    assert np.array_equal(place, want)
    if jnd.Settings(**settings).filter != "ideal":
        m = jnd.Magnifier(fps=30, channels=channels, **settings)
        for t, frame in enumerate(clip):
            assert np.array_equal(m.push(OnCard(frame)).numpy(), want[t])
        with pytest.raises(jnd.StateError, match="host memory"):
            m.push(clip[0])
        m.reset()
        assert np.array_equal(m.push(OnCard(clip[0])).numpy(), want[0])


@emulated
def test_results_for_other_libraries(clip):
    want = jnd.magnify(clip, fps=30)
    out = jnd.magnify(OnCard(clip, stream=1), fps=30)
    shown = out.__cuda_array_interface__
    assert shown["shape"] == clip.shape and shown["version"] == 3 and shown["stream"] == 1
    ptr, read_only = shown["data"]
    assert not read_only
    seen = np.ctypeslib.as_array(ctypes.cast(ptr, ctypes.POINTER(ctypes.c_uint8)), clip.shape)
    assert np.array_equal(seen, want)
    # Our own result goes in again, by either protocol.
    again = jnd.magnify(out, fps=30)
    assert np.array_equal(again.numpy(), jnd.magnify(want, fps=30))

    class DlpackOnly:
        def __dlpack_device__(self):
            return out.__dlpack_device__()

        def __dlpack__(self, stream=None):
            return out.__dlpack__(stream=stream)

    assert out.__dlpack_device__() == (2, 0)
    for _ in range(3):
        assert np.array_equal(jnd.magnify(DlpackOnly(), fps=30).numpy(), again.numpy())
    with pytest.raises(BufferError):
        out.__dlpack__(copy=True)


@emulated
def test_places_for_results_that_cannot_be(clip):
    frames = OnCard(clip)
    for out, error in [
        (np.zeros_like(clip), jnd.ArrayTypeError),
        (OnCard(np.zeros((24, 33, 46, 3), np.uint8)), jnd.ArrayError),
        (OnCard(np.zeros(clip.shape, np.uint16)), jnd.ArrayError),
        (OnCard(np.zeros((24, 3, 33, 47), np.uint8).transpose(0, 2, 3, 1)), jnd.ArrayError),
    ]:
        with pytest.raises(error, match="out"):
            jnd.magnify(frames, fps=30, out=out)
    both = np.zeros((25, *clip.shape[1:]), np.uint8)
    with pytest.raises(jnd.ArrayError, match="overlap"):
        jnd.magnify(OnCard(both[1:]), fps=30, out=OnCard(both[:-1]))


@pytest.mark.skipif(bool(WHY_NOT), reason=f"no card: {WHY_NOT}")
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_libraries(library, clip):
    """PyTorch and CuPy, where they are with a card of theirs: in and out, on their stream."""
    xp = pytest.importorskip(library)
    if library == "torch":
        if not xp.cuda.is_available():
            pytest.skip("torch has no card")
        there, back, stream = (lambda a: xp.from_numpy(a).cuda()), (lambda a: a.cpu().numpy()), xp.cuda.Stream()
        with xp.cuda.stream(stream):
            x = there(clip)
            y = xp.from_dlpack(jnd.magnify(x, fps=30, alpha=20))
            z = xp.empty_like(x)
            jnd.magnify(x, fps=30, alpha=20, out=z)
        stream.synchronize()
    else:
        there, back = xp.asarray, xp.asnumpy
        x = there(clip)
        y, z = xp.asarray(jnd.magnify(x, fps=30, alpha=20)), xp.empty_like(x)
        jnd.magnify(x, fps=30, alpha=20, out=z)
    want = jnd.magnify(clip, fps=30, alpha=20, device="cpu")
    assert np.array_equal(back(y), want) and np.array_equal(back(z), want)
    m = jnd.Magnifier(fps=30, alpha=20)
    for t in range(len(clip)):
        assert np.array_equal(back(xp.from_dlpack(m.push(x[t]))), want[t])


@without_card
def test_files_say_why_there_is_no_card(tmp_path):
    (tmp_path / "in.y4m").write_bytes(b"YUV4MPEG2 W16 H16 F30:1 Ip A1:1 Cmono\n" + (b"FRAME\n" + bytes(256)) * 3)
    with pytest.raises(jnd.DeviceError, match="CUDA|driver"):
        jnd.magnify_file(tmp_path / "in.y4m", tmp_path / "out.y4m", device="cuda")
    assert not (tmp_path / "out.y4m").exists()
