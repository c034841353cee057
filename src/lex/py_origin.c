/* py_origin.c: flows and calls, sorted by where they lead. */
#include "lex/py_origin.h"

static uint32_t *list_of(struct py_origins *o, uint32_t slot)
{
    return &o->slot[slot < o->slots ? slot : 0];
}

static struct py_origin *add(struct py_origins *o, uint32_t *list,
                             enum py_origin_kind kind, uint32_t from,
                             uint32_t to)
{
    struct py_origin *new = PY_PUSH(o->p->a, o->list);

    *new = (struct py_origin){kind, from, to, 0, *list};
    *list = o->list.len - 1;
    return new;
}

uint32_t py_slot_count(const struct py_prog *p, const struct py_node *n)
{
    uint32_t count = n->kind == PY_N_NAME;

    if (n->kind == PY_N_ATTR)
        py_val_items(p, &p->nodes.at[n->base].val, &count);
    return count;
}

uint32_t py_slot_of(const struct py_prog *p, const struct py_node *n,
                    uint32_t nth)
{
    uint32_t count;
    const uint32_t *item;

    if (n->kind == PY_N_NAME)
        return nth == 0 ? n->slot : 0;
    if (n->kind != PY_N_ATTR)
        return 0;
    item = py_val_items(p, &p->nodes.at[n->base].val, &count);
    if (nth >= count || !py_has_members(item[nth]))
        return 0;
    return py_table_get(
        &p->member_index,
        py_pair(p->classes.at[py_val_ref(item[nth])].family, n->name));
}

static void add_for(struct py_origins *o, uint32_t node,
                    enum py_origin_kind kind, uint32_t from, uint32_t to)
{
    const struct py_prog *p = o->p;
    const struct py_node *n = &p->nodes.at[py_bare(p, node)];

    while (n->kind == PY_N_SUB && n->base) {
        n = &p->nodes.at[py_bare(p, n->base)];
        kind = PY_O_PUT;
    }
    for (uint32_t i = 0; i < py_slot_count(p, n); i++) {
        uint32_t slot = py_slot_of(p, n, i);

        if (slot)
            add(o, list_of(o, slot), kind, from, to);
    }
}

/* What a class body binds is an attribute, too. */
static void add_binding(struct py_origins *o, const struct py_binding *b,
                        enum py_origin_kind kind, uint32_t from, uint32_t to)
{
    struct py_prog *p = o->p;
    uint32_t cls = p->scopes.at[b->scope].cls;

    add(o, list_of(o, b->slot), kind, from, to);
    if (cls)
        add(o,
            list_of(o, py_member(p, p->classes.at[cls].family, b->name, false)),
            kind, from, to);
}

static void flow_origins(struct py_origins *o, const struct py_flow *f)
{
    struct py_prog *p = o->p;
    uint32_t from = 0, to = 0, end = f->to;
    bool paired = py_pair_elements(p, f, &from, &to);

    if (!paired)
        from = f->from;
    if (f->kind == PY_FLOW_RETURN)
        add(o, &o->returned[f->body], PY_O_VALUE, f->from, f->to);
    for (uint32_t i = 0; i < f->target_count; i++) {
        const struct py_target *t = &p->targets.at[f->targets + i];
        enum py_origin_kind kind =
            f->kind == PY_FLOW_VALUE && (paired || !t->of) ? PY_O_VALUE
                                                           : PY_O_PART;

        if (paired)
            end = py_element_end(p, from, to);
        if (t->binding)
            add_binding(o, &p->bindings.at[t->binding], kind, from, end);
        else
            add_for(o, t->node, kind, from, end);
        if (paired)
            from = end + 1;
    }
}

uint32_t py_callees(const struct py_prog *p, const struct py_node *call,
                    struct py_callee out[PY_MAX_CALLEES])
{
    uint32_t count, len = 0;
    const uint32_t *item =
        py_val_items(p, &p->nodes.at[call->base].val, &count);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t ref = py_val_ref(item[i]), b = 0;

        if (py_val_kind(item[i]) == PY_V_FUNCTION && len < PY_MAX_CALLEES)
            out[len++] = (struct py_callee){ref, 0};
        if (py_val_kind(item[i]) == PY_V_METHODS)
            b = p->slots.at[ref].defs;
        if (py_val_kind(item[i]) == PY_V_CLASS) {
            uint32_t family = p->classes.at[ref].family;
            uint64_t key = py_pair(family, PY_W___init__);

            b = p->slots.at[py_table_get(&p->member_index, key)].defs;
        }
        for (; b && len < PY_MAX_CALLEES; b = p->bindings.at[b].next) {
            uint32_t body = p->bindings.at[b].ref;

            if (p->bindings.at[b].kind == PY_B_DEF)
                out[len++] = (struct py_callee){
                    body, p->bodies.at[body].is_static ? 0 : 1};
        }
    }
    return len;
}

/* Whether a call is a whole statement, so that it is made for its effect. */
static bool is_statement(const struct py_prog *p, const struct py_node *call)
{
    const struct py_token *before = &p->tok[call->start ? call->start - 1 : 0];
    enum py_kind after = p->tok[call->end + 1].kind;

    return (!call->start || before->kind >= PY_NEWLINE || py_is(before, ";") ||
            py_is(before, ":")) &&
           (after == PY_NEWLINE || py_op(p, call->end + 1, ';'));
}

/* A call hands its arguments to functions, and to the object whose method is
 * called: lines.append(…). */
static void call_origins(struct py_origins *o, const struct py_node *call)
{
    struct py_prog *p = o->p;
    const struct py_node *callee = &p->nodes.at[py_bare(p, call->base)];
    struct py_callee run[PY_MAX_CALLEES];
    struct py_named_store store;
    uint32_t n = py_callees(p, call, run);

    if (call->tok + 1 == call->end)
        return;
    for (uint32_t i = 0; i < n; i++)
        add(o, &o->passed[run[i].body], PY_O_PART, call->tok + 1, call->end)
            ->skip = run[i].skip;
    if (py_named_store(p, call, &store)) {
        for (uint32_t i = 0; i < PY_SET_MAX; i++)
            add(o, list_of(o, py_stored_slot(p, &store, i, false)), PY_O_VALUE,
                store.from, store.to);
    } else if (callee->kind == PY_N_ATTR && is_statement(p, call)) {
        add_for(o, callee->base, PY_O_PUT, call->tok + 1, call->end);
    }
}

void py_origins_find(struct py_origins *o, struct py_prog *p)
{
    size_t bodies = p->bodies.len;

    *o = (struct py_origins){.p = p, .slots = p->slots.len};
    o->slot = arena_alloc(p->a, o->slots * sizeof(*o->slot));
    o->returned = arena_alloc(p->a, bodies * sizeof(*o->returned));
    o->passed = arena_alloc(p->a, bodies * sizeof(*o->passed));
    (void)PY_PUSH(p->a, o->list);
    for (uint32_t i = p->nodes.len - 1; i; i--) /* lists grow in front */
        if (p->nodes.at[i].kind == PY_N_CALL &&
            !py_is_script(p, p->nodes.at[i].body))
            call_origins(o, &p->nodes.at[i]);
    for (uint32_t i = p->flows.len; i; i--)
        if (!py_is_script(p, p->flows.at[i - 1].body))
            flow_origins(o, &p->flows.at[i - 1]);
    o->slot[0] = 0; /* what leads nowhere */
}

/* ---- own things ------------------------------------------------------------ */

static bool is_own(uint32_t item)
{
    enum py_val_kind kind = py_val_kind(item);

    return kind == PY_V_OBJECT || kind == PY_V_FUNCTION ||
           kind == PY_V_METHODS || kind == PY_V_CLASS;
}

bool py_holds_own(const struct py_origins *o, uint32_t slot)
{
    struct py_prog *p = o->p;
    bool any = false;

    for (uint32_t i = slot < o->slots ? o->slot[slot] : 0; i;
         i = o->list.at[i].next) {
        const struct py_origin *from = &o->list.at[i];
        struct py_set is;

        if (from->kind == PY_O_PUT ||
            (from->from + 1 == from->to && p->id[from->from] == PY_W_None))
            continue;
        is.len = 0;
        py_region_join(p, &is, from->from, from->to, false);
        any = from->kind == PY_O_VALUE && is.len;
        for (uint32_t k = 0; k < is.len; k++)
            any = any && is_own(is.item[k]);
        if (!any)
            return false;
    }
    return any;
}
