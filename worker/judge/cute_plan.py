"""The judge's side of CuTe DSL: what launches in a trace may contain, and the plan for an executor.
Requests and answers are the same as for CUDA C++, except that the texts are MLIR. Trace and lane
are hostile. Formats: cute_record.py and cute_lane.py."""

import math

from judge import cuda_plan, native_plan, tuning
from judge.cuda_plan import Built, requests, scratch  # noqa: F401 - of the family
from judge.native_plan import ARGUMENTS
from judge.traces import BadTrace, Call, Launch, Trace, listed, text, three, view, whole
from shared import plan
from shared.plan import ITEM, STRUCT_BYTES

INTERPRETED = False  # family.py
_CLUSTER = (16, 16, 16)
_OPTIONS = {"block", "shared", "cluster", "cooperative", "pdl"}


# ---- what a trace may say ------------------------------------------------------------


def check(trace: Trace) -> None:
    cuda_plan.check_parts(trace, _check_kernel, _check_launch)


def _check_kernel(kernel: dict, texts: int) -> None:
    if kernel.keys() != {"text", "name", "params"}:
        raise BadTrace("a malformed kernel")
    whole(kernel["text"], 0, texts - 1, "a text")
    if not cuda_plan.SYMBOL.fullmatch(text(kernel["name"], 4000, "a kernel's name")):
        raise BadTrace("a malformed kernel name")
    for size in listed(kernel["params"], ARGUMENTS, "the parameters"):
        whole(size, 1, STRUCT_BYTES, "a parameter's size")


def _check_launch(launch: Launch, call: Call, kernels: list[dict]) -> None:
    kernel, options = cuda_plan.launched(launch, kernels, _OPTIONS)
    cluster = three(options["cluster"], _CLUSTER, "a cluster")
    whole(math.prod(cluster), 1, 16, "a cluster's number of blocks")
    if not isinstance(options["cooperative"], bool) or not isinstance(options["pdl"], bool):
        raise BadTrace("a launch flag that is not a boolean")
    for size, arg in zip(kernel["params"], launch.told["args"].values()):
        _check_argument(size, arg, call)


def _check_argument(size: int, arg: object, call: Call) -> None:
    if not isinstance(arg, dict) or arg.keys() not in ({"b"}, {"b", "t", "o"}):
        raise BadTrace("an unknown kind of argument")
    if len(_bytes(arg)) != size:
        raise BadTrace("an argument of another size than its parameter")
    if "t" in arg:
        found = view(arg["t"], call.buffers)
        room = call.buffers[found.buffer].bytes - found.offset * ITEM[found.dtype]
        whole(arg["o"], 0, room, "an address in a tensor")
        whole(size, 8, STRUCT_BYTES, "the size of an address")


def _bytes(arg: dict) -> bytes:
    try:
        return bytes.fromhex(text(arg["b"], 2 * STRUCT_BYTES, "an argument's bytes"))
    except ValueError:
        raise BadTrace("an argument's bytes") from None


# ---- what is executed ----------------------------------------------------------------


class Maker(cuda_plan.Maker):
    """Turns the launches of a trace into nodes of a plan."""

    def node(self, launch: Launch, part: Call, places: list[int], config: int) -> plan.Launch:
        told, options = launch.told, launch.told["options"]
        kernel = self.kernels[told["kernel"]]
        return plan.Launch(
            function=self.index[kernel["text"], kernel["name"]],
            grid=tuple(told["grid"]),
            block=tuple(options["block"]),
            shared=options["shared"],
            params=tuple(_param(arg, part, places) for arg in told["args"].values()),
            cluster=tuple(options["cluster"]),
            cooperative=options["cooperative"],
            pdl=options["pdl"],
        )


def _param(arg: dict, part: Call, places: list[int]) -> plan.Param:
    data = _bytes(arg)
    if "t" in arg:
        found = view(arg["t"], part.buffers)
        at = plan.Pointer(places[found.buffer] + found.offset * ITEM[found.dtype] + arg["o"])
        return at if len(data) == 8 else plan.Struct(data, ((0, at),))
    if len(data) <= 8:
        return plan.Number(len(data), int.from_bytes(data, "little"))
    return plan.Struct(data, ())


# ---- what a reader is told -----------------------------------------------------------


name, views = tuning.kernel_name, native_plan.views
