/* attempt.c: one attempt from the choice of its examples to its verdict. */
#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "facts/py_normal.h"
#include "prompt/extract.h"
#include "search/search_int.h"

#include <stdlib.h>
#include <string.h>

#define INFRA_TRIES 2 /* the worker has tried twice each time */

static void link_attempt(struct search *s, struct attempt *a)
{
    a->next = s->open;
    if (s->open)
        s->open->prev = a;
    s->open = a;
    s->open_count++;
}

void attempt_free(struct attempt *a)
{
    struct search *s = a->s;

    if (a->prev)
        a->prev->next = a->next;
    else
        s->open = a->next;
    if (a->next)
        a->next->prev = a->prev;
    s->open_count--;
    if (a->reading)
        review_drop(a->reading);
    if (a->call)
        llm_cancel(a->call);
    if (a->record)
        json_decref(a->record);
    buf_release(&a->reply);
    arena_release(&a->memory);
    free(a);
}

void attempt_abandon(struct attempt *a)
{
    a->s->round.active--;
    attempt_free(a);
}

/* ---- the beginning ---- */

static void choose_parent(struct search *s, struct attempt *a)
{
    struct evolve_pick c;
    struct rng rng;

    rng_init(&rng, "%lld/%s/%d/parent", (long long)s->opt.seed,
             a->subject->task->id, a->number);
    a->island = (int)evolve_db_island(a->subject->db, a->number);
    evolve_db_sample(a->subject->db, (size_t)a->island, &rng, &c);
    a->parent = (int)c.parent;
    for (size_t i = 0; i < c.others && i < MAX_HISTORY; i++)
        a->other[a->other_count++] = (int)c.other[i];
}

void attempt_start(struct search *s, struct subject *t)
{
    struct attempt *a = xcalloc(1, sizeof(*a));

    a->s = s;
    a->subject = t;
    a->number = (int)t->past_len + 1;
    a->iteration = s->round.iteration ? s->round.iteration : a->number;
    a->batch = s->round.batch;
    a->island = -1;
    a->version = archive_version(s->archive);
    arena_init(&a->memory);
    buf_init(&a->reply, BUF_UNLIMITED);
    link_attempt(s, a);
    s->method->choose(s, a);
    if (s->method->evolves)
        choose_parent(s, a);
    else if (strcmp(s->method->name, "refine") == 0)
        a->parent = a->number - 1;
    ask_stage(a, s->method->two_stage ? "plan" : "evolve");
}

/* ---- the machinery failed ---- */

void attempt_aside(struct attempt *a, const char *why)
{
    struct search *s = a->s;
    struct subject *t = a->subject;

    log_warn("%s: set aside at attempt %d: %s", t->task->id, a->number, why);
    store_event(s->part.store, "aside", t->ord, a->number, why);
    t->aside = true;
    s->count.aside++;
    attempt_free(a);
    schedule_attempt_over(s, t);
}

/* ---- a candidate ---- */

static void judge(struct attempt *a);

static void on_record(const json_t *record, const char *why, void *arg)
{
    struct attempt *a = arg;
    struct search *s = a->s;
    bool unusable = json_is_true(json_object_get(record, "unusable"));

    if (record && verdict_in(record) == VERDICT_INFRA) {
        why = json_string_value(json_object_get(record, "infra"));
        record = NULL;
    }
    if (record) {
        a->judged_ns = tick_now_ns() - a->judged_ns;
        a->record = json_copy((json_t *)record); /* its values never change */
        if (!review_begin(a))
            result_store(a);
        return;
    }
    if (!why)
        why = "the verifier gave no reason";
    store_event(s->part.store, "infra", a->subject->ord, a->number, why);
    if (door_is_dead(s->part.door))
        schedule_break(s);
    if (++a->infra < INFRA_TRIES && !s->broken && !unusable)
        judge(a);
    else
        attempt_aside(a, why);
}

static void judge(struct attempt *a)
{
    struct search *s = a->s;
    struct candidate c = {.pack = s->part.pack,
                          .task = a->subject->task,
                          .code = a->code,
                          .attempt = (size_t)a->number,
                          .job = s->part.job};
    struct err e = ERR_INIT;

    a->state = JUDGING;
    a->judged_ns = tick_now_ns();
    if (door_judge(s->part.door, &c, on_record, a, &e) < 0)
        schedule_fail(s, &e);
}

/* A verdict that a crash left without its attempt. */
static bool take_stored_record(struct attempt *a)
{
    struct search *s = a->s;
    char key[64];
    const struct kept_verdict *k;
    struct err e = ERR_INIT;
    struct buf text;

    snprintf(key, sizeof(key), "%lld/%d", (long long)a->subject->ord,
             a->number);
    k = map_get(&s->verdicts, str_of(key));
    if (!k)
        return false;
    buf_init(&text, BUF_UNLIMITED);
    if (store_read_blob(s->part.store, k->record, &text, &e) == 0)
        a->record = jsn_parse("record", buf_str(&text), text.len, &e);
    buf_release(&text);
    if (!a->record) {
        schedule_fail(s, &e);
        return true;
    }
    result_give_times(a->record, k->times);
    result_store(a);
    return true;
}

static void find_same_code(struct attempt *a)
{
    const struct subject *t = a->subject;

    for (size_t i = 0; i < t->past_len && !a->same_as; i++)
        if (strcmp(t->past[i].normal, a->normal) == 0)
            a->same_as = (int)i + 1;
}

/* Code that was judged before in this task has its verdict already. */
static bool take_earlier_verdict(struct attempt *a)
{
    struct search *s = a->s;
    struct subject *t = a->subject;
    struct err e = ERR_INIT;
    struct buf text;

    if (!a->same_as)
        return false;
    buf_init(&text, BUF_UNLIMITED);
    if (store_read_blob(s->part.store, t->past[a->same_as - 1].record, &text,
                        &e) == 0)
        a->record = jsn_parse("record", buf_str(&text), text.len, &e);
    buf_release(&text);
    if (!a->record) {
        schedule_fail(s, &e);
        return true;
    }
    result_store(a);
    return true;
}

static void have_candidate(struct attempt *a)
{
    if (!a->normal[0])
        py_normal_hash(a->code, a->normal);
    store_blob(a->s->part.store, a->code, a->code_blob);
    find_same_code(a);
    if (!take_stored_record(a) && !take_earlier_verdict(a))
        judge(a);
}

/* ---- replies ---- */

static int parent_code(struct attempt *a, struct buf *out, struct err *e)
{
    const struct task *t = a->subject->task;

    if (a->parent == 0) {
        buf_put(out, t->source, t->len);
        return 0;
    }
    if (!a->subject->past[a->parent - 1].code[0])
        return 0;
    return store_read_blob(a->s->part.store,
                           a->subject->past[a->parent - 1].code, out, e);
}

static void take_code(struct attempt *a)
{
    struct search *s = a->s;
    struct str reply = {buf_str(&a->reply), a->reply.len};
    const char *define = s->part.pack->prompt.must_define;
    struct buf code, feedback, parent;
    struct err e = ERR_INIT;
    enum extract_outcome got;

    buf_init(&code, BUF_UNLIMITED);
    buf_init(&feedback, BUF_UNLIMITED);
    buf_init(&parent, BUF_UNLIMITED);
    if (s->method->evolves && s->opt.diff && parent_code(a, &parent, &e) < 0) {
        schedule_fail(s, &e);
        goto out;
    }
    got =
        s->method->evolves && s->opt.diff
            ? extract_diff(reply, (struct str){buf_str(&parent), parent.len},
                           define, a->cut, &code, &feedback)
            : extract_code(reply, define, a->cut, &code, &feedback, a->normal);
    if (got == EXTRACT_CODE) {
        a->code.p = arena_strndup(&a->memory, buf_str(&code), code.len);
        a->code.n = code.len;
        have_candidate(a);
    } else {
        a->record = verdict_unrun(
            got == EXTRACT_TRUNCATED ? VERDICT_TRUNCATED : VERDICT_NO_CODE,
            NULL, (struct str){buf_str(&feedback), feedback.len});
        result_store(a);
    }
out:
    buf_release(&code);
    buf_release(&feedback);
    buf_release(&parent);
}

void attempt_replied(struct attempt *a)
{
    if (strcmp(a->stage, "plan") == 0) {
        struct str plan =
            extract_plan((struct str){buf_str(&a->reply), a->reply.len});

        a->plan.p = arena_strndup(&a->memory, plan.p, plan.n);
        a->plan.n = plan.n;
        if (a->plan_blob[0])
            store_blob_as(a->s->part.store, a->plan, a->plan_blob);
        else if (plan.n)
            store_blob(a->s->part.store, a->plan, a->plan_blob);
        ask_stage(a, "code");
    } else {
        take_code(a);
    }
}
