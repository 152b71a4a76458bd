// Label encoding: a code for each distinct item, numbered in order of first appearance.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace suffice {

inline std::uint64_t mix(std::uint64_t h) {
    h = (h ^ (h >> 32)) * 0x9E3779B97F4A7C15ull;
    return h ^ (h >> 32);
}

template <class Word>
Word read(const char* p) {
    Word w;
    std::memcpy(&w, p, sizeof w);
    return w;
}

// Items of rows: a key for each, which is the item or tells most items apart, and whether two of equal keys are the same.
template <class Word>
struct Narrow {  // one machine word each
    const char* data;
    std::uint64_t key(std::int64_t r) const { return read<Word>(data + r * std::int64_t(sizeof(Word))); }
    bool same(std::uint64_t, std::int64_t, std::int64_t) const { return true; }
};

struct Odd {  // three, five, six or seven bytes each
    const char* data;
    std::int64_t width;
    std::uint64_t key(std::int64_t r) const {
        std::uint64_t w = 0;
        std::memcpy(&w, data + r * width, static_cast<std::size_t>(width));
        return w;
    }
    bool same(std::uint64_t, std::int64_t, std::int64_t) const { return true; }
};

struct Wide {  // eight bytes or more each: the key is a hash, the last word may overlap the one before
    const char* data;
    std::int64_t width;
    std::uint64_t key(std::int64_t r) const {
        const char* p = data + r * width;
        std::uint64_t h = mix(read<std::uint64_t>(p + width - 8)), odd = 0x9E3779B97F4A7C15ull;
        for (std::int64_t i = 0; i + 8 < width; i += 8, odd += 0x632BE59BD9B4E01Aull) h += read<std::uint64_t>(p + i) * odd;
        return h;
    }
    bool same(std::uint64_t, std::int64_t r, std::int64_t s) const {
        const char *a = data + r * width, *b = data + s * width;
        bool equal = read<std::uint64_t>(a + width - 8) == read<std::uint64_t>(b + width - 8);
        for (std::int64_t i = 0; i + 8 < width; i += 8) equal &= read<std::uint64_t>(a + i) == read<std::uint64_t>(b + i);
        return equal;
    }
};

struct Head {  // the first bytes of a string, zeros after its end, and what tells how it goes on
    static constexpr std::int64_t size = 32;
    std::uint64_t word[4];
    std::uint64_t rest;  // the length of a string that ends here; of others a larger number, which is a hash
    bool operator==(const Head& o) const {
        return !((word[0] ^ o.word[0]) | (word[1] ^ o.word[1]) | (word[2] ^ o.word[2]) | (word[3] ^ o.word[3]) | (rest ^ o.rest));
    }
};

__extension__ typedef unsigned __int128 Product;

// Both halves of a product, in which all bits of both numbers have a part.
inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    const Product p = Product(a) * b;
    return std::uint64_t(p) ^ std::uint64_t(p >> 64);
}

inline std::uint64_t mix(const Head& k) {
    return fold(k.word[0] ^ 0x9E3779B97F4A7C15ull, k.word[1] ^ 0x632BE59BD9B4E01Bull) ^
           fold(k.word[2] ^ 0xD6E8FEB86659FD93ull, k.word[3] ^ 0xC2B2AE3D27D4EB4Full) ^ fold(k.rest, 0x9FB21C651E98DF25ull);
}

// Strings one after the other: string r begins at start[r] and ends where the next one begins. Lengths vary from row to row,
// so that a branch on them would often be guessed wrong: all strings are read alike, and what follows them is masked.
template <class Offset>
struct Strings {
    const char* text;
    std::int64_t size;
    const Offset* start;

    Head key(std::int64_t r) const {
        alignas(64) static constexpr unsigned char mask[2 * Head::size] = {
            255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
            255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
        const std::int64_t first = start[r], length = start[r + 1] - first, used = length < Head::size ? length : Head::size;
        const char *p = text + first, *kept = reinterpret_cast<const char*>(mask) + Head::size - used;
        char copy[Head::size];
        if (first + Head::size > size) p = static_cast<const char*>(std::memcpy(copy, p, static_cast<std::size_t>(used)));
        Head found;
        for (int i = 0; i < 4; ++i) found.word[i] = read<std::uint64_t>(p + 8 * i) & read<std::uint64_t>(kept + 8 * i);
        found.rest = length <= Head::size ? std::uint64_t(length) : rest(first, length);
        return found;
    }
    bool same(const Head& key, std::int64_t r, std::int64_t s) const {
        if (key.rest <= Head::size) return true;
        const std::int64_t length = start[r + 1] - start[r];
        return length == start[s + 1] - start[s] && !std::memcmp(text + start[r], text + start[s], static_cast<std::size_t>(length));
    }

private:
    // Of a string that is longer than its head. Texts such as addresses begin alike, often all of a column.
    std::uint64_t rest(std::int64_t first, std::int64_t length) const {
        constexpr std::int64_t before = Head::size - 8;  // so that there are eight bytes or more
        const std::uint64_t h = Wide{text + first + before, length - before}.key(0) + std::uint64_t(length) * 0x9E3779B97F4A7C15ull;
        return h > Head::size ? h : h + Head::size + 1;
    }
};

// Codes for n items, -1 for those that are missing; returns the row where each code appeared first.
template <class Items>
std::vector<std::int64_t> encode(const Items items, std::int64_t n, const std::uint8_t* missing, std::int32_t* code) {
    struct Slot {
        decltype(items.key(0)) key{};
        std::int32_t code = -1;
    };
    std::vector<Slot> table(256);  // open addressing, never more than half full
    std::vector<std::int64_t> first;
    Slot* slots = table.data();
    std::uint64_t mask = table.size() - 1;
    for (std::int64_t r = 0; r < n; ++r) {
        if (missing && missing[r]) {
            code[r] = -1;
            continue;
        }
        const auto key = items.key(r);
        std::uint64_t h = mix(key);
        while (slots[h & mask].code >= 0 &&
               !(slots[h & mask].key == key && items.same(key, r, first[slots[h & mask].code])))
            ++h;
        std::int32_t found = slots[h & mask].code;
        if (found < 0) {
            found = static_cast<std::int32_t>(first.size());
            first.push_back(r);
            slots[h & mask] = {key, found};
            if (2 * first.size() > table.size()) {
                const std::vector<Slot> old = std::exchange(table, std::vector<Slot>(2 * table.size()));
                slots = table.data(), mask = table.size() - 1;
                for (const Slot& slot : old) {
                    if (slot.code < 0) continue;
                    h = mix(slot.key);
                    while (slots[h & mask].code >= 0) ++h;
                    slots[h & mask] = slot;
                }
            }
        }
        code[r] = found;
    }
    return first;
}

// Items of equal width.
inline std::vector<std::int64_t> encode(const char* data, std::int64_t width, std::int64_t n, std::int32_t* code) {
    switch (width) {
        case 1: return encode(Narrow<std::uint8_t>{data}, n, nullptr, code);
        case 2: return encode(Narrow<std::uint16_t>{data}, n, nullptr, code);
        case 4: return encode(Narrow<std::uint32_t>{data}, n, nullptr, code);
        case 8: return encode(Narrow<std::uint64_t>{data}, n, nullptr, code);
        default:
            return width > 8 ? encode(Wide{data, width}, n, nullptr, code) : encode(Odd{data, width}, n, nullptr, code);
    }
}

}  // namespace suffice
