/* cmd_compare.c: monkeys compare: runs side by side. */
#include "analyze/compare.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/tables.h"
#include "io/term.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct compare_values {
    struct tables_values t;
    bool force;
};

static const struct opt compare_table[] = {
    TABLES_OPTIONS,
    {"force", 0, OPT_FLAG, NULL,
     "compare runs that differ in tasks (on those that all have), precision or "
     "protocol",
     offsetof(struct compare_values, force), 0, 0},
    {0},
};

static int check(struct analysis *a, bool force, struct err *e)
{
    struct buf b, quoted;
    int rc;

    buf_init(&b, BUF_UNLIMITED);
    buf_init(&quoted, BUF_UNLIMITED);
    rc = compare_differences(a, &b, e);
    if (rc == 1) {
        rc = 0;
        term_quote((struct str){buf_str(&b), b.len}, SIZE_MAX, &quoted);
        if (force)
            log_warn("the runs differ:\n%s", buf_str(&quoted));
        else
            rc = err_set(e, ERR_INPUT,
                         "the runs differ, so their figures do not compare; "
                         "--force compares them all the same:\n%.800s",
                         buf_str(&quoted));
    }
    buf_release(&quoted);
    buf_release(&b);
    return rc < 0 ? rc : compare_align(a, e);
}

static int print(struct analysis *a, const struct tables_values *v,
                 enum table_format f, struct err *e)
{
    size_t printed = 0;

    for (const struct analyze_kind *k = compare_kinds; k->name; k++) {
        struct table t;

        if (v->table && strcmp(v->table, k->name) != 0)
            continue;
        if (analyze_fill(k, a, &t, e) < 0)
            return -1;
        tables_put(&t, f, &printed);
        table_release(&t);
    }
    return 0;
}

static int check_table(const char *name, struct err *e)
{
    const char *known[8];
    size_t n = 0;

    for (const struct analyze_kind *k = compare_kinds; k->name; k++) {
        if (!name || strcmp(k->name, name) == 0)
            return 0;
        known[n++] = k->name;
    }
    return tables_unknown(name, known, n, e);
}

static int run_compare(const struct cmd *c, int argc, char **argv,
                       struct err *e)
{
    struct compare_values v = {0};
    struct cmd_call call = {.cmd = c, .values = &v};
    enum table_format f;
    struct analysis a;
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);

    if (rc == 0)
        rc = tables_format(&v.t, &f, e);
    if (rc == 0)
        rc = check_table(v.t.table, e);
    if (rc == 0 && call.r.rest_len < 2)
        rc = err_set(e, ERR_USAGE, "give the folders of two or more runs");
    if (rc == 0)
        rc = analysis_open(&a, call.r.rest, call.r.rest_len, e);
    if (rc == 0) {
        rc = check(&a, v.force, e) < 0 ? -1 : print(&a, &v.t, f, e);
        analysis_close(&a);
    }
    cmd_end(&call);
    return rc > 0 ? 0 : rc;
}

extern const struct cmd cmd_compare;
const struct cmd cmd_compare = {
    "compare",
    "DIR...",
    "compare methods or models on the same tasks",
    "Shows for each run what it solved (with Wilson's interval) and what that\n"
    "cost, for each number of attempts the tasks solved within it, and for\n"
    "each two runs the tasks that only one solved (with the exact McNemar\n"
    "test). Method, model and seed may differ. Runs that differ in tasks,\n"
    "language, pack, precision, device, attempts, seeds, guide, prompts or\n"
    "--no-stop are refused, and the differences named.",
    compare_table,
    run_compare,
};
