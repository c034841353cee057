/* divide.c: the tasks of a run are divided into pieces when it begins, into
 * OUT/curriculum/LEVEL. A level that is there is complete, so a run that is
 * continued divides nothing twice. */
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "curriculum/maker.h"
#include "pack/precision.h"
#include "run/run_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void divide_step(const struct ask_progress *p, void *arg)
{
    run_tell(arg, p->done, NULL);
}

static void warn_of_whole(const struct curriculum *c, const char *level)
{
    for (size_t i = 0; i < c->nproblems; i++) {
        const struct problem *p = &c->problem[i];
        const json_t *findings = json_object_get(p->outline, "findings");

        if (p->depth == 0)
            log_warn("%s has no pieces (%s): %s", p->id, level,
                     jsn_str(json_array_get(findings, 0), "detail"));
    }
}

/* Under another name until it is complete. */
static int keep(const struct curriculum *c, const char *dir, struct err *e)
{
    char *part = xasprintf("%s.part", dir);
    int rc = 0;

    fs_remove_tree(part);
    if (fs_mkdirs(part, e) < 0 || curriculum_write(c, part, e) < 0)
        rc = -1;
    else if (rename(part, dir) < 0)
        rc = err_sys(e, "%s: cannot be renamed to %s", part, dir);
    free(part);
    return rc;
}

static int deliver(const struct maker *m, const char *dir, const char *level,
                   struct err *e)
{
    struct curriculum c;
    int rc = maker_take(m, &c, e);

    if (rc == 0 && c.len == 0)
        rc = err_set(e, ERR_INPUT,
                     "--curriculum %s: none of the tasks could be divided; "
                     "'monkeys decompose' says why",
                     level);
    if (rc == 0) {
        warn_of_whole(&c, level);
        rc = keep(&c, dir, e);
    }
    curriculum_release(&c);
    return rc;
}

/* Pieces do not depend on the run's precision: they are made in fp32. */
static int divide(struct run *r, const char *dir, enum piece_level level,
                  struct err *e)
{
    struct job_opts job = r->job;
    struct maker_parts parts = {
        .ask = {.loop = r->loop, .step = divide_step, .arg = r},
        .verifier = r->verifier,
        .job = &job};
    enum ask_end end;
    int rc;

    job.precision = precision_names[PRECISION_FP32];
    job.timing = false;
    r->maker = maker_new(&parts, &r->tasks, level);
    run_begin_phase(
        r, arena_printf(&r->memory, "tasks divided (%s)", piece_levels[level]),
        r->tasks.len);
    end = maker_run(r->maker, e);
    if (end == ASK_DONE)
        rc = deliver(r->maker, dir, piece_levels[level], e);
    else
        rc = end == ASK_FAILED ? -1 : 1;
    maker_free(r->maker);
    r->maker = NULL;
    return rc;
}

/* With --refine-after, finer levels are made as well. */
static size_t last_level(const struct run_settings *s, size_t first)
{
    return s->refine_after ? PIECE_LEVELS - 1 : first;
}

int run_divide(struct run *r, struct err *e)
{
    const struct run_settings *s = r->set;
    const char *dir[PIECE_LEVELS];
    char *folder;
    size_t n = 0, first;
    int rc = 0;

    if (!s->curriculum || r->complete)
        return 0;
    first = contract_word(s->curriculum, piece_levels, PIECE_LEVELS);
    folder = fs_join(s->out, RUN_CURRICULUM);
    if (!r->resume && fs_is_dir(folder))
        rc = err_set(e, ERR_INPUT,
                     "%s exists already; remove it, or choose another --out",
                     folder);
    else
        r->divided = true;
    for (size_t i = first; rc == 0 && i <= last_level(s, first); i++) {
        dir[n] = arena_printf(&r->memory, "%s/%s", folder, piece_levels[i]);
        if (!fs_is_dir(dir[n]))
            rc = divide(r, dir[n], (enum piece_level)i, e);
        n++;
    }
    free(folder);
    return rc ? rc : run_pieces_load(r, dir, n, e);
}
