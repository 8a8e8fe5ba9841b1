/* generation.c — generation_config.json of transformers (GenerationConfig): num_beams, length_penalty, bad_words_ids
 * ... Folders that are older than that file have the keys in config.json.
 *
 * A key that would change the generated text and is not supported is stored as an error. */
#include <stdlib.h>
#include <string.h>

#include "base/files/folder_keys.h"
#include "base/files/json_file.h"
#include "roformer/inspect/files.h"
#include "store/family.h"
#include "store/generation.h"
#include "store/store.h"

enum { MOST = 1 << 20, LISTED = 65536, USUAL_TOP_K = 50 };   /* the last: default of transformers for sampling */

typedef struct reading { const rf_ctx *ctx; const char *path; const json_t *root; rf_error *why; } reading;

/* NULL: missing, or null. */
static const json_t *value_of(const reading *r, const char *key)
{
    const json_t *v = json_object_get(r->root, key);
    return v && !json_is_null(v) ? v : NULL;
}

static rf_status number(const reading *r, const char *key, double low, double high, double *out)
{
    const json_t *v = value_of(r, key);
    if (!v) return RF_OK;
    if (!json_is_number(v)) return rf__wrong_type(r->path, key, v, "a number", r->why);
    const double x = json_number_value(v);
    if (!(x >= low && x <= high))
        return rf_fail(r->why, RF_EDATA, "%s: %s: expected %g to %g, got %g", r->path, key, low, high, x);
    *out = x;
    return RF_OK;
}

static rf_status read_integer(const reading *r, const char *key, int64_t low, int64_t high, int64_t *out)
{
    const json_t *v = value_of(r, key);
    if (!v) return RF_OK;
    if (!json_is_integer(v)) return rf__wrong_type(r->path, key, v, "a whole number", r->why);
    const json_int_t x = json_integer_value(v);
    if (x < low || x > high)
        return rf_fail(r->why, RF_EDATA, "%s: %s: expected %lld to %lld, got %lld", r->path, key, (long long)low,
                       (long long)high, (long long)x);
    *out = x;
    return RF_OK;
}

static rf_status read_boolean(const reading *r, const char *key, int *out)
{
    const json_t *v = value_of(r, key);
    if (!v) return RF_OK;
    if (!json_is_boolean(v)) return rf__wrong_type(r->path, key, v, "true or false", r->why);
    *out = json_is_true(v);
    return RF_OK;
}

static rf_status early(const reading *r, int *out)
{
    const json_t *v = value_of(r, "early_stopping");
    const char *text = json_string_value(v);
    if (!v) return RF_OK;
    if (!json_is_boolean(v) && (!text || strcmp(text, "never")))
        return rf__wrong_type(r->path, "early_stopping", v, "true, false or \"never\"", r->why);
    *out = text ? 2 : json_is_true(v);
    return RF_OK;
}

/* A setting of sampling. Without sampling, transformers ignores it, and files have any number there: temperature 0. */
static rf_status sampled(const reading *r, const rf__generation_config *x, const char *key, double low, double high,
                         double *out)
{
    const json_t *v = value_of(r, key);
    const double value = json_number_value(v);
    if (!x->do_sample && json_is_number(v) && !(value >= low && value <= high)) return RF_OK;
    return number(r, key, low, high, out);
}

/* Reads an id from `least` on, or a list of ids. */
static rf_status ids(const reading *r, const char *key, const json_t *v, int least, int32_t **list, int64_t *n)
{
    const size_t count = json_is_array(v) ? json_array_size(v) : 1;
    if (!v) return RF_OK;
    if (count > LISTED) return rf_fail(r->why, RF_EDATA, "%s: %s: expected at most %d ids, got more", r->path, key,
                                       LISTED);
    int32_t *fresh = rf__calloc(r->ctx, (size_t)*n + count + 1, sizeof *fresh);
    if (!fresh) return rf_fail(r->why, RF_ENOMEM, "out of memory: %s", r->path);
    if (*n) memcpy(fresh, *list, (size_t)*n * sizeof *fresh);
    rf__free(r->ctx, *list);
    *list = fresh;
    for (size_t i = 0; i < count; i++) {
        const json_t *x = json_is_array(v) ? json_array_get(v, i) : v;
        if (!json_is_integer(x) || json_integer_value(x) < least || json_integer_value(x) > INT32_MAX)
            return rf__wrong_type(r->path, key, x, "an id, or a list of ids", r->why);
        fresh[(*n)++] = (int32_t)json_integer_value(x);
    }
    return RF_OK;
}

/* End tokens: -1 is no token, and nothing ends with it. */
static rf_status read_ends(const reading *r, rf__generation_config *x)
{
    const rf_status status = ids(r, "eos_token_id", value_of(r, "eos_token_id"), -1, &x->stop, &x->stops);
    int64_t n = 0;
    for (int64_t i = 0; i < x->stops; i++)
        if (x->stop[i] >= 0) x->stop[n++] = x->stop[i];
    x->stops = n;
    if (n) return status;
    rf__free(r->ctx, x->stop);
    x->stop = NULL;
    return status;
}

/* transformers drops words that are an end token, since no text could end without it. */
static bool ends(const rf__generation_config *x, const json_t *id)
{
    int64_t i = 0;
    while (i < x->stops && x->stop[i] != json_integer_value(id)) i++;
    return json_is_integer(id) && i < x->stops;
}

/* Lists of one token each; longer ones would have to be matched during generation. */
static rf_status bad_words(const reading *r, rf__generation_config *out)
{
    const json_t *v = value_of(r, "bad_words_ids"), *word;
    size_t i;
    if (v && !json_is_array(v)) return rf__wrong_type(r->path, "bad_words_ids", v, "a list of lists of ids", r->why);
    json_array_foreach(v, i, word) {
        if (json_is_array(word) && json_array_size(word) == 1 && ends(out, json_array_get(word, 0))) continue;
        if (json_is_array(word) && json_array_size(word) > 1 && !out->why.code)
            rf_fail(&out->why, RF_EUNSUPPORTED,
                    "%s: bad_words_ids: expected words of one token, got one of %zu tokens; remove it", r->path,
                    json_array_size(word));
        else if (!json_is_array(word) || json_array_size(word) != 1)
            return rf__wrong_type(r->path, "bad_words_ids", word, "a list of ids", r->why);
        else {
            const rf_status status =
                ids(r, "bad_words_ids", json_array_get(word, 0), 0, &out->suppress, &out->suppressed);
            if (status) return status;
        }
    }
    return RF_OK;
}

static rf_status read_all(const reading *r, int64_t start, rf__generation_config *x)
{
    int64_t length = 0, begins = start, fresh = 0;
    rf_status status = read_integer(r, "num_beams", 1, 4096, &x->num_beams);
    if (!status) status = read_integer(r, "max_length", 2, MOST, &length);
    if (!status) status = read_integer(r, "max_new_tokens", 1, MOST, &fresh);
    if (fresh || length) x->max_new_tokens = fresh ? fresh : length - 1;
    x->max_length = start < 0 && !fresh ? length : 0;
    if (!status) status = read_integer(r, "no_repeat_ngram_size", 0, MOST, &x->no_repeat_ngram_size);
    if (!status) status = read_integer(r, "min_new_tokens", 0, MOST, &x->min_new_tokens);
    if (!status) status = read_integer(r, "min_length", 0, MOST, &x->min_length);
    if (value_of(r, "min_new_tokens")) x->min_length = 0;           /* which it replaces, as in transformers          */
    if (!status) status = read_boolean(r, "do_sample", &x->do_sample);
    if (!status && (x->do_sample || json_integer_value(value_of(r, "top_k")) >= 0))
        status = read_integer(r, "top_k", 0, 1 << 24, &x->top_k);
    if (!status) status = read_integer(r, "bos_token_id", -1, INT32_MAX, &x->bos);
    if (!status) status = read_integer(r, "forced_bos_token_id", 0, INT32_MAX, &x->forced_bos);
    if (!status) status = read_integer(r, "forced_eos_token_id", 0, INT32_MAX, &x->forced_eos);
    if (!status) status = read_integer(r, "decoder_start_token_id", 0, INT32_MAX, &begins);
    if (!status) status = number(r, "length_penalty", -100, 100, &x->length_penalty);
    if (!status) status = number(r, "repetition_penalty", 1e-6, 1e6, &x->repetition_penalty);
    if (!status) status = sampled(r, x, "temperature", 1e-6, 1e6, &x->temperature);
    if (!status) status = sampled(r, x, "top_p", 1e-6, 1, &x->top_p);
    if (!status) status = sampled(r, x, "min_p", 0, 1, &x->min_p);
    if (!status) status = sampled(r, x, "typical_p", 1e-6, 1, &x->typical_p);
    if (!status) status = read_boolean(r, "renormalize_logits", &x->renormalize);
    if (x->do_sample && !value_of(r, "top_k")) x->top_k = USUAL_TOP_K;
    if (!status) status = early(r, &x->early);
    if (!status) status = read_ends(r, x);
    if (!status) status = ids(r, "suppress_tokens", value_of(r, "suppress_tokens"), 0, &x->suppress, &x->suppressed);
    if (!status) status = bad_words(r, x);
    if (!status && x->do_sample && x->num_beams > 1)
        rf_fail(&x->why, RF_EUNSUPPORTED,
                "%s: do_sample: expected false with num_beams %lld, got true; sampling with beams is not supported: "
                "remove one of the two", r->path, (long long)x->num_beams);
    if (!status && start < 0 && x->forced_bos >= 0)
        rf_fail(&x->why, RF_EUNSUPPORTED, "%s: forced_bos_token_id: expected null, as the model continues a prompt, "
                "got %lld; remove it", r->path, (long long)x->forced_bos);
    if (!status && start >= 0 && begins != start)
        status = rf_fail(r->why, RF_EDATA, "%s: decoder_start_token_id: expected %lld, as in %s, got %lld", r->path,
                         (long long)start, RF_FILE_CONFIG, (long long)begins);
    if (!status && !x->why.code) rf__folder_keys_check(RF_KEYS_GENERATION, r->path, r->root, &x->why);
    return status;
}

/* The value of the model's class, where no file says another; -1: none. */
static int forced_end(const char *path, const json_t *config)
{
    const rf_family_config *f;
    const bool named = json_object_get(config, "forced_eos_token_id") != NULL;
    return named || rf__config_pick(path, config, &f, NULL) ? -1 : f->forced_end - 1;
}

/* Configs of small vocabularies often have the end token of their class, 50256 of GPT-2: it never occurs. */
static void forget_ends_beyond(const json_t *config, rf__generation_config *x)
{
    const json_t *vocabulary = json_object_get(config, "vocab_size");
    int64_t n = 0;
    for (int64_t i = 0; i < x->stops && json_is_integer(vocabulary); i++)
        if (x->stop[i] < json_integer_value(vocabulary)) x->stop[n++] = x->stop[i];
    if (json_is_integer(vocabulary)) x->stops = n;
}

rf_status rf__generation_read(const rf_ctx *ctx, const char *folder, int64_t start, rf__generation_config *out,
                              rf_error *why)
{
    char path[RF_CONFIG_PATH], below[4096];
    json_t *root = NULL;
    folder = rf__model_folder(ctx, folder, below);
    rf_status status = rf__path(path, sizeof path, folder, RF_FILE_GENERATION, why);
    const bool there = !status && rf__is_there(ctx, path);
    if (there) status = rf__json_shared(ctx, path, MOST, 0, &root, why);
    else if (!status) status = rf__config_root(ctx, folder, path, &root, why);
    if (status) return status;
    if (!there && forced_end(path, root) >= 0) out->forced_eos = forced_end(path, root);
    status = read_all(&(reading){ctx, path, root, why}, start, out);
    if (!status && !there) forget_ends_beyond(root, out);
    json_decref(root);
    return status;
}

#define TASKS "task_specific_params"

static rf_status unknown_task(const char *path, const json_t *tasks, const char *task, rf_error *why)
{
    char names[200] = "";
    const char *name;
    json_t *unused;
    json_object_foreach((json_t *)(uintptr_t)tasks, name, unused)
        rf__list_add(names, sizeof names, rf__printable(name).text);
    return rf_fail(why, RF_EUNSUPPORTED, "%s: " TASKS ": expected one of the tasks %s, got \"%s\"", path,
                   *names ? names : "(none)", rf__printable(task).text);
}

rf_status rf__generation_task(const rf_ctx *ctx, const char *folder, const char *task, int64_t start,
                              rf__generation_config *out, char *prefix, size_t size, rf_error *why)
{
    static const char *const lists[] = {"eos_token_id", "suppress_tokens", "bad_words_ids"};
    char path[RF_CONFIG_PATH];
    json_t *root = NULL;
    rf_status status = rf__config_root(ctx, folder, path, &root, why);
    if (status) return status;
    const json_t *tasks = json_object_get(root, TASKS), *own = json_object_get(tasks, task);
    const json_t *before = json_object_get(own, "prefix");
    const char *text = before && !json_is_null(before) ? json_string_value(before) : "";
    if (!json_is_object(own)) status = unknown_task(path, tasks, task, why);
    else if (!text) status = rf__wrong_type(path, TASKS ": prefix", before, "a string", why);
    else if (strlen(text) >= size)
        status = rf_fail(why, RF_EDATA, "%s: " TASKS ": prefix: expected at most %zu bytes, got %zu", path, size - 1,
                         strlen(text));
    for (size_t i = 0; i < RF_COUNT(lists) && !status; i++)
        if (json_object_get(own, lists[i]))
            status = rf_fail(why, RF_EUNSUPPORTED, "%s: " TASKS ": %s: expected none in a task, got %s; write it to %s",
                             path, lists[i], rf__json_shown(json_object_get(own, lists[i])).text, RF_FILE_GENERATION);
    if (!status) status = read_all(&(reading){ctx, path, own, why}, start, out);
    if (!status) memcpy(prefix, text, strlen(text) + 1);
    json_decref(root);
    return status;
}

/* Whether generation settings of this kind are read here; config.json keeps all other keys. */
bool rf__generation_key(const char *key) { return rf__folder_key(RF_KEYS_GENERATION, key) != NULL; }

static json_t *keys_of_config(const json_t *config)
{
    static const char *const with[] = {"eos_token_id", "decoder_start_token_id", "pad_token_id", "bos_token_id"};
    json_t *out = json_object();
    for (const rf_known_key *k = rf__folder_keys; k->name; k++) {
        json_t *v = k->file == RF_KEYS_GENERATION ? json_object_get(config, k->name) : NULL;
        if (v && !json_is_null(v)) rf__json_set(&out, k->name, json_incref(v));
    }
    for (size_t i = 0; i < RF_COUNT(with) && json_object_size(out); i++) {
        json_t *v = json_object_get(config, with[i]);
        if (v && !json_is_null(v)) rf__json_set(&out, with[i], json_incref(v));
    }
    return out;
}

rf_status rf__generation_keep(const rf_ctx *ctx, const char *folder, rf__kept_file *out, rf_error *why)
{
    char path[4096];
    rf_status status = rf__path(path, sizeof path, folder, RF_FILE_GENERATION, why);
    const bool own = !status && rf__is_there(ctx, path);
    if (own) return rf__read_file(ctx, path, MOST, &out->text, &out->size, why);
    json_t *root = NULL;
    if (!status) status = rf__config_root(ctx, folder, path, &root, why);
    if (status) return status;
    json_t *kept = keys_of_config(root);
    const int end = forced_end(path, root);
    if (json_object_size(kept) && end >= 0) rf__json_set(&kept, "forced_eos_token_id", json_integer(end));
    json_decref(root);
    char *dump = kept ? rf__json_dump(kept, JSON_INDENT(2)) : NULL;
    const bool none = kept && !json_object_size(kept);
    json_decref(kept);
    if (dump && !none) {
        out->size = strlen(dump);
        out->text = rf__strdup(ctx, dump);
    }
    if (!dump || (!none && !out->text)) status = rf_fail(why, RF_ENOMEM, "out of memory: %s", path);
    free(dump);
    return status;
}

rf_status rf__generation_write(const rf_ctx *ctx, const char *folder, const rf__kept_file *f, rf_error *why)
{
    char path[4096];
    if (!f->text) return RF_OK;
    const rf_status status = rf__path(path, sizeof path, folder, RF_FILE_GENERATION, why);
    return status ? status : rf__replace_file(ctx, path, f->text, f->size, why);
}

void rf__generation_clear(const rf_ctx *ctx, rf__generation_config *x)
{
    rf__free(ctx, x->stop);
    rf__free(ctx, x->suppress);
    x->stop = x->suppress = NULL;
}
