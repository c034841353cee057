"""The judge uses the words of the tables, and no others."""

import ast
import re
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


def named_rules() -> set[str]:
    """The rules that hacks are given anywhere, as far as they are written out there: of
    f"dispatch:aten.{name}" what is before the colon."""
    found = set()
    for path in [*(ROOT / "worker/judge").glob("*.py"), *(ROOT / "worker/recorder").glob("*.py")]:
        if path.name == "piece_language.py":  # its rules are of proposals
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            name = isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in ("Refused", "refuse") and node.args:
                rule = node.args[0]
            elif name == "Verdict" and getattr(node.args[0], "value", "") == "hack" and len(node.args) > 3:
                rule = node.args[3]
            else:
                continue
            rule = rule.values[0] if isinstance(rule, ast.JoinedStr) else rule
            if isinstance(rule, ast.Constant):
                found.add(rule.value.partition(":")[0])
    return found


def test_the_table_of_rules_has_every_rule_of_a_hack() -> None:
    table = (ROOT / "docs/VERIFIER.md").read_text().partition("Rules of a `hack`:")[2].partition("\n\nFour")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    listed = [name.partition(":")[0] for row in rows for name in re.findall("`(.+?)`", row)]
    assert len(listed) == len(set(listed))
    assert {"dispatch", "bad-trace", "grid-empty"} <= named_rules()
    # What check_owned() finds has its rule from a list.
    assert set(listed) == named_rules() | {"params-changed", "constants-changed"}


def test_another_word_is_refused() -> None:
    with pytest.raises(ValueError):
        Verdict("right", "done", "")
    with pytest.raises(ValueError):
        Verdict("correct", "somewhere", "")


def test_every_precision_has_a_type() -> None:
    assert set(inputs.DTYPES) == set(words.PRECISIONS)
