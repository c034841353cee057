/* test_cassette.c: what is recorded comes back, and nothing else does. */
#include "asking.h"
#include "base/log.h"
#include "base/mem.h"
#include "llm/cassette.h"
#include "llm/doc.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void keep(const char *line, void *arg)
{
    snprintf(arg, 400, "%s", line);
}

static void record(struct asking *a, const char *name, int first, int last)
{
    struct err e = ERR_INIT;

    a->opts.provider = "exec";
    a->opts.command =
        "printf %s '{\"text\": \"caf\xc3\xa9 \\\"1\\\"\\n\", \"finish\":"
        " \"length\", \"model\": \"m-1\", \"thought\": \"hm\", "
        "\"usage\": {\"input\": 50, \"cached\": 20, \"output\":"
        " 30, \"reasoning\": 10, \"written\": 5}}'";
    asking_open(a);
    if (!a->llm || llm_record(a->llm, asking_path(a, name), NULL, &e) < 0)
        BUG("%s %s", a->error, e.text);
    for (int i = first; i <= last; i++)
        asking_ask(a, i, "question");
    llm_close(a->llm);
    a->llm = NULL;
}

static void replay(struct asking *a, const char *name)
{
    a->opts.provider = "replay";
    a->opts.cassette = asking_path(a, name);
    asking_open(a);
    if (!a->llm)
        BUG("%s", a->error);
}

static void stop(struct asking *a)
{
    llm_close(a->llm);
    a->llm = NULL;
}

static void test_round(const char *name)
{
    struct asking a;

    asking_begin(&a, "exec");
    record(&a, name, 1, 2);
    record(&a, name, 3, 3);
    memset(a.text, 0, sizeof(a.text));
    a.usage = (struct llm_usage){0};
    replay(&a, name);
    for (int i = 1; i <= 3; i++) {
        asking_ask(&a, i, "question");
        ok(a.outcome == LLM_ANSWERED, "%s: attempt %d is there", name, i);
    }
    is(a.text, "caf\xc3\xa9 \"1\"\n", "the text came back");
    is(a.model, "m-1", "the model, too");
    ok(a.finish == LLM_LENGTH && a.usage.input == 50 && a.usage.cached == 20 &&
           a.usage.written == 5 && a.usage.output == 30 &&
           a.usage.reasoning == 10 && !a.usage.estimated,
       "and the rest");
    asking_ask(&a, 4, "question");
    ok(a.outcome == LLM_REFUSED, "what was not recorded is refused");
    ok(strstr(a.error, "has no answer for L1/7 (refine, code, attempt 4)") !=
           NULL,
       "with who asked: %s", a.error);
    asking_end(&a);
}

static void test_prompt(void)
{
    char line[400] = "";
    struct asking a;

    log_set_writer(keep, line);
    asking_begin(&a, "exec");
    record(&a, "c.jsonl", 1, 2);
    replay(&a, "c.jsonl");
    asking_ask(&a, 1, "question");
    is(line, "", "the recorded prompt needs no word");
    asking_ask(&a, 1, "another question");
    ok(a.outcome == LLM_ANSWERED &&
           strstr(line, "differs from the recorded one"),
       "another prompt is warned of");
    line[0] = '\0';
    asking_ask(&a, 2, "a third question");
    ok(a.outcome == LLM_ANSWERED && !line[0], "once");
    stop(&a);
    a.opts.replay_strict = true;
    replay(&a, "c.jsonl");
    asking_ask(&a, 2, "question");
    ok(a.outcome == LLM_ANSWERED, "strict: the recorded prompt is answered");
    asking_ask(&a, 2, "a third question");
    ok(a.outcome == LLM_REFUSED &&
           strstr(a.error, "was recorded with another prompt"),
       "strict: another is refused");
    asking_end(&a);
    log_set_writer(NULL, NULL);
}

/* A recording that was cut: the rest is good, and can be gone on with. */
static void test_torn(const char *name)
{
    char line[400] = "";
    struct asking a;
    struct stat st;

    log_set_writer(keep, line);
    asking_begin(&a, "exec");
    record(&a, name, 1, 3);
    if (stat(asking_path(&a, name), &st) < 0 ||
        truncate(asking_path(&a, name), st.st_size - 7) < 0)
        BUG("cannot cut");
    replay(&a, name);
    asking_ask(&a, 2, "question");
    ok(a.outcome == LLM_ANSWERED, "%s, cut: what is whole is there", name);
    asking_ask(&a, 3, "question");
    ok(a.outcome == LLM_REFUSED, "what is not whole is not");
    stop(&a);
    record(&a, name, 4, 4);
    replay(&a, name);
    asking_ask(&a, 4, "question");
    ok(a.outcome == LLM_ANSWERED, "what was recorded behind it is");
    asking_end(&a);
    log_set_writer(NULL, NULL);
}

static void test_last_wins(void)
{
    static const char text[] =
        "{\"cassette\":1}\n\n"
        "{\"key\":{\"task\":\"t\",\"method\":\"m\",\"stage\":\"s\","
        "\"attempt\":1},\"prompt\":\"0123456789012345678901234567890123456789"
        "012345678901234567890123\",\"text\":\"old\"}\n"
        "{\"key\":{\"task\":\"t\",\"method\":\"m\",\"stage\":\"s\","
        "\"attempt\":1},\"prompt\":\"0123456789012345678901234567890123456789"
        "012345678901234567890123\",\"text\":\"new\"}";
    struct err e = ERR_INIT;
    struct cassette *c = cassette_parse("c", text, sizeof(text) - 1, &e);
    struct llm_key k = {"t", "m", "s", 1};
    struct cassette_item item = {0};

    ok(c && cassette_find(c, &k, &item), "a key twice is one answer %s",
       e.text);
    ok(str_eq(item.result->text, "new"), "the last one");
    ok(item.result->usage.estimated, "usage may be missing");
    k.attempt = 2;
    ok(!cassette_find(c, &k, &item), "another attempt is another key");
    cassette_close(c);
}

static void test_bad(void)
{
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"", "c: not a cassette: the file is empty"},
        {"{}\n", "c:1: not a cassette: a cassette starts with"},
        {"[1]\n", "c:1: not a cassette: a cassette starts with"},
        {"{\"cassette\":2}\n", "c:1: a cassette of version 2"},
        {"{\"cassette\":1}\nnonsense\n", "c:2: JSON:1:"},
        {"{\"cassette\":1}\n{\"prompt\":\"x\"}\n", "c:2: \"prompt\" is not"},
        {"{\"cassette\":1}\n\n{\"prompt\":\"01234567890123456789012345678901234"
         "56789012345678901234567890123\"}\n",
         "c:3: \"key\" needs"},
        {"{\"cassette\":1}\n{\"key\":{\"task\":\"t\",\"method\":\"m\","
         "\"stage\":\"s\",\"attempt\":1},\"prompt\":\"012345678901234567890123"
         "4567890123456789012345678901234567890123\"}\n",
         "c:2: the string \"text\" is missing"},
    };
    struct asking a;

    for (size_t i = 0; i < COUNT(bad); i++) {
        struct err e = ERR_INIT;

        ok(!cassette_parse("c", bad[i].text, strlen(bad[i].text), &e) &&
               strstr(e.text, bad[i].error) == e.text,
           "refused: %s", e.text);
    }
    asking_begin(&a, "replay");
    a.opts.cassette = asking_path(&a, "x.zst");
    asking_write(&a, "x.zst", "this is not zstd");
    asking_open(&a);
    ok(!a.llm && strstr(a.error, "not a zstd file"), "refused: %s", a.error);
    asking_write(&a, "keep.jsonl", "something of value\n");
    a.opts.provider = "exec";
    a.opts.command = "true";
    asking_open(&a);
    {
        struct err e = ERR_INIT;

        ok(llm_record(a.llm, asking_path(&a, "keep.jsonl"), NULL, &e) < 0 &&
               asking_finds(&a, "something of value"),
           "a file that is no cassette is not recorded over");
    }
    asking_end(&a);
}

/* Cassettes and folders outlive versions of the program. */
static void test_identity(void)
{
    const struct llm_message m[] = {{"system", STR_LIT("be brief"), 0},
                                    {"user", STR_LIT("caf\xc3\xa9"), 2}};
    struct llm_request r = {
        .key = {"L1/7", "refine", "code", 3}, .message = m, .count = 2};
    char hash[HASH_HEX], id[REQUEST_ID];

    request_prompt_hash(&r, hash);
    is(hash, "d74a60b7a56cd28342e006749fb549ffe4758ae8250579ef379dad54ec4efc7e",
       "a prompt's hash is the SHA-256 of lengths and texts");
    request_id(&r, id);
    is(id, "47733eb58337cc8fe5c3762e68b3b946",
       "and an id that of the key before it");
    r.seed = 7;
    r.max_tokens = 5;
    request_id(&r, id);
    is(id, "47733eb58337cc8fe5c3762e68b3b946", "settings are no part of it");
}

SUITE(cassette)
{
    test_identity();
    test_round("c.jsonl");
    test_round("c.jsonl.zst");
    test_prompt();
    test_torn("c.jsonl");
    test_torn("c.jsonl.zst");
    test_last_wins();
    test_bad();
}
