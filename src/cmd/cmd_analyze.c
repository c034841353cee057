/* cmd_analyze.c: monkeys analyze and compare: tables from the logs of runs. */
#include "analyze/analysis.h"
#include "analyze/borrow.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "io/term.h"

#include <stdio.h>
#include <string.h>

struct analyze_values {
    const char *table; /* only this one */
    bool json, csv, md, force;
    struct borrow_values borrow;
    struct opt_list training;
    int64_t rounds;
};

#define VALUES struct analyze_values
#undef MODELING_AT
#define MODELING_AT offsetof(VALUES, borrow.model)

#define TABLES_OPTIONS                                                         \
    OPTION("table", OPT_TEXT, "NAME", "only this table", table),               \
        OPTION("json", OPT_FLAG, NULL, "JSON Lines: an object per row", json), \
        OPTION("csv", OPT_FLAG, NULL, "comma-separated values, of one table",  \
               csv),                                                           \
        OPTION("md", OPT_FLAG, NULL, "Markdown", md)

static const struct opt analyze_table[] = {
    TABLES_OPTIONS,
    {"training", 0, OPT_LIST, "MODEL=SOURCE,PROBLEMS,SAMPLES",
     "tuned: what a model was trained on; may be repeated", AT(training)},
    {"rounds", 0, OPT_INT, "N",
     "credit: rounds of the randomisation test (default: 10000)",
     WITHIN(rounds, 1, 10000000)},
    {"attempt", 0, OPT_LIST, "N",
     "borrowing: look at attempts with this number; may be repeated (default: "
     "1 and 3)",
     AT(borrow.attempt)},
    {"store", 0, OPT_TEXT, "DIR",
     "borrowing: where answers are kept, so that you pay for them only once "
     "(default: borrowing)",
     AT(borrow.store)},
    MODELING_OPTIONS,
    {0},
};
static const struct opt compare_table[] = {
    TABLES_OPTIONS,
    {"force", 0, OPT_FLAG, NULL,
     "compare runs that differ in tasks (on those that all have), precision or "
     "protocol",
     AT(force)},
    {0},
};

static int analyze_format(const struct analyze_values *v,
                          enum table_format *out, struct err *e)
{
    if (v->json + v->csv + v->md > 1)
        return err_set(e, ERR_USAGE, "give one of --json, --csv and --md");
    if (v->csv && !v->table)
        return err_set(e, ERR_USAGE,
                       "--csv prints one table: name it with --table");
    *out = v->json  ? TABLE_JSON
           : v->csv ? TABLE_CSV
           : v->md  ? TABLE_MD
                    : TABLE_TEXT;
    return 0;
}

/* The error for a table that does not exist names those that do. */
static const struct analysis_kind *
analyze_find(const struct analysis_kind *kinds, const char *name, struct err *e)
{
    const char *known[32], *near;
    size_t n = 0;
    struct buf b = BUF_INIT;

    for (const struct analysis_kind *k = kinds; k->name; k++) {
        if (strcmp(k->name, name) == 0) {
            buf_release(&b);
            return k;
        }
        buf_printf(&b, "%s%s", n ? ", " : "", k->name);
        known[n++] = k->name;
    }
    near = str_nearest(name, known, n);
    err_set(e, ERR_USAGE, "there is no table '%s'%s%s%s; there are %s", name,
            near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "",
            buf_str(&b));
    buf_release(&b);
    return NULL;
}

/* A blank line stands between two tables. */
static void analyze_print(const struct table *t, enum table_format f,
                          size_t *printed)
{
    struct buf b = BUF_INIT;

    table_print(t, f, &b);
    if (b.len && (*printed)++ && (f == TABLE_TEXT || f == TABLE_MD))
        putchar('\n');
    fwrite(buf_str(&b), 1, b.len, stdout);
    buf_release(&b);
}

/* What the options say; and a model's answers, where they are asked for. */
static int analyze_prepare(struct cmd_call *call, struct analysis *a,
                           struct err *e)
{
    const struct analyze_values *v = call->values;
    const struct home *home;

    if (analysis_give(a, "training", analysis_list(&v->training), e) < 0 ||
        analysis_give(a, "rounds", json_integer(v->rounds), e) < 0)
        return -1;
    if (!v->table || strcmp(v->table, "borrowing") != 0)
        return 0;
    home = cmd_home(call, e);
    return home ? borrow_ask_about_runs(&v->borrow, a, home->dir, e) : -1;
}

/* All tables of a list, or the one that was asked for. */
static int analyze_tables(struct cmd_call *call, struct analysis *a,
                          const struct analysis_kind *kinds,
                          enum table_format f, struct err *e)
{
    const struct analyze_values *v = call->values;
    struct buf lacking = BUF_INIT;
    size_t printed = 0;
    int rc = 0;

    for (const struct analysis_kind *k = kinds; rc == 0 && k->name; k++) {
        struct table t;

        if (v->table && strcmp(v->table, k->name) != 0)
            continue;
        if ((rc = analysis_fill(k, a, &t, e)) < 0)
            break;
        if (t.missing && v->table && f != TABLE_JSON)
            rc = err_set(e, ERR_INPUT, "no table %s: %s", k->name, t.missing);
        else if (t.missing)
            buf_printf(&lacking, "%s%s: %s\n", f == TABLE_MD ? "- " : "  ",
                       k->name, t.missing);
        analyze_print(&t, f, &printed);
        table_release(&t);
    }
    if (rc == 0 && lacking.len && f != TABLE_JSON)
        printf("%sTables that these runs cannot fill:\n%s%s",
               printed ? "\n" : "", f == TABLE_MD ? "\n" : "",
               buf_str(&lacking));
    buf_release(&lacking);
    return rc;
}

/* Runs whose figures do not compare are refused. */
static int compare_check(struct analysis *a, bool force, struct err *e)
{
    struct buf b = BUF_INIT, quoted = BUF_INIT;
    int rc;

    rc = compare_differences(a, &b, e);
    if (rc == 1) {
        rc = 0;
        term_quote(buf_view(&b), SIZE_MAX, &quoted);
        if (force)
            log_warn("the runs differ:\n%s", buf_str(&quoted));
        else
            rc = err_set(e, ERR_INPUT,
                         "the runs differ, so their figures cannot be "
                         "compared; --force compares them anyway:\n%.800s",
                         buf_str(&quoted));
    }
    buf_release(&quoted);
    buf_release(&b);
    return rc < 0 ? rc : compare_align(a, e);
}

static int analyze_run(struct cmd_call *call, struct err *e)
{
    const struct analyze_values *v = call->values;
    bool compare = call->cmd->table == compare_table;
    const struct analysis_kind *kinds =
        compare ? compare_kinds : analysis_kinds;
    enum table_format f;
    struct analysis a;
    int rc;

    if (analyze_format(v, &f, e) < 0 ||
        (v->table && !analyze_find(kinds, v->table, e)))
        return -1;
    if (call->r.rest_len < (compare ? 2 : 1))
        return err_set(e, ERR_USAGE,
                       compare ? "give the folders of two or more runs"
                               : "give the folder of a run");
    if (analysis_open(&a, call->r.rest, call->r.rest_len, e) < 0)
        return -1;
    rc =
        compare ? compare_check(&a, v->force, e) : analyze_prepare(call, &a, e);
    if (rc == 0)
        rc = analyze_tables(call, &a, kinds, f, e);
    analysis_close(&a);
    return rc;
}

static const struct analyze_values analyze_defaults = {
    .rounds = 10000, .borrow.model = MODELING_DEFAULTS};

#define HELP_LINE(name, what) "\n  " #name " - " what

const struct cmd cmd_analyze = {
    "analyze",
    "DIR...",
    "tables from the logs of runs",
    "Computes the tables of the paper, and others, from what runs have\n"
    "stored. Without --table it prints all tables that the runs can fill,\n"
    "and says what the others need. docs/ANALYZE.md explains each "
    "table:" ANALYSIS_KINDS(HELP_LINE),
    analyze_table,
    analyze_run,
    sizeof(struct analyze_values),
    &analyze_defaults,
};
const struct cmd cmd_compare = {
    "compare",
    "DIR...",
    "compare methods or models on the same tasks",
    "Shows for each run what it solved (with Wilson's interval) and what\n"
    "that cost, for each number of attempts the tasks solved within it, and\n"
    "for each pair of runs the tasks that only one solved (with the exact\n"
    "McNemar test). Method, model and seed may differ. Runs that differ in\n"
    "tasks, language, pack, precision, device, attempts, seeds, guide,\n"
    "prompts or --no-stop are refused, and the differences named.",
    compare_table,
    analyze_run,
    sizeof(struct analyze_values),
    NULL,
};
