/* attempt.c: one attempt, from top to bottom: attempt_run(), at the end, is the
 * story; what stands above it are its steps.
 *
 * Nothing may be used before it is on disk, and nothing may be paid for twice. So
 * each step waits for the durable result of the one before it, and can be repeated:
 * the ledger has the replies, resume.h a verdict that a crash has cut off. A step
 * that returns -1 has set a->end: the attempt is over, and only what it owns is left
 * to be released. That is also how it ends when it is cancelled at a wait. */
#include "search/attempt.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "prompt/extract.h"
#include "search/resume.h"
#include "search/reviewer.h"
#include "source/py_normal.h"

#include <math.h>
#include <string.h>

#define INFRA_TRIES 2 /* the worker has tried twice each time */

/* ---- how it ends early ---- */

static int attempt_over(struct attempt *a, enum attempt_end end)
{
    a->end = end;
    return -1;
}

static int attempt_broken(struct attempt *a, const struct err *e)
{
    state_fail(a->s, e);
    return attempt_over(a, ATTEMPT_FAILED);
}

static int attempt_set_aside(struct attempt *a, const char *why)
{
    struct search *s = a->s;
    struct task_state *t = a->state;

    log_warn("%s: set aside at attempt %d: %s", t->task->id, a->number, why);
    store_event(s->part.store, "aside", t->ord, a->number, why);
    t->aside = true;
    s->count.aside += !t->piece;
    return attempt_over(a, ATTEMPT_ASIDE);
}

static int attempt_unpaid(struct attempt *a, struct llm_cost need)
{
    a->s->need = need;
    return attempt_over(a, ATTEMPT_NO_BUDGET);
}

/* ---- what it asks the model ---- */

static int attempt_text(struct attempt *a, const char *blob, struct str *out,
                        struct err *e)
{
    *out = STR_LIT("");
    return store_text(a->s->part.store, blob, &a->memory, out, e);
}

/* Attempt `number` at the same task as a prompt shows it; 0: the initial
 * program. */
static int past_attempt(struct attempt *a, int number,
                        struct prompt_attempt *out, struct err *e)
{
    const struct task *t = a->state->task;
    const struct finished *p;

    *out = (struct prompt_attempt){.number = number};
    if (number == 0) {
        out->code = (struct str){t->source, t->len};
        out->verdict = verdicts[VERDICT_STATIC_REJECT].name;
        out->fitness = evolve_opts_paper.initial_fitness;
        out->feedback = STR_LIT("This is the PyTorch program itself: nothing "
                                "of it is written in the DSL yet.");
        return 0;
    }
    p = &a->state->finished[number - 1];
    out->verdict = verdicts[p->verdict].name;
    out->fitness = p->fitness;
    if (attempt_text(a, p->code, &out->code, e) < 0)
        return -1;
    return attempt_text(a, p->feedback, &out->feedback, e);
}

/* Builds the prompt of a stage. A plan prompt shows the problems and plans of the
 * examples; the others show their solutions, too. The code stage also shows a->plan. */
static int attempt_prompt(struct attempt *a, enum prompt_stage stage,
                          struct prompt *out, struct err *e)
{
    struct search *s = a->s;
    struct prompt_attempt previous[MAX_HISTORY + 1], parent;
    struct prompt_example example[MAX_EXAMPLES];
    struct prompt_input in = {
        .stage = stage,
        .pack = s->part.pack,
        .no_card = s->opt.no_card,
        .task_id = a->state->task->id,
        .task = {a->state->task->source, a->state->task->len},
        .task_hash = a->state->source,
        .precision = s->opt.precision,
        .device = s->opt.device,
        .example = example,
        .example_count = a->hit_count,
        .previous = previous,
        .plan = a->plan,
        .plan_hash = a->plan_blob,
        .diff = s->opt.diff};

    for (size_t i = 0; i < a->hit_count; i++)
        example[i] = archive_example(s->archive, a->hit[i].entry);
    if (stage == PROMPT_EVOLVE) {
        if (past_attempt(a, a->parent, &parent, e) < 0)
            return -1;
        in.parent = &parent;
        for (size_t i = 0; i < a->other_count; i++)
            if (past_attempt(a, a->other[i], &previous[in.previous_count++],
                             e) < 0)
                return -1;
    } else if (a->parent) {
        if (past_attempt(a, a->parent, &previous[in.previous_count++], e) < 0)
            return -1;
    }
    return prompts_build(s->part.prompts, &in, &a->memory, out, e);
}

/* Stores each segment of a->prompt as a blob, so that a text that many prompts have in
 * common is stored once; and the list of its messages, which names the segments, as the
 * blob a->prompt.hash. */
static void attempt_store_prompt(struct attempt *a)
{
    struct store *st = a->s->part.store;
    const struct prompt *p = &a->prompt;

    for (size_t i = 0; i < p->segments; i++)
        store_blob_as(st, p->segment[i].text, p->segment[i].hash);
    store_blob_as(st, p->list, p->hash);
}

/* ---- examples ---- */

static void choose_parent(struct search *s, struct attempt *a)
{
    struct evolve_pick c;
    struct rng rng;

    rng_init(&rng, "%lld/%s/%d/parent", (long long)s->opt.seed,
             a->state->task->id, a->number);
    a->island = (int)evolve_db_island(a->state->db, a->number);
    evolve_db_sample(a->state->db, (size_t)a->island, &rng, &c);
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
    method_choose(s, a);
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

/* The question was asked before, with `prompt`: makes the choice that gave that prompt.
 * In eager order entries may have joined since, so this goes back through the sizes that
 * the archive has had. 0: none of them gives that prompt. */
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

static int attempt_choose(struct attempt *a)
{
    struct search *s = a->s;
    const char *prompt = NULL;
    struct err e = ERR_INIT;
    int rc = 0;

    if (s->method->evolves)
        choose_parent(s, a);
    else if (s->method->refines)
        a->parent = a->number - 1;
    if (s->eager)
        prompt = ledger_asked_with(s->part.ledger,
                                   prompt_stages[first_stage(s)], a->asked);
    if (prompt)
        rc = choose_as_asked(a, prompt, &e);
    if (rc < 0)
        return attempt_broken(a, &e);
    if (rc == 0) {
        choose_among(a, archive_size(s->archive));
        a->version = archive_version(s->archive);
    }
    return 0;
}

/* ---- asking ---- */

static struct llm_request request_of(const struct attempt *a,
                                     enum prompt_stage stage,
                                     const struct prompt *p)
{
    const struct search *s = a->s;
    struct rng rng;

    rng_init(&rng, "%lld/%s/%d/%s", (long long)s->opt.seed, a->state->task->id,
             a->number, prompt_stages[stage]);
    return (struct llm_request){.key = {a->state->task->id, s->method->name,
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

/* Asks for the reply of a stage. */
static int attempt_ask(struct attempt *a, enum prompt_stage stage,
                       struct ledger_answer *out)
{
    struct search *s = a->s;
    struct ledger_question q = {.purpose = prompt_stages[stage],
                                .asked = a->asked,
                                .task = a->state->ord,
                                .attempt = a->number,
                                .client = s->part.llm,
                                .prompt_hash = a->prompt.hash,
                                .prompt_stored = true,
                                .reservation = &a->reservation};
    struct err e = ERR_INIT;

    if (attempt_prompt(a, stage, &a->prompt, &e) < 0 ||
        (stage == PROMPT_PLAN && cost_of_code(a, &q.then, &e) < 0))
        return attempt_broken(a, &e);
    attempt_store_prompt(a);
    q.request = request_of(a, stage, &a->prompt);
    if (ledger_ask(s->part.ledger, &q, &a->memory, out) < 0)
        return attempt_over(a, ATTEMPT_ABANDONED);
    switch (out->end) {
    case LEDGER_ANSWERED:
        return 0;
    case LEDGER_FAILED:
        return attempt_set_aside(a, out->why);
    case LEDGER_STOPPED:
        return attempt_over(a, ATTEMPT_ABANDONED);
    case LEDGER_NO_BUDGET:
        return attempt_unpaid(a, out->need);
    case LEDGER_BROKEN:
        return attempt_broken(a, out->err);
    }
    BUG("end %d", out->end);
}

static int attempt_plan(struct attempt *a)
{
    struct ledger_answer reply;

    if (!a->s->method->two_stage)
        return 0;
    if (attempt_ask(a, PROMPT_PLAN, &reply) < 0)
        return -1;
    a->plan = extract_plan(reply.text);
    if (a->plan.n)
        store_blob(a->s->part.store, a->plan, a->plan_blob);
    return 0;
}

/* ---- the program ---- */

static int parent_code(struct attempt *a, struct str *out, struct err *e)
{
    const struct task *t = a->state->task;

    if (a->parent)
        return attempt_text(a, a->state->finished[a->parent - 1].code, out, e);
    *out = (struct str){t->source, t->len};
    return 0;
}

static enum extract_outcome extract(struct attempt *a,
                                    const struct ledger_answer *r,
                                    struct str parent, struct buf *code,
                                    struct buf *feedback)
{
    const struct search *s = a->s;
    const char *define = s->part.pack->prompt.must_define;

    return s->method->evolves && s->opt.diff
               ? extract_diff(r->text, parent, define, r->cut, code, feedback)
               : extract_code(r->text, define, r->cut, code, feedback,
                              a->normal);
}

static void take_code(struct attempt *a, const struct buf *code)
{
    const struct task_state *t = a->state;

    a->code.p = arena_strndup(&a->memory, buf_str(code), code->len);
    a->code.n = code->len;
    if (!a->normal[0])
        py_normal_hash(a->code, a->normal);
    store_blob(a->s->part.store, a->code, a->code_blob);
    for (size_t i = 0; i < t->finished_len && !a->same_as; i++)
        if (strcmp(t->finished[i].normal, a->normal) == 0)
            a->same_as = (int)i + 1;
}

/* Asks for the program. A reply without one has its verdict by that. */
static int attempt_code(struct attempt *a)
{
    struct search *s = a->s;
    struct ledger_answer reply;
    struct str parent = STR_LIT("");
    struct buf code = BUF_INIT, feedback = BUF_INIT;
    struct err e = ERR_INIT;
    enum extract_outcome got;

    if (attempt_ask(a, s->method->two_stage ? PROMPT_CODE : PROMPT_EVOLVE,
                    &reply) < 0)
        return -1;
    if (s->method->evolves && s->opt.diff && parent_code(a, &parent, &e) < 0)
        return attempt_broken(a, &e);
    got = extract(a, &reply, parent, &code, &feedback);
    if (got == EXTRACT_CODE)
        take_code(a, &code);
    else
        a->record = verdict_unrun(got == EXTRACT_TRUNCATED ? VERDICT_TRUNCATED
                                                           : VERDICT_NO_CODE,
                                  NULL, buf_view(&feedback));
    buf_release(&code);
    buf_release(&feedback);
    return 0;
}

/* ---- the verdict ---- */

/* What the store has, or an earlier attempt with this code. */
static int known_verdict(struct attempt *a)
{
    const struct row_verdict *k =
        resume_verdict(a->s->resume, a->state, a->number);
    struct store *s = a->s->part.store;
    struct err e = ERR_INIT;

    if (k)
        a->record = store_record(s, k->record, k->times, &e);
    else if (a->same_as)
        a->record = store_record(s, a->state->finished[a->same_as - 1].record,
                                 NULL, &e);
    return e.kind == ERR_NONE ? 0 : attempt_broken(a, &e);
}

/* Asks the verifier once. A record that says "infra" is none. */
static int ask_verifier(struct attempt *a, struct verifier_answer *out)
{
    struct search *s = a->s;
    struct candidate c = {.pack = s->part.pack,
                          .task = a->state->task,
                          .code = a->code,
                          .attempt = (size_t)a->number,
                          .job = s->part.job,
                          .patient = true};
    int64_t begun = tick_now_ns();
    struct err e = ERR_INIT;

    if (verifier_ask(s->part.verifier, &c, out, &e) < 0)
        return e.kind ? attempt_broken(a, &e)
                      : attempt_over(a, ATTEMPT_ABANDONED);
    if (out->record && verdict_in(out->record) != VERDICT_INFRA) {
        a->judged_ns = tick_now_ns() - begun;
        a->record = json_incref(out->record);
        a->judged = true;
    }
    return 0;
}

/* The verifier failed. True: it may be asked again. */
static bool note_infra(struct attempt *a, const struct verifier_answer *answer,
                       const char *why)
{
    struct search *s = a->s;

    store_event(s->part.store, "infra", a->state->ord, a->number, why);
    if (verifier_is_dead(s->part.verifier)) {
        s->worker_dead = true;
        state_stop(s);
    }
    return ++a->infra < INFRA_TRIES && !s->worker_dead &&
           !jsn_true(answer->record, "unusable");
}

static int attempt_judge(struct attempt *a)
{
    if (!a->record && known_verdict(a) < 0)
        return -1;
    while (!a->record) {
        struct verifier_answer answer = {0};
        int rc = ask_verifier(a, &answer);

        if (rc == 0 && !a->record) {
            const char *why =
                answer.record ? jsn_str(answer.record, "infra") : answer.why;

            why = *why ? why : "no reason given";
            if (!note_infra(a, &answer, why))
                rc = attempt_set_aside(a, why);
        }
        verifier_answer_release(&answer);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* ---- the reviewer ---- */

/* A refused kernel is a failed attempt like any other; its feedback has the
 * reviewer's reasons. */
static void attempt_refuse(struct attempt *a, const struct review *v)
{
    struct buf b = BUF_INIT;

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

/* A verdict from the store has the review's word in it already. */
static int attempt_review(struct attempt *a)
{
    const struct task *t = a->state->task;
    struct reviewer_kernel k = {.task_id = t->id,
                                .task = a->state->ord,
                                .source = {t->source, t->len},
                                .code = a->code,
                                .attempt = a->number,
                                .asked = a->asked};
    struct reviewer_word w;

    if (!a->judged || strcmp(a->s->opt.reviewer, "loop") != 0 ||
        verdict_in(a->record) != VERDICT_CORRECT)
        return 0;
    reviewer_read(a->s->reviewer, &k, &a->memory, &w);
    switch (w.end) {
    case REVIEWER_PASSED:
        return 0;
    case REVIEWER_REFUSED:
        attempt_refuse(a, w.review);
        return 0;
    case REVIEWER_STOPPED:
        return attempt_over(a, ATTEMPT_ABANDONED);
    case REVIEWER_NO_BUDGET:
        return attempt_unpaid(a, w.need);
    case REVIEWER_BROKEN:
        return attempt_broken(a, w.err);
    }
    BUG("end %d", w.end);
}

/* ---- the rows ---- */

static double record_number(const json_t *record, const char *key)
{
    const json_t *v = json_object_get(record, key);

    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* With --no-stop a faster kernel is a better one. Otherwise the first correct
 * one ends the task, and a time, which differs in every run, would only make
 * fitness unrepeatable. */
static double fitness_of(const struct search *s, const json_t *record)
{
    double speedup =
        s->opt.no_stop ? verdict_speedup(record, "reference_ms") : (double)NAN;

    return verdict_fitness(verdict_in(record), record_number(record, "within"),
                           speedup);
}

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

static void attempt_write_verdict(struct attempt *a, struct finished *p)
{
    json_t *record = json_copy(a->record); /* times are taken out of it */
    const char *feedback = jsn_maybe(record, "feedback");
    char *times = take_times(record), *text = jsn_canonical(record);
    struct row_verdict row = {
        .task = a->state->ord,
        .attempt = a->number,
        .verdict = jsn_maybe(record, "verdict"),
        .stage = jsn_maybe(record, "stage"),
        .evidence = jsn_maybe(record, "evidence"),
        .compiled = jsn_true(record, "compiled"),
        .kernelbench_pass = jsn_true(record, "kernelbench_pass"),
        .max_abs = record_number(record, "max_abs"),
        .max_rel = record_number(record, "max_rel"),
        .error_ratio = record_number(record, "error_ratio"),
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

static void attempt_write_row(struct attempt *a, const struct finished *p)
{
    struct row_attempt row = {.task = a->state->ord,
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
                              .stage = jsn_maybe(a->record, "stage"),
                              .verdict = verdicts[p->verdict].name,
                              .rule = jsn_maybe(a->record, "rule"),
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

/* Fills `out` from a->record, and gives the rows to the store. */
static int attempt_write(struct attempt *a, struct finished *out, struct err *e)
{
    const char *verdict = jsn_maybe(a->record, "verdict");

    *out = (struct finished){.verdict = verdict_of(verdict)};
    if (out->verdict >= VERDICTS)
        return err_set(e, ERR_INPUT,
                       "the verifier answered with an unknown verdict: %s",
                       verdict ? verdict : "none");
    out->solved = out->verdict == VERDICT_CORRECT;
    out->archivable =
        verdict_may_join(verdict, jsn_maybe(a->record, "evidence"));
    out->fitness = a->same_as ? a->state->finished[a->same_as - 1].fitness
                              : fitness_of(a->s, a->record);
    memcpy(out->code, a->code_blob, HASH_HEX);
    memcpy(out->normal, a->normal, HASH_HEX);
    memcpy(out->plan, a->plan_blob, HASH_HEX);
    attempt_write_verdict(a, out);
    attempt_write_row(a, out);
    return 0;
}

static int attempt_store(struct attempt *a)
{
    struct finished result;
    struct err e = ERR_INIT;

    if (attempt_write(a, &result, &e) < 0 ||
        store_wait(a->s->part.store, &e) < 0)
        return attempt_broken(a, &e);
    state_apply(a->s, a->state, &result);
    return 0;
}

/* ---- the whole ---- */

static void attempt_begin(struct attempt *a, struct search *s,
                          struct task_state *t)
{
    *a = (struct attempt){.s = s,
                          .state = t,
                          .end = ATTEMPT_DONE,
                          .number = (int)t->finished_len + 1,
                          .batch = s->round.batch,
                          .island = -1};
    a->iteration = s->round.iteration ? s->round.iteration : a->number;
    ledger_hash(a->asked, "%s\n%s\n%d", t->task->id, t->source, a->number);
    s->open_count++;
}

static void attempt_release(struct attempt *a)
{
    a->s->open_count--;
    ledger_reservation_close(a->s->part.ledger, &a->reservation);
    json_decref(a->record);
    arena_release(&a->memory);
}

enum attempt_end attempt_run(struct search *s, struct task_state *t)
{
    struct attempt a;

    attempt_begin(&a, s, t);
    if (attempt_choose(&a) == 0 && attempt_plan(&a) == 0 &&
        attempt_code(&a) == 0 && attempt_judge(&a) == 0 &&
        attempt_review(&a) == 0 && attempt_store(&a) == 0)
        a.end = ATTEMPT_DONE;
    attempt_release(&a);
    return a.end;
}
