// The mapping of numbers to positions along an axis, and the axis's ticks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace allreplay {

enum class Spacing : std::uint8_t { Linear, Log2, Log10 };

/// A number as on an axis: 0.25, 40, 1e9.
std::string plain_number(double value);

struct ChartAxis {
  std::string name;  ///< with its unit: "time per iteration (ms)"
  Spacing spacing = Spacing::Linear;
  std::function<std::string(double)> label = plain_number;  ///< such as format_size, if numbers have their own unit
  std::optional<double> from, to;  ///< by default the values shown, from 0 if linear, extended to round numbers
  bool from_zero = true;      ///< if linear and without `from`: begin at 0, not at a number near the least one shown
  bool names_all = false;     ///< every tick has a label, upwards if they need more room
  std::vector<double> ticks;  ///< if any: the only ticks, in order; first and last are the ends without `from` and `to`
};

class Scale {
 public:
  /// The numbers shown are in [least, greatest], with about `most` (at least 2) ticks. REQUIRES: finite numbers,
  /// positive if the axis is logarithmic (else std::logic_error).
  Scale(const ChartAxis& axis, double least, double greatest, std::size_t most);

  /// 0 at the start of the axis, 1 at its end.
  double share(double value) const;

  const std::vector<double>& ticks() const { return ticks_; }

 private:
  void make_given(const ChartAxis& axis);
  void make_linear(const ChartAxis& axis, double least, double greatest, std::size_t most);
  void make_logarithmic(const ChartAxis& axis, double least, double greatest, std::size_t most, double base);
  std::size_t make_multiples(const ChartAxis& axis, double least, double greatest, std::size_t most, double base,
                             const std::vector<double>& factors);
  void make_evenly_spaced_ticks(std::size_t most, double base);

  bool logarithmic_ = false;
  double from_ = 0, to_ = 1;
  std::vector<double> ticks_;
};

}  // namespace allreplay
