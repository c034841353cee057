"""The seeds of the packs whose kernels nvcc compiles: each is recorded in fp32 and in bf16, and
what it launches compiles. Whether it computes the right thing only a GPU can say."""
from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import forked
import pytest

ROOT = Path(__file__).resolve().parents[2]
SEEDS = [
    (pack, p.name)
    for pack in ("cuda", "thunderkittens")
    for p in sorted((ROOT / "packs" / pack / "seeds").glob("*"))
]

# Records a seed as the judge would have it recorded, and builds what the trace names.
CODE = """
import json, tempfile
import torch, zygote
from recorder import recorder
from judge import taskfile
from shared import inputs
task, solution = {task!r}, {solution!r}
adapter = zygote.load_adapter({pack!r})
adapter.install(recorder.current)
space = inputs.namespace(task, "task")
with torch.device("meta"):
    given = space["get_inputs"]()
    model = space["Model"](*space["get_init_inputs"]())

def spec(t, kind):
    return dict(tensor=[list(t.shape), kind if t.is_floating_point() else str(t.dtype)[6:], list(t.stride())])

def record(precision, kind):
    state = [[n, list(t.shape), kind] for n, t in model.named_parameters()]
    message = dict(source=solution, init_seed=1, unsettled=False, precision=precision, gpu=None,
                   init_source=taskfile.init_part(task), claims=adapter.claims(), state=state,
                   inputs=[spec(t, kind) for t in given])
    return json.loads(recorder.record(message, tempfile.mkdtemp()).partition(b"\\n")[0])

def letter(a):
    if a is None or isinstance(a, dict) and "t" in a:
        return "p"
    return "b" if isinstance(a, bool) else "i" if isinstance(a, int) else "d"

found, told = {{}}, {{}}
for precision, kind in (("fp32", "float32"), ("bf16", "bfloat16")):
    trace = record(precision, kind)
    nodes = [n for n in trace["calls"][-1]["nodes"] if n["op"] in ("launch", "call")]
    told[precision] = len(nodes)
    for n in nodes:
        k = trace["kernels"][n["kernel"]] if n["op"] == "launch" else None
        text = trace["texts"][k["text"] if k else n["text"]]
        name, kinds = (k["name"], k["params"]) if k else (n["function"], "".join(map(letter, n["args"])))
        found.setdefault(text, {{}})[name] = kinds
objects = [dict(text=i, launches=[list(f) for f in names.items()]) for i, names in enumerate(found.values())]
told["bytes"] = len(adapter.compile(dict(texts=list(found), objects=objects, target="sm_90")))
"""


def needs(pack: str) -> None:
    if not (shutil.which("nvcc") or os.access("/usr/local/cuda/bin/nvcc", os.X_OK)):
        pytest.skip("there is no nvcc")
    if pack == "thunderkittens" and not os.environ.get("THUNDERKITTENS_ROOT"):
        pytest.skip("THUNDERKITTENS_ROOT names no checkout of ThunderKittens")


def check(pack: str, task: str, solution: str) -> None:
    needs(pack)
    at = ROOT / "packs" / pack
    told = forked.run(at, CODE.format(task=task, solution=solution, pack=str(at)))
    assert told["fp32"] >= 1 and told["bf16"] >= 1 and told["bytes"] > 1000


@pytest.mark.parametrize("pack, seed", SEEDS)
def test_a_seed_is_recorded_in_both_precisions_and_its_kernels_compile(pack: str, seed: str) -> None:
    folder = ROOT / "packs" / pack / "seeds" / seed
    check(pack, (folder / "task.py").read_text(), (folder / "solution.py").read_text())


TASKS = {
    "cuda": """
class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(features))
    def forward(self, x):
        return torch.relu(x + self.bias)
def get_inputs():
    return [torch.randn(33, 70)]
def get_init_inputs():
    return [70]
""",
    "thunderkittens": """
class Model(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
    def forward(self, x):
        return torch.tanh(x * self.factor)
def get_inputs():
    return [torch.randn(48, 128)]
def get_init_inputs():
    return [0.5]
""",
}


@pytest.mark.parametrize("pack", TASKS)
def test_the_example_of_a_card_is_recorded_in_both_precisions_and_compiles(pack: str) -> None:
    card = (ROOT / "packs" / pack / "card.md").read_text()
    check(pack, "import torch\n" + TASKS[pack], card.split("```python\n")[1].split("```")[0])


@pytest.mark.parametrize("pack, seed", SEEDS)
def test_a_seed_says_where_it_was_verified_or_why_not(pack: str, seed: str) -> None:
    meta = json.loads((ROOT / "packs" / pack / "seeds" / seed / "meta.json").read_text())
    assert meta["verified_on"] if meta["verified"] else meta["why_not"]
