/* extract.c: the program, the edits, the plan or the JSON in a reply.
 *
 * A reply is foreign text, and what is taken from it is judged as the model's work.
 * So it is read the way a person would: thoughts are passed over, the last complete
 * program counts, a fence in a docstring ends nothing. But nothing is mended or
 * guessed: all edits are made, or none, and JSON is taken as it stands. What cannot
 * be read is told to the model, with the place. Any other rule would give one model
 * verdicts for programs that it did not write. */
#include "prompt/extract.h"

#include "base/mem.h"
#include "prompt/files.h"
#include "source/py_normal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- thoughts ---- */

static const char *const thought_openers[] = {"<think>", "<thinking>"};
static const char *const thought_closers[] = {"</think>", "</thinking>"};

/* Behind the last closing mark, or NULL. */
static const char *thought_behind(struct str s, const char *mark)
{
    size_t n = strlen(mark);
    const char *found = NULL, *at;

    while ((at = memmem(s.p, s.n, mark, n))) {
        found = at + n;
        s.n -= (size_t)(found - s.p);
        s.p = found;
    }
    return found;
}

/* The first opening mark that begins a line, or NULL. */
static const char *thought_first(struct str s, const char *mark)
{
    size_t n = strlen(mark);
    const char *at = s.p, *end = s.p + s.n;

    while (s.n && (at = memmem(at, (size_t)(end - at), mark, n))) {
        const char *line = memrchr(s.p, '\n', (size_t)(at - s.p));

        line = line ? line + 1 : s.p;
        if (!str_trim((struct str){line, (size_t)(at - line)}).n)
            return at;
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            break;
    }
    return NULL;
}

/* What the model said when it had done thinking: the text behind the last
 * </think>, up to a <think> that begins a line and is not closed. */
static struct str reply_answer(struct str reply)
{
    const char *at, *end = reply.p + reply.n;

    if (!reply.n || !memmem(reply.p, reply.n, "think", 5))
        return reply;
    for (size_t i = 0; i < 2; i++)
        if ((at = thought_behind(reply, thought_closers[i])))
            reply = (struct str){at, (size_t)(end - at)};
    for (size_t i = 0; i < 2; i++)
        if ((at = thought_first(reply, thought_openers[i])))
            reply.n = (size_t)(at - reply.p);
    return reply;
}

/* A copy with LF line ends and no byte order mark. */
static struct str reply_plain(struct str reply, struct arena *a)
{
    size_t n = 0;
    char *p;

    if (str_starts(reply, "\xef\xbb\xbf"))
        reply = (struct str){reply.p + 3, reply.n - 3};
    if (!reply.n || !memchr(reply.p, '\r', reply.n))
        return reply;
    p = arena_alloc_raw(a, reply.n + 1);
    for (size_t i = 0; i < reply.n; i++) {
        if (reply.p[i] != '\r')
            p[n++] = reply.p[i];
        else if (i + 1 == reply.n || reply.p[i + 1] != '\n')
            p[n++] = '\n';
    }
    return (struct str){p, n};
}

/* ---- fences ---- */

/* A line that may open or close a fenced block. */
struct fence {
    struct str line;    /* without its line end */
    const char *next;   /* start of the line behind it */
    size_t indent, run; /* blanks before it, length of ``` or ~~~ */
    char mark;
    bool bare; /* nothing behind the run: it can close */
};

static bool fence_read(struct str line, struct fence *f)
{
    struct str rest;

    *f = (struct fence){.line = line};
    while (f->indent < line.n &&
           (line.p[f->indent] == ' ' || line.p[f->indent] == '\t'))
        f->indent++;
    rest = (struct str){line.p + f->indent, line.n - f->indent};
    if (rest.n < 3 || (rest.p[0] != '`' && rest.p[0] != '~'))
        return false;
    f->mark = rest.p[0];
    while (f->run < rest.n && rest.p[f->run] == f->mark)
        f->run++;
    rest = (struct str){rest.p + f->run, rest.n - f->run};
    f->bare = str_trim(rest).n == 0;
    /* `code` in a line of prose opens nothing. */
    return f->run >= 3 &&
           (f->mark == '~' || rest.n == 0 || !memchr(rest.p, '`', rest.n));
}

static struct fence *fence_lines(struct str text, size_t *count,
                                 struct arena *a)
{
    struct fence *list = NULL, *kept, f;
    size_t len = 0, cap = 0;
    struct str line;

    while (str_part(&text, '\n', &line)) {
        if (!fence_read(line, &f))
            continue;
        f.next = text.p ? text.p : line.p + line.n;
        list = xgrow(list, &cap, len, sizeof(*list));
        list[len++] = f;
    }
    kept = arena_alloc(a, (len + 1) * sizeof(*kept));
    if (len)
        memcpy(kept, list, len * sizeof(*kept));
    free(list);
    *count = len;
    return kept;
}

/* Whether `b` closes what `a` opened. */
static bool fence_closes(const struct fence *a, const struct fence *b)
{
    return b->bare && b->mark == a->mark && b->run >= a->run;
}

/* A block whose text does not end where its first closing fence stands (a fence
 * in a docstring) may end at one of the next. */
#define MAX_CLOSERS 8
#define MAX_QUOTE   160 /* of a line of the model's, in feedback */
#define MAX_WORK    ((size_t)64 << 20) /* bytes looked at in one reply */

/* ---- is it a program? ---- */

/* What a text is, asked for the class it should define. */
enum program {
    PROGRAM_WHOLE,  /* Python that defines the class */
    PROGRAM_OTHER,  /* something without that class */
    PROGRAM_BROKEN, /* names the class, but is not Python: see the problem */
};

static bool program_starts_statement(const struct py_tokens *t, size_t i)
{
    return i == 0 || t->tok[i - 1].kind == PY_NEWLINE ||
           t->tok[i - 1].kind == PY_INDENT || t->tok[i - 1].kind == PY_DEDENT;
}

static bool program_defines(const struct py_tokens *t, const char *name)
{
    int depth = 0;

    for (size_t i = 0; i + 2 < t->len; i++) {
        const struct py_token *k = &t->tok[i];

        depth += k->kind == PY_INDENT;
        depth -= k->kind == PY_DEDENT;
        if (depth == 0 && py_is(k, "class") && program_starts_statement(t, i) &&
            py_is(k + 1, name) && (py_is(k + 2, "(") || py_is(k + 2, ":")))
            return true;
    }
    return false;
}

static enum program program_check(struct str text, const char *must_define,
                                  struct arena *a, struct py_problem *problem,
                                  char *normal)
{
    struct py_tokens t;

    if (!memmem(text.p, text.n, must_define, strlen(must_define)))
        return PROGRAM_OTHER;
    py_lex(&t, text, a);
    *problem = t.problem;
    if (t.problem.id)
        return PROGRAM_BROKEN;
    if (!program_defines(&t, must_define))
        return PROGRAM_OTHER;
    if (normal)
        py_normal_hash_tokens(&t, normal);
    return PROGRAM_WHOLE;
}

/* ---- text of a block ---- */

static size_t block_indent(struct str text)
{
    const char *first = NULL;
    size_t common = 0;
    struct str line;

    while (str_part(&text, '\n', &line)) {
        if (!str_trim(line).n)
            continue;
        if (!first) {
            first = line.p;
            while (common < line.n &&
                   (line.p[common] == ' ' || line.p[common] == '\t'))
                common++;
        }
        for (size_t i = 0; i < common; i++)
            if (i == line.n || line.p[i] != first[i])
                common = i;
    }
    return common;
}

/* Without the indentation that all its lines share, ending in one newline. */
static struct str block_text(struct str text, struct arena *a)
{
    size_t common = block_indent(text), n = 0;
    char *p = arena_alloc_raw(a, text.n + 2);
    struct str line;

    while (str_part(&text, '\n', &line)) {
        if (line.n > common) {
            memcpy(p + n, line.p + common, line.n - common);
            n += line.n - common;
        }
        p[n++] = '\n';
    }
    while (n > 1 && p[n - 1] == '\n' && p[n - 2] == '\n')
        n--;
    return (struct str){p, n};
}

/* ---- feedback ---- */

/* The line with this number, from 1. */
static struct str feedback_line_at(struct str text, size_t number)
{
    struct str line = {"", 0};

    for (; number > 1; number--)
        if (!str_cut(&text, '\n', &line))
            return (struct str){"", 0};
    return str_cut(&text, '\n', &line) ? line : text;
}

/* A line of the model's, indented, with its newline; long ones are cut. */
static void feedback_line(struct buf *out, struct str line)
{
    bool cut = line.n > MAX_QUOTE;

    line.n = str_utf8_check(line.p, cut ? MAX_QUOTE : line.n);
    buf_puts(out, "    ");
    buf_put(out, line.p, line.n);
    buf_puts(out, cut ? " …\n" : "\n");
}

static void feedback_problem(struct buf *out, struct str text,
                             const struct py_problem *problem)
{
    buf_printf(out, "line %u, column %u: %s. The line reads:\n", problem->line,
               problem->column, problem->message);
    feedback_line(out, feedback_line_at(text, problem->line));
}

/* ---- looking for the program ---- */

struct search {
    const char *must_define;
    bool cut;
    struct arena *a;
    size_t work;       /* bytes and fences looked at so far */
    struct str found;  /* the last whole program; n 0: none */
    size_t blocks;     /* that were closed */
    bool open;         /* the last one was not */
    struct str broken; /* the last that names the class and is not Python */
    struct py_problem problem;
    char *normal; /* the hash of `found`, or NULL */
};

static enum program search_look(struct search *s, struct str text, bool note)
{
    struct py_problem problem = {0};
    struct arena scratch = {0}; /* tokens of many blocks would add up */
    enum program is;
    struct str code;

    s->work += text.n;
    if (s->work > MAX_WORK ||
        !memmem(text.p, text.n, s->must_define, strlen(s->must_define)))
        return PROGRAM_OTHER;
    code = block_text(text, &scratch);
    is = program_check(code, s->must_define, &scratch, &problem, s->normal);
    code.p = is == PROGRAM_WHOLE || (is == PROGRAM_BROKEN && note)
                 ? arena_strndup(s->a, code.p, code.n)
                 : NULL;
    if (is == PROGRAM_WHOLE) {
        s->found = code;
    } else if (code.p) {
        s->broken = code;
        s->problem = problem;
    }
    arena_release(&scratch);
    return is;
}

/* A reply may end without closing its last block, or close it behind code. */
static void search_open_block(struct search *s, struct str text)
{
    if (s->cut) {
        s->open = true;
        return;
    }
    text = prompt_tidy(text);
    while (text.n && (text.p[text.n - 1] == '`' || text.p[text.n - 1] == '~'))
        text.n--;
    search_look(s, text, true);
}

/* The block that f[i] opens. Returns the fence to go on with: behind its end,
 * or a fence with a language inside it, where it was no program. */
static size_t search_block(struct search *s, const struct fence *f, size_t i,
                           size_t count)
{
    size_t first = 0, inner = 0, tried = 0;
    struct str text = {f[i].next, 0};

    for (size_t j = i + 1; j < count && tried < MAX_CLOSERS; j++) {
        s->work++;
        if (!inner && !f[j].bare)
            inner = j;
        if (!fence_closes(&f[i], &f[j]))
            continue;
        if (!first)
            first = j;
        text.n = (size_t)(f[j].line.p - text.p);
        if (search_look(s, text, tried++ == 0) == PROGRAM_WHOLE) {
            s->blocks++;
            return j + 1;
        }
    }
    s->blocks += first > 0;
    if (inner && (!first || inner < first)) {
        text.n = (size_t)(f[inner].line.p - text.p);
        search_look(s, text, true); /* it may have been left open */
        return inner;
    }
    return first ? first + 1 : count;
}

static void search_through(struct search *s, struct str text)
{
    const char *end = text.p + text.n;
    size_t count, i = 0, next;
    struct fence *f = fence_lines(text, &count, s->a);

    while (i < count && s->work <= MAX_WORK) {
        size_t blocks = s->blocks;

        next = search_block(s, f, i, count);
        if (s->blocks == blocks && next == count)
            search_open_block(
                s, (struct str){f[i].next, (size_t)(end - f[i].next)});
        i = next;
    }
}

static bool search_has_class(const struct search *s, struct str text)
{
    struct str line;

    while (str_part(&text, '\n', &line)) {
        if (str_starts(line, "class ") &&
            str_starts((struct str){line.p + 6, line.n - 6}, s->must_define))
            return true;
    }
    return false;
}

/* A reply that is code and nothing else; a sentence before it is dropped when
 * it cannot be code that the program needs. */
static void search_all(struct search *s, struct str text)
{
    const char *at = text.p, *end = text.p + text.n;
    struct str before, line;

    for (struct str rest = text; str_cut(&rest, '\n', &line); at = rest.p)
        if (str_starts(line, "import ") || str_starts(line, "from "))
            break;
    before = (struct str){text.p, (size_t)(at - text.p)};
    if (before.n && !memchr(before.p, '=', before.n) &&
        !memchr(before.p, '(', before.n) && !memchr(before.p, '"', before.n))
        search_look(s, (struct str){at, (size_t)(end - at)}, false);
    if (!s->found.n)
        search_look(s, text,
                    !s->blocks && !s->broken.n && search_has_class(s, text));
}

/* ---- the program ---- */

static enum extract_outcome search_truncated(const struct search *s,
                                             struct buf *feedback)
{
    buf_puts(feedback, "The reply was cut at the token limit ");
    buf_puts(feedback, s->open ? "inside the code block. "
                               : "before it had a complete code block. ");
    buf_printf(feedback,
               "Nothing of it could be used. Think and explain less, begin "
               "with the code, and keep the program with class %s short "
               "enough to be complete.\n",
               s->must_define);
    return EXTRACT_TRUNCATED;
}

static enum extract_outcome search_no_code(const struct search *s,
                                           struct buf *feedback)
{
    if (s->broken.n) {
        buf_puts(feedback, "The program in the reply is not valid Python: ");
        feedback_problem(feedback, s->broken, &s->problem);
    } else if (s->blocks) {
        buf_printf(feedback,
                   "The reply has %zu code block%s, and none defines class "
                   "%s at its top level.\n",
                   s->blocks, s->blocks == 1 ? "" : "s", s->must_define);
    } else {
        buf_puts(feedback, "The reply has no code block.\n");
    }
    buf_printf(feedback,
               "Answer with one fenced block that holds the complete file and "
               "defines class %s.\n",
               s->must_define);
    return EXTRACT_NO_CODE;
}

/* `plain` has LF line ends. */
static enum extract_outcome search_program(struct search *s, struct str plain,
                                           struct buf *code,
                                           struct buf *feedback)
{
    struct str answer = reply_answer(plain);

    search_through(s, answer);
    if (!s->found.n && !s->cut && answer.n < plain.n)
        search_through(s, plain);
    if (!s->found.n && !s->cut)
        search_all(s, answer);
    if (s->found.n) {
        buf_put(code, s->found.p, s->found.n);
        return EXTRACT_CODE;
    }
    return s->cut ? search_truncated(s, feedback) : search_no_code(s, feedback);
}

enum extract_outcome extract_code(struct str reply, const char *must_define,
                                  bool cut, struct buf *code,
                                  struct buf *feedback, char *normal)
{
    struct arena a = {0};
    struct search s = {.must_define = must_define, .cut = cut, .a = &a};
    enum extract_outcome outcome;

    s.normal = normal;
    outcome = search_program(&s, reply_plain(reply, &a), code, feedback);
    arena_release(&a);
    return outcome;
}

struct str extract_plan(struct str reply)
{
    return str_trim(reply_answer(reply));
}

/* ---- edits in SEARCH/REPLACE blocks ---- */

#define MAX_BLOCKS 1000
#define MAX_TRIES  16 /* lines of "=" that may divide a block */
#define LOOK_LINES 4  /* of a block, when its nearest place is looked for */
#define BUCKETS    1024

struct lines {
    struct str *at;
    size_t len;
};

/* With room for `more` lines. */
static struct lines lines_split(struct str text, size_t more, struct arena *a)
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

static struct lines lines_part(struct lines l, size_t from, size_t to)
{
    return (struct lines){l.at + from, to - from};
}

/* ---- reading blocks ---- */

/* "<<<<<<< SEARCH": five to nine marks, then the word. */
static bool diff_is_mark(struct str line, char mark, const char *word)
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
static void diff_read(struct edit *d, struct arena *a)
{
    size_t start = 0;

    d->block = arena_alloc(a, MAX_BLOCKS * sizeof(*d->block));
    for (size_t i = 0; i < d->reply.len && !d->full; i++) {
        struct str line = d->reply.at[i];

        if (diff_is_mark(line, '<', "SEARCH")) {
            start = i + 1;
            d->open = true;
            d->full = d->count == MAX_BLOCKS;
        } else if (d->open && diff_is_mark(line, '>', "REPLACE")) {
            d->block[d->count++] = (struct block){start, i};
            d->open = false;
        }
    }
}

/* ---- matching ---- */

static struct str diff_trim_end(struct str s)
{
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

static bool diff_same(struct str a, struct str b)
{
    return str_same(diff_trim_end(a), diff_trim_end(b));
}

static bool diff_matches(struct lines text, size_t at, struct lines search)
{
    for (size_t i = 0; i < search.len; i++)
        if (!diff_same(text.at[at + i], search.at[i]))
            return false;
    return true;
}

struct place {
    size_t first, second;
};

/* How often `search` is there: 0, 1, or 2 for more. */
static int diff_find(struct lines text, struct lines search, struct place *at)
{
    int found = 0;

    for (size_t i = 0; search.len && i + search.len <= text.len; i++)
        if (diff_matches(text, i, search)) {
            *(found ? &at->second : &at->first) = i;
            if (++found == 2)
                break;
        }
    return found;
}

/* ---- the nearest place ---- */

static size_t diff_bucket(const char *p)
{
    return ((unsigned char)p[0] * 31u + (unsigned char)p[1]) % BUCKETS;
}

/* How alike two lines are, 0 to 1: pairs of bytes they have in common. */
static double diff_alike(struct str a, struct str b)
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
        count[diff_bucket(a.p + i)]++;
    for (size_t i = 0; i + 1 < b.n; i++)
        if (count[diff_bucket(b.p + i)]) {
            count[diff_bucket(b.p + i)]--;
            common++;
        }
    return 2.0 * (double)common / (double)(a.n + b.n - 2);
}

/* The line of `text` where the first lines of the block fit best. */
static size_t diff_nearest(struct lines text, struct lines search)
{
    double best = -1;
    size_t at = 0;

    for (size_t i = 0; i < text.len && i < 10000; i++) {
        double sum = 0;

        for (size_t k = 0; k < search.len && k < LOOK_LINES; k++)
            if (i + k < text.len)
                sum += diff_alike(text.at[i + k], search.at[k]);
        if (sum > best) {
            best = sum;
            at = i;
        }
    }
    return at;
}

/* ---- telling ---- */

/* Leading blank lines say nothing. */
static struct str diff_first_line(struct lines l)
{
    for (size_t i = 0; i < l.len; i++)
        if (str_trim(l.at[i]).n)
            return l.at[i];
    return (struct str){"(an empty SEARCH part)", 22};
}

static void diff_advise(struct buf *out)
{
    buf_puts(out, "No edit was made. Copy the lines of a SEARCH part exactly "
                  "from the current program, as many as it takes to be "
                  "found once, or answer with the complete file in one fenced "
                  "block.\n");
}

static void diff_tell_missing(struct buf *out, size_t number, struct lines text,
                              struct lines search)
{
    size_t at = diff_nearest(text, search);

    buf_printf(out,
               "SEARCH block %zu is not in the current program. It begins "
               "with:\n",
               number);
    feedback_line(out, diff_first_line(search));
    if (text.len && search.len) {
        buf_printf(out, "The nearest place is line %zu:\n", at + 1);
        for (size_t k = 0; k < search.len && k < LOOK_LINES; k++)
            if (at + k < text.len)
                feedback_line(out, text.at[at + k]);
    }
    diff_advise(out);
}

static void diff_tell_undivided(struct buf *out, size_t number)
{
    buf_printf(out,
               "SEARCH block %zu has no line '=======' between the lines to "
               "find and those to put in their place.\n",
               number);
    diff_advise(out);
}

static void diff_tell_twice(struct buf *out, size_t number, struct lines search,
                            const struct place *at)
{
    buf_printf(out,
               "SEARCH block %zu is in the current program more than once, at "
               "lines %zu and %zu. It begins with:\n",
               number, at->first + 1, at->second + 1);
    feedback_line(out, diff_first_line(search));
    diff_advise(out);
}

/* ---- applying ---- */

/* In place: the array of `text` has room for every line of the reply. */
static void lines_put(struct lines *text, size_t at, size_t count,
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
static struct lines lines_trimmed(struct lines l)
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
static int diff_replace(struct lines *text, struct lines search,
                        struct lines by, struct place *at)
{
    int found = diff_find(*text, search, at);

    if (!found) {
        search = lines_trimmed(search);
        by = lines_trimmed(by);
        found = diff_find(*text, search, at);
    }
    if (found == 1)
        lines_put(text, at->first, search.len, by);
    return found > 1 ? -1 : found;
}

/* A line of "=" may belong to the code, so each is tried as the divider until
 * the lines above it are found. */
static bool diff_apply_block(const struct edit *d, size_t n, struct lines *text,
                             struct buf *feedback)
{
    const struct block *b = &d->block[n];
    struct lines first = lines_part(d->reply, b->search, b->end);
    int tries = 0, made = 0;
    struct place at;

    for (size_t i = b->search; !made && i < b->end && tries < MAX_TRIES; i++) {
        struct lines above = lines_part(d->reply, b->search, i);

        if (!diff_is_mark(d->reply.at[i], '=', ""))
            continue;
        if (tries++ == 0)
            first = above;
        made =
            diff_replace(text, above, lines_part(d->reply, i + 1, b->end), &at);
        if (made < 0)
            diff_tell_twice(feedback, n + 1, above, &at);
    }
    if (!made && !tries)
        diff_tell_undivided(feedback, n + 1);
    else if (!made)
        diff_tell_missing(feedback, n + 1, *text, first);
    return made > 0;
}

static struct str lines_join(struct lines text, struct arena *a)
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

static enum extract_outcome diff_finish(struct lines text,
                                        const char *must_define,
                                        struct arena *a, struct buf *code,
                                        struct buf *feedback)
{
    struct py_problem problem = {0};
    struct str all = lines_join(text, a);
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

static enum extract_outcome diff_apply(struct edit *d, struct str parent,
                                       const char *must_define, struct arena *a,
                                       struct buf *code, struct buf *feedback)
{
    struct lines text = lines_split(parent, d->reply.len, a);

    if (d->full) {
        buf_printf(feedback, "The reply has more than %d edits. ", MAX_BLOCKS);
        diff_advise(feedback);
        return EXTRACT_UNMATCHED;
    }
    for (size_t i = 0; i < d->count; i++)
        if (!diff_apply_block(d, i, &text, feedback))
            return EXTRACT_UNMATCHED;
    return diff_finish(text, must_define, a, code, feedback);
}

static enum extract_outcome diff_left_open(bool cut, struct buf *feedback)
{
    if (cut) {
        buf_puts(feedback, "The reply was cut at the token limit inside an "
                           "edit. No edit was made. Explain less, and edit "
                           "fewer lines.\n");
        return EXTRACT_TRUNCATED;
    }
    buf_puts(feedback, "The last edit has no line '>>>>>>> REPLACE' at its "
                       "end.\n");
    diff_advise(feedback);
    return EXTRACT_UNMATCHED;
}

enum extract_outcome extract_diff(struct str reply, struct str parent,
                                  const char *must_define, bool cut,
                                  struct buf *code, struct buf *feedback)
{
    enum extract_outcome outcome;
    struct edit d = {0};
    struct arena a = {0};

    d.reply = lines_split(reply_answer(reply_plain(reply, &a)), 0, &a);
    diff_read(&d, &a);
    if (d.open && !d.full)
        outcome = diff_left_open(cut, feedback);
    else if (d.count)
        outcome = diff_apply(&d, reply_plain(parent, &a), must_define, &a, code,
                             feedback);
    else
        outcome = extract_code(reply, must_define, cut, code, feedback, NULL);
    arena_release(&a);
    return outcome;
}

/* ---- JSON ---- */

#define MAX_STARTS 64

/* The end of the value that starts at s.p, brackets matched and strings passed
 * over; 0 when it does not end. */
static size_t json_balanced(struct str s)
{
    bool in_string = false;
    size_t depth = 0;

    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (--depth == 0)
                return i + 1;
        }
    }
    return 0;
}

static json_t *json_parse_reply(struct str s, struct err *e)
{
    json_t *v = jsn_parse("reply", s.p, s.n, e);

    if (v && !json_is_object(v) && !json_is_array(v)) {
        json_decref(v);
        err_set(e, ERR_INPUT, "the reply is JSON, but no object or list");
        return NULL;
    }
    return v;
}

/* The largest value among those that stand in the text: "[1]" may be said
 * before the answer is. The error is that of the largest text. */
static json_t *json_largest(struct str s, struct err *e)
{
    json_t *best = NULL, *v;
    size_t size = 0, wrong = 0, n;
    struct err one;

    for (int starts = 0; s.n && starts < MAX_STARTS; starts++) {
        while (s.n && s.p[0] != '{' && s.p[0] != '[') {
            s.p++;
            s.n--;
        }
        n = json_balanced(s);
        one = (struct err)ERR_INIT;
        v = n > size ? json_parse_reply((struct str){s.p, n}, &one) : NULL;
        if (v) {
            if (best)
                json_decref(best);
            best = v;
            size = n;
        } else if (n > wrong && one.kind != ERR_NONE) {
            *e = one;
            wrong = n;
        }
        n = v ? n : s.n > 0;
        s = (struct str){s.p + n, s.n - n};
    }
    if (!best && !wrong)
        err_set(e, ERR_INPUT,
                "the reply holds no complete JSON object or list");
    return best;
}

/* The last fenced block that is JSON, or NULL. */
static json_t *json_in_fence(struct str text)
{
    struct err ignored = ERR_INIT;
    json_t *v = NULL;
    struct arena a = {0};
    struct fence *f;
    size_t count;

    f = fence_lines(text, &count, &a);
    for (size_t i = count; !v && i-- > 1;)
        if (fence_closes(&f[i - 1], &f[i]))
            v = json_parse_reply(
                (struct str){f[i - 1].next,
                             (size_t)(f[i].line.p - f[i - 1].next)},
                &ignored);
    arena_release(&a);
    return v;
}

json_t *extract_json(struct str reply, struct err *e)
{
    struct str answer = str_trim(reply_answer(reply));
    struct err ignored = ERR_INIT;
    json_t *v;

    if (!answer.n)
        answer = str_trim(reply);
    v = json_parse_reply(answer, &ignored);
    if (!v)
        v = json_in_fence(answer);
    return v ? v : json_largest(answer, e);
}
