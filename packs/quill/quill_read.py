"""quill_read.py: the text of a quill program as a tree. Lines matter: a statement is a
line, unless a bracket is open at its end."""
from __future__ import annotations

import re
from dataclasses import dataclass, field

MOST_LINES = 4000
MOST_DEPTH = 60  # of brackets and loops

_TOKEN = re.compile(
    r"[ \t]*(?:(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>:=|<~|->|<=|>=|==|!=|//|[-+*/%^()\[\],:<>=]))"
)
WORDS = frozenset(
    "scroll end well basin count grain letters roam below from by pour dry vessel so else "
    "and or not inf heap brim lees steep spot climb mount crest weave rung turn".split()
)
ALONG = frozenset("heap brim lees steep spot climb mount crest weave".split())


class QuillError(Exception):
    """A program that is not quill; the message begins with its line."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line

    def beside(self, program: str) -> str:
        """The message with the line it is about."""
        return f"{self}\n    {program.split(chr(10))[self.line - 1].strip()}"


@dataclass(frozen=True)
class Token:
    kind: str  # "number", "name", "word", "sign", "line" (the end of one)
    text: str
    line: int


# ---- the tree ------------------------------------------------------------------


@dataclass(frozen=True)
class Expr:
    """`kind`: number, name, call, sign (one or two parts), so, along, rung, turn."""

    kind: str
    line: int
    text: str = ""  # the number, name, function, sign or reduction
    parts: tuple[Expr, ...] = ()
    letters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """Memory and a coordinate for each of its dimensions."""

    name: str
    coords: tuple[Expr, ...]
    line: int


@dataclass(frozen=True)
class Statement:
    """`kind`: fetch (pour from a well), spill (pour into a basin), set, vessel, change,
    roam."""

    kind: str
    line: int
    name: str = ""
    expr: Expr | None = None
    place: Place | None = None
    letters: tuple[str, ...] = ()
    begin: Expr | None = None
    step: int = 1
    body: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Parameter:
    kind: str  # well, basin, count, grain
    name: str
    line: int
    dtype: str = ""
    dims: tuple[str | int, ...] = ()


@dataclass
class Scroll:
    name: str
    line: int
    parameters: list[Parameter]
    letters: dict[str, int] = field(default_factory=dict)
    body: tuple[Statement, ...] = ()


# ---- tokens --------------------------------------------------------------------


def tokens(source: str) -> list[Token]:
    found: list[Token] = []
    depth = 0
    lines = source.split("\n")
    if len(lines) > MOST_LINES:
        raise QuillError(MOST_LINES, f"the program has more than {MOST_LINES} lines")
    for number, line in enumerate(lines, 1):
        text, at = line.split("--", 1)[0].rstrip(), 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if not match:
                raise QuillError(number, f"{text[at:].strip()[:20]!r} is not part of quill")
            kind, word = match.lastgroup or "", match[match.lastgroup or 0]
            depth += (word in "([") - (word in ")]") if kind == "sign" else 0
            found.append(Token("word" if word in WORDS else kind, word, number))
            at = match.end()
        if depth <= 0 and found and found[-1].kind != "line":
            found.append(Token("line", "end of line", number))
    found.append(Token("line", "end of program", len(lines)))
    return found


# ---- the parser ----------------------------------------------------------------


class Reader:
    def __init__(self, source: str) -> None:
        self.tokens = tokens(source)
        self.at = 0
        self.depth = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def fail(self, wanted: str) -> QuillError:
        return QuillError(self.next.line, f"expected {wanted}, found {self.next.text!r}")

    def have(self, *texts: str) -> bool:
        return self.next.kind in ("word", "sign") and self.next.text in texts

    def take(self, *texts: str) -> str | None:
        if not self.have(*texts):
            return None
        self.at += 1
        return self.tokens[self.at - 1].text

    def need(self, text: str) -> Token:
        if not self.have(text):
            raise self.fail(repr(text))
        self.at += 1
        return self.tokens[self.at - 1]

    def name(self, what: str) -> str:
        token = self.next
        if token.kind != "name":
            raise self.fail(what)
        if len(token.text) == 1:
            raise QuillError(
                token.line,
                f"{what} needs two or more characters: {token.text!r} alone would be a letter",
            )
        self.at += 1
        return token.text

    def letter(self) -> str:
        token = self.next
        if token.kind != "name" or len(token.text) != 1 or not token.text.islower():
            raise self.fail("a letter, which is one small character")
        self.at += 1
        return token.text

    def letter_list(self) -> tuple[str, ...]:
        self.need("[")
        found = [self.letter()]
        while self.take(","):
            found.append(self.letter())
        self.need("]")
        return tuple(found)

    def whole(self, what: str) -> int:
        token = self.next
        if token.kind != "number" or not token.text.isdigit():
            raise self.fail(f"{what}, a whole number")
        self.at += 1
        return int(token.text)

    def end_line(self) -> None:
        if self.next.kind != "line":
            raise self.fail("the end of the line")
        self.at += 1

    # -- scrolls

    def program(self) -> list[Scroll]:
        found: list[Scroll] = []
        while self.at < len(self.tokens) - 1:
            found.append(self.scroll())
        if not found:
            raise QuillError(1, "the program has no scroll")
        return found

    def scroll(self) -> Scroll:
        line = self.need("scroll").line
        name = self.name("a scroll's name")
        self.need("(")
        parameters = [self.parameter()]
        while self.take(","):
            parameters.append(self.parameter())
        self.need(")")
        self.end_line()
        scroll = Scroll(name, line, parameters)
        while self.take("letters"):
            self.letters(scroll)
        scroll.body = self.body(f"scroll {name!r}", line)
        return scroll

    def parameter(self) -> Parameter:
        kind, line = self.take("well", "basin", "count", "grain"), self.next.line
        if kind is None:
            raise self.fail("'well', 'basin', 'count' or 'grain'")
        name = self.name("a parameter")
        if kind in ("count", "grain"):
            return Parameter(kind, name, line)
        self.need(":")
        dtype = self.name("f32, i64 or bool")
        self.need("[")
        dims: list[str | int] = []
        while not self.have("]"):
            number = self.next.kind == "number"
            dims.append(self.whole("a size") if number else self.name("a count"))
            if not self.take(","):
                break
        self.need("]")
        return Parameter(kind, name, line, dtype, tuple(dims))

    def letters(self, scroll: Scroll) -> None:
        while True:
            line, letter = self.next.line, self.letter()
            self.need("=")
            if letter in scroll.letters:
                raise QuillError(line, f"the letter {letter!r} has a size already")
            scroll.letters[letter] = self.whole(f"the size of {letter!r}")
            if not self.take(","):
                break
        self.end_line()

    # -- statements

    def body(self, of: str, line: int) -> tuple[Statement, ...]:
        found: list[Statement] = []
        self.deeper(line)
        while not self.take("end"):
            if self.have("scroll") or self.at >= len(self.tokens) - 1:
                raise QuillError(line, f"the {of} that begins here has no 'end'")
            found.append(self.statement())
        self.depth -= 1
        self.end_line()
        return tuple(found)

    def deeper(self, line: int) -> None:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise QuillError(line, "too many brackets or loops inside each other")

    def statement(self) -> Statement:
        line = self.next.line
        if self.take("roam"):
            return self.roam(line)
        if self.take("pour"):
            return self.pour(line)
        if self.take("vessel"):
            name = self.name("a vessel")
            letters = self.letter_list() if self.have("[") else ()
            self.need("=")
            return self.ended(Statement("vessel", line, name, self.expr(), letters=letters))
        if self.have("letters"):
            raise QuillError(line, "letters are declared at the top of the scroll")
        name = self.name("a statement")
        if self.have("["):
            raise QuillError(line, f"memory is moved only by pour: pour … -> {name}[…]")
        kind = {":=": "set", "<~": "change"}.get(self.take(":=", "<~") or "")
        if kind is None:
            raise self.fail("':=' (a new tile) or '<~' (a vessel changes)")
        return self.ended(Statement(kind, line, name, self.expr()))

    def ended(self, statement: Statement) -> Statement:
        self.end_line()
        return statement

    def roam(self, line: int) -> Statement:
        name = self.name("what roams")
        begin = self.expr() if self.take("from") else None
        self.need("below")
        limit = self.expr()
        step = self.whole("a step") if self.take("by") else 1
        self.end_line()
        body = self.body("roam", line)
        return Statement("roam", line, name, limit, begin=begin, step=step, body=body)

    def pour(self, line: int) -> Statement:
        ahead = self.tokens[self.at + 1]
        if self.next.kind == "name" and ahead.text == "[":
            place = self.place()
            self.need("->")
            name = self.name("a tile")
            dry = self.expr() if self.take("dry") else None
            return self.ended(Statement("fetch", line, name, dry, place))
        expr = self.expr()
        self.need("->")
        if self.take("well"):
            raise QuillError(line, "a well is only read")
        place = self.place()
        return self.ended(Statement("spill", line, place.name, expr, place))

    def place(self) -> Place:
        line, name = self.next.line, self.name("a well or a basin")
        self.need("[")
        coords: list[Expr] = []
        while not self.have("]"):
            coords.append(self.expr())
            if not self.take(","):
                break
        self.need("]")
        return Place(name, tuple(coords), line)

    # -- expressions

    def expr(self) -> Expr:
        line = self.next.line
        self.deeper(line)
        found = self.either()
        if self.take("so"):
            yes = self.either()
            self.need("else")
            found = Expr("so", line, parts=(found, yes, self.expr()))
        self.depth -= 1
        return found

    def level(self, below: str, *signs: str) -> Expr:
        found = getattr(self, below)()
        while self.have(*signs):
            token = self.tokens[self.at]
            self.at += 1
            found = Expr("sign", token.line, token.text, (found, getattr(self, below)()))
        return found

    def either(self) -> Expr:
        return self.level("both", "or")

    def both(self) -> Expr:
        return self.level("compared", "and")

    def compared(self) -> Expr:
        return self.level("sum", "<", "<=", ">", ">=", "==", "!=")

    def sum(self) -> Expr:
        return self.level("product", "+", "-")

    def product(self) -> Expr:
        return self.level("signed", "*", "/", "//", "%")

    def signed(self) -> Expr:
        line = self.next.line
        sign = self.take("-", "not")
        if sign is None:
            return self.power()
        self.deeper(line)
        found = Expr("sign", line, sign, (self.signed(),))
        self.depth -= 1
        return found

    def power(self) -> Expr:
        found = self.primary()
        if self.have("^"):
            line = self.need("^").line
            return Expr("sign", line, "^", (found, self.signed()))
        return found

    def primary(self) -> Expr:
        token = self.next
        if token.kind == "number" or self.have("inf"):
            self.at += 1
            return Expr("number", token.line, token.text)
        if self.take("("):
            found = self.expr()
            self.need(")")
            return found
        if token.kind == "word":
            return self.along(token)
        if token.kind != "name":
            raise self.fail("a value")
        self.at += 1
        if self.have("["):
            raise QuillError(
                token.line, f"memory is moved only by pour: pour {token.text}[…] -> a tile first"
            )
        if self.have("("):
            return Expr("call", token.line, token.text, self.arguments())
        return Expr("name", token.line, token.text)

    def along(self, token: Token) -> Expr:
        if token.text == "rung":
            self.at += 1
            return Expr("rung", token.line, letters=self.letter_list())
        if token.text == "turn":
            self.at += 1
            self.need("[")
            old = self.letter()
            self.need(">")
            new = self.letter()
            self.need("]")
            return Expr("turn", token.line, parts=self.arguments(), letters=(old, new))
        if token.text not in ALONG:
            raise self.fail("a value")
        self.at += 1
        if not self.have("["):
            raise QuillError(token.line, f"{token.text} names its letter: {token.text}[c](…)")
        letters = self.letter_list()
        return Expr("along", token.line, token.text, self.arguments(), letters)

    def arguments(self) -> tuple[Expr, ...]:
        self.need("(")
        found = [self.expr()]
        while self.take(","):
            found.append(self.expr())
        self.need(")")
        return tuple(found)


def read(source: str) -> list[Scroll]:
    return Reader(source).program()
