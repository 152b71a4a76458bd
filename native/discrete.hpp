// Counts and scores of discrete models: categories, dense counts, and counts in compressed sparse rows.
#pragma once
#include "factorials.hpp"
#include "scores.hpp"

namespace suffice::SUFFICE_ISA {
namespace {

using Word = std::uint64_t;
typedef Word w4 __attribute__((vector_size(32)));
static_assert(sizeof(Word) == sizeof(double) && sizeof(Index) == sizeof(double), "scratch is counted in doubles");

// Rows that are taken at a time: what is known of them stays in the first-level cache.
inline Index block_rows(Index width) { return larger<Index>(16, smaller<Index>(64, 1024 / larger<Index>(width, 1) / 8 * 8)); }

// The row of the table that belongs to each entry of a tile of rows. With x and lo taken modulo 2^64, x is a category
// where x - lo < span; the part of a range that its type cannot hold is cut off, since it would be met by wrapped values.
template <class T>
class Places {
public:
    // The tables of the columns follow each other. If `spare`, each begins with the row of what is no category;
    // otherwise that has the place -1.
    Places(const Matrix<T>& X, const Ranges& ranges, bool spare, Index rows)
        : X_(X), by_row_(X.cols > 1 && X.col_stride == 1), lanes_(rows), columns_(4 * round_up(X.cols, 4)), places_(rows * X.cols) {
        constexpr Word half = Word(1) << 63;  // moves everything to where signed numbers compare as unsigned ones did
        Word next = 0;
        for (Index j = 0; j < X.cols; ++j) {
            Word lo = Word(ranges.lo[j]), span = Word(ranges.width[j]), cut = 0;
            if (T(-1) < T(0)) {
                if (ranges.lo[j] > 0) span = smaller(span, half - lo);
            } else if (ranges.lo[j] < 0) {
                cut = smaller(span, Word(0) - lo);
                lo = 0, span -= cut;
            }
            Word* c = column(j);
            c[kLo] = lo + half, c[kSpan] = span - half, c[kStart] = next + spare + cut + half;
            c[kOther] = spare ? next : ~Word(0);
            next += Word(ranges.width[j]) + spare;
        }
        size_ = Index(next);
    }

    // Finds those of rows [first, first + count); returns whether all are categories, unless there is a spare row.
    bool find(Index first, Index count) const {
        const Index m = X_.cols;
        Word* place = reinterpret_cast<Word*>(places_.get());
        w4 any = {};  // of all or-ed: -1 shows in its sign
        if (by_row_)
            for (Index r = 0; r < count; ++r) any |= run<1>(X_.row(first + r), 1, m, column(0), place + r * m);
        else
            for (Index j = 0; j < m; ++j)
                any |= run<0>(X_.row(first) + j * X_.col_stride, X_.row_stride, count, column(j), place + j * lanes_);
        return Index(any[0] | any[1] | any[2] | any[3]) >= 0;
    }

    Index size() const { return size_; }  // rows of the table
    const Index* row(Index r) const { return reinterpret_cast<const Index*>(places_.get()) + (by_row_ ? r * X_.cols : r); }
    Index stride() const { return by_row_ ? 1 : lanes_; }

private:
    enum { kLo = 0, kSpan = 4, kStart = 8, kOther = 12 };  // four columns side by side

    Word* column(Index j) const { return reinterpret_cast<Word*>(columns_.get()) + j / 4 * 16 + j % 4; }

    // The places of n entries, which are those of n columns (step 1) or of one (step 0); returns all of them or-ed.
    template <int step>
    static w4 run(const T* __restrict x, Index stride, Index n, const Word* __restrict c, Word* __restrict place) {
        typedef T t4 __attribute__((vector_size(4 * sizeof(T))));
        w4 any = {};
        Index i = 0;
        for (; stride == 1 && i + 4 <= n; i += 4, c += 16 * step) {
            t4 items;
            std::memcpy(&items, x + i, sizeof items);
            const w4 u = __builtin_convertvector(items, w4) - words<step>(c + kLo);
            const w4 p = i4(u) < i4(words<step>(c + kSpan)) ? words<step>(c + kStart) + u : words<step>(c + kOther);
            std::memcpy(place + i, &p, sizeof p);
            any |= p;
        }
        for (; i < n; ++i, c += step) {
            const Word u = Word(x[i * stride]) - c[kLo];
            place[i] = Index(u) < Index(c[kSpan]) ? c[kStart] + u : c[kOther];
            any |= place[i];
        }
        return any;
    }

    template <int step>
    static w4 words(const Word* p) {
        if (step == 0) return w4{*p, *p, *p, *p};
        w4 w;
        std::memcpy(&w, p, sizeof w);
        return w;
    }

    const Matrix<T>& X_;
    bool by_row_;
    Index lanes_, size_;
    Scratch columns_, places_;
};

template <class T>
Index category_counts(const Matrix<T>& X, const Labels& y, const Ranges& ranges, double* table) {
    const Index m = X.cols, k = y.classes, tile = block_rows(m);
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

// Counts pairs of columns in strips: for each class, first column and category the counters of all its second columns lie
// side by side, so that a row adds along one strip after the other. Where second columns follow each other, so do their
// counters. At the end they are moved to where the caller wants them.
template <class Counter, class T>
void count_pairs(const Matrix<T>& X, const Labels& y, const Ranges& ranges, const Pairs& pairs, double* table) {
    struct Run {  // of pairs with the same first column, whose second columns follow each other
        Index first, from, to, strips, width, shift;  // second columns [from, to); where the strips begin, and their width
    };
    constexpr Index tile = 128;
    const Index d = X.cols, k = y.classes, m = pairs.size;
    Places<T> places(X, ranges, false, tile);
    Scratch begins(d + 1), found(m * Index(sizeof(Run) / sizeof(double))), copies(tile * d / 2 + 1);
    Index* start = reinterpret_cast<Index*>(begins.get());
    Run* runs = reinterpret_cast<Run*>(found.get());
    std::int32_t* near = reinterpret_cast<std::int32_t*>(copies.get());  // the places of a tile, row by row
    for (Index j = 0; j < d; ++j) start[j + 1] = start[j] + ranges.width[j];
    Index n = 0, cells = 0;
    for (Index e = 0; e < m;) {
        const Index i = pairs.first[e], opened = n;
        Index width = 0;
        while (e < m && pairs.first[e] == i) {
            const Index from = pairs.second[e], shift = width - start[from];
            Index to = from;
            for (; e < m && pairs.first[e] == i && pairs.second[e] == to; ++e) width += ranges.width[to++];
            runs[n++] = {i, from, to, cells, 0, shift};
        }
        for (Index r = opened; r < n; ++r) runs[r].width = width;
        cells += ranges.width[i] * width;
    }
    Scratch counters((k * cells * Index(sizeof(Counter)) + 7) / 8);
    Counter* count = reinterpret_cast<Counter*>(counters.get());
    for (Index first = 0; first < X.rows; first += tile) {
        const Index rows = smaller(tile, X.rows - first), stride = places.stride();
        const bool known = places.find(first, rows);
        for (Index r = 0; r < rows; ++r)
            for (Index j = 0; j < d; ++j) near[r * d + j] = std::int32_t(places.row(r)[j * stride]);
        for (const Run* run = runs; run < runs + n; ++run) {
            const Index length = run->to - run->from;
            for (Index r = 0; r < rows; ++r) {
                const Counter w = y.weight ? Counter(y.weight[first + r]) : Counter(1);
                const Index own = near[r * d + run->first];
                if (own < 0 || w == Counter(0)) continue;
                const Index strip = run->strips + (own - start[run->first]) * run->width + run->shift;
                Counter* c = count + y.code[first + r] * cells + strip;
                const std::int32_t* place = near + r * d + run->from;
                if (known) {
                    for (Index j = 0; j < length; ++j) c[place[j]] += w;
                } else {
                    for (Index j = 0; j < length; ++j)
                        if (place[j] >= 0) c[place[j]] += w;
                }
            }
        }
    }
    for (Index c = 0; c < k; ++c, count += cells)
        for (const Run* run = runs; run < runs + n; ++run)
            for (Index j = run->from; j < run->to; ++j)
                for (Index a = 0; a < ranges.width[run->first]; ++a, table += ranges.width[j]) {
                    const Counter* strip = count + run->strips + a * run->width + run->shift + start[j];
                    for (Index b = 0; b < ranges.width[j]; ++b) table[b] += double(strip[b]);
                }
}

template <class T>
void pair_counts(const Matrix<T>& X, const Labels& y, const Ranges& ranges, const Pairs& pairs, double* table) {
    if (y.weight) count_pairs<double>(X, y, ranges, pairs, table);
    else count_pairs<std::uint32_t>(X, y, ranges, pairs, table);
}

// Scores that are sums over a row's entries of rows of a table (.., k), each times a value. Entries has
//     row(e), value(e) and, where kFar says that the table is too large for the caches, ahead(e): a row needed soon.

struct One {};
inline v4 operator*(One, v4 v) { return v; }
inline double times(One, double v) { return v; }
inline double times(double a, double v) { return a * v; }

// Of n x 4 classes from c; the last four begin at `last`, where they may overlap those before them.
template <int n, bool overlap, class Entries>
inline void sum_tile(const Entries& entries, Index begin, Index end, const double* constant, Index c, Index last, double* sum) {
    constexpr int ways = n <= 3 ? 2 : 1;  // sums side by side: few classes alone would wait for each addition
    v4 acc[ways][n] = {};
    const auto at = [=](int q) { return overlap && q + 1 == n ? last : c + 4 * q; };
    const auto add = [&](Index e, v4* to) {
        if constexpr (Entries::kFar) {
            const double* soon = entries.ahead(e);
            for (int q = 0; q < n; q += 2) __builtin_prefetch(soon + c + 4 * q);
            __builtin_prefetch(soon + at(n - 1) + 3);
        }
        const double *row = entries.row(e) + c, *tail = row + (last - c);
        for (int q = 0; q < n; ++q) to[q] += entries.value(e) * load(overlap && q + 1 == n ? tail : row + 4 * q);
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

template <int n, class Entries>
inline void sum_tile(const Entries& entries, Index begin, Index end, const double* constant, Index c, Index k, double* sum) {
    if (c + 4 * n <= k) sum_tile<n, false>(entries, begin, end, constant, c, c + 4 * (n - 1), sum);
    else sum_tile<n, true>(entries, begin, end, constant, c, k - 4, sum);
}

// Runs for each row: a call would cost as much as a few entries.
template <class Entries>
[[gnu::always_inline]] inline void sum_entries(const Entries& entries, Index begin, Index end, Index k,
                                               const double* constant, double* sum) {
    switch (k) {
        case 1: return sum_few<1>(entries, begin, end, constant, sum);
        case 2: return sum_few<2>(entries, begin, end, constant, sum);
        case 3: return sum_few<3>(entries, begin, end, constant, sum);
    }
    for (Index c = 0; c < k; c += 24) {
        switch ((k - c + 3) / 4) {
            case 1: sum_tile<1>(entries, begin, end, constant, c, k, sum); break;
            case 2: sum_tile<2>(entries, begin, end, constant, c, k, sum); break;
            case 3: sum_tile<3>(entries, begin, end, constant, c, k, sum); break;
            case 4: sum_tile<4>(entries, begin, end, constant, c, k, sum); break;
            case 5: sum_tile<5>(entries, begin, end, constant, c, k, sum); break;
            default: sum_tile<6>(entries, begin, end, constant, c, k, sum);
        }
    }
}

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
    Index stride, width;
    const double* row(Index j) const { return table + place[j * stride] * width; }
    One value(Index) const { return {}; }
};

template <class T>
void category_scores(const Matrix<T>& X, const Ranges& ranges, Index k, const double* table, const double* constant,
                     const Scores& out) {
    const Index block = block_rows(larger(k, X.cols));
    Places<T> places(X, ranges, true, block);
    // Rows of the table that begin where vectors do are read faster: worth a copy if they are fewer than those of X.
    const Index size = places.size(), width = round_up(k, 4);
    const bool copy = size < X.rows;
    Scratch aligned(copy ? size * width : 0);
    for (Index i = 0; i < size && copy; ++i) std::memcpy(&aligned[i * width], table + i * k, sizeof(double) * k);
    score_rows(X.rows, k, block, out, [&](Index first, Index count, double* s) {
        places.find(first, count);
        for (Index r = 0; r < count; ++r) {
            const PlacedRows rows{copy ? aligned.get() : table, places.row(r), places.stride(), copy ? width : k};
            sum_entries(rows, 0, X.cols, k, constant, s + r * k);
        }
    });
}

// As category_scores, but each column has a row of the table for each two entries: that of its parent, and its own.
template <class T>
void tree_scores(const Matrix<T>& X, const Ranges& ranges, const std::int64_t* parent, Index k, const double* table,
                 const double* constant, const Scores& out) {
    const Index m = X.cols, block = block_rows(larger(k, m));
    Places<T> places(X, ranges, true, block);
    const Index stride = places.stride(), width = round_up(k, 4);
    Scratch rows(5 * m + 1);
    Index *start = reinterpret_cast<Index*>(rows.get()), *above = start + m + 1, *times = above + m, *cell = times + m;
    Index* shift = cell + m;  // of the rows of each column, less where its entries begin
    for (Index j = 0; j < m; ++j) start[j + 1] = start[j] + ranges.width[j] + 1;
    Index size = 0;
    for (Index j = 0; j < m; ++j) {
        const Index p = parent[j], own = ranges.width[j] + 1;
        above[j] = (p < 0 ? j : p) * stride, times[j] = p < 0 ? 0 : own;
        shift[j] = size - start[j] - (p < 0 ? 0 : start[p] * own);
        size += own * (p < 0 ? 1 : ranges.width[p] + 1);
    }
    const bool copy = size < X.rows;
    Scratch aligned(copy ? size * width : 0);
    for (Index i = 0; i < size && copy; ++i) std::memcpy(&aligned[i * width], table + i * k, sizeof(double) * k);
    score_rows(X.rows, k, block, out, [&](Index first, Index count, double* s) {
        places.find(first, count);
        for (Index r = 0; r < count; ++r) {
            const Index* place = places.row(r);
            for (Index j = 0; j < m; ++j) cell[j] = shift[j] + place[above[j]] * times[j] + place[j * stride];
            sum_entries(PlacedRows{copy ? aligned.get() : table, cell, 1, copy ? width : k}, 0, m, k, constant, s + r * k);
        }
    });
}

template <class V>
inline bool is_count(V v) {
    if constexpr (V(0.5) != V(0)) return v >= V(0) && v <= std::numeric_limits<V>::max();
    return v >= V(0);
}

constexpr Index kAhead = 12;  // entries of a sparse row for which memory is asked in advance

// An entry beyond which memory is not asked for. Rows may not follow each other, if they were changed before they were
// checked; whoever asks has an entry, so that there is a first.
template <class V, class I>
inline Index last_entry(const SparseRows<V, I>& X) { return larger<Index>(X.indptr[X.rows] - 1, 0); }

// Where row i of a table with k columns would lie, to ask for it: no arithmetic of pointers, as there may be no such row.
template <class I>
inline const double* address(const double* table, I i, Index k) {
    return reinterpret_cast<const double*>(reinterpret_cast<std::uintptr_t>(table) + std::uintptr_t(i) * std::uintptr_t(k) * sizeof *table);
}

// Adds entries [first, stop) to the row of their class, and asks for memory of that row, or another, for later entries.
template <bool presence, class V, class I>
inline void add_entries(const SparseRows<V, I>& X, Index first, Index stop, double w, double* row, const double* ahead) {
    for (Index e = first; e < stop; ++e) {
        if (ahead) __builtin_prefetch(address(ahead, X.indices[e + kAhead], 1), 1);
        const V v = X.data[e];
        row[inside(X.indices[e], X.cols)] += presence ? (v > V(0) ? w : 0.0) : w * double(v);
    }
}

// Adds a row of X; returns whether it holds counts, in columns that exist. Memory of the next one's class is asked for, but
// not by the last rows, which have no entries far enough ahead.
template <bool presence, class V, class I>
inline bool add_sparse_row(const SparseRows<V, I>& X, Index r, double w, double* row, const double* next) {
    const Index first = X.indptr[r], stop = larger(X.indptr[r + 1], first);
    const I cols = I(smaller<Index>(X.cols, std::numeric_limits<I>::max()));
    I bad = 0;
    for (Index e = first; e < stop; ++e) bad |= (X.indices[e] < 0) | (X.indices[e] >= cols) | I(!is_count(X.data[e]));
    if (stop + kAhead > X.indptr[X.rows]) {
        add_entries<presence>(X, first, stop, w, row, static_cast<const double*>(nullptr));
    } else {
        const Index own = larger(stop - kAhead, first);
        add_entries<presence>(X, first, own, w, row, row);
        add_entries<presence>(X, own, stop, w, row, next);
    }
    return !bad;
}

// Rows are taken as they come: reading them class by class, to keep a row of the table near, costs more than it saves. Sums
// of log x! follow for some rows at a time, which are still in the cache: between single rows, they would hold up the loop
// that waits for memory.
template <class V, class I>
bool sparse_counts(const SparseRows<V, I>& X, const Labels& y, bool presence, double* table, double* log_factorials) {
    const Index n = X.rows;
    RowCells<V, I> cells(X);
    ClassFactorials factorials(log_factorials);
    bool good = true;
    for (Index first = 0; first < n; first += kTile) {
        const Index stop = smaller(first + kTile, n);
        for (Index r = first; r < stop; ++r) {
            const double w = y.weight ? y.weight[r] : 1.0;
            if (w == 0.0) continue;
            double* row = table + y.code[r] * X.cols;
            const double* next = table + y.code[smaller(r + 1, n - 1)] * X.cols;
            good &= presence ? add_sparse_row<true>(X, r, w, row, next) : add_sparse_row<false>(X, r, w, row, next);
        }
        for (Index r = first; r < stop && log_factorials; ++r) {
            const double w = y.weight ? y.weight[r] : 1.0;
            if (w == 0.0) continue;
            Index count, room;
            const double* x = cells(r, &count, &room);
            factorials.add(x, count, room, y.code[r], w);
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
    const double* row(Index e) const { return slope + inside(X.indices[e], X.cols) * k; }
    const double* ahead(Index e) const { return address(slope, X.indices[smaller(e + kAhead, last)], k); }
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
    const Index last = last_entry(X);
    if (X.data) run(SparseEntries<V, I, true>{X, slope, k, last});
    else run(SparseEntries<V, I, false>{X, slope, k, last});
}

// Adds w x, or w where x > 0, to count and w where x is NaN to missing.
template <bool presence>
inline bool count_row(const double* __restrict x, double w, double* __restrict count, double* __restrict missing, Index d) {
    constexpr double lowest = presence ? -kMax : 0.0;
    std::int64_t bad = 0, gone = 0;  // as wide as what is looked at, for the vectors
    for (Index j = 0; j < d; ++j) {
        bad |= (x[j] < lowest) | (x[j] > kMax);
        gone |= x[j] != x[j];
        count[j] += presence ? w * double(x[j] > 0.0) : x[j] == x[j] ? w * x[j] : 0.0;
    }
    for (Index j = 0; j < d && gone; ++j) missing[j] += x[j] != x[j] ? w : 0.0;
    return !bad;
}

template <class T>
bool dense_counts(const Matrix<T>& X, const Labels& y, bool presence, double* count, double* missing,
                  double* log_factorials) {
    const Index d = X.cols;
    Scratch buffer(kTile * d);
    ClassFactorials factorials(log_factorials);
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
            if (log_factorials) factorials.add(x, d, d, y.code[first + r], w);
        }
    }
    return good;
}

}  // namespace
}  // namespace suffice::SUFFICE_ISA
