//! Parses paths, queries and ranges of requests.

/// The resource of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// `/bytes/N`.
    Bytes {
        /// N.
        size: u64,
        /// `?cc=`.
        algorithm: Option<String>,
    },
    /// `/transfers/ID`.
    Account(String),
    /// `/algorithms`.
    Algorithms,
}

/// The error for a path without a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Status 404.
    Unknown,
    /// Status 400, with the reason.
    Invalid(String),
}

/// Maximum of N, small enough that no sum with it overflows.
pub(crate) const MAX_SIZE: u64 = 1 << 60;

/// Parses path and query, without percent-decoding, which no valid name needs.
pub(crate) fn target(path: &str, query: Option<&str>) -> Result<Target, Refusal> {
    if let Some(number) = path.strip_prefix("/bytes/") {
        let digits = !number.is_empty() && number.len() <= 19 && number.bytes().all(|byte| byte.is_ascii_digit());
        let size = number.parse().ok().filter(|&size: &u64| digits && size <= MAX_SIZE);
        let size = size.ok_or_else(|| {
            Refusal::Invalid("a number of bytes must follow /bytes/, such as /bytes/1000000".to_owned())
        })?;
        return Ok(Target::Bytes { size, algorithm: algorithm(query)? });
    }
    if query.is_some_and(|query| !query.is_empty()) {
        return Err(if is_known(path) {
            Refusal::Invalid("only /bytes/N has parameters".to_owned())
        } else {
            Refusal::Unknown
        });
    }
    if path == "/algorithms" {
        return Ok(Target::Algorithms);
    }
    match path.strip_prefix("/transfers/") {
        Some(id) if id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            Ok(Target::Account(id.to_owned()))
        }
        _ => Err(Refusal::Unknown),
    }
}

fn is_known(path: &str) -> bool {
    path == "/algorithms" || path.starts_with("/transfers/")
}

fn algorithm(query: Option<&str>) -> Result<Option<String>, Refusal> {
    let mut algorithm = None;
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let Some(("cc", name)) = pair.split_once('=') else {
            return Err(Refusal::Invalid("the only parameter is ?cc=NAME".to_owned()));
        };
        if algorithm.is_some() {
            return Err(Refusal::Invalid("the parameter ?cc= is given twice".to_owned()));
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+/.:,=()".contains(&byte);
        if name.is_empty() || name.len() > 200 || !name.bytes().all(plain) {
            return Err(Refusal::Invalid("the value of ?cc= is not the name of an algorithm".to_owned()));
        }
        algorithm = Some(name.to_owned());
    }
    Ok(algorithm)
}

/// Parses a `Range` header for `size` bytes. Returns first byte and length, or `None` for a header that is ignored (RFC
/// 9110, section 14.2). An error is a range that is not satisfiable.
pub(crate) fn range(value: &[u8], size: u64) -> Result<Option<(u64, u64)>, &'static str> {
    let Some(text) = std::str::from_utf8(value).ok().map(str::trim) else { return Err("the range is not text") };
    let Some((unit, set)) = text.split_once('=') else { return Err("a range has the form bytes=0-99") };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Ok(None);
    }
    if set.contains(',') {
        return Err("only one range is supported");
    }
    let Some((first, last)) = set.trim().split_once('-') else { return Err("a range has the form bytes=0-99") };
    let number = |text: &str| -> Option<u64> {
        // Numbers beyond u64 saturate: a last byte beyond the end means the end.
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let (from, to) = match (first.is_empty(), last.is_empty()) {
        (true, true) => return Err("a range has the form bytes=0-99"),
        (true, false) => {
            let tail = number(last).ok_or("a range has the form bytes=-99")?;
            (size - tail.min(size), u64::MAX)
        }
        (false, open) => {
            let from = number(first).ok_or("a range has the form bytes=0-99")?;
            let to = if open { Some(u64::MAX) } else { number(last) };
            (from, to.ok_or("a range has the form bytes=0-99")?)
        }
    };
    if from > to {
        return Err("the end of the range is before its beginning");
    }
    if from >= size {
        return Err("the range begins beyond the end of the stream");
    }
    Ok(Some((from, to.min(size - 1) - from + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_invalid<T: std::fmt::Debug>(result: Result<T, Refusal>) -> bool {
        matches!(result, Err(Refusal::Invalid(_)))
    }

    #[test]
    fn the_three_resources_are_parsed() {
        let bytes = |size, algorithm: Option<&str>| Ok(Target::Bytes { size, algorithm: algorithm.map(str::to_owned) });
        assert_eq!(target("/bytes/1000", None), bytes(1000, None));
        assert_eq!(target("/bytes/0", Some("cc=cubic-linux")), bytes(0, Some("cubic-linux")));
        assert_eq!(target("/algorithms", None), Ok(Target::Algorithms));
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(target(&format!("/transfers/{id}"), None), Ok(Target::Account(id.to_owned())));
    }

    #[test]
    fn other_paths_and_queries_are_rejected() {
        for path in
            ["/", "", "/bytes", "/etc/passwd", "/../etc/passwd", "/transfers/../x", "/transfers/", "//bytes/1", "*"]
        {
            assert_eq!(target(path, None), Err(Refusal::Unknown), "{path}");
        }
        for path in [
            "/bytes/",
            "/bytes/-1",
            "/bytes/1e3",
            "/bytes/../x",
            "/bytes/%31",
            "/bytes/99999999999999999999",
            "/bytes/+1",
        ] {
            assert!(is_invalid(target(path, None)), "{path}");
        }
        for query in ["cc", "cc=", "cc=a&cc=b", "x=1", "cc=a%20b", "cc=..\\x"] {
            assert!(is_invalid(target("/bytes/1", Some(query))), "{query}");
        }
    }

    /// The examples of RFC 9110, section 14.1.2, for a representation of 10,000 bytes.
    #[test]
    fn ranges_are_parsed_as_in_rfc_9110() {
        assert_eq!(range(b"bytes=0-499", 10_000), Ok(Some((0, 500))));
        assert_eq!(range(b"bytes=500-999", 10_000), Ok(Some((500, 500))));
        assert_eq!(range(b"bytes=-500", 10_000), Ok(Some((9500, 500))));
        assert_eq!(range(b"bytes=9500-", 10_000), Ok(Some((9500, 500))));
        assert_eq!(range(b"bytes=9500-99999999999999999999", 10_000), Ok(Some((9500, 500))));
        assert_eq!(range(b"bytes=-20000", 10_000), Ok(Some((0, 10_000))));
        assert_eq!(range(b"lines=1-2", 10_000), Ok(None));
        for invalid in
            ["bytes=10000-", "bytes=5-4", "bytes=0-0,-1", "bytes=", "bytes=-", "bytes=a-b", "bytes=-0", "0-4"]
        {
            assert!(range(invalid.as_bytes(), 10_000).is_err(), "{invalid}");
        }
        assert!(range(b"bytes=0-", 0).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_a_panic(path: String, query: Option<String>, value: Vec<u8>, size: u64) {
            let _ = target(&path, query.as_deref());
            if let Ok(Some((first, length))) = range(&value, size) {
                prop_assert!(length > 0 && first + length <= size);
            }
        }

        #[test]
        fn a_valid_range_is_within_the_stream(first: u64, last: u64, size in 0..MAX_SIZE) {
            if let Ok(Some((from, length))) = range(format!("bytes={first}-{last}").as_bytes(), size) {
                prop_assert!(from == first && length > 0 && from + length <= size && length - 1 <= last - first);
            }
        }
    }
}
