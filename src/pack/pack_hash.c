/* pack_hash.c: hashes the names and contents of a pack's files and of the files
 * it extends, in the same order on every machine. */
#include "base/fs.h"
#include "base/mem.h"
#include "pack/pack_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 8
#define FILES_MAX 10000
#define FILE_MAX  ((size_t)64 << 20)

struct entry {
    const char *name; /* relative to the folder that holds the packs */
    const char *path;
};

struct entries {
    struct arena *a;
    struct entry *entry;
    size_t len, cap;
};

static void pack_hash_add_entry(struct entries *all, const char *name,
                                const char *path)
{
    all->entry = xgrow(all->entry, &all->cap, all->len, sizeof(*all->entry));
    all->entry[all->len++] = (struct entry){name, path};
}

/* Hidden files and Python's caches are not part of a pack. */
static bool is_ignored(const char *name)
{
    return name[0] == '.' || strcmp(name, "__pycache__") == 0 ||
           str_ends(str_of(name), ".pyc") || str_ends(str_of(name), "~");
}

static int pack_hash_walk(struct entries *all, const char *name,
                          const char *path, int depth, struct err *e)
{
    struct fs_names names;
    int rc = 0;

    if (depth > DEPTH_MAX)
        return err_set(e, ERR_LIMIT, "%s: folders nested deeper than %d", path,
                       DEPTH_MAX);
    if (fs_list(path, false, &names, e) < 0)
        return -1;
    for (size_t i = 0; rc == 0 && i < names.len; i++) {
        const char *n = names.name[i];
        const char *sub = arena_printf(all->a, "%s/%s", name, n);
        const char *at = arena_printf(all->a, "%s/%s", path, n);

        if (is_ignored(n))
            continue;
        if (all->len == FILES_MAX)
            rc = err_set(e, ERR_LIMIT, "%s: more than %d files", path,
                         FILES_MAX);
        else if (fs_is_dir(at))
            rc = pack_hash_walk(all, sub, at, depth + 1, e);
        else
            pack_hash_add_entry(all, sub, at);
    }
    fs_names_release(&names);
    return rc;
}

static int pack_hash_by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name,
                  ((const struct entry *)b)->name);
}

/* Includes the length, so that different folders never hash the same bytes. */
static int pack_hash_add_file(struct hash *h, const struct entry *f,
                              struct err *e)
{
    struct buf b;
    char size[32];
    int rc;

    buf_init(&b, FILE_MAX);
    rc = fs_read(f->path, &b, e);
    if (rc == 0) {
        hash_add(h, f->name, strlen(f->name) + 1);
        snprintf(size, sizeof(size), "%zu", b.len);
        hash_add(h, size, strlen(size) + 1);
        hash_add(h, buf_str(&b), b.len);
    }
    buf_release(&b);
    return rc;
}

static int hash_entries(struct entries *all, char out[HASH_HEX], struct err *e)
{
    struct hash h;
    int rc = 0;

    if (all->len)
        qsort(all->entry, all->len, sizeof(*all->entry), pack_hash_by_name);
    hash_init(&h);
    for (size_t i = 0; i < all->len && rc == 0; i++) {
        /* A folder of shared rules lists its own files twice. */
        if (i && strcmp(all->entry[i].name, all->entry[i - 1].name) == 0)
            continue;
        rc = pack_hash_add_file(&h, &all->entry[i], e);
    }
    hash_finish_hex(&h, out);
    return rc;
}

void pack_load_hash(struct pack *p, struct problems *out)
{
    struct entries all = {.a = &p->memory};
    struct err e = ERR_INIT;

    for (const struct pack_shared *s = p->shared; s; s = s->next)
        pack_hash_add_entry(&all, s->name, s->path);
    if (pack_hash_walk(&all, fs_base(p->dir), p->dir, 0, &e) < 0 ||
        hash_entries(&all, p->hash, &e) < 0)
        problems_add(out, "%s", e.text);
    free(all.entry);
}
