/* translation_job.c — training of a translation model, as a job of the training loop (run.h).
 *
 *     subwords, learned if no folder has any -> pairs as ids -> config of an encoder and a decoder -> weights of
 *     the folder, or new ones -> steps */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "roformer/inspect/files.h"
#include "text/tokenizer.h"
#include "train/checkpoint/checksums.h"
#include "train/checkpoint/folder.h"
#include "model/translation_frame.h"
#include "store/family.h"
#include "train/pairs/translation_job.h"
#include "train/save.h"
#include "score/sums.h"

static void run_defaults(rf_train_options *o) { rf__train_options_begin(o, RF_OPTION_TRANSLATION); }

/* ---- subwords ---- */

static rf_status feed(void *user, const char *text, size_t size, rf_error *why)
{
    return rf_tokenizer_trainer_feed(user, text, size, why);
}

static rf__pair_files training_files(const rf_train_options *o)
{
    return (rf__pair_files){{o->source, o->target}, o->sources};
}

static rf__pair_files held_files(const rf_train_options *o)
{
    return (rf__pair_files){{o->validation_source, o->validation_target}, o->validation_sources};
}

static rf_status check_options(const rf_train_options *o, rf_error *why)
{
    if (!o->sources || !o->targets)
        return rf_fail(why, RF_EARG, "%s: expected a file, got none", o->sources ? "target" : "source");
    if (o->sources != o->targets)
        return rf_fail(why, RF_EARG, "source, target: expected the same number of files, got %d and %d", o->sources,
                       o->targets);
    if (o->validation_sources != o->validation_targets)
        return rf_fail(why, RF_EARG,
                       "validation_source, validation_target: expected the same number of files, got %d and %d",
                       o->validation_sources, o->validation_targets);
    if (2 * o->max_length > o->tokens_per_batch)
        return rf_fail(why, RF_EARG,
                       "max_length: expected at most %lld, half of tokens_per_batch (--max_tokens), because a pair has "
                       "two sides, got %lld; use a shorter max_length or a larger batch",
                       (long long)o->tokens_per_batch / 2, (long long)o->max_length);
    return RF_OK;
}

static rf_status is_text(void *user, const char *text, size_t size, rf_error *why)
{
    const size_t bad = rf_utf8_check(text, size);
    (void)user;
    if (bad == size) return RF_OK;
    return rf_fail(why, RF_EDATA, "the text is not UTF-8 at byte %zu (0x%02X)%s", bad, (unsigned char)text[bad],
                   rf_utf8_advice(text, size));
}

/* One vocabulary for both sides. Learning it may take long, so errors in the held-out texts are reported before. */
static rf_status learn(rf__run *r, rf_error *why)
{
    const rf_train_options *o = &r->o;
    const rf__pair_files files = training_files(o), held = held_files(o);
    rf_tokenizer_trainer *trainer = NULL;
    rf_tokenizer *t = NULL;
    rf_tokenizer_train_options how;
    rf_status status = check_options(o, why);
    if (!status && rf_tokenizer_found(r->ctx, r->folder)) {
        rf__run_notify(r, "note", "using the tokenizer in %s", r->folder);
        return RF_OK;
    }
    rf_tokenizer_train_defaults(&how);
    how.tokens = (int32_t)o->vocab_size;
    how.coverage = 1;
    if (!status) status = rf__pairs_lines(r->ctx, &held, is_text, NULL, why);
    if (!status) rf__run_notify(r, "data", "learning sub-words");
    if (!status) status = rf_tokenizer_trainer_new(r->ctx, "bpe", &how, &trainer, why);
    if (!status) status = rf__pairs_lines(r->ctx, &files, feed, trainer, why);
    if (!status) status = rf_tokenizer_trainer_finish(trainer, &t, why);
    if (!status) status = rf_tokenizer_save(t, r->folder, why);
    if (!status)
        rf__run_notify(r, "note", "%d subwords learned from both sides (BPE), in %s", (int)rf_tokenizer_size(t),
                       r->folder);
    rf_tokenizer_free(t);
    rf_tokenizer_trainer_free(trainer);
    return status;
}

/* ---- the pairs ---- */

/* Tokens of all pairs, including those around them; *source: those of the sources. */
static int64_t count_pair_tokens(const rf__pair_training *t, int64_t *source)
{
    const rf__pairs *p = &t->train;
    const size_t n = p->n;
    *source = n ? (int64_t)(p->start[RF__SOURCE_SIDE][n] + n * rf__around_size(&t->frame.source)) : 0;
    return n ? *source + (int64_t)(p->start[RF__TARGET_SIDE][n] + n * rf__around_size(&t->frame.target)) : 0;
}

static int count_pairs(void *user, size_t pairs)
{
    rf__run *r = user;
    rf__run_notify(r, "data", "%zu pairs", pairs);
    return r->stop;
}

static void report_dropped(rf__run *r, const rf__pairs *p, const rf__pair_files *files, const char *what)
{
    char dropped[512];
    if (!*rf__pairs_dropped(p, files, dropped, sizeof dropped)) return;
    rf__run_notify(r, "note", "%zu of %zu pairs %s are dropped: %s; " RF_FILE_DROPPED " lists them", p->drops,
                   p->n + p->drops, what, dropped);
}

/* The larger number of tokens around a side. */
static int64_t around_most(const rf__pair_training *t)
{
    return rf__max64((int64_t)rf__around_size(&t->frame.source), (int64_t)rf__around_size(&t->frame.target));
}

/* A target without its language would not tell the model what to translate to. */
static rf_status read_frame(const rf__run *r, const rf_config *c, rf__pair_training *t, rf_error *why)
{
    const rf_train_options *o = &r->o;
    const rf_status status = rf__frame_translation(c, r->tokenizer, o->source_lang, o->target_lang, &t->frame, why);
    char one[RF_LANGUAGE_CODE] = "";
    t->marks = rf__pair_marks_of(&t->frame);
    if (status || o->target_lang || r->tokenizer->target_language >= 0 || !rf__config_family(c)->framed ||
        !rf__language_at(r->tokenizer, 0, one))
        return status;
    return rf_fail(why, RF_EARG, "target_lang: expected the language of the targets, such as %s, got none", one);
}

/* Of the config that the run will have, before it is made: its limits are those of the pairs. */
static rf_status expect_frame(const rf__run *r, rf__pair_training *t, rf_error *why)
{
    const char *from = *r->from ? r->from : r->o.config ? r->o.config : r->o.model;
    rf_config c;
    const bool there = from && !rf_config_read(r->ctx, from, &c, NULL) && c.is_encoder_decoder;
    if (there || !rf__recipe_config(r->ctx, RF_RECIPE_NONE, &c, NULL)) return read_frame(r, &c, t, why);
    return RF_OK;
}

/* Only a tokenizer with several segmentations of a text can sample them. */
static rf_status begin_sampling(const rf__run *r, rf__pair_training *t, rf_error *why)
{
    rf__pair_sampling *x = &t->sampling;
    rf_error own = {0};
    x->tokenizer = r->tokenizer;
    x->alpha = r->o.subword_sampling;
    x->seed = rf__hash64(&r->o.seed, sizeof r->o.seed, 0x64726177);
    x->most = r->o.max_length - around_most(t);
    const rf_status status = rf__encode_sample(r->tokenizer, "a", 1, NULL, RF_ENCODE_PLAIN, &x->e[0], &own);
    return status ? rf_fail(why, status, "subword_sampling: %s", own.text) : RF_OK;
}

static rf_status read_pairs(rf__run *r, rf__pair_training *t, rf_error *why)
{
    const rf_train_options *o = &r->o;
    const int64_t most = o->max_length - around_most(t);             /* and the tokens around it */
    const bool drawn = o->subword_sampling > 0;
    const rf__pair_limits limits = {{most, most}, o->max_length_ratio, {drawn, drawn}},
                          any = {{most, most}, 0, {[RF__TARGET_SIDE] = rf__translation_has_bleu(o)}};
    const rf__pair_files files = training_files(o), held = held_files(o);
    rf_status status = drawn ? begin_sampling(r, t, why) : RF_OK;
    if (!status) status = rf__pairs_read(r->ctx, r->tokenizer, &files, &limits, count_pairs, r, &t->train, why);
    if (!status && held.n) status = rf__pairs_read(r->ctx, r->tokenizer, &held, &any, count_pairs, r, &t->held, why);
    return status;
}

static void report_pairs(rf__run *r, const rf__pair_training *t)
{
    int64_t source;
    const rf__pair_files files = training_files(&r->o), held = held_files(&r->o);
    const int64_t tokens = count_pair_tokens(t, &source);
    const double n = (double)t->train.n;
    rf__run_notify(r, "note", "%zu pairs of %.1f + %.1f tokens to train on, %zu held out", t->train.n,
                   (double)source / n, (double)(tokens - source) / n, t->held.n);
    report_dropped(r, &t->train, &files, "to train on");
    report_dropped(r, &t->held, &held, "held out");
}

/* Hash of the training pairs, and of the held-out pairs if there are any. */
static uint64_t data_hash(const rf__pair_training *t)
{
    return t->held.n ? rf__hash64(&t->held.hash, sizeof t->held.hash, t->train.hash) : t->train.hash;
}

/* Checkpoints of runs without held-out pairs, and those of version 0.2.0, do not record them. */
static bool knows_held(const rf__run *r, const rf__pair_training *t) { return r->state.data != t->train.hash; }

static bool same_pairs(const rf__run *r, const rf__pair_training *t)
{
    return (data_hash(t) == r->state.data || !knows_held(r, t)) && r->o.max_length == r->state.data_length &&
           r->state.position.index <= (int64_t)t->train.n;
}

static rf_status prepare(rf__run *r, rf_error *why)
{
    rf__pair_training *t = r->task;
    rf_status status = check_options(&r->o, why);
    if (!status) status = expect_frame(r, t, why);
    if (!status) status = read_pairs(r, t, why);
    if (status) return status;
    if (*r->from && !same_pairs(r, t) && !r->o.allow_data_change)
        return rf_fail(why, RF_EDATA,
                       "expected the pairs (also held-out ones), subwords and max_length of %s, got others; "
                       "allow_data_change continues anyway", r->from);
    if (*r->from && t->held.n && !knows_held(r, t))
        rf__run_notify(r, "note", "%s does not record which pairs were held out; the given ones are used", r->from);
    report_pairs(r, t);
    return RF_OK;
}

/* ---- the model ---- */

static rf_status create_config(rf__run *r, rf_config *c, rf_error *why)
{
    const rf_status status = rf__recipe_config(r->ctx, r->o.recipe, c, why);
    if (!status && r->o.recipe == RF_RECIPE_NONE)
        rf__run_notify(r, "note", "%s has no config.json: a new model of %d + %d layers, width %d", r->o.model,
                       (int)c->num_hidden_layers, (int)c->decoder_layers, (int)c->hidden_size);
    return status;
}

/* The tokens that mark a target must be those of the subwords with which the text was encoded. */
static rf_status configure(rf__run *r, rf_config *c, rf_head *head, rf_error *why)
{
    rf__pair_training *t = r->task;
    const int32_t size = rf_tokenizer_size(r->tokenizer);
    if (!c->is_encoder_decoder)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "config.json: model_type: expected that of an encoder-decoder model for translation, got %s",
                       c->family);
    if (c->decoder_start_token_id >= size || c->eos_token_id >= size)
        return rf_fail(why, RF_EDATA,
                       "config.json: decoder_start_token_id %lld, eos_token_id %lld: expected the subwords that the "
                       "model was trained with, got %d others", (long long)c->decoder_start_token_id,
                       (long long)c->eos_token_id, size);
    *head = RF_HEAD_SEQ2SEQ;
    rf_config_set_head(c, RF_HEAD_SEQ2SEQ);
    return read_frame(r, c, t, why);
}

static void memory(const rf__run *r, rf__memory_job *own)
{
    const rf__pair_training *t = r->task;
    int64_t source;
    const int64_t tokens = count_pair_tokens(t, &source);
    *own = (rf__memory_job){.source = tokens ? (double)source / (double)tokens : 0.5,
                            .copies = rf__translation_has_bleu(&r->o) ? (double)r->params.total * sizeof(float) : 0};
}

static bool continues_model(const rf__run *r) { return !*r->from && !r->o.config && rf__holds_weights(r->o.model); }

static rf_status begin(rf__run *r, bool trained, rf_error *why)
{
    (trained ? rf__params_init_head : rf__params_init)(&r->params, r->optimizer.value, r->o.seed);
    if (!trained) return RF_OK;
    const rf_status status = rf__checksums_tokenizer(r->ctx, r->o.model, rf_tokenizer_files(r->tokenizer), why);
    if (status) return status;
    rf__run_notify(r, "note", "starting from the weights in %s", r->o.model);
    return rf__run_load_weights(r, r->o.model, why);
}

/* ---- the first step ---- */

static void restore_position(rf__run *r, const rf__pair_training *t)
{
    rf__data_position *at = &r->state.position;
    if (*r->from && !same_pairs(r, t)) {
        rf__run_notify(r, "note", "the pairs are not what the checkpoint was trained with: a new epoch begins");
        r->resized = false;
        *at = (rf__data_position){.epoch = at->epoch + 1};
    }
    r->state.data = data_hash(t);
    r->state.data_length = r->o.max_length;
}

/* A run that ended early is not continued, unless the caller requests more steps. */
static void count_steps(rf__run *r, rf__pair_training *t)
{
    const rf_train_options *o = &r->o;
    int64_t source;
    const double ratio = o->subword_sampling > 0 ? rf__pairs_drawn(&t->train, &t->sampling) : 1;
    const double each = (double)o->tokens_per_batch * (double)r->state.micro_batches,
                 tokens = ratio * (double)count_pair_tokens(t, &source);
    if (o->subword_sampling > 0)
        rf__run_notify(r, "note", "subwords are sampled again in each epoch: %.2f times as many tokens", ratio);
    const bool more = o->given && (o->given(o->given_user, "max_steps") || o->given(o->given_user, "num_train_epochs"));
    if (!more && r->state.patience.stale && r->state.max_steps == r->state.step) return;
    const double epochs_left = o->num_train_epochs - rf__run_epoch(r);
    rf__run_resolve_steps(r, o->num_train_epochs * tokens / each, epochs_left * tokens / each);
}

static rf_status need_held_out(rf__run *r, const rf__pair_training *t, rf_error *why)
{
    const rf_train_options *o = &r->o;
    const char *what = o->load_best_model_at_end    ? "load_best_model_at_end"
                       : o->early_stopping_patience ? "early_stopping_patience"
                       : o->average_best            ? "average_best"
                       : o->eval_bleu               ? "eval_bleu"
                       : rf__translation_has_bleu(o)  ? "metric_for_best_model"
                                                    : NULL;
    if (t->held.n) return RF_OK;
    if (what)
        return rf_fail(why, RF_EARG,
                       "%s: expected held-out pairs to select the best model, got none; give validation_source and "
                       "validation_target", what);
    if (rf__options_chosen(o, &r->usual, "eval_steps") && o->eval_steps)
        rf__run_notify(r, "note", "eval_steps: there are no held-out pairs, so nothing is evaluated");
    r->o.eval_steps = 0;
    return RF_OK;
}

/* Lists all dropped pairs; without any, no file is written. */
static rf_status list_dropped(const rf__run *r, const rf__pair_training *t, rf_error *why)
{
    const rf_train_options *o = &r->o;
    const rf__pair_files files = training_files(o), held = held_files(o);
    rf__os_text list;
    char path[4096];
    if (rf__rank(o->comm) || !(t->train.drops + t->held.drops)) return RF_OK;
    bool good = rf__os_text_open(&list) &&
                fputs("file\tline\treason\tsource_tokens\ttarget_tokens\n", list.to) >= 0 &&
                rf__pairs_list_dropped(&t->train, &files, list.to) && rf__pairs_list_dropped(&t->held, &held, list.to);
    good = rf__os_text_close(&list) && good;
    rf_status status = good ? rf__path(path, sizeof path, r->folder, RF_FILE_DROPPED, why)
                            : rf_fail(why, RF_ENOMEM, "out of memory: a list of dropped pairs");
    if (!status) status = rf__replace_file(r->ctx, path, list.text, list.size, why);
    free(list.text);
    return status;
}

static rf_status make_batches(rf__run *r, rf__pair_training *t, rf_error *why)
{
    const int64_t n = r->o.gradient_accumulation_steps;
    t->batch = rf__calloc(r->ctx, (size_t)n, sizeof *t->batch);
    rf_status status =
        t->batch ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: a list of %lld batches", (long long)n);
    for (; t->batches < n && !status; t->batches++)
        status = rf__pair_batch_new(r->ctx, r->o.tokens_per_batch, &t->batch[t->batches], why);
    return status || !t->held.n ? status : rf__pair_batch_new(r->ctx, r->o.tokens_per_batch, &t->evaluated, why);
}

/* Reports what BLEU is computed from and how, and the options that have no effect. */
static void report_bleu(rf__run *r)
{
    static const char *const of[] = {"eval_num_beams", "bleu_tokenize"};
    const rf__pair_training *t = r->task;
    if (rf__translation_has_bleu(&r->o) && r->o.eval_steps)
        rf__run_notify(r, "note", "BLEU in evaluations: %zu pairs, %lld beam%s, tok:%s", t->held.n,
                       (long long)r->o.eval_num_beams, r->o.eval_num_beams > 1 ? "s" : "",
                       rf__mt_tokenizer_name(r->o.bleu_tokenize));
    for (size_t i = 0; i < RF_COUNT(of) && !rf__translation_has_bleu(&r->o); i++)
        if (rf__options_chosen(&r->o, &r->usual, of[i]))
            rf__run_notify(r, "note", "options without effect: %s (eval_bleu is false)", of[i]);
}

static rf_status open_job(rf__run *r, rf_error *why)
{
    rf__pair_training *t = r->task;
    rf_status status = need_held_out(r, t, why);
    if (!status) status = rf__same(r->o.comm, data_hash(t), "another text", why);
    if (status) return status;
    report_bleu(r);
    restore_position(r, t);
    count_steps(r, t);
    r->order = rf__order_key(r->o.seed);
    r->train_samples = (int64_t)t->train.n;
    r->eval_samples = (int64_t)t->held.n;
    status = make_batches(r, t, why);
    if (!status) status = rf__translation_sides(r, continues_model(r), why);
    return status ? status : list_dropped(r, t, why);
}

/* ---- the rest of the job ---- */

static double epoch_of(const rf__run *r)
{
    const rf__pair_training *t = r->task;
    const rf__data_position *at = &r->state.position;
    return t->train.n ? (double)at->epoch + (double)at->index / (double)t->train.n : 0;
}

static const char *metric(const rf__run *r)
{
    (void)r;
    return "eval_accuracy";
}

static json_t *defaults(void)
{
    rf_train_options o;
    run_defaults(&o);
    return rf__options_json(&o);
}

/* Evaluates the final model, if the last evaluation did not. */
static rf_status finish(rf__run *r, rf_error *why)
{
    const rf__pair_training *t = r->task;
    rf__evaluator s;
    if (r->final.known || !t->held.n) return RF_OK;
    const rf_status status = rf__translation_loss(r, true, &s, why);
    if (status || !s.labels) return status;
    r->final.known = true;
    r->final.loss = s.loss / (double)s.labels;
    r->final.accuracy = (double)s.hits / (double)s.labels;
    r->final.bleu = NAN;
    return rf__translation_has_bleu(&r->o) ? rf__translation_bleu(r, true, &r->final.bleu, why) : RF_OK;
}

static void card(const rf__run *r, rf__card *c)
{
    rf__run_card_losses(r, true, c);
    if (r->final.known && isfinite(r->final.bleu))
        c->metrics.metric[c->metrics.n++] = (rf_metric_value){"bleu", r->final.bleu};
}

static const rf__job job = {.usual = run_defaults,
                            .learn = learn,
                            .prepare = prepare,
                            .invent = create_config,
                            .configure = configure,
                            .memory = memory,
                            .begin = begin,
                            .open = open_job,
                            .gather = rf__translation_gather,
                            .gradient = rf__translation_gradient,
                            .evaluate = rf__translation_evaluate,
                            .epoch = epoch_of,
                            .metric = metric,
                            .defaults = defaults,
                            .card = card,
                            .finish = finish,
                            .ranks = true,
                            .tokens = true};

static void clear(rf__pair_training *t)
{
    const rf_ctx *ctx = t->ctx;
    for (int64_t i = 0; i < t->batches; i++) rf__pair_batch_free(ctx, &t->batch[i]);
    rf__free(ctx, t->batch);
    rf__pair_batch_free(ctx, &t->evaluated);
    rf__pairs_free(ctx, &t->train);
    rf__pairs_free(ctx, &t->held);
    rf__pair_sampling_clear(&t->sampling);
}

rf_status rf_train_translation(const rf_ctx *ctx, const rf_train_options *options, rf_train_report *report, void *user,
                               rf_error *why)
{
    if (!(ctx && options)) return rf__missing("rf_train_translation", "ctx, options", why);
    rf__pair_training t = {.ctx = ctx};
    rf__pair_sampling_init(&t.sampling, ctx);
    rf_train_options own, usual;
    rf_arena strings;
    rf__arena_init(&strings, ctx);
    run_defaults(&own);
    run_defaults(&usual);
    rf_status status = rf__train_options_read(&own, options, why);
    if (!status && !own.resume_from_checkpoint) status = rf__recipe_options(&own, &usual, &strings, why);
    if (!status) status = rf__run_all(ctx, &own, &job, &t, report, user, why);
    clear(&t);
    rf__arena_clear(&strings);
    return status;
}
