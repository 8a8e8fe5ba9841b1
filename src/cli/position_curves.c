/* position_curves.c — the curves of rotary positions, from the frequencies that config.json asks for.
 *
 *     decay        1/(d/2) sum_{j=1..d/2} |S_j|,  S_j = sum_{i<j} exp(i delta theta_i)              RoFormer, Sec. 3.4.3
 *     score        <q, R(delta) k> / sqrt d for normal q and k: mean and deviation over 256 pairs; and for k = q
 *     wavelengths  2 pi / theta_i, stretched and not
 *     angles       largest error of m theta_i over the planes, modulo a turn, by the type it is formed in */
#include <math.h>

#include "base/base.h"
#include "cli/position_curves.h"
#include "model/position.h"

static double pi(void) { return acos(-1); }
static double theta(const rf_config *c, int64_t i) { return rf__rope_theta(c, c->rope_theta, rf__rope_width(c), 0, i); }

/* Distance i of a curve to `most`: all of them up to 2000, then 2000 that grow evenly in their logarithm; -1: no more. */
static int64_t distance(int64_t most, int64_t i)
{
    enum { EACH = 2000 };
    if (i <= EACH || most <= EACH) return i <= most ? i : -1;
    const double grown = EACH * pow((double)most / EACH, (double)(i - EACH) / EACH);
    return i - EACH <= EACH ? (int64_t)(grown + 0.5) : -1;
}

static bool decay(const rf_config *c, int64_t most, int64_t i, double row[])
{
    const int64_t delta = distance(most, i), half = rf__rope_width(c) / 2;
    double re = 0, im = 0, sum = 0;
    if (delta < 0) return false;
    for (int64_t j = 0; j < half; j++) {
        re += cos((double)delta * theta(c, j));
        im += sin((double)delta * theta(c, j));
        sum += sqrt(re * re + im * im);
    }
    row[0] = (double)delta;
    row[1] = sum / (double)half;
    return true;
}

/* Plane j of <q, R(delta) k>: |q_j| |k_j| cos(delta theta_j + the angle between them), in four sums. */
static bool score(const rf_config *c, int64_t most, int64_t i, double row[])
{
    enum { PAIRS = 256 };
    const int64_t delta = distance(most, i), r = rf__rope_width(c);
    if (delta < 0) return false;
    double mean = 0, square = 0, same = 0;
    for (int pair = 0; pair < PAIRS; pair++) {
        rf_rng random;
        rf__rng_init(&random, 1, (uint64_t)pair);
        double one = 0, own = 0;
        for (int64_t j = 0; j < r / 2; j++) {
            const double q0 = (double)rf__rng_normal(&random), q1 = (double)rf__rng_normal(&random);
            const double k0 = (double)rf__rng_normal(&random), k1 = (double)rf__rng_normal(&random);
            const double turn = (double)delta * theta(c, j), cosine = cos(turn), sine = sin(turn);
            one += cosine * (q0 * k0 + q1 * k1) + sine * (q1 * k0 - q0 * k1);
            own += cosine * (q0 * q0 + q1 * q1);
        }
        one /= sqrt((double)r);
        mean += one / PAIRS;
        square += one * one / PAIRS;
        same += own / sqrt((double)r) / PAIRS;
    }
    row[0] = (double)delta;
    row[1] = mean;
    row[2] = sqrt(fmax(square - mean * mean, 0));
    row[3] = same;
    return true;
}

static bool wavelengths(const rf_config *c, int64_t most, int64_t i, double row[])
{
    (void)most;
    const int64_t r = rf__rope_width(c);
    if (i >= r / 2) return false;
    row[0] = (double)i;
    row[1] = 2 * pi() / theta(c, i);
    row[2] = 2 * pi() * pow(c->rope_theta, 2 * (double)i / (double)r);
    row[3] = (double)c->max_position_embeddings;
    return true;
}

/* Below half a turn. */
static double wrapped(double error)
{
    return fabs(remainder(error, 2 * pi()));
}

static bool angles(const rf_config *c, int64_t most, int64_t i, double row[])
{
    const int64_t r = rf__rope_width(c);
    const double m = floor(pow(2, (double)i / 2) + 0.5);
    if (m > (double)most || i > 80) return false;
    double worst[CLI_CURVE_COLUMNS] = {0};
    const float ratio = (float)pow(c->rope_theta, -2.0 / (double)r);
    float repeated = (float)m;
    for (int64_t j = 0; j < r / 2; j++) {
        const double exact = m * theta(c, j);
        const float single = (float)m * (float)theta(c, j);
        const double got[CLI_CURVE_COLUMNS - 1] = {
            atan2((double)(float)sin(exact), (double)(float)cos(exact)), (double)single, (double)repeated,
            (double)rf__from_bf16(rf__bf16((float)m)) * theta(c, j), m < 65520 ? (double)rf__from_f16(rf__f16((float)m)) * theta(c, j) : NAN,
        };
        for (int k = 0; k < CLI_CURVE_COLUMNS - 1; k++) {
            const double error = wrapped(got[k] - exact);
            if (!(error <= worst[k])) worst[k] = error;
        }
        repeated *= ratio;
    }
    row[0] = m;
    for (int k = 0; k < CLI_CURVE_COLUMNS - 1; k++) row[1 + k] = worst[k];
    return true;
}

const cli_curve cli_curves[] = {
    {"decay", "the bound of RoFormer, section 3.4.3, over the distance", "distance", "relative upper bound", {"decay"}, false, false, decay},
    {"score", "<q, R(m) k> / sqrt d over the distance: random pairs and equal vectors", "distance", "score", {"mean", "deviation", "equal"}, false, false, score},
    {"wavelengths", "tokens of a full turn for each plane", "plane", "tokens", {"wavelength", "unstretched", "max_position_embeddings"}, false, true, wavelengths},
    {"angles", "error of the angle over the position, by the type it is formed in", "position", "radians", {"table", "float32", "repeated", "bf16_position", "f16_position"}, true, true, angles},
    {0},
};
