/* maker.c: the way of each task from the question to its division. */
#include "curriculum/maker.h"

#include "base/mem.h"
#include "curriculum/merge.h"
#include "curriculum/proposing.h"

#include <stdlib.h>
#include <string.h>

/* One task. */
struct making {
    const struct task *task;
    json_t *own;     /* the verifier's division */
    json_t *refused; /* findings of each refused reply of the model */
    char *last;      /* the last refused reply */
    int turns;       /* of the model */
    json_t *answer;  /* settled: the division that is used */
    char *why;       /* settled: the verifier failed */
};

struct maker {
    struct maker_parts part;
    enum piece_level level;
    struct making *item;
    size_t len;
    struct ask_all ask;
};

/* ---- the verifier ---- */

/* Has the task divided, or the model's proposal validated. 0: it failed and is
 * settled, or `out` has the answer. -1: there is no answer now. */
static int maker_divide(struct maker *m, struct making *x,
                        const json_t *proposal, json_t **out)
{
    struct verifier_division q = {.task = x->task,
                                  .level = piece_levels[m->level],
                                  .proposal = proposal,
                                  .job = m->part.job};
    struct verifier_answer d = {0};
    struct err e = ERR_INIT;
    const char *said;

    *out = NULL;
    if (verifier_divide(m->part.verifier, &q, &d, &e) < 0) {
        if (e.kind == ERR_NONE)
            return -1;
        x->why = xstrdup(e.text);
        return 0;
    }
    said = d.record ? jsn_str(d.record, "feedback") : d.why;
    if (d.record && json_object_get(d.record, "problem_id") &&
        contract_check(d.record, "the verifier's answer", CONTRACT_ANSWER,
                       &e) == 0)
        *out = json_incref(d.record);
    else if (e.kind != ERR_NONE)
        said = e.text;
    if (!*out)
        x->why = xstrdup(*said ? said : "the verifier gave no division");
    verifier_answer_release(&d);
    return 0;
}

/* ---- the model ---- */

static int maker_ask(struct maker *m, struct making *x, struct arena *memory,
                     struct ledger_answer *out)
{
    struct proposing in = {.task = x->task,
                           .level = m->level,
                           .own = x->own,
                           .refused = x->refused,
                           .last = str_of(x->last ? x->last : "")};
    char asked[HASH_HEX];
    struct ledger_question q = {.purpose = "decompose", .asked = asked};
    struct prompt prompt;

    proposing_prompt(m->part.prompts, &in, memory, &prompt);
    x->turns++;
    ledger_hash(asked, "%s/%s/%d/%s", x->task->id, piece_levels[m->level],
                x->turns, prompt.hash);
    q.prompt_hash = prompt.hash;
    q.request = (struct llm_request){
        .key = {x->task->id, "decompose", piece_levels[m->level], x->turns},
        .message = prompt.message,
        .count = prompt.count};
    return ask_all_question(&m->ask, &q, memory, out);
}

/* The proposal in a reply, or NULL: it is refused. */
static json_t *read_proposal(const struct maker *m, struct making *x,
                             const struct ledger_answer *a)
{
    struct err e = ERR_INIT;
    const char *code;
    json_t *proposal = contract_extract(a->text, &code, &e);

    free(x->last);
    x->last = xstrndup(a->text.p, a->text.n);
    if (proposal) {
        json_object_set_new(proposal, "problem_id", json_string(x->task->id));
        json_object_set_new(proposal, "level",
                            json_string(piece_levels[m->level]));
        return proposal;
    }
    json_array_append_new(
        x->refused,
        a->cut ? proposing_finding("reply_cut",
                                   "the reply was cut at the token limit: use "
                                   "fewer or shorter pieces")
               : proposing_finding(code, e.text));
    return NULL;
}

/* Whether the verifier's answer to a proposal settles the task. Pieces that do not
 * compose can still be learned from. */
static bool proposal_is_good(const struct making *x, const json_t *proposal,
                             const json_t *answer)
{
    size_t sent = json_array_size(json_object_get(proposal, "subproblems"));
    bool whole =
             json_array_size(json_object_get(answer, "subproblems")) == sent,
         proved = !json_is_true(json_object_get(
                      json_object_get(proposal, "composition"), "claimed")) ||
                  json_is_true(json_object_get(
                      json_object_get(answer, "composition"), "proved"));

    return whole && (proved || x->turns > MAKER_REPAIRS);
}

/* A proposal, and the verifier's answer to it. `used` stays NULL when it is
 * refused. */
static int maker_turn(struct maker *m, struct making *x, json_t **used,
                      struct err *e)
{
    struct ledger_answer a;
    struct arena memory;
    json_t *proposal = NULL, *answer = NULL;
    int rc;

    arena_init(&memory);
    rc = maker_ask(m, x, &memory, &a);
    if (rc == 0 && a.end == LEDGER_FAILED)
        rc = err_set(e, ERR_SYSTEM, "%s: the model did not answer: %s",
                     x->task->id, a.why);
    if (rc == 0)
        proposal = read_proposal(m, x, &a);
    arena_release(&memory); /* the verifier may take days */
    if (proposal)
        rc = maker_divide(m, x, proposal, &answer);
    if (answer && proposal_is_good(x, proposal, answer))
        *used = json_incref(answer);
    else if (answer)
        json_array_append(x->refused, json_object_get(answer, "findings"));
    json_decref(proposal);
    json_decref(answer);
    return rc;
}

/* ---- each task ---- */

static int maker_make(struct ask_all *a, size_t item, void *arg, struct err *e)
{
    struct maker *m = arg;
    struct making *x = &m->item[item];
    bool asks = a->part.ledger;
    json_t *used = NULL;

    if (maker_divide(m, x, NULL, &x->own) < 0)
        return -1;
    while (asks && !x->why && !used && x->turns <= MAKER_REPAIRS)
        if (maker_turn(m, x, &used, e) < 0)
            return -1;
    if (x->why)
        return 0;
    x->answer = used ? used : json_deep_copy(x->own);
    if (asks)
        json_object_set_new(x->answer, "model",
                            json_pack("{s:i, s:b, s:O}", "calls", x->turns,
                                      "used", used != NULL, "refused",
                                      x->refused));
    return 0;
}

struct maker *maker_new(const struct maker_parts *p,
                        const struct collection *tasks, enum piece_level level)
{
    struct maker *m = xcalloc(1, sizeof(*m));

    m->part = *p;
    m->ask.part = p->ask;
    m->level = level;
    m->len = tasks->len;
    m->item = xcalloc(tasks->len + 1, sizeof(*m->item));
    for (size_t i = 0; i < m->len; i++) {
        m->item[i].task = tasks->task[i];
        m->item[i].refused = json_array();
    }
    return m;
}

void maker_free(struct maker *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->len; i++) {
        struct making *x = &m->item[i];

        json_decref(x->own);
        json_decref(x->refused);
        json_decref(x->answer);
        free(x->last);
        free(x->why);
    }
    free(m->item);
    free(m);
}

enum ask_end maker_run(struct maker *m, struct err *e)
{
    enum ask_end end = ask_all(&m->ask, m->len, maker_make, m, e);

    for (size_t i = 0; i < m->len && (end == ASK_DONE || end == ASK_WAITING);
         i++)
        if (m->item[i].why) {
            err_set(e, ERR_SYSTEM, "%s: %s", m->item[i].task->path,
                    m->item[i].why);
            end = ASK_FAILED;
        } else if (!m->item[i].answer) {
            end = ASK_WAITING;
        }
    return end;
}

void maker_stop(struct maker *m)
{
    ask_all_stop(&m->ask);
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
