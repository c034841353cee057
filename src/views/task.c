/* task.c: one task with its attempts, one of them in full. */
#include "views/views_int.h"

#include "run/attempt_view.h"

/* What changed in the code since the attempt before. */
static int add_diff(json_t *j, struct run_view *v, const struct run_task *t,
                    const struct attempt_view *a, struct err *e)
{
    const struct run_attempt *before = run_attempt_view_before(t, a);
    struct buf out;
    int rc;

    json_object_set_new(
        j, "before", before ? json_integer(before->row.attempt) : json_null());
    if (!before || !a->code.p || a->code.n > VIEWS_LONGEST_TEXT)
        return json_object_set_new(j, "diff", json_null());
    buf_init(&out, BUF_UNLIMITED);
    rc = run_attempt_view_diff(v, before, a, &out, e);
    json_object_set_new(j, "diff", jsn_text(buf_str(&out), out.len));
    buf_release(&out);
    return rc;
}

json_t *views_task(struct run_view *v, struct run_task *t, int64_t attempt,
                   struct err *e)
{
    const struct run_attempt *row =
        attempt ? run_view_attempt(t, attempt) : run_task_best(t);
    struct attempt_list list;
    struct attempt_view a;
    json_t *j = NULL;

    if (attempt && !row)
        return NULL;
    if (run_attempt_list_make(v, t, &list, e) < 0)
        return NULL;
    if (!row) {
        j = run_attempt_view_json(&list, NULL);
    } else if (run_attempt_view_make(v, row, &a, e) == 0) {
        j = run_attempt_view_json(&list, &a);
        if (add_diff(j, v, t, &a, e) < 0) {
            json_decref(j);
            j = NULL;
        }
        run_attempt_view_release(&a);
    }
    run_attempt_list_release(&list);
    return j ? views_cut(j) : NULL;
}
