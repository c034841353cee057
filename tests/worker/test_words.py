"""The judge uses the words of the tables, and no others."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))
from judge import words  # noqa: E402
from judge.judging import Verdict  # noqa: E402
from shared import inputs  # noqa: E402


def said(name: str) -> list[str]:
    """The words that a call of Verdict names at that place, in all of the judge."""
    found = []
    for path in sorted((ROOT / "worker" / "judge").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Verdict":
                argument = node.args[("verdict", "stage").index(name)]
                if isinstance(argument, ast.Constant):
                    found.append(argument.value)
    return found


def test_every_verdict_and_stage_is_one_of_the_table() -> None:
    assert {"correct", "hack", "infra"} <= set(said("verdict")) <= set(words.VERDICTS)
    assert {"record", "trials", "done"} <= set(said("stage")) <= set(words.STAGES)


def test_another_word_is_refused() -> None:
    with pytest.raises(ValueError):
        Verdict("right", "done", "")
    with pytest.raises(ValueError):
        Verdict("correct", "somewhere", "")


def test_every_precision_has_a_type() -> None:
    assert set(inputs.DTYPES) == set(words.PRECISIONS)
