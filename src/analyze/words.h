/* words.h: which primitives of its language a run has seen and used. */
#ifndef ANALYZE_WORDS_H
#define ANALYZE_WORDS_H

#include "analyze/analyze.h"
#include "base/map.h"

/* A stored text, "" when there is none; lives in `a`. */
int words_text(struct analyze_run *r, const char *hash, struct arena *a,
               struct str *out, struct err *e);
/* Adds the primitives of a stored program to `set`; see facts/primitives.h. Each
 * program is read once. */
int words_add(struct analyze_run *r, const char *hash, struct map *set,
              struct err *e);
/* What every prompt of the run began with: instructions, guide and card. Empty
 * when no prompt is stored. */
int words_guide(struct analyze_run *r, struct arena *a, struct str *out,
                struct err *e);
/* The primitives that the run was taught: those of its seeds, in `seeds`, and
 * those that its guide mentions as well, in `all`. */
int words_taught(struct analyze_run *r, struct map *seeds, struct map *all,
                 struct arena *a, struct err *e);
/* Whether a text has the last part of a name as a whole word. */
bool words_has(const char *text, const char *name);
/* Adds one to the number of each name in `set`; the numbers live in `a`. */
void words_count(struct map *into, const struct map *set, struct arena *a);
/* The number of a name; 0: it is not there. */
int64_t words_number(const struct map *m, struct str name);

/* Which primitives a run used, and which it was taught. */
struct words_usage {
    struct map solved; /* name to the number of solved kernels that use it */
    struct map failed; /* … of failed attempts */
    struct map seeds, taught; /* see words_taught() */
    struct arena memory;
};
/* Release it in either case. */
int words_usage_read(struct analyze_run *r, struct words_usage *u,
                     struct err *e);
void words_usage_release(struct words_usage *u);

/* "a, b, c", in the order of their names. */
const char *words_join(const struct map *set, struct arena *a);
/* The keys of a set, sorted; `set->len` of them. */
const char **words_sorted(const struct map *set, struct arena *a);

#endif
