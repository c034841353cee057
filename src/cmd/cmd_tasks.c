/* cmd_tasks.c: monkeys tasks list and check. */
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "io/term.h"
#include "source/define.h"
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

#define STRICT_OPTION                                                         \
    {                                                                         \
        "strict", 0, OPT_FLAG, NULL,                                          \
            "refuse files that are not tasks (default: skip them, and warn)", \
            offsetof(struct tasks_values, strict), 0, 0                       \
    }

static const struct opt list_table[] = {
    VERIFYING_OPTION("json", OPT_FLAG, NULL,
                     "print a JSON object for each task", json, 0, 0),
    STRICT_OPTION,
    DEFINE_OPTION(struct tasks_values, define),
    {0},
};
static const struct opt check_table[] = {
    {"self-test", 0, OPT_FLAG, NULL,
     "also test the judge with known answers: a perfect one must pass; zeros, "
     "a "
     "constant, the input and the output for another seed must not",
     offsetof(struct tasks_values, self_test), 0, 0},
    {"boxed", 0, OPT_FLAG, NULL,
     "run the tasks in boxed processes, not in the judge: for tasks that "
     "somebody else wrote; on the CPU, in fp32",
     offsetof(struct tasks_values, boxed), 0, 0},
    STRICT_OPTION,
    DEFINE_OPTION(struct tasks_values, define),
    VERIFYING_OPTIONS,
    {0},
};

static int gather(struct collection *c, const struct home *home,
                  const struct opt_result *r, const struct tasks_values *v,
                  struct err *e)
{
    char *own = fs_join(home->dir, "tasks");
    const char *starter = "starter";
    int rc = r->rest_len ? collection_add(c, r->rest, r->rest_len, own, e)
                         : collection_add(c, &starter, 1, own, e);

    free(own);
    if (rc < 0 || collection_report(c, v->strict, e) < 0)
        return -1;
    return define_tasks(c, &v->define, e);
}

/* ---- list ---- */

static void print_task(const struct task *t, bool as_json)
{
    json_t *ops;

    if (as_json) {
        ops = json_array();
        for (size_t i = 0; t->ops[i]; i++)
            json_array_append_new(ops, json_string(t->ops[i]));
        jsn_line(json_pack("{s:s, s:o, s:s, s:o, s:O?}", "id", t->id, "file",
                           jsn_text(t->path, strlen(t->path)), "hash", t->hash,
                           "operators", ops, "sidecar", t->sidecar));
        return;
    }
    printf("%-32s", t->id);
    for (size_t i = 0; t->ops[i]; i++)
        printf(" %s", t->ops[i]);
    putchar('\n');
}

static int run_list(const struct cmd *c, int argc, char **argv, struct err *e)
{
    struct tasks_values v = {.v = VERIFYING_DEFAULTS};
    struct cmd_call call = {.cmd = c, .values = &v};
    struct collection tasks = {0};
    struct home home = {0};
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);

    if (rc == 0 &&
        (home_find(&home, e) < 0 || gather(&tasks, &home, &call.r, &v, e) < 0))
        rc = -1;
    for (size_t i = 0; rc == 0 && i < tasks.len; i++)
        print_task(tasks.task[i], v.v.json);
    collection_release(&tasks);
    home_release(&home);
    cmd_end(&call);
    return rc > 0 ? 0 : rc;
}

extern const struct cmd cmd_tasks_list;
const struct cmd cmd_tasks_list = {
    "tasks list",
    "[TASKS...]",
    "list the tasks of a collection and the operators they use",
    "TASKS is a file, a folder, a pattern, or the name of a collection that\n"
    "comes with the program (default: starter). Files that are not tasks are\n"
    "reported and skipped.",
    list_table,
    run_list,
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
static bool self_test_ok(const json_t *answer)
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

static long long count_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void print_answer(const struct look *k, size_t i)
{
    const json_t *a = k->answer[i], *reasons = json_object_get(a, "reasons"),
                 *notes = json_object_get(a, "notes");
    const json_t *literal = json_object_get(a, "literal");
    const struct task *t = k->tasks.task[i];
    bool usable = json_is_true(json_object_get(a, "usable"));
    const char *infra = jsn_str(a, "infra");
    json_t *line;

    if (k->v->v.json) {
        line = json_pack("{s:o, s:s, s:b}", "file",
                         jsn_text(t->path, strlen(t->path)), "task", t->id,
                         "accepted", usable);
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
               count_of(literal, "passed"), count_of(literal, "trials"));
    if (usable && json_array_size(json_object_get(literal, "inexact")))
        printf(", where the reference itself is not too far off in %zu",
               json_array_size(json_object_get(literal, "inexact")));
    if (usable && !self_test_ok(a)) {
        char *tests = json_dumps(json_object_get(a, "self_test"), 0);

        printf(" SELF-TEST FAILED %s", tests);
        free(tests);
    }
    putchar('\n');
    for (size_t n = 0; n < json_array_size(notes); n++)
        printf("    note: %s\n", json_string_value(json_array_get(notes, n)));
}

static int look_at_one(struct verifier *verifier, size_t item, void *arg,
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
                             "infra", jsn_text(d.why, strlen(d.why)));
    usable = json_is_true(json_object_get(a, "usable"));
    k->answer[item] = a;
    k->unusable += d.record && !usable;
    k->failed += !d.record || (usable && !self_test_ok(a));
    while (k->shown < k->tasks.len && k->answer[k->shown]) {
        term_hide(k->bar);
        print_answer(k, k->shown++);
    }
    cmd_flush();
    term_set(k->bar, ++k->done, NULL);
    verifier_answer_release(&d);
    return 0;
}

static void print_summary(const struct look *k)
{
    size_t n = k->tasks.len;

    printf("%zu task%s: %zu usable, %zu not, %zu failed\n", n,
           n == 1 ? "" : "s", n - k->unusable - k->failed, k->unusable,
           k->failed);
}

static int look_at_all(struct look *k, const struct home *home, struct err *e)
{
    const struct verifying_values *v = &k->v->v;
    int rc;

    k->job = verifying_job(v, v->precision ? v->precision
                                           : precision_names[PRECISION_FP32]);
    k->job.self_test = k->v->self_test;
    k->job.foreign = k->v->boxed;
    k->bar = term_open(STDERR_FILENO, k->tasks.len, 0, "checking tasks");
    rc = verifying_all(v, home, k->tasks.len, look_at_one, k, e);
    term_close(k->bar);
    if (rc == 0 && k->done == k->tasks.len && !k->v->v.json)
        print_summary(k);
    return rc;
}

static int run_tasks_check(const struct cmd *c, int argc, char **argv,
                           struct err *e)
{
    struct tasks_values v = {.v = VERIFYING_DEFAULTS};
    struct cmd_call call = {.cmd = c, .values = &v};
    struct look k = {.v = &v};
    struct home home = {0};
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);
    int help = rc > 0;

    if (rc == 0) {
        if (verifying_choose_device(&v.v, e) < 0 || home_find(&home, e) < 0 ||
            gather(&k.tasks, &home, &call.r, &v, e) < 0)
            rc = -1;
    }
    if (rc == 0) {
        k.answer = xcalloc(k.tasks.len + 1, sizeof(*k.answer));
        rc = look_at_all(&k, &home, e);
    }
    if (rc == 0)
        rc = k.failed || k.done < k.tasks.len ? 4 : k.unusable ? 1 : 0;
    for (size_t i = 0; k.answer && i < k.tasks.len; i++)
        if (k.answer[i])
            json_decref(k.answer[i]);
    free(k.answer);
    collection_release(&k.tasks);
    home_release(&home);
    cmd_end(&call);
    return help ? 0 : rc;
}

extern const struct cmd cmd_tasks_check;
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
    check_table,
    run_tasks_check,
};
