/* tap.h: the whole test framework. Suites are functions that main.c runs; each
 * claim is one ok() line in TAP. */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdbool.h>

/* Prints "ok N - what" or "not ok N - what" with the place; returns `pass`. */
bool tap_ok(bool pass, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool tap_is(const char *got, const char *want, const char *file, int line,
            const char *what);
void tap_skip(const char *what, const char *why);

/* The head of a suite: SUITE(http) in test_http.c. */
#define SUITE(name)          \
    void suite_##name(void); \
    void suite_##name(void)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define ok(pass, ...)       tap_ok((pass), __FILE__, __LINE__, __VA_ARGS__)
#define is(got, want, what) tap_is((got), (want), __FILE__, __LINE__, (what))

#endif
