/* fuzz_extract.c: whatever a reply is, what is taken from it is a program of
 * its own (or a line of feedback), it is found again in a block, and it is
 * still Python without its comments. */
#include "prompt/extract.h"
#include "source/py_lex.h"
#include "source/py_normal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* The next token that is neither a string nor what stands for one. */
static const struct py_token *next_kept(const struct py_tokens *t, size_t *i)
{
    const struct py_token *k = &t->tok[*i];

    while (k->kind == PY_STRING || k->kind == PY_NEWLINE || py_is(k, ";") ||
           py_is(k, "pass"))
        k = &t->tok[++*i];
    *i += k->kind != PY_END;
    return k;
}

/* Without comments and docstrings a program has the blocks and names it had. */
static void same_statements(const struct py_tokens *a,
                            const struct py_tokens *b)
{
    const struct py_token *x, *y;
    size_t i = 0, j = 0;

    do {
        x = next_kept(a, &i);
        y = next_kept(b, &j);
        require(x->kind == y->kind);
        require(x->kind >= PY_NEWLINE || str_same(x->text, y->text));
    } while (x->kind != PY_END);
}

static void check_program(struct str code)
{
    struct py_tokens t, stripped;
    struct arena a = {0};

    py_lex(&t, code, &a);
    require(!t.problem.id);
    require(memmem(code.p, code.n, "ModelNew", 8) &&
            !memchr(code.p, '\r', code.n));
    for (int cxx = 0; cxx < 2; cxx++) {
        struct str bare = py_strip(code, cxx, &a);

        py_lex(&stripped, bare, &a);
        require(!stripped.problem.id && bare.n <= 2 * code.n);
        same_statements(&t, &stripped);
    }
    arena_release(&a);
}

static void check_outcome(enum extract_outcome outcome, const struct buf *code,
                          const struct buf *feedback)
{
    if (outcome == EXTRACT_CODE)
        check_program((struct str){buf_str(code), code->len});
    require((outcome == EXTRACT_CODE) == (code->len > 0));
    require((outcome == EXTRACT_CODE) == (feedback->len == 0));
    require(str_utf8_check(buf_str(feedback), feedback->len) == feedback->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str reply = {(const char *)data, size}, plan;
    struct err e = ERR_INIT;
    struct buf code = {.limit = PY_MAX_BYTES}, feedback = {.limit = 8192};
    json_t *v;

    for (int cut = 0; cut < 2; cut++) {
        check_outcome(
            extract_code(reply, "ModelNew", cut, &code, &feedback, NULL), &code,
            &feedback);
        buf_release(&code);
        buf_release(&feedback);
    }
    plan = extract_plan(reply);
    require(plan.n == 0 || (plan.p >= reply.p && plan.n <= reply.n));
    v = extract_json(reply, &e);
    require(v ? json_is_object(v) || json_is_array(v) : e.kind == ERR_INPUT);
    json_decref(v);
    return 0;
}
