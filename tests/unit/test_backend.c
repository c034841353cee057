/* test_backend.c: a worker that ends: its jobs are sent again, and each is
 * answered once; and a folder, whose answers are frames written by hand. */
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/frame.h"
#include "scratch.h"
#include "tap.h"
#include "verify/verifier.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bench {
    struct loop *loop;
    struct verifier *verifier;
    char *dir;
    struct home home;
    struct opt_list packs;
    struct verifier_opts opts;
    bool waiting;
    size_t open;      /* questions without an answer */
    const char *then; /* asked when a job has no answer */
    struct buf told;  /* "NAME answer|none;" for each */
};

struct question {
    struct bench *b;
    const char *name, *what;
};

static void ask(struct bench *b, const char *name, const char *what);

static void on_answer(struct bench *b, const char *name,
                      const struct verifier_answer *a)
{
    const char *then = b->then;

    buf_printf(&b->told, "%s %s;", name,
               a->record ? "answer"
               : *a->why ? "none"
                         : "nothing");
    b->open--;
    if (!a->record && then) {
        b->then = NULL;
        ask(b, then, "answer");
    }
    if (b->waiting && b->open == 0)
        loop_stop(b->loop);
}

static void question_run(void *arg)
{
    struct question q = *(struct question *)arg;
    struct verifier_answer a = {0};
    struct err e = ERR_INIT;

    free(arg);
    q.b->open++;
    if (verifier_ask_job(q.b->verifier,
                         json_pack("{s:s, s:s}", "name", q.name, "do", q.what),
                         1000, &a, &e) == 0)
        on_answer(q.b, q.name, &a);
    else if (e.kind)
        BUG("%s", e.text);
    else
        q.b->open--; /* only another host can answer it */
    verifier_answer_release(&a);
}

static void ask(struct bench *b, const char *name, const char *what)
{
    struct question *q = xmalloc(sizeof(*q));

    *q = (struct question){b, name, what};
    co_start(question_run, q);
}

static void open_verifier(struct bench *b, const char *verifier)
{
    struct err e = ERR_INIT;

    b->opts = (struct verifier_opts){.home = &b->home,
                                     .verifier = verifier,
                                     .device = "cpu",
                                     .box = "none",
                                     .packs = &b->packs};
    b->verifier = verifier_open(b->loop, &b->opts, &e);
    if (!b->verifier)
        BUG("%s", e.text);
}

static void begin_with(struct bench *b, const char *verifier)
{
    static char worker[] = "tests/servers/mortal_worker.py",
                python[] = "python3";
    struct err e = ERR_INIT;

    *b = (struct bench){.dir = scratch_dir(), .loop = loop_new(&e)};
    if (!b->loop)
        BUG("%s", e.text);
    buf_init(&b->told, BUF_UNLIMITED);
    b->home = (struct home){b->dir, worker, python};
    if (verifier)
        open_verifier(b, verifier);
    log_set_level(LOG_QUIET);
}

static void begin(struct bench *b)
{
    begin_with(b, "local");
}

static void wait_for_all(struct bench *b)
{
    b->waiting = true;
    if (b->open)
        loop_run(b->loop);
    b->waiting = false;
}

/* What the worker was given. */
static void jobs_are(struct bench *b, const char *want, const char *claim)
{
    char *path = scratch_path(b->dir, "jobs");

    is(scratch_read(path), want, claim);
    unlink(path);
}

static void end(struct bench *b)
{
    verifier_close(b->verifier);
    loop_free(b->loop);
    buf_release(&b->told);
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
    ok(!verifier_is_dead(b.verifier) && b.open == 0, "and the worker lives");
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
    ok(verifier_is_dead(b.verifier) && b.open == 0, "and nobody waits for it");
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

/* ---- a folder ---- */

struct far {
    struct bench b;
    char *verifier, *jobs, *answers;
    char id[3][HASH_HEX]; /* of the jobs written so far */
    size_t written;
};

static int note_job(const struct frame *f, void *arg, struct err *e)
{
    struct far *r = arg;

    (void)e;
    snprintf(r->id[r->written++ % 3], HASH_HEX, "%.64s", f->id);
    return 0;
}

static void far_begin(struct far *r)
{
    *r = (struct far){0};
    begin_with(&r->b, NULL);
    r->verifier = xasprintf("jobs=%s/far", r->b.dir);
    r->jobs = xasprintf("%s/far/jobs", r->b.dir);
    r->answers = xasprintf("%s/far/answers", r->b.dir);
}

/* What the command does each time it is run: asks, and takes in what is there.
 * "NAME answer|none" as it was told, then how many jobs have been written and
 * how many wait. */
static void far_run(struct far *r, const char *want, const char *claim)
{
    struct err e = ERR_INIT;
    char *hint;

    buf_reset(&r->b.told);
    open_verifier(&r->b, r->verifier);
    ask(&r->b, "one", "judge");
    hint = verifier_hint(r->b.verifier);
    r->written = 0;
    if (frame_file_read(r->jobs, note_job, r, &e) < 0)
        BUG("%s", e.text);
    buf_printf(&r->b.told, " %zu written, %zu waiting, %s", r->written,
               verifier_elsewhere(r->b.verifier, false),
               !hint                         ? "nothing to do"
               : strstr(hint, "wait")        ? "to be answered"
               : strstr(hint, "tried again") ? "to be tried again"
                                             : hint);
    free(hint);
    verifier_close(r->b.verifier);
    is(buf_str(&r->b.told), want, claim);
}

static void far_answer(struct far *r, size_t job, const char *type,
                       const char *payload)
{
    struct frame f = {.payload = payload, .len = strlen(payload)};
    int fd = open(r->answers, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    struct err e = ERR_INIT;

    snprintf(f.type, sizeof(f.type), "%s", type);
    snprintf(f.id, sizeof(f.id), "%s", r->id[job]);
    if (fd < 0 || frame_write(fd, &f, &e) < 0)
        BUG("%s", e.text);
    close(fd);
}

static void far_end(struct far *r)
{
    static const char *const names[] = {"jobs", "answers", "secret", ""};

    for (size_t i = 0; i < COUNT(names); i++) {
        char *path = scratch_text("%s/far/%s", r->b.dir, names[i]);

        if (remove(path) < 0 && names[i][0] == '\0')
            BUG("%s", path);
    }
    free(r->verifier);
    free(r->jobs);
    free(r->answers);
    loop_free(r->b.loop);
    buf_release(&r->b.told);
    log_set_level(LOG_INFO);
}

static void test_far_infra_frame(void)
{
    struct far r;

    far_begin(&r);
    far_run(&r, " 1 written, 1 waiting, to be answered", "a job waits");
    far_answer(&r, 0, "infra", "the GPU fell off the bus");
    far_run(&r, "one none; 1 written, 0 waiting, to be tried again",
            "one that the worker could not judge does not");
    far_run(&r, "one none; 1 written, 0 waiting, to be tried again",
            "however often it is asked");
    far_answer(&r, 0, "answer", "{\"verdict\":\"correct\"}");
    far_run(&r, "one answer; 1 written, 0 waiting, nothing to do",
            "a worker that is started again may have an answer");
    far_end(&r);
}

static void test_far_infra_answer(void)
{
    struct far r;

    far_begin(&r);
    far_run(&r, " 1 written, 1 waiting, to be answered", "a job waits");
    far_answer(&r, 0, "answer", "{\"verdict\":\"infra\",\"infra\":\"full\"}");
    far_run(&r, "one answer; 2 written, 0 waiting, to be tried again",
            "an answer that is no verdict is told, and the job written anew");
    far_run(&r, "one answer; 2 written, 0 waiting, to be tried again",
            "once, until that has an answer");
    far_answer(&r, 1, "answer", "{\"verdict\":\"correct\"}");
    far_run(&r, "one answer; 2 written, 0 waiting, nothing to do",
            "which is the one that counts");
    far_end(&r);
}

static void test_far_unusable(void)
{
    struct far r;

    far_begin(&r);
    far_run(&r, " 1 written, 1 waiting, to be answered", "a job waits");
    far_answer(&r, 0, "answer",
               "{\"verdict\":\"infra\",\"infra\":\"its reference fails\","
               "\"unusable\":true}");
    far_run(&r, "one answer; 1 written, 0 waiting, nothing to do",
            "a task that cannot be judged is not asked about again");
    far_end(&r);
}

SUITE(backend)
{
    test_sent_again();
    test_given_up();
    test_not_started();
    test_far_infra_frame();
    test_far_infra_answer();
    test_far_unusable();
}
