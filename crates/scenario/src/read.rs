//! Takes fields out of a document and collects every fault, with its path as TOML writes it.

use std::fmt;

use cwndlab_control::catalogue::nearest;
use cwndlab_units::{parse_bytes, parse_duration, parse_rate, Bytes, Duration, ParseError, Rate};
use serde_json::{Map, Value};

/// What is wrong with a scenario: where, what, what would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field, as `flow[1].rtt`; empty for the document as a whole.
    pub path: String,
    /// What is wrong.
    pub what: String,
    /// What would do; may be empty.
    pub hint: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.what)?;
        if self.hint.is_empty() {
            Ok(())
        } else {
            write!(f, "\n  hint: {}", self.hint)
        }
    }
}

/// The text with its control characters written as escapes, so that a terminal shows them in place of obeying them.
#[must_use]
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() && letter != '\n' {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

impl Fault {
    /// A fault whose texts may quote the document.
    pub(crate) fn new(path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { path: printable(&path.into()), what: printable(&what.into()), hint: printable(&hint.into()) }
    }
}

/// All faults found so far.
#[derive(Debug, Default)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// Adds one.
    pub fn add(&mut self, path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) {
        self.0.push(Fault::new(path, what, hint));
    }
}

/// The longest time of a scenario. 255 such delays one after another, behind an outage without end (2⁶⁰ ns), still fit
/// the clock of 64 bits.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// A table of the document and where it stands.
pub struct Table<'a> {
    map: &'a Map<String, Value>,
    /// Its path.
    pub path: String,
    known: &'static [&'static str],
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a bare number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

impl<'a> Table<'a> {
    /// Reads `value` as a table whose fields are `known`; others are faults.
    pub fn new(
        value: &'a Value,
        path: impl Into<String>,
        known: &'static [&'static str],
        faults: &mut Faults,
    ) -> Option<Self> {
        let path = path.into();
        let Value::Object(map) = value else {
            faults.add(path, format!("a table is wanted, this is {}", kind(value)), "write '{ … }'");
            return None;
        };
        let table = Self { map, path, known };
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            let hint = match nearest(key, known.iter().copied()) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("fields here: {}", known.join(", ")),
            };
            faults.add(table.at(key), "no such field", hint);
        }
        Some(table)
    }

    /// The path of a field.
    #[must_use]
    pub fn at(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// The field as it stands.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        debug_assert!(self.known.contains(&key), "the schema lists '{key}'");
        self.map.get(key)
    }

    /// Fields of the table that its kind, called `word`, does not have are faults; `fields` are those that it has.
    pub fn only(&self, word: &str, fields: &[&str], faults: &mut Faults) {
        for key in self.known.iter().filter(|key| !fields.contains(key) && self.map.contains_key(**key)) {
            let hint = if fields.is_empty() { String::new() } else { format!("fields here: {}", fields.join(", ")) };
            faults.add(self.at(key), format!("'{word}' has no such field"), hint);
        }
    }

    fn text(&self, key: &str, faults: &mut Faults) -> Option<&'a str> {
        match self.get(key)? {
            Value::String(text) => Some(text),
            other => {
                let hint = if other.is_number() {
                    format!("write it as text with its unit, as \"{other} …\"")
                } else {
                    String::new()
                };
                faults.add(self.at(key), format!("a text is wanted, this is {}", kind(other)), hint);
                None
            }
        }
    }

    fn quantity<T>(&self, key: &str, parse: fn(&str) -> Result<T, ParseError>, faults: &mut Faults) -> Option<T> {
        let value = self.get(key)?;
        if value.is_number() {
            let fault = parse(&value.to_string()).err()?;
            faults.add(self.at(key), fault.what, fault.hint);
            return None;
        }
        parse(self.text(key, faults)?).map_err(|fault| faults.add(self.at(key), fault.what, fault.hint)).ok()
    }

    /// A time of up to `LONGEST`.
    pub fn duration(&self, key: &str, faults: &mut Faults) -> Option<Duration> {
        let time = self.quantity(key, parse_duration, faults)?;
        if time > LONGEST {
            faults.add(self.at(key), format!("{time} is more than a year"), "a simulation's clock counts nanoseconds");
            return None;
        }
        Some(time)
    }

    /// A size.
    pub fn bytes(&self, key: &str, faults: &mut Faults) -> Option<Bytes> {
        self.quantity(key, parse_bytes, faults)
    }

    /// A rate above zero.
    pub fn rate(&self, key: &str, faults: &mut Faults) -> Option<Rate> {
        let rate = self.quantity(key, parse_rate, faults)?;
        if rate.0 == 0 {
            faults.add(
                self.at(key),
                "the rate is zero",
                "a link without rate carries nothing; write \"none\" for one that serialises in no time",
            );
            return None;
        }
        Some(rate)
    }

    /// A word or name.
    pub fn string(&self, key: &str, faults: &mut Faults) -> Option<String> {
        let text = self.text(key, faults)?;
        if text.chars().any(char::is_control) {
            faults.add(self.at(key), format!("'{text}' has a control character"), "names are printed on terminals");
            return None;
        }
        Some(text.to_owned())
    }

    /// A text of several lines.
    pub fn lines(&self, key: &str, faults: &mut Faults) -> Option<&'a str> {
        self.text(key, faults)
    }

    /// One of `words`.
    pub fn word<T: Copy>(&self, key: &str, words: &[(&'static str, T)], faults: &mut Faults) -> Option<T> {
        let text = self.text(key, faults)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            let hint = match nearest(text, names.iter().copied()) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("one of {}", names.join(", ")),
            };
            faults.add(self.at(key), format!("'{text}' is not known here"), hint);
        }
        found
    }

    /// True or false.
    pub fn flag(&self, key: &str, faults: &mut Faults) -> Option<bool> {
        match self.get(key)? {
            Value::Bool(flag) => Some(*flag),
            other => {
                faults.add(self.at(key), format!("true or false is wanted, this is {}", kind(other)), "");
                None
            }
        }
    }

    /// A whole number within bounds.
    pub fn whole(&self, key: &str, low: u64, high: u64, faults: &mut Faults) -> Option<u64> {
        let value = self.get(key)?;
        match value.as_u64() {
            Some(number) if number >= low && number <= high => Some(number),
            _ => {
                faults.add(self.at(key), format!("a whole number from {low} to {high} is wanted, this is {value}"), "");
                None
            }
        }
    }

    /// A probability.
    pub fn probability(&self, key: &str, faults: &mut Faults) -> Option<f64> {
        let value = self.get(key)?;
        match value.as_f64() {
            Some(number) if (0.0..=1.0).contains(&number) => Some(number),
            _ => {
                faults.add(self.at(key), format!("a probability from 0 to 1 is wanted, this is {value}"), "");
                None
            }
        }
    }

    /// The items of a list, each with its path; a lone table counts as a list of one.
    pub fn items(&self, key: &str, faults: &mut Faults) -> Vec<(String, &'a Value)> {
        match self.get(key) {
            None => Vec::new(),
            Some(Value::Array(items)) => {
                items.iter().enumerate().map(|(n, item)| (format!("{}[{n}]", self.at(key)), item)).collect()
            }
            Some(item @ Value::Object(_)) => vec![(self.at(key), item)],
            Some(other) => {
                faults.add(self.at(key), format!("a list is wanted, this is {}", kind(other)), "");
                Vec::new()
            }
        }
    }

    /// The items of a list that TOML writes as `[[key]]`.
    pub fn tables(&self, key: &str, faults: &mut Faults) -> Vec<(String, &'a Value)> {
        if let Some(Value::Object(_)) = self.get(key) {
            faults.add(self.at(key), "a list of tables is wanted, this is one table", format!("write '[[{key}]]'"));
            return Vec::new();
        }
        self.items(key, faults)
    }

    /// Names in a list.
    pub fn names(&self, key: &str, faults: &mut Faults) -> Option<Vec<String>> {
        self.get(key)?;
        let mut names = Vec::new();
        for (path, item) in self.items(key, faults) {
            match item {
                Value::String(name) if name.chars().any(char::is_control) => {
                    faults.add(path, format!("'{name}' has a control character"), "names are printed on terminals");
                }
                Value::String(name) => names.push(name.clone()),
                other => faults.add(path, format!("a name is wanted, this is {}", kind(other)), ""),
            }
        }
        Some(names)
    }

    /// A field that must be there.
    pub fn require<T>(&self, key: &str, value: Option<T>, example: &str, faults: &mut Faults) -> Option<T> {
        if value.is_none() && self.get(key).is_none() {
            faults.add(self.at(key), "is missing", format!("write {example}"));
        }
        value
    }
}
