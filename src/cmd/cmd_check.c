/* cmd_check.c: monkeys check: the static rules on files, nothing is run. */
#include "base/fs.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "pack/pack.h"
#include "verify/check.h"

#include <stdio.h>

#define MAX_FILE ((size_t)64 << 20)

struct check_values {
    const char *dsl, *rules;
    bool json;
    struct opt_list packs;
};

#define VALUES struct check_values
static const struct opt check_table[] = {
    {"dsl", 0, OPT_TEXT, "ID", "the pack whose rules apply (required)",
     AT(dsl)},
    {"rules", 0, OPT_CHOICE, "default|paper",
     "which rules to apply: the scope-aware ones, or the paper's tables taken "
     "literally (default: default)",
     AT(rules)},
    {"json", 0, OPT_FLAG, NULL, "print a JSON object for each file", AT(json)},
    {"packs", 0, OPT_LIST, "DIR", PACKS_HELP, AT(packs)},
    {0},
};

static void check_print_json(const char *file, const struct check_result *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->len; i++) {
        const struct finding *f = &r->finding[i];

        json_array_append_new(
            list, json_pack("{s:s, s:s, s:i, s:i, s:o, s:o}", "rule", f->rule,
                            "severity", check_severities[f->severity], "line",
                            (int)f->line, "column", (int)f->column, "message",
                            jsn_of(f->message), "excerpt", jsn_of(f->excerpt)));
    }
    jsn_line(json_pack("{s:o, s:b, s:o}", "file", jsn_of(file), "accepted",
                       r->accepted, "findings", list));
}

static void check_print(const char *file, const struct check_result *r)
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
static int check_files(const struct cmd_call *call, const struct ruleset *set,
                       struct err *e)
{
    const struct check_values *v = call->values;
    struct check *c = check_new(NULL);
    int rc = 0;

    for (size_t i = 0; i < call->r.rest_len; i++) {
        const char *file = call->r.rest[i];
        struct check_result r;
        struct err one = ERR_INIT;
        struct buf text = {.limit = MAX_FILE};

        if (fs_read(file, &text, &one) < 0) {
            if (rc < 0)
                fprintf(stderr, "monkeys check: %s\n", one.text);
            else
                *e = one;
            e->kind = ERR_INPUT;
            rc = -1;
        } else {
            r = check_source(c, set, buf_view(&text));
            if (v->json)
                check_print_json(file, &r);
            else
                check_print(file, &r);
            if (rc == 0 && !r.accepted)
                rc = 1;
        }
        buf_release(&text);
    }
    check_free(c);
    return rc;
}

static int check_run(struct cmd_call *call, struct err *e)
{
    const struct check_values *v = call->values;
    const struct ruleset *set;
    const struct pack *pack;

    if (call->r.rest_len == 0)
        return err_set(e, ERR_USAGE, "no FILE given ('-' is standard input)");
    pack = cmd_pack(call, &v->packs, v->dsl, e);
    set = pack ? pack_ruleset(pack, v->rules, e) : NULL;
    return set ? check_files(call, set, e) : -1;
}

static const struct check_values check_defaults = {.rules = "default"};

const struct cmd cmd_check = {
    "check",
    "FILE...",
    "check candidates against a pack's static rules",
    "Nothing is run: the rules read the source alone. 'monkeys verify' finds\n"
    "what only running can show. Exit status: 0 if all are accepted, 1 if at\n"
    "least one is rejected, 2 if a file cannot be read.",
    check_table,
    check_run,
    sizeof(struct check_values),
    &check_defaults,
};
