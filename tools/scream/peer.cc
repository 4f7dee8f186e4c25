// Calls of video whose rate Ericsson's SCReAM adapts, in virtual time over one bottleneck. cells.py builds it beside the
// sources of github.com/EricssonResearch/scream, of which it uses ScreamV2Tx, ScreamRx and RtpQueue.
//
// Standard input has a line for each setting: `rate T MBPS` (from T on), `delay S` (one way), `capacity PACKETS`,
// `mark_above PACKETS`, `loss P`, `flow START`, `max_rate BPS`, `until S`, `seed N`, and for the control `head_room`,
// `increase`, `pacing_scale` and `adaptive_window`. Standard output has a line for each packet: time at which its last bit
// leaves the line, flow, seconds since it arrived there, bytes of the datagram, fate (0 delivered, 1 dropped, 2 lost, 3 delivered with a mark);
// and `T`, time, flow and target rate for each frame.
//
// Encoder: RFC 8593, section 5, with the parameters of the workload `adaptive-video`. The receiver reports every 40 ms.
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "RtpQueue.h"
#include "ScreamRx.h"
#include "ScreamTx.h"

void packet_free(void*, uint32_t) {}

namespace
{
constexpr double START_S = 1.0; // zero means "never" to the control
constexpr int PAYLOAD = 978, RTP = 22, UDP = 28;
constexpr double FRAMES = 30.0, REPORT_S = 0.04, MIN_RATE = 150e3;
constexpr int REPORTED = 256; // packets of a report: more than arrive in 40 ms at 20 Mbit/s

struct Settings
{
    std::vector<std::pair<double, double>> rates;
    double delay = 0.025, loss = 0, until = 60, max_rate = 30e6;
    size_t capacity = 1000, mark_above = SIZE_MAX;
    bool is_l4s = false;
    std::vector<double> starts;
    unsigned seed = 1;
    float head_room = 1.5f, increase = 0.02f, pacing_scale = 1.0f;
    bool adaptive_window = false;
};

struct Packet
{
    size_t flow;
    int size;
    uint16_t number;
    uint32_t stamp;
    bool marker;
    double arrived;
    uint8_t ecn;
};

class Clock
{
  public:
    double now = START_S;

    void at(double time, std::function<void()> action)
    {
        m_events.emplace(std::make_pair(std::max(time, now), m_count++), std::move(action));
    }

    void run(double until)
    {
        while (!m_events.empty() && m_events.begin()->first.first < until)
        {
            now = m_events.begin()->first.first;
            auto action = std::move(m_events.begin()->second);
            m_events.erase(m_events.begin());
            action();
        }
    }

    uint32_t ntp() const { return static_cast<uint32_t>(now * 65536.0); }

  private:
    std::map<std::pair<double, uint64_t>, std::function<void()>> m_events;
    uint64_t m_count = 0;
};

// The statistical model of RFC 8593, section 5.
class Encoder
{
  public:
    explicit Encoder(unsigned seed) : m_random(seed) {}

    std::pair<int, double> encode(double target, double now)
    {
        if (target != m_rate && now >= m_changed + 0.2)
        {
            const double ratio = target / m_rate;
            if (ratio < 1 / 1.5 || ratio >= 1.5)
                m_burst = 8;
            m_rate = target;
            m_changed = now;
        }
        const double factor = m_burst == 0 ? 1 + laplace() : m_burst == 8 ? 3.24 : (8 - 3.24) / 7;
        m_burst -= m_burst > 0;
        const double size = std::max(10.0, m_rate / 8 / FRAMES * factor);
        return {static_cast<int>(size), std::max(0.1, 1 + laplace()) / FRAMES};
    }

  private:
    double laplace()
    {
        const double u = std::uniform_real_distribution<>(-0.5, 0.5)(m_random);
        return std::copysign(-0.15 * std::log(1 - 2 * std::abs(u)), u);
    }

    std::mt19937_64 m_random;
    double m_rate = MIN_RATE * PAYLOAD / (PAYLOAD + RTP), m_changed = START_S - 1;
    int m_burst = 8;
};

class Line
{
  public:
    Line(Clock& clock, const Settings& settings) : m_clock(clock), m_settings(settings), m_random(settings.seed + 1000) {}

    std::function<void(const Packet&)> deliver;

    void arrive(Packet packet)
    {
        packet.arrived = m_clock.now;
        if (m_waiting.size() >= m_settings.capacity)
            return print(packet, m_clock.now, 1);
        if (m_waiting.size() > m_settings.mark_above)
            packet.ecn = 3;
        m_waiting.push_back(packet);
        if (!m_busy)
            serve();
    }

  private:
    void print(const Packet& one, double at, int fate)
    {
        std::printf("%.6f %zu %.6f %d %d\n", at - START_S, one.flow, at - one.arrived, one.size, fate);
    }

    void serve()
    {
        m_busy = !m_waiting.empty();
        if (!m_busy)
            return;
        Packet one = m_waiting.front();
        m_waiting.pop_front();
        const bool is_lost = std::uniform_real_distribution<>()(m_random) < m_settings.loss;
        double rate = 0;
        for (const auto& step : m_settings.rates)
            if (m_clock.now - START_S >= step.first)
                rate = step.second;
        const double sent = m_clock.now + (one.size + UDP) * 8 / rate;
        print(one, sent, is_lost ? 2 : one.ecn == 3 ? 3 : 0);
        m_clock.at(sent, [this] { serve(); });
        if (!is_lost)
            m_clock.at(sent + m_settings.delay, [this, one] { deliver(one); });
    }

    Clock& m_clock;
    const Settings& m_settings;
    std::mt19937_64 m_random;
    std::deque<Packet> m_waiting;
    bool m_busy = false;
};

class Call
{
  public:
    Call(Clock& clock, const Settings& settings, Line& line, size_t index)
        : m_clock(clock), m_settings(settings), m_line(line), m_index(index), m_encoder(settings.seed * 16 + index),
          m_tx(0.7f, 0.8f, 0.06f, 3000, 1.5f, settings.pacing_scale, settings.head_room, settings.increase,
               settings.is_l4s, 3.0f, false, false),
          m_rx(0, -1, REPORTED)
    {
        m_tx.setCwndMinLow(3000);
        m_tx.enablePacketPacing(true);
        m_tx.enableRelaxedPacing(true);
        m_tx.isEnableAdaptiveWindowHeadroom(settings.adaptive_window);
        m_tx.registerNewStream(&m_queue, 1, 1.0f, MIN_RATE, MIN_RATE, settings.max_rate, 1e6f, false, 0.0f, true);
        m_clock.at(START_S + settings.starts[index], [this] { frame(); });
    }

    void receive(const Packet& one)
    {
        if (!m_reports)
        {
            m_reports = true;
            m_clock.at(m_clock.now + REPORT_S, [this] { report(); });
        }
        m_rx.receive(m_clock.ntp(), nullptr, 1, one.size, one.number, one.ecn, one.marker, one.stamp);
    }

  private:
    void frame()
    {
        const float target = m_tx.getTargetBitrate(m_clock.ntp(), 1);
        if (target > 0) // negative: a frame was lost
            m_target = target;
        std::printf("T %.6f %zu %.0f\n", m_clock.now - START_S, m_index, m_target);
        const auto [bytes, interval] = m_encoder.encode(m_target * PAYLOAD / (PAYLOAD + RTP), m_clock.now);
        const auto stamp = static_cast<uint32_t>(m_clock.now * 90000);
        int total = 0;
        for (int left = bytes; left > 0; left -= PAYLOAD)
        {
            const int size = std::min(PAYLOAD, left) + RTP;
            m_queue.push(nullptr, size, 1, m_number++, left <= PAYLOAD, static_cast<float>(m_clock.now), stamp);
            total += size;
        }
        m_queue.setSizeOfLastFrame(total);
        m_tx.newMediaFrame(m_clock.ntp(), 1, total, true);
        m_clock.at(m_clock.now + interval, [this] { frame(); });
        send();
    }

    void send()
    {
        uint32_t ssrc = 1;
        const float wait = m_tx.isOkToTransmit(m_clock.ntp(), ssrc);
        if (wait != 0)
            return wake(wait > 0 ? wait : 0.02);
        Packet one{m_index, 0, 0, 0, false, 0, static_cast<uint8_t>(m_settings.is_l4s ? 1 : 0)};
        void* data = nullptr;
        const float delay = m_queue.getDelay(static_cast<float>(m_clock.now));
        m_queue.sendPacket(&data, one.size, ssrc, one.number, one.marker, one.stamp);
        const float next = m_tx.addTransmitted(m_clock.ntp(), 1, one.size, one.number, one.marker, delay, one.stamp);
        m_line.arrive(one);
        wake(next);
    }

    // A later call of send() replaces an earlier one.
    void wake(double wait)
    {
        const uint64_t token = ++m_token;
        m_clock.at(m_clock.now + std::max(wait, 1.0 / 65536), [this, token] {
            if (token == m_token)
                send();
        });
    }

    void report()
    {
        m_clock.at(m_clock.now + REPORT_S, [this] { report(); });
        auto buffer = std::make_shared<std::vector<unsigned char>>(4096);
        int size = 0;
        while (m_rx.isFeedback(m_clock.ntp()) &&
               m_rx.createStandardizedFeedback(m_clock.ntp(), true, buffer->data(), size))
        {
            m_clock.at(m_clock.now + m_settings.delay, [this, buffer, size] {
                m_tx.incomingStandardizedFeedback(m_clock.ntp(), buffer->data(), size);
                send();
            });
            buffer = std::make_shared<std::vector<unsigned char>>(4096);
        }
    }

    Clock& m_clock;
    const Settings& m_settings;
    Line& m_line;
    const size_t m_index;
    Encoder m_encoder;
    RtpQueue m_queue;
    ScreamV2Tx m_tx;
    ScreamRx m_rx;
    double m_target = MIN_RATE;
    uint16_t m_number = 1;
    uint64_t m_token = 0;
    bool m_reports = false;
};

Settings
read_settings()
{
    Settings settings;
    std::string key;
    while (std::cin >> key)
    {
        double value, rate;
        std::cin >> value;
        if (key == "rate" && std::cin >> rate)
            settings.rates.emplace_back(value, rate * 1e6);
        else if (key == "delay")
            settings.delay = value;
        else if (key == "capacity")
            settings.capacity = value;
        else if (key == "mark_above")
            settings.mark_above = value, settings.is_l4s = true;
        else if (key == "loss")
            settings.loss = value;
        else if (key == "flow")
            settings.starts.push_back(value);
        else if (key == "max_rate")
            settings.max_rate = value;
        else if (key == "until")
            settings.until = value;
        else if (key == "seed")
            settings.seed = value;
        else if (key == "head_room")
            settings.head_room = value;
        else if (key == "increase")
            settings.increase = value;
        else if (key == "pacing_scale")
            settings.pacing_scale = value;
        else if (key == "adaptive_window")
            settings.adaptive_window = value;
        else
            throw std::runtime_error("unknown setting " + key);
    }
    return settings;
}
} // namespace

int
main()
{
    const Settings settings = read_settings();
    Clock clock;
    Line line(clock, settings);
    std::vector<std::unique_ptr<Call>> calls;
    for (size_t index = 0; index < settings.starts.size(); index++)
        calls.push_back(std::make_unique<Call>(clock, settings, line, index));
    line.deliver = [&calls](const Packet& one) { calls[one.flow]->receive(one); };
    clock.run(START_S + settings.until);
    return 0;
}
