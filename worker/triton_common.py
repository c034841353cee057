"""triton_common.py: what the adapters of packs share whose kernels Triton compiles:
launches as Triton's own hook tells them, a compile in the zygote, and which errors are
the compiler's."""

import contextlib
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler.errors import CompilationError
from triton.runtime.errors import OutOfResources, PTXASError

launched: list[str] = []  # the names of the kernels, since the last reset
_folders: list[str] = []
_LAUNCHER_FLAGS = ("-O1", "-fPIC", "-Wno-psabi")
_LAUNCHER_HEADERS = """#include "cuda.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#define PY_SSIZE_T_CLEAN
#include <Python.h>
"""


def watch_launches() -> None:
    """In a child that runs on a GPU: notes each launch from here on."""
    triton.knobs.runtime.launch_enter_hook.add(_on_launch)


def _on_launch(metadata: Any) -> None:
    launched.append(str(metadata.get().get("name")))


def mute_launches() -> bool:
    """From here on kernels that were compiled do nothing when they are launched; False
    where Triton starts them otherwise than through its launcher's class."""
    from triton.backends.nvidia.driver import CudaLauncher

    def nothing(*_: Any) -> None:
        return None

    before = getattr(CudaLauncher, "__call__", None)
    CudaLauncher.__call__ = nothing
    return before is not None


def version() -> str:
    return f"triton {triton.__version__}"


@functools.cache
def compiler(adapter: str) -> str | None:
    """What compiling depends on, as a hash: Triton's files, as its wheel lists them with
    their hashes (ptxas is one of them), this one, the adapter, and Python. None where
    Triton was not installed from a wheel."""
    files = importlib.metadata.distribution("triton").read_text("RECORD")
    if files is None:
        return None
    own = [Path(p).read_bytes() for p in (__file__, adapter)]
    parts = [files.encode(), sys.version.encode(), *own]
    return hashlib.sha256(b"\0".join(hashlib.sha256(p).digest() for p in parts)).hexdigest()


def is_compile_error(problem: BaseException) -> bool:
    """The compiler's own errors, and whatever else ended a compilation: its later
    passes raise RuntimeError."""
    if isinstance(problem, (CompilationError, PTXASError, OutOfResources)):
        return True
    trace = problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is triton.compile.__code__:
            return True
        trace = trace.tb_next
    return False


def target(name: str) -> GPUTarget:
    """`sm_90` and `sm_90a` as Triton names them."""
    return GPUTarget("cuda", int(name.removeprefix("sm_").rstrip("a")), 32)


def import_file(path: str, name: str) -> ModuleType:
    """The file as a module of that name: kernels are compiled from their source."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def warm_up(text: str, make_source: Callable[[ModuleType], Any]) -> None:
    """Compiles a kernel and forgets it: this fills what Triton keeps in memory, and
    touches no GPU. `make_source` finds the kernel in the module made of `text`."""
    with tempfile.TemporaryDirectory() as folder:
        old = os.environ.get("TRITON_CACHE_DIR")
        os.environ["TRITON_CACHE_DIR"] = folder
        path = os.path.join(folder, "warm_kernel.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        triton.compile(make_source(import_file(path, "warm_kernel")), target=target("sm_90"))
        if os.environ.get("CUDA_VISIBLE_DEVICES"):
            _load_driver_helper()
        if old is None:
            del os.environ["TRITON_CACHE_DIR"]
        else:
            os.environ["TRITON_CACHE_DIR"] = old


def _load_driver_helper() -> None:
    """Triton's driver with its C module, which each child would otherwise compile before
    its first launch, and what is imported at that launch. No context is made."""
    from triton.backends.nvidia import driver

    # Not as Triton finds it: asking torch for GPUs opens NVML, which no child could use then.
    triton.runtime.driver.set_active(driver.CudaDriver())
    for name in ("triton.tools.tensor_descriptor", "triton.experimental.gluon.nvidia.hopper",
                 "triton.experimental.gluon.amd.gfx1250"):  # fmt: skip
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if hasattr(driver, "make_launcher"):
        flags = _launcher_flags(driver.include_dirs)
        build = driver.compile_module_from_src
        driver.compile_module_from_src = functools.partial(build, ccflags=flags)


def _launcher_flags(include: list[str]) -> list[str]:
    """Triton up to 3.6 has a launcher compiled for each new signature: few lines under
    large headers. Those are compiled here, once; where that fails, or the compiler finds
    that they do not fit, it reads them as they are."""
    folder = tempfile.mkdtemp(prefix="launcher-")
    os.chmod(folder, 0o755)
    header = os.path.join(folder, "launcher.h")
    Path(header).write_text(_LAUNCHER_HEADERS)
    scheme = sysconfig.get_default_scheme().replace("posix_local", "posix_prefix")
    include = [*include, sysconfig.get_paths(scheme=scheme)["include"]]
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang") or "cc"
    command = [compiler, "-x", "c-header", header, *_LAUNCHER_FLAGS, *(f"-I{d}" for d in include)]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        subprocess.run([*command, "-o", header + ".gch"], check=True, stderr=subprocess.DEVNULL)
    _folders.append(folder)
    return ["-O1", "-include", header]


def folders() -> list[str]:
    """What children must be able to read besides what all packs have."""
    return _folders
