/* pieces.c: cutting texts where prompts differ, and naming the parts. */
#include "prompt/pieces.h"

#include "base/mem.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KEPT ((size_t)16 << 10) /* bytes of a text whose hash is kept */

/* ---- hashes of texts used last ---- */

void kept_hashes_release(struct kept_hashes *k)
{
    for (size_t i = 0; i < KEPT_HASHES; i++)
        free(k->of[i].text);
}

static void keep(struct kept_hash *h, struct str text)
{
    free(h->text);
    h->text = xstrndup(text.p, text.n);
    h->len = text.n;
    hash_hex(text.p, text.n, h->hash);
}

/* The one that was not used for longest makes room. */
static const char *kept_hash(struct kept_hashes *k, struct str text)
{
    struct kept_hash *oldest = k->of, *h;

    for (h = k->of; h < k->of + KEPT_HASHES; h++) {
        if (h->len == text.n && memcmp(h->text, text.p, text.n) == 0)
            break;
        if (h->used < oldest->used)
            oldest = h;
    }
    if (h == k->of + KEPT_HASHES)
        keep(h = oldest, text);
    h->used = ++k->clock;
    return h->hash;
}

/* ---- pieces ---- */

void pieces_init(struct prompt *out, size_t most, struct arena *a)
{
    out->piece = arena_alloc_raw(a, most * sizeof(*out->piece));
    out->pieces = 0;
}

void pieces_add(struct prompt *out, size_t message, struct known_text text,
                struct kept_hashes *k)
{
    struct prompt_piece *x = &out->piece[out->pieces];

    if (text.text.n == 0)
        return;
    x->message = message;
    x->text = text.text;
    if (!text.hash && k && text.text.n <= MAX_KEPT)
        text.hash = kept_hash(k, text.text);
    if (text.hash)
        memcpy(x->hash, text.hash, HASH_HEX);
    else
        hash_hex(text.text.p, text.text.n, x->hash);
    out->pieces++;
}

/* Where `x` stands in `s`, or NULL. Its start is rare: that alone is searched. */
static const char *find_text(struct str s, struct str x)
{
    size_t start = x.n < 24 ? x.n : 24;
    const char *at = s.p, *end = s.p + s.n;

    while (x.n && (at = memmem(at, (size_t)(end - at), x.p, start)) &&
           (size_t)(end - at) >= x.n) {
        if (memcmp(at, x.p, x.n) == 0)
            return at;
        at++;
    }
    return NULL;
}

void pieces_cut(struct prompt *out, size_t message, struct str text,
                const struct known_text *known, size_t count,
                struct kept_hashes *k)
{
    for (size_t i = 0; i < count; i++) {
        struct known_text x = known[i], between = {text, NULL};
        const char *at = find_text(text, x.text);

        if (!at)
            continue;
        between.text.n = (size_t)(at - text.p);
        x.text.p = at;
        pieces_add(out, message, between, k);
        pieces_add(out, message, x, k);
        text.n -= between.text.n + x.text.n;
        text.p = at + x.text.n;
    }
    pieces_add(out, message, (struct known_text){text, NULL}, k);
}

/* ---- identity ---- */

/* Every text is hashed once: the prompt's hash is made from those of its
 * pieces. */
void pieces_list(struct prompt *out, struct arena *a)
{
    json_t *list = json_array();
    size_t at = 0;
    char *text;

    for (size_t i = 0; i < out->count; i++) {
        json_t *parts = json_array();

        for (; at < out->pieces && out->piece[at].message == i; at++)
            json_array_append_new(parts, json_string(out->piece[at].hash));
        json_array_append_new(list,
                              json_pack("{s:s, s:o}", "role",
                                        out->message[i].role, "parts", parts));
    }
    text = json_dumps(list, JSON_COMPACT);
    out->list = str_of(arena_strdup(a, text));
    hash_hex(out->list.p, out->list.n, out->hash);
    free(text);
    json_decref(list);
}
