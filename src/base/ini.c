/* ini.c: INI files, a line at a time. */
#include "base/ini.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"

#include <stdlib.h>

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
    bool more = true;

    while (rc == 0 && more) {
        more = str_cut(&text, '\n', &line);
        number++;
        rc = ini_on_line(str_trim(more ? line : text), &section, fn, arg, e);
    }
    free(section);
    return rc < 0 ? err_wrap(e, "%s:%d", name, number) : rc;
}

int ini_read(const char *path, ini_fn *fn, void *arg, struct err *e)
{
    struct buf b;
    int rc;

    buf_init(&b, MAX_FILE);
    rc = fs_read(path, &b, e);
    if (rc == 0)
        rc = ini_parse(path, (struct str){buf_str(&b), b.len}, fn, arg, e);
    buf_release(&b);
    return rc;
}
