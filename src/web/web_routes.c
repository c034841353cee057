/* web_routes.c: paths to views and to the parts of the page. */
#include "web/web_routes.h"

#include "base/mem.h"
#include "web/page.h"

#include <stdlib.h>
#include <string.h>

/* ---- answers ---- */

static void put_json(struct buf *out, json_t *j)
{
    char *text = json_dumps(j, JSON_COMPACT);

    if (!text)
        BUG("a view that is no JSON");
    buf_puts(out, text);
    free(text);
    json_decref(j);
}

static void fail(struct web_answer *a, unsigned status, const char *why)
{
    a->status = status;
    buf_reset(&a->body);
    put_json(&a->body, json_pack("{s:o}", "error", jsn_text(why, strlen(why))));
}

/* ---- views of all runs ---- */

/* The run that cannot be read now, or NULL. */
static const struct web_live_run *closed_run(const struct web_live *l)
{
    for (size_t i = 0; i < l->runs; i++)
        if (!l->run[i].open)
            return &l->run[i];
    return NULL;
}

/* The caller frees the list. */
static struct run_view **list_runs(struct web_live *l)
{
    struct run_view **runs = xcalloc(l->runs, sizeof(struct run_view *));

    for (size_t i = 0; i < l->runs; i++)
        runs[i] = &l->run[i].view;
    return runs;
}

static json_t *make_view(struct web_live *l, size_t which, struct err *e)
{
    struct run_view **runs = list_runs(l);
    json_t *j = views_all[which].make(runs, l->runs, e);

    free(runs);
    if (j)
        json_object_set_new(j, "live", json_integer(l->version));
    return j;
}

/* Takes the reference. */
static struct web_text *new_text(json_t *j)
{
    char *text = json_dumps(j, JSON_COMPACT);
    size_t n = text ? strlen(text) : 0;
    struct web_text *t = xmalloc(sizeof(*t) + n);

    if (!text)
        BUG("a view that is no JSON");
    *t = (struct web_text){.refs = 1, .n = n};
    memcpy(t->data, text, n);
    free(text);
    json_decref(j);
    return t;
}

void web_text_drop(struct web_text *t)
{
    if (t && --t->refs == 0)
        free(t);
}

/* Made once for all who ask, until there is news. */
static void answer_view(struct web_routes *r, size_t which,
                        struct web_answer *a)
{
    struct err e = ERR_INIT;
    json_t *j;

    if (r->kept[which].version != r->live->version) {
        j = make_view(r->live, which, &e);
        if (!j) {
            fail(a, 500, e.text);
            return;
        }
        web_text_drop(r->kept[which].text);
        r->kept[which].text = new_text(j);
        r->kept[which].version = r->live->version;
    }
    a->status = 200;
    a->shared = r->kept[which].text;
    a->shared->refs++;
}

/* ---- what is new in the grid ---- */

/* A version for each run: "12,3". */
static bool read_since(struct str text, int64_t *out, size_t n)
{
    struct str word;

    for (size_t i = 0; i < n; i++) {
        bool more = str_cut(&text, ',', &word);

        if (more == (i + 1 == n) ||
            !str_to_i64(more ? word : text, 0, INT64_MAX, &out[i]))
            return false;
    }
    return true;
}

static void answer_news(struct web_live *l, const char *text,
                        struct web_answer *a)
{
    int64_t *since = xcalloc(l->runs, sizeof(*since));
    struct run_view **runs = list_runs(l);

    if (read_since(str_of(text), since, l->runs)) {
        a->status = 200;
        put_json(&a->body, views_grid_since(runs, l->runs, since));
    } else {
        fail(a, 400, "since: not a version for each run");
    }
    free(since);
    free(runs);
}

/* ---- a task ---- */

static bool number_arg(const struct web_request *q, const char *name,
                       int64_t most, int64_t *out)
{
    const char *text = web_request_arg(q, name);

    *out = 0;
    return !text || str_to_i64(str_of(text), 0, most, out);
}

static void answer_task(struct web_live *l, const struct web_request *q,
                        struct web_answer *a)
{
    const char *id = web_request_arg(q, "id");
    struct err e = ERR_INIT;
    int64_t run, attempt;
    struct run_task *t;
    json_t *j;

    if (!id || !number_arg(q, "run", (int64_t)l->runs - 1, &run) ||
        !number_arg(q, "attempt", INT64_MAX, &attempt)) {
        fail(a, 404, "no such task");
        return;
    }
    t = run_view_task(&l->run[run].view, id);
    j = t ? views_task(&l->run[run].view, t, attempt, &e) : NULL;
    if (!j && e.kind != ERR_NONE) {
        fail(a, 500, e.text);
    } else if (!j) {
        fail(a, 404, "no such task or attempt");
    } else {
        a->status = 200;
        put_json(&a->body, j);
    }
}

/* ---- all of them ---- */

static bool answer_api(struct web_routes *r, const struct web_request *q,
                       struct web_answer *a)
{
    const struct web_live_run *closed = closed_run(r->live);
    const size_t prefix = strlen("/api/");
    const char *name;
    size_t which = 0;

    a->type = "application/json";
    if (strncmp(q->path, "/api/", prefix) != 0)
        return false;
    name = q->path + prefix;
    while (which < VIEWS && strcmp(name, views_all[which].name) != 0)
        which++;
    if (closed)
        fail(a, 503, closed->why.text);
    else if (strcmp(name, "grid") == 0 && web_request_arg(q, "since"))
        answer_news(r->live, web_request_arg(q, "since"), a);
    else if (which < VIEWS)
        answer_view(r, which, a);
    else if (strcmp(name, "task") == 0)
        answer_task(r->live, q, a);
    else
        return false;
    return true;
}

void web_routes_answer(struct web_routes *r, const struct web_request *q,
                       struct web_answer *a)
{
    if (strcmp(q->path, "/") == 0) {
        a->status = 200;
        a->type = "text/html; charset=utf-8";
        a->policy = buf_str(&r->policy);
        a->fixed = (struct str){buf_str(&r->page), r->page.len};
    } else if (strcmp(q->path, "/favicon.ico") == 0) {
        a->status = 204; /* a browser asks by itself */
        a->type = "image/x-icon";
    } else if (!answer_api(r, q, a)) {
        fail(a, 404, "not found");
    }
}

void web_routes_event(const struct web_live *l, struct buf *out)
{
    json_t *runs = json_array();

    for (size_t i = 0; i < l->runs; i++)
        json_array_append_new(
            runs, json_pack("{s:I, s:s}", "version",
                            (json_int_t)l->run[i].version, "state",
                            l->run[i].open ? run_states[l->run[i].view.state]
                                           : "unreadable"));
    buf_puts(out, "event: change\ndata: ");
    put_json(out, json_pack("{s:I, s:o}", "version", (json_int_t)l->version,
                            "runs", runs));
    buf_puts(out, "\n\n");
}

void web_routes_init(struct web_routes *r, struct web_live *live)
{
    *r = (struct web_routes){.live = live};
    buf_init(&r->page, BUF_UNLIMITED);
    buf_init(&r->policy, BUF_UNLIMITED);
    page_put(NULL, &r->page);
    page_policy(true, &r->policy);
    buf_puts(&r->policy, "; frame-ancestors 'none'");
}

void web_routes_release(struct web_routes *r)
{
    buf_release(&r->page);
    buf_release(&r->policy);
    for (size_t i = 0; i < VIEWS; i++)
        web_text_drop(r->kept[i].text);
}
