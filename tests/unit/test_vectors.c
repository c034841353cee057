/* test_vectors.c: embeddings are calls like any other: under the cap, stored
 * before they are used, never paid for twice. */
#include "base/fs.h"
#include "base/log.h"
#include "llm/llm.h"
#include "scratch.h"
#include "scripted.h"
#include "search/embed.h"
#include "store_fixture.h"
#include "tap.h"

#include <stdlib.h>

#define TEXTS 70 /* two requests */
#define DIM   3

/* One life of a program. */
struct life {
    struct loop *loop;
    struct store *store;
    struct budget budget;
    struct scripted *provider;
    struct llm *client;
    struct ledger *ledger;
    float answer[TEXTS * DIM];
    struct vectors out;
    struct err e;
};

/* The vector of a text is its first byte, its length, 1. */
static void next(struct scripted *s, size_t n, const struct llm_request *r,
                 struct send_result *out, int64_t *after_ns)
{
    struct life *f = s->arg;

    (void)n;
    *after_ns = 0;
    for (size_t i = 0; i < r->count; i++) {
        f->answer[i * DIM] = (float)r->message[i].text.p[0];
        f->answer[i * DIM + 1] = (float)r->message[i].text.n;
        f->answer[i * DIM + 2] = 1;
    }
    *out = scripted_answer("", 100, 0);
    out->text =
        (struct str){(const char *)f->answer, r->count * DIM * sizeof(float)};
}

static int live(struct life *f, const char *dir, int64_t cap)
{
    struct llm_rules rules = llm_default_rules;
    struct price price = {.known = true, .input = 1000000};
    char *db = scratch_path(dir, "run.db"), texts[TEXTS][16];
    struct str text[TEXTS];
    struct vectors_parts p = {.model = "m"};
    int rc;

    for (int i = 0; i < TEXTS; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%c%d", 'a' + i % 26, i);
        text[i] = str_of(texts[i]);
    }
    f->loop = loop_new(&f->e);
    f->store = db_open(dir, fs_is_file(db) ? STORE_OPEN : STORE_NEW, f->loop);
    budget_init(&f->budget, (struct llm_cost){cap, BUDGET_NO_CAP});
    rules.max_tokens = 1;
    f->provider = scripted_new(f->loop, next, f, true);
    f->client =
        llm_new(f->loop, &f->provider->base, &rules, &price, &f->budget);
    f->ledger = ledger_open(
        &(struct ledger_parts){f->loop, f->store, &f->budget, false}, &f->e);
    p.loop = f->loop;
    p.store = f->store;
    p.ledger = f->ledger;
    p.client = f->client;
    rc = vectors_make(&p, text, TEXTS, &f->out, &f->e);
    return rc;
}

static size_t end(struct life *f)
{
    size_t sent = f->provider->sent;

    free(f->out.v);
    ledger_close(f->ledger);
    llm_close(f->client);
    db_close(f->store);
    loop_free(f->loop);
    return sent;
}

static void test_once(void)
{
    char *dir = scratch_dir(), *db = scratch_path(dir, "run.db");
    struct life f = {0}, g = {0}, h = {0};

    ok(live(&f, dir, BUDGET_NO_CAP) == VECTORS_DONE && f.out.dim == DIM &&
           f.out.v[0] == 'a' && f.out.v[69 * DIM] == 'a' + 69 % 26 &&
           f.out.v[69 * DIM + 1] == 3,
       "every text has its vector");
    ok(f.budget.spent.usd_micro == 200, "and the budget its cost");
    ok(end(&f) == 2, "in two requests");
    ok(live(&g, dir, BUDGET_NO_CAP) == VECTORS_DONE && g.out.v[0] == 'a' &&
           g.budget.spent.usd_micro == 200,
       "the next life has them, and knows what they cost");
    ok(end(&g) == 0, "without asking");
    db_exec(db, "DELETE FROM vector WHERE rowid % 3 = 0");
    ok(live(&h, dir, BUDGET_NO_CAP) == VECTORS_DONE && h.out.v[6] == 'c',
       "what a crash left of them is completed");
    ok(end(&h) == 0, "from the stored replies");
}

static void test_cap(void)
{
    char *dir = scratch_dir();
    struct life f = {0};

    ok(live(&f, dir, 100) == VECTORS_NO_BUDGET && f.out.need.usd_micro > 100,
       "a request that does not fit under the cap is not sent");
    ok(end(&f) == 0 && f.budget.spent.usd_micro == 0, "and costs nothing");
}

static void test_built_in(void)
{
    struct vectors_parts p = {0};
    struct str text = STR_LIT("import torch");
    struct vectors v;
    struct err e = ERR_INIT;

    ok(vectors_make(&p, &text, 1, &v, &e) == VECTORS_DONE && v.dim == EMBED_DIM,
       "without an endpoint they are built in");
    free(v.v);
    embed_free(v.embed);
}

SUITE(vectors)
{
    test_once();
    test_cap();
    test_built_in();
}
