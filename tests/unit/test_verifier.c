/* test_verifier.c: a worker that ends: its jobs are sent again, and each is
 * answered once. */
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "tap.h"
#include "verify/verifier.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void suite_verifier(void);

struct bench {
    struct loop *loop;
    struct verifier *verifier;
    char dir[40];
    struct home home;
    struct opt_list packs;
    struct verifier_opts opts;
    const char *then; /* asked when a job has no answer */
    struct buf told;  /* "NAME answer|none;" for each */
};

static void ask(struct bench *b, const char *name, const char *what)
{
    struct err e = ERR_INIT;

    if (verifier_ask(b->verifier,
                     json_pack("{s:s, s:s}", "name", name, "do", what), 1000,
                     (void *)name, &e) < 0)
        BUG("%s", e.text);
}

static void on_answer(void *job, const json_t *answer, const char *why,
                      void *arg)
{
    struct bench *b = arg;
    const char *then = b->then;

    buf_printf(&b->told, "%s %s;", (const char *)job,
               answer ? "answer"
               : why  ? "none"
                      : "nothing");
    if (answer || !then)
        return;
    b->then = NULL;
    ask(b, then, "answer");
}

static void begin(struct bench *b)
{
    static char worker[] = "tests/servers/mortal_worker.py",
                python[] = "python3";
    struct err e = ERR_INIT;

    *b = (struct bench){.dir = "/tmp/test-verifier-XXXXXX",
                        .loop = loop_new(&e)};
    if (!b->loop || !mkdtemp(b->dir))
        BUG("%s", e.text);
    buf_init(&b->told, BUF_UNLIMITED);
    b->home = (struct home){b->dir, worker, python};
    b->opts = (struct verifier_opts){.verifier = "local",
                                     .device = "cpu",
                                     .box = "none",
                                     .packs = &b->packs};
    b->verifier = verifier_open(b->loop, &b->opts, &b->home, on_answer, b, &e);
    log_set_level(LOG_QUIET);
}

static void wait_for_all(struct bench *b)
{
    struct err e = ERR_INIT;
    char *hint;

    if (verifier_wait(b->verifier, &hint, &e) < 0)
        BUG("%s", e.text);
    free(hint);
}

/* What the worker was given. */
static void jobs_are(struct bench *b, const char *want, const char *claim)
{
    char *path = fs_join(b->dir, "jobs");
    struct err e = ERR_INIT;
    struct buf text;

    buf_init(&text, BUF_UNLIMITED);
    fs_read(path, &text, &e);
    is(buf_str(&text), want, claim);
    buf_release(&text);
    unlink(path);
    free(path);
}

static void end(struct bench *b)
{
    verifier_close(b->verifier);
    loop_free(b->loop);
    buf_release(&b->told);
    rmdir(b->dir);
    log_set_level(LOG_INFO);
}

static void test_sent_again(void)
{
    struct bench b;

    begin(&b);
    b.then = "next";
    ask(&b, "first", "answer");
    ask(&b, "bad", "die");
    ask(&b, "last", "answer");
    wait_for_all(&b);
    is(buf_str(&b.told), "first answer;bad none;last none;next answer;",
       "every job is told of once, also one asked meanwhile");
    jobs_are(&b, "first\nbad\nbad\nnext\n",
             "what ends the worker is sent twice, what is new once");
    ok(!verifier_is_dead(b.verifier) && verifier_pending(b.verifier) == 0,
       "and the worker lives");
    end(&b);
}

static void test_given_up(void)
{
    struct bench b;

    begin(&b);
    ask(&b, "one", "die");
    wait_for_all(&b);
    ask(&b, "two", "die");
    b.then = "more";
    wait_for_all(&b);
    is(buf_str(&b.told), "one none;two none;more none;",
       "a worker that only ends is given up");
    ok(verifier_is_dead(b.verifier) && verifier_pending(b.verifier) == 0,
       "and nobody waits for it");
    jobs_are(&b, "one\none\ntwo\n", "it was given nothing more");
    end(&b);
}

static void test_not_started(void)
{
    static char nothing[] = "/nonexistent/worker";
    struct bench b;

    begin(&b);
    ask(&b, "one", "die");
    b.home.worker = nothing;
    wait_for_all(&b);
    is(buf_str(&b.told), "one none;", "one that cannot be started is given up");
    jobs_are(&b, "one\n", "it had the job");
    end(&b);
    ok(fcntl(STDIN_FILENO, F_GETFD) >= 0, "nobody else's descriptor is closed");
}

void suite_verifier(void)
{
    test_sent_again();
    test_given_up();
    test_not_started();
}
