/* decontaminate.c: rows in batches: read, checked by threads, written in order. */
#include "data/decontaminate.h"

#include "base/arena.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "data/jsonl.h"
#include "data/texts.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_ROWS  4096
#define BATCH_BYTES ((size_t)64 << 20)

/* A row that waits to be written. */
struct waiting {
    const char *name;
    struct str source;
    size_t line;
    struct known *known;
};

/* What is known about a text, however often it comes. */
struct known {
    struct overlap_result result;
    struct str text; /* until it is checked */
};

struct pass {
    const struct decontaminate *d;
    struct decontaminate_sums *sums;
    struct map known; /* by the text's SHA-256 */
    struct arena arena;
    /* of a batch */
    struct arena memory;
    struct waiting *row;
    size_t len, cap, bytes;
    struct known **fresh; /* whose texts are new */
    size_t fresh_len, fresh_cap;
    /* what is being written */
    bool folder;
    struct fs_fresh dir;
    struct jsonl *manifest, *rows; /* rows: of a file */
};

/* ---- output: a folder in any case; of a file, two of its files are kept ---- */

static struct jsonl *open_output(const struct pass *p, const char *name,
                                 struct err *e)
{
    char *path = fs_join(p->dir.dir, name);
    struct jsonl *j = jsonl_open(path, false, e);

    free(path);
    return j;
}

static int begin_output(struct pass *p, struct err *e)
{
    if (fs_fresh_begin(&p->dir, p->d->out, !p->folder, e) < 0)
        return -1;
    p->manifest = open_output(p, "manifest.jsonl", e);
    if (p->manifest && !p->folder)
        p->rows = open_output(p, "rows", e);
    return p->manifest && (p->folder || p->rows) ? 0 : -1;
}

static int end_output(struct pass *p, struct err *e)
{
    char *path = xasprintf("%s.manifest.jsonl", p->d->out);
    struct jsonl_sums unused;
    int rc = jsonl_end(p->manifest, &unused, e);

    p->manifest = NULL;
    if (rc == 0 && p->rows) {
        rc = jsonl_end(p->rows, &unused, e);
        p->rows = NULL;
    }
    if (rc == 0 && p->folder)
        rc = fs_fresh_end(&p->dir, e);
    else if (rc == 0 &&
             (fs_fresh_move(&p->dir, "manifest.jsonl", path, e) < 0 ||
              fs_fresh_move(&p->dir, "rows", p->d->out, e) < 0))
        rc = -1;
    free(path);
    return rc;
}

static int keep_file(const struct pass *p, const struct waiting *w,
                     struct err *e)
{
    char *path = fs_join(p->dir.dir, w->name), *slash = strrchr(path, '/');
    int rc;

    *slash = '\0';
    rc = fs_mkdirs(path, e);
    *slash = '/';
    if (rc == 0)
        rc = fs_replace_later(path, w->source.p, w->source.n, e);
    free(path);
    return rc;
}

/* ---- the manifest ---- */

static json_t *near_json(const struct overlap *o, const struct fuzzy_match *m)
{
    size_t sum = m->length + m->other;

    return json_pack(
        "{s:o, s:f, s:I, s:I, s:I}", "partner",
        jsn_text(overlap_path(o, m->index), strlen(overlap_path(o, m->index))),
        "ratio", sum ? 200.0 * (double)m->lcs / (double)sum : 100.0, "lcs",
        (json_int_t)m->lcs, "length", (json_int_t)m->length, "partner_length",
        (json_int_t)m->other);
}

static json_t *gram_json(const struct overlap *o, const struct ngram_match *m)
{
    const char *path = overlap_path(o, m->index);
    struct buf text = BUF_INIT;
    json_t *v;

    overlap_put_ngram(o, m, &text);
    v = json_pack("{s:o, s:I, s:o}", "partner", jsn_of(path), "at",
                  (json_int_t)m->at, "text",
                  jsn_text(buf_str(&text), text.len));
    buf_release(&text);
    return v;
}

static json_t *manifest_line(const struct pass *p, const struct waiting *w)
{
    const struct overlap_result *r = &w->known->result;
    json_t *v = json_object();

    json_object_set_new(v, "file", jsn_of(w->name));
    if (w->line)
        json_object_set_new(v, "line", json_integer((json_int_t)w->line));
    json_object_set_new(v, "kept", json_boolean(!r->fuzzy && !r->ngram));
    if (r->fuzzy)
        json_object_set_new(v, "fuzzy", near_json(p->d->overlap, &r->near));
    if (r->ngram)
        json_object_set_new(v, "ngram", gram_json(p->d->overlap, &r->gram));
    return v;
}

static int write_row(struct pass *p, const struct waiting *w, struct err *e)
{
    const struct overlap_result *r = &w->known->result;
    json_t *line = manifest_line(p, w);

    if (p->d->note)
        p->d->note(line, p->d->arg);
    p->sums->rows++;
    p->sums->fuzzy += r->fuzzy;
    p->sums->ngram += r->ngram;
    p->sums->both += r->fuzzy && r->ngram;
    if (jsonl_add(p->manifest, line, e) < 0)
        return -1;
    if (r->fuzzy || r->ngram)
        return 0;
    p->sums->kept++;
    return p->folder ? keep_file(p, w, e) : jsonl_put(p->rows, w->source, e);
}

/* ---- batches ---- */

static void add_text_row(struct pass *p, const struct text_row *row)
{
    unsigned char digest[32];
    struct str key = {(const char *)digest, sizeof(digest)};
    struct known *k;

    hash_bytes(row->text.p, row->text.n, digest);
    k = map_get(&p->known, key);
    if (k) {
        p->sums->duplicates++;
    } else {
        k = arena_alloc(&p->arena, sizeof(*k));
        k->text = arena_str(&p->memory, row->text);
        map_set(&p->known, key, k);
        p->fresh = xgrow(p->fresh, &p->fresh_cap, p->fresh_len, sizeof(k));
        p->fresh[p->fresh_len++] = k;
    }
    p->row = xgrow(p->row, &p->cap, p->len, sizeof(*p->row));
    p->row[p->len++] =
        (struct waiting){arena_strdup(&p->memory, row->name),
                         arena_str(&p->memory, row->source), row->line, k};
    p->bytes += row->source.n + row->text.n;
}

static int finish_batch(struct pass *p, struct err *e)
{
    struct str *text = xcalloc(p->fresh_len + 1, sizeof(*text));
    struct overlap_result *result = xcalloc(p->fresh_len + 1, sizeof(*result));
    int rc = 0;

    for (size_t i = 0; i < p->fresh_len; i++)
        text[i] = p->fresh[i]->text;
    overlap_check_all(p->d->overlap, p->d->threads, text, p->fresh_len, result);
    for (size_t i = 0; i < p->fresh_len; i++)
        p->fresh[i]->result = result[i];
    free(text);
    free(result);
    for (size_t i = 0; rc == 0 && i < p->len; i++)
        rc = write_row(p, &p->row[i], e);
    p->len = p->fresh_len = p->bytes = 0;
    arena_reset(&p->memory);
    return rc;
}

static int pass_rows(struct pass *p, struct texts *rows, struct err *e)
{
    struct text_row row;
    int rc;

    while ((rc = texts_next(rows, &row, e)) > 0) {
        add_text_row(p, &row);
        if ((p->len == BATCH_ROWS || p->bytes > BATCH_BYTES) &&
            finish_batch(p, e) < 0)
            return -1;
    }
    return rc < 0 ? -1 : finish_batch(p, e);
}

int decontaminate(const struct decontaminate *d,
                  struct decontaminate_sums *sums, struct err *e)
{
    struct pass p = {.d = d, .sums = sums, .folder = fs_is_dir(d->in)};
    struct texts_how how = {.suffix = p.folder ? ".py" : NULL,
                            .jsonl = !p.folder,
                            .field = p.folder ? NULL : d->field};
    struct texts *rows = texts_open(d->in, &how, e);
    int rc = -1;

    *sums = (struct decontaminate_sums){0};
    if (!rows)
        return -1;
    if (begin_output(&p, e) == 0 && pass_rows(&p, rows, e) == 0)
        rc = end_output(&p, e);
    jsonl_drop(p.manifest);
    jsonl_drop(p.rows);
    fs_fresh_drop(&p.dir);
    free(p.row);
    free(p.fresh);
    map_release(&p.known);
    arena_release(&p.arena);
    arena_release(&p.memory);
    texts_close(rows);
    return rc;
}
