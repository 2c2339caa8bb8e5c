#include "sim/inputs/compression/exchange.hpp"

#include <cmath>

namespace allreplay {

double traffic(Aggregation aggregation, std::int64_t workers, std::size_t bytes) {
  const double p = static_cast<double>(workers), m = static_cast<double>(bytes);
  switch (aggregation) {
    case Aggregation::AllReduce:
      return 2 * (p - 1) / p * m;
    case Aggregation::AllGather:
      return (p - 1) * m;
    case Aggregation::GTopKTree:
      break;
  }
  return std::log2(p) * m;
}

Exchange::Exchange(const CompressorKind& kind, const CompressionOptions& options, std::int64_t workers,
                   std::size_t elements, Residuals residuals)
    : kind_(kind), elements_(elements), residuals_(residuals) {
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    compressors_.push_back(kind.make(options, static_cast<std::uint64_t>(worker)));
    if (kind.error_feedback) feedback_.emplace_back(elements);
  }
}

std::vector<float> Exchange::step(std::span<const std::vector<float>> gradients) {
  std::vector<EncodedPayload> payloads;
  for (std::size_t worker = 0; worker < compressors_.size(); ++worker)
    payloads.push_back(kind_.error_feedback ? feedback_[worker].encode(*compressors_[worker], gradients[worker])
                                            : compressors_[worker]->encode(gradients[worker]));
  payload_bytes_ = payloads.front().size();
  std::vector<float> mean = kind_.aggregation == Aggregation::AllReduce   ? all_reduce(payloads)
                            : kind_.aggregation == Aggregation::GTopKTree ? gtopk(payloads)
                                                                          : all_gather(payloads);
  for (float& value : mean) value /= static_cast<float>(compressors_.size());
  return mean;
}

// Adds in the order of the ranks and encodes each partial sum, as a ring does with the piece that starts at rank 0.
std::vector<float> Exchange::all_reduce(std::span<const EncodedPayload> payloads) {
  std::vector<float> total(elements_), one(elements_);
  compressors_[0]->decode(payloads[0], total);
  for (std::size_t worker = 1; worker < payloads.size(); ++worker) {
    compressors_[worker]->decode(payloads[worker], one);
    for (std::size_t i = 0; i < elements_; ++i) total[i] += one[i];
    compressors_[worker]->decode(compressors_[worker]->encode(total), total);
  }
  return total;
}

std::vector<float> Exchange::all_gather(std::span<const EncodedPayload> payloads) const {
  std::vector<float> total(elements_), one(elements_);
  for (std::size_t worker = 0; worker < payloads.size(); ++worker) {
    compressors_[worker]->decode(payloads[worker], one);
    for (std::size_t i = 0; i < elements_; ++i) total[i] += one[i];
  }
  return total;
}

std::vector<float> Exchange::gtopk(std::span<const EncodedPayload> payloads) {
  std::vector<Sparse> local;
  for (const EncodedPayload& payload : payloads) local.push_back(read_sparse(payload));
  const GlobalTopK exchanged = gtopk_allreduce(local, local.front().size());
  for (std::size_t worker = 0; worker < local.size(); ++worker)
    add(put_back(residuals_, local[worker], exchanged, worker), feedback_[worker].residual());
  std::vector<float> total(elements_);
  add(exchanged.result, total);
  return total;
}

std::vector<double> Exchange::owed() {
  std::vector<double> owed(elements_);
  for (ErrorFeedback& worker : feedback_)
    for (std::size_t i = 0; i < elements_; ++i) owed[i] += double{worker.residual()[i]};
  return owed;
}

}  // namespace allreplay
