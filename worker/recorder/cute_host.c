/*
 * cute_host.c - the CUDA runtime that a recorded candidate's host code is linked with: every
 * function is handed to Python, which writes launches down. The names are those that the
 * code of CuTe DSL's compiler calls; arguments are words.
 */
typedef long word;

word (*monkeys_called)(int which, word a, word b, word c, word d, word e, word f, word g,
                       word h, word i, word j, word k, word l);

#define FUNCTION(number, name)                                                                \
    word name(word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, \
              word k, word l)                                                                 \
    {                                                                                         \
        return monkeys_called(number, a, b, c, d, e, f, g, h, i, j, k, l);                    \
    }

FUNCTION(0, _cudaLaunchKernelEx)
FUNCTION(1, _cudaLibraryLoadData)
FUNCTION(2, _cudaLibraryGetKernel)
FUNCTION(3, _cudaDeviceGetAttribute)
FUNCTION(4, _cuKernelGetAttribute)
FUNCTION(5, _cudaKernelSetAttributeForDevice)
FUNCTION(6, _cudaFuncSetAttribute)
FUNCTION(7, _cudaGetDevice)
FUNCTION(8, _cudaGetDeviceCount)
FUNCTION(9, _cudaGetLastError)
FUNCTION(10, _cudaLibraryUnload)
FUNCTION(11, _cudaSetDevice)
FUNCTION(12, _cuTensorMapEncodeTiled)
FUNCTION(13, cuda_dialect_init_library_once)
FUNCTION(14, cuda_dialect_unload_library_once)
