/* conf.c: lines of an INI file into an option table. */
#include "base/conf.h"

#include "base/ini.h"

#include <string.h>

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
