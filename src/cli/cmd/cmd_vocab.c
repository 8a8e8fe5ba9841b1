/* cmd_vocab.c — roformer vocab: creates a tokenizer in a folder, learned from text or of a type that learns nothing. */
#include <errno.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/shell/commands.h"
#include "cli/options/train_options.h"
#include "roformer/checkpoint.h"
#include "roformer/inspect/folder.h"

struct args {
    cli_list text;
    const char *output, *type, *base, *dictionary;
    int64_t size, alphabet, least, max_words;
    double coverage;
    int cased, rules, overwrite, byte_fallback, normalization, lang;
    rf_train_options t;         /* how the text is read */
};

typedef struct job {
    const struct args *a;
    cli_io *io;
    const char *type;
    cli_progress bar;
    rf_tokenizer_options options;
    rf_reader *reader;
    rf_tokenizer_trainer *trainer;
    double bytes;
    int64_t documents;
    bool made;                  /* this command created the folder, and removes it after an error                     */
} job;

/* A running training would replace this tokenizer by its own. */
static rf_status check_idle(const job *j)
{
    if (!rf_run_alive(j->a->output)) return RF_OK;
    return rf_fail(&j->io->why, RF_EBUSY,
                   "%.200s: expected a folder that no run uses, got that of a training run, which writes to it at its "
                   "end; choose another folder, or wait",
                   j->a->output);
}

/* The folder is checked before anything is read, and created when there is something to write. */
static rf_status prepare_folder(job *j)
{
    const struct args *a = j->a;
    rf_error *why = &j->io->why;
    char path[4096];
    rf__os_state st;
    j->made = !rf__os_make_folder(a->output);
    if (!j->made && errno != EEXIST)
        return rf_fail(why, RF_EIO, "%.200s: cannot create the folder: %s", a->output, rf__os_reason(errno));
    if (!rf__os_look(a->output, &st) && st.kind != RF__OS_FOLDER)
        return rf_fail(why, RF_EIO, "%.200s: expected a directory, got a file", a->output);
    if (!rf__os_writable(a->output))
        return rf_fail(why, RF_EIO, "%.200s: cannot write: %s", a->output, rf__os_reason(errno));
    if (j->made && rf__os_remove_folder(a->output))
        return rf_fail(why, RF_EIO, "%.200s: %s", a->output, rf__os_reason(errno));
    if (j->made) return RF_OK;
    if (!rf_weights_path(a->output, path, sizeof path, NULL))
        return rf_fail(why, RF_EIO,
                       "%.200s: expected a folder without weights, got one with weights, which need the tokens that "
                       "they were trained with; choose another folder", a->output);
    if (check_idle(j)) return why->code;
    const char *old = a->overwrite ? NULL : rf_tokenizer_found(j->io->ctx, a->output);
    if (old)
        return rf_fail(why, RF_EIO, "%.200s/%s: exists, and models trained with it need it; --overwrite replaces it",
                       a->output, old);
    return RF_OK;
}

static rf_status feed_all(job *j)
{
    rf_error *why = &j->io->why;
    char text[128], bytes[16];
    for (;;) {
        rf_document d;
        rf_status status = rf_reader_next(j->reader, &d, why);
        if (status || !d.text) return status;
        status = rf_tokenizer_trainer_feed(j->trainer, d.text, d.size, why);
        if (status) return status;
        j->bytes += (double)d.size;
        j->documents++;
        cli_count(j->bytes, bytes, sizeof bytes);
        snprintf(text, sizeof text, "%sB in %lld documents, %.1f MB/s", bytes, (long long)j->documents,
                 j->bytes / 1e6 / (cli_progress_seconds(&j->bar) + 1e-9));
        cli_progress_show(&j->bar, "reading ", rf_reader_share(j->reader), text);
    }
}

static void learning(void *user, int32_t done, int32_t size)
{
    job *j = user;
    char text[64];
    snprintf(text, sizeof text, "%d of %d tokens", (int)done, (int)size);
    cli_progress_show(&j->bar, "learning", size ? (double)done / size : 1, text);
}

/* The folder may contain only its settings: rf_tokenizer_found searches for the main file. */
static rf_status check_new(const job *j, const rf_tokenizer *t)
{
    char path[4096];
    for (const char *const *file = rf_tokenizer_files(t); !j->a->overwrite && *file; file++) {
        const int n = snprintf(path, sizeof path, "%s/%s", j->a->output, *file);
        if (n > 0 && (size_t)n < sizeof path && rf__os_exists(path))
            return rf_fail(&j->io->why, RF_EIO,
                           "%.200s/%s: exists, and belongs to another tokenizer; --overwrite replaces it", j->a->output,
                           *file);
    }
    return RF_OK;
}

static rf_status save(job *j, const rf_tokenizer *t)
{
    if (check_new(j, t)) return j->io->why.code;
    if (check_idle(j)) return j->io->why.code;
    if (j->made && rf__os_make_folder(j->a->output) && errno != EEXIST)
        return rf_fail(&j->io->why, RF_EIO, "%.200s: cannot create the folder: %s", j->a->output, rf__os_reason(errno));
    const char *old = rf_tokenizer_displaces(t, j->a->output);
    if (old) cli_note(j->io, "%s/%s is renamed to %s.replaced", j->a->output, old, old);
    return rf_tokenizer_save(t, j->a->output, &j->io->why);
}

/* Why the size of the vocabulary differs from the requested one, if options can change it. */
static void explain_size(const job *j, int64_t size)
{
    const int uses = rf_tokenizer_type_uses(j->type);
    if (size < j->a->size && uses & RF_TRAIN_SUBWORDS)
        cli_note(j->io, "fewer than the %lld asked for: the text has no more sub-words", (long long)j->a->size);
    if (!(uses & RF_TRAIN_ALPHABET)) return;
    if (size < j->a->size)
        cli_note(j->io, "fewer than the %lld asked for: the text has no more %s that occur %lld times",
                 (long long)j->a->size, uses & RF_TRAIN_BASE ? "words" : "pairs",
                 (long long)(j->a->least ? j->a->least : 2));
    if (size > j->a->size)
        cli_note(j->io,
                 "more than the %lld asked for: every character of the text is a token; --alphabet N keeps the N "
                 "most frequent",
                 (long long)j->a->size);
}

static rf_status learn(job *j)
{
    rf_error *why = &j->io->why;
    rf_tokenizer *t = NULL;
    if (!j->documents) return rf_fail(why, RF_EDATA, "%.200s: expected text, got none", j->a->text.item[0]);
    rf_status status = rf_tokenizer_trainer_finish(j->trainer, &t, why);
    if (!status) status = save(j, t);
    cli_progress_clear(&j->bar);
    if (!status) {
        char size[16];
        cli_count(j->bytes, size, sizeof size);
        cli_note(j->io, "%s: %d tokens learned from %sB of text in %.1f s", j->a->output, (int)rf_tokenizer_size(t),
                 size, cli_progress_seconds(&j->bar));
        explain_size(j, rf_tokenizer_size(t));
        const long long split = (long long)rf_tokenizer_trainer_split_lines(j->trainer);
        if (split)
            cli_note(j->io, "%lld %s longer than 4,192 bytes: split at blanks, or between characters, for "
                     "SentencePiece", split, split == 1 ? "line is" : "lines are");
    }
    rf_tokenizer_free(t);
    return status;
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

#define RFT(name) #name ", "
#define RFT_READ(name) ""
static const char types[] =
#include "roformer/inspect/tokenizers.def"
    "";
#undef RFT

static rf_status find_type(job *j, int *learns)
{
    const char *type = cli_given(j->io->parsed, "lang") ? "jieba" : j->a->type;
    if (j->a->type && type != j->a->type)
        return rf_fail(&j->io->why, RF_EARG,
                       "--lang zh, --type: expected one of them, or --type jieba, got both; leave one out");
    for (int i = 0; (j->type = rf_tokenizer_type(i, learns)) != NULL; i++) {
        if (type && strcmp(j->type, type)) continue;
        if (*learns >= 0) return RF_OK;
        return rf_fail(&j->io->why, RF_EARG, "--type: expected one of %.*s, got %s, which can be read but not created",
                       (int)sizeof types - 3, types, j->type);
    }
    return rf_fail(&j->io->why, RF_EARG, "--type: expected one of %.*s, got \"%.40s\"", (int)sizeof types - 3, types,
                   type);
}

/* Options that do not apply to a type are refused. */
static rf_status check_options(const job *j, int learns)
{
    static const struct { const char *option; int used; } row[] = {
        {"text", 0},           {"size", 0},
        {"text_format", 0},    {"text_field", 0},
        {"alphabet", RF_TRAIN_ALPHABET},       {"min-frequency", RF_TRAIN_LEAST},
        {"max-words", RF_TRAIN_MAX_WORDS},     {"cased", RF_TRAIN_WORDS},
        {"rules", RF_TRAIN_WORDS},             {"character-coverage", RF_TRAIN_SUBWORDS},
        {"byte-fallback", RF_TRAIN_SUBWORDS},  {"normalization", RF_TRAIN_SUBWORDS},
        {"base", RF_TRAIN_BASE},               {"dictionary", RF_TRAIN_BASE},
    };
    const int uses = learns ? rf_tokenizer_type_uses(j->type) : 0;
    rf_error *why = &j->io->why;
    for (size_t i = 0; i < CLI_COUNT(row); i++) {
        if (!cli_given(j->io->parsed, row[i].option)) continue;
        if (!learns)
            return rf_fail(why, RF_EARG,
                           "--%s: has no effect with --type %s, which does not learn from text; leave it out",
                           row[i].option, j->type);
        if (row[i].used && !(uses & row[i].used))
            return rf_fail(why, RF_EARG, "--%s: has no effect with --type %s; leave it out", row[i].option, j->type);
    }
    return RF_OK;
}

/* Creates a tokenizer of a type that learns nothing. */
static rf_status make(job *j)
{
    rf_tokenizer *t = NULL;
    rf_status status = rf_tokenizer_make(j->io->ctx, j->type, &t, &j->io->why);
    if (!status) status = prepare_folder(j);
    if (!status) status = save(j, t);
    if (!status) cli_note(j->io, "%s: %d tokens", j->a->output, (int)rf_tokenizer_size(t));
    rf_tokenizer_free(t);
    return status;
}

#define NORMALIZATIONS "nmt_nfkc|nfkc|nmt_nfkc_cf|nfkc_cf|identity"
static rf_status open_trainer(job *j)
{
    static const char *const rules[] = {"nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"};
    const struct args *a = j->a;
    rf_tokenizer_train_options o;
    rf_tokenizer_train_defaults(&o);
    j->options.lowercase = !a->cased;
    j->options.rules = a->rules ? RF_RULES_PYTHON : RF_RULES_RUST;
    o.words = &j->options;
    o.tokens = (int32_t)a->size;
    o.alphabet = (int32_t)(a->alphabet ? a->alphabet : rf_tokenizer_type_uses(j->type) & RF_TRAIN_BASE ? 6000 : 1000);
    o.base = a->base;
    o.dictionary = a->dictionary;
    o.least = (uint64_t)a->least;
    o.max_words = (uint64_t)a->max_words;
    o.coverage = a->coverage;
    o.byte_fallback = a->byte_fallback;
    o.normalization = rules[a->normalization];
    o.progress = learning;
    o.user = j;
    return rf_tokenizer_trainer_new(j->io->ctx, j->type, &o, &j->trainer, &j->io->why);
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    job j = {.a = a, .io = io};
    rf_tokenizer_defaults(&j.options);
    rf_error *why = &io->why;
    int learns = 1;
    if (find_type(&j, &learns) || check_options(&j, learns)) return cli_exit(io);
    if (learns && !a->text.n) rf_fail(why, RF_EARG, "vocab: expected --text FILE..., got none");
    else if (!a->output) rf_fail(why, RF_EARG, "vocab: expected -o DIR, got none");
    else if (!learns) make(&j);
    else if (!rf_reader_open(io->ctx, a->text.item, a->text.n, &a->t.reader, &j.reader, why) && !prepare_folder(&j) &&
             !open_trainer(&j)) {
        cli_progress_init(&j.bar, io, 10);
        if (!feed_all(&j)) learn(&j);
        cli_progress_clear(&j.bar);
    }
    if (why->code && j.made) rf__os_remove_folder(a->output);
    rf_tokenizer_trainer_free(j.trainer);
    rf_reader_close(j.reader);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static void prepare(void *args)
{
    struct args *a = args;
    rf_train_defaults(&a->t);
}

static const cli_option options[] = {
    CLI_TRAIN_ROW("text", struct args, text, NULL),
    {"output", 'o', CLI_FOLDER, A(output), "DIR", NULL, 0, 0, NULL, "folder for the tokenizer", "output_dir"},
    {"type", 0, CLI_TEXT, A(type), "TYPE", NULL, 0, 0, NULL,
     "tokenizer type: "
#define RFT(name) #name ", "
#define RFT_READ(name) ""
#include "roformer/inspect/tokenizers.def"
#undef RFT
     "of which the first is the default", NULL},
    {"size", 's', CLI_INT, A(size), "N", "8192", 16, 1 << 20, NULL, "vocabulary size", "vocab_size"},
    {"alphabet", 0, CLI_INT, A(alphabet), "N", NULL, 1, 1 << 20, NULL,
     "maximum number of different characters (default: 1000; for Chinese words: 6000)", "limit_alphabet"},
    {"lang", 0, CLI_CHOICE, A(lang), "zh", NULL, 0, 0, NULL, "zh: Chinese words, the same as --type jieba", NULL},
    {"base", 0, CLI_FILE, A(base), "FILE", NULL, 0, 0, NULL,
     "Chinese words: start with the tokens of this vocabulary, except those with several Han characters or with "
     "punctuation", NULL},
    {"dictionary", 0, CLI_FILE, A(dictionary), "FILE", NULL, 0, 0, NULL,
     "Chinese words: compiled dictionary that is stored with the tokenizer (default: the installed one)", NULL},
    {"min-frequency", 0, CLI_INT, A(least), "N", NULL, 1, 1e15, NULL,
     "minimum frequency of a pair that is merged, or of a word that is added (default: 2); with --type chars, of a "
     "character in the vocabulary (default: 1)", NULL},
    {"max-words", 0, CLI_INT, A(max_words), "N", "4000000", 1000, 1e9, NULL,
     "maximum number of different words in memory; the rarest are dropped", NULL},
    CLI_TRAIN_ROW("text_format", struct args, t, NULL),
    CLI_TRAIN_ROW("text_field", struct args, t, NULL),
    {"cased", 0, CLI_FLAG, A(cased), NULL, NULL, 0, 0, NULL, "keep upper case and accents", NULL},
    {"rules", 0, CLI_CHOICE, A(rules), "rust|python", "rust", 0, 0, NULL,
     "Unicode rules of the fast (rust) or of the slow (python) tokenizers of transformers", NULL},
    {"character-coverage", 0, CLI_REAL, A(coverage), "X", "0.9995", 1e-6, 1, NULL,
     "subwords: fraction of the characters of the text that the vocabulary covers", NULL},
    {"byte-fallback", 0, CLI_FLAG, A(byte_fallback), NULL, NULL, 0, 0, NULL,
     "subwords: encode characters outside the vocabulary as bytes, so that none is unknown", NULL},
    {"normalization", 0, CLI_CHOICE, A(normalization), NORMALIZATIONS, "nmt_nfkc", 0, 0, NULL,
     "subwords: Unicode normalization; _cf: with case folding", "normalization_rule_name"},
    {"overwrite", 0, CLI_FLAG, A(overwrite), NULL, NULL, 0, 0, NULL, "replace an existing tokenizer", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer --man > corpus.txt",
    "roformer vocab --text corpus.txt --size 1000 -o my-model",
    "roformer vocab --text wiki/*.jsonl.gz --cased --size 30000 -o cased",
    "roformer vocab --type chars --text corpus.txt -o letters",
    "roformer vocab --lang zh --text wiki/*.jsonl.gz --size 12000 -o chinese",
    "roformer vocab --type unigram --text corpus.txt --size 300 -o pieces",
    "roformer vocab --type bytelevel --text corpus.txt --size 1000 -o bytes",
    NULL,
};

const cli_command cmd_vocab = {
    "vocab",
    "--text FILE... -o DIR",
    "learn a tokenizer from text",
    "The default type is WordPiece: the command counts the words of all files and merges the most frequent pairs of "
    "pieces until the vocabulary is full.  roformer pretrain can train with the new folder, and transformers can read "
    "it.  --type unigram and --type bpe learn subwords with SentencePiece.  --type bytelevel learns the byte-level BPE "
    "of GPT-2, in a tokenizer.json.  --type chars takes the --size most frequent characters.  --lang zh (the same as "
    "--type jieba) splits Chinese text into words with a dictionary; the vocabulary consists of the characters, or the "
    "tokens of --base, and of the most frequent words.  Types that learn nothing from text need only -o.",
    examples,
    options,
    sizeof(struct args),
    prepare,
    run,
};
