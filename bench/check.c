/* check.c: how long the static check of one candidate takes. Prints a JSON
 * object: the time of a check, and the views it was made on, so that the same
 * patterns can be timed elsewhere (bench/check.py).
 *
 *   bench-check PACKS_DIR PACK FILE COUNT */
#include "verify/check.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/tick.h"
#include "lex/py_facts.h"
#include "lex/py_lex.h"
#include "lex/view.h"
#include "pack/pack.h"

#include <stdio.h>
#include <stdlib.h>

/* The views as the engine makes them, by name. */
static json_t *views_json(struct str src, const struct ruleset *set,
                          struct arena *a)
{
    struct py_tokens tok;
    struct view code, facts, cxx;

    py_lex(&tok, src, a);
    view_code(&code, &tok, a);
    py_facts(&facts, &cxx, src, &tok, &set->facts, a);
    return json_pack(
        "{s:o, s:o, s:o, s:o}", "code", jsn_text(code.data, code.len), "facts",
        jsn_text(facts.data, facts.len), "cxx", jsn_text(cxx.data, cxx.len),
        "all", jsn_text(src.p, src.n));
}

int main(int argc, char **argv)
{
    struct err e = ERR_INIT;
    struct problems problems;
    struct pack_path path;
    const struct ruleset *set;
    struct check_result r = {0};
    struct pack *pack;
    struct check *c;
    struct arena a;
    struct buf text;
    const char *dir;
    char *pack_dir;
    int64_t start, spent;
    long count;

    if (argc != 5)
        return 2;
    dir = argv[1];
    count = strtol(argv[4], NULL, 10);
    path = (struct pack_path){&dir, 1};
    problems_init(&problems);
    buf_init(&text, (size_t)1 << 20);
    arena_init(&a);
    pack_dir = fs_join(dir, argv[2]);
    pack = pack_load(&path, pack_dir, &problems);
    set = pack ? pack_ruleset(pack, "default", &e) : NULL;
    if (!set || fs_read(argv[3], &text, &e) < 0) {
        fprintf(stderr, "%s\n", pack ? e.text : problems.line[0]);
        return 2;
    }
    c = check_new(NULL);
    start = tick_now_ns();
    for (long i = 0; i < count; i++)
        r = check_source(c, set, (struct str){buf_str(&text), text.len});
    spent = tick_now_ns() - start;
    jsn_line(json_pack(
        "{s:f, s:i, s:i, s:b, s:i, s:o}", "us_per_check",
        (double)spent / 1e3 / (double)count, "bytes", (int)text.len, "findings",
        (int)r.len, "accepted", r.accepted, "rules", (int)set->len, "views",
        views_json((struct str){buf_str(&text), text.len}, set, &a)));
    check_free(c);
    pack_free(pack);
    arena_release(&a);
    buf_release(&text);
    problems_release(&problems);
    free(pack_dir);
    return 0;
}
