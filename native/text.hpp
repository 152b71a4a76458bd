// Text: UTF-8 documents, cut into tokens.
//
// A document is read through a buffer of normalised tokens with one space between them, so that an n-gram is a range of
// the buffer. What is done with words is up to two parts: Places give a word its number, a Sink takes the numbers.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "words.hpp"

namespace suffice {

constexpr std::uint32_t kLetter = 1u << 31;     // the code point belongs to words
constexpr std::uint32_t kIrregular = 1u << 30;  // its lower case is more than one letter, or depends on those around it
constexpr std::uint32_t kCased = 1u << 29;      // where such letters are concerned: whether it has upper and lower case,
constexpr std::uint32_t kIgnorable = 1u << 28;  // or is looked through
constexpr std::uint32_t kCodePoint = (1u << 21) - 1;
constexpr std::uint32_t kInvalid = ~0u;

struct Documents {
    const std::uint8_t* text;
    const std::int64_t* offsets;  // where each document, or each token, begins and the one before ends
    const std::int64_t* lists;    // (n + 1,) where the tokens of each document begin; null where documents are plain text
    Index rows;
};

struct Reading {
    const std::uint16_t* pages;    // where the letters of each 256 code points are: many of them have the same
    const std::uint32_t* letters;  // what becomes of a code point: how far away its lower case is, and the flags above
    std::uint32_t n_letters;       // code points; 256 for ASCII alone
    const std::uint32_t* extra;    // (m, 4) what irregular letters become: how many, and these; none for a capital sigma
    bool context;                  // whether letters have the flags that a sigma depends on
    std::size_t least, most;       // tokens of an n-gram
    const WordTable* stop;         // tokens that are left out, or null

    // The lower case of a code point, with flags; of an irregular one the index of what it becomes.
    std::uint32_t letter(std::uint32_t c) const {
        const std::uint32_t own = letters[std::uint32_t(pages[c >> 8]) << 8 | (c & 0xFF)];
        return own & kIrregular ? own : (own & ~kCodePoint) | ((own + c) & kCodePoint);
    }
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
        : documents_(documents), how_(how), places_(places), sink_(sink), lowers_((how.letter('A') & kCodePoint) == 'a' ? 0x20 : 0), buffer_(4 * kWindow) {
        if (documents.rows) end_ = documents.text + documents.offsets[documents.lists ? documents.lists[documents.rows] : documents.rows];
    }

    // Reads the rows in this order, or in their own.
    Problem run(const std::vector<Index>& order = {}) {
        for (Index i = 0; i < documents_.rows; ++i) {
            const Index r = order.empty() ? i : order[std::size_t(i)];
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

    typedef std::uint8_t Bytes16 __attribute__((vector_size(16)));

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
                    const std::uint32_t own = how_.letter(c);
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
        std::uint8_t all[64] = {}, low[64 + kSlack], is_letter[64];
        if (end_ - p < 64) p = static_cast<const std::uint8_t*>(std::memcpy(all, p, n));
        for (std::size_t i = 0; i < 64; i += 16) {
            Bytes16 own;
            std::memcpy(&own, p + i, 16);
            const Bytes16 letter = Bytes16(((own | 0x20) - 'a' < 26) | (own - '0' < 10) | (own == '_')) & 1;
            const Bytes16 lower = own | (Bytes16(own - 'A' < 26) & lowers_);
            std::memcpy(is_letter + i, &letter, 16);
            std::memcpy(low + i, &lower, 16);
        }
        std::uint64_t mask = 0;
        for (std::size_t i = 0; i < 8; ++i)  // 8 bytes of 0 or 1 to 8 bits
            mask |= (load_word(reinterpret_cast<const char*>(is_letter + 8 * i)) * 0x0102040810204080ull >> 56) << 8 * i;
        if (n < 64) mask &= (std::uint64_t(1) << n) - 1;
        if (letters_ && !(mask & 1)) close();
        mask &= mask << 1 | mask >> 1 | 1 | std::uint64_t(1) << (n - 1);  // without single letters, but for those at the ends
        while (mask) {
            const int start = __builtin_ctzll(mask);
            const std::uint64_t rest = ~(mask >> start);
            const int run = rest ? __builtin_ctzll(rest) : 64;
            std::memcpy(out_, low + start, kSlack);
            if (run > int(kSlack)) std::memcpy(out_ + kSlack, low + start + kSlack, std::size_t(run) - kSlack);
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
            return c < how_.n_letters ? how_.letter(c) : 0u;
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
        if constexpr (Places::by_tokens) take_grams(ready);
        else take_ranges(ready);
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

    void take_ranges(std::size_t ready) {
        words_.clear(), numbers_.clear();
        for (std::size_t i = 0; i < ready; ++i)
            for (std::size_t j = i + how_.least - 1; j < tokens_.size() && j < i + how_.most; ++j) {
                words_.push_back(places_.word(buffer_.data() + tokens_[i].start, tokens_[j].end - tokens_[i].start));
                places_.prefetch(words_.back());
            }
        for (const auto& word : words_) {
            numbers_.push_back(places_.number(word));
            sink_.prefetch(numbers_.back());
        }
        for (const std::int32_t number : numbers_) sink_.prefetch_more(number);
        for (const std::int32_t number : numbers_) sink_.take(number);
    }

    // The n-grams of one more token at a time.
    void take_grams(std::size_t ready) {
        words_.clear(), numbers_.clear();
        for (const Span& span : tokens_) {
            words_.push_back(places_.word(buffer_.data() + span.start, span.end - span.start));
            places_.prefetch(words_.back());
        }
        for (const auto& word : words_) numbers_.push_back(places_.number(word));
        singles_ = numbers_;
        for (std::size_t m = 1; m <= how_.most && m <= tokens_.size(); ++m) {
            const std::size_t n = std::min(ready, tokens_.size() - m + 1);
            if (m > 1) {
                keys_.clear();
                for (std::size_t i = 0; i < n; ++i) {
                    keys_.push_back(GramTable::key(numbers_[i], singles_[i + m - 1]));
                    places_.prefetch(keys_.back());
                }
                for (const std::uint64_t key : keys_) places_.prefetch_more(key);
                for (std::size_t i = 0; i < n; ++i)
                    numbers_[i] = numbers_[i] < 0 || singles_[i + m - 1] < 0 ? -1 : places_.joined(keys_[i]);
            }
            if (m < how_.least) continue;
            shown_.clear();
            for (std::size_t i = 0; i < n; ++i) {
                shown_.push_back(places_.shown(numbers_[i]));
                sink_.prefetch(shown_.back());
            }
            for (const std::int32_t number : shown_) sink_.prefetch_more(number);
            for (const std::int32_t number : shown_) sink_.take(number);
        }
    }

    const Documents documents_;
    const Reading how_;
    Places& places_;
    Sink& sink_;
    const std::uint8_t lowers_;              // the bit that tells small letters from capitals, or none
    const std::uint8_t* end_ = nullptr;      // of all text
    std::vector<char> buffer_;
    std::size_t size_ = 0, open_ = 0;  // bytes in it, and where the token begins that is being read
    char* out_ = nullptr;              // where its next letter goes
    std::size_t letters_ = 0;          // that it has
    std::vector<Span> tokens_;
    std::vector<decltype(std::declval<Places&>().word(nullptr, 0))> words_;
    std::vector<std::int32_t> numbers_, singles_, shown_;
    std::vector<std::uint64_t> keys_;
};

template <class Places, class Sink>
Problem read_words(const Documents& documents, const Reading& how, Places& places, Sink& sink, const std::vector<Index>& order = {}) {
    return Reader<Places, Sink>(documents, how, places, sink).run(order);
}

}  // namespace suffice
