"""What passes between the judge and forward, in the form of the trace: the arguments as
the judge describes them, the state that both know by name, and what is returned."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from recorder.fakes import CPU, META, Fake, Refused
from recorder.memory import Memory, Store, plainly
from recorder.moves import Copy, View, view_of
from recorder.tracing import dtype_name, json_number
from shared import inputs
from shared.adapter import Mistake
from shared.structure import contiguous

if TYPE_CHECKING:
    from recorder.recorder import Recorder


def argument(spec: dict, tensor: Callable[[list], Fake]) -> Any:
    """An argument of forward, as the judge describes it; `tensor` makes one."""
    ((kind, content),) = spec.items()
    if kind == "value":
        return content
    if kind == "dict":
        return {key: argument(part, tensor) for key, part in content}
    if kind in ("list", "tuple"):
        parts = [argument(part, tensor) for part in content]
        return tuple(parts) if kind == "tuple" else parts
    return tensor(content)


class Arguments:
    """The arguments of each call. The second call has the tensors of the first with a higher
    version, as if new values were written to them; the third has other tensors at the same
    addresses, as an allocator gives memory out again; later ones share nothing. So what forward
    keeps by an input's identity, version or address shows: its calls differ."""

    def __init__(self, recorder: Recorder, specs: list) -> None:
        self.recorder, self.specs = recorder, specs
        self.made: list[tuple[Fake, torch.Tensor, Store]] = []  # of the call before
        self.calls = 0

    def next(self) -> list:
        self.calls += 1
        before, self.made, indices = self.made, [], itertools.count()

        def tensor(raw: list) -> Fake:
            index = next(indices)
            old = before[index] if before else None
            made = self._again(old) if self.calls == 2 else self._new(raw, index, old)
            self.made.append(made)
            return made[0]

        return [argument(spec, tensor) for spec in self.specs]

    def _again(self, old: tuple[Fake, torch.Tensor, Store]) -> tuple[Fake, torch.Tensor, Store]:
        """The same object, as it was before forward had it."""
        t, meta, store = old
        t.data = Fake(meta, self.recorder.claims)
        torch.autograd.graph.increment_version(t)
        store.call = self.recorder.memory.call
        return old

    def _new(self, raw: list, index: int, old: tuple | None) -> tuple[Fake, torch.Tensor, Store]:
        shape, name, strides = raw
        dtype = getattr(torch, name.removeprefix("torch."))
        with plainly():
            meta = torch.empty_strided(shape, strides, dtype=dtype, device=META)
        made = self.recorder.memory.fresh(meta, self.recorder.claims)
        store = self.recorder.memory.store(made)
        store.opaque, store.extra["is"] = True, {"kind": "input", "index": index}
        if old and self.calls == 3:
            store.address = old[2].address
        return made, meta, store


def output(recorder: Recorder, value: Any, where: str) -> dict:
    """What forward returned, with its structure."""
    if isinstance(value, torch.Tensor):
        t = recorder.fake(value)
        if t.device != recorder.claims:
            raise Mistake(f"{where} is on {t.device}, not on {recorder.claims}")
        recorder.trace.own(recorder.memory.store(t))
        return {"tensor": recorder.view(t)}
    if isinstance(value, dict):
        if not all(key is None or isinstance(key, (bool, int, str)) for key in value):
            raise Refused("output-not-plain", f"{where} is a dict with keys that are no text.")
        parts = [[k, output(recorder, v, f"{where}[{k!r}]")] for k, v in value.items()]
        return {"dict": parts}
    if isinstance(value, (list, tuple)):
        parts = [output(recorder, v, f"{where}[{i}]") for i, v in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": parts}
    if value is None or type(value) in (bool, int, float, str):
        return {"value": json_number(value)}
    raise Refused("output-not-plain", f"{where} is a {type(value).__name__}: forward returns "
                  "tensors, or lists, tuples and dicts of them.")  # fmt: skip


class State:
    """The model's named tensors that the judge has, too: the reference's by name, else by
    shape in the order of registration."""

    def __init__(self, model: torch.nn.Module, reference: list) -> None:
        self.model = model
        self.tensors = inputs.named_state(model)
        self.parameters = set(inputs.parameters(model))
        meant = [(n, list(shape), d.removeprefix("torch.")) for n, shape, d in reference]
        mine = [self._entry(n) for n in self.tensors]
        if not all(entry in mine for entry in meant) and _forms(mine) == _forms(meant):
            self.names = [n for n, _, _ in mine]
        else:
            self.names = [entry[0] for entry in mine if entry in meant]

    def _entry(self, name: str) -> tuple[str, list[int], str]:
        value = self.tensors[name]
        return name, list(value.shape), dtype_name(value.dtype)

    def entries(self) -> list:
        kinds = {True: "parameter", False: "buffer"}
        return [[*self._entry(n), kinds[n in self.parameters]] for n in self.names]

    def settle(self, recorder: Recorder) -> None:
        """From here on nobody knows what the state holds, nor what was made of it."""
        memory = recorder.memory
        found: dict[Store, dict[View, str]] = {}
        for name in self.names:
            view = view_of(memory, recorder.fake(self.tensors[name]))
            found.setdefault(view.store, {}).setdefault(view, name)
        for store, views in found.items():
            if len(views) == 1 and next(iter(views)).whole():
                store.extra["is"] = {"kind": "state", "name": next(iter(views.values()))}
            else:
                store.extra["laid"] = [_laid(memory, v, name) for v, name in views.items()]
        for store in recorder.origins.settle(set(found)):
            store.opaque = True
        recorder.building = False

    def take_back(self, recorder: Recorder) -> None:
        """What forward assigned to a name of the state is copied there: the judge looks at
        the state's own memory."""
        for name in self.names:
            path, _, leaf = name.rpartition(".")
            owner = self.model.get_submodule(path)
            kept = owner._parameters if name in self.parameters else owner._buffers
            before, now = self.tensors[name], kept.get(leaf)
            if now is not None and now is not before and now.shape == before.shape:
                old, new = (view_of(recorder.memory, recorder.fake(t)) for t in (before, now))
                if old != new:
                    recorder.trace.record(Copy(old, new), "copy_")
                kept[leaf] = before


def _forms(entries: list) -> list:
    return [entry[1:] for entry in entries]


def _laid(memory: Memory, view: View, name: str) -> Copy:
    """State that is not contiguous in its own memory: the judge's is, and is copied."""
    with plainly():
        meta = torch.empty(view.shape, dtype=view.dtype, device=META)
    source = memory.store(memory.fresh(meta, CPU))
    source.opaque, source.extra["is"] = True, {"kind": "state", "name": name}
    return Copy(view, View(source, view.dtype, 0, view.shape, contiguous(view.shape)))
