/* verifying.c: devices and precisions, chosen the same way by all commands; many
 * questions at once; and the gate.
 *
 * A task that cannot be judged costs a run all its attempts and tells nothing: its
 * reference may fail, give what is not finite, or not depend on its inputs, so that
 * any candidate would fail or pass. So every task is tried before the first token. */
#include "verify/verifying.h"

#include "base/buf.h"
#include "base/home.h"
#include "base/log.h"
#include "base/mem.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int verifying_check_device(const char *device, struct err *e)
{
    int64_t n;

    if (strcmp(device, "cpu") == 0 || strcmp(device, "auto") == 0 ||
        device_is_gpu(device, &n))
        return 0;
    return err_set(e, ERR_USAGE, "--device: '%s' is not cpu, cuda:N or auto",
                   device);
}

int verifying_choose_device(struct verifying_values *v, struct err *e)
{
    if (strcmp(v->device, "auto") == 0)
        v->device = device_has_gpu() ? "cuda:0" : "cpu";
    return verifying_check_device(v->device, e);
}

int verifying_choose_for(struct verifying_values *v, const struct pack *p,
                         struct err *e)
{
    if (strcmp(v->device, "auto") == 0)
        v->device = p->run.devices & 1u << PACK_CUDA && device_has_gpu()
                        ? "cuda:0"
                        : "cpu";
    return verifying_check_device(v->device, e);
}

struct verifier_opts verifying_opts(const struct verifying_values *v,
                                    const struct home *home)
{
    return (struct verifier_opts){.home = home,
                                  .verifier = v->verifier,
                                  .device = v->device,
                                  .box = v->box,
                                  .children = v->children,
                                  .unsafe = v->unsafe,
                                  .packs = &v->packs,
                                  .launcher = v->launcher,
                                  .slurm_args = v->slurm_args,
                                  .workers = v->workers,
                                  .heartbeat_s = v->heartbeat};
}

struct job_opts verifying_job(const struct verifying_values *v,
                              const char *precision)
{
    return (struct job_opts){.device = v->device,
                             .precision = precision,
                             .protocol = v->protocol,
                             .timing = !v->no_timing,
                             .memory_bytes = v->memory,
                             .call_ms = v->call_s * 1000};
}

int verifying_open(struct verifying *g, const struct verifying_values *v,
                   const struct home *home, struct err *e)
{
    g->opts = verifying_opts(v, home);
    g->loop = loop_new(e);
    g->verifier = g->loop ? verifier_open(g->loop, &g->opts, e) : NULL;
    return g->verifier ? 0 : -1;
}

void verifying_hint(const struct verifying *g)
{
    char *hint = verifier_hint(g->verifier);

    if (hint)
        log_warn("%s, then run this command again", hint);
    free(hint);
}

void verifying_close(struct verifying *g)
{
    verifier_close(g->verifier);
    if (g->loop)
        loop_free(g->loop);
}

/* ---- many questions ---- */

struct verifying_all {
    struct verifying g;
    struct ask_all all;
    verifying_fn *fn;
    void *arg;
    int stopped; /* the signal; 0: none */
};

static int verifying_one(struct ask_all *all, size_t item, void *arg,
                         struct err *e)
{
    struct verifying_all *a = arg;

    (void)all;
    return a->fn(a->g.verifier, item, a->arg, e);
}

static void verifying_on_stop(int signo, void *arg)
{
    struct verifying_all *a = arg;

    a->stopped = signo;
    ask_all_stop(&a->all);
}

/* What is on disk for workers, such as their key, is gone; then the signal does what
 * it would have done. */
static _Noreturn void verifying_stop(int signo)
{
    sigset_t one;

    sigemptyset(&one);
    sigaddset(&one, signo);
    signal(signo, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    raise(signo);
    _exit(128 + signo);
}

int verifying_all(const struct verifying_values *v, const struct home *home,
                  size_t count, verifying_fn *fn, void *arg, struct err *e)
{
    struct verifying_all a = {.fn = fn, .arg = arg};
    int rc = verifying_open(&a.g, v, home, e);

    a.all.part = (struct ask_parts){.loop = a.g.loop, .most = VERIFIER_MOST};
    if (rc == 0 && (loop_add_stops(a.g.loop, verifying_on_stop, &a, e) < 0 ||
                    ask_all(&a.all, count, verifying_one, &a, e) == ASK_FAILED))
        rc = -1;
    if (rc == 0 && !a.stopped)
        verifying_hint(&a.g);
    verifying_close(&a.g);
    if (a.stopped)
        verifying_stop(a.stopped);
    return rc;
}

/* What a pack stores decides; tf32 is a way to multiply fp32. */
static bool verifying_has_precision(const struct pack *p, const char *name)
{
    return p->run.dtypes & 1u << precision_stored(precision_of(name));
}

const char *verifying_precision(const struct verifying_values *v,
                                const struct pack *p, struct err *e)
{
    bool cpu = strcmp(v->device, "cpu") == 0;
    const char *want = v->precision;

    if (!want)
        want = cpu ? precision_names[PRECISION_FP32]
                   : precision_names[p->run.default_dtype];
    if (!(p->run.devices & (1u << (cpu ? PACK_CPU : PACK_CUDA)))) {
        err_set(e, ERR_INPUT,
                cpu ? "the pack %s does not run on %s; 'monkeys check' works "
                      "here, and --device cuda:0 --verifier jobs=DIR verifies "
                      "on a host with a GPU"
                    : "the pack %s does not run on %s; use --device cpu",
                p->id, v->device);
        return NULL;
    }
    if (cpu && precision_stored(precision_of(want)) != PRECISION_FP32) {
        err_set(e, ERR_USAGE,
                "--precision %s: the CPU supports only fp32 and tf32", want);
        return NULL;
    }
    if (verifying_has_precision(p, want))
        return want;
    err_set(e, ERR_USAGE, "--precision %s: the pack %s does not support it",
            want, p->id);
    return NULL;
}

/* ---- the gate ---- */

struct gate {
    struct gate_opts *o;
    struct verifier *verifier;
    const struct collection *tasks;
    char **why;
    size_t answered, unchecked, unchecked_at;
};

static char *gate_reasons(const json_t *record)
{
    const json_t *list = json_object_get(record, "reasons");
    struct buf b = BUF_INIT;
    char *text;

    for (size_t i = 0; i < json_array_size(list); i++)
        buf_printf(&b, "%s%s", i ? "; " : "",
                   json_string_value(json_array_get(list, i)));
    text = xstrdup(b.len ? buf_str(&b) : "no reason given");
    buf_release(&b);
    return text;
}

static int gate_task(struct ask_all *a, size_t item, void *arg, struct err *e)
{
    struct gate *g = arg;
    struct verifier_answer d = {0};

    (void)a;
    if (verifier_check_task(g->verifier, g->tasks->task[item], g->o->job, &d,
                            e) < 0)
        return -1;
    if (!d.record) {
        g->why[item] = xasprintf("could not be checked: %s", d.why);
        g->unchecked++;
        g->unchecked_at = item;
    } else if (!jsn_true(d.record, "usable")) {
        g->why[item] = gate_reasons(d.record);
    }
    g->answered++;
    g->o->step(g->o->arg);
    verifier_answer_release(&d);
    return 0;
}

int gate_tasks(struct verifier *d, const struct collection *tasks,
               struct gate_opts *o, char **why, struct err *e)
{
    struct gate g = {.o = o, .verifier = d, .tasks = tasks, .why = why};

    o->ask.part =
        (struct ask_parts){.loop = verifier_loop(d), .most = VERIFIER_MOST};
    if (ask_all(&o->ask, tasks->len, gate_task, &g, e) == ASK_FAILED)
        return -1;
    if (g.unchecked && (g.unchecked == tasks->len || verifier_is_dead(d)))
        return err_set(e, ERR_SYSTEM, "%s: %s",
                       tasks->task[g.unchecked_at]->path, why[g.unchecked_at]);
    return g.answered < tasks->len;
}
