/* pack_fixture.c: packs in a temporary folder. */
#include "pack_fixture.h"

#include "base/fs.h"
#include "base/mem.h"
#include "scratch.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *text;
} files[] = {
    {"common/default.json",
     "{\"imports\": [\"torch\", \"torch.nn\"],\n"
     " \"rules\": [\n"
     "  {\"id\": \"no-eval\", \"kind\": \"forbid\", \"view\": \"all\",\n"
     "   \"pcre\": \"\\\\beval\\\\b\", \"message\": \"eval is not allowed\"},\n"
     "  {\"id\": \"no-exec\", \"kind\": \"forbid\", \"view\": \"all\",\n"
     "   \"pcre\": \"\\\\bexec\\\\b\", \"message\": \"no exec\"}]}\n"},
    {"common/paper.json",
     "{\"rules\": [\n"
     "  {\"id\": \"paper-pass\", \"kind\": \"forbid\", \"view\": \"cut\",\n"
     "   \"pcre\": \"\\\\bpass\\\\b\", \"message\": \"pass\"}]}\n"},
    {"common/selftest/expect.json",
     "{\"good\": {\"plain.py\": [\"no-eval\", \"no-exec\"]},\n"
     " \"bad\": {\"eval.py\": [\"no-eval\"], \"exec.py\": [\"no-exec\"]},\n"
     " \"paper\": {\"good\": {\"x.py\": [\"paper-pass\"]},\n"
     "             \"bad\": {\"p.py\": [\"paper-pass\"]}}}\n"},
    {"common/selftest/good/plain.py", "evaluate = 1\n"},
    {"common/selftest/bad/eval.py", "eval('1')\n"},
    {"common/selftest/bad/exec.py", "exec('1')\n"},
    {"common/selftest/paper/good/x.py", "# pass\nx = 1\n"},
    {"common/selftest/paper/bad/p.py", "pass\n"},
    {"demo/pack.json",
     "{\"id\": \"demo\", \"display_name\": \"Demo\",\n"
     " \"prompt_name\": \"Demo\", \"language\": \"python\",\n"
     " \"pack_version\": \"1\",\n"
     " \"env\": {\"vars\": {\"A\": \"${pack}/x\"},\n"
     "   \"cache_vars\": [\"CACHE_DIR\"], \"interpret_vars\": {\"I\": "
     "\"1\"}},\n"
     " \"build\": {\"timeout_s\": 60},\n"
     " \"run\": {\"helper\": \"demo_help\", \"family\": \"demos\",\n"
     "   \"target\": \"sm_90\", \"devices\": [\"cpu\", \"cuda\"],\n"
     "   \"dtypes\": [\"fp32\", \"bf16\"], \"default_dtype\": \"bf16\",\n"
     "   \"hang_timeout_s\": 30},\n"
     " \"prompt\": {\"answer_fence\": \"python\",\n"
     "   \"must_define\": \"ModelNew\", \"plan_hint\": \"\",\n"
     "   \"code_hint\": \"c\", \"max_guide_tokens\": 8000,\n"
     "   \"seed_order\": [\"02_b\", \"01_a\"]}}\n"},
    {"demo/checks.json",
     "{\"imports\": [\"lang\", \"demo_help\", \"lang.ops.*\"],\n"
     " \"sets\": {\n"
     "  \"default\": {\"extends\": [\"common/default.json\"],\n"
     "   \"drop\": [\"no-exec\"], \"rules\": [\n"
     "   {\"id\": \"kernel\", \"kind\": \"require\", \"view\": \"all\",\n"
     "    \"pcre\": \"@jit\", \"message\": \"write a kernel\"},\n"
     "   {\"id\": \"no-dot\", \"kind\": \"forbid\", \"view\": \"all\",\n"
     "    \"pcre\": \"\\\\bdot\\\\((\\\\w*)\", \"message\": \"dot of $1\"},\n"
     "   {\"id\": \"slow\", \"kind\": \"warn\", \"view\": \"all\",\n"
     "    \"pcre\": \"\\\\bsleep\\\\b\", \"message\": \"slow: $0\"}]},\n"
     "  \"paper\": {\"extends\": [\"common/paper.json\"], \"rules\": [\n"
     "   {\"id\": \"paper-jit\", \"kind\": \"require\", \"view\": \"cut\",\n"
     "    \"pcre\": \"@jit\", \"message\": \"no @jit\"}]}}}\n"},
    {"demo/errors.json",
     "{\"hints\": [\n"
     "  {\"id\": \"shape\", \"stage\": \"compile\",\n"
     "   \"pcre\": \"shape (\\\\d+) is not (\\\\d+)\",\n"
     "   \"hint\": \"make $1 equal to $2\", \"cite\": \"manual\"},\n"
     "  {\"id\": \"memory\", \"stage\": \"run\",\n"
     "   \"pcre\": \"out of memory\", \"hint\": \"use less\"}]}\n"},
    {"demo/sources.json",
     "{\"sources\": [{\"repo\": \"https://example.org/r\",\n"
     "  \"commit\": \"abc\", \"paths\": [\"docs/a.md\"],\n"
     "  \"licence\": \"MIT\"}]}\n"},
    {"demo/probe.py", "print('checks: a test')\n"},
    {"demo/demo_help.py", "def build(): ...\n"},
    {"demo/guide.md", "guide\n"},
    {"demo/card.md", "card\n"},
    {"demo/seeds/01_a/task.py", "t\n"},
    {"demo/seeds/01_a/plan.md", "p\n"},
    {"demo/seeds/01_a/solution.py", "@jit\ndef k(): return 1\n"},
    {"demo/seeds/01_a/meta.json",
     "{\"origin\": \"own\", \"licence\": \"MIT\", \"dtype\": \"fp32\",\n"
     " \"shapes\": [\"4x4\"], \"verified\": true,\n"
     " \"verified_on\": \"a machine\"}\n"},
    {"demo/seeds/02_b/task.py", "t\n"},
    {"demo/seeds/02_b/plan.md", "p\n"},
    {"demo/seeds/02_b/solution.py", "@jit\ndef k(): return 2\n"},
    {"demo/seeds/02_b/meta.json",
     "{\"origin\": \"own\", \"licence\": \"MIT\", \"dtype\": \"bf16\",\n"
     " \"shapes\": [\"4x4\", \"8\"], \"verified\": false,\n"
     " \"why_not\": \"no device\"}\n"},
    {"demo/selftest/expect.json",
     "{\"good\": {\"a.py\": [\"kernel\", \"no-dot\", \"slow\"],\n"
     "            \"w.py\": [\"warn:slow\"]},\n"
     " \"bad\": {\"none.py\": [\"kernel\", \"no-dot\"],\n"
     "           \"slow.py\": [\"slow\"]},\n"
     " \"errors\": {\"s.txt\": \"shape\", \"m.txt\": \"memory\"},\n"
     " \"paper\": {\"good\": {\"g.py\": [\"paper-jit\"]},\n"
     "             \"bad\": {\"b.py\": [\"paper-jit\", \"paper-pass\"]}}}\n"},
    {"demo/selftest/good/a.py", "@jit\ndef k(): return dots(1), asleep\n"},
    {"demo/selftest/good/w.py", "@jit\ndef k(): return sleep\n"},
    {"demo/selftest/bad/none.py", "x = dot(y)\n"},
    {"demo/selftest/bad/slow.py", "@jit\ndef k(): return sleep\n"},
    {"demo/selftest/errors/s.txt", "line 1\nshape 4 is not 8\n"},
    {"demo/selftest/errors/m.txt", "out of memory\n"},
    {"demo/selftest/paper/good/g.py", "@jit\ndef k(): return 1\n"},
    {"demo/selftest/paper/bad/b.py", "# @jit\npass\n"},
};

void fixture_write(const struct fixture *f, const char *name, const char *text)
{
    scratch_put(f->root, name, text);
}

void fixture_remove(const struct fixture *f, const char *name)
{
    char *path = scratch_path(f->root, name);

    if (remove(path) < 0)
        fs_remove_tree(path);
    if (access(path, F_OK) == 0)
        BUG("fixture: cannot remove %s", path);
}

void fixture_edit(const struct fixture *f, const char *name, const char *from,
                  const char *to)
{
    const char *old = scratch_read(scratch_path(f->demo, name));
    const char *at = strstr(old, from);

    if (!at)
        BUG("fixture: no %s in %s", from, name);
    scratch_put(
        f->demo, name,
        scratch_text("%.*s%s%s", (int)(at - old), old, to, at + strlen(from)));
}

void fixture_open(struct fixture *f)
{
    f->root = scratch_dir();
    f->demo = scratch_path(f->root, "demo");
    f->dirs[0] = f->root;
    f->path = (struct pack_path){f->dirs, 1};
    for (size_t i = 0; i < COUNT(files); i++)
        fixture_write(f, files[i].name, files[i].text);
}

bool problems_have(const struct problems *p, const char *text)
{
    for (size_t i = 0; i < p->len; i++)
        if (strstr(p->line[i], text))
            return true;
    printf("# not among %zu: %s\n", p->len, text);
    for (size_t i = 0; i < p->len; i++)
        printf("#   %s\n", p->line[i]);
    return false;
}
