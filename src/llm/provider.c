/* provider.c: the list of providers, and llm_open(). */
#include "llm/provider.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- requests under way ---- */

void *send_new(size_t size, struct provider *p, send_fn *fn, void *arg)
{
    struct send *s = xcalloc(1, size);

    *s = (struct send){.from = p, .next = p->first, .fn = fn, .arg = arg};
    if (s->next)
        s->next->prev = s;
    p->first = s;
    return s;
}

void send_free(struct send *s)
{
    *(s->prev ? &s->prev->next : &s->from->first) = s->next;
    if (s->next)
        s->next->prev = s->prev;
    free(s);
}

void send_end(struct send *s, const struct send_result *r)
{
    send_fn *fn = s->fn;
    void *arg = s->arg;

    send_free(s);
    fn(arg, r);
}

void provider_close(struct provider *p)
{
    if (!p)
        return;
    while (p->first)
        p->type->cancel(p->first);
    p->type->close(p);
}

/* ---- the list ---- */

static const struct provider_type *const provider_types[] = {
    &provider_openai, &provider_anthropic, &provider_exec,
    &provider_spool,  &provider_replay,
};
#define TYPES (sizeof(provider_types) / sizeof(provider_types[0]))

const struct provider_type *provider_find(const char *name, struct err *e)
{
    struct buf names = BUF_INIT;

    for (size_t i = 0; i < TYPES; i++)
        if (strcmp(provider_types[i]->name, name) == 0)
            return provider_types[i];
    for (size_t i = 0; i < TYPES; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", provider_types[i]->name);
    err_set(e, ERR_USAGE, "unknown provider '%s'; choose one of %s", name,
            buf_str(&names));
    buf_release(&names);
    return NULL;
}

/* --price, else the user's file, else ours. The files apply to priced
 * providers: a command or a folder costs what --price says. */
static int provider_price(const struct llm_opts *o,
                          const struct provider_type *t, const char *home,
                          struct price *out, struct err *e)
{
    char *own;
    int rc = 0;

    *out = (struct price){0};
    if (o->price)
        return price_parse(o->price, out, e);
    if (o->prices && price_read(o->prices, o->model, out, e) < 0)
        return -1;
    if (!t->priced) {
        *out = (struct price){0};
        return 0;
    }
    if (!out->known) {
        own = fs_join(home, "prices.ini");
        rc = price_read(own, o->model, out, e);
        free(own);
    }
    return rc;
}

/* What the options say of the pace. */
static struct llm_rules provider_rules(const struct llm_opts *o)
{
    struct llm_rules rules = llm_default_rules;

    rules.max_tokens = o->max_tokens;
    rules.in_flight = o->in_flight;
    rules.retries = o->retries;
    rules.requests_per_minute = o->requests_per_minute;
    rules.tokens_per_minute = o->tokens_per_minute;
    rules.model = o->model;
    return rules;
}

struct llm *llm_open(struct loop *l, const struct llm_opts *o,
                     struct budget *budget, const char *home, struct err *e)
{
    const struct provider_type *t = provider_find(o->provider, e);
    struct llm_rules rules = provider_rules(o);
    struct provider *p;
    struct price price;

    if (!t)
        return NULL;
    if (o->max_tokens <= 0) {
        err_set(e, ERR_USAGE, "--max-tokens must be more than 0");
        return NULL;
    }
    if (provider_price(o, t, home, &price, e) < 0)
        return NULL;
    p = t->open(t, l, o, e);
    if (!p)
        return NULL;
    if (t->priced && !price.known)
        log_warn("the price of %s is unknown: only tokens are counted (set it "
                 "with --price IN,OUT or --prices FILE)",
                 o->model ? o->model : "a model without a name");
    return llm_new(l, p, &rules, &price, budget);
}

struct llm *llm_open_embeddings(struct loop *l, const struct llm_opts *o,
                                struct budget *budget, const char *home,
                                struct err *e)
{
    struct llm_rules rules = provider_rules(o);
    struct provider *p;
    struct price price;

    if (provider_price(o, &provider_embeddings, home, &price, e) < 0)
        return NULL;
    p = provider_embeddings.open(&provider_embeddings, l, o, e);
    if (!p)
        return NULL;
    rules.max_tokens = 1; /* nothing is written */
    rules.model = NULL;   /* nor recorded */
    return llm_new(l, p, &rules, &price, budget);
}
