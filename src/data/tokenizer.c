/* tokenizer.c: text to special tokens, pieces and ids. */
#include "data/tokenizer.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- pieces ---- */

/* A character, or the end of the text: length 0. */
struct seen {
    size_t len;
    unsigned kind;
    bool newline;
};

#define WORD (UNICODE_LETTER | UNICODE_NUMBER)

static inline struct seen look(const struct unicode *u, const char *p, size_t n)
{
    unsigned char c;
    uint32_t cp;
    size_t len;

    if (!n)
        return (struct seen){0, 0, false};
    c = (unsigned char)p[0];
    if (c < 0x80)
        return (struct seen){1, u->kind[c], c == '\n' || c == '\r'};
    len = str_utf8_decode(p, n, &cp);
    return (struct seen){len, unicode_kind(u, cp), false};
}

/* Where the run of characters of this kind that starts at `at` ends. */
static inline size_t run_end(const struct unicode *u, const char *p, size_t n,
                             size_t at, unsigned kind)
{
    for (;;) {
        struct seen s;

        while (at < n && (unsigned char)p[at] < 0x80 &&
               (u->kind[(unsigned char)p[at]] & kind))
            at++;
        if (at == n || (unsigned char)p[at] < 0x80)
            return at;
        s = look(u, p + at, n - at);
        if (!(s.kind & kind))
            return at;
        at += s.len;
    }
}

/* 's 't 're 've 'm 'll 'd in either case, after the quote at p[0]; else 0. The
 * long s (U+017F) is an s in another case, too. */
static size_t contraction(const char *p, size_t n)
{
    char a = n > 1 ? (char)(p[1] | 0x20) : 0,
         b = n > 2 ? (char)(p[2] | 0x20) : 0;

    if (n > 1 && (a == 's' || a == 't' || a == 'm' || a == 'd'))
        return 2;
    if (n > 2 && ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') ||
                  (a == 'l' && b == 'l')))
        return 3;
    if (n > 2 && memcmp(p + 1, "\xc5\xbf", 2) == 0)
        return 3;
    return 0;
}

/* ` ?[^\s\p{L}\p{N}]+[\r\n]*`, whose first sign is at `at`. */
static size_t signs(const struct unicode *u, const char *p, size_t n, size_t at)
{
    for (;;) {
        struct seen s = look(u, p + at, n - at);

        if (!s.len || (s.kind & (WORD | UNICODE_SPACE)))
            break;
        at += s.len;
    }
    while (at < n && (p[at] == '\n' || p[at] == '\r'))
        at++;
    return at;
}

/* White space: up to its last line end; else all of it at the end of the text;
 * else all but its last character, which belongs to what follows. */
static size_t white(const struct unicode *u, const char *p, size_t n)
{
    size_t end = run_end(u, p, n, 0, UNICODE_SPACE), line = end, last;

    while (line > 0 && p[line - 1] != '\n' && p[line - 1] != '\r')
        line--;
    if (line)
        return line;
    if (end == n)
        return n;
    last = end - 1;
    while (last > 0 && ((unsigned char)p[last] & 0xc0) == 0x80)
        last--;
    return last ? last : end;
}

size_t split_piece(const struct unicode *u, const char *p, size_t n)
{
    struct seen first = look(u, p, n), next;
    size_t len;

    if (first.kind & UNICODE_LETTER)
        return run_end(u, p, n, first.len, UNICODE_LETTER);
    if (first.kind & UNICODE_NUMBER)
        return first.len;
    if (p[0] == '\'' && (len = contraction(p, n)))
        return len;
    next = look(u, p + first.len, n - first.len);
    if (!first.newline && (next.kind & UNICODE_LETTER))
        return run_end(u, p, n, first.len + next.len, UNICODE_LETTER);
    if (!(first.kind & UNICODE_SPACE))
        return signs(u, p, n, first.len);
    if (p[0] == ' ' && next.len && !(next.kind & (WORD | UNICODE_SPACE)))
        return signs(u, p, n, 1);
    return white(u, p, n);
}

/* ---- merges ---- */

/* A part of the piece, and what it would become together with the next one. */
struct merge_part {
    uint32_t at, rank;
    uint32_t prev, next; /* for the heap; next == n: the last */
};

void merge_release(struct merge *m)
{
    free(m->part);
    free(m->heap);
    free(m->id);
    *m = (struct merge){0};
}

static void *room(void *p, size_t *cap, size_t n, size_t size)
{
    if (n <= *cap)
        return p;
    *cap = n * 2;
    free(p);
    return xreallocarray(NULL, *cap, size);
}

/* ---- the heap: rank and place of a pair in one number ---- */

static void heap_push(struct merge *m, size_t *len, uint64_t x)
{
    size_t i = (*len)++;

    m->heap = xgrow(m->heap, &m->heap_cap, i, sizeof(*m->heap));
    for (; i > 0 && m->heap[(i - 1) / 2] > x; i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = x;
}

static uint64_t heap_pop(struct merge *m, size_t *len)
{
    uint64_t top = m->heap[0], x = m->heap[--*len];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= *len)
            break;
        if (child + 1 < *len && m->heap[child + 1] < m->heap[child])
            child++;
        if (m->heap[child] >= x)
            break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = x;
    return top;
}

static void note_pair(struct merge *m, size_t *len, const struct vocab *v,
                      const char *p, size_t n, uint32_t i)
{
    struct merge_part *a = &m->part[i];
    size_t end;

    a->rank = VOCAB_NONE;
    if (a->next >= n)
        return;
    end = m->part[a->next].next;
    a->rank = vocab_find(v, p + i, end - i);
    if (a->rank != VOCAB_NONE)
        heap_push(m, len, (uint64_t)a->rank << 32 | i);
}

/* Parts are known by where they begin. An entry of the heap whose rank is no longer
 * that of its part is out of date. */
static size_t merge_long(struct merge *m, const struct vocab *v, const char *p,
                         size_t n)
{
    size_t heap = 0, len = 0;

    for (uint32_t i = 0; i < n; i++)
        m->part[i] = (struct merge_part){i, VOCAB_NONE, i - 1, i + 1};
    for (uint32_t i = 0; i < n; i++)
        note_pair(m, &heap, v, p, n, i);
    while (heap) {
        uint64_t x = heap_pop(m, &heap);
        uint32_t i = (uint32_t)x, gone;

        if (m->part[i].rank != x >> 32)
            continue;
        gone = m->part[i].next;
        m->part[gone].rank = VOCAB_NONE;
        m->part[i].next = m->part[gone].next;
        if (m->part[i].next < n)
            m->part[m->part[i].next].prev = i;
        note_pair(m, &heap, v, p, n, i);
        if (i > 0)
            note_pair(m, &heap, v, p, n, m->part[i].prev);
    }
    for (uint32_t i = 0; i < n; i = m->part[i].next)
        m->id[len++] = vocab_find(v, p + i, m->part[i].next - i);
    return len;
}

size_t merge_piece(struct merge *m, const struct vocab *v, const char *p,
                   size_t n)
{
    if (n >= UINT32_MAX - 1)
        BUG("a piece of %zu bytes", n);
    m->part = room(m->part, &m->part_cap, n + 2, sizeof(*m->part));
    m->id = room(m->id, &m->id_cap, n, sizeof(*m->id));
    return merge_long(m, v, p, n);
}

/* ---- texts ---- */

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
    return &t->memo[fnv1a(p, n) % MEMO_SLOTS];
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
        text = buf_view(&t->normal);
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
        text = buf_view(&t->repaired);
    }
    return add_text(t, text, out);
}

size_t tokenizer_count(struct tokenizer *t, struct str text)
{
    return tokenizer_encode(t, text, NULL);
}
