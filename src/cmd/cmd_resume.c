/* cmd_resume.c: monkeys resume: continue a run. */
#include "base/conf.h"
#include "cmd/cmd.h"
#include "cmd/running.h"

#undef MODELING_AT
#define MODELING_AT offsetof(struct run_settings, model)

/* Options that do not change what a run decides may be given again. */
static const struct opt resume_table[] = {
    {"no-wait", 0, OPT_FLAG, NULL,
     "do not wait for answers in the --spool folder: end when nothing else is "
     "left",
     offsetof(struct run_settings, no_wait), 0, 0},
    RUN_SERVE_OPTION,
    VERIFYING_OPTION("verifier", OPT_TEXT, "local|tcp=HOST:PORT|jobs=DIR",
                     "as in 'monkeys run'", verifier, 0, 0),
    VERIFYING_WORKER_OPTIONS,
    VERIFYING_OPTION("children", OPT_INT, "N", "candidates verified at once",
                     children, 0, 256),
    VERIFYING_OPTION("json", OPT_FLAG, NULL, "print a JSON object per task",
                     json, 0, 0),
    MODELING_OPTIONS,
    {0},
};

/* run.ini first, then the command line. */
static int read_run(struct cmd_call *call, int argc, char **argv,
                    struct run_settings *s, struct err *e)
{
    struct run_settings again = {0};
    struct cmd_call quiet = {.cmd = call->cmd, .values = &again};
    int rc = cmd_begin(&quiet, argc, argv, sizeof(again), e);

    if (rc == 0 && quiet.r.rest_len != 1)
        rc = err_set(e, ERR_USAGE, "give the folder of one run");
    if (rc == 0) {
        rc = run_settings_read(quiet.r.rest[0], s, &call->arena, e);
        s->spool_before = s->model.spool;
        modeling_renew(&s->model, &again.model);
        if (rc == 0 && quiet.r.common.config)
            rc = conf_apply(quiet.r.common.config, "resume", resume_table, s,
                            &call->arena, e);
    }
    cmd_end(&quiet);
    return rc;
}

static int run_resume(const struct cmd *c, int argc, char **argv, struct err *e)
{
    struct run_settings s = run_defaults;
    struct cmd_call call = {.cmd = c, .values = &s};
    int rc;

    arena_init(&call.arena);
    rc = read_run(&call, argc, argv, &s, e);
    if (rc == 0)
        rc = opt_parse(resume_table, &s, argc, argv, &call.r, e);
    if (rc == 0) {
        s.out = call.r.rest[0];
        rc = running(&s, RUN_RESUME, e);
    } else if (rc > 0) {
        rc = 0;
    }
    opt_release(run_table, &s);
    opt_result_release(&call.r);
    arena_release(&call.arena);
    return rc;
}

extern const struct cmd cmd_resume;
const struct cmd cmd_resume = {
    "resume",
    "DIR",
    "continue a run after a stop, a crash or a kill",
    "The result is the same as if the run had not been interrupted (with\n"
    "--order eager it depends on when replies come): stored replies and\n"
    "verdicts are not asked for again. Tasks are as they were when the run\n"
    "began, even if their files have been changed or removed. Options come\n"
    "from DIR/run.ini; those below may be given again, such as a higher\n"
    "--budget-usd or another endpoint. A budget counts from the start of the\n"
    "run, not from now.",
    resume_table,
    run_resume,
};
