"""What this machine can do with Triton: prints one line, LEVEL: WHY."""
import gc
import importlib.util
import os
import tempfile


def run_one(device: str) -> None:
    """Run a small kernel and compare it; raises when it fails or is wrong."""
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def twice(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)

    x = torch.arange(40, dtype=torch.float32, device=device)
    y = torch.zeros_like(x)
    twice[(3,)](x, y, 40, BLOCK=16)
    if not torch.equal(y, x + x):
        raise ValueError("a kernel gave a wrong result")


def probe() -> str:
    for name in ("triton", "torch"):
        if importlib.util.find_spec(name) is None:
            return f"checks: the Python package {name} is not installed"
    import torch

    cuda = torch.cuda.is_available()
    os.environ.pop("TRITON_INTERPRET", None)
    if not cuda:
        os.environ["TRITON_INTERPRET"] = "1"
    import triton

    where = torch.cuda.get_device_name() if cuda else "interpreter on the CPU"
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        try:
            run_one("cuda" if cuda else "cpu")
        except Exception as e:
            reason = " ".join(str(e).split())[:200]
            return f"checks: triton {triton.__version__} fails ({where}): {reason}"
    return f"run: {where} (triton {triton.__version__})"


if __name__ == "__main__":
    gc.disable()  # nothing that is imported is garbage
    line = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is not the answer
    print(probe(), file=line, flush=True)
    gc.freeze()  # nor is it searched at the end
