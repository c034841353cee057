/* test_task.c: ids, normalised hashes, operators, collections. */
#include "base/fs.h"
#include "base/log.h"
#include "scratch.h"
#include "source/operators.h"
#include "source/task.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BODY                      \
    "class Model(nn.Module):\n"   \
    "    def forward(self, x):\n" \
    "        return torch.relu(x).sum(1)\n"
#define INPUTS                                        \
    "def get_inputs():\n    return [torch.rand(3)]\n" \
    "def get_init_inputs():\n    return []\n"
#define HEAD "import torch\nimport torch.nn as nn\n"

static char *dir;

static char *put(const char *name, const char *text)
{
    return scratch_put(dir, name, text);
}

static void id_is(const char *path, const char *want)
{
    char *id = task_id(path);

    is(id, want, path);
    free(id);
}

static void refused(const char *name, const char *text, const char *why)
{
    struct err e = ERR_INIT;
    char *path = put(name, text);
    struct task *t = task_load(path, &e);

    ok(!t && e.kind == ERR_INPUT && strstr(e.text, why) && strstr(e.text, name),
       "%s is refused: %s", name, e.text);
    if (t)
        task_free(t);
}

static void test_hash_and_operators(void)
{
    struct err e = ERR_INIT;
    char *a = put("s/a.py", HEAD BODY INPUTS);
    char *b = put("s/b.py", "\"\"\"A copy.\"\"\"\n" HEAD
                            "# with a comment\n\n" BODY INPUTS);
    char *c =
        put("s/c.py", HEAD "class Model(nn.Module):\n"
                           "    def forward(self, x):\n"
                           "        return torch.relu(x).sum(2)\n" INPUTS);
    struct task *x = task_load(a, &e), *y = task_load(b, &e),
                *z = task_load(c, &e);

    ok(x && y && z, "three tasks load: %s", e.text);
    is(x->id, "s/a", "the id is folder and stem");
    is(y->hash, x->hash, "comments and docstrings are no difference");
    ok(strcmp(z->hash, x->hash) != 0, "code is");
    ok(x->ops[0] && strcmp(x->ops[0], "relu") == 0 &&
           strcmp(x->ops[1], "sum") == 0 && !x->ops[2],
       "the model's operators, and not those that make inputs");
    task_free(x);
    task_free(y);
    task_free(z);
}

/* The operators of a model whose __init__ and forward have these lines. */
static void ops_are(const char *claim, const char *imports, const char *line,
                    const char *want)
{
    struct err e = ERR_INIT;
    char *text =
        scratch_text("%s\nclass Model(Module):\n"
                     "    def forward(self, x):\n        %s\n"
                     "    def own(self): return 1\n%s"
                     "if __name__ == '__main__':\n    print(x.cos())\n",
                     imports, line, INPUTS);
    struct task *t = task_from("t.py", str_of(text), &e);
    struct buf all = {.limit = 1000};

    for (size_t i = 0; t && t->ops[i]; i++)
        buf_printf(&all, "%s%s", i ? " " : "", t->ops[i]);
    is(buf_str(&all), want, claim);
    buf_release(&all);
    if (t)
        task_free(t);
}

static void test_chain(void)
{
    struct arena a = {0};
    struct py_tokens t;
    const char **op;
    struct buf all = {.limit = 1000};

    py_lex(&t,
           STR_LIT("import torch\nimport torch.nn as nn\n"
                   "class Model(nn.Module):\n"
                   "    def __init__(self, n):\n"
                   "        self.norm = nn.LayerNorm(n)\n"
                   "        self.conv = nn.Conv2d(n, n, 3)\n"
                   "    def forward(self, x):\n"
                   "        y = self.norm(torch.relu(self.conv(x)))\n"
                   "        return y * torch.tanh(y).sum(1) + self.norm(x)\n"),
           &a);
    for (op = operators_chain(&t, &a); *op; op++)
        buf_printf(&all, "%s%s", all.len ? " " : "", *op);
    is(buf_str(&all), "Conv2d relu LayerNorm tanh sum mul LayerNorm add",
       "in the order of computing, layers where they are called");
    buf_release(&all);
    arena_release(&a);
}

static void test_names(void)
{
    ops_are("by whatever name torch has",
            "import torch as t\nimport torch.nn.functional as F",
            "t.exp(F.gelu(t.nn.Linear(1, 2)(x)))", "Linear exp gelu");
    ops_are("imported by themselves",
            "from torch import relu as r, exp\nfrom torch.nn import (\n"
            "    Linear, Conv2d as C)",
            "r(exp(C(1)(Linear(x))))", "Conv2d Linear exp relu");
    ops_are("methods of tensors, but not of the program", "import torch",
            "self.own(); x.sum(1).t(); x.y.mean()", "mean sum t");
    ops_are("not what lies deeper in torch, nor other modules",
            "import torch, math", "torch.linalg.inv(math.exp(x))", "");
    ops_are("a call counts, a mention does not", "import torch",
            "f = torch.relu; x.shape; x.abs", "");
    ops_are("each once, in the order of the alphabet", "import torch",
            "x.b(); torch.a(x); x.b()", "a b");
    ops_are("a layer counts where it is made, not where it is called",
            "import torch", "self.fc(x).relu()", "relu");
}

static void test_symbols(void)
{
    ops_are("symbols by torch's names", "", "return x * y + z", "add mul");
    ops_are("beside functions and methods", "from torch import relu",
            "return relu(x @ self.w.t() + self.b)", "add matmul relu t");
    ops_are("all of arithmetic", "", "return ((a - b) / c // d % e) ** f",
            "div floor_divide pow remainder sub");
    ops_are("comparisons of values", "", "return (x > 0) * (y != z)",
            "gt mul ne");
    ops_are("those with one operand", "", "return -x, ~y, f(-z)",
            "bitwise_not neg");
    ops_are("those that assign", "", "x *= y; x += 1", "add mul");
    ops_are("not those of numbers alone", "", "f(dim=-1, n=2 * 3)", "");
    ops_are("not arguments that are unpacked", "", "f(*x, **y)", "");
    ops_are("not conditions", "", "assert x == 3 and n % 2", "");
    ops_are("but what depends on them", "", "if n > 1: x = x * 2", "mul");
    ops_are("not places in a tensor", "", "return x[:, n - 1:] * y", "mul");
    ops_are("not what formats a text", "", "print('%d' % n)", "");
    ops_are("not what __init__ computes", "",
            "pass\n    def __init__(self, k):\n        self.pad = k // 2", "");
}

static void test_collection(void)
{
    struct err e = ERR_INIT;
    struct collection c = {0};
    const char *words[] = {scratch_path(dir, "level1")};

    put("level1/10_ten.py", HEAD BODY INPUTS);
    put("level1/2_two.py", HEAD BODY INPUTS);
    put("level1/2_two.json", "{\"variants\": []}");
    ok(collection_add(&c, words, 1, dir, &e) == 0 && c.len == 2,
       "a folder has its tasks");
    is(c.task[0]->id, "L1/2", "in the order of their numbers");
    ok(c.task[0]->sidecar && !c.task[1]->sidecar, "a sidecar is read");
    ok(collection_add(&c, words, 1, dir, &e) == 0 && c.len == 2,
       "no task is there twice");
    collection_release(&c);
    words[0] = "level1";
    ok(collection_add(&c, words, 1, dir, &e) == 0 && c.len == 2,
       "a collection is known by its name");
    collection_release(&c);
    put("level1/utils.py", "def helper(): pass\n");
    ok(collection_add(&c, words, 1, dir, &e) == 0 && c.len == 2 &&
           c.stray_len == 1 && strstr(c.stray[0], "level1/utils.py"),
       "a file that is not a task is noted, and the others are there");
    log_set_level(LOG_QUIET);
    ok(collection_report(&c, false, &e) == 0, "which is worth a warning");
    ok(collection_report(&c, true, &e) < 0 && e.kind == ERR_INPUT,
       "or, if strict, an error");
    log_set_level(LOG_INFO);
    collection_release(&c);
    words[0] = scratch_path(dir, "level1/utils.py");
    ok(collection_add(&c, words, 1, dir, &e) < 0 && e.kind == ERR_INPUT,
       "a file that is not a task is an error when there is no other");
    collection_release(&c);
    words[0] = "nowhere*";
    ok(collection_add(&c, words, 1, dir, &e) < 0 && e.kind == ERR_INPUT,
       "nothing is an error");
    collection_release(&c);
}

SUITE(task)
{
    dir = scratch_dir();
    ok(fs_is_dir(dir), "a folder of our own");
    id_is("kb/level2/15_Conv__x_.py", "L2/15");
    id_is("starter/04_softmax.py", "starter/04_softmax");
    id_is("/a/levelx/3_y.py", "levelx/3_y");
    id_is("alone.py", "alone");
    id_is("/a/./alone.py", "alone");
    test_hash_and_operators();
    test_chain();
    test_names();
    test_symbols();
    refused("s/m.py", HEAD INPUTS, "class Model");
    refused("s/g.py", HEAD BODY, "get_inputs");
    refused("s/u.py", HEAD BODY INPUTS "x = (", "/u.py:");
    test_collection();
}
