/* py_call.c: what calls do with meanings: who gets the arguments, and what comes
 * back. */
#include "lex/py_names.h"

#include <string.h>

/* Of the methods with one name in a family, this many get arguments. */
#define MAX_METHODS 8
#define MAX_PARAMS  255

static bool is_taker(uint32_t name)
{
    return name > PY_W_end_keepers && name < PY_W_end_takers;
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
        py_slot_join(p, p->bindings.at[params].slot, objects);
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

/* Calling something of another module: what goes in may come out, wrapped. A
 * container of objects of this file's own classes is as good as they are. */
static void import_call(struct py_prog *p, struct py_set *out,
                        const struct py_node *n, uint32_t dotted)
{
    struct py_set in;

    in.len = 0;
    py_region_join(p, &in, n->tok + 1, n->end, true);
    pass_to_callbacks(p, n, &in);
    for (uint32_t i = 0; i < in.len; i++)
        if (py_val_kind(in.item[i]) != PY_V_SELF)
            py_set_add(out, in.item[i]);
    if (makes_holder(p, dotted) &&
        !(is_container(p, dotted) && py_set_has(&in, PY_V_OBJECT)))
        py_set_add(out, py_val(PY_V_HOLDER, 0));
}

static void builtin_call(struct py_prog *p, struct py_set *out,
                         const struct py_node *n, uint32_t name)
{
    struct py_set in;

    in.len = 0;
    py_region_join(p, &in, n->tok + 1, n->end, true);
    pass_to_callbacks(p, n, &in);
    for (uint32_t i = 0; i < in.len && py_is_hander(name); i++)
        py_set_add(out, in.item[i]);
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
        struct py_set in;
        uint32_t name = 0, b = 0;

        in.len = 0;
        end = py_element_end(p, from, call->end);
        if (p->id[from] && py_op(p, from + 1, '=')) {
            name = p->id[from];
            from += 2;
        }
        py_region_join(p, &in, from, end, true);
        if (in.len && !py_op(p, from, '*') && !py_is(&p->tok[from], "**"))
            b = find_param(p, params, name, skip);
        skip++;
        if (b)
            py_slot_join(p, p->bindings.at[b].slot, &in);
        else if (in.len)
            pass_to_all(p, params, &in);
    }
}

static void body_call(struct py_prog *p, struct py_set *out,
                      const struct py_node *call, uint32_t body, uint32_t skip)
{
    uint32_t ret = p->bodies.at[body].ret;

    pass_args(p, call, body, skip);
    p->bodies.at[body].ret_read = true;
    if (ret)
        py_set_join(p, out, py_slot_val(p, ret), true);
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
        struct py_set none;

        none.len = 0;
        py_set_add(out, py_val(PY_V_OBJECT, ref));
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

void py_attr_join(struct py_prog *p, const struct py_node *n,
                  const struct py_set *in)
{
    uint32_t base = p->nodes.at[n->base].val, count;
    const uint32_t *item = py_val_items(p, &base, &count);

    if (!count || py_val_has(p, base, PY_V_HOLDER))
        py_slot_join(p, py_member(p, 0, n->name, true), in);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t family;

        if (!py_has_members(item[i]))
            continue;
        family = p->classes.at[py_val_ref(item[i])].family;
        py_slot_join(p, py_member(p, family, n->name, true), in);
        if (n->name == PY_W__modules) /* any attribute may be one of them */
            py_slot_join(p, py_member(p, family, 0, true), in);
    }
}

/* The name that a string literal spells; 0 when it must be computed. */
static uint32_t spelled_name(struct py_prog *p, uint32_t t)
{
    struct str text = {p->src.p + p->tok[t].body_at, p->tok[t].body_len};

    return memchr(text.p, '\\', text.n) ? 0 : py_intern(p, text);
}

bool py_named_store(struct py_prog *p, const struct py_node *call,
                    struct py_named_store *out)
{
    const struct py_node *f = &p->nodes.at[py_bare(p, call->base)];
    uint32_t from = call->tok + 1, end;

    *out = (struct py_named_store){.body = call->body};
    if (f->kind == PY_N_ATTR &&
        (f->name == PY_W_add_module || f->name == PY_W_register_module)) {
        out->base = f->base;
    } else if (f->val == py_val(PY_V_BUILTIN, PY_W_setattr)) {
        end = py_element_end(p, from, call->end);
        out->base = p->prim[from];
        from = end + 1;
    }
    for (; out->base && from < call->end; from = end + 1) {
        bool named = false;

        end = py_element_end(p, from, call->end);
        if (p->id[from] && py_op(p, from + 1, '=')) {
            named = py_is(&p->tok[from], "name");
            from += 2;
        }
        if (from + 1 == end && p->tok[from].kind == PY_STRING) {
            out->name = spelled_name(p, from);
        } else if (!named) {
            out->from = from;
            out->to = end;
        }
    }
    return out->from < out->to;
}

uint32_t py_stored_slot(struct py_prog *p, const struct py_named_store *s,
                        uint32_t nth, bool make)
{
    uint32_t count, cls = 0;
    const uint32_t *item = py_val_items(p, &p->nodes.at[s->base].val, &count);

    if (nth == 0 && py_is_super(p, s->base))
        cls = p->bodies.at[s->body].in_cls;
    else if (nth < count && py_has_members(item[nth]))
        cls = py_val_ref(item[nth]);
    return cls ? py_member(p, p->classes.at[cls].family, s->name, make) : 0;
}

void py_put_into(struct py_prog *p, uint32_t node, const struct py_set *in)
{
    const struct py_node *n = &p->nodes.at[py_bare(p, node)];

    while (n->kind == PY_N_SUB)
        n = &p->nodes.at[py_bare(p, n->base)];
    if (n->kind == PY_N_NAME)
        py_slot_join(p, n->slot, in);
    else if (n->kind == PY_N_ATTR)
        py_attr_join(p, n, in);
}

uint32_t py_call_val(struct py_prog *p, const struct py_node *n)
{
    uint32_t callee = p->nodes.at[n->base].val, count;
    const uint32_t *item = py_val_items(p, &callee, &count);
    const struct py_node *f = &p->nodes.at[py_bare(p, n->base)];
    struct py_named_store store;
    struct py_set out, in;

    out.len = in.len = 0;
    for (uint32_t i = 0; i < count; i++)
        item_call(p, &out, n, item[i]);
    if (py_named_store(p, n, &store)) {
        py_region_join(p, &in, store.from, store.to, false);
        for (uint32_t i = 0; i < PY_SET_MAX; i++)
            py_slot_join(p, py_stored_slot(p, &store, i, true), &in);
        in.len = 0;
    }
    if (f->kind == PY_N_ATTR && py_is_keeper(f->name))
        py_set_join(p, &out, p->nodes.at[f->base].val, true);
    if (f->kind == PY_N_ATTR && is_taker(f->name)) {
        py_region_join(p, &in, n->tok + 1, n->end, true);
        if (in.len)
            py_put_into(p, f->base, &in);
    }
    return py_set_val(p, &out, n->val);
}
