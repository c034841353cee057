/* py_kept.c: from a call back to what was kept. A stretch of tokens owes a
 * level when something in it is meant, not itself: ops in ops[0](x). A list, a
 * tuple or a dictionary on the way pays it. */
#include "lex/py_kept.h"

#define MAX_FOUND 64

struct stretch {
    uint32_t from, to;
    bool owes;
};

struct answer { /* of a variable, when it was asked for before */
    uint32_t from, count;
};

struct py_kept {
    struct py_prog *p;
    const struct py_origins *o;
    size_t steps; /* that may still be taken */
    uint32_t round;
    uint32_t *slot_round[2], *body_round[2]; /* by what is owed */
    PY_VEC(struct stretch) todo;
    PY_VEC(uint32_t) found; /* of all rounds */
    uint32_t first;         /* of this one */
    PY_VEC(struct answer) answers;
    struct py_table asked;
};

struct py_kept *py_kept_new(const struct py_origins *o)
{
    struct arena *a = o->p->a;
    struct py_kept *k = arena_alloc(a, sizeof(*k));

    k->p = o->p;
    k->o = o;
    k->steps = 64 * (size_t)o->p->len + 4096;
    (void)PY_PUSH(a, k->answers);
    for (int owes = 0; owes < 2; owes++) {
        k->slot_round[owes] =
            arena_alloc(a, o->slots * sizeof(*k->slot_round[0]));
        k->body_round[owes] =
            arena_alloc(a, o->p->bodies.len * sizeof(*k->body_round[0]));
    }
    return k;
}

static bool step(struct py_kept *k)
{
    if (k->steps)
        k->steps--;
    else
        k->p->limited = true;
    return k->steps > 0;
}

static void add_found(struct py_kept *k, uint32_t node)
{
    for (uint32_t i = k->first; i < k->found.len; i++)
        if (k->found.at[i] == node)
            return;
    if (k->found.len - k->first == MAX_FOUND)
        k->p->limited = true;
    else
        *PY_PUSH(k->p->a, k->found) = node;
}

static void queue(struct py_kept *k, uint32_t from, uint32_t to, bool owes)
{
    if (from < to)
        *PY_PUSH(k->p->a, k->todo) = (struct stretch){from, to, owes};
}

/* ---- variables ------------------------------------------------------------- */

static void queue_origins(struct py_kept *k, uint32_t list, bool owes)
{
    for (; list && step(k); list = k->o->list.at[list].next) {
        const struct py_origin *from = &k->o->list.at[list];

        queue(k, from->from, from->to,
              from->kind != PY_O_PUT && (owes || from->kind == PY_O_PART));
    }
}

struct param {
    uint32_t nth, name;
    bool rest, rest_named; /* *args, **kwargs */
};

static bool find_param(const struct py_prog *p, uint32_t slot,
                       struct param *out)
{
    uint32_t b = p->bodies.at[p->slots.at[slot].param].params;

    for (out->nth = 0; b; b = p->bindings.at[b].next, out->nth++) {
        const struct py_binding *at = &p->bindings.at[b];

        if (at->slot != slot)
            continue;
        out->name = at->name;
        out->rest = py_op(p, at->tok - 1, '*');
        out->rest_named = py_is(&p->tok[at->tok - 1], "**");
        return true;
    }
    return false;
}

/* The arguments of one call that the parameter may get. */
static void queue_args(struct py_kept *k, const struct py_origin *args,
                       const struct param *to, bool owes)
{
    const struct py_prog *p = k->p;
    uint32_t nth = args->skip, end;

    for (uint32_t from = args->from; from < args->to && step(k);
         from = end + 1, nth++) {
        bool spread = py_op(p, from, '*') || py_is(&p->tok[from], "**");
        bool fits = spread || nth == to->nth || (to->rest && nth > to->nth);

        end = py_element_end(p, from, args->to);
        if (p->id[from] && py_op(p, from + 1, '=')) {
            fits = p->id[from] == to->name || to->rest_named;
            from += 2;
        }
        if (fits)
            queue(k, from, end,
                  owes && !to->rest && !to->rest_named && !spread);
    }
}

static void queue_slot(struct py_kept *k, uint32_t slot, bool owes)
{
    struct param to;

    if (!slot || slot >= k->o->slots || k->slot_round[owes][slot] == k->round)
        return;
    k->slot_round[owes][slot] = k->round;
    queue_origins(k, k->o->slot[slot], owes);
    if (!k->p->slots.at[slot].param || !find_param(k->p, slot, &to))
        return;
    for (uint32_t list = k->o->passed[k->p->slots.at[slot].param];
         list && step(k); list = k->o->list.at[list].next)
        queue_args(k, &k->o->list.at[list], &to, owes);
}

static void queue_slots(struct py_kept *k, const struct py_node *n, bool owes)
{
    for (uint32_t i = 0; i < py_slot_count(k->p, n); i++)
        queue_slot(k, py_slot_of(k->p, n, i), owes);
}

/* ---- expressions ------------------------------------------------------------ */

/* What a call gives back. Returns the node to go on with, or 0. */
static uint32_t visit_call(struct py_kept *k, const struct py_node *n,
                           bool *owes)
{
    const struct py_prog *p = k->p;
    const struct py_node *callee = &p->nodes.at[py_bare(p, n->base)];
    struct py_callee run[PY_MAX_CALLEES];
    uint32_t count = py_callees(p, n, run);

    for (uint32_t i = 0; i < count; i++) {
        if (k->body_round[*owes][run[i].body] == k->round)
            continue;
        k->body_round[*owes][run[i].body] = k->round;
        queue_origins(k, k->o->returned[run[i].body], *owes);
    }
    if (py_val_kind(callee->val) == PY_V_BUILTIN &&
        py_is_hander(py_val_ref(callee->val)))
        queue(k, n->tok + 1, n->end, false);
    if (py_val_has(p, callee->val, PY_V_IMPORT)) /* functools.partial(f, …) */
        queue(k, n->tok + 1, py_element_end(p, n->tok + 1, n->end), *owes);
    if (callee->kind != PY_N_ATTR || !py_is_keeper(callee->name))
        return 0;
    *owes = true;
    return callee->base;
}

/* `meant`: the node's own value may be called, not only something in it. */
static void visit(struct py_kept *k, uint32_t node, bool owes, bool meant)
{
    const struct py_prog *p = k->p;

    while (node && step(k)) {
        uint32_t bare = py_bare(p, node);
        const struct py_node *n = &p->nodes.at[bare];

        node = 0;
        switch (n->kind) {
        case PY_N_NAME:
            queue_slots(k, n, owes);
            break;
        case PY_N_ATTR:
            if (meant && !owes &&
                !py_val_has(p, p->nodes.at[n->base].val, PY_V_IMPORT))
                add_found(k, bare);
            queue_slots(k, n, owes);
            break;
        case PY_N_SUB:
            if (meant && !owes)
                add_found(k, bare);
            owes = true;
            node = n->base;
            break;
        case PY_N_CALL:
            node = visit_call(k, n, &owes);
            break;
        case PY_N_GROUP:
            queue(k, n->tok + 1, n->end, owes);
            break;
        case PY_N_DISPLAY:
            queue(k, n->tok + 1, n->end, false);
            break;
        default:
            break;
        }
        meant = true;
    }
}

/* Conditions and the keys of a dictionary choose, they do not come out. */
static void visit_stretch(struct py_kept *k, const struct stretch *s)
{
    const struct py_prog *p = k->p;
    bool condition = false;

    for (uint32_t t = s->from; t < s->to && step(k); t++) {
        const struct py_node *n = &p->nodes.at[p->prim[t]];

        if (p->prim[t]) {
            if (!condition &&
                (n->end + 1 >= s->to || !py_op(p, n->end + 1, ':')))
                visit(k, p->prim[t], s->owes, true);
            t = n->end;
        } else if (p->id[t] == PY_W_for) {
            break;
        } else {
            condition =
                p->id[t] == PY_W_if || (condition && p->id[t] != PY_W_else);
        }
    }
}

/* ---- the whole -------------------------------------------------------------- */

/* The one variable that a called node stands for and what it owes, as a key of
 * `asked`; 0: none. *simple says that there is nothing but variables to it. */
static uint64_t key_of(const struct py_prog *p, uint32_t node, bool *simple)
{
    const struct py_node *n = &p->nodes.at[py_bare(p, node)];
    uint32_t slot = 0, count = 0;
    bool owes = false;

    while (n->kind == PY_N_SUB) {
        owes = true;
        n = &p->nodes.at[py_bare(p, n->base)];
    }
    *simple = n->kind == PY_N_NAME || n->kind == PY_N_ATTR;
    for (uint32_t i = 0; *simple && i < py_slot_count(p, n); i++) {
        uint32_t one = py_slot_of(p, n, i);

        count += one != 0;
        slot = one ? one : slot;
    }
    *simple = *simple && count <= 1;
    return slot ? py_pair(owes, slot) : 0;
}

static void search(struct py_kept *k, uint32_t node, bool called)
{
    k->round++;
    k->todo.len = 0;
    k->first = k->found.len;
    visit(k, node, false, !called);
    for (uint32_t i = 0; i < k->todo.len; i++) {
        struct stretch s = k->todo.at[i];

        visit_stretch(k, &s);
    }
}

const uint32_t *py_kept_find(struct py_kept *k, uint32_t node, bool called,
                             uint32_t *count)
{
    bool simple = false;
    uint64_t key = called ? key_of(k->p, node, &simple) : 0;
    uint32_t known = simple && key ? py_table_get(&k->asked, key) : 0;
    const struct answer *a = &k->answers.at[known];

    *count = 0;
    if (simple && !key)
        return NULL; /* no variable of this file */
    if (!known) {
        search(k, node, called);
        known = k->answers.len;
        *PY_PUSH(k->p->a, k->answers) =
            (struct answer){k->first, k->found.len - k->first};
        if (simple)
            py_table_set(&k->asked, k->p->a, key, known);
        a = &k->answers.at[known];
    }
    *count = a->count;
    return a->count ? &k->found.at[a->from] : NULL;
}
