/* py_names.c: meanings flow through assignments, loops, returns and arguments
 * until nothing new arrives. */
#include "lex/py_names.h"

#include <string.h>

/* An honest program needs two to four. */
#define MAX_ROUNDS 24
/* Of the methods with one name in a family, this many get arguments. */
#define MAX_METHODS 8
#define MAX_PARAMS  255

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

/* Objects flow through anything that may hold them; names of things only
 * through what hands over the thing itself. */
static bool is_object(uint32_t item)
{
    return py_val_kind(item) >= PY_V_SELF;
}

static bool set_add(struct py_set *s, uint32_t item)
{
    for (uint32_t i = 0; i < s->len; i++)
        if (s->item[i] == item)
            return true;
    if (s->len == PY_SET_MAX)
        return false;
    s->item[s->len++] = item;
    return true;
}

static void set_join(const struct py_prog *p, struct py_set *s, uint32_t val,
                     bool objects_only)
{
    uint32_t n;
    const uint32_t *item = py_val_items(p, &val, &n);

    for (uint32_t i = 0; i < n; i++)
        if (!objects_only || is_object(item[i]))
            set_add(s, item[i]);
}

/* The set as a value; `old` is reused when it says the same. */
static uint32_t set_val(struct py_prog *p, const struct py_set *s, uint32_t old)
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
    const struct py_dotted *d = &p->dotted.at[py_val_ref(item)];

    if (py_val_kind(item) != PY_V_IMPORT)
        return false;
    for (uint32_t up = d->parent; up; up = p->dotted.at[up].parent) {
        if (p->dotted.at[up].name != d->name)
            continue;
        for (uint32_t i = 0; i < s->len; i++)
            if (s->item[i] == py_val(PY_V_IMPORT, up))
                return true;
    }
    return false;
}

static void slot_add(struct py_prog *p, uint32_t slot, uint32_t item)
{
    struct py_slot *s = &p->slots.at[slot];
    struct py_set one = {1, {s->val}}, *set = &one;

    if (!slot || s->val == item)
        return;
    if (!s->val) {
        s->val = item;
        p->changed = true;
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
    if (set_add(set, item))
        p->changed = true;
    else if (py_val_kind(item) == PY_V_IMPORT)
        p->limited = true;
}

static void slot_join(struct py_prog *p, uint32_t slot, const struct py_set *s)
{
    for (uint32_t i = 0; i < s->len; i++)
        slot_add(p, slot, s->item[i]);
}

/* ---- stretches of tokens -------------------------------------------------- */

static bool is_op(const struct py_prog *p, uint32_t t, char op)
{
    const struct py_token *k = &p->tok[t];

    return k->kind == PY_OP && k->text.n == 1 && k->text.p[0] == op;
}

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

/* Adds the meanings of the expression in tokens [from, to). */
static void region_join(const struct py_prog *p, struct py_set *out,
                        uint32_t from, uint32_t to, bool objects_only)
{
    struct py_set all = {0};
    bool choice = !objects_only, condition = false;

    if (from < to && p->prim[from] &&
        p->nodes.at[p->prim[from]].end + 1 == to) {
        set_join(p, out, p->nodes.at[p->prim[from]].val, objects_only);
        return;
    }
    for (uint32_t t = from; t < to; t++) {
        const struct py_node *n = &p->nodes.at[p->prim[t]];

        if (p->prim[t]) {
            if (n->val && !condition)
                set_join(p, &all, n->val, false);
            if (n->val)
                set_join(p, out, n->val, true);
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
        set_add(out, all.item[i]);
}

/* The end of the element that starts at `from`: its comma, or `to`. */
static uint32_t element_end(const struct py_prog *p, uint32_t from, uint32_t to)
{
    uint32_t t = from;

    while (t < to && (p->prim[t] || !is_op(p, t, ',')))
        t = p->prim[t] ? p->nodes.at[p->prim[t]].end + 1 : t + 1;
    return t < to ? t : to;
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

static uint32_t name_val(const struct py_prog *p, const struct py_node *n)
{
    return n->slot ? p->slots.at[n->slot].val : py_val(PY_V_BUILTIN, n->name);
}

static void member_vals(struct py_prog *p, struct py_set *out, uint32_t cls,
                        uint32_t name, bool bound)
{
    uint32_t slot = py_member(p, p->classes.at[cls].family, name, false);
    const struct py_slot *s = &p->slots.at[slot];

    if (!slot)
        return;
    set_join(p, out, s->val, false);
    if (!s->defs)
        return;
    if (bound)
        set_add(out, py_val(PY_V_METHODS, slot));
    else if (p->bindings.at[s->defs].kind == PY_B_DEF)
        set_add(out, py_val(PY_V_FUNCTION, p->bindings.at[s->defs].ref));
}

static uint32_t attr_of(struct py_prog *p, uint32_t dotted, uint32_t name)
{
    const struct py_dotted *d = &p->dotted.at[dotted];

    if (d->depth == 1 && d->name == PY_W_builtins)
        return py_val(PY_V_BUILTIN, name);
    return py_val(PY_V_IMPORT, py_dotted(p, dotted, name));
}

static uint32_t attr_val(struct py_prog *p, const struct py_node *n)
{
    uint32_t base = p->nodes.at[n->base].val, count;
    const uint32_t *item = py_val_items(p, &base, &count);
    struct py_set out = {0};

    for (uint32_t i = 0; i < count; i++) {
        uint32_t ref = py_val_ref(item[i]);

        switch (py_val_kind(item[i])) {
        case PY_V_IMPORT:
            set_add(&out, attr_of(p, ref, n->name));
            break;
        case PY_V_CLASS:
            member_vals(p, &out, ref, n->name, false);
            break;
        case PY_V_SELF:
        case PY_V_OBJECT:
            member_vals(p, &out, ref, n->name, true);
            break;
        case PY_V_HOLDER:
            if (n->name == PY_W_forward || n->name == PY_W___call__)
                set_add(&out, item[i]);
            break;
        default:
            break;
        }
    }
    return set_val(p, &out, n->val);
}

/* ---- calls ---------------------------------------------------------------- */

static bool is_keeper(uint32_t name)
{
    return name > PY_W_end_words && name < PY_W_end_keepers;
}

static bool is_taker(uint32_t name)
{
    return name > PY_W_end_keepers && name < PY_W_end_takers;
}

static bool is_hander(uint32_t name)
{
    return name > PY_W_end_takers && name < PY_W_end_handers;
}

static bool is_nn_data(uint32_t name)
{
    return name > PY_W_end_handers && name < PY_W_end_nn_data;
}

/* Whether calling the imported `dotted` makes a torch.nn object. */
static bool makes_holder(const struct py_prog *p, uint32_t dotted)
{
    const struct py_dotted *d = &p->dotted.at[dotted];
    char first = p->names.at[d->name].p[0];

    return d->in_nn && first >= 'A' && first <= 'Z' && !is_nn_data(d->name);
}

static bool is_container(const struct py_prog *p, uint32_t dotted)
{
    uint32_t name = p->dotted.at[dotted].name;

    return name == PY_W_ModuleList || name == PY_W_ModuleDict ||
           name == PY_W_Sequential;
}

static void pass_to_all(struct py_prog *p, uint32_t params,
                        const struct py_set *objects)
{
    for (uint32_t i = 0; params && i < MAX_PARAMS; i++) {
        slot_join(p, p->bindings.at[params].slot, objects);
        params = p->bindings.at[params].next;
    }
}

/* A function that is handed over together with objects may be called with
 * them: map(lambda layer: layer(x), self.layers). */
static void pass_to_callbacks(struct py_prog *p, const struct py_node *call,
                              const struct py_set *objects)
{
    for (uint32_t t = call->tok + 1; objects->len && t < call->end; t++) {
        const struct py_node *n = &p->nodes.at[p->prim[t]];
        uint32_t count;
        const uint32_t *item;

        if (!p->prim[t])
            continue;
        t = n->end;
        item = py_val_items(p, &n->val, &count);
        for (uint32_t i = 0; i < count; i++) {
            if (py_val_kind(item[i]) == PY_V_FUNCTION)
                pass_to_all(p, p->bodies.at[py_val_ref(item[i])].params,
                            objects);
        }
    }
}

static bool set_has(const struct py_set *s, enum py_val_kind kind)
{
    for (uint32_t i = 0; i < s->len; i++)
        if (py_val_kind(s->item[i]) == kind)
            return true;
    return false;
}

/* Calling something of another module: what goes in may come out, wrapped. A
 * container of objects of this file's own classes is as good as they are. */
static void import_call(struct py_prog *p, struct py_set *out,
                        const struct py_node *n, uint32_t dotted)
{
    struct py_set in = {0};

    region_join(p, &in, n->tok + 1, n->end, true);
    pass_to_callbacks(p, n, &in);
    for (uint32_t i = 0; i < in.len; i++)
        if (py_val_kind(in.item[i]) != PY_V_SELF)
            set_add(out, in.item[i]);
    if (makes_holder(p, dotted) &&
        !(is_container(p, dotted) && set_has(&in, PY_V_OBJECT)))
        set_add(out, py_val(PY_V_HOLDER, 0));
}

static void builtin_call(struct py_prog *p, struct py_set *out,
                         const struct py_node *n, uint32_t name)
{
    struct py_set in = {0};

    region_join(p, &in, n->tok + 1, n->end, true);
    pass_to_callbacks(p, n, &in);
    for (uint32_t i = 0; i < in.len && is_hander(name); i++)
        set_add(out, in.item[i]);
}

/* The parameter `name`, or the `nth` after `first`; 0: none. */
static uint32_t find_param(const struct py_prog *p, uint32_t first,
                           uint32_t name, uint32_t nth)
{
    uint32_t b = first;

    for (uint32_t i = 0; b && i < MAX_PARAMS; i++, b = p->bindings.at[b].next)
        if (name ? p->bindings.at[b].name == name : i == nth)
            return b;
    return 0;
}

/* Hands the objects among a call's arguments to the parameters of `body`. */
static void pass_args(struct py_prog *p, const struct py_node *call,
                      uint32_t body, uint32_t skip)
{
    uint32_t params = p->bodies.at[body].params, end;

    for (uint32_t from = call->tok + 1; from < call->end; from = end + 1) {
        struct py_set in = {0};
        uint32_t name = 0, b = 0;

        end = element_end(p, from, call->end);
        if (p->id[from] && is_op(p, from + 1, '=')) {
            name = p->id[from];
            from += 2;
        }
        region_join(p, &in, from, end, true);
        if (in.len && !is_op(p, from, '*') && !py_is(&p->tok[from], "**"))
            b = find_param(p, params, name, skip);
        skip++;
        if (b)
            slot_join(p, p->bindings.at[b].slot, &in);
        else if (in.len)
            pass_to_all(p, params, &in);
    }
}

static void body_call(struct py_prog *p, struct py_set *out,
                      const struct py_node *call, uint32_t body, uint32_t skip)
{
    uint32_t ret = p->bodies.at[body].ret;

    pass_args(p, call, body, skip);
    if (ret)
        set_join(p, out, p->slots.at[ret].val, true);
}

/* Every method that the slot of a member may mean. */
static void member_call(struct py_prog *p, struct py_set *out,
                        const struct py_node *call, uint32_t slot)
{
    uint32_t b = slot ? p->slots.at[slot].defs : 0;

    for (uint32_t i = 0; b && i < MAX_METHODS;
         i++, b = p->bindings.at[b].next) {
        uint32_t body = p->bindings.at[b].ref;

        if (p->bindings.at[b].kind == PY_B_DEF)
            body_call(p, out, call, body, p->bodies.at[body].is_static ? 0 : 1);
    }
}

static void item_call(struct py_prog *p, struct py_set *out,
                      const struct py_node *n, uint32_t item)
{
    uint32_t ref = py_val_ref(item);

    switch (py_val_kind(item)) {
    case PY_V_IMPORT:
        import_call(p, out, n, ref);
        break;
    case PY_V_BUILTIN:
        builtin_call(p, out, n, ref);
        break;
    case PY_V_FUNCTION:
        body_call(p, out, n, ref, 0);
        break;
    case PY_V_CLASS: {
        struct py_set none = {0};

        set_add(out, py_val(PY_V_OBJECT, ref));
        member_call(
            p, &none, n,
            py_member(p, p->classes.at[ref].family, PY_W___init__, false));
        break;
    }
    case PY_V_METHODS:
        member_call(p, out, n, ref);
        break;
    default:
        break;
    }
}

/* Adds to the attribute that an attribute node stands for. */
static void attr_join(struct py_prog *p, const struct py_node *n,
                      const struct py_set *in)
{
    uint32_t base = p->nodes.at[n->base].val, count;
    const uint32_t *item = py_val_items(p, &base, &count);

    for (uint32_t i = 0; i < count; i++) {
        enum py_val_kind kind = py_val_kind(item[i]);
        uint32_t family;

        if (kind != PY_V_CLASS && kind != PY_V_SELF && kind != PY_V_OBJECT)
            continue;
        family = p->classes.at[py_val_ref(item[i])].family;
        slot_join(p, py_member(p, family, n->name, true), in);
    }
}

/* Adds to the container that a node stands for. */
static void put_into(struct py_prog *p, uint32_t node, const struct py_set *in)
{
    const struct py_node *n = &p->nodes.at[py_bare(p, node)];

    while (n->kind == PY_N_SUB)
        n = &p->nodes.at[py_bare(p, n->base)];
    if (n->kind == PY_N_NAME)
        slot_join(p, n->slot, in);
    else if (n->kind == PY_N_ATTR)
        attr_join(p, n, in);
}

static uint32_t call_val(struct py_prog *p, const struct py_node *n)
{
    uint32_t callee = p->nodes.at[n->base].val, count;
    const uint32_t *item = py_val_items(p, &callee, &count);
    const struct py_node *f = &p->nodes.at[py_bare(p, n->base)];
    struct py_set out = {0}, in = {0};

    for (uint32_t i = 0; i < count; i++)
        item_call(p, &out, n, item[i]);
    if (f->kind == PY_N_ATTR && is_keeper(f->name))
        set_join(p, &out, p->nodes.at[f->base].val, true);
    if (f->kind == PY_N_ATTR && is_taker(f->name)) {
        region_join(p, &in, n->tok + 1, n->end, true);
        if (in.len)
            put_into(p, f->base, &in);
    }
    return set_val(p, &out, n->val);
}

static uint32_t sub_val(struct py_prog *p, const struct py_node *n)
{
    struct py_set out = {0};

    set_join(p, &out, p->nodes.at[n->base].val, true);
    return set_val(p, &out, n->val);
}

static uint32_t region_val(struct py_prog *p, const struct py_node *n,
                           bool objects_only)
{
    struct py_set out = {0};

    region_join(p, &out, n->tok + 1, n->end, objects_only);
    return set_val(p, &out, n->val);
}

static uint32_t node_val(struct py_prog *p, const struct py_node *n)
{
    switch (n->kind) {
    case PY_N_NAME:
        return name_val(p, n);
    case PY_N_ATTR:
        return attr_val(p, n);
    case PY_N_CALL:
        return call_val(p, n);
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
        slot_join(p, p->bindings.at[t->binding].slot, in);
    else if (n->kind == PY_N_SUB)
        put_into(p, n->base, in);
    else if (n->kind == PY_N_ATTR)
        attr_join(p, n, in);
}

/* a, b = c, d: whether the value has as many elements as there are targets, and
 * where they start and end. */
static bool pair_elements(const struct py_prog *p, const struct py_flow *f,
                          uint32_t *from, uint32_t *to)
{
    uint32_t first = f->from < f->to ? p->prim[f->from] : 0, count = 0;
    const struct py_node *n = &p->nodes.at[first];

    *from = f->from;
    *to = f->to;
    if (first && n->kind == PY_N_DISPLAY && n->end + 1 == f->to) {
        ++*from;
        --*to;
    }
    for (uint32_t t = *from; t < *to; t = element_end(p, t, *to) + 1) {
        if (is_op(p, t, '*') || p->id[t] == PY_W_for)
            return false;
        count++;
    }
    return count > 1 && count == f->target_count;
}

/* Targets in a tuple get their own element, or any object in the value. */
static void flow_tuple(struct py_prog *p, const struct py_flow *f)
{
    const struct py_target *t = &p->targets.at[f->targets];
    uint32_t from = 0, to = 0;
    bool paired = f->kind == PY_FLOW_VALUE && f->target_count == t->of &&
                  pair_elements(p, f, &from, &to);
    struct py_set in = {0};

    if (!paired)
        region_join(p, &in, f->from, f->to, true);
    for (uint32_t i = 0; i < f->target_count; i++) {
        if (paired) {
            uint32_t end = element_end(p, from, to);

            in.len = 0;
            region_join(p, &in, from, end, false);
            from = end + 1;
        }
        into_target(p, &t[i], &in);
    }
}

static void flow_return(struct py_prog *p, const struct py_flow *f)
{
    struct py_body *b = &p->bodies.at[f->body];
    struct py_set in = {0};

    region_join(p, &in, f->from, f->to, true);
    if (in.len && !b->ret) {
        b->ret = p->slots.len;
        (void)PY_PUSH(p->a, p->slots);
    }
    slot_join(p, b->ret, &in);
}

static void apply_flow(struct py_prog *p, const struct py_flow *f)
{
    struct py_set in = {0};
    bool tuple = false;

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
    region_join(p, &in, f->from, f->to, f->kind != PY_FLOW_VALUE);
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

/* Classes related by inheritance share their attributes. */
static void make_families(struct py_prog *p)
{
    for (uint32_t c = 1; c < p->classes.len; c++) {
        const struct py_class *k = &p->classes.at[c];

        for (uint32_t i = 0; i < k->base_count; i++) {
            const struct py_base *base = &p->bases.at[k->bases + i];
            const struct py_node *n = &p->nodes.at[p->prim[base->from]];
            uint32_t b = n->kind == PY_N_NAME ? p->slots.at[n->slot].defs : 0;

            for (; b; b = p->bindings.at[b].next)
                if (p->bindings.at[b].kind == PY_B_CLASS)
                    p->classes.at[family_root(p, p->bindings.at[b].ref)]
                        .family = family_root(p, c);
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

        if (s->kind != PY_S_CLASS || !s->cls)
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

    switch (b->kind) {
    case PY_B_IMPORT:
        if (d->depth == 2 && p->dotted.at[d->parent].name == PY_W_builtins)
            slot_add(p, b->slot, py_val(PY_V_BUILTIN, d->name));
        else
            slot_add(p, b->slot, py_val(PY_V_IMPORT, b->ref));
        break;
    case PY_B_DEF:
        slot_add(p, b->slot, py_val(PY_V_FUNCTION, b->ref));
        break;
    case PY_B_CLASS:
        slot_add(p, b->slot, py_val(PY_V_CLASS, b->ref));
        break;
    case PY_B_PARAM:
        if (b->self)
            slot_add(p, b->slot, py_val(PY_V_SELF, p->bodies.at[b->ref].cls));
        break;
    case PY_B_VALUE:
        break;
    }
}

/* What a class body binds is an attribute of its objects; its functions are
 * methods, which the chain of definitions tells. */
static void share_members(struct py_prog *p)
{
    uint32_t count = p->slots.len;

    for (uint32_t i = 1; i < count; i++) {
        struct py_slot s = p->slots.at[i];
        uint32_t cls = s.member && s.scope ? p->scopes.at[s.scope].cls : 0;
        uint32_t n, to;
        const uint32_t *item;

        if (!cls || !s.val)
            continue;
        to = py_member(p, p->classes.at[cls].family, s.name, true);
        item = py_val_items(p, &s.val, &n);
        for (uint32_t k = 0; k < n; k++)
            if (py_val_kind(item[k]) != PY_V_FUNCTION)
                slot_add(p, to, item[k]);
    }
}

static void run_round(struct py_prog *p)
{
    uint32_t f = 0;

    for (uint32_t i = 1; i <= p->nodes.len; i++) {
        while (f < p->flows.len && p->flows.at[f].node_at <= i)
            apply_flow(p, &p->flows.at[f++]);
        if (i < p->nodes.len) {
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
