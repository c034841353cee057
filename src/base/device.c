/* device.c: how a device is named. */
#include "base/device.h"

#include "base/str.h"

bool device_is_gpu(const char *device, int64_t *n)
{
    struct str number = str_of(device), word;

    return str_cut(&number, ':', &word) && str_eq(word, "cuda") &&
           str_to_i64(number, 0, DEVICE_MAX, n);
}
