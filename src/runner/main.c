/* main.c: monkeys-runner, which holds data and runs compiled kernels on it. The
 * process contains only libc: no Python, no torch, no BLAS. */
#include "base/opt.h"
#include "base/version.h"
#include "runner/serve.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define JUDGE 3 /* the socket's descriptor */

struct values {
    const char *device;
};

static const struct opt table[] = {
    {"device", 0, OPT_CHOICE, "cpu|cuda", "where plans are executed (cpu)",
     offsetof(struct values, device), 0, 0},
    {0},
};

static void print_help(void)
{
    struct buf help;

    buf_init(&help, 16384);
    buf_puts(&help, "usage: monkeys-runner [options]\n\nExecutes the plans of "
                    "a judge, which asks through the socket that is\n"
                    "descriptor 3. Started by monkeys-worker.\n\n");
    opt_help(table, &help);
    fputs(buf_str(&help), stdout);
    buf_release(&help);
}

int main(int argc, char **argv)
{
    struct values v = {.device = "cpu"};
    struct opt_result r;
    struct err e = ERR_INIT;
    int rc = opt_parse(table, &v, argc, argv, &r, &e);

    /* Inherited descriptors would be open to a candidate's library. */
    close_range(JUDGE + 1, UINT_MAX, 0);
    if (rc == 0 && r.common.help)
        print_help();
    else if (rc == 0 && r.common.version)
        puts("monkeys-runner " MONKEYS_VERSION);
    else if (rc == 0 &&
             runner_serve(JUDGE, strcmp(v.device, "cpu") ? &device_cuda
                                                         : &device_cpu) < 0)
        rc = err_set(&e, ERR_INPUT, "descriptor %d does not speak as a judge",
                     JUDGE);
    opt_result_release(&r);
    if (rc < 0) {
        fprintf(stderr, "monkeys-runner: %s\n", e.text);
        return err_exit_status(&e);
    }
    return 0;
}
