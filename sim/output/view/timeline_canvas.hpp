// Shared by the parts of a timeline picture: the iteration that they draw and its place on the page.
#pragma once

#include <string>
#include <vector>

#include "sim/output/picture/drawing.hpp"
#include "sim/output/view/timeline_rows.hpp"

namespace allreplay {

/// [from, to) in seconds on the time axis of the panel.
struct Interval {
  double from = 0, to = 0;
};

/// The last iteration of one outcome, in seconds since the panel's zero.
struct DrawnIteration {
  /// `its_name` distinguishes it from the other iterations of the picture.
  DrawnIteration(const Outcome& one, std::string its_name);

  double at(Time time) const { return to_seconds(time - zero); }

  /// Returns the times within its own iteration when class c computes nothing.
  std::vector<Interval> waits(std::size_t c) const;

  /// Returns the times when communication is exposed: when the least slowed class waits, as in the metrics; in a
  /// pipeline when all ranks wait and no send is in flight.
  std::vector<Interval> exposing() const;

  /// Returns the classes that have a row in the picture: all, or if they are too many those that end last.
  std::vector<std::size_t> shown() const;

  bool pipeline() const { return outcome.result.plan.pipeline.has_value(); }
  bool shards() const { return outcome.result.plan.sharding.shards_optimizer(); }
  bool micro_batches() const { return outcome.result.plan.sharding.accumulate > 1; }

  /// Returns the caption of arrows from communication to the computation that waits for it.
  std::string gate_text() const;

  const Outcome& outcome;
  std::string name;
  TimelineRows rows;
  Time zero;
  std::vector<double> starts, ends;  ///< by class: its own iteration, until its next one begins
  bool has_inside = false;           ///< passes contain collectives inside layers
  Interval iteration;  ///< as in the metrics: from the latest start to the latest end; in a pipeline rank 0's

 private:
  std::vector<Interval> gaps(const TimelineRow& row, double from, double to) const;
  void set_times();
  void set_times_of_ranks();
};

/// The place of one iteration on the page; the classes that draw its parts derive from it.
class TimelineCanvas {
 public:
  TimelineCanvas(Drawing& drawing, const DrawnIteration& timeline, double left, double pixels_per_second)
      : drawing_(drawing), timeline_(timeline), left_(left), scale_(pixels_per_second) {}

 protected:
  double x(double seconds) const { return left_ + scale_ * seconds; }

  void add_row_name(double middle, const std::string& name);
  void add_bars(const TimelineRow& row, double top, double height);
  void add_labels(const TimelineRow& row, double top, double height);  ///< the captions of bars, where they fit
  /// Draws the end of class c's iteration, and the beginning of its next one.
  void add_next(std::size_t c, double top, double height);
  /// The height of add_strip() unless it shrinks; 0 if there is nothing to draw.
  double strip_height() const { return timeline_.has_inside ? 6 : 0; }
  /// Draws the collectives inside the layers of stream c, below its passes. Short ones are drawn together, with the sum
  /// of their lengths.
  void add_strip(std::size_t c, double top, double shrink);
  /// Draws a line through the points with an arrow head of size `head` at the last one.
  void add_arrow(const std::vector<Position>& points, const Look& line, double head, const Meaning& meaning);

  Drawing& drawing_;
  const DrawnIteration& timeline_;
  double left_, scale_;

 private:
  std::size_t last_of_group(const TimelineRow& row, std::size_t first) const;
  void add_group(const TimelineRow& row, std::size_t first, std::size_t last, double top, double height);
  void add_label(const Bar& bar, const Box& box);
};

/// "20 ms, from 1 s to 1.02 s".
std::string length_and_time(double from, double to);

/// Look of a bar: with a white edge if it is large enough for one.
Look edged(Look look, bool is_large);

constexpr double timeline_page_width = 860;    ///< as wide as a column of text, so that pages show it unscaled
constexpr double widest_timeline_page = 3000;  ///< for pipelines, whose passes show their micro-batch
constexpr double next_iteration_width = 26;    ///< the stub that shows its beginning
extern const Look next_iteration_look;
extern const char* const gradients_are_ready;
extern const Look send_look;

/// Returns the pixels per second at which most passes of a pipeline are wide enough for their micro-batch's number.
double scale_of_passes(const DrawnIteration& timeline);

// Each draws its part from `top` down and returns the top of the next part.
double add_timeline_streams(const TimelineCanvas& canvas, double top);
double add_timeline_ranks(const TimelineCanvas& canvas, double top);  ///< for pipelines, instead of streams
double add_timeline_lanes(const TimelineCanvas& canvas, double top);
double add_timeline_memory(const TimelineCanvas& canvas, double top);

}  // namespace allreplay
