/* book_stream.h: the objects of a JSON file, one at a time: the items of one
 * array, or JSON Lines. Memory is bounded by the largest object, whatever the
 * size of the file. The file is untrusted. */
#ifndef DATA_BOOK_STREAM_H
#define DATA_BOOK_STREAM_H

#include "base/buf.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define BOOK_STREAM_ROW ((size_t)16 << 20) /* bytes of an object */

struct book_stream {
    FILE *in;         /* the caller's */
    const char *name; /* of the file, for errors; the caller's */
    bool begun, array, ended;
    size_t rows, line; /* objects so far; the current line, from 1 */
    uint64_t bytes;    /* read so far */
    struct buf text;
    char *chunk;
    size_t at, len; /* of the chunk */
};

void book_stream_init(struct book_stream *s, FILE *in, const char *name);
void book_stream_release(struct book_stream *s);

/* The next object, which the caller owns; NULL at the end, and on an error, which
 * has the file's name and a line. */
json_t *book_stream_next(struct book_stream *s, struct err *e);

#endif
