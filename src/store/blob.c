/* blob.c: texts by their SHA-256, compressed, each stored once. */
#include "store/store_int.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Prompts and replies: level 1 halves them, and higher ones take far longer
 * for little. */
enum { LEVEL = 1 };

void store_blob_as(struct store *s, struct str text, const char *hash)
{
    struct row_blob row = {hash, (int64_t)text.n, text.p, text.n};
    struct str key = {hash, HASH_HEX - 1};

    if (map_get(&s->known, key))
        return;
    map_set(&s->known, key, s);
    store_put(s, &store_tables[TABLE_BLOB], &row);
}

void store_blob(struct store *s, struct str text, char hash[HASH_HEX])
{
    hash_hex(text.p, text.n, hash);
    store_blob_as(s, text, hash);
}

int store_pack(struct store *s, struct row_blob *row, struct err *e)
{
    size_t most = ZSTD_compressBound(row->len), n;

    if (!s->pack && !(s->pack = ZSTD_createCCtx()))
        return err_set(e, ERR_SYSTEM, "zstd: out of memory");
    if (s->packed_cap < most) {
        s->packed = xrealloc(s->packed, most);
        s->packed_cap = most;
    }
    n = ZSTD_compressCCtx(s->pack, s->packed, s->packed_cap, row->data,
                          row->len, LEVEL);
    if (ZSTD_isError(n))
        return err_set(e, ERR_SYSTEM, "zstd: %s", ZSTD_getErrorName(n));
    row->data = s->packed;
    row->len = n;
    return 0;
}

static int damaged(const struct store *s, const char *hash, struct err *e)
{
    return err_set(e, ERR_INPUT, "%s: text %.12s… is damaged", s->path, hash);
}

/* The text of the current row of `q`, checked against its hash. */
static int blob_unpack(struct store *s, sqlite3_stmt *q, const char *hash,
                       struct buf *out, struct err *e)
{
    size_t size = (size_t)sqlite3_column_int64(q, 0), n;
    size_t packed = (size_t)sqlite3_column_bytes(q, 1);
    const void *data = sqlite3_column_blob(q, 1);
    char found[HASH_HEX], *text;
    int rc = -1;

    if (ZSTD_getFrameContentSize(data, packed) != size)
        return damaged(s, hash, e);
    if (size > out->limit - out->len)
        return err_set(e, ERR_LIMIT,
                       "%s: text %.12s… has %zu bytes, more "
                       "than %zu",
                       s->path, hash, size, out->limit - out->len);
    if (!s->unpack && !(s->unpack = ZSTD_createDCtx()))
        return err_set(e, ERR_SYSTEM, "zstd: out of memory");
    text = xmalloc(size);
    n = ZSTD_decompressDCtx(s->unpack, text, size, data, packed);
    if (n == size)
        hash_hex(text, size, found);
    if (n != size || strcmp(found, hash) != 0)
        damaged(s, hash, e);
    else
        rc = buf_add(out, text, size, e);
    free(text);
    return rc;
}

int store_read_blob(struct store *s, const char *hash, struct buf *out,
                    struct err *e)
{
    static const char sql[] = "SELECT size, data FROM blob WHERE hash = ?1";
    sqlite3_stmt **q = &s->read_blob;
    int rc = -1, got;

    if (!*q && sqlite3_prepare_v3(s->reader, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                  q, NULL) != SQLITE_OK)
        return store_sql_err(e, s->reader, s->path, "read a text");
    sqlite3_bind_text(*q, 1, hash, -1, SQLITE_STATIC);
    got = sqlite3_step(*q);
    if (got == SQLITE_ROW)
        rc = blob_unpack(s, *q, hash, out, e);
    else if (got == SQLITE_DONE)
        err_set(e, ERR_INPUT, "%s: text %.12s… is missing", s->path, hash);
    else
        store_sql_err(e, s->reader, s->path, "read a text");
    sqlite3_reset(*q);
    return rc;
}

int store_text(struct store *s, const char *hash, struct arena *a,
               struct str *out, struct err *e)
{
    struct buf b;
    int rc;

    if (!hash || !hash[0])
        return 0;
    buf_init(&b, BUF_UNLIMITED);
    rc = store_read_blob(s, hash, &b, e);
    if (rc == 0) {
        char *copy = arena_alloc_raw(a, b.len + 1); /* it may have NULs */

        memcpy(copy, buf_str(&b), b.len + 1);
        *out = (struct str){copy, b.len};
    }
    buf_release(&b);
    return rc;
}

json_t *store_record(struct store *s, const char *hash, const char *times,
                     struct err *e)
{
    json_t *record = NULL, *measured;
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    if (store_read_blob(s, hash, &b, e) == 0)
        record = jsn_parse("a stored record", buf_str(&b), b.len, e);
    buf_release(&b);
    measured = record && times ? json_loads(times, 0, NULL) : NULL;
    if (measured)
        json_object_update(record, measured);
    json_decref(measured);
    return record;
}
