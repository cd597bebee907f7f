// The pickle says which part of which storage a tensor is; a storage is the entry "data/KEY" beside
// it.

#include "weights/torch_pickle.h"

#include <algorithm>
#include <map>

#include "weights/pickle.h"
#include "weights/shard_index.h"
#include "weights/strided.h"
#include "weights/zip.h"

namespace signalbox::weights {
namespace {

using Bytes = std::span<const std::byte>;
using Kind = PickleValue::Kind;

constexpr std::string_view kPickle = "data.pkl";
constexpr std::string_view kZip = "PK\x03\x04";

std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_contiguous(const Shape& shape, const Shape& strides) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

class StateDict {
 public:
  StateDict(TensorList& list, Bytes file) : list_(list), file_(file) {}

  Result<void> read() {
    SIGNALBOX_TRY(entries_, read_zip(file_));
    SIGNALBOX_TRY_VOID(find_folder());
    auto values = read_pickle(as_text(entries_.at(folder_ + std::string(kPickle))));
    if (!values) return fail_in(kPickle, std::move(values).error());
    values_ = *std::move(values);
    const PickleValue* dict = &values_[values_.root];
    if (const PickleValue* inner = member(*dict, "state_dict")) dict = inner;
    if (dict->kind != Kind::kDict) {
      return fail(Code::kCorrupt, "{}: expected a dict of tensors", kPickle);
    }
    for (size_t i = 0; i < dict->items.size(); i += 2) {
      SIGNALBOX_TRY_VOID(add(values_[dict->items[i]], values_[dict->items[i + 1]]));
    }
    return {};
  }

 private:
  // The folder that the pickle and its storages are in, "archive/" or the name of the file.
  Result<void> find_folder() {
    for (const auto& [name, bytes] : entries_) {
      if (!name.ends_with(kPickle)) continue;
      folder_ = name.substr(0, name.size() - kPickle.size());
      if (!folder_.empty() && !folder_.ends_with('/')) continue;
      const auto order = entries_.find(folder_ + "byteorder");
      if (order != entries_.end() && as_text(order->second) != "little") {
        return fail(Code::kUnsupported, "byteorder \"{}\" is not built", as_text(order->second));
      }
      return {};
    }
    return fail(Code::kCorrupt, "no entry {}: no checkpoint of PyTorch", kPickle);
  }

  const PickleValue* member(const PickleValue& dict, std::string_view key) const {
    if (dict.kind != Kind::kDict) return nullptr;
    for (size_t i = 0; i < dict.items.size(); i += 2) {
      const PickleValue& found = values_[dict.items[i]];
      if (found.kind == Kind::kText && found.text == key) return &values_[dict.items[i + 1]];
    }
    return nullptr;
  }

  Result<void> add(const PickleValue& key, const PickleValue& value) {
    if (key.kind != Kind::kText) {
      return fail(Code::kCorrupt, "{}: a key that is no string", kPickle);
    }
    if (value.kind != Kind::kTensor) {
      list_.note(fmt::format("left out \"{}\": no tensor", key.text));
      return {};
    }
    auto added = add_tensor(std::string(key.text), value);
    if (!added) return fail_in(fmt::format("tensor \"{}\"", key.text), std::move(added).error());
    return {};
  }

  Result<void> add_tensor(std::string name, const PickleValue& value) {
    const PickleValue& storage = values_[value.items[0]];
    const Shape shape = integers(values_[value.items[1]]);
    const Shape strides = integers(values_[value.items[2]]);
    SIGNALBOX_TRY(const Bytes bytes, storage_bytes(storage));
    SIGNALBOX_TRY(const int64_t n, shape_elements(shape));
    SIGNALBOX_TRY_VOID(check_reach(value.number, shape, strides, n, storage.number));
    const size_t element = dtype_bytes(storage.dtype);
    if (n == 0) return list_.add(std::move(name), storage.dtype, shape, Bytes());
    if (is_contiguous(shape, strides)) {
      return list_.add(std::move(name), storage.dtype, shape,
                       bytes.subspan(value.number * element, n * element));
    }
    copied_ += n * element;
    if (copied_ > file_.size()) {
      return fail(Code::kUnsupported,
                  "with it, tensors that are not contiguous take {} bytes, "
                  "more than the file's {}",
                  copied_, file_.size());
    }
    return list_.add(std::move(name), storage.dtype, shape,
                     gather(bytes, element, value.number, shape, strides));
  }

  Shape integers(const PickleValue& tuple) const {
    Shape out;
    for (const uint32_t i : tuple.items) out.push_back(values_[i].number);
    return out;
  }

  Result<Bytes> storage_bytes(const PickleValue& storage) const {
    const auto found = entries_.find(fmt::format("{}data/{}", folder_, storage.text));
    if (found == entries_.end()) {
      return fail(Code::kCorrupt, "no entry data/{} for its storage", storage.text);
    }
    SIGNALBOX_TRY(const uint64_t expected, shape_bytes(storage.dtype, Shape{storage.number}));
    if (found->second.size() == expected) return found->second;
    return fail(Code::kCorrupt, "data/{}: {} {} take {} bytes, found {}", storage.text,
                storage.number, dtype_name(storage.dtype), expected, found->second.size());
  }

  // Every element lies within the storage. `n` is the shape's number of elements.
  static Result<void> check_reach(int64_t offset, const Shape& shape, const Shape& strides,
                                  int64_t n, int64_t elements) {
    if (offset < 0) return fail(Code::kCorrupt, "offset {}", offset);
    int64_t last = offset;
    for (size_t i = 0; i < shape.size() && n > 0; ++i) {
      int64_t reach = 0;
      if (strides[i] < 0 || __builtin_mul_overflow(shape[i] - 1, strides[i], &reach) ||
          __builtin_add_overflow(last, reach, &last)) {
        return fail(Code::kCorrupt, "strides {}", shape_text(strides));
      }
    }
    if (n == 0 || last < elements) return {};
    return fail(Code::kCorrupt,
                "shape {} with strides {} from {} on reaches element {} of a storage of {}",
                shape_text(shape), shape_text(strides), offset, last, elements);
  }

  TensorList& list_;
  Bytes file_;
  std::map<std::string_view, Bytes> entries_;
  std::string folder_;
  PickleValues values_;
  uint64_t copied_ = 0;  // bytes
};

}  // namespace

Result<void> read_torch(TensorList& list, Bytes file, std::string_view name) {
  if (!as_text(file).starts_with(kZip)) {
    const bool is_pickle = !file.empty() && file[0] == std::byte{0x80};
    return fail(is_pickle ? Code::kUnsupported : Code::kCorrupt, "{}: {}", name,
                is_pickle ? "the format of before PyTorch 1.6 is not built: load and save it anew"
                          : "no zip file, which a checkpoint of PyTorch is");
  }
  auto done = StateDict(list, file).read();
  if (!done) return fail_in(name, std::move(done).error());
  return {};
}

Result<TensorList> open_torch(const std::filesystem::path& path) {
  SIGNALBOX_TRY(MappedFile file, MappedFile::open(path));
  TensorList out;
  SIGNALBOX_TRY_VOID(read_torch(out, {file.data(), file.size()}, path.string()));
  out.keep(std::move(file));
  return out;
}

Result<TensorList> open_torch_index(const std::filesystem::path& path) {
  SIGNALBOX_TRY(const ShardIndex index, ShardIndex::open(path));
  TensorList out;
  for (const std::filesystem::path& shard : index.files()) {
    SIGNALBOX_TRY(MappedFile file, MappedFile::open(shard));
    SIGNALBOX_TRY_VOID(read_torch(out, {file.data(), file.size()}, shard.string()));
    out.keep(std::move(file));
  }
  SIGNALBOX_TRY_VOID(index.check(out));
  return out;
}

}  // namespace signalbox::weights
