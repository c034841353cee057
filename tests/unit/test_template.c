/* test_template.c: slots, sections, and what is wrong with a template. */
#include "prompt/template.h"
#include "tap.h"

#include <string.h>

enum { A, B, C };
static const char *const names[] = {"alpha", "beta", "gamma"};
static const struct template_names all = {names, 3};

static void renders(const char *what, const char *text, uint64_t takes,
                    const struct str *values, const char *want)
{
    struct err e = ERR_INIT;
    struct template *t = template_parse("t.md", str_of(text), all, takes, &e);
    struct arena a = {0};

    if (ok(t != NULL, "%s parses: %s", what, e.text))
        is(template_render(t, STR_LIT(""), values, &a).p, want, what);
    arena_release(&a);
    template_free(t);
}

static void refused(const char *text, uint64_t takes, const char *why)
{
    struct err e = ERR_INIT;
    struct template *t = template_parse("t.md", str_of(text), all, takes, &e);

    ok(!t && e.kind == ERR_INPUT && strstr(e.text, why), "refused: %s", e.text);
    template_free(t);
}

static void test_filling(void)
{
    const struct str both[3] = {STR_LIT("one"), STR_LIT("{{beta}}")};
    const struct str one[3] = {STR_LIT("one")};
    const struct str empty[3] = {STR_LIT(""), {NULL, 0}};

    renders("no slot", "plain }} text\n", 0, one, "plain }} text");
    renders("a slot", "x {{alpha}} {{ alpha }} y", 1, one, "x one one y");
    renders("values are not templates", "{{beta}}{{alpha}}", 3, both,
            "{{beta}}one");
    renders("a section without value", "a{{#beta}} b {{beta}}{{/beta}} c", 2,
            one, "a c");
    renders("a section with value", "a{{#beta}} b {{alpha}}{{/beta}} c", 3,
            both, "a b one c");
    renders("a line of its own goes", "a\n{{#beta}}\nb\n{{/beta}}\nc", 2, one,
            "a\nc");
    renders("… also with blanks", "a\n  {{#beta}}  \nb\n{{/beta}}\nc", 2, both,
            "a\nb\nc");
    renders("sections inside sections",
            "{{#alpha}}\nx{{#beta}}y{{/beta}}\n{{/alpha}}", 3, one, "x");
    renders("an empty value is a value",
            "{{#alpha}}there{{/alpha}}{{#beta}}not{{/beta}}", 3, empty,
            "there");
}

static void test_before(void)
{
    struct err e = ERR_INIT;
    struct str values[3] = {STR_LIT("one")};
    struct template *t =
        template_parse("t", STR_LIT("{{alpha}}\n"), all, 1, &e);
    struct arena a = {0};
    struct str s;

    s = template_render(t, STR_LIT("start"), values, &a);
    is(s.p, "start\n\none", "a start comes first, with a blank line");
    ok(s.n == 10, "its length is told");
    arena_release(&a);
    template_free(t);
}

static void test_missing_file(void)
{
    struct err e = ERR_INIT;

    ok(!template_load("/nowhere/x.md", all, 1, &e) && e.kind == ERR_INPUT &&
           strstr(e.text, "/nowhere/x.md"),
       "a missing file is named: %s", e.text);
}

SUITE(template)
{
    test_filling();
    test_before();
    refused("one\n{{delta}}", 1,
            "t.md:2: 'delta' is not a name for this template");
    refused("{{beta}}", 1, "its names are: alpha");
    refused("one\ntwo", 1, "t.md:2: {{alpha}} is not used");
    refused("\n\n{{#alpha}} x", 1, "t.md:3: section {{#alpha}} is not closed");
    refused("{{#alpha}}{{#beta}}{{/alpha}}{{/beta}}", 3, "t.md:1: {{/alpha}}");
    refused("{{/alpha}}", 1, "closes no section");
    refused("{{alpha", 1, "t.md:1: {{ without its }}");
    refused("{{alpha\n}}", 1, "without its }}");
    refused("{{alpha}", 1, "without its }}");
    refused("{{}}", 1, "is not a name for this template");
    test_missing_file();
}
