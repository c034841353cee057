/* cmd_tasks_import.c: monkeys tasks import-kernelbook. */
#include "base/fs.h"
#include "cmd/cmd.h"
#include "data/book.h"
#include "io/term.h"

#include <stdio.h>
#include <unistd.h>

struct import_values {
    struct verifying_values v;
    const char *out;
    int64_t limit;
    bool scale, no_verify;
};

#define VALUES struct import_values
static const struct opt import_table[] = {
    {"out", 'o', OPT_TEXT, "DIR",
     "where tasks and manifest are written (required)", AT(out)},
    {"limit", 0, OPT_INT, "N", "read only the first N rows (default: 0, all)",
     WITHIN(limit, 0, INT32_MAX)},
    {"scale", 0, OPT_FLAG, NULL,
     "replace placeholder sizes (4) with realistic ones, as far as the "
     "program works with them",
     AT(scale)},
    {"no-verify", 0, OPT_FLAG, NULL,
     "only convert, which needs no torch; 'tasks check' can check the tasks "
     "later",
     AT(no_verify)},
    VERIFYING_OPTIONS,
    {0},
};

/* What is shown while it works. */
struct show {
    struct term *bar;
    bool json, folder;
    size_t rows, kept;
    uint64_t total;
};

/* A file is counted in KiB. */
static uint64_t import_units(const struct show *s, uint64_t n)
{
    return s->folder ? n : (n + 1023) / 1024;
}

static void import_on_step(const json_t *line, uint64_t done, uint64_t total,
                           void *arg)
{
    struct show *s = arg;
    char note[64];

    if (!s->bar)
        s->bar = term_open(STDERR_FILENO, import_units(s, total), 0,
                           s->folder ? "rows" : "importing (KiB)");
    s->rows++;
    s->kept += line && jsn_true(line, "kept");
    if (line && s->json) {
        term_hide(s->bar);
        jsn_line(json_deep_copy(line));
        cmd_flush();
    }
    snprintf(note, sizeof(note), "row %zu", s->rows);
    term_set(s->bar, import_units(s, done), note);
}

static void import_print(const struct book *m)
{
    printf("%zu row%s: %zu kept\n", m->rows, m->rows == 1 ? "" : "s",
           m->count[BOOK_KEPT]);
    for (int i = BOOK_KEPT + 1; i < BOOK_REASONS; i++)
        if (m->count[i])
            printf("%8zu %-10s %s\n", m->count[i], book_reasons[i].code,
                   book_reasons[i].meaning);
}

static int import_all(const struct import_values *v, const char *in,
                      const struct home *home, struct err *e)
{
    const char *precision =
        v->v.precision ? v->v.precision : precision_names[PRECISION_FP32];
    struct job_opts job = verifying_job(&v->v, precision);
    struct show show = {.json = v->v.json, .folder = fs_is_dir(in)};
    struct book_how o = {.home = home,
                         .in = in,
                         .box = v->v.box,
                         .unsafe = v->v.unsafe,
                         .limit = (size_t)v->limit,
                         .scale = v->scale,
                         .job = &job,
                         .step = import_on_step,
                         .arg = &show};
    json_t *settings = json_pack("{s:b, s:b, s:s}", "scale", v->scale, "verify",
                                 !v->no_verify, "precision", precision);
    struct book m = {.fd = -1};
    struct verifying g = {0};
    int rc = book_open(&m, v->out, settings, e);

    job.foreign = true;
    if (rc == 0 && !v->no_verify) {
        rc = verifying_open(&g, &v->v, home, e);
        o.verifying = &g;
    }
    if (rc == 0)
        rc = book_import(&m, &o, e);
    term_close(show.bar);
    if (rc > 0)
        verifying_hint(&g);
    if (rc >= 0 && !v->v.json)
        import_print(&m);
    if (rc == 0 && m.count[BOOK_UNCHECKED])
        rc = 1;
    verifying_close(&g);
    book_close(&m);
    json_decref(settings);
    return rc;
}

static int import_run(struct cmd_call *call, struct err *e)
{
    struct import_values *v = call->values;
    const char *in = call->r.rest_len == 1 ? call->r.rest[0] : NULL;
    int rc;

    if (!in || !v->out)
        return err_set(e, ERR_USAGE,
                       "give one file or folder, and -o DIR for the tasks");
    if (v->scale && v->no_verify)
        return err_set(e, ERR_USAGE,
                       "--scale needs the verifier, which finds out what sizes "
                       "a program works with; leave out --no-verify");
    if (!fs_is_dir(in) && !fs_is_file(in))
        return err_set(e, ERR_INPUT, "%s: no such file or folder", in);
    if (verifying_choose_device(&v->v, e) < 0 || !cmd_home(call, e))
        return -1;
    rc = import_all(v, in, cmd_home(call, e), e);
    return rc > 0 ? 4 : rc;
}

static const struct import_values import_defaults = {.v = VERIFYING_DEFAULTS};

const struct cmd cmd_tasks_import = {
    "tasks import-kernelbook",
    "FILE|DIR",
    "turn the rows of KernelBook into tasks",
    "FILE is an array of rows or JSON Lines; DIR has programs named\n"
    "NUMBER_CLASS.py. Each row is converted to a KernelBench file and checked "
    "as\n"
    "'tasks check' does; duplicates are dropped. DIR/manifest.jsonl has a "
    "line\n"
    "for each row: its task, or why there is none. The same command continues\n"
    "where it stopped. Exit status: 4 if the verifier failed for a row, or "
    "the\n"
    "answer from another host is still missing.",
    import_table,
    import_run,
    sizeof(struct import_values),
    &import_defaults,
};
