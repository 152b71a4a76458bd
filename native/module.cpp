// Bindings only: kernels/native.py has checked the shapes; the interpreter lock is released.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "encode.hpp"
#include "kernels.hpp"
#include "pool.hpp"
#include "whiten.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace suffice;

namespace {

using Doubles = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using ConstDoubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstPlaces = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Flat = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Rows = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

struct InstructionSet {
    const char* name;
    const Table* table;
};

// Best first, only what this processor can run.
const std::vector<InstructionSet>& available() {
    static const std::vector<InstructionSet> sets = [] {
        std::vector<InstructionSet> found;
#ifdef SUFFICE_HAS_AVX2
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back({"avx2", &avx2::table});
#endif
        found.push_back({"baseline", &baseline::table});
        return found;
    }();
    return sets;
}

std::atomic<const InstructionSet*> chosen{&available().front()};

template <class K>
const K& kernels() { return *chosen.load()->table; }

template <class T>
Matrix<T> matrix(const Rows<T>& X) {
    return {X.data(), Index(X.shape(0)), Index(X.shape(1)), Index(X.stride(0)), Index(X.stride(1))};
}

template <class A>
auto pointer(const A& array) -> decltype(array->data()) { return array ? array->data() : nullptr; }

using Weights = std::optional<ConstDoubles>;
using Wanted = std::optional<Doubles>;
using Best = std::optional<Places>;
using Free = nb::call_guard<nb::gil_scoped_release>;

Scores wanted(const Wanted& all, const Best& best, const Wanted& evidence) {
    return {pointer(all), pointer(best), pointer(evidence)};
}

Shares shares(const ConstDoubles& share, const Weights& weight) {
    return {share.data(), pointer(weight), Index(share.shape(1))};
}

// Columns that lie in arrays of their own.
using Column = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct Columns {
    std::vector<const double*> pointers;
    Matrix<double> matrix;
    explicit Columns(const std::vector<Column>& X) {
        for (const Column& column : X) pointers.push_back(column.data());
        matrix = {nullptr, Index(X.front().shape(0)), Index(X.size()), 1, 0, pointers.data()};
    }
};

void bind_columns(nb::module_& m) {
    m.def("diag_moments",
          [](std::vector<Column> X, Codes code, Weights weight, Doubles n, Doubles mean, Doubles scatter) {
              kernels<Kernels<double>>().diag_moments(Columns(X).matrix, {code.data(), pointer(weight), Index(n.shape(0))},
                                                      {n.data(), mean.data(), scatter.data()});
          },
          "X"_a.noconvert(), "code"_a.noconvert(), "weight"_a.none(), "n"_a.noconvert(), "mean"_a.noconvert(),
          "scatter"_a.noconvert(), Free());
    m.def("full_moments",
          [](std::vector<Column> X, Codes code, Weights weight, bool pooled, Doubles n, Doubles mean, Doubles scatter,
             Wanted cubic, Wanted quartic) {
              kernels<Kernels<double>>().full_moments(Columns(X).matrix, {code.data(), pointer(weight), Index(n.shape(0))},
                                                      pooled, {n.data(), mean.data(), scatter.data(), pointer(cubic), pointer(quartic)});
          },
          "X"_a.noconvert(), "code"_a.noconvert(), "weight"_a.none(), "pooled"_a, "n"_a.noconvert(),
          "mean"_a.noconvert(), "scatter"_a.noconvert(), "cubic"_a.noconvert().none() = nb::none(),
          "quartic"_a.noconvert().none() = nb::none(), Free());
    m.def("soft_diag_moments",
          [](std::vector<Column> X, ConstDoubles share, Weights weight, Doubles n, Doubles mean, Doubles scatter) {
              kernels<Kernels<double>>().soft_diag_moments(Columns(X).matrix, shares(share, weight),
                                                           {n.data(), mean.data(), scatter.data()});
          },
          "X"_a.noconvert(), "share"_a.noconvert(), "weight"_a.none(), "n"_a.noconvert(), "mean"_a.noconvert(),
          "scatter"_a.noconvert(), Free());
    m.def("soft_full_moments",
          [](std::vector<Column> X, ConstDoubles share, Weights weight, bool pooled, Doubles n, Doubles mean, Doubles scatter) {
              kernels<Kernels<double>>().soft_full_moments(Columns(X).matrix, shares(share, weight), pooled,
                                                           {n.data(), mean.data(), scatter.data()});
          },
          "X"_a.noconvert(), "share"_a.noconvert(), "weight"_a.none(), "pooled"_a, "n"_a.noconvert(),
          "mean"_a.noconvert(), "scatter"_a.noconvert(), Free());
}

template <class T>
void bind(nb::module_& m) {
    const Free free;

    m.def("diag_moments",
          [](Rows<T> X, Codes code, Weights weight, Doubles n, Doubles mean, Doubles scatter) {
              kernels<Kernels<T>>().diag_moments(matrix<T>(X), {code.data(), pointer(weight), Index(n.shape(0))},
                                        {n.data(), mean.data(), scatter.data()});
          },
          "X"_a.noconvert(), "code"_a.noconvert(), "weight"_a.none(), "n"_a.noconvert(), "mean"_a.noconvert(),
          "scatter"_a.noconvert(), free);
    m.def("full_moments",
          [](Rows<T> X, Codes code, Weights weight, bool pooled, Doubles n, Doubles mean, Doubles scatter,
             Wanted cubic, Wanted quartic) {
              kernels<Kernels<T>>().full_moments(matrix<T>(X), {code.data(), pointer(weight), Index(n.shape(0))}, pooled,
                                        {n.data(), mean.data(), scatter.data(), pointer(cubic), pointer(quartic)});
          },
          "X"_a.noconvert(), "code"_a.noconvert(), "weight"_a.none(), "pooled"_a, "n"_a.noconvert(),
          "mean"_a.noconvert(), "scatter"_a.noconvert(), "cubic"_a.noconvert().none() = nb::none(),
          "quartic"_a.noconvert().none() = nb::none(), free);

    m.def("soft_diag_moments",
          [](Rows<T> X, ConstDoubles share, Weights weight, Doubles n, Doubles mean, Doubles scatter) {
              kernels<Kernels<T>>().soft_diag_moments(matrix<T>(X), shares(share, weight),
                                                      {n.data(), mean.data(), scatter.data()});
          },
          "X"_a.noconvert(), "share"_a.noconvert(), "weight"_a.none(), "n"_a.noconvert(), "mean"_a.noconvert(),
          "scatter"_a.noconvert(), free);
    m.def("soft_full_moments",
          [](Rows<T> X, ConstDoubles share, Weights weight, bool pooled, Doubles n, Doubles mean, Doubles scatter) {
              kernels<Kernels<T>>().soft_full_moments(matrix<T>(X), shares(share, weight), pooled,
                                                      {n.data(), mean.data(), scatter.data()});
          },
          "X"_a.noconvert(), "share"_a.noconvert(), "weight"_a.none(), "pooled"_a, "n"_a.noconvert(),
          "mean"_a.noconvert(), "scatter"_a.noconvert(), free);

    const auto score = [&](const char* name, auto kernel) {
        m.def(name,
              [kernel](Rows<T> X, ConstDoubles a, ConstDoubles b, ConstDoubles constant, Wanted all, Best best,
                       Wanted evidence) {
                  return (kernels<Kernels<T>>().*kernel)(matrix<T>(X), Index(constant.shape(0)), a.data(), b.data(), constant.data(),
                                                wanted(all, best, evidence));
              },
              nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert().none(),
              nb::arg().noconvert().none(), nb::arg().noconvert().none(), free);
    };
    score("diag_scores", &Kernels<T>::diag_scores);
    score("full_scores", &Kernels<T>::full_scores);
    score("linear_scores", &Kernels<T>::linear_scores);

    m.def("count_scores",
          [](Rows<T> X, ConstDoubles slope, ConstDoubles constant, bool presence, Wanted all, Best best, Wanted evidence) {
              return kernels<Kernels<T>>().count_scores(matrix<T>(X), Index(constant.shape(0)), presence, slope.data(),
                                                        constant.data(), wanted(all, best, evidence));
          },
          nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert().none(), nb::arg().noconvert().none(),
          nb::arg().noconvert().none(), free);
    m.def("dense_counts",
          [](Rows<T> X, Codes code, Weights weight, bool presence, Doubles count, Doubles missing, Wanted log_factorials) {
              return kernels<Kernels<T>>().dense_counts(matrix<T>(X), {code.data(), pointer(weight), Index(count.shape(0))},
                                                        presence, count.data(), missing.data(), pointer(log_factorials));
          },
          "X"_a.noconvert(), "code"_a.noconvert(), "weight"_a.none(), "presence"_a, "count"_a.noconvert(),
          "missing"_a.noconvert(), "log_factorials"_a.noconvert().none(), free);
    m.def("dense_log_factorials",
          [](Rows<T> X, Doubles out) { kernels<Kernels<T>>().log_factorials(matrix<T>(X), out.data()); },
          "X"_a.noconvert(), "out"_a.noconvert(), free);
}

template <class T>
void bind_categories(nb::module_& m) {
    m.def("category_counts",
          [](Rows<T> X, Codes code, Weights weight, ConstPlaces lo, ConstPlaces width, Doubles table) {
              return kernels<CategoryKernels<T>>().counts(
                  matrix<T>(X), {code.data(), pointer(weight), Index(table.shape(1))}, {lo.data(), width.data()}, table.data());
          },
          "X"_a.noconvert(), "code"_a.noconvert(), "weight"_a.none(), "lo"_a, "width"_a, "table"_a.noconvert(), Free());
    m.def("soft_category_counts",
          [](Rows<T> X, ConstDoubles share, Weights weight, ConstPlaces lo, ConstPlaces width, Doubles table) {
              return kernels<CategoryKernels<T>>().soft_counts(matrix<T>(X), shares(share, weight), {lo.data(), width.data()},
                                                               table.data());
          },
          "X"_a.noconvert(), "share"_a.noconvert(), "weight"_a.none(), "lo"_a, "width"_a, "table"_a.noconvert(), Free());
    m.def("pair_counts",
          [](Rows<T> X, Codes code, Weights weight, ConstPlaces lo, ConstPlaces width, ConstPlaces first, ConstPlaces second,
             Doubles table) {
              kernels<CategoryKernels<T>>().pair_counts(
                  matrix<T>(X), {code.data(), pointer(weight), Index(table.shape(0))}, {lo.data(), width.data()},
                  {first.data(), second.data(), Index(first.shape(0))}, table.data());
          },
          "X"_a.noconvert(), "code"_a.noconvert(), "weight"_a.none(), "lo"_a, "width"_a, "first"_a, "second"_a,
          "table"_a.noconvert(), Free());
    m.def("category_scores",
          [](Rows<T> X, ConstPlaces lo, ConstPlaces width, ConstDoubles table, ConstDoubles constant, Wanted all, Best best,
             Wanted evidence) {
              kernels<CategoryKernels<T>>().scores(matrix<T>(X), {lo.data(), width.data()}, Index(constant.shape(0)),
                                                   table.data(), constant.data(), wanted(all, best, evidence));
          },
          nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert().none(),
          nb::arg().noconvert().none(), nb::arg().noconvert().none(), Free());
    m.def("tree_scores",
          [](Rows<T> X, ConstPlaces lo, ConstPlaces width, ConstPlaces parent, ConstDoubles table, ConstDoubles constant,
             Wanted all, Best best, Wanted evidence) {
              kernels<CategoryKernels<T>>().tree_scores(matrix<T>(X), {lo.data(), width.data()}, parent.data(),
                                                        Index(constant.shape(0)), table.data(), constant.data(),
                                                        wanted(all, best, evidence));
          },
          nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert().none(),
          nb::arg().noconvert().none(), nb::arg().noconvert().none(), Free());
}

template <class V, class I>
void bind_sparse(nb::module_& m) {
    m.def("sparse_counts",
          [](ConstPlaces indptr, Flat<I> indices, Flat<V> data, Codes code, Weights weight, bool presence, Doubles table,
             Wanted log_factorials) {
              return kernels<SparseKernels<V, I>>().counts(
                  {indptr.data(), indices.data(), data.data(), Index(indptr.shape(0)) - 1, Index(table.shape(1))},
                  {code.data(), pointer(weight), Index(table.shape(0))}, presence, table.data(), pointer(log_factorials));
          },
          "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "code"_a.noconvert(), "weight"_a.none(),
          "presence"_a, "table"_a.noconvert(), "log_factorials"_a.noconvert().none(), Free());
    m.def("sparse_log_factorials",
          [](ConstPlaces indptr, Flat<I> indices, Flat<V> data, Index columns, Doubles out) {
              kernels<SparseKernels<V, I>>().log_factorials(
                  {indptr.data(), indices.data(), data.data(), Index(indptr.shape(0)) - 1, columns}, out.data());
          },
          "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "columns"_a, "out"_a.noconvert(), Free());
    m.def("sparse_scores",
          [](ConstPlaces indptr, Flat<I> indices, std::optional<Flat<V>> data, ConstDoubles slope, ConstDoubles constant,
             Wanted all, Best best, Wanted evidence) {
              kernels<SparseKernels<V, I>>().scores(
                  {indptr.data(), indices.data(), pointer(data), Index(indptr.shape(0)) - 1, Index(slope.shape(0))},
                  Index(constant.shape(0)), slope.data(), constant.data(), wanted(all, best, evidence));
          },
          nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert().none(), nb::arg(), nb::arg(),
          nb::arg().noconvert().none(), nb::arg().noconvert().none(), nb::arg().noconvert().none(), Free());
}

template <class... T>
void bind_all_categories(nb::module_& m) { (bind_categories<T>(m), ...); }

template <class... V>
void bind_all_sparse(nb::module_& m) { (bind_sparse<V, std::int32_t>(m), ...), (bind_sparse<V, std::int64_t>(m), ...); }

void reduce(ConstDoubles scores, Wanted all, Best best, Wanted evidence) {
    Scores out = wanted(all, best, evidence);
    if (out.all == scores.data()) out.all = nullptr;  // it is there already
    kernels<Reduction>().reduce(scores.data(), Index(scores.shape(0)), Index(scores.shape(1)), out);
}

// Fallback has one row, or as many as joint.
std::pair<double, double> soften(Doubles joint, ConstDoubles fallback, Weights weight) {
    const Index n = Index(joint.shape(0)), k = Index(joint.shape(1));
    double sums[2];
    kernels<Reduction>().soften(joint.data(), n, k, fallback.data(), fallback.shape(0) == 1 ? 0 : k, pointer(weight), sums);
    return {sums[0], sums[1]};
}

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutCodes = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Scored = Flat<double>;

std::vector<std::int64_t> encode_items(Bytes items, OutCodes code) {
    nb::gil_scoped_release free;
    return encode(reinterpret_cast<const char*>(items.data()), std::int64_t(items.shape(1)), std::int64_t(items.shape(0)),
                  code.data());
}

// Strings one after the other, whose offsets the caller has checked.
template <class Offset>
std::vector<std::int64_t> encode_strings(Flat<std::uint8_t> text, Flat<Offset> offsets, std::optional<Flat<std::uint8_t>> missing,
                                         OutCodes code) {
    nb::gil_scoped_release free;
    const Strings<Offset> strings{reinterpret_cast<const char*>(text.data()), std::int64_t(text.size()), offsets.data()};
    return encode(strings, std::int64_t(code.shape(0)), missing ? missing->data() : nullptr, code.data());
}

bool equal(PyObject* a, PyObject* b) {
    if (PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b)) return PyUnicode_Compare(a, b) == 0;
    const nb::object keep_a = nb::borrow(a), keep_b = nb::borrow(b);  // comparing may run any code
    const int answer = PyObject_RichCompareBool(a, b, Py_EQ);
    if (answer < 0) throw nb::python_error();
    return answer > 0;
}

// Objects by value, as a dictionary has them, but for the price of one look at each.
class ObjectTable {
public:
    std::int32_t code(PyObject* item) {
        const Py_hash_t hash = PyObject_Hash(item);
        if (hash == -1) throw nb::python_error();
        std::size_t h = std::size_t(mix(std::uint64_t(hash)));
        for (;; ++h) {
            const Slot& slot = slots_[h & (slots_.size() - 1)];
            if (slot.code < 0) return insert(hash, item);
            if (slot.hash == hash && (slot.item == item || equal(slot.item, item))) return slot.code;
        }
    }
    const nb::list& distinct() const { return distinct_; }

private:
    struct Slot {
        Py_hash_t hash = 0;
        PyObject* item = nullptr;  // borrowed from distinct_
        std::int32_t code = -1;
    };

    std::int32_t insert(Py_hash_t hash, PyObject* item) {
        const std::int32_t code = std::int32_t(distinct_.size());
        distinct_.append(nb::borrow(item));
        if (2 * distinct_.size() > slots_.size()) {
            std::vector<Slot> old(2 * slots_.size());
            old.swap(slots_);
            for (const Slot& slot : old)
                if (slot.code >= 0) place(slot);
        }
        place({hash, item, code});
        return code;
    }

    void place(const Slot& slot) {
        std::size_t h = std::size_t(mix(std::uint64_t(slot.hash)));
        while (slots_[h & (slots_.size() - 1)].code >= 0) ++h;
        slots_[h & (slots_.size() - 1)] = slot;
    }

    std::vector<Slot> slots_ = std::vector<Slot>(256);  // open addressing, never more than half full
    nb::list distinct_;
};

// Objects are often the same few objects over and over: a small table by address answers before the other one does.
nb::list encode_objects(nb::handle items, OutCodes code) {
    Py_buffer view;
    if (PyObject_GetBuffer(items.ptr(), &view, PyBUF_ND | PyBUF_FORMAT)) throw nb::python_error();
    struct Release {
        Py_buffer* view;
        ~Release() { PyBuffer_Release(view); }
    } release{&view};
    PyObject* const* object = static_cast<PyObject* const*>(view.buf);
    constexpr std::size_t slots = 1024;
    std::vector<std::pair<PyObject*, std::int32_t>> recent(slots, {nullptr, 0});
    ObjectTable table;
    const std::int64_t n = std::int64_t(code.shape(0)), ahead = 16;  // objects lie anywhere: ask for them early
    for (std::int64_t r = 0; r < n; ++r) {
        if (r + ahead < n) __builtin_prefetch(object[r + ahead]);
        PyObject* const item = object[r] ? object[r] : Py_None;  // as NumPy reads what was never set
        auto& slot = recent[mix(reinterpret_cast<std::uintptr_t>(item)) % slots];
        if (slot.first != item) {
            const nb::object keep = nb::borrow(item);  // comparing may run any code, which may change the array
            slot = {item, table.code(item)};
        }
        code.data()[r] = slot.second;
    }
    return table.distinct();
}

}  // namespace

void bind_words(nb::module_& m);  // words.cpp

NB_MODULE(_native, m) {
    nb::set_leak_warnings(false);  // what test runners and caches still hold when the process ends is no leak
    bind_words(m);
    bind<float>(m);
    bind<double>(m);
    bind_columns(m);
    bind_all_categories<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                        std::uint64_t>(m);
    bind_all_sparse<float, double, std::int32_t, std::int64_t>(m);
    m.def("reduce", &reduce, nb::arg().noconvert(), nb::arg().noconvert().none(), nb::arg().noconvert().none(),
          nb::arg().noconvert().none(), Free());
    m.def("soften", &soften, "joint"_a.noconvert(), "fallback"_a, "weight"_a.none(), Free());
    m.def("whiten",
          [](ConstDoubles matrices, ConstDoubles unit, Doubles whitening, Doubles log_det, Doubles trace) {
              const Index d = Index(unit.shape(0));
              for (Index g = 0; g < Index(trace.shape(0)); ++g)
                  trace.data()[g] = whiten(matrices.data() + g * d * d, unit.data(), d, whitening.data() + g * d * d,
                                           log_det.data() + g);
          },
          "matrices"_a.noconvert(), "unit"_a.noconvert(), "whitening"_a.noconvert(), "log_det"_a.noconvert(),
          "trace"_a.noconvert(), Free());
    m.def("encode_items", &encode_items, "items"_a.noconvert(), "code"_a.noconvert());
    m.def("encode_strings", &encode_strings<std::int32_t>, "text"_a.noconvert(), "offsets"_a.noconvert(),
          "missing"_a.noconvert().none(), "code"_a.noconvert());
    m.def("encode_strings", &encode_strings<std::int64_t>, "text"_a.noconvert(), "offsets"_a.noconvert(),
          "missing"_a.noconvert().none(), "code"_a.noconvert());
    m.def("encode_objects", &encode_objects, "items"_a, "code"_a.noconvert());
    m.def("split_scores",
          [](Scored score, Flat<std::uint8_t> target, Doubles parts) {
              nb::gil_scoped_release free;
              return split_scores(score.data(), target.data(), Index(score.shape(0)), parts.data());
          },
          "score"_a.noconvert(), "target"_a.noconvert(), "parts"_a.noconvert());
    m.def("pool_violators",
          [](Scored target, Scored other, Doubles steps) {
              nb::gil_scoped_release free;
              return pool_violators(target.data(), Index(target.shape(0)), other.data(), Index(other.shape(0)),
                                    reinterpret_cast<Step*>(steps.data()));
          },
          "target"_a.noconvert(), "other"_a.noconvert(), "steps"_a.noconvert());
    m.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const auto& set : available()) names.emplace_back(set.name);
        return names;
    });
    m.def("use", [](const std::string& name) {
        for (const auto& set : available())
            if (name == set.name) {
                chosen = &set;
                return;
            }
        throw std::invalid_argument("this processor does not run " + name);
    });
}
