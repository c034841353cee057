/* inquiry.c: from the options of a model to its answers and their cost. */
#include "cmd/inquiry.h"

#include <stdio.h>

int inquiry_open(struct inquiry *a, const struct modeling_values *m,
                 const char *dir, const char *name, struct err *e)
{
    struct paying_opts o = {.values = m, .dir = dir, .file = name};

    if (home_find(&a->home, e) < 0)
        return -1;
    o.home = a->home.dir;
    o.loop = a->loop = loop_new(e);
    return a->loop ? paying_open(&a->asked, &o, e) : -1;
}

int inquiry_close(struct inquiry *a, struct err *e)
{
    int rc;

    term_close(a->term);
    rc = paying_close(&a->asked, e);
    if (a->loop)
        loop_free(a->loop);
    home_release(&a->home);
    return rc;
}

void inquiry_step(struct inquiry *a, size_t done)
{
    char note[40];

    modeling_news(&a->asked.model);
    snprintf(note, sizeof(note), "$%.4f",
             (double)a->asked.model.budget.spent.usd_micro / 1e6);
    term_set(a->term, done, note);
}
