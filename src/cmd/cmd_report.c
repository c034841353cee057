/* cmd_report.c: monkeys report: runs as one file to look at. */
#include "analyze/analysis.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "web/report.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct report_values {
    const char *out;
    bool md, dsl_author;
};

#define VALUES struct report_values
static const struct opt report_table[] = {
    {"output", 'o', OPT_TEXT, "FILE",
     "where to write it; - is standard output (default: report.html, or "
     "report.md, in the folder of the first run)",
     AT(out)},
    {"md", 0, OPT_FLAG, NULL, "a short summary as Markdown, for a pull request",
     AT(md)},
    {"dsl-author", 0, OPT_FLAG, NULL,
     "what the runs say about the language, as Markdown (default: on standard "
     "output)",
     AT(dsl_author)},
    {0},
};

static int report_write(const struct report_values *v, const char *dir,
                        const struct buf *text, struct err *e)
{
    char *path = v->out ? xstrdup(v->out)
                        : fs_join(dir, v->md ? "report.md" : "report.html");
    bool standard = v->out ? path[0] == '-' && !path[1] : v->dsl_author;
    int rc = 0;

    if (standard)
        fwrite(buf_str(text), 1, text->len, stdout);
    else
        rc = fs_replace(path, buf_str(text), text->len, e);
    if (rc == 0 && !standard)
        printf("The report: %s (%zu KB)\n", path, (text->len + 999) / 1000);
    free(path);
    return rc;
}

static int report_runs(const struct report_values *v, const char *const *dirs,
                       size_t n, struct err *e)
{
    struct run_view *views = xcalloc(n, sizeof(*views));
    struct run_view **runs = xcalloc(n, sizeof(struct run_view *));
    size_t opened = 0;
    struct buf text = BUF_INIT;
    int rc = -1;

    while (opened < n && run_view_open(dirs[opened], &views[opened], e) == 0) {
        runs[opened] = &views[opened];
        opened++;
    }
    if (opened == n)
        rc = v->md ? report_md(runs, n, &text, e)
                   : report_html(runs, n, &text, e);
    if (rc == 0)
        rc = report_write(v, dirs[0], &text, e);
    for (size_t i = 0; i < opened; i++)
        run_view_close(&views[i]);
    buf_release(&text);
    free(runs);
    free(views);
    return rc;
}

static int report_author(const struct report_values *v, const char *const *dirs,
                         size_t n, struct err *e)
{
    struct analysis a;
    struct buf text = BUF_INIT;
    int rc;

    if (analysis_open(&a, dirs, n, e) < 0)
        return -1;
    rc = author_report(&a, &text, e);
    if (rc == 0)
        rc = report_write(v, dirs[0], &text, e);
    buf_release(&text);
    analysis_close(&a);
    return rc;
}

static int report_run(struct cmd_call *call, struct err *e)
{
    const struct report_values *v = call->values;

    if (call->r.rest_len == 0)
        return err_set(e, ERR_USAGE, "give the folder of a run");
    if (v->md && v->dsl_author)
        return err_set(e, ERR_USAGE, "give --md or --dsl-author, not both");
    return (v->dsl_author ? report_author : report_runs)(v, call->r.rest,
                                                         call->r.rest_len, e);
}

const struct cmd cmd_report = {
    "report",
    "DIR...",
    "show runs as one HTML file",
    "Writes a file that a browser opens from disk, without network: what\n"
    "was solved, after how many attempts and at what cost; every task and\n"
    "attempt with its code, verdict and feedback; why attempts failed; the\n"
    "kernels and the archive. Several runs are shown side by side.\n"
    "The details of attempts take at most 10 MB: the best attempt of each\n"
    "task first, then the others. The page says what was left out, and\n"
    "'monkeys show' has everything. You can use it during a run.\n"
    "With --dsl-author: failures by diagnostic with a sample, primitives "
    "that\n"
    "never worked, hints and whether the next attempt got further, and "
    "names\n"
    "that models made up.",
    report_table,
    report_run,
    sizeof(struct report_values),
    NULL,
};
