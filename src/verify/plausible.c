/* plausible.c: the limits of devices, and times that exceed them. */
#include "verify/plausible.h"

#include "base/str.h"
#include "verify/verdict.h"

#include <string.h>

/* Memory bandwidth in GB/s from NVIDIA's data sheets and product briefs of these
 * boards, by the whole name that the driver gives: a part of it may be another
 * device ("RTX 4090 Laptop GPU"). The figures of H100, H200, A100, L40S, T4,
 * B200 and the GeForce boards were compared with specifications published
 * elsewhere in November 2026 and agree. */
static const struct peak {
    const char *gpu;
    double gb_per_s;
} peaks[] = {
    {"B200", 8000},
    {"GB200", 8000},
    {"GH200 480GB", 4000},
    {"GH200 144G HBM3e", 4900},
    {"H200", 4800},
    {"H200 NVL", 4800},
    {"H100 80GB HBM3", 3350},
    {"H100 NVL", 3938},
    {"H100 PCIe", 2039},
    {"A100-SXM4-80GB", 2039},
    {"A100 80GB PCIe", 1935},
    {"A100-SXM4-40GB", 1555},
    {"A100-PCIE-40GB", 1555},
    {"L40", 864},
    {"L40S", 864},
    {"L4", 300},
    {"A10", 600},
    {"A10G", 600},
    {"Tesla V100-SXM2-16GB", 900},
    {"Tesla V100-SXM2-32GB", 900},
    {"Tesla T4", 320},
    {"GeForce RTX 4090", 1008},
    {"GeForce RTX 3090 Ti", 1008},
    {"GeForce RTX 3090", 936},
};

double plausible_bandwidth(const char *gpu)
{
    static const char maker[] = "NVIDIA ";

    if (gpu && strncmp(gpu, maker, strlen(maker)) == 0)
        gpu += strlen(maker);
    for (size_t i = 0; gpu && i < sizeof(peaks) / sizeof(peaks[0]); i++)
        if (strcmp(gpu, peaks[i].gpu) == 0)
            return peaks[i].gb_per_s * 1e9;
    return 0;
}

/* Bytes that a call moves at least, over its time; 0: not known. */
static double moved_per_s(const json_t *record)
{
    const json_t *trace = json_object_get(record, "trace");
    double bytes = json_number_value(json_object_get(trace, "bytes_read")) +
                   json_number_value(json_object_get(trace, "bytes_written"));
    double ms = verdict_ms(record, "ms");

    return ms > 0 ? bytes / ms * 1e3 : 0;
}

const char *plausible_doubt(const json_t *record, struct arena *a)
{
    const char *gpu = jsn_str(json_object_get(record, "environment"), "gpu");
    double speedup = verdict_speedup(record, "reference_ms"),
           rate = moved_per_s(record), peak = plausible_bandwidth(gpu);
    const char *why = NULL;

    if (peak > 0 && rate > peak)
        why = arena_printf(a,
                           "it would move %.2f TB/s, but the memory of %s can "
                           "move %.2f TB/s",
                           rate / 1e12, gpu, peak / 1e12);
    if (speedup > PLAUSIBLE_SPEEDUP)
        why = arena_printf(a, "%s%sit is %.1f times as fast as PyTorch",
                           why ? why : "", why ? ", and " : "", speedup);
    return why;
}
