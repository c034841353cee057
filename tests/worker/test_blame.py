"""Who answers for what goes wrong while a candidate's Python runs: the candidate, or the machine.
A recorder is under the candidate's control, so what it says of the machine is only a reason to
look, at a recorder without the candidate."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import candidates
import pytest
from small_loop import ROOT, Loop, verify
from task_text import task

from judge.steps import Ask
from shared import child
from shared.adapter import Mistake

pytest.importorskip("triton")

RELU = task("return torch.relu(x)")

# ---- where an exception is from ----------------------------------------------------------

LIBRARY = """
def lazily():
    import broken_library
def missing():
    import no_such_library
def compute():
    raise RuntimeError("shapes differ")
"""
RAISED = {
    "a_library_that_cannot_import_another": ("import a_library; a_library.lazily()", True),
    "a_library_that_misses_another": ("import a_library; a_library.missing()", True),
    "a_broken_library_that_the_file_imports": ("import broken_library", False),
    "a_missing_library_that_the_file_imports": ("import no_such_library", False),
    "an_error_of_a_library": ("import a_library; a_library.compute()", False),
    "an_error_of_its_own": ("{}['w']", False),
}


@pytest.mark.parametrize("name", RAISED)
def test_only_what_a_library_imports_is_from_elsewhere(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_library.py").write_text(LIBRARY)
    (tmp_path / "broken_library.py").write_text("raise KeyError('getpwuid(): uid not found')\n")
    monkeypatch.syspath_prepend(tmp_path)
    source, elsewhere = RAISED[name]
    with pytest.raises(Exception) as caught:  # noqa: PT011
        exec(compile(source, "candidate_1.py", "exec"), {})  # noqa: S102
    monkeypatch.delitem(sys.modules, "a_library", raising=False)
    assert child.is_elsewhere("call", caught.value, "candidate_1.py") is elsewhere


@pytest.mark.parametrize(
    "problem, stage, elsewhere",
    [(KeyError("w"), "call", True), (KeyError("w"), "init", True), (SyntaxError("x"), "load", False),
     (TypeError("forward() takes 1 argument"), "call", False), (Mistake("on cpu"), "call", False)],
)  # fmt: skip
def test_without_a_line_of_the_file_it_is_the_harness_but_for_calls_of_the_file(
    problem: Exception, stage: str, elsewhere: bool
) -> None:
    with pytest.raises(type(problem)) as caught:
        raise problem
    assert child.is_elsewhere(stage, caught.value, "candidate_1.py") is elsewhere


# ---- who answers for it ------------------------------------------------------------------

ELSEWHERE = {"error": {"stage": "init", "type": "KeyError", "text": "KeyError: no name",
                       "message": "KeyError: no name", "elsewhere": True}}  # fmt: skip


def claimed(everywhere: bool) -> tuple[dict, int]:
    """The record of a candidate whose recorder blames the machine, and how many recorders were
    asked. `everywhere`: the one without the candidate does, too."""
    loop = Loop()
    asked: list[str] = []

    def answer(wanted: Ask) -> dict | None:
        if not isinstance(wanted.message, dict) or wanted.message["op"] != "record":
            return None
        asked.append(wanted.message["source"])
        return ELSEWHERE if everywhere or len(asked) == 1 else None

    loop.instead = answer
    source = candidates.relu()
    record = verify(RELU, source, loop=loop)
    assert asked[0] == source and asked[1:] == [RELU + "\n\nclass ModelNew(Model):\n    pass\n"]
    return record, len(loop.forked)


def test_a_recorder_that_fails_without_the_candidate_is_the_machines_fault() -> None:
    record, forked = claimed(everywhere=True)
    assert (record["verdict"], forked) == ("infra", 2)
    assert "does not work here" in record["infra"] and "no name" in record["infra"]


def test_blaming_the_machine_is_of_no_use_to_a_candidate() -> None:
    record, _ = claimed(everywhere=False)
    assert record["verdict"] != "infra" and record["infra"] is None
    assert "the task's own program does not cause it" in record["feedback"]


def test_a_library_that_only_the_candidate_cannot_import_is_the_candidates_error() -> None:
    record = verify(RELU, candidates.relu("import importlib; importlib.import_module('no_such')"))
    assert record["verdict"] == "launch_error" and "no_such" in record["feedback"]


# ---- words -------------------------------------------------------------------------------

TOO_FEW = "def __init__(self, size):\n        super().__init__()"
MISTAKES = {"an_argument_too_few": TOO_FEW, "an_exception": TOO_FEW.replace(", size", "") + "\n        [][0]"}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize(
    "pack, more", [("triton", {}), ("c-cpu", {}), ("c-cpu", {"family": None})], ids=str
)
def test_a_mistake_in_the_constructor_has_one_verdict(mistake: str, pack: str, more: dict) -> None:
    file = ROOT / "tests" / "verify" / pack / "01_swish.py"
    source = file.read_text() if pack == "c-cpu" else candidates.relu()
    made, count = re.subn(r"def __init__\(self.*\):\n +super\(\).__init__\(\)", MISTAKES[mistake], source)
    assert count == 1
    record = verify(RELU, made, pack, **more)
    assert (record["verdict"], record["stage"]) == ("compile_error", "load")
    assert record["feedback"].startswith("ModelNew could not be constructed.")
    assert record["compiled"] is False


NO_MODEL = "import torch\nclass Model(torch.nn.Module):\n    pass\n"


@pytest.mark.parametrize(
    "source, words",
    [(NO_MODEL, "no class ModelNew"), (candidates.relu().replace("return y", "return y.cpu()"), ""),
     (candidates.relu("raise __import__('triton').OutOfResources(1, 2, 'memory')"), "OutOfResources")],
)  # fmt: skip
def test_only_names_that_the_candidate_could_know_are_shown(source: str, words: str) -> None:
    record = verify(RELU, source)
    assert words in record["feedback"]
    assert not re.search(r"(recorder|shared|executor|compiler)\.\w", record["feedback"])
    assert not re.search(r"Mistake|Refused|BadTrace", record["feedback"])
