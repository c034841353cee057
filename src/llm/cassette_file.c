/* cassette_file.c: a cassette's bytes: zstd frames, and a line at a time to
 * the end of the file. */
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "llm/cassette.h"
#include "llm/cassette_int.h"
#include "llm/request.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define LEVEL 9

static bool is_zstd(const char *path)
{
    return str_ends(str_of(path), ".zst");
}

/* One frame at `p` to `out`. */
static int unpack(const char *p, size_t n, struct buf *out, struct err *e)
{
    ZSTD_DCtx *ctx = ZSTD_createDCtx();
    ZSTD_inBuffer in = {p, n, 0};
    char chunk[65536];
    size_t left = 1;
    int rc = 0;

    if (!ctx)
        BUG("zstd has no memory");
    while (rc == 0 && left) {
        ZSTD_outBuffer to = {chunk, sizeof(chunk), 0};

        left = ZSTD_decompressStream(ctx, &to, &in);
        if (ZSTD_isError(left))
            rc = err_set(e, ERR_INPUT, "zstd: %s", ZSTD_getErrorName(left));
        else
            rc = buf_add(out, chunk, to.pos, e);
    }
    ZSTD_freeDCtx(ctx);
    return rc;
}

static int unpack_all(const struct buf *raw, struct buf *out, size_t *whole,
                      struct err *e)
{
    size_t at = 0;

    while (at < raw->len) {
        size_t n = ZSTD_findFrameCompressedSize(raw->data + at, raw->len - at);

        if (ZSTD_isError(n)) /* the last one, cut short; or no zstd at all */
            break;
        if (unpack(raw->data + at, n, out, e) < 0)
            return -1;
        at += n;
    }
    *whole = at;
    return at || !raw->len ? 0 : err_set(e, ERR_INPUT, "not a zstd file");
}

int cassette_text(const char *path, struct buf *out, size_t *whole,
                  struct err *e)
{
    struct buf raw;
    size_t end = 0;
    int rc;

    if (!is_zstd(path)) {
        rc = fs_read(path, out, e);
        for (end = out->len; end && out->data[end - 1] != '\n';)
            end--;
    } else {
        buf_init(&raw, CASSETTE_LIMIT);
        rc = fs_read(path, &raw, e);
        if (rc == 0 && unpack_all(&raw, out, &end, e) < 0)
            rc = err_wrap(e, "%s", path);
        buf_release(&raw);
    }
    if (whole)
        *whole = end;
    return rc;
}

/* ---- writing ---- */

struct cassette_writer {
    char *path;
    int fd;
    bool zstd;
};

static void put_date(json_t *v)
{
    time_t now = time(NULL);
    char text[32];
    struct tm t;

    gmtime_r(&now, &t);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &t);
    json_object_set_new(v, "date", json_string(text));
}

/* Takes the reference. A single write, so that a line is complete or missing. */
static int put_line(struct cassette_writer *w, json_t *v, struct err *e)
{
    char *text = json_dumps(v, JSON_COMPACT), *line = xasprintf("%s\n", text);
    size_t n = strlen(line);
    int rc;

    json_decref(v);
    free(text);
    if (w->zstd) {
        size_t room = ZSTD_compressBound(n);
        char *packed = xmalloc(room);

        n = ZSTD_compress(packed, room, line, n, LEVEL);
        if (ZSTD_isError(n))
            BUG("zstd: %s", ZSTD_getErrorName(n));
        free(line);
        line = packed;
    }
    rc = fs_write_all(w->fd, line, n, e);
    free(line);
    return rc < 0 ? err_wrap(e, "%s", w->path) : 0;
}

static int put_header(struct cassette_writer *w, const char *model,
                      const char *secret, struct err *e)
{
    json_t *v = json_object();

    json_object_set_new(v, "cassette", json_integer(1));
    json_object_set_new(v, "model", model ? json_string(model) : json_null());
    put_date(v);
    json_object_set_new(v, "note", json_string(""));
    if (secret)
        json_object_set_new(v, "secret", json_string(secret));
    return put_line(w, v, e);
}

/* An existing file must be a cassette; appends after its last complete line. */
static int go_on(struct cassette_writer *w, const char *secret, struct err *e)
{
    struct cassette *old = NULL;
    char before[HASH_HEX];
    struct buf text;
    size_t whole = 0;

    buf_init(&text, CASSETTE_LIMIT);
    if (cassette_text(w->path, &text, &whole, e) == 0)
        old = cassette_parse(w->path, buf_str(&text), text.len, e);
    buf_release(&text);
    if (!old)
        return -1;
    cassette_close(old);
    if (secret && cassette_secret(w->path, before, e) == 1 &&
        strcmp(before, secret) != 0)
        log_warn("%s holds the recording of another run: --replay-strict "
                 "repeats that one",
                 w->path);
    if (ftruncate(w->fd, (off_t)whole) < 0)
        return err_sys(e, "%s: cannot cut", w->path);
    return 0;
}

struct cassette_writer *cassette_writer_open(const char *path,
                                             const char *model,
                                             const char *secret, struct err *e)
{
    struct cassette_writer *w = xcalloc(1, sizeof(*w));
    struct stat st;
    int rc;

    w->path = xstrdup(path);
    w->zstd = is_zstd(path);
    w->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (w->fd < 0 || fstat(w->fd, &st) < 0)
        rc = err_sys(e, "%s: cannot write", path);
    else
        rc = st.st_size ? go_on(w, secret, e) : put_header(w, model, secret, e);
    if (rc == 0)
        return w;
    cassette_writer_close(w);
    return NULL;
}

int cassette_write(struct cassette_writer *w, const struct llm_request *r,
                   const struct send_result *s, struct err *e)
{
    json_t *v = json_object(), *answer = doc_json(s);
    char hash[HASH_HEX];

    request_prompt_hash(r, hash);
    json_object_set_new(v, "key", request_key_json(&r->key));
    json_object_set_new(v, "prompt", json_string(hash));
    json_object_update(v, answer);
    json_decref(answer);
    put_date(v);
    return put_line(w, v, e);
}

void cassette_writer_close(struct cassette_writer *w)
{
    if (!w)
        return;
    if (w->fd >= 0)
        close(w->fd);
    free(w->path);
    free(w);
}
