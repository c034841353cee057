"""A stand-in for recorder and executor in one process: what is recorded is checked by
the judge's side, built by the compiler's, and called at once over the tensors' own memory."""
from __future__ import annotations

import ctypes
import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker")]

from judge import launches, traces  # noqa: E402
from shared import native, program  # noqa: E402


class Recorder:
    """Keeps nodes; buffers are the storages of tensors."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.kernels: list[dict] = []
        self.nodes: list[dict] = []
        self.storages: list[torch.UntypedStorage] = []
        self.buffers: list[dict] = []

    def view(self, tensor: torch.Tensor) -> list:
        storage, dtype = tensor.untyped_storage(), str(tensor.dtype).removeprefix("torch.")
        known = [s.data_ptr() for s in self.storages]
        if storage.data_ptr() not in known:
            self.storages.append(storage)
            self.buffers.append({"kind": "new", "bytes": storage.nbytes(), "dtype": dtype})
            known.append(storage.data_ptr())
        shape, strides = list(tensor.shape), list(tensor.stride())
        return [known.index(storage.data_ptr()), dtype, tensor.storage_offset(), shape, strides]

    def text(self, source: str) -> int:
        return _index(self.texts, source)

    def kernel(self, kernel: dict) -> int:
        return _index(self.kernels, kernel)

    def launch(self, node: dict) -> None:
        self.nodes.append(node)

    def trace(self) -> traces.Trace:
        """As the judge reads it."""
        return parse(self.nodes, self.buffers, self.texts, self.kernels)


def parse(nodes: list, buffers: list, texts: list, kernels: list) -> traces.Trace:
    call = {"buffers": buffers, "nodes": nodes, "output": {"value": None}}
    head = {"trace": 1, "state": [], "setup": {"buffers": [], "nodes": []}, "calls": [call],
            "kernels": kernels, "texts": texts}  # fmt: skip
    return traces.parse_trace(traces.header(json.dumps(head).encode() + b"\n"), [], {})


def _index(known: list, item: Any) -> int:
    if item not in known:
        known.append(item)
    return known.index(item)


NATIVE = launches.FAMILIES["native"]


def request(trace: traces.Trace, family: str, **more: Any) -> dict:
    """What a compiler is asked, as verdict.py puts it together and a child reads it."""
    found = launches.requests(trace, launches.FAMILIES[family])
    asked = found | {"kernels": trace.kernels, "texts": trace.texts, "target": "sm_90", **more}
    return json.loads(json.dumps(asked))


_built: dict[str, tuple[launches.Built, list[ctypes.CDLL]]] = {}


class Runner(Recorder):
    """Executes each call of a library when it is recorded."""

    def __init__(self, compile: Callable[[dict], bytes]) -> None:
        super().__init__()
        self.compile = compile

    def launch(self, node: dict) -> None:
        self.nodes = [node]
        trace = self.trace()
        launches.check_launches(trace, NATIVE)
        built, libraries = self._build(trace)
        [call], places = trace.calls, [storage.data_ptr() for storage in self.storages]
        [made] = launches.Maker(built, NATIVE, 0).nodes(call.launches()[0], call, places, 0)
        words = [p.at if isinstance(p, program.Pointer) else p.bits for p in made.params]
        found = built.functions[made.function]
        function = libraries[found.module][found.name]
        function.restype = None
        function((ctypes.c_uint64 * len(words))(*words))

    def _build(self, trace: traces.Trace) -> tuple[launches.Built, list[ctypes.CDLL]]:
        asked = request(trace, "native")
        key = json.dumps(asked)
        if key not in _built:
            built = launches.Built.parse(self.compile(asked), trace, NATIVE)
            _built[key] = built, [load_library(module.data) for module in built.modules]
        return _built[key]


native.map_room()


def load_library(data: bytes) -> ctypes.CDLL:
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(data)
        file.flush()
        return ctypes.CDLL(file.name)


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
