//! Media of 802.11 in scenarios: their plans, and their error messages.

use cwndlab_algorithms::catalogue;
use cwndlab_network::wifi::phy::{Format, Mode};
use cwndlab_network::wifi::{DscpMapping, Protection};
use cwndlab_scenario::plan::{Capacity, CategoryPlan, EdcaPlan, MediumTimePlan, Plan, StandardPlan};
use cwndlab_scenario::Scenario;
use cwndlab_units::{Duration, LinkId, Rate};

fn plan(text: &str) -> Result<Plan, String> {
    let join =
        |faults: Vec<cwndlab_units::Fault>| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let text = format!("schema_version = 1\nduration = \"10 s\"\n{text}");
    let scenario = Scenario::from_toml(&text, None).map_err(join)?;
    scenario.plan(&catalogue()).map(|(plan, _)| plan).map_err(join)
}

const WLAN: &str = "[wlan]\nstandard = \"802.11g\"\n";
const FLOW: &str = "[[flow]]\nalgorithm = \"cubic\"\nrtt = \"40 ms\"\n";
const CELL: &str = "[[medium]]\nname = \"cell\"\nstandard = \"802.11n\"\n";
const AIR: &str = "[[link]]\nfrom = \"ap\"\nto = \"sta\"\nmedium = \"cell\"\n";
const END: &str = "[[flow]]\nalgorithm = \"cubic\"\nfrom = \"ap\"\nto = \"sta\"\n";

/// `docs/scenario.md`: one server, one wire and one station per flow; the RTT of a flow is the delay of its wire.
#[test]
fn a_wireless_lan_has_a_station_for_every_flow() {
    let upload = FLOW.replace("rtt", "direction = \"upload\"\nrtt");
    let plan = plan(&format!("{WLAN}stations = [{{}}, {{ rate = \"6 Mbps\" }}]\n{FLOW}{upload}")).unwrap();
    let names = |route: &[LinkId]| route.iter().map(|&link| plan.link_name(link)).collect::<Vec<_>>();
    assert_eq!(names(&plan.flows[0.into()].forward), ["s0-ap", "ap-sta0"]);
    assert_eq!(names(&plan.flows[0.into()].reverse), ["sta0-ap", "ap-s0"]);
    assert_eq!(names(&plan.flows[1.into()].forward), ["sta1-ap", "ap-s1"]);
    assert_eq!(plan.flows[1.into()].base_rtt, Duration::from_millis(40));
    let link = |name: &str| plan.links.iter().find(|link| link.name(&plan.nodes) == name).unwrap();
    assert_eq!(link("ap-sta0").rate, Some(Rate::from_mbps(54)));
    assert_eq!(link("sta1-ap").radio.unwrap().mode, Mode::Ofdm { bits: 24 });
    assert_eq!(link("ap-sta1").capacity, Capacity::Packets(100));
    assert_eq!((plan.media.len(), plan.media[0].standard), (1, StandardPlan::ErpOfdm));
}

#[test]
fn a_graph_may_have_wired_and_radio_links() {
    let wire = "[[link]]\nfrom = \"server\"\nto = \"ap\"\nrate = \"100 Mbps\"\ndelay = \"20 ms\"\n";
    let flow = END.replace("\"ap\"", "\"server\"");
    let plan = plan(&format!("{CELL}mcs = 5\n{wire}{AIR}{flow}")).unwrap();
    assert_eq!(
        plan.links[2.into()].radio.unwrap().mode,
        Mode::Ht { mcs: 5, streams: 1, short_guard: false, format: Format::HT20 }
    );
    assert_eq!((plan.links[2.into()].rate, plan.link_name(3.into()).as_str()), (Some(Rate(52_000_000)), "sta-ap"));
    assert_eq!(plan.links[0.into()].radio, None);
}

/// `docs/scenario.md`: the mapping alone is a table without other fields.
#[test]
fn edca_is_a_mapping_or_a_table() {
    let edca = |text: &str| plan(&format!("{CELL}{text}\n{AIR}{END}")).unwrap().media[0].edca;
    assert_eq!(edca(""), None);
    let short = edca("edca = \"precedence\"").unwrap();
    assert_eq!(
        short,
        EdcaPlan {
            dscp_mapping: DscpMapping::Precedence,
            protection: Protection::Single,
            categories: Default::default(),
            admission: MediumTimePlan { limit: Duration::from_millis(750), surplus: 9011 },
        }
    );
    assert_eq!(edca("edca = { dscp_mapping = \"precedence\" }"), Some(short));
    let multiple = edca("edca = { dscp_mapping = \"precedence\", protection = \"multiple\" }");
    assert_eq!(multiple, Some(EdcaPlan { protection: Protection::Multiple, ..short }));
    let voice =
        CategoryPlan { aifsn: Some(1), txop_limit: Some(Duration::from_micros(2080)), ..CategoryPlan::default() };
    let long = edca("edca = { dscp_mapping = \"rfc8325\", voice = { aifsn = 1, txop_limit = \"2.08 ms\" } }").unwrap();
    assert_eq!(long.categories, [short.categories[0], short.categories[1], short.categories[2], voice]);
}

#[test]
fn each_fault_of_edca_has_its_message() {
    let cases = [
        (
            format!("{WLAN}edca = \"rfc8235\"\n{FLOW}"),
            "wlan.edca.dscp_mapping: 'rfc8235' is not a valid value\n  hint: did you mean 'rfc8325'?",
        ),
        (
            format!("{WLAN}edca = {{ dscp_mapping = \"rfc8325\", video = {{ aifsn = 0 }} }}\n{FLOW}"),
            "wlan.edca.video.aifsn: expected an integer from 1 to 15, got 0",
        ),
        (
            format!("{WLAN}edca = {{ dscp_mapping = \"rfc8325\", video = {{ cw_min = 31, cw_max = 15 }} }}\n{FLOW}"),
            "wlan.edca.video.cw_max: 15 is less than cw_min, 31",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(plan(&text).unwrap_err(), message, "{text}");
    }
}

#[test]
fn each_fault_of_a_mode_or_a_lifetime_has_its_message() {
    let cases = [
        (
            format!("{CELL}guard_interval = \"1.6 us\"\n{AIR}{END}"),
            "medium[0].guard_interval: is not part of this standard\n  hint: 802.11g uses rate; 802.11n and 802.11ac use mcs, streams and short_guard, up to MCS 7 and 9; 802.11ax uses mcs, streams and guard_interval",
        ),
        (
            format!("{}short_guard = true\n{AIR}{END}", CELL.replace("802.11n", "802.11ax")),
            "medium[0].short_guard: is not part of this standard\n  hint: 802.11g uses rate; 802.11n and 802.11ac use mcs, streams and short_guard, up to MCS 7 and 9; 802.11ax uses mcs, streams and guard_interval",
        ),
        (
            format!("{}mcs = 10\n{AIR}{END}", CELL.replace("802.11n", "802.11ac")),
            "medium[0].mcs: is not part of this standard\n  hint: 802.11g uses rate; 802.11n and 802.11ac use mcs, streams and short_guard, up to MCS 7 and 9; 802.11ax uses mcs, streams and guard_interval",
        ),
        (
            format!("{CELL}lifetime = \"1 s\"\n{AIR}{END}"),
            "medium[0].lifetime: the medium has no channel\n  hint: write 'channel = 1'",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(plan(&text).unwrap_err(), message, "{text}");
    }
}

#[test]
fn each_fault_of_a_medium_has_its_message() {
    let cases = [
        (
            format!("{WLAN}rate = \"11 Mbps\"\n{FLOW}"),
            "wlan.rate: 11 Mbit/s is not a rate of 802.11g\n  hint: one of 6, 9, 12, 18, 24, 36, 48 and 54 Mbps; 802.11n uses mcs",
        ),
        (
            format!("{WLAN}mcs = 7\n{FLOW}"),
            "wlan.mcs: is not part of this standard\n  hint: 802.11g uses rate; 802.11n and 802.11ac use mcs, streams and short_guard, up to MCS 7 and 9; 802.11ax uses mcs, streams and guard_interval",
        ),
        (
            format!("{CELL}mcs = 8\n{AIR}{END}"),
            "medium[0].mcs: is not part of this standard\n  hint: 802.11g uses rate; 802.11n and 802.11ac use mcs, streams and short_guard, up to MCS 7 and 9; 802.11ax uses mcs, streams and guard_interval",
        ),
        (
            format!("{}{FLOW}", WLAN.replace("802.11g", "802.11b")),
            "wlan.standard: '802.11b' is not a valid value\n  hint: did you mean '802.11g'?",
        ),
        (
            format!("{WLAN}slot = \"10 us\"\n{FLOW}"),
            "wlan.slot: 10 us is not a slot time of 2.4 GHz\n  hint: write \"9 us\" or \"20 us\"",
        ),
        (
            format!("{WLAN}cw_min = 31\ncw_max = 15\n{FLOW}"),
            "wlan.cw_max: 15 is less than cw_min, 31",
        ),
        (
            format!("{WLAN}aggregation = true\n{FLOW}"),
            "wlan.aggregation: 802.11g has no aggregation\n  hint: remove it, or write 'standard = \"802.11n\"'",
        ),
        (
            format!("{WLAN}beacon = \"1 ms\"\n{FLOW}"),
            "wlan.beacon: beacons are less than 20 ms apart\n  hint: a common interval is \"102.4 ms\"",
        ),
        (
            format!("{WLAN}stations = [{{}}, {{}}]\n{FLOW}"),
            "wlan.stations[1]: the number of flows is only 1\n  hint: one station per flow, in the order of the flows",
        ),
        (
            format!("{WLAN}{}", FLOW.replace("rtt", "direction = \"forward\"\nrtt")),
            "flow[0].direction: 'forward' is not a valid value\n  hint: one of download, upload",
        ),
        (
            format!("{AIR}{END}"),
            "link[0].medium: no medium is called 'cell'\n  hint: write a '[[medium]]' with this name",
        ),
        (
            format!("{CELL}{}{END}", AIR.replace("cell", "sell")),
            "link[0].medium: no medium is called 'sell'\n  hint: one of cell",
        ),
        (
            format!("{CELL}{}{END}", AIR.replace("medium = \"cell\"", "frame_error = 0.1")),
            "link[0].frame_error: the link is not on a medium\n  hint: name one: 'medium = \"cell\"'",
        ),
        (
            format!("{CELL}{}{END}", AIR.replace("medium = \"cell\"", "rate = \"1 Mbps\"")),
            "medium[0]: has no links\n  hint: write 'medium = \"cell\"' in a link",
        ),
        (
            format!("{CELL}{AIR}wifi_jitter = \"7 ms\"\n{END}"),
            "link[0].wifi_jitter: the medium of the link has delays of its own\n  hint: remove one of the two",
        ),
        (
            format!("{CELL}{AIR}rate = \"54 Mbps\"\n{END}"),
            "link[0].rate: is not part of this standard\n  hint: 802.11g uses rate; 802.11n and 802.11ac use mcs, streams and short_guard, up to MCS 7 and 9; 802.11ax uses mcs, streams and guard_interval",
        ),
        (
            format!("{CELL}beacon = \"100 ms\"\n{AIR}{END}"),
            "medium[0].beacon: no node sends it\n  hint: name the node: 'access_point = \"ap\"'",
        ),
        (
            format!("{CELL}access_point = \"a\"\n{AIR}{END}"),
            "medium[0].access_point: no link leaves 'a' on this medium\n  hint: one of ap, sta",
        ),
        (
            format!("{CELL}{CELL}{AIR}{END}"),
            "medium[1].name: 'cell' is the name of another medium\n  hint: names are unique",
        ),
        (
            format!("{CELL}{AIR}{}queue = {{ capacity = \"7 packets\" }}\n{END}", AIR.replace("sta", "stb")),
            "link[1].queue: 'ap' has a different queue on the link 'ap-sta'\n  hint: a station has one queue for all its links on a medium",
        ),
        (
            format!("{CELL}{AIR}queue = {{ kind = \"cake\", bandwidth = \"5 Mbps\" }}\n{END}"),
            "link[0]: a link on a medium or a cell has no shaper\n  hint: remove 'bandwidth' of its queue, or shape on a link before it",
        ),
        (
            format!("{CELL}{AIR}agents = [\"rcp\"]\n{END}"),
            "link[0].agents: a medium has no capacity to allocate\n  hint: remove them",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(plan(&text).unwrap_err(), message, "{text}");
    }
}

/// Two cells: `ap` and `sta` 10 m apart on channel 1, and a node 100 m from `ap` on channel 6.
const PLACED: &str = "[[medium]]\nname = \"cell\"\nstandard = \"802.11n\"\nchannel = 1\n\
    [[medium]]\nname = \"other\"\nstandard = \"802.11n\"\nchannel = 6\n\
    [[node]]\nname = \"ap\"\nposition = [0, 0]\ntransmit_power = 20\n\
    [[node]]\nname = \"sta\"\nposition = [6, 8]\n\
    [[node]]\nname = \"far\"\ncount = 2\nposition = [-60, 80.0]\n\
    [[link]]\nfrom = \"ap\"\nto = \"sta\"\nmedium = \"cell\"\n\
    [[link]]\nfrom = \"ap\"\nto = \"far\"\nmedium = \"other\"\n";

/// By hand: 40.05 + 30 log10(10) = 70.05 dB, 100.05 dB at 100 m; 1 m is the least distance.
#[test]
fn received_powers_follow_positions_unless_they_are_given() {
    let powers = |more: &str| {
        let plan = plan(&format!("{PLACED}{more}{END}")).unwrap();
        let all = plan.neighbourhood.unwrap();
        assert_eq!(all.stations, [(0, 0), (0, 1), (1, 0), (1, 2), (1, 3)]);
        all.received_dbm
    };
    let close = |ours: f64, dbm: f64| assert!((ours - dbm).abs() < 1e-9, "{ours} for {dbm}");
    let by_position = powers("");
    close(by_position[0][1], 20.0 - 70.05);
    close(by_position[1][0], 16.0 - 70.05);
    close(by_position[0][3], 20.0 - 100.05);
    close(by_position[3][4], 16.0 - 40.05);
    let steep = powers("[propagation]\nloss_at_1_m = 30\nexponent = 2\n");
    close(steep[0][1], 20.0 - 50.0);
    let received = "[[received]]\nfrom = \"ap\"\nto = \"far\"\ndbm = -77\n";
    let given = powers(received);
    for (from, to, dbm) in [(0, 3, -77.0), (2, 4, -77.0), (4, 0, -77.0), (0, 1, 20.0 - 70.05)] {
        close(given[from][to], dbm);
    }
    let back = powers(&format!("{received}[[received]]\nfrom = \"far\"\nto = \"ap\"\ndbm = -80.5\n"));
    close(back[0][3], -77.0);
    close(back[3][0], -80.5);
}

/// IEEE 802.11ax-2021, tables 27-55 and 27-67: 143.4 Mbit/s in 20 MHz, and 1134.2 in 160 MHz with 1.6 µs. Requests for a
/// BlockAck come with the standard's lifetime of 500 time units.
#[test]
fn media_of_802_11ax_have_the_rates_and_the_lifetime_of_the_standard() {
    let plan = |medium: &str| {
        let text = PLACED.replacen("standard = \"802.11n\"\nchannel = 1\n", &format!("{medium}\n"), 1);
        plan(&format!("{text}{END}"))
    };
    let rate = |medium: &str| plan(medium).map(|plan| plan.links[0.into()].rate.unwrap().0 / 100_000);
    assert_eq!(rate("standard = \"802.11ax\"\nchannel = 1\nmcs = 11"), Ok(1433));
    let wide = "standard = \"802.11ax\"\nchannel = 50\nwidth = 160\nmcs = 11\nguard_interval = \"1.6 us\"";
    assert_eq!(rate(wide), Ok(11342));
    let lifetime = |more: &str| {
        let medium = format!("standard = \"802.11ax\"\nchannel = 1\n{more}");
        plan(&medium).unwrap().media[0].channel.unwrap().lifetime
    };
    assert_eq!(lifetime(""), None);
    assert_eq!(lifetime("block_ack_request = true"), Some(Duration::from_millis(512)));
    assert_eq!(lifetime("lifetime = \"1 s\""), Some(Duration::from_secs(1)));
}

/// Rates of tables 19-31 and 21-38: 150 Mbit/s in 40 MHz, 433.3 in 80.
#[test]
fn wide_channels_have_the_rates_of_the_standard() {
    let rate = |medium: &str| {
        let text =
            PLACED.replacen("standard = \"802.11n\"\nchannel = 1\n", &format!("{medium}\nshort_guard = true\n"), 1);
        plan(&format!("{text}{END}")).map(|plan| plan.links[0.into()].rate.unwrap().0 / 100_000)
    };
    assert_eq!(rate("standard = \"802.11n\"\nchannel = 38\nwidth = 40"), Ok(1500));
    assert_eq!(rate("standard = \"802.11ac\"\nchannel = 42\nwidth = 80\nmcs = 9"), Ok(4333));
    assert_eq!(
        rate("standard = \"802.11n\"\nchannel = 1\nwidth = 40"),
        Err("medium[0].width: 40 MHz are not supported here\n  hint: 20; at 5 GHz also 40 with 802.11n, 40 or 80 with 802.11ac, 40, 80 or 160 with 802.11ax"
            .to_owned())
    );
    assert_eq!(
        rate("standard = \"802.11ac\"\nchannel = 36\nmcs = 9"),
        Err("medium[0]: MCS 9 with 1 streams is no mode of this width\n  hint: a smaller 'mcs'".to_owned())
    );
    assert_eq!(
        rate("standard = \"802.11ac\"\nchannel = 6"),
        Err("medium[0].channel: 802.11ac has no channel at 2.4 GHz\n  hint: 32 to 177".to_owned())
    );
}

#[test]
fn faults_of_channels_say_what_would_do() {
    let fault = |from: &str, to: &str| plan(&format!("{}{END}", PLACED.replace(from, to))).unwrap_err();
    assert_eq!(
        fault("position = [6, 8]", ""),
        "medium[0]: the node 'sta' has no position\n  hint: write 'position = [3, 4.5]' in its '[[node]]', or a \
         '[[received]]' power for each pair with it"
    );
    assert_eq!(
        fault("[6, 8]", "[6]"),
        "node[1].position: expected two numbers, got [6]\n  hint: write '[3, 4.5]', in metres"
    );
    assert_eq!(
        fault("channel = 6", "channel = 20"),
        "medium[1].channel: 20 is not a channel\n  hint: 1 to 13, or 32 to 177"
    );
    assert_eq!(
        fault("channel = 6", "rate_adaptation = \"ideal\""),
        "medium[1].rate_adaptation: the medium has no channel\n  hint: write 'channel = 1'"
    );
    let cell = format!("{CELL}{AIR}[[received]]\nfrom = \"ap\"\nto = \"sta\"\ndbm = -60\n{END}");
    assert_eq!(
        plan(&cell).unwrap_err(),
        "received: no medium has a channel\n  hint: write 'channel = 1' in a '[[medium]]'"
    );
    let unknown = format!("{PLACED}[[received]]\nfrom = \"ap\"\nto = \"nobody\"\ndbm = -60\n{END}");
    assert_eq!(
        plan(&unknown).unwrap_err(),
        "received[0].to: 'nobody' is not a station\n  hint: name a node of a link on a medium with a channel"
    );
}
