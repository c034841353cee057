/* tally.c: adding up. */
#include "data/tally.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "data/texts.h"

#include <stdlib.h>
#include <string.h>

/* Code points; a byte that is not part of one counts, too. */
static size_t characters_of(struct str text)
{
    size_t n = 0;

    if (str_utf8_check(text.p, text.n) == text.n) {
        for (size_t i = 0; i < text.n; i++)
            n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
        return n;
    }
    free(unicode_points(text, &n));
    return n;
}

struct tally tally_text(struct tokenizer *t, struct str text,
                        struct token_ids *ids)
{
    return (struct tally){.files = 1,
                          .bytes = text.n,
                          .characters = characters_of(text),
                          .tokens = tokenizer_encode(t, text, ids)};
}

static void tally_add(struct tally *to, const struct tally *what)
{
    to->files += what->files;
    to->bytes += what->bytes;
    to->characters += what->characters;
    to->tokens += what->tokens;
}

void tallies_add(struct tallies *t, const char *path, const struct tally *what)
{
    const char *base = fs_base(path), *dot = strrchr(base, '.');
    const char *name = dot && dot > base ? dot : "(none)";
    size_t i = 0;

    while (i < t->len && strcmp(t->item[i].name, name) != 0)
        i++;
    if (i == t->len) {
        t->item = xgrow(t->item, &t->cap, t->len, sizeof(*t->item));
        t->item[t->len++] = (struct tally){.name = xstrdup(name)};
    }
    tally_add(&t->item[i], what);
    tally_add(&t->total, what);
}

static int by_tokens(const void *a, const void *b)
{
    const struct tally *x = a, *y = b;

    if (x->tokens != y->tokens)
        return x->tokens < y->tokens ? 1 : -1;
    return strcmp(x->name, y->name);
}

void tallies_sort(struct tallies *t)
{
    if (t->len)
        qsort(t->item, t->len, sizeof(*t->item), by_tokens);
}

void tallies_release(struct tallies *t)
{
    for (size_t i = 0; i < t->len; i++)
        free(t->item[i].name);
    free(t->item);
    *t = (struct tallies){0};
}

/* ---- documents ---- */

/* The last `parts` parts of an address, without a slash at the end. */
static struct str tail(const char *repo, int parts)
{
    struct str s = str_of(repo);
    size_t i;

    while (s.n && s.p[s.n - 1] == '/')
        s.n--;
    if (str_ends(s, ".git"))
        s.n -= 4;
    i = s.n;
    while (i > 0 && (s.p[i - 1] != '/' || --parts > 0))
        i--;
    return (struct str){s.p + i, s.n - i};
}

/* A path that stays in the folder. */
static bool is_inside(const char *path)
{
    return path[0] && path[0] != '/' && strcmp(path, "..") != 0 &&
           strncmp(path, "../", 3) != 0 && !strstr(path, "/../") &&
           !str_ends(str_of(path), "/..");
}

static const char *find_path(struct documents *d, const char *root,
                             const char *repo, const char *path)
{
    for (int parts = 2; parts >= 1; parts--) {
        struct str name = tail(repo, parts);
        const char *full = arena_printf(&d->memory, "%s/%.*s/%s", root,
                                        (int)name.n, name.p, path);

        if (name.n && (fs_is_dir(full) || fs_is_file(full)))
            return full;
    }
    return NULL;
}

static int count_path(struct document_source *s, const char *path,
                      struct tokenizer *t, struct err *e)
{
    struct texts *r = texts_open(path, &(struct texts_how){0}, e);
    struct text_row row;
    int rc;

    if (!r)
        return -1;
    while ((rc = texts_next(r, &row, e)) > 0) {
        struct tally one = tally_text(t, row.text, NULL);

        tally_add(&s->sum, &one);
    }
    texts_close(r);
    return rc;
}

static int count_source(struct documents *d, struct document_source *s,
                        const json_t *source, const char *root,
                        struct tokenizer *t, struct err *e)
{
    const json_t *path;
    size_t i;

    s->repo = arena_strdup(&d->memory, jsn_str(source, "repo"));
    s->commit = arena_strdup(&d->memory, jsn_str(source, "commit"));
    if (!s->repo[0] || !json_is_array(json_object_get(source, "paths")))
        return err_set(e, ERR_INPUT,
                       "a source needs a \"repo\" and a list of \"paths\"");
    json_array_foreach(json_object_get(source, "paths"), i, path)
    {
        const char *name = json_string_value(path), *found;

        if (!name || !is_inside(name))
            return err_set(e, ERR_INPUT,
                           "path %zu of %s is not a path inside its folder",
                           i + 1, s->repo);
        found = find_path(d, root, s->repo, name);
        if (found && count_path(s, found, t, e) < 0)
            return -1;
        if (found)
            continue;
        s->missing =
            xgrow(s->missing, &s->missing_cap, s->missing_len, sizeof(char *));
        s->missing[s->missing_len++] = arena_strdup(&d->memory, name);
        d->missing++;
    }
    return 0;
}

int documents_count(struct documents *d, const char *sources, const char *root,
                    struct tokenizer *t, struct err *e)
{
    json_t *file = jsn_read(sources, e), *list, *source;
    size_t i;
    int rc = 0;

    *d = (struct documents){0};
    if (!file)
        return -1;
    list = json_object_get(file, "sources");
    if (!json_is_array(list))
        rc = err_set(e, ERR_INPUT,
                     "no list \"sources\"; --table takes the sources.json of "
                     "a pack");
    else if (!fs_is_dir(root))
        rc =
            err_set(e, ERR_INPUT,
                    "--root %s is not a folder; put the documents there", root);
    if (rc == 0)
        d->item = xcalloc(json_array_size(list) + 1, sizeof(*d->item));
    json_array_foreach(list, i, source)
    {
        if (rc < 0)
            break;
        rc = count_source(d, &d->item[d->len++], source, root, t, e);
        tally_add(&d->total, &d->item[i].sum);
    }
    if (rc < 0)
        err_wrap(e, "%s", sources);
    json_decref(file);
    return rc;
}

void documents_release(struct documents *d)
{
    for (size_t i = 0; i < d->len; i++)
        free(d->item[i].missing);
    free(d->item);
    arena_release(&d->memory);
}
