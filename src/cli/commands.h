// One function per subcommand; each adds its options and what to run.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace heed::cli {

void add_bench(CLI::App& app);
void add_bleu(CLI::App& app);
void add_demo(CLI::App& app, const std::string& program);  // how the program was called, to say what comes next
void add_evaluate(CLI::App& app);
void add_inspect(CLI::App& app);
void add_report(CLI::App& app);
void add_score(CLI::App& app);
void add_tokenizer(CLI::App& app);
void add_train(CLI::App& app);
void add_translate(CLI::App& app);

}  // namespace heed::cli
