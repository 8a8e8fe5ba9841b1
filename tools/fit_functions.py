#!/usr/bin/env python3
"""fit_functions.py - computes the constants of src/kernel/isa/vec_math.h from the functions that they approximate.

    python3 tools/fit_functions.py

Polynomials and one quotient of polynomials, fitted so that the largest relative error is small: least squares at
Chebyshev points, reweighted by the observed error (Lawson), in 40 digits.  Needs mpmath; not needed to build or test."""
from mpmath import mp, mpf, matrix, lu_solve, exp, erfc, sqrt, tanh, cos, pi, fabs

mp.dps = 40


def points(low, high, n):
    return [(low + high) / 2 - (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * n)) for i in range(n)]


def least_squares(rows, rights, weights):
    k = len(rows[0])
    a, b = matrix(k, k), matrix(k, 1)
    for row, right, w in zip(rows, rights, weights):
        for i in range(k):
            b[i] += w * row[i] * right
            for j in range(k):
                a[i, j] += w * row[i] * row[j]
    return list(lu_solve(a, b))


def fit(low, high, value, scale, top, bottom=0, rounds=60, n=160):
    """P/Q with P of degree `top` and Q = 1 + ... of degree `bottom`, |value - P/Q| scale small."""
    xs = points(mpf(low), mpf(high), n)
    f, s = [value(x) for x in xs], [scale(x) for x in xs]
    lawson, q = [mpf(1)] * n, [mpf(1)] * n
    best = None
    for _ in range(rounds):
        rows = [[x ** i for i in range(top + 1)] + [-fx * x ** j for j in range(1, bottom + 1)] for x, fx in zip(xs, f)]
        c = least_squares(rows, f, [w * (sx / qx) ** 2 for w, sx, qx in zip(lawson, s, q)])
        p_at = lambda x: sum(c[i] * x ** i for i in range(top + 1))
        q_at = lambda x: 1 + sum(c[top + j] * x ** j for j in range(1, bottom + 1))
        q = [q_at(x) for x in xs]
        e = [fabs(p_at(x) / qx - fx) * sx for x, qx, fx, sx in zip(xs, q, f, s)]
        worst = max(e)
        if best is None or worst < best[0]:
            best = (worst, c[:top + 1], c[top + 1:])
        lawson = [w * (ex / worst + mpf("1e-3")) for w, ex in zip(lawson, e)]
        total = sum(lawson)
        lawson = [w / total * n for w in lawson]
    return best


def show(name, worst, *lists):
    print(f"{name}: largest relative error {float(worst):.2e}")
    for c in lists:
        if c:
            print("   ", ", ".join(f"{float(x):.10g}f" for x in c))


half = mpf("0.34668")
for degree in (5, 6):
    show(f"exp(r) = 1 + r + r^2 q(r), degree {degree}",
         *fit(-half, half, lambda r: (exp(r) - 1 - r) / r ** 2, lambda r: r ** 2 / exp(r), degree - 2)[:2])

for degree in (3, 4):
    show(f"2^r on [0, 1], degree {degree}", *fit(0, 1, lambda r: mpf(2) ** r, lambda r: mpf(2) ** -r, degree)[:2])

for top, bottom in ((3, 4), (4, 5), (5, 6)):
    mills = lambda t: exp(t * t / 2) * erfc(t / sqrt(2)) / 2
    show(f"exp(t^2/2) erfc(t/sqrt 2)/2 = P/Q on [0, 14], degrees {top} and {bottom}",
         *fit(0, 14, mills, lambda t: 1 / mills(t), top, bottom))

for degree in (3, 4, 5):
    show(f"tanh(x) = x + x^3 q(x^2) on [0, 0.625], q of degree {degree}",
         *fit(mpf("1e-6"), mpf("0.625") ** 2, lambda s: (tanh(sqrt(s)) - sqrt(s)) / sqrt(s) ** 3,
              lambda s: s * sqrt(s) / tanh(sqrt(s)), degree)[:2])
