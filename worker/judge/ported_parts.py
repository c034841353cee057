"""Text that exported files contain (ported.py): how arguments are checked, and what stands in for
a pack's helper where this program is not installed."""

import inspect

from shared import native
from shared.fresh import fresh_page

ARGUMENTS = '''
def _as_judged(name, t, shape, strides, dtype, device, changed=False):
    """The tensor as the kernels were judged with: an error for another shape, dtype or device, and
    a copy where it lies otherwise in memory."""
    if not isinstance(t, torch.Tensor):
        raise TypeError(f"{name} must be a tensor, not a {type(t).__name__}")
    if (tuple(t.shape), t.dtype) != (shape, dtype):
        raise ValueError(f"{name} must have the shape {shape} and the dtype {dtype}, "
                         f"not {tuple(t.shape)} and {t.dtype}: the kernels are right for no other")
    if device not in (None, t.device):
        raise ValueError(f"{name} is on {t.device}, and must be on {device}")
    plain = all(n == 1 or a == b for n, a, b in zip(shape, t.stride(), strides))
    if plain and t.data_ptr() % 16 == 0:
        return t
    if changed or any(n > 1 and s == 0 for n, s in zip(shape, strides)):
        raise ValueError(f"{name} must have the strides {strides}, not {t.stride()}, and start at "
                         "a multiple of 16 bytes: it cannot be copied")
    return torch.empty_strided(shape, strides, dtype=dtype, device=t.device).copy_(t)


def _same(name, value, judged):
    if type(value) is not type(judged) or value != judged:
        raise ValueError(f"{name} must be {judged!r}, not {value!r}: the kernels are right for no other")
'''

C_LIBRARY = f"\n\n{inspect.getsource(fresh_page)}" + '''
try:
    from c_cpu import recording as _recording
except ImportError:
    _recording = False


def _built(source, calls, options):
    """The functions of C source; `calls` has one for each that takes its arguments as words. Name,
    options and environment are the judge's, so that the same text is the same program."""
    if _recording:
        from c_cpu import build

        return build(source)
    import ctypes, os, pathlib, struct, subprocess, tempfile

    with tempfile.TemporaryDirectory() as folder:
        kernel = pathlib.Path(folder, "kernel.c")
        kernel.write_bytes((source + calls).encode())
        os.utime(kernel, (0, 0))
        env = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "SOURCE_DATE_EPOCH": "0", "TZ": "UTC",
               "CCACHE_DISABLE": "1"}
        done = subprocess.run(options.split(), cwd=folder, env=env, capture_output=True)
        if done.returncode:
            raise RuntimeError("cc: " + done.stderr.decode(errors="replace"))
        made = ctypes.CDLL(f"{folder}/kernel.so")

    class Library:
        def __getattr__(self, name):
            return lambda *args: getattr(made, f"monkeys_call_{name}")(
                (ctypes.c_uint64 * (len(args) + 1))(*map(self.word, args)))

        def word(self, a):
            if isinstance(a, float):
                (a,) = struct.unpack("<q", struct.pack("<d", a))
            if isinstance(a, torch.Tensor):
                return a.untyped_storage().data_ptr() + a.storage_offset() * a.element_size()
            return int(a or 0) & (1 << 64) - 1

    return Library()


class _Room:
    """Memory for one call of forward as it was when the kernels were judged: the same addresses, an
    empty heap and stack, as unknown bytes where nothing has been written, and for each call of a kernel
    nothing but its arguments. One thread at a time."""

    at, region, last, gap, stack = NUMBERS

    def __init__(self, size):
        import ctypes, os, time

        self.ctypes, self.libc, self.size = ctypes, ctypes.CDLL(None, use_errno=True), size
        self.secret = os.urandom(16)
        self.libc.mmap.restype = ctypes.c_void_p
        self.libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 4]
        self.libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.libc.mprotect.argtypes = [*self.libc.munmap.argtypes, ctypes.c_int]
        while not _recording and not self.mapped():
            time.sleep(0.001)  # another call has it

    def mapped(self):
        size = self.region - self.at + self.size
        flags = 0x104022  # private, anonymous, nothing reserved, here and nowhere else
        found = self.libc.mmap(self.at, size, 3, flags, -1, 0)
        if found == self.at:
            for gap in (self.last, self.last - self.stack - self.gap):
                self.libc.mprotect(gap, self.gap, 0)
            return True
        if found != self.ctypes.c_void_p(-1).value:
            self.libc.munmap(found, size)
        elif self.ctypes.get_errno() != 17:
            raise MemoryError(f"{size} bytes at the address {self.at:#x}")
        return False

    def __enter__(self):
        if not _recording:
            page = fresh_page(self.secret[0], self.secret.hex())
            self.memory(0, self.size, torch.int64).view(-1, page.numel()).copy_(page)
        return self

    def __exit__(self, *_):
        if not _recording:
            self.libc.munmap(self.at, self.region - self.at + self.size)

    def memory(self, at, size, dtype):
        """None of it has an address, too."""
        held = (self.ctypes.c_char * max(size, 16)).from_address(self.region + at)
        return torch.frombuffer(held, dtype=dtype)[: size // dtype.itemsize]

    def new(self, at, count, dtype):
        return torch.empty(count, dtype=dtype) if _recording else self.memory(at, count * dtype.itemsize, dtype)

    def put(self, at, t):
        if _recording:
            return t
        last = sum((n - 1) * s for n, s in zip(t.shape, t.stride()))
        held = self.memory(at, (last + 1) * t.element_size() if t.numel() else 0, t.dtype)
        return held.as_strided(t.shape, t.stride()).copy_(t)

    def call(self, kernel, seen, *args):
        """With these pages of the region alone: where they begin and end."""
        if _recording:
            return kernel(*args)
        self.protect(seen, 0)
        kernel(*args)
        self.protect(seen, 3)

    def protect(self, seen, rights):
        """The rest of the region."""
        ends = [0, *(end for _, end in seen)]
        for at, to in zip(ends, [*(begin for begin, _ in seen), self.size]):
            if at < to and self.libc.mprotect(self.region + at, to - at, rights):
                raise MemoryError(f"{to - at} bytes cannot be protected")

    def take(self, t, to=None):
        if _recording:
            return t
        return t.clone() if to is None else to.copy_(t)
'''.replace("NUMBERS", f"{native.ROOM:#x}, {native.REGION:#x}, {native.STACK:#x}, {1 << 16}, {8 << 20}")
