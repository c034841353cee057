/* extract.c: the program, the plan or the JSON in a reply. */
#include "prompt/extract.h"

#include "prompt/extract_int.h"
#include "prompt/fences.h"
#include "prompt/files.h"
#include "source/py_normal.h"

#include <string.h>

/* A block whose text does not end where its first closing fence stands (a fence
 * in a docstring) may end at one of the next. */
#define MAX_CLOSERS 8
#define MAX_QUOTE   160 /* of a line of the model's, in feedback */
#define MAX_WORK    ((size_t)64 << 20) /* bytes looked at in one reply */

/* ---- is it a program? ---- */

static bool starts_statement(const struct py_tokens *t, size_t i)
{
    return i == 0 || t->tok[i - 1].kind == PY_NEWLINE ||
           t->tok[i - 1].kind == PY_INDENT || t->tok[i - 1].kind == PY_DEDENT;
}

static bool defines_class(const struct py_tokens *t, const char *name)
{
    int depth = 0;

    for (size_t i = 0; i + 2 < t->len; i++) {
        const struct py_token *k = &t->tok[i];

        depth += k->kind == PY_INDENT;
        depth -= k->kind == PY_DEDENT;
        if (depth == 0 && py_is(k, "class") && starts_statement(t, i) &&
            py_is(k + 1, name) && (py_is(k + 2, "(") || py_is(k + 2, ":")))
            return true;
    }
    return false;
}

enum program program_check(struct str text, const char *must_define,
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
    if (!defines_class(&t, must_define))
        return PROGRAM_OTHER;
    if (normal)
        py_normal_hash_tokens(&t, normal);
    return PROGRAM_WHOLE;
}

/* ---- text of a block ---- */

static size_t common_indent(struct str text)
{
    const char *first = NULL;
    size_t common = 0;
    bool more = true;
    struct str line;

    while (more) {
        more = str_cut(&text, '\n', &line);
        line = more ? line : text;
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
    size_t common = common_indent(text), n = 0;
    char *p = arena_alloc_raw(a, text.n + 2);
    struct str line;
    bool more = true;

    while (more) {
        more = str_cut(&text, '\n', &line);
        line = more ? line : text;
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
static struct str line_at(struct str text, size_t number)
{
    struct str line = {"", 0};

    for (; number > 1; number--)
        if (!str_cut(&text, '\n', &line))
            return (struct str){"", 0};
    return str_cut(&text, '\n', &line) ? line : text;
}

void feedback_line(struct buf *out, struct str line)
{
    bool cut = line.n > MAX_QUOTE;

    line.n = str_utf8_check(line.p, cut ? MAX_QUOTE : line.n);
    buf_puts(out, "    ");
    buf_put(out, line.p, line.n);
    buf_puts(out, cut ? " …\n" : "\n");
}

void feedback_problem(struct buf *out, struct str text,
                      const struct py_problem *problem)
{
    buf_printf(out, "line %u, column %u: %s. The line reads:\n", problem->line,
               problem->column, problem->message);
    feedback_line(out, line_at(text, problem->line));
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

static enum program look_at(struct search *s, struct str text, bool note)
{
    struct py_problem problem = {0};
    struct arena scratch;
    enum program is;
    struct str code;

    s->work += text.n;
    if (s->work > MAX_WORK ||
        !memmem(text.p, text.n, s->must_define, strlen(s->must_define)))
        return PROGRAM_OTHER;
    arena_init(&scratch); /* tokens of many blocks would add up */
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
static void look_at_open_block(struct search *s, struct str text)
{
    if (s->cut) {
        s->open = true;
        return;
    }
    text = prompt_tidy(text);
    while (text.n && (text.p[text.n - 1] == '`' || text.p[text.n - 1] == '~'))
        text.n--;
    look_at(s, text, true);
}

/* The block that f[i] opens. Returns the fence to go on with: behind its end,
 * or a fence with a language inside it, where it was no program. */
static size_t take_block(struct search *s, const struct fence *f, size_t i,
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
        if (look_at(s, text, tried++ == 0) == PROGRAM_WHOLE) {
            s->blocks++;
            return j + 1;
        }
    }
    s->blocks += first > 0;
    if (inner && (!first || inner < first)) {
        text.n = (size_t)(f[inner].line.p - text.p);
        look_at(s, text, true); /* it may have been left open */
        return inner;
    }
    return first ? first + 1 : count;
}

static void look_through(struct search *s, struct str text)
{
    const char *end = text.p + text.n;
    size_t count, i = 0, next;
    struct fence *f = fence_lines(text, &count, s->a);

    while (i < count && s->work <= MAX_WORK) {
        size_t blocks = s->blocks;

        next = take_block(s, f, i, count);
        if (s->blocks == blocks && next == count)
            look_at_open_block(
                s, (struct str){f[i].next, (size_t)(end - f[i].next)});
        i = next;
    }
}

static bool has_class_line(const struct search *s, struct str text)
{
    bool more = true;
    struct str line;

    while (more) {
        more = str_cut(&text, '\n', &line);
        line = more ? line : text;
        if (str_starts(line, "class ") &&
            str_starts((struct str){line.p + 6, line.n - 6}, s->must_define))
            return true;
    }
    return false;
}

/* A reply that is code and nothing else; a sentence before it is dropped when
 * it cannot be code that the program needs. */
static void look_at_all(struct search *s, struct str text)
{
    const char *at = text.p, *end = text.p + text.n;
    struct str before, line;

    for (struct str rest = text; str_cut(&rest, '\n', &line); at = rest.p)
        if (str_starts(line, "import ") || str_starts(line, "from "))
            break;
    before = (struct str){text.p, (size_t)(at - text.p)};
    if (before.n && !memchr(before.p, '=', before.n) &&
        !memchr(before.p, '(', before.n) && !memchr(before.p, '"', before.n))
        look_at(s, (struct str){at, (size_t)(end - at)}, false);
    if (!s->found.n)
        look_at(s, text, !s->blocks && !s->broken.n && has_class_line(s, text));
}

/* ---- the program ---- */

static enum extract_outcome truncated(const struct search *s,
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

static enum extract_outcome no_code(const struct search *s,
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
static enum extract_outcome find_program(struct search *s, struct str plain,
                                         struct buf *code, struct buf *feedback)
{
    struct str answer = reply_answer(plain);

    look_through(s, answer);
    if (!s->found.n && !s->cut && answer.n < plain.n)
        look_through(s, plain);
    if (!s->found.n && !s->cut)
        look_at_all(s, answer);
    if (s->found.n) {
        buf_put(code, s->found.p, s->found.n);
        return EXTRACT_CODE;
    }
    return s->cut ? truncated(s, feedback) : no_code(s, feedback);
}

enum extract_outcome extract_code(struct str reply, const char *must_define,
                                  bool cut, struct buf *code,
                                  struct buf *feedback, char *normal)
{
    struct arena a;
    struct search s = {.must_define = must_define, .cut = cut, .a = &a};
    enum extract_outcome outcome;

    s.normal = normal;
    arena_init(&a);
    outcome = find_program(&s, reply_plain(reply, &a), code, feedback);
    arena_release(&a);
    return outcome;
}

struct str extract_plan(struct str reply)
{
    return str_trim(reply_answer(reply));
}
