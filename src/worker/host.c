/* host.c: jobs, children and servers, and what happens when one of them ends. */
#include "worker/host.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tick.h"
#include "io/server.h"
#include "worker/child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES    2 /* a job whose machinery fails is tried once more */
#define START_S  120
#define RESTARTS 5 /* of a server in a row, without one finished job */
#define LEAVE_S  3 /* what children have to end in when we do */

struct job {
    struct job *next;
    char id[FRAME_ID_MAX + 1];
    int64_t deadline_ms;
    char *payload;
    size_t len;
    int tries;
    bool begun; /* the judge has asked for a child */
    bool late;  /* its whole time is over */
    uint64_t timer;
    struct child *child;
};

struct zygote {
    struct zygote *next;
    struct host *host;
    struct server server;
    char pack[128];
    char *dir;
    bool ready;
    uint64_t start_timer;
    int64_t warm; /* children that wait for a job */
};

/* The memory group of a child whose last process is still dying. */
struct stale {
    struct stale *next;
    struct cgroup group;
};

struct host {
    struct loop *loop;
    struct host_opts o;
    host_out_fn *out;
    void *arg;
    struct server judge;
    bool judge_ready;
    uint64_t judge_timer;
    int failures;        /* ends of servers since the last answer */
    unsigned long names; /* children named so far */
    struct zygote *zygotes;
    struct child *children;
    struct stale *stale;
    struct job *jobs, **last;
    size_t pending;
};

static int start_judge(struct host *h, struct err *e);

/* ---- to the owner ---- */

static void tell(struct host *h, const char *type, const char *id,
                 const char *text)
{
    struct frame f = {.payload = text, .len = strlen(text)};

    snprintf(f.type, sizeof(f.type), "%s", type);
    snprintf(f.id, sizeof(f.id), "%s", id);
    h->out(&f, h->arg);
}

static void note_log(struct host *h, const struct server *s, const char *who)
{
    struct err e = ERR_INIT;
    struct buf b;
    char *text;
    size_t from;

    buf_init(&b, (size_t)1 << 24);
    fs_read(s->log, &b, &e);
    from = b.len > 2000 ? b.len - 2000 : 0;
    text = xasprintf("%s ended; its last words:\n%s", who, buf_str(&b) + from);
    tell(h, "note", "-", text);
    free(text);
    buf_release(&b);
}

/* ---- jobs ---- */

static struct job *find_job(struct host *h, const char *id)
{
    for (struct job *j = h->jobs; j; j = j->next)
        if (strcmp(j->id, id) == 0)
            return j;
    return NULL;
}

static void remove_job(struct host *h, struct job *gone)
{
    struct job **at = &h->jobs;

    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    if (h->last == &gone->next)
        h->last = at;
    loop_remove(h->loop, gone->timer);
    if (gone->child) {
        gone->child->job = NULL;
        child_kill(gone->child, NULL);
    }
    free(gone->payload);
    free(gone);
    h->pending--;
}

static void give_job(struct host *h, struct job *j)
{
    struct frame f = {.type = "job",
                      .deadline_ms = j->deadline_ms,
                      .payload = j->payload,
                      .len = j->len};

    snprintf(f.id, sizeof(f.id), "%s", j->id);
    j->begun = j->late = false;
    loop_remove(h->loop, j->timer);
    j->timer = 0;
    server_send(&h->judge, &f, NULL, 0);
}

/* The machinery failed on it: again, or the owner is told. */
static void job_failed(struct host *h, struct job *j, const char *why)
{
    char id[FRAME_ID_MAX + 1];

    if (++j->tries < TRIES) {
        if (j->child) {
            j->child->job = NULL;
            child_kill(j->child, NULL);
            j->child = NULL;
        }
        give_job(h, j);
        return;
    }
    memcpy(id, j->id, sizeof(id));
    remove_job(h, j);
    tell(h, "infra", id, why);
}

void host_job(struct host *h, const struct frame *job)
{
    struct job *j = xcalloc(1, sizeof(*j));

    memcpy(j->id, job->id, sizeof(j->id));
    j->deadline_ms = job->deadline_ms;
    j->payload = xmalloc(job->len + 1);
    memcpy(j->payload, job->payload, job->len);
    j->len = job->len;
    *h->last = j;
    h->last = &j->next;
    h->pending++;
    if (h->judge_ready)
        give_job(h, j);
}

void host_cancel(struct host *h, const char *id)
{
    struct job *j = find_job(h, id);

    if (!j)
        return;
    server_say(&h->judge, "cancel", id, "");
    remove_job(h, j);
}

size_t host_pending(const struct host *h)
{
    return h->pending;
}

/* ---- zygotes and their children ---- */

static char *existing(const char *dir, const char *pack)
{
    char *path = fs_join(dir, pack);

    if (fs_is_dir(path))
        return path;
    free(path);
    return NULL;
}

/* The folder of "PACK" or "PACK+MODE"; the caller frees it. */
static char *pack_dir(const struct host *h, const char *name, const char **mode)
{
    const char *plus = strchr(name, '+');
    char *own, *dir, *pack;

    *mode = plus ? plus + 1 : "run";
    pack = plus ? xstrndup(name, (size_t)(plus - name)) : xstrdup(name);
    dir = NULL;
    for (size_t i = 0; !dir && i < h->o.pack_count; i++)
        dir = existing(h->o.packs[i], pack);
    own = fs_join(h->o.home, "packs");
    if (!dir)
        dir = existing(own, pack);
    free(own);
    free(pack);
    return dir;
}

static void fork_child(struct zygote *z, struct job *j, uint64_t memory,
                       int64_t deadline_ms)
{
    struct host *h = z->host;
    struct err e = ERR_INIT;
    char name[32];
    struct child *c;

    /* A job's next child may be asked for before its last one is reaped. */
    snprintf(name, sizeof(name), "child-%lu", ++h->names);
    c = child_new(h->loop, &z->server, name, memory, &e);
    if (!c) {
        if (j)
            server_say(&h->judge, "nochild", j->id, e.text);
        return;
    }
    c->next = h->children;
    h->children = c;
    c->owner = z;
    c->job = j;
    if (j)
        j->child = c;
    else
        z->warm++;
    child_deadline(c, deadline_ms);
}

static void keep_warm(struct zygote *z)
{
    while (z->ready && z->warm < z->host->o.prewarm)
        fork_child(z, NULL, z->host->o.memory, 0);
}

/* The child is alive and the judge wants it: hand over its socket. */
static void hand_over(struct host *h, struct child *c)
{
    struct frame f = {.type = "child"};
    struct job *j = c->job;

    if (!j || c->judge_end < 0 || c->pidfd < 0)
        return;
    snprintf(f.id, sizeof(f.id), "%s", j->id);
    server_send(&h->judge, &f, &c->judge_end, 1);
    c->judge_end = -1;
    if (j->late)
        child_kill(c, "timeout");
}

static bool take_warm(struct zygote *z, struct job *j, int64_t deadline_ms)
{
    for (struct child *c = z->host->children; c; c = c->next) {
        if (c->owner != z || c->job || c->ended || c->pidfd < 0 ||
            c->judge_end < 0)
            continue;
        c->job = j;
        j->child = c;
        z->warm--;
        child_deadline(c, deadline_ms);
        hand_over(z->host, c);
        keep_warm(z);
        return true;
    }
    return false;
}

static void remove_stale(struct host *h)
{
    struct stale **at = &h->stale;

    while (*at) {
        struct stale *s = *at;

        if (cgroup_remove(&s->group)) {
            *at = s->next;
            free(s);
        } else {
            at = &s->next;
        }
    }
}

static void forget_child(struct host *h, struct child *c)
{
    struct child **at = &h->children;
    struct stale *s = xcalloc(1, sizeof(*s));

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    s->group = c->group;
    s->next = h->stale;
    h->stale = s;
    child_free(c);
    remove_stale(h);
}

/* It is dead: tell the judge why, with what it printed. */
static void child_ended(struct host *h, struct child *c, const char *status)
{
    struct zygote *z = c->owner;
    struct job *j = c->job;
    char *text;

    child_drain(c);
    if (!j && c->judge_end >= 0)
        z->warm--;
    if (j) {
        text = xasprintf("%s\n%s", child_why(c, status), buf_str(&c->output));
        j->child = NULL;
        if (c->judge_end >= 0)
            server_say(&h->judge, "nochild", j->id, text);
        else
            server_say(&h->judge, "gone", j->id, text);
        free(text);
    }
    forget_child(h, c);
}

static struct child *find_child(struct host *h, const struct zygote *z,
                                const char *name)
{
    for (struct child *c = h->children; c; c = c->next)
        if (c->owner == z && strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static void zygote_gone(struct zygote *z)
{
    struct host *h = z->host;
    struct zygote **at = &h->zygotes;
    struct child *next;

    note_log(h, &z->server, z->pack);
    h->failures++;
    for (struct child *c = h->children; c; c = next) {
        next = c->next;
        if (c->owner != z)
            continue;
        child_kill(c, NULL);
        child_ended(h, c, "lost its zygote");
    }
    while (*at != z)
        at = &(*at)->next;
    *at = z->next;
    for (struct job *j = h->jobs; j; j = j->next)
        if (j->begun && !j->child)
            server_say(&h->judge, "nochild", j->id, "the zygote ended");
    loop_remove(h->loop, z->start_timer);
    server_stop(&z->server);
    free(z->dir);
    free(z);
}

static void on_zygote(struct server *s, const struct frame *f, void *arg)
{
    struct zygote *z = arg;
    struct host *h = z->host;
    struct child *c;

    if (!f) {
        zygote_gone(z);
        return;
    }
    if (strcmp(f->type, "ready") == 0) {
        z->ready = true;
        loop_remove(h->loop, z->start_timer);
        keep_warm(z);
        return;
    }
    c = find_child(h, z, f->id);
    if (strcmp(f->type, "forked") == 0) {
        int pidfd = peer_take_fd(&s->peer);

        if (!c) {
            close(pidfd);
            return;
        }
        child_born(c, pidfd);
        hand_over(h, c);
    } else if (strcmp(f->type, "exited") == 0 && c) {
        char *status = xstrndup(f->payload, f->len);

        child_ended(h, c, status);
        free(status);
    }
}

static void too_slow(void *arg)
{
    struct server *s = arg;

    log_warn("%s: not ready after %d s", s->log, START_S);
    peer_close(&s->peer);
    s->fn(s, NULL, s->arg);
}

static struct zygote *get_zygote(struct host *h, const char *pack,
                                 struct err *e)
{
    struct zygote *z;
    char log[600], scratch[500], uid[16];
    const char *mode;

    for (z = h->zygotes; z; z = z->next)
        if (strcmp(z->pack, pack) == 0)
            return z;
    z = xcalloc(1, sizeof(*z));
    z->host = h;
    z->server.fn = on_zygote;
    z->server.arg = z;
    snprintf(z->pack, sizeof(z->pack), "%s", pack);
    z->dir = pack_dir(h, pack, &mode);
    snprintf(log, sizeof(log), "%s/zygote-%s.log", h->o.scratch, z->pack);
    snprintf(scratch, sizeof(scratch), "%s/%s", h->o.scratch, z->pack);
    snprintf(uid, sizeof(uid), "%u", h->o.uid);
    char *script = fs_join(h->o.home, "worker/zygote.py");
    const char *argv[] = {
        h->o.python, "-B",       script,      "--home", h->o.home, "--pack",
        z->dir,      "--device", h->o.device, "--box",  h->o.box,  "--scratch",
        scratch,     "--uid",    uid,         "--mode", mode,      NULL};

    if (!z->dir || fs_mkdirs(scratch, e) < 0 ||
        server_start(&z->server, h->loop, argv, log, e) < 0) {
        if (!z->dir)
            err_set(e, ERR_INPUT, "there is no pack '%s' on this host", pack);
        free(z->dir);
        free(z);
        z = NULL;
    } else {
        z->start_timer = loop_add_timer(
            h->loop, tick_now_ns() + START_S * TICK_S, too_slow, &z->server);
        z->next = h->zygotes;
        h->zygotes = z;
    }
    free(script);
    return z;
}

/* ---- the judge ---- */

/* The job has had its time: whatever child it has, now or later, is killed, and
 * the judge says timeout. */
static void job_late(void *arg)
{
    struct job *j = arg;

    j->timer = 0;
    j->late = true;
    if (j->child)
        child_kill(j->child, "timeout");
}

/* "PACK MEMORY": a child for the job. */
static void judge_forks(struct host *h, struct job *j, const struct frame *f)
{
    struct err e = ERR_INIT;
    struct str rest = {f->payload, f->len}, word;
    int64_t memory = 0;
    char pack[128];
    struct zygote *z;

    if (!str_cut(&rest, ' ', &word))
        word = rest;
    else
        str_to_i64(rest, 0, INT64_MAX, &memory);
    snprintf(pack, sizeof(pack), "%.*s", (int)word.n, word.p);
    if (!j->begun && j->deadline_ms > 0)
        j->timer = loop_add_timer(
            h->loop, tick_now_ns() + j->deadline_ms * TICK_MS, job_late, j);
    j->begun = true;
    z = h->failures < RESTARTS ? get_zygote(h, pack, &e) : NULL;
    if (!z) {
        server_say(&h->judge, "nochild", j->id,
                   e.kind != ERR_NONE ? e.text : "too many failures in a row");
        return;
    }
    if (take_warm(z, j, f->deadline_ms))
        return;
    /* A zygote that is still importing answers when it can. */
    fork_child(z, j, memory ? (uint64_t)memory : h->o.memory,
               z->ready ? f->deadline_ms
                        : f->deadline_ms + START_S * INT64_C(1000));
}

static void judge_gone(struct host *h)
{
    struct err e = ERR_INIT;
    struct job *next;

    note_log(h, &h->judge, "the judge");
    server_stop(&h->judge);
    loop_remove(h->loop, h->judge_timer);
    h->failures++;
    for (struct child *c = h->children; c; c = c->next) {
        if (c->job)
            c->job->child = NULL;
        if (c->job || c->judge_end < 0) {
            c->job = NULL;
            child_kill(c, NULL);
        }
    }
    if (h->failures >= RESTARTS || start_judge(h, &e) < 0) {
        while (h->jobs) {
            h->jobs->tries = TRIES;
            job_failed(h, h->jobs,
                       e.kind != ERR_NONE ? e.text : "the judge keeps ending");
        }
        return;
    }
    /* Only those that had begun can be what ended it. */
    for (struct job *j = h->jobs; j; j = next) {
        next = j->next;
        if (j->begun && ++j->tries >= TRIES) {
            char id[FRAME_ID_MAX + 1];

            memcpy(id, j->id, sizeof(id));
            remove_job(h, j);
            tell(h, "infra", id, "the judge ended twice during this job");
        }
    }
}

static void on_judge(struct server *s, const struct frame *f, void *arg)
{
    struct host *h = arg;
    struct job *j;

    (void)s;
    if (!f) {
        judge_gone(h);
        return;
    }
    if (strcmp(f->type, "ready") == 0) {
        h->judge_ready = true;
        loop_remove(h->loop, h->judge_timer);
        h->out(f, h->arg);
        for (j = h->jobs; j; j = j->next)
            give_job(h, j);
        return;
    }
    if (strcmp(f->type, "note") == 0) {
        h->out(f, h->arg);
        return;
    }
    j = find_job(h, f->id);
    if (!j)
        return;
    if (strcmp(f->type, "fork") == 0) {
        judge_forks(h, j, f);
    } else if (strcmp(f->type, "stage") == 0) {
        if (j->child)
            child_deadline(j->child, f->deadline_ms);
    } else if (strcmp(f->type, "end") == 0) {
        if (j->child)
            child_kill(j->child, NULL);
    } else if (strcmp(f->type, "failed") == 0) {
        char *why = xstrndup(f->payload, f->len);

        job_failed(h, j, why);
        free(why);
    } else if (strcmp(f->type, "answer") == 0) {
        h->failures = 0;
        remove_job(h, j);
        h->out(f, h->arg);
    }
}

static int start_judge(struct host *h, struct err *e)
{
    char *script = fs_join(h->o.home, "worker/judge.py");
    char *log = fs_join(h->o.scratch, "judge.log");
    char children[24];
    const char *argv[] = {h->o.python, "-B",       script,      "--home",
                          h->o.home,   "--device", h->o.device, "--children",
                          children,    "--box",    h->o.box,    NULL};
    int rc;

    snprintf(children, sizeof(children), "%lld", (long long)h->o.children);
    h->judge_ready = false;
    h->judge.fn = on_judge;
    h->judge.arg = h;
    rc = server_start(&h->judge, h->loop, argv, log, e);
    if (rc == 0)
        h->judge_timer = loop_add_timer(
            h->loop, tick_now_ns() + START_S * TICK_S, too_slow, &h->judge);
    free(script);
    free(log);
    return rc;
}

struct host *host_new(struct loop *l, const struct host_opts *o,
                      host_out_fn *out, void *arg, struct err *e)
{
    struct host *h = xcalloc(1, sizeof(*h));

    h->loop = l;
    h->o = *o;
    h->out = out;
    h->arg = arg;
    h->last = &h->jobs;
    if (start_judge(h, e) < 0) {
        free(h);
        return NULL;
    }
    return h;
}

/* Children end before their zygote does, so that they are reaped and their
 * memory groups can be removed. */
static void end_children(struct host *h)
{
    int64_t until = tick_now_ns() + LEAVE_S * TICK_S;

    for (struct child *c = h->children; c; c = c->next) {
        c->job = NULL;
        child_kill(c, NULL);
    }
    while ((h->children || h->stale) && tick_now_ns() < until) {
        loop_run_for(h->loop, 10 * TICK_MS);
        remove_stale(h);
    }
    while (h->children)
        forget_child(h, h->children);
    while (h->stale) {
        struct stale *s = h->stale;

        h->stale = s->next;
        free(s);
    }
}

void host_free(struct host *h)
{
    loop_remove(h->loop, h->judge_timer);
    server_stop(&h->judge);
    for (struct job *j = h->jobs; j; j = j->next)
        j->child = NULL;
    end_children(h);
    while (h->zygotes) {
        struct zygote *z = h->zygotes;

        h->zygotes = z->next;
        loop_remove(h->loop, z->start_timer);
        server_stop(&z->server);
        free(z->dir);
        free(z);
    }
    while (h->jobs)
        remove_job(h, h->jobs);
    free(h);
}
