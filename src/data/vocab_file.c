/* vocab_file.c: the two kinds of vocabulary files. */
#include "base/json.h"
#include "data/vocab_int.h"

#include <string.h>

/* ---- .tiktoken: "BASE64 RANK" on each line ---- */

static int digit64(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs"
                                 "tuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

static bool decode64(struct str s, struct buf *out)
{
    size_t pad = 0;

    buf_reset(out);
    while (pad < 2 && s.n && s.p[s.n - 1] == '=') {
        s.n--;
        pad++;
    }
    if (!s.n || (s.n + pad) % 4)
        return false;
    for (size_t i = 0; i < s.n; i += 4) {
        size_t have = s.n - i < 4 ? s.n - i : 4;
        unsigned bits = 0;

        for (size_t k = 0; k < 4; k++) {
            int d = k < have ? digit64(s.p[i + k]) : 0;

            if (d < 0)
                return false;
            bits = bits << 6 | (unsigned)d;
        }
        for (size_t k = 0; k + 1 < have; k++)
            buf_putc(out, (char)(bits >> (16 - 8 * k) & 0xff));
    }
    return true;
}

static int add_line(struct vocab *v, struct str line, struct buf *bytes,
                    struct err *e)
{
    struct str word;
    int64_t id;

    if (!str_cut(&line, ' ', &word) || !decode64(word, bytes) ||
        !str_to_i64(line, 0, VOCAB_MAX_TOKENS - 1, &id))
        return err_set(e, ERR_INPUT,
                       "not a token in base64, a space and its rank; "
                       "--vocab takes the vocab.json or the .tiktoken file "
                       "of a Qwen model");
    return vocab_add(v, (uint32_t)id, (struct str){buf_str(bytes), bytes->len},
                     e);
}

int vocab_read_tiktoken(struct vocab *v, const char *name, struct str text,
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

    if (!json_is_integer(value) || id < 0 || id >= VOCAB_MAX_TOKENS)
        return err_set(e, ERR_INPUT,
                       "the token \"%.*s\" has no id; a vocabulary is one "
                       "object of tokens and their ids",
                       (int)(key.n < 80 ? key.n : 80), key.p);
    if (vocab_is_special(key))
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

int vocab_read_json(struct vocab *v, const char *name, struct str text,
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
