"""Verdicts a minute on one device, against a fresh Python process per candidate
that makes its inputs on the CPU, as KernelBench's evaluator does; one run.

    python3 bench/verify.py [--device cuda:0] [--copies N] [--children N] [--prewarm N]
                             [--fresh N] [--tasks NAME,NAME…] [--define NAME=VALUE]…
                             [--untimed] [--worker FOLDER]

Ten starter tasks, or those named, with a correct Triton kernel each. `--define` gives them
other sizes, as `monkeys verify` does. Fresh processes are slow: --fresh N judges only N tasks in them. Needs
monkeys-worker (make worker) and a Python with torch; not monkeys. With --untimed and --worker two
builds can be compared in little time, also by their judges' processor time, which does not depend
on what else the machine does.
"""

import argparse
import contextlib
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TASKS = ["01_swish", "02_gelu", "04_softmax", "05_logsumexp", "07_layer_norm", "08_rms_norm",
         "10_matmul", "11_linear_relu", "14_cumsum", "22_mse_loss"]  # fmt: skip

FRESH = r"""
import importlib.util, sys, torch
task, candidate, device = sys.argv[1:]
space = {}
exec(open(task).read(), space)
spec = importlib.util.spec_from_file_location("candidate", candidate)
module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)
torch.manual_seed(42); init = space["get_init_inputs"]()
torch.manual_seed(42); model = space["Model"](*init).to(device)
torch.manual_seed(42); new = module.ModelNew(*init).to(device)
with torch.no_grad():
    for trial in range(5):
        torch.manual_seed(trial)
        inputs = [x.to(device) if isinstance(x, torch.Tensor) else x for x in space["get_inputs"]()]
        a, b = model(*inputs), new(*inputs)
        assert torch.allclose(a, b, atol=1e-4, rtol=1e-4), trial
"""


def source(name: str, defines: list[str]) -> str:
    text = (ROOT / f"tasks/starter/{name}.py").read_text()
    for one in defines:
        constant, _, value = one.partition("=")
        text = re.sub(rf"^{constant} = .*$", f"{constant} = {value}", text, flags=re.M)
    return text


def job(name: str, copy: int, o: argparse.Namespace, timing: bool) -> bytes:
    what = {
        "kind": "verify", "pack": "triton", "family": "triton", "device": o.device, "precision": "fp32",
        "protocol": "hardened", "timing": timing,
        "task": {"id": f"starter/{name}", "sidecar": sidecar(name),
                 "source": source(name, o.define)},
        # A comment of its own: no copy finds another's compiled kernel.
        "candidate": (ROOT / f"tests/verify/triton/{name}.py").read_text() + f"\n# {copy}\n",
        "seed": hashlib.sha256(f"{name} {copy}".encode()).hexdigest(),
        "pool": hashlib.sha256(f"{name} {copy // 16}".encode()).hexdigest(),
        "deadlines": {"load_ms": 60000, "call_ms": 60000, "timing_ms": 60000},
        "limits": {"memory_bytes": 0},
    }  # fmt: skip
    payload = json.dumps(what).encode()
    return f"monkeys/1 job {name}-{copy} 600000 {len(payload)}\n".encode() + payload


def sidecar(name: str) -> dict:
    path = ROOT / f"tasks/starter/{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def answers(path: Path) -> list[dict]:
    data, found = path.read_bytes(), []
    while data:
        head, _, data = data.partition(b"\n")
        _, kind, name, _, size = head.split()
        body, data = data[: int(size)], data[int(size) :]
        if kind == b"answer":
            found.append(json.loads(body) | {"job": name.decode()})
        elif kind == b"infra":
            found.append({"verdict": "infra", "infra": body.decode(), "job": name.decode()})
    return found


def judge_ms(worker: int) -> float:
    """Processor time so far of the judge, whose one thread serves all jobs of a device."""
    for child in Path(f"/proc/{worker}/task/{worker}/children").read_text().split():
        with contextlib.suppress(OSError):
            if b"judge/judge.py" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(Path(f"/proc/{child}/schedstat").read_text().split()[0]) / 1e6
    return 0.0


def ours(o: argparse.Namespace, copies: int, timing: bool) -> tuple[float, float, list[dict]]:
    """Verdicts a minute, and milliseconds of the judge for each, from the moment on at which every
    task has had one: what starts once (imports, a task's gate and baselines) is paid once in a run
    of thousands."""
    with tempfile.TemporaryDirectory() as folder:
        jobs, out = Path(folder, "jobs"), Path(folder, "out")
        jobs.write_bytes(
            b"".join(job(n, c, o, timing) for c in range(copies) for n in o.tasks)
        )
        argv = [Path(o.worker or ROOT) / "monkeys-worker", "--jobs", jobs, "--out", out, "--device", o.device,
                "--cache", Path(folder, "cache")]  # fmt: skip
        argv += ["--children", str(o.children)] if o.children else []
        argv += ["--prewarm", str(o.prewarm)] if o.prewarm >= 0 else []
        worker = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
        start = last = None
        begun = seen = count = 0
        used = [0.0, 0.0]  # of the judge, at the first and the last of these verdicts
        while worker.poll() is None or count != seen:
            heads = re.findall(rb"monkeys/1 answer (\S+)-\d+ ", out.read_bytes() if out.exists() else b"")
            count = len(heads)
            if start is None and len(set(heads)) == len(o.tasks):
                start, begun, used[0] = time.monotonic(), count, judge_ms(worker.pid)
            if count != seen:
                last, seen, used[1] = time.monotonic(), count, judge_ms(worker.pid) or used[1]
            time.sleep(0.02)
        found = answers(out)
    span = max(1e-9, last - start) if start is not None else float("inf")
    return 60 * (seen - begun) / span, (used[1] - used[0]) / max(1, seen - begun), found


def fresh(o: argparse.Namespace, python: str) -> float:
    """Candidates a minute, a process each."""
    environment = dict(os.environ)
    if o.device == "cpu":
        environment["TRITON_INTERPRET"] = "1"
    start = time.monotonic()
    for name in o.tasks[: o.fresh]:
        with tempfile.TemporaryDirectory() as cache:
            task = Path(cache, "task.py")
            task.write_text(source(name, o.define))
            argv = [python, "-c", FRESH, task, ROOT / f"tests/verify/triton/{name}.py", o.device]
            subprocess.run(argv, check=True, env=environment | {"TRITON_CACHE_DIR": cache})
    return 60 * min(o.fresh, len(o.tasks)) / (time.monotonic() - start)


def stages(found: list[dict]) -> dict[str, float]:
    """Median milliseconds of each stage."""
    rows: dict[str, list[float]] = {}
    for answer in found:
        for stage, ms in answer.get("times_ms", {}).items():
            rows.setdefault(stage, []).append(ms)
    return {stage: sorted(ms)[len(ms) // 2] for stage, ms in rows.items()}


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("build", nargs="?")
    p.add_argument("--device", default="cpu")
    p.add_argument("--copies", type=int, default=2)
    p.add_argument("--children", type=int, default=0)
    p.add_argument("--prewarm", type=int, default=-1)
    p.add_argument("--fresh", type=int, default=len(TASKS), choices=range(1, len(TASKS) + 1))
    p.add_argument("--tasks", type=lambda text: text.split(","), default=TASKS)
    p.add_argument("--define", action="append", default=[])
    p.add_argument("--worker", help="the folder of another build, whose worker is measured")
    p.add_argument("--untimed", action="store_true", help="only without timing, and without the base")
    o = p.parse_args()
    python = os.environ.get("MONKEYS_PYTHON") or str(ROOT / ".venv/bin/python")
    if not os.path.exists(python):
        python = sys.executable
    print(f"bench/verify: {len(o.tasks)} tasks x {o.copies}, {o.device}, {platform.machine()}")
    base = 0.0 if o.untimed else fresh(o, python)
    if base:
        print(f"  a fresh process each:   {base:8.1f} a minute")
    for timing in (False,) if o.untimed else (False, True):
        rate, judge, found = ours(o, o.copies, timing)
        wrong = [a for a in found if a["verdict"] != "correct"]
        word = "with timing" if timing else "timing off"
        print(f"  monkeys-worker, {word + ':':13s} {rate:6.1f} a minute{f', ratio {rate / base:5.1f}' if base else ''}, "
              f"{len(found) - len(wrong)} of {len(found)} correct, "
              f"{judge:.1f} ms of the judge's processor for each")  # fmt: skip
        print(f"    median ms: {stages(found)}")
        for a in wrong[:3]:
            print(f"    {a['job']}: {a['verdict']} {(a.get('feedback') or a.get('infra'))[:500]}")


main()
