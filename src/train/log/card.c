/* card.c — writes a model card: a header in YAML, results, training, use.
 *
 * Names of files, folders and labels are untrusted. In YAML they are in double quotes with JSON's escapes; in Markdown
 * every character that could have a meaning is a numeric entity. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "roformer/inspect/files.h"
#include "base/files/path.h"
#include "base/os/os.h"
#include "store/family.h"
#include "store/store.h"
#include "text/unicode/unicode.h"
#include "train/log/card.h"

static const char mark[] = "<!-- roformer wrote this card, and writes it again at the end of every run in this folder; "
                           "without this line it would not. -->";
enum { FILES = 8, LABELS = 20, MAX_README = 16 << 20 };

/* ---- untrusted text ---- */

/* The code point at `at`, its size in bytes in *n; bytes that are not UTF-8 give U+FFFD. */
static unsigned next(const char *at, size_t size, size_t *n)
{
    const unsigned char *s = (const unsigned char *)at;
    const size_t expected = s[0] < 0x80 ? 1 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    *n = 1;
    if (expected > size || rf_utf8_check(at, expected) != expected) return 0xFFFD;
    *n = 0;
    return rf__utf8_get(s, n);
}

/* Invisible characters: control characters, and those that change the direction of writing. */
static bool hidden(unsigned point)
{
    return point < 0x20 || (point >= 0x7F && point < 0xA0) || (point >= 0x200B && point <= 0x200F) ||
           (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069) || point == 0xFEFF ||
           point == 0xFFFE || point == 0xFFFF;
}

static void each(FILE *f, const char *text, void (*put)(FILE *f, unsigned point, const char *at, size_t n))
{
    size_t left = strlen(text), n;
    for (; left; text += n, left -= n) {
        const unsigned point = next(text, left, &n);
        if (point == 0xFFFD) put(f, point, "\xef\xbf\xbd", 3);
        else put(f, point, text, n);
    }
}

static void put_yaml(FILE *f, unsigned point, const char *at, size_t n)
{
    if (point == '"' || point == '\\') fprintf(f, "\\%c", (int)point);
    else if (hidden(point)) fprintf(f, "\\u%04X", point);
    else fwrite(at, 1, n, f);
}

static void put_plain(FILE *f, unsigned point, const char *at, size_t n)
{
    const bool letter = (point >= '0' && point <= '9') || (point >= 'A' && point <= 'Z') ||
                        (point >= 'a' && point <= 'z') || point == '.' || point == '-';
    if (hidden(point)) fputc('?', f);
    else if (letter || point == ' ' || point == ',' || point == '/' || point >= 0x80) fwrite(at, 1, n, f);
    else fprintf(f, "&#%u;", point);
}

static void yaml(FILE *f, const char *text)
{
    fputc('"', f);
    each(f, text, put_yaml);
    fputc('"', f);
}

static void plain(FILE *f, const char *text) { each(f, text, put_plain); }

/* The last part of a path, as a copy. */
typedef struct part { char text[256]; } part;
static part last_part(const char *path)
{
    part p;
    rf__last_part(path, p.text, sizeof p.text);
    return p;
}

/* A name that is a single word in a shell and in Python; any other name becomes "model". */
static const char *word(const part *name)
{
    static const char fine[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const size_t n = strlen(name->text);
    return n && strspn(name->text, fine) == n && *name->text != '-' && *name->text != '.' ? name->text : "model";
}

/* ---- description of the config ---- */

typedef struct kind { const char *pipeline, *sentence; } kind;

static kind kind_of(const rf_config *c)
{
#define RFH(name, pipeline, card, kind, use) [RF_HEAD_##name] = {pipeline, card},
    static const kind kinds[] = {
#include "store/config/heads.def"
    };
#undef RFH
    static const kind causal = {"text-generation", "a causal language model"},
                      sim = {"sentence-similarity", "a model that embeds texts and generates similar ones"};
    const rf_head head = rf_config_head(c);
    return head != RF_HEAD_MLM || !c->is_decoder ? kinds[head] : c->linear_pooler ? sim : causal;
}

/* The class of the model's family for its head; "": there is none. */
typedef struct class_name { char text[sizeof ((rf_config *)0)->architecture]; } class_name;
static class_name class_of(const rf_config *c)
{
    rf_config named = *c;
    class_name name = {""};
    rf_config_set_head(&named, rf_config_head(c));
    const rf_class_row *is = rf__config_class(&named);
    if (is && !is->foreign) memcpy(name.text, named.architecture, sizeof name.text);
    return name;
}

/* Whether transformers has the class, and config.json has only keys that the class knows. */
static bool elsewhere(const rf_config *c)
{
    rf_config usual;
    const rf_family_config *f = rf__config_family(c);
    if (!f || f->elsewhere || c->linear_pooler || rf_config_defaults_of(c->family, &usual, NULL)) return false;
    usual.is_decoder = c->is_decoder;
    return *class_of(c).text && rf__config_same_positions(c, &usual);
}

/* Whether sentence-transformers can load it: an encoder of transformers, and the files of rf__sentence_write. */
static bool sentences(const rf__card *c)
{
    rf_config encoder = *c->config;
    if (rf_config_head(c->config) != RF_HEAD_EMBED || !c->tokenizer) return false;
    rf_config_set_head(&encoder, RF_HEAD_MLM);
    return elsewhere(&encoder);
}

static const char *title_of(const rf_config *c)
{
    const rf_family_config *f = rf__config_family(c);
    return f ? f->title : "model";
}

static const json_t *member(const rf__card *c, const char *name)
{
    const json_t *own = json_object_get(json_object_get(c->options, "finetune"), name);
    return own ? own : json_object_get(c->options, name);
}

/* The files of this member, which is a path or a list of paths. */
static size_t files(const rf__card *c, const char *name, part file[FILES])
{
    const json_t *v = member(c, name);
    const size_t n = json_is_string(v) ? 1 : json_array_size(v);
    for (size_t i = 0; i < n && i < FILES; i++) {
        const char *path = json_string_value(json_is_string(v) ? v : json_array_get(v, i));
        file[i] = last_part(path ? path : "");
        if (!strcmp(file[i].text, "-")) snprintf(file[i].text, sizeof file[i].text, "standard input");
    }
    return n;
}

static void list_files(FILE *f, const rf__card *c, const char *name, const char *title)
{
    part file[FILES];
    const size_t n = files(c, name, file);
    for (size_t i = 0; i < n && i < FILES; i++) {
        fprintf(f, "%s", i ? ", " : title);
        plain(f, file[i].text);
    }
    if (n > FILES) fprintf(f, " and %zu more", n - FILES);
    if (n) fprintf(f, " |\n");
}

/* ---- the header ---- */

/* The list of results for the Hugging Face Hub. */
static void index_of_results(FILE *f, const rf__card *c, const char *name)
{
    part file[FILES];
    const char *of = files(c, "dev", file) ? file[0].text : "held-out text";
    int n = 0;
    for (int i = 0; i < c->metrics.n; i++) n += isfinite(c->metrics.metric[i].value) != 0;
    if (!n) return;
    fprintf(f, "model-index:\n- name: ");
    yaml(f, name);
    fprintf(f, "\n  results:\n  - task:\n      type: %s\n    dataset:\n      name: ", kind_of(c->config).pipeline);
    yaml(f, of);
    fprintf(f, "\n      type: ");
    yaml(f, of);
    fprintf(f, "\n    metrics:\n");
    for (int i = 0; i < c->metrics.n; i++)
        if (isfinite(c->metrics.metric[i].value))
            fprintf(f, "    - type: %s\n      value: %.6f\n", c->metrics.metric[i].name, c->metrics.metric[i].value);
}

static void header(FILE *f, const rf__card *c, const char *name)
{
    const char *task = c->config->finetuning_task;
    const char *library = sentences(c)           ? "sentence-transformers"
                          : elsewhere(c->config) ? "transformers"
                                                 : "roformer";
    fprintf(f, "---\nlibrary_name: %s\npipeline_tag: %s\ntags:\n- roformer\n", library,
            kind_of(c->config).pipeline);
    if (!strncmp(task, "glue/", 5)) fprintf(f, "datasets:\n- glue\n");
    for (int i = 0, n = 0; i < c->metrics.n; i++)
        if (strcmp(c->metrics.metric[i].name, "loss"))
            fprintf(f, "%s- %s\n", n++ ? "" : "metrics:\n", c->metrics.metric[i].name);
    index_of_results(f, c, name);
    fprintf(f, "---\n%s\n\n", mark);
}

/* ---- the body ---- */

static void first_words(FILE *f, const rf__card *c, const char *name)
{
    const rf_config *g = c->config;
    char decoder[32] = "";
    if (g->is_encoder_decoder) snprintf(decoder, sizeof decoder, " + %lld", (long long)g->decoder_layers);
    fprintf(f, "# ");
    plain(f, name);
    fprintf(f,
            "\n\n%c%s: a %s of %lld%s layers, width %lld, %lld heads, a vocabulary of %lld pieces, "
            "%.2f million parameters; positions: ",
            kind_of(g).sentence[0] - 'a' + 'A', kind_of(g).sentence + 1, title_of(g), (long long)g->num_hidden_layers,
            decoder, (long long)g->hidden_size, (long long)g->num_attention_heads, (long long)g->vocab_size,
            (double)rf_config_parameters(g) * 1e-6);
    plain(f, g->position_embedding_type);
    fprintf(f, ".\n");
    if (*g->finetuning_task) {
        fprintf(f, "Fine-tuned for ");
        plain(f, g->finetuning_task);
        if (c->base) {
            fprintf(f, ", starting from ");
            plain(f, last_part(c->base).text);
        }
        fprintf(f, ".\n");
    }
    const char *const *label = g->task_label ? g->task_label : g->label;
    const int64_t labels = g->task_label ? g->num_task_labels : g->num_labels;
    for (int64_t k = 0; label && k < labels && k < LABELS; k++) {
        fprintf(f, "%s", k ? ", " : "Labels: ");
        plain(f, label[k]);
    }
    if (label) fprintf(f, "%s.\n", labels > LABELS ? ", ..." : "");
}

static void results(FILE *f, const rf__card *c)
{
    part file[FILES];
    if (!c->metrics.n) return;
    fprintf(f, "\n## Results\n\nOn ");
    if (files(c, "dev", file)) plain(f, file[0].text);
    else
        fprintf(f, member(c, "k_fold") && json_integer_value(member(c, "k_fold")) > 1
                       ? "the held-out part of the training file"
                       : "held-out text");
    fprintf(f, ", after %lld update%s:\n\n| | |\n|---|---:|\n", (long long)c->steps, c->steps == 1 ? "" : "s");
    for (int i = 0; i < c->metrics.n; i++) {
        fprintf(f, "| `%s` | ", c->metrics.metric[i].name);
        if (isfinite(c->metrics.metric[i].value)) fprintf(f, "%.4f |\n", c->metrics.metric[i].value);
        else fprintf(f, "not defined |\n");
    }
}

/* In the form of Table 4 of the paper. */
static void stages(FILE *f, const rf__card *c)
{
    size_t i;
    json_t *row;
    if (!json_array_size(c->stages)) return;
    fprintf(f, "\n## Stages\n\nLoss and accuracy on held-out text, truncated to the stage's length, at the end of each "
               "stage.\n\n"
               "| stage | length | batch | steps | loss | accuracy |\n|---:|---:|---:|---:|---:|---:|\n");
    json_array_foreach((json_t *)(uintptr_t)c->stages, i, row) {
        const json_t *loss = json_object_get(row, "loss"), *accuracy = json_object_get(row, "accuracy");
        fprintf(f, "| %zu |", i + 1);
        for (int k = 0; k < 3; k++)
            fprintf(f, " %lld |", (long long)json_integer_value(
                                      json_object_get(row, (const char *[]){"length", "batch", "steps"}[k])));
        if (loss && accuracy)
            fprintf(f, " %.2f | %.1f %% |\n", json_number_value(loss), 100 * json_number_value(accuracy));
        else fprintf(f, " | |\n");
    }
}

/* Options that every reader looks for, and those that differ from their defaults. */
static bool is_listed(const char *name, const json_t *value, const json_t *usual)
{
    static const char *const always[] = {
        "learning_rate", "per_device_train_batch_size", "tokens_per_batch", "max_length", "num_train_epochs",
        "optim",         "lr_scheduler_type",           "weight_decay",     "seed",       "bf16"};
    for (size_t i = 0; i < RF_COUNT(always); i++)
        if (!strcmp(name, always[i])) return true;
    return !usual || !json_equal(value, usual);
}

static void list_options(FILE *f, const json_t *options, const json_t *usual, bool tokens)
{
    static const char *const elsewhere_said[] = {"train", "dev", "task", "base_model"};
    static const char *const of_tokens[] = {"tokens_per_batch", "metric_for_best_model"};    /* a task has its own */
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)options, name, value) {
        bool said = json_is_array(value) || json_is_object(value);
        for (size_t i = 0; i < RF_COUNT(of_tokens) && !tokens; i++) said = said || !strcmp(name, of_tokens[i]);
        for (size_t i = 0; i < RF_COUNT(elsewhere_said); i++) said = said || !strcmp(name, elsewhere_said[i]);
        if (said || !is_listed(name, value, json_object_get(usual, name))) continue;
        char *number = json_is_string(value) ? NULL : rf__json_dump(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        fprintf(f, "| `%s` | ", name);
        plain(f, json_is_string(value) ? json_string_value(value) : number ? number : "");
        fprintf(f, " |\n");
        free(number);
    }
}

static void training(FILE *f, const rf__card *c)
{
    const json_t *own = json_object_get(c->options, "finetune");
    fprintf(f, "\n## Training\n\nTrained with roformer %s: %lld update%s, %.2f epochs.\n\n| | |\n|---|---|\n",
            rf_version(), (long long)c->steps, c->steps == 1 ? "" : "s", c->epochs);
    list_files(f, c, "train", "| training data | ");
    list_files(f, c, "text", "| text | ");
    list_files(f, c, "source", "| source texts | ");
    list_files(f, c, "target", "| target texts | ");
    list_files(f, c, "validation_source", "| held-out source texts | ");
    list_files(f, c, "validation_target", "| held-out target texts | ");
    list_files(f, c, "data", "| token caches | ");
    list_files(f, c, "validation_text", "| held-out text | ");
    list_files(f, c, "dev", "| evaluated on | ");
    list_options(f, c->options, c->defaults, !own);
    list_options(f, own, json_object_get(c->defaults, "finetune"), false);
}

static void use(FILE *f, const rf__card *c, const char *name)
{
#define RFH(name, pipeline, card, kind, use) [RF_HEAD_##name] = use,
    static const char *const command[] = {
#include "store/config/heads.def"
    };
#undef RFH
    fprintf(f, "\n## Use\n\n```sh\nroformer ");
    if (c->config->linear_pooler) fprintf(f, "embed -m %s < FILE\nroformer ", name);
    fprintf(f,
            c->config->is_decoder && rf_config_head(c->config) == RF_HEAD_MLM ? "generate -m %s \"a beginning\""
                                                                              : command[rf_config_head(c->config)],
            name);
    fprintf(f, "\n```\n");
    const rf_family_config *family = rf__config_family(c->config);
    const class_name class = class_of(c->config);
    if (sentences(c))
        fprintf(f,
                "\n```python\nfrom sentence_transformers import SentenceTransformer\n"
                "vectors = SentenceTransformer(\"%s\").encode([\"a text\", \"another one\"])\n```\n", name);
    else if (elsewhere(c->config) && c->tokenizer)
        fprintf(f,
                "\n```python\nfrom transformers import %s, %s\n"
                "tokenizer = %s.from_pretrained(\"%s\")\n"
                "model = %s.from_pretrained(\"%s\")\n```\n",
                c->tokenizer, class.text, c->tokenizer, name, class.text, name);
    else if (elsewhere(c->config))
        fprintf(f,
                "\n```python\nfrom transformers import %s\nmodel = %s.from_pretrained(\"%s\")\n```\n\n"
                "transformers has no class for this tokenizer: encode texts with roformer.\n",
                class.text, class.text, name);
    else if (family && family->elsewhere)
        fprintf(f, "\n%s\n", family->elsewhere);
    else
        fprintf(f,
                "\nDo not load this folder in transformers: its %s classes lack the head, or keys of config.json, and "
                "would compute other results with these weights.\n",
                title_of(c->config));
}

/* ---- the file ---- */

static bool is_ours(const rf_ctx *ctx, const char *path)
{
    char *text;
    size_t size;
    if (!rf__os_exists(path)) return true;
    if (rf__read_file(ctx, path, MAX_README, &text, &size, NULL)) return false;
    const bool ours = strstr(text, mark) != NULL;
    rf__free(ctx, text);
    return ours;
}

rf_status rf__card_write(const rf__card *c, rf_error *why)
{
    rf__os_text made;
    char path[4096], *whole = rf__os_whole_path(c->folder);
    const part name = last_part(whole ? whole : c->folder);
    free(whole);
    rf_status status = rf__path(path, sizeof path, c->folder, RF_FILE_CARD, why);
    if (status || !is_ours(c->ctx, path)) return status;
    if (!rf__os_text_open(&made)) return rf_fail(why, RF_ENOMEM, "out of memory: a model card");
    FILE *f = made.to;
    header(f, c, name.text);
    first_words(f, c, name.text);
    results(f, c);
    stages(f, c);
    training(f, c);
    use(f, c, word(&name));
    status = rf__os_text_close(&made) ? rf__replace_file(c->ctx, path, made.text, made.size, why)
                                      : rf_fail(why, RF_ENOMEM, "out of memory: a model card");
    free(made.text);
    return status;
}
