/* gnuplot.h — a plot from a script, by gnuplot. */
#ifndef CLI_GNUPLOT_H
#define CLI_GNUPLOT_H

#include "cli/io/io.h"

/* A name inside '...' of a script. */
void cli_gnuplot_quote(const char *text, char *out, size_t size);

/* The path of the script of a plot, next to it: FILE.gp for FILE.svg, FILE.png.gp for FILE.png. */
rf_status cli_gnuplot_path(const char *plot, char *script, size_t size, rf_error *why);

/* RF_EARG: a file of that name exists that is not the script of this plot. */
rf_status cli_gnuplot_own(const char *script, const char *plot, rf_error *why);

/* Opens the script of the plot and writes its first lines, unless cli_gnuplot_own refuses. */
rf_status cli_gnuplot_script(cli_out *out, const char *script, const char *plot, rf_error *why);

/* Runs gnuplot on the script, whose variable `out` names the output; the plot gets its name when it is complete.
 * RF_EIO: there is no gnuplot, or an error with gnuplot's message. */
rf_status cli_gnuplot(const char *script, const char *plot, rf_error *why);

#endif
