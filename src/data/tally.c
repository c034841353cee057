/* tally.c: adding up. */
#include "data/tally.h"

#include "base/fs.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Code points; a byte that is not part of one counts, too. */
static size_t characters_of(struct str text)
{
    size_t n = 0;

    if (str_utf8_check(text.p, text.n) == text.n) {
        for (size_t i = 0; i < text.n; i++)
            n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
        return n;
    }
    free(unicode_points(text, &n));
    return n;
}

struct tally tally_text(struct tokenizer *t, struct str text,
                        struct token_ids *ids)
{
    return (struct tally){.files = 1,
                          .bytes = text.n,
                          .characters = characters_of(text),
                          .tokens = tokenizer_encode(t, text, ids)};
}

void tally_add(struct tally *to, const struct tally *what)
{
    to->files += what->files;
    to->bytes += what->bytes;
    to->characters += what->characters;
    to->tokens += what->tokens;
}

void tallies_add(struct tallies *t, const char *path, const struct tally *what)
{
    const char *base = fs_base(path), *dot = strrchr(base, '.');
    const char *name = dot && dot > base ? dot : "(none)";
    size_t i = 0;

    while (i < t->len && strcmp(t->item[i].name, name) != 0)
        i++;
    if (i == t->len) {
        t->item = xgrow(t->item, &t->cap, t->len, sizeof(*t->item));
        t->item[t->len++] = (struct tally){.name = xstrdup(name)};
    }
    tally_add(&t->item[i], what);
    tally_add(&t->total, what);
}

static int by_tokens(const void *a, const void *b)
{
    const struct tally *x = a, *y = b;

    if (x->tokens != y->tokens)
        return x->tokens < y->tokens ? 1 : -1;
    return strcmp(x->name, y->name);
}

void tallies_sort(struct tallies *t)
{
    if (t->len)
        qsort(t->item, t->len, sizeof(*t->item), by_tokens);
}

void tallies_release(struct tallies *t)
{
    for (size_t i = 0; i < t->len; i++)
        free(t->item[i].name);
    free(t->item);
    *t = (struct tallies){0};
}
