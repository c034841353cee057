/* test_spool.c: a folder answers: whole files only, also those of before. */
#include "asking.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "llm/spool.h"
#include "tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t warnings;

static void count_line(const char *line, void *arg)
{
    (void)line;
    (void)arg;
    warnings++;
}

static void begin(struct asking *a)
{
    asking_begin(a, "spool");
    a->opts.folder = a->dir;
    asking_open(a);
    if (!a->llm)
        BUG("%s", a->error);
}

/* The id of the `n`th request that is there, waiting until it is. */
static void id_of(struct asking *a, size_t n, char id[REQUEST_ID])
{
    struct fs_names names = {0};
    struct err e = ERR_INIT;

    for (;;) {
        if (fs_list(asking_path(a, "requests"), false, &names, &e) < 0)
            BUG("%s", e.text);
        if (names.len > n)
            break;
        fs_names_release(&names);
        loop_run_for(a->loop, TICK_MS);
    }
    snprintf(id, REQUEST_ID, "%.32s", names.name[n]);
    fs_names_release(&names);
}

static void put(struct asking *a, const char *id, const char *suffix,
                const char *text)
{
    char name[80];

    snprintf(name, sizeof(name), "answers/%s%s", id, suffix);
    asking_write(a, name, text);
}

static void until_done(struct asking *a, size_t n)
{
    while (a->done < n)
        loop_run_for(a->loop, TICK_MS);
}

static void test_request(void)
{
    struct asking a;
    char id[REQUEST_ID], other[REQUEST_ID], *path;
    struct err e = ERR_INIT;
    json_t *v;

    begin(&a);
    asking_start(&a, 1, "question");
    id_of(&a, 0, id);
    ok(request_is_id(id), "a request's name is its id");
    path = spool_path(a.dir, "requests", id, ".json");
    v = jsn_read(path, &e);
    ok(v && strcmp(jsn_maybe(v, "id"), id) == 0 && json_object_size(v) == 7,
       "the file is the request, with the id in it");
    json_decref(v);
    free(path);
    while (!llm_waiting(a.llm)) /* until it was looked for */
        loop_run_for(a.loop, TICK_MS);
    ok(llm_waiting(a.llm) == 1 && a.done == 0, "the call waits");
    put(&a, id, ".txt", "the answer");
    until_done(&a, 1);
    is(a.text, "the answer", "a text is an answer");
    ok(a.usage.estimated && llm_waiting(a.llm) == 0, "of estimated length");
    asking_start(&a, 2, "question");
    for (size_t i = 0; i < 2; i++) {
        id_of(&a, 1, other); /* both are there now */
        id_of(&a, i, other);
        if (strcmp(other, id) != 0)
            put(&a, other, ".json",
                "{\"text\": \"j\", \"usage\": {\"input\": 7, \"output\": 2}}");
    }
    until_done(&a, 2);
    ok(a.usage.input == 7 && !a.usage.estimated, "so is JSON, with more");
    asking_ask(&a, 1, "question");
    is(a.text, "the answer", "what was answered once is answered at once");
    asking_end(&a);
}

/* A run that is started again finds the answers to its old questions. */
static void test_restart(void)
{
    struct asking a;
    char id[REQUEST_ID];

    begin(&a);
    asking_start(&a, 1, "question");
    id_of(&a, 0, id);
    llm_close(a.llm);
    put(&a, id, ".json", "{\"text\": \"meanwhile\"}");
    asking_open(&a);
    asking_ask(&a, 1, "question");
    is(a.text, "meanwhile", "an answer of before is found");
    asking_start(&a, 1, "another question");
    loop_run_for(a.loop, 20 * TICK_MS);
    ok(a.done == 1, "but not for another prompt");
    asking_end(&a);
}

static void test_half(void)
{
    struct asking a;
    char id[REQUEST_ID], *path;
    int fd;

    warnings = 0;
    log_set_writer(count_line, NULL);
    begin(&a);
    asking_start(&a, 1, "question");
    id_of(&a, 0, id);
    put(&a, id, ".json.tmp", "{\"text\": \"under another name\"}");
    put(&a, id, ".json", "{\"text\": \"half");
    while (!warnings)
        loop_run_for(a.loop, TICK_MS);
    loop_run_for(a.loop, 600 * TICK_MS);
    ok(a.done == 0, "neither another name nor half an answer is taken");
    ok(warnings == 1, "half an answer is warned of, once");
    put(&a, id, ".json", "{\"text\": \"whole\"}");
    until_done(&a, 1);
    is(a.text, "whole", "when it is whole it is");
    asking_start(&a, 2, "being written");
    path = NULL;
    for (size_t i = 0; i < 2; i++) {
        char other[REQUEST_ID];

        id_of(&a, 1, other);
        id_of(&a, i, other);
        if (strcmp(other, id) != 0)
            path = spool_path(a.dir, "answers", other, ".txt");
    }
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (write(fd, "first half, ", 12) != 12)
        BUG("cannot write");
    loop_run_for(a.loop, 600 * TICK_MS);
    ok(a.done == 1, "a text that somebody still writes is not taken");
    if (write(fd, "second half", 11) != 11)
        BUG("cannot write");
    close(fd);
    until_done(&a, 2);
    is(a.text, "first half, second half", "until it is closed");
    free(path);
    asking_end(&a);
    log_set_writer(NULL, NULL);
}

static void test_refusal(void)
{
    struct asking a;
    char id[REQUEST_ID];

    begin(&a);
    asking_start(&a, 1, "question");
    id_of(&a, 0, id);
    put(&a, id, ".json", "{\"error\": \"I will not\"}");
    until_done(&a, 1);
    ok(a.outcome == LLM_REFUSED, "an error is a refusal");
    is(a.error, "I will not", "with its words");
    asking_end(&a);
}

static void test_claims(void)
{
    struct asking a;
    struct err e = ERR_INIT;

    begin(&a);
    ok(spool_claim(a.dir, "abc", "me", &e) == 1, "the first claim is good");
    ok(spool_claim(a.dir, "abc", "you", &e) == 0, "the second is not");
    spool_unclaim(a.dir, "abc");
    ok(spool_claim(a.dir, "abc", "you", &e) == 1, "until it is given up");
    asking_end(&a);
}

static void test_many(void)
{
    struct asking a;
    char id[REQUEST_ID];

    begin(&a);
    for (int i = 1; i <= 200; i++)
        asking_start(&a, i, "question");
    id_of(&a, 199, id);
    for (size_t i = 0; i < 100; i++) {
        id_of(&a, i * 2, id);
        put(&a, id, i % 2 ? ".json" : ".txt", "{\"text\": \"x\"}");
    }
    until_done(&a, 100);
    ok(llm_waiting(a.llm) == 100, "of 200 questions 100 are answered");
    asking_end(&a);
}

SUITE(spool)
{
    test_request();
    test_restart();
    test_half();
    test_refusal();
    test_claims();
    test_many();
}
