/* test_overlap.c: similarity against a plain table, n-grams, threads. */
#include "base/mem.h"
#include "base/rng.h"
#include "data/overlap.h"
#include "data/unicode.h"
#include "scratch.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- similarity ---- */

static size_t plain_lcs(struct str a, struct str b)
{
    size_t m, n, lcs;
    uint32_t *x = unicode_points(a, &m), *y = unicode_points(b, &n);
    size_t *row = xcalloc(n + 1, sizeof(*row));

    for (size_t i = 0; i < m; i++) {
        size_t before = 0;

        for (size_t j = 0; j < n; j++) {
            size_t above = row[j + 1];

            row[j + 1] = x[i] == y[j]     ? before + 1
                         : row[j] > above ? row[j]
                                          : above;
            before = above;
        }
    }
    lcs = row[n];
    free(row);
    free(x);
    free(y);
    return lcs;
}

/* The most similar of the set, by looking at all. */
static bool plain_find(const struct str *set, size_t len, struct str text,
                       struct fuzzy_match *out)
{
    bool found = false;
    size_t n;

    free(unicode_points(text, &n));
    for (size_t i = 0; i < len; i++) {
        size_t m, lcs = plain_lcs(set[i], text);

        free(unicode_points(set[i], &m));
        if (8 * lcs < 3 * (m + n))
            continue;
        if (found && lcs * (out->length + out->other) <= out->lcs * (m + n))
            continue;
        *out = (struct fuzzy_match){i, lcs, n, m};
        found = true;
    }
    return found;
}

/* A text, or a changed copy of another: letters inserted, removed, replaced. */
static struct str make_text(struct rng *r, struct str from, int changes,
                            struct buf *out)
{
    static const char *const letters[] = {"a", "b",  "c", " ",
                                          "(", "\n", "é", "字"};
    size_t n = from.p ? from.n : rng_below(r, 400);

    buf_init(out, BUF_UNLIMITED);
    for (size_t i = 0; i < n; i++) {
        bool change = (int)rng_below(r, 100) < changes;

        if (!from.p || (change && rng_below(r, 2)))
            buf_puts(out, letters[rng_below(r, 8)]);
        if (from.p && !(change && rng_below(r, 2)))
            buf_putc(out, from.p[i]);
    }
    return (struct str){buf_str(out), out->len};
}

static void test_against_a_table(void)
{
    enum { SET = 12, TEXTS = 250 };
    struct buf kept[SET], one;
    struct str set[SET];
    struct overlap_how how = {.fuzzy = true};
    struct overlap_scratch *s;
    struct overlap *o;
    struct rng r;
    int wrong = 0, matches = 0;

    rng_init(&r, "overlap/table");
    for (size_t i = 0; i < SET; i++)
        set[i] = make_text(&r, (struct str){0}, 0, &kept[i]);
    o = overlap_new(&how, set, SET);
    s = overlap_scratch_new(o);
    for (int i = 0; i < TEXTS; i++) {
        struct str from = i % 5 ? set[rng_below(&r, SET)] : (struct str){0};
        struct str text = make_text(&r, from, i % 60, &one);
        struct fuzzy_match want = {0};
        struct overlap_result got;
        bool b = plain_find(set, SET, text, &want);

        overlap_check(o, s, text, &got);
        wrong += got.fuzzy != b ||
                 (b && memcmp(&got.near, &want, sizeof(want)) != 0);
        matches += b;
        buf_release(&one);
    }
    ok(wrong == 0, "the answers are those of a plain table");
    ok(matches > 50 && matches < TEXTS - 50, "… which has both answers");
    overlap_scratch_free(s);
    overlap_free(o);
    for (size_t i = 0; i < SET; i++)
        buf_release(&kept[i]);
}

/* The LCS with the only text of the set, or -1: they are not similar. */
static int similar(const char *set, const char *text)
{
    struct overlap_how how = {.fuzzy = true};
    struct str one = str_of(set);
    struct overlap *o = overlap_new(&how, &one, 1);
    struct overlap_scratch *s = overlap_scratch_new(o);
    struct overlap_result r;

    overlap_check(o, s, str_of(text), &r);
    overlap_scratch_free(s);
    overlap_free(o);
    return r.fuzzy ? (int)r.near.lcs : -1;
}

static void test_border(void)
{
    ok(similar("aaabbbbb", "aaabbbcc") == 6, "exactly 75 matches");
    ok(similar("aaabbbbb", "aaabbccc") < 0, "less does not");
    ok(similar("aaabbbbb", "") < 0, "an empty text is not similar");
    ok(similar("", "") == 0, "two empty texts are the same");
    ok(similar("aaabbbbb", "\xff") < 0, "any bytes are a text");
}

/* ---- n-grams ---- */

static const char *gram_of(const char *tokens, bool only_unique,
                           const char *const *set, size_t n, const char *text)
{
    static char said[200];
    struct overlap_how how = {false, true, tokens, NULL, only_unique};
    struct overlap_scratch *s;
    struct overlap_result r;
    struct str copy[4];
    struct overlap *o;
    struct buf b = {.limit = 1000};

    for (size_t i = 0; i < n; i++)
        copy[i] = str_of(set[i]);
    o = overlap_new(&how, copy, n);
    s = overlap_scratch_new(o);
    snprintf(said, sizeof(said), "clean");
    overlap_check(o, s, str_of(text), &r);
    if (r.ngram) {
        overlap_put_ngram(o, &r.gram, &b);
        snprintf(said, sizeof(said), "%zu@%zu: %s", r.gram.index, r.gram.at,
                 buf_str(&b));
    }
    buf_release(&b);
    overlap_scratch_free(s);
    overlap_free(o);
    return said;
}

static void test_ngrams(void)
{
    static const char *const set[] = {
        "one two three four five six seven eight nine ten eleven twelve "
        "thirteen fourteen",
        "x two three four five six seven eight nine ten eleven twelve "
        "thirteen fourteen",
        "f(a, b) + g(c, d)[e]",
    };

    is(gram_of("words", false, set, 3,
               "zero, ONE-two three four five six seven eight nine ten eleven "
               "twelve thirteen!"),
       "0@1: one two three four five six seven eight nine ten eleven twelve "
       "thirteen",
       "13 words in a row are found; signs and case do not count");
    is(gram_of("words", false, set, 3,
               "one two three four five six seven eight nine ten eleven twelve "
               "13 fourteen"),
       "clean", "12 are not enough");
    is(gram_of("words", true, set, 3,
               "two three four five six seven eight nine ten eleven twelve "
               "thirteen fourteen"),
       "clean", "strict-signal: what two texts have says nothing");
    is(gram_of("words", true, set, 3,
               "one two three four five six seven eight nine ten eleven twelve "
               "thirteen fourteen"),
       "0@0: one two three four five six seven eight nine ten eleven twelve "
       "thirteen",
       "… what one has does");
    is(gram_of("python", false, set, 3, "z = f(a,  # note\n  b)+g(c, d)\n"),
       "2@2: f ( a , b ) + g ( c , d )",
       "Python tokens: without comments and layout");
}

/* ---- both, and threads ---- */

static bool same_result(const struct overlap_result *a,
                        const struct overlap_result *b)
{
    return a->fuzzy == b->fuzzy && a->ngram == b->ngram &&
           memcmp(&a->near, &b->near, sizeof(a->near)) == 0 &&
           memcmp(&a->gram, &b->gram, sizeof(a->gram)) == 0;
}

static void test_threads(void)
{
    enum { TEXTS = 200 };
    char *dir = scratch_dir();
    struct overlap_how how = {true, true, "words", NULL, false};
    struct overlap_result one[TEXTS], many[TEXTS];
    const char *dirs[] = {dir};
    struct err e = ERR_INIT;
    struct str text[TEXTS];
    struct buf made[TEXTS];
    struct overlap *o;
    struct rng r;
    size_t hits = 0, same = 0;

    scratch_put(dir, "b.py", "def f(x):\n    return x + 1\n");
    scratch_put(dir, "a.py",
                "a b c d e f g h i j k l m n o p q r s t u v w x y z\n");
    scratch_put(dir, "c.txt", "not a task");
    o = overlap_load(&how, dirs, 1, &e);
    ok(o && overlap_files(o) == 2 &&
           str_ends(str_of(overlap_path(o, 0)), "/a.py"),
       "the .py files of a folder, by path");
    rng_init(&r, "overlap/threads");
    for (size_t i = 0; i < TEXTS; i++)
        text[i] = make_text(&r,
                            i % 2 ? STR_LIT("def f(x):\n    return x + 1\n")
                                  : STR_LIT("x: a b c d e f g h i j k l m n"),
                            (int)(i % 50), &made[i]);
    overlap_check_all(o, 1, text, TEXTS, one);
    overlap_check_all(o, 4, text, TEXTS, many);
    for (size_t i = 0; i < TEXTS; i++)
        hits += one[i].fuzzy || one[i].ngram;
    for (size_t i = 0; i < TEXTS; i++)
        same += same_result(&one[i], &many[i]);
    ok(same == TEXTS, "threads change no answer");
    ok(hits > 20 && hits < TEXTS - 20, "… of which there are both");
    for (size_t i = 0; i < TEXTS; i++)
        buf_release(&made[i]);
    overlap_free(o);
    unlink(scratch_path(dir, "a.py"));
    unlink(scratch_path(dir, "b.py"));
    ok(!overlap_load(&how, dirs, 1, &e) && strstr(e.text, "no .py file"),
       "a benchmark without a file is refused");
}

SUITE(overlap)
{
    test_against_a_table();
    test_border();
    test_ngrams();
    test_threads();
}
