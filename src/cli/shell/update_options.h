/* update_options.h — the rows that pretrain and finetune share: how a batch becomes an update, when a run is saved and
 * ended. */
#ifndef CLI_UPDATE_OPTIONS_H
#define CLI_UPDATE_OPTIONS_H

#include "cli/shell/io.h"
#include "roformer/train.h"

/* `t`: the member of `args` that is an rf_train_options. */
#define UPDATE_OPTIONS(args, t) \
    {"gradient_accumulation_steps", 0, CLI_INT, offsetof(args, t.gradient_accumulation_steps), "N", NULL, 1, 1e6, \
     NULL, \
     "batches for one update", NULL}, \
    {"bf16", 0, CLI_FLAG, offsetof(args, t.bf16), NULL, NULL, 0, 0, NULL, \
     "products in bf16 with f32 sums; weights, moments and all else stay f32", NULL}, \
    {"bf16_stochastic_rounding", 0, CLI_FLAG, offsetof(args, t.bf16_stochastic_rounding), NULL, NULL, 0, 0, NULL, \
     "with --bf16: round the products' copy of the weights at random", NULL}, \
    {"gradient_checkpointing", 0, CLI_FLAG, offsetof(args, t.gradient_checkpointing), NULL, NULL, 0, 0, NULL, \
     "recompute a layer's activations in the backward pass: less memory, a third more arithmetic, the same bits", \
     NULL}, \
    {"learning_rate", 0, CLI_REAL, offsetof(args, t.learning_rate), "X", NULL, 0, 10, NULL, "peak learning rate", \
     "lr"}, \
    {"lr_scheduler_type", 0, CLI_CHOICE, offsetof(args, t.lr_scheduler_type), \
     "linear|cosine|constant|constant_with_warmup|cosine_with_restarts|polynomial|inverse_sqrt|piecewise|one_cycle", \
     NULL, 0, 0, NULL, \
     "how the learning rate falls after warm-up", NULL}, \
    {"num_cycles", 0, CLI_REAL, offsetof(args, t.num_cycles), "X", NULL, 0, 1e6, NULL, \
     "cosine_with_restarts: how often it falls", NULL}, \
    {"lr_end", 0, CLI_REAL, offsetof(args, t.lr_end), "X", NULL, 0, 10, NULL, "polynomial: the final learning rate", \
     NULL}, \
    {"lr_power", 0, CLI_REAL, offsetof(args, t.lr_power), "X", NULL, 0, 100, NULL, "polynomial: its exponent", NULL}, \
    {"lr_schedule", 0, CLI_TEXT, offsetof(args, t.lr_schedule), "N:X,...", NULL, 0, 0, NULL, \
     "piecewise: shares of the peak learning rate at updates, as 32000:1,320000:0.5", NULL}, \
    {"warmup_steps", 0, CLI_INT, offsetof(args, t.warmup_steps), "N", NULL, -1, 1e12, NULL, \
     "warm-up: updates while the learning rate rises; 0: none; -1: as warmup_ratio says", NULL}, \
    {"warmup_ratio", 0, CLI_REAL, offsetof(args, t.warmup_ratio), "P", NULL, 0, 1, NULL, \
     "the same as a share of all updates", NULL}, \
    {"weight_decay", 0, CLI_REAL, offsetof(args, t.weight_decay), "X", NULL, 0, 10, NULL, \
     "of matrices; never of biases and norms", NULL}, \
    {"optim", 0, CLI_CHOICE, offsetof(args, t.optim), "adamw|lamb|adafactor|lion|sgd", NULL, 0, 0, NULL, \
     "the rule of the updates", NULL}, \
    {"adam_beta1", 0, CLI_REAL, offsetof(args, t.adam_beta1), "X", NULL, 0, 0.999999, NULL, \
     "decay of the first moment", NULL}, \
    {"adam_beta2", 0, CLI_REAL, offsetof(args, t.adam_beta2), "X", NULL, 0, 0.99999999, NULL, \
     "decay of the second moment", NULL}, \
    {"adam_epsilon", 0, CLI_REAL, offsetof(args, t.adam_epsilon), "X", NULL, 1e-20, 1, NULL, \
     "added to the root of the second moment", NULL}, \
    {"lamb_bias_correction", 0, CLI_FLAG, offsetof(args, t.lamb_bias_correction), NULL, NULL, 0, 0, NULL, \
     "lamb: first steps are corrected (on; RoFormerV2 was trained without)", NULL}, \
    {"momentum", 0, CLI_REAL, offsetof(args, t.momentum), "X", NULL, 0, 0.999999, NULL, \
     "sgd: decay of the sum of gradients", NULL}, \
    {"nesterov", 0, CLI_FLAG, offsetof(args, t.nesterov), NULL, NULL, 0, 0, NULL, "sgd: look ahead", NULL}, \
    {"scale_parameter", 0, CLI_FLAG, offsetof(args, t.scale_parameter), NULL, NULL, 0, 0, NULL, \
     "adafactor: steps in proportion to the weights", NULL}, \
    {"relative_step", 0, CLI_FLAG, offsetof(args, t.relative_step), NULL, NULL, 0, 0, NULL, \
     "adafactor: its own learning rate instead of the schedule's", NULL}, \
    {"warmup_init", 0, CLI_FLAG, offsetof(args, t.warmup_init), NULL, NULL, 0, 0, NULL, \
     "adafactor: relative steps begin small", NULL}, \
    {"clip_threshold", 0, CLI_REAL, offsetof(args, t.clip_threshold), "X", NULL, 0, 1e9, NULL, \
     "adafactor: larger updates are scaled down; 0: never", NULL}, \
    {"decay_rate", 0, CLI_REAL, offsetof(args, t.decay_rate), "X", NULL, -10, 0, NULL, \
     "adafactor: exponent of the second moments' decay", NULL}, \
    {"adafactor_beta1", 0, CLI_REAL, offsetof(args, t.adafactor_beta1), "X", NULL, 0, 0.999999, NULL, \
     "adafactor: first moment; 0: none", NULL}, \
    {"ema_decay", 0, CLI_REAL, offsetof(args, t.ema_decay), "X", NULL, 0, 0.9999999, NULL, \
     "evaluate and keep a moving mean of the weights; 0: none", NULL}, \
    {"average_last", 0, CLI_INT, offsetof(args, t.average_last), "K", NULL, 0, 1000, NULL, \
     "the model is the mean of the last K checkpoints; 0: none", NULL}, \
    {"max_loss_spike", 0, CLI_REAL, offsetof(args, t.max_loss_spike), "Z", NULL, 0, 1e6, NULL, \
     "skip updates whose loss is Z deviations above its mean; 0: never", NULL}, \
    {"max_grad_norm", 0, CLI_REAL, offsetof(args, t.max_grad_norm), "X", NULL, 0, 1e9, NULL, \
     "gradients of a larger norm are clipped; 0: never", NULL}, \
    {"label_smoothing_factor", 0, CLI_REAL, offsetof(args, t.label_smoothing_factor), "P", NULL, 0, 1, NULL, \
     "share of each label that is spread over all, while training (cls, tag, masked and next tokens); eval_loss is " \
     "without", NULL}, \
    {"report_to", 0, CLI_CHOICE, offsetof(args, t.report_to), "none|tensorboard", NULL, 0, 0, NULL, \
     "write an event file besides metrics.jsonl", NULL}

/* When a run is looked at, saved and ended. */
#define RUN_OPTIONS(args, t) \
    {"greater_is_better", 0, CLI_CHOICE, offsetof(args, t.greater_is_better), "auto|true|false", NULL, 0, 0, NULL, \
     "which end of metric_for_best_model is good; auto: the small one of losses and errors", NULL}, \
    {"early_stopping_patience", 0, CLI_INT, offsetof(args, t.early_stopping_patience), "N", NULL, 0, 1e6, NULL, \
     "end after N evaluations in a row without a better metric_for_best_model; 0: never", NULL}, \
    {"save_total_limit", 0, CLI_INT, offsetof(args, t.save_total_limit), "N", NULL, 0, 1e6, NULL, \
     "checkpoints that are kept, the best one besides; 0: all", NULL}, \
    {"save_synchronously", 0, CLI_FLAG, offsetof(args, t.save_synchronously), NULL, NULL, 0, 0, NULL, \
     "training waits until a checkpoint is on the disk; otherwise it goes on meanwhile", NULL}, \
    {"logging_steps", 0, CLI_INT, offsetof(args, t.logging_steps), "N", NULL, 1, 1e12, NULL, \
     "updates between two lines of metrics.jsonl", NULL}, \
    {"stop_after", 0, CLI_INT, offsetof(args, t.stop_after), "N", NULL, 0, 1e12, NULL, \
     "save and stop after N updates of this run; 0: never", NULL}, \
    {"max_time", 0, CLI_REAL, offsetof(args, t.max_time), "SECONDS", NULL, 0, 1e9, NULL, \
     "save and stop after this time; 0: never", NULL}

#endif
