"""Wrong and hostile decompositions are refused, each with its own code. The forbidden thing is tried
for real: first as a proposal that the check of the language sees, then, with that check taken out
of a copy of the worker, in the box."""

from __future__ import annotations

import copy
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from worker_run import ROOT, PieceJob, make_home
from worker_session import Session

sys.path.insert(0, str(ROOT / "worker"))

from judge import reasons  # noqa: E402

TASK = (ROOT / "tests" / "fixtures" / "pieces" / "attention.py").read_text()
SHAPE, SQUARE = [4, 32, 16], [4, 32, 32]
NORMAL = {"kind": "normal", "a": 0, "b": 1}


def text(forward: str, names: str = "x", drawn: str = "torch.randn(4, 32, 16)", top: str = "",
         init: str = "") -> str:  # fmt: skip
    """A piece's file around the body of forward."""
    lines = "\n".join("        " + line for line in forward.splitlines())
    made = "\n".join("        " + line for line in init.splitlines())
    start = f"    def __init__(self):\n        super().__init__()\n{made}\n" if init else ""
    return (
        f"import torch\nimport torch.nn as nn\n{top}\n\nclass Model(nn.Module):\n{start}"
        f"    def forward(self, {names}):\n{lines}\n\n"
        f"def get_inputs():\n    return [{drawn}]\n\ndef get_init_inputs():\n    return []\n"
    )


def given(name: str, source: str, shape: list[int]) -> dict:
    return {"name": name, "from": source, "shape": shape, "dtype": "fp32", "dist": NORMAL}


def sub(name: str, source: str, inputs: list[dict], shape: list[int], needs: tuple = (),
        kind: str = "stepping_stone") -> dict:  # fmt: skip
    return {"id": name, "title": name, "kind": kind, "inputs": inputs,
            "outputs": [{"name": "out", "shape": shape, "dtype": "fp32"}],
            "depends_on": list(needs), "source": source, "why": "a test"}  # fmt: skip


def proposal(*subs: dict, output: str = "", covers: tuple = ()) -> dict:
    composition = {"claimed": bool(output), "output": output, "covers": list(covers)}
    return {"problem_id": "x", "level": "coarse", "subproblems": list(subs),
            "composition": composition}  # fmt: skip


def alone(source: str, shape: list[int] = SHAPE, **changed: object) -> dict:
    """A proposal of one piece that takes x."""
    return proposal(sub("piece", source, [given("x", "fresh", SHAPE)], shape) | changed)


SCORES = text("return (q @ k.transpose(-1, -2)).square().tril()", "q, k",
              "torch.randn(4, 32, 16), torch.randn(4, 32, 16)")  # fmt: skip
READ = text("return weight @ v / (weight.sum(-1, keepdim=True) + 1e-6)", "weight, v",
            "(torch.randn(4, 32, 32) * 4).square().tril(), torch.randn(4, 32, 16)")  # fmt: skip


def honest() -> dict:
    first = sub("scores", SCORES, [given("q", "orig:q", SHAPE), given("k", "orig:k", SHAPE)], SQUARE,
                kind="partition")  # fmt: skip
    second = sub("read", READ, [given("weight", "scores:0", SQUARE), given("v", "orig:v", SHAPE)],
                 SHAPE, ("scores",), "partition")  # fmt: skip
    return proposal(first, second, output="read:0", covers=("scores", "read"))


def changed(change: Callable[[dict], object]) -> dict:
    made = copy.deepcopy(honest())
    change(made)
    return made


def put(path: str, value: object) -> dict:
    """The honest proposal with one field replaced."""

    def change(made: dict) -> None:
        *way, last = path.split("/")
        for key in way:
            made = made[int(key)] if isinstance(made, list) else made[key]
        made[int(last) if isinstance(made, list) else last] = value

    return changed(change)


def circle() -> dict:
    made = honest()
    made["subproblems"][0]["inputs"][0] = given("q", "read:0", SHAPE)
    made["subproblems"][0]["depends_on"] = ["read"]
    return made


WHOLE = TASK.replace("Model(nn.Module):", "Model(nn.Module):\n    # all of it\n")

REFUSED: dict[str, tuple[str, object]] = {
    # 1: what is written
    "not-json": ("bad_json", "{'subproblems': ["),
    "a-list": ("bad_json", "[1, 2]"),
    "no-composition": ("bad_schema", {"level": "coarse", "subproblems": [{}]}),
    "a-kind-of-its-own": ("bad_schema", put("subproblems/0/kind", "whatever")),
    "two-outputs": ("bad_schema", put("subproblems/0/outputs", [{}, {}])),
    "bad-id": ("bad_id", put("subproblems/0/id", "../../etc")),
    "same-id": ("duplicate_id", put("subproblems/1/id", "scores")),
    "no-python": ("syntax_error", alone("def forward(:")),
    "no-get-inputs": ("missing_definition", alone(SCORES.replace("get_inputs", "inputs_of"))),
    "two-models": ("missing_definition", alone(SCORES + "\nclass Model(nn.Module):\n    pass\n")),
    "network": ("forbidden_import", alone(text("return x", top="import socket"))),
    "system": ("forbidden_import", alone(text("return x", top="from os import system"))),
    "triton": ("dsl_import", alone(text("return x", top="import triton.language as tl"))),
    "reads-a-file": ("forbidden_name", alone(text("open('/etc/passwd')\nreturn x.exp()"))),
    "exec": ("forbidden_name", alone(text("exec('import os')\nreturn x.exp()"))),
    "exit": ("forbidden_name", alone(text("raise SystemExit"))),
    "gets-an-attribute": ("forbidden_name", alone(text("return getattr(torch, 'lo' + 'ad')(x)"))),
    "torch-as-a-value": ("forbidden_name", alone(text("t = torch\nreturn t.exp(x)"))),
    "torch-load": ("forbidden_attribute", alone(text("return torch.load('x')"))),
    "torch-library": ("forbidden_attribute", alone(text("torch.ops.load_library('x')\nreturn x"))),
    "classes": ("forbidden_attribute", alone(text("return x.__class__.__mro__"))),
    "a-method-called-numpy": ("forbidden_attribute", alone(
        text("return x.numpy().tofile('x')") + "\n\nclass Other(nn.Module):\n"
        "    def numpy(self):\n        return 1\n\n    def tofile(self):\n        return 1\n")),
    "an-attribute-called-data": ("forbidden_attribute", alone(text("self.data = 1\nreturn x.data"))),
    "formats": ("forbidden_attribute", alone(text("'{0.data}'.format(x)\nreturn x.exp()"))),
    "catches": ("forbidden_syntax", alone(text("try:\n    return x\nexcept ValueError:\n    pass"))),
    "runs-when-loaded": ("forbidden_syntax", alone(SCORES + "\nprint(1)\n")),
    "patches-torch": ("monkeypatch", alone(text("torch.equal = x\nreturn x.exp()"))),
    "patches-tensors": ("monkeypatch", alone(text("torch.Tensor.exp = x\nreturn x.exp()"))),
    "binds-torch": ("monkeypatch", alone(text("torch = x\nreturn x.exp()"))),
    # 2: what happens when it runs
    "no-such-method": ("forward_failed", alone(text("return x.append(1)"))),
    "two-tensors": ("forward_failed", alone(text("return x.exp(), x"))),
    "no-parameter": ("load_failed", alone(text("return x * self.w", init="self.w = nn.Linear()"))),
    "no-tensors": ("inputs_failed", alone(text("return x.exp()", drawn="[1]"))),
    "endless": ("timeout", alone(text("while True:\n    x = x + 1"))),
    "memory": ("out_of_memory", alone(text("return x + torch.zeros(1 << 40)[0]"))),
    # 3: the same for the same
    "random": ("hidden_rng", alone(text("return x.exp() + torch.randn(1)"))),
    "counts": ("state_across_calls", alone(text("self.n = self.n + 1\nreturn x.exp() * self.n",
                                                init="self.n = 0"))),
    "remembers": ("state_across_calls", alone(text("SEEN.append(1)\nreturn x.exp() * len(SEEN)",
                                                   top="SEEN = []"))),
    "draws-more-each-time": ("inputs_vary", alone(
        text("return x.exp()", drawn="torch.randn(4, 32, 16) * len(more())",
             top="SEEN = []\n\ndef more():\n    SEEN.append(1)\n    return SEEN"))),
    "always-ones": ("constant_inputs", alone(text("return x.exp()", drawn="torch.ones(4, 32, 16)"))),
    "constant": ("constant_output", alone(text("return x * 0 + torch.arange(16)"))),
    # 4: what was declared
    "not-finite": ("not_finite", alone(text("return (x - 100).log()"))),
    "huge": ("rms_out_of_range", alone(text("return x.exp() * 1e6"))),
    "tiny": ("rms_out_of_range", alone(text("return x.exp() * 1e-6"))),
    "another-shape": ("output_differs_from_declared", alone(text("return x.exp().sum(-1)"))),
    "another-dtype": ("output_differs_from_declared", alone(text("return x.exp().double()"))),
    "other-inputs": ("inputs_differ_from_declared", alone(text("return x.exp()",
                                                               drawn="torch.randn(4, 32)"))),
    # 5: worth a kernel
    "identity": ("pure_copy", alone(text("return x.clone()"))),
    "transposed": ("pure_copy", alone(text("return x.flip(1).transpose(1, 2).contiguous()"),
                                      [4, 16, 32])),
    "ignores": ("ignores_input", proposal(sub(
        "piece", text("return x.exp() + 0 * y", "x, y",
                      "torch.randn(4, 32, 16), torch.randn(4, 32, 16)"),
        [given("x", "fresh", SHAPE), given("y", "fresh", SHAPE)], SHAPE))),
    "small": ("too_small", proposal(sub("piece", text("return x.exp()", drawn="torch.randn(4, 4)"),
                                        [given("x", "fresh", [4, 4])], [4, 4]))),
    "twice-the-same": ("duplicate", proposal(
        sub("one", text("y = x.exp()\nreturn y"), [given("x", "fresh", SHAPE)], SHAPE),
        sub("two", "# again\n" + text("z = x.exp()\nreturn z"), [given("x", "fresh", SHAPE)], SHAPE))),
    # 6: the graph
    "no-such-argument": ("unknown_source", put("subproblems/0/inputs/0/from", "orig:w")),
    "no-such-output": ("unknown_source", put("subproblems/1/inputs/0/from", "scores:1")),
    "another-tensor": ("source_mismatch", put("subproblems/1/inputs/0/shape", [4, 32, 64])),
    "circle": ("cyclic", circle()),
    "needs-nothing": ("wrong_depends_on", put("subproblems/1/depends_on", [])),
    "needs-refused": ("needs_refused", put("subproblems/0/source", "import os\n")),
    # 7: the composition
    "nearly": ("composition_algebra", put("subproblems/1/source", READ.replace("1e-6", "1e-5"))),
    "not-all": ("composition_incomplete", put("composition/covers", ["read"])),
    "no-such-end": ("composition_incomplete", put("composition/output", "nowhere:0")),
    "another-function": ("reformulation_differs", proposal(sub(
        "other", READ.replace("weight, v", "q, k, v").replace(
            "return weight", "weight = (q @ k.transpose(-1, -2)).abs().tril()\n        return weight"
        ).replace("(torch.randn(4, 32, 32) * 4).square().tril()",
                  "torch.randn(4, 32, 16), torch.randn(4, 32, 16)").replace(".sum(-1", ".mean(-1"),
        [given(n, f"orig:{n}", SHAPE) for n in "qkv"], SHAPE, kind="reformulation"))),
    # 8 and 9
    "signed-weights": ("unrealistic_inputs", put("subproblems/1/source", READ.replace(
        "(torch.randn(4, 32, 32) * 4).square().tril()", "torch.randn(4, 32, 32)"))),
    "large-queries": ("unrealistic_inputs", put("subproblems/0/source", SCORES.replace(
        "torch.randn(4, 32, 16), ", "torch.randn(4, 32, 16) * 5, "))),
    "all-of-it": ("not_smaller", proposal(sub(
        "whole", WHOLE, [given(n, f"orig:{n}", SHAPE) for n in "qkv"], SHAPE))),
}  # fmt: skip

NOT_CAPTURED = {
    "branches": TASK.replace("total = weight", "if weight.sum() > 0:\n            v = v + 1\n"
                             "        total = weight"),
    "draws": TASK.replace("weight @ v", "weight @ torch.rand_like(v)"),
}  # fmt: skip


SIDECARS = {"computed": {"variants": ["permuted"]}, "untried": {"variants": []},
            "lax": {"tolerance": {"error_ratio": 0.9, "dimensions": ["a", "b", "c"], "per": []}}}  # fmt: skip


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, dict]:
    jobs = [PieceJob(name, TASK, proposal=made, call_ms=1500 if name == "endless" else 60_000)
            for name, (_, made) in REFUSED.items()]  # fmt: skip
    jobs.append(PieceJob("honest", TASK, proposal=json.dumps(honest())))
    for name, sidecar in SIDECARS.items():
        made = json.dumps(put("subproblems/0/sidecar", sidecar))
        jobs.append(PieceJob(name, TASK, proposal=made))
    jobs += [PieceJob(name, source) for name, source in NOT_CAPTURED.items()]
    with Session(*make_home(folder), folder, 2) as session:
        session.run(jobs, 4)
        assert session.leave() == 0
    assert not session.infra
    return session.answers


def test_an_honest_proposal_is_accepted_and_its_composition_proved(answers) -> None:
    answer = answers["honest"]
    assert answer["findings"] == []
    assert [s["id"] for s in answer["subproblems"]] == ["scores", "read"]
    assert {s["kind"] for s in answer["subproblems"]} == {"partition"}
    assert answer["composition"]["proved"]


@pytest.mark.parametrize("name", SIDECARS)
def test_a_proposal_does_not_say_how_its_pieces_are_judged(answers, name: str) -> None:
    wanted = SIDECARS[name] if name == "computed" else {}
    assert [s["sidecar"] for s in answers[name]["subproblems"]] == [wanted, {}]


@pytest.mark.parametrize("name", REFUSED)
def test_each_is_refused_with_its_own_code(answers, name: str) -> None:
    answer, code = answers[name], REFUSED[name][0]
    found = [f["code"] for f in answer["findings"]]
    assert code in found, answer["findings"]
    assert not answer["composition"]["proved"]
    finding = answer["findings"][found.index(code)]
    assert finding["step"] == reasons.STEP[code]
    if code not in ("composition_algebra", "composition_incomplete", "reformulation_differs"):
        assert finding["sub"] not in {s["id"] for s in answer["subproblems"]} or code == "duplicate_id"


def test_pieces_without_a_composition_are_stepping_stones(answers) -> None:
    for name in ("nearly", "not-all", "another-function"):
        kinds = {s["kind"] for s in answers[name]["subproblems"]}
        assert kinds == {"stepping_stone"}, name


@pytest.mark.parametrize("name", NOT_CAPTURED)
def test_a_task_that_cannot_be_captured_gives_a_reason(answers, name: str) -> None:
    answer = answers[name]
    assert answer["subproblems"] == []
    assert [f["code"] for f in answer["findings"]] == ["not_captured"]


def test_every_code_is_tried_here() -> None:
    elsewhere = {"crashed", "forged_answer"}  # below, in the box
    ours = {"composition_not_bitwise", "composition_inexact", "not_reproducible"}  # bugs of ours
    tried = {code for code, _ in REFUSED.values()} | {"not_captured"}
    assert set(reasons.STEP) - tried == elsewhere | ours


def test_the_document_has_the_same_table() -> None:
    document = (ROOT / "docs" / "CURRICULUM.md").read_text()
    rows = [f"| {step} {reasons.STEPS[step]} | `{code}` | {meaning} |"
            for step, code, meaning in reasons.TABLE]  # fmt: skip
    assert "\n".join(rows) in document


# ---- the box, without the check of the language --------------------------------------------

PROC = "import os, sys, socket, ctypes"
BOXED: dict[str, tuple[set[str], str]] = {
    "exits": ({"crashed"}, text("os._exit(0)", top=PROC)),
    "dies": ({"crashed"}, text("ctypes.string_at(0)", top=PROC)),
    "leaves": ({"forward_failed"}, text("sys.exit(0)", top=PROC)),
    "connects": ({"forward_failed"}, text(
        "socket.create_connection(('127.0.0.1', 80), 1)\nreturn x.exp()", top=PROC)),
    "reads-files": ({"forward_failed"}, text("open('/etc/shadow').read()\nreturn x.exp()", top=PROC)),
    "reads-the-judge": ({"load_failed"}, text("return x.exp()", top="from judge import truth")),
    "fork-bomb": ({"forward_failed", "crashed", "timeout"}, text(
        "while True:\n    os.fork()", top=PROC)),
    "patches-equal": ({"hidden_rng"}, text(
        "torch.equal = lambda *a: True\ntorch.isfinite = torch.ones_like\n"
        "torch.manual_seed = lambda *a: 0\nreturn x.exp() + torch.randn(1)")),
    "forges": ({"forged_answer"}, text(
        "for n in range(3, 64):\n    try:\n"
        "        socket.socket(fileno=n).send(b'\\x02\\x00\\x00\\x00{}' * 3)\n"
        "    except OSError:\n        pass\nreturn x.exp()", top=PROC)),
    "says-it-is-right": ({"forged_answer"}, text(
        "import json\nheader = json.dumps({'ok': True, 'tensors': [[[4, 32, 16], 'float32', "
        "[1, 1, 1], 0]], 'ops': {}}).encode()\nfor n in range(3, 64):\n    try:\n"
        "        socket.socket(fileno=n).send(len(header).to_bytes(4, 'little') + header)\n"
        "    except OSError:\n        pass\nreturn x.exp()", top=PROC)),
}  # fmt: skip


@pytest.fixture(scope="module")
def boxed(tmp_path_factory) -> dict[str, dict]:
    """Answers of a worker whose check of the language lets everything pass."""
    home = Path(shutil.os.path.realpath(tmp_path_factory.mktemp("home")))
    for above in [home, *home.parents][:3]:
        above.chmod(0o755)
    shutil.copytree(ROOT / "worker", home / "worker", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("packs", "libmonkeys-box.so", "monkeys-runner"):
        (home / name).symlink_to(ROOT / name)
    language = home / "worker" / "judge" / "piece_language.py"
    checked = language.read_text().replace("    _Check(tree).run()\n", "")
    assert checked != language.read_text()
    language.write_text(checked)
    folder = home / "session"
    folder.mkdir()
    folder.chmod(0o755)
    # The bomb has a moment; the others end by themselves, however long they wait beside it.
    jobs = [PieceJob(name, TASK, proposal=alone(source), call_ms=1000 if "bomb" in name else 60_000)
            for name, (_, source) in BOXED.items()]  # fmt: skip
    with Session(ROOT / "monkeys-worker", home, folder, 2) as session:
        session.run(jobs, 4)
        assert session.leave() == 0
    assert not session.infra
    return session.answers


@pytest.mark.parametrize("name", BOXED)
def test_nothing_is_gained_in_the_box_either(boxed, name: str) -> None:
    answer = boxed[name]
    assert answer["subproblems"] == []
    assert {f["code"] for f in answer["findings"]} & BOXED[name][0], answer["findings"]
