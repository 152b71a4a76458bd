// Logarithms of factorials, summed over rows.
#pragma once
#include <array>
#include <cmath>

#include "functions.hpp"

namespace suffice::SUFFICE_ISA {
namespace {

constexpr int kSmall = 32;

// log x! y! of whole x and y below kSmall, at x + kSmall y; those of y = 0 come first.
inline const double* log_factorials_of_pairs() {
    static const auto table = [] {
        std::array<long double, kSmall> single{};
        for (int i = 1; i < kSmall; ++i) single[i] = single[i - 1] + std::log((long double)(i));
        std::array<double, kSmall * kSmall> found;
        for (int i = 0; i < kSmall * kSmall; ++i) found[i] = double(single[i % kSmall] + single[i / kSmall]);
        return found;
    }();
    return table.data();
}

// log Gamma(x + 1) for x >= 0: Stirling's series at x + 8, less the logarithm of (x + 1) ... (x + 7).
inline v4 log_factorial(v4 x) {
    const v4 big = x + broadcast(8.0), z = 1.0 / big, z2 = z * z;
    const v4 product = ((x + 1.0) * (x + 2.0)) * ((x + 3.0) * (x + 4.0)) * ((x + 5.0) * (x + 6.0)) * (x + 7.0);
    const v4 series = z * (1.0 / 12 - z2 * (1.0 / 360 - z2 * (1.0 / 1260 - z2 * (1.0 / 1680 - z2 * (1.0 / 1188 -
                      z2 * (691.0 / 360360 - z2 * (1.0 / 156)))))));
    const v4 at_big = (big - 0.5) * log_positive(big) - big + 0.91893853320467274178 + series;
    const i4 far = x > broadcast(1e40);  // where the product overflows, and log Gamma(x + 1) is (x + 1/2) log x - x
    const v4 log_gamma = at_big - (far ? 7.0 * log_positive(big) : log_positive(far ? broadcast(1.0) : product));
    return x > v4{} ? log_gamma : v4{};
}

constexpr double kIndex = 0x1p52;  // added to a small whole number, it leaves the number in the lowest bits

inline v4 present(v4 x) { return x >= v4{} ? x : v4{}; }  // NaN is none

inline double sum(v4 x) { return (x[0] + x[1]) + (x[2] + x[3]); }

// The sum of log x! over the cells of a row, and that of x. Two small whole numbers are looked up at a time.
inline void add_row(const double* x, Index count, const double* table, double* log_factorials, double* total) {
    const Index whole = count / 8 * 8;
    double logs[4] = {}, tail[8] = {};
    for (Index j = whole; j < count; ++j) tail[j - whole] = x[j];
    v4 totals = {};
    i4 others = {};  // where x is missing, or no small whole number
    for (Index j = 0; j < count; j += 8) {
        const double* p = j < whole ? x + j : tail;
        const v4 a = load(p), b = load(p + 4), index = a + double(kSmall) * b + kIndex, most = a > b ? a : b;
        others |= ((a + kIndex) - kIndex != a) | ((b + kIndex) - kIndex != b) | (most >= broadcast(kSmall));
        totals += a + b;
        std::int64_t bits[4];
        std::memcpy(bits, &index, sizeof bits);
        for (int q = 0; q < 4; ++q) logs[q] += table[bits[q] & (kSmall * kSmall - 1)];
    }
    *total = sum(totals);
    *log_factorials = (logs[0] + logs[1]) + (logs[2] + logs[3]);
    if (others[0] | others[1] | others[2] | others[3]) {
        v4 all = {};
        totals = v4{};
        for (Index j = 0; j < count; j += 4) {
            const v4 a = present(load(j < whole ? x + j : tail + (j - whole)));
            totals += a;
            all += log_factorial(a);
        }
        *total = sum(totals);
        *log_factorials = sum(all);
    }
}

// For each row, values[starts[r]] to values[starts[r + 1]], the sum of log x! over its cells, and log x! of their sum. Cells
// are not negative, or NaN, which counts as none.
inline void log_factorials(const std::int64_t* starts, const double* values, Index rows, double* out) {
    const double* table = log_factorials_of_pairs();
    for (Index r = 0; r < rows; r += 4) {
        double total[4] = {};
        const int some = int(smaller<Index>(4, rows - r));
        for (int q = 0; q < some; ++q)
            add_row(values + starts[r + q], starts[r + q + 1] - starts[r + q], table, out + 2 * (r + q), total + q);
        const v4 of_totals = log_factorial(load(total));
        for (int q = 0; q < some; ++q) out[2 * (r + q) + 1] = of_totals[q];
    }
}

}  // namespace
}  // namespace suffice::SUFFICE_ISA
