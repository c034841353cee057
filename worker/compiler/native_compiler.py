"""native_compiler.py: compiles a recorded text, in a process without data.

A library gets a function more for each function that the trace calls, generated into
the candidate's own translation unit:

    void monkeys_call_NAME(const uint64_t *words)

It hands each word on as what the parameter is: an address, an integer, a bool, or the
bits of a double. The compiler knows the parameters' types and converts or complains.
A cubin gets static assertions in their place, which hold the recorded types of its
kernels against the real ones.

A library is not compiled from the text itself but from what a preprocessor leaves of it
(shared/plain_c.py). The answer has that text, and the options: who delivers the library
delivers them.

What is refused, because it would bring finished code in: files outside the folders of
headers. What a library may be made of, the judge checks (judge/shared_object.py).
"""
from __future__ import annotations

import hashlib
import platform
import re
import struct
import tempfile
from dataclasses import replace
from pathlib import Path

from compiler import NULL, Answer, Malformed, answer_of, as_number, node, value
from shared import kernel_assembly, native, plain_c
from shared.native import BuildError, Toolchain, ToolchainError

CODES = frozenset("P?bBhHiIqQfd")  # of a parameter: an address, or as in Python's struct
_HEADERS = "headers.d"
_RAW_BYTES = 64 << 20  # of a preprocessor's output, headers included
_SIGNATURE_HELPERS = """
#include <type_traits>
template <class A> constexpr char monkeys_code()
{
    constexpr int place = sizeof(A) == 8 ? 3 : sizeof(A) == 4 ? 2 : sizeof(A) == 2 ? 1 : 0;

    if constexpr (std::is_pointer_v<A>)
        return 'P';
    else if constexpr (std::is_same_v<A, bool>)
        return '?';
    else if constexpr (std::is_floating_point_v<A>)
        return "  fd"[place];
    else if constexpr (std::is_integral_v<A>)
        return (std::is_signed_v<A> ? "bhiq" : "BHIQ")[place];
    else
        return ' ';
}
template <class... A> constexpr bool monkeys_takes(void (*)(A...), const char *codes)
{
    bool same = true;

    ((same = same && *codes == monkeys_code<A>(), codes += *codes != 0), ...);
    return same && *codes == 0;
}
"""


def compile_libraries(request: dict, toolchain: Toolchain) -> bytes:
    """A shared object for each text that is called."""
    library = replace(toolchain, output_flags=(*native.OWN_FLAGS, *native.LIBRARY_FLAGS.split()))
    options = native.command_line(library, ["-o", "kernel.so", *library.output_flags])

    def fill(made: Answer) -> None:
        numbers: dict[tuple, int] = {}
        for text, functions in native.called(request["launches"]).items():
            source = _plain_text(request["texts"][text], [*functions], toolchain)
            data = _c_library(source, [*functions.items()], library)
            symbols = (f"monkeys_call_{name}" for name in functions)
            first = made.module("library", data, symbols, text=text, source=source, options=options)
            numbers |= {(text, name): first + i for i, name in enumerate(functions)}
        made.launches = [
            {"nodes": [{"function": numbers[launch["text"], launch["function"]],
                        "params": [_word(arg) for arg in launch["args"]]}]}
            for launch in request["launches"]
        ]  # fmt: skip

    return answer_of(fill)


def _word(arg: object) -> list:
    if arg is None:
        return NULL
    return ["p", arg["t"][0], 0] if isinstance(arg, dict) and "t" in arg else ["n", 8, word(arg)]


def word(arg: object) -> int:
    """An integer, or the bits of a double."""
    held = value(arg)
    if isinstance(held, int):
        return int(held) & (1 << 64) - 1
    return int.from_bytes(struct.pack("<d", held), "little")


def _plain_text(source: str, names: list[str], toolchain: Toolchain) -> str:
    """The text that is compiled. That is preprocessed again, for its headers: what it says itself must
    be the same then, or the words that are checked are not those that are compiled."""
    text = _flattened(source, toolchain)
    try:
        plain_c.check(text)
        plain_c.check(" ".join(names))
        plain_c.check_same(text, _flattened(text, toolchain))
    except plain_c.NotPlain as problem:
        raise BuildError(f"{toolchain.source_name}: {problem}") from None
    return text


def _flattened(source: str, toolchain: Toolchain) -> str:
    with tempfile.TemporaryDirectory() as folder:
        toolchain = replace(toolchain, output_flags=("-E", "-dI"))
        compile_text(Path(folder), plain_c.prepared(source), "calls", [], toolchain, "raw.i")
        raw = Path(folder, "raw.i")
        if raw.stat().st_size > _RAW_BYTES:
            raise BuildError(f"{toolchain.source_name}: with its macros expanded it is too long")
        return plain_c.flat(source, raw.read_bytes().decode(errors="replace"), toolchain.source_name)


def _c_library(text: str, launches: list, toolchain: Toolchain) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        stubs = native.stubs(text, launches)
        compile_text(Path(folder), text, "calls", stubs, toolchain, "kernel.so")
        return Path(folder, "kernel.so").read_bytes()


def compile_cubins(request: dict, toolchain: Toolchain) -> bytes:
    """A cubin for each text with a kernel that is launched. The letters of a kernel's parameters are
    P for an address and those of Python's struct."""

    def fill(made: Answer) -> None:
        numbers: dict[tuple, int] = {}
        launches = [(request["kernels"][launch["kernel"]], launch) for launch in request["launches"]]
        nodes = [_cuda_node(kernel, launch) for kernel, launch in launches]
        for text, kernels in launched(launches).items():
            entries, data = _cuda_cubin(request["texts"][text], [*kernels.items()], toolchain)
            first = made.module("cubin", data, entries)
            numbers |= {(text, name): first + i for i, name in enumerate(kernels)}
        for (kernel, _), found in zip(launches, nodes):
            found["function"] = numbers[kernel["text"], kernel["name"]]
            made.launches.append({"nodes": [found]})

    return answer_of(fill)


def launched(launches: list[tuple[dict, dict]]) -> dict[int, dict[str, object]]:
    """Of each text the kernels that are launched, with what their parameters are."""
    found: dict[int, dict[str, object]] = {}
    for kernel, _ in launches:
        params = found.setdefault(kernel["text"], {}).setdefault(kernel["name"], kernel["params"])
        if params != kernel["params"]:
            raise Malformed("two kernels with one name")
    return found


def _cuda_node(kernel: dict, launch: dict) -> dict:
    codes, args = kernel["params"], list(launch["args"].values())
    if not isinstance(codes, str) or not CODES.issuperset(codes) or len(codes) != len(args):
        raise Malformed("a launch whose arguments are not its parameters")
    block, shared = launch["options"].get("block"), launch["options"].get("shared")
    return node(0, [_cuda_param(*pair) for pair in zip(codes, args)], launch["grid"], block, shared)


def _cuda_param(code: str, arg: object) -> list:
    if code == "P":
        if arg is None:
            return NULL
        if not isinstance(arg, dict) or "t" not in arg:
            raise Malformed("a pointer that is not a tensor")
        return ["p", arg["t"][0], 0]
    held = value(arg)
    if type(held) is not {"?": bool, "f": float, "d": float}.get(code, int):
        raise Malformed("an argument of another type than its parameter")
    try:
        return as_number(struct.pack(f"<{code}", held))
    except (struct.error, OverflowError):
        raise Malformed("an argument that does not fit its parameter") from None


def _cuda_cubin(source: str, launches: list, toolchain: Toolchain) -> tuple[list[str], bytes]:
    names = [name for name, _ in launches]
    checks = [_SIGNATURE_HELPERS]
    for name, params in launches:
        checks.append(f'static_assert(monkeys_takes({name}, "{params}"), "{name}: signature");\n')
    # A kernel that nothing uses may be left out.
    used = ", ".join(f"(void *){name}" for name in names)
    checks.append(f"__attribute__((used)) static void *monkeys_used[] = {{{used}}};\n")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        said = compile_text(work, source, "signatures", checks, toolchain, "kernel.cubin")
        assembly(work)
        return _entries(said, names), (work / "kernel.cubin").read_bytes()


def assembly(work: Path) -> str:
    """The PTX that nvcc kept, checked."""
    text = only(work, "*.ptx").decode(errors="replace")
    try:
        kernel_assembly.check_registers(text)
    except ValueError as problem:
        raise BuildError(str(problem)) from None
    return text


def only(work: Path, pattern: str) -> bytes:
    """What nvcc kept; versions of it have different names for it."""
    found = list(work.glob(pattern))
    if len(found) != 1:
        raise ToolchainError(f"nvcc kept {[p.name for p in found]}, not one {pattern}")
    return found[0].read_bytes()


def _entries(said: str, names: list[str]) -> list[str]:
    """What each kernel is called in the cubin."""
    compiled = re.findall(r"Compiling entry function '([\w$]+)'", said)
    entries = []
    for name in names:
        found = [entry for entry in compiled if unmangled(entry) == name]
        if len(found) != 1:
            count = "no kernel is" if not found else f"{len(found)} kernels are"
            raise BuildError(
                f"{count} called {name} once compiled ({', '.join(compiled)}); a kernel that is "
                "launched is no template and has a name of its own"
            )
        entries.append(found[0])
    return entries


def unmangled(symbol: str) -> str:
    """Of a function that is no template: `_ZN1a4reluEPf` is `relu`. The rest is as it
    is."""
    match = re.match(r"_Z(?:N|L)?(?=\d)", symbol)
    name, at = symbol, match.end() if match else len(symbol)
    while digits := re.compile(r"\d+").match(symbol, at):
        end = digits.end() + int(digits.group())
        name, at = symbol[digits.end() : end], end
    return symbol if symbol[at : at + 1] == "I" else name


def compile_text(
    work: Path, source: str, title: str, more: list[str], toolchain: Toolchain, output: str
) -> str:
    """Compiles the source with `more` behind it; what the compiler says."""
    text = f'{source}\n#line 1 "{title}"\n{"".join(more)}'
    extra = ["-MD", "-MF", _HEADERS, "-o", output, *toolchain.output_flags]
    try:
        said = native.compile_in(work, text, toolchain, extra)
    except BuildError as error:
        # What a foreign file made of the source is not the reason, and shows its lines.
        try:
            native.compile_in(work, text, toolchain, ["-M", "-MF", _HEADERS])
        except BuildError as earlier:
            raise BuildError(str(earlier)) from None
        _check_headers(work, toolchain)
        own = [line for line in str(error).split("\n") if not line.startswith(f"{title}:")]
        raise BuildError("\n".join(own) if "error:" in "".join(own) else str(error)) from None
    _check_headers(work, toolchain)
    return said


def _check_headers(work: Path, toolchain: Toolchain) -> None:
    compiler, language = ("g++", "c++") if toolchain.language.cxx else (toolchain.compiler[0], "c")
    known = [*native.header_folders(compiler, language), *toolchain.folders, str(work)]
    roots = [Path(folder).resolve() for folder in known]
    rule = (work / _HEADERS).read_text(errors="replace").replace("\\\n", " ")
    for name in rule.partition(":")[2].split():
        path = Path(work, name).resolve()
        # The name of a #line directive is no file.
        if path.exists() and not any(path.is_relative_to(root) for root in roots):
            raise BuildError(
                f"#include of {name} is not allowed; headers come from the compiler's own "
                "folders and are named without a path that leaves them"
            )




def native_identity(toolchain: Toolchain) -> str:
    """Of all that an answer depends on besides its request."""
    facts = [native.compiler_version(toolchain.compiler[0]), platform.machine(), repr(toolchain)]
    modules = (__file__, native.__file__, plain_c.__file__, kernel_assembly.__file__)
    own = [Path(module).read_bytes() for module in modules]
    return digest("\0".join([*facts, native.MEMORY, native.MORE]).encode() + b"".join(own))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
