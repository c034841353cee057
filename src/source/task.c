/* task.c: reading a task's file. */
#include "source/task.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "source/operators.h"
#include "source/py_lex.h"
#include "source/py_normal.h"

#include <ctype.h>
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

int task_set_source(struct task *t, struct str text, struct err *e)
{
    struct arena work;
    struct py_tokens tok;
    int rc;

    free(t->source);
    t->source = xstrndup(text.p, text.n);
    t->len = text.n;
    arena_init(&work);
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

    arena_init(&t->memory);
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
    struct buf text;

    buf_init(&text, TASK_MAX_BYTES);
    if (fs_read(path, &text, e) == 0)
        t = task_from(path, (struct str){buf_str(&text), text.len}, e);
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
