// Logarithms of factorials, summed over rows.
#pragma once
#include <array>
#include <cmath>
#include <memory>
#include <type_traits>

#include "functions.hpp"

namespace suffice::SUFFICE_ISA {
namespace {

constexpr int kSmall = 32, kWhole = 2048;

struct LogFactorials {
    double single[kWhole];          // log x!
    double pair[kSmall * kSmall];   // log x! y! at x + kSmall y
};

inline const LogFactorials& log_factorial_tables() {
    static const LogFactorials tables = [] {
        LogFactorials found;
        long double log = 0.0L, small[kSmall];
        for (int i = 0; i < kWhole; ++i) {
            if (i > 1) log += std::log((long double)(i));
            found.single[i] = double(log);
            if (i < kSmall) small[i] = log;
        }
        for (int i = 0; i < kSmall * kSmall; ++i) found.pair[i] = double(small[i % kSmall] + small[i / kSmall]);
        return found;
    }();
    return tables;
}

// log Gamma(x + 1) for x >= 0: Stirling's series at x + 8, less the logarithm of (x + 1) ... (x + 7).
inline v4 log_factorial(v4 x) {
    const v4 big = x + broadcast(8.0), z = 1.0 / big, z2 = z * z;
    const v4 product = ((x + 1.0) * (x + 2.0)) * ((x + 3.0) * (x + 4.0)) * ((x + 5.0) * (x + 6.0)) * (x + 7.0);
    const v4 series = z * (1.0 / 12 - z2 * (1.0 / 360 - z2 * (1.0 / 1260 - z2 * (1.0 / 1680 - z2 * (1.0 / 1188 -
                      z2 * (691.0 / 360360 - z2 * (1.0 / 156)))))));
    const v4 at_big = (big - 0.5) * log_positive(big) - big + 0.91893853320467274178 + series;
    const i4 far = x > broadcast(1e40);  // where the product overflows, and log Gamma(x + 1) is (x + 1/2) log x - x
    const v4 log_gamma = at_big - (far ? 7.0 * log_positive(big) : log_positive(far ? broadcast(1.0) : product));
    return x > v4{} ? log_gamma : v4{};
}

constexpr double kIndex = 0x1p52;  // added to a small whole number, it leaves the number in the lowest bits

inline v4 present(v4 x) { return x >= v4{} ? x : v4{}; }  // NaN is none

inline double sum(v4 x) { return (x[0] + x[1]) + (x[2] + x[3]); }

inline i4 is_no_index(v4 x, int end) { return ((x + kIndex) - kIndex != x) | (x >= broadcast(end)); }

// Runs look_up(a, b), which returns what is no index, over the cells of a row, eight at a time; returns whether all are.
template <class LookUp>
inline bool look_up_row(const double* x, Index count, const LookUp& look_up) {
    const Index whole = count / 8 * 8;
    double tail[8] = {};
    for (Index j = whole; j < count; ++j) tail[j - whole] = x[j];
    i4 others = {};
    for (Index j = 0; j < whole; j += 8) others |= look_up(load(x + j), load(x + j + 4));
    if (whole < count) others |= look_up(load(tail), load(tail + 4));
    return !(others[0] | others[1] | others[2] | others[3]);
}

// The sum of log x! over the cells of a row, and that of x. Whole numbers are looked up, two small ones at a time. NaN is none.
inline void add_row(const double* x, Index count, const LogFactorials& tables, double* log_factorials, double* total) {
    std::int64_t bits[4];
    double logs[4] = {};
    v4 totals = {};
    i4 others = {};  // what is no index of single numbers
    const auto index_of = [&](v4 index) { std::memcpy(bits, &index, sizeof bits); };
    const auto of_pairs = [&](v4 a, v4 b) {
        a = present(a), b = present(b);
        totals += a + b;
        index_of(a + double(kSmall) * b + kIndex);
        for (int q = 0; q < 4; ++q) logs[q] += tables.pair[bits[q] & (kSmall * kSmall - 1)];
        others |= is_no_index(a, kWhole) | is_no_index(b, kWhole);
        return is_no_index(a, kSmall) | is_no_index(b, kSmall);
    };
    const auto of_singles = [&](v4 a, v4 b) {
        for (const v4 each : {present(a), present(b)}) {
            totals += each;
            index_of(each + kIndex);
            for (int q = 0; q < 4; ++q) logs[q] += tables.single[bits[q] & (kWhole - 1)];
        }
        return i4{};
    };
    const auto of_any = [&](v4 a, v4 b) {
        totals += present(a) + present(b);
        const v4 found = log_factorial(present(a)) + log_factorial(present(b));
        for (int q = 0; q < 4; ++q) logs[q] += found[q];
        return i4{};
    };
    if (!look_up_row(x, count, of_pairs)) {
        totals = v4{}, logs[0] = logs[1] = logs[2] = logs[3] = 0.0;
        if (others[0] | others[1] | others[2] | others[3]) look_up_row(x, count, of_any);
        else look_up_row(x, count, of_singles);
    }
    *total = sum(totals);
    *log_factorials = (logs[0] + logs[1]) + (logs[2] + logs[3]);
}

// A column that was checked before the call, but may have changed since: the rows are the caller's.
template <class I>
inline Index inside(I column, Index cols) {
    return std::size_t(column) < std::size_t(cols) ? Index(column) : 0;
}

template <class V, class I>
inline Index longest_row(const SparseRows<V, I>& X) {
    Index n = 0;
    for (Index r = 0; r < X.rows; ++r) n = larger<Index>(n, X.indptr[r + 1] - X.indptr[r]);
    return n;
}

// The cells of sparse rows as doubles; what is stored in several cells of a column is one.
template <class V, class I>
class RowCells {
public:
    explicit RowCells(const SparseRows<V, I>& X) : X_(X), cells_(longest_row(X)) {}

    // Those of row r, and how many there are.
    const double* operator()(Index r, Index* count) {
        const Index begin = X_.indptr[r];
        const I* index = X_.indices + begin;
        const V* data = X_.data + begin;
        *count = larger<Index>(X_.indptr[r + 1] - begin, 0);
        bool ascending = true;
        for (Index e = 1; e < *count; ++e) ascending &= index[e - 1] < index[e];
        if (!ascending) {
            *count = add_up(index, data, *count);
        } else {
            if constexpr (std::is_same_v<V, double>) return data;
            for (Index e = 0; e < *count; ++e) cells_[e] = double(data[e]);
        }
        return cells_.get();
    }

private:
    Index add_up(const I* index, const V* data, Index n) {
        if (!last_) last_.reset(new Scratch(X_.cols));
        Index count = 0, *last = reinterpret_cast<Index*>(last_->get());
        for (Index e = 0; e < n; ++e) {
            Index& own = last[inside(index[e], X_.cols)];
            if (own <= before_) own = before_ + ++count, cells_[count - 1] = double(data[e]);
            else cells_[own - before_ - 1] += double(data[e]);
        }
        before_ += count;
        return count;
    }

    const SparseRows<V, I>& X_;
    Scratch cells_;
    std::unique_ptr<Scratch> last_;  // the last cell of each column, where all cells are numbered from one
    Index before_ = 0;               // cells of earlier rows that were added up
};

// Adds up log x! of cells and of the totals of rows, class by class, to sums (k, 2). The totals of four rows are taken at a
// time.
class ClassFactorials {
public:
    explicit ClassFactorials(double* sums) : sums_(sums) {}

    void add(const double* x, Index count, Index code, double weight) {
        double of_cells;
        add_row(x, count, log_factorial_tables(), &of_cells, total_ + n_);
        sums_[2 * code] += weight * of_cells;
        code_[n_] = code, weight_[n_] = weight;
        if (++n_ == 4) finish();
    }

    void finish() {
        const v4 of_totals = log_factorial(load(total_));
        for (int q = 0; q < n_; ++q) sums_[2 * code_[q] + 1] += weight_[q] * of_totals[q];
        n_ = 0;
    }

private:
    double* sums_;
    double total_[4] = {}, weight_[4];
    Index code_[4];
    int n_ = 0;
};

// For each row, the sum of log x! over its cells, and log x! of their sum; row(r, &count) finds the cells. They are not
// negative, or NaN, which counts as none.
template <class Row>
void log_factorials(Index rows, Row&& row, double* out) {
    const LogFactorials& tables = log_factorial_tables();
    for (Index r = 0; r < rows; r += 4) {
        double total[4] = {};
        const int some = int(smaller<Index>(4, rows - r));
        for (int q = 0; q < some; ++q) {
            Index count;
            const double* x = row(r + q, &count);
            add_row(x, count, tables, out + 2 * (r + q), total + q);
        }
        const v4 of_totals = log_factorial(load(total));
        for (int q = 0; q < some; ++q) out[2 * (r + q) + 1] = of_totals[q];
    }
}

template <class V, class I>
void sparse_log_factorials(const SparseRows<V, I>& X, double* out) { log_factorials(X.rows, RowCells<V, I>(X), out); }

template <class T>
void dense_log_factorials(const Matrix<T>& X, double* out) {
    Scratch buffer(kTile * X.cols);
    const double* tile = nullptr;
    Index stride = 0;
    log_factorials(X.rows, [&](Index r, Index* count) {
        if (r % kTile == 0) tile = contiguous_rows(X, r, smaller(kTile, X.rows - r), buffer.get(), &stride);
        *count = X.cols;
        return tile + r % kTile * stride;
    }, out);
}

}  // namespace
}  // namespace suffice::SUFFICE_ISA
