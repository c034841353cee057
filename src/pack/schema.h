/* schema.h: checks JSON files against tables and reports every difference. An
 * unknown field is also an error: otherwise a misspelt one would be silently
 * ignored. */
#ifndef PACK_SCHEMA_H
#define PACK_SCHEMA_H

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- all problems with a set of files, so that an author can fix them in one go. A line
 * reads `FILE: /json/pointer: what is wrong; what to do` ---- */

#define PROBLEMS_MAX 100 /* kept; the rest are only counted */

struct problems {
    char **line;
    size_t len, cap;
    size_t more; /* how many were not kept */
};

void problems_init(struct problems *p); /* allocates nothing */
void problems_release(struct problems *p);
void problems_add(struct problems *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Sets the error to the first line and the number of further lines. Returns
 * -1. */
int problems_to_err(const struct problems *p, struct err *e);

/* ---- schemas ---- */

enum schema_type {
    SCHEMA_STRING,
    SCHEMA_INT,
    SCHEMA_BOOL,
    SCHEMA_LIST,   /* of `element` */
    SCHEMA_OBJECT, /* with `fields` */
    SCHEMA_MAP,    /* from any name to `element` */
};

struct schema_field;

struct schema {
    enum schema_type type;
    bool unique;                /* list of strings: no duplicates */
    const char *const *choices; /* string: one of these */
    size_t choice_count;
    int64_t min, max;    /* range of a number, otherwise the length; max 0: no
                            limit */
    const char *pattern; /* string, name in a map: must match entirely */
    const struct schema_field *fields; /* ends with a NULL name */
    const struct schema *element;
    const char *remedy; /* what to write instead, or NULL */
};

struct schema_field {
    const char *name;
    bool optional;
    struct schema value;
};

/* Adds a line to `out` for each problem with `v`. Returns true if there are
 * none. */
bool schema_check(const struct schema *s, const json_t *v, const char *file,
                  struct problems *out);

/* The index of the choice in a field that schema_check() has accepted. */
size_t schema_choice(const json_t *object, const char *field,
                     const char *const *choices, size_t count);

#endif
