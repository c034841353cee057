/* attempt_prompt.c: what an attempt asks the model. */
#include "search/attempt.h"

static int read_text(struct attempt *a, const char *blob, struct str *out,
                     struct err *e)
{
    struct buf b;
    int rc;

    *out = (struct str){"", 0};
    if (!blob[0])
        return 0;
    buf_init(&b, BUF_UNLIMITED);
    rc = store_read_blob(a->s->part.store, blob, &b, e);
    if (rc == 0)
        *out =
            (struct str){arena_strndup(&a->memory, buf_str(&b), b.len), b.len};
    buf_release(&b);
    return rc;
}

/* Attempt `number` at the same task as a prompt shows it; 0: the initial
 * program. */
static int past_attempt(struct attempt *a, int number,
                        struct prompt_attempt *out, struct err *e)
{
    const struct task *t = a->subject->task;
    const struct past *p;

    *out = (struct prompt_attempt){.number = number};
    if (number == 0) {
        out->code = (struct str){t->source, t->len};
        out->verdict = verdicts[VERDICT_STATIC_REJECT].name;
        out->fitness = evolve_opts_paper.initial_fitness;
        out->feedback = STR_LIT("This is the PyTorch program itself: nothing "
                                "of it is written in the DSL yet.");
        return 0;
    }
    p = &a->subject->past[number - 1];
    out->verdict = verdicts[p->verdict].name;
    out->fitness = p->fitness;
    if (read_text(a, p->code, &out->code, e) < 0)
        return -1;
    return read_text(a, p->feedback, &out->feedback, e);
}

int attempt_prompt(struct attempt *a, enum prompt_stage stage,
                   struct prompt *out, struct err *e)
{
    struct search *s = a->s;
    struct prompt_attempt previous[MAX_HISTORY + 1], parent;
    struct prompt_example example[MAX_EXAMPLES];
    struct prompt_input in = {
        .stage = stage,
        .pack = s->part.pack,
        .no_card = s->opt.no_card,
        .task_id = a->subject->task->id,
        .task = {a->subject->task->source, a->subject->task->len},
        .task_hash = a->subject->source,
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

void attempt_store_prompt(struct attempt *a)
{
    struct store *st = a->s->part.store;
    const struct prompt *p = &a->prompt;

    for (size_t i = 0; i < p->pieces; i++)
        store_blob_as(st, p->piece[i].text, p->piece[i].hash);
    store_blob_as(st, p->list, p->hash);
}
