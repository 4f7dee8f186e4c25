// ns-3 LTE cell with full downlink queues, for the comparison of schedulers: one base station, users at rest at the given
// distances, no fading, no errors. Prints a row for each user: scheduler, resource blocks, number of users, distance, mean
// SINR and throughput of its transport blocks.
//
// Build, with the Debian package libns3-dev 3.37:
//   g++ -O2 -std=c++17 benches/peers/lte-cell.cc -o build/lte-cell-ns3 -Wl,--no-as-needed \
//     $(pkg-config --libs ns3-lte | tr ' ' '\n' | grep '^-l')
// The rows of known-answers/ns3-lte/cells.csv: benches/peers/lte-cell.sh
#include "ns3/core-module.h"
#include "ns3/lte-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

static std::map<uint16_t, std::pair<double, uint64_t>> g_sinr; // by RNTI: sum of dB, number

static void
OnSinr(uint16_t, uint16_t rnti, double, double sinr, uint8_t)
{
    auto& one = g_sinr[rnti];
    one.first += 10 * std::log10(sinr);
    one.second++;
}

int
main(int argc, char* argv[])
{
    std::string scheduler = "PfFfMacScheduler";
    std::string distances = "1000";
    uint32_t blocks = 100;
    double from = 1.0;
    double seconds = 10.0;
    CommandLine cmd;
    cmd.AddValue("scheduler", "class of the scheduler", scheduler);
    cmd.AddValue("distances", "distance of each user in m, separated by commas", distances);
    cmd.AddValue("blocks", "resource blocks", blocks);
    cmd.AddValue("seconds", "duration of the measurement, s", seconds);
    cmd.Parse(argc, argv);

    Config::SetDefault("ns3::LteSpectrumPhy::CtrlErrorModelEnabled", BooleanValue(false));
    Config::SetDefault("ns3::LteSpectrumPhy::DataErrorModelEnabled", BooleanValue(false));
    Config::SetDefault("ns3::LteHelper::UseIdealRrc", BooleanValue(true));
    Config::SetDefault("ns3::LteAmc::AmcModel", EnumValue(LteAmc::PiroEW2010));
    Config::SetDefault("ns3::LteEnbRrc::EpsBearerToRlcMapping", EnumValue(LteEnbRrc::RLC_SM_ALWAYS));
    // An SRS period fits all users of a scenario.
    Config::SetDefault("ns3::LteEnbRrc::SrsPeriodicity", UintegerValue(80));
    Config::SetDefault("ns3::RadioBearerStatsCalculator::StartTime", TimeValue(Seconds(from)));
    Config::SetDefault("ns3::RadioBearerStatsCalculator::EpochDuration", TimeValue(Seconds(seconds)));

    Ptr<LteHelper> lte = CreateObject<LteHelper>();
    lte->SetAttribute("PathlossModel", StringValue("ns3::FriisSpectrumPropagationLossModel"));
    lte->SetSchedulerType("ns3::" + scheduler);
    lte->SetSchedulerAttribute("UlCqiFilter", EnumValue(FfMacScheduler::PUSCH_UL_CQI));
    lte->SetEnbDeviceAttribute("DlBandwidth", UintegerValue(blocks));
    lte->SetEnbDeviceAttribute("UlBandwidth", UintegerValue(blocks));

    std::vector<double> places;
    std::stringstream list(distances);
    for (std::string one; std::getline(list, one, ',');)
    {
        places.push_back(std::stod(one));
    }
    NodeContainer enb;
    NodeContainer users;
    enb.Create(1);
    users.Create(places.size());
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(enb);
    mobility.Install(users);
    for (uint32_t n = 0; n < places.size(); n++)
    {
        users.Get(n)->GetObject<MobilityModel>()->SetPosition(Vector(places[n], 0, 0));
    }
    NetDeviceContainer enbDevice = lte->InstallEnbDevice(enb);
    NetDeviceContainer devices = lte->InstallUeDevice(users);
    enbDevice.Get(0)->GetObject<LteEnbNetDevice>()->GetPhy()->SetTxPower(30.0);
    enbDevice.Get(0)->GetObject<LteEnbNetDevice>()->GetPhy()->SetNoiseFigure(5.0);
    lte->Attach(devices, enbDevice.Get(0));
    lte->ActivateDataRadioBearer(devices, EpsBearer(EpsBearer::GBR_CONV_VOICE));
    for (uint32_t n = 0; n < places.size(); n++)
    {
        Ptr<LteUePhy> phy = devices.Get(n)->GetObject<LteUeNetDevice>()->GetPhy();
        phy->SetTxPower(23.0);
        phy->SetNoiseFigure(9.0);
        phy->TraceConnectWithoutContext("ReportCurrentCellRsrpSinr", MakeCallback(&OnSinr));
    }
    lte->EnableRlcTraces();
    Ptr<RadioBearerStatsCalculator> stats = lte->GetRlcStats();
    stats->SetAttribute("StartTime", TimeValue(Seconds(from)));
    stats->SetAttribute("EpochDuration", TimeValue(Seconds(seconds)));
    Simulator::Stop(Seconds(from + seconds) - MicroSeconds(1)); // the statistics are cleared at the end
    Simulator::Run();
    for (uint32_t n = 0; n < places.size(); n++)
    {
        Ptr<LteUeNetDevice> device = devices.Get(n)->GetObject<LteUeNetDevice>();
        auto sinr = g_sinr[device->GetRrc()->GetRnti()];
        double bytes = stats->GetDlRxData(device->GetImsi(), 3);
        std::printf("%s,%u,%zu,%.0f,%.3f,%.0f\n", scheduler.c_str(), blocks, places.size(), places[n],
                    sinr.first / sinr.second, bytes * 8 / seconds);
    }
    Simulator::Destroy();
    return 0;
}
