// Cells of compressed rows that are stored more than once.
#pragma once
#include <vector>

#include "kernels.hpp"

namespace suffice {

// Rows in which columns ascend have none; in others, the last row that stored a column tells.
template <class I>
bool has_duplicates(const std::int64_t* starts, const I* indices, Index rows, Index cols) {
    std::vector<Index> last;
    for (Index r = 0; r < rows; ++r) {
        bool ascending = true;
        for (Index e = starts[r] + 1; e < starts[r + 1]; ++e) ascending &= indices[e - 1] < indices[e];
        if (ascending) continue;
        if (last.empty()) last.assign(std::size_t(cols), -1);
        for (Index e = starts[r]; e < starts[r + 1]; ++e) {
            const std::size_t column = std::size_t(indices[e]);
            if (column >= last.size()) continue;  // changed since it was checked
            if (last[column] == r) return true;
            last[column] = r;
        }
    }
    return false;
}

}  // namespace suffice
