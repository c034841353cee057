/* device_name.c: how a device is named, and whether there is one. */
#include "base/device_name.h"

#include "base/str.h"

#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

bool device_is_gpu(const char *device, int64_t *n)
{
    struct str number = str_of(device), word;

    return str_cut(&number, ':', &word) && str_eq(word, "cuda") &&
           str_to_i64(number, 0, DEVICE_MAX, n);
}

bool device_has_gpu(void)
{
    const char *listed = secure_getenv("CUDA_VISIBLE_DEVICES");
    bool none = listed && !isdigit((unsigned char)listed[0]) &&
                !str_starts(str_of(listed), "GPU-");

    return !none && (access("/dev/nvidiactl", F_OK) == 0 ||
                     access("/dev/dxg", F_OK) == 0); /* the latter: WSL */
}
