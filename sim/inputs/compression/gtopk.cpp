#include "sim/inputs/compression/gtopk.hpp"

namespace allreplay {

GlobalTopK gtopk_allreduce(std::vector<Sparse> local, std::size_t k) {
  GlobalTopK all;
  all.dropped.resize(local.size());
  for (std::size_t step = 1; step < local.size(); step *= 2)
    for (std::size_t receiver = 0; receiver < local.size(); receiver += 2 * step) {
      Selection selection = select(sum(local[receiver], local[receiver + step]), k);
      local[receiver] = std::move(selection.kept);
      all.dropped[receiver] = sum(all.dropped[receiver], selection.dropped);
    }
  all.result = std::move(local.front());
  return all;
}

Sparse put_back(Residuals residuals, const Sparse& local, const GlobalTopK& exchanged, std::size_t rank) {
  return residuals == Residuals::AsPrinted ? masked(local, exchanged.result, false) : exchanged.dropped[rank];
}

}  // namespace allreplay
