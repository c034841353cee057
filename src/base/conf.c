/* conf.c: libinih's lines into an option table. */
#include "base/conf.h"

#include "base/fs.h"

#include <ini.h>
#include <string.h>

struct reading {
    const char *section;
    const struct opt *table;
    void *into;
    struct arena *a;
    struct err *e;
};

/* libinih stops counting at the first line for which this returns 0. */
static int on_line(void *arg, const char *section, const char *name,
                   const char *value)
{
    struct reading *r = arg;

    if (r->e->kind != ERR_NONE)
        return 1;
    if (strcmp(section, r->section) != 0)
        return 1;
    return opt_set(r->table, r->into, name,
                   arena_strdup(r->a, value ? value : ""), r->e) == 0;
}

int conf_apply(const char *path, const char *section, const struct opt *table,
               void *into, struct arena *a, struct err *e)
{
    struct err inner = ERR_INIT;
    struct reading r = {section, table, into, a, &inner};
    struct buf text;
    int line;

    buf_init(&text, (size_t)1 << 20);
    if (fs_read(path, &text, e) < 0) {
        buf_release(&text);
        return -1;
    }
    line = ini_parse_string(buf_str(&text), on_line, &r);
    buf_release(&text);
    if (inner.kind != ERR_NONE)
        return err_set(e, ERR_INPUT, "%s:%d: [%s] %s", path, line, section,
                       inner.text);
    if (line > 0)
        return err_set(e, ERR_INPUT,
                       "%s:%d: neither a [section] nor a 'name = value' line",
                       path, line);
    return 0;
}
