/* respawn.c: spawned with a pipe for what it says. */
#include "respawn.h"

#include "base/mem.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct respawned respawn(const char *suite, const char *name, const char *value,
                         const char *fault)
{
    char exe[500] = "", *word = xstrdup(suite), *argv[] = {exe, word, NULL};
    size_t n = 0;
    char **env;
    int fd[2];
    struct respawned c;
    posix_spawn_file_actions_t acts;

    while (environ[n])
        n++;
    env = xcalloc(n + 3, sizeof(*env));
    memcpy(env, environ, n * sizeof(*env));
    env[n] = xasprintf("%s=%s", name, value);
    env[n + 1] = xasprintf("MONKEYS_FAULT_STORE=%s", fault);
    if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0 ||
        pipe2(fd, O_CLOEXEC) < 0)
        BUG("spawn");
    posix_spawn_file_actions_init(&acts);
    posix_spawn_file_actions_adddup2(&acts, fd[1], STDOUT_FILENO);
    if (posix_spawn(&c.pid, exe, &acts, NULL, argv, env) != 0)
        BUG("spawn");
    posix_spawn_file_actions_destroy(&acts);
    close(fd[1]);
    c.out = fd[0];
    free(env[n]);
    free(env[n + 1]);
    free(env);
    free(word);
    return c;
}
