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
