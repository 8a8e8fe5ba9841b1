/* start.c — everything before the first step: options, checkpoint, model.  The folder is in start_folder.c, the text in
 * start_text.c. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "roformer/files.h"
#include "model/family.h"
#include "model/linear.h"
#include "model/positions.h"
#include "store/store.h"
#include "train/checkpoint/folder.h"
#include "train/memory.h"
#include "train/run.h"

/* ---- telling ---- */

void rf__run_notify(rf__run *r, const char *event, const char *text, ...)
{
    char note[1024];
    va_list arguments;
    if (text) {
        va_start(arguments, text);
        vsnprintf(note, sizeof note, text, arguments);
        va_end(arguments);
    }
    rf_train_progress *p = &r->progress;
    p->step = r->state.step;
    p->max_steps = r->state.max_steps;
    p->epoch = rf__run_epoch(r);
    p->tokens = r->state.tokens;
    p->seconds = r->state.seconds;
    p->save_wait = r->saver.waited;
    p->eval_loss = r->state.eval_loss;
    p->eval_accuracy = r->state.eval_accuracy;
    p->eval_bleu = r->state.eval_bleu;
    p->metric = r->job && r->task ? r->job->metric(r) : "eval_accuracy";
    p->objective = rf__run_next(r) ? RF_OBJECTIVE_CLM : RF_OBJECTIVE_MLM;
    p->event = event;
    p->note = text ? note : NULL;
    const int answer = r->report ? r->report(r->user, p) : RF_TRAIN_GO;
    if (answer == RF_TRAIN_SAVE) r->save = true;
    else if (answer) r->stop = true;
    p->note = NULL;
}

double rf__run_epoch(const rf__run *r)
{
    return r->job ? r->job->epoch(r) : rf__data_position_epoch(&r->state.position, &r->pieces);
}

/* ---- the checkpoint ---- */

/* A step keeps its micro-batches when the number of ranks changes, unless the caller asks for another number of
 * them. */
static rf_status share_again(rf__run *r, const json_t *saved, rf_error *why)
{
    static const char name[] = "gradient_accumulation_steps";
    rf_train_options *o = &r->o;
    const int64_t all = r->state.micro_batches, then = json_integer_value(json_object_get(saved, name));
    const int ranks = rf__ranks(o->comm);
    if (!all || (o->given ? o->given(o->given_user, name) : o->gradient_accumulation_steps != then)) return RF_OK;
    if (all % ranks)
        return rf_fail(why, RF_EARG,
                       "%s: a step has %lld micro-batches, which %d processes cannot share; %s changes their number",
                       r->from, (long long)all, ranks, name);
    o->gradient_accumulation_steps = all / ranks;
    return RF_OK;
}

/* ---- stages ---- */

static bool same_stage(const rf__stage *a, const rf__stage *b)
{
    return a->length == b->length && a->batch == b->batch && a->end == b->end && a->warmup_steps == b->warmup_steps &&
           a->tokens_per_batch == b->tokens_per_batch && a->micro_batches == b->micro_batches && a->bf16 == b->bf16 &&
           !(a->learning_rate < b->learning_rate) && !(a->learning_rate > b->learning_rate);
}

/* What stages say is not said twice. */
static rf_status refuse_beside_stages(const rf__run *r, rf_error *why)
{
    static const char *const name[] = {"max_steps", "num_train_epochs", "max_length", "gradient_accumulation_steps"};
    for (size_t i = 0; i < RF_COUNT(name); i++)
        if (rf__options_chosen(&r->o, &r->usual, name[i]))
            return rf_fail(why, RF_EARG, "%s: given beside stages, which say it: leave it out", name[i]);
    return RF_OK;
}

static rf_status apply_stage(rf__run *r, rf_error *why)
{
    r->given = r->o;
    r->stage = rf__stage_of(&r->stages, r->state.step);
    rf__stage_apply(&r->stages, r->stage, rf__ranks(r->o.comm), &r->o);
    return rf__options_check(&r->o, why);
}

static rf_status begin_stages(rf__run *r, rf_error *why)
{
    if (r->job || !r->o.stages) return RF_OK;
    rf_status status = refuse_beside_stages(r, why);
    if (!status) status = rf__stages_read(r->ctx, r->o.stages, &r->o, rf__ranks(r->o.comm), &r->stages, why);
    return status ? status : apply_stage(r, why);
}

/* Stages of the checkpoint; those of `given`, if any, go on from them, and agree with what has been done. */
static rf_status resume_stages(rf__run *r, const json_t *saved, const char *given, rf_error *why)
{
    const int ranks = rf__ranks(r->o.comm);
    rf__stages then;
    if (r->job || !json_object_get(saved, "stages_settled")) {
        if (!r->job && given)
            return rf_fail(why, RF_EARG, "stages: %s was made without them: leave them out", r->from);
        r->o.stages = NULL;
        return RF_OK;
    }
    json_t *all = json_pack("{s:O}", "stages", json_object_get(saved, "stages_settled"));
    if (!all) return rf_fail(why, RF_ENOMEM, "out of memory: stages");
    rf_status status = rf__stages_parse(all, r->from, &r->o, ranks, &then, why);
    json_decref(all);
    r->stages = then;
    if (!status && given) status = rf__stages_read(r->ctx, given, &r->o, ranks, &r->stages, why);
    const int at = rf__stage_of(&then, r->state.step);
    for (int i = 0; i <= at && !status; i++)
        if (i >= r->stages.n || !same_stage(&then.at[i], &r->stages.at[i]))
            status = rf_fail(why, RF_EARG,
                             "%s: stage %d is not that of %s, which has begun it: later ones alone may be others",
                             given, i + 1, r->from);
    if (!status) status = apply_stage(r, why);
    if (!status) r->state.max_steps = r->o.max_steps;
    return status;
}

/* What a resumed run needs for the bits of one that was left alone, besides its options and data. */
static void report_changes(rf__run *r)
{
    static const char what[] = "bits need not be those of a run without the change";
    char kernels[RF__KERNELS];
    rf__state_kernels(r->ctx, kernels);
    if (strcmp(r->state.version, rf_version()))
        rf__run_notify(r, "note", "the checkpoint was written by version \"%s\", this is %s: %s", r->state.version,
                       rf_version(), what);
    if (*r->state.kernels && strcmp(r->state.kernels, kernels))
        rf__run_notify(r, "note",
                       "the checkpoint was computed by kernels \"%s\", this run's are \"%s\": %s (--isa)",
                       r->state.kernels, kernels, what);
}

/* Were the checkpoint's batches of another size?  Of fine-tuning the job knows. */
static bool other_batches(const rf__run *r, const json_t *saved)
{
    const int64_t then = json_integer_value(json_object_get(saved, "tokens_per_batch")),
                  now = rf__ranks(r->o.comm) * r->o.gradient_accumulation_steps;
    const bool in_tokens = !r->job || r->job->tokens;
    return (in_tokens && then != r->o.tokens_per_batch) || (r->state.micro_batches && r->state.micro_batches != now);
}

void rf__run_settle_steps(rf__run *r, double all, double left)
{
    rf__state *t = &r->state;
    all = fmax(1, ceil(all));
    if (r->resized) t->steps_moved = (double)t->step + fmax(0, ceil(left)) - all;
    t->max_steps = r->o.max_steps ? r->o.max_steps : (int64_t)fmax(1, all + t->steps_moved);
}

static rf_status open_checkpoint(rf__run *r, rf_error *why)
{
    char path[4096], changed[512];
    json_t *saved = NULL;
    const char *const stages = r->o.stages;
    if (!r->job && stages && refuse_beside_stages(r, why)) return RF_EARG;
    rf_status status = rf__path(path, sizeof path, r->from, RF_FILE_STATE, why);
    if (!status) status = rf__state_load(r->ctx, path, &r->state, &saved, why);
    if (!status) status = rf__options_restore(&r->o, &r->usual, saved, &r->strings, path, changed, sizeof changed, why);
    if (!status) rf__options_settle(&r->o, &r->usual);
    if (!status) status = rf__run_compare_model(r, saved, why);
    if (!status) status = resume_stages(r, saved, stages, why);
    if (!status && !r->stages.n) status = share_again(r, saved, why);
    if (!status && !r->stages.n) r->resized = other_batches(r, saved);
    if (!status && r->job && r->job->restore) status = r->job->restore(r, saved, why);
    json_decref(saved);
    if (!status) report_changes(r);
    /* numbers of another metric cannot be compared: the search for the best begins anew */
    if (!status && (strstr(changed, "metric_for_best_model") || strstr(changed, "greater_is_better")))
        r->state.best_step = 0;
    if (!status && *changed) rf__run_notify(r, "note", "options that differ from the checkpoint's: %s", changed);
    return status;
}

/* ---- the model ---- */

/* A small model: the full-sized defaults of RoFormerConfig are nothing to begin with on a few cores. */
static void small_config(rf_config *c)
{
    rf_config_defaults(c);
    c->num_hidden_layers = c->num_attention_heads = 4;
    c->hidden_size = c->embedding_size = 256;
    c->intermediate_size = 1024;
}

/* What a new decoder begins and ends with.  Marian's begins with padding, as its class would have it. */
static void mark_targets(const rf__run *r, rf_config *c)
{
    const bool marian = !strcmp(c->family, "marian");
    c->decoder_start_token_id = marian ? c->pad_token_id : rf_tokenizer_cls(r->tokenizer);
    c->eos_token_id = rf_tokenizer_sep(r->tokenizer);
}

/* The config of a new model has the tokenizer's vocabulary; that of a trained one must have space for it. */
static rf_status fit_vocabulary(rf__run *r, rf_config *c, bool trained, rf_error *why)
{
    const int32_t size = r->vocab.size, pad = rf_tokenizer_pad(r->tokenizer);
    if (trained && c->vocab_size >= size) return RF_OK;
    if (trained)
        return rf_fail(why, RF_EDATA, "config.json: vocab_size is %lld, the tokenizer has %d tokens",
                       (long long)c->vocab_size, size);
    if (c->vocab_size != size)
        rf__run_notify(r, "note", "vocab_size is %d, the number of tokens of the tokenizer (config.json: %lld)", size,
                     (long long)c->vocab_size);
    c->vocab_size = size;
    if (pad >= 0) c->pad_token_id = pad;
    if (!c->is_encoder_decoder) rf_config_set_head(c, RF_HEAD_MLM);
    else mark_targets(r, c);
    return RF_OK;
}

/* What --objective says of a model that is begun here; a checkpoint has decided already. */
static rf_status settle_objective(rf__run *r, rf_config *c, bool trained, rf_error *why)
{
    if (!*r->from && !r->job && r->o.objective == RF_OBJECTIVE_CLM && !c->is_decoder) {
        c->is_decoder = 1;
        if (trained) {
            rf_config_set_head(c, RF_HEAD_MLM);
            rf__run_notify(r, "note",
                           "%s was trained to see tokens on both sides; from here on it sees earlier ones only",
                           r->o.model);
        }
    }
    return r->job ? RF_OK : rf__task_objective_check(&r->o, c, *r->from ? r->from : RF_FILE_CONFIG, why);
}

/* A causal model's first token has seen nothing but itself. */
static rf_status check_head(const rf_config *c, rf_head head, rf_error *why)
{
    const rf_family *f;
    const rf_status status = rf__family_find(c, &f, why);
    if (status) return status;
    const rf_head_row *is = rf__family_head(f, head);
    const bool first =
        is && (is->look == RF_LOOK_FIRST || (is->look == RF_LOOK_SUMMARY && c->summary == RF_SUMMARY_FIRST));
    if (c->is_decoder && c->linear_pooler && head != RF_HEAD_MLM)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "config.json: RoFormer-Sim (pooler_activation \"linear\", is_decoder true) is fine-tuned by "
                       "task sim alone");
    if (!c->is_decoder || !first) return RF_OK;
    return rf_fail(
        why, RF_EUNSUPPORTED,
        "config.json: is_decoder is true, and this head looks at a text's first token, which has seen no other");
}

/* A folder of another class (BertForPreTraining, or a fine-tuned one) is written as what is trained here. */
static bool of_masked(const rf_config *c)
{
    const rf_class_row *is = rf__config_class(c);
    return is && is->head == RF_HEAD_MLM;
}

static rf_status read_new_config(rf__run *r, rf_config *c, rf_error *why)
{
    char strange[512];
    const rf_status status = rf_config_read_new(r->ctx, r->o.config, c, strange, sizeof strange, why);
    if (!status && *strange)
        rf__run_notify(r, "note", "%s: keys that nothing here reads are passed over: %s", r->o.config, strange);
    return status;
}

static rf_status read_config(rf__run *r, bool trained, rf_error *why)
{
    const char *folder = *r->from ? r->from : r->o.model;
    rf_config c;
    rf_status status = RF_OK;
    if (!*r->from && r->o.config) {
        status = read_new_config(r, &c, why);
    } else if ((r->job && !r->job->invent) || rf__folder_has(folder, RF_FILE_CONFIG)) {
        status = rf_config_read(r->ctx, folder, &c, why);
    } else if (r->job) {
        status = r->job->invent(r, &c, why);
    } else {
        small_config(&c);
        rf__run_notify(r, "note", "%s has no config.json: a new model of %d layers, width %d", folder,
                       (int)c.num_hidden_layers, (int)c.hidden_size);
    }
    if (!status) status = settle_objective(r, &c, trained, why);
    if (!status) status = fit_vocabulary(r, &c, trained, why);
    if (!status) status = rf_config_check(&c, r->o.config ? r->o.config : RF_FILE_CONFIG, why);
    rf_head head = RF_HEAD_MLM;
    if (!status && r->job) status = r->job->configure(r, &c, &head, why);
    else if (!status && !of_masked(&c)) rf_config_set_head(&c, RF_HEAD_MLM);
    if (!status) status = check_head(&c, head, why);
    if (!status) status = rf__params_new_head(r->ctx, &c, head, &r->params, why);
    if (status) rf__config_named(!*r->from && r->o.config ? r->o.config : folder, why);
    return status;
}

static bool same_decoder(const rf_config *a, const rf_config *b)
{
    return a->decoder_layers == b->decoder_layers && a->decoder_attention_heads == b->decoder_attention_heads &&
           a->decoder_ffn_dim == b->decoder_ffn_dim && a->normalize_before == b->normalize_before &&
           a->tie_word_embeddings == b->tie_word_embeddings &&
           a->share_encoder_decoder_embeddings == b->share_encoder_decoder_embeddings &&
           a->rotary_cross_attention == b->rotary_cross_attention &&
           !strcmp(a->decoder_position_embedding_type, b->decoder_position_embedding_type);
}

static bool same_shape(const rf_config *a, const rf_config *b)
{
    return !strcmp(a->family, b->family) && a->embedding_size == b->embedding_size &&
           a->hidden_size == b->hidden_size && a->num_hidden_layers == b->num_hidden_layers &&
           a->num_attention_heads == b->num_attention_heads && a->intermediate_size == b->intermediate_size &&
           a->rotary_value == b->rotary_value && a->hidden_act == b->hidden_act && rf__config_same_positions(a, b) &&
           same_decoder(a, b);
}

/* A resumed run has its checkpoint's config; another one, given by name, must not be passed over in silence. */
static rf_status compare_config(rf__run *r, rf_error *why)
{
    rf_config c;
    if (!*r->from || !r->o.config) return RF_OK;
    const rf_status status = rf_config_read(r->ctx, r->o.config, &c, why);
    if (status || same_shape(&c, &r->params.config)) return status;
    return rf_fail(why, RF_EARG, "%s: another architecture than that of %s", r->o.config, r->from);
}

rf_status rf__run_load_weights(rf__run *r, const char *path, rf_error *why)
{
    rf_weights *w;
    bool head;
    rf_status status = rf_weights_open(r->ctx, path, &w, why);
    if (status) return status;
    status = rf__params_load(&r->params, w, r->optimizer.value, &head, NULL, why);
    rf_weights_close(w);
    return status;
}

static rf_status load_checkpoint(rf__run *r, rf_error *why)
{
    char path[4096];
    /* not rf_weights_open(folder): that would also look for shards */
    rf_status status = rf__path(path, sizeof path, r->from, RF_FILE_WEIGHTS, why);
    if (!status) status = rf__run_load_weights(r, path, why);
    if (!status) status = rf__path(path, sizeof path, r->from, RF_FILE_MOMENTS, why);
    if (!status) status = rf__optimizer_load(&r->optimizer, path, why);
    if (status || !r->optimizer.ema || !rf__folder_has(r->from, RF_FILE_MEANS)) return status;
    status = rf__path(path, sizeof path, r->from, RF_FILE_MEANS, why);
    if (status) return status;
    rf__optimizer_swap(&r->optimizer, r->optimizer.value, r->optimizer.ema);
    status = rf__run_load_weights(r, path, why);
    rf__optimizer_swap(&r->optimizer, r->optimizer.value, r->optimizer.ema);
    r->ema_loaded = true;
    return status;
}

static rf_status set_weights(rf__run *r, bool trained, rf_error *why)
{
    if (*r->from) return load_checkpoint(r, why);
    (r->job || trained ? rf__params_init_head : rf__params_init)(&r->params, r->optimizer.value, r->o.seed);
    if (r->job) return r->job->begin(r, why);
    if (!trained) return RF_OK;
    rf__run_notify(r, "note", "goes on from the weights in %s", r->o.model);
    return rf__run_load_weights(r, r->o.model, why);
}

/* Where gradients are summed, and sent to other ranks; losses of this rank's micro-batches, and of all. */
rf_status rf__run_open_exchange(rf__run *r, rf_error *why)
{
    const int64_t share = r->o.gradient_accumulation_steps, ranks = rf__ranks(r->o.comm);
    rf__optimizer *z = &r->optimizer;
    r->state.micro_batches = share * ranks;
    rf__free(r->ctx, r->loss);
    rf__exchange_free(&r->exchange);
    rf__tree_free(&r->tree);
    r->loss = rf__calloc(r->ctx, (size_t)(share + share * ranks), sizeof *r->loss);
    if (!r->loss) return rf_fail(why, RF_ENOMEM, "out of memory: losses of %lld batches", (long long)share);
    const rf_status status = rf__tree_new(&r->params, z->grad, rf__rank(r->o.comm) * share, share, &r->tree, why);
    if (status || !r->o.comm) return status;
    z->exchange = &r->exchange;
    return rf__exchange_new(r->ctx, r->o.comm, &z->shares, z->span, &r->tree, share, z->partial, &r->exchange, why);
}

/* Of the run, or of each of its stages. */
static rf_status check_memory(rf__run *r, const rf__memory_job *own, double left, char *note, size_t size,
                              rf_error *why)
{
    rf_status status = RF_OK;
    for (int i = 0; i < r->stages.n && !status; i++) {
        rf_train_options o = r->o;
        rf__stage_apply(&r->stages, i, rf__ranks(o.comm), &o);
        status = rf__memory_check(&r->params, &o, own, left, note, size, why);
    }
    return status ? status : rf__memory_check(&r->params, &r->o, own, left, note, size, why);
}

/* Pieces of text are as long as max_length, in each stage. */
static rf_status check_lengths(const rf__run *r, rf_error *why)
{
    rf_status status = r->stages.n ? RF_OK : rf__position_reaches(&r->params.config, r->o.max_length, why);
    for (int i = 0; i < r->stages.n && !status; i++)
        status = rf__position_reaches(&r->params.config, r->stages.at[i].length, why);
    return status;
}

static bool writes_text(const rf_config *c) { return c->is_decoder || c->is_encoder_decoder; }

static rf_status open_model(rf__run *r, rf_error *why)
{
    char note[256];
    rf__memory_job own = {0};
    if (!*r->from && !r->o.model) return rf_fail(why, RF_EARG, "model: a folder with a tokenizer is needed");
    const bool trained = *r->from || (!r->o.config && rf__holds_weights(r->o.model));
    rf_status status = rf_tokenizer_open(r->ctx, *r->from ? r->from : r->o.model, &r->tokenizer, why);
    if (!status) status = rf_tokenizer_savable(r->tokenizer, *r->from ? r->from : r->o.model, why);
    const char *old = status ? NULL : rf_tokenizer_displaces(r->tokenizer, r->folder);
    if (old)
        rf__run_notify(r, "note", "%s: its %s will be renamed to %s.replaced, because the trained model's tokenizer "
                       "has other files", r->folder, old, old);
    if (!status) status = rf__vocab_new(r->ctx, r->tokenizer, &r->vocab, why);
    if (!status && r->o.cut_sentences) rf__vocab_sentences(&r->vocab, r->tokenizer);
    if (!status && r->job) status = r->job->prepare(r, why);
    if (!status) status = read_config(r, trained, why);
    if (!status && trained && writes_text(&r->params.config))
        status = rf__generation_keep(r->ctx, *r->from ? r->from : r->o.model, &r->generation, why);
    if (!status) status = compare_config(r, why);
    if (!status && !r->job) status = check_lengths(r, why);
    const double left = rf__memory_left(r->ctx) / (r->o.comm ? r->o.comm->local : 1);
    if (!status && r->job) r->job->memory(r, &own);
    if (!status) status = check_memory(r, &own, left, note, sizeof note, why);
    if (!status) rf__run_notify(r, "note", "%s", note);
    if (!status && rf__linear_wasteful(&r->params.config, r->o.max_length))
        rf__run_notify(r, "note",
                       "%" PRId64 " features of linear attention take far longer than softmax attention, whose weights "
                       "are exact, on texts of %" PRId64 " tokens",
                       rf__linear_features(&r->params.config), r->o.max_length);
    const rf__rule rule = rf__rule_of(&r->o);
    const int ranks = rf__ranks(r->o.comm), rank = rf__rank(r->o.comm);
    if (!status) status = rf__optimizer_new_shared(&r->params, &rule, ranks, rank, &r->optimizer, why);
    if (!status) status = set_weights(r, trained, why);
    if (!status && r->optimizer.ema && !r->ema_loaded)
        rf__optimizer_blend(&r->optimizer, r->optimizer.ema, r->optimizer.value, 1);
    if (!status) status = rf__run_open_exchange(r, why);
    if (!status) status = rf__encoder_new(&r->params, r->optimizer.value, r->optimizer.grad, &r->encoder, why);
    if (!status) status = rf_graph_new(r->ctx, &r->graph, why);
    if (status) return status;
    rf_graph_products(r->graph, r->o.bf16 ? RF_BF16 : RF_F32);
    rf_graph_smoothing(r->graph, r->o.label_smoothing_factor);
    rf__encoder_recompute(r->encoder, r->o.gradient_checkpointing != 0);
    if (!r->o.bf16_stochastic_rounding) return RF_OK;
    r->rounded = rf__alloc(r->ctx, r->params.total * sizeof *r->rounded);
    return r->rounded
               ? RF_OK
               : rf_fail(why, RF_ENOMEM, "out of memory: %.0f MB of rounded weights", (double)r->params.total * 2e-6);
}

/* ---- all of it; of several ranks the first one alone touches the folder ---- */

static rf_status begin_folder(rf__run *r, rf_error *why)
{
    rf__options_settle(&r->o, &r->usual);
    rf_status status = r->o.resume_from_checkpoint ? rf__rows_check(rf_train_option, &r->o, why)  /* the others: with */
                                                   : rf__options_check(&r->o, why);        /* those of the checkpoint */
    if (!status && r->o.comm && r->job && !r->job->ranks)
        status = rf_fail(why, RF_EARG, "several processes can pretrain and train translators, nothing else");
    return status || rf__rank(r->o.comm) ? status : rf__run_take_folder(r, why);
}

static rf_status same_folder(rf__run *r, rf_error *why)
{
    const rf_status status = rf__broadcast(r->o.comm, r->folder, sizeof r->folder, why);
    return status ? status : rf__broadcast(r->o.comm, r->from, sizeof r->from, why);
}

/* What all ranks must have in common, besides the text: options, shape of the model, version of the program and
 * kernels, by which each of them takes the same step. */
static rf_status same_options(rf__run *r, rf_error *why)
{
    if (!r->o.comm) return RF_OK;
    char *text = rf__json_dump(r->options, JSON_SORT_KEYS);
    if (!text) return rf_fail(why, RF_ENOMEM, "out of memory: options");
    const uint64_t options = rf__hash64(text, strlen(text), (uint64_t)r->o.max_steps);
    const rf_config *c = &r->params.config;
    const int64_t shape[] = {c->vocab_size, c->hidden_size, c->num_hidden_layers, c->intermediate_size,
                             (int64_t)r->params.total};
    char kernels[RF__KERNELS];
    rf__state_kernels(r->ctx, kernels);
    free(text);
    rf_status status = rf__same(r->o.comm, options, "other options", why);
    if (!status) status = rf__same(r->o.comm, rf__hash64(shape, sizeof shape, 0), "another model", why);
    if (!status)
        status = rf__same(r->o.comm, rf__hash64(rf_version(), strlen(rf_version()), 0),
                          "another version of the program", why);
    if (!status)
        status = rf__same(r->o.comm, rf__hash64(kernels, strlen(kernels), 0), "other kernels (--isa)", why);
    return status;
}

/* A run that did not begin leaves no sign of one. */
static void leave_folder(rf__run *r)
{
    if (r->fresh) {
        rf__folder_unmake(r->folder);
    } else if (r->lock >= 0 && !r->ran) {
        rf__folder_unlock(r->folder, r->lock, true);
        r->lock = -1;
    }
}

rf_status rf__run_start(rf__run *r, const rf_ctx *ctx, const rf_train_options *o, const rf__job *job, void *task,
                        rf_train_report *report, void *user, rf_error *why)
{
    *r = (rf__run){.ctx = ctx, .job = job, .task = task, .o = *o, .report = report, .user = user, .lock = -1};
    r->metrics.fd = r->events.fd = -1;
    r->progress.loss = r->progress.grad_norm = NAN;
    if (job) job->usual(&r->usual);
    else rf_train_defaults(&r->usual);
    rf__state_init(&r->state);
    rf__arena_init(&r->strings, ctx);
    rf_status status = rf__agree(r->o.comm, begin_folder(r, why), why);
    if (!status) status = same_folder(r, why);
    if (!status && *r->from) {
        status = open_checkpoint(r, why);
        if (!status) status = rf__options_check(&r->o, why);
        status = rf__agree(r->o.comm, status, why);
    } else if (!status) {
        status = rf__agree(r->o.comm, begin_stages(r, why), why);
    }
    if (!status && r->job && r->job->learn && !*r->from && !r->o.model) {
        status = rf__agree(r->o.comm, rf__rank(r->o.comm) ? RF_OK : r->job->learn(r, why), why);
        r->o.model = r->folder;
    }
    char ineffective[512];
    if (!status && rf__options_ineffective(&r->o, &r->usual, ineffective, sizeof ineffective))
        rf__run_notify(r, "note", "given, but without effect: %s", ineffective);
    if (!status) status = rf__agree(r->o.comm, open_model(r, why), why);
    if (!status) status = (r->job ? r->job->open : rf__run_open_text)(r, why);
    if (!status && !rf__rank(r->o.comm)) status = rf__run_open_logs(r, why);
    if (!status) {
        r->options = rf__options_json(r->stages.n ? &r->given : &r->o);
        rf__run_keep_model(r);
        if (r->job && r->job->keep) r->job->keep(r, &r->options);
        if (r->stages.n) rf__json_set(&r->options, "stages_settled", rf__stages_json(&r->stages));
        if (!r->options) status = rf_fail(why, RF_ENOMEM, "out of memory: options");
    }
    status = rf__agree(r->o.comm, status, why);
    if (!status) status = same_options(r, why);
    if (status && r->metrics.fd < 0) leave_folder(r);
    r->began_at = r->state.step;
    return status;
}

void rf__run_end(rf__run *r)
{
    const rf_ctx *ctx = r->ctx;
    rf__saver_free(&r->saver);
    rf__run_free_batches(r);
    rf__pieces_free(ctx, &r->pieces);
    rf__pieces_free(ctx, &r->held);
    for (int s = 0; s < r->sources; s++) rf__tokens_close(ctx, &r->tokens[s]);
    rf_graph_free(r->graph);
    rf__encoder_free(r->encoder);
    rf__free(ctx, r->loss);
    rf__exchange_free(&r->exchange);
    rf__tree_free(&r->tree);
    rf__free(ctx, r->rounded);
    rf__optimizer_free(&r->optimizer);
    if (r->params.p) rf__params_free(&r->params);
    rf__vocab_free(ctx, &r->vocab);
    rf_tokenizer_free(r->tokenizer);
    rf__free(ctx, r->prompts.text);
    rf__free(ctx, r->generation.text);
    json_decref(r->options);
    json_decref(r->base);
    rf__journal_close(&r->metrics);
    rf__journal_close(&r->events);
    rf__arena_clear(&r->strings);
    if (r->lock >= 0) close(r->lock);
}
