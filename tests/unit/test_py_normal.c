/* test_py_normal.c: one hash for copies of one program; sources without what
 * is written for readers. */
#include "source/py_normal.h"
#include "tap.h"

#include <string.h>

static bool same(const char *a, const char *b)
{
    char x[HASH_HEX], y[HASH_HEX];

    py_normal_hash(str_of(a), x);
    py_normal_hash(str_of(b), y);
    return strcmp(x, y) == 0;
}

static void strips(bool cxx, const char *code, const char *want)
{
    struct py_tokens t;
    struct arena a = {0};
    struct str s;

    s = py_strip(str_of(code), cxx, &a);
    is(s.p, want, "stripped");
    py_lex(&t, s, &a);
    ok(!t.problem.id, "it is still Python");
    arena_release(&a);
}

static void test_hash(void)
{
    char x[HASH_HEX], y[HASH_HEX];

    ok(same("x = 1\n", "x  =  1 # one\n"), "blanks and comments do not count");
    ok(same("def f():\n  return 1\n", "def f():\n  'doc'\n\n  return 1\n"),
       "docstrings and blank lines do not");
    ok(same("f(1,\n  2)\n", "f(1, 2)\n"), "line joins do not");
    ok(!same("x = 'a'\n", "x = 'b'\n"), "strings that are values do");
    ok(!same("if a:\n  b\nc\n", "if a:\n  b\n  c\n"), "blocks do");
    py_normal_hash(STR_LIT("x = (\n"), x);
    hash_hex("x = (\n", 6, y);
    is(x, y, "text that is no Python is hashed as it is");
    ok(!same("x = (\n", "x  = (\n"), "with its blanks");
}

static bool alike(const char *a, const char *b)
{
    char x[HASH_HEX], y[HASH_HEX];

    py_normal_hash_renamed(str_of(a), x);
    py_normal_hash_renamed(str_of(b), y);
    return strcmp(x, y) == 0;
}

static void test_renamed(void)
{
    ok(alike("def f(q, k):\n  s = q @ k\n  return s\n",
             "def f(x, y):\n  'Doc.'\n  z = x @ y  # a\n  return z\n"),
       "names of arguments and variables do not count");
    ok(!alike("def f(q, k):\n  return q - k\n",
              "def f(q, k):\n  return k - q\n"),
       "which of them stands where does");
    ok(!alike("def f(q, k):\n  return q\n", "def f(x, y=0):\n  return x\n"),
       "a default does");
    ok(!alike("x = f(a, dim=1)\ndim = 2\n", "x = f(a, axis=1)\naxis = 2\n"),
       "keywords of a call do");
    ok(!alike("x = a.sum()\nsum = x\n", "x = a.max()\nmax = x\n"),
       "attributes do");
    ok(!alike("import torch\nx = torch.exp(1)\n",
              "import numpy\nx = numpy.exp(1)\n"),
       "modules do");
    ok(alike("a, b = 1, 2\nfor i in r:\n  a = b + i\n",
             "c, d = 1, 2\nfor j in r:\n  c = d + j\n"),
       "targets of loops and of pairs do not");
    ok(!alike("a, b = 1, 2\nc = a\n", "a, b = 1, 2\nc = b\n"),
       "but which of the pair it is does");
    ok(!alike("x = relu(y)\n", "x = tanh(y)\n"), "free names do");
    ok(!alike("x = (\n", "x  = (\n"), "what is no Python is taken as it is");
}

static void test_strip(void)
{
    strips(false, "# a\nx = 1  # b\n\n\ny = '# c'\n", "x = 1\ny = '# c'\n");
    strips(false, "def f():\n    \"\"\"Doc\n    more.\"\"\"\n    return 1\n",
           "def f():\n    return 1\n");
    strips(false, "def f():\n    'only'\n\nx = 1\n",
           "def f():\n    pass\nx = 1\n");
    strips(false, "def f():\n    'one'\n    'two'\nx = 1\n",
           "def f():\n    pass\nx = 1\n");
    strips(false, "def f(): 'only'\n", "def f(): pass\n");
    strips(false, "def f(): 'doc'; return 1\n", "def f(): return 1\n");
    strips(false, "if a:\n    'x' 'y'; b = 1\n", "if a:\n    b = 1\n");
    strips(false, "x: 'int'\ny = (1,  # a\n     # b\n     2)\n",
           "x: 'int'\ny = (1,\n     2)\n");
    strips(false, "def f(x: 'A' = 1) -> 'B':\n    return x\n",
           "def f(x: 'A' = 1) -> 'B':\n    return x\n");
    strips(false, "x = '''a\n\n  # b\n'''\n", "x = '''a\n\n  # b\n'''\n");
    strips(false, "x = 1 + \\\n    2  # c\n", "x = 1 + \\\n    2\n");
    strips(false, "x = 1\\\n\n\ny = 2\n", "x = 1\\\n\ny = 2\n");
    strips(false, "x = r'''int f() { /* a */ return 1; }'''\n",
           "x = r'''int f() { /* a */ return 1; }'''\n");
    strips(true, "x = r'''int f() { /* a */ return 1; } // b\n\"// c\";'''\n",
           "x = r'''int f() {   return 1; } \n\"// c\";'''\n");
    strips(true, "x = r\"\"\"{;} \"a\"// b \"\"\"\n",
           "x = r\"\"\"{;} \"a\" \"\"\"\n");
    strips(true, "x = r'''{;} // a \\\n b\nc'''\n", "x = r'''{;} \nc'''\n");
    strips(true, "x = '''see http://a.b'''\n", "x = '''see http://a.b'''\n");
}

static void test_broken(void)
{
    struct arena a = {0};

    is(py_strip(STR_LIT("x = ( # a\n"), false, &a).p, "x = ( # a\n",
       "text that is no Python stays");
    arena_release(&a);
}

SUITE(py_normal)
{
    test_hash();
    test_renamed();
    test_strip();
    test_broken();
}
