// Counts and scores of discrete models: categories, dense counts, and counts in compressed sparse rows.
#pragma once
#include "scores.hpp"

namespace suffice::SUFFICE_ISA {
namespace {

using Word = std::uint64_t;
typedef Word w4 __attribute__((vector_size(32)));
static_assert(sizeof(Word) == sizeof(double) && sizeof(Index) == sizeof(double), "scratch is counted in doubles");

// The row of the table that belongs to each entry of a tile of rows. With x and lo taken modulo 2^64, x is a category
// where x - lo < span; the part of a range that its type cannot hold is cut off, since it would be met by wrapped values.
template <class T>
class Places {
public:
    // The tables of the columns follow each other. If `spare`, each begins with the row of what is no category;
    // otherwise that has the place -1.
    Places(const Matrix<T>& X, const Ranges& ranges, bool spare, Index rows)
        : X_(X), by_row_(X.col_stride == 1), lanes_(rows), columns_(4 * X.cols), places_(rows * X.cols) {
        Word next = 0;
        for (Index j = 0; j < X.cols; ++j) {
            Word lo = Word(ranges.lo[j]), span = Word(ranges.width[j]), cut = 0;
            if (T(-1) < T(0)) {
                const Word rest = Word(std::numeric_limits<std::int64_t>::max()) - lo + 1;
                if (ranges.lo[j] > 0) span = smaller(span, rest);
            } else if (ranges.lo[j] < 0) {
                cut = smaller(span, Word(0) - lo);
                lo = 0, span -= cut;
            }
            column(kLo)[j] = lo, column(kSpan)[j] = span;
            column(kStart)[j] = next + spare + cut, column(kOther)[j] = spare ? next : ~Word(0);
            next += Word(ranges.width[j]) + spare;
        }
    }

    // Finds those of rows [first, first + count); returns whether all are categories, unless there is a spare row.
    bool find(Index first, Index count) {
        Word* place = reinterpret_cast<Word*>(places_.get());
        Word any = 0;  // -1 shows in its sign
        if (by_row_)
            for (Index r = 0; r < count; ++r) any |= run<1>(X_.row(first + r), 1, X_.cols, 0, place + r * X_.cols);
        else
            for (Index j = 0; j < X_.cols; ++j)
                any |= run<0>(X_.row(first) + j * X_.col_stride, X_.row_stride, count, j, place + j * lanes_);
        return Index(any) >= 0;
    }

    const Index* row(Index r) const { return reinterpret_cast<const Index*>(places_.get()) + (by_row_ ? r * X_.cols : r); }
    Index stride() const { return by_row_ ? 1 : lanes_; }

private:
    enum { kLo, kSpan, kStart, kOther };

    // The places of n entries, those of columns j, j + step, ..; returns all of them or-ed.
    template <int step>
    Word run(const T* x, Index stride, Index n, Index j, Word* place) const {
        typedef T t4 __attribute__((vector_size(4 * sizeof(T))));
        const Word *lo = column(kLo) + j, *span = column(kSpan) + j, *start = column(kStart) + j, *other = column(kOther) + j;
        Word any = 0;
        w4 anys = {};
        Index i = 0;
        for (; stride == 1 && i + 4 <= n; i += 4) {
            t4 items;
            std::memcpy(&items, x + i, sizeof items);
            const w4 u = __builtin_convertvector(items, w4) - words<step>(lo, i);
            const w4 p = u < words<step>(span, i) ? words<step>(start, i) + u : words<step>(other, i);
            std::memcpy(place + i, &p, sizeof p);
            anys |= p;
        }
        for (; i < n; ++i) {
            const Word u = Word(x[i * stride]) - lo[step * i];
            any |= place[i] = u < span[step * i] ? start[step * i] + u : other[step * i];
        }
        return any | anys[0] | anys[1] | anys[2] | anys[3];
    }

    template <int step>
    static w4 words(const Word* p, Index i) {
        if (step == 0) return w4{*p, *p, *p, *p};
        w4 w;
        std::memcpy(&w, p + i, sizeof w);
        return w;
    }

    Word* column(int which) const { return reinterpret_cast<Word*>(columns_.get()) + which * X_.cols; }

    const Matrix<T>& X_;
    bool by_row_;
    Index lanes_;
    Scratch columns_, places_;
};

template <class T>
Index category_counts(const Matrix<T>& X, const Labels& y, const Ranges& ranges, double* table) {
    const Index m = X.cols, k = y.classes, tile = larger<Index>(8, smaller<Index>(64, 1024 / larger<Index>(m, 1)));
    Places<T> places(X, ranges, false, tile);
    const Index stride = places.stride();
    for (Index first = 0; first < X.rows; first += tile) {
        const Index count = smaller(tile, X.rows - first);
        const bool known = places.find(first, count);
        for (Index r = 0; r < count; ++r) {
            const double w = y.weight ? y.weight[first + r] : 1.0;
            if (w == 0.0) continue;
            const Index* place = places.row(r);
            for (Index j = 0; j < m && !known; ++j)
                if (place[j * stride] < 0) return first + r;
            double* cell = table + y.code[first + r];
            for (Index j = 0; j < m; ++j) cell[place[j * stride] * k] += w;
        }
    }
    return X.rows;
}

// Scores that are sums over a row's entries of rows of a table (.., k), each times a value. Entries has
//     row(e), value(e) and ahead(e): a row that will be needed soon, or null.

struct One {};
inline v4 operator*(One, v4 v) { return v; }
inline double times(One, double v) { return v; }
inline double times(double a, double v) { return a * v; }

// Of n x 4 classes from c; the last four begin at `last`, where they may overlap those before them.
template <int n, class Entries>
inline void sum_tile(const Entries& entries, Index begin, Index end, const double* constant, Index c, Index last, double* sum) {
    constexpr int ways = n <= 3 ? 2 : 1;  // sums side by side: few classes alone would wait for each addition
    v4 acc[ways][n] = {};
    const auto at = [=](int q) { return q + 1 < n ? c + 4 * q : last; };
    const auto add = [&](Index e, v4* to) {
        if constexpr (Entries::kFar) {
            const double* soon = entries.ahead(e);
            for (int q = 0; q < n; q += 2) __builtin_prefetch(soon + c + 4 * q);
            __builtin_prefetch(soon + last + 3);
        }
        const double* row = entries.row(e);
        for (int q = 0; q < n; ++q) to[q] += entries.value(e) * load(row + at(q));
    };
    for (int q = 0; q < n; ++q) acc[0][q] = load(constant + at(q));
    Index e = begin;
    for (; e + ways <= end; e += ways)
        for (int i = 0; i < ways; ++i) add(e + i, acc[i]);
    for (; e < end; ++e) add(e, acc[0]);
    for (int q = 0; q < n; ++q) store(sum + at(q), ways == 2 ? acc[0][q] + acc[ways - 1][q] : acc[0][q]);
}

template <int k, class Entries>
inline void sum_few(const Entries& entries, Index begin, Index end, const double* constant, double* sum) {
    double acc[k];
    for (int c = 0; c < k; ++c) acc[c] = constant[c];
    for (Index e = begin; e < end; ++e) {
        if constexpr (Entries::kFar) __builtin_prefetch(entries.ahead(e));
        const double* row = entries.row(e);
        for (int c = 0; c < k; ++c) acc[c] += times(entries.value(e), row[c]);
    }
    for (int c = 0; c < k; ++c) sum[c] = acc[c];
}

template <class Entries>
inline void sum_entries(const Entries& entries, Index begin, Index end, Index k, const double* constant, double* sum) {
    switch (k) {
        case 1: return sum_few<1>(entries, begin, end, constant, sum);
        case 2: return sum_few<2>(entries, begin, end, constant, sum);
        case 3: return sum_few<3>(entries, begin, end, constant, sum);
    }
    for (Index c = 0; c < k; c += 24) {
        const Index groups = smaller<Index>(6, (k - c + 3) / 4), last = smaller(c + 4 * (groups - 1), k - 4);
        switch (groups) {
            case 1: sum_tile<1>(entries, begin, end, constant, c, last, sum); break;
            case 2: sum_tile<2>(entries, begin, end, constant, c, last, sum); break;
            case 3: sum_tile<3>(entries, begin, end, constant, c, last, sum); break;
            case 4: sum_tile<4>(entries, begin, end, constant, c, last, sum); break;
            case 5: sum_tile<5>(entries, begin, end, constant, c, last, sum); break;
            default: sum_tile<6>(entries, begin, end, constant, c, last, sum);
        }
    }
}

// Rows that are scored, and then reduced, at a time.
inline Index block_rows(Index width) { return larger<Index>(16, smaller<Index>(64, 1024 / larger<Index>(width, 1) / 8 * 8)); }

class Reducer {  // of scores[row][class]
public:
    Reducer(Index k, const Scores& out) : k_(k), lanes_(block_rows(k)), out_(out), s_(k * lanes_) {}

    // Of `count` rows, which are those from `first` of what is wanted.
    void operator()(const double* scores, Index first, Index count) const {
        for (Index r = 0; r < count; r += lanes_) {
            const Index some = smaller(lanes_, count - r);
            transpose(Matrix<double>{scores, count, k_, k_, 1}, r, some, nullptr, s_.get(), lanes_);
            reduce_lanes(s_.get(), lanes_, k_, first + r, some, out_);
        }
    }

private:
    Index k_, lanes_;
    Scores out_;
    Scratch s_;
};

inline void reduce(const double* scores, Index n, Index k, const Scores& out) { Reducer(k, out)(scores, 0, n); }

// Runs score(first, count, s) on block after block, where s[row][class] is its result, and reduces s to `out`.
template <class Score>
void score_rows(Index n, Index k, Index block, const Scores& out, const Score& score) {
    Scratch rows(out.all ? 0 : k * block);
    const Reducer reduce(k, {nullptr, out.best, out.evidence});
    for (Index first = 0; first < n; first += block) {
        const Index count = smaller(block, n - first);
        double* s = out.all ? out.all + first * k : rows.get();
        score(first, count, s);
        if (out.best || out.evidence) reduce(s, first, count);
    }
}

struct PlacedRows {
    static constexpr bool kFar = false;  // what varies is a few rows for each column
    const double* table;
    const Index* place;
    Index stride, k;
    const double* row(Index j) const { return table + place[j * stride] * k; }
    One value(Index) const { return {}; }
};

template <class T>
void category_scores(const Matrix<T>& X, const Ranges& ranges, Index k, const double* table, const double* constant,
                     const Scores& out) {
    const Index block = block_rows(larger(k, X.cols));
    Places<T> places(X, ranges, true, block);
    score_rows(X.rows, k, block, out, [&](Index first, Index count, double* s) {
        places.find(first, count);
        for (Index r = 0; r < count; ++r)
            sum_entries(PlacedRows{table, places.row(r), places.stride(), k}, 0, X.cols, k, constant, s + r * k);
    });
}

template <class V>
inline bool is_count(V v) {
    if constexpr (V(0.5) != V(0)) return v >= V(0) && v <= std::numeric_limits<V>::max();
    return v >= V(0);
}

constexpr Index kAhead = 12;  // entries of a sparse row for which memory is asked in advance

// Rows are taken as they come: reading them class by class, to keep a row of the table near, costs more than it saves.
template <class V, class I>
bool sparse_counts(const SparseRows<V, I>& X, const Labels& y, bool presence, double* table) {
    const Index n = X.rows, last = X.indptr[n] - 1;
    bool good = true;
    for (Index r = 0; r < n; ++r) {
        const double w = y.weight ? y.weight[r] : 1.0;
        if (w == 0.0) continue;
        double* row = table + y.code[r] * X.cols;
        const double* next = table + y.code[smaller(r + 1, n - 1)] * X.cols;
        const Index end = X.indptr[r + 1];
        for (Index e = X.indptr[r]; e < end; ++e) {
            const Index soon = smaller(e + kAhead, last);
            __builtin_prefetch((soon < end ? row : next) + X.indices[soon], 1);
            const V v = X.data[e];
            good &= is_count(v);
            row[X.indices[e]] += presence ? (v > V(0) ? w : 0.0) : w * double(v);
        }
    }
    return good;
}

template <class V, class I, bool valued>
struct SparseEntries {
    static constexpr bool kFar = true;
    const SparseRows<V, I>& X;
    const double* slope;
    Index k, last;
    const double* row(Index e) const { return slope + Index(X.indices[e]) * k; }
    const double* ahead(Index e) const { return row(smaller(e + kAhead, last)); }
    auto value(Index e) const {
        if constexpr (valued) return double(X.data[e]);
        else return One{};
    }
};

template <class V, class I>
void sparse_scores(const SparseRows<V, I>& X, Index k, const double* slope, const double* constant, const Scores& out) {
    const auto run = [&](const auto& entries) {
        score_rows(X.rows, k, block_rows(k), out, [&](Index first, Index count, double* s) {
            for (Index r = 0; r < count; ++r)
                sum_entries(entries, X.indptr[first + r], X.indptr[first + r + 1], k, constant, s + r * k);
        });
    };
    const Index last = X.indptr[X.rows] - 1;
    if (X.data) run(SparseEntries<V, I, true>{X, slope, k, last});
    else run(SparseEntries<V, I, false>{X, slope, k, last});
}

inline v4 only(i4 where, v4 v) { return where ? v : v4{}; }

// Adds w x, or w where x > 0, to count and w where x is NaN to missing.
template <bool presence>
inline bool count_row(const double* __restrict x, double w, double* __restrict count, double* __restrict missing, Index d) {
    const v4 lowest = broadcast(presence ? -kMax : 0.0), highest = broadcast(kMax), weight = broadcast(w);
    i4 bad = {}, gone = {};
    Index j = 0;
    for (; j + 4 <= d; j += 4) {
        const v4 v = load(x + j);
        bad |= (v < lowest) | (v > highest);
        gone |= v != v;
        store(count + j, load(count + j) + (presence ? only(v > v4{}, weight) : only(v == v, v * w)));
    }
    bool any_bad = bad[0] | bad[1] | bad[2] | bad[3], any_gone = gone[0] | gone[1] | gone[2] | gone[3];
    for (; j < d; ++j) {
        any_bad |= x[j] < lowest[0] || x[j] > kMax;
        any_gone |= x[j] != x[j];
        count[j] += presence ? (x[j] > 0.0 ? w : 0.0) : x[j] == x[j] ? w * x[j] : 0.0;
    }
    for (j = 0; j < d && any_gone; ++j) missing[j] += x[j] != x[j] ? w : 0.0;
    return !any_bad;
}

template <class T>
bool dense_counts(const Matrix<T>& X, const Labels& y, bool presence, double* count, double* missing) {
    const Index d = X.cols;
    Scratch buffer(kTile * d);
    bool good = true;
    for (Index first = 0; first < X.rows; first += kTile) {
        const Index rows = smaller(kTile, X.rows - first);
        Index stride;
        const double* x = contiguous_rows(X, first, rows, buffer.get(), &stride);
        for (Index r = 0; r < rows; ++r, x += stride) {
            const double w = y.weight ? y.weight[first + r] : 1.0;
            if (w == 0.0) continue;
            const Index row = y.code[first + r] * d;
            good &= (presence ? count_row<true> : count_row<false>)(x, w, count + row, missing + row, d);
        }
    }
    return good;
}

}  // namespace
}  // namespace suffice::SUFFICE_ISA
