/* finetune_options.h — the rows and the table that finetune, predict and evaluate share. */
#ifndef CLI_FINETUNE_OPTIONS_H
#define CLI_FINETUNE_OPTIONS_H

#include "cli/shell/io.h"
#include "roformer/finetune.h"

#define FINETUNE_COLUMNS(args, f) \
    {"text_column", 0, CLI_TEXT, offsetof(args, f.text_column), "NAME|N", NULL, 0, 0, NULL, "column of the text", \
     NULL}, \
    {"pair_column", 0, CLI_TEXT, offsetof(args, f.pair_column), "NAME|N", NULL, 0, 0, NULL, "column of a second text", \
     NULL}, \
    {"label_column", 0, CLI_TEXT, offsetof(args, f.label_column), "NAME|N", NULL, 0, 0, NULL, "column of the label", \
     NULL}, \
    {"header", 0, CLI_TEXT, offsetof(args, f.header), "yes|no", NULL, 0, 0, NULL, \
     "of a table; without it there is one, unless all columns that are named are numbers", NULL}, \
    {"separator", 0, CLI_TEXT, offsetof(args, f.separator), "CHAR|tab", NULL, 0, 0, NULL, \
     "between fields of a table; without it a comma in .csv, else a tab", NULL}

#define FINETUNE_EVAL_BATCH(args, f) \
    {"per_device_eval_batch_size", 0, CLI_INT, offsetof(args, f.per_device_eval_batch_size), "N", "32", 1, 65536, \
     NULL, \
     "examples that are answered at once; of long ones fewer", NULL}

#define FINETUNE_STRIDE(args, f) \
    {"doc_stride", 0, CLI_INT, offsetof(args, f.doc_stride), "N", "128", 0, 1 << 20, NULL, \
     "tokens that two windows of a long context share (qa), at most half of a window", NULL}

#define FINETUNE_BAD_LINES(args, f) \
    {"max_bad_lines", 0, CLI_INT, offsetof(args, f.max_bad_lines), "N", NULL, 0, 1e12, NULL, \
     "pass over up to N lines that are not what they must be, instead of none (glue/qqp: 16)", NULL}

#define FINETUNE_LENGTH(args, f) \
    {"max_length", 0, CLI_INT, offsetof(args, f.t.max_length), "N", NULL, 8, 1 << 20, NULL, \
     "longest example in tokens; without it as in fine-tuning", "max_seq_length"}

/* What an answer does not say: texts that were cut, lines that were passed over, scores that are left out. */
void cli_report_reading(const cli_io *io, const rf_reading *r, rf_task task, bool scored);

/* A line for each score, or one JSON object. */
int cli_show_scores(const rf_scores *s, bool json, rf_error *why);

#endif
