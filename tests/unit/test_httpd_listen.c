/* test_httpd_listen.c: the target of a request and its Host header, as browsers
 * and as attackers send them. */
#include "base/mem.h"
#include "io/httpd_listen.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void reads(const char *target, const char *path, const char *name,
                  const char *value)
{
    struct httpd_target q;
    struct arena a = {0};
    int rc;

    rc = httpd_target_parse(str_of(target), &a, &q);
    if (ok(rc == 0, "%s is read: %d", target, rc)) {
        is(q.path, path, "its path");
        if (name)
            is(httpd_target_arg(&q, name), value, "its argument");
        ok(!httpd_target_arg(&q, "other"), "and no other");
    }
    arena_release(&a);
}

static void refuses(struct str target, int status, const char *what)
{
    struct httpd_target q;
    struct arena a = {0};
    int rc;

    rc = httpd_target_parse(target, &a, &q);
    ok(rc == status, "%s: %d", what, rc);
    arena_release(&a);
}

static void test_targets(void)
{
    char *longest = xcalloc(1, HTTPD_TARGET_BYTES + 2);

    reads("/", "/", NULL, NULL);
    reads("/api/grid?since=12", "/api/grid", "since", "12");
    reads("/api/task?run=0&task=level1%2F19_ReLU", "/api/task", "task",
          "level1/19_ReLU");
    reads("/a?task=a+b%2Bc", "/a", "task", "a b+c");
    reads("/a?x&y=", "/a", "x", "");
    reads("/a?&&x=1&", "/a", "x", "1");
    reads("/a?x=a=b?c", "/a", "x", "a=b?c");
    reads("/a?x=%C3%A4", "/a", "x", "ä");
    /* They name nothing that is there. */
    reads("/../etc/passwd", "/../etc/passwd", NULL, NULL);
    reads("/%2e%2e/x", "/../x", NULL, NULL);
    refuses(STR_LIT(""), 400, "nothing");
    refuses(STR_LIT("*"), 400, "OPTIONS' asterisk");
    refuses(STR_LIT("http://example.org/"), 400, "another server's address");
    refuses(STR_LIT("/%"), 400, "an escape that is cut off");
    refuses(STR_LIT("/%4"), 400, "half an escape");
    refuses(STR_LIT("/%zz"), 400, "an escape that is none");
    refuses(STR_LIT("/a%00b"), 400, "a NUL that is escaped");
    refuses(STR_LIT("/a\0b"), 400, "a NUL");
    refuses(STR_LIT("/a?x=%0d%0aSet-Cookie:1"), 400, "a line end");
    refuses(STR_LIT("/a\033[2J"), 400, "an escape sequence");
    refuses(STR_LIT("/a?x=%ff%fe"), 400, "bytes that are not UTF-8");
    refuses(STR_LIT("/a?x=%c0%ae"), 400, "a dot in two bytes");
    refuses(STR_LIT("/a?x=1&x=2"), 400, "an argument twice");
    refuses(STR_LIT("/?a&b&c&d&e&f&g&h&i"), 400, "too many arguments");
    memset(longest, 'a', HTTPD_TARGET_BYTES + 1);
    longest[0] = '/';
    refuses((struct str){longest, HTTPD_TARGET_BYTES}, 0, "the longest target");
    refuses((struct str){longest, HTTPD_TARGET_BYTES + 1}, 414,
            "one that is longer");
    free(longest);
}

static void test_hosts(void)
{
    static const char *const names[] = {"localhost", "[::1]", "my.proxy"};
    static const char *const good[] = {
        "localhost", "LOCALHOST",  "localhost:1",   "localhost:65535",
        "[::1]",     "[::1]:8123", "my.proxy:8123", NULL};
    static const char *const bad[] = {"",
                                      ":",
                                      ":80",
                                      "evil.example",
                                      "localhost.",
                                      "localhos",
                                      "localhostt",
                                      "localhost:",
                                      "localhost:x",
                                      "localhost:65536",
                                      "localhost:1:2",
                                      "localhost@evil",
                                      "[::1",
                                      "[::1]x",
                                      "::1",
                                      "my.proxy/",
                                      " localhost",
                                      "10.0.0.1",
                                      "[fe80::1]",
                                      NULL};
    struct httpd_hosts h = {names, 3, false};

    for (size_t i = 0; good[i]; i++)
        ok(httpd_host_ok(&h, good[i]), "'%s' is ours", good[i]);
    for (size_t i = 0; bad[i]; i++)
        ok(!httpd_host_ok(&h, bad[i]), "'%s' is not", bad[i]);
    ok(!httpd_host_ok(&h, NULL), "nor is none");
    h.any_address = true;
    ok(httpd_host_ok(&h, "10.0.0.1:8123") &&
           httpd_host_ok(&h, "[fe80::1]:8123"),
       "where every address is listened at, each is ours");
    ok(!httpd_host_ok(&h, "evil.example") && !httpd_host_ok(&h, "10.0.0") &&
           !httpd_host_ok(&h, "[]") && !httpd_host_ok(&h, "[::g]"),
       "but no name");
}

static void test_listening(void)
{
    static const char *const bad[] = {
        "",          "8123",          ":8123",
        "127.0.0.1", "127.0.0.1:",    "127.0.0.1:x",
        "::1:8123",  "[::1]",         "example.org:1",
        "1.2.3:4",   "0.0.0.0:65536", NULL};
    const char *mine = "a.name";
    struct opt_list more = {&mine, 1, 1};
    struct httpd_listen one, two;
    struct err e = ERR_INIT;

    for (size_t i = 0; bad[i]; i++) {
        e = (struct err)ERR_INIT;
        ok(httpd_listen_check(bad[i], &e) < 0 && e.kind == ERR_USAGE,
           "'%s' is no address: %s", bad[i], e.text);
    }
    e = (struct err)ERR_INIT;
    if (!ok(httpd_listen_open("localhost:0", &more, &one, &e) == 0,
            "a free port is found: %s", e.text))
        return;
    ok(strncmp(one.url, "http://127.0.0.1:", 17) == 0 && !one.public,
       "and said: %s", one.url);
    ok(httpd_host_ok(&one.hosts, "a.name:1") &&
           httpd_host_ok(&one.hosts, "127.0.0.1") &&
           httpd_host_ok(&one.hosts, "localhost"),
       "it has its names");
    one.url[strlen(one.url) - 1] = '\0'; /* the slash at the end */
    ok(httpd_listen_open(one.url + 7, &more, &two, &e) < 0 &&
           e.kind == ERR_INPUT && strstr(e.text, "in use"),
       "a port that is in use is refused: %s", e.text);
    httpd_listen_close(&one);
    e = (struct err)ERR_INIT;
    ok(httpd_listen_open("0.0.0.0:0", &more, &two, &e) == 0 && two.public &&
           two.hosts.any_address,
       "all addresses are public: %s", e.text);
    httpd_listen_close(&two);
}

SUITE(httpd_listen)
{
    test_targets();
    test_hosts();
    test_listening();
}
