/* proc_stat.c: the line, cut behind the name. */
#include "worker/proc_stat.h"

#include <stdio.h>
#include <string.h>

const char *proc_stat(pid_t pid, char *line, size_t cap)
{
    char path[64];
    const char *name_end;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    f = fopen(path, "re");
    if (!f)
        return NULL;
    /* The name, in brackets, may hold anything. */
    name_end = fgets(line, (int)cap, f) ? strrchr(line, ')') : NULL;
    fclose(f);
    return name_end ? name_end + 1 : NULL;
}
