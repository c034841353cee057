/* borrowed.c: reading what an answer about borrowing says. */
#include "base/mem.h"
#include "prompt/ask.h"
#include "prompt/extract.h"
#include "prompt/files.h"

#include <stdlib.h>
#include <string.h>

/* The lines of the target, as the prompt numbers them. */
struct lines {
    bool *blank, *named;
    size_t len;
};

static void read_lines(struct str code, struct lines *l)
{
    struct str rest = prompt_tidy(code), line;
    bool more = true;

    l->blank = xcalloc(rest.n + 1, sizeof(*l->blank));
    l->named = xcalloc(rest.n + 1, sizeof(*l->named));
    while (more) {
        more = str_cut(&rest, '\n', &line);
        l->blank[l->len++] = str_trim(more ? line : rest).n == 0;
    }
}

static int mark(struct lines *l, const json_t *ranges, struct err *e)
{
    const json_t *range;
    size_t i;

    if (!json_is_array(ranges))
        return err_set(e, ERR_INPUT, "\"target_lines\" is not a list");
    json_array_foreach(ranges, i, range)
    {
        const json_t *from = json_array_get(range, 0),
                     *to = json_array_get(range, 1);

        if (!json_is_integer(from) || !json_is_integer(to))
            return err_set(e, ERR_INPUT,
                           "\"target_lines\" holds no [first, last]");
        for (json_int_t k =
                 json_integer_value(from) < 1 ? 1 : json_integer_value(from);
             k <= json_integer_value(to) && k <= (json_int_t)l->len; k++)
            l->named[k - 1] = true;
    }
    return 0;
}

/* Ids are "1", "2", …; some models write numbers. */
static bool is_parent(const json_t *id, size_t count)
{
    int64_t n = json_is_integer(id) ? json_integer_value(id) : 0;

    if (json_is_string(id))
        str_to_i64(str_of(json_string_value(id)), 0, INT64_MAX, &n);
    return n >= 1 && (uint64_t)n <= count;
}

static int read_findings(const json_t *list, size_t parents, struct lines *l,
                         struct prompt_borrowed *out, struct err *e)
{
    const json_t *x;
    size_t i;

    if (!json_is_array(list))
        return err_set(e, ERR_INPUT, "\"borrowed\" is not a list");
    json_array_foreach(list, i, x)
    {
        if (!is_parent(json_object_get(x, "parent_id"), parents)) {
            out->dropped++;
            continue;
        }
        if (mark(l, json_object_get(x, "target_lines"), e) < 0)
            return -1;
        out->findings++;
    }
    return 0;
}

int prompts_borrowing_read(struct str reply, struct str target,
                           size_t parent_count, struct prompt_borrowed *out,
                           struct err *e)
{
    json_t *v = extract_json(reply, e);
    struct lines l = {0};
    int rc;

    *out = (struct prompt_borrowed){0};
    if (!v)
        return -1;
    read_lines(target, &l);
    rc =
        read_findings(json_object_get(v, "borrowed"), parent_count, &l, out, e);
    for (size_t i = 0; i < l.len; i++) {
        out->lines += !l.blank[i];
        out->borrowed += !l.blank[i] && l.named[i];
    }
    json_decref(v);
    free(l.blank);
    free(l.named);
    return rc;
}
