"""Rows of KernelBook: read one at a time, converted or refused, in a process that can do nothing
else."""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import importer
import pytest
from kernelbook import book_rows, convert

ROOT = Path(__file__).resolve().parents[2]

HEAD = "import torch\nimport torch.nn as nn\n"
INPUTS = "def get_inputs():\n    return [torch.rand([4, 4])]\n"
FORWARD = (
    "class Net(nn.Module):\n"
    "    def __init__(self):\n"
    "        super(Net, self).__init__()\n"
    "    def forward(self, x, y=None):\n"
)


def init(keywords: str) -> str:
    return INPUTS + f"def get_init_inputs():\n    return [[], {{{keywords}}}]\n"


NO_INIT = init("")


@dataclass
class Case:
    """One defect, and what becomes of it."""

    claim: str
    code: str
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    entry: str = "Net"
    reason: str = "kept"


# fmt: off
CASES = [
    Case("an argument with the name of the class is a collision",
         HEAD + FORWARD + "        return x.Net(Net=1) if 0 else x\n" + NO_INIT, reason="collision"),
    Case("the entry class becomes Model",
         HEAD + FORWARD + "        return x * 2\n" + NO_INIT,
         has=("class Model(nn.Module):", "super(Model, self).__init__()", "return []"),
         lacks=("Net", "eval")),
    Case("nn.MSELoss stays where the class is MSELoss",
         HEAD + "class MSELoss(nn.Module):\n"
         "    def __init__(self):\n"
         "        super().__init__()\n"
         "        self.f = nn.MSELoss()\n"
         "    def forward(self, x):\n"
         "        return self.f(x, x + 1)\n" + NO_INIT, entry="MSELoss",
         has=("class Model(nn.Module):", "nn.MSELoss()"),
         lacks=("nn.Model",)),
    Case("a class that is called Model already stays",
         HEAD + "class Model(nn.Module):\n"
         "    def forward(self, x):\n"
         "        return x\n" + NO_INIT, entry="Model",
         has=("class Model(nn.Module):",),
         lacks=("__init__",)),
    Case("another Model is a collision",
         HEAD + "class Model(nn.Module):\n"
         "    pass\n" + FORWARD + "        return x\n" + NO_INIT, reason="collision"),
    Case("so is an import of the class's name",
         "from torch.nn import LayerNorm\n" + HEAD + "class LayerNorm(nn.Module):\n"
         "    def forward(self, x):\n"
         "        return x\n" + NO_INIT, entry="LayerNorm", reason="collision"),
    Case("and a parameter of that name",
         HEAD + "class Q(nn.Module):\n"
         "    def forward(self, x, Q):\n"
         "        return x\n" + NO_INIT, entry="Q", reason="collision"),
    Case("keyword arguments get places",
         HEAD + "class Net(nn.Module):\n"
         "    def __init__(self, a, b=(1, 2), c=None):\n"
         "        super().__init__()\n"
         "        self.l = nn.Linear(a, c)\n"
         "    def forward(self, x):\n"
         "        return self.l(x)\n" + init("'c': 4, 'a': 4"),
         has=("return [4, (1, 2), 4]",),
         lacks=("{",)),
    Case("one without a place is refused",
         HEAD + "class Net(nn.Linear):\n"
         "    def __init__(self, *args, **kw):\n"
         "        super().__init__(*args, **kw)\n"
         "    def forward(self, x):\n"
         "        return super().forward(x)\n" + init("'in_features': 4"), reason="arguments"),
    Case("a class without constructor gets one",
         HEAD + "class Net(nn.Linear):\n"
         "    \"\"\"Doc.\"\"\"\n"
         "    def forward(self, x):\n"
         "        return super().forward(x)\n" + init("'in_features': 4, 'out_features': 4"),
         has=("    def __init__(self, in_features, out_features):", "super().__init__(in_features=in_features, out_features=out_features)", "return [4, 4]"),
         lacks=("eval",)),
    Case("in front of a method under a condition, too",
         HEAD + "class Net(nn.Linear):\n"
         "    if True:\n"
         "        def forward(self, x):\n"
         "            return super().forward(x)\n" + init("'in_features': 4, 'out_features': 4"),
         has=("out_features=out_features)\n\n    if True:\n        def forward",)),
    Case("_mock_config is defined in the file",
         "from _paritybench_helpers import _mock_config\n" + HEAD + "class Net(nn.Module):\n"
         "    def __init__(self, config):\n"
         "        super().__init__()\n"
         "        self.l = nn.Linear(config.width, 4)\n"
         "    def forward(self, x):\n"
         "        return self.l(x)\n" + init("'config': _mock_config(width=4)"),
         has=("class _mock_config(dict):", "return [_mock_config(width=4)]"),
         lacks=("_paritybench",)),
    Case("dropout ends in inference mode",
         HEAD + "class Net(nn.Module):\n"
         "    def __init__(self):\n"
         "        super().__init__()\n"
         "        self.d = nn.Dropout(0.5)\n"
         "\n"
         "    def forward(self, x):\n"
         "        return self.d(x)\n" + NO_INIT,
         has=("        self.d = nn.Dropout(0.5)\n        self.eval()  #",)),
    Case("batch normalisation, too, at every end of the constructor",
         HEAD + "class Net(nn.Module):\n"
         "    def __init__(self, a):\n"
         "        super().__init__()\n"
         "        self.n = nn.BatchNorm1d(4)\n"
         "        if a:\n"
         "            return\n"
         "        self.b = a\n"
         "    def forward(self, x):\n"
         "        return self.n(x)\n" + init("'a': 1"),
         has=("self.eval(); return", "self.b = a\n        self.eval()  #")),
    Case("a class without constructor as well",
         HEAD + "class Net(nn.Module):\n"
         "    def forward(self, x):\n"
         "        return nn.functional.dropout(x, training=self.training)\n" + NO_INIT,
         has=("super().__init__()\n        self.eval()  #",)),
    Case("dropout that ignores the mode is random",
         HEAD + "import torch.nn.functional as F\n" + FORWARD + "        return F.dropout(x, 0.1)\n" + NO_INIT, reason="random"),
    Case("so are random numbers in forward",
         HEAD + FORWARD + "        return x + torch.randn_like(x)\n" + NO_INIT, reason="random"),
    Case("and in what forward calls",
         HEAD + "def noise(x):\n"
         "    return x + torch.rand(4)\n" + FORWARD + "        return noise(x)\n" + NO_INIT, reason="random"),
    Case("and in a module that the constructor makes",
         HEAD + "class Noise(nn.Module):\n"
         "    def forward(self, x):\n"
         "        return x + torch.rand(4)\n"
         "class Net(nn.Module):\n"
         "    def __init__(self):\n"
         "        super().__init__()\n"
         "        self.noise = Noise()\n"
         "    def forward(self, x):\n"
         "        return self.noise(x)\n" + NO_INIT, reason="random"),
    Case("not in the constructor",
         HEAD + "class Net(nn.Module):\n"
         "    def __init__(self):\n"
         "        super().__init__()\n"
         "        self.w = nn.Parameter(torch.randn(4))\n"
         "        self.reset()\n"
         "    def reset(self):\n"
         "        self.w.data.normal_()\n"
         "    def forward(self, x):\n"
         "        return x * self.w\n" + NO_INIT),
    Case("nor where only training draws",
         HEAD + "def drop(x, training):\n"
         "    if not training:\n"
         "        return x\n"
         "    return x + torch.rand(4)\n" + FORWARD + "        if self.training:\n"
         "            x = x + torch.rand(4)\n"
         "        return drop(x, self.training)\n" + NO_INIT),
    Case("of a tuple the first item stays",
         HEAD + FORWARD + "        if y:\n"
         "            return (x + 1, [x, y])\n"
         "        return max(x, y), y\n" + NO_INIT,
         has=("            return x + 1\n", "        return max(x, y)\n")),
    Case("of a list",
         HEAD + FORWARD + "        return [x, y]\n" + NO_INIT,
         has=("        return x\n",)),
    Case("of a list that a loop makes",
         HEAD + FORWARD + "        return [x * i for i in y]\n" + NO_INIT,
         has=("        return [x * i for i in y][0]\n",)),
    Case("of a dict the first value",
         HEAD + FORWARD + "        return {'a': x, 'b': y}\n" + NO_INIT,
         has=("        return x\n",)),
    Case("on either side of a condition",
         HEAD + FORWARD + "        return (x, y) if y else (x + 1,)\n" + NO_INIT,
         has=("        return x if y else x + 1\n",)),
    Case("of a name that was just given a tuple",
         HEAD + FORWARD + "        out = (x, y) if y else (x,)\n"
         "        return out\n" + NO_INIT,
         has=("        return out[0]\n",)),
    Case("but not of one that became a tensor",
         HEAD + FORWARD + "        out = []\n"
         "        out = torch.stack(out)\n"
         "        return out\n" + NO_INIT,
         has=("        return out\n",)),
    Case("a function inside forward may return what it likes",
         HEAD + FORWARD + "        def f(z):\n"
         "            return z, z\n"
         "        return f(x)[0]\n" + NO_INIT,
         has=("return z, z\n",)),
    Case("a set is refused",
         HEAD + FORWARD + "        return {x, y}\n" + NO_INIT, reason="output"),
    Case("so is a tuple that other code takes apart",
         HEAD + FORWARD + "        return x, y\n"
         "    def both(self, x):\n"
         "        a, b = self.forward(x)\n" + NO_INIT, reason="output"),
    Case("an unused import from elsewhere is dropped, and a repeated one",
         HEAD + "import torch\n"
         "import torchvision\n"
         "from sklearn.metrics import *\n"
         "import numpy as np\n" + FORWARD + "        return x\n" + NO_INIT,
         has=("import torch\nimport torch.nn as nn\nimport numpy as np\n",),
         lacks=("torchvision", "sklearn")),
    Case("also where a later import takes its name",
         "import torchvision.transforms.functional as F\n" + HEAD + "import torch.nn.functional as F\n" + FORWARD + "        return F.relu(x)\n" + NO_INIT,
         has=("import torch.nn.functional as F",),
         lacks=("torchvision",)),
    Case("one that is used is refused",
         HEAD + "import sklearn\n" + FORWARD + "        return sklearn.f(x)\n" + NO_INIT, reason="import"),
    Case("non-ASCII text stays",
         HEAD + FORWARD + "        'größe'\n"
         "        return x  # 入\n" + NO_INIT,
         has=("größe", "入")),
    Case("nested classes and helpers stay",
         HEAD + "def helper(x):\n"
         "    class Inner:\n"
         "        def f(self):\n"
         "            return x\n"
         "    return Inner().f()\n" + FORWARD + "        return helper(x)\n" + NO_INIT,
         has=("class Inner:", "return helper(x)")),
    Case("no such class",
         HEAD + FORWARD + "        return x\n" + NO_INIT, entry="Nett", reason="entry"),
    Case("no Python",
         "class Net(\n", reason="syntax"),
]
# fmt: on


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.claim)
def test_conversion(case: Case) -> None:
    found = convert.convert_row(case.entry, case.code, False)
    assert found["reason"] == case.reason, found
    text = found.get("texts", [""])[0]
    assert all(part in text for part in case.has), text
    assert not any(part in text for part in case.lacks), text


def test_placeholders_are_counted_and_scaled() -> None:
    code = HEAD + (
        "class Net(nn.Module):\n"
        "    def __init__(self, width, kernel_size):\n"
        "        super().__init__()\n"
        "    def forward(self, x):\n"
        "        return x + 4\n"
    ) + init("'width': 4, 'kernel_size': 4")  # fmt: skip
    p = convert.Program("Net", code, 0)
    assert (p.rank, p.inputs, p.input_sizes, p.init_sizes) == (2, 1, 2, 1)
    found = convert.convert_row("Net", code, True)
    assert found["sizes"] == [1024, 512, 256, 0], "1, 1/2, 1/4, none"
    for size, text in zip((1024, 512, 256, 4), found["texts"], strict=True):
        parts = (f"torch.rand([{size}, {size}])", f"return [{size}, 4]", "x + 4")
        assert all(part in text for part in parts), text


@pytest.mark.parametrize("code", ["(" * 300000, "-" * 500000 + "1", "a" + ".a" * 400000, "x = 1\0"],
                         ids=["brackets", "signs", "dots", "nul"])  # fmt: skip
def test_a_program_that_overstrains_a_parser_is_refused(code: str) -> None:
    assert convert.convert_row("Net", code, False)["reason"] == "syntax"


# ---- the file ----

GOOD = '{"a":1}\n{"a":2}'


@pytest.mark.parametrize(
    ("text", "rows", "error"),
    [
        ('[{"a":1},\n {"a":2, "b":"}]\\""}]\n', 2, ""),
        (GOOD, 2, ""),
        (" []", 0, ""),
        (" \n", 0, ""),
        ('[{"a":1}', 1, ":1: the file ends before its array does; fetch it again (after row 1)"),
        ('{"a":1}\n{"a":\n{', 1,
         ":3: the file ends inside row 2, which begins on line 2; fetch it again"),
        ('{"a":1}\n{"a": "x', 1,
         ":2: the file ends inside row 2, which begins on line 2; fetch it again"),
        ('[{"a":1}\n {"a":2}]', 1, ":2: expected ',' or ']' (after row 1)"),
        ('[{"a":1},\n]', 1, ":2: a comma, but no row behind it (after row 1)"),
        ('{"a":1}\n17\n', 1, ":2: expected a row, which begins with '{' (after row 1)"),
        ('[{"a":1}]\n[', 1, ":2: text after the end of the array (after row 1)"),
        ('{"a":1}\n{"a":2,\n"b" 3, "c": "a long enough text"}', 1, ":3:5: Expecting ':' delimiter"),
        ('{"a":1}\n{' + " " * (16 << 20), 1, ":2: a row is larger than 16 MiB"),
        ('{"a":1}\n{"a":"' + "b" * (16 << 20) + '"}', 1, ":2: a row is larger than 16 MiB"),
        ('{"a":1}\n{"a":' + "[" * 100000, 1, ":2: nested too deep"),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_a_file_gives_its_rows_up_to_the_first_mistake(
    tmp_path: Path, text: str, rows: int, error: str
) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text)
    found, said = 0, ""
    try:
        for _ in book_rows.read(str(path))[1]:
            found += 1
    except book_rows.BadInput as problem:
        said = str(problem)
    assert (found, said[: len(f"{path}{error}")]) == (rows, error and f"{path}{error}"), said


def test_rows_across_the_borders_of_what_is_read_at_once_stay_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.json"
    codes = ["größe\n" * n for n in range(40)]
    path.write_text("\n".join(json.dumps({"python_code": c}, ensure_ascii=n % 2 > 0)
                              for n, c in enumerate(codes)))  # fmt: skip
    for size in (1, 2, 3, 7, 64, 1000):
        monkeypatch.setattr(book_rows, "CHUNK", size)
        assert [r.text("python_code") for r in book_rows.read(str(path))[1]] == codes, size


def test_what_is_no_text_becomes_a_replacement(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(b'{"python_code": "a\xffb\\ud800c\\u0000d", "entry_point": 3}')
    (row,) = book_rows.read(str(path))[1]
    assert row.text("python_code") == "a\ufffdb\ufffdc\ufffdd"
    assert row.line()["entry_point"] == ""


def test_a_class_cannot_name_another_folder(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"entry_point": "../../" + "x" * 200, "python_code": ""}))
    (row,) = book_rows.read(str(path))[1]
    assert row.stem() == "1_" + "______" + "x" * 74


# ---- the process that parses ----


def parser(box: str = "auto", unsafe: bool = False) -> importer.Parser:
    return importer.Parser(argparse.Namespace(home=str(ROOT), box=box, unsafe=unsafe))


def asked(p: importer.Parser, entry: str, code: str) -> dict:
    p.ask(entry, code, False)
    return p.answer()


@pytest.mark.parametrize("box", ["full", "thin"])
def test_the_parser_can_do_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, box: str
) -> None:
    """What a program could do that took over the parser: here it has."""
    secret = tmp_path / "secret"
    secret.write_text("x")
    kept = os.open(secret, os.O_RDWR)  # as the input is when a parser is replaced
    attempts = {
        "read": lambda: open(secret),
        "write": lambda: open(tmp_path / "planted", "w"),
        "list": lambda: os.listdir("/usr"),
        "inherited": lambda: os.read(kept, 1),
        "program": lambda: os.posix_spawn("/bin/true", ["true"], {}),
        "fork": lambda: os.fork() or os._exit(0),
        "network": lambda: socket.socket().connect(("127.0.0.1", 9)),
        "memory": lambda: bytearray(3 << 30),
    }

    def took_over(*_: object) -> dict:
        done = {}
        for name, attempt in attempts.items():
            try:
                attempt()
                done[name] = "done"
            except (OSError, MemoryError) as problem:
                done[name] = type(problem).__name__
        return {"reason": "entry", "detail": json.dumps(done)}

    monkeypatch.setattr(convert, "convert_row", took_over)
    p = parser(box)
    found = json.loads(asked(p, "Net", "")["detail"])
    p.stop()
    os.close(kept)
    assert set(found) == set(attempts) and "done" not in found.values(), found


def test_a_program_that_ends_the_parser_costs_its_own_row_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = convert.convert_row

    def mortal(entry: str, code: str, scale: bool) -> dict:
        return os.abort() if entry == "Bomb" else real(entry, code, scale)

    monkeypatch.setattr(convert, "convert_row", mortal)
    p = parser()
    good = HEAD + FORWARD + "        return x\n" + NO_INIT
    found = [asked(p, entry, good)["reason"] for entry in ("Net", "Bomb", "Net")]
    p.stop()
    assert found == ["kept", "syntax", "kept"]


@pytest.mark.parametrize(
    "lie",
    [{}, {"reason": "unchecked", "detail": ""}, {"reason": "kept"},
     {"reason": "kept", "texts": [], "sizes": [], "changes": []},
     {"reason": "kept", "texts": ["x"], "sizes": [64, 0], "changes": []},
     {"reason": "kept", "texts": [3], "sizes": None, "changes": []}],
    ids=str,
)  # fmt: skip
def test_a_parser_that_answers_something_else_is_replaced(
    monkeypatch: pytest.MonkeyPatch, lie: dict
) -> None:
    monkeypatch.setattr(convert, "convert_row", lambda *_: lie)
    p = parser()
    before = p.pid
    found = asked(p, "Net", "")
    p.stop()
    assert found["reason"] == "syntax" and p.pid != before


def test_a_parser_cannot_choose_the_file_or_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie = {"reason": "syntax", "detail": "", "stem": "../x", "line": {"row": 7}, "source": {}}
    monkeypatch.setattr(convert, "convert_row", lambda *_: lie)
    path = tmp_path / "rows.json"
    path.write_text('{"entry_point": "Net", "python_code": "", "sha": "c0ffee"}')
    o = argparse.Namespace(home=str(ROOT), box="auto", unsafe=False, scale=False, input=str(path))
    setattr(o, "from", 1)
    conversion = importer.Conversion(o)
    (found,) = conversion.answers()
    for p in conversion.free:
        p.stop()
    assert (found["stem"], found["line"]["row"], found["source"]["sha"]) == ("1_Net", 1, "c0ffee")


def test_without_a_box_nothing_is_parsed_unless_that_is_meant() -> None:
    with pytest.raises(importer.NoBox, match="--unsafe"):
        parser("none")
    p = parser("none", unsafe=True)
    assert asked(p, "Net", "")["reason"] == "entry"
    p.stop()


def test_no_torch_is_needed() -> None:
    script = "import sys; sys.modules['torch'] = None; sys.path.insert(0, 'worker'); import importer"
    subprocess.run([sys.executable, "-I", "-c", script], check=True, cwd=ROOT)
