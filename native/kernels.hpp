// The interface of the hot loops: plain pointers in, plain pointers out; no Python.
//
// Every function is compiled once for each instruction set into its own namespace and reached through
// a table, so that the choice is made at run time. Inputs may have any strides; sums are in double.
#pragma once
#include <cstddef>
#include <cstdint>

namespace suffice {

using Index = std::ptrdiff_t;

template <class T>
struct Matrix {  // a strided view of n rows and d columns; strides count elements
    const T* data;
    Index rows, cols, row_stride, col_stride;
    const T* row(Index r) const { return data + r * row_stride; }
};

struct Labels {
    const std::int32_t* code;  // (n,) in [0, classes)
    const double* weight;      // (n,), or null for ones
    Index classes;
};

struct Moments {      // updated in place
    double* weight;   // (k,)
    double* mean;     // (k, d)
    double* scatter;  // diagonal (k, d), full (k, d, d) or pooled (d, d)
};

struct Scores {          // what a caller wants of log p(x | class) + constant; any may be null
    double* all;         // (n, k)
    std::int64_t* best;  // (n,) arg max; a tie goes to the lower index
    double* evidence;    // (n,) log-sum-exp
};

template <class T>
struct Kernels {
    void (*diag_moments)(const Matrix<T>&, const Labels&, const Moments&);
    void (*full_moments)(const Matrix<T>&, const Labels&, bool pooled, const Moments&);
    // Each returns whether every entry of X was finite.
    bool (*diag_scores)(const Matrix<T>&, Index classes, const double* mean, const double* scale,
                        const double* constant, const Scores&);
    bool (*full_scores)(const Matrix<T>&, Index classes, const double* mean, const double* whitening,
                        const double* constant, const Scores&);
    bool (*linear_scores)(const Matrix<T>&, Index classes, const double* center, const double* slope,
                          const double* constant, const Scores&);
};

#define SUFFICE_DECLARE(isa)             \
    namespace isa {                      \
    extern const Kernels<float> f32;     \
    extern const Kernels<double> f64;    \
    }
SUFFICE_DECLARE(baseline)
SUFFICE_DECLARE(avx2)

}  // namespace suffice
