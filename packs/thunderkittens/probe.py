"""probe.py: what this machine can do with ThunderKittens: nothing, compile, or run."""
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

NEEDED = (12, 8)
FLAGS = [
    "-std=c++20", "--expt-relaxed-constexpr", "--expt-extended-lambda", "-DKITTENS_HOPPER",
    "-gencode", "arch=compute_90a,code=sm_90a", "-cubin", "-o", "probe.cubin",
    # The headers take char for signed, which it is not on every machine.
    "-Xcompiler=-fsigned-char", "-Xcudafe", "--signed_chars", "-Xcicc", "--signed_chars",
]
KERNEL = """#include "kittens.cuh"
using namespace kittens;
__global__ void probe(const __grid_constant__ gl<bf16, 1, 1, -1, -1> g)
{
    rt_fl<16, 16> t;
    warp::load(t, g, {0, 0, 0, 0});
    warp::store(g, t, {0, 0, 0, 1});
}
"""


def nvcc() -> str | None:
    """The compiler on PATH, or in the toolkit that CUDA_HOME or the usual place names."""
    found = shutil.which("nvcc")
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    candidates = [Path(home) / "bin" / "nvcc" for home in homes if home]
    return found or next((str(path) for path in candidates if os.access(path, os.X_OK)), None)


def output(argv: list[str], folder: str) -> tuple[int, str]:
    try:
        done = subprocess.run(
            argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=120, check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    return done.returncode, done.stdout.decode(errors="replace")


def compiler() -> tuple[bool, str]:
    root = os.environ.get("THUNDERKITTENS_ROOT")
    program = nvcc()
    if not root:
        return False, "THUNDERKITTENS_ROOT does not name a checkout of ThunderKittens"
    if not (Path(root) / "include" / "kittens.cuh").is_file():
        return False, f"there is no include/kittens.cuh in THUNDERKITTENS_ROOT ({root})"
    if program is None:
        return False, "nvcc is not on PATH"
    with tempfile.TemporaryDirectory() as folder:
        _, text = output([program, "--version"], folder)
        version = re.search(r"release (\d+)\.(\d+)", text)
        if version is None:
            return False, f"{program} --version says nothing of a release"
        release = (int(version[1]), int(version[2]))
        if release < NEEDED:
            return False, f"nvcc {release[0]}.{release[1]} is older than {NEEDED[0]}.{NEEDED[1]}"
        (Path(folder) / "probe.cu").write_text(KERNEL)
        status, text = output([program, *FLAGS, f"-I{root}/include", "probe.cu"], folder)
    if status != 0:
        last = (text.strip().splitlines() or ["no message"])[-1]
        return False, f"nvcc cannot compile a small kernel with the headers: {last}"
    return True, f"headers in {root}, nvcc {release[0]}.{release[1]}"


def device() -> tuple[bool, str]:
    if not Path("/dev/nvidia0").exists() and shutil.which("nvidia-smi") is None:
        return False, "no CUDA device"
    if importlib.util.find_spec("torch") is None:
        return False, "torch is not installed"
    import torch

    if not torch.cuda.is_available():
        return False, "torch sees no CUDA device"
    major, minor = torch.cuda.get_device_capability()
    name = torch.cuda.get_device_name()
    if major != 9:
        return False, f"{name} is sm_{major}{minor}, and the pack compiles for sm_90a"
    return True, name


def main() -> None:
    compiles, why = compiler()
    if not compiles:
        print(f"checks: {why}")
        return
    runs, what = device()
    print(f"{'run' if runs else 'compile'}: {why}, {what}")


if __name__ == "__main__":
    main()
