/* launch_local.c: workers on this host, one for each device from the first on. One
 * that ends is started again, unless several in a row never got anywhere. */
#include "verify/launch_int.h"

#include "base/device.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "io/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define AGAIN_NS 1000000000LL  /* before it is started again */
#define START_NS 60000000000LL /* who ends within it never got anywhere */
#define LEAVE_MS 5000          /* to clean up */
#define BARREN   3

/* One worker. The server's socket tells only that it has ended. */
struct place {
    struct local *x;
    struct server server;
    bool running;
    uint64_t timer;
    int64_t began_ns;
    char device[32];
    int barren;
};

struct local {
    struct launch x; /* first */
    struct place *places;
    size_t count;
    char children[24];
};

static int start(struct place *p, struct err *e);

static void on_again(void *arg)
{
    struct place *p = arg;
    struct err e = ERR_INIT;

    p->timer = 0;
    if (start(p, &e) < 0)
        log_warn("%s", e.text);
}

static void on_end(struct server *s, const struct frame *f, void *arg)
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
    p->timer =
        loop_add_timer(p->x->x.loop, tick_now_ns() + AGAIN_NS, on_again, p);
}

static int start(struct place *p, struct err *e)
{
    struct local *x = p->x;
    const char *argv[LAUNCH_WORDS];

    if (launch_argv(&x->x, p->device, x->children, argv, e) < 0)
        return -1;
    p->began_ns = tick_now_ns();
    p->server.fn = on_end;
    p->server.arg = p;
    p->running = true;
    return server_start(&p->server, x->x.loop, argv, NULL, e);
}

static int local_start(struct launch *launch, struct err *e)
{
    struct local *x = (struct local *)launch;
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
        if (start(p, e) < 0)
            return -1;
    }
    return 0;
}

static void local_stop(struct launch *launch)
{
    struct local *x = (struct local *)launch;

    for (size_t i = 0; i < x->count; i++) {
        loop_remove(launch->loop, x->places[i].timer);
        if (x->places[i].running)
            server_end(&x->places[i].server, LEAVE_MS);
    }
    free(x->places);
}

const struct launch_type launch_local = {.name = "local",
                                         .size = sizeof(struct local),
                                         .start = local_start,
                                         .stop = local_stop};
