// The transport over MPI. It is a separate shared library, which mpi_transport() loads on demand, since linking the
// program with MPI would double its start-up time.

#include <mpi.h>

#include "sim/base/farm/transport.hpp"

namespace {

class Mpi : public allreplay::Transport {
 public:
  Mpi() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~Mpi() override { MPI_Finalize(); }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, std::string_view message) override {
    MPI_Send(message.data(), static_cast<int>(message.size()), MPI_BYTE, to, 0, MPI_COMM_WORLD);
  }

  std::pair<int, std::string> receive() override {
    waiting_until(std::chrono::steady_clock::time_point::max());
    int length = 0;
    MPI_Get_count(&next_, MPI_BYTE, &length);
    std::string message(static_cast<std::size_t>(length), '\0');
    MPI_Recv(message.data(), length, MPI_BYTE, next_.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return {next_.MPI_SOURCE, std::move(message)};
  }

  bool waiting() override {
    int there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &next_);
    return there != 0;
  }

 private:
  int rank_ = 0, size_ = 1;
  MPI_Status next_{};
};

}  // namespace

extern "C" allreplay::Transport* allreplay_mpi_transport() { return new Mpi; }
