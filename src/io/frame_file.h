/* frame_file.h: a file of frames, as jobs and answers travel between hosts.
 *
 * One process appends to it, any number read it, also meanwhile. */
#ifndef IO_FRAME_FILE_H
#define IO_FRAME_FILE_H

#include "io/frame.h"

/* 0, or -1 to stop with an error. */
typedef int frame_file_fn(const struct frame *f, void *arg, struct err *e);

/* Calls `fn` for every whole frame. A file that is not there has none. */
int frame_file_read(const char *path, frame_file_fn *fn, void *arg,
                    struct err *e);
/* Opens it for appending, for this process alone, and calls `fn` for what it has.
 * A frame that was cut (a full disk, a crash) is taken off: it would spoil those
 * behind it. The descriptor, for frame_write, or -1. */
int frame_file_open(const char *path, frame_file_fn *fn, void *arg,
                    struct err *e);

#endif
