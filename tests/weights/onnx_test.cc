// The ONNX reader: it reverses the exporters' names and layouts, converts integers to floats, and
// rejects everything else by name.

#include "weights/onnx.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/weights/foreign_files.h"
#include "tests/weights/hostile.h"

namespace signalbox::weights {
namespace {

constexpr const char* kOnnxName = "test.onnx";

Result<TensorList> parse_onnx_file(const std::string& file) {
  return parse_onnx(file, kOnnxName);
}

// Returns "F32 [2, 3] 1 3 5 2 4 6" for a tensor of floats, or the type and shape of another.
std::string text_of(const Tensor& tensor) {
  std::string out = fmt::format("{} {}", dtype_name(tensor.dtype), shape_text(tensor.shape));
  for (int64_t i = 0; tensor.dtype == Dtype::kF32 && i < tensor.size(); ++i) {
    float value = 0;
    std::memcpy(&value, tensor.bytes.data() + i * sizeof value, sizeof value);
    out += fmt::format(" {}", value);
  }
  return out;
}

std::map<std::string, std::string> texts_of(const Result<TensorList>& list) {
  std::map<std::string, std::string> out;
  EXPECT_TRUE(list) << list.error().message;
  if (!list) return out;
  for (const Tensor& tensor : list->tensors()) out.emplace(tensor.name, text_of(tensor));
  return out;
}

using Texts = std::map<std::string, std::string>;

const std::string kSix = bytes_of<float>({1, 2, 3, 4, 5, 6});

TEST(Onnx, restores_names_and_layout) {
  EXPECT_EQ(texts_of(parse_onnx_file(small_onnx())),
            (Texts{{"encoder.layer.0.output.dense.bias", "F32 [2] 1 2"},
                   {"encoder.layer.0.output.dense.weight", "F32 [2, 3] 1 3 5 2 4 6"},
                   {"encoder.LayerNorm.weight", "F16 [2]"}}));
}

TEST(Onnx, widens_weights_of_eight_bits) {
  EXPECT_EQ(texts_of(parse_onnx_file(small_quantised_onnx())),
            (Texts{{"encoder.layer.0.output.dense.bias", "F32 [2] 1 2"},
                   {"encoder.layer.0.output.dense.weight", "F32 [2, 3] 0 1 2 0.5 1.5 -3.5"},
                   {"embeddings.weight", "F32 [2, 2] -32 0 0.25 31.75"}}));
}

TEST(Onnx, widens_with_a_scale_a_column) {
  const std::string file =
      onnx_model({onnx_node("DequantizeLinear", "", {"w_quantized", "s", "z"}, "w",
                            {onnx_integer_attribute("axis", -1)}),
                  onnx_node("MatMul", "/dense/MatMul", {"x", "w"}, "y")},
                 {onnx_tensor("w_quantized", 3, {2, 2}, bytes_of<int8_t>({1, 2, 3, 4})),
                  onnx_tensor("s", 1, {2}, bytes_of<float>({1, 10})),
                  onnx_tensor("z", 3, {2}, bytes_of<int8_t>({0, 1}))});
  EXPECT_EQ(texts_of(parse_onnx_file(file))["dense.weight"], "F32 [2, 2] 1 3 10 30");
}

TEST(Onnx, reads_a_weight_the_way_its_node_uses_it) {
  const auto named = onnx_tensor("a.weight", 1, {3, 2}, kSix);
  const auto unnamed = onnx_tensor("onnx::X_1", 1, {3, 2}, kSix);
  const std::string as_is = "F32 [3, 2] 1 2 3 4 5 6", turned = "F32 [2, 3] 1 3 5 2 4 6";
  const auto one = [](const std::vector<std::string>& nodes, const std::string& tensor) {
    return texts_of(parse_onnx_file(onnx_model(nodes, {tensor})));
  };
  // A transpose in the graph is the module's own; without one it was folded into the weight.
  EXPECT_EQ(one({onnx_node("Transpose", "", {"a.weight"}, "t"),
                 onnx_node("MatMul", "/a/MatMul", {"x", "t"}, "y")},
                named),
            (Texts{{"a.weight", as_is}}));
  EXPECT_EQ(one({onnx_node("MatMul", "/b/MatMul", {"x", "a.weight"}, "y")}, named),
            (Texts{{"a.weight", turned}}));
  EXPECT_EQ(one({onnx_node("Gemm", "/b/c/Gemm", {"x", "onnx::X_1"}, "y",
                           {onnx_integer_attribute("transB", 1)})},
                unnamed),
            (Texts{{"b.c.weight", as_is}}));
  EXPECT_EQ(one({onnx_node("Gemm", "/b/c/Gemm", {"x", "onnx::X_1"}, "y")}, unnamed),
            (Texts{{"b.c.weight", turned}}));
  // A product that occurs twice gives one weight.
  EXPECT_EQ(one({onnx_node("MatMul", "/b/MatMul", {"x", "onnx::X_1"}, "y"),
                 onnx_node("MatMul", "/b/MatMul_1", {"y", "onnx::X_1"}, "z")},
                unnamed),
            (Texts{{"b.weight", turned}}));
  // Exporters number the uses of a layer, as DeBERTa uses its own for contents and distances.
  EXPECT_EQ(one({onnx_node("MatMul", "/b/query/MatMul", {"x", "onnx::X_1"}, "y"),
                 onnx_node("MatMul", "/b/query_1/MatMul", {"z", "onnx::X_1"}, "w")},
                unnamed),
            (Texts{{"b.query.weight", turned}}));
}

TEST(Onnx, knows_equal_parameters_that_are_stored_once) {
  EXPECT_EQ(texts_of(parse_onnx_file(onnx_model(
                {onnx_node("Identity", "Identity_0", {"a.LayerNorm.bias"}, "b.LayerNorm.bias")},
                {onnx_tensor("a.LayerNorm.bias", 1, {1}, bytes_of<float>({3}))}))),
            (Texts{{"a.LayerNorm.bias", "F32 [1] 3"}, {"b.LayerNorm.bias", "F32 [1] 3"}}));
}

TEST(Onnx, reads_numbers_in_lists) {
  const std::string packed = ProtobufWriter()
                                 .varint(1, 2)
                                 .varint(2, 1)
                                 .bytes(8, "a.b")
                                 .bytes(4, bytes_of<float>({1.5f, 2}))
                                 .text();
  const std::string single =
      ProtobufWriter().varint(1, 1).varint(2, 1).bytes(8, "a.c").float32(4, 2.5f).text();
  const std::string halves =
      ProtobufWriter().varint(1, 1).varint(2, 10).bytes(8, "a.d").varint(5, 0x3C00).text();
  const std::string integers = ProtobufWriter()
                                   .bytes(1, "\x02")
                                   .varint(2, 7)
                                   .bytes(8, "a.e")
                                   .bytes(7, "\x05\xAC\x02")
                                   .text();
  EXPECT_EQ(texts_of(parse_onnx_file(onnx_model({}, {packed, single, halves, integers}))),
            (Texts{{"a.b", "F32 [2] 1.5 2"},
                   {"a.c", "F32 [1] 2.5"},
                   {"a.d", "F16 [1]"},
                   {"a.e", "I64 [2]"}}));
}

TEST(Onnx, notes_what_it_leaves_out) {
  const auto list =
      parse_onnx_file(onnx_model({}, {onnx_tensor("onnx::Mul_1", 1, {6}, kSix),
                                      onnx_tensor("onnx::Div_2", 1, {}, bytes_of<float>({8}))}));
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->size(), 0u);
  EXPECT_EQ(list->notes(),
            std::vector<std::string>{
                "left out \"onnx::Mul_1\", F32 [6]: a constant without a parameter's name"});
}

// A TensorProto with its bytes in another file.
std::string external_tensor(const std::string& location, const std::string& offset) {
  const auto entry = [](const char* key, const std::string& value) {
    return ProtobufWriter().bytes(1, key).bytes(2, value).text();
  };
  return ProtobufWriter()
      .varint(1, 6)
      .varint(2, 1)
      .bytes(8, "a.bias")
      .bytes(13, entry("location", location))
      .bytes(13, entry("offset", offset))
      .varint(14, 1)
      .text();
}

TEST(Onnx, reads_weights_beside_the_file_and_nowhere_else) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("signalbox-onnx-{}", ::getpid());
  fs::create_directories(folder);
  std::ofstream(folder / "model.onnx_data", std::ios::binary) << "1234" << kSix;
  const auto open = [&](const std::string& location, const std::string& offset) {
    std::ofstream(folder / kOnnxName, std::ios::binary)
        << onnx_model({}, {external_tensor(location, offset)});
    return open_onnx(folder / kOnnxName);
  };
  EXPECT_EQ(texts_of(open("model.onnx_data", "4"))["a.bias"], "F32 [6] 1 2 3 4 5 6");
  const std::string place = (folder / kOnnxName).string() + ": tensor \"a.bias\": external_data: ";
  EXPECT_EQ(open("model.onnx_data", "5").error().message,
            place + "24 bytes from 5 on, \"model.onnx_data\" has 28");
  EXPECT_EQ(open("model.onnx_data", "18446744073709551615").error().message,
            place + "24 bytes from 18446744073709551615 on, \"model.onnx_data\" has 28");
  EXPECT_EQ(open("../model.onnx_data", "0").error().message,
            place + "\"../model.onnx_data\" is not a plain file name");
  EXPECT_EQ(open("none", "0").error().code, Code::kNotFound);
  fs::remove_all(folder);
  EXPECT_EQ(parse_onnx_file(onnx_model({}, {external_tensor("x", "0")})).error().message,
            "test.onnx: tensor \"a.bias\": is in another file, which is not read");
}

TEST(Onnx, refuses_files_cut_at_every_byte) {
  expect_cut_files_fail(small_onnx(), kOnnxName, parse_onnx_file);
  expect_cut_files_fail(small_quantised_onnx(), kOnnxName, parse_onnx_file);
}

TEST(Onnx, names_the_wrong_value_of_an_inconsistent_file) {
  const auto tensor = [](const std::string& message) { return onnx_model({}, {message}); };
  const auto f32 = [&](const std::vector<int64_t>& dims) {
    return tensor(onnx_tensor("a.b", 1, dims, kSix));
  };
  const auto product = [](const std::string& op, const std::string& name, const std::string& w) {
    return onnx_model({onnx_node(op, name, {"x", w}, "y")},
                      {onnx_tensor(w, 1, {3, 2}, kSix),
                       onnx_tensor("onnx::I_1_scale", 1, {2}, bytes_of<float>({1, 2}))});
  };
  std::vector<std::string> identities;
  for (int i = 0; i < 8; ++i) {
    identities.push_back(onnx_node("Identity", "", {"a.b"}, fmt::format("a.c{}", i)));
  }
  const std::string listed =
      ProtobufWriter().varint(1, 1).varint(2, 1).bytes(8, "a.b").float32(4, 2.5f).text();
  const std::string graph = ProtobufWriter().bytes(7, "").text();
  const std::string sparse = ProtobufWriter().bytes(15, "").text();
  const std::string inner = ProtobufWriter().bytes(1, "then_branch").bytes(6, "").text();
  expect_messages(
      {{"", "no graph"},
       {graph + graph, "two graphs"},
       {ProtobufWriter().bytes(7, sparse).text(), "a sparse initializer is not supported"},
       {ProtobufWriter().varint(7, 1).text(), "field 7: expected a string, found a varint"},
       {f32({7}), "tensor \"a.b\": F32 of shape [7] takes 28 bytes, found 24"},
       {f32({-6}), "tensor \"a.b\": shape: expected at least 0, found -6"},
       {f32({INT64_MAX, 2}),
        "tensor \"a.b\": shape [9223372036854775807, 2] has more elements than fit"},
       {f32({1, 1, 1, 1, 1, 1, 1, 1, 6}), "tensor \"a.b\": shape: more than 8 dimensions"},
       {tensor(onnx_tensor("a.b", 8, {1}, "")), "tensor \"a.b\": data_type 8 is not supported"},
       {tensor(onnx_tensor("a.b", 17, {1}, "1")), "tensor \"a.b\": data_type 17 is not supported"},
       {tensor(ProtobufWriter().varint(1, 1).varint(2, 11).bytes(8, "a.b").text()),
        "tensor \"a.b\": double_data is not supported"},
       {tensor(ProtobufWriter().varint(1, 1).varint(2, 1).varint(5, 1).bytes(8, "a.b").text()),
        "tensor \"a.b\": F32, and numbers of another type"},
       {tensor(ProtobufWriter().varint(1, 1).varint(2, 7).bytes(7, "\x80").bytes(8, "a.b").text()),
        "tensor \"a.b\": an unterminated varint"},
       {tensor(
            ProtobufWriter().varint(1, 1).varint(2, 7).bytes(7, "\x01\x01").bytes(8, "a.b").text()),
        "tensor \"a.b\": more than the maximum of 1 numbers"},
       {onnx_model({}, {onnx_tensor("a.b", 1, {6}, kSix), onnx_tensor("a.b", 1, {6}, kSix)}),
        "constant \"a.b\" appears twice"},
       {onnx_model({}, {onnx_tensor("a.\x1b", 1, {6}, kSix)}),
        "a tensor's name has the byte 0x1b at 2"},
       {onnx_model({onnx_node("If", "if_1", {"c"}, "y", {inner})}, {}),
        "node \"if_1\": attribute \"then_branch\": a graph in a graph is not supported"},
       {product("MatMul", "MatMul_1", "onnx::I_1"),
        "constant \"onnx::I_1\", used by node \"MatMul_1\" (MatMul): neither name identifies "
        "the weight"},
       {product("Attention", "a/Attention", "w"),
        "node \"a/Attention\": weights of Attention are not supported: export the model without "
        "optimisation, as floating point or in eight bits"},
       {product("MatMulInteger", "/a/MatMul", "onnx::I_2_quantized"),
        "constant \"onnx::I_2_quantized\": its scale \"onnx::I_2_scale\" is missing"},
       {product("MatMulInteger", "/a/MatMul", "onnx::I_1_quantized"),
        "constant \"onnx::I_1_quantized\": F32 with a scale of F32 is not supported"},
       {onnx_model({onnx_node("DequantizeLinear", "", {"q", "s"}, "w"),
                    onnx_node("MatMul", "/a/MatMul", {"x", "w"}, "y")},
                   {onnx_tensor("q", 3, {1, 3}, "123"),
                    onnx_tensor("s", 1, {2}, bytes_of<float>({1, 2}))}),
        "constant \"q\": 2 scales along axis 1 of [1, 3] are not supported"},
       {onnx_model({onnx_node("MatMul", "/a/MatMul", {"x", "w"}, "y"),
                    onnx_node("MatMul", "/b/MatMul", {"x", "w"}, "z")},
                   {onnx_tensor("w", 1, {3, 2}, kSix)}),
        "constant \"w\" is both \"a.weight\" and \"b.weight\", which is not supported"},
       {onnx_model(identities, {listed}), "with \"a.b\", copies of constants take 36 bytes of 4"},
       {onnx_model({onnx_node("MatMul", "/a/MatMul", {"x", "v"}, "y"),
                    onnx_node("MatMul", "/a/MatMul", {"x", "w"}, "z")},
                   {onnx_tensor("v", 1, {3, 2}, kSix), onnx_tensor("w", 1, {3, 2}, kSix)}),
        "tensor \"a.weight\" appears twice"}},
      kOnnxName, parse_onnx_file);
}

}  // namespace
}  // namespace signalbox::weights
