/* convert.c — converts a published folder. What is written is what was read: the same class with the same names of
 * tensors, in current spelling; tensors that the model does not use; the tokenizer and all other files. Left out are
 * tensors that are computed, and those that the caller drops. Every tensor that is written is read back. */
#include <errno.h>
#include <stdio.h>

#include "base/files/path.h"
#include "base/os/os.h"
#include "model/family.h"
#include "model/params/params.h"
#include "convert/convert_int8.h"
#include "convert/extend.h"
#include "convert/other_files.h"
#include "convert/reranker.h"
#include "convert/unused.h"
#include "roformer/inspect/folder.h"
#include "roformer/inspect/files.h"
#include "roformer/tokenizer.h"
#include "store/generation.h"
#include "store/store.h"
#include "store/task.h"
#include "text/tokenizer.h"
#include "train/checkpoint/checksums.h"
#include "train/checkpoint/folder.h"

struct conversion {
    const rf_ctx *ctx;
    const char *from, *to;
    rf_convert_options o;
    rf_config config;
    rf_labels outputs, labels;          /* names of the outputs of the model, and labels of its task               */
    rf__kept_file generation;
    json_t *keys;                       /* keys of the source's config.json that are kept                             */
    rf__other_files files;              /* files other than the weights                                               */
    bool writes_tokenizer;              /* otherwise its files are copied                                             */
    rf_tokenizer *tokenizer, *words;    /* words: the tokenizer of the vocabulary that replaces that of the source,
                                           or NULL */
    rf_weights *w;
    rf_params params;
    const rf_weight **match;
    rf__unused unused;                  /* tensors that are only passed on                                            */
    bool head;                          /* whether the source has one                                                 */
    float *slab;
    float **scale;                      /* for each parameter: NULL, or the scales of its rows if it is in int8 */
    rf_type rest;                       /* type of the tensors that are not in int8                                   */
    const rf__reranker *reranker;       /* whose files are added; or NULL                                             */
    rf_error *why;
};

void rf_convert_options_init(rf_convert_options *o, size_t size)
{
    const rf_convert_options own = {.keep_type = 1, .type = RF_F32};
    rf__options_init(o, size, &own, sizeof own);
}

/* ---- the source -------------------------------------------------------------------------------------------------- */

static bool names(const char *pattern, const char *name)
{
    const size_t n = strlen(pattern);
    return n && pattern[n - 1] == '*' ? !strncmp(name, pattern, n - 1) : !strcmp(name, pattern);
}

/* Tensors that the caller drops, or that the target library does not have. */
static bool is_dropped(const struct conversion *c, const char *name)
{
    const char *bare = rf__family_bare(c->params.family, name);
    for (const char *const *out = c->params.family->left_out; out && *out; out++)
        if (!strcmp(*out, bare)) return true;
    for (size_t i = 0; i < c->o.drops; i++)
        if (names(c->o.drop[i], name)) return true;
    return false;
}

/* The parameter of a tensor, or of the matrix that it is the scale of; params.n: none. */
static size_t param_of(const struct conversion *c, const rf_weight *t)
{
    const rf_weight *owner = rf__quantized_owner(c->w, t);
    size_t i = 0;
    while (i < c->params.n && c->match[i] != t && !(owner && c->match[i] == owner)) i++;
    return i;
}

static bool is_used(const struct conversion *c, const rf_weight *t) { return param_of(c, t) < c->params.n; }

/* A tensor to drop must exist, and the model must not need it, so that a misspelled name is reported. */
static rf_status check_drops(const struct conversion *c)
{
    for (size_t i = 0; i < c->o.drops; i++) {
        const rf_weight *needed = NULL;
        bool found = false;
        for (size_t k = 0; k < rf_weights_count(c->w) && !found; k++) {
            const rf_weight *t = rf_weights_at(c->w, k);
            if (!names(c->o.drop[i], t->name)) continue;
            found = !is_used(c, t);
            if (!found) needed = t;
        }
        if (!found)
            return rf_fail(c->why, RF_EARG, "--drop %.100s: %s", c->o.drop[i],
                           needed ? "expected a tensor that is not needed, got one that the model needs"
                                  : "expected a tensor of the source, got an unknown name");
    }
    return RF_OK;
}

/* Not a position table that config.json contradicts, nor rows of words that another vocabulary replaces. */
static bool can_keep(const struct conversion *c, const rf_weight *t)
{
    if (t->rank > (int)RF_COUNT(((rf_weight_out *)0)->dim)) return false;
    if (rf__silent_find(c->params.family, t->name) && !rf__unused_whole(c->w, t)) return false;
    if (c->o.vocabulary && t->rank && t->dim[0] == c->config.vocab_size) return false;
    return t->readable || rf__quantized_scale(c->w, t) || rf__unused_whole(c->w, t);
}

/* Lists the tensors that the model does not use. */
static rf_status list_unused(struct conversion *c)
{
    const size_t all = rf_weights_count(c->w);
    char left[192] = "";
    size_t count = 0;
    bool memory = (c->unused.tensor = rf__calloc(c->ctx, all ? all : 1, sizeof *c->unused.tensor)) != NULL;
    for (size_t i = 0; i < all && memory; i++) {
        const rf_weight *t = rf_weights_at(c->w, i);
        const bool zero_point = rf__quantized_owner(c->w, t) && !t->readable;                   /* of zeros alone     */
        const bool used = rf__params_use(&c->params, c->w, c->match, t, &memory) && !rf__unused_whole(c->w, t);
        if (used || is_dropped(c, t->name) || zero_point) continue;
        if (can_keep(c, t)) {
            c->unused.tensor[c->unused.n++] = t;
            continue;
        }
        count++;
        rf__list_add(left, sizeof left, rf__printable(t->name).text);
    }
    if (!memory) return rf_fail(c->why, RF_ENOMEM, "out of memory: names of tensors");
    if (!count) return RF_OK;
    return rf_fail(c->why, RF_EDATA, "%s: expected only tensors of %s, got %zu others: %s; --drop NAME leaves one out",
                   rf__weights_name(c->w), c->config.architecture, count, left);
}

static rf_status read_weights(struct conversion *c)
{
    rf_status status = rf_weights_open(c->ctx, c->from, &c->w, c->why);
    if (!status) status = rf__params_new_head(c->ctx, &c->config, rf_config_head(&c->config), &c->params, c->why);
    if (status) return status;
    c->match = rf__calloc(c->ctx, c->params.n, sizeof *c->match);
    if (!c->match) return rf_fail(c->why, RF_ENOMEM, "out of memory: a list of %zu parameters", c->params.n);
    status = rf__params_match(&c->params, c->w, c->match, &c->head, c->why);
    if (!status) status = check_drops(c);
    if (status) return status;
    while (!c->head && c->params.n && c->params.p[c->params.n - 1].head) c->params.n--; /* an encoder without a head */
    if ((status = list_unused(c))) return status;
    for (size_t i = 0; i < rf_weights_count(c->w) && !status; i++) {
        const rf_weight *t = rf_weights_at(c->w, i);
        if (!is_dropped(c, t->name)) status = rf__position_table_read(&c->params, c->w, t, c->why);
    }
    if (status) return status;
    c->slab = rf__calloc(c->ctx, c->params.total, sizeof *c->slab);
    if (!c->slab)
        return rf_fail(c->why, RF_ENOMEM, "out of memory: %.0f MB of weights", (double)c->params.total * 4e-6);
    for (size_t i = 0; i < c->params.n && !status; i++)
        if (c->match[i])
            status = rf__param_read(&c->params, &c->params.p[i], c->w, c->match[i], c->slab + c->params.p[i].offset,
                                    c->why);
    return status;
}

/* Labels that differ from the names of the outputs are those of an ordinal task. */
static rf_status read_labels(struct conversion *c)
{
    const rf_labels *outputs = &c->outputs, *labels = &c->labels;
    rf_status status = rf__output_names_read(c->ctx, c->from, &c->outputs, c->why);
    if (!status) status = rf__labels_read(c->ctx, c->from, &c->labels, c->why);
    if (status) return status;
    bool same = labels->n == outputs->n;
    for (int64_t i = 0; i < labels->n && same; i++) same = !strcmp(labels->name[i], outputs->name[i]);
    c->config.label = (const char *const *)outputs->name;
    if (same) return RF_OK;
    c->config.task_label = (const char *const *)labels->name;
    c->config.num_task_labels = labels->n;
    return RF_OK;
}

/* A TensorFlow checkpoint does not say which tokenizer it has, unlike the written config.json. */
static bool states_tokenizer(const char *folder)
{
    return rf__folder_has(folder, RF_FILE_CONFIG) || rf__folder_has(folder, RF_FILE_TOKENIZER_CONFIG);
}

static rf_status read_source(struct conversion *c)
{
    rf_status status = rf_config_read(c->ctx, c->from, &c->config, c->why);
    if (status) return status;
    if (rf_config_head(&c->config) != RF_HEAD_MLM && (status = read_labels(c))) return status;
    const char *tokenizer;
    status = rf__tokenizer_find(c->ctx, c->from, &tokenizer, c->why);
    if (!status && tokenizer) status = rf_tokenizer_open(c->ctx, c->from, &c->tokenizer, c->why);
    c->writes_tokenizer = c->tokenizer && !c->o.vocabulary && !c->tokenizer->invented && !states_tokenizer(c->from);
    if (!status && c->writes_tokenizer) status = rf__tokenizer_savable(c->tokenizer, c->to, c->why);
    c->files = (rf__other_files){.ctx = c->ctx, .from = c->from, .to = c->to, .other_vocabulary = c->o.vocabulary,
                                 .overwrite = c->o.overwrite, .report = c->o.file, .user = c->o.user};
    if (!status) status = rf__other_files_check(&c->files, c->why);
    if (!status) status = rf__generation_keep(c->ctx, c->from, &c->generation, c->why);
    if (!status) status = rf__config_kept(c->ctx, c->from, c->o.vocabulary != NULL, &c->keys, c->why);
    return status ? status : read_weights(c);
}

/* Reports tensors that are not parameters: unused ones, and those that belong to a matrix in int8. */
static void report_rest(const struct conversion *c, const rf_weight *t, size_t i)
{
    char name[sizeof c->params.p->name + 8];
    const bool scale = i < c->params.n && c->scale && c->scale[i] && t == rf__quantized_scale(c->w, c->match[i]);
    bool kept = rf__position_table_written(&c->params, t->name);
    for (size_t k = 0; k < c->unused.written; k++) kept |= !strcmp(c->unused.out[k].name, t->name);
    if (scale) snprintf(name, sizeof name, "%s_scale", c->params.p[i].name);
    c->o.report(c->o.user, t, scale ? name : kept ? t->name : NULL);
}

static void report(const struct conversion *c)
{
    if (!c->o.report) return;
    for (size_t i = 0; i < c->params.n; i++)
        if (c->match[i]) c->o.report(c->o.user, c->match[i], c->params.p[i].name);
    for (size_t k = 0; k < rf_weights_count(c->w); k++) {
        const rf_weight *t = rf_weights_at(c->w, k);
        const size_t i = param_of(c, t);
        if (i == c->params.n || c->match[i] != t) report_rest(c, t, i);
    }
}

/* ---- the target -------------------------------------------------------------------------------------------------- */

/* The value of number k of parameter i that must be read back. */
static float expected(const struct conversion *c, size_t i, size_t k)
{
    const rf_param *p = &c->params.p[i];
    const float x = c->slab[p->offset + k];
    if (c->scale && c->scale[i]) return x * c->scale[i][k / (size_t)p->dim[1]];
    return rf__written(c->rest, x);
}

static rf_status read_back(const struct conversion *c, const char *path)
{
    rf_weights *w = NULL;
    rf_status status = rf_weights_open(c->ctx, path, &w, c->why);
    for (size_t i = 0; i < c->params.n && !status; i++) {
        const rf_param *p = &c->params.p[i];
        const rf_weight *t = rf__weights_find(w, p->name);
        float *x = t && t->count == p->count ? rf__alloc(c->ctx, p->count * sizeof *x) : NULL;
        if (!x)
            status = t ? rf_fail(c->why, RF_ENOMEM, "out of memory: %zu numbers", p->count)
                       : rf_fail(c->why, RF_EDATA, "%s: expected %s in the file that was written, got none", path,
                                 p->name);
        if (!status) status = rf__param_read(&c->params, p, w, t, x, c->why);
        for (size_t k = 0; k < p->count && !status; k++)
            if (x[k] != expected(c, i, k))
                status = rf_fail(c->why, RF_EDATA, "%s: %s: expected element %zu as it was written, got another value",
                                 path, p->name, k);
        rf__free(c->ctx, x);
    }
    rf_params tables = c->params;
    if (!status) status = rf__position_tables(&tables, w, c->why);
    for (int s = 0; s < tables.stacks && !status; s++)              /* the context keeps equal numbers once           */
        if (tables.stack[s].config.position_table != c->params.stack[s].config.position_table)
            status = rf_fail(c->why, RF_EDATA, "%s: expected the position table as it was written, got another", path);
    if (!status) status = rf__unused_read_back(c->ctx, w, &c->unused, path, c->why);
    rf_weights_close(w);
    return status;
}

/* Whether tensors are in int8 because the source has them so. */
static bool keeps_int8(const struct conversion *c) { return c->o.keep_type && c->config.quantized; }

static rf_status write_config(struct conversion *c)
{
    const bool activations = !keeps_int8(c) || c->config.quantized == RF__ALL_QUANTIZED;
    json_t *quantized = c->scale ? rf__convert_int8_config(&c->params, c->scale, &c->unused, activations) : NULL,
           *more = json_incref(c->keys);
    if (!c->head && !json_array_size(json_object_get(more, "architectures"))) *c->config.architecture = 0;
    if (c->scale && (!quantized || json_object_update(more, quantized))) {
        json_decref(more);
        more = NULL;
    }
    json_decref(quantized);
    return rf__config_write_with(c->ctx, c->to, &c->config, more, c->why);
}

/* Writes the weights to a new file next to `path` and reads them back, before anything of the target is replaced. Its
 * name is not that of the messages. */
static rf_status stage_weights(struct conversion *c, const char *path, char *staged, size_t size)
{
    int fd = -1;
    rf_status status = rf__temporary_open(path, staged, size, &fd, c->why);
    if (status) return status;
    rf__os_close(fd);
    status = rf__params_save_scaled(&c->params, c->slab, c->scale, c->rest, c->unused.out, c->unused.written, staged,
                                    c->why);
    if (!status) status = read_back(c, staged);
    if (!status) return RF_OK;
    rf__os_remove(staged);
    char *named = strstr(c->why->text, staged);
    const size_t n = strlen(path), all = strlen(staged);
    if (named) memmove(named + n, named + all, strlen(named + all) + 1);
    return status;
}

/* A checkpoint of a sentence model lacks some of its files. */
static bool adds_sentence_files(const struct conversion *c)
{
    return rf_config_head(&c->config) == RF_HEAD_EMBED && !rf__folder_has(c->from, RF_FILE_MODULES);
}

/* Files of the model that is replaced, which would change the meaning of the new one. */
static rf_status set_aside(struct conversion *c)
{
    const char *written[16] = {RF_FILE_CONFIG};
    size_t n = 1;
    bool length;
    rf_status status = rf__sentence_adds_length(c->ctx, c->from, &length, c->why);
    if (status) return status;
    if (length) written[n++] = RF_FILE_SENTENCE;
    if (c->generation.text) written[n++] = RF_FILE_GENERATION;
    const char *const *more = adds_sentence_files(c) ? rf__sentence_files(&c->config) : NULL;
    while (more && *more) written[n++] = *more++;
    status = rf__other_files_set_aside(&c->files, written, c->why);
    return status ? status : rf__tokenizer_set_aside(c->from, c->to, c->why);
}

static rf_status write_small_files(struct conversion *c)
{
    rf_status status = rf__generation_write(c->ctx, c->to, &c->generation, c->why);
    if (!status) status = write_config(c);
    if (!status && adds_sentence_files(c)) status = rf__sentence_write(c->ctx, c->to, &c->config, c->why);
    if (!status) status = rf__sentence_copy(c->ctx, c->from, c->to, c->why);
    if (!status && c->writes_tokenizer) status = rf_tokenizer_save(c->tokenizer, c->to, c->why);
    return status;
}

static rf_status write_files(struct conversion *c)
{
    char path[4096], staged[4096];
    rf_status status = rf__path(path, sizeof path, c->to, RF_FILE_WEIGHTS, c->why);
    if (!status) status = stage_weights(c, path, staged, sizeof staged);
    if (status) return status;
    status = rf__checksums_remove(c->to, c->why);
    if (!status) status = set_aside(c);
    if (!status) status = write_small_files(c);
    if (!status && rf__os_rename(staged, path))
        status = rf_fail(c->why, RF_EIO, "%s: cannot replace: %s", path, rf__os_reason(errno));
    if (status) rf__os_remove(staged);
    if (!status) status = rf__sync_folder(c->to, c->why);
    if (!status) status = rf__other_files_copy(&c->files, c->why);
    if (!status && c->reranker)
        status = rf__reranker_write(c->ctx, c->reranker, &c->config, c->tokenizer, c->to, c->why);
    return status ? status : rf__checksums_of_model(c->ctx, c->to, c->why);
}

/* Whether a conversion of this folder writes a file with this name: one of its files, or of those of every model. */
static bool is_own(void *user, const char *name)
{
    static const char *const written[] = {RF_FILE_CONFIG, RF_FILE_WEIGHTS, RF_FILE_GENERATION, RF_FILE_CHECKSUMS,
                                          RF_FILE_MODULES};
    const struct conversion *c = user;
    char path[4096];
    for (size_t i = 0; i < RF_COUNT(written); i++)
        if (!strcmp(name, written[i])) return true;
    if (!strncmp(name, RF_FILE_WEIGHTS ".tmp-", sizeof RF_FILE_WEIGHTS ".tmp-" - 1)) return true;
    return !rf__path(path, sizeof path, c->from, name, NULL) && rf__os_exists(path);
}

/* Prevents training runs in the folder meanwhile. */
static rf_status write_target(struct conversion *c)
{
    int lock = -1;
    rf_status status = rf__folder_make(c->to, c->why);
    const bool ran = !status && rf__folder_has(c->to, RF_FILE_LOCK);
    if (!status) status = rf__folder_lock(c->to, &lock, c->why);
    if (status) return status;
    rf__folder_sweep_files(c->to, is_own, c);                           /* of conversions that were killed */
    status = write_files(c);
    rf__folder_unlock(c->to, lock, !ran);
    return status;
}

/* No existing model may be lost, or be combined with another tokenizer. */
static rf_status check_target(const rf_ctx *ctx, const char *from, const char *to, bool overwrite, rf_error *why)
{
    const char *given = NULL, *old = NULL;
    if (rf_run_alive(to))
        return rf_fail(why, RF_EBUSY, "%s: expected a folder that is not in use, got one that a training run "
                       "writes to; choose another folder, or wait", to);
    if (!rf__holds_weights(to)) {
        if (overwrite) return RF_OK;
        const rf_status status = rf__tokenizer_find(ctx, from, &given, why);
        return status ? status : rf__folder_lacks_model(to, given, "name another folder, or --overwrite", why);
    }
    if (!overwrite)
        return rf_fail(why, RF_EIO, "%s: expected a folder without weights, got one with weights; choose another "
                       "folder, or use --overwrite", to);
    if (rf__folder_has(to, RF_FILE_COMPLETE))
        return rf_fail(why, RF_EIO,
                       "%s: expected a model folder, got the checkpoint of a training run; choose another folder", to);
    rf_status status = rf__tokenizer_find(ctx, from, &given, why);
    if (!status) status = rf__tokenizer_find(ctx, to, &old, why);
    if (status || given || !old) return status;
    return rf_fail(why, RF_EIO, "%s: expected no %s of the weights that are replaced, since %s has no tokenizer; "
                   "choose another folder", to, old, from);
}

/* Replaces the vocabulary, after everything published has been read. */
static rf_status extend(struct conversion *c)
{
    if (!c->o.vocabulary) return RF_OK;
    if (!c->tokenizer)
        return rf_fail(c->why, RF_EDATA, "%s: expected a tokenizer, got none; the vectors of the new words are made "
                       "from those of its words", c->from);
    rf__extension x;
    rf_status status = rf_tokenizer_open(c->ctx, c->o.vocabulary, &c->words, c->why);
    if (!status) status = rf__tokenizer_savable(c->words, c->to, c->why);
    if (!status)
        status = rf__extend_generation(c->ctx, c->tokenizer, c->words, &c->generation, c->o.file, c->o.user, c->why);
    if (!status) status = rf__extend_vocabulary(c->tokenizer, c->words, &c->params, &c->slab, &x, c->why);
    if (status) return status;
    c->config.vocab_size = c->params.config.vocab_size;
    c->config.pad_token_id = c->params.config.pad_token_id;
    if (c->o.extended) c->o.extended(c->o.user, x.kept, x.means, x.unknown, x.lost);
    rf_tokenizer_free(c->tokenizer);
    c->files.words = c->tokenizer = c->words;
    c->writes_tokenizer = true;
    c->words = NULL;
    return RF_OK;
}

/* The type of the word embeddings or, if they are in int8, of the first tensor that is not. */
static rf_type type_of_source(const struct conversion *c)
{
    const rf_weight *t = c->match[c->params.word];
    for (size_t i = 0; !(t && t->readable) && i < c->params.n; i++) t = c->match[i];
    return t && t->readable ? t->type : RF_F32;
}

/* Whether the word embeddings are also the matrix of the head, which other programs do not read in int8. */
static bool ties_words(const struct conversion *c)
{
    const rf_head head = c->params.head;
    return c->head && c->config.tie_word_embeddings && (head == RF_HEAD_MLM || head == RF_HEAD_SEQ2SEQ);
}

/* Tensors that are not in int8 keep the type of the source, unless the caller names one. */
static rf_status choose_types(struct conversion *c)
{
    const bool as_they_are = keeps_int8(c);
    const rf_type usual = type_of_source(c);
    const bool int8 = as_they_are || (!c->o.keep_type && c->o.type == RF_I8), own = int8 || c->o.keep_type;
    c->rest = own ? usual : c->o.type;
    const rf_status status = rf__unused_read(c->ctx, c->w, own ? NULL : &c->rest, &c->unused, c->why);
    if (status || !int8) return status;
    c->scale = rf__calloc(c->ctx, c->params.n, sizeof *c->scale);
    if (!c->scale) return rf_fail(c->why, RF_ENOMEM, "out of memory: a list of %zu parameters", c->params.n);
    return rf__convert_int8(&c->params, c->w, c->match, as_they_are, !ties_words(c), c->slab, c->scale, c->why);
}

/* A class without a head names its tensors without the family's prefix. */
static void keep_names(struct conversion *c)
{
    const rf_family *f = c->params.family;
    const rf_weight *word = c->match[c->params.word];
    const bool bare = word && rf__family_bare(f, word->name) == word->name;
    for (size_t i = 0; i < c->params.n && bare; i++) {
        const char *name = rf__family_bare(f, c->params.p[i].name);
        memmove(c->params.p[i].name, name, strlen(name) + 1);
    }
}

static rf_status convert(struct conversion *c)
{
    rf_held_folder *held = NULL;
    rf_status status = check_target(c->ctx, c->from, c->to, c->o.overwrite, c->why);
    if (!status) status = rf_folder_hold(c->ctx, c->from, &held, c->why);
    if (!status) status = read_source(c);
    status = rf_folder_release(&held, status, c->why);
    if (status) return status;
    status = extend(c);
    if (!status && c->o.reranker)
        status = rf__reranker_find(c->o.reranker, c->from, &c->config, c->tokenizer, &c->reranker, c->why);
    if (!status) status = choose_types(c);
    if (status) return status;
    keep_names(c);
    report(c);
    return write_target(c);
}

static rf_status convert_folder(const rf_ctx *ctx, const char *from, const char *to, const rf_convert_options *o,
                                rf_error *why)
{
    struct conversion c = {.ctx = ctx, .from = from, .to = to, .o = *o, .why = why};
    if (c.o.type != RF_F32 && c.o.type != RF_BF16 && c.o.type != RF_F16 && c.o.type != RF_I8)
        return rf_fail(why, RF_EARG, "rf_convert: type: expected RF_F32, RF_BF16, RF_F16 or RF_I8, got %d",
                       (int)c.o.type);
    if (c.o.drops && !c.o.drop)
        return rf_fail(why, RF_EARG, "rf_convert: drop: expected a list of %zu names, got NULL", c.o.drops);
    for (size_t i = 0; i < c.o.drops; i++)
        if (!c.o.drop[i])
            return rf_fail(why, RF_EARG, "rf_convert: drop: expected a name, got NULL for name %zu", i + 1);
    const rf_status status = convert(&c);
    for (size_t i = 0; c.scale && i < c.params.n; i++) rf__free(ctx, c.scale[i]);
    rf__free(ctx, (void *)c.scale);
    rf__free(ctx, c.slab);
    rf__unused_free(ctx, &c.unused);
    rf__free(ctx, (void *)c.match);
    rf__params_free(&c.params);
    rf_weights_close(c.w);
    rf_tokenizer_free(c.tokenizer);
    rf_tokenizer_free(c.words);
    rf__labels_free(&c.outputs);
    rf__labels_free(&c.labels);
    rf__free(ctx, c.generation.text);
    json_decref(c.keys);
    return status;
}

/* A model in a folder below, `inner`, stays there; the other files of `from` are copied. */
static rf_status convert_below(const rf_ctx *ctx, const char *from, const char *inner, const char *to,
                               const rf_convert_options *o, rf_error *why)
{
    static const char *const none[] = {NULL};
    char below[4096];
    const size_t n = strlen(from);
    const char *name = inner + n + !rf__os_is_slash(from[n - 1]);
    const rf__other_files files = {.ctx = ctx, .from = from, .to = to, .skip = name, .other_vocabulary = o->vocabulary,
                                   .overwrite = o->overwrite, .report = o->file, .user = o->user};
    rf_status status = rf__path(below, sizeof below, to, name, why);
    if (!status && o->reranker)
        status = rf_fail(why, RF_EUNSUPPORTED, "reranker: expected a folder without modules.json, got %s", from);
    if (!status) status = rf__other_files_check(&files, why);
    if (!status) status = check_target(ctx, from, to, o->overwrite, why);
    if (!status) status = convert_folder(ctx, inner, below, o, why);
    if (!status) status = rf__checksums_remove(to, why);                /* of a model that was in the folder itself */
    if (!status) status = rf__other_files_set_aside(&files, none, why);
    if (!status) status = rf__sentence_copy(ctx, from, to, why);
    return status ? status : rf__other_files_copy(&files, why);
}

rf_status rf_convert(const rf_ctx *ctx, const char *from, const char *to, const rf_convert_options *options,
                     rf_error *why)
{
    if (!(ctx && from && to)) return rf__missing("rf_convert", "ctx, from, to", why);
    rf_error local = {0};
    rf_convert_options o;
    char below[4096];
    if (!why) why = &local;
    rf_convert_defaults(&o);
    if (rf__options_read(&o, sizeof o, RF_SIZE_TO(rf_convert_options, user), options, "rf_convert_options", why))
        return RF_EARG;
    const char *inner = rf__model_folder(ctx, from, below);
    return inner == from ? convert_folder(ctx, from, to, &o, why) : convert_below(ctx, from, inner, to, &o, why);
}
