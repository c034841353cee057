/* diff.c: edits in SEARCH/REPLACE blocks. All are made, or none: a block that
 * is not found, or found twice, is told to the model with its nearest place. */
#include "prompt/extract.h"

#include "base/mem.h"
#include "prompt/extract_int.h"
#include "prompt/fences.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCKS 1000
#define MAX_TRIES  16 /* lines of "=" that may divide a block */
#define LOOK_LINES 4  /* of a block, when its nearest place is looked for */
#define BUCKETS    1024

struct lines {
    struct str *at;
    size_t len;
};

/* With room for `more` lines. */
static struct lines split(struct str text, size_t more, struct arena *a)
{
    struct lines l = {NULL, 0};
    struct str rest = text, line;
    size_t count = 1;

    while (str_cut(&rest, '\n', &line))
        count++;
    l.at = arena_alloc(a, (count + more) * sizeof(*l.at));
    rest = text;
    while (str_cut(&rest, '\n', &line))
        l.at[l.len++] = line;
    if (rest.n)
        l.at[l.len++] = rest;
    return l;
}

static struct lines part(struct lines l, size_t from, size_t to)
{
    return (struct lines){l.at + from, to - from};
}

/* ---- reading blocks ---- */

/* "<<<<<<< SEARCH": five to nine marks, then the word. */
static bool is_mark(struct str line, char mark, const char *word)
{
    size_t n = 0;

    line = str_trim(line);
    while (n < line.n && line.p[n] == mark)
        n++;
    line = str_trim((struct str){line.p + n, line.n - n});
    return n >= 5 && n <= 9 && str_eq(line, word);
}

struct block {
    size_t search, end; /* lines: behind SEARCH, and that of REPLACE */
};

struct edit {
    struct lines reply;
    struct block *block;
    size_t count;
    bool open; /* the last block does not end */
    bool full; /* there are more than are made */
};

/* A SEARCH before the end of a block means that the one before was left. */
static void read_blocks(struct edit *d, struct arena *a)
{
    size_t start = 0;

    d->block = arena_alloc(a, MAX_BLOCKS * sizeof(*d->block));
    for (size_t i = 0; i < d->reply.len && !d->full; i++) {
        struct str line = d->reply.at[i];

        if (is_mark(line, '<', "SEARCH")) {
            start = i + 1;
            d->open = true;
            d->full = d->count == MAX_BLOCKS;
        } else if (d->open && is_mark(line, '>', "REPLACE")) {
            d->block[d->count++] = (struct block){start, i};
            d->open = false;
        }
    }
}

/* ---- matching ---- */

static struct str without_end_blanks(struct str s)
{
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

static bool same_line(struct str a, struct str b)
{
    return str_same(without_end_blanks(a), without_end_blanks(b));
}

static bool matches_at(struct lines text, size_t at, struct lines search)
{
    for (size_t i = 0; i < search.len; i++)
        if (!same_line(text.at[at + i], search.at[i]))
            return false;
    return true;
}

struct place {
    size_t first, second;
};

/* How often `search` is there: 0, 1, or 2 for more. */
static int find(struct lines text, struct lines search, struct place *at)
{
    int found = 0;

    for (size_t i = 0; search.len && i + search.len <= text.len; i++)
        if (matches_at(text, i, search)) {
            *(found ? &at->second : &at->first) = i;
            if (++found == 2)
                break;
        }
    return found;
}

/* ---- the nearest place ---- */

static size_t bucket(const char *p)
{
    return ((unsigned char)p[0] * 31u + (unsigned char)p[1]) % BUCKETS;
}

/* How alike two lines are, 0 to 1: pairs of bytes they have in common. */
static double alike(struct str a, struct str b)
{
    uint16_t count[BUCKETS] = {0};
    size_t common = 0;

    a = str_trim(a);
    b = str_trim(b);
    if (str_same(a, b))
        return 1;
    if (a.n < 2 || b.n < 2 || a.n > 1000 || b.n > 1000)
        return 0;
    for (size_t i = 0; i + 1 < a.n; i++)
        count[bucket(a.p + i)]++;
    for (size_t i = 0; i + 1 < b.n; i++)
        if (count[bucket(b.p + i)]) {
            count[bucket(b.p + i)]--;
            common++;
        }
    return 2.0 * (double)common / (double)(a.n + b.n - 2);
}

/* The line of `text` where the first lines of the block fit best. */
static size_t nearest(struct lines text, struct lines search)
{
    double best = -1;
    size_t at = 0;

    for (size_t i = 0; i < text.len && i < 10000; i++) {
        double sum = 0;

        for (size_t k = 0; k < search.len && k < LOOK_LINES; k++)
            if (i + k < text.len)
                sum += alike(text.at[i + k], search.at[k]);
        if (sum > best) {
            best = sum;
            at = i;
        }
    }
    return at;
}

/* ---- telling ---- */

/* Leading blank lines say nothing. */
static struct str first_line(struct lines l)
{
    for (size_t i = 0; i < l.len; i++)
        if (str_trim(l.at[i]).n)
            return l.at[i];
    return (struct str){"(an empty SEARCH part)", 22};
}

static void advise(struct buf *out)
{
    buf_puts(out, "No edit was made. Copy the lines of a SEARCH part exactly "
                  "from the current program, as many as it takes to be "
                  "found once, or answer with the complete file in one fenced "
                  "block.\n");
}

static void tell_missing(struct buf *out, size_t number, struct lines text,
                         struct lines search)
{
    size_t at = nearest(text, search);

    buf_printf(out,
               "SEARCH block %zu is not in the current program. It begins "
               "with:\n",
               number);
    feedback_line(out, first_line(search));
    if (text.len && search.len) {
        buf_printf(out, "The nearest place is line %zu:\n", at + 1);
        for (size_t k = 0; k < search.len && k < LOOK_LINES; k++)
            if (at + k < text.len)
                feedback_line(out, text.at[at + k]);
    }
    advise(out);
}

static void tell_undivided(struct buf *out, size_t number)
{
    buf_printf(out,
               "SEARCH block %zu has no line '=======' between the lines to "
               "find and those to put in their place.\n",
               number);
    advise(out);
}

static void tell_twice(struct buf *out, size_t number, struct lines search,
                       const struct place *at)
{
    buf_printf(out,
               "SEARCH block %zu is in the current program more than once, at "
               "lines %zu and %zu. It begins with:\n",
               number, at->first + 1, at->second + 1);
    feedback_line(out, first_line(search));
    advise(out);
}

/* ---- applying ---- */

/* In place: the array of `text` has room for every line of the reply. */
static void put_lines(struct lines *text, size_t at, size_t count,
                      struct lines by)
{
    struct str *end = text->at + at + count;
    size_t rest = text->len - at - count;

    if (rest)
        memmove(text->at + at + by.len, end, rest * sizeof(*end));
    if (by.len)
        memcpy(text->at + at, by.at, by.len * sizeof(*end));
    text->len += by.len - count;
}

/* Without blank lines at either end. */
static struct lines trimmed(struct lines l)
{
    while (l.len && !str_trim(l.at[0]).n) {
        l.at++;
        l.len--;
    }
    while (l.len && !str_trim(l.at[l.len - 1]).n)
        l.len--;
    return l;
}

/* One way to read a block: 1 made, 0 not found, -1 found more than once. */
static int replace(struct lines *text, struct lines search, struct lines by,
                   struct place *at)
{
    int found = find(*text, search, at);

    if (!found) {
        search = trimmed(search);
        by = trimmed(by);
        found = find(*text, search, at);
    }
    if (found == 1)
        put_lines(text, at->first, search.len, by);
    return found > 1 ? -1 : found;
}

/* A line of "=" may belong to the code, so each is tried as the divider until
 * the lines above it are found. */
static bool apply_block(const struct edit *d, size_t n, struct lines *text,
                        struct buf *feedback)
{
    const struct block *b = &d->block[n];
    struct lines first = part(d->reply, b->search, b->end);
    int tries = 0, made = 0;
    struct place at;

    for (size_t i = b->search; !made && i < b->end && tries < MAX_TRIES; i++) {
        struct lines above = part(d->reply, b->search, i);

        if (!is_mark(d->reply.at[i], '=', ""))
            continue;
        if (tries++ == 0)
            first = above;
        made = replace(text, above, part(d->reply, i + 1, b->end), &at);
        if (made < 0)
            tell_twice(feedback, n + 1, above, &at);
    }
    if (!made && !tries)
        tell_undivided(feedback, n + 1);
    else if (!made)
        tell_missing(feedback, n + 1, *text, first);
    return made > 0;
}

static struct str join(struct lines text, struct arena *a)
{
    struct str all = {NULL, 0};
    size_t n = 0;
    char *p;

    for (size_t i = 0; i < text.len; i++)
        n += text.at[i].n + 1;
    all.p = p = arena_alloc(a, n + 1);
    for (size_t i = 0; i < text.len; i++) {
        memcpy(p + all.n, text.at[i].p, text.at[i].n);
        all.n += text.at[i].n + 1;
        p[all.n - 1] = '\n';
    }
    return all;
}

static enum extract_outcome finish(struct lines text, const char *must_define,
                                   struct arena *a, struct buf *code,
                                   struct buf *feedback)
{
    struct py_problem problem = {0};
    struct str all = join(text, a);
    enum program is = program_check(all, must_define, a, &problem, NULL);

    if (is == PROGRAM_WHOLE) {
        buf_put(code, all.p, all.n);
        return EXTRACT_CODE;
    }
    if (is == PROGRAM_BROKEN) {
        buf_puts(feedback, "With these edits the program is not valid "
                           "Python: ");
        feedback_problem(feedback, all, &problem);
    } else {
        buf_printf(feedback,
                   "With these edits the program has no class %s at its top "
                   "level.\n",
                   must_define);
    }
    return EXTRACT_NO_CODE;
}

static enum extract_outcome apply(struct edit *d, struct str parent,
                                  const char *must_define, struct arena *a,
                                  struct buf *code, struct buf *feedback)
{
    struct lines text = split(parent, d->reply.len, a);

    if (d->full) {
        buf_printf(feedback, "The reply has more than %d edits. ", MAX_BLOCKS);
        advise(feedback);
        return EXTRACT_UNMATCHED;
    }
    for (size_t i = 0; i < d->count; i++)
        if (!apply_block(d, i, &text, feedback))
            return EXTRACT_UNMATCHED;
    return finish(text, must_define, a, code, feedback);
}

static enum extract_outcome left_open(bool cut, struct buf *feedback)
{
    if (cut) {
        buf_puts(feedback, "The reply was cut at the token limit inside an "
                           "edit. No edit was made. Explain less, and edit "
                           "fewer lines.\n");
        return EXTRACT_TRUNCATED;
    }
    buf_puts(feedback, "The last edit has no line '>>>>>>> REPLACE' at its "
                       "end.\n");
    advise(feedback);
    return EXTRACT_UNMATCHED;
}

enum extract_outcome extract_diff(struct str reply, struct str parent,
                                  const char *must_define, bool cut,
                                  struct buf *code, struct buf *feedback)
{
    enum extract_outcome outcome;
    struct edit d = {0};
    struct arena a;

    arena_init(&a);
    d.reply = split(reply_answer(reply_plain(reply, &a)), 0, &a);
    read_blocks(&d, &a);
    if (d.open && !d.full)
        outcome = left_open(cut, feedback);
    else if (d.count)
        outcome =
            apply(&d, reply_plain(parent, &a), must_define, &a, code, feedback);
    else
        outcome = extract_code(reply, must_define, cut, code, feedback, NULL);
    arena_release(&a);
    return outcome;
}
