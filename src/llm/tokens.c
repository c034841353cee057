/* tokens.c: about how many tokens a text is, without anybody's vocabulary.
 *
 * The tokenizers of current models make one token of about 4 bytes of English
 * and of about 3 to 3.5 bytes of source code; letters outside ASCII cost about
 * a token for two of their bytes. Counting 3.5 and 2 bytes is a little high for
 * prose and about right for kernels. It is an estimate: who must never be wrong
 * counts bytes, since no byte is more than one token. */
#include "llm/llm.h"

#include <string.h>

int64_t llm_estimate_tokens(struct str text)
{
    const uint64_t ones = 0x0101010101010101;
    size_t wide = 0, i = 0;
    uint64_t eight;

    for (; i + sizeof(eight) <= text.n; i += sizeof(eight)) {
        memcpy(&eight, text.p + i, sizeof(eight));
        wide += (size_t)(((eight >> 7 & ones) * ones) >> 56);
    }
    for (; i < text.n; i++)
        wide += (unsigned char)text.p[i] >= 0x80;
    return (int64_t)(((text.n - wide) * 2 + 6) / 7 + (wide + 1) / 2);
}
