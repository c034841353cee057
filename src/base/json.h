/* json.h: additions to jansson: errors with file, line and column, a depth limit,
 * and one object per line on stdout. Values are jansson's (json_t, reference
 * counted); the names here start with `jsn_`. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A new reference, or NULL with "FILE:LINE:COLUMN: what". `name` is only for
 * the error. Duplicate keys and nesting past 64 levels are errors. */
json_t *jsn_parse(const char *name, const char *text, size_t n, struct err *e);
/* The same, but strings may have NULs: use their lengths. */
json_t *jsn_parse_nul(const char *name, const char *text, size_t n,
                      struct err *e);
/* As jsn_parse() for an answer that was paid for, so as lenient as possible: the last
 * of duplicate keys counts; bytes that are not UTF-8, NULs and halves of
 * surrogate pairs become U+FFFD. */
json_t *jsn_parse_foreign(const char *name, const char *text, size_t n,
                          struct err *e);
/* The same for a part of a file that begins on `line` of it. */
json_t *jsn_parse_part(const char *name, size_t line, const char *text,
                       size_t n, struct err *e);
json_t *jsn_read(const char *path, struct err *e); /* at most 16 MiB */

/* A string member, borrowed; "", or NULL, when there is none. */
const char *jsn_str(const json_t *object, const char *key);
const char *jsn_maybe(const json_t *object, const char *key);
/* Other members: false or 0 when there is none of that type. */
bool jsn_true(const json_t *object, const char *key);
json_int_t jsn_int(const json_t *object, const char *key);
double jsn_num(const json_t *object, const char *key); /* also an integer */

/* Writes `v` and a newline to stdout; takes the reference. */
void jsn_line(json_t *v);
/* Replaces a file by `v` and a newline; `flags` are those of json_dumps(). */
int jsn_write(const char *path, const json_t *v, size_t flags, struct err *e);
/* The one text of a value: compact, keys in order; byte for byte what jansson's
 * JSON_COMPACT | JSON_SORT_KEYS gives, many times as fast where strings are long.
 * The caller frees it. */
char *jsn_canonical(const json_t *v);
/* A JSON string of bytes that may not be UTF-8: bad ones become U+FFFD. */
json_t *jsn_text(const char *p, size_t n);
json_t *jsn_of(const char *s); /* the same; null for NULL */

#endif
