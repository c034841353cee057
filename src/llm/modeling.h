/* modeling.h: the options shared by all commands that ask a model: how it is
 * reached, and what it may cost. */
#ifndef LLM_MODELING_H
#define LLM_MODELING_H

#include "base/opt.h"
#include "llm/llm.h"

struct modeling_values {
    const char *provider, *base_url, *model, *command, *spool, *cassette;
    const char *record, *temperature, *effort, *extra, *ca_file;
    const char *organisation, *project, *prices, *price, *budget_usd;
    bool replay_strict, stream, no_cap, insecure;
    int64_t max_tokens, in_flight, timeout_s, retries, rpm, tpm, budget_tokens;
};

#define MODELING_DEFAULTS_WITH(tokens)                                         \
    {                                                                          \
        .max_tokens = tokens, .timeout_s = 600, .retries = 5, .in_flight = -1, \
        .budget_tokens = -1                                                    \
    }
#define MODELING_DEFAULTS MODELING_DEFAULTS_WITH(16384)

/* A command whose values do not begin with them says where they are. */
#define MODELING_AT 0
#define MODELING_OPTION(name, type, value, help, field, lo, hi)           \
    {                                                                     \
        name, 0, type, value, help,                                       \
            MODELING_AT + offsetof(struct modeling_values, field), lo, hi \
    }
#define MODELING_OPTIONS                                                   \
    MODELING_OPTION("max-tokens", OPT_INT, "N",                            \
                    "longest answer, reasoning included (default: 16384; " \
                    "ping: 256)",                                          \
                    max_tokens, 1, 10000000),                              \
        MODELING_REACH_OPTIONS
/* Those for a command with a --max-tokens of its own. */
#define MODELING_REACH_OPTIONS                                                 \
    MODELING_OPTION("provider", OPT_TEXT, "NAME",                              \
                    "openai, anthropic, exec, spool or replay (default: the "  \
                    "one that --command, --spool or --cassette belongs to, "   \
                    "else openai)",                                            \
                    provider, 0, 0),                                           \
        MODELING_OPTION("base-url", OPT_TEXT, "URL",                           \
                        "the endpoint's URL (default: the provider's)",        \
                        base_url, 0, 0),                                       \
        MODELING_OPTION("model", OPT_TEXT, "NAME", "the model", model, 0, 0),  \
        MODELING_OPTION("command", OPT_TEXT, "COMMAND",                        \
                        "exec: the command that sh runs for each request",     \
                        command, 0, 0),                                        \
        MODELING_OPTION("spool", OPT_TEXT, "DIR",                              \
                        "spool: the folder for requests and answers", spool,   \
                        0, 0),                                                 \
        MODELING_OPTION("cassette", OPT_TEXT, "FILE",                          \
                        "replay: the recorded answers", cassette, 0, 0),       \
        MODELING_OPTION("replay-strict", OPT_FLAG, NULL,                       \
                        "replay: repeat the recorded run exactly: use its "    \
                        "test inputs, refuse a prompt that differs",           \
                        replay_strict, 0, 0),                                  \
        MODELING_OPTION("record", OPT_TEXT, "FILE",                            \
                        "append every answer to this cassette", record, 0, 0), \
        MODELING_OPTION("stream", OPT_FLAG, NULL,                              \
                        "receive answers as they are written", stream, 0, 0),  \
        MODELING_OPTION("temperature", OPT_TEXT, "T",                          \
                        "sampling temperature (default: 1 in a run, else the " \
                        "endpoint's)",                                         \
                        temperature, 0, 0),                                    \
        MODELING_OPTION("effort", OPT_TEXT, "WORD",                            \
                        "reasoning effort (default: the endpoint's)", effort,  \
                        0, 0),                                                 \
        MODELING_OPTION("extra-body", OPT_TEXT, "JSON",                        \
                        "an object with more fields for each request", extra,  \
                        0, 0),                                                 \
        MODELING_OPTION("organisation", OPT_TEXT, "ID",                        \
                        "organisation to bill", organisation, 0, 0),           \
        MODELING_OPTION("project", OPT_TEXT, "ID", "project to bill", project, \
                        0, 0),                                                 \
        MODELING_OPTION("ca-file", OPT_TEXT, "FILE",                           \
                        "CA certificates, PEM (default: the system's)",        \
                        ca_file, 0, 0),                                        \
        MODELING_OPTION("insecure", OPT_FLAG, NULL,                            \
                        "accept any server certificate", insecure, 0, 0),      \
        MODELING_OPTION("in-flight", OPT_INT, "N",                             \
                        "calls at once (default: 16; spool: no limit)",        \
                        in_flight, 1, 100000),                                 \
        MODELING_OPTION("timeout", OPT_INT, "SECONDS",                         \
                        "limit for one request (default: 600; spool: none)",   \
                        timeout_s, 1, 86400),                                  \
        MODELING_OPTION("retries", OPT_INT, "N",                               \
                        "further requests if the first fails (default: 5)",    \
                        retries, 0, 100),                                      \
        MODELING_OPTION("rpm", OPT_INT, "N",                                   \
                        "requests per minute (default: no limit)", rpm, 1,     \
                        10000000),                                             \
        MODELING_OPTION("tpm", OPT_INT, "N",                                   \
                        "tokens per minute (default: no limit)", tpm, 1,       \
                        1000000000000),                                        \
        MODELING_OPTION("prices", OPT_TEXT, "FILE",                            \
                        "look up the model's price here first", prices, 0, 0), \
        MODELING_OPTION("price", OPT_TEXT, "IN,OUT[,CACHED]",                  \
                        "dollars per million tokens; 0,0 means free", price,   \
                        0, 0),                                                 \
        MODELING_OPTION("budget-usd", OPT_TEXT, "DOLLARS",                     \
                        "spend at most this much; required for a provider "    \
                        "that costs money, unless --no-cap is given",          \
                        budget_usd, 0, 0),                                     \
        MODELING_OPTION("budget-tokens", OPT_INT, "N",                         \
                        "use at most this many tokens, in and out",            \
                        budget_tokens, 0, INT64_MAX - 1),                      \
        MODELING_OPTION("no-cap", OPT_FLAG, NULL,                              \
                        "spend without a limit in dollars", no_cap, 0, 0)

struct modeling {
    struct llm_opts opts;
    struct budget budget;
    struct llm *llm;
};

/* Removes from `v` what contradicts the options `given` now, before they are
 * added: options of another provider, --no-cap beside a budget, and the price
 * "free" of an endpoint that is no longer used. */
void modeling_renew(struct modeling_values *v,
                    const struct modeling_values *given);

/* Options to settings and a fresh budget; strings stay the values'. */
int modeling_read(const struct modeling_values *v, struct modeling *m,
                  struct err *e);
/* Opens m->llm with m->opts and m->budget, which the caller may have changed
 * since; `m` must not move any more. Refuses a provider that costs money without
 * a cap, and a cap in dollars where no price is known. */
int modeling_open(const struct modeling_values *v, struct modeling *m,
                  struct loop *l, const char *home, struct err *e);
void modeling_close(struct modeling *m);
/* Logs when 50 % and 80 % of a cap are spent; true when it did. */
bool modeling_news(struct modeling *m);

#endif
