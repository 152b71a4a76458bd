// Bindings of the kernels of words; kernels/native.py has checked the arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <type_traits>

#include "words.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace suffice;

namespace {

template <class T>
using Flat = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Bytes = Flat<std::uint8_t>;
using Offsets = Flat<std::int64_t>;

// An array that owns its numbers.
template <class T>
nb::object array(Large<T>&& values) {
    auto* kept = new Large<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Large<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), {kept->size()}, owner));
}

struct Read {  // what all of them read: documents, and how
    Bytes text;
    Offsets offsets;
    std::optional<Offsets> lists;
    Flat<std::uint32_t> letters, extra;
    bool context;
    std::size_t least, most;
    const WordTable* stop;

    Documents documents() const {
        return {text.data(), offsets.data(), lists ? lists->data() : nullptr,
                Index(lists ? lists->shape(0) : offsets.shape(0)) - 1};
    }
    Reading how() const { return {letters.data(), std::uint32_t(letters.shape(0)), extra.data(), context, least, most,
                                   stop && stop->size() ? stop : nullptr}; }
};

nb::object problem(const Problem& found) { return nb::make_tuple(found.row, found.sigma); }

template <class Places>
nb::object counted(const Read& read, Places& places, const Labels& labels, bool presence) {
    CountWords sink(labels, presence);
    Problem found;
    Large<std::int32_t> order, label;
    Large<double> count, documents;
    Large<std::uint8_t> letters;
    Large<std::int64_t> starts, ends;
    {
        nb::gil_scoped_release free;
        found = read_words(read.documents(), read.how(), places, sink);
        if (found.row < 0) {
            std::size_t words;
            if constexpr (std::is_same_v<Places, NewPlaces>) {
                words = places.table.size();
                order = places.table.sorted();
                letters.reserve(places.table.n_letters()), ends.reserve(words);
                for (const std::int32_t i : order) {
                    const char* word = places.table.begin(std::size_t(i));
                    letters.insert(letters.end(), word, word + places.table.length(std::size_t(i)));
                    ends.push_back(std::int64_t(letters.size()));
                }
            } else {
                words = places.buckets;
                for (std::size_t i = 0; i < words; ++i) order.push_back(std::int32_t(i));
            }
            sink.complete(words);
            sink.write(order, starts, label, count);
            documents.reserve(words);
            for (const std::int32_t i : order) documents.push_back(sink.documents(std::size_t(i)));
        }
    }
    if (found.row >= 0) return problem(found);
    return nb::make_tuple(array(std::move(letters)), array(std::move(ends)), array(std::move(starts)), array(std::move(label)),
                          array(std::move(count)), array(std::move(documents)));
}

}  // namespace

void bind_words(nb::module_& m) {
    nb::class_<WordTable>(m, "WordTable")
        .def("__init__",
             [](WordTable* self, Bytes letters, Offsets ends) {
                 nb::gil_scoped_release free;
                 new (self) WordTable(letters.data(), ends.data(), Index(ends.shape(0)));
             },
             "letters"_a.noconvert(), "ends"_a.noconvert());
    m.def("word_counts",
          [](Bytes text, Offsets offsets, std::optional<Offsets> lists, Flat<std::uint32_t> letters,
             Flat<std::uint32_t> extra, bool context, std::size_t least, std::size_t most, const WordTable* stop, std::uint32_t buckets, Flat<std::int32_t> code,
             std::optional<Flat<double>> weight, bool presence) {
              const Read read{text, offsets, lists, letters, extra, context, least, most, stop};
              const Labels labels{code.data(), weight ? weight->data() : nullptr, 0};
              if (buckets) {
                  HashedPlaces places{buckets};
                  return counted(read, places, labels, presence);
              }
              NewPlaces places;
              return counted(read, places, labels, presence);
          },
          "text"_a.noconvert(), "offsets"_a.noconvert(), "lists"_a.noconvert().none(), "letters"_a.noconvert(),
          "extra"_a.noconvert(), "context"_a, "least"_a, "most"_a, "stop"_a.none(), "buckets"_a, "code"_a.noconvert(), "weight"_a.noconvert().none(), "presence"_a);
    m.def("word_scores",
          [](Bytes text, Offsets offsets, std::optional<Offsets> lists, Flat<std::uint32_t> letters,
             Flat<std::uint32_t> extra, bool context, std::size_t least, std::size_t most, const WordTable* stop, const WordTable* words, Offsets starts, Flat<std::int32_t> label,
             Flat<double> slope, Flat<double> by_class, bool presence, Doubles out) {
              const Read read{text, offsets, lists, letters, extra, context, least, most, stop};
              const WordSlopes slopes{starts.data(), label.data(), slope.data(), by_class.data(), starts.shape(0) - 1, by_class.shape(0)};
              ScoreWords sink(slopes, presence, out.data());
              Problem found;
              {
                  nb::gil_scoped_release free;
                  if (words) {
                      KnownPlaces places{*words};
                      found = read_words(read.documents(), read.how(), places, sink);
                  } else {
                      HashedPlaces places{std::uint32_t(slopes.words)};
                      found = read_words(read.documents(), read.how(), places, sink);
                  }
              }
              return nb::make_tuple(found.row, found.sigma, sink.first_unknown);
          },
          "text"_a.noconvert(), "offsets"_a.noconvert(), "lists"_a.noconvert().none(), "letters"_a.noconvert(),
          "extra"_a.noconvert(), "context"_a, "least"_a, "most"_a, "stop"_a.none(), "words"_a.none(), "starts"_a.noconvert(), "label"_a.noconvert(),
          "slope"_a.noconvert(), "by_class"_a.noconvert(), "presence"_a, "out"_a.noconvert());
    m.def("word_codes",
          [](Bytes text, Offsets offsets, std::optional<Offsets> lists, Flat<std::uint32_t> letters,
             Flat<std::uint32_t> extra, bool context, std::size_t least, std::size_t most, const WordTable* stop, const WordTable* words, std::uint32_t buckets) -> nb::object {
              const Read read{text, offsets, lists, letters, extra, context, least, most, stop};
              ListWords sink;
              Problem found;
              {
                  nb::gil_scoped_release free;
                  if (words) {
                      KnownPlaces places{*words};
                      found = read_words(read.documents(), read.how(), places, sink);
                  } else {
                      HashedPlaces places{buckets};
                      found = read_words(read.documents(), read.how(), places, sink);
                  }
              }
              if (found.row >= 0) return problem(found);
              return nb::make_tuple(array(std::move(sink.ends)), array(std::move(sink.numbers)), nb::none());
          },
          "text"_a.noconvert(), "offsets"_a.noconvert(), "lists"_a.noconvert().none(), "letters"_a.noconvert(),
          "extra"_a.noconvert(), "context"_a, "least"_a, "most"_a, "stop"_a.none(), "words"_a.none(), "buckets"_a);
    m.def("merge_words",
          [](Bytes letters, Offsets ends, Bytes more_letters, Offsets more_ends) {
              MergedWords found;
              {
                  nb::gil_scoped_release free;
                  found = merge_words({letters.data(), ends.data(), Index(ends.shape(0))},
                                      {more_letters.data(), more_ends.data(), Index(more_ends.shape(0))});
              }
              return nb::make_tuple(array(std::move(found.letters)), array(std::move(found.ends)), array(std::move(found.at_a)),
                                    array(std::move(found.at_b)));
          },
          "letters"_a.noconvert(), "ends"_a.noconvert(), "more_letters"_a.noconvert(), "more_ends"_a.noconvert());
}
