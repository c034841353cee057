/* wal_file.c: SQLite's log, written in large pieces.
 *
 * SQLite writes a page of the log in two writes, header and page, at odd
 * places; a commit of ours has dozens of pages. Here writes that follow each
 * other are gathered, and reach the file at the latest when it is to be flushed
 * to the disk: before that nobody else reads them, since a transaction counts
 * only once it was flushed (synchronous = FULL). All other files are those of
 * SQLite's own layer. */
#include "store/store_int.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SQLite writes less than 128 KiB at once. */
#define GATHER_BYTES ((size_t)124 << 10)

struct wal_file {
    sqlite3_file base; /* first */
    char *data;        /* what is not written yet … */
    size_t len;
    sqlite3_int64 at; /* … and where it belongs */
    /* SQLite's own; it aligns files to 8 bytes. */
    _Alignas(sqlite3_int64) char real[];
};

static sqlite3_file *real_of(sqlite3_file *f)
{
    return (sqlite3_file *)((struct wal_file *)f)->real;
}

static int flush(sqlite3_file *f)
{
    struct wal_file *w = (struct wal_file *)f;
    sqlite3_file *real = real_of(f);
    size_t n = w->len;

    w->len = 0;
    return n ? real->pMethods->xWrite(real, w->data, (int)n, w->at) : SQLITE_OK;
}

static int wal_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    struct wal_file *w = (struct wal_file *)f;
    sqlite3_file *real = real_of(f);
    int rc = SQLITE_OK;

    if (at != w->at + (sqlite3_int64)w->len ||
        (size_t)n > GATHER_BYTES - w->len)
        rc = flush(f);
    if (rc != SQLITE_OK)
        return rc;
    if ((size_t)n > GATHER_BYTES)
        return real->pMethods->xWrite(real, p, n, at);
    if (w->len == 0)
        w->at = at;
    memcpy(w->data + w->len, p, (size_t)n);
    w->len += (size_t)n;
    return SQLITE_OK;
}

static int wal_close(sqlite3_file *f)
{
    sqlite3_file *real = real_of(f);
    int rc = flush(f), closed = real->pMethods->xClose(real);

    free(((struct wal_file *)f)->data);
    return rc == SQLITE_OK ? closed : rc;
}

/* What looks at the file finds all that was written to it. */
static int wal_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    sqlite3_file *real = real_of(f);
    int rc = flush(f);

    return rc == SQLITE_OK ? real->pMethods->xRead(real, p, n, at) : rc;
}

static int wal_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    sqlite3_file *real = real_of(f);
    int rc = flush(f);

    return rc == SQLITE_OK ? real->pMethods->xTruncate(real, size) : rc;
}

static int wal_sync(sqlite3_file *f, int flags)
{
    sqlite3_file *real = real_of(f);
    int rc = flush(f);

    return rc == SQLITE_OK ? real->pMethods->xSync(real, flags) : rc;
}

static int wal_size(sqlite3_file *f, sqlite3_int64 *size)
{
    sqlite3_file *real = real_of(f);
    int rc = flush(f);

    return rc == SQLITE_OK ? real->pMethods->xFileSize(real, size) : rc;
}

static int wal_lock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int wal_unlock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int wal_check_lock(sqlite3_file *f, int *held)
{
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), held);
}

static int wal_control(sqlite3_file *f, int op, void *arg)
{
    return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static int wal_sector(sqlite3_file *f)
{
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int wal_device(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static const sqlite3_io_methods wal_methods = {
    .iVersion = 1,
    .xClose = wal_close,
    .xRead = wal_read,
    .xWrite = wal_write,
    .xTruncate = wal_truncate,
    .xSync = wal_sync,
    .xFileSize = wal_size,
    .xLock = wal_lock,
    .xUnlock = wal_unlock,
    .xCheckReservedLock = wal_check_lock,
    .xFileControl = wal_control,
    .xSectorSize = wal_sector,
    .xDeviceCharacteristics = wal_device,
};

static int wal_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f,
                    int flags, int *out_flags)
{
    sqlite3_vfs *own = sqlite3_vfs_find(NULL);
    struct wal_file *w = (struct wal_file *)f;
    int rc;

    (void)vfs;
    if (!(flags & SQLITE_OPEN_WAL))
        return own->xOpen(own, name, f, flags, out_flags);
    *w = (struct wal_file){.data = NULL};
    rc = own->xOpen(own, name, real_of(f), flags, out_flags);
    if (rc != SQLITE_OK)
        return rc;
    w->base.pMethods = &wal_methods;
    w->data = xmalloc(GATHER_BYTES);
    return SQLITE_OK;
}

int store_vfs_start(struct store *s)
{
    sqlite3_vfs *own = sqlite3_vfs_find(NULL);

    snprintf(s->vfs_name, sizeof(s->vfs_name), "monkeys-%p", (void *)s);
    s->vfs = *own;
    s->vfs.pNext = NULL;
    s->vfs.zName = s->vfs_name;
    s->vfs.szOsFile += (int)sizeof(struct wal_file);
    s->vfs.xOpen = wal_open;
    return sqlite3_vfs_register(&s->vfs, 0);
}

void store_vfs_end(struct store *s)
{
    if (s->vfs.zName)
        sqlite3_vfs_unregister(&s->vfs);
}
