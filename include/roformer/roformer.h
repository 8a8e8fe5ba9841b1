/* roformer.h — everything for users: who embeds texts or fills masks begins with pipeline.h, who trains with train.h
 * and finetune.h.  Each header also stands alone.  Below roformer/kernel/ are the kernels and what they are called on;
 * below roformer/inspect/ what tools look at, of which inspect.h has the rest. */
#ifndef ROFORMER_H
#define ROFORMER_H
#include "roformer/cancel.h"
#include "roformer/checkpoint.h"
#include "roformer/context.h"
#include "roformer/convert.h"
#include "roformer/finetune.h"
#include "roformer/generate.h"
#include "roformer/index.h"
#include "roformer/inspect/comm.h"
#include "roformer/inspect/mt_score.h"
#include "roformer/inspect/options.h"
#include "roformer/kernel/attention.h"
#include "roformer/kernel/gemm.h"
#include "roformer/kernel/kernels.h"
#include "roformer/kernel/rope.h"
#include "roformer/kernel/tensor.h"
#include "roformer/memory_folder.h"
#include "roformer/model.h"
#include "roformer/pipeline.h"
#include "roformer/reader.h"
#include "roformer/sequence.h"
#include "roformer/status.h"
#include "roformer/tokenizer.h"
#include "roformer/train.h"
#include "roformer/translate.h"
#include "roformer/version.h"
#endif
