/* py_reach.c: a graph of mentions, and contexts that spread along it. */
#include "lex/py_reach.h"

#include <string.h>

const char *const py_context_names[] = {"forward", "init", "module", "kernel",
                                        "dead"};

enum edge_kind {
    EDGE_SLOT,  /* whatever functions and classes a variable stands for */
    EDGE_LIVE,  /* its classes exist, without being made */
    EDGE_NAME,  /* any method of that name, of a class that is in use */
    EDGE_BODY,  /* one function */
    EDGE_CLASS, /* one class */
};

struct edge {
    enum edge_kind kind;
    uint32_t ref, next;
    bool called; /* on the spot; otherwise it is kept and may be called later */
    bool kernel; /* handed to a kernel decorator */
};

struct work {
    uint32_t body;
    enum py_context from;
};

struct reach {
    struct py_prog *p;
    const uint32_t *kernels;
    uint32_t kernel_count;
    PY_VEC(struct edge) edges;
    PY_VEC(struct work) work;
    PY_VEC(uint32_t) others; /* plain methods of the model */
    uint32_t *methods;       /* of each name: methods, chained by `namesake` */
    uint8_t *named;          /* of each name: contexts that mention it */
};

static bool is_kernel_name(const struct reach *r, uint32_t node)
{
    const struct py_prog *p = r->p;
    uint32_t count;
    const uint32_t *item = py_val_items(p, &p->nodes.at[node].val, &count);

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < r->kernel_count; k++)
            if (item[i] == py_val(PY_V_IMPORT, r->kernels[k]))
                return true;
    return false;
}

/* ---- spreading ------------------------------------------------------------ */

static void add(struct reach *r, uint32_t body, enum py_context c)
{
    struct py_body *b = &r->p->bodies.at[body];

    if (b->kernel)
        c = PY_C_KERNEL;
    if (py_is_script(r->p, body))
        return;
    if (b->reached & (1u << c))
        return;
    b->reached |= (uint8_t)(1u << c);
    *PY_PUSH(r->p->a, r->work) = (struct work){body, c};
}

/* A method can run only when its class is in use. */
static void add_method(struct reach *r, uint32_t body, enum py_context c)
{
    struct py_body *b = &r->p->bodies.at[body];

    b->pending |= (uint8_t)(1u << c);
    if (!b->cls || r->p->classes.at[b->cls].live)
        add(r, body, c);
}

static void make_live(struct reach *r, uint32_t cls)
{
    struct py_class *k = &r->p->classes.at[cls];

    if (k->live)
        return;
    k->live = true;
    for (uint32_t m = k->methods; m; m = r->p->bodies.at[m].method) {
        struct py_body *b = &r->p->bodies.at[m];

        b->pending |= r->named[b->name];
        for (int c = 0; c < PY_C_DEAD; c++)
            if (b->pending & (1u << c))
                add(r, m, (enum py_context)c);
    }
}

static bool is_dunder(const struct py_prog *p, uint32_t name)
{
    struct str s = p->names.at[name];

    return s.n > 4 && str_starts(s, "__") && str_ends(s, "__");
}

/* What making an object runs at once. */
static bool is_making(const struct py_prog *p, uint32_t name)
{
    static const char *const list[] = {
        "__init__",     "__new__",       "__init_subclass__",
        "__set_name__", "__post_init__", "__class_getitem__"};

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (str_eq(p->names.at[name], list[i]))
            return true;
    return false;
}

/* An object made while building the model lives on: its operators run later,
 * whoever triggers them. */
static enum py_context method_context(const struct py_prog *p, uint32_t name,
                                      enum py_context c)
{
    if ((c == PY_C_INIT || c == PY_C_MODULE) && is_dunder(p, name) &&
        !is_making(p, name))
        return PY_C_FORWARD;
    return c;
}

/* Classes among a base's meanings, as items; other items are skipped. */
static const uint32_t *base_items(const struct py_prog *p,
                                  const struct py_base *b, uint32_t *count)
{
    static const uint32_t none;
    uint32_t node = b->from < b->to ? p->prim[b->from] : 0;

    return py_val_items(p, node ? &p->nodes.at[node].val : &none, count);
}

static void reach_class(struct reach *r, uint32_t cls, enum py_context c)
{
    struct py_prog *p = r->p;
    PY_VEC(uint32_t) todo = {0};

    if (p->classes.at[cls].reached & (1u << c))
        return;
    *PY_PUSH(p->a, todo) = cls;
    while (todo.len) {
        struct py_class *k = &p->classes.at[todo.at[--todo.len]];

        if (k->reached & (1u << c))
            continue;
        k->reached |= (uint8_t)(1u << c);
        make_live(r, (uint32_t)(k - p->classes.at));
        for (uint32_t m = k->methods; m; m = p->bodies.at[m].method)
            add(r, m, method_context(p, p->bodies.at[m].name, c));
        for (uint32_t i = 0; i < k->base_count; i++) {
            uint32_t n;
            const uint32_t *item =
                base_items(p, &p->bases.at[k->bases + i], &n);

            for (uint32_t j = 0; j < n; j++)
                if (py_val_kind(item[j]) == PY_V_CLASS)
                    *PY_PUSH(p->a, todo) = py_val_ref(item[j]);
        }
    }
}

/* Something kept by code that builds may be called by code that runs. */
static enum py_context kept(enum py_context c, bool called)
{
    return !called && (c == PY_C_INIT || c == PY_C_MODULE) ? PY_C_FORWARD : c;
}

static void reach_slot(struct reach *r, uint32_t slot, enum py_context c,
                       bool called)
{
    struct py_slot *s = &r->p->slots.at[slot];
    uint8_t seen = (uint8_t)(1u << (2 * (unsigned)c + called));

    if (s->seen & seen)
        return;
    s->seen |= seen;
    for (uint32_t i = s->defs; i; i = r->p->bindings.at[i].next) {
        const struct py_binding *b = &r->p->bindings.at[i];

        if (b->kind == PY_B_CLASS)
            reach_class(r, b->ref, c);
        else
            add_method(r, b->ref, kept(c, called));
    }
}

static void live_slot(struct reach *r, uint32_t slot)
{
    struct py_slot *s = &r->p->slots.at[slot];

    if (s->live)
        return;
    s->live = true;
    for (uint32_t i = s->defs; i; i = r->p->bindings.at[i].next)
        if (r->p->bindings.at[i].kind == PY_B_CLASS)
            make_live(r, r->p->bindings.at[i].ref);
}

static void reach_name(struct reach *r, uint32_t name, enum py_context c)
{
    if (r->named[name] & (1u << c))
        return;
    r->named[name] |= (uint8_t)(1u << c);
    for (uint32_t m = r->methods[name]; m; m = r->p->bodies.at[m].namesake)
        add_method(r, m, c);
}

static void follow(struct reach *r, const struct edge *e, enum py_context c)
{
    if (e->kernel)
        c = PY_C_KERNEL;
    switch (e->kind) {
    case EDGE_SLOT:
        reach_slot(r, e->ref, c, e->called);
        break;
    case EDGE_LIVE:
        live_slot(r, e->ref);
        break;
    case EDGE_NAME:
        reach_name(r, e->ref, kept(c, e->called));
        break;
    case EDGE_BODY:
        add(r, e->ref, kept(c, e->called));
        break;
    case EDGE_CLASS:
        reach_class(r, e->ref, c);
        break;
    }
}

/* Lambdas are values, so they are reached with the code that makes them;
 * functions defined inside must be mentioned, except in kernels. */
static void spread(struct reach *r, uint32_t body, enum py_context c)
{
    struct py_prog *p = r->p;

    for (uint32_t e = p->bodies.at[body].edges; e; e = r->edges.at[e].next)
        follow(r, &r->edges.at[e], c);
    for (uint32_t i = p->bodies.at[body].child; i;
         i = p->bodies.at[i].sibling) {
        if (p->bodies.at[i].lambda)
            add(r, i, kept(c, false));
        else if (c == PY_C_KERNEL)
            add(r, i, c);
    }
}

/* ---- edges ---------------------------------------------------------------- */

static struct edge *add_edge(struct reach *r, uint32_t body,
                             enum edge_kind kind, uint32_t ref, bool called)
{
    struct edge *e = PY_PUSH(r->p->a, r->edges);

    e->kind = kind;
    e->ref = ref;
    e->called = called;
    e->next = r->p->bodies.at[body].edges;
    r->p->bodies.at[body].edges = r->edges.len - 1;
    return e;
}

/* The node that consumes this one, through parentheses. */
static const struct py_node *user_of(const struct py_prog *p,
                                     const struct py_node *n)
{
    while (n->use == PY_N_GROUP)
        n = &p->nodes.at[n->user];
    return n;
}

/* Cls.method reaches that method; anything else said of a class reaches all. */
static bool one_member(struct reach *r, const struct py_node *n)
{
    struct py_prog *p = r->p;
    const struct py_node *attr = &p->nodes.at[n->user];
    uint32_t count, slot = 0;
    const uint32_t *item = py_val_items(p, &n->val, &count);

    if (n->use != PY_N_ATTR || !n->user)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (py_val_kind(item[i]) == PY_V_CLASS)
            slot = py_member(p, p->classes.at[py_val_ref(item[i])].family,
                             attr->name, false);
    if (!slot || !p->slots.at[slot].defs)
        return false;
    add_edge(r, n->body, EDGE_SLOT, slot, attr->use == PY_N_CALL);
    add_edge(r, n->body, EDGE_LIVE, n->slot, false);
    return true;
}

static void name_edges(struct reach *r, const struct py_node *n)
{
    bool called = user_of(r->p, n)->use == PY_N_CALL || n->flags & PY_F_DECO;

    if (!n->slot || !r->p->slots.at[n->slot].defs || n->flags & PY_F_QUIET)
        return;
    if ((n->flags & PY_F_STORE && !(n->flags & PY_F_AUG)) ||
        (n->flags & PY_F_NOTE && !called))
        return;
    if (!one_member(r, n))
        add_edge(r, n->body, EDGE_SLOT, n->slot, called)->kernel =
            n->flags & PY_F_KERNEL;
}

static void attr_edges(struct reach *r, const struct py_node *n)
{
    struct py_prog *p = r->p;
    uint32_t base = p->nodes.at[n->base].val, count;
    const uint32_t *item = py_val_items(p, &base, &count);
    bool called = user_of(p, n)->use == PY_N_CALL, other = count == 0;

    if (n->flags & PY_F_STORE && !(n->flags & PY_F_AUG))
        return;
    if (py_is_super(p, n->base)) {
        uint32_t cls = p->bodies.at[n->body].in_cls;
        uint32_t slot = py_member(p, p->classes.at[cls].family, n->name, false);

        if (cls && slot)
            add_edge(r, n->body, EDGE_SLOT, slot, called);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        enum py_val_kind kind = py_val_kind(item[i]);
        uint32_t slot = 0;

        if (kind == PY_V_SELF || kind == PY_V_OBJECT)
            slot = py_member(p, p->classes.at[py_val_ref(item[i])].family,
                             n->name, false);
        if (slot && p->slots.at[slot].defs)
            add_edge(r, n->body, EDGE_SLOT, slot, called)->kernel =
                n->flags & PY_F_KERNEL;
        else if (kind != PY_V_IMPORT && kind != PY_V_CLASS)
            other = true;
    }
    if (other && r->methods[n->name])
        add_edge(r, n->body, EDGE_NAME, n->name, called);
}

/* Whether a call may run an object of this file: it is not known what is
 * called, and it is no method that somebody else's value would have. */
static bool is_opaque(const struct reach *r, const struct py_node *callee)
{
    const struct py_prog *p = r->p;
    uint32_t count, base;
    const uint32_t *item = py_val_items(p, &callee->val, &count);

    for (uint32_t i = 0; i < count; i++) {
        enum py_val_kind kind = py_val_kind(item[i]);

        if (kind == PY_V_OBJECT || kind == PY_V_SELF)
            return true;
        if (kind != PY_V_HOLDER)
            return false;
    }
    if (callee->kind == PY_N_SUB) {
        base = p->nodes.at[callee->base].val;
        return !py_val_has(p, base, PY_V_FUNCTION) &&
               !py_val_has(p, base, PY_V_IMPORT);
    }
    if (callee->kind == PY_N_ATTR) {
        base = p->nodes.at[callee->base].val;
        return py_val_has(p, base, PY_V_SELF) || p->assigned[callee->name];
    }
    return true;
}

static void call_edges(struct reach *r, const struct py_node *n)
{
    const struct py_prog *p = r->p;
    const struct py_node *callee = &p->nodes.at[py_bare(p, n->base)];

    if (!is_opaque(r, callee))
        return;
    if (r->methods[PY_W_forward])
        add_edge(r, n->body, EDGE_NAME, PY_W_forward, true);
    if (r->methods[PY_W___call__])
        add_edge(r, n->body, EDGE_NAME, PY_W___call__, true);
    if (callee->slot &&
        p->bodies.at[p->slots.at[callee->slot].param].is_classmethod)
        add_edge(r, n->body, EDGE_CLASS, p->bodies.at[n->body].in_cls, true);
}

/* A decorator of another module is taken to wrap the function under its name;
 * one of this file may keep it anywhere. */
static bool is_own(const struct py_prog *p, uint32_t node)
{
    const struct py_node *n = &p->nodes.at[py_bare(p, node)];

    if (n->kind == PY_N_CALL)
        n = &p->nodes.at[py_bare(p, n->base)];
    return !py_val_has(p, n->val, PY_V_BUILTIN) &&
           !py_val_has(p, n->val, PY_V_IMPORT);
}

static void decorator_edges(struct reach *r, uint32_t body)
{
    struct py_prog *p = r->p;
    struct py_body *b = &p->bodies.at[body];

    for (uint32_t i = 0; i < b->deco_count; i++) {
        uint32_t deco = py_bare(p, p->decos.at[b->decos + i]);
        const struct py_node *n = &p->nodes.at[deco];

        if (is_kernel_name(r, deco) ||
            (n->kind == PY_N_CALL && is_kernel_name(r, n->base)))
            b->kernel = true;
    }
    for (uint32_t i = 0; i < b->deco_count && !b->kernel && !b->cls; i++)
        if (is_own(p, p->decos.at[b->decos + i]))
            add_edge(r, b->parent, EDGE_BODY, body, false);
}

/* Functions handed to a kernel decorator by a call; the arguments of super(). */
static void flag_arguments(struct reach *r, const struct py_node *call)
{
    struct py_prog *p = r->p;
    bool super =
        p->nodes.at[call->base].val == py_val(PY_V_BUILTIN, PY_W_super);

    if (!super && !is_kernel_name(r, call->base))
        return;
    for (uint32_t t = call->tok + 1; t < call->end; t++) {
        struct py_node *n = &p->nodes.at[p->prim[t]];

        if (!p->prim[t])
            continue;
        n->flags |= super ? PY_F_QUIET : PY_F_KERNEL;
        t = n->end;
    }
}

static void make_edges(struct reach *r)
{
    struct py_prog *p = r->p;

    for (uint32_t i = 1; i < p->bodies.len; i++)
        if (!p->bodies.at[i].lambda)
            decorator_edges(r, i);
    for (uint32_t i = 1; i < p->nodes.len; i++) {
        const struct py_node *n = &p->nodes.at[i];

        if (n->kind == PY_N_CALL)
            flag_arguments(r, n);
    }
    for (uint32_t i = 1; i < p->nodes.len; i++) {
        const struct py_node *n = &p->nodes.at[i];

        if (n->kind == PY_N_NAME)
            name_edges(r, n);
        else if (n->kind == PY_N_ATTR)
            attr_edges(r, n);
        else if (n->kind == PY_N_CALL)
            call_edges(r, n);
    }
}

/* ---- roots ---------------------------------------------------------------- */

static void mark_tensors(struct py_prog *p, uint32_t body)
{
    uint32_t b = p->bodies.at[body].params;

    for (; b; b = p->bindings.at[b].next)
        if (!p->bindings.at[b].self && !p->bindings.at[b].scalar)
            p->slots.at[p->bindings.at[b].slot].tensor = true;
}

/* ModelNew and the classes of this file it is made from. */
static void root_class(struct reach *r, uint32_t cls)
{
    struct py_prog *p = r->p;
    PY_VEC(uint32_t) todo = {0};

    *PY_PUSH(p->a, todo) = cls;
    while (todo.len) {
        struct py_class *k = &p->classes.at[todo.at[--todo.len]];

        if (k->root)
            continue;
        k->root = true;
        make_live(r, (uint32_t)(k - p->classes.at));
        for (uint32_t m = k->methods; m; m = p->bodies.at[m].method) {
            uint32_t name = p->bodies.at[m].name;

            if (name == PY_W___init__)
                add(r, m, PY_C_INIT);
            else if (name == PY_W_forward || is_dunder(p, name))
                add(r, m, PY_C_FORWARD);
            else
                *PY_PUSH(p->a, r->others) = m;
            if (name == PY_W_forward)
                mark_tensors(p, m);
        }
        for (uint32_t i = 0; i < k->base_count; i++) {
            uint32_t n;
            const uint32_t *item =
                base_items(p, &p->bases.at[k->bases + i], &n);

            for (uint32_t j = 0; j < n; j++)
                if (py_val_kind(item[j]) == PY_V_CLASS)
                    *PY_PUSH(p->a, todo) = py_val_ref(item[j]);
        }
    }
}

static bool add_roots(struct reach *r)
{
    struct py_prog *p = r->p;
    bool found = false;

    for (uint32_t c = 1; c < p->classes.len; c++) {
        const struct py_class *k = &p->classes.at[c];

        if (k->name == PY_W_ModelNew && k->body == 0 &&
            p->scopes.at[k->scope].parent == 0) {
            root_class(r, c);
            found = true;
        }
    }
    return found;
}

static void finish_work(struct reach *r)
{
    while (r->work.len) {
        struct work w = r->work.at[--r->work.len];

        spread(r, w.body, w.from);
    }
}

void py_reach(struct py_prog *p, const uint32_t *kernel_decorators,
              uint32_t count)
{
    struct reach r = {
        .p = p, .kernels = kernel_decorators, .kernel_count = count};
    uint32_t names = p->names.len;

    r.methods = arena_alloc(p->a, names * sizeof(*r.methods));
    r.named = arena_alloc(p->a, names * sizeof(*r.named));
    (void)PY_PUSH(p->a, r.edges);
    for (uint32_t i = 1; i < p->bodies.len; i++) {
        struct py_body *b = &p->bodies.at[i];

        if (b->cls) {
            b->namesake = r.methods[b->name];
            r.methods[b->name] = i;
        }
    }
    make_edges(&r);
    for (uint32_t i = 0; i < p->bodies.len; i++)
        if (!p->bodies.at[i].name && !p->bodies.at[i].lambda)
            add(&r, i, PY_C_MODULE); /* the module and its main program */
    if (!add_roots(&r))
        for (uint32_t i = 1; i < p->bodies.len; i++)
            if (!p->bodies.at[i].reached)
                add(&r, i, PY_C_FORWARD);
    finish_work(&r);
    /* Methods that nothing mentions may be called from outside. */
    for (uint32_t i = 0; i < r.others.len; i++)
        if (!p->bodies.at[r.others.at[i]].reached)
            add(&r, r.others.at[i], PY_C_FORWARD);
    finish_work(&r);
}

enum py_context py_context(const struct py_prog *p, uint32_t body)
{
    for (int c = 0; c < PY_C_DEAD; c++)
        if (p->bodies.at[body].reached & (1u << c))
            return (enum py_context)c;
    return PY_C_DEAD;
}
