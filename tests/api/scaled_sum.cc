// A foreign function for tests: scale * x + shift, and what it had to say about its attributes.
#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error ScaledSum(float scale, int64_t shift, ffi::Span<const int32_t> extra,
                            ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  if (scale == 0.0f) return ffi::Error::InvalidArgument("scale is zero");
  float more = 0.0f;
  for (int32_t one : extra) more += static_cast<float>(one);
  for (size_t i = 0; i < x.element_count(); ++i) {
    y->typed_data()[i] = scale * x.typed_data()[i] + static_cast<float>(shift) + more;
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(scaled_sum, ScaledSum,
                              ffi::Ffi::Bind()
                                  .Attr<float>("scale")
                                  .Attr<int64_t>("shift")
                                  .Attr<ffi::Span<const int32_t>>("extra")
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

static ffi::Error FirstColumn(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 0; i < y->element_count(); ++i) y->typed_data()[i] = x.typed_data()[i];
  return ffi::Error::Success();
}

// The first elements of the buffer as they lie in memory: which they are depends on the layout.
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    first_in_memory, FirstColumn,
    ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
