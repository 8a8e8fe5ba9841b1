/* roformer.h — everything for users: who embeds texts or fills masks begins with pipeline.h, who trains with train.h
 * and finetune.h.  Each header also stands alone.  What tools look at beyond this is in inspect.h. */
#ifndef ROFORMER_H
#define ROFORMER_H
/* home: src/cli */
#include "roformer/attention.h"
#include "roformer/checkpoint.h"
#include "roformer/comm.h"
#include "roformer/context.h"
#include "roformer/convert.h"
#include "roformer/finetune.h"
#include "roformer/gemm.h"
#include "roformer/generate.h"
#include "roformer/index.h"
#include "roformer/kernels.h"
#include "roformer/model.h"
#include "roformer/options.h"
#include "roformer/pipeline.h"
#include "roformer/reader.h"
#include "roformer/rope.h"
#include "roformer/sequence.h"
#include "roformer/status.h"
#include "roformer/tensor.h"
#include "roformer/tokenizer.h"
#include "roformer/train.h"
#include "roformer/translate.h"
#include "roformer/mt_score.h"
#include "roformer/version.h"
#endif
