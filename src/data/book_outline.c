/* book_outline.c: lines, functions and classes from tokens. */
#include "data/book_outline.h"

size_t book_outline_next(const struct py_tokens *t, size_t i)
{
    const struct py_token *k = &t->tok[i];
    bool opens =
        k->kind == PY_FSTART ||
        (k->kind == PY_OP && k->len == 1 &&
         (*k->text.p == '(' || *k->text.p == '[' || *k->text.p == '{'));

    return opens && k->match > i ? k->match + 1 : i + 1;
}

size_t book_outline_top(const struct py_tokens *t, size_t from, size_t to,
                        const char *text)
{
    size_t i = from;

    while (i < to && !py_is(&t->tok[i], text))
        i = book_outline_next(t, i);
    return i < to ? i : to;
}

bool book_outline_dotted(const struct py_tokens *t, size_t i)
{
    return i > 0 && py_is(&t->tok[i - 1], ".");
}

bool book_outline_within(const struct book_outline *o, int unit, int outer)
{
    while (unit != BOOK_NONE && unit != outer)
        unit = o->unit[unit].parent;
    return unit == outer;
}

int book_outline_find(const struct book_outline *o, int parent, bool is_class,
                      const char *name)
{
    for (size_t i = o->units; i-- > 0;)
        if (o->unit[i].parent == parent && o->unit[i].is_class == is_class &&
            py_is(&o->t->tok[o->unit[i].name], name))
            return (int)i;
    return BOOK_NONE;
}

/* What is read so far: the open units, by the depth of their bodies. */
struct reading {
    struct book_outline *o;
    int depth;
    int open; /* innermost unit, or BOOK_NONE */
    int *body_depth;
};

static void close_units(struct reading *r, size_t at)
{
    struct book_outline *o = r->o;

    while (r->open != BOOK_NONE && r->body_depth[r->open] > r->depth) {
        o->unit[r->open].end = at;
        r->open = o->unit[r->open].parent;
    }
}

/* Opens the unit whose header the last line is. */
static void open_unit(struct reading *r, size_t word)
{
    struct book_outline *o = r->o;
    const struct book_line *l = &o->line[o->lines - 1];
    size_t colon = book_outline_top(o->t, word, l->to, ":");
    struct book_unit *u = &o->unit[o->units];

    if (word + 1 >= l->to || colon == l->to ||
        o->t->tok[word + 1].kind != PY_NAME ||
        (colon + 1 == l->to && o->t->tok[l->to + 1].kind != PY_INDENT))
        return; /* not Python, after all */
    *u = (struct book_unit){.is_class = py_is(&o->t->tok[word], "class"),
                            .one_line = colon + 1 < l->to,
                            .parent = r->open,
                            .name = word + 1,
                            .line = o->lines - 1,
                            .body = colon + 1,
                            .end = l->to};
    if (u->one_line) {
        for (size_t i = u->body; i < u->end; i++)
            o->unit_of[i] = (int)o->units;
    } else {
        u->body = colon + 3; /* after PY_NEWLINE and PY_INDENT */
        r->body_depth[o->units] = r->depth + 1;
        r->open = (int)o->units;
    }
    o->units++;
}

static size_t read_line(struct reading *r, size_t from)
{
    struct book_outline *o = r->o;
    const struct py_token *tok = o->t->tok;
    size_t to = from, word = from;

    while (tok[to].kind != PY_NEWLINE && tok[to].kind != PY_END)
        o->unit_of[to++] = r->open;
    o->line[o->lines++] = (struct book_line){from, to, r->depth, r->open};
    if (py_is(&tok[word], "async"))
        word++;
    if (py_is(&tok[word], "def") || py_is(&tok[word], "class"))
        open_unit(r, word);
    return tok[to].kind == PY_END ? to : to + 1;
}

void book_outline(struct book_outline *o, const struct py_tokens *t,
                  struct arena *a)
{
    struct reading r = {.o = o, .open = BOOK_NONE};
    size_t i = 0;

    *o = (struct book_outline){.t = t};
    o->line = arena_alloc(a, (t->len + 1) * sizeof(*o->line));
    o->unit = arena_alloc(a, (t->len + 1) * sizeof(*o->unit));
    o->unit_of = arena_alloc(a, (t->len + 1) * sizeof(*o->unit_of));
    r.body_depth = arena_alloc(a, (t->len + 1) * sizeof(*r.body_depth));
    for (size_t k = 0; k < t->len; k++)
        o->unit_of[k] = BOOK_NONE;
    while (t->tok[i].kind != PY_END) {
        if (t->tok[i].kind == PY_INDENT) {
            r.depth++;
            i++;
        } else if (t->tok[i].kind == PY_DEDENT) {
            r.depth--;
            close_units(&r, i++);
        } else if (t->tok[i].kind == PY_NEWLINE) {
            i++;
        } else {
            i = read_line(&r, i);
        }
    }
    r.depth = -1;
    close_units(&r, i);
}
