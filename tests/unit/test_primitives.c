/* The words of a kernel language that a program uses. */
#include "source/primitives.h"

#include "base/buf.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct map_item *)a)->key,
                  ((const struct map_item *)b)->key);
}

static char joined[2000];

/* Its names, sorted. */
static const char *join(struct map *set)
{
    struct buf b = {.limit = sizeof(joined)};

    if (set->len)
        qsort(set->items, set->len, sizeof(*set->items), by_name);
    for (size_t i = 0; i < set->len; i++)
        buf_printf(&b, "%s%s", i ? " " : "", set->items[i].key);
    snprintf(joined, sizeof(joined), "%s", buf_str(&b));
    buf_release(&b);
    map_release(set);
    return joined;
}

static const char *of(const char *code)
{
    struct arena a = {0};
    struct map set = {0};
    const char *names;

    primitives_of(str_of(code), &set, NULL, &a);
    names = join(&set);
    arena_release(&a);
    return names;
}

static const char *in_text(const char *code, const char *text)
{
    struct arena a = {0};
    struct map set = {0}, aliases = {0};
    const char *names;
    bool inside;

    inside = primitives_of(str_of(code), &set, &aliases, &a);
    map_release(&set);
    primitives_in_text(str_of(text), &aliases, inside, &set, &a);
    names = join(&set);
    map_release(&aliases);
    arena_release(&a);
    return names;
}

static void test_modules(void)
{
    const char *seed = "import tilelang\nfrom tilelang import language as T\n"
                       "@T.prim_func\ndef f():\n    pass\n";

    is(in_text(seed, "`tilelang.language` (as `T`) has `T.copy`, `T.reduce_*` "
                     "and `tilelang.compile(f)`"),
       "language.copy tilelang.compile",
       "modules and wildcards are no primitives");
    is(of("import tile.language as T\nhelp(T)\nT.load(x)\n"), "language.load",
       "… in code, too");
    is(of("from tile import Tensor\nTensor(4)\nTensor.at(2)\n"),
       "Tensor.at tile.Tensor", "what is called is no module");
}

static void test_python(void)
{
    is(of("import tilelang\nimport tilelang.language as T\nimport torch\n"
          "@T.prim_func\ndef f(x):\n    T.copy(x, y)\n    T.copy(y, x)\n"
          "    torch.relu(x)\n    x.copy()\ng = tilelang.compile(f)\n"),
       "language.copy language.prim_func tilelang.compile",
       "Python: names behind an import, but not torch and methods");
    is(of("from triton.experimental.gluon import (language as gl, jit)\n"
          "import math\nmath.sqrt(2)\ngl.load(p)\n@jit\ndef f():\n    pass\n"),
       "gluon.jit language.load", "… behind `from` too, but not Python's own");
    is(of("import tilelang.language as T\ndef f():\n    \"\"\"Like T.gemm(a),\n"
          "    or exp(x).\"\"\"\n"),
       "", "docstrings do not count");
    is(of("not python ((("), "", "a text that is no program has none");
}

static void test_inside(void)
{
    is(of("from quill import build\nP = r\"\"\"\n"
          "scroll center(well xs: f32[rows, cols], count cols)\n"
          "    roam row below upper(rows, 2) by 8\n"
          "        mean := heap[c](xt) / cols\n"
          "    end\nend\n\"\"\"\nlib = build(P)\nlib.center(x)\n"),
       "heap quill.build upper",
       "a program in a string: calls, also with an index; not what it defines");
    is(of("S = r'''\nusing namespace kittens;\n"
          "__device__ float gelu(float x) { return x * tanhf(x); }\n"
          "__global__ void k(const float *p, int n) {\n"
          "    st_bf<64, BK> tile; if (n < 3 && m > 2) p.load(n);\n"
          "    warpgroup::mma_AB(gelu(*p), tile); std::max<int>(n, 1);\n"
          "}\n'''\n"),
       "st_bf std::max tanhf warpgroup::mma_AB",
       "C++: qualified names and templates, not comparisons and methods");
}

static void test_text(void)
{
    const char *quill = "P = r'''\nscroll f(well xs: f32[n])\n'''\n";

    is(in_text("import tilelang.language as T\n",
               "Use `T.gemm(a, b)` or T.exp; gemm(x) is `gemm(x)`.\n"
               "```python\nimport tilelang.language as T\nT.cumsum(x)\n```\n"),
       "language.cumsum language.gemm",
       "a text: code in backticks, behind a known alias");
    is(in_text(quill, "A sum is `heap[c](xt)`, not sum(x). `climb[c](xt)`"),
       "climb heap", "… and calls where programs are strings");
    is(in_text(quill, "An open ` tick"), "", "an open tick ends nothing");
    ok(primitives_mentioned(str_of("use `T.cumsum`"), "language.cumsum"),
       "a name is mentioned by its last part");
    ok(primitives_mentioned(str_of("Cumsum(x)"), "cumsum"), "in any case");
    ok(!primitives_mentioned(str_of("a cumsum of x, cumsums("), "cumsum"),
       "a word of prose is no mention, nor is part of a word");
}

SUITE(primitives)
{
    test_python();
    test_modules();
    test_inside();
    test_text();
}
