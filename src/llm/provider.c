/* provider.c: the list of providers, and llm_open(). */
#include "llm/provider.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

static const struct provider_type *const types[] = {
    &provider_openai, &provider_anthropic, &provider_exec,
    &provider_spool,  &provider_replay,
};
#define TYPES (sizeof(types) / sizeof(types[0]))

const struct provider_type *provider_find(const char *name, struct err *e)
{
    struct buf names;

    for (size_t i = 0; i < TYPES; i++)
        if (strcmp(types[i]->name, name) == 0)
            return types[i];
    buf_init(&names, BUF_UNLIMITED);
    for (size_t i = 0; i < TYPES; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", types[i]->name);
    err_set(e, ERR_USAGE, "unknown provider '%s'; choose one of %s", name,
            buf_str(&names));
    buf_release(&names);
    return NULL;
}

/* --price, else the user's file, else ours. The files apply to priced
 * providers: a command or a folder costs what --price says. */
int provider_price(const struct llm_opts *o, const struct provider_type *t,
                   const char *home, struct price *out, struct err *e)
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

struct llm *llm_open(struct loop *l, const struct llm_opts *o,
                     struct budget *budget, const char *home, struct err *e)
{
    const struct provider_type *t = provider_find(o->provider, e);
    struct llm_rules rules = llm_default_rules;
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
    p = t->open(l, o, e);
    if (!p)
        return NULL;
    if (t->priced && !price.known)
        log_warn("the price of %s is unknown: only tokens are counted (set it "
                 "with --price IN,OUT or --prices FILE)",
                 o->model ? o->model : "a model without a name");
    rules.max_tokens = o->max_tokens;
    rules.in_flight = o->in_flight;
    rules.retries = o->retries;
    rules.requests_per_minute = o->requests_per_minute;
    rules.tokens_per_minute = o->tokens_per_minute;
    rules.model = o->model;
    return llm_new(l, p, &rules, &price, budget);
}
