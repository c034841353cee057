/* attempt.c: one attempt: examples, plan, code, verdict, review, rows. */
#include "search/attempt.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "facts/py_normal.h"
#include "prompt/extract.h"
#include "search/resume.h"
#include "search/reviewer.h"

#include <stdlib.h>
#include <string.h>

#define INFRA_TRIES 2 /* the worker has tried twice each time */

static void ask(struct attempt *a, enum prompt_stage stage);
static void judge(struct attempt *a);

/* ---- the beginning and the end ---- */

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
        reviewer_drop(a->reading);
    if (a->call)
        ledger_drop(a->call);
    ledger_purse_close(s->part.ledger, &a->purse);
    if (a->record)
        json_decref(a->record);
    arena_release(&a->memory);
    free(a);
}

static void end(struct attempt *a, enum attempt_end how)
{
    struct search *s = a->s;
    struct subject *t = a->subject;
    attempt_fn *over = a->over;

    attempt_free(a);
    over(s, t, how);
}

static void end_aside(struct attempt *a, const char *why)
{
    struct search *s = a->s;
    struct subject *t = a->subject;

    log_warn("%s: set aside at attempt %d: %s", t->task->id, a->number, why);
    store_event(s->part.store, "aside", t->ord, a->number, why);
    t->aside = true;
    s->count.aside += !t->piece;
    end(a, ATTEMPT_ASIDE);
}

static void end_without_budget(struct attempt *a, struct llm_cost need)
{
    a->s->need = need;
    end(a, ATTEMPT_NO_BUDGET);
}

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

static enum prompt_stage first_stage(const struct search *s)
{
    return s->method->two_stage ? PROMPT_PLAN : PROMPT_EVOLVE;
}

static void choose_among(struct attempt *a, size_t visible)
{
    struct search *s = a->s;

    a->visible = visible;
    a->hit_count = a->piece_rank = 0;
    s->method->choose(s, a);
    if (s->opt.piece_example)
        choose_piece(s, a);
}

static bool shows_the_same(const struct attempt *a, const struct find_hit *hit,
                           size_t count)
{
    if (a->hit_count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (a->hit[i].entry != hit[i].entry)
            return false;
    return true;
}

/* Chooses as when the reply was asked for that is in the store: in eager order,
 * entries may have joined since. 0: no choice gives that prompt. */
static int choose_as_asked(struct attempt *a, const char *prompt, struct err *e)
{
    struct find_hit tried[MAX_EXAMPLES] = {{0}};
    size_t count = SIZE_MAX;
    struct prompt p;

    for (size_t n = archive_size(a->s->archive) + 1; n-- > 0;) {
        choose_among(a, n);
        if (shows_the_same(a, tried, count))
            continue;
        memcpy(tried, a->hit, sizeof(tried));
        count = a->hit_count;
        if (attempt_prompt(a, first_stage(a->s), &p, e) < 0)
            return -1;
        if (strcmp(p.hash, prompt) != 0)
            continue;
        a->version = archive_version_at(a->s->archive, n);
        return 1;
    }
    return 0;
}

static int choose_examples(struct attempt *a, struct err *e)
{
    struct search *s = a->s;
    const char *prompt = NULL;
    int rc = 0;

    if (s->eager)
        prompt = ledger_asked_with(s->part.ledger,
                                   prompt_stages[first_stage(s)], a->asked);
    if (prompt)
        rc = choose_as_asked(a, prompt, e);
    if (rc == 0) {
        choose_among(a, archive_size(s->archive));
        a->version = archive_version(s->archive);
    }
    return rc < 0 ? -1 : 0;
}

void attempt_start(struct search *s, struct subject *t, attempt_fn *over)
{
    struct attempt *a = xcalloc(1, sizeof(*a));
    struct err e = ERR_INIT;

    a->s = s;
    a->subject = t;
    a->over = over;
    a->number = (int)t->past_len + 1;
    a->iteration = s->round.iteration ? s->round.iteration : a->number;
    a->batch = s->round.batch;
    a->island = -1;
    ledger_hash(a->asked, "%s\n%s\n%d", t->task->id, t->source, a->number);
    arena_init(&a->memory);
    link_attempt(s, a);
    if (s->method->evolves)
        choose_parent(s, a);
    else if (s->method->refines)
        a->parent = a->number - 1;
    if (choose_examples(a, &e) < 0)
        state_fail(s, &e);
    else
        ask(a, first_stage(s));
}

/* ---- the result ---- */

static void on_stored(const struct err *e, void *arg)
{
    struct attempt *a = arg;

    if (e) {
        state_fail(a->s, e);
        return;
    }
    state_apply(a->s, a->subject, &a->result);
    end(a, ATTEMPT_DONE);
}

static void store_result(struct attempt *a)
{
    struct err e = ERR_INIT;

    if (result_write(a, &a->result, &e) < 0)
        state_fail(a->s, &e);
    else
        store_after(a->s->part.store, on_stored, a);
}

/* ---- the reviewer ---- */

/* A refused kernel is a failed attempt like any other; its feedback has the
 * reviewer's reasons. */
static void refuse(struct attempt *a, const struct review *v)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    buf_puts(&b, "The outputs are right, but a reviewer read the kernel and "
                 "refused it:\n");
    for (size_t i = 0; i < v->reason_count && b.len < 3000; i++)
        buf_printf(&b, "- %s\n", v->reason[i]);
    json_object_set_new(a->record, "verdict",
                        json_string(verdicts[VERDICT_HACK].name));
    json_object_set_new(a->record, "rule", json_string("reviewer"));
    json_object_set_new(a->record, "feedback", jsn_text(buf_str(&b), b.len));
    buf_release(&b);
    a->s->count.doubted++;
}

static void on_review(void *arg, const struct reviewer_word *w)
{
    struct attempt *a = arg;

    a->reading = NULL;
    switch (w->end) {
    case REVIEWER_REFUSED:
        refuse(a, w->review);
        store_result(a);
        return;
    case REVIEWER_PASSED:
        store_result(a);
        return;
    case REVIEWER_STOPPED:
        end(a, ATTEMPT_ABANDONED);
        return;
    case REVIEWER_NO_BUDGET:
        end_without_budget(a, w->need);
        return;
    case REVIEWER_BROKEN:
        state_fail(a->s, w->err);
        return;
    }
    BUG("end %d", w->end);
}

static void review(struct attempt *a)
{
    const struct task *t = a->subject->task;
    struct reviewer_kernel k = {.task_id = t->id,
                                .task = a->subject->ord,
                                .source = {t->source, t->len},
                                .code = a->code,
                                .attempt = a->number,
                                .asked = a->asked};
    struct reading *g = reviewer_read(a->s->reviewer, &k, on_review, a);

    if (g)
        a->reading = g;
}

/* ---- the verdict ---- */

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
        if (strcmp(s->opt.reviewer, "loop") == 0 &&
            verdict_in(a->record) == VERDICT_CORRECT)
            review(a);
        else
            store_result(a);
        return;
    }
    if (!why)
        why = "no reason given";
    store_event(s->part.store, "infra", a->subject->ord, a->number, why);
    if (door_is_dead(s->part.door)) {
        s->worker_dead = true;
        state_stop(s);
    }
    if (++a->infra < INFRA_TRIES && !s->worker_dead && !unusable)
        judge(a);
    else
        end_aside(a, why);
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

    a->judged_ns = tick_now_ns();
    if (door_judge(s->part.door, &c, on_record, a, &e) < 0)
        state_fail(s, &e);
}

/* ---- a candidate ---- */

/* Reads the blob of a record into the attempt. */
static bool read_record(struct attempt *a, const char *blob)
{
    struct err e = ERR_INIT;
    struct buf text;

    buf_init(&text, BUF_UNLIMITED);
    if (store_read_blob(a->s->part.store, blob, &text, &e) == 0)
        a->record = jsn_parse("record", buf_str(&text), text.len, &e);
    buf_release(&text);
    if (!a->record)
        state_fail(a->s, &e);
    return a->record != NULL;
}

/* A verdict that a crash left without its attempt. */
static bool take_stored_record(struct attempt *a)
{
    const struct kept_verdict *k =
        resume_verdict(a->s->resume, a->subject, a->number);

    if (!k)
        return false;
    if (read_record(a, k->record)) {
        result_give_times(a->record, k->times);
        store_result(a);
    }
    return true;
}

static void find_same_code(struct attempt *a)
{
    const struct subject *t = a->subject;

    for (size_t i = 0; i < t->past_len && !a->same_as; i++)
        if (strcmp(t->past[i].normal, a->normal) == 0)
            a->same_as = (int)i + 1;
}

/* Code that an earlier attempt at the task had gets the same verdict. */
static bool take_earlier_verdict(struct attempt *a)
{
    if (!a->same_as)
        return false;
    if (read_record(a, a->subject->past[a->same_as - 1].record))
        store_result(a);
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

static void take_code(struct attempt *a, struct str reply, bool cut)
{
    struct search *s = a->s;
    const char *define = s->part.pack->prompt.must_define;
    struct buf code, feedback, parent;
    struct err e = ERR_INIT;
    enum extract_outcome got;

    buf_init(&code, BUF_UNLIMITED);
    buf_init(&feedback, BUF_UNLIMITED);
    buf_init(&parent, BUF_UNLIMITED);
    if (s->method->evolves && s->opt.diff && parent_code(a, &parent, &e) < 0) {
        state_fail(s, &e);
        goto out;
    }
    got = s->method->evolves && s->opt.diff
              ? extract_diff(reply, (struct str){buf_str(&parent), parent.len},
                             define, cut, &code, &feedback)
              : extract_code(reply, define, cut, &code, &feedback, a->normal);
    if (got == EXTRACT_CODE) {
        a->code.p = arena_strndup(&a->memory, buf_str(&code), code.len);
        a->code.n = code.len;
        have_candidate(a);
    } else {
        a->record = verdict_unrun(
            got == EXTRACT_TRUNCATED ? VERDICT_TRUNCATED : VERDICT_NO_CODE,
            NULL, (struct str){buf_str(&feedback), feedback.len});
        store_result(a);
    }
out:
    buf_release(&code);
    buf_release(&feedback);
    buf_release(&parent);
}

/* ---- asking ---- */

static void take_plan(struct attempt *a, struct str reply)
{
    struct str plan = extract_plan(reply);

    a->plan.p = arena_strndup(&a->memory, plan.p, plan.n);
    a->plan.n = plan.n;
    if (plan.n)
        store_blob(a->s->part.store, a->plan, a->plan_blob);
    ask(a, PROMPT_CODE);
}

static void on_answer(void *arg, const struct ledger_answer *r)
{
    struct attempt *a = arg;

    a->call = NULL;
    switch (r->end) {
    case LEDGER_ANSWERED:
        if (a->stage == PROMPT_PLAN)
            take_plan(a, r->text);
        else
            take_code(a, r->text, r->cut);
        return;
    case LEDGER_FAILED:
        end_aside(a, r->why);
        return;
    case LEDGER_STOPPED:
        end(a, ATTEMPT_ABANDONED);
        return;
    case LEDGER_NO_BUDGET:
        end_without_budget(a, r->need);
        return;
    case LEDGER_BROKEN:
        state_fail(a->s, r->err);
        return;
    }
    BUG("end %d", r->end);
}

static struct llm_request request_of(const struct attempt *a,
                                     enum prompt_stage stage,
                                     const struct prompt *p)
{
    const struct search *s = a->s;
    struct rng rng;

    rng_init(&rng, "%lld/%s/%d/%s", (long long)s->opt.seed,
             a->subject->task->id, a->number, prompt_stages[stage]);
    return (struct llm_request){.key = {a->subject->task->id, s->method->name,
                                        prompt_stages[stage], a->number},
                                .message = p->message,
                                .count = p->count,
                                .seed = rng_next(&rng) >>
                                        33, /* what every endpoint takes */
                                .max_tokens = s->opt.max_tokens};
}

/* The most that the code stage can cost. It is reserved together with the plan;
 * without a cap it is not needed. */
static int cost_of_code(struct attempt *a, struct llm_cost *out, struct err *e)
{
    const struct budget *b = a->s->part.budget;
    struct llm_request r;
    struct prompt p;

    if (b->cap.usd_micro == BUDGET_NO_CAP && b->cap.tokens == BUDGET_NO_CAP)
        return 0;
    if (attempt_prompt(a, PROMPT_CODE, &p, e) < 0)
        return -1;
    r = request_of(a, PROMPT_CODE, &p);
    *out = llm_worst_after_answer(a->s->part.llm, &r);
    return 0;
}

static void ask(struct attempt *a, enum prompt_stage stage)
{
    struct search *s = a->s;
    struct ledger_question q = {.purpose = prompt_stages[stage],
                                .asked = a->asked,
                                .task = a->subject->ord,
                                .attempt = a->number,
                                .front = s->part.llm,
                                .prompt_hash = a->prompt.hash,
                                .prompt_stored = true,
                                .purse = &a->purse};
    struct ledger_call *c;
    struct err e = ERR_INIT;

    a->stage = stage;
    if (attempt_prompt(a, stage, &a->prompt, &e) < 0 ||
        (stage == PROMPT_PLAN && cost_of_code(a, &q.then, &e) < 0)) {
        state_fail(s, &e);
        return;
    }
    attempt_store_prompt(a);
    q.request = request_of(a, stage, &a->prompt);
    c = ledger_ask(s->part.ledger, &q, on_answer, a);
    if (c)
        a->call = c;
}
