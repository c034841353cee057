"""Saves what a call may change in a model, so that the call can be undone. Copying the whole model
would cost more than most calls, and parameters seldom change."""

import types
from dataclasses import dataclass

import torch
from shared import inputs

# What nn.Module itself keeps in every module.
INTERNAL = set(vars(torch.nn.Module()))
TABLES = ("_parameters", "_buffers", "_modules")
FIXED = (
    type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, type,
    types.FunctionType, types.BuiltinFunctionType,
)  # what copy.deepcopy does not copy either  # fmt: skip


def _immutable(value: object) -> bool:
    """Whether the value is immutable."""
    if isinstance(value, (tuple, frozenset)):
        return all(map(_immutable, value))
    return isinstance(value, FIXED)


def _restorable(name: str, value: object) -> bool:
    """Whether an attribute of a module can be restored without copying the module."""
    if name in TABLES or name == "_non_persistent_buffers_set":
        return True
    if name in INTERNAL:
        return not value if isinstance(value, dict) else _immutable(value)
    if isinstance(value, list):
        return all(map(_immutable, value))
    return isinstance(value, torch.Tensor) or _immutable(value)


def _simple(model: torch.nn.Module) -> bool:
    """Whether a call can only change the attributes of the model's modules, their tables, and the
    contents of tensors."""
    return all(_restorable(n, v) for m in model.modules() for n, v in vars(m).items())


@dataclass
class _Module:
    module: torch.nn.Module
    attributes: dict
    tables: list[dict]
    lists: list[tuple[list, list]]
    tensors: list[tuple[torch.Tensor, torch.Tensor]]  # and their contents


def _kept(module: torch.nn.Module) -> _Module:
    own = dict(vars(module))
    plain = [v for n, v in own.items() if isinstance(v, torch.Tensor)]
    held = [t for t in (*plain, *own["_buffers"].values()) if t is not None]
    return _Module(
        module, own, [dict(own[name]) for name in TABLES],
        [(v, list(v)) for v in own.values() if isinstance(v, list)],
        [(t, t.detach().clone()) for t in held],
    )  # fmt: skip


class Kept:
    """A model before a call. Without `whole` the contents of parameters are not kept; after the
    call, parameters_changed() says whether they were needed."""

    def __init__(self, model: torch.nn.Module, whole: bool) -> None:
        self.model = model
        self.versions = [(p, p._version) for p in model.parameters()]
        self.copy = inputs.copied(model) if whole or not _simple(model) else None
        self.modules = [] if self.copy is not None else [_kept(m) for m in model.modules()]

    def parameters_changed(self) -> bool:
        return any(p._version != version for p, version in self.versions)

    def back(self) -> torch.nn.Module:
        """The model as it was; a different object if it was copied."""
        if self.copy is not None:
            return self.copy
        for kept in self.modules:
            _put_back(kept)
        return self.model


def _put_back(kept: _Module) -> None:
    own = vars(kept.module)
    own.clear()
    own.update(kept.attributes)
    for name, table in zip(TABLES, kept.tables):
        own[name].clear()
        own[name].update(table)
    for held, contents in kept.lists:
        held[:] = contents
    for tensor, contents in kept.tensors:
        if tensor.shape == contents.shape and 0 not in tensor.stride():
            tensor.detach().copy_(contents)
        else:
            tensor.data = contents
