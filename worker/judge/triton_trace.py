"""Checks what only traces of the Triton family have: what the names of a kernel mean, options,
constants, tuples and descriptors. The trace is hostile, and an interpreter gets it beside the data.

  KERNEL = {"name", "line", "bind": {name: BIND}, "defaults": {parameter: BIND}, "noinline",
            "do_not_specialize", "do_not_specialize_on_alignment", "language"}
  BIND   as in kernel_language.py
  ARG    as in docs/TRACE.md, and {"layout": [class, {field: ARG}]} of Gluon; a descriptor is
         {"desc": [VIEW, shape, strides, block, padding, layout or null, round to TF32]}
"""

import re

from judge.traces import BadTrace, Call, listed, plain_number, text, view, whole_number
from shared.kernel_language import is_plain
from shared.kernel_names import LAYOUTS
from shared.program import ITEM

KERNEL = ("name line bind defaults noinline do_not_specialize do_not_specialize_on_alignment "
          "language")  # fmt: skip
KINDS = "t tuple desc reinterpret text dtype kernel layout"  # of arguments
PARTS = 1000  # of a tuple, names of a kernel
_DTYPE = re.compile(r"(pointer<){0,2}[a-z][a-z0-9]{1,10}>{0,2}")
_MODULE = re.compile(r"[A-Za-z_][\w.]{0,200}")
_RANGES = {
    "num_warps": (0, 1024), "num_stages": (0, 64), "num_ctas": (1, 16), "maxnreg": (1, 512),
    "enable_fp_fusion": (0, 1), "launch_cooperative_grid": (0, 1), "launch_pdl": (0, 1),
    "debug": (0, 1),
}  # whole numbers from and to  # fmt: skip
_TEXTS = {"default_dot_input_precision": ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")}
OPTIONS = " ".join([*_RANGES, *_TEXTS])


def check_kernel(spec: dict, count: int) -> None:
    if not spec.keys() <= set(KERNEL.split()):
        raise BadTrace("a malformed kernel")
    if not is_plain(spec.get("name")) or len(spec["name"]) > 200:
        raise BadTrace("a malformed kernel name")
    whole_number(spec.get("line"), 0, 10_000_000, "a kernel's line")
    for key in ("bind", "defaults"):
        names = spec.setdefault(key, {})
        if not isinstance(names, dict) or len(names) > PARTS or not all(map(is_plain, names)):
            raise BadTrace("the names of a kernel")
        for bound in names.values():
            _check_bind(bound, count)
    for key in ("do_not_specialize", "do_not_specialize_on_alignment"):
        spec.setdefault(key, [])
        for part in listed(spec[key], PARTS, key):
            if not is_plain(part):
                whole_number(part, 0, PARTS, key)
    if spec.setdefault("noinline", False) not in (True, False):
        raise BadTrace("a kernel's noinline")
    if spec.setdefault("language", "triton") not in ("triton", "gluon"):
        raise BadTrace("a kernel's language")


def _check_bind(raw: object, count: int) -> None:
    if not isinstance(raw, dict) or len(raw) != 1:
        raise BadTrace("what a name means")
    ((kind, content),) = raw.items()
    if kind == "value":
        _check_plain(content)
    elif kind == "constexpr":
        _check_bind(content, count)
    elif kind == "tuple":
        for part in listed(content, PARTS, "a tuple"):
            _check_bind(part, count)
    elif kind == "module":
        _check_module(content)
    elif kind == "from":
        if len(listed(content, 2, "a name's origin")) != 2 or not is_plain(content[1]):
            raise BadTrace("a name's origin")
        _check_module(content[0])
    elif kind == "unknown":
        text(content, 300, "a type")
    else:
        _check_constant(raw, count)


def _check_module(name: object) -> None:
    if not isinstance(name, str) or not _MODULE.fullmatch(name):
        raise BadTrace("a module's name")


def _check_plain(value: object) -> None:
    if isinstance(value, str):
        text(value, 65536, "a text")
    elif value is not None:
        plain_number(value)


def _check_constant(raw: dict, count: int) -> None:
    """Checks a constant, which both names and arguments may be."""
    ((kind, content),) = raw.items()
    if kind == "float":
        plain_number(raw)
    elif kind == "dtype":
        if not isinstance(content, str) or not _DTYPE.fullmatch(content):
            raise BadTrace("a dtype of the language")
    elif kind == "kernel":
        whole_number(content, 0, count - 1, "a kernel's number")
    elif kind == "layout":
        _check_layout(content, count)
    else:
        raise BadTrace("a value of another kind")


def _check_layout(raw: object, count: int) -> None:
    if len(listed(raw, 2, "a layout")) != 2 or raw[0] not in LAYOUTS:
        raise BadTrace("a layout")
    if not isinstance(raw[1], dict) or not all(map(is_plain, raw[1])):
        raise BadTrace("a layout's fields")
    for part in raw[1].values():
        if isinstance(part, dict) and part.keys() == {"tuple"}:
            check_argument(part, None, count)
        elif isinstance(part, dict):
            _check_constant(part, count) if len(part) == 1 else _check_plain(part)
        else:
            _check_plain(part)


def check_options(options: dict) -> None:
    for name, value in options.items():
        if name in _RANGES:
            whole_number(int(value) if isinstance(value, bool) else value, *_RANGES[name], name)
        elif value not in _TEXTS[name]:
            raise BadTrace(f"the option {name}")


def check_argument(raw: object, call: Call | None, count: int) -> None:
    """Without `call`, no tensors are allowed."""
    if not isinstance(raw, dict):
        _check_plain(raw)
        return
    if len(raw) != 1:
        raise BadTrace("an unknown kind of argument")
    ((kind, content),) = raw.items()
    if kind == "tuple":
        for part in listed(content, PARTS, "a tuple"):
            check_argument(part, call, count)
    elif kind in ("t", "desc", "reinterpret") and call is not None:
        _check_given(kind, content, call, count)
    else:
        _check_constant(raw, count)


def _check_given(kind: str, content: object, call: Call, count: int) -> None:
    if kind == "t":
        view(content, call.buffers)
    elif kind == "reinterpret":
        if len(listed(content, 2, "a reinterpreted tensor")) != 2:
            raise BadTrace("a reinterpreted tensor")
        view(content[0], call.buffers)
        _check_constant({"dtype": content[1]}, count)
    else:
        _check_descriptor(content, call, count)


def _check_descriptor(raw: object, call: Call, count: int) -> None:
    """A descriptor must lie within its buffer, whatever its own shape says."""
    if len(listed(raw, 7, "a descriptor")) < 5:
        raise BadTrace("a descriptor is too short")
    raw.extend([None, False][len(raw) - 5 :])
    base = view(raw[0], call.buffers)
    shape, strides, block = (listed(part, 5, "a descriptor") for part in raw[1:4])
    if not 0 < len(shape) == len(strides) == len(block):
        raise BadTrace("a descriptor's dimensions")
    whole_view = [base.buffer, base.dtype, base.offset, shape, strides]
    view(whole_view, call.buffers)
    for size in (*shape, *block):
        whole_number(size, 1, 2**32 - 1, "a descriptor's size")
    if strides[-1] != 1 or base.offset * ITEM[base.dtype] % 16:
        raise BadTrace("a descriptor that TMA cannot read")
    if any(s * ITEM[base.dtype] % 16 or s >= 1 << 40 for s in strides[:-1]):
        raise BadTrace("a descriptor's strides")
    if raw[4] not in ("zero", "nan") or raw[6] not in (True, False):
        raise BadTrace("a descriptor's padding")
    if raw[5] is not None:
        if not isinstance(raw[5], dict) or raw[5].keys() != {"layout"}:
            raise BadTrace("a descriptor's layout")
        _check_layout(raw[5]["layout"], count)
