//! Configurations, each declared once.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use cwndlab_units::{Bytes, Duration, Rate};
use serde_json::Value;

use crate::fault::Faults;
use crate::field::{equal, Field, Kind, Literal, Table, WhenAbsent};
use crate::reader::Reader;

/// A type of fields: what a document may contain, and the value of a configuration that results from it.
///
/// Quantities, numbers, [`Probability`], `bool`, texts, lists of names, enums that [`words!`](crate::words!) defines, and
/// configurations with a [table](TableType) of their own are such types, [`Positive`] of a quantity, lists of tables, and
/// `Option` of any of them.
pub trait FieldType {
    /// The value of the configuration.
    type Value;

    /// The kind of the field.
    const KIND: Kind;

    /// Zero is a fault.
    const POSITIVE: bool = false;

    /// The field may be absent without a default.
    const OPTIONAL: bool = false;

    /// Reads the field `name` of a table, or its default. `None` if it is faulty; its fault is added to `faults`.
    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Self::Value>;
}

macro_rules! types {
    ($($type:ty => $value:ty, $kind:expr, $reader:ident;)+) => {$(
        impl FieldType for $type {
            type Value = $value;

            const KIND: Kind = $kind;

            fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<$value> {
                table.$reader(name, faults)
            }
        }
    )+};
}

/// A probability, `f64`.
#[derive(Debug)]
pub enum Probability {}

/// A rate of which zero is an outage.
#[derive(Debug)]
pub enum RateOrOutage {}

/// A text of several lines, `String`.
#[derive(Debug)]
pub enum Lines {}

types! {
    bool => Self, Kind::Flag, flag;
    f64 => Self, Kind::Number(0.0, f64::MAX), number;
    u64 => Self, Kind::Integer(0, u64::MAX), integer;
    Probability => f64, Kind::Probability, probability;
    Duration => Self, Kind::Duration, duration;
    Bytes => Self, Kind::Bytes, bytes;
    Rate => Self, Kind::Rate, rate;
    RateOrOutage => Rate, Kind::RateOrOutage, rate;
    String => Self, Kind::Text, string;
    Lines => String, Kind::Lines, lines;
    Vec<String> => Self, Kind::Names, names;
}

macro_rules! narrow_integers {
    ($($type:ident)+) => {$(
        impl FieldType for $type {
            type Value = Self;

            const KIND: Kind = Kind::Integer(0, $type::MAX as u64);

            fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Self> {
                table.integer(name, faults)?.try_into().ok()
            }
        }
    )+};
}

narrow_integers! { u8 u32 }

/// A quantity or an integer above zero.
#[derive(Debug)]
pub struct Positive<T>(PhantomData<T>);

impl<T: FieldType> FieldType for Positive<T> {
    type Value = T::Value;

    const KIND: Kind = match T::KIND {
        Kind::Integer(_, high) => Kind::Integer(1, high),
        other => other,
    };

    const POSITIVE: bool = true;

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<T::Value> {
        T::read(table, name, faults)
    }
}

impl<T: FieldType> FieldType for Option<T> {
    type Value = Option<T::Value>;

    const KIND: Kind = T::KIND;

    const POSITIVE: bool = T::POSITIVE;

    const OPTIONAL: bool = true;

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Option<T::Value>> {
        if table.gives(name) {
            T::read(table, name, faults).map(Some)
        } else {
            Some(None)
        }
    }
}

/// A configuration with a table of its own. A field of this type has the table, a `Vec` a list of tables; [`Tables`] are
/// those that TOML writes as `[[name]]`.
pub trait TableType: Sized {
    /// The declaration.
    const TABLE: &'static Table;

    /// Reads the table; faults are added to `faults`.
    fn read_table(table: &Reader<'_>, faults: &mut Faults) -> Option<Self>;
}

impl<T: TableType> FieldType for T {
    type Value = T;

    const KIND: Kind = Kind::Table(T::TABLE);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<T> {
        T::read_table(&table.table(name, faults)?, faults)
    }
}

/// A table with faults is left out.
impl<T: TableType> FieldType for Vec<T> {
    type Value = Self;

    const KIND: Kind = Kind::List(&Kind::Table(T::TABLE));

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Self> {
        Some(read_items(table.items(name, faults), faults))
    }
}

fn read_items<T: TableType>(items: Vec<(String, &Value)>, faults: &mut Faults) -> Vec<T> {
    let read = |(path, item)| T::read_table(&Reader::new(item, path, T::TABLE, faults)?, faults);
    items.into_iter().filter_map(read).collect()
}

/// A list of tables, `[[name]]` in TOML. A table with faults is left out.
#[derive(Debug)]
pub struct Tables<T>(PhantomData<T>);

impl<T: TableType> FieldType for Tables<T> {
    type Value = Vec<T>;

    const KIND: Kind = Kind::Tables(T::TABLE);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Vec<T>> {
        Some(read_items(table.tables(name, faults), faults))
    }
}

/// The path of a table, as a member of its configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TablePath(pub String);

impl TablePath {
    /// It has no fields.
    pub const FIELDS: &'static [Field] = &[];

    /// The path of `table`.
    #[must_use]
    pub fn read(table: &Reader<'_>, _: &mut Faults) -> Option<Self> {
        Some(Self(table.path.clone()))
    }
}

impl Deref for TablePath {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TablePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self)
    }
}

impl Field {
    /// A field of this type, without a default.
    #[must_use]
    pub const fn of<T: FieldType>(name: &'static str, doc: &'static str) -> Self {
        Self { positive: T::POSITIVE, ..Self::new(name, T::KIND, doc) }
    }
}

/// The declaration of a field of this type, whose absence the type allows.
///
/// # Panics
/// If the field needs a default, or an `Option` has one.
#[doc(hidden)]
#[must_use]
pub const fn declared<T: FieldType>(field: Field) -> Field {
    assert!(
        T::OPTIONAL == matches!(field.default, WhenAbsent::Absent(_)),
        "a field without default is an Option, and an Option has no default"
    );
    field
}

/// The fields of several declarations, `N` in total.
#[doc(hidden)]
#[must_use]
pub const fn concat<const N: usize>(groups: &[&[Field]]) -> [Field; N] {
    let mut fields = [Field::new("", Kind::Flag, ""); N];
    let mut group = 0;
    let mut at = 0;
    let mut filled = 0;
    while filled < N {
        if at == groups[group].len() {
            (group, at) = (group + 1, 0);
        } else {
            fields[filled] = groups[group][at];
            (at, filled) = (at + 1, filled + 1);
        }
    }
    fields
}

/// The fields with these defaults in place of their own.
///
/// # Panics
/// If there is no such field.
#[doc(hidden)]
#[must_use]
pub const fn with_defaults<const N: usize>(declared: &[Field], defaults: &[(&str, Literal)]) -> [Field; N] {
    let mut fields = concat(&[declared]);
    let mut n = 0;
    while n < defaults.len() {
        let mut at = 0;
        while !equal(fields[at].name, defaults[n].0) {
            at += 1;
        }
        fields[at] = fields[at].or(defaults[n].1);
        n += 1;
    }
    fields
}

/// Number of fields in several declarations.
#[doc(hidden)]
#[must_use]
pub const fn count(groups: &[&[Field]]) -> usize {
    let mut group = 0;
    let mut count = 0;
    while group < groups.len() {
        count += groups[group].len();
        group += 1;
    }
    count
}

/// Declares a configuration: a struct with a member for each field of its table. `FIELDS` of the struct is the
/// declaration for a [`Table`]. `read` reads the fields from a [`Reader`]; it returns `None` if one of
/// them is faulty.
///
/// A field has its documentation, as in the schema, a name, a [`FieldType`], and its default, or else:
/// - `required("'p = 0.01'")`, with the example of the fault;
/// - `absent("never")`, with the meaning of the absence, for an `Option`;
/// - `absent("twice the target", target * 2)`, with a value that may depend on the previous fields.
///
/// An integer may have a range that includes both bounds, `in 1..=1000`; a number is above zero and may have a maximum,
/// `up to 100.0`. The compiler checks that a default is of the field's type and within its range.
///
/// A member without default is a configuration whose fields belong to the same table, some with other defaults:
/// `aqm: Codel { target = "7 ms" }`. With `check` after the struct, its method `check` adds the faults of values that do
/// not fit each other.
///
/// ```
/// use cwndlab_config::{fields, Faults, Positive, Reader, Table};
/// use cwndlab_units::Duration;
///
/// fields! {
///     /// Controlled delay.
///     #[derive(Debug, PartialEq)]
///     struct Codel {
///         /// sojourn time below which no packet is dropped
///         target: Positive<Duration> = "5 ms",
///         /// sliding window
///         interval: Duration = absent("20 times the target", target * 20),
///     }
///     check
/// }
///
/// impl Codel {
///     fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
///         if self.interval < self.target {
///             faults.add(table.at("interval"), "is shorter than the target", "");
///         }
///     }
/// }
///
/// fields! {
///     /// Fair queueing.
///     #[derive(Debug, PartialEq)]
///     struct Config {
///         /// number of queues
///         queues: Option<u32> = absent("one for each flow") in 1..=1000,
///         /// the AQM of each queue
///         aqm: Codel { target = "10 ms" },
///     }
/// }
///
/// static SPEC: Table = Table::new("fq-codel", "Fair queueing with CoDel (RFC 8290).", &[Config::FIELDS]);
/// assert_eq!(SPEC.fields().map(|field| field.name).collect::<Vec<_>>(), ["queues", "target", "interval"]);
///
/// let document = serde_json::json!({});
/// let mut faults = Faults::default();
/// let table = Reader::new(&document, "queue", &SPEC, &mut faults).unwrap();
/// let aqm = Codel { target: Duration::from_millis(10), interval: Duration::from_millis(200) };
/// assert_eq!(Config::read(&table, &mut faults), Some(Config { queues: None, aqm }));
///
/// let document = serde_json::json!({ "target": "7 ms", "interval": "1 ms", "queues": 0 });
/// let table = Reader::new(&document, "queue", &SPEC, &mut faults).unwrap();
/// assert_eq!(Config::read(&table, &mut faults), None);
/// let places: Vec<&str> = faults.0.iter().map(|fault| fault.place.as_str()).collect();
/// assert_eq!(places, ["queue.queues", "queue.interval"]);
/// ```
///
/// A misspelt field does not compile:
///
/// ```compile_fail,E0609
/// # cwndlab_config::fields! {
/// #     /// Controlled delay.
/// #     struct Config {
/// #         /// sojourn time below which no packet is dropped
/// #         target: cwndlab_units::Duration = "5 ms",
/// #     }
/// # }
/// fn sum(config: &Config) -> cwndlab_units::Duration {
///     config.tarket
/// }
/// ```
///
/// Nor does a value of another type:
///
/// ```compile_fail,E0308
/// # cwndlab_config::fields! {
/// #     /// Controlled delay.
/// #     struct Config {
/// #         /// sojourn time below which no packet is dropped
/// #         target: cwndlab_units::Duration = "5 ms",
/// #     }
/// # }
/// fn seconds(config: &Config) -> f64 {
///     config.target
/// }
/// ```
///
/// Nor does a default of another type or outside the range:
///
/// ```compile_fail,E0080
/// cwndlab_config::fields! {
///     /// Controlled delay.
///     struct Config {
///         /// sojourn time below which no packet is dropped
///         target: cwndlab_units::Duration = 0.005,
///     }
/// }
/// ```
///
/// ```compile_fail,E0080
/// cwndlab_config::fields! {
///     /// Fair queueing.
///     struct Config {
///         /// number of queues
///         queues: u32 = 1024 in 1..=1000,
///     }
/// }
/// ```
///
/// Nor does a field that may be absent and is no `Option`:
///
/// ```compile_fail,E0080
/// cwndlab_config::fields! {
///     /// Fair queueing.
///     struct Config {
///         /// number of queues
///         queues: u32 = absent("one for each flow"),
///     }
/// }
/// ```
#[macro_export]
macro_rules! fields {
    ($(#[$attribute:meta])* $vis:vis struct $config:ident {$(
        $(#[doc = $doc:literal])+
        $name:ident: $type:ty $({$($own:ident = $value:literal),+})? $(
            = $default:tt $(($($argument:tt)+))? $(in $low:literal..=$high:literal)? $(up to $most:literal)?
        )?
    ),* $(,)?} $($check:ident)?) => {
        $(#[$attribute])*
        $vis struct $config {
            $($(#[doc = $doc])+ $vis $name: $crate::fields!(@value $type $(, $default)?),)*
        }

        impl $config {
            /// The declarations of the fields.
            $vis const FIELDS: &'static [$crate::Field] = {
                const GROUPS: &[&[$crate::Field]] = &[$($crate::fields!(
                    @fields $type, (concat!($($doc),+)) $({$($own = $value),+})? $(,
                        stringify!($name), [$(within($low, $high))? $(up_to($most))?], $default $($($argument)+)?
                    )?
                )),*];
                &$crate::fields::concat::<{ $crate::fields::count(GROUPS) }>(GROUPS)
            };

            /// Reads the fields; faults are added to `faults`.
            $vis fn read(table: &$crate::Reader<'_>, faults: &mut $crate::Faults) -> Option<Self> {
                $(let $name = $crate::fields!(
                    @read $type, (table, faults) $(, stringify!($name), $default $($($argument)+)?)?
                );)*
                $(let $name = $crate::fields!(@resolve $name? $($(, $($argument)+)?)?);)*
                let config = Self { $($name),* };
                $(config.$check(table, faults);)?
                Some(config)
            }
        }
    };
    (@value $type:ty) => { $type };
    (@value $type:ty, $default:tt) => { <$type as $crate::FieldType>::Value };
    (@fields $type:ty, $doc:tt) => { <$type>::FIELDS };
    (@fields $type:ty, $doc:tt {$($own:ident = $value:literal),+}) => {
        &$crate::fields::with_defaults::<{ <$type>::FIELDS.len() }>(<$type>::FIELDS, &[
            $((stringify!($own), $crate::field::Given($value).literal())),+
        ])
    };
    (@fields $type:ty, $doc:tt, $name:expr, [$($limit:ident($($bound:literal),+))?], $($default:tt)+) => {
        &[$crate::fields!(
            @default $type, $crate::Field::of::<$type>($name, $doc.trim_ascii())$(.$limit($($bound),+))?, $($default)+
        )]
    };
    (@default $type:ty, $field:expr, required $example:expr) => {
        $crate::fields::declared::<$type>($field.required($example))
    };
    (@default $type:ty, $field:expr, absent $meaning:expr) => {
        $crate::fields::declared::<$type>($field.absent($meaning))
    };
    (@default $type:ty, $field:expr, absent $meaning:expr, $value:expr) => { $field.absent($meaning) };
    (@default $type:ty, $field:expr, $default:literal) => {
        $crate::fields::declared::<$type>($field.or($crate::field::Given($default).literal()))
    };
    (@read $type:ty, ($table:ident, $faults:ident)) => { <$type>::read($table, $faults) };
    (@read $type:ty, ($table:ident, $faults:ident), $name:expr, absent $meaning:expr, $value:expr) => {
        <Option<$type> as $crate::FieldType>::read($table, $name, $faults)
    };
    (@read $type:ty, ($table:ident, $faults:ident), $name:expr, $($default:tt)+) => {
        <$type as $crate::FieldType>::read($table, $name, $faults)
    };
    (@resolve $read:expr, $meaning:expr, $value:expr) => { $read.unwrap_or_else(|| $value) };
    (@resolve $read:expr $(, $text:expr)?) => { $read };
}

/// Defines an enum of words as a [`FieldType`]: each variant with its meaning, as in the schema, and its text.
///
/// ```
/// cwndlab_config::words! {
///     /// Distribution of the frame sizes.
///     enum Sizes {
///         /// log-normal
///         LogNormal = "log-normal",
///         /// gamma
///         Gamma = "gamma",
///     }
/// }
///
/// cwndlab_config::fields! {
///     /// Video.
///     struct Config {
///         /// distribution of the frame sizes
///         sizes: Sizes = "gamma",
///     }
/// }
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$attribute:meta])* $vis:vis enum $name:ident {$(
        $(#[doc = $meaning:literal])+
        $variant:ident = $word:literal
    ),+ $(,)?}) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[doc = $meaning])+ $variant,)+
        }

        impl $crate::FieldType for $name {
            type Value = Self;

            const KIND: $crate::Kind = $crate::Kind::Words(&[$(($word, concat!($($meaning),+).trim_ascii())),+]);

            fn read(table: &$crate::Reader<'_>, name: &str, faults: &mut $crate::Faults) -> Option<Self> {
                table.word_of(name, &[$(($word, Self::$variant)),+], faults)
            }
        }
    };
}
