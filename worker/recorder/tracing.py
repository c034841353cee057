"""The trace as it grows: the buffers, nodes and constants of each call, in the form of
docs/TRACE.md.

Memory joins a call when it is first used there, and how depends on where it comes from: an
input, state, an allocation, something kept from an earlier call, or a constant.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from recorder.fakes import Refused
from recorder.memory import Memory, Store, as_dtype
from recorder.moves import Add, Copy, Fill, Move, View, castable, whole_store
from recorder.origins import Origins
from shared import overlap
from shared.program import ITEM

CONSTANTS = 64 << 20  # bytes in all
ALIGN = 16  # of a constant in the blob
WORDS = (torch.int64, torch.uint64)
ADDRESSES = (
    "a tensor that a kernel gets holds addresses of other tensors (data_ptr()), so nobody can check "
    "what the kernel reads and writes: pass the tensors themselves as arguments, launch the kernel "
    "once for each group, or put the groups into one tensor (torch.cat) and pass offsets"
)

# What torch raises, as far as it looks.
ONE_PLACE = ("written-to tensor refers to a single memory location. Please clone() the tensor before "
             "performing the operation.")  # fmt: skip


class Call:
    """One call of forward, or the setup before the first."""

    def __init__(self) -> None:
        self.buffers: list[dict] = []
        self.nodes: list[dict] = []
        self.index: dict[Store, int] = {}
        self.launches = 0

    def add(self, store: Store, buffer: dict) -> int:
        self.index[store] = len(self.buffers)
        self.buffers.append(buffer)
        return self.index[store]


class Trace:
    def __init__(self, memory: Memory, origins: Origins) -> None:
        self.memory = memory
        self.origins = origins
        self.setup = Call()
        self.call: Call | None = None
        self.blob = bytearray()
        self.packed = False  # something was computed from parameters before forward
        self.kernels: list[dict] = []
        self.texts: list[str] = []
        self._kernel_of: dict[Any, int] = {}
        self._ids = 0
        self._at: dict[bytes, int] = {}  # where constants lie in the blob

    def kernel(self, key: Any, spec: dict | Callable[[], dict] | None) -> int:
        if spec is None:
            key, spec = json.dumps(key, sort_keys=True), key
        if key not in self._kernel_of:
            entry = spec() if callable(spec) else spec
            if entry not in self.kernels:
                self.kernels.append(entry)
            self._kernel_of[key] = self.kernels.index(entry)
        return self._kernel_of[key]

    def text(self, source: str) -> int:
        if source not in self.texts:
            self.texts.append(source)
        return self.texts.index(source)

    # ---- nodes and buffers ----

    def record(self, move: Move, name: str) -> None:
        """Adds what the candidate moves to the current call. Only _new() and own() add moves by
        themselves: to the setup, or before all others. Those write whole stores, so none of these
        checks concerns them."""
        to = move.to
        if to.count == 0:
            return
        if overlap.overlaps_itself(to.shape, to.strides):
            raise RuntimeError(f"unsupported operation: more than one element of the {ONE_PLACE}")
        self._make_writable(to.store)
        if isinstance(move, Copy):
            self._record_copy(to, move.source, name)
            return
        self._own_dtype(to, name)
        target = self.describe(to)
        if isinstance(move, Add):
            self._open().nodes.append({"op": "add", "to": target, "value": move.value})
        else:
            value = json_number(as_dtype(move.value, to.dtype))
            self._open().nodes.append({"op": "fill", "to": target, "value": value})

    def _make_writable(self, store: Store) -> None:
        """A constant that forward changes is memory that starts as a copy of one."""
        if store.opaque or store.real is None or store in self._open().index:
            return
        constant = replace(store, extra={})
        store.real = None
        call = self.call
        if store.call == 0:
            self.call = None
        self.record(Copy(whole_store(store), whole_store(constant)), "copy_")
        self.call = call

    def _record_copy(self, to: View, source: View, name: str) -> None:
        if source.store.never_written():
            return  # whatever it holds, nobody may depend on it
        value = self._single(source)
        if value is not None:
            self.record(Fill(to, value), name)
            return
        if to.store is source.store and to != source and overlap.meet(to, source):
            raise RuntimeError(f"unsupported operation: some elements of the input tensor and the {ONE_PLACE}")
        if not castable(source.dtype, to.dtype):
            raise Refused(
                f"dispatch:aten.{name}",
                f"forward converts {dtype_name(source.dtype)} to {dtype_name(to.dtype)}, which "
                "computes: do it in a kernel",
            )
        to, source = self._same_dtype(to, source, name)
        node = {"op": "copy", "from": self.describe(source), "to": self.describe(to)}
        self._open().nodes.append(node)

    def _single(self, source: View) -> int | float | bool | None:
        """The value of a source that is known and has but one."""
        if source.store.opaque:
            return None
        if source.store.real is None:
            return source.store.fill
        if any(n > 1 and s != 0 for n, s in zip(source.shape, source.strides)):
            return None
        return self.memory.element(source.store, source.dtype, source.offset)

    def _same_dtype(self, to: View, source: View, name: str) -> tuple[View, View]:
        """A copy of what is seen under another dtype (x.view(torch.int16).contiguous()) is
        one of its own dtype into memory that is seen under another."""
        own, kept = source.store.dtype, to.store
        if source.dtype == to.dtype != own and own.itemsize == to.dtype.itemsize:
            if kept not in self._open().index and kept.never_written():
                kept.dtype = own
                return _as(to, own), _as(source, own)
            if kept.dtype == own:
                return _as(to, own), _as(source, own)
        self._own_dtype(to, name)
        self._own_dtype(source, name)
        return to, source

    def _own_dtype(self, view: View, name: str) -> None:
        if view.dtype != view.store.dtype:
            raise Refused(
                f"dispatch:aten.{name}",
                f"forward moves {dtype_name(view.store.dtype)} data as {dtype_name(view.dtype)}: "
                "do it in a kernel",
            )

    def _open(self) -> Call:
        return self.call or self.setup

    def describe(self, view: View) -> list:
        index = self._buffer(view.store)
        return [index, dtype_name(view.dtype), view.offset, list(view.shape), list(view.strides)]

    def _buffer(self, store: Store) -> int:
        """The buffer's number in the current call; what was not used before joins it."""
        call = self._open()
        found = call.index.get(store)
        if found is not None:
            return found
        if dtype_name(store.dtype) not in ITEM:
            raise Refused("dtype", f"a tensor of {dtype_name(store.dtype)} cannot be recorded")
        if "is" in store.extra:  # an input, or state
            if store.call not in (0, self.memory.call):
                raise Refused("input-kept", "forward uses an input of an earlier call")
            return call.add(store, dict(store.extra["is"]))
        if store.call == 0 and call is not self.setup:
            return call.add(store, self._from_init(store))
        if not store.opaque and store.real is not None:
            return call.add(store, self._constant(store))
        if store.call and store.call != self.memory.call and "new" in store.extra:
            return call.add(store, self._kept(store))
        return self._new(call, store)

    def _new(self, call: Call, store: Store) -> int:
        buffer = {"kind": "new", "bytes": self._size(store), "dtype": dtype_name(store.dtype)}
        store.extra["new"] = buffer
        index = call.add(store, buffer)
        if store.fill is not None and not store.opaque:
            view = [index, buffer["dtype"], 0, [store.count], [1]]
            call.nodes.append({"op": "fill", "to": view, "value": json_number(store.fill)})
        store.opaque = True  # a kernel may write to it
        return index

    def _kept(self, store: Store) -> dict:
        """A buffer that an earlier call or the setup made."""
        made = store.extra["new"]
        if "id" not in made:
            made["id"] = self._ids
            self._ids += 1
        return {"kind": "kept", "id": made["id"], "bytes": made["bytes"], "dtype": made["dtype"]}

    def _from_init(self, store: Store) -> dict:
        """What was made before forward: by moves and fills again, or its bytes."""
        if store.opaque and "new" not in store.extra:
            moves = store.extra.get("laid") or self.origins.moves(store)
            if moves is None:
                self.packed = True
                return self._constant(store)
            call, self.call = self.call, None
            for move in moves:
                self.record(move, "setup")
            self.call = call
        if not store.opaque and store.real is not None:
            return self._constant(store)
        if "new" not in store.extra:
            self._new(self.setup, store)
        return self._kept(store)

    def _constant(self, store: Store) -> dict:
        if "const" not in store.extra:
            data = self.memory.bytes(store)
            if store.dtype in WORDS and data and self.memory.has_address(data):
                raise Refused("address", ADDRESSES)
            if data not in self._at:
                self.blob.extend(bytes(-len(self.blob) % ALIGN))
                self._at[data] = len(self.blob)
                self.blob.extend(data)
            if len(self.blob) > CONSTANTS:
                raise Refused(
                    "constants",
                    f"the model's constants take more than {CONSTANTS >> 20} MiB: compute them "
                    "in a kernel",
                )
            store.extra["const"] = {
                "kind": "const", "at": self._at[data], "bytes": len(data),
                "dtype": dtype_name(store.dtype),
            }  # fmt: skip
        return dict(store.extra["const"])

    def own(self, store: Store) -> None:
        """What is returned, and was a constant where a kernel got it: the kernel may have
        written to it. It becomes memory of the call that starts with the constant's bytes."""
        call = self._open()
        index = call.index.get(store)
        if index is None or store.call != self.memory.call or call.buffers[index]["kind"] != "const":
            return
        const = call.buffers[index]
        call.buffers[index] = {"kind": "new", "bytes": const["bytes"], "dtype": const["dtype"]}
        store.extra["new"], store.opaque = call.buffers[index], True
        call.buffers.append(const)
        whole = [const["dtype"], 0, [store.count], [1]]
        node = {"op": "copy", "from": [len(call.buffers) - 1, *whole], "to": [index, *whole]}
        call.nodes.insert(0, node)

    def changed(self, store: Store) -> None:
        """What is known holds something else now: where it is used next, it is another
        constant."""
        store.extra.pop("const", None)
        if self.call is not None:
            self.call.index.pop(store, None)

    def _size(self, store: Store) -> int:
        return max(store.size, store.dtype.itemsize)


def json_number(value: int | float | bool) -> Any:
    """JSON has no infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _as(view: View, dtype: torch.dtype) -> View:
    return View(view.store, dtype, view.offset, view.shape, view.strides)
