/* kernels.c: what the correct kernels do and how fast they are. */
#include "views/views_int.h"

#include "base/mem.h"
#include "base/stats.h"
#include "run/summary.h"
#include "verify/plausible.h"
#include "verify/verdict.h"

#include <math.h>
#include <stdlib.h>

struct measured {
    double *eager, *compile; /* speed-ups of the tasks that take part */
    double *timed;           /* the eager ones that are known */
    size_t n, timed_len;
    int64_t implausible;
    const char *gpu;
    struct arena memory;
};

static json_int_t number_in(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* Bytes that a call touches at least, over its time. Small programs live in a
 * cache, so this may exceed what the memory can do. */
static json_t *kernel_json(const struct run_task *t,
                           const struct run_attempt *a, const json_t *record,
                           const char *doubt)
{
    const json_t *trace = json_object_get(record, "trace");
    json_int_t read = number_in(trace, "bytes_read"),
               written = number_in(trace, "bytes_written");
    bool traced = json_is_object(trace);
    double ms = verdict_ms(record, "ms");

    return json_pack(
        "[o, I, o, o, o, o, o, o, o, o]", views_text(t->row.id),
        (json_int_t)a->row.attempt,
        views_real(verdict_speedup(record, "reference_ms")),
        views_real(verdict_speedup(record, "compile_ms")),
        traced ? json_integer(number_in(trace, "launches")) : json_null(),
        traced ? json_integer(read) : json_null(),
        traced ? json_integer(written) : json_null(),
        ms > 0 ? json_real(ms) : json_null(),
        traced && ms > 0 ? json_real((double)(read + written) / ms * 1e3)
                         : json_null(),
        doubt[0] ? views_text(doubt) : json_null());
}

static int add_kernel(struct run_view *v, const struct run_task *t,
                      struct measured *m, json_t *list, struct err *e)
{
    struct run_attempt *a = run_task_best(t);
    const char *doubt;
    json_t *record;
    double x;

    m->eager[m->n] = m->compile[m->n] = (double)NAN;
    m->n++;
    if (!a || !a->row.solved)
        return 0;
    record = run_view_record(v, a, e);
    if (!record)
        return e->kind == ERR_NONE ? 0 : -1;
    x = m->eager[m->n - 1] = verdict_speedup(record, "reference_ms");
    m->compile[m->n - 1] = verdict_speedup(record, "compile_ms");
    if (!isnan(x))
        m->timed[m->timed_len++] = x;
    if (!m->gpu)
        m->gpu = arena_strdup(
            &m->memory, jsn_str(json_object_get(record, "environment"), "gpu"));
    doubt = run_view_doubt(v, a, e);
    if (doubt) {
        m->implausible += doubt[0] != '\0';
        json_array_append_new(list, kernel_json(t, a, record, doubt));
    }
    json_decref(record);
    return doubt ? 0 : -1;
}

/* [[p, share above p of the eager reference, … of torch.compile], …] */
static json_t *fast_json(const struct measured *m)
{
    static const double at[] = {0,   0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8,
                                0.9, 1,   1.2, 1.5, 2,   2.5, 3,   4,   5,
                                6,   8,   10,  15,  20,  50,  100};
    json_t *list = json_array();

    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
        json_array_append_new(
            list, json_pack("[f, f, f]", at[i],
                            stats_fast_p(m->eager, m->n, at[i], false),
                            stats_fast_p(m->compile, m->n, at[i], false)));
    return list;
}

static json_t *result_json(struct measured *m, json_t *list)
{
    double peak = plausible_bandwidth(m->gpu);
    double mean = stats_geomean(m->timed, m->timed_len);

    return json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "tasks",
                     (json_int_t)m->n, "timed", (json_int_t)m->timed_len,
                     "implausible", (json_int_t)m->implausible, "geomean",
                     m->timed_len ? json_real(mean) : json_null(), "median",
                     views_real(stats_quantile(m->timed, m->timed_len, 0.5)),
                     "fast_p", fast_json(m), "gpu",
                     m->gpu && m->gpu[0] ? views_text(m->gpu) : json_null(),
                     "peak_bytes_per_s",
                     peak > 0 ? json_real(peak) : json_null(), "kernels", list);
}

static json_t *one_run(struct run_view *v, struct err *e)
{
    struct measured m = {0};
    json_t *list = json_array(), *j = NULL;
    int rc = 0;

    m.eager = xcalloc(v->tasks + 1, sizeof(*m.eager));
    m.compile = xcalloc(v->tasks + 1, sizeof(*m.compile));
    m.timed = xcalloc(v->tasks + 1, sizeof(*m.timed));
    arena_init(&m.memory);
    for (size_t i = 0; rc == 0 && i < v->tasks; i++)
        if (!v->task[i].row.skipped)
            rc = add_kernel(v, &v->task[i], &m, list, e);
    if (rc == 0)
        j = result_json(&m, json_incref(list));
    json_decref(list);
    arena_release(&m.memory);
    free(m.eager);
    free(m.compile);
    free(m.timed);
    return j;
}

json_t *views_kernels(struct run_view *const *runs, size_t n, struct err *e)
{
    json_t *j = views_each(runs, n, one_run, e);

    if (j)
        json_object_set_new(j, "columns",
                            json_pack("[s, s, s, s, s, s, s, s, s, s]", "task",
                                      "attempt", "speedup", "speedup_compile",
                                      "launches", "bytes_read", "bytes_written",
                                      "ms", "bytes_per_s", "doubt"));
    return j;
}
