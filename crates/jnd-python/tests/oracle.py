"""The magnifier in float64 NumPy, in the form in which the literature states it.

Colour is converted to luma and chroma, a Laplacian pyramid is built, every band is filtered along time, multiplied by
its gain and collapsed. This is deliberately *not* the form that jnd computes (no band is ever formed there), so that
agreement means something.
"""

import numpy as np

FORWARD = np.array(
    [[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]], np.float32
).astype(np.float64)
INVERSE = np.array(
    [
        [1.0, -1.21889419e-06, 1.40199959],
        [1.0, -0.344135678, -0.714136156],
        [1.0, 1.77200007, 4.06298063e-07],
    ],
    np.float32,
).astype(np.float64)
BINOMIAL = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0
# Where float32 arithmetic may land: the bound of the reference comparison, in units of full scale.
TOLERANCE = 1e-5


def mirror(j, n):
    """Indices reflected about the end samples."""
    if n == 1:
        return np.zeros_like(j)
    m = np.mod(j, 2 * (n - 1))
    return np.where(m < n, m, 2 * (n - 1) - m)


def down(x, axis, taps):
    """Filter and keep every second sample."""
    n = x.shape[axis]
    i = 2 * np.arange((n + 1) // 2)
    return sum(t * np.take(x, mirror(i + k, n), axis) for k, t in zip(range(-2, 3), taps, strict=True))


def up(x, axis, m, taps):
    """Insert zeros, mirror at the end of the stuffed array, filter, crop to m samples."""
    n = x.shape[axis]
    shape = list(x.shape)
    shape[axis] = 2 * n
    z = np.zeros(shape)
    at = [slice(None)] * x.ndim
    at[axis] = slice(0, None, 2)
    z[tuple(at)] = x
    i = np.arange(m)
    return sum(t * np.take(z, mirror(i + k, 2 * n), axis) for k, t in zip(range(-2, 3), taps, strict=True))


def level_count(height, width):
    """Pyramid height by the floor rule."""
    count = 1
    while height >= 5 and width >= 5:
        count, height, width = count + 1, height // 2, width // 2
    return count


def gains(height, width, alpha, lambda_c, exaggeration):
    """Gain of each band, finest first."""
    levels = level_count(height, width)
    g = np.zeros(levels)
    if alpha == 0:
        return g
    for level in range(1, levels - 1):
        wavelength = np.hypot(height, width) / 3 / 2 ** (levels - 1 - level)
        g[level] = min(alpha, exaggeration * (wavelength * (1 + alpha) / lambda_c - 1))
    return g


def iir(x, r1, r2):
    """Difference of two running averages."""
    a, b = x[0].copy(), x[0].copy()
    out = np.zeros_like(x)
    for t in range(1, len(x)):
        a = (1 - r1) * a + r1 * x[t]
        b = (1 - r2) * b + r2 * x[t]
        out[t] = a - b
    return out


def butterworth(x, low, high, rate, init):
    """Difference of two first-order low-passes."""

    def low_pass(f):
        if f == 0:
            # A cutoff of 0 Hz passes nothing new: the state stays where it started.
            return np.broadcast_to(x[0] if init == "first" else np.zeros_like(x[0]), x.shape).copy()
        c = np.tan(np.pi * f / rate)
        b0, a1 = c / (1 + c), (c - 1) / (c + 1)
        last_x = x[0] if init == "first" else np.zeros_like(x[0])
        last_y = last_x
        out = np.empty_like(x)
        for t in range(len(x)):
            out[t] = b0 * x[t] + b0 * last_x - a1 * last_y
            last_x, last_y = x[t], out[t]
        return out

    return low_pass(high) - low_pass(low)


def ideal(x, low, high, rate):
    """Keep the transform's bins strictly inside the band, on one side only."""
    n = len(x)
    spectrum = np.fft.fft(x, axis=0)
    f = np.arange(n) / n * rate
    spectrum[~((low < f) & (f < high))] = 0
    return np.fft.ifft(spectrum, axis=0).real


def enlarge(x, axis, m):
    """Bilinear interpolation, pixel centres aligned."""
    n = x.shape[axis]
    s = (np.arange(m) + 0.5) * n / m - 0.5
    f = np.floor(s).astype(int)
    shape = [1] * x.ndim
    shape[axis] = m
    w = (s - f).reshape(shape)
    return (1 - w) * np.take(x, np.clip(f, 0, n - 1), axis) + w * np.take(x, np.clip(f + 1, 0, n - 1), axis)


def change(plane, pipeline, temporal, weights):
    """What is added to one plane (T, H, W); ``weights`` are gains, or (level, alpha) for colour."""
    height, width = plane.shape[1:]
    if pipeline == "color":
        level, alpha = weights
        x = plane
        for _ in range(level):
            for axis in (1, 2):
                if x.shape[axis] > 1:
                    x = down(x, axis, BINOMIAL)
        return enlarge(enlarge(alpha * temporal(x), 1, height), 2, width)
    taps = BINOMIAL * np.sqrt(2)
    bands, x = [], plane
    for _ in range(len(weights) - 1):
        low = down(down(x, 2, taps), 1, taps)
        bands.append(x - up(up(low, 1, x.shape[1], taps), 2, x.shape[2], taps))
        x = low
    bands.append(x)
    out = np.zeros_like(bands[-1])
    for band, gain in zip(reversed(bands), reversed(weights), strict=True):
        if out.shape != band.shape:
            out = up(up(out, 1, band.shape[1], taps), 2, band.shape[2], taps)
        if gain:
            out = out + gain * temporal(band)
    return out


def magnify(frames, *, fps, pipeline, filter, alpha, chroma=0.0, lambda_c=16.0, exaggeration=2.0, level=4,
            r1=0.4, r2=0.05, band=None, init="first", capture_fps=None, channels="rgb", depth=None):
    """Unclipped float64 result in units where 1.0 is full scale."""
    rate = float(capture_fps or fps)
    top = 2 ** (depth or 8 * frames.dtype.itemsize) - 1
    x = frames.astype(np.float64) / top
    temporal = {
        "iir": lambda v: iir(v, r1, r2),
        "butterworth": lambda v: butterworth(v, *band, rate, init),
        "ideal": lambda v: ideal(v, *band, rate),
    }[filter]
    height, width = x.shape[1:3]
    weights = (level, alpha) if pipeline == "color" else gains(height, width, alpha, lambda_c, exaggeration)
    if x.ndim == 3:
        return x + change(x, pipeline, temporal, weights)
    rgb = x if channels == "rgb" else x[..., ::-1]
    planes = np.einsum("ij,thwj->ithw", FORWARD, rgb)
    deltas = [change(p, pipeline, temporal, weights) for p in planes]
    ycc = np.stack([planes[0] + deltas[0], planes[1] + chroma * deltas[1], planes[2] + chroma * deltas[2]])
    # The conversion there and back is the identity to 3e-8; the result is stated relative to the frames themselves.
    out = np.einsum("ij,jthw->thwi", INVERSE, ycc)
    return out if channels == "rgb" else out[..., ::-1]
