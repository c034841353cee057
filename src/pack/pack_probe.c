/* pack_probe.c: runs a pack's probe and reads its line. */
#include "pack/pack_probe.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

const char *const pack_probe_levels[PACK_PROBE_LEVELS] = {"broken", "checks",
                                                          "compile", "run"};

void pack_probe_command(struct proc_opts *o, const char **argv,
                        const struct home *home, const char *dir)
{
    argv[0] = home->python;
    argv[1] = "-B";
    argv[2] = "-c";
    argv[3] = "import runpy, sys; sys.path.append(sys.argv[1] + '/worker'); "
              "runpy.run_path('probe.py', run_name='__main__')";
    argv[4] = home->dir;
    argv[5] = NULL;
    *o = (struct proc_opts){.argv = argv,
                            .cwd = dir,
                            .out_limit = 4096,
                            .err_limit = 65536,
                            .timeout_ns = PACK_PROBE_NS};
}

/* The last line that is not blank. */
static struct str last_line(const struct buf *b)
{
    struct str rest = str_trim((struct str){buf_str(b), b->len}), line;

    while (str_cut(&rest, '\n', &line))
        continue;
    return str_trim(rest);
}

static void broken(struct pack_probe *p, const char *what, struct str detail)
{
    p->level = PACK_PROBE_BROKEN;
    p->why = xasprintf("probe.py %s%s%.*s", what, detail.n ? ": " : "",
                       (int)(detail.n < 200 ? detail.n : 200), detail.p);
}

void pack_probe_read(struct pack_probe *p, const struct procs_item *ran)
{
    const struct proc_result *r = &ran->result;
    struct str line = last_line(&r->out), word;

    if (ran->failed.kind != ERR_NONE) {
        p->level = PACK_PROBE_BROKEN;
        p->why = xstrdup(ran->failed.text);
        return;
    }
    if (r->timed_out) {
        broken(p, "timed out", STR_LIT(""));
        return;
    }
    if (r->exit_code != 0) {
        broken(p, "failed", last_line(&r->err));
        return;
    }
    if (str_cut(&line, ':', &word))
        for (int i = PACK_PROBE_CHECKS; i < PACK_PROBE_LEVELS; i++)
            if (str_eq(word, pack_probe_levels[i])) {
                line = str_trim(line);
                p->level = (enum pack_probe_level)i;
                p->why = xstrndup(line.p, line.n);
                return;
            }
    broken(p, "printed no 'checks:', 'compile:' or 'run:' line",
           last_line(&r->out));
}
