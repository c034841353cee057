/* jsonl.c: lines, through zstd if asked, to a file and its hash. */
#include "data/jsonl.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#define LEVEL 9

struct jsonl {
    char *path;
    FILE *file;
    struct hash hash;
    bool hashed; /* the hash is finished */
    struct jsonl_sums sums;
    ZSTD_CCtx *pack; /* NULL: not compressed */
};

struct jsonl *jsonl_open(const char *path, bool zstd, struct err *e)
{
    struct jsonl *j = xcalloc(1, sizeof(*j));

    j->path = xstrdup(path);
    hash_init(&j->hash);
    j->file = fopen(path, "we");
    if (!j->file) {
        err_sys(e, "%s: cannot create", path);
        jsonl_drop(j);
        return NULL;
    }
    if (zstd) {
        j->pack = ZSTD_createCCtx();
        if (!j->pack)
            BUG("zstd has no memory");
        ZSTD_CCtx_setParameter(j->pack, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(j->pack, ZSTD_c_checksumFlag, 1);
    }
    return j;
}

static int put(struct jsonl *j, const void *p, size_t n, struct err *e)
{
    hash_add(&j->hash, p, n);
    j->sums.bytes += n;
    return fwrite(p, 1, n, j->file) == n
               ? 0
               : err_sys(e, "%s: cannot write", j->path);
}

static int squeeze(struct jsonl *j, const char *p, size_t n,
                   ZSTD_EndDirective how, struct err *e)
{
    ZSTD_inBuffer in = {p, n, 0};
    char room[1 << 16];
    size_t left;

    do {
        ZSTD_outBuffer out = {room, sizeof(room), 0};

        left = ZSTD_compressStream2(j->pack, &out, &in, how);
        if (ZSTD_isError(left))
            BUG("zstd: %s", ZSTD_getErrorName(left));
        if (put(j, room, out.pos, e) < 0)
            return -1;
    } while (how == ZSTD_e_end ? left > 0 : in.pos < in.size);
    return 0;
}

static int pass_on(struct jsonl *j, struct str text, struct err *e)
{
    return j->pack ? squeeze(j, text.p, text.n, ZSTD_e_continue, e)
                   : put(j, text.p, text.n, e);
}

int jsonl_put(struct jsonl *j, struct str line, struct err *e)
{
    j->sums.lines++;
    return pass_on(j, line, e) < 0 ? -1 : pass_on(j, STR_LIT("\n"), e);
}

int jsonl_add(struct jsonl *j, json_t *line, struct err *e)
{
    char *text = json_dumps(line, JSON_COMPACT);
    int rc;

    if (!text)
        BUG("a line that is not JSON");
    rc = jsonl_put(j, str_of(text), e);
    free(text);
    json_decref(line);
    return rc;
}

int jsonl_end(struct jsonl *j, struct jsonl_sums *out, struct err *e)
{
    int rc = j->pack ? squeeze(j, "", 0, ZSTD_e_end, e) : 0;

    if (rc == 0 && (fflush(j->file) != 0 || fsync(fileno(j->file)) < 0))
        rc = err_sys(e, "%s: cannot write", j->path);
    hash_finish_hex(&j->hash, j->sums.hash);
    j->hashed = true;
    *out = j->sums;
    jsonl_drop(j);
    return rc;
}

void jsonl_drop(struct jsonl *j)
{
    char unused[HASH_HEX];

    if (!j)
        return;
    if (!j->hashed)
        hash_finish_hex(&j->hash, unused);
    if (j->file)
        fclose(j->file);
    ZSTD_freeCCtx(j->pack);
    free(j->path);
    free(j);
}
