/* curriculum.c: pieces and problems put together, their order, and their folder.
 *
 * A folder may come from anywhere, so reading one checks all that a run relies on: names
 * that cannot leave the folder, pieces and problems that know of each other, no circle.
 * Otherwise a run would wait for a piece that can never be released. */
#include "curriculum/curriculum.h"

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECES_MAX 20000
#define NEEDS_MAX  256
#define NAME_BYTES 120
#define UNSAID     SIZE_MAX /* a depth */

void curriculum_init(struct curriculum *c)
{
    *c = (struct curriculum){0};
}

void curriculum_release(struct curriculum *c)
{
    for (size_t i = 0; i < c->len; i++)
        task_free(c->piece[i].task);
    for (size_t i = 0; i < c->nproblems; i++)
        json_decref(c->problem[i].outline);
    free(c->piece);
    free(c->problem);
    arena_release(&c->memory);
    curriculum_init(c);
}

const struct piece *curriculum_piece(const struct curriculum *c,
                                     const char *name)
{
    for (size_t i = 0; i < c->len; i++)
        if (strcmp(c->piece[i].name, name) == 0)
            return &c->piece[i];
    return NULL;
}

const struct problem *curriculum_problem(const struct curriculum *c,
                                         const char *id)
{
    for (size_t i = 0; i < c->nproblems; i++)
        if (strcmp(c->problem[i].id, id) == 0)
            return &c->problem[i];
    return NULL;
}

/* ---- one piece ---- */

/* A name is a file's, without its end: [A-Za-z0-9_-]. */
static bool is_name(struct str s)
{
    size_t i = 0;

    while (i < s.n && (strchr("abcdefghijklmnopqrstuvwxyz0123456789_-"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                              s.p[i]) != NULL))
        i++;
    return s.n > 0 && s.n <= NAME_BYTES && i == s.n;
}

/* The stem of a path, or NULL when that is no name. */
static const char *stem_name(struct curriculum *c, const char *path)
{
    struct str s = str_of(fs_base(path));

    if (str_ends(s, ".py"))
        s.n -= 3;
    else if (str_ends(s, ".json"))
        s.n -= 5;
    return is_name(s) ? arena_strndup(&c->memory, s.p, s.n) : NULL;
}

static int wrong(const char *path, const char *key, const char *what,
                 struct err *e)
{
    return err_set(e, ERR_INPUT, "%s: /piece/%s: %s", path, key, what);
}

static int read_member(struct curriculum *c, const char *path, const json_t *v,
                       const char *key, const char **out, struct err *e)
{
    const json_t *x = json_object_get(v, key);

    if (!json_is_string(x) || !json_string_length(x))
        return wrong(path, key, "must be a text", e);
    *out = arena_strdup(&c->memory, json_string_value(x));
    return 0;
}

static int read_needs(struct curriculum *c, const char *path, const json_t *v,
                      struct piece *p, struct err *e)
{
    const json_t *list = json_object_get(v, "needs");
    size_t n = json_array_size(list);
    const char **needs;

    if (!json_is_array(list) || n > NEEDS_MAX)
        return wrong(path, "needs", "must be a list of names of pieces", e);
    needs = arena_alloc(&c->memory, (n + 1) * sizeof(*needs));
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(list, i));

        if (!name || !is_name(str_of(name)))
            return wrong(path, "needs", "must be a list of names of pieces", e);
        for (size_t j = 0; j < i; j++)
            if (strcmp(needs[j], name) == 0)
                return wrong(path, "needs", "names a piece twice", e);
        needs[i] = arena_strdup(&c->memory, name);
    }
    p->needs = needs;
    p->nneeds = n;
    return 0;
}

static int read_parents(struct curriculum *c, const char *path, const json_t *v,
                        struct piece *p, struct err *e)
{
    const json_t *list = json_object_get(v, "parents");
    size_t n = json_array_size(list);
    struct piece_parent *parents;

    if (!n || n > PIECES_MAX)
        return wrong(path, "parents", "must be a list that is not empty", e);
    parents = arena_alloc(&c->memory, n * sizeof(*parents));
    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(list, i);
        const char *sub = jsn_str(x, "sub");

        if (!*jsn_str(x, "problem") || !contract_is_id(sub))
            return wrong(path, "parents",
                         "must hold objects with \"problem\" and \"sub\"", e);
        parents[i] = (struct piece_parent){
            arena_strdup(&c->memory, jsn_str(x, "problem")),
            arena_strdup(&c->memory, sub)};
    }
    p->parents = parents;
    p->nparents = n;
    return 0;
}

static int read_piece(struct curriculum *c, const char *path, struct piece *p,
                      struct err *e)
{
    const json_t *v = json_object_get(p->task->sidecar, "piece"),
                 *depth = json_object_get(v, "depth");
    size_t kind = contract_word(jsn_str(v, "kind"), piece_kinds, PIECE_KINDS);
    size_t level =
        contract_word(jsn_str(v, "level"), piece_levels, PIECE_LEVELS);

    p->name = stem_name(c, path);
    if (!p->name)
        return err_set(e, ERR_INPUT,
                       "%s: the name of a piece must consist of at most %d "
                       "letters, digits, _ and -",
                       path, NAME_BYTES);
    if (!json_is_object(v))
        return err_set(e, ERR_INPUT,
                       "%s: /piece: must be an object; a file that is not a "
                       "piece does not belong here",
                       path);
    if (kind == PIECE_KINDS)
        return wrong(path, "kind",
                     "must be partition, reformulation or stepping_stone", e);
    if (level == PIECE_LEVELS)
        return wrong(path, "level", "must be coarse, medium or fine", e);
    if (depth && (!json_is_integer(depth) || json_integer_value(depth) < 0))
        return wrong(path, "depth", "must be a whole number from 0 on", e);
    p->kind = (enum piece_kind)kind;
    p->level = piece_levels[level];
    p->depth = depth ? (size_t)json_integer_value(depth) : UNSAID;
    if (read_member(c, path, v, "title", &p->title, e) < 0 ||
        read_needs(c, path, v, p, e) < 0)
        return -1;
    return read_parents(c, path, v, p, e);
}

int curriculum_add_piece(struct curriculum *c, const char *path, struct task *t,
                         struct err *e)
{
    struct piece p = {.task = t};
    int rc;

    if (c->len == PIECES_MAX)
        rc = err_set(e, ERR_LIMIT, "%s: more than %d pieces", path, PIECES_MAX);
    else
        rc = read_piece(c, path, &p, e);
    if (rc < 0) {
        task_free(t);
        return -1;
    }
    c->piece = xgrow(c->piece, &c->cap, c->len, sizeof(*c->piece));
    c->piece[c->len++] = p;
    return 0;
}

int curriculum_add_problem(struct curriculum *c, const char *path,
                           json_t *outline, struct err *e)
{
    struct problem p = {.name = stem_name(c, path), .outline = outline};
    int rc = 0;

    if (!p.name)
        rc = err_set(e, ERR_INPUT,
                     "%s: the name of a problem must consist of at most %d "
                     "letters, digits, _ and -",
                     path, NAME_BYTES);
    else
        rc = contract_check(outline, path, CONTRACT_FILE, e);
    if (rc < 0) {
        json_decref(outline);
        return -1;
    }
    p.id = arena_strdup(&c->memory, jsn_str(outline, "problem_id"));
    c->problem =
        xgrow(c->problem, &c->problem_cap, c->nproblems, sizeof(*c->problem));
    c->problem[c->nproblems++] = p;
    return 0;
}

/* ---- do they fit together? ---- */

/* Who is called what, while they are put together. */
struct index {
    struct map pieces, problems; /* by name; by id */
    const char *dir;
    struct err *e;
};

static int misfit(const struct index *x, const char *folder, const char *name,
                  const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static int misfit(const struct index *x, const char *folder, const char *name,
                  const char *fmt, ...)
{
    char text[600];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_set(x->e, ERR_INPUT, "%s/%s/%s.json: %s", x->dir, folder, name,
                   text);
}

static int index_all(struct index *x, const struct curriculum *c)
{
    for (size_t i = 0; i < c->len; i++) {
        struct piece *p = &c->piece[i];

        if (map_get(&x->pieces, str_of(p->name)))
            return misfit(x, "pieces", p->name, "there are two");
        map_set(&x->pieces, str_of(p->name), p);
    }
    for (size_t i = 0; i < c->nproblems; i++) {
        struct problem *p = &c->problem[i];

        if (map_get(&x->problems, str_of(p->id)))
            return misfit(x, "problems", p->name,
                          "/problem_id: another file is about %s, too", p->id);
        map_set(&x->problems, str_of(p->id), p);
    }
    return 0;
}

/* Each piece is named by the subproblems that it says. */
static int check_parents(const struct index *x, const struct piece *p)
{
    for (size_t i = 0; i < p->nparents; i++) {
        const struct piece_parent *at = &p->parents[i];
        const struct problem *up = map_get(&x->problems, str_of(at->problem));
        const json_t *sub = up ? contract_sub(up->outline, at->sub) : NULL;

        if (!up)
            return misfit(x, "pieces", p->name,
                          "/piece/parents/%zu: the folder has no problem %s", i,
                          at->problem);
        if (!sub || strcmp(jsn_str(sub, "piece"), p->name) != 0)
            return misfit(x, "pieces", p->name,
                          "/piece/parents/%zu: subproblem %s of %s is not this "
                          "piece",
                          i, at->sub, at->problem);
    }
    return 0;
}

static bool has_parent(const struct piece *p, const char *problem,
                       const char *sub)
{
    for (size_t i = 0; i < p->nparents; i++)
        if (strcmp(p->parents[i].problem, problem) == 0 &&
            strcmp(p->parents[i].sub, sub) == 0)
            return true;
    return false;
}

/* Each subproblem's piece is there and knows of it. */
static int check_subs(const struct index *x, const struct problem *p)
{
    const json_t *subs = json_object_get(p->outline, "subproblems");

    for (size_t i = 0; i < json_array_size(subs); i++) {
        const json_t *sub = json_array_get(subs, i);
        const char *name = jsn_str(sub, "piece");
        const struct piece *piece = map_get(&x->pieces, str_of(name));

        if (!piece)
            return misfit(x, "problems", p->name,
                          "/subproblems/%zu/piece: the folder has no piece %s",
                          i, name);
        if (!has_parent(piece, p->id, jsn_str(sub, "id")))
            return misfit(x, "problems", p->name,
                          "/subproblems/%zu/piece: %s does not name it among "
                          "its parents",
                          i, name);
    }
    return 0;
}

/* ---- depth ---- */

enum mark { NEW, OPEN, DONE };

struct visit {
    struct piece *piece;
    size_t next; /* of its needs */
};

/* Follows what a piece needs, without recursion: the pieces are foreign. */
static int find_depth(const struct index *x, struct curriculum *c,
                      struct visit *stack, enum mark *mark, size_t start)
{
    size_t top = 0;

    if (mark[start] == DONE)
        return 0;
    mark[start] = OPEN;
    stack[top++] = (struct visit){&c->piece[start], 0};
    c->piece[start].depth = 0;
    while (top) {
        struct visit *v = &stack[top - 1];
        struct piece *p = v->piece, *need;
        size_t at;

        if (v->next == p->nneeds) {
            mark[p - c->piece] = DONE;
            top--;
            continue;
        }
        need = map_get(&x->pieces, str_of(p->needs[v->next]));
        if (!need)
            return misfit(x, "pieces", p->name,
                          "/piece/needs/%zu: the folder has no piece %s",
                          v->next, p->needs[v->next]);
        at = (size_t)(need - c->piece);
        if (mark[at] == OPEN)
            return misfit(x, "pieces", p->name,
                          "/piece/needs/%zu: %s needs this piece in turn: a "
                          "circle",
                          v->next, need->name);
        if (mark[at] == NEW) {
            mark[at] = OPEN;
            need->depth = 0;
            stack[top++] = (struct visit){need, 0};
            continue;
        }
        if (p->depth < need->depth + 1)
            p->depth = need->depth + 1;
        v->next++;
    }
    return 0;
}

/* Computes the depths and compares them with those that the pieces say. */
static int check_depths(const struct index *x, struct curriculum *c)
{
    struct visit *stack = xcalloc(c->len + 1, sizeof(*stack));
    enum mark *mark = xcalloc(c->len + 1, sizeof(*mark));
    size_t *said = xcalloc(c->len + 1, sizeof(*said));
    int rc = 0;

    for (size_t i = 0; i < c->len; i++)
        said[i] = c->piece[i].depth;
    for (size_t i = 0; rc == 0 && i < c->len; i++)
        rc = find_depth(x, c, stack, mark, i);
    for (size_t i = 0; rc == 0 && i < c->len; i++)
        if (said[i] != UNSAID && said[i] != c->piece[i].depth)
            rc = misfit(x, "pieces", c->piece[i].name,
                        "/piece/depth: is %zu, but what it needs gives %zu",
                        said[i], c->piece[i].depth);
    free(stack);
    free(mark);
    free(said);
    return rc;
}

static void set_problem_depths(const struct index *x, struct curriculum *c)
{
    for (size_t i = 0; i < c->len; i++) {
        const struct piece *p = &c->piece[i];

        for (size_t k = 0; k < p->nparents; k++) {
            struct problem *up =
                map_get(&x->problems, str_of(p->parents[k].problem));

            if (up->depth < p->depth + 1)
                up->depth = p->depth + 1;
        }
    }
}

static int by_depth(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_problem_name(const void *a, const void *b)
{
    const struct problem *x = a, *y = b;

    return strcmp(x->name, y->name);
}

int curriculum_finish(struct curriculum *c, const char *dir, struct err *e)
{
    struct index x = {.dir = dir, .e = e};
    int rc;

    rc = index_all(&x, c);
    for (size_t i = 0; rc == 0 && i < c->len; i++)
        rc = check_parents(&x, &c->piece[i]);
    for (size_t i = 0; rc == 0 && i < c->nproblems; i++)
        rc = check_subs(&x, &c->problem[i]);
    if (rc == 0)
        rc = check_depths(&x, c);
    if (rc == 0) {
        set_problem_depths(&x, c);
        if (c->len)
            qsort(c->piece, c->len, sizeof(*c->piece), by_depth);
        if (c->nproblems)
            qsort(c->problem, c->nproblems, sizeof(*c->problem),
                  by_problem_name);
    }
    map_release(&x.pieces);
    map_release(&x.problems);
    return rc;
}

/* ---- a folder: reading ---- */

static int read_piece_file(struct curriculum *c, const char *path,
                           struct err *e)
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

static int read_problem_file(struct curriculum *c, const char *path,
                             struct err *e)
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
        rc = read_files(c, problems, ".json", read_problem_file, e);
    if (rc == 0)
        rc = read_files(c, pieces, ".py", read_piece_file, e);
    if (rc == 0 && !c->nproblems)
        rc = err_set(e, ERR_INPUT, "%s: holds no problem", problems);
    if (rc == 0)
        rc = curriculum_finish(c, dir, e);
    free(pieces);
    free(problems);
    return rc;
}

/* ---- a folder: writing ---- */

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

static int put_json_file(const char *dir, const char *name, const json_t *v,
                         struct err *e)
{
    char *path = xasprintf("%s/%s.json", dir, name);
    int rc = jsn_write(path, v, JSON_INDENT(1) | JSON_REAL_PRECISION(17), e);

    free(path);
    return rc;
}

static int put_piece(const char *dir, const struct piece *p, struct err *e)
{
    char *path = xasprintf("%s/%s.py", dir, p->name);
    json_t *sidecar = json_copy(p->task->sidecar);
    int rc;

    json_object_set_new(sidecar, "piece", piece_json(p));
    rc = put_json_file(dir, p->name, sidecar, e);
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
static int check_folder(const struct curriculum *c, const char *dir, bool piece,
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
    int rc = check_folder(c, pieces, true, e);

    if (rc == 0)
        rc = check_folder(c, problems, false, e);
    if (rc == 0)
        rc = fs_mkdirs(pieces, e);
    if (rc == 0)
        rc = fs_mkdirs(problems, e);
    for (size_t i = 0; rc == 0 && i < c->len; i++)
        rc = put_piece(pieces, &c->piece[i], e);
    /* Problems come last: without them the pieces are not read. */
    for (size_t i = 0; rc == 0 && i < c->nproblems; i++)
        rc = put_json_file(problems, c->problem[i].name, c->problem[i].outline,
                           e);
    free(pieces);
    free(problems);
    return rc;
}
