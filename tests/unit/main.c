/* main.c: runs every suite, or those whose name contains an argument. K/N is
 * the K-th of N parts, each with every N-th suite. The suites are found by the
 * Makefile: tests/unit/test_NAME.c has SUITE(NAME). */
#include "base/log.h"
#include "scratch.h"
#include "tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef SUITE
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

static bool names(const char *arg, size_t suite)
{
    unsigned k, n;

    if (sscanf(arg, "%u/%u", &k, &n) == 2 && n)
        return suite % n == k - 1;
    return strstr(suites[suite].name, arg);
}

int main(int argc, char **argv)
{
    size_t ran = 0;

    for (size_t i = 0; i < COUNT(suites); i++) {
        bool wanted = argc < 2;

        for (int a = 1; a < argc; a++)
            wanted = wanted || names(argv[a], i);
        if (!wanted)
            continue;
        /* whatever the one before has left */
        log_set_level(LOG_INFO);
        log_set_writer(NULL, NULL);
        suites[i].run();
        scratch_end();
        ran++;
    }
    if (!ran) {
        fprintf(stderr, "unit: no suite is named %s\n", argv[1]);
        return 1;
    }
    printf("1..%d\n", count);
    return failed ? 1 : 0;
}
