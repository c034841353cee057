/* py_strip.h: a Python source without what is written for readers. */
#ifndef FACTS_PY_STRIP_H
#define FACTS_PY_STRIP_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>

/* The source without comments, without strings that stand alone as statements
 * and without the blank lines these leave; a suite that would be empty gets a
 * `pass`. With `cxx` the comments of C or C++ source in triple-quoted strings
 * go, too. The program does what it did. Text that cannot be tokenized is
 * returned as it is. */
struct str py_strip(struct str code, bool cxx, struct arena *a);

#endif
