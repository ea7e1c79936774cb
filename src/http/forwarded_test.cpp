// SPDX-License-Identifier: Apache-2.0

#include "forwarded.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "request_access.hpp"

namespace troupe::http::detail {
namespace {

using lines = std::vector<std::string_view>;

const trusted_proxies& proxies() {
  static const trusted_proxies those({"10.0.0.0/8", "2001:db8:aaaa::/48"});
  return those;
}

std::string text(const std::optional<ip_address>& client) {
  return client ? client->to_string() : "malformed";
}

std::string forwarded(const lines& all) {
  return text(client_in_forwarded(all, *parse_ip("10.0.0.1"), proxies()));
}
std::string x_forwarded_for(const lines& all) {
  return text(client_in_x_forwarded_for(all, *parse_ip("10.0.0.1"), proxies()));
}

std::string client(const std::vector<std::pair<std::string, std::string>>& headers,
                   proxy_header which = proxy_header::any) {
  const request asked = request_access::make("GET", "/", headers, "", false);
  return text(client_of(asked, *parse_ip("10.0.0.1"), proxies(), which));
}

TEST(x_forwarded_for, the_last_untrusted_address_is_the_client) {
  EXPECT_EQ(x_forwarded_for({"192.0.2.1"}), "192.0.2.1");
  EXPECT_EQ(x_forwarded_for({"192.0.2.1, 192.0.2.2"}), "192.0.2.2");
  EXPECT_EQ(x_forwarded_for({"192.0.2.1,10.1.1.1 , 10.2.2.2"}), "192.0.2.1");
  EXPECT_EQ(x_forwarded_for({"198.51.100.9, 192.0.2.1, 2001:db8:aaaa::1"}), "192.0.2.1");
  EXPECT_EQ(x_forwarded_for({"10.1.1.1, 10.2.2.2"}), "10.1.1.1") << "all of them are proxies";
}

TEST(x_forwarded_for, entries_before_the_client_address_are_ignored) {
  EXPECT_EQ(x_forwarded_for({"garbage \"\\ ,;=, 192.0.2.1"}), "192.0.2.1");
  EXPECT_EQ(x_forwarded_for({"10.9.9.9, 192.0.2.1, 10.1.1.1"}), "192.0.2.1");
  EXPECT_EQ(x_forwarded_for({"unknown", "nonsense", "192.0.2.1"}), "192.0.2.1");
}

TEST(x_forwarded_for, several_lines_are_one_list) {
  EXPECT_EQ(x_forwarded_for({"192.0.2.1", "192.0.2.2"}), "192.0.2.2");
  EXPECT_EQ(x_forwarded_for({"192.0.2.1", "10.1.1.1", "10.2.2.2, 10.3.3.3"}), "192.0.2.1");
  EXPECT_EQ(x_forwarded_for({"192.0.2.1", "", " , "}), "192.0.2.1");
}

TEST(x_forwarded_for, ports_brackets_and_quotes_are_understood) {
  EXPECT_EQ(x_forwarded_for({"192.0.2.1:47011"}), "192.0.2.1");
  EXPECT_EQ(x_forwarded_for({"2001:db8::17"}), "2001:db8::17");
  EXPECT_EQ(x_forwarded_for({"[2001:db8::17]"}), "2001:db8::17");
  EXPECT_EQ(x_forwarded_for({"[2001:db8::17]:80"}), "2001:db8::17");
  EXPECT_EQ(x_forwarded_for({"\"[2001:db8::17]:80\""}), "2001:db8::17");
  EXPECT_EQ(x_forwarded_for({"::ffff:192.0.2.1"}), "192.0.2.1");
  EXPECT_EQ(x_forwarded_for({"192.0.2.1, ::ffff:10.2.2.2"}), "192.0.2.1") << "trusted as IPv4";
}

TEST(x_forwarded_for, a_hidden_address_counts_as_the_proxy_that_hides_it) {
  EXPECT_EQ(x_forwarded_for({"unknown"}), "10.0.0.1");
  EXPECT_EQ(x_forwarded_for({"192.0.2.1, Unknown, 10.2.2.2"}), "10.2.2.2");
  EXPECT_EQ(x_forwarded_for({"192.0.2.1, _hidden"}), "10.0.0.1");
}

TEST(x_forwarded_for, invalid_entries_of_trusted_proxies_are_malformed) {
  for (const char* wrong : {"example.org",
                            "192.0.2",
                            "192.0.2.1:",
                            "192.0.2.1:x",
                            "192.0.2.1:123456",
                            "[192.0.2.1]",
                            "[2001:db8::1",
                            "2001:db8::1]",
                            "[2001:db8::1]80",
                            "[]",
                            "\"",
                            "\"\"",
                            "fe80::1%eth0",
                            "[fe80::1%1]",
                            "192.0.2.1 192.0.2.2",
                            "_",
                            "_x y",
                            "192.0.2.1;",
                            "for=192.0.2.1",
                            "192.0.2.1, x, 10.2.2.2"}) {
    EXPECT_EQ(x_forwarded_for({wrong}), "malformed") << wrong;
  }
}

TEST(forwarded, is_read_as_in_rfc_7239) {
  EXPECT_EQ(forwarded({"for=192.0.2.60;proto=http;by=203.0.113.43"}), "192.0.2.60");
  EXPECT_EQ(forwarded({"For=\"[2001:db8:cafe::17]:4711\""}), "2001:db8:cafe::17");
  EXPECT_EQ(forwarded({"for=192.0.2.43, for=198.51.100.17"}), "198.51.100.17");
  EXPECT_EQ(forwarded({"for=192.0.2.43, FOR=\"10.1.1.1:80\";by=_x"}), "192.0.2.43");
  EXPECT_EQ(forwarded({"for=192.0.2.43", "for=10.1.1.1"}), "192.0.2.43");
  EXPECT_EQ(forwarded({"proto=https ; for=\"192.0.2.43\" ; host=\"a,b;for=6.6.6.6\""}),
            "192.0.2.43");
  EXPECT_EQ(forwarded({"for=\"1\\92.0.2.43\""}), "192.0.2.43") << "a quoted pair";
  EXPECT_EQ(forwarded({",, for=192.0.2.43;,;"}), "10.0.0.1") << "the last element hides it";
  EXPECT_EQ(forwarded({"for=192.0.2.43,, ,"}), "192.0.2.43");
  EXPECT_EQ(forwarded({"for=192.0.2.43:80"}), "192.0.2.43") << "the quotes are missing";
  EXPECT_EQ(forwarded({"for=\"[::ffff:192.0.2.43]\""}), "192.0.2.43");
}

TEST(forwarded, a_hidden_address_counts_as_the_proxy_that_hides_it) {
  EXPECT_EQ(forwarded({"for=unknown"}), "10.0.0.1");
  EXPECT_EQ(forwarded({"for=_SEVKISEK"}), "10.0.0.1");
  EXPECT_EQ(forwarded({"for=\"_gazonk:_port\""}), "10.0.0.1");
  EXPECT_EQ(forwarded({"for=192.0.2.43, for=unknown, for=10.1.1.1"}), "10.1.1.1");
  EXPECT_EQ(forwarded({"for=192.0.2.43, proto=https"}), "10.0.0.1");
}

TEST(forwarded, a_line_that_is_believed_has_to_be_well_formed_as_a_whole) {
  for (const char* wrong :
       {"for", "for=", "for=\"", "for=\"192.0.2.1", "for=192.0.2.1;for=192.0.2.2", "=192.0.2.1",
        "for =192.0.2.1", "for= 192.0.2.1", "for=192.0.2.1 proto=http", "for=\"192.0.2.1\"x",
        "for=\"192.0.2.1\\", "for=example.org", "for=\"\"", "for=[2001:db8::1", "192.0.2.1",
        "for=fe80::1%eth0", "for=192.0.2.1;x", "for=(192.0.2.1)"}) {
    EXPECT_EQ(forwarded({wrong}), "malformed") << wrong;
  }
}

// The client's own line, to whose end a proxy has added its element.
TEST(forwarded, a_client_cannot_hide_the_element_of_a_proxy_in_a_quoted_text) {
  for (const std::string begin :
       {"for=\"", "for=6.6.6.6;x=\"", "for=6.6.6.6;x=\"\\", "for=6.6.6.6;x=", "x=\"\\\"", "\""}) {
    for (const std::string added : {"for=192.0.2.1", "for=\"192.0.2.1:80\"",
                                    "for=\"192.0.2.1\";by=\"x\"", "for=192.0.2.1;host=\"a\""}) {
      const std::string line = begin + ", " + added;
      const std::string found = forwarded({line});
      EXPECT_TRUE(found == "malformed" || found == "192.0.2.1") << line << ": " << found;
    }
  }
  EXPECT_EQ(forwarded({"for=\"", "for=192.0.2.1"}), "192.0.2.1") << "another line is not read";
}

TEST(client_of_a_request, is_the_proxy_if_no_header_names_a_client) {
  EXPECT_EQ(client({}), "10.0.0.1");
  EXPECT_EQ(client({{"X-Forwarded-For", ""}}), "10.0.0.1");
  EXPECT_EQ(client({{"Forwarded", " , "}}), "10.0.0.1");
  EXPECT_EQ(client({{"X-Real-IP", "192.0.2.1"}}), "10.0.0.1");
}

TEST(client_of_a_request, both_headers_have_to_agree) {
  EXPECT_EQ(client({{"x-forwarded-for", "192.0.2.1"}}), "192.0.2.1");
  EXPECT_EQ(client({{"forwarded", "for=192.0.2.1"}}), "192.0.2.1");
  EXPECT_EQ(client({{"X-Forwarded-For", "192.0.2.1"}, {"Forwarded", "for=192.0.2.1"}}),
            "192.0.2.1");
  EXPECT_EQ(client({{"X-Forwarded-For", "192.0.2.1"}, {"Forwarded", "for=6.6.6.6"}}), "malformed");
  EXPECT_EQ(client({{"X-Forwarded-For", "192.0.2.1"}, {"Forwarded", "x"}}), "malformed");
  EXPECT_EQ(client({{"X-Forwarded-For", "x"}, {"Forwarded", "for=192.0.2.1"}}), "malformed");
}

TEST(client_of_a_request, only_the_configured_header_is_read) {
  const std::vector<std::pair<std::string, std::string>> both{{"X-Forwarded-For", "192.0.2.1"},
                                                              {"Forwarded", "for=192.0.2.2"}};
  EXPECT_EQ(client(both, proxy_header::x_forwarded_for), "192.0.2.1");
  EXPECT_EQ(client(both, proxy_header::forwarded), "192.0.2.2");
  EXPECT_EQ(client({{"Forwarded", "for="}}, proxy_header::x_forwarded_for), "10.0.0.1");
}

}  // namespace
}  // namespace troupe::http::detail
