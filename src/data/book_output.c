/* book_output.c: forward returns one tensor. Where a return has a tuple, a list or
 * a dict, only its first item stays. What a name or a call stands for is left
 * to the verifier, except a name that was just given such a value. */
#include "data/book_int.h"

enum shape { PLAIN, ITEMS, REFUSED };

static enum shape first_item(struct book_work *w, size_t from, size_t to,
                             bool edit);

/* Keeps [keep, keep_to) of [from, to). */
static void keep_only(struct book_work *w, size_t from, size_t to, size_t keep,
                      size_t keep_to)
{
    size_t end = book_work_end(w, keep_to - 1);

    book_work_cut(w, from, keep);
    book_work_edit(w, end, book_work_end(w, to - 1) - end, "");
}

static void append_0(struct book_work *w, size_t to)
{
    book_work_edit(w, book_work_end(w, to - 1), 0, "[0]");
}

/* What is inside the brackets [from, to): items, or an expression. */
static enum shape in_brackets(struct book_work *w, size_t from, size_t to,
                              bool edit)
{
    const struct py_tokens *t = &w->t;
    size_t in = from + 1, end = to - 1;
    size_t comma = book_outline_top(t, in, end, ",");
    bool loop = book_outline_top(t, in, end, "for") < end;
    bool list = py_is(&t->tok[from], "[");

    if (py_is(&t->tok[from], "{")) {
        size_t colon = book_outline_top(t, in, comma, ":");

        if (loop || colon + 1 >= comma)
            return REFUSED;
        in = colon + 1;
    } else if (in == end) {
        return list && !edit ? ITEMS : REFUSED;
    } else if (loop) {
        if (list && edit)
            append_0(w, to);
        return list ? ITEMS : REFUSED;
    } else if (!list && comma == end) {
        return first_item(w, in, end, edit);
    }
    if (py_is(&t->tok[in], "*") || py_is(&t->tok[in], "**"))
        return REFUSED;
    if (edit)
        keep_only(w, from, to, in, comma);
    return ITEMS;
}

/* "tuple(…)", "list(…)" or "dict(…)", and nothing else. */
static enum shape made(struct book_work *w, size_t from, size_t to, bool edit)
{
    const struct py_tokens *t = &w->t;
    bool items = py_is(&t->tok[from], "tuple") || py_is(&t->tok[from], "list");
    bool dict =
        py_is(&t->tok[from], "dict") || py_is(&t->tok[from], "OrderedDict");

    if ((!items && !dict) || from + 1 >= to || !py_is(&t->tok[from + 1], "(") ||
        t->tok[from + 1].match + 1 != to)
        return PLAIN;
    if (items && edit)
        append_0(w, to);
    return items ? ITEMS : REFUSED;
}

/* The value that the name at `name` has at token `at` of forward. */
static enum shape value_of(struct book_work *w, size_t name, size_t at)
{
    const struct book_unit *f = &w->o.unit[w->forward];
    enum shape found = PLAIN;

    for (size_t n = f->line; n < w->o.lines && w->o.line[n].from < at; n++) {
        const struct book_line *l = &w->o.line[n];

        if (l->unit != w->forward || l->to <= l->from + 2 ||
            !py_is(&w->t.tok[l->from + 1], "=") ||
            !str_same(w->t.tok[l->from].text, w->t.tok[name].text))
            continue;
        if (!py_is(&w->t.tok[l->from + 3], "+") || /* x = x + (y,) */
            !str_same(w->t.tok[l->from + 2].text, w->t.tok[name].text))
            found = first_item(w, l->from + 2, l->to, false);
    }
    return found;
}

static enum shape choice(struct book_work *w, size_t from, size_t to, bool edit)
{
    size_t cond = book_outline_top(&w->t, from, to, "if");
    size_t other = book_outline_top(&w->t, cond, to, "else");
    enum shape a, b;

    if (other + 1 >= to)
        return REFUSED;
    a = first_item(w, from, cond, edit);
    b = first_item(w, other + 1, to, edit);
    return a == REFUSED || b == REFUSED ? REFUSED : a == ITEMS ? ITEMS : b;
}

/* The expression [from, to), which is cut down to its first item on `edit`. */
static enum shape first_item(struct book_work *w, size_t from, size_t to,
                             bool edit)
{
    const struct py_tokens *t = &w->t;
    size_t comma = book_outline_top(t, from, to, ",");
    enum shape shape;

    if (from >= to || py_is(&t->tok[from], "lambda") ||
        py_is(&t->tok[from], "yield"))
        return REFUSED;
    if (comma < to) {
        if (py_is(&t->tok[from], "*"))
            return REFUSED;
        if (edit)
            keep_only(w, from, to, from, comma);
        return ITEMS;
    }
    if (book_outline_top(t, from, to, "if") < to)
        return choice(w, from, to, edit);
    if (book_outline_next(t, from) == to && t->tok[from].kind == PY_OP)
        return in_brackets(w, from, to, edit);
    if (t->tok[from].kind == PY_NAME && to == from + 1 && edit) {
        shape = value_of(w, from, from);
        if (shape == ITEMS)
            append_0(w, to);
        return shape;
    }
    return made(w, from, to, edit);
}

/* Code that takes the result apart would break. */
static bool is_called(const struct book_work *w)
{
    for (size_t i = 2; i + 1 < w->t.len; i++) {
        if (py_is(&w->t.tok[i], "forward") && book_outline_dotted(&w->t, i) &&
            !py_is(&w->t.tok[i - 2], ")"))
            return true;
        if (book_work_is_entry(w, i) && i != w->o.unit[w->model].name &&
            !py_is(&w->t.tok[i - 2], "super"))
            return true;
    }
    return false;
}

int book_output_step(struct book_work *w)
{
    const struct book_unit *f = &w->o.unit[w->forward];
    enum shape found;

    for (size_t i = f->body; i < f->end; i++) {
        size_t to = i + 1;

        if (!py_is(&w->t.tok[i], "return") || w->o.unit_of[i] != w->forward)
            continue;
        while (w->t.tok[to].kind != PY_NEWLINE && !py_is(&w->t.tok[to], ";"))
            to = book_outline_next(&w->t, to);
        if (to == i + 1)
            continue;
        found = first_item(w, i + 1, to, true);
        if (found == REFUSED)
            return book_work_refuse(w, BOOK_OUTPUT,
                                    "line %u: not a tensor, and no first item "
                                    "to select",
                                    w->t.tok[i].line);
        if (found == ITEMS)
            book_work_changed(w, BOOK_ITEM_0);
    }
    if (w->out->changes & 1u << BOOK_ITEM_0 && is_called(w))
        return book_work_refuse(w, BOOK_OUTPUT,
                                "other code uses what forward returns");
    return 0;
}
