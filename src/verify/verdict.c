/* verdict.c: the tables of verdicts, stages and evidence. */
#include "verify/verdict.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

const char *const stage_names[STAGES] = {
    [STAGE_EXTRACT] = "extract",
    [STAGE_STATIC] = "static",
    [STAGE_FORK] = "fork",
    [STAGE_LOAD] = "load",
    [STAGE_RECORD] = "record",
    [STAGE_COMPILE] = "compile",
    [STAGE_FIRST_CALL] = "first_call",
    [STAGE_TRIALS] = "trials",
    [STAGE_TIMING] = "timing",
    [STAGE_EVIDENCE] = "evidence",
    [STAGE_DONE] = "done",
};

/* name, fitness, stage, hints, compiled, retry, exit status. A kernel that
 * cheats got no further than one that is refused unread. */
const struct verdict_info verdicts[VERDICT_INFRA + 1] = {
    // clang-format off
    [VERDICT_CORRECT] =
        {"correct",       1.0,  STAGE_DONE,    HINT_CHECK,   true,  false, 0},
    [VERDICT_NO_CODE] =
        {"no_code",       0.0,  STAGE_EXTRACT, HINT_CHECK,   false, false, 1},
    [VERDICT_TRUNCATED] =
        {"truncated",     0.0,  STAGE_EXTRACT, HINT_CHECK,   false, false, 1},
    [VERDICT_STATIC_REJECT] =
        {"static_reject", 0.05, STAGE_STATIC,  HINT_CHECK,   false, false, 1},
    [VERDICT_COMPILE_ERROR] =
        {"compile_error", 0.1,  STAGE_LOAD,    HINT_COMPILE, false, false, 1},
    [VERDICT_LAUNCH_ERROR] =
        {"launch_error",  0.2,  STAGE_LOAD,    HINT_ANY,     true,  false, 1},
    [VERDICT_TIMEOUT] =
        {"timeout",       0.2,  STAGE_LOAD,    HINT_RUN,     false, false, 1},
    [VERDICT_OUT_OF_MEMORY] =
        {"out_of_memory", 0.2,  STAGE_LOAD,    HINT_RUN,     false, false, 1},
    [VERDICT_CRASH] =
        {"crash",         0.2,  STAGE_LOAD,    HINT_RUN,     false, false, 1},
    [VERDICT_WRONG_SHAPE] =
        {"wrong_shape",   0.3,  STAGE_RECORD,  HINT_NUMERIC, false, false, 1},
    [VERDICT_WRONG_DTYPE] =
        {"wrong_dtype",   0.3,  STAGE_RECORD,  HINT_NUMERIC, false, false, 1},
    [VERDICT_NOT_FINITE] =
        {"not_finite",    0.3,  STAGE_TRIALS,  HINT_NUMERIC, true,  false, 1},
    [VERDICT_WRONG_VALUES] =
        {"wrong_values",  0.4,  STAGE_TRIALS,  HINT_NUMERIC, true,  false, 1},
    [VERDICT_HACK] =
        {"hack",          0.05, STAGE_RECORD,  HINT_CHECK,   false, false, 1},
    [VERDICT_NOT_JUDGED] =
        {"not_judged",    0.2,  STAGE_FIRST_CALL, HINT_CHECK, false, false, 4},
    [VERDICT_INFRA] =
        {"infra",         0.0,  STAGE_FORK,    HINT_CHECK,   false, true,  4},
    // clang-format on
};

const struct evidence_info evidences[EVIDENCES] = {
    [EVIDENCE_NONE] = {NULL, "not compiled"},
    [EVIDENCE_E0] = {"E0", "compiled"},
    [EVIDENCE_E2] = {"E2", "passed all trials"},
    [EVIDENCE_E3] = {"E3", "passed, and computed by the kernels alone"},
};

enum verdict verdict_of(const char *name)
{
    enum verdict v = 0;

    if (!name)
        return VERDICT_UNKNOWN;
    while (v < VERDICT_UNKNOWN && strcmp(verdicts[v].name, name) != 0)
        v++;
    return v;
}

enum verdict verdict_in(const json_t *record)
{
    return verdict_of(jsn_maybe(record, "verdict"));
}

int64_t verdict_rules(const json_t *record)
{
    const json_t *rules = json_object_get(record, "rules");

    return json_is_integer(rules) ? json_integer_value(rules)
                                  : VERDICT_RULES_FIRST;
}

/* NaN is nothing. */
static double between(double x, double lo, double hi)
{
    if (!(x > lo))
        return lo;
    return x < hi ? x : hi;
}

double verdict_fitness(enum verdict v, double within, double speedup)
{
    double base;

    if (v >= VERDICTS)
        BUG("verdict %d is not on an attempt", (int)v);
    base = verdicts[v].fitness;
    if (v == VERDICT_WRONG_VALUES)
        return base + 0.1 * between(within, 0, 1);
    if (v == VERDICT_CORRECT)
        return base + between(speedup, 0, 10) / 10;
    return base;
}

double verdict_ms(const json_t *record, const char *which)
{
    const json_t *times =
        json_object_get(json_object_get(record, "timing"), which);

    return jsn_num(times, "median");
}

double verdict_speedup(const json_t *record, const char *over)
{
    double ms = verdict_ms(record, "ms"), reference = verdict_ms(record, over);

    return ms > 0 && reference > 0 ? reference / ms : (double)NAN;
}

json_t *verdict_unrun(enum verdict v, const char *rule, struct str feedback)
{
    const struct verdict_info *i = &verdicts[v];

    return json_pack("{s:s, s:i, s:s?, s:s, s:b, s:b, s:b, s:n, s:[], s:o}",
                     "verdict", i->name, "rules", VERDICT_RULES, "rule", rule,
                     "stage", stage_names[i->stage], "compiled", i->compiled,
                     "kernelbench_pass", 0, "hardened_pass", 0, "evidence",
                     "trials", "feedback", jsn_text(feedback.p, feedback.n));
}

/* A line that ends with a colon only announces the next one. */
static struct str telling_line(struct str text)
{
    struct str line, first = {"", 0};

    while (str_part(&text, '\n', &line)) {
        line = str_trim(line);
        if (line.n && line.p[line.n - 1] != ':')
            return line;
        if (first.n == 0)
            first = line;
    }
    return first;
}

struct str verdict_error(const json_t *record)
{
    static const char *const places[] = {"infra", "message", "feedback"};
    struct str line = {"", 0};

    for (size_t i = 0; i < 3 && line.n == 0; i++)
        line = telling_line(str_of(jsn_str(record, places[i])));
    return line;
}

void verdict_error_kind(const char *error, struct buf *out)
{
    struct str rest = str_of(error), word;

    while (str_part(&rest, ' ', &word)) {
        for (size_t i = 0; i < word.n; i++)
            if (strchr("0123456789[]'\"`", word.p[i]))
                word.n = 0;
        buf_putc(out, ' ');
        buf_put(out, word.p, word.n);
    }
}

char *verdict_line(const json_t *record)
{
    struct str line = verdict_error(record);

    if (verdict_in(record) == VERDICT_CORRECT)
        return xasprintf("correct, but only at %s",
                         jsn_str(record, "evidence"));
    return xasprintf("%s: %.*s", jsn_str(record, "verdict"), (int)line.n,
                     line.p);
}

enum evidence evidence_of(const char *name)
{
    for (enum evidence v = EVIDENCE_E0; name && v < EVIDENCES; v++)
        if (strcmp(evidences[v].name, name) == 0)
            return v;
    return EVIDENCE_NONE;
}

bool verdict_may_join(const char *verdict, const char *evidence)
{
    return verdict_of(verdict) == VERDICT_CORRECT &&
           evidence_of(evidence) >= EVIDENCE_ARCHIVE;
}

void evidence_explain(struct buf *out)
{
    buf_puts(out, "Evidence:");
    for (enum evidence v = EVIDENCE_E0; v < EVIDENCES; v++)
        buf_printf(out, "%s %s %s", v > EVIDENCE_E0 ? "," : "",
                   evidences[v].name, evidences[v].meaning);
    buf_putc(out, '\n');
}

/* ---- the trace, for people ---- */

static void trace_put_count(struct buf *out, json_int_t n, const char *one,
                            const char *many)
{
    buf_printf(out, "%lld %s", (long long)n, n == 1 ? one : many);
}

static void trace_put_bytes(const json_t *object, struct buf *out)
{
    buf_printf(out, "%lld bytes read, %lld written",
               (long long)jsn_int(object, "bytes_read"),
               (long long)jsn_int(object, "bytes_written"));
}

static void trace_put_kernel(const json_t *kernel, struct buf *out)
{
    const json_t *grid = json_object_get(kernel, "grid");

    buf_printf(out, "        %s, grid ", jsn_str(kernel, "name"));
    for (size_t i = 0; i < json_array_size(grid); i++)
        buf_printf(out, "%s%lld", i ? " x " : "",
                   (long long)json_integer_value(json_array_get(grid, i)));
    buf_puts(out, ": ");
    trace_put_count(out, jsn_int(kernel, "launches"), "launch", "launches");
    buf_puts(out, ", ");
    trace_put_bytes(kernel, out);
    buf_putc(out, '\n');
}

static void trace_put_call(const json_t *call, const char *title,
                           struct buf *out)
{
    const json_t *kernels = json_object_get(call, "kernels");

    buf_printf(out, "    %s: ", title);
    trace_put_count(out, jsn_int(call, "launches"), "launch", "launches");
    buf_puts(out, ", ");
    trace_put_count(out, jsn_int(call, "moves"), "move", "moves");
    buf_puts(out, ", at least ");
    trace_put_bytes(call, out);
    buf_putc(out, '\n');
    for (size_t i = 0; i < json_array_size(kernels); i++)
        trace_put_kernel(json_array_get(kernels, i), out);
}

void verdict_put_trace(const json_t *trace, struct buf *out)
{
    const json_t *first = json_object_get(trace, "first");

    if (!json_is_object(trace)) {
        buf_puts(out, "    no trace\n");
        return;
    }
    trace_put_call(trace, "each call", out);
    if (json_is_object(first))
        trace_put_call(first, "the first call", out);
}

/* ---- times that can be believed ---- */

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
    double bytes =
        jsn_num(trace, "bytes_read") + jsn_num(trace, "bytes_written");
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

const char *verdict_hint(const char *feedback)
{
    const char *found = NULL;

    for (const char *p = strstr(feedback, "\nHint: "); p;
         p = strstr(p + 1, "\nHint: "))
        found = p + strlen("\nHint: ");
    return found;
}
