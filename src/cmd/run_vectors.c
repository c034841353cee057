/* run_vectors.c: where tasks and kernels lie: a vector for each source. */
#include "base/mem.h"
#include "cmd/run_int.h"

#include <string.h>

static struct str source_of(const struct running *r, size_t i)
{
    const struct task *t =
        i < r->tasks.len ? r->tasks.task[i] : r->kernel[i - r->tasks.len].task;

    return (struct str){t->source, t->len};
}

static void built_in(struct running *r)
{
    size_t n = r->tasks.len + r->kernel_len;
    struct embed *m = embed_new();

    r->dim = EMBED_DIM;
    r->vectors = xcalloc(n, r->dim * sizeof(*r->vectors));
    for (size_t i = 0; i < n; i++)
        embed_learn(m, source_of(r, i));
    for (size_t i = 0; i < n; i++)
        embed_vector(m, source_of(r, i), r->vectors + i * r->dim);
    embed_free(m);
}

int run_vectors(struct running *r, struct err *e)
{
    (void)e;
    built_in(r);
    return 0;
}
