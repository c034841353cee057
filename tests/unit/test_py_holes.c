/* test_py_holes.c: every known way past a checker that reads text, as the facts
 * that give it away, and honest styles, as the facts they must not give. */
#include "facts_check.h"
#include "tap.h"

#include <string.h>

void suite_py_holes(void);

#define ROWS(rows, place) \
    facts_rows(rows, sizeof(rows) / sizeof((rows)[0]), place)

static const struct facts_row in_forward[] = {
    {"hole 1: operators", "return x @ w", "forward op @", NULL},
    {"hole 2: tensor methods",
     "x.matmul(w)\nx.softmax(-1)\nx.relu().sum(1).mean()",
     "forward method matmul\nforward method softmax\nforward method relu\n"
     "forward method sum\nforward method mean",
     NULL},
    {"hole 3: names not on a list",
     "torch.addmm(w, x, w)\ntorch.tensordot(x, w)\ntorch.cumsum(x, 0)",
     "forward call torch.addmm\nforward call torch.tensordot\n"
     "forward call torch.cumsum",
     NULL},
    {"hole 4: internals",
     "torch.ops.aten.mm(x, w)\ntorch._C._VariableFunctions.matmul(x, w)\n"
     "torch._C._nn.linear(x, w)",
     "forward call torch.ops.aten.mm\n"
     "forward call torch._C._VariableFunctions.matmul\n"
     "forward call torch._C._nn.linear",
     NULL},
    {"hole 5: submodules",
     "torch.special.softmax(x, -1)\ntorch.linalg.multi_dot([x, w])",
     "forward call torch.special.softmax\nforward call torch.linalg.multi_dot",
     NULL},
    {"hole 6: the compiler", "torch.compile(lambda a, b: a @ b)(x, w)",
     "forward call torch.compile\nforward op @", NULL},
    {"hole 7: reflection", "getattr(torch, 'mat' + 'mul')(x, w)",
     "forward call getattr torch\nforward callresult getattr\n"
     "forward use torch",
     NULL},
    {"hole 10: a layer that is called", "return self.lin(x)",
     "forward holder-call lin", NULL},
    {"hole 11: white space", "torch . matmul(x, w)\ntorch\\\n.mm(x, w)",
     "forward call torch.matmul\nforward call torch.mm", NULL},
    {"hole 12: out of a tuple", "(torch.matmul,)[0](x, w)",
     "forward use torch.matmul", NULL},
    {"hole 13: # in a string", "a = '#'; return torch.matmul(x, w)",
     "forward call torch.matmul", NULL},
    {"hole 14: floor division", "n = 8 // 2; return torch.matmul(x, w)",
     "forward call torch.matmul", "forward op arith"},
    {"hole 16: suppressed errors",
     "import contextlib\nwith contextlib.suppress(Exception): k[(1,)](x)\n"
     "return x @ w",
     "forward call contextlib.suppress\nforward launch k\nforward op @", NULL},
    {"hole 17: code in a string", "exec('tr' + 'y: pass')", "forward call exec",
     NULL},
    {"hole 18: threads and processes",
     "import _thread, os\n__import__('thre' + 'ading')\nos.fork()\n"
     "_thread.start_new_thread(x, ())",
     "forward import _thread\nforward call __import__\nforward call os.fork\n"
     "forward call _thread.start_new_thread",
     NULL},
    {"hole 19: streams",
     "from torch.cuda import Stream\nStream()\ntorch.cuda.ExternalStream(w)\n"
     "torch.cuda.set_stream(w)",
     "forward call torch.cuda.Stream\nforward call torch.cuda.ExternalStream\n"
     "forward call torch.cuda.set_stream",
     NULL},
    {"hole 21: lazy tensors",
     "C = type('C', (torch.Tensor,), {})\nx.as_subclass(C)\n"
     "torch.Tensor._make_wrapper_subclass(C, 1)",
     "forward subclass type\nforward method as_subclass\n"
     "forward call torch.Tensor._make_wrapper_subclass",
     NULL},
    {"hole 22: precision",
     "x.bfloat16()\nx.type(torch.half)\nx.to(dtype=torch.float16)\n"
     "torch.backends.cuda.matmul.allow_tf32 = True",
     "forward method bfloat16\nforward use torch.half\n"
     "forward use torch.float16\n"
     "forward set torch.backends.cuda.matmul.allow_tf32",
     NULL},
    {"hole 25: the answer on the stack",
     "import sys, gc\nsys._getframe(1).f_locals['output']\ngc.get_objects()",
     "forward call sys._getframe\nforward attr f_locals\n"
     "forward call gc.get_objects",
     NULL},
    {"hole 26: caches", "x.data_ptr()\ntorch.cuda.CUDAGraph().replay()",
     "forward method data_ptr\nforward call torch.cuda.CUDAGraph\n"
     "forward method replay",
     NULL},
    {"hole 27: no work", "return torch.empty_like(x)",
     "forward call torch.empty_like", NULL},
    {"hole 28: other libraries, exits",
     "import cupy, ctypes, os\nctypes.CDLL('libcublas.so.12')\nos._exit(0)",
     "forward import cupy\nforward call ctypes.CDLL\nforward call os._exit",
     NULL},
};

#define MODEL(body)                                     \
    "import torch\nimport lang\nfrom torch import nn\n" \
    "class ModelNew(nn.Module):\n"                      \
    "  def forward(self, x, w):\n    " body "\n"

static const struct facts_row in_file[] = {
    {"hole 8: aliases of torch",
     "from torch import matmul\nimport torch as t\ntt = t\n"
     "class ModelNew:\n  def forward(self, x, w):\n"
     "    matmul(x, w); t.mm(x, w); tt.bmm(x, w)",
     "forward call torch.matmul\nforward call torch.mm\n"
     "forward call torch.bmm\nmodule use torch",
     NULL},
    {"hole 9: aliases of functional",
     "from torch.nn import functional as G\nimport torch.nn.functional as F\n"
     "class ModelNew:\n  def forward(self, x, w): G.conv2d(x, w); F.mish(x)",
     "forward call torch.nn.functional.conv2d\n"
     "forward call torch.nn.functional.mish",
     NULL},
    {"hole 10: a layer by its bare name",
     "from torch.nn import Linear as L, Module\nclass ModelNew(Module):\n"
     "  def __init__(self): self.l = L(4, 4)\n"
     "  def forward(self, x): return self.l(x)",
     "forward holder-call l\ninit call torch.nn.Linear", NULL},
    {"hole 15: the reference under another name",
     "class Model: pass\nclass ModelNew(Model): ...",
     "module class ModelNew(Model)", NULL},
    {"hole 15: by assignment", "ModelNew = Model", "module bind ModelNew",
     NULL},
    {"hole 20: patching",
     "import torch, time, lang\nE = torch.cuda.Event\n"
     "setattr(torch.cuda.Event, 'elapsed_time', 1)\nE.elapsed_time = 1\n"
     "torch.allclose = 1\nlang.testing.do_bench = 1\n"
     "time.perf_counter_ns = 1",
     "module call setattr torch.cuda.Event\n"
     "module set torch.cuda.Event.elapsed_time\nmodule set torch.allclose\n"
     "module set lang.testing.do_bench\nmodule set time.perf_counter_ns",
     NULL},
    {"hole 21: tensor classes",
     "import torch\nfrom torch import nn\nclass Z(object, torch.Tensor): pass\n"
     "class Y(nn.Parameter): pass",
     "module class Z(object,torch.Tensor)\nmodule class Y(torch.nn.Parameter)",
     NULL},
    {"hole 23: a kernel in a string",
     "S = '@lang.jit lang.load'\n" MODEL("return x"), NULL,
     "kernel def k @lang.jit"},
    {"hole 23: a kernel that is never launched",
     "import lang\n@lang.jit\ndef k(): lang.load()\n" MODEL("return x"),
     "dead def k @lang.jit\ndead call lang.load", "kernel def k @lang.jit"},
    {"hole 24: the words of a language in a text, an import alone",
     "\"\"\"warp:: lang.core.Kernel(1)\"\"\"\nfrom lang import core\n"
     "S = \"__global__ helper.build\"\n" MODEL("return x"),
     "module import lang", "module call helper.build\nmodule build literal"},
};

static const struct facts_row further[] = {
    {"a layer reached through a dictionary of lambdas",
     MODEL("T = {'a': lambda m: m(x)}\n    return T['a'](nn.ReLU())"),
     "forward call torch.nn.ReLU\nforward call m", NULL},
    {"a function that a list at module level keeps",
     "import torch\ndef f(x): return torch.exp(x)\nT = [f]\n"
     "class ModelNew:\n  def forward(self, x): return T[0](x)",
     "forward call torch.exp", NULL},
    {"a method of an object that a closure keeps",
     "import torch\nclass H:\n  def __call__(self, x): return torch.exp(x)\n"
     "h = H()\nclass ModelNew:\n  def forward(self, x): return h(x)",
     "forward call torch.exp", NULL},
    {"an object called out of a list",
     "import torch\nclass H:\n  def forward(self, x): return torch.exp(x)\n"
     "class ModelNew:\n  def __init__(self): self.hs = (H(),)\n"
     "  def forward(self, x): return self.hs[0](x)",
     "forward call torch.exp", NULL},
    {"a method replaced from outside",
     "import torch\ndef f(self, x): return torch.exp(x)\n"
     "class ModelNew: pass\nModelNew.forward = f",
     "forward call torch.exp", NULL},
    {"code behind a property of a helper class",
     "import torch\nclass H:\n  @property\n  def p(self): return torch.exp(1)\n"
     "class ModelNew:\n  def __init__(self): self.h = H()\n"
     "  def forward(self, x): return self.h.p",
     "forward call torch.exp", NULL},
    {"a torch function through functools",
     "import torch, functools\nclass ModelNew:\n"
     "  def __init__(self): self.f = functools.partial(torch.matmul)\n"
     "  def forward(self, x): return self.f(x)",
     "init use torch.matmul", NULL},
};

static const struct facts_row honest[] = {
    {"docstrings with code in them give nothing",
     "\"\"\"import torch; torch.matmul(x)\"\"\"\n" MODEL(
         "'''try: self.lin(x) @ w'''\n    return 1"),
     NULL,
     "module call torch.matmul\nforward try other\nforward op @\n"
     "forward call torch.matmul"},
    {"comments give nothing", MODEL("return 1  # torch.matmul(x) @ w"), NULL,
     "forward call torch.matmul\nforward op @"},
    {"layers as holders of parameters",
     "import torch\nfrom torch import nn\nclass ModelNew(nn.Module):\n"
     "  def __init__(self):\n    super().__init__()\n"
     "    self.conv = nn.Conv2d(3, 4, 5)\n    self.bn = nn.BatchNorm2d(4)\n"
     "  def forward(self, x):\n"
     "    return run(x, self.conv.weight, self.bn.running_mean, self.bn.eps)",
     "init call torch.nn.Conv2d\nforward attr weight\n"
     "forward attr running_mean\nforward attr eps",
     "forward holder-call conv\nforward holder-call bn\n"
     "forward call torch.nn.Conv2d"},
    {"a copied reference that nothing uses is dead",
     "import torch\nfrom torch import nn\n"
     "class Block(nn.Module):\n  def forward(self, x): return x.relu()\n"
     "class Model(nn.Module):\n  def __init__(self):\n"
     "    super().__init__()\n    self.b = Block()\n    self.l = nn.Linear(1, "
     "2)\n"
     "  def forward(self, x): return torch.exp(self.l(self.b(x)))\n"
     "def get_inputs(): return [torch.rand(3)]\n"
     "class ModelNew(nn.Module):\n  def __init__(self): super().__init__()\n"
     "  def forward(self, x): return x.contiguous()",
     "dead call torch.exp\ndead holder-call l\ndead method relu\n"
     "dead call torch.rand",
     "forward call torch.exp\ninit call torch.nn.Linear"},
    {"a try around imports",
     "try:\n    import lang\n    import lang.core as T\n    HAVE = True\n"
     "except ImportError:\n    HAVE = False\n" MODEL("return x"),
     "module try import", "module try other"},
    {"a kernel with its grid",
     "import torch, lang\nfrom torch import nn\n@lang.jit\n"
     "def add(x, y, n, BLOCK: lang.constexpr):\n"
     "    i = lang.program_id(0) * BLOCK + lang.arange(0, BLOCK)\n"
     "    lang.store(y + i, lang.load(x + i, mask=i < n) * 2 + 1)\n"
     "class ModelNew(nn.Module):\n  def forward(self, x):\n"
     "    y = torch.empty_like(x)\n    n = x.numel()\n"
     "    grid = lambda meta: (lang.cdiv(n, meta['BLOCK']),)\n"
     "    add[grid](x, y, n, BLOCK=1024)\n    return y\n",
     "kernel def add @lang.jit\nkernel call lang.load\nkernel call lang.store\n"
     "forward launch add\nforward call torch.empty_like\n"
     "forward call lang.cdiv",
     "forward op arith\nkernel op arith\nforward call lang.load\n"
     "dead def add @lang.jit"},
    {"a kernel that opens a block, made by a cached factory",
     "import functools, lang\nfrom lang import core as T\n"
     "@functools.lru_cache(None)\ndef make(n):\n  @lang.jit\n  def k(a):\n"
     "    with T.Kernel(n) as b: T.copy(a, b)\n  return k\n"
     "class ModelNew:\n  def forward(self, x): return make(x.shape[0])(x)",
     "kernel def k @lang.jit\nkernel opens lang.core.Kernel\n"
     "forward def make @functools.lru_cache",
     "forward opens lang.core.Kernel"},
    {"an autograd function used by apply",
     "import torch, lang\n@lang.jit\ndef k(): pass\n"
     "class Fn(torch.autograd.Function):\n  @staticmethod\n"
     "  def forward(ctx, x): k[1](x); return x\n"
     "class ModelNew:\n  def forward(self, x): return Fn.apply(x)",
     "forward launch k\nkernel def k @lang.jit\nforward method apply",
     "dead launch k"},
    {"kernels in a table",
     "import lang\n@lang.jit\ndef k(): lang.load()\n"
     "T = {1: k}\n" MODEL("T[1][1](x)"),
     "kernel call lang.load", "forward call lang.load"},
};

void suite_py_holes(void)
{
    ROWS(in_forward, PLACE_FORWARD);
    ROWS(in_file, PLACE_FILE);
    ROWS(further, PLACE_FILE);
    ROWS(honest, PLACE_FILE);
}
