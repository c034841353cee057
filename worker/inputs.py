"""Inputs, parameters and seeds, made alike on the judge's and on the candidate's
side: neither has to trust what the other holds."""

import hashlib

import torch

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
VARIANTS = ("plain", "signed", "permuted")


def derive(seed: str, label: str) -> int:
    """The 63-bit number that stands for `label` under a job's seed."""
    digest = hashlib.sha256(f"{seed}:{label}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def namespace(source: str, name: str) -> dict:
    """Runs a task's source (or its inputs part) as a module of its own."""
    space: dict = {"__name__": name}
    exec(compile(source, f"<{name}>", "exec"), space)  # noqa: S102
    return space


def cast(value: object, device: str, dtype: torch.dtype) -> object:
    """Floating tensors take the run's precision; integers, booleans and plain
    Python values stay what they are."""
    if isinstance(value, torch.Tensor):
        value = value.to(device)
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(cast(v, device, dtype) for v in value)
    return value


def init_args(space: dict, seed: int, device: str) -> list:
    torch.manual_seed(seed)
    with torch.device(device):
        args = space["get_init_inputs"]()
    return list(args)


def build(cls: type, args: list, seed: int, device: str, dtype: torch.dtype) -> torch.nn.Module:
    """A model as KernelBench builds it: one seed, train mode, then the cast."""
    torch.manual_seed(seed)
    with torch.device(device):
        model = cls(*args)
    return model.to(device=device, dtype=dtype)


def _structured(x: torch.Tensor) -> bool:
    """Zeros by construction or symmetry: changing single elements would break
    what the task promises about its inputs."""
    if x.numel() == 0 or (x == 0).sum().item() * 10 > x.numel():
        return True
    return x.dim() == 2 and x.shape[0] == x.shape[1] and bool(torch.equal(x, x.t()))


def _vary(x: torch.Tensor, variant: str) -> torch.Tensor:
    if not x.is_floating_point() or variant == "plain":
        return x
    if _structured(x):
        return -x if variant == "signed" else x
    if variant == "signed":
        return x * 2 - 1 if bool((x >= 0).all()) else -x
    order = torch.randperm(x.shape[0], device=x.device) if x.dim() else None
    return x if order is None else x[order]


def make(space: dict, seed: int, variant: str, device: str, dtype: torch.dtype) -> list:
    torch.manual_seed(seed)
    with torch.device(device):
        values = list(space["get_inputs"]())
    values = [_vary(v, variant) if isinstance(v, torch.Tensor) else v for v in values]
    return [cast(v, device, dtype) for v in values]


def named_state(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return dict(sorted(model.state_dict(keep_vars=True).items()))


def randomise(model: torch.nn.Module, names: list[str], seed: int) -> None:
    """Draws new values for the named parameters and floating buffers: near the
    old ones in size, so that the task stays what it is, but never at an
    identity such as a weight of ones or a bias of zeros."""
    state = named_state(model)
    with torch.no_grad():
        for index, name in enumerate(names):
            value = state[name]
            if not value.is_floating_point() or value.numel() == 0:
                continue
            maker = torch.Generator().manual_seed((seed + index * 7919) & (2**63 - 1))
            noise = torch.rand(value.shape, generator=maker) - 0.5
            spread = value.float().abs().mean().item()
            scale = 0.5 * spread if spread > 0 else 0.1
            fresh = value.float().cpu() + noise * scale
            if name.endswith("running_var"):
                fresh = fresh.abs() + 0.1
            value.copy_(fresh.to(value.dtype))


def flatten(output: object) -> list[torch.Tensor]:
    """The tensors of a forward's result, in order; anything else is refused by
    its absence from the list."""
    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, (list, tuple)):
        return [t for part in output for t in flatten(part)]
    if isinstance(output, dict):
        return [t for key in sorted(output) for t in flatten(output[key])]
    return []
