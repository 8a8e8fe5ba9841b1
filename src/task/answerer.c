/* answerer.c — applies a fine-tuned model to one text or to a file. */
#include <math.h>
#include <stdio.h>

#include "model/model.h"
#include "model/positions.h"
#include "roformer/inspect/files.h"
#include "store/task.h"
#include "task/answerer.h"
#include "task/finetune.h"
#include "task/objective.h"
#include "task/task_metrics.h"
#include "text/tokenizer.h"

/* Checks that labels and outputs of the model correspond, as the task requires. */
static rf_status check_outputs(const rf_answerer *a, const char *folder, rf_error *why)
{
    const rf__example_format *f = &a->task->examples;
    const int64_t outputs = rf_model_config(a->model)->num_labels;
    if (!f->labels || !f->outputs || f->outputs(a->labels.n) == outputs) return RF_OK;
    return rf_fail(why, RF_EDATA,
                   "%.200s: config.json: expected %lld outputs for task %s with %lld labels, got %lld", folder,
                   (long long)f->outputs(a->labels.n), f->name, (long long)a->labels.n, (long long)outputs);
}

/* The settings of vectors in modules.json apply, as in embedding. In a folder of sentence-transformers, config.json
 * does not have them. */
static void take_form(rf_config *c, const rf_sentence *s)
{
    const rf__task *task;
    const bool known = !rf__task_of_model(c, &task, NULL);
    if (!*s->pooling || c->linear_pooler || (known && task->head != RF_HEAD_EMBED)) return;
    if (!known) {
        rf_config_set_head(c, RF_HEAD_EMBED);
        c->task_pairs = 1;
        c->num_labels = 1;
        c->task_max_length = c->max_position_embeddings;
    }
    snprintf(c->sentence_pooling, sizeof c->sentence_pooling, "%s", s->pooling);
    c->sentence_normalize = s->normalize;
    if (s->max_length) c->task_max_length = rf__position_limit(c, s->max_length);
}

/* For vectors: what embed computes and these tasks do not is refused. */
static rf_status keep_prompt(rf_answerer *a, const char *folder, const rf_sentence *s, const rf__module_list *modules,
                             rf_error *why)
{
    static const char only[] = "embed, similarity and search compute them";
    const char *prompt = rf__sentence_default_prompt(s);
    if (!rf__task_of_vectors(a->task)) return RF_OK;
    rf_status status = rf_sentence_cosines(s, why);
    if (!status) status = rf__modules_none(folder, modules, only, why);
    if (status) return status;
    a->truncate_dim = s->truncate_dim;
    if (!*prompt) return RF_OK;
    if (!s->include_prompt)
        return rf_fail(why, RF_EUNSUPPORTED, "%.200s: include_prompt: expected true, got false: the vectors leave out "
                       "the prompt's tokens; %s", folder, only);
    a->prompt = rf__strdup(a->ctx, prompt);
    return a->prompt ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: a prompt");
}

/* A model for something other than vectors, for which modules.json has no relevant settings. */
static bool labels(const rf_config *c)
{
    const rf__task *task;
    return !rf__task_of_model(c, &task, NULL) && !rf__task_of_vectors(task);
}

static rf_status read_config(const rf_ctx *ctx, const char *folder, rf_config *c, rf_error *why)
{
    const rf_status status = rf_config_read(ctx, folder, c, why);
    return status ? status : rf__logit_score_read(ctx, folder, c, why);
}

/* Opens the model in *folder, or in a subfolder, whose path *folder then receives. */
static rf_status open_model(rf_answerer *a, const char **folder, char below[], size_t size, rf_type type,
                            rf_sentence *s, rf__module_list *modules, rf_error *why)
{
    rf_config c;
    rf_error unread = {0};
    rf_status status = rf__sentence_modules(a->ctx, *folder, s, modules, &unread);
    if (status && (status == RF_ENOMEM || read_config(a->ctx, *folder, &c, NULL) || !labels(&c)))
        return rf_fail(why, status, "%s", unread.text);
    status = RF_OK;
    if (*s->transformer) {
        status = rf__path(below, size, *folder, s->transformer, why);
        *folder = below;
    }
    if (!status) status = read_config(a->ctx, *folder, &c, why);
    if (status) return status;
    take_form(&c, s);
    a->folder_length = labels(&c) ? 0 : s->max_length;
    return rf__model_open_with(a->ctx, *folder, type, &c, &a->model, why);
}

/* Without task_max_length, texts are truncated to the tokenizer's model_max_length or the number of positions, at most
 * 512 tokens; CrossEncoder of sentence-transformers has no such limit. */
static rf_status take_limit(rf_answerer *a, const char *folder, rf_error *why)
{
    const rf_config *c = rf_model_config(a->model);
    int64_t most;
    rf_status status = rf__tokenizer_limit(a->ctx, folder, INT64_MAX, &most, why);
    a->tokenizer_length = rf__position_limit(c, most);
    a->max_length = c->task_max_length ? c->task_max_length : rf__min64(most, c->max_position_embeddings);
    if (!c->task_max_length && !*a->cross_encoder) a->max_length = rf__min64(a->max_length, 512);
    int64_t own = 0;
    if (!status && *a->cross_encoder) status = rf__cross_encoder_limit(a->ctx, folder, &own, why);
    if (own) a->max_length = rf__position_limit(c, a->folder_length = own);
    a->reading.max_length = a->max_length;
    return status;
}

static rf_status read_cross_encoder(rf_answerer *a, const char *folder, rf_error *why)
{
    const rf_config *c = rf_model_config(a->model);
    const rf_tokenizer *t = rf_model_tokenizer(a->model);
    if (!a->task->function) return RF_OK;
    const rf_status status =
        rf__cross_encoder_read(a->ctx, folder, c->num_labels, a->cross_encoder, &a->prompt, why);
    if (t && t->conversation) {                                         /* the tokenizer places the prompt */
        rf__free(a->ctx, a->prompt);
        a->prompt = NULL;
    }
    if (c->logit_score && !*a->cross_encoder) snprintf(a->cross_encoder, sizeof a->cross_encoder, "Sigmoid");
    return status;
}

/* A causal reranker has one output, whatever config.json says of labels. */
static rf_status read_labels(rf_answerer *a, const char *folder, rf_error *why)
{
    const rf_status status = rf__labels_read(a->ctx, folder, &a->labels, why);
    while (!status && rf_model_config(a->model)->logit_score && a->labels.n > 1)
        rf__free(a->ctx, a->labels.name[--a->labels.n]);
    return status;
}

rf_status rf__answerer_of(const rf_ctx *ctx, const char *folder, rf_type type, rf_model *model, rf_session *session,
                          rf_answerer **out, rf_error *why)
{
    char below[4096];
    rf_sentence s = {0};
    rf__module_list modules;
    rf_answerer *a = rf__calloc(ctx, 1, sizeof *a);
    if (!a) return rf_fail(why, RF_ENOMEM, "out of memory: a model that answers");
    a->ctx = ctx;
    a->model = model;
    a->session = session;
    a->lent = model != NULL;
    rf_encoding_init(&a->encoding, ctx);
    rf_status status = a->lent ? RF_OK : open_model(a, &folder, below, sizeof below, type, &s, &modules, why);
    rf_error unknown = {0};
    if (!status && rf__task_of_model(rf_model_config(a->model), &a->task, &unknown))
        status = rf_fail(why, unknown.code, "%.200s: %s", folder, unknown.text);
    if (!status && !a->lent) status = keep_prompt(a, folder, &s, &modules, why);
    if (!status) status = read_cross_encoder(a, folder, why);
    rf_sentence_free(&s);
    if (!status && !rf_model_tokenizer(a->model))
        status = rf_fail(why, RF_EDATA, "%.200s: expected a tokenizer, got none", folder);
    if (!status) status = read_labels(a, folder, why);
    if (!status) status = check_outputs(a, folder, why);
    if (!status && !a->lent) status = rf_session_open(a->model, &a->session, why);
    if (!status) status = take_limit(a, folder, why);
    if (!status) {
        const rf_config *c = rf_model_config(a->model);
        a->probability = rf__calloc(ctx, (size_t)rf__max64(c->num_labels, a->labels.n), sizeof *a->probability);
        if (!a->probability) status = rf_fail(why, RF_ENOMEM, "out of memory: probabilities");
    }
    if (status) {
        rf_answerer_close(a);
        return status;
    }
    *out = a;
    return RF_OK;
}

rf_status rf_answerer_open(const rf_ctx *ctx, const char *folder, rf_answerer **out, rf_error *why)
{
    return rf_answerer_open_as(ctx, folder, RF_F32, out, why);
}

rf_status rf_answerer_open_as(const rf_ctx *ctx, const char *folder, rf_type type, rf_answerer **out, rf_error *why)
{
    if (!ctx || !folder || !out)
        return rf_fail(why, RF_EARG,
                       "answerer: expected a %s, got NULL", !ctx ? "context" : !folder ? "folder" : "place for it");
    rf_held_folder *held = NULL;
    rf_answerer *a = NULL;
    rf_status status = rf_folder_hold(ctx, folder, &held, why);
    if (!status) status = rf__answerer_of(ctx, folder, type, NULL, NULL, &a, why);
    status = rf_folder_release(&held, status, why);
    if (!status) *out = a;
    else rf_answerer_close(a);
    return status;
}

void rf_answerer_close(rf_answerer *a)
{
    if (!a) return;
    rf_encoding_clear(&a->encoding);
    rf__free(a->ctx, a->probability);
    rf__free(a->ctx, a->prompt);
    rf__free(a->ctx, a->cut);
    rf__labels_free(&a->labels);
    rf__graph_free(a->graph);
    if (!a->lent) {
        rf_session_close(a->session);
        rf_model_close(a->model);
    }
    rf__free(a->ctx, a);
}

const char *rf__answerer_task(const rf_answerer *a) { return a->task->examples.name; }
const rf_reading *rf_answerer_reading(const rf_answerer *a) { return &a->reading; }
const rf_labels *rf__answerer_labels(const rf_answerer *a) { return &a->labels; }

/* A single output without problem_type: a logit for transformers' text-classification pipeline, a number for its
 * Trainer, whose rule applies to files. */
static bool lone_logit(const rf_config *c) { return c->num_labels == 1 && !*c->problem_type; }

static void remark_limit(rf_answerer *a)
{
    const long long length = a->folder_length, most = a->max_length;
    if (length > most && a->reading.max_length == most)
        snprintf(a->reading.remark, sizeof a->reading.remark,
                 "max_seq_length is %lld, but the model has %lld positions: texts are cut to %lld tokens", length, most,
                 most);
}

static void remark_scores(rf_answerer *a, const char *here, const char *rule)
{
    *a->reading.remark = 0;
    if (!*a->cross_encoder || !here || !strcmp(a->cross_encoder, here)) remark_limit(a);
    else
        snprintf(a->reading.remark, sizeof a->reading.remark,
                 "the folder is a CrossEncoder of sentence-transformers, whose scores are outputs after %s; these are "
                 "after %s, %s", a->cross_encoder, here, rule);
}

void rf__answerer_remark_predictions(rf_answerer *a)
{
    if (!a->task->function_of) remark_scores(a, a->task->function, "the rule of the model's task");
}

rf_status rf__answerer_can_label(const rf_answerer *a, rf_error *why)
{
    if (a->task->probabilities) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED,
                   rf__task_of_vectors(a->task)
                       ? "classify: expected a model with labels, got one that embeds texts; use embed, similarity "
                         "or search"
                       : "classify: expected a model that labels texts, got one that labels tokens, answers or "
                         "choices");
}

const char *rf__answerer_label_function(const rf_answerer *a)
{
    return lone_logit(rf_model_config(a->model)) ? "Sigmoid" : a->task->function;
}

void rf__answerer_label(const rf_answerer *a, const float *z, float *score)
{
    const rf_config *c = rf_model_config(a->model);
    a->task->probabilities(z, c->num_labels, score);
    if (lone_logit(c)) rf__task_sigmoid(z, 1, score);
}

rf_status rf__answerer_put_prompt(const rf_answerer *a, const char *prompt, const char **text, size_t *bytes,
                                  char **joined, rf_error *why)
{
    const rf_tokenizer *t = rf_model_tokenizer(a->model);
    size_t capacity = 0;
    *joined = NULL;
    if (prompt && t && t->conversation)
        return rf_fail(why, RF_EUNSUPPORTED, "prompt: expected none, got one: the chat template places the prompt that "
                       "default_prompt_name of " RF_FILE_PROMPTS " names; set it there");
    if (!prompt) prompt = a->prompt;
    if (!prompt || !*prompt) return RF_OK;
    if (!rf__join(a->ctx, joined, &capacity, prompt, *text, *bytes, bytes))
        return rf_fail(why, RF_ENOMEM, "out of memory: a text of %zu bytes", *bytes);
    *text = *joined;
    return RF_OK;
}

rf_status rf__answerer_classify(rf_answerer *a, const char *text, size_t bytes, const char *pair, size_t pair_bytes,
                                const float **probability, rf_error *why)
{
    if (!(a && text && probability)) return rf__missing("rf__answerer_classify", "answerer, text, probability", why);
    rf_encoding *e = &a->encoding;
    size_t dropped = 0;
    const float *z;
    int64_t rows;
    rf_status status = rf__answerer_can_label(a, why);
    if (status) return status;
    char *joined;
    status = rf__answerer_put_prompt(a, NULL, &text, &bytes, &joined, why);
    if (!status)
        status = rf_encode(rf_model_tokenizer(a->model), text, bytes, pair, pair_bytes, (size_t)a->max_length, 0, e,
                           &dropped, why);
    rf__free(a->ctx, joined);
    if (!status && !e->n)
        status = rf_fail(why, RF_EDATA, "text: expected a token, got none: the tokenizer adds none to an empty text");
    if (status) return status;
    a->reading.examples++;
    a->reading.cut += dropped > 0;
    a->reading.unread += rf__all_unknown(rf_model_tokenizer(a->model), e);
    a->reading.max_length = a->max_length;
    const int32_t start[2] = {0, (int32_t)e->n};
    const rf_batch b = {.N = (int64_t)e->n, .B = 1, .id = e->id, .type = e->type, .start = start};
    status = rf_session_logits(a->session, &b, &z, &rows, why);
    if (status) return status;
    rf__answerer_label(a, z, a->probability);
    remark_scores(a, rf__answerer_label_function(a), "as in the text-classification pipeline of transformers");
    *probability = a->probability;
    return RF_OK;
}

/* Keeps the first components of each vector: as --dimensions says, or as the folder says for vectors of length 1. */
static rf_status cut(rf_answerer *a, const float **z, int64_t rows, int64_t *columns, rf_error *why)
{
    const int64_t given = a->o.dimensions, C = *columns, D = given ? given : a->truncate_dim;
    if (!rf__task_of_vectors(a->task) || !D || (!given && D >= C)) return RF_OK;
    if (D > C)
        return rf_fail(why, RF_EARG, "dimensions: expected at most %lld, the numbers of a vector of this model, got "
                       "%lld", (long long)C, (long long)D);
    if (!rf__grow(a->ctx, &a->cut, &a->cuts, (size_t)(rows * D), sizeof *a->cut))
        return rf_fail(why, RF_ENOMEM, "out of memory: vectors of %lld texts", (long long)rows);
    for (int64_t r = 0; r < rows; r++) {
        const float *from = *z + r * C;
        double square = 0;
        for (int64_t c = 0; c < C; c++) square += (double)from[c] * (double)from[c];
        const double scale = given || !a->unit || !(square > 0) ? 1 : 1 / sqrt(square);
        for (int64_t c = 0; c < D; c++) a->cut[r * D + c] = (float)(scale * (double)from[c]);
    }
    *z = a->cut;
    *columns = D;
    return RF_OK;
}

static rf_status logits(void *user, const rf__item_batch *b, const float **z, int64_t *rows, int64_t *columns,
                        rf_error *why)
{
    rf_answerer *a = user;
    const rf_batch view = rf__item_batch_view(b);
    rf_status status = rf_session_logits(a->session, &view, z, rows, why);
    *columns = rf__task_columns(a->task, rf_model_config(a->model));
    if (!status) status = cut(a, z, *rows, columns, why);
    if (status || !a->graph) return status;
    const rf__task_objective objective = {.task = a->task, .o = &a->o};
    const int64_t shape[] = {*rows, *columns};
    rf__graph_reset(a->graph);
    rf__graph_record(a->graph, 0, 0, 0);
    rf__task_objective_loss(a->graph, rf__constant(a->graph, *z, 2, shape), b, &objective, 1, &a->loss);
    a->losses += b->labels;
    const rf_error *failed = rf__graph_error(a->graph);
    return failed->code ? rf_fail(why, failed->code, "%s", failed->text) : RF_OK;
}

static void keep_reading(rf_answerer *a, const rf__labeled *l, const rf__items *t)
{
    a->reading = (rf_reading){.examples = (int64_t)rf__items_asked(t),
                              .cut = (int64_t)t->cut,
                              .unread = (int64_t)t->unread,
                              .max_length = t->max_length,
                              .windows = t->window != NULL,
                              .empty = (int64_t)l->empty,
                              .bad = (int64_t)l->bad};
    if (l->bad) snprintf(a->reading.first, sizeof a->reading.first, "%.255s", l->first.text);
    rf__metric_remark(a->task, l, a->reading.remark, sizeof a->reading.remark);
    if (!*a->reading.remark) remark_limit(a);
}

/* Files are read as the training files were, unless options say otherwise. Columns that are not given are the folder's
 * if they are of the same kind (names or numbers), because a number next to names would decide whether there is a
 * header. */
static rf_status use_columns(rf_finetune_options *o, const rf_config *c, rf_error *why)
{
    const char **const column[] = {&o->text_column, &o->pair_column, &o->label_column};
    const char *const own[] = {c->task_text_column, c->task_pair_column, c->task_label_column};
    const char *given = o->text_column ? o->text_column : o->pair_column ? o->pair_column : o->label_column;
    for (size_t i = 0; i < RF_COUNT(column); i++)
        if (!*column[i] && *own[i] && (!given || rf__is_number(given) == rf__is_number(own[i]))) *column[i] = own[i];
    if (given && !o->pair_column && *c->task_pair_column)
        return rf_fail(why, RF_EARG,
                       "pair_column: expected the column of the second text, got none; this model was fine-tuned on "
                       "pairs, the second text in column '%.60s'",
                       c->task_pair_column);
    if (o->text_column && !o->pair_column && c->task_pairs)
        return rf_fail(why, RF_EARG,
                       "pair_column: expected the column of the second text, got none; this model was fine-tuned on "
                       "pairs");
    if (!given && !o->header && *c->task_header) o->header = c->task_header;
    if (!o->separator && *c->task_separator) o->separator = c->task_separator;
    return RF_OK;
}

/* The task name with which the folder's own files were read: its preset, if it had one. */
static const char *usual_task(const rf_answerer *a)
{
    const char *own = rf_model_config(a->model)->finetuning_task;
    const rf__task *task;
    rf__preset preset;
    return *own && !rf__preset_find(own, &preset, &task, NULL) && task == a->task ? own : rf__answerer_task(a);
}

/* Opens examples with the preset and columns of a->o. */
static rf_status open_examples(rf_answerer *a, rf__labeled *l, rf_error *why)
{
    const rf_config *c = rf_model_config(a->model);
    const rf__task *task;
    rf_status status = rf__examples_open(l, a->ctx, &a->o, &task, why);
    if (!status && task != a->task)
        status = rf_fail(why, RF_EARG, "task: expected %s, for which this model was fine-tuned, got %s",
                         rf__answerer_task(a), a->o.task);
    if (!status) status = rf__labeled_labels(l, &a->labels, why);
    l->nothing = c->version_2_with_negative;
    l->prompt = a->prompt;
    l->layout.pairs = c->task_pairs;
    if (!status && a->task->head == RF_HEAD_SEQUENCE && rf__labeled_outputs(l) != c->num_labels)
        status = rf_fail(why, RF_EUNSUPPORTED, "model: expected %lld outputs for files of task %s, got %lld",
                         (long long)rf__labeled_outputs(l), rf__answerer_task(a), (long long)c->num_labels);
    return status;
}

/* A folder of another program may serve several tasks: the caller's task is used if it is one of these. */
static void choose_task(rf_answerer *a, const rf_finetune_options *given)
{
    const rf_config *c = rf_model_config(a->model);
    const rf__task *task;
    rf__preset preset;
    if (*c->finetuning_task || !given || !given->task || rf__preset_find(given->task, &preset, &task, NULL)) return;
    if (rf__task_accepts(task, c)) a->task = task;
}

/* Copies the given options over the defaults, except options of other tasks; the task is the folder's, unless the
 * caller chose one. */
static rf_status resolve(const rf_answerer *a, const rf_finetune_options *given, rf_finetune_options *o, rf_error *why)
{
    rf_finetune_options usual;
    const rf_option *row;
    char tasks[100];
    rf_finetune_defaults(&usual);
    rf_status status = rf__finetune_options_read(o, given, why);
    for (size_t i = 0; !status && (row = rf_finetune_option(i)); i++) {
        rf__task_list(row->name, tasks, sizeof tasks);
        if (*tasks && !rf__task_has(a->task, row->name) && rf__row_chosen(row, o, &usual, &o->t))
            status = rf_fail(why, RF_EARG, "%s: expected a model for task %s, got one for %s; leave it out", row->name,
                             tasks, rf__answerer_task(a));
    }
    if (!status && (!o->task || !rf__row_chosen(rf__rows_find(rf_finetune_option, "task"), o, &usual, &o->t)))
        o->task = usual_task(a);
    return status;
}

rf_status rf__answerer_file(rf_answerer *a, const rf_finetune_options *given, const char *file, bool with_labels,
                            rf__labeled *l, rf__items *t, rf__answers *z, rf_error *why)
{
    rf_finetune_options o;
    choose_task(a, given);
    rf_status status = resolve(a, given, &o, why);
    if (!status) status = rf__task_check_loss(a->task, o.loss, why);
    if (status) return status;
    z->function = rf__answerer_function(a);
    const int64_t max_length = o.t.max_length ? o.t.max_length : a->max_length;
    a->o = o;
    a->unit = rf_model_config(a->model)->sentence_normalize;
    a->o.normalize = a->unit && (a->o.dimensions || !a->truncate_dim);      /* truncated after it, vectors have
                                                                               lengths below 1 */
    status = use_columns(&a->o, rf_model_config(a->model), why);
    if (!status) status = open_examples(a, l, why);
    if (!status) status = rf__labeled_read(l, rf_model_tokenizer(a->model), max_length, file, with_labels, t, why);
    if (!status) status = rf__labeled_check(l, &o, file, why);
    if (!status) status = rf__items_fit_types(t, rf_model_config(a->model)->type_vocab_size, why);
    if (!status) keep_reading(a, l, t);
    const int64_t least = with_labels ? rf__task_least(a->task, t, &a->o) : 1;          /* as in training */
    return status ? status : rf__answers_fill(z, t, o.per_device_eval_batch_size, least, logits, a, why);
}

rf_status rf_answerer_evaluate(rf_answerer *a, const rf_finetune_options *o, const char *file, rf_metric_values *out,
                               rf_error *why)
{
    if (!(a && file && out)) return rf__missing("rf_answerer_evaluate", "answerer, file, out", why);
    rf__labeled l = {.ctx = a->ctx};
    rf__items t = {0};
    rf__answers z = {0};
    char path[4096];
    *out = (rf_metric_values){.n = 0};
    a->loss = 0;
    a->losses = 0;
    if (!a->graph && rf__graph_new(a->ctx, &a->graph, why)) return RF_ENOMEM;
    rf_status status = rf__example_file(file, "dev", false, path, sizeof path, why);
    if (!status) status = rf__answerer_file(a, o, path, true, &l, &t, &z, why);
    if (!status && a->losses) *out = (rf_metric_values){.n = 1, .metric = {{"loss", a->loss / (double)a->losses}}};
    if (!status) status = a->task->evaluate(&z, &t, &l, out, why);
    rf__graph_free(a->graph);
    a->graph = NULL;
    rf__answers_free(&z);
    rf__items_free(&t);
    rf__labeled_close(&l);
    return status;
}
