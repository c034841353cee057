/* tokens.c: about how many tokens a text is, without anybody's vocabulary.
 *
 * The tokenizers of current models make one token of about 4 bytes of English
 * and of about 3 to 3.5 bytes of source code; letters outside ASCII cost about
 * a token for two of their bytes. Counting 3.5 and 2 bytes is a little high for
 * prose and about right for kernels. It is an estimate: who must never be wrong
 * counts bytes, since no byte is more than one token. */
#include "llm/llm.h"

#include <string.h>

#define ONES  0x0101010101010101u /* a byte's lowest bit in each */
#define EVENS 0x00ff00ff00ff00ffu
#define STRIDE \
    (255 * sizeof(uint64_t)) /* what a count in a byte has room for */

/* Counts bytes outside ASCII, a word at a time. */
static size_t count_wide(const char *p, size_t n)
{
    uint64_t counts = 0, eight;

    for (size_t i = 0; i < n; i += sizeof(eight)) {
        memcpy(&eight, p + i, sizeof(eight));
        counts += eight >> 7 & ONES;
    }
    counts = (counts & EVENS) + (counts >> 8 & EVENS);
    return (size_t)(counts * 0x0001000100010001u >> 48);
}

int64_t llm_estimate_tokens(struct str text)
{
    size_t wide = 0, i = 0, whole = text.n - text.n % sizeof(uint64_t);

    for (; i < whole; i += STRIDE)
        wide += count_wide(text.p + i, whole - i < STRIDE ? whole - i : STRIDE);
    for (i = whole; i < text.n; i++)
        wide += (unsigned char)text.p[i] >= 0x80;
    return (int64_t)(((text.n - wide) * 2 + 6) / 7 + (wide + 1) / 2);
}
