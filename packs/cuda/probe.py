"""probe.py: what this machine can do with CUDA C++: nothing, compile, or run."""
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

NEEDED = (12, 4)
TARGET = "arch=compute_90a,code=sm_90a"
KERNEL = """__global__ void probe(float *x)
{
    x[threadIdx.x] += 1.0f;
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
    program = nvcc()
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
        argv = [program, "-std=c++17", "-gencode", TARGET, "-cubin", "-o", "probe.cubin", "probe.cu"]
        status, text = output(argv, folder)
    if status != 0:
        last = (text.strip().splitlines() or ["no message"])[-1]
        return False, f"nvcc cannot compile a small kernel: {last}"
    return True, f"nvcc {release[0]}.{release[1]}"


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
