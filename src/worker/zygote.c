/* zygote.c: zygotes, their children, and what happens when one of them ends.
 *
 * After a child that crashed or ran out of time its zygote makes a probe: a child
 * in a box like any other's, whose socket is closed, so that its harness ends by
 * itself, with status 0. Whatever else becomes of it, the zygote is replaced. */
#include "worker/host_int.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAVE_S  20    /* what children have to end in; fork bombs need some */
#define PROBE_MS 30000 /* what a probe has to end in */
#define LOST_S   60    /* a child that cannot be killed is given up */

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
    while (z->ready && !z->probe && z->warm < z->host->o.prewarm)
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

/* ---- probes ---- */

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

static void start_probe(struct zygote *z)
{
    struct err e = ERR_INIT;

    if (z->probe || z->end_id || !z->ready)
        return;
    z->probe = new_child(z, 0, &e);
    if (!z->probe)
        return;
    close(z->probe->judge_end);
    z->probe->judge_end = -1;
    child_deadline(z->probe, PROBE_MS, "timeout");
    health_asked(&z->health, z->server.pid);
}

/* Those that waited for the probe of `z`, which may be on no list any more. */
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

static void probe_ended(struct zygote *z, const char *status)
{
    bool well = !z->probe->killed && strcmp(status, "exit 0") == 0;

    z->probe = NULL;
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
    if (c == z->probe) {
        probe_ended(z, status);
        forget_child(h, c);
        return;
    }
    if (!ended_well(c, status)) {
        start_probe(z);
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
    z->probe = NULL;
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
        if (c == z->probe)
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

void zygote_want_child(struct host *h, struct job *j)
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
    if (z->probe || z->end_id) {
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

void zygotes_watch(struct host *h)
{
    int64_t patience = h->o.patience_s * TICK_S, now = tick_now_ns();
    struct zygote *next;

    give_up_lost(h, now - LOST_S * TICK_S);
    for (struct zygote *z = h->zygotes; z; z = next) {
        next = z->next;
        if (z->ready && owes_child(z, now - patience)) {
            start_probe(z);
            health_asked(&z->health, z->server.pid);
        }
        if (health_stuck(&z->health, z->server.pid,
                         z->probe ? z->probe->pid : 0,
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
    /* No probe any more, and none that is under way is looked at. */
    for (struct zygote *z = h->zygotes; z; z = z->next) {
        z->ready = false;
        z->probe = NULL;
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

void zygotes_end(struct host *h)
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
