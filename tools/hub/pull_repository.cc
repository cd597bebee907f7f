// The steps of a pull, in order: see pull_in_steps().

#include "tools/hub/pull_repository.h"

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>

#include "base/ascii.h"
#include "base/file.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "tools/directory_lock.h"
#include "tools/hub/client.h"
#include "tools/hub/make_model.h"
#include "tools/hub/mirror.h"
#include "tools/hub/receipt.h"
#include "tools/hub/selection.h"
#include "tools/process.h"
#include "tools/progress_bar.h"
#include "tools/vocabulary/vocabulary_files.h"
#include "weights/hf_config.h"
#include "weights/shard_index.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

Result<void> make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return fail(Code::kIo, "{}: {}", path.string(), error.message());
  return {};
}

/// Where the files come from: the hub, or a mirror folder.
class Source {
 public:
  Source(HubClient client, Repository listing)
      : client_(std::move(client)), listing_(std::move(listing)) {}
  explicit Source(MirroredRepository mirror) : mirror_(std::move(mirror)) {}

  const Repository& listing() const { return mirror_ ? mirror_->listing : *listing_; }

  Result<void> fetch(const RepositoryFile& file, const fs::path& to,
                     const std::function<void(uint64_t)>& progress) const {
    if (mirror_) return copy_from_mirror(*mirror_, file, to);
    return client_->fetch(listing().id, listing().commit, file, to, progress);
  }

 private:
  std::optional<HubClient> client_;
  std::optional<Repository> listing_;
  std::optional<MirroredRepository> mirror_;
};

/// One pull and its folders.
struct Pull {
  RepositoryName name;
  const PullRepositoryOptions& options;
  fs::path target;                    // TO/NAME
  fs::path staging;                   // TO/.NAME.partial
  std::optional<PullReceipt> before;  // of the files in `target`
  bool is_damaged = false;            // `target` differs from `before`
  PullReceipt receipt = {};           // of the files in `staging`
  ProgressBar* bar = nullptr;         // while files are fetched

  void print(std::string_view line) const {
    if (bar != nullptr) bar->hide();
    options.print(fmt::format("{}: {}", name.name(), line));
  }
};

Result<Source> open_source(const Pull& pull, const RepositoryName& name) {
  if (!pull.options.mirror.empty()) {
    SIGNALBOX_TRY(MirroredRepository found, find_in_mirror(pull.options.mirror, name));
    return Source(std::move(found));
  }
  SIGNALBOX_TRY(HubSettings settings, hub_settings_from_environment());
  settings.print = [&pull](std::string_view line) { pull.print(line); };
  const HubClient client(std::move(settings));
  SIGNALBOX_TRY(Repository listing, client.list(name, pull.staging));
  if (listing.id.empty()) listing.id = name.id;
  // A renamed repository states its new name, which goes into addresses and must be one.
  SIGNALBOX_TRY_VOID(parse_repository_name(listing.id));
  return Source(client, std::move(listing));
}

// Takes a file over from the installed model if it is the same one.
bool reuse(const Pull& pull, const RepositoryFile& file, const fs::path& to) {
  const RepositoryFile* const old = pull.before ? pull.before->find(file.path) : nullptr;
  if (old == nullptr || old->bytes != file.bytes) return false;
  const fs::path from = pull.target / file.path;
  if (!check_file(from, *old) || !check_file(from, file)) return false;
  std::error_code error;
  fs::remove(to, error);
  fs::create_hard_link(from, to, error);
  if (error) fs::copy_file(from, to, error);
  return !error;
}

// The digests of a commit cannot change. If they do, the hub or the receipt is wrong. Files of a
// GLiNER's encoder have a commit of their own and may change, but not unnoticed.
Result<void> compare_with_receipt(const Pull& pull, const RepositoryFile& fetched) {
  if (!pull.before || pull.before->commit != pull.receipt.commit) return {};
  const RepositoryFile* const old = pull.before->find(fetched.path);
  const bool is_converted = !pull.before->converted_from.empty() && fetched.path == kWeightsFile;
  if (old == nullptr || is_converted || old->sha256 == fetched.sha256) return {};
  return fail(Code::kCorrupt,
              "{}: sha256 {} was recorded for this file when it was first fetched; the file that "
              "comes now has {}. Remove {} to accept it",
              fetched.path, old->sha256, fetched.sha256, pull.target.string());
}

// Fetches one file into the staging folder and adds it to the receipt.
Result<void> fetch_file(Pull& pull, const Source& source, RepositoryFile file,
                        const std::function<void(uint64_t)>& progress) {
  const fs::path to = pull.staging / file.path;
  SIGNALBOX_TRY_VOID(make_folder(to.parent_path()));
  if (!reuse(pull, file, to)) SIGNALBOX_TRY_VOID(source.fetch(file, to, progress));
  if (!file.sha256.empty() || !file.git_sha.empty()) pull.receipt.checked.push_back(file.path);
  SIGNALBOX_TRY(const auto content, MappedFile::open(to));
  file.sha256 = sha256_hex(content.text());
  SIGNALBOX_TRY_VOID(compare_with_receipt(pull, file));
  pull.receipt.files.push_back(std::move(file));
  return {};
}

Result<void> fetch_files(Pull& pull, const Source& source, const std::vector<std::string>& paths) {
  uint64_t total = 0;
  for (const std::string& path : paths) total += source.listing().find(path)->bytes;
  ProgressBar bar(pull.name.name(), total);
  pull.bar = &bar;
  uint64_t done = 0;
  Result<void> fetched;
  for (size_t i = 0; i < paths.size() && fetched; ++i) {
    const RepositoryFile& file = *source.listing().find(paths[i]);
    bar.show(done);
    fetched = fetch_file(pull, source, file, [&](uint64_t bytes) { bar.show(done + bytes); });
    if (fetched && InterruptGuard::signal_seen() != 0)
      fetched = fail(Code::kCancelled, "interrupted");
    done += file.bytes;
  }
  pull.bar = nullptr;
  return fetched;
}

// Fetches the configuration and the tokenizer of a GLiNER's encoder from the encoder's own
// repository if the GLiNER's lacks them, as published ones do. Their weights include the encoder's.
Result<void> fetch_from_encoder(Pull& pull) {
  // An interrupted pull may have left files that are not in the receipt yet.
  const auto is_there = [&](std::string_view name) { return pull.receipt.find(name) != nullptr; };
  if (!is_there(kGlinerFile)) return {};
  SIGNALBOX_TRY(const auto config, weights::HfConfig::open(pull.staging / kGlinerFile));
  SIGNALBOX_TRY(const auto inner, config.root().object("encoder_config"));
  const bool has_config = inner || is_there(kConfigFile);
  const bool has_tokenizer =
      is_there(kTokenizerFile) || std::ranges::any_of(kVocabularyFiles, is_there);
  SIGNALBOX_TRY(const std::string id, config.root().string("model_name", ""));
  const auto encoder = parse_repository_name(id);
  // Without the encoder's name, the engine reports what is missing.
  if ((has_config && has_tokenizer) || !encoder) return {};
  pull.print(fmt::format("its encoder is {}, which is needed too", id));
  SIGNALBOX_TRY(const Source source, open_source(pull, *encoder));
  std::vector<std::string> paths;
  const auto add = [&](const std::string& path) {
    if (source.listing().find(path) != nullptr && !is_there(path)) paths.push_back(path);
  };
  if (!has_config) add(kConfigFile);
  if (!has_tokenizer) {
    for (const std::string& path : tokenizer_files(source.listing())) add(path);
    add(kTokenizerConfigFile);
    add(kSpecialTokensFile);
  }
  return fetch_files(pull, source, paths);
}

// Returns the files of the weights. If there is an index, it has been fetched and lists them.
Result<std::vector<std::string>> weight_files(const Pull& pull, const Selection& selection,
                                              const Source& source) {
  std::vector<std::string> out = selection.more_weights;
  if (!selection.is_index()) {
    out.insert(out.begin(), selection.weights);
    return out;
  }
  SIGNALBOX_TRY(const auto index, weights::ShardIndex::open(pull.staging / selection.weights));
  for (const fs::path& file : index.files()) {
    out.push_back(file.filename().string());
    if (source.listing().find(out.back()) != nullptr) continue;
    return fail(Code::kCorrupt, "{} lists {}, which the repository does not have",
                selection.weights, out.back());
  }
  return out;
}

// Returns the repository that an adapter extends.
Result<RepositoryName> base_of(const Pull& pull) {
  SIGNALBOX_TRY(const auto config, weights::HfConfig::open(pull.staging / "adapter_config.json"));
  SIGNALBOX_TRY(const std::string base, config.root().string("base_model_name_or_path", ""));
  auto name = parse_repository_name(base);
  if (name) return *std::move(name);
  return fail(
      Code::kUnsupported,
      "adapter_config.json: base_model_name_or_path: \"{}\" is not a repository of the hub, "
      "so the adapter's base model is unknown",
      base);
}

Result<void> pull_base(const Pull& pull) {
  SIGNALBOX_TRY(const RepositoryName base, base_of(pull));
  if (pull.options.is_base) {
    return fail(Code::kUnsupported, "an adapter cannot be the base model of another one");
  }
  std::error_code ignored;
  if (fs::exists(pull.options.to / base.name() / kConfigFile, ignored)) return {};
  pull.print(fmt::format("an adapter of {}, which is needed too", base.id));
  if (base.name() == pull.name.name()) {
    return fail(Code::kUnsupported, "the adapter has the same name as its base model {}", base.id);
  }
  PullRepositoryOptions options = pull.options;
  options.is_base = true;
  return pull_repository(base, options);
}

// Moves the receipt first and the configuration last. So a directory with a configuration is
// complete, and after an interruption the receipt lists the files that are still missing.
Result<void> install_files(const Pull& pull) {
  SIGNALBOX_TRY_VOID(write_receipt(pull.target, pull.receipt));
  std::vector<std::string> paths;
  for (const RepositoryFile& file : pull.receipt.files) paths.push_back(file.path);
  std::stable_partition(paths.begin(), paths.end(), [](const std::string& path) {
    return path != kConfigFile && path != kGlinerFile;
  });
  std::error_code error;
  for (const std::string& path : paths) {
    const fs::path to = pull.target / path;
    SIGNALBOX_TRY_VOID(make_folder(to.parent_path()));
    fs::permissions(pull.staging / path, fs::perms(0644), error);
    fs::rename(pull.staging / path, to, error);
    if (error) return fail(Code::kIo, "{}: {}", to.string(), error.message());
  }
  if (pull.before) {
    for (const RepositoryFile& file : pull.before->files) {
      if (std::ranges::find(paths, file.path) == paths.end())
        fs::remove(pull.target / file.path, error);
    }
  }
  return {};
}

// Reads the receipt of the installed model. kInvalid if another repository is installed there.
Result<void> read_installed(Pull& pull) {
  std::error_code ignored;
  SIGNALBOX_TRY(pull.before, read_receipt(pull.target));
  const auto is_there = [&](const char* file) { return fs::exists(pull.target / file, ignored); };
  if (!pull.before && !is_there(kConfigFile) && !is_there(kGlinerFile) &&
      !is_there("adapter_config.json"))
    return {};
  if (!pull.before) {
    return fail(
        Code::kInvalid,
        "{} holds a model that this command has not put there; remove it, or choose another "
        "folder with --to",
        pull.target.string());
  }
  if (!ascii::iequals(pull.before->id, pull.name.id)) {
    return fail(Code::kInvalid, "{} holds {}; choose another folder with --to",
                pull.target.string(), pull.before->id);
  }
  const std::vector<std::string> damage = find_damage(pull.target, *pull.before, false);
  for (const std::string& line : damage) pull.print(fmt::format("{}; fetching it again", line));
  pull.is_damaged = !damage.empty();
  return {};
}

// Returns true if the installed files are those of the commit; "": of any commit.
bool is_installed(const Pull& pull, std::string_view commit) {
  if (!pull.before || pull.is_damaged) return false;
  if (!commit.empty() && commit != pull.before->commit) return false;
  pull.print(fmt::format("nothing to fetch, {} files verified in {}", pull.before->files.size(),
                         pull.target.string()));
  return true;
}

// Removes files of another commit that an interrupted pull has left in the staging folder.
Result<void> prepare_staging(const Pull& pull, const std::string& commit) {
  const fs::path note = pull.staging / ".commit";
  const auto left = read_file(note, 64);
  std::error_code error;
  if (!left || *left != commit) fs::remove_all(pull.staging, error);
  return write_file(note, commit);
}

Result<void> pull_in_steps(Pull& pull) {
  SIGNALBOX_TRY_VOID(read_installed(pull));
  const std::string& requested = pull.name.revision;
  if ((requested.empty() || is_commit(requested)) && is_installed(pull, requested)) return {};
  SIGNALBOX_TRY_VOID(make_folder(pull.staging));
  RepositoryName wanted = pull.name;
  if (requested.empty() && pull.before) wanted.revision = pull.before->commit;
  SIGNALBOX_TRY(const Source source, open_source(pull, wanted));
  const Repository& listing = source.listing();
  if (!listing.commit.empty() && is_installed(pull, listing.commit)) return {};
  SIGNALBOX_TRY_VOID(prepare_staging(pull, listing.commit));
  pull.receipt.id = pull.name.id;
  pull.receipt.commit = listing.commit;
  SIGNALBOX_TRY(const Selection selection, select_files(listing));
  SIGNALBOX_TRY_VOID(fetch_files(pull, source, selection.settings));
  SIGNALBOX_TRY_VOID(fetch_from_encoder(pull));
  const bool is_adapter = selection.kind == Selection::Weights::kAdapter;
  SIGNALBOX_TRY_VOID(is_adapter ? pull_base(pull) : check_architecture(pull.staging));
  SIGNALBOX_TRY(const std::vector<std::string> weights, weight_files(pull, selection, source));
  uint64_t bytes = 0;
  for (const std::string& path : weights) bytes += listing.find(path)->bytes;
  pull.print(fmt::format("fetching {} of weights{}{}; licence: {}", bytes_text(bytes),
                         listing.commit.empty() ? "" : " of commit ", listing.commit,
                         listing.licence.empty() ? "not stated" : listing.licence));
  SIGNALBOX_TRY_VOID(fetch_files(pull, source, weights));
  SIGNALBOX_TRY(const VocabularyChoice vocabulary, vocabulary_of(pull.staging));
  if (needs_conversion(selection, vocabulary)) {
    pull.print(fmt::format("converting {}", selection.weights));
    SIGNALBOX_TRY_VOID(convert_in_place(pull.staging, selection, weights, pull.receipt));
  }
  SIGNALBOX_TRY_VOID(check_opens(pull.staging));
  std::error_code ignored;
  if (!is_adapter && !fs::exists(pull.staging / kTokenizerFile, ignored)) {
    pull.print(fmt::format(
        "the repository has no tokenizer.json, so the model reads token ids but no text "
        "({})",
        vocabulary.reason));
  }
  SIGNALBOX_TRY_VOID(install_files(pull));
  pull.print(fmt::format("{} files fetched and verified in {}; the engine opens the model",
                         pull.receipt.files.size(), pull.target.string()));
  return {};
}

// Keeps only the files that an interrupted download has fetched.
void clean_up(const Pull& pull, const Error& error) {
  std::error_code ignored;
  const bool can_continue = error.code == Code::kCancelled || error.code == Code::kUpstream;
  if (!can_continue) fs::remove_all(pull.staging, ignored);
  fs::remove(pull.target, ignored);  // only if it is empty
}

}  // namespace

Result<void> pull_repository(const RepositoryName& name, const PullRepositoryOptions& options) {
  Pull pull{.name = name,
            .options = options,
            .target = options.to / name.name(),
            .staging = options.to / fmt::format(".{}.partial", name.name()),
            .before = {}};
  SIGNALBOX_TRY_VOID(make_folder(pull.target));
  SIGNALBOX_TRY(const auto lock, DirectoryLock::take(pull.target));
  auto done = pull_in_steps(pull);
  std::error_code ignored;
  if (done) fs::remove_all(pull.staging, ignored);
  if (done) return {};
  clean_up(pull, done.error());
  const std::string prefix = name.text() + ": ";
  if (done.error().message.starts_with(prefix)) return done;
  return fail_in(name.text(), std::move(done).error());
}

}  // namespace signalbox::tools
