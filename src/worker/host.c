/* host.c: jobs and the judge, and what happens when one of them ends. */
#include "worker/host_int.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TRIES   2 /* a job whose machinery fails is tried once more */
#define WATCH_S 1 /* between two looks at those that owe an answer */

static int start_judge(struct host *h, struct err *e);

/* ---- to the owner ---- */

static void host_tell(struct host *h, const char *type, const char *id,
                      const char *text)
{
    struct frame f = {.payload = text, .len = strlen(text)};

    snprintf(f.type, sizeof(f.type), "%s", type);
    snprintf(f.id, sizeof(f.id), "%s", id);
    h->out(&f, h->arg);
}

void host_note_end(struct host *h, const struct server *s, const char *who,
                   bool known)
{
    struct err e = ERR_INIT;
    struct buf b;
    char *text;
    size_t from;

    buf_init(&b, (size_t)1 << 24);
    fs_read(s->log, &b, &e);
    from = b.len > 2000 ? b.len - 2000 : 0;
    text = b.len
               ? xasprintf("%s ended; the end of its log:\n%s", who,
                           buf_str(&b) + from)
               : xasprintf("%s ended and left no message; the system may have "
                           "killed it for its memory (dmesg tells)",
                           who);
    if (b.len || !known)
        host_tell(h, "note", "-", text);
    free(text);
    buf_release(&b);
}

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
                   "the judge could not be started again; the notes "
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

void host_stage(struct job *j, int64_t ms)
{
    int64_t left_ms;

    j->left_ns -= child_spent_ns(j->child);
    left_ms = j->left_ns < TICK_MS ? 1 : j->left_ns / TICK_MS;
    if (ms > left_ms)
        child_deadline(j->child, left_ms, "late");
    else
        child_deadline(j->child, ms, "timeout");
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

void host_end_server(void *arg)
{
    struct server *s = arg;

    log_warn("%s: it does not answer", s->log);
    s->fn(s, NULL, s->arg);
}

void host_ask_judge(struct host *h)
{
    if (!h->judge_ready || health_owes(&h->judge_health))
        return;
    health_asked(&h->judge_health, h->judge.pid);
    server_say(&h->judge, "ping", "-", "");
}

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
        if (c->job || (c->judge_end < 0 && c != c->owner->probe)) {
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
            host_tell(
                h, "infra", id,
                "the judge ended twice while it judged this candidate; if "
                "memory is short, --children 1 takes less");
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
