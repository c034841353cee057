/* test_py_facts.c: the facts view, a claim for each promise of docs/PACKS.md:
 * kinds, aliases, scoping, contexts, and what no input may do to it. */
#include "facts_check.h"
#include "tap.h"

#include "base/buf.h"

#include <stdio.h>
#include <string.h>

void suite_py_facts(void);

#define ROWS(rows, place) \
    facts_rows(rows, sizeof(rows) / sizeof((rows)[0]), place)

/* ---- the table of kinds ---------------------------------------------------- */

static const struct facts_row kinds_in_forward[] = {
    {"call: by the full name", "return F.relu(x)",
     "forward call torch.nn.functional.relu", NULL},
    {"call: a built-in", "exec('x')", "forward call exec", NULL},
    {"call: a parameter", "return w(x)", "forward call w", NULL},
    {"call: getattr says what it looks into", "getattr(torch, 'matmul')",
     "forward call getattr torch\nforward use torch", "forward call getattr"},
    {"call: setattr on self", "setattr(self, 'a', x)",
     "forward call setattr self", NULL},
    {"call: vars of a module and of nothing", "vars(torch.nn); vars()",
     "forward call vars torch.nn\nforward call vars", NULL},
    {"call: getattr on a value says no more", "getattr(x, 'sum')",
     "forward call getattr", NULL},
    {"use: an imported name that is not called", "return x.to(torch.float16)",
     "forward use torch.float16", "forward call torch.float16"},
    {"use: a module by itself", "y = [torch]", "forward use torch", NULL},
    {"use: not of a module whose attribute is taken", "torch.exp(x)",
     "forward call torch.exp", "forward use torch"},
    {"use: a built-in that is not called", "return map(eval, x)",
     "forward use eval\nforward call map", NULL},
    {"use: a subscript is a use", "torch.ops['aten']", "forward use torch.ops",
     NULL},
    {"set: assignment", "torch.cuda.Event.record = x",
     "forward set torch.cuda.Event.record", "forward use torch.cuda.Event"},
    {"set: augmented assignment", "torch.x += 1", "forward set torch.x", NULL},
    {"set: deletion", "del torch.x", "forward set torch.x", NULL},
    {"set: an item", "torch.__dict__['relu'] = x", "forward set torch.__dict__",
     "forward use torch.__dict__"},
    {"set: several targets, a loop, a with",
     "torch.a = y = torch.b = x\n"
     "for torch.c in x: pass\n"
     "with x as torch.d: pass",
     "forward set torch.a\nforward set torch.b\nforward set torch.c\n"
     "forward set torch.d",
     NULL},
    {"method: of a value", "return x.softmax(-1)", "forward method softmax",
     "forward attr softmax"},
    {"method: of any expression", "return (x + w).softmax(-1)",
     "forward method softmax", NULL},
    {"method: of a literal", "return ','.join(x)", "forward method join", NULL},
    {"self: a method of the class", "return self.forward(x, w)",
     "forward self forward", "forward method forward"},
    {"self: not what the class does not define", "return self.relu(x)",
     "forward method relu", "forward self relu"},
    {"attr: a read", "return x.shape", "forward attr shape", NULL},
    {"attr: not a write", "x.grad = None", NULL, "forward attr grad"},
    {"attr and method in a chain", "return x.a.b(w)",
     "forward attr a\nforward method b", "forward attr b\nforward method a"},
    {"a chain goes on behind a call",
     "return torch.nn.functional.relu(x).sum()",
     "forward call torch.nn.functional.relu\nforward method sum", NULL},
    {"super() is a call, and its forward a method", "return super().forward(x)",
     "forward call super\nforward method forward", NULL},
    {"launch: by name", "k[(1,)](x)", "forward launch k", "forward call k"},
    {"launch: by an alias", "j = k\nj[(1,)](x)", "forward launch k",
     "forward launch j"},
    {"launch: by an attribute", "self.kernel[(1,)](x)", "forward launch kernel",
     NULL},
    {"launch: not a list of layers", "self.lin[0](x)", NULL,
     "forward launch lin"},
    {"opens: a with statement over a kernel opener",
     "with lang.core.Kernel(1) as (a, b): pass",
     "forward opens lang.core.Kernel", NULL},
    {"opens: in parentheses, by an alias",
     "K = lang.core.Kernel\nwith (x, K(1) as b): pass",
     "forward opens lang.core.Kernel", NULL},
    {"opens: not a plain call", "lang.core.Kernel(1)", NULL,
     "forward opens lang.core.Kernel"},
    {"try: other", "try:\n    y = 1\nexcept Exception:\n    pass",
     "forward try other\nforward use Exception", NULL},
    {"op: matrix product", "return x @ w", "forward op @", NULL},
    {"op: matrix product in place", "x @= w", "forward op @", NULL},
    {"op: arithmetic with a parameter of forward", "return x + 1",
     "forward op arith", NULL},
    {"op: arithmetic from the other side", "return 2 ** x", "forward op arith",
     NULL},
    {"op: arithmetic in place", "x //= 2", "forward op arith", NULL},
    {"op: a minus sign", "return -x", "forward op arith", NULL},
    {"op: through parentheses", "return 1 - (x)", "forward op arith", NULL},
    {"op: not with what is made of it",
     "n = x.numel() * 2 + x.shape[0] // 4\nreturn f(*w, **x)", NULL,
     "forward op arith"},
    {"op: not formatting", "return 'a %s' % x", NULL, "forward op arith"},
    {"callresult: getattr called at once",
     "return getattr(torch, 'matmul')(x, w)",
     "forward callresult getattr\nforward call getattr torch", NULL},
    {"callresult: not getattr with a name", "f = getattr(x, 'n')\nf(x)", NULL,
     "forward callresult getattr"},
    {"subclass: type with three arguments", "type('C', (torch.Tensor,), {})",
     "forward subclass type\nforward call type\nforward use torch.Tensor",
     NULL},
    {"subclass: not type with one", "type(x)", "forward call type",
     "forward subclass type"},
};

static const struct facts_row kinds_in_file[] = {
    {"import: by module", "import a.b\nimport c as d\nfrom e.f import g, h",
     "module import a.b\nmodule import c\nmodule import e.f", NULL},
    {"import: everything", "from a.b import *", "module import a.b.*", NULL},
    {"import: relative",
     "from .a import b\nfrom . import c\nfrom ...d.e import f",
     "module import .a\nmodule import .\nmodule import ...d.e", NULL},
    {"import: a relative name is not an absolute one",
     "from .torch import exp\nexp(1)", "module call .torch.exp",
     "module call torch.exp"},
    {"import: several in parentheses",
     "from a import (\n  b,\n  c as d,\n)\nd()", "module call a.c", NULL},
    {"def: one line for a decorator each",
     "import lang\n@lang.tune(1)\n@lang.jit\ndef k(): pass\nk()",
     "kernel def k @lang.tune\nkernel def k @lang.jit\nmodule call lang.tune\n"
     "module use lang.jit",
     "kernel def k"},
    {"def: the bare name without one",
     "def f(): pass\nf()\nclass ModelNew: pass", "module def f", NULL},
    {"def: a decorator that is not imported", "@app.route('/')\ndef f(): pass",
     "forward def f @app.route", NULL},
    {"class: with its resolved bases",
     "from torch import nn\nclass A: pass\n"
     "class ModelNew(nn.Module, A, metaclass=M): pass",
     "module class A()\n"
     "module class ModelNew(torch.nn.Module,A,metaclass=M)",
     NULL},
    {"class: bases that are expressions", "class A(f(), g[int], *h): pass",
     "module class A(f,g,?)", NULL},
    {"bind: an assignment to the name of a class",
     "class A: pass\nA = 1\nModelNew = A\nB = 2",
     "module bind A\nmodule bind ModelNew", "module bind B"},
    {"bind: an import, a loop, a global",
     "import a as ModelNew\nfor ModelNew in x: pass\n"
     "def f():\n    global ModelNew\n    ModelNew = 1",
     "module bind ModelNew\nforward bind ModelNew", NULL},
    {"bind: not a local name", "def f():\n    ModelNew = 1", NULL,
     "forward bind ModelNew"},
    {"try: import",
     "try:\n    import a\n    from b import c\n    HAS = True\nexcept "
     "ImportError:\n    HAS = False",
     "module try import", NULL},
    {"try: not when it does more",
     "try:\n    import a\n    f()\nexcept E: pass", "module try other",
     "module try import"},
    {"try: not when it holds a block",
     "try:\n    import a\n    if a: b = 1\nfinally: pass", "module try other",
     "module try import"},
    {"try: not in a function",
     "def f():\n    try: import a\n    except E: pass", "forward try other",
     "forward try import"},
    {"try: on one line", "try: import a\nexcept E: a = None",
     "module try import", NULL},
    {"build: of literals", "import helper\nhelper.build('int x;')",
     "module build literal\nmodule call helper.build", NULL},
    {"build: of something else", "import helper\nhelper.build(read())",
     "module build computed", "module build literal"},
};

/* ---- aliases --------------------------------------------------------------- */

static const struct facts_row aliases[] = {
    {"import … as", "import torch as t\nt.exp(1)", "module call torch.exp",
     NULL},
    {"import a.b.c binds a", "import a.b.c\na.b.c.d()", "module call a.b.c.d",
     NULL},
    {"import a.b.c as d binds all of it", "import a.b.c as d\nd.e()",
     "module call a.b.c.e", NULL},
    {"from … import … as", "from torch.nn import functional as G\nG.relu(1)",
     "module call torch.nn.functional.relu", NULL},
    {"a simple alias: the use where it is made, the call where it is called",
     "import torch\nmm = torch.matmul\nmm(1)",
     "module use torch.matmul\nmodule call torch.matmul", "module call mm"},
    {"a chain of them, in any order",
     "import torch\ndef f(): c(1)\nb = a.nn\nc = b.functional.relu\na = torch",
     "forward call torch.nn.functional.relu", NULL},
    {"an alias that is handed on is a use",
     "import torch\nmm = torch.matmul\ndef f(x): return reduce(mm, x)",
     "forward use torch.matmul", NULL},
    {"a walrus", "import torch\n(m := torch.matmul)(1)\nm(2)",
     "module call torch.matmul", "module call m"},
    {"a tuple of aliases, each with its own",
     "import torch\na, b = torch.matmul, 1\na(1)\nb(1)",
     "module use torch.matmul\nmodule call torch.matmul\nmodule call b",
     "module call a"},
    {"a choice has both meanings",
     "import torch\nm = torch.mm if torch.x else torch.bmm\nm(1)",
     "module call torch.mm\nmodule call torch.bmm", "module call torch.x"},
    {"a sum has none", "import torch\ny = torch.pi + 1\ny.f()",
     "module method f", "module call torch.pi.f"},
    {"several bindings, all meanings",
     "try:\n    from a import f\nexcept E:\n    from b import f\nf(1)",
     "module call a.f\nmodule call b.f", NULL},
    {"parentheses change nothing",
     "import torch\n(torch).exp(1)\n(torch.sin)(1)\n((torch).nn).x",
     "module call torch.exp\nmodule call torch.sin\nmodule use torch.nn.x",
     "module use torch"},
    {"nor do blanks and line joins",
     "import torch\ntorch . exp (1)\ntorch\\\n.sin(1)\n(torch\n.cos(1))",
     "module call torch.exp\nmodule call torch.sin\nmodule call torch.cos",
     NULL},
    {"an attribute of self",
     "import torch\nclass A:\n  def __init__(self): self.f = torch.matmul\n"
     "  def g(self, x): return self.f(x)",
     "forward use torch.matmul\nforward method f\nforward call torch.matmul",
     NULL},
    {"an attribute of the class",
     "import torch\nclass A:\n  f = torch.matmul\n"
     "  def g(self, x): return self.f(x)",
     "forward call torch.matmul", NULL},
    {"of a base class in this file",
     "import torch\nclass B:\n  def g(self, x): return self.f(x)\n"
     "class A(B):\n  def h(self): self.f = torch.matmul",
     "forward call torch.matmul", NULL},
    {"not of another class",
     "import torch\nclass B:\n  def g(self, x): return self.f(x)\n"
     "class A:\n  def h(self): self.f = torch.matmul",
     NULL, "forward call torch.matmul"},
    {"a default value", "import torch\ndef g(x, f=torch.matmul): f(x)",
     "forward call torch.matmul\nmodule use torch.matmul", NULL},
    {"an alias of a built-in", "e = exec\ndef f(): e('1')",
     "module use exec\nforward call exec", NULL},
    {"built-ins by their module",
     "import builtins as b\nfrom builtins import exec as e\n"
     "b.getattr(b, 'x')\ne('1')",
     "module call getattr builtins\nmodule call exec", NULL},
    {"torch inside torch is torch",
     "import torch\ntorch.nn.functional.torch.exp(1)", "module call torch.exp",
     NULL},
    {"a name that follows itself ends",
     "import a\ndef f():\n  global a\n  a = a.b\na.c()",
     "module call a.c\nmodule call a.b.c", "module limit aliases"},
    {"names that follow each other end",
     "import a\nb = a.x\na = b.y\nb = a.z\nb()", "module call a.x",
     "module limit aliases"},
    {"normalised identifiers", "import torch\n\xef\xbd\x94orch.exp(1)",
     "module call torch.exp", NULL},
    {"in an f-string", "import torch\nf'{torch.exp(1)!r:>{torch.sin(2)}}'",
     "module call torch.exp\nmodule call torch.sin", "module use r"},
};

/* ---- scopes ---------------------------------------------------------------- */

static const struct facts_row scopes[] = {
    {"a parameter hides an import", "import torch\ndef f(torch): torch.exp(1)",
     "forward method exp", "forward call torch.exp"},
    {"so does any binding in the function, wherever it stands",
     "import torch\ndef f():\n  torch.exp(1)\n  for torch in x: pass",
     "forward method exp", "forward call torch.exp"},
    {"with, except, import, def, class, del, walrus bind",
     "import a, b, c, d, e, g, h\n"
     "def f():\n"
     "  with x as a: a.p()\n"
     "  try: pass\n"
     "  except E as b: b.p()\n"
     "  import q as c\n"
     "  c.p()\n"
     "  def d(): pass\n"
     "  d.p()\n"
     "  class e: pass\n"
     "  e.p()\n"
     "  if (g := 1): g.p()\n"
     "  del h\n"
     "  h.p()",
     "forward call q.p",
     "forward call a.p\nforward call b.p\nforward call c.p\nforward call d.p\n"
     "forward call e.p\nforward call g.p\nforward call h.p"},
    {"captures of a match bind, dotted patterns do not",
     "import a, b, c\n"
     "def f(x):\n"
     "  match x:\n"
     "    case [a, {'k': b}]: a.p(); b.p()\n"
     "    case c.V: c.p()",
     "forward call c.p\nforward use c.V", "forward call a.p\nforward call b.p"},
    {"match is also a name", "import re\nmatch = re.match\nmatch(1)",
     "module call re.match", NULL},
    {"global reaches the module",
     "import torch\ndef f(torch):\n  def g():\n    global torch\n"
     "    torch.exp(1)",
     "forward call torch.exp", NULL},
    {"a global assignment is an alias for all",
     "import torch\ndef f():\n  global m\n  m = torch.exp\ndef g(): m(1)",
     "forward call torch.exp", NULL},
    {"nonlocal reaches the function round it",
     "import torch\ndef f():\n  m = 1\n  def g():\n    nonlocal m\n"
     "    m = torch.exp\n  m(1)",
     "forward call torch.exp", NULL},
    {"a comprehension has its own variables",
     "import torch\n[torch.exp(1) for torch in x]\ntorch.sin(1)",
     "module method exp\nmodule call torch.sin", "module call torch.exp"},
    {"but its first iterable is outside",
     "import torch\n[1 for torch in torch.exp(1)]", "module call torch.exp",
     NULL},
    {"a walrus in a comprehension is outside",
     "import torch\n[(m := torch.exp) for y in x]\nm(1)",
     "module call torch.exp", NULL},
    {"lambda parameters hide, and only inside",
     "import torch\nf = (lambda torch: torch.exp(1), torch.sin(1))",
     "module call torch.sin\nforward method exp", "forward call torch.exp"},
    {"a lambda ends at else",
     "import torch\ny = (1 if (lambda torch=1: 2) else 3) or "
     "(lambda torch: 2 if 3 else 4, torch.exp(1))",
     "module call torch.exp", NULL},
    {"the names of a class body are not seen by its functions",
     "import torch\nclass A:\n  torch = 1\n  def f(self): torch.exp(1)",
     "forward call torch.exp", NULL},
    {"but by the class body itself",
     "import torch\nclass A:\n  torch = 1\n  torch.exp(1)", "module method exp",
     "module call torch.exp"},
    {"an import in a function is local",
     "def f():\n  import torch\n  torch.exp(1)\ndef g(): torch.exp(1)",
     "forward call torch.exp\nforward method exp\nforward use torch", NULL},
    {"an annotation without a value binds",
     "import torch\ndef f():\n  torch: int\n  torch.exp(1)",
     "forward method exp", "forward call torch.exp"},
    {"unless it is in parentheses",
     "import torch\ndef f():\n  (torch): int\n  torch.exp(1)",
     "forward call torch.exp", "forward method exp"},
    {"keyword names are no names", "import torch\nf(torch=1)", NULL,
     "module use torch"},
    {"type parameters and annotations",
     "import torch\ndef f[T: torch.a](x: torch.b = torch.c) -> torch.d: pass",
     "module use torch.b\nmodule use torch.c\nmodule use torch.d",
     "module use T"},
};

/* ---- contexts -------------------------------------------------------------- */

#define NEW "import torch, lang\nfrom torch import nn\n"

static const struct facts_row contexts[] = {
    {"module: top level, class bodies, decorators, default values",
     NEW "torch.a()\nclass ModelNew:\n  b = torch.b()\n"
         "  @torch.c()\n  def f(self, d=torch.d(), e: torch.e() = 1): pass",
     "module call torch.a\nmodule call torch.b\nmodule call torch.c\n"
     "module call torch.d\nmodule call torch.e",
     NULL},
    {"init, forward, and what they reach",
     NEW "def a(): torch.a()\ndef b(): a(); torch.b()\n"
         "class ModelNew:\n  def __init__(self): a()\n"
         "  def forward(self): b()",
     "init def __init__\nforward def forward\nforward call torch.a\n"
     "forward call torch.b",
     NULL},
    {"init: what only __init__ reaches",
     NEW "def a(): torch.a()\nclass ModelNew:\n  def __init__(self): a()",
     "init call torch.a\ninit def a", NULL},
    {"module: what only the module calls",
     NEW "def a(): torch.a()\na()\nclass ModelNew: pass",
     "module call torch.a\nmodule def a", NULL},
    {"dead: what nothing reaches",
     NEW "def a(): torch.a()\nclass Model:\n  def forward(self): torch.b()\n"
         "class ModelNew: pass",
     "dead call torch.a\ndead def a\ndead call torch.b\ndead def forward",
     NULL},
    {"dead: a kernel that is never launched, with its helpers",
     NEW "@lang.jit\ndef h(): lang.b()\n@lang.jit\ndef k(): lang.a(); h()\n"
         "class ModelNew:\n  def forward(self): pass",
     "dead def k @lang.jit\ndead call lang.a\ndead def h @lang.jit", NULL},
    {"kernel: one that is, and what it calls",
     NEW "def h(): lang.b()\n@lang.jit\ndef k(): lang.a(); h()\n"
         "class ModelNew:\n  def forward(self, x): k[1](x)",
     "kernel def k @lang.jit\nkernel call lang.a\nkernel call lang.b", NULL},
    {"kernel: from __init__ and from the module, too",
     NEW "@lang.jit\ndef k(): lang.a()\n@lang.jit\ndef j(): lang.b()\nj[1]()\n"
         "class ModelNew:\n  def __init__(self): self.k = lang.compile(k)",
     "kernel def k @lang.jit\nkernel def j @lang.jit", NULL},
    {"kernel: a helper that host code calls as well is forward",
     NEW "def h(): lang.b()\n@lang.jit\ndef k(): h()\n"
         "class ModelNew:\n  def forward(self, x): k[1](x); h()",
     "forward call lang.b", NULL},
    {"kernel: functions inside it",
     NEW "@lang.jit\ndef k():\n  def g(): lang.a()\n"
         "class ModelNew:\n  def forward(self, x): k[1](x)",
     "kernel call lang.a", NULL},
    {"kernel: a called decorator, an alias of one",
     "from lang import jit as j\n@j(debug=True)\ndef k(): pass\n@j\n"
     "def l(): pass\nclass ModelNew:\n  def f(self): k[1](); l[1]()",
     "kernel def k @lang.jit\nkernel def l @lang.jit", NULL},
    {"kernel: a decorator used as a function",
     NEW "def k(): lang.a()\nj = lang.jit(k)\nclass ModelNew:\n"
         "  def forward(self): j[1]()",
     "kernel call lang.a", NULL},
    {"kernel: but not if the function is called besides",
     NEW "def k(): lang.a()\nj = lang.jit(k)\nclass ModelNew:\n"
         "  def forward(self): k()",
     "forward call lang.a", NULL},
    {"kernel: made in a factory that __init__ calls",
     NEW "def make(n):\n  @lang.jit\n  def k(): lang.a()\n  return k\n"
         "class ModelNew:\n  def __init__(self): self.k = make(1)",
     "kernel def k @lang.jit\nkernel call lang.a\ninit def make", NULL},
    {"forward: a lambda made in init code",
     NEW "class ModelNew:\n  def __init__(self): self.f = lambda: lang.a()",
     "forward call lang.a", NULL},
    {"forward: a function of init code that is kept",
     NEW "class ModelNew:\n  def __init__(self):\n    def g(): lang.a()\n"
         "    self.f = g",
     "forward call lang.a", NULL},
    {"init: a function of init code that only it calls",
     NEW "class ModelNew:\n  def __init__(self):\n    def g(): lang.a()\n"
         "    g()",
     "init call lang.a", "forward call lang.a"},
    {"init: a method that only the constructor calls",
     NEW "class ModelNew:\n  def __init__(self): self.make()\n"
         "  def make(self): lang.a()\n  def forward(self, x): pass",
     "init call lang.a", "forward call lang.a"},
    {"forward: a method that nothing calls",
     NEW "class ModelNew:\n  def other(self): lang.a()", "forward call lang.a",
     NULL},
    {"forward: a function that __init__ keeps",
     NEW "def a(): torch.a()\nclass ModelNew:\n"
         "  def __init__(self): self.f = a",
     "forward call torch.a", NULL},
    {"forward: a function that the module keeps",
     NEW "def a(): torch.a()\nT = {'a': a}\nclass ModelNew: pass",
     "forward call torch.a", NULL},
    {"forward: a function that a decorator of this file may keep",
     NEW "T = []\ndef keep(f): T.append(f)\n@keep\ndef a(): torch.a()\n"
         "class ModelNew: pass",
     "forward call torch.a\nmodule def keep", NULL},
    {"forward: a property",
     NEW "class ModelNew:\n  @property\n  def p(self): return torch.a()\n"
         "  def forward(self): return self.p",
     "forward call torch.a", NULL},
    {"forward: the methods of a base class in this file",
     NEW "class Base:\n  def __init__(self): torch.a()\n"
         "  def forward(self): torch.b()\nB = Base\nclass ModelNew(B): pass",
     "init call torch.a\nforward call torch.b", NULL},
    {"forward: a class that forward mentions, with all its methods",
     NEW "class Fn(torch.autograd.Function):\n"
         "  @staticmethod\n  def forward(ctx, x): torch.a()\n"
         "  @staticmethod\n  def backward(ctx, g): torch.b()\n"
         "class ModelNew:\n  def forward(self, x): return Fn.apply(x)",
     "forward call torch.a\nforward call torch.b\nforward method apply", NULL},
    {"forward: a module of this file that is made in __init__ and called",
     NEW "class Block(nn.Module):\n  def __init__(self): torch.a()\n"
         "  def forward(self, x): torch.b()\n"
         "class ModelNew:\n  def __init__(self): self.b = Block()\n"
         "  def forward(self, x): return self.b(x)",
     "init call torch.a\nforward call torch.b\nforward self b",
     "forward holder-call b\nforward method b"},
    {"init: its forward, if it is never called",
     NEW "class Block(nn.Module):\n  def forward(self, x): torch.b()\n"
         "class ModelNew:\n  def __init__(self): self.b = Block()\n"
         "  def forward(self, x): return self.b.weight",
     "init call torch.b", "forward call torch.b"},
    {"forward: in a list of them, too",
     NEW "class Block(nn.Module):\n  def forward(self, x): torch.b()\n"
         "class ModelNew:\n"
         "  def __init__(self): self.bs = nn.ModuleList([Block()])\n"
         "  def forward(self, x):\n    for b in self.bs: x = b(x)",
     "forward call torch.b", "forward holder-call b"},
    {"forward: operators of an object made in __init__",
     NEW "class W:\n  def __init__(self): torch.a()\n"
         "  def __add__(self, o): torch.b()\n"
         "class ModelNew:\n  def __init__(self): self.w = W()",
     "init call torch.a\nforward call torch.b", NULL},
    {"forward: a method called on a value",
     NEW "class H:\n  def run(self): torch.a()\n"
         "class ModelNew:\n  def __init__(self): self.h = H()\n"
         "  def forward(self, x): return [h.run() for h in x]",
     "forward call torch.a", NULL},
    {"dead: a method of that name of a class nobody uses",
     NEW "class H:\n  def run(self): torch.a()\n"
         "class ModelNew:\n  def forward(self, x): return x.run()",
     "dead call torch.a", NULL},
    {"super().__init__ in a class that forward makes leaves ModelNew's alone",
     NEW "class H(nn.Module):\n  def __init__(self): super().__init__()\n"
         "class ModelNew(nn.Module):\n"
         "  def __init__(self): super(ModelNew, self).__init__(); torch.a()\n"
         "  def forward(self, x): return H()",
     "init call torch.a\nforward method __init__", "forward call torch.a"},
    {"a static method by the class's name reaches no more than itself",
     NEW "class ModelNew:\n  def __init__(self): torch.a()\n"
         "  @staticmethod\n  def s(x): pass\n"
         "  def forward(self, x): return ModelNew.s(x)",
     "init call torch.a", "forward call torch.a"},
    {"a class in an annotation is not in use",
     NEW "class H:\n  def __add__(self, o): torch.a()\n"
         "class ModelNew:\n  def forward(self, x: H): return x",
     "dead call torch.a", NULL},
    {"without a class ModelNew every function is forward",
     NEW "def a(): torch.a()\nclass Model:\n  def forward(self): torch.b()\n"
         "@lang.jit\ndef k(): lang.a()",
     "forward call torch.a\nforward call torch.b\nkernel call lang.a", NULL},
    {"ModelNew in a conditional block is ModelNew",
     NEW "if torch.x:\n  class ModelNew:\n    def __init__(self): torch.a()",
     "init call torch.a", NULL},
    {"op @ is host code's", NEW "@lang.jit\ndef k(a, b): return a @ b\nk[1]()",
     NULL, "kernel op @"},
};

/* A file that is imported is not the main program. */
static const struct facts_row scripts[] = {
    {"what only the main program does gives no facts",
     NEW "def a(): torch.a()\nif __name__ == '__main__':\n"
         "  import sys\n  a(); torch.b(); exec('1')\n"
         "  def c(): torch.c()\n  c()\n  try: pass\n  finally: x = y @ z\n"
         "class ModelNew: pass",
     "dead call torch.a\nmodule class ModelNew()",
     "module call torch.b\ndead call torch.b\nmodule import sys\n"
     "dead import sys\nmodule call exec\ndead call exec\n"
     "forward call torch.c\nmodule call torch.c\nmodule try other\n"
     "dead try other\nmodule op @"},
    {"in either order, in any quotes, on one line",
     NEW "if \"\"\"__main__\"\"\" == __name__: torch.a(); torch.b()\n"
         "torch.c()",
     "module call torch.c", "module call torch.a\nmodule call torch.b"},
    {"the other branches run",
     NEW "if __name__ == '__main__':\n  torch.a()\n"
         "elif torch.q():\n  torch.b()\nelse:\n  torch.c()",
     "module call torch.q\nmodule call torch.b\nmodule call torch.c",
     "module call torch.a"},
    {"a file that binds __name__ may be anything",
     NEW "__name__ = '__main__'\nif __name__ == '__main__': torch.a()",
     "module call torch.a", NULL},
    {"wherever it does so",
     NEW "if __name__ == '__main__':\n  torch.a()\n  def b(): torch.b()\n"
         "  b()\ndef f():\n  global __name__\n  for __name__ in x: pass\n"
         "class ModelNew: pass",
     "module call torch.a\nmodule call torch.b", NULL},
    {"any other test counts",
     NEW "if __name__ != '__main__': torch.a()\n"
         "if __name__ == '__main__' or torch: torch.b()\n"
         "if (__name__ == '__main__'): torch.c()\n"
         "if __name__ == b'__main__': torch.d()\n"
         "if __name__ == '__main__2': torch.e()\n"
         "if not __name__ == '__main__': torch.f()\n"
         "while __name__ == '__main__': torch.g()\n"
         "if __name__ == f'__main__': torch.h()",
     "module call torch.a\nmodule call torch.b\nmodule call torch.c\n"
     "module call torch.d\nmodule call torch.e\nmodule call torch.f\n"
     "module call torch.g\nmodule call torch.h",
     NULL},
    {"inside a function or class it is code like any other",
     NEW "def f():\n  if __name__ == '__main__': torch.a()\n"
         "class A:\n  if __name__ == '__main__': torch.b()",
     "forward call torch.a\nmodule call torch.b", NULL},
    {"it gives no meaning to a name",
     NEW "if __name__ == '__main__':\n  eval = m = torch.exp\n"
         "  def g(l): l(1)\n  g(nn.Linear(1, 2))\n  h(nn.Linear(1, 2))\n"
         "def h(l): l(1)\n"
         "class ModelNew:\n"
         "  def forward(self, x): return map(eval, h(m(x)))",
     "forward use eval\nforward call m",
     "forward call torch.exp\nforward holder-call l"},
    {"ModelNew must be there when the file is imported",
     NEW "if __name__ == '__main__':\n  class ModelNew: pass", NULL,
     "module class ModelNew()\ndead class ModelNew()"},
};

/* ---- holders --------------------------------------------------------------- */

static const struct facts_row holders[] = {
    {"holder-call: self.lin(x)", "return self.lin(x)",
     "forward holder-call lin\nforward method lin", NULL},
    {"holder-call: forward and __call__",
     "self.lin.forward(x)\nself.lin.__call__(x)", "forward holder-call lin",
     NULL},
    {"holder-call: an alias", "f = self.lin\nreturn f(x)",
     "forward holder-call f", NULL},
    {"holder-call: an alias of its forward", "f = self.lin.forward\nf(x)",
     "forward holder-call f", NULL},
    {"holder-call: passed to a function",
     "def g(m, y): return m(y)\nreturn g(self.lin, x)", "forward holder-call m",
     NULL},
    {"holder-call: passed by name",
     "def g(y, m): return m(y)\nreturn g(m=self.lin, y=x)",
     "forward holder-call m", NULL},
    {"holder-call: passed with map",
     "return list(map(lambda l: l(x), [self.lin]))", "forward holder-call l",
     NULL},
    {"holder-call: made and called at once", "return nn.ReLU()(x)",
     "forward holder-call ReLU\nforward call torch.nn.ReLU", NULL},
    {"holder-call: out of a choice", "return (self.lin or w)(x)",
     "forward holder-call ?", NULL},
    {"no call: reading weights",
     "return g(self.lin.weight, self.lin.bias, self.lin.eps)",
     "forward attr lin\nforward attr weight", "forward holder-call lin"},
    {"no call: passing it to a function that reads it",
     "def g(m): return m.weight\nreturn g(self.lin)", NULL,
     "forward holder-call m"},
};

static const struct facts_row holders_in_file[] = {
    {"holder-call: lists, loops, enumerate, zip, items, subscripts",
     NEW "class ModelNew(nn.Module):\n"
         "  def __init__(self):\n"
         "    self.a = nn.ModuleList([nn.ReLU() for _ in range(3)])\n"
         "    self.d = {'k': nn.Linear(1, 2)}\n"
         "    self.s = nn.Sequential(nn.ReLU(), nn.GELU())\n"
         "    ls = []\n"
         "    ls.append(nn.Tanh())\n"
         "    self.t = ls\n"
         "  def forward(self, x):\n"
         "    for p in self.a: x = p(x)\n"
         "    for i, q in enumerate(self.a): x = q(x)\n"
         "    for r, s in zip(x, self.a): x = s(x)\n"
         "    for _, t in self.d.items(): x = t(x)\n"
         "    [u(x) for u in self.t]\n"
         "    self.a[0](x); self.s(x)\n",
     "forward holder-call p\nforward holder-call q\nforward holder-call s\n"
     "forward holder-call t\nforward holder-call u\nforward holder-call a",
     "forward launch a"},
    {"holder-call: moved to a device, wrapped, returned by a function",
     NEW "import copy\ndef make(): return nn.Linear(1, 2)\n"
         "class ModelNew(nn.Module):\n  def __init__(self):\n"
         "    self.a = nn.Linear(1, 2).cuda().half()\n"
         "    self.b = nn.utils.weight_norm(nn.Linear(1, 2))\n"
         "    self.c = make()\n"
         "    self.d, self.e = nn.ReLU(), 1\n"
         "    self.f = copy.deepcopy(self.a)\n"
         "  def forward(self, x):\n"
         "    self.a(x); self.b(x); self.c(x); self.d(x); self.f(x)",
     "forward holder-call a\nforward holder-call b\nforward holder-call c\n"
     "forward holder-call d\nforward holder-call f",
     NULL},
    {"holder-call: in a base class, through self, in another object",
     NEW "def run(m, x): return m.lin(x)\n"
         "class Base(nn.Module):\n  def go(self, x): return self.lin(x)\n"
         "class Box:\n  def __init__(self, l): self.inner = l\n"
         "class ModelNew(Base):\n  def __init__(self):\n"
         "    self.lin = nn.Linear(1, 2)\n    self.box = Box(self.lin)\n"
         "  def forward(self, x):\n    run(self, x)\n    self.box.inner(x)",
     "forward holder-call lin\nforward holder-call inner", NULL},
    {"no holder: parameters and modules",
     NEW "class ModelNew(nn.Module):\n  def __init__(self):\n"
         "    self.p = nn.Parameter(torch.ones(1))\n"
         "    self.l = nn.ParameterList([self.p])\n    self.m = nn.Module()\n"
         "  def forward(self, x): self.p(x); self.l[0](x); self.m(x)",
     "forward method p",
     "forward holder-call p\nforward holder-call l\nforward holder-call m"},
    {"no holder: another class's attribute of that name",
     NEW "class Model(nn.Module):\n"
         "  def __init__(self): self.conv = nn.Conv2d(1, 2, 3)\n"
         "class ModelNew(nn.Module):\n"
         "  def __init__(self): self.conv = lang.compile(1)\n"
         "  def forward(self, x): return self.conv(x)",
     "forward method conv", "forward holder-call conv"},
    {"no holder: a function of a built library with a layer's name",
     NEW "import helper\next = helper.build('x')\nclass ModelNew(nn.Module):\n"
         "  def __init__(self): self.linear = nn.Linear(1, 2)\n"
         "  def forward(self, x): return ext.linear(x, self.linear.weight)",
     "forward method linear", "forward holder-call linear"},
};

/* ---- any input ------------------------------------------------------------- */

static char *repeat(const char *piece, size_t bytes, const char *tail)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    while (b.len < bytes)
        buf_puts(&b, piece);
    buf_puts(&b, tail);
    return buf_take(&b, NULL);
}

static void test_soup(void)
{
    static const char *const soup[] = {
        "",
        "\n",
        "def",
        "def f",
        "def f(",
        "def f(a",
        "def f(a=",
        "class",
        "class A(",
        "class A(B",
        "@",
        "@a",
        "@a\n@b",
        "import",
        "from",
        "from .",
        "from a import",
        "import a as",
        "lambda",
        "lambda x",
        "lambda x:",
        "lambda: lambda: (lambda",
        "for",
        "for x",
        "for x in",
        "with",
        "with a as",
        "try",
        "try:",
        "except",
        "except E as",
        "case",
        "match x:\n case y",
        "a = ",
        "= = =",
        "a := b",
        ":=",
        "a.",
        ".a",
        "a..b",
        "(a.b)(c)[d].e",
        "[x for",
        "[x for y",
        "[x for y in",
        "[x for y in z if",
        "{x: y for",
        "f'{",
        "f'{a",
        "f'{a!",
        "f'{a:{b",
        "global",
        "global a",
        "nonlocal b",
        "del",
        "return",
        "*a, b = c",
        "a, = b",
        "(a, b), c = d",
        "if x: y: z",
        "else: else: else",
        "async",
        "async async def f(): await",
        "yield yield",
        "helper.build(",
        "import helper\nhelper.build()\nhelper.build('a' + ",
        "class A:\ndef f(self):\n x",
        "def f():\n  pass\n    g()",
        "type X = Y",
        "@a.b(c)[d]\nclass ModelNew(ModelNew): x = ModelNew",
        "x[a:b, c](d)(e)",
        "lambda *, a=lambda b: c, **d: e if f else g",
        "print >>f, x",
        "\\",
        "a if b else c if d else (e if",
        "() = []",
        "def f(a, a, *a): a(a)",
    };
    bool sound = true;

    for (size_t i = 0; i < sizeof(soup) / sizeof(soup[0]); i++) {
        if (!facts_sound(soup[i])) {
            printf("# %s\n", soup[i]);
            sound = false;
        }
    }
    ok(sound, "broken programs give sound views");
}

/* Nothing may cost more than its length, roughly: after a quadratic pass over
 * half a megabyte of the worst nobody would wait for the result. */
static void test_long(void)
{
    static const struct {
        const char *what, *piece, *tail;
    } long_ones[] = {
        {"calls that are never closed", "f(", ""},
        {"a long chain of attributes", "a.a.", "a"},
        {"many short lines of it", "a.a.a()\n", ""},
        {"operators", "--", "x"},
        {"lambdas in lambdas", "lambda x:", "x"},
        {"assignments in a row", "a=", "1"},
        {"tuples to pair", "a,b=b,a;", "1"},
        {"choices", "a if b else ", "c"},
        {"chained calls", "(a)()[0]", ""},
        {"decorators", "@a\n", "def f(): pass"},
        {"definitions of one name", "def f(): f()\n", ""},
        {"classes of one name", "class A(A):\n x=A;A.x(A)\n", ""},
        {"imports of one name", "from a import b as c;c()\n", ""},
        {"walruses", "(a:=(", ""},
        {"literals in a row", "'a' ", ""},
        {"match in a row", "match x;", ""},
        {"things kept in each other", "a=[a,a.b,c[a]];a[0](a);c=a.d;", ""},
        {"calls of what calls return", "a=f(a);def f(b): return a;a()\n", ""},
    };

    for (size_t i = 0; i < sizeof(long_ones) / sizeof(long_ones[0]); i++) {
        char *s = repeat(long_ones[i].piece, 500000, long_ones[i].tail);

        ok(facts_sound(s), "half a megabyte of %s is sound", long_ones[i].what);
        free(s);
    }
}

static void test_many_functions(void)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    buf_puts(&b, "class ModelNew:\n  def forward(self): f0()\n");
    for (int i = 0; i < 20000; i++)
        buf_printf(&b, "def f%d(): f%d(); f%d()\n", i, i + 1, i / 2);
    ok(strstr(facts_of(buf_str(&b)), "forward def f19999\n") != NULL,
       "20,000 functions that mention each other are all reached");
    buf_reset(&b);
    for (int i = 0; i < 3000; i++)
        buf_printf(&b, "class C%d(C%d):\n  def m(self): self.n(); self.m()\n",
                   i, i ? i - 1 : 0);
    ok(facts_sound(buf_str(&b)), "3,000 classes, each the next one's base");
    buf_reset(&b);
    buf_puts(&b, "import torch\n");
    for (int i = 0; i < 40; i++)
        buf_printf(&b, "m = torch.f%d\n", i);
    buf_puts(&b, "m(1)\n");
    ok(strstr(facts_of(buf_str(&b)), "module limit aliases\n") != NULL,
       "more meanings than are followed are said to be too many");
    buf_reset(&b);
    for (int i = 60; i > 0; i--)
        buf_printf(&b, "def f%d():\n  global a%d\n  a%d = a%d\n", i, i, i,
                   i - 1);
    buf_puts(&b, "import torch\na0 = torch.exp\na60(1)\n");
    ok(strstr(facts_of(buf_str(&b)), "module limit aliases\n") != NULL,
       "so is a way to a meaning that is too long");
    buf_reset(&b);
    buf_puts(&b, "import torch\nfor t in (");
    for (int i = 0; i < 40; i++)
        buf_printf(&b, "torch.f%d, ", i);
    buf_puts(&b, "): print(t)\n");
    ok(!strstr(facts_of(buf_str(&b)), " limit "), "a long tuple is not");
    buf_release(&b);
}

static void test_long_view(void)
{
    char *calls = repeat("f.m();", 1000000, "\n");
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    for (int i = 0; i < 16; i++)
        buf_printf(&b, "import a%d as f\n", i);
    buf_puts(&b, calls);
    free(calls);
    calls = buf_take(&b, NULL);
    ok(strstr(facts_of(calls), "module limit length\n") != NULL,
       "more facts than any honest source has are said to be too many");
    free(calls);
}

static void test_long_names(void)
{
    char *name = repeat("\xc3\xa9", 1000, ".exp(1)"), *source;
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    buf_printf(&b, "import %s", name);
    source = buf_take(&b, NULL);
    ok(facts_sound(source) && strstr(facts_of(source), "...\n") != NULL,
       "a long name is cut, between characters");
    free(source);
    free(name);
}

void suite_py_facts(void)
{
    ROWS(kinds_in_forward, PLACE_FORWARD);
    ROWS(kinds_in_file, PLACE_FILE);
    ROWS(aliases, PLACE_FILE);
    ROWS(scopes, PLACE_FILE);
    ROWS(contexts, PLACE_FILE);
    ROWS(scripts, PLACE_FILE);
    ROWS(holders, PLACE_FORWARD);
    ROWS(holders_in_file, PLACE_FILE);
    test_soup();
    test_long();
    test_many_functions();
    test_long_names();
    test_long_view();
}
