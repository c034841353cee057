/* records.c: conversations put together from the calls of attempts, and the
 * questions for plans that are missing. */
#include "data/records.h"

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "prompt/ask.h"
#include "prompt/extract.h"
#include "prompt/files.h"
#include "verify/verdict.h"

#include <stdlib.h>
#include <string.h>

/* ---- plans ---- */

struct backfill {
    struct backfill_parts part;
    struct ask_all ask;
    const struct sample *first; /* of the samples */
    size_t *todo;               /* samples whose plan is asked for */
    size_t items, cap;
    char **plan; /* of each sample; NULL: there is none */
    size_t plans;
    struct map packs; /* by id */
};

struct backfill *backfill_new(const struct backfill_parts *p)
{
    struct backfill *b = xcalloc(1, sizeof(*b));

    b->part = *p;
    return b;
}

void backfill_free(struct backfill *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->plans; i++)
        free(b->plan[i]);
    for (size_t i = 0; i < b->packs.len; i++)
        pack_free(b->packs.items[i].value);
    map_release(&b->packs);
    free(b->plan);
    free(b->todo);
    free(b);
}

size_t backfill_items(const struct backfill *b)
{
    return b->items;
}

/* The plan that was asked for; p NULL: there is none. */
static struct str plan_of(const struct backfill *b, const struct sample *x)
{
    const char *plan = b && b->plan ? b->plan[x - b->first] : NULL;

    return plan ? str_of(plan) : (struct str){NULL, 0};
}

static struct pack *find_pack(struct backfill *b, const struct sample *x,
                              struct err *e)
{
    const char *id = run_view_fact(x->view, "dsl");
    struct pack *p = map_get(&b->packs, str_of(id));

    if (!p && (p = packs_load(b->part.packs, id, e)))
        map_set(&b->packs, str_of(id), p);
    return p;
}

static int plan_prompt(struct backfill *b, const struct sample *x,
                       struct attempt_view *v, struct prompt *out,
                       struct err *e)
{
    struct prompt_backfill in = {.pack = find_pack(b, x, e),
                                 .solution = v->code,
                                 .precision =
                                     run_view_fact(x->view, "precision"),
                                 .device = run_view_fact(x->view, "device")};

    if (!in.pack || store_text(x->view->store, x->task->row.source, &v->memory,
                               &in.task, e) < 0)
        return -1;
    return prompts_backfill(b->part.prompts, &in, &v->memory, out, e);
}

/* The examples that the attempt was shown. */
static int read_examples(const struct sample *x, struct arena *a,
                         struct prompt_input *in, struct err *e)
{
    struct store *s = x->view->store;
    struct prompt_example *list =
        arena_alloc(a, (x->kernel->shown_len + 1) * sizeof(*list));

    in->example = list;
    for (size_t i = 0; i < x->kernel->shown_len; i++) {
        const struct row_entry *n =
            run_view_entry(x->view, x->kernel->shown[i].entry);
        struct prompt_example *to = &list[in->example_count];

        if (!n)
            continue;
        *to = (struct prompt_example){.name = n->name};
        if (store_text(s, n->problem, a, &to->problem, e) < 0 ||
            store_text(s, n->solution, a, &to->solution, e) < 0 ||
            store_text(s, n->plan, a, &to->plan, e) < 0)
            return -1;
        in->example_count++;
    }
    return 0;
}

/* What the run's prompts start with: the guide may have changed since. */
static struct str start_of(const struct attempt_view *v)
{
    const struct attempt_call *c = run_attempt_view_call(v, NULL);

    if (!c || !c->messages || strcmp(c->message[0].role, "system") != 0)
        return (struct str){NULL, 0};
    return (struct str){c->message[0].text.p, c->message[0].first};
}

/* The prompt of a stage for the kernel `v` with its plan. */
static int stage_prompt(struct backfill *b, const struct sample *x,
                        struct attempt_view *v, enum prompt_stage stage,
                        struct prompt *out, struct err *e)
{
    struct arena *a = &v->memory;
    struct prompt_input in = {.stage = stage,
                              .pack = find_pack(b, x, e),
                              .task_id = x->task->row.id,
                              .precision = run_view_fact(x->view, "precision"),
                              .device = run_view_fact(x->view, "device")};
    struct str start = start_of(v);

    if (stage == PROMPT_CODE)
        in.plan = plan_of(b, x);
    if (!in.pack ||
        store_text(x->view->store, x->task->row.source, a, &in.task, e) < 0 ||
        read_examples(x, a, &in, e) < 0 ||
        prompts_build(b->part.prompts, &in, a, out, e) < 0)
        return -1;
    if (start.p)
        out->message[0].text = start;
    return 0;
}

static int ask_plan(struct backfill *b, const struct sample *x,
                    const struct prompt *p, struct arena *memory,
                    struct ledger_answer *out)
{
    char asked[HASH_HEX];
    struct ledger_question q = {
        .purpose = "backfill", .asked = asked, .prompt_hash = p->hash};

    ledger_hash(asked, "%s", p->hash);
    q.request = (struct llm_request){
        .key = {x->task->row.id, run_view_fact(x->view, "method"), q.purpose,
                (int)x->kernel->row.attempt},
        .message = p->message,
        .count = p->count};
    return ask_all_question(&b->ask, &q, memory, out);
}

static void take_plan(const struct sample *x, const struct ledger_answer *a,
                      char **plan)
{
    struct str text = a->end == LEDGER_ANSWERED
                          ? str_trim(extract_plan(a->text))
                          : (struct str){0};
    const char *why = a->end == LEDGER_FAILED ? a->why
                      : a->cut
                          ? "the answer was cut at its limit (--plan-tokens)"
                      : !text.n ? "the answer is empty"
                                : NULL;

    if (why)
        log_warn("%s: %s: no plan: %s", x->view->dir, x->task->row.id, why);
    else
        *plan = xstrndup(text.p, text.n);
}

static int backfill_one(struct ask_all *a, size_t item, void *arg,
                        struct err *e)
{
    struct backfill *b = arg;
    const struct sample *x = &b->first[b->todo[item]];
    struct attempt_view v;
    struct ledger_answer answer;
    struct prompt p;
    int rc;

    (void)a;
    if (run_attempt_view_make(x->view, x->kernel, &v, e) < 0)
        return -1;
    rc = plan_prompt(b, x, &v, &p, e);
    if (rc == 0)
        rc = ask_plan(b, x, &p, &v.memory, &answer);
    if (rc == 0)
        take_plan(x, &answer, &b->plan[b->todo[item]]);
    run_attempt_view_release(&v);
    return rc;
}

static bool is_one_stage(const struct sample *x)
{
    for (size_t i = 0; i < x->kernel->calls; i++)
        if (strcmp(x->kernel->call[i].purpose, "plan") == 0)
            return false;
    return true;
}

enum ask_end backfill_run(struct backfill *b, const struct samples *s,
                          struct err *e)
{
    b->first = s->item;
    b->plans = s->len;
    b->plan = xcalloc(s->len + 1, sizeof(*b->plan));
    for (size_t i = 0; i < s->len; i++)
        if (is_one_stage(&s->item[i])) {
            b->todo = xgrow(b->todo, &b->cap, b->items, sizeof(*b->todo));
            b->todo[b->items++] = i;
        }
    b->ask = (struct ask_all){.part = b->part.ask};
    return ask_all(&b->ask, b->items, backfill_one, b, e);
}

/* ---- messages ---- */

/* The answer that the prompt asks for: the file in a fence. */
static struct str fenced(struct str code, struct arena *a)
{
    struct str mark = prompt_fence(&code, 1, a);
    bool open = code.n && code.p[code.n - 1] != '\n';
    char *text = arena_printf(a, "%.*spython\n%.*s%s%.*s", (int)mark.n, mark.p,
                              (int)code.n, code.p, open ? "\n" : "",
                              (int)mark.n, mark.p);

    return str_of(text);
}

/* What the model answered to this call, without thoughts. Evolution may have
 * answered with edits of its parent; a program is not the answer to that. */
static struct str answer(const struct attempt_view *v,
                         const struct attempt_call *c, struct arena *a)
{
    if (strcmp(c->row.purpose, "evolve") == 0)
        return extract_plan(c->reply);
    return fenced(v->code, a);
}

static void add(struct record *r, const char *role, struct str text)
{
    r->message[r->messages++] = (struct chat_message){str_of(role), text};
}

/* The prompt, which is a system and a user message. */
static bool ask(struct record *r, const struct attempt_call *c)
{
    r->model = c->row.model;
    r->messages = 0;
    if (c->messages != 2 || strcmp(c->message[0].role, "system") != 0 ||
        strcmp(c->message[1].role, "user") != 0)
        return false;
    add(r, "system", c->message[0].text);
    add(r, "user", c->message[1].text);
    return true;
}

/* The call that wrote the code. */
static const struct attempt_call *writer(const struct attempt_view *v)
{
    const struct attempt_call *c = run_attempt_view_call(v, "code");

    return c ? c : run_attempt_view_call(v, "evolve");
}

/* ---- plan and code ---- */

/* One of the two records of a kernel whose plan was asked for afterwards. */
static int tell_backfilled(struct record *r, struct attempt_view *v,
                           struct backfill *b, const struct attempt_call *code,
                           struct err *e)
{
    bool plan = strcmp(r->phase, "plan") == 0;
    struct prompt p;

    if (stage_prompt(b, r->sample, v, plan ? PROMPT_PLAN : PROMPT_CODE, &p, e) <
        0)
        return -1;
    r->backfilled = true;
    r->model = !plan           ? code ? code->row.model : NULL
               : b->part.model ? b->part.model
                               : "";
    r->messages = 0;
    add(r, "system", p.message[0].text);
    add(r, "user", p.message[1].text);
    add(r, "assistant",
        plan ? plan_of(b, r->sample) : fenced(v->code, &v->memory));
    return 0;
}

static int each_sft(const struct sample *x, struct backfill *b, record_fn *fn,
                    void *arg, struct err *e)
{
    static const char *const phase[] = {"plan", "code"};
    struct attempt_view v;
    struct record r = {.sample = x, .attempt = &v};
    const struct attempt_call *call[2];
    int rc = 0;

    if (run_attempt_view_make(x->view, x->kernel, &v, e) < 0)
        return -1;
    call[0] = v.plan.p ? run_attempt_view_call(&v, "plan") : NULL;
    call[1] = writer(&v);
    for (size_t i = 0; rc == 0 && i < 2; i++) {
        r.phase = phase[i];
        if (plan_of(b, x).p)
            rc = tell_backfilled(&r, &v, b, call[1], e);
        else if (!call[i])
            continue;
        else if (ask(&r, call[i]))
            add(&r, "assistant", i ? answer(&v, call[i], &v.memory) : v.plan);
        if (rc == 0)
            rc = fn(&r, arg, e);
    }
    run_attempt_view_release(&v);
    return rc;
}

/* ---- failure and fix ---- */

static int tell_fix(const struct sample *x, const struct run_attempt *failed,
                    const struct attempt_view *fix, record_fn *fn, void *arg,
                    struct err *e)
{
    struct attempt_view v;
    struct record r = {.phase = "fix", .sample = x, .attempt = &v};
    const struct attempt_call *c;
    int rc = 0;

    if (run_attempt_view_make(x->view, failed, &v, e) < 0)
        return -1;
    c = writer(&v);
    r.verdict = v.line.verdict;
    if (c && v.feedback.p) {
        if (ask(&r, c)) {
            add(&r, "assistant", answer(&v, c, &v.memory));
            add(&r, "user", v.feedback);
            add(&r, "assistant", fenced(fix->code, &v.memory));
        }
        rc = fn(&r, arg, e);
    }
    run_attempt_view_release(&v);
    return rc;
}

static int each_refine(const struct sample *x, struct backfill *b,
                       record_fn *fn, void *arg, struct err *e)
{
    struct attempt_view fix;
    struct map seen = {0}; /* code that failed already */
    int rc = 0;

    (void)b;
    if (run_attempt_view_make(x->view, x->kernel, &fix, e) < 0)
        return -1;
    for (size_t i = 0; rc == 0 && i < x->task->attempts; i++) {
        const struct run_attempt *a = &x->task->attempt[i];

        if (a->row.attempt >= x->kernel->row.attempt)
            break;
        if (a->row.solved || !a->row.code || !a->row.code_hash ||
            verdict_of(a->row.verdict) == VERDICT_NOT_JUDGED ||
            map_get(&seen, str_of(a->row.code_hash)))
            continue;
        map_set(&seen, str_of(a->row.code_hash), &seen);
        rc = tell_fix(x, a, &fix, fn, arg, e);
    }
    map_release(&seen);
    run_attempt_view_release(&fix);
    return rc;
}

const struct record_kind record_sft = {
    "sft",
    "Plans and kernels: each prompt as it was sent to the model, and the "
    "answer that led to a verified kernel.",
    {"system", "user", "assistant"},
    each_sft,
};
const struct record_kind record_refine = {
    "refine",
    "Failures and their fixes: each prompt as it was sent to the model, code "
    "that failed, the verifier's feedback, and a verified kernel for the same "
    "task.",
    {"system", "user", "failed", "feedback", "assistant"},
    each_refine,
};
