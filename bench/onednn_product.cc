// The weights are packed once, in the layout that oneDNN chooses for the shape (format_tag::any).

#include "bench/onednn_product.h"

#include <dnnl.hpp>
#include <vector>

namespace signalbox::bench {

using dnnl::memory;

struct OneDnnProduct::Impl {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::matmul::primitive_desc description;
  dnnl::matmul product;
  memory q, sums;
  std::vector<memory> packed;  // (matrices)
};

OneDnnProduct::OneDnnProduct(int32_t rows, int32_t in, int32_t out, int32_t matrices, int8_t* w)
    : impl_(std::make_unique<Impl>()) {
  using Tag = memory::format_tag;
  using Type = memory::data_type;
  const memory::desc q({rows, in}, Type::u8, Tag::ab), sums({rows, out}, Type::s32, Tag::ab);
  const memory::desc any({in, out}, Type::s8, Tag::any), plain({in, out}, Type::s8, Tag::ba);
  impl_->description = {{q, any, sums}, impl_->engine};
  impl_->product = dnnl::matmul(impl_->description);
  impl_->q = memory(q, impl_->engine, DNNL_MEMORY_NONE);
  impl_->sums = memory(sums, impl_->engine, DNNL_MEMORY_NONE);
  memory from(plain, impl_->engine, w);
  for (int32_t i = 0; i < matrices; ++i) {
    impl_->packed.emplace_back(impl_->description.weights_desc(), impl_->engine);
    dnnl::reorder(from, impl_->packed.back()).execute(impl_->stream, from, impl_->packed.back());
  }
  impl_->stream.wait();
}

OneDnnProduct::~OneDnnProduct() = default;

void OneDnnProduct::multiply(int32_t matrix, uint8_t* q, int32_t* sums) const {
  impl_->q.set_data_handle(q);
  impl_->sums.set_data_handle(sums);
  impl_->product.execute(impl_->stream, {{DNNL_ARG_SRC, impl_->q},
                                         {DNNL_ARG_WEIGHTS, impl_->packed[matrix]},
                                         {DNNL_ARG_DST, impl_->sums}});
  impl_->stream.wait();
}

std::string OneDnnProduct::implementation() const {
  return impl_->description.impl_info_str();
}

}  // namespace signalbox::bench
