// `signalbox keys new|list|revoke|import`: the clients' keys in the file or the store that the
// configuration names. A running router reads them again by itself.

#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <cxxopts.hpp>
#include <string>
#include <vector>

#include "router/access/key_file.h"
#include "router/config/load.h"
#include "router/shared_keys/shared_keys.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

using Texts = std::vector<std::string>;

/// The configuration, and the file or the store of its keys.
struct Place {
  config::Config config;
  std::filesystem::path file;                      // "": the store
  std::unique_ptr<shared_keys::SharedKeys> store;  // null: the file

  std::string name() const { return store == nullptr ? file.string() : store->name(); }
  Result<std::vector<config::ClientKey>> read() const {
    if (store == nullptr) return access::read_keys(file);
    SIGNALBOX_TRY(const auto set, store->read());
    return set->keys;
  }
  Result<void> change(const access::KeyChange& change) const {
    if (store == nullptr) return access::change_keys(file, change);
    SIGNALBOX_TRY_VOID(store->change(change));
    return {};
  }
};

/// Errors: kInvalid if the configuration names neither; those of shared_keys::open().
Result<Place> find_keys(const cxxopts::ParseResult& parsed) {
  const std::string name = parsed["config"].as<std::string>();
  SIGNALBOX_TRY(config::Loaded loaded, config::load(name));
  const config::ClientAccess& access = loaded.config.access;
  Place out{.config = {}, .file = access::keys_file_of(access, name), .store = nullptr};
  if (access.keys_store.is_used()) {
    SIGNALBOX_TRY(out.store, shared_keys::open(access.keys_store));
  } else if (out.file.empty()) {
    return fail(Code::kInvalid,
                "{}: global.access.keys_file: the configuration names no file for keys; add "
                "\"keys_file: keys.json\"",
                name);
  }
  out.config = std::move(loaded.config);
  return out;
}

Texts texts_of(const cxxopts::ParseResult& parsed, const char* option) {
  return parsed.count(option) == 0 ? Texts() : parsed[option].as<Texts>();
}

/// Errors: kInvalid for a key that a router with this configuration cannot have.
Result<void> check_key(const config::Config& config, const config::ClientKey& key) {
  SIGNALBOX_TRY_VOID(access::check_key_name(key.name, config.access.tokens));
  for (const config::ClientKey& other : config.access.keys) {
    if (other.name == key.name)
      return fail(Code::kInvalid, "the configuration has a key \"{}\"; choose another name",
                  key.name);
    if (other.hash == key.hash)
      return fail(Code::kInvalid,
                  "the keys \"{}\" of the configuration and \"{}\" have the same hash", other.name,
                  key.name);
  }
  return {};
}

Result<void> check_options(const config::Config& config, const config::ClientKey& key) {
  for (const std::string& name : key.models) {
    if (config.providers.find(name) == nullptr)
      return fail(Code::kInvalid, "--model: the configuration has no model \"{}\"", name);
  }
  for (const std::string& name : key.recipes) {
    const bool is_known =
        name == config::kDefaultRecipe ||
        std::any_of(config.recipes.begin(), config.recipes.end(),
                    [&](const config::Recipe& recipe) { return recipe.name == name; });
    if (!is_known)
      return fail(Code::kInvalid, "--recipe: the configuration has no recipe \"{}\"", name);
  }
  const auto end = config::parse_time(key.expires);
  if (!key.expires.empty() && !end)
    return fail(Code::kInvalid, "--expires: expected {}, found \"{}\"", config::kTimeForms,
                key.expires);
  if (end && *end <= std::time(nullptr))
    return fail(Code::kInvalid, "--expires: expected a time that has not passed, found \"{}\"",
                key.expires);
  SIGNALBOX_TRY_VOID(check_key(config, key));
  // Reads the key as the router will read it.
  SIGNALBOX_TRY(const auto keys, config::parse_keys(config::keys_text({key}), "the key"));
  return {};
}

int make(const std::string& name, const cxxopts::ParseResult& parsed) {
  const auto place = find_keys(parsed);
  if (!place) return report(place.error());
  const access::NewKey made = access::new_key();
  config::ClientKey key;
  key.name = name;
  key.hash = made.hash;
  if (parsed.count("user") > 0) key.user = parsed["user"].as<std::string>();
  if (parsed.count("expires") > 0) key.expires = parsed["expires"].as<std::string>();
  key.groups = texts_of(parsed, "group");
  key.models = texts_of(parsed, "model");
  key.recipes = texts_of(parsed, "recipe");
  config::RateLimit::Rule limit;
  limit.requests_per_unit = parsed["requests-per-minute"].as<uint64_t>();
  limit.tokens_per_unit = parsed["tokens-per-minute"].as<uint64_t>();
  if (limit.requests_per_unit != 0 || limit.tokens_per_unit != 0) key.limits.push_back(limit);
  if (const auto done = check_options(place->config, key); !done) return report(done.error());
  if (const auto done = place->change(access::adding(key)); !done) return report(done.error());
  std::printf("%s\n", made.secret.c_str());
  std::fprintf(stderr, "%s has its hash; the key itself is shown only now\n",
               place->name().c_str());
  return kExitOk;
}

void print_key(const config::ClientKey& key) {
  std::string line = fmt::format("{}  user {}", key.name, key.user_or_name());
  const auto add = [&line](std::string_view what, const Texts& names) {
    if (!names.empty()) line += fmt::format("  {} {}", what, fmt::join(names, ","));
  };
  add("groups", key.groups);
  add("models", key.models);
  add("recipes", key.recipes);
  for (const config::RateLimit::Rule& rule : key.limits) {
    const std::string_view unit = config::name_of_unit(rule.unit);
    if (rule.requests_per_unit != 0)
      line += fmt::format("  {} requests per {}", rule.requests_per_unit, unit);
    if (rule.tokens_per_unit != 0)
      line += fmt::format("  {} tokens per {}", rule.tokens_per_unit, unit);
  }
  if (const auto end = config::parse_time(key.expires))
    line += (*end <= std::time(nullptr) ? "  expired " : "  expires ") + key.expires;
  std::printf("%s\n", line.c_str());
}

int list(const cxxopts::ParseResult& parsed) {
  const auto place = find_keys(parsed);
  if (!place) return report(place.error());
  const auto keys = place->read();
  if (!keys) return report(keys.error());
  for (const config::ClientKey& key : place->config.access.keys) print_key(key);
  for (const config::ClientKey& key : *keys) print_key(key);
  if (place->config.access.keys.empty() && keys->empty())
    std::fprintf(stderr, "%s has no keys; `signalbox keys new NAME` makes one\n",
                 place->name().c_str());
  return kExitOk;
}

int revoke(const std::string& name, const cxxopts::ParseResult& parsed) {
  const auto place = find_keys(parsed);
  if (!place) return report(place.error());
  const auto done = place->change(access::removing(name));
  return done ? kExitOk : report(done.error());
}

/// Adds the keys of a file, all or none.
int import(const std::string& file, const cxxopts::ParseResult& parsed) {
  const auto place = find_keys(parsed);
  if (!place) return report(place.error());
  if (!std::filesystem::exists(file))
    return report({Code::kNotFound, fmt::format("{}: there is no such file", file)});
  const auto added = access::read_keys(file);
  if (!added) return report(added.error());
  for (const config::ClientKey& key : *added) {
    if (const auto done = check_key(place->config, key); !done) return report(done.error());
  }
  const auto done = place->change([&](std::vector<config::ClientKey>& keys) -> Result<void> {
    for (const config::ClientKey& key : *added) SIGNALBOX_TRY_VOID(access::adding(key)(keys));
    return {};
  });
  if (!done) return report(done.error());
  std::fprintf(stderr, "%s has %zu further keys\n", place->name().c_str(), added->size());
  return kExitOk;
}

int keys_command(int argc, char** argv) {
  cxxopts::Options options("signalbox keys",
                           "Makes, lists, revokes and imports the keys of clients, in the file or "
                           "the store that global.access of the configuration names. A running "
                           "router notices within a second.");
  options.positional_help("new NAME | list | revoke NAME | import FILE");
  options.add_options()("config", "configuration file", cxxopts::value<std::string>(), "FILE");
  options.add_options("new")("user", "user in whose name the key is used; default: NAME",
                             cxxopts::value<std::string>(), "NAME");
  options.add_options("new")("group", "group of this user; may be repeated",
                             cxxopts::value<Texts>(), "NAME");
  options.add_options("new")("model", "model that the key may use; may be repeated",
                             cxxopts::value<Texts>(), "NAME");
  options.add_options("new")("recipe", "recipe that the key may use; may be repeated",
                             cxxopts::value<Texts>(), "NAME");
  options.add_options("new")("expires", "when the key ends, such as 2027-01-31",
                             cxxopts::value<std::string>(), "DATE");
  options.add_options("new")("requests-per-minute", "limit of the key; 0: none",
                             cxxopts::value<uint64_t>()->default_value("0"), "N");
  options.add_options("new")("tokens-per-minute", "limit of the key; 0: none",
                             cxxopts::value<uint64_t>()->default_value("0"), "N");
  options.add_options()("words", "new NAME, list, revoke NAME or import FILE",
                        cxxopts::value<Texts>());
  options.parse_positional("words");
  return with_options(
      options, argc, argv, {"words", "config"}, [](const cxxopts::ParseResult& parsed) {
        const Texts words = parsed["words"].as<Texts>();
        if (words.size() == 2 && words[0] == "new") return make(words[1], parsed);
        if (words.size() == 1 && words[0] == "list") return list(parsed);
        if (words.size() == 2 && words[0] == "revoke") return revoke(words[1], parsed);
        if (words.size() == 2 && words[0] == "import") return import(words[1], parsed);
        const std::string mistake = fmt::format(
            "signalbox keys: expected \"new NAME\", \"list\", \"revoke NAME\" or \"import "
            "FILE\", found \"{}\"; see `signalbox keys --help`\n",
            fmt::join(words, " "));
        std::fputs(mistake.c_str(), stderr);
        return kExitUsage;
      });
}

}  // namespace

const Command kKeysCommand = {"keys", "makes, lists, revokes and imports the keys of clients",
                              keys_command};

}  // namespace signalbox::tools
