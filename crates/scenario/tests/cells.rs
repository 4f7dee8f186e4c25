//! Cells of LTE and NR in scenarios: their plans, and their error messages.

use cwndlab_algorithms::catalogue;
use cwndlab_scenario::plan::{Capacity, Plan};
use cwndlab_scenario::Scenario;
use cwndlab_units::{Bytes, Duration, Rate};

fn plan(text: &str) -> Result<Plan, String> {
    let join =
        |faults: Vec<cwndlab_units::Fault>| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let text = format!("schema_version = 1\nduration = \"10 s\"\n{text}");
    let scenario = Scenario::from_toml(&text, None).map_err(join)?;
    scenario.plan(&catalogue()).map(|(plan, _)| plan).map_err(join)
}

const CELL: &str = "[[cell]]\nname = \"lte\"\nbase_station = \"enb\"\n";
const AIR: &str = "[[link]]\nfrom = \"enb\"\nto = \"ue\"\ncell = \"lte\"\n";
const END: &str = "[[flow]]\nalgorithm = \"cubic\"\nfrom = \"enb\"\nto = \"ue\"\n";

/// By hand: CQI 12 at 20 dB; 46,888 bit in 1 ms for 100 blocks of LTE, and with 126 elements of 3.9023 bit 6146 bytes.
#[test]
fn a_link_on_a_cell_has_the_rate_of_its_user_alone() {
    let elements = plan(&format!("{CELL}resource_elements = 126\n{AIR}snr = 20\n{END}")).unwrap();
    assert_eq!(elements.links[0.into()].rate, Some(Rate(49_168_000)));
    let plan = plan(&format!("{CELL}{AIR}snr = 20\n{END}")).unwrap();
    let [down, up] = [0, 1].map(|link: u32| plan.links[link.into()].clone());
    assert_eq!([down.rate, up.rate], [Some(Rate(46_888_000)); 2]);
    assert_eq!([down.cell, up.cell].map(|channel| channel.unwrap().uplink), [false, true]);
    assert_eq!(down.capacity, Capacity::Bytes(Bytes(1_000_000)));
    let cell = &plan.cells[0].configuration;
    assert_eq!((cell.averaging, cell.harq.round, cell.rrc), (99.0, Duration::from_millis(8), None));
}

#[test]
fn defaults_of_nr_follow_from_its_slot() {
    let plan = plan(&format!("{CELL}technology = \"nr\"\naveraging = \"50 ms\"\n{AIR}snr = 20\n{END}")).unwrap();
    let cell = &plan.cells[0].configuration;
    assert_eq!((cell.averaging, cell.harq.round, cell.resource_blocks), (100.0, Duration::from_millis(4), 273));
}

#[test]
fn each_fault_of_a_cell_has_its_message() {
    let good = format!("{CELL}{AIR}snr = 20\n");
    let cases = [
        (format!("{CELL}{AIR}{END}"), "link[0].snr: is missing\n  hint: write 'snr = 20', in dB"),
        (
            format!("{CELL}{AIR}snr = -3\n{END}"),
            "link[0].snr: -3 dB is out of range of the cell\n  hint: the lowest rate, CQI 1, takes -2.1 dB",
        ),
        (
            format!("{CELL}{}snr = 20\n{END}", AIR.replace("\"lte\"", "\"nr\"")),
            "link[0].cell: no cell is called 'nr'\n  hint: one of lte",
        ),
        (
            format!("{CELL}[[link]]\nfrom = \"enb\"\nto = \"ue\"\nrate = \"1 Mbps\"\n{END}"),
            "cell[0]: has no links\n  hint: write 'cell = \"lte\"' in a link",
        ),
        (format!("{good}rate = \"5 Mbps\"\n{END}"), "link[0].rate: the cell of the link replaces the line\n  hint: remove one of the two"),
        (format!("{good}agents = [\"rcp\"]\n{END}"), "link[0].agents: a cell has no constant capacity to allocate\n  hint: remove it"),
        (
            format!("{good}schedule = [{{ at = \"1 s\", rate = \"1 Mbps\" }}]\n{END}"),
            "link[0].schedule[0].rate: the cell of the link has no rate\n  hint: change 'snr' instead",
        ),
        (
            format!("{CELL}[[link]]\nfrom = \"enb\"\nto = \"ue\"\nrate = \"1 Mbps\"\nsnr = 3\n{END}"),
            "link[0].snr: the link is on no cell\n  hint: name one: 'cell = \"lte\"'",
        ),
        (
            format!("{}{AIR}snr = 20\n{END}", CELL.replace("enb", "gnb")),
            "cell[0].base_station: no node is called 'gnb'\n  hint: name the node at which the links of the cell meet",
        ),
        (
            format!("{good}[[link]]\nfrom = \"a\"\nto = \"ue\"\ncell = \"lte\"\nsnr = 9\n{END}"),
            "link[1].cell: the link does not meet the base station 'enb'\n  hint: links of a cell lead from it or to it",
        ),
        (
            format!("{good}queue = {{ kind = \"cake\", bandwidth = \"5 Mbps\" }}\n{END}"),
            "link[0]: a link on a medium or a cell has no shaper\n  hint: remove 'bandwidth' of its queue, or shape on a link before it",
        ),
    ];
    for (text, message) in cases {
        let found = plan(&text).unwrap_err();
        assert!(found.contains(message), "{text}\n{found}");
    }
}
