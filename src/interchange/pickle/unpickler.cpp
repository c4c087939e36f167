#include "interchange/pickle/unpickler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"

namespace heed {
namespace {

struct AcceptedGlobal {
  std::string_view module, name;
};

constexpr std::string_view kTorchUtils = "torch._utils";
constexpr std::array<AcceptedGlobal, 4> kCallable{{{"collections", "OrderedDict"},
                                                   {kTorchUtils, "_rebuild_tensor"},
                                                   {kTorchUtils, "_rebuild_tensor_v2"},
                                                   {kTorchUtils, "_rebuild_parameter"}}};

bool is_accepted(std::string_view module, std::string_view name) {
  return std::ranges::any_of(kCallable, [&](const auto& one) { return one.module == module && one.name == name; }) ||
         ((module == "torch" || module == "torch.storage") && name.ends_with("Storage"));
}

enum class Op : uint8_t {
  mark = '(',
  empty_tuple = ')',
  stop = '.',
  pop = '0',
  pop_mark = '1',
  duplicate = '2',
  float_line = 'F',
  binary_float = 'G',
  integer_line = 'I',
  binary_integer = 'J',
  byte_integer = 'K',
  long_line = 'L',
  short_integer = 'M',
  none = 'N',
  persistent = 'Q',
  reduce = 'R',
  string = 'T',
  short_string = 'U',
  unicode = 'X',
  bytes = 'B',
  short_bytes = 'C',
  empty_list = ']',
  append = 'a',
  build = 'b',
  global = 'c',
  appends = 'e',
  get = 'h',
  long_get = 'j',
  put = 'q',
  long_put = 'r',
  set_item = 's',
  tuple = 't',
  set_items = 'u',
  empty_dictionary = '}',
  protocol = 0x80,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  yes = 0x88,
  no = 0x89,
  long1 = 0x8a,
  long4 = 0x8b,
  short_unicode = 0x8c,
  unicode8 = 0x8d,
  stack_global = 0x93,
  memoize = 0x94,
  frame = 0x95,
};

constexpr uint8_t kNewestProtocol = 5;
constexpr uint32_t kMarkOnStack = UINT32_MAX;

class Unpickler {
 public:
  explicit Unpickler(ByteReader& file) : file_(file) {}

  Pickle run() {
    while (!done_) {
      step(byte());
    }
    return std::move(pickle_);
  }

 private:
  template <class... Args>
  void check(bool good, fmt::format_string<Args...> message, Args&&... args) const {
    if (!good) {
      fail<FormatError>(file_.where(), "its pickle at byte {}: {}", file_.at(),
                        fmt::format(message, std::forward<Args>(args)...));
    }
  }

  uint8_t byte() { return file_.number<uint8_t>("a pickle"); }
  template <class Length>
  std::string_view text() {
    return file_.text(file_.number<Length>("a pickle"), "a pickle");
  }
  std::string_view line() {
    ByteReader ahead = file_;
    while (ahead.number<char>("a line of a pickle") != '\n') {
    }
    const std::string_view whole = file_.text(ahead.at() - file_.at(), "a line of a pickle");
    return whole.substr(0, whole.size() - 1);
  }

  uint32_t push(PickleValue value) {
    check(pickle_.values.size() < kMaxPickleValues, "more than {} values", kMaxPickleValues);
    pickle_.values.push_back(std::move(value));
    stack_.push_back(static_cast<uint32_t>(pickle_.values.size() - 1));
    return stack_.back();
  }
  void push_integer(int64_t value) { push({.kind = PickleKind::integer, .integer = value}); }
  void push_text(std::string_view value) { push({.kind = PickleKind::text, .text = value}); }
  uint32_t pop() {
    const uint32_t top = peek();
    stack_.pop_back();
    return top;
  }
  uint32_t peek() const {
    check(!stack_.empty() && stack_.back() != kMarkOnStack, "takes a value that is not there");
    return stack_.back();
  }
  PickleValue& value(uint32_t number) { return pickle_.values[number]; }
  // The values above the last mark.
  std::vector<uint32_t> pop_to_mark() {
    const auto mark = std::ranges::find(stack_.rbegin(), stack_.rend(), kMarkOnStack);
    check(mark != stack_.rend(), "there is no mark");
    std::vector<uint32_t> items(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return items;
  }
  void push_tuple(size_t count) {
    std::vector<uint32_t> items(count);
    for (size_t i = count; i-- > 0;) {
      items[i] = pop();
    }
    push({.kind = PickleKind::tuple, .items = std::move(items)});
  }
  void add_to(uint32_t target, PickleKind kind, std::vector<uint32_t> items) {
    check(value(target).kind == kind, "adds to a value of another kind");
    check(kind == PickleKind::list || items.size() % 2 == 0, "a key without a value");
    std::vector<uint32_t>& all = value(target).items;
    all.insert(all.end(), items.begin(), items.end());
  }

  void put(uint64_t slot) {
    check(memo_.size() < kMaxPickleValues, "more than {} slots", kMaxPickleValues);
    memo_[slot] = peek();
  }
  void get(uint64_t slot) {
    const auto it = memo_.find(slot);
    check(it != memo_.end(), "takes a value from slot {}, which is empty", slot);
    check(stack_.size() < kMaxPickleValues, "more than {} values on its stack", kMaxPickleValues);
    stack_.push_back(it->second);
  }

  void push_large(std::string_view bytes) {
    if (bytes.size() > sizeof(int64_t)) {
      push({.kind = PickleKind::large_integer, .text = bytes});
      return;
    }
    uint64_t whole = 0;
    for (size_t i = 0; i < sizeof whole; ++i) {
      const bool negative = !bytes.empty() && (static_cast<uint8_t>(bytes.back()) & 0x80U) != 0;
      const uint64_t one = i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : negative ? 0xffU : 0U;
      whole |= one << 8 * i;
    }
    push_integer(static_cast<int64_t>(whole));
  }
  void push_integer_line(std::string_view digits) {
    if (digits == "00" || digits == "01") {
      push({.kind = PickleKind::boolean, .integer = digits == "01"});
      return;
    }
    digits = digits.ends_with('L') ? digits.substr(0, digits.size() - 1) : digits;
    int64_t whole = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
    check(error == std::errc() && end == digits.data() + digits.size(), "'{}' is not an integer of 64 bits",
          shown(digits));
    push_integer(whole);
  }
  void push_real_line(std::string_view digits) {
    double real = 0.0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), real);
    check(error == std::errc() && end == digits.data() + digits.size(), "'{}' is not a number", shown(digits));
    push({.kind = PickleKind::real, .real = real});
  }
  void push_big_endian_real() {
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) {
      bits = bits << 8 | byte();
    }
    push({.kind = PickleKind::real, .real = std::bit_cast<double>(bits)});
  }

  void push_global(std::string_view module, std::string_view name) {
    check(is_accepted(module, name),
          "it needs {}.{}, which heed does not run: save the weights alone, as a dictionary of tensors", shown(module),
          shown(name));
    push({.kind = PickleKind::global, .text = module, .second_text = name});
  }
  void push_global_from_stack() {
    const uint32_t name = pop(), module = pop();
    check(value(name).kind == PickleKind::text && value(module).kind == PickleKind::text, "a name that is not a text");
    push_global(value(module).text, value(name).text);
  }

  void reduce() {
    const uint32_t arguments = pop(), called = pop();
    check(value(arguments).kind == PickleKind::tuple, "arguments that are not a tuple");
    check(value(called).kind == PickleKind::global, "a call of a value that is not a name");
    const std::string_view name = value(called).second_text;
    const std::vector<uint32_t>& all = value(arguments).items;
    const size_t count = all.size();
    std::vector<uint32_t> items(all.begin(), all.begin() + static_cast<ptrdiff_t>(std::min<size_t>(count, 4)));
    if (name == "OrderedDict") {
      check(count <= 1, "{} arguments of {}", count, name);
      push_ordered(items);
    } else if (name == "_rebuild_parameter") {
      check(count > 0 && value(items[0]).kind == PickleKind::tensor, "a parameter that is not a tensor");
      stack_.push_back(items[0]);
    } else {
      check(name == "_rebuild_tensor" || name == "_rebuild_tensor_v2", "it calls {}, which heed does not", shown(name));
      check(count >= 4, "{} arguments of {}, expected 4 or more", count, name);
      push({.kind = PickleKind::tensor, .items = std::move(items)});
    }
  }
  // Empty, or from a list of pairs.
  void push_ordered(const std::vector<uint32_t>& arguments) {
    PickleValue made{.kind = PickleKind::dictionary};
    if (!arguments.empty()) {
      check(value(arguments[0]).kind == PickleKind::list, "OrderedDict of another value");
      // One list may be used again and again.
      copied_ += value(arguments[0]).items.size();
      check(copied_ <= kMaxPickleValues, "more than {} pairs", kMaxPickleValues);
      for (const uint32_t pair : value(arguments[0]).items) {
        const PickleValue& both = value(pair);
        check((both.kind == PickleKind::list || both.kind == PickleKind::tuple) && both.items.size() == 2,
              "OrderedDict of values that are not pairs");
        made.items.insert(made.items.end(), both.items.begin(), both.items.end());
      }
    }
    push(std::move(made));
  }
  // Attributes of a dictionary, such as a state_dict's _metadata.
  void build() {
    pop();
    check(value(peek()).kind == PickleKind::dictionary, "it sets attributes of a value that is not a dictionary");
  }

  void step(uint8_t opcode) {
    if (const auto known = static_cast<Op>(opcode); !step_to_scalar(known) && !step_to_container(known)) {
      check(false, "opcode {:#04x}, which heed does not read", opcode);
    }
  }
  bool step_to_scalar(Op opcode);
  bool step_to_container(Op opcode);
  void begin();

  ByteReader& file_;
  Pickle pickle_;
  std::vector<uint32_t> stack_;
  std::unordered_map<uint64_t, uint32_t> memo_;
  size_t copied_ = 0;
  bool done_ = false;
};

void Unpickler::begin() {
  const uint8_t protocol = byte();
  check(protocol <= kNewestProtocol, "protocol {}, expected up to {}", protocol, kNewestProtocol);
}

bool Unpickler::step_to_scalar(Op opcode) {
  switch (opcode) {
    case Op::protocol:
      return begin(), true;
    case Op::frame:
      return file_.take(8, "a pickle"), true;
    case Op::none:
      return push({}), true;
    case Op::yes:
    case Op::no:
      return push({.kind = PickleKind::boolean, .integer = opcode == Op::yes}), true;
    case Op::binary_integer:
      return push_integer(file_.number<int32_t>("a pickle")), true;
    case Op::byte_integer:
      return push_integer(byte()), true;
    case Op::short_integer:
      return push_integer(file_.number<uint16_t>("a pickle")), true;
    case Op::integer_line:
    case Op::long_line:
      return push_integer_line(line()), true;
    case Op::long1:
      return push_large(text<uint8_t>()), true;
    case Op::long4:
      return push_large(text<uint32_t>()), true;
    case Op::float_line:
      return push_real_line(line()), true;
    case Op::binary_float:
      return push_big_endian_real(), true;
    case Op::unicode:
    case Op::string:
    case Op::bytes:
      return push_text(text<uint32_t>()), true;
    case Op::short_unicode:
    case Op::short_string:
    case Op::short_bytes:
      return push_text(text<uint8_t>()), true;
    case Op::unicode8:
      return push_text(text<uint64_t>()), true;
    default:
      return false;
  }
}

bool Unpickler::step_to_container(Op opcode) {
  switch (opcode) {
    case Op::mark:
      check(stack_.size() < kMaxPickleValues, "more than {} values on its stack", kMaxPickleValues);
      return stack_.push_back(kMarkOnStack), true;
    case Op::pop:
      return pop(), true;
    case Op::pop_mark:
      return pop_to_mark(), true;
    case Op::duplicate:
      check(stack_.size() < kMaxPickleValues, "more than {} values on its stack", kMaxPickleValues);
      return stack_.push_back(peek()), true;
    case Op::empty_tuple:
      return push({.kind = PickleKind::tuple}), true;
    case Op::empty_list:
      return push({.kind = PickleKind::list}), true;
    case Op::empty_dictionary:
      return push({.kind = PickleKind::dictionary}), true;
    case Op::tuple:
      return push({.kind = PickleKind::tuple, .items = pop_to_mark()}), true;
    case Op::tuple1:
    case Op::tuple2:
    case Op::tuple3:
      return push_tuple(static_cast<size_t>(opcode) - static_cast<size_t>(Op::tuple1) + 1), true;
    case Op::append: {
      const uint32_t item = pop();
      return add_to(peek(), PickleKind::list, {item}), true;
    }
    case Op::appends: {
      std::vector<uint32_t> items = pop_to_mark();
      return add_to(peek(), PickleKind::list, std::move(items)), true;
    }
    case Op::set_item: {
      const uint32_t item = pop(), key = pop();
      return add_to(peek(), PickleKind::dictionary, {key, item}), true;
    }
    case Op::set_items: {
      std::vector<uint32_t> items = pop_to_mark();
      return add_to(peek(), PickleKind::dictionary, std::move(items)), true;
    }
    case Op::put:
      return put(byte()), true;
    case Op::long_put:
      return put(file_.number<uint32_t>("a pickle")), true;
    case Op::memoize:
      return put(memo_.size()), true;
    case Op::get:
      return get(byte()), true;
    case Op::long_get:
      return get(file_.number<uint32_t>("a pickle")), true;
    case Op::global: {
      const std::string_view module = line();
      return push_global(module, line()), true;
    }
    case Op::stack_global:
      return push_global_from_stack(), true;
    case Op::persistent: {
      const uint32_t identity = pop();
      return push({.kind = PickleKind::persistent, .items = {identity}}), true;
    }
    case Op::reduce:
      return reduce(), true;
    case Op::build:
      return build(), true;
    case Op::stop:
      pickle_.root = pop();
      return done_ = true, true;
    default:
      return false;
  }
}

}  // namespace

Pickle read_pickle(ByteReader& file) { return Unpickler(file).run(); }

}  // namespace heed
