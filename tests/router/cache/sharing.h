#pragma once
// Tests answers that two routers share through any kind of server.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>

#include "router/cache/remote_store.h"

namespace signalbox::cache {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The time limit of look-ups that must reach the server, however busy the machine is.
inline constexpr milliseconds kPatient{15'000};

inline TimePoint now() {
  return TimePoint::clock::now();
}

inline Entry entry(std::string id, std::vector<float> vector, std::string reply = "{}") {
  Entry out;
  out.id = std::move(id);
  out.partition = "00ff";
  out.question = "who is " + out.id;
  out.vector = std::move(vector);
  out.reply = std::move(reply);
  out.model = "m";
  out.created = now();
  out.expires = now() + seconds(60);
  return out;
}

inline bool comes_true(const std::function<bool()>& what) {
  for (int i = 0; i < 3000; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return false;
}

inline bool has(Store& store, std::string_view id) {
  const auto found = store.find(id, now());
  return found && *found != nullptr;
}

/// Returns whether the server has the answer, as opposed to only the router that will write it.
inline bool is_kept(Remote& remote, std::string_view id) {
  const auto found = remote.get(id);
  return found && *found;
}

inline size_t near(Store& store, const std::vector<float>& x) {
  return store.nearest("00ff", x, 0.9, 5, now())->size();
}

/// The expectations that hold for every kind of server.
inline void expect_sharing(const std::function<std::unique_ptr<Remote>()>& remote) {
  RemoteStore first(remote(), {}), second(remote(), {});
  ASSERT_TRUE(first.put(entry("a", {1, 0}, std::string("{\"x\":\"\0y\"}", 11)), now()));
  ASSERT_TRUE(comes_true([&] { return has(second, "a"); }));
  EXPECT_EQ((*second.find("a", now()))->reply, std::string("{\"x\":\"\0y\"}", 11));
  ASSERT_TRUE(comes_true([&] { return near(second, {1, 0}) == 1; }));
  const auto found = second.nearest("00ff", std::vector<float>{1, 0}, 0.9, 5, now());
  EXPECT_EQ(found->front().entry->question, "who is a");
  EXPECT_EQ(found->front().entry->reply, "");
  EXPECT_EQ(near(second, {0, 1}), 0U);

  // A router that starts later finds the answer, too.
  RemoteStore third(remote(), {});
  EXPECT_TRUE(comes_true([&] { return near(third, {1, 0}) == 1; }));
  EXPECT_EQ(third.list({}, 10, now())->size(), 1U);

  ASSERT_TRUE(first.put(entry("a", {0, 1}, "[]"), now()));
  EXPECT_TRUE(comes_true([&] {
    const auto changed = third.find("a", now());  // an error if the server is slow
    return changed && *changed && (*changed)->reply == "[]";
  }));
  EXPECT_EQ(*second.remove_all({.model = "m"}, now()), 1U);
  EXPECT_TRUE(comes_true([&] { return !has(first, "a") && !has(third, "a"); }));
  EXPECT_TRUE(comes_true([&] { return near(first, {1, 0}) + near(first, {0, 1}) == 0; }));

  Entry brief = entry("b", {1, 0});
  brief.expires = now() + milliseconds(300);
  ASSERT_TRUE(first.put(std::move(brief), now()));
  EXPECT_TRUE(comes_true([&] { return !has(second, "b"); }));
}

}  // namespace signalbox::cache
