/* family.c: what kind of program a task is, from its operators. */
#include "views/views_int.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>

/* The first row with an operator that fits decides, so what a program is
 * mostly about comes first. "=mm" is the whole name, "conv" a part of it. */
static const struct family {
    const char *name;
    const char *ops[18];
} families[] = {
    {"recurrence", {"=rnn", "=lstm", "=gru", "rnncell", "lstmcell", "grucell"}},
    {"attention", {"attention"}},
    {"convolution", {"conv"}},
    {"loss", {"loss", "cross_entropy", "kl_div"}},
    {"matrix product",
     {"matmul", "linear", "einsum", "addmm", "bmm", "=mm", "=dot", "outer",
      "=mv"}},
    {"pooling", {"pool"}},
    {"normalisation", {"norm"}},
    {"scan", {"cumsum", "cumprod", "cummax", "cummin", "cumulative"}},
    {"softmax", {"softmax", "softmin"}},
    {"reduction",
     {"=sum", "=mean", "=prod", "=max", "=min", "=amax", "=amin", "argmax",
      "argmin", "logsumexp", "=std", "=var", "=all", "=any", "=median"}},
    {"movement",
     {"=cat", "=stack", "transpose", "permute", "gather", "scatter", "=flip",
      "=roll", "index_select", "=pad", "embedding", "=sort", "topk", "=tril",
      "=triu"}},
};

static bool fits(struct str op, const char *pattern)
{
    char low[64];
    size_t n = op.n < sizeof(low) - 1 ? op.n : sizeof(low) - 1;

    for (size_t i = 0; i < n; i++)
        low[i] = (char)tolower((unsigned char)op.p[i]);
    low[n] = '\0';
    if (pattern[0] == '=')
        return strcmp(low, pattern + 1) == 0;
    return strstr(low, pattern) != NULL;
}

static bool has_one(const char *ops, const struct family *f)
{
    struct str rest = str_of(ops), op;
    bool more = true;

    while (more) {
        more = str_cut(&rest, '\n', &op);
        for (size_t i = 0; i < 18 && f->ops[i]; i++)
            if (fits(more ? op : rest, f->ops[i]))
                return true;
    }
    return false;
}

/* Attention is often written out. */
static const struct family product = {"", {"matmul", "bmm", "einsum"}},
                           soft = {"", {"softmax"}};

const char *views_family(const char *ops)
{
    if (!ops || !ops[0])
        return "unknown";
    if (has_one(ops, &product) && has_one(ops, &soft))
        return "attention";
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (has_one(ops, &families[i]))
            return families[i].name;
    return "element-wise";
}
