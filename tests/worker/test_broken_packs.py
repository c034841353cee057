"""A pack whose own code fails is the machinery's fault: the job ends as infra, and the
reason names the pack's file. A candidate is never blamed for it, and cannot claim it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import worker_run
from worker_run import ROOT, VERIFY, Job, family_of
from worker_session import Session

RAISES = '    raise RuntimeError("no widget")\n'
HERE = "adapter.py, line "
# What is put behind the adapter of a pack, the pack, and what is told. These end the zygote…
BROKEN = {
    "prepare": ("c-cpu", f"def prepare(mode):\n{RAISES}", "RuntimeError: no widget (", HERE),
    "identity": ("c-cpu", f"def identity():\n{RAISES}", "RuntimeError: no widget (", HERE),
    "no-compile": ("c-cpu", "del compile\n", "adapter.py has no function compile"),
}  # fmt: skip
# … and these a child of one that has read them from a file (SWITCH).
SWITCHED = {
    "child": ("c-cpu", RAISES.strip(), "RuntimeError: no widget (", HERE),
    "claims": ("c-cpu", f"def claims():\n{RAISES}", "RuntimeError: no widget (", HERE),
    "install": ("c-cpu", f"def install(current):\n{RAISES}", "RuntimeError: no widget (", HERE),
    "compile": ("c-cpu", f"def compile(request):\n{RAISES}", HERE,
                "in compile: RuntimeError: no widget"),
    "nothing-compiled": ("c-cpu", "def compile(request):\n    pass\n",
                         "adapter.py, as it is called: TypeError: compile returned NoneType"),
    "interpreter": ("triton", f"def interpreter(message, region):\n{RAISES}",
                    HERE, "in interpreter: RuntimeError: no widget"),
    "run": ("triton", "class Broken:\n    def run(self, *args):\n        self.widget\n\n\n"
            "def interpreter(message, region):\n    return Broken()\n",
            HERE, "in run: AttributeError: 'Broken' object has no attribute 'widget'"),
    "arguments": ("triton", "def interpreter(message):\n    pass\n",
                  "adapter.py, as it is called: TypeError: interpreter() takes 1 positional"),
}  # fmt: skip
# A child of this adapter has in it what the file beside it says: a zygote serves many cases.
SWITCH = """
import builtins
from pathlib import Path

_child = child


def child(mode):
    _child(mode)
    text = Path(__file__).with_name("more").read_text()
    exec(builtins.compile(text, __file__, "exec"), globals())
"""
INTERRUPTED = """
import subprocess

_compiled = compile


def compile(request):
    subprocess.run(["/bin/sh", "-c", "kill -INT $PPID"], check=True)
    return _compiled(request)
"""
CLAIMS = """
import os
import stat

sockets = (fd for fd in range(3, 64) if os.path.exists(f"/proc/self/fd/{fd}"))
peer = next(fd for fd in sockets if stat.S_ISSOCK(os.fstat(fd).st_mode))
text = b'{"broken": "adapter.py, line 1: RuntimeError: no widget"}'
os.write(peer, len(text).to_bytes(4, "little") + text)
os._exit(0)
"""


@pytest.fixture(scope="module")
def packs(folder: Path) -> Path:
    made = folder / "packs-here"
    switched = {f"switched-{pack}": (pack, SWITCH) for pack in ("c-cpu", "triton")}
    for name, (pack, text, *_) in {**BROKEN, **switched}.items():
        shutil.copytree(ROOT / "packs" / pack, made / name)
        with (made / name / "adapter.py").open("a") as file:
            file.write(f"\n\n{text}")
    return made


@pytest.fixture(scope="module")
def worker(folder: Path, packs: Path) -> Iterator[Session]:
    program, home = worker_run.make_home(folder)
    with Session(program, home, folder, 1, ("--packs", str(packs))) as session:
        yield session
        assert session.leave() == 0


def right(name: str, pack: str, copy: str) -> Job:
    """A right candidate for a copy of `pack`."""
    stem = "01_swish"
    task = ROOT / "tasks" / "starter" / f"{stem}.py"
    return Job(name, copy, task, VERIFY / pack / f"{stem}.py", family=family_of(pack))


def switched(packs: Path, name: str, pack: str = "c-cpu", text: str = "") -> Job:
    """A right candidate for a pack with that text behind its adapter."""
    (packs / f"switched-{pack}" / "more").write_text(text)
    return right(name, pack, f"switched-{pack}")


def is_infra(worker: Session, job: Job, parts: list[str]) -> None:
    worker.run([job], 1)
    assert job.id not in worker.answers
    assert all(part in worker.infra[job.id] for part in parts), worker.infra[job.id]
    assert f"packs-here/{job.pack}/adapter.py" in worker.infra[job.id]


@pytest.mark.parametrize("name", BROKEN)
def test_a_pack_that_cannot_start_is_infra_and_its_file_is_named(worker: Session, name: str) -> None:
    pack, _, *parts = BROKEN[name]
    is_infra(worker, right(name, pack, name), parts)


@pytest.mark.parametrize("name", SWITCHED)
def test_a_pack_that_fails_is_infra_and_its_file_is_named(
    worker: Session, packs: Path, name: str
) -> None:
    pack, text, *parts = SWITCHED[name]
    is_infra(worker, switched(packs, name, pack, text), parts)


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives candidates another user")
def test_a_folder_that_candidates_cannot_read_is_named_with_the_remedy(
    worker: Session, packs: Path
) -> None:
    shut = packs / "shut"
    (shut / "language").mkdir(parents=True)
    shut.chmod(0o700)
    shutil.copytree(ROOT / "packs" / "c-cpu", packs / "shut-folder")
    with (packs / "shut-folder" / "adapter.py").open("a") as file:
        file.write(f"\n\ndef folders():\n    return [{str(shut / 'language')!r}]\n")
    worker.run([right("shut-folder", "c-cpu", "shut-folder")], 1)
    assert f"cannot read {shut}; 'chmod a+rx {shut}'" in worker.infra["shut-folder"]
    shut.chmod(0o755)
    worker.run([right("opened", "c-cpu", "shut-folder")], 1)
    assert worker.answers["opened"]["verdict"] == "correct"


def test_the_worker_goes_on(worker: Session, packs: Path) -> None:
    """With the packs that failed."""
    worker.run([switched(packs, "mended", pack="c-cpu"), switched(packs, "too", pack="triton")], 1)
    assert {worker.answers[name]["verdict"] for name in ("mended", "too")} == {"correct"}


def test_a_candidate_cannot_say_that_the_pack_is_broken(
    worker: Session, packs: Path, folder: Path
) -> None:
    candidate = folder / "claims.py"
    candidate.write_text(CLAIMS)
    worker.run([Job(**vars(switched(packs, "says-so")) | {"candidate": candidate})], 1)
    answer = worker.answers["says-so"]
    assert (answer["verdict"], answer["rule"]) == ("hack", "forged-answer")


def test_a_program_that_a_compiler_starts_does_not_interrupt_it(worker: Session, packs: Path) -> None:
    worker.run([switched(packs, "goes-on", text=INTERRUPTED)], 1)
    assert worker.answers["goes-on"]["verdict"] == "correct", worker.infra


def test_what_a_candidate_does_not_compile_is_its_own_fault(
    worker: Session, packs: Path, folder: Path
) -> None:
    candidate = folder / "wrong.py"
    text = (VERIFY / "c-cpu" / "01_swish.py").read_text()
    candidate.write_text(text.replace("expf(-x[i])", "no_such_function(-x[i])"))
    worker.run([Job(**vars(switched(packs, "does-not")) | {"candidate": candidate})], 1)
    assert worker.answers["does-not"]["verdict"] == "compile_error"
