/* launch_slurm.c: workers as an array job of a Slurm cluster. Slurm requeues a task
 * of the array that is preempted or loses its node. If work waits, no worker is
 * connected, and Slurm does not know the job any more, it is submitted again. */
#include "verify/launch_int.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tick.h"
#include "io/procs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static struct proc_opts command(const char *const *argv)
{
    return (struct proc_opts){.argv = argv,
                              .out_limit = TEXT_MAX,
                              .err_limit = TEXT_MAX,
                              .timeout_ns = COMMAND_NS};
}

/* ---- submitting ---- */

/* What the cluster runs; the key's own path is in it, the key is not. */
static int write_script(struct slurm *s, struct err *e)
{
    const char *argv[LAUNCH_WORDS];
    char children[24];
    char *line;

    snprintf(children, sizeof(children), "%lld", (long long)s->x.o->children);
    if (launch_argv(&s->x, s->x.o->device, children, argv, e) < 0)
        return -1;
    line = launch_line(argv);
    s->script = xasprintf("#!/bin/sh\nexec %s\n", line);
    free(line);
    return 0;
}

/* Splits --slurm-args at blanks. The words live in `text`. */
static int add_words(char *text, const char **argv, size_t *n, struct err *e)
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
static int take_id(struct slurm *s, const struct proc_result *r, struct err *e)
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

static int submit(struct slurm *s, struct err *e)
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
    if (add_words(more, argv, &n, e) < 0)
        goto out;
    argv[n] = NULL;
    item.opts = command(argv);
    item.opts.in = s->script;
    item.opts.in_len = strlen(s->script);
    if (procs_run(&item, 1, 1, NULL, NULL, e) < 0)
        goto out;
    if (item.failed.kind)
        err_set(e, ERR_USAGE, "--launcher slurm: %s", item.failed.text);
    else
        rc = take_id(s, &item.result, e);
    proc_result_release(&item.result);
out:
    free(more);
    free(log);
    return rc;
}

static int slurm_start(struct launch *x, struct err *e)
{
    struct slurm *s = (struct slurm *)x;

    if (write_script(s, e) < 0)
        return -1;
    s->looked_ns = tick_now_ns();
    return submit(s, e);
}

/* ---- looking after it ---- */

static bool is_gone(const struct proc_result *r)
{
    if (r->exit_code == 0)
        return r->out.len == 0;
    return strstr(buf_str(&r->err), "Invalid job id") != NULL;
}

static void on_look(struct proc *p, struct proc_result *r, void *arg)
{
    struct slurm *s = arg;
    struct err e = ERR_INIT;
    bool gone = is_gone(r);
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
    if (submit(s, &e) < 0)
        log_warn("%s; trying again", e.text);
}

static void slurm_tick(struct launch *x, size_t connected)
{
    struct slurm *s = (struct slurm *)x;
    const char *argv[] = {"squeue", "-h", "-j", s->job, "-o", "%T %r", NULL};
    struct proc_opts o = command(argv);
    struct err e = ERR_INIT;

    if (connected || s->look || tick_now_ns() - s->looked_ns < LOOK_NS)
        return;
    s->looked_ns = tick_now_ns();
    if (s->job[0]) {
        s->look = proc_start(x->loop, &o, on_look, s, &e);
        if (!s->look)
            log_warn("%s", e.text);
    } else if (submit(s, &e) < 0) {
        log_warn("%s; trying again", e.text);
    }
}

static void slurm_stop(struct launch *x)
{
    struct slurm *s = (struct slurm *)x;
    const char *argv[] = {"scancel", s->job, NULL};
    struct procs_item item = {.opts = command(argv), .failed = ERR_INIT};
    struct err e = ERR_INIT;

    proc_free(s->look);
    if (s->job[0] && procs_run(&item, 1, 1, NULL, NULL, &e) == 0)
        proc_result_release(&item.result);
    free(s->script);
}

const struct launch_type launch_slurm = {.name = "slurm",
                                         .size = sizeof(struct slurm),
                                         .start = slurm_start,
                                         .tick = slurm_tick,
                                         .stop = slurm_stop};
