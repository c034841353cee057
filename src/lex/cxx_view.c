/* cxx_view.c: finds the strings behind the arguments of build calls, joins what
 * Python would join, and prints each piece of C++ in one form.
 *
 * A piece is a run of literals that are surely one string: written next to each
 * other, added up, or text of one f-string; a name in there counts as its one
 * literal value. Whatever else happens between two literals separates them, so
 * that an opening comment or quote in one can never hide another. */
#include "lex/cxx_view.h"

#include "lex/cxx_lex.h"

#include <string.h>

#define MAX_BUILDS 32  /* build calls that are traced */
#define MAX_INLINE 16  /* names within names */
#define MAX_LEVELS 256 /* brackets; the lexer allows fewer */

enum known { KNOWN_NOT, KNOWN_NO, KNOWN_YES };

struct cxx_view {
    struct py_prog *p;
    const struct py_origins *o;
    struct view_out out;
    bool ready, over;
    uint32_t round; /* which build call is being traced */
    PY_VEC(struct py_origin) todo;
    uint32_t *body_round, *return_round, *slot_round, *field_round;
    uint8_t *literal; /* of each variable: enum known */
    bool *inlined;    /* of each variable: its value is being written out */
    bool *printed;    /* of each token: as the start of an origin */
    size_t budget;    /* bytes that may still be joined */

    char *text; /* the piece at hand */
    uint32_t *origin;
    size_t len, cap;
    bool join, mute;
};

/* ---- where literals may come from ----------------------------------------- */

/* Only a program with a build call pays for this. */
static void prepare(struct cxx_view *v)
{
    const struct py_prog *p = v->p;
    size_t bodies = p->bodies.len;

    v->ready = true;
    v->budget = 8 * p->src.n + 65536;
    v->body_round = arena_alloc(p->a, bodies * sizeof(*v->body_round));
    v->return_round = arena_alloc(p->a, bodies * sizeof(*v->return_round));
    v->field_round = arena_alloc(p->a, p->len * sizeof(*v->field_round));
    v->printed = arena_alloc(p->a, p->len * sizeof(*v->printed));
    v->slot_round = arena_alloc(p->a, v->o->slots * sizeof(*v->slot_round));
    v->inlined = arena_alloc(p->a, v->o->slots * sizeof(*v->inlined));
    v->literal = arena_alloc(p->a, v->o->slots * sizeof(*v->literal));
}

static void queue_list(struct cxx_view *v, uint32_t list)
{
    for (; list; list = v->o->list.at[list].next)
        *PY_PUSH(v->p->a, v->todo) = v->o->list.at[list];
}

static void queue_slot(struct cxx_view *v, uint32_t slot)
{
    const struct py_slot *s = &v->p->slots.at[slot];

    if (!slot || slot >= v->o->slots || v->slot_round[slot] == v->round)
        return;
    v->slot_round[slot] = v->round;
    queue_list(v, v->o->slot[slot]);
    if (s->param && v->body_round[s->param] != v->round) {
        v->body_round[s->param] = v->round;
        queue_list(v, v->o->passed[s->param]);
    }
}

/* ---- printing ------------------------------------------------------------- */

static bool is_word(const struct cxx_token *t)
{
    return t->kind == CXX_NAME || t->kind == CXX_NUMBER;
}

/* Two operators that would read as another one. */
static bool would_glue(const struct cxx_token *a, const struct cxx_token *b)
{
    static const char glue[] = "+-*/%<>=&|^!:.#";

    return a->kind == CXX_OP && b->kind == CXX_OP && a->text.n && b->text.n &&
           b->at > a->at + a->len && strchr(glue, a->text.p[a->text.n - 1]) &&
           strchr(glue, b->text.p[0]);
}

static const char *space_between(const struct cxx_token *a,
                                 const struct cxx_token *b)
{
    if (a->kind == CXX_DIRECTIVE || b->kind == CXX_DIRECTIVE)
        return "\n";
    if (a->line != b->line && a->kind == CXX_OP &&
        (str_eq(a->text, ";") || str_eq(a->text, "{") || str_eq(a->text, "}")))
        return "\n";
    return (is_word(a) && is_word(b)) || would_glue(a, b) ? " " : "";
}

static void print_token(struct cxx_view *v, const struct cxx_token *t)
{
    bool quotes = t->kind == CXX_STRING;
    const char *q = quotes && memchr(t->text.p, '"', t->text.n) ? "\"\"" : "''";

    if (quotes)
        view_put(&v->out, q, 2, v->origin[t->at]);
    else
        view_put(&v->out, t->text.p, t->text.n, v->origin[t->at]);
}

/* Ends the piece at hand. */
static void flush(struct cxx_view *v)
{
    struct cxx_tokens tokens;

    v->join = false;
    if (!v->len)
        return;
    cxx_lex(&tokens, (struct str){v->text, v->len}, v->p->a);
    for (size_t i = 0; i < tokens.len; i++) {
        const struct cxx_token *t = &tokens.tok[i];

        if (i) {
            const char *space = space_between(t - 1, t);

            view_put(&v->out, space, strlen(space), v->origin[t->at]);
        }
        print_token(v, t);
    }
    if (tokens.len)
        view_put(&v->out, "\n", 1, v->origin[v->len - 1]);
    v->len = 0;
}

static void append(struct cxx_view *v, const char *p, const uint32_t *origin,
                   size_t n)
{
    if (!n)
        return;
    if (v->len + n > v->cap) {
        size_t cap = 2 * (v->len + n) + 1024;
        char *text = arena_alloc(v->p->a, cap);
        uint32_t *at = arena_alloc(v->p->a, cap * sizeof(*at));

        if (v->len) {
            memcpy(text, v->text, v->len);
            memcpy(at, v->origin, v->len * sizeof(*at));
        }
        v->text = text;
        v->origin = at;
        v->cap = cap;
    }
    memcpy(v->text + v->len, p, n);
    memcpy(v->origin + v->len, origin, n * sizeof(*origin));
    v->len += n;
}

/* ---- literals ------------------------------------------------------------- */

/* Takes n from what may still be joined; false when it is used up. */
static bool spend(struct cxx_view *v, size_t n)
{
    v->over = v->over || n > v->budget;
    v->budget -= n > v->budget ? v->budget : n;
    return !v->over;
}

static void string_literal(struct cxx_view *v, const struct py_token *t)
{
    struct py_text text;

    if (v->mute || !spend(v, t->len))
        return;
    py_string_decode(&text, v->p->src, t, v->p->a);
    if (!v->join)
        flush(v);
    append(v, text.data, text.origin, text.len);
    v->join = true;
}

/* Text of an f-string; a doubled brace is one. */
static void fstring_text(struct cxx_view *v, const struct py_token *t,
                         uint8_t flags)
{
    struct py_token whole = *t;
    struct py_text text;
    const char *src = v->p->src.p;

    if (v->mute || !spend(v, t->len))
        return;
    whole.kind = PY_STRING;
    whole.flags = flags;
    whole.body_at = t->at;
    whole.body_len = t->len;
    py_string_decode(&text, v->p->src, &whole, v->p->a);
    for (size_t i = 0; i < text.len; i++) {
        char c = src[text.origin[i]];

        append(v, text.data + i, text.origin + i, 1);
        if ((c == '{' || c == '}') && i + 1 < text.len &&
            src[text.origin[i + 1]] == c)
            i++;
    }
}

/* ---- tracing -------------------------------------------------------------- */

static void trace(struct cxx_view *v, uint32_t from, uint32_t to, int nested);

/* Whether tokens [from, to) are surely one string, made of literals and names:
 * only then may it be put in the place of a name. */
static bool is_one_string(const struct py_prog *p, uint32_t from, uint32_t to)
{
    for (uint32_t t = from; t < to; t++) {
        const struct py_node *n = &p->nodes.at[p->prim[t]];

        if (p->tok[t].kind == PY_FSTART || p->tok[t].kind == PY_STRING) {
            if (n->kind != PY_N_LITERAL)
                return false;
            t = n->end;
        } else if (p->tok[t].kind == PY_NAME) {
            if (n->kind != PY_N_NAME)
                return false;
        } else if (!py_is(&p->tok[t], "+") && !py_is(&p->tok[t], "(") &&
                   !py_is(&p->tok[t], ")")) {
            return false;
        }
    }
    return from < to;
}

/* Puts the value of a variable where its name stands, if it has just one and is
 * not part of it. */
static bool inline_slot(struct cxx_view *v, uint32_t slot, int depth)
{
    const struct py_slot *s = &v->p->slots.at[slot];
    uint32_t list = slot < v->o->slots ? v->o->slot[slot] : 0;
    const struct py_origin *src = &v->o->list.at[list];

    if (depth == MAX_INLINE || !list || src->next || s->param ||
        v->inlined[slot] || !spend(v, 16) ||
        !is_one_string(v->p, src->from, src->to))
        return false;
    v->inlined[slot] = true;
    trace(v, src->from, src->to, depth + 1);
    v->inlined[slot] = false;
    return true;
}

/* {…} in an f-string: a literal or a name with one value is part of the text,
 * anything else is looked at for itself. */
static void trace_field(struct cxx_view *v, uint32_t open, int depth)
{
    const struct py_prog *p = v->p;
    uint32_t close = p->tok[open].match, node = p->prim[open + 1];
    const struct py_node *n = &p->nodes.at[node];

    if (node && n->end + 1 == close && open + 2 == close) {
        if (p->tok[open + 1].kind == PY_STRING) {
            string_literal(v, &p->tok[open + 1]);
            return;
        }
        if (n->kind == PY_N_NAME && inline_slot(v, n->slot, depth)) {
            v->join = true;
            return;
        }
    }
    if (close > open + 1 && v->field_round[open] != v->round) {
        v->field_round[open] = v->round;
        *PY_PUSH(p->a, v->todo) =
            (struct py_origin){PY_O_PART, open + 1, close, 0, 0};
    }
}

/* Returns the token behind the f-string that starts at t. */
static uint32_t trace_fstring(struct cxx_view *v, uint32_t t, int depth)
{
    const struct py_prog *p = v->p;
    uint32_t end = p->tok[t].match;
    uint8_t flags = p->tok[t].flags;

    if (!v->join)
        flush(v);
    for (t++; t < end; t++) {
        v->join = true;
        if (p->tok[t].kind == PY_FTEXT)
            fstring_text(v, &p->tok[t], flags);
        else if (py_is(&p->tok[t], "{")) {
            trace_field(v, t, depth);
            t = p->tok[t].match;
        }
    }
    v->join = true;
    return end + 1;
}

/* Everything a primary is made from: its variable, its attributes, what the
 * functions in it return. Its arguments are tokens like any other. */
static void trace_primary(struct cxx_view *v, uint32_t node)
{
    struct py_prog *p = v->p;

    while (node) {
        const struct py_node *n = &p->nodes.at[node];
        struct py_callee run[PY_MAX_CALLEES];
        uint32_t count;

        for (uint32_t i = 0; i < py_slot_count(p, n); i++)
            queue_slot(v, py_slot_of(p, n, i));
        count = n->kind == PY_N_CALL ? py_callees(p, n, run) : 0;
        for (uint32_t i = 0; i < count; i++) {
            if (v->return_round[run[i].body] == v->round)
                continue;
            v->return_round[run[i].body] = v->round;
            queue_list(v, v->o->returned[run[i].body]);
        }
        if (n->kind == PY_N_NAME || n->kind == PY_N_LAMBDA ||
            n->kind == PY_N_GROUP)
            break;
        node = n->base;
    }
}

struct level {  /* an open bracket */
    bool group; /* ( ) round an expression */
    bool mixed; /* more than a sum happens in it */
};

/* What a token that is no literal means for joining. */
static void trace_token(struct cxx_view *v, uint32_t t, struct level *level,
                        uint32_t *depth)
{
    const struct py_prog *p = v->p;
    const struct py_token *k = &p->tok[t];
    struct level *at = &level[*depth];
    bool op = k->kind == PY_OP && k->text.n == 1;

    switch (op ? k->text.p[0] : ' ') {
    case '+':
        v->join = v->join && !at->mixed;
        break;
    case '(':
    case '[':
    case '{':
        *depth += *depth + 1 < MAX_LEVELS;
        at = &level[*depth];
        at->group = k->text.p[0] == '(' && p->prim[t] != 0;
        at->mixed = false;
        v->join = v->join && at->group && *depth && !at[-1].mixed;
        break;
    case ')':
    case ']':
    case '}':
        v->join = v->join && at->group && !at->mixed;
        *depth -= *depth > 0;
        break;
    case ',':
    case '=':
    case ':':
        at->mixed = false;
        v->join = false;
        break;
    default:
        at->mixed = true;
        v->join = false;
        break;
    }
}

/* Reads tokens [from, to): literals into pieces, names to where they lead. */
static void trace(struct cxx_view *v, uint32_t from, uint32_t to, int nested)
{
    struct py_prog *p = v->p;
    struct level level[MAX_LEVELS];
    uint32_t depth = 0;

    level[0] = (struct level){false, false};
    for (uint32_t t = from; t < to && !v->over;) {
        const struct py_node *n = &p->nodes.at[p->prim[t]];

        if (p->tok[t].kind == PY_STRING) {
            string_literal(v, &p->tok[t++]);
        } else if (p->tok[t].kind == PY_FSTART) {
            t = trace_fstring(v, t, nested);
        } else if (n->kind == PY_N_NAME && !level[depth].mixed &&
                   inline_slot(v, n->slot, nested)) {
            t++;
        } else if (p->prim[t] && p->tok[t].kind == PY_NAME) {
            trace_primary(v, p->prim[t]);
            v->join = false;
            t++;
        } else {
            if (p->prim[t] && n->kind > PY_N_NAME && n->kind <= PY_N_SUB)
                trace_primary(v, p->prim[t]);
            trace_token(v, t++, level, &depth);
        }
    }
}

/* ---- what is sure ---------------------------------------------------------- */

static bool is_literal(struct cxx_view *v, uint32_t from, uint32_t to,
                       int depth);

/* A variable that is bound once, to a literal; not one that contains itself. */
static bool literal_slot(struct cxx_view *v, uint32_t slot, int depth)
{
    uint32_t list = slot < v->o->slots ? v->o->slot[slot] : 0;
    const struct py_origin *o = &v->o->list.at[list];

    if (!list || depth == MAX_INLINE)
        return false;
    if (v->literal[slot] == KNOWN_NOT) {
        v->literal[slot] = KNOWN_NO;
        if (v->p->slots.at[slot].binds == 1 && !v->p->slots.at[slot].param &&
            !o->next && o->kind == PY_O_VALUE &&
            is_literal(v, o->from, o->to, depth + 1))
            v->literal[slot] = KNOWN_YES;
    }
    return v->literal[slot] == KNOWN_YES;
}

/* Whether tokens [from, to) are one string that stands in this file. */
static bool is_literal(struct cxx_view *v, uint32_t from, uint32_t to,
                       int depth)
{
    const struct py_prog *p = v->p;

    for (uint32_t t = from; t < to; t++) {
        const struct py_node *n = &p->nodes.at[p->prim[t]];
        uint32_t end = p->tok[t].match;

        switch (p->tok[t].kind) {
        case PY_STRING:
            break;
        case PY_FSTART: /* without a field it is plain text */
            for (t++; t < end; t++)
                if (p->tok[t].kind != PY_FTEXT)
                    return false;
            break;
        case PY_NAME:
            if (n->kind != PY_N_NAME || !literal_slot(v, n->slot, depth))
                return false;
            break;
        default:
            if (!py_op(p, t, '+') && !py_op(p, t, '(') && !py_op(p, t, ')'))
                return false;
            break;
        }
    }
    return from < to;
}

static bool literal_args(struct cxx_view *v, const struct py_node *call)
{
    const struct py_prog *p = v->p;
    uint32_t end;

    for (uint32_t from = call->tok + 1; from < call->end; from = end + 1) {
        end = py_element_end(p, from, call->end);
        if (p->id[from] && py_op(p, from + 1, '='))
            from += 2;
        if (!is_literal(v, from, end, 0))
            return false;
    }
    return call->tok + 1 < call->end;
}

/* ---- the whole ------------------------------------------------------------ */

struct cxx_view *cxx_view_new(const struct py_origins *o, struct arena *a)
{
    struct cxx_view *v = arena_alloc(a, sizeof(*v));

    v->p = o->p;
    v->o = o;
    v->out.a = a;
    return v;
}

bool cxx_view_add(struct cxx_view *v, uint32_t call, bool print)
{
    const struct py_node *n = &v->p->nodes.at[call];

    if (!v->ready)
        prepare(v);
    if (++v->round > MAX_BUILDS)
        return false;
    v->todo.len = 0;
    *PY_PUSH(v->p->a, v->todo) =
        (struct py_origin){PY_O_PART, n->tok + 1, n->end, 0, 0};
    for (uint32_t i = 0; i < v->todo.len && !v->over; i++) {
        struct py_origin s = v->todo.at[i];

        v->mute = !print || v->printed[s.from];
        v->printed[s.from] = v->printed[s.from] || print;
        trace(v, s.from, s.to, 0);
        flush(v);
    }
    return !v->over && literal_args(v, n);
}

void cxx_view_done(struct cxx_view *v, struct view *out)
{
    view_done(out, &v->out);
}
