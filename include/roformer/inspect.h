/* inspect.h — includes what tools need beyond roformer.h; the project's own programs use it.
 *
 * Programs that compute embeddings or train models do not need it. Each header can also be included alone. */
#ifndef ROFORMER_INSPECT_H
#define ROFORMER_INSPECT_H
#include "roformer/inspect/files.h"
#include "roformer/inspect/folder.h"
#include "roformer/inspect/held_folder.h"
#include "roformer/inspect/metrics.h"
#include "roformer/inspect/positions.h"
#include "roformer/inspect/probe.h"
#include "roformer/inspect/source.h"
#include "roformer/inspect/steps.h"
#endif
