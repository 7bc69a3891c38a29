// SPDX-License-Identifier: Apache-2.0
// NCCL's topologies: the inside of a server with the rates that NCCL itself counts on.
#include "topologies/formats/nccl_topology.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "topologies/topology_reader.hpp"
#include "topologies/topology_writer.hpp"
#include "topology_help.hpp"

namespace weft::nccl_topology_test {
namespace {

std::string cpu(const std::string& number, const std::string& inner) {
  return "<cpu numaid=\"" + number + "\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"143\">" + inner +
         "</cpu>\n";
}

std::string pci(const std::string& bus, const std::string& code, const std::string& inner) {
  return "<pci busid=\"" + bus + "\" class=\"" + code + "\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">" + inner + "</pci>\n";
}

std::string gpu(const std::string& bus, const std::string& number, const std::string& links) {
  return pci(bus, "0x030200", "<gpu dev=\"" + number + "\" sm=\"90\" rank=\"" + number + "\" gdr=\"1\">" + links + "</gpu>");
}

std::string nic(const std::string& bus, const std::string& name) {
  return pci(bus, "0x020700",
             "<nic><net name=\"" + name + "\" dev=\"0\" speed=\"400000\" port=\"1\" guid=\"0x1\" maxconn=\"1\" gdr=\"1\"/></nic>");
}

const std::string to_nvswitch = "<nvlink target=\"ffff\" count=\"18\" tclass=\"0x068000\"/>";

std::shared_ptr<const Topology> read(const std::string& inner) {
  return read_topology(SourceText("topo.xml", "<system version=\"1\">\n" + inner + "</system>\n"), "nccl");
}

std::vector<std::string> codes(const std::string& inner) {
  return codes_of([&] { read(inner); });
}

std::vector<std::string> names_on_path(const Topology& topology, const std::string& from, const std::string& to) {
  std::vector<std::string> names;
  const NodeId end = node_named(topology, to);
  std::vector<LinkId> hops;
  for (NodeId at = node_named(topology, from); at != end;) {
    topology.routes().next_hops(topology, at, end, hops);
    at = topology.link(hops.at(0)).destination;
    names.push_back(topology.node_name(at));
  }
  return names;
}

Bandwidth rate_between(const Topology& topology, const std::string& a, const std::string& b) {
  for (const LinkId link : topology.out_links(node_named(topology, a))) {
    if (topology.link(link).destination == node_named(topology, b)) return topology.link(link).rate;
  }
  return {};
}

TEST(Nccl, ReadsGpusNicsSwitchesAndCpus) {
  const auto topology = read(cpu("0", pci("10", "0x060400", gpu("11", "1", to_nvswitch) + nic("12", "mlx5_0"))) +
                             cpu("1", pci("20", "0x060400", gpu("21", "0", to_nvswitch) + nic("22", "mlx5_1"))));
  ASSERT_EQ(topology->endpoints().size(), 2U);
  EXPECT_EQ(topology->host_count(), 1U);
  EXPECT_EQ(topology->node_name(topology->endpoints()[0]), "gpu0");  // by dev, not by place
  // 18 NVLinks of 20.6 GB/s; 16 lanes of 24 Gb/s; 400,000 Mb/s; 22 GB/s between CPUs of model 143 =
  // 0x8F.
  EXPECT_EQ(rate_between(*topology, "gpu0", "nvswitch"), Bandwidth::bps(2'966'400'000'000));
  EXPECT_EQ(rate_between(*topology, "gpu0", "pcie 20"), Bandwidth::gbps(384));
  EXPECT_EQ(rate_between(*topology, "mlx5_0", "network"), Bandwidth::gbps(400));
  EXPECT_EQ(rate_between(*topology, "numa0", "numa1"), Bandwidth::gbps(176));
  EXPECT_EQ(names_on_path(*topology, "gpu0", "gpu1"), (std::vector<std::string>{"nvswitch", "gpu1"}));
  const auto again = read_topology(SourceText("net", write_topology(*topology, "weft", {})), "weft");
  EXPECT_EQ(write_topology(*again, "weft", {}), write_topology(*topology, "weft", {}));
  EXPECT_EQ(again->assumptions().size(), topology->assumptions().size());
}

TEST(Nccl, PcieJoinsGpusWithoutNvlink) {
  // Over the NICs it would be fewer links (gpu, bridge, NIC, network and back: 6) than over five
  // bridges and CPUs: 7. It stays inside.
  const auto tree = [](const std::string& digit, const std::string& number) {
    return cpu(number, pci(digit + "0", "0x060400",
                           pci(digit + "1", "0x060400", gpu(digit + "2", number, "") + nic(digit + "3", "mlx5_" + number))));
  };
  const auto topology = read(tree("1", "0") + tree("2", "1"));
  EXPECT_EQ(names_on_path(*topology, "gpu0", "gpu1"),
            (std::vector<std::string>{"pcie 11", "pcie 10", "numa0", "numa1", "pcie 20", "pcie 21", "gpu1"}));
}

TEST(Nccl, DirectNvlinksStandAtBothEnds) {
  const auto link = [](const std::string& target, const std::string& count) {
    return "<nvlink target=\"" + target + "\" count=\"" + count + "\" tclass=\"0x030200\"/>";
  };
  const auto topology = read(cpu("0", gpu("1", "0", link("2", "4")) + gpu("2", "1", link("1", "4"))));
  // 4 x 20.6 GB/s
  EXPECT_EQ(rate_between(*topology, "gpu0", "gpu1"), Bandwidth::bps(659'200'000'000));
  EXPECT_EQ(codes(cpu("0", gpu("1", "0", link("2", "4")) + gpu("2", "1", ""))), std::vector<std::string>{"nvlink-mismatch"});
  EXPECT_EQ(codes(cpu("0", gpu("1", "0", link("2", "4")) + gpu("2", "1", link("1", "2")))),
            std::vector<std::string>{"nvlink-mismatch"});
  EXPECT_EQ(codes(cpu("0", gpu("1", "0", link("3", "4")) + gpu("2", "1", ""))), std::vector<std::string>{"unknown-target"});
}

TEST(Nccl, PortsOfASlotShareIt) {
  const auto topology = read(
      cpu("0", gpu("1", "0", "") +
                   pci("2", "0x020700",
                       "<nic><net name=\"a\" dev=\"0\" speed=\"200000\"/><net name=\"a\" dev=\"1\" speed=\"200000\"/></nic>")));
  EXPECT_EQ(rate_between(*topology, "pcie 2", "a"), Bandwidth::gbps(384));
  EXPECT_EQ(rate_between(*topology, "pcie 2", "a/2"), Bandwidth::gbps(384));
  EXPECT_EQ(rate_between(*topology, "numa0", "pcie 2"), Bandwidth::gbps(384));
}

// A name with a number of its own may be what a second port would have been called.
TEST(Nccl, NamesEveryPortApart) {
  std::string ports;
  for (const char* name : {"a", "a/2", "a", "a", "a/2"}) {
    ports += fmt::format("<net name=\"{}\" dev=\"{}\" speed=\"200000\"/>", name, ports.size());
  }
  const auto topology = read(cpu("0", gpu("1", "0", "") + pci("2", "0x020700", "<nic>" + ports + "</nic>")));
  for (const char* name : {"a", "a/2", "a/3", "a/4", "a/2/2"}) EXPECT_NO_THROW(node_named(*topology, name)) << name;
}

TEST(Nccl, TellsWhatIsNotInTheFile) {
  const auto topology = read(
      cpu("0", pci("1", "0x030200", "") + "<pci busid=\"2\" class=\"0x020700\" link_speed=\"\" link_width=\"0\" color=\"red\"/>"));
  std::string all;
  for (const std::string& assumption : topology->assumptions()) all += assumption + "\n";
  EXPECT_NE(all.find("1 GPU without <gpu>"), std::string::npos) << all;
  EXPECT_NE(all.find("1 NIC without <net>"), std::string::npos);
  EXPECT_NE(all.find("1 link of unknown speed"), std::string::npos);
  EXPECT_NE(all.find("attributes not read: pci color"), std::string::npos);
  EXPECT_EQ(rate_between(*topology, "nic 2", "numa0"), Bandwidth::gbps(96));  // 16 lanes of 8 GT/s
}

TEST(Nccl, EveryMistakeHasItsCode) {
  using Codes = std::vector<std::string>;
  EXPECT_EQ(codes_of([] { read_topology(SourceText("t", "<system version=\"2\"/>"), "nccl"); }), Codes{"bad-version"});
  EXPECT_EQ(codes_of([] { read_topology(SourceText("t", "<graphs/>"), "nccl"); }), Codes{"wrong-root"});
  EXPECT_EQ(codes(cpu("0", "")), Codes{"no-gpus"});
  EXPECT_EQ(codes(cpu("0", gpu("1", "0", "") + gpu("1", "1", ""))), Codes{"duplicate-device"});
  EXPECT_EQ(codes(cpu("0", gpu("1", "0", "") + gpu("2", "0", ""))), Codes{"duplicate-device"});
  EXPECT_EQ(codes(cpu("0", gpu("1", "0", "")) + cpu("0", "")), Codes{"duplicate-device"});
  EXPECT_EQ(codes(cpu("0", gpu("1", "0", "<nvlink target=\"x\" count=\"0\" tclass=\"0x068000\"/>"))), Codes{"out-of-range"});
  EXPECT_EQ(codes(cpu("0", gpu("1", "0", "<nvlink target=\"x\" count=\"1\" tclass=\"0x020000\"/>"))), Codes{"unknown-class"});
  EXPECT_EQ(codes(cpu("0", gpu("1", "0", "<nvlink target=\"x\" tclass=\"0x068000\"/>"))), Codes{"missing-attribute"});
  EXPECT_EQ(codes(cpu("0", pci("1", "gpu", ""))), Codes{"unknown-class"});
  EXPECT_EQ(codes(cpu("0", "<pci busid=\"1\" class=\"0x030200\" link_speed=\"33 GT/s\" link_width=\"16\"/>")),
            Codes{"bad-link-speed"});
  EXPECT_EQ(codes(cpu("0", "<pci busid=\"1\" class=\"0x030200\" link_speed=\"32 GT/s\" link_width=\"wide\"/>")),
            Codes{"bad-number"});
  EXPECT_EQ(codes(cpu("0", "<pci busid=\"1\" class=\"0x030200\" link_speed=\"32 GT/s\" link_width=\"64\"/>")),
            Codes{"out-of-range"});
  EXPECT_EQ(codes(cpu("0", gpu("1", "0", "") + "<switch/>")), Codes{"unknown-element"});
  EXPECT_EQ(codes("<cpu numaid=\"0\" host_hash=\"0x1\">" + gpu("1", "0", "") + "</cpu><cpu numaid=\"1\" host_hash=\"0x2\"/>"),
            Codes{"several-hosts"});
}

}  // namespace
}  // namespace weft::nccl_topology_test
