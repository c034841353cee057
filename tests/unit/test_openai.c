/* test_openai.c: chat completions with a server on the loopback that answers
 * well, badly, in pieces, or not at all. */
#include "base/mem.h"
#include "base/tick.h"
#include "llm_fixture.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct llm_server server;

static struct llm_got expect(struct llm_opts o, enum send_outcome want,
                             const char *claim)
{
    return llm_expect(&server, &provider_openai, o, want, claim);
}

/* For outcomes about which there is nothing more to say. */
static void check(struct llm_opts o, enum send_outcome want, const char *claim)
{
    struct llm_got g = expect(o, want, claim);

    llm_got_release(&g);
}

/* ---- questions ---- */

static void test_question(void)
{
    static const struct llm_message dialogue[] = {
        {"system", {"Be \"brief\".\n", 12}, 5},
        {"user", {"\xff?", 2}, 0},
        {"assistant", {"", 0}, 0},
    };
    struct llm_request r = {
        .message = dialogue, .count = 3, .seed = 0xfffffffff, .max_tokens = 77};
    struct llm_got g = llm_try(&server, &provider_openai,
                               (struct llm_opts){.model = "m",
                                                 .temperature = 0.7,
                                                 .organisation = "org-1",
                                                 .project = "proj-1"},
                               &r);
    char *body = json_dumps(llm_got_body(&g), JSON_COMPACT);

    is(body,
       "{\"messages\":[{\"role\":\"system\",\"content\":\"Be \\\"brief\\\".\\n"
       "\"},{\"role\":\"user\",\"content\":\"\xef\xbf\xbd?\"},{\"role\":"
       "\"assistant\",\"content\":\"\"}],\"model\":\"m\",\"seed\":2147483647,"
       "\"max_tokens\":77,\"temperature\":0.69999999999999996}",
       "messages, seed, limit and temperature");
    is(llm_got_header(&g, "authorization"), "Bearer " LLM_KEY, "the key");
    is(llm_got_header(&g, "content-type"), "application/json", "JSON");
    is(llm_got_header(&g, "openai-organization"), "org-1", "organisation");
    is(llm_got_header(&g, "openai-project"), "proj-1", "project");
    free(body);
    llm_got_release(&g);
}

/* Which fields a question has, "name=value " each. */
static void test_fields(const char *claim, struct llm_opts o, const char *want)
{
    static const char *const names[] = {
        "max_tokens",     "max_completion_tokens",
        "temperature",    "reasoning_effort",
        "seed",           "stream",
        "stream_options", "top_p"};
    static const struct llm_message m = {"user", {"?", 1}, 0};
    struct llm_request r = {.message = &m, .count = 1, .seed = 7};
    struct llm_got g = llm_try(&server, &provider_openai, o, &r);
    char got[400] = "";

    for (size_t i = 0; i < COUNT(names); i++) {
        const json_t *v = json_object_get(llm_got_body(&g), names[i]);
        char *text = v ? json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        size_t at = strlen(got);

        if (text)
            snprintf(got + at, sizeof(got) - at, "%s=%s ", names[i], text);
        free(text);
    }
    is(got, want, claim);
    llm_got_release(&g);
}

static void test_settings(void)
{
    static const char *const thinkers[] = {"o1",          "o3-mini",
                                           "o4-mini",     "gpt-5",
                                           "gpt-oss-20b", "openai/gpt-5-mini"};
    static const char *const others[] = {"gpt-4o", "o4", "my-gpt-5", "qwen/o"};

    for (size_t i = 0; i < COUNT(thinkers); i++)
        test_fields(thinkers[i],
                    (struct llm_opts){.model = thinkers[i],
                                      .temperature = 1,
                                      .effort = "high"},
                    "max_completion_tokens=1000 reasoning_effort=\"high\" "
                    "seed=7 ");
    for (size_t i = 0; i < COUNT(others); i++)
        test_fields(others[i], (struct llm_opts){.model = others[i]},
                    "max_tokens=1000 temperature=0.0 seed=7 ");
    test_fields("a temperature below 0 is not sent",
                (struct llm_opts){.model = "m", .temperature = -1},
                "max_tokens=1000 seed=7 ");
    test_fields(
        "a stream is asked for with its usage",
        (struct llm_opts){.model = "m", .temperature = -1, .stream = true},
        "max_tokens=1000 seed=7 stream=true "
        "stream_options={\"include_usage\":true} ");
    test_fields("extra fields are added, null takes one away",
                (struct llm_opts){.model = "m",
                                  .extra = "{\"top_p\":0.5,\"seed\":null,"
                                           "\"temperature\":1}"},
                "max_tokens=1000 temperature=1 top_p=0.5 ");
    test_fields("an extra limit renames the limit and does not raise it",
                (struct llm_opts){.model = "m",
                                  .temperature = -1,
                                  .extra = "{\"max_completion_tokens\":9999}"},
                "max_completion_tokens=1000 seed=7 ");
    test_fields(
        "but may lower it",
        (struct llm_opts){.model = "o1", .extra = "{\"max_tokens\":10}"},
        "max_tokens=10 seed=7 ");
}

static void refused(struct llm_opts o, const char *want)
{
    struct err e = ERR_INIT;
    struct loop *l = loop_new(&e);

    ok(!provider_openai.open(&provider_openai, l, &o, &e), "refused:");
    is(e.text, want, want);
    loop_free(l);
}

static void test_refused_settings(void)
{
    refused((struct llm_opts){.base_url = "http://127.0.0.1"},
            "the model is missing: use --model NAME");
    refused((struct llm_opts){.model = "m", .base_url = "ftp://127.0.0.1"},
            "base URL ftp://127.0.0.1: a URL must begin with "
            "http or https, not ftp");
    refused((struct llm_opts){.model = "m", .extra = "[]"},
            "extra fields: not a JSON object");
    refused((struct llm_opts){.model = "m", .extra = "{\"n\":4}"},
            "extra fields: n cannot be set here");
    refused((struct llm_opts){.model = "m", .extra = "{\"messages\":[]}"},
            "extra fields: messages cannot be set here");
    llm_set_env("MONKEYS_API_KEY", NULL);
    refused((struct llm_opts){.model = "m"},
            "no API key: set MONKEYS_API_KEY or OPENAI_API_KEY, or use another "
            "server with --base-url URL");
    llm_set_env("OPENAI_API_KEY", "a\nb");
    refused((struct llm_opts){.model = "m"},
            "the key in MONKEYS_API_KEY or OPENAI_API_KEY contains a control "
            "character");
    llm_set_env("OPENAI_API_KEY", NULL);
    llm_set_env("MONKEYS_API_KEY", LLM_KEY);
}

static void test_keys(void)
{
    struct llm_opts o = {.model = "m"};
    struct llm_got g;

    llm_set_env("MONKEYS_API_KEY", NULL);
    g = expect(o, SEND_ANSWERED, "another base URL needs no key");
    is(llm_got_header(&g, "authorization"), "", "none is made up");
    llm_got_release(&g);
    llm_set_env("OPENAI_API_KEY", " other\n");
    g = expect(o, SEND_ANSWERED, "the provider's own variable");
    is(llm_got_header(&g, "authorization"), "Bearer other",
       "without white space");
    llm_got_release(&g);
    llm_set_env("MONKEYS_API_KEY", LLM_KEY);
    g = expect(o, SEND_ANSWERED, "ours comes first");
    is(llm_got_header(&g, "authorization"), "Bearer " LLM_KEY, "it was sent");
    llm_got_release(&g);
    llm_set_env("OPENAI_API_KEY", NULL);
}

static void test_base_urls(void)
{
    static const struct {
        const char *tail, *path;
    } cases[] = {
        {"/v1", "/v1/chat/completions"},
        {"/v1/", "/v1/chat/completions"},
        {"/v1/chat/completions", "/v1/chat/completions"},
        {"/v1?api-version=3", "/v1/chat/completions?api-version=3"},
        {"", "/chat/completions"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct llm_got g;
        char url[100];

        snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", server.peer.port,
                 cases[i].tail);
        g = expect((struct llm_opts){.model = "m", .base_url = url},
                   SEND_ANSWERED, "a base URL");
        is(jsn_maybe(json_array_get(g.seen, 0), "path"), cases[i].path,
           cases[i].path);
        llm_got_release(&g);
    }
}

/* ---- answers ---- */

static void test_whole(void)
{
    struct llm_got g = expect((struct llm_opts){.model = "m+thought=8"},
                              SEND_ANSWERED, "a whole answer");

    is(g.text, LLM_TEXT, "its text");
    is(g.thought, "hmm, hmm", "what the model thought");
    is(g.model, "m-2026", "the model's own name");
    ok(g.status == 200 && g.finish == LLM_STOP, "stopped by itself");
    ok(g.usage.input == 100 && g.usage.cached == 64 && g.usage.output == 40 &&
           g.usage.reasoning == 15 && !g.usage.estimated,
       "its usage");
    llm_got_release(&g);
    g = expect((struct llm_opts){.model = "m+thought=8+field=reasoning"},
               SEND_ANSWERED, "the other name of thoughts");
    is(g.thought, "hmm, hmm", "is known");
    llm_got_release(&g);
    g = expect((struct llm_opts){.model = "m+parts"}, SEND_ANSWERED,
               "content in parts");
    ok(strcmp(g.text, LLM_TEXT) == 0 && strcmp(g.thought, "hmm") == 0,
       "is put together");
    llm_got_release(&g);
    g = expect((struct llm_opts){.model = "m+uncounted=25"}, SEND_ANSWERED,
               "thoughts that only the total counts");
    ok(g.usage.output == 65, "are paid for, too");
    llm_got_release(&g);
    g = expect((struct llm_opts){.model = "m+no-usage"}, SEND_ANSWERED,
               "no usage");
    ok(g.usage.estimated && g.usage.input == 0 && g.usage.output == 0,
       "is not made up");
    llm_got_release(&g);
}

static void test_finish(void)
{
    static const struct {
        const char *model;
        enum llm_finish want;
    } cases[] = {
        {"m+finish=stop", LLM_STOP},
        {"m+finish=length", LLM_LENGTH},
        {"m+finish=content_filter", LLM_FILTERED},
        {"m+finish=tool_calls", LLM_STOP},
    };
    struct llm_got g;

    for (size_t i = 0; i < COUNT(cases); i++)
        for (int stream = 0; stream < 2; stream++) {
            g = expect(
                (struct llm_opts){.model = cases[i].model, .stream = stream},
                SEND_ANSWERED, cases[i].model);
            ok(g.finish == cases[i].want && strcmp(g.text, LLM_TEXT) == 0,
               "… is told, with the text");
            llm_got_release(&g);
        }
    g = expect((struct llm_opts){.model = "m+refusal=No."}, SEND_ANSWERED,
               "a refusal of the model's");
    ok(g.finish == LLM_FILTERED && strcmp(g.text, "No.") == 0,
       "is an answer that was withheld");
    llm_got_release(&g);
}

static void test_streams(void)
{
    static const char *const models[] = {
        "m+thought=8",         "m+thought=8+split=1",
        "m+thought=8+split=2", "m+thought=8+split=3",
        "m+thought=8+split=7", "m+thought=8+split=50+drip=0",
        "m+thought=8+no-done", "m+thought=8+no-finish",
    };
    struct llm_got g;

    for (size_t i = 0; i < COUNT(models); i++) {
        g = expect((struct llm_opts){.model = models[i], .stream = true},
                   SEND_ANSWERED, models[i]);
        ok(strcmp(g.text, LLM_TEXT) == 0 && strcmp(g.thought, "hmm, hmm") == 0,
           "… text and thoughts are whole");
        ok(g.usage.input == 100 && g.usage.cached == 64 &&
               g.usage.output == 40 && g.usage.reasoning == 15 &&
               !g.usage.estimated && strcmp(g.model, "m-2026") == 0,
           "… usage and model");
        llm_got_release(&g);
    }
    g = expect((struct llm_opts){.model = "m+plain", .stream = true},
               SEND_ANSWERED, "a whole answer though a stream was asked for");
    is(g.text, LLM_TEXT, "is read as one");
    llm_got_release(&g);
    g = expect((struct llm_opts){.model = "m+nul", .stream = true},
               SEND_ANSWERED, "NULs in a stream");
    ok(strncmp(g.text, "Grüße, 猴子 🐒\xef\xbf\xbd Gr", 26) == 0,
       "are replaced, and nothing is lost");
    llm_got_release(&g);
    g = expect((struct llm_opts){.model = "m+no-usage", .stream = true},
               SEND_ANSWERED, "a stream without usage");
    ok(g.usage.estimated, "is not made up, either");
    llm_got_release(&g);
    g = expect(
        (struct llm_opts){.model = "m+text=200000+split=1000", .stream = true},
        SEND_ANSWERED, "a long stream");
    ok(g.text_len > 199990 && g.text_len <= 200000, "is whole");
    llm_got_release(&g);
}

/* ---- what goes wrong ---- */

static void test_statuses(void)
{
    static const struct {
        int status;
        enum send_outcome want;
    } cases[] = {
        {302, SEND_REFUSED}, {400, SEND_REFUSED}, {401, SEND_REFUSED},
        {403, SEND_REFUSED}, {404, SEND_REFUSED}, {408, SEND_RETRY},
        {409, SEND_RETRY},   {413, SEND_REFUSED}, {422, SEND_REFUSED},
        {429, SEND_RETRY},   {500, SEND_RETRY},   {502, SEND_RETRY},
        {503, SEND_RETRY},   {529, SEND_RETRY},
    };
    struct llm_got g;
    char model[64], claim[64];

    for (size_t i = 0; i < COUNT(cases); i++) {
        snprintf(model, sizeof(model), "m+status=%d+echo", cases[i].status);
        snprintf(claim, sizeof(claim), "status %d", cases[i].status);
        g = expect((struct llm_opts){.model = model, .stream = i % 2},
                   cases[i].want, claim);
        ok(g.status == cases[i].status && g.usage.estimated, "… is told");
        llm_got_release(&g);
    }
    g = expect((struct llm_opts){.model = "m+status=429+retry-after=7"},
               SEND_RETRY, "told to wait");
    ok(g.retry_after_ns == 7 * TICK_S, "7 s");
    llm_got_release(&g);
    g = expect((struct llm_opts){.model = "m+status=503+cut=9"}, SEND_RETRY,
               "a refusal that is cut off is one");
    llm_got_release(&g);
}

static void test_texts(void)
{
    static const struct {
        const char *model, *want, *claim;
    } cases[] = {
        {"m+status=429+about=no+type=insufficient_quota+code=insufficient_"
         "quota",
         "HTTP 429: no (insufficient_quota); add credit to the account, or use "
         "another key",
         "an account without credit, which is not asked again"},
        {"m+status=500", "HTTP 500: busy, see [URL] (some_code, some_error)",
         "what the server says, without its URL"},
        {"m+status=500+about=a%0a%1bb+echo",
         "HTTP 500: a  b Bearer [key]  (some_code, some_error)",
         "a key that comes back, control characters"},
        {"m+status=500+body=sk-marked-0123 and 89-SECRET.",
         "HTTP 500: [key] and [key].", "parts of the key"},
        {"m+status=500+raw=%c3%a4%ff%c3", "HTTP 500: ä??", "not UTF-8"},
        {"m+status=502+html",
         "HTTP 502: the server sent text/html, a web page, instead of JSON",
         "a web page"},
        {"m+status=500+body=", "HTTP 500", "nothing"},
        {"m+status=500+body={\"error\":\"so\"}", "HTTP 500: so", "a string"},
        {"m+status=500+body={\"detail\":\"so\"}", "HTTP 500: so", "a detail"},
        {"m+status=500+body=[{\"error\":{\"message\":\"so\"}}]", "HTTP 500: so",
         "a list"},
        {"m+status=400+about=temperature is not supported",
         "HTTP 400: temperature is not supported "
         "(some_code, some_error); a temperature below 0 "
         "leaves the field out",
         "what to do about a temperature"},
        {"m+status=400+about=max_tokens is not supported",
         "HTTP 400: max_tokens is not supported (some_code, "
         "some_error); set the extra field "
         "max_completion_tokens to rename the limit",
         "what to do about a limit"},
        {"m+status=401+about=no",
         "HTTP 401: no (some_code, some_error); is the API key "
         "correct?",
         "what to do about a wrong key"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct llm_got g =
            llm_expect(&server, &provider_openai,
                       (struct llm_opts){.model = cases[i].model},
                       strstr(cases[i].model, "=4") ? SEND_REFUSED : SEND_RETRY,
                       cases[i].claim);

        is(g.error, cases[i].want, cases[i].claim);
        llm_got_release(&g);
    }
}

static void test_page(void)
{
    for (int stream = 0; stream < 2; stream++) {
        struct llm_got g =
            expect((struct llm_opts){.model = "m+html", .stream = stream},
                   SEND_REFUSED, "a web page instead of an answer");

        is(g.error,
           "the server sent text/html, a web page, instead of JSON; is the "
           "base "
           "URL right?",
           "… is named, with what to do");
        llm_got_release(&g);
    }
}

static void test_long_text(void)
{
    char model[2000] = "m+status=500+body=";
    size_t at = strlen(model);
    struct llm_got g;

    for (size_t i = at; i + 2 < sizeof(model); i += 2)
        memcpy(model + i, "\xc3\xa4", 3);
    g = expect((struct llm_opts){.model = model}, SEND_RETRY, "a long error");
    ok(strlen(g.error) < 450 && strstr(g.error, "ä…"),
       "is cut between characters");
    llm_got_release(&g);
}

static void test_lost(void)
{
    static const struct {
        struct llm_opts o;
        const char *claim;
    } cases[] = {
        {{.model = "m+never", .timeout_ms = 400}, "no answer in time"},
        {{.model = "m+half", .timeout_ms = 1500}, "half an answer in time"},
        {{.model = "m+half", .timeout_ms = 1500, .stream = true},
         "half a stream in time"},
        {{.model = "m+hangup"}, "no answer at all"},
        {{.model = "m+cut=20"}, "an answer that is cut off"},
        {{.model = "m+cut=3", .stream = true}, "a stream that is cut off"},
        {{.model = "m+no-done+no-finish", .stream = true},
         "a stream that ends too early"},
        {{.model = "m+late-error", .stream = true}, "an error in a stream"},
        {{.model = "m+late-error+echo", .stream = true}, "one with the key"},
        {{.model = "m+body=what"}, "not JSON"},
        {{.model = "m+body="}, "an empty answer"},
        {{.model = "m+body=", .stream = true}, "an empty stream"},
        {{.model = "m+body={}"}, "no choices"},
        {{.model = "m+body={\"choices\":[]}"}, "an empty list of them"},
        {{.model = "m+body=[[[[1]]]]"}, "something else"},
        {{.model = "m+body={\"error\":{\"message\":\"sk-marked-0123456789\"}}"},
         "an error with status 200"},
        {{.model = "m+large=104857600"}, "100 MB"},
        {{.model = "m+large=104857600", .stream = true}, "100 MB as a stream"},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        check(cases[i].o, SEND_LOST, cases[i].claim);
}

/* Words in the path, and faults that pass. */
static void test_passing_fault(void)
{
    struct llm_opts o = {.model = "passing"};
    char url[100];

    snprintf(url, sizeof(url),
             "http://127.0.0.1:%d/fault/status=503/times=2/v1",
             server.peer.port);
    o.base_url = url;
    check(o, SEND_RETRY, "the server is down");
    check(o, SEND_RETRY, "still");
    check(o, SEND_ANSWERED, "and up again");
}

static void test_nobody(void)
{
    static const struct llm_message m = {"user", {"?", 1}, 0};
    struct llm_request r = {.message = &m, .count = 1};
    struct llm_got g = llm_try(
        &server, &provider_openai,
        (struct llm_opts){.model = "m", .base_url = "http://127.0.0.1:1/v1"},
        &r);

    ok(g.outcome == SEND_RETRY && g.status == 0 && g.error[0],
       "nobody listens: nothing was sent: %s", g.error);
    llm_got_release(&g);
}

/* ---- many ---- */

struct many {
    struct provider *p;
    int answered, others, left;
};

static void count_end(void *arg, const struct send_result *r)
{
    struct many *m = arg;

    if (r->outcome == SEND_ANSWERED && str_eq(r->text, LLM_TEXT))
        m->answered++;
    else
        m->others++;
}

static struct provider *open_many(struct loop *l, const char *model,
                                  bool stream)
{
    struct err e = ERR_INIT;
    struct provider *p;
    char url[64];
    struct llm_opts o = {.model = model,
                         .base_url = url,
                         .stream = stream,
                         .timeout_ms = 60000,
                         .in_flight = 300};

    snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1", server.peer.port);
    p = provider_openai.open(&provider_openai, l, &o, &e);
    if (!p)
        BUG("%s", e.text);
    return p;
}

static struct send *send_one(struct many *m)
{
    static const struct llm_message question = {"user", {"Why?", 4}, 0};
    struct llm_request r = {.message = &question, .count = 1};
    struct err e = ERR_INIT;
    struct send *s = m->p->type->send(m->p, &r, count_end, m, &e);

    if (!s)
        BUG("%s", e.text);
    return s;
}

static void test_many(bool stream)
{
    struct err e = ERR_INIT;
    struct loop *l = loop_new(&e);
    struct many m = {.p = open_many(l, "m+delay=0.2", stream)};
    json_t *seen;

    for (int i = 0; i < 300; i++)
        send_one(&m);
    ok(m.answered + m.others == 0, "nothing is told before the loop runs");
    loop_run(l);
    seen = llm_server_requests(&server);
    ok(m.answered == 300 && m.others == 0 && json_array_size(seen) == 300,
       "300 at once: each is sent once and answered once");
    json_decref(seen);
    provider_close(m.p);
    loop_free(l);
}

static void test_cancel(void)
{
    struct err e = ERR_INIT;
    struct loop *l = loop_new(&e);
    struct many m = {.p = open_many(l, "m+never", true)};

    provider_openai.cancel(send_one(&m));
    loop_run(l);
    ok(m.answered + m.others == 0, "a cancelled request is not told of");
    send_one(&m);
    provider_close(m.p);
    loop_run(l);
    ok(m.answered + m.others == 0, "closing drops what is under way");
    json_decref(llm_server_requests(&server));
    loop_free(l);
}

/* ---- TLS ---- */

static void test_tls(void)
{
    static const struct llm_message m = {"user", {"?", 1}, 0};
    struct llm_request r = {.message = &m, .count = 1};
    char dir[] = "/tmp/monkeys-llm-XXXXXX", url[64];
    char *cert = NULL, *key = NULL;
    struct llm_server tls;
    struct llm_got g;

    if (!mkdtemp(dir) || !testpeer_certificate(dir, &cert, &key))
        BUG("no certificate");
    tls = llm_server_start(cert, key);
    snprintf(url, sizeof(url), "https://127.0.0.1:%d/v1", tls.peer.port);
    g = llm_try(&tls, &provider_openai,
                (struct llm_opts){.model = "m", .base_url = url}, &r);
    ok(g.outcome == SEND_REFUSED && json_array_size(g.seen) == 0,
       "a server that cannot prove who it is gets nothing: %s", g.error);
    llm_got_release(&g);
    g = llm_expect(
        &tls, &provider_openai,
        (struct llm_opts){.model = "m", .base_url = url, .insecure = true},
        SEND_ANSWERED, "unless told otherwise");
    llm_got_release(&g);
    g = llm_expect(&tls, &provider_openai,
                   (struct llm_opts){.model = "m+split=5",
                                     .base_url = url,
                                     .ca_file = cert,
                                     .stream = true},
                   SEND_ANSWERED, "or told whom to trust");
    llm_got_release(&g);
    llm_server_stop(&tls);
    unlink(cert);
    unlink(key);
    rmdir(dir);
    free(cert);
    free(key);
}

SUITE(openai)
{
    test_tls();
    server = llm_server_start(NULL, NULL);
    test_question();
    test_settings();
    test_refused_settings();
    test_keys();
    test_base_urls();
    test_whole();
    test_finish();
    test_streams();
    test_statuses();
    test_texts();
    test_page();
    test_long_text();
    test_lost();
    test_passing_fault();
    test_nobody();
    test_many(false);
    test_many(true);
    test_cancel();
    llm_server_stop(&server);
}
