// Options and results of quantization.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/types/interruption.h"
#include "heed/types/letter_case.h"
#include "heed/types/weight_type.h"

namespace heed {

// Matrices whose names match the pattern (* stands for any characters) get another type. The first pattern that matches
// counts.
struct KeptWeights {
  std::string pattern;
  WeightType type = WeightType::f32;
};

// A page about what quantizing changed.
struct QuantizationReport {
  std::string page;  // the file to write, HTML; empty: none
  // What the models are measured on before and after, in f32. For a translation model, `source` and its `reference`
  // translations: BLEU with greedy search. For others, `text`: a language model's perplexity; the accuracy of a
  // classifier (lines of text, tab, label; or of two texts and a label) or a tagger (lines of a word and its label).
  std::string source, reference, text;
  LetterCase letters = LetterCase::kept;  // of BLEU
};

struct QuantizeOptions {
  std::string model;   // a model directory, not an adapter
  std::string output;  // the model directory to write
  WeightType type = WeightType::int8;
  std::vector<KeptWeights> keep;
  int64_t group = 32;  // values of int4 that share a scale: 32 or 64
  // A text, plain or compressed with gzip, that shows what the products' inputs are: sentences to translate, or text of
  // the kind that a language model or an encoder reads. Needed for int8-static; int4 rounds better with it.
  std::string calibration;
  std::string calibration_target;  // the sentences' translations; empty: the model translates them itself
  int threads = 0;                 // to calibrate and measure with; 0: one per processor
  QuantizationReport report;
  Interruption interruption = {};  // InterruptedError, and nothing is left
};

// Whether later columns make up for the rounding of the ones before, which measured better.
enum class Compensated : uint8_t { no, yes };
// Whether a norm's gain was divided, and the matrix's columns multiplied, to make outliers smaller.
enum class Smoothed : uint8_t { no, yes };

struct QuantizedMatrix {
  std::string name, layer;  // layer: "encoder.layers.0", or where else in the model it is
  WeightType type = WeightType::f32;
  int64_t bytes = 0;
  double signal_to_noise = 0.0;   // of its values
  double largest_over_rms = 0.0;  // the largest magnitude over the root of the mean square
  // Measured with a calibration text; the first only for int8 and int4.
  std::optional<double> product_signal_to_noise, input_largest_over_rms;
  // For int8-static: how its inputs' range was chosen (least, percentile, squared error or entropy); empty where each
  // input has a range of its own.
  std::string range;
  Smoothed smoothed = Smoothed::no;
  Compensated compensated = Compensated::no;  // of int4
};

// A figure of the model before and after.
struct MeasuredChange {
  std::string metric, text;  // "BLEU", and the file
  double before = 0.0, after = 0.0;
};

struct QuantizedWeights {
  std::vector<QuantizedMatrix> matrices;
  int64_t bytes_before = 0, bytes_after = 0;  // of all weights
  double signal_to_noise = 0.0;               // of all matrices, in decibels; infinite where nothing was rounded
  std::vector<MeasuredChange> changes;        // where the report names a text
};

}  // namespace heed
