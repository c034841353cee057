"""The cubin in a fat binary, the container that CUDA's tools wrap code in."""

import struct

_MAGIC = 0xBA55ED50
_CUBIN = 2


def cubins(data: bytes) -> list[bytes]:
    """The uncompressed cubins in it; a bare one is its own. Empty: there is none."""
    if data.startswith(b"\x7fELF"):
        return [data]
    if len(data) < 16 or struct.unpack_from("<I", data)[0] != _MAGIC:
        return []
    _, _, head, size = struct.unpack_from("<IHHQ", data)
    at, end, found = head, min(head + size, len(data)), []
    while at + 16 <= end:
        kind, _, entry, length = struct.unpack_from("<HHIQ", data, at)
        part = data[at + entry : at + entry + length]
        if kind == _CUBIN and part.startswith(b"\x7fELF"):
            found.append(part)
        if entry + length <= 0:
            break
        at += entry + length
    return found


def size(head: bytes) -> int:
    """Of the whole, from its first 16 bytes; 0 if it is no fat binary."""
    magic, _, header, length = struct.unpack_from("<IHHQ", head)
    return header + length if magic == _MAGIC else 0
