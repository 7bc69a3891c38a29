// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/xml_file.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

bool is_name(char c) { return c != '=' && c != '>' && c != '/' && c != '"' && c != '\'' && static_cast<unsigned char>(c) > ' '; }

}  // namespace

/// Visits everything below the root without recursion: how deep the file goes is not known yet.
class XmlFile::ContentWalker final : public pugi::xml_tree_walker {
 public:
  ContentWalker(XmlFile& file, std::string_view with_text) : file_(file), with_text_(with_text) {}

  bool begin(pugi::xml_node& root) override { return visit(root, 0); }
  bool for_each(pugi::xml_node& node) override { return visit(node, depth() + 1); }

 private:
  bool visit(pugi::xml_node node, int levels_above) {
    if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata) {
      if (node.parent().name() == with_text_) return true;
      file_.diagnostics_.error("stray-text", fmt::format("there is text inside <{}>", node.parent().name()),
                               file_.place(node.parent()), "elements hold attributes and elements; is a bracket missing?");
      return true;
    }
    names_.clear();
    for (const pugi::xml_attribute attribute : node.attributes()) names_.emplace_back(attribute.name());
    std::sort(names_.begin(), names_.end());
    const auto twice = std::adjacent_find(names_.begin(), names_.end());
    if (twice != names_.end()) {
      file_.diagnostics_.error("duplicate-attribute", fmt::format("<{}> has two attributes {}", node.name(), in_quotes(*twice)),
                               file_.place(node), "keep one of them");
    }
    if (levels_above < depth_max) return true;
    file_.diagnostics_.error("too-deep", fmt::format("elements nest more than {} deep", depth_max), file_.place(node),
                             "is an element not closed?");
    return false;
  }

  XmlFile& file_;
  std::string_view with_text_;
  std::vector<std::string_view> names_;
};

XmlFile::XmlFile(const SourceText& source, std::string_view root, std::string_view what, Diagnostics& diagnostics,
                 std::string_view with_text)
    : source_(source), diagnostics_(diagnostics) {
  source.require_utf8_text("XML file");
  const std::string_view text = source.text();
  const pugi::xml_parse_result result = document_.load_buffer(
      text.data(), text.size(), pugi::parse_default | pugi::parse_doctype | pugi::parse_fragment, pugi::encoding_utf8);
  if (!result || !document_.document_element()) {
    const std::size_t at = std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(result.offset, 0)), text.size() - 1);
    std::string message = result ? "no document element found" : result.description();
    if (!message.empty()) message.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(message.front())));
    fail("bad-xml", fmt::format("this is no well-formed XML: {}", message), source.at_offset(at),
         fmt::format("{} is expected; every element must be closed by its own name", what));
  }
  root_ = document_.document_element();
  // Unless it is told to read fragments, the parser throws text beside the root away without a
  // word.
  for (const pugi::xml_node node : document_.children()) {
    if (node.type() != pugi::node_pcdata && node.type() != pugi::node_cdata) continue;
    const auto start = static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0));
    const std::size_t at = std::min(text.find_first_not_of(" \t\r\n", start), text.size() - 1);
    fail("bad-xml", "this is no well-formed XML: there is text outside of its element", source.at_offset(at),
         fmt::format("{} is expected; nothing but comments stands beside it", what));
  }
  if (root_.name() != root) {
    fail("wrong-root", fmt::format("the file holds <{}>, not <{}>", root_.name(), root), place(root_),
         fmt::format("{} is expected here", what));
  }
  check_content(with_text);
  diagnostics.throw_if_errors();
}

void XmlFile::check_content(std::string_view with_text) {
  for (pugi::xml_node other = root_.next_sibling(); other; other = other.next_sibling()) {
    diagnostics_.error("second-root", fmt::format("there is more after the end of <{}>", root_.name()), place(other),
                       fmt::format("a file holds one <{}>", root_.name()));
  }
  ContentWalker walker(*this, with_text);
  root_.traverse(walker);
}

SourcePlace XmlFile::place(pugi::xml_node element) const {
  const std::ptrdiff_t offset = element.offset_debug();
  if (offset < 0 || static_cast<std::size_t>(offset) >= source_.text().size()) return source_.whole_file();
  return source_.at_offset(static_cast<std::size_t>(offset), static_cast<int>(std::strlen(element.name())));
}

SourcePlace XmlFile::place(pugi::xml_node element, std::string_view attribute) const {
  const std::string_view text = source_.text();
  const std::ptrdiff_t offset = element.offset_debug();
  if (offset < 0) return source_.whole_file();
  std::size_t at = static_cast<std::size_t>(offset) + std::strlen(element.name());
  while (at < text.size() && text[at] != '>') {
    if (!is_name(text[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && is_name(text[at])) ++at;
    const std::string_view name = text.substr(begin, at - begin);
    const std::size_t open = text.find_first_of("\"'", at);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find(text[open], open + 1);
    if (close == std::string_view::npos) break;
    if (name == attribute) {
      if (close == open + 1) return source_.at_offset(begin, static_cast<int>(name.size()));
      return source_.at_offset(open + 1, static_cast<int>(std::min<std::size_t>(close - open - 1, 80)));
    }
    at = close + 1;
  }
  return place(element);
}

void XmlFile::check(pugi::xml_node element, std::span<const std::string> attributes, std::span<const std::string> elements) const {
  for (const pugi::xml_attribute attribute : element.attributes()) {
    const std::string name = attribute.name();
    if (std::find(attributes.begin(), attributes.end(), name) != attributes.end()) continue;
    // To find one takes a walk from the start of the element.
    diagnostics_.error("unknown-attribute", fmt::format("<{}> has no attribute {}", element.name(), in_quotes(name)),
                       diagnostics_.is_full() ? place(element) : place(element, name), suggestion(name, attributes, "attribute"));
  }
  for (const pugi::xml_node child : element.children()) {
    if (child.type() != pugi::node_element) continue;
    const std::string name = child.name();
    if (std::find(elements.begin(), elements.end(), name) != elements.end()) continue;
    diagnostics_.error("unknown-element", fmt::format("<{}> holds no <{}>", element.name(), name), place(child),
                       elements.empty() ? "nothing stands inside it" : suggestion(name, elements, "element"));
  }
}

std::optional<std::string> XmlFile::required(pugi::xml_node element, const char* attribute) const {
  std::string value = element.attribute(attribute).value();
  if (!value.empty()) return value;
  diagnostics_.error("missing-attribute", fmt::format("<{}> needs the attribute {}", element.name(), in_quotes(attribute)),
                     place(element, attribute), fmt::format("write {}=\"...\"", attribute));
  return std::nullopt;
}

std::optional<std::int64_t> XmlFile::integer(pugi::xml_node element, const char* attribute) const {
  const std::string_view text = element.attribute(attribute).value();
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && stop == text.data() + text.size()) return value;
  diagnostics_.error("bad-number", fmt::format("{} is not a whole number", in_quotes(text)), place(element, attribute),
                     "write it in digits, without unit");
  return std::nullopt;
}

}  // namespace weft
