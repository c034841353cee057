/* banned.h: functions nobody here may call. Included by the compiler's command
 * line in front of every file, so that a slip is a compile error. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef sprintf /* a macro under clang with _FORTIFY_SOURCE */
#undef vsprintf
#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets strtok
#pragma GCC poison strerror gmtime localtime ctime asctime atoi atol atoll atof
#pragma GCC poison tmpnam tempnam mktemp

#endif
