/* evolve_grid.c: complexity and diversity of a program, the cell they give. */
#include "search/evolve_int.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* ---- traits ---- */

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Counts characters; a byte that is not UTF-8 counts as one. */
void traits_init(struct traits *t, const char *code)
{
    size_t n = strlen(code), valid = str_utf8_check(code, n), kept = 0;

    *t = (struct traits){.set = xcalloc(n, sizeof(*t->set))};
    for (size_t i = 0; i < n; t->chars++) {
        uint32_t c = (unsigned char)code[i];

        t->lines += c == '\n';
        i += i < valid ? str_utf8_decode(code + i, valid - i, &c) : 1;
        t->set[t->chars] = c;
    }
    qsort(t->set, t->chars, sizeof(*t->set), by_value);
    for (size_t i = 0; i < t->chars; i++)
        if (i == 0 || t->set[i] != t->set[i - 1])
            t->set[kept++] = t->set[i];
    t->set_len = kept;
    t->set = xreallocarray(t->set, kept + 1, sizeof(*t->set));
}

void traits_release(struct traits *t)
{
    free(t->set);
}

static size_t apart(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* Characters that only one of the two has. */
static size_t unshared(const struct traits *a, const struct traits *b)
{
    size_t i = 0, j = 0, both = 0;

    while (i < a->set_len && j < b->set_len) {
        uint32_t x = a->set[i], y = b->set[j];

        both += x == y;
        i += x <= y;
        j += y <= x;
    }
    return a->set_len + b->set_len - 2 * both;
}

double traits_distance(const struct traits *a, const struct traits *b)
{
    return (double)apart(a->chars, b->chars) * 0.1 +
           (double)apart(a->lines, b->lines) * 10.0 +
           (double)unshared(a, b) * 0.5;
}

/* ---- diversity ---- */

static bool same_code(const struct program *a, const struct program *b)
{
    return strcmp(a->code, b->code) == 0;
}

/* The living programs in the order of coming. */
static size_t living(const struct evolve_db *db, size_t *out)
{
    size_t n = 0;

    for (size_t i = 0; i < db->len; i++)
        if (db->p[i].alive)
            out[n++] = i;
    return n;
}

/* The distance of a program to the nearest one that is already chosen. */
static double to_nearest(const struct evolve_db *db, size_t i)
{
    double least = -1;

    for (size_t r = 0; r < db->references; r++) {
        double d =
            traits_distance(&db->p[i].traits, &db->p[db->reference[r]].traits);

        if (least < 0 || d < least)
            least = d;
    }
    return least;
}

/* Begins with a random program, then always takes the one farthest from those
 * chosen. */
static void spread(struct evolve_db *db, size_t *left, size_t n,
                   struct rng *rng)
{
    size_t next = (size_t)rng_below(rng, n);

    db->references = 0;
    for (;;) {
        double most = -1;

        db->reference[db->references++] = left[next];
        memmove(left + next, left + next + 1, (n - next - 1) * sizeof(*left));
        n--;
        if (db->references == db->o.references)
            return;
        for (size_t i = 0; i < n; i++) {
            double d = to_nearest(db, left[i]);

            if (d > most) {
                most = d;
                next = i;
            }
        }
    }
}

/* What diversity is measured against: all programs while they are few, then a
 * choice that stays. */
static void update_references(struct evolve_db *db, struct rng *rng)
{
    size_t *all, n;

    if (db->references == db->o.references)
        return;
    all = xcalloc(db->len, sizeof(*all));
    n = living(db, all);
    if (n <= db->o.references) {
        memcpy(db->reference, all, n * sizeof(*all));
        db->references = n;
    } else {
        spread(db, all, n, rng);
    }
    free(all);
}

static double diversity_of(const struct evolve_db *db, const struct program *p)
{
    double sum = 0;
    size_t n = 0;

    for (size_t r = 0; r < db->references; r++) {
        const struct program *ref = &db->p[db->reference[r]];

        if (same_code(ref, p))
            continue;
        sum += traits_distance(&p->traits, &ref->traits);
        n++;
    }
    return n ? sum / (double)n : 0;
}

/* ---- the grid ---- */

static void widen(struct range *r, double value)
{
    if (!r->any || value < r->min)
        r->min = value;
    if (!r->any || value > r->max)
        r->max = value;
    r->any = true;
}

static size_t bin(const struct range *r, double value, size_t bins)
{
    double part = 0.5;
    size_t i;

    if (r->max > r->min)
        part = (value - r->min) / (r->max - r->min);
    i = (size_t)(part * (double)bins);
    return i < bins ? i : bins - 1;
}

void evolve_measure(struct evolve_db *db, size_t i, struct rng *rng)
{
    struct program *p = &db->p[i];

    widen(&db->complexity, (double)p->traits.chars);
    if (db->alive < 2)
        return; /* nothing to differ from */
    for (size_t j = 0; j < i && !p->measured; j++)
        if (db->p[j].measured && same_code(&db->p[j], p)) {
            p->diversity = db->p[j].diversity;
            p->measured = true;
        }
    if (!p->measured) {
        update_references(db, rng);
        p->diversity = diversity_of(db, p);
        p->measured = true;
    }
    widen(&db->diversity, p->diversity);
}

struct cell evolve_cell(const struct evolve_db *db, const struct program *p)
{
    return (struct cell){
        {bin(&db->complexity, (double)p->traits.chars, db->o.bins),
         p->measured ? bin(&db->diversity, p->diversity, db->o.bins) : 0}};
}
