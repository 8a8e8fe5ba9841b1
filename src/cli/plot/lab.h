/* lab.h — shared by position-report and the plots of models: an open model with stretches of text, and scripts. */
#ifndef CLI_LAB_H
#define CLI_LAB_H

#include "cli/io/io.h"
#include "cli/options/train_options.h"
#include "roformer/inspect/positions.h"

/* A model that is being measured. */
typedef struct lab_bench {
    cli_model m;
    rf_stretches text;
    const rf_position *is;
    char folder[4096];
    cli_progress progress;
    const char *doing;          /* text of the progress line                                                          */
    rf_probe probe;
} lab_bench;

/* Whether a token attends only to earlier ones; RoFormer-Sim reads a text with bidirectional attention. */
static inline bool lab_causal(const lab_bench *b) { return b->m.config->is_decoder && !b->m.config->linear_pooler; }

/* Opens the model `given` (NULL: the shipped one); with texts, reads stretches of t->max_length. */
rf_status lab_open(cli_io *io, const char *given, const rf_train_options *t, int64_t stretches, int64_t pieces,
                   lab_bench *out);
void lab_close(cli_io *io, lab_bench *b);

const char *lab_name(const lab_bench *b);       /* the last part of its folder                                        */

/* ---- scripts of gnuplot ------------------------------------------------------------------------------------------ */

typedef struct lab_script { cli_out out; rf_error *why; } lab_script;
rf_status lab_put(lab_script *s, const char *format, ...) RF_PRINTF(2, 3);      /* lines below 1 KiB                  */

/* Begins a script that draws `plot` (a name without folder) in this size; the plot's name selects the terminal. */
rf_status lab_begin(lab_script *s, const char *path, const char *plot, int64_t width, int64_t height, rf_error *why);

/* Panels below each other in `columns` columns, with a title that begins with the model's name and its encoding. */
rf_status lab_panels(lab_script *s, const lab_bench *b, int64_t panels, int64_t columns, const char *title);

/* FOLDER/NAME.gp is complete: draws FOLDER/NAME.svg and FOLDER/NAME.png. */
rf_status lab_draw_both(lab_script *s, const char *folder, const char *name);

/* The path of the script of PATH.svg or PATH.png: RF_EARG for other extensions. */
rf_status lab_script_path(const char *plot, char *script, size_t size, rf_error *why);

/* Loss over length, with standard errors: one curve for each model. */
typedef struct lab_curve { const char *name; const rf_length_loss *at; int n; } lab_curve;
rf_status lab_put_lengths(lab_script *s, const lab_curve curve[], int curves);

#endif
