"""monkeys tokens gives the ids that the libraries tiktoken and tokenizers give.

TOKENS_STRINGS=100000 sets how many strings are compared; with TOKENS_POINTS=1 every code point
is, too.
"""

from __future__ import annotations

import base64
import json
import os
import random
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import packages
import pytest
import strings

packages.need("tiktoken", "tokenizers")

import tiktoken  # noqa: E402
import tokenizers  # noqa: E402
from tokenizers import decoders, models, normalizers, pre_tokenizers  # noqa: E402

PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
           r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")  # fmt: skip
MONKEYS = packages.ROOT / "monkeys"
COUNT = int(os.environ.get("TOKENS_STRINGS", "4000"))
Ranks = dict[bytes, int]


def alphabet() -> list[str]:
    """How byte-level vocabularies write each byte."""
    plain = [b for b in range(256) if 0x20 < b < 0x7F or (b > 0xA0 and b != 0xAD)]
    others = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(others)) for b in range(256)]


def last_merge(token: bytes, ranks: Ranks) -> tuple[bytes, bytes]:
    """The two tokens that become this one."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        found = [(ranks.get(a + b, len(ranks)), i) for i, (a, b) in enumerate(zip(parts, parts[1:]))]
        i = min(found)[1]
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return parts[0], parts[1]


class Libraries:
    """Both libraries with Qwen's vocabulary."""

    def __init__(self) -> None:
        lines = (line.split() for line in packages.VOCAB.read_bytes().splitlines())
        self.ranks: Ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
        assert len(self.ranks) == 151643
        special = {text: 151643 + i for i, text in enumerate(strings.SPECIALS)}
        self.tiktoken = tiktoken.Encoding("qwen", pat_str=PATTERN, mergeable_ranks=self.ranks,
                                          special_tokens=special)  # fmt: skip
        letters = alphabet()

        def written(token: bytes) -> str:
            return "".join(letters[b] for b in token)

        self.written = {written(token): rank for token, rank in self.ranks.items()}
        merges = [tuple(map(written, last_merge(token, self.ranks)))
                  for token in sorted(self.ranks, key=self.ranks.__getitem__)
                  if len(token) > 1]  # fmt: skip
        self.fast = tokenizers.Tokenizer(models.BPE(vocab=self.written, merges=merges))
        self.fast.normalizer = normalizers.NFC()
        self.fast.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(tokenizers.Regex(PATTERN), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ])
        self.fast.decoder = decoders.ByteLevel()
        self.fast.add_special_tokens([tokenizers.AddedToken(t, normalized=False, special=True)
                                      for t in strings.SPECIALS])  # fmt: skip
        self.cut = re.compile("(" + "|".join(map(re.escape, strings.SPECIALS)) + ")")

    def by_tokenizers(self, texts: list[str]) -> list[list[int]]:
        return [e.ids for e in self.fast.encode_batch(texts, add_special_tokens=False)]

    def by_tiktoken(self, text: str) -> list[int]:
        """tiktoken leaves NFC to its caller."""
        nfc = self.fast.normalizer.normalize_str
        text = "".join(part if i % 2 else nfc(part) for i, part in enumerate(self.cut.split(text)))
        return self.tiktoken.encode(text, allowed_special="all")


@pytest.fixture(scope="module")
def libraries() -> Libraries:
    return Libraries()


def ours(*argv: str | Path, vocab: Path = packages.VOCAB) -> list[list[int]]:
    done = subprocess.run([MONKEYS, "tokens", "--vocab", vocab, "--encode", "--json", *argv],
                          check=True, capture_output=True)  # fmt: skip
    return [json.loads(line)["ids"] for line in done.stdout.splitlines()]


def write_rows(path: Path, texts: Iterable[str]) -> Path:
    with path.open("w") as file:
        file.writelines(json.dumps({"text": t}) + "\n" for t in texts)
    return path


def compare(libraries: Libraries, texts: list[str], tmp_path: Path) -> None:
    got = ours("--field", "text", write_rows(tmp_path / "rows.jsonl", texts))
    assert len(got) == len(texts)
    for text, ids, fast in zip(texts, got, libraries.by_tokenizers(texts)):
        assert ids == fast, f"tokenizers: {text!r}"
        assert ids == libraries.by_tiktoken(text), f"tiktoken: {text!r}"


def test_known_ids(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("Hello world")
    (tmp_path / "b").write_text("<|im_start|>user\nHi<|im_end|>\n<think>\n\n</think>\n\n")
    assert ours(tmp_path / "a", tmp_path / "b") == [
        [9707, 1879], [151644, 872, 198, 13048, 151645, 198, 151667, 271, 151668, 271]]  # fmt: skip


def test_generated_strings(libraries: Libraries, tmp_path: Path) -> None:
    texts = list(strings.strings(COUNT, seed=1))
    for at in range(0, len(texts), 50_000):
        compare(libraries, texts[at : at + 50_000], tmp_path)


@pytest.mark.skipif("TOKENS_POINTS" not in os.environ, reason="long; set TOKENS_POINTS=1")
def test_every_code_point(libraries: Libraries, tmp_path: Path) -> None:
    texts = list(strings.all_points())
    for at in range(0, len(texts), 100_000):
        compare(libraries, texts[at : at + 100_000], tmp_path)


def test_bytes_that_are_not_utf8_count_as_replacement_characters(
        libraries: Libraries, tmp_path: Path) -> None:  # fmt: skip
    r = random.Random(2)
    all_bytes = [strings.bad_bytes(r) for _ in range(min(COUNT // 10, 2000))]
    files = []
    for i, data in enumerate(all_bytes):
        files.append(tmp_path / str(i))
        files[-1].write_bytes(data)
    for data, ids in zip(all_bytes, ours(*files)):
        text = data.decode(errors="replace")
        assert [ids] == libraries.by_tokenizers([text]), data
        assert ids == libraries.by_tiktoken(text), data


def test_this_repository_in_files(libraries: Libraries, tmp_path: Path) -> None:
    files = sorted((packages.ROOT / "packs").glob("*/guide.md"))[:6]
    texts = [f.read_text() for f in files]
    assert ours(*files) == libraries.by_tokenizers(texts)


def test_vocab_json_gives_the_same_ids(libraries: Libraries, tmp_path: Path) -> None:
    texts = list(strings.strings(300, seed=3))
    rows = write_rows(tmp_path / "rows.jsonl", texts)
    (tmp_path / "vocab.json").write_text(json.dumps(libraries.written))
    (tmp_path / "tokenizer.json").write_text(libraries.fast.to_str())
    want = ours("--field", "text", rows)
    for name in ("vocab.json", "tokenizer.json"):
        assert ours("--field", "text", rows, vocab=tmp_path / name) == want


def test_chats(libraries: Libraries, tmp_path: Path) -> None:
    row = {"messages": [{"role": "system", "content": "Be brief."},
                        {"role": "user", "content": "\n\nHi"},
                        {"role": "assistant", "content": "Hello."}]}  # fmt: skip
    (tmp_path / "chat.jsonl").write_text(json.dumps(row) + "\n")
    start, end = "<|im_start|>", "<|im_end|>\n"
    plain = (f"{start}system\nBe brief.{end}{start}user\n\n\nHi{end}"
             f"{start}assistant\nHello.{end}")  # fmt: skip
    hybrid = plain.replace("Hello.", "<think>\n\n</think>\n\nHello.")
    for template, text in (("qwen3-instruct", plain), ("qwen3", hybrid)):
        assert ours("--chat", template, tmp_path / "chat.jsonl") == libraries.by_tokenizers([text])
    sizes = [len(libraries.by_tiktoken(t)) for t in ("Be brief.", "Hello.")]
    joined = len(libraries.by_tiktoken("user\n\n\nHi")) - 1
    assert len(libraries.by_tiktoken(plain)) == sum(sizes) + 5 + 5 + joined + 4
    assert len(libraries.by_tiktoken(hybrid)) == len(libraries.by_tiktoken(plain)) + 4
