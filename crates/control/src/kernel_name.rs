//! The name of an algorithm in the kernel's TCP: ours under `cwndlab_…`, and the kernel's own that stand for ours.

use crate::catalogue::{Algorithm, Catalogue};

/// What all of them begin with.
pub const PREFIX: &str = "cwndlab_";
/// `TCP_CA_NAME_MAX` of Linux, less the byte that ends the text.
pub const LONGEST: usize = 15;
/// Letters that are left behind the prefix.
const ROOM: usize = LONGEST - PREFIX.len();
/// Letters of the last word that a name of several words keeps.
const TAIL: usize = 4;
/// Letters of a name that a number follows.
const HEAD: usize = 3;

/// The kernel's own algorithms that stand for ours: our name, the kernel's. Linux: `tcp_cong.c`, `tcp_cubic.c`,
/// `tcp_bbr.c` (BBRv1), `tcp_westwood.c` (Westwood+).
pub const KERNELS_OWN: [(&str, &str); 5] =
    [("reno", "reno"), ("cubic", "cubic"), ("cubic-linux", "cubic"), ("bbr1", "bbr"), ("westwood-plus", "westwood")];

/// The kernel's own algorithm that stands for `algorithm`, whatever its parameters.
#[must_use]
pub fn kernels_own(algorithm: &Algorithm) -> Option<&'static str> {
    KERNELS_OWN.iter().find(|(ours, _)| *ours == algorithm.growth.spec.name).map(|(_, own)| *own)
}

/// What a name means in the kernel, whose TCP has `available`: the kernel's own where it stands for ours, else ours where
/// it is registered. A name of the library has one meaning everywhere (`bbr` is `bbr3`); a module of the kernel is
/// meant by its own name only where the library has no other algorithm of that name.
#[must_use]
pub fn resolve(name: &str, catalogue: &Catalogue, available: &[String]) -> Option<String> {
    let has = |name: &str| available.iter().any(|one| one == name);
    if name.starts_with(PREFIX) {
        return has(name).then(|| name.to_owned());
    }
    if let Ok(algorithm) = catalogue.parse(name) {
        let own = kernels_own(&algorithm).filter(|own| is_entry_itself(&algorithm) && has(own)).map(str::to_owned);
        if let Some(found) = own.or_else(|| Some(kernel_name(&algorithm)).filter(|ours| has(ours))) {
            return Some(found);
        }
    }
    (has(name) && library_name(name) == name).then(|| name.to_owned())
}

/// What the library calls a name of the kernel's own: `bbr` is `bbr1`.
#[must_use]
pub fn library_name(own: &str) -> &str {
    if KERNELS_OWN.iter().any(|(ours, _)| *ours == own) {
        return own;
    }
    KERNELS_OWN.iter().find(|(_, kernels)| *kernels == own).map_or(own, |(ours, _)| ours)
}

/// Why a name of the kernel's own is not understood as such.
#[must_use]
pub fn misnamed(name: &str) -> Option<String> {
    let ours = library_name(name);
    (ours != name).then(|| format!("the kernel's own {name} is '{ours}'"))
}

/// The entry that is registered under a name of the kernel, `cwndlab_…`, without parameters.
#[must_use]
pub fn entry_of(name: &str, catalogue: &Catalogue) -> Option<&'static str> {
    let is_it = |entry: &str| catalogue.parse(entry).is_ok_and(|algorithm| kernel_name(&algorithm) == name);
    catalogue.specs.iter().map(|spec| spec.name).find(|entry| is_it(entry))
}

/// Whether parameters and slow start are the entry's own.
fn is_entry_itself(algorithm: &Algorithm) -> bool {
    let growth = &algorithm.growth;
    let start = algorithm.slow_start.as_ref().map(ToString::to_string);
    growth.to_string() == growth.spec.name && start.is_none_or(|start| start == growth.spec.companion)
}

/// The name under which `algorithm` is registered with the kernel's TCP, at most 15 letters: `cwndlab_` and
///
/// - the growth's name with `_` for `-`, where 7 letters hold it: `cwndlab_phcc`, `cwndlab_abe_ecn`;
/// - else its first 7 letters, or, of several words, the first 4 of the last behind as much of the first as fits:
///   `cwndlab_westwoo`, `cwndlab_wesplus`, `cwndlab_cublinu`;
/// - where parameters or the slow start are not the entry's own, its first 3 letters and 4 that stand for the text:
///   `cwndlab_cubq3fa`, so that variants can be registered side by side.
///
/// The recovery is the kernel's and does not count.
#[must_use]
pub fn kernel_name(algorithm: &Algorithm) -> String {
    let growth = &algorithm.growth;
    if is_entry_itself(algorithm) {
        return format!("{PREFIX}{}", short(growth.spec.name));
    }
    let whole = Algorithm { recovery: None, ..algorithm.clone() }.to_string();
    let letters: String = growth.spec.name.chars().filter(char::is_ascii_alphanumeric).take(HEAD).collect();
    format!("{PREFIX}{letters}{}", digest(&whole, ROOM - HEAD))
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
