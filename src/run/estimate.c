/* estimate.c: what a run would cost, from the prompts it would send first. */
#include "base/mem.h"
#include "run/run_int.h"
#include "search/method.h"
#include "verify/verdict.h"

#include <stdlib.h>

/* The first prompt of each stage: what later ones add (feedback, longer
 * examples) is not known yet. */
static int add_stage(struct run *r, const struct task *t,
                     enum prompt_stage stage, struct run_estimate *sum,
                     struct err *e)
{
    struct prompt_example example[16];
    struct prompt_attempt parent = {.code = {t->source, t->len},
                                    .verdict =
                                        verdicts[VERDICT_STATIC_REJECT].name,
                                    .feedback = STR_LIT("")};
    struct prompt_input in = {.stage = stage,
                              .pack = r->pack,
                              .no_card = r->opt.no_card,
                              .task_id = t->id,
                              .task = {t->source, t->len},
                              .precision = r->opt.precision,
                              .device = r->opt.device,
                              .example = example,
                              .plan = STR_LIT(""),
                              .parent = stage == PROMPT_EVOLVE ? &parent : NULL,
                              .diff = r->opt.diff};
    struct prompt p;
    struct arena a;
    int rc;

    for (size_t i = 0;
         i < r->kernel_len && in.example_count < (size_t)r->opt.examples; i++) {
        const struct kernel *k = &r->kernel[i];

        example[in.example_count++] =
            (struct prompt_example){.name = k->name,
                                    .problem = {k->task->source, k->task->len},
                                    .plan = k->plan,
                                    .solution = k->solution};
    }
    arena_init(&a);
    rc = prompts_build(r->prompts, &in, &a, &p, e);
    if (rc == 0) {
        struct llm_request q = {.key = {t->id, r->opt.method, "dry", 1},
                                .message = p.message,
                                .count = p.count};

        sum->prompts++;
        sum->tokens_in += p.tokens;
        sum->worst_usd_micro += llm_worst_case(r->model.llm, &q).usd_micro;
    }
    arena_release(&a);
    return rc;
}

static int add_all(struct run *r, struct run_estimate *out, struct err *e)
{
    bool two = method_find(r->opt.method)->two_stage;

    *out = (struct run_estimate){.tasks = r->originals,
                                 .pieces = r->tasks.len - r->originals,
                                 .attempts = r->opt.attempts,
                                 .calls = two ? 2 : 1,
                                 .priced = llm_has_price(r->model.llm)};
    for (size_t i = 0; i < r->tasks.len; i++) {
        const struct task *t = r->tasks.task[i];

        if (two ? add_stage(r, t, PROMPT_PLAN, out, e) < 0 ||
                      add_stage(r, t, PROMPT_CODE, out, e) < 0
                : add_stage(r, t, PROMPT_EVOLVE, out, e) < 0)
            return -1;
    }
    return 0;
}

int run_estimate(struct run_settings *s, struct run_estimate *out,
                 struct err *e)
{
    struct run *r = xcalloc(1, sizeof(*r));
    struct err late = ERR_INIT;
    int rc = -1;

    r->set = s;
    s->dry_run = true;
    if (run_prepare(r, e) == 0)
        rc = add_all(r, out, e);
    run_close(r, &late);
    return rc;
}
