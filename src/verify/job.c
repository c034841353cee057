/* job.c: the jobs that the verifier gets, and the hints that its records get.
 *
 * A candidate that could know its inputs could carry the outputs along. So seeds are
 * made with a secret that no prompt, pack or candidate sees, and differ from attempt to
 * attempt. They are not random: the same command run again makes the same jobs, by
 * which it finds their answers in a folder, and a recorded run can be repeated. */
#include "verify/job.h"

#include "base/buf.h"
#include "base/mem.h"
#include "verify/verdict.h"

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
    return json_pack("{s:s, s:o, s:O?}", "id", t->id, "source",
                     jsn_text(t->source, strlen(t->source)), "sidecar",
                     t->sidecar);
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
    if (o->whole_ms)
        return o->whole_ms;
    return 2 * load_ms(p) + TRIALS * call_ms(p, o) + TIMING_MS;
}

json_t *job_verify(const struct pack *p, const struct task *t,
                   struct str candidate, const struct job_opts *o,
                   const struct job_seeds *seeds)
{
    json_t *job = json_pack(
        "{s:s, s:i, s:s, s:s?, s:o, s:s, s:s, s:s, s:b, s:o, s:o, s:s, s:s, "
        "s:{s:I, s:I, s:i}, s:{s:I}}",
        "kind", "verify", "rules", VERDICT_RULES, "pack", p->id, "family",
        p->run.family, "devices", devices_json(p), "device", o->device,
        "precision", o->precision, "protocol", o->protocol, "timing", o->timing,
        "task", task_json(t), "candidate", jsn_text(candidate.p, candidate.n),
        "seed", seeds->own, "pool", seeds->pool, "deadlines", "load_ms",
        (json_int_t)load_ms(p), "call_ms", (json_int_t)call_ms(p, o),
        "timing_ms", TIMING_MS, "limits", "memory_bytes",
        (json_int_t)o->memory_bytes);

    if (o->gate)
        json_object_set_new(job, "gate", json_true());
    return job;
}

json_t *job_task(const struct task *t, const struct job_opts *o,
                 const char *seed)
{
    json_t *job =
        json_pack("{s:s, s:s, s:s, s:b, s:o, s:s}", "kind", "task", "device",
                  o->device, "precision", o->precision, "self_test",
                  o->self_test, "task", task_json(t), "seed", seed);

    if (o->foreign)
        json_object_set_new(job, "foreign", json_true());
    return job;
}

/* What both questions about pieces have. */
static json_t *pieces_job(const char *kind, const struct task *t,
                          const struct job_opts *o, const char *seed)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:{s:I}}", "kind", kind,
                     "device", o->device, "precision", o->precision, "task",
                     task_json(t), "seed", seed, "limits", "memory_bytes",
                     (json_int_t)o->memory_bytes);
}

json_t *job_decompose(const struct task *t, const char *level,
                      const struct job_opts *o, const char *seed)
{
    json_t *job = pieces_job("decompose", t, o, seed);

    json_object_set_new(job, "level", json_string(level));
    return job;
}

json_t *job_validate(const struct task *t, const json_t *proposal,
                     const struct job_opts *o, const char *seed)
{
    json_t *job = pieces_job("validate", t, o, seed);

    json_object_set(job, "level", json_object_get(proposal, "level"));
    json_object_set(job, "proposal", (json_t *)proposal);
    return job;
}

char *job_text(const json_t *job, char *id)
{
    char *text = jsn_canonical(job);

    if (id)
        hash_hex(text, strlen(text), id);
    return text;
}

static void put_finding(struct buf *b, const struct finding *f)
{
    if (f->line) /* else it is about the whole file */
        buf_printf(b, "line %u: ", f->line);
    buf_printf(b, "%s [%s]\n", f->message, f->rule);
}

json_t *job_static_reject(const struct check_result *r)
{
    const char *rule = NULL;
    struct buf b = BUF_INIT;
    json_t *record;

    buf_puts(&b, "The static rules refuse it:\n");
    for (size_t i = 0; i < r->len; i++) {
        const struct finding *f = &r->finding[i];

        if (f->severity != CHECK_ERROR)
            continue;
        if (!rule)
            rule = f->rule;
        if (b.len < FEEDBACK_CHARS - 500)
            put_finding(&b, f);
    }
    record = verdict_unrun(VERDICT_STATIC_REJECT, rule,
                           (struct str){buf_str(&b), b.len});
    buf_release(&b);
    return record;
}

void job_add_hint(json_t *record, const struct pack *p)
{
    enum verdict verdict = verdict_in(record);
    json_t *feedback = json_object_get(record, "feedback");
    const json_t *message = json_object_get(record, "message");
    struct rx_ctx *c;
    struct buf b = BUF_INIT;

    if (!json_is_string(feedback) || verdict == VERDICT_CORRECT ||
        verdict == VERDICT_UNKNOWN)
        return;
    if (!json_is_string(message))
        message = feedback;
    c = rx_ctx_new(&rx_limits_default);
    buf_put(&b, json_string_value(feedback), json_string_length(feedback));
    buf_puts(&b, "\nHint: ");
    if (hint_find(&p->hints, c, verdicts[verdict].hint_stage,
                  (struct str){json_string_value(message),
                               json_string_length(message)},
                  &b))
        json_object_set_new(record, "feedback", jsn_text(buf_str(&b), b.len));
    buf_release(&b);
    rx_ctx_free(c);
}
