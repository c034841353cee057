/* book_convert.c: the steps of a conversion in order, and the edited text. */
#include "data/book_convert.h"

#include "base/buf.h"
#include "data/book_int.h"
#include "facts/py_normal.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const book_changes[BOOK_CHANGES] = {
    [BOOK_RENAMED] = "renamed",    [BOOK_POSITIONAL] = "positional",
    [BOOK_MOCKED] = "mock-config", [BOOK_EVAL] = "eval",
    [BOOK_ITEM_0] = "item-0",      [BOOK_FEWER_IMPORTS] = "imports",
};

/* ---- what steps use ---- */

int book_work_refuse(struct book_work *w, enum book_reason why, const char *fmt,
                     ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    w->out->reason = why;
    w->out->detail = arena_strdup(w->a, text);
    return -1;
}

void book_work_edit(struct book_work *w, size_t at, size_t len,
                    const char *text)
{
    if (w->len == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 32;
        struct book_edit *more = arena_alloc(w->a, cap * sizeof(*more));

        if (w->len)
            memcpy(more, w->edit, w->len * sizeof(*more));
        w->edit = more;
        w->cap = cap;
    }
    w->edit[w->len++] = (struct book_edit){at, len, text};
}

void book_work_cut(struct book_work *w, size_t from, size_t to)
{
    if (from < to)
        book_work_edit(w, w->t.tok[from].at,
                       w->t.tok[to].at - w->t.tok[from].at, "");
}

void book_work_changed(struct book_work *w, enum book_change what)
{
    w->out->changes |= 1u << what;
}

size_t book_work_end(const struct book_work *w, size_t token)
{
    return (size_t)w->t.tok[token].at + w->t.tok[token].len;
}

size_t book_work_line_start(const struct book_work *w, size_t token)
{
    size_t at = w->t.tok[token].at;

    while (at > 0 && w->source.p[at - 1] != '\n' && w->source.p[at - 1] != '\r')
        at--;
    return at;
}

bool book_work_is_entry(const struct book_work *w, size_t i)
{
    return w->t.tok[i].kind == PY_NAME &&
           str_same(w->t.tok[i].text, w->entry) &&
           !book_outline_dotted(&w->t, i);
}

bool book_work_is_size(const struct book_work *w, size_t i)
{
    return w->t.tok[i].kind == PY_NUMBER && str_eq(w->t.tok[i].text, "4");
}

/* ---- the edited text ---- */

/* By place; of two at one place, the wider first: it replaces the other. Of
 * two insertions the earlier. */
static int by_place(const void *a, const void *b)
{
    const struct book_edit *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->len != y->len)
        return !x->len ? -1 : !y->len ? 1 : x->len > y->len ? -1 : 1;
    return 0;
}

static struct str apply(struct book_work *w)
{
    struct buf b;
    struct str text;
    size_t at = 0;

    if (w->len)
        qsort(w->edit, w->len, sizeof(*w->edit), by_place);
    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i < w->len; i++) {
        const struct book_edit *d = &w->edit[i];

        if (d->at < at) /* inside what was replaced */
            continue;
        buf_put(&b, w->source.p + at, d->at - at);
        buf_puts(&b, d->text);
        at = d->at + d->len;
    }
    buf_put(&b, w->source.p + at, w->source.n - at);
    text = (struct str){arena_strndup(w->a, buf_str(&b), b.len), b.len};
    buf_release(&b);
    return text;
}

/* Without its imports, two copies of a program are the same. */
static int hash_program(struct book_work *w, struct str text)
{
    struct py_tokens t, rest = {0};
    struct book_outline o;

    py_lex(&t, text, w->a);
    if (t.problem.id)
        return book_work_refuse(w, BOOK_SYNTAX, "after conversion: line %u: %s",
                                t.problem.line, t.problem.message);
    book_outline(&o, &t, w->a);
    rest.tok = arena_alloc(w->a, t.len * sizeof(*rest.tok));
    for (size_t i = 0, line = 0; i < t.len; i++) {
        while (line < o.lines && o.line[line].to < i)
            line++;
        if (line < o.lines && i >= o.line[line].from &&
            (py_is(&t.tok[o.line[line].from], "import") ||
             py_is(&t.tok[o.line[line].from], "from")))
            continue;
        rest.tok[rest.len++] = t.tok[i];
    }
    py_normal_hash_tokens(&rest, w->out->hash);
    return 0;
}

/* ---- the whole ---- */

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!isalnum((unsigned char)s.p[i]) && s.p[i] != '_' &&
            (unsigned char)s.p[i] < 0x80)
            return false;
    return s.n > 0;
}

static int find_parts(struct book_work *w)
{
    char *entry = arena_strndup(w->a, w->entry.p, w->entry.n);

    if (!is_name(w->entry))
        return book_work_refuse(w, BOOK_ENTRY, "'%s' is no name", entry);
    w->model = book_outline_find(&w->o, BOOK_NONE, true, entry);
    w->get_inputs = book_outline_find(&w->o, BOOK_NONE, false, "get_inputs");
    w->get_init_inputs =
        book_outline_find(&w->o, BOOK_NONE, false, "get_init_inputs");
    if (w->model == BOOK_NONE)
        return book_work_refuse(w, BOOK_ENTRY, "no class %s", entry);
    if (w->get_inputs == BOOK_NONE || w->get_init_inputs == BOOK_NONE)
        return book_work_refuse(w, BOOK_ENTRY,
                                "get_inputs or get_init_inputs is missing");
    w->init = book_outline_find(&w->o, w->model, false, "__init__");
    w->forward = book_outline_find(&w->o, w->model, false, "forward");
    if (w->forward == BOOK_NONE)
        return book_work_refuse(w, BOOK_ENTRY, "class %s has no forward",
                                entry);
    return 0;
}

void book_convert(struct book_program *out, struct str entry, struct str code,
                  int64_t size, struct arena *a)
{
    struct book_work w = {
        .a = a, .source = code, .entry = entry, .size = size, .out = out};

    *out = (struct book_program){.detail = ""};
    py_lex(&w.t, code, a);
    if (w.t.problem.id) {
        book_work_refuse(&w, BOOK_SYNTAX, "line %u: %s", w.t.problem.line,
                         w.t.problem.message);
        return;
    }
    book_outline(&w.o, &w.t, a);
    if (find_parts(&w) < 0 || book_imports_step(&w) < 0 ||
        book_names_step(&w) < 0 || book_random_step(&w) < 0 ||
        book_init_step(&w) < 0 || book_output_step(&w) < 0 ||
        book_sizes_step(&w) < 0)
        return;
    out->text = apply(&w);
    hash_program(&w, out->text);
}
