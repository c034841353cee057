/* task_view.c: what the queries in task/ say, put together. */
#include "run/task_view.h"

#include "run/query.h"

static json_t *task_given(int64_t task, int64_t attempt)
{
    return json_pack("{s:I, s:o}", "task", (json_int_t)task, "attempt",
                     attempt ? json_integer(attempt) : json_null());
}

int task_view_best(struct store *s, int64_t task, int64_t *out, struct err *e)
{
    json_t *best = query_row(s, "run/task/best", task_given(task, 0), e);

    *out = json_integer_value(json_object_get(best, "attempt"));
    json_decref(best);
    return e->kind == ERR_NONE ? 0 : -1;
}

json_t *task_view_attempt(struct store *s, int64_t task, int64_t attempt,
                          struct err *e)
{
    json_t *one =
        query_row(s, "run/task/attempts", task_given(task, attempt), e);
    json_t *more =
        one ? query_row(s, "run/task/attempt", task_given(task, attempt), e)
            : NULL;

    if (more && json_object_update_new(one, more) == 0 &&
        json_object_set_new(one, "examples",
                            query_list(s, "run/task/examples",
                                       task_given(task, attempt), e)) == 0 &&
        json_object_set_new(
            one, "calls",
            query_list(s, "run/task/calls", task_given(task, attempt), e)) == 0)
        return one;
    json_decref(one);
    return NULL;
}

json_t *task_view(struct store *s, int64_t task, struct err *e)
{
    json_t *j = query_row(s, "run/task/task", task_given(task, 0), e);

    if (!j || json_object_set_new(j, "attempts",
                                  query_list(s, "run/task/attempts",
                                             task_given(task, 0), e)) == 0)
        return j;
    json_decref(j);
    return NULL;
}

json_t *task_view_diff(struct store *s, int64_t task, int64_t attempt,
                       struct err *e)
{
    return query_row(s, "run/task/diff", task_given(task, attempt), e);
}
