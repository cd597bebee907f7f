// A stack machine whose stack holds indices of values. Each instruction creates at most one value,
// so the input size limits the memory. Operands are checked before they are popped.

#include "weights/pickle.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <unordered_map>

namespace signalbox::weights {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kValuesMax = size_t{1} << 21;  // a value takes 72 bytes

struct StorageName {
  std::string_view name;
  Dtype dtype;
};

constexpr std::array<StorageName, 10> kStorages = {{{"torch FloatStorage", Dtype::kF32},
                                                    {"torch HalfStorage", Dtype::kF16},
                                                    {"torch BFloat16Storage", Dtype::kBF16},
                                                    {"torch DoubleStorage", Dtype::kF64},
                                                    {"torch LongStorage", Dtype::kI64},
                                                    {"torch IntStorage", Dtype::kI32},
                                                    {"torch ShortStorage", Dtype::kI16},
                                                    {"torch CharStorage", Dtype::kI8},
                                                    {"torch ByteStorage", Dtype::kU8},
                                                    {"torch BoolStorage", Dtype::kBool}}};
constexpr std::string_view kOrderedDict = "collections OrderedDict";
constexpr std::string_view kTensor = "torch._utils _rebuild_tensor_v2";
constexpr std::string_view kParameter = "torch._utils _rebuild_parameter";

std::optional<Dtype> storage_dtype(std::string_view name) {
  const auto found = std::ranges::find(kStorages, name, &StorageName::name);
  return found == kStorages.end() ? std::nullopt : std::optional(found->dtype);
}

class Machine {
 public:
  explicit Machine(std::string_view bytes) : bytes_(bytes) {}

  Result<PickleValues> run() {
    if (bytes_.size() > kPickleBytesMax) {
      return fail(Code::kTooLarge, "{} bytes, at most {} are read", bytes_.size(), kPickleBytesMax);
    }
    while (!stopped_) {
      const size_t begin = position_;
      if (auto done = step(); !done) {
        return fail_in(fmt::format("offset {}", begin), std::move(done).error());
      }
    }
    return std::move(out_);
  }

 private:
  Result<std::string_view> take(size_t size) {
    if (size > bytes_.size() - position_) {
      return fail(Code::kCorrupt, "expected {} bytes, found {}", size, bytes_.size() - position_);
    }
    const std::string_view out = bytes_.substr(position_, size);
    position_ += size;
    return out;
  }

  template <class T>
  Result<T> number() {
    SIGNALBOX_TRY(const std::string_view bytes, take(sizeof(T)));
    T out;
    std::memcpy(&out, bytes.data(), sizeof out);
    return out;
  }

  Result<void> push(PickleValue value) {
    if (out_.values.size() == kValuesMax) {
      return fail(Code::kTooLarge, "more than {} values", kValuesMax);
    }
    stack_.push_back(static_cast<uint32_t>(out_.values.size()));
    out_.values.push_back(std::move(value));
    return {};
  }
  Result<void> push_number(Kind kind, int64_t value) {
    PickleValue out;
    out.kind = kind;
    out.number = value;
    return push(std::move(out));
  }
  Result<void> push_text(Result<std::string_view> text) {
    if (!text) return tl::unexpected<Error>(text.error());
    PickleValue out;
    out.kind = Kind::kText;
    out.text = *text;
    return push(std::move(out));
  }
  Result<void> push_items(Kind kind, std::vector<uint32_t> items) {
    PickleValue out;
    out.kind = kind;
    out.items = std::move(items);
    return push(std::move(out));
  }

  // Returns the number of values above the innermost mark.
  size_t above_mark() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  // Pops the last n values, in order.
  Result<std::vector<uint32_t>> pop(size_t n) {
    if (n > above_mark()) {
      return fail(Code::kCorrupt, "takes {} values off a stack of {}", n, above_mark());
    }
    std::vector<uint32_t> out(stack_.end() - static_cast<ptrdiff_t>(n), stack_.end());
    stack_.resize(stack_.size() - n);
    return out;
  }
  Result<std::vector<uint32_t>> pop_to_mark() {
    if (marks_.empty()) return fail(Code::kCorrupt, "no mark on the stack");
    SIGNALBOX_TRY(auto out, pop(above_mark()));
    marks_.pop_back();
    return out;
  }
  // Returns the top value without popping it. It must have the given kind.
  Result<PickleValue*> top(Kind kind, std::string_view name) {
    if (above_mark() == 0) return fail(Code::kCorrupt, "an empty stack");
    PickleValue& out = out_.values[stack_.back()];
    if (out.kind != kind) return fail(Code::kCorrupt, "expected {} on the stack", name);
    return &out;
  }

  Result<void> step() {
    SIGNALBOX_TRY(const auto code, number<uint8_t>());
    switch (code) {
      case 0x80:  // PROTO
        return protocol();
      case '.':  // STOP
        return stop();
      case '(':  // MARK
        marks_.push_back(stack_.size());
        return {};
      case 'N':  // NONE
        return push({});
      case 0x88:  // NEWTRUE
      case 0x89:  // NEWFALSE
        return push_number(Kind::kBool, code == 0x88 ? 1 : 0);
      case 'J':  // BININT
        return push_integer(number<int32_t>());
      case 'K':  // BININT1
        return push_integer(number<uint8_t>());
      case 'M':  // BININT2
        return push_integer(number<uint16_t>());
      case 0x8A:  // LONG1
        return long1();
      case 'G':  // BINFLOAT
        SIGNALBOX_TRY_VOID(take(sizeof(double)));
        return push_number(Kind::kReal, 0);
      case 'X':  // BINUNICODE
        return push_sized(number<uint32_t>());
      case 'U':  // SHORT_BINSTRING
        return push_sized(number<uint8_t>());
      case 'q':  // BINPUT
        return put(number<uint8_t>());
      case 'r':  // LONG_BINPUT
        return put(number<uint32_t>());
      case 'h':  // BINGET
        return get(number<uint8_t>());
      case 'j':  // LONG_BINGET
        return get(number<uint32_t>());
      default:
        return structure(code);
    }
  }

  // Instructions that build values from other values.
  Result<void> structure(uint8_t code) {
    switch (code) {
      case ')':  // EMPTY_TUPLE
        return push_items(Kind::kTuple, {});
      case ']':  // EMPTY_LIST
        return push_items(Kind::kList, {});
      case '}':  // EMPTY_DICT
        return push_items(Kind::kDict, {});
      case 0x85:  // TUPLE1
      case 0x86:  // TUPLE2
      case 0x87:  // TUPLE3
        return tuple(pop(code - 0x84));
      case 't':  // TUPLE
        return tuple(pop_to_mark());
      case 'a':  // APPEND
        return append(pop(1));
      case 'e':  // APPENDS
        return append(pop_to_mark());
      case 's':  // SETITEM
        return set_items(pop(2));
      case 'u':  // SETITEMS
        return set_items(pop_to_mark());
      case 'c':  // GLOBAL
        return global();
      case 'Q':  // BINPERSID
        return storage();
      case 'R':  // REDUCE
        return reduce();
      case 'b':  // BUILD
        return build();
      default:
        return fail(Code::kUnsupported, "the pickle instruction {:#04x} is not supported", code);
    }
  }

  Result<void> protocol() {
    SIGNALBOX_TRY(const auto version, number<uint8_t>());
    if (version == 2) return {};
    return fail(Code::kUnsupported,
                "protocol {} is not supported (supported: 2, which torch.save uses)", version);
  }

  Result<void> stop() {
    if (!marks_.empty() || stack_.size() != 1) {
      return fail(Code::kCorrupt, "ends with {} values, expected 1", stack_.size());
    }
    out_.root = stack_[0];
    out_.bytes = position_;
    stopped_ = true;
    return {};
  }

  template <class T>
  Result<void> push_integer(Result<T> value) {
    if (!value) return tl::unexpected<Error>(value.error());
    return push_number(Kind::kInteger, *value);
  }

  Result<void> long1() {
    SIGNALBOX_TRY(const auto size, number<uint8_t>());
    if (size > sizeof(int64_t)) return fail(Code::kUnsupported, "an integer of {} bytes", size);
    SIGNALBOX_TRY(const std::string_view bytes, take(size));
    int64_t value = size > 0 && (bytes.back() & 0x80) != 0 ? -1 : 0;
    std::memcpy(&value, bytes.data(), size);
    return push_number(Kind::kInteger, value);
  }

  template <class T>
  Result<void> push_sized(Result<T> size) {
    if (!size) return tl::unexpected<Error>(size.error());
    return push_text(take(*size));
  }

  template <class T>
  Result<void> put(Result<T> slot) {
    if (!slot) return tl::unexpected<Error>(slot.error());
    if (above_mark() == 0) return fail(Code::kCorrupt, "an empty stack");
    memo_[*slot] = stack_.back();
    return {};
  }
  template <class T>
  Result<void> get(Result<T> slot) {
    if (!slot) return tl::unexpected<Error>(slot.error());
    const auto found = memo_.find(*slot);
    if (found == memo_.end()) return fail(Code::kCorrupt, "nothing was stored as {}", *slot);
    stack_.push_back(found->second);
    return {};
  }

  Result<void> tuple(Result<std::vector<uint32_t>> items) {
    if (!items) return tl::unexpected<Error>(items.error());
    return push_items(Kind::kTuple, *std::move(items));
  }
  Result<void> append(const Result<std::vector<uint32_t>>& items) {
    if (!items) return tl::unexpected<Error>(items.error());
    SIGNALBOX_TRY(PickleValue* const list, top(Kind::kList, "a list"));
    list->items.insert(list->items.end(), items->begin(), items->end());
    return {};
  }
  Result<void> set_items(const Result<std::vector<uint32_t>>& items) {
    if (!items) return tl::unexpected<Error>(items.error());
    if (items->size() % 2 != 0) return fail(Code::kCorrupt, "a key without a value");
    SIGNALBOX_TRY(PickleValue* const dict, top(Kind::kDict, "a dict"));
    dict->items.insert(dict->items.end(), items->begin(), items->end());
    return {};
  }

  // Reads two lines: a module and a name in it.
  Result<void> global() {
    const size_t module_end = bytes_.find('\n', position_);
    const size_t end =
        module_end == std::string_view::npos ? module_end : bytes_.find('\n', module_end + 1);
    constexpr size_t kNameMax = 200;
    if (end == std::string_view::npos || end - position_ > kNameMax) {
      return fail(Code::kCorrupt, "an unterminated name");
    }
    const std::string_view module = bytes_.substr(position_, module_end - position_);
    const std::string_view name = bytes_.substr(module_end + 1, end - module_end - 1);
    position_ = end + 1;
    const std::string full = fmt::format("{} {}", module, name);
    PickleValue out;
    out.kind = Kind::kName;
    for (const std::string_view known : {kOrderedDict, kTensor, kParameter}) {
      if (full == known) out.text = known;
    }
    for (const StorageName& known : kStorages) {
      if (full == known.name) out.text = known.name;
    }
    if (!out.text.empty()) return push(std::move(out));
    return fail(Code::kUnsupported,
                "the name \"{}.{}\" is not allowed in a state dict and is not run", module, name);
  }

  const PickleValue* item(const PickleValue& of, size_t i, Kind kind) const {
    if (i >= of.items.size()) return nullptr;
    const PickleValue& out = out_.values[of.items[i]];
    return out.kind == kind ? &out : nullptr;
  }

  // The tuple is ("storage", type, key, original location, elements). Old files add the part of
  // another storage that it views, or None.
  Result<void> storage() {
    SIGNALBOX_TRY(const auto popped, pop(1));
    const PickleValue& id = out_.values[popped[0]];
    const PickleValue* word = item(id, 0, Kind::kText);
    const PickleValue* type = item(id, 1, Kind::kName);
    const PickleValue* key = item(id, 2, Kind::kText);
    const PickleValue* elements = item(id, 4, Kind::kInteger);
    if (id.kind != Kind::kTuple || word == nullptr || word->text != "storage" || type == nullptr ||
        key == nullptr || elements == nullptr || elements->number < 0 ||
        (id.items.size() > 5 && item(id, 5, Kind::kNone) == nullptr)) {
      return fail(Code::kCorrupt, "expected the id of a storage");
    }
    const auto dtype = storage_dtype(type->text);
    if (!dtype) return fail(Code::kCorrupt, "\"{}\" is not a storage type", type->text);
    PickleValue out;
    out.kind = Kind::kStorage;
    out.dtype = *dtype;
    out.text = key->text;
    out.number = elements->number;
    return push(std::move(out));
  }

  // Replaces a call of a known name by the value that it would build.
  Result<void> reduce() {
    SIGNALBOX_TRY(const auto popped, pop(2));
    const PickleValue& name = out_.values[popped[0]];
    const PickleValue& arguments = out_.values[popped[1]];
    if (name.kind != Kind::kName || arguments.kind != Kind::kTuple) {
      return fail(Code::kCorrupt, "expected a name and its arguments on the stack");
    }
    if (name.text == kOrderedDict && arguments.items.empty()) return push_items(Kind::kDict, {});
    if (name.text == kTensor) return tensor(arguments);
    if (name.text == kParameter && item(arguments, 0, Kind::kTensor) != nullptr) {
      stack_.push_back(arguments.items[0]);
      return {};
    }
    return fail(Code::kCorrupt, "\"{}\" with invalid arguments", name.text);
  }

  // (storage, offset, sizes, strides, requires_grad, hooks)
  Result<void> tensor(const PickleValue& arguments) {
    const PickleValue* storage = item(arguments, 0, Kind::kStorage);
    const PickleValue* offset = item(arguments, 1, Kind::kInteger);
    const PickleValue* sizes = item(arguments, 2, Kind::kTuple);
    const PickleValue* strides = item(arguments, 3, Kind::kTuple);
    const auto integers = [&](const PickleValue* tuple) {
      return tuple != nullptr && std::ranges::all_of(tuple->items, [&](uint32_t i) {
               return out_.values[i].kind == Kind::kInteger;
             });
    };
    if (storage == nullptr || offset == nullptr || !integers(sizes) || !integers(strides) ||
        sizes->items.size() != strides->items.size()) {
      return fail(Code::kCorrupt, "a tensor with invalid arguments");
    }
    PickleValue out;
    out.kind = Kind::kTensor;
    out.number = offset->number;
    out.items = {arguments.items[0], arguments.items[2], arguments.items[3]};
    return push(std::move(out));
  }

  // A dict's attributes (a module's "_metadata") do not affect its tensors.
  Result<void> build() {
    SIGNALBOX_TRY_VOID(pop(1));
    SIGNALBOX_TRY_VOID(top(Kind::kDict, "a dict"));
    return {};
  }

  std::string_view bytes_;
  size_t position_ = 0;
  bool stopped_ = false;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;  // stack sizes
  std::unordered_map<uint32_t, uint32_t> memo_;
  PickleValues out_;
};

}  // namespace

Result<PickleValues> read_pickle(std::string_view bytes) {
  return Machine(bytes).run();
}

}  // namespace signalbox::weights
