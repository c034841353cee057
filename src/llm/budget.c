/* budget.c: integers only, and sums that cannot wrap.
 *
 * Many calls are under way at once, and none can be taken back. A cap that is looked
 * at when a call ends would be passed by all that are under way then; so a call takes
 * the most that it can cost before it is sent, and gives back what it did not need.
 * Fractions of a dollar would be lost in floating point, and a sum that wrapped would
 * open the cap: amounts are whole, and the largest stays the largest. */
#include "llm/budget.h"

static int64_t amount_add(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return a > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

static int64_t amount_sub(int64_t a, int64_t b)
{
    int64_t rest;

    if (__builtin_sub_overflow(a, b, &rest))
        return a > 0 ? INT64_MAX : INT64_MIN;
    return rest;
}

struct llm_cost cost_add(struct llm_cost a, struct llm_cost b)
{
    return (struct llm_cost){amount_add(a.usd_micro, b.usd_micro),
                             amount_add(a.tokens, b.tokens)};
}

struct llm_cost cost_sub(struct llm_cost a, struct llm_cost b)
{
    return (struct llm_cost){amount_sub(a.usd_micro, b.usd_micro),
                             amount_sub(a.tokens, b.tokens)};
}

void budget_init(struct budget *b, struct llm_cost cap)
{
    *b = (struct budget){.cap = cap};
}

static bool amount_fits(int64_t cap, int64_t taken, int64_t worst)
{
    return cap == BUDGET_NO_CAP || worst <= amount_sub(cap, taken);
}

/* Whether `worst` fits above `taken`. */
static bool budget_fits(const struct budget *b, struct llm_cost taken,
                        struct llm_cost worst)
{
    return amount_fits(b->cap.usd_micro, taken.usd_micro, worst.usd_micro) &&
           amount_fits(b->cap.tokens, taken.tokens, worst.tokens);
}

bool budget_reserve(struct budget *b, struct llm_cost worst)
{
    if (!budget_fits(b, cost_add(b->spent, b->reserved), worst))
        return false;
    b->reserved = cost_add(b->reserved, worst);
    return true;
}

bool budget_may_fit(const struct budget *b, struct llm_cost worst)
{
    return budget_fits(b, cost_sub(cost_add(b->spent, b->reserved), b->live),
                       worst);
}

void budget_settle(struct budget *b, struct llm_cost reserved,
                   struct llm_cost real)
{
    b->reserved = cost_sub(b->reserved, reserved);
    b->spent = cost_add(b->spent, real);
}

/* Whether `percent` of the cap is spent; a cap of 0 has no shares. */
static bool budget_passed(int64_t cap, int64_t spent, int percent)
{
    return cap != BUDGET_NO_CAP && cap > 0 &&
           spent >= cap / 100 * percent + cap % 100 * percent / 100 &&
           spent > 0;
}

int budget_news(struct budget *b)
{
    static const int marks[] = {80, 50};

    for (int i = 0; i < 2; i++) {
        if (b->announced >= marks[i])
            return 0;
        if (budget_passed(b->cap.usd_micro, b->spent.usd_micro, marks[i]) ||
            budget_passed(b->cap.tokens, b->spent.tokens, marks[i])) {
            b->announced = marks[i];
            return marks[i];
        }
    }
    return 0;
}
