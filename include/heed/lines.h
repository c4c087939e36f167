// Lines of text files in UTF-8, plain or compressed with gzip; the path "-" is the standard input.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace heed {

// Calls use(line, where) for each line; where is "path:number". Throws, with that name, for what is not UTF-8.
void for_each_line(const std::string& path,
                   const std::function<void(const std::string& line, const std::string& where)>& use);

// Calls use(source, target, number) for each pair of lines of two files; numbers count from 1. Throws likewise, and for
// files that have different numbers of lines.
void for_each_pair(
    const std::string& source, const std::string& target,
    const std::function<void(const std::string& source, const std::string& target, int64_t number)>& use);

}  // namespace heed
