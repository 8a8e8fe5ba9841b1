/* hub.h — finds the folders of published models below a folder HUB. */
#ifndef EXPERIMENTS_HUB_H
#define EXPERIMENTS_HUB_H

#include <stdbool.h>
#include <stddef.h>

/* The parts of OWNER/NAME; without an owner, junnyu's. `length`: of the owner, which does not end with a zero. */
typedef struct owned { const char *owner, *name; int length; } owned;
owned hub_owner_of(const char *name);

/* The folder of the model `name`: HUB/NAME, HUB/OWNER/NAME, or HUB/models--OWNER--NAME/snapshots/X, as in the cache of
 * huggingface_hub. False: none of them holds the settings of a model. */
bool hub_find(const char *hub, const char *name, char *path, size_t size);

#endif
