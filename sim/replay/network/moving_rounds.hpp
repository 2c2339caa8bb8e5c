// The rounds that move bytes simultaneously in the fidelity `fluid`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace allreplay {

/// In the order of their shapes; of a shape, the one with the least left is last. A few rounds change at each of
/// millions of instants, so they are stored as arrays that loops process four at a time, without branches: the last
/// four are filled up by rounds without a shape and without an end.
struct MovingRounds {
  static constexpr std::size_t lanes = 4;
  static constexpr std::uint32_t no_shape = 0xffffffff;
  static constexpr std::uint32_t endless = 0x80000000;  // in the shape of a background flow, which is last
  static constexpr double forever = std::numeric_limits<double>::infinity();

  std::size_t size = 0;
  std::vector<double> left;   // ps at full speed
  std::vector<double> speed;  // as a fraction of full speed
  std::vector<double> end;    // when its bytes have moved, at that speed: next_end()
  std::vector<std::uint32_t> shape;
  std::vector<std::uint32_t> index;  // of the collective
  std::uint64_t hash = 0;            // of the shapes: the sum of hash_of()

  bool empty() const { return size == 0; }
  bool same_shape() const { return size == 0 || shape[0] == shape[size - 1]; }
  /// The size, with those that fill up the last four.
  std::size_t padded() const { return (size + lanes - 1) / lanes * lanes; }

  /// Constants: Steele, Lea and Flood's SplitMix64.
  static std::uint64_t hash_of(std::uint32_t shape) {
    std::uint64_t mixed = (shape + std::uint64_t{1}) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 32) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 32;
  }

  void add(std::uint32_t its_shape, std::uint32_t its_index, double its_left) {
    make_room();
    std::size_t at = size++;
    for (; at > 0 && (shape[at - 1] > its_shape || (shape[at - 1] == its_shape && left[at - 1] < its_left)); --at) {
      left[at] = left[at - 1];
      shape[at] = shape[at - 1];
      index[at] = index[at - 1];
    }
    left[at] = its_left;
    shape[at] = its_shape;
    index[at] = its_index;
    hash += hash_of(its_shape);
  }

  /// The same, faster if there are many. REQUIRES: all have this shape.
  void add_alike(std::uint32_t its_shape, std::uint32_t its_index, double its_left) {
    make_room();
    const auto more = std::upper_bound(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(size), its_left,
                                       [](double a, double b) { return b < a; });
    const auto place = index.begin() + (more - left.begin());
    std::copy_backward(more, left.begin() + static_cast<std::ptrdiff_t>(size),
                       left.begin() + static_cast<std::ptrdiff_t>(size) + 1);
    std::copy_backward(place, index.begin() + static_cast<std::ptrdiff_t>(size),
                       index.begin() + static_cast<std::ptrdiff_t>(size) + 1);
    *more = its_left;
    *place = its_index;
    shape[size++] = its_shape;
    hash += hash_of(its_shape);
  }

  /// The number of rounds whose shapes are before this one.
  std::size_t place_of(std::uint32_t its_shape) const {
    std::size_t before = 0;
    for (std::size_t i = 0; i < size; ++i) before += shape[i] < its_shape ? 1 : 0;
    return before;
  }

  /// The next instant at which a round has moved its bytes.
  double next_end(double now) {
    Pair next[2] = {{forever, forever}, {forever, forever}};
    for (std::size_t i = 0; i < size; i += lanes)
      for (const std::size_t half : {0, 1}) {
        const Pair ends = now + pair(left, i + 2 * half) / pair(speed, i + 2 * half);
        put(end, i + 2 * half, ends);
        next[half] = lesser(ends, next[half]);
      }
    return least_of(next);
  }

  /// Moves bytes from `now` to `to`. Returns true if a round has moved all its bytes. REQUIRES: next_end(now) was
  /// called last.
  bool advance(double now, double to) {
    const double lasts = to - now;
    Pair least[2] = {{forever, forever}, {forever, forever}};
    for (std::size_t i = 0; i < size; i += lanes)
      for (const std::size_t half : {0, 1}) {
        const Pair before = pair(end, i + 2 * half) <= to ? Pair{0, 0} : pair(left, i + 2 * half);
        const Pair after = before - lasts * pair(speed, i + 2 * half);
        put(left, i + 2 * half, after);
        least[half] = lesser(after, least[half]);
      }
    return least_of(least) <= 0;
  }

  /// The same for rounds of one shape. Returns the number of those that have not moved all their bytes.
  std::size_t advance_alike(double now, double to, double its_speed) {
    for (std::size_t i = size; i > 0 && now + left[i - 1] / its_speed <= to; --i) left[i - 1] = 0;
    const double way = (to - now) * its_speed;
    for (std::size_t i = 0; i < size; i += lanes)
      for (std::size_t lane = 0; lane < lanes; ++lane) left[i + lane] -= way;
    std::size_t kept = size;
    while (kept > 0 && left[kept - 1] <= 0) --kept;
    return kept;
  }

  /// Moves bytes for `lasts` ps. REQUIRES: no round moves all its bytes.
  void advance(double lasts) {
    for (std::size_t i = 0; i < size; i += lanes)
      for (const std::size_t half : {0, 1})
        put(left, i + 2 * half, pair(left, i + 2 * half) - lasts * pair(speed, i + 2 * half));
  }

  /// Moves bytes for three durations, in the second of them at other speeds. Returns false, and changes nothing, if a
  /// round would have less than `far` left.
  template <class SpeedMeanwhile>
  bool advance_around(double first, double second, double third, const SpeedMeanwhile& speed_meanwhile, double far) {
    double least = forever;
    for (std::size_t i = 0; i < size; ++i) {
      end[i] = left[i] - first * speed[i] - second * speed_meanwhile(i) - third * speed[i];
      least = std::min(least, end[i]);
    }
    for (std::size_t i = size; i < padded(); ++i) end[i] = forever;
    if (least < far) return false;
    left.swap(end);
    return true;
  }

  double least_left() const {
    Pair least[2] = {{forever, forever}, {forever, forever}};
    for (std::size_t i = 0; i < size; i += lanes)
      for (const std::size_t half : {0, 1}) least[half] = lesser(pair(left, i + 2 * half), least[half]);
    return least_of(least);
  }

  /// Removes the rounds that have moved all their bytes. `ended` is called for the index of each.
  template <class Ended>
  void remove_ended(const Ended& ended) {
    std::size_t kept = 0, moved = 0;
    for (std::size_t i = 0; i < size; ++i) {  // without branches
      moved_[moved] = {shape[i], index[i]};
      const bool stays = left[i] > 0;
      left[kept] = left[i];
      shape[kept] = shape[i];
      index[kept] = index[i];
      kept += stays ? 1 : 0;
      moved += stays ? 0 : 1;
    }
    for (std::size_t i = 0; i < moved; ++i) {
      hash -= hash_of(moved_[i].first);
      ended(moved_[i].second);
    }
    fill_up(kept);
  }

  /// Removes all but the first ones.
  void shorten(std::size_t kept) {
    for (std::size_t i = kept; i < size; ++i) hash -= hash_of(shape[i]);
    fill_up(kept);
  }

 private:
  using Pair = double __attribute__((vector_size(16)));
  static Pair lesser(Pair a, Pair b) { return a < b ? a : b; }
  static double least_of(const Pair (&four)[2]) {
    const Pair two = lesser(four[0], four[1]);
    return lesser(two, Pair{two[1], two[0]})[0];
  }
  static Pair pair(const std::vector<double>& from, std::size_t at) {
    Pair two;
    std::memcpy(&two, &from[at], sizeof two);
    return two;
  }
  static void put(std::vector<double>& into, std::size_t at, Pair two) { std::memcpy(&into[at], &two, sizeof two); }

  void fill_up(std::size_t kept) {
    for (; size > kept; --size) {
      left[size - 1] = forever;
      speed[size - 1] = 1;
      shape[size - 1] = no_shape;
    }
  }
  void make_room() {
    if (size < left.size()) return;
    left.resize(size + lanes, forever);
    speed.resize(size + lanes, 1);
    end.resize(size + lanes, forever);
    shape.resize(size + lanes, no_shape);
    index.resize(size + lanes, 0);
    moved_.resize(size + lanes);
  }

  std::vector<std::pair<std::uint32_t, std::uint32_t>> moved_;  // shape and index, while they are removed
};

}  // namespace allreplay
