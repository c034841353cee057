/* maker.c: the way of each task from the question to its division. */
#include "curriculum/maker.h"

#include "base/mem.h"
#include "curriculum/merge.h"
#include "curriculum/proposing.h"
#include "llm/options.h"

#include <stdlib.h>
#include <string.h>

/* One task. Exactly one question about it is open until it is settled. */
struct making {
    struct maker *m;
    const struct task *task;
    json_t *own;         /* the verifier's division */
    json_t *proposal;    /* the model's, while it is validated */
    json_t *refused;     /* findings of each refused reply */
    char *last;          /* the last refused reply */
    int turns;           /* of the model */
    json_t *answer;      /* settled: the division that is used */
    char *why;           /* settled: the verifier failed */
    struct arena memory; /* of the prompt */
    struct prompt prompt;
    char asked[HASH_HEX];
    struct ledger_call *call;
};

struct maker {
    struct maker_parts part;
    enum piece_level level;
    struct making *item;
    size_t len, open;
    struct maker_progress progress;
    bool running, stopping, finished;
    enum maker_end end;
    struct err err;
    void (*step)(const struct maker_progress *p, void *arg);
    void *arg;
};

static void take_turn(struct making *x);
static void look_for_end(struct maker *m);

/* ---- the end ---- */

static void finish(struct maker *m, enum maker_end end)
{
    if (m->finished)
        return;
    m->finished = true;
    m->end = end;
    if (m->running)
        loop_stop(m->part.loop);
}

static void settled(struct making *x)
{
    struct maker *m = x->m;

    m->open--;
    m->progress.done++;
    if (m->step)
        m->step(&m->progress, m->arg);
}

static void fail(struct making *x, const char *why)
{
    x->why = xstrdup(why);
    settled(x);
}

/* `answer` is taken over. */
static void settle(struct making *x, json_t *answer, bool model_used)
{
    if (x->m->part.model)
        json_object_set_new(answer, "model",
                            json_pack("{s:i, s:b, s:O}", "calls", x->turns,
                                      "used", model_used, "refused",
                                      x->refused));
    x->answer = answer;
    settled(x);
}

/* Has the task divided, or the model's proposal validated. */
static int divide(struct making *x, door_fn *fn, struct err *e)
{
    const struct maker *m = x->m;
    struct door_division q = {.task = x->task,
                              .level = piece_levels[m->level],
                              .proposal = x->proposal,
                              .job = m->part.job};

    return door_divide(m->part.door, &q, fn, x, e);
}

/* ---- the model's proposals ---- */

/* A reply that is refused: with these findings, which are taken over. */
static void refuse(struct making *x, json_t *findings)
{
    json_array_append_new(x->refused, findings);
    if (x->turns <= MAKER_REPAIRS)
        take_turn(x);
    else
        settle(x, json_deep_copy(x->own), false);
}

/* The verifier's answer to a question, a copy; NULL: the task is settled. */
static json_t *read_answer(struct making *x, const json_t *record,
                           const char *why)
{
    struct err e = ERR_INIT;
    const char *said = record ? jsn_str(record, "feedback") : why;

    if (record && json_object_get(record, "problem_id")) {
        if (contract_check(record, "the verifier's answer", CONTRACT_ANSWER,
                           &e) == 0)
            return json_deep_copy(record);
        said = e.text;
    }
    fail(x, *said ? said : "the verifier gave no division");
    return NULL;
}

static void take_validated(struct making *x, const json_t *record,
                           const char *why)
{
    json_t *answer = read_answer(x, record, why);
    size_t sent = json_array_size(json_object_get(x->proposal, "subproblems"));
    bool whole, proved;

    if (!answer)
        return;
    whole = json_array_size(json_object_get(answer, "subproblems")) == sent;
    proved = !json_is_true(json_object_get(
                 json_object_get(x->proposal, "composition"), "claimed")) ||
             json_is_true(json_object_get(
                 json_object_get(answer, "composition"), "proved"));
    json_decref(x->proposal);
    x->proposal = NULL;
    /* Pieces that do not compose can still be learned from. */
    if (whole && (proved || x->turns > MAKER_REPAIRS)) {
        settle(x, answer, true);
        return;
    }
    refuse(x, json_incref(json_object_get(answer, "findings")));
    json_decref(answer);
}

static void on_validated(const json_t *record, const char *why, void *arg)
{
    struct making *x = arg;

    take_validated(x, record, why);
    look_for_end(x->m);
}

static void take_reply(struct making *x, const struct ledger_answer *a)
{
    struct maker *m = x->m;
    struct err e = ERR_INIT;
    const char *code;

    free(x->last);
    x->last = xstrndup(a->text.p, a->text.n);
    x->proposal = contract_extract(a->text, &code, &e);
    if (!x->proposal) {
        refuse(x, a->cut ? proposing_finding(
                               "reply_cut",
                               "the reply was cut at the token limit: use "
                               "fewer or shorter pieces")
                         : proposing_finding(code, e.text));
        return;
    }
    json_object_set_new(x->proposal, "problem_id", json_string(x->task->id));
    json_object_set_new(x->proposal, "level",
                        json_string(piece_levels[m->level]));
    if (divide(x, on_validated, &e) < 0)
        fail(x, e.text);
}

static bool has_calls(const struct maker *m)
{
    for (size_t i = 0; i < m->len; i++)
        if (m->item[i].call)
            return true;
    return false;
}

static void on_reply(void *arg, const struct ledger_answer *a)
{
    struct making *x = arg;
    struct maker *m = x->m;

    x->call = NULL;
    if (m->stopping && !has_calls(m))
        finish(m, MAKER_STOPPED);
    if (m->finished || m->stopping)
        return; /* a reply is in the store */
    if (m->step)
        m->step(&m->progress, m->arg);
    if (a->end == LEDGER_ANSWERED) {
        take_reply(x, a);
    } else if (a->end == LEDGER_FAILED) {
        err_set(&m->err, ERR_SYSTEM, "%s: the model did not answer: %s",
                x->task->id, a->why);
        finish(m, MAKER_FAILED);
    } else if (a->end == LEDGER_NO_BUDGET) {
        finish(m, MAKER_NO_BUDGET);
    } else {
        m->err = *a->err;
        finish(m, MAKER_FAILED);
    }
    look_for_end(m);
}

static void take_turn(struct making *x)
{
    const struct maker_model *model = x->m->part.model;
    struct proposing in = {.task = x->task,
                           .level = x->m->level,
                           .own = x->own,
                           .refused = x->refused,
                           .last = str_of(x->last ? x->last : "")};
    struct ledger_question q = {.purpose = "decompose", .task = -1};
    struct ledger_call *call;

    arena_reset(&x->memory);
    proposing_prompt(model->prompts, &in, &x->memory, &x->prompt);
    x->turns++;
    x->m->progress.calls++;
    ledger_hash(x->asked, "%s/%s/%d/%s", x->task->id, piece_levels[x->m->level],
                x->turns, x->prompt.hash);
    q.asked = x->asked;
    q.front = model->front;
    q.prompt_hash = x->prompt.hash;
    q.request = (struct llm_request){
        .key = {x->task->id, "decompose", piece_levels[x->m->level], x->turns},
        .message = x->prompt.message,
        .count = x->prompt.count,
        .max_tokens = model->max_tokens};
    call = ledger_ask(model->ledger, &q, on_reply, x);
    if (call)
        x->call = call; /* else the answer has been dealt with */
}

/* ---- each task ---- */

static void on_divided(const json_t *record, const char *why, void *arg)
{
    struct making *x = arg;

    x->own = read_answer(x, record, why);
    if (x->own && x->m->part.model)
        take_turn(x);
    else if (x->own)
        settle(x, json_incref(x->own), false);
    look_for_end(x->m);
}

static int fail_if_any(struct maker *m)
{
    for (size_t i = 0; i < m->len; i++)
        if (m->item[i].why)
            return err_set(&m->err, ERR_SYSTEM, "%s: %s", m->item[i].task->path,
                           m->item[i].why);
    return 0;
}

/* Nothing is open, or all that is open waits for another host. A task that was
 * not asked about yet is open, too. */
static void look_for_end(struct maker *m)
{
    if (m->finished || m->open > door_elsewhere(m->part.door, m->stopping))
        return;
    if (fail_if_any(m) < 0)
        finish(m, MAKER_FAILED);
    else
        finish(m, m->open ? MAKER_WAITING : MAKER_DONE);
}

struct maker *maker_new(const struct maker_parts *p,
                        const struct collection *tasks, enum piece_level level)
{
    struct maker *m = xcalloc(1, sizeof(*m));

    m->part = *p;
    m->level = level;
    m->len = tasks->len;
    m->item = xcalloc(tasks->len + 1, sizeof(*m->item));
    for (size_t i = 0; i < m->len; i++) {
        m->item[i].m = m;
        m->item[i].task = tasks->task[i];
        m->item[i].refused = json_array();
        arena_init(&m->item[i].memory);
    }
    return m;
}

void maker_free(struct maker *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->len; i++) {
        struct making *x = &m->item[i];

        if (x->call)
            ledger_drop(x->call);
        json_decref(x->own);
        json_decref(x->proposal);
        json_decref(x->refused);
        json_decref(x->answer);
        arena_release(&x->memory);
        free(x->last);
        free(x->why);
    }
    free(m->item);
    free(m);
}

enum maker_end maker_run(struct maker *m,
                         void (*step)(const struct maker_progress *p,
                                      void *arg),
                         void *arg, struct err *e)
{
    m->step = step;
    m->arg = arg;
    m->open = m->len;
    for (size_t i = 0; !m->finished && i < m->len; i++) {
        struct making *x = &m->item[i];
        struct err one = ERR_INIT;

        if (divide(x, on_divided, &one) < 0)
            fail(x, one.text);
    }
    look_for_end(m);
    m->running = true;
    while (!m->finished)
        loop_run(m->part.loop);
    m->running = false;
    if (m->open)
        door_drop(m->part.door);
    if (m->end == MAKER_FAILED)
        *e = m->err;
    return m->end;
}

void maker_stop(struct maker *m)
{
    const struct maker_model *model = m->part.model;
    bool again = m->stopping;

    m->stopping = true;
    if (model)
        ledger_stop(model->ledger);
    if (again || !model || llm_is_patient(model->front) || !has_calls(m))
        finish(m, MAKER_STOPPED);
}

int maker_take(const struct maker *m, struct curriculum *out, struct err *e)
{
    struct merge_part *part = xcalloc(m->len + 1, sizeof(*part));
    int rc;

    for (size_t i = 0; i < m->len; i++)
        part[i] = (struct merge_part){m->item[i].task, m->item[i].answer};
    rc = curriculum_merge(out, part, m->len, e);
    free(part);
    return rc;
}
