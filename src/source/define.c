/* define.c: finds the lines that assign plain values, and replaces values. */
#include "source/define.h"

#include "base/mem.h"
#include "source/py_lex.h"

#include <stdlib.h>
#include <string.h>

#define MOST_NAMES 12 /* in a message */

/* ---- lines that assign ---- */

struct assignment {
    struct str name, value;
    uint32_t at, line; /* of the value, of the name */
    bool plain;        /* a number, True or False; else `value` is empty */
};

static bool define_is_number(const struct py_token *t)
{
    return t->kind == PY_NUMBER && !strchr("jJ", t->text.p[t->text.n - 1]);
}

static bool define_ends_line(const struct py_token *t)
{
    return t->kind == PY_NEWLINE || py_is(t, ";");
}

/* The value that begins at token i. */
static void read_value(struct str source, const struct py_tokens *t, size_t i,
                       struct assignment *out)
{
    const struct py_token *first = &t->tok[i], *last = first;

    if (py_is(first, "-") || py_is(first, "+"))
        last = first + 1; /* PY_END is the last token, so there is one */
    if (define_is_number(last) ||
        (last == first && (py_is(first, "True") || py_is(first, "False"))))
        out->plain = define_ends_line(last + 1);
    out->at = first->at;
    if (out->plain)
        out->value = (struct str){source.p + first->at,
                                  last->at + last->len - first->at};
}

/* The next line of the module level that assigns to one name; *i is where to
 * look, and *depth the indentation there. */
static bool next_assignment(struct str source, const struct py_tokens *t,
                            size_t *i, int *depth, struct assignment *out)
{
    for (; *i + 2 < t->len; ++*i) {
        const struct py_token *k = &t->tok[*i];
        bool starts = *i == 0 || k[-1].kind == PY_NEWLINE ||
                      k[-1].kind == PY_DEDENT || k[-1].kind == PY_INDENT;

        *depth += k->kind == PY_INDENT;
        *depth -= k->kind == PY_DEDENT;
        if (!starts || *depth != 0 || k->kind != PY_NAME || !py_is(k + 1, "="))
            continue;
        *out = (struct assignment){.name = k->text, .line = k->line};
        *i += 2;
        read_value(source, t, *i, out);
        return true;
    }
    return false;
}

/* ---- one word, one source ---- */

static int read_word(const char *word, struct arena *a, struct assignment *out,
                     struct err *e)
{
    struct str text = str_of(word);
    struct py_tokens t;
    size_t i = 0;
    int depth = 0;

    py_lex(&t, text, a);
    if (!t.problem.id && next_assignment(text, &t, &i, &depth, out) &&
        out->plain && i == 2 && out->at + out->value.n == str_trim(text).n)
        return 0;
    return err_set(e, ERR_USAGE,
                   "--define %s: write NAME=VALUE, where VALUE is a number, "
                   "True or False",
                   word);
}

static int define_replace(const char *path, struct str source,
                          const struct py_tokens *t,
                          const struct assignment *word, struct buf *out,
                          struct err *e)
{
    struct assignment here;
    size_t i = 0, from = 0;
    int depth = 0, found = 0;

    while (next_assignment(source, t, &i, &depth, &here)) {
        if (!str_same(here.name, word->name))
            continue;
        if (!here.plain)
            return err_set(e, ERR_INPUT,
                           "%s:%u: --define %.*s: the value here is not a "
                           "plain number, True or False",
                           path, here.line, (int)word->name.n, word->name.p);
        if (found++)
            return err_set(e, ERR_INPUT,
                           "%s:%u: --define %.*s: it is assigned before, too; "
                           "keep one of the lines",
                           path, here.line, (int)word->name.n, word->name.p);
        buf_put(out, source.p + from, here.at - from);
        buf_put(out, word->value.p, word->value.n);
        from = here.at + here.value.n;
    }
    buf_put(out, source.p + from, source.n - from);
    return found;
}

int define_in(const char *path, struct str source, const char *word,
              struct buf *out, struct err *e)
{
    struct assignment wanted = {0};
    struct py_tokens t;
    struct arena a;
    int rc;

    arena_init(&a);
    rc = read_word(word, &a, &wanted, e);
    if (rc == 0) {
        py_lex(&t, source, &a);
        rc = define_replace(path, source, &t, &wanted, out, e);
    }
    arena_release(&a);
    return rc;
}

/* ---- many tasks ---- */

/* What could be defined instead, from one task. */
static void define_put_names(const struct task *t, struct buf *out)
{
    struct str source = {t->source, t->len};
    struct assignment here;
    struct py_tokens tok;
    struct arena a;
    size_t i = 0, n = 0;
    int depth = 0;

    arena_init(&a);
    py_lex(&tok, source, &a);
    while (n < MOST_NAMES && next_assignment(source, &tok, &i, &depth, &here))
        if (here.plain)
            buf_printf(out, "%s%.*s", n++ ? ", " : "", (int)here.name.n,
                       here.name.p);
    arena_release(&a);
}

static int nobody(const struct collection *c, const char *word, struct err *e)
{
    struct buf names;

    buf_init(&names, BUF_UNLIMITED);
    define_put_names(c->task[0], &names);
    err_set(e, ERR_INPUT,
            "--define %s: no task has such a line at module level; %s has %s",
            word, c->task[0]->id,
            names.len ? buf_str(&names) : "no line that can be defined");
    buf_release(&names);
    return -1;
}

static int define_one(struct collection *c, const char *word, struct err *e)
{
    size_t found = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->len; i++) {
        struct task *t = c->task[i];
        struct buf text;

        buf_init(&text, BUF_UNLIMITED);
        rc =
            define_in(t->path, (struct str){t->source, t->len}, word, &text, e);
        if (rc > 0) {
            found++;
            rc = task_set_source(t, (struct str){buf_str(&text), text.len}, e);
        }
        buf_release(&text);
    }
    return rc == 0 && !found ? nobody(c, word, e) : rc;
}

int define_tasks(struct collection *c, const struct opt_list *words,
                 struct err *e)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && c->len && i < words->len; i++)
        rc = define_one(c, words->item[i], e);
    return rc;
}
