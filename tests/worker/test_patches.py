"""The tables of candidates (tests/verify/patches.py): whole, and read without forgiving anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from worker_run import ENTRIES, HOSTILE, STYLES, VERIFY, patches

BASE = "a = 1\nb = 2\n\nc = 3\na = 4\n"
HEAD = "base hostile/base.py\ntask tasks/relu.py\npack triton\n"
ENTRY = "== 001_x: hack a-rule\n# What it tries.\nwhy something stops it\n"


def test_no_hostile_entry_may_be_correct() -> None:
    assert not [name for name, entry in HOSTILE.items() if "correct" in entry.verdicts]


def test_every_honest_entry_is_correct() -> None:
    assert [name for name, entry in STYLES.items() if not entry.harmless] == []


def test_each_file_is_an_entry_or_a_base() -> None:
    files = set((VERIFY / "hostile").glob("*.py"))
    assert files <= {entry.base for entry in ENTRIES.values()}
    assert all(entry.base.is_file() and entry.task.is_file() for entry in ENTRIES.values())


def read(
    folder: Path, text: str, monkeypatch: pytest.MonkeyPatch, base: str = BASE
) -> dict[str, patches.Entry]:
    (folder / "hostile").mkdir()
    (folder / "hostile" / "base.py").write_text(base)
    (folder / "hostile" / "t.patches").write_text(text)
    monkeypatch.setattr(patches, "VERIFY", folder)
    return patches.read_all(folder / "hostile")


def test_hunks_take_the_place_of_what_they_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hunks = "@@\n-b = 2\n+b = 5\n\n c = 3\n+d = 6\n@@\n-a = 4\n+\n+a = 7\n\n\n"
    table = read(tmp_path, HEAD + ENTRY + hunks + ENTRY.replace("001", "002") + "@@\n-b = 2\n", monkeypatch)
    assert table["001_x"].text() == "a = 1\nb = 5\n\nc = 3\nd = 6\n\na = 7\n"
    assert table["002_x"].text() == "a = 1\n\nc = 3\na = 4\n"


@pytest.mark.parametrize(
    "text, said",
    [
        (HEAD + ENTRY + "@@\n-b = 3\n", "0 places"),
        (HEAD + ENTRY + "@@\n-a = 1\n c = 3\n", "0 places"),
        (HEAD + ENTRY + "@@\n+b = 3\n", "places"),
        (HEAD + ENTRY + "@@\n-c = 3\n@@\n-b = 2\n", "1 places"),
        (HEAD + ENTRY + "@@\n b = 2\n+c\n@@\n b = 2\n c = 3\n+d\n", "places"),
        (HEAD + ENTRY + "@@\n b = 2\n", "changes nothing"),
        (HEAD + ENTRY + "@@\n-b = 2\nwhy\n", "why"),
        (HEAD + ENTRY.replace("why something stops it\n", "") + "@@\n-b = 2\n", "does not say"),
        (HEAD + ENTRY.replace("# What it tries.\n", "") + "@@\n-b = 2\n", "does not say"),
        (HEAD + ENTRY.replace(": hack a-rule", "") + "@@\n-b = 2\n", "no '== NAME"),
        (HEAD.replace("pack triton\n", "") + ENTRY + "@@\n-b = 2\n", "below a task and a pack"),
        (HEAD + (ENTRY + "@@\n-b = 2\n") * 2, "two entries"),
        (HEAD + ENTRY + "or anything else\n@@\n-b = 2\n", "or anything else"),
    ],
)
def test_what_does_not_fit_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    with pytest.raises(patches.Malformed, match=said):
        read(tmp_path, text, monkeypatch)


def test_a_base_with_the_same_lines_twice_is_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(patches.Malformed, match="2 places"):
        read(tmp_path, HEAD + ENTRY + "@@\n-b = 2\n", monkeypatch, BASE + "b = 2\n")
