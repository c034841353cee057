/* conf.c: INI files, a line at a time, and option tables from them. */
#include "base/conf.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FILE ((size_t)16 << 20)

static int ini_on_line(struct str line, char **section, ini_fn *fn, void *arg,
                       struct err *e)
{
    struct str name;
    char *n, *v;
    int rc;

    if (line.n == 0 || line.p[0] == '#' || line.p[0] == ';')
        return 0;
    if (line.p[0] == '[' && line.p[line.n - 1] == ']') {
        free(*section);
        *section = xstrndup(line.p + 1, line.n - 2);
        return 0;
    }
    if (!str_cut(&line, '=', &name) || str_trim(name).n == 0)
        return err_set(e, ERR_INPUT,
                       "neither a [section] nor a 'name = value' line");
    name = str_trim(name);
    line = str_trim(line);
    n = xstrndup(name.p, name.n);
    v = xstrndup(line.p, line.n);
    rc = fn(*section, n, v, arg, e);
    free(n);
    free(v);
    return rc;
}

static int ini_parse(const char *name, struct str text, ini_fn *fn, void *arg,
                     struct err *e)
{
    char *section = xstrdup("");
    struct str line;
    int number = 0, rc = 0;

    while (rc == 0 && str_part(&text, '\n', &line)) {
        number++;
        rc = ini_on_line(str_trim(line), &section, fn, arg, e);
    }
    free(section);
    return rc < 0 ? err_wrap(e, "%s:%d", name, number) : rc;
}

int ini_read(const char *path, ini_fn *fn, void *arg, struct err *e)
{
    struct buf b = {.limit = MAX_FILE};
    int rc;

    rc = fs_read(path, &b, e);
    if (rc == 0)
        rc = ini_parse(path, buf_view(&b), fn, arg, e);
    buf_release(&b);
    return rc;
}

/* ---- lines of an INI file into an option table ---- */

struct reading {
    const char *section;
    const struct opt *table;
    void *into;
    struct arena *a;
};

static int conf_on_line(const char *section, const char *name,
                        const char *value, void *arg, struct err *e)
{
    struct reading *r = arg;

    if (strcmp(section, r->section) != 0)
        return 0;
    if (opt_set(r->table, r->into, name, arena_strdup(r->a, value), e) == 0)
        return 0;
    e->kind = ERR_INPUT;
    return err_wrap(e, "[%s]", section);
}

int conf_apply(const char *path, const char *section, const struct opt *table,
               void *into, struct arena *a, struct err *e)
{
    struct reading r = {section, table, into, a};

    return ini_read(path, conf_on_line, &r, e);
}

void conf_write(const char *section, const struct opt *table,
                const void *values, struct buf *out)
{
    buf_printf(out, "[%s]\n", section);
    for (; table->name; table++) {
        const void *at = (const char *)values + table->at;
        const struct opt_list *list = at;

        if (table->type == OPT_FLAG && *(const bool *)at)
            buf_printf(out, "%s = true\n", table->name);
        else if (table->type == OPT_INT && *(const int64_t *)at >= table->lo &&
                 *(const int64_t *)at <= table->hi)
            buf_printf(out, "%s = %lld\n", table->name,
                       (long long)*(const int64_t *)at);
        else if (table->type == OPT_LIST)
            for (size_t i = 0; i < list->len; i++)
                buf_printf(out, "%s = %s\n", table->name, list->item[i]);
        else if ((table->type == OPT_TEXT || table->type == OPT_CHOICE) &&
                 *(const char *const *)at)
            buf_printf(out, "%s = %s\n", table->name, *(const char *const *)at);
    }
}
