/* cassette.c: recorded answers: reading and writing them, and the provider `replay`,
 * for which a cassette answers.
 *
 * A recording is written while a run works, and the run may be killed. So each line
 * stands alone and is written at once, as a zstd frame of its own where the name says
 * so; what a kill leaves of the last one is ignored by readers and cut off by the
 * next writer. */
#include "llm/cassette.h"

#include "base/fs.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "llm/doc.h"
#include "llm/llm.h"
#include "llm/provider.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define CASSETTE_LIMIT ((size_t)1 << 30)
#define LEVEL          9

static bool cassette_is_zstd(const char *path)
{
    return str_ends(str_of(path), ".zst");
}

/* One frame at `p` to `out`. */
static int cassette_unpack(const char *p, size_t n, struct buf *out,
                           struct err *e)
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

static int cassette_unpack_all(const struct buf *raw, struct buf *out,
                               size_t *whole, struct err *e)
{
    size_t at = 0;

    while (at < raw->len) {
        size_t n = ZSTD_findFrameCompressedSize(raw->data + at, raw->len - at);

        if (ZSTD_isError(n)) /* the last one, cut short; or no zstd at all */
            break;
        if (cassette_unpack(raw->data + at, n, out, e) < 0)
            return -1;
        at += n;
    }
    *whole = at;
    return at || !raw->len ? 0 : err_set(e, ERR_INPUT, "not a zstd file");
}

/* The uncompressed text; what follows the last complete line (or zstd frame) may be
 * missing. `*whole` (unless NULL) is where the complete part of the file ends. */
static int cassette_text(const char *path, struct buf *out, size_t *whole,
                         struct err *e)
{
    struct buf raw = {.limit = CASSETTE_LIMIT};
    size_t end = 0;
    int rc;

    if (!cassette_is_zstd(path)) {
        rc = fs_read(path, out, e);
        for (end = out->len; end && out->data[end - 1] != '\n';)
            end--;
    } else {
        rc = fs_read(path, &raw, e);
        if (rc == 0 && cassette_unpack_all(&raw, out, &end, e) < 0)
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

static void cassette_put_date(json_t *v)
{
    time_t now = time(NULL);
    char text[32];
    struct tm t;

    gmtime_r(&now, &t);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &t);
    json_object_set_new(v, "date", json_string(text));
}

/* Takes the reference. A single write, so that a line is complete or missing. */
static int cassette_put_line(struct cassette_writer *w, json_t *v,
                             struct err *e)
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

static int cassette_put_header(struct cassette_writer *w, const char *model,
                               const char *secret, struct err *e)
{
    json_t *v = json_object();

    json_object_set_new(v, "cassette", json_integer(1));
    json_object_set_new(v, "model", model ? json_string(model) : json_null());
    cassette_put_date(v);
    json_object_set_new(v, "note", json_string(""));
    if (secret)
        json_object_set_new(v, "secret", json_string(secret));
    return cassette_put_line(w, v, e);
}

/* An existing file must be a cassette; appends after its last complete line. */
static int cassette_go_on(struct cassette_writer *w, const char *secret,
                          struct err *e)
{
    struct cassette *old = NULL;
    char before[HASH_HEX];
    struct buf text = {.limit = CASSETTE_LIMIT};
    size_t whole = 0;

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
    w->zstd = cassette_is_zstd(path);
    w->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (w->fd < 0 || fstat(w->fd, &st) < 0)
        rc = err_sys(e, "%s: cannot write", path);
    else
        rc = st.st_size ? cassette_go_on(w, secret, e)
                        : cassette_put_header(w, model, secret, e);
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
    cassette_put_date(v);
    return cassette_put_line(w, v, e);
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

struct recorded {
    struct doc answer;
    char prompt[HASH_HEX];
};

struct cassette {
    struct recorded **entry; /* all of them, also those replaced */
    size_t len, cap;
    struct map by_key; /* struct recorded */
};

void cassette_close(struct cassette *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->len; i++) {
        doc_release(&c->entry[i]->answer);
        free(c->entry[i]);
    }
    free(c->entry);
    map_release(&c->by_key);
    free(c);
}

/* ---- keys ---- */

static void cassette_key_text(struct buf *b, const struct llm_key *k)
{
    buf_init(b, BUF_UNLIMITED);
    buf_printf(b, "%zu:%s %zu:%s %zu:%s %d", strlen(k->task), k->task,
               strlen(k->method), k->method, strlen(k->stage), k->stage,
               k->attempt);
}

static int cassette_read_key(const json_t *v, struct llm_key *k, struct err *e)
{
    const json_t *key = json_object_get(v, "key"),
                 *attempt = json_object_get(key, "attempt");

    k->task = jsn_maybe(key, "task");
    k->method = jsn_maybe(key, "method");
    k->stage = jsn_maybe(key, "stage");
    if (!k->task || !k->method || !k->stage || !json_is_integer(attempt) ||
        json_integer_value(attempt) < 1 ||
        json_integer_value(attempt) > 1000000)
        return err_set(e, ERR_INPUT,
                       "\"key\" needs task, method, stage and attempt");
    k->attempt = (int)json_integer_value(attempt);
    return 0;
}

bool cassette_find(const struct cassette *c, const struct llm_key *k,
                   struct cassette_item *out)
{
    const struct recorded *found;
    struct buf key;

    cassette_key_text(&key, k);
    found = map_get(&c->by_key, (struct str){key.data, key.len});
    buf_release(&key);
    if (found)
        *out = (struct cassette_item){found->prompt, &found->answer.result};
    return found != NULL;
}

/* ---- lines ---- */

static int cassette_read_header(const json_t *v, struct err *e)
{
    const json_t *version = json_object_get(v, "cassette");

    if (!json_is_integer(version))
        return err_set(e, ERR_INPUT,
                       "not a cassette: a cassette starts with {\"cassette\": "
                       "1, …}");
    if (json_integer_value(version) != 1)
        return err_set(e, ERR_INPUT,
                       "a cassette of version %lld; this program "
                       "reads version 1",
                       (long long)json_integer_value(version));
    return 0;
}

/* Takes the reference. */
static int cassette_read_entry(struct cassette *c, json_t *v, struct err *e)
{
    struct recorded *n = xcalloc(1, sizeof(*n));
    const char *prompt = jsn_maybe(v, "prompt");
    struct llm_key k;
    struct buf key;

    if (!prompt || strlen(prompt) != HASH_HEX - 1) {
        err_set(e, ERR_INPUT, "\"prompt\" is not a SHA-256");
        goto bad;
    }
    if (cassette_read_key(v, &k, e) < 0)
        goto bad;
    memcpy(n->prompt, prompt, HASH_HEX);
    if (doc_from_json(&n->answer, json_incref(v), e) < 0)
        goto bad;
    c->entry = xgrow(c->entry, &c->cap, c->len, sizeof(*c->entry));
    c->entry[c->len++] = n;
    cassette_key_text(&key, &k);
    map_set(&c->by_key, (struct str){key.data, key.len}, n);
    buf_release(&key);
    json_decref(v);
    return 0;
bad:
    free(n);
    json_decref(v);
    return -1;
}

static int cassette_read_line(struct cassette *c, struct str line, bool header,
                              struct err *e)
{
    json_t *v = jsn_parse("JSON", line.p, line.n, e);
    int rc;

    if (!v || !header)
        return v ? cassette_read_entry(c, v, e) : -1;
    rc = cassette_read_header(v, e);
    json_decref(v);
    return rc;
}

struct cassette *cassette_parse(const char *name, const char *text, size_t n,
                                struct err *e)
{
    struct cassette *c = xcalloc(1, sizeof(*c));
    struct str rest = {text, n}, line;
    bool header = true;
    int number = 0;

    while (str_part(&rest, '\n', &line)) {
        line = str_trim(line);
        number++;
        if (!line.n)
            continue;
        if (cassette_read_line(c, line, header, e) < 0) {
            if (!rest.p && !header) {
                log_warn("%s:%d: ignoring an incomplete last line", name,
                         number);
                break;
            }
            err_wrap(e, "%s:%d", name, number);
            goto bad;
        }
        header = false;
    }
    if (!header)
        return c;
    err_set(e, ERR_INPUT, "%s: not a cassette: the file is empty", name);
bad:
    cassette_close(c);
    return NULL;
}

struct cassette *cassette_open(const char *path, struct err *e)
{
    struct cassette *c = NULL;
    struct buf text = {.limit = CASSETTE_LIMIT};

    if (cassette_text(path, &text, NULL, e) == 0)
        c = cassette_parse(path, buf_str(&text), text.len, e);
    buf_release(&text);
    return c;
}

int cassette_secret(const char *path, char secret[HASH_HEX], struct err *e)
{
    struct str rest, line;
    struct buf text = {.limit = CASSETTE_LIMIT};
    json_t *v = NULL;
    const char *is;
    int rc = -1;

    if (cassette_text(path, &text, NULL, e) == 0) {
        rest = buf_view(&text);
        v = str_cut(&rest, '\n', &line) ? jsn_parse(path, line.p, line.n, e)
                                        : jsn_parse(path, rest.p, rest.n, e);
    }
    buf_release(&text);
    if (!v)
        return -1;
    is = jsn_str(v, "secret");
    rc = strlen(is) == HASH_HEX - 1;
    if (rc)
        memcpy(secret, is, HASH_HEX);
    json_decref(v);
    return rc;
}

struct replay {
    struct provider base;
    struct loop *loop;
    struct cassette *cassette;
    char *name;
    bool strict, warned;
};

struct replay_send {
    struct send base;
    uint64_t timer;
    const struct llm_request *request;
};

static struct provider *replay_open(const struct provider_type *t,
                                    struct loop *l, const struct llm_opts *o,
                                    struct err *e)
{
    struct replay *r;
    struct cassette *c;

    if (!o->cassette) {
        err_set(e, ERR_USAGE, "the provider replay needs --cassette FILE");
        return NULL;
    }
    c = cassette_open(o->cassette, e);
    if (!c)
        return NULL;
    r = xcalloc(1, sizeof(*r));
    r->base.type = t;
    r->loop = l;
    r->cassette = c;
    r->name = xstrdup(o->cassette);
    r->strict = o->replay_strict;
    return &r->base;
}

static void replay_cancel(struct send *send)
{
    struct replay_send *s = (struct replay_send *)send;

    loop_remove(((struct replay *)send->from)->loop, s->timer);
    send_free(send);
}

static void replay_close(struct provider *p)
{
    struct replay *r = (struct replay *)p;

    cassette_close(r->cassette);
    free(r->name);
    free(r);
}

/* False when the recorded answer was to another prompt and that matters. */
static bool replay_same_prompt(struct replay *r, const struct llm_request *q,
                               const struct cassette_item *item)
{
    char hash[HASH_HEX];

    request_prompt_hash(q, hash);
    if (strcmp(hash, item->prompt) == 0)
        return true;
    if (!r->strict && !r->warned)
        log_warn("%s: the prompt of %s (%s, %s, attempt %d) differs "
                 "from the recorded one; using its answer anyway (further "
                 "differences are not reported)",
                 r->name, q->key.task, q->key.method, q->key.stage,
                 q->key.attempt);
    r->warned = true;
    return !r->strict;
}

static void replay_on_turn(void *arg)
{
    struct replay_send *s = arg;
    struct replay *r = (struct replay *)s->base.from;
    const struct llm_key *k = &s->request->key;
    struct send_result refused = {.outcome = SEND_REFUSED};
    struct cassette_item item = {0};
    bool found = cassette_find(r->cassette, k, &item);
    char *why = NULL;

    if (!found || !replay_same_prompt(r, s->request, &item))
        why = xasprintf("%s %s for %s (%s, %s, attempt %d)", r->name,
                        found ? "was recorded with another prompt"
                              : "has no answer",
                        k->task, k->method, k->stage, k->attempt);
    refused.error = why;
    send_end(&s->base, why ? &refused : item.result);
    free(why);
}

static struct send *replay_send(struct provider *p, const struct llm_request *q,
                                send_fn *fn, void *arg, struct err *e)
{
    struct replay *r = (struct replay *)p;
    struct replay_send *s = send_new(sizeof(*s), p, fn, arg);

    (void)e;
    s->request = q;
    s->timer = loop_defer(r->loop, replay_on_turn, s);
    return &s->base;
}

const struct provider_type provider_replay = {
    .name = "replay",
    .open = replay_open,
    .close = replay_close,
    .send = replay_send,
    .cancel = replay_cancel,
};
