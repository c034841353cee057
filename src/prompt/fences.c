/* fences.c: thoughts and fence lines of a reply. */
#include "prompt/fences.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- thoughts ---- */

static const char *const openers[] = {"<think>", "<thinking>"};
static const char *const closers[] = {"</think>", "</thinking>"};

/* Behind the last closing mark, or NULL. */
static const char *behind_last(struct str s, const char *mark)
{
    size_t n = strlen(mark);
    const char *found = NULL, *at;

    while ((at = memmem(s.p, s.n, mark, n))) {
        found = at + n;
        s.n -= (size_t)(found - s.p);
        s.p = found;
    }
    return found;
}

/* The first opening mark that begins a line, or NULL. */
static const char *first_open(struct str s, const char *mark)
{
    size_t n = strlen(mark);
    const char *at = s.p, *end = s.p + s.n;

    while (s.n && (at = memmem(at, (size_t)(end - at), mark, n))) {
        const char *line = memrchr(s.p, '\n', (size_t)(at - s.p));

        line = line ? line + 1 : s.p;
        if (!str_trim((struct str){line, (size_t)(at - line)}).n)
            return at;
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            break;
    }
    return NULL;
}

struct str reply_answer(struct str reply)
{
    const char *at, *end = reply.p + reply.n;

    if (!reply.n || !memmem(reply.p, reply.n, "think", 5))
        return reply;
    for (size_t i = 0; i < 2; i++)
        if ((at = behind_last(reply, closers[i])))
            reply = (struct str){at, (size_t)(end - at)};
    for (size_t i = 0; i < 2; i++)
        if ((at = first_open(reply, openers[i])))
            reply.n = (size_t)(at - reply.p);
    return reply;
}

struct str reply_plain(struct str reply, struct arena *a)
{
    size_t n = 0;
    char *p;

    if (str_starts(reply, "\xef\xbb\xbf"))
        reply = (struct str){reply.p + 3, reply.n - 3};
    if (!reply.n || !memchr(reply.p, '\r', reply.n))
        return reply;
    p = arena_alloc_raw(a, reply.n + 1);
    for (size_t i = 0; i < reply.n; i++) {
        if (reply.p[i] != '\r')
            p[n++] = reply.p[i];
        else if (i + 1 == reply.n || reply.p[i + 1] != '\n')
            p[n++] = '\n';
    }
    return (struct str){p, n};
}

/* ---- fences ---- */

static bool read_fence(struct str line, struct fence *f)
{
    struct str rest;

    *f = (struct fence){.line = line};
    while (f->indent < line.n &&
           (line.p[f->indent] == ' ' || line.p[f->indent] == '\t'))
        f->indent++;
    rest = (struct str){line.p + f->indent, line.n - f->indent};
    if (rest.n < 3 || (rest.p[0] != '`' && rest.p[0] != '~'))
        return false;
    f->mark = rest.p[0];
    while (f->run < rest.n && rest.p[f->run] == f->mark)
        f->run++;
    rest = (struct str){rest.p + f->run, rest.n - f->run};
    f->bare = str_trim(rest).n == 0;
    /* `code` in a line of prose opens nothing. */
    return f->run >= 3 &&
           (f->mark == '~' || rest.n == 0 || !memchr(rest.p, '`', rest.n));
}

struct fence *fence_lines(struct str text, size_t *count, struct arena *a)
{
    struct fence *list = NULL, *kept, f;
    size_t len = 0, cap = 0;
    bool more = true;
    struct str line;

    while (more) {
        more = str_cut(&text, '\n', &line);
        line = more ? line : text;
        if (!read_fence(line, &f))
            continue;
        f.next = line.p + line.n + (more ? 1 : 0);
        list = xgrow(list, &cap, len, sizeof(*list));
        list[len++] = f;
    }
    kept = arena_alloc(a, (len + 1) * sizeof(*kept));
    if (len)
        memcpy(kept, list, len * sizeof(*kept));
    free(list);
    *count = len;
    return kept;
}

bool fence_closes(const struct fence *a, const struct fence *b)
{
    return b->bare && b->mark == a->mark && b->run >= a->run;
}
