/* str.h: borrowed slices of text. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
    const char *p;
    size_t n;
};

#define STR_LIT(s)         \
    (struct str)           \
    {                      \
        (s), sizeof(s) - 1 \
    }

struct str str_of(const char *s);
bool str_eq(struct str a, const char *b);
bool str_same(struct str a, struct str b);
/* Whether `word` is one of `list`, whose words stand apart by single blanks. */
bool str_in(struct str word, const char *list);
bool str_starts(struct str s, const char *prefix);
bool str_ends(struct str s, const char *suffix);
struct str str_trim(struct str s); /* without white space at either end */
/* Splits at the first `c`: *head before it, *s after it; false when there is none. */
bool str_cut(struct str *s, char c, struct str *head);
/* Takes the next of the parts that a `c` stands between, also an empty one; false after
 * the last: rest->p is NULL then. */
bool str_part(struct str *rest, char c, struct str *part);
/* A whole decimal number within [lo, hi], or false. */
bool str_to_i64(struct str s, int64_t lo, int64_t hi, int64_t *out);
/* A non-negative decimal number, exactly, in units of 10^-places: with 6 places
 * "2.5" is 2500000. False when it is not a number, has more decimal places
 * (other than zeros), or does not fit. */
bool str_to_fixed(struct str s, int places, int64_t *out);

/* Offset of the first byte that is not UTF-8, or `n` when all of it is. */
size_t str_utf8_check(const char *p, size_t n);
/* The largest length up to `most` (and `n`) that cuts no character in two. */
size_t str_utf8_cut(const char *p, size_t n, size_t most);
/* Decodes the code point at p (n >= 1 bytes of valid UTF-8); returns its length. */
size_t str_utf8_decode(const char *p, size_t n, uint32_t *cp);

/* The name that was probably meant by `word`, or NULL when none is close. */
const char *str_nearest(const char *word, const char *const *names,
                        size_t count);

#endif
