/* scale.c: one orchestrator and N workers that connect over TCP, with verdicts of
 * 50 ms: how busy are they, and what does a verdict cost the orchestrator?
 *
 *     build/release/bench-scale [WORKERS...]
 *
 * The workers are fakes that share a second thread. Busy is the share of the time
 * in which a worker has a job. Both threads need a core when they need it: the
 * bench prints what each used and how long it waited for one. A shared machine
 * takes cores away at times, so the course is run several times, and the median
 * counts. `chrt -f 1` in front keeps other work out of the figures. */
#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "fake_worker.h"
#include "io/link.h"
#include "verify/verifier.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define VERDICT_NS 50000000LL
#define COURSES    5
#define ROUNDS     40 /* verdicts per worker */
#define TASKS      200
#define FEED       2 /* jobs that wait, per worker */

/* The other thread: all workers, on a loop of their own. */
struct crowd {
    struct loop *loop;
    struct fake_worker **w;
    size_t n;
    int stop; /* an eventfd */
    int64_t busy_ns;
    double used, waited;
};

struct scale {
    struct loop *loop;
    struct verifier *verifier;
    char address[TCP_ADDRESS];
    size_t workers, asked, answered, total;
};

static double used_s(void)
{
    struct rusage u;

    getrusage(RUSAGE_THREAD, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* How long this thread was ready and had no core. */
static double waited_s(void)
{
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    unsigned long long ran = 0, waited = 0;

    if (f && fscanf(f, "%llu %llu", &ran, &waited) != 2)
        waited = 0;
    if (f)
        fclose(f);
    return (double)waited / 1e9;
}

static json_t *next_job(struct scale *s)
{
    char id[30], filler[4000];

    memset(filler, 'x', sizeof(filler) - 1); /* a program's size */
    filler[sizeof(filler) - 1] = '\0';
    snprintf(id, sizeof(id), "task %zu", s->asked % TASKS);
    return json_pack("{s:i, s:o, s:{s:s}}", "number", (int)s->asked++,
                     "candidate", jsn_text(filler, sizeof(filler) - 1), "task",
                     "id", id);
}

/* One of many that ask, on a coroutine. */
static void ask(void *arg)
{
    struct scale *s = arg;
    struct err e = ERR_INIT;

    while (s->asked < s->total) {
        struct verifier_answer a = {0};

        if (verifier_ask_job(s->verifier, next_job(s), 60000, &a, &e) < 0)
            BUG("%s", e.text);
        s->answered += a.record != NULL;
        verifier_answer_release(&a);
    }
    if (s->answered == s->total)
        loop_stop(s->loop);
}

static void on_line(const char *line, void *arg)
{
    struct scale *s = arg;
    const char *at = strstr(line, "--connect ");

    if (at)
        snprintf(s->address, sizeof(s->address), "%.*s",
                 (int)strcspn(at + 10, " "), at + 10);
}

static void on_stop(int fd, unsigned events, void *arg)
{
    struct crowd *c = arg;

    (void)fd;
    (void)events;
    loop_stop(c->loop);
}

static void *work(void *arg)
{
    struct crowd *c = arg;
    struct err e = ERR_INIT;
    uint64_t id = loop_add_fd(c->loop, c->stop, LOOP_READ, on_stop, c, &e);

    loop_run(c->loop);
    c->used = used_s();
    c->waited = waited_s();
    loop_remove(c->loop, id);
    for (size_t i = 0; i < c->n; i++) {
        c->busy_ns += fake_worker_busy_ns(c->w[i]);
        fake_worker_free(c->w[i]);
    }
    return NULL;
}

/* Returns how busy the workers were, in percent. */
static double measure(size_t workers)
{
    static char worker[] = "monkeys-worker", python[] = "python3",
                dir[] = "/tmp";
    struct err e = ERR_INIT;
    struct scale s = {
        .loop = loop_new(&e), .workers = workers, .total = workers * ROUNDS};
    struct home home = {dir, worker, python};
    struct opt_list packs = {0};
    char key[] = "/tmp/bench-scale-XXXXXX", secret[KEY_TEXT];
    struct crowd c = {.loop = loop_new(&e),
                      .w = xcalloc(workers, sizeof(struct fake_worker *)),
                      .n = workers,
                      .stop = eventfd(0, EFD_CLOEXEC)};
    pthread_t thread;
    struct verifier_opts o = {.home = &home,
                              .verifier = "tcp=127.0.0.1:0",
                              .launcher = "none",
                              .key = key,
                              .device = "cpu",
                              .box = "none",
                              .heartbeat_s = 60,
                              .packs = &packs};
    int64_t began;
    double used, waited, wall, busy;

    close(mkstemp(key));
    unlink(key);
    log_set_writer(on_line, &s);
    s.verifier = verifier_open(s.loop, &o, &e);
    if (!s.verifier || key_read(key, secret, &e) < 0)
        BUG("%s", e.text);
    for (size_t i = 0; i < workers; i++)
        c.w[i] = fake_worker_start(c.loop,
                                   &(struct fake_opts){.address = s.address,
                                                       .secret = secret,
                                                       .name = "fake",
                                                       .slots = 2,
                                                       .delay_ns = VERDICT_NS});
    if (pthread_create(&thread, NULL, work, &c) != 0)
        BUG("no thread");
    loop_run_for(s.loop, 2000000000);
    used = used_s();
    waited = waited_s();
    began = tick_now_ns();
    while (s.asked < s.total && s.asked < workers * (FEED + 2))
        co_start(ask, &s);
    loop_run(s.loop);
    wall = (double)(tick_now_ns() - began) / 1e9;
    used = used_s() - used;
    waited = waited_s() - waited;
    if (write(c.stop, &(uint64_t){1}, 8) != 8 ||
        pthread_join(thread, NULL) != 0)
        BUG("no end");
    busy = 100 * (double)c.busy_ns / 1e9 / wall / (double)workers;
    printf(
        "%5zu workers: %zu verdicts in %.2f s, %.0f a second; workers busy "
        "%.1f %%; %.0f us of the orchestrator's processor per verdict (of the "
        "workers': %.0f); waited for a core: %.2f s (the workers: %.2f s)\n",
        workers, s.answered, wall, (double)s.answered / wall, busy,
        used * 1e6 / (double)s.answered, c.used * 1e6 / (double)s.answered,
        waited, c.waited);
    verifier_close(s.verifier);
    log_set_writer(NULL, NULL);
    loop_free(s.loop);
    unlink(key);
    close(c.stop);
    loop_free(c.loop);
    free(c.w);
    return busy;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void repeat(size_t workers)
{
    double busy[COURSES];

    for (size_t i = 0; i < COURSES; i++)
        busy[i] = measure(workers);
    qsort(busy, COURSES, sizeof(busy[0]), by_value);
    printf("%5zu workers: busy %.1f %% (median of %d; %.1f to %.1f)\n", workers,
           busy[COURSES / 2], COURSES, busy[0], busy[COURSES - 1]);
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        repeat(64);
        repeat(512);
    }
    for (int i = 1; i < argc; i++)
        repeat((size_t)strtoul(argv[i], NULL, 10));
    return 0;
}
