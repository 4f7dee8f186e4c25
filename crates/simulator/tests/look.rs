use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

fn o<T: std::fmt::Display>(v: Option<T>) -> String {
    v.map_or(String::new(), |v| v.to_string())
}

#[test]
fn look() {
    let Ok(folder) = std::env::var("LOOK") else { return };
    let seed: u64 = std::env::var("SEED").ok().map_or(1, |s| s.parse().unwrap());
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    names.sort();
    if let Ok(only) = std::env::var("ONLY") {
        names.retain(|n| n.to_str().unwrap().contains(&only));
    }
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| loop {
        let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let Some(path) = names.get(i) else { break };
        let text = std::fs::read_to_string(path).unwrap();
        let scenario = Scenario::from_json(&text, None).unwrap_or_else(|e| panic!("{path:?} {e:?}"));
        let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|f| panic!("{path:?} {}", f[0]));
        let r = run(&plan, seed, &AtomicBool::new(false), None).unwrap();
        let base = path.with_extension("");
        let base = base.to_str().unwrap();
        let mut t = String::from("time_ns,flow,cwnd_bytes,ssthresh_bytes,in_flight_bytes,srtt_ns,rtt_ns,pacing_rate_bps,delivery_rate_bps,delivered_bytes,sent_bytes,retransmitted_packets,congestion_events,timeouts,queue_drops,wire_losses,state\n");
        for x in &r.samples { writeln!(t, "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", x.time_ns, x.flow, x.cwnd_bytes, o(x.ssthresh_bytes), x.in_flight_bytes, o(x.srtt_ns), o(x.rtt_ns), o(x.pacing_rate_bps), o(x.delivery_rate_bps), x.delivered_bytes, x.sent_bytes, x.retransmitted_packets, x.congestion_events, x.timeouts, x.queue_drops, x.wire_losses, x.state).unwrap(); }
        std::fs::write(format!("{base}.samples.csv"), t).unwrap();
        let mut t = String::from("time_ns,link,queue_packets,sent_bytes,queue_packet_ns,dropped_packets\n");
        for x in &r.link_samples { writeln!(t, "{},{},{},{},{},{}", x.time_ns, x.link, x.queue_packets, x.sent_bytes, x.queue_packet_ns, x.dropped_packets).unwrap(); }
        std::fs::write(format!("{base}.link_samples.csv"), t).unwrap();
        let mut t = String::from("link,name,utilisation\n");
        for x in &r.links { writeln!(t, "{},{},{}", x.link, x.name, x.utilisation).unwrap(); }
        std::fs::write(format!("{base}.links.csv"), t).unwrap();
        let mut t = String::from("time_ns,flow,kind,cause,cwnd_before_bytes,cwnd_after_bytes,pipe\n");
        for x in &r.events { writeln!(t, "{},{},{},{},{},{},{}", x.time_ns, x.flow, x.kind, x.cause, x.cwnd_before_bytes, x.cwnd_after_bytes, o(x.pipe_segments)).unwrap(); }
        std::fs::write(format!("{base}.events.csv"), t).unwrap();
        let mut t = String::from("flow,transfer,start_ns,end_ns\n");
        for x in &r.transfers { writeln!(t, "{},{},{},{}", x.flow, x.transfer, x.start_ns, x.end_ns).unwrap(); }
        std::fs::write(format!("{base}.transfers.csv"), t).unwrap();
        let mut t = String::from("flow,mss_bytes,delivered_bytes,retransmitted_packets,timeouts,recoveries,min_rtt_ns\n");
        for x in &r.flows { writeln!(t, "{},{},{},{},{},{},{}", x.flow, x.mss_bytes, x.delivered_bytes, x.retransmitted_packets, x.timeouts, x.recoveries, o(x.min_rtt_ns)).unwrap(); }
        std::fs::write(format!("{base}.flows.csv"), t).unwrap();
    });
        }
    });
}
