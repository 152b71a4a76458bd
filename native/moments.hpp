// Grouped first and second moments, centred on the running class means.
//
// Within a chunk of rows the deviations d = x - m from the mean m so far (or, for a class not seen yet, from one of its
// rows) give a = sum w d and q = sum w d d'. With n the weight afterwards the merge is Chan's,
//     m <- m + a / n,    S <- S + q - a a' / n,
// which cancels at most a factor two once a class has as much weight as a chunk, whatever the offset of the data.
// Third and fourth moments are summed about the same m, and moved to the new mean together with those before.
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
        for (Index j = 0; j < X.cols; ++j) m.mean[c * X.cols + j] = X.column(j)[r * X.row_stride];
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

constexpr Index kPanel = 4;  // columns side by side in the packed form: P[panel][row][4]

// S[i][j] += sum_r a[r][i] b[r][j], a register tile of one panel by `panels`, of which `height` x `width` entries exist.
template <int panels>
void add_tile(const double* a, const double* b, Index panel_stride, Index rows, Index height, Index width,
                     double* S, Index d) {
    v4 acc[kPanel][panels] = {};
    for (Index r = 0; r < rows * kPanel; r += kPanel) {
        v4 right[panels];
        for (int p = 0; p < panels; ++p) right[p] = load(b + p * panel_stride + r);
        for (int q = 0; q < kPanel; ++q) {
            const v4 left = broadcast(a[r + q]);
            for (int p = 0; p < panels; ++p) acc[q][p] += left * right[p];
        }
    }
    if (height >= kPanel && width >= panels * kPanel) {
        for (int q = 0; q < kPanel; ++q)
            for (int p = 0; p < panels; ++p) {
                double* s = S + q * d + p * kPanel;
                store(s, load(s) + acc[q][p]);
            }
    } else {
        double tile[kPanel][panels * kPanel];  // registers have no index
        for (int q = 0; q < kPanel; ++q)
            for (int p = 0; p < panels; ++p) store(tile[q] + p * kPanel, acc[q][p]);
        for (Index q = 0; q < smaller(height, kPanel); ++q)
            for (Index j = 0; j < smaller(width, panels * kPanel); ++j) S[q * d + j] += tile[q][j];
    }
}

constexpr Index kBlock = 64;  // columns whose packed rows stay in the second-level cache

// Rows at a time. Four panels of them, and what is read ahead, stay in the first-level cache; where S does not stay in
// any, more rows are worth the while.
inline Index gram_rows(Index d) { return d > kBlock ? 192 : 64; }

// S[i][j] += sum_r P[i][r] P[j][r] for i <= j; meanwhile as many cells are fetched from `ahead`, unless it is null.
inline void add_gram(const double* packed, Index panel_stride, Index rows, Index d, double* S, const char* ahead) {
    const Index step = gram_rows(d);
    for (Index r0 = 0; r0 < rows; r0 += step, packed += step * kPanel) {
        const Index count = smaller(step, rows - r0);
        const auto panel = [=](Index column) { return packed + column / kPanel * panel_stride; };
        // Adds the tile of columns i and j, and returns how many columns beside j it has: of those before `end`.
        const auto add = [=](Index i, Index j, Index end) {
            // Three panels keep the processor busy; the last four are two and two rather than three and one.
            const Index left = round_up(end - j, kPanel) / kPanel, panels = left == 4 ? 2 : smaller<Index>(left, 3);
            const auto tile = panels == 3 ? add_tile<3> : panels == 2 ? add_tile<2> : add_tile<1>;
            tile(panel(i), panel(j), panel_stride, count, d - i, d - j, S + i * d + j, d);
            return panels * kPanel;
        };
        for (Index begin = 0; begin < d; begin += kBlock) {
            const Index end = smaller(begin + kBlock, d);
            for (Index i = begin; i < end; i += kPanel) {
                if (ahead)  // a little for each panel: the processor drops what it is asked for all at once
                    for (Index line = 0; line < count * kPanel / 8; ++line, ahead += 64) __builtin_prefetch(ahead);
                for (Index j = i; j < end;) j += add(i, j, end);
            }
            for (Index j = end, width = 0; j < d; j += width)
                for (Index i = begin; i < end; i += kPanel) width = add(i, j, d);
        }
    }
}

// Writes sqrt(w) (x - mean) into its place in the panels and adds w (x - mean) to sum.
inline void pack_row(const double* __restrict x, const double* __restrict mean, double root, double* __restrict sum,
                     double* __restrict packed, Index panel_stride, Index d) {
    Index j = 0;
    for (; j + kPanel <= d; j += kPanel, packed += panel_stride) {
        const v4 dev = (load(x + j) - load(mean + j)) * root;
        store(packed, dev);
        store(sum + j, load(sum + j) + dev * root);
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

// Adds w |z|^2 z to cubic and returns w |z|^4, where z = x - mean.
inline double add_higher(const double* __restrict x, const double* __restrict mean, double w, double* __restrict cubic,
                         Index d) {
    v4 squares = {};
    double square = 0.0;
    Index j = 0;
    for (; j + 4 <= d; j += 4) {
        const v4 z = load(x + j) - load(mean + j);
        squares += z * z;
    }
    for (; j < d; ++j) square += (x[j] - mean[j]) * (x[j] - mean[j]);
    square += squares[0] + squares[1] + squares[2] + squares[3];
    const double f = w * square;
    for (j = 0; j + 4 <= d; j += 4) store(cubic + j, load(cubic + j) + (load(x + j) - load(mean + j)) * f);
    for (; j < d; ++j) cubic[j] += (x[j] - mean[j]) * f;
    return f * square;
}

// Moves third and fourth moments by s = a / n, from the centre about which `a` and the upper triangle S were summed.
inline void move_higher(const double* a, double n, const double* S, Index d, double* Ss, double* cubic,
                        double& quartic) {
    double trace = 0.0, ss = 0.0, sSs = 0.0, sc = 0.0;
    std::memset(Ss, 0, sizeof(double) * static_cast<std::size_t>(d));
    for (Index i = 0; i < d; ++i) {
        const double *row = S + i * d, si = a[i] / n;
        trace += row[i];
        Ss[i] += row[i] * si;
        for (Index j = i + 1; j < d; ++j) {
            Ss[i] += row[j] * (a[j] / n);
            Ss[j] += row[j] * si;
        }
    }
    for (Index j = 0; j < d; ++j) {
        const double s = a[j] / n;
        ss += s * s, sSs += s * Ss[j], sc += s * cubic[j];
    }
    for (Index j = 0; j < d; ++j) cubic[j] += (2.0 * n * ss - trace) * (a[j] / n) - 2.0 * Ss[j];
    quartic = larger(quartic - 4.0 * sc + 4.0 * sSs + ss * (2.0 * trace - 3.0 * n * ss), 0.0);
}

inline void mirror(double* S, Index d) {
    constexpr Index side = 16;  // of the squares that are turned while in the cache
    for (Index i0 = 0; i0 < d; i0 += side)
        for (Index j0 = 0; j0 <= i0; j0 += side)
            for (Index i = i0; i < smaller(i0 + side, d); ++i)
                for (Index j = j0; j < smaller(j0 + side, i); ++j) S[i * d + j] = S[j * d + i];
}

template <class T>
void full_moments(const Matrix<T>& X, const Labels& y, bool pooled, const Moments& m) {
    const Index d = X.cols, k = y.classes, panels = round_up(d, kPanel) / kPanel;
    // Enough rows that each class has some; where rows are sorted by class, few enough to stay in the cache.
    const Index together = gram_rows(d), cached = larger<Index>(64, 32768 / larger<Index>(d, 1));
    const Index per_class = smaller(together * k, (d > kBlock ? 4194304 : 524288) / larger<Index>(d, 1));
    const Index chunk = pooled ? larger<Index>(4096, 8 * k) : larger(cached, per_class);
    const Index block = pooled ? together : chunk;  // rows packed at a time
    const Index panel_stride = block * kPanel + 8;   // panels must not fall on the same lines of the cache
    Scratch weight(k), sum(k * d), packed(panels * panel_stride), product(m.cubic ? d : 0);
    Scratch buffer(sizeof(T) == sizeof(double) && X.col_stride == 1 ? 0 : block * d);
    Scratch next_storage(k + 1);
    Index* next = reinterpret_cast<Index*>(next_storage.get());  // the next place of each class among the packed rows
    static_assert(sizeof(Index) == sizeof(double), "scratch is counted in doubles");

    for (Index start = 0; start < X.rows; start += chunk) {
        const Index count = smaller(chunk, X.rows - start);
        const std::int32_t* code = y.code + start;
        const double* w = y.weight ? y.weight + start : nullptr;
        weight.clear(), sum.clear();
        seed_means(X, y, start, start + count, m);

        // Rows are read in the order of memory and land in the order of classes. Weights may change meanwhile, codes are
        // our own: a class then begins no later, and has no more rows, than if all had weight, so none lands outside.
        std::memset(next, 0, sizeof(Index) * static_cast<std::size_t>(k + 1));
        if (!pooled) {
            for (Index r = 0; r < count; ++r) next[code[r] + 1] += !w || w[r] != 0.0;
            for (Index c = 0; c < k; ++c) next[c + 1] += next[c];
        }
        for (Index r0 = 0; r0 < count; r0 += block) {
            const Index rows = smaller(block, count - r0);
            Index stride;
            const double* x = contiguous_rows(X, start + r0, rows, buffer.get(), &stride);
            if (pooled) next[0] = 0;
            for (Index r = r0; r < r0 + rows; ++r, x += stride) {
                const Index c = code[r];
                const double wr = w ? w[r] : 1.0;
                if (wr == 0.0) continue;
                weight[c] += wr;
                const Index place = next[pooled ? 0 : c]++;
                pack_row(x, m.mean + c * d, w ? __builtin_sqrt(wr) : 1.0, &sum[c * d], &packed[place * kPanel],
                         panel_stride, d);
                if (m.cubic) m.quartic[c] += add_higher(x, m.mean + c * d, wr, m.cubic + c * d, d);
            }
            const char* ahead = pooled && X.col_stride == 1 ? reinterpret_cast<const char*>(X.row(start + r0 + rows)) : nullptr;
            Index first = 0;
            for (Index c = 0; c < (pooled ? 1 : k); first = next[c], ++c)
                add_gram(&packed[first * kPanel], panel_stride, next[c] - first, d, m.scatter + c * d * d, ahead);
        }

        for (Index c = 0; c < k; ++c) {
            if (weight[c] == 0.0) continue;
            const double n = m.weight[c] += weight[c];
            const double* a = &sum[c * d];
            double* S = pooled ? m.scatter : m.scatter + c * d * d;
            if (m.cubic) move_higher(a, n, S, d, product.get(), m.cubic + c * d, m.quartic[c]);
            subtract_outer(a, n, d, S);
            for (Index j = 0; j < d; ++j) m.mean[c * d + j] += a[j] / n;
        }
    }
    for (Index c = 0; c < (pooled ? 1 : k); ++c) mirror(m.scatter + c * d * d, d);
}

}  // namespace
}  // namespace suffice::SUFFICE_ISA
