/* vocab.c: the table from bytes to ids, and the special tokens. */
#include "data/vocab.h"

#include "base/fs.h"
#include "base/mem.h"
#include "data/vocab_int.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)16 << 20)
#define MAX_TOKEN 4096

/* By id, from the number of ordinary tokens on. */
static const char *const specials[] = {
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
};
#define SPECIALS (sizeof(specials) / sizeof(*specials))

/* ---- looking up ---- */

/* Up to 8 bytes as one number, without reading past them. */
static uint64_t load(const char *p, size_t n)
{
    uint32_t a, b;
    uint64_t w;

    if (n >= 8) {
        memcpy(&w, p, 8);
        return w;
    }
    if (n >= 4) {
        memcpy(&a, p, 4);
        memcpy(&b, p + n - 4, 4);
        return a | (uint64_t)b << 8 * (n - 4);
    }
    w = (unsigned char)p[0];
    w |= (uint64_t)(unsigned char)p[n / 2] << 8 * (n / 2);
    w |= (uint64_t)(unsigned char)p[n - 1] << 8 * (n - 1);
    return w;
}

static inline uint64_t mix(uint64_t h)
{
    h *= 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static inline uint64_t key_of(const char *p, size_t n)
{
    uint64_t h = n;

    if (n <= 8)
        return load(p, n);
    for (size_t i = 0; i + 8 < n; i += 8)
        h = mix(h ^ load(p + i, 8));
    return mix(h ^ load(p + n - 8, 8));
}

static inline size_t slot_of(const struct vocab *v, uint64_t key, size_t n)
{
    return mix(mix(key + n)) >> 7 & (v->slots - 1);
}

static uint32_t find_long(const struct vocab *v, const char *p, size_t n)
{
    uint64_t key = key_of(p, n);
    size_t i = slot_of(v, key, n);

    for (; v->slot[i].len; i = (i + 1) & (v->slots - 1)) {
        const struct vocab_slot *s = &v->slot[i];

        if (s->key == key && s->len == n &&
            (n <= 8 || memcmp(v->bytes.data + v->at[s->id], p, n) == 0))
            return s->id;
    }
    return VOCAB_NONE;
}

uint32_t vocab_find(const struct vocab *v, const char *p, size_t n)
{
    const unsigned char *u = (const unsigned char *)p;

    if (n == 1)
        return v->byte[u[0]];
    if (n == 2)
        return v->pair[u[0] << 8 | u[1]];
    return n == 0 || n > v->longest ? VOCAB_NONE : find_long(v, p, n);
}

size_t vocab_size(const struct vocab *v)
{
    return v->count;
}

struct str vocab_bytes(const struct vocab *v, uint32_t id)
{
    if (id < v->count)
        return (struct str){v->bytes.data + v->at[id], v->len[id]};
    if (id - v->count < SPECIALS)
        return str_of(specials[id - v->count]);
    return (struct str){"", 0};
}

const struct unicode *vocab_unicode(const struct vocab *v)
{
    return v->unicode;
}

uint32_t vocab_special(const struct vocab *v, const char *p, size_t n,
                       size_t *len)
{
    for (size_t i = 0; i < SPECIALS; i++) {
        *len = strlen(specials[i]);
        if (*len <= n && memcmp(p, specials[i], *len) == 0)
            return (uint32_t)(v->count + i);
    }
    return VOCAB_NONE;
}

bool vocab_is_special(struct str text)
{
    for (size_t i = 0; i < SPECIALS; i++)
        if (str_eq(text, specials[i]))
            return true;
    return false;
}

/* ---- making one ---- */

int vocab_add(struct vocab *v, uint32_t id, struct str bytes, struct err *e)
{
    if (id >= VOCAB_MAX_TOKENS)
        return err_set(e, ERR_INPUT,
                       "the id %u is not below %u, so this is not a vocabulary",
                       id, VOCAB_MAX_TOKENS);
    if (!bytes.n || bytes.n > MAX_TOKEN)
        return err_set(e, ERR_INPUT,
                       "the token with id %u has %zu bytes; 1 to %d are "
                       "expected",
                       id, bytes.n, MAX_TOKEN);
    if (id >= v->cap) {
        size_t old = v->cap;

        v->cap = id < 512 ? 1024 : (size_t)id * 2;
        v->at = xreallocarray(v->at, v->cap, sizeof(*v->at));
        v->len = xreallocarray(v->len, v->cap, sizeof(*v->len));
        memset(v->len + old, 0, (v->cap - old) * sizeof(*v->len));
    }
    if (v->len[id])
        return err_set(e, ERR_INPUT, "the id %u appears twice", id);
    v->at[id] = (uint32_t)v->bytes.len;
    v->len[id] = (uint32_t)bytes.n;
    if (buf_add(&v->bytes, bytes.p, bytes.n, e) < 0)
        return -1;
    v->count++;
    if (bytes.n > v->longest)
        v->longest = (uint32_t)bytes.n;
    return 0;
}

static int put_slot(struct vocab *v, uint32_t id, struct err *e)
{
    const char *p = v->bytes.data + v->at[id];
    const unsigned char *u = (const unsigned char *)p;
    uint32_t n = v->len[id],
             twin = n > 2 ? find_long(v, p, n) : vocab_find(v, p, n);
    uint64_t key = key_of(p, n);
    size_t i = slot_of(v, key, n);

    if (twin != VOCAB_NONE)
        return err_set(e, ERR_INPUT, "the tokens %u and %u have the same bytes",
                       twin, id);
    if (n == 1)
        v->byte[u[0]] = id;
    else if (n == 2)
        v->pair[u[0] << 8 | u[1]] = id;
    while (v->slot[i].len)
        i = (i + 1) & (v->slots - 1);
    v->slot[i] = (struct vocab_slot){key, id, n};
    return 0;
}

static int make_table(struct vocab *v, struct err *e)
{
    v->slots = 1024;
    while (v->slots < 2 * v->count)
        v->slots *= 2;
    v->slot = xcalloc(v->slots, sizeof(*v->slot));
    v->pair = xreallocarray(NULL, 65536, sizeof(*v->pair));
    memset(v->pair, 0xff, 65536 * sizeof(*v->pair));
    memset(v->byte, 0xff, sizeof(v->byte));
    for (uint32_t id = 0; id < v->count; id++) {
        if (id >= v->cap || !v->len[id])
            return err_set(e, ERR_INPUT,
                           "there are %zu tokens, but none with id %u; is the "
                           "file complete?",
                           v->count, id);
        if (put_slot(v, id, e) < 0)
            return -1;
    }
    for (int b = 0; b < 256; b++)
        if (v->byte[b] == VOCAB_NONE)
            return err_set(e, ERR_INPUT,
                           "no token for the byte 0x%02x; use the vocabulary "
                           "of a Qwen model, complete",
                           b);
    return 0;
}

struct vocab *vocab_parse(const char *name, struct str text, struct err *e)
{
    struct vocab *v = xcalloc(1, sizeof(*v));
    struct str trimmed = str_trim(text);
    int rc;

    buf_init(&v->bytes, MAX_BYTES);
    if (trimmed.n && trimmed.p[0] == '{')
        rc = vocab_read_json(v, name, text, e);
    else
        rc = vocab_read_tiktoken(v, name, text, e);
    if (rc == 0 && make_table(v, e) < 0)
        rc = err_wrap(e, "%s", name);
    if (rc < 0) {
        vocab_free(v);
        return NULL;
    }
    v->unicode = unicode_new();
    return v;
}

struct vocab *vocab_load(const char *path, struct err *e)
{
    struct vocab *v = NULL;
    struct buf b;

    buf_init(&b, MAX_BYTES);
    if (fs_read(path, &b, e) == 0)
        v = vocab_parse(path, (struct str){buf_str(&b), b.len}, e);
    buf_release(&b);
    return v;
}

void vocab_free(struct vocab *v)
{
    if (!v)
        return;
    buf_release(&v->bytes);
    free(v->at);
    free(v->len);
    free(v->slot);
    free(v->pair);
    unicode_free(v->unicode);
    free(v);
}
