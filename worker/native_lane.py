"""native_lane.py: compiles a recorded text, in a process without data.

A library gets a function more for each function that the trace calls, generated into
the candidate's own translation unit:

    void monkeys_call_NAME(const uint64_t *words)

It hands each word on as what the parameter is: an address, an integer, a bool, or the
bits of a double. The compiler knows the parameters' types and converts or complains.
A cubin gets static assertions in their place, which hold the recorded types of its
kernels against the real ones. Answers are a line of JSON and the object's bytes.

What is refused, because it would bring finished code in: files outside the folders of
headers, whether by an include or by the assembler.
"""
from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import native
from native import BuildError, Toolchain, ToolchainError

_HEADERS = "headers.d"
# GNU as reads other files with the first two; the others could spell such a word. A
# compiler writes none of them.
_FILE_DIRECTIVES = re.compile(r"\.(?:incbin|include|macro|irpc?|altmacro)\b", re.IGNORECASE)

_C_HELPERS = """
static double monkeys_real(unsigned long long monkeys_word)
{
    double monkeys_value;

    __builtin_memcpy(&monkeys_value, &monkeys_word, sizeof(monkeys_value));
    return monkeys_value;
}
"""
_C_WORDS = {
    "p": "(void *)monkeys_words[{}]",
    "i": "(long long)monkeys_words[{}]",
    "b": "monkeys_words[{}] != 0",
    "d": "monkeys_real(monkeys_words[{}])",
}
_CXX_WORDS = _C_WORDS | {"p": "monkeys_pointer{{monkeys_words[{}]}}"}
# An error of CUDA has no way back to Python: it is said on the way out.
_CUDA_HELPERS = (
    """
#include <cstdio>
#include <cstdlib>
#include <type_traits>
struct monkeys_pointer {
    unsigned long long word;
    template <class T> operator T *() const { return (T *)word; }
};
template <class F> static long monkeys_status(F f)
{
    if constexpr (std::is_integral_v<decltype(f())> || std::is_enum_v<decltype(f())>)
        return (long)f();
    else
        f();
    return 0;
}
static void monkeys_check(const char *name, long code)
{
    const cudaError_t error = code ? (cudaError_t)code : cudaGetLastError();

    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "%s: %s: %s\\n", name, cudaGetErrorName(error),
                 cudaGetErrorString(error));
    std::abort();
}
"""
    + _C_HELPERS
)
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


def library(request: dict, toolchain: Toolchain) -> bytes:
    """A shared object: {"texts": [source], "launches": [{"name", "args"}, …]}, where
    `args` has a letter of `p`, `i`, `b`, `d` for each argument."""
    [source] = request["texts"]
    cxx = toolchain.language.cxx
    stubs = [(_CUDA_HELPERS if cxx else _C_HELPERS)]
    for launch in request["launches"]:
        stubs.append(_stub(launch["name"], launch["args"], cxx))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        said = _compile(work, source, "calls", stubs, toolchain, "kernel.so")
        _check_symbols(said)
        _check_assembler(work)
        return _answer({}, (work / "kernel.so").read_bytes())


def _stub(name: str, args: str, cxx: bool) -> str:
    words = _CXX_WORDS if cxx else _C_WORDS
    call = f"{name}({', '.join(words[kind].format(i) for i, kind in enumerate(args))})"
    if cxx:
        call = f'monkeys_check("{name}", monkeys_status([=] {{ return {call}; }}))'
    linkage = 'extern "C" ' if cxx else ""
    head = f"{linkage}void monkeys_call_{name}(const unsigned long long *monkeys_words)"
    return f"{head}\n{{\n    (void)monkeys_words;\n    (void){call};\n}}\n"


def cubin(request: dict, toolchain: Toolchain) -> bytes:
    """{"texts": [source], "launches": [{"name", "params"}, …]}, `params` with a letter of
    `P`, `?`, `bBhHiIqQ`, `f`, `d` for each parameter. The answer also has the names that
    the kernels have in the cubin."""
    [source] = request["texts"]
    names = [launch["name"] for launch in request["launches"]]
    checks = [_SIGNATURE_HELPERS]
    for launch in request["launches"]:
        name, params = launch["name"], launch["params"]
        checks.append(f'static_assert(monkeys_takes({name}, "{params}"), "{name}: signature");\n')
    # A kernel that nothing uses may be left out.
    used = ", ".join(f"(void *){name}" for name in names)
    checks.append(f"__attribute__((used)) static void *monkeys_used[] = {{{used}}};\n")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        said = _compile(work, source, "signatures", checks, toolchain, "kernel.cubin")
        entries = _entries(said, names)
        return _answer({"entries": entries}, (work / "kernel.cubin").read_bytes())


def _entries(said: str, names: list[str]) -> dict[str, str]:
    """What each kernel is called in the cubin, by its name in the source."""
    compiled = re.findall(r"Compiling entry function '(\w+)'", said)
    entries = {}
    for name in names:
        found = [entry for entry in compiled if plain_name(entry) == name]
        if len(found) != 1:
            count = "no kernel is" if not found else f"{len(found)} kernels are"
            raise BuildError(
                f"{count} called {name} once compiled ({', '.join(compiled)}); a kernel that is "
                "launched is no template and has a name of its own"
            )
        entries[name] = found[0]
    return entries


def plain_name(symbol: str) -> str:
    """Of a function that is no template: `_ZN1a4reluEPf` is `relu`. The rest is as it
    is."""
    match = re.match(r"_Z(?:N|L)?(?=\d)", symbol)
    name, at = symbol, match.end() if match else len(symbol)
    while digits := re.compile(r"\d+").match(symbol, at):
        end = digits.end() + int(digits.group())
        name, at = symbol[digits.end() : end], end
    return symbol if symbol[at : at + 1] == "I" else name


def _compile(
    work: Path, source: str, title: str, more: list[str], toolchain: Toolchain, output: str
) -> str:
    text = f'{source}\n#line 1 "{title}"\n{"".join(more)}'
    extra = ["-MD", "-MF", _HEADERS, "-o", output, *toolchain.output_flags]
    try:
        said = native.compile_in(work, text, toolchain, extra)
    except BuildError:
        # What a foreign file made of the source is not the reason, and shows its lines.
        native.compile_in(work, text, toolchain, ["-M", "-MF", _HEADERS])
        _check_headers(work, toolchain)
        raise
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


def _check_symbols(said: str) -> None:
    """The driver's functions are found when the library is loaded; others must be there."""
    for name in re.findall(r"undefined reference to `([^']+)'", said):
        if not re.fullmatch(r"cu[A-Z]\w+", name):
            raise BuildError(f"undefined reference to `{name}': no library but the CUDA runtime "
                             "is linked; write it in the source")


def _check_assembler(work: Path) -> None:
    written = list(work.glob("*.s"))
    if not written:
        raise ToolchainError("the compiler left no assembler text to look at")
    for path in written:
        if match := _FILE_DIRECTIVES.search(path.read_text(errors="replace")):
            raise BuildError(
                f"the assembler directive {match.group()} is not allowed; a kernel brings no "
                "other files along"
            )


def _answer(head: dict, data: bytes) -> bytes:
    return json.dumps(head).encode() + b"\n" + data
