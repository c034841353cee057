/* co.h: coroutines: code that waits for the loop, written as straight functions.
 *
 * A coroutine runs until it waits for an event; then whoever let it run continues.
 * A callback of the loop reports the event, and the coroutine runs again, before
 * co_happen() returns. So there is one thread, and no code runs at the same time
 * as other code; but at each wait, whatever can happen in the loop may have
 * happened.
 *
 * One that is cancelled gets -1 from its present wait and from every later one. It
 * unwinds by its ordinary error paths and releases what it owns: nothing is jumped
 * over. Who waits for something withdraws it when the wait fails, since its
 * callback would find a stack that is gone.
 *
 * A coroutine has 512 KiB of stack, of which the pages that it uses cost memory,
 * and a page below that ends the program when it is touched. */
#ifndef IO_CO_H
#define IO_CO_H

#include <stdbool.h>
#include <stddef.h>

/* As many as anything starts at once by itself: more would only wait. The
 * thread sanitizer has room for about 300. */
#define CO_MOST 256

struct co;
typedef void co_fn(void *arg);

/* Runs `fn` at once, until its first wait. NULL: `fn` has returned already. Otherwise
 * the result is valid until `fn` returns, which has to see to it that nobody uses it
 * any more. A coroutine may start others. */
struct co *co_start(co_fn *fn, void *arg);
/* Has it unwind: before this returns, if it waits; else from its next wait on. */
void co_cancel(struct co *c);

/* Something that is waited for once. All zero at first. */
struct co_event {
    struct co *who; /* waits for it, or NULL */
    bool happened;
};
/* Within a coroutine: 0 when it has happened, -1 when the coroutine was
 * cancelled before. */
int co_wait(struct co_event *v);
/* From anywhere: it has happened. Who waits for it runs now. */
void co_happen(struct co_event *v);

/* Coroutines of this thread that are not over. */
size_t co_alive(void);

#endif
