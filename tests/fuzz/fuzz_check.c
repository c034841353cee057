/* fuzz_check.c: any bytes as a candidate, with a rule over every form. Every
 * form must be text, and every finding have a place in it. */
#include "base/mem.h"
#include "verify/check.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RULES FORM_KINDS

static void make_rules(struct rule rule[RULES])
{
    struct err e = ERR_INIT;

    for (int i = 0; i < RULES; i++) {
        rule[i].id = form_names[i];
        rule[i].message = "$0 is $1";
        rule[i].kind = RULE_FORBID;
        rule[i].form = (enum form_kind)i;
        rule[i].rx = rx_new("^\\w+ (\\w+)|\\W\\Z|[^\\x00-\\x7f]", &e);
        if (!rule[i].rx)
            BUG("%s", e.text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rule rule[RULES];
    static struct check *check;
    struct ruleset set = {.name = "fuzz", .rule = rule, .len = RULES};
    struct str src = {(const char *)data, size};
    struct check_result got;

    if (!check) {
        make_rules(rule);
        check = check_new(NULL);
    }
    got = check_source(check, &set, src);
    for (size_t i = 0; i < got.len; i++) {
        const struct finding *f = &got.finding[i];

        if ((f->line == 0) != (f->column == 0) ||
            str_utf8_check(f->excerpt, str_of(f->excerpt).n) !=
                str_of(f->excerpt).n ||
            f->line > size + 1)
            abort();
    }
    return 0;
}
