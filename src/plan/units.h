// Quantities as people write them, turned into plain numbers.
#pragma once

#include <string>
#include <string_view>

namespace heed {

// Each takes a number and a unit without anything between them, and throws ConfigError, beginning with `where`, for
// everything else: no number, another unit, zero (but for a latency), less, or more than a double holds.

// Bytes a second: bits (1Gbit, 100Mbit, 10Gbps) or bytes (12GB), in powers of 1000, with or without "/s".
double parse_bandwidth(std::string_view text, std::string_view where);
// Seconds: 50us, 1ms, 0.5s, 800ns, or 0.
double parse_latency(std::string_view text, std::string_view where);
// Bytes: 16GB, 512MB in powers of 1000, 16GiB in powers of 1024.
double parse_size(std::string_view text, std::string_view where);
// FLOPs a second: 500G, 1.5T, or a number alone, 5e11.
double parse_rate(std::string_view text, std::string_view where);

// The same the other way, with three digits: "1 Gbit/s", "50 us", "1.5 TFLOP/s".
std::string describe_bandwidth(double bytes_per_second);
std::string describe_latency(double seconds);
std::string describe_rate(double flops_per_second);

}  // namespace heed
