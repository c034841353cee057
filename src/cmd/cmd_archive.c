/* cmd_archive.c: monkeys archive list|show|export|import: solved kernels of
 * runs and folders. */
#include "base/json.h"
#include "cmd/cmd.h"
#include "run/archives.h"
#include "store/pg.h"
#include "verify/verdict.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct archive_values {
    bool json;
    const char *out;
};

#define VALUES struct archive_values
static const struct opt archive_list_table[] = {
    {"json", 0, OPT_FLAG, NULL, "one JSON object per kernel", AT(json)},
    {0},
};
static const struct opt archive_copy_table[] = {
    {"output", 'o', OPT_TEXT, "DIR",
     "the archive: a folder, or postgres://... for a shared one (required)",
     AT(out)},
    {"json", 0, OPT_FLAG, NULL, "print the counts as a JSON object", AT(json)},
    {0},
};

/* ---- list and show ---- */

struct listing {
    bool json;
    size_t count;
};

static int archive_print(struct kernel *k, void *arg, struct err *e)
{
    struct listing *l = arg;

    (void)e;
    l->count++;
    if (l->json)
        jsn_line(kernel_json(k, false));
    else
        printf("%-32s %-5s %-8s %s\n", k->name, k->dtype,
               kernel_is_retired(k) ? "retired"
               : kernel_is_older(k) ? "older"
               : k->verified        ? "verified"
                                    : "not",
               k->origin);
    if (!l->json && kernel_is_retired(k))
        printf("    since %s: %s\n", k->retired_on, k->retired_why);
    return 0;
}

static int archive_list(struct cmd_call *call, struct err *e)
{
    const struct archive_values *v = call->values;
    int rc = 0;

    if (call->r.rest_len == 0)
        return err_set(e, ERR_USAGE, "give the folder of a run or an archive");
    for (size_t i = 0; rc == 0 && i < call->r.rest_len; i++) {
        struct listing l = {.json = v->json};
        char *shown = pg_shown(call->r.rest[i]);

        rc = archives_each(call->r.rest[i], archive_print, &l, e);
        if (rc == 0 && l.count == 0 && !v->json)
            printf("%s: no kernels yet; they come from a run that solves a "
                   "task, 'monkeys archive add' or 'monkeys archive import'\n",
                   shown);
        free(shown);
    }
    return rc;
}

struct wanted {
    const char *name;
    bool json, found;
};

/* The file as it was answered, then the one that was made of what it does. */
static void archive_show_solution(const struct kernel *k)
{
    printf("## Solution\n%.*s", (int)k->solution.n, k->solution.p);
    if (k->ported.p)
        printf("\n## Ported\n%.*s", (int)k->ported.n, k->ported.p);
    else if (k->ported_why && k->ported_why[0])
        printf("\n## Ported\nNot available: %s\nThe solution above is its "
               "author's file, of which only the trace was judged.\n",
               k->ported_why);
}

static int archive_show_one(struct kernel *k, void *arg, struct err *e)
{
    struct wanted *w = arg;

    (void)e;
    if (strcmp(k->name, w->name) != 0 && strcmp(k->task->id, w->name) != 0)
        return 0;
    w->found = true;
    if (w->json) {
        jsn_line(kernel_json(k, true));
        return 0;
    }
    printf("# %s\n# %s\n", k->name, k->origin);
    if (kernel_is_older(k))
        printf("# verified by version %lld of the rules of truth: 'monkeys "
               "archive reverify' judges it by version %d\n",
               (long long)k->rules, VERDICT_RULES);
    if (kernel_is_retired(k))
        printf("# retired on %s: %s\n", k->retired_on, k->retired_why);
    printf("\n## Task\n%s\n", k->task->source);
    if (k->plan.p)
        printf("## Plan\n%.*s\n\n", (int)k->plan.n, k->plan.p);
    archive_show_solution(k);
    return 0;
}

static int archive_show(struct cmd_call *call, struct err *e)
{
    const struct archive_values *v = call->values;
    struct wanted w = {.json = v->json};
    int rc;

    if (call->r.rest_len != 2)
        return err_set(e, ERR_USAGE, "give a folder and the name of a kernel");
    w.name = call->r.rest[1];
    rc = archives_each(call->r.rest[0], archive_show_one, &w, e);
    if (rc == 0 && !w.found) {
        char *shown = pg_shown(call->r.rest[0]);

        rc = err_set(e, ERR_INPUT,
                     "%s has no kernel %s; 'monkeys archive list %s' lists "
                     "the kernels",
                     shown, w.name, shown);
        free(shown);
    }
    return rc;
}

/* ---- export and import ---- */

static void archive_print_copied(const char *to,
                                 const struct archives_copied *n, bool json)
{
    if (json)
        jsn_line(json_pack(
            "{s:o, s:I, s:I, s:I, s:I}", "archive", jsn_of(to), "written",
            (json_int_t)n->written, "known", (json_int_t)n->known, "retired",
            (json_int_t)n->retired, "older", (json_int_t)n->older));
    else
        printf("%zu kernel%s written to %s, %zu there already", n->written,
               n->written == 1 ? "" : "s", to, n->known);
    if (!json && n->retired)
        printf(", %zu retired and left out", n->retired);
    if (!json && n->older)
        printf(", %zu judged by older rules of truth and left out: 'monkeys "
               "archive reverify' judges %s again",
               n->older, n->older == 1 ? "it" : "them");
    if (!json)
        putchar('\n');
}

static int archive_copy(struct cmd_call *call, struct err *e)
{
    const struct archive_values *v = call->values;
    struct archives_copied n;
    char *shown;

    if (!v->out || call->r.rest_len == 0)
        return err_set(e, ERR_USAGE,
                       "give -o DIR and the folder of a run or an archive");
    if (archives_copy(call->r.rest, call->r.rest_len, v->out, &n, e) < 0)
        return -1;
    shown = pg_shown(v->out);
    archive_print_copied(shown, &n, v->json);
    free(shown);
    return 0;
}

const struct cmd cmd_archive_list = {
    "archive list",
    "DIR...",
    "list solved kernels",
    "DIR is the folder of a run, or an archive: a folder with one sub-folder\n"
    "per kernel, which holds task.py, solution.py and meta.json; or the\n"
    "address of a shared archive, postgres://USER@HOST:PORT/DATABASE, in a\n"
    "program built with 'make PG=1'.",
    archive_list_table,
    archive_list,
    sizeof(struct archive_values),
    NULL,
};
const struct cmd cmd_archive_show = {
    "archive show",
    "DIR NAME",
    "show a solved kernel: task, plan, solution, ported model",
    "NAME is the name of the kernel or the id of its task. The ported model "
    "is\n"
    "the task's file with a ModelNew made from the verified trace: "
    "allocations\n"
    "and launches, nothing else. Without one, only the trace of the solution\n"
    "was judged, and the reason is shown.",
    archive_list_table,
    archive_show,
    sizeof(struct archive_values),
    NULL,
};
const struct cmd cmd_archive_export = {
    "archive export",
    "RUN...",
    "write the solved kernels of runs to an archive",
    "Writes the kernels at evidence E3 (computed by kernels alone) that no\n"
    "reviewer refused. Other runs can start with an archive (run --archive\n"
    "DIR), and its folders can become the seeds of a pack. solution.py is\n"
    "what the model wrote; solution_ported.py is made from the verified\n"
    "trace: the task and a ModelNew that allocates and launches, nothing\n"
    "else. Both the folder and the file can be imported. Where a language's\n"
    "kernels have no source, this file is missing, and ported_why in\n"
    "meta.json says so: then solution.py is the author's file, of which\n"
    "only the trace was judged.",
    archive_copy_table,
    archive_copy,
    sizeof(struct archive_values),
    NULL,
};
const struct cmd cmd_archive_import = {
    "archive import",
    "DIR...",
    "add other archives to an archive",
    "Leaves out a kernel if the archive has one for the same task (the same\n"
    "source, comments aside). Kernels are not verified again: what the other\n"
    "archive says about them is kept. Both may be shared archives\n"
    "(postgres://...).",
    archive_copy_table,
    archive_copy,
    sizeof(struct archive_values),
    NULL,
};
