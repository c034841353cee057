/* fuzz_program.c: any bytes as a program: refused, or one whose every place and pointer
 * lies in the region. */
#include "base/mem.h"
#include "runner/program.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REGION 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In floating point: exact as far as the region goes, and without overflow. */
static void check_place(const struct program_place *p)
{
    double low = (double)p->at, high = (double)p->at;
    double bytes = (double)dtype_bytes(p->dtype);

    for (unsigned i = 0; i < p->dims; i++) {
        double reach = ((double)p->n[i] - 1) * (double)p->stride[i] * bytes;

        if (p->n[i] == 0)
            return;
        if (reach < 0)
            low += reach;
        else
            high += reach;
    }
    if (low < 0 || high + bytes > REGION)
        abort();
}

static void check_pointer(const struct program_param *p)
{
    if (p->kind == PARAM_POINTER && p->value > REGION)
        abort();
}

/* The bytes of a structure can be read, its patches can be written. */
static void check_param(const struct program_param *p)
{
    char copy[PROGRAM_STRUCT];

    check_pointer(p);
    if (p->kind != PARAM_STRUCT)
        return;
    memcpy(copy, p->structure->data, p->structure->bytes);
    for (size_t i = 0; i < p->structure->patches; i++) {
        const struct program_patch *patch = &p->structure->patch[i];
        bool map = patch->param.kind == PARAM_MAP;

        check_pointer(&patch->param);
        if (patch->offset % (map ? PROGRAM_MAP_ALIGN : 8) ||
            patch->offset + (map ? PROGRAM_MAP_BYTES : 8) > p->structure->bytes)
            abort();
    }
}

static void check_node(const struct program *p, const struct program_node *n)
{
    if (n->op == OP_COPY)
        check_place(&n->source);
    if (n->op == OP_COPY || n->op == OP_FILL || n->op == OP_ADD) {
        check_place(&n->to);
        return;
    }
    if (n->launch.function >= p->functions)
        abort();
    for (size_t i = 0; i < n->launch.params; i++)
        check_param(&n->launch.param[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t *words = xmalloc(size + 8);
    struct err e = ERR_INIT;
    struct arena a = {0};
    struct program p;

    memcpy(words, data, size);
    if (program_read(&p, words, size, REGION, &a, &e) == 0)
        for (size_t i = 0; i < p.calls; i++)
            for (size_t k = 0; k < p.call[i].nodes; k++)
                check_node(&p, &p.call[i].node[k]);
    else if (!e.text[0])
        abort();
    arena_release(&a);
    free(words);
    return 0;
}
