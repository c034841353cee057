/* fuzz_rule.c: the first line as a pattern, the rest as what it searches. It
 * must end soon, whatever both are. */
#include "base/mem.h"
#include "base/tick.h"
#include "pack/rule.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Low enough that a sanitized build is done within its time. */
static const struct rx_limits limits = {
    .match = 5000,
    .depth = 1000,
    .heap_kib = 1024,
    .jit_stack_bytes = 65536,
    .round_ns = 200 * TICK_MS,
};

static void apply(struct rx *rx, struct str text)
{
    struct rule r = {.id = "r", .message = "$0 $1 $9", .rx = rx};
    struct rx_ctx *c = rx_ctx_new(&limits);
    struct rule_hits hits;
    struct arena a = {0};

    for (int kind = 0; kind < RULE_KINDS; kind++) {
        r.kind = (enum rule_kind)kind;
        rule_apply(&r, c, text, &a, &hits);
    }
    arena_release(&a);
    rx_ctx_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size}, line;
    struct err e = ERR_INIT;
    char *pattern;
    struct rx *rx;

    if (!str_cut(&rest, '\n', &line) || memchr(line.p, '\0', line.n))
        return 0;
    rest.n = str_utf8_check(rest.p, rest.n);
    pattern = xstrndup(line.p, line.n);
    rx = rx_new(pattern, &e);
    if (rx)
        apply(rx, rest);
    rx_free(rx);
    free(pattern);
    return 0;
}
