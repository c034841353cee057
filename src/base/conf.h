/* conf.h: INI files: [section] lines, `name = value` lines, and comments that start
 * with # or ;. A value is the rest of its line without the blanks around it. */
#ifndef BASE_CONF_H
#define BASE_CONF_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"

/* Called for each `name = value`; the strings are valid until it returns. The
 * file and the line are added to an error that it fills. */
typedef int ini_fn(const char *section, const char *name, const char *value,
                   void *arg, struct err *e);

/* Reads the file; an error names file and line. */
int ini_read(const char *path, ini_fn *fn, void *arg, struct err *e);

/* ---- a configuration file is an INI file whose sections are commands and
 * whose lines are options of those commands. */

/* Sets every option in section `section` of `path` and ignores other sections.
 * Values live in `a`. An error names the file and the line. */
int conf_apply(const char *path, const char *section, const struct opt *table,
               void *into, struct arena *a, struct err *e);
/* Writes the values as a section that conf_apply() can read. No value may contain
 * a newline. Numbers out of range mean "not given" and are left out. */
void conf_write(const char *section, const struct opt *table,
                const void *values, struct buf *out);

#endif
