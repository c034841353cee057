/* book_names.c: the entry class becomes Model; imports. */
#include "base/map.h"
#include "data/book_int.h"

#include <string.h>

/* ---- names ---- */

static bool is_import(const struct book_work *w, const struct book_line *l)
{
    return py_is(&w->t.tok[l->from], "import") ||
           py_is(&w->t.tok[l->from], "from");
}

/* The name at `i` is a parameter of a function. */
static bool is_parameter(const struct book_work *w, size_t i)
{
    const struct py_token *t = w->t.tok;

    if (!py_is(&t[i - 1], "(") && !py_is(&t[i - 1], ",") &&
        !py_is(&t[i - 1], "*") && !py_is(&t[i - 1], "**"))
        return false;
    for (size_t u = 0; u < w->o.units; u++) {
        size_t open = w->o.unit[u].name + 1;

        if (!w->o.unit[u].is_class && py_is(&t[open], "(") && i > open &&
            i < t[open].match) {
            size_t at = open + 1;

            while (at < i)
                at = book_outline_next(&w->t, at);
            return at == i;
        }
    }
    return false;
}

/* The name at `i` gets a value, or names an argument. */
static bool is_bound(const struct book_work *w, size_t i)
{
    static const char *const before[] = {"def",    "as",       "for",
                                         "global", "nonlocal", "lambda"};

    for (size_t k = 0; i && k < sizeof(before) / sizeof(before[0]); k++)
        if (py_is(&w->t.tok[i - 1], before[k]))
            return true;
    return py_is(&w->t.tok[i + 1], "=") || py_is(&w->t.tok[i + 1], ":=") ||
           (i && is_parameter(w, i));
}

int book_names_step(struct book_work *w)
{
    if (str_eq(w->entry, "Model"))
        return 0;
    for (size_t i = 0, line = 0; i + 1 < w->t.len; i++) {
        const struct py_token *k = &w->t.tok[i];
        bool other_class = i && py_is(&w->t.tok[i - 1], "class") &&
                           i != w->o.unit[w->model].name;

        if (k->kind == PY_NAME && str_eq(k->text, "Model") &&
            !book_outline_dotted(&w->t, i))
            return book_work_refuse(
                w, BOOK_COLLISION, "line %u: the name Model is taken", k->line);
        if (!book_work_is_entry(w, i))
            continue;
        while (w->o.line[line].to < i)
            line++;
        if (other_class || is_bound(w, i) || is_import(w, &w->o.line[line]))
            return book_work_refuse(w, BOOK_COLLISION,
                                    "line %u: %.*s is not only the entry class",
                                    k->line, (int)w->entry.n, w->entry.p);
        book_work_edit(w, k->at, k->len, "Model");
    }
    book_work_changed(w, BOOK_RENAMED);
    return 0;
}

/* ---- imports ---- */

/* What tasks may import: torch, numpy, and modules of Python that have to do
 * with computing. */
static const char *const available[] = {
    "torch",    "numpy",       "__future__", "abc",       "bisect",
    "cmath",    "collections", "contextlib", "copy",      "dataclasses",
    "decimal",  "enum",        "fractions",  "functools", "heapq",
    "inspect",  "itertools",   "logging",    "math",      "numbers",
    "operator", "queue",       "random",     "re",        "statistics",
    "string",   "sys",         "textwrap",   "time",      "types",
    "typing",   "uuid",        "warnings",   "weakref",
};

#define HELPERS "_paritybench_helpers"
#define MOCK                                                                  \
    "class _mock_config(dict):\n"                                             \
    "    \"\"\"A configuration: a dict with its items as attributes.\"\"\"\n" \
    "\n"                                                                      \
    "    def __getattr__(self, name):\n"                                      \
    "        if name in self:\n"                                              \
    "            return self[name]\n"                                         \
    "        raise AttributeError(name)\n"                                    \
    "\n"                                                                      \
    "    __setattr__ = dict.__setitem__\n"                                    \
    "\n"                                                                      \
    "\n"

static bool is_available(struct str module)
{
    for (size_t i = 0; i < sizeof(available) / sizeof(available[0]); i++)
        if (str_eq(module, available[i]))
            return true;
    return false;
}

/* Whether code, other than an import, mentions the name. */
static bool is_used(const struct book_work *w, struct str name)
{
    for (size_t n = 0; n < w->o.lines; n++) {
        const struct book_line *l = &w->o.line[n];

        for (size_t i = l->from; !is_import(w, l) && i < l->to; i++)
            if (w->t.tok[i].kind == PY_NAME &&
                str_same(w->t.tok[i].text, name) &&
                !book_outline_dotted(&w->t, i))
                return true;
    }
    return false;
}

/* One "a.b as c" of an import, tokens [from, to): the name that it binds. */
static struct str bound_name(const struct book_work *w, size_t from, size_t to)
{
    size_t as = book_outline_top(&w->t, from, to, "as");

    return w->t.tok[as + 1 < to ? as + 1 : from].text;
}

/* Where the names of an import line begin. */
static size_t names_at(const struct book_work *w, const struct book_line *l)
{
    size_t at = l->from + 1;

    if (py_is(&w->t.tok[l->from], "from"))
        at = book_outline_top(&w->t, at, l->to, "import") + 1;
    return at + py_is(&w->t.tok[at], "(");
}

/* Whether a later import gives the name another meaning. */
static bool is_rebound(const struct book_work *w, const struct book_line *l,
                       struct str name)
{
    while (++l < w->o.line + w->o.lines) {
        size_t at = names_at(w, l);

        while (is_import(w, l) && l->depth == 0 && at < l->to) {
            size_t comma = book_outline_top(&w->t, at, l->to, ",");

            if (is_available(w->t.tok[l->from + 1].text) &&
                str_same(bound_name(w, at, comma), name))
                return true;
            at = comma + 1;
        }
    }
    return false;
}

/* Whether a line that imports from elsewhere can go: nothing uses its names. */
static int check_unused(struct book_work *w, const struct book_line *l)
{
    struct str module = w->t.tok[l->from + 1].text;
    size_t at = names_at(w, l);

    while (at < l->to) {
        size_t comma = book_outline_top(&w->t, at, l->to, ",");
        struct str name = bound_name(w, at, comma);

        if (!py_is(&w->t.tok[at], "*") && is_used(w, name) &&
            !is_rebound(w, l, name))
            return book_work_refuse(w, BOOK_IMPORT, "%.*s (line %u)",
                                    (int)module.n, module.p, w->t.tok[at].line);
        at = comma + 1;
    }
    return 0;
}

static void drop_line(struct book_work *w, const struct book_line *l)
{
    size_t at = book_work_line_start(w, l->from);

    book_work_edit(w, at, book_work_end(w, l->to) - at, "");
    book_work_changed(w, BOOK_FEWER_IMPORTS);
}

static int from_elsewhere(struct book_work *w, const struct book_line *l)
{
    struct str module = w->t.tok[l->from + 1].text;

    if (l->depth || book_outline_top(&w->t, l->from, l->to, ";") < l->to)
        return book_work_refuse(w, BOOK_IMPORT, "%.*s (line %u)", (int)module.n,
                                module.p, w->t.tok[l->from].line);
    if (str_eq(module, HELPERS))
        book_work_changed(w, BOOK_MOCKED);
    else if (check_unused(w, l) < 0)
        return -1;
    drop_line(w, l);
    return 0;
}

/* "import a.b as c, d": every module is one of ours, or all go. */
static int look_at_import(struct book_work *w, const struct book_line *l)
{
    size_t at = l->from + 1;
    bool ours = is_available(w->t.tok[at].text);

    while (py_is(&w->t.tok[l->from], "import") && at < l->to) {
        ours = ours && is_available(w->t.tok[at].text);
        at = book_outline_top(&w->t, at, l->to, ",") + 1;
    }
    return ours ? 0 : from_elsewhere(w, l);
}

/* The class goes where the first definition is. */
static int define_mock(struct book_work *w)
{
    for (size_t n = 0; n < w->o.lines; n++) {
        const struct book_line *l = &w->o.line[n];

        if (l->depth == 0 && !is_import(w, l) &&
            w->t.tok[l->from].kind != PY_STRING) {
            book_work_edit(w, book_work_line_start(w, l->from), 0, MOCK);
            return 0;
        }
    }
    return 0;
}

int book_imports_step(struct book_work *w)
{
    struct map seen;
    int rc = 0;

    map_init(&seen);
    for (size_t n = 0; rc == 0 && n < w->o.lines; n++) {
        const struct book_line *l = &w->o.line[n];
        struct str text = {w->source.p + w->t.tok[l->from].at,
                           w->t.tok[l->to].at - w->t.tok[l->from].at};

        if (!is_import(w, l))
            continue;
        if (l->depth == 0 && map_get(&seen, str_trim(text))) {
            drop_line(w, l);
            continue;
        }
        map_set(&seen, str_trim(text), w);
        rc = look_at_import(w, l);
    }
    map_release(&seen);
    if (rc == 0 && w->out->changes & 1u << BOOK_MOCKED)
        rc = define_mock(w);
    return rc;
}
