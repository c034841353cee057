/* spool.c: a folder of requests and answers: its files, the provider `spool`, which
 * asks there, and a provider's batch file, which is one way to answer.
 *
 * Answers may take days, and are given by a person, a program or a batch. A run that
 * is started again finds the answers that have arrived, since a request's id depends
 * only on its contents: nothing but the folder knows what was asked. */
#include "llm/spool.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tick.h"
#include "llm/http_provider.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_LIMIT ((size_t)16 << 20)

static const char *const spool_subs[] = {"requests", "claims", "answers"};

/* Creates what is missing. */
static int spool_make(const char *dir, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < 3; i++) {
        char *path = fs_join(dir, spool_subs[i]);

        rc = fs_mkdirs(path, e);
        free(path);
    }
    return rc;
}

char *spool_path(const char *dir, const char *sub, const char *id,
                 const char *suffix)
{
    return xasprintf("%s/%s/%s%s", dir, sub, id, suffix);
}

bool spool_has_answer(const char *dir, const char *id)
{
    char *json = spool_path(dir, "answers", id, ".json"),
         *text = spool_path(dir, "answers", id, ".txt");
    bool has = fs_is_file(json) || fs_is_file(text);

    free(json);
    free(text);
    return has;
}

/* Whether it is open for writing: then a read lease is refused. Where leases
 * are not available (another user's file, a network file system), we rely on
 * answers being renamed into place. */
static bool spool_is_being_written(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool busy;

    if (fd < 0)
        return false;
    /* If another process opens the file, the kernel signals us: use a signal that
     * is ignored by default, not SIGIO, which kills. */
    fcntl(fd, F_SETSIG, SIGURG);
    busy = fcntl(fd, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN;
    if (!busy)
        fcntl(fd, F_SETLEASE, F_UNLCK);
    close(fd);
    return busy;
}

static int spool_read_json(const char *path, struct doc *out, struct err *e)
{
    json_t *v = jsn_read(path, e);

    if (!v)
        return -1;
    if (doc_from_json(out, v, e) < 0)
        return err_wrap(e, "%s", path);
    return 1;
}

static int spool_read_text(const char *path, struct doc *out, struct err *e)
{
    struct buf text = {.limit = ANSWER_LIMIT};
    int rc;

    rc = fs_read(path, &text, e);
    if (rc == 0)
        doc_from_text(out, buf_str(&text), text.len);
    buf_release(&text);
    return rc < 0 ? -1 : 1;
}

int spool_answer(const char *dir, const char *id, struct doc *out,
                 struct err *e)
{
    char *json = spool_path(dir, "answers", id, ".json"),
         *text = spool_path(dir, "answers", id, ".txt");
    int rc = 0;

    if (fs_is_file(json) && !spool_is_being_written(json))
        rc = spool_read_json(json, out, e);
    else if (fs_is_file(text) && !spool_is_being_written(text))
        rc = spool_read_text(text, out, e);
    free(json);
    free(text);
    return rc;
}

int spool_put_answer(const char *dir, const char *id,
                     const struct send_result *r, struct err *e)
{
    char *path = spool_path(dir, "answers", id, ".json");
    json_t *v = doc_json(r);
    char *text = json_dumps(v, JSON_INDENT(1));
    int rc = fs_replace(path, text, strlen(text), e);

    free(text);
    json_decref(v);
    free(path);
    return rc;
}

int spool_claim(const char *dir, const char *id, const char *who, struct err *e)
{
    char *path = spool_path(dir, "claims", id, "");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), rc = 1;

    if (fd < 0)
        rc = errno == EEXIST ? 0 : err_sys(e, "%s: cannot claim", path);
    else if (fs_write_all(fd, who, strlen(who), e) < 0)
        rc = err_wrap(e, "%s", path);
    if (fd >= 0)
        close(fd);
    free(path);
    return rc;
}

void spool_unclaim(const char *dir, const char *id)
{
    char *path = spool_path(dir, "claims", id, "");

    unlink(path);
    free(path);
}

/* The folder is looked at so often, or with a twentieth of the time. */
#define LOOK_EVERY (250 * TICK_MS)
#define LOOK_SHARE 20

struct spool {
    struct provider base;
    struct loop *loop;
    const struct llm_opts *opts;
    struct spool_send *cursor; /* the next to look at, while we look */
    size_t looked;             /* of these, looked for in vain */
    uint64_t timer;
};

struct spool_send {
    struct send base;
    char id[REQUEST_ID];
    bool warned; /* of an answer that is not valid */
    bool looked; /* not found yet */
};

static struct provider *spool_open(const struct provider_type *t,
                                   struct loop *l, const struct llm_opts *o,
                                   struct err *e)
{
    struct spool *s;

    if (!o->folder) {
        err_set(e, ERR_USAGE, "the provider spool needs --spool DIR");
        return NULL;
    }
    if (!o->dry && spool_make(o->folder, e) < 0)
        return NULL;
    s = xcalloc(1, sizeof(*s));
    s->base.type = t;
    s->loop = l;
    s->opts = o;
    return &s->base;
}

/* It does not wait any more. */
static void spool_leave(struct spool_send *s)
{
    struct spool *p = (struct spool *)s->base.from;

    p->looked -= s->looked;
    if (p->cursor == s)
        p->cursor = (struct spool_send *)s->base.next;
    if (p->base.first == &s->base && !s->base.next) {
        loop_remove(p->loop, p->timer);
        p->timer = 0;
    }
}

static void spool_cancel(struct send *s)
{
    spool_leave((struct spool_send *)s);
    send_free(s);
}

static void spool_close(struct provider *p)
{
    free(p);
}

/* ---- waiting ---- */

static size_t spool_waiting(const struct provider *p)
{
    return ((const struct spool *)p)->looked;
}

static bool spool_is_named(const struct fs_names *names, const char *id)
{
    size_t lo = 0, hi = names->len, n = strlen(id);

    while (lo < hi) { /* the first name that is not before the id */
        size_t mid = lo + (hi - lo) / 2;

        if (strcmp(names->name[mid], id) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < names->len && strncmp(names->name[lo], id, n) == 0;
}

static void spool_not_there(struct spool_send *s)
{
    ((struct spool *)s->base.from)->looked += !s->looked;
    s->looked = true;
}

static void spool_take(struct spool_send *s)
{
    const struct spool *p = (const struct spool *)s->base.from;
    struct err e = ERR_INIT;
    struct doc a;
    int rc = spool_answer(p->opts->folder, s->id, &a, &e);

    if (rc < 0 && !s->warned) {
        log_warn("%s; ignored until it is valid", e.text);
        s->warned = true;
    }
    if (rc <= 0) {
        spool_not_there(s);
        return;
    }
    spool_leave(s);
    send_end(&s->base, &a.result);
    doc_release(&a);
}

static void spool_look_in(struct spool *p, int64_t ns);

static void spool_on_look(void *arg)
{
    struct spool *p = arg;
    char *dir = fs_join(p->opts->folder, "answers");
    int64_t began = tick_now_ns(), next;
    struct fs_names names = {0};
    struct err e = ERR_INIT;
    struct spool_send *s;

    p->timer = 0;
    if (fs_list(dir, true, &names, &e) < 0)
        log_warn("%s", e.text);
    /* A callback may ask and cancel: it moves the cursor, not us. */
    p->cursor = (struct spool_send *)p->base.first;
    while ((s = p->cursor)) {
        p->cursor = (struct spool_send *)s->base.next;
        if (spool_is_named(&names, s->id))
            spool_take(s);
        else
            spool_not_there(s);
    }
    fs_names_release(&names);
    free(dir);
    next = LOOK_SHARE * (tick_now_ns() - began);
    if (p->base.first && !p->timer)
        spool_look_in(p, next > LOOK_EVERY ? next : LOOK_EVERY);
}

static void spool_look_in(struct spool *p, int64_t ns)
{
    loop_remove(p->loop, p->timer);
    p->timer = loop_add_timer(p->loop, tick_now_ns() + ns, spool_on_look, p);
}

/* ---- asking ---- */

static int spool_put_request(struct spool *p, const char *id,
                             const struct llm_request *q, struct err *e)
{
    char *path = spool_path(p->opts->folder, "requests", id, ".json"), *text;
    json_t *v;
    int rc = 0;

    if (!fs_is_file(path)) {
        v = request_json(q, p->opts);
        text = json_dumps(v, JSON_INDENT(1));
        rc = fs_replace(path, text, strlen(text), e);
        free(text);
        json_decref(v);
    }
    free(path);
    return rc;
}

static struct send *spool_send(struct provider *base,
                               const struct llm_request *q, send_fn *fn,
                               void *arg, struct err *e)
{
    struct spool *p = (struct spool *)base;
    struct spool_send *s = send_new(sizeof(*s), base, fn, arg);

    request_id(q, s->id);
    if (spool_put_request(p, s->id, q, e) < 0) {
        send_free(&s->base);
        return NULL;
    }
    spool_look_in(p, 0);
    return &s->base;
}

const struct provider_type provider_spool = {
    .name = "spool",
    .patient = true,
    .open = spool_open,
    .close = spool_close,
    .send = spool_send,
    .cancel = spool_cancel,
    .waiting = spool_waiting,
};

#define FILE_LIMIT ((size_t)1 << 30)
#define CLAIM      "batch\n"

/* ---- out ---- */

static void batch_copy(json_t *to, const char *as, const json_t *from,
                       const char *name)
{
    json_t *v = json_object_get(from, name);

    if (v && !json_is_null(v))
        json_object_set(to, as, v);
}

/* The line for a request, or NULL. */
static json_t *batch_line(const char *id, const json_t *request,
                          const char *model, struct err *e)
{
    json_t *v = json_object(), *body = json_object();

    if (model)
        json_object_set_new(body, "model", json_string(model));
    batch_copy(body, "model", request, "model");
    batch_copy(body, "messages", request, "messages");
    batch_copy(body, "max_completion_tokens", request, "max_tokens");
    batch_copy(body, "temperature", request, "temperature");
    batch_copy(body, "seed", request, "seed");
    json_object_set_new(v, "custom_id", json_string(id));
    json_object_set_new(v, "method", json_string("POST"));
    json_object_set_new(v, "url", json_string("/v1/chat/completions"));
    json_object_set_new(v, "body", body);
    if (json_is_string(json_object_get(body, "model")) &&
        json_is_array(json_object_get(body, "messages")))
        return v;
    err_set(e, ERR_INPUT,
            json_is_array(json_object_get(body, "messages"))
                ? "the request names no model; use --model NAME"
                : "there are no messages");
    json_decref(v);
    return NULL;
}

struct exporting {
    const char *dir, *model;
    struct buf text;
    struct fs_names ids; /* written */
    struct batch_exported *n;
};

static int batch_export_one(struct exporting *x, const char *id, struct err *e)
{
    char *path = spool_path(x->dir, "requests", id, ".json"), *text;
    char *claim = spool_path(x->dir, "claims", id, "");
    json_t *request = NULL, *line = NULL;
    int rc = 0;

    if (spool_has_answer(x->dir, id)) {
        x->n->answered++;
    } else if (fs_is_file(claim)) {
        x->n->claimed++;
    } else if (!(request = jsn_read(path, e))) {
        rc = -1;
    } else if (!(line = batch_line(id, request, x->model, e))) {
        rc = err_wrap(e, "%s", path);
    } else {
        text = json_dumps(line, JSON_COMPACT);
        buf_puts(&x->text, text);
        buf_putc(&x->text, '\n');
        free(text);
        x->ids.name =
            xgrow(x->ids.name, &x->ids.cap, x->ids.len, sizeof(*x->ids.name));
        x->ids.name[x->ids.len++] = xstrdup(id);
    }
    json_decref(request);
    json_decref(line);
    free(path);
    free(claim);
    return rc;
}

static int batch_export_all(struct exporting *x, struct err *e)
{
    char *requests = fs_join(x->dir, "requests");
    struct fs_names names;
    int rc = fs_list(requests, false, &names, e);

    for (size_t i = 0; rc == 0 && i < names.len; i++) {
        struct str name = str_of(names.name[i]);
        char id[REQUEST_ID];

        if (name.n != REQUEST_ID - 1 + 5 || !str_ends(name, ".json"))
            continue;
        snprintf(id, sizeof(id), "%.32s", name.p);
        if (request_is_id(id))
            rc = batch_export_one(x, id, e);
    }
    fs_names_release(&names);
    free(requests);
    return rc;
}

int batch_export(const char *dir, const char *file, const char *model,
                 struct batch_exported *n, struct err *e)
{
    struct exporting x = {.dir = dir, .model = model, .n = n};
    int rc;

    *n = (struct batch_exported){0};
    buf_init(&x.text, BUF_UNLIMITED);
    rc = batch_export_all(&x, e);
    if (rc == 0)
        rc = fs_replace(file, buf_str(&x.text), x.text.len, e);
    /* The file is written: claim its requests. */
    for (size_t i = 0; rc == 0 && i < x.ids.len; i++)
        rc = spool_claim(dir, x.ids.name[i], CLAIM, e) < 0 ? -1 : 0;
    n->written = x.ids.len;
    fs_names_release(&x.ids);
    buf_release(&x.text);
    return rc;
}

/* ---- in ---- */

static json_t *batch_get(const json_t *v, const char *a, const char *b)
{
    return json_object_get(json_object_get(v, a), b);
}

static int64_t batch_count(const json_t *v)
{
    json_int_t n = json_integer_value(v); /* 0 for NULL */

    return n < 0 || n > 1000000000 ? 0 : (int64_t)n;
}

/* What the provider said went wrong. */
static const char *batch_error(const json_t *line)
{
    const json_t *body = batch_get(line, "response", "body");
    const char *said = json_string_value(batch_get(body, "error", "message"));

    if (!said)
        said = json_string_value(batch_get(line, "error", "message"));
    return said && *said ? said : "the result of the batch is an error";
}

static int batch_import_line(const char *dir, const json_t *line,
                             struct batch_imported *n, struct err *e)
{
    const char *id = jsn_maybe(line, "custom_id");
    int64_t status = batch_count(batch_get(line, "response", "status_code"));
    struct send_result r = {.outcome = SEND_REFUSED, .error = ""};
    struct answer a;
    struct err bad = ERR_INIT;
    char *request;
    bool ours;
    int rc = 0;

    if (!id)
        return err_set(e, ERR_INPUT,
                       "not a batch result: custom_id is missing");
    request = spool_path(dir, "requests", id, ".json");
    ours = request_is_id(id) && fs_is_file(request);
    free(request);
    if (!ours) {
        n->unknown++;
        return 0;
    }
    if (spool_has_answer(dir, id)) {
        n->known++;
        return 0;
    }
    answer_init(&a, 1, HTTP_REPLY);
    if (status == 200 &&
        api_openai.read(&a, batch_get(line, "response", "body"), &bad) == 0) {
        r.outcome = SEND_ANSWERED;
        answer_tell(&a, &r);
        n->answered++;
        rc = spool_put_answer(dir, id, &r, e);
    } else if (status >= 400 &&
               http_provider_outcome((int)status) == SEND_REFUSED) {
        r.error = batch_error(line);
        n->refused++;
        rc = spool_put_answer(dir, id, &r, e);
    } else {
        n->again++;
        spool_unclaim(dir, id);
    }
    answer_release(&a);
    return rc;
}

int batch_import(const char *dir, const char *file, struct batch_imported *n,
                 struct err *e)
{
    struct str rest, line;
    struct buf text = {.limit = FILE_LIMIT};
    int rc, number = 0;

    *n = (struct batch_imported){0};
    rc = spool_make(dir, e);
    if (rc == 0)
        rc = fs_read(file, &text, e);
    rest = buf_view(&text);
    while (rc == 0 && str_part(&rest, '\n', &line)) {
        json_t *v;

        line = str_trim(line);
        number++;
        if (!line.n)
            continue;
        v = jsn_parse("JSON", line.p, line.n, e);
        rc = v ? batch_import_line(dir, v, n, e) : -1;
        json_decref(v);
        if (rc < 0)
            err_wrap(e, "%s:%d", file, number);
    }
    buf_release(&text);
    return rc;
}
