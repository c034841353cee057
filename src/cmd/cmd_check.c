/* cmd_check.c: monkeys check: the static rules on files, nothing is run. */
#include "base/fs.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "pack/packs.h"
#include "verify/check.h"

#include <stdio.h>
#include <string.h>

#define MAX_FILE ((size_t)64 << 20)

struct check_values {
    const char *dsl, *rules;
    bool json;
    struct opt_list packs;
};

static const struct opt check_table[] = {
    {"dsl", 0, OPT_TEXT, "ID", "the pack whose rules apply (required)",
     offsetof(struct check_values, dsl), 0, 0},
    {"rules", 0, OPT_CHOICE, "default|paper",
     "which rules to apply: the scope-aware ones, or the paper's tables taken "
     "literally (default: default)",
     offsetof(struct check_values, rules), 0, 0},
    {"json", 0, OPT_FLAG, NULL, "print a JSON object for each file",
     offsetof(struct check_values, json), 0, 0},
    {"packs", 0, OPT_LIST, "DIR", PACKS_HELP,
     offsetof(struct check_values, packs), 0, 0},
    {0},
};

static void print_json(const char *file, const struct check_result *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->len; i++) {
        const struct finding *f = &r->finding[i];

        json_array_append_new(
            list, json_pack("{s:s, s:s, s:i, s:i, s:o, s:o}", "rule", f->rule,
                            "severity", check_severities[f->severity], "line",
                            (int)f->line, "column", (int)f->column, "message",
                            jsn_text(f->message, strlen(f->message)), "excerpt",
                            jsn_text(f->excerpt, strlen(f->excerpt))));
    }
    jsn_line(json_pack("{s:o, s:b, s:o}", "file", jsn_text(file, strlen(file)),
                       "accepted", r->accepted, "findings", list));
}

static void print_text(const char *file, const struct check_result *r)
{
    for (size_t i = 0; i < r->len; i++) {
        const struct finding *f = &r->finding[i];

        if (f->line)
            printf("%s:%u:%u: ", file, f->line, f->column);
        else
            printf("%s: ", file);
        printf("%s: %s [%s]\n", check_severities[f->severity], f->message,
               f->rule);
        if (f->excerpt[0])
            printf("    %s\n", f->excerpt);
    }
    printf("%s: %s", file, r->accepted ? "accepted" : "rejected");
    if (r->len)
        printf(" (%zu error%s, %zu warning%s)", r->errors,
               r->errors == 1 ? "" : "s", r->warnings,
               r->warnings == 1 ? "" : "s");
    putchar('\n');
}

/* All files are checked. One that cannot be read is reported, and makes the
 * command fail once the others are done. */
static int check_files(const struct check_values *v,
                       const struct opt_result *words,
                       const struct ruleset *set, struct err *e)
{
    struct check *c = check_new(NULL);
    int rc = 0;

    for (size_t i = 0; i < words->rest_len; i++) {
        const char *file = words->rest[i];
        struct check_result r;
        struct err one = ERR_INIT;
        struct buf text;

        buf_init(&text, MAX_FILE);
        if (fs_read(file, &text, &one) < 0) {
            if (rc < 0)
                fprintf(stderr, "monkeys check: %s\n", one.text);
            else
                *e = one;
            e->kind = ERR_INPUT;
            rc = -1;
        } else {
            r = check_source(c, set, (struct str){buf_str(&text), text.len});
            if (v->json)
                print_json(file, &r);
            else
                print_text(file, &r);
            if (rc == 0 && !r.accepted)
                rc = 1;
        }
        buf_release(&text);
    }
    check_free(c);
    return rc;
}

static int run_with_pack(const struct check_values *v,
                         const struct opt_result *words, struct err *e)
{
    const struct ruleset *set;
    struct packs_path path;
    struct pack *pack;
    struct home home;
    int rc = -1;

    if (home_find(&home, e) < 0)
        return -1;
    packs_path_init(&path, &v->packs, &home);
    pack = packs_load(&path, v->dsl, e);
    set = pack ? pack_ruleset(pack, v->rules, e) : NULL;
    if (set)
        rc = check_files(v, words, set, e);
    if (pack)
        pack_free(pack);
    packs_path_release(&path);
    home_release(&home);
    return rc;
}

static int run_check(const struct cmd *c, int argc, char **argv, struct err *e)
{
    struct check_values v = {.rules = "default"};
    struct cmd_call call = {.cmd = c, .values = &v};
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);

    if (rc == 0 && !v.dsl)
        rc = err_set(e, ERR_USAGE,
                     "--dsl ID is missing; 'monkeys pack list' lists the "
                     "packs");
    if (rc == 0 && !call.r.rest_len)
        rc = err_set(e, ERR_USAGE, "no FILE given ('-' is standard input)");
    if (rc == 0)
        rc = run_with_pack(&v, &call.r, e);
    else if (rc > 0)
        rc = 0;
    cmd_end(&call);
    return rc;
}

extern const struct cmd cmd_check;
const struct cmd cmd_check = {
    "check",
    "FILE...",
    "check candidates against a pack's static rules",
    "Nothing is run: the rules read the source alone. 'monkeys verify' finds\n"
    "what only running can show. Exit status: 0 if all are accepted, 1 if at\n"
    "least one is rejected, 2 if a file cannot be read.",
    check_table,
    run_check,
};
