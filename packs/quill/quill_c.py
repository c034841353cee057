"""quill_c.py: a quill program as C. What the language forbids is found here, with the
line and a remedy.

A tile is an array of floats; each has its own part of one block of memory. A statement
becomes a nest of loops, one for each letter; what runs along a letter (a sum, a scan, a
product of tiles) is computed into a tile of its own before."""
from __future__ import annotations

import math
from dataclasses import dataclass, field

from quill_read import Expr, Parameter, Place, QuillError, Scroll, Statement, read

MOST_OF_A_LETTER = 4096
MOST_OF_A_TILE = 65536
MOST_FLOATS = 1 << 23  # of all tiles of a scroll

_TYPES = {"f32": "float", "i64": "long long", "bool": "unsigned char"}
_CALLS = {
    "exp": "expf", "log": "logf", "sqrt": "sqrtf", "tanh": "tanhf", "erf": "erff",
    "abs": "fabsf", "sin": "sinf", "cos": "cosf", "down": "floorf",
}  # fmt: skip
_PAIRS = {"upper": ">", "lower": "<"}
_SCANS = {"climb": ("0.0", "+"), "mount": ("1.0", "*")}
_FOLDS = {"heap": ("0.0", "+"), "steep": ("1.0", "*")}
# C's own words, and the functions that the C below calls.
_TAKEN = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while asm typeof main malloc free abort powf".split()
) | frozenset(_CALLS.values())

_HEAD = """\
static long long q_div(long long a, long long b)
{ long long q = b ? a / b : 0; return q - (b && a % b && (a < 0) != (b < 0)); }
static long long q_mod(long long a, long long b) { return b ? a - q_div(a, b) * b : 0; }
static float q_upper(float a, float b) { return a > b || a != a ? a : b; }
static float q_lower(float a, float b) { return a < b || a != a ? a : b; }
"""


@dataclass(frozen=True)
class Value:
    """`code` for one element; the letters that the element depends on."""

    code: str
    letters: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Tile:
    where: str  # a C pointer
    letters: tuple[str, ...]
    vessel: bool = False


@dataclass
class Writer:
    scroll: Scroll
    lines: list[str] = field(default_factory=list)
    floats: int = 0
    tiles: int = 0
    names: list[dict[str, Tile | str]] = field(default_factory=lambda: [{}])
    poured: set[str] = field(default_factory=set)

    # -- names and letters

    def find(self, name: str) -> Tile | str | None:
        for scope in reversed(self.names):
            if name in scope:
                return scope[name]
        return None

    def parameter(self, name: str) -> Parameter | None:
        return next((p for p in self.scroll.parameters if p.name == name), None)

    def declare(self, name: str, line: int, what: Tile | str) -> None:
        if self.find(name) is not None or self.parameter(name):
            raise QuillError(
                line,
                f"{name!r} is set already, and a tile is set once; take another name, or make it "
                f"a vessel and change it with '<~'",
            )
        self.names[-1][name] = what

    def size(self, letter: str, line: int) -> int:
        if letter not in self.scroll.letters:
            raise QuillError(
                line, f"the letter {letter!r} has no size; add it to 'letters' at the top"
            )
        return self.scroll.letters[letter]

    def ordered(self, letters: frozenset[str] | set[str]) -> tuple[str, ...]:
        return tuple(c for c in self.scroll.letters if c in letters)

    def index(self, letters: tuple[str, ...], renamed: dict[str, str] | None = None) -> str:
        code = "0"
        for c in letters:
            code = f"({code} * {self.scroll.letters[c]} + a_{(renamed or {}).get(c, c)})"
        return code

    # -- text

    def put(self, text: str) -> None:
        self.lines.append("    " + text)

    def loops(self, letters: tuple[str, ...], inside: list[str]) -> None:
        for c in letters:
            self.put(f"for (long a_{c} = 0; a_{c} < {self.scroll.letters[c]}; a_{c}++) {{")
        for line in inside:
            self.put(line)
        self.put("}" * len(letters))

    def new_tile(self, letters: tuple[str, ...], line: int, vessel: bool = False) -> Tile:
        size = math.prod(self.size(c, line) for c in letters)
        if size > MOST_OF_A_TILE:
            raise QuillError(
                line,
                f"a tile of the letters {', '.join(letters)} has {size} elements, at most "
                f"{MOST_OF_A_TILE}; a product of two tiles that is summed is a weave",
            )
        tile = Tile(f"(q_memory + {self.floats})", letters, vessel)
        self.floats += size
        if self.floats > MOST_FLOATS:
            raise QuillError(line, f"the tiles of the scroll have more than {MOST_FLOATS} elements")
        return tile

    def element(self, tile: Tile, renamed: dict[str, str] | None = None) -> Value:
        letters = frozenset((renamed or {}).get(c, c) for c in tile.letters)
        return Value(f"{tile.where}[{self.index(tile.letters, renamed)}]", letters)

    def kept(self, value: Value, line: int) -> Tile:
        """The value as a tile of its own."""
        letters = self.ordered(value.letters)
        tile = self.new_tile(letters, line)
        self.loops(letters, [f"{self.element(tile).code} = {value.code};"])
        return tile

    # -- whole numbers: coordinates and loops

    def whole(self, e: Expr, letters: set[str] | None) -> str:
        """`letters` gathers those that are met; None: there may be none."""
        if e.kind == "number" and e.text.isdigit() and int(e.text) < 1 << 62:
            return f"{e.text}LL"
        if e.kind == "name":
            return self.whole_name(e, letters)
        if e.kind == "sign" and e.text in ("+", "-", "*", "//", "%"):
            parts = [self.whole(p, letters) for p in e.parts]
            if len(parts) == 1:
                return f"(-{parts[0]})"
            if e.text in ("//", "%"):
                return f"{'q_div' if e.text == '//' else 'q_mod'}({parts[0]}, {parts[1]})"
            return f"({parts[0]} {e.text} {parts[1]})"
        raise QuillError(
            e.line,
            "a coordinate is made of whole numbers, counts, what roams, letters and + - * // %",
        )

    def whole_name(self, e: Expr, letters: set[str] | None) -> str:
        if len(e.text) == 1:
            self.size(e.text, e.line)
            if letters is None:
                raise QuillError(e.line, f"the letter {e.text!r} has no place here")
            letters.add(e.text)
            return f"(long long)a_{e.text}"
        found, parameter = self.find(e.text), self.parameter(e.text)
        if isinstance(found, str) or (parameter and parameter.kind == "count"):
            return f"v_{e.text}"
        if found is None and parameter is None:
            raise QuillError(e.line, f"{e.text!r} is not known")
        raise QuillError(e.line, f"{e.text!r} is no whole number, so it cannot be a coordinate")

    # -- values

    def value(self, e: Expr) -> Value:
        return getattr(self, f"value_{e.kind}")(e)

    def value_number(self, e: Expr) -> Value:
        if e.text == "inf":
            return Value("__builtin_inff()")
        if not math.isfinite(float(e.text)):
            raise QuillError(e.line, f"{e.text} is too large for a number")
        return Value(f"{float(e.text)!r}f")

    def value_name(self, e: Expr) -> Value:
        if len(e.text) == 1:
            raise QuillError(e.line, f"a letter is no value; rung[{e.text}] has its numbers")
        found, parameter = self.find(e.text), self.parameter(e.text)
        if isinstance(found, Tile):
            return self.element(found)
        if isinstance(found, str) or (parameter and parameter.kind in ("count", "grain")):
            return Value(f"(float)v_{e.text}")
        if parameter:
            raise QuillError(e.line, f"{e.text!r} is memory; pour it into a tile first")
        raise QuillError(e.line, f"{e.text!r} is not known; a tile is made by ':=' or pour")

    def value_call(self, e: Expr) -> Value:
        parts = [self.value(p) for p in e.parts]
        letters = frozenset().union(*(p.letters for p in parts))
        wanted = 1 if e.text in _CALLS else 2 if e.text in _PAIRS else 0
        if not wanted:
            known = ", ".join([*_CALLS, *_PAIRS])
            raise QuillError(e.line, f"there is no function {e.text!r}; there are {known}")
        if len(parts) != wanted:
            raise QuillError(e.line, f"{e.text} takes {wanted} values, got {len(parts)}")
        if wanted == 1:
            return Value(f"__builtin_{_CALLS[e.text]}({parts[0].code})", letters)
        return Value(f"q_{e.text}({parts[0].code}, {parts[1].code})", letters)

    def value_sign(self, e: Expr) -> Value:
        parts = [self.value(p) for p in e.parts]
        letters = frozenset().union(*(p.letters for p in parts))
        a, b = parts[0].code, parts[-1].code
        if len(parts) == 1:
            return Value(f"(-{a})" if e.text == "-" else f"(float)({a} == 0.0f)", letters)
        if e.text in "+-*/":
            return Value(f"({a} {e.text} {b})", letters)
        if e.text == "//":
            return Value(f"__builtin_floorf({a} / {b})", letters)
        if e.text == "%":
            return Value(f"({a} - {b} * __builtin_floorf({a} / {b}))", letters)
        if e.text == "^":
            square = e.parts[1].kind == "number" and e.parts[1].text == "2"
            return Value(f"({a} * {a})" if square else f"__builtin_powf({a}, {b})", letters)
        if e.text in ("and", "or"):
            sign = "&&" if e.text == "and" else "||"
            return Value(f"(float)({a} != 0.0f {sign} {b} != 0.0f)", letters)
        return Value(f"(float)({a} {e.text} {b})", letters)

    def value_so(self, e: Expr) -> Value:
        when, yes, no = (self.value(p) for p in e.parts)
        letters = when.letters | yes.letters | no.letters
        return Value(f"({when.code} != 0.0f ? {yes.code} : {no.code})", letters)

    def value_rung(self, e: Expr) -> Value:
        if len(e.letters) != 1:
            raise QuillError(e.line, "rung takes one letter")
        self.size(e.letters[0], e.line)
        return Value(f"(float)a_{e.letters[0]}", frozenset(e.letters))

    def value_turn(self, e: Expr) -> Value:
        if len(e.parts) != 1:
            raise QuillError(e.line, "turn takes one tile")
        old, new = e.letters
        value = self.value(e.parts[0])
        if old not in value.letters or new in value.letters:
            raise QuillError(
                e.line, f"turn[{old}>{new}] needs a tile with {old!r} and without {new!r}"
            )
        if self.size(old, e.line) != self.size(new, e.line):
            raise QuillError(e.line, f"the letters {old!r} and {new!r} have different sizes")
        return self.element(self.kept(value, e.line), {old: new})

    def value_along(self, e: Expr) -> Value:
        parts = [self.value(p) for p in e.parts]
        wanted = 2 if e.text == "weave" else 1
        if len(parts) != wanted:
            raise QuillError(e.line, f"{e.text} takes {wanted} tiles, got {len(parts)}")
        if len(set(e.letters)) != len(e.letters):
            raise QuillError(e.line, f"{e.text} names a letter twice")
        for c in e.letters:
            self.size(c, e.line)
            for part in parts:
                if c not in part.letters:
                    has = ", ".join(self.ordered(part.letters)) or "none"
                    raise QuillError(
                        e.line,
                        f"{e.text}[{c}] runs along {c!r}, but the tile's letters are: {has}",
                    )
        if e.text in ("spot", "climb", "mount", "crest") and len(e.letters) != 1:
            raise QuillError(e.line, f"{e.text} takes one letter")
        if e.text in ("climb", "mount", "crest"):
            return self.scan(e, parts[0])
        if e.text == "weave":
            parts = [self.element(self.kept(p, e.line)) for p in parts]
        return self.fold(e, parts)

    def fold(self, e: Expr, parts: list[Value]) -> Value:
        letters = frozenset().union(*(p.letters for p in parts)) - set(e.letters)
        tile = self.new_tile(self.ordered(letters), e.line)
        inner = self.ordered(set(e.letters))
        begin, each, end = self.folding(e, parts)
        inside = [begin]
        for c in inner:
            inside.append(f"for (long a_{c} = 0; a_{c} < {self.scroll.letters[c]}; a_{c}++) {{")
        inside += [each, "}" * len(inner), f"{self.element(tile).code} = {end};"]
        self.loops(tile.letters, ["{", *inside, "}"])
        return self.element(tile)

    def folding(self, e: Expr, parts: list[Value]) -> tuple[str, str, str]:
        if e.text == "weave":
            a, b = parts
            return "double q_s = 0.0;", f"q_s += (double){a.code} * {b.code};", "(float)q_s"
        if e.text in _FOLDS:
            start, sign = _FOLDS[e.text]
            return f"double q_s = {start};", f"q_s {sign}= {parts[0].code};", "(float)q_s"
        if e.text == "spot":
            begin = "float q_s = -__builtin_inff(); long q_at = 0;"
            each = f"{{ const float q_v = {parts[0].code}; if (q_v > q_s) {{ q_s = q_v; q_at = a_{e.letters[0]}; }} }}"
            return begin, each, "(float)q_at"
        pick, start = ("q_upper", "-") if e.text == "brim" else ("q_lower", "")
        each = f"q_s = {pick}(q_s, {parts[0].code});"
        return f"float q_s = {start}__builtin_inff();", each, "q_s"

    def scan(self, e: Expr, part: Value) -> Value:
        (c,) = e.letters
        tile = self.new_tile(self.ordered(part.letters), e.line)
        to = self.element(tile).code
        if e.text in _SCANS:
            start, sign = _SCANS[e.text]
            begin, each = f"double q_s = {start};", f"q_s {sign}= {part.code};"
        else:
            begin = "float q_s = -__builtin_inff();"
            each = f"q_s = q_upper(q_s, {part.code});"
        inside = [
            begin,
            f"for (long a_{c} = 0; a_{c} < {self.scroll.letters[c]}; a_{c}++) {{",
            each,
            f"{to} = (float)q_s;",
            "}",
        ]
        self.loops(tuple(x for x in tile.letters if x != c), ["{", *inside, "}"])
        return self.element(tile)

    # -- memory

    def memory(self, place: Place, kind: str) -> Parameter:
        found = self.parameter(place.name)
        if not found or found.kind not in ("well", "basin"):
            raise QuillError(place.line, f"{place.name!r} is no {kind} of the scroll")
        if found.kind != kind:
            what = "read" if found.kind == "well" else "poured into"
            raise QuillError(place.line, f"{place.name!r} is a {found.kind}, which is only {what}")
        if len(place.coords) != len(found.dims):
            raise QuillError(
                place.line,
                f"{place.name!r} has {len(found.dims)} dimensions, got {len(place.coords)} "
                "coordinates",
            )
        return found

    def address(self, place: Place, memory: Parameter) -> tuple[list[str], str, set[str]]:
        """The coordinates as C variables, the condition that they lie inside, the letters."""
        letters: set[str] = set()
        lines, inside, at = [], [], "0"
        for i, (coord, dim) in enumerate(zip(place.coords, memory.dims)):
            size = f"{dim}LL" if isinstance(dim, int) else f"v_{dim}"
            lines.append(f"const long long q_{i} = {self.whole(coord, letters)};")
            inside.append(f"q_{i} >= 0 && q_{i} < {size}")
            at = f"({at} * {size} + q_{i})"
        lines.append(f"const long long q_at = {at};")
        return lines, " && ".join(inside) or "1", letters

    def do_fetch(self, s: Statement) -> None:
        assert s.place
        memory = self.memory(s.place, "well")
        dry = self.value(s.expr) if s.expr else Value("0.0f")
        if dry.letters:
            raise QuillError(s.line, "the dry value is one number")
        lines, inside, letters = self.address(s.place, memory)
        tile = self.new_tile(self.ordered(letters), s.line)
        to = self.element(tile).code
        lines.append(f"{to} = {inside} ? (float)p_{memory.name}[q_at] : {dry.code};")
        self.loops(tile.letters, ["{", *lines, "}"])
        self.declare(s.name, s.line, tile)

    def do_spill(self, s: Statement) -> None:
        assert s.place and s.expr
        memory = self.memory(s.place, "basin")
        value = self.value(s.expr)
        lines, inside, letters = self.address(s.place, memory)
        missing = self.ordered(value.letters - letters)
        if missing:
            raise QuillError(
                s.line,
                f"the tile has the letter {missing[0]!r}, but no coordinate of {memory.name!r} "
                f"names it; reduce it away first, or name it",
            )
        kind = _TYPES[memory.dtype]
        lines.append(f"if ({inside}) p_{memory.name}[q_at] = ({kind}){value.code};")
        self.loops(self.ordered(letters), ["{", *lines, "}"])
        self.poured.add(memory.name)

    # -- the other statements

    def do_set(self, s: Statement) -> None:
        assert s.expr
        self.declare(s.name, s.line, self.kept(self.value(s.expr), s.line))

    def do_vessel(self, s: Statement) -> None:
        for c in s.letters:
            self.size(c, s.line)
        tile = self.new_tile(self.ordered(set(s.letters)), s.line, vessel=True)
        self.fill(s, tile)
        self.declare(s.name, s.line, tile)

    def do_change(self, s: Statement) -> None:
        tile = self.find(s.name)
        if not isinstance(tile, Tile) or not tile.vessel:
            raise QuillError(s.line, f"{s.name!r} is no vessel; only a vessel changes")
        self.fill(s, tile)

    def fill(self, s: Statement, tile: Tile) -> None:
        assert s.expr
        value = self.value(s.expr)
        extra = self.ordered(value.letters - set(tile.letters))
        if extra:
            raise QuillError(s.line, f"the vessel {s.name!r} has no letter {extra[0]!r}")
        self.loops(tile.letters, [f"{self.element(tile).code} = {value.code};"])

    def do_roam(self, s: Statement) -> None:
        assert s.expr
        begin = self.whole(s.begin, None) if s.begin else "0"
        limit = self.whole(s.expr, None)
        if s.step < 1:
            raise QuillError(s.line, "a step is at least 1")
        self.declare(s.name, s.line, "whole")
        v = f"v_{s.name}"
        self.put(f"for (long long {v} = {begin}; {v} < {limit}; {v} += {s.step}) {{")
        self.names.append({})
        self.do(s.body)
        self.names.pop()
        self.put("}")
        del self.names[-1][s.name]

    def do(self, body: tuple[Statement, ...]) -> None:
        for s in body:
            getattr(self, f"do_{s.kind}")(s)


def _check_parameters(scroll: Scroll) -> None:
    if scroll.name in _TAKEN or scroll.name.startswith(("q_", "monkeys_", "_")):
        raise QuillError(scroll.line, f"a scroll cannot be called {scroll.name!r}")
    seen: set[str] = set()
    counts = {p.name for p in scroll.parameters if p.kind == "count"}
    for p in scroll.parameters:
        if p.name in seen:
            raise QuillError(p.line, f"two parameters are called {p.name!r}")
        seen.add(p.name)
        if p.kind in ("well", "basin") and p.dtype not in _TYPES:
            raise QuillError(p.line, f"{p.name!r}: {p.dtype!r} is none of f32, i64 and bool")
        if p.kind == "basin" and p.dtype == "bool":
            raise QuillError(p.line, f"{p.name!r}: a basin is f32 or i64")
        for dim in p.dims:
            if isinstance(dim, str) and dim not in counts:
                raise QuillError(p.line, f"{p.name!r}: {dim!r} is no count of the scroll")
    for letter, size in scroll.letters.items():
        if not 1 <= size <= MOST_OF_A_LETTER:
            raise QuillError(
                scroll.line, f"the letter {letter!r} has size {size}; 1 to {MOST_OF_A_LETTER}"
            )


def c_type(p: Parameter) -> str:
    """The parameter in C."""
    if p.kind == "count":
        return f"long long v_{p.name}"
    if p.kind == "grain":
        return f"double v_{p.name}"
    return f"{'const ' if p.kind == 'well' else ''}{_TYPES[p.dtype]} *restrict p_{p.name}"


def scroll_to_c(scroll: Scroll) -> str:
    _check_parameters(scroll)
    w = Writer(scroll)
    w.do(scroll.body)
    for p in scroll.parameters:
        if p.kind == "basin" and p.name not in w.poured:
            raise QuillError(p.line, f"nothing is poured into the basin {p.name!r}")
    head = f"void {scroll.name}({', '.join(c_type(p) for p in scroll.parameters)})"
    begin = [
        f"    float *const q_memory = __builtin_malloc({max(w.floats, 1)} * sizeof(float));",
        "    if (!q_memory) __builtin_trap();",
    ]
    return "\n".join([head, "{", *begin, *w.lines, "    __builtin_free(q_memory);", "}", ""])


def to_c(source: str) -> str:
    """Raises QuillError."""
    scrolls = read(source)
    names = [s.name for s in scrolls]
    for s in scrolls:
        if names.count(s.name) > 1:
            raise QuillError(s.line, f"two scrolls are called {s.name!r}")
    return "\n".join([_HEAD, *(scroll_to_c(s) for s in scrolls)])
