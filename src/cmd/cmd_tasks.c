/* cmd_tasks.c: monkeys tasks list and check. */
#include "base/mem.h"
#include "cmd/cmd.h"
#include "io/term.h"
#include "verify/verifying.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tasks_values {
    struct verifying_values v;
    struct opt_list define;
    bool self_test, boxed, strict;
};

#define VALUES struct tasks_values
#define STRICT_OPTION                                                        \
    OPTION("strict", OPT_FLAG, NULL,                                         \
           "refuse files that are not tasks (default: skip them, and warn)", \
           strict)

static const struct opt tasks_list_table[] = {
    VERIFYING_OPTION("json", OPT_FLAG, NULL,
                     "print a JSON object for each task", json, 0, 0),
    STRICT_OPTION,
    DEFINE_OPTION(VALUES, define),
    {0},
};
static const struct opt tasks_check_table[] = {
    {"self-test", 0, OPT_FLAG, NULL,
     "also test the judge with known answers: a perfect one must pass; zeros, "
     "a "
     "constant, the input and the output for another seed must not",
     AT(self_test)},
    {"boxed", 0, OPT_FLAG, NULL,
     "run the tasks in boxed processes, not in the judge: for tasks that "
     "somebody else wrote; on the CPU, in fp32",
     AT(boxed)},
    STRICT_OPTION,
    DEFINE_OPTION(VALUES, define),
    VERIFYING_OPTIONS,
    {0},
};

/* ---- list ---- */

static void tasks_print(const struct task *t, bool as_json)
{
    json_t *ops;

    if (as_json) {
        ops = json_array();
        for (size_t i = 0; t->ops[i]; i++)
            json_array_append_new(ops, json_string(t->ops[i]));
        jsn_line(json_pack("{s:s, s:o, s:s, s:o, s:O?}", "id", t->id, "file",
                           jsn_of(t->path), "hash", t->hash, "operators", ops,
                           "sidecar", t->sidecar));
        return;
    }
    printf("%-32s", t->id);
    for (size_t i = 0; t->ops[i]; i++)
        printf(" %s", t->ops[i]);
    putchar('\n');
}

static int tasks_list(struct cmd_call *call, struct err *e)
{
    const struct tasks_values *v = call->values;
    struct collection tasks = {0};
    int rc = cmd_tasks(call, "starter", v->strict, &v->define, &tasks, e);

    for (size_t i = 0; rc == 0 && i < tasks.len; i++)
        tasks_print(tasks.task[i], v->v.json);
    collection_release(&tasks);
    return rc;
}

static const struct tasks_values tasks_defaults = {.v = VERIFYING_DEFAULTS};

const struct cmd cmd_tasks_list = {
    "tasks list",
    "[TASKS...]",
    "list the tasks of a collection and the operators they use",
    "TASKS is a file, a folder, a pattern, or the name of a collection that\n"
    "comes with the program (default: starter). Files that are not tasks are\n"
    "reported and skipped.",
    tasks_list_table,
    tasks_list,
    sizeof(struct tasks_values),
    &tasks_defaults,
};

/* ---- check ---- */

struct look {
    const struct tasks_values *v;
    struct job_opts job;
    struct collection tasks;
    json_t **answer; /* of each task; NULL: none yet */
    size_t shown, done, unusable, failed;
    struct term *bar;
};

/* In a self-test the perfect answer and the task as written pass; no other
 * does. */
static bool tasks_self_test_ok(const json_t *answer)
{
    const json_t *tests = json_object_get(answer, "self_test");
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)tests, name, value)
    {
        bool right = !strcmp(name, "perfect") || !strcmp(name, "literal");

        if (json_is_true(value) != right)
            return false;
    }
    return true;
}

static void tasks_print_answer(const struct look *k, size_t i)
{
    const json_t *a = k->answer[i], *reasons = json_object_get(a, "reasons"),
                 *notes = json_object_get(a, "notes");
    const json_t *literal = json_object_get(a, "literal");
    const struct task *t = k->tasks.task[i];
    bool usable = jsn_true(a, "usable");
    const char *infra = jsn_str(a, "infra");
    json_t *line;

    if (k->v->v.json) {
        line = json_pack("{s:o, s:s, s:b}", "file", jsn_of(t->path), "task",
                         t->id, "accepted", usable);
        json_object_update(line, (json_t *)a);
        jsn_line(line);
        return;
    }
    printf("%-32s %s%s", t->id,
           usable   ? "ok"
           : *infra ? "not checked: "
                    : "unusable",
           infra);
    for (size_t r = 0; r < json_array_size(reasons); r++)
        printf("%s %s", r ? ";" : ":",
               json_string_value(json_array_get(reasons, r)));
    if (usable && json_is_object(literal))
        printf(", as written right in %lld of %lld trials",
               (long long)jsn_int(literal, "passed"),
               (long long)jsn_int(literal, "trials"));
    if (usable && !tasks_self_test_ok(a)) {
        char *tests = json_dumps(json_object_get(a, "self_test"), 0);

        printf(" SELF-TEST FAILED %s", tests);
        free(tests);
    }
    putchar('\n');
    for (size_t n = 0; n < json_array_size(notes); n++)
        printf("    note: %s\n", json_string_value(json_array_get(notes, n)));
}

static int tasks_check_one(struct verifier *verifier, size_t item, void *arg,
                           struct err *e)
{
    struct look *k = arg;
    struct verifier_answer d = {0};
    bool usable;
    json_t *a;

    if (verifier_check_task(verifier, k->tasks.task[item], &k->job, &d, e) < 0)
        return -1;
    a = d.record ? json_incref(d.record)
                 : json_pack("{s:b, s:[], s:o}", "usable", 0, "reasons",
                             "infra", jsn_of(d.why));
    usable = jsn_true(a, "usable");
    k->answer[item] = a;
    k->unusable += d.record && !usable;
    k->failed += !d.record || (usable && !tasks_self_test_ok(a));
    while (k->shown < k->tasks.len && k->answer[k->shown]) {
        term_hide(k->bar);
        tasks_print_answer(k, k->shown++);
    }
    cmd_flush();
    term_set(k->bar, ++k->done, NULL);
    verifier_answer_release(&d);
    return 0;
}

static void tasks_print_summary(const struct look *k)
{
    size_t n = k->tasks.len;

    printf("%zu task%s: %zu usable, %zu not, %zu failed\n", n,
           n == 1 ? "" : "s", n - k->unusable - k->failed, k->unusable,
           k->failed);
}

static int tasks_check_all(struct look *k, const struct home *home,
                           struct err *e)
{
    const struct verifying_values *v = &k->v->v;
    int rc;

    k->job = verifying_job(v, v->precision ? v->precision
                                           : precision_names[PRECISION_FP32]);
    k->job.self_test = k->v->self_test;
    k->job.foreign = k->v->boxed;
    k->bar = term_open(STDERR_FILENO, k->tasks.len, 0, "checking tasks");
    rc = verifying_all(v, home, k->tasks.len, tasks_check_one, k, e);
    term_close(k->bar);
    if (rc == 0 && k->done == k->tasks.len && !k->v->v.json)
        tasks_print_summary(k);
    return rc;
}

static int tasks_check(struct cmd_call *call, struct err *e)
{
    struct tasks_values *v = call->values;
    struct look k = {.v = v};
    int rc = verifying_choose_device(&v->v, e);

    if (rc == 0)
        rc = cmd_tasks(call, "starter", v->strict, &v->define, &k.tasks, e);
    if (rc == 0) {
        k.answer = xcalloc(k.tasks.len + 1, sizeof(*k.answer));
        rc = tasks_check_all(&k, cmd_home(call, e), e);
    }
    if (rc == 0)
        rc = k.failed || k.done < k.tasks.len ? 4 : k.unusable ? 1 : 0;
    for (size_t i = 0; k.answer && i < k.tasks.len; i++)
        json_decref(k.answer[i]);
    free(k.answer);
    collection_release(&k.tasks);
    return rc;
}

const struct cmd cmd_tasks_check = {
    "tasks check",
    "[TASKS...]",
    "check which tasks can be judged, and explain why others cannot",
    "A task passes if its reference runs, is finite and deterministic, "
    "depends\n"
    "on its inputs, and is neither constant nor below the tolerance "
    "everywhere.\n"
    "Files that are not tasks are reported and skipped. Exit status: 1 if a "
    "task\n"
    "does not pass, 4 if the verifier or a self-test failed, or the answer "
    "from\n"
    "another host is still missing.",
    tasks_check_table,
    tasks_check,
    sizeof(struct tasks_values),
    &tasks_defaults,
};
