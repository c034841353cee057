/* co.c: coroutines over ucontext.
 *
 * Each has a mapped stack with a page below it that nobody may touch: a function
 * that needs more than there is ends the program there, instead of writing into
 * memory of others. swapcontext() keeps the signal mask, at the price of a system
 * call; a wait for a model or a disk is so much longer that it does not matter.
 *
 * The sanitizers follow stacks. Without being told of a switch, ASan takes the
 * other stack for an overflow of this one, and TSan mixes two histories: so both
 * are told, right before and right after. */
#include "io/co.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __has_feature /* clang */
#define CO_HAS(x) __has_feature(x)
#else
#define CO_HAS(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || CO_HAS(address_sanitizer)
#define CO_ASAN
#include <sanitizer/asan_interface.h>
#endif
#if defined(__SANITIZE_THREAD__) || CO_HAS(thread_sanitizer)
#define CO_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#define STACK ((size_t)512 << 10)

struct co {
    ucontext_t here, back;
    co_fn *fn;
    void *arg;
    char *map; /* the guarding page, then the stack */
    struct co
        *caller;     /* within which it was let run; NULL: the thread itself */
    struct co *next; /* of those that are over */
    bool waiting, cancelled, over;
#ifdef CO_ASAN
    void *fake; /* what ASan keeps of the frames while it waits */
    const void *back_stack;
    size_t back_size;
#endif
#ifdef CO_TSAN
    void *fiber, *back_fiber;
#endif
};

/* A coroutine that is running is a property of the thread, like its stack. */
static _Thread_local struct co *current;
/* Stacks are used again while there are coroutines, so that work that comes and
 * goes maps no memory each time; the last one that is over takes them along. */
static _Thread_local struct co *spare;
static _Thread_local size_t alive;

static size_t co_page(void)
{
    return (size_t)getpagesize();
}

static struct co *co_new(void)
{
    struct co *c = spare;

    if (c) {
        char *map = c->map;

        spare = c->next;
        *c = (struct co){.map = map};
        return c;
    }
    c = xcalloc(1, sizeof(*c));
    c->map = mmap(NULL, co_page() + STACK, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (c->map == MAP_FAILED || mprotect(c->map, co_page(), PROT_NONE) < 0)
        BUG("no memory for a stack: errno %d", errno);
    return c;
}

static void co_put_away(struct co *c)
{
#ifdef CO_TSAN
    __tsan_destroy_fiber(c->fiber);
#endif
#ifdef CO_ASAN /* its last frames were left without a return */
    __asan_unpoison_memory_region(c->map + co_page(), STACK);
#endif
    c->next = spare;
    spare = c;
    if (--alive)
        return;
    while ((c = spare)) {
        spare = c->next;
        munmap(c->map, co_page() + STACK);
        free(c);
    }
}

/* ---- the two switches ---- */

/* Lets it run until it waits. False: it is over, and gone. */
static bool co_enter(struct co *c)
{
    c->caller = current;
    current = c;
#ifdef CO_ASAN
    void *fake;
    __sanitizer_start_switch_fiber(&fake, c->map + co_page(), STACK);
#endif
#ifdef CO_TSAN
    c->back_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(c->fiber, 0);
#endif
    swapcontext(&c->back, &c->here);
#ifdef CO_ASAN
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
    current = c->caller;
    if (!c->over)
        return true;
    co_put_away(c);
    return false;
}

static void co_leave(struct co *c)
{
#ifdef CO_ASAN
    __sanitizer_start_switch_fiber(c->over ? NULL : &c->fake, c->back_stack,
                                   c->back_size);
#endif
#ifdef CO_TSAN
    __tsan_switch_to_fiber(c->back_fiber, 0);
#endif
    swapcontext(&c->here, &c->back);
#ifdef CO_ASAN
    __sanitizer_finish_switch_fiber(c->fake, &c->back_stack, &c->back_size);
#endif
}

/* ---- a life ---- */

static void co_run(void)
{
    struct co *c = current;

#ifdef CO_ASAN
    __sanitizer_finish_switch_fiber(NULL, &c->back_stack, &c->back_size);
#endif
    c->fn(c->arg);
    c->over = true;
    co_leave(c);
    BUG("a coroutine runs after its end");
}

/* A function of its own: the compiler takes getcontext() for one that may return
 * twice, and warns about variables of whoever calls it. */
static __attribute__((noinline)) void co_prepare(struct co *c)
{
    getcontext(&c->here);
    c->here.uc_stack.ss_sp = c->map + co_page();
    c->here.uc_stack.ss_size = STACK;
    makecontext(&c->here, co_run, 0);
}

struct co *co_start(co_fn *fn, void *arg)
{
    struct co *c = co_new();

    alive++;
    c->fn = fn;
    c->arg = arg;
    co_prepare(c);
#ifdef CO_TSAN
    c->fiber = __tsan_create_fiber(0);
#endif
    return co_enter(c) ? c : NULL;
}

void co_cancel(struct co *c)
{
    c->cancelled = true;
    if (c->waiting)
        co_enter(c);
}

int co_wait(struct co_event *v)
{
    struct co *c = current;

    if (!c)
        BUG("co_wait() outside of a coroutine");
    if (!v->happened && !c->cancelled) {
        v->who = c;
        c->waiting = true;
        co_leave(c);
        c->waiting = false;
        v->who = NULL;
    }
    return v->happened ? 0 : -1;
}

void co_happen(struct co_event *v)
{
    v->happened = true;
    if (v->who)
        co_enter(v->who);
}

size_t co_alive(void)
{
    return alive;
}
