/* known.c: reads the calls of a store. */
#include "ledger/known.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 128

static struct str key_of(const char *purpose, const char *asked, char *out)
{
    snprintf(out, KEY_BYTES, "%s/%s", purpose, asked);
    return str_of(out);
}

struct known_call *known_find(const struct map *known, const char *purpose,
                              const char *asked)
{
    char key[KEY_BYTES];

    return map_get(known, key_of(purpose, asked, key));
}

void known_release(struct map *known)
{
    for (size_t i = 0; i < known->len; i++)
        free(known->items[i].value);
    map_release(known);
}

struct loading {
    struct map *known;
    struct budget *budget;
};

struct known_call *known_put(struct map *known, const char *purpose,
                             const char *asked)
{
    struct known_call *k = known_find(known, purpose, asked);
    char key[KEY_BYTES];

    if (k)
        return k;
    k = xcalloc(1, sizeof(*k));
    map_set(known, key_of(purpose, asked, key), k);
    return k;
}

/* A call without a reply keeps its try and its reservation until it is asked
 * again. */
static int on_call(const struct row_call *r, void *arg)
{
    struct loading *l = arg;
    struct known_call *k = known_put(l->known, r->purpose, r->asked);
    struct budget *b = l->budget;
    bool open = strcmp(r->state, "open") == 0;

    if ((open || strcmp(r->state, "answered") == 0) && r->prompt_hash)
        snprintf(k->prompt, sizeof(k->prompt), "%s", r->prompt_hash);
    if (open) {
        k->tries = r->try - 1;
        k->held = (struct llm_cost){r->reserved_usd_micro, r->reserved_tokens};
        b->reserved = cost_add(b->reserved, k->held);
        return 0;
    }
    k->tries = r->try;
    b->spent = cost_add(b->spent,
                        (struct llm_cost){r->cost_usd_micro, r->cost_tokens});
    if (strcmp(r->state, "answered") == 0 && r->reply) {
        snprintf(k->reply, sizeof(k->reply), "%s", r->reply);
        k->cut = r->finish && strcmp(r->finish, llm_finishes[LLM_LENGTH]) == 0;
    }
    return 0;
}

int known_load(struct store *s, struct budget *b, struct map *known,
               struct err *e)
{
    struct loading l = {known, b};

    return store_each_call(s, on_call, &l, e) == 0 ? 0 : -1;
}

/* ---- calls that were under way ---- */

void known_make_lost(struct row_call *r)
{
    r->state = "lost";
    r->cost_usd_micro = r->assumed_usd_micro = r->reserved_usd_micro;
    r->cost_tokens = r->reserved_tokens;
    r->estimated = true;
    r->reply = r->thought = r->finish = r->model = r->error = NULL;
}

struct losing {
    struct row_call *call;
    size_t len, cap;
};

static int on_open_call(const struct row_call *r, void *arg)
{
    struct losing *l = arg;
    struct row_call *c;

    if (strcmp(r->state, "open") != 0)
        return 0;
    l->call = xgrow(l->call, &l->cap, l->len, sizeof(*l->call));
    c = &l->call[l->len++];
    *c = *r;
    c->purpose = xstrdup(r->purpose);
    c->asked = xstrdup(r->asked);
    c->prompt = r->prompt ? xstrdup(r->prompt) : NULL;
    c->prompt_hash = r->prompt_hash ? xstrdup(r->prompt_hash) : NULL;
    return 0;
}

int ledger_lose(struct store *s, struct err *e)
{
    struct losing l = {0};
    int rc = store_each_call(s, on_open_call, &l, e) == 0 ? 0 : -1;

    for (size_t i = 0; i < l.len; i++) {
        struct row_call *c = &l.call[i];

        known_make_lost(c);
        if (rc == 0)
            store_call(s, c);
        free((char *)c->purpose);
        free((char *)c->asked);
        free((char *)c->prompt);
        free((char *)c->prompt_hash);
    }
    if (rc == 0 && l.len)
        log_info("%zu call%s under way when the run ended: counted as spent, "
                 "and asked again",
                 l.len, l.len == 1 ? " was" : "s were");
    free(l.call);
    return rc == 0 ? store_sync(s, e) : rc;
}
