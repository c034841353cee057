/* Texts of others in tables: Markdown and CSV. */
#include "analyze/table.h"

#include "tap.h"

#include <string.h>

static void in_md(const char *text, const char *want, const char *claim)
{
    struct buf b = BUF_INIT;

    table_put_md(text, &b);
    is(buf_str(&b), want, claim);
    buf_release(&b);
}

static void test_md(void)
{
    in_md("no such name: made (line 3)", "no such name: made (line 3)",
          "Markdown: a plain text stays as it is");
    in_md("compile_error", "compile_error", "… and so does a name");
    in_md("", "", "… and nothing");
    in_md("_x_", "`_x_`", "what could be markup stands as code");
    in_md("<img src=x onerror=a()>", "`<img src=x onerror=a()>`", "HTML");
    in_md("see http://x.test/", "`see http://x.test/`", "an address");
    in_md("WWW.x.test", "`WWW.x.test`", "… also without a scheme");
    in_md("[a](b)", "`[a](b)`", "a link");
    in_md("@team #1", "`@team #1`", "a mention and a reference");
    in_md("&lt;", "`&lt;`", "a character reference is not decoded");
    in_md("# a", "`# a`", "a heading");
    in_md("- a", "`- a`", "an item of a list");
    in_md("a|b", "`a\\|b`", "a bar does not end a cell");
    in_md("a\\|b", "`a\\<7C>b`", "… nor one with a backslash before it");
    in_md("a`b``c", "```a`b``c```", "backticks do not end the code");
    in_md("``", "``` `` ```", "… wherever they stand");
    in_md("a\nb\r\n| c |", "`a b  \\| c \\|`", "lines are joined");
    in_md("\x1b[2J\xe2\x80\xae", "`<1B>[2J<U+202E>`", "nothing is hidden");
}

static void in_csv(const char *text, const char *want, const char *claim)
{
    struct table t;
    struct buf b = BUF_INIT;

    table_init(&t, "name", "what");
    table_columns(&t, "a");
    table_text(&t, text);
    table_print(&t, TABLE_CSV, &b);
    is(buf_str(&b) + strlen("a\n"), want, claim);
    table_release(&t);
    buf_release(&b);
}

static void test_csv(void)
{
    in_csv("a b", "a b\n", "CSV: a plain text stays as it is");
    in_csv("=1+1", "\"'=1+1\"\n", "a formula gets a quote");
    in_csv("@SUM(A1)", "\"'@SUM(A1)\"\n", "… whatever it begins with");
    in_csv("\n\t =1+1", "\"'   =1+1\"\n", "… also behind white space");
    in_csv("a\",=1+1,\"b", "\"a\"\",=1+1,\"\"b\"\n", "a quote ends no field");
    in_csv("a;=1+1", "\"a;=1+1\"\n", "nor does a semicolon");
    in_csv("a\r\n=1+1", "a  =1+1\n", "nor a line the row");
}

static void test_columns(void)
{
    struct table t;
    struct buf b = BUF_INIT;

    table_init(&t, "name", "what");
    table_column(&t, "=a|<b>\x1b[2J");
    table_int(&t, 1);
    table_print(&t, TABLE_TEXT, &b);
    is(buf_str(&b), "name: what\n=a|<b><1B>[2J\n            1\n",
       "a column is text of others, too: in the terminal");
    buf_reset(&b);
    table_print(&t, TABLE_CSV, &b);
    is(buf_str(&b), "\"'=a|<b><1B>[2J\"\n1\n", "… in CSV");
    buf_reset(&b);
    table_print(&t, TABLE_MD, &b);
    ok(strstr(buf_str(&b), "\n| `=a\\|<b><1B>[2J` |\n|---:|\n| 1 |\n") != NULL,
       "… in Markdown");
    buf_release(&b);
    table_release(&t);
}

static void test_many_columns(void)
{
    struct table t;

    table_init(&t, "name", "what");
    for (int i = 0; i < 300; i++)
        table_column(&t, arena_printf(&t.memory, "task %d", i));
    for (int i = 0; i < 300; i++)
        table_int(&t, i);
    ok(t.columns == 300 && table_rows(&t) == 1 &&
           strcmp(t.column[299], "task 299") == 0,
       "a table may have a column for each task of a collection");
    table_release(&t);
}

SUITE(table)
{
    test_md();
    test_csv();
    test_columns();
    test_many_columns();
}
