"""native_cuda.py: CUDA C++ for native.py: which nvcc, which flags, which types."""
from __future__ import annotations

import dataclasses
import os
import re
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any

from shared import native, native_source
from shared.native_source import CType

USUAL_NVCC = "/usr/local/cuda/bin/nvcc"
DEFAULT_TARGET = "sm_90"
RUNTIME_OBJECT = "host.o"  # the CUDA runtime of ours that host functions are linked with

# Host functions with C linkage, which launch kernels themselves.
HOST = native_source.Language(
    name="CUDA C++",
    token=native_source.CXX_TOKEN,
    types=native_source.C_TYPES
    | {
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
# Kernels alone, which Python launches.
KERNELS = dataclasses.replace(
    HOST,
    kernels=True,
    callable_note="only __global__ functions are, at file scope; host functions do not run here",
)


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


def nvcc_version(compiler: str) -> str:
    match = re.search(r"release [\d.]+, V([\d.]+)", native.compiler_version(compiler))
    return f"nvcc {match.group(1)}" if match else "nvcc of unknown version"


def architecture(target: str) -> str:
    """sm_90 as 90a: instructions such as wgmma belong to one architecture alone, which
    the letter stands for."""
    match = re.fullmatch(r"sm_(\d+)a?", target)
    if match is None:
        raise ValueError(f"not an architecture: {target!r}")
    return match.group(1) + ("a" if int(match.group(1)) >= 90 else "")


def gpu_name() -> str:
    """Of the GPU torch sees, or nothing; torch is asked only where there may be one."""
    torch = _torch()
    return torch.cuda.get_device_name() if torch else ""


def torch_target() -> str:
    """Of the GPU torch sees, or Hopper's where there is none."""
    torch = _torch()
    return "sm_%d%d" % torch.cuda.get_device_capability() if torch else DEFAULT_TARGET


def _torch() -> Any:
    if not Path("/dev/nvidiactl").exists() and shutil.which("nvidia-smi") is None:
        return None
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def cubin_toolchain(timeout_s: float, target: str, flags: list[str]) -> native.Toolchain:
    """Device code alone, beside its assembler's text. ptxas tells which kernels it compiled."""
    common = ["-O3", f"-arch=sm_{architecture(target)}"]
    return _toolchain(
        timeout_s,
        [*flags, *common],
        output_flags=("-cubin", "-keep", "-Xptxas=-v"),
        syntax_flags=("-cubin", "-o", "kernel.cubin"),
        language=KERNELS,
    )


def hosted_toolchain(timeout_s: float, target: str, flags: list[str]) -> native.Toolchain:
    """A program of host functions that has no CUDA runtime but ours. The cubin and its
    assembler's text stay beside it; ptxas tells what each kernel uses."""
    arch = architecture(target)
    # Not -arch=sm_90a, which adds a pass for plain sm_90, where wgmma does not compile.
    common = ["-O3", "-gencode", f"arch=compute_{arch},code=sm_{arch}"]
    return _toolchain(
        timeout_s,
        [*flags, *common],
        output_flags=(RUNTIME_OBJECT, "-cudart=none", "-nodlink", "-keep", "-Xptxas=-v"),
        syntax_flags=("-c", "-o", "kernel.o"),
        # nvcc -E shows the device's pass; functions are called in the host's.
        preprocess_flags=("-Xcompiler=-U__CUDA_ARCH__",),
        language=HOST,
    )


def _toolchain(timeout_s: float, flags: list[str], **rest: Any) -> native.Toolchain:
    compiler = nvcc()
    own = [flag[2:] for flag in flags if flag.startswith("-I")]
    return native.Toolchain(
        compiler=(compiler,),
        flags=tuple(flags),
        timeout_s=timeout_s,
        source_name="kernel.cu",
        folders=(str(toolkit(compiler)), *own),
        **rest,
    )
