// Soft labels: from log joint densities to responsibilities, and the moments and counts of rows that belong to every class
// by a share.
#pragma once
#include "discrete.hpp"
#include "moments.hpp"

namespace suffice::SUFFICE_ISA {
namespace {

// Responsibilities s[class][lane] of four rows in place of their log joint densities; returns log p(row) and the entropy.
inline void soften_lanes(double* s, Index lanes, Index k, double* log_density, double* entropy) {
    const v4 origin = origin_of(s, k, lanes);
    v4 sum = {}, weighted = {};
    for (Index c = 0; c < k; ++c) {
        const v4 x = load(s + c * lanes) - origin, e = exp_negative(x);
        store(s + c * lanes, e);
        sum += e;
        weighted += e * (x <= broadcast(kLowest) ? v4{} : x);
    }
    const v4 scale = 1.0 / sum;
    for (Index c = 0; c < k; ++c) store(s + c * lanes, load(s + c * lanes) * scale);
    const v4 logs = log_positive(sum);
    store(log_density, sum == v4{} ? broadcast(kNever) : origin + logs);
    store(entropy, logs - weighted * scale);
}

// The same of one row by log weights alone; returns the entropy.
inline double soften_row(const double* log_weight, double* s, Index lanes, Index k) {
    double top = log_weight[0], sum = 0.0, entropy = 0.0;
    for (Index c = 1; c < k; ++c) top = larger(top, log_weight[c]);
    for (Index c = 0; c < k; ++c) sum += s[c * lanes] = std::exp(log_weight[c] - top);
    for (Index c = 0; c < k; ++c) {
        s[c * lanes] /= sum;
        if (s[c * lanes] > 0.0) entropy -= s[c * lanes] * std::log(s[c * lanes]);
    }
    return entropy;
}

// In place. A row that is impossible under every class goes by the log weights in `fallback`, which has a row for each
// row, or one for all (stride 0). Writes the weighted sums of log p(row) and of the entropies to `sums`.
inline void soften(double* joint, Index n, Index k, const double* fallback, Index stride, const double* weight, double* sums) {
    const Index lanes = block_rows(k);
    Scratch s(k * lanes), log_density(lanes), entropy(lanes);
    sums[0] = sums[1] = 0.0;
    for (Index first = 0; first < n; first += lanes) {
        const Index count = smaller(lanes, n - first);
        double* rows = joint + first * k;
        transpose(Matrix<double>{rows, count, k, k, 1}, 0, count, nullptr, s.get(), lanes);
        for (Index r = 0; r < count; r += 4) soften_lanes(&s[r], lanes, k, &log_density[r], &entropy[r]);
        double log_sum = 0.0, entropy_sum = 0.0;
        for (Index r = 0; r < count; ++r) {
            if (log_density[r] == kNever)
                entropy[r] = soften_row(fallback + (first + r) * stride, &s[r], lanes, k);
            const double w = weight ? weight[first + r] : 1.0;
            if (w == 0.0) continue;  // even of a row that is impossible
            log_sum += w * log_density[r];
            entropy_sum += w * entropy[r];
        }
        sums[0] += log_sum, sums[1] += entropy_sum;
        for (Index r = 0; r < count; ++r)
            for (Index c = 0; c < k; ++c) rows[r * k + c] = s[c * lanes + r];
    }
}

// The shares of `count` rows from `first`, times their weights: [row][class], in place where there are no weights.
inline const double* weighted_shares(const Shares& y, Index first, Index count, double* buffer) {
    const double* share = y.share + first * y.classes;
    if (!y.weight) return share;
    for (Index r = 0; r < count; ++r)
        for (Index c = 0; c < y.classes; ++c) buffer[r * y.classes + c] = share[r * y.classes + c] * y.weight[first + r];
    return buffer;
}

// The weight of each class, and its largest share of a row.
inline void sum_shares(const double* __restrict share, Index rows, Index k, double* __restrict weight, double* __restrict most) {
    std::memset(weight, 0, sizeof(double) * static_cast<std::size_t>(k));
    std::memset(most, 0, sizeof(double) * static_cast<std::size_t>(k));
    for (Index r = 0; r < rows; ++r, share += k)
        for (Index c = 0; c < k; ++c) {
            weight[c] += share[c];
            most[c] = larger(most[c], share[c]);
        }
}

// As `seed_means`: a class that is new starts at the row of which it has most.
template <class T>
void seed_soft_means(const Matrix<T>& X, Index start, Index rows, const double* share, Index k, const double* most,
                     const Moments& m) {
    for (Index c = 0; c < k; ++c) {
        if (m.weight[c] != 0.0 || most[c] == 0.0) continue;
        Index heaviest = 0;
        for (Index r = rows; r-- > 0;) heaviest = share[r * k + c] == most[c] ? r : heaviest;
        for (Index j = 0; j < X.cols; ++j) m.mean[c * X.cols + j] = X.column(j)[(start + heaviest) * X.row_stride];
    }
}

// sum += w (x - mean) and square += w (x - mean)^2 over rows, for n x 4 columns that stay in registers.
template <int n>
inline void add_soft_columns(const double* x, Index stride, Index rows, const double* share, Index k, const double* mean,
                             double* sum, double* square) {
    v4 m[n], s[n] = {}, q[n] = {};
    for (int i = 0; i < n; ++i) m[i] = load(mean + 4 * i);
    for (Index r = 0; r < rows; ++r, x += stride, share += k) {
        const v4 w = broadcast(*share);
        for (int i = 0; i < n; ++i) {
            const v4 dev = load(x + 4 * i) - m[i], wdev = dev * w;
            s[i] += wdev;
            q[i] += wdev * dev;
        }
    }
    for (int i = 0; i < n; ++i) {
        store(sum + 4 * i, load(sum + 4 * i) + s[i]);
        store(square + 4 * i, load(square + 4 * i) + q[i]);
    }
}

template <class T>
void soft_diag_moments(const Matrix<T>& X, const Shares& y, const Moments& m) {
    const Index d = X.cols, k = y.classes, chunk = 4096, wide = round_up(d, 4);
    Scratch most(k), weight(k), mean(k * wide), sum(k * wide), square(k * wide), buffer(kTile * d), shares(chunk * k);
    for (Index start = 0; start < X.rows; start += chunk) {
        const Index rows = smaller(chunk, X.rows - start);
        const double* share = weighted_shares(y, start, rows, shares.get());
        sum_shares(share, rows, k, weight.get(), most.get());
        seed_soft_means(X, start, rows, share, k, most.get(), m);
        sum.clear(), square.clear();
        for (Index c = 0; c < k; ++c) std::memcpy(&mean[c * wide], m.mean + c * d, sizeof(double) * d);
        for (Index first = 0; first < rows; first += kTile) {
            const Index count = smaller(kTile, rows - first);
            Index stride;
            const double* x = contiguous_rows(X, start + first, count, buffer.get(), &stride);
            if (d % 4 && x != buffer.get()) {  // vectors reach beyond a row, and the last row is the end of X
                for (Index r = 0; r < count; ++r) std::memcpy(&buffer[r * d], x + r * stride, sizeof(double) * d);
                x = buffer.get(), stride = d;
            }
            for (Index c = 0; c < k; ++c) {
                if (weight[c] == 0.0) continue;
                for (Index j = 0; j < wide; j += 16) {
                    const Index at = c * wide + j, left = (wide - j) / 4;
                    const auto add = left >= 4   ? add_soft_columns<4>
                                     : left == 3 ? add_soft_columns<3>
                                     : left == 2 ? add_soft_columns<2>
                                                 : add_soft_columns<1>;
                    add(x + j, stride, count, share + first * k + c, k, &mean[at], &sum[at], &square[at]);
                }
            }
        }
        for (Index c = 0; c < k; ++c) {
            if (weight[c] == 0.0) continue;
            const double n = m.weight[c] += weight[c];
            for (Index j = 0; j < d; ++j) {
                const double s = sum[c * wide + j];
                m.mean[c * d + j] += s / n;
                m.scatter[c * d + j] += square[c * wide + j] - s * (s / n);
            }
        }
    }
}

// Writes sqrt(w) (x - mean) of rows into panels, column after column, and adds w (x - mean) to sum.
inline void pack_rows(const double* const* x, const double* root, Index rows, const double* mean, double* sum,
                      double* packed, Index panel_stride, Index d) {
    Index j = 0;
    for (; j + kPanel <= d; j += kPanel, packed += panel_stride) {
        const v4 m = load(mean + j);
        v4 s[2] = {};
        Index r = 0;
        for (; r + 2 <= rows; r += 2)
            for (int q = 0; q < 2; ++q) {
                const v4 dev = (load(x[r + q] + j) - m) * root[r + q];
                store(packed + (r + q) * kPanel, dev);
                s[q] += dev * root[r + q];
            }
        if (r < rows) {
            const v4 dev = (load(x[r] + j) - m) * root[r];
            store(packed + r * kPanel, dev);
            s[0] += dev * root[r];
        }
        store(sum + j, load(sum + j) + (s[0] + s[1]));
    }
    for (Index q = 0; j + q < d; ++q)
        for (Index r = 0; r < rows; ++r) {
            const double dev = (x[r][j + q] - mean[j + q]) * root[r];
            packed[r * kPanel + q] = dev;
            sum[j + q] += dev * root[r];
        }
}

template <class T>
void soft_full_moments(const Matrix<T>& X, const Shares& y, bool pooled, const Moments& m) {
    const Index d = X.cols, k = y.classes, panels = round_up(d, kPanel) / kPanel, block = gram_rows(d);
    const Index chunk = larger<Index>(block, 32768 / larger<Index>(d, 1));  // rows that stay in the cache for every class
    const Index panel_stride = block * kPanel + 8;                            // as in full_moments
    Scratch most(k), weight(k), sum(d), root(block), packed(panels * panel_stride), shares(chunk * k);
    Scratch buffer(sizeof(T) == sizeof(double) && X.col_stride == 1 ? 0 : chunk * d), pointers(block);
    const double** row = reinterpret_cast<const double**>(pointers.get());
    static_assert(sizeof(const double*) == sizeof(double), "scratch is counted in doubles");
    for (Index start = 0; start < X.rows; start += chunk) {
        const Index rows = smaller(chunk, X.rows - start);
        const double* share = weighted_shares(y, start, rows, shares.get());
        Index stride;
        const double* x = contiguous_rows(X, start, rows, buffer.get(), &stride);
        sum_shares(share, rows, k, weight.get(), most.get());
        seed_soft_means(X, start, rows, share, k, most.get(), m);
        for (Index c = 0; c < k; ++c) {
            if (weight[c] == 0.0) continue;
            double* S = pooled ? m.scatter : m.scatter + c * d * d;
            sum.clear();
            for (Index r = 0; r < rows;) {
                Index count = 0;
                for (; r < rows && count < block; ++r) {
                    const double w = share[r * k + c];
                    row[count] = x + r * stride, root[count] = w;
                    count += w != 0.0;
                }
                for (Index i = 0; i < count; ++i) root[i] = __builtin_sqrt(root[i]);
                pack_rows(row, root.get(), count, m.mean + c * d, sum.get(), packed.get(), panel_stride, d);
                add_gram(packed.get(), panel_stride, count, d, S, nullptr);
            }
            const double n = m.weight[c] += weight[c];
            subtract_outer(sum.get(), n, d, S);
            for (Index j = 0; j < d; ++j) m.mean[c * d + j] += sum[j] / n;
        }
    }
    for (Index c = 0; c < (pooled ? 1 : k); ++c) mirror(m.scatter + c * d * d, d);
}

template <class T>
Index soft_category_counts(const Matrix<T>& X, const Shares& y, const Ranges& ranges, double* table) {
    const Index m = X.cols, k = y.classes, tile = block_rows(m);
    Places<T> places(X, ranges, false, tile);
    const Index stride = places.stride();
    Scratch shares(tile * k);
    for (Index first = 0; first < X.rows; first += tile) {
        const Index count = smaller(tile, X.rows - first);
        const bool known = places.find(first, count);
        const double* share = weighted_shares(y, first, count, shares.get());
        for (Index r = 0; r < count; ++r, share += k) {
            if (y.weight && y.weight[first + r] == 0.0) continue;
            const Index* place = places.row(r);
            for (Index j = 0; j < m && !known; ++j)
                if (place[j * stride] < 0) return first + r;
            for (Index j = 0; j < m; ++j) {
                double* cell = table + place[j * stride] * k;
                Index c = 0;
                for (; c + 4 <= k; c += 4) store(cell + c, load(cell + c) + load(share + c));
                for (; c < k; ++c) cell[c] += share[c];
            }
        }
    }
    return X.rows;
}

}  // namespace
}  // namespace suffice::SUFFICE_ISA
