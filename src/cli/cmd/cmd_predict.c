/* cmd_predict.c — roformer predict: writes one line for every example of a file. */
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/options/finetune_options.h"
#include "cli/options/train_options.h"
#include "roformer/inspect/files.h"

typedef struct predict_args {
    rf_finetune_options f;
    const char *model, *input, *output;
    int format, dtype;
} predict_args;

static rf_status write_line(void *user, const char *line, size_t size, rf_error *why)
{
    const rf_status status = cli_out_write(user, line, size, why);
    return status ? status : cli_out_write(user, "\n", 1, why);
}

static int was_given(void *parsed, const char *option) { return cli_given(parsed, option); }

static void prepare(void *args)
{
    predict_args *a = args;
    rf_finetune_defaults(&a->f);
    a->f.task = NULL;                   /* that of the folder */
}

static int run(void *arguments, cli_io *io)
{
    predict_args *a = arguments;
    char folder[4096];
    rf_answerer *m = NULL;
    cli_out out = {.fd = -1};
    a->f.t.given = was_given;
    a->f.t.given_user = (void *)(uintptr_t)io->parsed;
    if (!a->input) {
        rf_fail(&io->why, RF_EARG, "predict: expected --input FILE, got none");
        return cli_exit(io);
    }
    cli_by_suffix(io->parsed, "format", a->output, &a->format);
    if (cli_not_input(a->output, a->input, &io->why)) return cli_exit(io);
    rf_held_folder *held = NULL;
    rf_status status = cli_task_folder(a->model, a->f.task, folder, sizeof folder, &io->why);
    if (!status) status = rf_folder_hold(io->ctx, folder, &held, &io->why);
    if (!status) status = rf_answerer_open_as(io->ctx, folder, cli_dtype(a->dtype), &m, &io->why);
    if (!status) cli_note_vocabulary_in(io, folder);
    status = rf_folder_release(&held, status, &io->why);
    if (!status) status = cli_out_open(&out, a->output, &io->why);
    if (!status)
        status = rf_answerer_predict(m, &a->f, a->input, (rf_prediction_format)a->format, write_line, &out, &io->why);
    if (!status) status = cli_out_commit(&out, &io->why);
    if (!status) cli_report_reading(io, rf_answerer_reading(m));
    cli_out_discard(&out);
    rf_answerer_close(m);
    return cli_exit(io);
}

#define A(field) offsetof(predict_args, field)
static const cli_option options[] = {
    CLI_MODEL_OPTION_OF(predict_args, model,
                        "folder of a fine-tuned model (with --task embed, default: the shipped sentence model)"),
    {"input", 0, CLI_FILE, A(input), "FILE", NULL, 0, 0, NULL,
     "examples (.tsv, .csv, .jsonl, .conll; also .gz or .zst); labels are not required", NULL},
    {"output", 'o', CLI_FILE, A(output), "FILE", NULL, 0, 0, NULL,
     "write to FILE instead of standard output; FILE appears when it is complete", NULL},
    {"format", 'f', CLI_CHOICE, A(format), "tsv|jsonl|glue|squad", "tsv", 0, 0, NULL,
     "glue: a file for submission to the GLUE server; squad: ids and answers for the evaluation script of SQuAD "
     "(default: by the extension of --output, otherwise tsv)", NULL},
    CLI_DTYPE_OPTION(predict_args, dtype),
    CLI_FINETUNE_ROW("task", predict_args, f,
                     "task that defines how the file is read (default: as in fine-tuning)"),
    CLI_FINETUNE_ROWS(predict_args, f, RF_OPTION_PREDICT),
    CLI_TRAIN_ROW("max_length", predict_args, f.t,
                  "maximum number of tokens of an example (default: as in fine-tuning)"),
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer predict -m reviews --input reviews.tsv",
    "roformer predict -m mrpc --input MRPC/test.tsv --format glue -o MRPC.tsv",
    "roformer predict -m squad --input squad/dev-v2.0.json --format squad -o answers.json",
    NULL,
};

const cli_command cmd_predict = {
    "predict",
    "--input FILE",
    "predict the labels of a file of examples with a fine-tuned model",
    "Reads the same columns as fine-tuning except the labels, and writes one line per example in the same order: the "
    "id, if the file has ids, and the prediction.  Depending on the task, the prediction is a label with its "
    "probability, a number, tags, an answer or a choice.  Values that a table cannot represent are an error (a tab or "
    "line end in an id, label or answer; a comma in one of several labels); jsonl can represent them.  If the model "
    "has a single output and config.json has no problem_type, predict prints the output as a number, as the Trainer "
    "of transformers does; classify prints the sigmoid of the output.",
    examples,
    options,
    sizeof(predict_args),
    prepare,
    run,
};
