// The inverse Cholesky factors of small matrices: for a few columns, calls to LAPACK cost more than the arithmetic.
#pragma once
#include <cmath>
#include <cstddef>
#include <limits>

namespace suffice {

// Writes lower triangular W (d, d) with W matrix W' = I, and log |matrix|. Columns are first divided by their units (d,).
// Returns the trace of the inverse in these units; infinity where the matrix is not positive definite, and W has no meaning.
inline double whiten(const double* matrix, const double* unit, std::ptrdiff_t d, double* w, double* log_det) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    *log_det = 0.0;
    for (std::ptrdiff_t i = 0; i < d; ++i) {  // the Cholesky factor
        double* const row = w + i * d;
        for (std::ptrdiff_t j = 0; j <= i; ++j) {
            const double* const other = w + j * d;
            double rest = matrix[i * d + j] / unit[j] / unit[i];
            for (std::ptrdiff_t m = 0; m < j; ++m) rest -= row[m] * other[m];
            if (j < i) {
                row[j] = rest / other[j];
            } else {
                if (!(rest > 0.0 && rest < infinity)) return infinity;
                row[i] = std::sqrt(rest);
                *log_det += 2.0 * std::log(row[i] * unit[i]);
            }
        }
        for (std::ptrdiff_t j = i + 1; j < d; ++j) row[j] = 0.0;
    }
    double trace = 0.0;
    for (std::ptrdiff_t i = 0; i < d; ++i) {  // its inverse, in place: the rows above are inverted already
        double* const row = w + i * d;
        for (std::ptrdiff_t m = 0; m < i; ++m) {
            const double factor = row[m];
            const double* const above = w + m * d;
            for (std::ptrdiff_t j = 0; j < m; ++j) row[j] += factor * above[j];
            row[m] = factor * above[m];
        }
        const double own = 1.0 / row[i];
        for (std::ptrdiff_t j = 0; j < i; ++j) row[j] *= -own;
        row[i] = own;
        for (std::ptrdiff_t j = 0; j <= i; ++j) trace += row[j] * row[j];
    }
    for (std::ptrdiff_t i = 0; i < d; ++i)
        for (std::ptrdiff_t j = 0; j <= i; ++j) w[i * d + j] /= unit[j];
    return trace;
}

}  // namespace suffice
