/* folder.c: a curriculum as files. */
#include "base/fs.h"
#include "base/mem.h"
#include "curriculum/curriculum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static int read_piece(struct curriculum *c, const char *path, struct err *e)
{
    struct task *t = task_load(path, e);
    char *sidecar;
    int rc;

    if (!t)
        return -1;
    if (!t->sidecar) {
        err_set(e, ERR_INPUT,
                "%s: its sidecar is missing; a piece has NAME.py and NAME.json",
                path);
        task_free(t);
        return -1;
    }
    sidecar = xasprintf("%.*s.json", (int)strlen(path) - 3, path);
    rc = curriculum_add_piece(c, sidecar, t, e);
    free(sidecar);
    return rc;
}

static int read_problem(struct curriculum *c, const char *path, struct err *e)
{
    json_t *v = jsn_read(path, e);

    return v ? curriculum_add_problem(c, path, v, e) : -1;
}

/* Reads the files of a folder whose names end so. */
static int read_files(struct curriculum *c, const char *dir, const char *end,
                      int (*one)(struct curriculum *, const char *,
                                 struct err *),
                      struct err *e)
{
    struct fs_names names = {0};
    int rc = fs_list(dir, false, &names, e);

    for (size_t i = 0; rc == 0 && i < names.len; i++) {
        char *path = fs_join(dir, names.name[i]);

        if (str_ends(str_of(path), end))
            rc = one(c, path, e);
        free(path);
    }
    fs_names_release(&names);
    return rc;
}

int curriculum_read(struct curriculum *c, const char *dir, struct err *e)
{
    char *pieces = fs_join(dir, "pieces"), *problems = fs_join(dir, "problems");
    int rc;

    curriculum_init(c);
    if (!fs_is_dir(problems))
        rc = err_set(e, ERR_INPUT,
                     "%s: is missing; monkeys decompose -o %s makes it",
                     problems, dir);
    else
        rc = read_files(c, problems, ".json", read_problem, e);
    if (rc == 0)
        rc = read_files(c, pieces, ".py", read_piece, e);
    if (rc == 0 && !c->nproblems)
        rc = err_set(e, ERR_INPUT, "%s: holds no problem", problems);
    if (rc == 0)
        rc = curriculum_finish(c, dir, e);
    free(pieces);
    free(problems);
    return rc;
}

/* ---- writing ---- */

static json_t *piece_json(const struct piece *p)
{
    json_t *needs = json_array(), *parents = json_array();

    for (size_t i = 0; i < p->nneeds; i++)
        json_array_append_new(needs, json_string(p->needs[i]));
    for (size_t i = 0; i < p->nparents; i++)
        json_array_append_new(parents, json_pack("{s:s, s:s}", "problem",
                                                 p->parents[i].problem, "sub",
                                                 p->parents[i].sub));
    return json_pack("{s:s, s:s, s:s, s:I, s:o, s:o}", "title", p->title,
                     "kind", piece_kinds[p->kind], "level", p->level, "depth",
                     (json_int_t)p->depth, "needs", needs, "parents", parents);
}

static int put_json(const char *dir, const char *name, const json_t *v,
                    struct err *e)
{
    char *path = xasprintf("%s/%s.json", dir, name);
    char *text = json_dumps(v, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    struct buf b;
    int rc;

    buf_init(&b, BUF_UNLIMITED);
    buf_puts(&b, text);
    buf_putc(&b, '\n');
    rc = fs_replace(path, buf_str(&b), b.len, e);
    buf_release(&b);
    free(text);
    free(path);
    return rc;
}

static int put_piece(const char *dir, const struct piece *p, struct err *e)
{
    char *path = xasprintf("%s/%s.py", dir, p->name);
    json_t *sidecar = json_copy(p->task->sidecar);
    int rc;

    json_object_set_new(sidecar, "piece", piece_json(p));
    rc = put_json(dir, p->name, sidecar, e);
    if (rc == 0)
        rc = fs_replace(path, p->task->source, p->task->len, e);
    json_decref(sidecar);
    free(path);
    return rc;
}

static bool is_ours(const struct curriculum *c, const char *name, bool piece)
{
    char stem[200];
    const char *dot = strrchr(name, '.');
    size_t n = dot ? (size_t)(dot - name) : 0;

    if (!dot || n >= sizeof(stem) ||
        !(strcmp(dot, ".json") == 0 || (piece && strcmp(dot, ".py") == 0)))
        return false;
    memcpy(stem, name, n);
    stem[n] = '\0';
    if (piece)
        return curriculum_piece(c, stem) != NULL;
    for (size_t i = 0; i < c->nproblems; i++)
        if (strcmp(c->problem[i].name, stem) == 0)
            return true;
    return false;
}

/* Files of another curriculum would be read as a part of this one. */
static int check_free(const struct curriculum *c, const char *dir, bool piece,
                      struct err *e)
{
    struct fs_names names = {0};
    int rc = fs_list(dir, true, &names, e);

    for (size_t i = 0; rc == 0 && i < names.len; i++)
        if (!is_ours(c, names.name[i], piece))
            rc = err_set(e, ERR_INPUT,
                         "%s/%s: does not belong to this decomposition; remove "
                         "it, or choose another folder",
                         dir, names.name[i]);
    fs_names_release(&names);
    return rc;
}

int curriculum_write(const struct curriculum *c, const char *dir, struct err *e)
{
    char *pieces = fs_join(dir, "pieces"), *problems = fs_join(dir, "problems");
    int rc = check_free(c, pieces, true, e);

    if (rc == 0)
        rc = check_free(c, problems, false, e);
    if (rc == 0)
        rc = fs_mkdirs(pieces, e);
    if (rc == 0)
        rc = fs_mkdirs(problems, e);
    for (size_t i = 0; rc == 0 && i < c->len; i++)
        rc = put_piece(pieces, &c->piece[i], e);
    /* Problems come last: without them the pieces are not read. */
    for (size_t i = 0; rc == 0 && i < c->nproblems; i++)
        rc = put_json(problems, c->problem[i].name, c->problem[i].outline, e);
    free(pieces);
    free(problems);
    return rc;
}
