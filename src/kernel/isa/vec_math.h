/* vec_math.h — exp, tanh and the normal distribution in the vector dialect; included by each vec_<isa>.h.
 *
 * tools/fit_functions.py computes the constants.  The errors below are those of the fit; rounding adds about 1 ulp.  */
#ifndef RF_VEC_MATH_H
#define RF_VEC_MATH_H

/* For the small functions in inner loops: passing one as an argument must not cost anything. */
#define V_INLINE static inline __attribute__((always_inline))

/* One function for whole vectors and tails: a loop body is called with the literal VW, and once with the rest. */
V_INLINE vf v_get(const float *p, int64_t n) { return n == VW ? v_load(p) : v_load_n(p, n); }
V_INLINE void v_put(float *p, vf x, int64_t n)
{
    if (n == VW) v_store(p, x);
    else v_store_n(p, x, n);
}

/* e^x = 2^n e^r with n = round(x / ln 2) and |r| <= ln(2)/2; e^r by a polynomial, 3.1e-9.  0 and infinity at the ends,
 * subnormal results are kept, NaN stays NaN. */
V_INLINE vf v_exp(vf x)
{
    x = v_max(v_set1(-104), v_min(v_set1(89), x));
    const vf n = v_round(v_mul(x, v_set1(1.44269504f)));
    const vf r = v_fnma(n, v_set1(-2.12194440e-4f), v_fnma(n, v_set1(0.693359375f), x));      /* ln 2 in two parts */
    vf p = v_set1(0.001381456612f);
    p = v_fma(p, r, v_set1(0.008368731701f));
    p = v_fma(p, r, v_set1(0.04166838951f));
    p = v_fma(p, r, v_set1(0.1666652051f));
    p = v_fma(p, r, v_set1(0.4999999344f));
    p = v_fma(p, r, v_set1(1));
    p = v_fma(p, r, v_set1(1));
    return v_scale2(p, n);
}

/* 2^x for x <= 129, the same way with fewer operations: n = round(x), 2^r for |r| <= 1/2, 2.0e-9.  It is for arguments
 * that are products, whose factor can include log2(e). */
V_INLINE vf v_exp2(vf x)
{
    x = v_max(v_set1(-151), x);
    const vf n = v_round(x), r = v_sub(x, n);
    vf p = v_set1(0.0001535336061f);
    p = v_fma(p, r, v_set1(0.001339887487f));
    p = v_fma(p, r, v_set1(0.009618437366f));
    p = v_fma(p, r, v_set1(0.0555033247f));
    p = v_fma(p, r, v_set1(0.2402264791f));
    p = v_fma(p, r, v_set1(0.6931472029f));
    p = v_fma(p, r, v_set1(1));
    return v_scale2(p, n);
}

/* 2^x for x <= 129 if the result is converted to bf16, which is a thousand times less accurate: 2.6e-6. */
V_INLINE vf v_exp2_near(vf x)
{
    vf n;
    const vf r = v_fraction(x, &n);
    vf p = v_set1(0.01353408848f);
    p = v_fma(p, r, v_set1(0.05201161323f));
    p = v_fma(p, r, v_set1(0.2414426667f));
    p = v_fma(p, r, v_set1(0.693003851f));
    p = v_fma(p, r, v_set1(1.000002593f));
    return v_scale2(p, n);
}

/* The normal distribution's tail: Phi(-t) = e^(-t^2/2) v_mills(t) for t in [0, 14], as a quotient, 5.6e-9. */
V_INLINE vf v_mills(vf t)
{
    vf p = v_set1(0.004078783641f), q = v_set1(0.01022386588f);
    p = v_fma(p, t, v_set1(0.04038053201f));
    q = v_fma(q, t, v_set1(0.1012257833f));
    p = v_fma(p, t, v_set1(0.1824855485f));
    q = v_fma(q, t, v_set1(0.4674916724f));
    p = v_fma(p, t, v_set1(0.4372829401f));
    q = v_fma(q, t, v_set1(1.199389276f));
    p = v_fma(p, t, v_set1(0.5f));
    q = v_fma(q, t, v_set1(1.672450836f));
    return v_div(p, v_fma(q, t, v_set1(1)));
}

/* 1 / (1 + e^-x) */
V_INLINE vf v_sigmoid(vf x) { return v_div(v_set1(1), v_add(v_set1(1), v_exp(v_neg(x)))); }

/* Near 0 an odd polynomial, 4.4e-9, so that small values stay accurate; elsewhere 1 - 2 / (1 + e^2|x|). */
V_INLINE vf v_tanh(vf x)
{
    const vf t = v_abs(x), s = v_mul(x, x);
    vf p = v_set1(-0.00570497836f);
    p = v_fma(p, s, v_set1(0.02063907873f));
    p = v_fma(p, s, v_set1(-0.05373971215f));
    p = v_fma(p, s, v_set1(0.1333144216f));
    p = v_fma(p, s, v_set1(-0.3333328194f));
    const vf near = v_fma(v_mul(p, s), x, x);
    const vf far = v_sub(v_set1(1), v_div(v_set1(2), v_add(v_set1(1), v_exp(v_add(t, t)))));
    return v_select(v_lt(t, v_set1(0.625f)), near, v_copysign(far, x));
}

#endif
