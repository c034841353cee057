/* providers.h: the one list of providers. */
#ifndef LLM_PROVIDERS_H
#define LLM_PROVIDERS_H

#include "base/err.h"
#include "llm/price.h"
#include "llm/provider.h"

/* NULL with ERR_USAGE and the names when there is none of this name. */
const struct provider_type *provider_find(const char *name, struct err *e);
/* What its answers cost: by o->price, by the file o->prices, or for a priced
 * provider by the prices.ini in `home`. */
int provider_price(const struct llm_opts *o, const struct provider_type *t,
                   const char *home, struct price *out, struct err *e);

#endif
