/* test_prepare.c — mirrors src/train/prepare.c: caches that are created once, mixed, resumed, and rejected if they do
 * not match. */
#define _GNU_SOURCE
#include "base/os/os.h"
#include "roformer/checkpoint.h"
#include "tiny.h"

typedef struct fixture {
    rf_ctx *ctx;
    char *model, *corpus[2], *cache[2];
    rf_error why;
} fixture;

static void prepare(fixture *f, int i, rf_prepared *p)
{
    rf_train_options o;
    const char *text[] = {f->corpus[i]};
    rf_train_defaults(&o);
    o.text = text;
    o.texts = 1;
    o.model = f->model;
    o.validation_split = 0.05;
    o.max_length = 32;
    o.tokens_per_batch = 256;
    if (rf_prepare(f->ctx, &o, f->cache[i], NULL, NULL, p, &f->why)) fail_msg("%s", f->why.text);
}

static fixture begin(void)
{
    fixture f = {.ctx = t_ctx(1, NULL), .model = tiny_model()};
    tiny_write_corpus(f.model, "other.txt", 100, 77);
    f.corpus[0] = tiny_path(f.model, "corpus.txt");
    f.corpus[1] = tiny_path(f.model, "other.txt");
    f.cache[0] = tiny_path(f.model, "a.cache");
    f.cache[1] = tiny_path(f.model, "b.cache");
    return f;
}

static void end(fixture *f)
{
    for (int i = 0; i < 2; i++) {
        free(f->corpus[i]);
        free(f->cache[i]);
    }
    free(f->model);
    rf_ctx_free(f->ctx);
}

static rf_status train(fixture *f, const rf_train_options *o)
{
    f->why = (rf_error){0};
    return rf_pretrain(f->ctx, o, NULL, NULL, &f->why);
}

static void must(fixture *f, const rf_train_options *o, rf_status expected)
{
    const rf_status got = train(f, o);
    if (got != expected) fail_msg("%s: %s", rf_status_text(got), f->why.text);
}

static void counts_and_packing(void **state)
{
    (void)state;
    fixture f = begin();
    rf_prepared p, again;
    rf__os_state before, after;
    prepare(&f, 0, &p);
    assert_true(p.documents == 300 && p.held > 3 && p.held < 40 && p.pieces > 260);
    assert_true(p.tokens > 5000 && p.piece_tokens < p.tokens + 2 * p.pieces);
    assert_true(p.packing > 0.98 && p.packing <= 1);
    assert_int_equal(rf__os_look(f.cache[0], &before), 0);
    assert_int_equal(p.bytes, before.size);
    prepare(&f, 0, &again);                                          /* it is there: not made again */
    assert_int_equal(rf__os_look(f.cache[0], &after), 0);
    assert_true(rf__os_same(&before, &after));
    assert_memory_equal(&p, &again, sizeof p);
    tiny_write_corpus(f.model, "corpus.txt", 310, 1);
    prepare(&f, 0, &again);
    assert_int_equal(again.documents, 310);
    end(&f);
}

/* Replaces one word in the middle of the text by another of the same length. */
static void text_edited_in_place(void **state)
{
    (void)state;
    fixture f = begin();
    rf_prepared p;
    rf__os_state before, after;
    char *text;
    size_t size;
    prepare(&f, 0, &p);
    assert_int_equal(rf__os_look(f.cache[0], &before), 0);
    assert_int_equal(rf__read_file(f.ctx, f.corpus[0], 1 << 24, &text, &size, NULL), RF_OK);
    char *word = strstr(text + size / 2, "the ");
    assert_non_null(word);
    memcpy(word, "red ", 4);
    t_write(f.model, "corpus.txt", text, size);
    rf__free(f.ctx, text);
    prepare(&f, 0, &p);
    assert_int_equal(rf__os_look(f.cache[0], &after), 0);
    assert_false(rf__os_same(&before, &after));
    end(&f);
}

/* A cache is equivalent to its text: the same weights. */
static void a_cache_is_its_text(void **state)
{
    (void)state;
    fixture f = begin();
    rf_prepared p;
    const char *text[] = {f.corpus[0]}, *data[] = {f.cache[0]};
    char *one = strdup(t_folder()), *two = strdup(t_folder());
    rf_train_options o = tiny_options(f.model, text, one);
    prepare(&f, 0, &p);
    must(&f, &o, RF_OK);
    o.texts = 0;
    o.data = data;
    o.datas = 1;
    o.output_dir = two;
    must(&f, &o, RF_OK);
    assert_false(tiny_has(two, "tokens.cache"));
    assert_int_equal(tiny_crc(one, "model.safetensors"), tiny_crc(two, "model.safetensors"));
    free(one);
    free(two);
    end(&f);
}

static void a_mixture_resumes(void **state)
{
    (void)state;
    fixture f = begin();
    rf_prepared p;
    const char *data[] = {f.cache[0], f.cache[1]};
    const double weight[] = {0.3, 0.7};
    char *out[3];
    rf_train_options o = tiny_options(f.model, NULL, NULL);
    prepare(&f, 0, &p);
    prepare(&f, 1, &p);
    o.texts = 0;
    o.data = data;
    o.datas = 2;
    o.data_weight = weight;
    for (int i = 0; i < 3; i++) {
        out[i] = strdup(t_folder());
        o.output_dir = out[i];
        o.data_weight = i == 2 ? NULL : weight;                      /* without weights: one corpus of both */
        o.stop_after = i == 1 ? 7 : 0;
        must(&f, &o, i == 1 ? RF_ESTOPPED : RF_OK);
    }
    rf_train_options again;
    rf_train_defaults(&again);
    again.output_dir = out[1];
    again.resume_from_checkpoint = "latest";
    must(&f, &again, RF_OK);                                         /* caches and weights come from the checkpoint */
    assert_int_equal(tiny_crc(out[0], "model.safetensors"), tiny_crc(out[1], "model.safetensors"));
    assert_int_not_equal(tiny_crc(out[0], "model.safetensors"), tiny_crc(out[2], "model.safetensors"));
    again.data = data;
    again.datas = 1;
    must(&f, &again, RF_EDATA);
    t_failed(&f.why, RF_EDATA, "got others; allow_data_change");
    for (int i = 0; i < 3; i++) free(out[i]);
    end(&f);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    fixture f = begin();
    rf_prepared p;
    const char *data[] = {f.cache[0], f.cache[1]}, *text[] = {f.corpus[0]};
    double weight[] = {1, 0};
    char *out = strdup(t_folder()), byte;
    rf_train_options o = tiny_options(f.model, text, out);
    prepare(&f, 0, &p);
    o.data = data;
    o.datas = 1;
    must(&f, &o, RF_EARG);
    t_failed(&f.why, RF_EARG, "data, text: expected one of them, got both");
    o.texts = 0;
    o.datas = 2;
    must(&f, &o, RF_EIO);
    t_failed(&f.why, RF_EIO, "b.cache");
    o.data_weight = weight;
    must(&f, &o, RF_EARG);
    t_failed(&f.why, RF_EARG, "data_weight: expected 1e-9 to 1e9, got 0");
    o.data_weight = NULL;
    t_write(f.model, "b.cache", "RFTOKENS and no more", 20);
    must(&f, &o, RF_EDATA);
    t_failed(&f.why, RF_EDATA, "b.cache: not a token cache; create it again");
    o.datas = 1;
    FILE *g = fopen(f.cache[0], "r+b");
    fseek(g, 2000, SEEK_SET);
    assert_int_equal(fread(&byte, 1, 1, g), 1);
    byte = (char)(byte ^ 1);
    fseek(g, 2000, SEEK_SET);
    fwrite(&byte, 1, 1, g);
    fclose(g);
    must(&f, &o, RF_EDATA);
    t_failed(&f.why, RF_EDATA, "a.cache: damaged");
    prepare(&f, 0, &p);
    char *vocab = tiny_path(f.model, "vocab.txt");
    g = fopen(vocab, "a");
    fputs("extra\n", g);
    fclose(g);
    must(&f, &o, RF_EDATA);
    t_failed(&f.why, RF_EDATA, "a.cache: created with another tokenizer than the model's");
    o.texts = 1;
    o.datas = 0;
    f.why = (rf_error){0};
    rf_prepare(f.ctx, &o, "/nowhere/at/all.cache", NULL, NULL, &p, &f.why);
    t_failed(&f.why, RF_EIO, "/nowhere/at: cannot write there");
    free(vocab);
    free(out);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_packing),
        cmocka_unit_test(text_edited_in_place),
        cmocka_unit_test(a_cache_is_its_text),
        cmocka_unit_test(a_mixture_resumes),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests_name("train/prepare", tests, NULL, NULL);
}
