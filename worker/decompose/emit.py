"""Writes a part of a graph as a task: a complete file that a person can read."""

import ast
import builtins
import keyword
import math
import re
from dataclasses import dataclass

import torch
from decompose import cut, fit, loops
from decompose.capture import Graph, Node, Ref, Task, expression
from decompose.cut import Part, short_name
from shared import statements

WIDTH = 96
NESTED = 3  # expressions that are written into another
INFIX = {
    "__add__": "+", "__radd__": "+", "add": "+", "__sub__": "-", "sub": "-", "__rsub__": "-",
    "__mul__": "*", "__rmul__": "*", "mul": "*", "__truediv__": "/", "div": "/", "true_divide": "/",
    "__rtruediv__": "/", "__rdiv__": "/", "__pow__": "**", "pow": "**", "__rpow__": "**",
    "__matmul__": "@", "__rmatmul__": "@", "matmul": "@", "__floordiv__": "//", "__mod__": "%",
    "__and__": "&", "__or__": "|", "__xor__": "^", "gt": ">", "lt": "<", "ge": ">=", "le": "<=",
    "eq": "==", "ne": "!=", "__gt__": ">", "__lt__": "<", "__ge__": ">=", "__le__": "<=",
    "__eq__": "==", "__ne__": "!=",
}  # fmt: skip
PREFIX = {"neg": "-", "__neg__": "-", "__invert__": "~"}
FACTORIES = {"zeros", "ones", "full", "arange", "eye", "empty", "linspace", "tensor", "logspace",
             "tril_indices", "triu_indices"}  # fmt: skip
SHAPED = {"view", "reshape", "expand", "zeros", "ones", "full", "eye", "arange", "unflatten", "repeat"}
NAMED = 8  # integers in forward from which on they are called by the task's name for them
PLAIN_NAMES = {"matmul": "product", "einsum": "product", "linear": "projected", "softmax": "weights",
               "__getitem__": "part", "sum": "total", "cumsum": "running", "__rsub__": "rest",
               "mul": "scaled", "add": "added", "exp": "decay", "masked_fill": "masked",
               "where": "chosen", "pow": "power", "div": "ratio", "cat": "joined",
               "tensor": "constant"}  # fmt: skip
HEADER = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


@dataclass
class Piece:
    """A piece as the contract has it, but for its id's place among the others."""

    source: str
    sidecar: dict
    inputs: list[dict]
    outputs: list[dict]


@dataclass
class Inputs:
    """How each input is drawn; None where the task's own get_inputs draws it."""

    fits: dict[Ref, fit.Fit | None]
    task: Task
    numbers: dict[int, int]  # which argument of forward an input node is


class Names:
    """Variables of forward. A name is used again when its value is no longer needed."""

    def __init__(self) -> None:
        self.ends: dict[str, int] = {}  # the last use of what it holds now

    def take(self, wanted: str, now: int, last: int) -> str:
        wanted = identifier(wanted)
        name, n = wanted, 1
        while name in self.ends and self.ends[name] > now:
            n += 1
            name = f"{wanted}_{n}"
        self.ends[name] = last
        return name


def plain_name(node: Node) -> str:
    """What its result is called: as in the task, or after its operator."""
    short = short_name(node)
    return node.name or PLAIN_NAMES.get(short, short.strip("_").lower())


def identifier(text: str) -> str:
    text = re.sub(r"\W+", "_", text).strip("_") or "value"
    if text[0].isdigit():
        text = f"n_{text}"
    taken = keyword.iskeyword(text) or text in {"torch", "nn", "F", "math", "self"}
    return text + "_" if taken or hasattr(builtins, text) else text


class Writer:
    def __init__(self, graph: Graph, part: Part, unpack: dict[Ref, list[Ref]]) -> None:
        """`unpack`: inputs that come packed in one tensor, by what stands for it."""
        self.graph, self.part, self.unpack = graph, part, unpack
        self.text: dict[Ref, str] = {}
        self.names = Names()
        if graph.wide:
            self.names.ends |= {"dtype": len(graph.nodes), "wide": len(graph.nodes)}
        self.lines: list[str] = []
        self.init: dict[str, str] = {}
        self.used_sizes: dict[str, int] = {}
        self.inside = set(part.nodes)
        self.users = self._users()
        self.inlined = self._inlined()
        self.last = self._last_uses()
        self.arguments: list[str] = []
        self.floating: list[str] = []  # arguments
        self.like = ""  # an argument that has the device and dtype of what forward makes
        counted: dict[int, list[str]] = {}
        for name, value in graph.sizes.items():
            counted.setdefault(value, []).append(name)
        self.by_value = {v: n[0] for v, n in counted.items() if len(n) == 1}

    def _users(self) -> dict[Ref, list[int]]:
        users: dict[Ref, list[int]] = {}
        for index in self.part.nodes:
            for ref in self.graph.nodes[index].refs():
                users.setdefault(ref, []).append(index)
        return users

    def _inlined(self) -> dict[int, int]:
        """Nodes that are written into the one expression that uses them, and its node."""
        found: dict[int, int] = {}
        inside: dict[int, int] = {}  # how many are written into a node's expression
        changes = [i for i in self.part.nodes if self.graph.nodes[i].target == "Tensor.__setitem__"]
        for index in self.part.nodes:
            node, ref = self.graph.nodes[index], Ref(index)
            users = self.users.get(ref, [])
            if node.kind != "call" or node.name or len(node.outs) != 1 or node.outs[0].path or \
                    len(users) != 1 or ref in self.part.outputs or index in changes:
                continue
            user = self.graph.nodes[users[0]]
            moved = user.target == "Tensor.__setitem__" and user.args[0] == ref
            between = any(index < i < user.index for i in changes)
            if moved or between or inside.get(index, 0) + inside.get(user.index, 0) >= NESTED:
                continue
            found[index] = user.index
            inside[user.index] = inside.get(user.index, 0) + inside.get(index, 0) + 1
        return found

    def statement(self, index: int) -> int:
        """The node whose statement computes it."""
        while index in self.inlined:
            index = self.inlined[index]
        return index

    def _last_uses(self) -> dict[Ref, int]:
        last = {ref: max(map(self.statement, users)) for ref, users in self.users.items()}
        for ref in self.part.outputs:
            last[ref] = len(self.graph.nodes)
        return last

    # ---- forward ----

    def forward(self) -> str:
        outs = self.body()
        result = strip(outs[0])
        if len(outs) > 1:
            rows = packed_rows(self.graph, self.part.outputs)
            flat = ", ".join(f"{o}.reshape({rows}, -1)" for o in outs)
            result = f"torch.cat([{flat}], dim=1)"
        self.lines.append(f"return {self.narrowed(result)}")
        return self.method(self.lines)

    def body(self) -> list[str]:
        """Writes the statements; the expressions of the outputs."""
        for ref in self.part.inputs:
            self.take_input(ref)
        for index in self.part.nodes:
            self.node(self.graph.nodes[index])
        return [self.value(r) for r in self.part.outputs]

    def method(self, lines: list[str]) -> str:
        body = "\n".join("        " + line for line in [*self.widening(), *lines])
        return f"    def forward(self, {', '.join(self.arguments)}):\n{body}\n"

    def widening(self) -> list[str]:
        """The task computes in fp32 at least, and so do its pieces."""
        if not self.graph.wide or not self.like:
            return []
        names = self.floating
        return [f"dtype = {self.like}.dtype", "wide = torch.promote_types(dtype, torch.float32)",
                f"{', '.join(names)} = {', '.join(f'{n}.to(wide)' for n in names)}"]  # fmt: skip

    def narrowed(self, result: str) -> str:
        if not self.graph.wide or not self.like:
            return result
        return f"{result if is_simple(result) else f'({result})'}.to(dtype)"

    def take_input(self, ref: Ref) -> None:
        end = len(self.graph.nodes)
        if ref in self.unpack:
            packed = self.names.take("packed", -1, end)
            self.arguments.append(packed)
            self.floating.append(packed)
            parts, at = self.unpack[ref], 0
            rows = packed_rows(self.graph, parts)
            for one in parts:
                out = self.graph.out(one)
                width = torch.Size(out.shape).numel() // rows
                if one in self.last:
                    self.text[one] = self.names.take(self.call_it(one), -1, end)
                    shape = ", ".join(map(str, out.shape))
                    self.lines.append(
                        f"{self.text[one]} = {packed}[:, {at}:{at + width}].reshape({shape})")
                at += width
            self.like = self.like or packed
            return
        name = self.names.take(self.call_it(ref), -1, max(self.last.get(ref, end), 0))
        self.arguments.append(name)
        self.text[ref] = name
        if self.graph.out(ref).floating:
            self.floating.append(name)
            if not self.like:
                self.like = name
                self.names.ends[name] = end if self.makes_tensors() else self.names.ends[name]

    def makes_tensors(self) -> bool:
        """Whether some expression asks an argument for its device or dtype."""
        makers = FACTORIES | {"float", "to", "type"}
        return any(self.graph.nodes[i].kind == "literal" or short_name(self.graph.nodes[i]) in makers
                   for i in self.part.nodes)  # fmt: skip

    def call_it(self, ref: Ref) -> str:
        node = self.graph.nodes[ref.node]
        if node.kind in ("input", "state"):
            return node.target.replace(".", "_")
        return plain_name(node)

    def value(self, ref: Ref) -> str:
        if ref in self.text:
            return self.text[ref]
        node = self.graph.nodes[ref.node]
        if node.kind == "state":
            self.text[ref] = self.state(node)
        else:  # one of several results of a call
            path = "".join(f"[{p!r}]" for p in self.graph.out(ref).path)
            self.text[ref] = self.text[Ref(ref.node, -1)] + path
        return self.text[ref]

    def state(self, node: Node) -> str:
        name = node.target.replace(".", "_")
        self.init.setdefault(name, "")
        return f"self.{name}"

    def node(self, node: Node) -> None:
        if node.kind in ("input", "state"):
            return
        if node.target == "Tensor.__setitem__":
            self.assign_item(node)
            return
        text, compound = self.expression(node)
        many = len(node.outs) > 1 or node.outs[0].path != ()
        ref = Ref(node.index, -1) if many else Ref(node.index)
        if node.index in self.inlined:
            self.text[ref] = f"({text})" if compound else text
            return
        uses = [self.last.get(Ref(node.index, i), node.index) for i in range(len(node.outs))]
        end = self.alias_end(Ref(node.index), max(uses))
        name = self.names.take(self.call_it(Ref(node.index)), node.index, end)
        self.text[ref] = name
        self.lines.append(f"{name} = {text}")

    def alias_end(self, ref: Ref, last: int) -> int:
        """A variable that is assigned to lives as long as the last version of its value."""
        for index in self.users.get(ref, []):
            node = self.graph.nodes[index]
            if node.target == "Tensor.__setitem__" and node.args[0] == ref:
                return self.alias_end(Ref(index), max(last, self.last.get(Ref(index), index)))
        return last

    def assign_item(self, node: Node) -> None:
        base, index, value = node.args
        new = Ref(node.index)
        name = self.text.get(base, "")
        reused = self.last.get(base, 0) > node.index or base in self.part.outputs
        if not name.isidentifier() or base in self.part.inputs or reused or \
                base.node not in self.inside or not self.owns(base):
            fresh = self.names.take(self.call_it(base), node.index,
                                    self.alias_end(new, self.last.get(new, node.index)))
            self.lines.append(f"{fresh} = {self.value(base)}.clone()")
            name = fresh
        self.lines.append(f"{name}[{self.index(index)}] = {strip(self.render(value, node))}")
        self.text[new] = name

    def owns(self, ref: Ref) -> bool:
        """Whether its memory was made by the expression that its variable was assigned."""
        node = self.graph.nodes[ref.node]
        return node.target == "Tensor.__setitem__" or short_name(node) in FACTORIES | {
            "clone", "zeros_like", "ones_like", "empty_like", "new_zeros", "matmul", "mul", "add",
            "einsum", "cat", "stack", "neg", "tril", "masked_fill", "sub"}

    # ---- expressions ----

    def expression(self, node: Node) -> tuple[str, bool]:
        """The text, and whether it needs parentheses inside another."""
        short = short_name(node)
        if node.kind == "literal":
            return self.literal(node), False
        if node.kind == "module":
            name = node.target.replace(".", "_")
            self.init[name] = f"self.{name} = {expression(node.layer)}"
            return f"self.{name}({self.listed(node, node.args)})", False
        if node.target.startswith("attribute."):
            return f"{self.render(node.args[0], node)}.{short}", False
        if short == "__getitem__":
            return f"{self.render(node.args[0], node)}[{self.index(node.args[1])}]", False
        plain = not node.kwargs and node.target.startswith(("Tensor.", "matmul", "mul", "add", "sub"))
        if plain and short in PREFIX and len(node.args) == 1:
            return f"{PREFIX[short]}{self.render(node.args[0], node)}", True
        if plain and short in INFIX and len(node.args) == 2:
            a, b = (self.render(x, node) for x in node.args)
            if short.startswith("__r"):
                a, b = b, a
            return f"{a} {INFIX[short]} {b}", True
        if short in FACTORIES:
            return self.factory(node, short), False
        if node.target.startswith("Tensor."):
            if short == "float":
                return f"{self.render(node.args[0], node)}.to({self.like}.dtype)", False
            rest = self.listed(node, node.args[1:])
            return f"{self.render(node.args[0], node)}.{short}({rest})", False
        prefix = "F." if node.target.startswith("nn.functional.") else "torch."
        name = node.target.removeprefix("nn.functional.")
        return f"{prefix}{name}({self.listed(node, node.args)})", False

    def listed(self, node: Node, args: tuple) -> str:
        parts = [strip(self.render(a, node)) for a in args]
        parts += [f"{k}={strip(self.render(v, node))}" for k, v in node.kwargs.items()
                  if not (k == "inplace" or k == "dtype" and v is None)]  # fmt: skip
        return ", ".join(parts)

    def factory(self, node: Node, short: str) -> str:
        args = [self.render(a, node) for a in node.args]
        kwargs = {k: self.render(v, node) for k, v in node.kwargs.items()
                  if k not in ("device", "dtype", "requires_grad", "pin_memory", "layout")}  # fmt: skip
        dtype = node.kwargs.get("dtype")
        if node.outs[0].dtype == torch.float32 and self.like:
            kwargs["dtype"] = f"{self.like}.dtype"
        elif dtype is not None:
            kwargs["dtype"] = str(dtype)
        if self.like:
            kwargs["device"] = f"{self.like}.device"
        return f"torch.{short}({', '.join([*args, *(f'{k}={v}' for k, v in kwargs.items())])})"

    def literal(self, node: Node) -> str:
        value = node.value
        dtype = f"{self.like}.dtype" if value.dtype == torch.float32 and self.like else str(value.dtype)
        device = f", device={self.like}.device" if self.like else ""
        return f"torch.tensor({python(value.tolist())}, dtype={dtype}{device})"

    def index(self, index: object) -> str:
        if isinstance(index, tuple):
            return ", ".join(self.index(i) for i in index) + ("," if len(index) == 1 else "")
        if isinstance(index, slice):
            ends = ["" if e is None else self.render(e, None) for e in (index.start, index.stop)]
            step = "" if index.step is None else f":{self.render(index.step, None)}"
            return ":".join(ends) + step
        return strip(self.render(index, None))

    def render(self, value: object, node: Node | None) -> str:
        if isinstance(value, Ref):
            return self.value(value)
        if isinstance(value, torch.dtype):
            return f"{self.like}.dtype" if value == torch.float32 and self.like else str(value)
        if isinstance(value, torch.device):
            return f"{self.like}.device" if self.like else repr(str(value))
        if isinstance(value, torch.Size):
            value = tuple(value)
        if isinstance(value, (list, tuple)):
            parts = ", ".join(strip(self.render(v, node)) for v in value)
            if isinstance(value, list):
                return f"[{parts}]"
            return f"({parts},)" if len(value) == 1 else f"({parts})"
        if isinstance(value, int) and not isinstance(value, bool) and node is not None:
            if short_name(node) in SHAPED and value >= NAMED and value in self.by_value:
                return self.size(value)
        return python(value)

    def size(self, value: int) -> str:
        name = self.by_value.get(value)
        if name is None:
            return str(value)
        self.used_sizes[name] = value
        return name


def python(value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if value is Ellipsis:
        return "..."
    return repr(value)


def is_simple(text: str) -> bool:
    """Whether a method can be called on it as it stands."""
    body = ast.parse(text, mode="eval").body
    return isinstance(body, (ast.Name, ast.Call, ast.Attribute, ast.Subscript))


def strip(text: str) -> str:
    """Without parentheses around the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0 and i < len(text) - 1:
            return text
    inside = text[1:-1]
    return text if "," in inside and _is_tuple(text) else inside


def _is_tuple(text: str) -> bool:
    return isinstance(ast.parse(text, mode="eval").body, ast.Tuple)


def packed_rows(graph: Graph, refs: list[Ref]) -> int:
    """The leading dimension that packed tensors keep: their own if all have the same."""
    first = {graph.out(r).shape[0] if graph.out(r).shape else 1 for r in refs}
    return first.pop() if len(first) == 1 else 1


# ---- the file --------------------------------------------------------------------


def write_piece(graph: Graph, part: Part, drawn: Inputs, unpack: dict[Ref, list[Ref]],
          comment: str) -> Piece:  # fmt: skip
    writer = Writer(graph, part, unpack)
    forward = writer.forward()
    init = init_lines(graph, part, writer, drawn.task)
    drawing, helpers, restricted = input_lines(graph, part, drawn, writer)
    sizes = "".join(f"{n} = {v}\n" for n, v in writer.used_sizes.items())
    text = assembled(comment, sizes, init, forward, helpers, drawing)
    sidecar = {"variants": ["permuted"]} if restricted else {}
    specs = [contract_input(graph, ref, name, drawn, unpack)
            for ref, name in zip(part.inputs, writer.arguments)]  # fmt: skip
    return Piece(text, sidecar, specs, [output_of(graph, part)])


def assembled(comment: str, sizes: str, init: str, forward: str, helpers: list[str],
              drawing: list[str]) -> str:  # fmt: skip
    text = f'"""{comment}"""\n\n{HEADER}\n{sizes}\n'
    text += "\nclass Model(nn.Module):\n" + init + forward
    text += "".join(f"\n\n{h.strip()}\n" for h in helpers)
    text += f"\n\ndef get_inputs():\n    return [{wrapped(drawing)}]\n"
    text += "\n\ndef get_init_inputs():\n    return []\n"
    return re.sub(r"\n{4,}", "\n\n\n", text)


def write_scan(step: loops.Step, part: Part, base: dict[Ref, torch.Tensor], task: Task,
               comment: str) -> Piece:  # fmt: skip
    """A loop over the step: tensors that it takes slices of come whole, for so many iterations."""
    graph = step.graph
    collected = step.result or next(iter(step.state.values()))
    part.outputs = list(dict.fromkeys([*step.state.values(), collected]))
    part.nodes = [i for i in part.nodes if i in cut.alive_from(graph, [r.node for r in part.outputs])]
    writer = Writer(graph, part, {})
    outs = dict(zip(part.outputs, writer.body()))
    lines, drawing, helpers, specs, restricted = [], [], {}, [], False
    arguments = list(writer.arguments)
    for place, ref in enumerate(part.inputs):
        old, dim, _ = step.origin[ref]
        value = base[old]
        if dim is not None:
            whole = arguments[place].removesuffix("_t")
            index = ":, " * dim + "t"
            lines.append(f"    {arguments[place]} = {whole}[{index}]")
            arguments[place] = whole
            value = value.narrow(dim, 0, loops.STEPS)
        how = fit.fit(value)
        if how is None:
            raise cut.NoCut("no distribution is like an input of a step")
        named = ", ".join(writer.size(n) if n > 1 and i != dim else _steps(n, i == dim)
                          for i, n in enumerate(value.shape))  # fmt: skip
        text = how.text.replace("drawn({shape}", f"drawn(({named})")
        drawing.append(text.replace("{shape}", named))
        helpers |= {how.helper: None} if how.helper else {}
        restricted = restricted or how.domain
        specs.append({"name": arguments[place], "from": "", "shape": list(value.shape),
                     "dtype": contract_dtype(value.dtype),
                     "dist": {"kind": how.kind, "a": how.a, "b": how.b}})  # fmt: skip
    lines += [f"    {line}" for line in writer.lines]
    lines.append(f"    out.append({strip(outs[collected])})")
    for node, new in step.state.items():
        name = writer.arguments[part.inputs.index(Ref(node))]
        if outs[new] != name:
            lines.append(f"    {name} = {strip(outs[new])}")
    writer.arguments = arguments
    writer.floating = [a for a, t in zip(arguments, specs) if t["dtype"] == "fp32"]
    writer.like = writer.floating[0]
    result = f"torch.stack(out, {step.collected})"
    forward = writer.method(["out = []", "for t in range(STEPS):", *lines,
                             f"return {writer.narrowed(result)}"])  # fmt: skip
    sizes = "".join(f"{n} = {v}\n" for n, v in writer.used_sizes.items()) + f"STEPS = {loops.STEPS}\n"
    text = assembled(comment, sizes, init_lines(graph, part, writer, task), forward, list(helpers),
                     drawing)  # fmt: skip
    shape = list(graph.out(collected).shape)
    shape.insert(step.collected, loops.STEPS)
    return Piece(text, {"variants": ["permuted"]} if restricted else {}, specs,
                 [{"name": "out", "shape": shape, "dtype": "fp32"}])  # fmt: skip


def _steps(n: int, loop: bool) -> str:
    return "STEPS" if loop else str(n)


def wrapped(items: list[str]) -> str:
    one = ", ".join(items)
    if len(one) < WIDTH - 12:
        return one
    return "\n        " + ",\n        ".join(items) + ",\n    "


def output_of(graph: Graph, part: Part) -> dict:
    if len(part.outputs) == 1:
        out = graph.out(part.outputs[0])
        node = graph.nodes[part.outputs[0].node]
        return {"name": node.name or "out", "shape": list(out.shape), "dtype": contract_dtype(out.dtype)}
    rows = packed_rows(graph, part.outputs)
    width = sum(torch.Size(graph.out(r).shape).numel() // rows for r in part.outputs)
    return {"name": "packed", "shape": [rows, width], "dtype": "fp32"}


def contract_dtype(dtype: torch.dtype) -> str:
    return {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}.get(
        dtype, str(dtype).removeprefix("torch."))


def init_lines(graph: Graph, part: Part, writer: Writer, task: Task) -> str:
    if not writer.init:
        return ""
    lines = ["    def __init__(self):", "        super().__init__()"]
    parameters = dict(task.model.named_parameters())
    held = parameters | dict(task.model.named_buffers())
    by_name = {n.replace(".", "_"): (n, t) for n, t in held.items()}
    for name, text in writer.init.items():
        if text:
            lines.append(f"        {text}")
            continue
        path, value = by_name[name]
        made = state_text(value)
        if path in parameters:
            lines.append(f"        self.{name} = nn.Parameter({made})")
        else:
            lines.append(f'        self.register_buffer("{name}", {made})')
    return "\n".join(lines) + "\n\n"


def state_text(value: torch.Tensor) -> str:
    shape = ", ".join(map(str, value.shape)) if value.dim() else "()"
    if value.numel() and bool((value == value.flatten()[0]).all()):
        sizes = ", ".join(map(str, value.shape)) + "," * (value.dim() == 1)
        return f"torch.full(({sizes}), {python(value.flatten()[0].item())})"
    if not value.is_floating_point():
        low, high = int(value.min()), int(value.max())
        return f"torch.randint({low}, {high + 1}, ({shape},))"
    mean, std = value.mean().item(), value.std().item()
    moved = f" + {fit.spelled_number(mean)}" if abs(mean) > 0.1 * std else ""
    return f"torch.randn({shape}) * {fit.spelled_number(std)}{moved}"


def input_lines(graph: Graph, part: Part, drawn: Inputs,
                writer: Writer) -> tuple[list[str], list[str], bool]:  # fmt: skip
    lines, helpers, restricted = [], {}, False
    for ref in part.inputs:
        how = drawn.fits[ref]
        if how is None:
            number = drawn.numbers[ref.node]
            lines.append(f"task_inputs()[{number}]")
            helpers[task_inputs(drawn.task, writer)] = None
            restricted = True
            continue
        shape = packed_shape(graph, writer.unpack[ref]) if ref in writer.unpack else graph.out(ref).shape
        named = ", ".join(writer.size(n) if n > 1 else str(n) for n in shape)
        text = how.text.replace("drawn({shape}", f"drawn(({named}{',' * (len(shape) == 1)})")
        lines.append(text.replace("{shape}", named))
        if how.helper:
            helpers[how.helper] = None
        restricted = restricted or how.domain
    return lines, list(helpers), restricted


def packed_shape(graph: Graph, refs: list[Ref]) -> tuple[int, int]:
    rows = packed_rows(graph, refs)
    return rows, sum(torch.Size(graph.out(r).shape).numel() // rows for r in refs)


def task_inputs(task: Task, writer: Writer) -> str:
    """The task's own get_inputs under another name, with what it needs."""
    body = statements.needed(task.tree, "get_inputs", {"Model", "get_init_inputs"})
    sizes = task.sizes()
    kept = []
    for node in body:
        bound = statements.names_bound(node)
        if isinstance(node, ast.Assign) and bound <= set(sizes):
            writer.used_sizes |= {n: sizes[n] for n in bound}
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            kept.append(node)
    text = "\n\n\n".join(ast.unparse(n) for n in kept)
    return text.replace("def get_inputs(", "def task_inputs(")


def contract_input(graph: Graph, ref: Ref, name: str, drawn: Inputs,
                   unpack: dict[Ref, list[Ref]]) -> dict:  # fmt: skip
    out = graph.out(ref)
    how = drawn.fits[ref]
    shape = packed_shape(graph, unpack[ref]) if ref in unpack else out.shape
    dist = {"kind": how.kind, "a": how.a, "b": how.b} if how else {"kind": "index", "a": 0, "b": 0}
    return {"name": name, "from": "", "shape": list(shape), "dtype": contract_dtype(out.dtype),
            "dist": dist}  # fmt: skip
