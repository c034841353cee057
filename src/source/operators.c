/* operators.c: one pass collects the names, another the calls and symbols. */
#include "source/operators.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* An operator, and its place in the order of computing: twice the last token it
 * needs, and one more for a symbol. */
struct found {
    const char *name;
    size_t at;
};

struct reading {
    const struct py_tokens *t;
    struct arena *a;
    struct map imported; /* local name to full dotted name */
    struct map defined;  /* functions and methods of the file */
    struct map layers;   /* attributes of self, to the layers they hold */
    bool chain;          /* layers count where they are called */
    struct found *found;
    size_t len, cap;
};

static bool operators_is_name(const struct py_token *k)
{
    return k->kind == PY_NAME;
}

static void found(struct reading *r, const char *name, size_t at)
{
    r->found = xgrow(r->found, &r->cap, r->len, sizeof(*r->found));
    r->found[r->len++] = (struct found){name, at};
}

/* ---- names ---- */

/* One of the names after `import`; `module` is NULL without `from`. */
static void operators_read_imported(struct reading *r, const char *module,
                                    size_t *i)
{
    struct str local = r->t->tok[*i].text;
    const char *full = py_dotted(r->t->tok, i, r->a);

    if (module)
        full = arena_printf(r->a, "%s.%s", module, full);
    if (py_is(&r->t->tok[*i], "as") && operators_is_name(&r->t->tok[*i + 1])) {
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

    while (i > 0 &&
           (py_is(&tok[i - 1], ".") ||
            (operators_is_name(&tok[i - 1]) && !py_is(&tok[i - 1], "from"))))
        i--;
    if (i > 0 && i < import && py_is(&tok[i - 1], "from") &&
        operators_is_name(&tok[i]))
        module = py_dotted(tok, &i, r->a);
    i = import + 1;
    if (py_is(&tok[i], "("))
        i++;
    while (operators_is_name(&tok[i])) {
        operators_read_imported(r, module, &i);
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
        else if (py_is(k, "def") && operators_is_name(k + 1))
            map_set(&r->defined, k[1].text, r);
    }
}

/* ---- calls ---- */

/* The name called at token i, in full if it was imported; NULL when it is
 * neither imported nor an attribute. self.norm(x) calls a layer, which was
 * counted where it was created. */
static const char *called_name(struct reading *r, size_t i, bool *method)
{
    const struct py_token *tok = r->t->tok;
    const char *full;
    size_t first = i;

    while (first >= 2 && py_is(&tok[first - 1], ".") &&
           operators_is_name(&tok[first - 2]))
        first -= 2;
    full = first > 0 && py_is(&tok[first - 1], ".")
               ? NULL
               : map_get(&r->imported, tok[first].text);
    if (i == first + 2 && py_is(&tok[first], "self"))
        return NULL;
    *method = !full && i > 0 && py_is(&tok[i - 1], ".");
    if (*method)
        return arena_strndup(r->a, tok[i].text.p, tok[i].text.n);
    for (size_t k = first + 2; full && k <= i; k += 2)
        full = arena_printf(r->a, "%s.%.*s", full, (int)tok[k].text.n,
                            tok[k].text.p);
    return full;
}

/* "torch.nn.functional.relu" is the operator relu. */
static const char *operators_short_name(const char *full)
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

/* self.name = Layer(…), by the token Layer, whose dotted name begins earlier. */
static void keep_layer(struct reading *r, size_t i, const char *layer)
{
    const struct py_token *tok = r->t->tok;

    while (i >= 2 && py_is(&tok[i - 1], "."))
        i -= 2;
    if (i >= 4 && py_is(&tok[i - 1], "=") && py_is(&tok[i - 4], "self"))
        map_set(&r->layers, tok[i - 2].text, (void *)layer);
}

static const char *called_layer(struct reading *r, size_t i)
{
    const struct py_token *tok = r->t->tok;

    return i >= 2 && py_is(&tok[i - 1], ".") && py_is(&tok[i - 2], "self")
               ? map_get(&r->layers, tok[i].text)
               : NULL;
}

/* `init`: in __init__, where layers are made. */
static void read_call(struct reading *r, size_t i, bool init)
{
    bool method = false;
    const char *name = called_name(r, i, &method);

    if (name && !method)
        name = operators_short_name(name);
    else if (name && (strcmp(name, "__init__") == 0 ||
                      map_get(&r->defined, str_of(name))))
        name = NULL;
    if (r->chain && init && name)
        keep_layer(r, i, name);
    if (r->chain)
        name = init ? NULL : name ? name : called_layer(r, i);
    if (name)
        found(r, name, 2 * (size_t)r->t->tok[i + 1].match);
}

/* ---- symbols ---- */

/* The names torch uses for them. */
static const struct symbol {
    const char *text, *name;
} binary[] =
    {
        {"+", "add"},           {"-", "sub"},         {"*", "mul"},
        {"/", "div"},           {"@", "matmul"},      {"**", "pow"},
        {"//", "floor_divide"}, {"%", "remainder"},   {"<", "lt"},
        {"<=", "le"},           {">", "gt"},          {">=", "ge"},
        {"==", "eq"},           {"!=", "ne"},         {"&", "bitwise_and"},
        {"|", "bitwise_or"},    {"^", "bitwise_xor"},
},
  unary[] = {{"-", "neg"}, {"~", "bitwise_not"}};

static const char *symbol_name(const struct symbol *s, size_t count,
                               struct str text)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(text, s[i].text))
            return s[i].name;
    return NULL;
}

/* Whether a value can end at this token. */
static bool ends_operand(const struct py_token *k)
{
    static const char words[] =
        "and assert await elif else for from if import in is lambda not or "
        "raise return while with yield";

    if (k->kind == PY_NAME)
        return !str_in(k->text, words);
    return k->kind == PY_NUMBER || k->kind == PY_STRING || k->kind == PY_FEND ||
           (k->kind == PY_OP && str_in(k->text, ") ] }"));
}

/* The last token of the operand that begins at i: what it calls is computed
 * before the operator. */
static size_t operand_end(const struct reading *r, size_t i)
{
    const struct py_token *tok = r->t->tok;

    for (size_t next = i; tok[i].kind != PY_END; next = i + 1) {
        if (py_is(&tok[next], "(") || py_is(&tok[next], "["))
            i = tok[next].match > next ? tok[next].match : next;
        else if (py_is(&tok[next], ".") && operators_is_name(&tok[next + 1]))
            i = next + 1;
        else if (next != i)
            break;
    }
    return i;
}

/* Operations on two numbers or on a string are not tensor operations. */
static void read_symbol(struct reading *r, size_t i)
{
    const struct py_token *before = &r->t->tok[i ? i - 1 : 0], *k = before + 1,
                          *after = k + 1;
    struct str text = k->text;
    const char *name;

    if (i == 0 || before->kind == PY_STRING || before->kind == PY_FEND)
        return;
    if (!ends_operand(before)) {
        name = symbol_name(unary, 2, text);
        if (name && after->kind != PY_NUMBER)
            found(r, name, 2 * operand_end(r, i + 1) + 1);
        return;
    }
    name = symbol_name(binary, sizeof(binary) / sizeof(binary[0]), text);
    if (!name && text.n > 1 && text.p[text.n - 1] == '=') { /* x += y */
        text.n--;
        name = symbol_name(binary, sizeof(binary) / sizeof(binary[0]), text);
    }
    if (name && (before->kind != PY_NUMBER || after->kind != PY_NUMBER))
        found(r, name, 2 * operand_end(r, i + 1) + 1);
}

/* ---- the program ---- */

/* The current position. */
struct place_in {
    int depth;    /* indentation */
    int nest;     /* open brackets */
    int function; /* indentation of the enclosing function, or -1 */
    bool init;    /* that function is __init__, which computes with numbers */
    bool aside;   /* not part of the program */
    bool control; /* in a condition or header, which use Python values */
    size_t index; /* inside a subscript that ends at this token */
};

/* Whether a module-level statement creates inputs, or runs only as a main
 * program. */
static bool is_aside(const struct py_token *k)
{
    return (py_is(k, "def") &&
            (py_is(k + 1, "get_inputs") || py_is(k + 1, "get_init_inputs"))) ||
           (py_is(k, "if") && py_is(k + 1, "__name__"));
}

static void start_statement(struct place_in *p, const struct py_token *k)
{
    static const char control[] = "assert class def elif for if raise while";

    if (p->depth == 0)
        p->aside = is_aside(k);
    if (p->depth <= p->function)
        p->function = -1;
    if (p->function < 0 && py_is(k, "def")) {
        p->function = p->depth;
        p->init = py_is(k + 1, "__init__");
    }
    p->control = k->kind == PY_NAME && str_in(k->text, control);
}

static void read_operator(struct reading *r, struct place_in *p, size_t i)
{
    const struct py_token *k = &r->t->tok[i];

    p->nest += py_is(k, "(") || py_is(k, "[") || py_is(k, "{");
    p->nest -= py_is(k, ")") || py_is(k, "]") || py_is(k, "}");
    if (py_is(k, "[") && i > 0 && ends_operand(k - 1) && k->match > p->index)
        p->index = k->match;
    if (p->function >= 0 && !p->init && !p->control && i >= p->index &&
        !(k->flags & PY_FIELD))
        read_symbol(r, i);
    if (p->nest == 0 && py_is(k, ":"))
        p->control = false; /* a statement may follow on the same line */
}

static void operators_read_program(struct reading *r)
{
    const struct py_token *tok = r->t->tok;
    struct place_in p = {.function = -1};
    bool start = true;

    for (size_t i = 0; i + 1 < r->t->len; i++) {
        p.depth += tok[i].kind == PY_INDENT;
        p.depth -= tok[i].kind == PY_DEDENT;
        if (start && tok[i].kind != PY_INDENT && tok[i].kind != PY_DEDENT) {
            p.nest = 0;
            start_statement(&p, &tok[i]);
            start = false;
        }
        start = start || tok[i].kind == PY_NEWLINE;
        if (p.aside)
            continue;
        if (operators_is_name(&tok[i]) && py_is(&tok[i + 1], "("))
            read_call(r, i, p.function >= 0 && p.init);
        else if (tok[i].kind == PY_OP)
            read_operator(r, &p, i);
    }
}

static int operators_by_name(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->name,
                  ((const struct found *)b)->name);
}

static int operators_by_place(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

static const char **operators_read_all(const struct py_tokens *t, bool chain,
                                       struct arena *a)
{
    struct reading r = {.t = t, .a = a, .chain = chain};
    const char **ops;
    size_t kept = 0;

    read_names(&r);
    operators_read_program(&r);
    if (r.len)
        qsort(r.found, r.len, sizeof(*r.found),
              chain ? operators_by_place : operators_by_name);
    ops = arena_alloc(a, (r.len + 1) * sizeof(*ops));
    for (size_t i = 0; i < r.len; i++)
        if (chain || i == 0 ||
            strcmp(r.found[i].name, r.found[i - 1].name) != 0)
            ops[kept++] = r.found[i].name;
    free(r.found);
    map_release(&r.imported);
    map_release(&r.defined);
    map_release(&r.layers);
    return ops;
}

const char **operators_of(const struct py_tokens *t, struct arena *a)
{
    return operators_read_all(t, false, a);
}

const char **operators_chain(const struct py_tokens *t, struct arena *a)
{
    return operators_read_all(t, true, a);
}
