/* svg.c — a panel: axes with round numbers, lines, and marks for rare measurements. */
#include <math.h>
#include <string.h>

#include "cli/plot/svg.h"
#include "cli/io/io.h"

enum { WIDTH = 760, HEIGHT = 240, LEFT = 64, RIGHT = 12, TOP = 10, BOTTOM = 30 };

typedef struct frame { double x0, x1, y0, y1; } frame;

static double across(const frame *f, double x) { return LEFT + (x - f->x0) / (f->x1 - f->x0) * (WIDTH - LEFT - RIGHT); }
static double down(const frame *f, double y)
{
    return HEIGHT - BOTTOM - (y - f->y0) / (f->y1 - f->y0) * (HEIGHT - TOP - BOTTOM);
}

static void put_escaped(FILE *to, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '&') fputs("&amp;", to);
        else if (text[i] == '<') fputs("&lt;", to);
        else if (text[i] == '>') fputs("&gt;", to);
        else if (text[i] == '"') fputs("&quot;", to);
        else fputc(text[i], to);
    }
}

void svg_text(FILE *to, const char *text)
{
    for (size_t size = strlen(text), n, control; size; text += n + control, size -= n + control) {
        n = cli_shown(text, size, true, &control);
        put_escaped(to, text, n);
        if (control) fputc('?', to);
    }
}

static bool range(const curve_run *r, int panel, frame *f)
{
    f->y0 = INFINITY;
    f->y1 = -INFINITY;
    for (int i = 0; i < CURVES; i++)
        for (size_t k = 0; curve_kinds[i].panel == panel && k < r->of[i].n; k++) {
            f->y0 = fmin(f->y0, r->of[i].y[k]);
            f->y1 = fmax(f->y1, r->of[i].y[k]);
        }
    if (f->y0 > f->y1) return false;
    const double margin = f->y1 > f->y0 ? 0.04 * (f->y1 - f->y0) : fmax(1e-9, 0.1 * fabs(f->y0));
    f->y0 -= margin;
    f->y1 += margin;
    return true;
}

static void axes(FILE *to, const frame *f)
{
    double first, step;
    int n = curves_ticks(f->y0, f->y1, 6, &first, &step);
    for (int i = 0; i < n; i++) {
        const double v = first + i * step, y = down(f, v);
        fprintf(to, "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, y, WIDTH - RIGHT, LEFT - 6, y + 4, fabs(v) < 1e-9 * step ? 0 : v);
    }
    n = curves_ticks(f->x0, f->x1, 8, &first, &step);
    for (int i = 0; i < n; i++) {
        const double v = first + i * step, x = across(f, v);
        fprintf(
            to,
            "<path class=\"grid\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.12g</text>\n",
            x, TOP, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 16, v);
    }
}

/* At most one point for each pixel, since more would not be visible.  A gap ends a line. */
static void line(FILE *to, const frame *f, const curve *c, const char *class)
{
    double last = -INFINITY;
    fprintf(to, "<polyline class=\"%s\" points=\"", class);
    for (size_t k = 0; k < c->n; k++) {
        const double x = across(f, c->x[k]);
        if (isnan(c->y[k])) {
            if (last > 0) fprintf(to, "\"/>\n<polyline class=\"%s\" points=\"", class);
            last = -INFINITY;
            continue;
        }
        if (k + 1 < c->n && !isnan(c->y[k + 1]) && x < last + 0.7) continue;
        last = x;
        fprintf(to, "%.1f,%.1f ", x, down(f, c->y[k]));
    }
    fputs("\"/>\n", to);
}

static void gaps(FILE *to, const frame *f, const curve *c)
{
    for (size_t k = 0; k < c->n; k++)
        if (isnan(c->y[k]))
            fprintf(to,
                    "<path class=\"gap\" d=\"M%.1f %.1fl6 6m0-6l-6 6\"><title>step %.0f: no number</title></path>\n",
                    across(f, c->x[k]) - 3, down(f, curve_mark(c, k)) - 3, c->x[k]);
}

/* Measured losses and scores have separate colors, in order; the fifth has the first color again. */
static const char *class_of(const curve_run *r, int kind)
{
    static const char *const classes[] = {"b", "c", "d", "e"};
    const int panel = curve_kinds[kind].panel;
    int before = 0;
    if (!curve_kinds[kind].measured || panel > 1) return "a";
    for (int i = 0; i < kind; i++)
        before += curve_kinds[i].measured && curve_kinds[i].panel == panel && curve_drawn(&r->of[i]);
    return classes[before % 4];
}

void svg_panel(FILE *to, const curve_run *r, const curve_run *raw, int panel, double first, double last)
{
    frame f = {first, last > first ? last : first + 1, 0, 0};
    if (!range(raw ? raw : r, panel, &f)) return;
    fprintf(to, "<figure><figcaption>");
    svg_text(to, curve_panels[panel]);
    for (int i = 0; i < CURVES; i++)
        if (curve_kinds[i].panel == panel && curve_drawn(&r->of[i]))
            fprintf(to, " <span class=\"%s\">%s</span>", class_of(r, i), curve_kinds[i].key);
    fprintf(to, "</figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", WIDTH, HEIGHT,
            curve_panels[panel]);
    axes(to, &f);
    for (int i = 0; i < CURVES; i++) {
        const curve *c = &r->of[i];
        if (curve_kinds[i].panel != panel || !curve_drawn(c)) continue;
        const bool marks = curve_kinds[i].measured && panel < 2;
        if (raw && !curve_kinds[i].measured) line(to, &f, &raw->of[i], "raw");
        line(to, &f, c, class_of(r, i));
        gaps(to, &f, c);
        for (size_t k = 0; marks && k < c->n && c->n <= 200; k++)
            if (!isnan(c->y[k]))
                fprintf(
                    to,
                    "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"><title>step %.0f: %.6g</title></circle>\n",
                    class_of(r, i), across(&f, c->x[k]), down(&f, c->y[k]), c->x[k], c->y[k]);
    }
    fputs("</svg></figure>\n", to);
}
