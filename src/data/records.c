/* records.c: conversations put together from the calls of attempts. */
#include "data/records.h"

#include "base/map.h"
#include "prompt/extract.h"
#include "prompt/files.h"
#include "verify/verdict.h"

#include <string.h>

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
                           struct backfill *b, record_fn *fn, void *arg,
                           struct err *e)
{
    bool plan = strcmp(r->phase, "plan") == 0;
    const struct attempt_call *code = writer(v);
    struct prompt p;

    if (backfill_prompt(b, r->sample, v, plan ? PROMPT_PLAN : PROMPT_CODE, &p,
                        e) < 0)
        return -1;
    r->backfilled = true;
    r->model = plan ? backfill_model(b) : code ? code->row.model : NULL;
    r->messages = 0;
    add(r, "system", p.message[0].text);
    add(r, "user", p.message[1].text);
    add(r, "assistant",
        plan ? backfill_plan(b, r->sample) : fenced(v->code, &v->memory));
    return fn(r, arg, e);
}

static int each_sft(const struct sample *x, struct backfill *b, record_fn *fn,
                    void *arg, struct err *e)
{
    struct attempt_view v;
    struct record r = {.sample = x, .attempt = &v};
    const struct attempt_call *plan, *code;
    int rc = 0;

    if (run_attempt_view_make(x->view, x->kernel, &v, e) < 0)
        return -1;
    plan = run_attempt_view_call(&v, "plan");
    code = writer(&v);
    if (backfill_plan(b, x).p) {
        r.phase = "plan";
        rc = tell_backfilled(&r, &v, b, fn, arg, e);
        r.phase = "code";
        if (rc == 0)
            rc = tell_backfilled(&r, &v, b, fn, arg, e);
        run_attempt_view_release(&v);
        return rc;
    }
    if (plan && v.plan.p) {
        r.phase = "plan";
        if (ask(&r, plan))
            add(&r, "assistant", v.plan);
        rc = fn(&r, arg, e);
    }
    if (rc == 0 && code) {
        r.phase = "code";
        if (ask(&r, code))
            add(&r, "assistant", answer(&v, code, &v.memory));
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
    struct map seen; /* code that failed already */
    int rc = 0;

    (void)b;
    if (run_attempt_view_make(x->view, x->kernel, &fix, e) < 0)
        return -1;
    map_init(&seen);
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
