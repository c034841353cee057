"""What only a GPU can show, with real workers; a line a claim (TAP), exit status 1 when
one does not hold. Needs monkeys-worker (make worker) and a Python with torch and triton;
neither monkeys nor pytest.

    python3 tests/gpu/run.py [--device cuda:0] [--out FILE] [--kernelbench DIR] [--match REGEX]
                             [--precision fp32|bf16] [FAMILY...]

Families: runner, packs, seeds, starter, exports, timing, faults, hostile, rules, and for the tasks below DIR
gate, which looks at them, and causal, which judges attention with and without its mask. --out keeps
every answer, a line of JSON each. --match leaves out seeds and tasks of the gate whose name,
NN_name-PACK-PRECISION or levelN-FILE, it does not match; --precision leaves out the gate in the other one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "worker"))

from worker_run import VERIFY, Job, TaskJob, make_home, patches  # noqa: E402
from worker_session import Session  # noqa: E402

CANDIDATES = ROOT / "tests" / "gpu" / "candidates"
OWN = patches.read_all(CANDIDATES)
FAULTS = patches.read(CANDIDATES / "faults.patches")
TRICKS = patches.read(CANDIDATES / "tricks.patches")
STARTER = ROOT / "tasks" / "starter"
PACKS = ROOT / "packs"
RELU = VERIFY / "tasks" / "relu.py"
BOTH = ("fp32", "bf16")
KERNELBENCH = ("causal", "gate")  # families that need its tasks


# What a user does with a delivered file. Weights are those of one seed; the second call is not the
# first, and a right answer is close to the reference's, not equal.
USER = """
import importlib, sys
import torch
device, *names = sys.argv[1:]
for name in names:
    try:
        file = importlib.import_module(name)
        models = []
        for made in (file.Model, file.ModelNew):
            torch.manual_seed(7)
            models.append(made(*file.get_init_inputs()).to(device))
        for seed in (1, 2):
            torch.manual_seed(seed)
            args = [x.to(device) if isinstance(x, torch.Tensor) else x for x in file.get_inputs()]
            with torch.no_grad():
                wanted, found = (m(*args) for m in models)
            far = (wanted.double() - found.double()).norm() / wanted.double().norm()
            assert wanted.shape == found.shape and wanted.dtype == found.dtype and far < 1e-3, far
        print(name, "same")
    except Exception as problem:
        print(name, repr(problem).replace(chr(10), " "))
"""


class Run:
    def __init__(self, o: argparse.Namespace) -> None:
        self.o = o
        self.count = self.failed = 0
        self.kept = open(o.out, "a") if o.out else None

    def claim(self, holds: bool, what: str, why: str = "") -> None:
        self.count += 1
        self.failed += not holds
        print(f"{'ok' if holds else 'not ok'} {self.count} - {what}", flush=True)
        if not holds:
            print("".join(f"#   {line}\n" for line in why.splitlines()), end="", flush=True)

    def session(self, jobs: list, children: int = 4) -> Session:
        """All of them at one worker, until each is answered."""
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)
            program, home = make_home(folder)
            options = ("--device", self.o.device, "--cache", str(folder / "cache"))
            with Session(program, home, folder, children, options) as worker:
                worker.heard = self.keep
                worker.run(jobs, len(jobs), timeout_s=500)
                worker.leave()
            if worker.notes:
                print("".join(f"# {line}\n" for note in worker.notes for line in note.splitlines()))
        print(f"# {len(jobs)} jobs in {time.monotonic() - started:.1f} s")
        return worker

    def keep(self, id: str, answer: dict) -> None:
        if self.kept:
            print(json.dumps({"id": id} | answer), file=self.kept, flush=True)

    def job(self, id: str, pack: str, task: Path, candidate: Path | str, **more: object) -> Job:
        path = task.with_suffix(".json")
        sidecar = json.loads(path.read_text()) if path.exists() else {}
        return Job(id, pack, task, candidate, device=self.o.device, sidecar=sidecar, **more)

    def good(self, id: str, **more: object) -> Job:
        return self.job(id, "triton", STARTER / "01_swish.py", VERIFY / "triton" / "01_swish.py", **more)

    def own(self, name: str, id: str = "", **more: object) -> Job:
        entry = OWN[name]
        return self.job(id or name, entry.pack, entry.task, entry.text(), **{**entry.options, **more})

    def all_correct(self, jobs: list[Job], children: int = 4) -> Session:
        worker = self.session(jobs, children)
        for job in jobs:
            answer = worker.answers.get(job.id, {})
            right = answer.get("verdict") == "correct" and answer.get("evidence") == "E3"
            self.claim(right, f"{job.id} is correct at E3", self.outcome(worker, job.id))
        return worker

    def as_expected(self, worker: Session, entry: patches.Entry) -> None:
        verdict = worker.answers.get(entry.name, {}).get("verdict")
        self.claim(verdict in entry.verdicts, f"{entry.name} is {' or '.join(entry.verdicts)}",
                   self.outcome(worker, entry.name))  # fmt: skip

    def outcome(self, worker: Session, id: str) -> str:
        if id in worker.infra:
            return f"infra: {worker.infra[id]}"
        answer = worker.answers[id]
        return f"{answer['verdict']} {answer['rule']} ({answer['stage']}): {answer['feedback']}"

    # ---- families ----

    def listed(self, name: str, precisions: tuple[str, ...], only: str = "") -> list[Job]:
        """The lines of a list: pack, task and candidate, or those of one pack without its name."""
        lines = (VERIFY / name).read_text().splitlines()
        rows = [line.split() for line in lines if line and not line.startswith("#")]
        rows = [[only, *row] for row in rows] if only else rows
        return [
            self.job(f"{Path(candidate).parent.name}-{Path(candidate).stem}-{pack}-{p}", pack,
                     ROOT / task, ROOT / candidate, precision=p)
            for p in precisions for pack, task, candidate in rows
        ]  # fmt: skip

    def packs(self) -> None:
        """What candidates draw in their constructors, they draw without the device: the judge must
        have the same values."""
        self.all_correct([*self.listed("gpu.list", ("fp32",)), self.own("unregistered")])

    def seeds(self) -> None:
        """Of every pack that runs here, in each precision that it has; timed in bf16."""
        jobs = [job for folder in sorted(PACKS.glob("*/seeds")) for job in self.seeds_of(folder.parent)
                if re.search(self.o.match, job.id)]  # fmt: skip
        worker = self.all_correct(jobs, max(4, min(12, len(os.sched_getaffinity(0)))))
        for job in jobs:
            answer = worker.answers.get(job.id, {})
            timing = answer.get("timing") or {}
            times = [(timing.get(k) or {}).get("median") for k in ("ms", "reference_ms", "compile_ms")]
            if times[0]:
                ratios = " ".join(f"{t / times[0]:.2f}" if t else "-" for t in times[1:])
                print(f"#   {job.id}: {times[0]:.4f} ms, times eager and torch.compile: {ratios}")

    def seeds_of(self, pack: Path) -> list[Job]:
        spec = json.loads((pack / "pack.json").read_text())
        if "cuda" not in spec["run"]["devices"]:
            return []
        done = subprocess.run([sys.executable, "probe.py"], cwd=pack, capture_output=True, text=True, check=False)
        if not done.stdout.startswith("run:"):
            print(f"# the seeds of {pack.name} are left out: {(done.stdout or done.stderr)[-300:].strip()}")
            return []
        return [
            self.job(f"{seed.name}-{pack.name}-{p}", pack.name, seed / "task.py", seed / "solution.py",
                     precision=p, timing=p == "bf16", timing_ms=60000,
                     load_ms=spec["build"]["timeout_s"] * 1000)
            for p in BOTH if p in spec["run"]["dtypes"]
            for seed in sorted((pack / "seeds").iterdir())
        ]  # fmt: skip

    def starter(self) -> None:
        files = sorted((VERIFY / "triton").glob("*.py"))
        self.all_correct([
            self.job(f"{f.stem}-{p}", "triton", STARTER / f.name, f, precision=p)
            for p in BOTH for f in files
        ])  # fmt: skip

    def exports(self) -> None:
        """Delivered files in plain Python, beside their tasks' own models."""
        files = sorted((VERIFY / "triton").glob("*.py"))
        worker = self.session([
            self.job(f.stem, "triton", STARTER / f.name, f) for f in files
        ])  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            names = []
            for stem, answer in sorted(worker.answers.items()):
                self.claim(bool(answer.get("ported")), f"{stem} is delivered", str(answer.get("ported_why")))
                if answer.get("ported"):
                    names.append(f"delivered_{stem}")
                    (Path(folder) / f"{names[-1]}.py").write_text(answer["ported"])
            done = subprocess.run([sys.executable, "-c", USER, self.o.device, *names], cwd=folder, text=True,
                                  capture_output=True, check=False)  # fmt: skip
            found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
            for name in names:
                self.claim(found.get(name) == "same", f"{name} does what its task does",
                           found.get(name, done.stderr[-2000:]))  # fmt: skip

    def timing(self) -> None:
        """Figures for kernel, reference and the reference under torch.compile."""
        names = ("01_swish", "04_softmax", "10_matmul")
        jobs = [
            self.job(f"{n}-timed", "triton", STARTER / f"{n}.py", VERIFY / "triton" / f"{n}.py",
                     timing=True, timing_ms=60000)
            for n in names
        ]  # fmt: skip
        worker = self.all_correct(jobs)
        for job in jobs:
            timing = worker.answers.get(job.id, {}).get("timing") or {}
            whole = all(timing.get(k) for k in ("ms", "host_ms", "reference_ms", "compile_ms"))
            self.claim(whole, f"{job.id} has its figures", str(timing))
            for k in ("ms", "host_ms", "reference_ms", "compile_ms"):
                print(f"#   {k}: {timing.get(k)}")

    def faults(self) -> None:
        """Each is followed by ten good ones."""
        jobs = []
        for entry in FAULTS:
            jobs.append(self.own(entry.name))
            jobs += [self.good(f"{entry.name}-then-{i}") for i in range(10)]
        worker = self.session(jobs)
        for entry in FAULTS:
            name = entry.name
            self.as_expected(worker, entry)
            after = [worker.answers.get(f"{name}-then-{i}", {}).get("verdict") for i in range(10)]
            self.claim(after == ["correct"] * 10, f"the ten after {name} are correct", str(after))
        ended = [note for note in worker.notes if note.startswith("the judge ended")]
        self.claim(not ended, "none of them ended the judge", "\n".join(ended))

    def hostile(self) -> None:
        """Rows of docs/VERIFIER-catalogue.md that only a GPU has, and what the trace makes of
        those whose trick has no effect."""
        worker = self.session([*(self.own(entry.name) for entry in TRICKS),
                               self.own("tf32", "tf32-allowed", precision="tf32")])  # fmt: skip
        for entry in TRICKS:
            self.as_expected(worker, entry)
        allowed = worker.answers.get("tf32-allowed", {})
        self.claim(allowed.get("verdict") == "correct", "tf32-allowed is correct", self.outcome(worker, "tf32-allowed"))
        for name in ("side_stream", "swapped_events"):
            ms = ((worker.answers.get(name, {}).get("timing") or {}).get("ms") or {}).get("median", 0)
            self.claim(ms > 0.5, f"{name} is timed with all its work ({ms:.3f} ms)")

    def rules(self) -> None:
        """Rule 7.14: memory of another process, as the judge is one, is out of a kernel's reach,
        on the device and on the host. A kernel that finds the pattern there is wrong; one that
        finds nothing dies, or is right where the address happens to be its own memory."""
        held = self.elsewhere()
        jobs = [self.own("elsewhere", "elsewhere-nowhere")]
        for name, address in held.items():
            text = OWN["elsewhere"].text().replace("ADDRESS = 0", f"ADDRESS = {address}")
            jobs.append(self.job(f"elsewhere-{name}", "cuda", RELU, text))
            jobs.append(self.good(f"after-{name}"))
        worker = self.session(jobs, 1)
        answer = worker.answers.get("elsewhere-nowhere", {})
        self.claim(answer.get("verdict") == "launch_error", "a kernel that reads address 0 dies",
                   self.outcome(worker, "elsewhere-nowhere"))  # fmt: skip
        for name in held:
            found = worker.answers.get(f"elsewhere-{name}", {}).get("verdict")
            self.claim(found in ("launch_error", "correct"), f"{name} memory of another process is out of reach",
                       self.outcome(worker, f"elsewhere-{name}"))  # fmt: skip
            after = worker.answers.get(f"after-{name}", {}).get("verdict")
            self.claim(after == "correct", f"the one after {name} is correct", self.outcome(worker, f"after-{name}"))

    def elsewhere(self) -> dict[str, int]:
        """Addresses in this process, where the pattern lies: device memory, host memory that a
        device may address, and plain host memory. They stay until the run ends."""
        import torch

        pattern = torch.full((1 << 20,), 12345.0)
        self.held = {"device": pattern.to(self.o.device), "pinned": pattern.pin_memory(), "plain": pattern}
        torch.cuda.synchronize()
        return {name: t.data_ptr() for name, t in self.held.items()}

    def runner(self) -> None:
        """monkeys-runner by itself."""
        done = subprocess.run([sys.executable, CANDIDATES.parent / "runner_check.py"], capture_output=True,
                              text=True, check=False)  # fmt: skip
        self.claim(done.returncode == 0, "monkeys-runner does on the GPU what torch does",
                   done.stdout[-3000:] + done.stderr[-2000:])  # fmt: skip

    def causal(self) -> None:
        """A mask in a buffer is part of the program: who masks by position is right."""
        jobs, text = [], (CANDIDATES / "causal.py").read_text()
        for number, masked in itertools.product((43, 44, 50), (True, False)):
            mine = text.replace("TASK = 43", f"TASK = {number}").replace("MASKED = True", f"MASKED = {masked}")
            [task] = Path(self.o.kernelbench).glob(f"level3/{number}_*.py")
            name = f"{number}-{'with' if masked else 'without'}-its-mask"
            jobs.append(self.job(name, "triton", task, mine, call_ms=60000))
        worker = self.session(jobs)
        for job in jobs:
            answer = worker.answers.get(job.id, {})
            wanted = ("correct", "E3") if "-with-" in job.id else ("wrong_values", "E0")
            found = answer.get("verdict"), answer.get("evidence")
            self.claim(found == wanted, f"{job.id} is {wanted[0]}", self.outcome(worker, job.id))

    def gate(self) -> None:
        files = sorted(Path(self.o.kernelbench).glob("level[123]/*.py"))
        for precision in (self.o.precision,) if self.o.precision else BOTH:
            ids = {f"{f.parent.name}-{f.stem}"[:150]: f for f in files}
            ids = {id: f for id, f in ids.items() if re.search(self.o.match, id)}
            jobs = [TaskJob(id, f.read_text(), {}, self.o.device, precision, True, seed="5e" * 32)
                    for id, f in ids.items()]  # fmt: skip
            worker = self.session(jobs)
            self.claim(len(worker.answers) == len(ids) and not worker.infra,
                       f"{precision}: all {len(ids)} tasks are answered", str(worker.infra))  # fmt: skip
            usable = {i: a for i, a in worker.answers.items() if a["usable"]}
            for id, answer in sorted(worker.answers.items()):
                if id not in usable:
                    print(f"#   {precision} {id}: {'; '.join(answer['reasons'])}")
            tests = {i: a["self_test"] for i, a in usable.items()}
            perfect = [i for i, t in tests.items() if not t["perfect"]]
            self.claim(not perfect, f"{precision}: a perfect answer passes all {len(usable)}", str(perfect))
            odd = [f"{i}: {a['literal']}" for i, a in usable.items() if not a["self_test"]["literal"]]
            trials = sum(a["literal"]["trials"] for a in usable.values())
            print(f"#   {precision}: {len(usable)} tasks usable; as written right in "
                  f"{sum(a['literal']['passed'] for a in usable.values())} of {trials} trials")  # fmt: skip
            for id, a in sorted(usable.items()):
                if a["literal"]["inexact"]:
                    print(f"#   {id}: the reference itself is too far off in {', '.join(a['literal']['inexact'])}")
            self.claim(not odd, f"{precision}: every task as written passes in each trial", "; ".join(odd))
            right = ("perfect", "literal")
            passing = {i: [k for k, v in t.items() if k not in right and v] for i, t in tests.items()}
            passing = {i: names for i, names in passing.items() if names}
            self.claim(not passing, f"{precision}: nothing else passes one", str(passing))


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--out")
    p.add_argument("--kernelbench")
    p.add_argument("--match", default="")
    p.add_argument("--precision", choices=BOTH)
    p.add_argument("families", nargs="*")
    o = p.parse_args()
    run = Run(o)
    families: dict[str, Callable[[], None]] = {
        name: getattr(run, name)
        for name in ("runner", "packs", "seeds", "starter", "exports", "timing", "faults", "hostile", "rules", "causal", "gate")
    }
    wanted = o.families or [name for name in families if name not in KERNELBENCH or o.kernelbench]
    for name in wanted:
        if name not in families or (name in KERNELBENCH and not o.kernelbench):
            p.error(f"{name}: no such family, or --kernelbench is missing")
        print(f"# {name}", flush=True)
        families[name]()
    print(f"1..{run.count}")
    return 1 if run.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
