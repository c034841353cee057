/* store_fixture.c: a store in a temporary folder, for tests. */
#include "store_fixture.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

#include <sqlite3.h>
#include <stdlib.h>

struct store *db_open(const char *dir, enum store_mode mode, struct loop *l)
{
    char *path = fs_join(dir, "run.db");
    struct err e = ERR_INIT;
    struct store *s = store_open(path, mode, l, &e);

    if (!s)
        BUG("%s", e.text);
    free(path);
    return s;
}

void db_close(struct store *s)
{
    struct err e = ERR_INIT;

    if (store_close(s, &e) < 0)
        ok(false, "closed: %s", e.text);
}

const char *db_refusal(const char *path, enum store_mode mode, struct err *e)
{
    struct store *s;

    *e = (struct err)ERR_INIT;
    s = store_open(path, mode, NULL, e);
    if (!s)
        return e->text;
    db_close(s);
    return "";
}

static sqlite3 *connect(const char *path)
{
    sqlite3 *db = NULL;

    if (sqlite3_open(path, &db) != SQLITE_OK)
        BUG("%s: %s", path, sqlite3_errmsg(db));
    sqlite3_busy_timeout(db, 10000);
    return db;
}

static int put_line(void *arg, int n, char **value, char **name)
{
    struct buf *out = arg;

    (void)name;
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%s", i ? "|" : "", value[i] ? value[i] : "NULL");
    buf_putc(out, '\n');
    return 0;
}

void db_query(const char *path, const char *sql, struct buf *out)
{
    sqlite3 *db = connect(path);

    if (sqlite3_exec(db, sql, put_line, out, NULL) != SQLITE_OK)
        BUG("%s: %s: %s", path, sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

int64_t db_number(const char *path, const char *sql)
{
    struct buf out = BUF_INIT;
    int64_t n;

    db_query(path, sql, &out);
    n = strtoll(buf_str(&out), NULL, 10);
    buf_release(&out);
    return n;
}

void db_exec(const char *path, const char *sql)
{
    struct buf out = BUF_INIT;

    db_query(path, sql, &out);
    buf_release(&out);
}
