// What is done with the numbers of words: counted class by class, scored, listed; and counts merged.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "words.hpp"

namespace suffice {

// Counts of whole numbers, or of weights. Documents come class by class: a class is done with before the next begins.
template <class Count>
class CountWords {
public:
    CountWords(const Labels& labels, bool presence) : labels_(labels), presence_(presence) {}

    bool wants(Index r) {
        row_ = std::int32_t(r), class_ = labels_.code[r];
        weight_ = labels_.weight ? Count(labels_.weight[r]) : Count(1);
        return weight_ != 0;
    }
    void prefetch(std::int32_t number) const {
        if (std::size_t(number) < words_.size()) __builtin_prefetch(&words_[std::size_t(number)], 1);
    }
    void prefetch_more(std::int32_t) const {}
    void take(std::int32_t number) {
        if (std::size_t(number) >= words_.size()) complete(std::size_t(number) + 1);
        Counted& own = words_[std::size_t(number)];
        if (own.label != class_) {
            if (own.label >= 0) done_.push_back({number, own.label, own.count});
            own.label = class_, own.count = 0;
        }
        if (own.latest != row_) own.latest = row_, own.documents += weight_;
        else if (presence_) return;
        own.count += weight_;
    }
    void end() {}

    // Zeros for all that was not counted.
    void complete(std::size_t words) { words_.resize(words); }

    bool has(std::size_t number) const { return number < words_.size() && words_[number].label >= 0; }

    // The classes of each word, words in this order, and its counts in them: starts (words + 1,), and a class and a count each;
    // and the documents that have it (words,).
    void write(Large<std::int32_t> order, Large<std::int64_t>& starts, Large<std::int32_t>& label, Large<double>& count,
               Large<double>& documents) const {
        const std::size_t n = order.size();
        Large<std::int32_t> place(words_.size(), -1);  // of each word, or none
        for (std::size_t i = 0; i < n; ++i) place[std::size_t(order[i])] = std::int32_t(i);
        Large<std::int32_t>().swap(order);
        starts.assign(n + 1, 0), documents.resize(n);
        const auto each = [&](const auto& take) {  // class by class
            for (const Done& own : done_) take(std::size_t(place[std::size_t(own.number)]), own.label, own.count);
            for (std::size_t w = 0; w < words_.size(); ++w)
                if (words_[w].label >= 0) take(std::size_t(place[w]), words_[w].label, words_[w].count);
        };
        each([&](std::size_t i, std::int32_t, Count) { ++starts[i + 1]; });
        for (std::size_t i = 0; i < n; ++i) starts[i + 1] += starts[i];
        label.resize(std::size_t(starts.back())), count.resize(label.size());
        each([&](std::size_t i, std::int32_t c, Count counted) {
            const std::size_t at = std::size_t(starts[i]++);
            label[at] = c, count[at] = double(counted);
        });
        std::move_backward(starts.begin(), starts.end() - 1, starts.end());  // back to where each began
        starts[0] = 0;
        for (std::size_t w = 0; w < words_.size(); ++w)
            if (place[w] >= 0) documents[std::size_t(place[w])] = double(words_[w].documents);
    }

private:
    struct Counted {
        Count count = 0, documents = 0;  // of the class, and of all
        std::int32_t latest = -1;        // document that has the word
        std::int32_t label = -1;         // the class that is counted
    };
    struct Done {
        std::int32_t number, label;
        Count count;
    };

    const Labels labels_;
    const bool presence_;
    std::int32_t row_ = 0, class_ = 0;
    Count weight_ = 1;
    Large<Counted> words_;
    Large<Done> done_;
};

// Reads and keeps nothing, to find the first row that is invalid.
struct ReadOnly {
    Labels labels;
    bool wants(Index r) const { return !labels.weight || labels.weight[r] != 0.0; }
    void prefetch(std::int32_t) const {}
    void prefetch_more(std::int32_t) const {}
    void take(std::int32_t) const {}
    void end() const {}
};

struct WordSlopes {  // what a word adds to the score of each class
    const std::int64_t* starts;  // (words + 1,) where the classes of each word begin that have a slope of their own
    const std::int32_t* label;
    const double* slope;     // beyond that of the class
    const double* by_class;  // (k,) what every known word adds
    std::size_t words, classes;
};

class ScoreWords {
public:
    ScoreWords(const WordSlopes& slopes, bool presence, double* out)
        : slopes_(slopes), out_(out), latest_(presence ? slopes.words : 0, -1) {}

    Index first_unknown = -1;  // the first row that has an unknown word

    bool wants(Index r) {
        row_ = r, own_ = out_ + std::size_t(r) * slopes_.classes, n_known_ = 0.0;
        return true;
    }
    void prefetch(std::int32_t number) const {
        if (number >= 0) __builtin_prefetch(slopes_.starts + number);
    }
    void prefetch_more(std::int32_t number) const {
        if (number < 0) return;
        const std::int64_t first = slopes_.starts[number], last = slopes_.starts[number + 1];
        for (std::int64_t i = first; i < last; i += 8) __builtin_prefetch(slopes_.slope + i);
        if (last > first) __builtin_prefetch(slopes_.slope + last - 1);
        if (last - first < std::int64_t(slopes_.classes)) __builtin_prefetch(slopes_.label + first);
    }
    void take(std::int32_t number) {
        if (number < 0) {
            if (first_unknown < 0) first_unknown = row_;
            return;
        }
        if (!latest_.empty()) {
            if (latest_[std::size_t(number)] == row_) return;
            latest_[std::size_t(number)] = row_;
        }
        n_known_ += 1.0;
        const std::size_t first = std::size_t(slopes_.starts[number]), n = std::size_t(slopes_.starts[number + 1]) - first;
        const double* slope = slopes_.slope + first;
        double* __restrict own = own_;
        if (n == slopes_.classes)  // all of them, in order
            for (std::size_t c = 0; c < n; ++c) own[c] += slope[c];
        else
            for (std::size_t i = 0; i < n; ++i) own[slopes_.label[first + i]] += slope[i];
    }
    void end() {
        for (std::size_t c = 0; c < slopes_.classes; ++c) own_[c] += n_known_ * slopes_.by_class[c];
    }

private:
    const WordSlopes slopes_;
    double *out_, *own_ = nullptr, n_known_ = 0.0;
    Index row_ = 0;
    std::vector<Index> latest_;  // row of each word, where only presence counts
};

struct ListWords {
    Large<std::int32_t> numbers;
    Large<std::int64_t> ends = {0};
    bool wants(Index) { return true; }
    void prefetch(std::int32_t) const {}
    void prefetch_more(std::int32_t) const {}
    void take(std::int32_t number) { numbers.push_back(number); }
    void end() { ends.push_back(std::int64_t(numbers.size())); }
};

struct WordList {  // sorted words, one after the other
    const std::uint8_t* letters;
    const std::int64_t* ends;
    Index size;
    const std::uint8_t* begin(Index i) const { return letters + (i ? ends[i - 1] : 0); }
    std::size_t length(Index i) const { return std::size_t(ends[i] - (i ? ends[i - 1] : 0)); }
};

struct MergedWords {
    Large<std::uint8_t> letters;
    Large<std::int64_t> ends, at_a, at_b;  // where the words of each went
};

inline MergedWords merge_words(const WordList& a, const WordList& b) {
    MergedWords out;
    out.at_a.resize(std::size_t(a.size)), out.at_b.resize(std::size_t(b.size));
    out.ends.reserve(std::size_t(a.size + b.size));
    out.letters.reserve(std::size_t((a.size ? a.ends[a.size - 1] : 0) + (b.size ? b.ends[b.size - 1] : 0)));
    for (Index i = 0, j = 0; i < a.size || j < b.size;) {
        int order = i == a.size ? 1 : j == b.size ? -1 : 0;
        if (!order) {
            const std::size_t m = a.length(i), n = b.length(j);
            order = m && n ? std::memcmp(a.begin(i), b.begin(j), std::min(m, n)) : 0;
            if (!order) order = m < n ? -1 : m > n;
        }
        const WordList& from = order <= 0 ? a : b;
        const Index at = order <= 0 ? i : j;
        out.letters.insert(out.letters.end(), from.begin(at), from.begin(at) + from.length(at));
        if (order <= 0) out.at_a[std::size_t(i++)] = std::int64_t(out.ends.size());
        if (order >= 0) out.at_b[std::size_t(j++)] = std::int64_t(out.ends.size());
        out.ends.push_back(std::int64_t(out.letters.size()));
    }
    return out;
}

struct CountsOfWords {
    const std::int64_t* starts;  // (words + 1,) where the classes of each word begin
    const std::int32_t* label;   // these classes, in order
    const double* value;
    const std::int64_t* at;  // (words,) increasing, where each word is among those of both; null where it is at its own place
    Index words;
};

struct SummedCounts {
    Large<std::int64_t> starts;
    Large<std::int32_t> label;
    Large<double> value;
};

inline SummedCounts add_counts(const CountsOfWords& a, const CountsOfWords& b, Index words) {
    SummedCounts out;
    const std::size_t most = std::size_t(a.starts[a.words] - a.starts[0] + b.starts[b.words] - b.starts[0]);
    out.starts.reserve(std::size_t(words) + 1), out.label.reserve(most), out.value.reserve(most);
    out.starts.push_back(0);
    for (Index i = 0, p = 0, q = 0; i < words; ++i) {
        std::int64_t x = 0, x_end = 0, y = 0, y_end = 0;
        if (p < a.words && (a.at ? a.at[p] : p) == i) x = a.starts[p], x_end = a.starts[++p];
        if (q < b.words && (b.at ? b.at[q] : q) == i) y = b.starts[q], y_end = b.starts[++q];
        while (x < x_end || y < y_end) {
            const bool own = y == y_end || (x < x_end && a.label[x] <= b.label[y]);
            const bool other = x == x_end || (y < y_end && b.label[y] <= a.label[x]);
            out.label.push_back(own ? a.label[x] : b.label[y]);
            out.value.push_back((own ? a.value[x] : 0.0) + (other ? b.value[y] : 0.0));
            x += own, y += other;
        }
        out.starts.push_back(std::int64_t(out.label.size()));
    }
    return out;
}

}  // namespace suffice
