"""Writes out what was verified: a small ModelNew made from a trace and its kernels.

A file may behave differently when it is not being recorded. What was verified is its trace, so that
is delivered: allocations, moves and launches, nothing else. The text consists of checked trees,
identifiers that match a pattern, and `repr` of values. Of the candidate's own text, it contains
only the kernels. It verifies like any candidate."""

import ast
import base64
import keyword
import math
import re

from judge.traces import Buffer, Call, Launch, Move, Trace, View, view
from shared import kernel_language
from shared.plan import ITEM

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
HELPER = re.compile(r"^\s*from\s+([a-z_]{1,30})\s+import\s+build\b", re.M)
CONSTANT_BYTES = 1 << 16  # of constants that are written into the text
LINES = 4000  # of a file that somebody may read
HEAD = '"""Made from a verified trace: allocations, moves and launches, nothing else."""'


class CannotPort(Exception):
    """Says why the text cannot be written."""


def write(job: dict, facts, trace: Trace, names: dict[str, str]) -> tuple[str | None, str | None]:
    """The text, or why it cannot be written."""
    try:
        text = _Writer(job, facts, trace, names).text()
        ast.parse(text)
        return text, None
    except (CannotPort, kernel_language.Denied, SyntaxError, RecursionError) as problem:
        return None, str(problem)


def identifier(name: object) -> str:
    if not isinstance(name, str) or not IDENTIFIER.fullmatch(name) or keyword.iskeyword(name):
        raise CannotPort("a name that is no plain identifier")
    return name


def number(value: object) -> str:
    if isinstance(value, dict):
        value = float(value["float"])
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    raise CannotPort("a value that is not a number")


class _Writer:
    def __init__(self, job: dict, facts, trace: Trace, names: dict[str, str]) -> None:
        self.job, self.facts, self.trace, self.names = job, facts, trace, names
        self.head: list[str] = []  # the imports
        self.meant: dict[str, str] = {}  # names of the file, by the line that says what each is
        self.import_line("torch", "import torch")
        self.import_line("nn", "import torch.nn as nn")
        self.body: list[str] = []  # of forward
        self.kernels: dict[int, str] = {}  # names, by index
        self.texts: dict[int, str] = {}
        self.blocks: list[str] = []  # kernels and sources
        self.tree: ast.Module | None = None

    # ---- the whole ----

    def text(self) -> str:
        call = self.trace.calls[0]
        arguments = self.arguments()
        kept = self.part(self.trace.setup, {}, "s")
        self.part(call, kept, "b")
        self.body.append(f"return {self.output(call.output, call)}")
        lines = [HEAD, "", *self.head, *self.blocks, "", "", *self.model(arguments)]
        if len(lines) + len(self.body) > LINES:
            raise CannotPort(f"it would have more than {LINES} lines")
        return "\n".join(lines) + "\n"

    def model(self, arguments: list[str]) -> list[str]:
        lines = ["class ModelNew(nn.Module):", "    def __init__(self, *args, **kwargs):",
                 "        super().__init__()"]  # fmt: skip
        for name, shape, dtype in self.facts.state:
            *path, last = name.split(".")
            for part in (*path, last):
                if not re.fullmatch(r"\w{1,100}", part):
                    raise CannotPort("a parameter's name")
            made = f"torch.zeros({tuple(shape)!r}, dtype=torch.{dtype})"
            kind = "register_buffer"
            if name in self.facts.parameters:
                kind, made = "register_parameter", f"nn.Parameter({made})"
            lines.append(f"        self._at({path!r}).{kind}({last!r}, {made})")
        lines += ["", "    def _at(self, path):", "        module = self",
                  "        for name in path:", "            if not hasattr(module, name):",
                  "                module.add_module(name, nn.Module())",
                  "            module = getattr(module, name)", "        return module"]  # fmt: skip
        if not self.facts.state:
            lines = lines[:3]
        signature = ", ".join(["self", *arguments])
        held = [f"        {line}" for line in self.body]
        return [*lines, "", f"    def forward({signature}):", *held]

    def arguments(self) -> list[str]:
        """The parameters of forward; tensors are in0, in1, … in the order of the trace's inputs."""
        names, count = [], 0
        for i, told in enumerate(self.facts.spec):
            if "tensor" in told:
                names.append(f"in{count}")
                count += 1
            elif "value" in told:
                names.append(f"unused{i}")
            else:
                raise CannotPort("an argument of forward is a list or dict")
        self.device = "in0.device" if count else "'cpu'"
        return names

    # ---- parts and buffers ----

    def part(self, call: Call, kept: dict[int, str], prefix: str) -> dict[int, str]:
        """Writes the lines of a part. Returns the names of the buffers that later parts use."""
        self.buffers = [self.buffer(i, b, call, kept, prefix) for i, b in enumerate(call.buffers)]
        self.held = call.buffers
        for node in call.nodes:
            self.body.append(self.node(node, call))
        return {b.key: n for b, n in zip(call.buffers, self.buffers) if b.kind == "new" and b.key is not None}

    def buffer(self, i: int, b: Buffer, call: Call, kept: dict[int, str], prefix: str) -> str:
        name = f"{prefix}{i}"
        if b.kind == "input":
            return f"in{b.key}"
        if b.kind == "state":
            parts = self.names[b.key].split(".")
            if all(IDENTIFIER.fullmatch(p) for p in parts):
                return ".".join(["self", *parts])
            return f"self._at({parts[:-1]!r}).{identifier(parts[-1])}"
        if b.kind == "kept":
            if b.key not in kept:
                raise CannotPort("the first call uses what an earlier one kept")
            return kept[b.key]
        if b.kind == "const":
            if b.bytes > CONSTANT_BYTES:
                raise CannotPort(f"a constant has {b.bytes} bytes")
            raw = base64.b64encode(self.trace.blob[b.key : b.key + b.bytes])
            self.import_line("base64", "import base64")
            made = f"torch.frombuffer(bytearray(base64.b64decode({raw!r})), dtype=torch.{b.dtype})"
            if not b.bytes:
                made = f"torch.empty(0, dtype=torch.{b.dtype})"
            self.blocks += ["", f"CONSTANT_{i} = {made}"]
            self.body.append(f"{name} = CONSTANT_{i}.to({self.device})")
            return name
        size = b.bytes // ITEM[b.dtype]
        self.body.append(f"{name} = torch.empty({size}, dtype=torch.{b.dtype}, device={self.device})")
        return name

    def view(self, v: View) -> str:
        base, held = self.buffers[v.buffer], self.held[v.buffer]
        flips = [i for i, s in enumerate(v.strides) if s < 0 and v.shape[i] > 1]
        offset = v.offset + sum((v.shape[i] - 1) * v.strides[i] for i in flips)
        strides = tuple(abs(s) for s in v.strides)
        if held.dtype != v.dtype:
            base = f"{base}.view(-1).view(torch.{v.dtype})"
        if self.is_whole(v, held, offset, strides):
            text = base
        elif held.kind in ("input", "state"):
            text = f"{base}.as_strided({v.shape!r}, {strides!r}, {base}.storage_offset() + {offset})"
        elif offset == 0 and strides == _contiguous(v.shape) and v.count() * ITEM[v.dtype] == held.bytes:
            text = f"{base}.view({v.shape!r})"
        else:
            text = f"{base}.as_strided({v.shape!r}, {strides!r}, {offset})"
        return f"{text}.flip({flips!r})" if flips else text

    def is_whole(self, v: View, held: Buffer, offset: int, strides: tuple) -> bool:
        """Whether a view is an entire input or parameter."""
        if offset or held.dtype != v.dtype:
            return False
        if held.kind == "input":
            told = [t["tensor"] for t in self.facts.spec if "tensor" in t][held.key]
            return tuple(told[0]) == v.shape and tuple(told[2]) == strides
        if held.kind == "state":
            shape = next(s for n, s, _ in self.facts.state if n == self.names[held.key])
            return tuple(shape) == v.shape and strides == _contiguous(v.shape)
        return False

    # ---- nodes ----

    def node(self, node: Move | Launch, call: Call) -> str:
        if isinstance(node, Launch):
            return self.call(node) if node.op == "call" else self.launch(node)
        to = self.view(node.to)
        if node.source is not None:
            return f"{to}.copy_({self.view(node.source)})"
        return f"{to}.{'fill_' if node.op == 'fill' else 'add_'}({number(node.value)})"

    def launch(self, node: Launch) -> str:
        told = node.told
        if self.job["family"] == "cuda":
            return self.cuda_launch(told)
        if self.job["family"] == "tilelang":
            raise CannotPort("kernels of this language are recorded as IR, which has no source")
        name = self.kernel(told["kernel"])
        args = [f"{identifier(n)}={self.argument(a)}" for n, a in told["args"].items()]
        args += [f"{identifier(n)}={number(v)}" for n, v in told["options"].items() if v is not None]
        grid = tuple(int(g) for g in told["grid"])
        return f"{name}[{grid!r}]({', '.join(args)})"

    def cuda_launch(self, told: dict) -> str:
        kernel = self.trace.kernels[told["kernel"]]
        args = [self.argument(a) for a in told["args"].values()]
        grid, block = (tuple(map(int, x)) for x in (told["grid"], told["options"]["block"]))
        where = f"{grid!r}, {block!r}, {int(told['options'].get('shared', 0))}"
        return f"{self.source(kernel['text'])}.{identifier(kernel['name'])}[{where}]({', '.join(args)})"

    def call(self, node: Launch) -> str:
        args = ", ".join(self.argument(a) for a in node.told["args"])
        return f"{self.source(node.told['text'])}.{identifier(node.told['function'])}({args})"

    def argument(self, told: object) -> str:
        if not isinstance(told, dict) or "float" in told:
            return number(told)
        ((kind, held),) = told.items()
        if kind == "t":
            return self.view(view(held, self.held))
        if kind == "tuple":
            return "(" + "".join(f"{self.argument(part)}, " for part in held) + ")"
        if kind == "dtype":
            self.language()
            return f"tl.dtype({str(held)!r})"
        if kind == "kernel":
            return self.kernel(held)
        if kind == "reinterpret":
            self.language()
            return f"triton.reinterpret({self.view(view(held[0], self.held))}, tl.dtype({str(held[1])!r}))"
        if kind == "desc" and held[5] is None:
            self.import_line("TensorDescriptor", "from triton.tools.tensor_descriptor import TensorDescriptor")
            shape, strides, block = (list(map(int, x)) for x in held[1:4])
            base = self.view(view(held[0], self.held))
            return f"TensorDescriptor({base}, {shape!r}, {strides!r}, {block!r}, {number(held[4])})"
        raise CannotPort(f"an argument of kind {kind!r}")

    # ---- kernels and sources ----

    def language(self) -> None:
        self.import_line("triton", "import triton")
        self.import_line("tl", "import triton.language as tl")

    def import_line(self, name: str, line: str) -> None:
        self.claim(name, line)
        if line not in self.head:
            self.head.append(line)

    def claim(self, name: str, line: str) -> None:
        """Each name in the file has one meaning: the one given by this line."""
        if self.meant.setdefault(name, line) != line:
            raise CannotPort(f"two things are called {name}")

    def kernel(self, index: int) -> str:
        if index in self.kernels:
            return self.kernels[index]
        told = self.trace.kernels[index]
        name = identifier(told["name"])
        if name in self.kernels.values() or name in self.meant:
            raise CannotPort(f"two kernels are called {name}")
        self.kernels[index] = name
        self.language()
        self.tree = self.tree or kernel_language.parse(self.job["candidate"])
        found = kernel_language.extract(self.tree, told)
        if found.defaults:
            raise CannotPort("a kernel's default value comes from its file")
        for used in found.used:
            self.bind(identifier(used), told["bind"][used])
        flags = [f"{flag}=True" for flag in ("noinline",) if told.get(flag)]
        if told.get("do_not_specialize"):
            flags.append(f"do_not_specialize={[identifier(n) for n in told['do_not_specialize']]!r}")
        language = "triton"
        if told.get("language") == "gluon":
            language = "gluon"
            self.import_line("gluon", "from triton.experimental import gluon")
        mark = f"@{language}.jit" + (f"({', '.join(flags)})" if flags else "")
        self.blocks += ["", "", mark, ast.unparse(_Spoken().visit(found.tree))]
        return name

    def bind(self, name: str, told: dict) -> None:
        """Defines a free name of a kernel."""
        ((kind, held),) = told.items()
        if kind == "module":
            self.import_line(name, f"import {_dotted(held)} as {name}")
        elif kind == "from":
            module, member = held
            if module != "builtins":
                self.import_line(name, f"from {_dotted(module)} import {identifier(member)} as {name}")
        elif kind == "kernel":
            other = self.kernel(held)
            if other != name:
                self.define(name, other)
        else:
            self.define(name, self.value(told))

    def define(self, name: str, text: str) -> None:
        line = f"{name} = {text}"
        self.claim(name, line)
        if line not in self.blocks:
            self.blocks += ["", line]

    def value(self, told: dict) -> str:
        ((kind, held),) = told.items()
        if kind == "value":
            return number(held)
        if kind == "constexpr":
            return f"tl.constexpr({self.value(held)})"
        if kind == "dtype":
            return f"tl.dtype({str(held)!r})"
        if kind == "kernel":
            return self.kernel(held)
        if kind == "tuple":
            return "(" + "".join(f"{self.value(part)}, " for part in held) + ")"
        raise CannotPort(f"a kernel uses a name that is a {kind}")

    def source(self, index: int) -> str:
        """The library built from a text, once, when the file is loaded."""
        if index not in self.texts:
            helper = HELPER.search(self.job["candidate"])
            if helper is None:
                raise CannotPort("the file does not import build")
            self.import_line("build", f"from {helper[1]} import build")
            self.texts[index] = name = f"library_{index}"
            text = self.trace.texts[index]
            quoted = f'r"""{text}"""' if '"""' not in text and not text.endswith(('"', "\\")) else repr(text)
            self.blocks += ["", f"{name} = build({quoted})"]
        return self.texts[index]

    # ---- the output ----

    def output(self, told: dict, call: Call) -> str:
        ((kind, held),) = told.items()
        if kind == "tensor":
            return self.view(view(held, call.buffers))
        if kind == "list":
            return "[" + ", ".join(self.output(part, call) for part in held) + "]"
        if kind == "tuple":
            return "(" + "".join(f"{self.output(part, call)}, " for part in held) + ")"
        if kind == "dict":
            return "{" + ", ".join(f"{k!r}: {self.output(v, call)}" for k, v in held) + "}"
        return number(held)


class _Spoken(ast.NodeTransformer):
    """The check uses a module name that no kernel can use; readers know the module as tl."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("tl", node.ctx) if node.id == kernel_language.LANGUAGE else node


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, count = [], 1
    for n in reversed(shape):
        strides.insert(0, count)
        count *= max(n, 1)
    return tuple(strides)


def _dotted(module: object) -> str:
    parts = str(module).split(".")
    return ".".join(identifier(part) for part in parts)
