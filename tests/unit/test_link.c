/* test_link.c: who does not know the secret can say nothing, and nobody can change,
 * drop or repeat what was said. */
#include "base/mem.h"
#include "io/link.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET \
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define OTHER "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/* Two ends, and what passes between them. */
struct pair {
    struct link server, worker;
    struct err e;
};

static void begin(struct pair *p, const char *server, const char *worker)
{
    int fds[2];

    *p = (struct pair){.e = ERR_INIT};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
        BUG("socketpair");
    link_accept(&p->server, fds[0], server);
    if (link_connect(&p->worker, fds[1], worker, &p->e) < 0)
        BUG("%s", p->e.text);
}

static void end(struct pair *p)
{
    link_close(&p->server);
    link_close(&p->worker);
}

/* The next frame at `to`, after what `from` has to send. */
static int pass(struct link *from, struct link *to, struct frame *f,
                struct err *e)
{
    int got;

    peer_flush(&from->peer, e);
    got = link_next(to, f, e);
    if (got == 0 && peer_fill(&to->peer, e) == 0)
        got = link_next(to, f, e);
    return got;
}

static int shake(struct pair *p)
{
    struct frame f;
    int got = 0;

    for (int i = 0; i < 4 && got == 0; i++) {
        got = pass(&p->worker, &p->server, &f, &p->e);
        if (got == 0)
            got = pass(&p->server, &p->worker, &f, &p->e);
    }
    return got;
}

static void open_pair(struct pair *p)
{
    begin(p, SECRET, SECRET);
    if (shake(p) != 0 || p->server.state != LINK_OPEN ||
        p->worker.state != LINK_OPEN)
        BUG("no handshake: %s", p->e.text);
}

static void test_both_ways(void)
{
    struct frame f;
    struct pair p;

    open_pair(&p);
    link_say(&p.worker, "answer", "a", "yes");
    link_say(&p.worker, "answer", "b", "");
    ok(pass(&p.worker, &p.server, &f, &p.e) == 1 && f.len == 3 &&
           memcmp(f.payload, "yes", 3) == 0 && strcmp(f.id, "a") == 0,
       "a frame arrives as it was sent");
    ok(link_next(&p.server, &f, &p.e) == 1 && f.len == 0,
       "so does an empty one");
    link_say(&p.server, "job", "c", "work");
    ok(pass(&p.server, &p.worker, &f, &p.e) == 1 && strcmp(f.type, "job") == 0,
       "and one the other way");
    end(&p);
}

static void test_secrets(void)
{
    struct pair p;

    begin(&p, OTHER, SECRET);
    ok(shake(&p) < 0 && p.worker.state != LINK_OPEN,
       "a worker does not follow a server without the secret");
    ok(strstr(p.e.text, "does not know the secret") != NULL, "and says so");
    end(&p);
}

/* Bytes for a server, and what it makes of them. */
static const char *try(const char *bytes, size_t n)
{
    static struct err e;
    struct link k;
    struct frame f;
    int fds[2], got = 0;

    e = (struct err)ERR_INIT;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0 ||
        write(fds[1], bytes, n) != (ssize_t)n)
        BUG("no connection");
    link_accept(&k, fds[0], SECRET);
    if (peer_fill(&k.peer, &e) == 0)
        got = link_next(&k, &f, &e);
    link_close(&k);
    close(fds[1]);
    return got < 0 ? e.text : got == 0 ? "waits" : "a frame";
}

static void test_strangers(void)
{
    char many[2000];

    is(try("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27),
       "not a frame: GET / HTTP/1.1\r", "a browser is refused");
    is(try("monkeys/1 job a 0 2\n{}", 22), "it does not begin with a hello",
       "a job without a handshake");
    is(try("monkeys/1 hello - 0 3\nabc", 25), "it does not begin with a hello",
       "a hello without a number");
    is(try("monkeys/1 hel", 13), "waits", "half a hello waits");
    memset(many, 'x', sizeof(many));
    is(try(many, 200), "waits", "so does half a line");
    is(try(many, sizeof(many)), "too much before the handshake",
       "but there is an end to it");
    snprintf(many, 30, "monkeys/1 hello - 0 60000000\n");
    is(try(many, sizeof(many)), "too much before the handshake",
       "a stranger cannot make us keep a large frame");
}

/* A worker that says what another said on an earlier connection. */
static void test_replay(void)
{
    char said[2][400];
    ssize_t n[2] = {0};
    struct pair p;
    struct frame f;

    begin(&p, SECRET, SECRET);
    peer_flush(&p.worker.peer, &p.e);
    n[0] = recv(p.server.peer.fd, said[0], sizeof(said[0]), 0);
    send(p.worker.peer.fd, said[0], (size_t)n[0], 0);
    /* The other end of the same socket hears it again: */
    peer_close(&p.server.peer);
    end(&p);

    open_pair(&p);
    link_say(&p.worker, "answer", "a", "yes");
    peer_flush(&p.worker.peer, &p.e);
    n[1] = recv(p.server.peer.fd, said[1], sizeof(said[1]), 0);
    send(p.worker.peer.fd, said[1], (size_t)n[1], 0);
    send(p.worker.peer.fd, said[1], (size_t)n[1], 0);
    ok(peer_fill(&p.server.peer, &p.e) == 0 &&
           link_next(&p.server, &f, &p.e) == 1,
       "what was recorded is right once");
    ok(link_next(&p.server, &f, &p.e) < 0, "and not a second time");
    end(&p);

    open_pair(&p);
    send(p.worker.peer.fd, said[1], (size_t)n[1], 0);
    ok(peer_fill(&p.server.peer, &p.e) == 0 &&
           link_next(&p.server, &f, &p.e) < 0,
       "nor on another connection");
    end(&p);
}

/* A challenge and its proof, recorded, are of no use for the next number. */
static void test_replayed_proof(void)
{
    char proof[400], back[400], hello[400];
    struct pair p, q;
    ssize_t n, m;
    struct frame f;

    begin(&p, SECRET, SECRET);
    peer_flush(&p.worker.peer, &p.e);
    m = recv(p.server.peer.fd, hello, sizeof(hello), 0);
    send(p.worker.peer.fd, hello, (size_t)m, 0);
    peer_fill(&p.server.peer, &p.e);
    link_next(&p.server, &f, &p.e);
    peer_flush(&p.server.peer, &p.e);
    peer_fill(&p.worker.peer, &p.e);
    link_next(&p.worker, &f, &p.e);
    peer_flush(&p.worker.peer, &p.e);
    n = recv(p.server.peer.fd, proof, sizeof(proof), 0);
    ok(n > 0 && m > 0, "hello and proof of an honest worker");

    begin(&q, SECRET, SECRET);
    send(q.worker.peer.fd, hello, (size_t)m, 0);
    peer_fill(&q.server.peer, &q.e);
    link_next(&q.server, &f, &q.e);
    peer_flush(&q.server.peer, &q.e);
    ok(recv(q.worker.peer.fd, back, sizeof(back), 0) > 0, "the same hello");
    send(q.worker.peer.fd, proof, (size_t)n, 0);
    peer_fill(&q.server.peer, &q.e);
    ok(link_next(&q.server, &f, &q.e) < 0 && q.server.state != LINK_OPEN,
       "the same proof is refused");
    end(&p);
    end(&q);
}

static void test_changed(void)
{
    char bytes[400];
    struct pair p;
    struct frame f;
    size_t refused = 0, total = 0;

    for (size_t at = 10;; at++) {
        ssize_t n;
        int got;

        open_pair(&p);
        link_say(&p.worker, "answer", "a", "yes");
        peer_flush(&p.worker.peer, &p.e);
        n = recv(p.server.peer.fd, bytes, sizeof(bytes), 0);
        if (at >= (size_t)n) {
            end(&p);
            break;
        }
        bytes[at] = (char)(bytes[at] ^ 1);
        send(p.worker.peer.fd, bytes, (size_t)n, 0);
        peer_fill(&p.server.peer, &p.e);
        got = link_next(&p.server, &f, &p.e);
        total++;
        refused += got <= 0;
        end(&p);
    }
    ok(total > 40 && refused == total,
       "no bit of a frame can be changed (%zu of %zu)", refused, total);
}

static void test_key(void)
{
    char path[] = "/tmp/test-key-XXXXXX", one[KEY_TEXT], two[KEY_TEXT];
    struct err e = ERR_INIT;
    struct stat st;

    close(mkstemp(path));
    unlink(path);
    ok(key_make(path, one, &e) == 0 && stat(path, &st) == 0 &&
           (st.st_mode & 077) == 0,
       "a new key is its owner's");
    ok(key_make(path, two, &e) == 0 && strcmp(one, two) == 0 &&
           key_read(path, two, &e) == 0 && strcmp(one, two) == 0,
       "it stays the same");
    chmod(path, 0640);
    ok(key_read(path, two, &e) < 0 && strstr(e.text, "other users can read"),
       "one that others can read is refused");
    chmod(path, 0600);
    ok(truncate(path, 10) == 0 && key_read(path, two, &e) < 0,
       "so is half a key");
    unlink(path);
    ok(key_read(path, two, &e) < 0, "and none");
}

SUITE(link)
{
    test_both_ways();
    test_secrets();
    test_strangers();
    test_replay();
    test_replayed_proof();
    test_changed();
    test_key();
}
