"""Settings: values, errors, text, equality, pickling."""

import copy
import fractions
import math
import pickle

import pytest

import jnd


def test_presets():
    assert list(jnd.presets()) == ["pulse", "motion", "vibration"]
    for name, preset in jnd.presets().items():
        assert preset.name == name and preset.description
        assert preset.settings == jnd.Settings(name)
        assert name in repr(preset)
    s = jnd.Settings("pulse")
    assert (s.pipeline, s.filter, s.alpha, s.level, s.chroma) == ("color", "ideal", 50.0, 4, 1.0)
    assert s.band == (50 / 60, 1.0)
    assert s.lambda_c is None and s.r1 is None and s.exaggeration is None and s.init is None
    s = jnd.Settings()
    assert s == jnd.Settings("motion") == jnd.Settings(None)
    assert (s.alpha, s.lambda_c, s.r1, s.r2, s.chroma, s.exaggeration, s.init) == (10, 16, 0.4, 0.05, 0.1, 2, "first")
    assert s.level is None and s.band is None and s.capture_fps is None


def test_changes():
    s = jnd.Settings("motion", filter="butterworth", band=(0.5, 3), alpha=20, capture_fps="30000/1001")
    assert (s.filter, s.band, s.alpha) == ("butterworth", (0.5, 3.0), 20.0)
    assert s.capture_fps == fractions.Fraction(30000, 1001)
    assert s.replace(alpha=10).alpha == 10
    assert jnd.Settings(s, alpha=1) == s.replace(alpha=1)
    assert jnd.Settings("pulse", band="48-60bpm").band == (0.8, 1.0)
    assert jnd.Settings(pipeline="color") == jnd.Settings("pulse")
    assert jnd.Settings("pulse", alpha=None) == jnd.Settings("pulse")


SOME = [
    jnd.Settings(),
    jnd.Settings("pulse"),
    jnd.Settings("vibration", capture_fps=240),
    jnd.Settings(filter="butterworth", band=(0, 1 / 3), init="zero"),
    jnd.Settings("pulse", filter="iir", r1=0.3, level=0),
    jnd.Settings("pulse", capture_fps=fractions.Fraction(24000, 1001)),
]


@pytest.mark.parametrize("s", SOME, ids=repr)
def test_text_equality_and_pickling(s):
    again = eval(repr(s), {"Settings": jnd.Settings})
    assert again == s and hash(again) == hash(s)
    assert jnd.Settings(**s.as_dict()) == s
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(s, protocol)) == s
    assert copy.copy(s) == s and copy.deepcopy(s) == s
    assert s != s.replace(alpha=s.alpha + 1)
    assert s != repr(s)
    assert len({s, again}) == 1


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"alpha": -1}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"alpha": math.inf}, "alpha"),
        ({"alpha": "much"}, "alpha"),
        ({"lambda_c": 0}, "lambda"),
        ({"lambda_c": math.nan}, "lambda"),
        ({"r1": 0.05}, "r2"),
        ({"r1": 1.5}, "r1"),
        ({"r2": math.nan}, "r2"),
        ({"chroma": 1.01}, "chroma"),
        ({"chroma": math.nan}, "chroma"),
        ({"exaggeration": 0}, "exaggeration"),
        ({"band": (1, 2)}, "band"),
        ({"filter": "ideal"}, "band"),
        ({"filter": "butterworth", "band": (2, 1)}, "band"),
        ({"filter": "butterworth", "band": (math.nan, 1)}, "band"),
        ({"filter": "butterworth", "band": (1, 2, 3)}, "band"),
        ({"filter": "butterworth", "band": "1-2"}, "band"),
        ({"filter": "fir"}, "iir"),
        ({"pipeline": "phase"}, "motion"),
        ({"init": "last"}, "first"),
        ({"level": 3}, "level"),
        ({"preset": "pulse", "level": 17}, "level"),
        ({"preset": "pulse", "level": 1.5}, "level"),
        ({"preset": "pulse", "level": -1}, "level"),
        ({"preset": "pulse", "lambda_c": 3}, "lambda"),
        ({"preset": "pulse", "r1": 0.5}, "r1"),
        ({"preset": "pulse", "init": "zero"}, "init"),
        ({"preset": "motion_phase"}, "pulse, motion, vibration"),
        ({"capture_fps": 0}, "capture_fps"),
        ({"capture_fps": -30}, "capture_fps"),
        ({"capture_fps": math.nan}, "capture_fps"),
        ({"capture_fps": math.inf}, "capture_fps"),
        ({"capture_fps": "fast"}, "capture_fps"),
        ({"capture_fps": "1/0"}, "capture_fps"),
        ({"capture_fps": None, "alpha": 1e400}, "alpha"),
    ],
)
def test_illegal_values(settings, text):
    with pytest.raises(jnd.SettingsError, match=text) as caught:
        jnd.Settings(**settings)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, jnd.Error)


def test_unknown_names():
    with pytest.raises(jnd.UnknownSettingError, match="did you mean `alpha`") as caught:
        jnd.Settings(alfa=3)
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, jnd.SettingsError)
    with pytest.raises(TypeError, match="the settings are"):
        jnd.Settings(zzz=1)
    with pytest.raises(TypeError, match="preset"):
        jnd.Settings(3)
    with pytest.raises(AttributeError):
        jnd.Settings().alpha = 3


@pytest.mark.parametrize("fps", [30, 30.0, "30", "30/1", (30, 1), fractions.Fraction(30)])
def test_rates(fps):
    assert jnd.Settings().plan((64, 64), fps=fps).filter_fps == 30.0


def test_plan():
    plan = jnd.Settings().plan((544, 960, 3), fps=30)
    assert plan.gains == pytest.approx((0, 5.902, 10, 10, 10, 10, 10, 0), abs=1e-3)
    low, high = plan.band_hz
    assert low < 0.5 < high < 15
    assert plan.band_bpm == (60 * low, 60 * high)
    assert plan.bins_hz == () and plan.precision == "float32" and not plan.is_identity
    assert plan.filter_bytes > 0 and plan.settings == jnd.Settings()
    assert "gains  0, 5.9021, 10" in str(plan) and "bpm" in str(plan)
    assert "5.9021" in repr(plan) and "band_hz" in repr(plan)
    assert plan == jnd.Settings().plan((544, 960, 3), fps=30) != jnd.Settings().plan((544, 961, 3), fps=30)
    pulse = jnd.Settings("pulse")
    assert pulse.plan((291, 592, 528, 3), fps=30).bins_hz == pytest.approx((9 / 291 * 30,))
    assert pulse.plan((592, 528, 3), fps=30, frames=301).bins_hz == pytest.approx((9 / 301 * 30, 10 / 301 * 30))
    assert jnd.Settings(alpha=0).plan((64, 64), fps=30).is_identity
    assert jnd.Settings().plan((64, 64), fps=30, depth=16).precision == "float64"


@pytest.mark.parametrize(
    ("settings", "arguments", "text"),
    [
        (jnd.Settings("vibration"), {"shape": (400, 64, 64), "fps": 30}, "half|below 15"),
        (jnd.Settings("pulse"), {"shape": (40, 64, 64, 3), "fps": 30}, "61 frames would do"),
        (jnd.Settings("pulse"), {"shape": (64, 64, 3), "fps": 30}, "number of frames"),
        (jnd.Settings(), {"shape": (64,), "fps": 30}, "shape"),
        (jnd.Settings(), {"shape": (9, 64, 64, 4), "fps": 30}, "shape"),
        (jnd.Settings(), {"shape": (64, 64), "fps": 30, "depth": 7}, "depth"),
        (jnd.Settings(), {"shape": (64, 64), "fps": math.nan}, "fps"),
        (jnd.Settings(), {"shape": (64, 64), "fps": None}, "fps"),
    ],
)
def test_plans_that_cannot_be(settings, arguments, text):
    with pytest.raises(jnd.SettingsError, match=text):
        settings.plan(**arguments)
