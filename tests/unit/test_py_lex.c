/* test_py_lex.c: what the Python lexer makes of each form of source. A token
 * reads as its text, strings as S<…>, f-strings as F<…> T<…> E<…>, the rest as
 * NL, IN, DE and END; a problem follows as !id@line:column. */
#include "base/buf.h"
#include "source/py_lex.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

struct lex_case {
    const char *claim, *src, *want;
};

static void show_token(struct buf *b, const struct py_token *t)
{
    static const char *const marks[] = {
        [PY_STRING] = "S",  [PY_FSTART] = "F",   [PY_FTEXT] = "T",
        [PY_FEND] = "E",    [PY_NEWLINE] = "NL", [PY_INDENT] = "IN",
        [PY_DEDENT] = "DE", [PY_END] = "END"};
    int n = (int)t->text.n;

    if (t->kind == PY_NAME || t->kind == PY_NUMBER || t->kind == PY_OP)
        buf_printf(b, "%.*s ", n, t->text.p);
    else if (t->kind < PY_NEWLINE)
        buf_printf(b, "%s<%.*s> ", marks[t->kind], n, t->text.p);
    else
        buf_printf(b, "%s ", marks[t->kind]);
}

static char *show(struct str src, struct arena *a)
{
    struct py_tokens t;
    struct buf b = BUF_INIT;
    char *text;

    py_lex(&t, src, a);
    for (size_t i = 0; i < t.len; i++)
        show_token(&b, &t.tok[i]);
    if (t.problem.id)
        buf_printf(&b, "!%s@%u:%u ", t.problem.id, t.problem.line,
                   t.problem.column);
    b.data[b.len - 1] = '\0';
    text = arena_strdup(a, b.data);
    buf_release(&b);
    return text;
}

static void run_cases(const struct lex_case *c, size_t n)
{
    struct arena a = {0};

    for (size_t i = 0; i < n; i++)
        is(show(str_of(c[i].src), &a), c[i].want, c[i].claim);
    arena_release(&a);
}

#define RUN(cases) run_cases(cases, COUNT(cases))

static const struct lex_case lines[] = {
    {"an empty source is END", "", "END"},
    {"blanks, comments and blank lines give no tokens", "  \n# a\n\t# b\n\n   ",
     "END"},
    {"a missing last line end is made up", "x", "x NL END"},
    {"a comment ends with its line", "x # y\nz\n", "x NL z NL END"},
    {"blocks indent and dedent", "if a:\n  b\n  if c:\n    d\ne\n",
     "if a : NL IN b NL if c : NL IN d NL DE DE e NL END"},
    {"dedents at the end of the text", "if a:\n  b",
     "if a : NL IN b NL DE END"},
    {"comments and blank lines do not dedent", "if a:\n  b\n# c\n\n  d\n",
     "if a : NL IN b NL d NL DE END"},
    {"a tab reaches the next stop of 8", "if a:\n\tb\n        c\n",
     "if a : NL IN b NL DE END !source-syntax@3:9"},
    {"tabs alone are consistent", "if a:\n\tb\n\tif c:\n\t\td\n",
     "if a : NL IN b NL if c : NL IN d NL DE DE END"},
    {"a deeper line must be deeper for every tab stop",
     "if a:\n    if b:\n\tc\n",
     "if a : NL IN if b : NL DE END !source-syntax@3:2"},
    {"a dedent must meet an outer level", "if a:\n    b\n  c\n",
     "if a : NL IN b NL DE END !source-syntax@3:3"},
    {"a form feed starts the columns again", "if a:\n  b\n \f  c\n",
     "if a : NL IN b NL c NL DE END"},
    {"a form feed is a blank", "x\f+\fy\n", "x + y NL END"},
    {"\\r\\n ends a line", "x\r\ny\r\n", "x NL y NL END"},
    {"a lone \\r ends a line", "x\ry # z\rw", "x NL y NL w NL END"},
    {"brackets join lines", "f(a, # c\n\n  b)\nc\n", "f ( a , b ) NL c NL END"},
    {"a backslash joins lines", "a = \\\n  b\\\r\n + c\n", "a = b + c NL END"},
    {"a backslash in the indentation keeps the first line's columns",
     "if a:\n  b\n  \\\n    c\n", "if a : NL IN b NL c NL DE END"},
    {"a backslash in front of a blank is refused", "a = \\ \nb\n",
     "a = NL END !source-syntax@1:5"},
    {"so is one at the end of the text", "a \\", "a NL END !source-syntax@1:3"},
    {"and one whose line is the last", "a \\\n", "a NL END !source-syntax@1:3"},
    {"a byte order mark is skipped", "\xef\xbb\xbfx\n", "x NL END"},
    {"a byte order mark elsewhere is not", "x \xef\xbb\xbf\n",
     "x NL END !source-syntax@1:3"},
    {"semicolons part statements on a line", "a; b;\n", "a ; b ; NL END"},
};

static const struct lex_case words[] = {
    {"names and keywords", "def _a1(x): pass", "def _a1 ( x ) : pass NL END"},
    {"names in other letters are normalised",
     "\xf0\x9d\x93\xae\xf0\x9d\x94\x81\xf0\x9d\x93\xae\xf0\x9d\x93\xac(x)",
     "exec ( x ) NL END"},
    {"full-width letters as well", "\xef\xbd\x85\xef\xbd\x98", "ex NL END"},
    {"a letter and its accent compose", "e\xcc\x81 = 1", "\xc3\xa9 = 1 NL END"},
    {"a combining mark starts no name", "x = \xcc\x81",
     "x = NL END !source-syntax@1:5"},
    {"a keyword spelled with other Unicode characters is refused",
     "\xef\xbd\x89\xef\xbd\x86 x", "END !source-syntax@1:1"},
    {"other characters are refused", "x = 1 \xe2\x82\xac",
     "x = 1 NL END !source-syntax@1:7"},
    {"no-break space is no blank", "x\xc2\xa0= 1", "END !source-syntax@1:2"},
    {"? $ ` and ! mean nothing", "x ? y", "x NL END !source-syntax@1:3"},
    {"control characters mean nothing", "x \x01",
     "x NL END !source-syntax@1:3"},
    {"whole numbers", "1 1_000 0 00 0_0 0xFf_f 0o17 0B1_0",
     "1 1_000 0 00 0_0 0xFf_f 0o17 0B1_0 NL END"},
    {"floats and imaginary numbers",
     "1. .5 1.5e-3 1e5 1_0.0_1E+1_0 1j 1.j 09.5",
     "1. .5 1.5e-3 1e5 1_0.0_1E+1_0 1j 1.j 09.5 NL END"},
    {"a number may touch a keyword", "1if x else 2 or 0x1for y",
     "1 if x else 2 or 0x1f or y NL END"},
    {"an e that starts a word is no exponent", "1else 2", "1 else 2 NL END"},
    {"a number may not touch a word", "1x", "END !source-syntax@1:2"},
    {"nor one that only starts as a keyword", "1ifx", "END !source-syntax@1:2"},
    {"a dot behind a float is an operator", "1..real", "1. . real NL END"},
    {"two underscores are refused", "1__0", "END !source-syntax@1:3"},
    {"a last underscore is refused", "1_", "END !source-syntax@1:3"},
    {"an exponent needs digits", "1e+", "END !source-syntax@1:4"},
    {"a leading zero is refused", "007", "END !source-syntax@1:1"},
    {"a digit outside the radix is refused", "0b12", "END !source-syntax@1:4"},
    {"a radix needs digits", "0x", "END !source-syntax@1:3"},
    {"operators are as long as they can be",
     "a**=b//=c>>=d<<=e...f->g:=h!=i<=j**k//l@=m",
     "a **= b //= c >>= d <<= e ... f -> g := h != i <= j ** k // l @= m NL "
     "END"},
    {"two dots are two", "from ..a import b", "from . . a import b NL END"},
};

static const struct lex_case strings[] = {
    {"single and double quotes", "'a' \"b\" '' \"\"",
     "S<'a'> S<\"b\"> S<''> S<\"\"> NL END"},
    {"triple quotes span lines", "'''a\n'b''c''' x",
     "S<'''a\n'b''c'''> x NL END"},
    {"the first three quotes end it", "\"\"\"a\"\"\"\"b\"",
     "S<\"\"\"a\"\"\"> S<\"b\"> NL END"},
    {"prefixes in any case", "r'a' B'b' U'c' Rb'd' bR'e' BR'f'",
     "S<r'a'> S<B'b'> S<U'c'> S<Rb'd'> S<bR'e'> S<BR'f'> NL END"},
    {"letters that are no prefix are a name", "ub'x' bu'x' ur'x' bb'x' fu'x'",
     "ub S<'x'> bu S<'x'> ur S<'x'> bb S<'x'> fu S<'x'> NL END"},
    {"an escaped quote does not end it", "'a\\'b' r'\\''",
     "S<'a\\'b'> S<r'\\''> NL END"},
    {"a backslash carries a string over a line end", "'a\\\nb' r'a\\\r\nb' c",
     "S<'a\\\nb'> S<r'a\\\r\nb'> c NL END"},
    {"a comment sign inside is text", "'#' # '\n", "S<'#'> NL END"},
    {"an open string names its quote's place", "x\ny = 'abc\nz",
     "x NL y = NL END !source-syntax@2:5"},
    {"an open triple string as well", "x = '''a\nb''",
     "x = NL END !source-syntax@1:5"},
    {"a backslash at the very end keeps it open", "'a\\",
     "END !source-syntax@1:1"},
    {"adjacent literals stay apart", "'a' \"b\" f'c'",
     "S<'a'> S<\"b\"> F<f'> T<c> E<'> NL END"},
};

static const struct lex_case fstrings[] = {
    {"an f-string is text and code", "f'a{b+1}c'",
     "F<f'> T<a> { b + 1 } T<c> E<'> NL END"},
    {"an empty one", "f'' F\"\"\"\"\"\"",
     "F<f'> E<'> F<F\"\"\"> E<\"\"\"> NL END"},
    {"doubled braces are text", "f'{{a}}{b}{{'",
     "F<f'> T<{{a}}> { b } T<{{> E<'> NL END"},
    {"three braces are one and a field", "f'{{{a}}}'",
     "F<f'> T<{{> { a } T<}}> E<'> NL END"},
    {"conversion and format spec", "f'{x!r:>10}'",
     "F<f'> { x ! r : T<>10> } E<'> NL END"},
    {"fields inside a spec", "f'{x:{w}.{p}f}'",
     "F<f'> { x : { w } T<.> { p } T<f> } E<'> NL END"},
    {"the = specifier", "f'{x=}{y = !s:^5}'",
     "F<f'> { x = } { y = ! s : T<^5> } E<'> NL END"},
    {"!= is an operator", "f'{a!=b}{c==d!r}'",
     "F<f'> { a != b } { c == d ! r } E<'> NL END"},
    {":= at the top is a spec", "f'{x:=5}{(y:=5)}'",
     "F<f'> { x : T<=5> } { ( y := 5 ) } E<'> NL END"},
    {"colons in brackets are no spec",
     "f'{d[1:2]}{ {1:2}[1]}{(lambda q:q)(1)}'",
     "F<f'> { d [ 1 : 2 ] } { { 1 : 2 } [ 1 ] } { ( lambda q : q ) ( 1 ) } "
     "E<'> NL END"},
    {"a spec may hold colons and a !", "f'{t:%H:%M!}'",
     "F<f'> { t : T<%H:%M!> } E<'> NL END"},
    {"a brace in a spec opens a field at once", "f'{x:{{1:2}[1]}}'",
     "F<f'> { x : { { 1 : 2 } [ 1 ] } } E<'> NL END"},
    {"the same quotes again inside a field",
     "f'{a['b']}' f\"{f\"{f\"{1}\"}\"}\"",
     "F<f'> { a [ S<'b'> ] } E<'> F<f\"> { F<f\"> { F<f\"> { 1 } E<\"> } "
     "E<\"> } E<\"> NL END"},
    {"a triple string inside a field", "f'{\"\"\"a\"\"\"}'",
     "F<f'> { S<\"\"\"a\"\"\"> } E<'> NL END"},
    {"a triple f-string spans lines", "f'''a\n{b}\n''c'''",
     "F<f'''> T<a\n> { b } T<\n''c> E<'''> NL END"},
    {"line ends and comments inside a field", "f'{a # }'\n+ b\n}'",
     "F<f'> { a + b } E<'> NL END"},
    {"a spec of a triple f-string spans lines", "f'''{a:\n}'''",
     "F<f'''> { a : T<\n> } E<'''> NL END"},
    {"\\N{…} is text", "f'\\N{BULLET}{x}'",
     "F<f'> T<\\N{BULLET}> { x } E<'> NL END"},
    {"in a raw f-string it is a field", "rf'\\N{x}' fR'\\d{y}\\''",
     "F<rf'> T<\\N> { x } E<'> F<fR'> T<\\d> { y } T<\\'> E<'> NL END"},
    {"a backslash does not hide a field", "f'\\{x}' rf'\\{y}\\\\{z}'",
     "F<f'> T<\\> { x } E<'> F<rf'> T<\\> { y } T<\\\\> { z } E<'> NL END"},
    {"an escaped quote stays text", "f'a\\'b{c}' f'\\\n'",
     "F<f'> T<a\\'b> { c } E<'> F<f'> T<\\\n> E<'> NL END"},
    {"a single } is refused", "f'a}b'", "F<f'> T<a> NL END !source-syntax@1:4"},
    {"an open f-string names its place", "x = f'ab\n'",
     "x = F<f'> NL END !source-syntax@1:5"},
    {"an open field names the f-string's place", "x = f'{a",
     "x = F<f'> { a NL END !source-syntax@1:5"},
    {"a quote in a spec leaves its field open", "f'{a:b'",
     "F<f'> { a : T<b> NL END !source-syntax@1:3"},
    {"a bracket may not close a field", "f'{a)}'",
     "F<f'> { a NL END !source-syntax@1:5"},
    {"! is nothing inside a field's brackets", "f'{(a!r)}'",
     "F<f'> { ( a NL END !source-syntax@1:6"},
    {"a malformed \\N is refused", "f'\\N{a{b}}'",
     "F<f'> NL END !source-syntax@1:3"},
};

static const struct lex_case brackets[] = {
    {"an opener without its closer", "x = (1,\n[2]\n",
     "x = ( 1 , [ 2 ] NL END !source-syntax@1:5"},
    {"a closer without its opener", "x)", "x NL END !source-syntax@1:2"},
    {"the wrong closer", "(a]", "( a NL END !source-syntax@1:3"},
    {"tokens end properly behind a problem", "if a:\n  b(\n",
     "if a : NL IN b ( NL DE END !source-syntax@2:4"},
};

static const struct lex_case encodings[] = {
    {"a coding line for UTF-8", "# -*- coding: utf-8 -*-\nx\n", "x NL END"},
    {"in its other spellings", "#!x\n# vim: fileencoding=UTF_8 :\nx",
     "x NL END"},
    {"u8", "#coding:U8\n", "END"},
    {"utf8", "# coding=utf8", "END"},
    {"utf-8-sig", "# coding: Utf-8_sig\nx", "x NL END"},
    {"another codec is refused", "# coding: latin-1\nx",
     "END !source-encoding@1:11"},
    {"one that turns comments into code as well", "# coding: utf-7\nx",
     "END !source-encoding@1:11"},
    {"on the second line too", "#!x\r \t# coding=raw_unicode_escape\n",
     "END !source-encoding@2:12"},
    {"also behind a byte order mark", "\xef\xbb\xbf# coding: cp1252",
     "END !source-encoding@1:11"},
    {"with lines that only end at \\n, as some of Python reads them",
     "# \rcoding: latin-1", "END !source-encoding@2:9"},
    {"and there on the second line", "\r#\rx\n#coding:latin-1",
     "END !source-encoding@4:9"},
    {"not behind a line of code", "x\n# coding: latin-1\n", "x NL END"},
    {"not on the third line", "\n\n# coding: latin-1\n", "END"},
    {"not behind code on the line", "x # coding: latin-1\n", "x NL END"},
    {"a word that only ends in coding counts, as in CPython",
     "# encoding: ascii\n", "END !source-encoding@1:13"},
    {"coding without a name is no coding line", "# coding: \n# coding:utf8",
     "END"},
    {"bytes that are not UTF-8", "x = '\xff'", "END !source-encoding@1:6"},
    {"a surrogate is not UTF-8", "# \xed\xa0\x80", "END !source-encoding@1:3"},
};

static void test_refused_whole(void)
{
    struct arena a = {0};
    struct str big = {"xxxx", (size_t)500 << 20}, nul = STR_LIT("x = 1\ny\0z");

    is(show(nul, &a), "END !source-nul@2:2", "a NUL byte is refused");
    is(show(big, &a), "END !source-too-large@1:1",
       "500 MB are refused, and only their start is read");
    arena_release(&a);
}

static void test_places(void)
{
    struct arena a = {0};
    struct py_tokens t;

    py_lex(&t, str_of("\xc3\xa9 = '\xe2\x82\xac' + b\r\nc\r  d"), &a);
    ok(t.tok[0].line == 1 && t.tok[0].column == 1 && t.tok[0].len == 2,
       "columns start at 1");
    ok(t.tok[4].at == 13 && t.tok[4].column == 11, "columns count characters");
    ok(t.tok[5].kind == PY_NEWLINE && t.tok[5].at == 14 && t.tok[5].len == 2,
       "NEWLINE covers the line end");
    ok(t.tok[6].line == 2 && t.tok[6].column == 1, "lines end at \\r\\n");
    ok(t.tok[8].kind == PY_INDENT && t.tok[8].line == 3 && t.tok[8].len == 2,
       "and at \\r; INDENT covers the white space");
    py_lex(&t, str_of("\xef\xbb\xbfx"), &a);
    ok(t.tok[0].at == 3 && t.tok[0].column == 1,
       "a byte order mark has no width");
    arena_release(&a);
}

static void test_strings_parts(void)
{
    struct arena a = {0};
    struct py_tokens t;

    py_lex(&t, str_of("Rb'''abc''' u'x' f\"\""), &a);
    ok(t.tok[0].flags == (PY_RAW | PY_BYTES | PY_TRIPLE), "flags of a string");
    ok(t.tok[0].body_at == 5 && t.tok[0].body_len == 3, "its body");
    ok(t.tok[1].flags == PY_UNICODE && t.tok[1].body_at == 14,
       "a u prefix is a flag");
    ok(t.tok[2].kind == PY_FSTART && t.tok[2].flags == 0,
       "an f prefix is none");
    arena_release(&a);
}

static void test_matches(void)
{
    struct arena a = {0};
    struct py_tokens t;

    py_lex(&t, str_of("f(a[1], f'{x:{y}}')"), &a);
    ok(t.tok[1].match == 16 && t.tok[16].match == 1, "( and ) know each other");
    ok(t.tok[3].match == 5 && t.tok[5].match == 3, "[ and ] as well");
    ok(t.tok[7].match == 15 && t.tok[15].match == 7, "an f-string's ends too");
    ok(t.tok[8].match == 14 && t.tok[11].match == 13 && t.tok[13].match == 11,
       "and the braces of its fields");
    ok(t.tok[8].flags == PY_FIELD && t.tok[10].flags == PY_FIELD &&
           t.tok[14].flags == PY_FIELD && t.tok[1].flags == 0,
       "which are marked, with the spec's colon");
    ok(t.tok[0].match == 0, "other tokens match nothing");
    py_lex(&t, str_of("f'{x=!r}{y==1}{ {} }'"), &a);
    ok(t.tok[3].flags == PY_FIELD && t.tok[4].flags == PY_FIELD,
       "a = or ! behind the expression is marked");
    ok(t.tok[9].flags == 0 && t.tok[13].flags == 0 && t.tok[14].flags == 0,
       "operators and brackets inside are not");
    py_lex(&t, str_of("f((1), f'{[x"), &a);
    ok(t.tok[1].match == t.len - 1 && t.tok[2].match == 4 &&
           t.tok[6].match == t.len - 1 && t.tok[8].match == t.len - 1,
       "what stays open points to END");
    arena_release(&a);
}

static void test_is(void)
{
    struct arena a = {0};
    struct py_tokens t;

    py_lex(&t, str_of("ab + 'ab'"), &a);
    ok(py_is(&t.tok[0], "ab") && !py_is(&t.tok[0], "a"), "py_is: a name");
    ok(py_is(&t.tok[1], "+"), "an operator");
    ok(!py_is(&t.tok[2], "'ab'"), "never a string");
    arena_release(&a);
}

/* `n` times `open`, an x, `n` times `close`. */
static char *nested(const char *open, const char *close, size_t n)
{
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < n; i++)
        buf_puts(&b, open);
    buf_putc(&b, 'x');
    for (size_t i = 0; i < n; i++)
        buf_puts(&b, close);
    return buf_take(&b, NULL);
}

static const char *problem_of_nested(const char *open, const char *close,
                                     size_t n)
{
    struct arena a = {0};
    struct py_tokens t;
    char *src = nested(open, close, n);

    py_lex(&t, str_of(src), &a);
    arena_release(&a);
    free(src);
    return t.problem.id ? t.problem.id : "none";
}

static bool every_opener_points_ahead(const char *open, size_t n)
{
    struct arena a = {0};
    struct py_tokens t;
    char *src = nested(open, "", n);
    bool all = true;

    py_lex(&t, str_of(src), &a);
    for (size_t i = 0; t.tok[i].kind < PY_NEWLINE; i++)
        all = all && t.tok[i].match > i;
    arena_release(&a);
    free(src);
    return all;
}

static void test_bounds(void)
{
    struct arena a = {0};
    struct buf b = BUF_INIT;

    is(problem_of_nested("(", ")", 200), "none", "200 brackets deep");
    is(problem_of_nested("(", ")", 201), "source-syntax", "but not 201");
    ok(every_opener_points_ahead("(", 300) &&
           every_opener_points_ahead("f'{", 300),
       "of which every opener that became a token points ahead");
    is(problem_of_nested("f'{", "}'", 150), "none", "150 f-strings deep");
    is(problem_of_nested("f'{", "}'", 151), "source-syntax", "but not 151");
    is(problem_of_nested("(", ")", 100000), "source-syntax",
       "100,000 brackets are no deeper for us");
    is(problem_of_nested("e\xcc\x81", "", 30), "none", "accents in a name");
    is(problem_of_nested("x\xcc\x81\xcc\xa3", "\xcc\x81", 31), "source-syntax",
       "but not 31 combining marks in a row");
    for (int i = 0; i < 100; i++)
        buf_printf(&b, "%*sif x:\n", i, "");
    ok(strstr(show((struct str){b.data, b.len}, &a), "@") == NULL,
       "99 levels of indentation");
    buf_printf(&b, "%*sx\n", 100, "");
    ok(strstr(show((struct str){b.data, b.len}, &a), "!source-syntax@101:101"),
       "but not 100");
    buf_release(&b);
    arena_release(&a);
}

struct decode_case {
    const char *claim, *src, *want;
};

SUITE(py_lex)
{
    RUN(lines);
    RUN(words);
    RUN(strings);
    RUN(fstrings);
    RUN(brackets);
    RUN(encodings);
    test_refused_whole();
    test_places();
    test_strings_parts();
    test_matches();
    test_is();
    test_bounds();
}
