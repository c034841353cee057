/* py_facts.c: the lines of the facts view, in the order of evaluation. */
#include "lex/py_facts.h"

#include "lex/cxx_view.h"
#include "lex/py_kept.h"
#include "lex/py_reach.h"

#include <string.h>

/* A longer line is cut, for its name may be printed often. */
#define MAX_LINE 200
/* Many times what an honest source of any size gives. */
#define MAX_BYTES   ((size_t)8 << 20)
#define FIRST_BYTES ((size_t)1 << 16) /* room for most */

enum fact_kind {
    FACT_IMPORT,
    FACT_CALL,
    FACT_USE,
    FACT_SET,
    FACT_METHOD,
    FACT_SELF,
    FACT_ATTR,
    FACT_DEF,
    FACT_CLASS,
    FACT_BIND,
    FACT_LAUNCH,
    FACT_OPENS,
    FACT_TRY,
    FACT_HOLDER_CALL,
    FACT_OP,
    FACT_CALLRESULT,
    FACT_SUBCLASS,
    FACT_BUILD,
    FACT_LIMIT,
};

static const struct str kinds[] = {
    [FACT_IMPORT] = {" import ", 8},
    [FACT_CALL] = {" call ", 6},
    [FACT_USE] = {" use ", 5},
    [FACT_SET] = {" set ", 5},
    [FACT_METHOD] = {" method ", 8},
    [FACT_SELF] = {" self ", 6},
    [FACT_ATTR] = {" attr ", 6},
    [FACT_DEF] = {" def ", 5},
    [FACT_CLASS] = {" class ", 7},
    [FACT_BIND] = {" bind ", 6},
    [FACT_LAUNCH] = {" launch ", 8},
    [FACT_OPENS] = {" opens ", 7},
    [FACT_TRY] = {" try ", 5},
    [FACT_HOLDER_CALL] = {" holder-call ", 13},
    [FACT_OP] = {" op ", 4},
    [FACT_CALLRESULT] = {" callresult ", 12},
    [FACT_SUBCLASS] = {" subclass ", 10},
    [FACT_BUILD] = {" build ", 7},
    [FACT_LIMIT] = {" limit ", 7},
};

struct names { /* dotted names from the configuration */
    uint32_t *at;
    uint32_t len;
};

struct facts {
    struct py_prog *p;
    struct view_out out;
    struct py_origins origins;
    struct cxx_view *cxx;
    struct py_kept *kept;
    struct names decorators, openers, builds;
    char line[MAX_LINE + sizeof("...\n")];
    size_t len;
    bool cut, full;
};

/* ---- lines ---------------------------------------------------------------- */

static void put(struct facts *f, struct str s)
{
    size_t room = f->cut ? 0 : MAX_LINE - f->len;

    if (s.n > room) {
        f->cut = true;
        while (room && ((unsigned char)s.p[room] & 0xc0) == 0x80)
            room--; /* not inside a character */
        s.n = room;
    }
    memcpy(f->line + f->len, s.p, s.n);
    f->len += s.n;
}

static void put_text(struct facts *f, const char *s)
{
    put(f, str_of(s));
}

static void put_name(struct facts *f, uint32_t name)
{
    put(f, f->p->names.at[name]);
}

static void put_dotted(struct facts *f, uint32_t dotted)
{
    uint32_t path[64], n = 0;

    for (; dotted && n < 64; dotted = f->p->dotted.at[dotted].parent)
        path[n++] = f->p->dotted.at[dotted].name;
    while (n--) {
        put_name(f, path[n]);
        if (n)
            put_text(f, ".");
    }
}

/* Starts a line about code in `body`. */
static void begin(struct facts *f, uint32_t body, enum fact_kind kind)
{
    f->len = 0;
    f->cut = false;
    put_text(f, py_context_names[py_context(f->p, body)]);
    put(f, kinds[kind]);
}

static void end_always(struct facts *f, uint32_t tok)
{
    if (f->cut) {
        memcpy(f->line + f->len, "...", 3);
        f->len += 3;
    }
    f->line[f->len++] = '\n';
    view_put(&f->out, f->line, f->len, f->p->tok[tok].at);
}

static void end(struct facts *f, uint32_t tok)
{
    if (f->out.len > MAX_BYTES)
        f->full = true;
    else
        end_always(f, tok);
}

static void fact(struct facts *f, uint32_t body, uint32_t tok,
                 enum fact_kind kind, const char *name)
{
    begin(f, body, kind);
    put_text(f, name);
    end(f, tok);
}

static void fact_name(struct facts *f, uint32_t body, uint32_t tok,
                      enum fact_kind kind, uint32_t name)
{
    begin(f, body, kind);
    put_name(f, name);
    end(f, tok);
}

static void fact_dotted(struct facts *f, uint32_t body, uint32_t tok,
                        enum fact_kind kind, uint32_t dotted)
{
    begin(f, body, kind);
    put_dotted(f, dotted);
    end(f, tok);
}

/* A line for each imported or built-in meaning of a value. */
static void fact_each(struct facts *f, const struct py_node *n,
                      enum fact_kind kind, uint32_t val)
{
    uint32_t count;
    const uint32_t *item = py_val_items(f->p, &val, &count);

    for (uint32_t i = 0; i < count; i++) {
        if (py_val_kind(item[i]) == PY_V_IMPORT)
            fact_dotted(f, n->body, n->start, kind, py_val_ref(item[i]));
        if (py_val_kind(item[i]) == PY_V_BUILTIN)
            fact_name(f, n->body, n->start, kind, py_val_ref(item[i]));
    }
}

static bool has(const struct facts *f, uint32_t val, enum py_val_kind kind)
{
    return py_val_has(f->p, val, kind);
}

static bool in_names(const struct names *n, uint32_t dotted)
{
    for (uint32_t i = 0; i < n->len; i++)
        if (n->at[i] == dotted)
            return true;
    return false;
}

/* ---- names, attributes, items --------------------------------------------- */

/* How a node is used in the end: parentheses change nothing. */
static uint8_t use_of(const struct facts *f, const struct py_node *n)
{
    while (n->use == PY_N_GROUP && n->user)
        n = &f->p->nodes.at[n->user];
    if (n->use == PY_N_SUB && n->user &&
        f->p->nodes.at[n->user].flags & PY_F_STORE)
        return PY_N_CALL; /* a line of its own says `set` */
    return n->use;
}

/* A build call that is handed on, not just given another name, may be called
 * with anything. */
static void build_use(struct facts *f, const struct py_node *n)
{
    const struct py_prog *p = f->p;
    enum py_kind after = p->tok[n->end + 1].kind;
    uint32_t count;
    const uint32_t *item = py_val_items(p, &n->val, &count);

    if (n->start && py_op(p, n->start - 1, '=') &&
        (after == PY_NEWLINE || py_op(p, n->end + 1, ';')))
        return;
    for (uint32_t i = 0; i < count; i++)
        if (py_val_kind(item[i]) == PY_V_IMPORT &&
            in_names(&f->builds, py_val_ref(item[i])))
            fact(f, n->body, n->start, FACT_BUILD, "computed");
}

static void name_facts(struct facts *f, const struct py_node *n)
{
    uint8_t use = use_of(f, n);

    if (n->flags & PY_F_STORE || use == PY_N_CALL)
        return;
    if (has(f, n->val, PY_V_IMPORT) && use == PY_N_ATTR)
        return;
    if (!n->slot && n->flags & (PY_F_NOTE | PY_F_QUIET))
        return;
    fact_each(f, n, FACT_USE, n->val);
    build_use(f, n);
}

static void attr_facts(struct facts *f, const struct py_node *n)
{
    uint8_t use = use_of(f, n);

    if (has(f, f->p->nodes.at[n->base].val, PY_V_IMPORT)) {
        if (n->flags & PY_F_STORE)
            fact_each(f, n, FACT_SET, n->val);
        else if (use != PY_N_CALL && use != PY_N_ATTR) {
            fact_each(f, n, FACT_USE, n->val);
            build_use(f, n);
        }
        return;
    }
    if (n->flags & PY_F_STORE || use == PY_N_CALL)
        return;
    fact_name(f, n->body, n->tok, FACT_ATTR, n->name);
    if (use != PY_N_ATTR) {
        fact_each(f, n, FACT_USE, n->val);
        build_use(f, n);
    }
}

/* ---- calls ---------------------------------------------------------------- */

/* getattr(torch, …) and its like say what they look into. */
static void builtin_call(struct facts *f, uint32_t call, uint32_t name)
{
    const struct py_node *n = &f->p->nodes.at[call];
    bool looks = name == PY_W_getattr || name == PY_W_setattr ||
                 name == PY_W_delattr || name == PY_W_vars;
    uint32_t arg = looks ? py_first_arg(f->p, call) : 0, count;
    const uint32_t *item = py_val_items(f->p, &f->p->nodes.at[arg].val, &count);
    bool said = false;

    for (uint32_t i = 0; i < count; i++) {
        enum py_val_kind kind = py_val_kind(item[i]);

        if (kind != PY_V_IMPORT && kind != PY_V_SELF)
            continue;
        begin(f, n->body, FACT_CALL);
        put_name(f, name);
        put_text(f, kind == PY_V_SELF ? " self" : " ");
        if (kind == PY_V_IMPORT)
            put_dotted(f, py_val_ref(item[i]));
        end(f, n->start);
        said = true;
    }
    if (!said)
        fact_name(f, n->body, n->start, FACT_CALL, name);
}

static uint32_t count_args(const struct py_prog *p, const struct py_node *call)
{
    uint32_t count = 0;
    bool fresh = true;

    for (uint32_t t = call->tok + 1; t < call->end; t++) {
        bool comma = !p->prim[t] && py_is(&p->tok[t], ",");

        if (py_is(&p->tok[t], "*"))
            return PY_MANY;
        count += fresh && !comma;
        fresh = comma;
        if (p->prim[t])
            t = p->nodes.at[p->prim[t]].end;
    }
    return count;
}

static void imported_call(struct facts *f, uint32_t call, uint32_t dotted)
{
    const struct py_node *n = &f->p->nodes.at[call];
    bool runs = py_context(f->p, n->body) != PY_C_DEAD, known;

    fact_dotted(f, n->body, n->start, FACT_CALL, dotted);
    if (!in_names(&f->builds, dotted))
        return;
    known = cxx_view_add(f->cxx, call, runs);
    fact(f, n->body, n->start, FACT_BUILD, known ? "literal" : "computed");
}

/* self.NAME is no method of a tensor where the class, or a relative, defines
 * NAME or keeps nothing but things of this file there. A `self` that is also
 * assigned to may be anything. */
static enum fact_kind method_kind(const struct facts *f,
                                  const struct py_node *attr)
{
    const struct py_prog *p = f->p;
    const struct py_node *base = &p->nodes.at[py_bare(p, attr->base)];
    const struct py_slot *of = &p->slots.at[base->slot];
    uint32_t slot;

    if (base->kind != PY_N_NAME || of->binds != 1 ||
        !(of->self ? py_val_kind(base->val) == PY_V_SELF
                   : of->cls && py_val_kind(base->val) == PY_V_CLASS))
        return FACT_METHOD;
    slot = py_slot_of(p, attr, 0);
    return p->slots.at[slot].member ||
                   (of->self && py_holds_own(&f->origins, slot))
               ? FACT_SELF
               : FACT_METHOD;
}

/* What a called holder goes by: lin in self.lin(x), layers in
 * self.layers[0].forward(x), ReLU in nn.ReLU()(x). */
static uint32_t holder_name(const struct py_prog *p, uint32_t node)
{
    const struct py_node *n = &p->nodes.at[node];

    for (;;) {
        const struct py_node *base = &p->nodes.at[n->base];

        if (n->kind == PY_N_NAME || n->kind == PY_N_LAMBDA || !n->base)
            return n->name;
        if (n->kind == PY_N_ATTR && !py_val_has(p, base->val, PY_V_HOLDER))
            return n->name;
        n = base;
    }
}

static void holder_fact(struct facts *f, const struct py_node *call,
                        uint32_t callee)
{
    uint32_t name = holder_name(f->p, callee);

    begin(f, call->body, FACT_HOLDER_CALL);
    if (name)
        put_name(f, name);
    else
        put_text(f, "?");
    end(f, call->start);
}

/* name[…](…) starts a kernel, under the name it was defined by. */
static void launch_fact(struct facts *f, const struct py_node *call,
                        const struct py_node *sub)
{
    const struct py_prog *p = f->p;
    const struct py_node *n = &p->nodes.at[py_bare(p, sub->base)];
    uint32_t count;
    const uint32_t *item = py_val_items(p, &n->val, &count);
    bool said = false;

    if ((n->kind != PY_N_NAME && n->kind != PY_N_ATTR) ||
        py_context(p, call->body) == PY_C_KERNEL ||
        has(f, n->val, PY_V_HOLDER) || has(f, n->val, PY_V_BUILTIN) ||
        has(f, n->val, PY_V_CLASS))
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t name = py_val_kind(item[i]) == PY_V_FUNCTION
                            ? p->bodies.at[py_val_ref(item[i])].name
                            : 0;

        if (name)
            fact_name(f, call->body, call->start, FACT_LAUNCH, name);
        said = said || name == n->name || (name && n->kind == PY_N_NAME);
    }
    if (!said)
        fact_name(f, call->body, call->start, FACT_LAUNCH, n->name);
}

/* What was kept somewhere and is called here. */
static void kept_facts(struct facts *f, const struct py_node *call,
                       uint32_t node, bool called)
{
    const struct py_prog *p = f->p;
    uint32_t count;
    const uint32_t *found = py_kept_find(f->kept, node, called, &count);

    for (uint32_t i = 0; i < count; i++) {
        const struct py_node *n = &p->nodes.at[found[i]];

        if (n->kind == PY_N_SUB)
            launch_fact(f, call, n);
        else if (!has(f, n->val, PY_V_METHODS) &&
                 !has(f, n->val, PY_V_FUNCTION))
            fact_name(f, call->body, call->start, method_kind(f, n), n->name);
    }
}

/* Whether a call calls its first argument. */
static bool calls_first(const struct py_prog *p, uint32_t item)
{
    uint32_t name = py_val_ref(item);

    if (py_val_kind(item) == PY_V_BUILTIN)
        return name == PY_W_map || name == PY_W_filter;
    if (py_val_kind(item) != PY_V_IMPORT)
        return false;
    name = p->dotted.at[name].name;
    return name == PY_W_reduce || name == PY_W_starmap;
}

/* Calls of a thing that has neither an imported nor a local meaning. */
static void plain_call(struct facts *f, const struct py_node *n,
                       const struct py_node *callee)
{
    const struct py_prog *p = f->p;
    const struct py_node *inner = &p->nodes.at[callee->base];

    if (callee->kind == PY_N_ATTR && !has(f, inner->val, PY_V_IMPORT))
        fact_name(f, callee->body, callee->tok, method_kind(f, callee),
                  callee->name);
    if (callee->kind == PY_N_SUB)
        launch_fact(f, n, callee);
    if (callee->kind == PY_N_CALL &&
        inner->val == py_val(PY_V_BUILTIN, PY_W_getattr))
        fact(f, n->body, n->start, FACT_CALLRESULT, "getattr");
    if (callee->kind == PY_N_NAME && callee->slot &&
        !p->slots.at[callee->slot].defs && !has(f, callee->val, PY_V_IMPORT) &&
        !has(f, callee->val, PY_V_BUILTIN) &&
        !has(f, callee->val, PY_V_FUNCTION) && !has(f, callee->val, PY_V_CLASS))
        fact_name(f, n->body, n->start, FACT_CALL, callee->name);
}

static void call_facts(struct facts *f, uint32_t call)
{
    const struct py_prog *p = f->p;
    const struct py_node *n = &p->nodes.at[call];
    uint32_t bare = py_bare(p, n->base), val = p->nodes.at[bare].val, count;
    const uint32_t *item = py_val_items(p, &val, &count);

    plain_call(f, n, &p->nodes.at[bare]);
    kept_facts(f, n, bare, true);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t ref = py_val_ref(item[i]);

        if (calls_first(p, item[i]) && py_first_arg(p, call))
            kept_facts(f, n, py_first_arg(p, call), false);

        if (py_val_kind(item[i]) == PY_V_IMPORT)
            imported_call(f, call, ref);
        if (py_val_kind(item[i]) == PY_V_BUILTIN)
            builtin_call(f, call, ref);
        if (item[i] == py_val(PY_V_BUILTIN, PY_W_type) && count_args(p, n) >= 3)
            fact(f, n->body, n->start, FACT_SUBCLASS, "type");
        if (py_val_kind(item[i]) == PY_V_HOLDER)
            holder_fact(f, n, bare);
    }
}

/* ---- statements ----------------------------------------------------------- */

/* A decorator or base by its resolved name, or as it is written. */
static void put_node(struct facts *f, uint32_t node)
{
    const struct py_prog *p = f->p;
    const struct py_node *n = &p->nodes.at[py_bare(p, node)];
    uint32_t path[16], len = 0, count;
    const uint32_t *item;

    while ((n->kind == PY_N_CALL || n->kind == PY_N_SUB) && n->base)
        n = &p->nodes.at[py_bare(p, n->base)];
    item = py_val_items(p, &n->val, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (py_val_kind(item[i]) == PY_V_IMPORT) {
            put_dotted(f, py_val_ref(item[i]));
            return;
        }
    }
    for (; n->kind == PY_N_ATTR && len < 16; n = &p->nodes.at[n->base])
        path[len++] = n->name;
    if (n->kind == PY_N_NAME)
        put_name(f, n->name);
    else
        put_text(f, "?");
    while (len--) {
        put_text(f, ".");
        put_name(f, path[len]);
    }
}

static void class_fact(struct facts *f, const struct py_event *e)
{
    const struct py_prog *p = f->p;
    const struct py_class *k = &p->classes.at[e->ref];

    begin(f, e->body, FACT_CLASS);
    put_name(f, k->name);
    put_text(f, "(");
    for (uint32_t i = 0; i < k->base_count; i++) {
        const struct py_base *b = &p->bases.at[k->bases + i];
        uint32_t node = b->from < b->to ? p->prim[b->from] : 0;

        if (i)
            put_text(f, ",");
        if (b->keyword) {
            put_name(f, b->keyword);
            put_text(f, "=");
        }
        if (node && p->nodes.at[node].end + 1 == b->to)
            put_node(f, node);
        else
            put_text(f, "?");
    }
    put_text(f, ")");
    end(f, e->tok);
}

static void def_facts(struct facts *f, const struct py_event *e)
{
    const struct py_body *b = &f->p->bodies.at[e->ref];

    if (!b->deco_count)
        fact_name(f, e->ref, e->tok, FACT_DEF, b->name);
    for (uint32_t i = 0; i < b->deco_count; i++) {
        begin(f, e->ref, FACT_DEF);
        put_name(f, b->name);
        put_text(f, " @");
        put_node(f, f->p->decos.at[b->decos + i]);
        end(f, e->tok);
    }
}

static bool is_tensor(const struct py_prog *p, uint32_t node)
{
    const struct py_node *n = &p->nodes.at[py_bare(p, node)];

    return n->kind == PY_N_NAME && n->slot && p->slots.at[n->slot].tensor;
}

static void arith_fact(struct facts *f, const struct py_event *e)
{
    const struct py_prog *p = f->p;

    if (py_context(p, e->body) != PY_C_FORWARD ||
        (p->nodes.at[e->ref].flags & PY_F_STRING &&
         py_is(&p->tok[e->tok], "%")))
        return;
    if (is_tensor(p, e->ref) || is_tensor(p, p->prim[e->tok + 1]))
        fact(f, e->body, e->tok, FACT_OP, "arith");
}

static void with_fact(struct facts *f, const struct py_event *e)
{
    const struct py_node *call = &f->p->nodes.at[e->ref];
    uint32_t count;
    const uint32_t *item =
        py_val_items(f->p, &f->p->nodes.at[call->base].val, &count);

    for (uint32_t i = 0; i < count; i++)
        if (py_val_kind(item[i]) == PY_V_IMPORT &&
            in_names(&f->openers, py_val_ref(item[i])))
            fact_dotted(f, e->body, e->tok, FACT_OPENS, py_val_ref(item[i]));
}

static void event_facts(struct facts *f, const struct py_event *e)
{
    switch (e->kind) {
    case PY_E_IMPORT:
        begin(f, e->body, FACT_IMPORT);
        put_dotted(f, e->ref);
        if (e->star)
            put_text(f, ".*");
        end(f, e->tok);
        break;
    case PY_E_DEF:
        def_facts(f, e);
        break;
    case PY_E_CLASS:
        class_fact(f, e);
        break;
    case PY_E_TRY:
        fact(f, e->body, e->tok, FACT_TRY, e->ref ? "import" : "other");
        break;
    case PY_E_WITH:
        with_fact(f, e);
        break;
    case PY_E_MATMUL:
        if (py_context(f->p, e->body) != PY_C_KERNEL)
            fact(f, e->body, e->tok, FACT_OP, "@");
        break;
    case PY_E_ARITH:
        arith_fact(f, e);
        break;
    }
}

/* Something else takes the name of a class of this module. */
static void bind_fact(struct facts *f, const struct py_binding *b)
{
    const struct py_slot *s = &f->p->slots.at[b->slot];

    if (s->scope == 0 && b->kind != PY_B_CLASS &&
        (s->cls || b->name == PY_W_ModelNew))
        fact_name(f, b->body, b->tok, FACT_BIND, b->name);
}

static void node_facts(struct facts *f, uint32_t i)
{
    const struct py_node *n = &f->p->nodes.at[i];

    switch (n->kind) {
    case PY_N_NAME:
        name_facts(f, n);
        break;
    case PY_N_ATTR:
        attr_facts(f, n);
        break;
    case PY_N_CALL:
        call_facts(f, i);
        break;
    case PY_N_SUB:
        if (n->flags & PY_F_STORE &&
            has(f, f->p->nodes.at[n->base].val, PY_V_IMPORT))
            fact_each(f, n, FACT_SET, f->p->nodes.at[n->base].val);
        break;
    default:
        break;
    }
}

/* Said even when nothing else has room. */
static void limit_fact(struct facts *f, const char *what)
{
    begin(f, 0, FACT_LIMIT);
    put_text(f, what);
    end_always(f, 0);
}

static void all_facts(struct facts *f)
{
    const struct py_prog *p = f->p;
    uint32_t e = 0, b = 1;

    for (uint32_t i = 1; i <= p->nodes.len; i++) {
        for (; e < p->events.len && p->events.at[e].node_at <= i; e++)
            if (!py_is_script(p, p->events.at[e].body))
                event_facts(f, &p->events.at[e]);
        for (; b < p->bindings.len && p->bindings.at[b].node_at <= i; b++)
            if (!py_is_script(p, p->bindings.at[b].body))
                bind_fact(f, &p->bindings.at[b]);
        if (i < p->nodes.len && !py_is_script(p, p->nodes.at[i].body))
            node_facts(f, i);
    }
    if (p->limited)
        limit_fact(f, "aliases");
    if (f->full)
        limit_fact(f, "length");
}

/* ---- the whole ------------------------------------------------------------ */

static struct names read_names(struct py_prog *p, const char *const *list)
{
    struct names n = {0};
    uint32_t count = 0;

    while (list && list[count])
        count++;
    n.at = arena_alloc(p->a, (count + 1) * sizeof(*n.at));
    for (; n.len < count; n.len++) {
        struct str rest = str_of(list[n.len]), part;
        uint32_t path = 0;

        while (str_cut(&rest, '.', &part))
            path = py_dotted(p, path, py_intern(p, part));
        n.at[n.len] = py_dotted(p, path, py_intern(p, rest));
    }
    return n;
}

void py_facts(struct view *facts, struct view *cxx, struct str src,
              const struct py_tokens *t, const struct py_facts_config *cfg,
              struct arena *a)
{
    struct py_prog p;
    struct facts f = {.p = &p, .out = {.a = a}};

    py_prog_init(&p, src, t, a);
    f.decorators = read_names(&p, cfg->kernel_decorators);
    f.openers = read_names(&p, cfg->kernel_openers);
    f.builds = read_names(&p, cfg->build_calls);
    py_walk(&p);
    py_scope_resolve(&p);
    py_names_resolve(&p);
    py_reach(&p, f.decorators.at, f.decorators.len);
    py_origins_find(&f.origins, &p);
    f.cxx = cxx_view_new(&f.origins, a);
    f.kept = py_kept_new(&f.origins);
    f.out.cap = (src.n < FIRST_BYTES ? src.n : FIRST_BYTES) + 64;
    f.out.data = arena_alloc(a, f.out.cap);
    f.out.origin = arena_alloc(a, f.out.cap * sizeof(*f.out.origin));
    all_facts(&f);
    view_done(facts, &f.out);
    cxx_view_done(f.cxx, cxx);
}
