/* inquiry.c: opens what a question needs: model, budget, store. */
#include "cmd/inquiry.h"

#include "base/fs.h"

#include <stdio.h>
#include <stdlib.h>

int inquiry_open(struct inquiry *a, const struct modeling_values *m,
                 const char *dir, const char *name, struct err *e)
{
    struct ledger_parts parts;
    char *prompts;

    if (modeling_read(m, &a->model, e) < 0 || home_find(&a->home, e) < 0)
        return -1;
    prompts = fs_join(a->home.dir, "prompts");
    a->prompts = prompts_load(prompts, e);
    free(prompts);
    a->loop = a->prompts ? loop_new(e) : NULL;
    if (!a->loop || modeling_open(m, &a->model, a->loop, a->home.dir, e) < 0)
        return -1;
    a->store = lock_store(dir, name, a->loop, &a->lock, e);
    if (!a->store || llm_record(a->model.llm, m->record, NULL, e) < 0)
        return -1;
    parts = (struct ledger_parts){.loop = a->loop,
                                  .store = a->store,
                                  .budget = &a->model.budget,
                                  .patient = llm_is_patient(a->model.llm)};
    a->ledger = ledger_open(&parts, e);
    return a->ledger ? 0 : -1;
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
    if (a->loop)
        loop_free(a->loop);
    if (a->prompts)
        prompts_free(a->prompts);
    home_release(&a->home);
    return rc;
}

void inquiry_step(struct inquiry *a, size_t done)
{
    char note[40];

    modeling_news(&a->model);
    snprintf(note, sizeof(note), "$%.4f",
             (double)a->model.budget.spent.usd_micro / 1e6);
    term_set(a->term, done, note);
}
