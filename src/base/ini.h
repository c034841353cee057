/* ini.h: INI files: [section] lines, `name = value` lines, and lines that start
 * with # or ; and say nothing. A value is the rest of its line, of any length,
 * without the blanks around it. */
#ifndef BASE_INI_H
#define BASE_INI_H

#include "base/err.h"
#include "base/str.h"

/* Called for each `name = value`; the strings are gone when it returns. An
 * error it fills gets the place in front. */
typedef int ini_fn(const char *section, const char *name, const char *value,
                   void *arg, struct err *e);

/* Reads the file; an error names file and line. */
int ini_read(const char *path, ini_fn *fn, void *arg, struct err *e);

#endif
