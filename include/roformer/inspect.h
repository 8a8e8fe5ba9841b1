/* inspect.h — what tools look at: everything that the project's own programs need beyond roformer.h.
 *
 * Who embeds texts or trains a model needs none of it.  Each header also stands alone.                               */
#ifndef ROFORMER_INSPECT_H
#define ROFORMER_INSPECT_H
#include "roformer/inspect/files.h"
#include "roformer/inspect/folder.h"
#include "roformer/inspect/metrics.h"
#include "roformer/inspect/positions.h"
#include "roformer/inspect/probe.h"
#include "roformer/inspect/source.h"
#include "roformer/inspect/steps.h"
#include "roformer/kernel/random.h"
#include "roformer/kernel/work.h"
#endif
