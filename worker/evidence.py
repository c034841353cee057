"""What a candidate's forward did, seen from inside its process.

A dispatch mode lets through allocation, fills, views, copies, casts, cat and
pad, and notes every other ATen operator as foreign. It also gives each tensor
that forward allocates on the CPU guard zones, so that a kernel that writes past
its end is caught. Everything here lives beside hostile code: it is
tamper-evident, not proof. The judge compares bytes, whatever this says.
"""

import hashlib
import threading
import types
from dataclasses import dataclass, field

import torch
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
    "unsqueeze_", "transpose_", "t_", "sym_size", "sym_stride", "sym_numel", "size", "stride",
}  # fmt: skip
ALLOWED = ALLOCATE | MOVE | VIEW

GUARD_BYTES = 4096
GUARD_BYTE = 0xA5
BLANK_BYTE = 0xFF


@dataclass
class Record:
    ops: dict[str, int] = field(default_factory=dict)
    foreign: dict[str, int] = field(default_factory=dict)


class GuardedMemory:
    """Tensors inside larger blocks whose borders must stay as they were."""

    def __init__(self) -> None:
        self.blocks: list[tuple[torch.Tensor, int]] = []

    def like(self, x: torch.Tensor, blank: bool = False) -> torch.Tensor:
        """A tensor of x's shape, strides and contents with guards around it; a
        blank one holds NaN, or -1, for contents that were never written."""
        item = x.element_size()
        if x.device.type != "cpu" or x.numel() == 0 or x.layout is not torch.strided:
            return x
        span = sum((n - 1) * s for n, s in zip(x.shape, x.stride())) + 1
        pad = GUARD_BYTES // item
        block = torch.empty((span + 2 * pad) * item, dtype=torch.uint8)
        block.fill_(GUARD_BYTE)
        block[pad * item : -pad * item].fill_(BLANK_BYTE)
        out = torch.as_strided(block.view(x.dtype), x.shape, x.stride(), pad)
        if not blank:
            out.copy_(x)
        self.blocks.append((block, pad * item))
        return out

    def broken(self) -> bool:
        for block, pad in self.blocks:
            if bool((block[:pad] != GUARD_BYTE).any()) or bool((block[-pad:] != GUARD_BYTE).any()):
                return True
        return False

    def forget(self) -> None:
        self.blocks.clear()


class Watch(TorchDispatchMode):
    """Counts operators; foreign ones are those that compute."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise the first operator imports torch._dynamo: seconds

    def __init__(self, memory: GuardedMemory | None) -> None:
        super().__init__()
        self.record = Record()
        self.memory = memory

    def __torch_dispatch__(self, func, types_, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        record = self.record
        record.ops[name] = record.ops.get(name, 0) + 1
        if func.namespace not in ("aten", "prim") or name not in ALLOWED:
            full = f"{func.namespace}.{name}"
            record.foreign[full] = record.foreign.get(full, 0) + 1
        out = func(*args, **(kwargs or {}))
        if self.memory is not None and name in ALLOCATE and type(out) is torch.Tensor:
            return self.memory.like(out, blank="empty" in name)
        return out


def digest(tensors: list[torch.Tensor]) -> str:
    """The contents of tensors, as one hash; on CUDA of a sum that any change of
    a bit pattern moves."""
    h = hashlib.blake2b(digest_size=16)
    for t in tensors:
        h.update(str((t.shape, t.dtype)).encode())
        if t.numel() == 0:
            continue
        flat = t.detach().contiguous().view(-1)
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
    "torch.cuda", "torch.cuda.Event", "torch.random", "time", "os", "json", "socket",
    "hashlib", "builtins",
)  # fmt: skip


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


class Snapshot:
    """Identities of functions that a cheat would replace."""

    def __init__(self, extra: list[types.ModuleType]) -> None:
        self.places: list[tuple[str, object, dict[str, object]]] = []
        for name in _WATCHED:
            self._keep(name, _resolve(name))
        for module in extra:
            self._keep(module.__name__, module)
        self.flags = self._flags()
        self.threads = threading.active_count()

    def _keep(self, name: str, thing: object) -> None:
        members = {
            k: v for k, v in vars(thing).items() if callable(v) and not k.startswith("__")
        }
        self.places.append((name, thing, members))

    @staticmethod
    def _flags() -> dict[str, object]:
        return {
            "default_dtype": torch.get_default_dtype(),
            "threads": torch.get_num_threads(),
            "deterministic": torch.are_deterministic_algorithms_enabled(),
            "matmul_tf32": torch.backends.cuda.matmul.allow_tf32,
            "cudnn_tf32": torch.backends.cudnn.allow_tf32,
            "cudnn_benchmark": torch.backends.cudnn.benchmark,
        }

    def changes(self) -> list[str]:
        found = []
        for name, thing, members in self.places:
            now = vars(thing)
            found += [f"{name}.{k}" for k, v in members.items() if now.get(k) is not v]
        now_flags = self._flags()
        found += [f"flag {k}" for k, v in self.flags.items() if now_flags[k] != v]
        return found[:20]


def kernel_threads() -> int:
    import os

    return len(os.listdir("/proc/self/task"))
