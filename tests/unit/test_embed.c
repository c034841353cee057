/* The built-in embedding: what counts, what does not, and who is near whom. */
#include "base/hash.h"
#include "base/mem.h"
#include "search/embed.h"
#include "source/task.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double dot(const float *a, const float *b)
{
    double sum = 0;

    for (size_t i = 0; i < EMBED_DIM; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* The cosine of two texts under an embedding that was taught nothing. */
static double alike(const char *a, const char *b)
{
    struct embed *m = embed_new();
    float x[EMBED_DIM], y[EMBED_DIM];

    embed_vector(m, str_of(a), x);
    embed_vector(m, str_of(b), y);
    embed_free(m);
    return dot(x, y);
}

static void test_words(void)
{
    double same = alike("y = torch.relu(x)\n",
                        "# a comment\n\"\"\"text\"\"\"\ny = torch.relu( x )\n");

    ok(fabs(same - 1) < 1e-6, "comments, docstrings and space do not count");
    ok(alike("y = layer_norm(x)\n", "y = LayerNorm(x)\n") > 0.9,
       "layer_norm is nearly LayerNorm");
    ok(alike("a = max_pool2d(b)\n", "c = avg_pool3d(d)\n") > 0.1,
       "parts of a name count: max_pool2d and avg_pool3d");
    ok(alike("a = max_pool2d(b)\n", "c = cumsum(d)\n") < 0.05,
       "max_pool2d and cumsum share nothing");
    ok(alike("a = F.relu(b)\n", "c = torch.nn.functional.relu(d)\n") >
           alike("a = F.relu(b)\n", "c = F.gelu(d)\n"),
       "the operator says more than where it is imported from");
    ok(alike("a = torch.relu(b)\n", "c = d.relu()\n") > 0.4,
       "a method is the operator too");
    ok(alike("a = p[0].relu()\n", "c = f(d).relu()\n") > 0.4,
       "behind any value");
}

static void test_edges(void)
{
    struct embed *m = embed_new();
    float x[EMBED_DIM], y[EMBED_DIM];
    char *name = xmalloc(5000);

    embed_vector(m, STR_LIT(""), x);
    ok(dot(x, x) == 0, "no text: all zeros");
    embed_vector(m, STR_LIT("# nothing\n1 + 2\n'word'\n"), x);
    ok(dot(x, x) == 0, "no word: all zeros");
    embed_learn(m, STR_LIT("x = self.relu(x)\n"));
    embed_vector(m, STR_LIT("x = self.relu(x)\n"), x);
    ok(fabs(dot(x, x) - 1) < 1e-6, "words that every text has: unit length");
    memset(name, 'a', 4999);
    name[4999] = '\0';
    embed_vector(m, str_of(name), x);
    name[200] = '\0';
    embed_vector(m, str_of(name), y);
    ok(fabs(dot(x, y) - 1) < 1e-6, "names without end are cut");
    for (size_t i = 0; i < 4998; i += 2)
        memcpy(name + i, "a.", 2);
    memcpy(name + 4996, "a()", 4);
    embed_vector(m, str_of(name), x);
    ok(fabs(dot(x, x) - 1) < 1e-6, "and so are dotted names");
    free(name);
    embed_free(m);
}

static void test_rarity(void)
{
    struct embed *m = embed_new();
    float x[EMBED_DIM], y[EMBED_DIM], z[EMBED_DIM];

    for (int i = 0; i < 30; i++)
        embed_learn(m, STR_LIT("def forward(self, x): return x\n"));
    embed_learn(m, STR_LIT("def forward(self, x): return cumsum(x)\n"));
    embed_vector(m, STR_LIT("def forward(self, x): return cumsum(x)\n"), x);
    embed_vector(m, STR_LIT("def forward(self, x): return conv(x)\n"), y);
    embed_vector(m, STR_LIT("cumsum\n"), z);
    ok(dot(x, y) < 0.05, "what every text has hardly counts (%.3f)", dot(x, y));
    ok(dot(x, z) > 0.5, "what is rare does (%.3f)", dot(x, z));
    embed_free(m);
}

/* ---- the starter tasks ---- */

#define STARTERS 24

struct starters {
    struct collection c;
    float v[STARTERS][EMBED_DIM];
};

/* The files are numbered by family: element-wise, rows, norms, products, scans,
 * pools, attention, losses. */
static int family(size_t number)
{
    static const size_t last[] = {3, 6, 9, 13, 16, 19, 21, 24};
    int i = 0;

    while (number > last[i])
        i++;
    return i;
}

static void starters_init(struct starters *s)
{
    const char *const words[] = {"tasks/starter"};
    struct embed *m = embed_new();
    struct err e = ERR_INIT;

    s->c = (struct collection){0};
    ok(collection_add(&s->c, words, 1, "tasks", &e) == 0 &&
           s->c.len == STARTERS,
       "the starter tasks load: %s", e.text);
    for (size_t i = 0; i < s->c.len; i++)
        embed_learn(m, (struct str){s->c.task[i]->source, s->c.task[i]->len});
    for (size_t i = 0; i < s->c.len; i++)
        embed_vector(m, (struct str){s->c.task[i]->source, s->c.task[i]->len},
                     s->v[i]);
    embed_free(m);
}

/* The starter task nearest to the one of this number, as a number. */
static size_t nearest(const struct starters *s, size_t number)
{
    size_t best = 0;
    double most = -2;

    for (size_t i = 0; i < s->c.len; i++) {
        double c = dot(s->v[i], s->v[number - 1]);

        if (i != number - 1 && c > most) {
            most = c;
            best = i;
        }
    }
    return best + 1;
}

static void test_starters(void)
{
    struct starters *s = xcalloc(1, sizeof(*s));
    size_t home = 0;

    starters_init(s);
    for (size_t n = 1; n <= s->c.len; n++)
        home += family(n) == family(nearest(s, n));
    ok(home >= 17, "%zu of 24 have their nearest neighbour in their family",
       home);
    ok(nearest(s, 4) == 5 && nearest(s, 5) == 4, "softmax and logsumexp");
    ok(nearest(s, 7) == 9 && nearest(s, 9) == 7, "layer and batch norm");
    ok(nearest(s, 11) == 12, "linear layers");
    ok(nearest(s, 14) == 15 && nearest(s, 15) == 14, "cumulative sums");
    ok(nearest(s, 17) == 18 && nearest(s, 18) == 17, "pools");
    ok(nearest(s, 20) == 21 && nearest(s, 21) == 20, "attentions");
    collection_release(&s->c);
    free(s);
}

static void hash_vector(struct hash *h, const float *v)
{
    for (size_t i = 0; i < EMBED_DIM; i++) {
        uint32_t bits;
        unsigned char le[4];

        memcpy(&bits, &v[i], sizeof(bits));
        for (int b = 0; b < 4; b++)
            le[b] = (unsigned char)(bits >> (8 * b));
        hash_add(h, le, sizeof(le));
    }
}

/* The digest was made by gcc and clang for x86-64 and for aarch64. A change of
 * the embedding changes it, and asks for another EMBED_SOURCE. */
static void test_bits(void)
{
    static const char *const text[] = {
        "class Model(nn.Module):\n"
        "    def forward(self, x):\n"
        "        return torch.relu(self.conv2d(x)).sum(dim=1) * x.shape[0]\n",
        "scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(d_k)\n",
        "y = F.layer_norm(x, (x.shape[-1],), eps=1e-5)\nx = y + y\n"};
    struct embed *m = embed_new();
    float x[EMBED_DIM];
    char hex[HASH_HEX];
    struct hash h;

    hash_init(&h);
    for (int i = 0; i < 40; i++)
        embed_learn(m, str_of(text[i % 7 == 0 ? 1 : i % 2 * 2]));
    for (size_t i = 0; i < 3; i++) {
        embed_vector(m, str_of(text[i]), x);
        hash_vector(&h, x);
    }
    hash_finish_hex(&h, hex);
    is(hex, "a593485d7746561960d02d374624854474229bf717a403c2a213d10353fa42e6",
       "every bit is as on other machines");
    embed_free(m);
}

/* Taught in another order, the same vector comes out. */
static void test_order(void)
{
    static const char *const text[] = {"a = relu(b)\n", "c = d.cumsum(e)\n",
                                       "for f in g: h(f)\n"};
    struct embed *m = embed_new(), *w = embed_new();
    float x[EMBED_DIM], y[EMBED_DIM];

    for (size_t i = 0; i < 3; i++) {
        embed_learn(m, str_of(text[i]));
        embed_learn(w, str_of(text[2 - i]));
    }
    embed_vector(m, str_of("a = b.cumsum(f)\n"), x);
    embed_vector(w, str_of("a = b.cumsum(f)\n"), y);
    ok(memcmp(x, y, sizeof(x)) == 0, "the order of teaching does not matter");
    embed_free(m);
    embed_free(w);
}

SUITE(embed)
{
    test_words();
    test_edges();
    test_rarity();
    test_order();
    test_bits();
    test_starters();
}
