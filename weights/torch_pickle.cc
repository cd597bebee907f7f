// The pickle describes each tensor as part of a storage. A storage is the entry "data/KEY" in the
// same folder of the zip file. In old files a list of keys is followed by the storages in the same
// order.

#include "weights/torch_pickle.h"

#include <algorithm>
#include <cstring>
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
// The pickled magic number of torch's old format.
constexpr std::string_view kOld = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr int64_t kOldVersion = 1001;

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

  Result<void> read_zipped() {
    SIGNALBOX_TRY(const auto entries, read_zip(file_));
    SIGNALBOX_TRY(const std::string folder, find_folder(entries));
    auto values = read_pickle(as_text(entries.at(folder + std::string(kPickle))));
    if (!values) return fail_in(kPickle, std::move(values).error());
    values_ = *std::move(values);
    const std::string data = folder + "data/";
    for (const auto& [name, bytes] : entries) {
      if (name.starts_with(data)) storages_.emplace(name.substr(data.size()), bytes);
    }
    return add_all();
  }

  // The old format has a magic number, a version, a description of the writer's machine, the main
  // pickle, the storage keys, and for each storage its element count and bytes.
  Result<void> read_old() {
    size_t position = kOld.size();
    SIGNALBOX_TRY(const PickleValues version, next_pickle(position, "version"));
    if (version[version.root].number != kOldVersion) {
      return fail(Code::kUnsupported, "version {} is not supported (supported: {})",
                  version[version.root].number, kOldVersion);
    }
    SIGNALBOX_TRY(const PickleValues machine, next_pickle(position, "machine"));
    const PickleValue* little = member(machine, machine[machine.root], "little_endian");
    if (little == nullptr || little->number != 1) {
      return fail(Code::kUnsupported, "numbers that are not little-endian are not supported");
    }
    SIGNALBOX_TRY(values_, next_pickle(position, "state dict"));
    SIGNALBOX_TRY(const PickleValues keys, next_pickle(position, "keys"));
    for (const uint32_t i : keys[keys.root].items) {
      auto taken = take_storage(keys[i].text, position);
      if (!taken) return fail_in(fmt::format("storage {}", keys[i].text), std::move(taken).error());
    }
    return add_all();
  }

 private:
  Result<PickleValues> next_pickle(size_t& position, std::string_view what) const {
    auto out = read_pickle(as_text(file_).substr(position, kPickleBytesMax));
    if (!out) return fail_in(fmt::format("{} at {}", what, position), std::move(out).error());
    position += out->bytes;
    return out;
  }

  Result<void> take_storage(std::string_view key, size_t& position) {
    const auto used = std::ranges::find_if(values_.values, [key](const PickleValue& value) {
      return value.kind == Kind::kStorage && value.text == key;
    });
    if (used == values_.values.end()) return fail(Code::kCorrupt, "no tensor is in it");
    SIGNALBOX_TRY(const uint64_t bytes, shape_bytes(used->dtype, Shape{used->number}));
    int64_t elements = 0;
    const size_t rest = file_.size() - position;
    if (rest < sizeof elements || rest - sizeof elements < bytes) {
      return fail(Code::kCorrupt, "{} bytes at {}, the file has {}", bytes, position, file_.size());
    }
    std::memcpy(&elements, file_.data() + position, sizeof elements);
    if (elements != used->number) {
      return fail(Code::kCorrupt, "{} elements, a tensor claims {}", elements, used->number);
    }
    if (!storages_.emplace(key, file_.subspan(position + sizeof elements, bytes)).second) {
      return fail(Code::kCorrupt, "appears twice");
    }
    position += sizeof elements + bytes;
    return {};
  }

  Result<void> add_all() {
    const PickleValue* dict = &values_[values_.root];
    if (const PickleValue* inner = member(values_, *dict, "state_dict")) dict = inner;
    if (dict->kind != Kind::kDict) {
      return fail(Code::kCorrupt, "{}: expected a dict of tensors", kPickle);
    }
    for (size_t i = 0; i < dict->items.size(); i += 2) {
      SIGNALBOX_TRY_VOID(add(values_[dict->items[i]], values_[dict->items[i + 1]]));
    }
    return {};
  }

  // Returns the folder of the pickle and its storages: "archive/" or the name of the file.
  static Result<std::string> find_folder(const std::map<std::string_view, Bytes>& entries) {
    for (const auto& [name, bytes] : entries) {
      if (!name.ends_with(kPickle)) continue;
      const std::string folder(name.substr(0, name.size() - kPickle.size()));
      if (!folder.empty() && !folder.ends_with('/')) continue;
      const auto order = entries.find(folder + "byteorder");
      if (order != entries.end() && as_text(order->second) != "little") {
        return fail(Code::kUnsupported, "byteorder \"{}\" is not supported",
                    as_text(order->second));
      }
      return folder;
    }
    return fail(Code::kCorrupt, "no entry {}: not a PyTorch checkpoint", kPickle);
  }

  static const PickleValue* member(const PickleValues& values, const PickleValue& dict,
                                   std::string_view key) {
    if (dict.kind != Kind::kDict) return nullptr;
    for (size_t i = 0; i < dict.items.size(); i += 2) {
      const PickleValue& found = values[dict.items[i]];
      if (found.kind == Kind::kText && found.text == key) return &values[dict.items[i + 1]];
    }
    return nullptr;
  }

  Result<void> add(const PickleValue& key, const PickleValue& value) {
    if (key.kind != Kind::kText) {
      return fail(Code::kCorrupt, "{}: a key that is not a string", kPickle);
    }
    if (value.kind != Kind::kTensor) {
      list_.note(fmt::format("left out \"{}\": not a tensor", key.text));
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
    const auto found = storages_.find(storage.text);
    if (found == storages_.end()) {
      return fail(Code::kCorrupt, "its storage {} is missing", storage.text);
    }
    SIGNALBOX_TRY(const uint64_t expected, shape_bytes(storage.dtype, Shape{storage.number}));
    if (found->second.size() == expected) return found->second;
    return fail(Code::kCorrupt, "storage {}: {} {} take {} bytes, found {}", storage.text,
                storage.number, dtype_name(storage.dtype), expected, found->second.size());
  }

  // Checks that every element is inside the storage. `n` is the number of elements of the shape.
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
  PickleValues values_;
  std::map<std::string, Bytes, std::less<>> storages_;  // by key
  uint64_t copied_ = 0;                                 // bytes
};

}  // namespace

Result<void> read_torch(TensorList& list, Bytes file, std::string_view name) {
  StateDict dict(list, file);
  Result<void> done = fail(Code::kCorrupt, "not a file written by torch.save");
  if (as_text(file).starts_with(kZip)) {
    done = dict.read_zipped();
  } else if (as_text(file).starts_with(kOld)) {
    done = dict.read_old();
  }
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
