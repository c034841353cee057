"""A GPU that is not there: what a candidate asks torch.cuda before it launches anything.

`install` changes torch in this process, for good: a recorder's process serves one candidate.
Queries get the facts of the GPU that the run is for. Streams and events do nothing; CUDA
graphs and torch.compile are refused, since what they do later could not be recorded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from recorder.fakes import guard_cuda
from torch.overrides import TorchFunctionMode

# Where the judge names no GPU: one of the kind that kernels are compiled for then.
FACTS: dict[str, Any] = {
    "name": "NVIDIA H200", "major": 9, "minor": 0, "total_memory": 150_000_000_000,
    "multi_processor_count": 132, "warp_size": 32, "max_threads_per_block": 1024,
    "max_threads_per_multi_processor": 2048, "regs_per_multiprocessor": 65536,
    "shared_memory_per_block": 49152, "shared_memory_per_block_optin": 232448,
    "shared_memory_per_multiprocessor": 233472, "L2_cache_size": 62914560,
    "memory_bus_width": 6144, "clock_rate": 1980000, "memory_clock_rate": 3201000,
    "is_integrated": 0, "is_multi_gpu_board": 0, "pci_bus_id": 1, "pci_device_id": 0,
    "pci_domain_id": 0, "uuid": "00000000-0000-0000-0000-000000000000", "gcnArchName": "",
}  # fmt: skip
CUDA = torch.device("cuda", 0)


class Indexed(TorchFunctionMode):
    """`cuda` is `cuda:0`. Which device is current would be asked of a driver."""

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        if func is torch.Tensor.cuda:
            return _to_cuda(*args, **(kwargs or {}))
        if (not kwargs and len(args) < 2) or func is torch.device:
            return func(*args, **(kwargs or {}))
        kwargs = kwargs or {}
        if func is torch.Tensor.new_tensor:
            kwargs = {"device": args[0].device, **kwargs}
        if any(map(_unindexed, args)):
            args = tuple(CUDA if _unindexed(a) else a for a in args)
        if "device" in kwargs and _unindexed(kwargs["device"]):
            kwargs = {**kwargs, "device": CUDA}
        return func(*args, **kwargs)


def _unindexed(value: Any) -> bool:
    if type(value) is torch.device:
        return value.type == "cuda" and value.index is None
    return type(value) is str and value == "cuda"


def _to_cuda(tensor: Any, device: Any = None, non_blocking: bool = False, **options: Any) -> Any:
    return tensor.to(CUDA, non_blocking=non_blocking, **options)


class Stream:
    """The one stream there is, whatever it is called."""

    cuda_stream = 0
    device = CUDA
    device_index = 0
    priority = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return 0

    def query(self) -> bool:
        return True

    def record_event(self, event: Any = None) -> Event:
        return event or Event()

    def synchronize(self, *_: Any) -> None:
        return None

    wait_event = wait_stream = synchronize


class Event:
    """Nothing takes time here."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def record(self, *_: Any) -> None:
        return None

    synchronize = wait = record

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Any) -> float:
        return 1.0


class Chosen(contextlib.ContextDecorator):
    """torch.cuda.device(…), device_of(…) and stream(…): there is nothing to choose from."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.idx = self.prev_idx = 0

    def __enter__(self) -> Chosen:
        return self

    def __exit__(self, *_: Any) -> None:
        return None


def _always(value: Any) -> Callable:
    """A function of its own for each name: torch._dynamo tells functions apart by identity."""
    return lambda *_, **__: value


def install_device(claims: str, gpu: dict | None, refuse: Callable) -> contextlib.AbstractContextManager:
    """`claims`: the device that fake tensors are on; `gpu`: facts that replace FACTS;
    `refuse(rule, text)` raises. The candidate runs in the context that is returned."""
    torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor(…, device=…) is then seen whole
    torch.backends.cudnn.is_acceptable = _always(False)
    _refuse_compilers(refuse)
    if torch.device(claims).type != "cuda":
        return contextlib.nullcontext()
    guard_cuda()
    _install_cuda(SimpleNamespace(**(FACTS | (gpu or {}))), refuse)
    _install_accelerator()
    return Indexed()


def _refuse_compilers(refuse: Callable) -> None:
    def refused(*_: Any, **__: Any) -> None:
        refuse("torch-compile", "torch.compile makes kernels of its own, which are not this "
               "language's: launch your kernels directly")  # fmt: skip

    def compile(model: Any = None, **_: Any) -> Any:  # noqa: A001
        return compile if model is None else refused

    def disable(function: Any = None, recursive: bool = True) -> Any:
        return disable if function is None else function  # there is no compiler to keep away

    torch.compile = compile
    torch.nn.Module.compile = refused
    torch._disable_dynamo = disable


def _install_cuda(facts: SimpleNamespace, refuse: Callable) -> None:
    answers = {
        "is_available": True, "is_initialized": True, "device_count": 1, "current_device": 0,
        "get_device_capability": (facts.major, facts.minor), "get_device_name": facts.name,
        "get_device_properties": facts, "is_bf16_supported": facts.major >= 8,
        "is_tf32_supported": facts.major >= 8, "is_current_stream_capturing": False,
        "memory_allocated": 0, "max_memory_allocated": 0, "memory_reserved": 0,
        "max_memory_reserved": 0, "mem_get_info": (facts.total_memory, facts.total_memory),
        "get_arch_list": [f"sm_{facts.major}{facts.minor}"], "can_device_access_peer": False,
        "current_stream": Stream(), "default_stream": Stream(), "get_rng_state_all": [],
        "initial_seed": 0, "utilization": 0, "memory_stats": {},
    }  # fmt: skip
    for name, value in answers.items():
        setattr(torch.cuda, name, _always(value))
    for name in ("init", "_lazy_init", "synchronize", "set_device", "set_stream", "empty_cache",
                 "ipc_collect", "manual_seed", "manual_seed_all", "seed", "seed_all",
                 "reset_peak_memory_stats", "set_per_process_memory_fraction"):  # fmt: skip
        setattr(torch.cuda, name, _always(None))
    for name in ("device", "device_of", "stream", "StreamContext", "_DeviceGuard"):
        setattr(torch.cuda, name, Chosen)
    torch.cuda.Stream = torch.cuda.ExternalStream = Stream
    torch.cuda.Event = Event

    def graphs(*_: Any, **__: Any) -> None:
        refuse("cuda-graph", "a CUDA graph replays launches that cannot be seen: launch the "
               "kernels in forward")  # fmt: skip

    for name in ("CUDAGraph", "graph", "make_graphed_callables", "graph_pool_handle"):
        setattr(torch.cuda, name, graphs)
    for name in ("range", "range_push", "range_pop", "mark"):
        setattr(torch.cuda.nvtx, name, Chosen if name == "range" else _always(None))
    set_default = torch.set_default_device
    torch.set_default_device = lambda d: set_default(CUDA if _unindexed(d) else d)
    torch.version.cuda = torch.version.cuda or "12.8"
    torch.backends.cuda.is_built = _always(True)


def _install_accelerator() -> None:
    """The same questions under torch.accelerator, and what libraries ask torch._C."""
    answers = {"is_available": True, "device_count": 1, "current_accelerator": torch.device("cuda"),
               "current_device_index": 0, "current_device_idx": 0, "current_stream": Stream(),
               "synchronize": None, "set_device_index": None, "set_stream": None}  # fmt: skip
    for name, value in answers.items():
        setattr(torch.accelerator, name, _always(value))
    answers = {"_cuda_getCurrentRawStream": 0, "_cuda_getDevice": 0, "_cuda_getDeviceCount": 1,
               "_cuda_setDevice": None, "_cuda_exchangeDevice": 0,
               "_cuda_maybeExchangeDevice": 0}  # fmt: skip
    for name, value in answers.items():
        setattr(torch._C, name, _always(value))
    real = torch.Generator

    class Generator(real):
        """Random numbers are drawn on the CPU, whatever a candidate asks for."""

        def __new__(cls, device: Any = None) -> Any:
            return real.__new__(real, "cpu")

    torch.Generator = Generator
