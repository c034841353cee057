/* job.c: questions to the verifier, and the last touches to its answers. */
#include "verify/job.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIALS         8  /* calls of forward that a job may make */
#define POOL           16 /* attempts that are asked the same */
#define TIMING_MS      120000
#define FEEDBACK_CHARS 4000

void job_seed(const char *secret, const char *task, const char *label,
              char out[HASH_HEX])
{
    char *text = xasprintf("%s\n%s", task, label);

    hash_hmac_hex(secret, str_of(text), out);
    free(text);
}

void job_seeds(const char *secret, const char *task, size_t attempt,
               struct job_seeds *out)
{
    char label[40];

    snprintf(label, sizeof(label), "%zu", attempt);
    job_seed(secret, task, label, out->own);
    snprintf(label, sizeof(label), "pool %zu", attempt / POOL);
    job_seed(secret, task, label, out->pool);
}

static json_t *task_json(const struct task *t)
{
    return json_pack("{s:s, s:s, s:O?}", "id", t->id, "source", t->source,
                     "sidecar", t->sidecar);
}

static json_t *devices_json(const struct pack *p)
{
    json_t *list = json_array();

    for (int i = PACK_CPU; i <= PACK_CUDA; i++)
        if (p->run.devices & 1u << i)
            json_array_append_new(list, json_string(pack_devices[i]));
    return list;
}

static int64_t call_ms(const struct pack *p, const struct job_opts *o)
{
    return o->call_ms ? o->call_ms : (int64_t)p->run.hang_timeout_s * 1000;
}

static int64_t load_ms(const struct pack *p)
{
    return (int64_t)p->build.timeout_s * 1000;
}

int64_t job_deadline_ms(const struct pack *p, const struct job_opts *o)
{
    return 2 * load_ms(p) + TRIALS * call_ms(p, o) + TIMING_MS;
}

json_t *job_verify(const struct pack *p, const struct task *t,
                   struct str candidate, const struct job_opts *o,
                   const struct job_seeds *seeds)
{
    json_t *job = json_pack(
        "{s:s, s:s, s:s?, s:o, s:s, s:s, s:s, s:b, s:o, s:s%, s:s, s:s, "
        "s:{s:I, s:I, s:i}, s:{s:I}}",
        "kind", "verify", "pack", p->id, "family", p->run.family, "devices",
        devices_json(p), "device", o->device, "precision", o->precision,
        "protocol", o->protocol, "timing", o->timing, "task", task_json(t),
        "candidate", candidate.p, candidate.n, "seed", seeds->own, "pool",
        seeds->pool, "deadlines", "load_ms", (json_int_t)load_ms(p), "call_ms",
        (json_int_t)call_ms(p, o), "timing_ms", TIMING_MS, "limits",
        "memory_bytes", (json_int_t)o->memory_bytes);

    if (o->gate)
        json_object_set_new(job, "gate", json_true());
    return job;
}

json_t *job_task(const struct task *t, const struct job_opts *o, bool self_test,
                 const char *seed)
{
    return json_pack("{s:s, s:s, s:s, s:b, s:o, s:s}", "kind", "task", "device",
                     o->device, "precision", o->precision, "self_test",
                     self_test, "task", task_json(t), "seed", seed);
}

json_t *job_static_reject(const struct check_result *r)
{
    const char *rule = NULL;
    struct buf b;
    json_t *record;

    buf_init(&b, BUF_UNLIMITED);
    buf_puts(&b, "The static rules refuse it:\n");
    for (size_t i = 0; i < r->len; i++) {
        const struct finding *f = &r->finding[i];

        if (f->severity != CHECK_ERROR)
            continue;
        if (!rule)
            rule = f->rule;
        if (b.len < FEEDBACK_CHARS - 500)
            buf_printf(&b, "line %u: %s [%s]\n", f->line, f->message, f->rule);
    }
    record =
        json_pack("{s:s, s:s?, s:s, s:b, s:b, s:b, s:n, s:[], s:o}", "verdict",
                  "static_reject", "rule", rule, "stage", "static", "compiled",
                  0, "kernelbench_pass", 0, "hardened_pass", 0, "evidence",
                  "trials", "feedback", jsn_text(buf_str(&b), b.len));
    buf_release(&b);
    return record;
}

static enum hint_stage hint_stage_of(const char *verdict)
{
    static const struct {
        const char *verdict;
        enum hint_stage stage;
    } table[] = {{"compile_error", HINT_COMPILE},
                 {"launch_error", HINT_ANY},
                 {"crash", HINT_RUN},
                 {"timeout", HINT_RUN},
                 {"out_of_memory", HINT_RUN},
                 {"wrong_values", HINT_NUMERIC},
                 {"not_finite", HINT_NUMERIC},
                 {"wrong_shape", HINT_NUMERIC},
                 {"wrong_dtype", HINT_NUMERIC}};

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].verdict, verdict) == 0)
            return table[i].stage;
    return HINT_CHECK;
}

void job_add_hint(json_t *record, const struct pack *p)
{
    const char *verdict = jsn_str(record, "verdict");
    json_t *told = json_object_get(record, "feedback");
    const json_t *message = json_object_get(record, "message");
    struct rx_ctx *c;
    struct buf b;

    if (!json_is_string(told) || strcmp(verdict, "correct") == 0)
        return;
    if (!json_is_string(message))
        message = told;
    c = rx_ctx_new(&rx_limits_default);
    buf_init(&b, BUF_UNLIMITED);
    buf_put(&b, json_string_value(told), json_string_length(told));
    buf_puts(&b, "\nHint: ");
    if (hint_find(&p->hints, c, hint_stage_of(verdict),
                  (struct str){json_string_value(message),
                               json_string_length(message)},
                  &b))
        json_object_set_new(record, "feedback", jsn_text(buf_str(&b), b.len));
    buf_release(&b);
    rx_ctx_free(c);
}
