// The report as HTML.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/adapter.h"
#include "models/config.h"
#include "report/figures/head_figures.h"
#include "report/figures/positions.h"
#include "report/run/encoder_texts.h"
#include "report/run/metrics.h"
#include "report/run/passages.h"
#include "report/run/samples.h"

namespace heed {

struct ConfigValue {
  std::string name, value;
  enum class Origin : uint8_t { by_default, chosen } origin = Origin::by_default;
};

struct ConfigTable {
  std::string name;
  std::vector<ConfigValue> values;
};

struct ReportContent {
  std::string name;  // of the model
  ModelConfig model;
  int64_t parameters = 0;
  std::optional<AdapterDescription> adapter;
  std::vector<ConfigTable> tables;
  std::optional<RunMetrics> metrics;
  std::vector<TranslatedSample> samples;  // of a translation model
  std::vector<Passage> passages;          // of a language model
  std::vector<EncoderText> texts;         // of an encoder
  std::vector<HeadFigures> heads;         // over all samples or passages
  std::optional<PositionMap> positions;
  std::vector<std::string> notes;
};

// One page that refers to nothing outside itself. All text is escaped.
std::string report_page(const ReportContent& content);

// The data for the page's script, as JSON in which no HTML parser finds an end tag.
std::string report_data(const ReportContent& content);

// What every page begins with, up to its title: the browser fetches nothing.
std::string_view page_head();

}  // namespace heed
