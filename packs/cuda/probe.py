"""probe.py: prints how far this machine gets with the pack, by doing it."""
from __future__ import annotations

import ctypes
import json

SOURCE = """
__global__ void twice_kernel(const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = 2.0f * x[i];
}
"""
COUNT = 1000


def probe() -> str:
    try:
        import cuda_build
        from compiler import native_compiler
        from shared import native, native_cuda

        target = native_cuda.torch_target()
        request = native.launches(SOURCE, [("twice_kernel", "PPi")])
        built = native_compiler.compile_cubins(request, cuda_build.toolchain(target))
        compiler = native_cuda.nvcc_version(native_cuda.nvcc())
        name = native_cuda.gpu_name()
    except Exception as error:
        return f"checks: no kernel can be built: {first_line(error)}"
    if not name:
        return f"compile: {compiler}, and torch sees no CUDA device"
    try:
        right = run(built)
    except (OSError, RuntimeError) as error:
        return f"compile: {compiler}, but a kernel does not run on {name}: {first_line(error)}"
    if not right:
        return f"compile: {compiler}, but a kernel gave wrong values on {name}"
    return f"run: {compiler}, {name}"


def run(built: bytes) -> bool:
    """Launches through the driver, in torch's context, over torch's memory."""
    import torch

    x = torch.arange(COUNT, dtype=torch.float32, device="cuda")
    y = torch.empty_like(x)
    head, _, cubin = built.partition(b"\n")
    driver = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(driver.cuModuleLoadData(ctypes.byref(module), cubin))
    symbol = json.loads(head)["functions"][0]["name"].encode()
    check(driver.cuModuleGetFunction(ctypes.byref(function), module, symbol))
    values = [ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_int(COUNT)]
    params = (ctypes.c_void_p * 3)(*(ctypes.addressof(value) for value in values))
    grid, block = [(COUNT + 255) // 256, 1, 1], [256, 1, 1]
    check(driver.cuLaunchKernel(function, *grid, *block, 0, None, params, None))
    torch.cuda.synchronize()
    return torch.equal(y, x + x)


def check(code: int) -> None:
    if code:
        raise RuntimeError(f"the driver answers with error {code}")


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


if __name__ == "__main__":
    print(probe())
