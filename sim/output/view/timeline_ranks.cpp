#include <algorithm>

#include <fmt/format.h>

#include "sim/output/picture/style.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/output/view/timeline_canvas.hpp"

namespace allreplay {

namespace {

constexpr double pass_height = 18, between_ranks = 10, most_ranks_height = 560;
constexpr double lower_at_most = 9;     // pixels by which a rank's last chunk is lower than its first
constexpr double room_for_arrows = 14;  // least pitch of ranks at which sends are drawn
constexpr double number_size = 8.5;     // font size of micro-batches' numbers, small because many stand side by side

// Draws a row per rank: passes with the number of their micro-batch, and sends as arrows between the rows.
class RankPainter : public TimelineCanvas {
 public:
  explicit RankPainter(const TimelineCanvas& canvas) : TimelineCanvas(canvas) {
    const auto& stages = timeline_.outcome.result.parallel->stages;
    std::size_t chunks = 1;
    for (const StageResult& stage : stages) chunks = std::max(chunks, stage.chunks.size());
    lower_ = chunks > 1 ? std::min(4.0, lower_at_most / static_cast<double>(chunks - 1)) : 0;
    const double wanted = pass_height + lower_ * static_cast<double>(chunks - 1) + strip_height() + between_ranks;
    pitch_ = std::min(wanted, most_ranks_height / static_cast<double>(stages.size()));
    shrink_ = pitch_ / wanted;
  }

  double add(double top) {
    top_ = top + 4;
    const std::vector<TimelineRow>& ranks = timeline_.rows.passes;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) add_idle(rank);
    if (pitch_ >= room_for_arrows) add_sends();
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) add_rank(rank);
    return top_ + pitch_ * static_cast<double>(ranks.size());
  }

 private:
  double top_of(std::size_t rank) const { return top_ + pitch_ * static_cast<double>(rank); }
  double height() const { return pitch_ - shrink_ * between_ranks; }
  double height_of_passes() const { return height() - shrink_ * strip_height(); }

  void add_idle(std::size_t rank) {
    for (const Interval& wait : timeline_.waits(rank))
      drawing_.add(Rectangle{{x(wait.from), top_of(rank), x(wait.to) - x(wait.from), height()},
                             look_of_idle(),
                             {"waiting", fmt::format("rank {} waits {}", rank, length_and_time(wait.from, wait.to))}});
  }

  void add_sends() {
    for (const TimelineRow& row : timeline_.rows.network)
      for (const Bar& bar : row.bars) {
        if (bar.activity != Activity::Send || bar.end <= bar.start) continue;
        const bool down = row.to > row.from;
        const double from = top_of(row.from) + (down ? height() : 0), to = top_of(row.to) + (down ? 0 : height());
        const double start = timeline_.at(bar.start), end = timeline_.at(bar.end);
        const std::string says =
            fmt::format("send from rank {} to {} (micro-batch {}): {}", row.from, row.to,
                        bar.micro_batch + timeline_.rows.first_micro_batch, length_and_time(start, end));
        add_arrow({{x(start), from}, {x(end), to}}, send_look, 3.5, {"send", says});
      }
  }

  void add_rank(std::size_t rank) {
    const TimelineRow& row = timeline_.rows.passes[rank];
    const auto& chunks = timeline_.outcome.result.parallel->stages[rank].chunks;
    add_row_name(top_of(rank) + height() / 2, row.name);
    for (const Bar& bar : row.bars) {
      if (bar.end <= bar.start) continue;
      const auto before = std::count_if(chunks.begin(), chunks.end(),
                                        [&](const auto& one) { return is_pass(bar.activity) && one.chunk < bar.item; });
      const double in_pair = bar.activity == Activity::Forward ? 0 : height_of_passes() / 2;
      add_pass(bar, top_of(rank) + (bar.in_pair ? in_pair : shrink_ * lower_ * static_cast<double>(before)));
    }
    add_strip(rank, top_of(rank) + height_of_passes(), shrink_);
    add_next(rank, top_of(rank), height());
  }

  void add_pass(const Bar& bar, double top) {
    const double start = timeline_.at(bar.start), end = timeline_.at(bar.end);
    const Box box{x(start), top, x(end) - x(start), bar.in_pair ? height_of_passes() / 2 : shrink_ * pass_height};
    const std::string what = title_of(bar.activity);
    drawing_.add(Rectangle{box,
                           edged(look_of(bar.activity), box.width > 3),
                           {what, fmt::format("{}{}: {}", what, is_pass(bar.activity) ? " " + bar.name : "",
                                              length_and_time(start, end))}});
    const std::string number = std::to_string(bar.micro_batch + timeline_.rows.first_micro_batch);
    const double size = bar.in_pair ? std::min(number_size, box.height - 1) : number_size;
    const double room = bar.in_pair ? 7.5 : number_size + 2;
    if (!is_pass(bar.activity) || box.height < room || text_width(number, size) + 1 > box.width) return;
    drawing_.add(Text{.at = {box.x + box.width / 2, box.y + box.height / 2 + 0.36 * size},
                      .text = number,
                      .size = size,
                      .align = Align::Middle,
                      .colour = ink_on(bar.activity),
                      .kind = "micro-batch"});
  }

  double lower_ = 0;   // by which each chunk of a rank is drawn below the previous one
  double pitch_ = 0;   // from one rank's top to the next
  double shrink_ = 1;  // factor on all heights if there are many ranks
  double top_ = 0;
};

}  // namespace

double add_timeline_ranks(const TimelineCanvas& canvas, double top) { return RankPainter(canvas).add(top); }

double scale_of_passes(const DrawnIteration& timeline) {
  std::vector<double> lengths;  // the quartile is taken: forward passes, if backward ones take longer
  std::uint32_t last = 0;
  for (const TimelineRow& row : timeline.rows.passes)
    for (const Bar& bar : row.bars) {
      if (is_pass(bar.activity) && bar.end > bar.start) lengths.push_back(to_seconds(bar.end - bar.start));
      last = std::max(last, bar.micro_batch + timeline.rows.first_micro_batch);
    }
  if (lengths.empty()) return 0;
  const auto quarter = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 4);
  std::nth_element(lengths.begin(), quarter, lengths.end());
  return (text_width(std::to_string(last), number_size) + 1.1) / *quarter;
}

}  // namespace allreplay
