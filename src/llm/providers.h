/* providers.h: the one list of providers. */
#ifndef LLM_PROVIDERS_H
#define LLM_PROVIDERS_H

#include "base/err.h"
#include "llm/provider.h"

/* NULL with ERR_USAGE and the names when there is none of this name. */
const struct provider_type *provider_find(const char *name, struct err *e);

#endif
