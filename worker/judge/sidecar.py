"""The sidecar of a task, STEM.json: which changed inputs the program is meant for, and how close an
answer must be besides the hardened protocol. It is checked before the task is used: a key with a
spelling mistake would otherwise be a check that nobody makes.

    {"variants": ["signed", "permuted", "scaled"],   changed inputs that are tried
     "inputs": {"g": ["permuted"]},                  those that one argument of forward may take,
                                                     whatever it is made of
     "infinite_slices": true,                        a row of an output may have no finite element
     "tolerance": {"error_ratio": 0.01, "dimensions": ["batch", "head", "time", "value"],
                   "per": ["batch", "head"]}}

`source` and `piece` are for readers and for other programs."""

import inspect
import json
from dataclasses import dataclass, field

import torch
from judge import compare
from shared.limits import Unusable

# Changed inputs, in the order they are tried where the reference takes them.
CHANGED = ("signed", "permuted", "scaled", "numbers")
FILE = "the sidecar"  # of a task without a name
QUOTED = 60  # characters of a wrong value
KEYS = ("variants", "inputs", "tolerance", "infinite_slices", "source", "piece")


@dataclass(frozen=True)
class Tolerance:
    """rms(x - t) / rms(t) is at most `error_ratio` in each slice; rms(t) counts as at least one
    hundredth of the whole output's."""

    error_ratio: float
    dimensions: tuple[str, ...]  # of the output, by name
    per: tuple[str, ...]  # those of a slice; none: the whole output
    file: str = FILE

    def worst(self, x: torch.Tensor, truth: torch.Tensor) -> compare.Slice:
        axes = [self.dimensions.index(name) for name in self.per]
        ratio, place = compare.worst_slice(x, truth, axes)
        named = ", ".join(f"{name} {at}" for name, at in zip(self.per, place))
        return compare.Slice(ratio, self.error_ratio, named or "the whole output")

    def check(self, outputs: list[torch.Tensor]) -> None:
        """Raises Unusable if an output has other dimensions."""
        for i, t in enumerate(outputs):
            if t.is_floating_point() and t.dim() != len(self.dimensions):
                text = f"names {len(self.dimensions)}, but output {i} has the shape {list(t.shape)}"
                raise Unusable(f"{self.file}: /tolerance/dimensions: {text}")


@dataclass(frozen=True)
class Sidecar:
    variants: tuple[str, ...] | None = None  # all that the inputs take, but rows in another order
    inputs: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by argument of forward
    tolerance: Tolerance | None = None
    infinite_slices: bool = False  # an output may be infinite all over such a slice
    file: str = FILE

    def legal(self, forward: object) -> dict[int, tuple[str, ...]]:
        """The variants that arguments may take, by position; for others their domain says it."""
        if not self.inputs:
            return {}
        names = list(inspect.signature(forward).parameters)[1:]  # without self
        for name in self.inputs:
            if name not in names:
                raise Unusable(f"{self.file}: /inputs/{name}: forward has no such argument; it has "
                               f"{', '.join(names)}")  # fmt: skip
        return {names.index(name): variants for name, variants in self.inputs.items()}


def sidecar_key(task: dict) -> str:
    """The same for sidecars that say the same."""
    return json.dumps(task.get("sidecar") or {}, sort_keys=True)


def of(task: dict) -> Sidecar:
    """The sidecar of a job's task. Raises Unusable, which names the file and the key."""
    file = task["id"].rpartition("/")[2] + ".json" if "id" in task else FILE
    try:
        return _read_sidecar(task.get("sidecar") or {}, file)
    except _Bad as problem:
        raise Unusable(f"{file}: {problem}") from None


class _Bad(Exception):
    """A key, and what is wrong there."""


def _read_sidecar(raw: object, file: str) -> Sidecar:
    _object(raw, "")
    _check_known(raw, KEYS, "")
    given = _object(raw.get("inputs", {}), "/inputs")
    infinite = raw.get("infinite_slices", False)
    if not isinstance(infinite, bool):
        raise _Bad(f"/infinite_slices: must be true or false, not {json.dumps(infinite)[:QUOTED]}")
    return Sidecar(
        _read_words(raw["variants"], "/variants", CHANGED) if "variants" in raw else None,
        {name: _read_words(v, f"/inputs/{name}", CHANGED) for name, v in given.items()},
        _tolerance(raw["tolerance"], file) if "tolerance" in raw else None,
        infinite,
        file,
    )


def _object(value: object, where: str) -> dict:
    if not isinstance(value, dict):
        raise _Bad(f"{where or '/'}: must be an object, not {json.dumps(value)[:QUOTED]}")
    return value


def _check_known(raw: dict, known: tuple[str, ...], where: str) -> None:
    for name in raw:
        if name not in known:
            raise _Bad(f"{where}/{name}: unknown key; there are {', '.join(known)}")


def _read_words(value: object, where: str, known: tuple[str, ...] | None = None) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
        raise _Bad(f"{where}: must be a list of words, not {json.dumps(value)[:QUOTED]}")
    for word in value:
        if known is not None and word not in known:
            raise _Bad(f"{where}: '{word}' is not one of {', '.join(known)}")
    if len(set(value)) != len(value):
        raise _Bad(f"{where}: a word stands there twice")
    return tuple(value)


def _tolerance(raw: object, file: str) -> Tolerance:
    where, names = "/tolerance", ("error_ratio", "dimensions", "per")
    _check_known(_object(raw, where), names, where)
    for name in names:
        if name not in raw:
            raise _Bad(f"{where}/{name}: is missing")
    ratio = raw["error_ratio"]
    if isinstance(ratio, bool) or not isinstance(ratio, (int, float)) or not 0 < ratio < 1:
        raise _Bad(f"{where}/error_ratio: must be a number between 0 and 1, not "
                   f"{json.dumps(ratio)[:QUOTED]}")  # fmt: skip
    dimensions = _read_words(raw["dimensions"], f"{where}/dimensions")
    per = _read_words(raw["per"], f"{where}/per", dimensions)
    return Tolerance(float(ratio), dimensions, per, file)
