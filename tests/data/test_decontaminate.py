"""monkeys decontaminate decides as rapidfuzz does, and finds the same 13-grams as a plain search."""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path

import packages

packages.need("rapidfuzz")

from rapidfuzz import fuzz  # noqa: E402

MONKEYS = packages.ROOT / "monkeys"


def sources(count: int, seed: int) -> list[str]:
    """Programs that look alike: lines of this repository's own Python, with some letters changed."""
    r = random.Random(seed)
    lines = [line for f in sorted((packages.ROOT / "worker").rglob("*.py"))
             for line in f.read_text().splitlines(keepends=True)]  # fmt: skip
    out: list[str] = []
    for _ in range(count):
        if out and r.random() < 0.5:
            text = list(r.choice(out))
            for _ in range(int(len(text) * r.choice([0.05, 0.2, 0.3, 0.4]))):
                at = r.randrange(len(text))
                text[at] = r.choice(["", text[at] + r.choice("abc é字\n"), "x"])
            out.append("".join(text))
        else:
            at = r.randrange(len(lines))
            out.append("".join(lines[at : at + r.randint(0, 30)]))
    return out


def run(tmp_path: Path, *options: str) -> list[dict[str, object]]:
    done = subprocess.run(
        [MONKEYS, "decontaminate", "--against", tmp_path / "bench", "--json", *options,
         tmp_path / "rows.jsonl", "-o", tmp_path / "out.jsonl"],
        check=True, capture_output=True, text=True)  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def write(tmp_path: Path, bench: list[str], rows: list[str]) -> None:
    (tmp_path / "bench").mkdir()
    for i, text in enumerate(bench):
        (tmp_path / "bench" / f"{i:03}.py").write_text(text)
    lines = (json.dumps({"python_code": t, "n": i}) + "\n" for i, t in enumerate(rows))
    (tmp_path / "rows.jsonl").write_text("".join(lines))


def test_similar_rows_are_those_of_rapidfuzz(tmp_path: Path) -> None:
    everything = sources(560, seed=1)
    bench, rows = everything[:60], everything[60:]
    write(tmp_path, bench, rows)
    found = run(tmp_path, "--fuzzy-only")
    assert len(found) == len(rows)
    for text, line in zip(rows, found):
        ratios = [fuzz.ratio(text, b) for b in bench]
        best = max(ratios)
        assert line["kept"] == (best < 75), text
        if not line["kept"]:
            near = line["fuzzy"]
            assert abs(near["ratio"] - best) < 1e-9
            assert near["partner"].endswith(f"/{ratios.index(best):03}.py")
    removed = sum(not line["kept"] for line in found)
    assert 50 < removed < len(rows) - 50
    kept = [json.loads(line)["n"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert kept == [i for i, line in enumerate(found) if line["kept"]]


def test_words_are_found_as_by_a_plain_search(tmp_path: Path) -> None:
    everything = sources(300, seed=2)
    bench, rows = everything[:40], everything[40:]
    write(tmp_path, bench, rows)

    def grams(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.lower())
        return {tuple(words[i : i + 13]) for i in range(len(words) - 12)}

    owners: dict[tuple[str, ...], set[int]] = {}
    for i, text in enumerate(bench):
        for gram in grams(text):
            owners.setdefault(gram, set()).add(i)
    for policy, most in (("paper", len(bench)), ("strict-signal", 1)):
        found = run(tmp_path, "--ngram-only", "--tokens", "words", "--policy", policy)
        want = [any(len(owners.get(g, "")) in range(1, most + 1) for g in grams(t)) for t in rows]
        assert [not line["kept"] for line in found] == want
        assert 0 < sum(want) < len(rows) - 20
        for text, line in zip(rows, found):
            if not line["kept"]:
                gram = tuple(line["ngram"]["text"].split(" "))
                assert gram in grams(text)
                assert line["ngram"]["partner"].endswith(f"/{min(owners[gram]):03}.py")
