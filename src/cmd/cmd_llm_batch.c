/* cmd_llm_batch.c: monkeys llm batch-export and batch-import: a spool folder
 * answered by a provider's batch interface. */
#include "base/fs.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "llm/batch.h"

#include <stdio.h>

struct batch_values {
    const char *output, *model;
    bool json;
};

static const struct opt export_table[] = {
    {"output", 'o', OPT_TEXT, "FILE", "the batch file to write (required)",
     offsetof(struct batch_values, output), 0, 0},
    {"model", 0, OPT_TEXT, "NAME", "model for requests that name none",
     offsetof(struct batch_values, model), 0, 0},
    {"json", 0, OPT_FLAG, NULL, "print the counts as a JSON object",
     offsetof(struct batch_values, json), 0, 0},
    {0},
};

static const struct opt import_table[] = {
    {"json", 0, OPT_FLAG, NULL, "print the counts as a JSON object",
     offsetof(struct batch_values, json), 0, 0},
    {0},
};

static void show_count(json_t *v, const char *name, size_t n)
{
    json_object_set_new(v, name, json_integer((json_int_t)n));
}

static int do_export(const char *dir, const struct batch_values *v,
                     struct err *e)
{
    struct batch_exported n;
    json_t *o;

    if (batch_export(dir, v->output, v->model, &n, e) < 0)
        return -1;
    if (!v->json) {
        printf("%s: %zu requests (%zu already answered, %zu already "
               "claimed)\n",
               v->output, n.written, n.answered, n.claimed);
        return 0;
    }
    o = json_object();
    json_object_set_new(o, "file", json_string(v->output));
    show_count(o, "written", n.written);
    show_count(o, "answered", n.answered);
    show_count(o, "claimed", n.claimed);
    jsn_line(o);
    return 0;
}

static int export_run(const struct cmd *c, int argc, char **argv, struct err *e)
{
    struct batch_values v = {0};
    struct cmd_call call = {.cmd = c, .values = &v};
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);

    if (rc == 0 && (call.r.rest_len != 1 || !v.output))
        rc = err_set(e, ERR_USAGE, "give a FOLDER and -o FILE");
    else if (rc == 0)
        rc = do_export(call.r.rest[0], &v, e);
    cmd_end(&call);
    return rc == 1 ? 0 : rc;
}

static int do_import(const char *dir, const char *file,
                     const struct batch_values *v, struct err *e)
{
    struct batch_imported n;
    json_t *o;

    if (!fs_is_dir(dir))
        return err_set(e, ERR_INPUT, "%s: not a folder", dir);
    if (batch_import(dir, file, &n, e) < 0)
        return -1;
    if (!v->json) {
        printf("%s: %zu answers, %zu refusals, %zu to ask again, %zu "
               "answered before, %zu not from this folder\n",
               file, n.answered, n.refused, n.again, n.known, n.unknown);
        return 0;
    }
    o = json_object();
    json_object_set_new(o, "file", json_string(file));
    show_count(o, "answered", n.answered);
    show_count(o, "refused", n.refused);
    show_count(o, "again", n.again);
    show_count(o, "known", n.known);
    show_count(o, "unknown", n.unknown);
    jsn_line(o);
    return 0;
}

static int import_run(const struct cmd *c, int argc, char **argv, struct err *e)
{
    struct batch_values v = {0};
    struct cmd_call call = {.cmd = c, .values = &v};
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);

    if (rc == 0 && call.r.rest_len != 2)
        rc = err_set(e, ERR_USAGE, "give a FOLDER and a FILE");
    else if (rc == 0)
        rc = do_import(call.r.rest[0], call.r.rest[1], &v, e);
    cmd_end(&call);
    return rc == 1 ? 0 : rc;
}

const struct cmd cmd_llm_batch_export = {
    .name = "llm batch-export",
    .args = "FOLDER",
    .summary = "write the open requests of a spool folder to a batch "
               "file",
    .text =
        "Leaves out requests that are answered or claimed, and claims those\n"
        "that it writes. The file is JSON Lines for OpenAI's batch interface.",
    .table = export_table,
    .run = export_run,
};

const struct cmd cmd_llm_batch_import = {
    .name = "llm batch-import",
    .args = "FOLDER FILE",
    .summary = "store the results of a batch as answers in a spool folder",
    .text =
        "Reads the output file or the error file of a batch. Requests that\n"
        "failed for now can be exported again; existing answers are kept.",
    .table = import_table,
    .run = import_run,
};
