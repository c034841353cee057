/* modeling.h: the options that every command which asks a model shares, and
 * what they make: how it is reached, and what it may cost. */
#ifndef LLM_MODELING_H
#define LLM_MODELING_H

#include "base/opt.h"
#include "llm/options.h"

struct modeling_values {
    const char *provider, *base_url, *model, *command, *spool, *cassette;
    const char *record, *temperature, *effort, *extra, *ca_file;
    const char *organisation, *project, *prices, *price, *budget_usd;
    bool replay_strict, stream, no_cap, insecure;
    int64_t max_tokens, in_flight, timeout_s, retries, rpm, tpm, budget_tokens;
};

#define MODELING_DEFAULTS                                                     \
    {                                                                         \
        .max_tokens = 16384, .timeout_s = 600, .retries = 5, .in_flight = -1, \
        .budget_tokens = -1                                                   \
    }

/* A command whose values do not begin with them says where they are. */
#define MODELING_AT 0
#define MODELING_OPTION(name, type, value, help, field, lo, hi)           \
    {                                                                     \
        name, 0, type, value, help,                                       \
            MODELING_AT + offsetof(struct modeling_values, field), lo, hi \
    }
#define MODELING_OPTIONS                                                       \
    MODELING_OPTION("provider", OPT_TEXT, "NAME",                              \
                    "who answers: openai, anthropic, exec, spool or replay "   \
                    "(what --command, --spool or --cassette need, else "       \
                    "openai)",                                                 \
                    provider, 0, 0),                                           \
        MODELING_OPTION("base-url", OPT_TEXT, "URL",                           \
                        "of an endpoint (the provider's own)", base_url, 0,    \
                        0),                                                    \
        MODELING_OPTION("model", OPT_TEXT, "NAME", "the model", model, 0, 0),  \
        MODELING_OPTION("command", OPT_TEXT, "COMMAND",                        \
                        "exec: run by sh for each request", command, 0, 0),    \
        MODELING_OPTION("spool", OPT_TEXT, "DIR",                              \
                        "spool: the folder of requests and answers", spool, 0, \
                        0),                                                    \
        MODELING_OPTION("cassette", OPT_TEXT, "FILE",                          \
                        "replay: the recorded answers", cassette, 0, 0),       \
        MODELING_OPTION("replay-strict", OPT_FLAG, NULL,                       \
                        "replay: refuse a prompt that is not the recorded "    \
                        "one",                                                 \
                        replay_strict, 0, 0),                                  \
        MODELING_OPTION("record", OPT_TEXT, "FILE",                            \
                        "also write every answer to this cassette", record, 0, \
                        0),                                                    \
        MODELING_OPTION("stream", OPT_FLAG, NULL,                              \
                        "let the endpoint send an answer in pieces", stream,   \
                        0, 0),                                                 \
        MODELING_OPTION("temperature", OPT_TEXT, "T",                          \
                        "of the sampling (1 in a run, else not sent)",         \
                        temperature, 0, 0),                                    \
        MODELING_OPTION("max-tokens", OPT_INT, "N",                            \
                        "of an answer, thought included (16384; ping: "        \
                        "256)",                                                \
                        max_tokens, 1, 10000000),                              \
        MODELING_OPTION("effort", OPT_TEXT, "WORD",                            \
                        "how hard a reasoning model thinks (not sent)",        \
                        effort, 0, 0),                                         \
        MODELING_OPTION("extra-body", OPT_TEXT, "JSON",                        \
                        "an object of more fields for the endpoint", extra, 0, \
                        0),                                                    \
        MODELING_OPTION("organisation", OPT_TEXT, "ID",                        \
                        "that the endpoint bills", organisation, 0, 0),        \
        MODELING_OPTION("project", OPT_TEXT, "ID", "that the endpoint bills",  \
                        project, 0, 0),                                        \
        MODELING_OPTION("ca-file", OPT_TEXT, "FILE",                           \
                        "PEM of who to trust (the system's)", ca_file, 0, 0),  \
        MODELING_OPTION("insecure", OPT_FLAG, NULL,                            \
                        "trust any server's certificate", insecure, 0, 0),     \
        MODELING_OPTION("in-flight", OPT_INT, "N",                             \
                        "calls at once (16; spool: any number)", in_flight, 1, \
                        100000),                                               \
        MODELING_OPTION("timeout", OPT_INT, "SECONDS",                         \
                        "for one request (600; spool: none)", timeout_s, 1,    \
                        86400),                                                \
        MODELING_OPTION("retries", OPT_INT, "N",                               \
                        "requests a call may make after its first (5)",        \
                        retries, 0, 100),                                      \
        MODELING_OPTION("rpm", OPT_INT, "N", "requests a minute at most", rpm, \
                        1, 10000000),                                          \
        MODELING_OPTION("tpm", OPT_INT, "N", "tokens a minute at most", tpm,   \
                        1, 1000000000000),                                     \
        MODELING_OPTION("prices", OPT_TEXT, "FILE",                            \
                        "look for the model's price here first", prices, 0,    \
                        0),                                                    \
        MODELING_OPTION("price", OPT_TEXT, "IN,OUT[,CACHED]",                  \
                        "dollars for a million tokens; 0,0: free", price, 0,   \
                        0),                                                    \
        MODELING_OPTION("budget-usd", OPT_TEXT, "DOLLARS",                     \
                        "a cap that is never passed; what costs money needs "  \
                        "it, or --no-cap",                                     \
                        budget_usd, 0, 0),                                     \
        MODELING_OPTION("budget-tokens", OPT_INT, "N",                         \
                        "the same in tokens, in and out", budget_tokens, 0,    \
                        INT64_MAX - 1),                                        \
        MODELING_OPTION("no-cap", OPT_FLAG, NULL,                              \
                        "spend without a cap in dollars", no_cap, 0, 0)

struct modeling {
    struct llm_opts opts;
    struct budget budget;
    struct llm *llm;
};

/* Before what is `given` anew takes its place in `v`: takes out what it cannot
 * stand beside, such as another provider's option or the word that there is no
 * cap; and a price of nothing, which was one endpoint's. */
void modeling_renew(struct modeling_values *v,
                    const struct modeling_values *given);

/* Options to settings and a fresh budget; strings stay the values'. */
int modeling_read(const struct modeling_values *v, struct modeling *m,
                  struct err *e);
/* Opens the front on m->opts and m->budget, which the caller may have changed
 * since: `m` must not move any more. Refuses what costs money and has no cap,
 * and a cap in dollars that cannot be kept for want of a price. */
int modeling_open(const struct modeling_values *v, struct modeling *m,
                  struct loop *l, const char *home, struct err *e);
void modeling_close(struct modeling *m);
/* Tells the log when half and four fifths of a cap are spent; true when it
 * did. */
bool modeling_news(struct modeling *m);

#endif
