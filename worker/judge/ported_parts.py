"""Text that exported files contain (ported.py): how arguments are checked, and what stands in for
a pack's helper where this program is not installed."""

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

C_LIBRARY = '''
def _built(source, calls):
    """The functions of C source; `calls` has one for each that takes its arguments as words. Name,
    options and environment are the judge's, so that the same text is the same program."""
    try:
        from c_cpu import build, recording
    except ImportError:
        recording = False
    if recording:
        return build(source)
    import ctypes, os, pathlib, struct, subprocess, tempfile

    flags = "-std=c11 -D_DEFAULT_SOURCE -O3 -fPIC -ffp-contract=on -fno-math-errno -fno-trapping-math " \\
            "-fno-strict-aliasing -Wall -Wno-unused-function -Wno-unknown-pragmas -Werror=return-type " \\
            "-Werror=implicit-function-declaration -Werror=implicit-int -Werror=int-conversion " \\
            "-Werror=incompatible-pointer-types kernel.c -o kernel.so -shared -save-temps " \\
            "-Wl,-z,defs -Wl,-z,now -Wl,--as-needed -lm -nostartfiles -Wl,-z,relro -Wl,-z,now " \\
            "-Wl,--hash-style=sysv -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc " \\
            "-Wl,--wrap=aligned_alloc -Wl,--wrap=free"
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "kernel.c").write_bytes((source + calls).encode())
        os.utime(f"{folder}/kernel.c", (0, 0))
        env = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "SOURCE_DATE_EPOCH": "0", "TZ": "UTC"}
        done = subprocess.run(["cc", *flags.split()], cwd=folder, env=env, capture_output=True)
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
            return a.data_ptr() if isinstance(a, torch.Tensor) else int(a or 0) & (1 << 64) - 1

    return Library()
'''
