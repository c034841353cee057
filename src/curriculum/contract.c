/* contract.c: checks a decomposition member by member. */
#include "curriculum/contract.h"

#include "prompt/extract.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TENSORS    64 /* inputs or outputs of a piece */
#define DIMENSIONS 16
#define FINDINGS   1000
#define TEXT_BYTES 4000

const char *const piece_kinds[PIECE_KINDS] = {"partition", "reformulation",
                                              "stepping_stone"};
const char *const piece_levels[PIECE_LEVELS] = {"coarse", "medium", "fine"};
const int piece_counts[PIECE_LEVELS] = {2, 3, 9};

/* Where the check is. */
struct place {
    const char *file;
    struct err *e;
    enum contract_form form;
    char path[160]; /* a JSON pointer; cut when it is longer */
};

static int bad(const struct place *at, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int bad(const struct place *at, const char *key, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_set(at->e, ERR_INPUT, "%s: %s/%s: %s", at->file, at->path, key,
                   text);
}

static struct place below(const struct place *at, const char *key, size_t i)
{
    struct place out = *at;
    size_t n = strlen(out.path);

    snprintf(out.path + n, sizeof(out.path) - n, "/%s/%zu", key, i);
    return out;
}

/* ---- small members ---- */

bool contract_is_id(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");

    return n >= 3 && n <= 40 && !s[n];
}

size_t contract_word(const char *s, const char *const *table, size_t n)
{
    size_t i = 0;

    while (i < n && strcmp(table[i], s) != 0)
        i++;
    return i;
}

static int check_text(const struct place *at, const json_t *v, const char *key,
                      bool needed)
{
    const json_t *x = json_object_get(v, key);

    if ((!x || json_is_null(x)) && !needed)
        return 0;
    if (!json_is_string(x))
        return bad(at, key, "must be a string");
    if (needed && !json_string_length(x))
        return bad(at, key, "must not be empty");
    if (json_string_length(x) > TEXT_BYTES)
        return bad(at, key, "longer than %d bytes", TEXT_BYTES);
    return 0;
}

static int check_word(const struct place *at, const json_t *v, const char *key,
                      const char *const *table, size_t n)
{
    char list[120] = "";

    if (contract_word(jsn_str(v, key), table, n) < n)
        return 0;
    for (size_t i = 0, len = 0; i < n && len < sizeof(list); i++)
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
                                i ? ", " : "", table[i]);
    return bad(at, key, "must be one of: %s", list);
}

static int check_bool(const struct place *at, const json_t *v, const char *key)
{
    return json_is_boolean(json_object_get(v, key))
               ? 0
               : bad(at, key, "must be true or false");
}

/* A list; *out is NULL when it is left out. */
static int check_list(const struct place *at, const json_t *v, const char *key,
                      size_t most, const json_t **out)
{
    const json_t *x = json_object_get(v, key);

    *out = x;
    if (x && !json_is_array(x))
        return bad(at, key, "must be a list");
    if (json_array_size(x) > most)
        return bad(at, key, "has more than %zu items", most);
    return 0;
}

/* ---- tensors ---- */

/* "fresh", "orig:NAME" or "ID:INDEX". */
static bool is_origin(const char *s)
{
    struct str rest = str_of(s), head;
    char id[48];
    int64_t index;

    if (strcmp(s, "fresh") == 0)
        return true;
    if (!str_cut(&rest, ':', &head) || !rest.n)
        return false;
    if (str_eq(head, "orig"))
        return true;
    snprintf(id, sizeof(id), "%.*s", (int)(head.n < 47 ? head.n : 47), head.p);
    return contract_is_id(id) && str_to_i64(rest, 0, TENSORS, &index);
}

static int check_shape(const struct place *at, const json_t *v)
{
    const json_t *shape;

    if (check_list(at, v, "shape", DIMENSIONS, &shape) < 0)
        return -1;
    if (!shape)
        return bad(at, "shape", "is missing");
    for (size_t i = 0; i < json_array_size(shape); i++) {
        const json_t *n = json_array_get(shape, i);

        if (!json_is_integer(n) || json_integer_value(n) < 0)
            return bad(at, "shape", "must hold whole numbers from 0 on");
    }
    return 0;
}

static int check_tensor(const struct place *at, const json_t *v, bool input)
{
    if (!json_is_object(v))
        return bad(at, "", "must be an object");
    if (check_text(at, v, "name", true) < 0 || check_shape(at, v) < 0 ||
        check_text(at, v, "dtype", true) < 0)
        return -1;
    if (input && !is_origin(jsn_str(v, "from")))
        return bad(at, "from",
                   "must be \"orig:ARGUMENT\", \"ID:INDEX\" or \"fresh\"");
    return 0;
}

static int check_tensors(const struct place *at, const json_t *sub,
                         const char *key, bool input)
{
    const json_t *list;

    if (check_list(at, sub, key, TENSORS, &list) < 0)
        return -1;
    if (!list)
        return bad(at, key, "is missing");
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct place p = below(at, key, i);

        if (check_tensor(&p, json_array_get(list, i), input) < 0)
            return -1;
    }
    return 0;
}

/* ---- subproblems ---- */

const json_t *contract_sub(const json_t *v, const char *id)
{
    const json_t *subs = json_object_get(v, "subproblems");

    for (size_t i = 0; i < json_array_size(subs); i++)
        if (strcmp(jsn_str(json_array_get(subs, i), "id"), id) == 0)
            return json_array_get(subs, i);
    return NULL;
}

static int check_ids(const struct place *at, const json_t *v, const char *key)
{
    const json_t *list;

    if (check_list(at, v, key, CONTRACT_SUBS, &list) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *id = json_string_value(json_array_get(list, i));

        if (!id || !contract_is_id(id))
            return bad(at, key, "must hold ids of subproblems");
    }
    return 0;
}

static int check_sub_source(const struct place *at, const json_t *sub)
{
    const json_t *source = json_object_get(sub, "source"),
                 *sidecar = json_object_get(sub, "sidecar");

    if (at->form == CONTRACT_FILE)
        return check_text(at, sub, "piece", true);
    if (!json_is_string(source) || !json_string_length(source))
        return bad(at, "source", "must be a whole Python file");
    if (sidecar && !json_is_object(sidecar) && !json_is_null(sidecar))
        return bad(at, "sidecar", "must be an object");
    return 0;
}

static int check_sub(const struct place *at, const json_t *v, const json_t *sub)
{
    if (!json_is_object(sub))
        return bad(at, "", "must be an object");
    if (!contract_is_id(jsn_str(sub, "id")))
        return bad(at, "id", "must match [a-z0-9_]{3,40}");
    if (contract_sub(v, jsn_str(sub, "id")) != sub)
        return bad(at, "id", "\"%s\" is used twice", jsn_str(sub, "id"));
    if (check_text(at, sub, "title", true) < 0 ||
        check_word(at, sub, "kind", piece_kinds, PIECE_KINDS) < 0 ||
        check_tensors(at, sub, "inputs", true) < 0 ||
        check_tensors(at, sub, "outputs", false) < 0 ||
        check_ids(at, sub, "depends_on") < 0 ||
        check_text(at, sub, "why", false) < 0)
        return -1;
    return check_sub_source(at, sub);
}

/* ---- composition and findings ---- */

static int check_composition(const struct place *top, const json_t *v)
{
    const json_t *c = json_object_get(v, "composition");
    struct place at = *top;

    if (!json_is_object(c))
        return bad(top, "composition", "must be an object");
    snprintf(at.path, sizeof(at.path), "/composition");
    if (check_bool(&at, c, "claimed") < 0 ||
        (at.form != CONTRACT_PROPOSAL && check_bool(&at, c, "proved") < 0) ||
        check_text(&at, c, "output", jsn_true(c, "claimed")) < 0 ||
        check_text(&at, c, "detail", false) < 0)
        return -1;
    return check_ids(&at, c, "covers");
}

static int check_finding(const struct place *at, const json_t *f)
{
    const json_t *sub = json_object_get(f, "sub");
    json_int_t step = jsn_int(f, "step");
    const char *code = jsn_str(f, "code");
    size_t n = strspn(code, "abcdefghijklmnopqrstuvwxyz0123456789_");

    if (!json_is_object(f))
        return bad(at, "", "must be an object");
    if (sub && !json_is_null(sub) && !json_is_string(sub))
        return bad(at, "sub", "must be an id or null");
    if (step < 1 || step > 9)
        return bad(at, "step", "must be from 1 to 9");
    if (n < 2 || n > 60 || code[n])
        return bad(at, "code", "must match [a-z0-9_]{2,60}");
    return check_text(at, f, "detail", false);
}

static int check_findings(const struct place *at, const json_t *v)
{
    const json_t *list;

    if (check_list(at, v, "findings", FINDINGS, &list) < 0)
        return -1;
    if (!list)
        return bad(at, "findings", "is missing");
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct place p = below(at, "findings", i);

        if (check_finding(&p, json_array_get(list, i)) < 0)
            return -1;
    }
    return 0;
}

/* ---- the whole ---- */

int contract_check(const json_t *v, const char *file, enum contract_form form,
                   struct err *e)
{
    struct place at = {.file = file, .e = e, .form = form};
    const json_t *subs;

    if (!json_is_object(v))
        return bad(&at, "", "must be an object");
    if (check_text(&at, v, "problem_id", true) < 0 ||
        check_word(&at, v, "level", piece_levels, PIECE_LEVELS) < 0 ||
        check_list(&at, v, "subproblems", CONTRACT_SUBS, &subs) < 0)
        return -1;
    if (!subs)
        return bad(&at, "subproblems", "is missing");
    if (form == CONTRACT_PROPOSAL && !json_array_size(subs))
        return bad(&at, "subproblems", "must not be empty");
    for (size_t i = 0; i < json_array_size(subs); i++) {
        struct place p = below(&at, "subproblems", i);

        if (check_sub(&p, v, json_array_get(subs, i)) < 0)
            return -1;
    }
    if (check_composition(&at, v) < 0)
        return -1;
    return form == CONTRACT_PROPOSAL ? 0 : check_findings(&at, v);
}

json_t *contract_extract(struct str reply, const char **code, struct err *e)
{
    json_t *v = extract_json(reply, e);

    *code = v ? "bad_schema" : "bad_json";
    if (v && contract_check(v, "reply", CONTRACT_PROPOSAL, e) < 0) {
        json_decref(v);
        v = NULL;
    }
    return v;
}
