/* test_anthropic.c: the messages API with a server on the loopback. What it
 * shares with chat completions is tried in test_openai.c. */
#include "llm_fixture.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct llm_server server;

static struct llm_got expect(struct llm_opts o, enum send_outcome want,
                             const char *claim)
{
    return llm_expect(&server, &provider_anthropic, o, want, claim);
}

/* ---- questions ---- */

/* What goes out for a dialogue, as one line of JSON. */
static void test_sent(const char *claim, const struct llm_message *m, size_t n,
                      struct llm_opts o, const char *want)
{
    struct llm_request r = {.message = m, .count = n};
    struct llm_got g = llm_try(&server, &provider_anthropic, o, &r);
    char *body = json_dumps(llm_got_body(&g), JSON_COMPACT);

    is(body, want, claim);
    free(body);
    llm_got_release(&g);
}

#define TEXT(t) "{\"type\":\"text\",\"text\":\"" t "\"}"
#define MARKED(t)                                                    \
    "{\"type\":\"text\",\"cache_control\":{\"type\":\"ephemeral\"}," \
    "\"text\":\"" t "\"}"
#define USER(t) "{\"role\":\"user\",\"content\":[" t "]}"
#define REST    "\"model\":\"m\",\"max_tokens\":1000"

/* clang-format off: it does not see where a string goes on */
static void test_question(void)
{
    static const struct llm_message plain[] = {
        {"system", {"Be brief.", 9}, 0},
        {"user", {"Why?", 4}, 0},
        {"assistant", {"So.", 3}, 0},
        {"user", {"", 0}, 0},
    };
    static const struct llm_message shared[] = {
        {"system", {"guide+more", 10}, 5},
        {"user", {"ex\xc3\xa4", 4}, 3},
        {"user", {"all", 3}, 3},
        {"user", {"all", 3}, 300},
    };
    static const struct llm_message six[] = {
        {"user", {"a", 1}, 1}, {"user", {"b", 1}, 1}, {"user", {"c", 1}, 0},
        {"user", {"d", 1}, 1}, {"user", {"e", 1}, 1}, {"user", {"f", 1}, 1},
    };
    struct llm_opts o = {.model = "m", .temperature = -1};

    test_sent("system texts stand apart", plain, 4, o,
              "{\"system\":[" TEXT("Be brief.") "],\"messages\":[" USER(
                  TEXT("Why?")) ","
                                "{\"role\":\"assistant\",\"content\":[" TEXT(
                                    "So.") "]}," USER("") "]," REST "}");
    test_sent("no system text, no field", plain + 1, 1, o,
              "{\"messages\":[" USER(TEXT("Why?")) "]," REST "}");
    test_sent(
        "what is shared ends with a marker, never inside a character", shared,
        4, o,
        "{\"system\":[" MARKED("guide") "," TEXT(
            "+more") "],"
                     "\"messages\":[" USER(MARKED("ex") "," TEXT("ä")) "," USER(
                         MARKED("all")) "," USER(MARKED("all")) "]," REST "}");
    test_sent(
        "at most four markers, the last ones", six, 6, o,
        "{\"messages\":[" USER(TEXT("a")) "," USER(MARKED("b")) "," USER(TEXT("c")) "," USER(
            MARKED("d")) "," USER(MARKED("e")) "," USER(MARKED("f")) "]," REST
                                                                     "}");
}

/* clang-format on */

static void test_settings(void)
{
    static const struct llm_message m = {"user", {"?", 1}, 0};

    test_sent("temperature, stream and extra fields", &m, 1,
              (struct llm_opts){.model = "m",
                                .temperature = 0.5,
                                .stream = true,
                                .extra = "{\"thinking\":{\"type\":\"adaptive\"}"
                                         ",\"max_tokens\":5000}"},
              "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
              "\"text\",\"text\":\"?\"}]}],\"model\":\"m\",\"temperature\":0.5,"
              "\"stream\":true,\"thinking\":{\"type\":\"adaptive\"},"
              "\"max_tokens\":1000}");
}

static void refused(struct llm_opts o, const char *want)
{
    struct err e = ERR_INIT;
    struct loop *l = loop_new(&e);

    ok(!provider_anthropic.open(&provider_anthropic, l, &o, &e), "refused:");
    is(e.text, want, want);
    loop_free(l);
}

static void test_refused_settings(void)
{
    refused((struct llm_opts){.model = "m"},
            "anthropic: --max-tokens must be more than 0");
    refused((struct llm_opts){.model = "m", .max_tokens = 9, .effort = "high"},
            "anthropic: --effort is not supported; use the extra field "
            "\"thinking\" instead");
    refused((struct llm_opts){.model = "m",
                              .max_tokens = 9,
                              .extra = "{\"system\":\"x\"}"},
            "extra fields: system cannot be set here");
    llm_set_env("MONKEYS_API_KEY", NULL);
    refused(
        (struct llm_opts){.model = "m", .max_tokens = 9},
        "no API key: set MONKEYS_API_KEY or ANTHROPIC_API_KEY, or use another "
        "server with --base-url URL");
    llm_set_env("MONKEYS_API_KEY", LLM_KEY);
}

static void test_headers(void)
{
    static const char *const tails[] = {"", "/", "/v1", "/v1/messages"};
    struct llm_got g;
    char url[64];

    for (size_t i = 0; i < COUNT(tails); i++) {
        snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", server.peer.port,
                 tails[i]);
        g = expect((struct llm_opts){.model = "m", .base_url = url},
                   SEND_ANSWERED, "a base URL");
        is(jsn_maybe(json_array_get(g.seen, 0), "path"), "/v1/messages",
           tails[i]);
        llm_got_release(&g);
    }
    llm_set_env("MONKEYS_API_KEY", NULL);
    llm_set_env("ANTHROPIC_API_KEY", "own-key");
    g = expect((struct llm_opts){.model = "m"}, SEND_ANSWERED, "its own key");
    is(llm_got_header(&g, "x-api-key"), "own-key", "in its own header");
    is(llm_got_header(&g, "authorization"), "", "and in no other");
    is(llm_got_header(&g, "anthropic-version"), "2023-06-01", "the version");
    llm_got_release(&g);
    llm_set_env("ANTHROPIC_API_KEY", NULL);
    llm_set_env("MONKEYS_API_KEY", LLM_KEY);
}

/* ---- answers ---- */

static void test_answers(void)
{
    static const struct llm_opts cases[] = {
        {.model = "m+thought=8"},
        {.model = "m+thought=8", .stream = true},
        {.model = "m+thought=8+split=1", .stream = true},
        {.model = "m+thought=8+split=3", .stream = true},
        {.model = "m+thought=8+split=40+drip=0", .stream = true},
        {.model = "m+thought=8+no-done", .stream = true},
        {.model = "m+thought=8+plain", .stream = true},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct llm_got g = expect(cases[i], SEND_ANSWERED, cases[i].model);

        ok(strcmp(g.text, LLM_TEXT) == 0 && strcmp(g.thought, "hmm, hmm") == 0,
           "… text and thoughts are whole");
        ok(g.usage.input == 100 && g.usage.cached == 64 &&
               g.usage.output == 40 && !g.usage.estimated,
           "… the usage counts what was read from caches and put there");
        ok(strcmp(g.model, "m-2026") == 0 && g.finish == LLM_STOP,
           "… model and end");
        llm_got_release(&g);
    }
}

static void test_finish(void)
{
    static const struct {
        const char *model;
        enum llm_finish want;
    } cases[] = {
        {"m+finish=end_turn", LLM_STOP},
        {"m+finish=max_tokens", LLM_LENGTH},
        {"m+finish=model_context_window_exceeded", LLM_LENGTH},
        {"m+finish=refusal", LLM_FILTERED},
        {"m+finish=stop_sequence", LLM_STOP},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        for (int stream = 0; stream < 2; stream++) {
            struct llm_got g = expect(
                (struct llm_opts){.model = cases[i].model, .stream = stream},
                SEND_ANSWERED, cases[i].model);

            ok(g.finish == cases[i].want, "… is told");
            llm_got_release(&g);
        }
}

static void test_failures(void)
{
    static const struct {
        struct llm_opts o;
        enum send_outcome want;
        const char *claim;
    } cases[] = {
        {{.model = "m+status=529+echo"}, SEND_RETRY, "overloaded"},
        {{.model = "m+status=429+echo"}, SEND_RETRY, "too many"},
        {{.model = "m+status=400+echo"}, SEND_REFUSED, "a bad request"},
        {{.model = "m+status=401+echo"}, SEND_REFUSED, "a wrong key"},
        {{.model = "m+late-error+echo", .stream = true},
         SEND_LOST,
         "an error in a stream"},
        {{.model = "m+no-done+no-finish", .stream = true},
         SEND_LOST,
         "a stream that ends too early"},
        {{.model = "m+cut=5", .stream = true},
         SEND_LOST,
         "a stream that is cut off"},
        {{.model = "m+cut=1", .stream = true},
         SEND_LOST,
         "a stream that is cut off at once"},
        {{.model = "m+body={}"}, SEND_LOST, "no content"},
        {{.model = "m+body={\"type\":\"error\",\"error\":{\"type\":\"x\"}}"},
         SEND_LOST,
         "an error that says nothing"},
        {{.model = "m+never", .timeout_ms = 400},
         SEND_LOST,
         "no answer in time"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct llm_got g = expect(cases[i].o, cases[i].want, cases[i].claim);

        llm_got_release(&g);
    }
}

SUITE(anthropic)
{
    server = llm_server_start(NULL, NULL);
    test_question();
    test_settings();
    test_refused_settings();
    test_headers();
    test_answers();
    test_finish();
    test_failures();
    llm_server_stop(&server);
}
