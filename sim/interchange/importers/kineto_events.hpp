// A PyTorch profiler (Kineto) Chrome trace, read as a stream into what the attribution of kernels needs: a few dozen
// bytes per operator and kernel, whatever else the file says.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "sim/interchange/importers/byte_source.hpp"

namespace allreplay {

/// Names by number.
class Strings {
 public:
  std::uint32_t number(const std::string& text);
  const std::string& text(std::uint32_t number) const { return *texts_[number]; }
  std::size_t bytes() const { return bytes_; }  ///< of all of them

 private:
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> texts_;
  std::size_t bytes_ = 0;
};

/// A span on a CPU thread: an operator, an annotation (record_function) or a module. Nanoseconds.
struct KinetoSpan {
  enum class Kind : std::uint8_t { Operator, Annotation, Module };
  enum class Element : std::uint8_t { Unknown, Float, Half, BFloat16, Other };

  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint32_t name = 0;
  std::uint32_t dims = 0;      ///< the shapes of the inputs: "32x3x224x224;64x3x7x7;"
  std::uint32_t external = 0;  ///< the id that its kernels carry; 0: none
  std::int32_t sequence = -1;  ///< autograd's number of the node that a forward operator makes next, or a backward runs
  std::uint16_t thread = 0;
  Kind kind = Kind::Operator;
  Element element = Element::Unknown;  ///< of the first input
  bool backward = false;               ///< it runs an autograd node
};

/// What the GPU did: a kernel, a copy, a memset. Nanoseconds.
struct KinetoKernel {
  std::int64_t start = 0;
  std::int64_t duration = 0;
  std::uint32_t external = 0;
  std::uint32_t correlation = 0;
  std::uint32_t work = 0;  ///< a hash of its name and of the size of its launch; 0 where the trace does not say that
  bool communication = false;  ///< NCCL
};

/// What a kernel of communication says of itself, in traces since PyTorch 2.2.
struct KinetoMessage {
  std::string collective;        ///< "allreduce", "_allgather_base"
  std::string type;              ///< "Float", "BFloat16"
  std::int64_t in = 0, out = 0;  ///< elements on one rank, before and after
  std::int64_t workers = 0;      ///< of its process group
};

/// A call of the CUDA runtime: where and when a kernel was launched.
struct KinetoLaunch {
  std::int64_t start = 0;
  std::uint32_t correlation = 0;
  std::uint16_t thread = 0;
};

struct KinetoTrace {
  Strings names, dims, threads;
  std::deque<KinetoSpan> spans;
  std::deque<KinetoKernel> kernels;
  std::deque<KinetoLaunch> launches;
  std::map<std::int64_t, std::string> devices;    ///< name by number
  std::map<std::int64_t, std::int64_t> used_by;   ///< kernels by number of the device
  std::map<std::size_t, KinetoMessage> messages;  ///< by number of the kernel
  std::int64_t rank = -1;                         ///< of the job, and how many there are; -1: the trace does not say
  std::int64_t workers = -1;
  std::int64_t events = 0;
};

/// Throws InputError where the file is not JSON, or a time is negative, not a number, or over an hour.
KinetoTrace read_kineto_events(ByteSource& source);

}  // namespace allreplay
