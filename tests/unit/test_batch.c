/* test_batch.c: a folder's questions as a batch file, and its results back. */
#include "asking.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/tick.h"
#include "llm/spool.h"
#include "tap.h"

#include <string.h>

#define QUESTIONS 6

static void begin(struct asking *a, const char *model)
{
    struct fs_names names = {0};
    struct err e = ERR_INIT;

    asking_begin(a, "spool");
    a->opts.folder = a->dir;
    a->opts.model = model;
    asking_open(a);
    if (!a->llm)
        BUG("%s", a->error);
    for (int i = 1; i <= QUESTIONS; i++)
        asking_start(a, i, "question");
    do {
        fs_names_release(&names);
        loop_run_for(a->loop, TICK_MS);
        if (fs_list(asking_path(a, "requests"), false, &names, &e) < 0)
            BUG("%s", e.text);
    } while (names.len < QUESTIONS);
    fs_names_release(&names);
}

/* The lines of the exported file. */
static size_t lines(struct asking *a, json_t **v, size_t max)
{
    struct buf text = {.limit = 1 << 20};
    struct err e = ERR_INIT;
    struct str rest, line;
    size_t n = 0;

    if (fs_read(asking_path(a, "out.jsonl"), &text, &e) < 0)
        BUG("%s", e.text);
    rest = (struct str){buf_str(&text), text.len};
    while (n < max && str_cut(&rest, '\n', &line)) {
        v[n] = jsn_parse("line", line.p, line.n, &e);
        if (!v[n++])
            BUG("%s", e.text);
    }
    buf_release(&text);
    return n;
}

static const char *id_in(const json_t *line)
{
    return jsn_maybe(line, "custom_id");
}

static void test_export(void)
{
    struct asking a;
    struct batch_exported n;
    struct err e = ERR_INIT;
    json_t *v[QUESTIONS] = {0}, *body;
    size_t got;

    begin(&a, "m");
    ok(batch_export(a.dir, asking_path(&a, "out.jsonl"), NULL, &n, &e) == 0 &&
           n.written == QUESTIONS,
       "all questions go out %s", e.text);
    got = lines(&a, v, QUESTIONS);
    body = json_object_get(v[0], "body");
    ok(got == QUESTIONS && request_is_id(id_in(v[0])), "a line each, by id");
    is(jsn_maybe(v[0], "url"), "/v1/chat/completions", "to the completions");
    ok(json_object_get(body, "messages") &&
           json_integer_value(json_object_get(body, "max_completion_tokens")) ==
               1000 &&
           strcmp(jsn_maybe(body, "model"), "m") == 0,
       "with the body of a request");
    ok(batch_export(a.dir, asking_path(&a, "again.jsonl"), NULL, &n, &e) == 0 &&
           n.written == 0 && n.claimed == QUESTIONS,
       "what is on its way does not go out twice");
    for (size_t i = 0; i < got; i++)
        json_decref(v[i]);
    asking_end(&a);
    begin(&a, NULL);
    ok(batch_export(a.dir, asking_path(&a, "out.jsonl"), NULL, &n, &e) < 0 &&
           strstr(e.text, "--model NAME"),
       "without a model nothing goes out: %s", e.text);
    ok(!fs_is_file(asking_path(&a, "out.jsonl")), "not even a file");
    ok(batch_export(a.dir, asking_path(&a, "out.jsonl"), "given", &n, &e) == 0,
       "one can be given");
    asking_end(&a);
}

/* Results of every kind for six questions. */
static void put_results(struct asking *a, json_t **v)
{
    struct buf b = BUF_INIT;

    buf_printf(
        &b,
        "{\"id\":\"r1\",\"custom_id\":\"%s\",\"response\":{\"status_code\":200,"
        "\"body\":{\"model\":\"m-1\",\"choices\":[{\"finish_reason\":"
        "\"length\",\"message\":{\"role\":\"assistant\",\"content\":"
        "\"forty-two\"}}],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\""
        ":7,\"prompt_tokens_details\":{\"cached_tokens\":4},"
        "\"completion_tokens_details\":{\"reasoning_tokens\":3}}}},"
        "\"error\":null}\n\n",
        id_in(v[0]));
    buf_printf(&b,
               "{\"custom_id\":\"%s\",\"response\":{\"status_code\":400,"
               "\"body\":{\"error\":{\"message\":\"too long\"}}}}\n",
               id_in(v[1]));
    buf_printf(&b,
               "{\"custom_id\":\"%s\",\"response\":{\"status_code\":429,"
               "\"body\":{}}}\n",
               id_in(v[2]));
    buf_printf(&b,
               "{\"custom_id\":\"%s\",\"response\":null,\"error\":{\"code\":"
               "\"batch_expired\",\"message\":\"expired\"}}\n",
               id_in(v[3]));
    buf_printf(&b,
               "{\"custom_id\":\"%s\",\"response\":{\"status_code\":200,"
               "\"body\":{\"choices\":[]}}}\n",
               id_in(v[4]));
    buf_puts(&b, "{\"custom_id\":\"../../etc/passwd\",\"response\":{"
                 "\"status_code\":200,\"body\":{}}}\n");
    asking_write(a, "results.jsonl", buf_str(&b));
    buf_release(&b);
}

static void test_import(void)
{
    struct asking a;
    struct batch_exported x;
    struct batch_imported n;
    struct doc got;
    struct err e = ERR_INIT;
    json_t *v[QUESTIONS] = {0};

    begin(&a, "m");
    if (batch_export(a.dir, asking_path(&a, "out.jsonl"), NULL, &x, &e) < 0)
        BUG("%s", e.text);
    lines(&a, v, QUESTIONS);
    put_results(&a, v);
    ok(batch_import(a.dir, asking_path(&a, "results.jsonl"), &n, &e) == 0,
       "results come in %s", e.text);
    ok(n.answered == 1 && n.refused == 1 && n.again == 3 && n.unknown == 1,
       "answered, refused, to be asked again, unknown");
    ok(spool_answer(a.dir, id_in(v[0]), &got, &e) == 1 &&
           str_eq(got.result.text, "forty-two") &&
           got.result.finish == LLM_LENGTH && got.result.usage.input == 11 &&
           got.result.usage.cached == 4 && got.result.usage.output == 7 &&
           got.result.usage.reasoning == 3,
       "an answer has its text, finish and usage");
    doc_release(&got);
    ok(spool_answer(a.dir, id_in(v[1]), &got, &e) == 1 &&
           got.result.outcome == SEND_REFUSED &&
           strcmp(got.result.error, "too long") == 0,
       "a refusal its reason");
    doc_release(&got);
    while (a.done < 2)
        loop_run_for(a.loop, TICK_MS);
    ok(llm_waiting(a.llm) == QUESTIONS - 2, "both reach the calls that wait");
    ok(batch_import(a.dir, asking_path(&a, "results.jsonl"), &n, &e) == 0 &&
           n.answered == 0 && n.known == 2,
       "reading it twice changes nothing");
    ok(batch_export(a.dir, asking_path(&a, "out.jsonl"), NULL, &x, &e) == 0 &&
           x.written == 3 && x.answered == 2 && x.claimed == 1,
       "what failed for now goes out again");
    asking_write(&a, "bad.jsonl", "{\"custom_id\":\"x\"}\nnonsense\n");
    ok(batch_import(a.dir, asking_path(&a, "bad.jsonl"), &n, &e) < 0 &&
           strstr(e.text, "bad.jsonl:2: ") && n.unknown == 1,
       "a line that is no JSON is named: %s", e.text);
    for (size_t i = 0; i < QUESTIONS; i++)
        json_decref(v[i]);
    asking_end(&a);
}

SUITE(batch)
{
    test_export();
    test_import();
}
