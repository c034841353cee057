/* fuzzy.c: bit-parallel LCS (Hyyrö's), and bounds that make most of it unneeded.
 *
 * A text of the set is a pattern: for each symbol the bits of the places where it
 * is. A text is compared symbol by symbol; after j symbols the zeros among the
 * first i bits of the state count the LCS of i symbols of the pattern and j of the
 * text. To reach `need`, at most m - need symbols of the pattern and n - need of the
 * text stay unmatched, so i - j is within a band, and words outside it are left
 * alone. Every 64 symbols the comparison ends if no i can reach `need` any more:
 * what is to come is at most what both rests have in common, counted by symbol. */
#include "data/fuzzy.h"

#include "base/mem.h"
#include "data/unicode.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 128 /* symbols are counted in these; several may share one */
#define BITS    64

struct pattern {
    size_t len, words;
    uint32_t *row;  /* of a symbol: which words of `mask` are its bits */
    uint64_t *mask; /* row 0 is that of symbols which are not here */
    uint32_t *rest; /* counts of the symbols from each word on, by bucket */
};

/* Code points have numbers from 1 on, in order; 0 is one that the set has not. */
struct fuzzy {
    uint32_t *point;
    size_t points;
    uint32_t low[BUCKETS]; /* the numbers of ASCII */
    struct pattern *pattern;
    size_t len;
    size_t words; /* of the longest */
};

struct fuzzy_scratch {
    uint64_t *state;
    uint32_t *symbol; /* of the text, as numbers */
    size_t cap;
};

/* ---- symbols ---- */

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static uint32_t number_of(const struct fuzzy *f, uint32_t cp)
{
    const uint32_t *at;

    if (cp < BUCKETS)
        return f->low[cp];
    at = f->points ? bsearch(&cp, f->point, f->points, sizeof(cp), by_value)
                   : NULL;
    return at ? (uint32_t)(at - f->point) + 1 : 0;
}

/* All code points of the set, each once, in order. */
static void collect(struct fuzzy *f, uint32_t *const *cp, const size_t *len,
                    size_t n)
{
    size_t all = 0, kept = 0;

    for (size_t i = 0; i < n; i++)
        all += len[i];
    f->point = xreallocarray(NULL, all + 1, sizeof(*f->point));
    all = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(f->point + all, cp[i], len[i] * sizeof(**cp));
        all += len[i];
    }
    qsort(f->point, all, sizeof(*f->point), by_value);
    for (size_t i = 0; i < all; i++)
        if (!kept || f->point[kept - 1] != f->point[i])
            f->point[kept++] = f->point[i];
    f->points = kept;
    for (size_t i = 0; i < kept; i++)
        if (f->point[i] < BUCKETS)
            f->low[f->point[i]] = (uint32_t)i + 1;
}

/* ---- patterns ---- */

static void make_pattern(const struct fuzzy *f, struct pattern *p,
                         const uint32_t *cp, size_t len)
{
    uint32_t *rest, rows = 1;

    p->len = len;
    p->words = (len + BITS - 1) / BITS;
    p->row = xcalloc(f->points + 1, sizeof(*p->row));
    p->rest = xcalloc((p->words + 1) * BUCKETS, sizeof(*p->rest));
    for (size_t i = 0; i < len; i++) {
        uint32_t *row = &p->row[number_of(f, cp[i])];

        if (!*row)
            *row = rows++;
    }
    p->mask = xcalloc(rows * p->words + 1, sizeof(*p->mask));
    for (size_t i = 0; i < len; i++)
        p->mask[p->row[number_of(f, cp[i])] * p->words + i / BITS] |=
            (uint64_t)1 << i % BITS;
    for (size_t w = p->words; w-- > 0;) {
        rest = p->rest + w * BUCKETS;
        memcpy(rest, rest + BUCKETS, BUCKETS * sizeof(*rest));
        for (size_t i = w * BITS; i < len && i < (w + 1) * BITS; i++)
            rest[number_of(f, cp[i]) % BUCKETS]++;
    }
}

struct fuzzy *fuzzy_new(const struct str *text, size_t n)
{
    struct fuzzy *f = xcalloc(1, sizeof(*f));
    uint32_t **cp = xcalloc(n + 1, sizeof(*cp));
    size_t *len = xcalloc(n + 1, sizeof(*len));

    for (size_t i = 0; i < n; i++)
        cp[i] = unicode_points(text[i], &len[i]);
    collect(f, cp, len, n);
    f->len = n;
    f->pattern = xcalloc(n + 1, sizeof(*f->pattern));
    for (size_t i = 0; i < n; i++) {
        make_pattern(f, &f->pattern[i], cp[i], len[i]);
        if (f->pattern[i].words > f->words)
            f->words = f->pattern[i].words;
        free(cp[i]);
    }
    free(cp);
    free(len);
    return f;
}

void fuzzy_free(struct fuzzy *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->len; i++) {
        free(f->pattern[i].row);
        free(f->pattern[i].mask);
        free(f->pattern[i].rest);
    }
    free(f->pattern);
    free(f->point);
    free(f);
}

struct fuzzy_scratch *fuzzy_scratch_new(const struct fuzzy *f)
{
    struct fuzzy_scratch *s = xcalloc(1, sizeof(*s));

    s->state = xreallocarray(NULL, f->words + 1, sizeof(*s->state));
    return s;
}

void fuzzy_scratch_free(struct fuzzy_scratch *s)
{
    if (!s)
        return;
    free(s->state);
    free(s->symbol);
    free(s);
}

/* ---- comparing ---- */

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
static size_t lcs_at_least(const struct pattern *p, struct fuzzy_scratch *s,
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

static size_t load_text(const struct fuzzy *f, struct fuzzy_scratch *s,
                        struct str text, uint32_t count[BUCKETS])
{
    size_t n;

    free(s->symbol);
    s->symbol = unicode_points(text, &n);
    memset(count, 0, BUCKETS * sizeof(*count));
    for (size_t i = 0; i < n; i++) {
        s->symbol[i] = number_of(f, s->symbol[i]);
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

bool fuzzy_find(const struct fuzzy *f, struct fuzzy_scratch *s, struct str text,
                struct fuzzy_match *out)
{
    uint32_t count[BUCKETS];
    size_t n = load_text(f, s, text, count);
    bool found = false;

    for (size_t i = 0; i < f->len; i++) {
        const struct pattern *p = &f->pattern[i];
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
