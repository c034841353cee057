/* check.c: how long the static check of one candidate takes. Prints a JSON
 * object: the time of a check, and the forms it was made on, so that the same
 * patterns can be timed elsewhere (bench/check.py).
 *
 *   bench-check PACKS_DIR PACK SET FILE COUNT */
#include "verify/check.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "pack/pack.h"
#include "source/form.h"
#include "source/py_lex.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The forms as the engine makes them. */
static void make_forms(struct form *v, struct str src, struct arena *a)
{
    struct py_tokens tok;

    py_lex(&tok, src, a);
    form_code(&v[FORM_CODE], &tok, a);
    form_all(&v[FORM_ALL], src);
    form_cut(&v[FORM_CUT], src, a);
}

static json_t *forms_json(const struct form *v)
{
    json_t *all = json_object();

    for (int i = 0; i < FORM_KINDS; i++)
        json_object_set_new(all, form_names[i], jsn_text(v[i].data, v[i].len));
    return all;
}

/* Processor time, so that a busy machine does not count. */
static double cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Microseconds for every pattern of the set by itself, all its matches. */
static double patterns_us(const struct ruleset *set, const struct form *v,
                          long count)
{
    struct rx_ctx *c = rx_ctx_new(&rx_limits_default);
    double start = cpu_us();

    for (long n = 0; n < count; n++) {
        rx_round(c);
        for (size_t i = 0; i < set->len; i++) {
            const struct rule *r = &set->rule[i];
            struct str text = {v[r->form].data, v[r->form].len};
            size_t from = 0;

            while (rx_find(c, r->rx, text, from) == RX_MATCH &&
                   r->kind != RULE_REQUIRE)
                from = rx_next(c, text);
        }
    }
    start = (cpu_us() - start) / (double)count;
    rx_ctx_free(c);
    return start;
}

int main(int argc, char **argv)
{
    struct err e = ERR_INIT;
    struct problems problems;
    struct pack_path path;
    const struct ruleset *set;
    struct check_result r = {0};
    struct form forms[FORM_KINDS];
    struct pack *pack;
    struct check *c;
    struct arena a = {0};
    struct buf text = {.limit = (size_t)1 << 20};
    const char *dir;
    char *pack_dir;
    double start, spent;
    long count;

    if (argc != 6)
        return 2;
    dir = argv[1];
    count = strtol(argv[5], NULL, 10);
    path = (struct pack_path){&dir, 1};
    problems_init(&problems);
    pack_dir = fs_join(dir, argv[2]);
    pack = pack_load(&path, pack_dir, &problems);
    set = pack ? pack_ruleset(pack, argv[3], &e) : NULL;
    if (!set || fs_read(argv[4], &text, &e) < 0) {
        fprintf(stderr, "%s\n", pack ? e.text : problems.line[0]);
        return 2;
    }
    c = check_new(NULL);
    start = cpu_us();
    for (long i = 0; i < count; i++)
        r = check_source(c, set, (struct str){buf_str(&text), text.len});
    spent = cpu_us() - start;
    make_forms(forms, (struct str){buf_str(&text), text.len}, &a);
    jsn_line(json_pack("{s:f, s:f, s:i, s:i, s:b, s:i, s:o}", "us_per_check",
                       spent / (double)count, "us_patterns",
                       patterns_us(set, forms, count), "bytes", (int)text.len,
                       "findings", (int)r.len, "accepted", r.accepted, "rules",
                       (int)set->len, "views", forms_json(forms)));
    check_free(c);
    pack_free(pack);
    arena_release(&a);
    buf_release(&text);
    problems_release(&problems);
    free(pack_dir);
    return 0;
}
