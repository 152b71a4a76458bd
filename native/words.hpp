// Words of documents: found in UTF-8 text, counted class by class, and looked up again to score.
//
// A document is read through a buffer of normalised tokens with one space between them, so that an n-gram is a range of
// the buffer. What is done with words is up to two parts: Places give a word its number, a Sink takes the numbers.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "kernels.hpp"

namespace suffice {

constexpr std::uint32_t kLetter = 1u << 31;     // the code point belongs to words
constexpr std::uint32_t kIrregular = 1u << 30;  // its lower case is more than one letter, or depends on those around it
constexpr std::uint32_t kCased = 1u << 29;      // where such letters are concerned: whether it has upper and lower case,
constexpr std::uint32_t kIgnorable = 1u << 28;  // or is looked through
constexpr std::uint32_t kCodePoint = (1u << 21) - 1;
constexpr std::uint32_t kInvalid = ~0u;
constexpr std::size_t kSlack = 16;  // bytes after a word that may be read

inline std::uint64_t load_word(const char* p) {
    std::uint64_t w;
    std::memcpy(&w, p, sizeof w);
    return w;
}

inline std::uint64_t first_bytes(std::uint64_t w, std::size_t n) { return n >= 8 ? w : n ? w & (~0ull >> (64 - 8 * n)) : 0; }

inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Memory of large vectors comes from the system and goes back to it, so that nothing of a pass is left on the heap.
template <class T>
struct Pages {
    using value_type = T;
    Pages() = default;
    template <class U>
    Pages(const Pages<U>&) {}
    T* allocate(std::size_t n) {
#ifdef __linux__
        if (n * sizeof(T) >= kLarge) {
            void* found = mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (found == MAP_FAILED) throw std::bad_alloc();
            return static_cast<T*>(found);
        }
#endif
        return static_cast<T*>(::operator new(n * sizeof(T)));
    }
    void deallocate(T* p, std::size_t n) {
#ifdef __linux__
        if (n * sizeof(T) >= kLarge) {
            munmap(p, n * sizeof(T));
            return;
        }
#endif
        ::operator delete(p);
    }
    bool operator==(const Pages&) const { return true; }
    bool operator!=(const Pages&) const { return false; }

private:
    static constexpr std::size_t kLarge = 1 << 18;
};

template <class T>
using Large = std::vector<T, Pages<T>>;

struct Word {
    const char* start;  // with readable bytes after its end
    std::size_t length;
    std::uint64_t prefix, hash;
};

inline std::uint64_t short_hash(std::uint64_t prefix, std::size_t n) {
    return fold(prefix ^ 0x9E3779B97F4A7C15ull, n ^ 0xD6E8FEB86659FD93ull);
}

inline Word word_of(const char* p, std::size_t n) {
    const std::uint64_t prefix = first_bytes(load_word(p), n);
    std::uint64_t h = short_hash(prefix, n);
    for (std::size_t i = 8; i < n; i += 8) h = fold(h ^ first_bytes(load_word(p + i), n - i), 0xA0761D6478BD642Full);
    return {p, n, prefix, h};
}

// Words by their bytes, numbered in order of first appearance.
class WordTable {
public:
    WordTable() = default;

    // Words that follow each other, where each ends.
    WordTable(const std::uint8_t* letters, const std::int64_t* ends, Index n) {
        std::vector<char> one;
        for (Index i = 0; i < n; ++i) {
            const std::int64_t begin = i ? ends[i - 1] : 0;
            one.assign(letters + begin, letters + ends[i]);
            const std::size_t length = one.size();
            one.resize(length + kSlack);
            add(word_of(one.data(), length));
        }
    }

    std::int32_t find(const Word& word) const {
        for (std::uint64_t h = word.hash;; ++h) {
            const Slot& slot = slots_[h & (slots_.size() - 1)];
            if (slot.number < 0 || same(slot, word)) return slot.number;
        }
    }

    std::int32_t add(const Word& word) {
        std::uint64_t h = word.hash;
        for (;; ++h) {
            const Slot& slot = slots_[h & (slots_.size() - 1)];
            if (slot.number < 0) break;
            if (same(slot, word)) return slot.number;
        }
        const std::size_t number = starts_.size();
        if (word.length > 0x7FFFFFFFull || number >= 0x7FFFFFFFull) throw std::length_error("too many words, or too long ones");
        if (4 * (number + 1) > 3 * slots_.size()) {
            grow();
            for (h = word.hash; slots_[h & (slots_.size() - 1)].number >= 0; ++h) {}
        }
        slots_[h & (slots_.size() - 1)] = {key(word), check(word), std::int32_t(number)};
        starts_.push_back(letters_.size());
        letters_.insert(letters_.end(), word.start, word.start + word.length);
        return std::int32_t(number);
    }

    void prefetch(const Word& word) const { __builtin_prefetch(&slots_[word.hash & (slots_.size() - 1)]); }

    std::size_t size() const { return starts_.size(); }
    const char* begin(std::size_t i) const { return letters_.data() + starts_[i]; }
    std::size_t length(std::size_t i) const { return (i + 1 < size() ? starts_[i + 1] : letters_.size()) - starts_[i]; }
    std::size_t n_letters() const { return letters_.size(); }

    // The numbers of the words in the order of their bytes, which is that of their code points.
    Large<std::int32_t> sorted() const {
        struct Key {
            std::uint64_t prefix;
            std::int32_t number;
        };
        Large<Key> keys(size());
        for (std::size_t i = 0; i < size(); ++i) {
            std::uint64_t prefix = 0;
            for (std::size_t b = 0; b < 8; ++b) prefix = prefix << 8 | (b < length(i) ? std::uint8_t(begin(i)[b]) : 0);
            keys[i] = {prefix, std::int32_t(i)};
        }
        std::sort(keys.begin(), keys.end(), [this](const Key& a, const Key& b) {
            if (a.prefix != b.prefix) return a.prefix < b.prefix;
            const std::size_t i = std::size_t(a.number), j = std::size_t(b.number), n = std::min(length(i), length(j));
            const int order = std::memcmp(begin(i), begin(j), n);
            return order ? order < 0 : length(i) < length(j);
        });
        Large<std::int32_t> order(size());
        for (std::size_t i = 0; i < size(); ++i) order[i] = keys[i].number;
        return order;
    }

private:
    struct Slot {  // a short word is all here; of a long one its hash is, and the rest is looked up
        std::uint64_t key = 0;
        std::uint32_t check = 0;  // the length
        std::int32_t number = -1;
    };

    static std::uint64_t key(const Word& word) { return word.length <= 8 ? word.prefix : word.hash; }
    static std::uint32_t check(const Word& word) { return std::uint32_t(word.length); }

    bool same(const Slot& slot, const Word& word) const {
        return slot.key == key(word) && slot.check == check(word) &&
               (word.length <= 8 || !std::memcmp(begin(std::size_t(slot.number)), word.start, word.length));
    }

    void grow() {
        Large<Slot> old(2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.number < 0) continue;
            std::uint64_t h = slot.check <= 8 ? short_hash(slot.key, slot.check) : slot.key;
            while (slots_[h & (slots_.size() - 1)].number >= 0) ++h;
            slots_[h & (slots_.size() - 1)] = slot;
        }
    }

    Large<Slot> slots_ = Large<Slot>(1024);  // open addressing, never more than three quarters full
    Large<char> letters_;                // of all words, one after the other
    Large<std::size_t> starts_;
};

struct Documents {
    const std::uint8_t* text;
    const std::int64_t* offsets;  // where each document, or each token, begins and the one before ends
    const std::int64_t* lists;    // (n + 1,) where the tokens of each document begin; null where documents are plain text
    Index rows;
};

struct Reading {
    const std::uint32_t* letters;  // what becomes of each code point: its lower case, and the flags above
    std::uint32_t n_letters;       // 128 for ASCII alone
    const std::uint32_t* extra;    // (m, 4) what irregular letters become: how many, and these; none for a capital sigma
    bool context;                  // whether letters have the flags that a sigma depends on
    std::size_t least, most;       // tokens of an n-gram
    const WordTable* stop;         // tokens that are left out, or null
};

struct Problem {
    Index row = -1;  // none
    bool sigma = false;  // which needs the context
};

// The code point at p, which moves on behind it; or kInvalid.
inline std::uint32_t decode(const std::uint8_t*& p, const std::uint8_t* end) {
    const std::uint8_t a = *p;
    const int more = a < 0x80 ? 0 : a < 0xC2 ? -1 : a < 0xE0 ? 1 : a < 0xF0 ? 2 : a < 0xF5 ? 3 : -1;
    if (more < 0 || end - p <= more) return kInvalid;
    std::uint32_t c = more ? a & (0x3Fu >> more) : a;
    for (int i = 1; i <= more; ++i) {
        if ((p[i] & 0xC0) != 0x80) return kInvalid;
        c = c << 6 | (p[i] & 0x3Fu);
    }
    if ((more == 2 && c < 0x800) || (more == 3 && (c < 0x10000 || c > 0x10FFFF)) || (c >= 0xD800 && c < 0xE000)) return kInvalid;
    p += more + 1;
    return c;
}

inline char* encode(std::uint32_t c, char* out) {
    if (c < 0x80) {
        *out++ = char(c);
        return out;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *out++ = char((0xFFu << (7 - more) & 0xFFu) | c >> (6 * more));
    for (int i = more - 1; i >= 0; --i) *out++ = char(0x80u | (c >> (6 * i) & 0x3Fu));
    return out;
}

template <class Places, class Sink>
class Reader {
public:
    Reader(const Documents& documents, const Reading& how, Places& places, Sink& sink)
        : documents_(documents), how_(how), places_(places), sink_(sink), buffer_(4 * kWindow) {
        for (std::uint32_t c = 0; c < 128; ++c) {
            const std::uint32_t own = how.letters[c];
            ascii_[c] = own & kLetter ? char(own & kCodePoint) : 0;
        }
    }

    Problem run() {
        for (Index r = 0; r < documents_.rows; ++r) {
            if (!sink_.wants(r)) continue;
            const Problem problem = documents_.lists ? listed(r) : plain(r);
            if (problem.row >= 0) return problem;
            flush(true);
        }
        return {};
    }

private:
    static constexpr std::size_t kWindow = 2048;  // bytes that are read, at most, before their words are counted
    static constexpr std::size_t kTokens = 256;

    struct Span {
        std::size_t start, end;
    };

    Problem plain(Index r) {
        const std::uint8_t *p = documents_.text + documents_.offsets[r], *end = documents_.text + documents_.offsets[r + 1];
        letters_ = 0;
        while (p < end) {
            const std::uint8_t* stop = end - p > std::ptrdiff_t(kWindow) ? p + kWindow : end;
            reserve(3 * kWindow);
            out_ = buffer_.data() + size_;
            while (p < stop) {
                const std::size_t n = std::min<std::size_t>(64, std::size_t(stop - p));
                if (is_ascii(p, n)) {
                    take_ascii(p, n);
                    p += n;
                    continue;
                }
                for (const std::uint8_t* next = p + n; p < next;) {
                    const std::uint8_t* at = p;
                    const std::uint32_t c = decode(p, end);
                    if (c >= how_.n_letters) return {r, false};
                    const std::uint32_t own = how_.letters[c];
                    if (!(own & kIrregular)) {
                        take(own);
                        continue;
                    }
                    const std::uint32_t* extra = how_.extra + 4 * (own & kCodePoint);
                    for (std::uint32_t i = 1; i <= extra[0]; ++i) take(extra[i]);
                    if (extra[0]) continue;
                    if (!how_.context) return {r, true};
                    take(kLetter | (ends_word(at, documents_.text + documents_.offsets[r], end) ? 0x3C2u : 0x3C3u));
                }
            }
            if (p == end) close();
            size_ = std::size_t(out_ - buffer_.data());
            if (tokens_.size() >= kTokens) flush(false);
        }
        return {};
    }

    static bool is_ascii(const std::uint8_t* p, std::size_t n) {
        std::uint64_t any = 0;
        std::size_t i = 0;
        for (; i + 8 <= n; i += 8) any |= load_word(reinterpret_cast<const char*>(p + i));
        for (; i < n; ++i) any |= p[i];
        return !(any & 0x8080808080808080ull);
    }

    // Up to 64 bytes at once: which of them are letters is one word of bits, of which runs are taken.
    void take_ascii(const std::uint8_t* p, std::size_t n) {
        char low[64 + kSlack];
        std::uint64_t mask = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const char own = ascii_[p[i]];
            low[i] = own;
            mask |= std::uint64_t(own != 0) << i;
        }
        if (letters_ && !(mask & 1)) close();
        mask &= mask << 1 | mask >> 1 | 1 | std::uint64_t(1) << (n - 1);  // without single letters, but for those at the ends
        while (mask) {
            const int start = __builtin_ctzll(mask);
            const std::uint64_t rest = ~(mask >> start);
            const int run = rest ? __builtin_ctzll(rest) : 64;
            std::memcpy(out_, low + start, kSlack);
            for (int i = int(kSlack); i < run; ++i) out_[i] = low[start + i];
            out_ += run, letters_ += std::size_t(run);
            if (std::size_t(start + run) < n) close();
            mask = start + run < 64 ? mask >> (start + run) << (start + run) : 0;
        }
    }

    void take(std::uint32_t letter) {
        if (letter & kLetter) out_ = encode(letter & kCodePoint, out_), ++letters_;
        else close();
    }

    void close() {
        out_ = letters_ >= 2 ? token(out_) : buffer_.data() + open_;
        letters_ = 0;
    }

    // Whether a capital sigma is the last cased letter of its word, and not the first: the final sigma of Unicode.
    bool ends_word(const std::uint8_t* sigma, const std::uint8_t* begin, const std::uint8_t* end) const {
        const auto flags = [&](const std::uint8_t*& p) {
            const std::uint32_t c = decode(p, end);
            return c < how_.n_letters ? how_.letters[c] : 0u;
        };
        std::uint32_t own = kIgnorable;
        for (const std::uint8_t* p = sigma; p > begin && own & kIgnorable;) {
            do --p;
            while (p > begin && (*p & 0xC0) == 0x80);
            const std::uint8_t* at = p;
            own = flags(at);
        }
        if (own & kIgnorable || !(own & kCased)) return false;
        own = kIgnorable;
        for (const std::uint8_t* p = sigma + 2; p < end && own & kIgnorable;) {
            own = flags(p);
            if (!own) break;  // invalid: found out later
        }
        return own & kIgnorable || !(own & kCased);
    }

    Problem listed(Index r) {
        for (std::int64_t t = documents_.lists[r]; t < documents_.lists[r + 1]; ++t) {
            const std::uint8_t *p = documents_.text + documents_.offsets[t], *end = documents_.text + documents_.offsets[t + 1];
            const std::size_t length = std::size_t(end - p);
            reserve(length);
            if (length) std::memcpy(buffer_.data() + size_, p, length);
            while (p < end)
                if (decode(p, end) == kInvalid) return {r, false};
            size_ = std::size_t(token(buffer_.data() + size_ + length) - buffer_.data());
            if (tokens_.size() >= kTokens) flush(false);
        }
        return {};
    }

    // Ends the token that goes up to `out`; returns where the next one goes.
    char* token(char* out) {
        const std::size_t end = std::size_t(out - buffer_.data());
        if (how_.stop && how_.stop->find(word_of(buffer_.data() + open_, end - open_)) >= 0) return buffer_.data() + open_;
        tokens_.push_back({open_, end});
        *out++ = ' ';
        open_ = end + 1;
        return out;
    }

    void reserve(std::size_t more) {
        if (size_ + more + 2 * kSlack > buffer_.size()) buffer_.resize(2 * (size_ + more) + 2 * kSlack);
    }

    // Passes on the n-grams that are complete; at the end of a document, all of them.
    void flush(bool last) {
        const std::size_t n = tokens_.size(), ready = last ? n : n - std::min(n, how_.most - 1);
        words_.clear(), numbers_.clear();
        for (std::size_t i = 0; i < ready; ++i)
            for (std::size_t j = i + how_.least - 1; j < n && j < i + how_.most; ++j) {
                words_.push_back(places_.word(buffer_.data() + tokens_[i].start, tokens_[j].end - tokens_[i].start));
                places_.prefetch(words_.back());
            }
        for (const auto& word : words_) {
            numbers_.push_back(places_.number(word));
            sink_.prefetch(numbers_.back());
        }
        for (const std::int32_t number : numbers_) sink_.take(number);
        if (last) {
            tokens_.clear(), size_ = open_ = 0;
            sink_.end();
            return;
        }
        const std::size_t start = ready < n ? tokens_[ready].start : open_;
        std::memmove(buffer_.data(), buffer_.data() + start, size_ - start);
        tokens_.erase(tokens_.begin(), tokens_.begin() + std::ptrdiff_t(ready));
        for (Span& span : tokens_) span.start -= start, span.end -= start;
        size_ -= start, open_ -= start;
    }

    const Documents documents_;
    const Reading how_;
    Places& places_;
    Sink& sink_;
    char ascii_[128];
    std::vector<char> buffer_;
    std::size_t size_ = 0, open_ = 0;  // bytes in it, and where the token begins that is being read
    char* out_ = nullptr;              // where its next letter goes
    std::size_t letters_ = 0;          // that it has
    std::vector<Span> tokens_;
    std::vector<decltype(std::declval<Places&>().word(nullptr, 0))> words_;
    std::vector<std::int32_t> numbers_;
};

// Places: the number of a word.

struct NewPlaces {  // every word gets one
    WordTable table;
    Word word(const char* p, std::size_t n) const { return word_of(p, n); }
    void prefetch(const Word& word) const { table.prefetch(word); }
    std::int32_t number(const Word& word) { return table.add(word); }
};

struct KnownPlaces {  // -1 for words that are unknown
    const WordTable& table;
    Word word(const char* p, std::size_t n) const { return word_of(p, n); }
    void prefetch(const Word& word) const { table.prefetch(word); }
    std::int32_t number(const Word& word) const { return table.find(word); }
};

// MurmurHash3, 32 bits, seed 0, by Austin Appleby (public domain): the buckets of scikit-learn's HashingVectorizer.
inline std::uint32_t murmur3(const char* p, std::size_t n) {
    const auto rotate = [](std::uint32_t x, int by) { return x << by | x >> (32 - by); };
    const auto scramble = [&](std::uint32_t k) { return rotate(k * 0xCC9E2D51u, 15) * 0x1B873593u; };
    std::uint32_t h = 0, k;
    for (std::size_t i = 0; i + 4 <= n; i += 4) {
        std::memcpy(&k, p + i, 4);
        h = rotate(h ^ scramble(k), 13) * 5 + 0xE6546B64u;
    }
    k = 0;
    for (std::size_t i = n; i > n / 4 * 4; --i) k = k << 8 | std::uint8_t(p[i - 1]);
    h = (h ^ scramble(k)) ^ std::uint32_t(n);
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

struct HashedPlaces {
    std::uint32_t buckets;
    std::int32_t word(const char* p, std::size_t n) const {
        const std::uint32_t h = murmur3(p, n);
        return std::int32_t((h >> 31 ? 0u - h : h) % buckets);
    }
    void prefetch(std::int32_t) const {}
    std::int32_t number(std::int32_t bucket) const { return bucket; }
};

// Sinks: what is done with the numbers of the words.

class CountWords {
public:
    CountWords(const Labels& labels, bool presence) : labels_(labels), presence_(presence) {}

    bool wants(Index r) {
        row_ = r, class_ = labels_.code[r];
        weight_ = labels_.weight ? labels_.weight[r] : 1.0;
        return weight_ != 0.0;
    }
    void prefetch(std::int32_t number) {
        if (std::size_t(number) < words_.size()) __builtin_prefetch(&words_[std::size_t(number)], 1);
    }
    void take(std::int32_t number) {
        if (std::size_t(number) >= words_.size()) {
            if (std::size_t(number) >= words_.capacity()) words_.reserve(2 * std::size_t(number) + 1024);
            complete(std::size_t(number) + 1);
        }
        Counted& own = words_[std::size_t(number)];
        if (own.latest == row_) {
            if (presence_) return;
        } else {
            own.latest = row_, own.documents += weight_;
        }
        if (own.label < 0) own.label = class_;
        if (own.label == class_) own.count += weight_;
        else more(number) += weight_;
    }
    void end() {}

    // Zeros for all that was not counted.
    void complete(std::size_t words) { words_.resize(words); }

    double documents(std::size_t number) const { return words_[number].documents; }

    // The classes of each word, words in this order, and its counts in them: starts (words + 1,), and a class and a count each.
    void write(const Large<std::int32_t>& order, Large<std::int64_t>& starts, Large<std::int32_t>& label,
               Large<double>& count) const {
        Large<std::int32_t> place(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) place[std::size_t(order[i])] = std::int32_t(i);
        starts.assign(order.size() + 1, 0);
        for (std::size_t i = 0; i < order.size(); ++i) starts[std::size_t(place[i]) + 1] = words_[i].label >= 0;
        for (const Pair& pair : pairs_)
            if (pair.number >= 0) ++starts[std::size_t(place[std::size_t(pair.number)]) + 1];
        for (std::size_t i = 0; i < order.size(); ++i) starts[i + 1] += starts[i];
        label.resize(std::size_t(starts.back())), count.resize(label.size());
        Large<std::int64_t> next(starts.begin(), starts.end() - 1);
        const auto put = [&](std::size_t number, std::int32_t c, double n) {
            const std::size_t at = std::size_t(next[std::size_t(place[number])]++);
            label[at] = c, count[at] = n;
        };
        for (std::size_t i = 0; i < order.size(); ++i)
            if (words_[i].label >= 0) put(i, words_[i].label, words_[i].count);
        for (const Pair& pair : pairs_)
            if (pair.number >= 0) put(std::size_t(pair.number), pair.label, pair.count);
        for (std::size_t i = 0; i < order.size(); ++i)  // few for most words: by insertion
            for (std::int64_t a = starts[i] + 1; a < starts[i + 1]; ++a)
                for (std::int64_t b = a; b > starts[i] && label[std::size_t(b)] < label[std::size_t(b - 1)]; --b) {
                    std::swap(label[std::size_t(b)], label[std::size_t(b - 1)]);
                    std::swap(count[std::size_t(b)], count[std::size_t(b - 1)]);
                }
    }

private:
    struct Counted {
        double count = 0.0, documents = 0.0;
        Index latest = -1;         // document that has the word
        std::int32_t label = -1;   // the first class that has it, with that count; other classes are pairs
    };
    struct Pair {
        std::int32_t number = -1, label = 0;
        double count = 0.0;
    };

    double& more(std::int32_t number) {
        if (4 * (n_pairs_ + 1) > 3 * pairs_.size()) {
            Large<Pair> old(2 * pairs_.size());
            old.swap(pairs_);
            for (const Pair& pair : old)
                if (pair.number >= 0) pairs_[place(pair.number, pair.label)] = pair;
        }
        Pair& found = pairs_[place(number, class_)];
        if (found.number < 0) found.number = number, found.label = class_, ++n_pairs_;
        return found.count;
    }
    std::size_t place(std::int32_t number, std::int32_t label) const {
        std::uint64_t h = fold(std::uint64_t(std::uint32_t(number)) << 32 | std::uint32_t(label), 0x9E3779B97F4A7C15ull);
        for (;; ++h) {
            const Pair& pair = pairs_[h & (pairs_.size() - 1)];
            if (pair.number < 0 || (pair.number == number && pair.label == label)) return h & (pairs_.size() - 1);
        }
    }

    const Labels labels_;
    const bool presence_;
    Index row_ = 0;
    double weight_ = 1.0;
    std::int32_t class_ = 0;
    Large<Counted> words_;
    Large<Pair> pairs_ = Large<Pair>(1024);  // open addressing
    std::size_t n_pairs_ = 0;
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
    void prefetch(std::int32_t number) {
        if (number < 0) return;
        const std::int64_t first = slopes_.starts[number], last = slopes_.starts[number + 1];
        for (std::int64_t i = first; i < last; i += 8) __builtin_prefetch(slopes_.slope + i);
        __builtin_prefetch(slopes_.label + first);
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
    void prefetch(std::int32_t) {}
    void take(std::int32_t number) { numbers.push_back(number); }
    void end() { ends.push_back(std::int64_t(numbers.size())); }
};

template <class Places, class Sink>
Problem read_words(const Documents& documents, const Reading& how, Places& places, Sink& sink) {
    return Reader<Places, Sink>(documents, how, places, sink).run();
}

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
            order = std::memcmp(a.begin(i), b.begin(j), std::min(m, n));
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

}  // namespace suffice
