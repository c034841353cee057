"""What this machine can do with TileLang: prints one line, LEVEL: WHY."""
import importlib.metadata
import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker"))

from shared import packages  # noqa: E402

TARGET = {"kind": "cuda", "arch": "sm_90a"}


def make_kernel():
    import tilelang.language as T

    @T.prim_func
    def twice(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(128):
                Y[i] = X[i] * 2

    return twice


def run_one() -> None:
    """Run a small kernel and compare it; raises when it fails or is wrong."""
    import tilelang
    import torch

    x = torch.arange(128, dtype=torch.float32, device="cuda")
    y = tilelang.compile(make_kernel(), out_idx=[1])(x)
    if not torch.equal(y, x + x):
        raise ValueError("a kernel gave a wrong result")


def compile_one() -> None:
    """Compile the same kernel for sm_90a, which needs nvcc and no device."""
    import tilelang

    tilelang.compile(make_kernel(), out_idx=[1], target=TARGET)


def find_nvcc() -> str | None:
    for home in ("CUDA_HOME", "CUDA_PATH"):
        path = os.path.join(os.environ.get(home, ""), "bin", "nvcc")
        if os.environ.get(home) and os.path.exists(path):
            return path
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def probe() -> str:
    packages.add("tilelang")
    for name in ("tilelang", "torch"):
        if importlib.util.find_spec(name) is None:
            setup = "./setup run" if name == "torch" else "./setup pack tilelang"
            return f"checks: the Python package {name} is not installed ({setup})"
    version = importlib.metadata.version("tilelang")
    if find_nvcc() is None:
        return f"checks: tilelang {version} is installed, but nvcc is not found"
    import torch

    cuda = torch.cuda.is_available()
    os.environ.pop("TILELANG_DEFAULT_TARGET", None)
    os.environ["TILELANG_PRINT_ON_COMPILATION"] = "0"
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TILELANG_CACHE_DIR"] = cache
        os.environ["TMPDIR"] = cache
        try:
            if cuda:
                run_one()
            else:
                compile_one()
        except Exception as e:
            reason = " ".join(str(e).split())[-200:]
            return f"checks: tilelang {version} fails: {reason}"
    if cuda:
        return f"run: {torch.cuda.get_device_name()} (tilelang {version})"
    return f"compile: for sm_90a, no CUDA device (tilelang {version})"


if __name__ == "__main__":
    line = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is not the answer
    print(probe(), file=line, flush=True)
