//! Declarations of fields, tables of fields, and choices between tables.

use serde_json::Value;

/// A text value of an enumerated field, and its meaning.
pub type Word = (&'static str, &'static str);

/// The kind of a field's value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A Boolean.
    Flag,
    /// An integer within these bounds, inclusive.
    Integer(u64, u64),
    /// A number above the first bound and at most the second bound.
    Number(f64, f64),
    /// A number from 0 to 1.
    Probability,
    /// A time with unit.
    Duration,
    /// A rate above zero, with unit.
    Rate,
    /// A rate with unit; zero is an outage.
    RateOrOutage,
    /// A size in bytes, with unit.
    Bytes,
    /// One line of text.
    Text,
    /// Several lines of text.
    Lines,
    /// One of these texts.
    Words(&'static [Word]),
    /// A list of names.
    Names,
    /// A list of integers.
    Integers,
    /// A table.
    Table(&'static Table),
    /// A list of tables that TOML writes as `[[name]]`.
    Tables(&'static Table),
    /// A list of values of this kind; a single value is a list of length one.
    List(&'static Self),
    /// One of several tables, selected by a field.
    Choice(&'static Choice),
    /// Any of these kinds.
    Either(&'static [Self]),
    /// Tables by name.
    Keyed(&'static Table),
    /// Plain values by name.
    Values,
    /// A custom kind.
    Custom(&'static Custom),
}

/// A kind that no other variant covers.
#[derive(Debug)]
pub struct Custom {
    /// Accepted values, with an example.
    pub accepts: &'static str,
    /// JSON Schema.
    pub schema: fn() -> Value,
    /// Converts a valid value to its canonical form.
    pub canonical: fn(&Value) -> Value,
    /// Type in Python.
    pub python: &'static str,
}

/// A value in a declaration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// A text, or a quantity with its unit.
    Text(&'static str),
    /// An integer.
    Integer(u64),
    /// A number.
    Number(f64),
    /// A Boolean.
    Flag(bool),
}

impl Literal {
    /// The value in a document.
    #[must_use]
    pub fn value(self) -> Value {
        match self {
            Self::Text(text) => Value::from(text),
            Self::Integer(number) => Value::from(number),
            Self::Number(number) => Value::from(number),
            Self::Flag(flag) => Value::from(flag),
        }
    }
}

/// A default as it is written in a declaration.
#[doc(hidden)]
#[derive(Debug)]
pub struct Given<T>(pub T);

macro_rules! literals {
    ($($type:ty => $variant:ident,)+) => {$(
        impl Given<$type> {
            /// The value.
            #[must_use]
            pub const fn literal(self) -> Literal {
                Literal::$variant(self.0)
            }
        }
    )+};
}

literals! {
    &'static str => Text,
    u64 => Integer,
    f64 => Number,
    bool => Flag,
}

/// The meaning of an absent field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WhenAbsent {
    /// The field is required; the fault contains this example.
    Required(&'static str),
    /// No default; the text describes the meaning of the absence.
    Absent(&'static str),
    /// A default.
    Is(Literal),
}

/// A field of a table.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// Kind of the value.
    pub kind: Kind,
    /// Default, or the meaning of an absent field.
    pub default: WhenAbsent,
    /// The value must be above zero.
    pub positive: bool,
    /// Description, a phrase without a full stop.
    pub doc: &'static str,
}

impl Field {
    /// An optional field of any kind.
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind, doc: &'static str) -> Self {
        Self { name, kind, default: WhenAbsent::Absent(""), positive: false, doc }
    }

    /// Makes the field required; the fault of a missing field contains `example`.
    #[must_use]
    pub const fn required(self, example: &'static str) -> Self {
        Self { default: WhenAbsent::Required(example), ..self }
    }

    /// Makes the field optional; `meaning` describes its absence.
    #[must_use]
    pub const fn absent(self, meaning: &'static str) -> Self {
        Self { default: WhenAbsent::Absent(meaning), ..self }
    }

    /// Sets the default.
    ///
    /// # Panics
    /// If the field does not accept it.
    #[must_use]
    pub const fn or(self, default: Literal) -> Self {
        assert!(accepts(&self.kind, default), "the field does not accept its default");
        Self { default: WhenAbsent::Is(default), ..self }
    }

    /// Limits an integer to these bounds, inclusive.
    ///
    /// # Panics
    /// If the bounds are not within those of the type.
    #[must_use]
    pub const fn within(self, low: u64, high: u64) -> Self {
        assert!(
            matches!(self.kind, Kind::Integer(least, most) if least <= low && low <= high && high <= most),
            "the range is not one of the field's type"
        );
        Self { kind: Kind::Integer(low, high), ..self }
    }

    /// Limits a number above zero to this maximum.
    ///
    /// # Panics
    /// If the field is no such number.
    #[must_use]
    pub const fn up_to(self, most: f64) -> Self {
        assert!(matches!(self.kind, Kind::Number(_, high) if most <= high), "the field is no number");
        Self { kind: Kind::Number(0.0, most), ..self }
    }

    /// The default; `None` for a field without one.
    #[must_use]
    pub fn default_value(&self) -> Option<Value> {
        match self.default {
            WhenAbsent::Is(literal) => Some(literal.value()),
            WhenAbsent::Required(_) | WhenAbsent::Absent(_) => None,
        }
    }
}

/// Whether a kind of fields may have this default. Quantities are parsed when they are read.
const fn accepts(kind: &Kind, default: Literal) -> bool {
    match (kind, default) {
        (Kind::Flag, Literal::Flag(_))
        | (
            Kind::Duration | Kind::Rate | Kind::RateOrOutage | Kind::Bytes | Kind::Text | Kind::Custom(_),
            Literal::Text(_),
        ) => true,
        (Kind::Integer(low, high), Literal::Integer(number)) => *low <= number && number <= *high,
        (Kind::Number(low, high), Literal::Number(number)) => *low < number && number <= *high,
        (Kind::Probability, Literal::Number(number)) => 0.0 <= number && number <= 1.0,
        (Kind::Words(words), Literal::Text(text)) => {
            let mut n = 0;
            while n < words.len() {
                if equal(words[n].0, text) {
                    return true;
                }
                n += 1;
            }
            false
        }
        (Kind::Either(kinds), _) => {
            let mut n = 0;
            while n < kinds.len() {
                if accepts(&kinds[n], default) {
                    return true;
                }
                n += 1;
            }
            false
        }
        _ => false,
    }
}

/// Whether two texts are equal.
pub(crate) const fn equal(one: &str, other: &str) -> bool {
    let one = one.as_bytes();
    let other = other.as_bytes();
    let mut n = 0;
    while n < one.len() && n < other.len() && one[n] == other[n] {
        n += 1;
    }
    n == one.len() && n == other.len()
}

/// A table of fields.
#[derive(Debug)]
pub struct Table {
    /// Name; in a choice, the value of the tag that selects the table.
    pub name: &'static str,
    /// Description, one or more sentences with the source.
    pub doc: &'static str,
    /// Fields, in groups that tables may share.
    pub groups: &'static [&'static [Field]],
    /// Name of the generated Python class, if any.
    pub python: Option<&'static str>,
}

impl Table {
    /// A table with these groups of fields.
    #[must_use]
    pub const fn new(name: &'static str, doc: &'static str, groups: &'static [&'static [Field]]) -> Self {
        Self { name, doc, groups, python: None }
    }

    /// Sets the name of the generated Python class.
    #[must_use]
    pub const fn class(self, python: &'static str) -> Self {
        Self { python: Some(python), ..self }
    }

    /// All fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> + use<> {
        self.groups.iter().flat_map(|group| group.iter())
    }

    /// The field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields().find(|one| one.name == name)
    }
}

/// A choice between tables by the value of the field `tag`.
#[derive(Debug)]
pub struct Choice {
    /// Name of the choice, such as `queue`.
    pub name: &'static str,
    /// Name of the field that selects the table.
    pub tag: &'static str,
    /// Default of the tag; `None`: the tag is required.
    pub default: Option<&'static str>,
    /// Example for the fault of a missing tag.
    pub example: &'static str,
    /// A plain text selects the table with all defaults.
    pub shorthand: bool,
    /// The tables.
    pub tables: fn() -> Vec<&'static Table>,
}

impl Choice {
    /// The table that a value selects: by its tag, as a plain text, or by default; `None` if there is no such table.
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
