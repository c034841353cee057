/* show.c: what it costs to look at one task of a large run, to read the whole
 * run, as `status` does, and to make the views of the page. Prints lines of
 * "what: number unit".
 *
 *   bench-show FOLDER
 *
 * FOLDER is empty or new; the run stays in it, for `monkeys show`. */
#include "analyze/views.h"
#include "base/mem.h"
#include "base/tick.h"
#include "run/query.h"
#include "web/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { TASKS = 10000, ATTEMPTS = 5, EXAMPLES = 3 };

static void put_call(struct store *s, int64_t task, int64_t attempt,
                     const char *purpose, const char *text)
{
    char asked[HASH_HEX], list[HASH_HEX], reply[HASH_HEX], prompt[256];
    struct row_call c = {.task = task,
                         .attempt = attempt,
                         .purpose = purpose,
                         .asked = asked,
                         .try = 1,
                         .state = "answered",
                         .prompt = list,
                         .prompt_hash = list,
                         .reply = reply,
                         .finish = "stop",
                         .input = 10000,
                         .output = 1000,
                         .asked_at = (attempt * TASKS + task) * 1000,
                         .answered_at = (attempt * TASKS + task) * 1000 + 500};

    store_blob(s, str_of(text), reply);
    snprintf(prompt, sizeof(prompt), "[{\"role\":\"user\",\"parts\":[\"%s\"]}]",
             reply);
    store_blob(s, str_of(prompt), list);
    hash_hex(text, strlen(text), asked);
    store_call(s, &c);
}

static void put_attempt(struct store *s, int64_t task, int64_t attempt)
{
    bool good = task % 3 == 0 && attempt == ATTEMPTS;
    char code[HASH_HEX], record[HASH_HEX], text[256];
    struct row_attempt a = {.task = task,
                            .attempt = attempt,
                            .method = "monkeys",
                            .retrieval = "similar",
                            .island = -1,
                            .plan = code,
                            .code = code,
                            .code_hash = code,
                            .stage = "compile",
                            .iteration = attempt,
                            .verdict = good ? "correct" : "compile_error",
                            .solved = good};
    struct row_verdict v = {.task = task,
                            .attempt = attempt,
                            .verdict = a.verdict,
                            .stage = a.stage,
                            .feedback = record,
                            .record = record,
                            .times = "{}",
                            .judged_at = attempt * 1000000 + task};

    snprintf(text, sizeof(text), "code %lld %lld", (long long)task,
             (long long)attempt);
    store_blob(s, str_of(text), code);
    put_call(s, task, attempt, "plan", text);
    put_call(s, task, attempt, "code", text);
    snprintf(text, sizeof(text),
             "{\"verdict\":\"%s\",\"message\":\"line %lld\"}", a.verdict,
             (long long)task);
    store_blob(s, str_of(text), record);
    store_verdict(s, &v);
    for (int64_t i = 1; i <= EXAMPLES; i++)
        store_shown(s,
                    &(struct row_shown){task, attempt, i, task + 1, 0.5, NULL});
    store_attempt(s, &a);
}

static void put_task(struct store *s, int64_t ord, int64_t attempts)
{
    char hash[HASH_HEX], id[64];
    struct row_task t = {.ord = ord,
                         .id = id,
                         .hash = hash,
                         .source = hash,
                         .path = id,
                         .ops = "aten.mm\naten.relu"};
    struct row_entry x = {.entry = ord + 1,
                          .version = 1,
                          .origin = "run",
                          .task = ord,
                          .attempt = 1,
                          .name = id,
                          .task_hash = hash,
                          .problem = hash,
                          .plan = hash,
                          .solution = hash,
                          .ported = hash};

    snprintf(id, sizeof(id), "large/%05lld_task", (long long)ord);
    store_blob(s, str_of(id), hash);
    store_task(s, &t);
    store_entry(s, &x);
    for (int64_t i = 1; i <= attempts; i++)
        put_attempt(s, ord, i);
}

static void make_run(const char *dir, int64_t tasks, int64_t attempts)
{
    char *path = xasprintf("%s/run.db", dir);
    struct err e = ERR_INIT;
    struct store *s;

    mkdir(dir, 0777);
    s = store_open(path, STORE_NEW, NULL, &e);
    if (!s)
        BUG("%s", e.text);
    for (int64_t i = 0; i < tasks; i++)
        put_task(s, i, attempts);
    if (store_close(s, &e) < 0)
        BUG("%s", e.text);
    free(path);
}

static double show_ms(const char *dir, int64_t task)
{
    int64_t start = tick_now_ns(), best;
    char *path = xasprintf("%s/run.db", dir);
    struct err e = ERR_INIT;
    struct store *s = store_open(path, STORE_READ, NULL, &e);
    json_t *tasks, *j, *whole;

    if (!s)
        BUG("%s", e.text);
    query_texts(s);
    tasks = query_list(s, "run/task/tasks", NULL, &e);
    if (!tasks || query_task_best(s, task, &best, &e) < 0 ||
        !(j = query_task(s, task, &e)) ||
        !(whole = query_task_attempt(s, task, best, &e)))
        BUG("%s", e.text);
    json_decref(tasks);
    json_decref(j);
    json_decref(whole);
    store_close(s, &e);
    free(path);
    return (double)(tick_now_ns() - start) / 1e6;
}

static double whole_ms(const char *dir)
{
    int64_t start = tick_now_ns();
    struct err e = ERR_INIT;
    struct run_view v;

    if (run_view_open(dir, &v, &e) < 0)
        BUG("%s", e.text);
    run_view_close(&v);
    return (double)(tick_now_ns() - start) / 1e6;
}

static double cpu_ms(void)
{
    return (double)clock() / (CLOCKS_PER_SEC / 1000.0);
}

/* Processor time: the first time, and again when all has been read before. */
static void time_view(struct run_view *v, size_t which)
{
    struct run_view *runs[] = {v};
    struct err e = ERR_INIT;
    double ms[2];
    size_t bytes = 0;

    for (int i = 0; i < 2; i++) {
        double start = cpu_ms();
        json_t *j = views_all[which].make(runs, 1, &e);

        ms[i] = cpu_ms() - start;
        if (!j)
            BUG("%s", e.text);
        bytes = json_dumpb(j, NULL, 0, JSON_COMPACT);
        json_decref(j);
    }
    printf("%s: %.0f ms, again %.0f ms; %.2f MB\n", views_all[which].name,
           ms[0], ms[1], (double)bytes / 1e6);
}

static void time_views(const char *dir)
{
    struct err e = ERR_INIT;
    struct run_view v, *runs[] = {&v};
    struct buf report = BUF_INIT;
    double start = cpu_ms();

    if (run_view_open(dir, &v, &e) < 0)
        BUG("%s", e.text);
    printf("processor time\nreading the run: %.0f ms\n", cpu_ms() - start);
    for (size_t i = 0; i < VIEWS; i++)
        time_view(&v, i);
    start = cpu_ms();
    if (report_html(runs, 1, &report, &e) < 0)
        BUG("%s", e.text);
    printf("report: %.0f ms, %.1f MB\n", cpu_ms() - start,
           (double)report.len / 1e6);
    buf_release(&report);
    run_view_close(&v);
}

int main(int argc, char **argv)
{
    double one = 0, all;

    if (argc < 2) {
        fprintf(stderr, "usage: bench-show FOLDER\n");
        return 2;
    }
    make_run(argv[1], TASKS, ATTEMPTS);
    for (int i = 0; i < 5; i++) {
        double ms = show_ms(argv[1], TASKS / 2);

        one = i && one < ms ? one : ms;
    }
    all = whole_ms(argv[1]);
    printf("tasks: %d, attempts each: %d\n", TASKS, ATTEMPTS);
    printf("one task: %.1f ms\n", one);
    printf("the whole run: %.1f ms, %.0f times as long\n", all, all / one);
    time_views(argv[1]);
    return 0;
}
