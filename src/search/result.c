/* result.c: what a verdict means to the search, and the rows that are
 * stored. */
#include "search/attempt.h"

#include "base/date.h"

#include <math.h>
#include <string.h>

static const char *text_of(const json_t *record, const char *key)
{
    return json_string_value(json_object_get(record, key));
}

static double number_of(const json_t *record, const char *key)
{
    const json_t *v = json_object_get(record, key);

    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* ---- how good it was ---- */

/* With --no-stop a faster kernel is a better one. Otherwise the first correct
 * one ends the task, and a time, which differs in every run, would only make
 * fitness unrepeatable. */
static double fitness_of(const struct search *s, const json_t *record)
{
    double speedup =
        s->opt.no_stop ? verdict_speedup(record, "reference_ms") : (double)NAN;

    return verdict_fitness(verdict_in(record), number_of(record, "within"),
                           speedup);
}

/* ---- rows ---- */

/* Measured values differ in every run, so they are stored apart from the
 * record. */
static char *take_times(json_t *record)
{
    json_t *times = json_object();
    static const char *const names[] = {"times_ms", "timing", "timing_why",
                                        "peak_bytes"};
    char *text;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_t *v = json_object_get(record, names[i]);

        if (v)
            json_object_set(times, names[i], v);
        json_object_del(record, names[i]);
    }
    text = jsn_canonical(times);
    json_decref(times);
    return text;
}

void result_give_times(json_t *record, const char *times)
{
    json_t *v = times[0] ? json_loads(times, 0, NULL) : NULL;

    if (v)
        json_object_update(record, v);
    json_decref(v);
}

static void write_verdict(struct attempt *a, struct past *p)
{
    json_t *record = json_copy(a->record); /* times are taken out of it */
    const char *feedback = text_of(record, "feedback");
    char *times = take_times(record), *text = jsn_canonical(record);
    struct row_verdict row = {
        .task = a->subject->ord,
        .attempt = a->number,
        .verdict = text_of(record, "verdict"),
        .stage = text_of(record, "stage"),
        .evidence = text_of(record, "evidence"),
        .compiled = json_is_true(json_object_get(record, "compiled")),
        .kernelbench_pass =
            json_is_true(json_object_get(record, "kernelbench_pass")),
        .max_abs = number_of(record, "max_abs"),
        .max_rel = number_of(record, "max_rel"),
        .error_ratio = number_of(record, "error_ratio"),
        .feedback = p->feedback,
        .record = p->record,
        .times = times,
        .wall_us = a->judged_ns / 1000,
        .judged_at = date_now_us()};

    store_blob(a->s->part.store, str_of(feedback ? feedback : ""), p->feedback);
    store_blob(a->s->part.store, str_of(text), p->record);
    store_verdict(a->s->part.store, &row);
    free(times);
    free(text);
    json_decref(record);
}

static void write_attempt(struct attempt *a, const struct past *p)
{
    struct row_attempt row = {.task = a->subject->ord,
                              .attempt = a->number,
                              .method = a->s->method->name,
                              .iteration = a->iteration,
                              .batch = a->batch,
                              .archive_version = a->version,
                              .retrieval = a->retrieval,
                              .parent = a->parent,
                              .island = a->island,
                              .plan = p->plan[0] ? p->plan : NULL,
                              .code = p->code[0] ? p->code : NULL,
                              .code_hash = p->normal[0] ? p->normal : NULL,
                              .stage = text_of(a->record, "stage"),
                              .verdict = verdicts[p->verdict].name,
                              .rule = text_of(a->record, "rule"),
                              .fitness = p->fitness,
                              .same_as = a->same_as,
                              .solved = p->solved};

    for (size_t i = 0; i < a->hit_count; i++) {
        struct row_shown shown = {.task = row.task,
                                  .attempt = row.attempt,
                                  .rank = (int64_t)i + 1,
                                  .entry = a->hit[i].entry,
                                  .cosine = a->hit[i].cosine,
                                  .reason =
                                      a->piece_rank == i + 1 ? "piece" : NULL};

        store_shown(a->s->part.store, &shown);
    }
    store_attempt(a->s->part.store, &row);
}

/* ---- both ---- */

int result_write(struct attempt *a, struct past *out, struct err *e)
{
    const char *verdict = text_of(a->record, "verdict");

    *out = (struct past){.verdict = verdict_of(verdict)};
    if (out->verdict >= VERDICTS)
        return err_set(e, ERR_INPUT,
                       "the verifier answered with an unknown verdict: %s",
                       verdict ? verdict : "none");
    out->solved = out->verdict == VERDICT_CORRECT;
    out->sealed = verdict_may_join(verdict, text_of(a->record, "evidence"));
    out->fitness = a->same_as ? a->subject->past[a->same_as - 1].fitness
                              : fitness_of(a->s, a->record);
    memcpy(out->code, a->code_blob, HASH_HEX);
    memcpy(out->normal, a->normal, HASH_HEX);
    memcpy(out->plan, a->plan_blob, HASH_HEX);
    write_verdict(a, out);
    write_attempt(a, out);
    return 0;
}
