/* test_job.c: what the verifier is asked, and the hint behind its answer. */
#include "verify/verifier.h"

#include "base/mem.h"
#include "pack_fixture.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static struct pack *load(const struct fixture *f)
{
    struct problems problems;
    struct pack *p;

    problems_init(&problems);
    p = pack_load(&f->path, f->demo, &problems);
    if (!p)
        BUG("%s", problems.line[0]);
    problems_release(&problems);
    return p;
}

/* The part of a verify job that names the pack, as text. */
static char *asked_of(const struct pack *p)
{
    static const char source[] = "class Model: ...\n"
                                 "def get_inputs(): ...\n"
                                 "def get_init_inputs(): ...\n";
    static const char *const keys[] = {"pack", "family", "devices",
                                       "precision"};
    struct job_opts o = {
        .device = "cpu", .precision = "tf32", .protocol = "hardened"};
    struct err e = ERR_INIT;
    struct task *t = task_from("a/b", str_of(source), &e);
    json_t *job, *some = json_object();
    struct job_seeds seeds;
    char *text;

    if (!t)
        BUG("%s", e.text);
    job_seeds("secret", "a/b", 17, &seeds);
    job = job_verify(p, t, STR_LIT("x"), &o, &seeds);
    for (size_t i = 0; i < COUNT(keys); i++)
        json_object_set(some, keys[i], json_object_get(job, keys[i]));
    text = json_dumps(some, JSON_COMPACT);
    json_decref(some);
    json_decref(job);
    task_free(t);
    return text;
}

static void test_seeds(void)
{
    struct job_seeds a, b, c;

    job_seeds("secret", "t", 3, &a);
    job_seeds("secret", "t", 4, &b);
    job_seeds("secret", "t", 16, &c);
    ok(strcmp(a.own, b.own) != 0, "every attempt has a seed of its own");
    is(a.pool, b.pool, "a few attempts share a pool's seed");
    ok(strcmp(a.pool, c.pool) != 0, "which changes after sixteen");
    job_seeds("other", "t", 3, &b);
    ok(strcmp(a.pool, b.pool) != 0, "and is as secret as the run");
}

static void test_family(struct fixture *f, struct pack *p)
{
    char *text = asked_of(p);

    is(text,
       "{\"pack\":\"demo\",\"family\":\"demos\",\"devices\":[\"cpu\",\"cuda\"],"
       "\"precision\":\"tf32\"}",
       "a job names the pack's family and devices");
    free(text);
    fixture_edit(f, "pack.json", "\"family\": \"demos\",", "");
    p = load(f);
    text = asked_of(p);
    is(text,
       "{\"pack\":\"demo\",\"family\":null,\"devices\":[\"cpu\",\"cuda\"],"
       "\"precision\":\"tf32\"}",
       "the family of a pack without a recorder is null");
    free(text);
    pack_free(p);
}

static void hinted(const struct pack *p, json_t *record, const char *want,
                   const char *claim)
{
    job_add_hint(record, p);
    is(jsn_str(record, "feedback"), want, claim);
    json_decref(record);
}

static void test_hints(const struct pack *p)
{
    static const char quoted[] = "x = f('shape 1 is not 2')\nError: no";

    hinted(p,
           json_pack("{s:s, s:s}", "verdict", "compile_error", "feedback",
                     "shape 4 is not 8"),
           "shape 4 is not 8\nHint: make 4 equal to 8",
           "a hint stands behind the feedback");
    hinted(p,
           json_pack("{s:s, s:s, s:s}", "verdict", "compile_error", "feedback",
                     quoted, "message", "Error: no"),
           quoted, "what the candidate's own lines say is no error");
    hinted(p,
           json_pack("{s:s, s:s, s:s}", "verdict", "compile_error", "feedback",
                     "cut off", "message", "shape 4 is not 8"),
           "cut off\nHint: make 4 equal to 8",
           "the error's own words are looked at");
    hinted(p,
           json_pack("{s:s, s:s, s:n}", "verdict", "compile_error", "feedback",
                     "shape 4 is not 8", "message"),
           "shape 4 is not 8\nHint: make 4 equal to 8",
           "without them the feedback is");
    hinted(p,
           json_pack("{s:s, s:s}", "verdict", "correct", "feedback",
                     "shape 4 is not 8"),
           "shape 4 is not 8", "a correct kernel needs no hint");
}

SUITE(job)
{
    struct fixture f;
    struct pack *p;

    fixture_open(&f);
    p = load(&f);
    test_hints(p);
    test_family(&f, p);
    test_seeds();
    pack_free(p);
}
