/* main.c: monkeys-worker, the program that owns the processes of one host. It
 * needs libc alone, so that it can be built where nothing else is installed. */
#include "base/fs.h"
#include "base/home.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/version.h"
#include "io/link.h"
#include "io/loop.h"
#include "worker/box_check.h"
#include "worker/cgroup.h"
#include "worker/gpu_choice.h"
#include "worker/serve.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWNER        3 /* the descriptor of its socket */
#define NOBODY       61000
#define GPU_CHILDREN 8 /* more make more verdicts, and contexts of 0.6 GB */

extern char **environ;

struct values {
    bool probe, unsafe;
    bool told; /* the owner knows what went wrong */
    const char *python, *home, *device, *box, *scratch, *cache, *jobs, *out;
    const char *connect, *key;
    struct opt_list packs;
    int64_t children, prewarm, memory, total, patience, retry;
};

#define AT(field) offsetof(struct values, field)

static const struct opt table[] = {
    {"probe", 0, OPT_FLAG, NULL,
     "try each part of the sandbox and print a line for it: "
     "NAME yes|no DETAIL",
     AT(probe), 0, 0},
    {"jobs", 0, OPT_TEXT, "FILE", "read jobs from FILE", AT(jobs), 0, 0},
    {"out", 0, OPT_TEXT, "FILE",
     "append answers to FILE; skip jobs that have an answer "
     "there",
     AT(out), 0, 0},
    {"connect", 0, OPT_TEXT, "HOST:PORT",
     "get jobs from a 'monkeys' that listens there (--verifier tcp=HOST:PORT)",
     AT(connect), 0, 0},
    {"key", 0, OPT_TEXT, "FILE",
     "the secret that it shares with its workers; only you may be able to "
     "read the file",
     AT(key), 0, 0},
    {"retry", 0, OPT_INT, "S",
     "try for S seconds to connect, also when the connection is lost "
     "(default: 60)",
     AT(retry), 0, 1000000},
    {"device", 0, OPT_TEXT, "cpu|cuda:N", "where candidates run (default: cpu)",
     AT(device), 0, 0},
    {"python", 0, OPT_TEXT, "PATH",
     "the Python with torch (default: MONKEYS_PYTHON, then "
     ".venv, then python3)",
     AT(python), 0, 0},
    {"home", 0, OPT_TEXT, "DIR", "the folder that has worker/ and packs/",
     AT(home), 0, 0},
    {"packs", 0, OPT_LIST, "DIR",
     "look for packs in DIR first (may be repeated), then in the folders of "
     "MONKEYS_PACKS",
     AT(packs), 0, 0},
    {"children", 0, OPT_INT, "N",
     "candidates at a time (default: the number of cores)", AT(children), 0,
     256},
    {"prewarm", 0, OPT_INT, "N",
     "processes to keep ready for each language (default: 0 "
     "on the CPU; on a GPU as many as --children, at most 8)",
     AT(prewarm), 0, 64},
    {"memory", 0, OPT_INT, "BYTES",
     "memory limit of one candidate, also on a GPU (default: "
     "a share of the machine, at most 8 GiB; on a GPU none)",
     AT(memory), 0, INT64_MAX},
    {"total-memory", 0, OPT_INT, "BYTES",
     "memory limit of all candidates together, on the CPU "
     "(default: three quarters of the free memory)",
     AT(total), 1, INT64_MAX},
    {"patience", 0, OPT_INT, "S",
     "replace a judge or zygote that neither answers nor "
     "computes for S seconds (default: 10)",
     AT(patience), 1, 3600},
    {"box", 0, OPT_CHOICE, "auto|full|thin|none",
     "the sandbox (default: auto, the strongest available)", AT(box), 0, 0},
    {"unsafe", 0, OPT_FLAG, NULL, "continue even if no sandbox can be made",
     AT(unsafe), 0, 0},
    {"cache", 0, OPT_TEXT, "DIR|none",
     "where to keep compiled kernels (default: "
     "XDG_CACHE_HOME/monkeys/builds)",
     AT(cache), 0, 0},
    {"scratch", 0, OPT_TEXT, "DIR",
     "where to keep temporary files (default: /tmp)", AT(scratch), 0, 0},
    {0},
};

/* What --home says, or the folder that this program belongs to; NULL: neither. */
static char *find_home(const char *given, struct err *e)
{
    struct home own;
    char *dir;

    if (given)
        return xstrdup(given);
    if (home_find(&own, e) < 0)
        return NULL;
    dir = xstrdup(own.dir);
    home_release(&own);
    return dir;
}

static const char *choose_box(const struct values *v, struct err *e)
{
    const char *can = box_check_level();

    if (strcmp(v->box, "auto") != 0)
        can = v->box;
    if (strcmp(v->box, "none") == 0 && !v->unsafe) {
        err_set(e, ERR_USAGE,
                "--box none runs candidates without a sandbox; add --unsafe "
                "if you mean it");
        return NULL;
    }
    if (strcmp(can, "none") == 0 && !v->unsafe) {
        err_set(e, ERR_SYSTEM,
                "no sandbox can be made here ('monkeys-worker --probe' "
                "shows what is missing); --unsafe runs candidates "
                "without one");
        return NULL;
    }
    return can;
}

/* What ends the program. */
struct stop {
    struct loop *loop;
    bool stopped;
};

static void main_on_signal(int signo, void *arg)
{
    struct stop *s = arg;

    (void)signo;
    s->stopped = true;
    loop_stop(s->loop);
}

/* Where a pack finds a checkout of the user's: NAME_ROOT=FOLDER. */
static bool is_root(const char *entry)
{
    static const char end[] = "_ROOT=";
    const char *sign = strchr(entry, '=');
    const ptrdiff_t before = (ptrdiff_t)sizeof(end) - 2;

    return sign && sign - entry > before &&
           strncmp(sign - before, end, sizeof(end) - 1) == 0;
}

/* A forked process keeps the environment its program was started with, whatever
 * it unsets later: only what judge and zygotes need goes to them, no key of a
 * user's. */
static void keep_environment(void)
{
    static const char *const kept[] = {
        "PATH=",   "HOME=",       "LANG=",        "LC_",     "TZ=",
        "TMPDIR=", "PYTHONPATH=", "VIRTUAL_ENV=", "CONDA_P", "LD_LIBRARY_PATH=",
        "CUDA_",   "NVIDIA_"};
    const size_t count = sizeof(kept) / sizeof(kept[0]);
    char **to = environ;

    for (char **at = environ; *at; at++) {
        size_t i = 0;

        while (i < count && strncmp(*at, kept[i], strlen(kept[i])) != 0)
            i++;
        if (i < count || is_root(*at))
            *to++ = *at;
    }
    *to = NULL;
}

/* What a child may use when nobody says: all together no more than there is. */
static uint64_t default_memory(int64_t children)
{
    const uint64_t most = (uint64_t)8 << 30;
    uint64_t all = memory_size() / 4 * 3;

    return all / (uint64_t)children < most ? all / (uint64_t)children : most;
}

/* What --cache says, or a folder among the user's caches; "": none. */
static char *find_cache(const char *given)
{
    const char *base = secure_getenv("XDG_CACHE_HOME");
    const char *home = secure_getenv("HOME");

    if (given)
        return xstrdup(strcmp(given, "none") == 0 ? "" : given);
    if (base && *base)
        return xasprintf("%s/monkeys/builds", base);
    return home && *home ? xasprintf("%s/.cache/monkeys/builds", home)
                         : xstrdup("");
}

static int connect_to(struct loop *l, const struct host_opts *o,
                      const struct values *v, const bool *stopped,
                      struct err *e)
{
    char secret[KEY_TEXT];
    struct serve_opts s = {.address = v->connect,
                           .secret = secret,
                           .retry_s = v->retry,
                           .memory = o->total_memory,
                           .stopped = stopped};

    if (key_read(v->key, secret, e) < 0)
        return -1;
    return serve_connect(l, o, &s, e);
}

/* Fills in what the options leave open, then works. */
static int main_work(struct values *v, const char *scratch, struct err *e)
{
    bool cpu = strcmp(v->device, "cpu") == 0;
    char *home = find_home(v->home, e);
    char *python =
        v->python ? xstrdup(v->python) : home_python(home ? home : ".");
    char *cache = find_cache(v->cache);
    struct loop *l = loop_new(e);
    int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct nvml *nvml = cpu ? NULL : nvml_open("libnvidia-ml.so.1");
    struct gpu gpu;
    struct stop stop = {0};
    struct host_opts o = {.python = python,
                          .home = home,
                          .packs = v->packs.item,
                          .pack_count = v->packs.len,
                          .device = v->device,
                          .gpu_node = gpu.node,
                          .scratch = scratch,
                          .cache = cache,
                          .children = v->children,
                          .prewarm = v->prewarm,
                          .patience_s = v->patience,
                          .memory = (uint64_t)v->memory,
                          .total_memory = (uint64_t)v->total,
                          .uid = box_check_users() ? NOBODY : 0};
    int rc = -1;

    if (!home)
        goto out;
    o.box = choose_box(v, e);
    if (!l || !o.box)
        goto out;
    if (gpu_choose(v->device, secure_getenv("CUDA_VISIBLE_DEVICES"), nvml, &gpu,
                   e) < 0)
        goto out;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): there is no thread yet
    setenv("CUDA_VISIBLE_DEVICES", gpu.visible, 1);
    if (o.children == 0)
        o.children = cores;
    if (v->prewarm < 0)
        o.prewarm = cpu                         ? 0
                    : o.children < GPU_CHILDREN ? o.children
                                                : GPU_CHILDREN;
    if (v->memory < 0)
        o.memory = cpu ? default_memory(o.children) : 0;
    if (o.total_memory == 0 && cpu)
        o.total_memory = memory_for_children();
    keep_environment();
    stop.loop = l;
    if (!loop_add_signal(l, SIGTERM, main_on_signal, &stop, e) ||
        !loop_add_signal(l, SIGINT, main_on_signal, &stop, e))
        goto out;
    rc = v->jobs      ? jobs_run(l, &o, v->jobs, v->out, e)
         : v->connect ? connect_to(l, &o, v, &stop.stopped, e)
                      : serve_run(l, &o, OWNER, e);
out:
    if (l)
        loop_free(l);
    nvml_close(nvml);
    free(home);
    free(python);
    free(cache);
    return rc;
}

static int main_run(struct values *v, struct err *e)
{
    char *scratch;
    int rc;

    if (v->probe)
        return box_check_print(stdout);
    if (!v->jobs != !v->out)
        return err_set(e, ERR_USAGE, "--jobs and --out must be given together");
    if (!v->connect != !v->key)
        return err_set(e, ERR_USAGE,
                       "--connect and --key must be given together");
    if (v->jobs && v->connect)
        return err_set(e, ERR_USAGE, "give --jobs or --connect, not both");
    if (!v->jobs && !v->connect && !serve_is_owned(OWNER))
        return err_set(e, ERR_USAGE,
                       "no jobs: give --jobs FILE and --out FILE, or --connect "
                       "HOST:PORT and --key FILE (only 'monkeys' passes jobs "
                       "through a socket)");
    scratch = xasprintf("%s/monkeys-XXXXXX", v->scratch);
    if (!mkdtemp(scratch) || chmod(scratch, 0755) < 0) {
        rc = err_sys(e, "%s", scratch);
    } else {
        rc = main_work(v, scratch, e);
        v->told = rc < 0 && !v->jobs && !v->connect &&
                  serve_refuse(OWNER, e->text) == 0;
        fs_remove_tree(scratch);
    }
    free(scratch);
    return rc;
}

int main(int argc, char **argv)
{
    struct values v = {.device = "cpu",
                       .box = "auto",
                       .scratch = "/tmp",
                       .prewarm = -1,
                       .patience = 10,
                       .retry = 60,
                       .memory = -1};
    struct opt_result r;
    struct err e = ERR_INIT;
    struct arena memory = {0};
    struct buf help = {.limit = 16384};
    int rc;

    signal(SIGPIPE, SIG_IGN);
    umask(022); /* candidates are other users, and enter our folders */
    rc = opt_parse(table, &v, argc, argv, &r, &e);
    opt_list_env(&v.packs, "MONKEYS_PACKS", &memory);
    if (rc == 0 && r.common.help) {
        buf_puts(&help, "usage: monkeys-worker [options]\n\n"
                        "Runs and judges candidates for 'monkeys' on this "
                        "host. Jobs come from a file\n"
                        "(--jobs), over a network (--connect), or from the "
                        "socket on descriptor 3 when\n"
                        "'monkeys' starts it.\n\n");
        opt_help(table, &help);
        fputs(buf_str(&help), stdout);
        buf_release(&help);
    } else if (rc == 0 && r.common.version) {
        puts("monkeys-worker " MONKEYS_VERSION);
    } else if (rc == 0) {
        rc = main_run(&v, &e);
    }
    opt_release(table, &v);
    opt_result_release(&r);
    arena_release(&memory);
    if (rc < 0) {
        if (!v.told)
            fprintf(stderr, "monkeys-worker: %s\n", e.text);
        return err_exit_status(&e);
    }
    return rc;
}
