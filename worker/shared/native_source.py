"""native_source.py: which functions C and C++ source defines, and with which
parameters, read without a compiler's front end.

The text is as a preprocessor leaves it, with macros expanded. What is read
here serves only to check arguments and to word messages: calls are generated in
the candidate's own translation unit, where the compiler checks every type again. What
differs from language to language is in `Language`.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Iterator


def _token_pattern(number: str, op: str) -> re.Pattern[str]:
    return re.compile(
        rf"""(?P<comment>/\*.*?(?:\*/|\Z)|//[^\n]*)
          | (?P<string>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
          | (?P<name>[^\W\d]\w*)
          | (?P<number>\.?\d(?:[eEpP][+-]|{number})*)
          | (?P<space>\s+)
          | (?P<op>{op}|.)""",
        re.DOTALL | re.VERBOSE,
    )


# C++ has 1'000'000, and A<::B> where C has a bracket.
C_TOKEN = _token_pattern(r"[\w.]", "%:|<:")
CXX_TOKEN = _token_pattern(r"[\w.]|'(?=\w)", "%:|<%|%>|:>|<:(?!:[^:>])")
LINE_MARKER = re.compile(r'^#\s+(\d+)\s+"((?:\\.|[^"\\])*)"')
ATTRIBUTE_WORDS = frozenset(["__attribute__", "__attribute"])
_C23_ATTRIBUTE = re.compile(r"\[\s*\[[^][]*\]\s*\]")


@dataclass(frozen=True)
class CType:
    """A scalar type. `kind` is int, uint, float, bfloat, bool, void, or stream for
    the place where a device's work is queued."""

    kind: str
    bits: int = 0

    @property
    def name(self) -> str:
        """The name of torch's dtype with these elements."""
        return f"{self.kind}{self.bits or ''}" if self.kind != "bool" else "bool"

    @property
    def by_value(self) -> bool:
        """Whether Python can pass one of them, and not only a pointer to them."""
        return self.kind not in ("void", "bfloat") and (self.kind, self.bits) != ("float", 16)


@dataclass(frozen=True)
class Parameter:
    """`type` is None for what cannot be passed from Python (a struct, `float **`)."""

    name: str
    text: str
    type: CType | None
    pointer: bool = False

    @property
    def filled_in(self) -> bool:
        """A stream is not the caller's to choose: the executor's own is passed."""
        return self.type is not None and self.type.kind == "stream"


@dataclass(frozen=True)
class Function:
    """What Python can call or launch, or cannot because of a `problem`."""

    name: str
    returns: bool  # anything but void
    parameters: tuple[Parameter, ...] = ()
    problem: str = ""

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(p.text for p in self.parameters)})"


C_TYPES = {
    "void": CType("void"),
    "float": CType("float", 32),
    "double": CType("float", 64),
    "_Bool": CType("bool", 8),
    "bool": CType("bool", 8),
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


@dataclass(frozen=True)
class Language:
    """What Python can reach: of C the functions with external linkage, with `cxx` the
    host functions with C linkage, with `kernels` what is __global__."""

    name: str
    token: re.Pattern[str]
    types: dict[str, CType] = field(default_factory=lambda: C_TYPES)
    cxx: bool = False
    kernels: bool = False
    callable_note: str = "static and inline functions are not"


C = Language(name="C", token=C_TOKEN)


def tokens(text: str, language: Language = C) -> Iterator[str]:
    """Everything but blanks and comments."""
    for match in language.token.finditer(text):
        if match.lastgroup not in ("comment", "space"):
            yield match.group()


def own_text(preprocessed: str, file_name: str) -> str:
    """The part of a preprocessor's output that stands in the source itself."""
    own = True
    lines = []
    for line in preprocessed.split("\n"):
        if match := LINE_MARKER.match(line):
            own = match.group(2) == file_name
        elif own:
            lines.append(line)
    return "\n".join(lines)


def functions(own: str, language: Language = C) -> dict[str, Function]:
    """The functions that can be called from outside, by name."""
    found: dict[str, Function] = {}
    aliases: dict[str, list[str]] = {}
    declarations = _cxx_declarations if language.cxx else _declarations
    for head, is_body in declarations(own, language):
        if is_body:
            if function := _function(head, aliases, language):
                if function.name in found:
                    function = replace(function, problem="has more than one definition")
                found[function.name] = function
        elif len(head) > 2 and head[0] == "typedef" and all(map(_is_word, head)):
            aliases[head[-1]] = _expand(head[1:-1], aliases)
        elif head[:1] == ["using"] and head[2:3] == ["="] and all(map(_is_word, head[3:])):
            aliases[head[1]] = _expand(head[3:], aliases)
    return found


def _declarations(own: str, language: Language) -> Iterator[tuple[list[str], bool]]:
    """Each declaration at file scope: its words without attributes and without
    what stands in braces, and whether it is a function's head."""
    head: list[str] = []
    depth = 0
    for text in _without_attributes(own, language):
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


def _cxx_declarations(own: str, language: Language) -> Iterator[tuple[list[str], bool]]:
    """The same for C++, but of functions only those that can be reached: with C linkage,
    or, of kernels, also what is in no namespace or in one without a name."""
    head: list[str] = []
    depth = 0
    blocks: list[str] = []  # the open ones that make no scope
    for text in _without_attributes(own, language):
        if text == "{" and depth == 0 and (block := _open_block(head, language)):
            blocks.append(block)
            head = []
        elif text == "{":
            if depth == 0 and _is_function(head):
                if reached := _reachable(head, '"C"' in blocks or language.kernels):
                    yield _unqualified(reached), True
                head = []
            elif depth == 0:
                head.append("{}")
            depth += 1
        elif text == "}" and depth == 0:
            blocks = blocks[:-1]
            head = []
        elif text == "}":
            depth -= 1
        elif depth == 0 and text == ";":
            yield _unqualified(_after_braces(head)), False
            head = []
        elif depth == 0:
            head.append(text)


def _open_block(head: list[str], language: Language) -> str:
    """The word before a brace behind which everything is as at file scope."""
    if head[-2:] == ["extern", '"C"'] or (language.kernels and head[-1:] == ["namespace"]):
        return head[-1]
    return ""


def _is_function(head: list[str]) -> bool:
    """Parentheses, and no initial value outside of them or of a template's list."""
    depth = 0
    head = _after_braces(head)
    for word in head[_end_of_template(head) :]:
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == "=" and depth == 0:
            return False
    return "(" in head


def _reachable(head: list[str], in_block: bool) -> list[str] | None:
    """The head up to the end of its parameters, or None."""
    head = _after_braces(head)
    if head[:2] == ["extern", '"C"']:
        head = head[2:]
    elif not in_block:
        return None
    start = _end_of_template(head)
    if "(" not in head[start:]:
        return None
    return head[: _closing(head, head.index("(", start), "(", ")") + 1]


def _end_of_template(head: list[str]) -> int:
    return _closing(head, 1, "<", ">") if head[:1] == ["template"] else 0


def _closing(words: list[str], at: int, opener: str, closer: str) -> int:
    """Where the bracket that opens at `at` is closed; the end, if it is not."""
    depth = 0
    for i in range(at, len(words)):
        depth += {opener: 1, closer: -1}.get(words[i], 0)
        if depth <= 0:
            return i
    return len(words)


def _after_braces(head: list[str]) -> list[str]:
    """Without a namespace or an odd function before it, which end with a brace."""
    while "{}" in head:
        head = head[head.index("{}") + 1 :]
    return head


def _unqualified(words: list[str]) -> list[str]:
    """`std::int64_t` and `::int64_t` as `int64_t`."""
    plain: list[str] = []
    for word in words:
        if word == ":" and plain[-1:] == [":"]:
            plain.pop()
            if plain and _is_word(plain[-1]) and plain[-1] not in QUALIFIERS:
                plain.pop()
        else:
            plain.append(word)
    return plain


def _without_attributes(own: str, language: Language) -> Iterator[str]:
    """Texts of the tokens. An attribute becomes `{` `}` when it could change a
    type's size, so that no alias is made of it, `__global__` and the like when it
    says where code runs, and nothing otherwise."""
    skipping, depth = False, 0
    for line in _C23_ATTRIBUTE.sub(" ", own).split("\n"):
        if line.lstrip().startswith("#"):
            continue
        for token in tokens(line, language):
            if skipping:
                depth += {"(": 1, ")": -1}.get(token, 0)
                name = token.strip("_")
                if name == "vector_size":
                    yield from ("{", "}")
                elif name in ("global", "device", "host"):
                    yield f"__{name}__"
                skipping = depth > 0
            elif token in ATTRIBUTE_WORDS or token in ("_Alignas", "alignas"):
                skipping = True
            else:
                yield token


def _is_word(text: str) -> bool:
    return text.isidentifier()


def _expand(words: list[str], aliases: dict[str, list[str]]) -> list[str]:
    return [w for word in words for w in aliases.get(word, [word])]


def _function(
    head: list[str], aliases: dict[str, list[str]], language: Language
) -> Function | None:
    depth, at = 0, len(head)
    while at:
        at -= 1
        depth += {")": 1, "(": -1}.get(head[at], 0)
        if depth == 0:
            break
    if at < 2 or not _is_word(head[at - 1]):
        return None
    before = head[: at - 1]
    if not _is_reached(before, language):
        return None
    parameters = _parse_parameters(head[at + 1 : -1], aliases, language)
    problem = "is a template" if before[:1] == ["template"] else ""
    returns = "*" in before or before[-1] != "void"
    return Function(head[at - 1], returns, parameters, problem)


def _is_reached(before: list[str], language: Language) -> bool:
    if language.kernels:
        return "__global__" in before
    if before[:1] == ["template"] or "__global__" in before:
        return False
    if "__device__" in before and "__host__" not in before:
        return False
    return "static" not in before and ("extern" in before or not _is_inline(before))


def _is_inline(words: list[str]) -> bool:
    return any(w.strip("_") == "inline" for w in words)


def _parse_parameters(
    words: list[str], aliases: dict[str, list[str]], language: Language
) -> tuple[Parameter, ...]:
    if words in ([], ["void"]):
        return ()
    groups: list[list[str]] = [[]]
    depth = 0
    brackets = {"(": 1, "[": 1, ")": -1, "]": -1}
    if language.cxx:
        brackets |= {"<": 1, ">": -1}
    for word in words:
        depth += brackets.get(word, 0)
        if word == "," and depth == 0:
            groups.append([])
        else:
            groups[-1].append(word)
    return tuple(_parameter(group, aliases, language) for group in groups)


def _parameter(
    words: list[str], aliases: dict[str, list[str]], language: Language
) -> Parameter:
    words = words[: words.index("=")] if "=" in words else words  # a default value
    text = _spell(words)
    words = _as_array(words)
    array = words.index("[") if "[" in words else len(words)
    plain, suffix = words[:array], words[array:]
    names = [w for w in plain if _is_word(w) and w not in QUALIFIERS]
    odd = {"(", "&", "<"} & set(plain)  # a function, a reference, a template
    if not names or odd or not _is_word(plain[-1]):
        return Parameter(names[-1] if names else text, text, None)
    stars = plain.count("*") + bool(suffix)  # the rows of x[n][d] follow each other
    kind = _scalar_type(plain[:-1], aliases, language) if stars < 2 else None
    if stars == 1 and (kind is None or kind.kind == "stream"):
        kind = CType("void")  # a vector type, a struct: the tensor's dtype says nothing
    if kind and not stars and not kind.by_value:
        kind = None
    return Parameter(plain[-1], text, kind, stars == 1)


def _as_array(words: list[str]) -> list[str]:
    """`float (*x)[d]` as `float x[][d]`."""
    if "(" not in words or ")" not in words:
        return words
    start, end = words.index("("), words.index(")")
    if words[start + 1 : start + 2] != ["*"] or words[end + 1 : end + 2] != ["["]:
        return words
    return [*words[:start], *words[start + 2 : end], "[", "]", *words[end + 1 :]]


def _spell(words: list[str]) -> str:
    text = " ".join("bool" if w == "_Bool" else w for w in words)
    return re.sub(r" ?\[ ?| (?=\])", lambda m: m.group().strip(), text.replace("* ", "*"))


def _scalar_type(
    words: list[str], aliases: dict[str, list[str]], language: Language
) -> CType | None:
    """The type that specifiers name; `*` and qualifiers are passed over."""
    names = [w for w in _expand(words, aliases) if _is_word(w) and w not in QUALIFIERS]
    if len(names) == 1 and names[0] in language.types:
        return language.types[names[0]]
    if not names or not INTEGER_WORDS.issuperset(names) or names == ["char"]:
        return None
    bits = 8 if "char" in names else 16 if "short" in names else 64 if "long" in names else 32
    return CType("uint" if "unsigned" in names else "int", bits)
