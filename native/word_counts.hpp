// What is done with the numbers of words: counted class by class, scored, listed; and counts merged.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "words.hpp"

namespace suffice {

// Counts are found by numbers of 32 bits.
inline void check_counts(std::size_t n) {
    if (n > 0x7FFFFFFF) throw std::length_error("too many words and classes to count");
}

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

    // The classes of each word, words in their order, and its counts in them: starts (words + 1,), and a class and a count
    // each; and, unless words are hashed, the documents that have it (words,).
    void write(SortedWords& words, Large<std::int32_t>& starts, Large<std::int32_t>& label, Large<double>& count,
               Large<double>& documents) const {
        const std::size_t n = words.by_number ? words_.size() : words.order.size();
        Large<std::int32_t> places(words.by_number ? 0 : words_.size(), -1);  // of each word, or none
        for (std::size_t i = 0; i < words.order.size(); ++i) places[std::size_t(words.order[i])] = std::int32_t(i);
        const auto place = [&](std::size_t number) { return words.by_number ? std::int32_t(number) : places[number]; };
        Large<std::int32_t>().swap(words.order);
        starts.assign(n + 1, 0), documents.resize(words.by_number ? 0 : n);
        const auto each = [&](const auto& take) {  // class by class
            for (const Done& own : done_) take(std::size_t(place(std::size_t(own.number))), own.label, own.count);
            for (std::size_t w = 0; w < words_.size(); ++w)
                if (words_[w].label >= 0) take(std::size_t(place(w)), words_[w].label, words_[w].count);
        };
        check_counts(done_.size() + words_.size());
        each([&](std::size_t i, std::int32_t, Count) { ++starts[i + 1]; });
        for (std::size_t i = 0; i < n; ++i) starts[i + 1] += starts[i];
        label.resize(std::size_t(starts.back())), count.resize(label.size());
        each([&](std::size_t i, std::int32_t c, Count counted) {
            const std::size_t at = std::size_t(starts[i]++);
            label[at] = c, count[at] = double(counted);
        });
        std::move_backward(starts.begin(), starts.end() - 1, starts.end());  // back to where each began
        starts[0] = 0;
        for (std::size_t w = 0; w < places.size(); ++w)
            if (places[w] >= 0) documents[std::size_t(places[w])] = double(words_[w].documents);
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
    const std::int32_t* starts;  // (words + 1,) where the classes of each word begin that have a slope of their own
    const std::int32_t* label;
    const double* slope;     // beyond that of the class; or, where there are logs, the count that it is the log of
    const double* logs;      // of counts, which are whole numbers; or null
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
        const std::ptrdiff_t first = slopes_.starts[number], last = slopes_.starts[number + 1];
        for (std::ptrdiff_t i = first; i < last; i += 8) __builtin_prefetch(slopes_.slope + i);
        if (last > first) __builtin_prefetch(slopes_.slope + last - 1);
        if (last - first < std::ptrdiff_t(slopes_.classes)) __builtin_prefetch(slopes_.label + first);
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
        const double *slope = slopes_.slope + first, *logs = slopes_.logs;
        double* __restrict own = own_;
        if (logs)
            for (std::size_t i = 0; i < n; ++i) own[slopes_.label[first + i]] += logs[std::ptrdiff_t(slope[i])];
        else if (n == slopes_.classes)  // all of them, in order
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

struct WordSums {  // words in order, one after the other, and a number for each word and each class that has it
    const std::uint8_t* letters;
    const std::int64_t* ends;    // (words,); null where words are hashed: then they are the same everywhere
    const std::int32_t* starts;  // (words + 1,) where the classes of each word begin
    const std::int32_t* label;   // these classes, in order
    const double* value;
    const double* having;  // (words,) the documents that have it; not read where words are hashed
    Index words;

    const std::uint8_t* begin(Index i) const { return letters + (i ? ends[i - 1] : 0); }
    std::size_t length(Index i) const { return std::size_t(ends[i] - (i ? ends[i - 1] : 0)); }
};

struct AddedWords {
    Large<std::uint8_t> letters;
    Large<std::int64_t> ends;
    Large<std::int32_t> starts, label;
    Large<double> value, having;
};

// Below 0 where word i of a comes before word j of b, 0 where they are the same.
inline int compared(const WordSums& a, Index i, const WordSums& b, Index j) {
    if (i == a.words || j == b.words) return i == a.words ? 1 : -1;
    if (!a.ends) return 0;
    const std::size_t m = a.length(i), n = b.length(j);
    const int order = m && n ? std::memcmp(a.begin(i), b.begin(j), std::min(m, n)) : 0;
    return order ? order : m < n ? -1 : m > n;
}

inline AddedWords add_words(const WordSums& a, const WordSums& b) {
    AddedWords out;
    const std::size_t words = std::size_t(a.ends ? a.words + b.words : a.words);
    const std::size_t most = std::size_t(a.starts[a.words]) + std::size_t(b.starts[b.words]);
    check_counts(most);
    if (a.ends) {
        out.ends.reserve(words), out.having.reserve(words);
        out.letters.reserve(std::size_t((a.words ? a.ends[a.words - 1] : 0) + (b.words ? b.ends[b.words - 1] : 0)));
    }
    out.starts.reserve(words + 1), out.label.reserve(most), out.value.reserve(most);
    out.starts.push_back(0);
    for (Index i = 0, j = 0; i < a.words || j < b.words;) {
        const int order = compared(a, i, b, j);
        if (a.ends) {
            const WordSums& from = order <= 0 ? a : b;
            const Index at = order <= 0 ? i : j;
            out.letters.insert(out.letters.end(), from.begin(at), from.begin(at) + from.length(at));
            out.ends.push_back(std::int64_t(out.letters.size()));
            out.having.push_back((order <= 0 ? a.having[i] : 0.0) + (order >= 0 ? b.having[j] : 0.0));
        }
        std::int32_t x = 0, x_end = 0, y = 0, y_end = 0;
        if (order <= 0) x = a.starts[i], x_end = a.starts[++i];
        if (order >= 0) y = b.starts[j], y_end = b.starts[++j];
        while (x < x_end || y < y_end) {
            const bool own = y == y_end || (x < x_end && a.label[x] <= b.label[y]);
            const bool other = x == x_end || (y < y_end && b.label[y] <= a.label[x]);
            out.label.push_back(own ? a.label[x] : b.label[y]);
            out.value.push_back((own ? a.value[x] : 0.0) + (other ? b.value[y] : 0.0));
            x += own, y += other;
        }
        out.starts.push_back(std::int32_t(out.label.size()));
    }
    return out;
}

}  // namespace suffice
