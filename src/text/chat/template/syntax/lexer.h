// A template cut into tokens, with the white space around tags taken away as Jinja does with trim_blocks and
// lstrip_blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed::chat {

struct Token {
  // text: outside of tags. A name's, an operator's and a number's spelling is `text`; of a string it is the content.
  enum class Kind : uint8_t {
    text,
    output_begin,
    output_end,
    block_begin,
    block_end,
    name,
    string,
    integer,
    real,
    symbol,
    end
  };
  Kind kind = Kind::end;
  int line = 1;
  std::string text = {};
};

// The last token is `end`. FormatError, "where:line: ...".
std::vector<Token> tokenize_template(std::string_view source, std::string_view where);

}  // namespace heed::chat
