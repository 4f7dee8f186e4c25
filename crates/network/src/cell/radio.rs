//! Link adaptation: from the SNR to a CQI, and from that to the size of a transport block.

use cwndlab_units::maths;

/// Spectral efficiency by CQI, bit per resource element (3GPP TS 36.213, table 7.2.3-1; TS 38.214, table 5.2.2.1-2). CQI
/// 0 is out of range.
pub const CQI_EFFICIENCY: [f64; 16] = [
    0.0, 0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234,
    5.1152, 5.5547,
];

/// Bit error rate of the gap to capacity, as in ns-3.
const BIT_ERROR_RATE: f64 = 0.00005;

/// SNR as a ratio from dB.
pub(super) fn ratio(db: f64) -> f64 {
    maths::pow(10.0, db / 10.0)
}

/// The smallest SNR of each CQI, a ratio: efficiency = log₂(1 + SNR / Γ) with Γ = −ln(5 BER) / 1.5 (G. Piro et al., "An
/// LTE module for the ns-3 network simulator", SIMUTools 2011, section 4.1; `LteAmc` of ns-3 with `PiroEW2010`).
pub(super) fn thresholds() -> [f64; 16] {
    let gap = -maths::ln(5.0 * BIT_ERROR_RATE) / 1.5;
    CQI_EFFICIENCY.map(|efficiency| gap * (maths::exp2(efficiency) - 1.0))
}

/// The highest CQI whose threshold is at most `snr`.
pub(super) fn cqi(thresholds: &[f64; 16], snr: f64) -> u8 {
    thresholds.partition_point(|&threshold| threshold <= snr).saturating_sub(1) as u8
}

/// The CQI at an SNR in dB.
#[must_use]
pub fn cqi_at(snr_db: f64) -> u8 {
    cqi(&thresholds(), ratio(snr_db))
}

/// Transport block sizes of LTE by CQI, bits for 100 resource blocks, downlink and uplink (TS 36.213, table
/// 7.1.7.2.1-1). The MCS has the efficiency of the CQI; from MCS 10 on the two directions have other indices I_TBS (tables
/// 7.1.7.1-1 and 8.6.1-1).
const LTE_BLOCK_BITS: [[u32; 16]; 2] = [
    [
        0, 2792, 4584, 7224, 10_296, 14_112, 15_840, 19_848, 25_456, 30_576, 32_856, 39_232, 46_888, 55_056, 61_664,
        75_376,
    ],
    [
        0, 2792, 4584, 7224, 10_296, 14_112, 17_568, 19_848, 25_456, 30_576, 36_696, 43_816, 46_888, 55_056, 61_664,
        75_376,
    ],
];

/// Bits that a resource block of LTE carries in a TTI by CQI, downlink and uplink; proportional to those of 100 blocks,
/// which the table rounds.
pub(super) fn lte_block_bits() -> [[f64; 16]; 2] {
    LTE_BLOCK_BITS.map(|direction| direction.map(|bits| f64::from(bits) / 100.0))
}

/// Bits that a resource block with this number of resource elements carries in a TTI, by CQI.
pub(super) fn element_bits(elements: u32) -> [f64; 16] {
    CQI_EFFICIENCY.map(|efficiency| f64::from(elements) * efficiency)
}

/// Size of a transport block of `resource_blocks` with `bits` each, bytes.
#[must_use]
pub fn transport_block_bytes(bits: f64, resource_blocks: u32) -> u32 {
    (f64::from(resource_blocks) * bits / 8.0) as u32
}

/// The least number of resource blocks with `bits` each, above 0, whose transport block has `bytes`.
pub(super) fn blocks_for(bits: f64, bytes: u64) -> u64 {
    let mut blocks = maths::ceil(bytes as f64 * 8.0 / bits) as u64;
    // The size is rounded down to bytes.
    while ((blocks as f64 * bits / 8.0) as u64) < bytes {
        blocks += 1;
    }
    blocks
}
