"""Measures how far an output is from the truth, in one pass over chunks of bounded size.

Every figure of a verdict comes from here: largest absolute and relative error,
the error ratio rms(x - t) / rms(t) of the worst slice, the worst single element, and counts of NaN
and Inf. On a task's own inputs each index of each dimension is a slice, since a wrong column is a
small part of every row. On changed inputs, where rounding can decide a whole row (such as which of
two large scores a softmax picks), slices are those of the leading dimension.

Where the truth is infinite, the same infinity is exact and anything else counts as NaN. All
sizes are those of finite elements.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import torch

# Elements looked at together, which bounds every temporary: small enough for a
# CPU's cache, large enough to keep a GPU busy.
CHUNK = {"cpu": 1 << 18, "cuda": 1 << 26}
READY = 1 << 18  # elements of a truth whose sizes are kept: 6 MiB

# By an output's dtype. float64 comes out of references that use such constants.
FLOOR = {torch.float64: 1e-4, torch.float32: 1e-4, torch.float16: 2e-3, torch.bfloat16: 1e-2}
STOCK = {torch.float64: 1e-4, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}
TF32_FLOOR = 2e-3  # ten bits of a product's factors, whatever it is stored as
SLACK = 4.0  # how much worse than the eager reference a kernel may be
MOST = 0.25  # however bad the reference is: its sums may saturate, a kernel's need not
OUTLIER = 16.0  # how much worse than the slice's bound one element may be
LEAST = 16  # elements of a slice along another dimension than the leading one
SMALL_SLICE = 0.01  # a slice's rms counts as at least this share of the whole


@dataclass
class Slice:
    """The slice of an output that is furthest off."""

    ratio: float
    allowed: float
    place: str  # such as "batch 1, head 3"


@dataclass
class Errors:
    max_abs: float = 0.0
    max_rel: float = 0.0
    ratio: float = 0.0  # worst slice
    outlier: float = 0.0  # worst |x - t| / (|t| + rms(t))
    not_finite: int = 0  # NaN, and infinities in other places than the truth's
    stock_close: bool = True  # allclose(reference, x) as KernelBench asks
    near: float = 1.0  # the share of elements that are
    worst: Slice | None = None  # by the sidecar's tolerance (sidecar.py)


def sliced(x: torch.Tensor) -> torch.Tensor:
    """One-dimensional data is one slice."""
    return x.reshape(1, -1) if x.dim() < 2 or x.numel() == 0 else x


def rows(x: torch.Tensor) -> torch.Tensor:
    """Views x as slices along the leading dimension."""
    return x.reshape(1, -1) if x.dim() < 2 or x.shape[0] == 0 else x.reshape(x.shape[0], -1)


def _axes(t: torch.Tensor, every: bool) -> list[int]:
    """The dimensions whose slices are compared."""
    others = [i for i, n in enumerate(t.shape) if i and n > 1 and t.numel() // n >= LEAST]
    return [0, *(others if every else [])]


def _pieces(t: torch.Tensor) -> Iterator[tuple]:
    """The places of chunks that cover the tensor, each at most CHUNK: numbers, then a range."""
    chunk, first = CHUNK[t.device.type], 0
    inner = t.numel() // t.shape[0]
    while first < t.dim() - 1 and inner > chunk:
        first += 1
        inner //= t.shape[first]
    step = max(1, chunk // max(1, inner))
    for lead in itertools.product(*map(range, t.shape[:first])):
        for start in range(0, t.shape[first], step):
            yield *lead, slice(start, start + step)


def _slice_sums(x: torch.Tensor, axis: int) -> torch.Tensor:
    """The sums of the slices along that dimension."""
    others = [i for i in range(x.dim()) if i != axis]
    return x.sum(others) if others else x


def _add_squares(totals: dict[int, torch.Tensor], at: tuple, squares: torch.Tensor) -> None:
    """Adds a chunk's squares to the sums of the slices in which it lies."""
    first = len(at) - 1
    for axis, total in totals.items():
        if axis < first:
            total[at[axis]] += squares.sum()
        elif axis == first:
            total[at[axis]] += _slice_sums(squares, 0)
        else:
            total += _slice_sums(squares, axis - first)


def _zeros(t: torch.Tensor, axes: list[int]) -> dict[int, torch.Tensor]:
    return {a: torch.zeros(t.shape[a], dtype=torch.float64, device=t.device) for a in axes}


def _squares(ts: torch.Tensor, axes: list[int], infinite: bool = False) -> dict[int, torch.Tensor]:
    """The sums of squares of the slices along these dimensions, in double precision."""
    totals = _zeros(ts, axes)
    for at in _pieces(ts):
        chunk = ts[at]
        chunk = chunk.masked_fill(chunk.isinf(), 0) if infinite else chunk
        _add_squares(totals, at, chunk.double().square())
    return totals


def finite(x: torch.Tensor, truth: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both without the truth's infinities: zeros there, NaN in x where it has anything else."""
    at, same = truth.isinf(), x == truth
    x = x.masked_fill(at & same, 0).masked_fill_(at & ~same, float("nan"))
    return x, truth.masked_fill(at, 0)


def has_infinities(t: torch.Tensor) -> bool:
    return t.is_floating_point() and t.numel() > 0 and bool(torch.stack(torch.aminmax(t)).isinf().any())


@dataclass
class Sizes:
    """The scale of errors, by dimension: rms(t) of each slice, with its floor, and the number of its
    finite elements."""

    rms: dict[int, torch.Tensor]
    counts: dict[int, int | torch.Tensor]
    ready: "Ready | None" = None
    infinite: bool = False  # the truth has infinities

    def ratio(self, wrong: dict[int, torch.Tensor]) -> list[torch.Tensor]:
        """The error ratio of the worst slice along each dimension."""
        return [
            ((w / self.counts[a]).sqrt() / self.rms[a].clamp_min(1e-300)).max()
            for a, w in wrong.items()
        ]

    def leading(self, at: tuple, dims: int) -> torch.Tensor:
        """The rms of the leading dimension's slices in which a chunk of that place lies."""
        found = self.rms[0][at[0]]
        return found.reshape(-1, *[1] * (dims - 1)) if len(at) == 1 else found


class Ready:
    """The shared part of comparisons with a small truth, computed once. Most outputs are small, and
    then calls into torch take longer than computing."""

    def __init__(self, truth: torch.Tensor, by: Sizes) -> None:
        self.given = truth if by.infinite else None
        self.truth = finite(truth, truth)[1].double() if by.infinite else truth.double()
        size = self.truth.abs()
        self.relative = size.clamp_min(1e-30)
        self.outlier = size.add_(by.leading((slice(None),), truth.dim())).clamp_min_(1e-300)
        self.stock: tuple[torch.Tensor, torch.Tensor] | None = None

    def allowed(self, reference: torch.Tensor, tolerance: float) -> torch.Tensor | None:
        """The error that allclose allows for a finite reference; None: call allclose itself."""
        if self.stock is None or self.stock[0] is not reference:
            if not bool(torch.isfinite(reference).all()):
                return None
            self.stock = reference, sliced((tolerance * reference).abs_().add_(tolerance))
        return self.stock[1]


def sizes(truth: torch.Tensor, infinite: bool | None = None, every: bool = False) -> Sizes:
    """`infinite`: whether the truth has infinities; None asks the device. `every`: of the slices of
    all dimensions."""
    ts = sliced(truth)
    infinite = has_infinities(truth) if infinite is None else infinite
    squares = _squares(ts, _axes(ts, every), infinite)
    counts: dict[int, int | torch.Tensor] = {a: max(1, ts.numel() // len(s)) for a, s in squares.items()}
    count: int | torch.Tensor = max(1, ts.numel())
    if infinite:
        known = ts.isfinite()
        counts = {a: _slice_sums(known, a).clamp_min_(1) for a in squares}
        count = counts[0].sum()
    least = (squares[0].sum() / count).sqrt() * SMALL_SLICE
    rms = {a: torch.maximum((s / counts[a]).sqrt(), least) for a, s in squares.items()}
    by = Sizes(rms, counts, None, infinite)
    if 0 < truth.numel() <= min(READY, CHUNK[truth.device.type]):
        by.ready = Ready(ts, by)
    return by


def measure(x: torch.Tensor, truth: torch.Tensor, reference: torch.Tensor | None,
            by: Sizes | None = None) -> Errors:  # fmt: skip
    """Errors of x against the truth, which has no NaN. `reference` is the eager result for the stock
    check; None skips that check. `by` is the truth's sizes, if already known."""
    if truth.numel() == 0:
        return Errors()
    xs, ts = sliced(x), sliced(truth)
    rs = sliced(reference) if reference is not None else None
    tolerance = STOCK.get(x.dtype, 0.0)
    by = by or sizes(truth)
    if by.ready is not None:
        return _measure_small(xs, rs, reference, by, tolerance)
    wrong = _zeros(ts, list(by.rms))
    # On the device until the end: each question to it would wait for its answer.
    most = torch.zeros(3, dtype=torch.float64, device=ts.device)
    bad_count = torch.zeros((), dtype=torch.int64, device=ts.device)
    near = torch.zeros((), dtype=torch.int64, device=ts.device)
    for at in _pieces(ts):
        a, b = xs[at], ts[at]
        if rs is not None:
            near += torch.isclose(a, rs[at], atol=tolerance, rtol=tolerance).sum()
        if by.infinite:
            a, b = finite(a, b)
        d = (a.double() - b.double()).abs_()
        bad = ~(d < float("inf"))  # NaN, too
        bad_count += bad.sum()
        d.masked_fill_(bad, float("inf"))
        _add_squares(wrong, at, d.square())
        most = torch.maximum(most, _worst(d, b, by.leading(at, d.dim())))
    ratio = torch.stack(by.ratio(wrong)).max()
    found = [*most, ratio, bad_count.double()] + ([near.double()] if rs is not None else [])
    return _errors(torch.stack(found).tolist(), truth.numel())


def _measure_small(
    xs: torch.Tensor, rs: torch.Tensor | None, reference: torch.Tensor | None, by: Sizes,
    tolerance: float,
) -> Errors:  # fmt: skip
    """The same figures, bit for bit, with fewer calls into torch."""
    ready, infinite = by.ready, float("inf")
    own = xs if ready.given is None else finite(xs, ready.given)[0]
    d = (own.double() - ready.truth).abs_().nan_to_num_(nan=infinite, posinf=infinite)
    squares = d.square()
    found = [d.max(), (d / ready.relative).max(), (d / ready.outlier).max(),
             (d == infinite).sum(dtype=torch.float64)]  # fmt: skip
    if reference is not None:
        allowed = ready.allowed(reference, tolerance)
        near = (
            torch.isclose(xs, rs, atol=tolerance, rtol=tolerance)
            if allowed is None or xs.dtype != rs.dtype
            else (xs - rs).abs_() <= allowed
        )
        found.append(near.sum(dtype=torch.float64))
    figures = torch.stack([*by.ratio({a: _slice_sums(squares, a) for a in by.rms}), *found]).tolist()
    ratios = figures[: len(by.rms)]
    return _errors([*figures[len(ratios):][:3], max(ratios), *figures[len(ratios) + 3:]], xs.numel())


def _errors(figures: list[float], count: int) -> Errors:
    """Converts the device's figures; the last is present only with a reference."""
    e = Errors(figures[0], figures[1], figures[3], figures[2], int(figures[4]))
    if len(figures) > 5:
        e.near = figures[5] / count
        e.stock_close = int(figures[5]) == count
    return e


def _worst(d: torch.Tensor, t: torch.Tensor, rms: torch.Tensor) -> torch.Tensor:
    """The largest of d, d / |t| and d / (|t| + rms)."""
    size = t.double().abs()
    relative = size.clamp_min(1e-30)
    torch.div(d, relative, out=relative)
    size.add_(rms).clamp_min_(1e-300)
    torch.div(d, size, out=size)
    return torch.stack([d.max(), relative.max(), size.max()])


def worst_slice(x: torch.Tensor, truth: torch.Tensor, axes: list[int]) -> tuple[float, list[int]]:
    """The error ratio of the worst slice, one for each index of these dimensions, and that index.
    NaN and Inf count as infinitely far off."""
    if truth.numel() == 0:
        return 0.0, [0] * len(axes)
    xs, ts = (_slices(t, axes) for t in (x, truth))
    squares, wrong = _squares(ts, [0])[0], _zeros(ts, [0])
    for at in _pieces(ts):
        d = xs[at].double() - ts[at].double()
        _add_squares(wrong, at, d.square_().nan_to_num_(nan=float("inf")))
    least = squares.mean().sqrt() * SMALL_SLICE
    ratio = wrong[0].sqrt() / torch.maximum(squares.sqrt(), least).clamp_min(1e-300)
    at = int(ratio.argmax())
    shape = [truth.shape[a] for a in axes]
    place = torch.unravel_index(torch.tensor(at), shape) if shape else []
    return float(ratio[at]), [int(i) for i in place]


def _slices(x: torch.Tensor, axes: list[int]) -> torch.Tensor:
    """Views x, or a copy, as one row for each index of these dimensions."""
    rows = 1
    for a in axes:
        rows *= x.shape[a]
    return x.movedim(axes, list(range(len(axes)))).reshape(rows, -1)


def floor(dtype: torch.dtype, precision: str = "") -> float:
    """The error ratio that is always accepted."""
    return max(FLOOR[dtype], TF32_FLOOR) if precision == "tf32" else FLOOR[dtype]


def bounds(dtype: torch.dtype, own: Errors, precision: str = "") -> tuple[float, float]:
    """The bounds of the hardened protocol, for the ratio of the worst slice and for the worst
    element, given the eager reference's own errors."""
    least = floor(dtype, precision)
    ratio = min(max(SLACK * own.ratio, least), MOST)
    return ratio, max(OUTLIER * least, SLACK * own.outlier)


def within(e: Errors, limit: tuple[float, float]) -> bool:
    return e.not_finite == 0 and e.ratio <= limit[0] and e.outlier <= limit[1]
