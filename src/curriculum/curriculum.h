/* curriculum.h: problems and the pieces that they were divided into. Pieces are
 * tasks; their kernels show most of what the problem needs. Equal pieces of
 * several problems are one piece.
 *
 * A curriculum is kept in a folder (docs/CURRICULUM.md):
 *
 *   DIR/pieces/NAME.py      a piece, which is a complete task
 *   DIR/pieces/NAME.json    its sidecar; "piece" says where it belongs
 *   DIR/problems/NAME.json  the decomposition of a problem, without sources
 *
 * Depth orders the work: 0 for a piece that needs no other, else 1 + the largest
 * depth of those that it needs; of a problem, 1 + that of its deepest piece. */
#ifndef CURRICULUM_CURRICULUM_H
#define CURRICULUM_CURRICULUM_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "curriculum/contract.h"
#include "source/task.h"

#include <stddef.h>

/* The subproblem of a problem that a piece is. */
struct piece_parent {
    const char *problem; /* the id of the task */
    const char *sub;
};

struct piece {
    const char *name, *title, *level;
    enum piece_kind kind;
    size_t depth;
    const char *const *needs; /* names of pieces */
    size_t nneeds;
    const struct piece_parent *parents;
    size_t nparents;
    struct task *task; /* its id is pieces/NAME */
};

struct problem {
    const char *name; /* of its file, without .json */
    const char *id;   /* of the task */
    size_t depth;     /* 0: it has no pieces */
    json_t *outline;  /* CONTRACT_FILE (contract.h) */
};

struct curriculum {
    struct arena memory; /* of all strings and lists */
    struct piece *piece; /* by depth, then by name */
    size_t len, cap;
    struct problem *problem; /* by name */
    size_t nproblems, problem_cap;
};

void curriculum_init(struct curriculum *c);
void curriculum_release(struct curriculum *c);

/* Reads a folder. Everything in it is checked: an error names the file and the
 * key. Release in any case; `c` need not be initialised. */
int curriculum_read(struct curriculum *c, const char *dir, struct err *e);
/* Writes a folder, which must hold no pieces or problems of another curriculum.
 * The same curriculum may be written again. */
int curriculum_write(const struct curriculum *c, const char *dir,
                     struct err *e);

/* NULL: not there. */
const struct piece *curriculum_piece(const struct curriculum *c,
                                     const char *name);
const struct problem *curriculum_problem(const struct curriculum *c,
                                         const char *id);

/* ---- for those who put one together ---- */

/* Takes the task over, also when it fails. `path` is that of its sidecar, which
 * has the key "piece" and gives the piece its name. */
int curriculum_add_piece(struct curriculum *c, const char *path, struct task *t,
                         struct err *e);
/* Takes the outline over, also when it fails. */
int curriculum_add_problem(struct curriculum *c, const char *path,
                           json_t *outline, struct err *e);
/* When all are there: checks that they fit together, that no piece needs itself
 * in the end, and that each has the depth that it says, if it says one. Sorts them. `dir` is
 * for errors. */
int curriculum_finish(struct curriculum *c, const char *dir, struct err *e);

#endif
