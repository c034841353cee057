/* kernel.c: kernels to folders and back. */
#include "run/kernel.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "verify/verdict.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int kernel_text(const char *dir, const char *name, struct str *out,
                       struct err *e)
{
    char *path = fs_join(dir, name);
    struct buf b = {.limit = KERNEL_MAX_TEXT};
    int rc;

    rc = fs_read(path, &b, e);
    if (rc == 0) {
        out->p = buf_take(&b, &out->n);
        if (!out->p)
            out->p = xstrdup("");
    }
    buf_release(&b);
    free(path);
    return rc;
}

json_t *kernel_meta(const char *dir, struct err *e)
{
    char *path = fs_join(dir, "meta.json");
    json_t *meta = jsn_read(path, e);

    free(path);
    return meta;
}

void kernel_take_meta(const json_t *meta, struct kernel *out)
{
    out->origin = xstrdup(jsn_str(meta, "origin"));
    out->licence = xstrdup(jsn_str(meta, "licence"));
    out->dtype = xstrdup(jsn_str(meta, "dtype"));
    out->dsl = xstrdup(jsn_str(meta, "dsl"));
    out->ported_why = xstrdup(jsn_str(meta, "ported_why"));
    out->verified = jsn_true(meta, "verified");
    out->rules = verdict_rules(meta);
    out->verified_on =
        xstrdup(jsn_str(meta, out->verified ? "verified_on" : "why_not"));
    out->retired_on = xstrdup(jsn_str(meta, "retired_on"));
    out->retired_why = xstrdup(jsn_str(meta, "retired_why"));
    out->judged = json_incref(json_object_get(meta, "judged"));
    out->piece = json_incref(json_object_get(meta, "piece"));
}

static int read_meta(const char *dir, struct kernel *out, struct err *e)
{
    json_t *meta = kernel_meta(dir, e);

    if (!meta)
        return -1;
    kernel_take_meta(meta, out);
    json_decref(meta);
    return 0;
}

static int read_optional(const char *dir, const char *name, struct str *out,
                         struct err *e)
{
    char *path = fs_join(dir, name);
    int rc = fs_is_file(path) ? kernel_text(dir, name, out, e) : 0;

    free(path);
    return rc;
}

bool kernel_is_retired(const struct kernel *k)
{
    return k->retired_on && k->retired_on[0];
}

bool kernel_is_older(const struct kernel *k)
{
    return k->verified && k->rules != VERDICT_RULES;
}

const char *kernel_evidence(const struct kernel *k)
{
    return k->verified && !kernel_is_older(k) ? evidences[EVIDENCE_ARCHIVE].name
                                              : NULL;
}

int kernel_read(const char *dir, struct kernel *out, struct err *e)
{
    char *task = fs_join(dir, "task.py");
    int rc = -1;

    *out = (struct kernel){.name = xstrdup(fs_base(dir))};
    out->task = task_load(task, e);
    if (out->task && read_meta(dir, out, e) == 0 &&
        kernel_text(dir, "solution.py", &out->solution, e) == 0 &&
        read_optional(dir, "solution_ported.py", &out->ported, e) == 0 &&
        read_optional(dir, "plan.md", &out->plan, e) == 0)
        rc = 0;
    free(task);
    if (rc < 0)
        kernel_release(out);
    return rc;
}

void kernel_release(struct kernel *k)
{
    if (k->task)
        task_free(k->task);
    free((char *)k->name);
    free((char *)k->plan.p);
    free((char *)k->solution.p);
    free((char *)k->ported.p);
    free((char *)k->ported_why);
    free((char *)k->origin);
    free((char *)k->licence);
    free((char *)k->dtype);
    free((char *)k->dsl);
    free((char *)k->verified_on);
    free((char *)k->retired_on);
    free((char *)k->retired_why);
    json_decref(k->judged);
    json_decref(k->piece);
    *k = (struct kernel){0};
}

int kernel_each(const char *dir,
                int (*fn)(struct kernel *k, void *arg, struct err *e),
                void *arg, struct err *e)
{
    struct fs_names names;
    struct kernel k;
    int rc = fs_list(dir, false, &names, e);

    for (size_t i = 0; rc == 0 && i < names.len; i++) {
        char *sub = fs_join(dir, names.name[i]);

        if (names.name[i][0] != '.' && fs_is_dir(sub)) {
            rc = kernel_read(sub, &k, e);
            if (rc == 0) {
                rc = fn(&k, arg, e);
                kernel_release(&k);
            }
        }
        free(sub);
    }
    fs_names_release(&names);
    return rc;
}

static int write_text(const char *dir, const char *name, struct str text,
                      struct err *e)
{
    char *path = fs_join(dir, name);
    int rc = fs_replace(path, text.p, text.n, e);

    free(path);
    return rc;
}

static int write_json(const char *dir, const char *name, const json_t *v,
                      struct err *e)
{
    char *path = fs_join(dir, name);
    int rc = jsn_write(path, v, JSON_INDENT(2), e);

    free(path);
    return rc;
}

int kernel_put_meta(const char *dir, const json_t *meta, struct err *e)
{
    return write_json(dir, "meta.json", meta, e);
}

json_t *kernel_meta_of(const struct kernel *k)
{
    json_t *meta = json_pack(
        "{s:s, s:s, s:s, s:[], s:b, s:s}", "origin", k->origin, "licence",
        k->licence, "dtype", k->dtype, "shapes", "verified", k->verified,
        k->verified ? "verified_on" : "why_not", k->verified_on);

    if (k->verified)
        json_object_set_new(meta, "rules", json_integer(k->rules));
    if (k->dsl && k->dsl[0])
        json_object_set_new(meta, "dsl", json_string(k->dsl));
    if (!k->ported.p && k->ported_why && k->ported_why[0])
        json_object_set_new(meta, "ported_why", json_string(k->ported_why));
    if (k->judged)
        json_object_set(meta, "judged", k->judged);
    if (k->piece)
        json_object_set(meta, "piece", k->piece);
    return meta;
}

json_t *kernel_judged(const json_t *record)
{
    static const char *const kept[] = {"error_ratio", "slice_ratio", "timing"};
    json_t *judged = json_object();

    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        json_t *value = json_object_get(record, kept[i]);

        if (value && !json_is_null(value))
            json_object_set(judged, kept[i], value);
    }
    if (json_object_size(judged) > 0)
        return judged;
    json_decref(judged);
    return NULL;
}

static int write_meta(const char *dir, const struct kernel *k, struct err *e)
{
    json_t *meta = kernel_meta_of(k);
    int rc = kernel_put_meta(dir, meta, e);

    json_decref(meta);
    return rc;
}

static int write_files(const char *dir, const struct kernel *k,
                       struct str source, struct err *e)
{
    if (write_text(dir, "task.py", source, e) < 0 ||
        (k->task && k->task->sidecar && /* what is right for it is part of it */
         write_json(dir, "task.json", k->task->sidecar, e) < 0) ||
        (k->plan.p && write_text(dir, "plan.md", k->plan, e) < 0) ||
        (k->ported.p &&
         write_text(dir, "solution_ported.py", k->ported, e) < 0) ||
        write_text(dir, "solution.py", k->solution, e) < 0)
        return -1;
    return write_meta(dir, k, e);
}

/* Under a temporary name, which readers ignore, until the folder is
 * complete. */
int kernel_write(const char *dir, const struct kernel *k, struct str source,
                 struct err *e)
{
    char *own = fs_join(dir, k->name),
         *begun = xasprintf("%s/.%s.part", dir, k->name);
    int rc = -1;

    if (fs_is_dir(own)) {
        err_set(e, ERR_INPUT, "%s exists already; choose another folder", own);
    } else {
        fs_remove_tree(begun); /* of a program that was killed */
        rc = fs_mkdirs(begun, e);
        if (rc == 0)
            rc = write_files(begun, k, source, e);
        if (rc == 0 && rename(begun, own) < 0)
            rc = err_sys(e, "%s: cannot rename to %s", begun, own);
        if (rc < 0)
            fs_remove_tree(begun);
    }
    free(own);
    free(begun);
    return rc;
}

char *kernel_name(const char *task_id)
{
    bool digit = task_id[0] >= '0' && task_id[0] <= '9';
    char *name = xasprintf("%s%s", digit ? "task_" : "", task_id);

    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) || !isascii((unsigned char)*p))
            *p = '_';
    return name;
}

void kernel_found(struct kernel *k, struct arena *a, const char *task_id,
                  const struct kernel_finding *f)
{
    char *name = kernel_name(task_id);

    k->name = arena_strdup(a, name);
    k->origin = arena_printf(
        a, "%s, attempt %lld, %s", f->method, (long long)f->attempt,
        f->model && f->model[0] ? f->model : "a model without a name");
    k->verified = true;
    k->verified_on =
        arena_printf(a, "%s, %s, evidence %s", f->device, f->precision,
                     evidences[EVIDENCE_ARCHIVE].name);
    k->licence = "as its task";
    k->dtype = f->precision;
    k->dsl = f->dsl;
    free(name);
}

char *kernel_free_name(const char *dir, const char *name)
{
    char *free_name = xstrdup(name);

    for (int n = 2;; n++) {
        char *path = fs_join(dir, free_name);
        bool taken = access(path, F_OK) == 0;

        free(path);
        if (!taken)
            return free_name;
        free(free_name);
        free_name = xasprintf("%s_%d", name, n);
    }
}

static json_t *kernel_text_json(struct str s)
{
    return s.p ? jsn_text(s.p, s.n) : json_null();
}

json_t *kernel_json(const struct kernel *k, bool texts)
{
    json_t *v = json_pack("{s:s, s:s, s:s, s:b, s:s, s:b, s:s}", "name",
                          k->name, "task", k->task->id, "dtype", k->dtype,
                          "verified", k->verified, "origin", k->origin, "plan",
                          k->plan.p != NULL, "hash", k->task->hash);

    if (k->verified)
        json_object_set_new(v, "rules", json_integer(k->rules));
    if (kernel_is_retired(k)) {
        json_object_set_new(v, "retired_on", json_string(k->retired_on));
        json_object_set_new(v, "retired_why", jsn_of(k->retired_why));
    }
    if (k->piece)
        json_object_set(v, "piece", k->piece);
    if (!texts)
        return v;
    if (k->judged)
        json_object_set(v, "judged", k->judged);
    json_object_set_new(v, "problem", jsn_text(k->task->source, k->task->len));
    json_object_set_new(v, "plan", kernel_text_json(k->plan));
    json_object_set_new(v, "solution", kernel_text_json(k->solution));
    json_object_set_new(v, "ported", kernel_text_json(k->ported));
    if (k->ported_why && k->ported_why[0])
        json_object_set_new(v, "ported_why", json_string(k->ported_why));
    return v;
}
