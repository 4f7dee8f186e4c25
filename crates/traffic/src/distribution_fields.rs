//! Fields whose value is a distribution: a quantity (a constant), or a table with a `kind`.

use std::marker::PhantomData;
use std::sync::Arc;

use cwndlab_config::{fields, Choice, Custom, Faults, Field, FieldType, Kind, Positive, Reader, Table};
use cwndlab_units::{maths, parse_bytes, parse_duration, Bytes, Duration, Fault};
use serde_json::{json, Value};

use crate::distribution::Distribution;

/// The quantity of a distribution, as a number in its base unit.
pub trait Unit: FieldType<Value = f64> {
    /// The selection of a distribution by `kind`.
    const CHOICE: &'static Choice;

    /// A quantity as a document writes it.
    const EXAMPLE: &'static str;

    /// Parses a quantity.
    ///
    /// # Errors
    /// If the text is not a quantity of this unit.
    fn parse(text: &str) -> Result<f64, Fault>;

    /// Reads the distribution that the table declares.
    fn read_distribution(table: &Reader<'_>, faults: &mut Faults) -> Option<Distribution>;
}

/// A quantity, or a distribution of quantities; a quantity is a constant.
#[derive(Debug)]
pub struct Random<U>(PhantomData<U>);

/// A quantity above zero, or a distribution.
#[derive(Debug)]
pub struct PositiveRandom<U>(PhantomData<U>);

/// A time or a distribution of times.
pub type Times = Random<Nanoseconds>;
/// A time above zero or a distribution of times.
pub type PositiveTimes = PositiveRandom<Nanoseconds>;
/// A size or a distribution of sizes.
pub type Sizes = Random<Octets>;
/// A size above zero or a distribution of sizes.
pub type PositiveSizes = PositiveRandom<Octets>;

impl<U: Unit> FieldType for Random<U> {
    type Value = Distribution;

    const KIND: Kind = Kind::Either(&[U::KIND, Kind::Choice(U::CHOICE)]);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Distribution> {
        match table.get(name).filter(|value| value.is_object()) {
            Some(value) => U::read_distribution(&Reader::choose(value, table.at(name), U::CHOICE, faults)?, faults),
            None => U::read(table, name, faults).map(Distribution::Fixed),
        }
    }
}

impl<U: Unit> FieldType for PositiveRandom<U> {
    type Value = Distribution;

    const KIND: Kind = Random::<U>::KIND;

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Distribution> {
        let distribution = Random::<U>::read(table, name, faults)?;
        if distribution == Distribution::Fixed(0.0) {
            faults.add(table.at(name), "is zero", format!("write {}", U::EXAMPLE));
            return None;
        }
        Some(distribution)
    }
}

macro_rules! distributions {
    ($(#[$doc:meta])* $module:ident: $unit:ident of $quantity:ident by $parse:ident, $count:expr, $name:literal, $example:literal) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $unit {}

        impl FieldType for $unit {
            type Value = f64;

            const KIND: Kind = $quantity::KIND;

            fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<f64> {
                $quantity::read(table, name, faults).map(|quantity| ($count)(quantity) as f64)
            }
        }

        impl Unit for $unit {
            const CHOICE: &'static Choice = &Choice {
                name: $name,
                tag: "kind",
                default: None,
                example: "'kind = \"exponential\"'",
                shorthand: false,
                tables: || $module::TABLES.iter().collect(),
            };

            const EXAMPLE: &'static str = $example;

            fn parse(text: &str) -> Result<f64, Fault> {
                $parse(text).map(|quantity| ($count)(quantity) as f64)
            }

            fn read_distribution(table: &Reader<'_>, faults: &mut Faults) -> Option<Distribution> {
                $module::read(table, faults)
            }
        }

        mod $module {
            use super::*;

            fields! {
                /// Uniform.
                struct Uniform {
                    /// lower bound
                    min: Option<$unit> = absent("zero"),
                    /// upper bound
                    max: Positive<$unit> = required(concat!("'max = ", $example, "'")),
                }
            }

            fields! {
                /// Exponential.
                struct Exponential {
                    /// mean
                    mean: Positive<$unit> = required(concat!("'mean = ", $example, "'")),
                }
            }

            fields! {
                /// Pareto.
                struct Pareto {
                    /// tail index
                    shape: f64 = required("'shape = 1.5'"),
                    /// mean; requires a tail index above 1
                    mean: Option<Positive<$unit>> = absent(""),
                    /// lower bound
                    min: Option<Positive<$unit>> = absent(""),
                    /// upper bound (bounded Pareto)
                    max: Option<Positive<$unit>> = absent("unbounded"),
                }
            }

            fields! {
                /// Log-normal.
                struct LogNormal {
                    /// mean
                    mean: Option<Positive<$unit>> = absent(""),
                    /// coefficient of variation: standard deviation over mean
                    cv: Option<f64> = absent(""),
                    /// median, in place of the mean
                    median: Option<Positive<$unit>> = absent(""),
                    /// standard deviation of the logarithm, together with the median
                    sigma: Option<f64> = absent(""),
                }
            }

            fields! {
                /// Gamma.
                struct Gamma {
                    /// mean
                    mean: Positive<$unit> = required(concat!("'mean = ", $example, "'")),
                    /// coefficient of variation
                    cv: f64 = required("'cv = 0.5' (standard deviation over mean)"),
                }
            }

            fields! {
                /// A cumulative distribution function.
                struct Cdf {
                    /// ascending points (value, P(X ≤ value)), the last with probability 1
                    points: Points<$unit> = absent("the points in `file`"),
                }
            }

            pub(super) static TABLES: [Table; 6] = [
                Table::new("uniform", "Uniform between two bounds.", &[Uniform::FIELDS]).class("Uniform"),
                Table::new("exponential", "Exponential.", &[Exponential::FIELDS]).class("Exponential"),
                Table::new(
                    "pareto",
                    "Pareto, by its mean, or by a lower and an optional upper bound.",
                    &[Pareto::FIELDS],
                )
                .class("Pareto"),
                Table::new(
                    "log-normal",
                    "Log-normal, by mean and coefficient of variation, or by median and sigma.",
                    &[LogNormal::FIELDS],
                )
                .class("LogNormal"),
                Table::new("gamma", "Gamma.", &[Gamma::FIELDS]).class("Gamma"),
                Table::new(
                    "cdf",
                    "A cumulative distribution function by points, with linear interpolation.",
                    &[Cdf::FIELDS, FILE],
                )
                .class("Cdf"),
            ];

            pub(super) fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Distribution> {
                match table.declared().name {
                    "uniform" => {
                        let Uniform { min, max } = Uniform::read(table, faults)?;
                        uniform(table, min.unwrap_or(0.0), max, faults)
                    }
                    "exponential" => {
                        Exponential::read(table, faults).map(|given| Distribution::Exponential(given.mean))
                    }
                    "pareto" => {
                        let Pareto { shape, mean, min, max } = Pareto::read(table, faults)?;
                        pareto(table, shape, mean, min, max, faults)
                    }
                    "log-normal" => {
                        let LogNormal { mean, cv, median, sigma } = LogNormal::read(table, faults)?;
                        log_normal::<$unit>(table, mean, cv, median, sigma, faults)
                    }
                    "gamma" => Gamma::read(table, faults).map(|given| Distribution::gamma(given.mean, given.cv)),
                    _ => Cdf::read(table, faults).map(|given| Distribution::Table(given.points)),
                }
            }
        }
    };
}

distributions! {
    /// A time, ns.
    times: Nanoseconds of Duration by parse_duration, Duration::as_nanos, "time_distribution", "\"2 s\""
}
distributions! {
    /// A size, bytes.
    sizes: Octets of Bytes by parse_bytes, |size: Bytes| size.0, "size_distribution", "\"20 kB\""
}

/// The file of points, which the reader of the document replaces by its points.
const FILE: &[Field] = &[Field::new("file", Kind::Text, "file with two columns, in place of `points`")];

fn uniform(table: &Reader<'_>, low: f64, high: f64, faults: &mut Faults) -> Option<Distribution> {
    if low > high {
        faults.add(table.at("min"), "is above 'max'", "");
        return None;
    }
    Some(Distribution::Uniform(low, high))
}

fn pareto(
    table: &Reader<'_>,
    shape: f64,
    mean: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    faults: &mut Faults,
) -> Option<Distribution> {
    let min = match (min, mean) {
        (Some(min), None) => min,
        (None, Some(mean)) if max.is_none() => {
            if shape <= 1.0 {
                faults.add(
                    table.at("shape"),
                    "a Pareto tail of index 1 or less has no mean",
                    "set 'min', or a shape above 1",
                );
                return None;
            }
            mean * (shape - 1.0) / shape
        }
        _ => {
            faults.add(
                table.path.clone(),
                "a Pareto distribution has either 'mean', or 'min' and optionally 'max'",
                "write { kind = \"pareto\", shape = 1.2, min = …, max = … }",
            );
            return None;
        }
    };
    let max = max.unwrap_or(f64::INFINITY);
    if min >= max {
        faults.add(table.at("max"), "is not above 'min'", "");
        return None;
    }
    Some(Distribution::Pareto { shape, min, max })
}

fn log_normal<U: Unit>(
    table: &Reader<'_>,
    mean: Option<f64>,
    cv: Option<f64>,
    median: Option<f64>,
    sigma: Option<f64>,
    faults: &mut Faults,
) -> Option<Distribution> {
    let mut required = |value: Option<f64>, name, example: &str| {
        if value.is_none() {
            faults.add(table.at(name), "is missing", format!("write {example}"));
        }
        value
    };
    if let Some(median) = median {
        let sigma = required(sigma, "sigma", "'sigma = 1.0' (of the logarithm)")?;
        return Some(Distribution::LogNormal { mu: maths::ln(median), sigma });
    }
    let mean = required(mean, "mean", &format!("'mean = {}'", U::EXAMPLE));
    let cv = required(cv, "cv", "'cv = 2.0' (standard deviation over mean), or 'median' and 'sigma'");
    Some(Distribution::log_normal(mean?, cv?))
}

/// The points of a distribution function.
#[derive(Debug)]
struct Points<U>(PhantomData<U>);

impl<U: Unit> FieldType for Points<U> {
    type Value = Arc<[(f64, f64)]>;

    const KIND: Kind = Kind::Custom(&Custom {
        accepts: "points: [[\"1 kB\", 0.5], [\"10 kB\", 1.0]]",
        schema: || {
            json!({
                "type": "array", "minItems": 1,
                "items": {
                    "type": "array", "minItems": 2, "maxItems": 2,
                    "prefixItems": [{ "type": ["string", "number"] }, { "type": "number", "minimum": 0, "maximum": 1 }],
                },
            })
        },
        canonical: canonical_points::<U>,
        python: "Sequence[tuple[str | float, float]]",
    });

    const OPTIONAL: bool = true;

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Self::Value> {
        let hint = "write 'file = \"sizes.csv\"', or 'points = [[\"1 kB\", 0.5], [\"10 kB\", 1.0]]'";
        let Some(Value::Array(rows)) = table.get(name) else {
            faults.add(table.at(name), "is missing", hint);
            return None;
        };
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (n, row) in rows.iter().enumerate() {
            let path = format!("{}[{n}]", table.at(name));
            let value = match row.get(0) {
                Some(Value::String(text)) => match U::parse(text) {
                    Ok(value) => Some(value),
                    Err(fault) => {
                        faults.add(path, fault.what, fault.hint);
                        return None;
                    }
                },
                other => other.and_then(Value::as_f64), // from a file, in base units
            };
            let (Some(value), Some(probability)) = (value, row.get(1).and_then(Value::as_f64)) else {
                faults.add(path, format!("expected a value and a probability, got {row}"), hint);
                return None;
            };
            if let Err((what, hint)) = check_point(points.last().copied(), value, probability) {
                faults.add(path, what, hint);
                return None;
            }
            points.push((value, probability));
        }
        if let Err((what, hint)) = check_last_point(points.last().copied()) {
            faults.add(table.at(name), what, hint);
            return None;
        }
        Some(points.into())
    }
}

/// The canonical form of points: values in base units.
fn canonical_points<U: Unit>(value: &Value) -> Value {
    let number = |value: &Value| value.as_f64().or_else(|| U::parse(value.as_str()?).ok());
    let rows = value.as_array().into_iter().flatten();
    Value::Array(rows.map(|row| json!([number(&row[0]), row[1].as_f64()])).collect())
}

/// Checks a point of a distribution function against the previous point.
///
/// # Errors
/// A message and a hint if the value or the probability is out of range or not ascending.
pub fn check_point(before: Option<(f64, f64)>, value: f64, probability: f64) -> Result<(), (String, &'static str)> {
    if !(value > 0.0 && value.is_finite()) {
        return Err((format!("{value} is not a size or time above 0"), ""));
    }
    if !(0.0..=1.0).contains(&probability) {
        return Err((format!("{probability} is not a probability from 0 to 1"), "the second column is P(X ≤ value)"));
    }
    match before {
        Some((last, _)) if value <= last => {
            Err((format!("{value} is not above the previous value, {last}"), "values ascend"))
        }
        Some((_, last)) if probability < last => Err((
            format!("the probability falls from {last} to {probability}"),
            "probabilities are cumulative: P(X ≤ value)",
        )),
        _ => Ok(()),
    }
}

/// Checks the last point of a distribution function.
///
/// # Errors
/// A message and a hint if there is no point or the last probability is not 1.
pub fn check_last_point(last: Option<(f64, f64)>) -> Result<(), (String, &'static str)> {
    match last {
        None => Err(("there are no points".to_owned(), "two columns: value, probability")),
        Some((_, probability)) if (probability - 1.0).abs() > 1e-9 => {
            Err((format!("the last probability is {probability}, not 1"), "the largest value has P(X ≤ value) = 1"))
        }
        Some(_) => Ok(()),
    }
}
