/* llm_fixture.c: see the header. */
#include "llm_fixture.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Only one thread runs here. */
void llm_set_env(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1); /* NOLINT(concurrency-mt-unsafe) */
    else
        unsetenv(name); /* NOLINT(concurrency-mt-unsafe) */
}

struct llm_server llm_server_start(const char *cert, const char *key)
{
    struct llm_server s = {.log = "/tmp/monkeys-llm-XXXXXX"};
    int fd = mkstemp(s.log);

    if (fd < 0)
        BUG("mkstemp");
    close(fd);
    llm_set_env("MONKEYS_API_KEY", LLM_KEY);
    llm_set_env("OPENAI_API_KEY", NULL);
    llm_set_env("ANTHROPIC_API_KEY", NULL);
    llm_set_env("no_proxy", "127.0.0.1");
    s.peer = testpeer_start(
        (const char *const[]){"tests/llm/server.py", "--log", s.log,
                              cert ? "--tls" : NULL, cert, key, NULL});
    return s;
}

void llm_server_stop(struct llm_server *s)
{
    testpeer_stop(&s->peer);
    unlink(s->log);
    llm_set_env("MONKEYS_API_KEY", NULL);
}

json_t *llm_server_requests(struct llm_server *s)
{
    struct err e = ERR_INIT;
    json_t *all = json_array();
    struct str rest, line;
    struct buf b = {.limit = (size_t)16 << 20};

    if (fs_read(s->log, &b, &e) < 0 || truncate(s->log, 0) < 0)
        BUG("%s: %s", s->log, e.text);
    rest = (struct str){buf_str(&b), b.len};
    while (str_cut(&rest, '\n', &line)) {
        json_t *v = jsn_parse("log", line.p, line.n, &e);

        if (!v)
            BUG("%s", e.text);
        json_array_append_new(all, v);
    }
    buf_release(&b);
    return all;
}

static void note(void *arg, const struct send_result *r)
{
    struct llm_got *g = arg;

    g->done++;
    g->outcome = r->outcome;
    g->status = r->status;
    g->retry_after_ns = r->retry_after_ns;
    g->finish = r->finish;
    g->usage = r->usage;
    g->text_len = r->text.n;
    snprintf(g->text, sizeof(g->text), "%.*s", (int)r->text.n, r->text.p);
    snprintf(g->thought, sizeof(g->thought), "%.*s", (int)r->thought.n,
             r->thought.p);
    snprintf(g->model, sizeof(g->model), "%.*s", (int)r->model.n, r->model.p);
    snprintf(g->error, sizeof(g->error), "%s", r->error);
}

struct llm_got llm_try(struct llm_server *s, const struct provider_type *type,
                       struct llm_opts o, const struct llm_request *r)
{
    struct err e = ERR_INIT;
    struct loop *l = loop_new(&e);
    struct llm_got g = {0};
    struct provider *p;
    char url[64];

    snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1", s->peer.port);
    if (!o.base_url)
        o.base_url = url;
    if (!o.timeout_ms)
        o.timeout_ms = 60000;
    if (!o.max_tokens)
        o.max_tokens = 1000;
    if (!o.in_flight)
        o.in_flight = 4;
    p = type->open(type, l, &o, &e);
    if (!p || !type->send(p, r, note, &g, &e))
        BUG("%s", e.text);
    loop_run(l);
    provider_close(p);
    loop_free(l);
    g.seen = llm_server_requests(s);
    return g;
}

struct llm_got llm_expect(struct llm_server *s,
                          const struct provider_type *type, struct llm_opts o,
                          enum send_outcome want, const char *claim)
{
    static const struct llm_message question = {"user", {"Why?", 4}, 0};
    struct llm_request r = {.message = &question, .count = 1, .seed = 7};
    struct llm_got g = llm_try(s, type, o, &r);

    ok(g.done == 1 && g.outcome == want, "%s%s%s", claim,
       g.error[0] ? ": " : "", g.error);
    ok(json_array_size(g.seen) == 1, "… with one request");
    if (want == SEND_ANSWERED)
        ok(!g.error[0], "… and no error");
    else
        ok(g.error[0] && !strstr(g.error, "SECRET") &&
               !strstr(g.error, "://") && g.text_len == 0,
           "… and an error without key and URL");
    return g;
}

void llm_got_release(struct llm_got *g)
{
    json_decref(g->seen);
}

const json_t *llm_got_body(const struct llm_got *g)
{
    return json_object_get(json_array_get(g->seen, 0), "body");
}

const char *llm_got_header(const struct llm_got *g, const char *name)
{
    const json_t *all = json_object_get(json_array_get(g->seen, 0), "headers");
    const char *value = jsn_maybe(all, name);

    return value ? value : "";
}
