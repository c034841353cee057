/* tables.c: printing tables. */
#include "cmd/tables.h"

#include "base/str.h"

#include <stdio.h>

int tables_format(const struct tables_values *v, enum table_format *out,
                  struct err *e)
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

int tables_unknown(const char *name, const char *const *known, size_t n,
                   struct err *e)
{
    const char *near = str_nearest(name, known, n);
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", known[i]);
    err_set(e, ERR_USAGE, "there is no table '%s'%s%s%s; there are %s", name,
            near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "",
            buf_str(&b));
    buf_release(&b);
    return -1;
}

void tables_put(const struct table *t, enum table_format f, size_t *printed)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    table_print(t, f, &b);
    if (b.len && (*printed)++ && (f == TABLE_TEXT || f == TABLE_MD))
        putchar('\n');
    fwrite(buf_str(&b), 1, b.len, stdout);
    buf_release(&b);
}
