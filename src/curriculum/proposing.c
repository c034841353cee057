/* proposing.c: the parts of the prompt as text. */
#include "curriculum/proposing.h"

#include "base/buf.h"
#include "prompt/ask.h"

#include <stdlib.h>
#include <string.h>

#define TRACE_LINES 400
#define TEXT_BYTES  60000 /* of a division, or of a reply */

static struct str keep(struct buf *b, struct arena *a)
{
    struct str out = {arena_strndup(a, buf_str(b), b->len), b->len};

    buf_release(b);
    return out;
}

/* "scores: matmul [2, 4, 64, 64] fp32, 131072 bytes, 4194304 flops" */
static struct str trace_text(const json_t *trace, struct arena *a)
{
    size_t n = json_array_size(trace);
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i < n && i < TRACE_LINES; i++) {
        const json_t *v = json_array_get(trace, i);
        char *shape = json_dumps(json_object_get(v, "shape"), 0);

        buf_printf(&b, "%s: %s %s %s, %lld bytes, %lld flops\n",
                   jsn_str(v, "name"), jsn_str(v, "op"), shape ? shape : "[]",
                   jsn_str(v, "dtype"),
                   (long long)json_integer_value(json_object_get(v, "bytes")),
                   (long long)json_number_value(json_object_get(v, "flops")));
        free(shape);
    }
    if (n > TRACE_LINES)
        buf_printf(&b, "… and %zu more\n", n - TRACE_LINES);
    return keep(&b, a);
}

/* The division as the model would write it; without sources if it is long. */
static struct str division_text(const json_t *own, struct arena *a)
{
    json_t *v = json_pack("{s:O, s:O}", "subproblems",
                          json_object_get(own, "subproblems"), "composition",
                          json_object_get(own, "composition"));
    json_t *copy = json_deep_copy(v), *sub;
    struct buf b;
    size_t i;
    char *text;

    json_decref(v);
    json_array_foreach(json_object_get(copy, "subproblems"), i, sub)
    {
        json_object_del(sub, "sidecar");
        json_object_del(sub, "why");
    }
    text = json_dumps(copy, JSON_INDENT(1));
    if (strlen(text) > TEXT_BYTES) {
        free(text);
        json_array_foreach(json_object_get(copy, "subproblems"), i, sub)
        {
            json_object_del(sub, "source");
        }
        text = json_dumps(copy, JSON_COMPACT);
    }
    json_decref(copy);
    buf_init(&b, BUF_UNLIMITED);
    buf_puts(&b, text);
    free(text);
    return keep(&b, a);
}

/* "answer 1: p1_scores: not_finite (step 4): …" */
static struct str refusals_text(const json_t *refused, struct arena *a)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i < json_array_size(refused); i++) {
        const json_t *list = json_array_get(refused, i);

        for (size_t k = 0; k < json_array_size(list); k++) {
            const json_t *f = json_array_get(list, k);
            const char *sub = jsn_str(f, "sub");

            buf_printf(
                &b, "answer %zu: %s%s%s (step %lld): %s\n", i + 1, sub,
                *sub ? ": " : "", jsn_str(f, "code"),
                (long long)json_integer_value(json_object_get(f, "step")),
                jsn_str(f, "detail"));
        }
    }
    return keep(&b, a);
}

void proposing_prompt(const struct prompts *p, const struct proposing *x,
                      struct arena *a, struct prompt *out)
{
    struct prompt_decompose d = {
        .name = x->task->id,
        .task = {x->task->source, x->task->len},
        .level = piece_levels[x->level],
        .pieces = piece_counts[x->level],
        .trace = trace_text(json_object_get(x->own, "trace"), a),
        .refusals = refusals_text(x->refused, a)};

    if (json_array_size(json_object_get(x->own, "subproblems")))
        d.proposal = division_text(x->own, a);
    if (x->last.n <= TEXT_BYTES)
        d.last = x->last;
    prompts_decompose(p, &d, a, out);
}

json_t *proposing_finding(const char *code, const char *detail)
{
    return json_pack("[{s:n, s:i, s:s, s:o}]", "sub", "step", 1, "code", code,
                     "detail", jsn_text(detail, strlen(detail)));
}
