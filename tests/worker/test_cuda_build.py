"""What cuda_build promises, as far as it shows without a GPU: source becomes functions
that nvcc compiled, what a kernel may not do is refused by trying it, and arguments and
errors are told by name. Tensors in the CPU's memory that say they are on cuda stand in
for the GPU's: host functions can read them."""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker"), str(ROOT / "packs" / "cuda")]

import cuda_build  # noqa: E402
import native  # noqa: E402
import native_cuda  # noqa: E402
import native_elf  # noqa: E402

try:
    NVCC = native_cuda.nvcc()
except native.ToolchainError as error:
    pytest.skip(f"nothing can be compiled: {error}", allow_module_level=True)

HEAD = "#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include <cstdint>\n"
RELU = (
    HEAD
    + """
__global__ void relu_kernel(const float *x, float *y, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = fmaxf(x[i], 0.0f);
}
extern "C" void launch_relu(const float *x, float *y, int64_t n, cudaStream_t stream)
{
    relu_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
}
"""
)
# Functions that stay on the host, to see what arrives there. The error that the runtime
# holds is their own: a runtime without a driver has one at all times.
HOST = (
    HEAD
    + """
static int held;
extern "C" {
#ifndef __CUDA_ARCH__
cudaError_t cudaGetLastError(void)
{
    const int error = held;

    held = 0;
    return (cudaError_t)error;
}
#endif
int launch_sum(const float *x, const __half *y, const int64_t *z, int n, float a, double b,
               bool c)
{
    double sum = a + b + c;

    for (int i = 0; i < n; i++)
        sum += x[i] + (double)__half2float(y[i]) + (double)z[i];
    return sum == 1234.5 ? 0 : 1;
}
int launch_code(int code) { return code; }
cudaError_t launch_error(int code) { return (cudaError_t)code; }
int launch_on(int64_t wanted, cudaStream_t stream) { return (int64_t)stream != wanted; }
void launch_held(int error) { held = error; }
float returns_float(float x) { return x; }
void by_value(__half x) { }
void by_reference(float &x) { }
}
"""
)


class OnCuda(torch.Tensor):
    """In the CPU's memory, whatever it says."""

    device = torch.device("cuda:0")


def on_cuda(x: torch.Tensor) -> torch.Tensor:
    return x.as_subclass(OnCuda)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cuda-cache")


@pytest.fixture(autouse=True)
def surroundings(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cache for this file, and no GPU, so that all machines test the same."""
    monkeypatch.setenv("MONKEYS_CUDA_CACHE", str(cache))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=0))


@pytest.fixture
def relu() -> native.Library:
    return cuda_build.build(RELU)


@pytest.fixture
def host() -> native.Library:
    return cuda_build.build(HOST)


def refused(source: str) -> str:
    with pytest.raises(native.BuildError) as caught:
        cuda_build.build(source)
    return str(caught.value)


# ---- building -------------------------------------------------------------------


def test_host_functions_become_attributes(relu: native.Library, host: native.Library) -> None:
    assert dir(relu) == ["calls", "key", "launch_relu"]
    assert relu.launch_relu.__doc__ == (
        "launch_relu(const float *x, float *y, int64_t n, cudaStream_t stream)"
    )
    for name in ("relu_kernel", "absent"):
        with pytest.raises(AttributeError, match=r'callable: launch_relu \(only extern "C" host'):
            getattr(relu, name)


def test_the_object_wants_little_and_runs_only_the_registration(
    cache: Path, relu: native.Library
) -> None:
    found = native_elf.read_shared_object((cache / relu.key / "kernel.so").read_bytes())
    assert found.startup == ("DT_INIT_ARRAY",)
    runtimes = [name for name in found.needed if name.startswith("libcudart.so.")]
    others = {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6"}
    assert len(runtimes) == 1 and set(found.needed) <= {*others, *runtimes}
    assert "__cudaRegisterFatBinary" in found.undefined
    assert not [name for name in found.undefined if re.match("dlopen|cuda?Mem|socket", name)]


def test_the_same_source_is_compiled_once_for_an_architecture(
    cache: Path, relu: native.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "_make_entry", lambda *_: pytest.fail("compiled again"))
    assert cuda_build.build(RELU).key == relu.key
    assert (cache / relu.key).is_dir()
    keys = {native._key(RELU.encode(), cuda_build.toolchain(arch)) for arch in ("80", "90a")}
    assert len(keys) == 2 and relu.key in keys


@pytest.mark.parametrize(
    "capability, arch", [((8, 0), "80"), ((8, 9), "89"), ((9, 0), "90a"), ((10, 0), "100a")]
)
def test_the_architecture_is_that_of_the_gpu(
    capability: tuple[int, int], arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert native_cuda.architecture() == "90a"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    assert native_cuda.architecture() == arch
    flags = cuda_build.toolchain(arch).compile_flags
    assert f"arch=compute_{arch},code=sm_{arch}" in flags


def test_instructions_of_one_architecture_compile() -> None:
    cuda_build.build(
        '__global__ void k() { asm volatile("wgmma.fence.sync.aligned;"); }\n'
        'extern "C" void launch(cudaStream_t s) { k<<<1, 128, 0, s>>>(); }\n'
    )


def test_a_missing_compiler_is_the_machines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(native_cuda, "USUAL_NVCC", "/nonexistent/nvcc")
    with pytest.raises(native.ToolchainError, match="neither on PATH nor at /nonexistent/nvcc"):
        cuda_build.build(RELU)


def test_trying_out_leaves_nothing_behind_and_touches_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONKEYS_CUDA_CACHE", str(tmp_path / "untouched"))
    native.try_out(RELU, cuda_build.toolchain("90a"), native_cuda.CUDA)
    assert not (tmp_path / "untouched").exists()
    assert not torch.cuda.is_initialized()


def test_a_library_loads_where_torch_is_not(cache: Path, relu: native.Library) -> None:
    """The runtime comes from the toolkit then."""
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).launch_relu"
    path = cache / relu.key / "kernel.so"
    subprocess.run([sys.executable, "-I", "-c", code, path], check=True)


# ---- what the compiler says -----------------------------------------------------


@pytest.mark.parametrize(
    "words, source",
    [
        (
            r'kernel\.cu\(5\): error: identifier "q" is undefined',
            HEAD + '__global__ void k(float *x)\n{ x[0] = q; }\nextern "C" void f(int n) { }',
        ),
        (
            r"ptxas kernel\.ptx, line \d+; error",
            '__global__ void k() { asm("no.such;"); }\nextern "C" void f(int n) { }',
        ),
        (r"kernel\.cu:1:\d*:? error: #error no", '#error no\nextern "C" void f(int n) { }'),
    ],
)
def test_errors_name_the_source_and_no_other_path(
    cache: Path, words: str, source: str
) -> None:
    text = refused(source)
    assert re.search(words, text), text
    assert str(cache) not in text and "/tmp" not in text and "tmpxft" not in text


# ---- what a kernel may not do ---------------------------------------------------

BODY = 'extern "C" void launch(int n, cudaStream_t s) '


@pytest.mark.parametrize(
    "symbol, source",
    [
        ("system", f'#include <cstdlib>\n{BODY} {{ system("true"); }}'),
        ("dlopen", f'extern "C" void *dlopen(const char *, int);\n{BODY} {{ dlopen("x", 1); }}'),
        ("cudaMalloc", f"{BODY} {{ void *p; cudaMalloc(&p, n); }}"),
        (
            "cudaGetDriverEntryPointByVersion",
            BODY + "{ void *p; cudaGetDriverEntryPointByVersion("
            '"cuMemAlloc", &p, 12000, cudaEnableDefault, 0); }',
        ),
        ("_ZN2at6matmulEi", f"namespace at {{ int matmul(int); }}\n{BODY} {{ at::matmul(n); }}"),
    ],
)
def test_symbols_outside_the_list_are_refused(symbol: str, source: str) -> None:
    text = refused(source)
    assert text.startswith(f"undefined symbol {symbol} is not allowed; a kernel may call")


@pytest.mark.parametrize(
    "words, source",
    [
        ("#include <cublas_v2.h> is not allowed", "#include <cublas_v2.h>\n" + BODY + "{ }"),
        ("((constructor))", "__attribute__((constructor)) void f() { }\n" + BODY + "{ }"),
        (
            "code that runs when the library is loaded (DT_INIT_ARRAY)",
            "#include <cmath>\nextern float three; float two = sqrtf(three);\n"
            f"float three = 3.0f;\n{BODY} {{ two = n; }}",
        ),
        (
            "code that runs when the library is loaded (DT_INIT_ARRAY)",
            f"volatile int seen; struct s {{ int a; s() {{ a = seen; }} }} it;\n{BODY} {{ }}",
        ),
        (
            "inline assembler is not allowed in host code",
            f'{BODY} {{\n#ifndef __CUDA_ARCH__\nasm("nop");\n#endif\n}}',
        ),
        (
            "inline assembler is not allowed in host code",
            f'{BODY} {{\n#ifndef __CUDA_ARCH_FEAT_SM90_ALL\nasm("nop");\n#endif\n}}',
        ),
        (
            "inline assembler is not allowed in host code",
            f'{BODY} {{\n#ifndef CUDA_DOUBLE_MATH_FUNCTIONS\nasm("nop");\n#endif\n}}',
        ),
        ('no function that can be called is defined (only extern "C"', "void f(int n) { }"),
        (
            "no function that can be called is defined",
            'extern "C" __global__ void kernel(float *x) { }',
        ),
        ("may not be called 'calls'", 'extern "C" void calls(int n) { }'),
    ],
)
def test_constructs_a_kernel_has_no_need_for_are_refused(words: str, source: str) -> None:
    assert words in refused(source)


def test_the_preprocessed_text_is_the_one_the_host_compiler_gets(tmp_path: Path) -> None:
    toolchain = cuda_build.toolchain("90a")
    (tmp_path / "kernel.cu").write_text(RELU)
    keep = [NVCC, *toolchain.compile_flags, "--keep", "-c", "kernel.cu"]
    show = [NVCC, *toolchain.compile_flags, *toolchain.preprocess_flags, "-E", "kernel.cu"]
    subprocess.run(keep, cwd=tmp_path, check=True)
    shown = subprocess.run(show, cwd=tmp_path, check=True, stdout=subprocess.PIPE).stdout
    assert shown == (tmp_path / "kernel.cpp4.ii").read_bytes()


# ---- calls ----------------------------------------------------------------------

X, Y = torch.ones(16), torch.ones(16)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((X, on_cuda(Y), 16), r"'x' \(const float \*x\): expected a tensor on cuda, got .* cpu"),
        ((on_cuda(X), Y, 16), r"'y' .* expected a tensor on cuda, got one on cpu"),
        ((on_cuda(X).half(), on_cuda(Y), 16), "'x' .* torch.float32, got torch.float16"),
        ((on_cuda(X[::2]), on_cuda(Y), 8), "'x' .* contiguous"),
        ((X.data_ptr(), on_cuda(Y), 16), "'x' .* expected a tensor, got int"),
        ((on_cuda(X), on_cuda(Y), 16.0), "'n' .* expected an int, got float"),
        ((on_cuda(X), on_cuda(Y), 2**63), "'n' .* does not fit into 64 bits"),
    ],
)
def test_a_wrong_argument_is_named(
    relu: native.Library, arguments: tuple[object, ...], words: str
) -> None:
    before = relu.calls
    with pytest.raises(TypeError, match=r"launch_relu\(\) parameter " + words):
        relu.launch_relu(*arguments)
    assert relu.calls == before


def test_the_stream_is_not_counted_among_the_arguments(relu: native.Library) -> None:
    with pytest.raises(TypeError) as caught:
        relu.launch_relu(on_cuda(X), on_cuda(Y), 16, 0)
    assert str(caught.value) == (
        "launch_relu() takes 3 arguments, got 4: "
        "launch_relu(const float *x, float *y, int64_t n, cudaStream_t stream)"
    )


def test_tensors_and_numbers_arrive(host: native.Library) -> None:
    x = on_cuda(torch.tensor([1.0, 2.0]))
    y = on_cuda(torch.tensor([0.5, 0.25], dtype=torch.float16))
    z = on_cuda(torch.tensor([1000, 200]))
    assert host.launch_sum(x, y, z, 2, 3.5, 26.25, True) is None
    with pytest.raises(RuntimeError, match="launch_sum: cudaErrorInvalidValue"):
        host.launch_sum(x, y, z, 2, 3.5, 26.25, False)


def test_the_current_stream_is_filled_in(
    host: native.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = SimpleNamespace(cuda_stream=0x7F0012345678)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
    host.launch_on(0x7F0012345678)
    with pytest.raises(RuntimeError):
        host.launch_on(0)


def test_a_result_that_is_not_zero_is_raised_as_the_error_it_names(
    host: native.Library,
) -> None:
    for function in (host.launch_code, host.launch_error):
        assert function(0) is None
        name = function.__name__
        with pytest.raises(RuntimeError, match=f"^{name}: cudaErrorInvalidValue: invalid arg"):
            function(1)
        with pytest.raises(RuntimeError, match=f"^{name}: cudaErrorLaunchOutOfResources: too many"):
            function(701)
        with pytest.raises(RuntimeError, match=f"^{name}: returned 123456, which is no error of"):
            function(123456)


def test_an_error_that_the_runtime_holds_is_raised_once(host: native.Library) -> None:
    with pytest.raises(RuntimeError, match="^launch_held: cudaErrorInvalidConfiguration: inv"):
        host.launch_held(9)
    host.launch_code(0)
    host._object.launch_held(9)  # what was there before a call is not its own
    host.launch_code(0)


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a GPU to launch on")
def test_a_launch_without_a_gpu_is_an_error(relu: native.Library) -> None:
    with pytest.raises(RuntimeError, match=r"^launch_relu: cudaError\w+: \w"):
        relu.launch_relu(on_cuda(X), on_cuda(Y), 16)


def test_launches_are_offered_to_hooks(host: native.Library) -> None:
    seen: list[native.Launch] = []
    native.launch_hooks.append(seen.append)
    try:
        host.launch_code(0)
    finally:
        native.launch_hooks.remove(seen.append)
    assert seen == [native.Launch(host.key, "launch_code")]


def test_types_python_cannot_pass_are_refused_when_called(host: native.Library) -> None:
    for name in ("by_value", "by_reference"):
        with pytest.raises(TypeError, match=rf"{name}\(\) parameter 'x': the type of"):
            getattr(host, name)
    with pytest.raises(TypeError, match=r"returns_float\(\) must return void, or an int or"):
        host.returns_float
