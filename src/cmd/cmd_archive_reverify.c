/* cmd_archive_reverify.c: monkeys archive reverify: the kernels of an archive or
 * a run once more, after the language or its compiler has changed. */
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "io/term.h"
#include "pack/pack.h"
#include "run/recheck.h"
#include "store/pg.h"
#include "verify/verdict.h"
#include "verify/verifying.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct reverify_values {
    struct verifying_values v; /* first */
    const char *dsl;
};

#define VALUES struct reverify_values
static const struct opt reverify_table[] = {
    {"dsl", 0, OPT_TEXT, "ID",
     "the pack; kernels of other packs are left alone (default: the pack of "
     "the first kernel)",
     AT(dsl)},
    VERIFYING_OPTIONS,
    {0},
};

struct reverify {
    struct reverify_values *v;
    const char *dir;
    struct cmd_call *call;
    const struct pack *pack;
    struct recheck *again;
    struct asked *asked; /* by kernel */
    size_t others;       /* kernels of other packs */
    size_t before;       /* kernels that the pass had verified before */
    size_t done;
    size_t retired, restored; /* now */
    struct term *bar;
};

struct asked {
    const char *precision;
    bool was_retired;
    char *infra; /* why there is no verdict */
};

/* ---- what to verify ---- */

static bool reverify_is_of_pack(const struct recheck_kernel *k, void *arg)
{
    struct reverify *f = arg;
    bool meant = !k->dsl[0] || strcmp(k->dsl, f->pack->id) == 0;

    f->others += !meant;
    return meant;
}

static const struct pack *reverify_load_pack(struct reverify *f, struct err *e)
{
    const char *id = f->v->dsl ? f->v->dsl : recheck_at(f->again, 0)->dsl;

    if (!id[0]) {
        err_set(e, ERR_USAGE,
                "%s does not say which pack its kernels belong to; give "
                "--dsl ID",
                f->dir);
        return NULL;
    }
    return cmd_pack(f->call, &f->v->v.packs, id, e);
}

/* A kernel is verified in the precision that it was verified in before. */
static int reverify_choose_precisions(struct reverify *f, struct err *e)
{
    size_t n = recheck_count(f->again);

    f->asked = xcalloc(n ? n : 1, sizeof(*f->asked));
    for (size_t i = 0; i < n; i++) {
        const struct recheck_kernel *k = recheck_at(f->again, i);
        struct verifying_values v = f->v->v;

        if (!v.precision && k->precision[0])
            v.precision = k->precision;
        f->asked[i] = (struct asked){
            .precision = verifying_precision(&v, f->pack, e),
            .was_retired = k->retired,
        };
        if (!f->asked[i].precision)
            return err_wrap(e, "%s", k->name);
    }
    return 0;
}

/* What the verdicts depend on besides the kernels. The probe names the version
 * of the language on this machine; a folder of jobs does not know it. */
static int reverify_describe(const struct reverify *f, struct buf *under,
                             struct err *e)
{
    const struct verifying_values *v = &f->v->v;
    struct pack_list one;
    struct pack_probe probe = {0};
    int rc;

    buf_printf(under, "pack %s %s, device %s, precision %s", f->pack->id,
               f->pack->hash, v->device, v->precision ? v->precision : "own");
    if (strcmp(v->verifier, "local") != 0) {
        buf_printf(under, ", %s", v->verifier);
        return 0;
    }
    if (packs_named(&cmd_packs(f->call, &v->packs, e)->path, &f->pack->id, 1,
                    &one, e) < 0)
        return -1;
    rc = packs_probe(
        &(struct pack_probes){.home = cmd_home(f->call, e), .packs = &one},
        &probe, e);
    if (rc == 0)
        buf_printf(under, ", %s", probe.why);
    free(probe.why);
    pack_list_release(&one);
    return rc;
}

/* ---- asking ---- */

static int reverify_note(struct reverify *f, size_t i, const json_t *record,
                         struct err *e)
{
    bool was = f->asked[i].was_retired;
    char *why = verdict_line(record);
    int rc = recheck_note(f->again, i, jsn_str(record, "verdict"),
                          jsn_str(record, "evidence"), why, e);

    f->retired += recheck_at(f->again, i)->retired && !was;
    f->restored += !recheck_at(f->again, i)->retired && was;
    free(why);
    return rc;
}

/* Each pass has its own inputs, so that an answer of an earlier pass in a
 * folder of jobs does not count for this one. */
static int reverify_one(struct verifier *verifier, size_t item, void *arg,
                        struct err *e)
{
    struct reverify *f = arg;
    struct asked *a = &f->asked[item];
    const struct recheck_kernel *k = recheck_at(f->again, item);
    struct job_opts o = verifying_job(&f->v->v, a->precision);
    struct verifier_answer d = {0};
    int rc = 0;
    struct candidate c = {.pack = f->pack,
                          .task = k->task,
                          .code = k->code,
                          .attempt = (size_t)recheck_pass(f->again),
                          .job = &o};

    o.timing = false;
    if (k->done)
        return 0;
    if (verifier_ask(verifier, &c, &d, e) < 0)
        return -1;
    if (d.record && verdict_in(d.record) < VERDICT_NOT_JUDGED) {
        rc = reverify_note(f, item, d.record, e);
    } else {
        struct str why = d.record ? verdict_error(d.record) : str_of(d.why);

        a->infra = xstrndup(why.p, why.n);
    }
    term_set(f->bar, ++f->done, k->name);
    verifier_answer_release(&d);
    return rc;
}

static int reverify_ask_all(struct reverify *f, struct err *e)
{
    size_t n = recheck_count(f->again);
    int rc;

    for (size_t i = 0; i < n; i++)
        f->before += recheck_at(f->again, i)->done;
    f->done = f->before;
    f->bar = term_open(STDERR_FILENO, n, f->done, "verifying again");
    rc = verifying_all(&f->v->v, cmd_home(f->call, e), n, reverify_one, f, e);
    term_close(f->bar);
    f->bar = NULL;
    return rc;
}

/* ---- the result ---- */

static const char *reverify_state(const struct asked *a,
                                  const struct recheck_kernel *k)
{
    if (!k->done)
        return a->infra ? "infra" : "missing";
    if (k->retired)
        return "retired";
    return a->was_retired ? "restored" : "correct";
}

static void reverify_print(const struct asked *a,
                           const struct recheck_kernel *k, bool as_json)
{
    const char *state = reverify_state(a, k), *why = !k->done     ? a->infra
                                                     : k->retired ? k->why
                                                                  : NULL;

    if (as_json)
        jsn_line(json_pack("{s:s, s:s, s:s, s:s?, s:o}", "name", k->name,
                           "precision", a->precision, "state", state,
                           "retired_on", k->retired ? k->on : NULL, "why",
                           jsn_of(why)));
    else if (k->retired && k->done)
        printf("%s: retired (%s): %s\n", k->name, k->on, why);
    else if (strcmp(state, "correct") != 0)
        printf("%s: %s%s%s\n", k->name, !k->done ? "no verdict" : "restored",
               why ? ": " : "", why ? why : "");
}

static void reverify_summarise(const struct reverify *f, size_t correct,
                               size_t missing)
{
    size_t n = recheck_count(f->again);

    printf("%zu of %zu kernel%s correct; %zu retired and %zu restored now",
           correct, n, n == 1 ? " is" : "s are", f->retired, f->restored);
    if (f->before)
        printf("; %zu had been verified before in this pass", f->before);
    if (missing)
        printf("; %zu without a verdict: run the command again", missing);
    if (f->others)
        printf("; %zu of other packs left alone: use --dsl ID", f->others);
    putchar('\n');
}

/* 0: all are correct; 1: some are not; 4: some have no verdict. */
static int reverify_conclude(const struct reverify *f)
{
    size_t broken = 0, missing = 0, n = recheck_count(f->again);

    for (size_t i = 0; i < n; i++) {
        const struct recheck_kernel *k = recheck_at(f->again, i);

        reverify_print(&f->asked[i], k, f->v->v.json);
        missing += !k->done;
        broken += k->done && k->retired;
    }
    if (!f->v->v.json)
        reverify_summarise(f, n - broken - missing, missing);
    return missing ? verdicts[VERDICT_INFRA].exit_status : broken ? 1 : 0;
}

/* A pack with a mark in it would not load. */
static int reverify_refuse_seeds(const char *dir, struct err *e)
{
    char *pack = fs_join(dir, "../pack.json");
    int rc = 0;

    if (fs_is_file(pack))
        rc = err_set(e, ERR_INPUT,
                     "%s: these are the seeds of a pack; use 'monkeys pack "
                     "check --verify --write ID'",
                     dir);
    free(pack);
    return rc;
}

static int reverify_all(struct reverify *f, struct err *e)
{
    struct buf under = BUF_INIT;
    int rc;

    if (reverify_refuse_seeds(f->dir, e) < 0)
        return -1;
    f->again = recheck_open(f->dir, e);
    if (!f->again)
        return -1;
    if (recheck_count(f->again) == 0) {
        if (!f->v->v.json)
            printf("%s has no verified kernels\n", f->dir);
        return 0;
    }
    f->pack = reverify_load_pack(f, e);
    rc = f->pack ? verifying_choose_for(&f->v->v, f->pack, e) : -1;
    if (rc == 0)
        rc = reverify_describe(f, &under, e);
    if (rc == 0)
        rc =
            recheck_begin(f->again, buf_str(&under), reverify_is_of_pack, f, e);
    if (rc == 0)
        rc = reverify_choose_precisions(f, e);
    if (rc == 0)
        rc = reverify_ask_all(f, e);
    buf_release(&under);
    return rc == 0 ? reverify_conclude(f) : rc;
}

static int reverify_run(struct cmd_call *call, struct err *e)
{
    struct reverify f = {.call = call, .v = call->values};
    struct err late = ERR_INIT;
    int rc;

    if (call->r.rest_len != 1)
        return err_set(e, ERR_USAGE,
                       "give the folder of one run or one archive");
    f.dir = call->r.rest[0];
    if (pg_is_address(f.dir))
        return err_set(e, ERR_USAGE,
                       "a shared archive cannot be verified again: import it "
                       "into a folder with 'monkeys archive import', and "
                       "verify that");
    rc = reverify_all(&f, e);
    for (size_t i = 0; f.asked && i < recheck_count(f.again); i++)
        free(f.asked[i].infra);
    free(f.asked);
    return err_late(e, rc, recheck_close(f.again, &late), &late);
}

static const struct reverify_values reverify_defaults = {
    .v = VERIFYING_DEFAULTS};

const struct cmd cmd_archive_reverify = {
    "archive reverify",
    "DIR",
    "verify the kernels of an archive or a run again",
    "For use after a language or its compiler has changed. A kernel that is\n"
    "broken now is retired: it stays where it is and 'archive list' shows it\n"
    "with the reason, but prompts no longer show it and 'archive export' "
    "leaves\n"
    "it out. A retired kernel that passes again is restored. Kernels that "
    "were\n"
    "never verified are left alone, and a verifier that fails retires "
    "nothing.\n"
    "If it is interrupted, the same command continues where it stopped.\n"
    "Exit status: 1 if a kernel is broken, 4 if at least one has no verdict "
    "yet.",
    reverify_table,
    reverify_run,
    sizeof(struct reverify_values),
    &reverify_defaults,
};
