/* link.c: the handshake, and a MAC on every frame. */
#include "io/link.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define NUMBER    64  /* hexadecimal digits of a number or a proof */
#define EARLY_MAX 512 /* bytes of one frame before the proof */

/* What each end says must not serve as what the other says. */
static const char server_proof[] = "monkeys proof of the server\n";
static const char worker_proof[] = "monkeys proof of the worker\n";
static const char server_key[] = "monkeys frames of the server\n";
static const char worker_key[] = "monkeys frames of the worker\n";

static void to_hex(const unsigned char *p, char out[NUMBER + 1])
{
    for (size_t i = 0; i < MAC_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", p[i]);
}

static int new_number(char out[NUMBER + 1], struct err *e)
{
    unsigned char raw[MAC_BYTES];

    if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
        return err_sys(e, "getrandom");
    to_hex(raw, out);
    return 0;
}

/* HMAC(secret, label and both numbers). */
static void derive(const struct link *k, const char *label,
                   unsigned char out[MAC_BYTES])
{
    const struct mac_part parts[] = {{label, strlen(label)},
                                     {k->numbers, strlen(k->numbers)}};

    struct mac_key *key = mac_key_new(k->secret, strlen(k->secret));

    mac_of(key, parts, 2, out);
    mac_key_free(key);
}

static struct mac_key *link_key_of(const struct link *k, const char *label)
{
    unsigned char raw[MAC_BYTES];
    struct mac_key *key;

    derive(k, label, raw);
    key = mac_key_new(raw, sizeof(raw));
    explicit_bzero(raw, sizeof(raw));
    return key;
}

static void set_keys(struct link *k)
{
    k->in = link_key_of(k, k->accepting ? worker_key : server_key);
    k->out = link_key_of(k, k->accepting ? server_key : worker_key);
    k->state = LINK_OPEN;
}

static void link_start(struct link *k, int fd, const char *secret)
{
    *k = (struct link){.secured = true};
    peer_init(&k->peer, fd);
    snprintf(k->secret, sizeof(k->secret), "%s", secret);
}

void link_plain(struct link *k, int fd)
{
    *k = (struct link){.state = LINK_OPEN};
    peer_init(&k->peer, fd);
}

void link_accept(struct link *k, int fd, const char *secret)
{
    link_start(k, fd, secret);
    k->accepting = true;
}

static void say_early(struct link *k, const char *type, const char *text)
{
    struct frame f = {.id = "-", .payload = text, .len = strlen(text)};

    snprintf(f.type, sizeof(f.type), "%s", type);
    peer_send(&k->peer, &f, NULL, 0);
}

int link_connect(struct link *k, int fd, const char *secret, struct err *e)
{
    link_start(k, fd, secret);
    if (new_number(k->numbers, e) < 0)
        return -1;
    say_early(k, "hello", k->numbers);
    return 0;
}

void link_close(struct link *k)
{
    peer_close(&k->peer);
    explicit_bzero(k->secret, sizeof(k->secret));
    mac_key_free(k->in);
    mac_key_free(k->out);
    k->in = k->out = NULL;
}

/* ---- the handshake ---- */

static bool link_is_number(const char *p, size_t n)
{
    return n == NUMBER && strspn(p, "0123456789abcdef") >= n;
}

static bool is_proof(const struct link *k, const char *label, const char *p,
                     size_t n)
{
    unsigned char want[MAC_BYTES], got[MAC_BYTES] = {0};
    char text[NUMBER + 1];

    if (!link_is_number(p, n))
        return false;
    derive(k, label, want);
    snprintf(text, sizeof(text), "%.*s", NUMBER, p);
    for (size_t i = 0; i < MAC_BYTES; i++) {
        const char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};

        got[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    return mac_equal(want, got);
}

static int not_it(struct err *e)
{
    return err_set(e, ERR_INPUT, "the other end does not know the secret");
}

/* The worker's number has come: ours, and the proof. */
static int greet(struct link *k, const struct frame *f, struct err *e)
{
    char text[2 * NUMBER + 1];
    unsigned char proof[MAC_BYTES];

    if (strcmp(f->type, "hello") != 0 || !link_is_number(f->payload, f->len))
        return err_set(e, ERR_INPUT, "it does not begin with a hello");
    memcpy(k->numbers, f->payload, NUMBER);
    if (new_number(k->numbers + NUMBER, e) < 0)
        return -1;
    derive(k, server_proof, proof);
    memcpy(text, k->numbers + NUMBER, NUMBER);
    to_hex(proof, text + NUMBER);
    say_early(k, "challenge", text);
    k->state = LINK_PROOF;
    return 0;
}

/* The server has proved that it knows the secret, and asks for ours. */
static int link_answer(struct link *k, const struct frame *f, struct err *e)
{
    unsigned char proof[MAC_BYTES];
    char text[NUMBER + 1];

    if (strcmp(f->type, "challenge") != 0 || f->len != (size_t)2 * NUMBER ||
        !link_is_number(f->payload, NUMBER))
        return err_set(e, ERR_INPUT, "the other end is not 'monkeys'");
    memcpy(k->numbers + NUMBER, f->payload, NUMBER);
    if (!is_proof(k, server_proof, f->payload + NUMBER, NUMBER))
        return not_it(e);
    derive(k, worker_proof, proof);
    to_hex(proof, text);
    say_early(k, "proof", text);
    set_keys(k);
    return 0;
}

static int take_proof(struct link *k, const struct frame *f, struct err *e)
{
    if (strcmp(f->type, "proof") != 0 ||
        !is_proof(k, worker_proof, f->payload, f->len))
        return not_it(e);
    set_keys(k);
    return 0;
}

static int shake(struct link *k, const struct frame *f, struct err *e)
{
    if (!k->accepting)
        return link_answer(k, f, e);
    return k->state == LINK_HELLO ? greet(k, f, e) : take_proof(k, f, e);
}

/* ---- frames ---- */

static void seal(struct mac_key *key, uint64_t place, const struct frame *f,
                 unsigned char out[MAC_BYTES])
{
    unsigned char number[8];
    char head[300];
    const struct mac_part parts[] = {
        {number, sizeof(number)},
        {head, frame_header(f, head, sizeof(head))},
        {f->payload, f->len}};

    for (size_t i = 0; i < sizeof(number); i++)
        number[i] = (unsigned char)(place >> 8 * i);
    mac_of(key, parts, 3, out);
}

/* Cuts the MAC off the payload, if it is right. */
static int link_check(struct link *k, struct frame *f, struct err *e)
{
    unsigned char want[MAC_BYTES];

    if (f->len < MAC_BYTES)
        return err_set(e, ERR_INPUT, "a frame without a MAC");
    f->len -= MAC_BYTES;
    seal(k->in, k->got, f, want);
    if (!mac_equal(want, (const unsigned char *)f->payload + f->len))
        return err_set(e, ERR_INPUT, "a frame with a wrong MAC");
    k->got++;
    return 1;
}

int link_next(struct link *k, struct frame *f, struct err *e)
{
    int got;

    for (;;) {
        bool open = k->state == LINK_OPEN;

        if (!open && k->peer.in.len - k->peer.used > EARLY_MAX)
            return err_set(e, ERR_INPUT, "too much before the handshake");
        got = peer_next(&k->peer, f, e);
        if (got <= 0)
            return got;
        if (open)
            return k->secured ? link_check(k, f, e) : 1;
        if (shake(k, f, e) < 0)
            return -1;
    }
}

void link_send(struct link *k, const struct frame *f)
{
    struct frame sealed = *f;
    char *payload;

    if (k->state != LINK_OPEN)
        BUG("a frame before the handshake");
    if (!k->secured) {
        peer_send(&k->peer, f, NULL, 0);
        return;
    }
    payload = xmalloc(f->len + MAC_BYTES);
    if (f->len)
        memcpy(payload, f->payload, f->len);
    seal(k->out, k->sent++, f, (unsigned char *)payload + f->len);
    sealed.payload = payload;
    sealed.len = f->len + MAC_BYTES;
    peer_send(&k->peer, &sealed, NULL, 0);
    free(payload);
}

void link_say(struct link *k, const char *type, const char *id,
              const char *text)
{
    struct frame f = {.payload = text, .len = strlen(text)};

    snprintf(f.type, sizeof(f.type), "%s", type);
    snprintf(f.id, sizeof(f.id), "%s", id);
    link_send(k, &f);
}
