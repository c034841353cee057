"""What the judge says of tasks: every starter task can be judged and only the right
answer passes it; every irregular task is taken as it is meant, every bad one refused
for the right reason."""
from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))

from judge import builds, sheets, taskfile, truth, verdict  # noqa: E402
from shared import inputs  # noqa: E402

STARTER = sorted((ROOT / "tasks" / "starter").glob("*.py"))
FIXTURES = ROOT / "tests" / "fixtures" / "tasks"
EXPECT = json.loads((FIXTURES / "expect.json").read_text())
USABLE = [FIXTURES / name for name, e in EXPECT.items() if e["usable"]]
SEED = "5eed" * 16


def stem(path: Path) -> str:
    return path.name


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def look(path: Path, precision: str = "fp32") -> dict:
    """The judge's own answer to a job that asks about a task."""
    job = {
        "kind": "task", "device": "cpu", "precision": precision, "self_test": True,
        "seed": SEED, "task": {"id": path.stem, "source": path.read_text(encoding="utf-8")},
    }  # fmt: skip
    steps = verdict.run_job(job, {}, builds.Builds(None), None)
    with pytest.raises(StopIteration) as end:
        next(steps)
    return end.value.value


def reference_of(path: Path, precision: str = "fp32") -> truth.Reference:
    source = path.read_text(encoding="utf-8")
    return truth.Reference(source, precision, "cpu", inputs.derive(SEED, "init"))


def same(a: object, b: object) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and torch.equal(a, b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


# ---- the starter collection ------------------------------------------------------


def test_there_are_24_starter_tasks_numbered_from_1() -> None:
    assert [int(p.name[:2]) for p in STARTER] == list(range(1, 25))


@pytest.mark.parametrize("path", STARTER, ids=stem)
def test_a_starter_task_is_passed_by_the_right_answer_alone(path: Path) -> None:
    answer = look(path)
    assert answer["usable"], answer["reasons"]
    assert [name for name, passes in answer["self_test"].items() if passes] == ["perfect", "literal"]


@pytest.mark.parametrize("path", STARTER, ids=stem)
def test_a_starter_task_takes_every_kind_of_trial_it_allows(path: Path) -> None:
    sidecar = path.with_suffix(".json")
    spec = json.loads(sidecar.read_text()) if sidecar.exists() else {}
    source = path.read_text(encoding="utf-8")
    job = {"protocol": "hardened", "task": {"source": source, "sidecar": spec}, "seed": SEED,
           "device": "cpu", "precision": "fp32"}  # fmt: skip
    sheet = sheets.sheet(job, verdict.make_reference, False)
    assert [v for _, v in sheet.plan[: sheets.PLAIN]] == ["plain"] * sheets.PLAIN
    for index, (_, variant) in enumerate(sheet.plan):
        taken = sheet.draw(index) is not None
        assert taken or variant not in spec.get("variants", ["plain"])


def test_a_sidecar_belongs_to_a_task() -> None:
    for sidecar in (ROOT / "tasks" / "starter").glob("*.json"):
        assert sidecar.with_suffix(".py") in STARTER


# ---- irregular and bad tasks -------------------------------------------------------


def test_every_fixture_has_an_expectation() -> None:
    assert {p.name for p in FIXTURES.glob("*.py")} == set(EXPECT)


@pytest.mark.parametrize("name", EXPECT)
def test_a_fixture_is_taken_or_refused_as_expected(name: str) -> None:
    if "numpy" in (FIXTURES / name).read_text(encoding="utf-8"):
        pytest.importorskip("numpy")
    answer, expected = look(FIXTURES / name), EXPECT[name]
    assert answer["usable"] is expected["usable"], answer["reasons"]
    if not expected["usable"]:
        assert any(expected["reason"] in reason for reason in answer["reasons"])
        return
    assert [n for n, passes in answer["self_test"].items() if passes] == ["perfect", "literal"]


@pytest.mark.parametrize("name", ["Model", "get_inputs", "get_init_inputs"])
def test_a_file_without_one_of_the_three_names_is_no_task(name: str, tmp_path: Path) -> None:
    source = (FIXTURES / "9_empty_init.py").read_text(encoding="utf-8")
    path = tmp_path / "1_task.py"
    path.write_text(source.replace(name, "another_name"))
    assert look(path)["reasons"] == [f"the file defines no {name}"]


@pytest.mark.parametrize("path", STARTER + USABLE, ids=stem)
def test_who_builds_the_candidate_gets_the_same_arguments_without_the_inputs(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    if "numpy" in source:
        pytest.importorskip("numpy")
    whole = inputs.namespace(source, "whole")
    part = inputs.namespace(taskfile.init_part(source), "part")
    assert "Model" not in part and "get_inputs" not in part
    assert same(inputs.init_args(whole, 7, "cpu"), inputs.init_args(part, 7, "cpu"))


def test_what_only_the_inputs_need_is_not_among_what_the_model_needs() -> None:
    source = "n = 3\nsecret = 5\ndef get_inputs():\n    return [secret]\n"
    source += "def get_init_inputs():\n    return [n]\n"
    part = taskfile.init_part(source)
    assert "n = 3" in part and "secret" not in part


def test_the_input_passes_only_for_an_identity_in_every_trial(tmp_path: Path) -> None:
    assert truth._input_passes(reference_of(FIXTURES / "37_identity_on_its_inputs.py"), 7, "plain")
    source = (FIXTURES / "37_identity_on_its_inputs.py").read_text(encoding="utf-8")
    path = tmp_path / "1_copy.py"
    path.write_text(source.replace("torch.relu(x)", "x.clone()"))
    assert look(path)["self_test"]["input"]
    path.write_text(source.replace("torch.relu(x)", "torch.sqrt(x) ** 2"))  # no signed trial
    assert look(path)["self_test"]["input"]


def test_a_reference_that_overwrites_its_input_leaves_the_judges_alone() -> None:
    reference = reference_of(FIXTURES / "21_inplace_on_input.py")
    first, second = (reference.fresh().expect(7, "plain") for _ in range(2))
    assert torch.equal(first.eager[0], second.eager[0])
    assert bool((first.eager[0] == 0).any()) and bool((first.eager[0] == 0.8).any())


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("name", ["13_init_reads_globals.py", "15_stateful_forward.py"])
def test_plain_tensors_of_a_reference_take_its_precision(name: str, precision: str) -> None:
    reference = reference_of(FIXTURES / name, precision)
    pair = reference.fresh()
    for trial in range(3):
        expected = pair.expect(trial, "plain")
        assert expected.truth[0].dtype == reference.wide
        assert expected.eager[0].dtype == reference.dtype


def test_state_goes_on_from_call_to_call_on_both_sides() -> None:
    pair = reference_of(FIXTURES / "16_stateful_without_reset.py").fresh()
    first, second = (pair.expect(7, "plain") for _ in range(2))
    # The mean of two equal sums is that sum: only the count could tell.
    assert torch.allclose(first.truth[0], second.truth[0], rtol=1e-6)
    third = pair.expect(8, "plain")
    alone = reference_of(FIXTURES / "16_stateful_without_reset.py").fresh().expect(8, "plain")
    assert not torch.allclose(third.truth[0], alone.truth[0], rtol=1e-3)


def test_one_seed_that_comes_near_by_chance_does_not_condemn_a_scalar(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A single number of one seed lies within the tolerance of another's now and then."""
    reference = reference_of(FIXTURES / "7_scalar_output.py")
    real = truth._passes
    answers = iter([True])
    monkeypatch.setattr(truth, "_passes", lambda a, e: next(answers, None) or real(a, e))
    assert truth.gate(reference, SEED) == []
