#!/usr/bin/env python3
"""Compares the lexer's tokens with those of Python's own tokenize module.

    diff_tokenize.py DUMPER [--limit N] [PATH...]

DUMPER is the program made from dump_tokens.c; without a PATH the files are the
running Python's standard library. A file that Python cannot parse is passed
over; in every other one kind, text, line and column of each token must agree.
Since 3.12 tokenize takes f-strings apart as the lexer does; before, they are
compared as whole strings. Prints TAP.
"""

from __future__ import annotations

import argparse
import ast
import codecs
import io
import pathlib
import re
import subprocess
import sys
import sysconfig
import token
import tokenize
import unicodedata
import warnings

Token = tuple[str, str, int, int]  # kind, text, line, column from 0

HAS_FSTRINGS = hasattr(token, "FSTRING_START")
UNPLACED = {"DEDENT", "END"}  # tokenize puts these on a line after the last
KINDS = {
    token.NAME: "NAME",
    token.NUMBER: "NUMBER",
    token.STRING: "STRING",
    token.OP: "OP",
    token.NEWLINE: "NEWLINE",
    token.INDENT: "INDENT",
    token.DEDENT: "DEDENT",
    token.ENDMARKER: "END",
}
if HAS_FSTRINGS:
    KINDS[token.FSTRING_START] = "FSTART"
    KINDS[token.FSTRING_MIDDLE] = "FTEXT"
    KINDS[token.FSTRING_END] = "FEND"


def comparable(kind: str, text: str, line: int, column: int) -> Token:
    if kind in UNPLACED:
        return (kind, "", 0, 0)
    if kind == "NEWLINE":
        text = ""
    return (kind, text, line, column)


def join_text(tokens: list[Token]) -> list[Token]:
    """One FTEXT for several in a row: tokenize cuts the text at {{ and }}."""
    out: list[Token] = []
    for t in tokens:
        if t[0] == "FTEXT" and out and out[-1][0] == "FTEXT":
            kind, text, line, column = out.pop()
            t = (kind, text + t[1], line, column)
        out.append(t)
    return out


def unix_lines(text: str) -> str:
    return re.sub("\r\n?", "\n", text)


def expected(data: bytes) -> list[Token]:
    out: list[Token] = []
    for t in tokenize.tokenize(io.BytesIO(data).readline):
        if t.type in (token.COMMENT, token.NL, token.ENCODING):
            continue
        kind = KINDS.get(t.type, token.tok_name[t.type])
        if kind == "FTEXT" and not t.string:
            continue
        if kind == "ERRORTOKEN":  # before 3.12: non-ASCII it does not know
            raise NotImplementedError(t.string)
        text = t.string
        if kind == "NAME":
            text = unicodedata.normalize("NFKC", text)
        out.append(comparable(kind, text, t.start[0], t.start[1]))
    return join_text(out)


def found(data: bytes, lines: list[str]) -> list[Token]:
    rows = [line.split(" ") for line in lines]
    out: list[Token] = []
    i = 0
    while i < len(rows):
        kind, at, size, line, column, _flags, match, name = rows[i]
        start, end = int(at), int(at) + int(size)
        if kind == "FSTART" and not HAS_FSTRINGS:
            i = int(match)
            kind, end = "STRING", int(rows[i][1]) + int(rows[i][2])
        text = unix_lines(data[start:end].decode())
        if kind == "FTEXT":
            text = text.replace("{{", "{").replace("}}", "}")
        if kind == "NAME":
            text = bytes.fromhex(name).decode()
        out.append(comparable(kind, text, int(line), int(column) - 1))
        i += 1
    return join_text(out)


def parses(data: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def encoding(data: bytes) -> str:
    name = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    return codecs.lookup(name).name


def compare(path: str, lines: list[str]) -> str | None:
    """What is wrong with the lexer's answer for the file, or None."""
    data = pathlib.Path(path).read_bytes()
    problem = None
    if lines and lines[-1].startswith("problem "):
        problem = lines.pop()
    if len(data) > 1 << 20:
        ok = problem and "source-too-large" in problem
        return None if ok else "a source over 1 MiB is not refused"
    if not parses(data):
        return None
    if not encoding(data).startswith("utf-8"):
        ok = problem and "source-encoding" in problem
        return None if ok else "another encoding is not refused"
    if problem:
        return problem
    got = found(data, lines)
    try:  # CPython's tokenizer never sees other line ends, tokenize would
        want = expected(re.sub(b"\r\n?", b"\n", data))
    except NotImplementedError:
        return None
    for w, g in zip(want, got):
        if w != g:
            return f"want {w}, got {g}"
    if len(want) != len(got):
        return f"want {len(want)} tokens, got {len(got)}"
    return None


def python_files(paths: list[str], limit: int | None) -> list[str]:
    files: list[str] = []
    for path in paths:
        p = pathlib.Path(path)
        files += [str(p)] if p.is_file() else sorted(map(str, p.rglob("*.py")))
    if limit and len(files) > limit:  # evenly, not the first folder only
        files = [files[i * len(files) // limit] for i in range(limit)]
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dumper")
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    paths = args.paths or [sysconfig.get_path("stdlib")]
    files = python_files(paths, args.limit)
    answer = subprocess.run(
        [args.dumper], input="\n".join(files) + "\n", capture_output=True,
        text=True, check=True,
    ).stdout
    parts = re.split(r"^file (.*)\n", answer, flags=re.M)[1:]
    failures = 0
    for path, body in zip(parts[::2], parts[1::2]):
        wrong = compare(path, body.splitlines())
        if wrong:
            failures += 1
            print(f"# {path}: {wrong}")
    seen = len(parts) // 2
    good = failures == 0 and seen == len(files) and seen > 0
    print(f"{'' if good else 'not '}ok 1 - {seen} files give Python's tokens")
    print("1..1")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
