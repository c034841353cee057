"""native.py: what recording and building of C-like kernels share: how one kind of
source is compiled, and what a compiler has to say.

A pack whose kernels are text describes its compiler as a `Toolchain`. The recorder
reads the preprocessed text (native_record.py), a lane compiles it (native_lane.py,
hosted_lane.py).
"""
from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from shared import native_source
from shared.processes import used_s

MAX_SOURCE_BYTES = 1 << 20
SLOWEST = 8  # times as long as it may compute, where others keep the processors busy

REAL = """
static double monkeys_real(unsigned long long monkeys_word)
{
    double monkeys_value;

    __builtin_memcpy(&monkeys_value, &monkeys_word, sizeof(monkeys_value));
    return monkeys_value;
}
"""
# Memory of the heap arrives as zeros, not as what an earlier call has left there: of libc's functions
# only calloc and free are used. Each block knows where it begins, and its size.
HEAP = """
static void *monkeys_block(unsigned long monkeys_to, unsigned long monkeys_size)
{
    extern void *__real_calloc(unsigned long, unsigned long);
    unsigned long monkeys_room = monkeys_size + monkeys_to + 16;
    char *monkeys_base = monkeys_room > monkeys_size ? __real_calloc(1, monkeys_room) : 0;
    char *monkeys_at = monkeys_base + 15 + monkeys_to;

    if (!monkeys_base)
        return 0;
    monkeys_at -= (unsigned long)monkeys_at % monkeys_to;
    ((void **)monkeys_at)[-1] = monkeys_base;
    ((unsigned long *)monkeys_at)[-2] = monkeys_size;
    return monkeys_at;
}
#define MONKEYS_OWN __attribute__((visibility("hidden")))
MONKEYS_OWN void *__wrap_malloc(unsigned long monkeys_size)
{
    return monkeys_block(16, monkeys_size);
}
MONKEYS_OWN void *__wrap_calloc(unsigned long monkeys_count, unsigned long monkeys_size)
{
    unsigned long monkeys_all;

    if (__builtin_mul_overflow(monkeys_count, monkeys_size, &monkeys_all))
        return 0;
    return monkeys_block(16, monkeys_all);
}
MONKEYS_OWN void *__wrap_aligned_alloc(unsigned long monkeys_to, unsigned long monkeys_size)
{
    return monkeys_block(monkeys_to > 16 ? monkeys_to : 16, monkeys_size);
}
MONKEYS_OWN void __wrap_free(void *monkeys_at)
{
    extern void __real_free(void *);

    if (monkeys_at)
        __real_free(((void **)monkeys_at)[-1]);
}
MONKEYS_OWN void *__wrap_realloc(void *monkeys_at, unsigned long monkeys_size)
{
    void *monkeys_new = monkeys_block(16, monkeys_size);
    unsigned long monkeys_had = monkeys_at ? ((unsigned long *)monkeys_at)[-2] : 0;

    if (monkeys_new && monkeys_had)
        __builtin_memcpy(monkeys_new, monkeys_at, monkeys_had < monkeys_size ? monkeys_had : monkeys_size);
    if (monkeys_new)
        __wrap_free(monkeys_at);
    return monkeys_new;
}
"""
# No start files: what they bring runs when a library is loaded, and keeps memory.
LIBRARY_FLAGS = (
    "-nostartfiles -Wl,-z,relro -Wl,-z,now -Wl,--hash-style=sysv -Wl,--wrap=malloc -Wl,--wrap=calloc "
    "-Wl,--wrap=realloc -Wl,--wrap=aligned_alloc -Wl,--wrap=free"
)
WORDS = {
    "p": "(void *)monkeys_words[{}]",
    "i": "(long long)monkeys_words[{}]",
    "b": "monkeys_words[{}] != 0",
    "d": "monkeys_real(monkeys_words[{}])",
}


class BuildError(Exception):
    """The source cannot be built or may not be: the candidate's fault."""


class ToolchainError(RuntimeError):
    """The compiler is missing or does what it should not: this machine's fault."""


@dataclass(frozen=True)
class Toolchain:
    """`flags` are those of every compilation. The output needs `output_flags`, a check
    of the syntax alone `syntax_flags`. Headers come from the compiler's own folders and
    from `folders`."""

    compiler: tuple[str, ...]
    flags: tuple[str, ...]
    output_flags: tuple[str, ...]
    timeout_s: float
    syntax_flags: tuple[str, ...] = ("-fsyntax-only",)
    preprocess_flags: tuple[str, ...] = ()
    source_name: str = "kernel.c"
    language: native_source.Language = native_source.C
    folders: tuple[str, ...] = ()


def check_text(source: object) -> str:
    """`source`, if it can be a text at all."""
    if not isinstance(source, str):
        raise TypeError(f"build() takes the source as a str, got {type(source).__name__}")
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise BuildError("the source is not valid Unicode text") from None
    if size > MAX_SOURCE_BYTES:
        raise BuildError(f"the source is longer than {MAX_SOURCE_BYTES} bytes")
    if "\0" in source:
        raise BuildError("the source holds a NUL byte")
    return source


def stubs(launches: list) -> list[str]:
    """What is compiled behind a text to call its functions with words."""
    made = [HEAP, REAL]
    for name, kinds in launches:
        words = ", ".join(WORDS[kind].format(i) for i, kind in enumerate(kinds))
        made.append(f"void monkeys_call_{name}(const unsigned long long *monkeys_words)\n"
                    f"{{\n    (void)monkeys_words;\n    (void){name}({words});\n}}\n")  # fmt: skip
    return made


def called(launches: list[dict]) -> dict[int, dict[str, str]]:
    """Of each text the functions that are called, with a letter for each argument: how a stub takes
    its word."""
    found: dict[int, dict[str, str]] = {}
    for told in launches:
        kinds = "".join(map(_kind, told["args"]))
        if found.setdefault(told["text"], {}).setdefault(told["function"], kinds) != kinds:
            raise ValueError("a function that takes different kinds of arguments")
    return found


def _kind(arg: object) -> str:
    """p, i, b or d."""
    if arg is None or isinstance(arg, dict) and "t" in arg:
        return "p"
    return "b" if isinstance(arg, bool) else "i" if isinstance(arg, int) else "d"


def calls(source: str, functions: list, **more: object) -> dict:
    """What a lane is asked to build of a source that calls these functions, each with its letters,
    for those who try whether it can. A tensor has one float, every number is 1."""
    given = {"i": 1, "b": True, "d": 1.0}
    launches = [
        {"text": 0, "function": name, "tuned": False,
         "args": [given.get(kind) or tensor(i) for i, kind in enumerate(kinds)]}
        for name, kinds in functions
    ]  # fmt: skip
    return {"texts": [source], "launches": launches, **more}


def launches(source: str, kernels: list, **more: object) -> dict:
    """The same for kernels of CUDA."""
    given = {"P": tensor(0), "?": True, "f": 1.0, "d": 1.0}
    launches = [
        {"kernel": i, "grid": [1, 1, 1], "options": {"block": [1, 1, 1], "shared": 0}, "tuned": False,
         "args": {f"p{j}": given.get(code, 1) for j, code in enumerate(params)}}
        for i, (_, params) in enumerate(kernels)
    ]  # fmt: skip
    told = [{"text": 0, "name": name, "params": params} for name, params in kernels]
    return {"texts": [source], "kernels": told, "launches": launches, **more}


def tensor(number: int) -> dict:
    return {"t": [number, "float32", [1], [1], True, number, 0, 4]}


def preprocess(source: str, toolchain: Toolchain) -> str:
    """What the source says itself, once macros and conditions are done with."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        compile_in(work, source, toolchain, [*toolchain.preprocess_flags, "-E", "-o", "raw.i"])
        # Python's own text mode would end lines where C does not.
        raw = (work / "raw.i").read_bytes().decode(errors="replace")
    return native_source.own_text(raw, toolchain.source_name)


def check_syntax(source: str, toolchain: Toolchain) -> None:
    """Raises BuildError with the compiler's words, if it has any."""
    with tempfile.TemporaryDirectory() as folder:
        compile_in(Path(folder), source, toolchain, list(toolchain.syntax_flags))


def compile_in(work: Path, source: str, toolchain: Toolchain, extra: list[str]) -> str:
    """Runs the compiler once; what it says where it succeeds."""
    (work / "tmp").mkdir(exist_ok=True)  # nvcc empties its own
    (work / toolchain.source_name).write_bytes(source.encode())
    os.utime(work / toolchain.source_name, (0, 0))  # __TIMESTAMP__ tells it
    argv = [*toolchain.compiler, *toolchain.flags, toolchain.source_name, *extra]
    status, text = run(argv, work, toolchain.timeout_s)
    if status == -signal.SIGKILL:
        # By the system, which is short of memory, or by a person: it says nothing about the
        # source. This process goes the same way, and the worker knows what to do then.
        os.kill(os.getpid(), signal.SIGKILL)
    if status != 0:
        raise BuildError(_clean(text, toolchain, work) or f"the compiler exited with {status}")
    return text


def run(
    argv: list[str], folder: Path, timeout_s: float, told: bytes | None = None
) -> tuple[int, str]:
    """Runs a compiler in an environment of its own: variables such as CPATH would
    change what is compiled. `told` is its input. The whole process group goes when time
    is up (see _output())."""
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "LC_ALL": "C",
        "SOURCE_DATE_EPOCH": "0",
        "TZ": "UTC",
        "TMPDIR": str(folder / "tmp"),
    }
    try:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL if told is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise ToolchainError(
            f"the compiler {argv[0]!r} is not on PATH; install one, such as Debian's gcc"
        ) from None
    try:
        output = _output(process, told, timeout_s)
    except subprocess.TimeoutExpired:
        raise BuildError(f"the compiler took longer than {timeout_s:g} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return process.returncode, output.decode(errors="replace")


def _output(process: subprocess.Popen, told: bytes | None, timeout_s: float) -> bytes:
    """All that it says. Where others keep the processors busy, its own processor time counts, as
    for all of a candidate's processes (src/worker/child.h). Who does next to nothing does not wait
    for a processor."""
    began, wait_s = time.monotonic(), timeout_s
    while True:
        try:
            return process.communicate(told, timeout=wait_s)[0]
        except subprocess.TimeoutExpired:
            took, (used, runs) = time.monotonic() - began, used_s(process.pid)
            idle = used < took / 50 and not runs
            if idle or used > timeout_s * 0.8 or took > timeout_s * SLOWEST:
                raise
            told, wait_s = None, timeout_s - used  # what it is told is kept


@lru_cache(maxsize=None)
def version(compiler: str) -> str:
    status, text = run([compiler, "--version"], Path("/"), 60)
    if status != 0 or not text.strip():
        raise ToolchainError(f"{compiler} --version failed: {text.strip()}")
    return text.strip()


@lru_cache(maxsize=None)
def header_folders(compiler: str, language: str) -> tuple[str, ...]:
    """Where the compiler finds the headers of the system and its own."""
    argv = [compiler, "-x", language, "-E", "-v", "/dev/null"]
    _, text = run(argv, Path("/"), 60)
    found = re.findall(r"^ (/\S+)$", text, re.MULTILINE)
    if not found:
        raise ToolchainError(f"{compiler} -v names no folder of headers: {text[:200]}")
    return tuple(found)


def _clean(text: str, toolchain: Toolchain, work: Path) -> str:
    """The compiler's words without the names of temporary files and without the
    folders of headers."""
    name = toolchain.source_name
    stem = re.escape(Path(name).stem)
    text = re.sub(r"^ptxas info .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(re.escape(str(work)) + r"/tmp/cc\w+\.[os]\b", name, text)
    text = re.sub(rf"(?:\S*/)?tmpxft_[\w-]*_{stem}(?=\.ptx\b)", stem, text)
    text = re.sub(rf"(?:[^\s`'\"]*/)?tmpxft_[\w-]*_{stem}(?:\.\w+)+", name, text)
    text = re.sub(rf"[\w.]+-{stem}\.[os]\b", name, text)
    for flag in toolchain.flags:
        if flag.startswith("-I"):
            text = text.replace(flag[2:].rstrip("/") + "/", "")
    return text.replace(f"{work}/", "").strip()
