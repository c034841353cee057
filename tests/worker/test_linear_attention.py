"""The collection linear_attention: each task against another form of the same mathematics, one
query or one step at a time in float64, and against the gate."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest
import torch
from judge import builds, compare, judging, truth, verdict
from shared import inputs

ROOT = Path(__file__).resolve().parents[2]
TASKS = sorted((ROOT / "tasks" / "linear_attention").glob("*.py"))
SEED = "5e" * 32
SMALL = {"B": 2, "H": 3, "T": 12, "D": 6, "C": 4, "K": 5, "V": 6, "M": 7, "G": 2, "S": 2}
SMALL_GATE = {"B": 2, "H": 2, "G": 2}
EPS = 1e-6


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def stem(path: Path) -> str:
    return path.stem


def defined(path: Path, sizes: dict[str, int]) -> str:
    """As --define does it."""
    text = path.read_text(encoding="utf-8")
    for name, value in sizes.items():
        text = re.sub(rf"^{name} = \d+", f"{name} = {value}", text, flags=re.M)
    return text


def sidecar(path: Path) -> dict:
    return json.loads(path.with_suffix(".json").read_text())


# ---- the same mathematics in another form -----------------------------------------
# q, k, v are one batch and head: (T, D). One query after the other, one key after the other.


def scores(q, k, i):
    return [float(q[i] @ k[j]) * q.shape[1] ** -0.5 for j in range(i + 1)]


def weighted(weights, v):
    return sum(w * v[j] for j, w in enumerate(weights))


def based(q, k, v):
    rows = [[1 + x + x * x / 2 for x in scores(q, k, i)] for i in range(len(q))]
    return [weighted(w, v) / (sum(w) + EPS) for w in rows]


def rebased(q, k, v):
    rows = [[x * x for x in scores(q, k, i)] for i in range(len(q))]
    return [weighted(w, v) / (sum(w) + EPS) for w in rows]


def retention(q, k, v, head):
    """Step by step: the state forgets, and takes up the outer product."""
    state, out = torch.zeros(q.shape[1], v.shape[1]), []
    for t in range(len(q)):
        state = (1 - 2.0 ** (-5 - head)) * state + torch.outer(k[t], v[t])
        out.append(state.T @ q[t] * q.shape[1] ** -0.5)
    return out


def linear(q, k, v):
    return [weighted(scores(q, k, i), v) for i in range(len(q))]


def selected(q, k, v, chosen, block):
    out = []
    for i in range(len(q)):
        keys = [j for j in range(i + 1) if j // block in chosen[i].tolist()]
        assert keys, "every query has something to attend to"
        s = torch.tensor([scores(q, k, i)[j] for j in keys])
        p = (s - s.max()).exp()
        out.append(sum(a * v[j] for a, j in zip(p / p.sum(), keys)))
    return out


def delta(q, k, v, beta, g):
    """By the matrices (I - beta k k^T) exp(g), not by what is stored under a key."""
    width, out = q.shape[1], []
    state = torch.zeros(width, v.shape[1])
    for t in range(len(q)):
        forget = torch.eye(width) - beta[t] * torch.outer(k[t], k[t])
        state = forget @ (state * g[t].exp()) + beta[t] * torch.outer(k[t], v[t])
        out.append(state.T @ q[t] * width**-0.5)
    return out


def gated(q, k, v, g):
    """Gates of shape (T,) or (T, D); by the product of the decays between key and query."""
    g, out = g.reshape(len(q), -1).expand(len(q), q.shape[1]), []
    for i in range(len(q)):
        rows = [(q[i] * k[j] * g[j + 1 : i + 1].sum(0).exp()).sum() for j in range(i + 1)]
        out.append(weighted(rows, v) * q.shape[1] ** -0.5)
    return out


def slots(q, k, v, s, g):
    """Every slot is a sum over the past of what was written, times the decays since."""
    out = []
    for i in range(len(q)):
        left = torch.stack([s[j] * g[j + 1 : i + 1].sum(0).exp() for j in range(i + 1)])  # (i+1, M)
        p = torch.softmax((left.T @ k[: i + 1]) @ q[i] * q.shape[1] ** -0.5, 0)
        out.append(p @ (left.T @ v[: i + 1]))
    return out


def heads_first(args, layout):
    """(B, T, H, …) to (B, H, T, …)."""
    return [a if layout[1] == "head" else a.transpose(1, 2) for a in args]


def brute_force(name: str, args: list, layout: list[str]) -> torch.Tensor:
    parts = heads_first(args, layout)
    form = {
        "01": based, "02": rebased, "04": linear, "05": based, "08": delta, "10": gated,
        "11": gated, "12": slots, "09": lambda q, k, v, b: delta(q, k, v, b, torch.zeros_like(b)),
    }.get(name[:2])  # fmt: skip
    out = []
    for b in range(len(parts[0])):
        for h in range(parts[0].shape[1]):
            if name[:2] == "06":
                own = h // SMALL["G"]
                one = selected(parts[0][b, h], *(p[b, own] for p in parts[1:]), SMALL["C"])
            elif name[:2] in ("03", "07"):
                one = retention(*(p[b, h] for p in parts), h)
            else:
                one = form(*(p[b, h] for p in parts))
            out.append(torch.stack(one))
    result = torch.stack(out).reshape(*parts[0].shape[:2], *out[0].shape)
    return result if layout[1] == "head" else result.transpose(1, 2)


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("path", TASKS, ids=stem)
def test_a_task_computes_what_its_mathematics_says(path: Path, double: None) -> None:
    space = inputs.namespace(defined(path, SMALL), "small")
    torch.manual_seed(7)
    args = space["get_inputs"]()
    got = space["Model"](*space["get_init_inputs"]())(*args)
    layout = sidecar(path)["tolerance"]["dimensions"]
    want = brute_force(path.name, args, layout)
    assert got.dtype == torch.float64 and got.shape == want.shape
    assert float((got - want).abs().max()) < 1e-12 * max(1.0, float(want.abs().max()))


def test_there_are_12_tasks_each_with_a_sidecar() -> None:
    assert [int(p.name[:2]) for p in TASKS] == list(range(1, 13))
    assert all(p.with_suffix(".json").exists() for p in TASKS)


@pytest.mark.parametrize("path", TASKS, ids=stem)
def test_outputs_have_the_inputs_dtype_and_are_of_order_one(path: Path) -> None:
    space = inputs.namespace(defined(path, SMALL_GATE), "bf16")
    torch.manual_seed(7)
    args = inputs.cast(space["get_inputs"](), "cpu", torch.bfloat16)
    out = space["Model"](*space["get_init_inputs"]())(*args)
    assert out.dtype == torch.bfloat16
    assert 0.1 < float(out.float().square().mean().sqrt()) < 10


@pytest.mark.parametrize("path", TASKS, ids=stem)
def test_the_model_has_what_forward_and_the_sidecar_name(path: Path) -> None:
    space = inputs.namespace(path.read_text(), "names")
    names = list(inspect.signature(space["Model"].forward).parameters)[1:]
    assert set(sidecar(path).get("inputs", {})) <= set(names)
    assert len(names) == len(space["get_inputs"]())


@pytest.mark.parametrize("path", [p for p in TASKS if "\nC = " in p.read_text()], ids=stem)
def test_a_length_that_does_not_fit_is_refused_with_its_reason(path: Path) -> None:
    with pytest.raises(ValueError, match="T = 100 is not a multiple of the (chunk|block), C = "):
        inputs.namespace(defined(path, {"T": 100}), "odd")


def test_blocks_of_sparse_attention_are_sorted_different_and_never_ahead() -> None:
    path = next(p for p in TASKS if p.name.startswith("06"))
    for sizes in ({"B": 1, "S": 16}, {"B": 1}):
        space = inputs.namespace(defined(path, sizes), "blocks")
        chosen = space["get_inputs"]()[3]
        assert chosen.dtype == torch.int64 and chosen.shape[-1] == space["S"]
        for i, row in enumerate(chosen[0, :, 0].tolist()):
            held = [b for b in row if b >= 0]
            assert held == sorted(set(held)) and row == held + [-1] * (len(row) - len(held))
            assert len(held) == min(space["S"], i // 64 + 1) and max(held) <= i // 64


# ---- the gate ----------------------------------------------------------------------


def job(path: Path, precision: str, sizes: dict[str, int], spec: dict | None = None) -> dict:
    return {
        "kind": "task", "device": "cpu", "precision": precision, "self_test": True, "seed": SEED,
        "protocol": "hardened",
        "task": {"id": f"linear_attention/{path.stem}", "source": defined(path, sizes),
                 "sidecar": sidecar(path) if spec is None else spec},
    }  # fmt: skip


def look(asked: dict) -> dict:
    """The judge's own answer to a job that asks about a task."""
    steps = verdict.run_job(asked, {}, builds.Builds(None), None)
    with pytest.raises(StopIteration) as end:
        next(steps)
    return end.value.value


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("path", TASKS, ids=stem)
def test_a_task_is_passed_by_the_right_answer_alone(path: Path, precision: str) -> None:
    answer = look(job(path, precision, SMALL_GATE))
    assert answer["usable"], answer["reasons"]
    assert [name for name, passes in answer["self_test"].items() if passes] == ["perfect", "literal"]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("path", TASKS, ids=stem)
def test_every_changed_input_that_a_sidecar_names_is_legal_and_tried(
    path: Path, precision: str
) -> None:
    reference = verdict.make_reference(job(path, precision, {"B": 5, "H": 1, "G": 2, "D": 16}))
    names = list(inspect.signature(reference.space["Model"].forward).parameters)[1:]
    plain = dict(zip(names, reference.make(1, "plain")))
    for variant in truth.variants(reference):
        expected = reference.fresh().expect(1, variant)  # Unusable: it would be skipped
        given = dict(zip(names, expected.args))
        assert any(not torch.equal(given[n], plain[n]) for n in names)
        for gate in {"g", "gk"} & set(names):
            assert float(given[gate].max()) <= 0
        for share in {"beta", "s"} & set(names):
            assert 0 <= float(given[share].min()) and float(given[share].max()) <= 1
        if path.name[:2] in ("08", "09"):
            assert float((given["k"].float().norm(dim=-1) - 1).abs().max()) < 0.01
        if "block_indices" in names:
            assert torch.equal(given["block_indices"], plain["block_indices"])


# ---- the tolerance ------------------------------------------------------------------


class TensorCores(torch.overrides.TorchFunctionMode):
    """Products of bfloat16 operands, added up in float32: what an honest kernel computes."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in (torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__, torch.einsum):
            args = [a.bfloat16().float() if isinstance(a, torch.Tensor) else a for a in args]
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("path", TASKS, ids=stem)
def test_honest_bf16_products_pass(path: Path) -> None:
    reference = verdict.make_reference(job(path, "bf16", SMALL_GATE))
    expected = reference.fresh().expect(5, "plain")
    model = reference.space["Model"](*reference.space["get_init_inputs"]())
    with TensorCores():
        got = model(*expected.args)
    errors, _, right = expected.judge(0, got)
    assert right and 1e-3 < errors.worst.ratio < 8e-3
    assert not torch.equal(got, expected.eager[0])


WRONG_DECAY = {"T": 4096, "B": 1, "D": 16}


def wrong_decay(heads: str) -> tuple[truth.Expected, torch.Tensor]:
    """Chunked retention that counts one step too many, in these heads, and what is right."""
    path = next(p for p in TASKS if p.name.startswith("07"))
    expected = verdict.make_reference(job(path, "bf16", WRONG_DECAY)).fresh().expect(5, "plain")
    text = defined(path, WRONG_DECAY)
    text = text.replace(".clamp_min(0) * log", f".clamp_min(0) * log_gamma + {heads} * log")
    text = text.replace("+ 1) * log", f"+ 1) * log_gamma + {heads} * log")
    space = inputs.namespace(text, "wrong")
    assert text.count(heads) == 2
    return expected, space["Model"](*space["get_init_inputs"]())(*expected.args)


def test_a_decay_that_is_off_by_one_passes_the_stock_check_and_is_refused() -> None:
    expected, got = wrong_decay("1.0")
    errors, limit, right = expected.judge(0, got)
    assert errors.stock_close and not right
    assert 0.025 < errors.worst.ratio < 0.035 and errors.worst.place == "batch 0, head 0"


def test_where_one_head_is_off_its_slice_shows_it() -> None:
    expected, got = wrong_decay("(head[:, None, None] == 0)")
    errors, limit, right = expected.judge(0, got)
    assert errors.stock_close and errors.outlier <= limit[1]
    assert not right and errors.worst.place == "batch 0, head 0" and errors.ratio > limit[0]
    p = judging.Progress()
    with pytest.raises(judging.Verdict) as end:
        judging.judge_trial({"protocol": "hardened"}, p, [got], expected, "plain")
    assert end.value.verdict == "wrong_values"
    assert "error ratio 3.1e-02 in batch 0, head 0, where 1.0e-02 is allowed." in end.value.text
    assert p.checks == ["kernelbench", "hardened", "error_ratio"]
    assert 0.03 < p.slice_ratio < 0.032 and p.trials[0]["slice_ratio"] == p.slice_ratio
    p = judging.Progress()
    judging.judge_trial({"protocol": "kernelbench"}, p, [got], expected, "plain")
    assert p.checks == ["kernelbench"] and p.slice_ratio > 0.03


def test_zeros_and_values_that_are_not_finite_do_not_pass() -> None:
    path = TASKS[0]
    expected = verdict.make_reference(job(path, "bf16", SMALL_GATE)).fresh().expect(5, "plain")
    errors, _, right = expected.judge(0, torch.zeros_like(expected.eager[0]))
    assert not right and errors.worst.ratio == pytest.approx(1)
    broken = expected.eager[0].clone()
    broken[1, 0, 3, 3] = float("nan")
    errors, _, right = expected.judge(0, broken)
    assert not right and errors.worst.ratio == float("inf")
    assert errors.worst.place == "batch 1, head 0"


@pytest.mark.parametrize(
    "spec, reason",
    [
        ([], None),  # what a task without a sidecar has
        ({"tolerances": {}}, "/tolerances: unknown key; there are variants, inputs, tolerance"),
        ({"variants": "signed"}, '/variants: must be a list of words, not "signed"'),
        ({"variants": ["sined"]}, "/variants: 'sined' is not one of signed, permuted, scaled"),
        ({"variants": ["signed", "signed"]}, "/variants: a word stands there twice"),
        ({"inputs": ["q"]}, '/inputs: must be an object, not ["q"]'),
        ({"inputs": {"q": True}}, "/inputs/q: must be a list of words, not true"),
        ({"inputs": {"gate": []}}, "/inputs/gate: forward has no such argument; it has q, k, v"),
        ({"tolerance": 0.01}, "/tolerance: must be an object, not 0.01"),
        ({"tolerance": {"error_ratio": 0.01, "per": []}}, "/tolerance/dimensions: is missing"),
        ({"tolerance": {"ratio": 0.01}}, "/tolerance/ratio: unknown key; there are error_ratio"),
        ({"tolerance": {"error_ratio": "1 %", "dimensions": [], "per": []}},
         '/tolerance/error_ratio: must be a number between 0 and 1, not "1 %"'),
        ({"tolerance": {"error_ratio": True, "dimensions": [], "per": []}},
         "/tolerance/error_ratio: must be a number between 0 and 1, not true"),
        ({"tolerance": {"error_ratio": 0.01, "dimensions": ["b", "h"], "per": ["t"]}},
         "/tolerance/per: 't' is not one of b, h"),
        ({"tolerance": {"error_ratio": 0.01, "dimensions": ["b", "h"], "per": ["h"]}},
         "/tolerance/dimensions: names 2, but output 0 has the shape [1, 1, 4, 4]"),
    ],
)  # fmt: skip
def test_a_bad_sidecar_is_refused_with_file_and_key(spec: object, reason: str | None) -> None:
    answer = look(job(TASKS[0], "fp32", {"B": 1, "H": 1, "T": 4, "D": 4}, spec))
    if reason is None:
        assert answer["usable"]
        return
    assert not answer["usable"] and len(answer["reasons"]) == 1
    assert answer["reasons"][0].startswith(f"01_parallel_based.json: {reason}")


def test_slices_are_those_of_the_named_dimensions() -> None:
    truth_, x = torch.ones(2, 3, 4, 5), torch.ones(2, 3, 4, 5)
    x[1, :, 2] += 0.5
    for axes, place, ratio in (([0, 2], [1, 2], 0.5), ([2, 0], [2, 1], 0.5), ([0], [1], 0.25), ([], [], 0.125**0.5 / 2)):
        found = compare.worst_slice(x, truth_, axes)
        assert found[1] == place and found[0] == pytest.approx(ratio)
    truth_[0, 0] *= 1e-9  # a slice of nearly nothing counts as a hundredth of the whole
    assert compare.worst_slice(truth_ + 1e-6, truth_, [0, 1])[0] < 2e-4
