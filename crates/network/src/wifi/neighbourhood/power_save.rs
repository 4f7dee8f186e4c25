//! Power save: a station dozes a time after its last data frame, and its access point buffers packets for it.
//!
//! A beacon announces buffered packets (TIM), and a station that receives it stays awake, as it does after data frames
//! (IEEE 802.11-2016, 11.2.3; the time is the dynamic power save of Linux' mac80211). The access point keeps at most 64
//! packets for a dozing station and drops the oldest (mac80211, `STA_MAX_TX_BUFFER`). A station with packets to send, or
//! in the queue of its access point, is awake. Frames that only announce power save are not sent, and a dozing station
//! still senses the channel, so that it sends without a delay.

use std::collections::VecDeque;

use cwndlab_units::Time;

use crate::aqm::QueuedPacket;
use crate::wifi::contention::NEVER;
use crate::wifi::rules::Rules;

/// The stations of a neighbourhood that save power.
#[derive(Debug)]
pub(super) struct PowerSave<P> {
    /// By station, the end of the time for which it stays awake; [`NEVER`] without power save.
    pub(super) awake_until: Vec<Time>,
    /// By station, what its access point keeps for it, with the paths.
    pub(super) held: Vec<VecDeque<(u32, QueuedPacket<P>)>>,
    /// Stations that woke, for which packets are kept.
    pub(super) woken: Vec<u32>,
}

impl<P> PowerSave<P> {
    /// All stations are awake. `media` holds for each station the index of its rules.
    pub(super) fn new(rules: &[Rules], media: &[u32]) -> Self {
        let awake = |(station, &medium): (u32, &u32)| {
            let Rules { power_save, beacon, .. } = &rules[medium as usize];
            let saves = beacon.is_some_and(|beacon| beacon.station != station);
            power_save.filter(|_| saves).map_or(NEVER, |span| Time::ZERO + span)
        };
        Self {
            awake_until: (0..).zip(media).map(awake).collect(),
            held: media.iter().map(|_| VecDeque::new()).collect(),
            woken: Vec::new(),
        }
    }
}
