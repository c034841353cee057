/* py_value.c: sets of meanings, and what a stretch of tokens may stand for. */
#include "lex/py_value.h"

#include <string.h>

/* ---- sets of meanings ----------------------------------------------------- */

const uint32_t *py_val_items(const struct py_prog *p, const uint32_t *val,
                             uint32_t *len)
{
    if (py_val_kind(*val) == PY_V_SET) {
        const struct py_set *s = &p->sets.at[py_val_ref(*val)];

        *len = s->len;
        return s->item;
    }
    *len = *val ? 1 : 0;
    return val;
}

bool py_val_has(const struct py_prog *p, uint32_t val, enum py_val_kind kind)
{
    uint32_t n;
    const uint32_t *item = py_val_items(p, &val, &n);

    for (uint32_t i = 0; i < n; i++)
        if (py_val_kind(item[i]) == kind)
            return true;
    return false;
}

static bool is_object(uint32_t item)
{
    return py_val_kind(item) >= PY_V_SELF;
}

bool py_set_add(struct py_set *s, uint32_t item)
{
    for (uint32_t i = 0; i < s->len; i++)
        if (s->item[i] == item)
            return true;
    if (s->len == PY_SET_MAX)
        return false;
    s->item[s->len++] = item;
    return true;
}

/* A meaning that a rule may be about must not get lost in silence; functions
 * and classes are also found by their definitions. */
static void add_or_say(struct py_prog *p, struct py_set *s, uint32_t item)
{
    if (!py_set_add(s, item) &&
        (py_val_kind(item) == PY_V_IMPORT ||
         py_val_kind(item) == PY_V_BUILTIN || py_val_kind(item) == PY_V_HOLDER))
        p->limited = true;
}

void py_set_join(struct py_prog *p, struct py_set *s, uint32_t val,
                 bool objects_only)
{
    uint32_t n;
    const uint32_t *item = py_val_items(p, &val, &n);

    for (uint32_t i = 0; i < n; i++)
        if (!objects_only || is_object(item[i]))
            add_or_say(p, s, item[i]);
}

uint32_t py_set_val(struct py_prog *p, const struct py_set *s, uint32_t old)
{
    const struct py_set *was;

    if (s->len < 2)
        return s->len ? s->item[0] : 0;
    was = &p->sets.at[py_val_kind(old) == PY_V_SET ? py_val_ref(old) : 0];
    if (was->len == s->len &&
        memcmp(was->item, s->item, s->len * sizeof(s->item[0])) == 0)
        return old;
    *PY_PUSH(p->a, p->sets) = *s;
    return py_val(PY_V_SET, p->sets.len - 1);
}

/* x = x.next would add a longer name in every round: one that passes its own
 * last word on the way says nothing new. */
static bool repeats(const struct py_prog *p, const struct py_set *s,
                    uint32_t item)
{
    const struct py_dotted *d;

    if (py_val_kind(item) != PY_V_IMPORT)
        return false;
    d = &p->dotted.at[py_val_ref(item)];
    for (uint32_t up = d->parent; up; up = p->dotted.at[up].parent) {
        if (p->dotted.at[up].name != d->name)
            continue;
        for (uint32_t i = 0; i < s->len; i++)
            if (s->item[i] == py_val(PY_V_IMPORT, up))
                return true;
    }
    return false;
}

void py_slot_add(struct py_prog *p, uint32_t slot, uint32_t item)
{
    struct py_slot *s = &p->slots.at[slot];
    struct py_set one = {1, {s->val}}, *set = &one;

    if (!slot || s->val == item)
        return;
    if (!s->val) {
        s->val = item;
        p->changed = p->changed || s->read;
        return;
    }
    if (py_val_kind(s->val) == PY_V_SET)
        set = &p->sets.at[py_val_ref(s->val)];
    for (uint32_t i = 0; i < set->len; i++)
        if (set->item[i] == item)
            return;
    if (repeats(p, set, item))
        return;
    if (set == &one) {
        set = PY_PUSH(p->a, p->sets);
        *set = one;
        s->val = py_val(PY_V_SET, p->sets.len - 1);
    }
    if (set->len < PY_SET_MAX)
        p->changed = p->changed || s->read;
    add_or_say(p, set, item);
}

void py_slot_join(struct py_prog *p, uint32_t slot, const struct py_set *s)
{
    for (uint32_t i = 0; i < s->len; i++)
        py_slot_add(p, slot, s->item[i]);
}

uint32_t py_slot_val(struct py_prog *p, uint32_t slot)
{
    p->slots.at[slot].read = true;
    return p->slots.at[slot].val;
}

bool py_set_has(const struct py_set *s, enum py_val_kind kind)
{
    for (uint32_t i = 0; i < s->len; i++)
        if (py_val_kind(s->item[i]) == kind)
            return true;
    return false;
}

/* ---- stretches of tokens -------------------------------------------------- */

/* What stands between primaries without changing which thing comes out:
 * `a if c else b`, `a or b`, `x := a`. */
static bool is_choice(const struct py_prog *p, uint32_t t)
{
    switch (p->id[t]) {
    case PY_W_if:
    case PY_W_else:
    case PY_W_or:
    case PY_W_and:
    case PY_W_await:
        return true;
    default:
        return py_is(&p->tok[t], ":=");
    }
}

void py_region_join(struct py_prog *p, struct py_set *out, uint32_t from,
                    uint32_t to, bool objects_only)
{
    struct py_set all;
    bool choice = !objects_only, condition = false;

    all.len = 0;
    if (from < to && p->prim[from] &&
        p->nodes.at[p->prim[from]].end + 1 == to) {
        py_set_join(p, out, p->nodes.at[p->prim[from]].val, objects_only);
        return;
    }
    for (uint32_t t = from; t < to; t++) {
        const struct py_node *n = &p->nodes.at[p->prim[t]];

        if (p->prim[t]) {
            if (n->val && choice && !condition)
                py_set_join(p, &all, n->val, false);
            if (n->val)
                py_set_join(p, out, n->val, true);
            t = n->end;
        } else if (p->id[t] == PY_W_for) {
            break; /* of a comprehension only the element counts */
        } else {
            choice = choice && is_choice(p, t);
            condition =
                p->id[t] == PY_W_if || (condition && p->id[t] != PY_W_else);
        }
    }
    for (uint32_t i = 0; choice && i < all.len; i++)
        add_or_say(p, out, all.item[i]);
}

uint32_t py_element_end(const struct py_prog *p, uint32_t from, uint32_t to)
{
    uint32_t t = from;

    while (t < to && (p->prim[t] || !py_op(p, t, ',')))
        t = p->prim[t] ? p->nodes.at[p->prim[t]].end + 1 : t + 1;
    return t < to ? t : to;
}

bool py_pair_elements(const struct py_prog *p, const struct py_flow *f,
                      uint32_t *from, uint32_t *to)
{
    uint32_t first = f->from < f->to ? p->prim[f->from] : 0, count = 0;
    const struct py_node *n = &p->nodes.at[first];

    *from = f->from;
    *to = f->to;
    if (f->kind != PY_FLOW_VALUE || !f->target_count ||
        p->targets.at[f->targets].of != f->target_count)
        return false;
    if (first && n->kind == PY_N_DISPLAY && n->end + 1 == f->to) {
        ++*from;
        --*to;
    }
    for (uint32_t t = *from; t < *to; t = py_element_end(p, t, *to) + 1) {
        if (py_op(p, t, '*') || p->id[t] == PY_W_for)
            return false;
        count++;
    }
    return count > 1 && count == f->target_count;
}

/* ---- nodes ---------------------------------------------------------------- */

uint32_t py_bare(const struct py_prog *p, uint32_t node)
{
    while (p->nodes.at[node].kind == PY_N_GROUP && p->nodes.at[node].base)
        node = p->nodes.at[node].base;
    return node;
}

bool py_is_super(const struct py_prog *p, uint32_t node)
{
    const struct py_node *n = &p->nodes.at[py_bare(p, node)];

    return n->kind == PY_N_CALL &&
           p->nodes.at[n->base].val == py_val(PY_V_BUILTIN, PY_W_super);
}

uint32_t py_first_arg(const struct py_prog *p, uint32_t call)
{
    const struct py_node *n = &p->nodes.at[call];

    return n->tok + 1 < n->end ? p->prim[n->tok + 1] : 0;
}
