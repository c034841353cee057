"""What an executor is asked to do, after the judge has checked it: moves and launches
over one region of memory. Offsets are bytes from the region's start; everything lies
inside it. The judge makes programs (traces.py, launches.py); runner.py encodes them for
monkeys-runner."""

from dataclasses import dataclass, field

ITEM = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1,
    "float8_e5m2": 1, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint64": 8,
    "uint32": 4, "uint16": 2, "uint8": 1, "bool": 1,
}  # bytes of an element, for every dtype that a trace may name  # fmt: skip
# The most that a launch of a CUDA kernel may have.
GRID = ((1 << 31) - 1, 65535, 65535)
BLOCK = (1024, 1024, 64)
THREADS = 1024
SHARED_BYTES = 227 << 10  # per block, on the largest of today's GPUs
STRUCT_BYTES = 32764  # of one parameter
MAP_BYTES = 128  # of a tensor map
NODES = 1 << 20  # of a program
MAP_ITEM = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)  # bytes of an element: CUtensorMapDataType


@dataclass(frozen=True)
class Place:
    """A strided array in the region: `at` is where its first element lies. Strides are
    in elements; those of a copy's source may be negative."""

    at: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Copy:
    """Element by element, converted where the dtypes differ."""

    to: Place
    source: Place


@dataclass(frozen=True)
class Fill:
    to: Place
    value: int | float | bool


@dataclass(frozen=True)
class Add:
    """A counter of one element."""

    to: Place
    value: int


@dataclass(frozen=True)
class Pointer:
    """The address of a byte of the region."""

    at: int


@dataclass(frozen=True)
class Number:
    """`size` bytes, 1 to 8, whose bits are the lowest of `bits`."""

    size: int
    bits: int


@dataclass(frozen=True)
class TensorMap:
    """What cuTensorMapEncodeTiled takes; 128 bytes, passed by value. Dimensions are
    listed innermost first; `strides` are bytes, without the innermost's."""

    at: int
    dtype: int  # CUtensorMapDataType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0  # CUtensorMapSwizzle
    fill: int = 0  # CUtensorMapFloatOOBfill


@dataclass(frozen=True)
class Struct:
    """A parameter's bytes, passed by value. Each patch replaces those at its offset: an
    address at a multiple of 8, a tensor map at a multiple of 64; in order, without overlap."""

    data: bytes
    patches: tuple[tuple[int, Pointer | TensorMap], ...]


Param = Pointer | Number | TensorMap | Struct


@dataclass(frozen=True)
class Launch:
    """A kernel on a GPU."""

    function: int  # index into Program.functions
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int  # bytes of dynamic shared memory
    params: tuple[Param, ...]
    cluster: tuple[int, int, int] = (1, 1, 1)
    cooperative: bool = False
    pdl: bool = False  # programmatic dependent launch


@dataclass(frozen=True)
class Call:
    """A function of a library, void f(const uint64_t *params): each parameter is a
    word. It sees only these pages of the region: where they begin and end, in order."""

    function: int
    params: tuple[Param, ...]
    seen: tuple[tuple[int, int], ...] = ()


Node = Copy | Fill | Add | Launch | Call


@dataclass(frozen=True)
class Module:
    kind: str  # "cubin" or "library" (a shared object)
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Function:
    module: int
    name: str


@dataclass(frozen=True)
class Program:
    modules: tuple[Module, ...]
    functions: tuple[Function, ...]
    calls: tuple[tuple[Node, ...], ...]
