/* serve.c: LOAD, RUN, UNLOAD. Every failure becomes an answer. */
#include "runner/serve.h"

#include "runner/talk.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct server {
    const struct device_kind *kind;
    struct device *device; /* NULL: `broken` says why */
    struct answer broken;
    struct arena arena; /* the plan and everything built for it */
    struct plan plan;
    void *bytes; /* what the plan was read from */
    bool loaded;
};

/* Makes a private copy, so that nobody can change it after the check. */
static int read_plan(int fd, uint64_t bytes, void **out, struct answer *a)
{
    struct stat st;
    size_t got = 0;
    char *data;

    if (fstat(fd, &st) < 0 || bytes > PLAN_BYTES ||
        (uint64_t)st.st_size < bytes)
        return answer_fail(a, BAD_REQUEST, 0, "a plan of %llu bytes",
                           (unsigned long long)bytes);
    *out = data = malloc((size_t)bytes + 1);
    if (!data)
        return answer_sys(a, NO_MEMORY, "the plan");
    while (got < bytes) {
        ssize_t n = pread(fd, data + got, (size_t)bytes - got, (off_t)got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return answer_sys(a, NO_DEVICE, "reading the plan");
        got += (size_t)n;
    }
    return 0;
}

static int runner_forget(struct server *s, struct answer *a)
{
    int rc = s->kind->unload(s->device, a);

    arena_release(&s->arena);
    arena_init(&s->arena);
    free(s->bytes);
    s->bytes = NULL;
    s->loaded = false;
    return rc;
}

static int load_plan(struct server *s, const struct request *r,
                     struct answer *a)
{
    struct err e = ERR_INIT;

    if (read_plan(r->fd[0], r->word[1], &s->bytes, a) < 0)
        return -1;
    if (plan_read(&s->plan, s->bytes, (size_t)r->word[1], r->word[2], &s->arena,
                  &e) < 0)
        return answer_fail(a, BAD_PLAN, 0, "%s", e.text);
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): runner_forget() frees s->bytes
    if (s->kind->map(s->device, r->fd[1], r->word[2], a) < 0)
        return -1;
    return s->kind->load(s->device, &s->plan, &s->arena, a);
}

static int do_load(struct server *s, const struct request *r, struct answer *a)
{
    struct answer ignored;

    if (r->words != 3 || r->fds != 2)
        return answer_fail(a, BAD_REQUEST, 0,
                           "LOAD has 3 words and 2 descriptors");
    if (s->loaded)
        return answer_fail(a, BAD_REQUEST, 0, "LOAD before UNLOAD");
    if (load_plan(s, r, a) < 0) {
        runner_forget(s, &ignored);
        return -1;
    }
    s->loaded = true;
    return 0;
}

static int do_run(struct server *s, const struct request *r, struct answer *a)
{
    if (r->words != 3 || r->fds || !s->loaded)
        return answer_fail(a, BAD_REQUEST, 0, "RUN has 3 words, after LOAD");
    if (r->word[1] >= s->plan.calls ||
        r->word[2] > (RUN_MUTE | RUN_TIMED | RUN_RELOAD))
        return answer_fail(a, BAD_REQUEST, 0, "RUN: no such call or flag");
    return s->kind->run(s->device, &s->plan.call[r->word[1]],
                        (unsigned)r->word[2], a);
}

static int do_unload(struct server *s, const struct request *r,
                     struct answer *a)
{
    if (r->words != 1 || r->fds)
        return answer_fail(a, BAD_REQUEST, 0, "UNLOAD has 1 word");
    return runner_forget(s, a);
}

static void answer_to(struct server *s, const struct request *r,
                      struct answer *a)
{
    *a = (struct answer){.node = NO_NODE};
    if (!s->device)
        *a = s->broken;
    else if (r->word[0] == REQUEST_LOAD)
        do_load(s, r, a);
    else if (r->word[0] == REQUEST_RUN)
        do_run(s, r, a);
    else if (r->word[0] == REQUEST_UNLOAD)
        do_unload(s, r, a);
    else
        answer_fail(a, BAD_REQUEST, r->word[0], "an unknown request");
}

int runner_serve(int sock, const struct device_kind *kind)
{
    struct server s = {.kind = kind, .broken = {.node = NO_NODE}};
    struct request r;
    int rc;

    arena_init(&s.arena);
    s.device = kind->open(&s.broken);
    while ((rc = talk_receive(sock, &r)) > 0) {
        struct answer a;

        answer_to(&s, &r, &a);
        talk_close_fds(&r);
        if (talk_send(sock, &a) < 0) {
            rc = -1;
            break;
        }
    }
    talk_close_fds(&r);
    arena_release(&s.arena);
    free(s.bytes);
    return rc;
}
