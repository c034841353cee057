/* trials.c: seeds of packs as candidates. */
#include "cmd/trials.h"

#include "base/mem.h"
#include "pack/packs.h"
#include "run/kernel.h"
#include "verify/verdict.h"
#include "verify/verifying.h"

#include <stdlib.h>
#include <string.h>

#define TRIAL_MS 60000 /* a seed is small */

static const char *device_of(const struct pack *p)
{
    struct verifying_values v = VERIFYING_DEFAULTS;
    struct err ignored = ERR_INIT;

    verifying_choose_for(&v, p, &ignored);
    return verifying_precision(&v, p, &ignored) ? v.device : NULL;
}

static void load(struct trial *t, const struct packs_path *path)
{
    struct problems problems;
    struct err e = ERR_INIT;

    problems_init(&problems);
    t->pack = pack_load(&path->path, t->dir, &problems);
    if (!t->pack) {
        problems_to_err(&problems, &e);
        t->tried = true;
        t->detail = xstrdup(e.text);
    } else {
        t->device = device_of(t->pack);
        t->tried = t->pack->seed_count && t->device;
    }
    problems_release(&problems);
}

/* The first line of the feedback is enough. */
static void on_record(const json_t *record, const char *why, void *arg)
{
    struct trial *t = arg;
    const char *verdict = record ? jsn_str(record, "verdict")
                                 : verdicts[VERDICT_INFRA].name,
               *feedback = record ? jsn_str(record, "feedback") : why,
               *seed = t->pack->seed[0].name;

    t->correct = verdict_in(record) == VERDICT_CORRECT;
    t->detail = t->correct ? xasprintf("the seed %s is correct on %s, %s", seed,
                                       t->device, jsn_str(record, "evidence"))
                           : xasprintf("the seed %s is %s on %s: %.*s", seed,
                                       verdict, t->device,
                                       (int)strcspn(feedback, "\n"), feedback);
}

static int ask(struct door *d, struct trial *t, struct err *e)
{
    struct job_opts o = {.device = t->device,
                         .precision = precision_names[PRECISION_FP32],
                         .protocol = "hardened",
                         .whole_ms = TRIAL_MS};
    struct candidate c = {.pack = t->pack, .job = &o};
    struct kernel k;
    int rc;

    if (!(t->pack->run.dtypes & 1u << PRECISION_FP32))
        o.precision = precision_names[t->pack->run.default_dtype];
    if (kernel_read(t->pack->seed[0].dir, &k, e) < 0)
        return -1;
    c.task = k.task;
    c.code = k.solution;
    rc = door_judge(d, &c, on_record, t, e);
    kernel_release(&k);
    return rc;
}

/* One worker for all packs of a device. */
static int run_on(const char *device, const struct home *home,
                  const struct opt_list *given, struct trial *trial, size_t n,
                  struct err *e)
{
    struct verifying_values v = VERIFYING_DEFAULTS;
    struct verifying g = {0};
    int rc;

    v.device = device;
    v.packs = *given;
    rc = verifying_open(&g, &v, home, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (trial[i].tried && trial[i].pack &&
            strcmp(trial[i].device, device) == 0)
            rc = ask(g.door, &trial[i], e);
    if (rc == 0)
        door_wait(g.door);
    verifying_close(&g);
    return rc;
}

int trials_run(const struct home *home, const struct opt_list *given,
               struct trial *trial, size_t n, struct err *e)
{
    static const char *const devices[] = {"cpu", "cuda:0"};
    struct packs_path path;
    int rc = 0;

    packs_path_init(&path, given, home);
    for (size_t i = 0; i < n; i++)
        load(&trial[i], &path);
    for (size_t d = 0; rc == 0 && d < 2; d++) {
        bool any = false;

        for (size_t i = 0; i < n; i++)
            any = any || (trial[i].tried && trial[i].pack &&
                          strcmp(trial[i].device, devices[d]) == 0);
        if (any)
            rc = run_on(devices[d], home, given, trial, n, e);
    }
    for (size_t i = 0; i < n; i++)
        pack_free(trial[i].pack);
    packs_path_release(&path);
    return rc;
}
