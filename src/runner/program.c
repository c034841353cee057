/* program.c: reads a program. Although the judge wrote it, nothing in it is trusted:
 * anything outside the file or the region is an error. */
#include "runner/program.h"

#include <string.h>
#include <unistd.h>

struct reader {
    const uint64_t *word;
    size_t words, at;
    uint64_t region;
    struct program *program;
    struct arena *arena;
    struct err *e;
};

/* ---- words ---- */

static size_t left(const struct reader *r)
{
    return r->words - r->at;
}

static int program_bad(struct reader *r, const char *what, uint64_t value)
{
    err_set(r->e, ERR_INPUT, "word %zu: %s (%llu)", r->at - 1, what,
            (unsigned long long)value);
    return -1;
}

static int ends_early(struct reader *r)
{
    err_set(r->e, ERR_INPUT, "the program ends at word %zu, too early",
            r->words);
    return -1;
}

static int program_get(struct reader *r, uint64_t *out)
{
    if (!left(r))
        return ends_early(r);
    *out = r->word[r->at++];
    return 0;
}

/* A word within [lo, hi]. */
static int get_within(struct reader *r, uint64_t lo, uint64_t hi,
                      const char *what, uint64_t *out)
{
    if (program_get(r, out) < 0)
        return -1;
    return *out < lo || *out > hi ? program_bad(r, what, *out) : 0;
}

/* A count of items that follow, each at least `words` words long. */
static int program_get_count(struct reader *r, uint64_t most, size_t words,
                             const char *what, size_t *out)
{
    uint64_t n = 0;

    if (get_within(r, 0, most, what, &n) < 0)
        return -1;
    if (n > left(r) / words)
        return ends_early(r);
    *out = (size_t)n;
    return 0;
}

/* `n` words, not copied. */
static int get_words(struct reader *r, size_t n, const uint64_t **out)
{
    if (n > left(r))
        return ends_early(r);
    *out = r->word + r->at;
    r->at += n;
    return 0;
}

/* A length in one word, then that many bytes, zero-padded to whole words. */
static int get_bytes(struct reader *r, uint64_t most, const char *what,
                     const char **out, size_t *bytes)
{
    const uint64_t *word = NULL;
    uint64_t n = 0;

    if (get_within(r, 0, most, what, &n) < 0 ||
        get_words(r, (size_t)((n + 7) / 8), &word) < 0)
        return -1;
    *out = (const char *)word;
    *bytes = (size_t)n;
    return 0;
}

/* ---- places ---- */

/* Finds the bytes that the elements cover; strides are not checked yet. Returns
 * -1 if they are outside the region. */
static int check_extent(const struct program_place *p, uint64_t region)
{
    int64_t low = (int64_t)p->at, high = (int64_t)p->at;
    int64_t bytes = (int64_t)dtype_bytes(p->dtype);

    for (unsigned i = 0; i < p->dims; i++) {
        int64_t reach;

        if (__builtin_mul_overflow((int64_t)(p->n[i] - 1), p->stride[i],
                                   &reach) ||
            __builtin_mul_overflow(reach, bytes, &reach) ||
            __builtin_add_overflow(reach < 0 ? low : high, reach,
                                   reach < 0 ? &low : &high))
            return -1;
    }
    if (__builtin_add_overflow(high, bytes, &high))
        return -1;
    return low < 0 || (uint64_t)high > region ? -1 : 0;
}

/* Each size is bounded, and so is their product. A place without elements
 * covers no bytes. */
static int program_check_place(struct reader *r, const struct program_place *p,
                               bool source)
{
    bool empty = false;
    uint64_t count = 1;

    for (unsigned i = 0; i < p->dims; i++) {
        if (p->n[i] > PROGRAM_REGION)
            return program_bad(r, "a dimension too large", p->n[i]);
        if (p->stride[i] < 0 && !source)
            return program_bad(r,
                               "a negative stride in a view that is written to",
                               (uint64_t)p->stride[i]);
        empty |= p->n[i] == 0;
    }
    for (unsigned i = 0; !empty && i < p->dims; i++)
        if (__builtin_mul_overflow(count, p->n[i], &count) ||
            count > PROGRAM_REGION)
            return program_bad(r, "too many elements", p->n[i]);
    if (!empty && check_extent(p, r->region) < 0)
        return program_bad(r, "a view outside the region", p->at);
    return 0;
}

static int get_place(struct reader *r, bool source, struct program_place *p)
{
    uint64_t dtype = 0, dims = 0;
    const uint64_t *stride = NULL;

    if (get_within(r, 0, r->region, "an offset outside the region", &p->at) <
            0 ||
        get_within(r, 0, DTYPES - 1, "an unknown dtype", &dtype) < 0 ||
        get_within(r, 0, PROGRAM_DIMS, "too many dimensions", &dims) < 0 ||
        get_words(r, (size_t)dims, &p->n) < 0 ||
        get_words(r, (size_t)dims, &stride) < 0)
        return -1;
    p->dtype = (enum dtype)dtype;
    p->dims = (unsigned)dims;
    p->stride = (const int64_t *)stride;
    if (p->at % dtype_bytes(p->dtype))
        return program_bad(r, "an offset that is not aligned", p->at);
    return program_check_place(r, p, source);
}

static bool same_shape(const struct program_place *a,
                       const struct program_place *b)
{
    for (unsigned i = 0; i < a->dims && i < b->dims; i++)
        if (a->n[i] != b->n[i])
            return false;
    return a->dims == b->dims;
}

/* ---- parameters ---- */

/* Bytes of an element for each CUtensorMapDataType. */
static const unsigned char map_bytes[] = {1, 2, 4, 4, 8, 8, 2,
                                          4, 8, 2, 4, 4, 4};

static int program_check_map(struct reader *r,
                             const struct program_tensor_map *m)
{
    uint64_t end = m->at, reach;

    for (unsigned i = 0; i < m->rank; i++) {
        uint64_t stride = i ? m->stride[i - 1] : map_bytes[m->dtype];

        if (__builtin_mul_overflow(m->shape[i] - 1, stride, &reach) ||
            __builtin_add_overflow(end, reach, &end))
            return program_bad(r, "a tensor map too large", m->shape[i]);
    }
    if (__builtin_add_overflow(end, map_bytes[m->dtype], &end) ||
        end > r->region)
        return program_bad(r, "a tensor map outside the region", m->at);
    return 0;
}

static int get_map(struct reader *r, const struct program_tensor_map **out)
{
    struct program_tensor_map *m = arena_alloc(r->arena, sizeof(*m));
    uint64_t word = 0, rank = 0;

    if (get_within(r, 0, r->region, "an offset outside the region", &m->at) <
            0 ||
        get_within(r, 0, sizeof(map_bytes) - 1, "an unknown map dtype", &word) <
            0 ||
        get_within(r, 1, PROGRAM_TENSOR_MAP, "a map's dimensions", &rank) < 0)
        return -1;
    m->dtype = (unsigned)word;
    m->rank = (unsigned)rank;
    for (unsigned i = 0; i < m->rank; i++)
        if (get_within(r, 1, UINT32_MAX, "a map's size", &m->shape[i]) < 0)
            return -1;
    for (unsigned i = 0; i + 1 < m->rank; i++)
        if (get_within(r, 0, PROGRAM_REGION, "a map's stride", &m->stride[i]) <
            0)
            return -1;
    for (unsigned i = 0; i < m->rank; i++) {
        if (get_within(r, 1, UINT32_MAX, "a map's box", &word) < 0)
            return -1;
        m->box[i] = (uint32_t)word;
    }
    if (get_within(r, 0, 255, "a map's swizzle", &word) < 0)
        return -1;
    m->swizzle = (unsigned)word;
    if (get_within(r, 0, 255, "a map's fill", &word) < 0)
        return -1;
    m->fill = (unsigned)word;
    *out = m;
    return program_check_map(r, m);
}

/* Which parameters are allowed: any kind, a word, or a patch. */
enum param_use { USE_LAUNCH, USE_WORD, USE_PATCH };

static int get_struct(struct reader *r, const struct program_struct **out);

static int get_param(struct reader *r, enum param_use use,
                     struct program_param *p)
{
    uint64_t kind = 0, size = 0;

    if (get_within(r, PARAM_POINTER, PARAM_STRUCT, "an unknown parameter",
                   &kind) < 0)
        return -1;
    p->kind = (enum program_param_kind)kind;
    switch (p->kind) {
    case PARAM_POINTER:
        return get_within(r, 0, r->region, "a pointer outside the region",
                          &p->value);
    case PARAM_NUMBER:
        if (use == USE_PATCH)
            return program_bad(r, "a patch that is a number", kind);
        if (get_within(r, 1, 8, "a number's size", &size) < 0 ||
            program_get(r, &p->value) < 0)
            return -1;
        if (size < 8 && p->value >> (8 * size))
            return program_bad(r, "a number larger than its size", p->value);
        return 0;
    case PARAM_MAP:
        if (use == USE_WORD)
            return program_bad(r, "a tensor map for a function of a library",
                               kind);
        return get_map(r, &p->map);
    case PARAM_STRUCT:
        if (use != USE_LAUNCH)
            return program_bad(r, "a structure that no kernel takes", kind);
        return get_struct(r, &p->structure);
    }
    return -1;
}

/* A patch of `s` that starts at `end` or later. */
static int get_patch(struct reader *r, const struct program_struct *s,
                     size_t end, struct program_patch *out)
{
    uint64_t offset = 0;
    size_t bytes, step;

    if (get_within(r, end, s->bytes, "a patch's offset", &offset) < 0 ||
        get_param(r, USE_PATCH, &out->param) < 0)
        return -1;
    bytes = out->param.kind == PARAM_MAP ? PROGRAM_MAP_BYTES : 8;
    step = out->param.kind == PARAM_MAP ? PROGRAM_MAP_ALIGN : 8;
    if (offset % step || bytes > s->bytes - offset)
        return program_bad(r, "a patch that does not lie in its bytes", offset);
    out->offset = (size_t)offset;
    return 0;
}

static int get_struct(struct reader *r, const struct program_struct **out)
{
    struct program_struct *s = arena_alloc(r->arena, sizeof(*s));
    struct program_patch *patch;
    size_t end = 0;

    if (get_bytes(r, PROGRAM_STRUCT, "a structure's size", &s->data,
                  &s->bytes) < 0)
        return -1;
    if (!s->bytes)
        return program_bad(r, "a structure without bytes", 0);
    if (program_get_count(r, s->bytes / 8, 3, "too many patches", &s->patches) <
        0)
        return -1;
    patch = arena_alloc(r->arena, (s->patches + 1) * sizeof(*patch));
    s->patch = patch;
    for (size_t i = 0; i < s->patches; i++) {
        if (get_patch(r, s, end, &patch[i]) < 0)
            return -1;
        end = patch[i].offset +
              (patch[i].param.kind == PARAM_MAP ? PROGRAM_MAP_BYTES : 8);
    }
    *out = s;
    return 0;
}

static int get_params(struct reader *r, enum param_use use,
                      struct program_launch *l)
{
    struct program_param *p;

    if (program_get_count(r, PROGRAM_PARAMS, 2, "too many parameters",
                          &l->params) < 0)
        return -1;
    p = arena_alloc(r->arena, l->params * sizeof(*p));
    l->param = p;
    for (size_t i = 0; i < l->params; i++)
        if (get_param(r, use, &p[i]) < 0)
            return -1;
    return 0;
}

/* ---- nodes ---- */

static int get_copy(struct reader *r, struct program_node *n)
{
    if (get_place(r, false, &n->to) < 0 || get_place(r, true, &n->source) < 0)
        return -1;
    if (!same_shape(&n->to, &n->source))
        return program_bad(r, "a copy between shapes that differ", n->to.dims);
    if (dtype_is_float(n->source.dtype) && !dtype_is_float(n->to.dtype))
        return program_bad(r, "a copy from a floating-point type to an integer",
                           n->to.dtype);
    return 0;
}

static int get_fill(struct reader *r, struct program_node *n)
{
    size_t bytes;

    if (get_place(r, false, &n->to) < 0 || program_get(r, &n->value) < 0)
        return -1;
    bytes = dtype_bytes(n->to.dtype);
    if (bytes < 8 && n->value >> (8 * bytes))
        return program_bad(r, "a value larger than an element", n->value);
    return 0;
}

static int get_add(struct reader *r, struct program_node *n)
{
    if (get_place(r, false, &n->to) < 0 || program_get(r, &n->value) < 0)
        return -1;
    for (unsigned i = 0; i < n->to.dims; i++)
        if (n->to.n[i] != 1)
            return program_bad(r, "a counter that is not one element",
                               n->to.n[i]);
    if (dtype_is_float(n->to.dtype) || n->to.dtype == BOOL)
        return program_bad(r, "a counter that is not an integer", n->to.dtype);
    return 0;
}

static int get_function(struct reader *r, enum program_module_kind kind,
                        struct program_launch *l)
{
    const struct program *p = r->program;
    uint64_t index = 0;

    if (program_get(r, &index) < 0)
        return -1;
    if (index >= p->functions)
        return program_bad(r, "an unknown function", index);
    l->function = (size_t)index;
    if (p->module[p->function[index].module].kind != kind)
        return program_bad(r, "a function of the other kind of module", index);
    return 0;
}

static int get_three(struct reader *r, const char *what, uint32_t *out)
{
    for (int i = 0; i < 3; i++) {
        uint64_t n = 0;

        if (get_within(r, 1, UINT32_MAX, what, &n) < 0)
            return -1;
        out[i] = (uint32_t)n;
    }
    return 0;
}

/* The driver decides whether the device can run such a launch. */
static int get_launch(struct reader *r, struct program_node *n)
{
    struct program_launch *l = &n->launch;
    uint64_t shared = 0, flags = 0;

    if (get_function(r, MODULE_CUBIN, l) < 0 ||
        get_three(r, "a grid", l->grid) < 0 ||
        get_three(r, "a block", l->block) < 0 ||
        get_within(r, 0, INT32_MAX, "shared memory", &shared) < 0 ||
        get_three(r, "a cluster", l->cluster) < 0 ||
        get_within(r, 0, 3, "unknown flags", &flags) < 0)
        return -1;
    l->shared_bytes = (uint32_t)shared;
    l->cooperative = flags & 1;
    l->pdl = flags & 2;
    return get_params(r, USE_LAUNCH, l);
}

static int get_pages(struct reader *r, struct program_launch *l)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = 0;
    const uint64_t *word = NULL;

    if (program_get_count(r, PROGRAM_PARAMS, 2, "too many pages", &l->seen) <
            0 ||
        get_words(r, 2 * l->seen, &word) < 0)
        return -1;
    l->pages = (const struct program_pages *)word;
    for (size_t i = 0; i < l->seen; i++) {
        const struct program_pages *p = &l->pages[i];

        if (p->begin % page || p->end % page || p->begin < end ||
            p->end <= p->begin || p->end > r->region)
            return program_bad(r, "pages outside the region or out of order",
                               p->begin);
        end = p->end;
    }
    return 0;
}

static int get_call(struct reader *r, struct program_node *n)
{
    if (get_function(r, MODULE_LIBRARY, &n->launch) < 0 ||
        get_params(r, USE_WORD, &n->launch) < 0)
        return -1;
    return get_pages(r, &n->launch);
}

static int (*const node_readers[])(struct reader *, struct program_node *) = {
    [OP_COPY] = get_copy,     [OP_FILL] = get_fill, [OP_ADD] = get_add,
    [OP_LAUNCH] = get_launch, [OP_CALL] = get_call,
};

static int get_nodes(struct reader *r, uint64_t most, struct program_call *c)
{
    if (program_get_count(r, most, 2, "too many nodes", &c->nodes) < 0)
        return -1;
    c->node = arena_alloc(r->arena, c->nodes * sizeof(*c->node));
    for (size_t i = 0; i < c->nodes; i++) {
        uint64_t op = 0;

        if (get_within(r, OP_COPY, OP_CALL, "an unknown node", &op) < 0)
            return -1;
        c->node[i].op = (enum program_op)op;
        if (node_readers[op](r, &c->node[i]) < 0)
            return -1;
    }
    return 0;
}

/* ---- the whole ---- */

static int get_modules(struct reader *r)
{
    struct program *p = r->program;

    if (program_get_count(r, PROGRAM_MODULES, 2, "too many modules",
                          &p->modules) < 0)
        return -1;
    p->module = arena_alloc(r->arena, p->modules * sizeof(*p->module));
    for (size_t i = 0; i < p->modules; i++) {
        uint64_t kind = 0;

        if (get_within(r, MODULE_CUBIN, MODULE_LIBRARY,
                       "an unknown kind of module", &kind) < 0 ||
            get_bytes(r, PROGRAM_BYTES, "a module too large",
                      &p->module[i].data, &p->module[i].bytes) < 0)
            return -1;
        p->module[i].kind = (enum program_module_kind)kind;
    }
    return 0;
}

static int get_functions(struct reader *r)
{
    struct program *p = r->program;

    if (program_get_count(r, PROGRAM_FUNCTIONS, 2, "too many functions",
                          &p->functions) < 0)
        return -1;
    p->function = arena_alloc(r->arena, p->functions * sizeof(*p->function));
    for (size_t i = 0; i < p->functions; i++) {
        const char *name = NULL;
        uint64_t module = 0;
        size_t bytes = 0;

        if (program_get(r, &module) < 0)
            return -1;
        if (module >= p->modules)
            return program_bad(r, "an unknown module", module);
        if (get_bytes(r, PROGRAM_NAME, "a name too long", &name, &bytes) < 0)
            return -1;
        if (!bytes || memchr(name, 0, bytes))
            return program_bad(r, "an empty name, or one with a NUL in it",
                               bytes);
        p->function[i].module = (size_t)module;
        p->function[i].name = arena_strndup(r->arena, name, bytes);
    }
    return 0;
}

static int get_calls(struct reader *r)
{
    struct program *p = r->program;
    uint64_t nodes = PROGRAM_NODES;

    if (program_get_count(r, PROGRAM_CALLS, 1, "too many calls", &p->calls) < 0)
        return -1;
    p->call = arena_alloc(r->arena, p->calls * sizeof(*p->call));
    for (size_t i = 0; i < p->calls; i++) {
        if (get_nodes(r, nodes, &p->call[i]) < 0)
            return -1;
        nodes -= p->call[i].nodes;
    }
    return 0;
}

int program_read(struct program *p, const void *data, size_t bytes,
                 uint64_t region, struct arena *a, struct err *e)
{
    struct reader r = {data, bytes / 8, 0, region, p, a, e};
    uint64_t magic = 0;

    memset(p, 0, sizeof(*p));
    if (bytes % 8 || bytes > PROGRAM_BYTES || region > PROGRAM_REGION)
        return err_set(e, ERR_INPUT,
                       "a program of %zu bytes for a region of %llu", bytes,
                       (unsigned long long)region);
    if (get_within(&r, PROGRAM_MAGIC, PROGRAM_MAGIC,
                   "not a program, or one of another version", &magic) < 0 ||
        get_modules(&r) < 0 || get_functions(&r) < 0 || get_calls(&r) < 0)
        return -1;
    if (left(&r))
        return err_set(e, ERR_INPUT, "%zu words after the end of the program",
                       left(&r));
    return 0;
}

const struct program_module *program_has(const struct program *p,
                                         enum program_module_kind kind)
{
    for (size_t i = 0; i < p->modules; i++)
        if (p->module[i].kind == kind)
            return &p->module[i];
    return NULL;
}
