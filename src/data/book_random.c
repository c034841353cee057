/* book_random.c: whether forward draws random numbers. Follows the names of
 * functions and classes from forward on; what only the constructor runs may be
 * random. Code that runs only in training does not count. */
#include "data/book_int.h"

#include <string.h>

/* How code is reached: while the model is made, or when it runs. */
enum reach { NEVER, MADE, RUN };

struct search {
    struct book_work *w;
    unsigned char *reach; /* of each unit */
    bool changed;
};

static const char *const draws[] = {
    "rand",         "randn",    "rand_like",   "randn_like",     "randint",
    "randint_like", "randperm", "bernoulli",   "bernoulli_",     "multinomial",
    "normal",       "normal_",  "uniform_",    "random_",        "exponential_",
    "geometric_",   "cauchy_",  "log_normal_", "gumbel_softmax", "rsample",
    "sample",       "sample_n", "shuffle",     "poisson",
};
static const char *const drops[] = {
    "dropout",   "dropout1d",     "dropout2d",
    "dropout3d", "alpha_dropout", "feature_alpha_dropout",
};

static bool is_one_of(struct str name, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(name, words[i]))
            return true;
    return false;
}
#define IS_ONE_OF(name, words) \
    is_one_of(name, words, sizeof(words) / sizeof((words)[0]))

/* ---- what is reached ---- */

static void raise_to(struct search *s, int unit, enum reach how)
{
    if (unit == BOOK_NONE || s->reach[unit] >= how)
        return;
    s->reach[unit] = (unsigned char)how;
    s->changed = true;
}

/* A class that is mentioned: its objects are made, and called. */
static void reach_class(struct search *s, int unit)
{
    const struct book_outline *o = &s->w->o;

    raise_to(s, unit, RUN);
    raise_to(s, book_outline_find(o, unit, false, "__init__"), MADE);
    raise_to(s, book_outline_find(o, unit, false, "forward"), RUN);
    raise_to(s, book_outline_find(o, unit, false, "__call__"), RUN);
}

static void reach_name(struct search *s, struct str name, enum reach how)
{
    const struct book_outline *o = &s->w->o;

    for (size_t u = 0; u < o->units; u++) {
        if (!str_same(s->w->t.tok[o->unit[u].name].text, name))
            continue;
        if (o->unit[u].is_class)
            reach_class(s, (int)u);
        else if (!str_eq(name, "__init__") && !str_eq(name, "forward"))
            raise_to(s, (int)u, how);
    }
}

static void reach_names(struct search *s, size_t from, size_t to,
                        enum reach how)
{
    for (size_t i = from; i < to; i++)
        if (s->w->t.tok[i].kind == PY_NAME)
            reach_name(s, s->w->t.tok[i].text, how);
}

static void reach_all(struct search *s)
{
    const struct book_outline *o = &s->w->o;

    reach_class(s, s->w->model);
    do {
        s->changed = false;
        for (size_t u = 0; u < o->units; u++) {
            const struct book_unit *k = &o->unit[u];

            if (!s->reach[u])
                continue;
            if (k->is_class) /* the classes that it inherits from */
                reach_names(s, k->name + 1, o->line[k->line].to, RUN);
            else
                reach_names(s, k->body, k->end, (enum reach)s->reach[u]);
        }
    } while (s->changed);
}

/* ---- what is drawn ---- */

/* "F", "functional": modules whose dropout is a function. */
static bool is_function_module(const struct book_work *w, struct str name)
{
    if (str_eq(name, "F") || str_eq(name, "functional") ||
        str_eq(name, "torch"))
        return true;
    for (size_t i = 2; i < w->t.len; i++)
        if (str_same(w->t.tok[i].text, name) && py_is(&w->t.tok[i - 1], "as") &&
            py_is(&w->t.tok[i - 2], "functional"))
            return true;
    return false;
}

static bool is_draw(const struct book_work *w, size_t i)
{
    const struct py_token *k = &w->t.tok[i];
    bool dotted = book_outline_dotted(&w->t, i);

    if (k->kind != PY_NAME)
        return false;
    if (str_eq(k->text, "random") && py_is(&w->t.tok[i + 1], "."))
        return true;
    if (!py_is(&w->t.tok[i + 1], "("))
        return false;
    if (IS_ONE_OF(k->text, drops))
        return dotted && is_function_module(w, w->t.tok[i - 2].text);
    if (!dotted || !IS_ONE_OF(k->text, draws))
        return false;
    for (size_t u = 0; u < w->o.units; u++) /* the program's own */
        if (str_same(w->t.tok[w->o.unit[u].name].text, k->text))
            return false;
    return true;
}

static bool line_has(const struct book_work *w, const struct book_line *l,
                     const char *word)
{
    for (size_t i = l->from; i < l->to; i++)
        if (py_is(&w->t.tok[i], word))
            return true;
    return false;
}

/* "if not training: return x": what follows runs only in training. */
static bool leaves_early(const struct book_work *w, size_t n)
{
    const struct book_line *l = &w->o.line[n];

    return py_is(&w->t.tok[l->from], "if") && line_has(w, l, "not") &&
           !line_has(w, l, "and") &&
           (line_has(w, l, "return") ||
            (n + 1 < w->o.lines && l[1].depth > l->depth &&
             py_is(&w->t.tok[l[1].from], "return")));
}

/* The first draw in a function, a token; 0: none. */
static size_t find_draw(const struct book_work *w, int unit)
{
    int training = INT32_MAX; /* lines deeper than this run in training only */

    for (size_t n = 0; n < w->o.lines; n++) {
        const struct book_line *l = &w->o.line[n];
        bool head = w->o.unit[unit].line == n;

        if (!head && !book_outline_within(&w->o, l->unit, unit))
            continue;
        if (l->depth > training)
            continue;
        training = INT32_MAX;
        if (!head && line_has(w, l, "training")) {
            if (leaves_early(w, n))
                return 0;
            if (!line_has(w, l, "not") && !line_has(w, l, "or") &&
                (py_is(&w->t.tok[l->from], "if") ||
                 py_is(&w->t.tok[l->from], "elif")))
                training = l->depth;
            continue;
        }
        for (size_t i = l->from; i < l->to; i++)
            if (is_draw(w, i) && i >= w->o.unit[unit].body)
                return i;
    }
    return 0;
}

int book_random_step(struct book_work *w)
{
    struct search s = {.w = w};

    s.reach = arena_alloc(w->a, w->o.units + 1);
    reach_all(&s);
    for (size_t u = 0; u < w->o.units; u++) {
        size_t at;

        if (s.reach[u] != RUN || w->o.unit[u].is_class)
            continue;
        at = find_draw(w, (int)u);
        if (at)
            return book_work_refuse(w, BOOK_RANDOM, "line %u: %.*s",
                                    w->t.tok[at].line, (int)w->t.tok[at].text.n,
                                    w->t.tok[at].text.p);
    }
    return 0;
}
