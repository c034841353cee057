/* pack_find.c: finds packs in a search path. */
#include "base/fs.h"
#include "base/mem.h"
#include "pack/pack.h"

#include <stdlib.h>
#include <string.h>

static bool pack_find_is_listed(const struct pack_list *l, const char *id)
{
    for (size_t i = 0; i < l->len; i++)
        if (strcmp(l->item[i].id, id) == 0)
            return true;
    return false;
}

static bool is_pack(const char *dir)
{
    char *file = fs_join(dir, "pack.json");
    bool yes = fs_is_file(file);

    free(file);
    return yes;
}

static int pack_find_add(const char *root, struct pack_list *out, struct err *e)
{
    struct fs_names names;

    if (fs_list(root, false, &names, e) < 0)
        return -1;
    for (size_t i = 0; i < names.len; i++) {
        char *dir = fs_join(root, names.name[i]);

        if (pack_find_is_listed(out, names.name[i]) || !is_pack(dir)) {
            free(dir);
            continue;
        }
        out->item = xgrow(out->item, &out->cap, out->len, sizeof(*out->item));
        out->item[out->len].id = xstrdup(names.name[i]);
        out->item[out->len++].dir = dir;
    }
    fs_names_release(&names);
    return 0;
}

static int pack_find_by_id(const void *a, const void *b)
{
    /* The id is the first member. */
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int pack_list(const struct pack_path *path, struct pack_list *out,
              struct err *e)
{
    *out = (struct pack_list){0};
    for (size_t i = 0; i < path->len; i++) {
        if (pack_find_add(path->dir[i], out, e) < 0) {
            pack_list_release(out);
            return -1;
        }
    }
    if (out->len)
        qsort(out->item, out->len, sizeof(*out->item), pack_find_by_id);
    return 0;
}

void pack_list_release(struct pack_list *l)
{
    for (size_t i = 0; i < l->len; i++) {
        free(l->item[i].id);
        free(l->item[i].dir);
    }
    free(l->item);
    *l = (struct pack_list){0};
}

static void pack_find_unknown(const struct pack_list *l, const char *id,
                              struct err *e)
{
    const char **names = xcalloc(l->len, sizeof(*names));
    const char *near;
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i < l->len; i++) {
        names[i] = l->item[i].id;
        buf_printf(&b, "%s%s", i ? ", " : "", names[i]);
    }
    near = str_nearest(id, names, l->len);
    if (near)
        err_set(e, ERR_USAGE, "unknown pack \"%s\"; did you mean \"%s\"?", id,
                near);
    else
        err_set(e, ERR_USAGE, "unknown pack \"%s\"; the packs are: %s", id,
                l->len ? buf_str(&b) : "none");
    buf_release(&b);
    free(names);
}

char *pack_find(const struct pack_path *path, const char *id, struct err *e)
{
    struct pack_list l;
    char *dir = NULL;

    if (pack_list(path, &l, e) < 0)
        return NULL;
    for (size_t i = 0; i < l.len && !dir; i++)
        if (strcmp(l.item[i].id, id) == 0)
            dir = xstrdup(l.item[i].dir);
    if (!dir)
        pack_find_unknown(&l, id, e);
    pack_list_release(&l);
    return dir;
}
