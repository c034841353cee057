/* py_stmt.c: what each statement binds, which blocks it opens, imports. */
#include "lex/py_walk.h"

#include <string.h>

static enum py_kind kind_at(const struct walk *w, uint32_t i)
{
    return w->p->tok[i].kind;
}

static bool at_end(const struct walk *w, uint32_t i)
{
    enum py_kind k = kind_at(w, i);

    return k == PY_NEWLINE || k == PY_END || k == PY_INDENT || k == PY_DEDENT ||
           py_op(w->p, i, ';');
}

/* ---- imports -------------------------------------------------------------- */

/* a.b.c from token *i on; 0 when there is no name. */
static uint32_t dotted(struct walk *w, uint32_t *i, uint32_t path)
{
    while (kind_at(w, *i) == PY_NAME) {
        path = py_dotted(w->p, path, w->p->id[*i]);
        ++*i;
        if (!py_op(w->p, *i, '.'))
            break;
        ++*i;
    }
    return path;
}

/* The name behind `as`, or 0. */
static uint32_t as_name(struct walk *w, uint32_t *i)
{
    if (w->p->id[*i] != PY_W_as || kind_at(w, *i + 1) != PY_NAME)
        return 0;
    *i += 2;
    return *i - 1;
}

static void bind_import(struct walk *w, uint32_t tok, uint32_t path)
{
    uint32_t b = walk_bind(w, PY_B_IMPORT, w->scope, w->p->id[tok], tok);

    w->p->bindings.at[b].ref = path;
}

static uint32_t plain_import(struct walk *w, uint32_t i)
{
    while (!at_end(w, i)) {
        uint32_t first = i, path, as;

        if (kind_at(w, i) != PY_NAME) {
            i++;
            continue;
        }
        path = dotted(w, &i, 0);
        walk_event(w, PY_E_IMPORT, first)->ref = path;
        as = as_name(w, &i);
        if (as)
            bind_import(w, as, path);
        else
            bind_import(w, first, py_dotted(w->p, 0, w->p->id[first]));
    }
    return i;
}

/* `..a.b` as a path whose first segment is "..a", so that it cannot be taken
 * for an absolute one. */
static uint32_t relative(struct walk *w, uint32_t *i, uint32_t dots)
{
    struct str first = STR_LIT("");
    char *text;

    if (kind_at(w, *i) == PY_NAME && w->p->id[*i] != PY_W_import) {
        first = w->p->tok[*i].text;
        ++*i;
    }
    text = arena_alloc(w->p->a, dots + first.n);
    memset(text, '.', dots);
    if (first.n)
        memcpy(text + dots, first.p, first.n);
    return py_dotted(w->p, 0,
                     py_intern(w->p, (struct str){text, dots + first.n}));
}

static uint32_t from_import(struct walk *w, uint32_t i)
{
    uint32_t path = 0, dots = 0, first = i;
    struct py_event *e;

    while (py_op(w->p, i, '.') || py_is(&w->p->tok[i], "..."))
        dots += (uint32_t)w->p->tok[i++].text.n;
    if (dots) {
        path = relative(w, &i, dots);
        if (py_op(w->p, i, '.'))
            i++;
    }
    if (w->p->id[i] != PY_W_import)
        path = dotted(w, &i, path);
    if (!path)
        return i;
    e = walk_event(w, PY_E_IMPORT, first);
    e->ref = path;
    for (i += w->p->id[i] == PY_W_import; !at_end(w, i);) {
        uint32_t name = i, as;

        if (kind_at(w, i++) != PY_NAME) {
            e->star = e->star || py_op(w->p, name, '*');
            continue;
        }
        as = as_name(w, &i);
        bind_import(w, as ? as : name, py_dotted(w->p, path, w->p->id[name]));
    }
    return i;
}

static uint32_t declaration(struct walk *w, uint32_t i)
{
    bool global = w->p->id[i] == PY_W_global;

    for (i++; !at_end(w, i); i++) {
        if (kind_at(w, i) == PY_NAME)
            *PY_PUSH(w->p->a, w->p->decls) =
                (struct py_decl){w->scope, w->p->id[i], global};
    }
    return i;
}

/* ---- starts --------------------------------------------------------------- */

/* Hands the waiting decorators to a function, or drops a class's. */
static void take_decorators(struct walk *w, struct py_body *b)
{
    b->decos = w->p->decos.len;
    b->deco_count = w->decos.len;
    for (uint32_t i = 0; i < w->decos.len; i++) {
        const struct py_node *n = &w->p->nodes.at[w->decos.at[i]];

        *PY_PUSH(w->p->a, w->p->decos) = w->decos.at[i];
        if (n->kind == PY_N_NAME && n->name == PY_W_staticmethod)
            b->is_static = true;
        if (n->kind == PY_N_NAME && n->name == PY_W_classmethod)
            b->is_classmethod = true;
    }
    w->decos.len = 0;
}

static uint32_t begin_def(struct walk *w, uint32_t i)
{
    uint32_t body, b;

    if (kind_at(w, i + 1) != PY_NAME)
        return i + 1;
    i++;
    body = walk_body(w, w->p->id[i]);
    take_decorators(w, &w->p->bodies.at[body]);
    b = walk_bind(w, PY_B_DEF, w->scope, w->p->id[i], i);
    w->p->bindings.at[b].ref = body;
    walk_event(w, PY_E_DEF, i)->ref = body;
    w->st.kind = STMT_DEF;
    w->st.ref = body;
    return i + 1;
}

static uint32_t begin_class(struct walk *w, uint32_t i)
{
    struct py_prog *p = w->p;
    uint32_t id = p->classes.len, b;
    struct py_class *c;

    w->decos.len = 0;
    if (kind_at(w, i + 1) != PY_NAME)
        return i + 1;
    i++;
    b = walk_bind(w, PY_B_CLASS, w->scope, p->id[i], i);
    p->bindings.at[b].ref = id;
    walk_event(w, PY_E_CLASS, i)->ref = id;
    c = PY_PUSH(p->a, p->classes);
    c->name = p->id[i];
    c->body = w->body;
    c->family = id;
    c->bases = p->bases.len;
    c->scope = walk_scope(w, PY_S_CLASS);
    if (p->scopes.at[c->scope].kind == PY_S_CLASS && c->scope != w->scope)
        p->scopes.at[c->scope].cls = id;
    w->st.kind = STMT_CLASS;
    w->st.ref = id;
    return i + 1;
}

void stmt_bases(struct walk *w, uint32_t open, uint32_t close)
{
    struct py_prog *p = w->p;
    uint32_t from = open + 1;

    for (uint32_t t = from; t <= close && w->st.kind == STMT_CLASS; t++) {
        if (p->prim[t]) {
            p->nodes.at[p->prim[t]].flags |= PY_F_QUIET;
            t = p->nodes.at[p->prim[t]].end;
        } else if (t == close || py_op(w->p, t, ',')) {
            struct py_base *b = t > from ? PY_PUSH(p->a, p->bases) : NULL;

            if (b && kind_at(w, from) == PY_NAME &&
                py_op(w->p, from + 1, '=')) {
                b->keyword = p->id[from];
                from += 2;
            }
            if (b) {
                b->from = from;
                b->to = t;
                p->classes.at[w->st.ref].base_count++;
            }
            from = t + 1;
        }
    }
}

/* `match x:` is a statement only when a line that starts with `case` follows:
 * otherwise it is a name. */
static bool is_match(const struct walk *w, uint32_t i)
{
    while (!at_end(w, i))
        i++;
    return kind_at(w, i) == PY_NEWLINE && py_op(w->p, i - 1, ':') &&
           kind_at(w, i + 1) == PY_INDENT && w->p->id[i + 2] == PY_W_case;
}

static uint32_t begin_soft(struct walk *w, uint32_t i)
{
    const struct block *b =
        w->blocks.len ? &w->blocks.at[w->blocks.len - 1] : NULL;

    if (w->p->id[i] == PY_W_match && is_match(w, i)) {
        w->st.kind = STMT_MATCH;
        return i + 1;
    }
    if (w->p->id[i] == PY_W_case && b && b->kind == STMT_MATCH) {
        w->st.kind = STMT_CASE;
        return i + 1;
    }
    if (w->p->id[i] == PY_W_type && kind_at(w, i + 1) == PY_NAME) {
        w->st.start = i + 1;
        return i + 1;
    }
    return i;
}

/* Statements that their first word tells; 0 for the others. */
static const uint8_t starts[PY_W_end_keywords] = {
    [PY_W_return] = STMT_RETURN,  [PY_W_del] = STMT_DEL,
    [PY_W_pass] = STMT_PASS,      [PY_W_for] = STMT_FOR,
    [PY_W_with] = STMT_WITH,      [PY_W_except] = STMT_EXCEPT,
    [PY_W_if] = STMT_BLOCK,       [PY_W_elif] = STMT_BLOCK,
    [PY_W_else] = STMT_BLOCK,     [PY_W_while] = STMT_BLOCK,
    [PY_W_finally] = STMT_BLOCK,  [PY_W_assert] = STMT_OTHER,
    [PY_W_raise] = STMT_OTHER,    [PY_W_break] = STMT_OTHER,
    [PY_W_continue] = STMT_OTHER,
};

static uint32_t begin_keyword(struct walk *w, uint32_t i)
{
    uint32_t word = w->p->id[i];

    if (py_is_keyword(word) && starts[word]) {
        w->st.kind = (enum stmt_kind)starts[word];
        return i + 1;
    }
    switch (word) {
    case PY_W_def:
        return begin_def(w, i);
    case PY_W_class:
        return begin_class(w, i);
    case PY_W_try:
        w->st.kind = STMT_TRY;
        walk_event(w, PY_E_TRY, i)->ref = w->scope == 0;
        w->st.ref = w->p->events.len;
        return i + 1;
    case PY_W_async:
        w->fresh = true;
        return i + 1;
    default:
        return i;
    }
}

/* Blocks whose header was not followed by an indented line end here. */
static void drop_unopened(struct walk *w)
{
    while (w->blocks.len) {
        const struct block *b = &w->blocks.at[w->blocks.len - 1];

        if (b->opened || b->on_line)
            return;
        w->scope = b->scope;
        w->body = b->body;
        w->blocks.len--;
    }
}

uint32_t stmt_begin(struct walk *w, uint32_t i)
{
    uint32_t word = w->p->id[i];

    drop_unopened(w);
    w->fresh = false;
    w->cur = w->dot = 0;
    w->equals.len = 0;
    w->st = (struct stmt){.start = i, .nodes = w->p->nodes.len};
    if (py_op(w->p, i, '@')) {
        w->st.kind = STMT_DECORATOR;
        return i + 1;
    }
    if (word != PY_W_def && word != PY_W_class && word != PY_W_async)
        w->decos.len = 0;
    if (word == PY_W_import || word == PY_W_from) {
        w->st.kind = STMT_PASS;
        return word == PY_W_from ? from_import(w, i + 1)
                                 : plain_import(w, i + 1);
    }
    if (word == PY_W_global || word == PY_W_nonlocal) {
        w->st.kind = STMT_OTHER;
        return declaration(w, i);
    }
    if (word == PY_W_match || word == PY_W_case || word == PY_W_type)
        return begin_soft(w, i);
    return begin_keyword(w, i);
}

/* ---- ends ----------------------------------------------------------------- */

/* A try whose body does more than import and bind names is another kind. */
static void judge_try(struct walk *w, bool harmless)
{
    const struct block *b =
        w->blocks.len ? &w->blocks.at[w->blocks.len - 1] : NULL;

    if (b && b->kind == STMT_TRY && !harmless)
        w->p->events.at[b->event - 1].ref = 0;
}

static bool all_names(const struct walk *w, uint32_t first)
{
    for (uint32_t i = first; i < w->p->targets.len; i++)
        if (!w->p->targets.at[i].binding)
            return false;
    return w->p->targets.len > first;
}

static void end_assignment(struct walk *w, uint32_t i)
{
    uint32_t from = w->st.start, first = w->p->targets.len;

    if (w->st.colon) {
        /* (x): int alone binds nothing */
        if (w->equals.len || !py_op(w->p, from, '('))
            walk_targets(w, from, w->st.colon, PY_F_STORE, w->scope);
        from = w->equals.len ? w->equals.at[0] + 1 : i;
    }
    for (uint32_t k = w->st.colon ? 1 : 0; k < w->equals.len; k++) {
        walk_targets(w, from, w->equals.at[k], PY_F_STORE, w->scope);
        from = w->equals.at[k] + 1;
    }
    if (w->equals.len)
        walk_flow(w, PY_FLOW_VALUE, from, i, first);
    judge_try(w, all_names(w, first));
}

static void end_expression(struct walk *w, uint32_t i)
{
    if (w->equals.len || w->st.colon) {
        end_assignment(w, i);
        return;
    }
    judge_try(w, false);
    if (w->st.aug) {
        uint32_t first = w->p->targets.len;

        walk_targets(w, w->st.start, w->st.aug, PY_F_STORE | PY_F_AUG,
                     w->scope);
        walk_flow(w, PY_FLOW_ELEMENT, w->st.aug + 1, i, first);
    }
}

void stmt_end(struct walk *w, uint32_t i)
{
    uint32_t node;

    frame_unwind(w, i);
    if (w->fresh)
        return;
    switch (w->st.kind) {
    case STMT_EXPR:
        end_expression(w, i);
        break;
    case STMT_RETURN:
        walk_flow(w, PY_FLOW_RETURN, w->st.start + 1, i, w->p->targets.len);
        judge_try(w, false);
        break;
    case STMT_DEL:
        walk_targets(w, w->st.start + 1, i, PY_F_STORE, w->scope);
        judge_try(w, false);
        break;
    case STMT_DECORATOR:
        node = w->st.start + 1 < i ? w->p->prim[w->st.start + 1] : 0;
        if (node) {
            w->p->nodes.at[node].flags |= PY_F_DECO;
            *PY_PUSH(w->p->a, w->decos) = node;
        }
        break;
    case STMT_PASS:
        break;
    default:
        judge_try(w, false);
        break;
    }
    w->st = (struct stmt){.kind = STMT_OTHER};
    w->fresh = true;
}

/* ---- blocks --------------------------------------------------------------- */

static void end_for(struct walk *w, uint32_t i)
{
    uint32_t first = w->p->targets.len;

    if (!w->st.in)
        return;
    walk_targets(w, w->st.start + 1, w->st.in, PY_F_STORE, w->scope);
    walk_flow(w, PY_FLOW_ELEMENT, w->st.in + 1, i, first);
}

static void end_with(struct walk *w, uint32_t i)
{
    struct py_prog *p = w->p;
    uint32_t t = w->st.start + 1, node = t < i ? p->prim[t] : 0, item = 0;
    bool as = false;

    if (node && p->nodes.at[node].end + 1 == i && !p->nodes.at[node].base &&
        (p->nodes.at[node].kind == PY_N_GROUP ||
         p->nodes.at[node].kind == PY_N_DISPLAY))
        t++; /* with (a() as b, c() as d): */
    for (; t < i; t++) {
        const struct py_node *n = &p->nodes.at[p->prim[t]];
        uint32_t end;

        if (!p->prim[t]) {
            as = p->id[t] == PY_W_as;
            continue;
        }
        end = n->end;
        if (as) {
            uint32_t first = p->targets.len;

            walk_targets(w, t, end + 1, PY_F_STORE, w->scope);
            if (item)
                walk_flow(w, PY_FLOW_ELEMENT, p->nodes.at[item].start,
                          p->nodes.at[item].end + 1, first);
        } else {
            item = p->prim[t];
            if (n->kind == PY_N_CALL)
                walk_event(w, PY_E_WITH, n->start)->ref = item;
        }
        as = false;
        t = end;
    }
}

static void end_except(struct walk *w, uint32_t i)
{
    uint32_t name = i - 1;

    if (i >= w->st.start + 3 && w->p->id[i - 2] == PY_W_as && w->p->id[name])
        walk_targets(w, name, i, PY_F_STORE, w->scope);
}

/* Every name of a pattern that stands alone is a capture; C(…) looks at the
 * class C and calls nothing. */
static void end_case(struct walk *w, uint32_t i)
{
    struct py_prog *p = w->p;
    uint32_t to = w->st.guard ? w->st.guard : i;

    for (uint32_t n = w->st.nodes; n < p->nodes.len; n++) {
        struct py_node *node = &p->nodes.at[n];

        if (node->tok >= to)
            continue;
        if (node->kind == PY_N_CALL) {
            node->kind = PY_N_SUB;
            p->nodes.at[node->base].use = PY_N_SUB;
        } else if (node->kind == PY_N_NAME && !node->use) {
            node->flags |= PY_F_STORE;
            walk_bind(w, PY_B_VALUE, w->scope, node->name, node->tok);
        }
    }
}

static bool is_main_text(const struct walk *w, uint32_t i)
{
    const struct py_token *t = &w->p->tok[i];
    struct str text = {w->p->src.p + t->body_at, t->body_len};

    return t->kind == PY_STRING && !(t->flags & PY_BYTES) &&
           str_eq(text, "__main__");
}

/* Whether the colon i ends `if __name__ == "__main__"`, at module level. */
static bool is_main_test(const struct walk *w, uint32_t i)
{
    uint32_t at = w->st.start;

    if (w->scope || w->body || w->p->id[at] != PY_W_if || at + 4 != i ||
        !py_is(&w->p->tok[at + 2], "=="))
        return false;
    return (w->p->id[at + 1] == PY_W___name__ && is_main_text(w, at + 3)) ||
           (w->p->id[at + 3] == PY_W___name__ && is_main_text(w, at + 1));
}

/* The block under it is a body of its own that binds in the module. */
static uint32_t script_body(struct walk *w)
{
    struct py_body *b = PY_PUSH(w->p->a, w->p->bodies);

    b->script = true;
    return w->p->bodies.len - 1;
}

static void open_block(struct walk *w, uint32_t i)
{
    struct block *b = PY_PUSH(w->p->a, w->blocks);

    *b = (struct block){.kind = w->st.kind,
                        .on_line = kind_at(w, i + 1) != PY_NEWLINE,
                        .scope = w->scope,
                        .body = w->body};
    if (b->kind == STMT_TRY)
        b->event = w->st.ref;
    if (b->kind == STMT_DEF) {
        w->body = w->st.ref;
        w->scope = w->p->bodies.at[w->st.ref].scope;
    }
    if (b->kind == STMT_CLASS)
        w->scope = w->p->classes.at[w->st.ref].scope;
    if (is_main_test(w, i))
        w->body = script_body(w);
}

void stmt_colon(struct walk *w, uint32_t i)
{
    if (w->st.kind == STMT_EXPR && !w->fresh) {
        if (!w->st.colon && !w->equals.len)
            w->st.colon = i;
        w->note = !w->equals.len;
        return;
    }
    if (w->st.kind < STMT_DEF)
        return;
    w->note = false;
    judge_try(w, false);
    if (w->st.kind == STMT_FOR)
        end_for(w, i);
    else if (w->st.kind == STMT_WITH)
        end_with(w, i);
    else if (w->st.kind == STMT_EXCEPT)
        end_except(w, i);
    else if (w->st.kind == STMT_CASE)
        end_case(w, i);
    open_block(w, i);
    w->st = (struct stmt){.kind = STMT_OTHER};
    w->fresh = true;
}

static void pop_block(struct walk *w)
{
    const struct block *b = &w->blocks.at[--w->blocks.len];

    w->scope = b->scope;
    w->body = b->body;
}

void stmt_newline(struct walk *w)
{
    while (w->blocks.len && w->blocks.at[w->blocks.len - 1].on_line)
        pop_block(w);
    w->fresh = true;
}

void stmt_indent(struct walk *w)
{
    struct block *b = w->blocks.len ? &w->blocks.at[w->blocks.len - 1] : NULL;

    if (!b || b->opened) { /* indented for no reason */
        b = PY_PUSH(w->p->a, w->blocks);
        *b = (struct block){
            .kind = STMT_BLOCK, .scope = w->scope, .body = w->body};
    }
    b->opened = true;
    w->fresh = true;
}

void stmt_dedent(struct walk *w)
{
    drop_unopened(w);
    if (w->blocks.len)
        pop_block(w);
    drop_unopened(w);
    w->fresh = true;
}
