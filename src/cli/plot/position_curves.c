/* position_curves.c — the curves of rotary positions, from the frequencies that config.json defines.
 *
 *     decay        1/(d/2) sum_{j=1..d/2} |S_j|,  S_j = sum_{i<j} exp(i delta theta_i)             RoFormer, Sec. 3.4.3
 *     score        <q, R(delta) k> / sqrt d for normal q and k: mean and deviation over 256 pairs; and for k = q
 *     wavelengths  2 pi / theta_i, scaled and not
 *     angles       largest error of m theta_i over the planes, modulo a revolution, by the type it is computed in */
#include <math.h>

#include "cli/plot/position_curves.h"
#include "roformer/context.h"
#include "roformer/inspect/positions.h"

static double pi(void) { return acos(-1); }
static double theta(const curve_of *of, int64_t i)
{
    return rf_rope_frequency(of->c, of->layer, of->length, i);
}

/* Distance i of a curve up to `most`: all of them up to 2000, then 2000 with evenly spaced logarithms; -1: the end. */
static int64_t distance(int64_t most, int64_t i)
{
    enum { EACH = 2000 };
    if (i <= EACH || most <= EACH) return i <= most ? i : -1;
    const double grown = EACH * pow((double)most / EACH, (double)(i - EACH) / EACH);
    return i - EACH <= EACH ? (int64_t)(grown + 0.5) : -1;
}

static bool decay(const curve_of *of, int64_t most, int64_t i, double row[])
{
    const int64_t delta = distance(most, i), half = rf_rope_width(of->c) / 2;
    double re = 0, im = 0, sum = 0;
    if (delta < 0) return false;
    for (int64_t j = 0; j < half; j++) {
        re += cos((double)delta * theta(of, j));
        im += sin((double)delta * theta(of, j));
        sum += sqrt(re * re + im * im);
    }
    row[0] = (double)delta;
    row[1] = sum / (double)half;
    return true;
}

/* Plane j of <q, R(delta) k>: |q_j| |k_j| cos(delta theta_j + the angle between them), in four sums. */
static bool random_scores(const curve_of *of, int64_t most, int64_t i, double row[])
{
    enum { PAIRS = 256 };
    const int64_t delta = distance(most, i), r = rf_rope_width(of->c);
    if (delta < 0) return false;
    double mean = 0, square = 0, same = 0;
    for (int pair = 0; pair < PAIRS; pair++) {
        rf_rng random;
        rf_rng_init(&random, 1, (uint64_t)pair);
        double one = 0, own = 0;
        for (int64_t j = 0; j < r / 2; j++) {
            const double q0 = (double)rf_rng_normal(&random), q1 = (double)rf_rng_normal(&random);
            const double k0 = (double)rf_rng_normal(&random), k1 = (double)rf_rng_normal(&random);
            const double angle = (double)delta * theta(of, j), cosine = cos(angle), sine = sin(angle);
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

static bool wavelengths(const curve_of *of, int64_t most, int64_t i, double row[])
{
    (void)most;
    const int64_t r = rf_rope_width(of->c);
    if (i >= r / 2) return false;
    row[0] = (double)i;
    row[1] = 2 * pi() / theta(of, i);
    row[2] = 2 * pi() * pow(rf_rope_base(of->c, of->layer), 2 * (double)i / (double)r);
    row[3] = (double)of->c->max_position_embeddings;
    return true;
}

/* Reduced to less than half a revolution. */
static double wrapped(double error)
{
    return fabs(remainder(error, 2 * pi()));
}

/* m rounded to a half type. */
static double half(double m, void (*to)(uint16_t *, const float *, int64_t),
                   void (*from)(float *, const uint16_t *, int64_t))
{
    const float x = (float)m;
    uint16_t rounded;
    float y;
    to(&rounded, &x, 1);
    from(&y, &rounded, 1);
    return (double)y;
}

static bool angles(const curve_of *of, int64_t most, int64_t i, double row[])
{
    const int64_t r = rf_rope_width(of->c);
    /* odd: a power of 2 is exact in every type; 1, 3, 5, 7, 9, 11, 17, 23, ... */
    const double m = (double)((int64_t)(pow(2, (double)(i < 2 ? 2 * i : i + 2) / 2) + 0.5) | 1);
    if (i > 80 || m > (double)most) return false;
    double worst[CLI_CURVE_COLUMNS] = {0};
    const float ratio = (float)pow(rf_rope_base(of->c, of->layer), -2.0 / (double)r);
    const double by_type[] = {half(m, of->k->to_bf16, of->k->from_bf16), half(m, of->k->to_f16, of->k->from_f16)};
    float repeated = (float)m;
    for (int64_t j = 0; j < r / 2; j++) {
        const double exact = m * theta(of, j);
        const float single = (float)m * (float)theta(of, j);
        const double got[CLI_CURVE_COLUMNS - 1] = {
            atan2((double)(float)sin(exact), (double)(float)cos(exact)),
            (double)single,
            (double)repeated,
            by_type[0] * theta(of, j),
            m < 65520 ? by_type[1] * theta(of, j) : NAN,
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
    {"decay",
     "upper bound of a score, relative, over the distance (RoFormer, section 3.4.3)",
     "distance (tokens)",
     "mean of |S_j| over the planes",
     {{"decay", NULL}},
     false,
     false,
     250,
     decay},
    {"score",
     "<q, R(m) k> / sqrt d for normal q and k",
     "distance m (tokens)",
     "score",
     {{"mean", "mean of 256 random pairs"}, {"deviation", "their standard deviation"}, {"equal", "mean where k = q"}},
     false,
     false,
     250,
     random_scores},
    {"wavelengths",
     "wavelength of each plane",
     "plane (0 rotates fastest)",
     "tokens of a full revolution",
     {{"wavelength", "as config.json has it"},
      {"unstretched", "without rope_scaling"},
      {"max_position_embeddings", "max_position_embeddings"}},
     false,
     true,
     250,
     wavelengths},
    {"angles",
     "error of the angle m theta, by the type it is formed in",
     "position m",
     "largest error of a plane (radians)",
     {{"table", "our table, from double"},
      {"float32", "product in float32"},
      {"repeated", "theta by repeated products in float32"},
      {"bf16_position", "m in bf16"},
      {"f16_position", "m in f16"}},
     true,
     true,
     1000000,
     angles},
    {0},
};
