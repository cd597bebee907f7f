#pragma once
// The product of bytes by oneDNN, as the peer of ours in bench/kernels_bench.

#include <cstdint>
#include <memory>
#include <string>

namespace signalbox::bench {

/// Products of one shape with several matrices, on one thread.
class OneDnnProduct {
 public:
  /// w (out, in), the values of every matrix.
  OneDnnProduct(int32_t rows, int32_t in, int32_t out, int32_t matrices, int8_t* w);
  ~OneDnnProduct();

  /// sums (rows, out) = q (rows, in) w^T with the matrix of that number.
  void multiply(int32_t matrix, uint8_t* q, int32_t* sums) const;

  /// Returns the name of oneDNN's implementation, such as "brg:avx512_core_vnni".
  std::string implementation() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::bench
