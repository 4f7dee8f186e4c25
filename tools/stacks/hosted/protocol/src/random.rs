//! Random numbers of the system, from the seed of the run. Stacks draw keys, packet numbers to skip and phases of BBR from
//! the system, without an argument; a function that the program itself defines comes before that of libc.

use std::sync::atomic::{AtomicU64, Ordering};

static STATE: AtomicU64 = AtomicU64::new(0);

/// Begins the numbers anew.
pub(crate) fn seed(seed: u64) {
    STATE.store(seed, Ordering::Relaxed);
}

/// The next number of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
fn next() -> u64 {
    let state = STATE.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Fills memory with random bytes.
pub fn fill(bytes: &mut [u8]) {
    for part in bytes.chunks_mut(8) {
        part.copy_from_slice(&next().to_le_bytes()[..part.len()]);
    }
}

/// As getrandom(2).
///
/// # Safety
///
/// `buffer` has `length` bytes.
#[no_mangle]
pub unsafe extern "C" fn getrandom(buffer: *mut u8, length: usize, _flags: u32) -> isize {
    // SAFETY: by the contract of the function.
    fill(if length == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(buffer, length) } });
    length as isize
}
