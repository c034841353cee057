/* test_selftest.c: a pack's own tests: what passes, and every way to fail. */
#include "verify/selftest.h"

#include "pack_fixture.h"
#include "scratch.h"
#include "tap.h"

#include <stdio.h>

static struct pack *load(const struct fixture *f)
{
    struct problems p;
    struct pack *pack;

    problems_init(&p);
    pack = pack_load(&f->path, f->demo, &p);
    for (size_t i = 0; i < p.len; i++)
        printf("# %s\n", p.line[i]);
    problems_release(&p);
    return pack;
}

static void test_passes(void)
{
    struct fixture f;
    struct problems p;
    struct pack *pack;

    fixture_open(&f);
    problems_init(&p);
    pack = load(&f);
    ok(pack && selftest_run(pack, &p) && p.len == 0, "the pack passes");
    for (size_t i = 0; i < p.len; i++)
        printf("# %s\n", p.line[i]);
    pack_free(pack);
    pack = pack_load_shared(scratch_path(f.root, "common"), &p);
    ok(pack && selftest_run(pack, &p), "so do the shared rules, alone");
    for (size_t i = 0; i < p.len; i++)
        printf("# %s\n", p.line[i]);
    pack_free(pack);
    problems_release(&p);
}

/* One edit of the good pack, and the line it must give. */
static const struct {
    const char *file, *from, *to, *line;
} edits[] = {
    {"selftest/good/a.py", "dots(1)", "dot(z)",
     "good/a.py:2: must be accepted, but hits no-dot: dot of z"},
    {"selftest/good/a.py", "@jit", "jit",
     "good/a.py: must be accepted, but hits kernel: write a kernel"},
    {"selftest/good/a.py", "asleep", "sleep",
     "good/a.py:2: must not have the warning slow: slow: sleep"},
    {"selftest/bad/none.py", "dot(y)", "dots(y)",
     "bad/none.py: must hit no-dot, but does not"},
    {"selftest/bad/none.py", "dot(y)", "dot(y), eval(y)",
     "bad/none.py:1: is not expected to hit no-eval: eval is not allowed"},
    {"selftest/bad/slow.py", "sleep", "asleep",
     "bad/slow.py: must hit slow, but does not"},
    {"selftest/errors/s.txt", "shape 4", "shape x",
     "errors/s.txt: must find the hint shape, but finds none"},
    {"selftest/paper/good/g.py", "return 1", "pass",
     "paper/good/g.py:2: must be accepted, but hits paper-pass: pass"},
    {"selftest/paper/bad/b.py", "# @jit", "@jit",
     "paper/bad/b.py: must hit paper-jit, but does not"},
    {"selftest/expect.json", "\"no-dot\", \"slow\"],", "\"slow\"],",
     "expect.json: /good: no file for the rule \"no-dot\"; add one"},
    {"selftest/expect.json", "\"w.py\": [\"warn:slow\"]", "\"w.py\": []",
     "good/w.py:2: must not have the warning slow"},
    {"selftest/expect.json", "[\"slow\"]", "[\"kernel\"]",
     "expect.json: /bad: no file for the rule \"slow\"; add one"},
    {"selftest/expect.json", "{\"g.py\": [\"paper-jit\"]}", "{\"g.py\": []}",
     "expect.json: /paper/good: no file for the rule \"paper-jit\"; add one"},
    {"selftest/expect.json", "\"m.txt\": \"memory\"", "\"m.txt\": \"shape\"",
     "expect.json: /errors: no message for the hint \"memory\"; add one"},
    {"selftest/expect.json", "\"memory\"", "\"memoir\"",
     "expect.json: /errors/m.txt: there is no hint \"memoir\""},
    {"selftest/expect.json", "\"no-dot\"]", "\"no-dog\"]",
     "expect.json: /bad/none.py/1: there is no rule \"no-dog\" in the set "
     "default"},
    {"selftest/expect.json", "warn:slow", "warn:kernel",
     "expect.json: /good/w.py/0: rule \"kernel\" is not of the kind warn"},
    {"selftest/expect.json", "\"w.py\"", "\"ww.py\"", "expect.json: /good: "},
    {"selftest/expect.json", "\"w.py\"", "\"ww.py\"",
     "good/ww.py: cannot open"},
    {"selftest/expect.json", "\"bad\"", "\"badd\"",
     "expect.json: /badd: unknown field; did you mean \"bad\"?"},
    {"seeds/01_a/solution.py", "return 1", "return eval",
     "seeds/01_a/solution.py:2: must be accepted, but hits no-eval"},
};

static void fails_with(const struct fixture *f, const char *line)
{
    struct pack *pack = load(f);
    struct problems p;

    problems_init(&p);
    ok(pack && !selftest_run(pack, &p) && problems_have(&p, line), "%s", line);
    problems_release(&p);
    pack_free(pack);
}

static void test_failures(void)
{
    struct fixture f;

    for (size_t i = 0; i < COUNT(edits); i++) {
        fixture_open(&f);
        fixture_edit(&f, edits[i].file, edits[i].from, edits[i].to);
        fails_with(&f, edits[i].line);
    }
    fixture_open(&f);
    fixture_write(&f, "demo/selftest/bad/stray.py", "x\n");
    fails_with(&f, "expect.json: /bad: ");
    fixture_open(&f);
    fixture_write(&f, "demo/checks.json",
                  "{\"imports\": [], \"sets\": {\"default\":"
                  " {\"rules\": []}}}");
    fails_with(&f, "expect.json: /paper: the pack has no set paper; remove it");
}

/* Each own rule of each set is missed by the files that name it. */
static void test_without(void)
{
    struct fixture f;
    struct pack *pack;
    struct problems p;

    fixture_open(&f);
    pack = load(&f);
    problems_init(&p);
    for (int s = 0; pack && s < PACK_SETS; s++) {
        const struct ruleset *set = &pack->set[s];

        for (size_t i = 0; i < set->len; i++)
            if (set->rule[i].own)
                ok(selftest_without(pack, (enum pack_set)s, set->rule[i].id,
                                    &p) == 1,
                   "%s: somebody would miss %s", set->name, set->rule[i].id);
    }
    ok(problems_have(&p, "must hit slow, but does not"), "and it says who");
    ok(pack && selftest_without(pack, PACK_DEFAULT, "no-eval", &p) == 0,
       "a rule that no bad file names is missed by none");
    problems_release(&p);
    pack_free(pack);
}

SUITE(selftest)
{
    test_passes();
    test_failures();
    test_without();
}
