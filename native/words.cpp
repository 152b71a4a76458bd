// Bindings of the kernels of words; kernels/native.py has checked the arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <type_traits>

#include "text.hpp"
#include "word_counts.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace suffice;

namespace {

template <class T>
using Flat = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Bytes = Flat<std::uint8_t>;
using Offsets = Flat<std::int64_t>;
using Numbers = Flat<std::int32_t>;

// An array that owns its numbers.
template <class T>
nb::object array(Large<T>&& values) {
    auto* kept = new Large<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Large<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), {kept->size()}, owner));
}

// Words of a model, to be looked up as they are, or token by token.
struct Lookup {
    WordTable whole;
    std::optional<KnownGrams> grams;
};

struct Read {  // what all of them read: documents, and how
    Bytes text;
    Offsets offsets;
    std::optional<Offsets> lists;
    Flat<std::uint16_t> pages;
    Flat<std::uint32_t> letters, extra;
    bool context;
    std::size_t least, most;
    const Lookup* stop;

    Documents documents() const {
        return {text.data(), offsets.data(), lists ? lists->data() : nullptr,
                Index(lists ? lists->shape(0) : offsets.shape(0)) - 1};
    }
    Reading how() const { return {pages.data(), letters.data(), std::uint32_t(256 * pages.shape(0)), extra.data(), context, least, most,
                                   stop && stop->whole.size() ? &stop->whole : nullptr}; }
};

nb::object problem(const Problem& found) { return nb::make_tuple(found.row, found.sigma); }

// The rows class by class.
std::vector<Index> grouped(const std::int32_t* code, Index rows) {
    std::vector<Index> starts(1, 0), order(static_cast<std::size_t>(rows));
    for (Index r = 0; r < rows; ++r) {
        if (std::size_t(code[r]) + 2 > starts.size()) starts.resize(std::size_t(code[r]) + 2);
        ++starts[std::size_t(code[r]) + 1];
    }
    for (std::size_t c = 1; c < starts.size(); ++c) starts[c] += starts[c - 1];
    for (Index r = 0; r < rows; ++r) order[std::size_t(starts[std::size_t(code[r])]++)] = r;
    return order;
}

template <class Count, class Places>
nb::object counted(const Read& read, Places&& places, const Labels& labels, bool presence) {
    Problem found;
    SortedWords words;
    Large<std::int32_t> starts, label;
    Large<double> count, documents;
    {
        nb::gil_scoped_release free;
        CountWords<Count> sink(labels, presence);
        const Documents texts = read.documents();
        found = read_words(texts, read.how(), places, sink, grouped(labels.code, texts.rows));
        if (found.row >= 0 && !found.sigma) {
            Buckets one{1};
            ReadOnly nothing{labels};
            found = read_words(texts, read.how(), one, nothing);
        }
        if (found.row < 0) {
            sink.complete(places.size());
            words = places.sorted([&](std::size_t i) { return sink.has(i); });
            sink.write(words, starts, label, count, documents);
        }
    }
    if (found.row >= 0) return problem(found);
    return nb::make_tuple(array(std::move(words.letters)), array(std::move(words.ends)), array(std::move(starts)), array(std::move(label)),
                          array(std::move(count)), array(std::move(documents)));
}

template <class Sink>
Problem looked_up(const Read& read, const Lookup* words, std::uint32_t buckets, Sink& sink) {
    nb::gil_scoped_release free;
    if (words && words->grams) return read_words(read.documents(), read.how(), *words->grams, sink);
    if (words) {
        KnownWords places{words->whole};
        return read_words(read.documents(), read.how(), places, sink);
    }
    Buckets places{buckets};
    return read_words(read.documents(), read.how(), places, sink);
}

}  // namespace

void bind_words(nb::module_& m) {
    nb::class_<Lookup>(m, "Lookup")
        .def("__init__",
             [](Lookup* self, Bytes letters, Offsets ends, bool grams) {
                 nb::gil_scoped_release free;
                 new (self) Lookup();
                 const Index n = Index(ends.shape(0));
                 if (grams) self->grams.emplace(letters.data(), ends.data(), n);
                 else self->whole = WordTable(letters.data(), ends.data(), n);
             },
             "letters"_a.noconvert(), "ends"_a.noconvert(), "grams"_a);
    m.def("word_counts",
          [](Bytes text, Offsets offsets, std::optional<Offsets> lists, Flat<std::uint16_t> pages, Flat<std::uint32_t> letters,
             Flat<std::uint32_t> extra, bool context, std::size_t least, std::size_t most, const Lookup* stop, std::uint32_t buckets, Flat<std::int32_t> code,
             std::optional<Flat<double>> weight, bool presence) {
              const Read read{text, offsets, lists, pages, letters, extra, context, least, most, stop};
              const Labels labels{code.data(), weight ? weight->data() : nullptr, 0};
              const auto all = [&](auto&& places) {
                  // Whole numbers are exact, and take half the memory, as long as they fit.
                  const bool whole = !weight && text.shape(0) < std::size_t(1) << 32;
                  return whole ? counted<std::uint32_t>(read, places, labels, presence) : counted<double>(read, places, labels, presence);
              };
              if (buckets) return all(Buckets{buckets});
              if (most > 1 && !lists) return all(NewGrams());
              return all(NewWords());
          },
          "text"_a.noconvert(), "offsets"_a.noconvert(), "lists"_a.noconvert().none(), "pages"_a.noconvert(), "letters"_a.noconvert(),
          "extra"_a.noconvert(), "context"_a, "least"_a, "most"_a, "stop"_a.none(), "buckets"_a, "code"_a.noconvert(), "weight"_a.noconvert().none(), "presence"_a);
    m.def("word_scores",
          [](Bytes text, Offsets offsets, std::optional<Offsets> lists, Flat<std::uint16_t> pages, Flat<std::uint32_t> letters,
             Flat<std::uint32_t> extra, bool context, std::size_t least, std::size_t most, const Lookup* stop, const Lookup* words, Numbers starts, Numbers label,
             Flat<double> slope, std::optional<Flat<double>> logs, Flat<double> by_class, bool presence, Doubles out) {
              const Read read{text, offsets, lists, pages, letters, extra, context, least, most, stop};
              const WordSlopes slopes{starts.data(), label.data(), slope.data(), logs ? logs->data() : nullptr, by_class.data(), starts.shape(0) - 1, by_class.shape(0)};
              ScoreWords sink(slopes, presence, out.data());
              const Problem found = looked_up(read, words, std::uint32_t(slopes.words), sink);
              return nb::make_tuple(found.row, found.sigma, sink.first_unknown);
          },
          "text"_a.noconvert(), "offsets"_a.noconvert(), "lists"_a.noconvert().none(), "pages"_a.noconvert(), "letters"_a.noconvert(),
          "extra"_a.noconvert(), "context"_a, "least"_a, "most"_a, "stop"_a.none(), "words"_a.none(), "starts"_a.noconvert(), "label"_a.noconvert(),
          "slope"_a.noconvert(), "logs"_a.noconvert().none(), "by_class"_a.noconvert(), "presence"_a, "out"_a.noconvert());
    m.def("word_codes",
          [](Bytes text, Offsets offsets, std::optional<Offsets> lists, Flat<std::uint16_t> pages, Flat<std::uint32_t> letters,
             Flat<std::uint32_t> extra, bool context, std::size_t least, std::size_t most, const Lookup* stop, const Lookup* words, std::uint32_t buckets) -> nb::object {
              const Read read{text, offsets, lists, pages, letters, extra, context, least, most, stop};
              ListWords sink;
              const Problem found = looked_up(read, words, buckets, sink);
              if (found.row >= 0) return problem(found);
              return nb::make_tuple(array(std::move(sink.ends)), array(std::move(sink.numbers)), nb::none());
          },
          "text"_a.noconvert(), "offsets"_a.noconvert(), "lists"_a.noconvert().none(), "pages"_a.noconvert(), "letters"_a.noconvert(),
          "extra"_a.noconvert(), "context"_a, "least"_a, "most"_a, "stop"_a.none(), "words"_a.none(), "buckets"_a);
    m.def("add_words",
          [](Bytes letters, std::optional<Offsets> ends, Numbers starts, Numbers label, Flat<double> value, Flat<double> having, Bytes more_letters,
             std::optional<Offsets> more_ends, Numbers more_starts, Numbers more_label, Flat<double> more_value, Flat<double> more_having) {
              AddedWords found;
              {
                  nb::gil_scoped_release free;
                  found = add_words({letters.data(), ends ? ends->data() : nullptr, starts.data(), label.data(), value.data(), having.data(),
                                     Index(starts.shape(0)) - 1},
                                    {more_letters.data(), more_ends ? more_ends->data() : nullptr, more_starts.data(), more_label.data(),
                                     more_value.data(), more_having.data(), Index(more_starts.shape(0)) - 1});
              }
              return nb::make_tuple(array(std::move(found.letters)), array(std::move(found.ends)), array(std::move(found.starts)),
                                    array(std::move(found.label)), array(std::move(found.value)), array(std::move(found.having)));
          },
          "letters"_a.noconvert(), "ends"_a.noconvert().none(), "starts"_a.noconvert(), "label"_a.noconvert(), "value"_a.noconvert(),
          "having"_a.noconvert(), "more_letters"_a.noconvert(), "more_ends"_a.noconvert().none(), "more_starts"_a.noconvert(),
          "more_label"_a.noconvert(), "more_value"_a.noconvert(), "more_having"_a.noconvert());
}
