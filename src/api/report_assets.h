// The page's own style and script.
#pragma once

#include <string_view>

namespace heed {

extern const std::string_view kReportStyle;
extern const std::string_view kReportScript;  // what both below use
extern const std::string_view kReportCharts;
extern const std::string_view kReportMaps;

}  // namespace heed
