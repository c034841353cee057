"""Which changed inputs a task's program is meant for: seen from how get_inputs makes its tensors.

What comes straight from torch's uniform and normal generators may be anything: such inputs are
stretched, negated and scaled, with some signs changed (`free`). Linear steps after them leave zeros
and symmetries that the task promises: those are negated and scaled (`linear`). All else, such as
probabilities, distances, sorted values, masks and data of NumPy's, keeps its values (`fixed`): a
changed one might be nothing that the program was ever meant for, and a right kernel would be
refused. A sidecar decides otherwise where it names an argument.

get_inputs runs once under a mode that sees every operator of torch. Labels belong to storages, so
views and operators that write in place need no rules of their own. An operator without a rule makes
a fixed tensor. The values of that run are thrown away: no draw of a trial is watched."""

import hashlib
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from judge.expected import bits_of
from judge.sidecar import Sidecar
from shared import inputs, structure
from shared.limits import Unusable
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

# Kinds, from what may be anything to what may not change. Where two meet, the later one counts.
BLANK, ZERO, FREE, LINEAR, FIXED = range(5)
NO_SIGNS = "no signs"  # what a variant says that scales values and negates none of them


@dataclass(frozen=True)
class Label:
    """Of a tensor's values. `roots` are the random draws that they depend on. `low` and `high`:
    where those that are free or linear lie, zeros by construction left out."""

    kind: int
    roots: frozenset[int] = frozenset()
    low: float = -math.inf
    high: float = math.inf
    floating: bool = True

    @property
    def moves(self) -> bool:
        return self.kind in (FREE, LINEAR)

    @property
    def sided(self) -> bool:
        """A minus sign or an offset that keeps zero out, as in a decay of rand() * 0.4 + 0.6, says
        on which side of it the program works."""
        return self.low > 0 or self.high <= 0

    def takes(self, variant: str) -> bool:
        return self.moves and (variant == "scaled" or variant == "signed" and not self.sided)


BLANKS, ZEROS, CONSTANT = Label(BLANK), Label(ZERO), Label(FIXED)


def _joined_labels(*labels: Label) -> Label:
    """Of a tensor that has elements of all of them."""
    kinds = {label.kind for label in labels}
    moving = [label for label in labels if label.moves] or [CONSTANT]
    return Label(
        LINEAR if kinds >= {ZERO, FREE} and FIXED not in kinds else max(kinds, default=FIXED),
        frozenset().union(*(label.roots for label in labels)),
        min(label.low for label in moving), max(label.high for label in moving),
    )  # fmt: skip


def _fixed_of(*labels: Label) -> Label:
    return replace(_joined_labels(*labels), kind=FIXED)


def _scaled(label: Label, factor: float) -> Label:
    if not label.moves or factor == 0 or not math.isfinite(factor):
        return label if label.kind == ZERO else _fixed_of(label)
    low, high = sorted((label.low * factor, label.high * factor))
    return replace(label, low=low, high=high)


def _shifted(label: Label, by: float) -> Label:
    if label.kind == LINEAR and by != 0:
        return _fixed_of(label)  # what was zero is not, and a sign changes more than it did
    return replace(label, low=label.low + by, high=label.high + by)


# ---- what operators make of labels, where they have random draws to work on -------------

SAME = "clone _to_copy repeat flip roll cat stack slice_scatter select_scatter".split()
WITH_ZEROS = "triu tril diag_embed block_diag".split()


def _drawn_uniform(w: "_Watch", a: dict) -> Label:
    return w.new(float(a.get("from", 0.0)), float(a.get("to", 1.0)))


def _normal(w: "_Watch", a: dict) -> Label:
    means = structure.tensors([a.get("mean"), a.get("std")])
    return _fixed_of(w.new(), *map(w.of, means)) if means else w.new()


def _all_of(*more: Label) -> Callable:
    return lambda w, a: _joined_labels(*more, *map(w.of, structure.tensors(a)))


def _sum(sign: int, x: str = "self", y: str = "other") -> Callable:
    def rule(w: "_Watch", a: dict) -> Label:
        factor = sign * float(a.get("alpha", 1))
        one, other = w.label(a[x]), _scaled(w.label(a[y]), factor)
        if (by := w.number(a[y], one)) is not None:
            return _shifted(one, by * factor)
        if (by := w.number(a[x], other)) is not None:
            return _shifted(other, by)
        if ZERO in (one.kind, other.kind):
            return other if one.kind == ZERO else one
        made = Label(LINEAR, one.roots | other.roots, one.low + other.low, one.high + other.high)
        return made if one.moves and other.moves else _fixed_of(made)

    return rule


def _product(w: "_Watch", a: dict) -> Label:
    one, other = w.label(a["self"]), w.label(a["other"])
    for label, beside in ((one, a["other"]), (other, a["self"])):
        if (by := w.number(beside, label)) is not None:
            return _scaled(label, by)
    if ZERO in (one.kind, other.kind):
        return ZEROS
    made, moving = Label(LINEAR, one.roots | other.roots), [x for x in (one, other) if x.moves]
    alike = one.roots & other.roots or any(x.sided for x in moving)
    return made if moving and not alike else _fixed_of(made)


def _quotient(w: "_Watch", a: dict) -> Label:
    one = w.label(a["self"])
    by = w.number(a["other"], one) if a.get("rounding_mode") is None else None
    return _scaled(one, 1 / by) if by else _fixed_of(one, w.label(a["other"]))


def _picked(w: "_Watch", a: dict) -> Label:
    """By a mask or by places: independent of the values, or what they promise is not known."""
    by = structure.tensors([a.get("mask"), a.get("condition"), a.get("indices")])
    made = _joined_labels(*(w.label(a[name]) for name in ("self", "other", "value", "values") if name in a))
    where = _fixed_of(*map(w.of, by))
    return _fixed_of(made, where) if made.roots & where.roots else made


def _note_read(w: "_Watch", a: dict) -> Label:
    w.read |= w.of(a["self"]).roots
    return CONSTANT


DRAWS = {"rand": _drawn_uniform, "rand_like": _drawn_uniform, "uniform": _drawn_uniform, "randn": _normal,
         "randn_like": _normal, "normal": _normal}  # fmt: skip
RULES: dict[str, Callable[["_Watch", dict], Label]] = {
    "add": _sum(1), "sub": _sum(-1), "rsub": _sum(-1, "other", "self"), "mul": _product, "div": _quotient,
    "neg": lambda w, a: _scaled(w.of(a["self"]), -1), "copy": lambda w, a: w.of(a["src"]),
    "fill": lambda w, a: w.label(a["value"]), "zero": lambda w, a: ZEROS, "masked_fill": _picked,
    "where": _picked, "index_put": _picked, "_local_scalar_dense": _note_read,
    "constant_pad_nd": lambda w, a: _joined_labels(w.of(a["self"]), w.label(a["value"])),
    **{name: _all_of() for name in SAME}, **{name: _all_of(ZEROS) for name in WITH_ZEROS},
}  # fmt: skip


class _Watch(TorchDispatchMode):
    """Labels every storage that an operator makes or writes."""

    def __init__(self) -> None:
        super().__init__()
        # By address. A weak reference keeps it from being used again.
        self.labels: dict[int, tuple[StorageWeakRef, Label]] = {}
        self.drawn = 0
        self.read: frozenset[int] = frozenset()  # draws whose values Python has seen

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its compiler to wrap what is below

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        kwargs = kwargs or {}
        arguments = {p.name: p.default_value for p in func._schema.arguments if p.has_default_value()}
        arguments |= dict(zip((p.name for p in func._schema.arguments), args)) | kwargs
        before = {id(t): (t, self.of(t)) for t in structure.tensors(arguments)}
        made = func(*args, **kwargs)
        label = self.rule(func, arguments, structure.tensors(made))
        written = [arguments[p.name] for p in func._schema.arguments
                   if p.alias_info and p.alias_info.is_write]  # fmt: skip
        for t in structure.tensors(written):
            whole = t.numel() * t.element_size() == t.untyped_storage().nbytes()
            self.put(t, label if whole else _joined_labels(before[id(t)][1], label))
        known = {_address(t) for t, _ in before.values()}
        for t in structure.tensors(made):
            if _address(t) not in known:
                self.put(t, label)
        return made

    def rule(self, func, arguments: dict, made: list[torch.Tensor]) -> Label:  # noqa: ANN001
        name = func.overloadpacket.__name__
        name = name if name.startswith("_") else name.removesuffix("_")
        if name in DRAWS:
            return DRAWS[name](self, arguments)
        if name.startswith(("empty", "new_empty")):
            return BLANKS
        given = [self.of(t) for t in structure.tensors(arguments)]
        if torch.Tag.nondeterministic_seeded in func.tags:
            return _fixed_of(self.new(), *given)
        if not any(label.roots for label in given):
            return CONSTANT if any(bool(t.any()) for t in made) else ZEROS
        return RULES[name](self, arguments) if name in RULES else _fixed_of(*given)

    def new(self, low: float = -math.inf, high: float = math.inf) -> Label:
        self.drawn += 1
        return Label(FREE, frozenset([self.drawn]), low, high)

    def of(self, t: torch.Tensor) -> Label:
        address = _address(t)
        if address not in self.labels:  # made of a list, or by NumPy
            zero = t.numel() == 1 and bool(t == 0)
            self.put(t, ZEROS if zero else Label(FIXED, self.read))
        return self.labels[address][1]

    def put(self, t: torch.Tensor, label: Label) -> None:
        held = StorageWeakRef(t.untyped_storage()) if _address(t) else None
        known = held is not None and (t.is_floating_point() or not label.moves)
        self.labels[_address(t)] = held, label if known else _fixed_of(label)

    def label(self, x: object) -> Label:
        """Of a tensor or a number."""
        if isinstance(x, torch.Tensor):
            return self.of(x)
        return ZEROS if x == 0 else CONSTANT

    def number(self, x: object, beside: Label) -> float | None:
        """The value of a number, or of a tensor without dimensions, that says nothing about the
        random values beside it."""
        if not beside.moves:
            return None
        if isinstance(x, torch.Tensor):
            alone = x.dim() == 0 and not x.is_complex() and not self.of(x).roots & beside.roots
            return float(x) if alone else None
        return None if isinstance(x, complex) or beside.roots & self.read else float(x)


def _address(t: torch.Tensor) -> int:
    return t.untyped_storage()._cdata if t.layout == torch.strided else 0


# ---- of a task -------------------------------------------------------------------------

_labels: dict[tuple, list[list[Label]]] = {}  # by task and device


def labels(source: str, space: dict, device: str) -> list[list[Label]]:
    """Of each argument the labels of its tensors. The same in all of a task's trials."""
    key = hashlib.sha256(source.encode()).digest(), device
    if key not in _labels:
        watch = _Watch()
        try:
            with watch:
                values = inputs.drawn(space, 0, device)
        except Unusable:
            raise
        except Exception:  # noqa: BLE001 - of code that a mode disturbs nothing is known
            watch, values = _Watch(), inputs.drawn(space, 0, device)
        found = [[replace(watch.of(t), floating=t.is_floating_point()) for t in structure.tensors(v)]
                 for v in values]  # fmt: skip
        _labels[key] = _related(found)
    return _labels[key]


def _related(found: list[list[Label]]) -> list[list[Label]]:
    """Tensors made from the same draws promise something about each other: they change in the
    same way, or not at all."""

    every = [label for labels in found for label in labels]

    def beside(label: Label) -> Label:
        kinds = [max(o.kind, LINEAR) for o in every if o.roots & label.roots and o != label]
        return replace(label, kind=max(label.kind, *kinds, BLANK))

    return [[beside(label) for label in labels] for labels in found]


class Domain:
    """Which changes the arguments of a task may take."""

    def __init__(self, seen: list[list[Label]], sidecar: Sidecar, legal: dict[int, tuple[str, ...]]) -> None:
        """`legal`: what the sidecar says of arguments, by their places."""
        self.seen, self.sidecar, self.legal = seen, sidecar, legal

    def takes(self, argument: int, label: Label | None, variant: str) -> bool:
        """Whether a tensor may take a variant; `label` is None for a number."""
        if argument in self.legal:
            return variant in self.legal[argument]
        if variant == "permuted":
            return variant in (self.sidecar.variants or ())
        return label is None or label.takes(variant)

    def any(self, variant: str) -> bool:
        return any(label.floating and self.takes(i, label, variant)
                   for i, labels in enumerate(self.seen) for label in labels)  # fmt: skip

    def signs(self, argument: int, label: Label) -> bool:
        """Whether single elements of a scaled tensor may be negated: order and symmetry go."""
        tried = self.sidecar.variants is None or "signed" in self.sidecar.variants
        return tried and label.kind == FREE and self.takes(argument, label, "signed")

    def scales(self) -> list[str]:
        """What `scaled` may be for this task, in the order in which it is tried."""
        signs = any(self.takes(i, label, "scaled") and self.signs(i, label)
                    for i, labels in enumerate(self.seen) for label in labels if label.floating)  # fmt: skip
        return [variant for variant in inputs.SCALES if signs or not variant.endswith(NO_SIGNS)]

    def changed(self, values: list, variant: str, chance: random.Random) -> list:
        """The arguments of forward under a variant; `numbers` changes floats that are no tensors."""
        if variant == "numbers":
            return [inputs.other_numbers(v, chance) if self.takes(i, None, variant) else v
                    for i, v in enumerate(values)]  # fmt: skip
        meant = "scaled" if variant in inputs.SCALES else variant
        made = []
        for i, value in enumerate(values):
            labels = iter(self.seen[i] if i < len(self.seen) else ())

            def change(x: torch.Tensor) -> torch.Tensor:
                label = next(labels, CONSTANT)
                if not x.is_floating_point() or not self.takes(i, label, meant):
                    return x
                if meant == "scaled":
                    return _scale(x, variant, self.signs(i, label))
                return _vary(x, variant, label)

            made.append(structure.mapped(value, change))
        return made

    def unseen(self) -> list[int]:
        """Arguments with floating tensors that keep their values, though no sidecar says so."""
        return [i for i, labels in enumerate(self.seen) if i not in self.legal
                and any(label.floating and not label.moves for label in labels)]  # fmt: skip


def _scale(x: torch.Tensor, variant: str, signs: bool) -> torch.Tensor:
    factor = inputs.SCALES[variant]
    if not signs or variant.endswith(NO_SIGNS):
        return x * factor
    # Digits of a random value are random, too, and equal values stay equal, in other arguments as well.
    # A quarter: sums of many values stay large.
    negated = bits_of(x) >> round(-math.log2(torch.finfo(x.dtype).eps) / 2) & 3 == 0
    return torch.where(negated, -factor * x, factor * x)


def _vary(x: torch.Tensor, variant: str, label: Label) -> torch.Tensor:
    if variant == "permuted":
        return x[torch.randperm(x.shape[0], device=x.device)] if x.dim() else x
    if x.numel() < 2 or label.kind == LINEAR or not bool((x >= 0).all()):
        return -x
    return 2 * x - x.amax()  # as far below zero as above
