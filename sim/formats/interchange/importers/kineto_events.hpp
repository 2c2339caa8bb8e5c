// Reads a PyTorch profiler (Kineto) Chrome trace as a stream, and keeps only what the attribution of kernels to layers
// needs: a few dozen bytes per operator and kernel.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/formats/interchange/importers/byte_source.hpp"

namespace allreplay {

/// Numbers distinct texts, so that each is stored once.
class Strings {
 public:
  std::uint32_t number(const std::string& text);
  const std::string& text(std::uint32_t number) const { return *texts_[number]; }
  std::size_t bytes() const { return bytes_; }  ///< total length of the texts

 private:
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> texts_;
  std::size_t bytes_ = 0;
};

/// A span on a CPU thread: an operator, an annotation (record_function) or a module. Times in nanoseconds.
struct KinetoSpan {
  enum class Kind : std::uint8_t { CpuOperator, Annotation, Module };
  enum class Element : std::uint8_t { Unknown, Float, Half, BFloat16, Other };

  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint32_t name = 0;
  std::uint32_t dims = 0;      ///< the shapes of the inputs: "32x3x224x224;64x3x7x7;"
  std::uint32_t external = 0;  ///< the id by which its kernels refer to it; 0: none
  std::int32_t sequence = -1;  ///< number of the autograd node that a forward operator creates next, or a backward runs
  std::uint16_t thread = 0;
  Kind kind = Kind::CpuOperator;
  Element element = Element::Unknown;  ///< of the first input
  bool backward = false;               ///< it runs an autograd node
};

/// The names of a type of elements: in an operator's "Input type", in a collective's "dtype", and as a precision.
struct ElementRow {
  KinetoSpan::Element value;
  std::string_view input, message, precision;
};
inline constexpr ElementRow element_rows[] = {{KinetoSpan::Element::Float, "float", "Float", "fp32"},
                                              {KinetoSpan::Element::Half, "c10::Half", "Half", "fp16"},
                                              {KinetoSpan::Element::BFloat16, "c10::BFloat16", "BFloat16", "bf16"},
                                              {KinetoSpan::Element::Unknown, "", "", "fp32"}};
/// Returns the row of unknown types for a type without one.
const ElementRow& row_of(KinetoSpan::Element element);

/// The operator that stores a gradient, whose input it is.
inline constexpr std::string_view accumulation_name = "torch::autograd::AccumulateGrad";

/// A kernel, copy or memset on the GPU. Times in nanoseconds.
struct KinetoKernel {
  std::int64_t start = 0;
  std::int64_t duration = 0;
  std::uint32_t external = 0;
  std::uint32_t correlation = 0;
  std::uint32_t work = 0;      ///< hash of its name and launch size; 0 if the trace has no launch size
  bool communication = false;  ///< an NCCL kernel
  enum class Carries : std::uint8_t { Other, Gather, ReduceScatter, AllReduce };
  Carries carries = Carries::Other;  ///< by the name of an NCCL kernel
  std::uint16_t stream = 0;
};

/// The arguments of a communication kernel, in traces since PyTorch 2.2.
struct KinetoMessage {
  std::string collective;        ///< "allreduce", "_allgather_base"
  std::string type;              ///< "Float", "BFloat16"
  std::int64_t in = 0, out = 0;  ///< elements on one rank, before and after
  std::int64_t workers = 0;      ///< size of its process group
  std::uint32_t group = 0,
                ranks = 0;  ///< KinetoTrace::names: of its process group, and its ranks as "0,1"; both may be ""
};

/// A call of the CUDA runtime: where and when a kernel was launched.
struct KinetoLaunch {
  std::int64_t start = 0;
  std::uint32_t correlation = 0;
  std::uint16_t thread = 0;
};

struct KinetoTrace {
  std::string file;
  Strings names, dims, threads;
  std::deque<KinetoSpan> spans;
  std::deque<KinetoKernel> kernels;
  std::deque<KinetoLaunch> launches;
  std::map<std::int64_t, std::string> devices;    ///< name by number
  std::map<std::int64_t, std::int64_t> used_by;   ///< kernels by number of the device
  std::map<std::size_t, KinetoMessage> messages;  ///< by number of the kernel
  std::int64_t rank = -1;                         ///< in the job; -1: unknown
  std::int64_t workers = -1;                      ///< ranks of the job; -1: unknown
  std::int64_t events = 0;
  std::int64_t partial_kernels = 0, partial_operators = 0;  ///< of a phase other than "X"; left out
  std::string unknown_type;                                 ///< the first of a gradient without a row; "": none
};

/// Reads names of kernels ("ncclDevKernel_AllGather_RING_LL"), of c10d and gloo ("_allgather_base",
/// "gloo:reduce_scatter").
KinetoKernel::Carries carried_by(std::string_view name);

/// Throws InputError if the file is not JSON, or a time is negative, not a number, or longer than an hour.
KinetoTrace read_kineto_events(ByteSource& source);

}  // namespace allreplay
