/* tokens.c: about how many tokens a text is, without anybody's vocabulary.
 *
 * The tokenizers of current models make one token of about 4 bytes of English
 * and of about 3 to 3.5 bytes of source code; letters outside ASCII cost about
 * a token for two of their bytes. Counting 3.5 and 2 bytes is a little high for
 * prose and about right for kernels. It is an estimate: who must never be wrong
 * counts bytes, since no byte is more than one token. */
#include "llm/llm.h"

int64_t llm_estimate_tokens(struct str text)
{
    size_t wide = 0;

    for (size_t i = 0; i < text.n; i++)
        wide += (unsigned char)text.p[i] >= 0x80;
    return (int64_t)(((text.n - wide) * 2 + 6) / 7 + (wide + 1) / 2);
}
