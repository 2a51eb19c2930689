// A node for tests of readers: greets, opens one table, and otherwise does what its
// script says. Serves every connection on a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"
#include "wire/listener.h"
#include "wire/message.h"

namespace forebay::testing_support {

class ScriptedNode {
 public:
  struct Connection {
    size_t number = 0;  // counted from 0
    wire::Channel* channel = nullptr;
    uint64_t request = 0;  // being served

    void Answer(wire::Message message, const std::vector<int>& fds = {}) const {
      (void)channel->Send(wire::Encode({request, std::move(message)}), fds, Soon());
    }
    void Tell(wire::Message event) const {
      (void)channel->Send(wire::Encode({0, std::move(event)}), {}, Soon());
    }
  };
  // False hangs up. Called for every message, by the connection's thread.
  using Script = std::function<bool(const Connection&, const wire::Message&)>;

  ScriptedNode(const std::string& socket, Script script)
      : listener_(wire::Listener::At(socket).ValueOrDie()), script_(std::move(script)) {
    thread_ = std::thread([this] { Run(); });
  }
  ~ScriptedNode() {
    stopping_ = true;
    thread_.join();
    for (auto& served : served_) served.channel.Shutdown();
    for (auto& served : served_) served.thread.join();
  }

  static Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }

  // What readers said, in order: the connection and the message.
  std::vector<std::pair<size_t, wire::Message>> heard() {
    std::lock_guard lock(mutex_);
    return heard_;
  }
  // The messages of one type, on one connection.
  template <typename T>
  std::vector<T> Heard(size_t connection) {
    std::vector<T> found;
    for (auto& [number, message] : heard()) {
      auto* one = std::get_if<T>(&message);
      if (number == connection && one != nullptr) found.push_back(*one);
    }
    return found;
  }
  size_t connection_count() {
    std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  struct Served {
    explicit Served(wire::Channel opened) : channel(std::move(opened)) {}
    wire::Channel channel;
    std::thread thread;
  };

  void Run() {
    while (!stopping_) {
      auto channel = listener_.Accept(Deadline::After(milliseconds(20)));
      if (!channel.ok() || !*channel) continue;
      Served& served = served_.emplace_back(**std::move(channel));
      std::lock_guard lock(mutex_);
      served.thread =
          std::thread([this, &served, number = count_++] { Serve(served, number); });
    }
  }
  void Serve(Served& served, size_t number) {
    Connection connection{.number = number, .channel = &served.channel};
    for (;;) {
      auto packet = served.channel.Receive(Deadline::Never());
      if (!packet.ok()) return;
      wire::Envelope envelope = wire::Decode(packet->bytes).ValueOrDie();
      {
        std::lock_guard lock(mutex_);
        heard_.emplace_back(number, envelope.message);
      }
      connection.request = envelope.request;
      if (script_(connection, envelope.message)) continue;
      served.channel.Shutdown();
      return;
    }
  }

  wire::Listener listener_;
  Script script_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::vector<std::pair<size_t, wire::Message>> heard_;
  size_t count_ = 0;
  std::list<Served> served_;
  std::thread thread_;
};

}  // namespace forebay::testing_support
