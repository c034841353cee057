/* run_dry.c: what a run would cost, from the prompts it would send first. */
#include "base/json.h"
#include "cmd/run_int.h"
#include "verify/verdict.h"

#include <string.h>

struct totals {
    int64_t prompts, tokens, worst_usd_micro;
};

/* The first prompt of each stage: what later ones add (feedback, longer
 * examples) is not known yet. */
static int add_stage(struct running *r, const struct task *t,
                     enum prompt_stage stage, struct totals *sum, struct err *e)
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
        sum->tokens += p.tokens;
        sum->worst_usd_micro += llm_worst_case(r->model.llm, &q).usd_micro;
    }
    arena_release(&a);
    return rc;
}

/* Dollars, in whole cents, rounded up. */
static double cents_up(int64_t usd_micro)
{
    return (double)((usd_micro + 9999) / 10000) / 100;
}

static void tell(const struct running *r, const struct totals *sum, int calls)
{
    printf("%zu tasks, %lld attempts each, %d calls an attempt\n", r->tasks.len,
           (long long)r->opt.attempts, calls);
    printf("one attempt of every task: %lld prompts, about %lld tokens in\n",
           (long long)sum->prompts, (long long)sum->tokens);
    printf("all attempts, if nothing is solved: about %lld tokens in\n",
           (long long)(sum->tokens * r->opt.attempts));
    if (llm_has_price(r->model.llm))
        printf("about $%.2f for one attempt of every task, $%.2f for all, "
               "with every answer as long as it may be\n(later prompts are "
               "longer: plans, feedback, other examples; --budget-usd is what "
               "bounds a run)\n",
               cents_up(sum->worst_usd_micro),
               cents_up(sum->worst_usd_micro * r->opt.attempts));
    else
        printf("no price is known for this model: --price IN,OUT gives one\n");
}

static void tell_json(const struct running *r, const struct totals *sum)
{
    bool priced = llm_has_price(r->model.llm);

    jsn_line(json_pack(
        "{s:I, s:I, s:I, s:I, s:o, s:o}", "tasks", (json_int_t)r->tasks.len,
        "attempts", (json_int_t)r->opt.attempts, "prompts",
        (json_int_t)sum->prompts, "tokens_in", (json_int_t)sum->tokens,
        "worst_usd_micro",
        priced ? json_integer(sum->worst_usd_micro) : json_null(),
        "worst_usd_micro_all",
        priced ? json_integer(sum->worst_usd_micro * r->opt.attempts)
               : json_null()));
}

int run_dry(struct running *r, struct err *e)
{
    bool one = strcmp(r->opt.method, "evolve") == 0 ||
               strcmp(r->opt.method, "combined") == 0;
    struct totals sum = {0};

    for (size_t i = 0; i < r->tasks.len; i++) {
        const struct task *t = r->tasks.task[i];

        if (one ? add_stage(r, t, PROMPT_EVOLVE, &sum, e) < 0
                : add_stage(r, t, PROMPT_PLAN, &sum, e) < 0 ||
                      add_stage(r, t, PROMPT_CODE, &sum, e) < 0)
            return -1;
    }
    if (r->v->v.json)
        tell_json(r, &sum);
    else
        tell(r, &sum, one ? 1 : 2);
    return 0;
}
