"""What a candidate's forward did, seen from inside its process.

A dispatch mode lets through allocation, fills, views, copies, casts, cat and
pad, and notes every other ATen operator as foreign; a profiler below it notes
what was hidden from modes; a function mode notes values taken out of PyTorch. The
dispatch mode also gives each tensor that forward allocates on the CPU guard
zones, so that a kernel that writes past its end is caught. Everything here lives
beside hostile code: it is tamper-evident, not proof. The judge compares bytes,
whatever this says.
"""

import contextlib
import gc
import hashlib
import os
import secrets
import signal
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

ALLOCATE = {
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided",
    "zeros", "zeros_like", "new_zeros", "ones", "ones_like", "new_ones",
    "full", "full_like", "new_full", "arange", "scalar_tensor", "eye",
}  # fmt: skip
MOVE = {
    "fill", "fill_", "zero", "zero_", "copy", "copy_", "clone", "_to_copy", "to",
    "contiguous", "cat", "stack", "constant_pad_nd", "pad", "lift_fresh",
    "_local_scalar_dense", "resize_", "set_", "is_pinned", "pin_memory",
    "equal", "is_same_size", "repeat", "record_stream",
}  # fmt: skip
VIEW = {
    "view", "_unsafe_view", "reshape", "_reshape_alias", "as_strided", "expand", "permute",
    "transpose", "t", "select", "slice", "squeeze", "unsqueeze", "detach", "alias",
    "unbind", "split", "split_with_sizes", "chunk", "narrow", "flatten", "unflatten",
    "diagonal", "unfold", "view_as_real", "view_as_complex", "movedim", "swapaxes",
    "expand_as", "view_as", "ravel", "real", "imag", "_conj", "detach_", "squeeze_",
    "resolve_conj", "resolve_neg",
    "unsqueeze_", "transpose_", "t_", "sym_size", "sym_stride", "sym_numel", "size", "stride",
}  # fmt: skip
ALLOWED = frozenset(ALLOCATE | MOVE | VIEW)

# Ways to take values out of PyTorch, where anything may compute on them.
READBACK = frozenset([
    "numpy", "__array__", "tolist", "__dlpack__", "untyped_storage", "storage",
    "_typed_storage", "__reduce_ex__",
])  # fmt: skip
FEW = 16  # values that may be taken: a scale, a probability
SCALARS = 64  # values taken one at a time by a whole call

GUARD_BYTES = 4096
# A NaN in every floating type (little-endian words FFA5), but not the usual one.
GUARD_PATTERN = bytes([0xA5, 0xFF])
POISON = 0xFF  # what memory that forward allocates holds: NaN, and -1 in integers


@dataclass
class Record:
    ops: dict[str, int] = field(default_factory=dict)
    foreign: dict[str, int] = field(default_factory=dict)
    readback: list[str] = field(default_factory=list)
    tampered: bool = False

    def note_foreign(self, name: str) -> None:
        self.foreign[name] = self.foreign.get(name, 0) + 1


class GuardedMemory:
    """Tensors inside larger blocks whose borders must stay as they were."""

    def __init__(self) -> None:
        self.blocks: list[tuple[torch.Tensor, int]] = []
        self.guard = torch.frombuffer(
            bytearray(GUARD_PATTERN * (GUARD_BYTES // 2)), dtype=torch.uint8
        )

    def like(self, x: torch.Tensor, keep: bool = True) -> torch.Tensor:
        """A tensor of x's shape, strides and (keep) contents with guards around
        it."""
        item = x.element_size()
        if x.device.type != "cpu" or x.numel() == 0 or x.layout is not torch.strided:
            return x
        span = sum((n - 1) * s for n, s in zip(x.shape, x.stride())) + 1
        block = torch.empty(span * item + 2 * GUARD_BYTES, dtype=torch.uint8)
        block.fill_(POISON)
        block[:GUARD_BYTES] = self.guard
        block[-GUARD_BYTES:] = self.guard
        inner = block[: (span * item + 2 * GUARD_BYTES) // item * item].view(x.dtype)
        out = torch.as_strided(inner, x.shape, x.stride(), GUARD_BYTES // item)
        if keep:
            out.copy_(x)
        self.blocks.append((block, GUARD_BYTES))
        return out

    def broken(self) -> bool:
        return any(
            not torch.equal(block[:pad], self.guard) or not torch.equal(block[-pad:], self.guard)
            for block, pad in self.blocks
        )

    def forget(self) -> None:
        self.blocks.clear()


class _Operators(TorchDispatchMode):
    """Counts operators; foreign ones are those that compute."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise the first operator imports torch._dynamo: seconds

    def __init__(self, record: Record, memory: GuardedMemory | None) -> None:
        super().__init__()
        self.record = record
        self.memory = memory

    def __torch_dispatch__(self, func, types_, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        record = self.record
        record.ops[name] = record.ops.get(name, 0) + 1
        if func.namespace not in ("aten", "prim") or name not in ALLOWED:
            record.note_foreign(f"{func.namespace}.{name}")
        out = func(*args, **(kwargs or {}))
        if self.memory is not None and name in ALLOCATE and type(out) is torch.Tensor:
            return self.memory.like(out, keep="empty" not in name)
        return out


class _Functions(TorchFunctionMode):
    """Sees values taken out of PyTorch."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.record = record

    def __torch_function__(self, func, types_, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name in READBACK and args and isinstance(args[0], torch.Tensor):
            x = args[0]
            if x.is_floating_point() and x.numel() > FEW and name not in self.record.readback:
                self.record.readback.append(name)
        return func(*args, **(kwargs or {}))


class Watch:
    """Everything that looks while forward runs; `record` tells what was seen."""

    def __init__(self, memory: GuardedMemory | None) -> None:
        self.record = Record()
        self.modes = [_Operators(self.record, memory), _Functions(self.record)]
        self.mark = secrets.token_hex(8)
        self.stop = _stop_profiler  # the one that was there before forward

    def __enter__(self) -> "Watch":
        _start_profiler(self.mark)
        for mode in self.modes:
            mode.__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        record = self.record
        for mode in reversed(self.modes):
            mode.__exit__(*problem)
        try:
            leaves = self.stop(self.mark)
        except RuntimeError:
            record.tampered = True
            return
        hidden = [name for name in leaves if name.startswith("aten::") and name[6:] not in ALLOWED]
        for name in hidden if not record.foreign else []:
            record.note_foreign(f"aten.{name[6:]}")
        if leaves.count("aten::_local_scalar_dense") > SCALARS:
            record.readback.append("item")


def _start_profiler(mark: str) -> None:
    """The profiler's callbacks sit in the dispatcher: a mode that is switched off,
    or a key that is excluded, hides nothing from them. The mark tells the first
    event from those of a profiler that somebody else started."""
    kinds = torch._C._profiler
    config = kinds.ProfilerConfig(
        kinds.ProfilerState.CPU, False, False, False, False, False, kinds._ExperimentalConfig()
    )
    torch.autograd._enable_profiler_legacy(config)
    with torch.autograd.profiler.record_function(mark):
        pass


def _stop_profiler(mark: str) -> list[str]:
    """The operators that called no other operator. Raises RuntimeError when the
    profiler does not run any more, or not all the time."""
    leaves: list[str] = []
    marked = False
    for thread in torch.autograd._disable_profiler_legacy():
        last = None  # the operator entered last, while it has called no other
        for event in thread:
            if event.kind() == "push":
                last = event.name()
                marked = marked or last == mark
            elif event.kind() == "pop" and last is not None:
                leaves.append(last)
                last = None
    if not marked:
        raise RuntimeError("the profiler was restarted")
    return leaves


def digest(tensors: list[torch.Tensor]) -> str:
    """The contents of tensors, as one hash; on CUDA of a sum that any change of
    a bit pattern moves."""
    h = hashlib.blake2b(digest_size=16)
    plain = torch.Tensor  # methods of the class: a tensor may have its own
    for t in tensors:
        h.update(str((t.shape, t.dtype)).encode())
        if plain.numel(t) == 0:
            continue
        flat = plain.contiguous(plain.detach(t)).view(-1)
        if flat.device.type == "cpu":
            h.update(flat.view(torch.uint8).numpy().data)
        else:
            h.update(_device_sum(flat))
    return h.hexdigest()


def _device_sum(flat: torch.Tensor) -> bytes:
    raw = flat.view(torch.uint8)
    pad = (-raw.numel()) % 4
    if pad:
        raw = torch.nn.functional.pad(raw, (0, pad))
    words = raw.view(torch.int32)
    total = 0
    for part in words.split(1 << 26):
        place = torch.arange(1, part.numel() + 1, device=part.device, dtype=torch.int32)
        total = (total * 1000003 + int((part * (place | 1)).sum(dtype=torch.int64))) & (2**64 - 1)
    return total.to_bytes(8, "big")


# ---- what must be the same object before and after ---------------------------

_WATCHED = (
    "torch", "torch.Tensor", "torch.nn", "torch.nn.Module", "torch.nn.functional",
    "torch.autograd", "torch.autograd.profiler", "torch.overrides",
    "torch.overrides.TorchFunctionMode", "torch.utils._python_dispatch",
    "torch.utils._python_dispatch.TorchDispatchMode",
    "torch.cuda", "torch.cuda.Event", "torch.random", "time", "os", "json",
    "socket", "socket.socket", "hashlib", "builtins", "numpy", "gc", "sys", "signal",
    "candidate", "evidence", "inputs", "frames", "buffers", "clock", "audit",
)  # fmt: skip
# Those are written by Python itself, or by torch when it looks at something new.
_RESTLESS = {"__builtins__", "__loader__", "__spec__", "__doc__", "__annotations__", "__class__"}


def _resolve(name: str) -> object:
    import importlib

    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing: object = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part)
        return thing
    raise ImportError(name)


def _code(thing: object) -> object:
    return thing.__code__ if type(thing) is types.FunctionType else None


def _wrapped_by_torch(thing: object) -> bool:
    """torch replaces a few functions of its own when its compiler is imported."""
    return type(thing) is types.FunctionType and thing.__code__.co_filename.startswith(
        (os.path.join(torch.__path__[0], "_compile.py"), os.path.join(torch.__path__[0], "_dynamo"))
    )


class Snapshot:
    """Identities of functions that a cheat would replace, and of what makes code
    run where nobody looks."""

    def __init__(self, things: list[types.ModuleType | type], task: dict) -> None:
        self.places: list[tuple[str, dict, list[tuple[str, object, object]]]] = []
        self.classes: list[tuple[str, type, set[str]]] = []  # what they had themselves
        self.kinds: list[tuple[str, object, type]] = []  # a module's class answers for it
        for name in _WATCHED:
            self._keep(name, _resolve(name))
        for thing in things:
            self._keep(thing.__name__, thing)
        for name in ("candidate", "evidence", "buffers", "clock", "frames", "audit"):
            for part in list(vars(sys.modules[name]).values()):
                if isinstance(part, type) and part.__module__ == name:
                    self._keep(f"{name}.{part.__name__}", part)
        self._note("task", task, True)
        self.flags = self._flags()

    def _keep(self, name: str, thing: object) -> None:
        """A library's functions; of our own modules everything."""
        file = getattr(thing, "__file__", None) or ""
        ours = os.path.dirname(file) == os.path.dirname(__file__) or name == "pack_adapter"
        self._note(name, vars(thing), ours)
        self.kinds.append((name, thing, type(thing)))
        if isinstance(thing, type):
            self.classes.append((name, thing, set(vars(thing))))

    def _note(self, name: str, members: dict, everything: bool) -> None:
        kept = [
            (k, v, _code(v))
            for k, v in list(members.items())
            if (everything or callable(v)) and k not in _RESTLESS
        ]
        self.places.append((name, members, kept))

    @staticmethod
    def _flags() -> dict[str, object]:
        return {
            "flag default_dtype": torch.get_default_dtype(),
            "flag threads": torch.get_num_threads(),
            "flag deterministic": torch.are_deterministic_algorithms_enabled(),
            "flag matmul_tf32": torch.backends.cuda.matmul.allow_tf32,
            "flag cudnn_tf32": torch.backends.cudnn.allow_tf32,
            "flag cudnn_benchmark": torch.backends.cudnn.benchmark,
            "gc.callbacks": list(gc.callbacks),
            "signal": [signal.getsignal(n) for n in sorted(signal.valid_signals())],
            "interval timer": [signal.getitimer(n) for n in (0, 1, 2)],
            "trace function": sys.gettrace(),
            "profile function": sys.getprofile(),
        }

    def changes(self) -> list[str]:
        now_flags = self._flags()
        found = [k for k, v in self.flags.items() if now_flags[k] != v]
        found += [f"{name}.__class__" for name, thing, kind in self.kinds if type(thing) is not kind]
        for name, members, kept in self.places:
            found += [
                f"{name}.{k}"
                for k, v, code in kept
                if _code(v) is not code
                or members.get(k) is not v and not _wrapped_by_torch(members.get(k))
            ]
        for name, cls, names in self.classes:
            above = set().union(*map(vars, cls.__mro__[1:]))
            found += [f"{name}.{k}" for k in sorted((vars(cls).keys() - names) & above)]
        return found[:20]


# ---- who else is there -------------------------------------------------------


def kernel_threads() -> int:
    return len(os.listdir("/proc/self/task"))


def processes() -> int:
    """Other processes of the box. Where it has no pid namespace they are, like this
    one, descendants of the process that keeps it."""
    if os.getpid() == 1:
        return sum(name.isdigit() for name in os.listdir("/proc")) - 1
    return len(descendants(os.getppid())) - 1


def descendants(pid: int) -> list[int]:
    """Children, their children and so on."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
    return found
