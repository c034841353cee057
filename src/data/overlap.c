/* overlap.c: both tests over the files of a benchmark; threads.
 *
 * Similarity: bit-parallel LCS (Hyyrö's), and bounds that make most of it unneeded.
 * A text of the set is a pattern: for each symbol the bits of the places where it
 * is. A text is compared symbol by symbol; after j symbols the zeros among the
 * first i bits of the state count the LCS of i symbols of the pattern and j of the
 * text. To reach `need`, at most m - need symbols of the pattern and n - need of the
 * text stay unmatched, so i - j is within a band, and words outside it are left
 * alone. Every 64 symbols the comparison ends if no i can reach `need` any more:
 * what is to come is at most what both rests have in common, counted by symbol. */
#include "data/overlap.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "data/texts.h"
#include "data/tokenizer.h"
#include "source/py_lex.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#define BUCKETS 128 /* symbols are counted in these; several may share one */
#define UNKNOWN UINT32_MAX /* a token that the set has not */
#define BITS    64
#define POINTS  0x110000 /* of Unicode */

struct pattern {
    size_t len, words;
    uint32_t *row;  /* of a symbol: which words of `mask` are its bits */
    uint64_t *mask; /* row 0 is that of symbols which are not here */
    uint32_t *rest; /* counts of the symbols from each word on, by bucket */
};

/* An n-gram: the first text of the set that has it, and where. */
struct gram {
    uint32_t text, from;
    bool shared; /* another text has it, too */
};

struct overlap {
    struct overlap_how how;
    char **path; /* of each text; NULL: they are no files */
    size_t len;
    /* Similarity. Code points of the set have numbers from 1 on. */
    uint32_t *number; /* by code point; 0: the set does not have it */
    uint32_t numbers;
    struct pattern *pattern;
    size_t longest; /* words of a pattern */
    /* N-grams */
    struct map words; /* token to its number + 1, unless they are Qwen's */
    struct unicode *unicode;
    struct token_ids *tokens; /* of each text */
    struct map grams;         /* by their tokens */
    struct arena memory;
};

struct overlap_scratch {
    uint64_t *state;
    uint32_t *symbol; /* of the text, as numbers */
    struct tokenizer *tokenizer;
    struct arena arena;
    struct buf word;
    struct token_ids tokens;
};

/* ---- similarity: patterns ---- */

static void make_pattern(struct overlap *o, struct pattern *p,
                         const uint32_t *symbol, size_t len)
{
    uint32_t *rest, rows = 1;

    p->len = len;
    p->words = (len + BITS - 1) / BITS;
    p->row = xcalloc(o->numbers + 1, sizeof(*p->row));
    p->rest = xcalloc((p->words + 1) * BUCKETS, sizeof(*p->rest));
    for (size_t i = 0; i < len; i++)
        if (!p->row[symbol[i]])
            p->row[symbol[i]] = rows++;
    p->mask = xcalloc(rows * p->words + 1, sizeof(*p->mask));
    for (size_t i = 0; i < len; i++)
        p->mask[p->row[symbol[i]] * p->words + i / BITS] |= (uint64_t)1
                                                            << i % BITS;
    for (size_t w = p->words; w-- > 0;) {
        rest = p->rest + w * BUCKETS;
        memcpy(rest, rest + BUCKETS, BUCKETS * sizeof(*rest));
        for (size_t i = w * BITS; i < len && i < (w + 1) * BITS; i++)
            rest[symbol[i] % BUCKETS]++;
    }
    if (p->words > o->longest)
        o->longest = p->words;
}

static void make_patterns(struct overlap *o, const struct str *text)
{
    uint32_t **symbol = xcalloc(o->len + 1, sizeof(*symbol));
    size_t *len = xcalloc(o->len + 1, sizeof(*len));

    o->number = xcalloc(POINTS, sizeof(*o->number));
    for (size_t i = 0; i < o->len; i++) {
        symbol[i] = unicode_points(text[i], &len[i]);
        for (size_t k = 0; k < len[i]; k++) {
            uint32_t *number = &o->number[symbol[i][k]];

            if (!*number)
                *number = ++o->numbers;
            symbol[i][k] = *number;
        }
    }
    o->pattern = xcalloc(o->len + 1, sizeof(*o->pattern));
    for (size_t i = 0; i < o->len; i++) {
        make_pattern(o, &o->pattern[i], symbol[i], len[i]);
        free(symbol[i]);
    }
    free(symbol);
    free(len);
}

/* ---- similarity: comparing ---- */

/* How many symbols two texts have in common at most, by their counts. */
static size_t common(const uint32_t *a, const uint32_t *b)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < BUCKETS; i++)
        sum += a[i] < b[i] ? a[i] : b[i];
    return sum;
}

static size_t zeros(uint64_t word)
{
    return (size_t)__builtin_popcountll(~word);
}

/* Can the comparison still reach `need`, after j symbols? Within a word, i more
 * symbols of the pattern add at most i to the LCS. */
static bool hopeful(const struct pattern *p, const uint64_t *state,
                    const uint32_t *left, size_t lo, size_t hi, size_t need)
{
    size_t lcs = 0;

    for (size_t w = 0; w < lo; w++)
        lcs += zeros(state[w]);
    for (size_t w = lo; w < hi; w++) {
        size_t end = lcs + zeros(state[w]);

        if (lcs + p->len - w * BITS >= need &&
            end + common(p->rest + w * BUCKETS, left) >= need)
            return true;
        lcs = end;
    }
    return false;
}

static void add_symbol(uint64_t *state, const uint64_t *mask, size_t lo,
                       size_t hi)
{
    uint64_t carry = 0;

    for (size_t w = lo; w < hi; w++) {
        uint64_t s = state[w], u = s & mask[w], x = s + carry, y = x + u;

        carry = (x < carry) | (y < u);
        state[w] = y | (s - u);
    }
}

/* The LCS of the pattern and the text if it is at least `need`, else less. `count`
 * has the symbols of the text by bucket. need <= both lengths. */
static size_t lcs_at_least(const struct pattern *p, struct overlap_scratch *s,
                           size_t n, const uint32_t *count, size_t need)
{
    size_t m = p->len, lcs = 0;
    uint32_t left[BUCKETS];

    memcpy(left, count, sizeof(left));
    memset(s->state, 0xff, p->words * sizeof(*s->state));
    for (size_t j = 0; j < n; j++) {
        size_t lo = j > n - need ? (j - (n - need)) / BITS : 0;
        size_t hi = (j + (m - need)) / BITS + 1;

        if (hi > p->words)
            hi = p->words;
        if (j && j % BITS == 0 && !hopeful(p, s->state, left, lo, hi, need))
            return 0;
        if (s->symbol[j])
            left[s->symbol[j] % BUCKETS]--;
        add_symbol(s->state, p->mask + p->row[s->symbol[j]] * p->words, lo, hi);
    }
    for (size_t w = 0; w < p->words; w++)
        lcs += zeros(s->state[w]);
    return lcs;
}

static size_t load_text(const struct overlap *o, struct overlap_scratch *s,
                        struct str text, uint32_t count[BUCKETS])
{
    size_t n;

    free(s->symbol);
    s->symbol = unicode_points(text, &n);
    memset(count, 0, BUCKETS * sizeof(*count));
    for (size_t i = 0; i < n; i++) {
        s->symbol[i] = o->number[s->symbol[i]];
        /* What the set has not must not count as common with anything. */
        if (s->symbol[i])
            count[s->symbol[i] % BUCKETS]++;
    }
    return n;
}

/* The LCS that is more similar than `best`: lcs / (m + n) > best's. */
static size_t more_than(const struct fuzzy_match *best, size_t sum)
{
    return best->lcs * sum / (best->length + best->other) + 1;
}

static bool find_similar(const struct overlap *o, struct overlap_scratch *s,
                         struct str text, struct fuzzy_match *out)
{
    uint32_t count[BUCKETS];
    size_t n = load_text(o, s, text, count);
    bool found = false;

    for (size_t i = 0; i < o->len; i++) {
        const struct pattern *p = &o->pattern[i];
        size_t m = p->len, need = (3 * (m + n) + 7) / 8, lcs = 0;

        if (m + n == 0) { /* two empty texts are the same */
            *out = (struct fuzzy_match){i, 0, 0, 0};
            return true;
        }
        if (found)
            need = more_than(out, m + n);
        if (need > m || need > n || common(p->rest, count) < need)
            continue;
        lcs = lcs_at_least(p, s, n, count, need);
        if (lcs < need)
            continue;
        *out = (struct fuzzy_match){i, lcs, n, m};
        found = true;
    }
    return found;
}

/* ---- n-grams: tokens as numbers ---- */

/* Adds a token by its text. `own` NULL: the set is complete. */
static void add_word(const struct overlap *o, struct overlap *own,
                     struct str word, struct token_ids *out)
{
    uintptr_t number = (uintptr_t)map_get(&o->words, word);

    if (!number && own) {
        number = own->words.len + 1;
        map_set(&own->words, word, (void *)number);
    }
    out->id = xgrow(out->id, &out->cap, out->len, sizeof(*out->id));
    out->id[out->len++] = number ? (uint32_t)(number - 1) : UNKNOWN;
}

static void add_python(const struct overlap *o, struct overlap *own,
                       struct str text, struct arena *a, struct token_ids *out)
{
    struct py_tokens t;

    arena_reset(a);
    py_lex(&t, text, a);
    for (size_t i = 0; i < t.len; i++)
        if (t.tok[i].kind < PY_NEWLINE)
            add_word(o, own, t.tok[i].text, out);
}

static void add_words(const struct overlap *o, struct overlap *own,
                      struct str text, struct buf *word, struct token_ids *out)
{
    buf_reset(word);
    for (size_t at = 0; at < text.n;) {
        utf8proc_uint8_t bytes[4];
        uint32_t cp;

        at += str_utf8_decode(text.p + at, text.n - at, &cp);
        if (cp == '_' || (unicode_kind(o->unicode, cp) &
                          (UNICODE_LETTER | UNICODE_NUMBER))) {
            cp = (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
            buf_put(word, bytes,
                    (size_t)utf8proc_encode_char((utf8proc_int32_t)cp, bytes));
        } else if (word->len) {
            add_word(o, own, (struct str){word->data, word->len}, out);
            buf_reset(word);
        }
    }
    if (word->len)
        add_word(o, own, (struct str){word->data, word->len}, out);
}

static void tokenise(const struct overlap *o, struct overlap *own,
                     struct overlap_scratch *s, struct str text)
{
    s->tokens.len = 0;
    if (s->tokenizer)
        tokenizer_encode(s->tokenizer, text, &s->tokens);
    else if (strcmp(o->how.tokens, "python") == 0)
        add_python(o, own, text, &s->arena, &s->tokens);
    else
        add_words(o, own, text, &s->word, &s->tokens);
}

/* ---- n-grams: the table ---- */

/* The key of the n-gram that starts at `at`: its tokens. */
static struct str gram_key(const struct token_ids *t, size_t at)
{
    return (struct str){(const char *)(t->id + at),
                        NGRAM_TOKENS * sizeof(*t->id)};
}

static void add_grams(struct overlap *o, size_t text)
{
    const struct token_ids *t = &o->tokens[text];

    for (size_t at = 0; at + NGRAM_TOKENS <= t->len; at++) {
        struct gram *x = map_get(&o->grams, gram_key(t, at));

        if (x) {
            x->shared = x->shared || x->text != text;
            continue;
        }
        x = arena_alloc(&o->memory, sizeof(*x));
        *x = (struct gram){(uint32_t)text, (uint32_t)at, false};
        map_set(&o->grams, gram_key(t, at), x);
    }
}

static void make_grams(struct overlap *o, const struct str *text)
{
    struct overlap_scratch *s = overlap_scratch_new(o);

    o->unicode = unicode_new();
    o->tokens = xcalloc(o->len + 1, sizeof(*o->tokens));
    for (size_t i = 0; i < o->len; i++) {
        tokenise(o, o, s, text[i]);
        o->tokens[i] = s->tokens;
        s->tokens = (struct token_ids){0};
        add_grams(o, i);
    }
    overlap_scratch_free(s);
}

/* The first n-gram of the text that the set has. */
static bool find_gram(const struct overlap *o, struct overlap_scratch *s,
                      struct str text, struct ngram_match *out)
{
    tokenise(o, NULL, s, text);
    for (size_t at = 0; at + NGRAM_TOKENS <= s->tokens.len; at++) {
        const struct gram *x = map_get(&o->grams, gram_key(&s->tokens, at));

        if (!x || (o->how.only_unique && x->shared))
            continue;
        *out = (struct ngram_match){x->text, at, x->from};
        return true;
    }
    return false;
}

void overlap_put_ngram(const struct overlap *o, const struct ngram_match *m,
                       struct buf *out)
{
    const uint32_t *id = o->tokens[m->index].id + m->from;

    for (size_t i = 0; i < NGRAM_TOKENS; i++) {
        struct str s;

        if (o->how.vocab) {
            s = vocab_bytes(o->how.vocab, id[i]);
        } else {
            s = (struct str){o->words.items[id[i]].key,
                             o->words.items[id[i]].key_len};
            if (i)
                buf_putc(out, ' ');
        }
        buf_put(out, s.p, s.n);
    }
}

/* ---- the set ---- */

struct overlap *overlap_new(const struct overlap_how *how,
                            const struct str *text, size_t n)
{
    struct overlap *o = xcalloc(1, sizeof(*o));

    o->how = *how;
    o->len = n;
    if (how->ngram && strcmp(how->tokens, "qwen") != 0)
        o->how.vocab = NULL;
    if (how->fuzzy)
        make_patterns(o, text);
    if (how->ngram)
        make_grams(o, text);
    return o;
}

void overlap_free(struct overlap *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->len; i++) {
        if (o->path)
            free(o->path[i]);
        if (o->pattern) {
            free(o->pattern[i].row);
            free(o->pattern[i].mask);
            free(o->pattern[i].rest);
        }
        if (o->tokens)
            token_ids_release(&o->tokens[i]);
    }
    free(o->path);
    free(o->number);
    free(o->pattern);
    free(o->tokens);
    unicode_free(o->unicode);
    map_release(&o->words);
    map_release(&o->grams);
    arena_release(&o->memory);
    free(o);
}

/* A file of a benchmark. */
struct file {
    char *path;
    struct str text;
};

struct files {
    struct file *item;
    size_t len, cap;
};

static int read_folder(struct files *f, const char *dir, struct err *e)
{
    struct texts *r = texts_open(dir, &(struct texts_how){.suffix = ".py"}, e);
    size_t before = f->len;
    struct text_row row;
    int rc;

    if (!r)
        return -1;
    while ((rc = texts_next(r, &row, e)) > 0) {
        f->item = xgrow(f->item, &f->cap, f->len, sizeof(*f->item));
        f->item[f->len++] = (struct file){
            xstrdup(row.path), {xstrndup(row.text.p, row.text.n), row.text.n}};
    }
    texts_close(r);
    if (rc == 0 && f->len == before)
        return err_set(e, ERR_INPUT,
                       "%s: no .py file below it; --against takes a folder of "
                       "the benchmark's tasks",
                       dir);
    return rc;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path,
                  ((const struct file *)b)->path);
}

static struct overlap *overlap_of_files(const struct overlap_how *how,
                                        struct files *f)
{
    struct str *text = xcalloc(f->len, sizeof(*text));
    struct overlap *o;

    qsort(f->item, f->len, sizeof(*f->item), by_path);
    for (size_t i = 0; i < f->len; i++)
        text[i] = f->item[i].text;
    o = overlap_new(how, text, f->len);
    free(text);
    o->path = xcalloc(f->len, sizeof(*o->path));
    for (size_t i = 0; i < f->len; i++) {
        o->path[i] = f->item[i].path;
        f->item[i].path = NULL;
    }
    return o;
}

struct overlap *overlap_load(const struct overlap_how *how,
                             const char *const *dir, size_t dirs, struct err *e)
{
    struct files f = {0};
    struct overlap *o = NULL;
    int rc = dirs ? 0 : err_set(e, ERR_USAGE, "no folder of a benchmark");

    for (size_t i = 0; rc == 0 && i < dirs; i++)
        rc = read_folder(&f, dir[i], e);
    if (rc == 0)
        o = overlap_of_files(how, &f);
    for (size_t i = 0; i < f.len; i++) {
        free(f.item[i].path);
        free((char *)f.item[i].text.p);
    }
    free(f.item);
    return o;
}

size_t overlap_files(const struct overlap *o)
{
    return o->len;
}

const char *overlap_path(const struct overlap *o, size_t i)
{
    return o->path[i];
}

/* ---- checking ---- */

struct overlap_scratch *overlap_scratch_new(const struct overlap *o)
{
    struct overlap_scratch *s = xcalloc(1, sizeof(*s));

    s->state = xreallocarray(NULL, o->longest + 1, sizeof(*s->state));
    buf_init(&s->word, BUF_UNLIMITED);
    if (o->how.vocab)
        s->tokenizer = tokenizer_new(o->how.vocab);
    return s;
}

void overlap_scratch_free(struct overlap_scratch *s)
{
    if (!s)
        return;
    free(s->state);
    free(s->symbol);
    tokenizer_free(s->tokenizer);
    arena_release(&s->arena);
    buf_release(&s->word);
    token_ids_release(&s->tokens);
    free(s);
}

void overlap_check(const struct overlap *o, struct overlap_scratch *s,
                   struct str text, struct overlap_result *out)
{
    *out = (struct overlap_result){0};
    if (o->how.fuzzy)
        out->fuzzy = find_similar(o, s, text, &out->near);
    if (o->how.ngram)
        out->ngram = find_gram(o, s, text, &out->gram);
}

/* ---- threads: each takes the next text; nobody writes where another does ---- */

struct work {
    const struct overlap *overlap;
    const struct str *text;
    struct overlap_result *result;
    size_t n;
    atomic_size_t next;
};

static void *work_on(void *arg)
{
    struct work *w = arg;
    struct overlap_scratch *s = overlap_scratch_new(w->overlap);
    size_t i;

    while ((i = atomic_fetch_add(&w->next, 1)) < w->n)
        overlap_check(w->overlap, s, w->text[i], &w->result[i]);
    overlap_scratch_free(s);
    return NULL;
}

void overlap_check_all(const struct overlap *o, int threads,
                       const struct str *text, size_t n,
                       struct overlap_result *out)
{
    struct work w = {.overlap = o, .text = text, .result = out, .n = n};
    pthread_t *thread = xcalloc((size_t)threads, sizeof(*thread));
    int started = 0;

    while (started < threads - 1 && (size_t)started + 1 < n &&
           pthread_create(&thread[started], NULL, work_on, &w) == 0)
        started++;
    work_on(&w); /* this thread, too: the work is done even without others */
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    free(thread);
}
