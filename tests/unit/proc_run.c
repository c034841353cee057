/* proc_run.c: a child with a loop of its own. */
#include "proc_run.h"

static void take_result(struct proc *p, struct proc_result *r, void *arg)
{
    struct proc_result *to = arg;

    (void)p;
    *to = *r;
    buf_init(&r->out, 0);
    buf_init(&r->err, 0);
}

int proc_run(const struct proc_opts *o, struct proc_result *r, struct err *e)
{
    struct loop *l = loop_new(e);
    struct proc *p = NULL;

    *r = (struct proc_result){.exit_code = -1};
    if (l)
        p = proc_start(l, o, take_result, r, e);
    if (p)
        loop_run(l);
    proc_free(p);
    loop_free(l);
    return p ? 0 : -1;
}
