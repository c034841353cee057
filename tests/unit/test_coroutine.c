/* test_coroutine.c: coroutines: straight functions that wait, are cancelled, and end. */
#include "base/json.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/co.h"
#include "io/loop.h"
#include "respawn.h"
#include "tap.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct loop *loop;

static void on_time(void *arg)
{
    co_happen(arg);
}

/* A wait for the loop, as any wait for a callback is written. */
static int pass_turn(void)
{
    struct co_event v = {0};
    uint64_t id = loop_defer(loop, on_time, &v);

    if (co_wait(&v) == 0)
        return 0;
    loop_remove(loop, id);
    return -1;
}

/* ---- order ---- */

static char told[64];

static void say(const char *word)
{
    size_t n = strlen(told);

    snprintf(told + n, sizeof(told) - n, "%s", word);
}

static void on_beat(void *arg)
{
    say("-");
    if (strlen(told) < 12)
        loop_defer(loop, on_beat, arg);
}

static void count_to_three(void *arg)
{
    (void)arg;
    for (int i = 1; i <= 3; i++) {
        say(i == 1 ? "1" : i == 2 ? "2" : "3");
        pass_turn();
    }
    say(".");
}

static void test_order(void)
{
    told[0] = '\0';
    loop_defer(loop, on_beat, NULL);
    ok(co_start(count_to_three, NULL) != NULL && strcmp(told, "1") == 0,
       "a coroutine runs at once, until its first wait");
    loop_run(loop);
    ok(strncmp(told, "1-2-3-.", 7) == 0 && co_alive() == 0,
       "while it waits, the callbacks of the loop run: %s", told);
}

static void say_and_end(void *arg)
{
    (void)arg;
    say("x");
}

static void start_another(void *arg)
{
    struct co_event *below = arg;

    say("a");
    co_start(say_and_end, NULL);
    say("b");
    co_wait(below);
    say("c");
    co_wait(below);
    say("d");
}

static void test_events(void)
{
    struct co_event v = {0};

    told[0] = '\0';
    co_start(start_another, &v);
    is(told, "axb", "one that is started within another one runs first");
    co_happen(&v);
    is(told, "axbcd",
       "who waits for what has happened goes on, and an event stays so");
}

/* ---- cancelling ---- */

static void wait_in_vain(void *arg)
{
    struct co_event never = {0}, already = {.happened = true};
    int *n = arg;

    while (*n < 3 && co_wait(&never) < 0)
        ++*n;
    *n += co_wait(&already) == 0 ? 10 : 0;
}

static void test_cancel(void)
{
    int n = 0;
    struct co *c = co_start(wait_in_vain, &n);

    ok(n == 0 && co_alive() == 1, "a coroutine waits");
    co_cancel(c);
    ok(n == 13 && co_alive() == 0,
       "cancelled, it is over at once: no wait holds it any longer, but what "
       "has happened has");
}

#define SLOTS 64
#define WORKS 4000

/* Several units of work, each of which holds memory over six waits. */
struct works {
    struct rng rng;
    struct co *slot[SLOTS];
    size_t started, done, unwound, cancelled;
};
struct work {
    struct works *all;
    size_t slot;
};

static void work(void *arg)
{
    struct work w = *(struct work *)arg;
    char *held[6] = {0};
    int i = 0;

    for (; i < 6; i++) {
        held[i] = xstrdup("what a step has made");
        if (pass_turn() < 0)
            break;
    }
    if (i == 6)
        w.all->done++;
    else
        w.all->unwound++;
    for (i = 0; i < 6; i++)
        free(held[i]);
    w.all->slot[w.slot] = NULL;
}

static void start_works(struct works *w)
{
    for (size_t i = 0; i < SLOTS && w->started < WORKS; i++)
        if (!w->slot[i]) {
            w->started++;
            w->slot[i] = co_start(work, &(struct work){w, i});
        }
}

static void test_many(void)
{
    struct works w = {0};

    rng_init(&w.rng, "works");
    while (w.done + w.unwound < WORKS) {
        start_works(&w);
        for (int n = 0; n < 5; n++) {
            size_t i = rng_next(&w.rng) % SLOTS;

            if (!w.slot[i])
                continue;
            w.cancelled++;
            co_cancel(w.slot[i]);
        }
        loop_run_for(loop, 0);
    }
    ok(w.done + w.unwound == WORKS && w.unwound == w.cancelled &&
           w.done > WORKS / 10 && w.unwound > WORKS / 10,
       "of %d units of work, %zu were cancelled at some wait, and the others "
       "are done",
       WORKS, w.cancelled);
    ok(co_alive() == 0 && loop_run_for(loop, 0),
       "nothing of them is left, in the loop neither");
}

/* ---- the stack ---- */

static void parse_deep(void *arg)
{
    char text[2 * 64 + 1] = "";
    struct err e = ERR_INIT;
    json_t *v;

    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    v = jsn_parse("deep", text, 128, &e);
    *(bool *)arg = v != NULL;
    json_decref(v);
}

/* As good as without end; each call needs what the one below it leaves. */
static int fall(volatile char *above, int n)
{
    volatile char here[1000];

    if (n == INT_MAX)
        return 0;
    memset((char *)here, n, sizeof(here));
    here[0] = above[0];
    return fall(here, n + 1) + here[n % 1000];
}

static void fall_down(void *arg)
{
    char top = 'x';

    *(int *)arg = fall(&top, 0);
}

static void test_stack(void)
{
    struct respawned c;
    bool parsed = false;
    char word[64] = "";
    int status;

    co_start(parse_deep, &parsed);
    ok(parsed, "the deepest JSON that is accepted fits on the stack");
    c = respawn("coroutine", "COROUTINE_CHILD", "falls", "");
    while (read(c.out, word, sizeof(word)) > 0)
        ;
    waitpid(c.pid, &status, 0);
    close(c.out);
    ok((WIFSIGNALED(status) || WEXITSTATUS(status)) && !strstr(word, "went on"),
       "a function that needs more ends the program");
}

static void be_child(void)
{
    char *beside = xcalloc(1, (size_t)1 << 20);
    int n;

    if (freopen("/dev/null", "w", stderr))
        co_start(fall_down, &n);
    if (write(STDOUT_FILENO, "went on", 7) == 7)
        free(beside);
    _exit(0);
}

SUITE(coroutine)
{
    struct err e = ERR_INIT;

    if (getenv("COROUTINE_CHILD"))
        be_child();
    loop = loop_new(&e);
    test_order();
    test_events();
    test_cancel();
    test_many();
    test_stack();
    loop_free(loop);
}
