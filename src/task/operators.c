/* operators.c: one pass for the names, one for the calls. */
#include "task/operators.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    const struct py_tokens *t;
    struct arena *a;
    struct map imported; /* local name to full dotted name */
    struct map defined;  /* functions and methods of the file */
    const char **found;
    size_t len, cap;
};

static bool is_name(const struct py_token *k)
{
    return k->kind == PY_NAME;
}

/* ---- names ---- */

/* The dotted name at token *i, which moves behind it: "torch.nn". */
static const char *read_dotted(struct reading *r, size_t *i)
{
    const struct py_token *tok = r->t->tok;
    const char *name = arena_strndup(r->a, tok[*i].text.p, tok[*i].text.n);

    for (++*i; py_is(&tok[*i], ".") && is_name(&tok[*i + 1]); *i += 2)
        name = arena_printf(r->a, "%s.%.*s", name, (int)tok[*i + 1].text.n,
                            tok[*i + 1].text.p);
    return name;
}

/* One of the names behind `import`; `module` is NULL without `from`. */
static void read_imported(struct reading *r, const char *module, size_t *i)
{
    struct str local = r->t->tok[*i].text;
    const char *full = read_dotted(r, i);

    if (module)
        full = arena_printf(r->a, "%s.%s", module, full);
    if (py_is(&r->t->tok[*i], "as") && is_name(&r->t->tok[*i + 1])) {
        local = r->t->tok[*i + 1].text;
        *i += 2;
    } else if (!module) { /* `import a.b` binds a */
        full = arena_strndup(r->a, local.p, local.n);
    }
    map_set(&r->imported, local, (void *)full);
}

/* An import statement, by its token `import`. */
static void read_import(struct reading *r, size_t import)
{
    const struct py_token *tok = r->t->tok;
    const char *module = NULL;
    size_t i = import;

    while (i > 0 && (py_is(&tok[i - 1], ".") ||
                     (is_name(&tok[i - 1]) && !py_is(&tok[i - 1], "from"))))
        i--;
    if (i > 0 && i < import && py_is(&tok[i - 1], "from") && is_name(&tok[i]))
        module = read_dotted(r, &i);
    i = import + 1;
    if (py_is(&tok[i], "("))
        i++;
    while (is_name(&tok[i])) {
        read_imported(r, module, &i);
        if (py_is(&tok[i], ","))
            i++;
    }
}

static void read_names(struct reading *r)
{
    for (size_t i = 0; i + 1 < r->t->len; i++) {
        const struct py_token *k = &r->t->tok[i];

        if (py_is(k, "import"))
            read_import(r, i);
        else if (py_is(k, "def") && is_name(k + 1))
            map_set(&r->defined, k[1].text, r);
    }
}

/* ---- calls ---- */

/* The name that is called at token i, as a full one if it was imported; NULL
 * when it is neither imported nor an attribute. */
static const char *called_name(struct reading *r, size_t i, bool *method)
{
    const struct py_token *tok = r->t->tok;
    const char *full;
    size_t first = i;

    while (first >= 2 && py_is(&tok[first - 1], ".") &&
           is_name(&tok[first - 2]))
        first -= 2;
    full = first > 0 && py_is(&tok[first - 1], ".")
               ? NULL
               : map_get(&r->imported, tok[first].text);
    *method = !full && i > 0 && py_is(&tok[i - 1], ".");
    if (*method)
        return arena_strndup(r->a, tok[i].text.p, tok[i].text.n);
    for (size_t k = first + 2; full && k <= i; k += 2)
        full = arena_printf(r->a, "%s.%.*s", full, (int)tok[k].text.n,
                            tok[k].text.p);
    return full;
}

/* "torch.nn.functional.relu" is the operator relu. */
static const char *short_name(const char *full)
{
    static const char *const homes[] = {"torch.nn.functional.", "torch.nn.",
                                        "torch."};

    for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++)
        if (str_starts(str_of(full), homes[i]))
            return strchr(full + strlen(homes[i]), '.')
                       ? NULL
                       : full + strlen(homes[i]);
    return NULL;
}

static void read_call(struct reading *r, size_t i)
{
    bool method;
    const char *name = called_name(r, i, &method);

    if (name && !method)
        name = short_name(name);
    else if (name && (strcmp(name, "__init__") == 0 ||
                      map_get(&r->defined, str_of(name))))
        name = NULL;
    if (!name)
        return;
    r->found = xgrow(r->found, &r->cap, r->len, sizeof(*r->found));
    r->found[r->len++] = name;
}

/* Whether the statement at token i, at module level, is no part of the
 * program: it makes inputs, or runs only as a main program. */
static bool is_aside(const struct py_token *k)
{
    return (py_is(k, "def") &&
            (py_is(k + 1, "get_inputs") || py_is(k + 1, "get_init_inputs"))) ||
           (py_is(k, "if") && py_is(k + 1, "__name__"));
}

static void read_calls(struct reading *r)
{
    const struct py_token *tok = r->t->tok;
    bool aside = false, start = true;
    int depth = 0;

    for (size_t i = 0; i + 1 < r->t->len; i++) {
        depth += tok[i].kind == PY_INDENT;
        depth -= tok[i].kind == PY_DEDENT;
        if (start && depth == 0 && is_name(&tok[i]))
            aside = is_aside(&tok[i]);
        start = tok[i].kind == PY_NEWLINE || tok[i].kind == PY_DEDENT;
        if (!aside && is_name(&tok[i]) && py_is(&tok[i + 1], "("))
            read_call(r, i);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **task_operators(const struct py_tokens *t, struct arena *a)
{
    struct reading r = {.t = t, .a = a};
    const char **ops;
    size_t kept = 0;

    map_init(&r.imported);
    map_init(&r.defined);
    read_names(&r);
    read_calls(&r);
    if (r.len)
        qsort(r.found, r.len, sizeof(*r.found), by_name);
    ops = arena_alloc(a, (r.len + 1) * sizeof(*ops));
    for (size_t i = 0; i < r.len; i++)
        if (i == 0 || strcmp(r.found[i], r.found[i - 1]) != 0)
            ops[kept++] = r.found[i];
    free(r.found);
    map_release(&r.imported);
    map_release(&r.defined);
    return ops;
}
