"""native_elf.py: what the loader would do with a shared object, read from the
file: libraries it pulls in, symbols it wants from others, code it would run by
itself. Everything is taken from the program headers and the dynamic section,
which the loader uses, and not from section headers, which it ignores.
"""
from __future__ import annotations

import struct
from dataclasses import dataclass

PT_LOAD, PT_DYNAMIC, PT_GNU_STACK = 1, 2, 0x6474E551
PF_X, PF_W = 1, 2
DT_NEEDED, DT_PLTRELSZ, DT_HASH, DT_STRTAB, DT_SYMTAB = 1, 2, 4, 5, 6
DT_RELA, DT_RELASZ, DT_STRSZ, DT_JMPREL = 7, 8, 10, 23
STT_GNU_IFUNC = 10
# Tags that make the loader call code, and for those of a list the tag of its size.
STARTUP_TAGS = {
    12: ("DT_INIT", None),
    13: ("DT_FINI", None),
    25: ("DT_INIT_ARRAY", 27),
    26: ("DT_FINI_ARRAY", 28),
    32: ("DT_PREINIT_ARRAY", 33),
}
# Relocations that only fill in addresses, by machine. The one that runs code
# (IRELATIVE) and those of thread-local storage are left out.
PLAIN_RELOCATIONS = {
    62: frozenset([1, 6, 7, 8]),  # x86-64: 64, GLOB_DAT, JUMP_SLOT, RELATIVE
    183: frozenset([257, 1025, 1026, 1027]),  # AArch64: the same four
}


class ElfError(ValueError):
    """The file is not a shared object of a known machine."""


@dataclass(frozen=True)
class SharedObject:
    needed: tuple[str, ...]
    undefined: tuple[str, ...]
    ifuncs: tuple[str, ...]  # symbols whose address is what a function returns
    startup: tuple[str, ...]  # the tag of each function that the loader would call
    odd_relocations: tuple[int, ...]
    writable_code: bool  # a segment or the stack that is writable and executable


@dataclass(frozen=True)
class _Segment:
    kind: int
    flags: int
    offset: int
    address: int
    file_size: int


@dataclass(frozen=True)
class _Symbol:
    name: str
    kind: int
    section: int


def read_shared_object(data: bytes) -> SharedObject:
    try:
        return _read(data)
    except ElfError:
        raise
    except (struct.error, LookupError, ValueError) as error:
        raise ElfError(f"damaged shared object: {error}") from error


def _read(data: bytes) -> SharedObject:
    if data[:7] != b"\x7fELF\x02\x01\x01":
        raise ElfError("not a 64-bit little-endian ELF file")
    kind, machine = struct.unpack_from("<HH", data, 16)
    if kind != 3 or machine not in PLAIN_RELOCATIONS:
        raise ElfError(f"ELF type {kind} for machine {machine} is not known here")
    segments = _segments(data)
    dynamic = _dynamic(data, segments)
    tags = dict(dynamic)
    strings = _bytes_at(data, segments, tags[DT_STRTAB], tags[DT_STRSZ])
    symbols = _symbols(data, segments, tags, strings)
    relocations = _relocations(data, segments, tags)
    return SharedObject(
        needed=tuple(_string(strings, value) for tag, value in dynamic if tag == DT_NEEDED),
        undefined=tuple(sorted(s.name for s in symbols if s.section == 0)),
        ifuncs=tuple(sorted(s.name for s in symbols if s.kind == STT_GNU_IFUNC)),
        startup=tuple(_startup(tags)),
        odd_relocations=tuple(sorted(relocations - PLAIN_RELOCATIONS[machine])),
        writable_code=any(_writable_code(s) for s in segments),
    )


def _startup(tags: dict[int, int]) -> list[str]:
    found = []
    for tag, (name, size) in STARTUP_TAGS.items():
        if tag in tags:
            found += [name] * max(1, tags.get(size, 0) // 8)
    return found


def _segments(data: bytes) -> list[_Segment]:
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = []
    for i in range(count):
        kind, flags, offset, address, _, file_size = struct.unpack_from(
            "<IIQQQQ", data, start + i * size
        )
        segments.append(_Segment(kind, flags, offset, address, file_size))
    return segments


def _writable_code(segment: _Segment) -> bool:
    both = segment.flags & (PF_X | PF_W) == PF_X | PF_W
    return both and segment.kind in (PT_LOAD, PT_GNU_STACK)


def _dynamic(data: bytes, segments: list[_Segment]) -> list[tuple[int, int]]:
    entries = []
    for segment in segments:
        if segment.kind != PT_DYNAMIC:
            continue
        for at in range(segment.offset, segment.offset + segment.file_size, 16):
            tag, value = struct.unpack_from("<qQ", data, at)
            if tag == 0:
                break
            entries.append((tag, value))
    if DT_HASH not in dict(entries):
        raise ElfError("no DT_HASH: link with --hash-style=sysv or both")
    return entries


def _bytes_at(data: bytes, segments: list[_Segment], address: int, size: int) -> bytes:
    for s in segments:
        if s.kind == PT_LOAD and s.address <= address <= s.address + s.file_size - size:
            start = s.offset + address - s.address
            return data[start : start + size]
    raise ElfError(f"address {address:#x} is in no segment")


def _string(strings: bytes, at: int) -> str:
    return strings[at : strings.index(b"\0", at)].decode()


def _symbols(
    data: bytes, segments: list[_Segment], tags: dict[int, int], strings: bytes
) -> list[_Symbol]:
    _, count = struct.unpack("<II", _bytes_at(data, segments, tags[DT_HASH], 8))
    table = _bytes_at(data, segments, tags[DT_SYMTAB], 24 * count)
    symbols = []
    for name, info, _, section, _, _ in list(struct.iter_unpack("<IBBHQQ", table))[1:]:
        symbols.append(_Symbol(_string(strings, name), info & 15, section))
    return symbols


def _relocations(data: bytes, segments: list[_Segment], tags: dict[int, int]) -> set[int]:
    kinds: set[int] = set()
    for start, size in ((DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)):
        if start in tags:
            table = _bytes_at(data, segments, tags[start], tags[size])
            kinds |= {info & 0xFFFFFFFF for _, info, _ in struct.iter_unpack("<QQq", table)}
    return kinds
