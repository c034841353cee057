/* tokenizer.c: text to special tokens, pieces and ids. */
#include "data/tokenizer.h"

#include "base/mem.h"
#include "data/merge.h"
#include "data/split.h"

#include <stdlib.h>
#include <string.h>

#define MEMO_SLOTS 32768u
#define MEMO_BYTES 46
#define MEMO_IDS   20

/* What a piece that is not a token was merged into. Len 0: free. */
struct memo {
    uint8_t len, ids;
    char piece[MEMO_BYTES];
    uint32_t id[MEMO_IDS];
};

struct tokenizer {
    const struct vocab *vocab;
    struct memo *memo; /* by hash; the newer piece replaces the older */
    struct merge merge;
    struct buf repaired, normal;
};

struct tokenizer *tokenizer_new(const struct vocab *v)
{
    struct tokenizer *t = xcalloc(1, sizeof(*t));

    t->vocab = v;
    t->memo = xcalloc(MEMO_SLOTS, sizeof(*t->memo));
    buf_init(&t->repaired, BUF_UNLIMITED);
    buf_init(&t->normal, BUF_UNLIMITED);
    return t;
}

void tokenizer_free(struct tokenizer *t)
{
    if (!t)
        return;
    free(t->memo);
    merge_release(&t->merge);
    buf_release(&t->repaired);
    buf_release(&t->normal);
    free(t);
}

void token_ids_release(struct token_ids *ids)
{
    free(ids->id);
    *ids = (struct token_ids){0};
}

static size_t emit(struct token_ids *out, const uint32_t *id, size_t n)
{
    if (out) {
        if (out->len + n > out->cap) {
            out->cap = (out->len + n) * 2;
            out->id = xreallocarray(out->id, out->cap, sizeof(*out->id));
        }
        memcpy(out->id + out->len, id, n * sizeof(*id));
        out->len += n;
    }
    return n;
}

static struct memo *memo_of(struct tokenizer *t, const char *p, size_t n)
{
    uint64_t h = n, w;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        memcpy(&w, p + i, 8);
        h = (h ^ w) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    for (; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * 0x9e3779b97f4a7c15u;
    return &t->memo[h >> 40 & (MEMO_SLOTS - 1)];
}

static size_t add_piece(struct tokenizer *t, const char *p, size_t n,
                        struct token_ids *out)
{
    uint32_t whole = vocab_find(t->vocab, p, n);
    struct memo *m = NULL;
    size_t count;

    if (whole != VOCAB_NONE)
        return emit(out, &whole, 1);
    if (n <= MEMO_BYTES) {
        m = memo_of(t, p, n);
        if (m->len == n && memcmp(m->piece, p, n) == 0)
            return emit(out, m->id, m->ids);
    }
    count = merge_piece(&t->merge, t->vocab, p, n);
    if (m && count <= MEMO_IDS) {
        m->len = (uint8_t)n;
        m->ids = (uint8_t)count;
        memcpy(m->piece, p, n);
        memcpy(m->id, t->merge.id, count * sizeof(*m->id));
    }
    return emit(out, t->merge.id, count);
}

/* Text without special tokens. */
static size_t add_plain(struct tokenizer *t, struct str text,
                        struct token_ids *out)
{
    const struct unicode *u = vocab_unicode(t->vocab);
    size_t count = 0;

    if (!unicode_is_nfc(u, text)) {
        buf_reset(&t->normal);
        unicode_nfc(u, text, &t->normal);
        text = (struct str){buf_str(&t->normal), t->normal.len};
    }
    while (text.n) {
        size_t n = split_piece(u, text.p, text.n);

        count += add_piece(t, text.p, n, out);
        text.p += n;
        text.n -= n;
    }
    return count;
}

static size_t add_text(struct tokenizer *t, struct str text,
                       struct token_ids *out)
{
    size_t count = 0, at = 0, len;
    const char *sign;

    while ((sign = memchr(text.p + at, '<', text.n - at))) {
        uint32_t id;

        at = (size_t)(sign - text.p);
        id = vocab_special(t->vocab, sign, text.n - at, &len);
        if (id == VOCAB_NONE) {
            at++;
            continue;
        }
        count += add_plain(t, (struct str){text.p, at}, out);
        count += emit(out, &id, 1);
        text.p += at + len;
        text.n -= at + len;
        at = 0;
    }
    return count + add_plain(t, text, out);
}

size_t tokenizer_encode(struct tokenizer *t, struct str text,
                        struct token_ids *out)
{
    if (!text.n)
        return 0;
    if (str_utf8_check(text.p, text.n) < text.n) {
        buf_reset(&t->repaired);
        unicode_repair(text, &t->repaired);
        text = (struct str){buf_str(&t->repaired), t->repaired.len};
    }
    return add_text(t, text, out);
}

size_t tokenizer_count(struct tokenizer *t, struct str text)
{
    return tokenizer_encode(t, text, NULL);
}
