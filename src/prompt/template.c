/* template.c: a template is a list of parts: text, slots, and sections that
 * know where they end. Rendering measures, then copies. */
#include "prompt/template.h"

#include "base/fs.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 20)
#define MAX_DEPTH 8

enum part_kind { PART_TEXT, PART_SLOT, PART_OPEN, PART_CLOSE };

struct part {
    enum part_kind kind;
    struct str text; /* PART_TEXT */
    unsigned name;   /* the others */
    size_t close;    /* PART_OPEN: index of its PART_CLOSE */
};

struct template
{
    char *text;
    struct part *part;
    size_t len, cap;
};

/* ---- parsing ---- */

struct parser {
    struct template *t;
    const char *file;
    struct template_names names;
    uint64_t takes, used;
    struct str rest;
    const char *start; /* of the whole text */
    size_t open[MAX_DEPTH], depth;
    int open_line[MAX_DEPTH];
};

static int parser_line(const struct parser *p, const char *at)
{
    int line = 1;

    for (const char *c = p->start; c < at; c++)
        line += *c == '\n';
    return line;
}

static struct part *parser_part(struct parser *p, enum part_kind kind)
{
    struct template *t = p->t;

    t->part = xgrow(t->part, &t->cap, t->len, sizeof(*t->part));
    t->part[t->len] = (struct part){.kind = kind};
    return &t->part[t->len++];
}

static void parser_text(struct parser *p, const char *from, const char *to)
{
    if (to > from)
        parser_part(p, PART_TEXT)->text =
            (struct str){from, (size_t)(to - from)};
}

/* "a, b and c": what the template takes. */
static void parser_names(const struct parser *p, struct buf *out)
{
    for (size_t i = 0; i < p->names.len; i++)
        if (p->takes >> i & 1)
            buf_printf(out, "%s%s", out->len ? ", " : "", p->names.name[i]);
}

static int parser_name(const struct parser *p, struct str word, int line,
                       unsigned *name, struct err *e)
{
    struct buf known = BUF_INIT;

    for (unsigned i = 0; i < p->names.len; i++)
        if (p->takes >> i & 1 && str_eq(word, p->names.name[i])) {
            *name = i;
            return 0;
        }
    parser_names(p, &known);
    err_set(e, ERR_INPUT,
            "%s:%d: '%.*s' is not a name for this template; "
            "its names are: %s",
            p->file, line, word.n > 40 ? 40 : (int)word.n, word.p,
            buf_str(&known));
    buf_release(&known);
    return -1;
}

/* A mark alone on its line: *from goes back to the line's start, *to behind
 * its end. */
static void parser_take_line(const struct parser *p, const char **from,
                             const char **to)
{
    const char *a = *from, *b = *to, *end = p->rest.p + p->rest.n;

    while (a > p->start && (a[-1] == ' ' || a[-1] == '\t'))
        a--;
    while (b < end && (*b == ' ' || *b == '\t'))
        b++;
    if ((a > p->start && a[-1] != '\n') || (b < end && *b != '\n'))
        return;
    *from = a;
    *to = b < end ? b + 1 : b;
}

static int parser_open(struct parser *p, unsigned name, int line, struct err *e)
{
    if (p->depth == MAX_DEPTH)
        return err_set(e, ERR_INPUT,
                       "%s:%d: sections are nested deeper than %d", p->file,
                       line, MAX_DEPTH);
    p->open[p->depth] = p->t->len;
    p->open_line[p->depth++] = line;
    parser_part(p, PART_OPEN)->name = name;
    return 0;
}

static int parser_close(struct parser *p, unsigned name, int line,
                        struct err *e)
{
    size_t open;

    if (p->depth == 0 || p->t->part[p->open[p->depth - 1]].name != name)
        return err_set(e, ERR_INPUT,
                       "%s:%d: {{/%s}} closes no section of that name; "
                       "sections end in the reverse order of their start",
                       p->file, line, p->names.name[name]);
    open = p->open[--p->depth];
    p->t->part[open].close = p->t->len;
    parser_part(p, PART_CLOSE)->name = name;
    return 0;
}

/* One mark at rest.p + at, and the text before it. */
static int parser_mark(struct parser *p, const char *mark, struct err *e)
{
    const char *end = p->rest.p + p->rest.n, *from = mark, *to = mark + 2;
    int line = parser_line(p, mark), rc = 0;
    struct str word;
    unsigned name;
    char sign = '\0';

    while (to < end && *to != '}' && *to != '\n')
        to++;
    if (end - to < 2 || to[0] != '}' || to[1] != '}')
        return err_set(e, ERR_INPUT, "%s:%d: {{ without its }}", p->file, line);
    word = str_trim((struct str){mark + 2, (size_t)(to - mark - 2)});
    to += 2;
    if (word.n)
        sign = word.p[0];
    if (sign == '#' || sign == '/') {
        word = str_trim((struct str){word.p + 1, word.n - 1});
        parser_take_line(p, &from, &to);
    }
    if (parser_name(p, word, line, &name, e) < 0)
        return -1;
    p->used |= (uint64_t)1 << name;
    parser_text(p, p->rest.p, from);
    if (sign == '#')
        rc = parser_open(p, name, line, e);
    else if (sign == '/')
        rc = parser_close(p, name, line, e);
    else
        parser_part(p, PART_SLOT)->name = name;
    p->rest = (struct str){to, (size_t)(end - to)};
    return rc;
}

static int parser_all(struct parser *p, struct err *e)
{
    const char *mark;
    uint64_t unused;

    while ((mark = memmem(p->rest.p, p->rest.n, "{{", 2)))
        if (parser_mark(p, mark, e) < 0)
            return -1;
    parser_text(p, p->rest.p, p->rest.p + p->rest.n);
    if (p->depth)
        return err_set(e, ERR_INPUT, "%s:%d: section {{#%s}} is not closed",
                       p->file, p->open_line[p->depth - 1],
                       p->names.name[p->t->part[p->open[p->depth - 1]].name]);
    unused = p->takes & ~p->used;
    for (size_t i = 0; i < p->names.len; i++)
        if (unused >> i & 1)
            return err_set(e, ERR_INPUT,
                           "%s:%d: {{%s}} is not used, so its text would not "
                           "be sent",
                           p->file, parser_line(p, p->rest.p + p->rest.n),
                           p->names.name[i]);
    return 0;
}

struct template *template_parse(const char *file, struct str text,
                                struct template_names names, uint64_t takes,
                                struct err *e)
{
    struct template *t = xcalloc(1, sizeof(*t));
    struct parser p = {.t = t, .file = file, .names = names, .takes = takes};

    if (names.len > 64)
        BUG("%zu names of templates", names.len);
    while (text.n && text.p[text.n - 1] == '\n')
        text.n--;
    t->text = xstrndup(text.p, text.n);
    p.start = t->text;
    p.rest = (struct str){t->text, text.n};
    if (parser_all(&p, e) < 0) {
        template_free(t);
        return NULL;
    }
    return t;
}

struct template *template_load(const char *path, struct template_names names,
                               uint64_t takes, struct err *e)
{
    struct template *t = NULL;
    struct buf text = {.limit = MAX_BYTES};
    size_t bad;

    if (fs_read(path, &text, e) < 0) {
        e->kind = ERR_INPUT;
        goto out;
    }
    bad = str_utf8_check(buf_str(&text), text.len);
    if (bad < text.len)
        err_set(e, ERR_INPUT, "%s: byte %zu is not UTF-8", path, bad);
    else
        t = template_parse(path, buf_view(&text), names, takes, e);
out:
    buf_release(&text);
    return t;
}

void template_free(struct template *t)
{
    if (!t)
        return;
    free(t->part);
    free(t->text);
    free(t);
}

/* ---- rendering ---- */

/* What part *i leaves; steps over a section without a value. */
static struct str template_part(const struct template *t,
                                const struct str *values, size_t *i)
{
    const struct part *part = &t->part[*i];

    if (part->kind == PART_TEXT)
        return part->text;
    if (part->kind == PART_SLOT)
        return values[part->name];
    if (part->kind == PART_OPEN && !values[part->name].p)
        *i = part->close;
    return (struct str){NULL, 0};
}

/* Copies to `out`, or only measures where that is NULL. */
static size_t template_walk(const struct template *t, const struct str *values,
                            char *out)
{
    size_t n = 0;

    for (size_t i = 0; i < t->len; i++) {
        struct str text = template_part(t, values, &i);

        if (out && text.n)
            memcpy(out + n, text.p, text.n);
        n += text.n;
    }
    return n;
}

size_t template_behind(const struct template *t, const struct str *values,
                       size_t name)
{
    size_t n = 0, behind = 0;

    for (size_t i = 0; i < t->len; i++) {
        n += template_part(t, values, &i).n;
        if (t->part[i].kind == PART_SLOT && t->part[i].name == name)
            behind = n;
    }
    return behind;
}

struct str template_render(const struct template *t, struct str before,
                           const struct str *values, struct arena *a)
{
    size_t gap = before.n ? 2 : 0, n = template_walk(t, values, NULL);
    char *p = arena_alloc_raw(a, before.n + gap + n + 1);

    if (before.n) {
        memcpy(p, before.p, before.n);
        memset(p + before.n, '\n', 2);
    }
    template_walk(t, values, p + before.n + gap);
    while (n && p[before.n + gap + n - 1] == '\n')
        n--;
    p[before.n + gap + n] = '\0';
    return (struct str){p, before.n + gap + n};
}
