/* roster.c: lines, and the file that shows them. */
#include "verify/roster.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"

#include <stdlib.h>
#include <string.h>

#define APART_NS TICK_S
#define SHARE    50   /* writing takes at most this part of the time */
#define GONE_MAX 1000 /* lines of workers that have gone */

const char *const roster_states[ROSTER_STATES] = {
    [ROSTER_IDLE] = "idle",     [ROSTER_BUSY] = "busy", [ROSTER_LOST] = "lost",
    [ROSTER_FENCED] = "fenced", [ROSTER_LEFT] = "left",
};

struct roster {
    char *path;
    struct roster_line *first, *last; /* in the order of joining */
    int64_t next_ns;
    bool warned;
};

struct roster *roster_new(const char *path)
{
    struct roster *r = xcalloc(1, sizeof(*r));

    r->path = path ? xstrdup(path) : NULL;
    return r;
}

static void roster_line_free(struct roster_line *l)
{
    json_decref(l->tasks);
    free(l);
}

static void roster_drop(struct roster *r, struct roster_line *l)
{
    *(l->prev ? &l->prev->next : &r->first) = l->next;
    *(l->next ? &l->next->prev : &r->last) = l->prev;
    roster_line_free(l);
}

void roster_free(struct roster *r)
{
    if (!r)
        return;
    for (struct roster_line *l = r->first, *next; l; l = next) {
        next = l->next;
        roster_line_free(l);
    }
    free(r->path);
    free(r);
}

static bool roster_is_gone(const struct roster_line *l)
{
    return l->state > ROSTER_BUSY;
}

/* The oldest of too many that have gone. */
static void roster_forget(struct roster *r)
{
    struct roster_line *l, *oldest = NULL;
    size_t gone = 0;

    for (l = r->first; l; l = l->next) {
        if (!roster_is_gone(l))
            continue;
        oldest = oldest ? oldest : l;
        gone++;
    }
    if (gone > GONE_MAX)
        roster_drop(r, oldest);
}

static struct roster_line *roster_find(const struct roster *r, const char *name)
{
    struct roster_line *l = r->first;

    while (l && (!roster_is_gone(l) || strcmp(l->name, name) != 0))
        l = l->next;
    return l;
}

struct roster_line *roster_join(struct roster *r, const char *name)
{
    struct roster_line *l = roster_find(r, name);

    if (!l) {
        roster_forget(r);
        l = xcalloc(1, sizeof(*l));
        snprintf(l->name, sizeof(l->name), "%s", name);
        l->state = ROSTER_STATES;
        l->prev = r->last;
        *(r->last ? &r->last->next : &r->first) = l;
        r->last = l;
    }
    l->joined++;
    roster_set(l, ROSTER_IDLE);
    return l;
}

void roster_set(struct roster_line *l, enum roster_state state)
{
    if (l->state == state)
        return;
    l->state = state;
    l->since_us = date_now_us();
    if (roster_is_gone(l)) {
        l->before += l->verdicts;
        l->verdicts = l->truths = 0;
        l->taken_bytes = 0;
        json_decref(l->tasks);
        l->tasks = NULL;
    }
}

/* ---- the file ---- */

static json_t *roster_line_json(const struct roster_line *l)
{
    const char *slash = strchr(l->name, '/');
    size_t host = slash ? (size_t)(slash - l->name) : strlen(l->name);

    return json_pack(
        "{s:s, s:s%, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
        "s:O?}",
        "name", l->name, "host", l->name, host, "device", l->device, "state",
        roster_states[l->state], "since", (json_int_t)l->since_us, "heard",
        (json_int_t)l->heard_us, "slots", (json_int_t)l->slots, "verdicts",
        (json_int_t)l->before + (json_int_t)l->verdicts, "refused",
        (json_int_t)l->refused, "joined", (json_int_t)l->joined, "truths",
        (json_int_t)l->truths, "memory_bytes", (json_int_t)l->memory_bytes,
        "taken_bytes", (json_int_t)l->taken_bytes, "tasks", l->tasks);
}

static void roster_write_file(struct roster *r)
{
    json_t *list = json_array(), *all;
    struct err e = ERR_INIT;
    char *text;

    for (const struct roster_line *l = r->first; l; l = l->next)
        json_array_append_new(list, roster_line_json(l));
    all = json_pack("{s:I, s:o}", "at", (json_int_t)date_now_us(), "workers",
                    list);
    text = jsn_canonical(all);
    if (fs_replace_later(r->path, text, strlen(text), &e) < 0 && !r->warned) {
        r->warned = true;
        log_warn("%s; pages may show an outdated list of workers", e.text);
    }
    free(text);
    json_decref(all);
}

void roster_write(struct roster *r)
{
    int64_t start_ns = tick_now_ns(), rest_ns;

    if (!r->path || !r->first || start_ns < r->next_ns)
        return;
    roster_write_file(r);
    rest_ns = SHARE * (tick_now_ns() - start_ns);
    r->next_ns = start_ns + (rest_ns > APART_NS ? rest_ns : APART_NS);
}

void roster_close(struct roster *r)
{
    for (struct roster_line *l = r->first; l; l = l->next)
        if (!roster_is_gone(l))
            roster_set(l, ROSTER_LEFT);
    if (r->path && r->first)
        roster_write_file(r);
}

json_t *roster_read(const char *dir, struct err *e)
{
    char *path = fs_join(dir, ROSTER_FILE);
    json_t *v = NULL;

    if (fs_is_file(path))
        v = jsn_read(path, e);
    free(path);
    if (v && !json_is_array(json_object_get(v, "workers"))) {
        json_decref(v);
        return NULL;
    }
    return v;
}
