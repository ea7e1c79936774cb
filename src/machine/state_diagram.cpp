// SPDX-License-Identifier: Apache-2.0
#include <troupe/machine/state_diagram.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace troupe::detail {

void machine_diagram::add(state_index from, std::string label, const transition* begin,
                          const transition* end) {
  const bool may_stay = begin == end || std::any_of(begin, end, [](const transition& each) {
                          return each.how == transition::kind::stays;
                        });
  if (may_stay) lines_of(from).push_back(label + " /");
  for (; begin != end; ++begin) {
    if (begin->how != transition::kind::stays) edges.push_back({from, label, *begin});
  }
}

std::string limit_text(std::optional<duration> limit) {
  if (!limit) return "after a time limit";
  struct unit {
    duration length;
    const char* name;
  };
  using namespace std::chrono_literals;
  constexpr unit units[] = {{1h, "h"}, {1min, "min"}, {1s, "s"}, {1ms, "ms"}, {1us, "us"}};
  for (const unit& each : units) {
    if (*limit != duration::zero() && *limit % each.length == duration::zero()) {
      return "after " + std::to_string(*limit / each.length) + each.name;
    }
  }
  return "after " + std::to_string(limit->count()) + "ns";
}

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// Writes one diagram. Edges from and to a composite state are anchored at its initial point, and
// clipped at its border unless they lie within the state.
class dot_writer {
 public:
  explicit dot_writer(const machine_diagram& of) : of_(of) {}

  std::string write() {
    line("digraph " + quoted(of_.name) + " {");
    line("  compound=true;");
    line("  label=" + label(of_.name, of_.lines) + ";");
    line("  labelloc=t;");
    line("  node [shape=box, style=rounded];");
    write_children(no_state, "  ");
    if (std::any_of(of_.edges.begin(), of_.edges.end(),
                    [](const auto& each) { return each.from == no_state; })) {
      line("  " + quoted(any_state) + " [style=\"rounded,dashed\"];");
    }
    for (const machine_diagram::edge& each : of_.edges) write_edge(each);
    line("}");
    return std::move(out_);
  }

 private:
  static constexpr std::string_view any_state = "in any state";

  void line(const std::string& text) { out_ += text + '\n'; }

  [[nodiscard]] const state_record& at(state_index state) const { return of_.states[state].state; }
  [[nodiscard]] bool has_children(state_index state) const {
    return at(state).first_child != no_state;
  }

  // The state's name, made unique if another state has the same name.
  [[nodiscard]] std::string id(state_index state) const {
    const std::string_view name = at(state).name;
    const auto same = std::count_if(of_.states.begin(), of_.states.end(),
                                    [&](const auto& each) { return each.state.name == name; });
    return std::string(name) + (same > 1 ? "#" + std::to_string(state) : "");
  }
  [[nodiscard]] std::string beginning(state_index state) const {
    return quoted((state == no_state ? "" : id(state)) + " begins");
  }
  [[nodiscard]] std::string history_node(const transition& how) const {
    return quoted(id(how.target) +
                  (how.how == transition::kind::deep_history ? " deep history" : " history"));
  }
  [[nodiscard]] std::string cluster(state_index state) const {
    return quoted("cluster " + id(state));
  }
  [[nodiscard]] std::string anchor(state_index state) const {
    return has_children(state) ? beginning(state) : quoted(id(state));
  }

  static std::string label(std::string_view name, const std::vector<std::string>& lines) {
    std::string text = quoted(name);
    text.pop_back();
    if (!lines.empty()) text += "\\n";
    for (const std::string& each : lines) text += each + "\\l";
    return text + '"';
  }

  [[nodiscard]] bool lies_in(state_index state, state_index outer) const {
    for (; state != no_state; state = at(state).parent) {
      if (state == outer) return true;
    }
    return false;
  }
  [[nodiscard]] bool is_active(state_index state) const { return lies_in(of_.active, state); }

  void write_children(state_index parent, const std::string& indent) {
    bool first = true;
    for (std::size_t i = 0; i < of_.states.size(); ++i) {
      const auto state = static_cast<state_index>(i);
      if (at(state).parent != parent) continue;
      if (std::exchange(first, false)) write_beginning(parent, state, indent);
      write_state(state, indent);
    }
  }

  void write_beginning(state_index parent, state_index first, const std::string& indent) {
    line(indent + beginning(parent) + " [shape=point];");
    const std::string border = has_children(first) ? " [lhead=" + cluster(first) + "]" : "";
    line(indent + beginning(parent) + " -> " + anchor(first) + border + ";");
  }

  void write_state(state_index state, const std::string& indent) {
    const std::string text = label(at(state).name, of_.states[state].lines);
    if (!has_children(state)) {
      line(indent + quoted(id(state)) + " [label=" + text +
           (is_active(state) ? ", style=\"rounded,filled\", penwidth=2" : "") + "];");
      return;
    }
    line(indent + "subgraph " + cluster(state) + " {");
    const std::string inner = indent + "  ";
    line(inner + "label=" + text + ";");
    line(inner + (is_active(state) ? "style=rounded; penwidth=2;" : "style=rounded; penwidth=1;"));
    write_histories(state, inner);
    write_children(state, inner);
    line(indent + "}");
  }

  void write_histories(state_index state, const std::string& indent) {
    for (const auto kind : {transition::kind::shallow_history, transition::kind::deep_history}) {
      const auto leads_here = [&](const machine_diagram::edge& each) {
        return each.how.target == state && each.how.how == kind;
      };
      if (std::none_of(of_.edges.begin(), of_.edges.end(), leads_here)) continue;
      line(indent + history_node({kind, no_state, state}) + " [shape=circle, label=\"" +
           (kind == transition::kind::deep_history ? "H*" : "H") + "\"];");
    }
  }

  void write_edge(const machine_diagram::edge& edge) {
    std::string text = "  ";
    std::string borders;
    if (edge.from == no_state) {
      text += quoted(any_state);
    } else {
      text += anchor(edge.from);
      if (has_children(edge.from) && !lies_in(edge.how.target, edge.from)) {
        borders += ", ltail=" + cluster(edge.from);
      }
    }
    if (edge.how.how != transition::kind::enters) {
      text += " -> " + history_node(edge.how);
    } else {
      text += " -> " + anchor(edge.how.target);
      if (has_children(edge.how.target) && !lies_in(edge.from, edge.how.target)) {
        borders += ", lhead=" + cluster(edge.how.target);
      }
    }
    line(text + " [label=" + quoted(edge.label) + borders + "];");
  }

  const machine_diagram& of_;
  std::string out_;
};

}  // namespace

std::string to_dot(const machine_diagram& of) { return dot_writer(of).write(); }

}  // namespace troupe::detail
