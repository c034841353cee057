/* sources.c: reading the folder, finding headings, the manifest. */
#include "prompt/sources.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "llm/llm.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH      16
#define FILE_BYTES ((size_t)8 << 20)
#define ALL_BYTES  ((size_t)64 << 20)
#define LEVELS     6

/* ---- headings ---- */

static void source_add_heading(struct source *x, size_t line, int level,
                               struct str text)
{
    x->heading =
        xgrow(x->heading, &x->heading_cap, x->headings, sizeof(*x->heading));
    x->heading[x->headings++] = (struct heading){line, level, text};
}

static struct str source_line(const struct source *x, size_t line)
{
    size_t from = x->line_at[line - 1], to = x->line_at[line];
    struct str s = {x->text.p + from, to - from};

    while (s.n && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r'))
        s.n--;
    return s;
}

/* "## Title" of Markdown. */
static int heading_hash(struct str line)
{
    size_t n = 0;

    while (n < line.n && line.p[n] == '#')
        n++;
    return n && n <= LEVELS && n < line.n && line.p[n] == ' ' ? (int)n : 0;
}

/* A line below a title, of one character: "=====". */
static int heading_rule(struct str line, struct str above)
{
    static const char marks[] = "=-~^\"";
    const char *mark = line.n ? strchr(marks, line.p[0]) : NULL;

    if (!mark || !*mark || line.n < 3 || !str_trim(above).n ||
        line.n < str_trim(above).n)
        return 0;
    for (size_t i = 1; i < line.n; i++)
        if (line.p[i] != line.p[0])
            return 0;
    return (int)(mark - marks) + 1;
}

/* What a program defines counts as a heading, too. */
static int heading_code(struct str line)
{
    if (str_starts(line, "class ") || str_starts(line, "struct ") ||
        str_starts(line, "namespace "))
        return 3;
    if (str_starts(line, "def ") || str_starts(line, "@"))
        return 4;
    if (str_starts(line, "    def "))
        return 5;
    return 0;
}

static void source_find_headings(struct source *x)
{
    bool fenced = false;

    for (size_t i = 1; i <= x->lines; i++) {
        struct str line = source_line(x, i);
        int level;

        if (str_starts(str_trim(line), "```"))
            fenced = !fenced;
        if (fenced)
            continue;
        level = heading_hash(line);
        if (!level)
            level = heading_code(line);
        if (level)
            source_add_heading(x, i, level, str_trim(line));
        else if (i > 1 && (level = heading_rule(line, source_line(x, i - 1))))
            source_add_heading(x, i - 1, level,
                               str_trim(source_line(x, i - 1)));
    }
}

/* ---- the folder ---- */

static void source_find_lines(struct source *x, struct arena *a)
{
    size_t lines = 1, at = 0;

    for (size_t i = 0; i + 1 < x->text.n; i++)
        lines += x->text.p[i] == '\n';
    x->lines = lines;
    x->line_at = arena_alloc(a, (lines + 1) * sizeof(*x->line_at));
    for (size_t i = 0; i + 1 < x->text.n; i++)
        if (x->text.p[i] == '\n')
            x->line_at[++at] = i + 1;
    x->line_at[lines] = x->text.n;
}

static int sources_add_file(struct sources *s, const char *path,
                            const char *name, struct err *e)
{
    struct source *x;
    struct buf b = {.limit = FILE_BYTES};
    int rc;

    rc = fs_read(path, &b, e);
    if (rc < 0 && e->kind == ERR_LIMIT) {
        log_warn("%s: skipped: longer than %zu bytes", path, FILE_BYTES);
        rc = 0;
    } else if (rc == 0 && b.len && !memchr(b.data, 0, b.len) &&
               str_utf8_check(b.data, b.len) == b.len) {
        s->item = xgrow(s->item, &s->cap, s->len, sizeof(*s->item));
        x = &s->item[s->len++];
        *x = (struct source){.name = arena_strdup(&s->memory, name)};
        x->text = arena_str(&s->memory, buf_view(&b));
        s->bytes += b.len;
        source_find_lines(x, &s->memory);
        source_find_headings(x);
    }
    buf_release(&b);
    if (rc == 0 && s->bytes > ALL_BYTES)
        return err_set(e, ERR_INPUT,
                       "more than %zu MiB of documents; name a smaller folder",
                       ALL_BYTES >> 20);
    return rc;
}

static int sources_add_folder(struct sources *s, const char *dir,
                              const char *prefix, int depth, struct err *e)
{
    struct fs_names names = {0};
    int rc = fs_list(dir, false, &names, e);

    for (size_t i = 0; rc == 0 && i < names.len; i++) {
        char *path = fs_join(dir, names.name[i]);
        char *name =
            xasprintf("%s%s%s", prefix, prefix[0] ? "/" : "", names.name[i]);

        if (names.name[i][0] == '.')
            ;
        else if (fs_is_dir(path))
            rc = depth ? sources_add_folder(s, path, name, depth - 1, e) : 0;
        else if (fs_is_file(path))
            rc = sources_add_file(s, path, name, e);
        free(path);
        free(name);
    }
    fs_names_release(&names);
    return rc;
}

int sources_read(struct sources *s, const char *dir, struct err *e)
{
    *s = (struct sources){0};
    if (sources_add_folder(s, dir, "", DEPTH, e) < 0)
        return -1;
    if (s->len == 0)
        return err_set(e, ERR_INPUT,
                       "%s: no document; put the language's documentation "
                       "there, as text files",
                       dir);
    return 0;
}

void sources_release(struct sources *s)
{
    for (size_t i = 0; i < s->len; i++)
        free(s->item[i].heading);
    free(s->item);
    arena_release(&s->memory);
}

/* ---- looking ---- */

const struct source *sources_find(const struct sources *s, const char *name)
{
    for (size_t i = 0; i < s->len; i++)
        if (strcmp(s->item[i].name, name) == 0)
            return &s->item[i];
    return NULL;
}

struct span sources_whole(const struct sources *s, size_t source)
{
    return (struct span){source, 1, s->item[source].lines};
}

struct str sources_text(const struct sources *s, struct span x)
{
    const struct source *doc = &s->item[x.source];
    size_t from = doc->line_at[x.from - 1], to = doc->line_at[x.to];

    return (struct str){doc->text.p + from, to - from};
}

static void sources_put(const struct sources *s, struct span x, int levels,
                        struct buf *out)
{
    const struct source *doc = &s->item[x.source];

    buf_printf(out, "%s: lines %zu to %zu, about %lld tokens\n", doc->name,
               x.from, x.to,
               (long long)llm_estimate_tokens(sources_text(s, x)));
    for (size_t i = 0; i < doc->headings; i++) {
        const struct heading *h = &doc->heading[i];

        if (h->level <= levels && h->line >= x.from && h->line <= x.to)
            buf_printf(out, "%*s%zu: %.*s\n", 2 * h->level, "", h->line,
                       (int)(h->text.n < 120 ? h->text.n : 120), h->text.p);
    }
}

void sources_manifest(const struct sources *s, const struct span *only,
                      int64_t tokens, struct buf *out)
{
    size_t before = out->len;

    for (int levels = LEVELS; levels >= 0; levels--) {
        struct str made;

        out->len = before;
        if (only)
            sources_put(s, *only, levels, out);
        for (size_t i = 0; !only && i < s->len; i++)
            sources_put(s, sources_whole(s, i), levels, out);
        made = (struct str){buf_str(out) + before, out->len - before};
        if (llm_estimate_tokens(made) <= tokens)
            return;
    }
    /* Even the names are too many: as many as fit. */
    while (out->len > before &&
           llm_estimate_tokens(
               (struct str){buf_str(out) + before, out->len - before}) > tokens)
        out->len = before + (out->len - before) * 3 / 4;
    while (out->len > before && out->data[out->len - 1] != '\n')
        out->len--;
    buf_puts(out, "(more documents: use grep)\n");
}
