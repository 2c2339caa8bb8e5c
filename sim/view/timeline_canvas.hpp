// What the parts of a timeline's picture share: the iteration that they draw, and where on the page it stands.
#pragma once

#include <string>
#include <vector>

#include "sim/picture/drawing.hpp"
#include "sim/view/timeline_rows.hpp"

namespace allreplay {

/// [from, to) in seconds since the panel's time began.
struct Interval {
  double from = 0, to = 0;
};

/// One outcome's last iteration.
struct DrawnIteration {
  /// `its_name`: what tells it from the others.
  DrawnIteration(const Outcome& one, std::string its_name);

  double at(Time time) const { return to_seconds(time - zero); }

  /// When class c has nothing to compute, in its own iteration.
  std::vector<Interval> waits(std::size_t c) const;

  /// When what is in flight is exposed: while the least slowed class waits, whose waiting metrics count; in a pipeline
  /// while all ranks do, and for no send.
  std::vector<Interval> exposing() const;

  /// The classes that have a row in the picture: all, or those that end last.
  std::vector<std::size_t> shown() const;

  bool pipeline() const { return outcome.result.plan.pipeline.has_value(); }
  bool shards() const { return outcome.result.plan.sharding.shards_optimizer(); }
  bool micro_batches() const { return outcome.result.plan.sharding.accumulate > 1; }

  /// Below a red arrow's end.
  std::string gate_says() const;

  const Outcome& outcome;
  std::string name;
  TimelineRows rows;
  Time zero;
  std::vector<double> starts, ends;  ///< of each class's own iteration, to where its next begins
  Interval iteration;  ///< as the metrics define it: of the class that begins last, in a pipeline of rank 0

 private:
  std::vector<Interval> gaps(const TimelineRow& row, double from, double to) const;
  void set_times();
  void set_times_of_ranks();
};

/// What a block's bar says of it: in one picture all of them the same.
enum class BlockWords : std::uint8_t { Tensors, Block, Number };

/// The longest words for which all those bars have room that have some for a number.
BlockWords words_for(const std::vector<DrawnIteration>& timelines, double pixels_per_second);

std::string words_of(const Bar& bar, BlockWords words);

/// Whether it carries a block, rather than a layer, the update or just bytes.
bool is_of_block(const Bar& bar);

/// A place for one iteration. What draws its parts derives from it.
class TimelineCanvas {
 public:
  /// `zoom`: how far into it a page can zoom.
  TimelineCanvas(Drawing& drawing, const DrawnIteration& timeline, double left, double pixels_per_second,
                 BlockWords words, double zoom)
      : drawing_(drawing), timeline_(timeline), left_(left), scale_(pixels_per_second), words_(words), zoom_(zoom) {}

 protected:
  double x(double seconds) const { return left_ + scale_ * seconds; }

  void add_row_name(double middle, const std::string& name);
  /// With its head at the last point.
  void add_arrow(const std::vector<Position>& points, const Look& line, double head, const Meaning& meaning);

  Drawing& drawing_;
  const DrawnIteration& timeline_;
  double left_, scale_;
  BlockWords words_;
  double zoom_;
};

/// Draws bars with their words.
class BarPainter : public TimelineCanvas {
 public:
  explicit BarPainter(const TimelineCanvas& canvas) : TimelineCanvas(canvas) {}

 protected:
  void add_bars(const TimelineRow& row, double top, double height);
  void add_labels(const TimelineRow& row, double top, double height);

 private:
  std::size_t last_of_group(const TimelineRow& row, std::size_t first) const;
  void add_group(const TimelineRow& row, std::size_t first, std::size_t last, double top, double height);
  void add_label(const Bar& bar, const Box& box);
};

constexpr double timeline_page_width = 860;    ///< as wide as a page of text on a screen, where letters keep their size
constexpr double widest_timeline_page = 3000;  ///< of a pipeline, whose micro-batches have numbers
constexpr double next_iteration_width = 26;    ///< of its beginning
extern const Look next_iteration_look;
extern const char* const gradients_are_ready;
extern const Look send_look;

/// Pixels per second at which most passes of a pipeline have room for the number of their micro-batch.
double scale_of_passes(const DrawnIteration& timeline);

// Each draws its part from `top` on and returns where the next may begin.
double add_timeline_heading(const TimelineCanvas& canvas, double top);
double add_timeline_streams(const TimelineCanvas& canvas, double top);
double add_timeline_ranks(const TimelineCanvas& canvas, double top);  ///< of a pipeline, instead of streams
double add_timeline_lanes(const TimelineCanvas& canvas, double top);
double add_timeline_memory(const TimelineCanvas& canvas, double top);

}  // namespace allreplay
