"""The right answer: what the judge says of tasks that it cannot take, what it makes of a
reference that does not run in the run's precision, which changed inputs it tries, and
what those catch."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))
sys.path.insert(0, str(Path(__file__).parent))

from judge import compare, sidecar, truth, undo  # noqa: E402
from shared import inputs  # noqa: E402
from task_text import reference, task  # noqa: E402

SEED = "5eed" * 16


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def reasons(source: str, precision: str = "fp32") -> str:
    try:
        return "; ".join(truth.gate(reference(source, precision), SEED))
    except truth.Unusable as problem:
        return str(problem)


def passes(expected: truth.Expected, *outputs: torch.Tensor) -> bool:
    return all(expected.judge(i, x.to(expected.eager[i].dtype))[2] for i, x in enumerate(outputs))


# ---- reasons ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "made, said",
    [
        ("{'x': torch.randn(4, 8)}", "get_inputs returns a dict; return a list of forward's arguments"),
        ("torch.randn(4, 8)", "get_inputs returns a Tensor; return a list of forward's arguments"),
        ("(torch.randn(4, 8) for _ in range(1))", "get_inputs returns a generator; return a list"),
        ("None", "get_inputs returns None; return a list"),
        ("[2.5]", "get_inputs returns no tensor: a kernel needs one to work on"),
        ("[torch.randn(4, 8, dtype=torch.complex64)]",
         "get_inputs()[0] is a complex64 tensor: use dense ones of real numbers"),
        ("[torch.eye(4).to_sparse()]", "get_inputs()[0] is a sparse_coo tensor"),
        ("[{'x': [torch.randn(4), slice(3)]}]", "get_inputs()[0]['x'][1] is of type slice: use tensors"),
    ],
)  # fmt: skip
def test_inputs_that_cannot_be_given_are_refused_with_the_remedy(made: str, said: str) -> None:
    assert said in reasons(task("return x * 2", inputs=made))


@pytest.mark.parametrize("made", ["{'n': 3}", "3", "None", "(i for i in [3])"])
def test_init_inputs_are_a_list(made: str) -> None:
    said = reasons(task("return x * 2", init=made))
    assert said.startswith("get_init_inputs returns ")
    assert said.endswith("; return a list of Model's arguments in order")


@pytest.mark.parametrize("made", ["(torch.randn(4, 8),)", "[torch.randn(4, 8)]"])
def test_a_tuple_of_inputs_is_as_good_as_a_list(made: str) -> None:
    assert reasons(task("return x * 2", inputs=made)) == ""


@pytest.mark.parametrize(
    "forward, said",
    [
        ("return torch.fft.fft(x)", "the output is complex64; return real numbers, as torch.view_as_real gives"),
        ("return x.to(torch.float8_e4m3fn)", "the output is float8_e4m3fn, for which there is no tolerance"),
        ("return x.to_sparse()", "the output is a sparse_coo tensor; return a dense one"),
        ("x * 2", "the reference returns no tensor: forward returns None"),
        ("return x.shape[0]", "the reference returns no tensor: forward returns the int 4"),
        ("return {x}", "output is of type set: use tensors, numbers"),
        ("return x * 2, x.sum().item()", "return tensors for what is computed"),
        ("return x * 2, int(x.argmax())", "return tensors for what is computed"),
        ("return x[x > 0]", "the output's shape depends on the inputs' values"),
        ("return x @ torch.ones(8, 2, dtype=torch.float32)",
         "the right answer is computed in float64, where the reference raises"),
    ],
)  # fmt: skip
def test_outputs_that_cannot_be_compared_are_refused_with_the_remedy(forward: str, said: str) -> None:
    assert said in reasons(task(forward))


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_float64_output_can_be_judged(precision: str) -> None:
    source = task("return x.double() * 3 + 1")
    assert reasons(source, precision) == ""
    expected = reference(source, precision).fresh().expect(1, "plain")
    assert expected.eager[0].dtype == torch.float64
    assert passes(expected, expected.truth[0] * (1 + 5e-5))
    assert not passes(expected, expected.truth[0] * (1 + 5e-3))


@pytest.mark.parametrize(
    "forward", ["return {'s': x * 2, 'n': [x + 1, None]}", "return x * 2, x.shape[0], 'sum', 0.5"]
)
def test_a_structure_that_is_the_same_for_all_inputs_is_kept(forward: str) -> None:
    assert reasons(task(forward)) == ""
    pair = reference(task(forward)).fresh()
    assert pair.expect(1, "plain").structure == pair.expect(2, "plain").structure


# ---- precisions ------------------------------------------------------------------

# A layer that has no kernel for anything but fp32 and fp64.
ONLY_WIDE = task(
    """
    if x.dtype not in (torch.float32, torch.float64):
        raise RuntimeError("not implemented for 'BFloat16'")
    self.calls += 1
    return torch.tanh(self.fc(x))
    """,
    setup="self.fc = torch.nn.Linear(8, 8)\nself.register_buffer('calls', torch.zeros(1))",
)


def test_a_reference_that_runs_only_in_fp32_is_judged_by_that() -> None:
    made = reference(ONLY_WIDE, "bf16")
    assert truth.gate(made, SEED) == []
    assert "does not run in bf16 (RuntimeError: not implemented" in made.note
    pair = made.fresh()
    for trial, variant in enumerate(["plain", "plain", "signed"]):
        expected = pair.expect(trial, variant)
        assert expected.eager[0].dtype == torch.bfloat16
        assert expected.judge(0, expected.eager[0])[1][0] == compare.FLOOR[torch.bfloat16]
        assert passes(expected, expected.truth[0] * 1.004)
        assert not passes(expected, expected.truth[0] * 1.02)
        assert expected.buffers["calls"].item() == trial + 1
    model, dtype = pair.baseline()
    assert dtype == torch.float32 and model(torch.randn(4, 8)).dtype == torch.float32


def test_a_reference_that_runs_has_nothing_to_note() -> None:
    made = reference(task("return torch.tanh(x)"), "bf16")
    pair = made.fresh()
    pair.expect(1, "plain")
    assert made.note is None and pair.baseline()[1] == torch.bfloat16


def test_inputs_that_a_reference_refuses_do_not_make_it_one_of_fp32_alone() -> None:
    forward = "assert x.dtype == torch.float32 or bool((x >= 0).all())\nreturn x * 2"
    pair = reference(task(forward, inputs="[torch.rand(4, 8)]"), "bf16").fresh()
    pair.expect(1, "plain")
    with pytest.raises(truth.Unusable, match="the reference raises AssertionError"):
        pair.expect(1, "signed")


def rounded(x: torch.Tensor) -> torch.Tensor:
    """What TF32 keeps of a float: ten bits."""
    return (x.view(torch.int32) + (1 << 12) & ~((1 << 13) - 1)).view(torch.float32)


def test_a_tf32_product_passes_under_tf32_and_fails_under_fp32() -> None:
    source = task("return a @ b", inputs="[torch.randn(64, 256), torch.randn(256, 64)]", arguments="a, b")
    for precision, right in (("tf32", True), ("fp32", False)):
        pair = reference(source, precision).fresh()
        expected = pair.expect(1, "plain")
        assert [a.dtype for a in expected.args] == [torch.float32] * 2
        assert expected.truth[0].dtype == torch.float64
        a, b = map(rounded, expected.args)
        assert passes(expected, a @ b) is right
        assert not passes(expected, (a @ b) * 1.01)


def test_buffers_are_judged_by_the_same_floor_as_outputs() -> None:
    source = task("self.last.copy_(x)\nreturn x * 2", setup="self.register_buffer('last', torch.zeros(4, 8))")
    for precision, right in (("tf32", True), ("fp32", False)):
        expected = reference(source, precision).fresh().expect(1, "plain")
        assert expected.judge_buffer("last", expected.buffers["last"] * 1.001)[2] is right


def test_tf32_is_allowed_for_what_it_is_compared_with_alone() -> None:
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    for precision in ("tf32", "fp32", "bf16"):
        with truth.precision_flags(precision):
            assert (matmul.allow_tf32, cudnn.allow_tf32) == (precision == "tf32",) * 2
    assert (matmul.allow_tf32, cudnn.allow_tf32) == before


# ---- scaled inputs -----------------------------------------------------------------


def scaled(source: str, precision: str) -> truth.Expected:
    made = reference(source, precision)
    assert "scaled" in truth.variants(made)
    return made.fresh().expect_exact(SEED, "scaled", "scaled")


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("drawn", ["torch.rand(8, 64)", "torch.randn(8, 64)"])
def test_a_softmax_without_its_maximum_fails(drawn: str, precision: str) -> None:
    expected = scaled(task("return torch.softmax(x, -1)", inputs=f"[{drawn}]"), precision)
    e = expected.args[0].float().exp()
    assert not passes(expected, e / e.sum(-1, keepdim=True))
    assert passes(expected, expected.truth[0])


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize(
    "forward, without",
    [("return torch.clamp(x * 2, -3, 3)", lambda x: x * 2),
     ("return torch.nn.functional.relu6(x)", torch.relu),
     ("return torch.nn.functional.hardtanh(x)", lambda x: x),
     ("return torch.nn.functional.softplus(x)", lambda x: (1 + x.exp()).log())],
)  # fmt: skip
def test_a_clamp_that_is_left_out_fails(forward: str, without, precision: str) -> None:
    expected = scaled(task(forward, inputs="[torch.rand(8, 64)]"), precision)
    assert not passes(expected, without(expected.args[0].float()))
    assert passes(expected, expected.truth[0])


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16"])
def test_an_attention_without_its_maximum_fails(precision: str) -> None:
    """In fp16 values a hundred times as large overflow: those are tenfold."""
    expected = scaled((ROOT / "tasks/starter/20_attention.py").read_text(), precision)
    assert precision == "bf16" or expected.variant == {"fp32": "scaled", "fp16": "tenfold"}[precision]
    q, k, v = (a.float() for a in expected.args)
    e = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).exp()
    assert not passes(expected, e @ v / e.sum(-1, keepdim=True))
    assert passes(expected, expected.truth[0])


def test_scaled_inputs_are_left_out_where_the_reference_itself_is_lost() -> None:
    pair = reference(task("return torch.sin(x * 1e4)", inputs="[torch.rand(8, 64)]")).fresh()
    pair.expect(1, "plain")
    with pytest.raises(truth.Unusable, match="inexact on scaled inputs"):
        pair.expect(1, "scaled")


def test_a_sidecar_chooses_the_variants() -> None:
    made = reference(task("return x * s", inputs="[torch.randn(4, 8), 2.5]", arguments="x, s"))
    assert truth.variants(made) == ["signed", "scaled", "numbers"]
    for named, tried in (["permuted"], ["permuted"]), (["numbers", "signed"], ["signed", "numbers"]), ([], []):
        declared = sidecar.of({"sidecar": {"variants": named}})
        assert truth.variants(reference(made.source, declared=declared)) == tried


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("path", sorted((ROOT / "tasks" / "starter").glob("*.py")), ids=lambda p: p.stem)
def test_a_starter_task_takes_the_variants_it_allows(path: Path, precision: str) -> None:
    file = path.with_suffix(".json")
    declared = sidecar.of({"sidecar": json.loads(file.read_text()) if file.exists() else None})
    made = reference(path.read_text(), precision, declared=declared)
    pair = made.fresh()
    for variant in truth.variants(made):
        if path.stem != "16_cumprod" or variant != "scaled":  # it overflows
            expected = pair.expect_exact(SEED, variant, variant)
            assert passes(expected, *expected.truth)


# ---- numbers ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "made, forward, found",
    [
        ("3.14", "return x * s", "numbers"),
        ("(0.5, 2)", "return x * s[0]", "numbers"),
        ("1", "return x * s", None),  # an integer
        ("1", "return torch.roll(x, s, 1)", None),
        ("0", "return x.sum(s, keepdim=True).expand(8, 8)", None),  # a dimension
        ("4.0", "return x.repeat(round(s), 1)", None),  # another shape
        ("2.0", "return x ** s", None),  # not finite
        ("True", "return x * 2 if s else x", None),
        ("None", "return x * 2", None),
        ("(4, 8)", "return x.view(s)", None),
    ],
)
def test_python_numbers_are_varied_where_the_reference_takes_them(
    made: str, forward: str, found: str | None
) -> None:
    source = task(forward, inputs=f"[torch.randn(4, 8), {made}]", arguments="x, s")
    variants = truth.variants(reference(source))
    assert [v for v in variants if v == "numbers"] == ([found] if found else [])


def test_floats_are_varied_and_integers_are_not() -> None:
    """A dimension, a window or a count is what an honest kernel may be written for."""
    source = task("return x.view(-1, n) * s", inputs="[torch.randn(4, 8), 8, 2.5]", arguments="x, n, s")
    made = reference(source)
    assert truth.variants(made)[-1] == "numbers"
    plain, other = (made.fresh().expect(3, v) for v in ("plain", "numbers"))
    assert torch.equal(plain.args[0], other.args[0]) and other.args[1] == 8
    assert 0.7 <= other.args[2] / 2.5 <= 0.9
    assert not passes(other, plain.eager[0])


def test_numbers_are_other_ones_for_each_seed() -> None:
    made = reference(task("return x", inputs="[torch.randn(2), 5, 0.5, True, [1, 0.25]]", arguments="x, *more"))
    made = [made.make(seed, "numbers")[1:] for seed in range(40)]
    assert {n for n, *_ in made} == {5}
    assert len({f for _, f, *_ in made}) == 40 and all(0.35 <= f <= 0.45 for _, f, *_ in made)
    assert all(b is True and a == 1 and 0 < f < 0.25 for *_, b, (a, f) in made)


def test_floats_are_found_among_arguments() -> None:
    assert inputs.has_floats([[0.5]]) and inputs.has_floats([3, (1, [2.5])])
    assert not inputs.has_floats([torch.ones(1), True, None, "s", 3, (3, 3)])


# ---- arguments in words ------------------------------------------------------------


def test_arguments_are_told_without_their_contents() -> None:
    x = torch.randn(3, 4, dtype=torch.float16)
    args = [x.t(), [torch.ones(2, dtype=torch.bool), 3], {"eps": 1e-5, "w": x}, None, (float("-inf"),)]
    spec = inputs.spec(args)
    assert json.loads(json.dumps(spec, allow_nan=False)) == spec == {"list": [
        {"tensor": [[4, 3], "float16", [1, 4]]},
        {"list": [{"tensor": [[2], "bool", [1]]}, {"value": 3}]},
        {"dict": [["eps", {"value": 1e-5}], ["w", {"tensor": [[3, 4], "float16", [4, 1]]}]]},
        {"value": None},
        {"tuple": [{"value": {"float": "-inf"}}]},
    ]}  # fmt: skip
    assert [t.dtype for t in inputs.tensors(args)] == [torch.float16, torch.bool, torch.float16]


# ---- taking a call back --------------------------------------------------------------

STATE = """
self.fc = torch.nn.Linear(8, 8)
self.norm = torch.nn.BatchNorm1d(8)
self.calls, self.hidden = 0, torch.zeros(4, 8)
"""
LIVELY = """
self.calls += 1
self.hidden = self.hidden + x
self.seen = x.sum()
return self.norm(self.fc(x)) + self.hidden * self.calls
"""


@pytest.mark.parametrize(
    "more",
    ["", "self.fc.weight.mul_(1.01)", "self.fc.weight.data.mul_(1.01)", "self.log.append(1)",
     "self.fc.weight = torch.nn.Parameter(self.fc.weight * 1.01)", "self.hidden.add_(1)",
     "self.sizes.append(3)"],
)  # fmt: skip
def test_a_call_that_is_taken_back_has_not_been(more: str) -> None:
    """Whatever it changes: attributes, buffers, parameters, lists."""
    setup = STATE + ("self.log = []" if "log" in more else "") + "\nself.sizes = [1]"
    made = reference(task(f"{more or 'pass'}\n{LIVELY}", setup=setup))
    pair = made.fresh()
    pair.expect(1, "plain")
    twin = truth.Pair(made, copy.deepcopy(pair.eager))
    pair.expect(2, "signed")
    pair.take_back()
    again, alone = pair.expect(3, "plain"), twin.expect(3, "plain")
    assert torch.equal(again.eager[0], alone.eager[0])
    assert all(torch.equal(b, alone.buffers[n]) for n, b in again.buffers.items())


def test_parameters_are_copied_only_where_calls_change_them() -> None:
    quiet = reference(task(LIVELY, setup=STATE))
    quiet.fresh().expect(1, "plain")
    assert not quiet.whole and undo.Kept(quiet.pristine, False).copy is None
    writes = reference(task("self.fc.weight.mul_(1.01)\n" + LIVELY, setup=STATE))
    writes.fresh().expect(1, "plain")
    assert writes.whole


def test_state_values_are_the_models_own() -> None:
    pair = reference(task(LIVELY, setup=STATE)).fresh()
    names = ["fc.weight", "fc.bias", "norm.weight", "norm.bias", "norm.running_mean",
             "norm.running_var", "norm.num_batches_tracked"]  # fmt: skip
    assert sorted(pair.state_values()) == sorted(names)
    pair.start(5, varied=True, extra=None)
    pair.expect(1, "plain")
    assert pair.state_values()["norm.num_batches_tracked"].item() == 1
    assert pair.state_values()["fc.weight"] is pair.eager.fc.weight


# ---- comparing ---------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (2, 3, 4)])
def test_errors_are_what_their_definition_says(shape: tuple) -> None:
    t = torch.randn(shape, dtype=torch.float64)
    x = (t + 1e-3 * torch.randn(shape)).float()
    rows = t.reshape(1, -1) if t.dim() < 2 else t.reshape(shape[0], -1)
    d = (x.double() - t).abs().reshape(rows.shape)
    rms = rows.square().mean(1).sqrt()
    rms = torch.maximum(rms, rows.square().mean().sqrt() * compare.SMALL_SLICE)
    e = compare.measure(x, t, None)
    assert e.max_abs == d.max() and e.not_finite == 0
    assert e.ratio == pytest.approx(float((d.square().mean(1).sqrt() / rms).max()))
    assert e.max_rel == pytest.approx(float((d / rows.abs()).max()))
    assert e.outlier == pytest.approx(float((d / (rows.abs() + rms[:, None])).max()))
    assert compare.measure(x, t, None, compare.sizes(t)) == e


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_counted(value: float) -> None:
    t = torch.randn(4, 4, dtype=torch.float64)
    x = t.float()
    x[1, 2] = x[3, 0] = value
    e = compare.measure(x, t, t.float())
    assert e.not_finite == 2 and e.near == 14 / 16 and not compare.within(e, (1e300, 1e300))
