/* shared_row.c: kernels to rows of a shared archive and back. */
#include "run/shared.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NAME 200
#define MAX_META ((size_t)1 << 20)

static struct str copy(struct str s)
{
    return s.p ? (struct str){xstrndup(s.p, s.n), s.n} : s;
}

static struct str dump(const json_t *v)
{
    char *text = v ? json_dumps(v, JSON_COMPACT) : NULL;

    return text ? str_of(text) : (struct str){0};
}

static void add_part(struct hash *h, struct str s)
{
    char length[32];

    snprintf(length, sizeof(length), "%zu:", s.n);
    hash_add(h, length, strlen(length));
    hash_add(h, s.p, s.n);
}

static void hash_row(const struct shared_row *r, char out[HASH_HEX])
{
    struct hash h;

    hash_init(&h);
    add_part(&h, r->dsl);
    add_part(&h, r->task);
    add_part(&h, r->solution);
    hash_finish_hex(&h, out);
}

void shared_row_of(const struct kernel *k, struct shared_row *out)
{
    json_t *meta = kernel_meta_of(k);

    *out = (struct shared_row){
        .name = copy(str_of(k->name)),
        .dsl = copy(str_of(k->dsl ? k->dsl : "")),
        .task = copy((struct str){k->task->source, k->task->len}),
        .sidecar = dump(k->task->sidecar),
        .plan = copy(k->plan),
        .solution = copy(k->solution),
        .ported = copy(k->ported),
        .meta = dump(meta)};
    json_decref(meta);
    memcpy(out->task_hash, k->task->hash, HASH_HEX);
    shared_row_seal(out);
}

void shared_row_seal(struct shared_row *r)
{
    hash_row(r, r->hash);
}

void shared_row_release(struct shared_row *r)
{
    free((char *)r->name.p);
    free((char *)r->dsl.p);
    free((char *)r->task.p);
    free((char *)r->sidecar.p);
    free((char *)r->plan.p);
    free((char *)r->solution.p);
    free((char *)r->ported.p);
    free((char *)r->meta.p);
    *r = (struct shared_row){0};
}

/* ---- and back ---- */

/* It becomes the name of a folder, and is printed. */
static bool is_name(struct str s)
{
    if (s.n == 0 || s.n > MAX_NAME || s.p[0] == '.' || s.p[0] == '-' ||
        str_utf8_check(s.p, s.n) != s.n)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 127 || s.p[i] == '/')
            return false;
    return true;
}

static int check_row(const struct shared_row *r, struct err *e)
{
    char hash[HASH_HEX];

    if (!is_name(r->name))
        return err_set(e, ERR_INPUT, "its name is not one of a folder");
    if (!r->task.p || !r->solution.p || !r->meta.p)
        return err_set(e, ERR_INPUT, "a text is missing or too long");
    if (r->task.n > TASK_MAX_BYTES || r->sidecar.n > MAX_META ||
        r->meta.n > MAX_META || r->plan.n > KERNEL_MAX_TEXT ||
        r->solution.n > KERNEL_MAX_TEXT || r->ported.n > KERNEL_MAX_TEXT)
        return err_set(e, ERR_INPUT, "a text is too long");
    hash_row(r, hash);
    if (strcmp(hash, r->hash) != 0)
        return err_set(e, ERR_INPUT, "its texts do not have its hash");
    return 0;
}

static int take_task(const struct shared_row *r, struct kernel *out,
                     struct err *e)
{
    char *path = xasprintf("%s/task.py", out->name);
    int rc = -1;

    out->task = task_from(path, r->task, e);
    if (out->task && r->sidecar.p)
        out->task->sidecar =
            jsn_parse("task.json", r->sidecar.p, r->sidecar.n, e);
    if (out->task && out->task->sidecar && !json_is_object(out->task->sidecar))
        err_set(e, ERR_INPUT, "task.json: /: not an object");
    else if (out->task && (!r->sidecar.p || out->task->sidecar))
        rc = 0;
    free(path);
    return rc;
}

static int take_meta(const struct shared_row *r, struct kernel *out,
                     struct err *e)
{
    json_t *meta = jsn_parse("meta.json", r->meta.p, r->meta.n, e);
    int rc = 0;

    if (!meta)
        return -1;
    kernel_take_meta(meta, out);
    if (!str_eq(r->dsl, out->dsl))
        rc = err_set(e, ERR_INPUT, "meta.json names another pack");
    json_decref(meta);
    return rc;
}

int shared_kernel_of(const struct shared_row *r, struct kernel *out,
                     struct err *e)
{
    *out = (struct kernel){0};
    if (check_row(r, e) < 0)
        return -1;
    out->name = xstrndup(r->name.p, r->name.n);
    if (take_task(r, out, e) == 0 && take_meta(r, out, e) == 0) {
        out->plan = copy(r->plan);
        out->solution = copy(r->solution);
        out->ported = copy(r->ported);
        return 0;
    }
    kernel_release(out);
    return -1;
}
