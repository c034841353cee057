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
static void trials_describe(struct trial *t, const struct verifier_answer *d)
{
    const char *verdict = d->record ? jsn_str(d->record, "verdict")
                                    : verdicts[VERDICT_INFRA].name,
               *feedback = d->record ? jsn_str(d->record, "feedback") : d->why,
               *seed = t->pack->seed[0].name;

    t->correct = verdict_in(d->record) == VERDICT_CORRECT;
    t->detail =
        t->correct
            ? xasprintf("the seed %s is correct on %s, %s", seed, t->device,
                        jsn_str(d->record, "evidence"))
            : xasprintf("the seed %s is %s on %s: %.*s", seed, verdict,
                        t->device, (int)strcspn(feedback, "\n"), feedback);
}

/* The trials of one device, which share a worker. */
struct trials {
    const char *device;
    struct trial *trial;
};

static bool is_tried_on(const struct trial *t, const char *device)
{
    return t->tried && t->pack && strcmp(t->device, device) == 0;
}

static int trials_one(struct verifier *verifier, size_t item, void *arg,
                      struct err *e)
{
    struct trials *s = arg;
    struct trial *t = &s->trial[item];
    struct job_opts o = {.device = s->device,
                         .precision = precision_names[PRECISION_FP32],
                         .protocol = "hardened",
                         .whole_ms = TRIAL_MS};
    struct candidate c = {.pack = t->pack, .job = &o};
    struct verifier_answer d = {0};
    struct kernel k;
    int rc;

    if (!is_tried_on(t, s->device))
        return 0;
    if (!(t->pack->run.dtypes & 1u << PRECISION_FP32))
        o.precision = precision_names[t->pack->run.default_dtype];
    if (kernel_read(t->pack->seed[0].dir, &k, e) < 0)
        return -1;
    c.task = k.task;
    c.code = k.solution;
    rc = verifier_ask(verifier, &c, &d, e);
    kernel_release(&k);
    if (rc == 0)
        trials_describe(t, &d);
    verifier_answer_release(&d);
    return rc;
}

static int run_on(const char *device, const struct home *home,
                  const struct opt_list *given, struct trial *trial, size_t n,
                  struct err *e)
{
    struct verifying_values v = VERIFYING_DEFAULTS;
    struct trials s = {.device = device, .trial = trial};

    v.device = device;
    v.packs = *given;
    return verifying_all(&v, home, n, trials_one, &s, e);
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
            any = any || is_tried_on(&trial[i], devices[d]);
        if (any)
            rc = run_on(devices[d], home, given, trial, n, e);
    }
    for (size_t i = 0; i < n; i++)
        pack_free(trial[i].pack);
    packs_path_release(&path);
    return rc;
}
