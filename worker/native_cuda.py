"""native_cuda.py: CUDA C++ for native.py: how nvcc is called, what a kernel's source
may contain, and what surrounds a call.

The object is linked with the shared CUDA runtime, so that every function it wants
from there shows as an undefined symbol and can be held against a list; the static
runtime would bring dlopen, sockets and threads into the object itself. nvcc adds one
function to each object that the loader calls, which registers the kernels; a second
one would be the source's own and is refused.

A callable function is an extern "C" host function. It returns void, or an int or
cudaError_t that is zero when all went well: anything else is raised as RuntimeError,
and so is an error that the runtime holds after the call, such as that of a launch.
Errors inside a running kernel come later, from the next call that waits for it.
"""
from __future__ import annotations

import ctypes
import os
import re
import shutil
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable

import native
import native_source
from native_source import CType

USUAL_NVCC = "/usr/local/cuda/bin/nvcc"
DEFAULT_ARCHITECTURE = "90a"

LANGUAGE = native_source.Language(
    name="CUDA C++",
    token=native_source.CXX_TOKEN,
    pragma=re.compile(r"(?:unroll|nounroll|GCC (?:unroll|ivdep)|nv_(?:diag|exec_check)_\w+)\b"),
    attributes=native_source.C.attributes
    | frozenset(
        "block_size cluster_dims constant deprecated device global grid_constant host "
        "launch_bounds managed maxnreg nv_pure shared visibility".split()
    ),
    standard_attributes=frozenset(
        "deprecated fallthrough likely maybe_unused no_unique_address nodiscard noreturn "
        "unlikely".split()
    ),
    types=native_source.C_TYPES
    | {
        "bool": CType("bool", 8),
        "__half": CType("float", 16),
        "half": CType("float", 16),
        "__nv_bfloat16": CType("bfloat", 16),
        "nv_bfloat16": CType("bfloat", 16),
        "cudaError_t": CType("int", 32),
        "cudaStream_t": CType("stream"),
        "CUstream": CType("stream"),
    },
    cxx=True,
    callable_note='only extern "C" host functions that are not static or inline are',
)

# What cuda_fp16.h and the other headers of the toolkit are to kernels, the small headers
# of the C and C++ libraries are to host code. None of them runs code when it is loaded.
HEADERS = frozenset(
    "cuda_runtime.h cuda_runtime_api.h cuda.h cuda_fp16.h cuda_bf16.h cuda_fp8.h cuda_fp6.h "
    "cuda_fp4.h mma.h cuda_pipeline.h cuda_pipeline_primitives.h cuda_pipeline_helpers.h "
    "cuda_awbarrier.h cuda_awbarrier_primitives.h cuda_awbarrier_helpers.h cooperative_groups.h "
    "cooperative_groups/* cuda/* device_launch_parameters.h vector_types.h vector_functions.h "
    "math_constants.h stdint.h stddef.h float.h limits.h math.h assert.h stdio.h string.h "
    "stdlib.h cstdint cstddef cfloat climits cmath cassert cstdio cstring cstdlib algorithm "
    "array initializer_list limits numeric tuple type_traits utility".split()
)

# What nvcc's own code wants: registration, launches, statics in functions, and the end of
# the process where host code would call what exists on the device alone.
_COMPILER_SYMBOLS = (
    "__cudaRegisterFatBinary __cudaRegisterFatBinaryEnd __cudaUnregisterFatBinary "
    "__cudaRegisterFunction __cudaRegisterVar __cudaRegisterManagedVar __cudaInitModule "
    "__cudaPushCallConfiguration __cudaPopCallConfiguration __cudaGetKernel __cudaLaunchKernel "
    "__cxa_atexit __cxa_guard_acquire __cxa_guard_release __cxa_guard_abort "
    "__gxx_personality_v0 __cxa_call_terminate _ZSt9terminatev _Unwind_Resume exit"
).split()
# Launching, asking and reporting; copies on a stream. Not here: memory, streams, graphs,
# events, and cudaGetDriverEntryPoint, which would give all of them.
_RUNTIME_SYMBOLS = (
    "cudaLaunchKernel cudaLaunchKernelExC cudaLaunchCooperativeKernel cudaGetLastError "
    "cudaPeekAtLastError cudaGetErrorString cudaGetErrorName cudaFuncSetAttribute "
    "cudaFuncGetAttributes cudaFuncSetCacheConfig cudaGetDevice cudaDeviceGetAttribute "
    "cudaGetDeviceProperties cudaGetDeviceProperties_v2 cudaPointerGetAttributes "
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor "
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags cudaOccupancyMaxActiveClusters "
    "cudaOccupancyMaxPotentialClusterSize cudaOccupancyAvailableDynamicSMemPerBlock "
    "cudaMemcpyAsync cudaMemcpy2DAsync cudaMemsetAsync cudaMemset2DAsync "
    "cudaMemcpyToSymbolAsync cudaGetSymbolAddress cudaStreamSynchronize cudaDeviceSynchronize"
).split()
_DRIVER_SYMBOLS = (
    "cuTensorMapEncodeTiled cuTensorMapEncodeIm2col cuTensorMapReplaceAddress cuGetErrorString "
    "cuGetErrorName"
).split()
_HOST_SYMBOLS = (
    "memcpy memmove memset memcmp strlen __assert_fail printf fprintf snprintf puts putchar "
    "fputs fputc fwrite fflush stdout stderr __printf_chk __fprintf_chk __snprintf_chk"
).split()
SYMBOLS = (
    frozenset([*_COMPILER_SYMBOLS, *_RUNTIME_SYMBOLS, *_DRIVER_SYMBOLS, *_HOST_SYMBOLS])
    | native.MATH_SYMBOLS
    | native.HARDENING_SYMBOLS
)
SYMBOLS_NOTE = (
    "a kernel may call its own functions, those of the CUDA runtime that launch, ask, report and "
    "copy on a stream, cuTensorMapEncodeTiled, math.h, memcpy and printf"
)
_LIBRARIES = native.LOADER_LIBRARIES | {"libcudart.so.*", "libgcc_s.so.1", "libstdc++.so.6"}


# ---- the compiler --------------------------------------------------------------


def nvcc() -> str:
    """The compiler on PATH, or in the usual place."""
    found = shutil.which("nvcc") or (USUAL_NVCC if os.access(USUAL_NVCC, os.X_OK) else None)
    if found is None:
        raise native.ToolchainError(
            f"nvcc is neither on PATH nor at {USUAL_NVCC}; install the CUDA toolkit"
        )
    return found


@lru_cache(maxsize=None)
def toolkit(compiler: str) -> Path:
    """The folder nvcc takes headers and libraries from; nvcc on PATH may be a script."""
    _, text = native.run([compiler, "--dryrun", "-x", "cu", "-E", "/dev/null"], Path("/"), 60)
    match = re.search(r"^#\$ TOP=(.+)$", text, re.MULTILINE)
    if match is None:
        raise native.ToolchainError(f"{compiler} --dryrun does not name its folder: {text[:200]}")
    return Path(match.group(1).strip()).resolve()


@lru_cache(maxsize=None)
def version(compiler: str) -> str:
    _, text = native.run([compiler, "--version"], Path("/"), 60)
    match = re.search(r"release [\d.]+, V([\d.]+)", text)
    return f"nvcc {match.group(1)}" if match else "nvcc of unknown version"


def gpu_name() -> str:
    """Of the GPU torch sees, or nothing; torch is asked only where there may be one."""
    if not Path("/dev/nvidiactl").exists() and shutil.which("nvidia-smi") is None:
        return ""
    try:
        import torch
    except ImportError:
        return ""
    return torch.cuda.get_device_name() if torch.cuda.is_available() else ""


def architecture() -> str:
    """Of the GPU torch sees, or Hopper's where there is none. Instructions such as wgmma
    belong to one architecture alone, which the letter stands for."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return DEFAULT_ARCHITECTURE
    major, minor = torch.cuda.get_device_capability()
    return f"{major}{minor}{'a' if major >= 9 else ''}"


def toolchain(
    cache_variable: str, timeout_s: float, arch: str, flags: list[str], **changes: Any
) -> native.Toolchain:
    """nvcc for one architecture. `flags` and `changes` are what a pack adds or has
    otherwise."""
    compiler = nvcc()
    # Not -arch=sm_90a, which adds a pass for plain sm_90, where wgmma does not compile.
    common = f"-O3 -gencode arch=compute_{arch},code=sm_{arch} -Xcompiler=-fPIC"
    # nvcc -E shows the device's pass; without these words it is the host's, whose
    # functions are called and whose code runs here.
    device_words = (
        "-U__CUDA_ARCH__ -U__CUDA_ARCH_SPECIFIC__ -U__CUDA_ARCH_FAMILY_SPECIFIC__ "
        f"-U__CUDA_ARCH_FEAT_SM{arch.rstrip('a')}_ALL -UCUDA_DOUBLE_MATH_FUNCTIONS"
    )
    # No start files, which run code at loading time (they also hold __dso_handle, of
    # which the registration wants no more than an address); one hash style, so that the
    # symbols can be counted; constants apart from code. Where the process has no CUDA
    # runtime yet, the toolkit's is taken.
    libraries = ":".join(str(toolkit(compiler) / name) for name in ("lib64", "lib"))
    linker = (
        "--hash-style=sysv -z now -z separate-code -Bsymbolic --as-needed "
        f"--defsym=__dso_handle=0 -rpath {libraries}"
    )
    settings: dict[str, Any] = {
        "compiler": (compiler,),
        "compile_flags": (*flags, *common.split()),
        "preprocess_flags": ("-Xcompiler=" + ",".join(device_words.split()),),
        "link_flags": (
            *"-shared -cudart=shared -nodlink -Xcompiler=-nostartfiles".split(),
            "-Xlinker=" + ",".join(linker.split()),
        ),
        "symbols": SYMBOLS,
        "symbols_note": SYMBOLS_NOTE,
        "headers": HEADERS,
        "libraries": _LIBRARIES,
        "cache_variable": cache_variable,
        "timeout_s": timeout_s,
        "source_name": "kernel.cu",
        "language": LANGUAGE,
        "startup": ("DT_INIT_ARRAY",),
    }
    return native.Toolchain(**(settings | changes))


# ---- calls ---------------------------------------------------------------------


class Cuda(native.Device):
    type = "cuda"
    name = "cuda"
    results = ("void", "int")
    results_note = "void, or an int or cudaError_t that is 0 when all went well"

    def load(self, path: Path) -> ctypes.CDLL:
        """Objects are not linked with the driver, which a machine that only compiles does
        not have; one that calls cuTensorMapEncodeTiled wants it now."""
        try:
            try:
                return ctypes.CDLL(str(path))
            except OSError as error:
                if "undefined symbol: cu" not in str(error):
                    raise
            ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(str(path))
        except OSError as error:
            words = str(error).replace(f"{path}: ", "")
            raise native.ToolchainError(f"a built library cannot be loaded: {words}") from None

    def stream(self) -> int:
        import torch

        return torch.cuda.current_stream().cuda_stream

    def bind(self, library: ctypes.CDLL, name: str, foreign: Callable) -> Callable[..., None]:
        # Looked up from the library, these are functions of the runtime it is linked
        # with, whichever others this process has.
        last_error = library.cudaGetLastError

        def call(*values: Any) -> None:
            last_error()  # what others left behind is not this call's
            code = foreign(*values) or last_error()
            if code:
                raise RuntimeError(f"{name}: {_error_text(library, code)}")

        return call


CUDA = Cuda()


def _error_text(library: ctypes.CDLL, code: int) -> str:
    words = []
    for function in (library.cudaGetErrorName, library.cudaGetErrorString):
        function.restype = ctypes.c_char_p
        words.append(function(code).decode())
    if not words[0].startswith("cuda"):
        return f"returned {code}, which is no error of CUDA"
    return ": ".join(words)
