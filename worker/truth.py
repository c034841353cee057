"""The reference's side, in the judge alone: what the right answer is, how exact
the eager reference itself is, and whether a task can be judged at all."""

import copy
from dataclasses import dataclass, field

import compare
import inputs
import torch

TRUTH = {torch.float32: torch.float64, torch.float16: torch.float32, torch.bfloat16: torch.float32}
REDRAWS = 20
FEW, OTHERS = 5, 25  # other seeds whose outputs are tried: more where a few disagree
NEAR = 8.0  # times a bound
DRIFT = 0.01  # of a bound: what one call may change, since a hundred follow each other
# Trials that tell an identity from an activation.
INPUT_VARIANTS = ("plain", "signed", "scaled")


class Unusable(Exception):
    """The task cannot be judged; the text says why."""


@dataclass
class Expected:
    """One trial's right answer."""

    seed: int
    variant: str
    eager: list[torch.Tensor]
    truth: list[torch.Tensor]
    single: bool = True  # a tensor, not a list or tuple of them
    buffers: dict[str, torch.Tensor] = field(default_factory=dict)  # eager, after the call
    truth_buffers: dict[str, torch.Tensor] = field(default_factory=dict)
    limits: dict[int, tuple[float, float]] = field(default_factory=dict)

    def judge(self, i: int, x: torch.Tensor) -> "Judged":
        """x as output i; what the eager reference's own error allows is found once."""
        if i not in self.limits and self.truth[i].is_floating_point():
            own = compare.measure(self.eager[i], self.truth[i], None)
            self.limits[i] = compare.bounds(self.eager[i].dtype, own)
        return judge_output(x, self.truth[i], self.eager[i], self.limits.get(i))

    def exact(self) -> bool:
        """Integer outputs do not hang on a rounding."""
        return all(
            t.is_floating_point() or torch.equal(t, x) for t, x in zip(self.truth, self.eager)
        )


def _widen(value: object, dtype: torch.dtype) -> object:
    if isinstance(value, torch.Tensor):
        value = value.detach().clone()
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(_widen(v, dtype) for v in value)
    return value


def _call(
    model: torch.nn.Module, args: list, seed: int, device: str, default: torch.dtype
) -> tuple[list[torch.Tensor], bool]:
    """Forward under a fixed seed; tensors made inside take `default`. Also whether
    the result was a tensor by itself."""
    old = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        inputs.sow(seed, device)
        with torch.no_grad():
            out = model(*args)
            return [t.detach().clone() for t in inputs.flatten(out)], isinstance(out, torch.Tensor)
    finally:
        torch.set_default_dtype(old)


def _convert(model: torch.nn.Module, dtype: torch.dtype) -> torch.nn.Module:
    """Casts the model, and the tensors that are plain attributes of its modules:
    `to` leaves those behind, and the model then mixes two precisions."""
    model.to(dtype)
    for module in model.modules():
        plain = {k: v for k, v in vars(module).items() if isinstance(v, torch.Tensor)}
        vars(module).update({k: _widen(v, dtype) for k, v in plain.items()})
    return model


class Reference:
    """A task's reference in one precision on one device."""

    def __init__(self, source: str, precision: str, device: str, init_seed: int,
                 unsettled: bool = False) -> None:  # fmt: skip
        self.device, self.dtype = device, inputs.DTYPES[precision]
        self.wide = TRUTH[self.dtype]
        self.init_seed, self.unsettled = init_seed, unsettled
        self.space = inputs.namespace(source, "reference")
        for name in ("Model", "get_inputs", "get_init_inputs"):
            if name not in self.space:
                raise Unusable(f"the file defines no {name}")
        args = inputs.init_args(self.space, init_seed, device)
        model = inputs.build(
            self.space["Model"], args, init_seed, device, self.dtype, unsettled
        )
        self.pristine = _convert(model, self.dtype)

    def has_state(self) -> bool:
        return bool(inputs.named_state(self.pristine))

    def fresh(self) -> "Pair":
        return Pair(self, copy.deepcopy(self.pristine))


class Pair:
    """The eager model and its wide twin, kept in step through a job's trials."""

    def __init__(self, reference: Reference, eager: torch.nn.Module) -> None:
        self.r = reference
        self.eager = eager
        self.twin = self._widened()
        self.before = (self.eager, self.twin)  # the last expectation's call

    def state(self) -> list[tuple[str, list[int], str]]:
        return [
            (n, list(v.shape), str(v.dtype)) for n, v in inputs.named_state(self.eager).items()
        ]

    def randomise(self, names: list[str], seed: int) -> None:
        inputs.randomise(self.eager, [(n, n) for n in names], seed)
        self.twin = self._widened()

    def _widened(self) -> torch.nn.Module:
        return _convert(copy.deepcopy(self.eager), self.r.wide)

    def _buffers(self, model: torch.nn.Module) -> dict[str, torch.Tensor]:
        return {n: b.detach().clone() for n, b in sorted(inputs.buffers(model).items())}

    def expect(self, seed: int, variant: str) -> Expected:
        """The answer to a trial. Raises Unusable when the reference has none:
        it fails, or its truth is not finite."""
        r = self.r
        args = inputs.make(r.space, seed, variant, r.device, r.dtype)
        self.before = copy.deepcopy((self.eager, self.twin))
        try:
            truth, single = _call(self.twin, _widen(args, r.wide), seed, r.device, r.wide)
            eager, _ = _call(self.eager, _widen(args, r.dtype), seed, r.device, r.dtype)
        except (torch.OutOfMemoryError, MemoryError):
            raise  # that is the device's state, not the task's: no trial is left out for it
        except Exception as problem:
            self.take_back()
            raise Unusable(f"the reference raises {type(problem).__name__}: {problem}") from None
        if not truth:
            raise Unusable("the reference returns no tensor")
        for t, x in zip(truth, eager):
            if not (bool(torch.isfinite(t).all()) and bool(torch.isfinite(x).all())):
                self.take_back()
                raise Unusable("the reference's output is not finite")
        return Expected(
            seed, variant, eager, truth, single,
            self._buffers(self.eager), self._buffers(self.twin),
        )  # fmt: skip

    def take_back(self) -> None:
        """As if the last call had not been."""
        self.eager, self.twin = self.before

    def expect_exact(self, job_seed: str, label: str, variant: str) -> Expected:
        """As expect, redrawn until integer outputs do not hang on a rounding:
        where two candidates tie, either answer would be right."""
        for attempt in range(REDRAWS):
            seed = inputs.derive(job_seed, f"{label}/{attempt}" if attempt else label)
            expected = self.expect(seed, variant)
            if expected.exact():
                return expected
            self.take_back()
        raise Unusable(f"integer outputs tie in {REDRAWS} draws")

    def remembers(self, seed: int) -> bool:
        """Whether an output depends on the calls before it: the same inputs, at once and
        after others. A mean over all calls does not change with the same inputs."""
        first = Pair(self.r, copy.deepcopy(self.eager)).expect(seed, "plain")
        other = Pair(self.r, copy.deepcopy(self.eager))
        other.expect(seed ^ 1, "plain")
        second = other.expect(seed, "plain")
        return not _same(first.truth, second.truth, compare.FLOOR[self.r.dtype] * DRIFT)

    def expect_nudged(self, seed: int) -> Expected:
        """The answer to the inputs of `seed` with a few elements changed."""
        expected = self.expect(seed, "nudged")
        if expected.exact():
            return expected
        self.take_back()
        raise Unusable("integer outputs tie")


Judged = tuple[compare.Errors, tuple[float, float] | None, bool]


def judge_output(
    x: torch.Tensor,
    truth: torch.Tensor,
    eager: torch.Tensor,
    limit: tuple[float, float] | None = None,
) -> Judged:
    """(errors, bounds, pass) of one output; integers must be equal."""
    if not truth.is_floating_point():
        same = torch.equal(x, eager)
        e = compare.Errors(stock_close=same, ratio=0.0 if same else 1.0)
        e.near = float((x == eager).double().mean()) if x.numel() else 1.0
        if not same:
            e.max_abs = float((x.double() - eager.double()).abs().max())
        return e, None, same
    if limit is None:
        limit = compare.bounds(eager.dtype, compare.measure(eager, truth, None))
    e = compare.measure(x, truth, eager)
    return e, limit, compare.within(e, limit)


# ---- the gate ----------------------------------------------------------------


def _same(a: list[torch.Tensor], b: list[torch.Tensor], bound: float) -> bool:
    """Equal, but for what adding in another order makes of floating numbers. That is
    asked of truths: where nearly all of an output is zero, a library that chooses
    another algorithm is far off by the eager outputs' measure."""
    return len(a) == len(b) and all(
        torch.equal(x, y)
        or (x.is_floating_point() and compare.measure(x, y, None).ratio <= bound)
        for x, y in zip(a, b)
    )


def _passes(answer: list[torch.Tensor], expected: Expected) -> bool:
    if len(answer) != len(expected.truth):
        return False
    return all(
        x.shape == t.shape and expected.judge(i, x.to(expected.eager[i].dtype))[2]
        for i, (x, t) in enumerate(zip(answer, expected.truth))
    )


def gate(reference: Reference, job_seed: str) -> list[str]:
    """Why the task cannot be judged; empty when it can. Large tasks fill a device:
    nothing is held longer than it is needed."""
    first = reference.fresh().expect_exact(job_seed, "gate-0", "plain")
    again = reference.fresh().expect(first.seed, "plain").truth
    bound = compare.FLOOR[reference.dtype]
    if not _same(first.truth, again, bound):
        return ["nondeterministic: the same seed gives another output"]
    del again
    if not _same(first.truth, _shifted_rng(reference, first), bound):
        return ["nondeterministic: forward draws random numbers"]
    reasons = []
    if _others_pass(reference, job_seed, "gate", first):
        reasons.append("does not depend on its inputs: another seed's output passes")
    if _passes([torch.zeros_like(t) for t in first.eager], first):
        reasons.append("degenerate: zeros pass")
    elif _constants_pass(first):
        reasons.append("degenerate: a constant passes")
    return reasons


def _shifted_rng(reference: Reference, first: Expected) -> list[torch.Tensor]:
    """The same inputs with the generator in another state during forward."""
    args = inputs.make(reference.space, first.seed, "plain", reference.device, reference.dtype)
    args, wide = _widen(args, reference.wide), reference.wide
    return _call(reference.fresh().twin, args, first.seed + 1, reference.device, wide)[0]


def _others_pass(reference: Reference, job_seed: str, label: str, first: Expected) -> bool:
    """Whether most outputs of other seeds pass: a single number may come near another by
    chance. One that is far off at once says enough, and so do a few that agree."""
    passed = tried = 0
    before = first
    while tried < OTHERS and 2 * max(passed, tried - passed) <= OTHERS:
        tried += 1
        other = reference.fresh().expect_exact(job_seed, f"{label}-{tried}", "plain")
        if [x.shape for x in other.eager] != [x.shape for x in first.eager]:
            raise Unusable("the output's shape depends on the inputs' values")
        passed += _passes(other.eager, before)
        if tried == 1 and not _near(other.eager, before):
            return False
        before = other
        if tried == FEW and passed in (0, FEW):
            break
    return 2 * passed > tried


def _near(answer: list[torch.Tensor], expected: Expected) -> bool:
    """Right, or wrong by no more than another draw could make good."""
    for i, x in enumerate(answer):
        errors, limit, right = expected.judge(i, x)
        far = limit is None or errors.ratio > NEAR * limit[0] or errors.outlier > NEAR * limit[1]
        if not right and far:
            return False
    return True


def _constants_pass(expected: Expected) -> bool:
    """A single number is always a constant: that says nothing of a task."""
    return all(
        t.numel() > 1 and _constant_passes(expected, i) for i, t in enumerate(expected.truth)
    )


def _constant_passes(expected: Expected, index: int) -> bool:
    truth = expected.truth[index]
    if not truth.is_floating_point():
        return bool((truth == truth.flatten()[0]).all())
    guess = torch.full_like(expected.eager[index], float(truth.double().mean()))
    return expected.judge(index, guess)[2]


def self_test(reference: Reference, job_seed: str) -> dict[str, bool]:
    """Answers whose verdict is known: the first must pass, no other may."""
    expected = reference.fresh().expect_exact(job_seed, "self-0", "plain")
    perfect = [t.to(r.dtype) for t, r in zip(expected.truth, expected.eager)]
    return {
        "perfect": _passes(perfect, expected),
        "zeros": _passes([torch.zeros_like(t) for t in expected.eager], expected),
        "constant": _constants_pass(expected),
        "other_seed": _others_pass(reference, job_seed, "self", expected),
        "input": all(_input_passes(reference, expected.seed, v) for v in INPUT_VARIANTS),
    }


def _input_passes(reference: Reference, seed: int, variant: str) -> bool:
    """Whether the first argument passes for the output. On inputs that are never
    negative much is the identity, which is what signed trials are for."""
    args = inputs.make(reference.space, seed, variant, reference.device, reference.dtype)
    given = [a for a in args if isinstance(a, torch.Tensor)][:1]
    try:
        return bool(given) and _passes(given, reference.fresh().expect(seed, variant))
    except Unusable:
        return True  # there is no such trial: the other decides
