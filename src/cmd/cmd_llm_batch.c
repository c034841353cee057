/* cmd_llm_batch.c: monkeys llm batch-export and batch-import: a spool folder
 * answered by a provider's batch interface. */
#include "base/fs.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "llm/spool.h"

#include <stdio.h>

struct batch_values {
    const char *output, *model;
    bool json;
};

#define VALUES struct batch_values
static const struct opt batch_export_table[] = {
    {"output", 'o', OPT_TEXT, "FILE", "the batch file to write (required)",
     AT(output)},
    {"model", 0, OPT_TEXT, "NAME", "model for requests that name none",
     AT(model)},
    {"json", 0, OPT_FLAG, NULL, "print the counts as a JSON object", AT(json)},
    {0},
};

static const struct opt batch_import_table[] = {
    {"json", 0, OPT_FLAG, NULL, "print the counts as a JSON object", AT(json)},
    {0},
};

static int batch_export_run(struct cmd_call *call, struct err *e)
{
    const struct batch_values *v = call->values;
    struct batch_exported n;

    if (call->r.rest_len != 1 || !v->output)
        return err_set(e, ERR_USAGE, "give a FOLDER and -o FILE");
    if (batch_export(call->r.rest[0], v->output, v->model, &n, e) < 0)
        return -1;
    if (v->json)
        jsn_line(json_pack("{s:s, s:I, s:I, s:I}", "file", v->output, "written",
                           (json_int_t)n.written, "answered",
                           (json_int_t)n.answered, "claimed",
                           (json_int_t)n.claimed));
    else
        printf("%s: %zu requests (%zu already answered, %zu already "
               "claimed)\n",
               v->output, n.written, n.answered, n.claimed);
    return 0;
}

static int batch_import_run(struct cmd_call *call, struct err *e)
{
    const struct batch_values *v = call->values;
    const char *dir, *file;
    struct batch_imported n;

    if (call->r.rest_len != 2)
        return err_set(e, ERR_USAGE, "give a FOLDER and a FILE");
    dir = call->r.rest[0];
    file = call->r.rest[1];
    if (!fs_is_dir(dir))
        return err_set(e, ERR_INPUT, "%s: not a folder", dir);
    if (batch_import(dir, file, &n, e) < 0)
        return -1;
    if (v->json)
        jsn_line(json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "file", file,
                           "answered", (json_int_t)n.answered, "refused",
                           (json_int_t)n.refused, "again", (json_int_t)n.again,
                           "known", (json_int_t)n.known, "unknown",
                           (json_int_t)n.unknown));
    else
        printf("%s: %zu answers, %zu refusals, %zu to ask again, %zu "
               "answered before, %zu not from this folder\n",
               file, n.answered, n.refused, n.again, n.known, n.unknown);
    return 0;
}

const struct cmd cmd_llm_batch_export = {
    .name = "llm batch-export",
    .args = "FOLDER",
    .summary = "write the open requests of a spool folder to a batch "
               "file",
    .text =
        "Leaves out requests that are answered or claimed, and claims those\n"
        "that it writes. The file is JSON Lines for OpenAI's batch interface.",
    .table = batch_export_table,
    .run = batch_export_run,
    .size = sizeof(struct batch_values),
};

const struct cmd cmd_llm_batch_import = {
    .name = "llm batch-import",
    .args = "FOLDER FILE",
    .summary = "store the results of a batch as answers in a spool folder",
    .text =
        "Reads the output file or the error file of a batch. Requests that\n"
        "failed for now can be exported again; existing answers are kept.",
    .table = batch_import_table,
    .run = batch_import_run,
    .size = sizeof(struct batch_values),
};
