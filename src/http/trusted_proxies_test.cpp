// SPDX-License-Identifier: Apache-2.0

#include "trusted_proxies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::http::detail {
namespace {

using testing::HasSubstr;

ip_address at(const char* text) { return *parse_ip(text); }

std::string refused(const std::string& entry) {
  try {
    const trusted_proxies made({entry});
  } catch (const std::invalid_argument& why) {
    return why.what();
  }
  return "nothing";
}

TEST(client_address, is_parsed_without_brackets_ports_and_zones) {
  EXPECT_EQ(parse_ip("10.0.0.1")->to_string(), "10.0.0.1");
  EXPECT_EQ(parse_ip("2001:DB8::1")->to_string(), "2001:db8::1");
  for (const char* wrong : {"", "10.0.0", "10.0.0.1.2", "10.0.0.256", "010.0.0.1", "0x7f.0.0.1",
                            "10.0.0.1:80", "[::1]", "fe80::1%lo", "fe80::1%1", "localhost",
                            " 10.0.0.1", ":::", "1111:2222:3333:4444:5555:6666:7777:8888:9999",
                            "0000000000000000000000000000000000000000000000000000::1"}) {
    EXPECT_FALSE(parse_ip(wrong)) << wrong;
  }
  EXPECT_FALSE(parse_ip(std::string_view("10.0.0.1\0", 9)));
}

TEST(client_address, a_mapped_ipv4_address_is_that_address) {
  EXPECT_EQ(parse_ip("::ffff:10.0.0.1")->to_string(), "10.0.0.1");
  EXPECT_EQ(unmapped(boost::asio::ip::make_address("::ffff:10.0.0.1")), at("10.0.0.1"));
  EXPECT_EQ(unmapped(at("::1")), at("::1"));
}

TEST(client_address, an_ipv6_network_of_64_bits_is_one_client) {
  EXPECT_EQ(client_key(at("2001:db8:0:1::1")), client_key(at("2001:db8:0:1:ffff::")));
  EXPECT_NE(client_key(at("2001:db8:0:1::1")), client_key(at("2001:db8:0:2::1")));
  EXPECT_NE(client_key(at("10.0.0.1")), client_key(at("10.0.0.2")));
  EXPECT_NE(client_key(at("10.0.0.1")), client_key(at("0:0:a00:1::"))) << "the same bits";
  EXPECT_EQ(client_key(boost::asio::ip::make_address("::ffff:10.0.0.1")),
            client_key(at("10.0.0.1")));
}

TEST(trusted_proxies, without_a_list_no_address_is_trusted) {
  const trusted_proxies none;
  EXPECT_TRUE(none.is_empty());
  EXPECT_FALSE(none.trusts(at("127.0.0.1")));
}

TEST(trusted_proxies, are_addresses_and_networks) {
  const trusted_proxies some({"10.0.0.0/8", "192.168.1.4/30", "203.0.113.7", "::1",
                              "2001:db8:80::/41", "::ffff:172.16.0.0/108", "::ffff:198.51.100.1"});
  for (const char* yes :
       {"10.0.0.0", "10.255.255.255", "192.168.1.4", "192.168.1.7", "203.0.113.7", "::1",
        "2001:db8:80::", "2001:db8:ff:ffff::1", "172.16.0.1", "172.31.255.255", "198.51.100.1"}) {
    EXPECT_TRUE(some.trusts(at(yes))) << yes;
  }
  for (const char* no :
       {"9.255.255.255", "11.0.0.0", "192.168.1.3", "192.168.1.8", "203.0.113.6", "::2",
        "2001:db8:7f:ffff::", "2001:db8:100::", "172.32.0.0", "198.51.100.2", "a00::", "::"}) {
    EXPECT_FALSE(some.trusts(at(no))) << no;
  }
}

TEST(trusted_proxies, one_bit_of_a_prefix_matters) {
  for (unsigned prefix = 1; prefix <= 32; ++prefix) {
    const trusted_proxies some({"0.0.0.0/" + std::to_string(prefix)});
    const auto last = prefix == 32 ? 0u : ~0u >> prefix;
    EXPECT_TRUE(some.trusts(boost::asio::ip::address_v4(last))) << prefix;
    EXPECT_FALSE(some.trusts(boost::asio::ip::address_v4(last + 1))) << prefix;
  }
}

TEST(trusted_proxies, errors_name_the_entry_and_the_problem) {
  EXPECT_EQ(refused("proxy.example.org"),
            "\"proxy.example.org\" is neither an address as \"::1\" nor a network as "
            "\"10.0.0.0/8\"; host names are not looked up");
  EXPECT_EQ(refused("10.0.0.0/33"),
            "\"10.0.0.0/33\" has a prefix that is not a number from 1 to 32");
  EXPECT_EQ(refused("::1/129"), "\"::1/129\" has a prefix that is not a number from 1 to 128");
  EXPECT_EQ(refused("::ffff:10.0.0.0/64"),
            "\"::ffff:10.0.0.0/64\" has a prefix that is not a number from 97 to 128");
  EXPECT_EQ(refused("2001:db8::1/64"),
            "\"2001:db8::1/64\" has bits after its prefix; the network is 2001:db8::/64");
  EXPECT_THAT(refused("0.0.0.0/0"), HasSubstr("would trust every client"));
  EXPECT_THAT(refused("::/0"), HasSubstr("would trust every client"));
  EXPECT_THAT(refused("unix:/run/proxy"), HasSubstr("TCP connections only"));
  for (const char* wrong : {"", "/", "/8", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0.0/x", "10.0.0.0/-1",
                            "10.0.0.0/ 8", "10.0.0.0/0008", "10.0.0.1:80", "[::1]", "fe80::1%lo"}) {
    EXPECT_NE(refused(wrong), "nothing") << wrong;
  }
}

}  // namespace
}  // namespace troupe::http::detail
