//! Declarations: a field, a table of fields, a choice between tables.

use serde_json::Value;

/// A word that a field may be, and what it means.
pub type Word = (&'static str, &'static str);

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// True or false.
    Flag,
    /// A whole number within these bounds, both included.
    Whole(u64, u64),
    /// A number above the first bound, up to and with the second one.
    Number(f64, f64),
    /// A number from 0 to 1.
    Probability,
    /// A time, written with its unit.
    Duration,
    /// A rate above zero, written with its unit.
    Rate,
    /// A rate, or an outage, which is a rate of zero.
    RateOrOutage,
    /// A size in bytes, written with its unit.
    Bytes,
    /// One line of text.
    Text,
    /// Text of several lines.
    Lines,
    /// One of these words.
    Words(&'static [Word]),
    /// A list of names.
    Names,
    /// A list of whole numbers.
    Wholes,
    /// A table.
    Table(&'static Table),
    /// A list of tables that TOML writes as `[[name]]`.
    Tables(&'static Table),
    /// A list of such values; one value alone counts as a list of one.
    List(&'static Self),
    /// A table with a word that tells which one it is.
    Choice(&'static Choice),
    /// One of these kinds, whichever fits.
    Either(&'static [Self]),
    /// Tables by name.
    Keyed(&'static Table),
    /// Plain values by name.
    Values,
    /// A form of its own.
    Custom(&'static Custom),
}

/// A form that no other kind covers.
#[derive(Debug)]
pub struct Custom {
    /// What it is, in a few words, with an example.
    pub accepts: &'static str,
    /// Its JSON Schema.
    pub schema: fn() -> Value,
    /// A valid value in canonical form.
    pub canonical: fn(&Value) -> Value,
    /// Its type in Python.
    pub python: &'static str,
}

/// A value in a declaration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// A text, a word, or a quantity with its unit.
    Text(&'static str),
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
}

impl Literal {
    /// As a document has it.
    #[must_use]
    pub fn value(self) -> Value {
        match self {
            Self::Text(text) => Value::from(text),
            Self::Whole(number) => Value::from(number),
            Self::Number(number) => Value::from(number),
            Self::Flag(flag) => Value::from(flag),
        }
    }
}

/// What holds where a document says nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WhenAbsent {
    /// The field must be given; the example stands in the fault.
    Required(&'static str),
    /// Nothing, or something derived: what its absence means, in a few words.
    Absent(&'static str),
    /// This value.
    Is(Literal),
}

/// A field of a table.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What holds where it is not given.
    pub default: WhenAbsent,
    /// Zero is a fault.
    pub positive: bool,
    /// What it means: a phrase without a full stop.
    pub doc: &'static str,
}

impl Field {
    /// A field of any kind that may be left out.
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind, doc: &'static str) -> Self {
        Self { name, kind, default: WhenAbsent::Absent(""), positive: false, doc }
    }

    const fn with(name: &'static str, kind: Kind, default: Literal, doc: &'static str) -> Self {
        Self { default: WhenAbsent::Is(default), ..Self::new(name, kind, doc) }
    }

    /// A time with this default.
    #[must_use]
    pub const fn duration(name: &'static str, default: &'static str, doc: &'static str) -> Self {
        Self::with(name, Kind::Duration, Literal::Text(default), doc)
    }

    /// A size in bytes with this default.
    #[must_use]
    pub const fn bytes(name: &'static str, default: &'static str, doc: &'static str) -> Self {
        Self::with(name, Kind::Bytes, Literal::Text(default), doc)
    }

    /// A number above 0 with this default.
    #[must_use]
    pub const fn number(name: &'static str, default: f64, doc: &'static str) -> Self {
        Self::with(name, Kind::Number(0.0, f64::MAX), Literal::Number(default), doc)
    }

    /// A probability with this default.
    #[must_use]
    pub const fn probability(name: &'static str, default: f64, doc: &'static str) -> Self {
        Self::with(name, Kind::Probability, Literal::Number(default), doc)
    }

    /// A whole number from `low` to `high` with this default.
    #[must_use]
    pub const fn whole(name: &'static str, (low, high): (u64, u64), default: u64, doc: &'static str) -> Self {
        Self::with(name, Kind::Whole(low, high), Literal::Whole(default), doc)
    }

    /// True or false with this default.
    #[must_use]
    pub const fn flag(name: &'static str, default: bool, doc: &'static str) -> Self {
        Self::with(name, Kind::Flag, Literal::Flag(default), doc)
    }

    /// One of `words`, by default this one.
    #[must_use]
    pub const fn word(name: &'static str, words: &'static [Word], default: &'static str, doc: &'static str) -> Self {
        Self::with(name, Kind::Words(words), Literal::Text(default), doc)
    }

    /// The same, which must be given; `example` stands in the fault.
    #[must_use]
    pub const fn required(self, example: &'static str) -> Self {
        Self { default: WhenAbsent::Required(example), ..self }
    }

    /// The same, which may be left out; `meaning` says what then holds.
    #[must_use]
    pub const fn absent(self, meaning: &'static str) -> Self {
        Self { default: WhenAbsent::Absent(meaning), ..self }
    }

    /// The same with this default.
    #[must_use]
    pub const fn or(self, default: Literal) -> Self {
        Self { default: WhenAbsent::Is(default), ..self }
    }

    /// The same, which may not be zero.
    #[must_use]
    pub const fn above_zero(self) -> Self {
        Self { positive: true, ..self }
    }

    /// Its value in a document where nothing is given, if it has a default.
    #[must_use]
    pub fn default_value(&self) -> Option<Value> {
        match self.default {
            WhenAbsent::Is(literal) => Some(literal.value()),
            WhenAbsent::Required(_) | WhenAbsent::Absent(_) => None,
        }
    }
}

/// A table of fields.
#[derive(Debug)]
pub struct Table {
    /// Its name: of a choice, the word that chooses it.
    pub name: &'static str,
    /// What it is: one or more sentences with the source.
    pub doc: &'static str,
    /// Its fields, in groups that tables may share.
    pub groups: &'static [&'static [Field]],
    /// The name of its class in Python, where one is made of it.
    pub python: Option<&'static str>,
}

impl Table {
    /// A table of these groups of fields.
    #[must_use]
    pub const fn new(name: &'static str, doc: &'static str, groups: &'static [&'static [Field]]) -> Self {
        Self { name, doc, groups, python: None }
    }

    /// The same with a class of this name in Python.
    #[must_use]
    pub const fn class(self, python: &'static str) -> Self {
        Self { python: Some(python), ..self }
    }

    /// Its fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> + use<> {
        self.groups.iter().flat_map(|group| group.iter())
    }

    /// The field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields().find(|one| one.name == name)
    }
}

/// A choice between tables by a word in the field `tag`.
#[derive(Debug)]
pub struct Choice {
    /// What is chosen, such as `queue`.
    pub name: &'static str,
    /// The field that has the word.
    pub tag: &'static str,
    /// The word where none is given; without it the tag is required.
    pub default: Option<&'static str>,
    /// Stands in the fault of a missing tag.
    pub example: &'static str,
    /// A bare text names the table, with all its defaults.
    pub shorthand: bool,
    /// The tables.
    pub tables: fn() -> Vec<&'static Table>,
}

impl Choice {
    /// The table that a value chooses: by its tag, as a bare text, or by default; nothing where there is none.
    #[must_use]
    pub fn of(&self, value: &Value) -> Option<&'static Table> {
        let word = match value {
            Value::String(word) if self.shorthand => Some(word.as_str()),
            _ => match value.get(self.tag) {
                Some(word) => word.as_str(),
                None => self.default,
            },
        };
        (self.tables)().into_iter().find(|table| Some(table.name) == word)
    }
}
