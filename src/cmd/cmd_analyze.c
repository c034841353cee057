/* cmd_analyze.c: monkeys analyze: tables from the logs of runs. */
#include "analyze/analyze.h"
#include "cmd/borrowing.h"
#include "cmd/cmd.h"
#include "cmd/tables.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct analyze_values {
    struct tables_values t;
    struct borrowing_values borrowing;
    struct opt_list training;
    int64_t rounds;
};

#undef MODELING_AT
#define MODELING_AT offsetof(struct analyze_values, borrowing.model)

static const struct opt analyze_table[] = {
    TABLES_OPTIONS,
    {"training", 0, OPT_LIST, "MODEL=SOURCE,PROBLEMS,SAMPLES",
     "tuned: what a model was trained on; may be repeated",
     offsetof(struct analyze_values, training), 0, 0},
    {"rounds", 0, OPT_INT, "N",
     "credit: rounds of the randomisation test (default: 10000)",
     offsetof(struct analyze_values, rounds), 1, 10000000},
    {"attempt", 0, OPT_LIST, "N",
     "borrowing: look at attempts with this number; may be repeated (default: "
     "1 and 3)",
     offsetof(struct analyze_values, borrowing.attempt), 0, 0},
    {"store", 0, OPT_TEXT, "DIR",
     "borrowing: where answers are kept, so that they are paid for once "
     "(default: borrowing)",
     offsetof(struct analyze_values, borrowing.store), 0, 0},
    MODELING_OPTIONS,
    {0},
};

#define KNOWN 32

static const struct analyze_kind *find_kind(const char *name, struct err *e)
{
    const char *known[KNOWN];
    size_t n = 0;

    for (const struct analyze_kind *k = analyze_kinds; k->name; k++) {
        if (strcmp(k->name, name) == 0)
            return k;
        known[n++] = k->name;
    }
    tables_unknown(name, known, n, e);
    return NULL;
}

/* The table of this kind; that of borrowing is made from a model's answers. */
static int make(struct analysis *a, const struct analyze_values *v,
                const struct analyze_kind *k, struct table *t, struct err *e)
{
    int rc;

    if (strcmp(k->name, "borrowing") != 0)
        return analyze_fill(k, a, t, e);
    if (analysis_read(a, e) < 0)
        return -1;
    table_init(t, k->name, k->what);
    rc = borrowing_ask(&v->borrowing, a, t, e);
    if (rc != 0)
        table_release(t);
    return rc;
}

static int print_one(struct analysis *a, const struct analyze_values *v,
                     const struct analyze_kind *k, enum table_format f,
                     struct err *e)
{
    struct table t;
    size_t printed = 0;
    int rc = make(a, v, k, &t, e);

    if (rc != 0)
        return rc;
    if (t.missing && f != TABLE_JSON)
        rc = err_set(e, ERR_INPUT, "no table %s: %s", k->name, t.missing);
    else
        tables_put(&t, f, &printed);
    table_release(&t);
    return rc;
}

static int print_all(struct analysis *a, enum table_format f, struct err *e)
{
    struct buf lacking;
    size_t printed = 0;

    buf_init(&lacking, BUF_UNLIMITED);
    for (const struct analyze_kind *k = analyze_kinds; k->name; k++) {
        struct table t;

        if (analyze_fill(k, a, &t, e) < 0) {
            buf_release(&lacking);
            return -1;
        }
        if (t.missing)
            buf_printf(&lacking, "%s%s: %s\n", f == TABLE_MD ? "- " : "  ",
                       k->name, t.missing);
        tables_put(&t, f, &printed);
        table_release(&t);
    }
    if (lacking.len && f != TABLE_JSON)
        printf("%sTables that these runs cannot fill:\n%s%s",
               printed ? "\n" : "", f == TABLE_MD ? "\n" : "",
               buf_str(&lacking));
    buf_release(&lacking);
    return 0;
}

static int run_analyze(const struct cmd *c, int argc, char **argv,
                       struct err *e)
{
    struct analyze_values v = {.rounds = 10000,
                               .borrowing.model = MODELING_DEFAULTS};
    struct cmd_call call = {.cmd = c, .values = &v};
    const struct analyze_kind *kind = NULL;
    enum table_format f;
    struct analysis a;
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);

    if (rc == 1) { /* help was asked for */
        cmd_end(&call);
        return 0;
    }
    if (rc == 0)
        rc = tables_format(&v.t, &f, e);
    if (rc == 0 && v.t.table)
        rc = (kind = find_kind(v.t.table, e)) ? 0 : -1;
    if (rc == 0 && call.r.rest_len == 0)
        rc = err_set(e, ERR_USAGE, "give the folder of a run");
    if (rc == 0)
        rc = analysis_open(&a, call.r.rest, call.r.rest_len, e);
    if (rc == 0) {
        rc = merged_give(a.merged, &v.training, v.rounds, e);
        if (rc == 0)
            rc = kind ? print_one(&a, &v, kind, f, e) : print_all(&a, f, e);
        analysis_close(&a);
    }
    cmd_end(&call);
    return rc;
}

#define HELP_LINE(name, what) "\n  " #name " - " what

extern const struct cmd cmd_analyze;
const struct cmd cmd_analyze = {
    "analyze",
    "DIR...",
    "tables from the logs of runs",
    "Computes the tables of the paper, and others, from what runs have\n"
    "stored. Without --table it prints all that the runs can fill, and says\n"
    "what the others need. docs/ANALYZE.md explains each table:" ANALYZE_KINDS(
        HELP_LINE, HELP_LINE),
    analyze_table,
    run_analyze,
};
