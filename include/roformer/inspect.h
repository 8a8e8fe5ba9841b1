/* inspect.h — what tools look at: everything that the project's own programs need beyond roformer.h.
 *
 * Who embeds texts or trains a model needs none of it.  Each header also stands alone.                               */
#ifndef ROFORMER_INSPECT_H
#define ROFORMER_INSPECT_H
/* home: src/cli */
#include "roformer/files.h"
#include "roformer/folder.h"
#include "roformer/metrics.h"
#include "roformer/positions.h"
#include "roformer/probe.h"
#include "roformer/random.h"
#include "roformer/source.h"
#include "roformer/steps.h"
#include "roformer/work.h"
#endif
