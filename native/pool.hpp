// Pool-adjacent-violators on two sorted lists of scores: one pass, equal scores together.
#pragma once
#include <cstddef>
#include <limits>

namespace suffice {

// Writes how many targets and others each step has, from the lowest score to the highest, such that the share of targets
// rises from step to step; returns the number of steps. Both outputs have room for all scores.
inline std::ptrdiff_t pool_violators(const double* target, std::ptrdiff_t n_targets, const double* other,
                                     std::ptrdiff_t n_others, double* targets, double* others) {
    std::ptrdiff_t i = 0, j = 0, m = 0;
    while (i < n_targets || j < n_others) {
        const bool take_target = j == n_others || (i < n_targets && target[i] <= other[j]);
        const double score = take_target ? target[i] : other[j];
        std::ptrdiff_t a = i, b = j;
        while (a < n_targets && target[a] == score) ++a;
        while (b < n_others && other[b] == score) ++b;
        double t = double(a - i), o = double(b - j);
        i = a, j = b;
        while (m > 0 && targets[m - 1] * o >= t * others[m - 1]) --m, t += targets[m], o += others[m];
        targets[m] = t, others[m] = o, ++m;
    }
    return m;
}

}  // namespace suffice
