/* tokens.c: how fast text becomes tokens: one core, in memory.
 *
 *   bench-tokens VOCAB ROUNDS FILE…    prints JSON: bytes, tokens, seconds */
#include "base/fs.h"
#include "base/mem.h"
#include "base/tick.h"
#include "data/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct err e = ERR_INIT;
    struct vocab *v = argc > 3 ? vocab_load(argv[1], &e) : NULL;
    int rounds = argc > 3 ? (int)strtol(argv[2], NULL, 10) : 0;
    int64_t best = INT64_MAX;
    struct buf *text;
    size_t files = (size_t)argc - 3, bytes = 0, tokens = 0;

    if (!v) {
        fprintf(stderr, "usage: bench-tokens VOCAB ROUNDS FILE...; %s\n",
                e.text);
        return 2;
    }
    text = xcalloc(files, sizeof(*text));
    for (size_t i = 0; i < files; i++) {
        buf_init(&text[i], BUF_UNLIMITED);
        if (fs_read(argv[i + 3], &text[i], &e) < 0) {
            fprintf(stderr, "%s\n", e.text);
            return 2;
        }
        bytes += text[i].len;
    }
    for (int r = 0; r < rounds; r++) {
        struct tokenizer *t = tokenizer_new(v);
        struct token_ids ids = {0};
        int64_t before = tick_used_ns(), used;

        for (size_t i = 0; i < files; i++)
            tokenizer_encode(t, (struct str){buf_str(&text[i]), text[i].len},
                             &ids);
        used = tick_used_ns() - before;
        best = used < best ? used : best;
        tokens = ids.len;
        token_ids_release(&ids);
        tokenizer_free(t);
    }
    printf("{\"bytes\": %zu, \"tokens\": %zu, \"seconds\": %.6f}\n", bytes,
           tokens, (double)best / (double)TICK_S);
    for (size_t i = 0; i < files; i++)
        buf_release(&text[i]);
    free(text);
    vocab_free(v);
    return 0;
}
