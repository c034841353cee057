"""Writes out what was verified: a file with the task's text and a ModelNew made from a trace and its
kernels.

A file may behave differently when it is not being recorded. What was verified is its trace, so that
is delivered: allocations, moves and launches, nothing else. The text consists of the task's file,
checked trees, identifiers that match a pattern, and `repr` of values. Of the candidate's own text, it
contains only the kernels. It is recorded like a candidate before it is delivered, and both its calls
must have the form of the judged first one (canonical.py)."""

import ast
import base64
import builtins
import functools
import keyword
import math
import re
import symtable
import textwrap
from collections.abc import Callable, Collection
from dataclasses import replace

from judge import canonical, launches, ported_parts, region, taskfile
from judge.traces import Buffer, Call, Launch, Move, Trace, View, view
from shared import kernel_language, native
from shared.program import ITEM
from shared.structure import contiguous

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
HELPER = re.compile(r"^\s*from\s+([a-z_]{1,30})\s+import\s+build\b", re.M)
GENERATED = re.compile(r"_.*|(in|b|s)\d+r?|self|device|room")  # names of a forward that is written here
CONSTANT_BYTES = 1 << 16  # of constants that are written into the text
NAMED = 12  # tensors that the head of the text names
LINES = 4000  # of what is added to the task's text
TASKS = "the task's"  # what the task's file means by a name
LATER = "What a first call computes for later ones is computed in every call here; a time that was"
_PARTS = ast.walk(ast.parse(ported_parts.ARGUMENTS + ported_parts.C_LIBRARY + "bytearray, float"))
BUILTINS = dict.fromkeys({n.id for n in _PARTS if isinstance(n, ast.Name)} & {*dir(builtins)}, "Python's own")
IR = ("kernels of this language are recorded as IR, which has no source: the file is its author's, "
      "and only its trace was judged")  # fmt: skip


class CannotPort(Exception):
    """Says why the text cannot be written."""


def write_out(
    job: dict, facts, trace: Trace, names: dict[str, str], built: object,
    choose: Callable[[Launch, Call], dict], where: str,
) -> tuple["Writer | None", str | None]:  # fmt: skip
    """Who has written the text, or why it cannot be written. `choose` gives a launch in the
    configuration that is delivered; `where` says what it was judged on."""
    try:
        writer = Writer(job, facts, trace, names, built, choose, where)
        writer.text = writer.whole()
        return writer, None
    except (CannotPort, kernel_language.Denied, SyntaxError, RecursionError) as problem:
        return None, str(problem)


def plain_word(name: object) -> str:
    if not isinstance(name, str) or not IDENTIFIER.fullmatch(name) or keyword.iskeyword(name):
        raise CannotPort("a name that is no plain identifier")
    return name


def spelled(value: object) -> str:
    if isinstance(value, dict):
        value = float(value["float"])
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    raise CannotPort("a value that is not a number")


class Writer:
    text: str

    def __init__(
        self, job: dict, facts, trace: Trace, names: dict[str, str], built: object,
        choose: Callable[[Launch, Call], dict], where: str,
    ) -> None:  # fmt: skip
        self.job, self.facts, self.trace, self.names = job, facts, trace, names
        self.choose, self.where = choose, where
        helper = HELPER.search(job["candidate"])
        self.helper = helper and helper[1]
        self.is_c = self.helper == "c_cpu" and job["family"] == "native"
        self.sources = trace.texts  # as they are delivered
        self.places: list[list[int]] = [[], []]  # of C's buffers in its room
        if self.is_c:
            made = [built.sources.get(i, (text, ())) for i, text in enumerate(trace.texts)]
            self.sources, self.options = [source for source, _ in made], max(options for _, options in made)
            held = {name: facts.buffers[meant] for name, meant in names.items()}
            self.places = region.lay_out(trace, facts.inputs, held, 0).parts
        self.copied: dict[tuple, tuple[str, str, bool]] = {}  # inputs and state: whether it is changed there
        self.head: list[str] = []  # the imports
        self.meant = BUILTINS | _task_names(job["task"]["source"])  # names of the file, by what says what each is
        self.import_line("torch", "import torch")
        for name in ("ModelNew", "_as_judged", "_same"):
            self.claim(name, "defined here")
        self.body: list[str] = []  # of forward
        self.kernels: dict[int, str] = {}  # names, by index
        self.texts: dict[int, str] = {}
        self.constants: dict[tuple, str] = {}
        self.blocks: list[str] = []  # kernels and sources
        self.needs = ["torch"]
        self.tree: ast.Module | None = None
        self.functions: dict[int, tuple[str, list[str]]] = {}  # kernels as text, and what they use
        self.marked: dict[str, tuple[str, str]] = {}  # kernels by their names: decorator and text

    # ---- the whole ----

    def whole(self) -> str:
        if self.job["family"] in ("tilelang", "cute"):
            raise CannotPort(IR)
        call = self.trace.calls[0]
        arguments = self.arguments()
        checks, self.body = self.body, []
        kept = self.part(self.trace.setup, {}, "s")
        self.part(call, kept, "b")
        self.body += [f"room.take({copy}, {own})" for own, copy, changes in self.copied.values() if changes]
        self.body.append(f"return {self.output(call.output, call)}")
        if self.is_c:
            ends = [region.pages(at, b.bytes)[1] for places, part in zip(self.places, self.trace.parts()[:2])
                    for at, b in zip(places, part.buffers)]  # fmt: skip
            size = max(ends, default=region.PAGE)
            self.body = [f"with _Room({size}) as room:", *(f"    {line}" for line in self.body)]
        self.body = checks + self.body
        made = [*self.head, "", *ported_parts.ARGUMENTS.splitlines(), *self.blocks, "", "",
                "class ModelNew(Model):", "    @torch.no_grad()",
                f"    def forward(self, {', '.join(arguments)}):"]  # fmt: skip
        made += [f"        {line}" for line in self.body]
        if len(made) > LINES:
            raise CannotPort(f"it would have more than {LINES} lines")
        return "\n".join([*self.header(), self.job["task"]["source"].strip("\n"), "", "", *made]) + "\n"

    def header(self) -> list[str]:
        task = re.sub(r"[^\w./ -]", "?", self.job["task"]["id"], flags=re.ASCII)[:200]
        lines = [
            f"The task {task} with kernels that were verified: import ModelNew from this file. It is",
            "made of a trace: allocations, moves and launches, nothing else. Each kernel is as it was",
            f"judged: correct at evidence E3, {self.job['precision']}, {self.where}.",
            "", "It is right for these arguments of forward, and refuses others:", "", *self.described, "",
            *self.program(),
            *([LATER, "judged is that of a later call."] if len(self.trace.calls) > 1 else []),
            "Other sizes have to be verified again. No gradients are computed.",
            f"It needs {', '.join(self.needs)}.",
        ]  # fmt: skip
        return [f"# {line}".rstrip() for line in lines] + [""]

    def program(self) -> list[str]:
        """Tensors whose values a kernel may know: in no trial were they others."""
        names = [re.sub(r"[^\w. ]", "?", name, flags=re.ASCII)[:60] for name in self.facts.always]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        text = (f"In every trial the task had the same {', '.join(names[:NAMED])}{more}: with other "
                "values there nothing was judged.")  # fmt: skip
        return textwrap.wrap(text, 90) if names else []

    def arguments(self) -> list[str]:
        """The parameters of forward, with the reference's names where they are plain. Tensors are
        in0, in1, … in the order of the trace's inputs."""
        names = taskfile.arguments_of(self.job["task"]["source"])[: len(self.facts.spec)]
        if len(set(names)) < len(self.facts.spec) or any(self.unfit(n) for n in names):
            names = [f"arg{i}" for i in range(len(self.facts.spec))]
        self.inputs: list[list] = []
        self.described: list[str] = []
        for name, spec in zip(names, self.facts.spec):
            if "tensor" in spec:
                self.inputs.append([name, *spec["tensor"]])
                shape, dtype, strides = spec["tensor"]
                self.described.append(f"    {name}: {dtype} {tuple(shape)}, strides {tuple(strides)}")
            elif "value" in spec:
                value = spelled(spec["value"])
                self.body.append(f"_same({name!r}, {name}, {value})")
                self.described.append(f"    {name}: {value}"[:90])
            else:
                raise CannotPort("an argument of forward is a list or dict")
        if not self.inputs:
            self.body.append(f"device = torch.device({self.job['device']!r})")
        for i, (name, shape, dtype, strides) in enumerate(self.inputs):
            first = "torch.device('cpu')" if self.is_c else "None"
            more = ", changed=True" if self.facts.inputs[i].changes else ""
            made = self.checked(name, name, shape, strides, dtype, ("device" if i else first) + more)
            self.body += [f"in{i} = {made}"] + (["device = in0.device"] if i == 0 else [])
        return names

    def unfit(self, name: str) -> bool:
        plain = IDENTIFIER.fullmatch(name) and not keyword.iskeyword(name)
        return not plain or bool(GENERATED.fullmatch(name)) or name in ("torch", "tl", "triton")

    def checked(
        self, name: str, text: str, shape: list, strides: list, dtype: str, device: str = "device"
    ) -> str:
        sizes = f"{tuple(shape)!r}, {tuple(strides)!r}"
        return f"_as_judged({name!r}, {text}, {sizes}, torch.{dtype}, {device})"

    # ---- parts and buffers ----

    def part(self, call: Call, kept: dict[int, str], prefix: str) -> dict[int, str]:
        """Writes the lines of a part. Returns the names of the buffers that later parts use."""
        self.at = self.places[prefix == "b"]
        self.buffers = [self.buffer(i, b, call, kept, prefix) for i, b in enumerate(call.buffers)]
        self.held = call.buffers
        for node in call.nodes:
            self.body.append(self.node(node, call))
        return {b.key: n for b, n in zip(call.buffers, self.buffers) if b.kind == "new" and b.key is not None}

    def buffer(self, i: int, b: Buffer, call: Call, kept: dict[int, str], prefix: str) -> str:
        name = f"{prefix}{i}"
        if (b.kind, b.key) in self.copied:
            return self.copied[b.kind, b.key][1]
        if b.kind == "input":
            return self.copy(f"in{b.key}", i, b, self.facts.inputs[b.key].changes)
        if b.kind == "kept":
            if b.key not in kept:
                raise CannotPort("the first call uses what an earlier one kept")
            return kept[b.key]
        if b.kind == "state":
            self.body.append(f"{name} = {self.state(self.names[b.key])}")
            return self.copy(name, i, b, self.facts.buffers[self.names[b.key]].changes)
        if b.kind == "const":
            made = self.put(i, f"{self.constant(b)}.to(device, copy=True)")
        elif self.is_c:
            made = f"room.new({self.at[i]}, {b.bytes // ITEM[b.dtype]}, torch.{b.dtype})"
        else:
            made = f"torch.empty({b.bytes // ITEM[b.dtype]}, dtype=torch.{b.dtype}, device=device)"
        self.body.append(f"{name} = {made}")
        return name

    def copy(self, name: str, i: int, b: Buffer, changes: bool) -> str:
        """An input or state where C finds it."""
        if not self.is_c:
            return name
        self.copied[b.kind, b.key] = name, f"{name}r", changes
        self.body.append(f"{name}r = {self.put(i, name)}")
        return f"{name}r"

    def put(self, i: int, made: str) -> str:
        return f"room.put({self.at[i]}, {made})" if self.is_c else made

    def state(self, name: str) -> str:
        """A parameter or buffer; buffers may be changed."""
        if not re.fullmatch(r"[\w.]{1,300}", name, re.ASCII):
            raise CannotPort("a parameter's name")
        shape, dtype = next((s, d) for n, s, d in self.facts.state if n == name)
        own = name in self.facts.parameters
        text = f"self.get_{'parameter' if own else 'buffer'}({name!r})"
        if all(IDENTIFIER.fullmatch(p) and not keyword.iskeyword(p) for p in name.split(".")):
            text = f"self.{name}"
        device = "device" if own else "device, changed=True"
        return self.checked(name, text, shape, contiguous(tuple(shape)), dtype, device)

    def constant(self, b: Buffer) -> str:
        key = b.key, b.bytes, b.dtype
        if key not in self.constants:
            if b.bytes > CONSTANT_BYTES:
                raise CannotPort(f"a constant has {b.bytes} bytes")
            raw = base64.b64encode(self.trace.blob[b.key : b.key + b.bytes])
            self.import_line("base64", "import base64")
            made = f"torch.frombuffer(bytearray(base64.b64decode({raw!r})), dtype=torch.{b.dtype})"
            if not b.bytes:
                made = f"torch.empty(0, dtype=torch.{b.dtype})"
            self.constants[key] = f"_CONSTANT_{len(self.constants)}"
            self.claim(self.constants[key], "defined here")
            self.blocks += ["", f"{self.constants[key]} = {made}"]
        return self.constants[key]

    def view(self, v: View, base: str = "") -> str:
        base, held = base or self.buffers[v.buffer], self.held[v.buffer]
        flips = [i for i, s in enumerate(v.strides) if s < 0 and v.shape[i] > 1]
        offset = v.offset + sum((v.shape[i] - 1) * v.strides[i] for i in flips)
        strides = tuple(abs(s) for s in v.strides)
        if held.dtype != v.dtype:
            base = f"{base}.view(-1).view(torch.{v.dtype})"
        if self.is_whole(v, held, offset, strides):
            text = base
        elif held.kind in ("input", "state"):
            text = f"{base}.as_strided({v.shape!r}, {strides!r}, {base}.storage_offset() + {offset})"
        elif offset == 0 and strides == contiguous(v.shape) and v.count() * ITEM[v.dtype] == held.bytes:
            text = f"{base}.view({v.shape!r})"
        else:
            text = f"{base}.as_strided({v.shape!r}, {strides!r}, {offset})"
        return f"{text}.flip({flips!r})" if flips else text

    def is_whole(self, v: View, held: Buffer, offset: int, strides: tuple) -> bool:
        """Whether a view is an entire input or parameter."""
        if offset or held.dtype != v.dtype:
            return False
        if held.kind == "input":
            _, shape, _, own = self.inputs[held.key]
            return tuple(shape) == v.shape and tuple(own) == strides
        if held.kind == "state":
            shape = next(s for n, s, _ in self.facts.state if n == self.names[held.key])
            return tuple(shape) == v.shape and strides == contiguous(v.shape)
        return False

    # ---- nodes ----

    def node(self, node: Move | Launch, call: Call) -> str:
        if isinstance(node, Launch):
            return self.call(node) if node.op == "call" else self.launch(node, call)
        to, held = self.view(node.to), self.held[node.to.buffer]
        if node.source is not None and min(node.source.strides, default=0) < 0 and held.kind == "new":
            if node.to.count() * ITEM[held.dtype] == held.bytes and node.to.strides == contiguous(node.to.shape):
                made = self.put(node.to.buffer, f"{self.view(node.source)}.view(-1)")
                return f"{self.buffers[node.to.buffer]} = {made}"
        if node.source is not None:
            return f"{to}.copy_({self.view(node.source)})"
        return f"{to}.{'fill_' if node.op == 'fill' else 'add_'}({spelled(node.value)})"

    def launch(self, node: Launch, call: Call) -> str:
        spec = self.choose(node, call)
        if self.job["family"] == "cuda":
            return self.cuda_launch(node.spec)
        name = self.kernel(node.spec["kernel"])
        args = [f"{plain_word(n)}={self.argument(a)}" for n, a in spec["args"].items()]
        args += [f"{plain_word(n)}={spelled(v)}" for n, v in spec["options"].items() if v is not None]
        grid = tuple(int(g) for g in spec["grid"])
        return f"{name}[{grid!r}]({', '.join(args)})"

    def cuda_launch(self, spec: dict) -> str:
        kernel = self.trace.kernels[spec["kernel"]]
        args = [self.argument(a) for a in spec["args"].values()]
        grid, block = (tuple(map(int, x)) for x in (spec["grid"], spec["options"]["block"]))
        where = f"{grid!r}, {block!r}, {int(spec['options'].get('shared', 0))}"
        return f"{self.source(kernel['text'])}.{plain_word(kernel['name'])}[{where}]({', '.join(args)})"

    def call(self, node: Launch) -> str:
        args = [self.argument(a) for a in node.spec["args"]]
        function = f"{self.source(node.spec['text'])}.{plain_word(node.spec['function'])}"
        if self.is_c:
            given = {view(raw, self.held).buffer for raw in launches.raw_tensors(node.spec)}
            seen = region.seen((self.at[i], self.held[i].bytes) for i in given)
            function, args = "room.call", [function, repr(seen), *args]
        return f"{function}({', '.join(args)})"

    def argument(self, raw: object) -> str:
        """Of a launch, or what a name of a kernel means."""
        if not isinstance(raw, dict) or "float" in raw:
            return spelled(raw)
        ((kind, held),) = raw.items()
        if kind == "t":
            return self.view(view(held, self.held))
        if kind == "value":
            return spelled(held)
        if kind == "tuple":
            return "(" + "".join(f"{self.argument(part)}, " for part in held) + ")"
        if kind == "constexpr":
            return f"tl.constexpr({self.argument(held)})"
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
            return f"TensorDescriptor({base}, {shape!r}, {strides!r}, {block!r}, {spelled(held[4])})"
        raise CannotPort(f"an argument of kind {kind!r}")

    # ---- kernels and sources ----

    def language(self) -> None:
        self.import_line("triton", "import triton")
        self.needs += ["triton"] if "triton" not in self.needs else []
        self.import_line("tl", "import triton.language as tl")

    def import_line(self, name: str, line: str) -> None:
        self.claim(name, line)
        if line not in self.head:
            self.head.append(line)

    def claim(self, name: str, line: str) -> None:
        """Each name in the file has one meaning: the one given by this line."""
        if self.meant.setdefault(name, line) != line:
            raise CannotPort(f"two things are called {name}" if self.meant[name] != TASKS else
                             f"the task's file has another {name}")  # fmt: skip

    def kernel(self, index: int) -> str:
        if index in self.kernels:
            return self.kernels[index]
        spec = self.trace.kernels[index]
        name = plain_word(spec["name"])
        self.claim(name, f"kernel {index}")
        self.kernels[index] = name
        self.language()
        text, names = self.function(index)
        for used in names:
            self.bind(plain_word(used), spec["bind"][used])
        flags = [f"{flag}=True" for flag in ("noinline",) if spec.get(flag)]
        for flag in ("do_not_specialize", "do_not_specialize_on_alignment"):
            if spec.get(flag):
                held = [n if isinstance(n, int) else plain_word(n) for n in spec[flag]]
                flags.append(f"{flag}={held!r}")
        language = "triton"
        if spec.get("language") == "gluon":
            language = "gluon"
            self.import_line("gluon", "from triton.experimental import gluon")
        mark = f"@{language}.jit" + (f"({', '.join(flags)})" if flags else "")
        self.marked[name] = mark, text
        self.blocks += ["", "", mark, text]
        return name

    def function(self, index: int) -> tuple[str, list[str]]:
        """A kernel that was judged: its checked tree as text, without the decorator, and the names
        that it takes from its file."""
        if index not in self.functions:
            self.tree = self.tree or kernel_language.parse_source(self.job["candidate"])
            found = kernel_language.extract(self.tree, self.trace.kernels[index])
            if found.defaults:
                raise CannotPort("a kernel's default value comes from its file")
            nodes = [node for node in ast.walk(found.tree) if isinstance(node, (ast.Name, ast.arg))]
            if "tl" in {getattr(n, "id", getattr(n, "arg", 0)) for n in nodes} - {*found.used}:
                raise CannotPort("a kernel's own name is tl, which is the language here")
            for node in nodes:  # the check uses a name that no kernel can use
                if getattr(node, "id", 0) == kernel_language.LANGUAGE:
                    node.id = "tl"
            text = ast.unparse(found.tree)
            if ast.dump(ast.parse(text)) != ast.dump(found.tree):
                raise CannotPort(f"the kernel {found.name} reads otherwise when it is written out")
            self.functions[index] = text, found.used
        return self.functions[index]

    def difference(self, again: Trace) -> str | None:
        """Why `again`, the recording of the text, is not what was judged."""
        own, lines = {name: name for name, _, _ in again.state}, self.text.split("\n")

        def function(index: int) -> tuple[str, Collection[str]]:
            """A kernel of the text: one that was written, where it was written."""
            spec = again.kernels[index]
            mark, text = self.marked.get(spec["name"], ("", ""))
            block = [mark, *text.split("\n")]
            if lines[spec["line"] - 1 :][: len(block)] != block:
                raise CannotPort(f"line {spec['line']} has no kernel {spec['name']}")
            return text, spec["bind"]

        try:
            judged = replace(self.trace, texts=self.sources)
            judged = canonical.Form(judged, self.names, self.choose, self.function)
            form = functools.partial(canonical.Form, again, own, lambda node, _: node.spec, function)
            first, *found = judged.of(self.trace.calls[0]), *(form().of(call) for call in again.calls)
        except (CannotPort, kernel_language.Denied) as problem:
            return str(problem)
        return next(filter(None, (canonical.form_difference(first, one) for one in found)), None)

    def depends_on_seed(self, drawn: Trace, names: dict[str, str]) -> bool:
        """Whether the first call is another in `drawn`, the candidate's trace where its constructor
        had another seed."""
        if (drawn.kernels, drawn.texts) != (self.trace.kernels, self.trace.texts):
            return True
        forms = [canonical.Form(trace, held, self.choose, self.function).of(trace.calls[0])
                 for trace, held in ((self.trace, self.names), (drawn, names))]  # fmt: skip
        return forms[0] != forms[1]

    def bind(self, name: str, raw: dict) -> None:
        """Defines a free name of a kernel."""
        ((kind, held),) = raw.items()
        if kind == "module":
            self.import_line(name, f"import {_dotted_path(held)} as {name}")
        elif kind == "from":
            module, member = held
            if module != "builtins":
                self.import_line(name, f"from {_dotted_path(module)} import {plain_word(member)} as {name}")
        elif kind == "kernel":
            other = self.kernel(held)
            if other != name:
                self.define(name, other)
        else:
            self.define(name, self.argument(raw))

    def define(self, name: str, text: str) -> None:
        line = f"{name} = {text}"
        self.claim(name, line)
        if line not in self.blocks:
            self.blocks += ["", line]

    def source(self, index: int) -> str:
        """The library built from a text, once, when the file is loaded."""
        if index not in self.texts:
            if not self.helper:
                raise CannotPort("the file does not import build")
            build, calls = "build", ""
            if self.is_c:
                build = "_built"
                for name in (build, "_Room", "_recording", "fresh_page"):
                    self.claim(name, "defined here")
                asked = native.called([n.spec for call in self.trace.calls for n in call.launches()])
                stubs = native.stubs(self.sources[index], [*asked[index].items()])
                calls = ", " + _quoted('\n#line 1 "calls"\n' + "".join(stubs))
                calls += f", {' '.join(self.options)!r}"
                if not self.texts:
                    self.needs.append("Linux and a C compiler called cc")
                    self.blocks += ported_parts.C_LIBRARY.splitlines()
            else:
                self.needs.append(f"a module {self.helper} whose build(source) gives functions to call "
                                  "(the pack's own only records)")  # fmt: skip
                self.import_line("build", f"from {self.helper} import build")
            self.texts[index] = name = f"library_{index}"
            self.claim(name, "defined here")
            self.blocks += ["", f"{name} = {build}({_quoted(self.sources[index])}{calls})"]
        return self.texts[index]

    # ---- the output ----

    def output(self, raw: dict, call: Call) -> str:
        ((kind, held),) = raw.items()
        if kind == "tensor":
            v = view(held, call.buffers)
            b = call.buffers[v.buffer]
            if (b.kind, b.key) in self.copied:
                return self.view(v, self.copied[b.kind, b.key][0])
            return f"room.take({self.view(v)})" if self.is_c else self.view(v)
        if kind == "list":
            return "[" + ", ".join(self.output(part, call) for part in held) + "]"
        if kind == "tuple":
            return "(" + "".join(f"{self.output(part, call)}, " for part in held) + ")"
        if kind == "dict":
            return "{" + ", ".join(f"{k!r}: {self.output(v, call)}" for k, v in held) + "}"
        return spelled(held)


def _quoted(text: str) -> str:
    return f'r"""{text}"""' if '"""' not in text and not text.endswith(('"', "\\")) else repr(text)


@functools.lru_cache(taskfile.FILES)
def _task_names(source: str) -> dict[str, str]:
    """The names that the task's file defines or looks up, with the line that imports each."""
    tree, found = ast.parse(source), {}
    tables = [symtable.symtable(source, "task", "exec")]
    for table in tables:
        tables += table.get_children()
        own = (s for s in table.get_symbols() if table is tables[0] or s.is_declared_global())
        if again := BUILTINS.keys() & {s.get_name() for s in own if s.is_assigned() or s.is_imported()}:
            raise CannotPort(f"the task's file has another {min(again)}")
        found |= {s.get_name(): TASKS for s in table.get_symbols() if s.is_global() or table is tables[0]}
    assigned = {s.get_name() for s in tables[0].get_symbols() if s.is_assigned() or s.is_namespace()}
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for one in node.names:
                if one.name == "*":
                    raise CannotPort("the task's file imports *, which may define anything")
                name = one.asname or one.name.partition(".")[0]
                if name not in assigned:
                    found[name] = _import(node, one, name)
    return found


def _import(node: ast.Import | ast.ImportFrom, one: ast.alias, name: str) -> str:
    if isinstance(node, ast.ImportFrom):
        return f"from {node.module} import {one.name} as {name}"
    return f"import {one.name} as {name}" if one.asname else f"import {name}"


def _dotted_path(module: object) -> str:
    parts = str(module).split(".")
    return ".".join(plain_word(part) for part in parts)
