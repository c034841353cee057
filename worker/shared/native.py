"""native.py: what recording and building of C-like kernels share: how one kind of
source is compiled, and what a compiler has to say.

A pack whose kernels are text describes its `Toolchain`: gcc, nvcc. The recorder reads the
preprocessed text (native_record.py), a compiler makes binaries of it (native_compiler.py,
hosted_compiler.py).
"""
from __future__ import annotations

import ctypes
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

# Where a call of a library finds its heap and its stack, and behind them the region
# (src/runner/device_cpu.c): the same in a delivered file, so that no address tells one from the other.
ROOM = 0x280000000000
STACK = ROOM + (16 << 30) - (1 << 16)  # its upper end
REGION = ROOM + (16 << 30)
# Of a word the bits of a double.
REAL = """
static double monkeys_real(unsigned long long word)
{
    double value;

    __builtin_memcpy(&value, &word, sizeof(value));
    return value;
}
"""
# A call has a stack of its own, zeros in the registers, and the rounding that C begins with.
APART = f"""
static void monkeys_apart(void (*body)(const unsigned long long *),
                          const unsigned long long *words)
{{
#ifdef __x86_64__
    unsigned int were, plain = 0x1f80;
    unsigned short had, usual = 0x37f;
    unsigned long stack = {STACK:#x};

    __asm__ volatile("stmxcsr %0\\n\\tfnstcw %1" : "=m"(were), "=m"(had));
    __asm__ volatile("ldmxcsr %0\\n\\tfldcw %1" : : "m"(plain), "m"(usual));
    __asm__ volatile("subq $128, %%rsp\\n\\tpushq %%rbp\\n\\tmovq %%rsp, %%rbx\\n\\tmovq %2, %%rsp\\n\\t"
                     ".irp r,ebp,ecx,edx,esi,r8d,r9d,r10d,r11d,r12d,r13d,r14d,r15d\\n\\t"
                     "xorl %%\\\\r, %%\\\\r\\n\\t.endr\\n\\t.irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\\n\\t"
                     "xorps %%xmm\\\\r, %%xmm\\\\r\\n\\t.endr\\n\\t"
                     "call *%1\\n\\tmovq %%rbx, %%rsp\\n\\tpopq %%rbp\\n\\taddq $128, %%rsp"
                     : "+D"(words), "+a"(body), "+S"(stack)
                     :
                     : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
                       "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
    __asm__ volatile("ldmxcsr %0\\n\\tfldcw %1" : : "m"(were), "m"(had));
#else
    register const unsigned long long *first __asm__("x0") = words;
    register unsigned long stack __asm__("x16") = {STACK:#x};
    register void (*to)(const unsigned long long *) __asm__("x17") = body;
    unsigned long were;

    __asm__ volatile("mrs %0, fpcr\\n\\tmsr fpcr, xzr" : "=r"(were));
    __asm__ volatile("stp x29, x30, [sp, #-16]!\\n\\tmov x19, sp\\n\\tmov sp, %1\\n\\t"
                     ".irp r,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,20,21,22,23,24,25,26,27,28,29\\n\\t"
                     "mov x\\\\r, xzr\\n\\t.endr\\n\\t.irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,"
                     "19,20,21,22,23,24,25,26,27,28,29,30,31\\n\\tmovi v\\\\r\\\\().2d, #0\\n\\t.endr\\n\\t"
                     "blr %2\\n\\tmov sp, x19\\n\\tldp x29, x30, [sp], #16"
                     : "+r"(first), "+r"(stack), "+r"(to)
                     :
                     : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
                       "x14", "x15", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27",
                       "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",
                       "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",
                       "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
    __asm__ volatile("msr fpcr, %0" : : "r"(were));
#endif
}}
"""
# An allocator that behaves the same wherever it is: it has its state and its blocks in the room, whose
# memory is zeros when a call of forward begins. A freed block waits for the next of its order. What
# nobody wrote is NaN, as in tensors: a kernel that reads it is wrong.
HEAP = f"""
struct monkeys_head {{
    char *base;
    unsigned long order, size, live;
}};
struct monkeys_heap {{
    char *end, *freed[63];
}};
static void *monkeys_block(unsigned long to, unsigned long size, int byte)
{{
    struct monkeys_heap *heap = (struct monkeys_heap *){ROOM:#x}ul;
    unsigned long order = 7;
    struct monkeys_head *head;
    char *base, *at;
    int again;

    to = to > 64 ? to : 64;
    if (size >> 40 || to >> 40)
        return 0;
    while (1ul << order < size + to + sizeof(*head))
        order++;
    base = heap->freed[order];
    again = base != 0;
    if (again) {{
        heap->freed[order] = *(char **)base;
    }} else {{
        base = heap->end;
        if (!base)
            base = (char *)(heap + 1);
        if (1ul << order > {STACK - (16 << 20):#x}ul - (unsigned long)base)
            return 0;
        heap->end = base + (1ul << order);
    }}
    at = base + sizeof(*head) + to - 1;
    at -= (unsigned long)at % to;
    head = (struct monkeys_head *)at - 1;
    if (again || byte)
        __builtin_memset(at, byte, size);
    *head = (struct monkeys_head){{base, order, size, 0x6d6f6e6b657973}};
    return at;
}}
MONKEYS_OWN void *__wrap_malloc(unsigned long size)
{{
    return monkeys_block(0, size, 0xff);
}}
MONKEYS_OWN void *__wrap_calloc(unsigned long count, unsigned long size)
{{
    unsigned long all;

    if (__builtin_mul_overflow(count, size, &all))
        return 0;
    return monkeys_block(0, all, 0);
}}
MONKEYS_OWN void *__wrap_aligned_alloc(unsigned long to, unsigned long size)
{{
    return monkeys_block(to, size, 0xff);
}}
MONKEYS_OWN void __wrap_free(void *at)
{{
    struct monkeys_heap *heap = (struct monkeys_heap *){ROOM:#x}ul;
    struct monkeys_head *head = (struct monkeys_head *)at - 1;
    char **base;

    if (!at)
        return;
    if (head->live != 0x6d6f6e6b657973)
        __builtin_abort();
    head->live = 0;
    base = (char **)head->base;
    *base = heap->freed[head->order];
    heap->freed[head->order] = (char *)base;
}}
MONKEYS_OWN void *__wrap_realloc(void *at, unsigned long size)
{{
    void *new = monkeys_block(0, size, 0xff);
    unsigned long had = at ? ((struct monkeys_head *)at - 1)->size : 0;

    if (new && had)
        __builtin_memcpy(new, at, had < size ? had : size);
    if (new)
        __wrap_free(at);
    return new;
}}
"""
# What a kernel calls in the place of the machine's functions: what a compiler calls by itself, and more.
MEMORY, _, _MORE = Path(__file__).with_name("c_functions.c").read_text().partition("/* The rest")
MORE = HEAP + _MORE.partition("\n")[2]
# No start files: what they bring runs when a library is loaded, and keeps memory. Its own functions
# are its own, whatever a process has under their names.
LIBRARY_FLAGS = (
    "-shared -nostartfiles -Wl,-z,defs -Wl,-z,now -Wl,-z,relro -Wl,-Bsymbolic -Wl,--hash-style=sysv "
    "-Wl,--as-needed -lm"
)
_WRAPPED = re.compile(r"__wrap_(\w+)\([^;]*\n\{")
OWN_FLAGS = [f"-Wl,--wrap={name}" for name in _WRAPPED.findall(MEMORY + MORE)]
WORDS = {
    "p": "(void *)monkeys_words[{}]",
    "i": "(long long)monkeys_words[{}]",
    "b": "monkeys_words[{}] != 0",
    "d": "monkeys_real(monkeys_words[{}])",
}


def map_room() -> None:
    """The heap and the stack of calls, for who makes them in this process and for as long as it lives."""
    mmap = ctypes.CDLL(None).mmap
    mmap.restype, mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 4]
    if mmap(ROOM, REGION - ROOM, 3, 0x104022, -1, 0) != ROOM:  # private, anonymous, here alone
        raise ToolchainError(f"there is no memory at {ROOM:#x}")


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
    timeout_s: float
    output_flags: tuple[str, ...] = ()
    syntax_flags: tuple[str, ...] = ("-fsyntax-only",)
    preprocess_flags: tuple[str, ...] = ()
    source_name: str = "kernel.c"
    language: native_source.Language = native_source.C
    folders: tuple[str, ...] = ()


def check_source(source: object) -> str:
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


def stubs(text: str, launches: list) -> list[str]:
    """What is compiled behind a text to call its functions with words."""
    more = MORE if any(name in text for name in _WRAPPED.findall(MORE)) else ""
    made = [MEMORY, more, REAL, APART]
    for name, kinds in launches:
        words = ", ".join(WORDS[kind].format(i) for i, kind in enumerate(kinds))
        made.append(f"static void monkeys_body_{name}(const unsigned long long *monkeys_words)\n"
                    f"{{\n    (void)monkeys_words;\n    (void){name}({words});\n}}\n"
                    f"void monkeys_call_{name}(const unsigned long long *monkeys_words)\n"
                    f"{{\n    monkeys_apart(monkeys_body_{name}, monkeys_words);\n}}\n")  # fmt: skip
    return made


def called(launches: list[dict]) -> dict[int, dict[str, str]]:
    """Of each text the functions that are called, with a letter for each argument: how a stub takes
    its word."""
    found: dict[int, dict[str, str]] = {}
    for launch in launches:
        kinds = "".join(map(_letter, launch["args"]))
        if found.setdefault(launch["text"], {}).setdefault(launch["function"], kinds) != kinds:
            raise ValueError("a function that takes different kinds of arguments")
    return found


def _letter(arg: object) -> str:
    """p, i, b or d."""
    if arg is None or isinstance(arg, dict) and "t" in arg:
        return "p"
    return "b" if isinstance(arg, bool) else "i" if isinstance(arg, int) else "d"


def calls(source: str, functions: list, **more: object) -> dict:
    """What is asked of the compiler for a source that calls these functions, each with its letters,
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
    specs = [{"text": 0, "name": name, "params": params} for name, params in kernels]
    return {"texts": [source], "kernels": specs, "launches": launches, **more}


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
    status, text = run(command_line(toolchain, extra), work, toolchain.timeout_s)
    if status == -signal.SIGKILL:
        # By the system, which is short of memory, or by a person: it says nothing about the
        # source. This process goes the same way, and the worker knows what to do then.
        os.kill(os.getpid(), signal.SIGKILL)
    if status != 0:
        raise BuildError(_clean(text, toolchain, work) or f"the compiler exited with {status}")
    return text


def command_line(toolchain: Toolchain, extra: list[str]) -> list[str]:
    return [*toolchain.compiler, *toolchain.flags, toolchain.source_name, *extra]


def run(
    argv: list[str], folder: Path, timeout_s: float, given: bytes | None = None
) -> tuple[int, str]:
    """Runs a compiler in an environment of its own: variables such as CPATH would
    change what is compiled. `given` is its input. The whole process group goes when time
    is up (see _output())."""
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "CCACHE_DISABLE": "1",  # it may be there under the compiler's name, and has no home here
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
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise ToolchainError(
            f"the compiler {argv[0]!r} is not on PATH; install one, such as Debian's gcc"
        ) from None
    try:
        output = _output(process, given, timeout_s)
    except subprocess.TimeoutExpired:
        raise BuildError(f"the compiler took longer than {timeout_s:g} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return process.returncode, output.decode(errors="replace")


def _output(process: subprocess.Popen, given: bytes | None, timeout_s: float) -> bytes:
    """All that it says. Where others keep the processors busy, its own processor time counts, as
    for all of a candidate's processes (src/worker/child.h). Who does next to nothing does not wait
    for a processor."""
    began, wait_s = time.monotonic(), timeout_s
    while True:
        try:
            return process.communicate(given, timeout=wait_s)[0]
        except subprocess.TimeoutExpired:
            took, (used, runs) = time.monotonic() - began, used_s(process.pid)
            idle = used < took / 50 and not runs
            if idle or used > timeout_s * 0.8 or took > timeout_s * SLOWEST:
                raise
            given, wait_s = None, timeout_s - used  # what it was given is kept


@lru_cache(maxsize=None)
def compiler_version(compiler: str) -> str:
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
