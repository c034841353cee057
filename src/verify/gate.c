/* gate.c: asks about every task, and notes why one is refused. */
#include "verify/gate.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdlib.h>

struct gate {
    const struct gate_opts *o;
    size_t unchecked, unchecked_at;
};

struct look {
    struct gate *g;
    size_t index;
    char **why;
};

static char *reasons_of(const json_t *record)
{
    const json_t *list = json_object_get(record, "reasons");
    struct buf b;
    char *text;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i < json_array_size(list); i++)
        buf_printf(&b, "%s%s", i ? "; " : "",
                   json_string_value(json_array_get(list, i)));
    text = xstrdup(b.len ? buf_str(&b) : "no reason given");
    buf_release(&b);
    return text;
}

static void on_record(const json_t *record, const char *why, void *arg)
{
    struct look *k = arg;

    if (!record) {
        *k->why = xasprintf("could not be checked: %s", why);
        k->g->unchecked++;
        k->g->unchecked_at = k->index;
    } else if (!json_is_true(json_object_get(record, "usable"))) {
        *k->why = reasons_of(record);
    }
    k->g->o->step(k->g->o->arg);
}

int gate_tasks(struct door *d, const struct collection *tasks,
               const struct gate_opts *o, char **why, struct err *e)
{
    struct gate g = {.o = o};
    struct look *look = xcalloc(tasks->len + 1, sizeof(*look));
    size_t missing = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < tasks->len; i++) {
        look[i] = (struct look){&g, i, &why[i]};
        rc = door_check_task(d, tasks->task[i], o->job, on_record, &look[i], e);
    }
    if (rc == 0)
        missing = door_wait(d);
    if (rc == 0 && g.unchecked &&
        (g.unchecked == tasks->len || door_is_dead(d)))
        rc = err_set(e, ERR_SYSTEM, "%s: %s", tasks->task[g.unchecked_at]->path,
                     why[g.unchecked_at]);
    if (rc < 0 || missing)
        door_drop(d);
    free(look);
    return rc < 0 ? -1 : missing > 0;
}
