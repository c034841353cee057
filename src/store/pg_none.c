/* pg_none.c: in place of pg.c in a program that was built without PG=1. */
#include "store/pg.h"

#include "base/mem.h"

#include <stdlib.h>

int pg_can_open(const char *address, struct err *e)
{
    char *shown = pg_shown(address);

    err_set(e, ERR_USAGE,
            "%s: this program was built without PostgreSQL; build it with "
            "'make PG=1'",
            shown);
    free(shown);
    return -1;
}

struct pg *pg_open(const char *address, int stop_fd, struct err *e)
{
    (void)stop_fd;
    pg_can_open(address, e);
    return NULL;
}

void pg_close(struct pg *p)
{
    if (p)
        BUG("a connection");
}

bool pg_is_lost(const struct pg *p)
{
    (void)p;
    return true;
}

struct pg_rows *pg_run(struct pg *p, const char *sql,
                       const struct pg_value *value, size_t n, struct err *e)
{
    (void)p;
    (void)value;
    (void)n;
    (void)e;
    BUG("no connection for %s", sql);
}

void pg_free(struct pg_rows *r)
{
    if (r)
        BUG("rows");
}

size_t pg_count(const struct pg_rows *r)
{
    (void)r;
    return 0;
}

struct str pg_cell(const struct pg_rows *r, size_t row, size_t col)
{
    (void)r;
    (void)row;
    (void)col;
    return (struct str){0};
}

int64_t pg_number(const struct pg_rows *r, size_t row, size_t col)
{
    (void)r;
    (void)row;
    (void)col;
    return 0;
}

int pg_wait(struct pg *p, int fd, int ms, struct err *e)
{
    (void)p;
    (void)fd;
    (void)ms;
    (void)e;
    BUG("no connection");
}
