/* task.c: tasks, from their files. */
#include "source/task.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "source/operators.h"
#include "source/py_lex.h"
#include "source/py_normal.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* ---- identity ---- */

/* "level2/15_Name.py" is L2/15: such folders are numbered collections. */
static char *level_id(struct str folder, struct str stem)
{
    int64_t level, number;
    struct str head;

    if (!str_starts(folder, "level") || !str_cut(&stem, '_', &head))
        return NULL;
    folder.p += strlen("level");
    folder.n -= strlen("level");
    if (!str_to_i64(folder, 0, 999, &level) ||
        !str_to_i64(head, 0, 999999, &number))
        return NULL;
    return xasprintf("L%lld/%lld", (long long)level, (long long)number);
}

char *task_id(const char *path)
{
    struct str stem = str_of(fs_base(path)), folder = {"", 0};
    const char *slash = strrchr(path, '/'), *start;
    char *id;

    if (str_ends(stem, ".py"))
        stem.n -= 3;
    if (slash && slash != path) {
        start = slash;
        while (start > path && start[-1] != '/')
            start--;
        folder = (struct str){start, (size_t)(slash - start)};
        if (str_eq(folder, ".")) /* a file named without one */
            folder.n = 0;
    }
    id = level_id(folder, stem);
    if (id)
        return id;
    if (folder.n == 0)
        return xstrndup(stem.p, stem.n);
    return xasprintf("%.*s/%.*s", (int)folder.n, folder.p, (int)stem.n, stem.p);
}

/* ---- required definitions ---- */

/* True when a line of the module level starts with `word name`. */
static bool defines(const struct py_tokens *t, const char *word,
                    const char *name)
{
    int depth = 0;

    for (size_t i = 0; i + 1 < t->len; i++) {
        const struct py_token *k = &t->tok[i];

        depth += k->kind == PY_INDENT;
        depth -= k->kind == PY_DEDENT;
        if (depth == 0 && py_is(k, word) && py_is(&t->tok[i + 1], name))
            return true;
    }
    return false;
}

static int task_check_shape(const struct task *t, const struct py_tokens *tok,
                            struct err *e)
{
    static const char *const needed[][2] = {
        {"class", "Model"}, {"def", "get_inputs"}, {"def", "get_init_inputs"}};

    if (tok->problem.id)
        return err_set(e, ERR_INPUT, "%s:%u:%u: %s", t->path, tok->problem.line,
                       tok->problem.column, tok->problem.message);
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        if (!defines(tok, needed[i][0], needed[i][1]))
            return err_set(e, ERR_INPUT,
                           "%s: '%s %s' is missing; a task defines class "
                           "Model, get_inputs() and get_init_inputs()",
                           t->path, needed[i][0], needed[i][1]);
    return 0;
}

/* ---- loading ---- */

static int task_read_sidecar(struct task *t, struct err *e)
{
    size_t n = strlen(t->path);
    char *path;
    int rc = 0;

    if (!str_ends(str_of(t->path), ".py"))
        return 0;
    path = xasprintf("%.*s.json", (int)(n - 3), t->path);
    if (fs_is_file(path)) {
        t->sidecar = jsn_read(path, e);
        if (!t->sidecar)
            rc = -1;
        else if (!json_is_object(t->sidecar))
            rc = err_set(e, ERR_INPUT, "%s: /: not an object", path);
    }
    free(path);
    return rc;
}

/* Gives a task another source, which is checked like the first. */
static int task_set_source(struct task *t, struct str text, struct err *e)
{
    struct arena work = {0};
    struct py_tokens tok;
    int rc;

    free(t->source);
    t->source = xstrndup(text.p, text.n);
    t->len = text.n;
    py_lex(&tok, text, &work);
    rc = task_check_shape(t, &tok, e);
    if (rc == 0) {
        py_normal_hash(text, t->hash);
        t->ops = operators_of(&tok, &t->memory);
    }
    arena_release(&work);
    return rc;
}

struct task *task_from(const char *name, struct str text, struct err *e)
{
    struct task *t = xcalloc(1, sizeof(*t));

    t->path = xstrdup(name);
    t->id = task_id(name);
    if (task_set_source(t, text, e) == 0)
        return t;
    task_free(t);
    return NULL;
}

struct task *task_load(const char *path, struct err *e)
{
    struct task *t = NULL;
    struct buf text = {.limit = TASK_MAX_BYTES};

    if (fs_read(path, &text, e) == 0)
        t = task_from(path, buf_view(&text), e);
    buf_release(&text);
    if (t && task_read_sidecar(t, e) < 0) {
        task_free(t);
        t = NULL;
    }
    return t;
}

void task_free(struct task *t)
{
    if (!t)
        return;
    free(t->id);
    free(t->path);
    free(t->source);
    if (t->sidecar)
        json_decref(t->sidecar);
    arena_release(&t->memory);
    free(t);
}

/* ---- words of the command line to tasks ---- */

struct paths {
    char **path;
    size_t len, cap;
};

static void add_path(struct paths *p, char *path)
{
    p->path = xgrow(p->path, &p->cap, p->len, sizeof(*p->path));
    p->path[p->len++] = path;
}

/* Digits compare by value, so that 2_x comes before 10_x. */
static int natural(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            char *end_a, *end_b;
            unsigned long x = strtoul(a, &end_a, 10);
            unsigned long y = strtoul(b, &end_b, 10);

            if (x != y)
                return x < y ? -1 : 1;
            a = end_a;
            b = end_b;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return *a ? 1 : *b ? -1 : 0;
}

static int collection_by_path(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    int order = natural(x, y);

    return order ? order : strcmp(x, y);
}

static int collection_add_folder(struct paths *p, const char *dir,
                                 struct err *e)
{
    struct fs_names names;
    int rc = fs_list(dir, false, &names, e);

    for (size_t i = 0; rc == 0 && i < names.len; i++) {
        char *path = fs_join(dir, names.name[i]);

        bool hidden = names.name[i][0] == '.' || names.name[i][0] == '_';

        if (!hidden && fs_is_dir(path))
            rc = collection_add_folder(p, path, e);
        else if (!hidden && str_ends(str_of(path), ".py"))
            add_path(p, xstrdup(path));
        free(path);
    }
    fs_names_release(&names);
    return rc;
}

static int add_pattern(struct paths *p, const char *word, struct err *e)
{
    glob_t found;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the locale
    int rc = glob(word, 0, NULL, &found);

    if (rc != 0)
        return err_set(e, ERR_INPUT,
                       "%s: no such file, folder, collection or built-in task",
                       word);
    for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++) {
        if (fs_is_dir(found.gl_pathv[i]))
            rc = collection_add_folder(p, found.gl_pathv[i], e);
        else
            add_path(p, xstrdup(found.gl_pathv[i]));
    }
    globfree(&found);
    return rc;
}

static int collection_add_word(struct paths *p, const char *word,
                               const char *own, struct err *e)
{
    char *named = fs_join(own, word), *one = xasprintf("%s.py", named);
    bool is_named = !strchr(word, '/') && fs_is_dir(named);
    int rc;

    if (fs_is_file(word)) {
        add_path(p, xstrdup(word));
        rc = 0;
    } else if (is_named) {
        rc = collection_add_folder(p, named, e);
    } else if (fs_is_dir(word)) {
        rc = collection_add_folder(p, word, e);
    } else if (fs_is_file(one)) {
        add_path(p, xstrdup(one));
        rc = 0;
    } else {
        rc = add_pattern(p, word, e);
    }
    free(named);
    free(one);
    return rc;
}

static void add_stray(struct collection *c, const char *what)
{
    c->stray = xgrow(c->stray, &c->stray_cap, c->stray_len, sizeof(*c->stray));
    c->stray[c->stray_len++] = xstrdup(what);
}

static int load_all(struct collection *c, const struct paths *p, struct err *e)
{
    struct map seen = {0};
    int rc = 0;

    for (size_t i = 0; i < c->len; i++)
        map_set(&seen, str_of(c->task[i]->id), c->task[i]);
    for (size_t i = 0; rc == 0 && i < p->len; i++) {
        struct err one = ERR_INIT;
        struct task *t = task_load(p->path[i], &one), *twin;

        if (!t) {
            add_stray(c, one.text);
            continue;
        }
        twin = map_get(&seen, str_of(t->id));
        if (twin && strcmp(twin->path, t->path) != 0)
            rc = err_set(e, ERR_INPUT,
                         "%s and %s both have the id %s; rename one folder",
                         twin->path, t->path, t->id);
        if (twin) {
            task_free(t);
            continue;
        }
        map_set(&seen, str_of(t->id), t);
        c->task = xgrow(c->task, &c->cap, c->len, sizeof(*c->task));
        c->task[c->len++] = t;
    }
    map_release(&seen);
    if (rc == 0 && c->len == 0)
        rc = err_set(e, ERR_INPUT, "%s", c->stray[0]);
    return rc;
}

int collection_add(struct collection *c, const char *const *words, size_t n,
                   const char *own, struct err *e)
{
    struct paths p = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        size_t from = p.len;

        rc = collection_add_word(&p, words[i], own, e);
        if (rc == 0 && p.len > from)
            qsort(p.path + from, p.len - from, sizeof(*p.path),
                  collection_by_path);
        else if (rc == 0)
            rc = err_set(e, ERR_INPUT, "%s: contains no task", words[i]);
    }
    if (rc == 0)
        rc = load_all(c, &p, e);
    for (size_t i = 0; i < p.len; i++)
        free(p.path[i]);
    free(p.path);
    return rc;
}

int collection_report(const struct collection *c, bool strict, struct err *e)
{
    size_t n = c->stray_len;

    for (size_t i = 0; i < n; i++)
        log_warn("%s%s", c->stray[i], strict ? "" : " (skipped)");
    if (strict && n)
        return err_set(e, ERR_INPUT, "%zu file%s not %s (above)", n,
                       n == 1 ? " is" : "s are", n == 1 ? "a task" : "tasks");
    return 0;
}

void collection_release(struct collection *c)
{
    for (size_t i = 0; i < c->stray_len; i++)
        free(c->stray[i]);
    free(c->stray);
    for (size_t i = 0; i < c->len; i++)
        task_free(c->task[i]);
    free(c->task);
    *c = (struct collection){0};
}

/* ---- --define: lines that assign plain values, and other values for them ---- */

#define MOST_NAMES 12 /* in a message */

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
    struct arena a = {0};
    int rc;

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
    struct arena a = {0};
    size_t i = 0, n = 0;
    int depth = 0;

    py_lex(&tok, source, &a);
    while (n < MOST_NAMES && next_assignment(source, &tok, &i, &depth, &here))
        if (here.plain)
            buf_printf(out, "%s%.*s", n++ ? ", " : "", (int)here.name.n,
                       here.name.p);
    arena_release(&a);
}

static int nobody(const struct collection *c, const char *word, struct err *e)
{
    struct buf names = BUF_INIT;

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
        struct buf text = BUF_INIT;

        rc =
            define_in(t->path, (struct str){t->source, t->len}, word, &text, e);
        if (rc > 0) {
            found++;
            rc = task_set_source(t, buf_view(&text), e);
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
