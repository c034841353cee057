/* py_scope.c: name ids, dotted names, and which name means which variable. */
#include "lex/py_scope.h"

#include <string.h>

/* Longer paths are cut: nobody writes one, and each may be printed often. */
#define MAX_SEGMENTS 40

void *py_vec_grow(struct arena *a, void *at, uint32_t *cap, size_t size)
{
    uint32_t len = *cap;
    void *more;

    *cap = len ? len * 2 : 32;
    more = arena_alloc(a, *cap * size);
    if (len)
        memcpy(more, at, len * size);
    return more;
}

/* ---- tables --------------------------------------------------------------- */

static uint32_t table_slot(const struct py_table *t, uint64_t key)
{
    uint32_t i = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (t->cap - 1);

    while (t->val[i] && t->key[i] != key)
        i = (i + 1) & (t->cap - 1);
    return i;
}

uint32_t py_table_get(const struct py_table *t, uint64_t key)
{
    return t->cap ? t->val[table_slot(t, key)] : 0;
}

void py_table_set(struct py_table *t, struct arena *a, uint64_t key,
                  uint32_t val)
{
    uint32_t i;

    if ((t->len + 1) * 2 > t->cap) {
        struct py_table old = *t;

        t->cap = old.cap ? old.cap * 2 : 256;
        t->key = arena_alloc(a, t->cap * sizeof(*t->key));
        t->val = arena_alloc(a, t->cap * sizeof(*t->val));
        for (i = 0; i < old.cap; i++) {
            if (old.val[i]) {
                uint32_t to = table_slot(t, old.key[i]);

                t->key[to] = old.key[i];
                t->val[to] = old.val[i];
            }
        }
    }
    i = table_slot(t, key);
    if (!t->val[i])
        t->len++;
    t->key[i] = key;
    t->val[i] = val;
}

static uint64_t load(const char *p, size_t n)
{
    uint64_t word = 0;

    memcpy(&word, p, n);
    return word;
}

/* A number that differs between any two names of one length up to 8, and mostly
 * between longer ones: names are short and looked up once for each token. */
static uint64_t name_key(struct str s)
{
    uint64_t h = 0;

    for (; s.n > 8; s.p += 8, s.n -= 8) {
        h = (h ^ load(s.p, 8)) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    if (s.n == 8)
        return h ^ load(s.p, 8);
    if (s.n >= 4) /* the middle twice */
        return h ^ (load(s.p, 4) | load(s.p + s.n - 4, 4) << 32);
    if (s.n >= 2)
        return h ^ (load(s.p, 2) | load(s.p + s.n - 2, 2) << 16);
    return s.n ? h ^ load(s.p, 1) : h;
}

static uint32_t name_place(const struct py_prog *p, struct str text,
                           uint64_t key)
{
    uint32_t mask = p->name_index_len - 1, id;
    uint64_t hash = (key + text.n) * 0x9e3779b97f4a7c15u;

    for (uint32_t i = (uint32_t)(hash >> 32) & mask;; i = (i + 1) & mask) {
        id = p->name_index[i];
        if (!id || (p->name_key.at[id] == key && p->names.at[id].n == text.n &&
                    (text.n <= 8 || str_same(p->names.at[id], text))))
            return i;
    }
}

static void grow_names(struct py_prog *p)
{
    p->name_index_len = p->name_index_len ? p->name_index_len * 2 : 2048;
    p->name_index =
        arena_alloc(p->a, p->name_index_len * sizeof(*p->name_index));
    for (uint32_t n = 1; n < p->names.len; n++)
        p->name_index[name_place(p, p->names.at[n], p->name_key.at[n])] = n;
}

uint32_t py_intern(struct py_prog *p, struct str text)
{
    uint64_t key = name_key(text);
    uint32_t i;

    if ((p->names.len + 1) * 2 > p->name_index_len)
        grow_names(p);
    i = name_place(p, text, key);
    if (!p->name_index[i]) {
        p->name_index[i] = p->names.len;
        *PY_PUSH(p->a, p->names) = text;
        *PY_PUSH(p->a, p->name_key) = key;
    }
    return p->name_index[i];
}

static void skip_name(struct py_prog *p)
{
    (void)PY_PUSH(p->a, p->names);
    (void)PY_PUSH(p->a, p->name_key);
}

void py_prog_init(struct py_prog *p, struct str src, const struct py_tokens *t,
                  struct arena *a)
{
    static const char *const words[] = {
#define X(word) #word,
        PY_KEYWORDS(X) "", PY_WORDS(X) "", PY_KEEPERS(X) "", PY_TAKERS(X) "",
        PY_HANDERS(X) "",  PY_NN_DATA(X)
#undef X
    };

    *p = (struct py_prog){
        .a = a, .src = src, .tok = t->tok, .len = (uint32_t)t->len};
    skip_name(p);
    (void)PY_PUSH(a, p->dotted);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i][0])
            py_intern(p, str_of(words[i]));
        else
            skip_name(p); /* the place of a group's end */
    }
}

uint32_t py_dotted(struct py_prog *p, uint32_t parent, uint32_t name)
{
    uint64_t key = py_pair(parent, name);
    uint32_t id = py_table_get(&p->dotted_index, key);
    const struct py_dotted *up = &p->dotted.at[parent];
    struct py_dotted new;

    if (id)
        return id;
    if (parent && up->depth == MAX_SEGMENTS)
        return parent;
    /* torch.nn.functional.torch is torch again */
    if (parent && name == PY_W_torch && p->dotted.at[up->root].name == name)
        return up->root;
    id = p->dotted.len;
    new = (struct py_dotted){parent, name, id, 1, false};
    if (parent) {
        new.root = up->root;
        new.depth = up->depth + 1;
        new.in_nn = up->in_nn || (name == PY_W_nn && up->depth == 1 &&
                                  up->name == PY_W_torch);
    }
    *PY_PUSH(p->a, p->dotted) = new;
    py_table_set(&p->dotted_index, p->a, key, id);
    return id;
}

/* ---- variables ------------------------------------------------------------ */

static uint32_t make_slot(struct py_prog *p, uint32_t scope, uint32_t name)
{
    uint64_t key = py_pair(scope, name);
    uint32_t id = py_table_get(&p->slot_index, key);
    struct py_slot *s;

    if (id && id != PY_MANY)
        return id;
    id = p->slots.len;
    s = PY_PUSH(p->a, p->slots);
    s->name = name;
    s->scope = scope;
    if (p->scopes.at[scope].kind == PY_S_CLASS) {
        s->member = true;
        *PY_PUSH(p->a, p->class_slots) = id;
    }
    py_table_set(&p->slot_index, p->a, key, id);
    p->name_slot[name] = p->name_slot[name] ? PY_MANY : id;
    return id;
}

uint32_t py_member(struct py_prog *p, uint32_t family, uint32_t name, bool make)
{
    uint64_t key = py_pair(family, name);
    uint32_t id = py_table_get(&p->member_index, key);
    struct py_slot *s;

    if (id || !make)
        return id;
    id = p->slots.len;
    s = PY_PUSH(p->a, p->slots);
    s->name = name;
    py_table_set(&p->member_index, p->a, key, id);
    return id;
}

/* The variable `name` means in `scope`. A class is seen only from itself. What
 * was found is kept under the scope that asked, so that deep nesting is walked
 * once for each name. */
static uint32_t lookup(struct py_prog *p, uint32_t scope, uint32_t name)
{
    uint32_t id = p->name_slot[name], at = scope;

    if (!id || (id != PY_MANY && p->slots.at[id].scope == 0))
        return id;
    for (;;) {
        id = py_table_get(&p->slot_index, py_pair(at, name));
        if (id && (at == scope || p->scopes.at[at].kind != PY_S_CLASS))
            break;
        if (at == 0) {
            id = PY_MANY;
            break;
        }
        at = p->scopes.at[at].parent;
    }
    if (at != scope || id == PY_MANY)
        py_table_set(&p->slot_index, p->a, py_pair(scope, name), id);
    return id == PY_MANY ? 0 : id;
}

/* `global x` sends the scope's x to the module, `nonlocal x` to the nearest
 * function round it that has one. */
static void apply_decls(struct py_prog *p)
{
    for (uint32_t i = 0; i < p->decls.len; i++) {
        const struct py_decl *d = &p->decls.at[i];
        uint32_t up = d->global ? 0 : p->scopes.at[d->scope].parent, slot;

        if (d->scope == 0)
            continue;
        while (up && p->scopes.at[up].kind == PY_S_CLASS)
            up = p->scopes.at[up].parent;
        slot = lookup(p, up, d->name);
        if (!slot)
            slot = d->global ? PY_MANY : make_slot(p, d->scope, d->name);
        py_table_set(&p->slot_index, p->a, py_pair(d->scope, d->name), slot);
    }
}

static void bind_slots(struct py_prog *p, const struct py_table *decls)
{
    for (uint32_t i = 1; i < p->bindings.len; i++) {
        struct py_binding *b = &p->bindings.at[i];

        if (py_is_script(p, b->body))
            continue; /* nothing of it hides a built-in name */
        switch (py_table_get(decls, py_pair(b->scope, b->name))) {
        case 0:
            b->slot = make_slot(p, b->scope, b->name);
            break;
        case 1: /* global */
            b->slot = make_slot(p, 0, b->name);
            break;
        default: /* nonlocal: known only when the others are */
            break;
        }
    }
}

static void note_binding(struct py_prog *p, uint32_t i)
{
    struct py_binding *b = &p->bindings.at[i];
    struct py_slot *s;

    if (py_is_script(p, b->body))
        return;
    if (!b->slot)
        b->slot = py_table_get(&p->slot_index, py_pair(b->scope, b->name));
    s = &p->slots.at[b->slot];
    s->binds++;
    switch (b->kind) {
    case PY_B_DEF:
    case PY_B_CLASS:
        b->next = s->defs;
        s->defs = i;
        if (b->kind == PY_B_CLASS)
            s->cls = b->ref;
        break;
    case PY_B_PARAM:
        s->param = b->ref;
        s->self = b->self;
        break;
    case PY_B_VALUE:
    case PY_B_IMPORT:
        break;
    }
}

void py_scope_resolve(struct py_prog *p)
{
    struct py_table decls = {0};

    p->name_slot = arena_alloc(p->a, p->names.len * sizeof(*p->name_slot));
    (void)PY_PUSH(p->a, p->slots);
    for (uint32_t i = 0; i < p->decls.len; i++) {
        const struct py_decl *d = &p->decls.at[i];

        py_table_set(&decls, p->a, py_pair(d->scope, d->name),
                     d->global || d->scope == 0 ? 1 : 2);
    }
    bind_slots(p, &decls);
    apply_decls(p);
    for (uint32_t i = 1; i < p->bindings.len; i++)
        note_binding(p, i);
    for (uint32_t i = 1; i < p->nodes.len; i++) {
        struct py_node *n = &p->nodes.at[i];

        if (n->kind == PY_N_NAME)
            n->slot = lookup(p, n->scope, n->name);
    }
}
