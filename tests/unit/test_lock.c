/* test_lock.c: one process at a time, and none after its death. */
#include "store/lock.h"

#include "fds.h"
#include "io/proc.h"
#include "scratch.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_two(const char *dir)
{
    struct lock a, b;
    struct err e = ERR_INIT;
    char *want = scratch_text("%s: in use by process %ld", dir, (long)getpid());

    ok(lock_owner(dir) == 0, "nobody owns a free folder");
    ok(lock_take(dir, &a, &e) == 0, "a free folder is taken");
    ok(lock_owner(dir) == (long)getpid(), "and who has it can be asked for");
    ok(lock_take(dir, &b, &e) < 0 && e.kind == ERR_INPUT, "once");
    is(e.text, want, "and the message names who has it");
    ok(!b.held, "a refused lock holds nothing");
    lock_drop(&a);
    ok(lock_owner(dir) == 0, "dropped, it is nobody's");
    ok(lock_take(dir, &a, &e) == 0, "dropped, it can be taken again");
    lock_drop(&a);
    lock_drop(&a);
    ok(!a.held, "dropping twice is harmless");
}

/* Another process takes the lock, says so, and waits to be killed. */
static void test_death(const char *dir)
{
    char *script = scratch_text("exec 3<>%s/lock; flock -n 3 || exit 1; "
                                "echo $$ >&3; echo taken; exec sleep 600",
                                dir);
    char *want = scratch_text("%s: in use by process ", dir);
    FILE *f;
    char line[32] = "";
    struct lock a;
    struct err e = ERR_INIT;
    long pid = 0;

    f = popen(script, "r"); // NOLINT(cert-env33-c)
    ok(f && fgets(line, sizeof(line), f), "another process has the lock");
    ok(lock_take(dir, &a, &e) < 0 && strncmp(e.text, want, strlen(want)) == 0 &&
           (pid = strtol(e.text + strlen(want), NULL, 10)) > 1 &&
           pid != (long)getpid(),
       "its number is told");
    ok(pid > 1 && kill((pid_t)pid, SIGKILL) == 0, "killed without warning");
    ok(WIFSIGNALED(pclose(f)), "and dead");
    ok(lock_take(dir, &a, &e) == 0, "its lock is gone with it");
    lock_drop(&a);
}

static void test_refusals(const char *dir)
{
    char *none = scratch_text("%s/none", dir),
         *path = scratch_text("%s/lock", dir);
    char *want =
        scratch_text("%s/lock: cannot open: No such file or directory", none);
    struct lock a;
    struct err e = ERR_INIT;

    ok(lock_take(none, &a, &e) < 0 && e.kind == ERR_INPUT, "no folder");
    is(e.text, want, "and it says so");
    unlink(path);
    ok(symlink("elsewhere", path) == 0 && lock_take(dir, &a, &e) < 0,
       "a link in the lock's place is not followed");
}

SUITE(lock)
{
    char *dir = scratch_dir();
    size_t before = fds_open();

    test_two(dir);
    test_death(dir);
    test_refusals(dir);
    ok(fds_open() == before, "no descriptor is left open");
}
