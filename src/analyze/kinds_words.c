/* kinds_words.c: which primitives solved kernels use, and how long they are. */
#include "analyze/kinds.h"
#include "analyze/words.h"
#include "source/primitives.h"
#include "source/py_strip.h"

#include <stdlib.h>
#include <string.h>

/* Lines with code. */
static int64_t count_lines(struct str code, struct arena *a)
{
    struct str rest = py_strip(code, true, a), line;
    int64_t n = 0;

    while (str_cut(&rest, '\n', &line))
        n += str_trim(line).n > 0;
    return n + (str_trim(rest).n > 0);
}

static int put_kernel(struct analyze_run *r, const struct analyze_task *x,
                      struct table *t, struct err *e)
{
    const struct run_attempt *at = analyze_solution(x);
    struct arena a;
    struct map set;
    struct str code;
    int rc;

    arena_init(&a);
    map_init(&set);
    rc = words_text(r, at->row.code, &a, &code, e);
    if (rc == 0) {
        primitives_of(code, &set, NULL, &a);
        table_text(t, r->name);
        table_text(t, x->task->row.id);
        table_int(t, at->row.attempt);
        table_int(t, count_lines(code, &a));
        table_int(t, (int64_t)set.len);
        table_text(t, words_join(&set, &a));
    }
    map_release(&set);
    arena_release(&a);
    return rc;
}

int kind_features(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {
        "run", "task", "attempt", "lines", "primitives", "names", NULL};

    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++)
        for (size_t k = 0; k < a->run[i].tasks; k++)
            if (a->run[i].task[k].solved_at &&
                put_kernel(&a->run[i], &a->run[i].task[k], t, e) < 0)
                return -1;
    table_note(t, "lines with code, without comments; primitives: what the "
                  "kernel calls of its language");
    return table_rows(t) ? 0 : table_lacks(t, "no task is solved");
}

/* ---- by primitive ---- */

static void put_usage(const struct analyze_run *r, struct words_usage *u,
                      struct table *t)
{
    struct map all;
    const char **name;

    map_init(&all);
    words_count(&all, &u->solved, &u->memory);
    words_count(&all, &u->failed, &u->memory);
    words_count(&all, &u->taught, &u->memory);
    name = words_sorted(&all, &u->memory);
    for (size_t i = 0; i < all.len; i++) {
        struct str key = str_of(name[i]);
        int64_t solved = words_number(&u->solved, key);

        table_text(t, r->name);
        table_text(t, name[i]);
        table_int(t, solved);
        table_share(t, r->solved ? (double)solved / (double)r->solved : 0);
        table_int(t, words_number(&u->failed, key));
        table_text(t, map_get(&u->seeds, key)    ? "seeds"
                      : map_get(&u->taught, key) ? "guide"
                                                 : "no");
    }
    map_release(&all);
}

int kind_primitives(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {"run",   "primitive",       "solved",
                                        "share", "failed attempts", "taught",
                                        NULL};

    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++) {
        struct words_usage u;
        int rc = words_usage_read(&a->run[i], &u, e);

        if (rc == 0)
            put_usage(&a->run[i], &u, t);
        words_usage_release(&u);
        if (rc < 0)
            return -1;
    }
    table_note(t, "solved: kernels that use it; taught: shown by a seed, or "
                  "only mentioned by the guide, or neither");
    return table_rows(t) ? 0 : table_lacks(t, "no program is stored");
}
