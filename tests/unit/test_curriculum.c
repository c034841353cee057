/* test_curriculum.c: decompositions as values and as folders. */
#include "base/fs.h"
#include "curriculum/maker.h"
#include "scratch.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOURCE                                        \
    "import torch\nimport torch.nn as nn\n"           \
    "class Model(nn.Module):\n"                       \
    "    def forward(self, x):\n"                     \
    "        return torch.relu(x).sum(1)\n"           \
    "def get_inputs():\n    return [torch.rand(3)]\n" \
    "def get_init_inputs():\n    return []\n"

#define PARENT(problem, sub) \
    "{\"problem\": \"" problem "\", \"sub\": \"" sub "\"}"
#define PIECE(depth, needs, parents)                                          \
    "{\"variants\": [], \"piece\": {\"title\": \"a step\", \"kind\": "        \
    "\"partition\", \"level\": \"coarse\", \"depth\": " depth ", \"needs\": " \
    "[" needs "], \"parents\": [" parents "]}}"
#define TENSOR "\"shape\": [2, 3], \"dtype\": \"fp32\""
#define SUB(id, piece)                                                      \
    "{\"id\": \"" id "\", \"title\": \"a step\", \"kind\": \"partition\", " \
    "\"inputs\": [{\"name\": \"x\", \"from\": \"orig:x\", " TENSOR "}], "   \
    "\"outputs\": [{\"name\": \"y\", " TENSOR "}], \"depends_on\": [], "    \
    "\"piece\": \"" piece "\"}"
#define PROBLEM(id, subs)                                                   \
    "{\"problem_id\": \"" id "\", \"level\": \"coarse\", \"subproblems\": " \
    "[" subs "], \"composition\": {\"claimed\": true, \"proved\": true, "   \
    "\"output\": \"two:0\", \"covers\": [\"one\", \"two\"]}, "              \
    "\"findings\": []}"

static char *dir;

static void put(const char *name, const char *text)
{
    scratch_put(dir, name, text);
}

static void drop(const char *name)
{
    unlink(scratch_path(dir, name));
}

/* Two pieces of one problem and of another, which has the first as well. */
static void put_good(void)
{
    put("pieces/a_one.py", SOURCE);
    put("pieces/a_one.json",
        PIECE("0", "", PARENT("t/a", "one") ", " PARENT("t/b", "first")));
    put("pieces/a_two.py", SOURCE);
    put("pieces/a_two.json", PIECE("1", "\"a_one\"", PARENT("t/a", "two")));
    put("problems/a.json",
        PROBLEM("t/a", SUB("one", "a_one") ", " SUB("two", "a_two")));
    put("problems/b.json", PROBLEM("t/b", SUB("first", "a_one")));
}

static void refused(const char *claim, const char *file, const char *key)
{
    struct curriculum c;
    struct err e = ERR_INIT;
    int rc = curriculum_read(&c, dir, &e);

    ok(rc < 0 && e.kind == ERR_INPUT && strstr(e.text, file) &&
           strstr(e.text, key),
       "%s: %s", claim, e.text);
    curriculum_release(&c);
}

/* Refused with another text in this file, and good again afterwards. */
static void refused_with(const char *claim, const char *file, const char *text,
                         const char *key)
{
    put(file, text);
    refused(claim, key[0] == '/' ? file : "", key);
    put_good();
}

static void check_good(const struct curriculum *c)
{
    const struct problem *a = curriculum_problem(c, "t/a"),
                         *b = curriculum_problem(c, "t/b");
    const struct piece *two = curriculum_piece(c, "a_two");

    ok(c->len == 2 && c->nproblems == 2, "two pieces of two problems");
    ok(a && a->depth == 2 && b && b->depth == 1,
       "a problem is one deeper than its deepest piece");
    ok(two == &c->piece[1] && two->depth == 1 && two->nneeds == 1 &&
           strcmp(two->needs[0], "a_one") == 0,
       "pieces come in the order of their depths");
    is(two->task->id, "pieces/a_two", "a piece is a task");
    ok(c->piece[0].nparents == 2 &&
           strcmp(c->piece[0].parents[1].problem, "t/b") == 0,
       "a piece may belong to several problems");
    ok(json_object_get(two->task->sidecar, "variants") != NULL,
       "the rest of a sidecar is kept");
}

static void test_round_trip(void)
{
    struct curriculum c, again;
    struct err e = ERR_INIT;
    char *copy = scratch_path(dir, "copy");

    put_good();
    ok(curriculum_read(&c, dir, &e) == 0, "a folder is read: %s", e.text);
    check_good(&c);
    ok(curriculum_write(&c, copy, &e) == 0, "and written: %s", e.text);
    ok(curriculum_write(&c, copy, &e) == 0, "and written again: %s", e.text);
    ok(curriculum_read(&again, copy, &e) == 0, "and read: %s", e.text);
    check_good(&again);
    scratch_put(copy, "pieces/x.py", SOURCE);
    ok(curriculum_write(&c, copy, &e) < 0 && strstr(e.text, "pieces/x.py"),
       "a folder with other pieces is left alone: %s", e.text);
    curriculum_release(&again);
    curriculum_release(&c);
}

static void test_refused_pieces(void)
{
    const char *one = "pieces/a_one.json", *two = "pieces/a_two.json";

    refused_with("a circle", one,
                 PIECE("0", "\"a_two\"",
                       PARENT("t/a", "one") ", " PARENT("t/b", "first")),
                 "circle");
    refused_with("a piece that needs itself", two,
                 PIECE("1", "\"a_two\"", PARENT("t/a", "two")), "circle");
    refused_with("a wrong depth", two,
                 PIECE("2", "\"a_one\"", PARENT("t/a", "two")), "/piece/depth");
    refused_with("a negative depth", two,
                 PIECE("-1", "\"a_one\"", PARENT("t/a", "two")),
                 "/piece/depth");
    refused_with("an unknown need", two,
                 PIECE("1", "\"other\"", PARENT("t/a", "two")),
                 "/piece/needs/0");
    refused_with("a need named twice", two,
                 PIECE("1", "\"a_one\", \"a_one\"", PARENT("t/a", "two")),
                 "/piece/needs");
    refused_with("a need that leaves the folder", two,
                 PIECE("1", "\"../x\"", PARENT("t/a", "two")), "/piece/needs");
    refused_with("no parent", two, PIECE("1", "\"a_one\"", ""),
                 "/piece/parents");
    refused_with("an unknown problem", two,
                 PIECE("1", "\"a_one\"", PARENT("t/c", "two")),
                 "/piece/parents/0");
    refused_with("another subproblem's piece", two,
                 PIECE("1", "\"a_one\"", PARENT("t/a", "one")),
                 "/piece/parents/0");
    refused_with("no piece", two, "{}", "/piece");
    refused_with("no JSON", two, "{", ":1:");
    refused_with("an unknown kind", two,
                 "{\"piece\": {\"title\": \"x\", \"kind\": \"part\"}}",
                 "/piece/kind");
    refused_with("no task", "pieces/a_two.py", "x = 1\n", "class Model");
    drop(two);
    refused("no sidecar", "pieces/a_two.py", "sidecar");
    put_good();
}

static void test_refused_problems(void)
{
    const char *a = "problems/a.json";

    refused_with("a piece that is not there", a,
                 PROBLEM("t/a", SUB("one", "a_one") ", " SUB("two", "x")),
                 "a_two.json: /piece/parents/0");
    refused_with("a problem twice", a, PROBLEM("t/b", SUB("first", "a_one")),
                 "b.json: /problem_id");
    refused_with("an id twice", a,
                 PROBLEM("t/a", SUB("one", "a_one") ", " SUB("one", "a_two")),
                 "/subproblems/1/id");
    refused_with("an illegal id", a, PROBLEM("t/a", SUB("One", "a_one")),
                 "/subproblems/0/id");
    refused_with("no level", a, "{\"problem_id\": \"t/a\"}", "/level");
    refused_with("no object", a, "[]", "/");
    drop("problems/b.json");
    refused("a problem that is missing", "pieces/a_one.json",
            "/piece/parents/1");
    put_good();
    drop("pieces/a_two.py");
    refused("a piece that is missing", a, "/subproblems/1/piece");
    put_good();
    drop(a);
    drop("problems/b.json");
    refused("no problems", "problems", "no problem");
}

/* ---- replies ---- */

#define PROPOSAL(subs, composition)                                          \
    "Here it is:\n```json\n{\"problem_id\": \"t/a\", \"level\": "            \
    "\"coarse\", \"subproblems\": [" subs "], \"composition\": " composition \
    "}\n```\n"
#define PROPOSED(id, from)                                                 \
    "{\"id\": \"" id "\", \"title\": \"a step\", \"kind\": "               \
    "\"stepping_stone\", \"inputs\": [{\"name\": \"x\", \"from\": \"" from \
    "\", " TENSOR "}], \"outputs\": [{\"name\": \"y\", " TENSOR "}], "     \
    "\"depends_on\": [], \"source\": \"import torch\", \"why\": \"small\"}"
#define UNCLAIMED "{\"claimed\": false, \"output\": null, \"covers\": []}"

static void reply_is(const char *claim, const char *reply, const char *why)
{
    struct err e = ERR_INIT;
    const char *code;
    json_t *v = contract_extract(str_of(reply), &code, &e);

    ok(why ? !v && strstr(e.text, why) &&
                 strcmp(code, *why == '/' ? "bad_schema" : "bad_json") == 0
           : v != NULL,
       "%s: %s", claim, e.text);
    json_decref(v);
}

static void test_replies(void)
{
    reply_is("a proposal in a fence is found",
             PROPOSAL(PROPOSED("one", "orig:x"), UNCLAIMED), NULL);
    reply_is("an input may come from another piece",
             PROPOSAL(PROPOSED("one", "orig:x") ", " PROPOSED("two", "one:0"),
                      UNCLAIMED),
             NULL);
    reply_is("no JSON", "I would rather not.", "JSON");
    reply_is("no subproblem", PROPOSAL("", UNCLAIMED), "/subproblems");
    reply_is("an input from nowhere",
             PROPOSAL(PROPOSED("one", "somewhere"), UNCLAIMED),
             "/subproblems/0/inputs/0/from");
    reply_is("an illegal id", PROPOSAL(PROPOSED("a-b", "fresh"), UNCLAIMED),
             "/subproblems/0/id");
    reply_is("no composition", PROPOSAL(PROPOSED("one", "fresh"), "null"),
             "/composition");
    reply_is("a claim without an output",
             PROPOSAL(PROPOSED("one", "fresh"), "{\"claimed\": true}"),
             "/composition/output");
}

/* ---- several problems ---- */

#define PROGRAM(argument, line)                                 \
    "import torch\nclass Model:\n  def forward(self, " argument \
    "):\n    " line "\n"                                        \
    "def get_inputs():\n  return [torch.rand(3)]\n"             \
    "def get_init_inputs():\n  return []\n"

/* A subproblem with one input. */
static json_t *sub_of(const char *id, const char *from, int size,
                      const char *source)
{
    return json_pack(
        "{s:s, s:s, s:s, s:[{s:s, s:s, s:[i], s:s}], s:[{s:s, s:[i], s:s}], "
        "s:[], s:s, s:n, s:s}",
        "id", id, "title", "a step", "kind", "partition", "inputs", "name", "x",
        "from", from, "shape", size, "dtype", "fp32", "outputs", "name", "y",
        "shape", size, "dtype", "fp32", "depends_on", "source", source,
        "sidecar", "why", "small");
}

/* Takes the subproblems over. */
static json_t *answer_of(const char *id, json_t *subs)
{
    return json_pack("{s:s, s:s, s:o, s:{s:b, s:b, s:s}, s:[], s:[]}",
                     "problem_id", id, "level", "fine", "subproblems", subs,
                     "composition", "claimed", 0, "proved", 0, "output", "",
                     "findings", "trace");
}

static void merge(struct curriculum *out, json_t *a, json_t *b)
{
    struct err e = ERR_INIT;
    struct task *x = task_from("one/Same Name.py", str_of(SOURCE), &e),
                *y = task_from("two/Same Name.py", str_of(SOURCE), &e);
    struct merge_part part[] = {{x, a}, {y, b}};
    int rc;

    ok(contract_check(a, "a", CONTRACT_ANSWER, &e) == 0 &&
           contract_check(b, "b", CONTRACT_ANSWER, &e) == 0,
       "two answers: %s", e.text);
    rc = curriculum_merge(out, part, 2, &e);
    ok(rc == 0, "are merged: %s", e.text);
    task_free(x);
    task_free(y);
    json_decref(a);
    json_decref(b);
}

static void test_merge(void)
{
    struct curriculum c;
    const struct piece *shared, *last;

    merge(
        &c,
        answer_of(
            "p/a",
            json_pack("[o, o]",
                      sub_of("one", "orig:x", 3, PROGRAM("x", "return x + 1")),
                      sub_of("two", "one:0", 3, PROGRAM("x", "return x * 2")))),
        answer_of(
            "p/b",
            json_pack(
                "[o, o, o]",
                sub_of("first", "orig:y", 3,
                       PROGRAM("q", "return q + 1  # again")),
                sub_of("larger", "orig:y", 4, PROGRAM("x", "return x + 1")),
                sub_of("third", "first:0", 3, PROGRAM("x", "return x - 1")))));
    ok(c.len == 4 && c.nproblems == 2,
       "a program that differs in names alone is one piece: %zu", c.len);
    shared = curriculum_piece(&c, "same_name_one");
    last = curriculum_piece(&c, "same_name_2_third");
    ok(shared && shared->nparents == 2 && shared->depth == 0 &&
           strcmp(shared->parents[1].sub, "first") == 0,
       "it has both parents, and the name of the first");
    ok(curriculum_piece(&c, "same_name_2_larger") != NULL,
       "other sizes are another piece; two files of one name are told apart");
    ok(last && last->depth == 1 && last->nneeds == 1 &&
           strcmp(last->needs[0], "same_name_one") == 0,
       "what takes its output needs it, in the other problem as well");
    curriculum_release(&c);
}

static void test_merge_circle(void)
{
    struct curriculum c;

    merge(&c,
          answer_of("p/a", json_pack("[o, o]",
                                     sub_of("one", "orig:x", 3,
                                            PROGRAM("x", "return x + 1")),
                                     sub_of("two", "one:0", 3,
                                            PROGRAM("x", "return x * 2")))),
          answer_of(
              "p/b",
              json_pack(
                  "[o, o, o]",
                  sub_of("two", "orig:x", 3, PROGRAM("x", "return x * 2")),
                  sub_of("one", "two:0", 3, PROGRAM("x", "return x + 1")),
                  sub_of("more", "one:0", 3, PROGRAM("x", "return x + 1")))));
    ok(c.len == 2 && c.piece[0].nneeds == 0 && c.piece[1].nneeds == 1,
       "problems that use two pieces in opposite orders make no circle");
    ok(c.piece[0].nparents == 3, "a problem may have one piece twice");
    curriculum_release(&c);
}

SUITE(curriculum)
{
    dir = scratch_dir();
    ok(fs_is_dir(dir), "a folder");
    test_round_trip();
    test_refused_pieces();
    test_refused_problems();
    test_replies();
    test_merge();
    test_merge_circle();
}
