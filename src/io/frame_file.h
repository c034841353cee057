/* frame_file.h: a file of frames, as jobs and answers travel between hosts.
 *
 * One process appends to it; any number may read it at the same time. */
#ifndef IO_FRAME_FILE_H
#define IO_FRAME_FILE_H

#include "io/frame.h"

/* 0, or -1 to stop with an error. */
typedef int frame_file_fn(const struct frame *f, void *arg, struct err *e);

/* Calls `fn` for every complete frame. A missing file has none. */
int frame_file_read(const char *path, frame_file_fn *fn, void *arg,
                    struct err *e);
/* Opens the file for appending, locked, and calls `fn` for each frame in it. An
 * incomplete last frame (a full disk, a crash) is removed. Returns a descriptor
 * for frame_write(), or -1. */
int frame_file_open(const char *path, frame_file_fn *fn, void *arg,
                    struct err *e);

#endif
