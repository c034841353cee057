/* py_names.c: the meanings of nodes, and rounds of flows until nothing new
 * arrives. */
#include "lex/py_names.h"

/* An honest program needs one to three. */
#define MAX_ROUNDS 24

/* ---- nodes ---------------------------------------------------------------- */

static uint32_t name_val(struct py_prog *p, const struct py_node *n)
{
    return n->slot ? py_slot_val(p, n->slot) : py_val(PY_V_BUILTIN, n->name);
}

static void member_vals(struct py_prog *p, struct py_set *out, uint32_t cls,
                        uint32_t name, bool bound)
{
    uint32_t slot = py_member(p, p->classes.at[cls].family, name, true);
    const struct py_slot *s = &p->slots.at[slot];

    py_set_join(p, out, py_slot_val(p, slot), false);
    if (bound && !s->val && !s->member && !p->assigned[name]) {
        slot = py_member(p, p->classes.at[cls].family, 0, true);
        py_set_join(p, out, py_slot_val(p, slot), false);
        return; /* set under a computed name, if at all */
    }
    if (!s->defs)
        return;
    if (bound)
        py_set_add(out, py_val(PY_V_METHODS, slot));
    else if (p->bindings.at[s->defs].kind == PY_B_DEF)
        py_set_add(out, py_val(PY_V_FUNCTION, p->bindings.at[s->defs].ref));
}

static uint32_t attr_of(struct py_prog *p, uint32_t dotted, uint32_t name)
{
    const struct py_dotted *d = &p->dotted.at[dotted];

    if (d->depth == 1 && d->name == PY_W_builtins)
        return py_val(PY_V_BUILTIN, name);
    return py_val(PY_V_IMPORT, py_dotted(p, dotted, name));
}

/* What is assigned to that attribute of any object that is not known. */
static uint32_t unknown_attr(struct py_prog *p, uint32_t name)
{
    if (!p->assigned[name])
        return 0;
    return py_slot_val(p, py_member(p, 0, name, true));
}

static uint32_t attr_val(struct py_prog *p, const struct py_node *n)
{
    uint32_t base = p->nodes.at[n->base].val, count;
    const uint32_t *item = py_val_items(p, &base, &count);
    struct py_set out;

    if (!base)
        return unknown_attr(p, n->name);
    if (py_val_kind(base) == PY_V_IMPORT)
        return attr_of(p, py_val_ref(base), n->name);
    out.len = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t ref = py_val_ref(item[i]);

        switch (py_val_kind(item[i])) {
        case PY_V_IMPORT:
            py_set_add(&out, attr_of(p, ref, n->name));
            break;
        case PY_V_CLASS:
            member_vals(p, &out, ref, n->name, false);
            break;
        case PY_V_SELF:
        case PY_V_OBJECT:
            member_vals(p, &out, ref, n->name, true);
            if (n->name == PY_W__modules)
                py_set_add(&out, py_val(PY_V_HOLDER, 0));
            break;
        case PY_V_HOLDER:
            if (n->name == PY_W_forward || n->name == PY_W___call__)
                py_set_add(&out, item[i]);
            py_set_join(p, &out, unknown_attr(p, n->name), false);
            break;
        default:
            break;
        }
    }
    return py_set_val(p, &out, n->val);
}

static uint32_t sub_val(struct py_prog *p, const struct py_node *n)
{
    struct py_set out;

    out.len = 0;
    py_set_join(p, &out, p->nodes.at[n->base].val, true);
    return py_set_val(p, &out, n->val);
}

static uint32_t region_val(struct py_prog *p, const struct py_node *n,
                           bool objects_only)
{
    struct py_set out;

    out.len = 0;
    py_region_join(p, &out, n->tok + 1, n->end, objects_only);
    return py_set_val(p, &out, n->val);
}

static uint32_t node_val(struct py_prog *p, const struct py_node *n)
{
    switch (n->kind) {
    case PY_N_NAME:
        return name_val(p, n);
    case PY_N_ATTR:
        return attr_val(p, n);
    case PY_N_CALL:
        return py_call_val(p, n);
    case PY_N_SUB:
        return sub_val(p, n);
    case PY_N_GROUP:
        return n->base ? p->nodes.at[n->base].val : region_val(p, n, false);
    case PY_N_DISPLAY:
        return region_val(p, n, true);
    case PY_N_LAMBDA:
        return py_val(PY_V_FUNCTION, n->base);
    default:
        return 0;
    }
}

/* ---- flows ---------------------------------------------------------------- */

static void into_target(struct py_prog *p, const struct py_target *t,
                        const struct py_set *in)
{
    const struct py_node *n = &p->nodes.at[t->node];

    if (t->binding)
        py_slot_join(p, p->bindings.at[t->binding].slot, in);
    else if (n->kind == PY_N_SUB)
        py_put_into(p, n->base, in);
    else if (n->kind == PY_N_ATTR)
        py_attr_join(p, n, in);
}

/* Targets in a tuple get their own element, or any object in the value. */
static void flow_tuple(struct py_prog *p, const struct py_flow *f)
{
    const struct py_target *t = &p->targets.at[f->targets];
    uint32_t from = 0, to = 0;
    bool paired = py_pair_elements(p, f, &from, &to);
    struct py_set in;

    in.len = 0;
    if (!paired)
        py_region_join(p, &in, f->from, f->to, true);
    for (uint32_t i = 0; i < f->target_count; i++) {
        if (paired) {
            uint32_t end = py_element_end(p, from, to);

            in.len = 0;
            py_region_join(p, &in, from, end, false);
            from = end + 1;
        }
        into_target(p, &t[i], &in);
    }
}

static void flow_return(struct py_prog *p, const struct py_flow *f)
{
    struct py_body *b = &p->bodies.at[f->body];
    struct py_set in;

    in.len = 0;
    py_region_join(p, &in, f->from, f->to, true);
    if (in.len && !b->ret) {
        b->ret = p->slots.len;
        PY_PUSH(p->a, p->slots)->read = b->ret_read;
    }
    py_slot_join(p, b->ret, &in);
}

static void apply_flow(struct py_prog *p, const struct py_flow *f)
{
    struct py_set in;
    bool tuple = false;

    in.len = 0;
    if (f->kind == PY_FLOW_RETURN) {
        flow_return(p, f);
        return;
    }
    for (uint32_t i = 0; i < f->target_count && !tuple; i++)
        tuple = p->targets.at[f->targets + i].of != 0;
    if (tuple) {
        flow_tuple(p, f);
        return;
    }
    py_region_join(p, &in, f->from, f->to, f->kind != PY_FLOW_VALUE);
    for (uint32_t i = 0; in.len && i < f->target_count; i++)
        into_target(p, &p->targets.at[f->targets + i], &in);
}

/* ---- the whole ------------------------------------------------------------ */

static uint32_t family_root(struct py_prog *p, uint32_t cls)
{
    while (p->classes.at[cls].family != cls) {
        uint32_t *up = &p->classes.at[cls].family;

        *up = p->classes.at[*up].family;
        cls = *up;
    }
    return cls;
}

static void relate(struct py_prog *p, uint32_t a, uint32_t b)
{
    p->classes.at[family_root(p, a)].family = family_root(p, b);
}

/* Classes related by inheritance share their attributes. */
static void make_families(struct py_prog *p)
{
    for (uint32_t c = 1; c < p->classes.len; c++) {
        const struct py_class *k = &p->classes.at[c];

        for (uint32_t i = 0; i < k->base_count; i++) {
            const struct py_base *base = &p->bases.at[k->bases + i];
            const struct py_node *n = &p->nodes.at[p->prim[base->from]];
            struct py_slot *s = &p->slots.at[n->slot];
            uint32_t b = s->related || !s->cls ? 0 : s->defs;

            for (; b; b = p->bindings.at[b].next)
                if (p->bindings.at[b].kind == PY_B_CLASS)
                    relate(p, s->cls, p->bindings.at[b].ref);
            s->related = true;
            if (s->cls && n->kind == PY_N_NAME)
                relate(p, s->cls, c);
        }
    }
    for (uint32_t c = 1; c < p->classes.len; c++)
        p->classes.at[c].family = family_root(p, c);
}

/* What class bodies define is chained once more, by family: the chain of a
 * class's own variable then goes on to its relatives. */
static void make_members(struct py_prog *p)
{
    for (uint32_t i = 1; i < p->bindings.len; i++) {
        struct py_binding *b = &p->bindings.at[i];
        const struct py_scope *s = &p->scopes.at[b->scope];
        uint32_t slot;

        if (s->kind != PY_S_CLASS || !s->cls || py_is_script(p, b->body))
            continue;
        slot = py_member(p, p->classes.at[s->cls].family, b->name, true);
        p->slots.at[slot].member = true;
        if (b->kind == PY_B_DEF || b->kind == PY_B_CLASS) {
            b->next = p->slots.at[slot].defs;
            p->slots.at[slot].defs = i;
        }
    }
}

static void first_meaning(struct py_prog *p, const struct py_binding *b)
{
    const struct py_dotted *d = &p->dotted.at[b->ref];

    if (py_is_script(p, b->body))
        return;
    switch (b->kind) {
    case PY_B_IMPORT:
        if (d->depth == 2 && p->dotted.at[d->parent].name == PY_W_builtins)
            py_slot_add(p, b->slot, py_val(PY_V_BUILTIN, d->name));
        else
            py_slot_add(p, b->slot, py_val(PY_V_IMPORT, b->ref));
        break;
    case PY_B_DEF:
        py_slot_add(p, b->slot, py_val(PY_V_FUNCTION, b->ref));
        break;
    case PY_B_CLASS:
        py_slot_add(p, b->slot, py_val(PY_V_CLASS, b->ref));
        break;
    case PY_B_PARAM:
        if (b->self)
            py_slot_add(p, b->slot,
                        py_val(PY_V_SELF, p->bodies.at[b->ref].cls));
        break;
    case PY_B_VALUE:
        break;
    }
}

/* What a class body binds is an attribute of its objects; its functions are
 * methods, which the chain of definitions tells. */
static void share_members(struct py_prog *p)
{
    for (uint32_t i = 0; i < p->class_slots.len; i++) {
        struct py_slot s = p->slots.at[p->class_slots.at[i]];
        uint32_t cls = p->scopes.at[s.scope].cls, n, to;
        const uint32_t *item = py_val_items(p, &s.val, &n);

        to = py_member(p, p->classes.at[cls].family, s.name, true);
        for (uint32_t k = 0; k < n; k++)
            if (py_val_kind(item[k]) != PY_V_FUNCTION)
                py_slot_add(p, to, item[k]);
    }
}

static void run_round(struct py_prog *p)
{
    uint32_t f = 0;

    for (uint32_t i = 1; i <= p->nodes.len; i++) {
        for (; f < p->flows.len && p->flows.at[f].node_at <= i; f++)
            if (!py_is_script(p, p->flows.at[f].body))
                apply_flow(p, &p->flows.at[f]);
        if (i < p->nodes.len && !py_is_script(p, p->nodes.at[i].body)) {
            uint32_t val = node_val(p, &p->nodes.at[i]);

            p->nodes.at[i].val = val;
        }
    }
    share_members(p);
}

void py_names_resolve(struct py_prog *p)
{
    int round = 0;

    (void)PY_PUSH(p->a, p->sets);
    p->assigned = arena_alloc(p->a, p->names.len * sizeof(*p->assigned));
    for (uint32_t i = 1; i < p->nodes.len; i++) {
        const struct py_node *n = &p->nodes.at[i];

        if (n->kind == PY_N_ATTR && n->flags & PY_F_STORE)
            p->assigned[n->name] = true;
    }
    make_families(p);
    for (uint32_t i = 1; i < p->bindings.len; i++)
        first_meaning(p, &p->bindings.at[i]);
    make_members(p);
    do {
        p->changed = false;
        run_round(p);
    } while (p->changed && ++round < MAX_ROUNDS);
    p->limited = p->limited || p->changed;
}
