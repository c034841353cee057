/* workers.c: who verifies for a run, where workers connect to it. */
#include "views/views_int.h"

/* Another program wrote it, so it may be anything. */
static json_t *nothing(void)
{
    return json_pack("{s:n, s:[]}", "at", "workers");
}

static json_t *one_run(struct run_view *v, struct err *e)
{
    struct err unread = ERR_INIT;
    json_t *all = run_view_workers(v, &unread);

    (void)e;
    return all ? views_cut(all) : nothing();
}

json_t *views_workers(struct run_view *const *runs, size_t n, struct err *e)
{
    return views_each(runs, n, one_run, e);
}
