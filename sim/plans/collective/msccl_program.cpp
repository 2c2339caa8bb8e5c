#include "sim/plans/collective/msccl_program.hpp"

#include <algorithm>
#include <limits>
#include <pugixml.hpp>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/core/name.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/units.hpp"
#include "sim/plans/collective/file_schedule.hpp"

namespace allreplay {

namespace {

constexpr MscclStepKind step_kinds[] = {
    {"s", false, false, false, true},   {"r", true, false, true, false},  {"rcs", true, false, true, true},
    {"rrs", true, true, false, true},   {"rrc", true, true, true, false}, {"rrcs", true, true, true, true},
    {"cpy", false, false, true, false}, {"re", false, true, true, false}, {"nop", false, false, false, false}};

constexpr Word<CollectiveOp> msccl_collectives[] = {{CollectiveOp::AllReduce, "allreduce"},
                                                    {CollectiveOp::AllGather, "allgather"},
                                                    {CollectiveOp::ReduceScatter, "reduce_scatter"},
                                                    {CollectiveOp::AllToAll, "alltoall"},
                                                    {CollectiveOp::Broadcast, "broadcast"}};

constexpr std::int64_t most_blocks = 1024, most_scratch = 1 << 20;

class XmlReader {
 public:
  XmlReader(std::string_view text, std::string file) : file_(std::move(file)) {
    for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1)) line_ends_.push_back(at);
    const pugi::xml_parse_result result = document_.load_buffer(text.data(), text.size());
    if (!result)
      throw InputError(place_at(result.offset), fmt::format("is not XML: {}", result.description()),
                       "an algorithm of MSCCL");
  }

  MscclProgram program() {
    const pugi::xml_node root = document_.document_element();
    if (std::string_view(root.name()) != "algo")
      throw InputError(place(root), fmt::format("begins with <{}>", root.name()), "<algo>");
    MscclProgram program{.place = {file_, ""}};
    program.name = as_name(text(root, "name"));
    program.operation =
        choose_by_name(msccl_collectives, text(root, "coll"), place(root), "no rounds can be read of coll '{}'").value;
    program.ranks = static_cast<Rank>(number(root, "ngpus", 2, most_file_ranks));
    program.chunks = number(root, "nchunksperloop", 1, most_file_chunks);
    program.in_place = root.attribute("inplace").empty() || number(root, "inplace", 0, 1) == 1;
    const bool by_rank = program.operation != CollectiveOp::AllReduce && program.operation != CollectiveOp::Broadcast;
    if (by_rank && program.chunks % program.ranks != 0)
      throw InputError(place(root),
                       fmt::format("{} chunks cannot be divided among {} GPUs", program.chunks, program.ranks),
                       "a multiple in nchunksperloop");
    std::int64_t scratch = 0;
    for (const pugi::xml_node gpu : children(root, "gpu"))
      if (!gpu.attribute("s_chunks").empty()) scratch = std::max(scratch, number(gpu, "s_chunks", 0, most_scratch));
    first_scratch_ = program.chunks * (program.in_place ? 1 : 2);
    program.cells = first_scratch_ + scratch;
    program.blocks.resize(program.ranks);
    std::set<std::int64_t> seen;
    for (const pugi::xml_node gpu : children(root, "gpu")) {
      const std::int64_t id = number(gpu, "id", 0, program.ranks - 1);
      if (!seen.insert(id).second) throw InputError(place(gpu), fmt::format("gpu {} appears twice", id), "once");
      read_gpu(gpu, static_cast<Rank>(id), program);
    }
    if (std::ssize(seen) != program.ranks)
      throw InputError(place(root), fmt::format("has {} of its {} GPUs", seen.size(), program.ranks), "all of them");
    return program;
  }

 private:
  void read_gpu(pugi::xml_node gpu, Rank rank, MscclProgram& program) {
    std::vector<MscclBlock>& blocks = program.blocks[rank];
    std::set<std::tuple<bool, std::int64_t, std::int64_t>> connections;
    for (const pugi::xml_node node : children(gpu, "tb")) {
      if (number(node, "id", 0, most_blocks - 1) != std::ssize(blocks))
        throw InputError(place(node), "is not the next threadblock", fmt::format("id=\"{}\"", blocks.size()));
      MscclBlock block;
      block.to = number(node, "send", -1, program.ranks - 1);
      block.from = number(node, "recv", -1, program.ranks - 1);
      block.channel = number(node, "chan", 0, most_blocks);
      if (block.to == rank || block.from == rank)
        throw InputError(place(node), "exchanges chunks with its own GPU", "another GPU, or -1");
      for (const auto& [peer, sends] : {std::pair(block.to, true), std::pair(block.from, false)})
        if (peer >= 0 && !connections.emplace(sends, peer, block.channel).second)
          throw InputError(place(node),
                           fmt::format("uses GPU {} on channel {} as another threadblock does", peer, block.channel),
                           "one threadblock for each connection");
      for (const pugi::xml_node step : children(node, "step"))
        block.steps.push_back(read_step(step, rank, block, program));
      blocks.push_back(std::move(block));
    }
    for (const MscclBlock& block : blocks)
      for (const MscclStep& step : block.steps)
        if (step.other_block >= 0 &&
            (step.other_block >= std::ssize(blocks) || step.other_step >= std::ssize(blocks[step.other_block].steps)))
          throw InputError(step.place,
                           fmt::format("waits for step {} of threadblock {}, which does not exist", step.other_step,
                                       step.other_block),
                           "depid and deps of a step of the same GPU");
  }

  MscclStep read_step(pugi::xml_node node, Rank rank, const MscclBlock& block, const MscclProgram& program) {
    MscclStep step{.place = place(node)};
    step.kind = &choose_by_name(step_kinds, text(node, "type"), step.place, "no rounds can be read of steps '{}'");
    if (number(node, "s", 0, std::numeric_limits<std::int32_t>::max()) != std::ssize(block.steps))
      throw InputError(step.place, "is not the next step", fmt::format("s=\"{}\"", block.steps.size()));
    if ((step.kind->sends && block.to < 0) || (step.kind->receives && block.from < 0))
      throw InputError(step.place, fmt::format("'{}' has no GPU to exchange with", step.kind->name),
                       "send and recv in its threadblock");
    if (!node.attribute("depid").empty()) step.other_block = number(node, "depid", -1, most_blocks - 1);
    if (step.other_block >= 0) step.other_step = number(node, "deps", 0, std::numeric_limits<std::int32_t>::max());
    step.count = number(node, "cnt", step.kind->reads_source() || step.kind->stores ? 1 : 0, most_file_chunks);
    if (step.kind->reads_source()) step.source = cells(node, "src", rank, step.count, program);
    if (step.kind->stores) step.target = cells(node, "dst", rank, step.count, program);
    return step;
  }

  // The first cell of "srcbuf" and "srcoff", or "dstbuf" and "dstoff".
  std::int64_t cells(pugi::xml_node node, const std::string& end, Rank rank, std::int64_t count,
                     const MscclProgram& program) {
    const std::string_view buffer = text(node, end + "buf");
    const std::int64_t first = number(node, end + "off", 0, most_file_chunks);
    const std::int64_t size = buffer == "i"   ? program.input_chunks()
                              : buffer == "o" ? program.output_chunks()
                              : buffer == "s" ? program.cells - first_scratch_
                                              : -1;
    if (size < 0) throw InputError(place(node), fmt::format("there is no buffer '{}'", buffer), "i, o or s");
    if (first + count > size)
      throw InputError(place(node),
                       fmt::format("chunks {} to {} are not in buffer {}", first, first + count - 1, buffer),
                       fmt::format("below {}", size));
    if (buffer == "s") return first_scratch_ + first;
    return buffer == "i" ? program.input_cell(rank, first) : program.output_cell(rank, first);
  }

  std::vector<pugi::xml_node> children(pugi::xml_node node, std::string_view name) const {
    std::vector<pugi::xml_node> all;
    for (const pugi::xml_node child : node.children()) {
      if (child.name() != name)
        throw InputError(place(child), fmt::format("<{}> is not known in <{}>", child.name(), node.name()),
                         fmt::format("<{}>, as msccl-tools write it", name));
      all.push_back(child);
    }
    if (all.empty() && name != "step")
      throw InputError(place(node), fmt::format("<{}> has no <{}>", node.name(), name), "at least one");
    return all;
  }

  std::string_view text(pugi::xml_node node, const std::string& name) const {
    const pugi::xml_attribute attribute = node.attribute(name.c_str());
    if (attribute.empty())
      throw InputError(place(node), fmt::format("<{}> has no {}", node.name(), name), name + "=\"…\"");
    return attribute.value();
  }

  std::int64_t number(pugi::xml_node node, const std::string& name, std::int64_t least, std::int64_t most) const {
    SourceLocation here = place(node);
    here.path += ": " + name;
    return parse_integer(text(node, name), least, most, here);
  }

  SourceLocation place_at(std::ptrdiff_t offset) const {
    const auto end = std::lower_bound(line_ends_.begin(), line_ends_.end(),
                                      static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)));
    return {file_, fmt::format("line {}", end - line_ends_.begin() + 1)};
  }
  SourceLocation place(pugi::xml_node node) const { return place_at(node.offset_debug()); }

  std::string file_;
  pugi::xml_document document_;
  std::vector<std::size_t> line_ends_;
  std::int64_t first_scratch_ = 0;
};

}  // namespace

MscclProgram read_msccl_program(std::string_view text, const std::string& file) {
  return XmlReader(text, file).program();
}

}  // namespace allreplay
