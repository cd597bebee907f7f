#pragma once
// Reads a pickled state dict. A pickle is a program. This reader supports only the instructions
// that build plain values and the few names that torch.save uses; each of those becomes a value of
// its own kind. It never looks up, calls or runs anything: any other instruction or name is an
// error. https://github.com/python/cpython/blob/main/Lib/pickletools.py

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "weights/tensor.h"

namespace signalbox::weights {

/// A value of the pickle. `items` are indices into PickleValues.
struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kBool,     // in number
    kInteger,  // in number
    kReal,     // the value is not kept
    kText,     // in text
    kTuple,    // in items
    kList,     // in items
    kDict,     // in items: key, value, key, value
    kName,     // in text: "module name"
    kStorage,  // text: its key; dtype; number: element count
    kTensor,   // items: storage, then the tuples of sizes and strides; number: offset
  };
  Kind kind = Kind::kNone;
  Dtype dtype = Dtype::kF32;
  int64_t number = 0;
  std::string_view text;
  std::vector<uint32_t> items;
};

struct PickleValues {
  std::vector<PickleValue> values;
  uint32_t root = 0;
  size_t bytes = 0;  // size of the pickle; more pickles may follow it

  const PickleValue& operator[](uint32_t i) const { return values[i]; }
};

constexpr size_t kPickleBytesMax = size_t{16} << 20;  // enough for the names of a hundred thousand
                                                      // tensors

/// Reads one pickle of protocol 2 with torch's persistent ids. `bytes` (at most kPickleBytesMax)
/// must outlive the result. A tensor's items are a storage and two integer tuples of equal length.
/// A list or dict may contain itself. Errors: kCorrupt, kTooLarge; kUnsupported with the unknown
/// instruction or name.
Result<PickleValues> read_pickle(std::string_view bytes);

}  // namespace signalbox::weights
