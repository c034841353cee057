/* key.h: the file with the secret that a run shares with its workers. Only its
 * owner may read it; it is never on a command line. */
#ifndef IO_KEY_H
#define IO_KEY_H

#include "base/err.h"

#define KEY_TEXT 65 /* 64 hexadecimal digits and the NUL */

/* Reads it. A file that others may read or write is refused. */
int key_read(const char *path, char out[KEY_TEXT], struct err *e);
/* Reads it, or makes a new one if there is none. */
int key_make(const char *path, char out[KEY_TEXT], struct err *e);

#endif
