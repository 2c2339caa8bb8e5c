#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/output/picture/font_match.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/view/plot_figure.hpp"
#include "sim/programs/command/command.hpp"

namespace allreplay {

namespace {

struct PlotArguments {
  std::string file, config, kind, dpi = "192";
  std::vector<std::string> changes, outputs;
  std::map<std::string_view, std::vector<std::string>> keys;  ///< the values of --x and the other keys of "plot"
};

// Returns "--font-size" for the key font_size.
std::string option_of(const PlotKey& key) {
  std::string name = "--" + std::string(key.name);
  std::ranges::replace(name, '_', '-');
  return name;
}

// The defaults, overridden by the sweep file's "plot", overridden by the command line.
PlotOptions plot_options_of(const Files& files, const PlotArguments& arguments) {
  PlotOptions options;
  if (!arguments.config.empty()) {
    const Json config = Json::read(files, files.find_data("configs", arguments.config, "sweep"));
    if (const auto plot = config.find("plot")) read_plot_options(options, *plot);
  }
  for (const std::string& change : arguments.changes) read_plot_option(options, change, argument("--set"));
  for (const PlotKey& key : plot_keys())
    if (const auto values = arguments.keys.find(key.name); values != arguments.keys.end())
      for (const std::string& value : values->second) read_plot_option(options, key, value, argument(option_of(key)));
  if (!arguments.kind.empty())
    options.kinds = {find_by_name(plot_kinds(), arguments.kind, argument("--kind"), "unknown kind '{}'").value};
  return options;
}

void execute(Context& context, const PlotArguments& arguments) {
  const auto dpi = parse_integer(arguments.dpi, 50, 1200, argument("--dpi"));
  std::vector<Output> outputs;
  for (const std::string& file : arguments.outputs) outputs.push_back(picture_at("--out", file));
  require_separate(context.files(), outputs,
                   {arguments.file, file_behind(context.files(), "configs", arguments.config)});
  const PlotOptions options = plot_options_of(context.files(), arguments);
  const Drawing drawing = draw(plot_figure(plot_table(read_results(context.files(), arguments.file)), options));
  for (const std::string& file : arguments.outputs)
    write_picture(context.files(), file, drawing, static_cast<double>(dpi) / 96);
  if (const std::string& font = options.page.font; font != usual_font)
    if (const std::string other = substitute_for(font); !other.empty())
      context.console.note(fmt::format("this machine has no font '{}'; '{}' is used instead", font, other));
}

std::string kinds_in_help() {
  std::string lines = "Kinds (default: \"speedup\"):\n";
  for (const PlotKindRow& kind : plot_kinds()) lines += fmt::format("  {:<12}{}\n", kind.name, kind.about);
  return lines;
}

}  // namespace

void add_plot(CommandLine& app) {
  auto [command, arguments] =
      app.add<PlotArguments>("plot", "draw the CSV of a sweep or of `tune` as a figure", execute);
  command.add_option("file", arguments.file, values::file, "a CSV written by `allreplay sweep --out` or `tune --out`")
      .required();
  command.add_option("--config", arguments.config, values::config, "the sweep file, whose \"plot\" says what to draw");
  command.add_option("--kind", arguments.kind, one_of("KIND", [] { return names_of(plot_kinds()); }),
                     "what to draw (the sweep file's): " + choices(names_of(plot_kinds())));
  command.add_option("--set", arguments.changes, {"KEY=VALUE"},
                     "a key of \"plot\" and its value, as JSON or bare text: log=false; any number of times");
  for (const PlotKey& key : plot_keys())
    if (key.name != "kind")
      command.add_option(option_of(key), arguments.keys[key.name], {key.value}, std::string(key.right))
          .group("Keys of \"plot\" and of --set, explained in docs/plots.md");
  command
      .add_option("--out", arguments.outputs, values::file,
                  "a picture to write: FILE.svg, .png or .pdf; any number of times")
      .required();
  command.add_option("--dpi", arguments.dpi, values::number, "pixels of a .png per inch of a page, 50 to 1200");
  command.footer =
      kinds_in_help() +
      "\nExample:\n  allreplay sweep mgwfbp_fig10 --out fig10.csv\n  allreplay plot fig10.csv --config "
      "mgwfbp_fig10 --out fig10.svg\n  allreplay plot fig10.csv --kind bars --where workers=64,1024 --order "
      "best,wfbp --width column --legend right --out bars.pdf";
}

}  // namespace allreplay
