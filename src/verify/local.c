/* local.c: a worker that is started here and talks over a socket. If it ends, it
 * is started again and its jobs are sent again. A job that was there each time may
 * be the cause, so it is not sent a third time. */
#include "verify/backend.h"

#include "base/device.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "io/server.h"

#include <stdlib.h>
#include <string.h>

#define LEAVE_MS 5000 /* for the worker to clean up */
#define DEATHS   2    /* crashes of the worker that a job may be part of */
#define BARREN   3    /* crashes in a row without an answer in between */
#define PACKS    26   /* folders of packs */
#define WORDS    (13 + 2 * PACKS) /* of its command line, with the NULL */

struct local {
    struct backend b; /* first */
    struct server worker;
    bool started, greeted, ended;
    uint64_t restart; /* deferred; 0: none */
    int barren;
    char *why;          /* it ended, where it said so */
    struct map waiting; /* id: struct asked, or NULL once answered */
};

struct asked {
    void *job; /* the caller's */
    char *text;
    int64_t deadline_ms;
    int deaths;
};

static void asked_free(struct asked *a)
{
    if (!a)
        return;
    free(a->text);
    free(a);
}

static void settle(struct local *w, struct str id, const json_t *answer,
                   const char *why)
{
    struct asked *a = map_get(&w->waiting, id);
    void *job;

    if (!a)
        return;
    job = a->job;
    asked_free(a);
    map_set(&w->waiting, id, NULL);
    backend_answer(&w->b, job, answer, why);
}

/* ---- the worker's end ---- */

static int start(struct local *w, struct err *e);

static const char *why_ended(const struct local *w)
{
    return w->why ? w->why
                  : "monkeys-worker ended unexpectedly; 'monkeys doctor' says "
                    "what is missing on this machine";
}

static void give_up(struct local *w)
{
    w->ended = true;
    for (size_t i = 0; i < w->waiting.len; i++)
        settle(w, str_of(w->waiting.items[i].key), NULL, why_ended(w));
}

static void send_job(struct local *w, const char *id, const struct asked *a)
{
    struct frame f = {.type = "job", .deadline_ms = a->deadline_ms};

    snprintf(f.id, sizeof(f.id), "%s", id);
    f.payload = a->text;
    f.len = strlen(a->text);
    server_send(&w->worker, &f, NULL, 0);
}

static void start_again(void *arg)
{
    struct local *w = arg;
    struct err e = ERR_INIT;

    w->restart = 0;
    server_stop(&w->worker);
    if (start(w, &e) < 0) {
        log_warn("%s", e.text);
        give_up(w);
        return;
    }
    for (size_t i = 0; i < w->waiting.len; i++) {
        struct asked *a = w->waiting.items[i].value;

        if (a && ++a->deaths < DEATHS)
            send_job(w, w->waiting.items[i].key, a);
    }
    /* Last, since the caller may ask for more, which is sent at once. */
    for (size_t i = 0; i < w->waiting.len; i++) {
        const struct asked *a = w->waiting.items[i].value;

        if (a && a->deaths >= DEATHS)
            settle(w, str_of(w->waiting.items[i].key), NULL,
                   "monkeys-worker ended twice while it had this job");
    }
}

/* A worker that never said that it is ready cannot work here. */
static void on_end(struct local *w)
{
    if (w->ended)
        return;
    if (!w->greeted || ++w->barren >= BARREN) {
        log_warn("%s", why_ended(w));
        give_up(w);
        return;
    }
    log_warn("monkeys-worker ended unexpectedly; starting it again");
    w->restart = loop_defer(w->b.loop, start_again, w);
}

/* ---- frames ---- */

static void on_answer(struct local *w, const struct frame *f)
{
    struct err e = ERR_INIT;
    json_t *answer = jsn_parse("answer", f->payload, f->len, &e);

    w->barren = 0;
    settle(w, str_of(f->id), answer, answer ? NULL : e.text);
    json_decref(answer);
}

static void on_infra(struct local *w, const struct frame *f)
{
    char *why = xstrndup(f->payload, f->len);

    settle(w, str_of(f->id), NULL, why);
    free(why);
}

static void on_frame(struct server *s, const struct frame *f, void *arg)
{
    struct local *w = arg;

    (void)s;
    if (!f) {
        on_end(w);
    } else if (strcmp(f->type, "ready") == 0) {
        w->greeted = true;
    } else if (strcmp(f->type, "unfit") == 0 && !w->greeted && !w->ended) {
        w->why = xstrndup(f->payload, f->len);
        give_up(w);
    } else if (strcmp(f->type, "note") == 0 || strcmp(f->type, "unfit") == 0) {
        log_warn("%.*s", (int)f->len, f->payload);
    } else if (strcmp(f->type, "infra") == 0) {
        on_infra(w, f);
    } else if (strcmp(f->type, "answer") == 0) {
        on_answer(w, f);
    }
}

static int start(struct local *w, struct err *e)
{
    const struct verifier_opts *o = w->b.o;
    const char *argv[WORDS];
    char children[24];
    size_t n = 0;

    snprintf(children, sizeof(children), "%lld", (long long)o->children);
    argv[n++] = o->home->worker;
    argv[n++] = "--home";
    argv[n++] = o->home->dir;
    argv[n++] = "--python";
    argv[n++] = o->home->python;
    argv[n++] = "--device";
    argv[n++] = o->device;
    argv[n++] = "--children";
    argv[n++] = children;
    argv[n++] = "--box";
    argv[n++] = o->box;
    if (o->unsafe)
        argv[n++] = "--unsafe";
    for (size_t i = 0; i < o->packs->len; i++) {
        argv[n++] = "--packs";
        argv[n++] = o->packs->item[i];
    }
    argv[n] = NULL;
    w->started = true;
    w->worker.fn = on_frame;
    w->worker.arg = w;
    return server_start(&w->worker, w->b.loop, argv, NULL, e);
}

/* ---- as a back end ---- */

/* Without this the worker would load torch first, which takes a while. */
static int check_device(const char *device, struct err *e)
{
    int64_t n;

    if (!device_is_gpu(device, &n) || device_has_gpu())
        return 0;
    return err_set(
        e, ERR_USAGE,
        "--device %s: this machine has no GPU that can be used; use "
        "--device cpu, or --verifier jobs=DIR and a worker on a host "
        "that has one",
        device);
}

static int local_open(struct backend *b, const char *operand, struct err *e)
{
    struct local *w = (struct local *)b;

    (void)operand;
    map_init(&w->waiting);
    if (check_device(b->o->device, e) < 0)
        return -1;
    if (b->o->packs->len > PACKS)
        return err_set(e, ERR_USAGE, "--packs: at most %d folders", PACKS);
    return b->o->at_once ? start(w, e) : 0;
}

static void local_close(struct backend *b)
{
    struct local *w = (struct local *)b;

    loop_remove(b->loop, w->restart);
    if (w->started)
        server_end(&w->worker, LEAVE_MS);
    for (size_t i = 0; i < w->waiting.len; i++)
        asked_free(w->waiting.items[i].value);
    map_release(&w->waiting);
    free(w->why);
}

static int local_ask(struct backend *b, json_t *what, int64_t deadline_ms,
                     void *job, struct err *e)
{
    struct local *w = (struct local *)b;
    struct asked *a;
    char id[HASH_HEX];

    if (!w->started && start(w, e) < 0) {
        w->ended = true;
        json_decref(what);
        return -1;
    }
    a = xmalloc(sizeof(*a));
    *a = (struct asked){.job = job, .deadline_ms = deadline_ms};
    a->text = job_text(what, id);
    json_decref(what);
    if (map_get(&w->waiting, str_of(id)))
        BUG("the same job twice");
    map_set(&w->waiting, str_of(id), a);
    b->pending++;
    if (w->ended)
        settle(w, str_of(id), NULL, why_ended(w));
    else if (!w->restart) /* else it goes with the others */
        send_job(w, id, a);
    return 0;
}

static bool local_is_dead(const struct backend *b)
{
    return ((const struct local *)b)->ended;
}

const struct backend_type backend_local = {.name = "local",
                                           .size = sizeof(struct local),
                                           .open = local_open,
                                           .close = local_close,
                                           .ask = local_ask,
                                           .is_dead = local_is_dead};
