/* host.c: the judge, the zygotes, their children, and what happens when one of
 * them ends.
 *
 * A candidate's process may do anything: end, hang, use up the memory, or leave
 * behind what makes its zygote or the judge fail later. None of that may become
 * another candidate's verdict, and none may stop the host. So whoever owes an
 * answer is watched; what is stuck is replaced, and a job whose machinery failed
 * is judged once more before its owner hears of it. After a child that crashed or
 * ran out of time the zygote makes a canary: a child in a box like any other's,
 * whose socket is closed, so that its harness ends by itself, with status 0.
 * Whatever else becomes of it, the zygote is replaced: its memory, of which every
 * later child is a copy, can no longer be trusted.
 *
 * Deadlines are the host's alone, since nobody inside a box can be asked to keep
 * one. A child's time is counted as child.h says; a job's is the sum, so that many
 * short stages take no more than one. */
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
#include <sys/stat.h>
#include <unistd.h>

#define START_S  120 /* what a server may do nothing for while it starts */
#define RESTARTS 5   /* of a server in a row, without one finished job */

#define SERVICE "service-" /* how the judge names what is no job's */

/* What a child is for: a job, or a service that outlives jobs, such as the
 * executor of a GPU. A service has a child and nothing else. */
struct job {
    struct job *next;
    bool service;
    char id[FRAME_ID_MAX + 1];
    int64_t deadline_ms;
    char *payload;
    size_t len;
    int tries;
    bool begun;      /* the judge has asked for a child */
    int64_t left_ns; /* of what its children may spend in all */
    struct child *child;
    /* The child that the judge asked for. */
    char pack[128];
    uint64_t memory;
    int64_t stage_ms;
    struct zygote *held_by; /* it waits until this one's canary is back */
};

struct zygote {
    struct zygote *next;
    struct host *host;
    struct server server;
    char pack[128];
    char *dir;
    bool ready;
    int64_t warm; /* children that wait for a job */
    struct health health;
    struct child *canary; /* under way; no other child is made meanwhile */
    uint64_t end_id;      /* it is sick and about to be replaced */
};

/* Whether a pack's zygote can start here. */
struct known {
    struct known *next;
    char pack[128];
    bool fit;  /* one was ready once */
    char *why; /* it cannot; NULL: it can, or was not tried */
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
    bool leaving; /* nothing is started any more */
    bool judge_ready;
    bool judge_fit;  /* one was ready once */
    bool judge_lost; /* it cannot start, or keeps ending: no more is started */
    struct health judge_health;
    int64_t judge_spoke_ns;
    uint64_t watch_timer;
    int failures;        /* ends of servers since the last answer */
    unsigned long names; /* children named so far */
    struct zygote *zygotes;
    struct child *children;
    struct stale *stale;
    struct known *known;
    struct job *jobs, **last;
    struct job *services;
    size_t pending;
};

#define LEAVE_S   20    /* what children have to end in; fork bombs need some */
#define CANARY_MS 30000 /* what a canary has to end in */
#define LOST_S    60    /* a child that cannot be killed is given up */

/* ---- to the owner, to the judge ---- */

static void host_tell(struct host *h, const char *type, const char *id,
                      const char *text)
{
    struct frame f = {.payload = text, .len = strlen(text)};

    snprintf(f.type, sizeof(f.type), "%s", type);
    snprintf(f.id, sizeof(f.id), "%s", id);
    h->out(&f, h->arg);
}

/* Passes on its last words; when the reason is `known`, only if there are any. */
static void host_note_end(struct host *h, const struct server *s,
                          const char *who, bool known)
{
    struct err e = ERR_INIT;
    struct buf b = {.limit = (size_t)1 << 24};
    char *text;
    size_t from;

    fs_read(s->log, &b, &e);
    from = b.len > 2000 ? b.len - 2000 : 0;
    text = b.len ? xasprintf("%s ended; the end of its log:\n%s", who,
                             buf_str(&b) + from)
                 : xasprintf("%s ended and left no "
                             "message; the system may have "
                             "killed it for its memory "
                             "(dmesg tells)",
                             who);
    if (b.len || !known)
        host_tell(h, "note", "-", text);
    free(text);
    buf_release(&b);
}

/* It is stuck: `arg` is the server, which ends. */
static void host_end_server(void *arg)
{
    struct server *s = arg;

    log_warn("%s: it does not answer", s->log);
    s->fn(s, NULL, s->arg);
}

/* A candidate ended as no healthy one does: the judge is asked how it is. */
static void host_ask_judge(struct host *h)
{
    if (!h->judge_ready || health_owes(&h->judge_health))
        return;
    health_asked(&h->judge_health, h->judge.pid);
    server_say(&h->judge, "ping", "-", "");
}

/* Its child must be told another deadline within `ms`, and before the job has
 * spent its time. */
static void host_stage(struct job *j, int64_t ms)
{
    int64_t left_ms;

    j->left_ns -= child_spent_ns(j->child);
    left_ms = j->left_ns < TICK_MS ? 1 : j->left_ns / TICK_MS;
    if (ms > left_ms)
        child_deadline(j->child, left_ms, "late");
    else
        child_deadline(j->child, ms, "timeout");
}

/* ---- zygotes and their children ---- */

static void zygote_want_child(struct host *h, struct job *j);

static char *existing(const char *dir, const char *pack)
{
    char *path = fs_join(dir, pack);

    if (fs_is_dir(path))
        return path;
    free(path);
    return NULL;
}

/* The folder of "PACK" or "PACK+MODE"; of "+MODE", which needs no pack, that of
 * its code. The caller frees it. */
static char *pack_dir(const struct host *h, const char *name, const char **mode)
{
    const char *plus = strchr(name, '+');
    char *own, *dir, *pack;

    *mode = plus ? plus + 1 : "record";
    if (plus == name) {
        own = fs_join(h->o.home, "worker");
        dir = existing(own, *mode);
        free(own);
        return dir;
    }
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

static struct child *new_child(struct zygote *z, uint64_t memory, struct err *e)
{
    struct host *h = z->host;
    char name[32];
    struct child *c;

    /* A job's next child may be asked for before its last one is reaped. */
    snprintf(name, sizeof(name), "child-%lu", ++h->names);
    c = child_new(h->loop, &z->server, name, memory, e);
    if (!c)
        return NULL;
    c->next = h->children;
    h->children = c;
    c->owner = z;
    return c;
}

static void fork_child(struct zygote *z, struct job *j, uint64_t memory)
{
    struct err e = ERR_INIT;
    struct child *c = new_child(z, memory, &e);

    if (!c) {
        if (j)
            server_say(&z->host->judge, "nochild", j->id, e.text);
        return;
    }
    c->job = j;
    c->spare = !j;
    if (j) {
        j->child = c;
        host_stage(j, j->stage_ms);
    } else {
        z->warm++;
    }
}

/* An executor is made when it is wanted: on a GPU it takes memory. */
static void keep_warm(struct zygote *z)
{
    if (strstr(z->pack, "+runner"))
        return;
    while (z->ready && !z->canary && z->warm < z->host->o.prewarm)
        fork_child(z, NULL, z->host->o.memory);
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
}

static bool take_warm(struct zygote *z, struct job *j)
{
    for (struct child *c = z->host->children; c; c = c->next) {
        if (c->owner != z || !c->spare || c->pidfd < 0 || c->wanted_dead)
            continue;
        c->spare = false;
        c->job = j;
        j->child = c;
        z->warm--;
        host_stage(j, j->stage_ms);
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

/* ---- canaries ---- */

static void zygote_replace(void *arg)
{
    struct zygote *z = arg;

    z->end_id = 0;
    host_end_server(&z->server);
}

/* Not at once: whoever calls may be in the middle of its frames. */
static void replace_later(struct zygote *z)
{
    if (!z->end_id)
        z->end_id = loop_defer(z->host->loop, zygote_replace, z);
}

static void start_canary(struct zygote *z)
{
    struct err e = ERR_INIT;

    if (z->canary || z->end_id || !z->ready)
        return;
    z->canary = new_child(z, 0, &e);
    if (!z->canary)
        return;
    close(z->canary->judge_end);
    z->canary->judge_end = -1;
    child_deadline(z->canary, CANARY_MS, "timeout");
    health_asked(&z->health, z->server.pid);
}

/* Those that waited for the canary of `z`, which may be on no list any more. */
static void release_held(struct host *h, const struct zygote *z)
{
    struct job *lists[] = {h->jobs, h->services};

    for (size_t i = 0; i < 2; i++)
        for (struct job *j = lists[i]; j; j = j->next) {
            if (j->held_by != z)
                continue;
            j->held_by = NULL;
            zygote_want_child(h, j);
        }
}

static void canary_ended(struct zygote *z, const char *status)
{
    bool well = !z->canary->killed && strcmp(status, "exit 0") == 0;

    z->canary = NULL;
    if (!well) {
        replace_later(z);
        return;
    }
    health_answered(&z->health);
    release_held(z->host, z);
    keep_warm(z);
}

/* The judge closes its end and asks for a child's end: it dies by SIGKILL, or has
 * read the end of its connection before. Whatever else it dies of is a fault, its
 * own or of what it runs on. */
static bool ended_well(const struct child *c, const char *status)
{
    return !c->killed && !cgroup_ran_out(&c->group) &&
           (strcmp(status, "exit 0") == 0 ||
            (c->wanted_dead && strcmp(status, "signal 9") == 0));
}

/* ---- the ends of children ---- */

/* Tells the judge why, the most memory it had (of the GPU where it had one), and
 * what it printed. */
static void tell_end(struct host *h, struct child *c, const char *status)
{
    const char *why = child_why(c, status), *output = buf_str(&c->output);
    uint64_t peak = child_peak(c);
    char *text;

    c->job->child = NULL;
    if (c->judge_end >= 0) {
        text = xasprintf("%s\n%s", why, output);
        server_say(&h->judge, "nochild", c->job->id, text);
    } else {
        text = xasprintf("%s\n%llu\n%s", why, (unsigned long long)peak, output);
        server_say(&h->judge, "gone", c->job->id, text);
    }
    free(text);
}

/* It is dead. */
static void child_ended(struct host *h, struct child *c, const char *status)
{
    struct zygote *z = c->owner;
    struct job *j = c->job;

    child_drain(c);
    if (c == z->canary) {
        canary_ended(z, status);
        forget_child(h, c);
        return;
    }
    if (!ended_well(c, status)) {
        start_canary(z);
        host_ask_judge(h);
    }
    if (c->spare)
        z->warm--;
    if (j)
        tell_end(h, c, status);
    forget_child(h, c);
}

/* "STATUS" and, on a line of its own, its largest resident size. */
static void child_exited(struct host *h, struct child *c, struct str told)
{
    struct str line;
    char *status;
    int64_t bytes;

    if (!str_cut(&told, '\n', &line))
        line = told;
    else if (str_to_i64(told, 0, INT64_MAX, &bytes))
        c->resident = (uint64_t)bytes;
    status = xstrndup(line.p, line.n);
    child_ended(h, c, status);
    free(status);
}

static struct child *find_child(struct host *h, const struct zygote *z,
                                const char *name)
{
    for (struct child *c = h->children; c; c = c->next)
        if (c->owner == z && strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static void free_zygote(struct zygote *z)
{
    loop_remove(z->host->loop, z->end_id);
    free(z->dir);
    free(z);
}

static struct known *zygote_known(struct host *h, const char *pack)
{
    struct known *k = h->known;

    while (k && strcmp(k->pack, pack) != 0)
        k = k->next;
    if (!k) {
        k = xcalloc(1, sizeof(*k));
        snprintf(k->pack, sizeof(k->pack), "%s", pack);
        k->next = h->known;
        h->known = k;
    }
    return k;
}

static void zygote_gone(struct zygote *z)
{
    struct host *h = z->host;
    struct zygote **at = &h->zygotes;
    const char *why = zygote_known(h, z->pack)->why;
    struct child *next;

    host_note_end(h, &z->server, z->pack, why);
    h->failures += !why;
    z->ready = false;
    z->canary = NULL;
    for (struct child *c = h->children; c; c = next) {
        next = c->next;
        if (c->owner != z)
            continue;
        child_kill(c, NULL);
        child_ended(h, c, why ? why : "orphaned");
    }
    while (*at != z)
        at = &(*at)->next;
    *at = z->next;
    release_held(h, z);
    server_stop(&z->server);
    free_zygote(z);
}

/* It says that it cannot start, and ends; one that was ready once may again. */
static void pack_unfit(const struct zygote *z, const struct frame *f)
{
    struct known *k = zygote_known(z->host, z->pack);

    if (!k->fit && !k->why)
        k->why = xasprintf("the pack %s does not work here: %.*s", z->pack,
                           (int)f->len, f->payload);
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
        z->ready = !h->leaving;
        zygote_known(h, z->pack)->fit = true;
        health_answered(&z->health);
        keep_warm(z);
        return;
    }
    if (strcmp(f->type, "unfit") == 0) {
        pack_unfit(z, f);
        return;
    }
    c = find_child(h, z, f->id);
    if (strcmp(f->type, "forked") == 0) {
        int pidfd = peer_take_fd(&s->peer);
        int64_t pid = 0;

        if (!c) {
            close(pidfd);
            return;
        }
        str_to_i64((struct str){f->payload, f->len}, 1, INT32_MAX, &pid);
        child_born(c, (pid_t)pid, pidfd);
        if (c == z->canary)
            health_answered(&z->health);
        hand_over(h, c);
    } else if (strcmp(f->type, "exited") == 0 && c) {
        child_exited(h, c, (struct str){f->payload, f->len});
    }
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
    const char *argv[] = {h->o.python, "-B",         script,        "--home",
                          h->o.home,   "--pack",     z->dir,        "--device",
                          h->o.device, "--box",      h->o.box,      "--scratch",
                          scratch,     "--uid",      uid,           "--mode",
                          mode,        "--gpu-node", h->o.gpu_node, NULL};

    if (!z->dir || fs_mkdirs(scratch, e) < 0 ||
        server_start(&z->server, h->loop, argv, log, e) < 0) {
        if (!z->dir)
            err_set(e, ERR_INPUT, "this host has no pack '%s'", pack);
        free(z->dir);
        free(z);
        z = NULL;
    } else {
        health_asked(&z->health, z->server.pid); /* whether it is ready */
        z->next = h->zygotes;
        h->zygotes = z;
    }
    free(script);
    return z;
}

/* Gives `j` the child that the judge asked for, now or when there is one. */
static void zygote_want_child(struct host *h, struct job *j)
{
    struct err e = ERR_INIT;
    const char *why = zygote_known(h, j->pack)->why;
    struct zygote *z;

    if (why) {
        server_say(&h->judge, "nochild", j->id, why);
        return;
    }
    z = h->failures < RESTARTS ? get_zygote(h, j->pack, &e) : NULL;
    if (!z) {
        server_say(&h->judge, "nochild", j->id,
                   e.kind != ERR_NONE ? e.text
                                      : "too many consecutive failures");
        return;
    }
    /* A child that is there has proved itself; a new one must wait. */
    if (take_warm(z, j))
        return;
    if (z->canary || z->end_id) {
        j->held_by = z;
        return;
    }
    /* A zygote that is still importing answers when it can. */
    fork_child(z, j, j->memory ? j->memory : h->o.memory);
}

/* ---- watching ---- */

/* Whether a child of it waits too long: to be forked, or to be reaped. */
static bool owes_child(const struct zygote *z, int64_t since_ns)
{
    for (const struct child *c = z->host->children; c; c = c->next)
        if (c->owner == z && (c->pidfd < 0 || c->wanted_dead) &&
            c->asked_ns < since_ns)
            return true;
    return false;
}

/* A process that no signal ends, stuck in a driver: nobody waits for it. */
static void give_up_lost(struct host *h, int64_t since_ns)
{
    struct child *next;

    for (struct child *c = h->children; c; c = next) {
        next = c->next;
        if (c->wanted_dead && c->pidfd >= 0 && c->asked_ns < since_ns)
            child_ended(h, c, "signal 9");
    }
}

/* Asks those that are silent too long, replaces those that are stuck. */
static void zygotes_watch(struct host *h)
{
    int64_t patience = h->o.patience_s * TICK_S, now = tick_now_ns();
    struct zygote *next;

    give_up_lost(h, now - LOST_S * TICK_S);
    for (struct zygote *z = h->zygotes; z; z = next) {
        next = z->next;
        if (z->ready && owes_child(z, now - patience)) {
            start_canary(z);
            health_asked(&z->health, z->server.pid);
        }
        if (health_stuck(&z->health, z->server.pid,
                         z->canary ? z->canary->pid : 0,
                         z->ready ? patience : START_S * TICK_S))
            host_end_server(&z->server);
    }
}

/* Children end before their zygote does, so that they are reaped and their
 * memory groups can be removed. Those of a zygote that still starts are not
 * there yet, and never will be. */
static void end_children(struct host *h)
{
    int64_t until = tick_now_ns() + LEAVE_S * TICK_S;
    struct child *next;

    for (struct child *c = h->children; c; c = next) {
        next = c->next;
        c->job = NULL;
        child_kill(c, NULL);
        if (c->pidfd < 0 && !c->owner->ready)
            forget_child(h, c);
    }
    /* No canary any more, and none that is under way is looked at. */
    for (struct zygote *z = h->zygotes; z; z = z->next) {
        z->ready = false;
        z->canary = NULL;
    }
    while ((h->children || h->stale) && tick_now_ns() < until) {
        loop_run_for(h->loop, 20 * TICK_MS);
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

static void zygotes_end(struct host *h)
{
    end_children(h);
    while (h->zygotes) {
        struct zygote *z = h->zygotes;

        h->zygotes = z->next;
        server_end(&z->server, 0);
        free_zygote(z);
    }
    while (h->known) {
        struct known *k = h->known;

        h->known = k->next;
        free(k->why);
        free(k);
    }
}

#define TRIES   2 /* a job whose machinery fails is tried once more */
#define WATCH_S 1 /* between two looks at those that owe an answer */

static int start_judge(struct host *h, struct err *e);

/* ---- jobs ---- */

static struct job *find_in(struct job *list, const char *id)
{
    while (list && strcmp(list->id, id) != 0)
        list = list->next;
    return list;
}

static struct job *find_job(struct host *h, const char *id)
{
    return find_in(h->jobs, id);
}

static void remove_job(struct host *h, struct job *gone)
{
    struct job **at = &h->jobs;

    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    if (h->last == &gone->next)
        h->last = at;
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
    j->begun = false;
    j->left_ns = j->deadline_ms > 0 ? j->deadline_ms * TICK_MS : INT64_MAX;
    j->held_by = NULL;
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
    host_tell(h, "infra", id, why);
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
    if (h->judge_lost) {
        j->tries = TRIES;
        job_failed(h, j,
                   "the judge could not be started "
                   "again; the notes "
                   "before this one say why");
    }
}

void host_cancel(struct host *h, const char *id)
{
    struct job *j = find_job(h, id);

    if (!j)
        return;
    server_say(&h->judge, "cancel", id, "");
    remove_job(h, j);
}

void host_cancel_all(struct host *h)
{
    while (h->jobs)
        host_cancel(h, h->jobs->id);
}

size_t host_pending(const struct host *h)
{
    return h->pending;
}

/* ---- the judge ---- */

/* A task's own code runs in the judge. While it does, the judge keeps in this
 * file whose it is (worker/judge/blame.py), so that nobody else pays for one
 * that ends the process. */
static char *running_file(const struct host *h)
{
    return fs_join(h->o.scratch, "running");
}

/* True: a task's code ran when the judge ended. The next judge reads which. */
static bool blame_task(const struct host *h)
{
    char *running = running_file(h), *last = xasprintf("%s.last", running);
    struct stat st;
    bool ran =
        stat(running, &st) == 0 && st.st_size > 0 && rename(running, last) == 0;

    free(last);
    free(running);
    return ran;
}

/* "ZYGOTE MEMORY": a child for the job. */
static void judge_forks(struct host *h, struct job *j, const struct frame *f)
{
    struct str rest = {f->payload, f->len}, word = {0};
    int64_t number = 0;

    str_cut(&rest, ' ', &word);
    snprintf(j->pack, sizeof(j->pack), "%.*s", (int)word.n, word.p);
    str_to_i64(rest, 0, INT64_MAX, &number);
    j->memory = (uint64_t)number;
    j->stage_ms = f->deadline_ms;
    j->begun = true;
    zygote_want_child(h, j);
}

/* ---- services ---- */

static struct job *new_service(struct host *h, const char *id)
{
    struct job *j = xcalloc(1, sizeof(*j));

    snprintf(j->id, sizeof(j->id), "%s", id);
    j->service = true;
    j->left_ns = INT64_MAX;
    j->next = h->services;
    h->services = j;
    return j;
}

static void end_service(struct host *h, struct job *gone)
{
    struct job **at = &h->services;

    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    if (gone->child) {
        gone->child->job = NULL;
        child_kill(gone->child, NULL);
    }
    free(gone);
}

static void end_services(struct host *h)
{
    while (h->services)
        end_service(h, h->services);
}

/* A frame of the judge's about a child that belongs to no job. */
static void judge_serves(struct host *h, const struct frame *f)
{
    struct job *j = find_in(h->services, f->id);

    if (strcmp(f->type, "fork") == 0)
        judge_forks(h, j ? j : new_service(h, f->id), f);
    else if (j && strcmp(f->type, "stage") == 0 && j->child)
        host_stage(j, f->deadline_ms);
    else if (j && strcmp(f->type, "end") == 0)
        end_service(h, j);
}

/* ---- health ---- */

static void host_watch(void *arg)
{
    struct host *h = arg;
    int64_t patience = h->o.patience_s * TICK_S, now = tick_now_ns();

    h->watch_timer =
        loop_add_timer(h->loop, now + WATCH_S * TICK_S, host_watch, h);
    zygotes_watch(h);
    if (h->pending && now - h->judge_spoke_ns > patience)
        host_ask_judge(h);
    if (health_stuck(&h->judge_health, h->judge.pid, 0,
                     h->judge_ready ? patience : START_S * TICK_S))
        host_end_server(&h->judge);
}

/* None will be there: every job hears why. */
static void judge_lost(struct host *h, const char *why)
{
    h->judge_lost = true;
    h->judge_ready = false;
    health_answered(&h->judge_health);
    while (h->jobs) {
        h->jobs->tries = TRIES;
        job_failed(h, h->jobs, why);
    }
}

/* It says that it cannot start; one that was ready once may again. */
static void judge_unfit(struct host *h, const struct frame *f)
{
    char *why =
        xasprintf("the judge cannot start: %.*s", (int)f->len, f->payload);

    if (h->judge_fit) {
        host_tell(h, "note", "-", why);
    } else {
        server_stop(&h->judge);
        host_note_end(h, &h->judge, "the judge", true);
        judge_lost(h, why);
        host_tell(h, "unfit", "-", why);
    }
    free(why);
}

static void judge_gone(struct host *h)
{
    struct err e = ERR_INIT;
    struct job *next;
    bool blamed = blame_task(h);

    host_note_end(h, &h->judge, "the judge", false);
    server_stop(&h->judge);
    h->failures += !blamed;
    end_services(h);
    for (struct child *c = h->children; c; c = c->next) {
        if (c->job)
            c->job->child = NULL;
        if (c->job || (c->judge_end < 0 && c != c->owner->canary)) {
            c->job = NULL;
            child_kill(c, NULL);
        }
    }
    if (h->failures >= RESTARTS || start_judge(h, &e) < 0) {
        judge_lost(h, e.kind != ERR_NONE
                          ? e.text
                          : "the judge ended again and again; "
                            "`monkeys doctor` tests this machine");
        return;
    }
    /* Where no task is to blame, one of those that had begun can be what ended
     * it. */
    for (struct job *j = h->jobs; j; j = next) {
        next = j->next;
        j->held_by = NULL;
        if (!blamed && j->begun && ++j->tries >= TRIES) {
            char id[FRAME_ID_MAX + 1];

            memcpy(id, j->id, sizeof(id));
            remove_job(h, j);
            host_tell(h, "infra", id,
                      "the judge ended twice while it "
                      "judged this candidate; if "
                      "memory is short, --children 1 "
                      "takes less");
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
    h->judge_spoke_ns = tick_now_ns();
    if (strcmp(f->type, "ready") == 0) {
        h->judge_ready = h->judge_fit = true;
        health_answered(&h->judge_health);
        h->out(f, h->arg);
        for (j = h->jobs; j; j = j->next)
            give_job(h, j);
        return;
    }
    if (strcmp(f->type, "unfit") == 0) {
        judge_unfit(h, f);
        return;
    }
    if (strcmp(f->type, "pong") == 0) {
        health_answered(&h->judge_health);
        return;
    }
    if (strcmp(f->type, "note") == 0) {
        h->out(f, h->arg);
        return;
    }
    if (strncmp(f->id, SERVICE, strlen(SERVICE)) == 0) {
        judge_serves(h, f);
        return;
    }
    j = find_job(h, f->id);
    if (!j)
        return;
    if (strcmp(f->type, "fork") == 0) {
        judge_forks(h, j, f);
    } else if (strcmp(f->type, "stage") == 0) {
        if (j->child)
            host_stage(j, f->deadline_ms);
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
    char *script = fs_join(h->o.home, "worker/judge/judge.py");
    char *log = fs_join(h->o.scratch, "judge.log");
    char *running = running_file(h);
    char children[24], memory[24], total[24];
    const char *argv[] = {
        h->o.python,      "-B",        script,       "--home",   h->o.home,
        "--device",       h->o.device, "--children", children,   "--box",
        h->o.box,         "--cache",   h->o.cache,   "--memory", memory,
        "--total-memory", total,       "--running",  running,    NULL};
    int rc;

    snprintf(children, sizeof(children), "%lld", (long long)h->o.children);
    snprintf(memory, sizeof(memory), "%llu", (unsigned long long)h->o.memory);
    snprintf(total, sizeof(total), "%llu",
             (unsigned long long)h->o.total_memory);
    h->judge_ready = false;
    h->judge.fn = on_judge;
    h->judge.arg = h;
    rc = server_start(&h->judge, h->loop, argv, log, e);
    health_answered(&h->judge_health);
    if (rc == 0)
        health_asked(&h->judge_health, h->judge.pid); /* whether it is ready */
    free(script);
    free(running);
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
    h->watch_timer =
        loop_add_timer(l, tick_now_ns() + WATCH_S * TICK_S, host_watch, h);
    return h;
}

void host_free(struct host *h)
{
    h->leaving = true;
    loop_remove(h->loop, h->watch_timer);
    h->judge_ready = false;
    server_end(&h->judge, 0);
    for (struct job *j = h->jobs; j; j = j->next)
        j->child = NULL;
    end_services(h);
    zygotes_end(h);
    while (h->jobs)
        remove_job(h, h->jobs);
    free(h);
}
