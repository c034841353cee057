/* fuzz_py_facts.c: whatever the bytes, every line of the facts view is a known
 * context, a known kind and a name, both views are UTF-8 and lead back into the
 * source, and the same source gives the same views. */
#include "lex/py_facts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool one_of(struct str s, const char *const *list)
{
    for (; *list; list++)
        if (str_eq(s, *list))
            return true;
    return false;
}

static void check_lines(const struct view *v)
{
    static const char *const contexts[] = {"module", "init", "forward",
                                           "kernel", "dead", NULL};
    static const char *const kinds[] = {
        "import", "call",       "use",      "set",   "method",
        "self",   "attr",       "def",      "class", "bind",
        "launch", "opens",      "try",      "op",    "holder-call",
        "build",  "callresult", "subclass", "limit", NULL};
    struct str rest = {v->data, v->len}, line, context, kind;

    while (str_cut(&rest, '\n', &line)) {
        require(str_cut(&line, ' ', &context) && one_of(context, contexts));
        require(str_cut(&line, ' ', &kind) && one_of(kind, kinds));
        require(line.n > 0);
    }
    require(rest.n == 0);
}

static void check_view(const struct view *v, size_t size)
{
    require(v->data[v->len] == '\0');
    require(str_utf8_check(v->data, v->len) == v->len);
    for (size_t i = 0; i < v->len; i++)
        require(v->origin[i] < size || (size == 0 && v->origin[i] == 0));
}

static void analyse(struct view *facts, struct view *cxx, struct str src,
                    struct arena *a)
{
    static const char *const decorators[] = {"lang.jit", NULL};
    static const char *const openers[] = {"lang.core.Kernel", NULL};
    static const char *const builds[] = {"helper.build", NULL};
    const struct py_facts_config cfg = {decorators, openers, builds};
    struct py_tokens t;

    py_lex(&t, src, a);
    py_facts(facts, cxx, src, &t, &cfg, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str src = {(const char *)data, size};
    struct view facts, cxx, again, cxx_again;
    struct arena a;

    arena_init(&a);
    analyse(&facts, &cxx, src, &a);
    check_lines(&facts);
    check_view(&facts, size);
    check_view(&cxx, size);
    analyse(&again, &cxx_again, src, &a);
    require(again.len == facts.len && cxx_again.len == cxx.len &&
            memcmp(again.data, facts.data, facts.len) == 0 &&
            memcmp(cxx_again.data, cxx.data, cxx.len) == 0);
    arena_release(&a);
    return 0;
}
