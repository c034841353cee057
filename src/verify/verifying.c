/* verifying.c: devices and precisions, chosen the same way by all commands. */
#include "verify/verifying.h"

#include "base/device.h"
#include "base/log.h"
#include "base/str.h"

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

struct door_opts verifying_opts(const struct verifying_values *v,
                                const struct home *home)
{
    return (struct door_opts){.home = home,
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
    g->door = g->loop ? door_open(g->loop, &g->opts, e) : NULL;
    return g->door ? 0 : -1;
}

static void on_stop(int signo, void *arg)
{
    struct verifying *g = arg;

    g->stopped = signo;
    ask_all_stop(&g->all);
}

/* Takes back what is on disk for workers, such as their key; then the signal
 * does what it would have done. */
static _Noreturn void stop(struct verifying *g)
{
    sigset_t one;

    verifying_close(g);
    sigemptyset(&one);
    sigaddset(&one, g->stopped);
    signal(g->stopped, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    raise(g->stopped);
    _exit(128 + g->stopped);
}

int verifying_all(struct verifying *g, size_t count, ask_fn *fn, void *arg,
                  struct err *e)
{
    enum ask_end end;

    g->all.part = (struct ask_parts){.loop = g->loop, .most = DOOR_MOST};
    if (loop_add_stops(g->loop, on_stop, g, e) < 0)
        return -1;
    end = ask_all(&g->all, count, fn, arg, e);
    if (g->stopped)
        stop(g);
    if (end == ASK_FAILED)
        return -1;
    verifying_hint(g);
    return 0;
}

void verifying_hint(const struct verifying *g)
{
    char *hint = door_hint(g->door);

    if (hint)
        log_warn("%s, then run this command again", hint);
    free(hint);
}

void verifying_close(struct verifying *g)
{
    door_close(g->door);
    if (g->loop)
        loop_free(g->loop);
}

/* What a pack stores decides; tf32 is a way to multiply fp32. */
static bool has_precision(const struct pack *p, const char *name)
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
    if (has_precision(p, want))
        return want;
    err_set(e, ERR_USAGE, "--precision %s: the pack %s does not support it",
            want, p->id);
    return NULL;
}
