/* modeling.c: from options to an open model. */
#include "llm/modeling.h"

#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "llm/price.h"
#include "llm/provider.h"

#include <string.h>

#define USD_PLACES  6
#define IN_FLIGHT   16
#define HOTTEST     10
#define TEMPERATURE 6 /* decimal places of a temperature */

/* Each of these options is one provider's. */
static int choose_provider(const struct modeling_values *v, const char **out,
                           struct err *e)
{
    const struct {
        const char *option, *value, *provider;
    } own[] = {
        {"--command", v->command, "exec"},
        {"--spool", v->spool, "spool"},
        {"--cassette", v->cassette, "replay"},
    };
    const char *by = NULL;

    *out = v->provider;
    for (size_t i = 0; i < 3; i++) {
        if (!own[i].value)
            continue;
        if (by)
            return err_set(e, ERR_USAGE, "%s and %s cannot be used together",
                           by, own[i].option);
        if (*out && strcmp(*out, own[i].provider) != 0)
            return err_set(e, ERR_USAGE,
                           "%s works with the provider %s, not %s",
                           own[i].option, own[i].provider, *out);
        *out = own[i].provider;
        by = own[i].option;
    }
    if (!*out)
        *out = "openai";
    return 0;
}

/* The option of one provider has no meaning for another. */
static void renew_provider(struct modeling_values *v,
                           const struct modeling_values *given)
{
    const struct {
        const char **value, *given, *provider;
    } own[] = {
        {&v->command, given->command, "exec"},
        {&v->spool, given->spool, "spool"},
        {&v->cassette, given->cassette, "replay"},
    };
    const char *who = given->provider;

    for (size_t i = 0; i < 3; i++)
        if (own[i].given)
            who = own[i].provider;
    for (size_t i = 0; i < 3; i++) {
        bool its = who && strcmp(who, own[i].provider) == 0;

        if (!its && (who || given->base_url))
            *own[i].value = NULL;
        if (!its && v->provider && strcmp(v->provider, own[i].provider) == 0 &&
            given->base_url)
            v->provider = NULL;
    }
    if (who)
        v->provider = NULL;
}

void modeling_renew(struct modeling_values *v,
                    const struct modeling_values *given)
{
    struct err e = ERR_INIT;
    struct price p;

    renew_provider(v, given);
    if (given->budget_usd)
        v->no_cap = false;
    if (given->no_cap)
        v->budget_usd = NULL;
    if ((given->base_url || given->provider) && v->price &&
        price_parse(v->price, &p, &e) == 0 && price_is_free(&p))
        v->price = NULL;
}

static int read_temperature(const char *text, double *out, struct err *e)
{
    int64_t v;

    *out = -1;
    if (!text)
        return 0;
    if (!str_to_fixed(str_of(text), TEMPERATURE, &v) ||
        v > (int64_t)HOTTEST * 1000000)
        return err_set(e, ERR_USAGE,
                       "--temperature: '%s' is not a number from 0 to %d", text,
                       HOTTEST);
    *out = (double)v / 1000000;
    return 0;
}

static int check_extra(const char *text, struct err *e)
{
    json_t *v;
    bool good;

    if (!text)
        return 0;
    v = jsn_parse("--extra-body", text, strlen(text), e);
    good = json_is_object(v);
    if (v && !good)
        err_set(e, ERR_USAGE, "--extra-body: not a JSON object");
    json_decref(v);
    if (!good)
        e->kind = ERR_USAGE;
    return good ? 0 : -1;
}

static int read_budget(const struct modeling_values *v, struct budget *b,
                       struct err *e)
{
    struct llm_cost cap = {BUDGET_NO_CAP, BUDGET_NO_CAP};

    if (v->budget_usd && v->no_cap)
        return err_set(e, ERR_USAGE, "give --budget-usd or --no-cap, not both");
    if (v->budget_usd &&
        (!str_to_fixed(str_of(v->budget_usd), USD_PLACES, &cap.usd_micro) ||
         cap.usd_micro == BUDGET_NO_CAP))
        return err_set(e, ERR_USAGE,
                       "--budget-usd: '%s' is not an amount of dollars, such "
                       "as 5 or 0.25 (at most %d decimal places)",
                       v->budget_usd, USD_PLACES);
    if (v->budget_tokens >= 0)
        cap.tokens = v->budget_tokens;
    budget_init(b, cap);
    return 0;
}

int modeling_read(const struct modeling_values *v, struct modeling *m,
                  struct err *e)
{
    const struct provider_type *t;

    *m = (struct modeling){.opts = {.base_url = v->base_url,
                                    .model = v->model,
                                    .command = v->command,
                                    .folder = v->spool,
                                    .cassette = v->cassette,
                                    .replay_strict = v->replay_strict,
                                    .stream = v->stream,
                                    .max_tokens = v->max_tokens,
                                    .effort = v->effort,
                                    .extra = v->extra,
                                    .organisation = v->organisation,
                                    .project = v->project,
                                    .ca_file = v->ca_file,
                                    .insecure = v->insecure,
                                    .in_flight = v->in_flight,
                                    .timeout_ms = v->timeout_s * 1000,
                                    .retries = (int)v->retries,
                                    .requests_per_minute = v->rpm,
                                    .tokens_per_minute = v->tpm,
                                    .prices = v->prices,
                                    .price = v->price}};
    if (choose_provider(v, &m->opts.provider, e) < 0)
        return -1;
    t = provider_find(m->opts.provider, e);
    if (!t)
        return -1;
    if (m->opts.in_flight < 0)
        m->opts.in_flight = t->patient ? 0 : IN_FLIGHT;
    if (read_temperature(v->temperature, &m->opts.temperature, e) < 0 ||
        check_extra(v->extra, e) < 0)
        return -1;
    return read_budget(v, &m->budget, e);
}

/* Whether the cap that the user wants can be kept. */
static int check_cap(const struct modeling_values *v, const struct llm *l,
                     struct err *e)
{
    if (!llm_is_priced(l))
        return 0;
    if (!v->budget_usd && !v->no_cap)
        return err_set(
            e, ERR_USAGE,
            "this provider costs money: set a limit with --budget-usd "
            "DOLLARS, or use --no-cap; --price 0,0 means free");
    if (v->budget_usd && !llm_has_price(l) && v->budget_tokens < 0)
        return err_set(e, ERR_USAGE,
                       "the price of %s is unknown, so --budget-usd cannot be "
                       "enforced: add --price IN,OUT, --prices FILE or "
                       "--budget-tokens N",
                       v->model ? v->model : "a model without a name");
    return 0;
}

int modeling_open(const struct modeling_values *v, struct modeling *m,
                  struct loop *l, const char *home, struct err *e)
{
    m->llm = llm_open(l, &m->opts, &m->budget, home, e);
    if (!m->llm)
        return -1;
    if (check_cap(v, m->llm, e) == 0)
        return 0;
    modeling_close(m);
    return -1;
}

void modeling_close(struct modeling *m)
{
    llm_close(m->llm);
    m->llm = NULL;
}

bool modeling_news(struct modeling *m)
{
    int percent = budget_news(&m->budget);

    if (percent)
        log_info("%d %% of the budget is spent: $%lld.%06lld and %lld tokens",
                 percent, (long long)(m->budget.spent.usd_micro / 1000000),
                 (long long)(m->budget.spent.usd_micro % 1000000),
                 (long long)m->budget.spent.tokens);
    return percent != 0;
}
