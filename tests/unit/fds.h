/* fds.h: how many descriptors this process has open, to find leaks. */
#ifndef TESTS_FDS_H
#define TESTS_FDS_H

#include "base/fs.h"

static inline size_t fds_open(void)
{
    struct fs_names names = {0};
    struct err e = ERR_INIT;
    size_t n;

    if (fs_list("/proc/self/fd", false, &names, &e) < 0)
        return 0;
    n = names.len - 1; /* the folder itself */
    fs_names_release(&names);
    return n;
}

#endif
