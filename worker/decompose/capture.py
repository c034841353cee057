"""What forward does, as a graph of torch's own functions.

The task runs once on real tensors under a mode that sees every call of torch. Loops are unrolled,
layers of torch.nn are one node each, and changes in place become new values. Whatever the mode
cannot follow (a value that decides which way the program goes, a tensor of unknown origin) ends
the capture with a reason. The capture need not be believed: the judge runs the pieces."""

import ast
import dis
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType

import torch
from shared import inputs, structure
from torch import nn
from torch.overrides import TorchFunctionMode, resolve_name

FILE = "<task>"
LITERAL = 64  # elements of a tensor that is written out
MOST = 60_000  # calls of torch
# Functions that hand a value to Python: the graph would be that of these inputs alone.
READS = {"item", "tolist", "__bool__", "__int__", "__float__", "__index__", "numpy", "__array__",
         "equal", "allclose", "is_nonzero", "__contains__"}  # fmt: skip
RANDOM = {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like",
          "bernoulli", "multinomial", "normal", "uniform", "poisson", "dropout"}  # fmt: skip
CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.MultiheadAttention)
RECURRENT = {"GRU": "gru", "LSTM": "lstm", "RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}
CASTS = {"to", "float", "double", "half", "bfloat16", "type_as", "type", "contiguous", "detach"}


class NotCaptured(Exception):
    """The reason why there is no graph."""


@dataclass(frozen=True)
class Ref:
    """One tensor that a node yields."""

    node: int
    out: int = 0


@dataclass
class Out:
    shape: tuple[int, ...]
    dtype: torch.dtype
    rms: float  # not finite if the values are not
    path: tuple[int | str, ...] = ()  # from the node's result to this tensor

    @property
    def bytes(self) -> int:
        return torch.Size(self.shape).numel() * self.dtype.itemsize

    @property
    def floating(self) -> bool:
        return self.dtype.is_floating_point


@dataclass
class Node:
    """`kind`: input, state (a parameter or buffer), literal, call (of a function), module (of a
    layer). `target` is the name of the function, argument or state."""

    index: int
    kind: str
    target: str
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)
    outs: list[Out] = field(default_factory=list)
    name: str = ""  # of the variable that the task's source assigns it to
    where: tuple = ()  # the statement that it belongs to
    flops: int = 0
    layer: nn.Module | None = None
    value: torch.Tensor | None = None  # of a literal
    used: list[Ref] | None = None  # what refs() has found

    def refs(self) -> list[Ref]:
        if self.used is None:
            self.used = list(references((self.args, self.kwargs)))
        return self.used


@dataclass
class Graph:
    nodes: list[Node]
    output: Ref
    inputs: list[int]
    sizes: dict[str, int]  # integers that the task's module names
    wide: bool = False  # the task casts its inputs to fp32, which changes nothing in fp32

    def out(self, ref: Ref) -> Out:
        return self.nodes[ref.node].outs[ref.out]


def references(value: object) -> Iterator[Ref]:
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from references(part)
    elif isinstance(value, dict):
        yield from references(list(value.values()))
    elif isinstance(value, slice):
        yield from references([value.start, value.stop, value.step])


def replaced(value: object, change: Callable[[object], object]) -> object:
    """A copy of an argument in which `change` has replaced what is no container."""
    if isinstance(value, (list, tuple)):
        parts = [replaced(v, change) for v in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {k: replaced(v, change) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*(replaced(v, change) for v in (value.start, value.stop, value.step)))
    return change(value)


# ---- the task ------------------------------------------------------------------


class Task:
    """A task's file, loaded, with its model in fp32 on the CPU."""

    def __init__(self, source: str, init_seed: int) -> None:
        self.source = source
        self.tree = ast.parse(source)
        space: dict = {"__name__": "task"}
        exec(compile(source, FILE, "exec"), space)  # noqa: S102 - the task's own process
        self.space = space
        args = inputs.init_args(space, init_seed, "cpu")
        self.model = inputs.build(space["Model"], args, init_seed, "cpu", torch.float32, False)

    def draw(self, seed: int) -> list:
        return inputs.make(self.space, seed, "plain", "cpu", torch.float32)

    def sizes(self) -> dict[str, int]:
        """Integers that are assigned at the top of the file, by name."""
        found = {}
        for node in self.tree.body:
            if isinstance(node, ast.Assign):
                for name in ast.walk(node):
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                        value = self.space.get(name.id)
                        if isinstance(value, int) and not isinstance(value, bool):
                            found[name.id] = value
        return found

    def arguments(self) -> list[str]:
        """The names of forward's arguments."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ClassDef) and node.name == "Model":
                for f in node.body:
                    if isinstance(f, ast.FunctionDef) and f.name == "forward":
                        return [a.arg for a in f.args.posonlyargs + f.args.args][1:]
        raise NotCaptured("Model has no forward of its own")


@dataclass
class Assigned:
    """A stretch of the source whose value is assigned to a variable."""

    start: tuple[int, int]
    end: tuple[int, int]
    name: str


def assignments(tree: ast.Module) -> list[Assigned]:
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Assign, ast.AugAssign)):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and \
                len(target.elts) == len(node.value.elts):
            pairs = list(zip(target.elts, node.value.elts))
        elif isinstance(target, ast.Tuple):
            pairs = [(target.elts[0], node.value)]
        for to, value in pairs:
            while isinstance(to, (ast.Subscript, ast.Attribute)):
                to = to.value
            if isinstance(to, ast.Name) and to.id != "self":
                found.append(Assigned((node.lineno if len(pairs) == 1 else value.lineno,
                                       0 if len(pairs) == 1 else value.col_offset),
                                      (value.end_lineno, value.end_col_offset),
                                      to.id.lower().strip("_") or "value"))  # fmt: skip
    return found


# ---- the mode ------------------------------------------------------------------


class Recorder(TorchFunctionMode):
    def __init__(self, task: Task, keep: set[Ref] = frozenset()) -> None:
        super().__init__()
        self.nodes: list[Node] = []
        self.keep, self.kept = keep, {}
        self.state: dict[int, tuple[str, torch.Tensor]] = {
            id(t): (n, t) for n, t in [*task.model.named_parameters(), *task.model.named_buffers()]
        }
        self.made: dict[int, Ref] = {}  # nodes of state
        self.assigned_to = assignments(task.tree)
        self.positions: dict[CodeType, list] = {}
        self.quiet = 0
        self.token = object()  # on the tensors that this capture knows
        self.casts = False
        self.sharing: dict[int, list[weakref.ref]] = {}  # tensors by their memory
        self.paths = {id(m): n for n, m in task.model.named_modules()}

    # ---- values ----

    def give(self, t: torch.Tensor, ref: Ref) -> None:
        t._ref, t._stale, t._by = ref, False, self.token
        memory = t.untyped_storage()._cdata if t.layout == torch.strided else 0
        self.sharing.setdefault(memory, []).append(weakref.ref(t))
        if ref in self.keep:
            self.kept[ref] = t.detach().clone()

    def ref_of(self, t: torch.Tensor) -> Ref:
        if id(t) in self.state:
            return self.ref_of_state(t)
        ref = self.known(t)
        if ref is None:
            if t.numel() <= LITERAL:
                node = Node(len(self.nodes), "literal", "tensor", value=t.detach().clone())
                return Ref(self.add(node, t).index)
            raise NotCaptured("forward uses a tensor that is neither an argument, nor a parameter "
                              "or buffer, nor computed by torch's functions")  # fmt: skip
        if t._stale:
            raise NotCaptured("a view is used after its memory was changed in place")
        return ref

    def known(self, t: torch.Tensor) -> Ref | None:
        """What was recorded for it. A tensor that the model keeps may be one of an earlier capture."""
        return t._ref if getattr(t, "_by", None) is self.token else None

    def ref_of_state(self, t: torch.Tensor) -> Ref:
        if id(t) not in self.made:
            node = Node(len(self.nodes), "state", self.state[id(t)][0])
            node.outs = [describe_output(t)]
            self.nodes.append(node)
            self.made[id(t)] = Ref(node.index)
        return self.made[id(t)]

    def add(self, node: Node, result: object) -> Node:
        if len(self.nodes) > MOST:
            raise NotCaptured(f"forward makes more than {MOST} calls of torch")
        self.nodes.append(node)
        for i, (path, t) in enumerate(placed_tensors(result)):
            node.outs.append(describe_output(t, path))
            if id(t) not in self.state:
                self.give(t, Ref(node.index, i))
        return node

    def changed(self, t: torch.Tensor) -> None:
        """Its memory was changed: other views of it no longer are what they were."""
        for held in self.sharing.get(t.untyped_storage()._cdata, []):
            other = held()
            if other is not None and other is not t:
                other._stale = True

    def argument(self, value: object) -> object:
        def one(v: object) -> object:
            return self.ref_of(v) if isinstance(v, torch.Tensor) else v

        return replaced(value, one)

    # ---- calls ----

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        kwargs = kwargs or {}
        if self.quiet:
            return func(*args, **kwargs)
        self.quiet += 1
        try:
            return self.call(func, args, kwargs, sys._getframe(1))
        finally:
            self.quiet -= 1

    def call(self, func: Callable, args: tuple, kwargs: dict, frame: FrameType) -> object:
        name = (resolve_name(func) or "").removeprefix("torch.").replace("functional.einsum", "einsum")
        short = name.rpartition(".")[2]
        if short in READS:
            raise NotCaptured(f"forward reads a value ({short}) and may branch on it")
        if short.rstrip("_") in RANDOM and not _no_dropout(short, args, kwargs):
            raise NotCaptured(f"forward draws random numbers ({short})")
        if short in ("__get__", "__set__"):
            return self.attribute(name, func, args)
        if name == "Tensor.__setitem__":
            return self.set_item(func, args, frame)
        if short == "copy_" and self.overwrites(*args[:2]):
            return self.overwrite(func, args, frame)
        in_place = short.endswith("_") and not short.endswith("__")
        if in_place and augmented(frame):  # x += y, where Python rebinds the name
            func, name, in_place = getattr(torch.Tensor, short[:-1]), name[:-1], False
        if kwargs.get("out") is not None:
            raise NotCaptured("forward uses `out=`")
        public = {k: v for k, v in kwargs.items() if not k.startswith("_")}  # F.softmax adds its own
        node_args, node_kwargs = self.argument(args), self.argument(public)
        result = func(*args, **kwargs)
        if not any(True for _ in placed_tensors(result)):
            return result
        if in_place or kwargs.get("inplace") is True:
            self.changed(args[0])
            name = name[:-1] if in_place else name
            node_kwargs.pop("inplace", None)
        elif short in CASTS and isinstance(result, torch.Tensor) and same(result, args[0]):
            self.give(result, node_args[0])  # it changes nothing
            self.casts |= short == "float" or \
                any(isinstance(a, torch.dtype) for a in [*args[1:], *kwargs.values()])
            return result
        node = Node(len(self.nodes), "call", name, node_args, node_kwargs)
        self.place(node, frame)
        self.add(node, result)
        node.flops = flops(node, self.nodes)
        return result

    def attribute(self, name: str, func: Callable, args: tuple) -> object:
        result = func(*args)
        if isinstance(result, torch.Tensor):
            which = name.split(".")[-2]
            if which not in ("T", "mT", "H", "mH", "data"):
                raise NotCaptured(f"forward uses the attribute {which}")
            node = Node(len(self.nodes), "call", f"attribute.{which}", (self.ref_of(args[0]),))
            self.add(node, result)
        return result

    def set_item(self, func: Callable, args: tuple, frame: FrameType) -> None:
        """x[index] = value: a new version of x."""
        base, index, value = args
        arguments = self.argument((base, index, value))
        func(base, index, value)
        self.changed(base)
        node = Node(len(self.nodes), "call", "Tensor.__setitem__", arguments)
        self.place(node, frame)
        self.add(node, base)

    def overwrites(self, to: torch.Tensor, value: object) -> bool:
        """Whether a tensor of unknown origin gets all of its values from another."""
        return (isinstance(value, torch.Tensor) and id(to) not in self.state and self.known(to) is None
                and to.shape == value.shape and to.dtype == value.dtype)  # fmt: skip

    def overwrite(self, func: Callable, args: tuple, frame: FrameType) -> torch.Tensor:
        source = self.argument(args[1])
        result = func(*args)
        node = Node(len(self.nodes), "call", "Tensor.clone", (source,))
        self.place(node, frame)
        self.add(node, result)
        return result

    def place(self, node: Node, frame: FrameType | None) -> None:
        """Which statement of the task's file it belongs to."""
        while frame is not None and frame.f_code.co_filename != FILE:
            frame = frame.f_back
        if frame is None:
            return
        code = frame.f_code
        if code not in self.positions:
            self.positions[code] = list(code.co_positions())
        line, _, column, _ = self.positions[code][frame.f_lasti // 2]
        node.where = (code.co_name, frame.f_lineno)
        at = (line or frame.f_lineno, column or 0)
        for one in self.assigned_to:
            if one.start <= at <= one.end:
                node.where, node.name = (code.co_name, one.start), one.name

    # ---- layers ----

    def layer(self, call: Callable, module: nn.Module, args: tuple, kwargs: dict) -> object:
        """A layer of torch.nn, as one node."""
        frame = sys._getframe(2)
        self.quiet += 1
        try:
            arguments = self.argument(args), self.argument(kwargs)
            result = call(module, *args, **kwargs)
            if getattr(module, "inplace", False):
                self.changed(args[0])
            path = self.paths.get(id(module), "")
            node = Node(len(self.nodes), "module", path, *arguments, layer=module)
            self.place(node, frame)
            self.add(node, result)
            node.flops = flops(node, self.nodes)
            return result
        finally:
            self.quiet -= 1


def augmented(frame: FrameType | None) -> bool:
    """Whether the frame is at x += y, not at x.add_(y)."""
    if frame is None or frame.f_lasti < 0:
        return False
    name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    return name.startswith(("BINARY_OP", "INPLACE_"))


def _no_dropout(short: str, args: tuple, kwargs: dict) -> bool:
    if short != "dropout":
        return False
    rate = kwargs.get("p", args[1] if len(args) > 1 else 0.5)
    training = kwargs.get("training", args[2] if len(args) > 2 else True)
    return rate == 0 or not training


def placed_tensors(value: object, path: tuple = ()) -> Iterator[tuple[tuple, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from placed_tensors(part, (*path, i))
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from placed_tensors(part, (*path, key))


def same(a: torch.Tensor, b: object) -> bool:
    """A cast that casts nothing."""
    return (isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape
            and a.stride() == b.stride() and a.data_ptr() == b.data_ptr())  # fmt: skip


def describe_output(t: torch.Tensor, path: tuple = ()) -> Out:
    rms = 1.0
    if t.is_floating_point() and t.numel():
        rms = float(t.detach().float().square().mean().sqrt())
    return Out(tuple(t.shape), t.dtype, rms, path)


def flops(node: Node, nodes: list[Node]) -> int:
    """About how many operations it takes: products exactly, others one per element."""
    out = node.outs[0]
    count = torch.Size(out.shape).numel()
    shapes = [nodes[r.node].outs[r.out].shape for r in node.refs()]
    layer, short = node.layer, node.target.rpartition(".")[2]
    if layer is not None and getattr(layer, "weight", None) is not None and layer.weight.dim() > 1:
        return 2 * count * layer.weight[0].numel()
    if short in ("matmul", "mm", "bmm", "__matmul__", "__rmatmul__") and shapes:
        return 2 * count * shapes[0][-1]
    if short in ("linear", "conv1d", "conv2d", "conv3d") and len(shapes) > 1:
        return 2 * count * torch.Size(shapes[1][1:]).numel()
    if short in RECURRENT.values():
        rows = torch.Size(shapes[0][:-1]).numel()
        return 2 * rows * sum(torch.Size(s).numel() for s in shapes[1:] if len(s) == 2)
    if short == "einsum" and len(shapes) > 1:
        return 2 * _einsum_size(node, shapes)
    if short == "solve_triangular" and shapes:
        return count * shapes[0][-1]
    if short == "scaled_dot_product_attention":
        return 4 * count * shapes[1][-2]
    return max([count, *(torch.Size(s).numel() for s in shapes)])


def _einsum_size(node: Node, shapes: list[tuple[int, ...]]) -> int:
    """The number of products: every letter's size."""
    letters: dict[str, int] = {}
    terms = str(node.args[0]).replace(" ", "").partition("->")[0].split(",")
    for term, shape in zip(terms, shapes):
        letters |= dict(zip(term, shape)) if len(term) == len(shape) else {}
    size = 1
    for n in letters.values():
        size *= n
    return size


# ---- layers that are one node ---------------------------------------------------


def expression(layer: nn.Module) -> str | None:
    """Python that makes the same layer, if its own description does."""
    if not type(layer).__module__.startswith("torch.nn") or isinstance(layer, CONTAINERS):
        return None
    text = f"nn.{layer!r}".replace("inplace=True", "inplace=False")
    if "\n" in text or hasattr(nn, type(layer).__name__) is False:
        return None
    try:
        other = eval(text, {"nn": nn})  # noqa: S307 - torch's own description of its layer
    except Exception:  # noqa: BLE001 - then it is no expression
        return None
    mine, its = ({n: t.shape for n, t in m.state_dict().items()} for m in (layer, other))
    return text if mine == its else None


def drops_nothing(module: nn.RNNBase) -> bool:
    return module.dropout == 0 or not module.training


def by_levels(module: nn.RNNBase, x: torch.Tensor, hx: object = None) -> tuple:
    """What a recurrent layer of several levels computes, one level at a time, so that it can be
    cut between them."""
    run, ways = getattr(torch, RECURRENT[module.mode]), 2 if module.bidirectional else 1
    long = module.mode == "LSTM"
    if module.batch_first:  # inside, time comes first
        x = x.transpose(0, 1)
    if hx is None:
        sizes = [module.proj_size or module.hidden_size] + [module.hidden_size] * long
        first = [torch.zeros(ways, x.shape[1], size, dtype=x.dtype, device=x.device) for size in sizes]
    else:
        given = hx if long else (hx,)
    last: list[list[torch.Tensor]] = []
    for level in range(module.num_layers):
        place = slice(level * ways, (level + 1) * ways)
        start = first if hx is None else [t[place] for t in given]
        weights = [w for each in module.all_weights[place] for w in each]
        x, *state = run(x, start if long else start[0], weights, module.bias, 1, 0.0, False,
                        module.bidirectional, False)  # fmt: skip
        last.append(state)
    if module.batch_first:
        x = x.transpose(0, 1)
    states = tuple(torch.cat(ends) for ends in zip(*last))
    return x, states if long else states[0]


@contextmanager
def layers_as_nodes(recorder: Recorder, model: nn.Module) -> Iterator[None]:
    call = nn.Module.__call__
    whole = {id(m) for m in model.modules() if expression(m) is not None}

    def called(module: nn.Module, *args, **kwargs):  # noqa: ANN002, ANN003, ANN202
        if recorder.quiet or id(module) not in whole:
            return call(module, *args, **kwargs)
        if isinstance(module, nn.Dropout) and module.p > 0 and module.training:
            raise NotCaptured("forward draws random numbers (Dropout)")
        if isinstance(module, nn.RNNBase) and module.num_layers > 1 and drops_nothing(module) and \
                isinstance(args[0], torch.Tensor) and args[0].dim() == 3:
            return by_levels(module, *args, **kwargs)
        return recorder.layer(call, module, args, kwargs)

    nn.Module.__call__ = called
    try:
        yield
    finally:
        nn.Module.__call__ = call


# ---- the capture -----------------------------------------------------------------


def capture(task: Task, seed: int, keep: set[Ref] = frozenset()) -> tuple[Graph, dict]:
    """The graph, and the values of the tensors to keep."""
    names = task.arguments()
    values = task.draw(seed)
    recorder = Recorder(task, keep)
    given = []
    for i, value in enumerate(values):
        if isinstance(value, torch.Tensor):
            node = Node(len(recorder.nodes), "input", names[i] if i < len(names) else f"input{i}")
            recorder.add(node, value)
            given.append(node.index)
        elif structure.tensors(value):
            raise NotCaptured("an argument of forward is a list of tensors")
    with torch.no_grad(), layers_as_nodes(recorder, task.model), recorder:
        result = task.model(*values)
    if not isinstance(result, torch.Tensor):
        raise NotCaptured("forward does not return one tensor")
    output = recorder.ref_of(result)
    name_statements(recorder.nodes)
    graph = Graph(recorder.nodes, output, given, task.sizes(), recorder.casts)
    return graph, recorder.kept


def name_statements(nodes: list[Node]) -> None:
    """Only the last call of a statement has the name of what it is assigned to."""
    calls = [n for n in nodes if n.kind in ("call", "module")]
    for this, after in zip(calls, calls[1:]):
        if this.name and this.where == after.where and Ref(this.index) in after.refs():
            this.name = ""
