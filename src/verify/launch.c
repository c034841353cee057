/* launch.c: the launchers. The program itself starts a worker for each device from
 * the first on, and starts one that ends again, unless several in a row never got
 * anywhere. Slurm gets an array job; it requeues a task of the array that is
 * preempted or loses its node. If work waits, no worker is connected, and Slurm does
 * not know the job any more, it is submitted again. */
#include "verify/launch.h"

#include "base/buf.h"
#include "base/device_name.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tick.h"
#include "io/proc.h"
#include "io/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each launcher has one as its first member. */
struct launch {
    const struct launch_type *type;
    struct loop *loop;
    const struct verifier_opts *o;
    const char *address, *key;
};

struct launch_type {
    const char *name;
    size_t size; /* of its struct, which begins zeroed */
    int (*start)(struct launch *x, struct err *e);
    void (*tick)(struct launch *x, size_t connected); /* NULL: nothing */
    void (*stop)(struct launch *x);                   /* also after -1 */
};

/* ---- the command line of a worker ---- */

int launch_argv(const struct launch_worker *x, const char *argv[LAUNCH_WORDS],
                struct err *e)
{
    const struct verifier_opts *o = x->opts;
    const char *const words[] = {
        "--home",  o->home->dir, "--python",  o->home->python, "--device",
        x->device, "--children", x->children, "--box",         o->box};
    const char *const to[] = {"--connect", x->address, "--key", x->key};
    size_t n = 0;

    argv[n++] = o->home->worker;
    for (size_t i = 0; x->address && i < sizeof(to) / sizeof(to[0]); i++)
        argv[n++] = to[i];
    memcpy(argv + n, words, sizeof(words));
    n += sizeof(words) / sizeof(words[0]);
    if (o->unsafe)
        argv[n++] = "--unsafe";
    if (n + 2 * o->packs->len >= LAUNCH_WORDS)
        return err_set(e, ERR_USAGE, "--packs: at most %zu folders",
                       (LAUNCH_WORDS - 1 - n) / 2);
    for (size_t i = 0; i < o->packs->len; i++) {
        argv[n++] = "--packs";
        argv[n++] = o->packs->item[i];
    }
    argv[n] = NULL;
    return 0;
}

/* In single quotes where a shell would see more than a word. */
static void launch_quote(struct buf *b, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,@%+";

    if (*word && strspn(word, plain) == strlen(word)) {
        buf_puts(b, word);
        return;
    }
    buf_puts(b, "'");
    for (; *word; word++)
        if (*word == '\'')
            buf_puts(b, "'\\''");
        else
            buf_put(b, word, 1);
    buf_puts(b, "'");
}

/* The command line for a shell; the caller frees it. */
static char *launch_line(const struct launch *x, const char *children,
                         struct err *e)
{
    const char *argv[LAUNCH_WORDS];
    struct buf b = BUF_INIT;

    if (launch_argv(&(struct launch_worker){.opts = x->o,
                                            .address = x->address,
                                            .key = x->key,
                                            .device = x->o->device,
                                            .children = children},
                    argv, e) < 0)
        return NULL;
    for (size_t i = 0; argv[i]; i++) {
        buf_puts(&b, i ? " " : "");
        launch_quote(&b, argv[i]);
    }
    return buf_take(&b, NULL);
}

/* ---- by hand ---- */

static int by_hand_start(struct launch *x, struct err *e)
{
    char *line = launch_line(x, "0", e);

    if (line)
        log_info("start workers with: %s", line);
    free(line);
    return line ? 0 : -1;
}

static const struct launch_type launch_by_hand = {
    .name = "none", .size = sizeof(struct launch), .start = by_hand_start};

/* ---- here ---- */

#define AGAIN_NS 1000000000LL  /* before it is started again */
#define START_NS 60000000000LL /* who ends within it never got anywhere */
#define LEAVE_MS 5000          /* to clean up */
#define BARREN   3

/* One worker. The server's socket tells only that it has ended. */
struct place {
    struct launch_here *x;
    struct server server;
    bool running;
    uint64_t timer;
    int64_t began_ns;
    char device[32];
    int barren;
};

struct launch_here {
    struct launch x; /* first */
    struct place *places;
    size_t count;
    char children[24];
};

static int place_start(struct place *p, struct err *e);

static void place_on_again(void *arg)
{
    struct place *p = arg;
    struct err e = ERR_INIT;

    p->timer = 0;
    if (place_start(p, &e) < 0)
        log_warn("%s", e.text);
}

static void place_on_end(struct server *s, const struct frame *f, void *arg)
{
    struct place *p = arg;
    bool barren = tick_now_ns() - p->began_ns < START_NS;

    if (f)
        return;
    server_stop(s);
    p->running = false;
    p->barren = barren ? p->barren + 1 : 0;
    if (p->barren >= BARREN) {
        log_warn("the worker for %s ended %d times soon after its start; it is "
                 "not started again",
                 p->device, BARREN);
        return;
    }
    log_warn("the worker for %s ended; starting it again", p->device);
    p->timer = loop_add_timer(p->x->x.loop, tick_now_ns() + AGAIN_NS,
                              place_on_again, p);
}

static int place_start(struct place *p, struct err *e)
{
    struct launch_here *x = p->x;
    const char *argv[LAUNCH_WORDS];

    if (launch_argv(&(struct launch_worker){.opts = x->x.o,
                                            .address = x->x.address,
                                            .key = x->x.key,
                                            .device = p->device,
                                            .children = x->children},
                    argv, e) < 0)
        return -1;
    p->began_ns = tick_now_ns();
    p->server.fn = place_on_end;
    p->server.arg = p;
    p->running = true;
    return server_start(&p->server, x->x.loop, argv, NULL, e);
}

static int launch_here_start(struct launch *launch, struct err *e)
{
    struct launch_here *x = (struct launch_here *)launch;
    const struct verifier_opts *o = launch->o;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t first = 0, share = o->children;
    bool gpu = device_is_gpu(o->device, &first);

    x->count = (size_t)(o->workers > 0 ? o->workers : 1);
    x->places = xcalloc(x->count, sizeof(*x->places));
    if (share == 0 && !gpu)
        share = cores / (long)x->count > 0 ? cores / (long)x->count : 1;
    snprintf(x->children, sizeof(x->children), "%lld", (long long)share);
    for (size_t i = 0; i < x->count; i++) {
        struct place *p = &x->places[i];

        p->x = x;
        if (gpu)
            snprintf(p->device, sizeof(p->device), "cuda:%lld",
                     (long long)first + (long long)i);
        else
            snprintf(p->device, sizeof(p->device), "cpu");
        if (place_start(p, e) < 0)
            return -1;
    }
    return 0;
}

static void launch_here_stop(struct launch *launch)
{
    struct launch_here *x = (struct launch_here *)launch;

    for (size_t i = 0; i < x->count; i++) {
        loop_remove(launch->loop, x->places[i].timer);
        if (x->places[i].running)
            server_end(&x->places[i].server, LEAVE_MS);
    }
    free(x->places);
}

static const struct launch_type launch_here = {.name = "local",
                                               .size =
                                                   sizeof(struct launch_here),
                                               .start = launch_here_start,
                                               .stop = launch_here_stop};

/* ---- by Slurm ---- */

#define COMMAND_NS 30000000000LL /* for a command of Slurm */
#define LOOK_NS    20000000000LL /* between looks at a job without workers */
#define TEXT_MAX   16384
#define WORDS_MAX  64
#define ID_MAX     40

struct slurm {
    struct launch x;  /* first */
    char job[ID_MAX]; /* "": nothing is submitted */
    char *script;
    struct proc *look; /* squeue at work */
    int64_t looked_ns;
};

static struct proc_opts slurm_command(const char *const *argv)
{
    return (struct proc_opts){.argv = argv,
                              .out_limit = TEXT_MAX,
                              .err_limit = TEXT_MAX,
                              .timeout_ns = COMMAND_NS};
}

/* What the cluster runs; the key's own path is in it, the key is not. */
static int slurm_write_script(struct slurm *s, struct err *e)
{
    char children[24];
    char *line;

    snprintf(children, sizeof(children), "%lld", (long long)s->x.o->children);
    line = launch_line(&s->x, children, e);
    if (!line)
        return -1;
    s->script = xasprintf("#!/bin/sh\nexec %s\n", line);
    free(line);
    return 0;
}

/* Splits --slurm-args at blanks. The words live in `text`. */
static int slurm_add_args(char *text, const char **argv, size_t *n,
                          struct err *e)
{
    char *rest = NULL;

    for (char *w = strtok_r(text, " ", &rest); w;
         w = strtok_r(NULL, " ", &rest)) {
        if (*n + 1 >= WORDS_MAX)
            return err_set(e, ERR_USAGE, "--slurm-args: too many words");
        argv[(*n)++] = w;
    }
    return 0;
}

/* "ID" or "ID;CLUSTER" becomes the id. */
static int slurm_take_id(struct slurm *s, const struct proc_result *r,
                         struct err *e)
{
    const char *text = buf_str(&r->out);
    size_t n = strspn(text, "0123456789");

    if (r->exit_code != 0 || n == 0 || n >= sizeof(s->job))
        return err_set(e, ERR_INPUT, "sbatch did not accept the workers: %.*s",
                       (int)(r->err.len < 300 ? r->err.len : 300),
                       buf_str(&r->err));
    snprintf(s->job, sizeof(s->job), "%.*s", (int)n, text);
    log_info("%lld worker%s submitted to Slurm as job %s",
             (long long)(s->x.o->workers > 0 ? s->x.o->workers : 1),
             s->x.o->workers > 1 ? "s" : "", s->job);
    return 0;
}

static int slurm_submit(struct slurm *s, struct err *e)
{
    const struct verifier_opts *o = s->x.o;
    char array[40];
    char *log = xasprintf("--output=%.*s/worker-%%A_%%a.log",
                          (int)(fs_base(s->x.key) - s->x.key - 1), s->x.key);
    char *more = xstrdup(o->slurm_args ? o->slurm_args : "");
    const char *argv[WORDS_MAX] = {"sbatch",
                                   "--parsable",
                                   "--requeue",
                                   "--open-mode=append",
                                   "--job-name=monkeys-worker",
                                   array,
                                   log};
    size_t n = 7;
    struct procs_item item = {.failed = ERR_INIT};
    int rc = -1;

    snprintf(array, sizeof(array), "--array=1-%lld",
             (long long)(o->workers > 0 ? o->workers : 1));
    if (slurm_add_args(more, argv, &n, e) < 0)
        goto out;
    argv[n] = NULL;
    item.opts = slurm_command(argv);
    item.opts.in = s->script;
    item.opts.in_len = strlen(s->script);
    if (procs_run(&item, 1, 1, NULL, NULL, e) < 0)
        goto out;
    if (item.failed.kind)
        err_set(e, ERR_USAGE, "--launcher slurm: %s", item.failed.text);
    else
        rc = slurm_take_id(s, &item.result, e);
    proc_result_release(&item.result);
out:
    free(more);
    free(log);
    return rc;
}

static int slurm_start(struct launch *x, struct err *e)
{
    struct slurm *s = (struct slurm *)x;

    if (slurm_write_script(s, e) < 0)
        return -1;
    s->looked_ns = tick_now_ns();
    return slurm_submit(s, e);
}

static bool slurm_is_gone(const struct proc_result *r)
{
    if (r->exit_code == 0)
        return r->out.len == 0;
    return strstr(buf_str(&r->err), "Invalid job id") != NULL;
}

static void slurm_on_look(struct proc *p, struct proc_result *r, void *arg)
{
    struct slurm *s = arg;
    struct err e = ERR_INIT;
    bool gone = slurm_is_gone(r);
    struct str states = {buf_str(&r->out), r->out.len}, first = states;

    if (!gone && r->out.len) {
        str_cut(&states, '\n', &first);
        log_info("no worker is connected; Slurm job %s: %.*s", s->job,
                 (int)first.n, first.p);
    }
    proc_free(p);
    s->look = NULL;
    s->looked_ns = tick_now_ns();
    if (!gone)
        return;
    log_warn("Slurm does not know job %s any more; submitting again", s->job);
    s->job[0] = '\0';
    if (slurm_submit(s, &e) < 0)
        log_warn("%s; trying again", e.text);
}

static void slurm_tick(struct launch *x, size_t connected)
{
    struct slurm *s = (struct slurm *)x;
    const char *argv[] = {"squeue", "-h", "-j", s->job, "-o", "%T %r", NULL};
    struct proc_opts o = slurm_command(argv);
    struct err e = ERR_INIT;

    if (connected || s->look || tick_now_ns() - s->looked_ns < LOOK_NS)
        return;
    s->looked_ns = tick_now_ns();
    if (s->job[0]) {
        s->look = proc_start(x->loop, &o, slurm_on_look, s, &e);
        if (!s->look)
            log_warn("%s", e.text);
    } else if (slurm_submit(s, &e) < 0) {
        log_warn("%s; trying again", e.text);
    }
}

static void slurm_stop(struct launch *x)
{
    struct slurm *s = (struct slurm *)x;
    const char *argv[] = {"scancel", s->job, NULL};
    struct procs_item item = {.opts = slurm_command(argv), .failed = ERR_INIT};
    struct err e = ERR_INIT;

    proc_free(s->look);
    if (s->job[0] && procs_run(&item, 1, 1, NULL, NULL, &e) == 0)
        proc_result_release(&item.result);
    free(s->script);
}

static const struct launch_type launch_slurm = {.name = "slurm",
                                                .size = sizeof(struct slurm),
                                                .start = slurm_start,
                                                .tick = slurm_tick,
                                                .stop = slurm_stop};

/* ---- any of them ---- */

static const struct launch_type *const types[] = {&launch_here, &launch_slurm,
                                                  &launch_by_hand};

struct launch *launch_start(struct loop *l, const struct verifier_opts *o,
                            const char *address, const char *key, struct err *e)
{
    const struct launch_type *t = NULL;
    struct launch *x;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i]->name, o->launcher) == 0)
            t = types[i];
    if (!t)
        BUG("no launcher is called %s", o->launcher);
    x = xcalloc(1, t->size);
    *x = (struct launch){
        .type = t, .loop = l, .o = o, .address = address, .key = key};
    if (t->start(x, e) == 0)
        return x;
    launch_stop(x);
    return NULL;
}

void launch_tick(struct launch *x, size_t connected)
{
    if (x->type->tick)
        x->type->tick(x, connected);
}

void launch_stop(struct launch *x)
{
    if (!x)
        return;
    if (x->type->stop)
        x->type->stop(x);
    free(x);
}
