/* vectors.c: where tasks and kernels lie: a vector for each source, built
 * in, or from an endpoint and then kept in the store. */
#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "llm/embeddings.h"
#include "run/run_int.h"

#include <stdlib.h>
#include <string.h>

#define TEXTS_A_REQUEST 64
#define TRIES           5

static size_t count_of(const struct run *r)
{
    return r->tasks.len + r->kernel_len;
}

static struct str source_of(const struct run *r, size_t i)
{
    const struct task *t =
        i < r->tasks.len ? r->tasks.task[i] : r->kernel[i - r->tasks.len].task;

    return (struct str){t->source, t->len};
}

static void built_in(struct run *r)
{
    struct embed *m = embed_new();

    r->dim = EMBED_DIM;
    r->vectors = xcalloc(count_of(r), r->dim * sizeof(*r->vectors));
    for (size_t i = 0; i < count_of(r); i++)
        embed_learn(m, source_of(r, i));
    for (size_t i = 0; i < count_of(r); i++)
        embed_vector(m, source_of(r, i), r->vectors + i * r->dim);
    embed_free(m);
}

/* ---- an endpoint ---- */

struct fetching {
    struct run *r;
    struct embeddings *endpoint;
    const char *source;
    bool *have;
    size_t index[TEXTS_A_REQUEST], count; /* the request under way */
    int64_t wait_ns;
    bool over;  /* what was waited for is there */
    bool again; /* worth another try */
    struct err *e;
};

/* All vectors of a run have one length. */
static int place(struct fetching *f, size_t i, const float *v, size_t dim)
{
    struct run *r = f->r;

    if (!r->vectors) {
        r->dim = dim;
        r->vectors = xcalloc(count_of(r), dim * sizeof(*v));
    }
    if (dim != r->dim)
        return err_set(f->e, ERR_INPUT,
                       "%s gave a vector of %zu numbers after one of %zu",
                       f->source, dim, r->dim);
    memcpy(r->vectors + i * dim, v, dim * sizeof(*v));
    f->have[i] = true;
    return 0;
}

static int on_stored(const struct row_vector *row, void *arg)
{
    struct fetching *f = arg;
    char hash[HASH_HEX];

    for (size_t i = 0; i < count_of(f->r); i++) {
        struct str text = source_of(f->r, i);

        hash_hex(text.p, text.n, hash);
        if (strcmp(hash, row->hash) == 0 && !f->have[i] &&
            place(f, i, row->v, row->dim) < 0)
            return -1;
    }
    return 0;
}

static void on_vectors(void *arg, const struct embeddings_result *v)
{
    struct fetching *f = arg;
    char hash[HASH_HEX];

    f->over = true;
    f->again = v->outcome == SEND_RETRY || v->outcome == SEND_LOST;
    f->wait_ns = v->retry_after_ns;
    if (v->outcome != SEND_ANSWERED)
        err_set(f->e, ERR_SYSTEM, "the embeddings of %s: %s", f->source,
                v->error);
    for (size_t i = 0; v->outcome == SEND_ANSWERED && i < v->count; i++) {
        struct str text = source_of(f->r, f->index[i]);
        struct row_vector row = {.source = f->source,
                                 .hash = hash,
                                 .v = v->vector + i * v->dim,
                                 .dim = v->dim};

        if (place(f, f->index[i], row.v, row.dim) < 0)
            break;
        hash_hex(text.p, text.n, hash);
        store_vector(f->r->store, &row);
    }
    loop_stop(f->r->loop);
}

static void on_waited(void *arg)
{
    struct fetching *f = arg;

    f->over = true;
    loop_stop(f->r->loop);
}

/* Others stop the loop, too: a worker that has nothing to do, for one. */
static int wait_for(struct fetching *f)
{
    f->over = false;
    while (!f->over && !f->r->stopping)
        loop_run(f->r->loop);
    return f->over ? 0 : err_set(f->e, ERR_SYSTEM, "stopped");
}

static int send_once(struct fetching *f, int try)
{
    struct str text[TEXTS_A_REQUEST];

    if (try) {
        int64_t wait = f->wait_ns ? f->wait_ns : TICK_S << try;

        log_warn("%s; again in %lld s", f->e->text, (long long)(wait / TICK_S));
        loop_add_timer(f->r->loop, tick_now_ns() + wait, on_waited, f);
        if (wait_for(f) < 0)
            return -1;
        *f->e = (struct err)ERR_INIT;
    }
    for (size_t i = 0; i < f->count; i++)
        text[i] = source_of(f->r, f->index[i]);
    f->again = false;
    if (!embeddings_send(f->endpoint, text, f->count, on_vectors, f, f->e))
        return -1;
    if (wait_for(f) < 0)
        return -1;
    return f->e->kind == ERR_NONE ? 0 : -1;
}

static int fetch(struct fetching *f)
{
    size_t n = count_of(f->r), next = 0;
    int rc = 0, try;

    while (rc == 0 && next < n) {
        f->count = 0;
        for (; next < n && f->count < TEXTS_A_REQUEST; next++)
            if (!f->have[next])
                f->index[f->count++] = next;
        if (f->count == 0)
            break;
        try = 0;
        do
            rc = send_once(f, try);
        while (rc < 0 && f->again && ++try < TRIES);
    }
    return rc;
}

static struct embeddings *open_endpoint(struct run *r, struct err *e)
{
    struct llm_opts o = r->model.opts;

    o.base_url = r->set->embeddings;
    o.model = r->set->embedding_model;
    return embeddings_open(r->loop, &o, e);
}

static int from_endpoint(struct run *r, struct err *e)
{
    struct fetching f = {.r = r, .e = e, .source = r->set->embedding_model};
    int rc = -1;

    f.endpoint = open_endpoint(r, e);
    if (!f.endpoint)
        return -1;
    f.have = xcalloc(count_of(r) + 1, sizeof(*f.have));
    if (store_each_vector(r->store, f.source, on_stored, &f, e) == 0)
        rc = fetch(&f);
    embeddings_close(f.endpoint);
    free(f.have);
    return rc == 0 ? store_sync(r->store, e) : rc;
}

int run_vectors_check(struct run *r, struct err *e)
{
    struct embeddings *m;

    if (strcmp(r->set->embeddings, "hash") == 0)
        return 0;
    if (!r->set->embedding_model)
        return err_set(e, ERR_USAGE,
                       "--embeddings URL needs --embedding-model NAME");
    m = open_endpoint(r, e);
    if (!m)
        return err_wrap(e, "--embeddings");
    embeddings_close(m);
    return 0;
}

int run_vectors(struct run *r, struct err *e)
{
    if (strcmp(r->set->embeddings, "hash") != 0)
        return from_endpoint(r, e);
    built_in(r);
    return 0;
}
