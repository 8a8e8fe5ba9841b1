/* curves.h — metrics.jsonl as curves: read, smoothed, several runs as one band; used by plot, watch and report. */
#ifndef CLI_CURVES_H
#define CLI_CURVES_H

#include "cli/io/io.h"

/* What can be drawn, and in which panel. */
typedef struct curve_kind { const char *key; int panel; bool measured; } curve_kind;     /* measured: not smoothed    */
enum {
#define CURVE(key, panel, measured) CURVE_##key,
#include "cli/plot/curves.def"
#undef CURVE
    CURVES
};
enum { CURVE_PANELS = 6 };
extern const curve_kind curve_kinds[CURVES];
extern const char *const curve_panels[CURVE_PANELS];

/* The kind with this name, -1: there is none (RF_EARG suggests the most similar one). "f1" and "eval_f1" are the
 * same. */
int curves_find(const char *name, rf_error *why);

/* Points in the order of their steps; low and high for a band, or NULL. If null was logged, y is NAN: a gap. */
typedef struct curve { double *x, *y, *low, *high; size_t n, gaps, capacity; } curve;
static inline bool curve_drawn(const curve *c) { return c->n > c->gaps; }

/* The height at which a gap is marked: that of the last point before it, or of the first one after it. */
double curve_mark(const curve *c, size_t k);

typedef struct curve_run {
    char name[512];             /* out/metrics.jsonl is the run "out"                                                 */
    curve of[CURVES];
    json_t *last, *last_eval;   /* newest lines with a loss, with an eval_loss; NULL: none                            */
    uint64_t lines;
    int64_t skipped;            /* updates                                                                            */
} curve_run;

/* `path` is a metrics.jsonl or its folder. A last line that was truncated by a crash is ignored. RF_EDATA names file
 * and line; RF_EIO */
rf_status curves_read(const char *path, curve_run *out, rf_error *why);
void curves_clear(curve_run *r);

/* The curve that a kind stands for in these runs: "accuracy" is that of evaluations if updates have logged none. */
int curves_logged(const curve_run runs[], int n, int kind);

/* s = w s + (1 - w) y, s / (1 - w^n): TensorBoard's smoothing; `w` 0: none. Measured curves are not smoothed. */
void curves_smooth(curve_run *r, double w);

/* The mean of several runs at the steps that all of them have, with minimum and maximum. */
rf_status curves_band(const curve_run runs[], int n, const char *name, curve_run *out, rf_error *why);

/* Round numbers for an axis from low to high: *first, *first + *step, ...; returns their number. */
int curves_ticks(double low, double high, int most, double *first, double *step);

#endif
