// Small vocabulary of vectors and scratch memory for the kernels. Included once per instruction set.
#pragma once
#include <cstring>
#include <limits>
#include <new>

#include "kernels.hpp"

namespace suffice::SUFFICE_ISA {
namespace {

typedef double v4 __attribute__((vector_size(32)));
typedef long long i4 __attribute__((vector_size(32)));
typedef double v4u __attribute__((vector_size(32), aligned(8), may_alias));

typedef float f4u __attribute__((vector_size(16), aligned(4), may_alias));

inline v4 load(const double* p) { return *reinterpret_cast<const v4u*>(p); }
inline v4 load(const float* p) { return __builtin_convertvector(*reinterpret_cast<const f4u*>(p), v4); }
inline void store(double* p, v4 v) { *reinterpret_cast<v4u*>(p) = v; }
inline v4 broadcast(double x) { return v4{x, x, x, x}; }

template <int i, int j, int k, int l>
inline v4 shuffle(v4 a, v4 b) {  // lanes 0 .. 3 are a's, 4 .. 7 are b's
#ifdef __clang__
    return __builtin_shufflevector(a, b, i, j, k, l);
#else
    return __builtin_shuffle(a, b, i4{i, j, k, l});
#endif
}

inline Index round_up(Index n, Index multiple) { return (n + multiple - 1) / multiple * multiple; }
template <class A>
inline A smaller(A a, A b) { return a < b ? a : b; }
template <class A>
inline A larger(A a, A b) { return a < b ? b : a; }

class Scratch {  // zeroed doubles on a cache line's boundary
public:
    explicit Scratch(Index n) : size_(n), data_(static_cast<double*>(::operator new(bytes(), std::align_val_t(64)))) { clear(); }
    ~Scratch() { ::operator delete(data_, std::align_val_t(64)); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    void clear() { std::memset(data_, 0, bytes()); }
    double* get() const { return data_; }
    Index size() const { return size_; }
    double& operator[](Index i) const { return data_[i]; }

private:
    std::size_t bytes() const { return sizeof(double) * static_cast<std::size_t>(size_ + 8); }
    Index size_;
    double* data_;
};

constexpr Index kTile = 64;  // rows converted at a time where X is not row-contiguous doubles

// buffer[r][j] = column j of X, row first + r, for columns of contiguous doubles: blocks of 4 x 4 are turned in registers.
inline void transpose(const Matrix<double>& X, Index first, Index count, double* buffer) {
    const Index d = X.cols;
    for (Index r0 = 0; r0 < count; r0 += kTile) {
        const Index stop = smaller(r0 + kTile, count);
        Index j = 0;
        for (; j + 4 <= d; j += 4) {
            const double *a = X.column(j) + first, *b = X.column(j + 1) + first, *c = X.column(j + 2) + first,
                         *e = X.column(j + 3) + first;
            double* out = buffer + j;
            Index r = r0;
            for (; r + 4 <= stop; r += 4) {
                const v4 ab0 = shuffle<0, 4, 2, 6>(load(a + r), load(b + r)), ab1 = shuffle<1, 5, 3, 7>(load(a + r), load(b + r));
                const v4 ce0 = shuffle<0, 4, 2, 6>(load(c + r), load(e + r)), ce1 = shuffle<1, 5, 3, 7>(load(c + r), load(e + r));
                store(out + r * d, shuffle<0, 1, 4, 5>(ab0, ce0));
                store(out + (r + 1) * d, shuffle<0, 1, 4, 5>(ab1, ce1));
                store(out + (r + 2) * d, shuffle<2, 3, 6, 7>(ab0, ce0));
                store(out + (r + 3) * d, shuffle<2, 3, 6, 7>(ab1, ce1));
            }
            for (; r < stop; ++r) out[r * d] = a[r], out[r * d + 1] = b[r], out[r * d + 2] = c[r], out[r * d + 3] = e[r];
        }
        for (; j < d; ++j)
            for (Index r = r0; r < stop; ++r) buffer[r * d + j] = X.column(j)[first + r];
    }
}

// Rows [first, first + count) as contiguous doubles: in place where they already are, else copied to `buffer`.
// Whichever stride is shorter is walked innermost.
template <class T>
const double* contiguous_rows(const Matrix<T>& X, Index first, Index count, double* buffer, Index* stride) {
    if constexpr (sizeof(T) == sizeof(double)) {
        if (X.col_stride == 1) {
            *stride = X.row_stride;
            return X.row(first);
        }
    }
    const Index d = X.cols;
    *stride = d;
    if (X.col_stride == 1) {
        for (Index r = 0; r < count; ++r)
            for (Index j = 0; j < d; ++j) buffer[r * d + j] = X.row(first + r)[j];
        return buffer;
    }
    if constexpr (sizeof(T) == sizeof(double)) {
        if (X.row_stride == 1) {
            transpose(X, first, count, buffer);
            return buffer;
        }
    }
    for (Index r0 = 0; r0 < count; r0 += 8)
        for (Index j = 0; j < d; ++j)
            for (Index r = r0; r < smaller(r0 + 8, count); ++r)
                buffer[r * d + j] = X.column(j)[(first + r) * X.row_stride];
    return buffer;
}

}  // namespace
}  // namespace suffice::SUFFICE_ISA
