/* decontaminate.c: rows in batches: read, checked by threads, written in order. */
#include "data/decontaminate.h"

#include "base/arena.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "data/fresh.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH_ROWS  4096
#define BATCH_BYTES ((size_t)64 << 20)

/* A row that waits to be written. */
struct waiting {
    char *name, *source;
    size_t line, source_len;
    struct known *known;
};

/* What is known about a text, however often it comes. */
struct known {
    struct overlap_result result;
    struct str text; /* until it is checked; in a row of the batch */
};

struct pass {
    const struct decontaminate *d;
    struct decontaminate_sums *sums;
    struct map known; /* by the text's SHA-256 */
    struct arena arena;
    struct waiting *row;
    size_t len, cap, bytes;
    char **copy; /* of the rows' texts that are new */
    size_t copies, copy_cap;
    struct known **fresh;
    size_t fresh_len, fresh_cap;
    bool folder;
    struct fresh fresh_dir;     /* of a folder: what is being written */
    char *part, *part_manifest; /* of a file */
    FILE *out, *manifest;
};

/* ---- output ---- */

static FILE *make_part(const char *path, char **part, struct err *e)
{
    FILE *f = NULL;
    int fd;

    *part = xasprintf("%s.XXXXXX", path);
    fd = mkostemp(*part, O_CLOEXEC);
    if (fd >= 0)
        f = fdopen(fd, "w");
    if (f && fchmod(fd, 0644) == 0)
        return f;
    err_sys(e, "%s: cannot create", path);
    e->kind = ERR_INPUT;
    if (f)
        fclose(f);
    else {
        free(*part);
        *part = NULL;
    }
    return NULL;
}

static int begin_folder(struct pass *p, struct err *e)
{
    char *path;

    if (fresh_begin(&p->fresh_dir, p->d->out, e) < 0)
        return -1;
    path = fs_join(p->fresh_dir.dir, "manifest.jsonl");
    p->manifest = fopen(path, "we");
    if (!p->manifest)
        err_sys(e, "%s: cannot create", path);
    free(path);
    return p->manifest ? 0 : -1;
}

static int begin_output(struct pass *p, struct err *e)
{
    char *path;

    if (p->folder)
        return begin_folder(p, e);
    p->out = make_part(p->d->out, &p->part, e);
    if (!p->out)
        return -1;
    path = xasprintf("%s.manifest.jsonl", p->d->out);
    p->manifest = make_part(path, &p->part_manifest, e);
    free(path);
    return p->manifest ? 0 : -1;
}

static int close_file(FILE **f, const char *name, struct err *e)
{
    FILE *file = *f;
    int bad;

    if (!file)
        return 0;
    *f = NULL;
    bad = ferror(file) | fflush(file) | fsync(fileno(file));
    bad |= fclose(file);
    return bad ? err_sys(e, "%s: cannot write", name) : 0;
}

static int end_output(struct pass *p, struct err *e)
{
    char *path = xasprintf("%s.manifest.jsonl", p->d->out);
    int rc = 0;

    if (close_file(&p->manifest, "the manifest", e) < 0 ||
        close_file(&p->out, p->d->out, e) < 0)
        rc = -1;
    if (rc == 0 && p->part_manifest && rename(p->part_manifest, path) < 0)
        rc = err_sys(e, "%s: cannot replace", path);
    if (rc == 0 && p->folder)
        rc = fresh_end(&p->fresh_dir, e);
    else if (rc == 0 && rename(p->part, p->d->out) < 0)
        rc = err_sys(e, "%s: cannot replace", p->d->out);
    free(path);
    return rc;
}

static void drop_output(struct pass *p)
{
    if (p->manifest)
        fclose(p->manifest);
    if (p->out)
        fclose(p->out);
    if (p->part_manifest)
        unlink(p->part_manifest);
    fresh_drop(&p->fresh_dir);
    if (p->part)
        unlink(p->part);
}

static int keep_file(const struct pass *p, const struct waiting *w,
                     struct err *e)
{
    char *path = fs_join(p->fresh_dir.dir, w->name),
         *slash = strrchr(path, '/');
    int rc;

    *slash = '\0';
    rc = fs_mkdirs(path, e);
    *slash = '/';
    if (rc == 0) {
        FILE *f = fopen(path, "we");

        if (!f || fwrite(w->source, 1, w->source_len, f) != w->source_len)
            rc = err_sys(e, "%s: cannot write", path);
        if (f && fclose(f) != 0 && rc == 0)
            rc = err_sys(e, "%s: cannot write", path);
    }
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
    struct buf text;
    json_t *v;

    buf_init(&text, BUF_UNLIMITED);
    overlap_put_ngram(o, m, &text);
    v = json_pack("{s:o, s:I, s:o}", "partner", jsn_text(path, strlen(path)),
                  "at", (json_int_t)m->at, "text",
                  jsn_text(buf_str(&text), text.len));
    buf_release(&text);
    return v;
}

static json_t *manifest_line(const struct pass *p, const struct waiting *w)
{
    const struct overlap_result *r = &w->known->result;
    json_t *v = json_object();

    json_object_set_new(v, "file", jsn_text(w->name, strlen(w->name)));
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
    int rc = 0;

    json_dumpf(line, p->manifest, JSON_COMPACT);
    putc('\n', p->manifest);
    if (p->d->note)
        p->d->note(line, p->d->arg);
    json_decref(line);
    p->sums->rows++;
    p->sums->fuzzy += r->fuzzy;
    p->sums->ngram += r->ngram;
    p->sums->both += r->fuzzy && r->ngram;
    if (r->fuzzy || r->ngram)
        return 0;
    p->sums->kept++;
    if (p->folder) {
        rc = keep_file(p, w, e);
    } else {
        fwrite(w->source, 1, w->source_len, p->out);
        putc('\n', p->out);
    }
    return rc;
}

/* ---- batches ---- */

static void decontaminate_add_row(struct pass *p, const struct row *row)
{
    unsigned char digest[32];
    struct known *k;
    struct str key = {(const char *)digest, sizeof(digest)};

    hash_bytes(row->text.p, row->text.n, digest);
    k = map_get(&p->known, key);
    if (k) {
        p->sums->duplicates++;
    } else {
        k = arena_alloc(&p->arena, sizeof(*k));
        map_set(&p->known, key, k);
        p->copy = xgrow(p->copy, &p->copy_cap, p->copies, sizeof(*p->copy));
        p->copy[p->copies] = xstrndup(row->text.p, row->text.n);
        k->text = (struct str){p->copy[p->copies++], row->text.n};
        p->fresh = xgrow(p->fresh, &p->fresh_cap, p->fresh_len, sizeof(k));
        p->fresh[p->fresh_len++] = k;
    }
    p->row = xgrow(p->row, &p->cap, p->len, sizeof(*p->row));
    p->row[p->len++] = (struct waiting){xstrdup(row->name),
                                        xstrndup(row->source.p, row->source.n),
                                        row->line, row->source.n, k};
    p->bytes += row->source.n + row->text.n;
}

static void clear_batch(struct pass *p)
{
    for (size_t i = 0; i < p->len; i++) {
        free(p->row[i].name);
        free(p->row[i].source);
    }
    for (size_t i = 0; i < p->copies; i++)
        free(p->copy[i]);
    p->len = p->copies = p->fresh_len = p->bytes = 0;
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
    clear_batch(p);
    return rc;
}

static int pass_rows(struct pass *p, struct rows *rows, struct err *e)
{
    struct row row;
    int rc;

    while ((rc = rows_next(rows, &row, e)) > 0) {
        decontaminate_add_row(p, &row);
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
    struct rows_how how = {.suffix = p.folder ? ".py" : NULL,
                           .jsonl = !p.folder,
                           .field = p.folder ? NULL : d->field};
    struct rows *rows = rows_open(d->in, &how, e);
    int rc = -1;

    *sums = (struct decontaminate_sums){0};
    if (!rows)
        return -1;
    map_init(&p.known);
    arena_init(&p.arena);
    if (begin_output(&p, e) == 0 && pass_rows(&p, rows, e) == 0)
        rc = end_output(&p, e);
    if (rc < 0)
        drop_output(&p);
    clear_batch(&p);
    free(p.row);
    free(p.copy);
    free(p.fresh);
    free(p.part);
    free(p.part_manifest);
    map_release(&p.known);
    arena_release(&p.arena);
    rows_close(rows);
    return rc;
}
