// Words and their numbers: by their bytes, by hashes, or, of n-grams, by the tokens that they are made of.
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
            if (n * sizeof(T) >= kHuge) madvise(found, n * sizeof(T), MADV_HUGEPAGE);  // as words are looked up all over it
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
    static constexpr std::size_t kLarge = 1 << 18, kHuge = 1 << 22;
};

template <class T>
using Large = std::vector<T, Pages<T>>;

struct Word {
    const char* start;  // with readable bytes after its end
    std::size_t length;
    std::uint64_t first, second, hash;  // 16 bytes of it
};

inline std::uint64_t short_hash(std::uint64_t first, std::uint64_t second, std::size_t n) {
    return fold(first ^ 0x9E3779B97F4A7C15ull, (second + n * 0xA0761D6478BD642Full) ^ 0xD6E8FEB86659FD93ull);
}

inline Word word_of(const char* p, std::size_t n) {
    const std::uint64_t first = first_bytes(load_word(p), n), second = n > 8 ? first_bytes(load_word(p + 8), n - 8) : 0;
    std::uint64_t h = short_hash(first, second, n);
    for (std::size_t i = 16; i < n; i += 8) h = fold(h ^ first_bytes(load_word(p + i), n - i), 0xA0761D6478BD642Full);
    return {p, n, first, second, h};
}

// Where a hash begins to look in an open table of any size; places follow each other in circles.
template <class Slot>
struct Probe {
    const Large<Slot>& slots;
    std::size_t at;
    Probe(const Large<Slot>& slots, std::uint64_t hash)
        : slots(slots), at(std::size_t(static_cast<unsigned __int128>(hash) * slots.size() >> 64)) {}
    void next() { at = at + 1 == slots.size() ? 0 : at + 1; }
};

// Words by their bytes. Their numbers are up to the caller.
class WordTable {
public:
    WordTable() = default;

    // For so many words, which are only looked up, and more.
    static WordTable for_lookup(std::size_t n) {
        WordTable out;
        out.slots_ = Large<Slot>(n / 3 * 4 + 16);
        out.lists_ = false;
        return out;
    }

    // Words that follow each other, where each ends, and that are only looked up.
    WordTable(const std::uint8_t* letters, const std::int64_t* ends, Index n) : WordTable(for_lookup(std::size_t(n))) {
        std::vector<char> one;
        for (Index i = 0; i < n; ++i) {
            const std::int64_t begin = i ? ends[i - 1] : 0;
            one.assign(letters + begin, letters + ends[i]);
            const std::size_t length = one.size();
            one.resize(length + kSlack);
            add(word_of(one.data(), length), i);
        }
    }

    std::int32_t find(const Word& word) const {
        for (Probe<Slot> p(slots_, word.hash);; p.next())
            if (slots_[p.at].number < 0 || same(slots_[p.at], word)) return slots_[p.at].number;
    }

    // The number of a word, which is `number` where it is new.
    std::int32_t add(const Word& word, Index number) {
        Probe<Slot> p(slots_, word.hash);
        for (; slots_[p.at].number >= 0; p.next())
            if (same(slots_[p.at], word)) return slots_[p.at].number;
        if (word.length > 0x7FFFFFFFull || number >= 0x7FFFFFFF) throw std::length_error("too many words, or too long ones");
        const bool whole = word.length <= 16;
        slots_[p.at] = {whole ? word.first : word.hash, whole ? word.second : letters_.size(), std::uint32_t(word.length), std::int32_t(number)};
        if (lists_) starts_.push_back(letters_.size());
        if (lists_ || !whole) letters_.insert(letters_.end(), word.start, word.start + word.length);
        if (4 * ++used_ > 3 * slots_.size()) grow();
        return std::int32_t(number);
    }

    void prefetch(const Word& word) const { __builtin_prefetch(&slots_[Probe<Slot>(slots_, word.hash).at]); }

    std::size_t size() const { return used_; }

    // The letters of words, in the order of their addition.
    const char* begin(std::size_t i) const { return letters_.data() + starts_[i]; }
    std::size_t length(std::size_t i) const { return (i + 1 < size() ? starts_[i + 1] : letters_.size()) - starts_[i]; }

    // The words in the order of their bytes, which is that of their code points. None can be looked up any more.
    Large<std::int32_t> sorted() {
        Large<Slot>().swap(slots_);
        struct Key {
            std::uint64_t prefix;
            std::int32_t word;
        };
        Large<Key> keys(size());
        for (std::size_t i = 0; i < size(); ++i) {
            std::uint64_t prefix = 0;
            for (std::size_t b = 0; b < 8; ++b) prefix = prefix << 8 | (b < length(i) ? std::uint8_t(begin(i)[b]) : 0);
            keys[i] = {prefix, std::int32_t(i)};
        }
        std::sort(keys.begin(), keys.end(), [this](const Key& a, const Key& b) {
            if (a.prefix != b.prefix) return a.prefix < b.prefix;
            const std::size_t i = std::size_t(a.word), j = std::size_t(b.word), n = std::min(length(i), length(j));
            const int order = std::memcmp(begin(i), begin(j), n);
            return order ? order < 0 : length(i) < length(j);
        });
        Large<std::int32_t> order(size());
        for (std::size_t i = 0; i < size(); ++i) order[i] = keys[i].word;
        return order;
    }

private:
    struct Slot {  // a short word is all here; of a long one its hash is, and where its letters are
        std::uint64_t first = 0, second = 0;
        std::uint32_t length = 0;
        std::int32_t number = -1;
    };

    bool same(const Slot& slot, const Word& word) const {
        if (slot.length != word.length) return false;
        if (word.length <= 16) return slot.first == word.first && slot.second == word.second;
        return slot.first == word.hash && !std::memcmp(letters_.data() + slot.second, word.start, word.length);
    }

    void grow() {
        Large<Slot> old(slots_.size() / 2 * 3);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.number < 0) continue;
            Probe<Slot> p(slots_, slot.length <= 16 ? short_hash(slot.first, slot.second, slot.length) : slot.first);
            while (slots_[p.at].number >= 0) p.next();
            slots_[p.at] = slot;
        }
    }

    Large<Slot> slots_ = Large<Slot>(1024);  // open addressing, never more than three quarters full
    std::size_t used_ = 0;
    bool lists_ = true;  // or only looks up
    Large<char> letters_;  // of all words, one after the other; of long ones, where words are only looked up
    Large<std::size_t> starts_;
};

// Tokens and n-grams by their numbers, and n-grams by the number of all but their last token and that of the last.
class GramTable {
public:
    // How many n-grams there will be, as far as it is known.
    explicit GramTable(std::size_t grams = 0) : slots_(std::max<std::size_t>(1024, grams / 3 * 4 + 16)) {}

    static std::uint64_t key(std::int32_t head, std::int32_t last) {
        return std::uint64_t(std::uint32_t(head)) << 32 | std::uint32_t(last);
    }

    std::size_t size() const { return keys_.size(); }
    std::int32_t head(std::size_t number) const { return std::int32_t(keys_[number] >> 32); }  // -1 for a token
    std::int32_t last(std::size_t number) const { return std::int32_t(std::uint32_t(keys_[number])); }  // of a token: whatever it was given

    // The next number, of a token; or as many of them as words will be put at.
    void add_token(std::int32_t last) { keys_.push_back(key(-1, last)); }
    void make_room(std::size_t numbers) {
        keys_.reserve(2 * numbers);  // which takes no memory until it is used
        keys_.resize(numbers, key(-1, -1));
        number_bits_ = bits(numbers);
    }

    std::int32_t find(std::uint64_t key) const {
        const std::uint32_t slot = slots_[place(key)];
        return slot ? number(slot) : -1;
    }

    // The number of an n-gram, which is the next one where it is new; or a number that there is room for.
    std::int32_t add(std::uint64_t key) { return add(key, size()); }
    std::int32_t add(std::uint64_t key, std::size_t number) {
        const std::size_t at = place(key);
        if (slots_[at]) return this->number(slots_[at]);
        if (number >= 0x7FFFFFFF) throw std::length_error("too many words");
        if (number == size()) keys_.push_back(key);
        else keys_[number] = key;
        if (4 * ++used_ > 3 * slots_.size()) rebuild(slots_.size() / 2 * 3);
        else if ((number + 1) >> number_bits_) rebuild(slots_.size());
        else slots_[at] = slot(hash(key), number);
        return std::int32_t(number);
    }

    // Frees what n-grams are found by: their numbers still tell of what they are made.
    void only_numbers() { Large<std::uint32_t>().swap(slots_); }

    void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[Probe<std::uint32_t>(slots_, hash(key)).at]); }
    void prefetch_more(std::uint64_t key) const {
        const std::uint32_t slot = slots_[Probe<std::uint32_t>(slots_, hash(key)).at];
        if (slot) __builtin_prefetch(&keys_[std::size_t(number(slot))]);
    }

private:
    static std::uint64_t hash(std::uint64_t key) { return fold(key ^ 0x9E3779B97F4A7C15ull, 0xD6E8FEB86659FD93ull) * 0x9E3779B97F4A7C15ull; }

    static unsigned bits(std::size_t numbers) {
        unsigned n = 10;
        while (n < 31 && (numbers + 1) >> n) ++n;
        return n;
    }

    // A slot has a number and one in its low bits, and in the others some of the hash, so that few others are looked at.
    std::uint32_t low() const { return (1u << number_bits_) - 1; }
    std::int32_t number(std::uint32_t slot) const { return std::int32_t(slot & low()) - 1; }
    std::uint32_t slot(std::uint64_t hash, std::size_t number) const {
        return (std::uint32_t(hash) & ~low()) | std::uint32_t(number + 1);
    }

    // Where a key is, or would be.
    std::size_t place(std::uint64_t key) const {
        const std::uint64_t h = hash(key);
        for (Probe<std::uint32_t> p(slots_, h);; p.next()) {
            const std::uint32_t own = slots_[p.at];
            if (!own || (!((own ^ std::uint32_t(h)) & ~low()) && keys_[std::size_t(number(own))] == key)) return p.at;
        }
    }

    void rebuild(std::size_t size) {
        Large<std::uint32_t>().swap(slots_);
        slots_.resize(size);
        number_bits_ = bits(keys_.capacity());
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            if (head(i) < 0) continue;
            const std::uint64_t h = hash(keys_[i]);
            Probe<std::uint32_t> p(slots_, h);
            while (slots_[p.at]) p.next();
            slots_[p.at] = slot(h, i);
        }
    }

    Large<std::uint32_t> slots_;  // open addressing, never more than three quarters full; 0 where there is none
    unsigned number_bits_ = 10;
    std::size_t used_ = 0;
    Large<std::uint64_t> keys_;  // of all numbers
};

struct SortedWords {  // what they were found by is gone by then
    Large<std::int32_t> order;  // their numbers,
    bool by_number = false;     // unless words are in the order of these
    Large<std::uint8_t> letters;
    Large<std::int64_t> ends;
};

// Places: the numbers of words.

struct NewWords {  // every word gets one
    static constexpr bool by_tokens = false;
    WordTable table;
    Word word(const char* p, std::size_t n) const { return word_of(p, n); }
    void prefetch(const Word& word) const { table.prefetch(word); }
    std::int32_t number(const Word& word) { return table.add(word, Index(table.size())); }

    std::size_t size() const { return table.size(); }
    template <class Has>
    SortedWords sorted(const Has&) {  // all of them have been counted
        SortedWords out;
        out.order = table.sorted();
        out.ends.reserve(size());
        for (const std::int32_t i : out.order) {
            const char* word = table.begin(std::size_t(i));
            out.letters.insert(out.letters.end(), word, word + table.length(std::size_t(i)));
            out.ends.push_back(std::int64_t(out.letters.size()));
        }
        table = {};
        return out;
    }
};

struct KnownWords {  // -1 for words that are unknown
    static constexpr bool by_tokens = false;
    const WordTable& table;
    Word word(const char* p, std::size_t n) const { return word_of(p, n); }
    void prefetch(const Word& word) const { table.prefetch(word); }
    std::int32_t number(const Word& word) const { return table.find(word); }
};

// n-grams of plain text, whose tokens hold no spaces: no letters of theirs are read or kept.
class NewGrams {
public:
    static constexpr bool by_tokens = true;
    Word word(const char* p, std::size_t n) const { return word_of(p, n); }
    void prefetch(const Word& word) const { tokens_.prefetch(word); }
    void prefetch(std::uint64_t key) const { grams_.prefetch(key); }
    void prefetch_more(std::uint64_t key) const { grams_.prefetch_more(key); }
    std::int32_t number(const Word& word) {
        const std::int32_t found = tokens_.add(word, Index(size()));
        if (std::size_t(found) == size()) grams_.add_token(std::int32_t(tokens_.size() - 1));
        return found;
    }
    std::int32_t joined(std::uint64_t key) { return grams_.add(key); }
    static std::int32_t shown(std::int32_t number) { return number; }

    std::size_t size() const { return grams_.size(); }

    // A space comes before all letters: n-grams are in the order of their tokens.
    template <class Has>
    SortedWords sorted(const Has& has) {
        grams_.only_numbers();
        const Large<std::int32_t> order = tokens_.sorted();
        Large<std::int32_t> rank(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) rank[std::size_t(order[i])] = std::int32_t(i);
        Large<std::size_t> starts;
        Large<std::int32_t> by_rank(size()), children(size());
        for (std::size_t i = 0; i < size(); ++i) by_rank[i] = std::int32_t(i);
        group(by_rank, order.size(), [&](std::int32_t i) { return rank[token(std::size_t(i))]; }, starts, children);
        children.swap(by_rank);
        group(by_rank, size() + 1, [&](std::int32_t i) { return grams_.head(std::size_t(i)) + 1; }, starts, children);

        SortedWords out;
        struct Level {
            std::size_t next, stop, length;  // children that are left, and the letters of what they follow
        };
        std::vector<char> text;
        std::vector<Level> path = {{starts[0], starts[1], 0}};
        while (!path.empty()) {
            if (path.back().next == path.back().stop) {
                path.pop_back();
                continue;
            }
            const std::size_t i = std::size_t(children[path.back().next++]), own = token(i);
            text.resize(path.back().length);
            if (path.size() > 1) text.push_back(' ');
            text.insert(text.end(), tokens_.begin(own), tokens_.begin(own) + tokens_.length(own));
            if (has(i)) {
                out.order.push_back(std::int32_t(i));
                out.letters.insert(out.letters.end(), text.begin(), text.end());
                out.ends.push_back(std::int64_t(out.letters.size()));
            }
            if (starts[i + 1] < starts[i + 2]) path.push_back({starts[i + 1], starts[i + 2], text.size()});
        }
        return out;
    }

private:
    // The last token of a number, as it is in tokens_.
    std::size_t token(std::size_t number) const {
        const std::size_t last = std::size_t(grams_.last(number));
        return grams_.head(number) < 0 ? last : std::size_t(grams_.last(last));
    }

    // Sorts by what `group_of` says, and leaves the order within groups as it is.
    template <class Of>
    static void group(const Large<std::int32_t>& from, std::size_t groups, const Of& group_of, Large<std::size_t>& starts,
                      Large<std::int32_t>& to) {
        starts.assign(groups + 1, 0);
        for (const std::int32_t i : from) ++starts[std::size_t(group_of(i)) + 1];
        for (std::size_t g = 0; g < groups; ++g) starts[g + 1] += starts[g];
        Large<std::size_t> next(starts.begin(), starts.end() - 1);
        for (const std::int32_t i : from) to[next[std::size_t(group_of(i))]++] = i;
    }

    WordTable tokens_;
    GramTable grams_;
};

// Words, in order, of which those with spaces are n-grams of plain text. Their numbers are theirs; parts of words that are
// none themselves have higher ones.
class KnownGrams {
public:
    static constexpr bool by_tokens = true;

    KnownGrams(const std::uint8_t* letters, const std::int64_t* ends, Index n)
        : words_(std::int32_t(n)), tokens_(WordTable::for_lookup(single(letters, ends, n))), grams_(std::size_t(n) - single(letters, ends, n)) {
        grams_.make_room(std::size_t(n));
        std::vector<char> one;
        for (const bool joined : {false, true})
            for (Index i = 0; i < n; ++i) {
                const std::uint8_t *begin = letters + (i ? ends[i - 1] : 0), *end = letters + ends[i];
                if ((std::find(begin, end, ' ') != end) != joined) continue;
                one.assign(begin, end);
                const std::size_t length = one.size();
                one.resize(length + kSlack);
                if (!joined) tokens_.add(word_of(one.data(), length), i);
                else add(one.data(), length, std::size_t(i));
            }
    }

    Word word(const char* p, std::size_t n) const { return word_of(p, n); }
    void prefetch(const Word& word) const { tokens_.prefetch(word); }
    void prefetch(std::uint64_t key) const { grams_.prefetch(key); }
    void prefetch_more(std::uint64_t key) const { grams_.prefetch_more(key); }
    std::int32_t number(const Word& word) const { return tokens_.find(word); }
    std::int32_t joined(std::uint64_t key) const { return grams_.find(key); }
    std::int32_t shown(std::int32_t number) const { return number < words_ ? number : -1; }

private:
    static std::size_t single(const std::uint8_t* letters, const std::int64_t* ends, Index n) {
        std::size_t found = 0;
        for (Index i = 0; i < n; ++i) found += std::find(letters + (i ? ends[i - 1] : 0), letters + ends[i], ' ') == letters + ends[i];
        return found;
    }

    // A word of several tokens; all but the last of them may be a word before it.
    void add(const char* word, std::size_t length, std::size_t number) {
        std::int32_t head = -1;
        for (std::size_t start = 0, stop; start <= length; start = stop + 1) {
            stop = std::size_t(std::find(word + start, word + length, ' ') - word);
            const std::int32_t token = tokens_.add(word_of(word + start, stop - start), Index(grams_.size()));
            if (std::size_t(token) == grams_.size()) grams_.add_token(-1);
            const std::uint64_t key = GramTable::key(head, token);
            head = !start ? token : stop < length ? grams_.add(key) : grams_.add(key, number);
        }
    }

    std::int32_t words_;
    WordTable tokens_;
    GramTable grams_;
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
    if (n % 4) {  // there are readable bytes after a word
        std::memcpy(&k, p + n / 4 * 4, 4);
        k = std::uint32_t(first_bytes(k, n % 4));
    }
    h = (h ^ scramble(k)) ^ std::uint32_t(n);
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

struct Buckets {
    static constexpr bool by_tokens = false;
    std::uint32_t n;
    std::int32_t word(const char* p, std::size_t length) const {
        const std::uint32_t h = murmur3(p, length);
        return std::int32_t((h >> 31 ? 0u - h : h) % n);
    }
    void prefetch(std::int32_t) const {}
    std::int32_t number(std::int32_t bucket) const { return bucket; }

    std::size_t size() const { return n; }
    template <class Has>
    SortedWords sorted(const Has&) const {
        SortedWords out;
        out.by_number = true;
        return out;
    }
};

}  // namespace suffice
