/* fuzz_curriculum.c: any bytes as the JSON files of a curriculum, and as the
 * reply of a model. A line "== NAME" begins the sidecar of the piece NAME, a
 * line "=p NAME" the file of the problem NAME. */
#include "base/mem.h"
#include "curriculum/curriculum.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char source[] = "class Model: pass\ndef get_inputs(): pass\n"
                             "def get_init_inputs(): pass\n";

static int add(struct curriculum *c, struct str mark, struct str text,
               struct err *e)
{
    char *name = xasprintf("x/%.*s", (int)(mark.n - 3), mark.p + 3);
    json_t *v = jsn_parse(name, text.p, text.n, e);
    struct task *t;
    int rc = -1;

    if (v && mark.p[1] == 'p') {
        rc = curriculum_add_problem(c, name, v, e);
    } else if (v) {
        t = task_from(name, STR_LIT(source), e);
        if (!t)
            abort();
        t->sidecar = v;
        rc = curriculum_add_piece(c, name, t, e);
    }
    free(name);
    return rc;
}

static bool is_mark(struct str line)
{
    return line.n > 3 && line.p[0] == '=' && line.p[2] == ' ' &&
           (line.p[1] == '=' || line.p[1] == 'p');
}

/* What must hold in a curriculum that was accepted. */
static void check(const struct curriculum *c)
{
    for (size_t i = 0; i < c->len; i++) {
        const struct piece *p = &c->piece[i];

        if (i && c->piece[i - 1].depth > p->depth)
            abort();
        for (size_t k = 0; k < p->nneeds; k++) {
            const struct piece *need = curriculum_piece(c, p->needs[k]);

            if (!need || need->depth >= p->depth)
                abort();
        }
        for (size_t k = 0; k < p->nparents; k++)
            if (!curriculum_problem(c, p->parents[k].problem))
                abort();
    }
}

static void read_files(struct str all)
{
    struct curriculum c;
    struct err e = ERR_INIT;
    struct str mark = {0}, text = {0}, line;
    int rc = 0;

    curriculum_init(&c);
    while (rc == 0 && all.n) {
        const char *start = all.p;

        if (!str_cut(&all, '\n', &line)) {
            line = all;
            all.n = 0;
        }
        if (is_mark(line)) {
            if (mark.n)
                rc = add(&c, mark, text, &e);
            mark = line;
            text = (struct str){all.p, 0};
        } else if (mark.n) {
            text.n = (size_t)(start - text.p) + line.n;
        }
    }
    if (rc == 0 && mark.n)
        rc = add(&c, mark, text, &e);
    if (rc == 0)
        rc = curriculum_finish(&c, "x", &e);
    if ((rc < 0) != (e.kind != ERR_NONE))
        abort();
    if (rc == 0)
        check(&c);
    curriculum_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = {(const char *)data, size};
    struct err e = ERR_INIT;
    const char *code;
    json_t *v = contract_extract(all, &code, &e);

    if (!v && e.kind == ERR_NONE)
        abort();
    json_decref(v);
    read_files(all);
    return 0;
}
