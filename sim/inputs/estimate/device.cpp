#include "sim/inputs/estimate/device.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

constexpr auto folder = "models/devices";

double above_zero(const Json& json, double most) {
  const double value = json.number();
  if (!(value > 0 && value <= most))
    json.fail(fmt::format("{} is not a valid value", value), fmt::format("above 0, at most {:g}", most));
  return value;
}

Efficiency read_efficiency(const Json& json) {
  json.allow_only({"products", "attention", "source"});
  return {above_zero(json.at("products"), 1), above_zero(json.at("attention"), 1), json.at("source").text()};
}

}  // namespace

std::string in_words(const Efficiency& efficiency) {
  return fmt::format("{},{}", efficiency.products, efficiency.attention);
}

Device parse_device(const Json& json, const std::string& name) {
  json.allow_only({"description", "source", "checked_against", "note", "also", "peak_tflops", "memory", "usable_memory",
                   "memory_bandwidth", "copy", "links", "sms", "efficiency", "power"});
  Device device;
  device.name = name;
  device.description = json.at("description").text();
  json.at("source").text();
  for (const auto key : {"checked_against", "note"})
    if (const auto text = json.find(key)) text->text();
  if (const auto also = json.find("also"))
    for (const Json& one : also->items()) device.also.push_back(one.text());
  const Json peaks = json.at("peak_tflops");
  peaks.allow_only({"fp32", "tf32", "fp16", "bf16", "fp8", "fp4"});
  for (const auto& [precision, value] : peaks.members()) device.peak[precision] = above_zero(value, 1e6) * 1e12;
  if (precisions_of(device).empty()) peaks.fail("gives no peak of fp32, tf32, fp16 or bf16", "at least one of them");
  const auto usable = json.find("usable_memory");
  device.memory = (usable ? *usable : json.at("memory")).size();
  device.bandwidth = json.at("memory_bandwidth").rate();
  if (!(device.bandwidth > 0)) json.at("memory_bandwidth").fail("is zero", "a rate, such as 900 GB/s");
  // A fifth of the memory's bandwidth unless something else was measured: about what PyTorch's kernels reach on an
  // H100.
  constexpr double part = 0.2;
  const auto copy = json.find("copy");
  device.copy = copy ? copy->rate() : part * device.bandwidth;
  if (!(device.copy > 0)) copy->fail("is zero", "a rate, such as 670 GB/s");
  if (const auto links = json.find("links")) {
    links->allow_only({"nvlink", "pcie_generation"});
    if (const auto nvlink = links->find("nvlink")) nvlink->rate();
    if (const auto pcie = links->find("pcie_generation")) pcie->integer(1, 10);
  }
  device.sms = json.at("sms").integer(1, 100'000);
  if (const auto efficiency = json.find("efficiency")) device.efficiency = read_efficiency(*efficiency);
  if (const auto power = json.find("power")) {
    power->allow_only({"watts", "source"});
    device.watts = above_zero(power->at("watts"), 1e5);
    power->at("source").text();
  }
  return device;
}

Device read_device(const Files& files, const std::string& name) {
  const std::string file = files.find_data(folder, name, "device");
  return parse_device(Json::read(files, file), std::filesystem::path(file).stem().string());
}

std::optional<Device> device_called(const Files& files, const std::string& name) {
  std::vector<std::string> all = files.list_data(folder);
  // Reads the likely files first: those whose name begins like a part of the device's.
  std::stable_partition(all.begin(), all.end(), [own = lower_case(name)](const std::string& known) {
    return own.find(known.substr(0, known.find('-'))) != own.npos;
  });
  for (const std::string& known : all) {
    Device device = read_device(files, known);
    if (known == name || std::find(device.also.begin(), device.also.end(), name) != device.also.end()) return device;
  }
  return std::nullopt;
}

std::vector<std::string> precisions_of(const Device& device) {
  std::vector<std::string> known;
  for (const auto precision : {"bf16", "fp16", "tf32", "fp32"})
    if (device.peak.contains(precision)) known.emplace_back(precision);
  return known;
}

std::string usual_precision(const Device& device) {
  const auto known = precisions_of(device);
  return known.front() == "bf16" ? "bf16" : known.back();
}

bool is_narrow(const std::string& precision) { return precision == "fp8" || precision == "fp4"; }

}  // namespace allreplay
