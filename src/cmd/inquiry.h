/* inquiry.h: what a command needs that does nothing but ask a model: cmd/paying.h,
 * with a loop of its own, the program's home, and a display. */
#ifndef CMD_INQUIRY_H
#define CMD_INQUIRY_H

#include "base/home.h"
#include "cmd/paying.h"
#include "io/term.h"

struct inquiry {
    struct home home;
    struct loop *loop;
    struct paying asked;
    struct term *term;
};

/* Answers go to the store `name` in `dir`. The struct is all zero before, and
 * must not move. Close in any case. */
int inquiry_open(struct inquiry *a, const struct modeling_values *m,
                 const char *dir, const char *name, struct err *e);
int inquiry_close(struct inquiry *a, struct err *e);

/* Shows how many questions are answered, and what they cost. */
void inquiry_step(struct inquiry *a, size_t done);

#endif
