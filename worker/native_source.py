"""native_source.py: what C source says, read without a C compiler's front end.

Three questions are answered here: which preprocessor lines the source has, which
constructs it uses that a kernel has no need for, and which functions it defines
with which parameters. The last two are asked of preprocessed text, so that a
macro can neither hide a word nor a parameter's type.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterator

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?(?:\*/|\Z)|//[^\n]*)
      | (?P<string>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
      | (?P<name>[^\W\d]\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
      | (?P<newline>\n)
      | (?P<space>[^\S\n]+)
      | (?P<op>%:|<:|.)""",
    re.DOTALL | re.VERBOSE,
)
SPLICE = re.compile(r"\\[ \t\f\v]*\r?\n")
TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
LINE_MARKER = re.compile(r'^#\s+\d+\s+"((?:\\.|[^"\\])*)"')

DIRECTIVES = frozenset(
    "include define undef if ifdef ifndef elif else endif error warning pragma".split()
)
# Loops may be steered; floating-point rules, targets and threads may not.
PRAGMA = re.compile(r"(?:GCC (?:unroll|ivdep)|STDC FP_CONTRACT|clang loop)\b")
ATTRIBUTES = frozenset(
    "aligned always_inline assume_aligned cold const fallthrough flatten hot may_alias "
    "noinline nonnull packed pure unused vector_size".split()
)
OPENERS = frozenset(["[", "<:"])
ASSEMBLER = frozenset(["asm", "__asm", "__asm__"])


class SourceError(ValueError):
    """The source uses something a kernel may not use; the text says what."""


@dataclass(frozen=True)
class Token:
    kind: str
    text: str


@dataclass(frozen=True)
class CType:
    """A scalar type. `kind` is int, uint, float, bool or void."""

    kind: str
    bits: int = 0

    @property
    def name(self) -> str:
        """The name of torch's dtype with these elements."""
        return self.kind if self.kind in ("bool", "void") else f"{self.kind}{self.bits}"


@dataclass(frozen=True)
class Parameter:
    """`type` is None for what cannot be passed from Python (a struct, `float **`)."""

    name: str
    text: str
    type: CType | None
    pointer: bool = False


@dataclass(frozen=True)
class Function:
    """A function with external linkage; `result` is None when it is no scalar or void."""

    name: str
    result: CType | None
    parameters: tuple[Parameter, ...] = ()

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(p.text for p in self.parameters)})"


NAMED_TYPES = {
    "void": CType("void"),
    "float": CType("float", 32),
    "double": CType("float", 64),
    "_Bool": CType("bool", 8),
    "size_t": CType("uint", 64),
    "ptrdiff_t": CType("int", 64),
    "intptr_t": CType("int", 64),
    "uintptr_t": CType("uint", 64),
} | {f"{k}{b}_t": CType(k, b) for k in ("int", "uint") for b in (8, 16, 32, 64)}
INTEGER_WORDS = frozenset("signed unsigned char short int long".split())
QUALIFIERS = frozenset(
    "const volatile restrict __restrict __restrict__ register extern inline __inline "
    "__inline__ _Noreturn __extension__ __const".split()
)


def tokens(text: str) -> Iterator[Token]:
    """Everything but blanks and comments; line ends are tokens."""
    for match in TOKEN.finditer(text):
        if match.lastgroup not in ("comment", "space"):
            yield Token(str(match.lastgroup), match.group())


def check_directives(source: str, headers: frozenset[str]) -> None:
    """Refuses every preprocessor line that is not plain, and every other header."""
    if match := TRIGRAPH.search(source):
        raise SourceError(f"the trigraph {match.group()} is not allowed")
    if re.search(r"\r(?!\n)", source):
        raise SourceError("a carriage return is not allowed; lines end with a newline")
    line: list[Token] = []
    for token in [*tokens(SPLICE.sub("", source)), Token("newline", "\n")]:
        if token.kind != "newline":
            line.append(token)
            continue
        if line and line[0].text in ("#", "%:"):
            _check_directive([t.text for t in line[1:]], headers)
        line = []


def _check_directive(words: list[str], headers: frozenset[str]) -> None:
    if not words:
        return
    if words[0] not in DIRECTIVES:
        raise SourceError(f"#{words[0]} is not allowed in a kernel")
    if words[0] == "include":
        name = "".join(words[1:])
        if not (name.startswith("<") and name.endswith(">") and name[1:-1] in headers):
            allowed = " ".join(f"<{h}>" for h in sorted(headers))
            raise SourceError(f"#include {name} is not allowed; a kernel may include {allowed}")


def own_text(preprocessed: str, file_name: str) -> str:
    """The part of a preprocessor's output that stands in the source itself."""
    own = True
    lines = []
    for line in preprocessed.split("\n"):
        if match := LINE_MARKER.match(line):
            own = match.group(1) == file_name
        elif own:
            lines.append(line)
    return "\n".join(lines)


def check_constructs(own: str) -> None:
    """Refuses assembler, pragmas and attributes that a kernel has no need for."""
    for line in own.split("\n"):
        if line.lstrip().startswith("#pragma"):
            text = " ".join(line.split()[1:])
            if not PRAGMA.match(text):
                raise SourceError(f"#pragma {text} is not allowed in a kernel")
    toks = [token for token in tokens(own) if token.kind != "newline"]
    for i, token in enumerate(toks):
        if token.text in ASSEMBLER:
            raise SourceError("inline assembler is not allowed; write the kernel in C")
        if token.text in ("__attribute__", "__attribute"):
            _check_attribute(toks, i)
        if token.text in OPENERS and i and toks[i - 1].text in OPENERS:
            raise SourceError("[[…]] is not allowed; write __attribute__((…))")


def _check_attribute(toks: list[Token], at: int) -> None:
    depth = 0
    for token in toks[at + 1 :]:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        name = token.text.strip("_")
        if depth == 2 and token.kind == "name" and name not in ATTRIBUTES:
            raise SourceError(f"__attribute__(({name})) is not allowed in a kernel")
        if depth == 0:
            return


def functions(own: str) -> dict[str, Function]:
    """The functions that can be called from outside, by name."""
    found: dict[str, Function] = {}
    aliases: dict[str, list[str]] = {}
    for head, is_body in _declarations(own):
        if is_body:
            if function := _function(head, aliases):
                found[function.name] = function
        elif len(head) > 2 and head[0] == "typedef" and all(map(_is_word, head)):
            aliases[head[-1]] = _expand(head[1:-1], aliases)
    return found


def _declarations(own: str) -> Iterator[tuple[list[str], bool]]:
    """Each declaration at file scope: its words without attributes and without
    what stands in braces, and whether it is a function's head."""
    head: list[str] = []
    depth = 0
    for text in _without_attributes(own):
        if text == "{":
            if depth == 0 and "=" not in head and head[-1:] == [")"]:
                yield head, True
                head = []
            elif depth == 0:
                head.append("{}")
            depth += 1
        elif text == "}":
            depth = max(0, depth - 1)
        elif depth == 0 and text == ";":
            yield head, False
            head = []
        elif depth == 0:
            head.append(text)


def _without_attributes(own: str) -> Iterator[str]:
    """Texts of the tokens. An attribute becomes `{` `}` when it could change a
    type's size, so that no alias is made of it, and nothing otherwise."""
    skipping, depth = False, 0
    for line in own.split("\n"):
        if line.lstrip().startswith("#"):
            continue
        for token in tokens(line):
            if skipping:
                depth += {"(": 1, ")": -1}.get(token.text, 0)
                if token.text.strip("_") == "vector_size":
                    yield from ("{", "}")
                skipping = depth > 0
            elif token.text in ("__attribute__", "__attribute", "_Alignas"):
                skipping = True
            else:
                yield token.text


def _is_word(text: str) -> bool:
    return text.isidentifier()


def _expand(words: list[str], aliases: dict[str, list[str]]) -> list[str]:
    return [w for word in words for w in aliases.get(word, [word])]


def _function(head: list[str], aliases: dict[str, list[str]]) -> Function | None:
    depth, at = 0, len(head)
    while at:
        at -= 1
        depth += {")": 1, "(": -1}.get(head[at], 0)
        if depth == 0:
            break
    if at < 2 or not _is_word(head[at - 1]):
        return None
    before = head[: at - 1]
    if "static" in before or ("extern" not in before and _is_inline(before)):
        return None
    result = None if "*" in before else _scalar(before, aliases)
    return Function(head[at - 1], result, _parameters(head[at + 1 : -1], aliases))


def _is_inline(words: list[str]) -> bool:
    return any(w.strip("_") == "inline" for w in words)


def _parameters(words: list[str], aliases: dict[str, list[str]]) -> tuple[Parameter, ...]:
    if words in ([], ["void"]):
        return ()
    groups: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(word, 0)
        if word == "," and depth == 0:
            groups.append([])
        else:
            groups[-1].append(word)
    return tuple(_parameter(group, aliases) for group in groups)


def _parameter(words: list[str], aliases: dict[str, list[str]]) -> Parameter:
    text = _spell(words)
    array = words.index("[") if "[" in words else len(words)
    plain, suffix = words[:array], words[array:]
    names = [w for w in plain if _is_word(w) and w not in QUALIFIERS]
    if not names or not _is_word(plain[-1]) or "(" in plain:
        return Parameter(names[-1] if names else text, text, None)
    stars = plain.count("*") + suffix.count("[")
    kind = _scalar(plain[:-1], aliases) if stars < 2 else None
    if kind and kind.kind == "void" and not stars:
        kind = None
    return Parameter(plain[-1], text, kind, stars == 1)


def _spell(words: list[str]) -> str:
    text = " ".join("bool" if w == "_Bool" else w for w in words)
    return re.sub(r" ?\[ ?| (?=\])", lambda m: m.group().strip(), text.replace("* ", "*"))


def _scalar(words: list[str], aliases: dict[str, list[str]]) -> CType | None:
    """The type that specifiers name; `*` and qualifiers are passed over."""
    names = [w for w in _expand(words, aliases) if _is_word(w) and w not in QUALIFIERS]
    if len(names) == 1 and names[0] in NAMED_TYPES:
        return NAMED_TYPES[names[0]]
    if not names or not INTEGER_WORDS.issuperset(names) or names == ["char"]:
        return None
    bits = 8 if "char" in names else 16 if "short" in names else 64 if "long" in names else 32
    return CType("uint" if "unsigned" in names else "int", bits)
