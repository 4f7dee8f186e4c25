//! Columns as vectors, for programs without Arrow.

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Plain {
    /// A null has the type's default value.
    pub values: Values,
    /// Whether each value exists; `None` where all do.
    pub valid: Option<Vec<bool>>,
}

/// The values of a column, by its type.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the variants are those of `ColumnType`")]
pub enum Values {
    UInt8(Vec<u8>),
    UInt32(Vec<u32>),
    UInt64(Vec<u64>),
    Int64(Vec<i64>),
    Float64(Vec<f64>),
    Bool(Vec<bool>),
    Text(Texts),
}

/// Texts, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts {
    /// All texts.
    pub bytes: Vec<u8>,
    /// Text `i` is from `offsets[i]` to `offsets[i + 1]`.
    pub offsets: Vec<u32>,
}

impl Default for Texts {
    fn default() -> Self {
        Self { bytes: Vec::new(), offsets: vec![0] }
    }
}

impl<'a> Extend<&'a str> for Texts {
    fn extend<T: IntoIterator<Item = &'a str>>(&mut self, texts: T) {
        for text in texts {
            self.bytes.extend_from_slice(text.as_bytes());
            self.offsets.push(u32::try_from(self.bytes.len()).expect("a column has less than 4 GiB of text"));
        }
    }
}

impl Plain {
    /// A column of these values, of which some exist.
    #[must_use]
    pub fn new(values: Values, valid: Vec<bool>) -> Self {
        Self { values, valid: (!valid.iter().all(|valid| *valid)).then_some(valid) }
    }
}
