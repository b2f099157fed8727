"""Files: magnify_file, the console script, Ctrl-C."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import moving_clip

import jnd


def write_y4m(path, planes, *, fps="30:1", cut=0):
    """Luma (T, H, W) and, for 4:4:4, two more planes of its size."""
    planes = planes if isinstance(planes, tuple) else (planes,)
    tag = "Cmono" if len(planes) == 1 else "C444"
    t, h, w = planes[0].shape
    data = f"YUV4MPEG2 W{w} H{h} F{fps} Ip A1:1 {tag}\n".encode()
    for i in range(t):
        data += b"FRAME\n" + b"".join(p[i].tobytes() for p in planes)
    path.write_bytes(data[: len(data) - cut])


def read_y4m(path):
    """Header and luma of a mono or 4:4:4 file."""
    data = pathlib.Path(path).read_bytes()
    head, rest = data.split(b"\n", 1)
    tags = {t[:1].decode(): t[1:].decode() for t in head.split()[1:]}
    w, h = int(tags["W"]), int(tags["H"])
    planes = 1 if tags["C"] == "mono" else 3
    frames = np.frombuffer(rest, np.uint8).reshape(-1, 6 + planes * w * h)
    return tags, frames[:, 6:].reshape(-1, planes, h, w)


def test_a_file_is_its_planes(tmp_path):
    """What a file gives is what its planes give as gray clips, chroma at its share of the gain."""
    y, u, v = (moving_clip(12, 40, 51, channels=1, seed=s) for s in range(3))
    src, dst = tmp_path / "in.y4m", tmp_path / "out.y4m"
    write_y4m(src, (y, u, v))
    report = jnd.magnify_file(src, dst, alpha=20, chroma=0.5)
    assert (report.frames_in, report.frames_out, report.truncated) == (12, 12, None)
    assert report.plan.settings == jnd.Settings(alpha=20, chroma=0.5)
    assert report.seconds > 0 and "yuv4mpeg2" in report.decoder and report.notes == ()
    assert "12 frames in" in repr(report)
    tags, out = read_y4m(dst)
    assert tags["F"] == "30:1"
    assert np.array_equal(out[:, 0], jnd.magnify(y, fps=30, alpha=20))
    assert not np.array_equal(out[:, 1], u)
    write_y4m(src, y)
    jnd.magnify_file(str(src), str(dst), preset="pulse", band=(2, 10), overwrite=True)
    assert np.array_equal(read_y4m(dst)[1][:, 0], jnd.magnify(y, fps=30, preset="pulse", band=(2, 10)))


def test_raw_frames_with_their_geometry(tmp_path):
    y = moving_clip(12, 40, 51, channels=1, seed=4)
    src, dst = tmp_path / "in.yuv", tmp_path / "out.y4m"
    src.write_bytes(y.tobytes())
    report = jnd.magnify_file(src, dst, raw="51x40:gray:30", alpha=20)
    assert (report.frames_in, report.decoder) == (12, "raw")
    tags, out = read_y4m(dst)
    assert tags["F"] == "30:1"
    assert np.array_equal(out[:, 0], jnd.magnify(y, fps=30, alpha=20))
    with pytest.raises(jnd.SettingsError, match="640x480:yuv420p:25"):
        jnd.magnify_file(src, dst, raw="51x40", overwrite=True)
    with pytest.warns(RuntimeWarning, match="cut off after 12 whole frames"):
        report = jnd.magnify_file(src, dst, raw="50x40:gray:30", overwrite=True)
    assert "480 of 2000 bytes" in report.truncated


def test_parts_of_a_file(tmp_path):
    y = moving_clip(30, 24, 24, channels=1)
    src, dst = tmp_path / "in.y4m", tmp_path / "out.y4m"
    write_y4m(src, y)
    assert jnd.magnify_file(src, dst, drop_last=10).frames_out == 20
    assert np.array_equal(read_y4m(dst)[1][:, 0], jnd.magnify(y[:20], fps=30))
    assert jnd.magnify_file(src, dst, start=0.5, end=0.9, overwrite=True).frames_out == 12
    assert np.array_equal(read_y4m(dst)[1][:, 0], jnd.magnify(y[15:27], fps=30))


def test_progress(tmp_path):
    y = moving_clip(50, 24, 24, channels=1)
    src, dst = tmp_path / "in.y4m", tmp_path / "out.y4m"
    write_y4m(src, y)
    calls = []
    jnd.magnify_file(src, dst, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (50, 50)
    calls.clear()
    jnd.magnify(y, fps=30, preset="pulse", band=(1, 10), progress=lambda *a: calls.append(a))
    assert calls[-1] == (100, 100)

    def fail(done, total):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        jnd.magnify(y, fps=30, progress=fail)
    dst.unlink()
    with pytest.raises(RuntimeError, match="from the callback"):
        jnd.magnify_file(src, dst, progress=fail)
    assert jnd.magnify(y, fps=30, progress=False) is not None
    with pytest.raises(jnd.SettingsError, match="progress"):
        jnd.magnify(y, fps=30, progress=3)


def test_a_bar(capsys):
    pytest.importorskip("tqdm")
    jnd.magnify(moving_clip(50, 24, 24, channels=1), fps=30, progress=True)
    assert "50/50" in capsys.readouterr().err


def test_no_bar_without_tqdm(monkeypatch, clip):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(jnd.SettingsError, match="pip install tqdm"):
        jnd.magnify(clip, fps=30, progress=True)


def test_files_that_cannot_be(tmp_path):
    src, dst = tmp_path / "in.y4m", tmp_path / "out.y4m"
    with pytest.raises(jnd.VideoNotFoundError, match=r"in\.y4m") as caught:
        jnd.magnify_file(src, dst)
    assert isinstance(caught.value, FileNotFoundError) and isinstance(caught.value, jnd.VideoError)
    src.write_bytes(b"")
    with pytest.raises(jnd.VideoError, match="empty"):
        jnd.magnify_file(src, dst)
    src.write_bytes(b"not a video at all, whatever it is called")
    with pytest.raises(jnd.VideoError, match=r"in\.y4m"):
        jnd.magnify_file(src, dst)
    write_y4m(src, moving_clip(8, 16, 16, channels=1))
    for bad in [{"codec": "h266"}, {"pix_fmt": "yuv9"}, {"decoder": "none"}, {"encoder": "none"}, {"start": -1.0}, {"threads": -1}]:
        with pytest.raises(jnd.SettingsError, match=next(iter(bad))):
            jnd.magnify_file(src, dst, **bad)
    with pytest.raises(jnd.SettingsError, match="Hz"):
        jnd.magnify_file(src, dst, preset="vibration")
    with pytest.raises(jnd.UnknownSettingError):
        jnd.magnify_file(src, dst, alfa=1)
    with pytest.raises(TypeError):
        jnd.magnify_file(3, dst)
    with pytest.raises(jnd.VideoError):
        jnd.magnify_file(src, tmp_path / "none" / "out.y4m")
    assert os.listdir(tmp_path) == ["in.y4m"]
    dst.write_bytes(b"mine")
    with pytest.raises(jnd.VideoError, match="exists"):
        jnd.magnify_file(src, dst)
    assert dst.read_bytes() == b"mine"


def test_a_file_that_is_cut_off(tmp_path):
    y = moving_clip(8, 16, 16, channels=1)
    src, dst = tmp_path / "in.y4m", tmp_path / "out.y4m"
    write_y4m(src, y, cut=100)
    with pytest.warns(RuntimeWarning, match="cut off after 7"):
        report = jnd.magnify_file(src, dst)
    assert report.frames_out == 7 and "7 whole frames" in report.truncated
    assert np.array_equal(read_y4m(dst)[1][:, 0], jnd.magnify(y[:7], fps=30))


def test_the_command():
    script = shutil.which("jnd", path=os.path.dirname(sys.executable))
    commands = [[sys.executable, "-m", "jnd"]] + ([[script]] if script else [])
    for command in commands:
        run = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert run.stdout.strip() == f"jnd {jnd.__version__}"
        run = subprocess.run([*command, "magnify", "none.mp4", "out.mp4"], capture_output=True, text=True)
        assert run.returncode == 1 and "none.mp4" in run.stderr and "Traceback" not in run.stderr
        run = subprocess.run([*command, "--nonsense"], capture_output=True, text=True)
        assert run.returncode == 2


def test_doctor():
    facts = jnd.doctor()
    assert facts["jnd"] == jnd.__version__ and "threads" in facts["processor"]
    run = subprocess.run([sys.executable, "-m", "jnd", "doctor"], capture_output=True, text=True, check=True)
    for what, how in facts.items():
        assert what in run.stdout and how.splitlines()[0] in run.stdout


def test_the_command_says_the_same(tmp_path):
    """An error of the command and of the library has the same text."""
    write_y4m(tmp_path / "in.y4m", moving_clip(8, 16, 16, channels=1))
    run = subprocess.run(
        [sys.executable, "-m", "jnd", "magnify", "in.y4m", "out.y4m", "--preset", "vibration"],
        capture_output=True, text=True, cwd=tmp_path,
    )
    with pytest.raises(jnd.SettingsError) as caught:
        jnd.magnify_file(tmp_path / "in.y4m", tmp_path / "out.y4m", preset="vibration")
    assert run.returncode == 1
    assert str(caught.value).removeprefix(str(tmp_path) + os.sep) in run.stderr


INTERRUPTED = {
    "array": """
clip = np.random.default_rng(1).integers(0, 255, (2000, 180, 240, 3), np.uint8)
print("ready", flush=True)
while True:
    jnd.magnify(clip, fps=30, threads=1)
""",
    "ideal": """
clip = np.random.default_rng(1).integers(0, 255, (1500, 180, 240, 3), np.uint8)
print("ready", flush=True)
while True:
    jnd.magnify(clip, fps=30, preset="pulse", band=(1, 5), threads=1)
""",
    "stream": """
frame = np.random.default_rng(1).integers(0, 255, (480, 640, 3), np.uint8)
m = jnd.Magnifier(fps=30)
print("ready", flush=True)
for out in m.stream(itertools.repeat(frame)):
    pass
""",
    "file": """
os.mkfifo("in.y4m")
print("ready", flush=True)
jnd.magnify_file("in.y4m", "out.y4m")
""",
}


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
@pytest.mark.parametrize("what", INTERRUPTED)
def test_ctrl_c(tmp_path, what):
    """KeyboardInterrupt within a second, and nothing half written."""
    # A shell that starts tests in the background has SIGINT ignored, which children inherit.
    code = "import itertools, os, signal\nimport numpy as np\nimport jnd\n"
    code += "signal.signal(signal.SIGINT, signal.default_int_handler)\ntry:\n" + "".join(
        f"    {line}\n" for line in INTERRUPTED[what].strip().splitlines()
    ) + "except KeyboardInterrupt:\n    print('interrupted', flush=True)\n    os._exit(0)\n"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path) as child:
        interrupt(child, tmp_path, what)


def interrupt(child, tmp_path, what):
    assert child.stdout.readline() == "ready\n"
    stop = threading.Event()
    if what == "file":
        # A writer that never ends.
        def feed():
            frame = b"FRAME\n" + bytes(64 * 64)
            try:
                with open(tmp_path / "in.y4m", "wb") as f:
                    f.write(b"YUV4MPEG2 W64 H64 F30:1 Ip A1:1 Cmono\n")
                    while not stop.is_set():
                        f.write(frame)
                        time.sleep(0.001)
            except BrokenPipeError:
                pass

        feeder = threading.Thread(target=feed)
        feeder.start()
    time.sleep(0.4)
    sent = time.monotonic()
    # Whatever goes wrong, the test ends.
    deadline = threading.Timer(30, child.kill)
    deadline.start()
    child.send_signal(signal.SIGINT)
    said = child.stdout.readline()
    took = time.monotonic() - sent
    child.wait(10)
    deadline.cancel()
    stop.set()
    assert said == "interrupted\n"
    assert took < 1
    assert [f for f in os.listdir(tmp_path) if f != "in.y4m"] == []
    if what == "file":
        feeder.join(10)
