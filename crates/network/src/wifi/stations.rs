//! The stations of an 802.11 medium: access functions with their queues, paths with their frames, and counters of both.

mod counters;
mod queue;

use std::collections::VecDeque;
use std::ops::Range;

use cwndlab_units::Duration;

use super::access_function::{
    AccessFunction, Airtimes, Counters, Frame, Path, PathTotals, PendingExchange, QueueLength, Routed,
};
use super::airtimes::{FlowAirtimes, KnownFlow};
use super::contention::NEVER;
use super::edca::{AccessCategory, AccessParameters, DscpMapping};
use super::phy::{self, subframe_bytes, Mode, SIFS};
use super::rules::Rules;
use crate::aqm::{Discipline, QueuedPacket};
use crate::queue::Limit;

/// Configuration of a queue of a station.
#[derive(Debug)]
pub struct QueueConfig<P> {
    /// Capacity, if it has no discipline.
    pub limit: Limit,
    /// Frames in service count towards the capacity: those in transmission, otherwise the one in contention.
    pub counts_in_service: bool,
    /// Without a discipline: an arriving ECN-capable packet is marked if with it more than this number of packets wait,
    /// without those in service.
    pub mark_above: Option<u32>,
    /// A queue discipline above the device. The device dequeues one frame when it is empty, or fills an aggregate.
    pub discipline: Option<Box<dyn Discipline<Routed<P>>>>,
}

impl<P> QueueConfig<P> {
    /// A drop-tail queue in the device.
    #[must_use]
    pub fn drop_tail(limit: Limit, counts_in_service: bool) -> Self {
        Self { limit, counts_in_service, mark_above: None, discipline: None }
    }
}

/// Configuration of a pair of sender and receiver.
#[derive(Clone, Copy, Debug)]
pub struct PathConfig {
    /// The sending station.
    pub from: u32,
    /// The receiving station, if it also sends.
    pub to: Option<u32>,
    /// Modulation and coding of data frames.
    pub mode: Mode,
    /// Probability that noise destroys a data frame, or a frame of an aggregate.
    pub error: f64,
}

/// The stations of a medium.
///
/// A station has one access function, or four with EDCA: one for each access category. Functions and paths are stored by
/// station or path, and then by access category.
#[derive(Debug)]
pub struct Stations<P> {
    /// Access functions of a station: 1, or [`AccessCategory::COUNT`].
    pub(super) categories: usize,
    /// By station, the user priority of a packet; without EDCA it is best effort.
    mappings: Vec<Option<DscpMapping>>,
    pub(super) functions: Vec<AccessFunction<P>>,
    pub(super) paths: Vec<Path<P>>,
    /// Access functions with a discipline whose device is refilled when the outcomes are taken.
    pub(super) pending: Vec<u32>,
    /// By flow of the packets, the airtime of the exchanges with their frames.
    pub(super) flow_airtimes: FlowAirtimes,
    /// Number of frames so far.
    serial: u64,
    /// Buffer for packets that disciplines drop.
    dropped: Vec<QueuedPacket<Routed<P>>>,
}

impl<P: Copy> Stations<P> {
    /// Stations without frames, by the rules of their medium. If any of these has EDCA, each station has four queues, in
    /// the order of [`AccessCategory::ALL`].
    pub(super) fn new(rules: &[&Rules], queues: Vec<QueueConfig<P>>, paths: &[PathConfig]) -> Self {
        let categories = if rules.iter().any(|one| one.edca.is_some()) { AccessCategory::COUNT } else { 1 };
        let function = |(index, queue): (usize, QueueConfig<P>)| {
            let rules = rules[index / categories];
            let access = match &rules.edca {
                Some(edca) => edca.of_station((index / categories) as u32)[index % categories],
                None => rules.access,
            };
            new_function(queue, access, rules)
        };
        let functions: Vec<AccessFunction<P>> = queues.into_iter().enumerate().map(function).collect();
        let path_of = |path: &PathConfig, category: usize| {
            let from = path.from as usize * categories + category;
            new_path(path, from as u32, &functions[from].access, rules[path.from as usize])
        };
        let paths = paths.iter().flat_map(|path| (0..categories).map(move |category| (path, category)));
        let mut stations = Self {
            paths: paths.map(|(path, category)| path_of(path, category)).collect(),
            categories,
            mappings: rules.iter().map(|one| one.edca.as_ref().map(|edca| edca.dscp_mapping)).collect(),
            functions,
            pending: Vec::new(),
            flow_airtimes: FlowAirtimes::default(),
            serial: 0,
            dropped: Vec::new(),
        };
        stations.find_sole_paths();
        stations
    }

    /// Sets `sole_path` of the access functions with exactly one path.
    fn find_sole_paths(&mut self) {
        let mut paths = vec![0u32; self.functions.len()];
        for (path, one) in (0..).zip(&self.paths) {
            paths[one.from as usize] += 1;
            let sole = paths[one.from as usize] == 1;
            self.functions[one.from as usize].sole_path = sole.then_some(path);
        }
    }

    /// The access functions of a station, or the paths of their frames for a path.
    pub(super) fn by_category(&self, index: u32) -> Range<usize> {
        let first = index as usize * self.categories;
        first..first + self.categories
    }

    /// Memory in use, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.paths.iter().map(|path| path.frames.capacity() * size_of::<Frame<P>>()).sum::<usize>()
            + self.functions.iter().map(|function| function.order.capacity() * 16).sum::<usize>()
    }

    /// Number of frames in the next transmission of a path, at most `max_bytes` as an aggregate, and their bytes.
    pub(super) fn aggregate(path: &Path<P>, rules: &Rules, max_bytes: u32) -> (u32, u32) {
        Self::aggregate_from(path, 0, rules, max_bytes)
    }

    /// As [`aggregate`](Self::aggregate), from the frame at a position on.
    #[allow(clippy::inline_always)] // for every transmission
    #[inline(always)]
    fn aggregate_from(path: &Path<P>, first: usize, rules: &Rules, max_bytes: u32) -> (u32, u32) {
        let single = path.frames[first].one.size + rules.overhead;
        let Some(aggregation) = rules.aggregation else { return (1, single) };
        let mut count = 0;
        let mut padded = 0;
        let mut bytes = 0;
        for frame in path.frames.range(first..).take(aggregation.frames as usize) {
            if !frame.state.is_pending() {
                continue;
            }
            let mpdu = frame.one.size + rules.overhead;
            let with = padded + mpdu + phy::DELIMITER_BYTES;
            if with > max_bytes {
                break;
            }
            count += 1;
            bytes = with;
            padded += subframe_bytes(mpdu);
        }
        if count > 1 {
            (count, bytes)
        } else {
            (1, single)
        }
    }

    /// SIFS and the exchange that an access function could start after another one, whose last frame is `last` on `path`, if
    /// all frames of that are received; zero if it has no more frames, or the exchange takes longer than `rest`.
    pub(super) fn following(&self, function: usize, path: u32, last: u64, rules: &Rules, rest: Duration) -> Duration {
        let Some((path, first)) = self.next_frame(function, path, last) else { return Duration::ZERO };
        let path = &self.paths[path as usize];
        let max_bytes = path.max_bytes_within(rules, rest.saturating_sub(SIFS));
        let (frames, bytes) = Self::aggregate_from(path, first, rules, max_bytes);
        let response = if frames > 1 { path.airtimes.block_ack } else { path.airtimes.ack };
        let span = SIFS + path.mode.airtime(bytes) + SIFS + response;
        if span > rest {
            Duration::ZERO
        } else {
            span
        }
    }

    /// Path and position of the oldest pending frame of an access function, without those up to `last` on `path`.
    fn next_frame(&self, function: usize, path: u32, last: u64) -> Option<(u32, usize)> {
        let function = &self.functions[function];
        if function.sole_path.is_some() {
            let frames = &self.paths[path as usize].frames;
            let first = frames.partition_point(|frame| frame.serial <= last);
            let pending = frames.range(first..).position(|frame| frame.state.is_pending())?;
            return Some((path, first + pending));
        }
        let later = function.order.iter().filter(|&&(to, serial)| to != path || serial > last);
        later.copied().find_map(|(to, serial)| {
            let frames = &self.paths[to as usize].frames;
            let at = frames.partition_point(|frame| frame.serial < serial);
            frames.get(at).filter(|frame| frame.serial == serial && frame.state.is_pending()).map(|_| (to, at))
        })
    }
}

/// The path of an access function with these parameters.
fn new_path<P>(config: &PathConfig, from: u32, access: &AccessParameters, rules: &Rules) -> Path<P> {
    let mut path = Path {
        from,
        to: config.to,
        mode: config.mode,
        error: config.error,
        max_bytes: 0,
        airtimes: Airtimes::new(config.mode),
        frames: VecDeque::new(),
        queue_length: QueueLength::default(),
        totals: PathTotals::default(),
        pending_exchange: PendingExchange::default(),
        known_flow: KnownFlow::default(),
    };
    path.set_mode(config.mode, access, rules);
    path
}

/// An access function without frames.
fn new_function<P>(config: QueueConfig<P>, access: AccessParameters, rules: &Rules) -> AccessFunction<P> {
    AccessFunction {
        access,
        aifs: rules.aifs(&access),
        limit: config.limit,
        counts_in_service: config.counts_in_service,
        mark_above: config.mark_above.map_or(u64::MAX, u64::from),
        queue: config.discipline,
        device: 0,
        room: rules.aggregation.filter(|_| access.aggregates).map_or(1, |aggregation| u64::from(aggregation.frames)),
        pending: false,
        sole_path: None,
        order: VecDeque::new(),
        queue_length: QueueLength::default(),
        cw: access.cw_min,
        gap_from: NEVER,
        counters: Counters::default(),
        pending_exchange: PendingExchange::default(),
    }
}
