//! Fields whose value is a distribution: a quantity (a constant), or a table with a `kind`.

use cwndlab_config::{Choice, Custom, Faults, Field, Kind, Reader, Table};
use cwndlab_units::{maths, parse_bytes, parse_duration, Fault};
use serde_json::{json, Value};

use crate::distribution::Distribution;

/// The quantity of a distribution, which determines the unit of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A time, ns.
    Time,
    /// A size, bytes.
    Size,
}

impl Unit {
    /// Parses a quantity to base units.
    fn parse(self, text: &str) -> Result<f64, Fault> {
        match self {
            Self::Time => parse_duration(text).map(|time| time.0 as f64),
            Self::Size => parse_bytes(text).map(|size| size.0 as f64),
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Time => "\"2 s\"",
            Self::Size => "\"20 kB\"",
        }
    }
}

/// The kind of a field with a time or a distribution of times.
pub const TIME: Kind = Kind::Either(&[Kind::Duration, Kind::Choice(&TIMES)]);
/// The kind of a field with a size or a distribution of sizes.
pub const SIZE: Kind = Kind::Either(&[Kind::Bytes, Kind::Choice(&SIZES)]);

macro_rules! distributions {
    ($tables:ident, $choice:ident, $name:literal, $quantity:expr, $example:literal, $points:ident) => {
        static $tables: [Table; 6] = [
            Table::new(
                "uniform",
                "Uniform between two bounds.",
                &[&[
                    Field::new("min", $quantity, "lower bound").absent("zero"),
                    Field::new("max", $quantity, "upper bound")
                        .required(concat!("'max = ", $example, "'"))
                        .above_zero(),
                ]],
            )
            .class("Uniform"),
            Table::new(
                "exponential",
                "Exponential.",
                &[&[Field::new("mean", $quantity, "mean").required(concat!("'mean = ", $example, "'")).above_zero()]],
            )
            .class("Exponential"),
            Table::new(
                "pareto",
                "Pareto, by its mean, or by a lower and an optional upper bound.",
                &[&[
                    Field::new("shape", POSITIVE, "tail index").required("'shape = 1.5'"),
                    Field::new("mean", $quantity, "mean; requires a tail index above 1").above_zero(),
                    Field::new("min", $quantity, "lower bound").above_zero(),
                    Field::new("max", $quantity, "upper bound (bounded Pareto)").absent("unbounded").above_zero(),
                ]],
            )
            .class("Pareto"),
            Table::new(
                "log-normal",
                "Log-normal, by mean and coefficient of variation, or by median and sigma.",
                &[&[
                    Field::new("mean", $quantity, "mean").above_zero(),
                    Field::new("cv", POSITIVE, "coefficient of variation: standard deviation over mean"),
                    Field::new("median", $quantity, "median, in place of the mean").above_zero(),
                    Field::new("sigma", POSITIVE, "standard deviation of the logarithm, together with the median"),
                ]],
            )
            .class("LogNormal"),
            Table::new(
                "gamma",
                "Gamma.",
                &[&[
                    Field::new("mean", $quantity, "mean").required(concat!("'mean = ", $example, "'")).above_zero(),
                    Field::new("cv", POSITIVE, "coefficient of variation")
                        .required("'cv = 0.5' (standard deviation over mean)"),
                ]],
            )
            .class("Gamma"),
            Table::new(
                "cdf",
                "A cumulative distribution function by points, with linear interpolation.",
                &[&[
                    Field::new(
                        "points",
                        Kind::Custom(&$points),
                        "ascending points (value, P(X ≤ value)), the last with probability 1",
                    )
                    .absent("the points in `file`"),
                    Field::new("file", Kind::Text, "file with two columns, in place of `points`"),
                ]],
            )
            .class("Cdf"),
        ];

        /// The selection of a distribution by `kind`.
        static $choice: Choice = Choice {
            name: $name,
            tag: "kind",
            default: None,
            example: "'kind = \"exponential\"'",
            shorthand: false,
            tables: || $tables.iter().collect(),
        };
    };
}

const POSITIVE: Kind = Kind::Number(0.0, f64::MAX);

distributions!(TIME_TABLES, TIMES, "time_distribution", Kind::Duration, "\"2 s\"", TIME_POINTS);
distributions!(SIZE_TABLES, SIZES, "size_distribution", Kind::Bytes, "\"20 kB\"", SIZE_POINTS);

static TIME_POINTS: Custom = points_of(|value| canonical_points(Unit::Time, value));
static SIZE_POINTS: Custom = points_of(|value| canonical_points(Unit::Size, value));

const fn points_of(canonical: fn(&Value) -> Value) -> Custom {
    Custom {
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
        canonical,
        python: "Sequence[tuple[str | float, float]]",
    }
}

/// The canonical form of points: values in base units.
fn canonical_points(unit: Unit, value: &Value) -> Value {
    let number = |value: &Value| value.as_f64().or_else(|| unit.parse(value.as_str()?).ok());
    let rows = value.as_array().into_iter().flatten();
    Value::Array(rows.map(|row| json!([number(&row[0]), row[1].as_f64()])).collect())
}

/// Reads the field `key` as a distribution; a plain quantity is a constant. Errors are added to `faults`.
pub fn read(table: &Reader<'_>, key: &str, unit: Unit, faults: &mut Faults) -> Option<Distribution> {
    if let Some(value) = table.get(key).filter(|value| value.is_object()) {
        let choice = if unit == Unit::Time { &TIMES } else { &SIZES };
        let inner = Reader::choose(value, table.at(key), choice, faults)?;
        return read_kind(&inner, unit, faults);
    }
    quantity(table, key, unit, faults).map(Distribution::Fixed)
}

/// Reads the field `key` as [`read`], and rejects a constant of zero.
pub fn positive(table: &Reader<'_>, key: &str, unit: Unit, faults: &mut Faults) -> Option<Distribution> {
    let distribution = read(table, key, unit, faults)?;
    if distribution == Distribution::Fixed(0.0) {
        faults.add(table.at(key), "is zero", format!("write {}", unit.example()));
        return None;
    }
    Some(distribution)
}

fn quantity(table: &Reader<'_>, key: &str, unit: Unit, faults: &mut Faults) -> Option<f64> {
    match unit {
        Unit::Time => table.duration(key, faults).map(|time| time.0 as f64),
        Unit::Size => table.bytes(key, faults).map(|size| size.0 as f64),
    }
}

/// Reads a quantity that this form of the distribution requires.
fn required(table: &Reader<'_>, key: &str, unit: Unit, faults: &mut Faults) -> Option<f64> {
    if !table.gives(key) {
        faults.add(table.at(key), "is missing", format!("write '{key} = {}'", unit.example()));
    }
    quantity(table, key, unit, faults)
}

/// Reads a number that this form of the distribution requires.
fn required_number(table: &Reader<'_>, key: &str, example: &str, faults: &mut Faults) -> Option<f64> {
    if !table.gives(key) {
        faults.add(table.at(key), "is missing", format!("write {example}"));
    }
    table.number(key, faults)
}

fn read_kind(table: &Reader<'_>, unit: Unit, faults: &mut Faults) -> Option<Distribution> {
    match table.declared().name {
        "uniform" => {
            let low = quantity(table, "min", unit, faults).unwrap_or(0.0);
            let high = quantity(table, "max", unit, faults)?;
            if low > high {
                faults.add(table.at("min"), "is above 'max'", "");
                return None;
            }
            Some(Distribution::Uniform(low, high))
        }
        "exponential" => Some(Distribution::Exponential(quantity(table, "mean", unit, faults)?)),
        "pareto" => read_pareto(table, unit, faults),
        "log-normal" => read_log_normal(table, unit, faults),
        "gamma" => {
            let (mean, cv) = (quantity(table, "mean", unit, faults), table.number("cv", faults));
            Some(Distribution::gamma(mean?, cv?))
        }
        _ => read_points(table, unit, faults),
    }
}

fn read_pareto(table: &Reader<'_>, unit: Unit, faults: &mut Faults) -> Option<Distribution> {
    let shape = table.number("shape", faults)?;
    let max = if table.gives("max") { quantity(table, "max", unit, faults)? } else { f64::INFINITY };
    let min = match (table.gives("min"), table.gives("mean")) {
        (true, false) => quantity(table, "min", unit, faults)?,
        (false, true) if max.is_infinite() => {
            let mean = quantity(table, "mean", unit, faults)?;
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
    if min >= max {
        faults.add(table.at("max"), "is not above 'min'", "");
        return None;
    }
    Some(Distribution::Pareto { shape, min, max })
}

fn read_log_normal(table: &Reader<'_>, unit: Unit, faults: &mut Faults) -> Option<Distribution> {
    if table.gives("median") {
        let median = quantity(table, "median", unit, faults);
        let sigma = required_number(table, "sigma", "'sigma = 1.0' (of the logarithm)", faults);
        return Some(Distribution::LogNormal { mu: maths::ln(median?), sigma: sigma? });
    }
    let mean = required(table, "mean", unit, faults);
    let example = "'cv = 2.0' (standard deviation over mean), or 'median' and 'sigma'";
    let cv = required_number(table, "cv", example, faults);
    Some(Distribution::log_normal(mean?, cv?))
}

fn read_points(table: &Reader<'_>, unit: Unit, faults: &mut Faults) -> Option<Distribution> {
    let hint = "write 'file = \"sizes.csv\"', or 'points = [[\"1 kB\", 0.5], [\"10 kB\", 1.0]]'";
    let Some(Value::Array(rows)) = table.get("points") else {
        faults.add(table.at("points"), "is missing", hint);
        return None;
    };
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        let path = format!("{}[{n}]", table.at("points"));
        let value = match row.get(0) {
            Some(Value::String(text)) => match unit.parse(text) {
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
        faults.add(table.at("points"), what, hint);
        return None;
    }
    Some(Distribution::Table(points.into()))
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
