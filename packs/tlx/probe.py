"""What this machine can do with TLX: prints one line, LEVEL: WHY."""
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker"))

from shared import packages  # noqa: E402


def make_kernel():
    import triton
    import triton.language as tl
    import triton.language.extra.tlx as tlx

    @triton.jit
    def twice(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        view = tlx.local_view(tlx.local_alloc((BLOCK,), tl.float32, 1), 0)
        token = tlx.async_load(x_ptr + i, view, mask=i < n)
        tlx.async_load_commit_group([token])
        tlx.async_load_wait_group(0)
        tl.store(y_ptr + i, tlx.local_load(view) * 2, mask=i < n)

    return twice


def run_one() -> None:
    """Run a small kernel and compare it; raises when it fails or is wrong."""
    import torch

    x = torch.arange(100, dtype=torch.float32, device="cuda")
    y = torch.zeros_like(x)
    make_kernel()[(1,)](x, y, 100, BLOCK=128)
    if not torch.equal(y, x + x):
        raise ValueError("a kernel gave a wrong result")


def compile_one() -> None:
    """Compile the same kernel for sm_90, which needs no device."""
    import triton
    from triton.backends.compiler import GPUTarget

    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = triton.compiler.ASTSource(make_kernel(), signature, {"BLOCK": 128})
    triton.compile(source, target=GPUTarget("cuda", 90, 32))


def probe() -> str:
    packages.add("tlx", "triton")
    for name in ("triton", "torch"):
        if importlib.util.find_spec(name) is None:
            return f"checks: the Python package {name} is not installed (./setup run)"
    os.environ.pop("TRITON_INTERPRET", None)
    import triton

    version = triton.__version__
    if importlib.util.find_spec("triton.language.extra.tlx") is None:
        return f"checks: triton {version} has no TLX; fbtriton has (./setup pack tlx)"
    import torch

    cuda = torch.cuda.is_available()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        try:
            if cuda:
                run_one()
            else:
                compile_one()
        except Exception as e:
            reason = " ".join(str(e).split())[:200]
            return f"checks: TLX of triton {version} fails: {reason}"
    if cuda:
        return f"run: {torch.cuda.get_device_name()} (triton {version})"
    return f"compile: for sm_90, no CUDA device and no interpreter (triton {version})"


if __name__ == "__main__":
    line = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is not the answer
    print(probe(), file=line, flush=True)
