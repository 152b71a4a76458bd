// Label encoding: a code for each distinct item, numbered in order of first appearance.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

namespace suffice {

inline std::uint64_t mix(std::uint64_t h) {
    h *= 0x9E3779B97F4A7C15ull;
    return h ^ (h >> 32);
}

class Encoder {  // an open-addressing table from items of `width` bytes to codes
public:
    Encoder(const char* data, std::int64_t width) : data_(data), width_(width), slots_(64, -1) {}

    std::int32_t code(std::int64_t row) {
        const char* item = data_ + row * width_;
        for (std::uint64_t h = hash(item);; ++h) {
            std::int32_t& slot = slots_[h & (slots_.size() - 1)];
            if (slot < 0) {
                slot = static_cast<std::int32_t>(first_.size());
                first_.push_back(row);
                if (2 * first_.size() > slots_.size()) grow();
                return static_cast<std::int32_t>(first_.size() - 1);
            }
            if (same(item, data_ + first_[slot] * width_)) return slot;
        }
    }

    const std::vector<std::int64_t>& first() const { return first_; }  // the row where each code appeared first

private:
    bool same(const char* a, const char* b) const {
        if (width_ == 8) return word(a) == word(b);
        return std::memcmp(a, b, static_cast<std::size_t>(width_)) == 0;
    }
    static std::uint64_t word(const char* p) {
        std::uint64_t w;
        std::memcpy(&w, p, 8);
        return w;
    }
    std::uint64_t hash(const char* p) const {
        if (width_ == 8) return mix(word(p));
        std::uint64_t h = 0;
        std::int64_t i = 0;
        for (; i + 8 <= width_; i += 8) h = mix(h ^ word(p + i));
        if (i < width_) {
            std::uint64_t rest = 0;
            std::memcpy(&rest, p + i, static_cast<std::size_t>(width_ - i));
            h = mix(h ^ rest);
        }
        return h;
    }
    void grow() {
        slots_.assign(2 * slots_.size(), -1);
        for (std::size_t c = 0; c < first_.size(); ++c) {
            std::uint64_t h = hash(data_ + first_[c] * width_);
            while (slots_[h & (slots_.size() - 1)] >= 0) ++h;
            slots_[h & (slots_.size() - 1)] = static_cast<std::int32_t>(c);
        }
    }

    const char* data_;
    std::int64_t width_;
    std::vector<std::int32_t> slots_;
    std::vector<std::int64_t> first_;
};

}  // namespace suffice
