/* vectors.c: the vectors of the run's tasks and of the examples it begins with. */
#include "search/vectors.h"
#include "base/mem.h"
#include "llm/llm.h"
#include "run/run_int.h"

#include <stdlib.h>
#include <string.h>

/* The endpoint has a price of its own: --price is the model's. */
static struct llm *open_embeddings(struct run *r, struct err *e)
{
    struct llm_opts o = r->model.opts;

    o.base_url = r->set->embeddings;
    o.model = r->set->embedding_model;
    o.price = NULL;
    return llm_open_embeddings(r->loop, &o, &r->model.budget, r->home.dir, e);
}

int run_vectors_open(struct run *r, struct err *e)
{
    const struct budget *b = &r->model.budget;

    if (strcmp(r->set->embeddings, "hash") == 0)
        return 0;
    if (!r->set->embedding_model)
        return err_set(e, ERR_USAGE,
                       "--embeddings URL needs --embedding-model NAME");
    r->embedder = open_embeddings(r, e);
    if (!r->embedder)
        return err_wrap(e, "--embeddings");
    if (b->cap.usd_micro != BUDGET_NO_CAP && b->cap.tokens == BUDGET_NO_CAP &&
        !llm_has_price(r->embedder))
        return err_set(e, ERR_USAGE,
                       "no price is known for the embeddings of %s, so "
                       "--budget-usd cannot be kept: name the model in a file "
                       "for --prices, or give --budget-tokens N",
                       r->set->embedding_model);
    return 0;
}

int run_vectors(struct run *r, struct run_result *out, struct err *e)
{
    struct vectors_parts p = {.loop = r->loop,
                              .store = r->store,
                              .ledger = r->ledger,
                              .client = r->embedder,
                              .model = r->set->embedding_model,
                              .hurry = &r->hurry};
    size_t n = r->tasks.len + r->kernel_len;
    struct str *text = xcalloc(n + 1, sizeof(*text));
    struct vectors v;
    int rc;

    for (size_t i = 0; i < n; i++) {
        const struct task *t = i < r->tasks.len
                                   ? r->tasks.task[i]
                                   : r->kernel[i - r->tasks.len].task;

        text[i] = (struct str){t->source, t->len};
    }
    rc = vectors_make(&p, text, n, &v, e);
    r->vectors = v.v;
    r->dim = v.dim;
    r->embed = v.embed;
    out->need = v.need;
    free(text);
    return rc;
}
