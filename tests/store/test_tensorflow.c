/* test_tensorflow.c — mirrors src/store/formats/tensorflow: checkpoints written by TensorFlow
 * (tools/golden/golden_tensorflow.py) have the bits of the same weights in safetensors, and their folders describe the
 * models; a change of any byte of an index is detected; files that TensorFlow cannot have written are rejected by
 * name. */
#define _GNU_SOURCE
#include <unistd.h>
#include <sys/stat.h>

#include "same_weights.h"
#include "model/model.h"
#include "roformer/inspect/folder.h"
#include "store/formats/tensorflow/tensorflow.h"

#define CHAR "chinese_roformer-char_L-2_H-32_A-4"
#define GPT "chinese_roformer-gpt-char_L-2_H-24_A-2"
#define SIM "chinese_roformer-sim-char_L-2_H-24_A-2"

static const struct { const char *name, *source; int tensors;
} models[] = {
    {CHAR, "models/plain", 41},
    {"projected", "models/projected", 59},
    {"bert", "bert/masked", 42},
    {"roformer_v2", "roformer_v2/masked", 14},
    {GPT, "gpt", 43},
    {SIM, "sim", 43},
    {"nezha", "relative/nezha_model", 41},
    {"gau_alpha", "gau_alpha/masked", 10},
};

static const char *folder_of(size_t i, bool source)
{
    static char path[2][160];
    snprintf(path[source], sizeof path[source], "tests/golden/%s%s", source ? "" : "tensorflow/",
             source ? models[i].source : models[i].name);
    return path[source];
}

/* ---- files of TensorFlow ---- */

static void tensors_have_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(models); i++) {
        rf_weights *w = opened(folder_of(i, false)), *expected = opened(folder_of(i, true));
        const int found = same_tensors(models[i].name, w, expected, "embed_positions");
        if (found != models[i].tensors) fail_msg("%s: %d tensors, not %d", models[i].name, found, models[i].tensors);
        for (size_t k = 0; k < rf_weights_count(w); k++) /* nothing of the optimizer or of sentence pairs */
            if (strstr(rf_weights_at(w, k)->name, "adam") || strstr(rf_weights_at(w, k)->name, "seq_relationship") ||
                strstr(rf_weights_at(w, k)->name, "global_step"))
                fail_msg("%s: %s", models[i].name, rf_weights_at(w, k)->name);
        rf_weights_close(w);
        rf_weights_close(expected);
    }
    t_check_fences();
    t_free_all();
}

static void folders_say_what_they_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(models); i++) {
        rf_config c, e;
        rf_error why = {0};
        if (rf_config_read(ctx, folder_of(i, false), &c, &why) || rf_config_read(ctx, folder_of(i, true), &e, &why))
            fail_msg("%s", why.text);
        assert_string_equal(c.family, e.family);
        assert_string_equal(c.architecture, e.architecture);
        assert_string_equal(c.position_embedding_type, e.position_embedding_type);
        assert_int_equal(c.hidden_size, e.hidden_size);
        assert_int_equal(c.embedding_size, e.embedding_size);
        assert_int_equal(c.num_hidden_layers, e.num_hidden_layers);
        assert_int_equal(c.type_vocab_size, e.type_vocab_size);
        assert_int_equal(c.vocab_size, e.vocab_size);
        assert_int_equal(c.is_decoder, e.is_decoder);
        assert_int_equal(c.linear_pooler, e.linear_pooler);
        assert_int_equal(c.hidden_act, e.hidden_act);
        if (!strcmp(models[i].name, "nezha")) assert_int_equal(c.max_relative_position, e.max_relative_position);
        const bool bert = !strcmp(models[i].name, "bert") || !strcmp(models[i].name, "nezha");
        assert_true(c.layer_norm_eps > (bert ? 0.9e-12 : 0.9e-7) && c.layer_norm_eps < (bert ? 1.1e-12 : 1.1e-7));
    }
}

/* Each of them is the same model if the file says what norms add. */
static void answers_are_the_same(void **state)
{
    (void)state;
    const int32_t id[] = {2, 9, 11, 5, 8, 3}, start[] = {0, 6}, row[] = {0, 1, 2, 3, 4, 5};
    const rf_batch batch = {.N = 6, .B = 1, .id = id, .start = start};
    for (size_t i = 0; i < RF_COUNT(models); i++) {
        const float *logits[2];
        rf_model *m[2];
        rf_session *s[2];
        rf_config c;
        rf_error why = {0};
        for (int k = 0; k < 2; k++) {
            if (rf_config_read(ctx, folder_of(i, k), &c, &why)) fail_msg("%s", why.text);
            c.layer_norm_eps = 1e-12;
            if (rf__model_open_with(ctx, folder_of(i, k), RF_F32, &c, &m[k], &why) ||
                rf_session_open(m[k], &s[k], &why) || rf_session_mlm_logits(s[k], &batch, row, 6, &logits[k], &why))
                fail_msg("%s: %s", folder_of(i, k), why.text);
        }
        assert_memory_equal(logits[0], logits[1], (size_t)(6 * c.vocab_size) * sizeof **logits);
        for (int k = 0; k < 2; k++) rf_session_close(s[k]), rf_model_close(m[k]);
    }
}

/* ---- damage ---- */

typedef struct file { unsigned char at[1 << 18]; size_t size; } file;

static void load(const char *path, file *f)
{
    FILE *from = fopen(path, "rb");
    assert_non_null(from);
    f->size = fread(f->at, 1, sizeof f->at, from);
    assert_true(f->size && f->size < sizeof f->at);
    fclose(from);
}

/* A checksum covers every bit of a block; the footer is padded with zeros. */
static void every_byte_of_an_index_counts(void **state)
{
    (void)state;
    static file f;
    load("tests/golden/tensorflow/" CHAR "/bert_model.ckpt.index", &f);
    for (size_t i = 0; i < f.size; i++) {
        rf__bundle b;
        rf_error why = {0};
        f.at[i] ^= 0x41;
        const rf_status status = rf__bundle_parse(ctx, (rf__bytes){f.at, f.size}, "index", &b, &why);
        f.at[i] ^= 0x41;
        if (!status && i < f.size - 48) fail_msg("byte %zu is not missed", i);
        if (status && !*why.text) fail_msg("byte %zu: no message", i);
        rf__bundle_clear(&b);
    }
    for (size_t n = 0; n < f.size; n++) {
        rf__bundle b;
        rf_error why = {0};
        if (!rf__bundle_parse(ctx, (rf__bytes){f.at, n}, "index", &b, &why)) fail_msg("%zu of its bytes are enough", n);
        rf__bundle_clear(&b);
    }
}

static void put_file(const char *folder, const char *name, const void *data, size_t size)
{
    t_write(folder, name, data, size);
}

/* A copy of the golden folder `name` whose file `which` is `f`; NULL: without that file. */
static void copy(const char *name, const char *folder, const char *which, const file *f)
{
    static const char *const files[] = {"bert_config.json", "bert_model.ckpt.index",
                                        "bert_model.ckpt.data-00000-of-00001", "bert_model.ckpt.data-00000-of-00002",
                                        "bert_model.ckpt.data-00001-of-00002"};
    static file own;
    for (size_t i = 0; i < RF_COUNT(files); i++) {
        char path[200];
        snprintf(path, sizeof path, "tests/golden/tensorflow/%s/%s", name, files[i]);
        if (access(path, F_OK)) continue;
        const bool changed = !strcmp(files[i], which);
        if (!changed) load(path, &own);
        if (!changed || f) put_file(folder, files[i], changed ? f->at : own.at, changed ? f->size : own.size);
    }
}

/* The name of the folder does not matter: its bert_config.json says what it is. */
static void name_the_class(const char *folder)
{
    static const char says[] = "{\"architectures\": [\"RoFormerForMaskedLM\"],";
    static file own;
    load("tests/golden/tensorflow/" CHAR "/bert_config.json", &own);
    memmove(own.at + sizeof says - 1, own.at + 1, own.size - 1);
    memcpy(own.at, says, sizeof says - 1);
    put_file(folder, "bert_config.json", own.at, own.size + sizeof says - 2);
}

static void damaged_values_are_named(void **state)
{
    (void)state;
    static file f;
    char *folder = strdup(t_folder());
    load("tests/golden/tensorflow/" CHAR "/bert_model.ckpt.data-00000-of-00001", &f);
    f.at[1000] ^= 1;
    copy(CHAR, folder, "bert_model.ckpt.data-00000-of-00001", &f);
    rf_weights *w = opened(folder);
    int damaged = 0;
    for (size_t i = 0; i < rf_weights_count(w); i++) {
        const rf_weight *t = rf_weights_at(w, i);
        float *x = t_floats((int64_t)t->count);
        rf_error why = {0};
        if (!rf__weights_read(w, t, x, 1, &why)) continue;
        t_failed(&why, RF_EDATA, "expected checksum");
        damaged++;
    }
    assert_int_equal(damaged, 1);
    rf_weights_close(w);

    /* Words that a model uses directly from the file. */
    rf__bundle b;
    rf_model *m = NULL;
    rf_error why = {0};
    load("tests/golden/tensorflow/" CHAR "/bert_model.ckpt.data-00000-of-00001", &f);
    if (rf__bundle_read(ctx, "tests/golden/tensorflow/" CHAR "/bert_model.ckpt.index", &b, &why))
        fail_msg("%s", why.text);
    for (size_t i = 0; i < b.count; i++)
        if (!strcmp(b.variable[i].name, "bert/embeddings/word_embeddings")) f.at[b.variable[i].offset] ^= 1;
    rf__bundle_clear(&b);
    copy(CHAR, folder, "bert_model.ckpt.data-00000-of-00001", &f);
    assert_int_equal(rf_model_open(ctx, folder, &m, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "architectures: expected one, or a published folder name");
    why = (rf_error){0};
    name_the_class(folder);
    assert_int_equal(rf_model_open(ctx, folder, &m, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "word_embeddings.weight\": expected checksum");
    t_free_all();
    free(folder);
}

/* Of every weight that a model has, whether it is transposed, joined to others or used in place. */
static void damage_of_any_weight_is_found(void **state)
{
    (void)state;
    static file f;
    static const char data[] = "bert_model.ckpt.data-00000-of-00001";
    char *folder = strdup(t_folder()), to[300];
    rf_convert_options o;
    rf_error why = {0};
    rf__bundle b;
    int damaged = 0;
    rf_convert_defaults(&o);
    snprintf(to, sizeof to, "%s/converted", folder);
    if (rf__bundle_read(ctx, "tests/golden/tensorflow/" CHAR "/bert_model.ckpt.index", &b, &why))
        fail_msg("%s", why.text);
    for (size_t i = 0; i < b.count; i++) {
        rf_model *m = NULL;
        const char *name = b.variable[i].name;
        if (strstr(name, "/adam_") || !strcmp(name, "global_step")) continue;       /* not read: the optimizer's */
        if (strstr(name, "pooler") || strstr(name, "seq_relationship")) continue;   /* ... those of another head */
        damaged++;
        load("tests/golden/tensorflow/" CHAR "/bert_model.ckpt.data-00000-of-00001", &f);
        f.at[b.variable[i].offset] ^= 1;
        copy(CHAR, folder, data, &f);
        name_the_class(folder);
        why = (rf_error){0};
        if (!rf_convert(ctx, folder, to, &o, &why)) fail_msg("%s: damage is not found", name);
        t_failed(&why, RF_EDATA, "expected checksum");
        why = (rf_error){0};
        assert_int_equal(rf_model_open(ctx, folder, &m, &why), RF_EDATA);
        t_failed(&why, RF_EDATA, "expected checksum");
    }
    assert_in_range(damaged, 30, 60);
    rf__bundle_clear(&b);
    t_free_all();
    free(folder);
}

static void missing_and_short_shards_are_named(void **state)
{
    (void)state;
    static file f;
    static const struct { const char *model, *which; size_t size; const char *message;
    } all[] = {
        {"projected", "bert_model.ckpt.data-00001-of-00002", 0,
         "expected the shard bert_model.ckpt.data-00001-of-00002"},
        {CHAR, "bert_model.ckpt.data-00000-of-00001", 5000, "got a file of 5000 bytes"},
    };
    for (size_t i = 0; i < RF_COUNT(all); i++) {
        char *folder = strdup(t_folder()), path[200];
        rf_weights *w = NULL;
        rf_error why = {0};
        snprintf(path, sizeof path, "tests/golden/tensorflow/%s/%s", all[i].model, all[i].which);
        load(path, &f);
        if (all[i].size) f.size = all[i].size;
        copy(all[i].model, folder, all[i].which, all[i].size ? &f : NULL);
        assert_int_equal(rf_weights_open(ctx, folder, &w, &why), RF_EDATA);
        t_failed(&why, RF_EDATA, all[i].message);
        free(folder);
    }
}

/* ---- files that are made by hand ---- */

static void byte(file *f, unsigned x) { f->at[f->size++] = (unsigned char)x; }

static void bytes(file *f, const void *x, size_t n)
{
    memcpy(f->at + f->size, x, n);
    f->size += n;
}

static void little(file *f, uint32_t x)
{
    for (int i = 0; i < 4; i++) byte(f, x >> (8 * i) & 255);
}

static void varint(file *f, uint64_t x)
{
    for (; x > 127; x >>= 7) byte(f, (unsigned)(x & 127) | 128);
    byte(f, (unsigned)x);
}

/* Ends the block that began at `begin`: one restart, type and checksum. */
static void end_block(file *f, size_t begin, uint32_t restart, unsigned type)
{
    little(f, restart);
    little(f, 1);
    byte(f, type);
    little(f, rf__masked_crc(rf__crc32c(0, f->at + begin, f->size - begin)));
}

typedef struct entry { size_t shared; const char *rest; const char *value; size_t size; } entry;

/* A table of one block with these entries. */
static void make(file *f, const entry *e, size_t n, uint32_t restart, unsigned type)
{
    f->size = 0;
    for (size_t i = 0; i < n; i++) {
        varint(f, e[i].shared);
        varint(f, strlen(e[i].rest));
        varint(f, e[i].size);
        bytes(f, e[i].rest, strlen(e[i].rest));
        bytes(f, e[i].value, e[i].size);
    }
    const size_t size = f->size + 8;
    end_block(f, 0, restart, type);
    const size_t empty = f->size;
    end_block(f, empty, 0, 0);
    const size_t index = f->size;
    file handle = {.size = 0};
    varint(&handle, 0);
    varint(&handle, size);
    varint(f, 0);
    varint(f, 1);
    varint(f, handle.size);
    byte(f, 'z');
    bytes(f, handle.at, handle.size);
    const size_t length = f->size - index + 8;
    end_block(f, index, 0, 0);
    const size_t footer = f->size;
    varint(f, empty);
    varint(f, 8);
    varint(f, index);
    varint(f, length);
    while (f->size < footer + 40) byte(f, 0);
    bytes(f, "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);
}

#define HEADER {0, "", "\x08\x01", 2}
#define WORDS "bert/embeddings/word_embeddings"
#define FLOATS "\x08\x01\x12\x08\x12\x02\x08\x02\x12\x02\x08\x03\x28\x18"        /* [2, 3] of F32 in 24 bytes */

static void what_tensorflow_does_not_write_is_refused(void **state)
{
    (void)state;
    static file f;
    static const struct { entry e[3]; uint32_t restart; unsigned type; rf_status code; const char *message;
    } all[] = {
        {{HEADER, {0, WORDS, FLOATS, 14}}, 0, 1, RF_EUNSUPPORTED,
         "expected one that is not compressed, got type 1 (Snappy)"},
        {{HEADER, {0, WORDS, FLOATS, 14}}, 9999, 0, RF_EDATA, "expected a restart within the block"},
        {{HEADER, {3, WORDS, FLOATS, 14}}, 0, 0, RF_EDATA,
         "expected a key that shares no more than the key before has"},
        {{{0, WORDS, FLOATS, 14}}, 0, 0, RF_EDATA, "expected a header before the variables, got none"},
        {{{0, "", "\x08\0", 2}}, 0, 0, RF_EDATA, "header: expected 1 to 1024 shards"},
        {{{0, "", "\x08\x01\x10\x01", 4}}, 0, 0, RF_EUNSUPPORTED, "byte order: expected little-endian"},
        {{HEADER, {0, WORDS, "\x08\x01\x18\x05", 4}}, 0, 0, RF_EDATA, "shard: expected a number below 1, got 5"},
        {{HEADER, {0, WORDS, "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12}}, 0, 0, RF_EDATA,
         "got a damaged message"},
        {{HEADER, {0, WORDS, "\x08\x01\x12\x7f", 4}}, 0, 0, RF_EDATA, "got a damaged message"},
        {{HEADER, {0, "bert\x01", FLOATS, 14}}, 0, 0, RF_EDATA, "expected a name in ASCII, got byte 0x01"},
        {{HEADER, {0, "bert/encoder/transformer/x", FLOATS, 14}}, 0, 0, RF_EUNSUPPORTED, "ALBERT"},
        {{HEADER, {0, "_CHECKPOINTABLE_OBJECT_GRAPH", "\x08\x07", 2}}, 0, 0, RF_EUNSUPPORTED, "TensorFlow 2's objects"},
        {{HEADER, {0, "generator/x", FLOATS, 14}}, 0, 0, RF_EUNSUPPORTED, "ELECTRA"},
        {{HEADER, {0, "other/x", FLOATS, 14}}, 0, 0, RF_EUNSUPPORTED,
         "expected the variable bert/embeddings/word_embeddings"},
    };
    for (size_t i = 0; i < RF_COUNT(all); i++) {
        rf__bundle b;
        rf__bundle_model m;
        rf_error why = {0};
        size_t n = 0;
        while (n < 3 && all[i].e[n].rest) n++;
        make(&f, all[i].e, n, all[i].restart, all[i].type);
        rf_status status = rf__bundle_parse(ctx, (rf__bytes){f.at, f.size}, "index", &b, &why);
        if (!status) status = rf__bundle_examine(&b, "index", &m, &why);
        rf__bundle_clear(&b);
        if (status != all[i].code) fail_msg("case %zu: %d, not %d: %s", i, status, all[i].code, why.text);
        t_failed(&why, all[i].code, all[i].message);
    }
}

/* Sizes that are not those of the shape, and a variable in slices. */
/* BERT's variables, with a pooler and without the task that trains it, are those of SimBERT, too. */
static void bert_and_simbert_are_told_apart(void **state)
{
    (void)state;
    static file f;
    static const entry e[] = {HEADER,
                              {0, "bert/embeddings/position_embeddings", FLOATS, 14},
                              {0, WORDS, FLOATS, 14},
                              {0, "bert/encoder/layer_0/attention/self/query/bias", FLOATS, 14},
                              {0, "bert/pooler/dense/kernel", FLOATS, 14},
                              {0, "cls/predictions/output_bias", FLOATS, 14},
                              {0, "cls/seq_relationship/output_weights", FLOATS, 14}};
    static const struct { size_t n; const char *name, *config; int known, sim; } all[] = {
        {7, "of_google", "{\"vocab_size\": 9}", 1, 0},
        {5, "of_transformers", "{\"vocab_size\": 9}", 1, 0},
        {6, "of_others", "{\"vocab_size\": 9}", 0, 0},
        {6, "of_somebody", "{\"vocab_size\": 9, \"architectures\": [\"BertForMaskedLM\"]}", 1, 0},
        {6, "of_a_reader", "{\"vocab_size\": 9, \"is_decoder\": true, \"pooler_activation\": \"linear\"}", 1, 1},
        {6, "chinese_simbert_L-1", "{\"vocab_size\": 9}", 1, 1},
    };
    for (size_t i = 0; i < RF_COUNT(all); i++) {
        char folder[4096];
        rf_config c;
        rf_error why = {0};
        snprintf(folder, sizeof folder, "%s/%s", t_folder(), all[i].name);
        assert_false(mkdir(folder, 0755));
        make(&f, e, all[i].n, 0, 0);
        put_file(folder, "bert_model.ckpt.index", f.at, f.size);
        put_file(folder, "bert_config.json", all[i].config, strlen(all[i].config));
        if (rf_config_read(ctx, folder, &c, &why) != (all[i].known ? RF_OK : RF_EDATA)) fail_msg("%s", why.text);
        if (!all[i].known) t_failed(&why, RF_EDATA, "the task of sentence pairs and SimBERT look the same");
        if (!all[i].known) continue;
        assert_string_equal(c.family, "bert");
        assert_int_equal(c.linear_pooler, all[i].sim);
        assert_int_equal(c.is_decoder, all[i].sim);
        const char *class = all[i].sim ? "BertLMHeadModel" : all[i].n == 5 ? "BertModel" : "BertForMaskedLM";
        assert_string_equal(c.architecture, class);
    }
}

static void places_are_checked(void **state)
{
    (void)state;
    static file f;
    static const unsigned char data[24];
    static const struct { entry e; const char *message;
    } all[] = {
        {{0, WORDS, FLOATS, 14}, NULL},
        {{0, WORDS, "\x08\x01\x12\x08\x12\x02\x08\x02\x12\x02\x08\x03\x28\x10", 14},
         "expected 6 elements of F32, got 16 bytes"},
        {{0, WORDS, "\x08\x01\x12\x08\x12\x02\x08\x02\x12\x02\x08\x03\x20\x01\x28\x18", 16},
         "expected 24 bytes at byte 1"},
        {{0, WORDS, "\x08\x01\x12\x08\x12\x02\x08\x02\x12\x02\x08\x03\x28\x18\x3a\x00", 16}, NULL},
    };
    for (size_t i = 0; i < RF_COUNT(all); i++) {
        rf__bundle b;
        rf__header h;
        rf_error why = {0};
        make(&f, (entry[]){HEADER, all[i].e}, 2, 0, 0);
        if (rf__bundle_parse(ctx, (rf__bytes){f.at, f.size}, "index", &b, &why)) fail_msg("%s", why.text);
        const rf_status status = rf__bundle_values(&b, "bert.", 0, (rf__bytes){data, sizeof data}, "data", &h, &why);
        assert_int_equal(status, all[i].message ? RF_EDATA : RF_OK);
        if (all[i].message) t_failed(&why, RF_EDATA, all[i].message);
        else assert_int_equal(h.tensor[0].readable, i == 0);
        rf__header_clear(ctx, &h);
        rf__bundle_clear(&b);
    }
}

/* ---- names ---- */

static void names_are_those_of_transformers(void **state)
{
    (void)state;
    static const struct { const char *name, *now; int rank; bool transpose;
    } all[] = {
        {"bert/embeddings/word_embeddings", "bert.embeddings.word_embeddings.weight", 2, false},
        {"bert/embeddings/LayerNorm/gamma", "bert.embeddings.LayerNorm.weight", 1, false},
        {"bert/encoder/embedding_hidden_mapping_in/kernel", "bert.embeddings_project.weight", 2, true},
        {"bert/encoder/layer_11/attention/self/query/kernel", "bert.encoder.layer.11.attention.self.query.weight", 2,
         true},
        {"bert/encoder/layer_0/output/LayerNorm/beta", "bert.encoder.layer.0.output.LayerNorm.bias", 1, false},
        {"bert/pooler/dense/bias", "bert.pooler.dense.bias", 1, false},
        {"cls/predictions/output_bias", "cls.predictions.bias", 1, false},
        {"cls/predictions/transform/dense/kernel", "cls.predictions.transform.dense.weight", 2, true},
        {"strange/kernel", "strange.kernel", 2, false},
        {"alone", "alone", 1, false},
    };
    static const char *const left[] = {"global_step", "bert/pooler/dense/bias/adam_m",
                                       "cls/seq_relationship/output_bias",
                                       "bert/x/kernel/AdamWeightDecayOptimizer", "bert/x/kernel/Adam_1"};
    for (size_t i = 0; i < RF_COUNT(all); i++) {
        const rf__variable v = {.name = all[i].name, .rank = all[i].rank};
        char now[128];
        bool transpose;
        rf__bundle_name(&v, "bert.", now, sizeof now, &transpose);
        assert_string_equal(now, all[i].now);
        assert_int_equal(transpose, all[i].transpose);
        assert_true(rf__bundle_is_tensor(&v));
    }
    for (size_t i = 0; i < RF_COUNT(left); i++) assert_false(rf__bundle_is_tensor(&(rf__variable){.name = left[i]}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_have_the_same_bits),
        cmocka_unit_test(folders_say_what_they_are),
        cmocka_unit_test(answers_are_the_same),
        cmocka_unit_test(every_byte_of_an_index_counts),
        cmocka_unit_test(damaged_values_are_named),
        cmocka_unit_test(damage_of_any_weight_is_found),
        cmocka_unit_test(missing_and_short_shards_are_named),
        cmocka_unit_test(what_tensorflow_does_not_write_is_refused),
        cmocka_unit_test(bert_and_simbert_are_told_apart),
        cmocka_unit_test(places_are_checked),
        cmocka_unit_test(names_are_those_of_transformers),
    };
    return cmocka_run_group_tests_name("store/tensorflow", tests, setup, teardown);
}
