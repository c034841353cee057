"""The recorder: runs a candidate's Python over tensors without data and writes down what
it does as a trace (allocations, moves, fills, launches).

The process that this runs in is the candidate's: nothing that it says is believed. So all
care is for honest code, which must be recorded faithfully, and for clear messages.

A candidate is loaded and its model built for real, on the CPU, whatever device it names
(memory.py); each operation until then is logged (origins.py). Then forward runs several
times on fresh inputs that have no values.
"""

from __future__ import annotations

import contextlib
import json
import linecache
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from recorder import pretend
from recorder.boundary import Arguments, State, output
from recorder.fakes import CPU, META, Fake, Refused, bare
from recorder.memory import NO_VALUES, PUT_OFF, Memory, as_dtype, operation_name, written
from recorder.moves import ALLOCATIONS, FILLED, MOVES, READS, VALUE_AT, Add, Copy, Fill, Move
from recorder.moves import castable, view_of, whole_store
from recorder.origins import Origins, Step
from recorder.tracing import Call, Trace
from shared import inputs, structure
from shared.adapter import Mistake
from torch.utils._python_dispatch import TorchDispatchMode

SMALL = 1 << 20  # bytes of a constant that may be made part by part
RECORDED_CALLS = 4  # the first may fill caches, the others must agree
VARIED = ("The second call has the tensors of the first with new values, the third has new tensors "
          "at their addresses, the fourth has others: nothing that is kept may depend on an "
          "input's identity, version or address.")  # fmt: skip
ALLOWED = ("torch may allocate, fill, view, copy, concatenate, pad, flip and cast between "
           "floating types; everything else belongs in a kernel")  # fmt: skip

_current: Recorder | None = None
_stage = "load"


def current() -> Recorder | None:
    """The recorder, while forward runs."""
    return _current


def stage() -> str:
    """How far the candidate came: load, init or call."""
    return _stage


class Recorder(TorchDispatchMode):
    """Sees every ATen operation of the candidate."""

    def __init__(self, claims: str, path: str) -> None:
        super().__init__()
        self.claims = torch.device(claims)
        self.path = path
        self.memory = Fake.memory = Memory(self.__torch_dispatch__, self.refuse)
        self.origins = Origins()
        self.trace = Trace(self.memory, self.origins)
        self.building = True  # until there is a model: what is done is logged
        self.refusal: Refused | None = None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # a wrapper around every operation, for a compiler that is not used

    # ---- for the adapters of languages ----

    def view(self, t: torch.Tensor) -> list:
        """A tensor as the arguments of a launch have it."""
        t = self.fake(t)
        if t.device != self.claims:
            raise Mistake(
                f"a tensor on {t.device} is passed to a kernel, which cannot reach it: make it "
                f"with device={str(self.claims)!r} or with the device of an input"
            )
        with self._placed(), torch._C.DisableTorchFunction():
            return self.trace.describe(view_of(self.memory, t))

    def at(self, address: int) -> tuple[list, int] | None:
        """The memory that an address of a tensor lies in, as a view, and the bytes from its
        start. None: it lies in no tensor."""
        for store in reversed(self.memory.stores.values()):  # addresses come back
            if store.address <= address < store.address + max(store.size, 1):
                with self._placed(), torch._C.DisableTorchFunction():
                    return self.trace.describe(whole_store(store)), address - store.address
        return None

    def kernel(self, key: Any, spec: dict | Callable[[], dict] | None = None) -> int:
        """The number of a kernel. `key` is what it is known by in this process; `spec`, or
        what it returns, describes it in the trace. Alone, `key` does."""
        return self.trace.kernel(key, spec)

    def text(self, source: str) -> int:
        """The number of a native source."""
        return self.trace.text(source)

    def launch(self, node: dict) -> None:
        """A node of op "launch" or "call"."""
        self.trace.call.nodes.append(node)
        self.trace.call.launches += 1

    def refuse(self, rule: str, text: str) -> None:
        """Ends the recording, also where the candidate catches what is raised."""
        where = self._where()
        refusal = Refused(rule, f"{text} ({where})." if where else f"{text}.")
        self.refusal = self.refusal or refusal
        raise refusal

    def _where(self) -> str:
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.path:
            frame = frame.f_back
        if frame is None:
            return ""
        line = linecache.getline(self.path, frame.f_lineno).strip()
        return f"line {frame.f_lineno}: {line}" if line else f"line {frame.f_lineno}"

    # ---- operations ----

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        if func is torch.ops.prim.device.default:
            return args[0].device
        kwargs = kwargs or {}
        with self._placed():
            if any(not isinstance(t, Fake) for t in structure.tensors((args, kwargs))):
                args, kwargs = structure.mapped((args, kwargs), self.fake)
            return self._operate(func, operation_name(func), args, kwargs)

    @contextlib.contextmanager
    def _placed(self) -> Iterator[None]:
        """A refusal says which line of the candidate it is about."""
        try:
            yield
        except Refused as refusal:
            if self.refusal is None:
                self.refuse(refusal.rule, refusal.text)
            raise self.refusal from None

    def fake(self, t: torch.Tensor) -> Fake:
        """The tensor itself, unless it was made by other means than an operation, as
        torch.from_numpy does."""
        return t if isinstance(t, Fake) else self.memory.adopt(t)

    def _operate(self, func: Any, name: str, args: tuple, kwargs: dict) -> Any:
        if name == "lift_fresh":
            return args[0]
        if func.is_view or name == "_unsafe_view" or torch.Tag.inplace_view in func.tags:
            out = bare(func, args, kwargs)
            return self._views(out, structure.tensors(args)[0].device)
        if name in ALLOCATIONS or name in FILLED:
            return self._allocate(func, name, args, kwargs)
        stores = [self.memory.store(t) for t in structure.tensors((args, kwargs))]
        if not any(s.opaque for s in stores) and not self._better_moved(name, args):
            return self._compute(func, name, args, kwargs, stores)
        if name in MOVES:
            return self._move(func, name, args, kwargs)
        if func.namespace != "aten":
            return self._custom(func, args, kwargs)
        if name in READS:
            how = name.strip("_").replace("local_scalar_dense", "item")
            self.refuse(f"readback:{how}", NO_VALUES)
        text = f"forward computes with torch (aten.{name}): {ALLOWED}"
        self.refuse(f"dispatch:aten.{name}", text)

    def _views(self, out: Any, device: torch.device) -> Any:
        if isinstance(out, Fake):  # changed in place
            return out
        if isinstance(out, torch.Tensor):
            return Fake(out, device)
        return type(out)(self._views(x, device) for x in out)

    def _device(self, args: tuple, kwargs: dict) -> torch.device:
        """Where the result of an operation is."""
        device = kwargs.get("device")
        if device is None:
            found = [t.device for t in structure.tensors((args, kwargs))]
            return next((d for d in found if d.type == "cuda"), CPU)
        return pretend.CUDA if device.type == "cuda" else device

    def _allocate(self, func: Any, name: str, args: tuple, kwargs: dict) -> Fake:
        device = self._device(args, kwargs)
        if device == META:
            return bare(func, args, kwargs)
        like = args[0] if name.endswith("_like") else None
        if like is not None and not kwargs.get("memory_format") and like.is_contiguous():
            # As torch does it, which takes longer.
            dtype = kwargs.get("dtype") or like.dtype
            made = self.memory.fresh(torch.empty(like.shape, dtype=dtype, device=META), device)
        else:
            made = self._result(func, args, {**kwargs, "device": device})
        if name in FILLED:
            value = FILLED[name]
            if value is None:
                at = VALUE_AT[name]
                value = args[at] if len(args) > at else kwargs["fill_value"]
            self.memory.fill(made, value)
            if self.building:
                self._note((Fill(view_of(self.memory, made), value),), [], [made])
        return made

    def _better_moved(self, name: str, args: tuple) -> bool:
        """Memory that forward fills in parts would else become a large constant."""
        if self.building or name not in ("copy_", "fill_", "zero_"):
            return False
        store = self.memory.store(args[0])
        if store.real is not None or view_of(self.memory, args[0]).whole():
            return False
        return store.fill is None or store.size > SMALL

    def _compute(self, func: Any, name: str, args: tuple, kwargs: dict, stores: list) -> Any:
        """All that it needs is known."""
        value = self._even(name, args)
        if value is None:
            out = self.memory.run(func, args, kwargs, self._device(args, kwargs))
            for t in written(func, args, kwargs):
                self.trace.changed(self.memory.store(t))
        elif written(func, args, kwargs):
            out = args[0]
            self.memory.fill(out, value)
            self.trace.changed(stores[0])
        else:
            out = self._result(func, args, kwargs)
            self.memory.fill(out, value)
        if self.building:
            self._log(func, name, args, kwargs, out)
        return out

    def _even(self, name: str, args: tuple) -> int | float | bool | None:
        """The one value that the result holds everywhere, where that is easily seen."""
        if name in ("clone", "_to_copy"):
            store = self.memory.store(args[0])
            return store.fill if store.real is None else None
        value = {"fill_": args[-1], "zero_": 0}.get(name)
        if value is not None and not isinstance(value, torch.Tensor):
            held = self.memory.store(args[0])
            same = args[0].dtype == held.dtype and repr(as_dtype(value, held.dtype)) == repr(held.fill)
            if same or view_of(self.memory, args[0]).whole():
                return value
        return None

    def _log(self, func: Any, name: str, args: tuple, kwargs: dict, out: Any) -> None:
        moves = None
        if name in MOVES:
            with contextlib.suppress(Refused):
                moves = tuple(MOVES[name](self.memory, out, *args, **_without_places(kwargs)))
        if moves is not None and not all(map(repeatable, moves)):
            moves = None
        overwritten = name in ("copy_", "fill_", "zero_")
        reads = structure.tensors((args[1:] if overwritten else args, kwargs))
        self._note(moves, reads, [*written(func, args, kwargs), *structure.tensors(out)])

    def _note(self, moves: tuple[Move, ...] | None, reads: Iterable, written: list) -> None:
        store = self.memory.store
        changed = tuple(dict.fromkeys(map(store, written)))
        self.origins.note(Step(moves, tuple(map(store, reads)), changed))

    def _move(self, func: Any, name: str, args: tuple, kwargs: dict) -> Fake:
        changed = written(func, args, kwargs)
        out = changed[0] if changed else self._result(func, args, kwargs)
        for move in MOVES[name](self.memory, out, *args, **_without_places(kwargs)):
            self.trace.record(move, name)
        return out

    def _result(self, func: Any, args: tuple, kwargs: dict) -> Fake:
        """The new tensor that an operation returns."""
        options = {k: v for k, v in kwargs.items() if k != "pin_memory"}
        if options.get("device") is not None:
            options["device"] = META
        return self.memory.fresh(bare(func, args, options), self._device(args, kwargs))

    def _custom(self, func: Any, args: tuple, kwargs: dict) -> Any:
        """An operator that the candidate defined with torch.library: what it does is seen."""
        from torch._library.custom_ops import OPDEFS

        definition = OPDEFS.get(func._schema.name)
        if definition is None:
            self.refuse(f"dispatch:{func}", f"forward calls {func}, which cannot be recorded: call "
                        "the kernel directly")  # fmt: skip
        found = definition._backend_fns
        run = found.get(self.claims.type) or found.get(None) or definition._init_fn
        with self:
            return run(*args, **kwargs)


def repeatable(move: Move) -> bool:
    """As a node of the setup, which has copies and fills of plain memory."""
    views = [move.to, move.source] if isinstance(move, Copy) else [move.to]
    if isinstance(move, Add) or any(v.dtype != v.store.dtype for v in views):
        return False
    return castable(views[-1].dtype, move.to.dtype)


def _without_places(kwargs: dict) -> dict:
    """Without what says where and how a result is laid out: it has been made."""
    places = ("device", "dtype", "layout", "pin_memory", "non_blocking", "memory_format", "out")
    return {k: v for k, v in kwargs.items() if k not in places}


# ---- a recording ---------------------------------------------------------------------


def record(message: dict, folder: str) -> bytes:
    """The trace of a candidate; the language's launches come here already (adapter.install).
    Raises Refused for what it must not do, and lets its own exceptions through: `stage` tells
    how far it came."""
    path = os.path.join(folder, f"candidate_{os.getpid()}.py")
    recorder = Recorder(message["claims"], path)
    recorder.memory.capacity = (message["gpu"] or {}).get("total_memory")
    mode = pretend.install_device(message["claims"], message["gpu"], recorder.refuse)
    _compute_before_seeding(recorder.memory)
    try:
        with mode, recorder:
            model = _build(message, recorder)
            state = State(model, message["state"])
            state.settle(recorder)
            arguments = Arguments(recorder, message["inputs"])
            calls = [_one_call(recorder, model, arguments, state) for _ in range(RECORDED_CALLS)]
    except BaseException:
        if recorder.refusal is not None:
            raise recorder.refusal from None
        raise
    if recorder.refusal is not None:
        raise recorder.refusal
    return _bytes(recorder.trace, state, calls)


def _compute_before_seeding(memory: Memory) -> None:
    """What was put off draws its numbers before somebody seeds the generator again."""

    def first(function: Callable) -> Callable:
        def seeded(*args: Any, **kwargs: Any) -> Any:
            memory.compute()
            return function(*args, **kwargs)

        return seeded

    for name in ("manual_seed", "seed", "get_rng_state", "set_rng_state"):
        changed = first(getattr(torch.random, name))
        setattr(torch.random, name, changed)
        setattr(torch, name, changed)


def _build(message: dict, recorder: Recorder) -> torch.nn.Module:
    global _stage
    from shared.loading import load_module

    _stage = "load"
    module = load_module(message["source"], recorder.path)
    cls = getattr(module, "ModelNew", None)
    if not isinstance(cls, type) or not issubclass(cls, torch.nn.Module):
        raise Mistake("the file defines no class ModelNew(nn.Module)")
    _stage = "init"
    recorder.memory.compute()
    space = inputs.namespace(message["init_source"], "task")
    seed, claims = message["init_seed"], message["claims"]
    args = inputs.init_args(space, seed, claims)
    recorder.memory.compute()
    dtype = inputs.DTYPES[message["precision"]]

    def construct(*args: Any) -> torch.nn.Module:
        model = cls(*args)
        recorder.origins.built = len(recorder.origins.log)
        return model

    return inputs.build(construct, args, seed, claims, dtype, message["unsettled"])


def _one_call(
    recorder: Recorder, model: torch.nn.Module, arguments: Arguments, state: State
) -> dict:
    global _current, _stage
    _stage = "call"
    recorder.memory.call += 1
    call = recorder.trace.call = Call()
    args = arguments.next()
    _current = recorder
    try:
        with torch.no_grad():
            out = model(*args)
    finally:
        _current = None
    if recorder.refusal is not None:
        raise recorder.refusal
    returned = output(recorder, out, "the output")
    state.take_back(recorder)
    if not call.launches:
        raise Refused("no-launch", "forward launches no kernel." if arguments.calls == 1 else
                      f"Call {arguments.calls} of forward launches no kernel. {VARIED}")  # fmt: skip
    return {"buffers": call.buffers, "nodes": call.nodes, "output": returned}


# ---- its bytes -----------------------------------------------------------------------


def _bytes(trace: Trace, state: State, calls: list[dict]) -> bytes:
    first, steady, *others = calls
    for index, other in enumerate(others, 3):
        if other != steady:
            raise Refused("trace-varies", f"{_difference(steady, other, index)}. From the second "
                          "call on forward must launch the same kernels with the same "
                          f"arguments. {VARIED}")  # fmt: skip
    header = {
        "trace": 1, "state": state.entries(),
        "setup": {"buffers": trace.setup.buffers, "nodes": trace.setup.nodes},
        "calls": [first] if first == steady else [first, steady],
        "kernels": trace.kernels, "texts": trace.texts,
    }  # fmt: skip
    if trace.packed:
        header["packed"] = True
    line = json.dumps(header, separators=(",", ":"), allow_nan=False)
    return line.encode("ascii") + b"\n" + bytes(trace.blob)


def _difference(steady: dict, other: dict, index: int) -> str:
    for at, (a, b) in enumerate(zip(steady["nodes"], other["nodes"])):
        if a != b:
            return f"Step {at + 1} of call {index} ({b['op']}) differs from that of call 2"
    counts = len(other["nodes"]), len(steady["nodes"])
    if counts[0] != counts[1]:
        return f"Call {index} has {counts[0]} steps, call 2 has {counts[1]}"
    return f"Call {index} uses other memory than call 2"


@contextlib.contextmanager
def _without_compilers() -> Iterator[None]:
    """The first operation on a subclass of Tensor makes torch look up DTensor, and functions
    that compute shapes ask torch._dynamo not to compile them. Recording needs neither, and
    to import both takes as long as to import torch: stand-ins answer once, and torch asks
    only once."""
    answers = {"torch.distributed.tensor": {"DTensor": type("DTensor", (), {})},
               "torch._dynamo": {"disable": lambda function, *_, **__: function}}  # fmt: skip
    made = []
    for name in answers.keys() - sys.modules.keys():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(answers[name])
        made.append(name)
    try:
        yield
    finally:
        for name in made:
            del sys.modules[name]


def warm() -> None:
    """Once before forking: what a first recording would import and look up."""
    inputs.sow(0, "cpu")  # NumPy imports its generators when they are first asked for
    try:
        with _without_compilers():
            _record_something()
    except ImportError:  # this torch wants more of them
        _record_something()


def _record_something() -> None:
    recorder = Recorder("cpu", "")
    with recorder:
        layer = torch.nn.Linear(4, 4).to(torch.float16)
        large = torch.randn(PUT_OFF)  # what is made of it is put off, too, but for its shape
        -large * 2 / 2 + large - 1, large.sqrt(), large * large, large / large
        recorder.building = False
        (x,) = Arguments(recorder, [{"tensor": [[4, 4], "float32", [4, 1]]}]).next()
        recorder.trace.call = Call()
        with torch.no_grad():
            y = x.t().contiguous().half().view(-1)[2:]
            torch.cat([y, torch.empty_like(y), torch.zeros_like(y)])
            torch.nn.functional.pad(x, (1, 1)), x.roll(1), torch.arange(4).float(), layer.weight.t()
            x[0] = 1.0
    Fake.memory = None
