/* ini.h: INI files: [section] lines, `name = value` lines, and comments that start
 * with # or ;. A value is the rest of its line without the blanks around it. */
#ifndef BASE_INI_H
#define BASE_INI_H

#include "base/err.h"
#include "base/str.h"

/* Called for each `name = value`; the strings are valid until it returns. The
 * file and the line are added to an error that it fills. */
typedef int ini_fn(const char *section, const char *name, const char *value,
                   void *arg, struct err *e);

/* Reads the file; an error names file and line. */
int ini_read(const char *path, ini_fn *fn, void *arg, struct err *e);

#endif
