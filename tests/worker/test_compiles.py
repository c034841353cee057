"""Kernels that an interpreter ran are compiled for a GPU once. What is known of them is
known of exactly the text that was compiled, and the judge alone writes it down."""
from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
import worker_run
from worker_run import ROOT, VERIFY, Job
from worker_session import Session

pytest.importorskip("triton")
sys.path[:0] = [str(ROOT / "worker")]

import answers  # noqa: E402
import kernels  # noqa: E402
import verdict  # noqa: E402
from builds import COMPILES, Builds  # noqa: E402
from calls import Progress, Verdict  # noqa: E402
from steps import Ask, End, Forged, Fork  # noqa: E402

GOOD = (VERIFY / "triton" / "01_swish.py").read_text()
# The same kernel; what is round it says something else.
AROUND = GOOD.replace("class ModelNew", "def unused():\n    return 1\n\n\nclass ModelNew")
KERNEL = "@jit\ndef k(x):\n    return x\n"


# ---- kernels by themselves ---------------------------------------------------------


def test_the_kernels_are_the_same_whatever_is_round_them() -> None:
    text, lines = kernels.alone("# one\nB = 2\n" + KERNEL + "class M:\n    def f(s): k(1)\n")
    again, others = kernels.alone("B = 2\ndef f():\n    pass\n" + KERNEL + "class M:\n    pass\n")
    assert text == again and "class" not in text and "B = 2" in text
    assert lines == {"k": 3} and others == {"k": 4}


@pytest.mark.parametrize(
    "change", ["B = 3\n", "if x:\n    B = 2\n", "import other\n", "@jit\ndef h(): pass\n"]
)
def test_whatever_a_kernel_may_see_is_part_of_them(change: str) -> None:
    assert kernels.alone(change + KERNEL)[0] != kernels.alone(KERNEL)[0]


@pytest.mark.parametrize(
    "rest",
    [
        "def f():\n    global k\n    k = 1\n",
        "def f():\n    globals()['k'] = 1\n",
        "def f(a=exec('k = 1')):\n    pass\n",
        "class M:\n    setattr(m, 'k', 1)\n",
        "class M:\n    for i in a: pass\n",
        "class M:\n    x = k.__globals__\n",
        "def f(a=(k := 1)):\n    pass\n",
        "class M:\n    x = k.fn\n",
    ],
)
def test_a_file_whose_rest_may_change_a_kernel_counts_as_a_whole(rest: str) -> None:
    assert kernels.alone(KERNEL + rest) is None


def test_a_file_without_kernels_counts_as_a_whole() -> None:
    assert kernels.alone("x = 1\n") is None


# ---- the order of questions --------------------------------------------------------


TOLD = {"kernels": {"ok": True, "text": "kernels", "lines": {"k": 3}},
           "compile": {"ok": True, "problem": None, "patched": []}}  # fmt: skip
LAUNCH = {"name": "k", "line": 3, "signature": {}, "constants": {}, "options": {}}


def job(candidate: str) -> dict:
    return {"pack": "p", "candidate": candidate, "deadlines": {"load_ms": 1},
            "limits": {"memory_bytes": 0}}  # fmt: skip


def asked(steps: Generator, told: dict) -> list[str]:
    """What it asks for, in order, when children answer as `told`: a list of answers to
    an operation is used up one by one."""
    told = {op: list(a) if isinstance(a, list) else a for op, a in told.items()}
    found, value = [], None
    while True:
        try:
            wanted = steps.send(value)
        except StopIteration:
            return found
        value = None
        if isinstance(wanted, Ask) and wanted.message["op"] != "ping":
            op = wanted.message["op"]
            found.append(f"{op} {wanted.message['source']}")
            value = told[op].pop(0) if isinstance(told[op], list) else told[op]
        elif isinstance(wanted, (Fork, End)):
            found.append(type(wanted).__name__)


@pytest.fixture
def known(tmp_path: Path) -> Builds:
    builds = Builds(str(tmp_path / "cache"))
    builds.learn("p", {"ok": True, "builds": None, "compiler": "one"})
    return builds


def check(builds: Builds, candidate: str, launches: list[dict], **told: object) -> list[str]:
    steps = verdict.check_compiles(job(candidate), Progress(), launches, builds)
    return asked(steps, TOLD | told)


def test_what_compiled_is_not_compiled_again(known: Builds) -> None:
    assert check(known, "a", [LAUNCH]) == ["Fork", "kernels a", "compile kernels", "End"]
    assert check(known, "a", [LAUNCH]) == []
    assert check(known, "b", [LAUNCH]) == ["Fork", "kernels b", "End"]
    assert check(known, "b", [LAUNCH]) == []


@pytest.mark.parametrize("change", [{"signature": {"x": "*fp32"}}, {"constants": {"B": {"value": 8}}},
                                    {"options": {"num_warps": 8}}])  # fmt: skip
def test_another_launch_is_compiled(known: Builds, change: dict) -> None:
    check(known, "a", [LAUNCH])
    assert "compile kernels" in check(known, "a", [LAUNCH | change])


def test_another_compiler_compiles_again(known: Builds) -> None:
    check(known, "a", [LAUNCH])
    known.compilers["p"] = "two"
    assert "compile kernels" in check(known, "a", [LAUNCH])


@pytest.mark.parametrize("launch", [LAUNCH | {"line": 4}, LAUNCH | {"name": "f.<locals>.k"}])
def test_a_kernel_that_stands_elsewhere_is_compiled_with_its_file(
    known: Builds, launch: dict
) -> None:
    assert check(known, "a", [launch]) == ["Fork", "kernels a", "compile a", "End"]
    assert check(known, "b", [launch]) == ["Fork", "kernels b", "compile b", "End"]


BAD = {"ok": True, "problem": "k: no", "patched": []}


def test_only_the_whole_file_shows_that_it_does_not_compile(known: Builds) -> None:
    """And the process that says so has been told nothing else."""
    again = ["Fork", "kernels a", "compile kernels", "End", "Fork", "compile a", "End"]
    assert check(known, "a", [LAUNCH], compile=[BAD, TOLD["compile"]]) == again
    assert "compile kernels" in check(known, "b", [LAUNCH])  # of the kernels nothing was kept


@pytest.mark.parametrize("answer", [BAD, {"ok": True, "problem": None, "patched": ["x"]}])
def test_nothing_is_kept_of_what_fails(known: Builds, answer: dict) -> None:
    for _ in range(2):
        with pytest.raises(Verdict):
            check(known, "a", [LAUNCH], compile=answer)
    assert not known.cache.folder.exists()


def test_without_a_folder_the_file_is_compiled_as_it_is() -> None:
    assert check(Builds(None), "a", [LAUNCH]) == ["Fork", "compile a", "End"]


def test_launches_that_no_harness_describes_are_a_forgery() -> None:
    deep: list = []
    for _ in range(500):
        deep = [deep]
    for change in ({"line": None}, {"signature": {"x": deep}}):
        with pytest.raises(Forged):
            answers.described({"compiles": True, "launches": [LAUNCH | change]})


# ---- a worker ----------------------------------------------------------------------


def candidate(folder: Path, name: str, text: str) -> Job:
    (folder / f"{name}.py").write_text(text)
    return Job(name, "triton", ROOT / "tasks" / "starter" / "01_swish.py", folder / f"{name}.py")


def judged(folder: Path, run: str, jobs: list[Job]) -> tuple[list[tuple], list[str]]:
    """Verdicts with their rules, and the worker's processes at its end."""
    own = folder / run
    own.mkdir(mode=0o755)
    program, home = worker_run.make_home(folder)
    with Session(program, home, own, 1, ("--cache", str(folder / "cache"))) as session:
        session.run(jobs, 1)
        names = [p.name for p in session.quiet()]
        assert session.infra == {} and session.leave() == 0
    told = [session.answers[job.id] for job in jobs]
    return [(record["verdict"], record["rule"]) for record in told], names


def test_a_worker_keeps_what_it_compiled(folder: Path) -> None:
    jobs = [candidate(folder, "good", GOOD), candidate(folder, "around", AROUND)]
    verdicts, names = judged(folder, "first", jobs)
    assert verdicts == [("correct", None)] * 2 and "triton+compile" in names
    # Both files and the kernels that they share.
    assert [p.read_bytes() for p in (folder / "cache").iterdir()] == [COMPILES] * 3
    verdicts, names = judged(folder, "second", jobs)
    assert verdicts == [("correct", None)] * 2 and "triton+compile" not in names


def test_what_only_an_interpreter_takes_is_refused_each_time(folder: Path) -> None:
    names = ("031_numpy_in_kernel.py", "032_two_kernels.py")
    before = sorted(os.listdir(folder / "cache"))
    for run in ("refused", "refused-again"):
        found = judged(folder, run, [worker_run.hostile_job(name) for name in names])[0]
        assert found == [("compile_error", "compiles-for-gpu")] * 2
    assert sorted(os.listdir(folder / "cache")) == before
