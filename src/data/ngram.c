/* ngram.c: tokens as numbers, and a table of the n-grams of a set. */
#include "data/ngram.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "data/tokenizer.h"
#include "source/py_lex.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#define UNKNOWN UINT32_MAX /* a token that the set has not */
#define BASE    0x9e3779b97f4a7c15u

struct tokens {
    uint32_t *id;
    size_t len, cap;
};

struct gram {
    uint64_t hash;
    uint32_t text, from;
    bool used, shared; /* shared: another text has it, too */
};

struct ngrams {
    struct ngram_how how;
    struct map words; /* token to its number + 1, unless they are Qwen's */
    struct unicode *unicode;
    struct tokens *text;
    size_t texts;
    struct gram *slot;
    size_t slots, count;
    uint64_t top; /* BASE to the power of NGRAM_TOKENS - 1 */
};

struct ngram_scratch {
    struct tokenizer *tokenizer;
    struct arena arena;
    struct buf word;
    struct tokens tokens;
};

/* ---- tokens ---- */

/* Adds a token by its text. `own` NULL: the set is complete. */
static void add_word(const struct ngrams *g, struct ngrams *own,
                     struct str word, struct tokens *out)
{
    uintptr_t number = (uintptr_t)map_get(&g->words, word);

    if (!number && own) {
        number = own->words.len + 1;
        map_set(&own->words, word, (void *)number);
    }
    out->id = xgrow(out->id, &out->cap, out->len, sizeof(*out->id));
    out->id[out->len++] = number ? (uint32_t)(number - 1) : UNKNOWN;
}

static void add_python(const struct ngrams *g, struct ngrams *own,
                       struct str text, struct arena *a, struct tokens *out)
{
    struct py_tokens t;

    arena_reset(a);
    py_lex(&t, text, a);
    for (size_t i = 0; i < t.len; i++)
        if (t.tok[i].kind < PY_NEWLINE)
            add_word(g, own, t.tok[i].text, out);
}

static void add_words(const struct ngrams *g, struct ngrams *own,
                      struct str text, struct buf *word, struct tokens *out)
{
    buf_reset(word);
    for (size_t at = 0; at < text.n;) {
        utf8proc_uint8_t bytes[4];
        uint32_t cp;

        at += str_utf8_decode(text.p + at, text.n - at, &cp);
        if (cp == '_' || (unicode_kind(g->unicode, cp) &
                          (UNICODE_LETTER | UNICODE_NUMBER))) {
            cp = (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
            buf_put(word, bytes,
                    (size_t)utf8proc_encode_char((utf8proc_int32_t)cp, bytes));
        } else if (word->len) {
            add_word(g, own, (struct str){word->data, word->len}, out);
            buf_reset(word);
        }
    }
    if (word->len)
        add_word(g, own, (struct str){word->data, word->len}, out);
}

static void tokenise(const struct ngrams *g, struct ngrams *own,
                     struct ngram_scratch *s, struct str text)
{
    struct token_ids ids = {s->tokens.id, 0, s->tokens.cap};

    s->tokens.len = 0;
    if (strcmp(g->how.tokens, "qwen") == 0) {
        tokenizer_encode(s->tokenizer, text, &ids);
        s->tokens = (struct tokens){ids.id, ids.len, ids.cap};
    } else if (strcmp(g->how.tokens, "python") == 0) {
        add_python(g, own, text, &s->arena, &s->tokens);
    } else {
        add_words(g, own, text, &s->word, &s->tokens);
    }
}

struct ngram_scratch *ngram_scratch_new(const struct ngrams *g)
{
    struct ngram_scratch *s = xcalloc(1, sizeof(*s));

    arena_init(&s->arena);
    buf_init(&s->word, BUF_UNLIMITED);
    if (g->how.vocab)
        s->tokenizer = tokenizer_new(g->how.vocab);
    return s;
}

void ngram_scratch_free(struct ngram_scratch *s)
{
    if (!s)
        return;
    tokenizer_free(s->tokenizer);
    arena_release(&s->arena);
    buf_release(&s->word);
    free(s->tokens.id);
    free(s);
}

/* ---- the table ---- */

static uint64_t value(uint32_t id)
{
    return (uint64_t)id + 1;
}

/* Hash of the n-gram that starts at `at`, from that of the one before it. */
static uint64_t roll(const struct ngrams *g, const struct tokens *t, size_t at,
                     uint64_t h)
{
    if (at)
        return (h - value(t->id[at - 1]) * g->top) * BASE +
               value(t->id[at + NGRAM_TOKENS - 1]);
    for (size_t i = 0; i < NGRAM_TOKENS; i++)
        h = h * BASE + value(t->id[i]);
    return h;
}

/* The slot of this n-gram, or the free one for it. */
static struct gram *find_gram(const struct ngrams *g, uint64_t hash,
                              const uint32_t *id)
{
    size_t i = (hash ^ hash >> 31) & (g->slots - 1);

    for (; g->slot[i].used; i = (i + 1) & (g->slots - 1)) {
        const struct gram *x = &g->slot[i];

        if (x->hash == hash && memcmp(g->text[x->text].id + x->from, id,
                                      NGRAM_TOKENS * sizeof(*id)) == 0)
            break;
    }
    return &g->slot[i];
}

static void ngram_add_text(struct ngrams *g, size_t text)
{
    const struct tokens *t = &g->text[text];
    uint64_t h = 0;

    for (size_t at = 0; at + NGRAM_TOKENS <= t->len; at++) {
        struct gram *x;

        h = roll(g, t, at, h);
        x = find_gram(g, h, t->id + at);
        if (x->used) {
            x->shared = x->shared || x->text != text;
            continue;
        }
        *x = (struct gram){h, (uint32_t)text, (uint32_t)at, true, false};
        g->count++;
    }
}

struct ngrams *ngrams_new(const struct ngram_how *how, const struct str *text,
                          size_t n)
{
    struct ngrams *g = xcalloc(1, sizeof(*g));
    struct ngram_scratch *s;
    size_t all = 0;

    g->how = *how;
    map_init(&g->words);
    g->unicode = unicode_new();
    g->texts = n;
    g->text = xcalloc(n + 1, sizeof(*g->text));
    g->top = 1;
    for (int i = 1; i < NGRAM_TOKENS; i++)
        g->top *= BASE;
    s = ngram_scratch_new(g);
    for (size_t i = 0; i < n; i++) {
        tokenise(g, g, s, text[i]);
        g->text[i] = s->tokens;
        s->tokens = (struct tokens){0};
        all += g->text[i].len;
    }
    ngram_scratch_free(s);
    g->slots = 1024;
    while (g->slots < 2 * all)
        g->slots *= 2;
    g->slot = xcalloc(g->slots, sizeof(*g->slot));
    for (size_t i = 0; i < n; i++)
        ngram_add_text(g, i);
    return g;
}

void ngrams_free(struct ngrams *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->texts; i++)
        free(g->text[i].id);
    free(g->text);
    free(g->slot);
    unicode_free(g->unicode);
    map_release(&g->words);
    free(g);
}

size_t ngrams_size(const struct ngrams *g)
{
    return g->count;
}

bool ngrams_find(const struct ngrams *g, struct ngram_scratch *s,
                 struct str text, struct ngram_match *out)
{
    uint64_t h = 0;

    tokenise(g, NULL, s, text);
    for (size_t at = 0; at + NGRAM_TOKENS <= s->tokens.len; at++) {
        const struct gram *x;

        h = roll(g, &s->tokens, at, h);
        x = find_gram(g, h, s->tokens.id + at);
        if (!x->used || (g->how.only_unique && x->shared))
            continue;
        *out = (struct ngram_match){x->text, at, x->from};
        return true;
    }
    return false;
}

void ngrams_put(const struct ngrams *g, const struct ngram_match *m,
                struct buf *out)
{
    const uint32_t *id = g->text[m->index].id + m->from;

    for (size_t i = 0; i < NGRAM_TOKENS; i++) {
        struct str s;

        if (g->how.vocab) {
            s = vocab_bytes(g->how.vocab, id[i]);
        } else {
            s = (struct str){g->words.items[id[i]].key,
                             g->words.items[id[i]].key_len};
            if (i)
                buf_putc(out, ' ');
        }
        buf_put(out, s.p, s.n);
    }
}
