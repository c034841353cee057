/* cmd_archive.c: monkeys archive list|show|export|import: solved kernels of
 * runs and folders. */
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "run/archives.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct archive_values {
    bool json;
    const char *out;
};

static const struct opt list_table[] = {
    {"json", 0, OPT_FLAG, NULL, "a JSON object for each kernel",
     offsetof(struct archive_values, json), 0, 0},
    {0},
};
static const struct opt out_table[] = {
    {"output", 'o', OPT_TEXT, "DIR", "the archive's folder (required)",
     offsetof(struct archive_values, out), 0, 0},
    {"json", 0, OPT_FLAG, NULL, "the counts as a JSON object",
     offsetof(struct archive_values, json), 0, 0},
    {0},
};

/* ---- list and show ---- */

static json_t *as_json(const struct kernel *k)
{
    return json_pack("{s:s, s:s, s:s, s:b, s:s, s:b, s:s}", "name", k->name,
                     "task", k->task->id, "dtype", k->dtype, "verified",
                     k->verified, "origin", k->origin, "plan",
                     k->plan.p != NULL, "hash", k->task->hash);
}

static int print_one(struct kernel *k, void *arg, struct err *e)
{
    const struct archive_values *v = arg;

    (void)e;
    if (v->json)
        jsn_line(as_json(k));
    else
        printf("%-32s %-5s %-8s %s\n", k->name, k->dtype,
               k->verified ? "verified" : "not", k->origin);
    return 0;
}

static int run_list(const struct cmd *c, int argc, char **argv, struct err *e)
{
    struct archive_values v = {0};
    struct cmd_call call = {.cmd = c, .values = &v};
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);

    if (rc == 0 && call.r.rest_len == 0)
        rc = err_set(e, ERR_USAGE, "a run's folder or an archive is needed");
    for (size_t i = 0; rc == 0 && i < call.r.rest_len; i++)
        rc = archives_each(call.r.rest[i], print_one, &v, e);
    cmd_end(&call);
    return rc > 0 ? 0 : rc;
}

struct wanted {
    const char *name;
    bool json, found;
};

static void show_json(const struct kernel *k)
{
    json_t *v = as_json(k);

    json_object_set_new(v, "problem", jsn_text(k->task->source, k->task->len));
    json_object_set_new(
        v, "plan", k->plan.p ? jsn_text(k->plan.p, k->plan.n) : json_null());
    json_object_set_new(v, "solution", jsn_text(k->solution.p, k->solution.n));
    json_object_set_new(v, "ported",
                        k->ported.p ? jsn_text(k->ported.p, k->ported.n)
                                    : json_null());
    if (k->ported_why && k->ported_why[0])
        json_object_set_new(v, "ported_why", json_string(k->ported_why));
    jsn_line(v);
}

/* The file as it was answered, then the one that was made of what it does. */
static void show_solution(const struct kernel *k)
{
    printf("## Solution\n%.*s", (int)k->solution.n, k->solution.p);
    if (k->ported.p)
        printf("\n## Ported\n%.*s", (int)k->ported.n, k->ported.p);
    else if (k->ported_why && k->ported_why[0])
        printf("\n## Ported\nThere is none: %s\n", k->ported_why);
}

static int show_one(struct kernel *k, void *arg, struct err *e)
{
    struct wanted *w = arg;

    (void)e;
    if (strcmp(k->name, w->name) != 0 && strcmp(k->task->id, w->name) != 0)
        return 0;
    w->found = true;
    if (w->json) {
        show_json(k);
        return 0;
    }
    printf("# %s\n# %s\n\n## Task\n%s\n", k->name, k->origin, k->task->source);
    if (k->plan.p)
        printf("## Plan\n%.*s\n\n", (int)k->plan.n, k->plan.p);
    show_solution(k);
    return 0;
}

static int run_show(const struct cmd *c, int argc, char **argv, struct err *e)
{
    struct archive_values v = {0};
    struct cmd_call call = {.cmd = c, .values = &v};
    struct wanted w = {0};
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);

    if (rc == 0 && call.r.rest_len != 2)
        rc = err_set(e, ERR_USAGE, "a folder and a kernel's name are needed");
    if (rc == 0) {
        w.name = call.r.rest[1];
        w.json = v.json;
        rc = archives_each(call.r.rest[0], show_one, &w, e);
    }
    if (rc == 0 && w.name && !w.found)
        rc = err_set(e, ERR_INPUT,
                     "%s has no kernel %s; 'monkeys archive list %s' shows "
                     "them",
                     call.r.rest[0], w.name, call.r.rest[0]);
    cmd_end(&call);
    return rc > 0 ? 0 : rc;
}

/* ---- export and import ---- */

struct copying {
    const char *to;
    struct archives_known known; /* what is there already */
    size_t written, twins;
};

static int copy_one(struct kernel *k, void *arg, struct err *e)
{
    struct copying *c = arg;

    if (archives_knows(&c->known, k->task->hash)) {
        c->twins++;
        return 0;
    }
    if (kernel_write(c->to, k, (struct str){k->task->source, k->task->len}, e) <
        0)
        return -1;
    archives_add(&c->known, k->task->hash);
    c->written++;
    return 0;
}

static void tell_copied(const struct copying *g, bool json)
{
    if (json)
        jsn_line(json_pack(
            "{s:o, s:I, s:I}", "archive", jsn_text(g->to, strlen(g->to)),
            "written", (json_int_t)g->written, "known", (json_int_t)g->twins));
    else
        printf("%zu kernels written to %s, %zu were there already\n",
               g->written, g->to, g->twins);
}

static int run_copy(const struct cmd *c, int argc, char **argv, struct err *e)
{
    struct archive_values v = {0};
    struct cmd_call call = {.cmd = c, .values = &v};
    struct copying g = {0};
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);

    if (rc == 0 && (!v.out || call.r.rest_len == 0))
        rc = err_set(e, ERR_USAGE,
                     "-o DIR and the folder of a run or an archive are needed");
    if (rc == 0) {
        g.to = v.out;
        rc = archives_read_known(v.out, &g.known, e);
    }
    for (size_t i = 0; rc == 0 && v.out && i < call.r.rest_len; i++)
        rc = archives_each(call.r.rest[i], copy_one, &g, e);
    if (rc == 0 && v.out)
        tell_copied(&g, v.json);
    archives_release_known(&g.known);
    cmd_end(&call);
    return rc > 0 ? 0 : rc;
}

extern const struct cmd cmd_archive_list, cmd_archive_show, cmd_archive_export,
    cmd_archive_import;
const struct cmd cmd_archive_list = {
    "archive list",
    "DIR...",
    "list solved kernels",
    "DIR is a run's folder or an archive: a folder with task.py, solution.py\n"
    "and meta.json for each kernel, as the seeds of packs have.",
    list_table,
    run_list,
};
const struct cmd cmd_archive_show = {
    "archive show",
    "DIR NAME",
    "show a solved kernel: task, plan, solution, and what was made of it",
    "NAME is the kernel's name or its task's id. 'Ported' is a small ModelNew\n"
    "that the judge made from the kernel's trace: allocations and launches,\n"
    "nothing else.",
    list_table,
    run_show,
};
const struct cmd cmd_archive_export = {
    "archive export",
    "RUN...",
    "write the solved kernels of runs into an archive",
    "Kernels at evidence E3 that no reviewer refused. An archive starts other\n"
    "runs (run --archive DIR); its folders can become a pack's seeds. Beside\n"
    "solution.py, as the model wrote it, stands solution.ported.py: a small\n"
    "ModelNew made from the trace that was verified.",
    out_table,
    run_copy,
};
const struct cmd cmd_archive_import = {
    "archive import",
    "DIR...",
    "add other archives to an archive",
    "A kernel whose task is there already (the same source but for comments)\n"
    "is left out. What the other archive says about verification is taken\n"
    "over, not repeated.",
    out_table,
    run_copy,
};
