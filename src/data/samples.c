/* samples.c: solved tasks of runs, without those of a benchmark. */
#include "data/samples.h"

#include "base/json.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "run/query.h"
#include "source/py_normal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMED 20 /* overlaps that are logged */

struct choice {
    struct samples *s;
    const struct samples_how *how;
    struct overlap_scratch *scratch;
    struct map checked;  /* blob of a program: CLEAN, or why not */
    struct map seen;     /* hash of a program */
    char *first;         /* the first overlap */
    struct arena memory; /* of one text */
};

static char clean[] = "";

/* ---- is it of the benchmark? ---- */

static char *explain(const struct overlap *o, const struct overlap_result *r)
{
    struct buf gram = BUF_INIT;
    char *quoted, *text;
    json_t *v;

    if (r->fuzzy)
        return xasprintf("is %.1f %% similar to %s",
                         200.0 * (double)r->near.lcs /
                             (double)(r->near.length + r->near.other),
                         overlap_path(o, r->near.index));
    overlap_put_ngram(o, &r->gram, &gram);
    v = jsn_text(buf_str(&gram), gram.len);
    quoted = json_dumps(v, JSON_ENCODE_ANY);
    text = xasprintf("has %d tokens in a row of %s: %.300s", NGRAM_TOKENS,
                     overlap_path(o, r->gram.index), quoted);
    free(quoted);
    json_decref(v);
    buf_release(&gram);
    return text;
}

/* Why the program is of the benchmark, or `clean`; NULL: an error. */
static const char *check_program(struct choice *c, struct store *s,
                                 const char *blob, struct err *e)
{
    struct overlap_result r;
    struct str text = {0};
    char *why = map_get(&c->checked, str_of(blob));

    if (why)
        return why;
    arena_reset(&c->memory);
    if (store_text(s, blob, &c->memory, &text, e) < 0)
        return NULL;
    overlap_check(c->how->against, c->scratch, text, &r);
    why = r.fuzzy || r.ngram ? explain(c->how->against, &r) : clean;
    map_set(&c->checked, str_of(blob), why);
    return why;
}

static void note_overlap(struct choice *c, const struct sample *x,
                         const char *example, const char *why)
{
    char *line =
        xasprintf("%s: %s: %s%s%s%s", x->dir, jsn_str(x->row, "id"),
                  example ? "its prompt shows " : "", example ? example : "",
                  example ? ", which " : "", why);

    if (c->s->count.overlaps++ < MAX_NAMED)
        log_warn("overlap with the benchmark: %s", line);
    if (c->first)
        free(line);
    else
        c->first = line;
}

/* 1: it is of the benchmark; `example` is NULL for the task itself. */
static int is_overlap(struct choice *c, const struct sample *x,
                      const char *example, const char *blob, struct err *e)
{
    const char *why = check_program(c, x->store, blob, e);

    if (!why)
        return -1;
    if (why != clean)
        note_overlap(c, x, example, why);
    return why != clean;
}

/* 1: it is of the benchmark, or shows something of it: in any attempt, as a record may have
 * the prompt of any. */
static int is_tainted(struct choice *c, const struct sample *x, struct err *e)
{
    int rc = is_overlap(c, x, NULL, jsn_str(x->row, "source"), e);
    json_t *shown = NULL, *s;
    size_t i;

    if (rc == 0) {
        shown = query_list(x->store, "data/shown", json_incref((json_t *)x->row),
                           e);
        rc = shown ? 0 : -1;
    }
    json_array_foreach(shown, i, s) if (rc == 0)
        rc = is_overlap(c, x, jsn_str(s, "name"), jsn_str(s, "problem"), e);
    json_decref(shown);
    return rc;
}

/* ---- which tasks ---- */

static int identify(struct choice *c, struct sample *x, struct err *e)
{
    const struct samples_how *how = c->how;
    struct str text = {0};
    struct rng r;

    arena_reset(&c->memory);
    if (store_text(x->store, jsn_str(x->row, "source"), &c->memory, &text, e) <
        0)
        return -1;
    py_normal_hash_renamed(text, x->hash);
    rng_init(&r, "%" PRId64 "/%s/split", how->seed, x->hash);
    x->test = (int64_t)rng_below(&r, 100) < how->test_percent;
    rng_init(&r, "%" PRId64 "/%s/problem", how->seed, x->hash);
    x->rank = rng_next(&r);
    return 0;
}

static int add_task(struct choice *c, struct sample x, struct err *e)
{
    struct samples *s = c->s;
    bool solved = jsn_int(x.row, "attempt") > 0;
    int rc;

    if (jsn_maybe(x.row, "kind")) {
        s->count.pieces += solved;
        return 0;
    }
    s->count.tasks++;
    if (!solved) {
        s->count.unsolved++;
        return 0;
    }
    if (jsn_maybe(x.row, "retired_on")) {
        s->count.retired++;
        return 0;
    }
    if (identify(c, &x, e) < 0)
        return -1;
    if (map_get(&c->seen, str_of(x.hash))) {
        s->count.duplicates++;
        return 0;
    }
    rc = is_tainted(c, &x, e);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    map_set(&c->seen, str_of(x.hash), s);
    s->item = xgrow(s->item, &s->cap, s->len, sizeof(*s->item));
    s->item[s->len++] = x;
    return 0;
}

static int refuse(const struct choice *c, struct err *e)
{
    return err_set(
        e, ERR_INPUT,
        "%zu solved task%s overlap%s with the benchmark, so nothing was "
        "written: %.600s; --drop-overlap leaves such tasks out",
        c->s->count.overlaps, c->s->count.overlaps == 1 ? "" : "s",
        c->s->count.overlaps == 1 ? "s" : "", c->first);
}

static int choose(struct choice *c, struct err *e)
{
    struct samples *s = c->s;
    const json_t *row;
    size_t k;

    s->run = xcalloc(c->how->runs, sizeof(*s->run));
    for (size_t i = 0; i < c->how->runs; i++) {
        const char *dir = c->how->run[i];
        struct store *store = query_open(dir, e);
        json_t *rows = store ? query_list(store, "run/kernels", NULL, e) : NULL;

        s->run[s->runs++] = (struct samples_run){store, rows};
        if (!rows)
            return -1;
        json_array_foreach(rows, k, row) if (
            add_task(c, (struct sample){.store = store, .dir = dir, .row = row},
                     e) < 0) return err_wrap(e, "%s: %s", dir,
                                             jsn_str(row, "id"));
    }
    return s->count.overlaps && !c->how->drop_overlap ? refuse(c, e) : 0;
}

int samples_open(struct samples *s, const struct samples_how *how,
                 struct err *e)
{
    struct choice c = {
        .s = s, .how = how, .scratch = overlap_scratch_new(how->against)};
    int rc;

    *s = (struct samples){0};
    rc = choose(&c, e);
    for (size_t i = 0; i < c.checked.len; i++)
        if (c.checked.items[i].value != clean)
            free(c.checked.items[i].value);
    map_release(&c.checked);
    map_release(&c.seen);
    overlap_scratch_free(c.scratch);
    arena_release(&c.memory);
    free(c.first);
    return rc;
}

void samples_close(struct samples *s)
{
    for (size_t i = 0; i < s->runs; i++) {
        json_decref(s->run[i].rows);
        query_close(s->run[i].store);
    }
    free(s->run);
    free(s->item);
    *s = (struct samples){0};
}
