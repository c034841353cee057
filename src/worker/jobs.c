/* jobs.c: a file of jobs in, a file of answers out. */
#include "worker/jobs.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "io/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FILE ((size_t)4 << 30)

struct run {
    struct loop *loop;
    struct host *host;
    struct buf text; /* the jobs file */
    size_t at;       /* how far it has been given */
    struct map done; /* ids that have an answer */
    size_t total, answered, infra;
    size_t window; /* jobs at the host at once */
    int out;
    const char *path; /* of that */
    struct err e;
};

static int on_old(const struct frame *f, void *arg, struct err *e)
{
    struct run *r = arg;

    (void)e;
    if (strcmp(f->type, "answer") == 0)
        map_set(&r->done, str_of(f->id), r);
    return 0;
}

/* Counts what is to do, so that a broken jobs file is refused before it runs. */
static int count_jobs(struct run *r, const char *path, struct err *e)
{
    struct frame f;
    long n = 1;

    for (size_t at = 0; at < r->text.len; at += (size_t)n) {
        n = frame_parse(r->text.data + at, r->text.len - at, &f, e);
        if (n < 0)
            return err_wrap(e, "%s: at byte %zu", path, at);
        if (n == 0)
            return err_set(e, ERR_INPUT, "%s: cut off at byte %zu", path, at);
        if (strcmp(f.type, "job") == 0 && !map_get(&r->done, str_of(f.id)))
            r->total++;
    }
    return 0;
}

static void job_lines_feed(struct run *r)
{
    struct err e = ERR_INIT;
    struct frame f;

    while (r->at < r->text.len && host_pending(r->host) < r->window) {
        r->at += (size_t)frame_parse(r->text.data + r->at, r->text.len - r->at,
                                     &f, &e);
        if (strcmp(f.type, "job") == 0 && !map_get(&r->done, str_of(f.id)))
            host_job(r->host, &f);
    }
    if (r->at == r->text.len && host_pending(r->host) == 0)
        loop_stop(r->loop);
}

static void feed_later(void *arg)
{
    job_lines_feed(arg);
}

static void job_lines_on_out(const struct frame *f, void *arg)
{
    struct run *r = arg;

    if (r->e.kind != ERR_NONE)
        return; /* behind a torn frame nothing is written */
    if (strcmp(f->type, "note") == 0) {
        log_info("%.*s", (int)f->len, f->payload);
        return;
    }
    if (strcmp(f->type, "unfit") == 0) {
        err_set(&r->e, ERR_SYSTEM, "%.*s", (int)f->len, f->payload);
        loop_stop(r->loop);
        return;
    }
    if (frame_write(r->out, f, &r->e) < 0) {
        err_wrap(&r->e, "%s", r->path);
        loop_stop(r->loop);
    }
    if (strcmp(f->type, "ready") == 0)
        return;
    r->answered++;
    if (strcmp(f->type, "infra") == 0) {
        r->infra++;
        log_warn("%.12s: no answer: %.*s", f->id, (int)f->len, f->payload);
    }
    if (r->answered % 20 == 0 || r->answered == r->total)
        log_info("%zu of %zu done", r->answered, r->total);
    loop_defer(r->loop, feed_later, r);
}

static int interrupted(const struct run *r)
{
    log_info("stopped: %zu of %zu done; run the same command to "
             "continue",
             r->answered, r->total);
    return 130;
}

int jobs_run(struct loop *l, const struct host_opts *o, const char *jobs,
             const char *out, struct err *e)
{
    struct run r = {.loop = l, .out = -1, .path = out, .e = ERR_INIT};
    int rc = -1;

    r.window = (size_t)o->children * 4;
    map_init(&r.done);
    buf_init(&r.text, MAX_FILE);
    if (fs_read(jobs, &r.text, e) < 0)
        goto done;
    r.out = frame_file_open(out, on_old, &r, e);
    if (r.out < 0 || count_jobs(&r, jobs, e) < 0)
        goto done;
    log_info("%zu jobs, %zu already answered", r.total + r.done.len,
             r.done.len);
    rc = 0;
    if (r.total == 0)
        goto done;
    rc = -1;
    r.host = host_new(l, o, job_lines_on_out, &r, e);
    if (!r.host)
        goto done;
    job_lines_feed(&r);
    loop_run(l);
    host_free(r.host);
    if (r.e.kind != ERR_NONE)
        *e = r.e;
    else if (r.answered < r.total)
        rc = interrupted(&r);
    else
        rc = r.infra ? 4 : 0;
done:
    if (r.out >= 0)
        close(r.out);
    map_release(&r.done);
    buf_release(&r.text);
    return rc;
}
