/* fs.h: whole files and folders. Errors name the path. */
#ifndef BASE_FS_H
#define BASE_FS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends the file to `b`; a file past the buffer's limit is ERR_LIMIT, one
 * that is not a regular file (a folder, a device) is ERR_INPUT. "-" is stdin. */
int fs_read(const char *path, struct buf *b, struct err *e);
int fs_write_all(int fd, const void *p, size_t n, struct err *e);
/* Replaces the contents of `path`, or leaves the file as it was. A device or pipe
 * is written to, and stays what it is. */
int fs_replace(const char *path, const void *data, size_t n, struct err *e);
/* The same for one of many files: it does not wait until the file is on disk, so
 * only a crash of the machine can lose it. */
int fs_replace_later(const char *path, const void *data, size_t n,
                     struct err *e);
int fs_mkdirs(const char *path, struct err *e);

bool fs_is_dir(const char *path);
bool fs_is_file(const char *path);

/* The names in a folder, sorted by byte, without "." and "..". With `missing_ok` a
 * folder that does not exist is empty. */
struct fs_names {
    char **name;
    size_t len, cap;
};
int fs_list(const char *dir, bool missing_ok, struct fs_names *out,
            struct err *e);
void fs_names_release(struct fs_names *n);
/* Removes a folder, if it is there, and what can be removed of its contents. A link is
 * removed, not followed. */
void fs_remove_tree(const char *dir);

/* A new folder, or file, that appears whole or not at all: it is filled under another
 * name, and renamed at the end. */
struct fs_fresh {
    const char *to; /* borrowed */
    char *dir;      /* where to write; NULL: there is nothing to remove */
};
/* ERR_INPUT when `to` exists, unless it is one that is to be replaced. */
int fs_fresh_begin(struct fs_fresh *f, const char *to, bool replace,
                   struct err *e);
/* The folder gets its name. */
int fs_fresh_end(struct fs_fresh *f, struct err *e);
/* Moves one of its files to a name outside of it. */
int fs_fresh_move(struct fs_fresh *f, const char *name, const char *to,
                  struct err *e);
/* Removes what was not ended; else does nothing. */
void fs_fresh_drop(struct fs_fresh *f);

char *fs_join(const char *dir, const char *name); /* the caller frees */
/* The last part of a path, borrowed. */
const char *fs_base(const char *path);

#endif
