/* cmd_archive_add.c: monkeys archive add: puts a user's kernel into an archive
 * once the verifier has found it correct. */
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "pack/pack.h"
#include "run/archives.h"
#include "run/kernel.h"
#include "store/pg.h"
#include "verify/verdict.h"
#include "verify/verifying.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_TEXT ((size_t)8 << 20)

struct add_values {
    struct verifying_values v; /* first */
    const char *dsl, *task, *plan, *out, *origin, *licence;
    struct opt_list define;
};

#define VALUES struct add_values
static const struct opt add_table[] = {
    {"dsl", 0, OPT_TEXT, "ID", "the pack (required)", AT(dsl)},
    {"task", 0, OPT_TEXT, "TASK",
     "the task: a file, or COLLECTION/NAME of one that comes with the program "
     "(required)",
     AT(task)},
    DEFINE_OPTION(VALUES, define),
    {"plan", 0, OPT_TEXT, "FILE", "the plan that the kernel was written from",
     AT(plan)},
    {"output", 'o', OPT_TEXT, "DIR", "the folder of the archive (required)",
     AT(out)},
    {"origin", 0, OPT_TEXT, "TEXT",
     "where the kernel comes from (default: added by hand)", AT(origin)},
    {"licence", 0, OPT_TEXT, "NAME", "the kernel's licence (default: not said)",
     AT(licence)},
    VERIFYING_OPTIONS,
    {0},
};

struct adding {
    const struct add_values *v;
    const struct pack *pack;
    struct task *task;
    struct buf solution, plan;
    const char *precision;
    json_t *record;
};

static int add_judge(struct verifier *verifier, size_t item, void *arg,
                     struct err *e)
{
    struct adding *a = arg;
    struct job_opts job = verifying_job(&a->v->v, a->precision);
    struct candidate c = {.pack = a->pack,
                          .task = a->task,
                          .code = buf_view(&a->solution),
                          .attempt = 1,
                          .job = &job};
    struct verifier_answer d = {0};
    int rc;

    (void)item;
    job.timing = false;
    job.gate = true;
    rc = verifier_ask(verifier, &c, &d, e);
    if (rc == 0 && !d.record)
        rc = err_set(e, ERR_SYSTEM, "%s", d.why);
    a->record = json_incref(d.record);
    verifier_answer_release(&d);
    return rc;
}

static int add_read(struct cmd_call *call, struct adding *a, const char *file,
                    struct err *e)
{
    const struct add_values *v = a->v;

    if (!v->dsl || !v->task || !v->out)
        return err_set(e, ERR_USAGE, "give --dsl ID, --task TASK and -o DIR");
    a->pack = cmd_pack(call, &v->v.packs, v->dsl, e);
    a->precision = a->pack ? verifying_precision(&v->v, a->pack, e) : NULL;
    if (!a->precision)
        return -1;
    a->task = cmd_task(call, v->task, &v->define, e);
    if (!a->task || fs_read(file, &a->solution, e) < 0 ||
        (v->plan && fs_read(v->plan, &a->plan, e) < 0))
        return -1;
    return 0;
}

/* Before the verifier is asked. */
static int add_check_place(const struct adding *a, struct err *e)
{
    struct map known = {0};
    int rc = -1;

    if (pg_is_address(a->v->out))
        return err_set(e, ERR_USAGE,
                       "add the kernel to a folder, then 'monkeys archive "
                       "import' that folder into the shared archive");
    if (!fs_is_dir(a->v->out) && access(a->v->out, F_OK) == 0)
        return err_set(e, ERR_INPUT, "%s: not a folder", a->v->out);
    if (archives_known(a->v->out, &known, e) == 0) {
        if (map_get(&known, str_of(a->task->hash)))
            err_set(e, ERR_INPUT, "%s already has a kernel for %s", a->v->out,
                    a->task->id);
        else
            rc = 0;
    }
    map_release(&known);
    return rc;
}

static int add_join(struct adding *a, const char *name, struct err *e)
{
    struct kernel k = {.name = name,
                       .task = a->task,
                       .solution = buf_view(&a->solution),
                       .origin = a->v->origin ? a->v->origin : "added by hand",
                       .licence = a->v->licence ? a->v->licence : "not said",
                       .dtype = a->precision,
                       .dsl = a->pack->id,
                       .verified = true,
                       .rules = VERDICT_RULES};
    char *on = xasprintf("%s, %s, evidence %s", a->v->v.device, a->precision,
                         jsn_str(a->record, "evidence"));
    int rc;

    k.verified_on = on;
    k.ported_why = jsn_str(a->record, "ported_why");
    k.judged = kernel_judged(a->record);
    if (jsn_str(a->record, "ported")[0])
        k.ported = str_of(jsn_str(a->record, "ported"));
    if (a->v->plan)
        k.plan = buf_view(&a->plan);
    rc = kernel_write(a->v->out, &k,
                      (struct str){a->task->source, a->task->len}, e);
    json_decref(k.judged);
    free(on);
    return rc;
}

static void add_print(const struct adding *a, const char *file,
                      const char *name)
{
    const char *verdict = jsn_str(a->record, "verdict"),
               *evidence = jsn_str(a->record, "evidence"),
               *feedback = jsn_str(a->record, "feedback");

    if (a->v->v.json)
        jsn_line(json_pack("{s:o, s:b, s:s, s:s, s:s, s:s?}", "file",
                           jsn_of(file), "added", name != NULL, "verdict",
                           verdict, "evidence", evidence, "feedback", feedback,
                           "name", name));
    else if (name)
        printf("%s: added as %s/%s\n", file, a->v->out, name);
    else
        printf("%s: %s %s: not added\n    %s\n", file, verdict, evidence,
               feedback);
}

/* 0: it was added, 1: it is not correct, 4: there is no verdict yet. */
static int add_kernel(struct cmd_call *call, struct adding *a, const char *file,
                      struct err *e)
{
    char *plain, *name;
    int rc;

    if (add_read(call, a, file, e) < 0 || add_check_place(a, e) < 0 ||
        verifying_all(&a->v->v, cmd_home(call, e), 1, add_judge, a, e) < 0)
        return -1;
    if (!a->record)
        return 4;
    if (!verdict_may_join(jsn_str(a->record, "verdict"),
                          jsn_str(a->record, "evidence"))) {
        add_print(a, file, NULL);
        return verdict_in(a->record) >= VERDICT_NOT_JUDGED
                   ? verdicts[VERDICT_INFRA].exit_status
                   : 1;
    }
    plain = kernel_name(a->task->id);
    name = kernel_free_name(a->v->out, plain);
    rc = add_join(a, name, e);
    if (rc == 0)
        add_print(a, file, name);
    free(name);
    free(plain);
    return rc;
}

static int add_run(struct cmd_call *call, struct err *e)
{
    struct add_values *v = call->values;
    struct adding a = {.v = v};
    int rc;

    if (call->r.rest_len != 1)
        return err_set(e, ERR_USAGE, "exactly one kernel FILE is needed");
    if (verifying_choose_device(&v->v, e) < 0)
        return -1;
    buf_init(&a.solution, MAX_TEXT);
    buf_init(&a.plan, MAX_TEXT);
    rc = add_kernel(call, &a, call->r.rest[0], e);
    json_decref(a.record);
    buf_release(&a.solution);
    buf_release(&a.plan);
    return rc;
}

static const struct add_values add_defaults = {.v = VERIFYING_DEFAULTS};

const struct cmd cmd_archive_add = {
    "archive add",
    "FILE",
    "verify a kernel and add it to an archive",
    "The kernel is added only if the verifier finds it correct with evidence "
    "E3\n"
    "(computed by its kernels alone), for a task that 'tasks check' accepts.\n"
    "Exit status: 1 if it was not added, 4 if there is no verdict yet.",
    add_table,
    add_run,
    sizeof(struct add_values),
    &add_defaults,
};
