/* test_cxx_lex.c: C++ code told from comments and literals. A token reads as
 * its text between bars; a string is marked S, a number N, a directive D. */
#include "base/buf.h"
#include "source/cxx_lex.h"
#include "tap.h"

struct cxx_case {
    const char *claim, *src, *want;
};

static char *show(struct str src, struct arena *a)
{
    static const char marks[] = {[CXX_NAME] = 0,
                                 [CXX_NUMBER] = 'N',
                                 [CXX_STRING] = 'S',
                                 [CXX_OP] = 0,
                                 [CXX_DIRECTIVE] = 'D'};
    struct cxx_tokens t;
    struct buf b = BUF_INIT;
    char *text;

    cxx_lex(&t, src, a);
    for (size_t i = 0; i < t.len; i++) {
        if (i)
            buf_putc(&b, '|');
        if (marks[t.tok[i].kind])
            buf_putc(&b, marks[t.tok[i].kind]);
        buf_put(&b, t.tok[i].text.p, t.tok[i].text.n);
    }
    text = arena_strdup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

static void run_cases(const struct cxx_case *c, size_t n)
{
    struct arena a = {0};

    for (size_t i = 0; i < n; i++)
        is(show(str_of(c[i].src), &a), c[i].want, c[i].claim);
    arena_release(&a);
}

#define RUN(cases) run_cases(cases, COUNT(cases))

static const struct cxx_case code[] = {
    {"an empty text has no tokens", "", ""},
    {"blanks have none", " \t\n\v\f\r\n", ""},
    {"names, numbers and operators", "int x=a+1;", "int|x|=|a|+|N1|;"},
    {"other letters and $ are part of names", "\xc3\xa9$1", "\xc3\xa9$1"},
    {"operators are as long as they can be", "a->*b<=>c<<=d::e...f.*g",
     "a|->*|b|<=>|c|<<=|d|::|e|...|f|.*|g"},
    {"a kernel launch", "k<<<g,b>>>(x);", "k|<<<|g|,|b|>>>|(|x|)|;"},
    {"numbers with exponents and suffixes", "1.5e-3f .5 0x1p+2 10ULL 1.f",
     "N1.5e-3f|N.5|N0x1p+2|N10ULL|N1.f"},
    {"digit separators", "1'000'000+0xff'ff", "N1'000'000|+|N0xff'ff"},
    {"a quote behind a number that is no separator", "1' '", "N1|S' '"},
    {"a minus behind a number without exponent", "1-2", "N1|-|N2"},
    {"a byte order mark is skipped", "\xef\xbb\xbfx", "x"},
};

static const struct cxx_case comments[] = {
    {"// to the line's end", "a // b\nc", "a|c"},
    {"/* */ over lines", "a/* b\n// c */d", "a|d"},
    {"/* does not nest", "/* /* */ a */", "a|*|/"},
    {"/*/ is not closed at once", "/*/ a */ b", "b"},
    {"// inside /* and /* inside //", "/* // */ a // /*\nb", "a|b"},
    {"an open comment ends with the text", "a /* b\nc", "a"},
    {"a splice carries // on", "// a \\\n b\nc", "c"},
    {"also with blanks behind the backslash", "// a \\ \t\r\n b\nc", "c"},
    {"a splice inside the signs", "/\\\n/ a\n/\\\n* b *\\\n/ c", "c"},
    {"comment signs in a string are text", "\"/*\" a '//'", "S\"/*\"|a|S'//'"},
};

static const struct cxx_case literals[] = {
    {"strings and characters", "\"a\" 'b' \"\"", "S\"a\"|S'b'|S\"\""},
    {"escaped quotes", "\"a\\\"b\" '\\''", "S\"a\\\"b\"|S'\\''"},
    {"an escaped backslash", "\"a\\\\\" b", "S\"a\\\\\"|b"},
    {"prefixes", "u8\"a\" u\"b\" U\"c\" L\"d\" L'e' u8'f'",
     "Su8\"a\"|Su\"b\"|SU\"c\"|SL\"d\"|SL'e'|Su8'f'"},
    {"other letters are names", "x\"a\" u9\"b\" LU'c'",
     "x|S\"a\"|u9|S\"b\"|LU|S'c'"},
    {"a splice inside a string is removed", "\"a\\\nb\" \"\\\\\nn\"",
     "S\"ab\"|S\"\\n\""},
    {"an open literal ends with its line", "\"a\nb 'c\nd", "S\"a|b|S'c|d"},
    {"so an apostrophe in a skipped group hides nothing",
     "#if 0\ndon't\n#endif\nf();", "D#if 0|don|S't|D#endif|f|(|)|;"},
    {"a raw string", "R\"(a\"b\\)\" c", "SR\"(a\"b\\)\"|c"},
    {"with a delimiter", "R\"x(a)\" )y\" )x\" c", "SR\"x(a)\" )y\" )x\"|c"},
    {"with a prefix", "u8R\"(a)\" LR\"(b)\" UR\"(c)\" uR\"(d)\"",
     "Su8R\"(a)\"|SLR\"(b)\"|SUR\"(c)\"|SuR\"(d)\""},
    {"over lines, comment signs and quotes", "R\"(a\n// \"\n)\" b",
     "SR\"(a\n// \"\n)\"|b"},
    {"splices in a raw string stay", "R\"(a\\\nb)\" c", "SR\"(a\\\nb)\"|c"},
    {"but not in front of its quote", "R\\\n\"(a\\\nb)\" c",
     "SR\"(a\\\nb)\"|c"},
    {"an open raw string ends with the text", "R\"(a\nb", "SR\"(a\nb"},
    {"a name that ends in R makes none", "fooR\"(\" a", "fooR|S\"(\"|a"},
    {"nor does R'", "R'a'", "R|S'a'"},
    {"a delimiter has 16 characters at most",
     "R\"0123456789abcdef(\")0123456789abcdef\" a",
     "SR\"0123456789abcdef(\")0123456789abcdef\"|a"},
    {"not 17", "R\"0123456789abcdefg(\" a", "SR\"0123456789abcdefg(\"|a"},
};

static const struct cxx_case splices[] = {
    {"inside a name", "ev\\\nil()", "evil|(|)"},
    {"inside a number and an operator", "1\\\n2 <\\\n<\\\r\n< x", "N12|<<<|x"},
    {"several in a row", "a\\\n\\\n \\\nb", "a|b"},
    {"at the start and at the end", "\\\na\\\n", "a"},
    {"a backslash elsewhere is an operator", "a \\ b", "a|\\|b"},
    {"a lone \\r is an operator and ends a line", "// a\rb\r#c", "\r|b|\r|D#c"},
    {"it is no line end behind a backslash", "a\\\rb", "a|\\|\r|b"},
};

static const struct cxx_case directives[] = {
    {"a whole line", "#include <a.h>\nx", "D#include <a.h>|x"},
    {"blanks and comments may stand before it", "a\n /* b\n */ # define X 1\n",
     "a|D# define X 1"},
    {"but no code", "a #b", "a|#|b"},
    {"splices join", "#define X a \\\n  b\nc", "D#define X a   b|c"},
    {"a trailing comment goes", "#define X 1 // a\n#define Y 2 /* b */\nc",
     "D#define X 1|D#define Y 2|c"},
    {"a comment within is a blank", "#define X/* a\nb */1\nc",
     "D#define X 1|c"},
    {"a // comment may be spliced", "#if 1 // a \\\n b\nc", "D#if 1|c"},
    {"comment signs in its strings stay", "#define X \"//\" '\"' // a",
     "D#define X \"//\" '\"'"},
    {"a raw string may span lines", "#define X R\"(a\n//)\" y // z\nb",
     "D#define X R\"(a\n//)\" y|b"},
    {"the other spelling of #", "%:define X\na%:b", "D%:define X|a|%|:|b"},
    {"comment signs in a header's name are part of it",
     "#include <sys//a.h> // b\n# import /**/<a/*b>\nx /* y */",
     "D#include <sys//a.h>|D# import  <a/*b>|x"},
    {"also in __has_include", "#if __has_include(<a/*b>)\nx",
     "D#if __has_include(<a/*b>)|x"},
    {"elsewhere < is an operator", "#if a </* b\n */ c\nx", "D#if a <  c|x"},
    {"a quoted header has no escapes", "#include \"a\\\" // b\nx",
     "D#include \"a\\\"|x"},
    {"an apostrophe ends with its line", "#error don't // a\nx",
     "D#error don't // a|x"},
};

static void test_places(void)
{
    struct arena a = {0};
    struct cxx_tokens t;

    cxx_lex(&t, str_of("a /*\n*/ b\\\nc d\n# e /* f */ \nR\"(\n)\" g"), &a);
    ok(t.len == 6 && t.tok[0].line == 1 && t.tok[1].line == 2,
       "lines count through comments");
    ok(t.tok[1].at == 8 && t.tok[1].len == 4 && t.tok[1].text.n == 2,
       "a spliced token covers its splice");
    ok(t.tok[2].line == 3 && t.tok[2].at == 13 && t.tok[2].len == 1,
       "lines count through splices");
    ok(t.tok[3].line == 4 && t.tok[3].at == 15 && t.tok[3].len == 3,
       "a directive ends before its comment");
    ok(t.tok[4].line == 5 && t.tok[5].line == 6,
       "lines count through raw strings");
    arena_release(&a);
}

SUITE(cxx_lex)
{
    RUN(code);
    RUN(comments);
    RUN(literals);
    RUN(splices);
    RUN(directives);
    test_places();
}
