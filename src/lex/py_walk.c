/* py_walk.c: one pass over the tokens with a stack of open brackets. A primary
 * grows by one trailer at a time, so its nodes come in the order in which
 * Python would evaluate them: what is inside comes first. */
#include "lex/py_walk.h"

#include <string.h>

/* Deeper than CPython compiles; keeps looking a name up cheap. */
#define MAX_SCOPES 256

/* ---- records -------------------------------------------------------------- */

uint32_t walk_bind(struct walk *w, enum py_bind_kind kind, uint32_t scope,
                   uint32_t name, uint32_t tok)
{
    struct py_binding *b = PY_PUSH(w->p->a, w->p->bindings);

    b->kind = kind;
    b->scope = scope;
    b->name = name;
    b->tok = tok;
    b->body = w->body;
    b->node_at = w->p->nodes.len;
    w->p->renamed = w->p->renamed || name == PY_W___name__;
    return w->p->bindings.len - 1;
}

struct py_event *walk_event(struct walk *w, enum py_event_kind kind,
                            uint32_t tok)
{
    struct py_event *e = PY_PUSH(w->p->a, w->p->events);

    e->kind = kind;
    e->tok = tok;
    e->body = w->body;
    e->node_at = w->p->nodes.len;
    return e;
}

uint32_t walk_scope(struct walk *w, enum py_scope_kind kind)
{
    uint32_t depth = w->p->scopes.at[w->scope].depth + 1;
    struct py_scope *s;

    if (depth > MAX_SCOPES)
        return w->scope;
    s = PY_PUSH(w->p->a, w->p->scopes);
    s->kind = kind;
    s->parent = w->scope;
    s->depth = depth;
    return w->p->scopes.len - 1;
}

uint32_t walk_body(struct walk *w, uint32_t name)
{
    struct py_prog *p = w->p;
    uint32_t id = p->bodies.len;
    struct py_body *b = PY_PUSH(p->a, p->bodies);
    const struct py_scope *s = &p->scopes.at[w->scope];
    struct py_body *up = &p->bodies.at[w->body];

    b->name = name;
    b->parent = w->body;
    b->lambda = !name;
    b->script = up->script;
    b->in_cls = s->kind == PY_S_CLASS ? s->cls : up->in_cls;
    if (s->kind == PY_S_CLASS && name) {
        b->cls = s->cls;
        b->method = p->classes.at[s->cls].methods;
        p->classes.at[s->cls].methods = id;
    } else {
        b->sibling = up->child;
        up->child = id;
    }
    b->scope = walk_scope(w, PY_S_FUNCTION);
    return id;
}

uint32_t walk_node(struct walk *w, enum py_node_kind kind, uint32_t start,
                   uint32_t tok, uint32_t end)
{
    struct py_node *n = PY_PUSH(w->p->a, w->p->nodes);
    uint32_t id = w->p->nodes.len - 1;

    n->kind = (uint8_t)kind;
    n->flags = w->note ? PY_F_NOTE : 0;
    n->start = start;
    n->tok = tok;
    n->end = end;
    n->scope = w->scope;
    n->body = w->body;
    w->p->prim[start] = id;
    w->cur = id;
    return id;
}

void walk_trailer(struct walk *w, enum py_node_kind kind, uint32_t base,
                  uint32_t tok, uint32_t end)
{
    uint32_t start = kind == PY_N_GROUP ? tok : w->p->nodes.at[base].start;
    uint32_t id = walk_node(w, kind, start, tok, end);

    w->p->nodes.at[id].base = base;
    w->p->nodes.at[base].use = (uint8_t)kind;
    w->p->nodes.at[base].user = id;
    if (kind == PY_N_ATTR)
        w->p->nodes.at[id].name = w->p->id[tok];
}

/* ---- targets and flows ---------------------------------------------------- */

void walk_target(struct walk *w, uint32_t node, uint32_t binding)
{
    *PY_PUSH(w->p->a, w->p->targets) = (struct py_target){node, binding, 0};
}

void walk_targets(struct walk *w, uint32_t from, uint32_t to, uint8_t flags,
                  uint32_t scope)
{
    struct py_prog *p = w->p;
    uint32_t first = p->targets.len, inner_end = 0, of;
    uint32_t whole = from < to ? p->prim[from] : 0;
    bool tuple = false, paired = true;

    if (whole && p->nodes.at[whole].kind == PY_N_DISPLAY &&
        p->nodes.at[whole].end + 1 == to)
        from++;
    for (uint32_t t = from; t < to; t++) {
        struct py_node *n = &p->nodes.at[p->prim[t]];

        if (!p->prim[t]) {
            paired = paired && !py_op(w->p, t, '*');
            tuple = tuple || (t > inner_end && py_op(p, t, ','));
        } else if (n->kind == PY_N_DISPLAY || n->kind == PY_N_GROUP) {
            paired = paired && n->kind == PY_N_GROUP;
            inner_end = n->end > inner_end ? n->end : inner_end;
        } else {
            uint32_t binding = 0;

            n->flags |= flags;
            if (n->kind == PY_N_NAME)
                binding = walk_bind(w, PY_B_VALUE, scope, n->name, n->tok);
            walk_target(w, p->prim[t], binding);
            t = n->end;
        }
    }
    of = !tuple ? 0 : paired ? p->targets.len - first : PY_MANY;
    for (uint32_t i = first; i < p->targets.len; i++)
        p->targets.at[i].of = of;
}

void walk_flow(struct walk *w, enum py_flow_kind kind, uint32_t from,
               uint32_t to, uint32_t targets)
{
    struct py_flow *f = PY_PUSH(w->p->a, w->p->flows);

    f->kind = kind;
    f->from = from;
    f->to = to;
    f->targets = targets;
    f->target_count = w->p->targets.len - targets;
    f->body = w->body;
    f->node_at = w->p->nodes.len;
}

/* ---- words ---------------------------------------------------------------- */

static bool plain_number(const struct walk *w, uint32_t i)
{
    uint32_t id = w->p->id[i];
    const struct py_token *t = &w->p->tok[i];

    if (t->kind != PY_NUMBER && t->kind != PY_STRING && t->kind != PY_NAME)
        return false;
    if (!py_op(w->p, i + 1, ',') && !py_op(w->p, i + 1, ')') &&
        !py_op(w->p, i + 1, '='))
        return false;
    return t->kind != PY_NAME || id == PY_W_int || id == PY_W_float ||
           id == PY_W_bool || id == PY_W_str || id == PY_W_True ||
           id == PY_W_False;
}

static void parameter(struct walk *w, struct frame *f, uint32_t i)
{
    struct py_prog *p = w->p;
    enum py_bind_kind kind = f->body ? PY_B_PARAM : PY_B_VALUE;
    uint32_t id = walk_bind(w, kind, f->scope, p->id[i], i);
    struct py_binding *b = &p->bindings.at[id];
    struct py_body *body = &p->bodies.at[f->body];

    f->expect = false;
    f->param = id;
    f->mark = 0;
    if (!f->body)
        return;
    b->ref = f->body;
    b->self = body->cls && !body->is_static && !body->params &&
              !py_op(w->p, i - 1, '*') && !py_is(&w->p->tok[i - 1], "**");
    if (body->params)
        p->bindings.at[body->last_param].next = id;
    else
        body->params = id;
    body->last_param = id;
}

static void word_else(struct walk *w, uint32_t i)
{
    while (w->frames.len && frame_top(w)->kind == FRAME_LAMBDA &&
           frame_top(w)->inner && !frame_top(w)->ifs)
        frame_pop_light(w, i);
    if (w->frames.len && frame_top(w)->kind == FRAME_LAMBDA &&
        frame_top(w)->ifs)
        frame_top(w)->ifs--;
}

static void word_if(struct walk *w, uint32_t i)
{
    struct frame *f = frame_top(w);

    if (!f && w->st.kind == STMT_CASE && !w->st.guard)
        w->st.guard = i;
    else if (f && f->kind == FRAME_LAMBDA)
        f->ifs++;
    else if (f && f->comp == COMP_ITERABLE)
        frame_end_iterable(w, f, i);
}

static void word_for(struct walk *w, uint32_t i)
{
    struct frame *f;

    frame_close_light(w, i);
    f = frame_top(w);
    if (!f || !f->comp)
        return;
    if (f->comp == COMP_ITERABLE)
        frame_end_iterable(w, f, i);
    f->comp = COMP_TARGET;
    f->mark = i + 1;
}

static void word_in(struct walk *w, uint32_t i)
{
    struct frame *f = frame_top(w);

    if (!f) {
        if (w->st.kind == STMT_FOR && !w->st.in)
            w->st.in = i;
    } else if (f->comp == COMP_TARGET) {
        f->targets = f->mark;
        f->mark = i + 1;
        f->comp = COMP_ITERABLE;
        if (!f->inner)
            w->scope = f->outer_scope;
    }
}

static void keyword(struct walk *w, uint32_t i)
{
    switch (w->p->id[i]) {
    case PY_W_False:
    case PY_W_None:
    case PY_W_True:
        frame_literal(w, i, i, 0, false);
        break;
    case PY_W_lambda:
        frame_open_lambda(w, i);
        break;
    case PY_W_for:
        word_for(w, i);
        break;
    case PY_W_in:
        word_in(w, i);
        break;
    case PY_W_if:
        word_if(w, i);
        break;
    case PY_W_else:
        word_else(w, i);
        break;
    default:
        break;
    }
}

static void name(struct walk *w, uint32_t i, uint32_t dot)
{
    struct frame *f = frame_top(w);

    if (dot) {
        walk_trailer(w, PY_N_ATTR, dot, i, i);
        return;
    }
    if (py_is_keyword(w->p->id[i])) {
        keyword(w, i);
        return;
    }
    if (f && f->expect &&
        (f->kind == FRAME_PARAMS || (f->kind == FRAME_LAMBDA && !f->inner))) {
        parameter(w, f, i);
        return;
    }
    if (f && (f->kind == FRAME_CALL || f->kind == FRAME_BASES) &&
        py_op(w->p, i + 1, '=') &&
        (py_op(w->p, i - 1, ',') || i - 1 == f->open))
        return; /* the name of a keyword argument */
    if (f && f->kind == FRAME_FIELD && py_op(w->p, i - 1, '!'))
        return; /* a conversion */
    walk_node(w, PY_N_NAME, i, i, i);
    w->p->nodes.at[w->cur].name = w->p->id[i];
}

/* ---- operators ------------------------------------------------------------ */

static void comma(struct walk *w, uint32_t i)
{
    struct frame *f;

    frame_close_light(w, i);
    f = frame_top(w);
    if (!f)
        return;
    f->commas++;
    if (f->kind == FRAME_PARAMS || f->kind == FRAME_LAMBDA) {
        frame_end_default(w, f, i);
        f->expect = true;
        if (f->kind == FRAME_PARAMS)
            w->note = false;
    }
}

static void colon(struct walk *w, uint32_t i)
{
    struct frame *f;

    frame_close_light(w, i);
    f = frame_top(w);
    if (!f) {
        stmt_colon(w, i);
    } else if (f->kind == FRAME_LAMBDA) {
        frame_end_default(w, f, i);
        f->inner = true;
        w->scope = f->scope;
        w->body = f->body;
    } else if (f->kind == FRAME_PARAMS) {
        w->note = true;
        if (f->param && plain_number(w, i + 1))
            w->p->bindings.at[f->param].scalar = true;
    } else if (f->kind == FRAME_FIELD) {
        f->inner = true;
    }
}

static void equal(struct walk *w, uint32_t i)
{
    struct frame *f = frame_top(w);

    if (!f) {
        if (w->st.kind == STMT_EXPR)
            *PY_PUSH(w->p->a, w->equals) = i;
        w->note = false;
    } else if (f->kind == FRAME_PARAMS ||
               (f->kind == FRAME_LAMBDA && !f->inner)) {
        f->mark = i + 1;
        w->note = false;
        if (f->param && plain_number(w, i + 1))
            w->p->bindings.at[f->param].scalar = true;
    }
}

/* An arithmetic operator. Only one beside a bare name can matter. */
static void arithmetic(struct walk *w, uint32_t i, uint32_t left, bool unary)
{
    const struct py_token *right = &w->p->tok[i + 1];
    const struct py_node *n = &w->p->nodes.at[left];

    if (w->body == 0 || (!left && !unary))
        return;
    if (n->kind == PY_N_NAME || n->kind == PY_N_GROUP ||
        right->kind == PY_NAME || right->kind == PY_OP)
        walk_event(w, PY_E_ARITH, i)->ref = left;
}

static void augmented(struct walk *w, uint32_t i, uint32_t left)
{
    if (w->frames.len || w->st.kind != STMT_EXPR)
        return;
    w->st.aug = i;
    switch (w->p->tok[i].text.p[0]) {
    case '@':
        walk_event(w, PY_E_MATMUL, i);
        break;
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
        arithmetic(w, i, left, false);
        break;
    default:
        break;
    }
}

static void operator1(struct walk *w, uint32_t i, uint32_t before)
{
    switch (w->p->tok[i].text.p[0]) {
    case '(':
    case '[':
    case '{':
        frame_open(w, i, before);
        break;
    case ')':
    case ']':
    case '}':
        frame_close(w, i);
        break;
    case ',':
        comma(w, i);
        break;
    case ':':
        colon(w, i);
        break;
    case '.':
        w->dot = before;
        break;
    case ';':
        stmt_end(w, i);
        break;
    case '=':
        equal(w, i);
        break;
    case '@':
        if (before)
            walk_event(w, PY_E_MATMUL, i);
        break;
    case '+':
    case '-':
        arithmetic(w, i, before, true);
        break;
    case '*':
    case '/':
    case '%':
        arithmetic(w, i, before, false);
        break;
    default:
        break;
    }
}

static void operator2(struct walk *w, uint32_t i, uint32_t before)
{
    struct str s = w->p->tok[i].text;

    if (str_eq(s, ":="))
        frame_open_walrus(w, i, before);
    else if (str_eq(s, "->"))
        w->note = !w->frames.len;
    else if (str_eq(s, "**") || str_eq(s, "//"))
        arithmetic(w, i, before, false);
    else if (str_eq(s, "..."))
        frame_literal(w, i, i, 0, false);
    else if (s.p[s.n - 1] == '=' && !str_eq(s, "==") && !str_eq(s, "!=") &&
             !str_eq(s, "<=") && !str_eq(s, ">="))
        augmented(w, i, before);
}

/* ---- the pass ------------------------------------------------------------- */

static void token(struct walk *w, uint32_t i)
{
    const struct py_token *t = &w->p->tok[i];
    uint32_t before = w->cur, dot = w->dot;

    w->cur = w->dot = 0;
    switch (t->kind) {
    case PY_NAME:
        name(w, i, dot);
        break;
    case PY_NUMBER:
        frame_literal(w, i, i, before, false);
        break;
    case PY_STRING:
        frame_literal(w, i, i, before, true);
        break;
    case PY_FSTART:
        frame_push(w, FRAME_FSTRING, i, before);
        break;
    case PY_FEND:
        frame_end_fstring(w, i);
        break;
    case PY_OP:
        if (t->text.n == 1)
            operator1(w, i, before);
        else
            operator2(w, i, before);
        break;
    case PY_NEWLINE:
        stmt_end(w, i);
        stmt_newline(w);
        break;
    case PY_INDENT:
        stmt_indent(w);
        break;
    case PY_DEDENT:
        stmt_dedent(w);
        break;
    case PY_FTEXT:
    case PY_END:
        break;
    }
}

/* Name ids, how many nodes there can be, and which brackets hold a
 * comprehension: the scope of its element starts before its `for`. */
static void number_names(struct py_prog *p)
{
    PY_VEC(uint32_t) open = {0};

    p->nodes.cap = 16;
    for (uint32_t i = 0; i < p->len; i++) {
        const struct py_token *t = &p->tok[i];

        p->nodes.cap += t->kind <= PY_STRING;
        if (t->kind == PY_NAME) {
            p->id[i] = py_intern(p, t->text);
            if (p->id[i] == PY_W_for && open.len)
                p->loops[open.at[open.len - 1]] = true;
        } else if (t->kind == PY_OP && t->text.n == 1) {
            char c = t->text.p[0];

            if (c == '(' || c == '[' || c == '{')
                *PY_PUSH(p->a, open) = i;
            else if (open.len && (c == ')' || c == ']' || c == '}')) {
                open.len--;
                p->nodes.cap++;
            }
        }
    }
}

void py_walk(struct py_prog *p)
{
    struct walk w = {.p = p, .fresh = true};

    p->id = arena_alloc(p->a, (p->len + 1) * sizeof(*p->id));
    p->prim = arena_alloc(p->a, (p->len + 1) * sizeof(*p->prim));
    p->loops = arena_alloc(p->a, (p->len + 1) * sizeof(*p->loops));
    number_names(p);
    p->nodes.at = arena_alloc(p->a, p->nodes.cap * sizeof(*p->nodes.at));
    (void)PY_PUSH(p->a, p->nodes);
    (void)PY_PUSH(p->a, p->scopes);
    (void)PY_PUSH(p->a, p->bodies);
    (void)PY_PUSH(p->a, p->classes);
    (void)PY_PUSH(p->a, p->bindings);
    for (uint32_t i = 0; i + 1 < p->len;) {
        enum py_kind kind = p->tok[i].kind;
        uint32_t next = i;

        if (w.fresh && kind != PY_NEWLINE && kind != PY_INDENT &&
            kind != PY_DEDENT)
            next = stmt_begin(&w, i);
        if (next == i)
            token(&w, i++);
        else
            i = next;
    }
    stmt_end(&w, p->len - 1);
}
