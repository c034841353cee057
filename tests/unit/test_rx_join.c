/* test_rx_join.c: many patterns as one: it matches where any of them does, and nowhere else. */
#include "pack/rx_join.h"

#include "base/str.h"
#include "pack/rx.h"
#include "tap.h"

void suite_rx_join(void);

static bool finds(struct rx_ctx *c, const struct rx *rx, const char *text)
{
    return rx && rx_find(c, rx, str_of(text), 0) == RX_MATCH;
}

static void test_joined_is_any(void)
{
    static const char *const patterns[] = {
        "^(?:forward|init) call torch\\.(add|addmm|abs)$",
        "^\\w+ call (exec|eval)$",
        "^\\w+ (?:call|use) ((?:os|io)\\.(?!path\\b)\\S+)$",
        "^\\w+ (?:call|use) (open|op)$",
        "^forward (?:method ([a-c]{2,3}|x?)|attr (_m|_n))$",
        "^a[|)]b{2}?c",
        "^\xc3\xa9t\xc3\xa9",
        "^one\\n(?:[^\\n]*\\n)*?two",
    };
    static const char *const texts[] = {
        "forward call torch.add",
        "init call torch.addmm",
        "init call torch.absolute",
        "kernel call torch.abs",
        "x call exec",
        "x call exe",
        "x use os.path",
        "x use os.remove",
        "x call open",
        "x call op",
        "x call ope",
        "forward method abc",
        "forward method ",
        "forward method abcd",
        "forward attr _n",
        "forward attr _o",
        "a)bbc",
        "a|bbcd",
        "a|bc",
        "\xc3\xa9t\xc3\xa9",
        "\xc3\xa9t",
        "first\none\nx\ntwo",
        "one\nx\ntw",
        " x call exec",
    };
    const size_t n = sizeof(patterns) / sizeof(patterns[0]);
    struct rx *all = rx_new_lines(patterns, n);
    struct rx_ctx *c = rx_ctx_new(&rx_limits_default);
    struct err e = ERR_INIT;

    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
        bool any = false;

        for (size_t i = 0; i < n; i++) {
            struct rx *one = rx_new(patterns[i], &e);

            any = finds(c, one, texts[t]) || any;
            rx_free(one);
        }
        ok(all && finds(c, all, texts[t]) == any, "text %zu is %s", t,
           any ? "found" : "not found");
    }
    rx_ctx_free(c);
    rx_free(all);
}

static void test_equal_beginnings_are_written_once(void)
{
    static const char *const patterns[] = {"^\\w+ call (a|ab)", "^x",
                                           "^\\w+ call b", "^\\w+ use"};
    struct buf out;

    buf_init(&out, 1000);
    rx_join(&out, patterns, 4);
    is(buf_str(&out), "^(?:\\w+ (?:call (?:(a(?:|b))|b)|use)|x)",
       "the pieces that patterns share stand in front of their choice");
    buf_release(&out);
}

static void test_only_plain_patterns_are_joined(void)
{
    static const char *const odd[] = {"a",
                                      "^a|b",
                                      "^(?i)a",
                                      "^(?#(x)|b",
                                      "^\\Q(\\E|b",
                                      "^a(*COMMIT)b",
                                      "^(?R)?a",
                                      "^(?>a|ab)c",
                                      "^a++b",
                                      "^[[:alpha:]]|b",
                                      "^[]|]x",
                                      "^(?x: a )",
                                      "^\\x{41}|b",
                                      "^a{2|b",
                                      "^a{,2}b",
                                      "^(?<a>x)(?1)",
                                      "^(?<a>x)(?-1)",
                                      "^(?<a>x)?(?(1)y)",
                                      "^(?<a>x)(?&a)"};

    ok(rx_starts_line("^a(?:b|c)[|]\\|(?i:d)"), "a plain one is");
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        ok(!rx_starts_line(odd[i]), "not %s", odd[i]);
}

void suite_rx_join(void)
{
    test_joined_is_any();
    test_equal_beginnings_are_written_once();
    test_only_plain_patterns_are_joined();
}
