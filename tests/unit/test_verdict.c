/* test_verdict.c: what the tables of verdicts, stages and evidence promise. */
#include "verify/verdict.h"

#include "tap.h"

#include <math.h>
#include <stdlib.h>

static void test_names(void)
{
    bool found = true;

    for (enum verdict v = 0; v <= VERDICT_INFRA; v++)
        found = found && verdict_of(verdicts[v].name) == v;
    ok(found, "every verdict is found by its name");
    ok(verdict_of("right") == VERDICT_UNKNOWN &&
           verdict_of(NULL) == VERDICT_UNKNOWN &&
           verdict_in(NULL) == VERDICT_UNKNOWN,
       "another word is unknown, and so is none");
}

static void test_meanings(void)
{
    bool retry = true, status = true;

    for (enum verdict v = 0; v <= VERDICT_INFRA; v++) {
        retry = retry && verdicts[v].retry == (v == VERDICT_INFRA);
        status = status &&
                 verdicts[v].exit_status == (v == VERDICT_CORRECT      ? 0
                                             : v >= VERDICT_NOT_JUDGED ? 4
                                                                       : 1);
    }
    ok(retry, "only a failure of the machinery is tried again");
    ok(status, "exit status 0 for correct, 4 where nothing is known of the "
               "candidate, else 1");
}

static double fitness(enum verdict v)
{
    return verdict_fitness(v, NAN, NAN);
}

static void test_fitness(void)
{
    static const enum verdict rising[] = {
        VERDICT_NO_CODE,      VERDICT_STATIC_REJECT, VERDICT_COMPILE_ERROR,
        VERDICT_LAUNCH_ERROR, VERDICT_NOT_FINITE,    VERDICT_WRONG_VALUES,
        VERDICT_CORRECT};
    bool up = true;

    for (size_t i = 1; i < COUNT(rising); i++)
        up = up && verdict_fitness(rising[i - 1], 1, 1) <
                       verdict_fitness(rising[i], 0, 0);
    ok(up, "each further stage is worth more, whatever its details");
    ok(verdict_fitness(VERDICT_HACK, 1, 9) == 0.05,
       "a hack is worth a refusal");
    ok(fitness(VERDICT_TIMEOUT) == 0.2 && fitness(VERDICT_CRASH) == 0.2 &&
           fitness(VERDICT_OUT_OF_MEMORY) == 0.2 &&
           fitness(VERDICT_NOT_JUDGED) == 0.2,
       "what ran and did not end well is one stage");
    ok(verdict_fitness(VERDICT_WRONG_VALUES, 0.5, NAN) == 0.4 + 0.1 * 0.5 &&
           fitness(VERDICT_WRONG_VALUES) == 0.4,
       "right elements count a little");
    ok(fitness(VERDICT_CORRECT) == 1 &&
           verdict_fitness(VERDICT_CORRECT, 1, 2) == 1.2 &&
           verdict_fitness(VERDICT_CORRECT, 1, 99) == 2,
       "speed counts once it is correct, up to ten times");
}

static void test_unrun(void)
{
    json_t *r = verdict_unrun(VERDICT_STATIC_REJECT, "no-torch", STR_LIT("x"));
    char *text = json_dumps(r, JSON_COMPACT);

    is(text,
       "{\"verdict\":\"static_reject\",\"rules\":2,\"rule\":\"no-torch\","
       "\"stage\":"
       "\"static\",\"compiled\":false,\"kernelbench_pass\":false,"
       "\"hardened_pass\":false,\"evidence\":null,\"trials\":[],"
       "\"feedback\":\"x\"}",
       "a candidate that was never run has a whole record");
    free(text);
    json_decref(r);
}

static void test_evidence(void)
{
    struct buf b = BUF_INIT;

    ok(evidence_of("E2") == EVIDENCE_E2 && evidence_of("E9") == EVIDENCE_NONE &&
           evidence_of("") == EVIDENCE_NONE &&
           evidence_of(NULL) == EVIDENCE_NONE,
       "evidence is found by its name, else there is none");
    ok(verdict_may_join("correct", "E3") &&
           !verdict_may_join("correct", "E2") &&
           !verdict_may_join("hack", "E3") &&
           !verdict_may_join("correct", NULL),
       "an archive takes what is correct at E3, and nothing else");
    evidence_explain(&b);
    is(buf_str(&b),
       "Evidence: E0 compiled, E2 passed all trials, E3 passed, and computed "
       "by the kernels alone\n",
       "one line explains the levels");
    buf_release(&b);
}

static void says(json_t *record, const char *want, const char *claim)
{
    char *line = verdict_line(record);

    is(line, want, claim);
    free(line);
    json_decref(record);
}

static void test_line(void)
{
    says(json_pack("{s:s, s:n, s:s, s:s}", "verdict", "compile_error", "infra",
                   "message", "k.c: In function 'f':\nk.c:3: error: no g\n^",
                   "feedback", "It does not compile."),
         "compile_error: k.c:3: error: no g",
         "the first line of an error that says something");
    says(json_pack("{s:s, s:s}", "verdict", "crash", "feedback", "Ended:"),
         "crash: Ended:", "… or the only one");
    says(json_pack("{s:s, s:s}", "verdict", "correct", "evidence", "E2"),
         "correct, but only at E2", "correct is not enough");
}

static void doubts(const char *gpu, double ms, const char *want,
                   const char *claim)
{
    json_t *record = json_pack(
        "{s:{s:s}, s:{s:i, s:i}, s:{s:{s:f}, s:{s:f}}}", "environment", "gpu",
        gpu, "trace", "bytes_read", 3000000, "bytes_written", 1800000, "timing",
        "ms", "median", ms, "reference_ms", "median", 0.01);
    struct arena a = {0};
    const char *why;

    why = plausible_doubt(record, &a);
    is(why ? why : "", want, claim);
    arena_release(&a);
    json_decref(record);
}

static void test_plausible(void)
{
    ok(plausible_bandwidth("Some GPU") == 0 && plausible_bandwidth("") == 0 &&
           plausible_bandwidth(NULL) == 0,
       "the bandwidth of an unknown GPU is not known");
    ok(plausible_bandwidth("NVIDIA H200") == 4.8e12 &&
           plausible_bandwidth("NVIDIA L40S") == 864e9 &&
           plausible_bandwidth("NVIDIA L4") == 300e9 &&
           plausible_bandwidth("Tesla T4") == 320e9,
       "names are those of the driver");
    ok(plausible_bandwidth("NVIDIA GeForce RTX 4090 Laptop GPU") == 0,
       "a name inside another name does not count");
    doubts("NVIDIA H200", 0.001, "", "as fast as its memory, 10 times: fine");
    doubts("NVIDIA H200", 0.00099,
           "it would move 4.85 TB/s, but the memory of NVIDIA H200 can move "
           "4.80 TB/s, and it is 10.1 times as fast as PyTorch",
           "more than both limits: both reasons");
    doubts("Some GPU", 0.0005, "it is 20.0 times as fast as PyTorch",
           "of an unknown device, only the speed-up is judged");
    doubts("NVIDIA L4", 0.005,
           "it would move 0.96 TB/s, but the memory of NVIDIA L4 can move 0.30 "
           "TB/s",
           "a small speed-up may be implausible, too");
    doubts("NVIDIA H200", 0, "", "what was not timed is not doubted");
}

SUITE(verdict)
{
    test_names();
    test_meanings();
    test_fitness();
    test_unrun();
    test_evidence();
    test_line();
    test_plausible();
}
