/* vocab.c: the two kinds of files, the table from bytes to ids, and the special
 * tokens. */
#include "data/vocab.h"

#include "base/fs.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES  ((size_t)16 << 20)
#define MAX_TOKEN  4096 /* bytes */
#define MAX_TOKENS 4000000u

struct vocab_slot {
    uint64_t key; /* the bytes if they are at most 8, else their hash */
    uint32_t id, len;
};

struct vocab {
    struct buf bytes; /* of all tokens */
    uint32_t *at, *len;
    size_t count, cap;
    struct vocab_slot *slot; /* len 0: free */
    size_t slots;
    uint32_t longest;
    uint32_t byte[256];
    uint32_t *pair; /* the token of two bytes, by both */
    struct unicode *unicode;
};

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

/* The bytes themselves where they fit, so that most tokens are found without a
 * look at their text. */
static inline uint64_t key_of(const char *p, size_t n)
{
    uint64_t key = 0;

    if (n > sizeof(key))
        return fnv1a(p, n);
    memcpy(&key, p, n);
    return key;
}

static inline size_t slot_of(const struct vocab *v, uint64_t key, size_t n)
{
    key = (key + n) * 0x9e3779b97f4a7c15u;
    return (key ^ key >> 32) & (v->slots - 1);
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

static bool is_special_token(struct str text)
{
    for (size_t i = 0; i < SPECIALS; i++)
        if (str_eq(text, specials[i]))
            return true;
    return false;
}

/* ---- making one ---- */

/* A token of a file. Twice the same bytes is found at the end. */
static int vocab_add(struct vocab *v, uint32_t id, struct str bytes,
                     struct err *e)
{
    if (id >= MAX_TOKENS)
        return err_set(e, ERR_INPUT,
                       "the id %u is not below %u, so this is not a vocabulary",
                       id, MAX_TOKENS);
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
    uint32_t n = v->len[id], twin = find_long(v, p, n);
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

/* ---- .tiktoken: "BASE64 RANK" on each line ---- */

/* EVP_DecodeBlock() is lenient, so what it gets is checked before. */
static bool decode64(struct str s, struct buf *out)
{
    size_t digits = strspn(s.p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs"
                                "tuvwxyz0123456789+/"),
           pad = s.n - digits;

    buf_reset(out);
    if (!digits || pad > 2 || s.n % 4 || memcmp(s.p + digits, "==", pad) != 0)
        return false;
    buf_put(out, s.p, s.n);
    EVP_DecodeBlock((unsigned char *)out->data, (const unsigned char *)s.p,
                    (int)s.n);
    out->len = s.n / 4 * 3 - pad;
    return true;
}

static int add_line(struct vocab *v, struct str line, struct buf *bytes,
                    struct err *e)
{
    struct str word;
    int64_t id;

    if (!str_cut(&line, ' ', &word) || !decode64(word, bytes) ||
        !str_to_i64(line, 0, MAX_TOKENS - 1, &id))
        return err_set(e, ERR_INPUT,
                       "not a token in base64, a space and its rank; "
                       "--vocab takes the vocab.json or the .tiktoken file "
                       "of a Qwen model");
    return vocab_add(v, (uint32_t)id, buf_view(bytes), e);
}

static int read_tiktoken(struct vocab *v, const char *name, struct str text,
                         struct err *e)
{
    struct str line;
    struct buf bytes;
    size_t number = 0;
    int rc = 0;

    buf_init(&bytes, text.n + 16);
    while (rc == 0 && str_part(&text, '\n', &line)) {
        number++;
        line = str_trim(line);
        if (line.n && add_line(v, line, &bytes, e) < 0)
            rc = err_wrap(e, "%s:%zu", name, number);
    }
    buf_release(&bytes);
    if (rc == 0 && !v->count)
        rc = err_set(e, ERR_INPUT,
                     "%s: empty; --vocab takes the vocab.json or the .tiktoken "
                     "file of a Qwen model",
                     name);
    return rc;
}

/* ---- vocab.json: {"token": id, …} ---- */

/* A token's bytes are written as characters that can be seen: printable ones of
 * Latin-1 stand for themselves, the others follow from U+0100 on. */
static bool is_plain(uint32_t b)
{
    return (b > 0x20 && b < 0x7f) || (b > 0xa0 && b <= 0xff && b != 0xad);
}

static void make_alphabet(int byte_of[512])
{
    uint32_t next = 256;

    for (int i = 0; i < 512; i++)
        byte_of[i] = -1;
    for (uint32_t b = 0; b < 256; b++)
        byte_of[is_plain(b) ? b : next++] = (int)b;
}

static int add_member(struct vocab *v, struct str key, const json_t *value,
                      const int byte_of[512], struct err *e)
{
    char bytes[4096];
    size_t n = 0;
    json_int_t id = json_integer_value(value);

    if (!json_is_integer(value) || id < 0 || id >= MAX_TOKENS)
        return err_set(e, ERR_INPUT,
                       "the token \"%.*s\" has no id; a vocabulary is one "
                       "object of tokens and their ids",
                       (int)(key.n < 80 ? key.n : 80), key.p);
    if (is_special_token(key))
        return 0;
    for (size_t i = 0; i < key.n;) {
        uint32_t cp;

        i += str_utf8_decode(key.p + i, key.n - i, &cp);
        if (cp >= 512 || byte_of[cp] < 0 || n == sizeof(bytes))
            return err_set(e, ERR_INPUT,
                           "the token \"%.*s\" (id %lld) is not in the "
                           "alphabet of a byte-level vocabulary",
                           (int)(key.n < 80 ? key.n : 80), key.p,
                           (long long)id);
        bytes[n++] = (char)byte_of[cp];
    }
    return vocab_add(v, (uint32_t)id, (struct str){bytes, n}, e);
}

static int read_vocab_json(struct vocab *v, const char *name, struct str text,
                           struct err *e)
{
    json_t *root = jsn_parse(name, text.p, text.n, e), *tokens, *value;
    int byte_of[512], rc = 0;
    const char *key;

    if (!root)
        return -1;
    tokens = json_object_get(json_object_get(root, "model"), "vocab");
    if (!tokens)
        tokens = root;
    make_alphabet(byte_of);
    json_object_foreach(tokens, key, value)
    {
        rc = add_member(v, str_of(key), value, byte_of, e);
        if (rc < 0) {
            err_wrap(e, "%s", name);
            break;
        }
    }
    json_decref(root);
    return rc;
}

/* ---- loading ---- */

struct vocab *vocab_parse(const char *name, struct str text, struct err *e)
{
    struct vocab *v = xcalloc(1, sizeof(*v));
    struct str trimmed = str_trim(text);
    int rc;

    buf_init(&v->bytes, MAX_BYTES);
    if (trimmed.n && trimmed.p[0] == '{')
        rc = read_vocab_json(v, name, text, e);
    else
        rc = read_tiktoken(v, name, text, e);
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
    struct buf b = {.limit = MAX_BYTES};

    if (fs_read(path, &b, e) == 0)
        v = vocab_parse(path, buf_view(&b), e);
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
