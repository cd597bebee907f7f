#pragma once
// What a pickled state dict says. A pickle is a program; this reader knows the instructions that
// build plain values, and the few names that torch.save uses, which become values of their own
// kinds. Nothing is looked up, called or run: another instruction or another name is an error.
// https://github.com/python/cpython/blob/main/Lib/pickletools.py

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "weights/tensor.h"

namespace signalbox::weights {

/// A value of the pickle, in PickleValues; `items` are indices there.
struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kBool,     // number
    kInteger,  // number
    kReal,     // its value is not kept
    kText,     // text
    kTuple,    // items
    kList,     // items
    kDict,     // items: key, value, key, value
    kName,     // text, "module name"
    kStorage,  // text: its key; dtype; number: elements
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
  size_t bytes = 0;  // of the pickle; others may follow it

  const PickleValue& operator[](uint32_t i) const { return values[i]; }
};

constexpr size_t kPickleBytesMax = size_t{16} << 20;  // names of a hundred thousand tensors

/// Reads one pickle of protocol 2 with torch's persistent ids; `bytes`, at most kPickleBytesMax
/// of them, must outlive the result. A tensor's items are a storage and two tuples of integers of
/// the same length. A list or a dict may hold itself. Errors: kCorrupt, kTooLarge; kUnsupported
/// naming the instruction or the name that is not known.
Result<PickleValues> read_pickle(std::string_view bytes);

}  // namespace signalbox::weights
