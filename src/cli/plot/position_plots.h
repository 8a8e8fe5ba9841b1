/* position_plots.h — plots of trained models by `roformer positions plot`. */
#ifndef CLI_POSITION_PLOTS_H
#define CLI_POSITION_PLOTS_H

#include "cli/plot/lab.h"

typedef struct positions_args {
    train_args train;
    cli_list words, models, text;
    const char *config, *output;
    int64_t length, head_size, distance, width, height, layer, head, pieces, stretches;
} positions_args;

/* Prints the numbers to standard output, or draws the plot with -o. Uses the `models` of `a`, or the shipped one. */
typedef rf_status positions_plot_function(const positions_args *a, cli_io *io);
positions_plot_function positions_attention, positions_bias, positions_score, positions_extrapolation;
positions_plot_function positions_rotation, positions_similarity;             /* position_vectors.c                  */

/* The config that --config names, or a base model's, with --head_size. */
rf_status positions_config(const positions_args *a, cli_io *io, rf_config *c);

/* RF_EUNSUPPORTED: the config's encoding (of `path`, or NULL) does not have the flags that this plot requires; the
 * message names the encodings that do. */
enum { POSITIONS_ROTATE = RF_POSITION_ROPE | RF_POSITION_SHIFT };       /* plane i by m theta_i, no cells of a grid   */
rf_status positions_must(const rf_config *c, const char *path, int flags, const char *plot, rf_error *why);

/* Begins standard output, or with -o the script of the plot; end draws it. */
rf_status positions_begin(const positions_args *a, lab_script *s, char *script, size_t size, int64_t width,
                          int64_t height, rf_error *why);
rf_status positions_end(const positions_args *a, cli_io *io, lab_script *s, const char *script);

#endif
