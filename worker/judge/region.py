"""The memory that an executor works on: one region, created and owned by the judge, that holds
every buffer of a trace. On the CPU it is a memfd; on CUDA, device memory with a descriptor
(device_memory).

On the CPU each buffer has pages of its own. A call of a library sees those of its arguments and no
others (seen()): whatever it reads or writes beside them faults, in the judge's process and in a
delivered file, which has the same layout (ported.py).

The judge fills it with what nobody knows (shared/fresh.py), writes inputs, parameters and constants,
and after the call copies out what it compares. Guard bytes between the buffers must not change.
Truths are never in it.

A large workspace on the CPU would take longer to fill than most kernels run. It is filled for one of
the first three times that a call runs, which shows kernels that read what nobody wrote. Otherwise its
pages are taken out of the file, which costs as much as kernels used of them: they are zeros when they
are next touched, like fresh memory of any allocator. So no kernel finds anything there that an earlier
call left, whatever a kernel or its process wrote and wherever. Outputs, which zeros could make right,
are always filled."""

import fcntl
import math
import mmap
import os
import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import torch
from judge.traces import Buffer, Trace
from shared.fresh import FRESH
from shared.program import ITEM, Place

ALIGN = 256
GUARD = 256  # bytes at least between two buffers
GUARDS = 16  # so many of them at most
WORKSPACE = 64 << 20  # bytes of a large one
PAGE = mmap.PAGESIZE


# ---- where everything lies -------------------------------------------------------------


@dataclass
class Layout:
    """Offsets of every buffer. `parts` has those of the setup and of each call, in the order of
    Trace.parts(); `scratch` is where kernels' scratch memory starts."""

    size: int = 0
    inputs: list[int] = field(default_factory=list)
    state: dict[str, int] = field(default_factory=dict)
    constants: dict[tuple[int, int], int] = field(default_factory=dict)
    kept: dict[int, tuple[int, int]] = field(default_factory=dict)  # offset and bytes
    parts: list[list[int]] = field(default_factory=list)
    scratch: int = 0
    made: dict[int, tuple[int, int]] = field(default_factory=dict)  # of `kept`, what the setup writes
    owned: int = 0  # inputs, state, constants and what the setup writes end here
    used: list[tuple[int, int]] = field(default_factory=list)
    spare: list[tuple[int, int]] = field(default_factory=list)  # whole pages of large workspaces

    def gaps(self) -> list[tuple[int, int]]:
        """Where guard bytes lie: everything between the buffers and at both ends."""
        used = sorted(self.used)
        return list(zip([0, *(end for _, end in used)], [*(start for start, _ in used), self.size]))


def lay_out(
    trace: Trace, inputs: list[Buffer], state: dict[str, Buffer], scratch: int, seed: int = 0
) -> Layout:
    """`scratch` is the number of bytes that kernels need besides the trace's buffers. With a secret
    seed, nobody knows how far these lie apart, and how to get from one to another. Without one, each
    has pages of its own, with a page between them that no kernel may touch."""
    layout, at = Layout(), _Cursor(random.Random(seed) if seed else None)
    layout.inputs = [at.take(b.bytes) for b in inputs]
    layout.state = {name: at.take(b.bytes) for name, b in state.items()}
    for b in (b for part in trace.parts() for b in part.buffers if b.kind == "const"):
        if (b.key, b.bytes) not in layout.constants:
            layout.constants[b.key, b.bytes] = at.take(b.bytes)
    for b in (trace.setup.buffers[node.to.buffer] for node in trace.setup.nodes):
        if b.key is not None and b.key not in layout.made:
            layout.made[b.key] = layout.kept[b.key] = at.take(b.bytes), b.bytes
    layout.owned = at.at
    for part in trace.parts():
        layout.parts.append([_place_buffer(b, layout, at, inputs) for b in part.buffers])
        returned = {v.buffer for v in part.outputs}
        layout.spare += [
            (-(-start // PAGE) * PAGE, (start + b.bytes) // PAGE * PAGE)
            for i, (b, start) in enumerate(zip(part.buffers, layout.parts[-1]))
            if b.kind == "new" and b.key is None and b.bytes >= WORKSPACE and i not in returned
        ]
    layout.scratch = at.take(scratch)
    layout.size, layout.used = at.end(), at.used
    return layout


class _Cursor:
    def __init__(self, chance: random.Random | None) -> None:
        self.at, self.used, self.chance = ALIGN + GUARD if chance else GUARD, [], chance

    def take(self, size: int) -> int:
        start = -(-self.at // ALIGN) * ALIGN
        if self.chance:
            self.at = start + size + GUARD * self.chance.randint(1, GUARDS)
        else:
            self.at = pages(start, size)[1] + PAGE + GUARD
        self.used.append((start, start + size))
        return start

    def end(self) -> int:
        return -(-(self.at + ALIGN) // PAGE) * PAGE


def pages(start: int, size: int) -> tuple[int, int]:
    """Where the pages of a buffer with its guard bytes begin and end."""
    return start // PAGE * PAGE, -(-(start + size + GUARD) // PAGE) * PAGE


def seen(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """All that a call of a library sees of the region: where the pages of these buffers begin and end.
    `spans` has the start and the size of each that it is given."""
    return tuple(sorted({pages(start, size) for start, size in spans}))


def _place_buffer(b: Buffer, layout: Layout, at: _Cursor, inputs: list[Buffer]) -> int:
    if b.kind == "input":
        return layout.inputs[b.key]
    if b.kind == "state":
        return layout.state[b.key]
    if b.kind == "const":
        return layout.constants[b.key, b.bytes]
    if b.key is None:
        return at.take(b.bytes)
    if b.key not in layout.kept:
        layout.kept[b.key] = at.take(b.bytes), b.bytes
    return layout.kept[b.key][0]


# ---- the memory ------------------------------------------------------------------------


class Region:
    """`bytes` is the whole region, as a tensor of this process; `fd` is for the executor."""

    bytes: torch.Tensor
    fd: int

    def __init__(self, layout: Layout) -> None:
        self.layout, self.size = layout, layout.size
        self.guard = None  # once somebody asks for it
        self.views: dict[Place, torch.Tensor] = {}  # each trial asks for the same

    def fill(self, page: torch.Tensor, whole: bool = True) -> None:
        """With this page again and again, before a call. Unless `whole`, large workspaces may be
        zeros instead."""
        self.fresh, at = page.to(self.bytes.device), 0
        for low, high in [*([] if whole else self.freed()), (self.bytes.numel(), 0)]:
            self.rows(at, low).copy_(self.fresh)
            at = high

    def freed(self) -> list[tuple[int, int]]:
        """Workspaces that are zeros now."""
        return []

    def rows(self, low: int, high: int) -> torch.Tensor:
        """The pages between these offsets."""
        return self.bytes[low:high].view(torch.int64).view(-1, FRESH // 8)

    def view(self, place: Place) -> torch.Tensor:
        """The array at `place`, in the region itself."""
        if place not in self.views:
            whole = self.bytes.view(getattr(torch, place.dtype))
            start = place.at // ITEM[place.dtype]
            self.views[place] = whole.as_strided(place.shape, place.strides, start)
        return self.views[place]

    def take(self, place: Place) -> torch.Tensor:
        """A private copy, so that it cannot change during the comparison."""
        return self.view(place).clone(memory_format=torch.contiguous_format)

    def span(self, at: int, size: int) -> torch.Tensor:
        return self.bytes[at : at + size]

    def owned(self) -> torch.Tensor:
        """Inputs, state and what __init__ made, in place, with the bytes between them."""
        return self.bytes[: self.layout.owned]

    def guards(self) -> torch.Tensor:
        """Whether every byte outside the buffers is unchanged: one boolean, which stays on the
        device."""
        if self.guard is None:
            self.guard = torch.cat([torch.arange(*gap) for gap in self.layout.gaps()]).to(self.bytes.device)
        same = (self.bytes[self.guard] == self.fresh.view(torch.uint8)[self.guard % FRESH]).all()
        # Devices give whole units of memory.
        return same & (self.rows(self.layout.size, self.bytes.numel()) == self.fresh).all()

    def untouched(self, place: Place) -> float:
        """The share of these elements that hold what they did before the call. Of zeros nobody knows."""
        item = ITEM[place.dtype]
        dtype = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}[item]
        last = sum((n - 1) * s for n, s in zip(place.shape, place.strides))
        at = torch.arange(last + 1, device=self.bytes.device).as_strided(place.shape, place.strides)
        held = self.fresh.view(getattr(torch, dtype))[(place.at // item + at) % (FRESH // item)]
        return float(((self.view(replace(place, dtype=dtype)) == held) & held.bool()).double().mean())

    def close(self) -> None:
        """Nobody looks at the memory again."""
        self.bytes = self.guard = self.fresh = None
        self.views.clear()


class HostRegion(Region):
    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        self.fd = sealed_file(self.size)
        self.map = mmap.mmap(self.fd, self.size)
        self.bytes = torch.frombuffer(self.map, dtype=torch.uint8)

    def freed(self) -> list[tuple[int, int]]:
        for low, high in self.layout.spare:
            self.map.madvise(mmap.MADV_REMOVE, low, high - low)
        return sorted(self.layout.spare)

    def guards(self) -> torch.Tensor:
        """Without a tensor for each byte, which takes longer than all of a small call."""
        gaps = self.layout.gaps()
        held = self.fresh.numpy().tobytes() * (max(b - a for a, b in gaps) // FRESH + 2)
        return torch.tensor(all(self.map[a:b] == held[a % FRESH : a % FRESH + b - a] for a, b in gaps))

    def close(self) -> None:
        super().close()
        self.map.close()
        os.close(self.fd)


class DeviceRegion(Region):
    def __init__(self, layout: Layout) -> None:
        from shared import device_memory

        super().__init__(layout)
        self.mapped, self.fd = device_memory.created(layout.size)
        self.bytes, self.size = self.mapped.bytes, self.mapped.size

    def close(self) -> None:
        super().close()
        self.mapped.close()
        os.close(self.fd)


def sealed_file(size: int) -> int:
    """Memory with a descriptor. It is sealed, because a file that shrinks while mapped kills its
    readers."""
    fd = os.memfd_create("region", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, max(size, 1))
    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


def make_region(layout: Layout, device: str) -> Region:
    return HostRegion(layout) if device == "cpu" else DeviceRegion(layout)


# ---- sizes of what the judge has ---------------------------------------------------------


def span_bytes(t: torch.Tensor) -> int:
    """The size of the memory from its first to its last element."""
    if t.numel() == 0:
        return 0
    return (sum((n - 1) * s for n, s in zip(t.shape, t.stride())) + 1) * t.element_size()


def dtype_of(t: torch.Tensor) -> str:
    return str(t.dtype).removeprefix("torch.")


def input_buffer(index: int, t: torch.Tensor) -> Buffer:
    return Buffer("input", index, span_bytes(t), dtype_of(t))


def state_buffer(name: str, t: torch.Tensor) -> Buffer:
    """Parameters are contiguous, whatever their strides in the judge."""
    return Buffer("state", name, math.prod(t.shape) * t.element_size(), dtype_of(t))


def tensor_place(at: int, t: torch.Tensor, contiguous: bool = False) -> Place:
    strides = t.stride()
    if contiguous:
        strides = torch.empty(t.shape, device="meta").stride()
    return Place(at, dtype_of(t), tuple(t.shape), tuple(strides))

