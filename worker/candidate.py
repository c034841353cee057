"""The candidate's side: runs in the box, after the fork, one candidate a process.

It makes the inputs from the seed, calls forward under watch, copies the outputs
into the judge's buffer and tells what it saw. It decides nothing. The candidate's
code runs inside the watch and nowhere else: its objects' methods are not called
outside, not even to ask a tensor for its size.
"""

import importlib.util
import os
import resource
import socket
import sys
import traceback
from types import ModuleType

import audit
import clock
import evidence
import inputs
import kernels
import native
import native_adapter
import torch
from buffers import Window
from frames import Broken, recv_message, send_message
from torch import OutOfMemoryError
from torch.cuda import max_memory_reserved  # by name: a candidate may replace it

LIMIT = 64 << 20  # from the judge, which is trusted: sources are long
TEXT = 16000  # characters of an error that are passed on
LAUNCHES = 200  # of a call that are named: an autotuner's first one makes many thousands
DESCRIBED = 1000  # different launches that are compiled; a message does not hold many more


def error(stage: str, problem: BaseException, compile: bool, path: str) -> dict:
    """An exception as the judge is told: its traceback from the candidate's own
    file on, since the frames above are ours."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != path:
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(problem), problem, trace))
    if len(text) > TEXT:
        text = text[: TEXT // 2] + "\n…\n" + text[-TEXT // 2 :]
    name = f"{type(problem).__module__}.{type(problem).__qualname__}".removeprefix("builtins.")
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
        self.audit = audit.Audit(self.path)
        self.threads = 0  # before there was a candidate
        self.sealed = False
        self.last: list = []  # the inputs of the last call
        self.watch: clock.Stopwatch | None = None
        self.kept: list[torch.Tensor] = []  # the outputs of the last timed call
        self.operations = {
            "ping": self.ping, "params": self.params, "describe": self.describe,
            "kernels": self.kernels, "compile": self.compile, "time": self.time,
        }  # fmt: skip
        self.with_memory = {
            "build": self.build, "load": self.load, "trial": self.trial, "output": self.output,
        }  # fmt: skip

    # ---- operations ----

    def ping(self, m: dict) -> dict:
        """Before there is a candidate: what its builds will depend on."""
        builds = compiler = None
        if hasattr(self.adapter, "toolchain"):
            builds = native.identity(self.adapter.toolchain())
        if hasattr(self.adapter, "compiler"):
            compiler = self.adapter.compiler()
        return {"ok": True, "builds": builds, "compiler": compiler}

    def build(self, m: dict, fds: list[int]) -> dict:
        """In a child of its own, where no candidate runs: what its file would build."""
        try:
            data = native_adapter.prebuild(m["source"], self.adapter.toolchain())
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            data = b""
        if not 0 < len(data) <= m["bytes"]:
            return {"ok": True, "size": 0}
        window = Window(fds[0], m["bytes"], "cpu")
        window.put(0, torch.frombuffer(bytearray(data), dtype=torch.uint8))
        window.close()
        return {"ok": True, "size": len(data)}

    def load(self, m: dict, fds: list[int]) -> dict:
        if m["built"]:
            data = os.pread(fds[0], m["built"], 0)
            native_adapter.take_built(data, self.adapter.toolchain())
        self.dtype = inputs.DTYPES[m["precision"]]
        self.space = inputs.namespace(m["inputs_source"], "task")
        self.snapshot = evidence.Snapshot(self.adapter.watched(), self.space)
        self.threads = evidence.kernel_threads()
        self.audit.begin()
        try:
            module = load_module(m["source"], self.path)
        except BaseException as problem:  # noqa: BLE001 - SystemExit too
            return self._error("load", problem)
        cls = getattr(module, "ModelNew", None)
        if not isinstance(cls, type) or not issubclass(cls, torch.nn.Module):
            return {"error": {"stage": "load", "type": "NoModel",
                              "text": "the file defines no class ModelNew(nn.Module)"}}  # fmt: skip
        try:
            args = inputs.init_args(self.space, m["init_seed"], self.device)
            self.model = inputs.build(
                cls, args, m["init_seed"], self.device, self.dtype, m["unsettled"]
            )
            state = inputs.named_state(self.model)
        except BaseException as problem:  # noqa: BLE001
            return self._error("init", problem)
        return {
            "ok": True,
            "state": [[n, list(v.shape), str(v.dtype)] for n, v in state.items()],
            "patched": self.snapshot.changes(),
        }

    def params(self, m: dict) -> dict:
        inputs.randomise(self.model, m["names"], m["seed"])
        return {"ok": True}

    def trial(self, m: dict, fds: list[int]) -> dict:
        self._seal()
        if self.device != "cpu":
            self.threads = evidence.kernel_threads()  # a driver has its own
        others = evidence.kernel_threads(), evidence.processes()
        window = Window(fds[0], m["bytes"], self.device) if fds else None
        args = inputs.make(self.space, m["seed"], m["variant"], self.device, self.dtype)
        args = self._place(args, m["reuse"])
        held = inputs.tensors(args)
        params = inputs.parameters(self.model)
        owned = [*params.values(), *inputs.buffers(self.model).values()]
        before = evidence.digest(held), evidence.digest(list(params.values()))
        self._poison(m["bytes"])
        self.adapter.reset()
        changes = self.snapshot.changes
        watch = evidence.Watch(self.memory if self.device == "cpu" else None)
        try:
            with torch.no_grad(), watch:
                out = self.model(*args)
                tensors = _taken(out, m["single"])
            patched = changes()  # before anything else of ours is called
            self._wait()
        except NotATensor as problem:
            return {"error": {"stage": "output", "type": "NotATensor", "text": str(problem)}}
        except BaseException as problem:  # noqa: BLE001
            return self._error("call", problem)
        after = inputs.parameters(self.model)
        outputs = self._collect(tensors, held + owned)
        told = {
            "ok": True,
            **outputs,
            "evidence": {
                "ops": watch.record.ops,
                "foreign": watch.record.foreign,
                "readback": watch.record.readback,
                "launches": self.adapter.launches()[:LAUNCHES],
                "mutated": evidence.digest(held) != before[0],
                "attributes": any(vars(t) for t in held),
                "params_changed": evidence.digest(list(after.values())) != before[1],
                "guard": self.memory.broken(),
                "patched": ["profiler"] * watch.record.tampered + patched,
                "threads": max(others[0], evidence.kernel_threads()) - self.threads,
                "processes": others[1] if self.device == "cpu" else 0,
                "memory": 0 if self.device == "cpu" else max_memory_reserved(),
                "audit": self.audit.seen,
            },
        }
        if window is not None and not outputs["output_problems"]:
            self._hand_over(window, m, tensors)
        return told

    def describe(self, m: dict) -> dict:
        """What was launched, for a process that compiles it."""
        try:
            compiles = hasattr(self.adapter, "compile")
            launches = self.adapter.describe()
        except BaseException as broken:  # noqa: BLE001
            return self._error("compile", broken)
        if len(launches) > DESCRIBED:
            text = f"{len(launches)} different kernels to compile; {DESCRIBED} are the most: " \
                   "pass what changes with every launch as an argument, not as a constant"
            return {"error": {"stage": "compile", "type": "TooMany", "text": text}}
        return {"ok": True, "launches": launches, "compiles": compiles}

    def kernels(self, m: dict) -> dict:
        """In a compiling child, which has not run anything yet."""
        try:
            found = kernels.alone(m["source"])
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            found = None
        text, lines = found or (None, {})
        return {"ok": True, "text": text, "lines": lines}

    def compile(self, m: dict) -> dict:
        """In a compiling child: does it compile for a device that is not here?"""
        snapshot = evidence.Snapshot(self.adapter.watched(), {})
        try:
            problem = self.adapter.compile(m["source"], self.folder, m["launches"], m["target"])
        except BaseException as broken:  # noqa: BLE001
            return self._error("compile", broken)
        return {"ok": True, "problem": problem, "patched": snapshot.changes()}

    def time(self, m: dict) -> dict:
        """One repetition: `empty` costs everything but the call; muted kernels do
        nothing, where the adapter can do that. What it returned is kept as it is
        now: whether it is asked for shows later."""
        self.kept = []
        if self.watch is None:
            self.watch = clock.Stopwatch(self.device)
        if m["empty"]:
            return {"ok": True, "ms": self.watch.run(lambda: None)[0], "launched": 0}
        muted = m["mute"] and hasattr(self.adapter, "mute") and self.adapter.mute()
        args = inputs.make(self.space, m["seed"], "plain", self.device, self.dtype)
        self.adapter.reset()
        self._wait()
        try:
            with torch.no_grad():
                ms, out = self.watch.run(lambda: self.model(*args))
                tensors = _taken(out, m["single"])
        except BaseException as problem:  # noqa: BLE001
            return self._error("timing", problem)
        if not self._collect(tensors, [])["output_problems"]:
            plain = torch.Tensor
            with torch.no_grad():
                self.kept = [plain.clone(plain.detach(t)) for t in tensors]
        launched = len(self.adapter.launches())
        return {"ok": True, "ms": ms, "launched": launched, "muted": bool(muted)}

    def output(self, m: dict, fds: list[int]) -> dict:
        """Hands over what the last repetition returned."""
        self._hand_over(Window(fds[0], m["bytes"], self.device), m, self.kept)
        return {"ok": True}

    # ---- pieces ----

    def _answer(self, message: dict, fds: list[int]) -> dict:
        op = message["op"]
        if op in self.with_memory:
            return self.with_memory[op](message, fds)
        return self.operations[op](message)

    def _error(self, stage: str, problem: BaseException) -> dict:
        try:
            return error(stage, problem, self.adapter.is_compile_error(problem), self.path)
        except BaseException:  # noqa: BLE001 - an exception is a candidate's object too
            text = "an exception that cannot be shown"
            return {"error": {"stage": stage, "type": "Exception", "text": text}}

    def _place(self, args: list, reuse: bool) -> list:
        """Guarded copies of the inputs: in fresh memory, or with new contents in
        the memory of the last call, which is how a cache keyed by address or by
        object is found out."""
        if reuse and _form(self.last) == _form(args):
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
        """Freed memory that a lazy kernel might return holds NaN; on the CPU the
        watch sees to it."""
        if self.device != "cpu":
            torch.empty(max(size, 16) // 4, device=self.device).fill_(float("nan"))

    def _seal(self) -> None:
        """From the first call on no thread and no process can be started: neither
        watch nor clock sees what they do. A GPU's driver and compiler need both."""
        if self.device == "cpu" and not self.sealed:
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        self.sealed = True

    def _collect(self, tensors: list[torch.Tensor], owned: list[torch.Tensor]) -> dict:
        """What the outputs are. Only of plain tensors anything is asked."""
        problems = [_odd(i, t, self.device) for i, t in enumerate(tensors)]
        problems = [p for p in problems if p]
        if problems:
            return {"outputs": [], "output_problems": problems}
        ranges = [_extent(t) for t in owned]
        for i, t in enumerate(tensors):
            if any(_overlaps(_extent(t), r) for r in ranges):
                problems.append(f"output {i} shares memory with an input or a parameter")
        return {
            "outputs": [{"shape": list(t.shape), "dtype": str(t.dtype)} for t in tensors],
            "output_problems": problems,
        }

    def _hand_over(self, window: Window, m: dict, tensors: list[torch.Tensor]) -> None:
        """Copies each output whose shape is as expected into its place."""
        for place, t in zip(m["outputs"], tensors):
            if list(t.shape) == place["shape"] and str(t.dtype) == place["dtype"]:
                window.put(place["offset"], t)
        state = inputs.buffers(self.model)
        for place in m["buffers"]:
            value = state.get(place["name"])
            if value is not None and list(value.shape) == place["shape"]:
                window.put(place["offset"], torch.Tensor.to(value, _dtype(place["dtype"])))
        self._wait()
        window.close()

    def serve(self) -> None:
        if self.device != "cpu":
            warm_up(self.device)  # the context too, before there is a job
        while True:
            try:
                message, fds = recv_message(self.sock, LIMIT)
            except Broken:
                return
            try:
                answer = self._answer(message, fds)
            except OutOfMemoryError as problem:  # the inputs did not find room, or a copy
                answer = self._error("call", problem)
            for fd in fds:
                os.close(fd)
            send_message(self.sock, answer | {"token": message["token"]})


def warm_up(device: str) -> None:
    """What the harness itself does in every call, done once: the first time costs imports,
    and on a GPU kernels that are loaded one by one."""
    with torch.device(device):
        torch.manual_seed(0)
        values = [torch.rand(8, 8), torch.randn(8, 8), torch.randint(0, 8, (8,))]
    with torch.no_grad(), evidence.Watch(None):
        out = torch.empty_like(values[0])
    out.fill_(float("nan")).copy_(values[1])
    evidence.digest([*values, torch.Tensor.clone(out)])
    if device != "cpu":
        torch.cuda.synchronize()


def _form(value: object) -> object:
    """What a tensor's memory must be like to take another's contents."""
    if isinstance(value, torch.Tensor):
        return value.shape, value.dtype
    return [_form(v) for v in value] if isinstance(value, (list, tuple)) else None


def _refill(old: object, new: object) -> object:
    """The memory of `old` with the contents of `new`; what has none is new."""
    if isinstance(new, torch.Tensor):
        return torch.Tensor.copy_(old, new)
    if isinstance(new, (list, tuple)):
        return type(new)(map(_refill, old, new))
    return new


def _dtype(name: str) -> torch.dtype:
    return getattr(torch, name.removeprefix("torch."))


class NotATensor(Exception):
    """forward returned something else than the reference does."""


def _taken(out: object, single: bool) -> list[torch.Tensor]:
    """The tensors of a result. Runs inside the watch: what looks like a list may
    be a candidate's own class."""
    tensors = inputs.tensors(out)
    if not tensors or single and not isinstance(out, torch.Tensor):
        raise NotATensor(f"forward returned {type(out).__name__}, not a tensor")
    return tensors


def _odd(index: int, t: torch.Tensor, device: str) -> str | None:
    """Why an output is no plain tensor. Asks nothing of what is none."""
    if type(t) not in (torch.Tensor, torch.nn.Parameter):
        return f"output {index} is a {type(t).__name__}, not a plain tensor"
    if vars(t):
        return f"output {index} carries attributes ({', '.join(map(str, vars(t)))[:80]})"
    if t.layout is not torch.strided or t.is_nested or t.is_quantized:
        return f"output {index} is not dense"
    if t.device.type != torch.device(device).type:
        return f"output {index} is on {t.device}"
    if t.is_conj() or t.is_neg():
        return f"output {index} is a lazy view"
    if t.numel() and not _dense(t):
        return f"output {index} repeats memory (strides {t.stride()})"
    end = _extent(t)[1] - t.untyped_storage().data_ptr() if t.numel() else 0
    if end > t.untyped_storage().nbytes():
        return f"output {index} has less memory than elements"
    return None


def _extent(t: torch.Tensor) -> tuple[int, int]:
    plain = torch.Tensor
    if plain.numel(t) == 0 or t.layout is not torch.strided or t.is_nested:
        return 0, 0
    span = sum((n - 1) * s for n, s in zip(t.shape, plain.stride(t))) + 1
    start = plain.data_ptr(t)
    return start, start + span * plain.element_size(t)


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
