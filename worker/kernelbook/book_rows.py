"""The rows of KernelBook, from a file of JSON (an array of rows, or JSON Lines) or from a folder of
programs named NUMBER_CLASS.py. Memory is bounded by the largest row, whatever the size of the file,
which is untrusted. What is not Unicode becomes U+FFFD."""

import codecs
import contextlib
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from kernelbook.convert import MOST_BYTES

MOST = 16 << 20  # characters of a row
CHUNK = 1 << 20
PROGRAM = re.compile(r"(\d+)_(.+)\.py", re.ASCII)
BLANKS = re.compile(r"[ \t\r\n]*")
LONGEST_WORD = 12  # such as -Infinity, or an escape
NO_TEXT = re.compile("[\0\ud800-\udfff]")
STEM_NAME = 80  # bytes of a class's name in a file's
# The columns that say where a program is from, and their names in our files.
COLUMNS = {"uuid": "uuid", "entry_point": "entry_point", "repo_name": "repo",
           "module_name": "module", "sha": "sha", "repo_link": "link", "licenses": "licenses",
           "file": "file"}  # fmt: skip


class BadInput(Exception):
    """What is wrong with the file, and where."""


@dataclass
class Row:
    number: int  # from 1, in the order of the input
    columns: dict[str, Any]
    done: int  # how far the input is read, in bytes of a file or programs of a folder

    def text(self, name: str) -> str | None:
        value = self.columns.get(name)
        return value if isinstance(value, str) else None

    def stem(self) -> str:
        """Of the task's file: the program's, or NUMBER_CLASS."""
        name = (self.text("entry_point") or "").encode()[:STEM_NAME]
        file = self.text("file")
        name = file.removesuffix(".py").encode() if file else b"%d_%s" % (self.number, name)
        return re.sub(rb"[^A-Za-z0-9_-]", b"_", name).decode()

    def line(self) -> dict[str, Any]:
        """The beginning of its line in the manifest."""
        code = (self.text("python_code") or "").encode()
        uuid = {"uuid": self.columns["uuid"]} if "uuid" in self.columns else {}
        return {"row": self.number, **uuid, "entry_point": self.text("entry_point") or "",
                "code": hashlib.sha256(code).hexdigest()[:16]}  # fmt: skip

    def source(self) -> dict[str, Any]:
        return {"dataset": "KernelBook", "row": self.number} | {
            ours: value for name, ours in COLUMNS.items()
            if (value := self.columns.get(name)) is not None}  # fmt: skip


def read(path: str) -> tuple[int, Iterator[Row]]:
    """How much there is to read, and the rows."""
    if Path(path).is_dir():
        files = sorted((int(m[1]), m[0], m[2]) for f in Path(path).iterdir()
                       if (m := PROGRAM.fullmatch(f.name)))  # fmt: skip
        if not files:
            raise BadInput(f"{path}: no programs named NUMBER_CLASS.py in this folder")
        return len(files), from_folder(path, files)
    if path.endswith(".parquet"):
        raise BadInput(
            f"{path}: convert Parquet first: python3 recipes/parquet_to_jsonl.py FILE.parquet "
            "FILE.jsonl"
        )
    return Path(path).stat().st_size, from_file(path)


def from_folder(path: str, files: list[tuple[int, str, str]]) -> Iterator[Row]:
    """A program that is too large or no text is a row without code."""
    for number, (_, name, entry) in enumerate(files, 1):
        columns = {"file": name, "entry_point": entry}
        with contextlib.suppress(OSError, UnicodeDecodeError), open(Path(path, name), "rb") as f:
            columns["python_code"] = f.read(MOST_BYTES + 1).decode()
        if len(columns.get("python_code", "").encode()) > MOST_BYTES:
            del columns["python_code"]
        yield Row(number, cleaned(columns), number)


def from_file(path: str) -> Iterator[Row]:
    stream = Stream(path)
    used = {*COLUMNS, "python_code"} - {"file"}  # a row may have long ones besides
    for number, value in enumerate(stream, 1):
        kept = {name: cleaned(v) for name, v in value.items() if name in used}
        yield Row(number, kept, stream.done)


class Stream:
    """The objects of a JSON file, one at a time: the items of one array, or JSON Lines."""

    def __init__(self, path: str) -> None:
        self.path, self.done = path, 0
        self.file = open(path, "rb")
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.text, self.at = "", 0
        self.parser = json.JSONDecoder()
        self.rows, self.line = 0, 1  # objects so far; the line of text[at]
        self.ended = False

    def more(self) -> bool:
        """Reads on. What is used is forgotten."""
        data = b"" if self.ended else self.file.read(max(CHUNK, len(self.text) - self.at))
        self.ended = not data
        self.done += len(data)
        self.text = self.text[self.at :] + self.decoder.decode(data, self.ended)
        self.at = 0
        return not self.ended

    def skip(self, to: int) -> None:
        self.line += self.text.count("\n", self.at, to)
        self.at = to

    def peek(self) -> str:
        """The next character that is not white space, or "" at the end."""
        while True:
            self.skip(BLANKS.match(self.text, self.at).end())
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def fail(self, what: str) -> NoReturn:
        raise BadInput(f"{self.path}:{self.line}: {what} (after row {self.rows})")

    def __iter__(self) -> Iterator[dict]:
        array = self.peek() == "["
        if array:
            self.skip(self.at + 1)
        while True:
            c = self.peek()
            if array and self.rows and c == ",":
                self.skip(self.at + 1)
                c = self.peek()
                if c == "]":
                    self.fail("a comma, but no row behind it")
            elif array and self.rows and c not in ("", "]"):
                self.fail("expected ',' or ']'")
            if array and c == "]":
                self.skip(self.at + 1)
                if self.peek():
                    self.fail("text after the end of the array")
                return
            if not c and array:
                self.fail("the file ends before its array does; fetch it again")
            if not c:
                return
            if c != "{":
                self.fail("expected a row, which begins with '{'")
            yield self.take()

    def take(self) -> dict:
        while True:
            try:
                value, end = self.parser.raw_decode(self.text, self.at)
            except json.JSONDecodeError as problem:
                value, end = None, len(self.text)
                broken = not is_cut(problem)
                if broken or (end - self.at <= MOST and not self.more()):
                    self.explain(problem, broken)
            except RecursionError:
                self.fail("nested too deep")
            except ValueError as problem:  # a number of thousands of digits
                self.fail(str(problem))
            if end - self.at > MOST:
                self.fail(f"a row is larger than {MOST >> 20} MiB; write an array of rows or JSON "
                          "Lines, not an object of columns")  # fmt: skip
            if value is not None:
                self.skip(end)
                self.rows += 1
                return value

    def explain(self, problem: json.JSONDecodeError, broken: bool) -> NoReturn:
        begun, row = self.line, self.rows + 1
        if broken:
            line = begun + self.text.count("\n", self.at, problem.pos)
            raise BadInput(f"{self.path}:{line}:{problem.colno}: {problem.msg}")
        self.skip(len(self.text))
        raise BadInput(f"{self.path}:{self.line}: the file ends inside row {row}, which begins on "
                       f"line {begun}; fetch it again")  # fmt: skip


def is_cut(problem: json.JSONDecodeError) -> bool:
    """Whether the text may only be too short: of a string, or within a number or a word."""
    return "Unterminated" in problem.msg or len(problem.doc) - problem.pos < LONGEST_WORD


def cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return NO_TEXT.sub("\ufffd", value)
    if isinstance(value, list):
        return [cleaned(v) for v in value]
    if isinstance(value, dict):
        return {cleaned(k): cleaned(v) for k, v in value.items()}
    return value
