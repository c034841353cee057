/* procs.c: a queue of programs on one loop. */
#include "io/procs.h"

#include "base/mem.h"

#include <stdlib.h>

struct procs {
    struct loop *loop;
    struct procs_item *item;
    size_t n, next, done;
    void (*ended)(size_t done, void *arg);
    void *arg;
};

struct slot {
    struct procs *b;
    struct procs_item *item;
};

static void start_next(struct procs *b);

static void procs_tell(struct procs *b)
{
    b->done++;
    if (b->ended)
        b->ended(b->done, b->arg);
}

static void procs_on_done(struct proc *p, struct proc_result *r, void *arg)
{
    struct slot *s = arg;
    struct procs *b = s->b;

    s->item->result = *r;
    /* The buffers are the item's now. */
    buf_init(&r->out, r->out.limit);
    buf_init(&r->err, r->err.limit);
    proc_free(p);
    free(s);
    procs_tell(b);
    start_next(b);
}

static void start_next(struct procs *b)
{
    while (b->next < b->n) {
        struct slot *s = xmalloc(sizeof(*s));

        *s = (struct slot){b, &b->item[b->next++]};
        if (proc_start(b->loop, &s->item->opts, procs_on_done, s,
                       &s->item->failed))
            return;
        free(s);
        procs_tell(b);
    }
}

int procs_run(struct procs_item *item, size_t n, size_t at_once,
              void (*ended)(size_t done, void *arg), void *arg, struct err *e)
{
    struct procs b = {loop_new(e), item, n, 0, 0, ended, arg};

    if (!b.loop)
        return -1;
    for (size_t i = 0; i < at_once; i++)
        start_next(&b);
    loop_run(b.loop);
    loop_free(b.loop);
    return 0;
}
