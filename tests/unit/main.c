/* main.c: runs every suite, or those whose name contains an argument. The
 * suites are found by the Makefile: tests/unit/test_NAME.c has suite_NAME(). */
#include "base/log.h"
#include "tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SUITE(name) void suite_##name(void);
#include "suites.inc"
#undef SUITE

static const struct {
    const char *name;
    void (*run)(void);
} suites[] = {
#define SUITE(name) {#name, suite_##name},
#include "suites.inc"
#undef SUITE
};

static int count, failed;

bool tap_ok(bool pass, const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    printf("%sok %d - ", pass ? "" : "not ", ++count);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    if (!pass) {
        failed++;
        printf("# failed at %s:%d\n", file, line);
    }
    fflush(stdout);
    return pass;
}

bool tap_is(const char *got, const char *want, const char *file, int line,
            const char *what)
{
    bool same = got && want && strcmp(got, want) == 0;

    tap_ok(same, file, line, "%s", what);
    if (!same)
        printf("# expected: %s\n# got:      %s\n", want ? want : "(null)",
               got ? got : "(null)");
    return same;
}

void tap_skip(const char *what, const char *why)
{
    printf("ok %d - %s # SKIP %s\n", ++count, what, why);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
        bool wanted = argc < 2;

        for (int a = 1; a < argc; a++)
            wanted = wanted || strstr(suites[i].name, argv[a]);
        if (!wanted)
            continue;
        /* whatever the one before has left */
        log_set_level(LOG_INFO);
        log_set_writer(NULL, NULL);
        suites[i].run();
    }
    printf("1..%d\n", count);
    return failed ? 1 : 0;
}
