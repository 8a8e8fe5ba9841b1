/* test_card.c — mirrors src/train/log/card.c: contents of model cards, escaping of foreign text, and which README.md is
 * replaced. */
#define _GNU_SOURCE
#include <math.h>
#include <unistd.h>

#include "t.h"
#include "text/unicode/unicode.h"
#include "tiny.h"
#include "train/log/card.h"

static const char *const names[] = {"yes", "<script>alert('x')</script>", "a|b\n# c", "[x](http://y) `z` *w* \\ &amp;",
                                    "r\xc3\xa9sum\xc3\xa9 \xf0\x9f\x98\x80", ("\xe2\x80\xae" "back"), "\xff\xfe"};

static rf__card card_of(const rf_ctx *ctx, const char *folder, rf_config *c, const json_t *options)
{
    rf_config_defaults(c);
    snprintf(c->architecture, sizeof c->architecture, "RoFormerForSequenceClassification");
    snprintf(c->finetuning_task, sizeof c->finetuning_task, "glue/mrpc");
    c->num_labels = RF_COUNT(names);
    c->label = names;
    return (rf__card){.ctx = ctx,
                      .folder = folder,
                      .tokenizer = "BertTokenizerFast",
                      .config = c,
                      .base = "/home/somebody/models/my_base/",
                      .options = options,
                      .steps = 345,
                      .epochs = 3,
                      .metrics = {3, {{"loss", 0.5}, {"f1", 0.875}, {"matthews_correlation", NAN}}}};
}

static json_t *options_of(const char *train, const char *dev)
{
    return json_pack("{s:f, s:i, s:s, s:i, s:b, s:{s:s, s:s, s:s, s:i, s:f}}", "learning_rate", 2e-5, "seed", 7,
                     "optim", "adamw", "save_steps", 500, "bf16", 1, "finetune", "task", "glue/mrpc", "train", train,
                     "dev", dev, "per_device_train_batch_size", 16, "r_drop", 4.0);
}

static char *read_card(const rf_ctx *ctx, const char *folder)
{
    char *text, *path = tiny_path(folder, "README.md");
    size_t size;
    if (rf__read_file(ctx, path, 1 << 20, &text, &size, NULL)) fail_msg("no %s", path);
    free(path);
    return text;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("no \"%s\" in\n%s", part, text);
}

static void lacks(const char *text, const char *part)
{
    if (strstr(text, part)) fail_msg("\"%s\" in\n%s", part, text);
}

static void says_what_the_hub_reads(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c;
    json_t *options = options_of("/secret/place/train.tsv", "/secret/place/dev.tsv");
    const char *folder = t_folder();
    rf__card card = card_of(ctx, folder, &c, options);
    json_t *defaults = json_pack("{s:i}", "save_steps", 500);
    card.defaults = defaults;
    assert_int_equal(rf__card_write(&card, NULL), RF_OK);
    char *text = read_card(ctx, folder);
    static const char *const parts[] = {
        "---\nlibrary_name: transformers\npipeline_tag: text-classification\ntags:\n- roformer\ndatasets:\n- "
        "glue\nmetrics:\n- f1\n- matthews_correlation\nmodel-index:\n",
        ("  - task:\n      type: text-classification\n    dataset:\n      name: \"dev.tsv\"\n      type: \"dev.tsv\"\n"
         "    metrics:\n    - type: loss\n      value: 0.500000\n"
         /* NaN is not a result */
         "    - type: f1\n      value: 0.875000\n---\n<!-- roformer wrote this card"),
        "Fine-tuned for glue/mrpc, starting from my&#95;base.\n",
        "On dev.tsv, after 345 updates:\n",
        "\n| `f1` | 0.8750 |\n",
        "\n| `matthews_correlation` | not defined |\n",
        "\n| training data | train.tsv |\n",
        "\n| `learning_rate` | 2e-5 |\n",
        "\n| `bf16` | true |\n",
        "\n| `r_drop` | 4.0 |\n",
        "\n| `per_device_train_batch_size` | 16 |\n",
        "roformer classify -m ",
        "RoFormerForSequenceClassification.from_pretrained(",
    };
    for (size_t i = 0; i < RF_COUNT(parts); i++) has(text, parts[i]);
    lacks(text, "secret");                                            /* names of files, not their paths */
    lacks(text, "somebody");
    lacks(text, "`save_steps`");                                           /* nobody chose it */
    assert_int_equal(rf__card_write(&card, NULL), RF_OK);             /* the same card, the same bytes */
    char *again = read_card(ctx, folder);
    assert_string_equal(text, again);
    rf__free(ctx, text);
    rf__free(ctx, again);
    json_decref(defaults);
    json_decref(options);
    rf_ctx_free(ctx);
}

/* In the body, letters with a meaning are entities; in the header they are quoted, one value per line. */
static void text_of_others_is_no_markup(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c;
    json_t *options = options_of("/x/\"quote\" <b>.tsv", "/x/a\nvalue: 1\\ | c: \xe2\x80\xa8 `d`.tsv");
    char *folder = tiny_path(t_folder(), "-rf \"$(x)\" <i>");
    assert_int_equal(mkdir(folder, 0777), 0);
    const rf__card card = card_of(ctx, folder, &c, options);
    assert_int_equal(rf__card_write(&card, NULL), RF_OK);
    char *text = read_card(ctx, folder), *body = strstr(text, "\n---\n");
    static const char *const parts[] = {
        "\n- name: \"-rf \\\"$(x)\\\" <i>\"\n",
        "\n      name: \"a\\u000Avalue: 1\\\\ | c: \\u2028 `d`.tsv\"\n",
        "&#60;script&#62;alert&#40;&#39;x&#39;&#41;&#60;/script&#62;",
        "a&#124;b?&#35; c",
        "&#91;x&#93;&#40;http&#58;//y&#41; &#96;z&#96; &#42;w&#42; &#92; &#38;amp&#59;",
        "r\xc3\xa9sum\xc3\xa9 \xf0\x9f\x98\x80",
        "?back",
        "\xef\xbf\xbd\xef\xbf\xbd.\n",
        "| training data | &#34;quote&#34; &#60;b&#62;.tsv |\n",
        "roformer classify -m model \"a text\"\n",
        "from_pretrained(\"model\")",
    };
    for (size_t i = 0; i < RF_COUNT(parts); i++) has(text, parts[i]);
    assert_non_null(body);
    for (const char *at = strchr(strstr(body, "-->"), '<'); at; at = strchr(at + 1, '<')) fail_msg("markup: %.40s", at);
    lacks(body, "\xe2\x80\xae");
    assert_int_equal(rf_utf8_check(text, strlen(text)), strlen(text));
    rf__free(ctx, text);
    free(folder);
    json_decref(options);
    rf_ctx_free(ctx);
}

static void what_transformers_has_not_is_not_promised(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c;
    const char *folder = t_folder();
    rf__card card = card_of(ctx, folder, &c, NULL);
    for (int i = 0; i < 4; i++) {
        rf_config_defaults(&c);
        if (i == 0) snprintf(c.position_embedding_type, sizeof c.position_embedding_type, "alibi");
        if (i == 1) snprintf(c.architecture, sizeof c.architecture, "RoFormerPooledForSequenceClassification");
        if (i == 2) c.rope_theta = 1e6;
        if (i == 3) c.is_decoder = 1;                                 /* transformers has it */
        assert_int_equal(rf__card_write(&card, NULL), RF_OK);
        char *text = read_card(ctx, folder);
        has(text, i < 3 ? "library_name: roformer\n" : "library_name: transformers\n");
        has(text,
            i < 3 ? "would compute other results with these weights" : "RoFormerForCausalLM.from_pretrained(");
        has(text, i == 1 ? "text-classification" : i == 3 ? "text-generation" : "fill-mask");
        rf__free(ctx, text);
    }
    rf_ctx_free(ctx);
}

static void somebody_elses_page_stays(void **state)
{
    (void)state;
    static const char own[] = "# My model\n\nMine.\n";
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c;
    const char *folder = t_folder();
    const rf__card card = card_of(ctx, folder, &c, NULL);
    t_write(folder, "README.md", own, sizeof own - 1);
    assert_int_equal(rf__card_write(&card, NULL), RF_OK);
    char *text = read_card(ctx, folder);
    assert_string_equal(text, own);
    rf__free(ctx, text);
    rf_error why = {0};
    rf__card nowhere = card;
    nowhere.folder = "/nowhere/at/all";
    assert_int_equal(rf__card_write(&nowhere, &why), RF_EIO);
    t_failed(&why, RF_EIO, "README.md");
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_the_hub_reads),
        cmocka_unit_test(text_of_others_is_no_markup),
        cmocka_unit_test(what_transformers_has_not_is_not_promised),
        cmocka_unit_test(somebody_elses_page_stays),
    };
    return cmocka_run_group_tests_name("train/card", tests, NULL, NULL);
}
