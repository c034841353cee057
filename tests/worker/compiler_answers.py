"""Answers as a hostile compiler would change them, and cubins that are nothing but tables."""

from __future__ import annotations

import json
import random
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))

from judge import launches, runner  # noqa: E402
from judge.executors import make_program  # noqa: E402
from judge.judging import Verdict  # noqa: E402
from judge.region import Layout  # noqa: E402
from judge.traces import BadTrace, Refused, Trace  # noqa: E402
from shared import program  # noqa: E402

VALUES = [None, True, 0, -1, 1 << 31, 1 << 64, 0.5, "", "%d", "\ud800", [], {}, [[]], [0] * 300]


def damaged(data: bytes, chance: random.Random) -> bytes:
    """With some bytes changed, or some value of its header."""
    if chance.random() < 0.3:
        changed = bytearray(data)
        for _ in range(chance.choice((1, 2, 8))):
            changed[chance.randrange(len(data))] = chance.randrange(256)
        return bytes(changed)
    head, _, binaries = data.partition(b"\n")
    whole = json.loads(head)
    for _ in range(chance.choice((1, 1, 2))):
        alter(whole, chance)
    return json.dumps(whole).encode() + b"\n" + binaries


def alter(part: Any, chance: random.Random) -> None:
    """A value becomes another, is doubled or goes."""
    while isinstance(part, (dict, list)) and part:
        key = chance.choice(list(part) if isinstance(part, dict) else range(len(part)))
        inner = part[key]
        if isinstance(inner, (dict, list)) and inner and chance.random() > 0.2:
            part = inner
            continue
        what = chance.random()
        if what < 0.1:
            del part[key]
        elif what < 0.2 and isinstance(part, list):
            part.insert(key, inner)
        elif what < 0.5 and isinstance(inner, int):
            part[key] = inner + chance.choice((-1, 1, 8, -8, 1 << 20, -(1 << 20), 1 << 40))
        else:
            part[key] = chance.choice(VALUES)
        return


def planned(data: bytes, trace: Trace, family: str, apart: int = 1 << 32) -> program.Program:
    """What would be executed; buffer i of each part begins at (i + 1) * apart."""
    found = launches.FAMILIES[family]
    built = launches.Built.parse(data, trace, found)
    places = [[(i + 1) * apart for i in range(len(part.buffers))] for part in trace.parts()]
    made = make_program(trace, found, built, Layout(parts=places, scratch=1 << 50))
    assert runner.encode(made)
    _check_addresses(made, trace, apart, built.scratch())
    return made


def _check_addresses(made: program.Program, trace: Trace, apart: int, scratch: int) -> None:
    """Each lies in a buffer of its part, or in the scratch memory."""
    for index, nodes in enumerate(made.calls):
        part = trace.parts()[index % len(trace.parts())]
        given = [p for n in nodes if isinstance(n, (program.Launch, program.Call)) for p in n.params]
        given += [patch for p in given if isinstance(p, program.Struct) for _, patch in p.patches]
        for p in given:
            if not isinstance(p, (program.Pointer, program.TensorMap)):
                continue
            if p.at >= 1 << 50:
                assert p.at - (1 << 50) <= scratch
                continue
            end = p.at
            if isinstance(p, program.TensorMap):
                steps = (program.MAP_ITEM[p.dtype], *p.strides)
                end += sum((n - 1) * s for n, s in zip(p.shape, steps)) + steps[0]
            assert p.at // apart - 1 < len(part.buffers)
            assert end - p.at // apart * apart <= part.buffers[p.at // apart - 1].bytes


def is_read_or_refused(data: bytes, trace: Trace, family: str, count: int, seed: int = 0) -> None:
    """Whatever is changed, nothing else happens, and no address leads out of its buffer."""
    planned(data, trace, family)
    chance, refused = random.Random(seed), 0
    for _ in range(count):
        try:
            planned(damaged(data, chance), trace, family)
        except (BadTrace, Refused, Verdict):
            refused += 1
    assert count // 4 < refused < count


def refused(data: bytes, trace: Trace, family: str, change: Callable[[dict], object]) -> None:
    """The honest answer is taken, and the changed one is not."""
    planned(data, trace, family)
    head, _, binaries = data.partition(b"\n")
    header = json.loads(head)
    change(header)
    try:
        planned(json.dumps(header).encode() + b"\n" + binaries, trace, family)
    except (BadTrace, Refused):
        return
    except Verdict as end:
        assert end.verdict == "launch_error"
        return
    raise AssertionError("a forged answer was taken")


# ---- cubins ----------------------------------------------------------------------


def cubin(kernels: dict[str, tuple[int, ...]] | None = None, sections: tuple = ()) -> bytes:
    """Of these kernels, each with the sizes of its parameters. Sections are (name, type, flags,
    contents or size)."""
    entries = {"k": ()} if kernels is None else kernels
    every = [("", 0, 0, b""), (".names", 3, 0, b""), (".symtab", 2, 0, b"")]
    every += [(f".text.{e}", 1, 6, b"\0" * 16) for e in entries]
    every += [(f".nv.info.{e}", 0x70000000, 0, b"".join(
        struct.pack("<BBHIHHI", 4, 0x17, 12, 0, i, 0, size << 18) for i, size in enumerate(sizes)))
        for e, sizes in entries.items()]  # fmt: skip
    every += [(n, t, f, b"\0" * s if isinstance(s, int) else s) for n, t, f, s in sections]
    names = b"\0" + b"".join(n.encode() + b"\0" for n, *_ in every) + "".join(
        e + "\0" for e in entries).encode()  # fmt: skip
    symbols = b"\0" * 24 + b"".join(
        struct.pack("<IBBHQQ", names.rindex(b"\0" + e.encode() + b"\0") + 1, 0x12, 0x10, 3 + i, 0, 16)
        for i, e in enumerate(entries))  # fmt: skip
    contents = [names if n == ".names" else symbols if n == ".symtab" else c for n, _, _, c in every]
    at, places = 64, []
    for part in contents:
        places.append(at)
        at += len(part)
    head = b"\x7fELF\x02\x01\x01" + b"\0" * 9 + struct.pack(
        "<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, at, 0, 64, 56, 0, 64, len(every), 1)  # fmt: skip
    table = b"".join(
        struct.pack("<IIQQQQIIQQ", names.index(n.encode() + b"\0") if n else 0, t, f, 0, p, len(c), 1, 0,
                    1, 0) for (n, t, f, _), p, c in zip(every, places, contents))  # fmt: skip
    return head + b"".join(contents) + table


def answer(nodes: list[list[dict]], *binaries: bytes, functions: list | None = None) -> bytes:
    """One answer for each list of nodes. Functions are (module, name), by default k of the first."""
    kind = ["cubin" if data[18:20] == b"\xbe\0" else "library" for data in binaries]
    head = {
        "modules": [{"kind": k, "bytes": len(data)} for k, data in zip(kind, binaries)],
        "functions": [{"module": m, "name": n} for m, n in functions or [(0, "k")]],
        "launches": [{"nodes": found} for found in nodes],
    }
    return json.dumps(head).encode() + b"\n" + b"".join(binaries)


def node(params: list, **more: object) -> dict:
    return {"function": 0, "grid": [1, 1, 1], "block": [32, 1, 1], "cluster": [1, 1, 1], "shared": 0,
            "cooperative": False, "pdl": False, "scratch": 0, "params": params, **more}  # fmt: skip
