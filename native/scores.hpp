// Log-likelihoods of Gaussian and linear models, with the reductions that a decision needs fused in.
//
// A block of rows is transposed once so that rows lie in the vector's lanes, x[feature][lane]; each class then
// reads the block from the first-level cache.
#pragma once
#include <cmath>

#include "functions.hpp"

namespace suffice::SUFFICE_ISA {
namespace {

constexpr Index kLanes = 8;
constexpr double kMax = std::numeric_limits<double>::max();

// A finite stand-in for an overflown or undefined sum, so that far outliers keep finite scores.
inline v4 clamp(v4 v) {
    v = v < broadcast(kMax) ? v : broadcast(kMax);
    return v > broadcast(-kMax) ? v : broadcast(-kMax);
}

template <class T>
inline void transpose4(const T* const row[4], Index j, const double* center, double* x, Index lanes, v4* check) {
    const v4 m = center ? load(center + j) : v4{};
    const v4 a = load(row[0] + j), b = load(row[1] + j), c = load(row[2] + j), e = load(row[3] + j);
    *check += a * 0.0 + b * 0.0 + c * 0.0 + e * 0.0;
    const v4 p = a - m, q = b - m, r = c - m, s = e - m;
    const v4 pq0 = shuffle<0, 4, 2, 6>(p, q), pq1 = shuffle<1, 5, 3, 7>(p, q);
    const v4 rs0 = shuffle<0, 4, 2, 6>(r, s), rs1 = shuffle<1, 5, 3, 7>(r, s);
    store(x + (j + 0) * lanes, shuffle<0, 1, 4, 5>(pq0, rs0));
    store(x + (j + 1) * lanes, shuffle<0, 1, 4, 5>(pq1, rs1));
    store(x + (j + 2) * lanes, shuffle<2, 3, 6, 7>(pq0, rs0));
    store(x + (j + 3) * lanes, shuffle<2, 3, 6, 7>(pq1, rs1));
}

// Processors do not foresee reads of four rows at a time. Short rows share cache lines, and long ones are foreseen.
inline Index rows_ahead(Index d) { return d >= 8 && d <= 512 ? larger<Index>(4, 1024 / d) : 0; }

// x[j][lane] = X[first + lane][j] - center[j]; returns zero, or NaN where an entry is not finite.
template <class T>
double transpose(const Matrix<T>& X, Index first, Index count, const double* center, double* x, Index lanes) {
    const Index d = X.cols, fours = X.col_stride == 1 || X.row_stride == 1 ? count / 4 * 4 : 0, ahead = rows_ahead(d);
    double check = 0.0;
    v4 checks = {};
    const auto copy = [&](Index j, Index q) {
        const double v = X.column(j)[(first + q) * X.row_stride];
        x[j * lanes + q] = v - (center ? center[j] : 0.0);
        check += v * 0.0;
    };
    if (X.col_stride == 1) {
        for (Index r = 0; r < fours; r += 4) {
            const T* row[4] = {X.row(first + r), X.row(first + r + 1), X.row(first + r + 2), X.row(first + r + 3)};
            for (int q = 0; q < 4 && ahead; ++q)
                for (Index j = 0; j < d; j += Index(64 / sizeof(T))) __builtin_prefetch(row[q] + j + ahead * X.row_stride);
            Index j = 0;
            for (; j + 4 <= d; j += 4) transpose4(row, j, center, x + r, lanes, &checks);
            for (; j < d; ++j)
                for (Index q = r; q < r + 4; ++q) copy(j, q);
        }
    } else {
        for (Index j = 0; j < d && fours; ++j) {
            const v4 m = broadcast(center ? center[j] : 0.0);
            const T* column = X.column(j) + first;
            for (Index r = 0; r < fours; r += Index(64 / sizeof(T))) __builtin_prefetch(column + lanes + r);
            for (Index r = 0; r < fours; r += 4) {
                const v4 v = load(column + r);
                store(x + j * lanes + r, v - m);
                checks += v * 0.0;
            }
        }
    }
    for (Index j = 0; j < d; ++j)
        for (Index q = fours; q < count; ++q) copy(j, q);
    return check + checks[0] + checks[1] + checks[2] + checks[3];
}

constexpr double kNever = -std::numeric_limits<double>::infinity();

// The largest of s[class] of four lanes, or zero where all are -inf.
inline v4 origin_of(const double* s, Index k, Index lanes) {
    v4 top = load(s);
    for (Index c = 1; c < k; ++c) {
        const v4 sc = load(s + c * lanes);
        top = sc > top ? sc : top;
    }
    return top > broadcast(kNever) ? top : v4{};
}

inline v4 log_sum_exp(const double* s, Index k, Index lanes) {
    const v4 origin = origin_of(s, k, lanes);
    v4 sum = {};
    for (Index c = 0; c < k; ++c) sum += exp_negative(load(s + c * lanes) - origin);
    return sum == v4{} ? broadcast(kNever) : origin + log_positive(sum);
}

// Writes what is wanted of s[class][lane], the scores of `count` rows from `first`; all lanes up to kLanes' multiple exist.
inline void reduce_lanes(const double* s, Index lanes, Index k, Index first, Index count, const Scores& out) {
    if (out.all)
        for (Index r = 0; r < count; ++r)
            for (Index c = 0; c < k; ++c) out.all[(first + r) * k + c] = s[c * lanes + r];
    if (out.best) {
        for (Index r = 0; r < count; r += 4) {
            v4 top = load(s + r);
            i4 place = {};
            for (Index c = 1; c < k; ++c) {
                const v4 sc = load(s + c * lanes + r);
                const i4 wins = sc > top;
                top = wins ? sc : top;
                place = wins ? i4{c, c, c, c} : place;
            }
            std::memcpy(out.best + first + r, &place, sizeof(std::int64_t) * smaller<Index>(4, count - r));
        }
    }
    if (out.evidence)
        for (Index r = 0; r < count; r += 4) {
            const v4 total = log_sum_exp(s + r, k, lanes);
            std::memcpy(out.evidence + first + r, &total, sizeof(double) * smaller<Index>(4, count - r));
        }
}

// Runs score(x, lanes, used, s) on block after block, where s[class][lane] is its result, and reduces s to `out`.
template <class T, class Score>
bool score_blocks(const Matrix<T>& X, const double* center, Index k, const Scores& out, const Score& score) {
    const Index d = X.cols, lanes = larger<Index>(2 * kLanes, smaller<Index>(64, 1024 / larger<Index>(d, 1) / kLanes * kLanes));
    Scratch x(round_up(d, 4) * lanes), s(k * lanes);
    double check = 0.0;
    for (Index first = 0; first < X.rows; first += lanes) {
        const Index count = smaller(lanes, X.rows - first), used = round_up(count, kLanes);
        check += transpose(X, first, count, center, x.get(), lanes);
        score(x.get(), lanes, used, s.get());
        reduce_lanes(s.get(), lanes, k, first, count, out);
    }
    return check == 0.0;
}

// Squared distances of eight lanes to n classes at once, each feature divided by its standard deviation.
template <int n>
inline void diag_tile(const double* x, Index lanes, Index d, const double* mean, const double* scale,
                      const double* constant, double* s) {
    v4 acc[n][2] = {};
    for (Index j = 0; j < d; ++j) {
        const v4 x0 = load(x + j * lanes), x1 = load(x + j * lanes + 4);
        for (int c = 0; c < n; ++c) {
            const v4 m = broadcast(mean[c * d + j]), p = broadcast(scale[c * d + j]);
            const v4 d0 = (x0 - m) * p, d1 = (x1 - m) * p;
            acc[c][0] += d0 * d0;
            acc[c][1] += d1 * d1;
        }
    }
    for (int c = 0; c < n; ++c)
        for (int q = 0; q < 2; ++q) store(s + c * lanes + 4 * q, constant[c] - 0.5 * clamp(acc[c][q]));
}

template <class T>
bool diag_scores(const Matrix<T>& X, Index k, const double* mean, const double* scale, const double* constant,
                 const Scores& out) {
    const Index d = X.cols;
    return score_blocks(X, nullptr, k, out, [=](const double* x, Index lanes, Index used, double* s) {
        for (Index r = 0; r < used; r += kLanes) {
            Index c = 0;
            for (; c + 2 <= k; c += 2)
                diag_tile<2>(x + r, lanes, d, mean + c * d, scale + c * d, constant + c, s + c * lanes + r);
            if (c < k) diag_tile<1>(x + r, lanes, d, mean + c * d, scale + c * d, constant + c, s + c * lanes + r);
        }
    });
}

// acc[q][lane] = sum_i w[i][q] x[i][lane]: n outputs of a matrix product for eight lanes.
template <int n>
inline void product_tile(const double* w, Index length, const double* x, Index lanes, v4 acc[n][2]) {
    v4 a[n][2] = {};
    for (Index i = 0; i < length; ++i) {
        const v4 x0 = load(x + i * lanes), x1 = load(x + i * lanes + 4);
        for (int q = 0; q < n; ++q) {
            const v4 wq = broadcast(w[n * i + q]);
            a[q][0] += wq * x0;
            a[q][1] += wq * x1;
        }
    }
    for (int q = 0; q < n; ++q) acc[q][0] = a[q][0], acc[q][1] = a[q][1];
}

// Whitening matrices are lower triangular, so four outputs 4b .. 4b + 3 need the inputs 0 .. 4b + 3 alone.
template <class T>
bool full_scores(const Matrix<T>& X, Index k, const double* mean, const double* whitening, const double* constant,
                 const Scores& out) {
    const Index d = X.cols, blocks = round_up(d, 4) / 4, per_class = 8 * blocks * (blocks + 1);
    Scratch packed(k * per_class);  // [class][block][input][4 outputs]
    for (Index c = 0; c < k; ++c)
        for (Index j = 0; j < d; ++j)
            for (Index i = 0; i <= j; ++i)
                packed[c * per_class + 8 * (j / 4) * (j / 4 + 1) + 4 * i + j % 4] = whitening[(c * d + j) * d + i];
    Scratch centred(4 * blocks * 64);
    return score_blocks(X, nullptr, k, out, [&](const double* x, Index lanes, Index used, double* s) {
        for (Index c = 0; c < k; ++c) {
            for (Index j = 0; j < d; ++j) {
                const v4 m = broadcast(mean[c * d + j]);
                for (Index r = 0; r < used; r += 4) store(&centred[j * lanes + r], load(x + j * lanes + r) - m);
            }
            for (Index r = 0; r < used; r += kLanes) {
                v4 q0 = {}, q1 = {}, z[4][2];
                const double* w = &packed[c * per_class];
                for (Index b = 0; b < blocks; w += 16 * (b + 1), ++b) {
                    product_tile<4>(w, 4 * (b + 1), &centred[r], lanes, z);
                    for (int q = 0; q < 4; ++q) q0 += z[q][0] * z[q][0], q1 += z[q][1] * z[q][1];
                }
                store(s + c * lanes + r, constant[c] - 0.5 * clamp(q0));
                store(s + c * lanes + r + 4, constant[c] - 0.5 * clamp(q1));
            }
        }
    });
}

// Classes are taken n at a time; prepare(x, lanes, used) may change the rows of a block.
template <int n, class T, class Prepare>
bool linear_tiles(const Matrix<T>& X, Index k, const double* center, const double* slope, const double* constant,
                  const Scores& out, const Prepare& prepare) {
    const Index d = X.cols;
    Scratch packed(round_up(k, n) * d);  // [tile of classes][feature][n classes]
    for (Index c = 0; c < k; ++c)
        for (Index j = 0; j < d; ++j) packed[c / n * n * d + n * j + c % n] = slope[c * d + j];
    return score_blocks(X, center, k, out, [&](double* x, Index lanes, Index used, double* s) {
        prepare(x, lanes, used);
        for (Index r = 0; r < used; r += kLanes)
            for (Index c0 = 0; c0 < k; c0 += n) {
                v4 z[n][2];
                product_tile<n>(&packed[c0 * d], d, x + r, lanes, z);
                for (Index c = c0; c < smaller(c0 + n, k); ++c)
                    for (int q = 0; q < 2; ++q) store(s + c * lanes + r + 4 * q, constant[c] + clamp(z[c - c0][q]));
            }
    });
}

template <class T, class Prepare>
bool prepared_scores(const Matrix<T>& X, Index k, const double* center, const double* slope, const double* constant,
                     const Scores& out, const Prepare& prepare) {
    const Index tiles = round_up(k, 6) / 6, width = (k + tiles - 1) / tiles;  // as even as can be
    if (width <= 2) return linear_tiles<2>(X, k, center, slope, constant, out, prepare);
    if (width <= 4) return linear_tiles<4>(X, k, center, slope, constant, out, prepare);
    if (width == 5) return linear_tiles<5>(X, k, center, slope, constant, out, prepare);
    return linear_tiles<6>(X, k, center, slope, constant, out, prepare);
}

template <class T>
bool linear_scores(const Matrix<T>& X, Index k, const double* center, const double* slope, const double* constant,
                   const Scores& out) {
    return prepared_scores(X, k, center, slope, constant, out, [](double*, Index, Index) {});
}

template <class T>
bool count_scores(const Matrix<T>& X, Index k, bool presence, const double* slope, const double* constant, const Scores& out) {
    if (presence)
        return prepared_scores(X, k, nullptr, slope, constant, out, [&](double* x, Index lanes, Index used) {
            for (Index j = 0; j < X.cols; ++j, x += lanes)
                for (Index r = 0; r < used; r += 4) store(x + r, load(x + r) > v4{} ? broadcast(1.0) : v4{});
        });
    bool negative = false;
    const bool finite = prepared_scores(X, k, nullptr, slope, constant, out, [&](double* x, Index lanes, Index used) {
        v4 least = {};
        for (Index j = 0; j < X.cols; ++j, x += lanes)
            for (Index r = 0; r < used; r += 4) {
                const v4 v = load(x + r);
                least = v < least ? v : least;
            }
        negative |= least[0] < 0.0 || least[1] < 0.0 || least[2] < 0.0 || least[3] < 0.0;
    });
    return finite && !negative;
}

}  // namespace
}  // namespace suffice::SUFFICE_ISA
