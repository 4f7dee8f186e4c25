//! Shortest routes, validated by the enumeration of all paths.

use std::collections::BTreeMap;

use cwndlab_algorithms::catalogue;
use cwndlab_scenario::Scenario;
use cwndlab_units::LinkId;
use proptest::prelude::*;
use serde_json::{json, Value};

/// From, to and delay in ms of each link, in the plan's order.
type Links = Vec<(usize, usize, u64)>;

/// The best of all paths between two nodes by delay, number of links, and the order of the links.
fn best(links: &Links, from: usize, to: usize) -> Option<Vec<LinkId>> {
    fn extend(
        links: &Links,
        to: usize,
        nodes: &mut Vec<usize>,
        path: &mut Vec<LinkId>,
        routes: &mut Vec<(u64, usize, Vec<LinkId>)>,
    ) {
        let node = nodes[nodes.len() - 1];
        if node == to {
            let delay = path.iter().map(|&link| links[link.index()].2).sum();
            routes.push((delay, path.len(), path.clone()));
            return;
        }
        for (index, link) in (0u32..).zip(links) {
            if link.0 == node && !nodes.contains(&link.1) {
                nodes.push(link.1);
                path.push(index.into());
                extend(links, to, nodes, path, routes);
                nodes.pop();
                path.pop();
            }
        }
    }
    let mut routes = Vec::new();
    extend(links, to, &mut vec![from], &mut Vec::new(), &mut routes);
    routes.into_iter().min().map(|(_, _, path)| path)
}

fn document(nodes: usize, links: &Links, flows: &[(usize, usize)]) -> Value {
    let name = |node: usize| format!("n{node}");
    let link = |(index, &(from, to, delay)): (usize, &(usize, usize, u64))| {
        json!({ "name": format!("l{index}"), "from": name(from), "to": name(to), "delay": format!("{delay} ms"),
            "duplex": false })
    };
    let flow = |&(from, to): &(usize, usize)| json!({ "algorithm": "reno", "from": name(from), "to": name(to) });
    json!({
        "schema_version": 1, "duration": "1 s",
        "node": (0..nodes).map(|node| json!({ "name": name(node) })).collect::<Vec<_>>(),
        "link": links.iter().enumerate().map(link).collect::<Vec<_>>(),
        "flow": flows.iter().map(flow).collect::<Vec<_>>(),
    })
}

/// Routes by pairs of nodes; `None` if there is no path.
type Routes = BTreeMap<(usize, usize), Option<Vec<LinkId>>>;

/// The planned and the expected routes between all pairs of nodes that are connected in both directions.
fn planned(nodes: usize, links: &Links) -> (Routes, Routes) {
    let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let expected: Routes = pairs.map(|(from, to)| ((from, to), best(links, from, to))).collect();
    let joined = |&(from, to): &(usize, usize)| expected[&(from, to)].is_some() && expected[&(to, from)].is_some();
    let flows: Vec<(usize, usize)> = expected.keys().copied().filter(joined).collect();
    if flows.is_empty() {
        return (Routes::new(), Routes::new());
    }
    let scenario = Scenario::from_json(&document(nodes, links, &flows).to_string(), None).unwrap();
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let routes = flows.iter().zip(&plan.flows).map(|(&pair, flow)| (pair, Some(flow.forward.to_vec())));
    let routes: Routes = routes.collect();
    for (&(from, to), flow) in flows.iter().zip(&plan.flows) {
        assert_eq!(Some(flow.reverse.to_vec()), routes[&(to, from)]);
    }
    (routes, expected.into_iter().filter(|(pair, _)| flows.contains(pair)).collect())
}

/// Random links, and hosts that are connected to the first nodes by one or two links.
fn networks() -> impl Strategy<Value = (usize, Links)> {
    let middle = prop::collection::vec((0..5usize, 0..5usize, 0..3u64), 1..14);
    let hosts = prop::collection::vec((0..8usize, 0..3u64, any::<bool>()), 0..5);
    (middle, hosts).prop_map(|(mut links, hosts)| {
        links.retain(|(from, to, _)| from != to);
        let mut nodes = 5;
        for (at, delay, both) in hosts {
            let at = at % nodes;
            links.push((nodes, at, delay));
            links.push((if both { at } else { 0 }, nodes, 2 - delay));
            nodes += 1;
        }
        (nodes, links)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// The number of paths of a small network is small, so that all of them can be compared.
    #[test]
    fn routes_are_minimal_over_all_paths((nodes, links) in networks()) {
        let (routes, expected) = planned(nodes, &links);
        prop_assert_eq!(routes, expected);
    }
}

/// Hosts at two routers: 10,000 flows, each with its own hosts and access links, 40,002 links in total. By hand: flow 7
/// uses the links 2 + 4 · 7 = 30 and 32 of its hosts, and link 0 between the routers.
#[test]
fn a_plan_may_have_10_000_flows_with_their_own_links() {
    let duplex = |from: &str, to: &str| json!({ "from": from, "to": to, "delay": "1 ms", "duplex": true });
    let hosts = (0..10_000).flat_map(|n| [duplex(&format!("s{n}"), "r1"), duplex("r2", &format!("d{n}"))]);
    let links: Vec<Value> = std::iter::once(duplex("r1", "r2")).chain(hosts).collect();
    let flow = |n: usize| json!({ "algorithm": "cubic", "from": format!("s{n}"), "to": format!("d{n}") });
    let document = json!({
        "schema_version": 1, "duration": "1 s", "sample_interval": "0 s", "link": links,
        "flow": (0..10_000).map(flow).collect::<Vec<_>>(),
    });
    let scenario = Scenario::from_json(&document.to_string(), None).unwrap();
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    assert_eq!((plan.nodes.len(), plan.links.len(), plan.flows.len()), (20_002, 40_002, 10_000));
    let route = |links: [u32; 3]| Box::from(links.map(LinkId::from));
    assert_eq!(plan.flows[7.into()].forward, route([30, 0, 32]));
    assert_eq!(plan.flows[7.into()].reverse, route([33, 1, 31]));
    assert_eq!(plan.link_name(33.into()), "d7-r2");
}

/// Three beds at an access point are three links in each direction, and five flows are distributed over them in turn.
#[test]
fn a_node_with_a_count_stands_for_several() {
    let document = json!({
        "schema_version": 1, "duration": "1 s",
        "node": [{ "name": "server" }, { "name": "ap" }, { "name": "bed", "count": 3 }],
        "link": [
            { "from": "server", "to": "ap", "delay": "1 ms" },
            { "from": "ap", "to": "bed", "rate": "1 Mbps", "delay": "1 ms" },
        ],
        "flow": [{ "algorithm": "reno", "from": "bed", "to": "server", "count": 5 },
            { "algorithm": "reno", "from": "server", "to": "bed-2" }],
    });
    let scenario = Scenario::from_json(&document.to_string(), None).unwrap_or_else(|faults| panic!("{faults:?}"));
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{faults:?}"));
    let names: Vec<String> = plan.nodes.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["server", "ap", "bed-1", "bed-2", "bed-3"]);
    assert_eq!(plan.links.len(), 2 + 2 * 3);
    let name = |id: LinkId| plan.links[id].name(&plan.nodes);
    let first = |flow: u32| name(plan.flows[flow.into()].forward[0]);
    let firsts: Vec<String> = (0..6).map(first).collect();
    assert_eq!(firsts, ["bed-1-ap", "bed-2-ap", "bed-3-ap", "bed-1-ap", "bed-2-ap", "server-ap"]);
    assert_eq!(name(plan.flows[5.into()].forward[1]), "ap-bed-2");

    let mut uneven = document;
    uneven["node"][1]["count"] = json!(2);
    let scenario = Scenario::from_json(&uneven.to_string(), None).unwrap_or_else(|faults| panic!("{faults:?}"));
    let faults = scenario.plan(&catalogue()).expect_err("2 access points and 3 beds do not match");
    assert_eq!(faults[0].what, "'ap' has 2 nodes, 'bed' has 3");
}
