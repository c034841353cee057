"""native.py: C or C++ source in, callable functions out.

A pack whose kernels are C-like text describes its compiler as a `Toolchain` and
calls `build`. The result is a shared object that was checked before it is loaded:
it wants no symbol and no library but those the toolchain lists, and runs no code
by itself, but for what the compiler adds to every source. Calls check each argument
against the C parameter it is for, because a wrong pointer would not raise but crash,
or worse, compute. Where calls do not run on the CPU, a `Device` says what differs.

These checks keep honest mistakes apart from kernels and make cheating visible in
the source. They are no sandbox: C can reach any memory of its process.
"""
from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import json
import math
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable

import native_elf
import native_source
from native_source import CType, Function, Parameter

# What sources in C and C++ commonly leave for the C library to define: the functions of
# math.h for float and double, and what compilers add by themselves where a distribution
# has them harden code.
_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 "
    "fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 "
    "log1p log2 logb lrint lround modf nearbyint nextafter pow remainder rint round scalbn sin "
    "sincos sinh sqrt tan tanh tgamma trunc"
).split()
MATH_SYMBOLS = frozenset([*_MATH, *(name + "f" for name in _MATH)])
HARDENING_SYMBOLS = frozenset(
    "__stack_chk_fail __stack_chk_guard __memcpy_chk __memmove_chk __memset_chk".split()
)
LOADER_LIBRARIES = frozenset(
    ["libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"]
)
MAX_SOURCE_BYTES = 1 << 20
OBJECT_NAME = "kernel.so"
PREPROCESSED_NAME = "kernel.i"
ENTRY_NAMES = (OBJECT_NAME, PREPROCESSED_NAME)


class BuildError(Exception):
    """The source cannot be built or may not be: the candidate's fault."""


class ToolchainError(RuntimeError):
    """The compiler is missing or makes what cannot be used: this machine's fault."""


@dataclass(frozen=True)
class Toolchain:
    """How one kind of source is compiled and what it may contain.

    `symbols` are the names that may be left for other `libraries` to define (`name*`
    stands for all that begin so), and `symbols_note` says so in words. `startup` is
    what the compiler itself has the loader call, for any source. `cache_variable`
    names the environment variable that holds the cache folder; `identity` is whatever
    else the result depends on.
    """

    compiler: tuple[str, ...]
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    symbols: frozenset[str]
    symbols_note: str
    headers: frozenset[str]
    libraries: frozenset[str]
    cache_variable: str
    timeout_s: float
    source_name: str = "kernel.c"
    language: native_source.Language = native_source.C
    preprocess_flags: tuple[str, ...] = ()
    startup: tuple[str, ...] = ()
    identity: str = ""


@dataclass(frozen=True)
class Launch:
    """One call of a compiled function, as launch hooks see it."""

    library: str  # the library's key
    function: str


# Called with each launch, after its arguments were accepted and before it runs; it
# does not run where one says False.
launch_hooks: list[Callable[[Launch], bool | None]] = []


class Device:
    """Where a library's tensors lie and what surrounds its calls: here, the CPU."""

    type = "cpu"
    name = "the CPU"
    results = ("void", "int", "uint", "float", "bool")
    results_note = "void or a number"

    def load(self, path: Path) -> ctypes.CDLL:
        return ctypes.CDLL(str(path))

    def stream(self) -> int:
        """The handle of the queue that work goes to."""
        raise ToolchainError("the CPU has no streams")

    def bind(self, library: ctypes.CDLL, name: str, foreign: Callable) -> Callable[..., Any]:
        """What is called with the converted arguments, for the function `name`."""
        return foreign


CPU = Device()


def build(source: str, toolchain: Toolchain, device: Device = CPU) -> Library:
    """Compiles `source`, or finds it compiled before, and loads it. Raises
    BuildError with the compiler's words, or with what the source may not do."""
    return _build(source, toolchain, device, _cache_folder(toolchain))


def try_out(source: str, toolchain: Toolchain, device: Device = CPU) -> None:
    """Builds `source` and forgets it: whatever this machine lacks shows now, and later
    builds find compiler and headers in memory."""
    with tempfile.TemporaryDirectory() as folder:
        _build(source, toolchain, device, Path(folder))


def identity(toolchain: Toolchain) -> str:
    """Of all that a build depends on besides its source."""
    return _key(b"", toolchain)


def compiled(source: str, toolchain: Toolchain, folder: Path) -> dict[str, bytes]:
    """The files of a build by their names, `KEY/FILE`, for `put_compiled` in another
    process. Nothing is loaded."""
    entry = _entry(source, toolchain, folder)
    return {f"{entry.name}/{name}": (entry / name).read_bytes() for name in ENTRY_NAMES}


def put_compiled(files: dict[str, bytes], toolchain: Toolchain) -> None:
    """So that `build` finds them."""
    folder = _cache_folder(toolchain)
    for name, data in files.items():
        key, _, file = name.partition("/")
        if not re.fullmatch("[0-9a-f]{64}", key) or file not in ENTRY_NAMES:
            raise ValueError(f"not a file of a build: {name!r}")
        (folder / key).mkdir(exist_ok=True)
        (folder / key / file).write_bytes(data)


def _build(source: str, toolchain: Toolchain, device: Device, folder: Path) -> Library:
    entry = _entry(source, toolchain, folder)
    own = _text(entry / PREPROCESSED_NAME)
    functions = native_source.functions(own, toolchain.language)
    note = toolchain.language.callable_note
    return Library(entry.name, entry / OBJECT_NAME, functions, device, note)


def _entry(source: str, toolchain: Toolchain, folder: Path) -> Path:
    if not isinstance(source, str):
        raise TypeError(f"build() takes the source as a str, got {type(source).__name__}")
    try:
        text = source.encode()
    except UnicodeEncodeError:
        raise BuildError("the source is not valid Unicode text") from None
    if len(text) > MAX_SOURCE_BYTES:
        raise BuildError(f"the source is longer than {MAX_SOURCE_BYTES} bytes")
    if b"\0" in text:
        raise BuildError("the source holds a NUL byte")
    entry = folder / _key(text, toolchain)
    if not entry.is_dir():
        _make_entry(text, toolchain, folder, entry)
    return entry


# ---- compiling -----------------------------------------------------------------


def _key(text: bytes, toolchain: Toolchain) -> str:
    facts = {f.name: getattr(toolchain, f.name) for f in dataclasses.fields(toolchain)}
    facts["language"] = toolchain.language.name
    facts["version"] = _compiler_version(toolchain.compiler[0], _path())
    identity = json.dumps(facts, sort_keys=True, default=sorted)  # sets have no order
    return hashlib.sha256(identity.encode() + b"\0" + text).hexdigest()


def _path() -> str:
    return os.environ.get("PATH", "")


@lru_cache(maxsize=None)
def _compiler_version(compiler: str, path: str) -> str:
    program = shutil.which(compiler, path=path)
    if program is None:
        raise ToolchainError(
            f"the compiler {compiler!r} is not on PATH; install one, such as Debian's gcc"
        )
    status, text = run([program, "--version"], Path("/"), 60)
    if status != 0:
        raise ToolchainError(f"{compiler} --version failed: {text.strip()}")
    return f"{text} {platform.machine()}"


def _cache_folder(toolchain: Toolchain) -> Path:
    named = os.environ.get(toolchain.cache_variable)
    folder = Path(named).absolute() if named else _user_cache() / "monkeys" / "native"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _make_entry(text: bytes, toolchain: Toolchain, folder: Path, entry: Path) -> None:
    """An entry is a folder that appears whole, by one rename, after every check.
    Where several processes make the same one, the first wins."""
    work = Path(tempfile.mkdtemp(prefix=".making-", dir=folder))
    try:
        (work / toolchain.source_name).write_bytes(text)
        _compile(text.decode(), toolchain, work)
        _check_object(work / OBJECT_NAME, toolchain)
        try:
            work.rename(entry)
        except OSError:
            if not entry.is_dir():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _compile(source: str, toolchain: Toolchain, work: Path) -> None:
    command = [*toolchain.compiler, *toolchain.compile_flags]
    language = toolchain.language
    try:
        native_source.check_directives(source, toolchain.headers, language)
        raw = work / "raw.i"
        flags = [*toolchain.preprocess_flags, "-E", toolchain.source_name, "-o", raw.name]
        _compiler(toolchain, work, [*command, *flags])
        own = native_source.own_text(_text(raw), toolchain.source_name)
        raw.unlink()
        native_source.check_constructs(own, language)
        if not native_source.functions(own, language):
            raise native_source.SourceError(
                f"no function that can be called is defined ({language.callable_note})"
            )
    except native_source.SourceError as error:
        raise BuildError(f"{toolchain.source_name}: {error}") from None
    (work / PREPROCESSED_NAME).write_bytes(own.encode())
    _compiler(
        toolchain,
        work,
        [*command, toolchain.source_name, "-o", OBJECT_NAME, *toolchain.link_flags],
    )


def _text(path: Path) -> str:
    """The file as it is: Python's own text mode would end lines where C does not."""
    return path.read_bytes().decode(errors="replace")


def _compiler(toolchain: Toolchain, work: Path, argv: list[str]) -> None:
    status, text = run(argv, work, toolchain.timeout_s)
    if status != 0:
        raise BuildError(_clean(text, toolchain, work) or f"the compiler exited with {status}")


def run(argv: list[str], folder: Path, timeout_s: float) -> tuple[int, str]:
    """Runs a compiler in an environment of its own: variables such as CPATH would
    change what is compiled. The whole process group goes when time is up."""
    environment = {"PATH": _path(), "LC_ALL": "C", "SOURCE_DATE_EPOCH": "0"}
    process = subprocess.Popen(
        argv,
        cwd=folder,
        env=environment | {"TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise BuildError(f"the compiler took longer than {timeout_s:g} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return process.returncode, output.decode(errors="replace")


def _clean(text: str, toolchain: Toolchain, work: Path) -> str:
    """The compiler's words without the names of temporary files and without the
    folders of headers."""
    name = toolchain.source_name
    stem = re.escape(Path(name).stem)
    text = re.sub(re.escape(str(work)) + r"/cc\w+\.[os]\b", name, text)
    text = re.sub(rf"(?:\S*/)?tmpxft_[\w-]*_{stem}(?=\.ptx\b)", stem, text)
    text = re.sub(rf"(?:[^\s`'\"]*/)?tmpxft_[\w-]*_{stem}(?:\.\w+)+", name, text)
    for flag in toolchain.compile_flags:
        if flag.startswith("-I"):
            text = text.replace(flag[2:].rstrip("/") + "/", "")
    return text.replace(f"{work}/", "").strip()


def _is_allowed(name: str, allowed: frozenset[str]) -> bool:
    return name in allowed or any(name.startswith(a[:-1]) for a in allowed if a.endswith("*"))


def _check_object(path: Path, toolchain: Toolchain) -> None:
    try:
        found = native_elf.read_shared_object(path.read_bytes())
    except native_elf.ElfError as error:
        raise ToolchainError(f"the compiled object cannot be checked: {error}") from None
    for name in found.undefined:
        if not _is_allowed(name, toolchain.symbols):
            raise BuildError(f"undefined symbol {name} is not allowed; {toolchain.symbols_note}")
    for name in found.needed:
        if not _is_allowed(name, toolchain.libraries):
            raise BuildError(f"the library {name} is not allowed; {toolchain.symbols_note}")
    if found.startup != toolchain.startup:
        extra = found.startup[len(toolchain.startup) :]
        raise BuildError(
            f"code that runs when the library is loaded ({', '.join(extra)}) is not allowed; a "
            "kernel runs only when it is called"
        )
    if found.ifuncs or found.odd_relocations:
        raise BuildError(
            "an address that is computed when the library is loaded "
            f"({', '.join([*found.ifuncs, *map(str, found.odd_relocations)])}) is not allowed; "
            "a kernel has no ifunc and no thread-local variable"
        )
    if found.writable_code:
        raise BuildError("writable code is not allowed; a kernel has no nested function")


# ---- calling -------------------------------------------------------------------


class Library:
    """A loaded object. Its C functions are attributes: `lib.relu_kernel(x, y, n)`.

    `calls` counts the launches of all its functions, `key` is the SHA-256 of what
    it was built from.
    """

    def __init__(
        self,
        key: str,
        path: Path,
        functions: dict[str, Function],
        device: Device = CPU,
        note: str = native_source.C.callable_note,
    ) -> None:
        for name in {"calls", "key"} & functions.keys():
            raise BuildError(f"a C function may not be called {name!r}; rename it")
        self.key = key
        self.calls = 0
        self._functions = functions
        self._device = device
        self._note = note
        self._object = device.load(path)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        functions = self.__dict__.get("_functions", {})
        function = functions.get(name)
        if function is None:
            known = ", ".join(functions) or "none"
            raise AttributeError(
                f"the source defines no callable function {name!r}; callable: {known} "
                f"({self._note})"
            )
        entry = self._entry(function)
        setattr(self, name, entry)
        return entry

    def __dir__(self) -> list[str]:
        return ["calls", "key", *self._functions]

    def _entry(self, function: Function) -> Callable[..., Any]:
        device = self._device
        if function.result is None or function.result.kind not in device.results:
            raise TypeError(f"{function.name}() must return {device.results_note}")
        for p in function.parameters:
            if p.type is None:
                raise TypeError(
                    f"{function.name}() parameter {p.name!r}: the type of {p.text!r} cannot be "
                    "passed from Python; use a pointer to numbers, an integer, a float or a bool"
                )
        foreign = self._object[function.name]
        foreign.restype = _ctype(function.result)
        foreign.argtypes = [_parameter_ctype(p) for p in function.parameters]
        bound = device.bind(self._object, function.name, foreign)

        def call(*arguments: Any) -> Any:
            values = _convert(function, arguments, device)
            self.calls += 1
            if any(hook(Launch(self.key, function.name)) is False for hook in launch_hooks):
                return None
            return bound(*values)

        call.__name__ = call.__qualname__ = function.name
        call.__doc__ = function.signature
        return call


def _ctype(kind: CType) -> Any:
    if kind.kind == "void":
        return None
    names = {"float32": "c_float", "float64": "c_double"}
    return getattr(ctypes, names.get(kind.name, f"c_{kind.name}"))


def _parameter_ctype(parameter: Parameter) -> Any:
    if parameter.pointer or parameter.filled_in:
        return ctypes.c_void_p
    return _ctype(parameter.type or CType("void"))


def _convert(function: Function, arguments: tuple[Any, ...], device: Device) -> list[Any]:
    wanted = sum(not p.filled_in for p in function.parameters)
    if len(arguments) != wanted:
        raise TypeError(
            f"{function.name}() takes {wanted} arguments, got {len(arguments)}: "
            f"{function.signature}"
        )
    values: list[Any] = []
    rest = iter(arguments)
    for parameter in function.parameters:
        if parameter.filled_in:
            values.append(device.stream())
            continue
        value = next(rest)
        try:
            if parameter.pointer:
                values.append(_pointer(parameter.type, value, device))
            else:
                values.append(_number(parameter.type, value))
        except _Mismatch as error:
            raise TypeError(
                f"{function.name}() parameter {parameter.name!r} ({parameter.text}): {error}"
            ) from None
    return values


class _Mismatch(Exception):
    """What was expected and what came instead."""


def _pointer(kind: CType, value: Any, device: Device) -> int | None:
    """The address of a tensor's elements; None is passed as NULL."""
    if value is None:
        return None
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        raise _Mismatch(f"expected a tensor, got {type(value).__name__}")
    dtype = str(value.dtype).removeprefix("torch.")
    if kind.kind != "void" and dtype != kind.name:
        raise _Mismatch(f"expected a tensor of dtype torch.{kind.name}, got torch.{dtype}")
    if value.device.type != device.type:
        raise _Mismatch(f"expected a tensor on {device.name}, got one on {value.device}")
    if value.layout != torch.strided:
        raise _Mismatch(f"expected a dense tensor, got layout {value.layout}")
    if not value.is_contiguous():
        raise _Mismatch(
            f"expected a contiguous tensor, got shape {tuple(value.shape)} with strides "
            f"{value.stride()}; call .contiguous() first"
        )
    return value.data_ptr()


def _number(kind: CType, value: Any) -> int | float | bool:
    got = type(value).__name__
    if kind.kind == "bool":
        if not isinstance(value, bool):
            raise _Mismatch(f"expected a bool, got {got}")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _Mismatch(f"expected {'a float' if kind.kind == 'float' else 'an int'}, got {got}")
    if kind.kind == "float":
        return _fitting_float(kind, value)
    if not isinstance(value, int):
        raise _Mismatch(f"expected an int, got {got}")
    low = -(1 << (kind.bits - 1)) if kind.kind == "int" else 0
    high = (1 << (kind.bits - (kind.kind == "int"))) - 1
    if not low <= value <= high:
        raise _Mismatch(f"{value} does not fit into {kind.bits} bits ({low} to {high})")
    return value


def _fitting_float(kind: CType, value: int | float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(ctypes.c_float(number).value if kind.bits == 32 else number):
        if not (isinstance(value, float) and math.isinf(value)):
            raise _Mismatch(f"{value} does not fit into a {kind.bits}-bit float")
    return number
