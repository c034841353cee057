/* test_recheck.c: passes over the kernels of an archive: what is marked, what is
 * done, and what a pass that was cut off knows. */
#include "run/recheck.h"

#include "base/mem.h"
#include "run/kernel.h"
#include "scratch.h"
#include "store_fixture.h"
#include "tap.h"

#include <string.h>

static const char program[] = "import torch\n"
                              "class Model(torch.nn.Module):\n"
                              "    def forward(self, x):\n"
                              "        return x\n"
                              "def get_inputs():\n"
                              "    return []\n"
                              "def get_init_inputs():\n"
                              "    return []\n";

static void add(const char *dir, const char *name, bool verified)
{
    struct err e = ERR_INIT;
    struct kernel k = {.name = name,
                       .solution = STR_LIT("class ModelNew: pass\n"),
                       .origin = "a test",
                       .licence = "MIT",
                       .dtype = "fp32",
                       .dsl = "x",
                       .verified = verified,
                       .verified_on = "here"};

    if (kernel_write(dir, &k, STR_LIT(program), &e) < 0)
        BUG("%s", e.text);
}

static bool is_any(const struct recheck_kernel *k, void *arg)
{
    (void)k;
    (void)arg;
    return true;
}

static struct recheck *begin(const char *dir, const char *under)
{
    struct err e = ERR_INIT;
    struct recheck *r = recheck_open(dir, &e);

    if (!r || recheck_begin(r, under, is_any, NULL, &e) < 0)
        BUG("%s", e.text);
    return r;
}

static void end(struct recheck *r)
{
    struct err e = ERR_INIT;

    recheck_close(r, &e);
}

static void note(struct recheck *r, size_t i, const char *verdict)
{
    struct err e = ERR_INIT;
    bool good = strcmp(verdict, "correct") == 0;

    if (recheck_note(r, i, verdict, good ? "E3" : "", good ? NULL : "oh no",
                     &e) < 0)
        BUG("%s", e.text);
}

static size_t done(const struct recheck *r)
{
    size_t n = 0;

    for (size_t i = 0; i < recheck_count(r); i++)
        n += recheck_at(r, i)->done;
    return n;
}

static void test_passes(const char *dir)
{
    struct recheck *r = begin(dir, "here 1");

    ok(recheck_count(r) == 2 && recheck_pass(r) == 1 && done(r) == 0,
       "a kernel that was never verified is not verified again");
    note(r, 1, "crash");
    end(r);
    r = begin(dir, "here 1");
    ok(recheck_pass(r) == 1 && done(r) == 1 && recheck_at(r, 1)->done,
       "a pass that was cut off continues");
    ok(recheck_at(r, 1)->retired && !recheck_at(r, 0)->retired &&
           strcmp(recheck_at(r, 1)->why, "oh no") == 0,
       "and knows what it has found");
    end(r);
    r = begin(dir, "here 2");
    ok(recheck_pass(r) == 2 && done(r) == 0 && recheck_at(r, 1)->retired,
       "under other conditions another pass begins");
    note(r, 0, "correct");
    note(r, 1, "correct");
    ok(!recheck_at(r, 1)->retired, "a kernel that passes is restored");
    end(r);
    r = begin(dir, "here 2");
    ok(recheck_pass(r) == 3 && done(r) == 0,
       "after a complete pass, another one begins");
    end(r);
}

/* As a program that was killed while it wrote leaves it. */
static void test_torn(const char *dir)
{
    struct recheck *r;

    scratch_put(dir, ".reverify", "pass 7 here\nb\na");
    r = begin(dir, "here");
    ok(recheck_pass(r) == 7 && done(r) == 1 && recheck_at(r, 1)->done,
       "a line without its end does not count");
    end(r);
    scratch_put(dir, ".reverify", "nonsense");
    r = begin(dir, "here");
    ok(recheck_pass(r) == 1 && done(r) == 0,
       "a file that is not one of a pass counts for nothing");
    end(r);
}

SUITE(recheck)
{
    char *dir = scratch_dir();

    add(dir, "a", true);
    add(dir, "b", true);
    add(dir, "c", false);
    test_passes(dir);
    test_torn(dir);
}
