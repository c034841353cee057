/* test_book.c: rows of KernelBook: read one at a time, converted or refused. */
#include "base/fs.h"
#include "base/mem.h"
#include "data/book_convert.h"
#include "data/book_scale.h"
#include "data/book_stream.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void suite_book(void);

/* ---- conversion ---- */

#define HEAD    "import torch\nimport torch.nn as nn\n"
#define INPUTS  "def get_inputs():\n    return [torch.rand([4, 4])]\n"
#define NO_INIT INPUTS "def get_init_inputs():\n    return [[], {}]\n"
#define INIT(kwargs) \
    INPUTS "def get_init_inputs():\n    return [[], {" kwargs "}]\n"
#define FORWARD(returns)                    \
    "class Net(nn.Module):\n"               \
    "    def __init__(self):\n"             \
    "        super(Net, self).__init__()\n" \
    "    def forward(self, x, y=None):\n" returns

/* One defect: what becomes of it. `has` and `lacks`: lines separated by '|'. */
struct defect {
    const char *claim, *entry, *code;
    enum book_reason reason;
    const char *has, *lacks;
};

static const struct defect defects[] = {
    {"an argument with the name of the class is a collision", "Net",
     HEAD FORWARD("        return x.Net(Net=1) if 0 else x\n") NO_INIT,
     BOOK_COLLISION, NULL, NULL},
    {"the entry class becomes Model", "Net",
     HEAD FORWARD("        return x * 2\n") NO_INIT, BOOK_KEPT,
     "class Model(nn.Module):|super(Model, self).__init__()|return []",
     "Net|eval"},
    {"nn.MSELoss stays where the class is MSELoss", "MSELoss",
     HEAD "class MSELoss(nn.Module):\n"
          "    def __init__(self):\n"
          "        super().__init__()\n"
          "        self.f = nn.MSELoss()\n"
          "    def forward(self, x):\n"
          "        return self.f(x, x + 1)\n" NO_INIT,
     BOOK_KEPT, "class Model(nn.Module):|nn.MSELoss()", "nn.Model"},
    {"a class that is called Model already stays", "Model",
     HEAD "class Model(nn.Module):\n    def forward(self, x):\n"
          "        return x\n" NO_INIT,
     BOOK_KEPT, "class Model(nn.Module):", "__init__"},
    {"another Model is a collision", "Net",
     HEAD "class Model(nn.Module):\n    pass\n" FORWARD("        return x\n")
         NO_INIT,
     BOOK_COLLISION, NULL, NULL},
    {"so is an import of the class's name", "LayerNorm",
     "from torch.nn import LayerNorm\n" HEAD
     "class LayerNorm(nn.Module):\n    def forward(self, x):\n"
     "        return x\n" NO_INIT,
     BOOK_COLLISION, NULL, NULL},
    {"and a parameter of that name", "Q",
     HEAD "class Q(nn.Module):\n    def forward(self, x, Q):\n"
          "        return x\n" NO_INIT,
     BOOK_COLLISION, NULL, NULL},
    {"keyword arguments get places", "Net",
     HEAD "class Net(nn.Module):\n"
          "    def __init__(self, a, b=(1, 2), c=None):\n"
          "        super().__init__()\n"
          "        self.l = nn.Linear(a, c)\n"
          "    def forward(self, x):\n"
          "        return self.l(x)\n" INIT("'c': 4, 'a': 4"),
     BOOK_KEPT, "return [4, (1, 2), 4]", "{"},
    {"one without a place is refused", "Net",
     HEAD "class Net(nn.Linear):\n"
          "    def __init__(self, *args, **kw):\n"
          "        super().__init__(*args, **kw)\n"
          "    def forward(self, x):\n"
          "        return super().forward(x)\n" INIT("'in_features': 4"),
     BOOK_ARGUMENTS, NULL, NULL},
    {"a class without constructor gets one", "Net",
     HEAD "class Net(nn.Linear):\n"
          "    \"\"\"Doc.\"\"\"\n"
          "    def forward(self, x):\n"
          "        return super().forward(x)\n" INIT(
              "'in_features': 4, 'out_features': 4"),
     BOOK_KEPT,
     "    def __init__(self, in_features, out_features):|"
     "super().__init__(in_features=in_features, out_features=out_features)|"
     "return [4, 4]",
     "eval"},
    {"in front of a method under a condition, too", "Net",
     HEAD "class Net(nn.Linear):\n"
          "    if True:\n"
          "        def forward(self, x):\n"
          "            return super().forward(x)\n" INIT(
              "'in_features': 4, 'out_features': 4"),
     BOOK_KEPT,
     "out_features=out_features)\n\n    if True:\n        def forward", NULL},
    {"_mock_config is defined in the file", "Net",
     "from _paritybench_helpers import _mock_config\n" HEAD
     "class Net(nn.Module):\n"
     "    def __init__(self, config):\n"
     "        super().__init__()\n"
     "        self.l = nn.Linear(config.width, 4)\n"
     "    def forward(self, x):\n"
     "        return self.l(x)\n" INIT("'config': _mock_config(width=4)"),
     BOOK_KEPT, "class _mock_config(dict):|return [_mock_config(width=4)]",
     "_paritybench"},
    {"dropout ends in inference mode", "Net",
     HEAD "class Net(nn.Module):\n"
          "    def __init__(self):\n"
          "        super().__init__()\n"
          "        self.d = nn.Dropout(0.5)\n\n"
          "    def forward(self, x):\n"
          "        return self.d(x)\n" NO_INIT,
     BOOK_KEPT, "        self.d = nn.Dropout(0.5)\n        self.eval()  #",
     NULL},
    {"batch normalisation, too, at every end of the constructor", "Net",
     HEAD "class Net(nn.Module):\n"
          "    def __init__(self, a):\n"
          "        super().__init__()\n"
          "        self.n = nn.BatchNorm1d(4)\n"
          "        if a:\n"
          "            return\n"
          "        self.b = a\n"
          "    def forward(self, x):\n"
          "        return self.n(x)\n" INIT("'a': 1"),
     BOOK_KEPT, "self.eval(); return|self.b = a\n        self.eval()  #", NULL},
    {"a class without constructor as well", "Net",
     HEAD "class Net(nn.Module):\n"
          "    def forward(self, x):\n"
          "        return nn.functional.dropout(x, "
          "training=self.training)\n" NO_INIT,
     BOOK_KEPT, "super().__init__()\n        self.eval()  #", NULL},
    {"dropout that ignores the mode is random", "Net",
     HEAD "import torch.nn.functional as F\n" FORWARD(
         "        return F.dropout(x, 0.1)\n") NO_INIT,
     BOOK_RANDOM, NULL, NULL},
    {"so are random numbers in forward", "Net",
     HEAD FORWARD("        return x + torch.randn_like(x)\n") NO_INIT,
     BOOK_RANDOM, NULL, NULL},
    {"and in what forward calls", "Net",
     HEAD "def noise(x):\n    return x + torch.rand(4)\n" FORWARD(
         "        return noise(x)\n") NO_INIT,
     BOOK_RANDOM, NULL, NULL},
    {"and in a module that the constructor makes", "Net",
     HEAD "class Noise(nn.Module):\n"
          "    def forward(self, x):\n"
          "        return x + torch.rand(4)\n"
          "class Net(nn.Module):\n"
          "    def __init__(self):\n"
          "        super().__init__()\n"
          "        self.noise = Noise()\n"
          "    def forward(self, x):\n"
          "        return self.noise(x)\n" NO_INIT,
     BOOK_RANDOM, NULL, NULL},
    {"not in the constructor", "Net",
     HEAD "class Net(nn.Module):\n"
          "    def __init__(self):\n"
          "        super().__init__()\n"
          "        self.w = nn.Parameter(torch.randn(4))\n"
          "        self.reset()\n"
          "    def reset(self):\n"
          "        self.w.data.normal_()\n"
          "    def forward(self, x):\n"
          "        return x * self.w\n" NO_INIT,
     BOOK_KEPT, NULL, NULL},
    {"nor where only training draws", "Net",
     HEAD "def drop(x, training):\n"
          "    if not training:\n"
          "        return x\n"
          "    return x + torch.rand(4)\n" FORWARD(
              "        if self.training:\n"
              "            x = x + torch.rand(4)\n"
              "        return drop(x, self.training)\n") NO_INIT,
     BOOK_KEPT, NULL, NULL},
    {"of a tuple the first item stays", "Net",
     HEAD FORWARD("        if y:\n"
                  "            return (x + 1, [x, y])\n"
                  "        return max(x, y), y\n") NO_INIT,
     BOOK_KEPT, "            return x + 1\n|        return max(x, y)\n", NULL},
    {"of a list", "Net", HEAD FORWARD("        return [x, y]\n") NO_INIT,
     BOOK_KEPT, "        return x\n", NULL},
    {"of a list that a loop makes", "Net",
     HEAD FORWARD("        return [x * i for i in y]\n") NO_INIT, BOOK_KEPT,
     "        return [x * i for i in y][0]\n", NULL},
    {"of a dict the first value", "Net",
     HEAD FORWARD("        return {'a': x, 'b': y}\n") NO_INIT, BOOK_KEPT,
     "        return x\n", NULL},
    {"on either side of a condition", "Net",
     HEAD FORWARD("        return (x, y) if y else (x + 1,)\n") NO_INIT,
     BOOK_KEPT, "        return x if y else x + 1\n", NULL},
    {"of a name that was just given a tuple", "Net",
     HEAD FORWARD("        out = (x, y) if y else (x,)\n"
                  "        return out\n") NO_INIT,
     BOOK_KEPT, "        return out[0]\n", NULL},
    {"but not of one that became a tensor", "Net",
     HEAD FORWARD("        out = []\n"
                  "        out = torch.stack(out)\n"
                  "        return out\n") NO_INIT,
     BOOK_KEPT, "        return out\n", NULL},
    {"a function inside forward may return what it likes", "Net",
     HEAD FORWARD("        def f(z):\n            return z, z\n"
                  "        return f(x)[0]\n") NO_INIT,
     BOOK_KEPT, "return z, z\n", NULL},
    {"a set is refused", "Net", HEAD FORWARD("        return {x, y}\n") NO_INIT,
     BOOK_OUTPUT, NULL, NULL},
    {"so is a tuple that other code takes apart", "Net",
     HEAD FORWARD("        return x, y\n"
                  "    def both(self, x):\n"
                  "        a, b = self.forward(x)\n") NO_INIT,
     BOOK_OUTPUT, NULL, NULL},
    {"an unused import from elsewhere is dropped, and a repeated one", "Net",
     HEAD "import torch\nimport torchvision\nfrom sklearn.metrics import *\n"
          "import numpy as np\n" FORWARD("        return x\n") NO_INIT,
     BOOK_KEPT, "import torch\nimport torch.nn as nn\nimport numpy as np\n",
     "torchvision|sklearn"},
    {"also where a later import takes its name", "Net",
     "import torchvision.transforms.functional as F\n" HEAD
     "import torch.nn.functional as F\n" FORWARD("        return F.relu(x)\n")
         NO_INIT,
     BOOK_KEPT, "import torch.nn.functional as F", "torchvision"},
    {"one that is used is refused", "Net",
     HEAD "import sklearn\n" FORWARD("        return sklearn.f(x)\n") NO_INIT,
     BOOK_IMPORT, NULL, NULL},
    {"non-ASCII text stays", "Net",
     HEAD FORWARD("        'größe'\n        return x  # \xe5\x85\xa5\n")
         NO_INIT,
     BOOK_KEPT, "größe|\xe5\x85\xa5", NULL},
    {"nested classes and helpers stay", "Net",
     HEAD "def helper(x):\n    class Inner:\n        def f(self):\n"
          "            return x\n    return Inner().f()\n" FORWARD(
              "        return helper(x)\n") NO_INIT,
     BOOK_KEPT, "class Inner:|return helper(x)", NULL},
    {"no such class", "Nett", HEAD FORWARD("        return x\n") NO_INIT,
     BOOK_ENTRY, NULL, NULL},
    {"no Python", "Net", "class Net(\n", BOOK_SYNTAX, NULL, NULL},
};

static bool has_all(struct str text, const char *parts, bool want)
{
    char *copy = xstrdup(parts), *at = copy, *bar;
    bool good = true;

    do {
        bar = strchr(at, '|');
        if (bar)
            *bar = '\0';
        good = good && (strstr(text.p, at) != NULL) == want;
        at = bar + 1;
    } while (bar);
    free(copy);
    return good;
}

static void test_defects(void)
{
    struct book_program p;
    struct arena a;

    arena_init(&a);
    for (size_t i = 0; i < sizeof(defects) / sizeof(defects[0]); i++) {
        const struct defect *d = &defects[i];
        bool good;

        book_convert(&p, str_of(d->entry), str_of(d->code), 0, &a);
        good = p.reason == d->reason &&
               (!d->has || has_all(p.text, d->has, true)) &&
               (!d->lacks || has_all(p.text, d->lacks, false));
        if (!ok(good, "%s", d->claim))
            printf("# %s: %s\n%s\n", book_reasons[p.reason].code, p.detail,
                   p.reason ? "" : p.text.p);
    }
    arena_release(&a);
}

static void hash_of(const char *entry, const char *code, char hash[HASH_HEX])
{
    struct book_program p;
    struct arena a;

    arena_init(&a);
    book_convert(&p, str_of(entry), str_of(code), 0, &a);
    snprintf(hash, HASH_HEX, "%s", p.hash);
    arena_release(&a);
}

static void test_twins(void)
{
    char a[HASH_HEX], b[HASH_HEX], c[HASH_HEX];

    hash_of("Net", HEAD FORWARD("        return x\n") NO_INIT, a);
    hash_of("Other",
            "import torch.nn as nn\nimport torch\nimport math\n"
            "class Other(nn.Module):\n"
            "    'Doc.'\n"
            "    def __init__(self):  # comment\n"
            "        super(Other, self).__init__()\n"
            "    def forward(self, x, y=None):\n"
            "        return x\n" NO_INIT,
            b);
    hash_of("Net", HEAD FORWARD("        return -x\n") NO_INIT, c);
    is(a, b, "imports, docstrings and the class's name make no difference");
    ok(strcmp(a, c) != 0, "the program does");
}

static void test_scale(void)
{
    const char *code =
        HEAD "class Net(nn.Module):\n"
             "    def __init__(self, width, kernel_size):\n"
             "        super().__init__()\n"
             "    def forward(self, x):\n"
             "        return x + 4\n" INIT("'width': 4, 'kernel_size': 4");
    struct book_scale s = {0};
    struct book_program p;
    struct arena a;
    char sizes[64] = "";

    arena_init(&a);
    book_convert(&p, str_of("Net"), str_of(code), 0, &a);
    ok(p.rank == 2 && p.inputs == 1 && p.input_sizes == 2 && p.init_sizes == 1,
       "placeholders are counted");
    book_scale_init(&s, &p);
    do {
        size_t n = strlen(sizes);

        snprintf(sizes + n, sizeof(sizes) - n, " %d", (int)s.size);
    } while (book_scale_next(&s, "too large"));
    is(sizes, " 1024 512 256 0", "sizes: 1, 1/2, 1/4, none");
    ok(json_array_size(s.tried) == 3, "each that failed is noted");
    json_decref(s.tried);
    book_convert(&p, str_of("Net"), str_of(code), 64, &a);
    ok(has_all(p.text, "torch.rand([64, 64])|return [64, 4]|x + 4", true),
       "inputs and constructor get the same size, others stay");
    arena_release(&a);
}

static void test_document(void)
{
    struct err e = ERR_INIT;
    struct buf doc;

    buf_init(&doc, BUF_UNLIMITED);
    fs_read("docs/DATA.md", &doc, &e);
    for (int i = BOOK_KEPT + 1; i < BOOK_REASONS; i++) {
        char *row = xasprintf("| `%s` | %s |", book_reasons[i].code,
                              book_reasons[i].meaning);

        ok(strstr(buf_str(&doc), row) != NULL, "docs/DATA.md has: %s", row);
        free(row);
    }
    buf_release(&doc);
}

/* ---- the stream ---- */

/* The rows of `text`, as "1 2 3", and the error if there is one. */
static char *read_rows(const char *text, size_t n)
{
    FILE *in = fmemopen((void *)text, n, "r");
    struct err e = ERR_INIT;
    struct book_stream s;
    struct buf out;
    json_t *v;

    buf_init(&out, BUF_UNLIMITED);
    book_stream_init(&s, in, "F");
    while ((v = book_stream_next(&s, &e))) {
        buf_printf(&out, "%d ",
                   (int)json_integer_value(json_object_get(v, "a")));
        json_decref(v);
    }
    if (e.kind)
        buf_puts(&out, e.text);
    book_stream_release(&s);
    fclose(in);
    return buf_take(&out, NULL);
}

static void rows_are(const char *text, const char *want, const char *claim)
{
    char *got = read_rows(text, strlen(text));

    is(got ? got : "", want, claim);
    free(got);
}

static void test_stream(void)
{
    char *large, *got;
    size_t n = BOOK_STREAM_ROW + 100;

    rows_are("[{\"a\":1},\n {\"a\":2, \"b\":\"}]\\\"\"}]\n", "1 2 ",
             "an array of rows");
    rows_are("{\"a\":1}\n\n{\"a\":2}", "1 2 ", "JSON Lines");
    rows_are(" []", "", "an empty array");
    rows_are(" \n", "", "an empty file");
    rows_are("[{\"a\":1}",
             "1 F:1: the file ends before its array does; fetch it "
             "again (after row 1)",
             "an array that is cut short");
    rows_are("{\"a\":1}\n{\"a\":\n{",
             "1 F:3: the file ends inside row 2, which "
             "begins on line 2; fetch it again",
             "a row that is cut short");
    rows_are("[{\"a\":1}\n {\"a\":2}]",
             "1 F:2: expected ',' or ']' (after row 1)", "a comma is missing");
    rows_are("[{\"a\":1},\n]",
             "1 F:2: a comma, but no row behind it (after row 1)",
             "one too many");
    rows_are("{\"a\":1}\n17\n",
             "1 F:2: expected a row, which begins with '{' (after row 1)",
             "a number is not a row");
    rows_are("[{\"a\":1}]\n[",
             "1 F:2: text after the end of the array (after "
             "row 1)",
             "two arrays");
    rows_are("{\"a\":1}\n{\"a\":2,\n\"b\" 3}", "1 F:3:5: ':' expected near '3'",
             "a row that is not JSON");
    large = xmalloc(n);
    memset(large, ' ', n);
    memcpy(large, "{\"a\":1}\n{", 9);
    got = read_rows(large, n);
    ok(strstr(got, "1 F:2: a row is larger than 16 MiB") != NULL,
       "a row has a limit");
    free(got);
    free(large);
}

void suite_book(void)
{
    test_defects();
    test_twins();
    test_scale();
    test_stream();
    test_document();
}
