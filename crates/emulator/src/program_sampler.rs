//! Samples of the TCP connections of programs on the senders' side, through sock_diag(7).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration as Wait, Instant};

use cwndlab_linux::sock_diag::{Connection, SockDiag};
use cwndlab_records::rows::SampleRow;
use cwndlab_units::{Duration, FlowId, SenderCounters, SenderState, Time};

use crate::addresses::flow_of;

/// Minimum interval of reads. A read takes a few microseconds for each connection.
const MIN_INTERVAL: Duration = Duration::from_millis(5);
/// Maximum sleep before the thread checks its stop flag.
const STOP_CHECK: Duration = Duration::from_millis(20);

/// The TCP connections of a flow at one instant.
#[derive(Clone, Copy, Debug, Default)]
struct FlowSample {
    /// The state of the open connection that has sent most; `None` without open connections.
    largest: Option<SenderState>,
    /// Counters over all connections, closed ones included.
    counters: SenderCounters,
}

/// Samples by flow and time.
type Samples = BTreeMap<(FlowId, u64), FlowSample>;

/// The counters of the connections that were read.
#[derive(Debug, Default)]
struct Known {
    /// Flow and last counters of each open connection, by its cookie.
    open: BTreeMap<u64, (FlowId, SenderCounters)>,
    /// Sums over the closed connections of each flow.
    closed: BTreeMap<FlowId, SenderCounters>,
}

/// The thread that reads the connections.
#[derive(Debug)]
pub(crate) struct ProgramSampler {
    thread: JoinHandle<Samples>,
    stop: Arc<AtomicBool>,
}

/// The times and flows of a sampler.
struct Schedule {
    start: Instant,
    interval: Duration,
    flows: u32,
}

impl ProgramSampler {
    /// Starts to read the connections of the namespace of `socket`: at each sample of the path, every 5 ms at most.
    pub(crate) fn start(socket: SockDiag, start: Instant, sample_interval: Duration, flows: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let interval = Duration::from_nanos(
            MIN_INTERVAL.as_nanos().next_multiple_of(sample_interval.as_nanos().max(1)).max(sample_interval.as_nanos()),
        );
        let inner = Arc::clone(&stop);
        let schedule = Schedule { start, interval, flows };
        Self { thread: std::thread::spawn(move || read(socket, &schedule, &inner)), stop }
    }

    /// Ends the thread, and adds the state of the connections to the samples of the path.
    pub(crate) fn finish(self, rows: &mut [SampleRow]) {
        self.stop.store(true, Ordering::Relaxed);
        let samples = self.thread.join().unwrap_or_default();
        for row in rows {
            let flow = FlowId::from(row.flow);
            let until_now = samples.range((flow, 0)..=(flow, row.time_ns));
            if let Some(((_, time), sample)) = until_now.last() {
                sample.add_to(row, *time == row.time_ns);
            }
        }
    }
}

impl FlowSample {
    /// Adds this sample to a row; the state of a connection only where both are of the same time (`is_exact`).
    fn add_to(&self, row: &mut SampleRow, is_exact: bool) {
        let counters = self.counters;
        row.retransmitted_bytes = counters.retransmitted_bytes;
        row.retransmitted_packets = counters.retransmitted_packets;
        row.timeouts = counters.timeouts;
        if let Some(sender) = self.largest.filter(|_| is_exact) {
            row.set_sender(&sender);
        }
    }
}

/// Reads the connections until `stop`.
fn read(mut socket: SockDiag, schedule: &Schedule, stop: &AtomicBool) -> Samples {
    let (mut samples, mut known, mut next) =
        (Samples::new(), Known::default(), Time::from_nanos(schedule.interval.as_nanos()));
    while !stop.load(Ordering::Relaxed) {
        let now = Time::from_nanos(schedule.start.elapsed().as_nanos() as u64);
        if now < next {
            std::thread::sleep(Wait::from_nanos((next - now).min(STOP_CHECK).as_nanos()));
            continue;
        }
        // A read that fails, such as for want of memory, leaves a gap.
        if let Ok(open) = socket.connections() {
            for (flow, sample) in by_flow(&open, &mut known, schedule.flows) {
                samples.insert((flow, next.as_nanos()), sample);
            }
        }
        while next <= now {
            next += schedule.interval;
        }
    }
    samples
}

/// The samples of the flows that have or had connections, of which `open` are open now.
fn by_flow(open: &[Connection], known: &mut Known, flows: u32) -> BTreeMap<FlowId, FlowSample> {
    let mut samples = BTreeMap::<FlowId, FlowSample>::new();
    let mut before = std::mem::take(&mut known.open);
    for one in open {
        let Some(flow) = flow_of(one.local.ip(), one.remote.ip(), flows) else { continue };
        before.remove(&one.cookie);
        known.open.insert(one.cookie, (flow, one.info.sender.counters));
        let largest = &mut samples.entry(flow).or_default().largest;
        if largest.is_none_or(|other| one.info.sender.counters.sent_bytes > other.counters.sent_bytes) {
            *largest = Some(one.info.sender);
        }
    }
    for (flow, counters) in before.into_values() {
        let sum = known.closed.entry(flow).or_default();
        *sum = *sum + counters;
    }
    let closed = known.closed.iter().map(|(flow, counters)| (*flow, *counters));
    for (flow, counters) in known.open.values().copied().chain(closed) {
        let sample = samples.entry(flow).or_default();
        sample.counters = sample.counters + counters;
    }
    samples
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use cwndlab_linux::tcp_info::TcpInfo;
    use cwndlab_units::Bytes;

    use super::*;

    fn connection(cookie: u64, local: &str, remote: &str, sent: u64, timeouts: u64) -> Connection {
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let counters = SenderCounters { sent_bytes: sent, timeouts, ..SenderCounters::default() };
        let sender = SenderState { cwnd: Bytes(100 * sent), counters, ..SenderState::default() };
        let info = TcpInfo { sender, ..TcpInfo::default() };
        Connection { cookie, local: at(local), remote: at(remote), info }
    }

    /// By hand: two connections of the first flow and one of the second; then the larger one is closed.
    #[test]
    fn counters_remain_and_the_window_is_that_of_the_largest_connection() {
        let control = connection(1, "10.101.0.1:5000", "10.102.0.1:5201", 100, 0);
        let data = connection(2, "10.101.0.1:5001", "10.102.0.1:5201", 900, 2);
        let other = connection(3, "[fdcc:101::1]:5000", "[fdcc:102::2]:5201", 50, 1);
        let stray = connection(4, "127.0.0.1:5000", "127.0.0.1:5201", 7, 7);
        let mut known = Known::default();
        let first = by_flow(&[control, data, other, stray], &mut known, 2);
        let told = |samples: &BTreeMap<FlowId, FlowSample>, flow: u32| {
            let flow = FlowId::from(flow);
            (samples[&flow].largest.map(|sender| sender.cwnd.0), samples[&flow].counters.timeouts)
        };
        assert_eq!((told(&first, 0), told(&first, 1), first.len()), ((Some(90_000), 2), (Some(5_000), 1), 2));
        let second = by_flow(&[control], &mut known, 2);
        assert_eq!((told(&second, 0), told(&second, 1)), ((Some(10_000), 2), (None, 1)));
        let third = by_flow(&[control], &mut known, 2);
        assert_eq!((told(&third, 0), told(&third, 1)), ((Some(10_000), 2), (None, 1)));
        let mut row = SampleRow::default();
        first[&0.into()].add_to(&mut row, true);
        assert_eq!((row.cwnd_bytes, row.timeouts), (Some(90_000), 2));
    }
}
