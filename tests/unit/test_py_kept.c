/* test_py_kept.c: what is called by another way than its name: layers stored by
 * name, things of this file under the name of a tensor's method, methods and
 * launches that are kept and called later. */
#include "facts_check.h"
#include "tap.h"

void suite_py_kept(void);

#define ROWS(rows, place) \
    facts_rows(rows, sizeof(rows) / sizeof((rows)[0]), place)
#define NEW "import torch, lang\nfrom torch import nn\n"

static const struct facts_row stored_by_name[] = {
    {"holder-call: a layer that was added by its name",
     NEW "class ModelNew(nn.Module):\n  def __init__(self):\n"
         "    self.add_module('a', nn.Linear(1, 2))\n"
         "    setattr(self, 'b', nn.Linear(1, 2))\n"
         "    self.register_module(module=nn.Linear(1, 2), name='c')\n"
         "    super().add_module('d', nn.Linear(1, 2))\n"
         "    self._modules['e'] = nn.Linear(1, 2)\n"
         "    self._modules.update({'f': nn.Linear(1, 2)})\n"
         "  def forward(self, x):\n"
         "    self.a(x); self.b(x); self.c(x); self.d(x); self.e(x)\n"
         "    self.f(x)",
     "forward holder-call a\nforward holder-call b\nforward holder-call c\n"
     "forward holder-call d\nforward holder-call e\nforward holder-call f",
     NULL},
    {"holder-call: a layer out of _modules",
     NEW "class ModelNew(nn.Module):\n  def __init__(self):\n"
         "    self.a = nn.Linear(1, 2)\n    self.b = self._modules['a']\n"
         "  def forward(self, x):\n    self.b(x); self._modules['a'](x)",
     "forward holder-call b\nforward holder-call _modules", NULL},
    {"holder-call: under a computed name it may be any that is not assigned",
     NEW "class ModelNew(nn.Module):\n  def __init__(self):\n"
         "    for i in range(3): self.add_module(f'm{i}', nn.Linear(1, 2))\n"
         "    self.k = lang.compile(1)\n    self.w = nn.Parameter(1)\n"
         "  def go(self): pass\n"
         "  def forward(self, x): self.m0(x); self.k(x); self.go(self.w)",
     "forward holder-call m0\nforward method k\nforward self go",
     "forward holder-call k\nforward holder-call go\n"
     "forward holder-call w"},
    {"call: an imported function that was set by its name",
     NEW "class ModelNew(nn.Module):\n"
         "  def __init__(self): setattr(self, 'f', torch.exp)\n"
         "  def forward(self, x): return self.f(x)",
     "forward call torch.exp", NULL},
    {"holder-call: a layer that an object of another kind keeps",
     NEW "class ModelNew(nn.Module):\n  def __init__(self):\n"
         "    self.box = nn.Module()\n    self.box.lin = nn.Linear(1, 2)\n"
         "    self.seq = nn.Sequential()\n    self.seq.top = nn.Linear(1, 2)\n"
         "  def forward(self, x): self.box.lin(x); self.seq.top(x)",
     "forward holder-call lin\nforward holder-call seq", NULL},
};

/* ---- things of this file under the name of a tensor's method --------------- */

#define OWN                                                         \
    NEW "class Own(nn.Module):\n  def forward(self, x): return x\n" \
        "def fun(x): return x\nclass ModelNew(nn.Module):\n"        \
        "  def forward(self, x): return self.norm(x)\n"             \
        "  def __init__(self, c):\n    "

static const struct facts_row own_names[] = {
    {"self: a module of this file", OWN "self.norm = Own()",
     "forward self norm", "forward method norm"},
    {"self: a choice of them, or none",
     OWN "self.norm = None\n    self.norm: object = Own() if c else None\n"
         "    a, self.norm = 1, Own().to(c)",
     "forward self norm", "forward method norm"},
    {"self: added by its name", OWN "self.add_module('norm', Own())",
     "forward self norm", "forward method norm"},
    {"self: a function of this file", OWN "self.norm = fun if c else Own()",
     "forward self norm", "forward method norm"},
    {"method: what is not assigned", OWN "self.other = Own()",
     "forward method norm", "forward self norm"},
    {"method: something that is not known", OWN "self.norm = c",
     "forward method norm", "forward self norm"},
    {"method: now and then something that is not known",
     OWN "self.norm = Own()\n    if c: self.norm = c.f()",
     "forward method norm", "forward self norm"},
    {"method: in whatever way it is assigned",
     OWN "self.norm = Own()\n    for self.norm in c: pass",
     "forward method norm", "forward self norm"},
    {"method: by a with statement",
     OWN "self.norm = Own()\n    with c as self.norm: pass",
     "forward method norm", "forward self norm"},
    {"method: by its name",
     OWN "self.norm = Own()\n    setattr(self, 'norm', c)",
     "forward method norm", "forward self norm"},
    {"method: none at all", OWN "self.norm = None", "forward method norm",
     "forward self norm"},
    {"method and holder-call: a layer of torch",
     OWN "self.norm = nn.LayerNorm(c)",
     "forward method norm\nforward holder-call norm", "forward self norm"},
    {"method: of a tensor that is kept under its own name",
     OWN "self.norm = c.norm", "forward method norm", "forward self norm"},
    {"method: where self is another thing in the end",
     NEW "class ModelNew(nn.Module):\n  def norm(self): pass\n"
         "  def forward(self, x):\n    self = x\n    return self.norm()",
     "forward method norm", "forward self norm"},
    {"self: a method by the name of its class",
     NEW "class Ops:\n  @staticmethod\n  def softmax(x): return x\n"
         "class ModelNew:\n  def forward(self, x): return Ops.softmax(x)",
     "forward self softmax", "forward method softmax"},
};

/* ---- methods and launches that are kept ------------------------------------ */

static const struct facts_row kept[] = {
    {"method: kept in a variable", "f = x.matmul\nreturn f(w)",
     "forward attr matmul\nforward method matmul", NULL},
    {"method: kept in a list, a tuple, a dictionary",
     "a = [x.softmax]\na[0](-1)\n(x.relu,)[0]()\n{'k': x.sum}['k']()\n"
     "d = {}\nd['m'] = x.mean\nd.get('m')()\nb = []\nb.append(x.exp)\n"
     "b.pop()()",
     "forward method softmax\nforward method relu\nforward method sum\n"
     "forward method mean\nforward method exp",
     NULL},
    {"method: in a loop and a comprehension",
     "for f in (x.exp, x.sin): f()\n[g() for g in [x.cos]]\n"
     "for i, h in enumerate([x.tan]): h()",
     "forward method exp\nforward method sin\nforward method cos\n"
     "forward method tan",
     NULL},
    {"method: out of a choice, a tuple, a walrus, a with",
     "(x.exp if w else x.sin)()\nf, g = x.cos, x.tan\ng()\n"
     "(h := x.abs)()\nwith open(x.neg) as i: i()",
     "forward method exp\nforward method sin\nforward method tan\n"
     "forward method abs",
     "forward method cos"},
    {"method: passed to a function, returned by one",
     "def run(g, n, *r, **k): r[0](); k['q'](); return g(n)\n"
     "def get(y): return y.bmm\n"
     "run(x.matmul, w, x.exp, q=x.sin)\nget(x)(w)",
     "forward method matmul\nforward method exp\nforward method sin\n"
     "forward method bmm",
     NULL},
    {"method: called by a built-in or by functools",
     "import functools\nlist(map(x.matmul, w))\n"
     "functools.partial(x.bmm)(w)\nfunctools.reduce(x.add, w)",
     "forward method matmul\nforward method bmm\nforward method add", NULL},
    {"method: kept in an attribute", "self.f = x.matmul\nreturn self.f(w)",
     "forward method matmul\nforward method f", NULL},
    {"no method: what is only read",
     "m = self.max\ns = [self.mean, x.std]\nn = m + s[0]\n"
     "def run(g, n): return g[n](n)\n"
     "run(k, self.max)\nf = k if self.min else w\nreturn f(x)",
     "forward attr max\nforward attr mean",
     "forward method max\nforward method mean\nforward method std\n"
     "forward method min"},
    {"no method: one of this file's own", "f = self.forward\nf(x)", NULL,
     "forward method forward"},
    {"launch: through a variable", "run = k[(1,)]\nrun(x)", "forward launch k",
     NULL},
    {"launch: through an attribute", "self.r = k[1]\nself.r(x)",
     "forward launch k", NULL},
    {"launch: through a list", "for r in [k[2]]: r(x)", "forward launch k",
     NULL},
    {"launch: through a function", "def get(g): return k[g]\nget(4)(x)",
     "forward launch k", NULL},
    {"no launch: a grid that is never used", "run = k[(1,)]\nx[0]", NULL,
     "forward launch k"},
};

void suite_py_kept(void)
{
    ROWS(stored_by_name, PLACE_FILE);
    ROWS(own_names, PLACE_FILE);
    ROWS(kept, PLACE_FORWARD);
}
