/* gate.c: asks about every task, and notes why one is refused. */
#include "verify/gate.h"

#include "base/buf.h"
#include "base/mem.h"

struct gate {
    struct gate_opts *o;
    struct verifier *verifier;
    const struct collection *tasks;
    char **why;
    size_t answered, unchecked, unchecked_at;
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

static int gate_task(struct ask_all *a, size_t item, void *arg, struct err *e)
{
    struct gate *g = arg;
    struct verifier_answer d = {0};

    (void)a;
    if (verifier_check_task(g->verifier, g->tasks->task[item], g->o->job, &d,
                            e) < 0)
        return -1;
    if (!d.record) {
        g->why[item] = xasprintf("could not be checked: %s", d.why);
        g->unchecked++;
        g->unchecked_at = item;
    } else if (!json_is_true(json_object_get(d.record, "usable"))) {
        g->why[item] = reasons_of(d.record);
    }
    g->answered++;
    g->o->step(g->o->arg);
    verifier_answer_release(&d);
    return 0;
}

int gate_tasks(struct verifier *d, const struct collection *tasks,
               struct gate_opts *o, char **why, struct err *e)
{
    struct gate g = {.o = o, .verifier = d, .tasks = tasks, .why = why};

    o->ask.part =
        (struct ask_parts){.loop = verifier_loop(d), .most = VERIFIER_MOST};
    if (ask_all(&o->ask, tasks->len, gate_task, &g, e) == ASK_FAILED)
        return -1;
    if (g.unchecked && (g.unchecked == tasks->len || verifier_is_dead(d)))
        return err_set(e, ERR_SYSTEM, "%s: %s",
                       tasks->task[g.unchecked_at]->path, why[g.unchecked_at]);
    return g.answered < tasks->len;
}
