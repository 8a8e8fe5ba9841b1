/* gnuplot.h — a plot from a script, by gnuplot. */
#ifndef CLI_GNUPLOT_H
#define CLI_GNUPLOT_H

#include "cli/shell/io.h"

/* A name inside '...' of a script. */
void cli_gnuplot_quote(const char *text, char *out, size_t size);

/* Where the script of a plot lies, beside it: FILE.gp of FILE.svg, FILE.png.gp of FILE.png. */
rf_status cli_gnuplot_path(const char *plot, char *script, size_t size, rf_error *why);

/* RF_EARG when a file of that name is there which is not the script of this plot. */
rf_status cli_gnuplot_own(const char *script, const char *plot, rf_error *why);

/* Opens PLOT's script and writes its first lines, unless cli_gnuplot_own refuses. */
rf_status cli_gnuplot_script(cli_out *out, const char *script, const char *plot, rf_error *why);

/* Runs gnuplot on the script, whose variable `out` names what it writes; the plot gets its name when it is complete.
 * RF_EIO when there is no gnuplot, or in gnuplot's own words. */
rf_status cli_gnuplot(const char *script, const char *plot, rf_error *why);

#endif
