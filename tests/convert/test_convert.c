/* test_convert.c — mirrors src/convert/convert.c, extend.c, other_files.c, unused.c, src/model/params/tied.c: reports,
 * rejected input, and files that are written and read back. */
#define _GNU_SOURCE
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/model.h"
#include "one_context.h"
#include "roformer/inspect/folder.h"
#include "roformer/model.h"
#include "model/params/params.h"
#include "roformer/tokenizer.h"
#include "store/store.h"
#include "train/checkpoint/folder.h"

struct told {
    size_t kept, renamed, left;
};

static void count(void *user, const rf_weight *t, const char *to)
{
    struct told *told = user;
    if (!to) told->left++;
    else if (strcmp(t->name, to)) told->renamed++;
    else told->kept++;
}

static void reports_and_writes(void **state)
{
    (void)state;
    static const char *const drop[] = {"roformer.pooler.dense.bias"};
    struct told told = {0};
    rf_convert_options o;
    rf_error why = {0};
    rf_convert_defaults(&o);
    o.drops = 1;
    o.report = count;
    o.user = &told;
    char folder[256];
    snprintf(folder, sizeof folder, "%s/new", t_folder());
    assert_int_equal(rf_convert(ctx, "tests/golden/torch/old", folder, &o, NULL), RF_EARG);
    why = (rf_error){0};
    o.drop = drop;                      /* a RoFormer's pooler needs both: so both are left out */
    if (rf_convert(ctx, "tests/golden/torch/old", folder, &o, &why)) fail_msg("%s", why.text);
    assert_int_equal(told.renamed, 13); /* two of each of six norms, and the bias by its second name */
    assert_int_equal(told.left, 5);     /* positions, pooler, a copy of the embeddings, the first name of the bias */
    assert_int_equal(told.kept + told.renamed + told.left, 46);
    rf_model *m = NULL;
    if (rf_model_open(ctx, folder, &m, &why)) fail_msg("%s", why.text);
    assert_true(rf_model_has_head(m));
    assert_string_equal(rf__model_ignored(m), "");
    rf_model_close(m);
    assert_int_equal(rf_convert(ctx, "tests/golden/torch/old", folder, &o, &why), RF_EIO);
}

/* A head that is declared as tied but is not. */
static void heads_that_differ(void **state)
{
    (void)state;
    const char *from = t_folder();
    char config[] =
        "{\"model_type\":\"roformer\",\"vocab_size\":2,\"hidden_size\":2,\"embedding_size\":2,"
                    "\"num_attention_heads\":1,"
        "\"num_hidden_layers\":1,\"intermediate_size\":2,\"type_vocab_size\":1}";
    rf_config c;
    rf_model *m = NULL;
    rf_error why = {0};
    t_write(from, "config.json", config, sizeof config - 1);
    if (rf_config_read(ctx, from, &c, &why)) fail_msg("%s", why.text);
    static const struct {
        const char *name;
        int64_t a, b;
    } shape[] = {
        {"roformer.embeddings.word_embeddings.weight", 2, 2},
        {"roformer.embeddings.token_type_embeddings.weight", 1, 2},
        {"roformer.embeddings.LayerNorm.weight", 2, 0},
        {"roformer.embeddings.LayerNorm.bias", 2, 0},
        {"cls.predictions.decoder.weight", 2, 2},
    };
    rf_weight_out out[64];
    static const float one[4] = {1, 1, 1, 1}, two[4] = {1, 2, 1, 1};
    char names[64][96];
    size_t n = 0;
    for (; n < RF_COUNT(shape); n++) {
        out[n] = (rf_weight_out){.name = shape[n].name, .type = RF_F32, .rank = shape[n].b ? 2 : 1, .data = one};
        out[n].dim[0] = shape[n].a, out[n].dim[1] = shape[n].b;
    }
    out[n - 1].data = two;
    static const char *const matrix[] = {"attention.self.query",   "attention.self.key", "attention.self.value",
                                         "attention.output.dense", "intermediate.dense", "output.dense"};
    static const char *const vector[] = {"attention.output.LayerNorm", "output.LayerNorm"};
    for (size_t i = 0; i < RF_COUNT(matrix) + RF_COUNT(vector); i++)
        for (int bias = 0; bias < 2; bias++, n++) {
            const bool flat = bias || i >= RF_COUNT(matrix);
            snprintf(names[n], sizeof names[n], "roformer.encoder.layer.0.%s.%s",
                     i < RF_COUNT(matrix) ? matrix[i] : vector[i - RF_COUNT(matrix)], bias ? "bias" : "weight");
            out[n] = (rf_weight_out){
                .name = names[n], .type = RF_F32, .rank = flat ? 1 : 2, .dim = {2, flat ? 0 : 2}, .data = one};
        }
    static const struct {
        const char *name;
        int rank;
    } head[] = {{"transform.dense.weight", 2},
                {"transform.dense.bias", 1},
                {"transform.LayerNorm.weight", 1},
                {"transform.LayerNorm.bias", 1},
                {"bias", 1}};
    for (size_t i = 0; i < RF_COUNT(head); i++, n++) {
        snprintf(names[n], sizeof names[n], "cls.predictions.%s", head[i].name);
        out[n] = (rf_weight_out){.name = names[n], .type = RF_F32, .rank = head[i].rank, .dim = {2, 2}, .data = one};
    }
    char file[300], to[300];
    snprintf(file, sizeof file, "%s/model.safetensors", from);
    snprintf(to, sizeof to, "%s/to", from);
    if (rf__weights_write(ctx, file, out, n, NULL, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf_convert(ctx, from, to, NULL, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "cls.predictions.decoder.weight: expected the numbers of "
                             "roformer.embeddings.word_embeddings.weight, as tie_word_embeddings is true");
    why = (rf_error){0};
    assert_int_equal(rf_model_open(ctx, from, &m, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "set tie_word_embeddings to false there to use this matrix");
    assert_int_not_equal(access(to, F_OK), 0);
    out[RF_COUNT(shape) - 1].data = one;
    why = (rf_error){0};
    if (rf__weights_write(ctx, file, out, n, NULL, &why)) fail_msg("%s", why.text);
    if (rf_convert(ctx, from, to, NULL, &why) || rf_model_open(ctx, to, &m, &why)) fail_msg("%s", why.text);
    rf_model_close(m);
}

static void arguments(void **state)
{
    (void)state;
    rf_error why = {0};
    rf_convert_options o;
    assert_int_equal(rf_convert(ctx, NULL, "x", NULL, &why), RF_EARG);
    rf_convert_defaults(&o);
    o.type = RF_I32;
    why = (rf_error){0};
    assert_int_equal(rf_convert(ctx, "tests/golden/models/plain", "x", &o, &why), RF_EARG);
    t_failed(&why, RF_EARG, "expected RF_F32, RF_BF16, RF_F16 or RF_I8");
}

static rf_status convert_old(const rf_ctx *c, void *arg, rf_error *why)
{
    (void)arg;
    return rf_convert(c, "tests/golden/torch/old_bf16", t_folder(), NULL, why);
}

static void memory_ends(void **state)
{
    (void)state;
    assert_int_equal(t_fail_allocations(1, NULL, convert_old, NULL), 0);
}

/* A model of characters becomes one of words: 今天 gets the mean of 今 and 天, for embeddings and the bias. */
static void random_folder(const char *folder, int tokens)
{
    char config[512], path[300];
    const int n = snprintf(config, sizeof config,
                           "{\"model_type\":\"roformer\",\"architectures\":[\"RoFormerForMaskedLM\"],\"vocab_size\":%d,"
                           "\"hidden_size\":4,\"embedding_size\":4,\"num_attention_heads\":1,\"num_hidden_layers\":1,"
                           "\"intermediate_size\":4,\"type_vocab_size\":1}",
                           tokens);
    rf_config c;
    rf_params p;
    rf_error why = {0};
    t_write(folder, "config.json", config, (size_t)n);
    if (rf_config_read(ctx, folder, &c, &why) || rf__params_new(ctx, &c, &p, &why)) fail_msg("%s", why.text);
    float *slab = t_floats((int64_t)p.total);
    for (size_t i = 0; i < p.total; i++) slab[i] = sinf((float)i);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (rf__params_save(&p, slab, RF_F32, path, &why)) fail_msg("%s", why.text);
    rf__params_free(&p);
}

static void save_tokenizer(const char *folder, const char *vocab)
{
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    if (rf_tokenizer_new(ctx, vocab, strlen(vocab), "v", NULL, &t, &why) || rf_tokenizer_save(t, folder, &why))
        fail_msg("%s", why.text);
    rf_tokenizer_free(t);
}

struct extended {
    int64_t kept, means, unknown, lost;
};

static void take(void *user, int64_t kept, int64_t means, int64_t unknown, int64_t lost)
{
    *(struct extended *)user = (struct extended){kept, means, unknown, lost};
}

static void vocabularies(void **state)
{
    (void)state;
    static const char *const names[] = {"roformer.embeddings.word_embeddings.weight", "cls.predictions.bias",
                                        "roformer.embeddings.LayerNorm.weight"};
    /* token of the new vocabulary: the mean of one or two tokens of the old one */
    static const int of[][2] = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {6, 6}, {5, 6}, {8, 9}, {1, 1}, {8, 8}};
    struct extended x = {0};
    rf_convert_options o;
    rf_error why = {0};
    rf_weights *w[2];
    char from[256], words[256], to[300];
    snprintf(from, sizeof from, "%s", t_folder());
    snprintf(words, sizeof words, "%s", t_folder());
    snprintf(to, sizeof to, "%s/to", words);
    random_folder(from, 10);
    rf_convert_defaults(&o);
    o.vocabulary = words;
    o.user = &x;
    o.extended = take;
    save_tokenizer(words, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n天\n今天\nab\n好\n##a\n");
    assert_int_equal(rf_convert(ctx, from, to, &o, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "expected a tokenizer, got none");
    why = (rf_error){0};
    save_tokenizer(from, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n今\n天\n气\na\n##b\n");
    if (rf_convert(ctx, from, to, &o, &why)) fail_msg("%s", why.text);
    assert_int_equal(x.kept, 6);
    assert_int_equal(x.means, 3);
    assert_int_equal(x.unknown, 1);
    assert_int_equal(x.lost, 4);
    if (rf_weights_open(ctx, from, &w[0], &why) || rf_weights_open(ctx, to, &w[1], &why)) fail_msg("%s", why.text);
    for (size_t i = 0; i < RF_COUNT(names); i++) {
        const rf_weight *a = rf__weights_find(w[0], names[i]), *b = rf__weights_find(w[1], names[i]);
        float old[256], new[256];
        assert_true(a && b && a->count <= 256);
        assert_false(rf__weights_read(w[0], a, old, 1, &why) || rf__weights_read(w[1], b, new, 1, &why));
        const size_t width = a->rank > 1 ? (size_t)a->dim[1] : 1;
        for (size_t k = 0; k < b->count; k++) {
            const float *p = i < 2 ? &old[(size_t)of[k / width][0] * width + k % width] : &old[k],
                        *q = i < 2 ? &old[(size_t)of[k / width][1] * width + k % width] : &old[k];
            assert_true(new[k] == (float)(((double)*p + (double)*q) / 2));
        }
    }
    rf_weights_close(w[0]);
    rf_weights_close(w[1]);
    rf_model *m = NULL;
    if (rf_model_open(ctx, to, &m, &why)) fail_msg("%s", why.text);
    assert_true(rf_model_has_head(m));
    rf_model_close(m);
}

static void note_lost(void *user, const char *name, const char *left_out)
{
    char *all = user;
    if (left_out) snprintf(all + strlen(all), 200 - strlen(all), "%s|", name);
}

/* Ids of generation_config.json are those of the same tokens; a token that is gone is reported. */
static void ids_follow_their_tokens(void **state)
{
    (void)state;
    static const char old[] =
        "{\"max_length\": 9, \"eos_token_id\": [5, 6], \"bos_token_id\": 6, \"pad_token_id\": -1, "
        "\"suppress_tokens\": [9], \"bad_words_ids\": [[5], [5, 6]]}";
    static const char new[] = "{\"max_length\": 9, \"eos_token_id\": [6], \"pad_token_id\": -1, "
                              "\"suppress_tokens\": [5], \"bad_words_ids\": [[6]]}";
    char from[256], words[256], to[300], path[400], lost[200] = "";
    rf_convert_options o;
    rf_error why = {0};
    snprintf(from, sizeof from, "%s", t_folder());
    snprintf(words, sizeof words, "%s", t_folder());
    snprintf(to, sizeof to, "%s/to", words);
    random_folder(from, 10);
    save_tokenizer(from, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n今\n天\n气\na\n##b\n");
    save_tokenizer(words, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n##b\n今\n好\n");
    t_write(from, "generation_config.json", old, sizeof old - 1);
    rf_convert_defaults(&o);
    o.vocabulary = words;
    o.user = lost;
    o.file = note_lost;
    if (rf_convert(ctx, from, to, &o, &why)) fail_msg("%s", why.text);
    assert_string_equal(lost, "generation_config.json: eos_token_id|generation_config.json: bos_token_id|"
                              "generation_config.json: bad_words_ids|");
    snprintf(path, sizeof path, "%s/generation_config.json", to);
    json_t *got = json_load_file(path, 0, NULL), *expected = json_loads(new, 0, NULL);
    assert_true(got && expected && json_equal(got, expected));
    json_decref(got);
    json_decref(expected);
}

static rf_status extend_one(const rf_ctx *c, void *folders, rf_error *why)
{
    const char *const *folder = folders;
    rf_convert_options o;
    rf_convert_defaults(&o);
    o.vocabulary = folder[1];
    o.overwrite = 1;
    return rf_convert(c, folder[0], folder[2], &o, why);
}

static void memory_ends_while_extending(void **state)
{
    (void)state;
    char from[256], words[256];
    snprintf(from, sizeof from, "%s", t_folder());
    snprintf(words, sizeof words, "%s", t_folder());
    random_folder(from, 7);
    t_write(from, "generation_config.json", "{\"eos_token_id\": [3, 6]}", 24);
    save_tokenizer(from, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n今\n天\n");
    save_tokenizer(words, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n今天\n");
    char to[300];
    snprintf(to, sizeof to, "%s/to", words);
    const char *folders[] = {from, words, to};
    assert_int_equal(t_fail_allocations(1, NULL, extend_one, folders), 0);
}

/* Files besides the weights: what is reported about each. */
struct files { int copied, left; char last[64]; };

static void note(void *user, const char *name, const char *left_out)
{
    struct files *f = user;
    if (left_out) f->left++;
    else f->copied++, snprintf(f->last, sizeof f->last, "%s", name);
}

static rf_status convert_files(const rf_ctx *c, void *folders, rf_error *why)
{
    const char *const *folder = folders;
    rf_convert_options o;
    rf_convert_defaults(&o);
    o.overwrite = 1;
    return rf_convert(c, folder[0], folder[1], &o, why);
}

static void files_beside(void **state)
{
    (void)state;
    char from[256], to[300], path[400];
    snprintf(from, sizeof from, "%s", t_folder());
    snprintf(to, sizeof to, "%s", t_folder());
    strcat(to, "/new");
    random_folder(from, 7);
    t_write(from, "LICENSE", "GPL", 3);
    t_write(from, "tf_model.h5", "x", 1);
    struct files f = {0};
    rf_error why = {0};
    rf_convert_options o;
    rf_convert_defaults(&o);
    o.file = note;
    o.user = &f;
    if (rf_convert(ctx, from, to, &o, &why)) fail_msg("%s", why.text);
    assert_int_equal(f.copied, 1);
    assert_int_equal(f.left, 1);
    assert_string_equal(f.last, "LICENSE");
    snprintf(path, sizeof path, "%s/model.safetensors", to);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/config.json", to);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/checksums.json", to);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rf_convert(ctx, from, to, &o, &why), RF_EIO);
    t_failed(&why, RF_EIO, "LICENSE: expected a new file");
    assert_int_not_equal(access(path, F_OK), 0);
    const char *folders[] = {from, to};
    assert_int_equal(t_fail_allocations(1, NULL, convert_files, folders), 0);
}

/* A model in a folder below: the files of another one at the top are not replaced. */
static void model_in_a_folder_below(void **state)
{
    (void)state;
    static const char modules[] =
        "[{\"idx\":0,\"name\":\"0\",\"path\":\"0_Transformer\",\"type\":\"sentence_transformers.models.Transformer\"},"
        "{\"idx\":1,\"name\":\"1\",\"path\":\"1_Pooling\",\"type\":\"sentence_transformers.models.Pooling\"}]";
    char from[256], below[300], to[256];
    rf_error why = {0};
    snprintf(from, sizeof from, "%s", t_folder());
    snprintf(to, sizeof to, "%s", t_folder());
    snprintf(below, sizeof below, "%s/0_Transformer", from);
    assert_int_equal(mkdir(below, 0700), 0);
    random_folder(below, 7);
    t_write(from, "modules.json", modules, sizeof modules - 1);
    t_write(to, "modules.json", "[]", 2);
    assert_int_equal(rf_convert(ctx, from, to, NULL, &why), RF_EARG);
    t_failed(&why, RF_EARG, "modules.json: exists and would be overwritten");
    random_folder(to, 7);
    why = (rf_error){0};
    assert_int_equal(rf_convert(ctx, from, to, NULL, &why), RF_EIO);
    t_failed(&why, RF_EIO, "expected a folder without weights, got one with weights");
    assert_false(rf__folder_has(to, "0_Transformer"));
    const char *folders[] = {from, to};
    why = (rf_error){0};
    if (convert_files(ctx, folders, &why)) fail_msg("%s", why.text);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    t_write(folder, name, text, strlen(text));
}

static bool has_file(const char *folder, const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return !access(path, F_OK);
}

/* Files of the old model that would change the meaning of the new one are set aside, but not those of the source. */
static void files_of_the_old_model(void **state)
{
    (void)state;
    static const char *const aside[] = {"modules.json", "sentence_bert_config.json", "sentence_roberta_config.json",
                                        "config_sentence_transformers.json", "generation_config.json",
                                        "chat_template.jinja", "1_Pooling/config.json"};
    char from[256], to[256], below[300], name[80];
    snprintf(from, sizeof from, "%s", t_folder());
    snprintf(to, sizeof to, "%s", t_folder());
    snprintf(below, sizeof below, "%s/1_Pooling", to);
    assert_int_equal(mkdir(below, 0700), 0);
    random_folder(from, 7);
    random_folder(to, 6);
    for (size_t i = 0; i < RF_COUNT(aside); i++) write_text(to, aside[i], "{}");
    write_text(to, "LICENSE", "mine");
    const char *folders[] = {from, to};
    rf_error why = {0};
    for (int again = 0; again < 2; again++) {
        if (convert_files(ctx, folders, &why)) fail_msg("%s", why.text);
        for (size_t i = 0; i < RF_COUNT(aside); i++) {
            snprintf(name, sizeof name, "%s.replaced", aside[i]);
            if (has_file(to, aside[i]) || !has_file(to, name)) fail_msg("%s", aside[i]);
            snprintf(name, sizeof name, "%s.replaced-2", aside[i]);
            assert_false(has_file(to, name));
        }
        assert_true(has_file(to, "config.json") && has_file(to, "checksums.json") && has_file(to, "LICENSE"));
        assert_false(has_file(to, "config.json.replaced"));
    }
    write_text(from, "chat_template.jinja", "new");
    write_text(from, "generation_config.json", "{}");
    for (int again = 0; again < 2; again++) {
        if (convert_files(ctx, folders, &why)) fail_msg("%s", why.text);
        assert_true(has_file(to, "chat_template.jinja") && has_file(to, "generation_config.json"));
        assert_false(has_file(to, "chat_template.jinja.replaced-2") ||
                     has_file(to, "generation_config.json.replaced-2"));
    }
}

static void weights_that_fit_no_f16(const char *folder)
{
    const float large = 1e6F;
    char path[300];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, -(long)sizeof large, SEEK_END), 0);
    assert_int_equal(fwrite(&large, sizeof large, 1, f), 1);
    assert_int_equal(fclose(f), 0);
}

/* Weights that cannot be written: the old model stays as it was, with its checksums. */
static void old_model_stays(void **state)
{
    (void)state;
    char from[256], old[256], to[256];
    rf_convert_options o;
    rf_error why = {0};
    snprintf(from, sizeof from, "%s", t_folder());
    snprintf(old, sizeof old, "%s", t_folder());
    snprintf(to, sizeof to, "%s", t_folder());
    random_folder(from, 7);
    random_folder(old, 6);
    weights_that_fit_no_f16(from);
    write_text(from, "generation_config.json", "{}");
    write_text(old, "chat_template.jinja", "old");
    const char *folders[] = {old, to};
    if (convert_files(ctx, folders, &why)) fail_msg("%s", why.text);
    rf_convert_defaults(&o);
    o.overwrite = 1;
    o.keep_type = 0;
    o.type = RF_F16;
    assert_int_equal(rf_convert(ctx, from, to, &o, &why), RF_ENUMERIC);
    t_failed(&why, RF_ENUMERIC, "/model.safetensors: tensor");
    why = (rf_error){0};
    if (rf_checksums_verify(ctx, to, "checksums.json", NULL, NULL, &why)) fail_msg("%s", why.text);
    assert_true(has_file(to, "chat_template.jinja") && !has_file(to, "generation_config.json"));
    rf_config c;
    if (rf_config_read(ctx, to, &c, &why)) fail_msg("%s", why.text);
    assert_int_equal(c.vocab_size, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_and_writes),
        cmocka_unit_test(heads_that_differ),
        cmocka_unit_test(arguments),
        cmocka_unit_test(memory_ends),
        cmocka_unit_test(vocabularies),
        cmocka_unit_test(ids_follow_their_tokens),
        cmocka_unit_test(memory_ends_while_extending),
        cmocka_unit_test(files_beside),
        cmocka_unit_test(model_in_a_folder_below),
        cmocka_unit_test(files_of_the_old_model),
        cmocka_unit_test(old_model_stays),
    };
    return cmocka_run_group_tests_name("pipeline/convert", tests, setup, teardown);
}
