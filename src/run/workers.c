/* workers.c: the workers of a run, from the file that it keeps of them. */
#include "base/fs.h"
#include "run/view.h"
#include "verify/roster.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int64_t run_view_workers_at(const char *dir)
{
    char *path = fs_join(dir, ROSTER_FILE);
    struct stat st;
    int64_t at = 0;

    if (stat(path, &st) == 0)
        at = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    free(path);
    return at;
}

/* Nobody is left who could have said so after a run was killed. */
static void let_go(json_t *workers)
{
    json_t *w;
    size_t i;

    json_array_foreach(workers, i, w)
    {
        const char *state = jsn_str(w, "state");

        if (strcmp(state, roster_states[ROSTER_IDLE]) != 0 &&
            strcmp(state, roster_states[ROSTER_BUSY]) != 0)
            continue;
        json_object_set_new(w, "state",
                            json_string(roster_states[ROSTER_LEFT]));
        json_object_set_new(w, "tasks", json_null());
    }
}

json_t *run_view_workers(const struct run_view *v, struct err *e)
{
    json_t *all = roster_read(v->dir, e);

    if (all && v->pid == 0)
        let_go(json_object_get(all, "workers"));
    return all;
}
