/* web.c: what a live update of the page costs the server of a large run: finding
 * and reading what is new, and the views that the page then requests. Prints lines
 * of "what: number unit", in processor time: other work on the machine does not
 * count.
 *
 *   bench-web FOLDER
 *
 * FOLDER holds a run as bench-show makes it; attempts are added to it. */
#include "analyze/views.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NEWS = 20, UPDATES = 9 };

static double spent_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Attempts of tasks here and there, as a run stores them. */
static void add_news(const char *dir, size_t tasks, int64_t attempt)
{
    char *path = xasprintf("%s/run.db", dir);
    struct err e = ERR_INIT;
    struct store *s = store_open(path, STORE_OPEN, NULL, &e);
    char record[HASH_HEX];

    if (!s)
        BUG("%s", e.text);
    store_blob(s, STR_LIT("{\"verdict\":\"compile_error\"}"), record);
    for (size_t i = 0; i < NEWS; i++) {
        int64_t task = (int64_t)(i * tasks / NEWS) + attempt % 7;
        char asked[64];

        snprintf(asked, sizeof(asked), "news %zu %lld", i, (long long)attempt);
        store_call(s, &(struct row_call){.purpose = "code",
                                         .asked = asked,
                                         .try = 1,
                                         .task = task,
                                         .attempt = attempt,
                                         .state = "answered"});
        store_verdict(s, &(struct row_verdict){.task = task,
                                               .attempt = attempt,
                                               .verdict = "compile_error",
                                               .record = record});
        store_attempt(s, &(struct row_attempt){.task = task,
                                               .attempt = attempt,
                                               .method = "monkeys",
                                               .code_hash = asked,
                                               .verdict = "compile_error"});
    }
    if (store_close(s, &e) < 0)
        BUG("%s", e.text);
    free(path);
}

/* What a page asks for as text, and drops. */
static double send_ms(json_t *j, const struct err *e)
{
    double start = spent_ms();
    char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

    if (!text)
        BUG("%s", e->text);
    free(text);
    json_decref(j);
    return spent_ms() - start;
}

struct update {
    double look, overview, grid, clusters, all;
};

static struct update update_ms(struct run_view *v, int want)
{
    struct run_view *runs[] = {v};
    struct err e = ERR_INIT;
    int64_t since = want ? v->version : 0;
    double start = spent_ms(), before = start;
    struct update u;

#define LAP(field) (u.field = spent_ms() - before, before = spent_ms())
    if (run_view_refresh(v, &e) != want)
        BUG("%s", e.text);
    LAP(look);
    send_ms(views_overview(runs, 1, &e), &e);
    LAP(overview);
    send_ms(views_grid_since(runs, 1, &since), &e);
    LAP(grid);
    send_ms(views_clusters(runs, 1, &e), &e);
    LAP(clusters);
#undef LAP
    u.all = spent_ms() - start;
    return u;
}

static int by_all(const void *a, const void *b)
{
    const struct update *x = a, *y = b;

    return (x->all > y->all) - (x->all < y->all);
}

static void print_update(const char *what, const struct update *u)
{
    printf("%s: %.1f ms (look %.1f, overview %.1f, grid %.1f, clusters %.1f)\n",
           what, u->all, u->look, u->overview, u->grid, u->clusters);
}

int main(int argc, char **argv)
{
    struct update u[UPDATES], first;
    struct err e = ERR_INIT;
    struct run_view v;
    double start;

    if (argc != 2) {
        fprintf(stderr, "usage: bench-web FOLDER\n");
        return 2;
    }
    start = spent_ms();
    if (run_view_open(argv[1], &v, &e) < 0)
        BUG("%s", e.text);
    printf("the run is read: %.1f ms, %zu tasks\n", spent_ms() - start,
           v.tasks);
    first = update_ms(&v, 0);
    print_update("the first page", &first);
    start = spent_ms();
    for (int i = 0; i < 100; i++)
        if (run_view_refresh(&v, &e) != 0)
            BUG("%s", e.text);
    printf("a look without news: %.3f ms\n", (spent_ms() - start) / 100);
    for (int i = 0; i < UPDATES; i++) {
        add_news(argv[1], v.tasks, 1000 + i);
        u[i] = update_ms(&v, 1);
    }
    qsort(u, UPDATES, sizeof(*u), by_all);
    printf("%d attempts are new, the median of %d updates\n", NEWS, UPDATES);
    print_update("an update", &u[UPDATES / 2]);
    run_view_close(&v);
    return 0;
}
