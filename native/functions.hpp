// Elementary functions of vectors.
#pragma once
#include "simd.hpp"

namespace suffice::SUFFICE_ISA {
namespace {

constexpr double kLowest = -708.0;  // exp of less is not a normal number: zero is returned
constexpr double kLog2High = 0x1.62e42feep-1, kLog2Low = 0x1.a39ef35793c76p-33;  // an integer times the first is exact

// exp(x) for x <= 0 or NaN, to about one unit in the last place: 2^n exp(r) with |r| <= log(2) / 2, where exp is its series.
inline v4 exp_negative(v4 x) {
    const v4 shift = broadcast(0x1.8p52);  // adding it leaves the integer in the lowest bits
    const i4 none = x <= broadcast(kLowest);
    const v4 z = none ? broadcast(kLowest) : x, t = z * broadcast(0x1.71547652b82fep+0) + shift, n = t - shift;
    const v4 r = (z - n * broadcast(kLog2High)) - n * broadcast(kLog2Low), r2 = r * r, r4 = r2 * r2;
    const auto two = [&](double a, double b) { return broadcast(a) + broadcast(b) * r; };
    const v4 low = two(1.0, 1.0) + two(1.0 / 2.0, 1.0 / 6.0) * r2;
    const v4 middle = two(1.0 / 24.0, 1.0 / 120.0) + two(1.0 / 720.0, 1.0 / 5040.0) * r2;
    const v4 high = two(1.0 / 40320.0, 1.0 / 362880.0) + two(1.0 / 3628800.0, 1.0 / 39916800.0) * r2 +
                    two(1.0 / 479001600.0, 1.0 / 6227020800.0) * r4;
    const v4 p = low + (middle + high * r4) * r4;
    const i4 scaled = reinterpret_cast<i4>(p) + (reinterpret_cast<i4>(t) << 52);
    return none ? v4{} : reinterpret_cast<v4>(scaled);
}

// log(x) for normal x or NaN, to about one unit in the last place, as in FreeBSD's e_log.c: x = 2^n (1 + f) with 1 + f about 1.
inline v4 log_positive(v4 x) {
    const i4 bits = reinterpret_cast<i4>(x), n = (bits - reinterpret_cast<i4>(broadcast(0x1.6a09e667f3bcdp-1))) >> 52;
    const v4 m = reinterpret_cast<v4>(bits - (n << 52)), dn = __builtin_convertvector(n, v4);
    const v4 f = m - 1.0, s = f / (2.0 + f), z = s * s, w = z * z, square = 0.5 * f * f;
    const v4 even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    const v4 odd = z * (6.666666666666735130e-01 +
                        w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    const v4 value = dn * kLog2High - ((square - (s * (square + (even + odd)) + dn * kLog2Low)) - f);
    return x == x ? value : x;
}

}  // namespace
}  // namespace suffice::SUFFICE_ISA
