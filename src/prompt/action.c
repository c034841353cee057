/* action.c: the protocol, read. */
#include "prompt/action.h"

#include "base/mem.h"
#include "prompt/extract.h"

#include <stdlib.h>
#include <string.h>

const char *const action_names[5] = {"list", "peek", "grep", "ask", "final"};

/* What each kind must say. */
static const struct {
    bool document;
    const char *text; /* the member that holds its text, or NULL */
} needs[5] = {
    [ACTION_LIST] = {true, NULL},       [ACTION_PEEK] = {true, NULL},
    [ACTION_GREP] = {false, "pattern"}, [ACTION_ASK] = {true, "question"},
    [ACTION_FINAL] = {false, "answer"},
};

static size_t line_of(const json_t *v, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(v, key));

    return n > 0 && n < 1000000000 ? (size_t)n : 0;
}

static int read_one(const json_t *v, struct action *out, struct err *e)
{
    const char *name = jsn_str(v, "do");
    size_t kind = 0;

    while (kind < 5 && strcmp(action_names[kind], name) != 0)
        kind++;
    if (kind == 5)
        return err_set(e, ERR_INPUT,
                       "\"do\" must be list, peek, grep, ask or final");
    *out = (struct action){.kind = (enum action_kind)kind,
                           .document = jsn_str(v, "document"),
                           .from = line_of(v, "from"),
                           .to = line_of(v, "to"),
                           .text = ""};
    if (needs[kind].text)
        out->text = jsn_str(v, needs[kind].text);
    if (needs[kind].document && !out->document[0])
        return err_set(e, ERR_INPUT,
                       "%s needs \"document\": a name from the "
                       "manifest",
                       name);
    if (needs[kind].text && !out->text[0])
        return err_set(e, ERR_INPUT, "%s needs \"%s\"", name, needs[kind].text);
    return 0;
}

static bool read_plain(struct str reply, struct actions *out)
{
    struct str rest = str_trim(reply), head;

    if (!str_cut(&rest, '\n', &head) || !str_eq(str_trim(head), "FINAL"))
        return false;
    rest = str_trim(rest);
    if (!rest.n)
        return false;
    out->plain = xstrndup(rest.p, rest.n);
    out->item[0] = (struct action){
        .kind = ACTION_FINAL, .document = "", .text = out->plain};
    out->len = 1;
    return true;
}

int actions_read(struct str reply, struct actions *out, struct err *e)
{
    const json_t *list;
    size_t n;

    *out = (struct actions){0};
    if (read_plain(reply, out))
        return 0;
    out->json = extract_json(reply, e);
    if (!out->json)
        return -1;
    list = json_is_array(out->json) ? out->json
                                    : json_object_get(out->json, "actions");
    n = list ? json_array_size(list) : 1;
    if (n == 0 || n > ACTIONS)
        return err_set(e, ERR_INPUT, "a reply has 1 to %d actions", ACTIONS);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = list ? json_array_get(list, i) : out->json;

        if (read_one(v, &out->item[i], e) < 0)
            return -1;
        out->len++;
    }
    for (size_t i = 0; i < n; i++)
        if (n > 1 && out->item[i].kind == ACTION_FINAL)
            return err_set(e, ERR_INPUT, "a final action stands alone");
    return 0;
}

void actions_release(struct actions *a)
{
    if (a->json)
        json_decref(a->json);
    free(a->plain);
    *a = (struct actions){0};
}
