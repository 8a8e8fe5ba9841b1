/* cmd_convert.c — roformer convert: converts a published folder to current names and formats. */
#include "cli/shell/commands.h"
#include "cli/io/io.h"
#include "roformer/inspect/folder.h"

struct args {
    cli_list folder, drop;
    const char *vocabulary, *reranker;
    int type, overwrite;
};

static void report_vocabulary(void *user, int64_t kept, int64_t means, int64_t unknown, int64_t lost)
{
    (void)user;
    printf("vocabulary: %lld tokens keep their vectors, %lld get the mean of their pieces' vectors, %lld that of the "
           "unknown token; %lld removed\n",
           (long long)kept, (long long)means, (long long)unknown, (long long)lost);
}

static void show(void *user, const rf_weight *t, const char *to)
{
    (void)user;
    char shape[96] = "";
    size_t n = 0;
    for (int i = 0; i < t->rank && n < sizeof shape; i++)
        n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%lld", i ? "," : "", (long long)t->dim[i]);
    cli_put_name(t->name);
    printf("  %s [%s]", t->dtype, shape);
    if (!to) printf("  not written");
    else if (strcmp(t->name, to) != 0) printf("  as "), cli_put_name(to);
    putchar('\n');
}

static void show_file(void *user, const char *name, const char *left_out)
{
    (void)user;
    cli_put_name(name);
    if (left_out) printf("  not copied: %s\n", left_out);
    else puts("  copied");
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    static const rf_type type[] = {RF_F32, RF_F32, RF_BF16, RF_F16, RF_I8};
    char from[4096], to[4096];
    rf_convert_options o;
    rf_convert_defaults(&o);
    o.keep_type = !a->type;
    o.type = type[a->type];
    o.drop = a->drop.item;
    o.drops = (size_t)a->drop.n;
    o.overwrite = a->overwrite;
    o.report = show;
    o.vocabulary = a->vocabulary;
    o.extended = report_vocabulary;
    o.file = show_file;
    o.reranker = a->reranker;
    if (cli_model_folder(a->folder.item[0], from, sizeof from, &io->why) ||
        cli_new_path(a->folder.item[1], to, sizeof to, &io->why))
        return cli_exit(io);
    cli_note_vocabulary_in(io, from);
    if (!rf_convert(io->ctx, from, to, &o, &io->why)) cli_note(io, "%s: written, read back and compared", to);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    {"SRC DST", 0, CLI_OPERANDS, A(folder), NULL, NULL, 2, 2, NULL, "", NULL},
    {"dtype", 0, CLI_CHOICE, A(type), "same|f32|bf16|f16|int8", "same", 0, 0, NULL,
     "data type of the written weights; int8: only for the matrices of the layers and, unless they are a head's "
     "matrix, the word embeddings; the other weights keep their type",
     "torch_dtype"},
    {"drop", 0, CLI_EACH, A(drop), "NAME", NULL, 0, 0, NULL,
     "tensor to leave out, which the model must not need; NAME* stands for all names with this beginning; may be "
     "repeated", NULL},
    {"extend-vocab", 0, CLI_FOLDER, A(vocabulary), "DIR", NULL, 0, 0, NULL,
     "use the tokenizer of DIR: tokens of SRC keep their embeddings; a new token gets the mean embedding of its "
     "characters", NULL},
    {"reranker", 0, CLI_TEXT, A(reranker), "qwen3", NULL, 0, 0, NULL,
     "SRC is a Qwen3-Reranker without modules.json: also write modules.json and the files that it names, with the "
     "prompt template and the tokens \"yes\" and \"no\" of the model card", NULL},
    {"overwrite", 0, CLI_FLAG, A(overwrite), NULL, NULL, 0, 0, NULL, "replace existing weights in DST", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer convert roformer_chinese_base my-model",
    "roformer convert my-model small --dtype bf16",
    "roformer convert my-model smaller --dtype int8",
    "roformer convert Qwen3-Reranker-0.6B my-reranker --reranker qwen3",
    "roformer convert chinese-characters chinese-words --extend-vocab words",
    NULL,
};

const cli_command cmd_convert = {
    "convert",
    "SRC DST",
    "convert a published checkpoint to safetensors and current tensor names",
    "Reads safetensors or pytorch_model.bin, as one file or as shards, tf_model.h5, or a TensorFlow checkpoint, "
    "with current or older tensor names (gamma, beta).  Writes config.json and model.safetensors, which transformers "
    "can load, of the class that was read.  Lists for every tensor what was done with it.  Tensors that the model "
    "does not use are kept unless --drop names them.  The written weights are read back and compared.  Keys of "
    "config.json that this program does not use are kept.  Other files, the tokenizer's among them, are copied, except "
    "weights in other formats and files of a training run; each of these files is listed.\n"
    "With --dtype int8, the matrices of the layers and the word embeddings, unless they are also a head's matrix, are "
    "stored with 8 bits per weight and one scale per row, in the format of compressed-tensors (W8A8).  Other commands "
    "use these weights unchanged if --dtype int8 or int8w is given.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
