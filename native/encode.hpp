// Label encoding: a code for each distinct item, numbered in order of first appearance.
#pragma once
#include <cstdint>
#include <cstring>
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

template <class Word>
struct Narrow {  // items that are one machine word: the tag is the item
    std::int64_t width = sizeof(Word);
    std::uint64_t tag(const char* p) const { return read<Word>(p); }
    bool same(const char*, const char*) const { return true; }
};

struct Wide {  // items of eight bytes or more: the tag is a hash, the last word may overlap the one before
    std::int64_t width;
    std::uint64_t tag(const char* p) const {
        std::uint64_t h = mix(read<std::uint64_t>(p + width - 8)), odd = 0x9E3779B97F4A7C15ull;
        for (std::int64_t i = 0; i + 8 < width; i += 8, odd += 0x632BE59BD9B4E01Aull) h += read<std::uint64_t>(p + i) * odd;
        return h;
    }
    bool same(const char* a, const char* b) const {
        bool equal = read<std::uint64_t>(a + width - 8) == read<std::uint64_t>(b + width - 8);
        for (std::int64_t i = 0; i + 8 < width; i += 8) equal &= read<std::uint64_t>(a + i) == read<std::uint64_t>(b + i);
        return equal;
    }
};

struct Odd {  // items of three, five, six or seven bytes
    std::int64_t width;
    std::uint64_t tag(const char* p) const {
        std::uint64_t w = 0;
        std::memcpy(&w, p, static_cast<std::size_t>(width));
        return w;
    }
    bool same(const char*, const char*) const { return true; }
};

// Codes for n items; returns the row where each code appeared first.
template <class Items>
std::vector<std::int64_t> encode(const Items items, const char* data, std::int64_t n, std::int32_t* code) {
    struct Slot {
        std::uint64_t tag = 0;
        std::int32_t code = -1;
    };
    std::vector<Slot> table(256);  // open addressing, never more than half full
    std::vector<std::int64_t> first;
    const auto place = [&](std::uint64_t tag) {
        std::uint64_t h = mix(tag);
        while (table[h & (table.size() - 1)].code >= 0) ++h;
        return h & (table.size() - 1);
    };
    const Slot* slots = table.data();
    std::uint64_t mask = table.size() - 1;
    for (std::int64_t r = 0; r < n; ++r) {
        const char* item = data + r * items.width;
        const std::uint64_t tag = items.tag(item);
        std::uint64_t h = mix(tag);
        while (slots[h & mask].code >= 0 &&
               (slots[h & mask].tag != tag || !items.same(item, data + first[slots[h & mask].code] * items.width)))
            ++h;
        std::int32_t found = slots[h & mask].code;
        if (found < 0) {
            found = static_cast<std::int32_t>(first.size());
            first.push_back(r);
            table[h & mask] = {tag, found};
            if (2 * first.size() > table.size()) {
                table.assign(2 * table.size(), Slot());
                for (std::size_t c = 0; c < first.size(); ++c) {
                    const std::uint64_t old = items.tag(data + first[c] * items.width);
                    table[place(old)] = {old, static_cast<std::int32_t>(c)};
                }
                slots = table.data(), mask = table.size() - 1;
            }
        }
        code[r] = found;
    }
    return first;
}

inline std::vector<std::int64_t> encode(const char* data, std::int64_t width, std::int64_t n, std::int32_t* code) {
    switch (width) {
        case 1: return encode(Narrow<std::uint8_t>{}, data, n, code);
        case 2: return encode(Narrow<std::uint16_t>{}, data, n, code);
        case 4: return encode(Narrow<std::uint32_t>{}, data, n, code);
        case 8: return encode(Narrow<std::uint64_t>{}, data, n, code);
        default: return width > 8 ? encode(Wide{width}, data, n, code) : encode(Odd{width}, data, n, code);
    }
}

}  // namespace suffice
