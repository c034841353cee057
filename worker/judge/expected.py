"""The right answer to one trial, and whether an output matches it."""

from dataclasses import dataclass, field

import torch
from judge import compare
from judge.sidecar import Tolerance
from judge.traces import Alias
from shared import structure
from shared.limits import Unusable

# How much worse than the floor the eager reference itself may be on scaled inputs: beyond
# that the problem is ill conditioned, and another order of adding would be wrong.
CONDITION = 10.0

BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

Judged = tuple[compare.Errors, tuple[float, float] | None, bool]


def bits_of(t: torch.Tensor) -> torch.Tensor:
    return t.view(BITS[t.element_size()])


@dataclass
class Expected:
    """One trial's right answer: outputs, followed by the inputs that the reference changes."""

    seed: int
    variant: str
    eager: list[torch.Tensor]
    truth: list[torch.Tensor]
    structure: structure.Structure  # of the result; a tensor is its index in those lists
    args: list  # forward's arguments
    precision: str = ""
    tolerance: Tolerance | None = None  # the task's own, besides the hardened protocol
    buffers: dict[str, torch.Tensor] = field(default_factory=dict)  # eager, after the call
    truth_buffers: dict[str, torch.Tensor] = field(default_factory=dict)
    infinite: set[int] = field(default_factory=set)  # outputs with infinities
    # Of a changed input: the elements that are left alone, zeros in `eager` and `truth`, and what
    # all elements are before the call.
    left: dict[int, tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict)
    written: list[int] = field(default_factory=list)  # indices of these inputs
    # Of the outputs: what they are views of, and how the eager model's lay in memory.
    aliases: list[frozenset[Alias]] = field(default_factory=list)
    strides: list[tuple[int, ...]] = field(default_factory=list)
    overlapping_outputs: frozenset[tuple[int, int]] = frozenset()  # pairs in the same memory
    limits: dict[int, tuple[float, float]] = field(default_factory=dict)
    sizes: dict[int, compare.Sizes] = field(default_factory=dict)
    own: dict[int, compare.Errors] = field(default_factory=dict)  # the eager reference's
    as_written: bool = False  # weights of ones and zeros are as constructed

    @property
    def single(self) -> bool:
        """Whether the output is a tensor, not a list or tuple of tensors."""
        return "tensor" in self.structure

    def judge(self, i: int, x: torch.Tensor) -> "Judged":
        """Judges x as output i. The bounds from the eager reference's own error are computed
        once."""
        x = self.outside(i, x)
        if i not in self.limits and self.truth[i].is_floating_point():
            dtype = self.eager[i].dtype
            self.limits[i] = compare.bounds(dtype, self.own_errors(i), self.precision)
        e, limit, right = judge_output(
            x, self.truth[i], self.eager[i], self.limits.get(i), by=self.sizes.get(i)
        )
        if self.as_written and not right and limit is not None:
            right = _rounding(e, self.own_errors(i), limit)
        if self.tolerance is not None and limit is not None and i not in self.left:
            pair = compare.finite(x, self.truth[i]) if i in self.infinite else (x, self.truth[i])
            e.worst = self.tolerance.worst(*pair)
            right = right and e.worst.ratio <= e.worst.allowed
        return e, limit, right

    def strays(self, i: int, x: torch.Tensor) -> torch.Tensor:
        """Which elements of a changed input should have been left alone."""
        left, before = self.left[i]
        return left & (bits_of(x.contiguous()) != bits_of(before.contiguous()))

    def outside(self, i: int, x: torch.Tensor) -> torch.Tensor:
        """The elements of a changed input that the reference changes; zero for those that it leaves
        alone, and wrong where x does not."""
        if i not in self.left:
            return x
        wrong = float("nan") if x.is_floating_point() else 1
        return x.masked_fill(self.left[i][0], 0).masked_fill_(self.strays(i, x), wrong)

    def put_back(self, i: int, x: torch.Tensor) -> torch.Tensor:
        """A changed input, with the elements that are left alone."""
        return torch.where(*self.left[i], x) if i in self.left else x

    def outputs(self) -> list[torch.Tensor]:
        return self.eager[: len(self.eager) - len(self.written)]

    def name(self, i: int) -> str:
        outputs = len(self.outputs())
        return f"output {i}" if i < outputs else f"input {self.written[i - outputs]} after the call"

    def judge_buffer(self, name: str, x: torch.Tensor) -> "Judged":
        """Judges x as the buffer of that name after the call."""
        truth, eager = self.truth_buffers[name], self.buffers[name]
        e, limit, right = judge_output(x, truth, eager, precision=self.precision)
        if not right and limit is not None:
            right = _rounding(e, compare.measure(eager, truth, None), limit)
        return e, limit, right

    def own_errors(self, i: int) -> compare.Errors:
        if i not in self.own:
            plain = self.variant == "plain"
            self.sizes[i] = compare.sizes(self.truth[i], i in self.infinite, every=plain)
            self.own[i] = compare.measure(self.eager[i], self.truth[i], None, self.sizes[i])
        return self.own[i]

    def reference_is_right(self, i: int) -> bool:
        """Whether output i of the eager reference passes: the bounds grow with its own error, but
        not beyond a limit."""
        if self.tolerance is not None or not self.truth[i].is_floating_point():
            return self.judge(i, self.eager[i])[2]
        own = self.own_errors(i)
        return self.as_written or compare.within(
            own, compare.bounds(self.eager[i].dtype, own, self.precision)
        )

    def even(self, i: int, value: float | None = None) -> torch.Tensor:
        """Output i as a constant, its mean unless given, but for its infinities."""
        eager = self.eager[i]
        if value is None:
            value = float(self.truth[i].double().masked_select(self.truth[i].isfinite()).mean())
        guess = self.put_back(i, torch.full_like(eager, value))
        return torch.where(eager.isinf(), eager, guess) if i in self.infinite else guess

    def exact(self) -> bool:
        """Whether no integer output depends on rounding."""
        return all(
            t.is_floating_point() or torch.equal(t, x) for t, x in zip(self.truth, self.eager)
        )

    def conditioned(self) -> bool:
        """Whether the eager reference itself is close to the truth."""
        return all(
            self.own_errors(i).ratio <= CONDITION * compare.floor(x.dtype, self.precision)
            for i, x in enumerate(self.eager)
            if x.is_floating_point()
        )


def _rounding(e: compare.Errors, own: compare.Errors, limit: tuple[float, float]) -> bool:
    """Whether the truth is zero but for rounding, as the mean of what a norm has centred: the
    reference itself is too far off, no ratio says anything, and the stock check decides."""
    return e.stock_close and not compare.within(own, limit)


def judge_output(
    x: torch.Tensor,
    truth: torch.Tensor,
    eager: torch.Tensor,
    limit: tuple[float, float] | None = None,
    precision: str = "",
    by: compare.Sizes | None = None,
) -> Judged:
    """(errors, bounds, pass) for one output; integers must be equal."""
    if not truth.is_floating_point():
        same = torch.equal(x, eager)
        e = compare.Errors(stock_close=same, ratio=0.0 if same else 1.0)
        e.near = float((x == eager).double().mean()) if x.numel() else 1.0
        if not same:
            e.max_abs = float((x.double() - eager.double()).abs().max())
        return e, None, same
    by = by or compare.sizes(truth)
    if limit is None:
        own = compare.measure(eager, truth, None, by)
        limit = compare.bounds(eager.dtype, own, precision)
    e = compare.measure(x, truth, eager, by)
    return e, limit, compare.within(e, limit)


def check_outputs(
    eager: list[torch.Tensor], truth: list[torch.Tensor], differs: str | None, slices: bool = False
) -> set[int]:
    """Raises Unusable if the results cannot be compared. Returns which outputs have infinities; the
    truth then has those of the eager result. `slices`: a slice may have nothing else."""
    if differs:
        raise Unusable(f"{differs} in higher precision: return tensors for what is computed")
    for t in (*eager, *truth):
        _check_kind(t)
    if [t.shape for t in eager] != [t.shape for t in truth]:
        raise Unusable("the output's shape depends on the inputs' values")
    if _all_finite([*truth, *eager]):
        return set()
    found = {i for i, x in enumerate(eager) if x.is_floating_point() and _settled(x, truth, i)}
    for i in found:
        if not slices and bool((~compare.rows(eager[i]).isfinite().any(1)).any()):
            raise Unusable(f"output {i} has a slice of its leading dimension without a finite element; "
                           'a sidecar with "infinite_slices": true allows it')  # fmt: skip
    return found


def _settled(eager: torch.Tensor, truth: list[torch.Tensor], i: int) -> bool:
    rounded = truth[i].to(eager.dtype)
    at = eager.isinf() | rounded.isinf()
    if bool((eager.isnan() | rounded.isnan() | at & (eager != rounded)).any()):
        raise Unusable("the reference's output is not finite")
    truth[i] = torch.where(at, rounded.to(truth[i].dtype), truth[i])
    return bool(at.any())


def _check_kind(t: torch.Tensor) -> None:
    kind = str(t.dtype).removeprefix("torch.")
    if t.layout != torch.strided:
        raise Unusable(f"the output is a {str(t.layout).removeprefix('torch.')} tensor; "
                       "return a dense one, as to_dense() gives")  # fmt: skip
    if t.is_complex():
        raise Unusable(f"the output is {kind}; return real numbers, as torch.view_as_real gives")
    if t.is_floating_point() and t.dtype not in compare.FLOOR:
        raise Unusable(f"the output is {kind}, for which there is no tolerance; return float32")


def _all_finite(tensors: list[torch.Tensor]) -> bool:
    """Asks the device once for all tensors."""
    ends = [
        end.double()
        for t in tensors
        if t.is_floating_point() and t.numel()
        for end in torch.aminmax(t)
    ]
    return not ends or bool(torch.isfinite(torch.stack(ends)).all())
