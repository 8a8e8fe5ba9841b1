/* svg.h — curves as SVG elements for the report, without scripts or external styles. */
#ifndef CLI_SVG_H
#define CLI_SVG_H

#include "cli/plot/curves.h"

/* One panel over [first, last] steps as an <svg> element.  Nothing is written if it has no points. */
void svg_panel(FILE *to, const curve_run *r, const curve_run *raw, int panel, double first, double last);

/* Text inside HTML. */
void svg_text(FILE *to, const char *text);

#endif
