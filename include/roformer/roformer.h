/* roformer.h — includes all headers of the library; each can also be included alone.
 *
 * To compute embeddings, fill masks, classify, generate or translate, start with pipeline.h; to train, with train.h.
 * The headers in roformer/kernel/ declare the kernels, attention, matrix products and rotations. Those in
 * roformer/inspect/ are for special purposes and for tools. */
#ifndef ROFORMER_H
#define ROFORMER_H
#include "roformer/checkpoint.h"
#include "roformer/context.h"
#include "roformer/engine.h"
#include "roformer/generate.h"
#include "roformer/index.h"
#include "roformer/inspect/comm.h"
#include "roformer/inspect/files.h"
#include "roformer/inspect/folder.h"
#include "roformer/inspect/metrics.h"
#include "roformer/inspect/positions.h"
#include "roformer/inspect/records.h"
#include "roformer/inspect/steps.h"
#include "roformer/kernel/attention.h"
#include "roformer/kernel/gemm.h"
#include "roformer/kernel/kernels.h"
#include "roformer/kernel/rope.h"
#include "roformer/model.h"
#include "roformer/pipeline.h"
#include "roformer/tokenizer.h"
#include "roformer/train.h"
#endif
