"""Inputs, parameters and seeds, made alike on the judge's and on the candidate's
side: neither has to trust what the other holds."""

import contextlib
import copy
import hashlib
import itertools
import math
import random
import sys
import types
from collections.abc import Iterator

import torch
from shared import limits, structure
from shared.limits import Unusable
from shared.program import ITEM
from shared.structure import tensors  # noqa: F401 - forward's, in the order of spec
from torch import default_generator  # by name: a candidate may replace it

DTYPES = {
    "fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
}  # of tensors in memory, by precision  # fmt: skip
# Variants that make values larger: beyond what exp() takes, or a product of two does. In this order
# they are tried until the reference takes one. Some values are negated, too, unless the name says
# otherwise.
SCALES = {"scaled": 100.0, "scaled, no signs": 100.0, "tenfold": 10.0, "tenfold, no signs": 10.0}
FACTORS = 0.7, 0.9  # of `numbers`: below 1, so that a share or a probability stays one
MASK = 2**63 - 1
PARAMETER_FACTORS = 0.75, 1.25  # what trials multiply parameters by
ADDED = 0.05  # the most that they add, divided by the root of the terms of a sum


def derive(seed: str, label: str) -> int:
    """The 63-bit number that stands for `label` under a job's seed."""
    digest = hashlib.sha256(f"{seed}:{label}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def sow(seed: int, device: str) -> None:
    """What torch.manual_seed does to the generators that matter here; it also keeps a
    trace of its caller for every kind of device that this machine does not have. Python's and
    NumPy's generators follow, since constructors and get_inputs draw from these, too."""
    default_generator.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)
    if device != "cpu":
        torch.cuda.init()
        for generator in torch.cuda.default_generators:
            generator.manual_seed(seed)


def namespace(source: str, name: str) -> dict:
    """Runs a task's source (or its inputs part) as a module of its own."""
    space: dict = {"__name__": name}
    sow(0, "cpu")
    dtype = torch.get_default_dtype()
    try:
        with limits.task_code("the task's file"):
            exec(compile(source, f"<{name}>", "exec"), space)  # noqa: S102
    finally:
        torch.set_default_dtype(dtype)  # other tasks follow
    return space


def cast(value: object, device: str, dtype: torch.dtype) -> object:
    """Floating tensors take the run's precision; integers, booleans and plain
    Python values stay what they are."""

    def converted(x: torch.Tensor) -> torch.Tensor:
        x = x.to(device)
        return x.to(dtype) if x.is_floating_point() else x

    return structure.mapped(value, converted)


def _listed(name: str, made: object, whose: str) -> list:
    """What get_inputs or get_init_inputs returned. Other things than a list can be
    iterated, too, and would be taken apart."""
    if isinstance(made, (list, tuple)):
        return list(made)
    kind = "None" if made is None else f"a {type(made).__name__}"
    raise Unusable(f"{name} returns {kind}; return a list of {whose}'s arguments in order")


def init_args(space: dict, seed: int, device: str) -> list:
    sow(seed, device)
    with torch.device(device), torch.no_grad(), limits.task_code("get_init_inputs"):
        args = space["get_init_inputs"]()
    return _listed("get_init_inputs", args, "Model")


def build(cls: type, args: list, seed: int, device: str, dtype: torch.dtype,
          unsettled: bool) -> torch.nn.Module:  # fmt: skip
    """A model as KernelBench builds it: one seed, train mode, then the cast.
    `unsettled`: what layers start at one or zero starts near it instead."""
    sow(seed, device)
    settled = contextlib.nullcontext()
    with torch.device(device), torch.no_grad(), _unsettled(seed) if unsettled else settled:
        model = cls(*args)
    return torch.nn.Module.to(model, device=device, dtype=dtype)


def copied(model: torch.nn.Module) -> torch.nn.Module:
    """A deep copy, in which tensors share memory as they did: copy.deepcopy alone gives each
    parameter memory of its own. Functions that the model keeps refer to its modules by their
    closures, which it leaves alone, too: the copy's functions refer to the copies."""
    memo: dict = {}
    for p in model.parameters():
        if type(p) is torch.nn.Parameter:
            memo[id(p)] = torch.nn.Parameter(copy.deepcopy(p.data, memo), p.requires_grad)
    made = copy.deepcopy(model, memo)
    for module in made.modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, types.FunctionType) and value.__closure__:
                vars(module)[name] = _closing_over(value, memo)
    return made


def _closing_over(function: types.FunctionType, memo: dict) -> types.FunctionType:
    """The function, with copies in place of what was copied."""

    def other(cell: types.CellType) -> types.CellType:
        try:
            held = cell.cell_contents
        except ValueError:  # nothing yet
            return cell
        return types.CellType(memo[id(held)]) if id(held) in memo else cell

    made = types.FunctionType(function.__code__, function.__globals__, function.__name__,
                              function.__defaults__, tuple(map(other, function.__closure__)))  # fmt: skip
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def cast_model(model: torch.nn.Module, dtype: torch.dtype) -> torch.nn.Module:
    """Casts the model, including tensors that are plain attributes of its modules: `to` skips
    those, and the model would then mix two precisions. One that is a view of a parameter stays
    one where nothing has to be cast."""
    model.to(dtype)
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, torch.Tensor):
                kept = dtype if value.is_floating_point() else value.dtype
                vars(module)[name] = value.detach().to(kept)
    return model


@contextlib.contextmanager
def _unsettled(seed: int) -> Iterator[None]:
    """A weight of ones or a bias of zeros hides that nobody uses it; buffers are part of the
    program. The noise has its own generators: what else is drawn stays the same."""
    init = torch.nn.init
    kept = {name: getattr(init, name) for name in ("ones_", "zeros_", "constant_")}
    count = itertools.count()

    def noisy(fill):
        def filled(tensor: torch.Tensor, *args: float, **kwargs: float) -> torch.Tensor:
            if not isinstance(tensor, torch.nn.Parameter):
                return fill(tensor, *args, **kwargs)
            with torch.no_grad():
                return tensor.copy_(varied(fill(tensor, *args, **kwargs), seed, next(count)))

        return filled

    for name, fill in kept.items():
        setattr(init, name, noisy(fill))
    try:
        yield
    finally:
        for name, fill in kept.items():
            setattr(init, name, fill)


def drawn(space: dict, seed: int, device: str) -> list:
    """What get_inputs returns under that seed."""
    sow(seed, device)
    with torch.device(device), limits.task_code("get_inputs"):
        return _listed("get_inputs", space["get_inputs"](), "forward")


def make(space: dict, seed: int, variant: str, device: str, dtype: torch.dtype,
         domain: object = None) -> list:  # fmt: skip
    """The inputs of one call. `domain` knows what a variant may change (judge/domain.py)."""
    values = drawn(space, seed, device)
    if variant != "plain":
        values = domain.changed(values, variant, random.Random(seed))
    return cast(values, device, dtype)


def other_numbers(value: object, chance: random.Random) -> object:
    """Another float for a float. Integers stay what they are: a dimension, a window or a count
    is what an honest kernel may be written for, as it is for the shapes."""
    if isinstance(value, float):
        return value * chance.uniform(*FACTORS)
    if isinstance(value, (list, tuple)) and has_floats(list(value)):
        return type(value)(other_numbers(v, chance) for v in value)
    return value


def has_floats(values: list) -> bool:
    """Whether there are floats among forward's arguments."""
    return any(
        has_floats(list(v)) if isinstance(v, (list, tuple)) else isinstance(v, float)
        for v in values
    )


def spec(values: list) -> structure.Structure:
    """forward's arguments as the recorder gets them: of a tensor [shape, dtype,
    strides], of anything else its value."""
    for i, value in enumerate(values):
        if hasattr(value, "_fields"):
            raise Unusable(f"argument {i} of forward is a named tuple: pass a plain one")
    return structure.walk(values, _told, "get_inputs()")


def _told(x: torch.Tensor, where: str) -> list:
    dtype = str(x.dtype).removeprefix("torch.")
    if x.layout != torch.strided or dtype not in ITEM:
        kind = dtype if x.layout == torch.strided else str(x.layout).removeprefix("torch.")
        raise Unusable(f"{where} is a {kind} tensor: use dense ones of real numbers")
    return [list(x.shape), dtype, list(x.stride())]


# ---- a model's own tensors ----------------------------------------------------
# Read from the dictionaries that nn.Module keeps: a candidate's model may answer
# for its own methods, and would compute or lie there.


def _dictionary(model: torch.nn.Module, name: str) -> dict:
    found = object.__getattribute__(model, "__dict__").get(name) or {}
    return dict(dict.items(found))


def _walk(model: torch.nn.Module, prefix: str, above: tuple) -> Iterator[tuple]:
    """(kind, name, tensor) in order of registration."""
    for kind in ("_parameters", "_buffers"):
        for name, value in _dictionary(model, kind).items():
            if issubclass(type(value), torch.Tensor):
                yield kind, f"{prefix}{name}", value
    for name, part in _dictionary(model, "_modules").items():
        if part is not None and not any(part is m for m in above):
            yield from _walk(part, f"{prefix}{name}.", (*above, part))


def parameters(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {n: t for kind, n, t in _walk(model, "", (model,)) if kind == "_parameters"}


def buffers(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {n: t for kind, n, t in _walk(model, "", (model,)) if kind != "_parameters"}


def named_state(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers, also those that a state dict leaves out."""
    return {n: t for _, n, t in _walk(model, "", (model,))}


def loose(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Tensors that are not registered: plain attributes of modules, or in containers there."""
    return {
        f"{where}.{name}[{i}]": t
        for where, module in model.named_modules()
        for name, value in vars(module).items()
        if name not in ("_parameters", "_buffers", "_modules")
        for i, t in enumerate(tensors(value))
    }


def write_values(target: torch.Tensor, value: torch.Tensor) -> None:
    """copy_, also to a tensor that expand() made, many elements of which are one number."""
    for axis, (size, step) in enumerate(zip(target.shape, target.stride())):
        if step == 0 and size > 1:
            target, value = target.narrow(axis, 0, 1), value.narrow(axis, 0, 1)
    torch.Tensor.copy_(target.detach(), value)


def varied(value: torch.Tensor, seed: int, index: int, device: str = "cpu") -> torch.Tensor:
    """Values as training could have left them, so that nothing of an initialiser holds: a weight of
    ones or a bias of zeros cannot be left out, nor columns be taken for orthogonal. Each has a
    factor of its own and goes on from zero a little, so that signs and infinities stay; zeros go
    either way. The more terms a sum over them has, the less is added."""
    maker = torch.Generator(device).manual_seed((seed + index * 7919) & MASK)
    value = value.detach().to(device)
    factor, more = torch.rand((2, *value.shape), generator=maker, device=device)
    sizes = [n for n in value.shape if n > 1]
    most = ADDED / math.prod(sizes[1:]) ** 0.5 if bool((value != 0).any()) else ADDED
    more = torch.where(value != 0, value.sign() * more, 2 * more - 1)
    low, high = PARAMETER_FACTORS
    return (value * (low + (high - low) * factor) + more * most).to(value.dtype)
