// JSON that is freed without taking memory. The destructors of nlohmann's values list what a value holds before they free
// it, and end the process where there is no memory for the list. What reads files that may be large keeps their values
// here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed {

template <class Json>
class JsonTree {
 public:
  JsonTree() = default;
  JsonTree(JsonTree&& other) noexcept : root_(std::move(other.root_)) {}
  JsonTree& operator=(JsonTree&& other) noexcept {
    std::swap(root_, other.root_);
    return *this;
  }
  JsonTree(const JsonTree&) = delete;
  JsonTree& operator=(const JsonTree&) = delete;
  ~JsonTree() { clear(root_); }

  Json& root() { return root_; }
  const Json& root() const { return root_; }

  // Empties all that the value holds, from the leaves up, so that its destructor finds nothing to list. Recursive: the
  // value must be shallow.
  static void clear(Json& value) noexcept {
    if (value.is_array()) {
      auto& elements = value.template get_ref<typename Json::array_t&>();
      for (Json& element : elements) {
        clear(element);
      }
      elements.clear();
    } else if (value.is_object()) {
      auto& members = value.template get_ref<typename Json::object_t&>();
      for (auto& member : members) {
        clear(member.second);
      }
      members.clear();
    }
  }

 private:
  Json root_;
};

// Builds a tree from a parser's events. `OnError` gets the exception that says what is no JSON, and throws.
template <class Json, class OnError>
class JsonTreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  using Base = nlohmann::json_sax<Json>;

  JsonTreeBuilder(JsonTree<Json>& tree, const OnError& on_error) : tree_(tree), on_error_(on_error) {}

  bool null() override { return add(nullptr), true; }
  bool boolean(bool value) override { return add(value), true; }
  bool number_integer(typename Base::number_integer_t value) override { return add(value), true; }
  bool number_unsigned(typename Base::number_unsigned_t value) override { return add(value), true; }
  bool number_float(typename Base::number_float_t value, const typename Base::string_t&) override {
    return add(value), true;
  }
  bool string(typename Base::string_t& value) override { return add(std::move(value)), true; }
  bool binary(typename Base::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()), true; }
  bool start_array(std::size_t) override { return open(Json::array()), true; }
  bool end_object() override { return open_.pop_back(), true; }
  bool end_array() override { return open_.pop_back(), true; }
  bool key(typename Base::string_t& name) override {
    member_ = &(*open_.back())[name];
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    on_error_(error);
    return false;
  }

 private:
  template <class Value>
  Json& add(Value&& value) {
    Json* place = &tree_.root();
    if (!open_.empty() && open_.back()->is_array()) {
      auto& elements = open_.back()->template get_ref<typename Json::array_t&>();
      elements.emplace_back(std::forward<Value>(value));
      return elements.back();
    }
    if (!open_.empty()) {
      place = member_;
      JsonTree<Json>::clear(*place);  // where a key occurs twice, the last one counts
    }
    *place = Json(std::forward<Value>(value));
    return *place;
  }
  void open(Json value) {
    open_.reserve(open_.size() + 1);
    open_.push_back(&add(std::move(value)));
  }

  JsonTree<Json>& tree_;
  const OnError& on_error_;
  std::vector<Json*> open_;  // arrays and objects that have not ended
  Json* member_ = nullptr;   // of the innermost object: where its next value goes
};

// `on_error(exception)` throws. The text must be shallow (require_shallow_json).
template <class Json, class OnError>
JsonTree<Json> parse_json_tree(std::string_view text, const OnError& on_error) {
  JsonTree<Json> tree;
  JsonTreeBuilder<Json, OnError> builder(tree, on_error);
  Json::sax_parse(text, &builder);
  return tree;
}

}  // namespace heed
