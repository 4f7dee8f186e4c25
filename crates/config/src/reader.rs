//! Reads declared fields from a document and collects all faults, with their paths in the notation of TOML.

use cwndlab_units::spelling::nearest;
use cwndlab_units::{parse_bytes, parse_duration, parse_rate, Bytes, Duration, Fault, Rate};
use serde_json::{Map, Value};

use crate::fault::Faults;
use crate::field::{Choice, Field, Kind, Literal, Table, WhenAbsent};

/// Maximum of a time in a document. The sum of 255 such delays and a permanent outage (2⁶⁰ ns) fits in the clock of 64
/// bits.
const MAX_DURATION: Duration = Duration::from_secs(366 * 86_400);

/// A table of a document with its declaration and path.
///
/// Methods return the declared default of an absent field, and `None` for a faulty field, whose fault is added to
/// `faults`.
///
/// # Panics
/// Methods panic for a field that the declaration does not contain or declares with another kind, which is an error of
/// the program.
#[derive(Debug)]
pub struct Reader<'a> {
    map: &'a Map<String, Value>,
    declared: &'static Table,
    /// The field that selected this table, if any.
    tag: Option<&'static str>,
    /// Path of the table.
    pub path: String,
}

/// A table without fields.
static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);

/// The key of a date of TOML in a value of JSON (the crate `toml_datetime`).
const TOML_DATE: &str = "$__toml_private_datetime";

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(map) if map.contains_key(TOML_DATE) => "a date",
        Value::Object(_) => "a table",
    }
}

/// A value that is not what was expected. JSON has no number for TOML's `nan` and `inf`.
fn shown(value: &Value) -> String {
    if value.is_null() {
        "null, nan or inf".to_owned()
    } else {
        value.to_string()
    }
}

impl<'a> Reader<'a> {
    /// Reads `value` as this table; unknown fields are faults.
    pub fn new(
        value: &'a Value,
        path: impl Into<String>,
        declared: &'static Table,
        faults: &mut Faults,
    ) -> Option<Self> {
        Self::tagged(value, path.into(), declared, None, faults)
    }

    fn tagged(
        value: &'a Value,
        path: String,
        declared: &'static Table,
        tag: Option<&'static str>,
        faults: &mut Faults,
    ) -> Option<Self> {
        let Value::Object(map) = value else {
            faults.add(path, format!("expected a table, got {}", kind_of(value)), "write '{ … }'");
            return None;
        };
        let table = Self { map, declared, tag, path };
        for key in map.keys().filter(|key| !table.knows(key)) {
            let known = || table.tag.into_iter().chain(declared.fields().map(|one| one.name));
            let hint = match nearest(key, known()) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("fields here: {}", known().collect::<Vec<_>>().join(", ")),
            };
            let what = if tag.is_some() {
                format!("'{}' has no such field", declared.name)
            } else {
                "no such field".to_owned()
            };
            faults.add(table.at(key), what, hint);
        }
        Some(table)
    }

    /// Reads `value` as the table that it selects.
    pub fn choose(value: &'a Value, path: impl Into<String>, choice: &Choice, faults: &mut Faults) -> Option<Self> {
        let path = path.into();
        if choice.shorthand && value.is_string() && choice.of(value).is_some() {
            return Some(Self { map: &EMPTY, declared: choice.of(value)?, tag: Some(choice.tag), path });
        }
        if !value.is_object() {
            if choice.shorthand && value.is_string() {
                wrong_word(
                    &format!("{path}.{}", choice.tag),
                    value.as_str()?,
                    (choice.tables)().iter().map(|one| one.name),
                    faults,
                );
                return None;
            }
            faults.add(path, format!("expected a table, got {}", kind_of(value)), "write '{ … }'");
            return None;
        }
        if let Some(declared) = choice.of(value) {
            return Self::tagged(value, path, declared, Some(choice.tag), faults);
        }
        let place = format!("{path}.{}", choice.tag);
        match value.get(choice.tag) {
            None => faults.add(place, "is missing", format!("write {}", choice.example)),
            Some(Value::String(word)) => {
                wrong_word(&place, word, (choice.tables)().iter().map(|one| one.name), faults);
            }
            Some(other) => faults.add(place, format!("expected a text, got {}", kind_of(other)), ""),
        }
        None
    }

    fn knows(&self, key: &str) -> bool {
        self.tag == Some(key) || self.declared.field(key).is_some()
    }

    /// The declaration.
    #[must_use]
    pub fn declared(&self) -> &'static Table {
        self.declared
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

    fn field(&self, key: &str) -> &'static Field {
        self.declared.field(key).unwrap_or_else(|| panic!("'{}' declares no field '{key}'", self.declared.name))
    }

    /// The value of the field in the document; `None` if it is absent.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        let _ = self.field(key);
        self.map.get(key)
    }

    /// Whether the document has the field.
    #[must_use]
    pub fn gives(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The value of the field in the document; an absent required field is a fault.
    pub fn given(&self, key: &str, faults: &mut Faults) -> Option<&'a Value> {
        let value = self.map.get(key);
        if let (None, WhenAbsent::Required(example)) = (value, self.field(key).default) {
            faults.add(self.at(key), "is missing", format!("write {example}"));
        }
        value
    }

    fn text(&self, key: &str, value: &'a Value, faults: &mut Faults) -> Option<&'a str> {
        if let Value::String(text) = value {
            return Some(text);
        }
        let hint = match self.field(key).kind {
            _ if !value.is_number() => String::new(),
            Kind::Text | Kind::Lines => format!("write \"{value}\""),
            Kind::Words(words) => one_of(words.iter().map(|(word, _)| *word)),
            _ => format!("write it as text with its unit, as \"{value} …\""),
        };
        faults.add(self.at(key), format!("expected a text, got {}", kind_of(value)), hint);
        None
    }

    fn quantity<T: Copy + PartialEq + std::default::Default>(
        &self,
        key: &str,
        parse: fn(&str) -> Result<T, Fault>,
        faults: &mut Faults,
    ) -> Option<T> {
        let field = self.field(key);
        let Some(value) = self.given(key, faults) else {
            return match field.default {
                WhenAbsent::Is(Literal::Text(text)) => Some(declared(self.declared, field, parse(text))),
                _ => None,
            };
        };
        let parsed = if value.is_number() { parse(&value.to_string()) } else { parse(self.text(key, value, faults)?) };
        match parsed {
            Ok(quantity) if field.positive && quantity == T::default() => {
                let example = match field.default {
                    WhenAbsent::Is(Literal::Text(text)) => format!("write \"{text}\""),
                    WhenAbsent::Required(example) => format!("write {example}"),
                    _ => String::new(),
                };
                faults.add(self.at(key), "is zero", example);
                None
            }
            Ok(quantity) => Some(quantity),
            Err(fault) => {
                faults.add(self.at(key), fault.what, fault.hint);
                None
            }
        }
    }

    /// A time of up to a year.
    pub fn duration(&self, key: &str, faults: &mut Faults) -> Option<Duration> {
        let time = self.quantity(key, parse_duration, faults)?;
        if time > MAX_DURATION {
            faults.add(self.at(key), format!("{time} is more than a year"), "a simulation's clock counts nanoseconds");
            return None;
        }
        Some(time)
    }

    /// A size.
    pub fn bytes(&self, key: &str, faults: &mut Faults) -> Option<Bytes> {
        self.quantity(key, parse_bytes, faults)
    }

    /// A rate; above zero unless the declaration allows an outage.
    pub fn rate(&self, key: &str, faults: &mut Faults) -> Option<Rate> {
        let rate = self.quantity(key, parse_rate, faults)?;
        if rate.0 == 0 && !allows_outage(&self.field(key).kind) {
            faults.add(
                self.at(key),
                "the rate is zero",
                match self.field(key).kind {
                    Kind::Either(_) => {
                        "a link with rate zero carries no packets; write \"none\" for one that serialises in no time"
                    }
                    _ => "write a rate above zero",
                },
            );
            return None;
        }
        Some(rate)
    }

    /// One line of text.
    pub fn string(&self, key: &str, faults: &mut Faults) -> Option<String> {
        let Some(value) = self.given(key, faults) else {
            return match self.field(key).default {
                WhenAbsent::Is(Literal::Text(text)) => Some(text.to_owned()),
                _ => None,
            };
        };
        let text = self.text(key, value, faults)?;
        if text.chars().any(char::is_control) {
            faults.add(self.at(key), format!("'{text}' has a control character"), "names are printed on terminals");
            return None;
        }
        Some(text.to_owned())
    }

    /// A text of several lines.
    pub fn lines(&self, key: &str, faults: &mut Faults) -> Option<String> {
        let value = self.given(key, faults)?;
        self.text(key, value, faults).map(str::to_owned)
    }

    /// One of the declared texts.
    pub fn word(&self, key: &str, faults: &mut Faults) -> Option<&'static str> {
        let field = self.field(key);
        let Kind::Words(words) = field.kind else {
            panic!("'{key}' of '{}' is not an enumeration", self.declared.name)
        };
        let Some(value) = self.given(key, faults) else {
            return match field.default {
                WhenAbsent::Is(Literal::Text(text)) => Some(text),
                _ => None,
            };
        };
        let text = self.text(key, value, faults)?;
        let word = words.iter().find(|(word, _)| *word == text).map(|(word, _)| *word);
        if word.is_none() {
            wrong_word(&self.at(key), text, words.iter().map(|(word, _)| *word), faults);
        }
        word
    }

    /// The value in `values` of one of the declared texts.
    pub fn word_of<T: Copy>(&self, key: &str, values: &[(&'static str, T)], faults: &mut Faults) -> Option<T> {
        let word = self.word(key, faults)?;
        let found = values.iter().find(|(one, _)| *one == word).map(|(_, value)| *value);
        Some(
            found
                .unwrap_or_else(|| panic!("'{key}' of '{}' declares '{word}', which has no value", self.declared.name)),
        )
    }

    /// A Boolean.
    pub fn flag(&self, key: &str, faults: &mut Faults) -> Option<bool> {
        let Some(value) = self.given(key, faults) else {
            return match self.field(key).default {
                WhenAbsent::Is(Literal::Flag(flag)) => Some(flag),
                _ => None,
            };
        };
        if value.as_bool().is_none() {
            faults.add(self.at(key), format!("expected true or false, got {}", kind_of(value)), "");
        }
        value.as_bool()
    }

    /// An integer within the declared bounds.
    pub fn integer(&self, key: &str, faults: &mut Faults) -> Option<u64> {
        let field = self.field(key);
        let Kind::Integer(low, high) = field.kind else {
            panic!("'{key}' of '{}' is not an integer", self.declared.name)
        };
        let Some(value) = self.given(key, faults) else {
            return match field.default {
                WhenAbsent::Is(Literal::Integer(number)) => Some(number),
                _ => None,
            };
        };
        let found = value.as_u64().filter(|number| (low..=high).contains(number));
        if found.is_none() {
            faults.add(self.at(key), format!("expected an integer from {low} to {high}, got {}", shown(value)), "");
        }
        found
    }

    /// A number within the declared bounds.
    pub fn number(&self, key: &str, faults: &mut Faults) -> Option<f64> {
        let field = self.field(key);
        let (low, high) =
            bounds(&field.kind).unwrap_or_else(|| panic!("'{key}' of '{}' is not a number", self.declared.name));
        let default = match field.default {
            WhenAbsent::Is(Literal::Number(number)) => Some(number),
            _ => None,
        };
        let Some(value) = self.given(key, faults) else { return default };
        let found = value.as_f64().filter(|number| *number > low && *number <= high);
        if found.is_none() {
            let upper = if high == f64::MAX { String::new() } else { format!(" and up to {high}") };
            let hint = default.map_or_else(String::new, |number| format!("write {number}"));
            faults.add(self.at(key), format!("expected a number above {low}{upper}, got {}", shown(value)), hint);
        }
        found
    }

    /// A probability.
    pub fn probability(&self, key: &str, faults: &mut Faults) -> Option<f64> {
        let Some(value) = self.given(key, faults) else {
            return match self.field(key).default {
                WhenAbsent::Is(Literal::Number(number)) => Some(number),
                _ => None,
            };
        };
        let found = value.as_f64().filter(|number| (0.0..=1.0).contains(number));
        if found.is_none() {
            faults.add(self.at(key), format!("expected a probability from 0 to 1, got {}", shown(value)), "");
        }
        found
    }

    /// The items of a list with their paths; a single table is a list of length one.
    pub fn items(&self, key: &str, faults: &mut Faults) -> Vec<(String, &'a Value)> {
        match self.given(key, faults) {
            None => Vec::new(),
            Some(Value::Array(items)) => {
                items.iter().enumerate().map(|(n, item)| (format!("{}[{n}]", self.at(key)), item)).collect()
            }
            Some(item @ Value::Object(_)) => vec![(self.at(key), item)],
            Some(other) => {
                faults.add(self.at(key), format!("expected a list, got {}", kind_of(other)), "");
                Vec::new()
            }
        }
    }

    /// The items of a list of tables, `[[key]]` in TOML.
    pub fn tables(&self, key: &str, faults: &mut Faults) -> Vec<(String, &'a Value)> {
        if let Some(Value::Object(_)) = self.get(key) {
            faults.add(self.at(key), "expected a list of tables, got one table", format!("write '[[{key}]]'"));
            return Vec::new();
        }
        self.items(key, faults)
    }

    /// Reads a configuration of this table. A faulty field counts as absent, so that the others are still checked
    /// against each other; `None` if it is a required one.
    pub fn read_valid<T>(
        &self,
        read: impl Fn(&Reader<'_>, &mut Faults) -> Option<T>,
        faults: &mut Faults,
    ) -> Option<T> {
        let known = faults.0.len();
        read(self, faults).or_else(|| {
            let faulty = |key: &str| {
                let place = self.at(key);
                let mut rests = faults.0[known..].iter().filter_map(|fault| fault.place.strip_prefix(&place));
                rests.any(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            };
            let valid = self.map.iter().filter(|(key, _)| !faulty(key));
            let map = valid.map(|(key, value)| (key.clone(), value.clone())).collect();
            read(&Reader { map: &map, path: self.path.clone(), ..*self }, &mut Faults::default())
        })
    }

    /// A list of values.
    pub fn list(&self, key: &str, faults: &mut Faults) -> Option<&'a Vec<Value>> {
        let value = self.given(key, faults)?;
        if !value.is_array() {
            faults.add(self.at(key), format!("expected a list, got {}", kind_of(value)), "");
        }
        value.as_array()
    }

    /// A list of names.
    pub fn names(&self, key: &str, faults: &mut Faults) -> Option<Vec<String>> {
        self.get(key)?;
        let mut names = Vec::new();
        for (path, item) in self.items(key, faults) {
            match item {
                Value::String(name) if name.chars().any(char::is_control) => {
                    faults.add(path, format!("'{name}' has a control character"), "names are printed on terminals");
                }
                Value::String(name) => names.push(name.clone()),
                other => faults.add(path, format!("expected a name, got {}", kind_of(other)), ""),
            }
        }
        Some(names)
    }

    /// The table in this field, if any.
    pub fn table(&self, key: &str, faults: &mut Faults) -> Option<Self> {
        let Kind::Table(declared) = self.field(key).kind else {
            panic!("'{key}' of '{}' is not a table", self.declared.name)
        };
        Self::new(self.given(key, faults)?, self.at(key), declared, faults)
    }
}

/// Whether a rate of zero is valid.
fn allows_outage(kind: &Kind) -> bool {
    match kind {
        Kind::RateOrOutage => true,
        Kind::Either(kinds) => kinds.iter().any(allows_outage),
        _ => false,
    }
}

/// The bounds of a number: exclusive minimum, inclusive maximum.
fn bounds(kind: &Kind) -> Option<(f64, f64)> {
    match kind {
        Kind::Number(low, high) => Some((*low, *high)),
        Kind::Either(kinds) => kinds.iter().find_map(bounds),
        _ => None,
    }
}

fn declared<T>(table: &Table, field: &Field, parsed: Result<T, Fault>) -> T {
    parsed.unwrap_or_else(|fault| panic!("the default of '{}' in '{}': {}", field.name, table.name, fault.what))
}

fn one_of<'w>(words: impl Iterator<Item = &'w str>) -> String {
    format!("one of {}", words.collect::<Vec<_>>().join(", "))
}

/// Adds the fault of a text that is not among the valid ones.
pub fn wrong_word<'w>(path: &str, text: &str, words: impl Iterator<Item = &'w str> + Clone, faults: &mut Faults) {
    // A number is no misspelt word.
    let near = nearest(text, words.clone()).filter(|_| text.parse::<f64>().is_err());
    let hint = near.map_or_else(|| one_of(words), |near| format!("did you mean '{near}'?"));
    faults.0.push(Fault::new(path, format!("'{text}' is not a valid value"), hint));
}
