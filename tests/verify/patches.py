"""Candidates that differ in a few lines from a file are kept as patches of it.

A table, hostile/NAME.patches or honest/NAME.patches, has the patches of a few files, its bases:

    base hostile/relu.py          what the entries below patch; paths are from tests/verify
    task tasks/relu.py            what they are for, and in which pack
    pack triton

    == 083_mutated_input: hack input-mutated
    # Row 32: forward changes its input so that a later reference agrees.
    why inputs are compared after the call
    @@
    -        return right(x)
    +        relu_kernel[(2,)](x, x, x.numel(), B=8192)
    +        return right(x)

`==` gives the name, the verdict and the rule, where there is one; `a|b` allows two, and `-` is
no rule. `#` says what is tried, `why` what it meets. `with {"call_ms": 1000}` sets a job's fields.
An entry without hunks is a file of its own, NAME.py beside the table, which says there what it
tries. Files that no entry names, and that are no base, are an error (tests/worker/test_patches.py).

A hunk is a unified diff's without line numbers: lines with ' ' and '-' stand in the base, those
with '+' and ' ' take their place. They must stand there exactly once, the hunks in the order of the
base and apart from each other: a base that changes under a patch is an error, never another attack.

    python3 tests/verify/patches.py FOLDER PATTERN...

writes FOLDER/NAME.py of those, for commands, and prints the task and the file of each, as `monkeys
verify --list` takes them.
"""

from __future__ import annotations

import fnmatch
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

VERIFY = Path(__file__).resolve().parent


class Malformed(Exception):
    """The table, or a patch that does not fit its base."""


@dataclass
class Entry:
    name: str
    verdicts: list[str]
    rules: list[str | None]
    base: Path
    task: Path
    pack: str
    tries: str = ""
    why: str = ""
    options: dict = field(default_factory=dict)
    hunks: list[list[str]] = field(default_factory=list)

    @property
    def harmless(self) -> bool:
        return self.verdicts == ["correct"]

    def text(self) -> str:
        if not self.hunks:
            return self.base.read_text()
        return patched(uncommented(self.base)[1], self.hunks, self.name)


def uncommented(path: Path) -> tuple[str, str]:
    """The comment at a file's head, and what is below it."""
    comment, text = re.fullmatch(r"((?:# [^\n]*\n)*)(.*)", path.read_text(), re.DOTALL).groups()
    return re.sub("^# ", "", comment, flags=re.MULTILINE), text


def patched(base: str, hunks: list[list[str]], name: str) -> str:
    lines, at, result = base.splitlines(), 0, []
    for hunk in hunks:
        old = [line[1:] for line in hunk if line[0] in " -"]
        places = [i for i in range(len(lines) - len(old) + 1) if lines[i : i + len(old)] == old]
        if not old or len(places) != 1 or places[0] < at:
            raise Malformed(f"{name}: its base has {len(places)} places for {hunk}")
        result += lines[at : places[0]] + [line[1:] for line in hunk if line[0] in " +"]
        at = places[0] + len(old)
    return "\n".join([*result, *lines[at:], ""])


def head(line: str, scope: dict[str, str], folder: Path) -> Entry:
    name, colon, verdict = line.removeprefix("== ").partition(": ")
    words = verdict.split()
    if not colon or len(words) not in (1, 2) or not {"task", "pack"} <= scope.keys():
        raise Malformed(f"no '== NAME: VERDICT [RULE]' below a task and a pack: {line}")
    rules = [None if rule == "-" else rule for rule in words[1].split("|")] if words[1:] else [None]
    base = VERIFY / scope["base"] if "base" in scope else folder / f"{name}.py"
    return Entry(name, words[0].split("|"), rules, base, VERIFY / scope["task"], scope["pack"])


def read(path: Path) -> list[Entry]:
    """The entries of one table."""
    entries: list[Entry] = []
    scope: dict[str, str] = {}
    entry, hunk = None, None
    for line in path.read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == "==":
            entry, hunk = head(line, scope, path.parent), None
            entries.append(entry)
        elif entry and line == "@@":
            hunk = []
            entry.hunks.append(hunk)
        elif hunk is not None and line[:1] in ("", " ", "+", "-"):
            hunk.append(line or " ")
        elif word in ("base", "task", "pack"):
            scope[word], entry, hunk = rest, None, None
        elif entry and hunk is None and word in ("#", "why", "with"):
            entry.tries += f"{rest}\n" if word == "#" else ""
            entry.why += rest if word == "why" else ""
            entry.options |= json.loads(rest) if word == "with" else {}
        elif line and not (word == "#" and not entry):
            raise Malformed(f"{path.name}: {line}")
    for entry in entries:
        settle(entry, path.parent)
    return entries


def settle(entry: Entry, folder: Path) -> None:
    """Empty lines between entries end no hunk: they are taken off again."""
    for hunk in entry.hunks:
        while hunk and hunk[-1] == " ":
            hunk.pop()
    if not entry.hunks:
        entry.base = folder / f"{entry.name}.py"
        entry.tries = uncommented(entry.base)[0]
    if not entry.tries or not (entry.why or entry.harmless):
        raise Malformed(f"{entry.name} does not say what it tries, or what it meets")
    if entry.hunks and entry.text() == uncommented(entry.base)[1]:
        raise Malformed(f"{entry.name} changes nothing")


def read_all(folder: Path = VERIFY / "hostile") -> dict[str, Entry]:
    table: dict[str, Entry] = {}
    for path in sorted(folder.glob("*.patches")):
        for entry in read(path):
            if entry.name in table:
                raise Malformed(f"two entries are called {entry.name}")
            table[entry.name] = entry
    return dict(sorted(table.items()))


def main() -> None:
    folder, *patterns = sys.argv[1:]
    table = read_all() | read_all(VERIFY / "honest")
    for pattern in patterns:
        names = fnmatch.filter(table, pattern)
        if not names:
            sys.exit(f"no candidate is called {pattern}")
        for name in names:
            file = Path(folder, f"{name}.py")
            file.write_text(table[name].text())
            print(table[name].task, file)


if __name__ == "__main__":
    main()
