/* test_udiff.c: hunks as `diff -u` writes them; random texts are rebuilt from
 * them. */
#include "base/rng.h"
#include "base/udiff.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static void diff_is(const char *a, const char *b, const char *want,
                    const char *what)
{
    struct buf out = BUF_INIT;

    udiff_put(str_of(a), "a", str_of(b), "b", &out);
    is(buf_str(&out), want, what);
    buf_release(&out);
}

static void test_hunks(void)
{
    diff_is("1\n2\n", "1\n2\n", "", "equal texts have no hunks");
    diff_is("", "1\n", "--- a\n+++ b\n@@ -0,0 +1 @@\n+1\n",
            "a text that is new");
    diff_is("1\n", "", "--- a\n+++ b\n@@ -1 +0,0 @@\n-1\n", "one that is gone");
    diff_is("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
            "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n",
            "a change has three lines around it");
    diff_is("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
            "--- a\n+++ b\n@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n "
            "6\n-b\n+B\n",
            "six lines between two changes are one hunk");
    diff_is("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
            "--- a\n+++ b\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n"
            "@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n",
            "seven are two");
    diff_is("1\n2", "1\n2\n",
            "--- a\n+++ b\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of "
            "file\n+2\n",
            "a missing newline at the end is a difference");
}

/* What the hunks, without the names, make of `a`. Texts end with a newline. */
static char *apply(struct str a, struct str hunks)
{
    struct str line, old;
    size_t at = 1;
    struct buf out = BUF_INIT;

    while (str_cut(&hunks, '\n', &line)) {
        if (line.p[0] == '@') {
            size_t from = (size_t)strtoul(line.p + 4, NULL, 10);

            /* "-4,0" comes after line 4. */
            from += strncmp(strpbrk(line.p + 4, ", "), ",0 ", 3) == 0;
            for (; at < from && str_cut(&a, '\n', &old); at++)
                buf_printf(&out, "%.*s\n", (int)old.n, old.p);
        } else if (line.p[0] == ' ' || line.p[0] == '-') {
            str_cut(&a, '\n', &old);
            at++;
            if (old.n != line.n - 1 || memcmp(old.p, line.p + 1, old.n) != 0)
                buf_puts(&out, "?");
        }
        if (line.p[0] == ' ' || line.p[0] == '+')
            buf_printf(&out, "%.*s\n", (int)line.n - 1, line.p + 1);
    }
    buf_put(&out, a.p, a.n);
    return buf_take(&out, NULL);
}

static void random_text(struct rng *r, uint64_t most, struct buf *out)
{
    buf_reset(out);
    for (uint64_t n = rng_below(r, most); n > 0; n--)
        buf_printf(out, "%c\n", (char)('a' + rng_below(r, 4)));
}

static void test_random(void)
{
    struct buf a = BUF_INIT, b = BUF_INIT, hunks = BUF_INIT;
    bool good = true;
    struct rng r;

    rng_init(&r, "udiff");
    for (int i = 0; good && i < 2000; i++) {
        const char *body;
        char *got;

        random_text(&r, 40, &a);
        random_text(&r, 40, &b);
        buf_reset(&hunks);
        udiff_put((struct str){buf_str(&a), a.len}, "a",
                  (struct str){buf_str(&b), b.len}, "b", &hunks);
        body = hunks.len ? strstr(buf_str(&hunks), "@@") : "";
        got = apply((struct str){buf_str(&a), a.len}, str_of(body));
        good = strcmp(got, buf_str(&b)) == 0;
        free(got);
    }
    ok(good, "hunks of random texts make one of the other");
    buf_reset(&a);
    buf_reset(&b);
    buf_reset(&hunks);
    for (int i = 0; i < 5000; i++) {
        buf_printf(&a, "a%d\n", i);
        buf_printf(&b, "b%d\n", i);
    }
    udiff_put((struct str){buf_str(&a), a.len}, "a",
              (struct str){buf_str(&b), b.len}, "b", &hunks);
    ok(strstr(buf_str(&hunks), "@@ -1,5000 +1,5000 @@\n-a0\n") &&
           strstr(buf_str(&hunks), "\n+b4999\n"),
       "texts with nothing in common are replaced as a whole");
    buf_release(&a);
    buf_release(&b);
    buf_release(&hunks);
}

SUITE(udiff)
{
    test_hunks();
    test_random();
}
