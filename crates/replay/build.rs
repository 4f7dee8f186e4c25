//! Lists the methods of the algorithms' types with their lines and the equations that their comments name, from the
//! sources of the crates `algorithms` and `control`. The build fails where a source has unbalanced braces.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The methods that handle an event.
const METHODS: [&str; 6] = ["on_ack", "on_congestion", "on_window", "start", "outside", "established"];
/// The traits that have them.
const TRAITS: [&str; 3] = ["CongestionControl", "CongestionAvoidance", "SlowStart"];

/// A word or a character of the code, with its line.
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

/// One of the [`METHODS`], with its first and last line.
struct Method<'a> {
    name: &'a str,
    first: usize,
    last: usize,
}

/// The code without comments and literals, and the comments `//` with their lines.
#[derive(Default)]
struct Source<'a> {
    tokens: Vec<Token<'a>>,
    comments: Vec<(usize, &'a str)>,
}

impl<'a> Source<'a> {
    fn of(text: &'a str) -> Self {
        let mut source = Self::default();
        let mut rest = text;
        let mut line = 1;
        while let Some(first) = rest.chars().next() {
            let length = match first {
                _ if rest.starts_with("//") => {
                    let length = rest.find('\n').unwrap_or(rest.len());
                    source.comments.push((line, rest[..length].trim_start_matches('/').trim()));
                    length
                }
                _ if rest.starts_with("/*") => block_comment(rest),
                '\'' => character(rest),
                _ if literal(rest) > 0 => literal(rest),
                _ => {
                    let word = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
                    let length = word.unwrap_or(rest.len()).max(first.len_utf8());
                    if !first.is_whitespace() {
                        source.tokens.push(Token { text: &rest[..length], line });
                    }
                    length
                }
            };
            line += rest[..length].matches('\n').count();
            rest = &rest[length..];
        }
        source
    }

    /// The index of the brace that closes the one at `open`.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0;
        for (index, token) in self.tokens.iter().enumerate().skip(open) {
            match token.text {
                "{" => depth += 1,
                "}" if depth == 1 => return index,
                "}" => depth -= 1,
                _ => {}
            }
        }
        panic!("the brace of line {} is not closed", self.tokens[open].line)
    }

    fn brace_after(&self, from: usize) -> Option<usize> {
        (from..self.tokens.len()).find(|&index| self.tokens[index].text == "{")
    }

    /// The methods with a body between two braces.
    fn methods(&self, open: usize, close: usize) -> Vec<Method<'a>> {
        let mut found = Vec::new();
        let mut index = open + 1;
        while index < close {
            let token = self.tokens[index];
            let ends = (index..close).find(|&at| matches!(self.tokens[at].text, "{" | ";")).unwrap_or(close);
            let body = (token.text == "fn" && self.tokens[ends].text == "{").then(|| self.closing(ends));
            if let Some(end) = body {
                let name = self.tokens[index + 1].text;
                if METHODS.contains(&name) {
                    found.push(Method { name, first: token.line, last: self.tokens[end].line });
                }
                index = end;
            } else if token.text == "{" {
                index = self.closing(index);
            }
            index += 1;
        }
        found
    }

    /// The type's name and its methods, for each implementation of one of the [`TRAITS`], and for their declarations.
    fn implementations(&self) -> Vec<(&'a str, Vec<Method<'a>>)> {
        let mut found = Vec::new();
        let mut index = 0;
        while let Some(open) = self.brace_after(index) {
            let close = self.closing(open);
            let from = (index..open).rfind(|&at| self.tokens[at].text == ";").map_or(index, |at| at + 1);
            let header: Vec<&str> = self.tokens[from..open].iter().map(|token| token.text).collect();
            index = close + 1;
            if header.windows(4).any(|words| words == ["cfg", "(", "test", ")"]) {
                continue;
            }
            let at = |word| header.iter().rposition(|one| *one == word);
            let name = match (at("impl"), at("for"), at("trait")) {
                (Some(_), Some(at), _) if TRAITS.contains(&header[at - 1]) => path_end(&header[at + 1..]),
                (_, _, Some(at)) if TRAITS.contains(&header[at + 1]) => header[at + 1],
                _ => continue,
            };
            found.push((name, self.methods(open, close)));
        }
        found
    }
}

/// The last name of a path: `a::B<C>` is `B`.
fn path_end<'a>(words: &[&'a str]) -> &'a str {
    words.iter().take_while(|word| **word != "<").filter(|word| **word != ":").last().expect("a type follows")
}

/// The length of a block comment, which may contain others.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    loop {
        let next = &text[at..];
        match () {
            () if next.is_empty() => return at,
            () if next.starts_with("/*") => (depth, at) = (depth + 1, at + 2),
            () if next.starts_with("*/") && depth == 1 => return at + 2,
            () if next.starts_with("*/") => (depth, at) = (depth - 1, at + 2),
            () => at += next.chars().next().map_or(0, char::len_utf8),
        }
    }
}

/// The length of a character literal, or of the quote of a lifetime.
fn character(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    match (letters.next(), letters.next()) {
        (Some((_, '\\')), Some((escaped, letter))) => {
            let from = escaped + letter.len_utf8();
            from + text[from..].find('\'').map_or(0, |end| end + 1)
        }
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 1,
    }
}

/// The length of a string literal, raw ones included; 0 where none begins here.
fn literal(text: &str) -> usize {
    let prefix = text.len() - text.trim_start_matches(['b', 'c', 'r']).len();
    let after = &text[prefix..];
    let hashes = after.len() - after.trim_start_matches('#').len();
    let raw = text[..prefix].ends_with('r');
    if prefix > 2 || !after[hashes..].starts_with('"') || (hashes > 0 && !raw) {
        return 0;
    }
    let from = prefix + hashes + 1;
    if raw {
        let end = format!("\"{}", "#".repeat(hashes));
        return text[from..].find(&end).map_or(text.len(), |at| from + at + end.len());
    }
    let mut escaped = false;
    for (at, letter) in text[from..].char_indices() {
        match letter {
            '"' if !escaped => return from + at + 1,
            _ => escaped = letter == '\\' && !escaped,
        }
    }
    text.len()
}

/// Whether a comment names an equation, a section or a line of an algorithm.
fn is_reference(comment: &str) -> bool {
    let numbered = comment.starts_with('(') && comment[1..].starts_with(|letter: char| letter.is_ascii_digit());
    let named = ["ection ", "quation ", "Eq. ", "Algorithm ", "RFC ", "§", "Linux"];
    numbered || named.iter().any(|one| comment.contains(one))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

fn main() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut found = Vec::new();
    for name in ["algorithms", "control"] {
        let folder = root.join("crates").join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        files(&folder, &mut found);
    }
    found.sort();
    let mut table = String::from("&[\n");
    for path in found {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file = path.strip_prefix(&root).expect("the file is below the root").to_string_lossy().into_owned();
        // crates/algorithms/src/whole/phcc.rs has the module cwndlab_algorithms::whole::phcc.
        let module = file.replacen("crates/", "cwndlab_", 1).replacen("/src/", "/", 1).replace('/', "::");
        let source = Source::of(&text);
        for (name, methods) in source.implementations() {
            for Method { name: method, first, last } in methods {
                let inside =
                    source.comments.iter().filter(|(line, what)| (first..=last).contains(line) && is_reference(what));
                let references: Vec<_> = inside.collect();
                writeln!(
                    table,
                    "    Method {{ owner: \"{}::{name}\", name: {method:?}, file: {file:?}, line: {first}, references: &{references:?} }},",
                    module.trim_end_matches(".rs")
                )
                .expect("writes to memory");
            }
        }
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("methods.rs");
    fs::write(&out, table).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
}
