/* paying.c: model, prompts, store and ledger, in the order that they need. */
#include "cmd/paying.h"

#include "base/fs.h"

#include <stdlib.h>

int paying_open(struct paying *a, const struct paying_opts *o, struct err *e)
{
    const struct modeling_values *m = o->values;
    struct ledger_parts parts;
    char *prompts;

    if (modeling_read(m, &a->model, e) < 0)
        return -1;
    prompts = fs_join(o->home, "prompts");
    a->prompts = prompts_load(prompts, e);
    free(prompts);
    if (!a->prompts || modeling_open(m, &a->model, o->loop, o->home, e) < 0)
        return -1;
    a->store = lock_store(o->dir, o->file, o->loop, &a->lock, e);
    if (!a->store || llm_record(a->model.llm, m->record, NULL, e) < 0)
        return -1;
    parts = (struct ledger_parts){.loop = o->loop,
                                  .store = a->store,
                                  .budget = &a->model.budget,
                                  .patient = llm_is_patient(a->model.llm)};
    a->ledger = ledger_open(&parts, e);
    return a->ledger ? 0 : -1;
}

struct ask_parts paying_parts(const struct paying *a, struct loop *l,
                              const struct modeling_values *v)
{
    return (struct ask_parts){.loop = l,
                              .ledger = a->ledger,
                              .client = a->model.llm,
                              .max_tokens = v->max_tokens,
                              .signals = true};
}

int paying_ended(enum ask_end end, const char *dir, const char *kept,
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

int paying_close(struct paying *a, struct err *e)
{
    int rc = 0;

    ledger_close(a->ledger);
    modeling_close(&a->model);
    if (a->store) {
        rc = store_close(a->store, e);
        lock_drop(&a->lock);
    }
    if (a->prompts)
        prompts_free(a->prompts);
    return rc;
}
