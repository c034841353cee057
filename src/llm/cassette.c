/* cassette.c: reading recorded answers. */
#include "llm/cassette.h"

#include "base/fs.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "llm/cassette_int.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    struct doc answer;
    char prompt[HASH_HEX];
};

struct cassette {
    struct entry **entry; /* all of them, also those replaced */
    size_t len, cap;
    struct map by_key; /* struct entry */
};

void cassette_close(struct cassette *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->len; i++) {
        doc_release(&c->entry[i]->answer);
        free(c->entry[i]);
    }
    free(c->entry);
    map_release(&c->by_key);
    free(c);
}

/* ---- keys ---- */

static void key_text(struct buf *b, const struct llm_key *k)
{
    buf_init(b, BUF_UNLIMITED);
    buf_printf(b, "%zu:%s %zu:%s %zu:%s %d", strlen(k->task), k->task,
               strlen(k->method), k->method, strlen(k->stage), k->stage,
               k->attempt);
}

static int read_key(const json_t *v, struct llm_key *k, struct err *e)
{
    const json_t *key = json_object_get(v, "key"),
                 *attempt = json_object_get(key, "attempt");

    k->task = json_string_value(json_object_get(key, "task"));
    k->method = json_string_value(json_object_get(key, "method"));
    k->stage = json_string_value(json_object_get(key, "stage"));
    if (!k->task || !k->method || !k->stage || !json_is_integer(attempt) ||
        json_integer_value(attempt) < 1 ||
        json_integer_value(attempt) > 1000000)
        return err_set(e, ERR_INPUT,
                       "\"key\" needs task, method, stage and attempt");
    k->attempt = (int)json_integer_value(attempt);
    return 0;
}

bool cassette_find(const struct cassette *c, const struct llm_key *k,
                   struct cassette_item *out)
{
    const struct entry *found;
    struct buf key;

    key_text(&key, k);
    found = map_get(&c->by_key, (struct str){key.data, key.len});
    buf_release(&key);
    if (found)
        *out = (struct cassette_item){found->prompt, &found->answer.result};
    return found != NULL;
}

/* ---- lines ---- */

static int read_header(const json_t *v, struct err *e)
{
    const json_t *version = json_object_get(v, "cassette");

    if (!json_is_integer(version))
        return err_set(e, ERR_INPUT,
                       "not a cassette: a cassette starts with {\"cassette\": "
                       "1, …}");
    if (json_integer_value(version) != 1)
        return err_set(e, ERR_INPUT,
                       "a cassette of version %lld; this program "
                       "reads version 1",
                       (long long)json_integer_value(version));
    return 0;
}

/* Takes the reference. */
static int read_entry(struct cassette *c, json_t *v, struct err *e)
{
    struct entry *n = xcalloc(1, sizeof(*n));
    const char *prompt = json_string_value(json_object_get(v, "prompt"));
    struct llm_key k;
    struct buf key;

    if (!prompt || strlen(prompt) != HASH_HEX - 1) {
        err_set(e, ERR_INPUT, "\"prompt\" is not a SHA-256");
        goto bad;
    }
    if (read_key(v, &k, e) < 0)
        goto bad;
    memcpy(n->prompt, prompt, HASH_HEX);
    if (doc_from_json(&n->answer, json_incref(v), e) < 0)
        goto bad;
    c->entry = xgrow(c->entry, &c->cap, c->len, sizeof(*c->entry));
    c->entry[c->len++] = n;
    key_text(&key, &k);
    map_set(&c->by_key, (struct str){key.data, key.len}, n);
    buf_release(&key);
    json_decref(v);
    return 0;
bad:
    free(n);
    json_decref(v);
    return -1;
}

static int read_line(struct cassette *c, struct str line, bool header,
                     struct err *e)
{
    json_t *v = jsn_parse("JSON", line.p, line.n, e);
    int rc;

    if (!v || !header)
        return v ? read_entry(c, v, e) : -1;
    rc = read_header(v, e);
    json_decref(v);
    return rc;
}

struct cassette *cassette_parse(const char *name, const char *text, size_t n,
                                struct err *e)
{
    struct cassette *c = xcalloc(1, sizeof(*c));
    struct str rest = {text, n}, line;
    bool more = true, header = true;
    int number = 0;

    map_init(&c->by_key);
    while (more) {
        more = str_cut(&rest, '\n', &line);
        line = str_trim(more ? line : rest);
        number++;
        if (!line.n)
            continue;
        if (read_line(c, line, header, e) < 0) {
            if (!more && !header) {
                log_warn("%s:%d: ignoring an incomplete last line", name,
                         number);
                break;
            }
            err_wrap(e, "%s:%d", name, number);
            goto bad;
        }
        header = false;
    }
    if (!header)
        return c;
    err_set(e, ERR_INPUT, "%s: not a cassette: the file is empty", name);
bad:
    cassette_close(c);
    return NULL;
}

struct cassette *cassette_open(const char *path, struct err *e)
{
    struct cassette *c = NULL;
    struct buf text;

    buf_init(&text, CASSETTE_LIMIT);
    if (cassette_text(path, &text, NULL, e) == 0)
        c = cassette_parse(path, buf_str(&text), text.len, e);
    buf_release(&text);
    return c;
}

int cassette_secret(const char *path, char secret[HASH_HEX], struct err *e)
{
    struct str rest, line;
    struct buf text;
    json_t *v = NULL;
    const char *is;
    int rc = -1;

    buf_init(&text, CASSETTE_LIMIT);
    if (cassette_text(path, &text, NULL, e) == 0) {
        rest = (struct str){buf_str(&text), text.len};
        v = str_cut(&rest, '\n', &line) ? jsn_parse(path, line.p, line.n, e)
                                        : jsn_parse(path, rest.p, rest.n, e);
    }
    buf_release(&text);
    if (!v)
        return -1;
    is = jsn_str(v, "secret");
    rc = strlen(is) == HASH_HEX - 1;
    if (rc)
        memcpy(secret, is, HASH_HEX);
    json_decref(v);
    return rc;
}
