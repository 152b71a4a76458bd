// Logarithms of factorials, summed over rows.
#pragma once
#include <array>
#include <cmath>
#include <memory>
#include <vector>
#include <type_traits>

#include "functions.hpp"

namespace suffice::SUFFICE_ISA {
namespace {

constexpr int kSmall = 32, kWhole = 4096;

struct LogFactorials {
    double single[kWhole];          // log x!
    double pair[kSmall * kSmall];   // log x! y! at x + kSmall y: the sum of the two that are rounded
};

inline const LogFactorials& log_factorial_tables() {
    static const LogFactorials tables = [] {
        LogFactorials found;
        long double log = 0.0L;
        for (int i = 0; i < kWhole; ++i) {
            if (i > 1) log += std::log((long double)(i));
            found.single[i] = double(log);
        }
        for (int i = 0; i < kSmall * kSmall; ++i) found.pair[i] = found.single[i % kSmall] + found.single[i / kSmall];
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
inline std::int64_t joined(i4 x) { return (x[0] | x[1]) | (x[2] | x[3]); }

inline v4 first_of(const double* x, Index count) {  // up to four numbers and zeros; all four are read
    alignas(64) static constexpr std::int64_t mask[8] = {-1, -1, -1, -1};
    i4 kept, bits;
    std::memcpy(&kept, mask + 4 - larger<Index>(smaller<Index>(count, 4), 0), sizeof kept);
    std::memcpy(&bits, x, sizeof bits);
    return v4(bits & kept);
}

// Calls step(a, b) with the cells of a row, eight at a time and zeros at the end; `room` cells can be read.
template <class Step>
inline void by_eight(const double* x, Index count, Index room, const Step& step) {
    const Index whole = count / 8 * 8, rest = count - whole;
    for (Index j = 0; j < whole; j += 8) step(load(x + j), load(x + j + 4));
    if (!rest) return;
    x += whole;
    double copy[8];
    if (whole + 8 > room) x = static_cast<const double*>(std::memcpy(copy, x, sizeof(double) * std::size_t(rest)));
    step(first_of(x, rest), first_of(x + 4, rest - 4));
}

// What the cells of a row are, from the quickest way to sum their logarithms of factorials to the one for all.
enum Cells { kPairs, kSingles, kAny };  // whole numbers below kSmall, or kWhole

// The sum of log x! over the cells of a row, and that of x; returns what they are. The sums are right if that is not above
// `way`. Whole numbers are looked up; one by one or in pairs, their sums are the same to the last bit.
template <Cells way>
inline Cells sum_row(const double* x, Index count, Index room, const LogFactorials& tables, double* log_factorials, double* total) {
    std::int64_t none;
    double logs[4] = {};
    v4 totals = {};
    i4 all = {}, fractions = {};
    std::memcpy(&none, &kIndex, sizeof none);
    by_eight(x, count, room, [&](v4 a, v4 b) {
        if (way != kPairs) a = present(a), b = present(b);  // of pairs, NaN is too large
        const v4 in_a = a + kIndex, in_b = b + kIndex;
        all |= i4(in_a) | i4(in_b);
        fractions |= (i4(in_a - kIndex) ^ i4(a)) | (i4(in_b - kIndex) ^ i4(b));
        totals += a + b;
        std::int64_t at[4], at_b[4];
        if constexpr (way == kPairs) {
            const v4 in_both = in_a + double(kSmall) * b;
            std::memcpy(at, &in_both, sizeof at);
            for (int q = 0; q < 4; ++q) logs[q] += tables.pair[at[q] & (kSmall * kSmall - 1)];
        } else if constexpr (way == kSingles) {
            std::memcpy(at, &in_a, sizeof at), std::memcpy(at_b, &in_b, sizeof at_b);
            for (int q = 0; q < 4; ++q) logs[q] += tables.single[at[q] & (kWhole - 1)] + tables.single[at_b[q] & (kWhole - 1)];
        } else {
            const v4 found = log_factorial(a) + log_factorial(b);
            for (int q = 0; q < 4; ++q) logs[q] += found[q];
        }
    });
    *total = sum(totals);
    *log_factorials = (logs[0] + logs[1]) + (logs[2] + logs[3]);
    const std::uint64_t most = std::uint64_t(joined(all) - none);  // or more, if some are not whole
    return joined(fractions) || most >= kWhole ? kAny : most >= kSmall ? kSingles : kPairs;
}

struct RowLogs {
    double cells, total;  // the sum of log x! over the cells of a row, and log x! of their sum
};

// Rows are first summed in the way that was right for the row before, on which the sums do not depend.
class RowSums {
public:
    RowLogs operator()(const double* x, Index count, Index room) {
        RowLogs found;
        double total;
        const auto sum_by = [&](Cells way) {
            if (way == kPairs) return sum_row<kPairs>(x, count, room, tables_, &found.cells, &total);
            if (way == kSingles) return sum_row<kSingles>(x, count, room, tables_, &found.cells, &total);
            return sum_row<kAny>(x, count, room, tables_, &found.cells, &total);
        };
        Cells are;
        while ((are = sum_by(way_)) > way_) way_ = Cells(way_ + 1);
        if (way_ == kAny && are != kAny) are = sum_by(kSingles);
        way_ = are;
        const bool is_index = total < kWhole && total == double(Index(total));
        found.total = is_index ? tables_.single[Index(total)] : log_factorial(broadcast(total))[0];
        return found;
    }

private:
    const LogFactorials& tables_ = log_factorial_tables();
    Cells way_ = kPairs;
};

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

    // Those of row r, how many there are, and how many can be read.
    const double* operator()(Index r, Index* count, Index* room) {
        const Index begin = X_.indptr[r];
        const I* index = X_.indices + begin;
        const V* data = X_.data + begin;
        *count = larger<Index>(X_.indptr[r + 1] - begin, 0);
        int descends = 0;  // as wide as an index, for the vectors
        for (Index e = 1; e < *count; ++e) descends |= index[e - 1] >= index[e];
        *room = cells_.size();
        if (descends) {
            *count = add_up(r, index, data, *count);
        } else {
            if constexpr (std::is_same_v<V, double>) {
                *room = X_.indptr[X_.rows] - begin;
                return data;
            }
            for (Index e = 0; e < *count; ++e) cells_[e] = double(data[e]);
        }
        return cells_.get();
    }

private:
    struct Slot {
        Index row = -1;
        I column;
        I cell;
    };

    // Cells of equal columns are added up in a table of columns: open addressing, at most a quarter full.
    Index add_up(Index row, const I* index, const V* data, Index n) {
        const Index size = 4 * smaller(n, X_.cols);
        while (Index(slots_.size()) < size) slots_.resize(larger<std::size_t>(2 * slots_.size(), 1024));
        const std::size_t mask = slots_.size() - 1;
        Slot* slots = slots_.data();
        Index count = 0;
        for (Index e = 0; e < n; ++e) {
            const I column = I(inside(index[e], X_.cols));
            std::size_t h = std::size_t(column) * 0x9E3779B97F4A7C15ull >> 32;
            while (slots[h & mask].row == row && slots[h & mask].column != column) ++h;
            Slot& slot = slots[h & mask];
            if (slot.row == row) {
                cells_[slot.cell] += double(data[e]);
            } else {
                slot = {row, column, I(count)};
                cells_[count++] = double(data[e]);
            }
        }
        return count;
    }

    const SparseRows<V, I>& X_;
    Scratch cells_;
    std::vector<Slot> slots_;
};

// Adds up log x! of cells and of the totals of rows, class by class, to sums (k, 2).
class ClassFactorials {
public:
    explicit ClassFactorials(double* sums) : sums_(sums) {}

    void add(const double* x, Index count, Index room, Index code, double weight) {
        const RowLogs row = rows_(x, count, room);
        sums_[2 * code] += weight * row.cells;
        sums_[2 * code + 1] += weight * row.total;
    }

private:
    RowSums rows_;
    double* sums_;
};

// For each row, the sum of log x! over its cells, and log x! of their sum; row(r, &count, &room) finds the cells. They are
// not negative, or NaN, which counts as none.
template <class Row>
void log_factorials(Index rows, Row&& row, double* out) {
    RowSums sums;
    for (Index r = 0; r < rows; ++r) {
        Index count, room;
        const double* x = row(r, &count, &room);
        const RowLogs found = sums(x, count, room);
        out[2 * r] = found.cells, out[2 * r + 1] = found.total;
    }
}

template <class V, class I>
void sparse_log_factorials(const SparseRows<V, I>& X, double* out) { log_factorials(X.rows, RowCells<V, I>(X), out); }

template <class T>
void dense_log_factorials(const Matrix<T>& X, double* out) {
    Scratch buffer(kTile * X.cols);
    const double* tile = nullptr;
    Index stride = 0;
    log_factorials(X.rows, [&](Index r, Index* count, Index* room) {
        if (r % kTile == 0) tile = contiguous_rows(X, r, smaller(kTile, X.rows - r), buffer.get(), &stride);
        *count = X.cols;
        *room = X.cols;
        return tile + r % kTile * stride;
    }, out);
}

}  // namespace
}  // namespace suffice::SUFFICE_ISA
