//! The clients' tokens. Only hashes are kept in memory, and the time of a comparison does not depend on the token.

use base64::engine::general_purpose::STANDARD;
use base64::Engine as _;
use cwndlab_units::Fault;
use hyper::header::AUTHORIZATION;
use hyper::HeaderMap;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

/// Minimum length of a token, characters; generated tokens have 43.
const MIN_LENGTH: usize = 16;

/// Maximum length of a token, characters.
const MAX_LENGTH: usize = 512;

/// Names and hashes of tokens, at least one.
#[derive(Debug)]
pub struct Tokens {
    entries: Vec<(String, [u8; 32])>,
}

/// Generates a token of 256 bits, as text that needs no quoting.
pub fn generate() -> Result<String, Fault> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|cause| Fault::new("token", format!("the system supplies no random bytes ({cause})"), ""))?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}

impl Tokens {
    /// Parses lines of a name and a token; `place` is the name of the file in faults.
    ///
    /// # Errors
    ///
    /// All faults of the file.
    pub fn parse(text: &str, place: &str) -> Result<Self, Vec<Fault>> {
        let mut entries = Vec::<(String, [u8; 32])>::new();
        let mut faults = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut report =
                |what: String, hint: &str| faults.push(Fault::new(format!("{place}:{}", number + 1), what, hint));
            let words: Vec<&str> = line.split_whitespace().collect();
            let &[name, token] = words.as_slice() else {
                report("is not a name and a token".to_owned(), "write 'NAME TOKEN', separated by a space");
                continue;
            };
            let hash: [u8; 32] = Sha256::digest(token).into();
            if !(MIN_LENGTH..=MAX_LENGTH).contains(&token.len()) {
                let what = format!("a token has {MIN_LENGTH} to {MAX_LENGTH} characters, this one has {}", token.len());
                report(what, "`openssl rand -hex 32` generates one");
            } else if entries.iter().any(|(other, _)| other == name) {
                report(format!("the client '{name}' is listed twice"), "list each client once");
            } else if entries.iter().any(|(_, other)| *other == hash) {
                report("the token of another client".to_owned(), "give each client a separate token");
            } else {
                entries.push((name.to_owned(), hash));
            }
        }
        if entries.is_empty() && faults.is_empty() {
            faults.push(Fault::new(place, "contains no token", "write a line 'NAME TOKEN' for each client"));
        }
        if faults.is_empty() {
            Ok(Self { entries })
        } else {
            Err(faults)
        }
    }

    /// The clients' names, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }

    /// The client of a token. Compares every entry in constant time.
    #[must_use]
    pub fn owner(&self, token: &[u8]) -> Option<usize> {
        let hash: [u8; 32] = Sha256::digest(&token[..token.len().min(MAX_LENGTH + 1)]).into();
        let mut is_known = Choice::from(0);
        let mut index = 0u64;
        for (at, (_, known)) in (0u64..).zip(&self.entries) {
            let same = known.ct_eq(&hash);
            index.conditional_assign(&at, same);
            is_known |= same;
        }
        bool::from(is_known).then_some(index as usize)
    }

    /// The client of a request, by the header `Authorization`: `Bearer TOKEN`, or `Basic` with the token as password,
    /// as sent by browsers.
    #[must_use]
    pub fn authenticate(&self, headers: &HeaderMap) -> Option<usize> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let value = values.next().filter(|_| values.next().is_none());
        // A request without a token takes the same time as one with an invalid token.
        self.owner(&value.and_then(|value| presented_token(value.as_bytes())).unwrap_or_default())
    }
}

fn presented_token(value: &[u8]) -> Option<Vec<u8>> {
    let blank = value.iter().position(|&byte| byte == b' ')?;
    let scheme = &value[..blank];
    let rest = value[blank..].trim_ascii();
    if scheme.eq_ignore_ascii_case(b"bearer") {
        return Some(rest.to_vec());
    }
    if scheme.eq_ignore_ascii_case(b"basic") {
        let pair = STANDARD.decode(rest).ok()?;
        let colon = pair.iter().position(|&byte| byte == b':')?;
        return Some(pair[colon + 1..].to_vec());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: &str = "# clients\nanna 0123456789abcdef0123\n\nbert fedcba9876543210fedc\n";

    fn client_of(value: &str) -> Option<usize> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, value.parse().unwrap());
        Tokens::parse(FILE, "tokens").unwrap().authenticate(&headers)
    }

    #[test]
    fn a_token_identifies_its_client_by_bearer_and_by_basic() {
        assert_eq!(client_of("Bearer 0123456789abcdef0123"), Some(0));
        assert_eq!(client_of("bearer fedcba9876543210fedc"), Some(1));
        // base64 of "whoever:fedcba9876543210fedc", RFC 7617.
        assert_eq!(client_of("Basic d2hvZXZlcjpmZWRjYmE5ODc2NTQzMjEwZmVkYw=="), Some(1));
    }

    #[test]
    fn other_headers_identify_no_client() {
        let tokens = Tokens::parse(FILE, "tokens").unwrap();
        assert_eq!(tokens.authenticate(&HeaderMap::new()), None);
        for value in
            ["Bearer", "Bearer ", "Bearer 0123456789abcdef012", "Bearer 0123456789abcdef01234", "Basic %%%", "anna"]
        {
            assert_eq!(client_of(value), None, "{value}");
        }
        let mut twice = HeaderMap::new();
        twice.append(AUTHORIZATION, "Bearer 0123456789abcdef0123".parse().unwrap());
        twice.append(AUTHORIZATION, "Bearer fedcba9876543210fedc".parse().unwrap());
        assert_eq!(tokens.authenticate(&twice), None);
    }

    #[test]
    fn all_faults_of_a_file_are_reported_with_their_lines_and_without_the_tokens() {
        let text = "anna short\nbert\nclara 0123456789abcdef\nclara 0123456789abcdeg\ndora 0123456789abcdef\n";
        let faults = Tokens::parse(text, "tokens").unwrap_err();
        let texts: Vec<String> = faults.iter().map(|fault| format!("{}: {}", fault.place, fault.what)).collect();
        assert_eq!(
            texts,
            [
                "tokens:1: a token has 16 to 512 characters, this one has 5",
                "tokens:2: is not a name and a token",
                "tokens:4: the client 'clara' is listed twice",
                "tokens:5: the token of another client",
            ]
        );
        assert_eq!(Tokens::parse("# none\n", "tokens").unwrap_err()[0].what, "contains no token");
    }

    #[test]
    fn generated_tokens_have_256_bits_and_differ() {
        let one = generate().unwrap();
        let other = generate().unwrap();
        assert_eq!(one.len(), 43);
        assert_ne!(one, other);
    }

    proptest! {
        #[test]
        fn any_header_value_is_handled(bytes in proptest::collection::vec(32u8..=255, 0..200)) {
            if let Ok(value) = hyper::header::HeaderValue::from_bytes(&bytes) {
                let mut headers = HeaderMap::new();
                headers.insert(AUTHORIZATION, value);
                prop_assert_eq!(Tokens::parse(FILE, "tokens").unwrap().authenticate(&headers), None);
            }
        }
    }
}
