//! Declarations of tables: `table!` derives a row struct, its Arrow columns and its documentation from one list.

#[cfg(feature = "arrow")]
use std::sync::Arc;

#[cfg(feature = "arrow")]
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt32Array, UInt64Array, UInt8Array,
};

use crate::plain::{Plain, Values};

/// A table of the records.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name, also that of its file.
    pub name: &'static str,
    /// The subject of a row.
    pub description: &'static str,
    /// Most runs leave the table empty. An empty optional table has no file and is not part of the hash.
    pub optional: bool,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name, with the unit as suffix.
    pub name: &'static str,
    /// The type of its values.
    pub column_type: ColumnType,
    /// Whether nulls are permitted.
    pub nullable: bool,
    /// When the column is part of the hash of the records.
    pub hash_rule: HashRule,
    /// The meaning of its values.
    pub description: &'static str,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// 8 bits, unsigned.
    UInt8,
    /// 32 bits, unsigned.
    UInt32,
    /// 64 bits, unsigned.
    UInt64,
    /// 64 bits, signed.
    Int64,
    /// IEEE 754 binary64.
    Float64,
    /// True or false.
    Bool,
    /// UTF-8.
    Text,
}

impl ColumnType {
    /// The name of the type, as in the documentation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UInt8 => "uint8",
            Self::UInt32 => "uint32",
            Self::UInt64 => "uint64",
            Self::Int64 => "int64",
            Self::Float64 => "float64",
            Self::Bool => "bool",
            Self::Text => "text",
        }
    }
}

/// When a column is part of the hash of the records. With a suitable rule, a column that a later release adds or makes
/// nullable keeps the hashes of runs without such values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashRule {
    /// In every run: name, null positions and values.
    Always,
    /// Never: the column names the machine or the release, or follows from the scenario.
    Never,
    /// If the table has a row.
    IfRows,
    /// If a value is not null.
    IfValues,
    /// In every run; the null positions only if a value is null.
    NullsIfAny,
}

impl HashRule {
    /// The rule of an attribute `#[hash(…)]`.
    pub(crate) const fn named(rule: &str) -> Self {
        match rule.as_bytes() {
            b"" => Self::Always,
            b"never" => Self::Never,
            b"if_rows" => Self::IfRows,
            b"if_values" => Self::IfValues,
            b"nulls_if_any" => Self::NullsIfAny,
            _ => panic!("rules are never, if_rows, if_values and nulls_if_any"),
        }
    }
}

/// Units by the suffix of a column's name, the longest suffix first.
const UNITS: [(&str, &str); 7] = [
    ("_packet_ns", "packet·ns"),
    ("_byte_ns", "byte·ns"),
    ("_ns", "ns"),
    ("_bytes", "bytes"),
    ("_packets", "packets"),
    ("_segments", "segments"),
    ("_bps", "bit/s"),
];

impl Column {
    /// The unit by the suffix of the name; empty for counts, indices, codes and text.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        UNITS.iter().find(|(suffix, _)| self.name.ends_with(suffix)).map_or("", |(_, unit)| unit)
    }
}

/// A row of a table.
pub trait Row: Sized {
    /// Its table.
    const TABLE: Table;

    /// The columns of rows as vectors, in the table's order.
    fn plain(rows: &[Self]) -> Vec<Plain>;

    /// The columns of rows, in the table's order.
    #[cfg(feature = "arrow")]
    fn columns(rows: &[Self]) -> Vec<ArrayRef>;
}

/// A type of values in a column.
pub trait Cell: Sized {
    /// The column's type. Counters and times of 64 bits are signed, so that differences of columns can be negative.
    const TYPE: ColumnType;
    /// Whether the column may have nulls.
    const NULLABLE: bool;

    /// A column of these values, as vectors.
    fn plain<'a>(cells: impl Iterator<Item = &'a Self>) -> Plain
    where
        Self: 'a;

    /// A column of these values.
    #[cfg(feature = "arrow")]
    fn column<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
}

/// A value of 64 bits in an unsigned column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsigned(pub u64);

/// A sum as the value of a signed 64-bit column; `None` above 2⁶³ − 1.
#[must_use]
pub fn fitting(sum: u128) -> Option<u64> {
    i64::try_from(sum).ok().map(i64::cast_unsigned)
}

macro_rules! cell {
    ($cell:ty, $type:ident, $array:ident, $nullable:literal, $value:expr) => {
        impl Cell for $cell {
            const TYPE: ColumnType = ColumnType::$type;
            const NULLABLE: bool = $nullable;

            fn plain<'a>(cells: impl Iterator<Item = &'a Self>) -> Plain {
                let cells = cells.map($value).map(|cell| (cell.is_some(), cell.unwrap_or_default()));
                let (valid, values) = cells.unzip();
                Plain::new(Values::$type(values), valid)
            }

            #[cfg(feature = "arrow")]
            fn column<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new(cells.map($value).collect::<$array>())
            }
        }
    };
}

cell!(u8, UInt8, UInt8Array, false, |&value| Some(value));
cell!(u32, UInt32, UInt32Array, false, |&value| Some(value));
cell!(u64, Int64, Int64Array, false, |&value| Some(value.cast_signed()));
cell!(Unsigned, UInt64, UInt64Array, false, |value| Some(value.0));
cell!(Option<u32>, UInt32, UInt32Array, true, |&value| value);
cell!(Option<u64>, Int64, Int64Array, true, |value| value.map(u64::cast_signed));
cell!(f64, Float64, Float64Array, false, |&value| Some(value));
cell!(Option<f64>, Float64, Float64Array, true, |&value| value);
cell!(bool, Bool, BooleanArray, false, |&value| Some(value));
cell!(String, Text, StringArray, false, |value| Some(value.as_str()));
cell!(&'static str, Text, StringArray, false, |&value| Some(value));

/// Declares a table: a struct for its rows, with `#[table(name)]` or `#[table(name, optional)]` before it. Each field
/// is a column of the same name; its comment is the column's documentation, and `#[hash(…)]` before it is a rule of
/// [`HashRule`] other than `Always`.
macro_rules! table {
    (
        $(#[doc = $description:literal])+
        #[table($table:ident $(, $optional:ident)?)]
        #[derive($($derive:ident),+)]
        pub struct $row:ident {
            $(
                $(#[doc = $documentation:literal])+
                $(#[hash($rule:ident)])?
                pub $column:ident: $cell:ty,
            )+
        }
    ) => {
        $(#[doc = $description])+
        #[derive($($derive),+)]
        pub struct $row {
            $(
                $(#[doc = $documentation])+
                pub $column: $cell,
            )+
        }

        impl $crate::declaration::Row for $row {
            const TABLE: $crate::declaration::Table = $crate::declaration::Table {
                name: stringify!($table),
                description: concat!($($description),+).trim_ascii(),
                optional: $crate::declaration::optional(concat!($(stringify!($optional))?)),
                columns: &[$(
                    $crate::declaration::Column {
                        name: stringify!($column),
                        column_type: <$cell as $crate::declaration::Cell>::TYPE,
                        nullable: <$cell as $crate::declaration::Cell>::NULLABLE,
                        hash_rule: $crate::declaration::HashRule::named(concat!($(stringify!($rule))?)),
                        description: concat!($($documentation),+).trim_ascii(),
                    }
                ),+],
            };

            fn plain(rows: &[Self]) -> Vec<$crate::plain::Plain> {
                vec![$($crate::declaration::Cell::plain(rows.iter().map(|row| &row.$column))),+]
            }

            #[cfg(feature = "arrow")]
            fn columns(rows: &[Self]) -> Vec<arrow_array::ArrayRef> {
                vec![$($crate::declaration::Cell::column(rows.iter().map(|row| &row.$column))),+]
            }
        }
    };
}

/// Whether the second argument of `#[table(…)]` is `optional`.
pub(crate) const fn optional(argument: &str) -> bool {
    match argument.as_bytes() {
        b"" => false,
        b"optional" => true,
        _ => panic!("the second argument of #[table(…)] is 'optional' or absent"),
    }
}

/// Lists the tables of a run: first the table of the run itself, then those that an engine fills. Defines `Records` and
/// `TABLES`.
macro_rules! records {
    ($run:ident $(, $table:ident: $row:ident)+ $(,)?) => {
        /// All rows of a run, as an engine fills them.
        #[derive(Clone, Debug, Default)]
        pub struct Records {
            $(
                #[doc = concat!("Rows of the table `", stringify!($table), "`.")]
                pub $table: Vec<$row>,
            )+
        }

        /// The tables of a run, in canonical order.
        pub const TABLES: &[$crate::declaration::Table] =
            &[<$run as $crate::declaration::Row>::TABLE, $(<$row as $crate::declaration::Row>::TABLE),+];

        impl Records {
            /// Row count and columns of each table as vectors, in canonical order.
            pub(crate) fn plain(&self, run: &$run) -> Vec<(usize, Vec<$crate::plain::Plain>)> {
                use $crate::declaration::Row;
                vec![
                    (1, $run::plain(std::slice::from_ref(run))),
                    $((self.$table.len(), $row::plain(&self.$table))),+
                ]
            }
        }

        #[cfg(feature = "arrow")]
        impl Records {
            /// Row count and columns of each table, in canonical order. The rows of a table are freed when its columns exist.
            pub(crate) fn into_columns(self, run: &$run) -> Vec<(usize, Vec<arrow_array::ArrayRef>)> {
                use $crate::declaration::Row;
                vec![
                    (1, $run::columns(std::slice::from_ref(run))),
                    $({
                        let rows = self.$table;
                        (rows.len(), $row::columns(&rows))
                    }),+
                ]
            }
        }
    };
}
