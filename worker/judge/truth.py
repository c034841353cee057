"""The reference, which only the judge has: the right answer, how accurate the eager reference
itself is, and whether a task can be judged at all."""

import contextlib
import copy
import functools
import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from judge import compare, sidecar, undo
from judge.domain import Domain, labels
from judge.expected import Expected, bits_of, check_outputs, judge_output  # noqa: F401
from judge.traces import Alias, View, alias, crossing
from shared import inputs, limits, structure
from shared.limits import Exceeded, Unusable  # noqa: F401 - both are this module's answers, too

TRUTH = {torch.float32: torch.float64, torch.float16: torch.float32, torch.bfloat16: torch.float32}
REDRAWS = 20
FEW, OTHERS = 5, 25  # other seeds whose outputs are tried: more where a few disagree
NEAR = 8.0  # times a bound
# Trials that tell an identity from an activation.
INPUT_VARIANTS = ("plain", "signed", "scaled")
TEXT = 300  # characters of an error that a reason quotes
MOST_CALLS = 4  # after which a trial may start, where calls change the state
GATE_CALLS = 4  # how long the gate may take: as long as so many calls may


def _widen(value: object, dtype: torch.dtype) -> object:
    """A copy, with floating tensors converted to that dtype."""

    def wide(x: torch.Tensor) -> torch.Tensor:
        return x.detach().to(dtype if x.is_floating_point() else x.dtype, copy=True)

    return structure.mapped(value, wide)


class Result(NamedTuple):
    """What a call returned, and what it did to the tensors among its arguments."""

    tensors: list[torch.Tensor]
    structure: structure.Structure
    written: dict[int, torch.Tensor]
    aliases: list[frozenset[Alias]]  # of each returned tensor
    strides: list[tuple[int, ...]]
    overlapping_outputs: frozenset[tuple[int, int]]  # pairs that may have an element in the same memory

    def all(self) -> list[torch.Tensor]:
        """As Expected has them."""
        return [*self.tensors, *self.written.values()]


def _call_model(
    model: torch.nn.Module, args: list, seed: int, device: str, default: torch.dtype,
    hides: bool = False,
) -> Result:  # fmt: skip
    """Calls forward under a fixed seed; tensors created inside use `default`. `hides`: torch may not
    have counted all writes to the arguments."""
    old = torch.get_default_dtype()
    given = inputs.tensors(args)
    before = [t.clone() if hides else t._version for t in given]
    torch.set_default_dtype(default)
    try:
        inputs.sow(seed, device)
        with torch.no_grad():
            with limits.task_code("the reference"):
                out = model(*args)
            shape, tensors = structure.describe(out)
            return Result(
                [t.detach().clone() for t in tensors], shape,
                {i: t.detach().clone() for i, (t, b) in enumerate(zip(given, before))
                 if (not same_bits(t, b) if hides else t._version != b)},
                _aliases(tensors, given, state_of(model)),
                [t.stride() if t.layout == torch.strided else () for t in tensors],
                _crossing(tensors),
            )  # fmt: skip
    finally:
        torch.set_default_dtype(old)


def _memory_of(t: torch.Tensor) -> int | None:
    return t.untyped_storage().data_ptr() if t.layout == torch.strided and t.numel() else None


def _aliases(outs: list[torch.Tensor], given: list[torch.Tensor], state: dict) -> list[frozenset[Alias]]:
    """The inputs and state, which lies contiguous in the judge's memory, that each is a view of."""
    held = [("input", i, t) for i, t in enumerate(given)]
    held += [("state", n, t) for n, t in state.items() if t.is_contiguous()]
    return [
        frozenset(
            alias(kind, key, out.storage_offset() - t.storage_offset(), out.shape, out.stride())
            for kind, key, t in held
            if out.dtype == t.dtype and _memory_of(out) == _memory_of(t) is not None
        )
        for out in outs
    ]  # fmt: skip


def _crossing(outs: list[torch.Tensor]) -> frozenset[tuple[int, int]]:
    return crossing([
        View(_memory_of(t) or -i, str(t.dtype), t.storage_offset(), tuple(t.shape), t.stride())
        if t.layout == torch.strided else View(-i, "", 0, (), ())
        for i, t in enumerate(outs, 1)
    ])  # fmt: skip


@contextlib.contextmanager
def precision_flags(precision: str) -> Iterator[None]:
    """For timing the references: under `tf32`, libraries may use TF32, too. Truths and eager
    results are computed without these flags."""
    backends = torch.backends.cuda.matmul, torch.backends.cudnn
    before = [backend.allow_tf32 for backend in backends]
    try:
        for backend in backends:
            backend.allow_tf32 = precision == "tf32"
        yield
    finally:
        for backend, allowed in zip(backends, before):
            backend.allow_tf32 = allowed


class Reference:
    """A task's reference in one precision on one device."""

    def __init__(self, source: str, precision: str, device: str, init_seed: int,
                 unsettled: bool = False, declared: sidecar.Sidecar | None = None) -> None:  # fmt: skip
        self.sidecar = declared or sidecar.Sidecar()
        self.source, self.precision, self.device = source, precision, device
        self.dtype = inputs.DTYPES[precision]
        self.wide = TRUTH[self.dtype]
        self.init_seed, self.unsettled = init_seed, unsettled
        self.note: str | None = None  # what a verdict's reader should know
        self.returns: str | None = None  # what forward returns, in words, once the gate has seen it
        self.written: set[int] | None = None  # inputs that a call changes; None: none was made
        self.infinities: set[int] | None = None  # None: nobody has asked
        self.runs: bool | None = None  # the eager model in this precision; None: not known yet
        # Whether models are kept with their parameters: until a call has left those alone.
        # A tensor's `data` hides from us that they change.
        self.whole = True
        self.changes = ".data" in source
        with limits.memory("the reference"):
            self._load()

    def _load(self) -> None:
        self.space = inputs.namespace(self.source, "reference")
        for name in ("Model", "get_inputs", "get_init_inputs"):
            if name not in self.space:
                raise Unusable(f"the file defines no {name}")
        # Of the CPU's generator, which is the recorder's, too.
        self.args = inputs.init_args(self.space, self.init_seed, "cpu")
        self.pristine = self.construct(self.init_seed, self.device)
        self._share_with_recorder()
        # Tensors that may be views of parameters: a copy of the model finds out.
        self.loose = bool(inputs.loose(self.pristine))
        self.legal = self.sidecar.legal(self.space["Model"].forward)

    def construct(self, seed: int, device: str) -> torch.nn.Module:
        """A new model; the constructor gets its own copy of the arguments."""
        with limits.task_code("Model's __init__"):
            args = structure.mapped(copy.deepcopy(self.args), lambda t: t.to(device))
            model = inputs.build(
                self.space["Model"], args, seed, device, self.dtype, self.unsettled
            )
        return inputs.cast_model(model, self.dtype)

    def _share_with_recorder(self) -> None:
        """What trials never draw again has the values that the candidate's constructor, which runs
        without a device, gets from the same seed."""
        if self.device == "cpu":
            return
        held = inputs.loose(self.pristine) | (state_of(self.pristine) if self.unsettled else {})
        if held:
            model = self.construct(self.init_seed, "cpu")
            drawn = inputs.loose(model) | state_of(model)
            with torch.no_grad():
                for name in held.keys() & drawn.keys():
                    inputs.write_values(held[name], drawn[name])

    @property
    def rules(self) -> "Rules":
        """What trials change in the model; found once, because a resumed run must find the same."""
        key = hashlib.sha256(self.source.encode()).digest(), self.precision, self.device
        if key not in _rules:
            with limits.memory("the reference"):
                _rules[key] = find_rules(self)
        return _rules[key]

    def fill(self, model: torch.nn.Module, seed: int | None, varied: Collection[str]) -> None:
        """Gives a copy of the first model the values of a construction under that seed, by name,
        and varies those parameters. None: the first construction."""
        rules = self.rules
        values = state_of(self.pristine)
        if seed is not None and rules.drawn:
            fresh = state_of(self.construct(seed, self.device))
            values |= {name: fresh[name] for name in rules.drawn}
        with torch.no_grad():
            put_state(model, {n: values[n] for n in (*rules.drawn, *rules.varied, *rules.running)})
            vary(model, varied, seed or 0)

    def learn(self, changed: bool) -> None:
        """Learns from a call whether it changed parameters."""
        kept = self.whole
        self.changes = self.whole = self.changes or changed
        if changed and not kept:
            raise Unusable("the reference changes its parameters in some calls only")

    def notes(self) -> list[str]:
        """What a verdict's reader should know."""
        fixed = ", ".join(self.rules.fixed)
        left = f"The reference fails with other values of {fixed}: as constructed in all trials."
        return [note for note in (self.note, fixed and left) if note]

    def learn_written(self, own: set[int], wide: set[int]) -> None:
        """Learns from a call which inputs it changed."""
        if own != wide:
            raise Unusable("the reference changes other inputs in higher precision")
        if self.written not in (None, own):
            raise Unusable("the reference changes its inputs in some calls only")
        self.written = own

    def make(self, seed: int, variant: str) -> list:
        """The inputs of one call."""
        domain = None if variant == "plain" else self.domain
        return inputs.make(self.space, seed, variant, self.device, self.dtype, domain)

    @functools.cached_property
    def domain(self) -> Domain:
        """Which changes the inputs may take."""
        return Domain(labels(self.source, self.space, self.device), self.sidecar, self.legal)

    def infinite(self) -> set[int]:
        """The outputs that have infinities on the task's own inputs."""
        if self.infinities is None:
            self.infinities = self.fresh().expect(0, "plain").infinite
        return self.infinities

    def fresh(self) -> "Pair":
        return Pair(self, inputs.copied(self.pristine))


# ---- what trials change in the model ---------------------------------------------


@dataclass(frozen=True)
class Rules:
    """Names of a model's tensors. `drawn` ones differ from one construction to the next, and each
    trial has those of its own. `varied`: parameters, which trials give other values than their
    initialiser promises, drawn or not; `fixed`: those where the reference does not take that. Buffers
    that forward changes are `running`; `calls`: after how many calls another is possible, up to
    MOST_CALLS. All others are part of the program."""

    drawn: tuple[str, ...] = ()
    varied: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    calls: int = 1
    unregistered: bool = False  # what modules keep beside these differs, too: tensors and floats


SEEDS = 1, 2  # of the constructions that are compared, and of inputs to try varied parameters on
_rules: dict[tuple, Rules] = {}  # by task, precision, device


def state_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Its parameters and buffers, not copies."""
    return inputs.parameters(model) | inputs.buffers(model)


def put_state(model: torch.nn.Module, values: dict[str, torch.Tensor]) -> None:
    held = state_of(model)
    for name, value in values.items():
        inputs.write_values(held[name], value)


def vary(model: torch.nn.Module, names: Collection[str], seed: int) -> None:
    """Tensors that share memory are varied together, once."""
    held, done = state_of(model), set()
    for index, name in enumerate(held):
        memory = held[name].untyped_storage().data_ptr()
        if name in names and memory not in done:
            done.add(memory)
            inputs.write_values(held[name], inputs.varied(held[name], seed, index, held[name].device))


def find_rules(reference: Reference) -> Rules:
    """Constructs the model twice more, and calls it once with all parameters varied; more often only
    where these are too much for the reference."""
    models = [reference.construct(seed, reference.device) for seed in SEEDS]
    first, second = map(state_of, models)
    others = zip(*map(_unregistered, models))
    differs = any(not same_bits(a.cpu(), b.cpu()) for a, b in others if a.shape == b.shape)
    if [(n, t.shape, t.dtype) for n, t in first.items()] != [
        (n, t.shape, t.dtype) for n, t in second.items()
    ]:
        raise Unusable("Model's __init__ makes other parameters or buffers each time")
    drawn = tuple(n for n, t in first.items() if not same_bits(t, second[n]))
    learnable = [
        n for n, t in inputs.parameters(reference.pristine).items()
        if t.requires_grad and t.is_floating_point() and t.numel()
    ]  # fmt: skip
    del first, second, models, others
    fixed, running = _try_varied(reference, learnable)
    varied = tuple(n for n in learnable if n not in fixed)
    return Rules(drawn, varied, fixed, running, _calls(reference) if running else 1, differs)


def _unregistered(model: torch.nn.Module) -> list[torch.Tensor]:
    floats = [v for m in model.modules() for v in vars(m).values() if isinstance(v, float)]
    return [torch.tensor(floats), *inputs.loose(model).values()]


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    a, b = (t.detach().contiguous().view(-1).view(torch.uint8) for t in (a, b))
    return torch.equal(a, b)


def _try_varied(reference: Reference, names: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which of these parameters the reference does not take varied, and which buffers a call
    changes."""
    found, running = _tried(reference, names)
    if found is not None and all(bool(torch.isfinite(t).all()) for t in found):
        return (), running
    plain, running = _tried(reference, ())
    fixed = [n for n in names if _breaks(_tried(reference, [n])[0], plain)]
    if fixed != names and _breaks(_tried(reference, [n for n in names if n not in fixed])[0], plain):
        fixed = names
    return tuple(fixed), running


def _breaks(found: list[torch.Tensor] | None, plain: list[torch.Tensor] | None) -> bool:
    """Whether other parameters make the reference fail, or give NaN or infinities where it gives none."""
    if plain is None or found is None:
        return found is None and plain is not None
    return [t.shape for t in found] != [t.shape for t in plain] or any(
        bool((a.isnan() & ~b.isnan()).any()) or not torch.equal(a.isinf(), b.isinf())
        for a, b in zip(found, plain)
    )


def _calls(reference: Reference) -> int:
    """After how many calls the reference takes another: a cache may be full by then."""
    model = inputs.copied(reference.pristine)
    for done in range(MOST_CALLS + 1):
        seed = SEEDS[0] + done
        try:
            found = _in_some_precision(reference, model, reference.make(seed, "plain"), seed)
        except Exception as problem:  # noqa: BLE001 - a task's code may raise anything
            _own_failure(problem)
            return max(0, done - 1)
        if any(bool(t.isnan().any()) for t in found):
            return max(0, done - 1)
    return MOST_CALLS


def _tried(reference: Reference, varied: Collection[str]) -> tuple:
    """The outputs of a call with these parameters varied, None if it raises, and the names of the
    buffers that it changed."""
    model = inputs.copied(reference.pristine)
    with torch.no_grad():
        vary(model, varied, SEEDS[0])
    before = {n: t.detach().clone() for n, t in inputs.buffers(model).items()}
    args = reference.make(SEEDS[0], "plain")
    try:
        found = _in_some_precision(reference, model, args, SEEDS[0])
    except Exception as problem:  # noqa: BLE001 - a task's code may raise anything
        _own_failure(problem)
        return None, ()
    after = inputs.buffers(model)
    return found, tuple(
        n for n, t in before.items()
        if n in after and after[n].shape == t.shape and not same_bits(after[n].to(t.dtype), t)
    )  # fmt: skip


def _in_some_precision(
    r: Reference, model: torch.nn.Module, args: list, seed: int
) -> list[torch.Tensor]:
    """The outputs of a call; if the model does not run in the run's precision, it is widened."""
    if r.runs is not False:
        try:
            return _call_model(model, _widen(args, r.dtype), seed, r.device, r.dtype, r.changes).all()
        except Exception as problem:  # noqa: BLE001
            _own_failure(problem)
    model = inputs.cast_model(model, r.wide)
    return _call_model(model, _widen(args, r.wide), seed, r.device, r.wide, r.changes).all()


def _left(given: list[torch.Tensor], own: Result) -> dict[int, tuple[torch.Tensor, torch.Tensor]]:
    """Of the changed inputs, by their place behind the outputs: the elements whose bits the eager
    model left, and what all had been."""
    return {
        len(own.tensors) + at: (bits_of(t.contiguous()) == bits_of(given[i].contiguous()), given[i])
        for at, (i, t) in enumerate(own.written.items())
    }


class Pair:
    """The eager model and its wide twin, kept in sync through a job's trials."""

    def __init__(self, reference: Reference, eager: torch.nn.Module) -> None:
        self.r = reference
        self.eager = eager
        self.twin = self._widened()
        self.before: tuple[undo.Kept, undo.Kept] | None = None  # the last expectation's call

    def state_values(self) -> dict[str, torch.Tensor]:
        """The eager model's current parameters and buffers, not copies."""
        return state_of(self.eager)

    def start(self, seed: int | None, varied: bool, extra: Collection[int] = ()) -> None:
        """Puts both models into the state of a construction under that seed; None: the first one.
        With seeds of extra draws, running statistics are as calls of the reference on these leave
        them."""
        self.before = None  # frees its memory
        with limits.memory("the reference"), torch.no_grad():
            self.r.fill(self.eager, seed, self.r.rules.varied if varied else ())
            if extra and self.r.rules.running:
                put_state(self.eager, self._run_in(extra))
            if self.r.loose:
                self.twin = self._widened()
            else:
                put_state(self.twin, state_of(self.eager))

    def _run_in(self, seeds: Collection[int]) -> dict[str, torch.Tensor]:
        """Buffers as calls of the reference leave them; the calls are undone."""
        kept = undo.Kept(self.eager, self.r.whole) if self.r.runs else None
        model = self.eager if kept else inputs.copied(self.eager)  # which may be widened
        try:
            for seed in seeds:
                _in_some_precision(self.r, model, self.r.make(seed, "plain"), seed)
            left = inputs.buffers(model)
            return {name: left[name].detach().clone() for name in self.r.rules.running}
        except Exception as problem:  # noqa: BLE001 - a task's code may raise anything
            raise Unusable(f"the reference raises {_own_failure(problem)}") from None
        finally:
            if kept:
                self.eager = kept.back()

    def baseline(self) -> tuple[torch.nn.Module, torch.dtype]:
        """The reference for a candidate's time: a copy of the eager model and the dtype of its
        floating inputs. If it does not run in this precision, the twin."""
        if self.r.runs is False:
            return inputs.copied(self.twin), self.r.wide
        return inputs.copied(self.eager), self.r.dtype

    def _widened(self) -> torch.nn.Module:
        return inputs.cast_model(inputs.copied(self.eager), self.r.wide)

    def _buffers(self, model: torch.nn.Module) -> dict[str, torch.Tensor]:
        return {n: b.detach().clone() for n, b in sorted(inputs.buffers(model).items())}

    def expect(self, seed: int, variant: str) -> Expected:
        """The answer to a trial. Raises Unusable if the reference fails or its truth is not finite;
        Exceeded if it takes too long or too much memory."""
        r = self.r
        with limits.memory("the reference"):
            args = r.make(seed, variant)
            self.before = undo.Kept(self.eager, r.whole), undo.Kept(self.twin, r.whole)
            try:
                expected = self._answer(args, seed, variant)
                r.learn(any(kept.parameters_changed() for kept in self.before))
            except BaseException:
                self.take_back()
                raise
            return expected

    def _answer(self, args: list, seed: int, variant: str) -> Expected:
        wide = self._truth(args, seed)
        if not wide.tensors:
            returned = structure.name(wide.structure)
            raise Unusable(f"the reference returns no tensor: forward returns {returned}")
        own = self._eager(args, seed, wide)
        self.r.learn_written(set(own.written), set(wide.written))
        left = _left(inputs.tensors(args), own)
        eager, truth = own.all(), wide.all()
        for i, (mask, _) in left.items():
            eager[i], truth[i] = (t.masked_fill(mask, 0) for t in (eager[i], truth[i]))
        differs = structure.difference(wide.structure, own.structure)
        infinite = check_outputs(eager, truth, differs, self.r.sidecar.infinite_slices)
        if infinite and variant != "plain" and not infinite <= self.r.infinite():
            raise Unusable("the reference's output is infinite, which it is not on the task's inputs")
        tolerance = self.r.sidecar.tolerance
        if tolerance is not None:
            tolerance.check(own.tensors)
        expected = Expected(
            seed, variant, eager, truth, own.structure, args, self.r.precision, tolerance,
            self._buffers(self.eager), self._buffers(self.twin), infinite, left,
            list(own.written), [a & b for a, b in zip(own.aliases, wide.aliases)], own.strides,
            own.overlapping_outputs & wide.overlapping_outputs,
        )  # fmt: skip
        if variant in inputs.SCALES and not expected.conditioned():
            raise Unusable("the reference itself is inexact on scaled inputs")
        return expected

    def _truth(self, args: list, seed: int) -> "Result":
        r = self.r
        try:
            return _call_model(self.twin, _widen(args, r.wide), seed, r.device, r.wide, r.changes)
        except Exception as problem:  # noqa: BLE001 - a task's code may raise anything
            why = _own_failure(problem)
        try:
            _call_model(self.eager, _widen(args, r.dtype), seed, r.device, r.dtype)
        except Exception as problem:  # noqa: BLE001
            raise Unusable(f"the reference raises {_own_failure(problem)}") from None
        name = str(r.wide).removeprefix("torch.")
        raise Unusable(f"the right answer is computed in {name}, where the reference raises {why}; "
                       "give tensors made in forward the dtype of its inputs")  # fmt: skip

    def _eager(self, args: list, seed: int, wide: "Result") -> "Result":
        """The eager model's result. If it cannot run in this precision, the truth rounded to it, so
        that the floor is the bound."""
        r = self.r
        if r.runs is not False:
            try:
                result = _call_model(self.eager, _widen(args, r.dtype), seed, r.device, r.dtype, r.changes)
                r.runs = True
                return result
            except Exception as problem:  # noqa: BLE001
                why = _own_failure(problem)
            if r.runs or r.wide != torch.float32:
                raise Unusable(f"the reference raises {why}")
            r.runs = False
            r.note = (f"The reference does not run in {r.precision} ({why}): judged against its "
                      "result in fp32.")  # fmt: skip
        self._follow()
        tensors, written = _widen([wide.tensors, wide.written], r.dtype)
        return wide._replace(tensors=tensors, written=written)

    def _follow(self) -> None:
        """Copies the twin's buffers to the eager model."""
        wide = inputs.buffers(self.twin)
        for name, held in inputs.buffers(self.eager).items():
            held.detach().copy_(wide[name])

    def take_back(self) -> None:
        """Undoes the last call."""
        if self.before is not None:
            self.eager, self.twin = (kept.back() for kept in self.before)

    def expect_exact(self, job_seed: str, label: str, variant: str) -> Expected:
        """Like expect, but redraws until integer outputs do not depend on rounding: in a tie,
        either answer would be right. If the reference does not accept scaled inputs, tries others
        that it may: without other signs, tenfold."""
        if variant != "scaled":
            return self._exact(job_seed, label, variant)
        *others, last = self.r.domain.scales()
        for scale in others:
            try:
                return self._exact(job_seed, label, scale)
            except Exceeded:
                raise
            except Unusable:
                continue
        return self._exact(job_seed, label, last)

    def _exact(self, job_seed: str, label: str, variant: str) -> Expected:
        for attempt in range(REDRAWS):
            seed = inputs.derive(job_seed, f"{label}/{attempt}" if attempt else label)
            expected = self.expect(seed, variant)
            if expected.exact():
                return expected
            self.take_back()
        raise Unusable(f"integer outputs tie in {REDRAWS} draws")


def _own_failure(problem: Exception) -> str:
    """How the reference failed. Re-raises other failures: a full device says nothing about the
    reference, and no trial is skipped for it."""
    ours = isinstance(problem, (Unusable, torch.OutOfMemoryError))
    if ours or limits.is_memory(problem):
        raise problem
    text = str(problem).partition("\n")[0][:TEXT]  # torch appends a stack of C++ frames
    return f"{type(problem).__name__}: {text}"


# ---- changed inputs -----------------------------------------------------------

NO_FLOATS = "no argument is a float"
_numbers: dict[tuple, str | None] = {}  # why floats are not varied, by task, precision, device


def variants(reference: Reference) -> list[str]:
    """The variants of inputs for a task's trials, in order. A trial that the reference cannot
    answer (expect raises Unusable, but not Exceeded) is skipped."""
    return [v for v in sidecar.CHANGED if _left_out(reference, v) is None]


def left_out(reference: Reference) -> dict[str, str]:
    """The variants that are not tried, and why. Rows are put in another order only where a sidecar
    says so."""
    found = {v: _left_out(reference, v) for v in sidecar.CHANGED if v != "permuted"}
    return {v: why for v, why in found.items() if why not in (None, NO_FLOATS)}


def _left_out(reference: Reference, variant: str) -> str | None:
    why = _fixed_numbers(reference) if variant == "numbers" else None
    named = reference.sidecar.variants
    if why != NO_FLOATS and named is not None and variant not in named:
        return "the task's sidecar leaves it out"
    if variant == "numbers":
        return why
    return None if reference.domain.any(variant) else "no input may change in this way"


def _fixed_numbers(reference: Reference) -> str | None:
    """Why the floats among forward's arguments are not varied: None where that only changes the
    output's values. Computed once, because a resumed run must find the same."""
    key = (hashlib.sha256(reference.source.encode()).digest(), reference.precision,
           reference.device, tuple(sorted(reference.legal.items())))  # fmt: skip
    if key not in _numbers:
        args = reference.make(0, "plain")
        _numbers[key] = _other_kind(reference) if inputs.has_floats(args) else NO_FLOATS
    return _numbers[key]


def _other_kind(reference: Reference) -> str | None:
    try:
        plain, varied = (reference.fresh().expect(0, v) for v in ("plain", "numbers"))
    except Exceeded:
        raise
    except Unusable as problem:
        return str(problem)
    kinds = [[(x.shape, x.dtype) for x in found.eager] for found in (plain, varied)]
    return None if kinds[0] == kinds[1] else "the output has another shape or dtype"


# ---- the gate ----------------------------------------------------------------


def same_truths(a: list[torch.Tensor], b: list[torch.Tensor], bound: float) -> bool:
    """Equal, up to rounding from a different order of additions. Compares truths: if an output is
    nearly all zeros, a library that picks another algorithm is far off by the measure for eager
    outputs."""
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
    """Why the task cannot be judged; empty if it can."""
    with limits.duration("the check of this task", GATE_CALLS * limits.LIMITS.seconds):
        return _reasons(reference, job_seed)


def _reasons(reference: Reference, job_seed: str) -> list[str]:
    """Large tasks fill a device, so nothing is held longer than needed."""
    args = reference.make(0, "plain")
    inputs.spec(args)
    if not inputs.tensors(args):
        return ["get_inputs returns no tensor: a kernel needs one to work on"]
    del args
    first = _fresh_answer(reference, job_seed, "gate-0")
    _ = reference.rules  # Unusable: the constructor is not the same each time
    reference.returns = structure.name(first.structure)
    if first.written and _shared(inputs.tensors(reference.make(first.seed, "plain")), first.written):
        return ["the reference changes an input that shares memory with another, or with itself: "
                "clone it in get_inputs"]  # fmt: skip
    again = reference.fresh().expect(first.seed, "plain").truth
    bound = compare.FLOOR[reference.dtype]
    if not same_truths(first.truth, again, bound):
        return ["nondeterministic: the same seed gives another output"]
    del again
    if not same_truths(first.truth, _shifted_rng(reference, first), bound):
        return ["nondeterministic: forward draws random numbers"]
    return says_little(first, _others_pass(reference, job_seed, "gate", first))


def _shared(given: list[torch.Tensor], written: list[int]) -> bool:
    """Whether memory of a changed input is also another's, or twice its own."""
    every, changed = [_memory_of(t) for t in given], [given[i] for i in written if given[i].numel()]
    return any(every.count(_memory_of(t)) > 1 or 0 in t.stride() for t in changed)


def says_little(first: Expected, others_pass: bool) -> list[str]:
    """Why an answer says little, whatever computes it."""
    reasons = []
    if others_pass:
        reasons.append("does not depend on its inputs: another seed's output passes")
    if _passes([first.even(i, 0.0) for i in range(len(first.eager))], first):
        reasons.append("degenerate: zeros pass")
    elif _constants_pass(first):
        reasons.append("degenerate: a constant passes")
    return reasons


def _fresh_answer(reference: Reference, job_seed: str, label: str) -> Expected:
    """The answer of a fresh model, without the inputs."""
    expected = reference.fresh().expect_exact(job_seed, label, "plain")
    expected.args = []
    return expected


def _shifted_rng(reference: Reference, first: Expected) -> list[torch.Tensor]:
    """The same inputs, with the generator in a different state during forward."""
    args = reference.make(first.seed, "plain")
    args, wide = _widen(args, reference.wide), reference.wide
    found = _call_model(reference.fresh().twin, args, first.seed + 1, reference.device, wide).all()
    for i, (mask, _) in first.left.items():
        found[i] = found[i].masked_fill(mask, 0)
    for i in first.infinite:
        truth = first.truth[i]
        rounded = found[i].to(first.eager[i].dtype)
        found[i] = torch.where(truth.isinf() & (rounded == truth), truth, found[i])
    return found


def _others_pass(reference: Reference, job_seed: str, label: str, first: Expected) -> bool:
    others = Others(first)
    while others.more:
        others.take(_fresh_answer(reference, job_seed, f"{label}-{others.tried + 1}"))
    return others.pass_


class Others:
    """Whether most outputs from other seeds pass. A single number may come close by chance. If the
    first is far off, or the first few agree, that decides."""

    def __init__(self, first: Expected) -> None:
        self.first = self.before = first
        self.passed = self.tried = 0
        self.more, self.far = True, False

    @property
    def pass_(self) -> bool:
        return not self.far and 2 * self.passed > self.tried

    def take(self, other: Expected) -> None:
        self.tried += 1
        differs = structure.difference(self.first.structure, other.structure)
        if differs:
            raise Unusable(f"{differs} for other inputs: return tensors for what is computed")
        if [x.shape for x in other.eager] != [x.shape for x in self.first.eager]:
            raise Unusable("the output's shape depends on the inputs' values")
        self.passed += _passes(other.eager, self.before)
        self.far = self.tried == 1 and not _nearly_right(other.eager, self.before)
        agreed = self.tried == FEW and self.passed in (0, FEW)
        most = max(self.passed, self.tried - self.passed)
        self.more = not self.far and not agreed and self.tried < OTHERS and 2 * most <= OTHERS
        self.before = other


def _nearly_right(answer: list[torch.Tensor], expected: Expected) -> bool:
    """Right, or wrong by so little that another draw might pass."""
    for i, x in enumerate(answer):
        errors, limit, right = expected.judge(i, x)
        far = limit is None or errors.ratio > NEAR * limit[0] or errors.outlier > NEAR * limit[1]
        if not right and far:
            return False
    return True


def _constants_pass(expected: Expected) -> bool:
    """Ignores single numbers: they are always constant, which says nothing about a task."""
    return all(
        t.numel() > 1 and _constant_passes(expected, i) for i, t in enumerate(expected.truth)
    )


def _constant_passes(expected: Expected, index: int) -> bool:
    truth = expected.truth[index]
    if not truth.is_floating_point():
        return bool((truth == truth.flatten()[0]).all())
    return expected.judge(index, expected.even(index))[2]


def self_test(reference: Reference, job_seed: str) -> dict[str, bool]:
    """Answers whose verdict is known: only the first may pass."""
    with limits.duration("the self-test of this task", GATE_CALLS * limits.LIMITS.seconds):
        return _known_answers(reference, job_seed)


def _known_answers(reference: Reference, job_seed: str) -> dict[str, bool]:
    expected = _fresh_answer(reference, job_seed, "self-0")
    perfect = [expected.put_back(i, t.to(expected.eager[i].dtype)) for i, t in enumerate(expected.truth)]
    return {
        "perfect": _passes(perfect, expected),
        "zeros": _passes([expected.even(i, 0.0) for i in range(len(perfect))], expected),
        "constant": _constants_pass(expected),
        "other_seed": _others_pass(reference, job_seed, "self", expected),
        "input": all(_input_passes(reference, expected.seed, v) for v in INPUT_VARIANTS),
    }


class Literal:
    """The task as written, built anew from its file: only parameters and buffers that trials draw
    again are copied in."""

    def __init__(self, r: Reference) -> None:
        self.rules = r.rules
        self.r = Reference(r.source, r.precision, r.device, r.init_seed, declared=r.sidecar)

    def judged(self, expected: Expected, state: dict[str, torch.Tensor]) -> str:
        """passed, failed, or inexact: the eager reference is further off than any kernel may be, so
        what computes the same in the same way is, too."""
        model = inputs.copied(self.r.pristine)
        again = (*self.rules.drawn, *self.rules.varied, *self.rules.running)
        with limits.memory("the reference"), torch.no_grad():
            put_state(model, {name: state[name] for name in again})
            found = _in_some_precision(self.r, model, expected.args, expected.seed)
        exact = [expected.reference_is_right(i) for i in range(len(expected.eager))]
        right = len(found) == len(exact) and all(
            same_bits(x, eager) or x.shape == eager.shape and expected.judge(i, x.to(eager.dtype))[2]
            for i, (x, eager) in enumerate(zip(found, expected.eager)) if exact[i]
        )  # fmt: skip
        kept = all(
            expected.judge_buffer(name, t.to(expected.buffers[name].dtype))[2]
            for name, t in inputs.buffers(model).items()
        )
        return "failed" if not (right and kept) else "passed" if all(exact) else "inexact"


def _input_passes(reference: Reference, seed: int, variant: str) -> bool:
    """Whether the first argument passes as the output. On inputs that are never negative, many
    functions are the identity; signed trials catch these."""
    args = reference.make(seed, variant)
    given = [a for a in args if isinstance(a, torch.Tensor)][:1]
    try:
        return bool(given) and _passes(given, reference.fresh().expect(seed, variant))
    except Unusable:
        return True  # there is no such trial: the other decides
