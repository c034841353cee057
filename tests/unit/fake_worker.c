/* fake_worker.c: the worker's end of a link, and timers for its answers. */
#include "fake_worker.h"

#include "base/mem.h"
#include "base/tick.h"
#include "io/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEAT_NS 500000000LL

struct fake_job {
    struct fake_worker *w;
    struct fake_job *next;
    uint64_t timer;
    int64_t until_ns;
    char fence[FRAME_ID_MAX + 1];
    char name[100], what[20];
};

struct fake_worker {
    struct loop *loop;
    struct fake_opts o;
    struct link link;
    uint64_t fd_id, beat_id;
    struct fake_job *jobs;
    size_t count, running;
    int64_t busy_ns, since_ns;
    int64_t free_ns; /* when it has done all that it has: one after the other */
    bool joined, closed, frozen;
};

static void flush(struct fake_worker *w)
{
    struct err e = ERR_INIT;

    if (w->closed || w->frozen)
        return;
    if (peer_flush(&w->link.peer, &e) < 0) {
        w->closed = true;
        loop_remove(w->loop, w->fd_id);
        return;
    }
    loop_set_interest(
        w->loop, w->fd_id,
        LOOP_READ | (peer_has_output(&w->link.peer) ? LOOP_WRITE : 0), &e);
}

static void on_beat(void *arg)
{
    struct fake_worker *w = arg;

    w->beat_id = loop_add_timer(w->loop, tick_now_ns() + BEAT_NS, on_beat, w);
    if (w->joined && !w->closed && !w->frozen) {
        link_say(&w->link, "beat", "-", "");
        flush(w);
    }
}

static void tell(struct fake_worker *w, const struct fake_job *j)
{
    char text[200];

    snprintf(text, sizeof(text), "{\"echo\": \"%s\", \"peak_bytes\": 7}",
             j->name);
    if (strcmp(j->what, "infra") == 0)
        link_say(&w->link, "infra", j->fence, "cannot");
    else
        link_say(&w->link, "answer", j->fence, text);
    if (strcmp(j->what, "twice") == 0)
        link_say(&w->link, "answer", j->fence, text);
    if (strcmp(j->what, "forge") == 0)
        link_say(&w->link, "answer", "lease-1-99", text);
}

static void on_done(void *arg)
{
    struct fake_job *j = arg, **at = &j->w->jobs;
    struct fake_worker *w = j->w;

    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    if (--w->running == 0)
        w->busy_ns += tick_now_ns() - w->since_ns;
    if (!w->closed) {
        tell(w, j);
        flush(w);
    }
    free(j);
}

/* A short text of the job. Like the real one it does not parse what it passes on. */
static void text_of(const struct frame *f, const char *key, char *out,
                    size_t size)
{
    const char *at = memmem(f->payload, f->len, key, strlen(key));
    const char *from = at ? at + strlen(key) : NULL;
    size_t left = from ? f->len - (size_t)(from - f->payload) : 0;
    const char *end = left ? memchr(from, '"', left) : NULL;

    snprintf(out, size, "%.*s", end ? (int)(end - from) : 0, end ? from : "");
}

static void on_job(struct fake_worker *w, const struct frame *f)
{
    struct fake_job *j = xcalloc(1, sizeof(*j));

    j->w = w;
    j->next = w->jobs;
    w->jobs = j;
    w->count++;
    if (w->running++ == 0)
        w->since_ns = tick_now_ns();
    memcpy(j->fence, f->id, sizeof(j->fence));
    text_of(f, "\"name\":\"", j->name, sizeof(j->name));
    text_of(f, "\"do\":\"", j->what, sizeof(j->what));
    j->until_ns = tick_now_ns() > w->free_ns ? tick_now_ns() : w->free_ns;
    if (strcmp(j->what, "never") == 0)
        return;
    w->free_ns = j->until_ns += w->o.delay_ns;
    j->timer = loop_add_timer(w->loop, j->until_ns, on_done, j);
}

static void join(struct fake_worker *w)
{
    char text[300];

    w->joined = true;
    snprintf(text, sizeof(text),
             "name %s\ndevice cpu\nslots %zu\nmemory %llu\n", w->o.name,
             w->o.slots, (unsigned long long)w->o.memory);
    link_say(&w->link, "join", "-", text);
}

static void on_ready(int fd, unsigned events, void *arg)
{
    struct fake_worker *w = arg;
    struct err e = ERR_INIT;
    struct frame f;
    int got = 1;

    (void)fd;
    if ((events & LOOP_READ) && peer_fill(&w->link.peer, &e) < 0)
        got = -1;
    while (got > 0 && (got = link_next(&w->link, &f, &e)) > 0)
        if (strcmp(f.type, "job") == 0)
            on_job(w, &f);
    if (got < 0) {
        w->closed = true;
        loop_remove(w->loop, w->fd_id);
        return;
    }
    if (!w->joined && w->link.state == LINK_OPEN)
        join(w);
    flush(w);
}

struct fake_worker *fake_worker_start(struct loop *l, const struct fake_opts *o)
{
    struct fake_worker *w = xcalloc(1, sizeof(*w));
    struct err e = ERR_INIT;
    int fd = tcp_connect(o->address, 1000, &e);

    w->loop = l;
    w->o = *o;
    if (fd < 0 || link_connect(&w->link, fd, o->secret, &e) < 0)
        BUG("%s", e.text);
    w->fd_id = loop_add_fd(l, fd, LOOP_READ, on_ready, w, &e);
    flush(w);
    on_beat(w);
    return w;
}

void fake_worker_free(struct fake_worker *w)
{
    while (w->jobs) {
        struct fake_job *j = w->jobs;

        w->jobs = j->next;
        loop_remove(w->loop, j->timer);
        free(j);
    }
    loop_remove(w->loop, w->beat_id);
    loop_remove(w->loop, w->fd_id);
    link_close(&w->link);
    free(w);
}

void fake_worker_freeze(struct fake_worker *w, bool frozen)
{
    struct err e = ERR_INIT;

    w->frozen = frozen;
    if (!w->closed)
        loop_set_interest(w->loop, w->fd_id, frozen ? 0 : LOOP_READ, &e);
    if (!frozen)
        flush(w);
}

size_t fake_worker_jobs(const struct fake_worker *w)
{
    return w->count;
}

int64_t fake_worker_busy_ns(const struct fake_worker *w)
{
    return w->busy_ns + (w->running ? tick_now_ns() - w->since_ns : 0);
}

bool fake_worker_is_open(const struct fake_worker *w)
{
    return !w->closed;
}
