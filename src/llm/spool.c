/* spool.c: the provider `spool`: requests and answers are files in a folder,
 * answered by a person, a program or a batch. Answers may take days; a run
 * that is started again finds the answers that have arrived, since a request's
 * id depends only on its contents. */
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "llm/folder.h"
#include "llm/llm.h"
#include "llm/provider.h"

#include <stdlib.h>
#include <string.h>

/* The folder is looked at so often, or with a twentieth of the time. */
#define LOOK_EVERY (250 * TICK_MS)
#define LOOK_SHARE 20

struct spool {
    struct provider base;
    struct loop *loop;
    const struct llm_opts *opts;
    struct send *first;  /* waiting */
    struct send *cursor; /* the next to look at, while we look */
    size_t looked;       /* of these, looked for in vain */
    uint64_t timer;
};

struct send {
    struct spool *spool;
    struct send *next, *prev;
    char id[REQUEST_ID];
    bool warned; /* of an answer that is not valid */
    bool looked; /* not found yet */
    send_fn *fn;
    void *arg;
};

static struct provider *spool_open(struct loop *l, const struct llm_opts *o,
                                   struct err *e)
{
    struct spool *s;

    if (!o->folder) {
        err_set(e, ERR_USAGE, "the provider spool needs --spool DIR");
        return NULL;
    }
    if (!o->dry && folder_make(o->folder, e) < 0)
        return NULL;
    s = xcalloc(1, sizeof(*s));
    s->base.type = &provider_spool;
    s->loop = l;
    s->opts = o;
    return &s->base;
}

static void spool_cancel(struct send *s)
{
    struct spool *p = s->spool;

    p->looked -= s->looked;
    if (p->cursor == s)
        p->cursor = s->next;
    *(s->prev ? &s->prev->next : &p->first) = s->next;
    if (s->next)
        s->next->prev = s->prev;
    free(s);
    if (!p->first) {
        loop_remove(p->loop, p->timer);
        p->timer = 0;
    }
}

static void spool_close(struct provider *p)
{
    struct spool *s = (struct spool *)p;

    for (struct send *q = s->first, *next; q; q = next) {
        next = q->next;
        spool_cancel(q);
    }
    loop_remove(s->loop, s->timer);
    free(s);
}

/* ---- waiting ---- */

static size_t spool_waiting(const struct provider *p)
{
    return ((const struct spool *)p)->looked;
}

static bool is_named(const struct fs_names *names, const char *id)
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

static void not_there(struct send *s)
{
    s->spool->looked += !s->looked;
    s->looked = true;
}

static void take(struct send *s)
{
    struct err e = ERR_INIT;
    struct doc a;
    send_fn *fn = s->fn;
    void *arg = s->arg;
    int rc = folder_answer(s->spool->opts->folder, s->id, &a, &e);

    if (rc < 0 && !s->warned) {
        log_warn("%s; ignored until it is valid", e.text);
        s->warned = true;
    }
    if (rc <= 0) {
        not_there(s);
        return;
    }
    spool_cancel(s);
    fn(arg, &a.result);
    doc_release(&a);
}

static void look_in(struct spool *p, int64_t ns);

static void on_look(void *arg)
{
    struct spool *p = arg;
    char *dir = fs_join(p->opts->folder, "answers");
    int64_t began = tick_now_ns(), next;
    struct fs_names names = {0};
    struct err e = ERR_INIT;
    struct send *s;

    p->timer = 0;
    if (fs_list(dir, true, &names, &e) < 0)
        log_warn("%s", e.text);
    /* A callback may ask and cancel: it moves the cursor, not us. */
    for (p->cursor = p->first; (s = p->cursor);) {
        p->cursor = s->next;
        if (is_named(&names, s->id))
            take(s);
        else
            not_there(s);
    }
    fs_names_release(&names);
    free(dir);
    next = LOOK_SHARE * (tick_now_ns() - began);
    if (p->first && !p->timer)
        look_in(p, next > LOOK_EVERY ? next : LOOK_EVERY);
}

static void look_in(struct spool *p, int64_t ns)
{
    loop_remove(p->loop, p->timer);
    p->timer = loop_add_timer(p->loop, tick_now_ns() + ns, on_look, p);
}

/* ---- asking ---- */

static int put_request(struct spool *p, const char *id,
                       const struct llm_request *q, struct err *e)
{
    char *path = folder_path(p->opts->folder, "requests", id, ".json"), *text;
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
    struct send *s = xcalloc(1, sizeof(*s));

    *s = (struct send){.spool = p, .next = p->first, .fn = fn, .arg = arg};
    request_id(q, s->id);
    if (put_request(p, s->id, q, e) < 0) {
        free(s);
        return NULL;
    }
    if (p->first)
        p->first->prev = s;
    p->first = s;
    look_in(p, 0);
    return s;
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
