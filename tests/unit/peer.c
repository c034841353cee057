/* peer.c: starts and stops the servers that tests talk to. */
#include "peer.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tick.h"
#include "proc_run.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ARGS = 8 };

static pid_t spawn_python(const char *const *argv, int out)
{
    const char *full[MOST_ARGS + 2] = {"/usr/bin/python3"};
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    int rc;

    for (size_t i = 0; argv[i]; i++) {
        if (i == MOST_ARGS)
            BUG("too many arguments");
        full[i + 1] = argv[i];
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    rc = posix_spawn(&pid, full[0], &actions, NULL, (char *const *)full,
                     environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0)
        BUG("start %s: errno %d", argv[0], rc);
    return pid;
}

struct testpeer testpeer_start(const char *const *argv)
{
    struct testpeer s = {0};
    char line[32] = "";
    int64_t port;
    int fd[2];
    FILE *out;

    if (pipe2(fd, O_CLOEXEC) < 0)
        BUG("pipe2");
    s.pid = spawn_python(argv, fd[1]);
    close(fd[1]);
    out = fdopen(fd[0], "r");
    if (!out || !fgets(line, sizeof(line), out) ||
        !str_to_i64(str_trim(str_of(line)), 1, 65535, &port))
        BUG("%s printed no port", argv[0]);
    s.port = (int)port;
    fclose(out);
    return s;
}

void testpeer_stop(struct testpeer *s)
{
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
}

bool testpeer_certificate(const char *dir, char **cert, char **key)
{
    struct proc_opts o = {.timeout_ns = 300 * TICK_S, .err_limit = 1000};
    struct proc_result r;
    struct err e = ERR_INIT;
    bool made;

    *cert = fs_join(dir, "cert.pem");
    *key = fs_join(dir, "key.pem");
    o.argv = (const char *const[]){
        "openssl",  "req",    "-x509",   "-newkey",
        "rsa:2048", "-nodes", "-days",   "1",
        "-subj",    "/CN=t",  "-addext", "subjectAltName=IP:127.0.0.1",
        "-keyout",  *key,     "-out",    *cert,
        NULL};
    if (proc_run(&o, &r, &e) < 0)
        return false;
    made = r.exit_code == 0;
    proc_result_release(&r);
    return made;
}
