"""What torch may do with data in forward: the trace has copies and fills that do the same."""

from __future__ import annotations

import pytest
import torch
from recording import Failure, Refusal, record, repeats

X = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
END = """
        y = torch.empty_like(z)
        launch("twice", (1,), x=z, y=y)
        return y
"""


def forward(lines: str) -> str:
    body = "\n".join("        " + line for line in lines.splitlines())
    return f"class ModelNew(nn.Module):\n    def forward(self, x):\n{body}{END}"


@pytest.mark.parametrize("line", [
    "z = x.clone()",
    "z = x.transpose(1, 2).contiguous()",
    "z = x.permute(2, 0, 1)",
    "z = x.permute(2, 0, 1).reshape(-1)",
    "z = x[:, 1:, ::2]",
    "z = x[1]",
    "z = x[..., None].expand(2, 3, 4, 5)",
    "z = x[..., None].expand(2, 3, 4, 5).contiguous()",
    "z = x.half()",
    "z = x.to(torch.bfloat16).float()",
    "z = x.to(torch.float64)",
    "z = x.to(torch.float8_e5m2).to(torch.float16)",
    "z = x.to(x.device)",
    "z = x.type(torch.float16)",
    "z = torch.cat([x, x[:, :1]], dim=1)",
    "z = torch.cat([x, x.half()], dim=-1)",
    "z = torch.cat([torch.empty(0), x.flatten()])",
    "z = torch.stack([x, x, x], dim=-2)",
    "z = torch.hstack([x, x])",
    "z = torch.vstack((x, x))",
    "z = F.pad(x, (1, 2))",
    "z = F.pad(x, (1, 0, 2, 1), value=float('-inf'))",
    "z = F.pad(x, (-1, 3, 0, -1))",
    "z = F.pad(x, (1, 1), mode='circular')",
    "z = x.repeat(2, 1, 3)",
    "z = x.repeat(3, 1, 1, 2)",
    "z = x.tile(2)",
    "z = x.repeat_interleave(3, dim=1)",
    "z = x.flip(0, 2)",
    "z = x.flip(-1)[..., 1:]",
    "z = torch.roll(x, 1, dims=1)",
    "z = torch.roll(x, (-1, 5), dims=(0, 2))",
    "z = x.roll(7)",
    "z = x.unfold(2, 2, 1)",
    "z = torch.cat(x.split(1, dim=1)[::-1], dim=1)",
    "z = torch.stack(list(x))",
    "z = x.view(6, 4).t()",
    "z = x.view(6, 4).T.reshape(2, 12)",
    "z = x.narrow(1, 1, 2)",
    "z = torch.cat(x.chunk(2, dim=-1))",
    "z = x[:, [2, 0, 1]]",
    "z = x[[1, 0]]",
    "z = x.index_select(2, torch.tensor([3, 3, 0, 1, 2]))",
    "z = x.squeeze().unsqueeze(0).movedim(0, -1)",
    "z = torch.zeros_like(x)\nz[:, 1:] = x[:, :-1]",
    "z = torch.empty_like(x)\nz.copy_(x)",
    "z = torch.empty(2, 5, 4)\nz[:, :1] = 7\nz[:, 1:4] = x\nz[:, 4].zero_()",
    "z = x.new_full((2, 6), 0.5)\nz[:, 2:5] = x[:, :, 0]",
    "z = x.clone()\nz[0, 1, 2] = 5.0",
    "z = x.clone()\nz[0] = torch.tensor(3.0)",
    "z = x.clone()\nz[:, 0] = z[:, 1]",
    "z = x.clone()\nz[...] = x[0, 0]",
    "z = x.clone()\nz.transpose_(0, 1)",
    "z = x.clone().unsqueeze_(0)",
    "z = torch.empty_strided((2, 3, 4), (1, 2, 6))\nz.copy_(x)",
    "z = x.contiguous(memory_format=torch.contiguous_format)",
    "z = x[None].to(memory_format=torch.channels_last)",
    "z = torch.cat([x, torch.zeros(1, 3, 4), torch.full((1, 3, 4), 2.5)])",
    "z = torch.cat([x[0, 0], torch.arange(3.0)])",
    "z = torch.zeros(2, 3, dtype=torch.bfloat16)",
    "z = x.data.detach()",
    "z = torch.broadcast_to(x[0], (5, 3, 4))",
    "z = x.new_zeros(3) if x.numel() > 1 else x",
    "z = torch.empty(0, 3)",
    "z = x.view(torch.int32).contiguous().view(torch.float32)",
    "a = torch.zeros(4, 4)\na[1] = 1\na[:, 2] = 3\nz = a.tril()",
])  # fmt: skip
def test_a_move_is_recorded_as_copies_and_fills(line: str) -> None:
    found = repeats(forward(line), X)
    assert set(found.ops()) <= {"copy", "fill", "launch"}


@pytest.mark.parametrize("line", [
    "z = torch.arange(12.0)",
    "z = torch.linspace(0, 1, 5)",
    "z = torch.eye(4)",
    "z = torch.tril(torch.ones(5, 5))",
    "z = torch.full((4, 4), float('-inf')).triu(1)",
    "z = torch.arange(8)[None] - torch.arange(8)[:, None]",
    "z = (torch.arange(6) % 2 == 0).float()",
    "z = torch.tensor([[1, 2], [3, 4]], dtype=torch.float16).t().contiguous()",
    "z = 10000.0 ** (-torch.arange(0, 8, 2).float() / 8)",
    "z = torch.outer(torch.arange(4.0), torch.arange(3.0)).cos()",
    "import numpy as np\nz = torch.from_numpy(np.hanning(8).astype('float32'))",
    "z = torch.zeros(3) + float(torch.arange(4.0).sum())",
    "z = torch.ones(4) * len(torch.arange(7).tolist())",
])  # fmt: skip
def test_what_is_made_of_literals_is_a_constant(line: str) -> None:
    found = repeats(forward(line), X)
    assert found.ops() == ["launch"] and "const" in found.kinds()


def test_a_zeroed_buffer_is_memory_and_a_fill_not_a_constant() -> None:
    found = repeats(forward("z = torch.zeros(1 << 20)"), X)
    assert found.ops() == ["fill", "launch"] and found.blob == b""


def test_a_kernel_sees_a_view_as_it_is() -> None:
    found = repeats(forward("z = x.transpose(0, 2)[1:]"), X)
    view = found.nodes()[0]["args"]["x"]["t"]
    assert view[2:] == [1, [3, 3, 2], [1, 4, 12]] and found.ops() == ["launch"]


def test_a_counter_of_the_state_is_counted() -> None:
    found = repeats(
        """
        class ModelNew(nn.Module):
            def __init__(self):
                super().__init__()
                self.bn = nn.BatchNorm1d(4)

            def forward(self, x):
                self.bn.num_batches_tracked += 1
                self.bn.num_batches_tracked.add_(1)
                y = torch.empty_like(x)
                launch("twice", (1,), x=x, y=y)
                return y
        """,
        X,
    )
    assert found.ops() == ["add", "add", "launch"]


@pytest.mark.parametrize("name", ["self.mean.copy_(z)", "self.mean = z", "self.mean[:] = z"])
def test_a_new_value_of_a_buffer_reaches_the_state(name: str) -> None:
    found = repeats(
        f"""
        class ModelNew(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(4))

            def forward(self, x):
                z = torch.empty(4)
                launch("twice", (1,), x=x[0, 0], y=z)
                {name}
                return z.clone()
        """,
        X,
    )
    assert found.ops() == ["launch", "copy", "copy"]


# ---- refusals ------------------------------------------------------------------------


@pytest.mark.parametrize("line, rule", [
    ("z = torch.relu(x)", "dispatch:aten.relu"),
    ("z = x * 2", "dispatch:aten.mul"),
    ("z = x + x", "dispatch:aten.add"),
    ("z = x.clone(); z.mul_(0.5)", "dispatch:aten.mul_"),
    ("z = x @ x.transpose(1, 2)", "dispatch:aten.bmm"),
    ("z = x.sum()", "dispatch:aten.sum"),
    ("z = x.clone(); z += 1", "dispatch:aten.add_"),
    ("z = x.tril()", "dispatch:aten.tril"),
    ("z = x.to(torch.int64)", "dispatch:aten._to_copy"),
    ("z = x.bool()", "dispatch:aten._to_copy"),
    ("z = torch.empty_like(x, dtype=torch.int32); z.copy_(x)", "dispatch:aten.copy_"),
    ("z = x.clone(); z.view(torch.int32).add_(1 << 23)", "dispatch:aten.add_"),
    ("z = x.view(torch.int32).to(torch.float32)", "dispatch:aten._to_copy"),
    ("z = torch.where(torch.ones(4, dtype=torch.bool), x, 0.0)", "dispatch:aten.where"),
    ("z = x.cumsum(0)", "dispatch:aten.cumsum"),
    ("z = F.softmax(x, -1)", "dispatch:aten._softmax"),
    ("z = F.dropout(x)", "dispatch:aten.native_dropout"),
    ("z = torch.rand_like(x)", "dispatch:aten.rand_like"),
    ("z = x[x > 0]", "dispatch:aten.gt"),
    ("z = torch.linspace(0, x[0, 0, 0], 5)", "dispatch:aten.linspace"),
    ("z = x if x[0, 0, 0] > 0 else x.clone()", "dispatch:aten.gt"),
    ("z = x if x[0, 0, 0] else x.clone()", "readback:item"),
    ("z = torch.full((4,), float(x[0, 0, 0]))", "readback:item"),
    ("z = torch.full((4,), x[0, 0, 0].item())", "readback:item"),
    ("z = torch.tensor(x.tolist())", "readback:tolist"),
    ("z = torch.from_numpy(x.cpu().numpy())", "readback:numpy"),
    ("z = x.nonzero()", "readback:nonzero"),
    ("print(f'{x[0, 0, 0]}'); z = x", "readback:item"),
    ("z = x if torch.equal(x, x) else x", "readback:equal"),
])  # fmt: skip
def test_what_computes_or_reads_is_refused(line: str, rule: str) -> None:
    with pytest.raises(Refusal) as refused:
        record(forward(line), X)
    problem = refused.value
    assert problem.rule == rule
    assert "line 8" in problem.text and line.split(";")[0] in problem.text


def test_a_refusal_names_what_may_be_done_instead() -> None:
    with pytest.raises(Refusal) as refused:
        record(forward("z = torch.relu(x)"), X)
    assert "torch may allocate, fill, view, copy" in refused.value.text


@pytest.mark.parametrize("catch", ["except Exception:", "except:"])
def test_a_refusal_cannot_be_caught(catch: str) -> None:
    body = f"try:\n    z = torch.relu(x)\n{catch}\n    z = x"
    with pytest.raises(Refusal) as refused:
        record(forward(body), X)
    assert refused.value.rule == "dispatch:aten.relu"


def test_what_a_kernel_wrote_is_not_known_any_more() -> None:
    body = "z = torch.zeros(2, 4)\nlaunch('twice', (1,), x=x[:, 0], y=z)\nz = z.tril()"
    with pytest.raises(Refusal) as refused:
        record(forward(body), X, claims="cpu")
    assert refused.value.rule == "dispatch:aten.tril"


def test_constants_have_a_bound() -> None:
    with pytest.raises(Refusal) as refused:
        record(forward("z = torch.arange(1 << 25)"), X, claims="cpu")
    assert refused.value.rule == "constants"


NOT_HELD = "value cannot be converted to type"
ONE_PLACE = "refers to a single memory location. Please clone()"


@pytest.mark.parametrize("line, text", [
    ("z = torch.full((4,), 1e10, dtype=torch.float16)", NOT_HELD),
    ("z = torch.full((4,), -1e39)", NOT_HELD),
    ("z = torch.full((4,), 300, dtype=torch.uint8)", NOT_HELD),
    ("z = torch.full((4,), 1 << 40, dtype=torch.int32)", NOT_HELD),
    ("z = torch.full((4,), float('inf'), dtype=torch.int32)", NOT_HELD),
    ("z = x.half().fill_(1e5)", NOT_HELD),
    ("z = x.new_full((4,), 1e5, dtype=torch.float16)", NOT_HELD),
    ("z = F.pad(x.half(), (1, 1), value=1e5)", NOT_HELD),
    ("z = x.clone()\nz[:, 1:].copy_(z[:, :-1])", ONE_PLACE),
    ("z = x.clone()\nz[..., 1:] = z[..., :-1]", ONE_PLACE),
    ("z = x[0, :3, :3].clone()\nz.copy_(z.t())", ONE_PLACE),
    ("z = x.clone()\nz[:1].expand(2, 3, 4).copy_(x)", ONE_PLACE),
    ("z = x.clone().flatten()\nz.unfold(0, 4, 2)[:5] = x[0, 0]", ONE_PLACE),
])  # fmt: skip
def test_what_torch_raises_is_raised_when_it_is_recorded(line: str, text: str) -> None:
    with pytest.raises(Failure) as failed:
        record(forward(line), X, claims="cpu")
    assert (failed.value.stage, failed.value.type) == ("call", "RuntimeError")
    assert text in failed.value.text


@pytest.mark.parametrize("line", [
    "z = torch.full((4,), 65504, dtype=torch.float16)",
    "z = torch.full((4,), -float('inf'), dtype=torch.float16)",
    "z = torch.full((4,), 255, dtype=torch.uint8).float()",
    "z = torch.full((4,), True, dtype=torch.int8).float()",
    "z = x.clone()\nz[..., :2] = z[..., 2:]",
    "z = x.clone()\nz[..., ::2].copy_(z[..., 1::2])",
    "z = x.clone()\nz[:, 1:].copy_(z[:, :-1].clone())",
    "z = x.clone()\nz[0] = z[1]\nz.copy_(z)",
])  # fmt: skip
def test_what_torch_takes_is_recorded(line: str) -> None:
    repeats(forward(line), X)


def test_an_error_of_the_candidate_is_its_own() -> None:
    with pytest.raises(Failure) as failed:
        record(forward("z = x.view(7)"), X)
    assert failed.value.stage == "call" and failed.value.type == "RuntimeError"
    assert "shape '[7]' is invalid" in failed.value.text
