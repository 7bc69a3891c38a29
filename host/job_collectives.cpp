#include "host/job_collectives.hpp"

#include "core/check.hpp"
#include "core/fingerprint.hpp"

namespace weft {

std::size_t JobCollectives::RequestHash::operator()(const CollectiveRequest& request) const noexcept {
  std::uint64_t hash = mix64(static_cast<std::uint64_t>(request.bytes.count()));
  hash = mix64(hash ^ reinterpret_cast<std::uintptr_t>(request.layout));
  hash = mix64(hash ^ reinterpret_cast<std::uintptr_t>(request.splits));
  return mix64(hash ^ (std::uint64_t{request.root} << 8 | static_cast<std::uint64_t>(request.type)));
}

CollectiveRequest JobCollectives::request(const Op& op, const GroupLayout& layout, std::uint32_t position) const {
  WEFT_CHECK(op.kind == OpKind::collective, "only a collective makes a collective request");
  CollectiveRequest request{op.collective, 0, op.bytes, &layout, nullptr};
  if (has_root(op.collective)) {
    const std::int64_t size = layout.ranks();
    const std::int64_t base = op.addressing == PeerAddressing::relative ? position : 0;
    const std::int64_t root = (base + op.peer) % size;
    request.root = static_cast<std::uint32_t>(root < 0 ? root + size : root);
  }
  if (op.collective == CollectiveType::all_to_all_v) request.splits = &workload_.splits[op.splits];
  return request;
}

const CollectivePlan* JobCollectives::find(const Op& op, GroupId group, std::uint32_t position) const {
  const GroupLayout& layout = this->layout(op.communicator, group);
  if (layout.ranks() < 2) return nullptr;
  const auto found = plans_.find(request(op, layout, position));
  WEFT_CHECK(found != plans_.end(), "every collective of a job was prepared with it");
  return found->second;
}

}  // namespace weft
