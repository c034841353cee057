"""What a recording holds of honest candidates, in all the styles they are written in, and
what ends one."""

from __future__ import annotations

import resource

import pytest
import torch
from recording import Execution, Failure, Refusal, forward, record, repeats, same

X = torch.arange(24, dtype=torch.float32).reshape(4, 6) - 7


# ---- styles: torch.cuda and devices ----------------------------------------------------

CUDA_STYLES = {
    "a fallback that is never taken": "if not x.is_cuda:\n    return torch.relu(x)",
    "a check of the device": "assert x.device.type == 'cuda' and x.device.index == 0",
    "the device's number": "assert x.get_device() == 0 == torch.cuda.current_device()",
    "a device guard": "with torch.cuda.device(x.device):\n    pass",
    "a device guard of a tensor": "with torch.cuda.device_of(x):\n    pass",
    "the stream": "assert torch.cuda.current_stream().cuda_stream == 0",
    "a stream by device": "assert torch.cuda.current_stream(x.device).cuda_stream == 0",
    "a second stream": "s = torch.cuda.Stream()\nwith torch.cuda.stream(s):\n    s.synchronize()",
    "events": "e = torch.cuda.Event(enable_timing=True)\ne.record()\ne.synchronize()",
    "properties": "p = torch.cuda.get_device_properties(x.device)\n"
                  "assert p.multi_processor_count > 0 and p.major == 9 and 'NVIDIA' in p.name",
    "capability": "assert torch.cuda.get_device_capability() >= (8, 0)",
    "the device's name": "assert torch.cuda.get_device_name(0)",
    "waiting": "torch.cuda.synchronize()",
    "available": "assert torch.cuda.is_available() and torch.cuda.device_count() == 1",
    "bf16": "assert torch.cuda.is_bf16_supported()",
    "memory": "torch.cuda.empty_cache(); torch.cuda.mem_get_info()",
    "nvtx": "with torch.cuda.nvtx.range('relu'):\n    torch.cuda.nvtx.mark('here')",
    "moves to where it is": "assert x.to('cuda') is x and x.cuda() is x and x.to(x.device) is x",
    "moves by keyword": "assert x.to(device='cuda', dtype=x.dtype) is x",
    "an address": "assert x.data_ptr() % 16 == 0 and x.data_ptr() != 0",
    "addresses of views": "assert x[1:].data_ptr() - x.data_ptr() == 24",
    "autocast": "with torch.autocast('cuda', dtype=torch.float16):\n    pass",
    "autocast of torch.cuda": "with torch.cuda.amp.autocast(enabled=False):\n    pass",
    "a device context": "with torch.device('cuda'):\n    assert torch.empty(3).is_cuda",
    "a type check": "assert isinstance(x, torch.Tensor) and torch.is_tensor(x)",
    "layout checks": "assert x.is_contiguous() and x.stride() == (6, 1) and x.numel() == 24",
    "dtype checks": "assert x.dtype in (torch.float32,) and x.is_floating_point()",
    "element size": "assert x.element_size() == 4 and x.nbytes == 96 and x.itemsize == 4",
    "gradients": "assert not x.requires_grad and not torch.is_grad_enabled()",
    "a pinned buffer": "torch.empty(4, pin_memory=True); x.is_pinned()",
    "printing": "print(x, repr(x), x.shape)",
    "the device of a constant": "assert torch.tensor([1.0], device='cuda').is_cuda",
    "the device of new tensors": "assert x.new_tensor([1.0]).is_cuda and x.new_empty(2).is_cuda",
    "an accelerator": "assert torch.accelerator.current_accelerator().type == 'cuda'",
    "inference mode": "with torch.inference_mode():\n    x = x.view(4, 6)",
    "a generator": "torch.Generator(device='cuda').manual_seed(1)",
    "the version": "assert torch.version.cuda and torch.backends.cuda.is_built()",
    "record_stream": "x.record_stream(torch.cuda.current_stream())",
    "devices are compared": "assert x.device == torch.device('cuda', 0) == torch.device('cuda:0')",
    "a default device": "torch.set_default_device('cuda')\nassert torch.tensor([1.0]).is_cuda\n"
                        "torch.set_default_device(None)",
    "another thread": "import threading\nt = threading.Thread(target=lambda: x.view(-1))\n"
                      "t.start()\nt.join()",
    "weak references": "import weakref\nassert weakref.ref(x)() is x and {x: 1}[x] == 1",
    "a deep copy": "import copy\nassert copy.deepcopy(torch.zeros(3)).tolist() == [0, 0, 0]",
    "a raw stream": "assert torch._C._cuda_getCurrentRawStream(0) == 0",
}  # fmt: skip


@pytest.mark.parametrize("lines", CUDA_STYLES.values(), ids=CUDA_STYLES.keys())
def test_a_gpu_answers_that_is_not_there(lines: str) -> None:
    found = record(forward(lines), X)
    assert found.ops() == ["launch"] and len(found.calls) == 1
    same(Execution(found).call(X), X.relu())


def test_a_gpu_has_the_facts_that_the_judge_names() -> None:
    line = "p = torch.cuda.get_device_properties(0)\nassert (p.name, p.major) == ('A100', 8)"
    record(forward(line), X, gpu={"name": "A100", "major": 8, "minor": 0})


def test_on_the_cpu_there_is_no_gpu() -> None:
    line = "assert not x.is_cuda and not torch.cuda.is_available() and x.get_device() == -1"
    record(forward(line), X, claims="cpu")


# ---- styles: modules and Python --------------------------------------------------------

STYLES = {
    "an autograd function": """
        class Relu(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = torch.empty_like(x)
                launch("relu", (1,), x=x, y=y)
                ctx.save_for_backward(x)
                return y

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return grad * (x > 0)

        class ModelNew(nn.Module):
            def forward(self, x):
                return Relu.apply(x)
        """,
    "decorators": """
        class ModelNew(nn.Module):
            @torch.no_grad()
            @torch.inference_mode()
            def forward(self, x):
                y = torch.empty_like(x)
                launch("relu", (1,), x=x.contiguous(), y=y)
                return y
        """,
    "a check of a layer's class": """
        class ModelNew(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6)])

            def forward(self, x):
                for layer in self.layers:
                    y = torch.empty_like(x)
                    if isinstance(layer, nn.Linear):
                        assert isinstance(layer.weight, nn.Parameter)
                        launch("linear", (1,), x=x, w=layer.weight, b=layer.bias, y=y)
                    else:
                        launch("relu", (1,), x=x, y=y)
                    x = y
                return x
        """,
    "parameters by name": """
        class ModelNew(nn.Module):
            def __init__(self):
                super().__init__()
                self.gru = nn.GRU(6, 4, 2)

            def forward(self, x):
                out = []
                for i in range(2):
                    w = getattr(self.gru, f"weight_hh_l{i}")
                    b = getattr(self.gru, f"bias_hh_l{i}")
                    y = x.new_empty(4, 12)
                    launch("linear", (1,), x=x[:, :4], w=w, b=b, y=y)
                    out.append(y)
                return tuple(out)
        """,
    "a list of parameters": """
        class ModelNew(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 6)
                self.pairs = [(m.weight, m.bias) for m in (self.a, self.b)]

            def forward(self, x):
                for w, b in self.pairs:
                    y = torch.empty_like(x)
                    launch("linear", (1,), x=x, w=w, b=b, y=y)
                    x = y
                return {"out": x, "shape": list(x.shape), "none": None}
        """,
    "weights moved and cast in forward": """
        class ModelNew(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(6, 6)

            def forward(self, x):
                w = self.lin.weight.to(x.device).t().contiguous().half()
                y = torch.empty(4, 6, device=x.device, dtype=torch.float32)
                launch("matmul", (1,), x=x, w=w, y=y)
                return [y]
        """,
    "a dataclass, logging and a __main__ block": """
        import dataclasses, logging, math, functools
        logger = logging.getLogger(__name__)
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.benchmark = True
        torch.set_float32_matmul_precision("high")

        @dataclasses.dataclass(frozen=True)
        class Config:
            block: int = 128
            scale: float = 1 / math.sqrt(6)

        @functools.lru_cache(maxsize=None)
        def config(n):
            return Config(block=max(16, n))

        class ModelNew(nn.Module):
            def forward(self, x):
                c = config(x.shape[-1])
                logger.warning("scaling %s by %f", x.shape, c.scale)
                y = torch.empty_like(x)
                try:
                    launch("scale", (x.numel() // c.block + 1,), x=x, y=y, by=c.scale)
                except RuntimeError as problem:
                    raise RuntimeError("no launch") from problem
                return y

        if __name__ == "__main__":
            print(ModelNew()(torch.rand(4, 6, device="cuda")))
        """,
    "outputs in a tuple of views": """
        class ModelNew(nn.Module):
            def forward(self, x):
                y = x.new_empty(8, 6)
                launch("relu", (1,), x=x, y=y[:4])
                launch("twice", (1,), x=x, y=y[4:])
                return y[:4], y[4:].t(), torch.stack([y[0], y[5]])
        """,
    "a scalar output": """
        class ModelNew(nn.Module):
            def forward(self, x):
                y = torch.zeros((), device=x.device)
                launch("sum", (1,), x=x, y=y)
                return y
        """,
    "an accumulator that is zeroed": """
        class ModelNew(nn.Module):
            def forward(self, x):
                y = torch.zeros_like(x)
                for _ in range(3):
                    launch("add_to", (1,), x=x, y=y)
                y2 = torch.empty_like(x)
                y2.zero_()
                launch("add_to", (1,), x=y, y=y2)
                return y2
        """,
    "helpers of nn.init": """
        class ModelNew(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                self.w = nn.Parameter(torch.empty(6, 6))
                self.b = nn.Parameter(torch.zeros(6))
                nn.init.kaiming_uniform_(self.w, a=5 ** 0.5)
                nn.init.trunc_normal_(self.w, std=0.02)
                bound = 1 / nn.init._calculate_fan_in_and_fan_out(self.w)[0] ** 0.5
                nn.init.uniform_(self.b, -bound, bound)
                with torch.no_grad():
                    self.w.mul_(2).clamp_(-1, 1)
                    self.b[0] = 3.0

            def forward(self, x):
                y = torch.empty_like(x)
                launch("linear", (1,), x=x, w=self.w, b=self.b, y=y)
                return y
        """,
    "a copied layer": """
        import copy
        class ModelNew(nn.Module):
            def __init__(self):
                super().__init__()
                one = nn.Linear(6, 6)
                self.layers = nn.ModuleList(copy.deepcopy(one) for _ in range(3))

            def forward(self, x):
                for layer in self.layers:
                    y = torch.empty_like(x)
                    launch("linear", (1,), x=x, w=layer.weight, b=layer.bias, y=y)
                    x = y
                return x
        """,
    "a custom operator": """
        @torch.library.custom_op("mine::relu", mutates_args=())
        def relu(x: torch.Tensor) -> torch.Tensor:
            y = torch.empty_like(x)
            launch("relu", (1,), x=x, y=y)
            return y

        @relu.register_fake
        def _(x):
            return torch.empty_like(x)

        class ModelNew(nn.Module):
            def forward(self, x):
                return torch.ops.mine.relu(x)
        """,
    "hooks": """
        class ModelNew(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_forward_pre_hook(lambda m, args: (args[0].contiguous(),))

            def forward(self, x):
                y = torch.empty_like(x)
                launch("relu", (1,), x=x, y=y)
                return y
        """,
}


@pytest.mark.parametrize("claims", ["cpu", "cuda:0"])
@pytest.mark.parametrize("body", STYLES.values(), ids=STYLES.keys())
def test_an_honest_style_is_recorded(body: str, claims: str) -> None:
    found = repeats(body, X, claims=claims)
    assert len(found.calls) == 1 and "packed" not in found.raw
    assert all(k != "const" for k in found.kinds())


INITS = [
    "self.m = nn.Linear(6, 6).cuda().half()",
    "self.m = nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last)",
    "self.m = nn.MultiheadAttention(8, 2)",
    "self.m = nn.TransformerEncoderLayer(8, 2)",
    "self.m = nn.LSTM(6, 4, 2, bidirectional=True, device='cuda')",
    "self.m = nn.BatchNorm2d(3)\nself.m.eval()",
    "self.m = nn.Embedding(10, 4)",
    "self.register_buffer('none', None)",
    "self.w = nn.Parameter(torch.randn(6, 6, device='cuda') * 0.02)\nself.to('cuda')",
    "self.m = nn.utils.parametrizations.weight_norm(nn.Linear(6, 6))",
    "self.m = nn.utils.spectral_norm(nn.Linear(6, 6))",
    "self.m = nn.ParameterList([nn.Parameter(torch.rand(3)) for _ in range(3)])",
    "self.m = nn.ParameterDict({'a': nn.Parameter(torch.rand(2))})",
    "self.w = nn.Parameter(torch.linalg.qr(torch.randn(6, 6))[0])",
    "self.m = nn.Linear(6, 6)\nnn.init.orthogonal_(self.m.weight)",
    "self.m = nn.Linear(6, 6)\nnn.init.sparse_(self.m.weight, 0.1)",
    "self.w = nn.Parameter(torch.FloatTensor(6, 6))\nself.w.data.uniform_(-1, 1)",
    "self.m = nn.Linear(6, 6)\nself.m.load_state_dict(self.m.state_dict())",
    "self.m = nn.Linear(6, 6)\n"
    "self.apply(lambda m: m.weight.data.normal_() if hasattr(m, 'weight') else None)",
    "g = torch.Generator(device='cuda')\ng.manual_seed(3)\nself.w = torch.randn(3, generator=g)",
    "self.w = nn.Parameter(torch.empty(6, 6))\nself.w.data = torch.ones(6, 6)",
    "self.rows = torch.eye(3)[torch.tensor([2, 0])].tolist()",
    "self.table = F.one_hot(torch.arange(4)).float().numpy()",
    "self.scale = float(torch.tensor(6.0).rsqrt()) if torch.rand(1).item() < 2 else 0",
]  # fmt: skip


@pytest.mark.parametrize("lines", INITS)
def test_a_model_is_built_as_it_would_be_on_the_gpu(lines: str) -> None:
    found = record(forward("assert all(p.is_cuda for p in self.parameters())", lines), X)
    assert found.ops() == ["launch"]


def test_arguments_of_forward_keep_their_structure() -> None:
    body = """
        class ModelNew(nn.Module):
            def forward(self, pair, options, n, scale=1.0):
                x, (y,) = pair
                z = torch.empty_like(x)
                launch("add", (n,), x=x, y=options["more"], z=z)
                launch("add_to", (1,), x=y, y=z)
                return {"sum": z, "n": n, "rest": [scale, None, "text"]}
        """
    args = [X, (X * 2,)], {"more": X + 1}, 3, 0.5
    found = repeats(body, *args)
    assert [b["index"] for b in found.calls[0]["buffers"] if b["kind"] == "input"] == [0, 2, 1]


def test_strides_of_inputs_are_seen() -> None:
    repeats(forward("assert x.stride() == (1, 4) and not x.is_contiguous()"), X.view(6, 4).t())


def test_a_thousand_launches_take_seconds() -> None:
    lines = "for i in range(1000):\n    y = torch.empty_like(x)\n    " \
            "launch('scale', (1,), x=x, y=y, by=1.5)\n    x = y[:, :]"
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    found = record(forward(lines), X)
    assert len(found.nodes()) == 1001
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert used < 5


def test_a_simple_trace_takes_about_a_kilobyte() -> None:
    assert record(forward(""), X).size < 600


# ---- what is kept between calls --------------------------------------------------------


def test_a_workspace_that_is_kept_is_one_buffer_of_all_calls() -> None:
    body = forward("", "self.work = None", last="""
        if self.work is None:
            self.work = torch.zeros(4, 6, device=x.device), x.new_empty(4, 6)
        acc, y = self.work
        launch("add_to", (1,), x=x, y=acc)
        launch("relu", (1,), x=acc, y=y)
        return y
""")  # fmt: skip
    found = repeats(body, X)
    assert len(found.calls) == 2
    assert found.kinds(0) == ["input", "new", "new"] and found.kinds(1) == ["input", "kept", "kept"]
    assert found.ops(0) == ["fill", "launch", "launch"] and found.ops(1) == ["launch", "launch"]


def test_a_cache_by_shape_may_fill_itself_in_the_first_call() -> None:
    body = forward("", "self.cache = {}", last="""
        if x.shape not in self.cache:
            self.cache[x.shape] = torch.arange(6.0, device=x.device).repeat(4, 1).cos()
        y = torch.empty_like(x)
        launch("add", (1,), x=x, y=self.cache[x.shape], z=y)
        return y
""")  # fmt: skip
    found = repeats(body, X)
    assert len(found.calls) == 1 and "const" in found.kinds()


def test_weights_that_the_first_call_converts_are_kept() -> None:
    body = forward("", "self.lin = nn.Linear(6, 6)\nself.wt = None", last="""
        if self.wt is None:
            self.wt = self.lin.weight.t().contiguous()
        y = torch.empty_like(x)
        launch("matmul", (1,), x=x, w=self.wt, y=y)
        return y
""")  # fmt: skip
    found = repeats(body, X)
    assert found.ops(0) == ["copy", "launch"] and found.ops(1) == ["launch"]


def test_buffers_that_were_filled_before_forward_are_part_of_the_setup() -> None:
    body = forward("", 'self.register_buffer("acc", torch.zeros(4, 6))\n'
                       "self.scratch = torch.empty(4, 6)", last="""
        launch("add_to", (1,), x=x, y=self.acc)
        launch("relu", (1,), x=self.acc, y=self.scratch)
        return self.scratch
""")  # fmt: skip
    found = repeats(body, X, state=[])
    assert found.kinds() == ["input", "kept", "kept"] and found.blob == b""
    assert [n["op"] for n in found.raw["setup"]["nodes"]] == ["fill"]


def test_a_constant_that_changes_between_launches_is_two_constants() -> None:
    lines = "t = torch.arange(6.0, device=x.device)\nlaunch('add_to', (1,), x=t, y=x0)\n" \
            "t += 1\nlaunch('add_to', (1,), x=t, y=x0)\nx = x0"
    found = repeats(forward("x0 = x.clone()\n" + lines), X)
    assert found.kinds().count("const") == 2


SMALL_GPU = {"name": "small", "major": 9, "minor": 0, "total_memory": 1 << 20}
ROOM = f"torch.empty({(1 << 20) * 2 // 5}, dtype=torch.uint8, device='cuda')"


@pytest.mark.parametrize("lines", [f"for _ in range(100):\n    a = {ROOM}\n    b = {ROOM}\n    del a, b",
                                   f"a, b = {ROOM}, {ROOM}.view(2, -1)\ndel a\nc = {ROOM}",
                                   f"a = [{ROOM.replace('cuda', 'cpu')} for _ in range(5)]"])  # fmt: skip
def test_what_fits_into_the_gpus_memory_at_any_time_is_recorded(lines: str) -> None:
    record(forward(lines), X, gpu=SMALL_GPU)


@pytest.mark.parametrize("lines, init", [(f"a = [{ROOM} for _ in range(3)]", ""),
                                         (f"a, b = {ROOM}, {ROOM}.view(2, -1)\nc = {ROOM}", ""),
                                         (f"a, b = {ROOM}, {ROOM}", f"self.a = {ROOM}")])  # fmt: skip
def test_tensors_that_the_gpu_has_no_room_for_are_out_of_memory(lines: str, init: str) -> None:
    with pytest.raises(Failure) as caught:
        record(forward(lines, init), X, gpu=SMALL_GPU)
    assert caught.value.type == "OutOfMemoryError"
    record(forward(lines, init), X)


def test_memory_that_was_given_up_is_not_taken_for_that_which_has_its_address() -> None:
    """A counter of batches is a tensor of one number until its module resets it to 0."""
    init = """
self.bns = nn.Sequential(*[nn.BatchNorm1d(4) for _ in range(3)])
self.tables, self.counts = [], []
for i in range(8):
    self.counts.append(torch.tensor(i))
    self.counts[-1].zero_()
    self.tables.append(torch.linspace(i, i + 1, 4).to(torch.bfloat16))
"""
    lines = """
for count in self.counts:
    launch('step', (1,), x=count)
y = x.new_empty(8, 4)
for i, table in enumerate(self.tables):
    launch('twice', (1,), x=table, y=y[i])
"""
    recording = record(forward(lines, init, last="\n        return y\n"), torch.empty(4))
    wanted = torch.stack([torch.linspace(i, i + 1, 4).to(torch.bfloat16) for i in range(8)])
    assert torch.equal(Execution(recording).call(torch.zeros(4)), wanted.float() * 2)


def test_a_constant_that_a_kernel_writes_to_may_be_returned() -> None:
    body = forward("", last="""
        t = torch.arange(24.0, device=x.device).view(4, 6)
        launch("add_to", (1,), x=x, y=t)
        return t
""")  # fmt: skip
    found = repeats(body, X)
    assert sorted(found.kinds()) == ["const", "input", "new"]
    assert found.ops() == ["copy", "launch"]


# ---- refusals and errors ---------------------------------------------------------------


def refused(body: str, **options: object) -> Refusal:
    with pytest.raises(Refusal) as found:
        record(body, X, **options)
    return found.value


def test_no_launch_is_refused() -> None:
    assert refused(forward("", last="\n        return x.clone()\n")).rule == "no-launch"


def test_a_cached_output_is_refused() -> None:
    body = forward("", "self.y = None", last="""
        if self.y is None:
            self.y = torch.empty_like(x)
            launch("relu", (1,), x=x, y=self.y)
        return self.y
""")  # fmt: skip
    assert refused(body).rule == "no-launch"


@pytest.mark.parametrize("lines", [
    "self.n += 1\nlaunch('scale', (1,), x=x, y=x.clone(), by=self.n)",
    "self.n += 1\nfor _ in range(self.n):\n    launch('step', (1,), x=x.clone())",
    "launch('add_to', (1,), x=torch.rand(6, device='cuda'), y=x.clone())",
    "z = x.clone()\nlaunch('add_to', (1,), x=self.z if self.n else x, y=z)\n"
    "self.n, self.z = 1, z",
])  # fmt: skip
def test_calls_that_differ_are_refused(lines: str) -> None:
    problem = refused(forward(lines, "self.n = 0\nself.z = None"))
    assert problem.rule == "trace-varies" and "call 3" in problem.text.lower()


@pytest.mark.parametrize("init", ["self.ps = None", "self.w = torch.ones(3, device='cuda')\nself.ps = torch.tensor([self.w.data_ptr()])"])
def test_addresses_in_a_tensor_are_refused_with_what_to_do_instead(init: str) -> None:
    lines = "ps = torch.tensor([x.data_ptr(), 7], device=x.device) if self.ps is None else self.ps.to(x.device)\n" \
            "launch('add', (1,), x=x, y=ps, z=x.clone())"  # fmt: skip
    problem = refused(forward(lines, init))
    assert problem.rule == "address" and "pass offsets" in problem.text


def test_large_integers_are_no_addresses() -> None:
    lines = "n = torch.tensor([2**62, -1, 7], device=x.device)\nlaunch('twice', (1,), x=x, y=x.clone(), n=n)"
    assert record(forward(lines), X).raw["calls"]


CACHED = """
        key = {key}
        if key not in self.held:
            y = torch.empty_like(x)
            launch("relu", (1,), x=x, y=y)
            self.held[key] = y
        z = torch.empty_like(x)
        launch("relu", (1,), x=self.held[key], y=z)
        return {out}
"""


@pytest.mark.parametrize("key", ["x.data_ptr()", "id(x)", "(x.data_ptr(), x._version)", "x",
                                 "(x.data_ptr(), x.shape)", "weakref.ref(x)"])  # fmt: skip
def test_an_output_kept_by_an_inputs_address_identity_or_version_is_refused(key: str) -> None:
    for out in ("z", "self.held[key]"):
        last = CACHED.format(key=key, out=out)
        problem = refused(forward("", "self.held = {}", "import weakref", last))
        assert problem.rule == "trace-varies" and "identity, version or address" in problem.text


HELD = {
    "a workspace by shape": ("x.shape", "torch.empty_like(x)"),
    "a workspace by device and dtype": ("(x.device, x.dtype)", "torch.empty_like(x)"),
    "a table by the weight's address": ("self.fc.weight.data_ptr()", "torch.ones(4, 6, device=x.device)"),
    "packed weights by version": ("self.fc.weight._version", "self.fc.weight.t().contiguous()"),
}


@pytest.mark.parametrize("key, made", HELD.values(), ids=HELD.keys())
def test_what_does_not_depend_on_inputs_may_be_kept(key: str, made: str) -> None:
    lines = f"if {key} not in self.held:\n    self.held[{key}] = {made}\n" \
            f"launch('step', (1,), x=self.held[{key}])"
    record(forward(lines, "self.held = {}\nself.fc = nn.Linear(4, 6, bias=False)"), X,
           state=[["fc.weight", [6, 4], "float32"]])  # fmt: skip


def test_the_second_call_has_the_same_tensors_as_its_caller_gave_them() -> None:
    """What is kept of the first call is that tensor, whose new values kernels see."""
    lines = "self.first = self.first if self.first is not None and self.n == 1 else x\nself.n += 1\n" \
            "assert x.shape == (4, 6) and x.stride() == (6, 1)\nx = self.first\nx.t_()\nx = x.t()"
    found = record(forward(lines, "self.first, self.n = None, 0"), X)
    assert found.ops() == ["launch"] and len(found.calls) == 1
    same(Execution(found).call(X), X.relu())


def test_an_input_that_is_kept_is_refused() -> None:
    lines = "self.first = self.first if self.first is not None else x\n" \
            "launch('step', (1,), x=self.first)"
    assert refused(forward(lines, "self.first = None")).rule == "input-kept"


def test_an_output_that_is_no_tensor_is_refused() -> None:
    body = forward("launch('step', (1,), x=x.clone())", last="\n        return object()\n")
    problem = refused(body)
    assert problem.rule == "output-not-plain" and "object" in problem.text


def test_compilers_of_torch_are_refused() -> None:
    top = "@torch.compile\ndef relu(x):\n    return torch.relu(x)"
    assert refused(forward("y = relu(x)", top=top)).rule == "torch-compile"


def test_cuda_graphs_are_refused() -> None:
    assert refused(forward("g = torch.cuda.CUDAGraph()")).rule == "cuda-graph"


def failed(body: str, **options: object) -> Failure:
    with pytest.raises(Failure) as found:
        record(body, X, **options)
    return found.value


def test_a_tensor_on_the_cpu_does_not_reach_a_kernel_on_a_gpu() -> None:
    problem = failed(forward("launch('add_to', (1,), x=torch.ones(6), y=x.clone())"))
    assert problem.type == "Mistake" and "device='cuda:0'" in problem.text


def test_an_output_on_another_device_is_an_error() -> None:
    lines = "launch('step', (1,), x=x.clone())"
    problem = failed(forward(lines, last="\n        return x.cpu()\n"))
    assert "the output is on cpu" in problem.text


@pytest.mark.parametrize("body, stage, text", [
    ("def broken(:", "load", "SyntaxError"),
    ("import nowhere_at_all", "load", "nowhere_at_all"),
    ("class Model(nn.Module):\n    pass", "load", "defines no class ModelNew"),
    (forward("", "raise ValueError('too small')"), "init", "too small"),
    (forward("raise ValueError('too large')"), "call", "too large"),
    (forward("", "launch('step', (1,), x=torch.zeros(2))"), "init", "outside of forward"),
])  # fmt: skip
def test_an_exception_is_the_candidates_and_says_how_far_it_came(
    body: str, stage: str, text: str
) -> None:
    problem = failed(body)
    assert problem.stage == stage and text in problem.text
