"""Parameters, what is made of them before forward, and values that nobody needs."""

from __future__ import annotations

import resource

import pytest
import torch
from recording import Execution, Refusal, forward, model, record, repeats, same, state_of

X = torch.arange(24, dtype=torch.float32).reshape(4, 6) - 7


PACKED = {
    "transposed": "self.w = self.lin.weight.t().contiguous()",
    "of the data": "self.w = self.lin.weight.data.t().clone()",
    "detached": "self.w = self.lin.weight.detach().transpose(0, 1).contiguous()",
    "a buffer": 'self.register_buffer("w", self.lin.weight.t().contiguous())',
    "a parameter": "self.w = nn.Parameter(self.lin.weight.t().contiguous(), requires_grad=False)",
    "a view": "self.w = self.lin.weight.t()",
    "a padded copy": "w = torch.zeros(8, 8)\nw[:6, :6] = self.lin.weight.t()\n"
                     "self.w = w[:6, :6]",
    "padded by F.pad": "self.w = F.pad(self.lin.weight.t(), (0, 2))[:, :6]",
    "in a dictionary": 'self.packs = {"w": self.lin.weight.t().contiguous()}\n'
                       'self.w = self.packs["w"]',
    "a part of a concatenation": "self.w = torch.cat([self.lin.weight, self.lin.weight])[:6].t()",
    "through another dtype": "self.w = self.lin.weight.double().t().contiguous().float()",
}  # fmt: skip
MATMUL = """
        y = torch.empty_like(x)
        launch("matmul", (1,), x=x, w=self.w, y=y)
        return y
"""


@pytest.mark.parametrize("line", PACKED.values(), ids=PACKED.keys())
def test_weights_that_were_moved_in_init_are_made_of_any_weights(line: str) -> None:
    body = forward("", "self.lin = nn.Linear(6, 6)\n" + line, last=MATMUL)
    state = [["lin.weight", [6, 6], "torch.float32"], ["lin.bias", [6], "torch.float32"]]
    found = repeats(body, X, state=state)
    assert "packed" not in found.raw and found.blob == b""


@pytest.mark.parametrize("precision, dtype", [("fp16", torch.float16), ("bf16", torch.bfloat16)])
def test_packed_weights_follow_the_cast(precision: str, dtype: torch.dtype) -> None:
    body = forward(
        "", 'self.lin = nn.Linear(6, 6)\nself.register_buffer("w", self.lin.weight.t().clone())',
        last=MATMUL,
    )  # fmt: skip
    name = str(dtype)
    state = [["lin.weight", [6, 6], name], ["lin.bias", [6], name]]
    x = X.to(dtype)
    found = record(body, x, state=state, precision=precision)
    w = torch.randn(6, 6).to(dtype)
    got = Execution(found, {"lin.weight": w, "lin.bias": w[0]}).call(x)
    same(got, (x.float() @ w.float().t()).to(dtype))
    assert "packed" not in found.raw


@pytest.mark.parametrize("line", [
    "self.w = self.lin.weight.detach() * 2",
    "self.w = (self.lin.weight / self.lin.weight.norm()).t()",
    "self.w = self.lin.weight.detach().to(torch.int32).float()",
    "self.w = self.lin.weight.detach().clone()\nself.w += 1",
])  # fmt: skip
def test_weights_that_were_computed_in_init_are_constants_and_said_to_be_packed(line: str) -> None:
    body = forward("", "self.lin = nn.Linear(6, 6)\n" + line, last=MATMUL)
    mine = model(body, seed=1)
    found = record(body, X, state=state_of(mine)[:2], claims="cpu", seed=1)
    assert found.raw["packed"] is True
    with torch.no_grad():
        same(Execution(found, mine.state_dict()).call(X), mine(X))


def test_what_the_parameter_was_cast_from_is_made_of_the_parameter() -> None:
    init = "self.lin = nn.Linear(6, 6)\nself.w = self.lin.weight.data"
    state = [["lin.weight", [6, 6], "torch.bfloat16"]]
    found = record(forward("", init, last=MATMUL), X, state=state, precision="bf16")
    w = torch.randn(6, 6).bfloat16()
    same(Execution(found, {"lin.weight": w}).call(X), X @ w.float())


def test_a_literal_that_a_parameter_was_copied_from_stays_a_literal() -> None:
    init = "w = torch.eye(6)\nself.lin = nn.Parameter(w.clone())\nself.w = w"
    state = [["lin", [6, 6], "torch.float32"]]
    found = record(forward("", init, last=MATMUL), X, state=state)
    same(Execution(found, {"lin": torch.rand(6, 6)}).call(X), X)
    assert "packed" not in found.raw


def test_a_table_that_forward_changes_is_memory_of_its_own() -> None:
    found = repeats(forward("self.w[0] = x[0]", "self.w = torch.eye(6)", last=MATMUL), X)
    assert [n["op"] for n in found.raw["setup"]["nodes"]] == ["copy"]
    assert found.ops() == ["copy", "launch"] and "const" not in found.kinds()


def test_a_pack_of_weights_that_change_later_is_not_made_of_them() -> None:
    init = "self.lin = nn.Linear(6, 6)\nself.w = self.lin.weight.t().clone()\n" \
           "nn.init.ones_(self.lin.weight)"
    state = [["lin.weight", [6, 6], "torch.float32"]]
    found = record(forward("", init, last=MATMUL), X, state=state)
    assert found.raw["packed"] is True


def test_packed_weights_may_not_be_computed_with_in_forward() -> None:
    init = "self.lin = nn.Linear(6, 6)\nself.w = self.lin.weight.t().clone()"
    state = [["lin.weight", [6, 6], "torch.float32"]]
    with pytest.raises(Refusal) as refused:
        record(forward("w = self.w * 2", init), X, state=state)
    assert refused.value.rule == "dispatch:aten.mul"


def test_tables_of_literals_are_constants() -> None:
    init = "self.w = (torch.arange(36.0).view(6, 6) / 7).sin()\n" \
           'self.register_buffer("small", self.w.half())'
    found = repeats(forward("", init, last=MATMUL), X, state=[])
    assert found.kinds() == ["input", "const", "new"] and found.raw["state"] == []


def test_tables_of_the_module_are_constants() -> None:
    top = "TABLE = torch.tensor([1.0, 2, 3, 4, 5, 6], device='cuda')"
    found = record(forward("", top=top, last="""
        y = torch.empty_like(x)
        assert TABLE.is_cuda
        launch("add", (1,), x=x, y=TABLE, z=y)
        return y
"""), X)  # fmt: skip
    same(Execution(found).call(X), X + torch.arange(1.0, 7))


def test_state_is_matched_by_name() -> None:
    body = forward("", "self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 6)\nself.w = self.a.weight",
                   last=MATMUL)  # fmt: skip
    state = [["a.weight", [6, 6], "torch.float32"], ["a.bias", [6], "torch.float32"]]
    found = record(body, X, state=state)
    names = [["a.weight", [6, 6], "float32", "parameter"], ["a.bias", [6], "float32", "parameter"]]
    assert found.raw["state"] == names


def test_state_with_other_names_is_matched_by_shape_in_order() -> None:
    init = "self.w = nn.Parameter(torch.rand(6, 6))\nself.b = nn.Parameter(torch.rand(6))"
    body = forward("", init, last=MATMUL)
    state = [["lin.weight", [6, 6], "torch.float32"], ["lin.bias", [6], "torch.float32"]]
    found = record(body, X, state=state)
    assert [entry[0] for entry in found.raw["state"]] == ["w", "b"]
    assert {"kind": "state", "name": "w"} in found.calls[0]["buffers"]


def test_state_that_matches_nothing_is_a_constant() -> None:
    body = forward("", "self.w = nn.Parameter(torch.rand(6, 6))", last=MATMUL)
    found = record(body, X, state=[["lin.weight", [3, 3], "torch.float32"]])
    assert found.raw["state"] == [] and found.kinds() == ["input", "const", "new"]


def test_state_that_is_not_contiguous_is_laid_out_in_the_setup() -> None:
    body = forward("", "self.w = nn.Parameter(torch.rand(6, 6).t())", last=MATMUL)
    found = repeats(body, X)
    assert [n["op"] for n in found.raw["setup"]["nodes"]] == ["copy"]


def test_shared_weights_are_one_buffer() -> None:
    body = forward(
        "", "self.a = nn.Linear(6, 6)\nself.b = nn.Linear(6, 6)\nself.b.weight = self.a.weight",
        last="""
        y, z = torch.empty_like(x), torch.empty_like(x)
        launch("linear", (1,), x=x, w=self.a.weight, b=self.a.bias, y=y)
        launch("linear", (1,), x=y, w=self.b.weight, b=self.b.bias, y=z)
        return z
""")  # fmt: skip
    found = repeats(body, X)
    assert sum(b.get("name", "").endswith("weight") for b in found.calls[0]["buffers"]) == 1


def test_unsettled_layers_are_built_as_the_judge_builds_them() -> None:
    body = forward("", "self.w = nn.LayerNorm(6)", last="""
        y = torch.empty_like(x)
        launch("add", (1,), x=x, y=self.w.weight, z=y)
        return y
""")  # fmt: skip
    plain = record(body, X, state=[["other", [1], "torch.float32"]])
    noisy = record(body, X, state=[["other", [1], "torch.float32"]], unsettled=True)
    assert plain.kinds()[1] == "kept" and noisy.kinds()[1] == "const"
    assert torch.frombuffer(bytearray(noisy.blob), dtype=torch.float32).std() > 0.01


def test_init_arguments_come_from_the_task() -> None:
    body = """
        class ModelNew(nn.Module):
            def __init__(self, n, scale, table):
                super().__init__()
                self.n, self.scale, self.table = n, scale, table

            def forward(self, x):
                y = torch.empty_like(x)
                launch("scale", (self.n,), x=x, y=y, by=self.scale)
                launch("add_to", (1,), x=self.table, y=y)
                return y
        """
    found = repeats(body, X, init="[3, 0.5, torch.arange(6.0)]")
    assert found.nodes()[0]["grid"] == [3] and found.nodes()[0]["args"]["by"] == 0.5


# ---- random numbers that nobody needs ---------------------------------------------------


def test_parameters_are_not_drawn_where_nobody_needs_their_values() -> None:
    body = forward("", "self.lin = nn.Linear(20000, 20000)\nself.w = self.lin.weight[:6, :6]",
                   last=MATMUL)  # fmt: skip
    state = [["lin.weight", [20000, 20000], "torch.float32"]]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    found = record(body, X, state=state)
    assert found.kinds() == ["input", "state", "new"]
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert used < 2  # 1.6 GB of random numbers take longer


@pytest.mark.parametrize("line", [
    "self.w = self.lin.weight.detach()[:6, :6] * 2",
    "self.w = torch.rand(6, 6)",
    "g = torch.randn(1000, 1000)\nself.w = g[:6, :6] + self.lin.weight.detach()[:6, :6]",
    "torch.manual_seed(7)\nself.w = torch.rand(6, 6)",
    "nn.init.normal_(self.lin.weight)\nself.w = self.lin.weight.detach()[:6, :6].abs()",
    "self.w = torch.full((6, 6), self.lin.weight.abs().max().item())",
])  # fmt: skip
def test_random_numbers_are_those_that_would_have_been_drawn(line: str) -> None:
    body = forward("", "self.lin = nn.Linear(1000, 1000)\n" + line, last=MATMUL)
    mine = model(body, seed=1)
    found = record(body, X, state=state_of(mine)[:2], claims="cpu", seed=1)
    with torch.no_grad():
        same(Execution(found, mine.state_dict()).call(X), mine(X))


def test_a_generator_of_ones_own_is_not_put_off() -> None:
    body = forward("", "self.lin = nn.Linear(1000, 1000)\nself.norm = nn.LayerNorm(6)\n"
                       "self.w = torch.rand(6, 6, generator=torch.Generator().manual_seed(5))",
                   last=MATMUL)  # fmt: skip
    found = record(body, X, unsettled=True, claims="cpu")
    w = torch.rand(6, 6, generator=torch.Generator().manual_seed(5))
    same(Execution(found).call(X), X @ w)
