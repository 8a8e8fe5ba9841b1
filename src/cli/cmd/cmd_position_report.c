/* cmd_position_report.c — roformer position-report: what a trained model does with positions. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/shell/commands.h"
#include "cli/plot/lab.h"
#include "cli/plot/position_report.h"

typedef struct report_args { train_args train; const char *model, *output; int64_t pieces, stretches; } report_args;

/* ---- measuring ---- */

static rf_status measure(lab_bench *b, position_report *r, rf_error *why)
{
    static const int64_t by[POSITION_SHIFTS] = {1, 7, 64, 1000};
    rf_status status = RF_OK;
    b->doing = "shifts";
    for (int i = 0; i < POSITION_SHIFTS && !status; i++) {
        r->shift[i].by = by[i];
        status = rf_probe_shift(&b->probe, &r->shift[i], why);
    }
    b->doing = "attention";
    if (!status) status = rf_probe_attention(&b->probe, &r->attention, why);
    b->doing = "subspaces";
    if (!status && rf_position_flags(b->is) & RF_POSITION_VECTOR)
        status = rf_probe_subspaces(&b->probe, b->text.length, &r->subspaces, why);
    b->doing = "lengths";
    if (!status && rf_model_has_head(b->m.model)) status = rf_probe_lengths(&b->probe, r->loss, &r->lengths, why);
    cli_progress_clear(&b->progress);
    return status;
}

static rf_status write_json(const position_report *r, const char *folder, rf_error *why)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/report.json", folder);
    return cli_write_json(path, position_report_json(r), JSON_INDENT(1) | JSON_REAL_PRECISION(9), why);
}

static int run(void *arguments, cli_io *io)
{
    report_args *a = arguments;
    rf_train_options *t = &a->train.t;
    lab_bench b = {0};
    position_report r = {0};
    rf__os_state st;
    t->text = a->train.text.item;
    t->texts = a->train.text.n;
    if (!t->texts) {
        rf_fail(&io->why, RF_EARG, "position-report: expected --text FILE..., got none");
        return cli_exit(io);
    }
    if (a->output && strlen(a->output) > 3900) {
        rf_fail(&io->why, RF_EARG, "--output: the path is too long");
        return cli_exit(io);
    }
    cli_signals_catch();
    rf_status status = lab_open(io, a->model, t, a->stretches, a->pieces, &b);
    r.bench = &b;
    const bool made = !status && a->output && !rf__os_make_folder(a->output);
    if (!status && a->output && !made && errno != EEXIST)
        status = rf_fail(&io->why, RF_EIO, "%.200s: cannot create: %s", a->output, rf__os_reason(errno));
    const bool folder = !status && a->output && !rf__os_look(a->output, &st) && st.kind == RF__OS_FOLDER;
    if (!status && a->output && (!folder || !rf__os_writable(a->output)))
        status =
            rf_fail(&io->why, RF_EIO, "%.200s: expected a folder that can be written to, got another file", a->output);
    if (!status && a->output) status = position_report_own(a->output, &io->why);
    if (!status) status = measure(&b, &r, &io->why);
    if (!status && !r.lengths) cli_note(io, "the model has no language-model head: no logits, no losses");
    if (!status && a->output) status = write_json(&r, a->output, &io->why);
    if (!status && a->train.json) status = cli_print_json(position_report_json(&r), 0, &io->why);
    if (!status && !a->train.json) {
        position_report_print(&r);
        status = cli_flush(&io->why);
    }
    if (!status && a->output) status = position_report_draw(&r, a->output, &io->why);
    if (!status && a->output)
        cli_note(io, "%s: report.json, and plots as .svg and .png with the .gp that draws them", a->output);
    if (status && made) rf__os_remove_folder(a->output);                       /* only if it is empty */
    rf_attention_report_free(io->ctx, &r.attention);
    rf_subspaces_free(io->ctx, &r.subspaces);
    lab_close(io, &b);
    return cli_exit(io);
}

#define A(field) offsetof(report_args, field)
static const cli_option options[] = {
    CLI_MODEL_OPTION(report_args, model),
    CLI_TRAIN_ROW("text", report_args, train.text, NULL),
    {"output", 'o', CLI_FOLDER, A(output), "DIR", NULL, 0, 0, NULL,
     "folder for report.json and its plots; requires gnuplot", NULL},
    CLI_TRAIN_ROW("max_length", report_args, train.t,
                  "sequence length in training, including [CLS] and [SEP]; losses are measured at this length and "
                  "up to 16 times this length"),
    {"pieces", 0, CLI_INT, A(pieces), "N", "16", 1, 1e6, NULL,
     "number of sequences for the effect of shifts and for attention", NULL},
    {"stretches", 0, CLI_INT, A(stretches), "N", "32", 1, 1e6, NULL,
     "number of text samples for the losses, each 16 sequences long", NULL},
    CLI_TRAIN_ROW("mlm_probability", report_args, train.t, NULL),
    CLI_TRAIN_ROW("seed", report_args, train.t, "random seed of masking"),
    CLI_TRAIN_READER(report_args, train.t),
    {"json", 0, CLI_FLAG, offsetof(train_args, json), NULL, NULL, 0, 0, NULL, "print one JSON object", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer position-report --text corpus.txt --stretches 4",
    "roformer position-report -m my-model --text corpus.txt --stretches 4 -o positions",
    "roformer position-report -m my-model --text corpus.txt --max_length 64 --json",
    NULL,
};

const cli_command cmd_position_report = {
    "position-report",
    "--text FILE...",
    "measure how a trained model uses positions",
    "Measures how much hidden states and logits change when all positions move by 1, 7, 64 and 1000.  For each layer "
    "and head, it measures how far attention reaches (the mean of |m-n|), how widely it is spread (its entropy), and "
    "which rotation planes queries and keys use.  For encodings that add a vector per position, it measures the angles "
    "between the subspace of these vectors and that of the word embeddings.  Finally, it measures the loss by position "
    "and by length: the same masked tokens are predicted from sequences of --max_length tokens and of 2, 4, 8 and 16 "
    "times as many.\n"
    "The losses need long documents.  Lengths for which no document is long enough are left out.",
    examples,
    options,
    sizeof(report_args),
    train_prepare,
    run,
};
