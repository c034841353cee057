"""Checks a cubin before an executor loads it: it has the entry that will be launched and no other,
and no memory that outlives a launch. The bytes are hostile."""

import re
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass

MOST_BYTES = 16 << 20
_MACHINE = 190  # EM_CUDA
_SYMBOLS, _NOTHING = 2, 8  # section types: SHT_SYMTAB, SHT_NOBITS
_WRITE, _ALLOCATED = 1, 2  # section flags
_OBJECT, _FUNCTION = 1, 2  # symbol types
_ENTRY = 0x10  # a function's flag in st_other: a kernel
_GLOBALS = (".nv.global", ".data", ".bss")
_INFO = ".nv.info."  # and a kernel's name: attributes of it
_SIZED = 4  # the form of attributes that have a body: EIFMT_SVAL
_PARAMETER, _LARGE_PARAMETER = 0x17, 0x45  # EIATTR_KPARAM_INFO and its second version
_SHARED = re.compile(r"\.nv\.shared\.[\w$.]+")  # lives as long as a program does
_TABLES = {"__cudart_i2opi_f": 24, "__cudart_i2opi_d": 144, "__cudart_sin_cos_coeffs": 128}
_REFLECTED = re.compile(r"_\$_str(_\$_\d+)?")  # names of options that libdevice asks for
_MOST_REFLECTED = 64  # bytes of one
_SPOKEN = re.compile(r"assert(Func|File|Message)_\d+|printf(Format|Prefix)_\d+")  # what is shown
_MOST_SPOKEN = 4096
# Objects of the C++ library that have no members, and hence one byte each: TileLang's headers
# bring them along.
_EMPTY = re.compile(
    r"_ZN\d+_INTERNAL_\w+?4cuda3std(6ranges)?3__\d"
    r"(5__cpo\d+[a-z_]+|\d+_GLOBAL__N__\w+?6ignore|19piecewise_construct|8in_place)E"
)


class BadCubin(Exception):
    pass


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int


def check_cubin(data: bytes, allowed: Collection[str], headers: bool = False) -> None:
    """Raises BadCubin unless `data` is a cubin with kernels, all of them `allowed`. With `headers`,
    which only code without C++ of a candidate's own may have, it may hold empty objects."""
    if len(data) > MOST_BYTES:
        raise BadCubin("it is too large")
    sections = _sections(data)
    symbols = [s for table in sections if table.kind == _SYMBOLS
               for s in _section_symbols(data, table, sections)]  # fmt: skip
    entries = [name for name, kind, other, section, _ in symbols
               if kind == _FUNCTION and other & _ENTRY and section]  # fmt: skip
    if not entries or not set(entries) <= set(allowed):
        raise BadCubin(f"its kernels are {entries[:4]}, not {list(allowed)[:4]}")
    for number, section in enumerate(sections):
        writable = section.flags & _WRITE and section.flags & _ALLOCATED
        if section.size and (writable or section.name.startswith(_GLOBALS)):
            _check_writable(section, [s for s in symbols if s[3] == number], headers)


def _check_writable(section: _Section, symbols: list[tuple], headers: bool) -> None:
    """Allows shared memory, empty objects, and the tables of libdevice, which are globals."""
    if _SHARED.fullmatch(section.name) and section.kind == _NOTHING:
        return
    objects = [s for s in symbols if s[1] == _OBJECT]
    empty = [size == 1 and _EMPTY.fullmatch(name) for name, _, _, _, size in objects]
    if headers and section.name == ".nv.global" and all(empty) and section.size <= len(empty):
        return
    if section.name != ".nv.global.init":
        raise BadCubin(f"it has {section.size} bytes of memory that outlives a launch "
                       f"({section.name[:40]})")  # fmt: skip
    for name, _, _, _, size in objects:
        if size != _TABLES.get(name) and not (
            _REFLECTED.fullmatch(name) and size <= _MOST_REFLECTED
            or _SPOKEN.fullmatch(name) and size <= _MOST_SPOKEN
        ):
            raise BadCubin(f"it has a global variable that outlives a launch ({name[:40]})")
    if section.size > sum(s[4] + 7 for s in objects):  # 7: to align the next
        raise BadCubin("it has global memory that outlives a launch")


def kernel_parameters(data: bytes) -> dict[str, tuple[int, ...]]:
    """The sizes in bytes of each kernel's parameters, in order, as a driver reads them."""
    found = {}
    for section in _sections(data):
        if not section.name.startswith(_INFO):
            continue
        sizes = {}
        for kind, body in _attributes(_part(data, section)):
            if kind in (_PARAMETER, _LARGE_PARAMETER):
                _, number, _, size = _unpack_from("<IHHI", body, 0)
                if number in sizes:
                    raise BadCubin("a kernel has a parameter twice")
                sizes[number] = size >> 18 if kind == _PARAMETER else size
        if sorted(sizes) != list(range(len(sizes))):
            raise BadCubin("a kernel lacks parameters")
        name = section.name.removeprefix(_INFO)
        if name in found:
            raise BadCubin("it describes a kernel twice")
        found[name] = tuple(sizes[i] for i in range(len(sizes)))
    return found


def _attributes(info: bytes) -> Iterator[tuple[int, bytes]]:
    """The attributes that have a body; the others are just four bytes."""
    at = 0
    while at < len(info):
        form, kind, size = _unpack_from("<BBH", info, at)
        at += 4
        if form == _SIZED:
            if at + size > len(info):
                raise BadCubin("an attribute is cut off")
            yield kind, info[at : at + size]
            at += size


def _unpack_from(form: str, data: bytes, at: int) -> tuple:
    if at < 0 or at + struct.calcsize(form) > len(data):
        raise BadCubin("it is cut off")
    return struct.unpack_from(form, data, at)


def _part(data: bytes, section: _Section) -> bytes:
    if section.kind == _NOTHING or section.offset + section.size > len(data):
        raise BadCubin("a section lies outside it")
    return data[section.offset : section.offset + section.size]


def _name(table: bytes, at: int) -> str:
    end = table.find(b"\0", at)
    if at >= len(table) or end < 0:
        raise BadCubin("a name lies outside its table")
    return table[at:end].decode("latin-1")


def _sections(data: bytes) -> list[_Section]:
    if data[:6] != b"\x7fELF\x02\x01" or _unpack_from("<H", data, 18)[0] != _MACHINE:
        raise BadCubin("it is not an ELF file for NVIDIA's GPUs")
    (at,) = _unpack_from("<Q", data, 40)
    entry_size, count, names = _unpack_from("<HHH", data, 58)
    if entry_size != 64 or not 0 < count < 0xFF00 or names >= count:
        raise BadCubin("its table of sections is not valid")
    raw = [_unpack_from("<IIQQQQIIQQ", data, at + 64 * i) for i in range(count)]
    parts = [_Section("", r[1], r[2], r[4], r[5], r[6]) for r in raw]
    table = _part(data, parts[names])
    return [_Section(_name(table, r[0]) if r[0] else "", *r[1:3], *r[4:7]) for r in raw]


def _section_symbols(data: bytes, table: _Section, sections: list[_Section]) -> list[tuple]:
    """(name, type, other, section, size) of each symbol."""
    if table.link >= len(sections):
        raise BadCubin("its symbols have no names")
    names, body = _part(data, sections[table.link]), _part(data, table)
    found = []
    for at in range(0, len(body) - 23, 24):
        name, info, other, section, _, size = struct.unpack_from("<IBBHQQ", body, at)
        found.append((_name(names, name) if name else "", info & 15, other, section, size))
    return found
