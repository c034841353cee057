"""probe.py: what this machine can do with CuTe DSL: nothing, compile, or run."""
import importlib.metadata
import importlib.util
import shutil
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker"))

from shared import packages  # noqa: E402

NEEDED = (4, 5)


def package() -> tuple[bool, str]:
    """The module's name is also that of an older package, so the distribution counts, too."""
    try:
        version = importlib.metadata.version("nvidia-cutlass-dsl")
    except importlib.metadata.PackageNotFoundError:
        return False, "nvidia-cutlass-dsl is not installed (./setup pack cute-dsl)"
    if importlib.util.find_spec("cutlass") is None:
        return False, "nvidia-cutlass-dsl is installed, but there is no module cutlass"
    numbers = [part for part in version.split(".")[:2] if part.isdigit()]
    if len(numbers) == 2 and (int(numbers[0]), int(numbers[1])) < NEEDED:
        return False, f"nvidia-cutlass-dsl {version} is older than {NEEDED[0]}.{NEEDED[1]}"
    try:
        import cutlass.cute  # noqa: F401
    except Exception as error:  # a broken installation raises anything
        return False, f"import cutlass.cute fails: {type(error).__name__}: {error}".splitlines()[0]
    return True, f"nvidia-cutlass-dsl {version}"


def device() -> tuple[bool, str]:
    if not Path("/dev/nvidia0").exists() and shutil.which("nvidia-smi") is None:
        return False, "no CUDA device"
    if importlib.util.find_spec("torch") is None:
        return False, "torch is not installed"
    import torch

    if not torch.cuda.is_available():
        return False, "torch sees no CUDA device"
    return True, torch.cuda.get_device_name()


def main() -> None:
    packages.add("cute-dsl")
    usable, why = package()
    if not usable:
        print(f"checks: {why}")
        return
    runs, what = device()
    print(f"{'run' if runs else 'compile'}: {why}, {what}")


if __name__ == "__main__":
    main()
