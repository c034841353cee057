/* run_folder.c: the folder of a run: its configuration, its database, its
 * lock. */
#include "base/conf.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/run_int.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- run.ini ---- */

static bool is_path(const struct opt *o)
{
    return o->value &&
           (strcmp(o->value, "FILE") == 0 || strcmp(o->value, "DIR") == 0);
}

/* The same place from everywhere. */
static const char *absolute(struct running *r, const char *path)
{
    char cwd[PATH_MAX];

    if (!path || path[0] == '/' || !getcwd(cwd, sizeof(cwd)))
        return path;
    return arena_printf(&r->memory, "%s/%s", cwd, path);
}

static void make_absolute(struct running *r)
{
    static const char jobs[] = "jobs=";
    struct run_values *v = r->v;

    for (const struct opt *o = run_table; o->name; o++) {
        void *at = (char *)v + o->at;
        struct opt_list *list = at;

        if (!is_path(o))
            continue;
        if (o->type == OPT_LIST)
            for (size_t i = 0; i < list->len; i++)
                list->item[i] = absolute(r, list->item[i]);
        else
            *(const char **)at = absolute(r, *(const char **)at);
    }
    if (strncmp(v->v.verifier, jobs, strlen(jobs)) == 0)
        v->v.verifier = arena_printf(&r->memory, "%s%s", jobs,
                                     absolute(r, v->v.verifier + strlen(jobs)));
    r->verifier.verifier = v->v.verifier;
}

/* A run.ini names every task's file, in the order of the collection. */
static int write_ini(struct running *r, struct err *e)
{
    struct run_values v = *r->v;
    const char **path =
        arena_alloc(&r->memory, (r->tasks.len + 1) * sizeof(*path));
    char *file = fs_join(r->v->out, "run.ini");
    struct buf b;
    int rc;

    for (size_t i = 0; i < r->tasks.len; i++)
        path[i] = absolute(r, r->tasks.task[i]->path);
    v.tasks = (struct opt_list){.item = path, .len = r->tasks.len};
    v.set = (struct opt_list){0};
    v.out = NULL;
    buf_init(&b, BUF_UNLIMITED);
    buf_puts(&b, "# Every option of this run. 'monkeys resume' reads it.\n");
    conf_write("run", run_table, &v, &b);
    rc = fs_replace(file, buf_str(&b), b.len, e);
    buf_release(&b);
    free(file);
    return rc;
}

static int check_one_line(const struct run_values *v, struct err *e)
{
    for (const struct opt *o = run_table; o->name; o++) {
        const void *at = (const char *)v + o->at;

        if ((o->type == OPT_TEXT || o->type == OPT_CHOICE) &&
            *(const char *const *)at && strchr(*(const char *const *)at, '\n'))
            return err_set(e, ERR_USAGE,
                           "--%s: a value of more than one line cannot be "
                           "kept in run.ini",
                           o->name);
    }
    return 0;
}

/* ---- run.db ---- */

static int new_secret(struct running *r, struct err *e)
{
    unsigned char raw[32];

    if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
        return err_sys(e, "getrandom");
    hash_hex(raw, sizeof(raw), r->secret);
    return 0;
}

static void set_number(struct store *s, const char *name, int64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)value);
    store_set(s, name, text);
}

static int begin_store(struct running *r, const char *file, struct err *e)
{
    const struct run_values *v = r->v;

    r->store = store_open(file, STORE_NEW, r->loop, e);
    if (!r->store || new_secret(r, e) < 0)
        return -1;
    store_set(r->store, "secret", r->secret);
    store_set(r->store, "method", v->method);
    store_set(r->store, "dsl", r->pack->id);
    store_set(r->store, "pack_hash", r->pack->hash);
    store_set(r->store, "precision", r->opt.precision);
    store_set(r->store, "device", v->v.device);
    store_set(r->store, "provider", r->model.opts.provider);
    store_set(r->store, "model", v->m.model ? v->m.model : "");
    set_number(r->store, "seed", v->seed);
    set_number(r->store, "attempts", v->attempts);
    return store_sync(r->store, e);
}

static int open_store(struct running *r, const char *file, struct err *e)
{
    struct buf b;
    int rc = -1;

    buf_init(&b, BUF_UNLIMITED);
    r->store = store_open(file, STORE_OPEN, r->loop, e);
    if (r->store && store_get(r->store, "secret", &b, e) == 1) {
        snprintf(r->secret, sizeof(r->secret), "%s", buf_str(&b));
        buf_reset(&b);
        rc = store_get(r->store, "pack_hash", &b, e) == 1 ? 0 : -1;
    }
    if (r->store && rc < 0 && e->kind == ERR_NONE)
        err_set(e, ERR_INPUT,
                "%s: the run was ended before it began; start it "
                "again in another folder",
                file);
    if (rc == 0 && strcmp(buf_str(&b), r->pack->hash) != 0)
        log_warn("the pack %s has changed since the run began: what follows "
                 "is not what an uninterrupted run would have done",
                 r->pack->id);
    buf_release(&b);
    return rc;
}

int run_folder_open(struct running *r, struct err *e)
{
    char *file;
    int rc = -1;

    if (!r->v->out)
        r->v->out =
            arena_printf(&r->memory, "run-%s-%s", r->pack->id, r->v->method);
    file = fs_join(r->v->out, "run.db");
    if (r->resume && !fs_is_file(file))
        err_set(e, ERR_INPUT, "%s: no run there (run.db is missing)",
                r->v->out);
    else if (!r->resume && fs_is_file(file))
        err_set(e, ERR_INPUT,
                "%s holds a run already: 'monkeys resume %s' goes on with it, "
                "--out DIR starts another",
                r->v->out, r->v->out);
    else if (check_one_line(r->v, e) == 0 && fs_mkdirs(r->v->out, e) == 0 &&
             lock_take(r->v->out, &r->lock, e) == 0) {
        r->locked = true;
        if (!r->resume)
            make_absolute(r);
        rc = r->resume             ? open_store(r, file, e)
             : write_ini(r, e) < 0 ? -1
                                   : begin_store(r, file, e);
    }
    free(file);
    return rc;
}
