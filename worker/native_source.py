"""native_source.py: what C and C++ source says, read without a compiler's front end.

Three questions are answered here: which preprocessor lines the source has, which
constructs it uses that a kernel has no need for, and which functions it defines
with which parameters. The last two are asked of preprocessed text, so that a
macro can neither hide a word nor a parameter's type. What differs from language
to language is in `Language`.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Iterator


def _token_pattern(number: str, op: str) -> re.Pattern[str]:
    return re.compile(
        rf"""(?P<comment>/\*.*?(?:\*/|\Z)|//[^\n]*)
          | (?P<string>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
          | (?P<name>[^\W\d]\w*)
          | (?P<number>\.?\d(?:[eEpP][+-]|{number})*)
          | (?P<newline>\n)
          | (?P<space>[^\S\n]+)
          | (?P<op>{op}|.)""",
        re.DOTALL | re.VERBOSE,
    )


# C++ has 1'000'000, and A<::B> where C has a bracket: each language needs its own, or
# what is a string to the compiler could be code here, and the other way round.
C_TOKEN = _token_pattern(r"[\w.]", "%:|<:")
CXX_TOKEN = _token_pattern(r"[\w.]|'(?=\w)", "%:|<%|%>|:>|<:(?!:[^:>])")
DIGRAPHS = frozenset(["%:", "<%", "%>", "<:", ":>"])
RAW_STRINGS = frozenset(["R", "LR", "uR", "UR", "u8R"])
SPLICE = re.compile(r"\\[ \t\f\v]*\r?\n")
TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
LINE_MARKER = re.compile(r'^#\s+\d+\s+"((?:\\.|[^"\\])*)"')

DIRECTIVES = frozenset(
    "include define undef if ifdef ifndef elif else endif error warning pragma".split()
)
OPENERS = frozenset(["[", "<:"])
ASSEMBLER = frozenset(["asm", "__asm", "__asm__"])
ATTRIBUTE_WORDS = frozenset(["__attribute__", "__attribute"])


class SourceError(ValueError):
    """The source uses something a kernel may not use; the text says what."""


@dataclass(frozen=True)
class Token:
    kind: str
    text: str


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
        """A stream is not the caller's to choose: the device's current one is passed."""
        return self.type is not None and self.type.kind == "stream"


@dataclass(frozen=True)
class Function:
    """A function with external linkage; `result` is None when it is no scalar or void."""

    name: str
    result: CType | None
    parameters: tuple[Parameter, ...] = ()

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(p.text for p in self.parameters)})"


C_TYPES = {
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


@dataclass(frozen=True)
class Language:
    """What kernels of one language may contain. `attributes` are those of
    `__attribute__((…))`, `standard_attributes` those of `[[…]]`. With `cxx` only
    functions with C linkage can be called, and assembler may stand in code that
    runs on the device alone."""

    name: str
    token: re.Pattern[str]
    pragma: re.Pattern[str]
    attributes: frozenset[str]
    standard_attributes: frozenset[str] = frozenset()
    types: dict[str, CType] = field(default_factory=lambda: C_TYPES)
    cxx: bool = False
    callable_note: str = "static and inline functions are not"


C = Language(
    name="C",
    token=C_TOKEN,
    # Loops may be steered; floating-point rules, targets and threads may not.
    pragma=re.compile(r"(?:GCC (?:unroll|ivdep)|STDC FP_CONTRACT|clang loop)\b"),
    attributes=frozenset(
        "aligned always_inline assume_aligned cold const fallthrough flatten hot may_alias "
        "noinline nonnull packed pure unused vector_size".split()
    ),
)


def tokens(text: str, language: Language = C) -> Iterator[Token]:
    """Everything but blanks and comments; line ends are tokens."""
    for match in language.token.finditer(text):
        if match.lastgroup not in ("comment", "space"):
            yield Token(str(match.lastgroup), match.group())


# ---- what is refused -----------------------------------------------------------


def check_directives(source: str, headers: frozenset[str], language: Language = C) -> None:
    """Refuses every preprocessor line that is not plain, and every other header. The
    header `name/*` stands for all below that folder."""
    if match := TRIGRAPH.search(source):
        raise SourceError(f"the trigraph {match.group()} is not allowed")
    if re.search(r"\r(?!\n)", source):
        raise SourceError("a carriage return is not allowed; lines end with a newline")
    toks = [*tokens(SPLICE.sub("", source), language), Token("newline", "\n")]
    _check_spelling(toks, language)
    line: list[Token] = []
    for token in toks:
        if token.kind != "newline":
            line.append(token)
            continue
        if line and line[0].text in ("#", "%:"):
            _check_directive([t.text for t in line[1:]], headers, language)
        line = []


def _check_spelling(toks: list[Token], language: Language) -> None:
    """In C++, what would make the reader here and the compiler disagree on where a
    string or a block ends."""
    for token, after in zip(toks, toks[1:]):
        if language.cxx and token.text in DIGRAPHS:
            raise SourceError(f"the digraph {token.text} is not allowed")
        if language.cxx and token.text in RAW_STRINGS and after.text.startswith('"'):
            raise SourceError("a raw string is not allowed in a kernel's source")


def _check_directive(words: list[str], headers: frozenset[str], language: Language) -> None:
    if not words:
        return
    if words[0] not in DIRECTIVES:
        raise SourceError(f"#{words[0]} is not allowed in a kernel")
    if words[0] == "include":
        name = "".join(words[1:])
        if not _is_allowed_header(name, headers, language):
            allowed = " ".join(f"<{h}>" for h in sorted(headers))
            raise SourceError(f"#include {name} is not allowed; a kernel may include {allowed}")


def _is_allowed_header(name: str, headers: frozenset[str], language: Language) -> bool:
    quotes = ("<>", '""') if language.cxx else ("<>",)
    if name[:1] + name[-1:] not in quotes:
        return False
    folder, _, file = name[1:-1].partition("/")
    below = f"{folder}/*" in headers and re.fullmatch(r"\w+(?:/\w+)*(?:\.h)?", file)
    return name[1:-1] in headers or bool(below)


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


def check_constructs(own: str, language: Language = C) -> None:
    """Refuses assembler, pragmas and attributes that a kernel has no need for."""
    for line in own.split("\n"):
        if line.lstrip().startswith("#pragma"):
            text = " ".join(line.split()[1:])
            if not language.pragma.match(text):
                raise SourceError(f"#pragma {text} is not allowed in a kernel")
    toks = [token for token in tokens(own, language) if token.kind != "newline"]
    _check_spelling(toks, language)
    _check_assembler(toks, language)
    for i, token in enumerate(toks):
        if token.text in ATTRIBUTE_WORDS:
            _check_attribute(toks, i, language)
        if token.text in OPENERS and i and toks[i - 1].text in OPENERS:
            _check_standard_attribute(toks, i, language)


def _check_attribute(toks: list[Token], at: int, language: Language) -> None:
    depth = 0
    for token in toks[at + 1 :]:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        name = token.text.strip("_")
        if depth == 2 and token.kind == "name" and name not in language.attributes:
            raise SourceError(f"__attribute__(({name})) is not allowed in a kernel")
        if depth == 0:
            return


def _check_standard_attribute(toks: list[Token], at: int, language: Language) -> None:
    if not language.standard_attributes:
        raise SourceError("[[…]] is not allowed; write __attribute__((…))")
    for token in toks[at + 1 :]:
        if token.text == "]":
            return
        if token.kind == "name" and token.text not in language.standard_attributes:
            raise SourceError(f"[[{token.text}]] is not allowed in a kernel")


def _check_assembler(toks: list[Token], language: Language) -> None:
    if not language.cxx:
        if any(token.text in ASSEMBLER for token in toks):
            raise SourceError("inline assembler is not allowed; write the kernel in C")
        return
    blocks: list[bool] = []  # of the open braces: is it code of the device?
    head: list[str] = []
    for token in toks:
        if token.text in ASSEMBLER and True not in blocks:
            raise SourceError(
                "inline assembler is not allowed in host code; PTX may stand in __global__ and "
                "__device__ functions"
            )
        if token.text == "{":
            blocks.append(_is_device_function(head))
        elif token.text == "}" and blocks:
            blocks.pop()
        head.append(token.text)
        if token.text in ("{", "}", ";"):
            head.clear()


def _is_device_function(head: list[str]) -> bool:
    """Whether these words, up to a brace, begin a function that has no host code.
    In doubt they do not."""
    spaces, plain = _split_attributes(head)
    if not spaces & {"global", "device"} or "host" in spaces:
        return False
    if plain[:1] == ["template"]:
        plain = plain[_closing(plain, 1, "<", ">") + 1 :]
    while plain and plain[-1] in ("const", "noexcept", "override", "final"):
        plain.pop()
    odd = {"=", "struct", "class", "union", "enum", "namespace"}
    return plain[-1:] == [")"] and not odd & set(plain)


def _split_attributes(words: list[str]) -> tuple[set[str], list[str]]:
    """The names inside `__attribute__((…))`, and the words outside."""
    names: set[str] = set()
    plain: list[str] = []
    at = 0
    while at < len(words):
        if words[at] in ATTRIBUTE_WORDS:
            end = _closing(words, at + 1, "(", ")")
            names |= set(words[at:end])
            at = end
        else:
            plain.append(words[at])
        at += 1
    return names, plain


def _closing(words: list[str], at: int, opener: str, closer: str) -> int:
    """Where the bracket that opens at `at` is closed; the end, if it is not."""
    depth = 0
    for i in range(at, len(words)):
        depth += {opener: 1, closer: -1}.get(words[i], 0)
        if depth <= 0:
            return i
    return len(words)


# ---- what can be called --------------------------------------------------------


def functions(own: str, language: Language = C) -> dict[str, Function]:
    """The functions that can be called from outside, by name."""
    found: dict[str, Function] = {}
    aliases: dict[str, list[str]] = {}
    declarations = _cxx_declarations if language.cxx else _declarations
    for head, is_body in declarations(own, language):
        if is_body:
            if function := _function(head, aliases, language):
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
    """The same for C++, but of functions only those with C linkage."""
    head: list[str] = []
    depth = linkage = 0
    for text in _without_attributes(own, language):
        if text == "{" and depth == 0 and head[-2:] == ["extern", '"C"']:
            linkage += 1
            head = []
        elif text == "{":
            if depth == 0 and _is_function(head):
                if c_head := _with_c_linkage(head, linkage > 0):
                    yield _unqualified(c_head), True
                head = []
            elif depth == 0:
                head.append("{}")
            depth += 1
        elif text == "}" and depth == 0:
            linkage = max(0, linkage - 1)
            head = []
        elif text == "}":
            depth -= 1
        elif depth == 0 and text == ";":
            yield _unqualified(_after_braces(head)), False
            head = []
        elif depth == 0:
            head.append(text)


def _is_function(head: list[str]) -> bool:
    """Parentheses, and no initial value outside of them."""
    depth = 0
    for word in head:
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == "=" and depth == 0:
            return False
    return "(" in head


def _with_c_linkage(head: list[str], in_block: bool) -> list[str] | None:
    """The head from its result's type to the end of its parameters, or None."""
    head = _after_braces(head)
    if head[:2] == ["extern", '"C"']:
        head = head[2:]
    elif not in_block:
        return None
    return head[: _closing(head, head.index("("), "(", ")") + 1] if "(" in head else None


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
    for line in own.split("\n"):
        if line.lstrip().startswith("#"):
            continue
        for token in tokens(line, language):
            if skipping:
                depth += {"(": 1, ")": -1}.get(token.text, 0)
                name = token.text.strip("_")
                if name == "vector_size":
                    yield from ("{", "}")
                elif name in ("global", "device", "host"):
                    yield f"__{name}__"
                skipping = depth > 0
            elif token.text in ATTRIBUTE_WORDS or token.text in ("_Alignas", "alignas"):
                skipping = True
            else:
                yield token.text


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
    before = [w for w in head[: at - 1] if w != "__host__"]
    if "static" in before or ("extern" not in before and _is_inline(before)):
        return None
    if "__global__" in before or ("__device__" in before and "__host__" not in head):
        return None
    before = [w for w in before if w != "__device__"]
    result = None if "*" in before else _scalar(before, aliases, language)
    return Function(head[at - 1], result, _parameters(head[at + 1 : -1], aliases, language))


def _is_inline(words: list[str]) -> bool:
    return any(w.strip("_") == "inline" for w in words)


def _parameters(
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
    array = words.index("[") if "[" in words else len(words)
    plain, suffix = words[:array], words[array:]
    names = [w for w in plain if _is_word(w) and w not in QUALIFIERS]
    odd = {"(", "&", "<"} & set(plain)  # a function, a reference, a template
    if not names or odd or not _is_word(plain[-1]):
        return Parameter(names[-1] if names else text, text, None)
    stars = plain.count("*") + suffix.count("[")
    kind = _scalar(plain[:-1], aliases, language) if stars < 2 else None
    if kind and (kind.kind == "stream" if stars else not kind.by_value):
        kind = None
    return Parameter(plain[-1], text, kind, stars == 1)


def _spell(words: list[str]) -> str:
    text = " ".join("bool" if w == "_Bool" else w for w in words)
    return re.sub(r" ?\[ ?| (?=\])", lambda m: m.group().strip(), text.replace("* ", "*"))


def _scalar(
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
