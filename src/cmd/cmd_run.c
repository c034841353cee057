/* cmd_run.c: monkeys run: port a collection. */
#include "cmd/cmd.h"
#include "cmd/running.h"

static int run_run(const struct cmd *c, int argc, char **argv, struct err *e)
{
    struct run_settings s = run_defaults;
    struct cmd_call call = {.cmd = c, .values = &s};
    int rc = cmd_begin(&call, argc, argv, sizeof(s), e);

    if (rc == 0 && call.r.rest_len)
        rc = err_set(e, ERR_USAGE, "'%s': give tasks with --tasks",
                     call.r.rest[0]);
    else if (rc == 0)
        rc = s.dry_run ? running_estimate(&s, e) : running(&s, RUN_NEW, e);
    else if (rc > 0)
        rc = 0;
    cmd_end(&call);
    return rc;
}

extern const struct cmd cmd_run;
const struct cmd cmd_run = {
    "run",
    "",
    "port a collection of PyTorch programs to a DSL with a language model",
    "Every unsolved task is tried again and again; each answer is verified,\n"
    "and each solved kernel becomes an example for the others. All of the run\n"
    "is kept in one folder: 'monkeys resume DIR' continues it after a stop, a\n"
    "crash or a kill, and 'monkeys archive export DIR' writes its kernels as\n"
    "files.\n"
    "To repeat a run, record it (--record FILE), then run the same command "
    "with\n"
    "--cassette FILE --replay-strict: the same answers are verified on the "
    "same\n"
    "test inputs, so that the same feedback enters the same prompts. Such a\n"
    "repetition is no new evidence; without --replay-strict the recorded\n"
    "answers are verified on new inputs.\n"
    "Exit status 0: every task is solved or has used its attempts (or the\n"
    "rest waits for another host, or for answers in the --spool folder), 3:\n"
    "the budget is used up, 4: the machinery failed, 130: stopped.",
    run_table,
    run_run,
};
