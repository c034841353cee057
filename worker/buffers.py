"""Memory that judge and candidate both see: made and owned by the judge, mapped
by the candidate for one call. On the CPU a memfd; on CUDA device memory with a
descriptor (cuda_memory)."""

import fcntl
import mmap
import os

import torch

FILL = b"\xff"  # a NaN in every floating type, -1 in integers


class HostBuffer:
    """The judge's side of a memfd."""

    def __init__(self, size: int) -> None:
        self.size = max(size, 1)
        self.fd = os.memfd_create("outputs", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, self.size)
        # A file that shrinks under a map kills who reads it.
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)
        self.map = mmap.mmap(self.fd, self.size)

    def fill(self) -> None:
        self.map.seek(0)
        chunk = FILL * (1 << 20)
        left = self.size
        while left:
            left -= self.map.write(chunk[: min(left, len(chunk))])

    def take(self, offset: int, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """A private copy: what is compared cannot change under the judge."""
        count = 1
        for n in shape:
            count *= n
        size = count * torch.empty((), dtype=dtype).element_size()
        raw = bytearray(self.map[offset : offset + size])
        if not raw:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(raw, dtype=dtype).reshape(shape)

    def close(self) -> None:
        self.map.close()
        os.close(self.fd)


def judge_buffer(size: int, device: str):
    if device == "cpu":
        return HostBuffer(size)
    from cuda_memory import DeviceBuffer

    return DeviceBuffer(size)


class Window:
    """The candidate's side of either kind."""

    def __init__(self, fd: int, size: int, device: str) -> None:
        self.inner = None
        if device == "cpu":
            self.map = mmap.mmap(fd, max(size, 1))
            self.bytes = torch.frombuffer(self.map, dtype=torch.uint8)
        else:
            from cuda_memory import ImportedMemory

            self.inner = ImportedMemory(fd, size)
            self.bytes = self.inner.bytes

    def put(self, offset: int, t: torch.Tensor) -> None:
        """`t` is a candidate's: methods are the class's, never its own."""
        raw = torch.Tensor.contiguous(torch.Tensor.detach(t)).view(-1).view(torch.uint8)
        self.bytes[offset : offset + raw.numel()].copy_(raw)

    def close(self) -> None:
        del self.bytes
        if self.inner is not None:
            self.inner.close()
