/* vectors.c: takes vectors from the store, and requests the missing ones in
 * batches. */
#include "search/vectors.h"

#include "base/mem.h"
#include "io/co.h"
#include "search/embed.h"

#include <stdlib.h>
#include <string.h>

#define TEXTS_A_REQUEST 64

static void built_in(const struct str *text, size_t count, struct vectors *out)
{
    struct embed *m = embed_new();

    out->dim = EMBED_DIM;
    out->v = xcalloc(count + 1, out->dim * sizeof(*out->v));
    for (size_t i = 0; i < count; i++)
        embed_learn(m, text[i]);
    for (size_t i = 0; i < count; i++)
        embed_vector(m, text[i], out->v + i * out->dim);
    out->embed = m;
}

/* ---- an endpoint ---- */

struct fetching {
    const struct vectors_parts *part;
    const struct str *text;
    size_t count;
    char (*hash)[HASH_HEX]; /* for each text */
    bool *have;
    struct vectors *out;
    struct err *e;
    /* the current request */
    size_t first, asked; /* its texts */
    struct co *co;       /* waits for its answer; NULL: it is there */
    int rc;
};

/* All vectors of a run have the same length. */
static int place(struct fetching *f, size_t i, const float *v, size_t dim)
{
    struct vectors *out = f->out;

    if (!out->v) {
        out->dim = dim;
        out->v = xcalloc(f->count, dim * sizeof(*v));
    }
    if (dim != out->dim)
        return err_set(f->e, ERR_INPUT,
                       "%s returned a vector of %zu numbers after one of %zu",
                       f->part->model, dim, out->dim);
    memcpy(out->v + i * dim, v, dim * sizeof(*v));
    f->have[i] = true;
    return 0;
}

static int on_stored(const void *row, void *arg)
{
    const struct row_vector *r = row;
    struct fetching *f = arg;

    if (strcmp(r->source, f->part->model) != 0)
        return 0;
    for (size_t i = 0; i < f->count; i++)
        if (!f->have[i] && strcmp(f->hash[i], r->hash) == 0 &&
            place(f, i, r->v, r->dim) < 0)
            return -1;
    return 0;
}

/* A text that occurs twice is stored once: an endpoint may round
 * differently. */
static bool vectors_repeat(const struct fetching *f, size_t i)
{
    size_t j = 0;

    while (j < i && strcmp(f->hash[j], f->hash[i]) != 0)
        j++;
    return j < i;
}

/* A reply has the vectors of its texts, in order. */
static int vectors_take(struct fetching *f, struct str reply)
{
    size_t dim = reply.n / sizeof(float) / f->asked;
    float *v = xmalloc(reply.n + 1);
    int rc = 0;

    memcpy(v, reply.p, reply.n);
    for (size_t k = 0; rc == 0 && k < f->asked; k++) {
        struct row_vector row = {.source = f->part->model,
                                 .hash = f->hash[f->first + k],
                                 .v = v + k * dim,
                                 .dim = dim};

        if (f->have[f->first + k])
            continue;
        rc = place(f, f->first + k, row.v, dim);
        if (rc == 0 && !vectors_repeat(f, f->first + k))
            store_vector(f->part->store, &row);
    }
    free(v);
    return rc;
}

static int vectors_take_answer(struct fetching *f,
                               const struct ledger_answer *a)
{
    switch (a->end) {
    case LEDGER_ANSWERED:
        return vectors_take(f, a->text);
    case LEDGER_FAILED:
        return err_set(f->e, ERR_SYSTEM, "the embeddings of %s: %s",
                       f->part->model, a->why);
    case LEDGER_NO_BUDGET:
        f->out->need = a->need;
        return VECTORS_NO_BUDGET;
    case LEDGER_STOPPED:
        return VECTORS_STOPPED;
    case LEDGER_BROKEN:
        *f->e = *a->err;
        return -1;
    }
    BUG("end %d", a->end);
}

/* Sends one request. The same texts and model make the same request. */
static void request_vectors(void *arg)
{
    struct fetching *f = arg;
    struct llm_message message[TEXTS_A_REQUEST];
    char asked[HASH_HEX];
    struct hash h;
    struct arena memory = {0};
    struct ledger_answer a;
    struct ledger_question q = {
        .purpose = "embed",
        .asked = asked,
        .task = -1,
        .client = f->part->client,
        .request = {.key = {"embeddings", "embed", "embed", 1},
                    .message = message,
                    .count = f->asked},
        .prompt_hash = asked};

    hash_init(&h);
    hash_add(&h, f->part->model, strlen(f->part->model) + 1);
    for (size_t k = 0; k < f->asked; k++) {
        message[k] =
            (struct llm_message){.role = "user", .text = f->text[f->first + k]};
        hash_add(&h, f->hash[f->first + k], HASH_HEX);
    }
    hash_finish_hex(&h, asked);
    f->rc = ledger_ask(f->part->ledger, &q, &memory, &a) < 0
                ? VECTORS_STOPPED
                : vectors_take_answer(f, &a);
    arena_release(&memory);
    f->co = NULL;
    loop_stop(f->part->loop);
}

static int vectors_ask(struct fetching *f)
{
    f->co = co_start(request_vectors, f);
    while (f->co && !(f->part->hurry && *f->part->hurry))
        loop_run(f->part->loop); /* others may stop the loop, too */
    if (f->co)
        co_cancel(f->co);
    return f->rc;
}

static bool have_all(const struct fetching *f)
{
    size_t k = 0;

    while (k < f->asked && f->have[f->first + k])
        k++;
    return k == f->asked;
}

/* A request always has the same texts, whether or not the store has some of
 * them. So it finds a reply that was paid for earlier. */
static int fetch(struct fetching *f)
{
    int rc = 0;

    for (; rc == 0 && f->first < f->count; f->first += TEXTS_A_REQUEST) {
        f->asked = f->count - f->first < TEXTS_A_REQUEST ? f->count - f->first
                                                         : TEXTS_A_REQUEST;
        if (!have_all(f))
            rc = vectors_ask(f);
    }
    return rc;
}

static int from_endpoint(const struct vectors_parts *p, const struct str *text,
                         size_t count, struct vectors *out, struct err *e)
{
    struct fetching f = {
        .part = p, .text = text, .count = count, .out = out, .e = e};
    int rc = -1;

    f.have = xcalloc(count + 1, sizeof(*f.have));
    f.hash = xcalloc(count + 1, sizeof(*f.hash));
    for (size_t i = 0; i < count; i++)
        hash_hex(text[i].p, text[i].n, f.hash[i]);
    if (store_each(p->store, STORE_VECTORS, on_stored, &f, e) == 0)
        rc = fetch(&f);
    free(f.have);
    free(f.hash);
    return rc == 0 ? store_sync(p->store, e) : rc;
}

int vectors_make(const struct vectors_parts *p, const struct str *text,
                 size_t count, struct vectors *out, struct err *e)
{
    *out = (struct vectors){0};
    if (p->client)
        return from_endpoint(p, text, count, out, e);
    built_in(text, count, out);
    return VECTORS_DONE;
}
