"""What this machine can do with Gluon: prints one line, LEVEL: WHY."""
import gc
import importlib.util
import os
import tempfile


def make_kernel():
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl

    @gluon.jit
    def twice(x_ptr, y_ptr, n, BLOCK: gl.constexpr):
        layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
        i = gl.arange(0, BLOCK, layout=layout)
        gl.store(y_ptr + i, gl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)

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
    from triton.experimental.gluon._runtime import GluonASTSource

    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = GluonASTSource(make_kernel(), signature, {"BLOCK": 128})
    triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})


def has_cuda() -> bool:
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()


def probe() -> str:
    if importlib.util.find_spec("triton") is None:
        return "checks: the Python package triton is not installed"
    os.environ.pop("TRITON_INTERPRET", None)
    import triton

    version = triton.__version__
    if importlib.util.find_spec("triton.experimental.gluon") is None:
        return f"checks: triton {version} has no Gluon"
    cuda = has_cuda()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        try:
            if cuda:
                run_one()
            else:
                compile_one()
        except Exception as e:
            reason = " ".join(str(e).split())[:200]
            return f"checks: Gluon of triton {version} fails: {reason}"
    if cuda:
        return f"run: CUDA device (triton {version})"
    return f"compile: for sm_90, no CUDA device and no interpreter (triton {version})"


if __name__ == "__main__":
    gc.disable()  # nothing that is imported is garbage
    line = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is not the answer
    print(probe(), file=line, flush=True)
    gc.freeze()  # nor is it searched at the end
