/* inquiry.c: model, prompts, store and ledger, in the order that they need. */
#include "prompt/inquiry.h"

#include "base/fs.h"

#include <stdio.h>
#include <stdlib.h>

int inquiry_open(struct inquiry *a, const struct inquiry_opts *o, struct err *e)
{
    const struct modeling_values *m = o->values;
    struct ledger_parts parts;
    char *prompts;

    if (modeling_read(m, &a->model, e) < 0)
        return -1;
    prompts = fs_join(o->home, "prompts");
    a->prompts = prompts_load(prompts, e);
    free(prompts);
    a->loop = o->loop ? o->loop : (a->own = loop_new(e));
    if (!a->prompts || !a->loop ||
        modeling_open(m, &a->model, a->loop, o->home, e) < 0)
        return -1;
    a->store = lock_store(o->dir, o->file, a->loop, &a->lock, e);
    if (!a->store || llm_record(a->model.llm, m->record, NULL, e) < 0)
        return -1;
    parts = (struct ledger_parts){.loop = a->loop,
                                  .store = a->store,
                                  .budget = &a->model.budget,
                                  .patient = llm_is_patient(a->model.llm)};
    a->ledger = ledger_open(&parts, e);
    a->max_tokens = m->max_tokens;
    return a->ledger ? 0 : -1;
}

struct ask_parts inquiry_parts(const struct inquiry *a)
{
    return (struct ask_parts){.loop = a->loop,
                              .ledger = a->ledger,
                              .client = a->model.llm,
                              .max_tokens = a->max_tokens,
                              .signals = true};
}

void inquiry_step(struct inquiry *a, size_t done, const char *note)
{
    char text[120];

    modeling_news(&a->model);
    snprintf(text, sizeof(text), "%s$%.4f", note,
             (double)a->model.budget.spent.usd_micro / 1e6);
    term_set(a->term, done, text);
}

int inquiry_ended(enum ask_end end, const char *dir, const char *kept,
                  struct err *e)
{
    if (end == ASK_NO_BUDGET)
        return err_set(e, ERR_BUDGET,
                       "the budget has no room for another call; %s keeps %s: "
                       "run the command again with a larger budget",
                       dir, kept);
    if (end == ASK_STOPPED)
        return err_set(e, ERR_INTERRUPT,
                       "stopped; %s keeps %s: run the command again to "
                       "continue",
                       dir, kept);
    return end == ASK_DONE ? 0 : -1;
}

int inquiry_close(struct inquiry *a, struct err *e)
{
    int rc = 0;

    term_close(a->term);
    ledger_close(a->ledger);
    modeling_close(&a->model);
    if (a->store) {
        rc = store_close(a->store, e);
        lock_drop(&a->lock);
    }
    if (a->prompts)
        prompts_free(a->prompts);
    if (a->own)
        loop_free(a->own);
    return rc;
}
