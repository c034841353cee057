/* texts.c: walking a folder, reading lines. */
#include "data/texts.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 32

struct texts {
    struct texts_how how;
    char **path; /* of all files */
    size_t len, cap, next, skipped;
    size_t name_at; /* where a name begins in a path */
    bool folder;
    /* the file that is open, if it is JSONL */
    FILE *file;
    size_t line;
    /* the row */
    struct buf bytes;
    json_t *object;
};

static void add_file(struct texts *r, const char *path)
{
    r->path = xgrow(r->path, &r->cap, r->len, sizeof(*r->path));
    r->path[r->len++] = xstrdup(path);
}

static int add_folder(struct texts *r, const char *dir, int depth,
                      struct err *e)
{
    struct fs_names names = {0};
    int rc = fs_list(dir, false, &names, e);

    for (size_t i = 0; rc == 0 && i < names.len; i++) {
        char *path = fs_join(dir, names.name[i]);

        if (names.name[i][0] == '.')
            ;
        else if (fs_is_dir(path))
            rc = depth ? add_folder(r, path, depth - 1, e)
                       : err_set(e, ERR_INPUT,
                                 "%s: deeper than %d folders; name a folder "
                                 "further down",
                                 path, DEPTH);
        else if (fs_is_file(path) &&
                 (!r->how.suffix || str_ends(str_of(path), r->how.suffix)))
            add_file(r, path);
        free(path);
    }
    fs_names_release(&names);
    return rc;
}

struct texts *texts_open(const char *path, const struct texts_how *how,
                         struct err *e)
{
    struct texts *r = xcalloc(1, sizeof(*r));
    size_t n = strlen(path);

    r->how = *how;
    buf_init(&r->bytes, TEXTS_MAX_BYTES);
    r->folder = fs_is_dir(path);
    if (r->folder)
        r->name_at = n + (n && path[n - 1] != '/');
    else
        add_file(r, path);
    if (r->folder && add_folder(r, path, DEPTH, e) < 0) {
        texts_close(r);
        return NULL;
    }
    return r;
}

void texts_close(struct texts *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->len; i++)
        free(r->path[i]);
    free(r->path);
    if (r->file && r->file != stdin)
        fclose(r->file);
    buf_release(&r->bytes);
    json_decref(r->object);
    free(r);
}

size_t texts_skipped(const struct texts *r)
{
    return r->skipped;
}

/* ---- whole files ---- */

static int next_file(struct texts *r, struct text_row *out, struct err *e)
{
    while (r->next < r->len) {
        size_t i = r->next++;

        buf_reset(&r->bytes);
        if (fs_read(r->path[i], &r->bytes, e) < 0)
            return -1;
        if (r->folder && r->bytes.len &&
            memchr(r->bytes.data, 0, r->bytes.len)) {
            r->skipped++;
            continue;
        }
        out->path = r->path[i];
        out->name = r->path[i] + r->name_at;
        out->source = buf_view(&r->bytes);
        out->text = out->source;
        return 1;
    }
    return 0;
}

/* ---- lines ---- */

static int open_next(struct texts *r, struct err *e)
{
    const char *path = r->path[r->next++];

    r->line = 0;
    r->file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (r->file)
        return 0;
    err_sys(e, "%s: cannot open", path);
    e->kind = ERR_INPUT;
    return -1;
}

/* One line without its end; 0 at the end of the file. */
static int read_line(struct texts *r, const char *path, struct err *e)
{
    char chunk[65536];

    buf_reset(&r->bytes);
    for (;;) {
        size_t n = 0;
        int c = EOF;

        // NOLINTNEXTLINE(concurrency-mt-unsafe): only this thread has the file
        while (n < sizeof(chunk) && (c = getc_unlocked(r->file)) != EOF) {
            if (c == '\n')
                break;
            chunk[n++] = (char)c;
        }
        if (buf_add(&r->bytes, chunk, n, e) < 0)
            return err_wrap(e, "%s:%zu", path, r->line + 1);
        if (c == EOF && ferror(r->file))
            return err_sys(e, "%s: cannot read", path);
        if (c == EOF && !r->bytes.len)
            return 0;
        if (c == EOF || c == '\n') {
            r->line++;
            return 1;
        }
    }
}

static int read_object(struct texts *r, const char *path, struct text_row *out,
                       struct err *e)
{
    json_t *text;

    json_decref(r->object);
    r->object = jsn_parse_nul(path, r->bytes.data, r->bytes.len, e);
    if (!r->object) {
        struct err why = *e;

        return err_set(e, ERR_INPUT, "%s:%zu: not JSON: %s", path, r->line,
                       why.text);
    }
    out->object = r->object;
    if (!r->how.field)
        return json_is_object(r->object)
                   ? 1
                   : err_set(e, ERR_INPUT, "%s:%zu: not an object", path,
                             r->line);
    text = json_object_get(r->object, r->how.field);
    if (!json_is_string(text))
        return err_set(e, ERR_INPUT,
                       "%s:%zu: no string \"%s\"; name the member that holds "
                       "the text with --field",
                       path, r->line, r->how.field);
    out->text = (struct str){json_string_value(text), json_string_length(text)};
    return 1;
}

static int next_line(struct texts *r, struct text_row *out, struct err *e)
{
    for (;;) {
        int rc;

        if (!r->file) {
            if (r->next == r->len)
                return 0;
            if (open_next(r, e) < 0)
                return -1;
        }
        out->path = r->path[r->next - 1];
        out->name = out->path + r->name_at;
        rc = read_line(r, out->path, e);
        if (rc < 0)
            return -1;
        if (rc == 0) {
            if (r->file != stdin)
                fclose(r->file);
            r->file = NULL;
            continue;
        }
        out->line = r->line;
        out->source = buf_view(&r->bytes);
        if (str_trim(out->source).n)
            return read_object(r, out->path, out, e);
    }
}

int texts_next(struct texts *r, struct text_row *out, struct err *e)
{
    *out = (struct text_row){0};
    return r->how.jsonl ? next_line(r, out, e) : next_file(r, out, e);
}
