/* test_form.c: what rules get to see. */
#include "source/form.h"
#include "source/place.h"
#include "tap.h"

#include <string.h>

struct form_case {
    const char *claim, *src, *want;
};

static const struct form_case code_cases[] = {
    {"nothing", "", ""},
    {"a blank stands only between words", "x  =  y if z  else-1",
     "x=y if z else-1\n"},
    {"blanks round a dot and in brackets go", "torch . matmul( x )",
     "torch.matmul(x)\n"},
    {"joined lines read the same", "torch.\\\n  matmul(\n x # c\n)",
     "torch.matmul(x)\n"},
    {"a number and a word stay apart", "1if x else 2", "1 if x else 2\n"},
    {"names are normalised",
     "\xf0\x9d\x93\xae\xf0\x9d\x94\x81\xf0\x9d\x93\xae\xf0\x9d\x93\xac (x)",
     "exec(x)\n"},
    {"comments and blank lines go", "# a\n\nx # b\n", "x\n"},
    {"indentation is four blanks a level", "if a:\n\tif b:\n\t  c\n\td\ne",
     "if a:\n    if b:\n        c\n    d\ne\n"},
    {"a string is empty", "x = r'''a\nb''' + b\"c\"", "x=\"\"+\"\"\n"},
    {"a string is no word", "return'a'if x", "return\"\"if x\n"},
    {"adjacent strings stay two", "'a' \"b\"", "\"\"\"\"\n"},
    {"an f-string's expressions follow in parentheses", "g(f'a{x . y}b{z}')",
     "g(\"\"(x.y)(z))\n"},
    {"without conversion, = and format", "f'{x=!r:>10}'", "\"\"(x)\n"},
    {"fields in a spec have their own parentheses", "f'{x:a{w+1}b{p!s:c}}{y}'",
     "\"\"(x)(w+1)(p)(y)\n"},
    {"a spec of nothing but a field", "f'{x:{w}}{y:}'", "\"\"(x)(w)(y)\n"},
    {"brackets and colons of the expression stay", "f'{d[1:2]}{({1:2})}'",
     "\"\"(d[1:2])(({1:2}))\n"},
    {"an f-string in an f-string", "f'{f\"{x}\"}' if y else z",
     "\"\"(\"\"(x))if y else z\n"},
    {"a line that starts with an f-string in a block", "if a:\n  f'{x}'\n",
     "if a:\n    \"\"(x)\n"},
    {"what stands before a problem", "x = 1\ny = (2\n", "x=1\ny=(2\n"},
};

static void test_code(void)
{
    struct arena a = {0};
    struct py_tokens t;
    struct form v;

    for (size_t i = 0; i < COUNT(code_cases); i++) {
        py_lex(&t, str_of(code_cases[i].src), &a);
        form_code(&v, &t, &a);
        is(v.data, code_cases[i].want, code_cases[i].claim);
    }
    py_lex(&t, str_of("if a:\n  b ( f'{c}' )\n"), &a);
    form_code(&v, &t, &a);
    is(v.data, "if a:\n    b(\"\"(c))\n", "the code");
    ok(v.origin[0] == 0 && v.origin[3] == 3 && v.origin[5] == 5,
       "each byte knows its token");
    ok(v.origin[6] == 8 && v.origin[10] == 8 && v.origin[11] == 10,
       "an indentation belongs to what follows");
    ok(v.origin[12] == 12 && v.origin[13] == 12 && v.origin[14] == 14 &&
           v.origin[15] == 15 && v.origin[16] == 16,
       "a string and its fields to their places");
    arena_release(&a);
}

static const struct form_case cut_cases[] = {
    {"nothing to cut from", "", ""},
    {"a line without either", "x = 1\n", "x = 1\n"},
    {"cut at the first #", "x # y # z\nw", "x \nw"},
    {"and at the first //", "x // y // z", "x "},
    {"// behind # and # behind //", "a # b // c\na // b # c\n", "a \na \n"},
    {"in strings too", "'#' + x\n'//'\n", "'\n'\n"},
    {"a single / stays", "a / b /\n/ c", "a / b /\n/ c"},
    {"every line end is \\n", "a # b\r\nc\rd // e\r\n", "a \nc\nd \n"},
};

static void test_cut(void)
{
    struct arena a = {0};
    struct form v;

    for (size_t i = 0; i < COUNT(cut_cases); i++) {
        form_cut(&v, str_of(cut_cases[i].src), &a);
        is(v.data, cut_cases[i].want, cut_cases[i].claim);
    }
    form_cut(&v, str_of("a # b\ncd"), &a);
    ok(v.len == 5 && v.origin[0] == 0 && v.origin[2] == 5 && v.origin[4] == 7,
       "each byte knows where it stood");
    arena_release(&a);
}

static void test_all(void)
{
    struct form v;

    form_all(&v, STR_LIT("# a\n\"b\""));
    ok(strcmp(v.data, "# a\n\"b\"") == 0 && v.len == 7 && !v.origin,
       "all is the source as it is");
}

static bool place_is(const char *src, size_t at, uint32_t line, uint32_t column)
{
    struct place p;

    place_init(&p, str_of(src));
    place_to(&p, str_of(src), at);
    return p.line == line && p.column == column;
}

static void test_place(void)
{
    ok(place_is("", 0, 1, 1), "the place of nothing");
    ok(place_is("ab\ncd", 4, 2, 2), "lines and columns count from 1");
    ok(place_is("\xc3\xa9\xe2\x82\xac"
                "x",
                5, 1, 3),
       "columns in characters");
    ok(place_is("a\r\nb\rc", 3, 2, 1) && place_is("a\r\nb\rc", 5, 3, 1),
       "\\r\\n and \\r end lines");
    ok(place_is("a\r\nb", 1, 1, 2) && place_is("a\r\nb", 2, 1, 2),
       "between \\r and \\n is still the line");
    ok(place_is("\xef\xbb\xbf"
                "ab",
                4, 1, 2),
       "a byte order mark has no width");
    ok(place_is("a\n", 2, 2, 1) && place_is("a\n", 99, 2, 1),
       "behind the end is the end");
}

SUITE(form)
{
    is(form_names[FORM_CUT], "cut", "forms have names");
    test_code();
    test_cut();
    test_all();
    test_place();
}
