// Grouped first and second moments, centred on the running class means.
//
// Within a chunk of rows the deviations d = x - m from the mean m so far (or, for a class not seen yet, from one of its
// rows) give a = sum w d and q = sum w d d'. With n the weight afterwards the merge is Chan's,
//     m <- m + a / n,    S <- S + q - a a' / n,
// which cancels at most a factor two once a class has as much weight as a chunk, whatever the offset of the data.
#pragma once
#include "simd.hpp"

namespace suffice::SUFFICE_ISA {
namespace {

template <bool weighted>
inline void add_row(const double* __restrict x, const double* __restrict mean, double w, double* __restrict sum,
                    double* __restrict square, Index d) {
    Index j = 0;
    for (; j + 4 <= d; j += 4) {
        const v4 dev = load(x + j) - load(mean + j), wdev = weighted ? dev * w : dev;
        store(sum + j, load(sum + j) + wdev);
        store(square + j, load(square + j) + wdev * dev);
    }
    for (; j < d; ++j) {
        const double dev = x[j] - mean[j], wdev = weighted ? w * dev : dev;
        sum[j] += wdev;
        square[j] += wdev * dev;
    }
}

// For each class that is new, the mean starts at one of its rows in [start, stop): the first, or the heaviest, since a
// row of next to no weight may lie anywhere.
template <class T>
void seed_means(const Matrix<T>& X, const Labels& y, Index start, Index stop, const Moments& m) {
    bool all_seen = true;
    for (Index c = 0; c < y.classes; ++c) all_seen &= m.weight[c] != 0.0;
    if (all_seen) return;
    Scratch heaviest(y.classes);
    for (Index r = start; r < stop; ++r) {
        const Index c = y.code[r];
        const double w = y.weight ? y.weight[r] : 1.0;
        if (m.weight[c] != 0.0 || w <= heaviest[c]) continue;
        heaviest[c] = w;
        for (Index j = 0; j < X.cols; ++j) m.mean[c * X.cols + j] = X.row(r)[j * X.col_stride];
    }
}

template <class T>
void diag_moments(const Matrix<T>& X, const Labels& y, const Moments& m) {
    const Index d = X.cols, k = y.classes, chunk = larger<Index>(4096, 8 * k);
    Scratch weight(k), sum(k * d), square(k * d), buffer(kTile * d);
    for (Index start = 0; start < X.rows; start += chunk) {
        const Index stop = smaller(start + chunk, X.rows);
        weight.clear(), sum.clear(), square.clear();
        seed_means(X, y, start, stop, m);
        for (Index first = start; first < stop; first += kTile) {
            const Index count = smaller(kTile, stop - first);
            Index stride;
            const double* rows = contiguous_rows(X, first, count, buffer.get(), &stride);
            for (Index r = 0; r < count; ++r) {
                const Index c = y.code[first + r];
                const double w = y.weight ? y.weight[first + r] : 1.0;
                if (w == 0.0) continue;
                const double* x = rows + r * stride;
                weight[c] += w;
                if (y.weight)
                    add_row<true>(x, m.mean + c * d, w, &sum[c * d], &square[c * d], d);
                else
                    add_row<false>(x, m.mean + c * d, w, &sum[c * d], &square[c * d], d);
            }
        }
        for (Index c = 0; c < k; ++c) {
            if (weight[c] == 0.0) continue;
            const double n = m.weight[c] += weight[c];
            for (Index j = c * d; j < (c + 1) * d; ++j) {
                m.mean[j] += sum[j] / n;
                m.scatter[j] += square[j] - sum[j] * (sum[j] / n);
            }
        }
    }
}

constexpr Index kPanel = 8;  // columns side by side in the packed form: P[panel][row][8]

// S[i][j] += sum_r a[r][i] b[r][j], one register tile of 4 x 8, of which `height` x `width` entries exist.
inline void add_tile(const double* a, const double* b, Index rows, Index height, Index width, double* S, Index d) {
    v4 acc[4][2] = {};
    for (Index r = 0; r < rows; ++r) {
        const v4 b0 = load(b + r * kPanel), b1 = load(b + r * kPanel + 4);
        for (int q = 0; q < 4; ++q) {
            const v4 x = broadcast(a[r * kPanel + q]);
            acc[q][0] += x * b0;
            acc[q][1] += x * b1;
        }
    }
    if (height == 4 && width == kPanel) {
        for (int q = 0; q < 4; ++q, S += d) {
            store(S, load(S) + acc[q][0]);
            store(S + 4, load(S + 4) + acc[q][1]);
        }
    } else {
        for (Index q = 0; q < height; ++q)
            for (Index j = 0; j < width; ++j) S[q * d + j] += acc[q][j / 4][j % 4];
    }
}

constexpr Index kGramRows = 128;  // of two panels stay in the first-level cache

// S[i][j] += sum_r P[i][r] P[j][r] for i <= j, a register tile of 4 x 8 at a time.
inline void add_gram(const double* packed, Index panel_stride, Index rows, Index d, double* S) {
    for (Index r0 = 0; r0 < rows; r0 += kGramRows, packed += kGramRows * kPanel) {
        const Index count = smaller(kGramRows, rows - r0);
        for (Index j0 = 0; j0 < d; j0 += kPanel) {
            const double* b = packed + j0 / kPanel * panel_stride;
            for (Index i0 = 0; i0 < smaller(j0 + kPanel, d); i0 += 4)
                add_tile(packed + i0 / kPanel * panel_stride + i0 % kPanel, b, count, smaller<Index>(4, d - i0),
                         smaller(kPanel, d - j0), S + i0 * d + j0, d);
        }
    }
}

// Writes sqrt(w) (x - mean) into its place in the panels and adds w (x - mean) to sum.
inline void pack_row(const double* __restrict x, const double* __restrict mean, double root, double* __restrict sum,
                     double* __restrict packed, Index panel_stride, Index d) {
    Index j = 0;
    for (; j + kPanel <= d; j += kPanel, packed += panel_stride) {
        for (Index q = 0; q < kPanel; q += 4) {
            const v4 dev = (load(x + j + q) - load(mean + j + q)) * root;
            store(packed + q, dev);
            store(sum + j + q, load(sum + j + q) + dev * root);
        }
    }
    for (Index q = 0; j + q < d; ++q) {
        const double dev = (x[j + q] - mean[j + q]) * root;
        packed[q] = dev;
        sum[j + q] += dev * root;
    }
}

inline void subtract_outer(const double* a, double n, Index d, double* S) {  // S -= a a' / n, upper triangle
    for (Index i = 0; i < d; ++i) {
        const double f = a[i] / n;
        for (Index j = i; j < d; ++j) S[i * d + j] -= f * a[j];
    }
}

inline void mirror(double* S, Index d) {
    for (Index i = 0; i < d; ++i)
        for (Index j = 0; j < i; ++j) S[i * d + j] = S[j * d + i];
}

template <class T>
void full_moments(const Matrix<T>& X, const Labels& y, bool pooled, const Moments& m) {
    const Index d = X.cols, k = y.classes, panels = round_up(d, kPanel) / kPanel;
    // Enough rows that each class has some, few enough that a chunk stays in the cache.
    const Index cached = larger<Index>(64, 32768 / d), per_class = smaller(64 * k, 524288 / d);
    const Index chunk = larger(cached, per_class);
    const Index panel_stride = chunk * kPanel;
    Scratch weight(k), sum(k * d), packed(panels * panel_stride);
    Scratch buffer(sizeof(T) == sizeof(double) && X.col_stride == 1 ? 0 : chunk * d);
    Scratch next_storage(k + 1);
    Index* next = reinterpret_cast<Index*>(next_storage.get());  // the next place of each class among the packed rows
    static_assert(sizeof(Index) == sizeof(double), "scratch is counted in doubles");

    for (Index start = 0; start < X.rows; start += chunk) {
        const Index count = smaller(chunk, X.rows - start);
        const std::int32_t* code = y.code + start;
        const double* w = y.weight ? y.weight + start : nullptr;
        weight.clear(), sum.clear();
        seed_means(X, y, start, start + count, m);

        // Rows are read in the order of memory and land in the order of classes.
        std::memset(next, 0, sizeof(Index) * static_cast<std::size_t>(k + 1));
        if (!pooled) {
            for (Index r = 0; r < count; ++r) next[code[r] + 1] += !w || w[r] != 0.0;
            for (Index c = 0; c < k; ++c) next[c + 1] += next[c];
        }
        Index stride;
        const double* rows = contiguous_rows(X, start, count, buffer.get(), &stride);
        for (Index r = 0; r < count; ++r) {
            const Index c = code[r];
            const double wr = w ? w[r] : 1.0;
            if (wr == 0.0) continue;
            const double* x = rows + r * stride;
            weight[c] += wr;
            const Index place = next[pooled ? 0 : c]++;
            pack_row(x, m.mean + c * d, w ? __builtin_sqrt(wr) : 1.0, &sum[c * d], &packed[place * kPanel], panel_stride, d);
        }
        Index first = 0;
        for (Index c = 0; c < (pooled ? 1 : k); first = next[c], ++c)
            add_gram(&packed[first * kPanel], panel_stride, next[c] - first, d, m.scatter + c * d * d);

        for (Index c = 0; c < k; ++c) {
            if (weight[c] == 0.0) continue;
            const double n = m.weight[c] += weight[c];
            const double* a = &sum[c * d];
            subtract_outer(a, n, d, pooled ? m.scatter : m.scatter + c * d * d);
            for (Index j = 0; j < d; ++j) m.mean[c * d + j] += a[j] / n;
        }
    }
    for (Index c = 0; c < (pooled ? 1 : k); ++c) mirror(m.scatter + c * d * d, d);
}

}  // namespace
}  // namespace suffice::SUFFICE_ISA
