"""plain_c.py: C with nothing left to look up. It is what is compiled, judged and delivered,
in place of the text that its author wrote.

A preprocessor tells a text where it is compiled: which files there are, what they are called and what
they say. So it runs once, and what it leaves of the author's own lines, with the headers that they
include, is the program from then on. That has no macro and no condition, and the same text is the same
program in every folder. An `#include` stays, because what a header declares belongs to the compiler
that reads it.

A compiler tells a text more: of the processor, of the stack, of the thread. A library that is judged by
its results must not depend on these, so of words with two underscores, which are the compiler's own, and
of attributes and pragmas, only those of the lists are there. `check` takes the text as hostile, and
refuses whatever a preprocessor would still have to do.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest

from shared.native_source import LINE_MARKER

HEADERS = frozenset(
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg "
    "stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype "
    "alloca malloc memory strings unistd sys/time sys/types pthread omp arm_neon arm_fp16 arm_bf16 immintrin x86intrin "
    "xmmintrin emmintrin pmmintrin tmmintrin smmintrin nmmintrin wmmintrin mmintrin".split()
)
_INCLUDE = re.compile(r'\s*#\s*include(?:_next)?\s*[<"]([^>"]*)[>"]')
_UNROLL = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+GCC[ \t]+unroll\b", re.M)
_GNU = re.compile(r"^[ \t]*#[ \t]*define[ \t]+_GNU_SOURCE\b", re.M)
_OWN = "monkeys_"  # of names that are generated
_OPTION = {
    "target": re.compile(r"(?!.*native)[\w.+-]+(?:=[\w.+-]+)?", re.ASCII),
    "optimize": re.compile(
        r"-?O(?:[0-3sg]|fast)?|[0-3]|(?=.*(?:unroll|peel|vector|math|contract|inline|loop|tree-|ipa-|gcse|schedule"
        r"|prefetch|frame-pointer|aliasing))-?[a-z-]+"
    ),
}
_STRING = re.compile(r'"[\w ,.:;%=+-]*"', re.ASCII)
_DIRECTIVE = re.compile(
    r"""\s*\#\s*(?:include\s*<(?P<header>[\w/]+)\.h>|define\s+_GNU_SOURCE(?:\s+1)?|pragma\s+(?:
      GCC\s+(?:ivdep|unroll[\s\d()*+/-]*|push_options|pop_options
        |(?P<kind>target|optimize)\s*\(?\s*(?P<options>[0-3]|"[^"\\]*"(?:\s*,\s*"[^"\\]*")*)\s*\)?
        |diagnostic\s+(?:push|pop|(?:ignored|warning|error)\s+"-W[\w=+-]*"))
      |(?:STDC|omp|clang\s+(?:loop|fp)|unroll|nounroll|ivdep|vector|novector|simd|once|pack)\b[]\[\w\s(),:=+*<>&|!./-]*))\s*""",
    re.VERBOSE,
)
_TOKEN = re.compile(
    r"""(?P<string>(?:u8|[LuU])?(?:"(?:\\[\x20-\x7e]|[^"\\\n])*"|'(?:\\[\x20-\x7e]|[^'\\\n])*'))
      | (?P<name>[A-Za-z_]\w*) | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*) | (?P<space>[ \t]+)
      | (?P<op>[]\[(){}<>=!~&|^*/%+\-.,;:?])""",
    re.ASCII | re.VERBOSE,
)
_MATHS = (
    "a?(?:cos|sin|tan)h?|atan2|cbrt|ceil|copysign|erfc?|exp(?:10|2|m1)?|fabs|fdim|floor|fma|fmax|fmin|"
    "fmod|frexp|hypot|ilogb|j[01n]|ldexp|lgamma|ll?rint|ll?round|log(?:10|1p|2|b)?|modf|nearbyint|"
    "nextafter|nexttoward|powi?|remainder|remquo|rint|round(?:even)?|scalbl?n|sincos|sqrt|tgamma|trunc|"
    "y[01n]|inf|nan|nans|huge_val|isnan|isinf|isfinite|finite|signbit|c(?:abs|arg|imag|real|onj|exp|log|"
    "pow|sqrt|proj)"
)
_BUILTINS = re.compile(
    rf"""(?:{_MATHS})(?:f|l|f16|f32|f64|f128|f32x|f64x|d32|d64|d128)?
      | isnormal|isinf_sign|is(?:greater|less)(?:equal)?|islessgreater|isunordered|fpclassify|tgmath|complex
      | mem(?:cpy|move|set|cmp|chr)(?:_inline)?|strlen|l?l?abs
      | malloc|calloc|realloc|aligned_alloc|free|alloca|alloca_with_align|abort|trap|unreachable
      | assume|assume_aligned|expect|expect_with_probability|prefetch|constant_p|choose_expr
      | types_compatible_p|offsetof|object_size|has_attribute|bit_cast|classify_type|va_\w+
      | (?:clz|ctz|ffs|popcount|parity|clrsb)(?:l|ll|g|imax)?|bswap(?:16|32|64|128)|bitreverse\d+|rotate\w+
      | [su]?(?:add|sub|mul)(?:l|ll)?_overflow(?:_p)?|(?:add|sub)c[bsl]?l?
      | shuffle|shufflevector|convertvector|(?:elementwise|reduce)_\w+|is_aligned|align_up|align_down
      | ia32_(?:v|p|v?mov|unpck|shuf|perm|blend|cmp|com|cvt|sqrt|rsqrt|rcp|round|h?(?:add|sub)|mul|div|max|min
        |andn?|x?or|load[du]|store[du]|insert|extract|vec|gather|broadcast|dp|reduce|mask|crc32|bextr|bzhi)
        (?!ause|tw|conf|key|rdpmc)\w*
      | aarch64_(?:im_lane|[a-z]\w*v\d+[a-z]{{2}})\w*|neon_\w+""",
    re.ASCII | re.VERBOSE,
)
_ATTRIBUTES = frozenset(
    "access aligned alloc_align alloc_size always_inline artificial assume_aligned bf16 cleanup cold const "
    "deprecated diagnose_if enable_if error ext_vector_type fallthrough flatten format gnu_inline hot leaf "
    "malloc may_alias maybe_unused mode neon_vector_type no_reorder no_sanitize noclone nodiscard noinline noipa nonnull nonstring "
    "noreturn nothrow optimize packed pure returns_nonnull sentinel target transparent_union unused used "
    "vector_size visibility warn_if_not_aligned warn_unused_result warning".split()
)
_COMPILERS = re.compile(
    r"""__(?: (?:attribute|restrict|inline|const|volatile|signed|typeof|alignof|complex|real|imag|func|FUNCTION
        |PRETTY_FUNCTION|extension)(?:__)? | assert_fail | auto_type | label__ | thread
      | u?int128(?:_t)? | float(?:80|128) | fp16 | bf16 | (?:sync|atomic)_\w+
      | v\d+[a-z]{2,4} | m(?:64|128|256|512)(?:[id]|bh|h)?(?:_u)? | mmask\d+ | aarch64_v\w+
      | [a-z]\d* | (?:ret|rev|reint|s|p)\d*_\d+ )""",
    re.ASCII | re.VERBOSE,
)
# Of the intrinsics' headers, what tells of the machine and not of vectors. Of the linker, what names
# places in the library.
_MACHINES = re.compile(
    r"""_MM_(?:GET|SET)_\w+ | _mm\d*_undefined_\w+ | _mm_(?:getcsr|setcsr|monitor\w*|mwait\w*|cl\w+)
      | _(?:rd(?:tsc|pmc|pid|rand|seed|ssp)|(?:read|write)[fg]sbase|get_ssp|inc_ssp|rstorssp|saveprevssp|setssbsy
        |clrssbsy|x(?:get|set)bv|x(?:begin|end|abort|test|save|rstor|susldtrk|resldtrk)|fx(?:save|rstor)
        |t?pause|umonitor|umwait|ptwrite|enclu|encls|enclv|pconfig|wb(?:no)?invd|wrss|wruss|stui|clui|testui
        |senduipi|tile_\w*config|serialize|cldemote|clwb|invpcid|llwpcb|slwpcb|lwp|hreset|movdir|enqcmd)\w*
      | _GLOBAL_OFFSET_TABLE_ | _PROCEDURE_LINKAGE_TABLE_ | _DYNAMIC""",
    re.ASCII | re.VERBOSE,
)


_ARGUMENTS = frozenset("__printf__ __SI__ __DI__ __SF__ __DF__ __TI__ __QI__ __HI__ __read_only__".split())
_LINE = re.compile(r"[\t\x20-\x7e]*")
_BLANK = 10000  # lines at once, whatever a #line says
_MOST = 1 << 20  # characters
_LONG = 500  # characters of a directive
_OTHER = ("//", "/*", "??", "<:", ":>", "<%", "%>", "%:")  # spellings of comments, brackets and #
_BARRIER = ["(", '""', ":", ":", ":", '"memory"', ")"]


class NotPlain(Exception):
    """The text has something that no kernel may have; the message is for its author."""


def prepared(source: str) -> str:
    """What a preprocessor gets: it leaves the numbers in some pragmas as they are, unless they stand
    outside."""
    return _UNROLL.sub(f"{_OWN}unroll", source)


def flat(source: str, preprocessed: str, file_name: str) -> str:
    """Of a preprocessor's output (with the option -dI) the lines of the source itself and the headers
    that they include, each where it was."""
    lines: list[str] = ["#define _GNU_SOURCE"] if _GNU.search(source) else []
    own, at, apart = True, 1, bool(lines)
    for line in preprocessed.split("\n"):
        if marker := LINE_MARKER.match(line):
            own, at = marker[2] == file_name, min(int(marker[1]), len(lines) + _BLANK)
            continue
        if not own:
            continue
        if include := _INCLUDE.match(line):
            line = f"#include <{include[1]}>" if include[1] != file_name else ""
        if line.lstrip().startswith(f"{_OWN}unroll"):
            line = line.replace(f"{_OWN}unroll", "#pragma GCC unroll", 1)
        directive = line.lstrip().startswith("#")
        if line.strip():
            lines += [""] * max(at - len(lines), directive or apart)
            lines[-1] = f"{lines[-1]} {line.strip()}" if lines[-1] else line.rstrip()
            apart = directive
        at += 1
    return "\n".join(lines) + "\n"


def check(text: str) -> None:
    """Raises NotPlain for a text that is more than declarations, included headers and pragmas of which
    nothing is left to look up."""
    if len(text) > _MOST:
        raise NotPlain("with its macros expanded it is too long")
    words: list[tuple[str, int]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip(" \t").startswith("#"):
            _check_directive(line, number)
        else:
            words += [(word, number) for word in _line_words(line, number)]
    _check_words(words)


def check_same(text: str, again: str) -> None:
    """Raises NotPlain unless `again`, made of the text in the same way, says the same."""
    pairs = zip_longest(text.split("\n"), again.split("\n"), fillvalue="")
    for number, (line, other) in enumerate(pairs, 1):
        if line.split() != other.split():
            raise NotPlain(f"line {number}: a macro of a header is undefined or defined as something else: "
                           "give yours another name")  # fmt: skip


def _check_directive(line: str, number: int) -> None:
    found = _DIRECTIVE.fullmatch(line) if len(line) < _LONG and _LINE.fullmatch(line) else None
    if not found:
        shown = re.sub(r"[^\x20-\x7e]", "?", " ".join(line.split()))[:80]
        raise NotPlain(f"line {number}: {shown!r} is not allowed in a kernel")
    if found["header"] and found["header"] not in HEADERS:
        raise NotPlain(f"line {number}: the header {found['header']}.h is not there; there are those of C "
                       "itself and of vector intrinsics")  # fmt: skip
    for options in found["kind"] and re.findall('"[^"]*"', found["options"]) or []:
        _check_options(found["kind"], options, number)


def _check_options(kind: str, text: str, number: int) -> None:
    """The string of an attribute or pragma."""
    known = _OPTION.get(kind)
    parts = [part.strip() for part in text.strip('"').split(",")]
    if len(text) > _LONG or not _STRING.fullmatch(text) or known and not all(map(known.fullmatch, parts)):
        raise NotPlain(f"line {number}: {text[:60]} is not allowed in {kind}")


def _line_words(line: str, number: int) -> Iterator[str]:
    """All but blanks. What is no token here (a comment, a backslash, a `#`, a letter of no alphabet that
    C knows) would be read in some other way by a compiler."""
    at = 0
    while at < len(line):
        match = _TOKEN.match(line, at)
        if not match or line.startswith(_OTHER, at):
            raise NotPlain(f"line {number}: {line[at : at + 10]!a} cannot be read as C")
        if "??" in match.group():
            raise NotPlain(f"line {number}: trigraphs are not there")
        at = match.end()
        if match.lastgroup != "space":
            yield match.group()


def _check_words(words: list[tuple[str, int]]) -> None:
    at = 0
    while at < len(words):
        word, number = words[at]
        if word in ("__asm__", "__asm") and (barrier := _barrier(words, at + 1)):
            at = barrier
            continue
        if word.startswith("__attribute") or [w for w, _ in words[at : at + 2]] == ["[", "["]:
            at = _check_attribute(words, at + (word != "["))
            continue
        _check_name(word, number)
        at += 1


def _barrier(words: list[tuple[str, int]], at: int) -> int:
    """The place behind what only keeps a compiler from moving memory accesses, or 0."""
    at += words[at : at + 1] != [] and words[at][0] in ("volatile", "__volatile__")
    found = [word for word, _ in words[at : at + len(_BARRIER)]]
    return at + len(_BARRIER) if found == _BARRIER else 0


def _check_name(word: str, number: int) -> None:
    if not (word.startswith(("__", _OWN)) or word in ("asm", "_Pragma") or _MACHINES.fullmatch(word)):
        return
    if word in ("asm", "__asm", "__asm__"):
        raise NotPlain(f"line {number}: inline assembler is not allowed in a kernel: write it in C, with "
                       "vector types or intrinsics")  # fmt: skip
    builtin = word.removeprefix("__builtin_")
    if not (_BUILTINS.fullmatch(builtin) if builtin != word else _COMPILERS.fullmatch(word)):
        raise NotPlain(f"line {number}: {word[:60]} is not allowed in a kernel: names like it are the "
                       "compiler's, and of these only what computes is there")  # fmt: skip


def _check_attribute(words: list[tuple[str, int]], at: int) -> int:
    """From its first bracket, `((` or C23's `[[`; the place behind the attribute. Its arguments declare
    nothing, and a string of them is a single one, so that there are no attributes or options in parts."""
    depth, name, before = 0, "", ""
    while at < len(words):
        word, line = words[at]
        depth += {"(": 1, ")": -1, "[": 1, "]": -1}.get(word, 0)
        if depth == 2 and (word[0].isalpha() or word[0] == "_"):
            name = word.strip("_")
            if name not in _ATTRIBUTES:
                raise NotPlain(f"line {line}: the attribute {word[:60]} is not allowed in a kernel")
        elif depth > 2 and (word == "{" or word.startswith("__attribute") or word[-1] == before[-1:] == '"'):
            raise NotPlain(f"line {line}: {word[:60]} is not allowed among the arguments of an attribute")
        elif depth > 2 and word.endswith('"'):
            _check_options(name, word, line)
        elif depth > 2 and word not in _ARGUMENTS:
            _check_name(word, line)
        at, before = at + 1, word
        if depth == 0:
            return at
    return at
