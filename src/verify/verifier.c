/* verifier.c: a worker at the end of a socket, or a folder of frames. */
#include "verify/verifier.h"

#include "base/fs.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "io/frame_file.h"
#include "io/server.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAVE_MS 5000 /* for the worker to clear up */
#define DEATHS   2    /* of the worker that a job may be there for */
#define BARREN   3    /* deaths of it in a row without an answer between */

struct verifier {
    struct loop *loop;
    /* a worker of our own */
    struct verifier_opts o;
    const struct home *home;
    struct server worker;
    uint64_t restart; /* deferred; 0: none */
    int barren;
    bool local, greeted, ended;
    char *why; /* it ended, where it said so */
    verifier_fn *fn;
    void *arg;
    struct map waiting; /* id: struct asked */
    size_t pending;
    char secret[HASH_HEX];
    /* with a folder */
    char *jobs, *answers;
    int jobs_fd;
    struct map written, answered; /* ids; answered: json_t */
    struct map failed;            /* ids that have a reason instead: char * */
    struct map to_try;            /* ids: told as failed, may be tried again */
};

struct asked {
    void *job; /* the caller's */
    char *text;
    int64_t deadline_ms;
    int deaths;
};

static void asked_free(struct asked *a)
{
    free(a->text);
    free(a);
}

static struct frame frame_of(const char *id, const struct asked *a)
{
    struct frame f = {.type = "job", .deadline_ms = a->deadline_ms};

    snprintf(f.id, sizeof(f.id), "%s", id);
    f.payload = a->text;
    f.len = strlen(a->text);
    return f;
}

static void settle(struct verifier *v, struct str id, const json_t *answer,
                   const char *why)
{
    struct asked *a = map_get(&v->waiting, id);
    void *job;

    if (!a)
        return;
    job = a->job;
    asked_free(a);
    map_set(&v->waiting, id, NULL);
    v->pending--;
    v->fn(job, answer, why, v->arg);
}

/* ---- a worker of our own ---- */

static int start_worker(struct verifier *v, struct err *e);

static const char *why_ended(const struct verifier *v)
{
    return v->why ? v->why : "the worker ended";
}

static void give_up(struct verifier *v)
{
    v->ended = true;
    for (size_t i = 0; i < v->waiting.len; i++)
        settle(v, str_of(v->waiting.items[i].key), NULL, why_ended(v));
    loop_stop(v->loop);
}

static void send_job(struct verifier *v, const char *id, const struct asked *a)
{
    struct frame f = frame_of(id, a);

    server_send(&v->worker, &f, NULL, 0);
}

/* A job that was there each time may be what ends the worker. */
static void start_again(void *arg)
{
    struct verifier *v = arg;
    struct err e = ERR_INIT;

    v->restart = 0;
    server_stop(&v->worker);
    if (start_worker(v, &e) < 0) {
        log_warn("%s", e.text);
        give_up(v);
        return;
    }
    for (size_t i = 0; i < v->waiting.len; i++) {
        struct asked *a = v->waiting.items[i].value;

        if (a && ++a->deaths < DEATHS)
            send_job(v, v->waiting.items[i].key, a);
    }
    /* Last: who is told may ask for more, which is sent at once. */
    for (size_t i = 0; i < v->waiting.len; i++) {
        const struct asked *a = v->waiting.items[i].value;

        if (a && a->deaths >= DEATHS)
            settle(v, str_of(v->waiting.items[i].key), NULL,
                   "the worker ended twice meanwhile");
    }
    if (v->pending == 0)
        loop_stop(v->loop);
}

/* One that has never greeted cannot work here. */
static void on_end(struct verifier *v)
{
    if (v->ended)
        return;
    if (!v->greeted || ++v->barren >= BARREN) {
        log_warn("the worker ended");
        give_up(v);
        return;
    }
    log_warn("the worker ended; it is started again");
    v->restart = loop_defer(v->loop, start_again, v);
}

static void on_frame(struct server *s, const struct frame *f, void *arg)
{
    struct verifier *v = arg;
    struct err e = ERR_INIT;
    json_t *answer;
    char *text;

    (void)s;
    if (!f) {
        on_end(v);
        return;
    }
    if (strcmp(f->type, "unfit") == 0 && !v->greeted && !v->ended) {
        v->why = xstrndup(f->payload, f->len);
        give_up(v);
        return;
    }
    if (strcmp(f->type, "ready") == 0) {
        v->greeted = true;
    } else if (strcmp(f->type, "note") == 0 || strcmp(f->type, "unfit") == 0) {
        log_warn("%.*s", (int)f->len, f->payload);
    } else if (strcmp(f->type, "infra") == 0) {
        text = xstrndup(f->payload, f->len);
        settle(v, str_of(f->id), NULL, text);
        free(text);
    } else if (strcmp(f->type, "answer") == 0) {
        answer = jsn_parse("answer", f->payload, f->len, &e);
        v->barren = 0;
        settle(v, str_of(f->id), answer, answer ? NULL : e.text);
        if (answer)
            json_decref(answer);
    }
    if (v->pending == 0)
        loop_stop(v->loop);
}

static int start_worker(struct verifier *v, struct err *e)
{
    const struct verifier_opts *o = &v->o;
    const struct home *home = v->home;
    const char *argv[64];
    char children[24];
    size_t n = 0;

    snprintf(children, sizeof(children), "%lld", (long long)o->children);
    argv[n++] = home->worker;
    argv[n++] = "--home";
    argv[n++] = home->dir;
    argv[n++] = "--python";
    argv[n++] = home->python;
    argv[n++] = "--device";
    argv[n++] = o->device;
    argv[n++] = "--children";
    argv[n++] = children;
    argv[n++] = "--box";
    argv[n++] = o->box;
    if (o->unsafe)
        argv[n++] = "--unsafe";
    for (size_t i = 0; i < o->packs->len && n < 60; i++) {
        argv[n++] = "--packs";
        argv[n++] = o->packs->item[i];
    }
    argv[n] = NULL;
    v->local = true;
    v->worker.fn = on_frame;
    v->worker.arg = v;
    return server_start(&v->worker, v->loop, argv, NULL, e);
}

/* ---- a folder ---- */

static int on_written(const struct frame *f, void *arg, struct err *e)
{
    struct verifier *v = arg;

    (void)e;
    if (strcmp(f->type, "job") == 0)
        map_set(&v->written, str_of(f->id), v);
    return 0;
}

static int on_answered(const struct frame *f, void *arg, struct err *e)
{
    struct verifier *v = arg;
    json_t *answer;

    if (strcmp(f->type, "infra") == 0) {
        free(map_get(&v->failed, str_of(f->id)));
        map_set(&v->failed, str_of(f->id), xstrndup(f->payload, f->len));
        return 0;
    }
    if (strcmp(f->type, "answer") != 0 || map_get(&v->answered, str_of(f->id)))
        return 0;
    answer = jsn_parse(v->answers, f->payload, f->len, e);
    if (answer)
        map_set(&v->answered, str_of(f->id), answer);
    return answer ? 0 : -1;
}

static int open_folder(struct verifier *v, const char *dir, struct err *e)
{
    char *secret = fs_join(dir, "secret");
    struct buf b;
    int rc = -1;

    buf_init(&b, HASH_HEX);
    v->jobs = fs_join(dir, "jobs");
    v->answers = fs_join(dir, "answers");
    if (fs_mkdirs(dir, e) < 0)
        goto out;
    v->jobs_fd = frame_file_open(v->jobs, on_written, v, e);
    if (v->jobs_fd < 0)
        goto out;
    if (fs_is_file(secret)) {
        if (fs_read(secret, &b, e) < 0)
            goto out;
        snprintf(v->secret, sizeof(v->secret), "%s", buf_str(&b));
    } else if (fs_replace(secret, v->secret, HASH_HEX - 1, e) < 0) {
        goto out;
    }
    rc = frame_file_read(v->answers, on_answered, v, e);
out:
    buf_release(&b);
    free(secret);
    return rc;
}

static int write_job(struct verifier *v, const char *id, const struct asked *a,
                     struct err *e)
{
    struct frame f = frame_of(id, a);
    int rc;

    if (map_get(&v->written, str_of(id)))
        return 0;
    rc = frame_write(v->jobs_fd, &f, e);
    if (rc < 0)
        err_wrap(e, "%s", v->jobs);
    map_set(&v->written, str_of(id), v);
    return rc;
}

/* ---- both ---- */

struct verifier *verifier_open(struct loop *l, const struct verifier_opts *o,
                               const struct home *home, verifier_fn *fn,
                               void *arg, struct err *e)
{
    struct verifier *v = xcalloc(1, sizeof(*v));
    int rc = -1;

    v->loop = l;
    v->o = *o;
    v->home = home;
    v->fn = fn;
    v->arg = arg;
    v->jobs_fd = -1;
    map_init(&v->waiting);
    map_init(&v->written);
    map_init(&v->answered);
    map_init(&v->failed);
    map_init(&v->to_try);
    if (hash_secret_hex(v->secret, e) == 0) {
        if (strcmp(o->verifier, "local") == 0)
            rc = start_worker(v, e);
        else if (strncmp(o->verifier, "jobs=", 5) == 0 && o->verifier[5])
            rc = open_folder(v, o->verifier + 5, e);
        else
            err_set(e, ERR_USAGE,
                    "--verifier: '%s' is neither local nor jobs=DIR",
                    o->verifier);
    }
    if (rc == 0)
        return v;
    verifier_close(v);
    return NULL;
}

void verifier_close(struct verifier *v)
{
    loop_remove(v->loop, v->restart);
    if (v->local)
        server_end(&v->worker, LEAVE_MS);
    if (v->jobs_fd >= 0)
        close(v->jobs_fd);
    for (size_t i = 0; i < v->waiting.len; i++)
        if (v->waiting.items[i].value)
            asked_free(v->waiting.items[i].value);
    for (size_t i = 0; i < v->answered.len; i++)
        json_decref(v->answered.items[i].value);
    for (size_t i = 0; i < v->failed.len; i++)
        free(v->failed.items[i].value);
    map_release(&v->waiting);
    map_release(&v->written);
    map_release(&v->answered);
    map_release(&v->failed);
    map_release(&v->to_try);
    free(v->why);
    free(v->jobs);
    free(v->answers);
    free(v);
}

static bool is_infra(const json_t *answer)
{
    return strcmp(jsn_str(answer, "verdict"), "infra") == 0;
}

static bool is_unusable(const json_t *answer)
{
    return json_is_true(json_object_get(answer, "unusable"));
}

/* The job as text, with its id; `known` is the answer that the folder has. An
 * answer is never given twice, so a job whose answer says that the machinery
 * failed goes out as another one: `known` is then the last such answer. */
static char *write_out(struct verifier *v, json_t *what, char id[HASH_HEX],
                       const json_t **known)
{
    const json_t *answer;
    char *text;

    *known = NULL;
    for (json_int_t again = 1;; again++) {
        text = json_dumps(what, JSON_COMPACT | JSON_SORT_KEYS);
        hash_hex(text, strlen(text), id);
        answer = map_get(&v->answered, str_of(id));
        if (answer)
            *known = answer;
        if (!is_infra(answer) || is_unusable(answer))
            return text;
        free(text);
        json_object_set_new(what, "again", json_integer(again));
    }
}

/* With a folder: written for whoever answers, or told what is there. */
static int put_out(struct verifier *v, const char *id, const struct asked *a,
                   const json_t *known, struct err *e)
{
    const char *why = map_get(&v->failed, str_of(id));
    bool done = known && (!is_infra(known) || is_unusable(known));

    if (!done && write_job(v, id, a, e) < 0)
        return -1;
    if (!done && (known || why))
        map_set(&v->to_try, str_of(id), v);
    if (why && !done)
        settle(v, str_of(id), NULL, why);
    else if (known)
        settle(v, str_of(id), known, NULL);
    return 0;
}

int verifier_ask(struct verifier *v, json_t *what, int64_t deadline_ms,
                 void *job, struct err *e)
{
    struct asked *a = xmalloc(sizeof(*a));
    char id[HASH_HEX];
    const json_t *known;
    int rc = 0;

    *a = (struct asked){.job = job, .deadline_ms = deadline_ms};
    a->text = write_out(v, what, id, &known);
    json_decref(what);
    if (map_get(&v->waiting, str_of(id)))
        BUG("the same job twice");
    map_set(&v->waiting, str_of(id), a);
    v->pending++;
    if (!v->local)
        rc = put_out(v, id, a, known, e);
    else if (v->ended)
        settle(v, str_of(id), NULL, why_ended(v));
    else if (!v->restart) /* else it goes with the others */
        send_job(v, id, a);
    return rc;
}

size_t verifier_pending(const struct verifier *v)
{
    return v->pending;
}

bool verifier_is_dead(const struct verifier *v)
{
    return v->ended;
}

/* What is to be done elsewhere, and the command that does it. */
static char *hint_of(const struct verifier *v)
{
    bool cpu = strcmp(v->o.device, "cpu") == 0;
    size_t n = v->pending ? v->pending : v->to_try.len;
    const char *what = v->pending == 1 ? " waits for answers"
                       : v->pending    ? "s wait for answers"
                       : n == 1        ? " failed and can be tried again"
                                       : "s failed and can be tried again";

    return xasprintf("%zu job%s: run 'monkeys-worker --jobs %s --out %s%s%s' "
                     "where the device is",
                     n, what, v->jobs, v->answers, cpu ? "" : " --device ",
                     cpu ? "" : v->o.device);
}

int verifier_wait(struct verifier *v, char **hint, struct err *e)
{
    (void)e;
    *hint = NULL;
    if (v->local) {
        if (v->pending)
            loop_run(v->loop);
    } else if (v->pending || v->to_try.len) {
        *hint = hint_of(v);
    }
    return 0;
}

const char *verifier_secret(const struct verifier *v)
{
    return v->secret;
}
