"""Checks a library before a runner loads it: its result may depend on nothing but its arguments.

In the judge's trials that is so whatever it does, because each call has a process of its own
(src/runner/device_cpu.c). But who uses the delivered file calls the library again and again in one
process. So it has no memory of its own that can be written once it is loaded, none of its code runs
before a call, and of libc it has only functions that keep nothing from one call to the next. Where
these lie in memory differs from process to process, so it calls them and does not ask.

What is read is what a loader reads: the program headers and the dynamic section. The bytes are
hostile."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_MACHINES = {62: {1, 6, 7, 8}, 183: {257, 1025, 1026, 1027}}  # and what their relocations may be
_CALLS = {7, 1026}  # those of them that are used for calls alone
_LOADED, _DYNAMIC, _THREAD, _STACK, _READ_ONLY = 1, 2, 7, 0x6474E551, 0x6474E552  # program headers
_EXECUTE, _WRITE = 1, 2
_PAGE = 4096
_NEEDED, _STRINGS, _SYMBOLS, _HASH = 1, 5, 6, 4  # tags
_RELOCATIONS = (7, 8), (23, 2)  # and their sizes
_FLAGS, _TEXT_RELOCATIONS = 30, 4
# Tables, versions and flags of an ordinary library: no code that runs when it is loaded, no folders
# to search, no other hash that names could be looked up in.
_TAGS = {*range(1, 12), 14, 16, 20, 23, 24, 30, 35, 36, 37}
_TAGS |= {0x6FFFFFF0, 0x6FFFFFF9, 0x6FFFFFFA, *range(0x6FFFFFFB, 0x70000000)}
_TAGS |= {0x70000001, 0x70000003, 0x70000005}  # of aarch64
_PLAIN = {0, 1, 2, 3}  # symbol types: none, object, function, section
_NAME = re.compile(r"[A-Za-z_]\w{0,99}")

_MATHS = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 "
    "expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma llrint llround "
    "log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder "
    "remquo rint round roundeven scalbln scalbn sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn "
    "cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog conj cpow cproj creal "
    "csin csinh csqrt ctan ctanh"
).split()
_OTHERS = (
    "memcpy memmove memset memchr strlen abs labs llabs div ldiv lldiv abort "
    "__memcpy_chk __memmove_chk __memset_chk __stack_chk_fail __finite __finitef __isnan __isnanf "
    "__isinf __isinff __fpclassify __fpclassifyf __signbit __signbitf"
).split()
IMPORTS = frozenset(_OTHERS) | {f + kind for f in _MATHS for kind in ("", "f", "l")}
VECTORS = re.compile(r"\A_ZGV[a-z][NM]\d+v+_(\w+)\Z")  # of a function in <math.h>, where -ffast-math is asked for
LIBRARIES = re.compile(r"(libm|libmvec|libc|ld-linux[\w-]*)\.so\.\d+")


class BadLibrary(Exception):
    """It is not what a compiler makes."""


class NotPure(Exception):
    """A compiler's work, of a text that is refused. The message is for its author."""


@dataclass(frozen=True)
class _Segment:
    kind: int
    flags: int
    offset: int
    start: int
    filled: int
    size: int

    def __contains__(self, address: int) -> bool:
        return self.start <= address < self.start + self.size


@dataclass(frozen=True)
class _Symbol:
    name: str
    kind: int
    section: int
    address: int
    size: int


def check_library(data: bytes) -> None:
    """Raises BadLibrary or NotPure."""
    machine, segments = _segments(data)
    tags = _tags(data, segments)
    _check_loading(data, segments, tags)
    _check_memory(data, segments)
    symbols = _dynamic_symbols(data, segments, tags)
    imported = {s.name for s in symbols if not s.section and s.name}
    if any(s.kind not in _PLAIN for s in symbols if s.section):
        raise NotPure("The source defines a function or a variable that is bound when it is loaded "
                      "(ifunc, thread-local): define plain functions.")  # fmt: skip
    if unknown := sorted(name for name in imported if VECTORS.sub(r"\1", name) not in IMPORTS):
        raise NotPure(f"The source calls {_shown_names(unknown)}, which a kernel may not: only functions of "
                      "math.h and complex.h, memcpy and its relatives, malloc and its relatives, "
                      "qsort and bsearch are there. One thread, no files, no output, no clock, no random numbers.")  # fmt: skip
    _check_relocations(data, machine, segments, tags, symbols)


def _check_loading(data: bytes, segments: list[_Segment], tags: dict[int, list[int]]) -> None:
    if not tags.keys() <= _TAGS or any(flags & _TEXT_RELOCATIONS for flags in tags.get(_FLAGS, [])):
        raise NotPure("The source has code that runs when the library is loaded or unloaded "
                      "(a constructor or destructor): everything happens in the functions that "
                      "forward calls.")  # fmt: skip
    needed = [_string(data, segments, tags, at) for at in tags.get(_NEEDED, [])]
    if unknown := [name for name in needed if not LIBRARIES.fullmatch(name)]:
        raise NotPure(f"It needs {_shown_names(unknown)}: only libc and libm are there.")
    for s in segments:
        if s.kind in (_LOADED, _STACK) and s.flags & _EXECUTE and (s.kind == _STACK or s.flags & _WRITE):
            raise NotPure("The source needs memory that can be written and executed (nested functions "
                          "whose address is taken, sections): define functions at file scope.")  # fmt: skip


def _check_memory(data: bytes, segments: list[_Segment]) -> None:
    """What a loader makes read-only once it has filled in addresses is none that can be written."""
    fixed = [s for s in segments if s.kind == _READ_ONLY]
    if len(fixed) > 1:
        raise BadLibrary("it is read-only in two places")
    free: list[tuple[int, int]] = []
    for s in segments:
        if s.kind == _THREAD and s.size:
            raise NotPure(_keeps("thread-local variables"))
        if s.kind == _LOADED and s.flags & _WRITE:
            low, high = s.start, s.start + s.size
            if fixed and fixed[0].start <= low and not (fixed[0].start + fixed[0].size) % _PAGE:
                low = max(low, fixed[0].start + fixed[0].size)
            if low < high:
                free.append((low, high))
    if free:
        names = [s.name.partition(".")[0] for s in _own_symbols(data)
                 if s.kind == 1 and s.section and any(a <= s.address < b for a, b in free)]  # fmt: skip
        names = sorted({name for name in names if _NAME.fullmatch(name)})
        raise NotPure(_keeps(f"static variables that can be written: {_shown_names(names)}" if names
                             else "static variables that can be written"))  # fmt: skip


def _keeps(what: str) -> str:
    return (f"The library keeps memory from one call to the next ({what}), but a kernel's result may "
            "depend on its arguments only. Declare tables `static const`; for scratch memory use local "
            "variables, malloc and free, or a tensor that forward allocates with torch.empty and "
            "passes.")  # fmt: skip


def _shown_names(names: list[str]) -> str:
    shown = [name for name in names if re.fullmatch(r"[\w.-]{1,100}", name)]
    return ", ".join(shown[:5]) + (" and more" if len(names) > min(5, len(shown)) else "")


# ---- reading ------------------------------------------------------------------------------


def _unpack(form: str, data: bytes, at: int) -> tuple:
    if not 0 <= at <= len(data) - struct.calcsize(form):
        raise BadLibrary("it is cut off")
    return struct.unpack_from(form, data, at)


def _segments(data: bytes) -> tuple[int, list[_Segment]]:
    kind, machine = _unpack("<HH", data, 16)
    if data[:6] != b"\x7fELF\x02\x01" or kind != 3 or machine not in _MACHINES:
        raise BadLibrary("it is no shared object of this machine")
    (at,) = _unpack("<Q", data, 32)
    size, count = _unpack("<HH", data, 54)
    if size != 56 or count > 64:
        raise BadLibrary("its program headers are malformed")
    raw = [_unpack("<IIQQQQQQ", data, at + 56 * i) for i in range(count)]
    return machine, [_Segment(r[0], r[1], r[2], r[3], r[5], r[6]) for r in raw]


def _place_in_file(segments: list[_Segment], address: int) -> int:
    """Where in the file a loader finds what it has at an address."""
    for s in segments:
        if s.kind == _LOADED and s.start <= address < s.start + s.filled:
            return s.offset + address - s.start
    raise BadLibrary("it points outside itself")


def _tags(data: bytes, segments: list[_Segment]) -> dict[int, list[int]]:
    dynamic = [s for s in segments if s.kind == _DYNAMIC]
    if len(dynamic) != 1:
        raise BadLibrary("it has no dynamic section")
    found: dict[int, list[int]] = {}
    at = _place_in_file(segments, dynamic[0].start)
    while True:
        tag, value = _unpack("<QQ", data, at)
        if tag == 0:
            break
        found.setdefault(tag, []).append(value)
        at += 16
    if any(len(values) > 1 for tag, values in found.items() if tag != _NEEDED):
        raise BadLibrary("a table is named twice")
    if not found.keys() >= {_STRINGS, _SYMBOLS, _HASH}:
        raise BadLibrary("it has no table of symbols")
    return found


def _string(data: bytes, segments: list[_Segment], tags: dict[int, list[int]], at: int) -> str:
    return _text(data, _place_in_file(segments, tags[_STRINGS][0]) + at)


def _text(data: bytes, start: int) -> str:
    end = data.find(b"\0", start)
    if not 0 <= start < len(data) or end < 0:
        raise BadLibrary("a name lies outside it")
    return data[start:end].decode("latin-1")


def _dynamic_symbols(data: bytes, segments: list[_Segment], tags: dict[int, list[int]]) -> list[_Symbol]:
    """All that a loader knows. The hash says how many there are, and no other hash is there."""
    (count,) = _unpack("<I", data, _place_in_file(segments, tags[_HASH][0]) + 4)
    return list(_table(data, _place_in_file(segments, tags[_SYMBOLS][0]), count,
                       _place_in_file(segments, tags[_STRINGS][0])))  # fmt: skip


def _table(data: bytes, at: int, count: int, names: int) -> Iterator[_Symbol]:
    if count > len(data) // 24:
        raise BadLibrary("its table of symbols is cut off")
    for i in range(count):
        name, info, _, section, address, size = _unpack("<IBBHQQ", data, at + 24 * i)
        yield _Symbol(_text(data, names + name), info & 15, section, address, size)


def _own_symbols(data: bytes) -> list[_Symbol]:
    """The linker's table, for messages; empty where it cannot be read."""
    try:
        (at,) = _unpack("<Q", data, 40)
        size, count = _unpack("<HH", data, 58)
        sections = [_unpack("<IIQQQQIIQQ", data, at + size * i) for i in range(min(count, 100))]
        (table,) = [s for s in sections if s[1] == 2]
        return list(_table(data, table[4], table[5] // 24, sections[table[6]][4]))
    except (BadLibrary, ValueError, IndexError):
        return []


def _check_relocations(
    data: bytes, machine: int, segments: list[_Segment], tags: dict[int, list[int]],
    symbols: list[_Symbol],
) -> None:  # fmt: skip
    """Each fills in an address, in memory that is read-only afterwards; none calls a function."""
    for where, length in _RELOCATIONS:
        if where not in tags:
            continue
        at = _place_in_file(segments, tags[where][0])
        for i in range(tags.get(length, [0])[0] // 24):
            target, info, _ = _unpack("<QQq", data, at + 24 * i)
            if info & 0xFFFFFFFF not in _MACHINES[machine] or info >> 32 >= max(len(symbols), 1):
                raise BadLibrary("it has a relocation of a kind that libraries have no use for")
            if info >> 32 and info & 0xFFFFFFFF not in _CALLS and not symbols[info >> 32].section:
                raise NotPure(f"The source takes the address of {_shown_names([symbols[info >> 32].name])}, "
                              "which is another in every process: call it, or take the address of a "
                              "function of your own that calls it.")  # fmt: skip
            if not any(s.kind == _LOADED and s.flags & _WRITE and target in s for s in segments):
                raise BadLibrary("a relocation changes what cannot be written")
