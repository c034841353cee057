/* test_web_server.c: a server beside somebody who writes a run: answers, events,
 * a crowd, the end. tests/cli/serve.t asks the program; here sanitizers watch. */
#include "base/mem.h"
#include "scratch.h"
#include "store_fixture.h"
#include "tap.h"
#include "web/web_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { CROWD = 2 * WEB_CONNECTIONS };

static void put_task(struct store *s, int64_t ord)
{
    char source[HASH_HEX], id[32];
    struct row_task r = {.ord = ord, .id = id, .hash = "h", .source = source};
    struct err e = ERR_INIT;

    snprintf(id, sizeof(id), "set/%lld", (long long)ord);
    store_blob(s, STR_LIT("x"), source);
    store_task(s, &r);
    ok(store_sync(s, &e) == 0, "a task is stored: %s", e.text);
}

static int connect_to(const struct httpd_listen *where)
{
    struct sockaddr_in a;
    socklen_t size = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {60, 0};

    if (getsockname(where->fd, (struct sockaddr *)&a, &size) < 0 ||
        connect(fd, (struct sockaddr *)&a, size) < 0)
        BUG("cannot connect");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return fd;
}

static void ask(int fd, const char *path)
{
    char text[256];
    int n = snprintf(text, sizeof(text),
                     "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);

    ok(send(fd, text, (size_t)n, MSG_NOSIGNAL) == n, "%s is asked for", path);
}

/* Reads until the answer has `word`, or ends. */
static bool hears(int fd, const char *word)
{
    char all[65536];
    size_t n = 0;

    while (n < sizeof(all) - 1) {
        ssize_t got = recv(fd, all + n, sizeof(all) - 1 - n, 0);

        if (got <= 0)
            return false;
        n += (size_t)got;
        all[n] = '\0';
        if (strstr(all, word))
            return true;
    }
    return false;
}

static void test_crowd(const struct httpd_listen *where)
{
    int crowd[CROWD], fd;

    for (int i = 0; i < CROWD; i++)
        crowd[i] = connect_to(where);
    fd = connect_to(where);
    ask(fd, "/api/overview");
    ok(hears(fd, "\"headline\""), "one is answered among %d who say nothing",
       CROWD);
    close(fd);
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
}

/* With the one that is there, one more than there may be; those that leave make
 * room. */
static void test_streams(const struct httpd_listen *where)
{
    int fd[WEB_STREAMS];

    for (int i = 0; i < WEB_STREAMS; i++) {
        fd[i] = connect_to(where);
        ask(fd[i], "/api/events");
        ok(hears(fd[i], i < WEB_STREAMS - 1 ? "event: change" : " 503 "),
           "stream %d", i + 2);
    }
    for (int i = 0; i < WEB_STREAMS; i++)
        close(fd[i]);
    for (bool heard = false; !heard;) {
        fd[0] = connect_to(where);
        ask(fd[0], "/api/events");
        heard = hears(fd[0], "event: change");
        close(fd[0]);
    }
    ok(true, "a stream that was left makes room");
}

static void test_beside(const char *dir)
{
    const struct opt_list none = {0};
    struct store *s = db_open(dir, STORE_NEW, NULL);
    struct err e = ERR_INIT;
    struct httpd_listen where;
    struct web_beside *b = NULL;
    int stream, page;

    put_task(s, 0);
    if (httpd_listen_open("127.0.0.1:0", &none, &where, &e) == 0)
        b = web_beside_start(dir, &where, &e);
    if (!ok(b != NULL, "a server starts: %s", e.text))
        return;
    stream = connect_to(&where);
    ask(stream, "/api/events");
    ok(hears(stream, "\"version\":1"), "a stream begins with the state");
    put_task(s, 1);
    ok(hears(stream, "\"version\":2"), "and hears of what is stored");
    page = connect_to(&where);
    ask(page, "/api/grid?since=1");
    ok(hears(page, "set/1"), "which the page can ask for");
    ask(page, "/");
    ok(hears(page, "<!DOCTYPE html>"),
       "a connection is kept for the next request");
    test_crowd(&where);
    test_streams(&where);
    store_event(s, "ended", -1, 0, "finished");
    db_close(s);
    web_beside_end(b);
    ok(hears(stream, "event: end"), "the end is told");
    close(stream);
    close(page);
}

SUITE(web_server)
{
    char *dir = scratch_dir();

    test_beside(dir);
}
