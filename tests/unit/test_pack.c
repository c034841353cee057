/* test_pack.c: a pack from its folder, and everything that can be wrong. */
#include "pack/pack.h"

#include "pack_fixture.h"
#include "scratch.h"
#include "tap.h"

#include <string.h>

static void test_fields(const struct pack *p)
{
    is(p->id, "demo", "id");
    ok(p->language == PACK_PYTHON && p->build.timeout_s == 60,
       "how it is built");
    ok(p->run.devices == (1u << PACK_CPU | 1u << PACK_CUDA) &&
           p->run.dtypes == (1u << PRECISION_FP32 | 1u << PRECISION_BF16) &&
           p->run.default_dtype == PRECISION_BF16 &&
           p->run.hang_timeout_s == 30,
       "run");
    is(p->run.family, "demos", "the family of its recorder");
    ok(!pack_below_e3(p), "whose verdicts reach E3");
    is(p->prompt.must_define, "ModelNew", "prompt");
    ok(p->seed_count == 2 && strcmp(p->seed[0].name, "02_b") == 0,
       "seeds stand in the order given");
    ok(!p->seed[0].verified && p->seed[0].why_not && !p->seed[0].verified_on &&
           p->seed[1].verified && p->seed[1].verified_on,
       "and say whether they were verified");
    ok(p->source_count == 1 && strcmp(p->source[0].paths[0], "docs/a.md") == 0,
       "sources");
    ok(p->hints.len == 2, "hints");
}

static void test_sets(const struct pack *p)
{
    struct err e = ERR_INIT;
    const struct ruleset *s = pack_ruleset(p, "default", &e);

    ok(s && s->len == 4 && strcmp(s->rule[0].id, "no-eval") == 0 &&
           strcmp(s->rule[3].id, "slow") == 0,
       "inherited rules come first");
    ok(!s->rule[0].own && s->rule[1].own, "and are known as such");
    ok(!ruleset_find(s, "no-exec"), "one was dropped");
    ok(strcmp(p->imports[0], "lang") == 0 &&
           strcmp(p->imports[3], "torch") == 0 &&
           strcmp(p->imports[4], "torch.nn") == 0 && !p->imports[5],
       "the lists of imports are joined");
    s = pack_ruleset(p, "paper", &e);
    ok(s && s->len == 2, "the paper's set has its own");
    ok(!pack_ruleset(p, "papre", &e) && strstr(e.text, "no rule set \"papre\""),
       "there are no others");
}

static void test_load(void)
{
    struct fixture f;
    struct problems p;
    struct pack *pack;
    struct err e = ERR_INIT;

    fixture_open(&f);
    problems_init(&p);
    pack = pack_load(&f.path, scratch_text("%s//", f.demo), &p);
    if (ok(pack && p.len == 0, "a complete pack loads")) {
        is(pack->dir, f.demo, "slashes at the end do not count");
        test_fields(pack);
        test_sets(pack);
        ok(pack_can_search(pack, &e) == 0, "it can be searched with");
        pack->has_card = false;
        ok(pack_can_search(pack, &e) < 0 && strstr(e.text, "card.md"),
           "not without a card");
    }
    for (size_t i = 0; i < p.len; i++)
        printf("# %s\n", p.line[i]);
    pack_free(pack);
    problems_release(&p);
}

/* One edit of the good pack, and the line it must give. */
static const struct {
    const char *file, *from, *to, *line;
} edits[] = {
    {"pack.json", "\"fp32\", \"bf16\"", "\"fp33\", \"bf16\"",
     "pack.json: /run/dtypes/0: \"fp33\" is not one of fp32, fp16, bf16; did "
     "you mean \"fp32\"?"},
    {"pack.json", "\"fp32\", \"bf16\"", "\"fp32\", \"fp16\"",
     "pack.json: /run/default_dtype: \"bf16\" is not in /run/dtypes"},
    {"pack.json", "\"fp32\", \"bf16\"", "\"tf32\", \"bf16\"",
     "pack.json: /run/dtypes/0: \"tf32\" is not one of fp32, fp16, bf16"},
    {"pack.json", "\"demos\"", "\"De mos\"",
     "pack.json: /run/family: \"De mos\" does not match"},
    {"pack.json", "\"id\": \"demo\"", "\"id\": \"other\"",
     "pack.json: /id: \"other\" is not the folder's name \"demo\""},
    {"pack.json", "\"id\": \"demo\"", "\"id\": \"De mo\"",
     "pack.json: /id: \"De mo\" does not match"},
    {"pack.json", "\"max_guide_tokens\": 8000", "\"max_guide_tokens\": 0",
     "pack.json: /prompt/max_guide_tokens: 0 is not within 1..1000000"},
    {"pack.json", "\"display_name\"", "\"dislay_name\"",
     "pack.json: /dislay_name: unknown field; did you mean \"display_name\"?"},
    {"pack.json", "\"display_name\": \"Demo\",", "",
     "pack.json: /display_name: missing"},
    {"pack.json", "\"sm_90\"", "\"hopper\"",
     "pack.json: /run/target: \"hopper\" does not match"},
    {"pack.json", "\"I\"", "\"I=\"", "pack.json: /env/interpret_vars/I=: "},
    {"pack.json", "${pack}", "${home}",
     "pack.json: /env/vars/A: \"${home}/x\" does not match"},
    {"pack.json", "\"A\"", "\"A=\"", "pack.json: /env/vars/A=: "},
    {"pack.json", "\"target\": \"sm_90\"", "\"target\": 90",
     "pack.json: /run/target: must be a string, not a number"},
    {"pack.json", "\"helper\": \"demo_help\",", "\"helper\": \"missing\",",
     "missing.py: /: missing; pack.json names it as /run/helper"},
    {"pack.json", "\"02_b\", ", "",
     "pack.json: /prompt/seed_order: seeds/02_b is not in it"},
    {"pack.json", "\"02_b\", ", "\"02_b\", \"03_c\", ",
     "pack.json: /prompt/seed_order/1: there is no folder seeds/03_c"},
    {"pack.json", "\"id\"", "id", "pack.json:1:3: "},
    {"checks.json", "common/default.json", "common/defalt.json",
     "checks.json: /sets/default/extends/0: there is no file"},
    {"checks.json", "common/default.json", "../x.json",
     "checks.json: /sets/default/extends/0: \"../x.json\" does not match"},
    {"checks.json", "\"no-exec\"", "\"no-exc\"",
     "checks.json: /sets/default/drop/0: \"no-exc\" is not an inherited rule"},
    {"checks.json", "\"id\": \"kernel\"", "\"id\": \"no-eval\"",
     "checks.json: /sets/default/rules/0/id: \"no-eval\" is already a rule"},
    {"checks.json", "\"kind\": \"warn\"", "\"kind\": \"wran\"",
     "checks.json: /sets/default/rules/2/kind: \"wran\" is not one of require, "
     "forbid, warn; did you mean \"warn\"?"},
    {"checks.json", "\"view\": \"cut\"", "\"view\": \"tokens\"",
     "checks.json: /sets/paper/rules/0/view: \"tokens\" is not one of code, "
     "all, cut"},
    {"checks.json", "\\\\bsleep\\\\b", "sleep(",
     "checks.json: /sets/default/rules/2/pcre: at offset 6: missing"},
    {"checks.json", "lang.ops.*", "lang.*.ops",
     "checks.json: /imports/2: \"lang.*.ops\" does not match"},
    {"errors.json", "\"stage\": \"run\"", "\"stage\": \"walk\"",
     "errors.json: /hints/1/stage: \"walk\" is not one of parse, check"},
    {"errors.json", "$2", "$3", "errors.json: /hints/0/hint: $3"},
    {"sources.json", "[\"docs/a.md\"]", "[]",
     "sources.json: /sources/0/paths: has 0 elements, needs 1"},
    {"seeds/01_a/meta.json", "\"verified\": true", "\"verified\": false",
     "seeds/01_a/meta.json: /why_not: missing"},
    {"seeds/02_b/meta.json", "\"why_not\"", "\"verified_on\"",
     "seeds/02_b/meta.json: /verified_on: contradicts verified: false"},
    {"seeds/02_b/meta.json", "\"8\"", "\"[8]\"",
     "seeds/02_b/meta.json: /shapes/1: \"[8]\" does not match"},
    {"seeds/02_b/meta.json", "\"dtype\": \"bf16\"", "\"dtype\": \"bf6\"",
     "seeds/02_b/meta.json: /dtype: \"bf6\""},
};

static void refuses(const struct fixture *f, const char *line)
{
    struct problems p;
    struct pack *pack;

    problems_init(&p);
    pack = pack_load(&f->path, f->demo, &p);
    ok(!pack && problems_have(&p, line), "%s", line);
    pack_free(pack);
    problems_release(&p);
}

static void test_mistakes(void)
{
    static const char *const needed[] = {
        "pack.json",          "checks.json",
        "errors.json",        "sources.json",
        "probe.py",           "selftest/expect.json",
        "seeds/01_a/plan.md", "seeds/01_a/meta.json"};
    struct fixture f;
    char name[100];

    for (size_t i = 0; i < COUNT(edits); i++) {
        fixture_open(&f);
        fixture_edit(&f, edits[i].file, edits[i].from, edits[i].to);
        refuses(&f, edits[i].line);
    }
    for (size_t i = 0; i < COUNT(needed); i++) {
        fixture_open(&f);
        snprintf(name, sizeof(name), "demo/%s", needed[i]);
        fixture_remove(&f, name);
        refuses(&f, needed[i]);
    }
}

static void test_packs_below_e3(void)
{
    struct pack p = {0};

    ok(pack_below_e3(&p), "a pack without a recorder ends at E2");
}

static void test_all_mistakes_at_once(void)
{
    struct fixture f;
    struct problems p;

    fixture_open(&f);
    problems_init(&p);
    fixture_edit(&f, "pack.json", "\"display_name\"", "\"dislay_name\"");
    fixture_edit(&f, "checks.json", "\\\\bsleep\\\\b", "sleep(");
    fixture_edit(&f, "errors.json", "$2", "$3");
    fixture_remove(&f, "demo/probe.py");
    ok(!pack_load(&f.path, f.demo, &p) && p.len == 5,
       "mistakes in four files: each has its line (%zu)", p.len);
    problems_release(&p);
}

static void hash_of(const struct fixture *f, char out[HASH_HEX])
{
    struct problems p;
    struct pack *pack;

    problems_init(&p);
    pack = pack_load(&f->path, f->demo, &p);
    snprintf(out, HASH_HEX, "%s", pack ? pack->hash : "not loaded");
    pack_free(pack);
    problems_release(&p);
}

static void test_hash(void)
{
    struct fixture f, g;
    char first[HASH_HEX], other[HASH_HEX];

    fixture_open(&f);
    fixture_open(&g);
    hash_of(&f, first);
    hash_of(&g, other);
    ok(strlen(first) == 64, "64 digits");
    is(other, first, "the same files elsewhere have the same hash");
    fixture_write(&f, "demo/__pycache__/x.pyc", "x");
    fixture_write(&f, "demo/.hidden", "x");
    hash_of(&f, other);
    is(other, first, "what Python and editors leave does not count");
    fixture_write(&f, "demo/guide.md", "guide!\n");
    hash_of(&f, other);
    ok(strcmp(other, first) != 0, "a changed file does");
    fixture_write(&g, "demo/more.md", "");
    hash_of(&g, other);
    ok(strcmp(other, first) != 0, "an empty new one too");
    fixture_remove(&g, "demo/more.md");
    fixture_write(&g, "common/paper.json", "{\"rules\": []}");
    hash_of(&g, other);
    ok(strcmp(other, first) != 0, "and a file that is extended");
}

static void test_find(void)
{
    struct fixture f, g;
    struct pack_list l;
    struct err e = ERR_INIT;
    const char *dirs[2];
    struct pack_path path = {dirs, 2};

    fixture_open(&f);
    fixture_open(&g);
    dirs[0] = f.root;
    dirs[1] = g.root;
    fixture_write(&g, "alpha/pack.json", "{}");
    ok(pack_list(&path, &l, &e) == 0 && l.len == 2 &&
           strcmp(l.item[0].id, "alpha") == 0 &&
           strcmp(l.item[1].id, "demo") == 0,
       "a folder without pack.json is not a pack");
    is(l.item[1].dir, f.demo, "of two the first in the path counts");
    pack_list_release(&l);
    ok(packs_named(&path, (const char *const[]){"alpha"}, 1, &l, &e) == 0 &&
           l.len == 1 && strncmp(l.item[0].dir, g.root, strlen(g.root)) == 0,
       "found by id");
    pack_list_release(&l);
    ok(packs_named(&path, (const char *const[]){"dem"}, 1, &l, &e) < 0 &&
           strstr(e.text, "did you mean \"demo\"?"),
       "nearly: %s", e.text);
    ok(packs_named(&path, (const char *const[]){"zzzzzz"}, 1, &l, &e) < 0 &&
           strstr(e.text, "alpha, demo"),
       "not at all: %s", e.text);
    dirs[1] = "/nonexistent";
    ok(pack_list(&path, &l, &e) < 0 && strstr(e.text, "/nonexistent"),
       "a folder that is not there is an error");
}

/* A user's folder of packs need not hold the shared rules. */
static void test_extends_along_the_path(void)
{
    struct fixture f, g;
    struct problems p;
    struct pack_path both;
    const char *dirs[2];
    struct pack *pack;

    fixture_open(&f);
    fixture_open(&g);
    fixture_remove(&f, "common");
    dirs[0] = f.root;
    dirs[1] = g.root;
    both = (struct pack_path){dirs, 2};
    problems_init(&p);
    pack = pack_load(&both, f.demo, &p);
    ok(pack != NULL, "shared rules are found further along the path");
    pack_free(pack);
    problems_release(&p);
}

static void test_shared(void)
{
    struct fixture f;
    struct problems p;
    struct pack *pack;
    char *dir;

    fixture_open(&f);
    problems_init(&p);
    dir = scratch_path(f.root, "common");
    pack = pack_load_shared(dir, &p);
    ok(pack && pack->set[PACK_DEFAULT].len == 2 &&
           pack->set[PACK_PAPER].len == 1 &&
           pack->set[PACK_DEFAULT].rule[0].own,
       "shared rules load as sets of their own");
    pack_free(pack);
    fixture_remove(&f, "common/default.json");
    ok(!pack_load_shared(dir, &p) && problems_have(&p, "no default.json"),
       "there must be some");
    problems_release(&p);
}

SUITE(pack)
{
    test_load();
    test_mistakes();
    test_packs_below_e3();
    test_all_mistakes_at_once();
    test_hash();
    test_find();
    test_extends_along_the_path();
    test_shared();
}
