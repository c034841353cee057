"""What passes between the judge and forward, in the form of the trace: the arguments as
the judge describes them, the state that both know by name, and what is returned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from recorder.fakes import CPU, META, Refused
from recorder.memory import Memory, Store, plainly
from recorder.moves import Copy, View, contiguous, view_of
from recorder.tracing import dtype_name, number
from shared import inputs

if TYPE_CHECKING:
    from recorder.recorder import Recorder


def argument(recorder: Recorder, spec: dict, indices: Iterator[int]) -> Any:
    """An argument of forward, as the judge describes it."""
    ((kind, told),) = spec.items()
    if kind == "value":
        return told
    if kind == "dict":
        return {key: argument(recorder, part, indices) for key, part in told}
    if kind in ("list", "tuple"):
        parts = [argument(recorder, part, indices) for part in told]
        return tuple(parts) if kind == "tuple" else parts
    shape, name, strides = told
    dtype = getattr(torch, name.removeprefix("torch."))
    with plainly():
        meta = torch.empty_strided(shape, strides, dtype=dtype, device=META)
    made = recorder.memory.fresh(meta, recorder.claims)
    store = recorder.memory.store(made)
    store.opaque, store.extra["is"] = True, {"kind": "input", "index": next(indices)}
    return made


def output(recorder: Recorder, value: Any, where: str) -> dict:
    """What forward returned, with its structure."""
    if isinstance(value, torch.Tensor):
        t = recorder.fake(value)
        if t.device != recorder.claims:
            raise ValueError(f"{where} is on {t.device}, not on {recorder.claims}")
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
        return {"value": number(value)}
    raise Refused("output-not-plain", f"{where} is a {type(value).__name__}: forward returns "
                  "tensors, or lists, tuples and dicts of them.")  # fmt: skip


class State:
    """The model's named tensors that the judge has, too: the reference's by name, else by
    shape in the order of registration."""

    def __init__(self, model: torch.nn.Module, reference: list) -> None:
        self.model = model
        self.tensors = {**inputs.parameters(model), **inputs.buffers(model)}
        self.parameters = set(inputs.parameters(model))
        named = [self._entry(n) for n in inputs.named_state(model)]
        meant = [(n, list(shape), d.removeprefix("torch.")) for n, shape, d in reference]
        mine = [self._entry(n) for n in self.tensors]
        if not all(entry in mine for entry in meant) and _forms(named) == _forms(meant):
            self.names = [n for n, _, _ in named]
        else:
            self.names = [entry[0] for entry in mine if entry in meant]

    def _entry(self, name: str) -> tuple[str, list[int], str]:
        value = self.tensors[name]
        return name, list(value.shape), dtype_name(value.dtype)

    def told(self) -> list:
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
