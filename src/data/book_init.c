/* book_init.c: how a model is made. get_init_inputs returns [[], {keyword: value}] in
 * KernelBook, and the values in the order of the parameters in KernelBench. The
 * constructor ends in inference mode where that makes a difference. */
#include "base/buf.h"
#include "data/book_int.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define EVAL "self.eval()  # inference: no dropout, running statistics"

/* A value: tokens [from, to). Its name is a parameter's, or a string's body. */
struct argument {
    struct str name;
    size_t from, to;
    bool given;
};
struct arguments {
    struct argument *arg;
    size_t len;
};

/* ---- sizes ---- */

/* Parts of the names of arguments that are no sizes, though they are 4. */
static const char *const no_sizes[] = {
    "kernel",      "stride", "pad",    "padding",   "dilation", "group",
    "groups",      "layer",  "layers", "depth",     "head",     "heads",
    "nhead",       "block",  "blocks", "level",     "levels",   "iter",
    "iters",       "step",   "steps",  "order",     "power",    "degree",
    "factor",      "scale",  "ratio",  "reduction", "eps",      "margin",
    "alpha",       "beta",   "gamma",  "axis",      "p",        "k",
    "temperature",
};

static bool is_size_name(struct str name)
{
    while (name.n) {
        size_t n = 0;

        while (n < name.n && name.p[n] != '_')
            n++;
        for (size_t i = 0; i < sizeof(no_sizes) / sizeof(no_sizes[0]); i++)
            if (strlen(no_sizes[i]) == n &&
                strncasecmp(name.p, no_sizes[i], n) == 0)
                return false;
        n += n < name.n;
        name.p += n;
        name.n -= n;
    }
    return true;
}

/* The value as it will stand in the file: renamed, and scaled where it is a
 * size. A keyword argument in it (_mock_config(width=4)) has its own name. */
static void put_value(struct book_work *w, const struct argument *a,
                      struct buf *out)
{
    const struct py_token *t = w->t.tok;
    bool size = is_size_name(a->name);
    size_t at = t[a->from].at;

    for (size_t i = a->from; i < a->to; i++) {
        bool scaled = book_work_is_size(w, i);

        if (t[i].kind == PY_NAME && py_is(&t[i + 1], "="))
            size = is_size_name(t[i].text);
        buf_put(out, w->source.p + at, t[i].at - at);
        at = t[i].at;
        scaled = scaled && size;
        w->out->init_sizes += scaled;
        if (scaled && w->size)
            buf_printf(out, "%lld", (long long)w->size);
        else if (book_work_is_entry(w, i))
            buf_puts(out, "Model");
        else
            buf_put(out, w->source.p + at, t[i].len);
        at = book_work_end(w, i);
    }
}

int book_sizes_step(struct book_work *w)
{
    const struct book_unit *f = &w->o.unit[w->get_inputs];
    char *text = arena_printf(w->a, "%lld", (long long)w->size);

    for (size_t i = f->body; i < f->end; i++) {
        size_t rank = 1, end = w->t.tok[i].match;

        /* torch.rand([4, 4]): the list that is the first argument */
        if (!py_is(&w->t.tok[i], "[") || !py_is(&w->t.tok[i - 1], "("))
            continue;
        for (size_t k = i + 1; k < end; k++) {
            rank += py_is(&w->t.tok[k], ",") && k + 1 < end;
            if (!book_work_is_size(w, k))
                continue;
            w->out->input_sizes++;
            if (w->size)
                book_work_edit(w, w->t.tok[k].at, w->t.tok[k].len, text);
        }
        if (end > i + 1 && rank > w->out->rank)
            w->out->rank = rank;
        w->out->inputs += end > i + 1;
    }
    return 0;
}

/* ---- the arguments ---- */

static void add_argument(struct arguments *list, struct str name, size_t from,
                         size_t to)
{
    list->arg[list->len++] = (struct argument){name, from, to, from < to};
}

/* The items of the brackets at `open`; of a dict, with their keys. -1 for one
 * that is not plain. */
static int read_items(struct book_work *w, size_t open, struct arguments *list)
{
    const struct py_tokens *t = &w->t;
    size_t end = t->tok[open].match, from = open + 1;
    bool dict = py_is(&t->tok[open], "{");

    while (from < end) {
        size_t comma = book_outline_top(t, from, end, ",");
        struct str name = {"", 0};

        if (dict) {
            const struct py_token *key = &t->tok[from];

            if (key->kind != PY_STRING || !py_is(&t->tok[from + 1], ":"))
                return -1;
            name = (struct str){w->source.p + key->body_at, key->body_len};
            from += 2;
        }
        if (from >= comma || py_is(&t->tok[from], "*") ||
            book_outline_top(t, from, comma, "for") < comma)
            return -1;
        add_argument(list, name, from, comma);
        from = comma + 1;
    }
    return 0;
}

/* The constructor's parameters after self, up to the first that cannot be given
 * by position; a default is the value. */
static void read_parameters(const struct book_work *w, struct arguments *list)
{
    const struct py_tokens *t = &w->t;
    size_t open = w->o.unit[w->init].name + 1, end = t->tok[open].match;
    size_t from = book_outline_top(t, open + 1, end, ",") + 1;

    while (from < end) {
        size_t comma = book_outline_top(t, from, end, ",");
        size_t equals = book_outline_top(t, from, comma, "=");

        if (py_is(&t->tok[from], "*") || py_is(&t->tok[from], "**"))
            return;
        if (!py_is(&t->tok[from], "/"))
            add_argument(list, t->tok[from].text, equals + 1,
                         comma > equals ? comma : equals + 1);
        from = comma + 1;
    }
}

static struct argument *find_argument(struct arguments *list, struct str name)
{
    for (size_t i = 0; i < list->len; i++)
        if (str_same(list->arg[i].name, name))
            return &list->arg[i];
    return NULL;
}

/* Puts the given arguments at the places of their parameters. What is left out
 * between them has its default. */
static int place(struct book_work *w, const struct arguments *given,
                 struct arguments *places)
{
    size_t last = 0;

    for (size_t i = 0; i < given->len; i++) {
        const struct argument *g = &given->arg[i];
        struct argument *p = g->name.n         ? find_argument(places, g->name)
                             : i < places->len ? &places->arg[i]
                                               : NULL;

        if (!p)
            return book_work_refuse(w, BOOK_ARGUMENTS,
                                    "'%.*s' is no parameter that has a place",
                                    (int)g->name.n, g->name.p);
        p->from = g->from;
        p->to = g->to;
        p->given = true;
        if ((size_t)(p - places->arg) + 1 > last)
            last = (size_t)(p - places->arg) + 1;
    }
    places->len = last;
    for (size_t i = 0; i < last; i++)
        if (!places->arg[i].given)
            return book_work_refuse(
                w, BOOK_ARGUMENTS, "'%.*s' has neither value nor default",
                (int)places->arg[i].name.n, places->arg[i].name.p);
    return 0;
}

/* ---- the constructor ---- */

static bool has_word(struct str name, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= name.n; i++)
        if (strncasecmp(name.p + i, word, n) == 0)
            return true;
    return false;
}

/* Whether something in the program differs between training and inference. */
static bool needs_eval(const struct book_work *w)
{
    static const char *const words[] = {
        "dropout",  "batchnorm",          "batch_norm",   "training",
        "droppath", "drop_path",          "instancenorm", "instance_norm",
        "rrelu",    "multiheadattention", "transformer"};

    for (size_t i = 0; i < w->t.len; i++)
        for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
            if (w->t.tok[i].kind == PY_NAME &&
                has_word(w->t.tok[i].text, words[k]))
                return true;
    return false;
}

/* The blanks that a line's first token stands after. */
static const char *indent_of(const struct book_work *w, size_t token)
{
    size_t at = book_work_line_start(w, token);

    return arena_strndup(w->a, w->source.p + at, w->t.tok[token].at - at);
}

/* Puts self.eval() wherever the constructor ends. */
static void end_with_eval(struct book_work *w)
{
    const struct book_unit *f = &w->o.unit[w->init];
    size_t last = f->end;

    for (size_t i = f->body; i < f->end; i++)
        if (w->o.unit_of[i] == w->init && py_is(&w->t.tok[i], "return"))
            book_work_edit(w, w->t.tok[i].at, 0, "self.eval(); ");
    if (f->one_line) {
        book_work_edit(w, w->t.tok[last].at, 0, "; " EVAL);
        return;
    }
    while (w->t.tok[last].kind != PY_NEWLINE)
        last--;
    book_work_edit(w, book_work_end(w, last), 0,
                   arena_printf(w->a, "%s%s" EVAL "\n",
                                w->t.tok[last].len ? "" : "\n",
                                indent_of(w, f->body)));
}

/* A constructor for a class that has none, at the start of its body. A method
 * may stand deeper, under a condition, so that is no place for it. */
static void add_constructor(struct book_work *w, const struct arguments *given,
                            bool eval)
{
    const struct book_unit *f = &w->o.unit[w->model];
    const char *indent = indent_of(w, f->body);
    const struct book_line *l = &w->o.line[f->line + 1];
    struct buf b;

    if (w->t.tok[l->from].kind == PY_STRING && l->to == l->from + 1 &&
        l[1].unit == w->model && l[1].depth == l->depth)
        l++; /* the docstring */
    buf_init(&b, BUF_UNLIMITED);
    buf_printf(&b, "%sdef __init__(self", indent);
    for (size_t i = 0; i < given->len; i++)
        buf_printf(&b, ", %.*s", (int)given->arg[i].name.n,
                   given->arg[i].name.p);
    buf_printf(&b, "):\n%s%ssuper().__init__(", indent, indent);
    for (size_t i = 0; i < given->len; i++)
        buf_printf(&b, "%s%.*s=%.*s", i ? ", " : "", (int)given->arg[i].name.n,
                   given->arg[i].name.p, (int)given->arg[i].name.n,
                   given->arg[i].name.p);
    buf_printf(&b, ")\n%s%s%s%s\n", eval ? indent : "", eval ? indent : "",
               eval ? EVAL : "", eval ? "\n" : "");
    book_work_edit(w, book_work_line_start(w, l->from), 0,
                   arena_strdup(w->a, buf_str(&b)));
    buf_release(&b);
}

/* ---- the step ---- */

static void put_list(struct book_work *w, const struct arguments *list,
                     size_t open)
{
    size_t at = w->t.tok[open].at;
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    buf_putc(&b, '[');
    for (size_t i = 0; i < list->len; i++) {
        buf_puts(&b, i ? ", " : "");
        put_value(w, &list->arg[i], &b);
    }
    buf_putc(&b, ']');
    book_work_edit(w, at, book_work_end(w, w->t.tok[open].match) - at,
                   arena_strdup(w->a, buf_str(&b)));
    buf_release(&b);
    book_work_changed(w, BOOK_POSITIONAL);
}

/* The brackets of "return [[…], {…}]", or 0 when it looks different. */
static size_t find_pair(const struct book_work *w)
{
    const struct book_unit *f = &w->o.unit[w->get_init_inputs];
    const struct py_tokens *t = &w->t;
    size_t i = f->body, first, second;

    while (i < f->end && !py_is(&t->tok[i], "return"))
        i++;
    i++;
    if (i + 5 >= f->end || !py_is(&t->tok[i], "[") ||
        !py_is(&t->tok[i + 1], "["))
        return 0;
    first = t->tok[i + 1].match;
    second = first + 2;
    if (!py_is(&t->tok[first + 1], ",") || second >= f->end ||
        !py_is(&t->tok[second], "{"))
        return 0;
    return t->tok[second].match + 1 == t->tok[i].match ? i : 0;
}

int book_init_step(struct book_work *w)
{
    struct arguments given = {0}, places = {0};
    size_t open = find_pair(w), most = w->t.len + 1;
    bool eval = needs_eval(w);

    given.arg = arena_alloc(w->a, most * sizeof(*given.arg));
    places.arg = arena_alloc(w->a, most * sizeof(*places.arg));
    if (open && (read_items(w, open + 1, &given) < 0 ||
                 read_items(w, w->t.tok[open + 1].match + 2, &given) < 0))
        return book_work_refuse(w, BOOK_ARGUMENTS,
                                "get_init_inputs has no plain values");
    if (w->init != BOOK_NONE) {
        read_parameters(w, &places);
        if (open && place(w, &given, &places) < 0)
            return -1;
        if (open)
            put_list(w, &places, open);
        if (eval)
            end_with_eval(w);
    } else {
        for (size_t i = 0; i < given.len; i++)
            if (!given.arg[i].name.n)
                return book_work_refuse(w, BOOK_ARGUMENTS,
                                        "a class without a constructor has "
                                        "arguments without names");
        if (open)
            put_list(w, &given, open);
        if (given.len || eval)
            add_constructor(w, &given, eval);
    }
    if (eval)
        book_work_changed(w, BOOK_EVAL);
    return 0;
}
