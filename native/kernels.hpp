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
    const T* const* columns = nullptr;  // where each lies in an array of its own; then only `column` finds it
    const T* row(Index r) const { return data + r * row_stride; }
    const T* column(Index j) const { return columns ? columns[j] : data + j * col_stride; }
};

struct Labels {
    const std::int32_t* code;  // (n,) in [0, classes)
    const double* weight;      // (n,), or null for ones
    Index classes;
};

struct Shares {          // soft labels
    const double* share;   // (n, classes), what of each row belongs to each class
    const double* weight;  // (n,), or null for ones
    Index classes;
};

struct Moments {      // updated in place
    double* weight;   // (k,)
    double* mean;     // (k, d)
    double* scatter;  // diagonal (k, d), full (k, d, d) or pooled (d, d)
    // With z = x - mean, sums of w |z|^2 z (k, d) and of w |z|^4 (k,), beside full scatters; both null or neither.
    double* cubic = nullptr;
    double* quartic = nullptr;
};

struct Scores {          // what a caller wants of log p(x | class) + constant; any may be null
    double* all;         // (n, k)
    std::int64_t* best;  // (n,) arg max; a tie goes to the lower index
    double* evidence;    // (n,) log-sum-exp
};

struct Ranges {               // of the categories of each column, lo <= x < lo + width
    const std::int64_t* lo;     // (m,)
    const std::int64_t* width;  // (m,)
};

struct Pairs {                 // of columns, those with the same first one together
    const std::int64_t* first;   // (size,)
    const std::int64_t* second;  // (size,)
    Index size;
};

template <class V, class I>
struct SparseRows {              // compressed
    const std::int64_t* indptr;  // (n + 1,), from anywhere
    const I* indices;
    const V* data;  // null for ones
    Index rows, cols;
};

template <class T>
struct Kernels {
    void (*diag_moments)(const Matrix<T>&, const Labels&, const Moments&);
    void (*full_moments)(const Matrix<T>&, const Labels&, bool pooled, const Moments&);
    // An entry that is not finite may spoil the moments of all classes.
    void (*soft_diag_moments)(const Matrix<T>&, const Shares&, const Moments&);
    void (*soft_full_moments)(const Matrix<T>&, const Shares&, bool pooled, const Moments&);
    // Each returns whether every entry of X was finite.
    bool (*diag_scores)(const Matrix<T>&, Index classes, const double* mean, const double* scale,
                        const double* constant, const Scores&);
    bool (*full_scores)(const Matrix<T>&, Index classes, const double* mean, const double* whitening,
                        const double* constant, const Scores&);
    bool (*linear_scores)(const Matrix<T>&, Index classes, const double* center, const double* slope,
                          const double* constant, const Scores&);
    // Scores that are linear in counts, or in their presence: 1 above zero. Returns whether every value was a count, as
    // below, and none is missing; otherwise the scores mean nothing.
    bool (*count_scores)(const Matrix<T>&, Index classes, bool presence, const double* slope, const double* constant,
                         const Scores&);
    // Returns whether every value was a count: finite and, unless only its presence counts, not negative; NaN is missing.
    // Sums of log x! over the cells, and over the totals of the rows, are added to log_factorials (classes, 2), if it is given.
    bool (*dense_counts)(const Matrix<T>&, const Labels&, bool presence, double* count, double* missing,
                         double* log_factorials);
    // For each row, the sum of log x! over its cells, and log x! of their sum, (rows, 2). NaN counts as none.
    void (*log_factorials)(const Matrix<T>&, double* out);
};

template <class T>
struct CategoryKernels {
    // Returns the first row that holds a value out of range, or n; the rows before it are counted.
    Index (*counts)(const Matrix<T>&, const Labels&, const Ranges&, double* table);
    Index (*soft_counts)(const Matrix<T>&, const Shares&, const Ranges&, double* table);
    // Adds to a table (classes, cells), where each pair has a cell for each category of the first column and of the second;
    // a row in which one of the two is out of range is not counted.
    void (*pair_counts)(const Matrix<T>&, const Labels&, const Ranges&, const Pairs&, double* table);
    void (*scores)(const Matrix<T>&, const Ranges&, Index classes, const double* table, const double* constant,
                   const Scores&);
    void (*tree_scores)(const Matrix<T>&, const Ranges&, const std::int64_t* parent, Index classes, const double* table,
                        const double* constant, const Scores&);
};

template <class V, class I>
struct SparseKernels {
    // Returns whether every value was finite and not negative. Cells of a column that is stored twice count as one in
    // log_factorials, as above.
    bool (*counts)(const SparseRows<V, I>&, const Labels&, bool presence, double* table, double* log_factorials);
    void (*scores)(const SparseRows<V, I>&, Index classes, const double* slope, const double* constant, const Scores&);
    void (*log_factorials)(const SparseRows<V, I>&, double* out);
};

struct Reduction {
    void (*reduce)(const double* scores, Index rows, Index classes, const Scores&);
    void (*soften)(double* joint, Index rows, Index classes, const double* fallback, Index stride, const double* weight,
                   double* sums);
};

struct Table : Kernels<float>, Kernels<double>,
               CategoryKernels<std::int8_t>, CategoryKernels<std::int16_t>, CategoryKernels<std::int32_t>,
               CategoryKernels<std::int64_t>, CategoryKernels<std::uint8_t>, CategoryKernels<std::uint16_t>,
               CategoryKernels<std::uint32_t>, CategoryKernels<std::uint64_t>,
               SparseKernels<float, std::int32_t>, SparseKernels<float, std::int64_t>,
               SparseKernels<double, std::int32_t>, SparseKernels<double, std::int64_t>,
               SparseKernels<std::int32_t, std::int32_t>, SparseKernels<std::int32_t, std::int64_t>,
               SparseKernels<std::int64_t, std::int32_t>, SparseKernels<std::int64_t, std::int64_t>,
               Reduction {};

namespace baseline { extern const Table table; }
namespace avx2 { extern const Table table; }

}  // namespace suffice
