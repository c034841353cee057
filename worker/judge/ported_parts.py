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
try:
    from c_cpu import build
except ImportError:
    import ctypes
    import struct
    import subprocess
    import tempfile

    class build:
        """The functions of C source, each compiled by cc when it is called first."""

        def __init__(self, source):
            self._source, self._made = source, {}

        def __getattr__(self, name):
            return lambda *args: self._call(name, args)

        def _call(self, name, args):
            kinds = tuple(torch.Tensor if a is None else type(a) for a in args)
            if (name, kinds) not in self._made:
                self._made[name, kinds] = self._compiled(name, kinds)
            words = [0 if a is None else a.data_ptr() if isinstance(a, torch.Tensor) else
                     int.from_bytes(struct.pack("<d", a), "little") if isinstance(a, float) else
                     int(a) & (1 << 64) - 1 for a in args]
            self._made[name, kinds]((ctypes.c_uint64 * max(len(words), 1))(*words))

        def _compiled(self, name, kinds):
            forms = {int: "(long long)w[%d]", bool: "w[%d] != 0", float: "*(const double *)(w + %d)"}
            given = ", ".join(forms.get(k, "(void *)w[%d]") % i for i, k in enumerate(kinds))
            stub = f"\\nvoid _stub(const unsigned long long *w)\\n{{\\n    (void){name}({given});\\n}}\\n"
            folder = tempfile.mkdtemp()
            with open(folder + "/source.c", "w") as file:
                file.write(self._source + stub)
            flags = "-std=c11 -D_DEFAULT_SOURCE -O3 -fPIC -ffp-contract=on -fno-math-errno " \\
                    "-fno-trapping-math -fno-strict-aliasing -w -shared"
            target = folder + "/source.so"
            subprocess.run(["cc", *flags.split(), folder + "/source.c", "-o", target, "-lm"], check=True)
            return ctypes.CDLL(target)._stub
'''
