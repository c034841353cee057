/* author.c: a report for the author of a language. */
#include "analyze/author.h"

#define SAMPLE_LINES 12
#define SAMPLE_WIDTH 160

/* ---- samples ---- */

struct sampling {
    const char *run;
    struct buf *out;
};

/* The first lines of a feedback, indented: nothing in it is markup. */
static int author_put_sample(const char *text, int64_t place, void *arg,
                             struct err *e)
{
    const struct sampling *s = arg;
    struct str rest = str_of(text), line;

    (void)e;
    buf_printf(s->out,
               "\nWhat the model was told, for the diagnostic in row %lld of ",
               (long long)place);
    table_put_md(s->run, s->out);
    buf_puts(s->out, rest.n ? ":\n\n" : ":\n\n    (nothing)\n");
    for (int i = 0; text[0] && i < SAMPLE_LINES && str_part(&rest, '\n', &line);
         i++) {
        buf_puts(s->out, "    ");
        table_put_line(line, SAMPLE_WIDTH, s->out);
        buf_putc(s->out, '\n');
    }
    return 0;
}

static int author_put_samples(struct analysis *a, struct buf *out,
                              struct err *e)
{
    for (size_t i = 0; i < a->runs; i++) {
        struct sampling s = {a->run[i].name, out};

        if (analysis_each(a, "samples", (int64_t)i, author_put_sample, &s, e) <
            0)
            return -1;
    }
    return 0;
}

/* ---- the whole ---- */

static const struct analysis_kind author_kinds[] = {
    {"failures", "what went wrong, by diagnostic"},
    {"hints", "hints that fired, and whether the next attempt got further"},
    {"unused", "primitives that were taught and never worked"},
    {"invented", "names that nobody taught and that never worked"},
    {0},
};

/* A row of author.sql: "; solved 3 of 4 tasks" is a number of 0, what names a run in
 * Markdown another. */
static int author_put_run(const char *text, int64_t number, void *arg,
                          struct err *e)
{
    struct buf *out = arg;

    (void)e;
    if (number)
        table_put_md(text, out);
    else
        buf_puts(out, text);
    return 0;
}

int author_report(struct analysis *a, struct buf *out, struct err *e)
{
    buf_puts(out, "# What runs say about a language\n");
    if (analysis_each(a, "author", 0, author_put_run, out, e) < 0)
        return -1;
    for (const struct analysis_kind *k = author_kinds; k->name; k++) {
        struct table t;

        if (analysis_fill(k, a, &t, e) < 0)
            return -1;
        buf_putc(out, '\n');
        if (t.missing)
            buf_printf(out, "### %s\n\n%s: %s.\n", k->name, k->what, t.missing);
        table_print(&t, TABLE_MD, out);
        table_release(&t);
        if (k == author_kinds && author_put_samples(a, out, e) < 0)
            return -1;
    }
    return 0;
}
