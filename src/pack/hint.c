/* hint.c: reads hints from JSON and finds the one for a message. */
#include "pack/hint.h"

#include "base/mem.h"
#include "pack/schema.h"

#include <stdlib.h>
#include <string.h>

const char *const hint_stages[HINT_STAGES] = {
    [HINT_PARSE] = "parse",     [HINT_CHECK] = "check",
    [HINT_COMPILE] = "compile", [HINT_LAUNCH] = "launch",
    [HINT_RUN] = "run",         [HINT_NUMERIC] = "numeric",
};

static bool id_is_new(const struct hints *h, const char *id, const char *file,
                      struct problems *out)
{
    for (size_t i = 0; i < h->len; i++) {
        if (strcmp(h->hint[i].id, id) == 0) {
            problems_add(out,
                         "%s: /hints/%zu/id: \"%s\" is the id of /hints/%zu; "
                         "choose another",
                         file, h->len, id, i);
            return false;
        }
    }
    return true;
}

static bool groups_exist(const struct hints *h, const struct hint *hint,
                         const char *file, struct problems *out)
{
    int most = rx_model_groups(hint->text);
    int groups = (int)rx_group_count(hint->rx);

    if (most <= groups)
        return true;
    problems_add(out,
                 "%s: /hints/%zu/hint: $%d, but the pattern has %d groups; "
                 "add the group or use a lower number",
                 file, h->len, most, groups);
    return false;
}

static bool add_hint(struct hints *h, const json_t *json, const char *file,
                     struct problems *out)
{
    struct hint *hint = &h->hint[h->len];
    struct err e = ERR_INIT;
    bool good;

    hint->id = schema_text(json, "id");
    hint->text = schema_text(json, "hint");
    hint->cite = schema_text(json, "cite");
    hint->stage =
        (enum hint_stage)schema_choice(json, "stage", hint_stages, HINT_STAGES);
    hint->rx = rx_new(schema_text(json, "pcre"), &e);
    good = id_is_new(h, hint->id, file, out);
    if (!hint->rx) {
        problems_add(out, "%s: /hints/%zu/pcre: %s; correct the pattern", file,
                     h->len, e.text);
        good = false;
    } else {
        good = groups_exist(h, hint, file, out) && good;
    }
    h->len++;
    return good;
}

bool hints_init(struct hints *h, const json_t *list, const char *file,
                struct problems *out)
{
    size_t count = json_array_size(list);
    bool good = true;

    *h = (struct hints){.hint = xcalloc(count, sizeof(*h->hint))};
    for (size_t i = 0; i < count; i++)
        good = add_hint(h, json_array_get(list, i), file, out) && good;
    return good;
}

void hints_release(struct hints *h)
{
    for (size_t i = 0; i < h->len; i++)
        rx_free(h->hint[i].rx);
    free(h->hint);
    *h = (struct hints){0};
}

/* Copies the text, with a "?" for each byte that is not UTF-8. */
static char *clean(struct str text)
{
    char *p = xstrndup(text.n ? text.p : "", text.n);
    size_t at = 0;

    while ((at += str_utf8_check(p + at, text.n - at)) < text.n)
        p[at++] = '?';
    return p;
}

const struct hint *hint_find(const struct hints *h, struct rx_ctx *c,
                             enum hint_stage stage, struct str text,
                             struct buf *out)
{
    const struct hint *found = NULL;
    char *copy = clean(text);

    text.p = copy;
    rx_round(c);
    for (size_t i = 0; i < h->len && !found; i++) {
        const struct hint *hint = &h->hint[i];

        if (stage != HINT_ANY && hint->stage != stage)
            continue;
        if (rx_find(c, hint->rx, text, 0) != RX_MATCH)
            continue;
        rx_expand(c, text, hint->text, out);
        found = hint;
    }
    free(copy);
    return found;
}
