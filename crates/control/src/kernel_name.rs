//! Names of algorithms in the kernel's TCP: `cwndlab_…` for algorithms of the catalogue, and the kernel's own
//! equivalents.

use cwndlab_units::Fault;

use crate::catalogue::{Algorithm, Catalogue};
use crate::spec::RecoveryKind;

/// Prefix of all names of cwndlab's algorithms.
pub const PREFIX: &str = "cwndlab_";
/// Maximum length of a name: `TCP_CA_NAME_MAX` of Linux without the terminating byte.
pub const LONGEST: usize = 15;
/// Maximum number of letters after the prefix.
const ROOM: usize = LONGEST - PREFIX.len();
/// Letters of the last word in a shortened name of several words.
const TAIL: usize = 4;
/// Letters of the name before the digest.
const HEAD: usize = 3;

/// Algorithms of the kernel that are equivalent to entries of the catalogue: name in the catalogue, name in the kernel.
/// Linux: `tcp_cong.c`, `tcp_cubic.c`, `tcp_bbr.c` (BBRv1), `tcp_westwood.c` (Westwood+).
pub const KERNELS_OWN: [(&str, &str); 5] =
    [("reno", "reno"), ("cubic", "cubic"), ("cubic-linux", "cubic"), ("bbr1", "bbr"), ("westwood-plus", "westwood")];

/// The kernel's own equivalent of `algorithm`, regardless of its parameters.
#[must_use]
pub fn kernels_own(algorithm: &Algorithm) -> Option<&'static str> {
    KERNELS_OWN.iter().find(|(ours, _)| *ours == algorithm.growth.spec.name).map(|(_, own)| *own)
}

/// A fault if the kernel's TCP cannot run `algorithm`: its packets have no header for routers, and its recovery (RACK,
/// proportional rate reduction) does not restart slow start, which is what Tahoe is.
///
/// # Errors
///
/// A scheme with router assistance, or the recovery of Tahoe.
pub fn check(algorithm: &Algorithm) -> Result<(), Fault> {
    if let Some((scheme, _)) = algorithm.router_assistance() {
        let what = format!("'{algorithm}' needs router assistance ({scheme}), which the kernel does not provide");
        return Err(Fault::new("", what, "run it in the simulator, whose routers provide it"));
    }
    if algorithm.recovery_kind() == Some(RecoveryKind::Tahoe) {
        let what = format!("'{algorithm}' restarts slow start at each loss, and the kernel's recovery does not");
        let hint = format!("write '{}', or run it in the simulator", without_recovery(algorithm));
        return Err(Fault::new("", what, hint));
    }
    Ok(())
}

/// The algorithm with the recovery of its stack.
fn without_recovery(algorithm: &Algorithm) -> Algorithm {
    Algorithm { recovery: None, ..algorithm.clone() }
}

/// The kernel's name for `name`, where the kernel's TCP has the algorithms `available`: the kernel's own equivalent,
/// else the registered algorithm of the catalogue. A name of the catalogue has one meaning everywhere (`bbr` is
/// `bbr3`); the name of a kernel module is accepted only where the catalogue has no other algorithm of that name.
#[must_use]
pub fn resolve(name: &str, catalogue: &Catalogue, available: &[String]) -> Option<String> {
    let has = |name: &str| available.iter().any(|one| one == name);
    if name.starts_with(PREFIX) {
        return has(name).then(|| name.to_owned());
    }
    if let Some(algorithm) = catalogue.parse(name).ok().filter(|algorithm| check(algorithm).is_ok()) {
        let own = kernels_own(&algorithm).filter(|own| is_entry_itself(&algorithm) && has(own)).map(str::to_owned);
        if let Some(found) = own.or_else(|| Some(kernel_name(&algorithm)).filter(|ours| has(ours))) {
            return Some(found);
        }
    }
    (has(name) && library_name(name) == name).then(|| name.to_owned())
}

/// The catalogue's name of an algorithm of the kernel: `bbr` is `bbr1`.
#[must_use]
pub fn library_name(own: &str) -> &str {
    if KERNELS_OWN.iter().any(|(ours, _)| *ours == own) {
        return own;
    }
    KERNELS_OWN.iter().find(|(_, kernels)| *kernels == own).map_or(own, |(ours, _)| ours)
}

/// An error message for a name that means another algorithm in the kernel than in the catalogue.
#[must_use]
pub fn misnamed(name: &str) -> Option<String> {
    let ours = library_name(name);
    (ours != name).then(|| format!("the kernel's own {name} is '{ours}'"))
}

/// The entry that is registered under the kernel's name `cwndlab_…`, without parameters.
#[must_use]
pub fn entry_of(name: &str, catalogue: &Catalogue) -> Option<&'static str> {
    let is_it = |entry: &str| catalogue.parse(entry).is_ok_and(|algorithm| kernel_name(&algorithm) == name);
    catalogue.specs.iter().map(|spec| spec.name).find(|entry| is_it(entry))
}

/// Whether parameters and slow start are the defaults of the entry.
fn is_entry_itself(algorithm: &Algorithm) -> bool {
    let growth = &algorithm.growth;
    let start = algorithm.slow_start.as_ref().map(ToString::to_string);
    growth.to_string() == growth.spec.name && start.is_none_or(|start| start == growth.spec.companion)
}

/// The name under which `algorithm` is registered with the kernel's TCP, at most 15 letters: `cwndlab_` and
///
/// - the name of its congestion avoidance with `_` for `-`, if that has at most 7 letters: `cwndlab_phcc`,
///   `cwndlab_abe_ecn`;
/// - else the first 7 letters of the name, or, for several words, the first letters of the first word and the first 4
///   of the last: `cwndlab_westwoo`, `cwndlab_wesplus`, `cwndlab_cublinu`;
/// - with parameters or a slow start other than the defaults, the first 3 letters of the name and a digest of 4
///   letters: `cwndlab_cubq3fa`, so that several variants can be registered.
///
/// The recovery is that of the kernel and is ignored.
#[must_use]
pub fn kernel_name(algorithm: &Algorithm) -> String {
    let growth = &algorithm.growth;
    if is_entry_itself(algorithm) {
        return format!("{PREFIX}{}", short(growth.spec.name));
    }
    let whole = without_recovery(algorithm).to_string();
    let letters: String = growth.spec.name.chars().filter(char::is_ascii_alphanumeric).take(HEAD).collect();
    format!("{PREFIX}{letters}{}", digest(&whole, ROOM - HEAD))
}

/// The first two of these algorithms that have the same [`kernel_name()`]: the same one twice, or with two recoveries.
#[must_use]
pub fn equal_names<'a>(algorithms: &[&'a Algorithm]) -> Option<(&'a Algorithm, &'a Algorithm)> {
    algorithms.iter().enumerate().find_map(|(index, &one)| {
        let name = kernel_name(one);
        algorithms[..index].iter().find(|other| kernel_name(other) == name).map(|&other| (other, one))
    })
}

fn short(name: &str) -> String {
    let name = name.replace('-', "_");
    if name.len() <= ROOM {
        return name;
    }
    match (name.split_once('_'), name.rsplit_once('_')) {
        (Some((first, _)), Some((_, last))) => {
            let last: String = last.chars().take(TAIL).collect();
            let first: String = first.chars().take(ROOM - last.len()).collect();
            first + &last
        }
        _ => name.chars().take(ROOM).collect(),
    }
}

/// Letters and digits of the 64-bit FNV-1a hash (draft-eastlake-fnv) of the text, five bits each.
fn digest(text: &str, letters: usize) -> String {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (0..letters).map(|at| char::from(DIGITS[(hash >> (59 - 5 * at)) as usize & 31])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the rule above.
    #[test]
    fn names_are_shortened_by_the_rule() {
        for (name, registered) in [
            ("phcc", "phcc"),
            ("abe-ecn", "abe_ecn"),
            ("cubic", "cubic"),
            ("cubic-linux", "cublinu"),
            ("cubic-8312", "cub8312"),
            ("cubic-ns2", "cubins2"),
            ("westwood", "westwoo"),
            ("westwood-plus", "wesplus"),
            ("abc-wireless", "abcwire"),
        ] {
            assert_eq!(short(name), registered);
        }
    }

    /// FNV's published vector: "foobar" hashes to 85944171f73967e8, whose first 20 bits are 10000 10110 01010 00100.
    #[test]
    fn the_digest_is_the_published_hash() {
        assert_eq!(digest("foobar", 4), "qwke");
    }
}
