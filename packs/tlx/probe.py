"""What this machine can do with TLX: prints one line, LEVEL: WHY."""
import importlib.metadata
import importlib.util
import os
import tempfile


def version() -> str:
    for dist in ("fbtriton", "triton"):
        try:
            return f"{dist} {importlib.metadata.version(dist)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return "triton"


def run_one() -> None:
    """Run a small kernel and compare it; raises when it fails or is wrong."""
    import torch
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

    x = torch.arange(100, dtype=torch.float32, device="cuda")
    y = torch.zeros_like(x)
    twice[(1,)](x, y, 100, BLOCK=128)
    if not torch.equal(y, x + x):
        raise ValueError("a kernel gave a wrong result")


def probe() -> str:
    for name in ("triton", "torch"):
        if importlib.util.find_spec(name) is None:
            return f"checks: the Python package {name} is not installed"
    os.environ.pop("TRITON_INTERPRET", None)
    if importlib.util.find_spec("triton.language.extra.tlx") is None:
        return f"checks: {version()} has no TLX (fbtriton has)"
    import torch

    if not torch.cuda.is_available():
        return f"checks: {version()} has TLX, but there is no CUDA device and TLX has no interpreter"
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        try:
            run_one()
        except Exception as e:
            reason = " ".join(str(e).split())[:200]
            return f"checks: TLX of {version()} fails: {reason}"
    return f"run: {torch.cuda.get_device_name()} ({version()})"


if __name__ == "__main__":
    line = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is not the answer
    print(probe(), file=line, flush=True)
