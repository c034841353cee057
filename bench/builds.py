"""What keeping compiled candidates is worth: the time to a verdict of C candidates that
are compiled as they load, compiled before they run, and found compiled; one run. Also
how long nvcc takes for a kernel, and how long its result takes to be put in place.

    python3 bench/builds.py
"""

import importlib.util
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
python = os.environ.get("MONKEYS_PYTHON") or str(ROOT / ".venv/bin/python")
if importlib.util.find_spec("torch") is None and os.path.exists(python):
    os.execv(python, [python, *sys.argv])
sys.path[:0] = [str(ROOT / p) for p in ("tests/worker", "worker", "packs/cuda")]

import worker_run  # noqa: E402
from worker_run import Job  # noqa: E402
from worker_session import Session  # noqa: E402


def jobs(folder: Path, round_name: str) -> list[Job]:
    pairs = (ROOT / "tests/verify/starter-c-cpu.list").read_text().split()
    return [
        Job(f"{round_name.replace(' ', '-')}-{Path(c).stem}", "c-kept", ROOT / t, ROOT / c)
        for t, c in zip(pairs[::2], pairs[1::2])
    ]


def rounds(folder: Path, cache: str, names: list[str]) -> dict[str, tuple[float, float]]:
    """(median ms of a verdict, seconds of all) for each round over the same candidates."""
    program, home = worker_run.make_home(folder)
    found = {}
    packs = str(worker_run.pack_that_builds_before(folder))
    with Session(program, home, folder, 1, ("--cache", cache, "--packs", packs)) as worker:
        worker.run(jobs(folder, "first")[:1], 1)
        for name in names:
            start, todo = time.monotonic(), jobs(folder, name)
            worker.run(todo, 1)
            took = [worker.answers[j.id]["times_ms"]["total"] for j in todo]
            assert all(worker.answers[j.id]["verdict"] == "correct" for j in todo)
            found[name] = statistics.median(took), time.monotonic() - start
    return found


def nvcc() -> None:
    import cuda_build
    import native_adapter

    toolchain = cuda_build.toolchain("90a")
    text = (ROOT / "tests/verify/cuda/matmul.py").read_text()
    start = time.monotonic()
    data = native_adapter.prebuild(text, toolchain)
    built = time.monotonic() - start
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MONKEYS_CUDA_CACHE"] = folder
        start = time.monotonic()
        native_adapter.take_built(data, toolchain)
        taken = time.monotonic() - start
    print(f"  nvcc, a matrix product: {built * 1e3:.0f} ms, {len(data)} bytes put in place in "
          f"{taken * 1e3:.1f} ms, ratio {built / taken:.0f}")  # fmt: skip


def main() -> None:
    print(f"bench/builds: {platform.machine()}, {os.cpu_count()} cores")
    found = {}
    with tempfile.TemporaryDirectory() as base:
        for cache, names in (("none", ["as they load"]), ("kept", ["before they run", "found"])):
            folder = Path(base, cache)
            folder.mkdir()
            for part in (Path(base), folder):
                part.chmod(0o755)
            place = cache if cache == "none" else str(folder / "cache")
            found |= rounds(folder, place, names)
    plain = found["as they load"][0]
    for name, (median, seconds) in found.items():
        print(f"  C, compiled {name + ':':16s} {median:6.0f} ms a verdict, {seconds:5.1f} s in "
              f"all, ratio {plain / median:.2f}")  # fmt: skip
    try:
        nvcc()
    except RuntimeError as problem:
        print(f"  nvcc: {json.dumps(str(problem)[:100])}")


main()
