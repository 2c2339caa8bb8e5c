#include <map>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/output/picture/legible.hpp"
#include "tests/output/report/results.hpp"

#include "sim/base/core/file.hpp"
#include "sim/output/picture/series_look.hpp"
#include "sim/output/picture/svg.hpp"
#include "sim/output/view/plot_figure.hpp"
#include "sim/output/view/strategy_looks.hpp"
#include "sim/plans/schedule/strategy.hpp"

using namespace allreplay;

namespace {

// A sweep of all strategies on a few models; the numbers do not matter.
std::string sweep(std::size_t models, std::size_t sizes) {
  std::string csv =
      "profile,strategy,workers,origin,iteration_s,forward_s,backward_s,exposed_comm_s,codec_s,speedup,efficiency,"
      "trial,best_so_far_s,least_s,p25_s,p50_s,p75_s,most_s\n";
  int row = 0;
  for (std::size_t model = 0; model < models; ++model)
    for (const Strategy& strategy : strategies())
      for (std::size_t size = 0; size < sizes; ++size, ++row) {
        const double workers = 8.0 * static_cast<double>(1U << size);
        csv +=
            fmt::format("a model with a name {},{},{},estimated,{},0.1,0.2,{},{},{},{},{},0.3,0.3,0.31,0.33,{},0.4\n",
                        model, strategy.name, workers, 0.3 + 0.01 * (row % 7), 0.01 * (row % 5), 0.001 * (row % 3),
                        workers / 2, 0.5 + 0.01 * (row % 11), row + 1, 0.34 + 0.01 * (row % 4));
      }
  return csv;
}

Drawing figure(const std::string& csv, PlotOptions options) {
  Files files;
  files.add("rows.csv", csv);
  return draw(plot_figure(plot_table(read_results(files, "rows.csv")), std::move(options)));
}

}  // namespace

TEST_CASE("bars are whole iterations: micro-batches and updates are computation") {
  // Two micro-batches of 0.1 + 0.2 s and an update of 0.1 s, 0.05 s of a codec and 0.25 s exposed: 1 s.
  const std::string csv =
      "profile,strategy,workers,origin,iteration_s,forward_s,backward_s,exposed_comm_s,codec_s\n"
      "model,ddp,8,estimated,1,0.1,0.2,0.25,0.05\n";
  PlotOptions options;
  options.kinds = {PlotKind::Bars};
  std::map<std::string, double> lengths;  // by part
  for (const Rectangle& one : shapes<Rectangle>(figure(csv, options), "part"))
    for (const char* part : {"Computation", "Compression", "Exposed"})
      if (one.meaning.title.find(part) != std::string::npos) lengths[part] = one.box.width;
  CHECK(lengths["Computation"] / lengths["Exposed"] == Approx(0.7 / 0.25));
  CHECK(lengths["Compression"] / lengths["Exposed"] == Approx(0.05 / 0.25));
}

TEST_CASE("figures of every kind and many shapes can be read, and are the same again") {
  for (const PlotKindRow& kind : plot_kinds())
    for (const std::size_t models : {1U, 2U, 4U})
      for (const std::size_t sizes : {1U, 3U, 12U}) {
        INFO(kind.name << ", " << models << " models, " << sizes << " sizes");
        PlotOptions options;
        options.kinds = {kind.value};
        const Drawing drawing = figure(sweep(models, sizes), options);
        require_legible(drawing);
        for (const Shape& shape : drawing.shapes)
          if (const auto* text = std::get_if<Text>(&shape)) CHECK(text->size >= 9.5);
        CHECK(to_svg(figure(sweep(models, sizes), options)) == to_svg(drawing));
      }
}

TEST_CASE("every strategy has a name and a look of its own in pictures") {
  std::map<std::size_t, std::string> taken;
  for (const Strategy& strategy : strategies()) {
    INFO(strategy.name);
    const std::size_t place = look_places({strategy_label(strategy.name)}).front();
    CHECK(place < different_looks);
    CHECK(taken.emplace(place, strategy.name).second);
    CHECK(strategy_label(strategy.name) != strategy.name);
  }
}

TEST_CASE("what is no strategy takes the looks that the figure has left") {
  // wfbp is 0, mg-wfbp 2; a strategy that is called differently keeps its own.
  CHECK(look_places({"dense", "MG-WFBP", "fp16"}) == std::vector<std::size_t>{0, 2, 1});
  CHECK(look_places({"dense", "WFBP"}) == std::vector<std::size_t>{1, 0});
  const auto called = [](const std::string& name) { return name == "wfbp" ? "wait-free" : strategy_label(name); };
  CHECK(look_places({"dense", "wait-free", "WFBP"}, called) == std::vector<std::size_t>{1, 0, 2});
}

TEST_CASE("an option of a row is a column of the table") {
  Files files;
  files.add("rows.csv", "options,workers\ngroups=2;stop=0,8\n,8\nstop=1;workers=9,8\n");
  const ResultTable table = plot_table(read_results(files, "rows.csv"));
  CHECK(table.columns == std::vector<std::string>{"options", "workers", "groups", "stop"});
  CHECK(table.rows[0].cells == Texts(std::vector<std::string>{"groups=2;stop=0", "8", "2", "0"}));
  CHECK(table.rows[1].cells == Texts(std::vector<std::string>{"", "8", "", ""}));
  CHECK(table.rows[2].cells ==
        Texts(std::vector<std::string>{"stop=1;workers=9", "8", "", "1"}));  // a column of the file stays
}

TEST_CASE("a series without an option is not named by it") {
  PlotOptions options;
  options.kinds = {PlotKind::Speedup};
  options.series = {"strategy", "options"};
  const std::string svg =
      to_svg(figure("profile,strategy,options,workers,speedup\na,ddp,,8,7\na,ddp,,16,14\na,ddp,launch=1 us,8,6\n"
                    "a,ddp,launch=1 us,16,12\n",
                    options));
  CHECK(svg.find("DDP<") != std::string::npos);
  CHECK(svg.find("DDP, launch=1 us<") != std::string::npos);
  CHECK(svg.find("DDP, <") == std::string::npos);
}

TEST_CASE("in a histogram the rows that are to be marked are lines, and the others are counted") {
  PlotOptions options;
  options.kinds = {PlotKind::Histogram};
  options.mark = {{"strategy", {"ddp"}}};
  const std::vector<std::string> names = texts(figure(sweep(1, 1), options), "legend");
  CHECK(names == std::vector<std::string>{"others", "DDP"});
}

TEST_CASE("a label may name a series of several columns") {
  PlotOptions options;
  options.kinds = {PlotKind::Speedup};
  options.series = {"strategy", "groups"};
  options.labels = {{"2", "two"}, {"DDP, two", "both"}};
  const std::string svg =
      to_svg(figure("profile,strategy,options,workers,speedup\na,ddp,groups=1,8,7\na,ddp,groups=2,8,6\n", options));
  CHECK(svg.find("DDP, 1<") != std::string::npos);
  CHECK(svg.find("both<") != std::string::npos);
  CHECK(svg.find("DDP, two<") == std::string::npos);
}

TEST_CASE("strategies of which a sweep has several are told apart by what differs, unless a series was given") {
  const std::string csv =
      "profile,strategy,cluster,options,workers,speedup,memory\n"
      "a,ddp,slow,bucket_cap=1 MB;first_bucket=1 MB,8,7,x\na,ddp,slow,bucket_cap=25 MB;first_bucket=25 MB,8,6,y\n"
      "a,wfbp,slow,,8,5,z\n";
  const std::string svg = to_svg(figure(csv, {}));
  CHECK(svg.find("DDP, bucket_cap=1 MB<") != std::string::npos);
  CHECK(svg.find("DDP, bucket_cap=25 MB<") != std::string::npos);
  CHECK(svg.find("WFBP<") != std::string::npos);
  CHECK(to_svg(figure(csv + "a,wfbp,fast,,8,5,z\n", {})).find("WFBP, fast<") != std::string::npos);
  PlotOptions given;
  read_plot_option(given, "series=strategy", {"--set", ""});
  CHECK(error_place([&] { figure(csv, given); }) == "rows.csv: line 3");
  // Options that are numbers, and a number that the registry does not know.
  CHECK(to_svg(figure("profile,strategy,options,workers,speedup,mine\na,fsdp2,shard_group=8,8,7,1\n"
                      "a,fsdp2,shard_group=4,8,6,2\n",
                      {}))
            .find("FSDP2, shard_group=4<") != std::string::npos);
}

TEST_CASE("two rows that differ only in numbers cannot be one point") {
  CHECK(error_place([] { figure("profile,strategy,workers,speedup,memory\na,ddp,8,7,x\na,ddp,8,6,y\n", {}); }) ==
        "rows.csv: line 3");
}

TEST_CASE("a figure marks what does not fit into memory, and says so") {
  const std::string head =
      "profile,strategy,workers,iteration_s,forward_s,backward_s,exposed_comm_s,codec_s,speedup,efficiency,memory_"
      "bytes,"
      "options\n";
  const auto row = [](const char* strategy, int workers, int gigabytes) {
    return fmt::format("a,{},{},0.4,0.1,0.2,0.1,0,{},0.5,{}e9,groups=2;memory=80 GB\n", strategy, workers, workers,
                       gigabytes);
  };
  const std::string some = head + row("ddp", 8, 90) + row("ddp", 16, 80) + row("fsdp2", 8, 20) + row("fsdp2", 16, 10),
                    all = head + row("ddp", 8, 80) + row("ddp", 16, 80);
  const auto crosses = [](const Drawing& drawing) { return shapes<Path>(drawing, "cross").size(); };
  const auto says = [](const Drawing& drawing, const std::string& words) {
    return std::any_of(drawing.shapes.begin(), drawing.shapes.end(), [&](const Shape& shape) {
      const auto* text = std::get_if<Text>(&shape);
      return text && text->text.find(words) != std::string::npos;
    });
  };
  for (const PlotKind kind :
       {PlotKind::Speedup, PlotKind::Efficiency, PlotKind::Lines, PlotKind::Columns, PlotKind::Bars}) {
    PlotOptions options;
    options.kinds = {kind};
    const Drawing drawing = figure(some, options);
    require_legible(drawing);
    CHECK(crosses(drawing) == 4);  // one row: two strokes, and white ones below them
    CHECK(says(drawing, "×: does not fit into a worker's memory."));
    CHECK(crosses(figure(all, options)) == 0);
    CHECK(!says(figure(all, options), "memory"));
  }
  PlotOptions histogram;
  histogram.kinds = {PlotKind::Histogram};
  CHECK(says(figure(some, histogram), "1 of 4 rows do not fit into a worker's memory."));
}

TEST_CASE("efficiencies are over the fewest workers on which the winner fits, and the axis says so") {
  // 3 s of computing take 4, 5 and 6 s: 75, 60 and 50 % of one worker, which could not hold the model; nor can four.
  const auto sized = [](const std::string& options) {
    std::string csv = result_header;
    csv.insert(csv.size() - 1, ",memory_bytes");
    for (const auto& [workers, seconds, bytes] : {std::tuple(4, 4, "9e10"), {8, 5, "7e10"}, {16, 6, "6e10"}}) {
      std::string row = result_row("p", "fsdp2", workers, seconds, options);
      csv += row.insert(row.size() - 1, std::string(",") + bytes);
    }
    return csv;
  };
  PlotOptions options;
  options.kinds = {PlotKind::Efficiency};
  const auto drawn = [&](const std::string& limit) {
    std::string all;
    for (const Shape& shape : figure(sized(limit), options).shapes)
      if (const auto* text = std::get_if<Text>(&shape); text && text->kind == "axis")
        all += text->text + "; ";
      else if (const auto* one = std::get_if<Path>(&shape); one && one->meaning.kind == "point")
        all += one->meaning.title + "; ";
      else if (const auto* circle = std::get_if<Circle>(&shape); circle && circle->meaning.kind == "point")
        all += circle->meaning.title + "; ";
    return all;
  };
  CHECK(drawn(limit_80_gb) ==
        "workers; scaling efficiency over 8 workers (%); FSDP2: 4, 125; FSDP2: 8, 100; FSDP2: 16, 83.3333; ");
  CHECK(drawn("") == "workers; scaling efficiency (%); FSDP2: 4, 75; FSDP2: 8, 60; FSDP2: 16, 50; ");
}

TEST_CASE("an axis has the unit of its column, and rows without a number are left out") {
  const std::string csv =
      "profile,strategy,workers,origin,iteration_s,efficiency,mfu,tokens_per_s,memory_bytes\n"
      "model,ddp,8,estimated,1,0.9,0.4,100,1e9\n"
      "model,ddp,16,estimated,2,0.8,,90,1e9\n";
  const auto axis_of = [&](const std::string& column) {
    PlotOptions options;
    options.kinds = {PlotKind::Lines};
    options.y = column;
    return texts(figure(csv, options), "axis").back();
  };
  CHECK(axis_of("iteration_s") == "time per iteration (s)");
  CHECK(axis_of("efficiency") == "efficiency (%)");
  CHECK(axis_of("mfu") == "MFU (%)");
  CHECK(axis_of("tokens_per_s") == "tokens per second");
  CHECK(axis_of("memory_bytes") == "memory of a worker (B)");
}

TEST_CASE("shares and efficiencies are drawn in percent, unless a unit or a scale is given") {
  const std::string csv =
      "profile,strategy,workers,origin,iteration_s,mfu,sd\n"
      "model,ddp,8,estimated,1,0.4,0.02\n"
      "model,ddp,16,estimated,2,0.3,0.01\n";
  const auto drawn = [&](PlotKind kind, const std::optional<std::string>& unit, double scale) {
    PlotOptions options;
    options.kinds = {kind};
    options.y = "mfu";
    options.unit = unit;
    options.scale = scale;
    options.error = {"sd"};
    const Drawing drawing = figure(csv, options);
    std::string all = texts(drawing, "axis").back() + "; ";
    for (const Path& point : shapes<Path>(drawing, "point")) all += point.meaning.title + "; ";
    for (const Circle& point : shapes<Circle>(drawing, "point")) all += point.meaning.title + "; ";
    for (const std::string& end : texts(drawing, "end")) all += end + "; ";
    return all;
  };
  CHECK(drawn(PlotKind::Lines, std::nullopt, 1) == "MFU (%); DDP: 8, 40; DDP: 16, 30; ");
  CHECK(drawn(PlotKind::Lines, "", 1) == "MFU; DDP: 8, 0.4; DDP: 16, 0.3; ");
  CHECK(drawn(PlotKind::Lines, "‰", 0.001) == "MFU (‰); DDP: 8, 400; DDP: 16, 300; ");
  CHECK(drawn(PlotKind::Columns, std::nullopt, 1) == "MFU (%); 40; 30; ");
}
