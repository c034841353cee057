"""Operations that only move data, as the nodes of a trace: copies and fills.

An entry of `MOVES` yields what one ATen operation does. Copies convert between dtypes, and
only in ways that cannot compute: see `castable`. Nothing here has data.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from recorder.fakes import Refused
from recorder.memory import Memory, Store
from shared.structure import contiguous

MOST_PARTS = 1024  # copies that one indexing may become


@dataclass(frozen=True, slots=True)
class View:
    """Some elements of a store; offset and strides count elements."""

    store: Store
    dtype: torch.dtype
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def count(self) -> int:
        found = 1
        for n in self.shape:
            found *= n
        return found

    def narrow(self, dim: int, start: int, length: int, step: int = 1) -> View:
        stride = self.strides[dim]
        return replace(
            self,
            offset=self.offset + start * stride,
            shape=_put(self.shape, dim, length),
            strides=_put(self.strides, dim, stride * step),
        )

    def select(self, dim: int, index: int) -> View:
        found = self.narrow(dim, index, 1)
        return replace(found, shape=_cut(found.shape, dim), strides=_cut(found.strides, dim))

    def flip(self, dim: int) -> View:
        length = self.shape[dim]
        return self.narrow(dim, length - 1, length, -1) if length else self

    def expand(self, shape: tuple[int, ...]) -> View:
        """As broadcasting has it."""
        missing = len(shape) - len(self.shape)
        sizes = (1,) * missing + self.shape
        strides = (0,) * missing + self.strides
        strides = tuple(0 if n == 1 and m != 1 else s for n, m, s in zip(sizes, shape, strides))
        return replace(self, shape=tuple(shape), strides=strides)

    def whole(self) -> bool:
        """All of its store, in order."""
        return (
            self.offset == 0
            and self.dtype == self.store.dtype
            and self.count == self.store.count
            and self.strides == contiguous(self.shape)
        )


@dataclass(frozen=True, slots=True)
class Copy:
    to: View
    source: View


@dataclass(frozen=True, slots=True)
class Fill:
    to: View
    value: int | float | bool


@dataclass(frozen=True, slots=True)
class Add:
    to: View
    value: int


Move = Copy | Fill | Add


def view_of(memory: Memory, t: torch.Tensor) -> View:
    return View(memory.store(t), t.dtype, t.storage_offset(), tuple(t.shape), t.stride())


def whole_store(store: Store) -> View:
    """All of a store as one row."""
    return View(store, store.dtype, 0, (store.count,), (1,))


def castable(source: torch.dtype, to: torch.dtype) -> bool:
    """Between floating types, from boolean or integer to a larger kind, and between integers,
    where no value may change: the judge looks at them. A float made an integer is rounded, which
    is computing, and so is `!= 0`."""
    order = [_number_kind(source), _number_kind(to)]
    return source == to or "complex" not in order and to != torch.bool and order != ["float", "int"]


def _number_kind(dtype: torch.dtype) -> str:
    if dtype.is_complex:
        return "complex"
    return "float" if dtype.is_floating_point else "int"


def _put(items: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    at %= len(items)
    return items[:at] + (value,) + items[at + 1 :]


def _cut(items: tuple[int, ...], at: int) -> tuple[int, ...]:
    at %= len(items)
    return items[:at] + items[at + 1 :]


# ---- one function for each operation: (memory, result, arguments…) ------------------


def _copy(m: Memory, out: Any, source: Any, *_: Any, **__: Any) -> Iterator[Move]:
    yield Copy(view_of(m, out), view_of(m, source))


def _copy_into(m: Memory, out: Any, target: Any, source: Any, *_: Any) -> Iterator[Move]:
    to = view_of(m, target)
    yield Copy(to, view_of(m, source).expand(to.shape))


def _fill(m: Memory, out: Any, target: Any, value: Any = 0) -> Iterator[Move]:
    to = view_of(m, target)
    if isinstance(value, torch.Tensor):
        yield Copy(to, view_of(m, value).expand(to.shape))
    else:
        yield Fill(to, value)


def _cat(m: Memory, out: Any, parts: Any, dim: int = 0) -> Iterator[Move]:
    to, at = view_of(m, out), 0
    for part in parts:
        source = view_of(m, part)
        if source.shape == (0,):  # torch lets it join anything
            continue
        length = source.shape[dim]
        yield Copy(to.narrow(dim, at, length), source)
        at += length


def _stack(m: Memory, out: Any, parts: Any, dim: int = 0) -> Iterator[Move]:
    to = view_of(m, out)
    for index, part in enumerate(parts):
        yield Copy(to.select(dim, index), view_of(m, part))


def _pad(m: Memory, out: Any, source: Any, pad: Any, value: Any = 0) -> Iterator[Move]:
    to, inner = view_of(m, out), view_of(m, source)
    yield Fill(to, value)
    for index in range(len(pad) // 2):
        dim = len(to.shape) - 1 - index
        before, after = pad[2 * index], pad[2 * index + 1]
        length = inner.shape[dim] + min(before, 0) + min(after, 0)
        inner = inner.narrow(dim, max(-before, 0), length)
        to = to.narrow(dim, max(before, 0), inner.shape[dim])
    yield Copy(to, inner)


def _repeat(m: Memory, out: Any, source: Any, repeats: Any) -> Iterator[Move]:
    """One copy: a result of n·k elements is n times k, and the source repeats in the first."""
    to = view_of(m, out)
    inner = view_of(m, source)
    inner = inner.expand((1,) * (len(repeats) - len(inner.shape)) + inner.shape)
    shape: list[int] = []
    strides: tuple[list[int], list[int]] = ([], [])
    for times, n, fast, own in zip(repeats, inner.shape, to.strides, inner.strides):
        shape += [times, n]
        strides[0].extend((fast * n, fast))
        strides[1].extend((0, own))
    wide = [i for i, n in enumerate(shape) if n != 1]
    pick = lambda items: tuple(items[i] for i in wide)  # noqa: E731
    yield Copy(
        replace(to, shape=pick(shape), strides=pick(strides[0])),
        replace(inner, shape=pick(shape), strides=pick(strides[1])),
    )


def _flip(m: Memory, out: Any, source: Any, dims: Any) -> Iterator[Move]:
    inner = view_of(m, source)
    for dim in dims:
        inner = inner.flip(dim)
    yield Copy(view_of(m, out), inner)


def _roll(m: Memory, out: Any, source: Any, shifts: Any, dims: Any = ()) -> Iterator[Move]:
    """Each dimension in two parts that change places."""
    to, inner = view_of(m, out), view_of(m, source)
    if not dims:
        if inner.strides != contiguous(inner.shape) or to.strides != contiguous(to.shape):
            raise Refused("dispatch:aten.roll", "torch.roll without dims on strided memory")
        flat = {"shape": (inner.count,), "strides": (1,)}
        to, inner, dims = replace(to, **flat), replace(inner, **flat), (0,)
    halves = []
    for shift, dim in zip(shifts, dims):
        n = inner.shape[dim]
        back = shift % max(n, 1)
        both = [(dim, 0, back, n - back), (dim, n - back, 0, back)]
        halves.append([part for part in both if part[3]])
    for choice in itertools.product(*halves):
        part, place = inner, to
        for dim, start, target, length in choice:
            part, place = part.narrow(dim, start, length), place.narrow(dim, target, length)
        yield Copy(place, part)


def _index_select(m: Memory, out: Any, source: Any, dim: int, index: Any) -> Iterator[Move]:
    to, inner, at = view_of(m, out), view_of(m, source), 0
    for first, step, length in _runs(_literal(m, index)):
        start = first + inner.shape[dim] if first < 0 else first
        yield Copy(to.narrow(dim, at, length), inner.narrow(dim, start, length, step))
        at += length


def _index(m: Memory, out: Any, source: Any, indices: Any) -> Iterator[Move]:
    """x[:, [2, 0, 1]]: one list of numbers."""
    chosen = [(dim, i) for dim, i in enumerate(indices) if i is not None]
    if len(chosen) != 1 or chosen[0][1].dim() != 1 or chosen[0][1].dtype == torch.bool:
        raise Refused("dispatch:aten.index", "forward indexes a tensor with tensors")
    yield from _index_select(m, out, source, *chosen[0])


def _literal(m: Memory, index: Any) -> list[int]:
    if m.store(index).opaque:
        raise Refused("dispatch:aten.index", "forward indexes with values that it cannot know")
    return m.read(index, "tolist").reshape(-1).tolist()


def _runs(numbers: list[int]) -> list[tuple[int, int, int]]:
    """(first, step, length) of the even stretches."""
    runs: list[tuple[int, int, int]] = []
    for n in numbers:
        if runs:
            first, step, length = runs[-1]
            if length == 1 or n == first + step * length:
                runs[-1] = (first, n - first if length == 1 else step, length + 1)
                continue
        runs.append((n, 1, 1))
    if len(runs) > MOST_PARTS:
        raise Refused("dispatch:aten.index", f"an index that takes {len(runs)} copies")
    return runs


def _add(m: Memory, out: Any, target: Any, other: Any, *, alpha: Any = 1) -> Iterator[Move]:
    """A counter such as num_batches_tracked."""
    to = view_of(m, target)
    if isinstance(other, torch.Tensor) and not m.store(other).opaque and other.numel() == 1:
        other = m.read(other, "item").item()
    if to.count != 1 or to.dtype.is_floating_point or type(other) is not int or alpha != 1:
        raise Refused("dispatch:aten.add_", "forward adds to a tensor")
    yield Add(to, other)


MOVES: dict[str, Callable[..., Iterator[Move]]] = {
    "clone": _copy, "_to_copy": _copy, "cat": _cat, "stack": _stack, "constant_pad_nd": _pad,
    "repeat": _repeat, "flip": _flip, "roll": _roll, "index_select": _index_select,
    "index": _index, "copy_": _copy_into, "fill_": _fill, "zero_": _fill, "add_": _add,
}  # fmt: skip

# Memory that holds nothing yet, and memory that holds one value: where the value is.
ALLOCATIONS = frozenset(
    "empty empty_strided empty_like empty_permuted new_empty new_empty_strided".split()
)
FILLED: dict[str, int | float | None] = {
    "zeros": 0, "zeros_like": 0, "new_zeros": 0, "ones": 1, "ones_like": 1, "new_ones": 1,
    "full": None, "full_like": None, "new_full": None, "scalar_tensor": None,
}  # fmt: skip
VALUE_AT = {"full": 1, "full_like": 1, "new_full": 2, "scalar_tensor": 0}

# Needs values where there are none.
READS = frozenset(
    """_local_scalar_dense item is_nonzero equal nonzero nonzero_static masked_select unique_dim
    unique_consecutive _unique2 _unique""".split()
)
