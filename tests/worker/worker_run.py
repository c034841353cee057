"""A worker for tests: what it is asked, built where the tree has none, given a file of jobs, its
answers read back, and what it leaves found. Nothing here judges anything."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERIFY = ROOT / "tests" / "verify"
sys.path.append(str(VERIFY))

import patches  # noqa: E402

ENTRIES = patches.read_all()
HOSTILE = {name: entry for name, entry in ENTRIES.items() if not entry.harmless}
STYLES = patches.read_all(VERIFY / "honest")
COMPILE = ("cc", "-std=c11", "-D_GNU_SOURCE", "-I" + str(ROOT / "src"), "-O1")


def framed(id: str, deadline_ms: int, body: dict) -> bytes:
    payload = json.dumps(body).encode()
    return f"monkeys/1 job {id} {deadline_ms} {len(payload)}\n".encode() + payload


def seed_of(id: str) -> str:
    return hashlib.sha256(id.encode()).hexdigest()


@dataclass
class Job:
    """One candidate; `id` is what its answer is found by."""

    id: str
    pack: str
    task: Path
    candidate: Path | str  # a file, or its text
    call_ms: int = 60000
    load_ms: int = 60000
    memory: int = 0
    timing: bool = False
    timing_ms: int = 20000
    sidecar: dict = field(default_factory=dict)
    device: str = "cpu"
    precision: str = "fp32"
    deadline_ms: int = 600000
    family: str | None = "the pack's"

    def frame(self) -> bytes:
        family = family_of(self.pack) if self.family == "the pack's" else self.family
        text = self.candidate if isinstance(self.candidate, str) else self.candidate.read_text()
        return framed(self.id, self.deadline_ms, {
            "kind": "verify", "pack": self.pack, "family": family, "device": self.device, "precision": self.precision,
            "protocol": "hardened", "timing": self.timing, "candidate": text,
            "task": {"id": self.task.stem, "source": self.task.read_text(), "sidecar": self.sidecar},
            "seed": seed_of(self.id),
            "deadlines": {"load_ms": self.load_ms, "call_ms": self.call_ms, "timing_ms": self.timing_ms},
            "limits": {"memory_bytes": self.memory},
        })  # fmt: skip


@dataclass
class TaskJob:
    """Whether a task can be judged, as `tasks check` asks."""

    id: str
    source: str
    sidecar: dict | None = None
    device: str = "cpu"
    precision: str = "fp32"
    self_test: bool = False
    seed: str = ""
    deadline_ms: int = 600000

    def frame(self) -> bytes:
        return framed(self.id, self.deadline_ms, {
            "kind": "task", "device": self.device, "precision": self.precision, "self_test": self.self_test,
            "task": {"id": f"tests/{self.id}", "source": self.source, "sidecar": self.sidecar},
            "seed": self.seed or seed_of(self.id),
        })  # fmt: skip


@dataclass
class PieceJob:
    """Takes a task apart: `decompose`, or `validate` where there is a proposal."""

    id: str
    source: str
    level: str = "coarse"
    proposal: object = None
    call_ms: int = 60000
    deadline_ms: int = 600000

    def frame(self) -> bytes:
        proposed = {} if self.proposal is None else {"proposal": self.proposal}
        return framed(self.id, self.deadline_ms, {
            "kind": "validate" if proposed else "decompose", "device": "cpu",
            "precision": "fp32", "level": self.level,
            "task": {"id": f"tests/{self.id}", "source": self.source, "sidecar": None},
            "seed": seed_of(self.id),
            "deadlines": {"call_ms": self.call_ms}, "limits": {"memory_bytes": 0}, **proposed,
        })  # fmt: skip


def family_of(pack: str) -> str | None:
    """How the pack's launches are recorded, as its pack.json says."""
    return json.loads((ROOT / "packs" / pack / "pack.json").read_text())["run"].get("family")


def hostile_job(name: str, **more: object) -> Job:
    """As its table says (tests/verify/patches.py)."""
    entry = ENTRIES[name]
    return Job(**{"id": name, "pack": entry.pack, "task": entry.task, "candidate": entry.text(),
                  **entry.options, **more})  # fmt: skip


def make_home(folder: Path) -> tuple[Path, Path]:
    """(worker program, its home): the tree's own, built where it is not yet."""
    program = ROOT / "monkeys-worker"
    if not program.exists():
        subprocess.run(["make", "-C", ROOT, "worker"], check=True, stdout=subprocess.DEVNULL)
    return program, ROOT


@dataclass
class Outcome:
    status: int
    log: str
    answers: dict[str, dict]
    infra: dict[str, str]
    groups_left: set[str] = field(default_factory=set)


def run(program: Path, home: Path, folder: Path, jobs: list[Job], children: int = 8,
        scratch: Path | None = None, box: str = "auto",
        environment: dict[str, str] | None = None, packs: Path | None = None) -> Outcome:  # fmt: skip
    """Runs the jobs in order of the list, `children` at once."""
    (folder / "jobs").write_bytes(b"".join(job.frame() for job in jobs))
    argv = [program, "--home", home, "--python", sys.executable, "--children", str(children),
            "--jobs", folder / "jobs", "--out", folder / "out", "--box", box, "--cache", "none",
            "--scratch", scratch or folder, *(["--packs", packs] if packs else [])]  # fmt: skip
    worker = subprocess.Popen(
        argv, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        log = worker.communicate(timeout=900)[0].decode(errors="replace")
    finally:
        worker.kill()
    answers, infra = read_frames((folder / "out").read_bytes())
    return Outcome(worker.returncode, log, answers, infra, own_groups(worker.pid))


def read_frames(data: bytes) -> tuple[dict[str, dict], dict[str, str]]:
    answers, infra = {}, {}
    while data:
        head, _, data = data.partition(b"\n")
        _, kind, name, _, size = head.decode().split()
        payload, data = data[: int(size)], data[int(size) :]
        if kind == "answer":
            answers[name] = json.loads(payload)
        elif kind == "infra":
            infra[name] = payload.decode(errors="replace")
    return answers, infra


def described(name: str, answer: dict) -> str:
    return f"{name}: {answer['verdict']} {answer['rule']} ({answer['stage']}): {answer['feedback']}"


def as_expected(answer: dict, name: str) -> bool:
    """Verdict and rule are those of its entry; others are to be correct."""
    verdicts, rules = ["correct"], [None]
    if name in ENTRIES:
        verdicts, rules = ENTRIES[name].verdicts, ENTRIES[name].rules
    return answer["verdict"] in verdicts and answer["rule"] in rules


# ---- what is left -------------------------------------------------------------


def processes_of(mark: str) -> list[str]:
    """Command lines that hold `mark`: a worker's servers and children are known by
    their scratch folder."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if mark in line:
                found.append(line)
    return found


def own_groups(worker: int | str = "*") -> set[str]:
    """Memory groups that workers, or the one with that pid, made below our own."""
    found: set[str] = set()
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kind, place = line.split(":", 2)
        if kind in ("", "memory"):
            base = Path("/sys/fs/cgroup") / kind / place.strip("/")
            found |= {str(p) for p in base.glob(f"monkeys-{worker}-*")}
    return found
