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

/* The caller frees it; NULL: it is not there. */
static char *find_path(const char *root, const char *repo, const char *path)
{
    for (int parts = 2; parts >= 1; parts--) {
        struct str name = tail(repo, parts);
        char *full = xasprintf("%s/%.*s/%s", root, (int)name.n, name.p, path);

        if (name.n && (fs_is_dir(full) || fs_is_file(full)))
            return full;
        free(full);
    }
    return NULL;
}

static int count_path(struct tally *sum, const char *path, struct tokenizer *t,
                      struct err *e)
{
    struct texts *r = texts_open(path, &(struct texts_how){0}, e);
    struct text_row row;
    int rc;

    if (!r)
        return -1;
    while ((rc = texts_next(r, &row, e)) > 0) {
        struct tally one = tally_text(t, row.text, NULL);

        tally_add(sum, &one);
    }
    texts_close(r);
    return rc;
}

/* NULL: an error. */
static json_t *count_source(const json_t *source, const char *root,
                            struct tokenizer *t, struct err *e)
{
    const char *repo = jsn_str(source, "repo");
    const json_t *paths = json_object_get(source, "paths"), *path;
    json_t *missing = json_array();
    struct tally sum = {0};
    int rc = 0;
    size_t i;

    if (!repo[0] || !json_is_array(paths))
        rc = err_set(e, ERR_INPUT,
                     "a source needs a \"repo\" and a list of \"paths\"");
    json_array_foreach(paths, i, path)
    {
        const char *name = json_string_value(path);
        char *found;

        if (rc < 0)
            break;
        if (!name || !is_inside(name)) {
            rc = err_set(e, ERR_INPUT,
                         "path %zu of %s is not a path inside its folder",
                         i + 1, repo);
            break;
        }
        found = find_path(root, repo, name);
        if (found)
            rc = count_path(&sum, found, t, e);
        else
            json_array_append_new(missing, json_string(name));
        free(found);
    }
    if (rc == 0)
        return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:o}", "repo", repo,
                         "commit", jsn_str(source, "commit"), "files",
                         (json_int_t)sum.files, "bytes", (json_int_t)sum.bytes,
                         "characters", (json_int_t)sum.characters, "tokens",
                         (json_int_t)sum.tokens, "missing", missing);
    json_decref(missing);
    return NULL;
}

json_t *documents_count(const char *sources, const char *root,
                        struct tokenizer *t, struct err *e)
{
    json_t *file = jsn_read(sources, e), *list, *source,
           *counted = json_array();
    size_t i;
    int rc = 0;

    list = json_object_get(file, "sources");
    if (!file)
        rc = -1;
    else if (!json_is_array(list))
        rc = err_set(e, ERR_INPUT,
                     "no list \"sources\"; --table takes the sources.json of "
                     "a pack");
    else if (!fs_is_dir(root))
        rc =
            err_set(e, ERR_INPUT,
                    "--root %s is not a folder; put the documents there", root);
    json_array_foreach(list, i, source) if (rc == 0)
    {
        json_t *one = count_source(source, root, t, e);

        rc = one ? json_array_append_new(counted, one) : -1;
    }
    if (rc < 0 && file)
        err_wrap(e, "%s", sources);
    json_decref(file);
    if (rc == 0)
        return counted;
    json_decref(counted);
    return NULL;
}
