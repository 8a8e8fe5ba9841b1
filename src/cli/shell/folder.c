/* folder.c — selects the model: -m, $ROFORMER_MODEL, or the shipped one. */
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "roformer/inspect/files.h"
#include "cli/io/io.h"
#include "cli/io/path.h"
#include "cli/os/program.h"
#include "cli/shell/hub.h"

#define RF_MODEL_NAME "roformer-small-en"
#define RF_SENTENCE_MODEL_NAME "roformer-small-en-sentences"
#define RF_CHINESE_MODEL_NAME "roformer-small-zh"
#define RF_DICTIONARY_NAME "jieba.words"

static bool is_model(const char *folder)
{
    char path[4096];
    const int n = snprintf(path, sizeof path, "%s/" RF_FILE_CONFIG, folder);
    return n > 0 && (size_t)n < sizeof path && rf__os_readable(path);
}

/* The program's models relative to its own folder: after installation, and in a build folder. */
#ifndef RF_MODELS
#define RF_MODELS "../share/roformer/models"
#endif

static bool is_file(const char *path) { return rf__os_readable(path); }

/* The entry `name` in a folder relative to the program's own, if it is of the expected kind. */
static bool find_near_program(const char *folder, const char *name, bool (*is)(const char *path), char *out,
                              size_t size)
{
    char self[4096];
    if (!rf__os_self(self, sizeof self)) return false;
    const int own = (int)(cli_file_name(self) - self), before = cli_os_absolute(folder) ? 0 : own;
    const int n = snprintf(out, size, "%.*s%s/%s", before, self, folder, name);
    return n > 0 && (size_t)n < size && is(out);
}

bool cli_dictionary(char *out, size_t size)
{
    return find_near_program(RF_MODELS "/..", RF_DICTIONARY_NAME, is_file, out, size) ||
           find_near_program("dictionary", RF_DICTIONARY_NAME, is_file, out, size);
}

static bool shipped(const char *name, char *out, size_t size)
{
    return find_near_program(RF_MODELS, name, is_model, out, size) ||
           find_near_program("models", name, is_model, out, size);
}

/* The folder of a checkpoint of TensorFlow that is given by the prefix of its files: bert_model.ckpt. */
static bool checkpoint_folder(const char *given, char *out, size_t size)
{
    char index[4096];
    const char *slash = rf__os_last_slash(given);
    const int n = snprintf(index, sizeof index, "%s.index", given);
    if (n < 0 || (size_t)n >= sizeof index || !rf__os_exists(index)) return false;
    return snprintf(out, size, "%.*s", slash ? (int)(slash - given) + (slash == given) : 1, slash ? given : ".") > 0;
}

/* The path, unless it is a file: those who are used to other programs give the file with the weights. */
static rf_status existing(const char *given, char *out, size_t size, rf_error *why)
{
    rf__os_state st;
    const int n = snprintf(out, size, "%s", given);
    if (n < 0 || (size_t)n >= size)
        return rf_fail(why, RF_EARG, "--model: expected a path of at most %zu bytes, got a longer one", size - 1);
    if (!rf__os_look(given, &st) && st.kind == RF__OS_FILE) {
        const char *slash = rf__os_last_slash(given);
        return rf_fail(why, RF_EIO, "%s: expected a model folder, got a file; give its folder, %.*s", given,
                       slash ? (int)(slash - given) + (slash == given) : 1, slash ? given : ".");
    }
    return RF_OK;
}

rf_status cli_new_path(const char *given, char *out, size_t size, rf_error *why)
{
    const bool home = !rf__os_exists(given) && cli_home_path(given, out, size);
    const int n = home ? 0 : snprintf(out, size, "%s", given);
    if (n >= 0 && (size_t)n < size) return RF_OK;
    return rf_fail(why, RF_ERANGE, "%.60s...: expected a path of at most %zu bytes, got a longer one", given, size - 1);
}

rf_status cli_model_folder(const char *given, char *out, size_t size, rf_error *why)
{
    if (given) {
        char place[4096];
        if (rf__os_exists(given)) return existing(given, out, size, why);
        if (checkpoint_folder(given, out, size)) return RF_OK;
        if (cli_home_path(given, place, sizeof place) && rf__os_exists(place)) return existing(place, out, size, why);
        if (cli_hub_folder(given, out, size)) return RF_OK;
        if (!rf__os_last_slash(given) && shipped(given, place, sizeof place))
            return rf_fail(why, RF_EIO, "%s: expected a model folder, got no file of this name; the shipped model of "
                           "this name is %s", given, place);
        if (cli_hub_name(given) && cli_hub_cache(place, sizeof place) && strchr(given, '/'))
            return rf_fail(why, RF_EIO, "%s: expected a model folder or a model in %s, got neither; fetch it with `hf "
                           "download %s`", given, place, given);
        return existing(given, out, size, why);
    }
    if (shipped(RF_MODEL_NAME, out, size)) return RF_OK;
    return rf_fail(why, RF_EARG,
                   "expected a model folder: give -m DIR or ROFORMER_MODEL (the shipped model is not installed)");
}

rf_status cli_sentence_folder(const char *given, char *out, size_t size, rf_error *why)
{
    if (!given && shipped(RF_SENTENCE_MODEL_NAME, out, size)) return RF_OK;
    return cli_model_folder(given, out, size, why);
}

bool cli_chinese_folder(char *out, size_t size) { return shipped(RF_CHINESE_MODEL_NAME, out, size); }

rf_status cli_task_folder(const char *given, const char *task, char *out, size_t size, rf_error *why)
{
    return (task && !strcmp(task, "embed") ? cli_sentence_folder : cli_model_folder)(given, out, size, why);
}

const char *cli_sentence_name(const char *given, char *out, size_t size)
{
    char folder[4096];
    if (cli_sentence_folder(given, folder, sizeof folder, NULL)) return NULL;
    cli_model_name(given ? given : folder, out, size);
    return *out && rf_utf8_check(out, strlen(out)) == strlen(out) ? out : NULL;
}

void cli_model_name(const char *given, char *out, size_t size)
{
    cli_last_part(given, out, size);
    if (strcmp(out, ".") && strcmp(out, "..")) return;
    char *whole = rf__os_whole_path(given);                             /* "." has a name, too */
    cli_last_part(whole ? whole : given, out, size);
    free(whole);
}

/* Very large numbers of features take long to create, which happens when the model is opened. */
static void note_features(cli_io *io, const char *folder)
{
    enum { MANY = 16384 };
    char path[4200];
    rf_config c;
    rf_error why = {0};
    const int n = snprintf(path, sizeof path, "%s/.", folder);          /* a pipe or a file without /. is kept */
    if (n < 0 || (size_t)n >= sizeof path || rf_config_read(io->ctx, path, &c, &why)) return;   /* opening says why */
    const bool linear = c.attention_type == RF_ATTENTION_LINEAR || c.attention_types;
    if (linear && c.num_random_features > MANY)
        cli_note(io,
                 "%s/%s: num_random_features is %lld, which is slow; softmax attention is faster for texts of up to "
                 "%lld tokens", folder, RF_FILE_CONFIG, (long long)c.num_random_features,
                 2 * (long long)c.num_random_features);
}

/* A misspelled key would be ignored, and the model would not be the intended one. */
static void note_keys(cli_io *io, const char *folder)
{
    char text[512];
    if (!rf_config_unknown_keys(io->ctx, folder, text, sizeof text, NULL) && *text) cli_note(io, "%s", text);
}

/* A vocabulary of capital letters, as of proteins, whose folder does not say do_lower_case: the text is lowercased, and
 * then no letter is found. */
static void note_case(const cli_io *io, const char *folder, const rf_tokenizer *t)
{
    rf_encoding e;
    int capitals = 0, read = 0;
    rf_encoding_init(&e, io->ctx);
    for (char letter[2] = "A"; *letter <= 'Z'; ++*letter) {
        if (rf_tokenizer_id(t, letter) < 0) continue;
        capitals++;
        read += rf_encode(t, letter, 1, NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, NULL) || !e.n ||
                e.id[0] != rf_tokenizer_unk(t);
    }
    rf_encoding_clear(&e);
    if (capitals && !read)
        cli_note(io, "%s: the vocabulary has capital letters, but texts are lowercased, so none is found in it; set "
                 "\"do_lower_case\": false in " RF_FILE_TOKENIZER_CONFIG, folder);
}

static void note_vocabulary(const cli_io *io, const char *folder, const rf_config *c, const rf_tokenizer *t)
{
    enum { FILLED_UP = 128, ROWS = 64 };                    /* rounded, as publishers do, ESMC's 33 tokens to 64     */
    const long long rows = c->vocab_size, tokens = t ? rf_tokenizer_size(t) : rows;
    if (t) note_case(io, folder, t);
    if (rows % ROWS == 0 && rows - tokens < ROWS) return;
    if (rows - tokens >= FILLED_UP || 10 * (rows - tokens) > rows)
        cli_note(io, "%s: the vocabulary has %lld tokens, but vocab_size is %lld; the file may be truncated, and words "
                 "may be read wrongly", folder, tokens, rows);
}

void cli_note_vocabulary(const cli_io *io, const char *folder, const rf_model *m)
{
    note_vocabulary(io, folder, rf_model_config(m), rf_model_tokenizer(m));
}

void cli_note_vocabulary_in(const cli_io *io, const char *folder)
{
    rf_config c;
    rf_tokenizer *t;
    char path[4096];
    if (rf_weights_path(folder, path, sizeof path, NULL) || rf_config_read(io->ctx, folder, &c, NULL)) return;
    if (rf_tokenizer_open(io->ctx, folder, &t, NULL)) return;
    note_vocabulary(io, folder, &c, t);
    rf_tokenizer_free(t);
}

static rf_status open_folder(cli_io *io, const char *folder, rf_type type, rf_pipeline **out)
{
    rf_held_folder *held = NULL;
    *out = NULL;
    rf_status status = rf_folder_hold(io->ctx, folder, &held, &io->why);
    if (status) return status;
    note_features(io, folder);
    status = rf_pipeline_open(io->ctx, folder, type, out, &io->why);
    if (!status) note_keys(io, folder);
    if (!status) cli_note_vocabulary(io, folder, rf_pipeline_model(*out));
    status = rf_folder_release(&held, status, &io->why);
    if (status) rf_pipeline_close(*out), *out = NULL;
    return status;
}

rf_status cli_pipeline_open(cli_io *io, const char *given, rf_type type, rf_pipeline **out)
{
    char folder[4096];
    const rf_status status = cli_model_folder(given, folder, sizeof folder, &io->why);
    return status ? status : open_folder(io, folder, type, out);
}

rf_status cli_sentence_pipeline_open(cli_io *io, const char *given, rf_type type, rf_pipeline **out)
{
    char folder[4096];
    const rf_status status = cli_sentence_folder(given, folder, sizeof folder, &io->why);
    return status ? status : open_folder(io, folder, type, out);
}

rf_status cli_model_open(cli_io *io, const char *given, rf_type type, cli_model *m)
{
    const rf_status status = cli_pipeline_open(io, given, type, &m->pipeline);
    if (status) return status;
    m->model = rf_pipeline_model(m->pipeline);
    m->session = rf_pipeline_session(m->pipeline);
    m->config = rf_model_config(m->model);
    m->t = rf_model_tokenizer(m->model);
    return RF_OK;
}

void cli_model_close(cli_model *m)
{
    rf_pipeline_close(m->pipeline);
    *m = (cli_model){0};
}

rf_status cli_new_config(cli_io *io, const char *path, rf_config *c)
{
    char strange[512];
    const rf_status status = rf_config_read_new(io->ctx, path, c, strange, sizeof strange, &io->why);
    if (!status && *strange) cli_note(io, "%s: ignored keys: %s", path, strange);
    return status;
}
