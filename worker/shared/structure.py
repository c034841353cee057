"""The structure of values: what containers they are made of and what stands between the
tensors. A result must have the reference's, and forward's arguments are described to the
recorder in the same words, those of a trace's OUT:

    {"tensor": LEAF} | {"list": [..]} | {"tuple": [..]} | {"dict": [[key, ..], ..]} |
    {"value": None | bool | int | float | {"float": "inf"} | str}
"""

import math
from collections.abc import Callable

import torch
from shared.limits import Unusable

DEEPEST = 16
SHOWN = 8  # keys that a message lists
TEXT = 60  # characters of a value that it quotes

Structure = dict


def walk(value: object, leaf: Callable[[torch.Tensor, str], object], where: str,
         depth: int = 0) -> Structure:  # fmt: skip
    """`leaf` makes what stands for a tensor, in the order of the containers; a dict's is
    that of insertion. Unusable names the place of anything else."""
    if depth > DEEPEST:
        raise Unusable(f"{where} is nested too deeply")
    if isinstance(value, torch.Tensor):
        return {"tensor": leaf(value, where)}
    if isinstance(value, (list, tuple)):
        parts = [walk(v, leaf, f"{where}[{i}]", depth + 1) for i, v in enumerate(value)]
        return {"list" if isinstance(value, list) else "tuple": parts}
    if isinstance(value, dict):
        return {"dict": [
            [_key(k, where), walk(v, leaf, f"{where}[{k!r}]", depth + 1)]
            for k, v in value.items()
        ]}  # fmt: skip
    return {"value": _plain_leaf(value, where)}


def _key(key: object, where: str) -> str | int:
    if isinstance(key, (str, int)) and not isinstance(key, bool):
        return key
    raise Unusable(f"{where} has the key {key!r:.60}: use strings or integers")


def _plain_leaf(value: object, where: str) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    for kind in (int, str):
        if isinstance(value, kind):
            return kind(value)
    raise Unusable(
        f"{where} is of type {type(value).__name__}: use tensors, numbers, strings, None, and "
        "lists, tuples and dicts of them"
    )


def describe(value: object, where: str = "output") -> tuple[Structure, list[torch.Tensor]]:
    """Its structure, in which a tensor is its index, and its tensors in that order."""
    found: list[torch.Tensor] = []

    def leaf(tensor: torch.Tensor, _: str) -> int:
        found.append(tensor)
        return len(found) - 1

    return walk(value, leaf, where), found


def tensors(value: object) -> list[torch.Tensor]:
    """The tensors alone, in the same order, whatever stands between them."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for part in value for t in tensors(part)]
    if isinstance(value, dict):
        return [t for part in value.values() for t in tensors(part)]
    return []


def leaves(structure: Structure) -> list:
    """What stands for the tensors, in order: of a trace's OUT the views."""
    ((kind, held),) = structure.items()
    if kind == "tensor":
        return [held]
    if kind in ("list", "tuple"):
        return [leaf for part in held for leaf in leaves(part)]
    return [leaf for _, part in held for leaf in leaves(part)] if kind == "dict" else []


def mapped(value: object, change: Callable[[torch.Tensor], object]) -> object:
    """The same containers with every tensor changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        parts = [mapped(v, change) for v in value]
        make = getattr(type(value), "_make", type(value))  # a named tuple's
        return make(parts)
    if isinstance(value, dict):
        return {k: mapped(v, change) for k, v in value.items()}
    return value


# ---- comparing -------------------------------------------------------------------


def difference(wanted: Structure, got: Structure, where: str = "output") -> str | None:
    """The first place where two structures differ, as a sentence without a period; None
    where they are equal. What stands for tensors does not count."""
    ((kind, inner),) = wanted.items()
    ((other, outer),) = got.items()
    if kind != other:
        return _unlike(where, wanted, got)
    if kind == "value":
        equal = type(inner) is type(outer) and inner == outer
        return None if equal else _unlike(where, wanted, got)
    if kind == "tensor":
        return None
    if kind == "dict":
        if [_typed(k) for k, _ in inner] != [_typed(k) for k, _ in outer]:
            return _unlike(where, wanted, got)
        pairs = [(f"{where}[{k!r}]", a, b) for (k, a), (_, b) in zip(inner, outer)]
    else:
        if len(inner) != len(outer):
            return _unlike(where, wanted, got)
        pairs = [(f"{where}[{i}]", a, b) for i, (a, b) in enumerate(zip(inner, outer))]
    found = (difference(a, b, place) for place, a, b in pairs)
    return next((said for said in found if said), None)


def _typed(key: str | int) -> tuple[type, str | int]:
    return type(key), key


def _unlike(where: str, wanted: Structure, got: Structure) -> str:
    return f"{where}: {name(wanted)} was expected, got {name(got)}"


def name(structure: Structure) -> str:
    """In words."""
    ((kind, held),) = structure.items()
    if kind == "tensor":
        return "a tensor"
    if kind in ("list", "tuple"):
        return f"a {kind} of {len(held)}"
    if kind == "dict":
        keys = [repr(k)[:TEXT] for k, _ in held[:SHOWN]]
        more = ["…"] if len(held) > SHOWN else []
        return f"a dict with the keys {', '.join(keys + more)}" if held else "an empty dict"
    if isinstance(held, dict):
        return held["float"]
    return "None" if held is None else f"the {type(held).__name__} {held!r:.60}"


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of elements that lie one after the other."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))
