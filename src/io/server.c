/* server.c: starting a program and talking with it. */
#include "io/server.h"

#include "base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A process of half a gigabyte takes a while to die on a busy machine; no signal ends
 * one that is stuck in a driver. */
#define DIE_MS 10000

static int server_spawn(struct server *s, const char *const *argv, int sock,
                        struct err *e)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none;
    pid_t pid;
    int rc;
    const char **env;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (s->log[0]) {
        posix_spawn_file_actions_addopen(
            &files, 1, s->log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
        posix_spawn_file_actions_adddup2(&files, 1, 2);
    } else {
        posix_spawn_file_actions_adddup2(&files, 2, 1);
    }
    posix_spawn_file_actions_adddup2(&files, sock, 3);
    posix_spawnattr_init(&attr);
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    env = secret_free_env();
    rc = posix_spawnp(&pid, argv[0], &files, &attr, (char *const *)argv,
                      (char *const *)env);
    free(env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    errno = rc;
    if (rc)
        return err_sys(e, "start %s", argv[0]);
    s->pid = pid;
    s->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    s->child_id = loop_add_child(s->loop, pid, NULL, NULL, e);
    return s->pidfd >= 0 && s->child_id ? 0 : err_sys(e, "pidfd_open");
}

static void kill_it(struct server *s)
{
    if (s->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
}

static void server_set_interest(struct server *s)
{
    bool more = !s->deaf && peer_has_output(&s->peer);
    unsigned want = LOOP_READ | (more ? LOOP_WRITE : 0);
    struct err e = ERR_INIT;

    if (want != s->interest && s->fd_id)
        loop_set_interest(s->loop, s->fd_id, want, &e);
    s->interest = want;
}

static void server_flush(struct server *s)
{
    struct err e = ERR_INIT;

    if (peer_flush(&s->peer, &e) < 0 && (e.sys == EPIPE || e.sys == ECONNRESET))
        s->deaf = true;
}

static void server_close(struct server *s)
{
    if (s->ended)
        return;
    s->ended = true;
    loop_remove(s->loop, s->fd_id);
    s->fd_id = 0;
    kill_it(s);
    s->fn(s, NULL, s->arg);
}

static void server_on_ready(int fd, unsigned events, void *arg)
{
    struct server *s = arg;
    struct err e = ERR_INIT;
    struct frame f;
    int got = 1;

    (void)fd;
    /* Who listens no more may have said why: that is read to its end. */
    if (events & LOOP_WRITE)
        server_flush(s);
    if ((events & LOOP_READ) && peer_fill(&s->peer, &e) < 0)
        got = -1;
    while (got > 0 && !s->ended && (got = peer_next(&s->peer, &f, &e)) > 0)
        s->fn(s, &f, s->arg);
    if (s->ended)
        return;
    if (got < 0)
        server_close(s);
    else
        server_set_interest(s);
}

int server_start(struct server *s, struct loop *l, const char *const *argv,
                 const char *log, struct err *e)
{
    int pair[2];

    *s = (struct server){
        .loop = l, .pidfd = -1, .peer.fd = -1, .fn = s->fn, .arg = s->arg};
    snprintf(s->log, sizeof(s->log), "%s", log ? log : "");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(e, "socketpair");
    if (server_spawn(s, argv, pair[1], e) < 0) {
        close(pair[0]);
        close(pair[1]);
        return -1;
    }
    close(pair[1]);
    peer_init(&s->peer, pair[0]);
    s->interest = LOOP_READ;
    s->fd_id = loop_add_fd(l, pair[0], LOOP_READ, server_on_ready, s, e);
    return s->fd_id ? 0 : -1;
}

void server_stop(struct server *s)
{
    if (!s->ended)
        kill_it(s);
    s->ended = true;
    loop_remove(s->loop, s->fd_id);
    peer_close(&s->peer);
    if (s->pidfd >= 0)
        close(s->pidfd);
    s->pidfd = -1;
}

void server_end(struct server *s, int wait_ms)
{
    struct pollfd gone = {s->pidfd, POLLIN, 0};

    loop_remove(s->loop, s->fd_id);
    peer_close(&s->peer);
    if (s->pidfd >= 0 && poll(&gone, 1, wait_ms) == 0) {
        kill_it(s);
        poll(&gone, 1, DIE_MS);
    }
    loop_remove(s->loop, s->child_id);
    server_stop(s);
}

void server_send(struct server *s, const struct frame *f, const int *fds,
                 size_t fd_count)
{
    peer_send(&s->peer, f, fds, fd_count);
    if (s->ended)
        return;
    server_flush(s);
    server_set_interest(s);
}

void server_say(struct server *s, const char *type, const char *id,
                const char *text)
{
    struct frame f = {.payload = text, .len = strlen(text)};

    snprintf(f.type, sizeof(f.type), "%s", type);
    snprintf(f.id, sizeof(f.id), "%s", id);
    server_send(s, &f, NULL, 0);
}
