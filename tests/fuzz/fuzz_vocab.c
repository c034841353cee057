/* fuzz_vocab.c: any bytes as a vocabulary; then any bytes as text. The text must
 * come back from its tokens, apart from NFC and what is not UTF-8. The first byte
 * says where the vocabulary ends. */
#include "base/buf.h"
#include "data/tokenizer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every byte, in JSON's alphabet, and some pairs of letters. */
static struct vocab *bytes_vocab(void)
{
    struct err e = ERR_INIT;
    struct vocab *v;
    unsigned next = 256;
    struct buf b = BUF_INIT;

    buf_putc(&b, '{');
    for (unsigned i = 0; i < 256; i++) {
        int plain = (i > 0x20 && i < 0x7f) || (i > 0xa0 && i != 0xad);

        buf_printf(&b, "\"\\u%04x\":%u,", plain ? i : next++, i);
    }
    for (unsigned i = 0; i < 26; i++)
        buf_printf(&b, "\"%c%c\":%u,", 'a' + i, 'a' + i * 7 % 26, 256 + i);
    buf_puts(&b, "\"Ġa\":282,\"aĊ\":283}");
    v = vocab_parse("bytes", (struct str){buf_str(&b), b.len}, &e);
    buf_release(&b);
    if (!v)
        abort();
    return v;
}

static void round_trip(const struct vocab *v, struct str text)
{
    struct tokenizer *t = tokenizer_new(v);
    struct token_ids ids = {0};
    struct buf back = BUF_INIT, good = BUF_INIT, want = BUF_INIT;

    tokenizer_encode(t, text, &ids);
    if (tokenizer_count(t, text) != ids.len)
        abort();
    for (size_t i = 0; i < ids.len; i++) {
        struct str s = vocab_bytes(v, ids.id[i]);

        if (!s.n)
            abort();
        buf_put(&back, s.p, s.n);
    }
    unicode_repair(text, &good);
    if (str_utf8_check(buf_str(&good), good.len) != good.len)
        abort();
    if (unicode_is_nfc(vocab_unicode(v),
                       (struct str){buf_str(&good), good.len}))
        buf_put(&want, buf_str(&good), good.len);
    if (want.len &&
        (want.len != back.len || memcmp(want.data, back.data, back.len) != 0))
        abort();
    token_ids_release(&ids);
    tokenizer_free(t);
    buf_release(&back);
    buf_release(&good);
    buf_release(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct vocab *bytes;
    struct err e = ERR_INIT;
    struct vocab *v;
    size_t cut;

    if (!size)
        return 0;
    if (!bytes)
        bytes = bytes_vocab();
    cut = (size - 1) * data[0] / 255;
    v = vocab_parse("fuzz", (struct str){(const char *)data + 1, cut}, &e);
    if (!v && (e.kind == ERR_NONE || !e.text[0]))
        abort();
    vocab_free(v);
    round_trip(bytes,
               (struct str){(const char *)data + 1 + cut, size - 1 - cut});
    return 0;
}
