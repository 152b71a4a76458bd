// The kernels for one instruction set, SUFFICE_ISA.
#include "soft.hpp"

namespace suffice::SUFFICE_ISA {

#define DENSE(T) \
    {diag_moments<T>, full_moments<T>, soft_diag_moments<T>, soft_full_moments<T>, \
     diag_scores<T>, full_scores<T>, linear_scores<T>, count_scores<T>, dense_counts<T>, \
     dense_log_factorials<T>}
#define CATEGORIES(T) {category_counts<T>, soft_category_counts<T>, pair_counts<T>, category_scores<T>, tree_scores<T>}
#define SPARSE(V) \
    {sparse_counts<V, std::int32_t>, sparse_scores<V, std::int32_t>, sparse_log_factorials<V, std::int32_t>}, \
    {sparse_counts<V, std::int64_t>, sparse_scores<V, std::int64_t>, sparse_log_factorials<V, std::int64_t>}

extern const Table table = {
    DENSE(float), DENSE(double),
    CATEGORIES(std::int8_t), CATEGORIES(std::int16_t), CATEGORIES(std::int32_t), CATEGORIES(std::int64_t),
    CATEGORIES(std::uint8_t), CATEGORIES(std::uint16_t), CATEGORIES(std::uint32_t), CATEGORIES(std::uint64_t),
    SPARSE(float), SPARSE(double), SPARSE(std::int32_t), SPARSE(std::int64_t),
    {reduce, soften},
};

}  // namespace suffice::SUFFICE_ISA
