/* main.c: monkeys-runner, which holds data and runs compiled kernels on it.
 *
 * Data and the candidate's Python must never be in one process, and this is the
 * one with the data. So it contains only libc: no Python, no torch, no BLAS. It
 * is asked through a socket (docs/RUNNER.md has the bytes), every failure becomes
 * an answer, and a request that is none ends it: then the judge starts another. */
#include "runner/device.h"

#include "base/opt.h"
#include "base/version.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define TALK_WORDS 8
#define TALK_FDS   4

enum request_kind { REQUEST_LOAD = 1, REQUEST_RUN = 2, REQUEST_UNLOAD = 3 };

struct request {
    uint64_t word[TALK_WORDS]; /* the first is the kind */
    size_t words;
    int fd[TALK_FDS];
    size_t fds;
};

/* ---- answers ---- */

int answer_fail(struct answer *a, enum status status, uint64_t detail,
                const char *fmt, ...)
{
    va_list ap;

    a->status = status;
    a->detail = detail;
    va_start(ap, fmt);
    vsnprintf(a->text, sizeof(a->text), fmt, ap);
    va_end(ap);
    return -1;
}

int answer_sys(struct answer *a, enum status status, const char *what)
{
    int code = errno;
    char text[128] = "";

    if (code == ENOMEM)
        status = NO_MEMORY;
    return answer_fail(a, status, (uint64_t)code, "%s: %s", what,
                       strerror_r(code, text, sizeof(text)));
}

/* ---- requests and answers on a socket ---- */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "requests and answers are little-endian, as they lie in memory"
#endif
_Static_assert(sizeof(struct answer) == 2088, "the answer's layout is fixed");

static void take_fds(struct request *r, struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        size_t n;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
            if (r->fds < TALK_FDS)
                r->fd[r->fds++] = fd;
            else
                close(fd);
        }
    }
}

/* Returns 1 when complete, 0 at the end of input before the first byte,
 * otherwise -1. */
static int receive(int sock, void *out, size_t bytes, struct request *r)
{
    size_t got = 0;

    while (got < bytes) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(r->fd))];
        struct iovec v = {(char *)out + got, bytes - got};
        struct msghdr m = {.msg_iov = &v,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = sizeof(control)};
        ssize_t n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 && got == 0 ? 0 : -1;
        take_fds(r, &m);
        got += (size_t)n;
    }
    return 1;
}

/* Returns 1 for a request, 0 if the judge closed its end, and -1 for invalid
 * input; nothing after that can be read. The caller closes the descriptors. */
static int talk_receive(int sock, struct request *r)
{
    uint32_t bytes;
    int rc;

    memset(r, 0, sizeof(*r));
    rc = receive(sock, &bytes, sizeof(bytes), r);
    if (rc <= 0)
        return rc;
    if (!bytes || bytes % 8 || bytes > sizeof(r->word))
        return -1;
    r->words = bytes / 8;
    return receive(sock, r->word, bytes, r) == 1 ? 1 : -1;
}

static void talk_close_fds(struct request *r)
{
    while (r->fds)
        close(r->fd[--r->fds]);
}

static int talk_send(int sock, const struct answer *a)
{
    char bytes[sizeof(uint32_t) + sizeof(*a)];
    uint32_t n = sizeof(*a);
    size_t sent = 0;

    memcpy(bytes, &n, sizeof(n));
    memcpy(bytes + sizeof(n), a, sizeof(*a));
    while (sent < sizeof(bytes)) {
        ssize_t k =
            send(sock, bytes + sent, sizeof(bytes) - sent, MSG_NOSIGNAL);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return -1;
        sent += (size_t)k;
    }
    return 0;
}

/* ---- LOAD, RUN, UNLOAD. Every failure becomes an answer ---- */

struct server {
    const struct device_kind *kind;
    struct device *device; /* NULL: `broken` says why */
    struct answer broken;
    struct arena arena; /* the program and everything built for it */
    struct program program;
    void *bytes; /* what the program was read from */
    bool loaded;
};

/* Makes a private copy, so that nobody can change it after the check. */
static int read_program(int fd, uint64_t bytes, void **out, struct answer *a)
{
    struct stat st;
    size_t got = 0;
    char *data;

    if (fstat(fd, &st) < 0 || bytes > PROGRAM_BYTES ||
        (uint64_t)st.st_size < bytes)
        return answer_fail(a, BAD_REQUEST, 0, "a program of %llu bytes",
                           (unsigned long long)bytes);
    *out = data = malloc((size_t)bytes + 1);
    if (!data)
        return answer_sys(a, NO_MEMORY, "the program");
    while (got < bytes) {
        ssize_t n = pread(fd, data + got, (size_t)bytes - got, (off_t)got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return answer_sys(a, NO_DEVICE, "reading the program");
        got += (size_t)n;
    }
    return 0;
}

static int runner_forget(struct server *s, struct answer *a)
{
    int rc = s->kind->unload(s->device, a);

    arena_release(&s->arena);
    free(s->bytes);
    s->bytes = NULL;
    s->loaded = false;
    return rc;
}

static int load_program(struct server *s, const struct request *r,
                        struct answer *a)
{
    struct err e = ERR_INIT;

    if (read_program(r->fd[0], r->word[1], &s->bytes, a) < 0)
        return -1;
    if (program_read(&s->program, s->bytes, (size_t)r->word[1], r->word[2],
                     &s->arena, &e) < 0)
        return answer_fail(a, BAD_PROGRAM, 0, "%s", e.text);
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): runner_forget() frees s->bytes
    if (s->kind->map(s->device, r->fd[1], r->word[2], a) < 0)
        return -1;
    return s->kind->load(s->device, &s->program, &s->arena, a);
}

static int do_load(struct server *s, const struct request *r, struct answer *a)
{
    struct answer ignored;

    if (r->words != 3 || r->fds != 2)
        return answer_fail(a, BAD_REQUEST, 0,
                           "LOAD has 3 words and 2 descriptors");
    if (s->loaded)
        return answer_fail(a, BAD_REQUEST, 0, "LOAD before UNLOAD");
    if (load_program(s, r, a) < 0) {
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
    if (r->word[1] >= s->program.calls ||
        r->word[2] > (RUN_MUTE | RUN_TIMED | RUN_RELOAD))
        return answer_fail(a, BAD_REQUEST, 0, "RUN: no such call or flag");
    return s->kind->run(s->device, &s->program.call[r->word[1]],
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

/* Runs until the judge closes its end. Returns 0, or -1 if it received an
 * invalid request or could not send the answer. */
static int runner_serve(int sock, const struct device_kind *kind)
{
    struct server s = {.kind = kind, .broken = {.node = NO_NODE}};
    struct request r;
    int rc;

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

/* ---- main ---- */

/* monkeys-runner, which holds data and runs compiled kernels on it. The
 * process contains only libc: no Python, no torch, no BLAS. */

#define JUDGE 3 /* the socket's descriptor */

struct values {
    const char *device;
};

static const struct opt table[] = {
    {"device", 0, OPT_CHOICE, "cpu|cuda", "where programs are executed (cpu)",
     offsetof(struct values, device), 0, 0},
    {0},
};

static void print_help(void)
{
    struct buf help = {.limit = 16384};

    buf_puts(&help,
             "usage: monkeys-runner [options]\n\nExecutes the programs of "
             "a judge, which asks through the socket that is\n"
             "descriptor 3. Started by monkeys-worker.\n\n");
    opt_help(table, &help);
    fputs(buf_str(&help), stdout);
    buf_release(&help);
}

int main(int argc, char **argv)
{
    struct values v = {.device = "cpu"};
    struct opt_result r;
    struct err e = ERR_INIT;
    int rc = opt_parse(table, &v, argc, argv, &r, &e);

    /* Inherited descriptors would be open to a candidate's library. */
    close_range(JUDGE + 1, UINT_MAX, 0);
    if (rc == 0 && r.common.help)
        print_help();
    else if (rc == 0 && r.common.version)
        puts("monkeys-runner " MONKEYS_VERSION);
    else if (rc == 0 &&
             runner_serve(JUDGE, strcmp(v.device, "cpu") ? &device_cuda
                                                         : &device_cpu) < 0)
        rc = err_set(&e, ERR_INPUT, "descriptor %d does not speak as a judge",
                     JUDGE);
    opt_result_release(&r);
    if (rc < 0) {
        fprintf(stderr, "monkeys-runner: %s\n", e.text);
        return err_exit_status(&e);
    }
    return 0;
}
