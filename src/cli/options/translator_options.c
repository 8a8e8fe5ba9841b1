/* translator_options.c — options of fairseq-train, marian and transformers' run_translation.py that train-translation
 * does not have, and their replacements. */
#include <string.h>

#include "cli/options/options.h"

static const struct { const char *name, *advice; } table[] = {
    {"adam_betas", "--adam_beta1 X and --adam_beta2 X"},
    {"after_batches", "--max_steps N"},
    {"after_epochs", "--num_train_epochs X"},
    {"arch", "--config FILE says what a new model is like, or --recipe NAME"},
    {"batch_size", "--max_tokens N: a batch is counted in tokens of both sides"},
    {"best_checkpoint_metric", "--metric_for_best_model NAME"},
    {"bpe_dropout", "--subword_sampling A"},
    {"clip_norm", "--max_grad_norm X"},
    {"criterion", "cross-entropy, its labels smoothed by --label_smoothing X"},
    {"decoder_layers", "decoder_layers in config.json (--config FILE)"},
    {"dim_vocabs", "--vocab_size N"},
    {"disp_freq", "--logging_steps N"},
    {"dropout", "dropout, attention_dropout and activation_dropout in config.json (--config FILE)"},
    {"early_stopping", "--early_stopping_patience N"},
    {"encoder_layers", "encoder_layers in config.json (--config FILE)"},
    {"eval_bleu_args", "--eval_num_beams N"},
    {"exponential_smoothing", "--ema_decay X"},
    {"generation_num_beams", "--eval_num_beams N"},
    {"keep_interval_updates", "--save_total_limit N"},
    {"keep_last_epochs", "--save_total_limit N"},
    {"log_interval", "--logging_steps N"},
    {"lr_decay_inv_sqrt", "--lr_scheduler_type inverse_sqrt, which it is unless another is named"},
    {"lr_scheduler", "--lr_scheduler_type NAME"},
    {"lr_warmup", "--warmup_steps N"},
    {"max_epoch", "--num_train_epochs X"},
    {"max_length_crop", "pairs with a longer side are left out and listed; --max_length N"},
    {"max_source_length", "--max_length N, of each side"},
    {"max_source_positions", "--max_length N, of each side"},
    {"max_target_length", "--max_length N, of each side"},
    {"max_target_positions", "--max_length N, of each side"},
    {"max_update", "--max_steps N"},
    {"mini_batch", "--max_tokens N: a batch is counted in tokens of both sides"},
    {"mini_batch_fit", "--max_tokens N; what fits is computed before the first step, and said"},
    {"mini_batch_words", "--max_tokens N"},
    {"model_type", "--config FILE says what a new model is like, or --recipe NAME"},
    {"optimizer", "--optim NAME"},
    {"optimizer_delay", "--gradient_accumulation_steps N"},
    {"patience", "--early_stopping_patience N"},
    {"per_device_eval_batch_size", "evaluations take --max_tokens, too"},
    {"per_device_train_batch_size", "--max_tokens N: a batch is counted in tokens of both sides"},
    {"predict_with_generate", "--eval_bleu"},
    {"restore_file", "--resume DIR, or \"latest\""},
    {"save_dir", "--output_dir DIR"},
    {"save_freq", "--save_steps N"},
    {"save_interval_updates", "--save_steps N"},
    {"sentencepiece_alphas", "--subword_sampling A"},
    {"share_all_embeddings", "words are one table unless config.json says otherwise; leave the option out"},
    {"text", "--source FILE... and --target FILE..."},
    {"tied_embeddings_all", "words are one table unless config.json says otherwise; leave the option out"},
    {"train_file", "--source FILE... and --target FILE..., a text on each line"},
    {"train_sets", "--source FILE... and --target FILE..."},
    {"update_freq", "--gradient_accumulation_steps N"},
    {"valid_freq", "--eval_steps N"},
    {"valid_metrics", "--eval_bleu, besides loss and accuracy; --metric_for_best_model NAME"},
    {"valid_sets", "--validation_source FILE... and --validation_target FILE..."},
    {"validate_interval_updates", "--eval_steps N"},
    {"validation_file", "--validation_source FILE... and --validation_target FILE..."},
    {"vocabs", "--model DIR, a folder with sub-words (roformer vocab --type bpe)"},
    {"warmup_updates", "--warmup_steps N"},
};

const char *cli_translator_advice(const char *name)
{
    for (size_t i = 0; i < CLI_COUNT(table); i++)
        if (cli_same_name(table[i].name, name, strlen(name))) return table[i].advice;
    return NULL;
}
