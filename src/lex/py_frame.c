/* py_frame.c: what is open while the tokens are read: brackets, comprehensions,
 * f-strings, lambdas and :=. */
#include "lex/py_walk.h"

/* ---- brackets, lambdas, := ------------------------------------------------ */

struct frame *frame_push(struct walk *w, enum frame_kind kind, uint32_t open,
                         uint32_t base)
{
    struct frame *f = PY_PUSH(w->p->a, w->frames);

    *f = (struct frame){.kind = kind,
                        .open = open,
                        .base = base,
                        .outer_scope = w->scope,
                        .outer_body = w->body};
    return f;
}

void frame_end_default(struct walk *w, struct frame *f, uint32_t i)
{
    if (f->param && f->mark) {
        walk_target(w, 0, f->param);
        walk_flow(w, PY_FLOW_VALUE, f->mark, i, w->p->targets.len - 1);
    }
    f->param = f->mark = 0;
}

void frame_pop_light(struct walk *w, uint32_t i)
{
    struct frame f = *frame_top(w);

    if (f.kind == FRAME_LAMBDA && !f.inner)
        frame_end_default(w, &f, i);
    w->frames.len--;
    w->scope = f.outer_scope;
    w->body = f.outer_body;
    if (f.kind == FRAME_LAMBDA) {
        uint32_t id = walk_node(w, PY_N_LAMBDA, f.open, f.open, i - 1);

        w->p->nodes.at[id].base = f.body;
        w->cur = 0;
    } else {
        walk_target(w, f.base, f.param);
        walk_flow(w, PY_FLOW_VALUE, f.mark, i, w->p->targets.len - 1);
    }
}

void frame_close_light(struct walk *w, uint32_t i)
{
    while (w->frames.len &&
           (frame_top(w)->kind == FRAME_WALRUS ||
            (frame_top(w)->kind == FRAME_LAMBDA && frame_top(w)->inner)))
        frame_pop_light(w, i);
}

static void close_light_all(struct walk *w, uint32_t i)
{
    while (w->frames.len && (frame_top(w)->kind == FRAME_WALRUS ||
                             frame_top(w)->kind == FRAME_LAMBDA))
        frame_pop_light(w, i);
}

void frame_open_lambda(struct walk *w, uint32_t i)
{
    uint32_t body = walk_body(w, 0);
    struct frame *f = frame_push(w, FRAME_LAMBDA, i, 0);

    f->body = body;
    f->scope = w->p->bodies.at[body].scope;
    f->expect = true;
}

void frame_open_walrus(struct walk *w, uint32_t i, uint32_t name)
{
    struct py_node *n = &w->p->nodes.at[name];
    uint32_t scope = w->scope, binding;
    struct frame *f;

    if (!name || n->kind != PY_N_NAME)
        return;
    while (w->p->scopes.at[scope].kind == PY_S_COMPREHENSION)
        scope = w->p->scopes.at[scope].parent;
    n->flags |= PY_F_STORE;
    binding = walk_bind(w, PY_B_VALUE, scope, n->name, n->tok);
    f = frame_push(w, FRAME_WALRUS, i, name);
    f->param = binding;
    f->mark = i + 1;
}

static enum frame_kind frame_for(struct walk *w, uint32_t i, uint32_t base)
{
    const struct frame *f = frame_top(w);
    bool header = !f && !w->st.signature &&
                  (w->st.kind == STMT_DEF || w->st.kind == STMT_CLASS);

    switch (w->p->tok[i].text.p[0]) {
    case '(':
        if (header)
            return w->st.kind == STMT_DEF ? FRAME_PARAMS : FRAME_BASES;
        return base ? FRAME_CALL : FRAME_GROUP;
    case '[':
        if (header)
            return FRAME_PARAMS;
        return base ? FRAME_SUB : FRAME_LIST;
    default:
        if (f &&
            (f->kind == FRAME_FSTRING || (f->kind == FRAME_FIELD && f->inner)))
            return FRAME_FIELD;
        return FRAME_BRACE;
    }
}

void frame_open(struct walk *w, uint32_t i, uint32_t base)
{
    enum frame_kind kind = frame_for(w, i, base);
    bool loops = w->p->loops[i] && kind <= FRAME_SUB;
    uint32_t inside = loops ? walk_scope(w, PY_S_COMPREHENSION) : 0;
    struct frame *f = frame_push(w, kind, i, base);

    if (kind == FRAME_CALL)
        w->p->nodes.at[base].use = PY_N_CALL;
    if (kind == FRAME_SUB)
        w->p->nodes.at[base].use = PY_N_SUB;
    if (loops) {
        f->comp = COMP_ELEMENT;
        f->scope = inside;
        w->scope = inside;
    }
    if (kind == FRAME_PARAMS && w->st.ref) {
        bool types = py_op(w->p, i, '[');

        f->expect = true;
        f->body = types || w->st.kind == STMT_CLASS ? 0 : w->st.ref;
        f->scope = w->st.kind == STMT_CLASS ? w->p->classes.at[w->st.ref].scope
                                            : w->p->bodies.at[w->st.ref].scope;
    }
}

void frame_end_iterable(struct walk *w, struct frame *f, uint32_t i)
{
    uint32_t first = w->p->targets.len;

    walk_targets(w, f->targets, f->mark - 1, PY_F_STORE, f->scope);
    walk_flow(w, PY_FLOW_ELEMENT, f->mark, i, first);
    f->inner = true;
    f->comp = COMP_REST;
    w->scope = f->scope;
}

/* (…) round one primary stands for it; round more it is a tuple or a choice. */
static void close_group(struct walk *w, const struct frame *f, uint32_t i)
{
    uint32_t inside = w->p->prim[f->open + 1];

    if (f->open + 1 == i || f->comp || f->commas)
        walk_node(w, PY_N_DISPLAY, f->open, f->open, i);
    else if (inside && w->p->nodes.at[inside].end == i - 1)
        walk_trailer(w, PY_N_GROUP, inside, f->open, i);
    else
        walk_node(w, PY_N_GROUP, f->open, f->open, i);
}

void frame_close(struct walk *w, uint32_t i)
{
    struct frame f;

    close_light_all(w, i);
    if (!w->frames.len || frame_top(w)->kind == FRAME_FSTRING)
        return;
    if (frame_top(w)->comp == COMP_ITERABLE)
        frame_end_iterable(w, frame_top(w), i);
    f = *frame_top(w);
    w->frames.len--;
    w->scope = f.outer_scope;
    switch (f.kind) {
    case FRAME_CALL:
        walk_trailer(w, PY_N_CALL, f.base, f.open, i);
        break;
    case FRAME_SUB:
        walk_trailer(w, PY_N_SUB, f.base, f.open, i);
        break;
    case FRAME_GROUP:
        close_group(w, &f, i);
        break;
    case FRAME_LIST:
    case FRAME_BRACE:
        walk_node(w, PY_N_DISPLAY, f.open, f.open, i);
        break;
    case FRAME_PARAMS:
        frame_end_default(w, &f, i);
        w->note = false;
        w->st.signature = f.body != 0;
        break;
    case FRAME_BASES:
        stmt_bases(w, f.open, i);
        w->st.signature = true;
        break;
    default:
        break;
    }
}

void frame_unwind(struct walk *w, uint32_t i)
{
    while (w->frames.len) {
        const struct frame *f = frame_top(w);

        if (f->kind == FRAME_LAMBDA || f->kind == FRAME_WALRUS) {
            frame_pop_light(w, i);
            continue;
        }
        w->scope = f->outer_scope;
        w->body = f->outer_body;
        w->frames.len--;
    }
    w->note = false;
}

/* ---- literals ------------------------------------------------------------- */

void frame_literal(struct walk *w, uint32_t start, uint32_t i, uint32_t before,
                   bool text)
{
    struct py_node *n = &w->p->nodes.at[before];

    if (text && before && n->kind == PY_N_LITERAL && (n->flags & PY_F_STRING)) {
        n->end = i;
        w->cur = before;
        return;
    }
    start = walk_node(w, PY_N_LITERAL, start, start, i);
    if (text)
        w->p->nodes.at[start].flags |= PY_F_STRING;
}

void frame_end_fstring(struct walk *w, uint32_t i)
{
    struct frame f;

    while (w->frames.len && frame_top(w)->kind != FRAME_FSTRING) {
        if (frame_top(w)->kind == FRAME_LAMBDA ||
            frame_top(w)->kind == FRAME_WALRUS) {
            frame_pop_light(w, i);
            continue;
        }
        w->scope = frame_top(w)->outer_scope;
        w->frames.len--;
    }
    if (!w->frames.len)
        return;
    f = *frame_top(w);
    w->frames.len--;
    frame_literal(w, f.open, i, f.base, true);
}
