/* cmd_llm_ping.c: monkeys llm ping: one tiny question to a model, or one tiny
 * text to make a vector of. */
#include "base/json.h"
#include "base/mem.h"
#include "base/tick.h"
#include "cmd/cmd.h"
#include "io/term.h"
#include "llm/modeling.h"
#include "llm/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN             60 /* columns of an answer */
#define OWN_CAP_USD_MICRO 50000

struct ping_values {
    struct modeling_values m;
    bool embeddings, json;
};

#define VALUES struct ping_values
static const struct opt ping_table[] = {
    MODELING_OPTIONS,
    {"embeddings", 0, OPT_FLAG, NULL,
     "ask the endpoint's /embeddings for the vector of a word instead",
     AT(embeddings)},
    {"json", 0, OPT_FLAG, NULL, "print the result as a JSON object", AT(json)},
    {0},
};

struct ping {
    const struct ping_values *v;
    const struct modeling *m;
    struct err *e;
    int64_t begun_ns; /* of a vector: a reply knows its own time */
    int rc;
};

/* ---- an answer ---- */

static void ping_print(const struct ping *p, const struct llm_reply *r)
{
    const struct llm_usage *u = &r->usage;
    struct str text = str_trim(r->text);
    char *copy = xstrndup(text.p, text.n);
    struct buf line = BUF_INIT;

    /* A model's text may hold anything. */
    buf_printf(&line, "%s%s%.*s answered in %.3f s (%d request%s): ",
               p->m->opts.provider, r->model.n ? " " : "", (int)r->model.n,
               r->model.p, (double)r->wall_ns / (double)TICK_S, r->requests,
               r->requests == 1 ? "" : "s");
    term_cut(copy, SHOWN, &line);
    puts(buf_str(&line));
    buf_release(&line);
    free(copy);
    printf("tokens: %lld in (%lld cached), %lld out (%lld "
           "reasoning)%s\n",
           (long long)u->input, (long long)u->cached, (long long)u->output,
           (long long)u->reasoning, u->estimated ? ", estimated" : "");
    if (llm_has_price(p->m->llm))
        printf("cost: $%lld.%06lld\n", (long long)(r->cost.usd_micro / 1000000),
               (long long)(r->cost.usd_micro % 1000000));
    else
        printf("cost: %s\n", llm_is_priced(p->m->llm)
                                 ? "unknown: no price is known for the model"
                                 : "none: this provider is free");
}

static void ping_print_json(const struct ping *p, const struct llm_reply *r)
{
    json_t *usage = json_pack(
        "{s:I, s:I, s:I, s:I, s:b}", "input", (json_int_t)r->usage.input,
        "cached", (json_int_t)r->usage.cached, "output",
        (json_int_t)r->usage.output, "reasoning",
        (json_int_t)r->usage.reasoning, "estimated", r->usage.estimated);

    jsn_line(json_pack(
        "{s:s, s:s, s:o, s:o, s:s, s:o, s:o, s:i, s:I, s:o}", "provider",
        p->m->opts.provider, "outcome", llm_outcomes[r->outcome], "model",
        jsn_text(r->model.p, r->model.n), "text",
        jsn_text(r->text.p, r->text.n), "finish", llm_finishes[r->finish],
        "usage", usage, "usd_micro",
        llm_has_price(p->m->llm) ? json_integer(r->cost.usd_micro)
                                 : json_null(),
        "requests", (int)r->requests, "wall_ms",
        (json_int_t)(r->wall_ns / TICK_MS), "error", jsn_of(r->error)));
}

static void ping_on_done(struct llm_call *c, const struct llm_reply *r,
                         void *arg)
{
    static const enum err_kind kinds[] = {ERR_NONE, ERR_SYSTEM, ERR_INPUT,
                                          ERR_BUDGET};
    struct ping *p = arg;

    (void)c;
    if (p->v->json)
        ping_print_json(p, r);
    else if (r->outcome == LLM_ANSWERED)
        ping_print(p, r);
    p->rc = 0;
    if (r->outcome != LLM_ANSWERED)
        p->rc = err_set(p->e, kinds[r->outcome], "%s%s",
                        r->outcome == LLM_REFUSED ? "refused: " : "", r->error);
}

static int ping_ask(struct ping *p, struct loop *l)
{
    const struct llm_message message = {
        "user", STR_LIT("Answer with the one word: pong"), 0};
    const struct llm_request r = {
        .key = {"ping", "ping", "ping", 1}, .message = &message, .count = 1};
    const struct llm_handlers h = {NULL, ping_on_done};

    if (!llm_ask(p->m->llm, &r, &h, p, p->e))
        return -1;
    loop_run(l);
    return p->rc;
}

/* ---- a vector ---- */

static size_t ping_dim(const struct send_result *r)
{
    return r->text.n / sizeof(float);
}

static void ping_print_vector(const struct ping *p, const struct send_result *r,
                              enum llm_outcome outcome, int64_t wall_ns)
{
    const char *error = r->error ? r->error : "", *model = p->m->opts.model;

    jsn_line(json_pack(
        "{s:s, s:s, s:o, s:I, s:I, s:I, s:o}", "provider", p->m->opts.provider,
        "outcome", llm_outcomes[outcome], "model", jsn_of(model), "dim",
        outcome == LLM_ANSWERED ? (json_int_t)ping_dim(r) : 0, "tokens",
        (json_int_t)r->usage.input, "wall_ms", (json_int_t)(wall_ns / TICK_MS),
        "error", jsn_of(error)));
}

static void ping_on_vector(void *arg, const struct send_result *r)
{
    static const struct {
        enum llm_outcome outcome;
        enum err_kind kind;
    } ends[] = {
        [SEND_ANSWERED] = {LLM_ANSWERED, ERR_NONE},
        [SEND_RETRY] = {LLM_FAILED, ERR_SYSTEM},
        [SEND_LOST] = {LLM_FAILED, ERR_SYSTEM},
        [SEND_REFUSED] = {LLM_REFUSED, ERR_INPUT},
    };
    struct ping *p = arg;
    int64_t wall_ns = tick_now_ns() - p->begun_ns;

    if (p->v->json)
        ping_print_vector(p, r, ends[r->outcome].outcome, wall_ns);
    else if (r->outcome == SEND_ANSWERED)
        printf("%s %s answered in %.3f s: a vector of %zu dimensions\n"
               "tokens: %lld in%s\n",
               p->m->opts.provider, p->m->opts.model,
               (double)wall_ns / (double)TICK_S, ping_dim(r),
               (long long)r->usage.input,
               r->usage.input ? "" : ", not reported");
    p->rc = 0;
    if (r->outcome != SEND_ANSWERED)
        p->rc = err_set(p->e, ends[r->outcome].kind, "%s", r->error);
}

static int ping_embed(struct ping *p, struct loop *l)
{
    const struct llm_message text = {"user", STR_LIT("pong"), 0};
    const struct llm_request r = {.message = &text, .count = 1};
    const struct provider_type *t = &provider_embeddings;
    struct provider *m = t->open(t, l, &p->m->opts, p->e);

    if (!m)
        return -1;
    p->begun_ns = tick_now_ns();
    if (t->send(m, &r, ping_on_vector, p, p->e))
        loop_run(l);
    provider_close(m);
    return p->rc;
}

/* ---- the command ---- */

static int ping_check(const struct ping_values *v, const struct cmd_call *call,
                      struct err *e)
{
    const char *other = v->m.command    ? "--command"
                        : v->m.spool    ? "--spool"
                        : v->m.cassette ? "--cassette"
                        : v->m.record   ? "--record"
                        : v->m.stream   ? "--stream"
                                        : NULL;

    if (call->r.rest_len)
        return err_set(e, ERR_USAGE, "'%s' is not an option", call->r.rest[0]);
    if (v->embeddings && other)
        return err_set(e, ERR_USAGE, "--embeddings and %s cannot be combined",
                       other);
    if (v->embeddings && v->m.provider && strcmp(v->m.provider, "openai") != 0)
        return err_set(e, ERR_USAGE,
                       "--embeddings works with the provider openai, not %s",
                       v->m.provider);
    return 0;
}

static int ping_run(struct cmd_call *call, struct err *e)
{
    struct ping_values *v = call->values;
    bool own_cap = !v->m.budget_usd && !v->m.no_cap;
    struct modeling m = {0};
    struct ping p = {.v = v, .m = &m, .e = e, .rc = -1};
    struct loop *l = NULL;
    int rc = -1;

    if (ping_check(v, call, e) < 0)
        return -1;
    v->m.no_cap |= own_cap;
    if (!cmd_home(call, e) || modeling_read(&v->m, &m, e) < 0)
        goto out;
    if (own_cap)
        m.budget.cap.usd_micro = OWN_CAP_USD_MICRO;
    if (!(l = loop_new(e)))
        goto out;
    if (v->embeddings) {
        rc = ping_embed(&p, l);
        goto out;
    }
    if (modeling_open(&v->m, &m, l, cmd_home(call, e)->dir, e) < 0 ||
        llm_record(m.llm, v->m.record, NULL, e) < 0)
        goto out;
    rc = ping_ask(&p, l);
    modeling_news(&m);
out:
    modeling_close(&m);
    if (l)
        loop_free(l);
    return rc;
}

static const struct ping_values ping_defaults = {
    .m = MODELING_DEFAULTS_WITH(256)};

const struct cmd cmd_llm_ping = {
    .name = "llm ping",
    .args = "",
    .summary = "ask a model a tiny question and show time, tokens and cost",
    .text =
        "The answer may have at most 256 tokens and, where the price is "
        "known,\n"
        "cost at most 5 cents, unless other limits are given. The API key "
        "comes\n"
        "from MONKEYS_API_KEY, else from OPENAI_API_KEY or ANTHROPIC_API_KEY.\n"
        "--embeddings sends one request, does not retry it, and shows its "
        "time,\n"
        "its tokens and the length of the vector, but not its cost. Exit "
        "status:\n"
        "0 answered, 2 refused, 3 over the budget, 4 no answer.",
    .table = ping_table,
    .run = ping_run,
    .size = sizeof(struct ping_values),
    .defaults = &ping_defaults,
};
