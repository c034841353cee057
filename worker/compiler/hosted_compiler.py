"""hosted_compiler.py: what a candidate's host functions launch, found out without data.

A host function builds the parameters of kernels and launches them. It runs here, in a
program of its own that is linked with a CUDA runtime of ours (cuda_host.c), which writes
launches down instead of running them. Nothing of it is left where the data is: the
answer has cubins and launches.

Arguments that lie in one buffer have addresses that fit together. All parameters of a launch
are answered as bytes, and what is put into them.

A launch is given bytes, and which of them are addresses only the candidate's types know.
So a program runs three times: twice with the same addresses, once with others. A word
that differs between the first two is noise (padding holds what lay on the stack, such as
addresses that the system draws); one that follows the move of a buffer is an address in
it; all others must be equal. Tensor maps begin with a key that is new in every run.
"""
from __future__ import annotations

import re
import secrets
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from compiler import Answer, answer_of, native_compiler, node
from shared import native, native_cuda
from shared.native import BuildError, Toolchain, ToolchainError
from shared.program import MAP_ITEM

RUN_S = 20  # that a program may take for all its calls
LAUNCHES = 1000  # of a call
RUNTIME = Path(__file__).with_name("cuda_host.c")
ANSWER_BYTES = 64 << 20
MAP_BYTES, MAP_ALIGNMENT = 128, 64
# Buffers lie this far apart. As in the executor's region each starts at a multiple of 256
# bytes and at none of 512.
_FIRST, _APART, _ALIGNED = 1 << 44, 1 << 38, 256

_HELPERS = (
    """
#include <exception>
#include <type_traits>
extern "C" void monkeys_end(const char *name, long code);
extern "C" void monkeys_threw(const char *name, const char *what);
struct monkeys_pointer {
    unsigned long long word;
    template <class T> operator T *() const { return (T *)word; }
};
template <class F> static void monkeys_run(const char *name, F f)
{
    long code = 0;

    try {
        if constexpr (std::is_integral_v<decltype(f())> || std::is_enum_v<decltype(f())>)
            code = (long)f();
        else
            f();
    } catch (const std::exception &problem) {
        monkeys_threw(name, problem.what());
    }
    monkeys_end(name, code);
}
"""
    + native.REAL
)
_WORDS = native.WORDS | {"p": "monkeys_pointer{{monkeys_words[{}]}}"}
_TABLE = """
extern "C" {
struct monkeys_function {
    const char *name;
    void (*call)(const unsigned long long *);
};
extern const monkeys_function monkeys_functions[];
const monkeys_function monkeys_functions[] = {%s{nullptr, nullptr}};
}
"""


CANNOT = "A kernel cannot be launched: "
_WIDTHS = ("", "32", "64", "128")  # bytes of a swizzle


class HostError(Exception):
    """A call that cannot be expanded into launches; the text is for whoever wrote it."""

    prefix = CANNOT


class OutsideTensor(HostError):
    """An honest function can also exceed its tensor, so the message says how to fix it."""

    prefix = ""


def expand_launches(request: dict, toolchain: Toolchain) -> bytes:
    """Everything is compiled and read before any of it runs."""

    def fill(made: Answer) -> None:
        calls = [_words_of_call(launch) for launch in request["launches"]]
        built = {
            text: _build_program(request["texts"][text], [[*pair] for pair in functions.items()], toolchain)
            for text, functions in native.called(request["launches"]).items()
        }
        answers: dict[int, dict] = {}
        for text, program in built.items():
            symbols = [kernel.name for kernel in program.kernels]
            first = made.module("cubin", program.cubin, symbols)
            asked = [i for i, call in enumerate(calls) if call["text"] == text]
            answers |= zip(asked, _expand_calls(program, [calls[i] for i in asked], first))
        made.launches = [answers[i] for i in range(len(calls))]

    return answer_of(fill)


def _words_of_call(launch: dict) -> dict:
    """An argument is a word, or a buffer and the bytes from its start. `buffers` has of each the
    first tensor in it, where that begins, and the buffer's size."""
    args: list = []
    buffers: dict[int, tuple[int, int, int]] = {}
    for arg in launch["args"]:
        if isinstance(arg, dict) and "t" in arg:
            number, *_, buffer, at, size = arg["t"]
            buffers.setdefault(buffer, (number, at, size))
            args.append([buffer, at])
        else:
            args.append(0 if arg is None else native_compiler.word(arg))
    return {"text": launch["text"], "function": launch["function"], "args": args, "buffers": buffers}


def hosted_identity(toolchain: Toolchain) -> str:
    """Of all that an answer depends on besides its request."""
    own = native_compiler.digest(Path(__file__).read_bytes() + RUNTIME.read_bytes())
    return f"{native_compiler.native_identity(toolchain)} {own}"


# ---- building --------------------------------------------------------------------


@dataclass(frozen=True)
class _Kernel:
    name: str
    sizes: tuple[int, ...]  # of its parameters, in bytes
    registers: int
    shared: int  # bytes that are not dynamic


@dataclass(frozen=True)
class _Program:
    data: bytes
    cubin: bytes
    kernels: list[_Kernel]


def _build_program(source: str, functions: list, toolchain: Toolchain) -> _Program:
    more = [_HELPERS, *(_host_stub(name, kinds) for name, kinds in functions)]
    rows = "".join(f'{{"{name}", monkeys_call_{name}}}, ' for name, _ in functions)
    more.append(_TABLE % rows)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / native_cuda.RUNTIME_OBJECT).write_bytes(runtime(toolchain.compiler[0]))
        try:
            said = native_compiler.compile_text(work, source, "calls", more, toolchain, "program")
        except BuildError as problem:
            raise BuildError(_missing_explained(str(problem))) from None
        kernels = _kernels(native_compiler.assembly(work), said)
        if not kernels:
            raise BuildError("the source has no kernel (a __global__ function that is launched)")
        return _Program((work / "program").read_bytes(), native_compiler.only(work, "*.cubin"), kernels)


def _host_stub(name: str, kinds: str) -> str:
    words = ", ".join(_WORDS[kind].format(i) for i, kind in enumerate(kinds))
    return (
        f"static void monkeys_call_{name}(const unsigned long long *monkeys_words)\n"
        f'{{\n    monkeys_run("{name}", [=] {{ (void)monkeys_words; return {name}({words}); }});\n}}\n'
    )


def _missing_explained(said: str) -> str:
    """A linker names what is missing once for each use."""
    missing = sorted(set(re.findall(r"undefined reference to `([^']+)'", said)))
    if not missing:
        return said
    names = ", ".join(f"`{name}'" for name in missing[:8])
    return (
        f"undefined reference to {names}: no library is linked, and of CUDA only what makes tensor "
        "maps, asks for the device's properties and launches kernels; write the rest in the source"
    )


@lru_cache(maxsize=None)
def runtime(compiler: str) -> bytes:
    """cuda_host.c as an object: compiled once, for all processes that are forked afterwards."""
    include = native_cuda.toolkit(compiler) / "include"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "tmp").mkdir()
        argv = ["gcc", "-std=gnu11", "-O1", "-w", f"-I{include}", "-c", str(RUNTIME), "-o", "host.o"]
        status, said = native.run(argv, work, 60)
        if status:
            raise ToolchainError(f"{RUNTIME.name} does not compile: {said.strip()[:2000]}")
        return (work / "host.o").read_bytes()


_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?")
_PARAM = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.[busf](\d+)\s+[^,\[]*(?:\[(\d+)\])?")


def _kernels(ptx: str, said: str) -> list[_Kernel]:
    """From the assembler's text and from what ptxas says of each."""
    used: dict[str, tuple[int, int]] = {}
    for part in re.split(r"Compiling entry function '", said)[1:]:
        registers = re.search(r"Used (\d+) registers", part)
        shared = re.search(r"(\d+) bytes smem", part)
        used[part.partition("'")[0]] = (
            int(registers[1]) if registers else 0,
            int(shared[1]) if shared else 0,
        )
    return [
        _Kernel(name, tuple(_param_size(*p) for p in _PARAM.findall(params)), *used.get(name, (0, 0)))
        for name, params in _ENTRY.findall(ptx)
    ]


def _param_size(bits: str, count: str) -> int:
    return int(bits) // 8 * int(count or 1)


# ---- running ---------------------------------------------------------------------


def _expand_calls(program: _Program, calls: list[dict], first: int) -> list[dict]:
    """The launches of each call; the first that fails ends the program, and all others
    share its fate."""
    places = [[_places(i, call, moved) for i, call in enumerate(calls)] for moved in (0, 0, 1)]
    try:
        runs = [_run(program, calls, at) if calls else [] for at in places]
        index = {kernel.name: first + i for i, kernel in enumerate(program.kernels)}
        return [
            {"nodes": _nodes_of_call(call, [run[i] for run in runs], [at[i] for at in places], index)}
            for i, call in enumerate(calls)
        ]
    except HostError as problem:
        said = problem.prefix + str(problem)
    except (ValueError, KeyError, IndexError) as problem:  # it wrote there itself
        said = f"{CANNOT}what the host functions launch cannot be read: {problem}"
    return [{"error": said[:8000]} for _ in calls]


def _places(index: int, call: dict, moved: int) -> dict[int, int]:
    """Where each buffer of a call is said to lie. Each moves by a distance of its own, in
    every call another: an address that a function kept from an earlier call is none here."""
    start = _FIRST + _ALIGNED
    return {b: start + b * _APART + moved * _distance(index << 8 | b) for b in call["buffers"]}


def _distance(number: int) -> int:
    """Less than 2 ** 36 bytes, in steps of 512, spread by a multiplicative hash: the
    difference of two is hardly a third."""
    return ((number + 1) * 0x9E3779B97F4A7C15 % (1 << 64) >> 37 | 1) * 2 * _ALIGNED


def _run(program: _Program, calls: list[dict], places: list[dict]) -> list[_Call]:
    key = secrets.token_bytes(16)
    lines = [f"key {key.hex()}"]
    for k in program.kernels:
        sizes = " ".join(map(str, k.sizes))
        lines.append(f"kernel {k.name} {k.registers} {k.shared} {len(k.sizes)} {sizes}")
    for call, at in zip(calls, places):
        words = [at[a[0]] + a[1] if isinstance(a, list) else a for a in call["args"]]
        numbers = " ".join(f"{word:x}" for word in words)
        lines.append(f"call {call['function']} {len(words)} {numbers}")
    status, answer, said = _start(program.data, "\n".join(lines) + "\n")
    done, _, problem = answer.partition("error\n")
    if problem:
        raise HostError(f"{problem.strip()}\n{said}".strip())
    name = calls[min(done.count("call\n"), len(calls)) - 1]["function"]  # the last that began
    if status < 0:
        why = "" if status != -11 else (
            " Tensors are on the device: host code can pass their addresses on, but not read or "
            "write them."
        )  # fmt: skip
        raise HostError(f"{name}: ended by signal {-status}.{why}\n{said}".strip())
    if not done.endswith("done\n"):
        raise HostError(f"{name}: the host function ended the process\n{said}".strip())
    return _read_run(done, key, calls)


def _start(program: bytes, question: str) -> tuple[int, str, str]:
    """Its exit status, what it wrote down, and what it said."""
    with tempfile.TemporaryDirectory() as folder:
        path, answer = Path(folder, "program"), Path(folder, "answer")
        path.write_bytes(program)
        path.chmod(0o700)
        command = ["/bin/sh", "-c", 'exec "$0" 3>answer', str(path)]
        (Path(folder) / "tmp").mkdir()
        try:
            status, said = native.run(command, Path(folder), RUN_S, question.encode())
        except BuildError:
            raise HostError(f"the host functions took longer than {RUN_S} s") from None
        with answer.open("rb") as file:
            data = file.read(ANSWER_BYTES + 1)
    if len(data) > ANSWER_BYTES:
        raise HostError("the host functions launch too much")
    return status, data.decode("ascii", "replace"), said.strip()[-4000:]


@dataclass(frozen=True)
class _Launch:
    name: str
    numbers: tuple[int, ...]  # grid, block, cluster, shared, cooperative, pdl
    params: list[bytes]


@dataclass(frozen=True)
class _Call:
    """What one run wrote down of a call. A map has its number's place in `maps`, which
    counts through the whole run."""

    launches: list[_Launch]
    maps: list[tuple[int, list[int]]]
    key: bytes


def _read_run(text: str, key: bytes, calls: list[dict]) -> list[_Call]:
    found: list[_Call] = []
    maps: list[tuple[int, list[int]]] = []
    for line in text.splitlines():
        what, *words = line.split(" ")
        if what == "call":
            found.append(_Call([], maps, key))
        elif what == "map" and found:
            maps.append((int(words[0], 16), [int(w) for w in words[1:]]))
        elif what == "launch" and found:
            if len(found[-1].launches) == LAUNCHES:
                name = calls[min(len(found), len(calls)) - 1]["function"]
                raise HostError(f"{name}: a call launches at most {LAUNCHES} kernels")
            numbers = tuple(int(w) for w in words[1:13])
            found[-1].launches.append(
                _Launch(words[0], numbers, [bytes.fromhex(w) for w in words[14:]])
            )
    if len(found) != len(calls):
        raise HostError("a host function ended the process")
    return found


# ---- comparing -------------------------------------------------------------------


def _nodes_of_call(call: dict, runs: list[_Call], places: list[dict], index: dict) -> list[dict]:
    shapes = [[(launch.name, launch.numbers) for launch in run.launches] for run in runs]
    if not shapes[0] == shapes[1] == shapes[2]:
        raise HostError(
            f"{call['function']}: what is launched depends on the addresses of tensors, or differs "
            "each time; it may depend on the function's numbers alone"
        )
    nodes = []
    for n, launch in enumerate(runs[0].launches):
        given = [[run.launches[n].params[i] for run in runs] for i in range(len(launch.params))]
        where = f"{call['function']}: launch of {native_compiler.unmangled(launch.name)}"
        params = [
            _Bytes(f"{where}, parameter {i}", runs, places[0], places[2]).param(*data)
            for i, data in enumerate(given)
        ]
        where = f"{call['function']}: launch {n + 1}, of {launch.name[:200]}"
        for _, _, patches in params:
            for _, patch in patches:
                _place_patch(patch, call["buffers"], where)
        size = launch.numbers
        nodes.append(node(index[launch.name], params, size[:3], size[3:6], size[9], size[6:9],
                          bool(size[10]), bool(size[11])))  # fmt: skip
    return nodes


def _place_patch(patch: list, buffers: dict, where: str) -> None:
    """Counts an address from its tensor instead of its buffer, in which it must lie."""
    kind, buffer, offset, *rest = patch
    number, at, size = buffers[buffer]
    needs = offset
    if kind == "m":
        dtype, shape, strides, *_ = rest
        steps = (MAP_ITEM[dtype], *strides)
        needs += sum((n - 1) * step for n, step in zip(shape, steps)) + MAP_ITEM[dtype]
    if needs > size:
        raise OutsideTensor(f"{where}: {_outside_text(patch, needs, size)}")
    patch[1:3] = [number, offset - at]


def _outside_text(patch: list, needs: int, size: int) -> str:
    if patch[0] == "p":
        return f"an address {needs} bytes behind the start of a tensor that has {size} bytes"
    shape, swizzle = patch[4], patch[7]
    text = (f"the tensor map of shape {shape} (innermost first) needs {needs} bytes, but the tensor "
            f"has {size}. ")  # fmt: skip
    if not swizzle:
        return text + "Give the map the tensor's own shape."
    width = _WIDTHS[swizzle]
    return text + (
        f"TMA moves swizzled tiles in pieces of {width} bytes: pad the tensor's last dimension to a "
        f"multiple of {width} bytes."
    )


class _Bytes:
    """The bytes of a parameter in three runs."""

    def __init__(self, where: str, runs: list[_Call], here: dict, there: dict) -> None:
        self.where, self.runs, self.here = where, runs, here
        self.moves = {there[buffer] - at: buffer for buffer, at in here.items()}

    def param(self, first: bytes, again: bytes, moved: bytes) -> list:
        if not len(first) == len(again) == len(moved):
            raise HostError(f"{self.where}: it has no size of its own")
        data, patches, at = bytearray(first), [], 0
        while at < len(first):
            found = self.map(at, first, again, moved)
            size = MAP_BYTES if found else 8
            if not found and again[at : at + 8] == first[at : at + 8] != moved[at : at + 8]:
                found = self.address(at, first, moved)
            if found:
                data[at : at + size] = bytes(size)
                patches.append([at, found])
            at += size
        return ["s", data.hex(), patches]

    def address(self, at: int, first: bytes, moved: bytes) -> list:
        """A word that is not the same where the buffers are elsewhere."""
        one, two = (int.from_bytes(d[at : at + 8], "little") for d in (first, moved))
        return self.pointer(one, two, f"byte {at}")

    def pointer(self, one: int, two: int, what: str) -> list:
        buffer = self.moves.get(two - one)
        if buffer is None or one < self.here[buffer]:
            raise HostError(
                f"{self.where}: {what} depends on the address of a tensor, but is no address in it; "
                "pass pointers to kernels as they are, or with an offset"
            )
        return ["p", buffer, one - self.here[buffer]]

    def map(self, at: int, *data: bytes) -> list | None:
        """The tensor map at this place, in all runs the same."""
        if at % MAP_ALIGNMENT or at + MAP_BYTES > len(data[0]):
            return None
        number = int.from_bytes(data[0][at + 24 : at + 32], "little")
        places = [(d[at : at + MAP_BYTES], _map_bytes(run.key, number))
                  for d, run in zip(data, self.runs)]  # fmt: skip
        if any(found != made for found, made in places):
            return None
        if not all(0 < number <= len(run.maps) for run in self.runs):
            return None
        (one, described), _, (two, others) = (run.maps[number - 1] for run in self.runs)
        if described != others:
            raise HostError(f"{self.where}: a tensor map depends on the address of its tensor")
        _, buffer, offset = self.pointer(one, two, "a tensor map")
        dtype, rank, *rest = described
        shape, strides = rest[:rank], rest[rank : 2 * rank - 1]
        box, (swizzle, fill) = rest[2 * rank - 1 : 3 * rank - 1], rest[3 * rank - 1 :]
        return ["m", buffer, offset, dtype, shape, strides, box, swizzle, fill]


def _map_bytes(key: bytes, number: int) -> bytes:
    """As write_map in cuda_host.c makes them."""
    end = number.to_bytes(8, "little")
    return b"".join(key + bytes([i]) * 8 + end for i in range(0, MAP_BYTES, 32))
