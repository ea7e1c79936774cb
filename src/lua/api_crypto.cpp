// SPDX-License-Identifier: Apache-2.0

// Functions with which scripts create and check tokens that cannot be guessed.

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <lua.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "api_arguments.hpp"
#include "metered_functions.hpp"
#include "program.hpp"

namespace troupe::lua::detail {
namespace {

// Limit of random bytes, and of the input of hex(): both are first built outside of the state's
// memory.
constexpr std::size_t bytes_max = 65'536;

const unsigned char* bytes_of(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// crypto.random(bytes): returns a string of that length.
int random(program&, lua_State* in) {
  const lua_Integer size = luaL_checkinteger(in, 1);
  luaL_argcheck(in, size >= 1 && size <= static_cast<lua_Integer>(bytes_max), 1,
                "1 to 65536 bytes");
  spend_bytes(in, static_cast<std::size_t>(size));
  std::string made(static_cast<std::size_t>(size), '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(made.data()), static_cast<int>(size)) != 1) {
    throw std::runtime_error("OpenSSL cannot generate random bytes");
  }
  lua_pushlstring(in, made.data(), made.size());
  OPENSSL_cleanse(made.data(), made.size());
  return 1;
}

// crypto.hmac_sha256(key, text): returns 32 bytes.
int hmac_sha256(program&, lua_State* in) {
  const std::string_view key = check_string(in, 1), text = check_string(in, 2);
  luaL_argcheck(in, key.size() <= bytes_max, 1, "a key of at most 65536 bytes");
  // SHA-256 takes some nanoseconds for each byte.
  spend_bytes(in, 8 * (key.size() + text.size()));
  std::array<unsigned char, EVP_MAX_MD_SIZE> made{};
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(text), text.size(),
           made.data(), &size) == nullptr) {
    throw std::runtime_error("OpenSSL has no HMAC with SHA-256");
  }
  lua_pushlstring(in, reinterpret_cast<const char*>(made.data()), size);
  return 1;
}

// crypto.equal(a, b): returns whether two strings are equal, in a time that depends only on their
// lengths.
int equal(program&, lua_State* in) {
  const std::string_view a = check_string(in, 1), b = check_string(in, 2);
  spend_bytes(in, 8 * std::min(a.size(), b.size()));
  lua_pushboolean(in, a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0);
  return 1;
}

// crypto.hex(text): returns two digits for each byte.
int hex(program&, lua_State* in) {
  const std::string_view text = check_string(in, 1);
  luaL_argcheck(in, text.size() <= bytes_max, 1, "at most 65536 bytes");
  spend_bytes(in, 2 * text.size());
  constexpr std::string_view digits = "0123456789abcdef";
  std::string made;
  made.reserve(2 * text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    made += {digits[byte >> 4], digits[byte & 15]};
  }
  lua_pushlstring(in, made.data(), made.size());
  return 1;
}

}  // namespace

void open_crypto(lua_State* in, program& whose) {
  constexpr api_function functions[] = {{"random", api<random>},
                                        {"hmac_sha256", api<hmac_sha256>},
                                        {"equal", api<equal>},
                                        {"hex", api<hex>}};
  lua_newtable(in);
  set_functions(in, whose, functions);
  lua_setfield(in, -2, "crypto");
}

}  // namespace troupe::lua::detail
