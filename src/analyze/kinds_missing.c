/* kinds_missing.c: what unsolved tasks would have needed, and whether the run
 * had it. */
#include "analyze/kinds.h"
#include "analyze/words.h"
#include "base/mem.h"
#include "source/operators.h"
#include "source/primitives.h"
#include "source/py_lex.h"
#include "verify/verdict.h"
#include "views/views.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- what a reference computes ---- */

/* In the order of computing; NULL at the end. */
static int chain_of(struct analyze_run *r, const struct analyze_task *x,
                    struct arena *a, const char ***out, struct err *e)
{
    struct py_tokens t;
    struct str source;

    if (words_text(r, x->task->row.source, a, &source, e) < 0)
        return -1;
    py_lex(&t, source, a);
    *out = operators_chain(&t, a);
    return 0;
}

static void put_in(struct map *set, const char *name)
{
    map_set(set, str_of(name), set);
}

/* Its operators, or (`pairs`) each two that follow each other. */
static int add_operators(struct analyze_run *r, const struct analyze_task *x,
                         bool pairs, struct map *set, struct err *e)
{
    const char **op = NULL;
    struct arena a;
    int rc;

    arena_init(&a);
    rc = chain_of(r, x, &a, &op, e);
    for (; rc == 0 && *op; op++)
        if (!pairs)
            put_in(set, *op);
        else if (op[1])
            put_in(set, arena_printf(&a, "%s > %s", op[0], op[1]));
    arena_release(&a);
    return rc;
}

/* ---- coverage (section 2) ---- */

struct covered {
    size_t tasks, whole;
    double sum; /* of the shares of components that are there */
};

static void cover(struct covered *c, const struct map *needed,
                  const struct map *there)
{
    size_t found = 0;

    for (size_t i = 0; i < needed->len; i++)
        found += map_get(there, (struct str){needed->items[i].key,
                                             needed->items[i].key_len}) != NULL;
    if (!needed->len)
        return;
    c->tasks++;
    c->whole += found == needed->len;
    c->sum += (double)found / (double)needed->len;
}

static void put_covered(struct table *t, const struct analyze_run *r,
                        const char *components, const struct covered *c)
{
    double n = (double)c->tasks;

    if (!c->tasks)
        return;
    table_text(t, r->name);
    table_text(t, components);
    table_int(t, (int64_t)c->tasks);
    table_int(t, (int64_t)c->whole);
    table_share(t, (double)c->whole / n);
    table_share(t, c->sum / n);
    table_int(t, (int64_t)(c->tasks - c->whole));
}

static int cover_operators(struct analyze_run *r, bool pairs, struct table *t,
                           struct err *e)
{
    struct covered c = {0};
    struct map there, needed;
    int rc = 0;

    map_init(&there);
    for (size_t i = 0; rc == 0 && i < r->tasks; i++)
        if (r->task[i].solved_at)
            rc = add_operators(r, &r->task[i], pairs, &there, e);
    for (size_t i = 0; rc == 0 && i < r->tasks; i++) {
        if (r->task[i].solved_at)
            continue;
        map_init(&needed);
        rc = add_operators(r, &r->task[i], pairs, &needed, e);
        cover(&c, &needed, &there);
        map_release(&needed);
    }
    put_covered(t, r,
                pairs ? "neighbouring operators of the reference"
                      : "operators of the reference",
                &c);
    map_release(&there);
    return rc;
}

/* The task in another of the runs, solved there; NULL: in none. */
static const struct analyze_task *solved_elsewhere(struct analysis *a,
                                                   const struct analyze_run *r,
                                                   const struct analyze_task *x,
                                                   struct analyze_run **where)
{
    const struct analyze_task *y;

    for (size_t i = 0; i < a->runs; i++) {
        struct analyze_run *other = &a->run[i];

        if (other == r || strcmp(other->dsl, r->dsl) != 0)
            continue;
        *where = other;
        y = map_get(&other->solved_by_hash, str_of(x->task->row.hash));
        if (y)
            return y;
    }
    return NULL;
}

/* What the run had: its seeds, and the kernels that it solved. */
static int add_known(struct analyze_run *r, struct map *set, struct err *e)
{
    for (size_t i = 0; i < r->view.entries; i++) {
        const struct row_entry *x = &r->view.entry[i];

        if (strcmp(x->origin, "run") != 0 &&
            words_add(r, x->solution, set, e) < 0)
            return -1;
    }
    for (size_t i = 0; i < r->tasks; i++) {
        const struct run_attempt *at = analyze_solution(&r->task[i]);

        if (at && words_add(r, at->row.code, set, e) < 0)
            return -1;
    }
    return 0;
}

static int cover_primitives(struct analysis *an, struct analyze_run *r,
                            struct table *t, struct err *e)
{
    struct covered c = {0};
    struct map there, needed;
    int rc;

    map_init(&there);
    rc = add_known(r, &there, e);
    for (size_t i = 0; rc == 0 && i < r->tasks; i++) {
        struct analyze_run *where = NULL;
        const struct analyze_task *y =
            r->task[i].solved_at ? NULL
                                 : solved_elsewhere(an, r, &r->task[i], &where);

        if (!y)
            continue;
        map_init(&needed);
        rc = words_add(where, analyze_solution(y)->row.code, &needed, e);
        cover(&c, &needed, &there);
        map_release(&needed);
    }
    put_covered(t, r, "primitives of another run's kernel", &c);
    map_release(&there);
    return rc;
}

int kind_coverage(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {
        "run",   "components",   "unsolved", "all present",
        "share", "mean covered", "with new", NULL};
    size_t unsolved = 0;

    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++) {
        unsolved += a->run[i].tasks - a->run[i].solved;
        if (cover_operators(&a->run[i], false, t, e) < 0 ||
            cover_operators(&a->run[i], true, t, e) < 0 ||
            cover_primitives(a, &a->run[i], t, e) < 0)
            return -1;
    }
    table_note(t, "all present: unsolved tasks whose components all occur in "
                  "solved ones of the run; with new: the others");
    if (!unsolved)
        return table_lacks(t, "every task is solved");
    return table_rows(t) ? 0
                         : table_lacks(t, "no reference of an unsolved task "
                                          "has an operator that is known");
}

/* ---- unsolved (appendix O) ---- */

/* Operators that need no primitive: arithmetic, and what moves or names
 * memory. */
static bool is_plain(const char *op)
{
    static const char *const plain[] = {
        "add",       "sub",        "mul",        "div",       "neg",
        "pow",       "lt",         "le",         "gt",        "ge",
        "eq",        "ne",         "view",       "reshape",   "permute",
        "transpose", "contiguous", "size",       "unsqueeze", "squeeze",
        "expand",    "flatten",    "to",         "float",     "dim",
        "zeros",     "ones",       "empty",      "detach",    "clone",
        "type",      "shape",      "t",          "expand_as", "view_as",
        "Parameter", "ModuleList", "Sequential", NULL};

    for (size_t i = 0; plain[i]; i++)
        if (strcmp(op, plain[i]) == 0)
            return true;
    return false;
}

/* A solved kernel: what its reference computes, and the words it uses. */
struct pairing {
    struct map ops, words;
};

struct lexicon {
    struct pairing *kernel;
    size_t kernels;
    struct map word; /* by operator, as far as it was asked for */
    struct arena memory;
};

static int lexicon_read(struct analysis *a, struct lexicon *l, struct err *e)
{
    size_t room = 1;

    *l = (struct lexicon){0};
    arena_init(&l->memory);
    map_init(&l->word);
    for (size_t i = 0; i < a->runs; i++)
        room += a->run[i].solved;
    l->kernel = arena_alloc(&l->memory, room * sizeof(*l->kernel));
    for (size_t i = 0; i < a->runs; i++)
        for (size_t k = 0; k < a->run[i].tasks; k++) {
            struct analyze_run *r = &a->run[i];
            const struct run_attempt *at = analyze_solution(&r->task[k]);
            struct pairing *p = &l->kernel[l->kernels];

            if (!at)
                continue;
            map_init(&p->ops);
            map_init(&p->words);
            l->kernels++;
            if (add_operators(r, &r->task[k], false, &p->ops, e) < 0 ||
                words_add(r, at->row.code, &p->words, e) < 0)
                return -1;
        }
    return 0;
}

static void lexicon_release(struct lexicon *l)
{
    for (size_t i = 0; i < l->kernels; i++) {
        map_release(&l->kernel[i].ops);
        map_release(&l->kernel[i].words);
    }
    map_release(&l->word);
    arena_release(&l->memory);
}

/* In how many kernels a word is; `op` NULL: of all, else of those whose
 * reference has the operator. Returns how many these are. */
static size_t count_words(const struct lexicon *l, const char *op,
                          struct map *out, struct arena *a)
{
    size_t n = 0;

    for (size_t i = 0; i < l->kernels; i++)
        if (!op || map_get(&l->kernel[i].ops, str_of(op))) {
            words_count(out, &l->kernel[i].words, a);
            n++;
        }
    return n;
}

static double number_in(const struct map *m, const struct map_item *key)
{
    return (double)words_number(m, (struct str){key->key, key->key_len});
}

/* Of the words in four of five kernels with the operator, the one that the
 * other kernels have least; NULL: it does not stand out, or there are fewer
 * than two. The caller frees it. */
static char *choose_word(const struct lexicon *l, const char *op)
{
    const char *best = NULL;
    double least = 0.5; /* between the shares with and without the operator */
    struct map with, all;
    struct arena a;
    char *found;
    double n, rest;

    arena_init(&a);
    map_init(&with);
    map_init(&all);
    n = (double)count_words(l, op, &with, &a);
    rest = (double)count_words(l, NULL, &all, &a) - n;
    for (size_t i = 0; n >= 2 && i < with.len; i++) {
        double here = number_in(&with, &with.items[i]),
               there = number_in(&all, &with.items[i]) - here,
               lift = here / n - (rest > 0 ? there / rest : 0);

        if (here >= 0.8 * n && lift > least) {
            least = lift;
            best = with.items[i].key;
        }
    }
    found = best ? xstrdup(best) : NULL;
    map_release(&with);
    map_release(&all);
    arena_release(&a);
    return found;
}

/* The word that goes with an operator in solved kernels; "": none does. */
static const char *word_for(struct lexicon *l, const char *op)
{
    const char *word = map_get(&l->word, str_of(op));

    if (!word) {
        char *found = choose_word(l, op);

        word = arena_strdup(&l->memory, found ? found : "");
        free(found);
        map_set(&l->word, str_of(op), (void *)word);
    }
    return word;
}

/* The guide of a run, and which operators were looked for in it. */
struct guide {
    struct str text;
    struct map known; /* to "y" or "" */
};

/* What a task could see: guide, its examples, its own code; of the programs,
 * their primitives. */
struct seen {
    struct guide *guide;
    struct map examples, code;
};

static bool guide_shows(struct guide *g, const char *op, const char *word)
{
    const char *known = map_get(&g->known, str_of(op));

    if (!known) {
        known = primitives_mentioned(g->text, op) ||
                        primitives_mentioned(g->text, word)
                    ? "y"
                    : "";
        map_set(&g->known, str_of(op), (void *)known);
    }
    return known[0];
}

static int read_seen(struct analyze_run *r, const struct run_task *task,
                     struct seen *s, struct err *e)
{
    for (size_t i = 0; i < task->attempts; i++) {
        const struct run_attempt *at = &task->attempt[i];

        if (words_add(r, at->row.code, &s->code, e) < 0)
            return -1;
        for (size_t k = 0; k < at->shown_len; k++) {
            const struct row_entry *x =
                run_view_entry(&r->view, at->shown[k].entry);

            if (x && words_add(r, x->solution, &s->examples, e) < 0)
                return -1;
        }
    }
    return 0;
}

/* "cumsum" of "language.cumsum". */
static const char *last_part(const char *name)
{
    const char *last = strrchr(name, '.'), *colon = strrchr(name, ':');

    if (colon && (!last || colon > last))
        last = colon;
    return last ? last + 1 : name;
}

static bool uses(const struct map *words, const char *op, const char *word)
{
    for (size_t i = 0; i < words->len; i++) {
        const char *last = last_part(words->items[i].key);

        if (strcasecmp(last, op) == 0 || strcasecmp(last, last_part(word)) == 0)
            return true;
    }
    return false;
}

struct flags {
    int64_t ops, guide, examples, code;
    struct buf never; /* operators that were visible nowhere */
};

static void look_for(struct lexicon *l, const struct seen *s,
                     const struct map *ops, struct flags *f)
{
    for (size_t i = 0; i < ops->len; i++) {
        const char *op = ops->items[i].key, *word;
        bool guide, example, own;

        if (is_plain(op))
            continue;
        word = word_for(l, op);
        guide = guide_shows(s->guide, op, word);
        example = uses(&s->examples, op, word);
        own = uses(&s->code, op, word);
        f->ops++;
        f->guide += guide;
        f->examples += example;
        f->code += own;
        if (!guide && !example && !own)
            buf_printf(&f->never, "%s%s", f->never.len ? ", " : "", op);
    }
}

static const char *verdict_mix(const struct run_task *task, struct arena *a)
{
    const char *text = "";

    for (enum verdict v = 0; v < VERDICTS; v++) {
        int n = 0;

        for (size_t i = 0; i < task->attempts; i++)
            n += verdict_of(task->attempt[i].row.verdict) == v;
        if (n)
            text = arena_printf(a, "%s%s%d %s", text, *text ? ", " : "", n,
                                verdicts[v].name);
    }
    return text;
}

static const char *join_chain(const char **op, struct arena *a)
{
    const char *text = "";

    for (; *op; op++)
        text = arena_printf(a, "%s%s%s", text, *text ? " > " : "", *op);
    return text;
}

static int put_unsolved(struct analyze_run *r, const struct analyze_task *x,
                        struct lexicon *l, struct guide *guide, struct table *t,
                        struct err *e)
{
    struct seen s = {.guide = guide};
    struct flags f = {0};
    const char **op;
    struct arena a;
    struct map ops;
    int rc = -1;

    arena_init(&a);
    map_init(&ops);
    map_init(&s.examples);
    map_init(&s.code);
    buf_init(&f.never, BUF_UNLIMITED);
    if (chain_of(r, x, &a, &op, e) == 0 &&
        add_operators(r, x, false, &ops, e) == 0 &&
        read_seen(r, x->task, &s, e) == 0) {
        size_t length = 0;

        while (op[length])
            length++;
        look_for(l, &s, &ops, &f);
        table_text(t, r->name);
        table_text(t, x->task->row.id);
        table_text(t, views_family(x->task->row.ops));
        table_int(t, (int64_t)length);
        table_text(t, join_chain(op, &a));
        table_text(t, verdict_mix(x->task, &a));
        table_int(t, f.ops);
        if (guide->text.n)
            table_int(t, f.guide);
        else
            table_empty(t);
        table_int(t, f.examples);
        table_int(t, f.code);
        table_text(t, buf_str(&f.never));
        rc = 0;
    }
    map_release(&s.examples);
    map_release(&s.code);
    buf_release(&f.never);
    map_release(&ops);
    arena_release(&a);
    return rc;
}

int kind_unsolved(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {
        "run",         "task",     "family",        "length",
        "operators",   "attempts", "needed",        "in guide",
        "in examples", "in code",  "never visible", NULL};
    struct lexicon l;
    int rc = lexicon_read(a, &l, e);

    table_columns(t, names);
    for (size_t i = 0; rc == 0 && i < a->runs; i++) {
        struct analyze_run *r = &a->run[i];
        struct guide guide;

        map_init(&guide.known);
        rc = words_guide(r, &a->memory, &guide.text, e);
        for (size_t k = 0; rc == 0 && k < r->tasks; k++)
            if (!r->task[k].solved_at)
                rc = put_unsolved(r, &r->task[k], &l, &guide, t, e);
        map_release(&guide.known);
    }
    lexicon_release(&l);
    if (rc < 0)
        return -1;
    table_note(t, "needed: operators of the reference that are more than "
                  "arithmetic; a text shows one if it has a word of that name, "
                  "or the word that solved kernels use for it");
    return table_rows(t) ? 0 : table_lacks(t, "every task is solved");
}
