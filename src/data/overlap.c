/* overlap.c: both tests over the files of a benchmark; threads. */
#include "data/overlap.h"

#include "base/mem.h"
#include "data/rows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct file {
    char *path, *text;
    size_t len;
};

struct overlap {
    struct file *file;
    size_t len, cap;
    struct fuzzy *fuzzy;   /* NULL: not tested */
    struct ngrams *ngrams; /* NULL: not tested */
};

struct overlap_scratch {
    struct fuzzy_scratch *fuzzy;
    struct ngram_scratch *ngram;
};

static int read_folder(struct overlap *o, const char *dir, struct err *e)
{
    struct rows *r = rows_open(dir, &(struct rows_how){.suffix = ".py"}, e);
    size_t before = o->len;
    struct row row;
    int rc;

    if (!r)
        return -1;
    while ((rc = rows_next(r, &row, e)) > 0) {
        o->file = xgrow(o->file, &o->cap, o->len, sizeof(*o->file));
        o->file[o->len++] = (struct file){
            xstrdup(row.path), xstrndup(row.text.p, row.text.n), row.text.n};
    }
    rows_close(r);
    if (rc == 0 && o->len == before)
        return err_set(e, ERR_INPUT,
                       "%s: no .py file below it; --against takes a folder of "
                       "the benchmark's tasks",
                       dir);
    return rc;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path,
                  ((const struct file *)b)->path);
}

struct overlap *overlap_load(const struct overlap_how *how,
                             const char *const *dir, size_t dirs, struct err *e)
{
    struct overlap *o = xcalloc(1, sizeof(*o));
    struct str *text;
    int rc = dirs ? 0 : err_set(e, ERR_USAGE, "no folder of a benchmark");

    for (size_t i = 0; rc == 0 && i < dirs; i++)
        rc = read_folder(o, dir[i], e);
    if (rc < 0) {
        overlap_free(o);
        return NULL;
    }
    qsort(o->file, o->len, sizeof(*o->file), by_path);
    text = xcalloc(o->len, sizeof(*text));
    for (size_t i = 0; i < o->len; i++)
        text[i] = (struct str){o->file[i].text, o->file[i].len};
    if (how->fuzzy)
        o->fuzzy = fuzzy_new(text, o->len);
    if (how->ngram)
        o->ngrams = ngrams_new(&how->grams, text, o->len);
    free(text);
    return o;
}

void overlap_free(struct overlap *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->len; i++) {
        free(o->file[i].path);
        free(o->file[i].text);
    }
    free(o->file);
    fuzzy_free(o->fuzzy);
    ngrams_free(o->ngrams);
    free(o);
}

size_t overlap_files(const struct overlap *o)
{
    return o->len;
}

const char *overlap_path(const struct overlap *o, size_t i)
{
    return o->file[i].path;
}

const struct ngrams *overlap_ngrams(const struct overlap *o)
{
    return o->ngrams;
}

struct overlap_scratch *overlap_scratch_new(const struct overlap *o)
{
    struct overlap_scratch *s = xcalloc(1, sizeof(*s));

    if (o->fuzzy)
        s->fuzzy = fuzzy_scratch_new(o->fuzzy);
    if (o->ngrams)
        s->ngram = ngram_scratch_new(o->ngrams);
    return s;
}

void overlap_scratch_free(struct overlap_scratch *s)
{
    if (!s)
        return;
    fuzzy_scratch_free(s->fuzzy);
    ngram_scratch_free(s->ngram);
    free(s);
}

void overlap_check(const struct overlap *o, struct overlap_scratch *s,
                   struct str text, struct overlap_result *out)
{
    *out = (struct overlap_result){0};
    if (o->fuzzy)
        out->fuzzy = fuzzy_find(o->fuzzy, s->fuzzy, text, &out->near);
    if (o->ngrams)
        out->ngram = ngrams_find(o->ngrams, s->ngram, text, &out->gram);
}

/* ---- threads: each takes the next text; nobody writes where another does ---- */

struct work {
    const struct overlap *overlap;
    const struct str *text;
    struct overlap_result *result;
    size_t n;
    atomic_size_t next;
};

static void *work_on(void *arg)
{
    struct work *w = arg;
    struct overlap_scratch *s = overlap_scratch_new(w->overlap);
    size_t i;

    while ((i = atomic_fetch_add(&w->next, 1)) < w->n)
        overlap_check(w->overlap, s, w->text[i], &w->result[i]);
    overlap_scratch_free(s);
    return NULL;
}

void overlap_check_all(const struct overlap *o, int threads,
                       const struct str *text, size_t n,
                       struct overlap_result *out)
{
    struct work w = {.overlap = o, .text = text, .result = out, .n = n};
    pthread_t *thread = xcalloc((size_t)threads, sizeof(*thread));
    int started = 0;

    while (started < threads - 1 && (size_t)started + 1 < n &&
           pthread_create(&thread[started], NULL, work_on, &w) == 0)
        started++;
    work_on(&w); /* this thread, too: the work is done even without others */
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    free(thread);
}
