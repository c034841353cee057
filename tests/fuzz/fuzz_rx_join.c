/* fuzz_rx_join.c: the lines before an empty one as patterns, the rest as what
 * they search. Joined they must match where any of them does: a rule that the
 * joined pattern does not see is a rule that is not asked. */
#include "base/mem.h"
#include "base/tick.h"
#include "pack/rx.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PATTERNS 8

static const struct rx_limits limits = {
    .match = 5000,
    .depth = 1000,
    .heap_kib = 1024,
    .jit_stack_bytes = 65536,
    .round_ns = 200 * TICK_MS,
};

/* What each by itself says; RX_LIMIT when one of them cannot. */
static enum rx_result any(struct rx *const *rx, size_t n, struct str text)
{
    struct rx_ctx *c = rx_ctx_new(&limits);
    enum rx_result found = RX_NONE, one;

    for (size_t i = 0; i < n; i++) {
        rx_round(c);
        one = rx_find(c, rx[i], text, 0);
        if (one > RX_MATCH || found == RX_NONE)
            found = one;
        if (found > RX_MATCH)
            break;
    }
    rx_ctx_free(c);
    return found;
}

static void compare(char *const *pattern, struct rx *const *rx, size_t n,
                    struct str text)
{
    struct rx *all = rx_new_lines((const char *const *)pattern, n);
    enum rx_result each = any(rx, n, text), joined;

    if (all && each <= RX_MATCH) {
        joined = any(&all, 1, text);
        if (joined <= RX_MATCH && joined != each)
            BUG("joined %d, each %d", joined, each);
    }
    rx_free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size}, line;
    struct rx *rx[PATTERNS];
    char *pattern[PATTERNS];
    size_t n = 0;

    while (n < PATTERNS && str_cut(&rest, '\n', &line) && line.n) {
        struct err e = ERR_INIT;

        if (memchr(line.p, '\0', line.n))
            continue;
        pattern[n] = xstrndup(line.p, line.n);
        rx[n] = rx_starts_line(pattern[n]) ? rx_new(pattern[n], &e) : NULL;
        if (rx[n])
            n++;
        else
            free(pattern[n]);
    }
    rest.n = str_utf8_check(rest.p, rest.n);
    if (n > 1)
        compare(pattern, rx, n, rest);
    for (size_t i = 0; i < n; i++) {
        rx_free(rx[i]);
        free(pattern[i]);
    }
    return 0;
}
