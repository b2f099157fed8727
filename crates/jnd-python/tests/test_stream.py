"""Magnifier: frame by frame, as a stream, across threads and forks."""

import multiprocessing
import os
import pickle
import sys
import threading

import numpy as np
import pytest
from conftest import moving_clip

import jnd

CAUSAL = [
    {"preset": "motion", "alpha": 20},
    {"preset": "motion", "filter": "butterworth", "band": (0.5, 5), "init": "zero"},
    {"preset": "pulse", "filter": "butterworth", "level": 2},
    {"preset": "pulse", "filter": "iir", "level": 0, "chroma": 0.2},
]


@pytest.mark.parametrize("settings", CAUSAL, ids=str)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_frame_by_frame_is_the_whole_clip(settings, channels, dtype):
    clip = moving_clip(15, 30, 41, channels=channels, dtype=dtype)
    want = jnd.magnify(clip, fps=30, **settings)
    with jnd.Magnifier(fps=30, **settings) as m:
        assert m.frames_seen == 0 and m.plan is None
        for t, frame in enumerate(clip):
            out = m.push(frame)
            assert out.dtype == dtype and np.array_equal(out, want[t])
            assert m.frames_seen == t + 1
        assert m.plan.settings == m.settings
        m.reset()
        assert m.frames_seen == 0
        assert np.array_equal(m.push(clip[0]), want[0])
    floats = jnd.magnify(clip, fps=30, dtype="float32", **settings)
    m = jnd.Magnifier(fps=30, dtype="float32", **settings)
    assert np.array_equal(np.stack(list(m.stream(clip))), floats)


def test_out(clip):
    want = jnd.magnify(clip, fps=30)
    m = jnd.Magnifier(fps=30)
    out = np.zeros(clip.shape[1:], np.uint8)
    for t, frame in enumerate(clip):
        assert m.push(frame, out=out) is out
        assert np.array_equal(out, want[t])
    # In place, and into views.
    m.reset()
    work = clip.copy()
    for frame in work:
        m.push(frame, frame)
    assert np.array_equal(work, want)
    m.reset()
    wide = np.zeros((*clip.shape[1:3], 4), np.uint8)
    for t, frame in enumerate(clip):
        m.push(np.ascontiguousarray(frame[:, ::-1])[:, ::-1], out=wide[..., :3])
        assert np.array_equal(wide[..., :3], want[t])
    assert not wide[..., 3].any()


def test_a_magnifier_keeps_to_one_kind_of_frame(clip):
    m = jnd.Magnifier(fps=30)
    m.push(clip[0])
    with pytest.raises(jnd.ArrayError, match="47x33|33, 47"):
        m.push(clip[1][:-1])
    with pytest.raises(jnd.ArrayError):
        m.push(clip[1][..., 0])
    with pytest.raises(jnd.ArrayError):
        m.push(clip[1].astype(np.uint16))
    with pytest.raises(jnd.ArrayTypeError):
        m.push(clip[1].astype(float))
    with pytest.raises(jnd.ArrayError):
        m.push(clip)
    with pytest.raises(jnd.ArrayError):
        m.push(clip[1], out=np.zeros((33, 46, 3), np.uint8))
    # A refused frame does not count.
    assert m.frames_seen == 1
    assert np.array_equal(m.push(clip[1]), jnd.magnify(clip[:2], fps=30)[1])


def test_finish(clip):
    m = jnd.Magnifier(fps=30)
    m.push(clip[0])
    assert m.finish() == []
    with pytest.raises(jnd.StateError, match="finish"):
        m.push(clip[1])
    assert m.finish() == []
    m.reset()
    m.push(clip[0])
    with pytest.raises(jnd.StateError), m:
        m.finish()
        m.push(clip[0])


def test_the_ideal_filter_cannot_stream():
    with pytest.raises(jnd.SettingsError, match="iir or butterworth|whole clip"):
        jnd.Magnifier(fps=30, preset="pulse")


def test_settings_and_plan(clip):
    m = jnd.Magnifier(fps="30000/1001", preset=jnd.Settings(alpha=3), r1=0.5, shape=clip.shape[1:])
    assert m.settings == jnd.Settings(alpha=3, r1=0.5)
    assert m.plan == m.settings.plan(clip.shape[1:], fps=(30000, 1001))
    assert "alpha=3.0" in repr(m)
    with pytest.raises(jnd.ArrayError):
        m.push(clip[0][:-1])
    with pytest.raises(jnd.UnknownSettingError):
        jnd.Magnifier(fps=30, alfa=1)
    with pytest.raises(TypeError, match="fps"):
        jnd.Magnifier()
    with pytest.raises(TypeError, match="pickle|Magnifier"):
        pickle.dumps(m)


def resident():
    """Bytes of memory in use now."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="memory in use is read the Linux way")
def test_memory_is_flat_over_ten_thousand_pushes():
    clip = moving_clip(8, 64, 64)
    m = jnd.Magnifier(fps=30)
    for t in range(1000):
        m.push(clip[t % 8])
    before = resident()
    for t in range(10_000):
        m.push(clip[t % 8])
    # One kept frame (12 KiB) in a hundred pushes would be 1.2 MB.
    assert resident() - before < 1_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="memory in use is read the Linux way")
def test_memory_is_flat_over_many_magnifiers():
    clip = moving_clip(2, 64, 64)
    for _ in range(50):
        jnd.magnify(clip, fps=30, threads=3)
    before = resident()
    for _ in range(300):
        jnd.Magnifier(fps=30, threads=3).push(clip[0])
    assert resident() - before < 2_000_000


def test_magnifiers_in_many_threads(clip):
    want = jnd.magnify(clip, fps=30, alpha=15)
    results = {}

    def whole(i):
        results[i] = all(np.array_equal(jnd.magnify(clip, fps=30, alpha=15, threads=2), want) for _ in range(5))

    def fresh(i):
        m = jnd.Magnifier(fps=30, alpha=15, threads=1 + i % 3)
        ok = True
        for _ in range(5):
            m.reset()
            ok &= all(np.array_equal(m.push(f), w) for f, w in zip(clip, want, strict=True))
        results[i] = ok

    threads = [threading.Thread(target=(whole, fresh)[i % 2], args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == dict.fromkeys(range(8), True)


def test_one_magnifier_in_many_threads():
    """Pushes are serialised: nothing is lost, nothing crashes, the count is right."""
    clip = moving_clip(1, 40, 50)
    still = clip[0]
    m = jnd.Magnifier(fps=30, threads=2)
    bad = []

    def work():
        for _ in range(200):
            if not np.array_equal(m.push(still), still):
                bad.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad and m.frames_seen == 1200


def test_the_lock_is_released():
    """While one thread magnifies, another one gets to run Python."""
    clip = np.random.default_rng(1).integers(0, 255, (40, 480, 640, 3), np.uint8)
    done = threading.Event()
    turns = 0

    def work():
        jnd.magnify(clip, fps=30, threads=1)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.wait(0.001):
        turns += 1
    thread.join()
    assert turns > 10


def in_child(m, clip, want, queue):
    try:
        m.push(clip[0])
        queue.put("pushed")
    except jnd.StateError as e:
        queue.put(str(e))
    # New ones work, and the old one is dropped without harm.
    del m
    queue.put(bool(np.array_equal(jnd.magnify(clip, fps=30, threads=3), want)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork(clip):
    want = jnd.magnify(clip, fps=30, threads=3)
    m = jnd.Magnifier(fps=30, threads=3)
    m.push(clip[0])
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=in_child, args=(m, clip, want, queue))
    child.start()
    assert "another process" in queue.get(timeout=60)
    assert queue.get(timeout=60) is True
    child.join(60)
    assert child.exitcode == 0
    # The parent's goes on.
    assert np.array_equal(m.push(clip[1]), want[1])


def test_settings_cross_to_other_processes(clip):
    settings = jnd.Settings("motion", alpha=12)
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        assert np.array_equal(pool.apply(spawned, (clip, settings)), jnd.magnify(clip, fps=30, preset=settings))


def spawned(clip, settings):
    return jnd.magnify(clip, fps=30, preset=settings)
