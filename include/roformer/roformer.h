/* roformer.h — includes everything that users of the library need. To compute embeddings, fill masks, classify,
 * generate or translate, start with pipeline.h; to train, with train.h and finetune.h. Each header can also be included
 * alone. The headers in roformer/kernel/ declare the kernels, attention and matrix products. Those in roformer/inspect/
 * are for special purposes and for tools; inspect.h includes the ones that are not included here. */
#ifndef ROFORMER_H
#define ROFORMER_H
#include "roformer/checkpoint.h"
#include "roformer/context.h"
#include "roformer/engine.h"
#include "roformer/finetune.h"
#include "roformer/generate.h"
#include "roformer/index.h"
#include "roformer/inspect/comm.h"
#include "roformer/inspect/convert.h"
#include "roformer/inspect/memory_folder.h"
#include "roformer/inspect/mt_score.h"
#include "roformer/inspect/options.h"
#include "roformer/inspect/reader.h"
#include "roformer/inspect/variants.h"
#include "roformer/kernel/attention.h"
#include "roformer/kernel/gemm.h"
#include "roformer/kernel/kernels.h"
#include "roformer/kernel/rope.h"
#include "roformer/model.h"
#include "roformer/pipeline.h"
#include "roformer/pooling.h"
#include "roformer/status.h"
#include "roformer/tokenizer.h"
#include "roformer/train.h"
#include "roformer/translate.h"
#include "roformer/version.h"
#endif
