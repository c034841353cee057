/* files.c: reading the templates, and the values that several of them share. */
#include "prompt/files.h"

#include "base/fs.h"
#include "pack/pack_file.h"

#include <stdlib.h>
#include <string.h>

#define SLOT_NAME_OF(name, text) [SLOT_##name] = text,
static const char *const slot_names[PROMPT_SLOTS] = {
    PROMPT_SLOT_LIST(SLOT_NAME_OF)};

#define S(name) ((uint64_t)1 << SLOT_##name)
#define RUN     (S(PRECISION) | S(DTYPE) | S(DEVICE))

/* Each file of prompts/ and the names it takes. */
static const struct {
    const char *name;
    uint64_t takes;
} files[PROMPT_FILES] = {
    [FILE_SYSTEM] = {"system.md",
                     S(DSL) | S(MUST_DEFINE) | S(IMPORTS) | S(GUIDE) | S(CARD)},
    [FILE_PLAN] = {"plan.md", RUN | S(EXAMPLES) | S(FENCE) | S(TASK) |
                                  S(ATTEMPTS) | S(DSL) | S(PLAN_HINT)},
    [FILE_CODE] = {"code.md", RUN | S(EXAMPLES) | S(FENCE) | S(TASK) |
                                  S(ATTEMPTS) | S(PLAN) | S(DSL) |
                                  S(CODE_HINT) | S(TAG) | S(MUST_DEFINE)},
    [FILE_EVOLVE_SYSTEM] = {"evolve_system.md",
                            RUN | S(EXAMPLES) | S(FENCE) | S(TASK) | S(DSL)},
    [FILE_EVOLVE] = {"evolve.md", S(ATTEMPTS) | S(PARENT) | S(DSL) |
                                      S(CODE_HINT) | S(FENCE) | S(TAG) |
                                      S(MUST_DEFINE) | S(REWRITE) | S(DIFF)},
    [FILE_EXAMPLE] = {"example.md", S(NUMBER) | S(FENCE) | S(PROBLEM) |
                                        S(PLAN) | S(SOLUTION) | S(TAG)},
    [FILE_ATTEMPT] = {"attempt.md", S(NUMBER) | S(INITIAL) | S(VERDICT) |
                                        S(FITNESS) | S(FENCE) | S(TAG) |
                                        S(CODE) | S(FEEDBACK)},
    [FILE_REVIEW_SYSTEM] = {"review_system.md", 0},
    [FILE_REVIEW] = {"review.md", S(DSL) | S(PRECISION) | S(DTYPE) | S(FENCE) |
                                      S(TASK) | S(TAG) | S(SOLUTION)},
    [FILE_REPAIR] = {"repair.md", S(WHY) | S(SHAPE) | S(REPLY)},
    [FILE_BORROWING_SYSTEM] = {"borrowing_system.md", 0},
    [FILE_BORROWING] = {"borrowing.md", S(NAME) | S(CODE) | S(EXAMPLES)},
    [FILE_BORROWING_PARENT] = {"borrowing_parent.md",
                               S(NUMBER) | S(NAME) | S(CODE)},
    [FILE_BACKFILL] = {"backfill.md", RUN | S(FENCE) | S(TASK) | S(TAG) |
                                          S(SOLUTION) | S(DSL)},
    [FILE_DECOMPOSE_SYSTEM] = {"decompose_system.md", 0},
    [FILE_DECOMPOSE] = {"decompose.md", S(NAME) | S(FENCE) | S(TASK) |
                                            S(TRACE) | S(PROPOSAL) | S(LEVEL) |
                                            S(NUMBER) | S(REFUSALS) | S(REPLY)},
    [FILE_GUIDE_SYSTEM] = {"guide_system.md", S(DSL) | S(ASK)},
    [FILE_GUIDE_ROOT] = {"guide_root.md",
                         S(DSL) | S(DOCUMENT) | S(LIMIT) | S(NOTES) | S(LAST)},
    [FILE_GUIDE_PART] = {"guide_part.md", S(WHOLE) | S(LONG) | S(DOCUMENT) |
                                              S(QUESTION) | S(LIMIT) |
                                              S(NOTES) | S(LAST)},
};

int prompt_files_load(struct prompts *p, const char *dir, struct err *e)
{
    const struct template_names names = {slot_names, PROMPT_SLOTS};

    for (size_t i = 0; i < PROMPT_FILES; i++) {
        char *path = fs_join(dir, files[i].name);

        p->file[i] = template_load(path, names, files[i].takes, e);
        free(path);
        if (!p->file[i])
            return err_wrap(e, "prompt templates");
    }
    return 0;
}

void prompt_files_release(struct prompts *p)
{
    for (size_t i = 0; i < PROMPT_FILES; i++)
        template_free(p->file[i]);
}

struct str prompt_render(const struct prompts *p, enum prompt_file file,
                         struct str before, const struct str *values,
                         struct arena *a)
{
    return template_render(p->file[file], before, values, a);
}

/* ---- values ---- */

struct str prompt_tidy(struct str s)
{
    struct str line;

    while (s.n && strchr(" \t\r\n", s.p[s.n - 1]) && s.p[s.n - 1])
        s.n--;
    for (struct str rest = s; str_cut(&rest, '\n', &line); s = rest)
        if (str_trim(line).n)
            break;
    return s;
}

struct str prompt_fence(const struct str *text, size_t count, struct arena *a)
{
    size_t longest = 2;
    char *p;

    for (size_t i = 0; i < count; i++) {
        struct str rest = text[i], head;

        while (str_cut(&rest, '`', &head)) {
            size_t run = 1;

            while (rest.n && rest.p[0] == '`') {
                run++;
                rest.p++;
                rest.n--;
            }
            longest = run > longest ? run : longest;
        }
    }
    p = arena_alloc(a, longest + 2);
    memset(p, '`', longest + 1);
    return (struct str){p, longest + 1};
}

struct str prompt_join(const struct str *part, size_t count, struct arena *a)
{
    struct str out = {NULL, 0};
    size_t n = 0;
    char *p;

    if (!count)
        return out;
    for (size_t i = 0; i < count; i++)
        n += part[i].n + 2;
    p = arena_alloc_raw(a, n);
    out.p = p;
    for (size_t i = 0; i < count; i++) {
        if (i) {
            memset(p + out.n, '\n', 2);
            out.n += 2;
        }
        memcpy(p + out.n, part[i].p, part[i].n);
        out.n += part[i].n;
    }
    return out;
}

struct str prompt_number(int64_t n, struct arena *a)
{
    return str_of(arena_printf(a, "%lld", (long long)n));
}

bool prompt_precision(const char *precision, struct str *values)
{
    enum precision p = precision_of(precision);

    if (p == PRECISIONS)
        return false;
    values[SLOT_PRECISION] = str_of(precision_names[p]);
    values[SLOT_DTYPE] = str_of(precision_dtypes[p]);
    return true;
}
