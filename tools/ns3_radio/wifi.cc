// An 802.11 neighbourhood of senders and receivers with given received powers, saturated or at a given rate.
//
// Reads a description from standard input, one word and its values a line (see cells.py), and prints the bytes of IP
// packets that each flow delivered between `from` and `until`.

#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/wifi-module.h"

#include <iostream>
#include <vector>

using namespace ns3;

namespace
{

struct FlowSpec
{
    uint32_t from;
    uint32_t to;
    uint32_t bytes;
    double bitsPerSecond;
    uint32_t priority;
};

std::vector<uint64_t> g_bytes;
double g_from = 2;

void
Received(uint32_t flow, Ptr<const Packet> packet, const Address&)
{
    if (Simulator::Now().GetSeconds() >= g_from)
    {
        g_bytes[flow] += packet->GetSize();
    }
}

} // namespace

int
main()
{
    std::string standard = "g";
    std::string manager = "constant";
    std::string mode = "ErpOfdmRate54Mbps";
    std::string control = "ErpOfdmRate24Mbps";
    std::string channelSettings = "{1, 20, BAND_2_4GHZ, 0}";
    uint32_t nodes = 0;
    uint32_t seed = 1;
    uint32_t rtsAbove = 4692480;
    uint32_t ampdu = 65535;
    double until = 12;
    bool categories = false;
    bool txops = true;
    bool agreements = false;
    double defaultDbm = -150;
    const double powerDbm = 16;
    std::vector<std::tuple<uint32_t, uint32_t, double>> powers;
    std::vector<FlowSpec> flows;
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1000)));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue("100p"));
    std::string word;
    while (std::cin >> word)
    {
        if (word == "standard")
            std::cin >> standard;
        else if (word == "manager")
            std::cin >> manager;
        else if (word == "mode")
            std::cin >> mode;
        else if (word == "control")
            std::cin >> control;
        else if (word == "nodes")
            std::cin >> nodes;
        else if (word == "seed")
            std::cin >> seed;
        else if (word == "rts_above")
            std::cin >> rtsAbove;
        else if (word == "ampdu")
            std::cin >> ampdu;
        else if (word == "from")
            std::cin >> g_from;
        else if (word == "until")
            std::cin >> until;
        else if (word == "channel")
            std::cin >> channelSettings;
        else if (word == "categories")
            categories = true;
        else if (word == "no_txops")
            txops = false;
        else if (word == "agreements")
            agreements = true;
        else if (word == "default")
        {
            std::string name;
            std::string value;
            std::cin >> name >> value;
            Config::SetDefault(name, StringValue(value));
        }
        else if (word == "power")
        {
            uint32_t a;
            uint32_t b;
            double dbm;
            std::cin >> a >> b >> dbm;
            powers.emplace_back(a, b, dbm);
        }
        else if (word == "flow")
        {
            FlowSpec flow;
            std::cin >> flow.from >> flow.to >> flow.bytes >> flow.bitsPerSecond >> flow.priority;
            flows.push_back(flow);
        }
        else
        {
            std::cerr << "unknown word " << word << "\n";
            return 2;
        }
    }
    RngSeedManager::SetRun(seed);
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(rtsAbove));

    NodeContainer container;
    container.Create(nodes);
    MobilityHelper mobility;
    mobility.SetPositionAllocator("ns3::GridPositionAllocator", "DeltaX", DoubleValue(1), "GridWidth", UintegerValue(100));
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(container);

    auto loss = CreateObject<MatrixPropagationLossModel>();
    loss->SetDefaultLoss(powerDbm - defaultDbm);
    for (const auto& [a, b, dbm] : powers)
    {
        loss->SetLoss(container.Get(a)->GetObject<MobilityModel>(), container.Get(b)->GetObject<MobilityModel>(), powerDbm - dbm);
    }
    auto channel = CreateObject<YansWifiChannel>();
    channel->SetPropagationLossModel(loss);
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());

    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    phy.Set("ChannelSettings", StringValue(channelSettings));
    phy.Set("TxPowerStart", DoubleValue(powerDbm));
    phy.Set("TxPowerEnd", DoubleValue(powerDbm));
    phy.SetFrameCaptureModel("ns3::SimpleFrameCaptureModel");
    phy.SetErrorRateModel("ns3::TableBasedErrorRateModel");

    WifiHelper wifi;
    const bool aggregates = standard == "n" || standard == "ax";
    const bool fiveGhz = channelSettings.find("BAND_5GHZ") != std::string::npos;
    wifi.SetStandard(standard == "ax" ? WIFI_STANDARD_80211ax
                                      : (standard == "n" ? WIFI_STANDARD_80211n : WIFI_STANDARD_80211g));
    if (manager == "constant")
    {
        wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                     "DataMode",
                                     StringValue(mode),
                                     "ControlMode",
                                     StringValue(control));
    }
    else
    {
        wifi.SetRemoteStationManager(manager);
    }
    WifiMacHelper mac;
    if (aggregates)
    {
        mac.SetType("ns3::AdhocWifiMac",
                    "QosSupported",
                    BooleanValue(true),
                    "BE_MaxAmpduSize",
                    UintegerValue(ampdu),
                    "BK_MaxAmpduSize",
                    UintegerValue(ampdu),
                    "VI_MaxAmpduSize",
                    UintegerValue(ampdu));
    }
    else
    {
        mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(categories));
    }
    NetDeviceContainer devices = wifi.Install(phy, mac, container);
    wifi.AssignStreams(devices, 1000);
    for (uint32_t i = 0; i < devices.GetN(); ++i)
    {
        auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        device->GetPhy()->SetSlot(MicroSeconds(9));
        device->GetPhy()->SetSifs(MicroSeconds(fiveGhz ? 16 : 10));
        for (auto category : {AC_VO, AC_VI})
        {
            if (!txops)
            {
                device->GetMac()->GetQosTxop(category)->SetTxopLimit(Seconds(0));
            }
        }
    }

    PacketSocketHelper sockets;
    sockets.Install(container);
    g_bytes.resize(flows.size());
    for (uint32_t i = 0; i < flows.size(); ++i)
    {
        const auto& flow = flows[i];
        PacketSocketAddress address;
        address.SetSingleDevice(devices.Get(flow.from)->GetIfIndex());
        address.SetPhysicalAddress(devices.Get(flow.to)->GetAddress());
        address.SetProtocol(i + 1);
        auto client = CreateObject<PacketSocketClient>();
        client->SetAttribute("PacketSize", UintegerValue(flow.bytes));
        client->SetAttribute("MaxPackets", UintegerValue(0));
        client->SetAttribute("Interval", TimeValue(Seconds(flow.bytes * 8 / flow.bitsPerSecond)));
        client->SetAttribute("Priority", UintegerValue(flow.priority));
        client->SetRemote(address);
        container.Get(flow.from)->AddApplication(client);
        client->SetStartTime(Seconds(0.1 + 0.0011 * i + 0.000013 * seed));
        if (agreements)
        {
            // Several packets at once: a BlockAck agreement is set up for a queue of more than one.
            auto first = CreateObject<PacketSocketClient>();
            first->SetAttribute("PacketSize", UintegerValue(flow.bytes));
            first->SetAttribute("MaxPackets", UintegerValue(5));
            first->SetAttribute("Interval", TimeValue(MicroSeconds(1)));
            first->SetAttribute("Priority", UintegerValue(flow.priority));
            first->SetRemote(address);
            container.Get(flow.from)->AddApplication(first);
            first->SetStartTime(Seconds(0.02 * (i + 1)));
        }
        auto server = CreateObject<PacketSocketServer>();
        PacketSocketAddress local;
        local.SetSingleDevice(devices.Get(flow.to)->GetIfIndex());
        local.SetProtocol(i + 1);
        server->SetLocal(local);
        server->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, i));
        container.Get(flow.to)->AddApplication(server);
        server->SetStartTime(Seconds(0.01));
    }
    Simulator::Stop(Seconds(until));
    Simulator::Run();
    for (uint64_t bytes : g_bytes)
    {
        std::cout << bytes << "\n";
    }
    Simulator::Destroy();
    return 0;
}
