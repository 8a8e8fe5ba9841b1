/* hub.h — models that Hugging Face's libraries have downloaded, and paths with ~.
 *
 * The cache has the form models--ORGANIZATION--NAME/snapshots/COMMIT, with the commit of a branch in refs/BRANCH.  Its
 * place comes from the environment, in this order: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub,
 * XDG_CACHE_HOME/huggingface/hub, ~/.cache/huggingface/hub.  Nothing is downloaded. */
#ifndef CLI_HUB_H
#define CLI_HUB_H

#include <stdbool.h>
#include <stddef.h>

#include "roformer/context.h"

/* The user's folder (cli_os_home) in place of the ~ of "~" or "~/..."; false: another path, none, or too long. */
bool cli_home_path(const char *path, char *out, size_t size);
/* The folder of the cache; false: neither it nor the user's folder is known, or it is too long. */
bool cli_hub_cache(char *out, size_t size);
/* Whether the text can be NAME or ORGANIZATION/NAME. */
bool cli_hub_name(const char *text);
/* The folder of a model in the cache, of its branch main; NAME alone may also be sentence-transformers/NAME. */
bool cli_hub_folder(const char *name, char *out, size_t size);

#endif
