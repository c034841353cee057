/* test_workers.c: workers that come, go, freeze, lie and repeat themselves; each job is
 * answered once. */
#include "base/log.h"
#include "base/mem.h"
#include "fake_worker.h"
#include "io/link.h"
#include "scratch.h"
#include "tap.h"
#include "verify/roster.h"
#include "verify/verifier.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bench {
    struct loop *loop;
    struct verifier *verifier;
    char *dir, *key, *roster, secret[KEY_TEXT], address[TCP_ADDRESS];
    struct home home;
    struct opt_list packs;
    struct verifier_opts opts;
    struct buf told;  /* "NAME answer|none;" for each */
    struct buf lines; /* of the log */
    bool waiting;
    size_t open; /* questions without an answer */
};

struct question {
    struct bench *b;
    const char *name;
    json_t *what;
};

static void question_run(void *arg)
{
    struct question q = *(struct question *)arg;
    struct bench *b = q.b;
    struct verifier_answer a = {0};
    struct err e = ERR_INIT;

    free(arg);
    b->open++;
    if (verifier_ask_job(b->verifier, q.what, 1000, &a, &e) == 0)
        buf_printf(&b->told, "%s %s;", q.name,
                   strcmp(jsn_str(a.record, "echo"), q.name) == 0 ? "answer"
                   : *a.why                                       ? "none"
                                                                  : "wrong");
    else if (e.kind)
        BUG("%s", e.text);
    b->open--;
    if (b->waiting && b->open == 0)
        loop_stop(b->loop);
    verifier_answer_release(&a);
}

/* About a task, or NULL. */
static struct co *ask_about(struct bench *b, const char *task, const char *name,
                            const char *what)
{
    struct question *q = xmalloc(sizeof(*q));

    *q = (struct question){b, name,
                           json_pack("{s:s, s:s}", "name", name, "do", what)};
    if (task)
        json_object_set_new(q->what, "task", json_pack("{s:s}", "id", task));
    return co_start(question_run, q);
}

static struct co *ask(struct bench *b, const char *name, const char *what)
{
    return ask_about(b, NULL, name, what);
}

/* The line that the launcher "none" says has the address. */
static void on_line(const char *line, void *arg)
{
    struct bench *b = arg;
    const char *at = strstr(line, "--connect ");

    if (at)
        snprintf(b->address, sizeof(b->address), "%.*s",
                 (int)strcspn(at + 10, " "), at + 10);
    buf_printf(&b->lines, "%s\n", line);
}

static void begin(struct bench *b)
{
    static char worker[] = "monkeys-worker", python[] = "python3";
    struct err e = ERR_INIT;

    *b = (struct bench){.dir = scratch_dir(), .loop = loop_new(&e)};
    if (!b->loop)
        BUG("%s", e.text);
    buf_init(&b->told, BUF_UNLIMITED);
    buf_init(&b->lines, BUF_UNLIMITED);
    b->home = (struct home){b->dir, worker, python};
    b->key = scratch_path(b->dir, "key");
    b->roster = scratch_path(b->dir, ROSTER_FILE);
    log_set_writer(on_line, b);
    b->opts = (struct verifier_opts){.home = &b->home,
                                     .verifier = "tcp=127.0.0.1:0",
                                     .launcher = "none",
                                     .key = b->key,
                                     .roster = b->roster,
                                     .device = "cpu",
                                     .box = "none",
                                     .heartbeat_s = 3,
                                     .packs = &b->packs};
    b->verifier = verifier_open(b->loop, &b->opts, &e);
    if (!b->verifier || key_read(b->key, b->secret, &e) < 0)
        BUG("%s", e.text);
}

static void end(struct bench *b)
{
    verifier_close(b->verifier);
    loop_free(b->loop);
    log_set_writer(NULL, NULL);
    buf_release(&b->told);
    buf_release(&b->lines);
}

static struct fake_worker *start(struct bench *b, const char *name,
                                 const char *secret)
{
    return fake_worker_start(
        b->loop, &(struct fake_opts){.address = b->address,
                                     .secret = secret ? secret : b->secret,
                                     .name = name,
                                     .slots = 1});
}

static void wait_for_all(struct bench *b)
{
    b->waiting = true;
    if (b->open)
        loop_run(b->loop);
    b->waiting = false;
}

/* Until it holds; the heartbeat of this test is 3 s. */
static bool until_jobs(struct bench *b, const struct fake_worker *w, size_t n)
{
    for (int i = 0; i < 3000 && fake_worker_jobs(w) < n; i++)
        loop_run_for(b->loop, 10000000);
    return fake_worker_jobs(w) >= n;
}

static bool until_line(struct bench *b, const char *text)
{
    for (int i = 0; i < 3000 && !strstr(buf_str(&b->lines), text); i++)
        loop_run_for(b->loop, 10000000);
    return strstr(buf_str(&b->lines), text) != NULL;
}

static void test_come_and_go(void)
{
    struct fake_worker *w;
    struct bench b;

    begin(&b);
    ask(&b, "one", "never");
    ask(&b, "two", "");
    w = start(&b, "first", NULL);
    ok(until_jobs(&b, w, 1), "jobs wait until a worker is there");
    fake_worker_free(w);
    ok(until_line(&b, "worker first"), "that a worker has gone is told");
    is(buf_str(&b.told), "", "its job is not answered by that");
    ask(&b, "three", "");
    w = start(&b, "second", NULL);
    ok(until_jobs(&b, w, 1), "but goes to the next worker");
    fake_worker_free(w);
    w = start(&b, "third", NULL);
    until_jobs(&b, w, 1);
    fake_worker_free(w);
    w = start(&b, "fourth", NULL);
    wait_for_all(&b);
    is(buf_str(&b.told), "one none;two answer;three answer;",
       "what three workers were lost with is given up, the rest is answered");
    fake_worker_free(w);
    end(&b);
}

static void test_frozen(void)
{
    struct fake_worker *a, *c;
    struct bench b;

    begin(&b);
    a = fake_worker_start(b.loop, &(struct fake_opts){.address = b.address,
                                                      .secret = b.secret,
                                                      .name = "ice",
                                                      .slots = 1,
                                                      .delay_ns = 1000000000});
    ask(&b, "one", "");
    until_jobs(&b, a, 1);
    fake_worker_freeze(a, true);
    c = start(&b, "fire", NULL);
    wait_for_all(&b);
    is(buf_str(&b.told), "one answer;",
       "a frozen worker's job goes to another");
    ok(strstr(buf_str(&b.lines), "no sign of life") != NULL,
       "and that is told");
    fake_worker_freeze(a, false);
    loop_run_for(b.loop, 200000000);
    is(buf_str(&b.told), "one answer;", "what it says afterwards is not heard");
    ok(!fake_worker_is_open(a), "it is not connected any more");
    fake_worker_free(a);
    fake_worker_free(c);
    end(&b);
}

static void test_lies(void)
{
    struct fake_worker *w;
    struct bench b;

    begin(&b);
    w = start(&b, "liar", NULL);
    ask(&b, "one", "twice");
    ask(&b, "two", "forge");
    ask(&b, "three", "infra");
    wait_for_all(&b);
    is(buf_str(&b.told), "one answer;two answer;three none;",
       "an answer counts once, under its own lease");
    ok(until_line(&b, "lease-1-99"), "one under another lease is told of");
    fake_worker_free(w);
    end(&b);
}

static void test_infra_elsewhere(void)
{
    struct fake_worker *a, *c;
    struct bench b;

    begin(&b);
    a = start(&b, "a", NULL);
    c = start(&b, "c", NULL);
    until_line(&b, "a joined");
    until_line(&b, "c joined");
    ask(&b, "one", "infra");
    wait_for_all(&b);
    ok(fake_worker_jobs(a) == 1 && fake_worker_jobs(c) == 1,
       "a job that one worker could not do is tried by another");
    is(buf_str(&b.told), "one none;", "and answered once");
    fake_worker_free(a);
    fake_worker_free(c);
    end(&b);
}

static bool send_text(int fd, const char *text)
{
    return write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Strangers of all kinds, while an honest worker works. */
static void test_strangers(void)
{
    static const char other[] =
        "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    struct fake_worker *w, *bad;
    struct err e = ERR_INIT;
    struct bench b;
    int slow[100];

    begin(&b);
    for (size_t i = 0; i < 100; i++)
        slow[i] = tcp_connect(b.address, 1000, &e);
    bad = start(&b, "stranger", other);
    ok(send_text(slow[99], "GET / HTTP/1.1\r\n") &&
           until_line(&b, "closed: not a frame"),
       "a browser is sent away");
    for (size_t i = 0; i < 90; i++)
        send_text(slow[i], "m"); /* one byte, and no more */
    w = start(&b, "honest", NULL);
    ask(&b, "one", "");
    ask(&b, "two", "");
    wait_for_all(&b);
    is(buf_str(&b.told), "one answer;two answer;",
       "a hundred that never end their hello do not keep a worker out");
    loop_run_for(b.loop, 100000000);
    ok(!fake_worker_is_open(bad) && fake_worker_jobs(bad) == 0,
       "who does not know the secret gets nothing");
    ok(strstr(buf_str(&b.lines), "too many at once") != NULL,
       "the oldest stranger leaves when there are too many");
    for (size_t i = 0; i < 100; i++)
        close(slow[i]);
    fake_worker_free(w);
    fake_worker_free(bad);
    end(&b);
}

/* "NAME STATE VERDICTS REFUSED JOINED TASKS;" for each worker in the file. */
static void read_roster(const struct bench *b, struct buf *out)
{
    struct err e = ERR_INIT;
    json_t *all = roster_read(b->dir, &e), *w;
    size_t i;

    buf_reset(out);
    json_array_foreach(json_object_get(all, "workers"), i, w)
    {
        const json_t *tasks = json_object_get(w, "tasks");

        buf_printf(out, "%s %s %d %d %d", jsn_str(w, "name"),
                   jsn_str(w, "state"),
                   (int)json_integer_value(json_object_get(w, "verdicts")),
                   (int)json_integer_value(json_object_get(w, "refused")),
                   (int)json_integer_value(json_object_get(w, "joined")));
        for (size_t k = 0; k < json_array_size(tasks); k++)
            buf_printf(out, " %s", json_string_value(json_array_get(tasks, k)));
        buf_puts(out, ";");
    }
    json_decref(all);
}

static bool until_roster(struct bench *b, const char *want, struct buf *got)
{
    for (int i = 0; i < 3000; i++) {
        read_roster(b, got);
        if (strcmp(buf_str(got), want) == 0)
            return true;
        loop_run_for(b->loop, 10000000);
    }
    return false;
}

static void test_roster(void)
{
    struct fake_worker *w, *ice;
    struct co *never;
    struct bench b;
    struct buf got = BUF_INIT;

    begin(&b);
    w = start(&b, "h/1", NULL);
    ok(until_roster(&b, "h/1 idle 0 0 1;", &got), "who joined is idle");
    ask_about(&b, "t/1", "t/1", "twice");
    wait_for_all(&b);
    never = ask_about(&b, "t/2", "t/2", "never");
    ok(until_roster(&b, "h/1 busy 1 1 1 t/2;", &got),
       "then busy with a task; what it did and what was refused is counted");
    fake_worker_free(w);
    ok(until_roster(&b, "h/1 lost 1 1 1;", &got), "then lost");
    ice = start(&b, "h/2", NULL);
    ok(until_roster(&b, "h/1 lost 1 1 1;h/2 busy 0 0 1 t/2;", &got),
       "another has its task");
    fake_worker_freeze(ice, true);
    ok(until_roster(&b, "h/1 lost 1 1 1;h/2 fenced 0 0 1;", &got),
       "who is silent is fenced");
    w = start(&b, "h/1", NULL);
    ok(until_roster(&b, "h/1 busy 1 1 2 t/2;h/2 fenced 0 0 1;", &got),
       "who comes again keeps its line");
    co_cancel(never);
    verifier_close(b.verifier);
    read_roster(&b, &got);
    is(buf_str(&got), "h/1 left 1 1 2;h/2 fenced 0 0 1;",
       "at the end who is there has left");
    b.verifier = verifier_open(b.loop, &b.opts, &(struct err){0});
    fake_worker_free(w);
    fake_worker_free(ice);
    buf_release(&got);
    end(&b);
}

SUITE(workers)
{
    test_roster();
    test_come_and_go();
    test_frozen();
    test_lies();
    test_infra_elsewhere();
    test_strangers();
}
