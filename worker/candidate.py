"""The candidate's side: runs in the box, after the fork, one candidate a process.

It makes the inputs from the seed, calls forward under watch, copies the outputs
into the judge's buffer and tells what it saw. It decides nothing.
"""

import importlib.util
import os
import socket
import sys
import traceback
from types import ModuleType

import clock
import evidence
import inputs
import torch
from buffers import Window
from frames import Broken, recv_message, send_message

LIMIT = 64 << 20  # from the judge, which is trusted: sources are long
TEXT = 16000  # characters of an error that are passed on


def error(stage: str, problem: BaseException, compile: bool, path: str) -> dict:
    """An exception as the judge is told: its traceback from the candidate's own
    file on, since the frames above are ours."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != path:
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(problem), problem, trace))
    if len(text) > TEXT:
        text = text[: TEXT // 2] + "\n…\n" + text[-TEXT // 2 :]
    name = type(problem).__module__ + "." + type(problem).__qualname__
    name = name.removeprefix("builtins.")
    return {"error": {"stage": stage, "type": name, "text": text, "compile": compile}}


def load_module(source: str, path: str) -> ModuleType:
    """The source as a real file under a fresh name in sys.modules: decorators
    that read their own source and string annotations both need that."""
    name = os.path.basename(path).removesuffix(".py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Candidate:
    def __init__(
        self, sock: socket.socket, adapter: ModuleType, device: str, folder: str
    ) -> None:
        self.sock = sock
        self.folder = folder
        self.path = os.path.join(folder, f"candidate_{os.getpid()}.py")
        self.adapter = adapter
        self.device = device
        self.model: torch.nn.Module | None = None
        self.space: dict = {}
        self.dtype = torch.float32
        self.memory = evidence.GuardedMemory()
        self.snapshot: evidence.Snapshot | None = None
        self.last: list = []  # the inputs of the last call
        self.watch: clock.Stopwatch | None = None
        self.operations = {
            "load": self.load, "params": self.params, "describe": self.describe,
            "compile": self.compile,
        }  # fmt: skip

    # ---- operations ----

    def load(self, m: dict) -> dict:
        self.dtype = inputs.DTYPES[m["precision"]]
        self.space = inputs.namespace(m["inputs_source"], "task")
        self.snapshot = evidence.Snapshot(self.adapter.watched())
        try:
            module = load_module(m["source"], self.path)
        except BaseException as problem:  # noqa: BLE001 - SystemExit too
            return self._error("load", problem)
        cls = getattr(module, "ModelNew", None)
        if not isinstance(cls, type) or not issubclass(cls, torch.nn.Module):
            return {"error": {"stage": "load", "type": "NoModel",
                              "text": "the file defines no class ModelNew(nn.Module)"}}  # fmt: skip
        args = inputs.init_args(self.space, m["init_seed"], self.device)
        try:
            self.model = inputs.build(cls, args, m["init_seed"], self.device, self.dtype)
        except BaseException as problem:  # noqa: BLE001
            return self._error("init", problem)
        state = inputs.named_state(self.model)
        return {
            "ok": True,
            "state": [[n, list(v.shape), str(v.dtype)] for n, v in state.items()],
        }

    def params(self, m: dict) -> dict:
        inputs.randomise(self.model, m["names"], m["seed"])
        return {"ok": True}

    def trial(self, m: dict, fds: list[int]) -> dict:
        window = Window(fds[0], m["bytes"], self.device) if fds else None
        args = inputs.make(self.space, m["seed"], m["variant"], self.device, self.dtype)
        args = self._place(args, m["reuse"])
        held = inputs.flatten(args)
        params = [p.detach() for p in self.model.parameters()]
        before = evidence.digest(held), evidence.digest(params)
        threads = evidence.kernel_threads()
        self._poison(m["bytes"])
        self.adapter.reset()
        watch = evidence.Watch(self.memory if self.device == "cpu" else None)
        try:
            with torch.no_grad(), watch:
                out = self.model(*args)
            self._wait()
        except BaseException as problem:  # noqa: BLE001
            return self._error("call", problem)
        outputs = self._collect(out, held + params)
        if "error" in outputs:
            return outputs
        tensors = outputs.pop("tensors")
        told = {
            "ok": True,
            **outputs,
            "evidence": {
                "ops": watch.record.ops,
                "foreign": watch.record.foreign,
                "launches": self.adapter.launches(),
                "mutated": evidence.digest(held) != before[0],
                "params_changed": evidence.digest(params) != before[1],
                "guard": self.memory.broken(),
                "patched": self.snapshot.changes(),
                "threads": evidence.kernel_threads() - threads,
            },
        }
        if window is not None:
            self._hand_over(window, m, tensors)
        return told

    def describe(self, m: dict) -> dict:
        """What was launched, for a process that compiles it."""
        try:
            return {"ok": True, "launches": self.adapter.describe()}
        except BaseException as broken:  # noqa: BLE001
            return self._error("compile", broken)

    def compile(self, m: dict) -> dict:
        """In a compiling child: does it compile for a device that is not here?"""
        try:
            problem = self.adapter.compile(m["source"], self.folder, m["launches"], m["target"])
        except BaseException as broken:  # noqa: BLE001
            return self._error("compile", broken)
        return {"ok": True, "problem": problem}

    def time(self, m: dict, fds: list[int]) -> dict:
        """One repetition: `empty` costs everything but the call; with a buffer
        the output is handed over afterwards."""
        if self.watch is None:
            self.watch = clock.Stopwatch(self.device)
        args = None
        if not m["empty"]:
            args = inputs.make(self.space, m["seed"], "plain", self.device, self.dtype)
            self._wait()
        try:
            with torch.no_grad():
                ms, out = self.watch.run(lambda: None if args is None else self.model(*args))
        except BaseException as problem:  # noqa: BLE001
            return self._error("timing", problem)
        if fds:
            window = Window(fds[0], m["bytes"], self.device)
            self._hand_over(window, m, inputs.flatten(out))
        return {"ok": True, "ms": ms}

    # ---- pieces ----

    def _error(self, stage: str, problem: BaseException) -> dict:
        return error(stage, problem, self.adapter.is_compile_error(problem), self.path)

    def _place(self, args: list, reuse: bool) -> list:
        """Guarded copies of the inputs: in fresh memory, or with new contents in
        the memory of the last call, which is how a cache keyed by address or by
        object is found out."""
        if reuse and len(self.last) == len(args):
            self.last = [_refill(old, new) for old, new in zip(self.last, args)]
        else:
            self.memory.forget()
            self.last = [self._guarded(a) for a in args]
        return self.last

    def _guarded(self, value: object) -> object:
        if isinstance(value, torch.Tensor):
            return self.memory.like(value)
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._guarded, value))
        return value

    def _wait(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize()

    def _poison(self, size: int) -> None:
        """Freed memory that a lazy kernel might return holds NaN."""
        block = torch.empty(max(size, 16) // 4, dtype=torch.float32, device=self.device)
        block.fill_(float("nan"))
        del block

    def _collect(self, out: object, owned: list[torch.Tensor]) -> dict:
        tensors = inputs.flatten(out)
        if not tensors:
            return {"error": {"stage": "output", "type": "NoTensor",
                              "text": f"forward returned {type(out).__name__}, not a tensor"}}  # fmt: skip
        problems = []
        ranges = [_extent(t) for t in owned]
        for i, t in enumerate(tensors):
            if type(t) not in (torch.Tensor, torch.nn.Parameter):
                problems.append(f"output {i} is a {type(t).__name__}, not a plain tensor")
            elif t.device.type != torch.device(self.device).type:
                problems.append(f"output {i} is on {t.device}")
            elif t.numel() and not _dense(t):
                problems.append(f"output {i} repeats memory (strides {t.stride()})")
            elif any(_overlaps(_extent(t), r) for r in ranges):
                problems.append(f"output {i} shares memory with an input or a parameter")
        return {
            "tensors": tensors,
            "outputs": [{"shape": list(t.shape), "dtype": str(t.dtype)} for t in tensors],
            "output_problems": problems,
        }

    def _hand_over(self, window: Window, m: dict, tensors: list[torch.Tensor]) -> None:
        """Copies each output whose shape is as expected into its place."""
        for place, t in zip(m["outputs"], tensors):
            if list(t.shape) == place["shape"] and str(t.dtype) == place["dtype"]:
                window.put(place["offset"], t)
        state = inputs.named_state(self.model)
        for place in m["buffers"]:
            value = state.get(place["name"])
            if value is not None and list(value.shape) == place["shape"]:
                window.put(place["offset"], value.detach().to(_dtype(place["dtype"])))
        self._wait()
        window.close()

    def serve(self) -> None:
        if self.device != "cpu":
            torch.zeros(1, device=self.device)  # the context, before there is a job
        while True:
            try:
                message, fds = recv_message(self.sock, LIMIT)
            except Broken:
                return
            op = message["op"]
            if op == "ping":
                answer = {"ok": True}
            elif op == "trial":
                answer = self.trial(message, fds)
            elif op == "time":
                answer = self.time(message, fds)
            else:
                answer = self.operations[op](message)
            for fd in fds:
                os.close(fd)
            send_message(self.sock, answer)


def _refill(old: object, new: object) -> object:
    """The memory of `old` with the contents of `new`; what has none is new."""
    if isinstance(new, torch.Tensor):
        return old.copy_(new)
    if isinstance(new, (list, tuple)):
        return type(new)(map(_refill, old, new))
    return new


def _dtype(name: str) -> torch.dtype:
    return getattr(torch, name.removeprefix("torch."))


def _extent(t: torch.Tensor) -> tuple[int, int]:
    if t.numel() == 0:
        return 0, 0
    span = sum((n - 1) * s for n, s in zip(t.shape, t.stride())) + 1
    return t.data_ptr(), t.data_ptr() + span * t.element_size()


def _overlaps(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _dense(t: torch.Tensor) -> bool:
    """Every element has memory of its own (any order of dimensions)."""
    expected = 1
    for size, stride in sorted(
        ((n, s) for n, s in zip(t.shape, t.stride()) if n > 1), key=lambda p: p[1]
    ):
        if stride < expected:
            return False
        expected = stride * size
    return True
