/* web_beside.c: the thread of a server beside a run. */
#include "web/web_beside.h"

#include "base/mem.h"
#include "web/web_server.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct web_beside {
    struct web_listen *where;
    struct loop *loop;
    struct web_live live;
    struct web_server *server;
    int stop_fd;
    pthread_t thread;
};

static void web_beside_on_stop(int fd, unsigned events, void *arg)
{
    struct web_beside *b = arg;

    (void)fd;
    (void)events;
    loop_stop(b->loop);
}

static void *web_beside_serve(void *arg)
{
    struct web_beside *b = arg;

    loop_run(b->loop);
    web_server_end(b->server);
    return NULL;
}

static void web_beside_release(struct web_beside *b)
{
    if (b->server)
        web_server_free(b->server);
    web_live_close(&b->live);
    if (b->loop)
        loop_free(b->loop);
    if (b->stop_fd >= 0)
        close(b->stop_fd);
    web_listen_close(b->where);
    free(b);
}

/* Signals are for the run's thread. */
static int web_beside_start_thread(struct web_beside *b, struct err *e)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&b->thread, NULL, web_beside_serve, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!rc)
        return 0;
    errno = rc;
    return err_sys(e, "a thread");
}

struct web_beside *web_beside_start(const char *dir, struct web_listen *where,
                                    struct err *e)
{
    struct web_beside *b = xcalloc(1, sizeof(*b));

    b->where = where;
    b->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    b->loop = loop_new(e);
    if (b->loop && web_live_open(&dir, 1, &b->live, e) == 0 &&
        (b->server = web_server_new(b->loop, where, &b->live, e)) &&
        loop_add_fd(b->loop, b->stop_fd, LOOP_READ, web_beside_on_stop, b, e) &&
        web_beside_start_thread(b, e) == 0)
        return b;
    web_beside_release(b);
    return NULL;
}

void web_beside_end(struct web_beside *b)
{
    if (eventfd_write(b->stop_fd, 1) < 0)
        BUG("eventfd: errno %d", errno);
    pthread_join(b->thread, NULL);
    web_beside_release(b);
}
