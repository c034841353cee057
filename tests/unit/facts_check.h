/* facts_check.h: claims about the facts and cxx views of a Python text. The
 * language is one called `lang`: kernels are made by @lang.jit, opened by
 * lang.core.Kernel and built by helper.build. */
#ifndef TESTS_FACTS_CHECK_H
#define TESTS_FACTS_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* One claim: each line of `shows` is among the facts, no line of `hides` is. */
struct facts_row {
    const char *claim, *source, *shows, *hides;
};

/* Where the source of a row stands. */
enum facts_place {
    PLACE_FILE,    /* it is the whole file */
    PLACE_FORWARD, /* the body of ModelNew.forward(self, x, w) */
};

void facts_rows(const struct facts_row *rows, size_t count,
                enum facts_place place);
/* The views of a text, until the next call. */
const char *facts_of(const char *source);
const char *cxx_of(const char *source);
/* Whether every line has the form of a fact and every origin is in the text. */
bool facts_sound(const char *source);

#endif
